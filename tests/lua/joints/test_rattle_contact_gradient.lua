-- Derivatives of worlds with flow = "rattle" through contacts, compared with differences: points that stick, slide,
-- roll and open, times of meetings and of limits that close, moving ground, forces of contacts and joints, and random
-- scenes.
local sim = require "sim2d"
local rattled = require "rattled"

local G = 9.81

local world, sum = rattled.world_of, rattled.sum

local function floor(w, friction, restitution)
  return w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 }, friction = friction, restitution = restitution }
end

local function nearest(f, p, key, g)
  return rattled.nearest(f, p, key, g, { 1e-4, 1e-5, 1e-6, 1e-7 }, 1e-2)
end

local function agrees(...) return rattled.agrees(nearest, ...) end

-- ---- Contacts ----------------------------------------------------------------------------------

test("a block slides, stops and sticks", function()
  local function slide(steps)
    return function(p)
      local w = world(p)
      floor(w, p.mu)
      local b = w:box { size = { 0.4, 0.2 }, mass = p.m, position = { p.x, 0.1 }, velocity = { p.v, 0 }, friction = p.mu }
      w:step(steps)
      return sum(b)
    end
  end
  local g = agrees("sliding", slide(10), { mu = 0.3, m = 2, v = 3, g = G, x = 0.1, dt = 1 / 60 })
  near(g.v, 10 / 60 + 0.3, 1e-12)
  agrees("stopping", slide(30), { mu = 0.3, m = 2, v = 1.03, g = G, x = 0.1, dt = 1 / 60 })
  -- On a slope of 0.5 rad, whose tangent is 0.55.
  for _, mu in ipairs { 0.3, 0.8 } do
    local h = agrees("slope", function(p)
      local w = world(p, { gravity = { G * sim.sin(p.a), -G * sim.cos(p.a) } })
      floor(w, p.mu)
      local b = w:box { size = { 0.4, 0.2 }, mass = p.m, position = { p.x, 0.1 }, friction = p.mu }
      w:step(30)
      return sum(b)
    end, { mu = mu, m = 2, a = 0.5, x = 0.1, dt = 1 / 60 })
    near(h.x, 1, 1e-12)
    ok((h.mu == 0) == (mu == 0.8))
  end
end)

test("a block tips over its corner, and slips on it", function()
  agrees("tipping", function(p)
    local w = world(p, { gravity = { p.g * sim.sin(p.a), -p.g * sim.cos(p.a) } })
    floor(w, p.mu)
    local b = w:box { size = { 0.6, 1 }, mass = p.m, position = { 0, 0.5 }, friction = p.mu }
    w:step(40)
    return sum(b)
  end, { mu = 5, m = 2, a = math.atan(0.6) + math.rad(0.5), g = G, dt = 1 / 60 })
  for _, mu in ipairs { 2, 0.1 } do
    agrees("corner with friction " .. mu, function(p)
      local w = world(p)
      floor(w, p.mu)
      local c, s = sim.cos(p.a), sim.sin(p.a)
      local x, y = 0.3 * c - 0.5 * s, 0.3 * s + 0.5 * c
      local b = w:box { size = { 0.6, 1 }, mass = p.m, position = { x, y }, angle = p.a, angular_velocity = p.w,
        velocity = { -p.w * y, p.w * x }, friction = p.mu }
      w:step(10)
      return sum(b)
    end, { mu = mu, m = 2, a = 0.3, w = 0.5, g = G, dt = 1 / 60 })
  end
end)

-- Normals that turn, and two pairs at once.
test("balls roll on round ground, a ladder slides, boxes slide on each other", function()
  for _, mu in ipairs { 0.3, 0.03 } do
    agrees("ball on ball", function(p)
      local w = world(p)
      w:circle { type = "static", radius = p.R, friction = p.mu, position = { 0, 0 } }
      local b = w:circle { radius = p.r, mass = p.m, friction = p.mu,
        position = { (p.R + p.r) * sim.sin(0.3), (p.R + p.r) * sim.cos(0.3) } }
      w:step(15)
      return sum(b)
    end, { mu = mu, m = 2, g = G, R = 1, r = 0.2, dt = 1 / 60 })
  end
  agrees("ladder", function(p)
    local w, r = world(p), 0.05
    floor(w, p.mu)
    w:box { type = "static", position = { -0.5, 4 }, size = { 1, 10 }, friction = p.mu }
    local l = w:capsule { length = 2, radius = r, mass = p.m, friction = p.mu, angle = -p.a, position = { r + sim.cos(p.a), r + sim.sin(p.a) } }
    w:step(20)
    return sum(l)
  end, { mu = 0.1, m = 2, g = G, a = math.rad(60), dt = 1 / 60 })
  agrees("boxes", function(p)
    local w = world(p)
    floor(w, p.mu)
    local b = w:box { size = { 0.6, 0.2 }, mass = p.m, position = { 0, 0.1 }, velocity = { p.v, 0 }, friction = p.mu }
    local c = w:box { size = { 0.2, 0.1 }, mass = 1, position = { 0, 0.25 }, velocity = { -p.v, 0 }, friction = p.mu }
    w:step(4)
    return sum(b, c)
  end, { mu = 0.3, m = 2, v = 1, g = G, dt = 1 / 60 })
end)

-- A friction of 0 begins to act when it grows.
test("a friction of 0 has the derivative from above", function()
  local function f(p)
    local w = world(p, { combine_friction = "average" })
    floor(w, p.mu)
    local b = w:box { size = { 0.4, 0.2 }, mass = 2, position = { 0, 0.1 }, velocity = { 1, 0 }, friction = p.mu }
    w:step(10)
    return b.x
  end
  near(sim.grad(f, { mu = 0 }).mu, -G * 10 * 10 / 2 / 3600, 1e-12)
  near((f { mu = 1e-6 } - f { mu = 0 }) / 1e-6, -G * 10 * 10 / 2 / 3600, 1e-8)
end)

test("moving ground carries bodies along, and drags them", function()
  for _, mu in ipairs { 0.8, 0.1 } do
    agrees("platform", function(p)
      local w = world(p)
      w:box { type = "kinematic", size = { 4, 0.2 }, friction = p.mu, velocity = { p.a, 0.1 * p.a }, angular_velocity = p.b }
      local box = w:box { size = { 0.4, 0.4 }, position = { 0.5, 0.3 }, friction = p.mu, mass = p.m }
      w:step(20)
      return sum(box)
    end, { a = mu == 0.8 and 0.5 or 5, b = 0.1, m = 1, g = G, mu = mu, dt = 1 / 60 }, "together")
  end
  -- Ground that moves as a function of time: its velocity counts at the end of a step, and at the start for a body that
  -- strikes then.
  for _, mu in ipairs { 0.8, 0.2 } do
    for _, drop in ipairs { 0, 0.003, 0.02 } do
      agrees("lift, from " .. drop, function(p)
        local w = world(p)
        local lift = w:box { type = "kinematic", size = { 4, 0.2 }, position = { 0, -0.1 }, friction = p.mu, restitution = p.e }
        lift:motion(function(t) return p.a * sim.sin(4 * t), p.b * t + p.a * t ^ 2 - 0.1, 0.1 * p.a * t ^ 2 end)
        local box = w:box { size = { 0.4, 0.2 }, position = { 0.1, 0.1 + drop }, mass = p.m, friction = p.mu, velocity = { 0, -0.3 }, restitution = p.e }
        w:step(12)
        return sum(box)
      end, { a = 0.3, b = 0.2, m = 1, g = G, mu = mu, e = 0.4, dt = 1 / 60 }, "together redundant")
    end
  end
  -- A ball that strikes a body which is welded to a carrier, or locked to its motion, as the step begins.
  for _, locked in ipairs { false, true } do
    agrees("carrier", function(p)
      local w = world(p)
      local function way(t) return p.a * t + p.b * t ^ 2, 2, 0 end
      local a = w:box { size = { 0.2, 0.4 }, mass = 1, position = { 0, 0 }, restitution = p.e, friction = 0.3 }
      if locked then
        w:lock { a, x = function(t) return (way(t)) end, y = true, angle = true }
      else
        local carrier = w:box { type = "kinematic", size = { 0.2, 0.2 }, position = { 0, 2 }, mask = 0 }
        carrier:motion(way)
        w:weld { a, carrier, anchor = { 0, 0 } }
      end
      local ball = w:circle { radius = 0.1, mass = p.m, position = { 0.2, 0.05 }, velocity = { -1, 0.2 }, restitution = p.e, friction = 0.3 }
      w:step(3)
      return sum(a, ball)
    end, { a = 0.1, b = 0.5, m = 0.5, e = 0.4, g = G, dt = 1 / 60 }, "together")
  end
  agrees("belt", function(p)
    local w = world(p)
    w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 }, friction = p.mu, surface_speed = p.s }
    local b = w:box { size = { 0.4, 0.2 }, mass = p.m, position = { 0, 0.1 }, friction = p.mu }
    w:step(40)
    return sum(b)
  end, { mu = 0.3, m = 2, s = 1, g = G, dt = 1 / 60 })
end)

-- ---- With joints -------------------------------------------------------------------------------

local function cart(p, keys)
  local w, v, turn = world(p), p.v or 0, p.w or 0
  floor(w, p.mu)
  local b = w:box { size = { 0.4, 0.2 }, mass = p.m, position = { 0, 0.1 }, velocity = { v, 0 }, friction = p.mu }
  local c = w:box { size = { 0.1, 0.5 }, mass = 1, position = { 0, 0.45 }, mask = 0, angular_velocity = turn, velocity = { v - 0.25 * turn, 0 } }
  keys[1], keys[2], keys.anchor = b, c, { 0, 0.2 }
  return w, b, c, w:hinge(keys)
end

test("a pole on a block that slides or sticks", function()
  for _, p in ipairs { { mu = 0.3, m = 2, v = 1.5, w = 1, g = G, dt = 1 / 60 }, { mu = 0.9, m = 2, w = 1, g = G, dt = 1 / 60 } } do
    agrees("pole", function(q)
      local w, b, c = cart(q, {})
      w:step(20)
      return sum(b, c)
    end, p)
  end
end)

test("wheels with a motor roll and spin", function()
  for _, p in ipairs { { mu = 0.8, m = 2, s = -8, t = 2, dt = 1 / 60 }, { mu = 0.1, m = 2, s = -8, t = 20, dt = 1 / 60 } } do
    agrees("wheels", function(q)
      local w = world(q)
      floor(w, q.mu)
      local car = w:box { size = { 1, 0.2 }, mass = q.m, position = { 0, 0.3 }, mask = 0 }
      local wheels = {}
      for i, x in ipairs { -0.4, 0.4 } do
        wheels[i] = w:circle { radius = 0.2, mass = 0.5, position = { x, 0.2 }, friction = q.mu }
        w:hinge { wheels[i], car, anchor = { x, 0.2 }, motor = i == 1 and { speed = q.s, max_torque = q.t } or nil }
      end
      w:step(20)
      return sum(car, wheels[1], wheels[2])
    end, p)
  end
end)

test("compliant joints, servos, gears and parts of steps beside contacts", function()
  local joined = {
    function(w, b, c, p)
      w:weld { b, c, anchor = { 0, 0.2 }, damping = 3 * p.d,
        compliance = { { p.k, 0.1 * p.k, 0 }, { 0.1 * p.k, p.k, 0 }, { 0, 0, 2 * p.k } } }
    end,
    function(w, b, c, p) w:hinge { b, c, anchor = { 0, 0.2 }, stiffness = 100 / p.k, damping = p.d } end,
    function(w, b, c, p)
      local hinge = w:hinge { b, c, anchor = { 0, 0.2 } }
      w:actuator { "a", joint = hinge, kind = "position", kp = 3e4 * p.k, kd = 3 * p.d, max_torque = p.d }
      w:act { 0.4 }
    end,
  }
  for i, join in ipairs(joined) do
    agrees("joint " .. i, function(p)
      local w = world(p, { substeps = i == 3 and 2 or nil })
      floor(w, p.mu)
      local b = w:box { size = { 0.4, 0.2 }, mass = p.m, position = { 0, 0.1 }, velocity = { 1, 0 }, friction = p.mu, linear_damping = p.d }
      local c = w:box { size = { 0.1, 0.5 }, mass = 1, position = { 0, 0.45 }, mask = 0, angular_velocity = 1, velocity = { 0.75, 0 } }
      join(w, b, c, p)
      w:step(8)
      return sum(b, c)
    end, { m = 2, k = 1e-3, d = 1, mu = 0.4, dt = 1 / 60 })
  end
  agrees("gear", function(p)
    local w = world(p)
    floor(w, p.mu)
    local car, wheels, hinges = w:box { size = { 1, 0.2 }, mass = p.m, position = { 0, 0.3 }, mask = 0 }, {}, {}
    for i, x in ipairs { -0.4, 0.4 } do
      wheels[i] = w:circle { radius = 0.2, mass = 0.5, position = { x, 0.2 }, friction = p.mu }
      hinges[i] = w:hinge { wheels[i], car, anchor = { x, 0.2 }, motor = i == 1 and { speed = -8, max_torque = p.t } or nil }
    end
    w:gear { joint_a = hinges[1], joint_b = hinges[2], ratio = -1.5 }
    w:step(6)
    return sum(car, wheels[1], wheels[2])
  end, { mu = 0.3, m = 2, t = 2, dt = 1 / 60 })
end)

test("limits close beside contacts", function()
  agrees("pole that falls on its limit", function(p)
    local w, b, c = cart(p, { limits = { p.lo, p.hi } })
    w:step(20)
    return sum(b, c)
  end, { mu = 0.3, m = 2, v = 1.5, w = 1, lo = -0.1, hi = 0.1, g = G, dt = 1 / 60 })
  local g = agrees("pole that bounces at its limit", function(p)
    local w, b, c = cart(p, { limits = { p.lo, p.hi }, restitution = p.e })
    w:step(20)
    return sum(b, c)
  end, { mu = 0.3, m = 2, v = 1.5, w = 1, lo = -0.1, hi = 0.1, g = G, e = 0.6, dt = 1 / 60 })
  ok(g.e ~= 0)
  agrees("pole that lies on its limit", function(p)
    local w, b, c = cart(p, { limits = { 0, 0.1 }, friction = p.f })
    w:step(20)
    return sum(b, c)
  end, { mu = 0.3, m = 2, v = 1.5, f = 0.05, g = G, dt = 1 / 60 })
end)

test("forces of contacts and joints", function()
  agrees("contacts", function(p)
    local w, total = world(p), 0
    floor(w, p.mu)
    local b = w:box { size = { 0.6, 1 }, mass = p.m, position = { 0, 0.5 }, velocity = { p.v, 0 }, friction = p.mu }
    w:after_step(function()
      for i, c in ipairs(b:contacts()) do
        total = total + c.normal_impulse * i + 0.3 * c.tangent_impulse + c.point[1] + 0.5 * c.angular_impulse_a + 0.1 * c.angular_impulse_b
      end
    end)
    w:step(4)
    return total
  end, { mu = 0.3, m = 2, v = 1, g = G, dt = 1 / 60 })
  agrees("joints", function(p)
    local w, _, _, hinge = cart(p, {})
    local total = 0
    w:after_step(function() total = total + hinge.force[1] + 2 * hinge.force[2] end)
    w:step(6)
    return total
  end, { mu = 0.3, m = 2, v = 1.5, w = 1, g = G, dt = 1 / 60 })
end)

-- A law that depends on the time, on the velocity and on the other body, over meetings.
test("force laws beside contacts", function()
  agrees("laws", function(p)
    local w = world(p)
    floor(w, 0.5, 0.5)
    local a = w:circle { radius = 0.1, mass = p.m, position = { 0, 0.3 }, velocity = { 1, 0 }, friction = 0.5, restitution = 0.5 }
    local b = w:circle { radius = 0.1, mass = 1, position = { 0.5, 0.4 }, friction = 0.5 }
    w:hinge { a, b, anchor = { 0.25, 0.3 } }
    a:force_law(function(body, t) return 0.1 * body.vx, -p.k * body.vx + 3 * sim.cos(4 * t), p.k * (b.y - body.y) - body.vy end)
    w:step(30)
    return sum(a, b)
  end, { m = 2, k = 1.5, g = G, dt = 1 / 60 })
end)

-- Joint errors and overlaps are closed first, in passes with normal rows and without friction.
test("poses that were placed a little wrong beside contacts", function()
  for _, mu in ipairs { 0.3, 0.9 } do
    agrees("off the joint", function(p)
      local w, b, c = cart({ mu = mu, m = p.m, v = p.v, w = 1, dt = p.dt }, {})
      c.x, c.y, c.angle = c.x + p.dx, c.y + p.dy, c.angle + p.turn
      w:step(3)
      return sum(b, c)
    end, { m = 2, v = 1.5, dx = 0.01, dy = 0.02, turn = 0.03, dt = 1 / 60 })
  end
  agrees("overlap", function(p)
    local w = world(p)
    w:on("solver_warning", function() end)
    w:circle { type = "static", position = { 0, -0.5 }, radius = 0.5, friction = 0.3 }
    local b = w:circle { radius = 0.2, mass = p.m, position = { 0.2 + p.d, 0.15 }, velocity = { p.v, 0 }, friction = 0.3 }
    w:step(3)
    return sum(b)
  end, { m = 2, v = 0.5, d = 0.01, dt = 1 / 60 })
end)

-- ---- Meetings ----------------------------------------------------------------------------------

test("balls bounce and land", function()
  agrees("bouncing", function(p)
    local w = world(p)
    floor(w, p.mu, p.e)
    local b = w:circle { radius = 0.1, mass = p.m, position = { 0, p.y }, velocity = { 1, 0 }, restitution = p.e, friction = p.mu, angular_velocity = 3 }
    w:step(60)
    return sum(b)
  end, { mu = 0.3, m = 1, y = 0.5, e = 0.7, g = G, dt = 1 / 60 })
  agrees("landing", function(p)
    local w = world(p)
    floor(w, p.mu)
    local b = w:circle { radius = 0.1, mass = p.m, position = { 0, p.y }, velocity = { p.v, 0 }, friction = p.mu, angular_velocity = 3 }
    w:step(40)
    return sum(b)
  end, { mu = 0.1, m = 1, y = 0.5, v = 2, g = G, dt = 1 / 60 })
end)

test("a block rocks, a box tumbles, boxes meet", function()
  agrees("rocking", function(p)
    local w = world(p)
    floor(w, 5)
    local c, s = sim.cos(p.a), sim.sin(p.a)
    local b = w:box { size = { 0.6, 1 }, mass = p.m, friction = p.mu, angle = -p.a, position = { 0.3 - 0.3 * c + 0.5 * s, 0.3 * s + 0.5 * c } }
    w:step(40)
    return sum(b)
  end, { mu = 5, m = 1, a = 0.2, g = G, dt = 1 / 60 })
  agrees("tumbling", function(p)
    local w = world(p)
    floor(w, p.mu)
    local b = w:box { size = { 0.4, 0.2 }, mass = p.m, position = { 0, 0.4 }, velocity = { p.v, 0 }, angular_velocity = p.w, angle = 0.3,
      friction = p.mu, restitution = p.e }
    w:step(40)
    return sum(b)
  end, { mu = 0.3, m = 2, v = 1.5, w = 2, e = 0.3, g = G, dt = 1 / 60 })
  agrees("meeting", function(p)
    local w = world(p)
    floor(w, p.mu)
    local b = w:box { size = { 0.4, 0.2 }, mass = p.m, position = { 0, 0.1 }, velocity = { p.v, 0 }, friction = p.mu, restitution = p.e }
    local c = w:box { size = { 0.4, 0.3 }, mass = 1, position = { 0.6, 0.15 }, friction = p.mu, restitution = p.e }
    w:step(20)
    return sum(b, c)
  end, { mu = 0.3, m = 2, v = 2, e = 0.3, g = G, dt = 1 / 60 }, "redundant together")
end)

test("a pendulum bounces off a wall, a hopper lands", function()
  agrees("wall", function(p)
    local w = world(p, { gravity = { 0, -10 } })
    w:box { type = "static", position = { -0.55, -1 }, size = { 1, 1 }, restitution = p.e, friction = p.mu }
    local bob = w:circle { radius = 0.05, mass = p.m, position = { 1, p.y }, restitution = p.e, friction = p.mu }
    w:hinge { bob, anchor = { 0, 0 } }
    w:step(100)
    return sum(bob)
  end, { e = 0.8, mu = 0.1, m = 1, y = 0.1, dt = 1 / 60 })
  agrees("hopper", function(p)
    local w = world(p)
    floor(w, p.mu)
    local drop = p.drop
    local foot = w:box { size = { 0.3, 0.1 }, position = { 0, 0.05 + drop }, mass = p.m, friction = p.mu, angle = p.a }
    local shin = w:box { size = { 0.1, 0.5 }, position = { 0, 0.35 + drop }, mass = 1, mask = 0 }
    local thigh = w:box { size = { 0.1, 0.5 }, position = { 0.1, 0.85 + drop }, angle = -0.2, mass = 1, mask = 0 }
    local trunk = w:box { size = { 0.4, 0.4 }, position = { 0.1, 1.3 + drop }, mass = 4, mask = 0 }
    w:hinge { shin, foot, anchor = { 0, 0.1 + drop }, damping = 0.05 }
    w:hinge { thigh, shin, anchor = { 0.05, 0.6 + drop }, damping = 0.05 }
    w:hinge { trunk, thigh, anchor = { 0.15, 1.1 + drop }, damping = 0.05 }
    w:step(18)
    return sum(foot, shin, thigh, trunk)
  end, { mu = 1, m = 1, drop = 0.05, a = 0.02, g = G, dt = 1 / 60 }, "redundant")
end)

test("a ball lands on ground that moves", function()
  agrees("platform", function(p)
    local w = world(p)
    w:box { type = "kinematic", size = { 4, 0.2 }, friction = 0.8, velocity = { p.a, p.b }, angular_velocity = p.w }
    local ball = w:circle { radius = 0.2, position = { 0.5, 0.6 }, friction = 0.8, mass = p.m, restitution = 0.5 }
    w:step(40)
    return sum(ball)
  end, { a = 0.5, b = 0.2, w = -0.1, m = 1, g = G, dt = 1 / 60 })
end)

-- An island with joints only has its own time, independent of meetings in another island in the same step.
test("islands with and without contacts share a step", function()
  agrees("both", function(p)
    local w = world(p)
    floor(w, 0.3, 0.5)
    local ball = w:circle { radius = 0.1, position = { 0, p.y }, mass = 1, velocity = { 0.5, 0 }, friction = 0.3, restitution = 0.5 }
    local bob = w:circle { radius = 0.05, mass = p.m, position = { 6, 3 }, velocity = { 0, 1 } }
    w:hinge { bob, anchor = { 5, 3 } }
    w:step(40)
    return sum(ball, bob)
  end, { y = 0.6, m = 2, g = G, dt = 1 / 60 })
end)

-- ---- Random scenes -----------------------------------------------------------------------------

local function between(lo, hi) return lo + (hi - lo) * math.random() end

local function pick(list) return list[math.random(#list)] end

local function random_ground()
  return { kind = pick { "box", "wall", "tilted", "chain", "circle", "kinematic", "follows" }, mu = pick { 0, between(0.05, 1), between(0.05, 1) },
    tilt = between(-0.15, 0.15), v = { between(-0.5, 0.5), between(-0.3, 0.3) }, w = between(-0.1, 0.1) }
end

local function add_ground(w, ground, p)
  local mu = ground.mu * p.mu
  if ground.kind == "chain" then
    local points = {}
    for i = -4, 8 do points[#points + 1] = { i * 0.5, 0.05 * math.sin(i * i) } end
    w:chain { points = points, friction = mu }
  elseif ground.kind == "circle" then
    w:circle { type = "static", radius = 3 * p.s, position = { 0.5, -3 * p.s }, friction = mu }
  elseif ground.kind == "kinematic" then
    w:box { type = "kinematic", position = { 0, -0.5 }, size = { 20, 1 }, friction = mu, velocity = { ground.v[1] * p.b, ground.v[2] * p.b },
      angular_velocity = ground.w * p.b }
  elseif ground.kind == "follows" then
    local v = ground.v
    w:box { type = "kinematic", position = { 0, -0.5 }, size = { 20, 1 }, friction = mu }:motion(function(t)
      return v[1] * sim.sin(3 * t) * p.b, -0.5 + v[2] * sim.sin(t) * p.b + v[1] * t ^ 2, ground.w * t ^ 2
    end)
  else
    w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 }, angle = ground.kind == "tilted" and ground.tilt or 0, friction = mu, restitution = 0.5 }
    if ground.kind == "wall" then w:box { type = "static", position = { -1, 1 }, size = { 1, 4 }, friction = mu } end
  end
end

local function random_body(i)
  return { kind = pick { "circle", "box", "box", "capsule" }, size = { between(0.2, 0.6), between(0.1, 0.4) }, mass = 10 ^ between(-0.5, 0.5),
    x = (i - 1) * 0.8 + between(-0.05, 0.05), y = between(0, 0.3), angle = pick { 0, 0, between(-0.5, 0.5) },
    v = { between(-2, 2), between(-2, 1) }, w = pick { 0, between(-3, 3) }, mu = pick { 0, between(0.05, 1), between(0.05, 1) },
    e = pick { 0, 0, between(0.1, 0.9) }, damping = math.random() < 0.2 and between(0, 2) or 0 }
end

local function add_body(w, b, i, p)
  local def = { mass = b.mass * (i == 1 and p.m or 1), friction = b.mu * p.mu, restitution = b.e * p.e, linear_damping = b.damping,
    velocity = { b.v[1] + p.v, b.v[2] }, angular_velocity = b.w, angle = b.angle + (i == 1 and p.a or 0) }
  local high = b.size[2]
  if b.kind == "circle" then
    def.radius = b.size[2] * p.s
  elseif b.kind == "box" then
    def.size, high = { b.size[1] * p.s, b.size[2] }, b.size[2] / 2 * math.cos(b.angle) + b.size[1] / 2 * math.abs(math.sin(b.angle))
  else
    def.radius, def.length, high = b.size[2] / 4, b.size[1], b.size[2] / 4 + b.size[1] / 2 * math.abs(math.sin(b.angle))
  end
  def.position = { b.x, b.y + high + 0.1 + p.x }
  return w[b.kind](w, def)
end

local function add_joint(w, joint, a, b, x)
  local kind, keys = joint.kind, { a, b }
  if kind == "hinge" or kind == "weld" or kind == "slider" then keys.anchor = { x, 0.3 } end
  if kind == "slider" then keys.axis = { 1, 0.2 } end
  if kind == "spring" then keys.stiffness, keys.damping = 50 + 300 * joint.a, joint.b end
  if kind == "hinge" then
    keys.motor = joint.extra == 1 and { speed = 6 * joint.a - 3, max_torque = 0.1 + joint.b * 5 } or nil
    keys.friction = joint.extra == 2 and joint.a * 0.3 or nil
    keys.limits = joint.extra == 3 and { -0.1 - 0.3 * joint.a, 0.1 + 0.3 * joint.b } or nil
    keys.restitution = joint.extra == 3 and joint.a > 0.5 and joint.b * p.e or nil
  end
  return w[kind](w, keys)
end

-- `smoothing`: nil, or of smooth derivatives.
local function scene(seed, smoothing)
  math.randomseed(seed)
  local bodies, joints, ground = {}, {}, random_ground()
  for i = 1, math.random(3) do bodies[i] = random_body(i) end
  for i = 2, #bodies do
    joints[i] = math.random() < 0.5 and
      { kind = pick { "hinge", "hinge", "distance", "spring", "weld", "slider" }, extra = math.random(5), a = between(0, 1), b = between(0, 1) } or nil
  end
  local stepping, steps, reads = pick { "auto", "event" }, math.random(3, 40), math.random() < 0.3
  local p = { m = 1, v = between(-0.5, 0.5), x = 0.01, mu = 1, e = 0.9, s = between(0.9, 1.1), a = 0.01, dt = 1 / pick { 60, 120 }, g = G, b = 1 }
  return function(q)
    -- The mean of two frictions is smooth at 0.
    local w = world(q, { stepping = stepping, combine_friction = "average", gradient = smoothing and "smooth" or nil, smoothing = smoothing })
    local made, rods, total = {}, {}, 0
    add_ground(w, ground, q)
    for i, b in ipairs(bodies) do made[i] = add_body(w, b, i, q) end
    for i = 2, #bodies do
      if joints[i] then rods[#rods + 1] = add_joint(w, joints[i], made[i], made[i - 1], (bodies[i].x + bodies[i - 1].x) / 2) end
    end
    if reads then
      w:after_step(function()
        for i, b in ipairs(made) do
          for _, c in ipairs(b:contacts()) do total = total + 0.01 * c.normal_impulse + 0.02 * i * c.tangent_impulse end
        end
        for _, rod in ipairs(rods) do total = total + 0.01 * rod.force[1] + 0.02 * rod.force[2] end
      end)
    end
    w:step(steps)
    return total + sum(table.unpack(made))
  end, p
end

-- "right"; "said" where a flag reports that it may not be; "switch" where no two step lengths give differences that
-- agree better than that.
test("random scenes", function()
  local count = { right = 0, said = 0, switch = 0, wrong = 0 }
  for seed = 1, fewer(60, 15) do
    local f, p = scene(seed)
    local g = sim.grad(f, p)
    local flags = table.concat(sim.tape_stats().flags, " ")
    local said = flags:find "weak" or flags:find "partial" or flags:find "grazing" or flags:find "together" or flags:find "undetermined"
    for key in pairs(p) do
      local best, apart = nearest(f, p, key, g[key])
      local what = best <= 1e-6 and "right" or said and "said" or apart > best / 5 and "switch" or "wrong"
      count[what] = count[what] + 1
      if what == "wrong" then print(("  seed %d, %s: off by %.1e"):format(seed, key, best)) end
    end
  end
  local all = count.right + count.said + count.switch + count.wrong
  print(("  %d right, %d at a switch, %d with a flag"):format(count.right, count.switch, count.said))
  eq(count.wrong, 0)
  ok(count.right >= 0.97 * all, count.right .. " of " .. all)
end)

-- ---- Smooth derivatives -------------------------------------------------------------------------

-- On the central path the impulse x of a ball on the ground obeys x (c + x/m) = kappa V^2 m, with c the velocity change
-- by forces in the step. This gives the derivatives by push and mass in closed form, at any push.
test("a ball that is pushed up has the smooth derivative of its central path", function()
  for _, kappa in ipairs { 1e-8, 1e-4, 1e-2 } do
    for _, push in ipairs { 0, 5, 9, 12 } do
      local function f(p)
        local w = world(p, { gravity = { 0, -10 }, gradient = "smooth", smoothing = kappa })
        floor(w, 0.3)
        local ball = w:circle { radius = 0.1, position = { 0, 0.1 }, mass = p.m }
        ball:apply_force { 0, p.push }
        w:step()
        return ball.vy
      end
      local h, m = 1 / 60, 1.3
      local c, v = h * (push / m - 10), h * 10
      local a = c / v
      local x = (-a + math.sqrt(a * a + 4 * kappa)) / 2
      local g = sim.grad(f, { push = push, m = m })
      near(g.push, h / m * (a + x) / (a + 2 * x), 1e-8 * h, kappa .. ", " .. push)
      near(g.m, -h * push / m ^ 2 * (a + x) / (a + 2 * x), 1e-8 * h * larger(1, push), kappa .. ", " .. push)
    end
  end
end)

-- Along a flat floor both flows have the same path, whether a block sticks or slides: they have the same friction.
test("a block that is pushed has the smooth derivative of the other flow", function()
  for _, kappa in ipairs { 1e-6, 1e-4, 1e-3 } do
    for _, push in ipairs { 0.5, 2, 4, 6 } do
      local g = {}
      for _, flow in ipairs { "projected", "rattle" } do
        g[flow] = sim.grad(function(p)
          local w = world(p, { flow = flow, gradient = "smooth", smoothing = kappa })
          floor(w, p.mu)
          local b = w:box { size = { 0.4, 0.2 }, position = { 0, 0.1 }, mass = p.m, friction = p.mu }
          for _ = 1, 20 do
            b:apply_force { p.push, 0 }
            w:step()
          end
          return b.vx
        end, { push = push, m = 1, mu = 0.5 })
      end
      for key, value in pairs(g.projected) do
        ok(value ~= 0)
        near(g.rattle[key], value, 2e-5 * math.abs(value), ("%g, %g, %s"):format(kappa, push, key))
      end
    end
  end
end)

-- As kappa tends to 0 the derivative tends to the exact one, except on edges.
test("smooth derivatives of random scenes tend to the exact ones", function()
  local near_it, all = 0, 0
  for seed = 1, 40 do
    local exact, p = scene(seed)
    local e = sim.grad(exact, p)
    local flags = table.concat(sim.tape_stats().flags, " ")
    if not (flags:find "weak" or flags:find "grazing" or flags:find "undetermined") then
      local off = {}
      for i, kappa in ipairs { 1e-6, 1e-8 } do
        local g = sim.grad(scene(seed, kappa), p)
        off[i] = 0
        for key, value in pairs(e) do off[i] = larger(off[i], math.abs(g[key] - value) / larger(1, math.abs(value))) end
      end
      all = all + 1
      near_it = near_it + (off[2] <= larger(1e-5, off[1] / 5) and 1 or 0)
    end
  end
  ok(all >= 30 and near_it >= 0.95 * all, near_it .. " of " .. all)
end)
