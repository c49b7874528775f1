-- Cost and speedup of sim.parallel: build/sim2d bench/lua/parallel.lua
-- Jobs of about a millisecond (a world of three balls) run in a loop, in one thread and in two, in turns. The fastest
-- round of each counts, so a busy machine matters less. Two threads need two idle cores, because the times include the
-- load of other programs.
local sim = require "sim2d"

local options = sim.options { jobs = { 1000, "a round" }, rounds = { 7, "" }, steps = { 100, "a job" } }

local function job(_, _, steps)
  local world = sim.world { dt = 0.01, gravity = { 0, -9.81 } }
  world:box { type = "static", position = { 0, -0.5 }, size = { 10, 1 } }
  for i = 1, 3 do world:circle { radius = 0.1, position = { i - 2, 0.1 }, velocity = { 0.1, 0 } } end
  for _ = 1, steps do world:step() end
  return world.bodies[2].x
end

local best = { math.huge, math.huge, math.huge }
local function measure(which, fn)
  collectgarbage()
  local start = sim.clock()
  fn()
  best[which] = math.min(best[which], sim.clock() - start)
end

local n = options.jobs
for _ = 1, options.rounds do
  measure(1, function()
    local results = {}
    for i = 1, n do results[i] = job(i, i, options.steps) end
  end)
  for threads = 1, 2 do
    measure(1 + threads, function()
      sim.parallel.map(job, n, { threads = threads, common = options.steps, progress = false })
    end)
  end
end
sim.table { columns = { "jobs in", "ms a job", "jobs/s", "over the loop", "over one thread" },
  { "a loop", 1e3 * best[1] / n, n / best[1], 1, "" },
  { "1 thread", 1e3 * best[2] / n, n / best[2], best[1] / best[2], 1 },
  { "2 threads", 1e3 * best[3] / n, n / best[3], best[1] / best[3], best[2] / best[3] } }
