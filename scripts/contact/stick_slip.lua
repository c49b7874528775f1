-- A block on a belt, held by a spring, sticks and slips: its period has a closed form. Static friction holds the block
-- up to mu_s m g, and sliding friction is mu_k m g. The belt (speed v) carries the block until the spring pulls with
-- mu_s m g. Then the block slides and oscillates about x_k = mu_k m g / k with w^2 = k / m. It starts at a = (mu_s -
-- mu_k) m g / k beyond x_k and slides until it reaches the speed of the belt again:
--     T_stick = 2 a / v,    T_slip = (2 / w) (pi - atan(w a / v))
-- With mu_s = mu_k the block never sticks. In this case a = 0, and the block oscillates with the period 2 pi / w and
-- reaches the speed of the belt only for an instant. The coefficient is chosen before each step (`pre_solve`), so slips
-- begin and end with a step, and the error of the period is O(dt).
local sim = require "sim2d"

local e = sim.experiment "Stick-slip on a belt"
local m, k, g = 1, 40, 10
local w = math.sqrt(k / m)

-- Returns the times at which slips begin, and the motion.
local function run(mu_s, mu_k, v, dt, duration)
  local world = sim.world { dt = dt, gravity = { 0, -g }, alpha = 0.5, beta = 0.5 }
  local belt = world:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 }, surface_speed = -v, friction = 1 }
  local block = world:box { position = { 0, 0.1 }, size = { 0.2, 0.2 }, mass = m, friction = 1, velocity = { v, 0 } }
  world:spring { block, nil, anchor_a = { 0, 0.1 }, anchor_b = { -5, 0.1 }, rest_length = 5, stiffness = k }
  world:pre_solve(function(contact)
    contact.friction = math.abs(block.vx - v) < 1e-6 * v and mu_s or mu_k
  end)
  local t, x, speed, slips, sticking = {}, {}, {}, {}, true
  for now in world:steps(duration) do
    local sticks = math.abs(block.vx - v) < 1e-6 * v
    if sticking and not sticks then slips[#slips + 1] = now end
    sticking = sticks
    t[#t + 1], x[#x + 1], speed[#speed + 1] = now, block.x, block.vx
  end
  return slips, t, x, speed
end

local function period(mu_s, mu_k, v)
  local a = (mu_s - mu_k) * m * g / k
  return 2 * a / v + 2 / w * (math.pi - math.atan(w * a / v))
end

local dt = 1e-3
local motions = {}
for _, v in ipairs { 0.1, 0.2, 0.5 } do
  local slips, t, x, speed = run(0.6, 0.4, v, dt, 6)
  local a = (0.6 - 0.4) * m * g / k
  e:equal(("belt at %.1f m/s: period, s"):format(v), period(0.6, 0.4, v), (slips[#slips] - slips[2]) / (#slips - 2),
    2 * dt)
  e:equal("  farthest, m", 0.4 * m * g / k + math.sqrt(a ^ 2 + (v / w) ^ 2), math.max(table.unpack(x)), 2 * v * dt)
  motions[#motions + 1] = { v = v, t = t, x = x, speed = speed }
end

-- With equal coefficients, the block slides permanently once it has started to slide.
local _, t, x = run(0.5, 0.5, 0.2, dt, 6)
local middle, rises = 0.5 * m * g / k, {}
for i = 2, #x do
  if x[i - 1] < middle and x[i] >= middle then
    rises[#rises + 1] = t[i - 1] + dt * (middle - x[i - 1]) / (x[i] - x[i - 1])
  end
end
e:equal("mu_s = mu_k: period, s", 2 * math.pi / w, (rises[#rises] - rises[2]) / (#rises - 2), 2 * dt)
e:equal("  farthest, m", middle + 0.2 / w, math.max(table.unpack(x)), 2 * 0.2 * dt)

local first, last = motions[1], motions[3]
e:figure(sim.plot.grid { columns = 1, height = 680,
  { title = "A block on a belt", x = "time, s", y = "position, m",
    { first.t, first.x, label = "belt at 0.1 m/s" }, { last.t, last.x, label = "0.5 m/s" } },
  { title = "The same in the plane of position and speed", x = "position, m", y = "speed, m/s",
    { { table.unpack(first.x, 1, 2100) }, { table.unpack(first.speed, 1, 2100) }, kind = "phase", label = "0.1 m/s" },
    { { table.unpack(last.x, 1, 1180) }, { table.unpack(last.speed, 1, 1180) }, kind = "phase", label = "0.5 m/s" },
    { x = 0.6 * m * g / k, label = "mu_s m g / k" } } })
e:finish()
