-- Gradient descent with the gradient of a whole run finds the gains of a PD controller, written in Lua, that swings a
-- pole up to a given angle and holds it there.
local sim = require "sim2d"

local goal = 1.0 -- rad

local function cost(gains)
  local world = sim.world { dt = 0.01 }
  local pole = world:box { size = { 0.1, 1 }, position = { 0, -0.5 }, mass = 1 }
  local hinge = world:hinge { pole, nil, anchor = { 0, 0 } }
  local sum = 0
  world:before_step(function()
    local error = goal - hinge.angle
    local torque = gains.p * error - gains.d * pole.omega
    pole:apply_torque(torque)
    sum = sum + error ^ 2 * 0.01 + torque ^ 2 * 1e-6
  end)
  world:run { steps = 150 }
  return sum
end

local gains = { p = 5, d = 0.5 }
local value, g = sim.value_and_grad(cost, gains)
print(("start  p %8.4f  d %7.4f  cost %.6f"):format(gains.p, gains.d, value))
local first, rate = value, { p = 200, d = 10 }
for i = 1, 40 do
  local trial = { p = math.max(0, gains.p - rate.p * g.p), d = math.max(0, gains.d - rate.d * g.d) }
  local better, slope = sim.value_and_grad(cost, trial)
  if better < value then
    gains, value, g = trial, better, slope
    rate = { p = rate.p * 1.3, d = rate.d * 1.3 }
  else
    rate = { p = rate.p / 3, d = rate.d / 3 }
  end
end
print(("end    p %8.4f  d %7.4f  cost %.6f"):format(gains.p, gains.d, value))
assert(value < 0.75 * first, "it did not get better")
print(("the cost fell to %.0f %%"):format(100 * value / first))
