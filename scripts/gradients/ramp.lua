-- The gradient adjusts the heights of the points of a ramp until a ball that rolls down the ramp flies to a target.
local sim = require "sim2d"

local wanted = 2.3 -- target of the ball 1.6 s after its release, in m

local function run(heights)
  local world = sim.world { dt = 0.005 }
  local points = { { -2, heights[1] }, { -1, heights[2] }, { 0, heights[3] }, { 0.6, heights[4] } }
  for i = 1, #points - 1 do -- segments of the ramp from right to left, with the upper side outside
    world:segment { from = points[i + 1], to = points[i], friction = 0.5 }
  end
  local ball = world:circle { radius = 0.1, position = { -1.8, 1.75 }, friction = 0.5 }
  world:run { steps = 320 }
  return ball.x
end

local heights = { 1.6, 0.9, 0.3, 0.25 }
local x, g
for i = 1, 40 do
  x, g = sim.value_and_grad(run, heights)
  if i == 1 then
    print(("with heights {%.2f, %.2f, %.2f, %.2f} m it gets to %.4f m"):format(heights[1], heights[2],
      heights[3], heights[4], x))
  end
  if math.abs(x - wanted) < 1e-8 then
    break
  end
  -- Makes the smallest sufficient change of all heights except the first, at most 5 cm at a time.
  local square = g[2] ^ 2 + g[3] ^ 2 + g[4] ^ 2
  local step = (wanted - x) / square
  step = math.max(-0.05 / math.sqrt(square), math.min(0.05 / math.sqrt(square), step))
  for k = 2, 4 do
    heights[k] = heights[k] + step * g[k]
  end
end
print(("with heights {%.2f, %.2f, %.2f, %.2f} m it gets to %.4f m"):format(heights[1], heights[2],
  heights[3], heights[4], x))
assert(math.abs(x - wanted) < 1e-6, "it does not get there")
