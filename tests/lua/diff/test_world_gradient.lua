-- Gradients through worlds: closed forms, every kind of write and read, copies, misuse.
local sim = require "sim2d"

local function near(got, want, tolerance, what)
  ok(math.abs(got - want) <= tolerance * math.max(1, math.abs(want)),
    ("%s: %.14g, expected %.14g"):format(what or "value", got, want))
end

-- Checks that the value has the same bits with and without tracked numbers, and that the gradient is the same in a
-- second run and agrees with differences. Returns the gradient.
local function agrees(f, p, tolerance, step)
  local value, g = sim.value_and_grad(f, p)
  local again, h = sim.value_and_grad(f, p)
  eq(value, f(p), "the value with plain numbers")
  eq(again, value, "the value of a second call")
  for name, derivative in pairs(g) do
    eq(h[name], derivative, "the derivative of a second call")
    ok(derivative ~= 0, name .. " should matter")
  end
  local error = sim.check_grad(f, p, { print = false, step = step })
  if error > (tolerance or 1e-8) then
    sim.check_grad(f, p)
  end
  ok(error <= (tolerance or 1e-8), ("differences: %.3g"):format(error))
  return g
end

-- ---- Closed forms -----------------------------------------------------------------------------

test("a throw", function()
  local n, dt = 100, 0.01
  local g = agrees(function(p)
    local w = sim.world { gravity = { 0, p.g }, dt = dt }
    local ball = w:circle { radius = 0.1, position = { p.x, 0 }, velocity = { p.vx, p.vy } }
    w:run { steps = n }
    return 2 * ball.x + ball.y
  end, { g = -9.81, x = 0.2, vx = 3, vy = 4 })
  near(g.x, 2, 1e-14)
  near(g.vx, 2 * n * dt, 1e-13)
  near(g.vy, n * dt, 1e-13)
  near(g.g, (n * dt) ^ 2 / 2, 1e-13)
end)

test("where a sliding box stops depends on speed and friction, and not on its mass", function()
  local dt, gravity, v0, mu = 0.01, 10, 3.005, 0.5
  local function stop(p)
    local w = sim.world { gravity = { 0, -gravity }, dt = dt }
    w:segment { from = { -5, 0 }, to = { 50, 0 }, friction = p.mu }
    local box = w:box { size = { 1, 0.2 }, position = { 0, 0.1 }, velocity = { p.v, 0 },
      friction = p.mu, mass = p.m }
    w:run { steps = 120 }
    return box.x
  end
  local x, g = sim.value_and_grad(stop, { v = v0, mu = mu, m = 2 })
  local n = math.floor(v0 / (mu * gravity * dt)) -- number of steps while it slides
  local slid = n * dt
  -- The remaining speed, 0.005 m/s, is below half of the decrease by friction in a step, 0.025 m/s: the first stage of
  -- the next step stops it, and it goes no further.
  near(x, v0 * slid - mu * gravity * slid ^ 2 / 2, 1e-9, "x")
  near(g.v, slid, 1e-9, "by speed")
  near(g.mu, -gravity * slid ^ 2 / 2, 1e-9, "by friction")
  -- The difference from v0^2/(2 mu g) is at most (mu g dt/2)^2/(2 mu g).
  near(x, v0 ^ 2 / (2 * mu * gravity), mu * gravity * dt ^ 2 / 8, "x")
  near(g.m, 0, 1e-9, "by mass")
end)

test("two balls collide according to the elastic formulas", function()
  local m, k, v = 1.5, 0.5, 2
  local J, after = sim.jacobian(function(p)
    local w = sim.world { gravity = { 0, 0 }, dt = 0.01 }
    local a = w:circle { radius = 0.2, mass = p[2], velocity = { p[1], 0 }, restitution = 1 }
    local b = w:circle { radius = 0.2, mass = p[3], position = { 0.7, 0 }, restitution = 1 }
    w:run { steps = 50 }
    return { a.vx, b.vx }
  end, { v, m, k })
  near(after[1], v * (m - k) / (m + k), 1e-9)
  near(after[2], v * 2 * m / (m + k), 1e-9)
  near(J[1][1], (m - k) / (m + k), 1e-9)
  near(J[2][1], 2 * m / (m + k), 1e-9)
  near(J[1][2], v * 2 * k / (m + k) ^ 2, 1e-9)
  near(J[1][3], -v * 2 * m / (m + k) ^ 2, 1e-9)
  near(J[2][2], v * 2 * k / (m + k) ^ 2, 1e-9)
  near(J[2][3], -v * 2 * m / (m + k) ^ 2, 1e-9)
end)

test("reflections: the derivative by a restitution of 1 equals both sides of a blend", function()
  for _, count in ipairs { 2, 4 } do
    local function strike(e)
      local w = sim.world { gravity = { 0, 0 }, dt = 0.01, restitution_model = "reflections" }
      local discs = {}
      for i = 1, count do
        discs[i] = w:circle { radius = 0.5, position = { 1.003 * i, 0 }, velocity = { i == 1 and 2 or 0, 0 },
          mass = i, restitution = e, friction = 0 }
      end
      local rod = w:box { size = { 0.4, 0.1 }, position = { 1.003 * count, 2 } }
      w:hinge { rod, discs[count], anchor = { 1.003 * count, 1.9 } }
      w:run { steps = 40 }
      return discs[1].vx + discs[count].x
    end
    local value, slope = sim.value_and_grad(strike, 1)
    eq(value, strike(1))
    near(slope, (strike(1) - strike(1 - 1e-6)) / 1e-6, 1e-5)
    near(slope, select(2, sim.value_and_grad(strike, 1 - 1e-9)), 1e-6)
    ok(math.abs(slope) > 0.1)
  end
end)

test("a small pendulum is faster the shorter it is", function()
  local gravity, length, amplitude, t = 9.81, 1, 0.01, 0.75
  local function angle(p)
    local w = sim.world { gravity = { 0, -gravity }, dt = 0.002, alpha = 0.5, beta = 0.5,
      geometric_stiffness = "on" }
    local bob = w:circle { radius = 0.01, density = 1000,
      position = { p.l * sim.sin(amplitude), -p.l * sim.cos(amplitude) } }
    w:hinge { bob, nil, anchor = { 0, 0 } }
    w:run { steps = 375 }
    return bob.angle
  end
  local _, g = sim.value_and_grad(angle, { l = length })
  local omega = math.sqrt(gravity / length)
  -- angle = amplitude (cos(omega t) - 1)
  near(g.l * 1000, amplitude * math.sin(omega * t) * t * omega / (2 * length) * 1000, 1e-3)
  ok(sim.check_grad(angle, { l = length }, { print = false }) < 1e-6)
end)

-- ---- Functions that take tracked numbers ------------------------------------------------------

test("bodies: everything a constructor takes", function()
  agrees(function(p)
    local w = sim.world { gravity = { p.gx, -9.81 }, dt = 0.01 }
    w:segment { from = { -5, p.floor }, to = { 50, 0 }, restitution = p.e, friction = p.mu }
    local a = w:circle { radius = p.r, position = { 0, 1 }, velocity = { 1, p.vy }, density = p.rho,
      angular_velocity = p.omega, restitution = 0.5, friction = 0.3, linear_damping = p.damping,
      gravity_scale = p.scale }
    w:run { steps = 70 }
    return a.x + 2 * a.y + a.angle + a.vx * a.vy + a.omega
  end, { gx = 0.3, floor = 0.05, e = 0.6, mu = 0.02, r = 0.2, vy = -1, rho = 2, omega = 20,
    damping = 0.1, scale = 0.9 }, 1e-7)
end)

test("shapes: sizes, vertices, pieces of a compound", function()
  agrees(function(p)
    local w = sim.world { gravity = { 0, -9.81 }, dt = 0.01 }
    w:polygon { vertices = { { -5, 0 }, { -5, -1 }, { 5, -1 }, { 5, p.slope } }, type = "static",
      friction = p.mu }
    local box = w:box { size = { 1, p.h }, position = { 0, 0.6 }, angle = 0.05 }
    local dumbbell = w:compound { position = { 3, 1.5 }, angular_velocity = 1, shapes = {
      { radius = p.r, position = { -p.d, 0 } }, { radius = 0.2, position = { p.d, 0 }, density = 3 } } }
    w:run { steps = 60 }
    return box.x + box.y + box.angle + dumbbell.x * dumbbell.angle
  end, { slope = 0.4, mu = 0.2, h = 0.5, r = 0.15, d = 0.4 }, 1e-6)
end)

test("fields of bodies: read what was written, and overwritten", function()
  local g = agrees(function(p)
    local w = sim.world { gravity = { 0, 0 }, dt = 0.1 }
    local a = w:circle { radius = 1, velocity = { p.a, 0 } }
    a.vx = 1 -- the former value no longer matters
    a.velocity = { a.vx + p.b, p.b }
    a.position = { p.b, 2 }
    a.q = { p.b, a.x * 2, a.y }
    a.omega = p.b * 2
    a.mass = p.m
    a.inertia = p.m * 3
    a.friction, a.restitution, a.linear_damping = p.m, p.m / 10, p.b
    w:step(3)
    return a.x * 3 + a.y + a.angle * 2 + a.mass * a.inertia + a.friction + a.restitution
      + a:kinetic_energy() + a.position.x * a.v.va + p.a
  end, { a = 1, b = 0.3, m = 2 })
  near(g.a, 1, 1e-14)
end)

test("forces, torques and impulses at points, from a controller with a memory", function()
  agrees(function(p)
    local w = sim.world { gravity = { 0, -9.81 }, dt = 0.01 }
    local a = w:box { size = { 1, p.h }, velocity = { 1, 0 } }
    local mean = 0
    w:before_step(function()
      mean = 0.9 * mean + 0.1 * a.y
      a:apply_force({ -p.k * a.x, p.b - p.k * mean }, { at = a:world_point { p.o, 0.2 } })
      a:apply_torque(-p.k * a.omega)
    end)
    w:run { steps = 40 }
    a:apply_impulse({ p.k, 1 }, { at = { a.x + p.o, 0.1 } })
    w:run { steps = 10 }
    local inside = a:local_point { 0.1, p.o }
    return a.x ^ 2 + a.y * a.angle + a.vx + inside.x * inside.y
  end, { h = 0.5, k = 3, b = 9, o = 0.1 })
end)

test("force laws", function()
  agrees(function(p)
    local w = sim.world { gravity = { 0, -9.81 }, dt = 0.01 }
    local a = w:box { size = { 1, 0.5 }, velocity = { 1, 0 } }
    a:force_law(function(b, t) return -b.omega, -p.k * b.x, -p.k * b.y * t end)
    w:run { steps = 60 }
    return a.x ^ 2 + a.y + a.vx
  end, { k = 3 })
end)

test("joints: their definitions and their readings", function()
  agrees(function(p)
    local w = sim.world { gravity = { 0, 0 }, dt = 0.01 }
    local a = w:box { size = { 1, p.h }, position = { p.x, 0.3 }, angle = p.a, velocity = { 1, 2 },
      angular_velocity = 0.5 }
    local b = w:box { size = { 0.7, 0.3 }, position = { 1, p.x }, angular_velocity = p.a }
    local hinge = w:hinge { a, b, anchor = { p.x + 0.5, p.h } }
    local slider = w:slider { b, nil, anchor = { 1, 0 }, axis = { 1, p.a }, limits = { -1, p.h },
      motor = { speed = p.a, max_force = p.x } }
    local spring = w:spring { a, nil, anchor_a = { p.x, 0.4 }, anchor_b = { p.a, 2 },
      stiffness = p.h, damping = p.x }
    local distance = w:distance { a, b, anchor_a = { p.x, 0.1 }, anchor_b = { 1, p.h } }
    local weld = w:weld { a, b, anchor = { 0, p.x }, compliance = { linear = p.h, angular = p.x },
      damping = p.a }
    local soft = w:hinge { a, nil, anchor = { 0, 0 }, compliance = { { p.x, p.a / 9 }, { p.a / 9, p.h } } }
    local gear = w:gear { hinge, slider, ratio = p.a + 2 }
    a.q = { p.a * 2, p.x + 1, 0.2 }
    b.q = { 0.3, p.h, p.x }
    b.vx = p.h
    local at_a, at_b, limits = hinge.anchor_a, slider.anchor_b, slider.limits
    return hinge.angle * 2 + hinge.speed * 3 + slider.translation + slider.speed * p.x
      + spring.length ^ 2 + spring.stiffness * spring.damping + distance.length * 1.3 + at_a.x * at_b.y
      + slider.axis.x + limits[2] * 3 + slider.motor_speed * slider.motor_max + weld.compliance
      + weld.damping * 2 + w:energy().total + gear.ratio ^ 2 + w:momentum().angular * 2
      + spring.rest_length ^ 2 + soft.angle
  end, { h = 0.5, x = 0.2, a = 0.3 })
end)

test("joints: fields that are written", function()
  agrees(function(p)
    local w = sim.world { gravity = { 0, 0 }, dt = 0.01 }
    local a = w:box { size = { 1, 1 }, position = { 0, 0.3 }, angle = 0.1 }
    local slider = w:slider { a, nil, anchor = { 0, 0.3 }, axis = { 1, 0 }, limits = { -1, 1 },
      motor = { speed = 1, max_force = 2 } }
    slider.motor_speed, slider.motor_max, slider.limits = p.x, p.y, { -p.x, p.y }
    slider.friction = p.x * p.y
    local mouse = w:mouse { a, anchor = { 0.1, 0.3 }, target = { 1, p.x }, stiffness = p.y, damping = 1 }
    mouse.target = { p.x, p.y }
    local lock = w:lock { a, x = true, y = true, angle = true, velocity = { p.x, 0 },
      angular_velocity = p.y }
    lock.velocity = { p.y, p.x }
    local spring = w:spring { a, nil, anchor_b = { 2, 2 }, stiffness = 1, rest_length = p.x }
    spring.stiffness, spring.damping, spring.rest_length = p.y, p.x, p.y * p.x
    local weld = w:weld { a, nil, anchor = { 0, 0 }, compliance = 0.1 }
    weld.compliance, weld.damping = p.x, p.y
    return slider.motor_speed * slider.motor_max + slider.limits[1] * slider.limits[2]
      + slider.friction + mouse.target.x * mouse.target.y ^ 2 + lock.velocity.x * 2
      + lock.velocity.y * lock.angular_velocity + spring.stiffness * spring.damping * spring.rest_length
      + weld.compliance * 3 + weld.damping + mouse.stiffness
  end, { x = 0.2, y = 0.3 })
end)

test("jointed worlds: pendulum, springs, motors", function()
  agrees(function(p)
    local w = sim.world { gravity = { 0, -9.81 }, dt = 0.005 }
    local a = w:circle { radius = 0.1, position = { p.l, 0 }, mass = p.m }
    local b = w:box { size = { 0.4, 0.1 }, position = { p.l + 0.2, 0 } }
    w:hinge { a, nil, anchor = { 0, 0 } }
    w:hinge { b, a, anchor = { p.l, 0.01 }, motor = { speed = 2, max_torque = p.torque } }
    w:spring { b, nil, anchor_b = { 0, 1 }, stiffness = p.k, damping = p.c, rest_length = p.rest }
    w:run { steps = 50 }
    return a.x + b.y * 2 + b.angle
  end, { l = 1, m = 0.5, torque = 0.05, k = 30, c = 1, rest = 0.8 }, 1e-6)
end)

-- ---- Copies -----------------------------------------------------------------------------------

-- Whether corrections are active must not be decided relative to the room that a far limit leaves: contacts that are
-- lifted by little would count as open.
test("jointed worlds: limits far from the motion do not change derivatives", function()
  local function rest(limits)
    local w = sim.world { dt = 1 / 240 }
    w:segment { from = { 30, 0 }, to = { -30, 0 }, friction = 0.9 }
    local body = w:box { name = "body", size = { 2.4, 0.4 }, position = { 0, 0.75 }, mass = 60 }
    for _, x in ipairs { -0.8, 0.8 } do
      local tyre = w:circle { position = { x, 0.35 }, radius = 0.35, mass = 4, friction = 0.9 }
      w:wheel { tyre, body, anchor = { x, 0.35 }, axis = { 0, 1 }, stiffness = 3000, damping = 250,
        limits = limits, motor = { speed = -11, max_torque = 40 } }
    end
    w:run { steps = 60 }
    return w
  end
  local found = {}
  for i, limits in ipairs { { -0.2, 0.2 }, { -2, 2 }, { -20, 20 } } do
    local start = rest(limits)
    local function heights(p)
      local w = start:clone()
      w.gravity = { 0, -9.81 * p.g }
      w.bodies.body.mass = p.m
      w:run { steps = 10 }
      return w.bodies.body.y + w.bodies.body.vx
    end
    found[i] = agrees(heights, { g = 1.1, m = 61 }, 1e-8)
    eq(#sim.tape_stats().flags, 0, "nothing on an edge")
  end
  near(found[1].g, found[3].g, 1e-12)
  near(found[2].g, found[3].g, 1e-12)
end)

test("springs with a polynomial, viscous contacts", function()
  agrees(function(p)
    local w = sim.world { gravity = { 0, -9.81 }, dt = 0.005 }
    w:segment { from = { -5, 0 }, to = { 5, 0 }, friction = 0.1 }
    local a = w:circle { radius = 0.1, position = { 1, 0 }, mass = 2 }
    w:spring { a, nil, anchor_b = { 0, 1 }, stiffness = 10, quadratic = p.q, cubic = p.c }
    local b = w:box { size = { 0.5, 0.2 }, position = { 3, 0.1 }, velocity = { 1, 0 },
      contact_viscosity = p.v }
    w:run { steps = 60 }
    return a.x + a.y + b.x
  end, { q = 5, c = 7, v = 2 }, 1e-6, 1e-5)
end)

test("clones, snapshots, states and dt", function()
  agrees(function(p)
    local w = sim.world { gravity = { 0, -9.81 }, dt = p.dt }
    local a = w:circle { radius = 0.1, position = { p.x, 0 }, velocity = { 1, 0 }, angle = p.x }
    w:run { steps = 10 }
    local snapshot = w:snapshot()
    w:run { steps = 10 }
    local later = a.y
    w:restore(snapshot)
    local copy = w:clone()
    a.vx = p.x * 2
    w:run { steps = 5 }
    copy:run { steps = 30 }
    local state = sim.array(copy:state())
    w:set_state(state * 0.5)
    w:run { steps = 3 }
    return later * a.x + a.y + a.angle + w.time * p.x + state[2] * 3
  end, { x = 0.7, dt = 0.01 })
end)

test("two worlds in one loss, and numbers of one in the other", function()
  agrees(function(p)
    local one, two = sim.world { gravity = { 0, -1 }, dt = 0.1 }, sim.world { gravity = { p.g, 0 }, dt = 0.1 }
    local a, b = one:circle { radius = p.r, velocity = { 1, 0 } }, two:circle { radius = 1 }
    for _ = 1, 5 do
      one:step()
      b:apply_force { a.y * a.mass, p.g }
      two:step()
    end
    return a.x * a.mass + b.x + b.y
  end, { g = 0.4, r = 0.5 })
end)

test("a world made outside is really changed; its former state is constant", function()
  local w = sim.world { gravity = { 0, 0 }, dt = 0.1 }
  local a = w:circle { radius = 1, velocity = { 1, 0 } }
  local start = w:snapshot()
  local function f(p)
    w:restore(start)
    a.vy = p
    w:step(2)
    return a.x + a.y * 3
  end
  local value, g = sim.value_and_grad(f, 2)
  near(value, 0.2 + 1.2, 1e-14)
  near(g, 0.6, 1e-14)
  eq(a.vy, 2)
  eq(math.type(a.vy), "float")
  eq(sim.grad(function(p) w:step() return p * a.x end, 1), a.x)
end)

test("bodies that come and go: slots are used again", function()
  agrees(function(p)
    local w = sim.world { gravity = { 0, 0 }, dt = 0.1 }
    local a = w:circle { radius = p.r, velocity = { p.v, 0 } }
    w:step(2)
    local x = a.x * a.mass
    a:destroy()
    local b = w:circle { radius = 1, velocity = { 1, 0 } }
    local c = w:circle { radius = p.r, position = { 5, 0 }, velocity = { 0, p.v } }
    w:step(2)
    return x + b.x + c.y * c.inertia
  end, { r = 0.5, v = 2 })
end)

test("an error in a callback undoes its writes, and the call goes on", function()
  local function f(p)
    local w = sim.world { gravity = { 0, 0 }, dt = 0.1 }
    local a = w:circle { radius = 1, velocity = { p, 0 } }
    local fail = true
    w:before_step(function()
      a.vx = p * 100
      a:apply_force { p * p, 0 }
      if fail then error("on purpose") end
      a.vx = p * 2
    end)
    ok(not pcall(w.step, w))
    near(a.vx:value(), 1.5, 0)
    local x = a.vx
    fail = false
    w:step()
    return a.x + x
  end
  local _, g = sim.value_and_grad(f, 1.5)
  local mass = math.pi
  near(g, 0.1 * (2 + 0.1 * 2 * 1.5 / mass / 2) + 1, 1e-12)
end)

test("a gear gets another ratio on the tape", function()
  for _, plain in ipairs { false, true } do
    local function loss(p)
      local w = sim.world { dt = 0.01 }
      local arm = w:box { size = { 1.2, 0.1 }, position = { 0.5, 0 }, mask = 0, angle = 0.1 }
      local one = w:circle { radius = p.r, position = { 0.4, 0.05 }, mask = 0, angular_velocity = p.w }
      local two = w:box { size = { 0.3, 0.2 }, position = { 1, 0 }, mask = 0 }
      w:hinge { arm, anchor = { 0, 0 } }
      local first = w:hinge { one, arm, anchor = { p.x, 0 } }
      local gear = w:gear { first, w:hinge { two, arm, anchor = { 1, 0 } }, ratio = 0.7 }
      w:run { steps = 10, progress = false }
      gear.ratio = p.ratio
      local ratio = gear.ratio
      w:run { steps = 10, progress = false }
      if plain then gear.ratio = -0.4 end
      w:run { steps = 3, progress = false }
      return two.angle + 2 * one.angle - arm.omega + ratio ^ 2
    end
    local p = { r = 0.2, w = 3, x = 0.42, ratio = -1.3 }
    ok(sim.check_grad(loss, p, { print = false }) < 1e-7)
    ok(math.abs(sim.grad(loss, p).r) > 1)
  end
end)

test("outlines may be nearly straight at a vertex, but not straight", function()
  local function height(p) -- of a body that rests on its edge
    local w = sim.world { dt = 0.01 }
    local b = w:polygon { vertices = { { 0, 0 }, { 1, 0 }, { 1, 1 }, { 0.5, p }, { 0, 1 } }, position = { 0, 0.5 },
      name = "flat" }
    w:run { steps = 10, progress = false }
    return b.y * b.mass + b.inertia
  end
  for _, p in ipairs { 0.7, 0.999, 1 - 1e-6, 1 + 1e-6, 1.3 } do
    local step = math.min(1e-3, math.abs(p - 1) / 4)
    ok(sim.check_grad(height, p, { step = step, print = false }) < 1e-6)
    ok(math.abs(sim.grad(height, p)) > 0.1)
  end
  raises("the shapes of body 'flat' get different vertices .* straight edges", sim.grad, height, 1)
end)

-- ---- Rest -------------------------------------------------------------------------------------

test("resting places of bodies have the derivatives of closed forms", function()
  local function hanging(p) -- on a spring, pulled aside
    local w = sim.world { gravity = { 0, -p.g }, dt = 0.02 }
    local a = w:circle { radius = 0.1, position = { 0, -p.l }, mass = p.m }
    w:spring { a, anchor_a = { 0, -p.l }, anchor_b = { p.x, p.y }, rest_length = p.l, stiffness = p.k }
    a:apply_force { p.f, 0 }
    w:solve_static { tolerance = 1e-8 }
    w:run { steps = 3, progress = false } -- external forces have acted: it leaves
    w:solve_static { tolerance = 1e-8 }
    return 2 * a.x + a.y
  end
  local p = { g = 9, m = 0.5, l = 1, x = 0.2, y = 0.3, k = 40, f = 3 }
  local value, g = sim.value_and_grad(hanging, p)
  near(value, 2 * p.x + p.y - p.l - p.m * p.g / p.k, 1e-7)
  near(g.g, -p.m / p.k, 1e-7)
  near(g.m, -p.g / p.k, 1e-6)
  near(g.k, p.m * p.g / p.k ^ 2, 1e-7)
  near(g.x, 2, 1e-6)
  near(g.y, 1, 1e-6)
  near(g.l, -1, 1e-6)
  near(g.f, 0, 1e-9)

  for _, way in ipairs { {}, { stepping = "bisect" }, { stabilization = "baumgarte" },
    { alpha = 0.6, beta = 0.7, geometric_stiffness = "on" }, { substeps = 3 } } do
    local function aside(q) -- a rod that a force holds at an angle of atan(f/(m g))
      way.gravity, way.dt = { 0, -q.g }, 0.02
      local w = sim.world(way)
      local rod = w:box { size = { 0.1, q.l }, position = { 0, -q.l / 2 }, mass = q.m }
      w:hinge { rod, anchor = { 0, 0 } }
      rod:apply_force { q.f, 0 }
      w:solve_static { tolerance = 1e-8 }
      return rod.x
    end
    local q = { g = 9, m = 0.5, l = 1.2, f = 2 }
    local x, d = sim.value_and_grad(aside, q)
    local t = q.f / (q.m * q.g)
    local sine, slope = t / math.sqrt(1 + t ^ 2), (1 + t ^ 2) ^ -1.5
    near(x, q.l / 2 * sine, 1e-7)
    near(d.l, sine / 2, 1e-6)
    near(d.f, q.l / 2 * slope * t / q.f, 1e-6)
    near(d.m, -q.l / 2 * slope * t / q.m, 1e-6)
    near(d.g, -q.l / 2 * slope * t / q.g, 1e-6)
  end

  local function twice(y) -- a pendulum that is held twice, l + the depth of its bob
    local w = sim.world { dt = 0.02 }
    local b = w:circle { radius = 0.1, position = { 0.3, 0 } }
    for _ = 1, 2 do w:hinge { b, anchor = { 0, y } } end
    w:solve_static { tolerance = 1e-8 }
    return b.y
  end
  local low, slope = sim.value_and_grad(twice, 0.4)
  near(low, -0.1, 1e-7)
  near(slope, 1 - 0.8, 1e-6)

  local function sunk(q) -- into a soft floor whose height is tracked
    local w = sim.world { gravity = { 0, -q.g }, dt = 0.02 }
    w:box { size = { 9, 1 }, position = { 0, q.y - 0.5 }, type = "static", contact_compliance = q.c }
    local ball = w:circle { radius = q.r, position = { 0, q.r + q.y }, mass = q.m, friction = 0 }
    w:solve_static { tolerance = 1e-8 }
    return ball.y
  end
  local q = { g = 9, y = 0.2, c = 1e-3, r = 0.3, m = 2 }
  local y, d = sim.value_and_grad(sunk, q)
  near(y, q.y + q.r - q.c * q.m * q.g, 1e-7)
  near(d.y, 1, 1e-6)
  near(d.r, 1, 1e-6)
  near(d.c, -q.m * q.g, 1e-4)
  near(d.m, -q.c * q.g, 1e-6)
end)

-- Four links between two points, the last one held by a spring as well.
local function hung(w, p)
  local x, last = { { 0, 0 }, { 0.8, -0.6 }, { 1.6, -1.2 }, { 2.4, -0.6 }, { 3.2, 0 } }, nil
  for i = 1, 4 do
    local dx, dy = x[i + 1][1] - x[i][1], x[i + 1][2] - x[i][2]
    local link = w:box { size = { 1, 0.1 }, position = { x[i][1] + dx / 2, x[i][2] + dy / 2 },
      angle = math.atan(dy, dx), mass = p.m * i, mask = 0 }
    w:hinge { link, last, anchor = x[i] }
    last = link
  end
  w:hinge { last, anchor = { p.x, 0 } }
  w:spring { last, anchor_a = { 3, 0.2 }, anchor_b = { 3, -1 }, rest_length = 0.5, stiffness = p.k }
  last:apply_force { 0, p.f }
  return last
end

test("derivatives of the rest position of a chain, and of the motion after it, agree with differences", function()
  local function loss(p)
    local w = sim.world { gravity = { 0.3, -p.g }, dt = 0.02 }
    local last = hung(w, p)
    ok((w:solve_static { tolerance = 4e-9 }))
    last.omega = p.turn
    w:run { steps = 5, progress = false }
    return last.x + 2 * last.y + 3 * last.angle
  end
  local p = { g = 9.8, m = 1, x = 3.2, f = 2, k = 100, turn = 0.3 }
  ok(sim.check_grad(loss, p, { print = false }) < 2e-6) -- differences are as accurate as the tolerance of rest
  local plain = sim.grad(loss, p)
  sim.checkpoint(2)
  local kept = sim.grad(loss, p)
  sim.checkpoint()
  for key, g in pairs(plain) do
    eq(kept[key], g)
    ok(math.abs(g) > 1e-3)
  end
end)

test("resting places of gears that move three bodies", function()
  local function loss(p)
    local w = sim.world { dt = 0.02 }
    local arm = w:box { size = { 1, 0.1 }, position = { 0.5, -0.3 }, angle = -0.5, mass = p.m, mask = 0 }
    local one = w:box { size = { 0.3, 0.1 }, position = { 0.4, -0.2 }, mass = 0.5, mask = 0 }
    local two = w:box { size = { 0.4, 0.1 }, position = { 0.9, -0.5 }, mass = 0.8, mask = 0 }
    w:hinge { arm, anchor = { 0, 0 } }
    local first = w:hinge { one, arm, anchor = { 0.3, -0.2 } }
    w:gear { first, w:hinge { two, arm, anchor = { 0.8, -0.45 } }, ratio = p.ratio }
    w:spring { arm, anchor_a = { 0.9, -0.5 }, anchor_b = { 0.9, 0.5 }, rest_length = 0.5, stiffness = p.k }
    ok((w:solve_static { tolerance = 1e-8 }))
    return arm.angle + 2 * one.angle + two.angle + 3 * two.x
  end
  local p = { m = 1, ratio = 0.7, k = 40 }
  ok(sim.check_grad(loss, p, { print = false }) < 1e-6)
  ok(math.abs(sim.grad(loss, p).ratio) > 1)
end)

test("solve_static on the tape does not change the world", function()
  local function places(p)
    local w = sim.world { gravity = { 0.3, -9.8 }, dt = 0.02 }
    hung(w, { m = p, x = 3.2, k = 100, f = 2 })
    w:solve_static()
    w:run { steps = 5, progress = false }
    return w:state()
  end
  local plain = places(1)
  sim.grad(function(p)
    local state = places(p):value()
    for i = 1, #plain do eq(state[i], plain[i]) end
    return p
  end, 1)
end)

test("resting places without a derivative", function()
  local function on_a_floor(field, options)
    return function(p)
      local w = sim.world { dt = 0.02 }
      w:box { size = { 9, 1 }, position = { 0, -0.5 }, type = "static" }
      local b = w:box { size = { 1, p }, position = { 0, p / 2 } }
      w:solve_static(options)
      return b[field]
    end
  end
  near(sim.grad(on_a_floor "y", 1), 0.5, 1e-9)
  raises("a state of rest that is not unique %(friction holds bodies", sim.grad, on_a_floor "x", 1)
  local function falls(p)
    local w = sim.world { dt = 0.02 }
    local b = w:circle { radius = p }
    w:solve_static { max_steps = 3 }
    return b.y
  end
  raises("world:solve_static%(%) found no state of rest within max_steps", sim.grad, falls, 1)
  raises("a redundant set of contacts and joints %(hinge 'first', hinge 'again'%) has no derivative", sim.grad, function(p)
    local w = sim.world { dt = 0.02 }
    w:segment { from = { -9, -0.1 }, to = { 9, -0.1 } }
    local b = w:circle { radius = p, mass = 1 }
    w:hinge { b, anchor = { 1, 0.1 }, name = "first" }
    w:hinge { b, anchor = { 1, 0.1 }, name = "again" }
    w:solve_static()
    return b.y
  end, 0.1)
  raises("world:solve_static%(%) with force laws has no derivative yet", sim.grad, function(p)
    local w = sim.world { dt = 0.02 }
    local b = w:circle { radius = p }
    b:force_law(function() return 0, 0, 0 end)
    w:solve_static()
    return b.y
  end, 1)
end)

-- ---- Misuse -----------------------------------------------------------------------------------

test("a missing derivative is reported", function()
  local function with(f)
    return sim.value_and_grad, function(p)
      local w = sim.world { gravity = { 0, 0 }, dt = 0.1 }
      local a = w:circle { radius = 1, velocity = { p, 0 } }
      f(w, a, p)
      return a.x
    end, 0.5
  end
  raises("world:resolve_overlaps%(%) has no derivative yet", with(function(w) w:resolve_overlaps() end))
  raises("world:linearize%(%) has no derivative yet", with(function(w) w:linearize {} end))
  raises("changing a body's type has no derivative yet", with(function(_, a) a.type = "static" end))
  for _, name in ipairs { "tolerance", "contact_margin", "smoothing" } do
    raises("World." .. name .. " has no derivative: .*x:value%(%)", with(function(w, _, p) w[name] = p end))
  end
  raises("number expected, got a tracked number; x:value%(%)", with(function(w, _, p)
    w:run { duration = p }
  end))
end)

test("a step that missed its tolerance reports that its derivative is that of a solution", function()
  local function flags(solver)
    sim.grad(function(p)
      local w = sim.world { solver = solver, dt = 0.01 }
      w:segment { from = { -9, 0 }, to = { 9, 0 }, friction = 0.5 }
      local ball = w:circle { radius = 0.2, position = { 0, 0.2 }, velocity = { p, 0 }, friction = 0.5 }
      w:on("solver_warning", function() end)
      w:run { steps = 3, progress = false }
      return ball.x
    end, 1)
    return table.concat(sim.tape_stats().flags, " ")
  end
  eq(flags "auto", "")
  eq(flags "linear", "partial")
end)

test("tracked numbers end with their call, snapshots stay", function()
  local kept, snapshot, world, body
  sim.grad(function(p)
    world = sim.world { gravity = { 0, 0 }, dt = 0.1 }
    body = world:circle { radius = 1, velocity = { p, 0 } }
    kept, snapshot = body.vx, world:snapshot()
    return kept
  end, 2)
  eq(kept:value(), 2)
  raises("tracked", function() body.vx = kept end)
  raises("used outside of the gradient call", function() return kept + 1 end)
  body.vx = 5
  world:restore(snapshot)
  eq(body.vx, 2)
  local g = sim.grad(function(p)
    world:restore(snapshot)
    return body.vx * p
  end, 3)
  eq(g, 2)
end)

-- ---- Checkpoints ------------------------------------------------------------------------------

local function long(steps)
  return function(p)
    local w = sim.world { gravity = { 0, -9.81 }, dt = 0.005 }
    w:segment { from = { -20, 0 }, to = { 20, 0 }, friction = p.mu, restitution = 0.4 }
    local ball = w:circle { radius = 0.2, position = { 0, 0.5 }, velocity = { p.v, 0 }, friction = p.mu,
      restitution = 0.7 }
    local arm = w:box { size = { 1, 0.1 }, position = { 3.5, 3 } }
    local hinge = w:hinge { arm, nil, anchor = { 3, 3 }, motor = { speed = 1, max_torque = 0.2 } }
    ball:force_law(function(b) return 0, -p.k * b.vx, 0 end)
    w:pre_solve(function(contact) contact.friction = contact.friction * 0.9 end)
    w:before_step(function()
      arm:apply_torque(-p.k * arm.omega + p.k)
      hinge.motor_speed = p.v * hinge.angle
    end)
    w:run { steps = steps // 2, progress = false }
    local other = w:circle { radius = p.mu, position = { 10, 5 } }
    w:run { steps = steps - steps // 2, progress = false }
    return ball.x + ball.angle + arm.angle * 3 + other.y * other.mass
  end
end

test("checkpoints: the same gradient, its bits too", function()
  local p = { mu = 0.3, v = 1.5, k = 0.2 }
  local value, g = sim.value_and_grad(long(400), p)
  local bytes = sim.tape_stats().bytes
  for _, every in ipairs { 1, 7, 40, 1000 } do
    eq(sim.checkpoint(every), nil)
    local again, h = sim.value_and_grad(long(400), p)
    local kept = sim.tape_stats().bytes
    eq(sim.checkpoint(), every)
    eq(again, value, "value")
    for name, derivative in pairs(g) do
      eq(h[name], derivative, name)
    end
    -- An image of each step is larger than its notes.
    ok(kept < bytes or every == 1, ("%d bytes with checkpoints, %d without"):format(kept, bytes))
  end
  raises("bad argument #1 to 'checkpoint'", sim.checkpoint, 0)
  raises("bad argument #1 to 'checkpoint'", sim.checkpoint, "often")
end)

test("checkpoints bound the memory of long runs", function()
  local function tape(steps)
    sim.value_and_grad(long(steps), { mu = 0.3, v = 1.5, k = 0.2 })
    return sim.tape_stats().bytes
  end
  local plain = tape(400)
  sim.checkpoint(20)
  local kept = tape(400)
  sim.checkpoint()
  ok(kept < 0.6 * plain, ("%d bytes, %d without checkpoints"):format(kept, plain))
end)

test("event stepping: the time of a bounce moves with the data", function()
  for _, n in ipairs { 15, 60 } do
    local t, e, gravity = 1, 0.8, 9.81
    local function height(p)
      local w = sim.world { gravity = { 0, -p.g }, dt = t / n, stepping = "event" }
      w:segment { from = { -5, 0 }, to = { 5, 0 }, restitution = p.e }
      local ball = w:circle { radius = 0.5, position = { 0, p.y }, restitution = p.e }
      w:run { steps = n }
      return ball.y
    end
    local g = agrees(height, { y = 1.5, e = e, g = gravity })
    local fall = math.sqrt(2 / gravity)
    local s, v = t - fall, gravity * fall -- since the bounce, and the speed before it
    near(g.y, e * s * gravity / v - (e * v - gravity * s) / v, 1e-11, "by height")
    near(g.e, v * s, 1e-11, "by restitution")
    eq(#sim.tape_stats().flags, 0)
  end
end)

test("event stepping: islands with joints have a derivative", function()
  local function swing(p) -- an arm that strikes the floor at its end
    local w = sim.world { dt = 0.01, gravity = { 0, -9.8 }, stepping = "event" }
    w:box { type = "static", size = { 10, 1 }, position = { 0, -1 }, friction = 0, restitution = 0.5 }
    local arm = w:box {
      size = { 1, 0.1 }, position = { 0.5, 0 }, angular_velocity = p.w,
      velocity = { 0, 0.5 * p.w }, friction = 0, restitution = p.e,
    }
    w:hinge { a = arm, anchor = { 0, 0 } }
    w:run { steps = 40 }
    return arm.angle
  end
  local p = { w = 0.3, e = 0.6 }
  local g = sim.grad(swing, p)
  for _, k in ipairs { "w", "e" } do
    local up, down = { w = p.w, e = p.e }, { w = p.w, e = p.e }
    up[k], down[k] = p[k] + 1e-5, p[k] - 1e-5
    near(g[k], (swing(up) - swing(down)) / 2e-5, 1e-5, k)
  end
end)
