-- Finds the friction of a floor from the sliding distance of a box: Gauss-Newton steps find two unknowns (the friction
-- and the initial speed of the box) from two measurements.
local sim = require "sim2d"

-- Returns the positions after 0.1 s and at rest.
local function slide(p)
  local world = sim.world { dt = 0.002 }
  world:segment { from = { -1, 0 }, to = { 20, 0 }, friction = p[1] }
  local box = world:box { size = { 0.4, 0.2 }, position = { 0, 0.1 }, velocity = { p[2], 0 },
    friction = p[1] }
  world:run { steps = 50 }
  local early = box.x
  world:run { steps = 600 }
  return { early, box.x }
end

local truth = { 0.35, 2.5 }
local measured = slide(truth)
print(("measured: %.4f m after 0.1 s, %.4f m at rest"):format(measured[1], measured[2]))

local p = { 0.5, 2 }
for i = 1, 12 do
  local J, got = sim.jacobian(slide, p)
  local r1, r2 = got[1] - measured[1], got[2] - measured[2]
  if math.abs(r1) + math.abs(r2) < 1e-10 then
    break
  end
  local det = J[1][1] * J[2][2] - J[1][2] * J[2][1]
  p = { p[1] - (J[2][2] * r1 - J[1][2] * r2) / det, p[2] - (J[1][1] * r2 - J[2][1] * r1) / det }
  print(("%2d  friction %.6f  speed %.6f m/s"):format(i, p[1], p[2]))
end
assert(math.abs(p[1] - truth[1]) < 1e-6 and math.abs(p[2] - truth[2]) < 1e-6, "not found")
print(("found %.6f and %.6f m/s"):format(p[1], p[2]))
