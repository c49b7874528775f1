-- Lesson 3: a throw that bounces once and lands in a bucket, found by its gradient.
local sim = require "sim2d"

local GOAL = { 6, 0.5 } -- m

local function throw(v, seen)
  local world = sim.world { dt = 0.01 }
  world:box { type = "static", position = { 4, -0.5 }, size = { 12, 1 }, restitution = 0.8 }
  local ball = world:circle { radius = 0.1, position = { 0, 1 }, velocity = { v.x, v.y }, restitution = 0.8 }
  for _ in world:steps(1.2) do
    if seen then seen.x[#seen.x + 1], seen.y[#seen.y + 1] = ball.x, ball.y end
  end
  return (ball.x - GOAL[1]) ^ 2 + (ball.y - GOAL[2]) ^ 2 -- m^2
end

local function path(v)
  local seen = { x = {}, y = {} }
  throw(v, seen)
  return seen
end

local first = { x = 2, y = 1 }
local miss, g = sim.value_and_grad(throw, first)
print(("first throw: %.3f m off; by x %.2f, by y %.2f"):format(math.sqrt(miss), g.x, g.y))
print("agrees with differences:", sim.check_grad(throw, first, { print = false }) < 1e-5)

local best, left, info = sim.optimize.minimize(throw, first)
print(("%s after %d throws: {%.3f, %.3f} m/s"):format(info.status, info.evaluations, best.x, best.y))
print("less than a millimetre off:", math.sqrt(left) < 1e-3)

local before, after = path(first), path(best)
assert(sim.plot { title = "A throw of 1.2 s", x = "x, m", y = "y, m", { before.x, before.y, label = "first", dash = true },
  { after.x, after.y, label = "best" }, { x = GOAL[1], y = GOAL[2], text = "goal" } }:save "3_gradient.svg")
