-- A Galton board: balls fall through rows of pegs and collect in bins, mostly in the middle bins.
local sim = require "sim2d"

local ROWS, BALLS = 8, 60

local function build()
  local world = sim.world { dt = 1 / 240 }
  for row = 1, ROWS do
    for k = 0, row do
      world:circle { type = "static", radius = 0.06, restitution = 0.5,
        position = { (k - row / 2) * 0.6, 6 - 0.35 * row } }
    end
  end
  world:box { name = "floor", type = "static", position = { 0, -0.25 }, size = { 8, 0.5 } }
  for k = 0, ROWS + 2 do -- walls between the bins
    world:box { type = "static", position = { (k - (ROWS + 2) / 2) * 0.6, 0.75 },
      size = { 0.04, 1.5 } }
  end
  return world
end

local function bin_of(ball)
  return math.floor(ball.x / 0.6 + (ROWS + 2) / 2)
end

if sim.is_main() then
  local world = build()
  local random = sim.random.split()
  local balls = {}
  for i = 1, BALLS do
    world:at(0.25 * (i - 1), function()
      balls[i] = world:circle { radius = 0.1, restitution = 0.5, friction = 0.1,
        position = { random:uniform(-0.05, 0.05), 7.5 } }
    end)
  end
  world:run { duration = 0.25 * BALLS + 4 }
  local counts, middle = {}, 0
  for _, ball in ipairs(balls) do
    local bin = bin_of(ball)
    counts[bin] = (counts[bin] or 0) + 1
    middle = middle + (math.abs(ball.x) < 1.2 and 1 or 0)
  end
  for bin = 0, ROWS + 1 do
    print(("%2d %s"):format(bin, ("o"):rep(counts[bin] or 0)))
  end
  local even = BALLS * 4 / (ROWS + 2)
  print(("%d of %d balls are within two bins of the middle (spread evenly: %d)"):format(middle, BALLS, even))
  assert(middle > even)
end

return build
