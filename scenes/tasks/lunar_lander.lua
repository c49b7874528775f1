-- Lunar lander: a craft with one main engine and two side engines has to land on a pad between hills, on both legs
-- (after Gymnasium's LunarLanderContinuous, in SI units).
--
-- Observations: x and height of the craft relative to the pad (m), their speeds (m/s), the angle (rad) and angular
-- speed (rad/s), and for each leg, 1 while it touches the ground. Action: the thrust of the main engine, 0 to 120 N,
-- and of the side engines, -10 to 10 N, for 0.02 s. Reward: the increase of -10 (distance, m) - 10 (speed, m/s) - 100
-- (angle, rad) + 10 (number of legs that touch). Fuel is subtracted: a step of full thrust costs 0.3 for the main
-- engine and 0.03 for a side engine. Coming to rest on the pad adds 100. If the body of the craft hits something or the
-- craft leaves the terrain, 100 is subtracted. Both events end the episode, which also ends after 1000 steps. Start: 9
-- m above the pad, up to 4 m to the side, with up to 2 m/s in a random direction. Each episode has new hills.
local sim = require "sim2d"

local MAIN, SIDE, WIDE, PAD, START = 120, 10, 10, 2, 9 -- units: N, N, m (to each side), m (half of the pad), m
local OUTLINE = { { -0.47, 0.57 }, { -0.57, 0 }, { -0.57, -0.33 }, { 0.57, -0.33 }, { 0.57, 0 }, { 0.47, 0.57 } } -- m
local LEGS, STEADY = { "left", "right" }, 0.05 -- speed limit for "at rest", m/s and rad/s

local function build(p, random)
  local world = sim.world { dt = 0.02, gravity = { 0, -p.gravity } }
  -- hills, with a flat pad between them
  local points = {}
  for k = 0, 10 do
    local x = WIDE * (k / 5 - 1)
    points[#points + 1] = { x, math.abs(x) <= PAD and 0 or random:uniform(-1, 3) }
  end
  world:chain { name = "ground", points = points, friction = 0.6 }
  world:annotate { name = "pad", line = { { -PAD, 0 }, { PAD, 0 } }, color = "#3f9142", size = 4 }
  local craft = world:polygon { name = "craft", color = "#3b6fd4", vertices = OUTLINE, mass = 4.8, position = { 0, START }, category = 2, mask = 1 }
  for k, name in ipairs(LEGS) do
    local side = 2 * k - 3
    local leg = world:box { name = name, color = "#6b7686", size = { 0.13, 0.6 }, mass = 0.1, position = { 0.75 * side, START - 0.45 }, angle = 0.35 * side,
      category = 2, mask = 1, friction = 0.6 }
    world:hinge { leg, craft, name = name, anchor = { 0.6 * side, START - 0.1 }, stiffness = 60, damping = 4 }
  end
  world:actuator { "main", body = craft, kind = "force", direction = { 0, 1 }, frame = "body", range = { 0, MAIN } }
  world:actuator { "side", body = craft, kind = "force", direction = { 1, 0 }, frame = "body", at = { 0, 0.47 }, range = { -SIDE, SIDE } }
  world:observe { "craft", of = craft, field = { "x", "y", "vx", "vy", "angle", "omega" } }
  world:observe { "touches", read = function(w)
    return { #w.bodies.left:contacts() > 0 and 1 or 0, #w.bodies.right:contacts() > 0 and 1 or 0 }
  end }
  return world
end

-- Returns the value of a state. The increase of this value is the reward.
local function standing(seen)
  return -10 * math.sqrt(seen[1] ^ 2 + seen[2] ^ 2) - 10 * math.sqrt(seen[3] ^ 2 + seen[4] ^ 2) - 100 * math.abs(seen[5])
    + 10 * (seen[7] + seen[8])
end

local function rests(world, seen)
  local turning = math.max(math.abs(seen[3]), math.abs(seen[4]), math.abs(seen[6]))
  return seen[7] + seen[8] == 2 and turning < STEADY and math.abs(world.bodies.craft.x) < PAD
end

local function crashed(world)
  local craft = world.bodies.craft
  return #craft:contacts() > 0 or math.abs(craft.x) > WIDE
end

-- The craft leans against its horizontal motion, sinks more slowly near the ground, and turns off all thrust once it
-- stands.
local function baseline()
  local MASS, G = 5, 10 -- kg, m/s^2
  return function(_, _, seen)
    local x, y, vx, vy, angle, omega = seen[1], seen[2], seen[3], seen[4], seen[5], seen[6]
    if seen[7] + seen[8] == 2 then return { 0, 0 } end
    local lean = math.max(-0.4, math.min(0.4, 0.08 * x + 0.25 * vx))
    local sink = -0.2 - 0.35 * math.max(0, y - 1)
    local side = -40 * (lean - angle) + 15 * omega
    return { (MASS * G + 25 * (sink - vy)) / math.cos(angle), side }
  end
end

local before = setmetatable({}, { __mode = "k" }) -- maps a world to the value of its state before the step
local env = sim.env { name = "lunar_lander", world = build, period = 0.02, max_steps = 1000,
  about_baseline = "leans against its horizontal motion, sinks more slowly near the ground",
  view = { { -10, -1.5 }, { 10, 11 } },
  keys = { up = { MAIN }, left = { 0, -SIDE }, right = { 0, SIDE } },
  parameters = { gravity = { 10, 8, 12 } },
  reset = function(world, random)
    local x, vx, vy = random:uniform(-4, 4), random:uniform(-2, 2), random:uniform(-2, 2)
    for _, name in ipairs { "craft", "left", "right" } do
      local body = world.bodies[name]
      body.x, body.vx, body.vy = body.x + x, vx, vy
    end
    before[world] = standing(world:observation())
  end,
  reward = function(world, u)
    local seen = world:observation()
    local now = standing(seen)
    local gained = now - before[world]
    before[world] = now
    local over = crashed(world) and -100 or rests(world, seen) and 100 or 0
    return gained + over - 0.3 * u[1] / MAIN - 0.03 * math.abs(u[2]) / SIDE
  end,
  terminated = function(world) return crashed(world) or rests(world, world:observation()) end,
  baseline = baseline, passed = 120 }

if sim.is_main() then env:show() end
return env
