-- Worlds with flow = "rattle": accuracy and order of islands of joints, effects of friction and actuators, force laws
-- on joints, rest, and the cases that the flow leaves to others.
local sim = require "sim2d"
local rattled = require "rattled"
local scenes = require "order_scenes"

local function world(dt, settings)
  local def = { dt = dt, flow = "rattle" }
  for key, value in pairs(settings or {}) do def[key] = value end
  return sim.world(def)
end

-- The errors at 1/60, 1/120 and 1/240 s fall with this order.
local function order_of(errors, least, message)
  for i = 1, #errors - 1 do
    local order = math.log(errors[i] / errors[i + 1], 2)
    ok(order >= least, ("%s: order %.2f from %.3e to %.3e"):format(message, order, errors[i], errors[i + 1]))
  end
end

local RATES = { 60, 120, 240 }

local function solved(w, message)
  eq(w:stats().unsolved, 0, message)
end

-- ---- Chains ------------------------------------------------------------------------------------

local function double_pendulum(dt, settings)
  local w = world(dt, { gravity = { 0, -10 } })
  for key, value in pairs(settings or {}) do w[key] = value end
  local a = w:box { size = { 1, 0.1 }, mass = 1, position = { 0.5, 0 }, mask = 0 }
  local b = w:box { size = { 1, 0.1 }, mass = 1, position = { 1.5, 0 }, mask = 0 }
  w:hinge { a, anchor = { 0, 0 } }
  w:hinge { b, a, anchor = { 1, 0 } }
  return w, a, b
end

-- At 1/60 s the bound on the work of turning rows divides some steps, so the error there is smaller than this order
-- predicts.
test("a double pendulum keeps its energy to second order", function()
  local errors = {}
  for i, rate in ipairs { 120, 240, 480, 960 } do
    local w = double_pendulum(1 / rate)
    w.audit = true
    local before, worst = w:energy().total, 0
    for _ = 1, 10 * rate do
      w:step()
      worst = math.max(worst, math.abs(w:energy().total - before))
    end
    errors[i] = worst
    ok(w:stats().worst_joint_error <= 1e-12)
    solved(w, "and its audits are silent")
  end
  ok(errors[1] <= 0.09, errors[1])
  order_of(errors, 1.9, "energy")
end)

-- A chain of 8 hinged rods at 1/240 s gained 14.6 J of 40 J in one step, as its rows turn.
local function whip(random, rods, dt)
  local w = world(dt, { gravity = { 0, -10 } })
  local last, x, y, scale = nil, 0, 0, 0
  for _ = 1, rods do
    local length, angle, mass = random:uniform(0.2, 1), random:uniform(-1, 1.5), random:uniform(0.3, 2)
    local c, s = math.cos(angle), math.sin(angle)
    local rod = w:box { size = { length, 0.05 }, mass = mass, angle = angle, position = { x + length / 2 * c, y + length / 2 * s }, mask = 0 }
    w:hinge { rod, last, anchor = { x, y } }
    x, y, last, scale = x + length * c, y + length * s, rod, scale + 10 * mass * length
  end
  return w, scale
end

-- Points on rods without mass: no body turns.
local function whip_of_points(random, rods, dt)
  local w = world(dt, { gravity = { 0, -10 } })
  local last, x, y, scale = nil, 0, 0, 0
  for _ = 1, rods do
    local length, angle = random:uniform(0.2, 1), random:uniform(-1, 1.5)
    x, y = x + length * math.cos(angle), y + length * math.sin(angle)
    local point = w:circle { radius = 0.05, mass = random:uniform(0.3, 2), position = { x, y }, mask = 0 }
    w:distance { point, last, anchor_b = not last and { 0, 0 } or nil }
    last, scale = point, scale + 10 * point.mass * length
  end
  return w, scale
end

-- A step of 8 pieces may change the energy by 1.6e-2 of the kinetic energy, which may be twice the weight times length.
for name, chain in pairs { rods = whip, points = whip_of_points } do
  test("no step of a whipping chain changes its energy by much: " .. name, function()
    local random = sim.random:split()
    random:seed(5)
    for n = 1, fewer(60, 12) do
      local w, scale = chain(random, random:choice { 3, 5, 8 }, 1 / random:choice { 60, 120, 240 })
      local before, most = w:energy().total, 0
      for _ = 1, 3 / w.dt do
        w:step()
        local after = w:energy().total
        most, before = math.max(most, math.abs(after - before)), after
      end
      ok(most <= 0.05 * scale, ("chain %d: a step changed the energy by %.2e of weight times length"):format(n, most / scale))
    end
  end)
end

test("a double pendulum is where it should be after a second, to second order", function()
  local errors = {}
  for i, rate in ipairs(RATES) do errors[i] = scenes.error("double_pendulum", rate, { flow = "rattle" }) end
  order_of(errors, 1.9, "angles")
  ok(errors[2] <= 7e-4, errors[2])
end)

test("bits are the same in all steppings, and after a snapshot", function()
  local ends = {}
  for i, stepping in ipairs { "auto", "speculative", "event" } do
    local w, a, b = double_pendulum(1 / 60, { stepping = stepping })
    w:step(50)
    local image = w:snapshot()
    w:step(50)
    ends[i] = { a.x, a.angle, b.y, b.angle, b.omega }
    w:restore(image)
    w:step(50)
    eq({ a.x, a.angle, b.y, b.angle, b.omega }, ends[i])
  end
  eq(ends[2], ends[1])
  eq(ends[3], ends[1])
end)

test("a cart-pole is of second order", function()
  local function run(rate)
    local w, tilt = world(1 / rate), -0.2
    local cart = w:box { size = { 0.5, 0.3 }, mass = 1, mask = 0 }
    local pole = w:box { size = { 0.05, 1 }, mass = 0.1, inertia = 0.1 / 12, angle = tilt,
      position = { -0.5 * math.sin(tilt), 0.5 * math.cos(tilt) }, mask = 0 }
    w:slider { cart, anchor = { 0, 0 }, axis = { 1, 0 } }
    local hinge = w:hinge { pole, cart, anchor = { 0, 0 } }
    w:step(3 * rate)
    solved(w)
    return hinge.angle, cart.x
  end
  local angle, x = run(3840)
  local errors = {}
  for i, rate in ipairs(RATES) do
    local a, b = run(rate)
    errors[i] = math.max(math.abs(a - angle), math.abs(b - x))
  end
  ok(errors[2] <= 2.2e-3, errors[2])
  order_of(errors, 1.9, "cart-pole")
end)

test("soft links gain nothing, however stiff they are", function()
  for _, compliance in ipairs { 1e-6, 1e-8, 1e-10 } do
    local w, before = world(1 / 240), nil
    for i = 1, 8 do
      local link = w:box { size = { 0.5, 0.1 }, mass = 1, position = { 0.5 * i - 0.25, 0 }, mask = 0 }
      w:hinge { link, before, anchor = { 0.5 * (i - 1), 0 }, compliance = compliance }
      before = link
    end
    local start, gained = w:energy().total, 0
    for _ = 1, 4 * 240 do
      w:step()
      gained = math.max(gained, w:energy().total - start)
    end
    ok(gained <= 1e-6 * 8 * 9.81 * 2, ("compliance %g: gained %g J"):format(compliance, gained))
    solved(w)
  end
end)

-- ---- Friction, motors, limits ------------------------------------------------------------------

-- Energy lost and friction's work in 10 s.
local function taken(rate, friction)
  local w = world(1 / rate, { audit = true })
  local bob = w:circle { radius = 0.02, mass = 1, inertia = 0.01, position = { 1, 0 }, mask = 0 }
  local hinge = w:hinge { bob, anchor = { 0, 0 }, friction = friction }
  local start, way, angle = w:energy().total, 0, hinge.angle
  for _ = 1, 10 * rate do
    w:step()
    way, angle = way + math.abs(hinge.angle - angle), hinge.angle
  end
  solved(w)
  return start - w:energy().total, friction * way
end

test("dry friction takes its work", function()
  local errors = {}
  for i, rate in ipairs(RATES) do
    local lost, work = taken(rate, 0.05)
    errors[i] = math.abs(lost - work)
  end
  ok(errors[2] <= 3e-3, errors[2])
  order_of(errors, 1.8, "friction")
  near(taken(120, 1e-15), taken(120, 0), 1e-9)
end)

test("motors with a bound and without one", function()
  local function run(rate, most)
    local w = world(1 / rate)
    local bob = w:circle { radius = 0.02, mass = 1, inertia = 0.01, position = { 1, 0 }, mask = 0 }
    local hinge = w:hinge { bob, anchor = { 0, 0 }, motor = { speed = 3, max_torque = most } }
    w:step(2 * rate)
    solved(w)
    return hinge.angle
  end
  near(run(60, math.huge), 6, 1e-12)
  local reference, errors = run(3840, 5), {}
  for i, rate in ipairs(RATES) do errors[i] = math.abs(run(rate, 5) - reference) end
  order_of(errors, 1.8, "motor")
end)

test("a servo, a constant torque and damping in hinges are of second order", function()
  local function run(rate, kind)
    local w = world(1 / rate)
    local bob = w:circle { radius = 0.02, mass = 1, inertia = 0.01, position = { 1, 0 }, mask = 0 }
    local damping = kind == "damping"
    local hinge = w:hinge { bob, anchor = { 0, 0 }, stiffness = damping and 20 or nil, damping = damping and 0.5 or nil }
    if not damping then
      local servo = kind == "position"
      w:actuator { "a", joint = hinge, kind = kind, kp = servo and 30 or nil, kd = servo and 3 or nil }
      w:act { servo and 0.5 or 4 }
    end
    w:step(rate)
    solved(w)
    return hinge.angle
  end
  for _, kind in ipairs { "position", "torque", "damping" } do
    local reference, errors = run(3840, kind), {}
    for i, rate in ipairs(RATES) do errors[i] = math.abs(run(rate, kind) - reference) end
    order_of(errors, 1.9, kind)
  end
end)

test("chains of limits and friction come to exact rest", function()
  local w, before = world(1 / 120), nil
  local links = {}
  for i = 1, 6 do
    links[i] = w:box { size = { 0.5, 0.1 }, mass = 1, position = { 0.5 * i - 0.25, 0 }, mask = 0 }
    w:hinge { links[i], before, anchor = { 0.5 * (i - 1), 0 }, limits = { -0.5, 0.5 }, friction = 0.5 }
    before = links[i]
  end
  w:step(3000)
  for _, link in ipairs(links) do eq({ link.vx, link.vy, link.omega }, { 0.0, 0.0, 0.0 }) end
  solved(w)
end)

-- ---- Given motions -----------------------------------------------------------------------------

test("a pendulum on a body that moves and turns", function()
  local function run(rate)
    local w = world(1 / rate)
    local carrier = w:box { type = "kinematic", size = { 0.2, 0.2 }, velocity = { 1, 0.3 }, angular_velocity = 0.7, mask = 0 }
    local bob = w:circle { radius = 0.02, mass = 1, inertia = 0.01, position = { 1, 0 }, mask = 0 }
    local hinge = w:hinge { bob, carrier, anchor = { 0.1, 0 } }
    w:step(2 * rate)
    ok(w:stats().worst_joint_error <= 1e-13)
    solved(w)
    return hinge.angle
  end
  local reference, errors = run(3840), {}
  for i, rate in ipairs(RATES) do errors[i] = math.abs(run(rate) - reference) end
  order_of(errors, 1.9, "carried")
end)

test("a common velocity of all bodies changes nothing", function()
  local function run(v)
    local w = world(1 / 60, { gravity = { 0, -5 } })
    local carrier = w:box { type = "kinematic", size = { 0.2, 0.2 }, velocity = { v, 0 }, mask = 0 }
    local bob = w:circle { radius = 0.02, mass = 1, inertia = 0.01, position = { 1, 0 }, velocity = { v, 0 }, mask = 0 }
    w:hinge { bob, carrier, anchor = { 0, 0 }, friction = 0.2 }
    w:step(120)
    return bob.x - carrier.x, bob.y
  end
  local x, y = run(0)
  local moved_x, moved_y = run(30)
  near(moved_x, x, 1e-10)
  near(moved_y, y, 1e-10)
end)

-- ---- Force laws --------------------------------------------------------------------------------

test("springs as force laws on a hinge and in a chain", function()
  local function hinge(rate)
    local w = world(1 / rate, { gravity = { 0, 0 } })
    local bob = w:circle { radius = 0.02, mass = 1, inertia = 0.01, position = { 0, -1 }, velocity = { 3, 0 }, angular_velocity = 3, mask = 0 }
    bob:force_law(function(b) return 0, -100 * b.x, -100 * (b.y + 1) end)
    w:hinge { bob, anchor = { 0, 0 } }
    local function energy() return w:energy().total + 50 * (bob.x^2 + (bob.y + 1)^2) end
    local start, worst = energy(), 0
    for _ = 1, 100 * rate do
      w:step()
      worst = math.max(worst, math.abs(energy() / start - 1))
    end
    solved(w)
    return worst
  end
  local errors = {}
  for i, rate in ipairs(RATES) do errors[i] = hinge(rate) end
  ok(errors[1] <= 0.02, errors[1])
  order_of(errors, 1.9, "spring on a hinge")
  -- In a chain that swings by small angles.
  local function chain(rate)
    local w, before, links = world(1 / rate), nil, {}
    for i = 1, 4 do
      local link = w:box { size = { 0.1, 0.5 }, mass = 1, position = { 0, 0.25 - 0.5 * i }, mask = 0 }
      link:force_law(function(b) return 0, -100 * b.x, 0 end)
      w:hinge { link, before, anchor = { 0, 0.5 - 0.5 * i } }
      links[i], before = link, link
    end
    links[4].velocity, links[4].angular_velocity = { 0.25, 0 }, 1
    local function energy()
      local sum = w:energy().total
      for _, link in ipairs(links) do sum = sum + 50 * link.x^2 end
      return sum
    end
    local rest = energy() - w:energy().kinetic
    w:step()
    local start, worst = energy(), 0
    for _ = 1, 100 * rate do
      w:step()
      worst = math.max(worst, math.abs(energy() - start))
    end
    solved(w)
    return worst / (start - rest)
  end
  for i, rate in ipairs(RATES) do errors[i] = chain(rate) end
  ok(errors[1] <= 0.02, errors[1])
  order_of(errors, 1.8, "springs in a chain")
end)

-- w' = -c r^2 w / (I + m r^2) of a pendulum without gravity.
test("dampers as force laws on a hinge, weak and strong", function()
  for _, c in ipairs { 1, 10, 1000 } do
    local function run(rate)
      local w = world(1 / rate, { gravity = { 0, 0 } })
      local bob = w:circle { radius = 0.02, mass = 1, inertia = 0.01, position = { 1, 0 }, velocity = { 0, 3 }, angular_velocity = 3, mask = 0 }
      bob:force_law(function(b) return 0, -c * b.vx, -c * b.vy end)
      w:hinge { bob, anchor = { 0, 0 } }
      w:step(rate)
      solved(w)
      return math.abs(bob.angle - 3 * 1.01 / c * (1 - math.exp(-c / 1.01)))
    end
    if c < 1000 then
      order_of({ run(60), run(120), run(240) }, 1.9, ("damper %g"):format(c))
    end
    ok(run(60) < 5e-4)
  end
end)

test("a magnetic force keeps the speed of a body on a rod", function()
  local w = world(1 / 60, { gravity = { 0, 0 } })
  local a = w:circle { radius = 0.1, mass = 1, position = { -0.5, 0 }, mask = 0 }
  local b = w:circle { radius = 0.1, mass = 1, position = { 0.5, 0 }, mask = 0 }
  w:distance { a, b }
  for _, disc in ipairs { a, b } do
    disc:force_law(function(o) return 0, 8 * o.vy, -8 * o.vx end)
  end
  a.velocity, b.velocity = { 1, 1 }, { 1, -1 }
  w:step()
  local start = w:energy().total
  w:step(600)
  near(w:energy().total / start, 1, 1e-9)
end)

-- ---- Random scenes -----------------------------------------------------------------------------

local function between(lo, hi) return lo + (hi - lo) * math.random() end

local function pick(list) return list[math.random(#list)] end

local function joint_keys(kind, i, other)
  local keys = {}
  local anchored = kind == "hinge" or kind == "slider" or kind == "weld" or kind == "wheel"
  keys.anchor = anchored and { (i - 0.5) * 0.6, between(-0.2, 0.2) } or nil
  keys.anchor_b = not anchored and not other and { (i - 1) * 0.6, 1 } or nil
  local turn = between(0, 6)
  keys.axis = (kind == "slider" or kind == "wheel") and { math.cos(turn), math.sin(turn) } or nil
  if kind == "wheel" or kind == "spring" then keys.stiffness, keys.damping = 10^between(1, 3), between(0, 5) end
  local most = kind == "hinge" and "max_torque" or "max_force"
  local extra = (kind == "hinge" or kind == "slider") and math.random(7) or 0
  if extra == 1 then keys.limits = { -between(0.1, 1), between(0.1, 1) } end
  if extra == 2 then keys.motor = { speed = between(-3, 3), [most] = between(0.1, 20) } end
  if extra == 3 then keys.friction = between(0, 3) end
  if extra == 4 then keys.stiffness, keys.damping = 10^between(0, 3), between(0, 3) end
  if extra == 5 then keys.compliance = 10^between(-8, -3) end
  if extra == 6 then keys.limits, keys.friction = { -between(0.1, 1), between(0.1, 1) }, between(0, 3) end
  if (kind == "weld" or kind == "distance") and math.random() < 0.4 then
    keys.compliance, keys.damping = 10^between(-8, -3), between(0, 10)
  end
  return keys
end

test("random scenes of all joints are solved", function()
  math.randomseed(5)
  for n = 1, 200 do
    local w = world(1 / pick { 60, 120 }, { gravity = { 0, pick { 0, -9.81 } }, stepping = pick { "auto", "speculative" } })
    local base = math.random() < 0.3 and w:box { type = "kinematic", size = { 0.2, 0.2 }, velocity = { between(-1, 1), between(-1, 1) },
      angular_velocity = between(-1, 1), mask = 0 } or nil
    local bodies = {}
    for i = 1, math.random(6) do
      bodies[i] = w:box { size = { between(0.2, 1), between(0.1, 0.4) }, mass = 10^between(-1, 1.5), position = { i * 0.6, between(-0.3, 0.3) },
        angle = between(-1, 1), velocity = { between(-1, 1), between(-1, 1) }, angular_velocity = between(-2, 2), mask = 0 }
      local other = i == 1 and base or bodies[i - 1]
      local kind = pick { "hinge", "hinge", "hinge", "slider", "weld", "distance", "spring", "wheel", "rope" }
      local keys = joint_keys(kind, i, other)
      keys[1], keys[2] = bodies[i], other
      w[kind](w, keys)
    end
    w:step(60)
    eq(w:stats().unsolved_solves, 0, n)
    ok(w:stats().worst_joint_error <= 1e-11, n)
  end
end)

-- ---- Cases of the other flow -------------------------------------------------------------------

test("joints that contradict each other are reported as unsolved", function()
  local w = world(1 / 120)
  local box = w:box { size = { 1, 0.1 }, mass = 1, position = { 0.5, 0 }, mask = 0 }
  w:hinge { box, anchor = { 0, 0 } }
  local rod = w:distance { box, anchor_b = { 0, 0 } }
  w:distance { box, anchor_b = { 0, 1 } }
  w:step()
  rod.length = 0.2
  w:step()
  ok(w:stats().unsolved > 0)
end)

-- A complementarity system describes the speculative step by projection, whatever the flow is.
test("a complementarity system describes the flow by projection", function()
  local made = {}
  for _, flow in ipairs { "projected", "rattle" } do
    local w = sim.world { dt = 0.01, flow = flow, stepping = "speculative" }
    w:segment { from = { -5, 0 }, to = { 5, 0 }, friction = 0.5 }
    local box = w:box { size = { 1, 1 }, mass = 2, position = { 0, 0.5 }, friction = 0.5, velocity = { 1, 0 } }
    w:actuator { "push", body = box, kind = "force", direction = { 1, 0 } }
    made[flow] = w:lcs()
    w:act { 15 }
    local x = made[flow]:step(made[flow].x0, { 15 })
    w:step()
    near((x - made[flow]:read(w)):norm(), 0, 1e-9)
  end
  for _, name in ipairs { "A", "B", "D", "E", "F", "H" } do
    eq((made.rattle[name] - made.projected[name]):norm(), 0, name)
  end
end)

-- The angle of a wheel changes no row: a step of a cart is one piece, on fast wheels as on slow ones, also if the joint
-- names its bodies in the other order.
test("wheels take one piece, however fast they turn", function()
  for _, swapped in ipairs { false, true } do
    local function cart(omega, anchor)
      local w = world(1 / 60, { gravity = { 0, -9.81 } })
      local body = w:box { size = { 1, 0.2 }, mass = 2, position = { 0, 1 }, velocity = { 1, 0 }, mask = 0 }
      w:slider { body, anchor = { 0, 1 }, axis = { 1, 0 } }
      for side = -1, 1, 2 do
        local at = { side * 0.4 + anchor, 1 }
        local wheel = w:circle { radius = 0.2, mass = 0.3, position = { side * 0.4, 1 }, velocity = { 1, 0 }, angular_velocity = omega,
          mask = 0 }
        if swapped then w:hinge { body, wheel, anchor = at } else w:hinge { wheel, body, anchor = at } end
      end
      local solves = w:stats().solves
      w:step(10)
      solved(w)
      return w:stats().solves - solves, body.x
    end
    local slow, x = cart(1, 0)
    local fast, y = cart(100, 0)
    eq(fast, slow)
    near(y, x, 1e-12)
    near(x, 1 / 6, 1e-12)
    -- Off its hub it shakes the cart, and its steps have pieces.
    ok(cart(100, 0.05) > fast)
  end
end)

test("unsupported worlds use the flow by projection, bit for bit", function()
  local function run(flow)
    local w = sim.world { dt = 1 / 120, flow = flow }
    local box = w:box { size = { 1, 0.1 }, mass = 1, position = { 0.5, 0 }, mask = 0 }
    w:spring { box, anchor_b = { 0, 1 }, stiffness = 50, cubic = 100 }
    -- Too many boxes to be stepped through their meetings.
    w:box { type = "static", size = { 4, 1 }, position = { -5, -0.5 } }
    local pile = {}
    for i = 1, 10 do pile[i] = w:box { size = { 1, 1 }, position = { -5 + 0.02 * i, 1.01 * i - 0.5 } } end
    w:step(100)
    return { box.x, box.y, pile[10].x, pile[10].y }
  end
  eq(run("rattle"), run("projected"))
end)

-- In `speculative` a step in which a body turns far is made in pieces, with the flow by projection.
test("speculative steps in which something turns far or is thrown", function()
  for _, rate in ipairs { 60, 120 } do
    local w = sim.world { dt = 1 / rate, flow = "rattle", stepping = "speculative", gravity = { 0, 0 }, audit = true }
    local bar = w:box { size = { 1, 0.1 }, mass = 5, angular_velocity = 0.9 * rate }
    w:hinge { bar, anchor = { 0, 0 } }
    w:circle { radius = 0.05, position = { 0.56, 0 } } -- just out of its reach
    w:step(rate)
    near(bar.angle, 0.9 * rate, 1e-9)
    eq(w:stats().unsolved, 0)
  end
  -- A first attempt by the two stages leads through the wall; audits check the final step.
  local w = sim.world { dt = 1 / 120, flow = "rattle", stepping = "speculative", gravity = { 0, 0 }, audit = true }
  local ball = w:circle { radius = 0.05, mass = 0.02 }
  w:box { type = "static", position = { 0.7, 0 }, size = { 0.1, 3 } }
  w:spring { ball, anchor_a = { 0, 0 }, anchor_b = { -0.1, 0 }, rest_length = 1.3, stiffness = 5000 }
  w:step(60)
  ok(ball.x < 0.61, "the wall holds")
  eq(w:stats().unsolved, 0)
end)
