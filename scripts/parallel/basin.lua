-- From which states does a rocking block come to stand, and from which does it fall to the left or right? A slender
-- block has alpha = atan(width / height) and the distance R from its centre to a corner. It is released at an angle
-- theta with a rate w. In the end it stands, or lies on its left or right side. During rotation about a corner, its
-- energy
--     E = 2/3 R^2 w^2 + g R cos(alpha - |theta|)                                (per mass)
-- is conserved, and the block needs g R to tip over. Each time it lands on its other corner, w is multiplied by r = 1 -
-- 3/2 sin^2 alpha (Housner). Hence the edges of the basins are known. The block tips over its present corner if it
-- turns outwards with E > g R. Otherwise it lands with 2/3 R^2 w^2 = E - g R cos(alpha), keeps the fraction r^2 of this
-- energy, and tips over the other corner if the remainder exceeds g R (1 - cos(alpha)). In all other cases it stands.
--     tools/run scripts/parallel/basin.lua --map map.html     each pixel opens its run in the player
local sim = require "sim2d"

local e = sim.experiment("Basins of a block that rocks", {
  points = { 18, "of each axis" }, map = { "", "FILE.html: the map" } })
local ALPHA, G = math.rad(20), 9.81
local NEAR = 1e-3 -- in units of g R; runs closer to an edge are not counted, because steps have errors of this size

local function axis(n, most)
  local list = {}
  for i = 1, n do list[i] = (2 * (i - 0.5) / n - 1) * most end
  return list
end

local n = e.options.points
local sweep = sim.sweep {
  grid = { angle = axis(n, 0.9 * ALPHA), rate = axis(n, 2.5) },
  common = { alpha = ALPHA, g = G },
  record = e.options.map ~= "" and e.options.map .. ".runs" or nil,
  run = function(p, _, c)
    local b, h = math.sin(c.alpha), math.cos(c.alpha)
    local world = sim.world { dt = 0.01, gravity = { 0, -c.g }, stepping = "event" }
    world:segment { from = { -9, 0 }, to = { 9, 0 }, friction = 5 }
    -- the block turns about its left corner at the origin, or about its right corner if it is tilted to the right
    local side = p.angle > 0 and 1 or -1
    local x, y = side * b * math.cos(p.angle) - h * math.sin(p.angle), side * b * math.sin(p.angle) + h * math.cos(p.angle)
    local block = world:box { size = { 2 * b, 2 * h }, friction = 5, angle = p.angle, position = { x, y },
      velocity = { -p.rate * y, p.rate * x }, angular_velocity = p.rate }
    local fate = 0
    for _ = 1, 800 do
      world:step()
      if math.abs(block.angle) > 1.2 * c.alpha then
        fate = block.angle > 0 and 1 or -1
        break
      elseif math.abs(block.angle) + math.abs(block.omega) < 1e-4 then
        break
      end
    end
    return { fate = fate }
  end,
}

local ratio = 1 - 1.5 * math.sin(ALPHA) ^ 2
-- Predicts the final state, and its energy distance (in g R) from a different final state.
local function law(angle, rate)
  local side, wall = angle > 0 and 1 or -1, G * (1 - math.cos(ALPHA))
  local above = 2 / 3 * rate ^ 2 - G * (1 - math.cos(ALPHA - math.abs(angle))) -- E - g R, with R = 1
  if rate * side > 0 and above > 0 then return side, above / G end
  local after = ratio ^ 2 * (above + wall) -- energy of the motion about the other corner
  local edge = rate * side > 0 and -above or math.huge
  if after > wall then return -side, math.min(edge, after - wall) / G end
  return 0, math.min(edge, wall - after) / G
end

local wrong, near, fates = 0, 0, { [-1] = 0, [0] = 0, [1] = 0 }
for _, row in ipairs(sweep.rows) do
  local fate, distance = law(row.angle, row.rate)
  if distance <= NEAR then
    near = near + 1
  elseif fate ~= row.fate then
    wrong = wrong + 1
  end
  fates[row.fate] = fates[row.fate] + 1
end
print(("%d stand, %d lie on the left, %d on the right; %d are too near an edge to be counted"):format(fates[0], fates[1],
  fates[-1], near))
print()
e:equal("runs", n * n, #sweep.rows)
e:equal("failed", 0, #sweep.failures)
e:equal("another fate than by the law", 0, wrong)
e:below("too near an edge", 0.03 * n * n, near)
e:equal("left and right are mirror images", fates[1], fates[-1])
if e.options.map ~= "" then
  assert(sweep:map { x = "angle", y = "rate", value = "fate", path = e.options.map, title = "1 lies left, 0 stands, -1 right" })
end

local plot = { title = "What becomes of a block", x = "angle, rad", y = "rate, rad/s", legend = "right" }
for _, fate in ipairs { { 1, "lies on its left" }, { 0, "stands" }, { -1, "lies on its right" } } do
  local series = { {}, {}, kind = "scatter", label = fate[2] }
  for _, row in ipairs(sweep.rows) do
    if row.fate == fate[1] then
      series[1][#series[1] + 1], series[2][#series[2] + 1] = row.angle, row.rate
    end
  end
  plot[#plot + 1] = series
end
e:figure(sim.plot(plot))
e:finish()
