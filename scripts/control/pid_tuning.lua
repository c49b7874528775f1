-- A PID controller for a cart with dry friction is tuned twice: with the gradient of the run through the engine
-- (L-BFGS), and without gradients (Nelder-Mead). The script compares the costs and the numbers of evaluations.
local sim = require "sim2d"

local exp = sim.experiment("PID gains by gradient and without")

-- The cost of a setpoint step is the error and the effort over 2 s.
local function cost(gains)
  local world = sim.world { dt = 0.01, gravity = { 0, 0 } }
  local cart = world:box { size = { 0.4, 0.2 }, mass = 2 }
  local rail = world:slider { cart, axis = { 1, 0 }, anchor = { 0, 0 }, friction = 1 }
  local push = world:actuator { "push", joint = rail, kind = "force" }
  world:control(sim.control.pid { kp = gains.kp, ki = gains.ki, kd = gains.kd, setpoint = 1, filter = 0.01,
    measure = function() return rail.translation end })
  local sum = 0
  for _ = 1, 200 do
    world:step()
    sum = sum + ((rail.translation - 1) ^ 2 + 1e-2 * rail.speed ^ 2 + 1e-4 * push.value ^ 2) * 0.01
  end
  return sum
end

local start = { kp = 20, ki = 1, kd = 5 }

local function tune(options)
  local gains, value, info = sim.optimize.minimize(cost, start, options)
  print(("%-12s cost %.6f after %3d evaluations: kp %.2f, ki %.2f, kd %.2f"):format(options.method, value,
    info.evaluations, gains.kp, gains.ki, gains.kd))
  return gains, value, info.evaluations
end

local before = cost(start)
local _, with, evaluations = tune { method = "lbfgs", max_iterations = 60, tolerance = 1e-5 }
local _, without, more = tune { method = "nelder-mead", max_iterations = 300, tolerance = 1e-6, restarts = 0 }
exp:below("cost with tuned gains, part of that before", 0.9, with / before)
exp:below("cost by gradient over that without", 1.001, with / without)
exp:above("evaluations without over those with a gradient", 1, more / evaluations)
exp:finish()
