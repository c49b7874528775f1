-- A rocking block loses speed at every impact: the fraction 1 - 3/2 sin^2 alpha remains, as Housner derived in 1963. A
-- block 2b wide and 2h high, with alpha = atan(b / h) and R^2 = b^2 + h^2, turns about one corner. It lands on the
-- other corner and continues to turn about that corner. Housner assumes an impact only at the new corner. The angular
-- momentum about this corner is conserved, and with the inertia 4/3 m R^2 about a corner
--     w+ / w- = 1 - 3/2 sin^2 alpha.
-- Newton's law with e = 0 at both corners gives the same result, because the old corner lifts off by itself. Beyond
-- sin^2 alpha = 2/3 (a block 1.41 times as wide as high) Housner's ratio is negative: the corner would have to move
-- into the floor. In this case impulses act at both corners, and the block stays at rest.
--     After n impacts: cos(alpha - theta_n) - cos(alpha) = r^(2n) (cos(alpha - theta_0) - cos(alpha)).
local sim = require "sim2d"

local e = sim.experiment "A rocking block against Housner's restitution"

-- Creates a block with R = 1 m on the floor, tilted by theta and turning at w about its left corner at the origin.
local function make(alpha, theta, w, settings)
  local b, h = math.sin(alpha), math.cos(alpha)
  local world = sim.world(settings)
  world:segment { from = { -9, 0 }, to = { 9, 0 }, friction = 5 }
  local x, y = b * math.cos(theta) - h * math.sin(theta), b * math.sin(theta) + h * math.cos(theta)
  return world, world:box { size = { 2 * b, 2 * h }, mass = 1, friction = 5, angle = theta, position = { x, y },
    velocity = { -w * y, w * x }, angular_velocity = w }
end

local degrees, kept, rule = {}, { speculative = {}, event = {} }, {}
for i = 1, 15 do
  local alpha = math.rad(5 * i)
  degrees[i], rule[i] = 5 * i, math.max(0, 1 - 1.5 * math.sin(alpha) ^ 2)
  for _, stepping in ipairs { "speculative", "event" } do
    local world, block = make(alpha, 0, -1, { gravity = { 0, 0 }, stepping = stepping })
    world:step()
    kept[stepping][i] = -block.omega
  end
end
for _, stepping in ipairs { "speculative", "event" } do
  local worst = 0
  for i, ratio in ipairs(kept[stepping]) do worst = math.max(worst, math.abs(ratio - rule[i])) end
  e:equal("w+ / w-, 5 to 75 degrees, largest error, " .. stepping, 0, worst, 1e-12)
end

-- A slender block (alpha = 15 degrees), released at 12 degrees, rocks with decreasing peaks.
local alpha, start = math.rad(15), math.rad(12)
local ratio = 1 - 1.5 * math.sin(alpha) ^ 2
local function peak(n)
  local lift = ratio ^ (2 * n) * (math.cos(alpha - start) - math.cos(alpha))
  return alpha - math.acos(math.cos(alpha) + lift)
end

-- the angles over time, and the peaks between impacts with their times
local function rock(dt)
  local world, block = make(alpha, start, 0, { dt = dt, stepping = "event" })
  local t, angle, peaks, times, sign = {}, {}, { 0 }, { 0 }, 1
  for now in world:steps(4) do
    if block.angle * sign < 0 then -- the block rocks over to the other corner
      peaks[#peaks + 1], times[#peaks + 1], sign = 0, now, -sign
    end
    if math.abs(block.angle) > peaks[#peaks] then peaks[#peaks], times[#peaks] = math.abs(block.angle), now end
    t[#t + 1], angle[#angle + 1] = now, math.deg(block.angle)
  end
  return peaks, times, t, angle
end

-- The rotation about a corner is computed to first order in dt, so two step lengths give the limit.
local peaks, times, t, angle = rock(1e-3)
local finer = rock(5e-4)
local envelope = {}
for n = 0, 4 do
  envelope[n + 1] = (-1) ^ n * math.deg(peak(n))
  e:equal(("peak after impact %d, degrees, dt to 0"):format(n), math.deg(peak(n)),
    math.deg(2 * finer[n + 1] - peaks[n + 1]), 5e-3)
end
e:below("error at dt = 1 ms, degrees", 0.1, math.deg(math.abs(peaks[3] - peak(2))))
e:figure(sim.plot.grid { columns = 1, height = 680,
  { title = "Speed left by an impact", x = "alpha, degrees", y = "w+ / w-",
    { function(a) return 1 - 1.5 * math.sin(math.rad(a)) ^ 2 end, 0, 80, label = "1 - 3/2 sin²", dash = true },
    { degrees, kept.event, label = "found", kind = "scatter" } },
  { title = "A slender block, alpha = 15 degrees", x = "time, s", y = "angle, degrees", { t, angle, label = "angle" },
    { { table.unpack(times, 1, 5) }, envelope, kind = "scatter", label = "peaks after Housner" } } })
e:finish()
