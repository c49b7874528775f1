-- A budget of work: steps of a large pile are cut, the residual shows the error, small steps are not affected, and runs
-- are reproducible.
local sim = require "sim2d"
local poured = require "tests.lua.poured"
local pour, state = poured.pour, poured.state

test("by default there is no budget", function()
  eq(sim.world {}.budget, math.huge)
  local world = pour { count = 60 }
  for _ = 1, 60 do world:step() end
  eq(world:stats().cut, 0)
end)

local WAYS = { speculative = { stepping = "speculative" }, auto = {}, event = { stepping = "event" }, convex = { contact = "convex" },
  bouncing = { stepping = "speculative", restitution = 0.4 }, substeps = { stepping = "speculative", substeps = 2 } }
for name, p in pairs(WAYS) do
  test("steps are cut, and nothing flies off or falls through: " .. name, function()
    p.count, p.budget = 100, 3000 -- about ten factorisations
    local world, bodies = pour(p)
    local before, worst = world:energy().total, 0
    for _ = 1, 100 do
      world:step()
      worst = math.max(worst, world:residuals().scaled)
    end
    local stats = world:stats()
    ok(stats.cut > 10)
    eq(stats.unsolved_solves, 0)
    ok(worst > 1e-9 and worst < 0.2, worst)
    ok(stats.worst_penetration < 0.1, stats.worst_penetration) -- of a diameter of 1
    ok(world:energy().total < before)
    for _, body in ipairs(bodies) do ok(body.y > 0.3 and body.y < 12) end
  end)
end

test("more budget, smaller residuals; enough of it, and steps are solved", function()
  local mean, worst, cut = {}, {}, {} -- the worst of 80 steps is one of few that were cut
  for i, budget in ipairs { 0, 30000, 1e9 } do
    local world = pour { count = 100, stepping = "speculative", budget = budget }
    mean[i], worst[i] = 0, 0
    for _ = 1, 80 do
      world:step()
      mean[i] = mean[i] + world:residuals().scaled / 80
      worst[i] = math.max(worst[i], world:residuals().scaled)
    end
    cut[i] = world:stats().cut
  end
  ok(mean[2] < mean[1] / 10 and worst[2] < worst[1], table.concat(mean, " "))
  ok(worst[3] <= 1e-9, worst[3])
  ok(cut[1] > cut[2] and cut[2] > cut[3])
end)

test("a step's work is bounded", function()
  local world = pour { count = 100, stepping = "speculative", budget = 20000 }
  local before, most = 0, 0
  for _ = 1, 100 do
    world:step()
    local now = world:stats().iterations
    most = math.max(most, now - before)
    before = now
  end
  ok(world:stats().cut > 10)
  ok(most <= 150, most) -- 20000 is some 60 factorisations of the island; the remaining ones are of small islands
end)

test("the same bits again, from a snapshot, and by the same budget at any time", function()
  local p = { count = 100, stepping = "speculative", budget = 5000 }
  local world, bodies = pour(p)
  local other, others = pour(p)
  for _ = 1, 60 do world:step() end
  for _ = 1, 60 do other:step() end
  eq(state(bodies), state(others))
  local kept = world:snapshot()
  for _ = 1, 10 do world:step() end
  local there = state(bodies)
  world:restore(kept)
  world.budget = 5000
  for _ = 1, 10 do world:step() end
  eq(state(bodies), there)
  world.budget = math.huge
  world:step()
  ok(world:residuals().scaled <= 1e-9)
end)

test("small islands are solved with any budget", function()
  local world = sim.world { budget = 0 }
  world:box { type = "static", position = { 0, -0.5 }, size = { 10, 1 } }
  for k = 1, 5 do world:box { size = { 1, 1 }, position = { 0, k - 0.5 } } end
  for _ = 1, 50 do world:step() end
  eq(world:stats().cut, 0)
  ok(world:residuals().scaled <= 1e-9)
end)

test("a derivative reports unsolved steps", function()
  local function flags(budget)
    sim.value_and_grad(function(p)
      local world, bodies = pour { count = 60, stepping = "speculative", budget = budget }
      bodies[60].vx = p.v
      for _ = 1, 60 do world:step() end
      return bodies[60].x
    end, { v = 0.1 })
    return table.concat(sim.tape_stats().flags, ",")
  end
  ok(flags(0):find "partial")
  ok(not flags(math.huge):find "partial")
end)

test("a budget has to be positive", function()
  raises("budget", function() sim.world { budget = -1 } end)
  raises("budget", function() sim.world { budget = 0 / 0 } end)
  raises("budget", function() sim.world { budget = "50ms" } end)
  local world = sim.world {}
  raises("budget", function() world.budget = -1 end)
end)
