-- Gradients through random worlds of bodies in contact, held by joints of all kinds, compared with differences. Where
-- two differences disagree a contact or a bound changes nearby: these are not compared.
local sim = require "sim2d"

local function joint(w, rng, a, b, p)
  local function u(lo, hi) return rng:uniform(lo, hi) end
  local x, y = a.x, a.y
  local kinds = {
    function() w:hinge { a, b, anchor = { x + u(-0.3, 0.3), y + p.x * 0.1 }, friction = 0.1 * p.mu } end,
    function() w:hinge { a, b, anchor = { x, y }, limits = { -0.3 * p.s, 0.5 } } end,
    function()
      w:slider { a, b, anchor = { x, y }, axis = { 1, p.slope + u(-1, 1) },
        motor = { speed = p.v, max_force = 3 * p.s } }
    end,
    function()
      w:weld { a, b, anchor = { x, y }, compliance = { linear = 1e-3 * p.s, angular = 1e-2 },
        damping = p.s }
    end,
    function()
      w:spring { a, b, anchor_b = not b and { u(-3, 3), 4 } or nil, stiffness = 30 * p.s,
        damping = p.rho, rest_length = p.s }
    end,
    function() w:distance { a, b, anchor_b = not b and { x + 1, y + 1 } or nil } end,
    function() w:rope { a, b, anchor_b = not b and { x + 1, y + 0.5 } or nil, max_length = 2 * p.s } end,
    function() w:wheel { a, b, anchor = { x, y }, axis = { 0.1, 1 }, stiffness = 50 * p.s, damping = 2 } end,
    function() w:mouse { a, target = { p.x + 1, 3 }, stiffness = 20 * p.s, damping = 1 } end,
    function() w:lock { a, angle = true, angular_velocity = p.v } end,
    function() end,
    function() end,
  }
  kinds[rng:integer(1, #kinds)]()
end

local function scene(seed)
  return function(p)
    sim.random.seed(seed)
    local rng = sim.random.split()
    local function u(lo, hi) return rng:uniform(lo, hi) end
    local w = sim.world { gravity = { p.gx, -9.81 }, dt = p.dt }
    w:segment { from = { -20, 0 }, to = { 20, p.slope }, friction = p.mu, restitution = 0.3 }
    local bodies, count = {}, rng:integer(1, 5)
    for i = 1, count do
      local def = { position = { 1.2 * i + u(-0.2, 0.2) + p.x * 0.1 * i, u(0.8, 2.5) },
        velocity = { u(-2, 2) + p.v, u(-2, 2) }, angular_velocity = u(-2, 2), angle = u(-1, 1),
        friction = p.mu * u(0.5, 1.5), restitution = u(0, 0.6), density = p.rho }
      local kind = rng:integer(1, 3)
      if kind == 1 then
        def.radius = u(0.15, 0.3) * p.s
        bodies[i] = w:circle(def)
      elseif kind == 2 then
        def.size = { u(0.3, 0.6) * p.s, u(0.2, 0.5) }
        bodies[i] = w:box(def)
      else
        def.length, def.radius = u(0.2, 0.4), 0.1 * p.s
        bodies[i] = w:capsule(def)
      end
    end
    for i, body in ipairs(bodies) do
      joint(w, rng, body, bodies[i - 1], p)
    end
    w:run { steps = rng:integer(20, 60), progress = false }
    local sum = 0
    for i, body in ipairs(bodies) do
      sum = sum + body.x * (0.3 * i) + body.y * i + body.angle * 0.2 + body.vx * 0.1
    end
    return sum
  end
end

local function difference(f, p, name, step)
  local at = p[name]
  local h = step * math.max(1, math.abs(at))
  local function d(by)
    p[name] = at + by
    local up = f(p)
    p[name] = at - by
    local down = f(p)
    p[name] = at
    return (up - down) / (2 * by)
  end
  local near = d(h / 2)
  return near + (near - d(h)) / 3
end

test("random worlds agree with differences", function()
  local p = { gx = 0.2, dt = 0.01, slope = 0.1, mu = 0.4, x = 0.2, v = 0.3, rho = 1.2, s = 1 }
  local compared, skipped, worst = 0, 0, 0
  for seed = 1, 40, fewer(1, 4) do
    local f = scene(seed)
    local value, g = sim.value_and_grad(f, p)
    local rounding = 2.2e-16 * math.abs(value) / 1e-6 -- of the narrow difference
    local largest = 0
    for _, derivative in pairs(g) do
      largest = math.max(largest, math.abs(derivative))
    end
    for name, derivative in pairs(g) do
      local wide, narrow = difference(f, p, name, 2e-5), difference(f, p, name, 1e-6)
      local size = math.max(math.abs(derivative), 1e-3 * largest)
      if math.abs(wide - narrow) > 1e-5 * size then
        skipped = skipped + 1
      else
        local apart = math.min(math.abs(derivative - wide), math.abs(derivative - narrow))
        local error = math.max(0, apart - rounding) / size
        ok(error < 1e-6, ("world %d, %s: %.12g, differences %.12g %.12g"):format(seed, name, derivative,
          wide, narrow))
        compared, worst = compared + 1, math.max(worst, error)
      end
    end
  end
  ok(skipped < 0.15 * compared, ("%d compared, %d skipped, worst %.2g"):format(compared, skipped, worst))
end)

-- Velocities take a part of the displacement of joints. It may be small, because the energy that is available for it is
-- a square, but it has a slope. Two boxes on a rod, near the floor, that hardly pull on each other.
test("a small part of the displacement of joints has a derivative", function()
  local SCENES = { -- anchors, height, velocities (the second's vx: v), angular velocities, mass, steps
    { -0.03, 0.07, -0.13, -0.04, 0.56, 1.23, -0.5, 1.21, -2.74, -1.59, 2.41, 2.38, 8 },
    { 0.07, 0, 0.15, -0.06, 0.53, -1.68, -2.7, -1.32, -2.44, 1.78, 0.89, 2.62, 4 },
    { 0.16, 0.05, 0.18, -0.01, 0.46, -2.68, -2.95, -2.77, -1.41, 1.27, -0.88, 2.58, 4 },
  }
  for _, scene in ipairs(SCENES) do
    local ax, ay, bx, by, y, vx, vy, v, wy, wa, wb, m, steps = table.unpack(scene)
    local function f(p)
      local w = sim.world { dt = 1 / 60, stepping = "speculative" }
      w:segment { from = { -50, 0 }, to = { 50, 0 } }
      local a = w:box {
        size = { 0.4, 0.3 }, position = { 0, y }, velocity = { vx, vy }, angular_velocity = wa, mass = m,
      }
      local b = w:box {
        size = { 0.4, 0.3 }, position = { 0.1, y + 0.8 }, velocity = { p, wy }, angular_velocity = wb, mass = 2,
      }
      w:distance { a, b, anchor_a = { ax, y + ay }, anchor_b = { 0.1 + bx, y + 0.8 + by } }
      w:run { steps = steps }
      return b.x - 3 * b.y + b.vx + a.vy * 2 + a.angle
    end
    local slope = sim.grad(f, v)
    local difference = (8 * (f(v + 1e-5) - f(v - 1e-5)) - (f(v + 2e-5) - f(v - 2e-5))) / 12e-5
    near(slope, difference, 1e-5) -- which has an accuracy of 1e-6
  end
end)
