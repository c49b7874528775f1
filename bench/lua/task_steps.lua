-- Processor time of an engine step in a task that its baseline controls, without the script's own time:
--   build/sim2d bench/lua/task_steps.lua --task walker
-- Prints the best of several runs. bench/peers/walker_mujoco.py compares the walker with MuJoCo's.
local sim = require "sim2d"
local args = sim.options { task = { "walker", "a task in scenes/tasks" }, decisions = { 100, "of each run" }, runs = { 5, "of which the best counts" } }

package.path = (arg[0]:match "^(.*/)" or "./") .. "../../?.lua;" .. package.path

-- Counts the processor time of world:step, which the environment calls once for each decision.
local seconds, make = 0, sim.world
sim.world = function(def)
  local world = make(def)
  local meta = debug.getmetatable(world)
  local index = meta.__index
  meta.__index = function(object, key)
    local found = index(object, key)
    if key ~= "step" then return found end
    return function(...)
      local started = os.clock()
      local result = found(...)
      seconds = seconds + os.clock() - started
      return result
    end
  end
  sim.world = make
  return world
end

local env = require("scenes.tasks." .. args.task)
local best, steps = math.huge, 0
for run = 1, args.runs do
  local seen, law, before = env:reset { seed = run }, env.baseline(env), nil
  local count = 0
  seconds = 0
  for k = 1, args.decisions do
    before = env.world:stats().steps
    local after, _, terminated, truncated = env:step(law(env.world, env.world.time, seen))
    seen, count = after, count + env.world:stats().steps - before
    if terminated or truncated then seen, law = env:reset { seed = 100 * run + k }, env.baseline(env) end
  end
  best, steps = math.min(best, seconds / count * 1e6), steps + count
end
print(("%s: %.1f us an engine step (best of %d runs, %d steps)"):format(args.task, best, args.runs, steps))
