-- Energy of chains that whip: random chains of hinged rods, random chains of points on massless rods, and a chain of 8
-- equal rods with rigid and compliant hinges, are let go and swing. Their energy is constant in truth, so each change is an error of the step.
--   build/sim2d bench/lua/chains.lua
-- An older program runs the same file:
--   OLD/build/sim2d bench/lua/chains.lua
local sim = require "sim2d"
local args = sim.options { chains = { 20, "random chains of each number of rods" } }

-- Lets a chain swing. Returns the largest gain, the largest loss and the final error of its energy (J), and the number of
-- pieces of a step.
local function swing(world, seconds)
  local start, gain, loss = world:energy().total, 0, 0
  local steps = math.floor(seconds / world.dt + 0.5)
  for _ = 1, steps do
    world:step()
    local change = world:energy().total - start
    gain, loss = math.max(gain, change), math.min(loss, change)
  end
  return gain, loss, math.abs(world:energy().total - start), world:stats().solves / 2 / steps
end

local kinds = {}

-- Bodies are the rods, joined by hinges.
function kinds.rods(random, rods, dt)
  local world = sim.world { gravity = { 0, -10 }, dt = dt }
  local last, x, y, scale = nil, 0, 0, 0 -- scale: J, weight times length
  for _ = 1, rods do
    local length, angle = random:uniform(0.2, 1), random:uniform(-1, 1.5)
    local c, s = math.cos(angle), math.sin(angle)
    local rod = world:box { size = { length, 0.05 }, mass = random:uniform(0.3, 2), angle = angle,
      position = { x + length / 2 * c, y + length / 2 * s }, mask = 0 }
    world:hinge { rod, last, anchor = { x, y } }
    x, y, last, scale = x + length * c, y + length * s, rod, scale + rod.mass * 10 * length
  end
  return world, scale
end

-- Bodies are discs that do not turn, joined by distances.
function kinds.points(random, rods, dt)
  local world = sim.world { gravity = { 0, -10 }, dt = dt }
  local last, x, y, scale = nil, 0, 0, 0
  for _ = 1, rods do
    local length, angle = random:uniform(0.2, 1), random:uniform(-1, 1.5)
    x, y = x + length * math.cos(angle), y + length * math.sin(angle)
    local point = world:circle { radius = 0.05, mass = random:uniform(0.3, 2), position = { x, y }, mask = 0 }
    world:distance { point, last, anchor_b = not last and { 0, 0 } or nil }
    last, scale = point, scale + point.mass * 10 * length
  end
  return world, scale
end

-- Adds a row: what chains of one kind and number of rods do at one step length.
local rows = {}
local function measure(kind, rods, rate)
  local random = sim.random:split()
  local most, least, error, pieces = 0, 0, 0, 0
  for _ = 1, args.chains do
    local world, scale = kinds[kind](random, rods, 1 / rate)
    local gain, loss, final, count = swing(world, 5)
    most, least = math.max(most, gain / scale), math.min(least, loss / scale)
    error, pieces = error + final / scale / args.chains, pieces + count / args.chains
    world:close()
  end
  rows[#rows + 1] = { kind, rods, "1/" .. rate, most, least, error, pieces }
end

for _, kind in ipairs { "rods", "points" } do
  for _, rods in ipairs { 2, 3, 5, 8 } do
    for _, rate in ipairs { 60, 120, 240 } do measure(kind, rods, rate) end
  end
end
print "random chains, 5 s: energy in parts of the weight times the length"
sim.table { columns = { "bodies", "rods", "dt, s", { "largest gain", format = "%.1e" }, { "largest loss", format = "%.1e" },
    { "mean error at the end", format = "%.1e" }, { "pieces of a step", format = "%.2f" } }, table.unpack(rows) }

local RODS, G = 8, 9.81
local equal = {}
for _, compliance in ipairs { 0, 1e-8, 1e-6 } do
  for _, rate in ipairs { 60, 120, 240, 480 } do
    local most, least, pieces = 0, 0, 0
    for _, angle in ipairs { 0, 0.3, 0.6, 1, 1.3 } do
      local world = sim.world { gravity = { 0, -G }, dt = 1 / rate }
      local c, s, length, last = math.cos(angle), math.sin(angle), 1 / RODS, nil
      for i = 1, RODS do
        local at, hinge = length * (i - 0.5), length * (i - 1)
        local rod = world:box { size = { length, length / 10 }, mass = length, angle = angle, position = { at * c, at * s }, mask = 0 }
        world:hinge { rod, last, anchor = { hinge * c, hinge * s }, compliance = compliance }
        last = rod
      end
      local gain, loss, _, count = swing(world, 10)
      most, least, pieces = math.max(most, gain / (G / 2)), math.min(least, loss / (G / 2)), pieces + count / 5
      world:close()
    end
    equal[#equal + 1] = { compliance, "1/" .. rate, most, least, pieces }
  end
end
print "8 equal rods of 1 m and 1 kg in all, 5 angles, 10 s: energy in parts of m g L/2"
sim.table { columns = { { "compliance, m/N", format = "%g" }, "dt, s", { "largest gain", format = "%.1e" }, { "largest loss", format = "%.1e" },
    { "pieces of a step", format = "%.2f" } }, table.unpack(equal) }
