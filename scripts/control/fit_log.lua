-- Identifies the masses, inertia and drag of a cart-pole and the delay of its motor from a log of commands and noisy
-- measurements. The results are the values, their uncertainties, and the parameters that this log does not determine.
--
--   sim2d scripts/control/fit_log.lua [--page fit.html]
local sim = require "sim2d"

local exp = sim.experiment("Fit of a log", { page = { "", "a page about the fit, .html" } })

local function cart_pole(p)
  local world = sim.world { dt = 0.01 }
  local cart = world:box { size = { 0.4, 0.2 }, mass = p.cart, mask = 0 }
  local pole = world:box { size = { 0.05, 1 }, mass = p.pole, inertia = p.inertia, position = { 0, -0.5 }, mask = 0 }
  local rail = world:slider { cart, axis = { 1, 0 }, anchor = { 0, 0 }, stiffness = 0, damping = p.drag }
  local hinge = world:hinge { pole, cart, anchor = { 0, 0 }, stiffness = 0, damping = p.turning }
  world:actuator { "push", joint = rail, kind = "force", delay = p.late }
  world:observe { "x", of = rail, field = "translation", noise = 0.002 }
  world:observe { "angle", of = hinge, field = "angle", noise = 0.005 }
  return world
end

-- The measurement takes two seconds, with a row every 20 ms.
local truth = { cart = 1, pole = 0.3, inertia = 0.03, drag = 0.5, turning = 0.02, late = 0.02 }
local world, log = cart_pole(truth), { t = {}, push = {}, x = {}, angle = {} }
for k = 1, 101 do
  local seen = world:observation()
  log.t[k], log.x[k], log.angle[k] = (k - 1) * 0.02, seen.x, seen.angle
  log.push[k] = 4 * math.sin(3 * log.t[k]) + 3 * math.sin(11 * log.t[k])
  world:act { log.push[k] }
  world:step(2)
end

-- The initial guess has a wrong inertia and wrong masses, no drag and no delay.
local wanted = { cart = { 0.5, 0.1, 5 }, pole = { 0.5, 0.05, 2, log = true }, inertia = { 0.1, 0.001, 1, log = true },
  drag = { 0, 0, 5 }, turning = { 0, 0, 1 } }
local result = sim.fit { world = cart_pole, data = log, parameters = wanted, delays = { push = 0.03 },
  title = "A cart-pole", report = exp.options.page ~= "" and exp.options.page or nil }
print(result)

local most = 0
for name in pairs(wanted) do
  most = math.max(most, math.abs(result.parameters[name] - truth[name]) / result.deviation[name])
end
exp:below("largest error, in deviations it says itself", 4, most)
exp:equal("delay of the motor, s", truth.late, result.delays.push, 1e-9)
exp:equal("residuals, in deviations of the noise", 1, result.train, 0.15)
exp:below("the same beyond what was fitted", 1.5, result.test)

-- If the cart carries a load, the log determines only the sum of their masses.
local blind = { t = log.t, push = log.push, x = log.x }
local function loaded(p)
  local all = {}
  for name, value in pairs(truth) do all[name] = value end
  all.cart = p.frame + p.load
  return cart_pole(all)
end
local less = sim.fit { world = loaded, data = blind, parameters = { frame = { 0.5, 0, 2 }, load = { 0.3, 0, 2 } } }
print(less)
exp:equal("what a log cannot tell apart", "frame load", table.concat(less.undetermined[1] or {}, " "))
exp:finish()
