-- world:lcs: a step as a linear complementarity system, compared with the step.
local sim = require "sim2d"

local EXACT = 1e-9 -- a step of the system against one of the world

local function speculative(settings)
  settings = settings or {}
  settings.stepping = "speculative"
  return sim.world(settings)
end

-- x after a step of a copy of the world.
local function stepped(lcs, world)
  local clone = world:clone()
  clone:step()
  return lcs:read(clone)
end

-- One step of both; returns the system, x+ and lambda.
local function same_step(world, def, tolerance)
  local lcs = world:lcs(def)
  local x, lambda = lcs:step(lcs.x0, lcs.u0)
  ok(x, lambda)
  near((x - stepped(lcs, world)):norm(), 0, tolerance or EXACT)
  -- lambda solves its problem
  local w = lambda.size > 0 and (lcs.E:mm(lcs.x0) + lcs.F:mm(lambda) + lcs.c
    + (lcs.u0.size > 0 and lcs.H:mm(lcs.u0) or 0)):table() or {}
  for i = 1, lambda.size do near(math.min(lambda[i], w[i]), 0, 1e-6 * (1 + math.abs(w[i]))) end
  return lcs, x, lambda
end

-- The difference between a step of the system from `x` (and u) and one of the world that `put` sets there.
local function miss(lcs, world, put, x, u)
  local clone = world:clone()
  put(clone, x)
  if u then clone:act(u) end
  return (assert(lcs:step(x, u or lcs.u0)) - stepped(lcs, clone)):norm()
end

-- All numbers of x and u moved by eps, one at a time: the largest difference, over eps^2.
local function curvature(lcs, world, put, eps, skip)
  local worst = 0
  for k = 1, lcs.x0.size + lcs.u0.size do
    local x, u = lcs.x0:table(), lcs.u0:table()
    if k <= #x then x[k] = x[k] + eps else u[k - #x] = u[k - #x] + eps end
    if not (skip and skip[k]) then worst = math.max(worst, miss(lcs, world, put, x, #u > 0 and u or nil)) end
  end
  return worst / eps ^ 2
end

-- The first order is right if the difference falls as eps^2.
local function second_order(lcs, world, put, skip)
  local coarse, fine = curvature(lcs, world, put, 5e-4, skip), curvature(lcs, world, put, 1e-4, skip)
  ok(fine < 2 * coarse + 1e-9 / 1e-8, ("%g eps^2, then %g"):format(coarse, fine))
end

-- Sets free bodies, named in the order of the coordinates, to x.
local function put_bodies(names)
  return function(world, x)
    local n = 3 * #names
    for i, name in ipairs(names) do
      local body, at = world.bodies[name], 3 * (i - 1)
      body.angle, body.x, body.y = x[at + 1], x[at + 2], x[at + 3]
      body.omega, body.vx, body.vy = x[n + at + 1], x[n + at + 2], x[n + at + 3]
    end
  end
end

local function ground(world, friction)
  return world:segment { from = { -10, 0 }, to = { 10, 0 }, friction = friction or 0.5, name = "ground" }
end

-- ---- Known solutions ----------------------------------------------------------------------------

test("a ball above the ground, by hand", function()
  local h, m, g = 0.01, 2, 10
  local world = speculative { dt = h, gravity = { 0, -g } }
  ground(world, 0)
  local ball = world:circle { radius = 0.5, mass = m, position = { 0, 0.501 }, velocity = { 0, -0.2 }, friction = 0 }
  local lcs = world:lcs { inputs = { { body = ball, force = { 0, 1 } } }, impacts = false }
  eq({ lcs.A.shape, lcs.B.shape, lcs.D.shape, lcs.E.shape, lcs.F.shape, lcs.H.shape, lcs.c.size, lcs.d.size },
    { { 6, 6 }, { 6, 1 }, { 6, 1 }, { 1, 6 }, { 1, 1 }, { 1, 1 }, 1, 6 })
  -- y+ = y + h v+, v+ = v - h g + h u/m + lambda/m;  v+ + (y - r)/h >= 0
  near(lcs.A[3][3], 1, 1e-14) near(lcs.A[3][6], h, 1e-14) near(lcs.A[6][6], 1, 1e-14)
  near(lcs.B[6][1], h / m, 1e-14) near(lcs.B[3][1], h * h / m, 1e-14)
  near(lcs.D[6][1], 1 / m, 1e-14) near(lcs.D[3][1], h / m, 1e-14)
  near(lcs.d[6], -h * g, 1e-12) near(lcs.d[3], -h * h * g, 1e-12)
  near(lcs.E[1][3], 1 / h, 1e-10) near(lcs.E[1][6], 1, 1e-12)
  near(lcs.F[1][1], 1 / m, 1e-14) near(lcs.H[1][1], h / m, 1e-14)
  near(lcs.c[1], -h * g - 0.5 / h, 1e-10)
  -- the system step that reaches the ground, and its impulse
  local x, lambda = lcs:step(lcs.x0)
  near(x[3], 0.5, 1e-12) near(x[6], -0.1, 1e-12)
  near(lambda[1], m * (0.2 + h * g - 0.1), 1e-12)
  local contact = lcs.contacts[1]
  eq({ #lcs.contacts, contact.rows, contact.impact }, { 1, { normal = 1 }, nil })
  ok(contact.a == ball or contact.b == ball)
  near(contact.gap, 0.001, 1e-12)
end)

test("rows of friction, by hand", function()
  local world = speculative { dt = 0.01, gravity = { 0, -10 } }
  world:box { type = "static", position = { 0, -0.5 }, size = { 10, 1 }, friction = 0.5, surface_speed = 0.3 }
  local ball = world:circle { radius = 0.5, mass = 2, position = { 0, 0.5 }, friction = 0.5 }
  local lcs = same_step(world)
  local rows = lcs.contacts[1].rows
  eq({ rows.normal, rows["tangent+"], rows["tangent-"], rows.slack }, { 1, 2, 3, 4 })
  near(lcs.contacts[1].friction, 0.5, 1e-12)
  local F = lcs.F:table()
  near(F[1][1], 1 / 2, 1e-14)
  near(F[2][2], 1 / 2 + 0.25 / ball.inertia, 1e-12)
  near(F[2][3], -F[2][2], 1e-12)
  eq({ F[2][4], F[3][4], F[4][1], F[4][2], F[4][3], F[4][4] }, { 1, 1, 0.5, -1, -1, 0 })
  local at_rest = lcs.E:mm(lcs.x0) + lcs.c
  near(math.abs(at_rest[2]), 0.3, 1e-12)
  near(at_rest[2] + at_rest[3], 0, 1e-12)
end)

test("a box sticks, and slides", function()
  local world = speculative()
  ground(world)
  local box = world:box { size = { 1, 1 }, mass = 2, position = { 0, 0.5 }, friction = 0.5, name = "box" }
  world:actuator { "push", kind = "force", body = box, direction = { 1, 0 } }
  local g = math.abs(world.gravity.y)
  for _, push in ipairs { 0, 5, -5, 15, -15 } do
    world:act { push }
    local lcs, x, lambda = same_step(world)
    eq({ #lcs.contacts, lcs.motion_rows, lambda.size }, { 2, 8, 8 })
    near(lcs.u0[1], push, 0)
    local slides = math.abs(push) - 0.5 * 2 * g
    near(math.abs(x[5]), math.max(slides, 0) / 2 * world.dt, 1e-10)
    local normal = 0
    for _, contact in ipairs(lcs.contacts) do normal = normal + lambda[contact.rows.normal] end
    near(normal, 2 * g * world.dt, 1e-9)
  end
  -- the same system gives the time at which it begins to slide
  world:act { 5 }
  local lcs = world:lcs()
  near(lcs:step(lcs.x0, { 15 })[5], (15 - g) / 2 * world.dt, 1e-9)
  near(lcs:step(lcs.x0, 9)[5], 0, 1e-9)
end)

-- ---- Against steps ------------------------------------------------------------------------------

test("landings, and steps before and after them", function()
  for _, case in ipairs { { 0.21, 1, -3, 0 }, { 0.2005, -2, -0.5, 4 }, { 0.2, 1, 0, 0 }, { 0.5, 0, -1, 3 } } do
    local world = speculative()
    ground(world)
    world:circle { radius = 0.2, mass = 2, position = { 0, case[1] }, velocity = { case[2], case[3] },
      angular_velocity = case[4], friction = 0.4, name = "ball" }
    local lcs = same_step(world)
    ok(lcs.defect:norm() < EXACT)
    -- in an impact there are as many rows again
    local lands = case[3] <= -0.5 and case[1] < 0.3
    eq(lcs.F.shape[1], lands and 8 or case[1] > 0.3 and 0 or 4)
    eq(lands, lcs.contacts[1] ~= nil and lcs.contacts[1].impact ~= nil)
    second_order(lcs, world, put_bodies { "ball" }, case[1] == 0.2 and { [3] = true })
  end
end)

test("a box that lands on a corner", function()
  -- a short step: corners that turn far in a step are linearised again at its end, which the system does not contain
  local world = speculative { stabilization = "none", dt = 0.001 }
  ground(world)
  world:box { size = { 1, 0.6 }, mass = 2, angle = 0.3, position = { 0, 0.4353 }, velocity = { 1, -2 },
    angular_velocity = -1, friction = 0.5, name = "box" }
  local lcs = same_step(world)
  eq(lcs.contacts[1].impact.normal, lcs.motion_rows + 1)
  second_order(lcs, world, put_bodies { "box" })
end)

test("stacks", function()
  local world = speculative()
  ground(world)
  local lower = world:box { size = { 1, 0.5 }, mass = 2, position = { 0, 0.25 }, friction = 0.5 }
  world:box { size = { 0.8, 0.5 }, mass = 1, position = { 0.1, 0.75 }, friction = 0.5 }
  world:actuator { "push", kind = "force", body = lower, direction = { 1, 0 } }
  for _, push in ipairs { 0, 10, 25, 60 } do
    world:act { push }
    local lcs = same_step(world)
    eq(#lcs.contacts, 4)
    eq(#lcs.coordinates, 6)
  end
  world:act { 40 }
  for _ = 1, 10 do
    world:step()
    same_step(world)
  end
end)

-- A cart with a pole, and its settable numbers: x, angle and their speeds.
local function cart_pole(options)
  local world = speculative { dt = 0.01, stabilization = options.stabilization }
  local cart = world:box { size = { 0.4, 0.2 }, mass = 1, mask = 0, name = "cart" }
  local pole = world:box { size = { 0.05, 0.5 }, mass = 0.2, position = { 0, 0.25 }, name = "pole", friction = 0.3 }
  local rail = world:slider { a = cart, anchor = { 0, 0 }, axis = { 1, 0 }, limits = options.limits, friction = options.friction,
    motor = options.motor }
  local hinge = world:hinge { a = pole, b = cart, anchor = { 0, 0 }, friction = options.hinge_friction }
  for side = -1, 1, 2 do
    if options.wall then
      world:segment { from = { side * options.wall, -2 }, to = { side * options.wall, 2 }, friction = 0.3,
        contact_compliance = options.compliance, contact_damping = options.compliance and 5 }
    end
  end
  if not options.motor then world:actuator { "push", kind = "force", joint = rail } end
  local function put(w, x)
    local c, p, s = w.bodies.cart, w.bodies.pole, math.sin(x[2])
    c.angle, c.x, c.y, c.omega, c.vx, c.vy = 0, x[1], 0, 0, x[3], 0
    p.angle, p.x, p.y = x[2], x[1] - 0.25 * s, 0.25 * math.cos(x[2])
    p.omega, p.vx, p.vy = x[4], x[3] - 0.25 * math.cos(x[2]) * x[4], -0.25 * s * x[4]
  end
  return world, put, rail, hinge
end

test("without contacts it is linearize", function()
  local world, put, rail, hinge = cart_pole {}
  put(world, { 0.1, 0.4, -0.3, 2 })
  world:act { 1.5 }
  local A, B = world:linearize { coordinates = { hinge, rail }, inputs = { { joint = rail, force = 1 } } }
  local lcs = same_step(world, { coordinates = { hinge, rail } })
  near((lcs.A - A):norm(), 0, EXACT)
  near((lcs.B - B):norm(), 0, EXACT)
  eq({ lcs.c.size, #lcs.contacts, #lcs.joints }, { 0, 0, 0 })
  ok(lcs.coordinates[1].joint == hinge and lcs.coordinates[2].joint == rail)
  near((lcs.x0 - sim.array { 0.4, 0.1, 2, -0.3 }):norm(), 0, 1e-12)
  second_order(world:lcs(), world, put)
end)

test("a pole between walls", function()
  -- it arrives, it was stopped and is still pressed, it leaves
  local world, put = cart_pole { wall = 0.15, stabilization = "none" }
  put(world, { 0.05, -0.142, 0.3, -0.8 })
  world:act { 2 }
  local lcs = same_step(world)
  ok(lcs.lambda0[lcs.contacts[1].rows.normal] > 0)
  second_order(lcs, world, put)
  local plain, put_plain = cart_pole { wall = 0.15 }
  put_plain(plain, { 0.05, -0.142, 0.3, -0.8 })
  plain:act { 2 }
  local touched = 0
  for _ = 1, 60 do
    local now = same_step(plain)
    touched = touched + (now.lambda0.size > 0 and now.lambda0:max() > 1e-6 and 1 or 0)
    -- the displacement by projection of contacts, which is in no row, is small
    ok(now.defect:norm() < 2e-2, tostring(now.defect:norm()))
    plain:step()
  end
  ok(touched > 5)
end)

test("soft walls", function()
  local world, put = cart_pole { wall = 0.15, compliance = 1e-3 }
  put(world, { 0.05, -0.1, 0.3, -1.2 })
  world:act { 2 }
  local touched = 0
  for _ = 1, 60 do
    local lcs = same_step(world)
    for _, contact in ipairs(lcs.contacts) do
      if contact.gap < 0 then
        touched = touched + 1
        ok(not contact.impact)
        second_order(lcs, world, function(w, x) put(w, x) end)
      end
    end
    if touched > 3 then break end
    world:step()
  end
  ok(touched > 3)
end)

test("limits, dry friction and motors are rows", function()
  local world, put = cart_pole { limits = { -0.2, 0.102 } }
  put(world, { 0.1, -0.2, 0.5, -2 })
  local lcs = same_step(world)
  eq({ lcs.joints[1].kind, lcs.joints[2].kind, #lcs.contacts }, { "limit_lo", "limit_hi", 0 })
  near(lcs.joints[2].gap, 0.002, 1e-12)
  ok(lcs.lambda0[lcs.joints[2].rows.row] > 0 and lcs.lambda0[lcs.joints[1].rows.row] == 0)
  for _, dry in ipairs { 1, 30 } do
    world, put = cart_pole { friction = dry, hinge_friction = 0.05 }
    put(world, { 0.1, -0.2, 0.3, -2 })
    world:act { 2 }
    lcs = same_step(world)
    eq({ lcs.joints[1].kind, lcs.joints[1].rows, lcs.joints[2].kind }, { "friction", { row = 1, slack = 2 }, "friction" })
    second_order(lcs, world, put)
  end
  for _, force in ipairs { 2, 200 } do
    local rail
    world, put, rail = cart_pole { motor = { speed = 0.7, max_force = force } }
    put(world, { 0.1, -0.2, 0.3, -2 })
    lcs = same_step(world, { inputs = { { joint = rail, motor_speed = 1 } } })
    -- another goal is another u
    local function off(by)
      rail.motor_speed = 0.7 + by
      return (lcs:step(lcs.x0, { by }) - stepped(lcs, world)):norm() / by ^ 2
    end
    ok(off(0.02) < 2 * off(0.1) + 1e-6, ("%g, %g"):format(off(0.1), off(0.02)))
  end
end)

test("a leg on a spring", function()
  local world = speculative { dt = 0.01 }
  ground(world, 0.8)
  local body = world:box { size = { 0.4, 0.2 }, mass = 5, position = { 0, 1.05 }, velocity = { 0.3, -1 }, mask = 0 }
  local foot = world:circle { radius = 0.05, mass = 0.5, position = { 0, 0.5 }, velocity = { 0.3, -1 }, friction = 0.8 }
  local leg = world:slider { a = foot, b = body, anchor = { 0, 0.5 }, axis = { 0, 1 }, stiffness = 800, damping = 5, limits = { -0.3, 0.05 } }
  world:actuator { "thrust", kind = "force", joint = leg }
  world:act { -20 }
  local pressed = 0
  for _ = 1, 80 do
    local lcs = same_step(world)
    pressed = pressed + (lcs.contacts[1] and lcs.lambda0[lcs.contacts[1].rows.normal] > 0 and 1 or 0)
    world:step()
  end
  ok(pressed > 10)
end)

test("ground that moves", function()
  local world = speculative()
  world:box { type = "kinematic", size = { 5, 1 }, position = { 0, -0.5 }, velocity = { 0.5, 1 }, friction = 0.6, name = "lift" }
  world:box { size = { 0.5, 0.5 }, mass = 1, position = { 0, 0.25 }, friction = 0.6 }
  for _ = 1, 3 do
    same_step(world)
    world:step()
  end
end)

test("random heaps", function()
  local random = sim.random.split()
  local compared, worst = 0, 0
  for _ = 1, 12 do
    local world = speculative { stabilization = "none" }
    ground(world)
    for k = 1, 4 do
      local def = { position = { random:uniform(-0.5, 0.5), 0.4 * k }, velocity = { random:uniform(-1, 1), random:uniform(-2, 0) },
        angular_velocity = random:uniform(-3, 3), friction = random:uniform(0, 0.8), mass = random:uniform(0.5, 2) }
      if k % 2 == 0 then def.radius = 0.15 world:circle(def) else def.size = { 0.4, 0.25 } world:box(def) end
    end
    for _ = 1, 25 do
      local lcs = world:lcs()
      local x = lcs:step(lcs.x0)
      if x then
        compared = compared + 1
        worst = math.max(worst, (x - stepped(lcs, world)):norm())
      end
      world:step()
    end
  end
  ok(compared > 290, ("%d steps"):format(compared))
  near(worst, 0, 1e-7)
end)

test("the consequences of rows that press are in the derivative of the step", function()
  for _, case in ipairs { { 0, -0.142, 0.3, -0.8 }, { 0.05, -0.142, 0.3, -0.8 } } do
    local world, put = cart_pole { wall = 0.15, stabilization = "none" }
    put(world, case)
    world:act { 2 }
    local lcs = world:lcs()
    local A, B = lcs:linear(lcs.lambda0)
    for k = 1, 5 do
      local function at(by)
        local x, u = lcs.x0:table(), lcs.u0:table()
        if k <= 4 then x[k] = x[k] + by else u[1] = u[1] + by end
        return (lcs:step(x, u))
      end
      local slope = (at(1e-4) - at(-1e-4)) / 2e-4
      local column = k <= 4 and A:t()[k] or B:t()[1]
      near((slope - column):norm(), 0, 1e-5 * (1 + column:norm()))
    end
  end
end)

test("x+ plus the difference is the world's own step", function()
  -- A pole that leans on a wall: places of the two steps differ by O(h^2) in a step.
  local function apart(h, settings)
    local _, put = cart_pole { wall = 0.15 }
    local own = sim.world { dt = h, stepping = settings.stepping, flow = settings.flow }
    own:segment { from = { -0.15, -2 }, to = { -0.15, 2 }, friction = 0.3 }
    local cart = own:box { size = { 0.4, 0.2 }, mass = 1, mask = 0, name = "cart" }
    local pole = own:box { size = { 0.05, 0.5 }, mass = 0.2, position = { 0, 0.25 }, name = "pole", friction = 0.3 }
    own:slider { a = cart, anchor = { 0, 0 }, axis = { 1, 0 } }
    own:hinge { a = pole, b = cart, anchor = { 0, 0 } }
    put(own, { 0.05, 0.1, 0.3, -0.8 })
    local lcs = own:lcs()
    local x = assert(lcs:step(lcs.x0))
    near((x + lcs.difference - stepped(lcs, own)):norm(), 0, EXACT)
    return math.max(math.abs(lcs.difference[1]), math.abs(lcs.difference[2]))
  end
  local coarse, fine = apart(1 / 60, {}), apart(1 / 120, {})
  ok(coarse > 1e-6 and fine < coarse / 3, ("%g, %g"):format(coarse, fine))
  near(apart(1 / 60, { stepping = "speculative", flow = "projected" }), 0, EXACT)
  ok(apart(1 / 60, { stepping = "speculative", flow = "rattle" }) > 1e-6)
end)

-- ---- Options ------------------------------------------------------------------------------------

test("the margin, and rows of impacts when asked for", function()
  local world = speculative()
  ground(world)
  world:circle { radius = 0.2, mass = 2, position = { 0, 1 }, velocity = { 0, -1 }, friction = 0.4 }
  eq(#world:lcs().contacts, 0)
  local far = same_step(world, { margin = 1 })
  eq({ #far.contacts, far.F.shape[1] }, { 1, 4 })
  near(far.contacts[1].gap, 0.8, 1e-12)
  -- with rows of impacts the disc stands where it lands, in the system as in the world
  local both = same_step(world, { margin = 1, impacts = true })
  eq({ both.F.shape[1], both.motion_rows }, { 8, 4 })
  local x, end_of = both.x0, world:clone()
  for _ = 1, 60 do
    x = assert(both:step(x))
    end_of:step()
  end
  near((x - both:read(end_of)):norm(), 0, 1e-8)
  near(x[6], 0, 1e-8)
end)

test("the world does not change", function()
  local world = speculative()
  ground(world)
  world:circle { radius = 0.2, position = { 0, 0.21 }, velocity = { 1, -3 }, friction = 0.4 }
  local before, time = world:state(), world.time
  world:lcs()
  eq(world:state(), before)
  eq(world.time, time)
  local a, b = world:lcs(), world:lcs()
  eq(a.F:table(), b.F:table())
  eq(a.d:table(), b.d:table())
end)

test("a body that is no input, or has no rows, is reported by name", function()
  local world = speculative()
  ground(world)
  local ball = world:circle { radius = 0.2, position = { 0, 0.21 }, velocity = { 1, -3 }, restitution = 0.5, name = "ball" }
  raises("'coordinates'", function() world:lcs { coordinates = "maximal" } end)
  raises("unknown key 'margn'", function() world:lcs { margn = 1 } end)
  raises("'margin'", function() world:lcs { margin = -1 } end)
  raises("'impacts'", function() world:lcs { impacts = 1 } end)
  raises("'inputs'", function() world:lcs { inputs = 3 } end)
  raises("restitution = 0, or impacts = false", function() world:lcs() end)
  ok(world:lcs { impacts = false })
  ball.restitution = 0
  local lcs = world:lcs()
  raises("x: 6 numbers expected, got 2", function() lcs:step { 1, 2 } end)
  raises("u: 0 numbers expected, got 1", function() lcs:step(lcs.x0, { 1 }) end)
  raises("lambda: 4 numbers expected", function() world:lcs { impacts = false }:linear {} end)
  raises("is destroyed", function()
    local clone = world:clone()
    clone.bodies.ball:destroy()
    lcs:read(clone)
  end)
  ball.contact_viscosity = 3
  raises("contact_viscosity = 0", function() world:lcs() end)
  ball.contact_viscosity = 0
  for key, value in pairs { substeps = 2, stabilization = "baumgarte", restitution_model = "reflections", alpha = 0.5 } do
    local other = sim.world { [key] = value }
    other:circle { radius = 1 }
    raises("lcs: ", function() other:lcs() end)
  end
  local table_top = sim.world {}
  table_top:ground_friction { table_top:circle { radius = 0.1 }, max_force = 1 }
  raises("ground", function() table_top:lcs() end)
end)

test("a world in which nothing moves has a system of no states", function()
  local world = sim.world {}
  world:box { type = "static", size = { 4, 1 } }
  local lcs = world:lcs()
  ok(#lcs.x0 == 0, "states")
  ok(#lcs.contacts == 0, "contacts")
  ok(#lcs:step({}, {}) == 0, "a step")
end)
