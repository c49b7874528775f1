-- The steps per second of sim.batch and sim.rollout: build/sim2d bench/lua/batch.lua
-- Cart-poles with a command and four observed numbers are stepped in a loop of the script and in a batch, with one
-- thread and with two, in turns. The fastest round of each counts, so a busy machine matters less. Two threads need two
-- idle cores.
local sim = require "sim2d"

local options = sim.options { worlds = { 1000, "of a batch" }, steps = { 100, "a round" }, rounds = { 5, "" } }

local function build(angle)
  local world = sim.world { dt = 0.02 }
  local cart = world:box { name = "cart", size = { 0.4, 0.2 }, mass = 1 }
  local pole = world:box { name = "pole", size = { 0.05, 1 }, mass = 0.1, position = { 0, 0.5 } }
  local rail = world:slider { cart, anchor = { 0, 0 }, axis = { 1, 0 }, name = "rail" }
  local hinge = world:hinge { pole, cart, anchor = { 0, 0 }, name = "hinge" }
  world:no_contact(cart, pole)
  world:actuator { "push", joint = rail, kind = "force", range = { -10, 10 } }
  world:observe { "cart", of = cart, field = { "x", "vx" } }
  world:observe { "pole", of = hinge, field = { "angle", "speed" } }
  hinge.angle = angle
  return world
end

local COST = { { of = "hinge", field = "angle" }, { of = "cart", field = "x", weight = 0.1 },
  { of = "controls", weight = 1e-3 } }
local n, steps = options.worlds, options.steps
local best = {}

local function measure(name, work, run)
  collectgarbage()
  local start = sim.clock()
  run()
  best[name] = math.max(best[name] or 0, work / (sim.clock() - start))
end

local one, cart = build(0.1), build(0.1)
local zeros = sim.zeros(n, 1)
local controls = sim.zeros(n, steps)
local few = sim.zeros(math.max(1, n // 10), steps)
local free, acted = {}, {}
for threads = 1, 2 do
  free[threads] = sim.batch(one, n, { threads = threads })
  acted[threads] = sim.batch(one, n, { threads = threads, cost = COST, reuse = true,
    terminated = { { of = "hinge", field = "angle", lo = -1, hi = 1 } } })
end
for _ = 1, options.rounds do
  measure("loop", steps * 10, function()
    for _ = 1, steps * 10 do
      cart:act { 0 }
      cart:step()
      cart:observation()
    end
  end)
  for threads = 1, 2 do
    measure("free" .. threads, n * steps, function() free[threads]:step(nil, steps) end)
    measure("acted" .. threads, n * steps, function()
      for _ = 1, steps do acted[threads]:step(zeros) end
    end)
    measure("rollout" .. threads, n * steps, function()
      sim.rollout(one, controls, { threads = threads, cost = COST })
    end)
    measure("gradient" .. threads, n // 10 * steps, function()
      sim.value_and_grad(function(u) return sim.rollout(one, u, { threads = threads, cost = COST }):sum() end, few)
    end)
  end
end

local rows = { columns = { "world-steps/s of", "1 thread", "2 threads", "ratio" } }
rows[1] = { "a loop: act, step, observation", best.loop, "", "" }
for _, row in ipairs { { "free", "batch, free" }, { "acted", "batch: commands, observations, rewards" },
  { "rollout", "rollouts" }, { "gradient", "rollouts with gradients" } } do
  local a, b = best[row[1] .. 1], best[row[1] .. 2]
  rows[#rows + 1] = { row[2], a, b, b / a }
end
sim.table(rows)
