-- The cost of a gradient of 100 steps with and without sim.checkpoint: the size of the tape, and the time divided by the
-- time of the plain function. Both include the construction of the world (processor time, the best of some runs).
--
--   sim2d bench/lua/long_runs.lua
local sim = require "sim2d"

local STEPS, RUNS = 100, 9

local function floor()
  local world = sim.world { dt = 1 / 240 }
  world:segment { from = { -50, 0 }, to = { 50, 0 }, friction = 0.5 }
  return world
end

local function ball(p)
  local world = floor()
  return world, world:circle { radius = 0.3, position = { 0, 0.3 }, velocity = { p.v, 0 } }
end

local function chain(p)
  local world, last = sim.world { dt = 1 / 240 }, nil
  for k = 0, 9 do
    local link = world:box { size = { 1, 0.1 }, position = { k + 0.5, 0 },
      velocity = { 0, k == 9 and p.v or 0 } }
    world:hinge { a = link, b = last, anchor = { k, 0 } }
    last = link
  end
  return world, last
end

local function stack(count)
  return function(p)
    local world, top = floor(), nil
    for k = 1, count do
      top = world:box { size = { 0.5, 0.5 }, position = { 0, 0.5 * k - 0.25 }, friction = 0.5,
        velocity = { 0, k == count and p.v or 0 } }
    end
    return world, top
  end
end

local function best(f)
  local least = math.huge
  for _ = 1, RUNS do
    local start = os.clock()
    f()
    least = math.min(least, os.clock() - start)
  end
  return least
end

local cases = { { "ball", ball, 1 }, { "chain of 10", chain, 0.1 }, { "stack of 5", stack(5), -0.1 },
  { "stack of 10", stack(10), -0.1 } }
local rows = { columns = { "scene", { "plain us a step", format = "%.1f" },
  { "with gradient", format = "%.1f" }, { "tape kB a step", format = "%.1f" },
  { "checkpoint(20)", format = "%.1f" }, { "kB a step", format = "%.1f" } } }
for i, case in ipairs(cases) do
  local name, make, v = case[1], case[2], case[3]
  local function loss(p)
    local world, body = make(p)
    world:run { steps = STEPS }
    return body.x ^ 2 + body.y ^ 2
  end
  local function gradient() sim.value_and_grad(loss, { v = v }) end
  local row = { name, best(function() loss { v = v } end) }
  for _, every in ipairs { false, 20 } do
    sim.checkpoint(every or nil)
    row[#row + 1] = best(gradient) / row[2]
    row[#row + 1] = sim.tape_stats().bytes / STEPS / 1000
  end
  sim.checkpoint()
  row[2] = row[2] / STEPS * 1e6
  rows[i] = row
end
sim.table(rows)
