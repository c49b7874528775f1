-- Throw a ball so that it bounces off the floor once and lands in a bucket: Newton's method on the gradient of its
-- final position finds the launch velocity.
local sim = require "sim2d"

local bucket = { 5, 1 } -- target of the ball after a flight of 1.5 s, in m

local function fly(velocity)
  local world = sim.world { dt = 0.005 }
  world:segment { from = { -1, 0 }, to = { 10, 0 }, friction = 0.2, restitution = 0.8 }
  local ball = world:circle { radius = 0.1, position = { 0, 1 }, velocity = velocity, friction = 0.2,
    restitution = 0.8 }
  world:run { steps = 300 }
  return { ball.x - bucket[1], ball.y - bucket[2] }
end

local v = { 4, 5 } -- the initial guess, in m/s
for i = 1, 15 do
  local J, miss = sim.jacobian(fly, v)
  local size = math.sqrt(miss[1] ^ 2 + miss[2] ^ 2)
  print(("throw %d at {%.4f, %.4f} m/s misses by %.2g m"):format(i, v[1], v[2], size))
  if size < 1e-9 then
    break
  end
  local det = J[1][1] * J[2][2] - J[1][2] * J[2][1]
  v = { v[1] - (J[2][2] * miss[1] - J[1][2] * miss[2]) / det,
    v[2] - (J[1][1] * miss[2] - J[2][1] * miss[1]) / det }
end
local miss = fly(v)
assert(math.sqrt(miss[1] ^ 2 + miss[2] ^ 2) < 1e-9, "it misses")
print("it lands in the bucket")
