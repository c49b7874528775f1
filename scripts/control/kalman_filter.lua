-- LQR holds a cart at the origin although its position is measured with noise, because a Kalman filter estimates the
-- state. The error of the estimate agrees with the covariance of the filter, and is smaller than the noise.
local sim = require "sim2d"

local exp = sim.experiment("Kalman filter and regulator")

local world = sim.world { dt = 0.02, gravity = { 0, 0 } }
local cart = world:box { size = { 0.4, 0.2 }, mass = 1, mask = 0 }
local rail = world:slider { cart, axis = { 1, 0 }, anchor = { 0, 0 } }
local push = world:actuator { "push", joint = rail, kind = "force" }
local A, B = world:linearize { inputs = { push }, coordinates = { rail } }

local SEEN, SHAKEN = 0.05, 0.5 -- measurement noise (m), random force on the cart in each step (N)
local W = B:mm(B:t()) * SHAKEN ^ 2
local law = sim.control.lqr(A, B, { 1, 0.1 }, 0.1)
local filter = sim.control.kalman(A, { 1, 0 }, W + sim.eye(2) * 1e-12, SEEN ^ 2, B)

local u, count, raw, known = 0, 20000, 0, 0
for k = 1, count do
  -- measure, update the estimate, and send the command
  filter:predict { u }
  local y = rail.translation + SEEN * sim.random.normal()
  local x = filter:correct { y }
  u = -(law.K[1][1] * x[1] + law.K[1][2] * x[2])
  if k > 100 then
    raw, known = raw + (y - rail.translation) ^ 2, known + (x[1] - rail.translation) ^ 2
  end
  world:act { u + SHAKEN * sim.random.normal() }
  world:step()
end
local n = count - 100
-- the covariance after a measurement: (I - L C) P
local expected = math.sqrt((1 - filter.L[1][1]) * filter.P[1][1])
print(("noise %.4f m, known to %.4f m, as the filter says: %.4f m"):format(math.sqrt(raw / n), math.sqrt(known / n), expected))
exp:equal("standard deviation of what the filter knows, m", expected, math.sqrt(known / n), 0.05 * expected)
exp:below("of that without a filter", 0.5, math.sqrt(known / raw))
exp:below("distance of the cart from the origin at the end, m", 0.2, math.abs(rail.translation))
exp:finish()
