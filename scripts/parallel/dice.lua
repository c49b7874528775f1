-- Dice in the plane: on which side do they come to rest if they are put down or thrown? A die of length a and width b
-- that is put down on a corner without a bounce falls on the side below its centre. For a share 2/pi atan(a/b) of all
-- angles this is a long side, so this share is the probability. The die never tips further, because it starts from the
-- highest position along its path. A thrown die has energy for several turns and tends to end on the most stable side,
-- so long sides occur more often than their angle predicts. A square is fair in both cases.
local sim = require "sim2d"

local e = sim.experiment("Dice in the plane", { throws = { 160, "of each die" } })
local CHI = 16.27 -- chi-square limit for 3 degrees of freedom, exceeded by chance once in 1000 cases
local LIKELY = 3.29 -- deviations of a mean, exceeded by chance once in 1000 cases

local sweep = sim.sweep {
  grid = { how = { "set down", "thrown" }, ratio = { 1, 1.25, 1.5, 2 } },
  repeats = e.options.throws,
  seed = 1,
  run = function(p)
    local random, thrown = sim.random, p.how == "thrown"
    local a, b = 0.1 * math.sqrt(p.ratio), 0.1 / math.sqrt(p.ratio)
    local world = sim.world { dt = 0.005, gravity = { 0, -9.81 } }
    world:box { type = "static", position = { 0, -0.5 }, size = { 100, 1 }, friction = 0.5,
      restitution = thrown and 0.4 or 0 }
    -- the lowest corner starts at the floor, or well above it
    local angle = random.uniform(0, 2 * math.pi)
    local reach = (a * math.abs(math.sin(angle)) + b * math.abs(math.cos(angle))) / 2
    local die = world:box { size = { a, b }, angle = angle, friction = 0.5, restitution = thrown and 0.4 or 0,
      position = { 0, reach + (thrown and random.uniform(0.3, 0.6) or 0) },
      velocity = thrown and { random.uniform(-1, 1), 0 } or nil,
      angular_velocity = thrown and random.uniform(-20, 20) or 0 }
    -- steps until the die lies flat and still
    local still, steps = 0, 0
    while still < 20 do
      world:step()
      steps = steps + 1
      still = math.abs(die.omega) + math.abs(die.vy) < 1e-6 and still + 1 or 0
      if steps > 4000 then error "it does not come to rest" end
    end
    local face = math.floor(die.angle / (math.pi / 2) + 0.5) % 4
    return { face = face, long = face % 2 == 0, tilt = math.abs(math.sin(2 * die.angle)),
      above_long = b * math.abs(math.sin(angle)) < a * math.abs(math.cos(angle)) }
  end,
}

-- Returns the chi-square value of the four faces of the square.
local function unfair(how)
  local counts, sum = { [0] = 0, 0, 0, 0 }, 0
  for _, row in ipairs(sweep.rows) do
    if row.how == how and row.ratio == 1 then counts[row.face] = counts[row.face] + 1 end
  end
  for face = 0, 3 do sum = sum + (counts[face] - e.options.throws / 4) ^ 2 / (e.options.throws / 4) end
  return sum
end

local chance = { ["set down"] = {}, thrown = {} }
local wrong = 0 -- number of put-down dice that rest on a different side than predicted
for _, row in ipairs(sweep.rows) do
  local of = chance[row.how]
  of[row.ratio] = (of[row.ratio] or 0) + (row.long and 1 or 0) / e.options.throws
  if row.how == "set down" and row.long ~= row.above_long then wrong = wrong + 1 end
end

local function angle_law(ratio) return 2 / math.pi * math.atan(ratio) end

local function wide(ratio)
  local p = angle_law(ratio)
  return LIKELY * math.sqrt(p * (1 - p) / e.options.throws)
end

sweep:summary("how", "ratio")
print()
e:equal("failed", 0, #sweep.failures)
e:below("lie flat: sin of twice the angle, largest", 1e-6, sweep:column "tilt":max())
e:equal("set down: on another side than below the centre", 0, wrong)
e:equal("set down, 2 to 1: on a long side", angle_law(2), chance["set down"][2], wide(2))
e:above("thrown, 2 to 1: on a long side", angle_law(2) + wide(2), chance.thrown[2])
e:below("set down, square: chi-square of four sides", CHI, unfair "set down")
e:below("thrown, square: chi-square of four sides", CHI, unfair "thrown")
local plot = { title = "How often a die lies on a long side", x = "length / width", y = { label = "chance", range = { 0.4, 1 } },
  { angle_law, 1, 2, label = "by its angle" } }
for _, how in ipairs { "set down", "thrown" } do
  local series = { {}, {}, kind = "scatter", label = how }
  for i, ratio in ipairs { 1, 1.25, 1.5, 2 } do series[1][i], series[2][i] = ratio, chance[how][ratio] end
  plot[#plot + 1] = series
end
e:figure(sim.plot(plot))
e:finish()
