-- Processor time of the gradient of a task's return with respect to its commands:
--   OPENBLAS_NUM_THREADS=1 build/sim2d bench/lua/task_gradients.lua --task hopper
-- Prints medians: the plain run, the run on the tape divided by the plain one, the sweep divided by the plain run, and
-- "back / forward", which is the whole gradient call divided by the plain run, minus 1.
local sim = require "sim2d"
local args = sim.options { task = { "hopper", "a task in scenes/tasks, with commands" }, decisions = { 100, "of the run, or fewer if the episode ends" },
  runs = { 31, "of which the median counts" } }

package.path = (arg[0]:match "^(.*/)" or "./") .. "../../?.lua;" .. package.path
local env = require("scenes.tasks." .. args.task)
local low, high = env.action_space.low, env.action_space.high
local random, commands = sim.random.split(), {}
random:seed(3)
for _ = 1, args.decisions do
  for i = 1, #low do commands[#commands + 1] = 0.1 * random:uniform(low[i], high[i]) end
end

local steps
local function total(u)
  env:reset { seed = 1 }
  local sum, n = 0, #low
  for k = 1, args.decisions do
    local action = table.move(u, n * (k - 1) + 1, n * k, 1, {})
    local _, reward, terminated, truncated = env:step(action)
    sum, steps = sum + reward, k
    if terminated or truncated then break end
  end
  return sum
end

local plain, taped, whole = {}, {}, {}
for run = 1, args.runs do
  local started = os.clock()
  local value = total(commands)
  plain[run] = os.clock() - started
  started = os.clock()
  local same = sim.value_and_grad(function(u)
    local began = os.clock()
    local sum = total(u)
    taped[run] = os.clock() - began
    return sum
  end, commands)
  whole[run] = os.clock() - started
  assert(same == value)
end

local function median(list)
  table.sort(list)
  return list[(#list + 1) // 2]
end

local forward, on_tape, both = median(plain), median(taped), median(whole)
print(("%s, %d decisions: %.2f ms; on the tape %.2f, sweep %.2f; back / forward %.2f"):format(args.task, steps, 1e3 * forward,
  on_tape / forward, (both - on_tape) / forward, both / forward - 1))
