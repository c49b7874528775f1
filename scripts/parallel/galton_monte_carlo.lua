-- Monte Carlo runs of a Galton board: do its balls behave like coin tosses? If a ball went left or right at each of n
-- rows of pegs independently, it would stop in bin k with the probability (n over k) / 2^n, with mean n/2 and variance
-- n/4. A real ball remembers its direction. With little restitution, a ball that rolls off one peg reaches the opposite
-- side of the next peg. It alternates between left and right, and all balls end in the middle. With more restitution
-- the ball forgets its direction. With still more restitution it jumps over pegs and spreads farther than coin tosses.
-- Each ball falls in its own world, and runs with the same restitution are repeats in the sweep.
local sim = require "sim2d"

local e = sim.experiment("Galton's board by chance and by mechanics", {
  balls = { 160, "for each restitution" } })
local ROWS = 6
local CHI = 22.46 -- chi-square limit for 6 degrees of freedom, exceeded by chance once in 1000 cases
local LIKELY = 3.29 -- deviations of a mean, exceeded by chance once in 1000 cases

local sweep = sim.sweep {
  grid = { restitution = { 0.1, 0.3, 0.5, 0.7 } },
  repeats = e.options.balls,
  seed = 5,
  common = { rows = ROWS, step = 0.6, height = 0.35, peg = 0.06, ball = 0.1 },
  run = function(p, _, c)
    local world = sim.world { dt = 1 / 240, gravity = { 0, -9.81 } }
    for row = 1, c.rows do
      for k = -1, row + 1 do
        world:circle { type = "static", radius = c.peg, restitution = p.restitution,
          position = { (k - row / 2) * c.step, -c.height * row } }
      end
    end
    local start = sim.random.uniform(-0.05, 0.05)
    local ball = world:circle { radius = c.ball, restitution = p.restitution, friction = 0.1, position = { start, 0 } }
    local bottom = -c.height * (c.rows + 0.5)
    local steps = 0
    while ball.y > bottom and steps < 5000 do
      world:step()
      steps = steps + 1
    end
    if steps == 5000 then error "the ball rests on the pegs" end
    return { bin = math.floor(ball.x / c.step + c.rows / 2 + 0.5), start = start, time = steps / 240 }
  end,
}

-- For one restitution, returns the counts in the bins, the mean, and the variance relative to coin tosses.
local function read(restitution)
  local bins, list = {}, {}
  for _, row in ipairs(sweep.rows) do
    if row.restitution == restitution then
      bins[row.bin] = (bins[row.bin] or 0) + 1
      list[#list + 1] = row.bin
    end
  end
  local mean, squares = 0, 0
  for _, bin in ipairs(list) do mean = mean + bin / #list end
  for _, bin in ipairs(list) do squares = squares + (bin - mean) ^ 2 end
  return bins, mean, squares / (#list - 1) / (ROWS / 4)
end

-- The probability of each bin for coin tosses.
local chance = { [0] = 0.5 ^ ROWS }
for k = 1, ROWS do chance[k] = chance[k - 1] * (ROWS - k + 1) / k end

local function chi_square(bins)
  local sum, inside = 0, 0
  for k = 0, ROWS do
    local expected = e.options.balls * chance[k]
    sum, inside = sum + ((bins[k] or 0) - expected) ^ 2 / expected, inside + (bins[k] or 0)
  end
  return inside == e.options.balls and sum or math.huge
end

sweep:summary("restitution")
print()
e:equal("failed", 0, #sweep.failures)
local bins, mean, variance = read(0.1)
e:equal("restitution 0.1: in the middle bin", e.options.balls, bins[ROWS / 2] or 0)
bins, mean, variance = read(0.5)
local wide = LIKELY * math.sqrt(ROWS / 4 / e.options.balls)
e:equal("restitution 0.5: mean bin", ROWS / 2, mean, wide)
e:below("restitution 0.5: chi-square against coins", CHI, chi_square(bins))
local counted, coins = { {}, {}, kind = "scatter", label = "balls" }, { {}, {}, label = "coins" }
for k = 0, ROWS do
  counted[1][k + 1], counted[2][k + 1] = k, bins[k] or 0
  coins[1][k + 1], coins[2][k + 1] = k, e.options.balls * chance[k]
end
bins, mean, variance = read(0.7)
e:equal("restitution 0.7: mean bin", ROWS / 2, mean, LIKELY * math.sqrt(variance * ROWS / 4 / e.options.balls))
e:above("restitution 0.7: variance over that of coins", 1 + LIKELY * math.sqrt(2 / e.options.balls), variance)
e:figure(sim.plot { title = "Balls in bins, restitution 0.5", x = "bin", y = "balls", counted, coins })
e:finish()
