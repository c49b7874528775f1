-- A ball hits a hanging chain, and the subsequent motion of the chain determines the mass of its fourth link: 7 kg,
-- starting from a guess of 0.97 kg.
local sim = require "sim2d"

local function swing(mass)
  local world = sim.world { dt = 0.01, gravity = { 0, -9.81 } }
  local links, last = {}, nil
  for i = 1, 6 do
    local link = world:box { size = { 0.1, 0.4 }, position = { 0, -0.4 * i + 0.2 },
      mass = i == 4 and mass or 1 }
    world:hinge { link, last, anchor = { 0, -0.4 * (i - 1) } }
    links[i], last = link, link
  end
  world:circle { radius = 0.15, position = { -0.8, -2.2 }, velocity = { 8, 1 }, mass = 2,
    restitution = 0.5 }
  local seen = {}
  for i = 1, 4 do
    world:run { steps = 10 }
    seen[i] = links[6].x
  end
  return seen
end

local truth = 7.0
local measured = swing(truth)
local start = os.clock()
local mass = 0.97
local function misfit(m)
  local sum = 0
  for i, x in ipairs(swing(m)) do
    sum = sum + (x - measured[i]) ^ 2
  end
  return sum
end
for i = 1, 20 do
  -- Gauss-Newton makes the change that would remove the misfit of a linear model.
  local J, seen = sim.jacobian(function(m) return swing(m) end, mass)
  local above, below = 0, 0
  for k = 1, #seen do
    above = above + J[k][1] * (seen[k] - measured[k])
    below = below + J[k][1] ^ 2
  end
  local step, now = -above / below, misfit(mass)
  while mass + step <= 0 or misfit(mass + step) > now do
    step = step / 2
    if math.abs(step) < 1e-12 then break end
  end
  mass = mass + step
  print(("%2d  mass %.6f kg  misfit %.3g m^2"):format(i, mass, misfit(mass)))
  if math.abs(step) < 1e-6 * mass then
    break
  end
end
assert(math.abs(mass / truth - 1) < 1e-3, "not found")
print(("found %.4f kg of %.1f in %.2f s"):format(mass, truth, os.clock() - start))
