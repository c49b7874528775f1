-- Ball in cup: a cup, moved by two forces, has to swing up the ball on its string and catch it (after dm_control).
--
-- Observations: x and y of the position (m) and velocity (m/s) of the cup, and then of the ball. Action: the forces on
-- the cup along x and y, up to 5 N, for 0.02 s. Gravity does not act on the cup. Reward: 1 while the ball is in the
-- cup. The episode ends after 1000 steps. Start: the ball hangs and swings at up to 0.1 m/s.
local sim = require "sim2d"

local FORCE, STRING, WALL, HALF, DEEP, BALL = 5, 0.3, 0.006, 0.06, 0.08, 0.025 -- N, m

local function build(p)
  local world = sim.world { dt = 0.01 }
  local carriage = world:box { name = "carriage", color = "#ffffff00", size = { 0.02, 0.02 }, mass = 0.05, gravity_scale = 0, mask = 0 }
  local cup = world:compound { name = "cup", color = "#3b6fd4", mass = 0.15, gravity_scale = 0, friction = 0.5, mask = 2, shapes = {
    { size = { 2 * HALF, WALL }, position = { 0, 0 } }, { size = { WALL, DEEP }, position = { -HALF, DEEP / 2 } },
    { size = { WALL, DEEP }, position = { HALF, DEEP / 2 } } } }
  local ball = world:circle { name = "ball", color = "#d64545", radius = BALL, mass = p.mass, friction = 0.5, position = { 0, -STRING }, category = 2, mask = 1 }
  local x = world:slider { carriage, name = "x", axis = { 1, 0 }, anchor = { 0, 0 }, limits = { -0.5, 0.5 }, damping = 0.5 }
  local y = world:slider { cup, carriage, name = "y", axis = { 0, 1 }, anchor = { 0, 0 }, limits = { -0.3, 0.3 }, damping = 0.5 }
  -- the string passes through the bottom of the cup
  world:rope { ball, cup, name = "string", anchor_a = { 0, -STRING }, anchor_b = { 0, 0 }, max_length = STRING, collide = true }
  world:actuator { "x", joint = x, kind = "force", range = { -FORCE, FORCE } }
  world:actuator { "y", joint = y, kind = "force", range = { -FORCE, FORCE } }
  world:observe { "cup", of = cup, field = { "position", "velocity" } }
  world:observe { "ball", of = ball, field = { "position", "velocity" } }
  return world
end

local function caught(world)
  local at = world.bodies.cup:local_point(world.bodies.ball.position)
  return math.abs(at.x) < HALF and math.abs(at.y) < DEEP / 2
end

-- The law waits until the ball hangs still, swings it up with a motion found by CMA-ES, moves under the falling ball,
-- and stops.
local function baseline()
  local WAIT, KNOT = 2, 0.16 -- s
  local X, Y = { 0.241, 0.165, 0.285, 0.105, 0.382 }, { 0.112, 0.786, -0.427, -0.053, 0.258 } -- m
  local swings, from, height = false, 0, nil
  local function along(list, s)
    local k, f = s // 1, s % 1
    local a, b = list[math.min(k, #list)] or 0, list[math.min(k + 1, #list)]
    return a + (b - a) * f * f * (3 - 2 * f)
  end
  return function(_, t, seen)
    local x, y, vx, vy, dx, dy, fall = seen[1], seen[2], seen[3], seen[4], seen[5] - seen[1], seen[6] - seen[2], seen[8]
    if height and dy < -DEEP then swings, height = false, nil end -- missed
    if not swings and (t < WAIT or math.abs(dx) > 0.01) then return { 4 * (6 * dx - vx) - 2 * x, -60 * y - 6 * vy } end
    if not swings then swings, from, WAIT = true, x, t end
    if not height and dy > 0.11 and fall < 0.3 then height = y end
    if not height then
      local s = (t - WAIT) / KNOT
      return { 60 * (from + along(X, s) - x) - 6 * vx, 60 * (along(Y, s) - y) - 6 * vy }
    end
    local chase = dy > DEEP / 2 and 120 * dx + 6 * (seen[7] - vx) or -6 * vx
    return { chase, 60 * (height - y) - 6 * vy }
  end
end

local env = sim.env { name = "ball_in_cup", world = build, period = 0.02, max_steps = 1000,
  about_baseline = "waits until the ball hangs still, swings it up along the motion that CMA-ES found, moves below its fall",
  view = { { -0.7, -0.65 }, { 0.7, 0.5 } },
  parameters = { mass = { 0.06, 0.04, 0.1 } },
  reset = function(world, random) world.bodies.ball.vx = random:uniform(-0.1, 0.1) end,
  reward = function(world) return caught(world) and 1 or 0 end, baseline = baseline,
  passed = 500 }

if sim.is_main() then env:show() end
return env
