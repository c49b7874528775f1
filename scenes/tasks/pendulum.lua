-- Pendulum: a motor that is too weak to lift a rod directly has to swing it up and hold it upright (Gymnasium's
-- Pendulum-v1).
--
-- Observations: the cosine and sine of the angle from upright, and the angular speed (rad/s). Command: the torque, from
-- -2 to 2 N m, for 0.05 s. Reward: -(angle^2 + 0.1 speed^2 + 0.001 torque^2) in each step, with the angle measured from
-- the nearest upright position. The episode ends after 200 steps. Start: a random angle, and a speed of up to 1 rad/s.
local sim = require "sim2d"

local function build(p)
  local world = sim.world { dt = 0.01, gravity = { 0, -10 } }
  local rod = world:box { name = "rod", color = "#e08a3c", size = { 0.2, p.length }, mass = p.mass, inertia = p.mass * p.length ^ 2 / 12,
    position = { 0, p.length / 2 }, mask = 0 }
  local pivot = world:hinge { rod, name = "pivot", anchor = { 0, 0 } }
  world:actuator { "motor", joint = pivot, kind = "torque", range = { -2, 2 } }
  world:observe { "direction", of = pivot, field = "direction" }
  world:observe { "speed", of = pivot, field = "speed" }
  return world
end

-- iLQR over a horizon of two seconds, computed in each step.
local function baseline(env)
  local pivot = env.world.joints.pivot
  return sim.control.planner(env.world, { horizon = 2, period = 0.05, iterations = 8, u0 = 0.01, cost = {
    { "angle", of = pivot, field = "angle", weight = 2, wrap = true }, { "speed", of = pivot, field = "speed", weight = 0.2 },
    controls = 0.002, terminal = { angle = 5, speed = 0.5 } } })
end

local env = sim.env { name = "pendulum", world = build, period = 0.05, max_steps = 200,
  about_baseline = "iLQR, two seconds ahead",
  view = { { -1.6, -1.2 }, { 1.6, 1.2 } },
  keys = { left = { 2 }, right = { -2 } },
  parameters = { mass = { 1, 0.8, 1.25 }, length = { 1, 0.8, 1.25 } },
  reset = { { of = "pivot", field = "angle", uniform = { -math.pi, math.pi } }, { of = "pivot", field = "speed", uniform = { -1, 1 } } },
  reward = { { of = "pivot", field = "angle", wrap = true, weight = 2 }, { of = "pivot", field = "speed", weight = 0.2 },
    { of = "controls", weight = 0.002 } }, baseline = baseline, passed = -400 }

if sim.is_main() then env:show() end
return env
