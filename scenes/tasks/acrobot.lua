-- Acrobot: two rods hang in a chain, and a motor between them swings the free end above the line (with the lengths,
-- masses, inertias and torques of Gymnasium's Acrobot-v1).
--
-- Observations: the cosine and sine of both angles, and the angular speeds of both joints (rad/s). Action: 1, 2 or 3
-- applies a torque of -1, 0 or 1 N m for 0.2 s. Reward: -1 in each step. The episode ends when the free end is 1 m
-- above the pivot, or after 500 steps. Start: all angles and speeds are random, from -0.1 to 0.1.
local sim = require "sim2d"

local START, LINE = 0.1, 1 -- rad, rad/s; m

local function build()
  local world = sim.world { dt = 0.01, gravity = { 0, -9.8 } }
  local upper = world:box { name = "upper", color = "#3b6fd4", size = { 0.1, 1 }, mass = 1, inertia = 1, position = { 0, -0.5 }, mask = 0 }
  local lower = world:box { name = "lower", color = "#e08a3c", size = { 0.1, 1 }, mass = 1, inertia = 1, position = { 0, -1.5 }, mask = 0 }
  world:annotate { name = "line", line = { { -2, LINE }, { 2, LINE } }, color = "#3f9142" }
  local shoulder = world:hinge { upper, name = "shoulder", anchor = { 0, 0 } }
  local elbow = world:hinge { lower, upper, name = "elbow", anchor = { 0, -1 } }
  world:actuator { "elbow", joint = elbow, kind = "torque", range = { -1, 1 } }
  world:observe { "upper direction", of = shoulder, field = "direction" }
  world:observe { "lower direction", of = elbow, field = "direction" }
  world:observe { "shoulder", of = shoulder, field = "speed" }
  world:observe { "elbow", of = elbow, field = "speed" }
  return world
end

local TIP = { 0, -0.5 } -- m: the free end of the lower rod

local env = sim.env { name = "acrobot", world = build, period = 0.2, max_steps = 500, actions = { { -1 }, { 0 }, { 1 } },
  about_baseline = "torque in the direction of the elbow's motion",
  view = { { -2.6, -2.2 }, { 2.6, 2.2 } },
  reset = { { of = "shoulder", field = "angle", uniform = { -START, START } }, { of = "elbow", field = "angle", uniform = { -START, START } } },
  reward = { constant = -1, factors = { { of = "lower", at = TIP, field = "y", bounds = { LINE, math.huge } } } },
  terminated = { { of = "lower", at = TIP, field = "y", hi = LINE } },
  -- a torque in the direction of the elbow's motion, which adds energy
  baseline = function() return function(_, _, seen) return seen[6] >= 0 and 3 or 1 end end, passed = -200 }

if sim.is_main() then env:show() end
return env
