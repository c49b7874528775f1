-- sim.control.benchmark: rows with known returns, methods that do not apply, own tasks and laws, and equal rows at any
-- number of threads.
local sim = require "sim2d"
local SOURCE = os.getenv "S2_SOURCE" or "."
local TASKS = SOURCE .. "/scenes/tasks"
local FILE = os.tmpname() .. ".lua"
at_end(function() os.remove(FILE) end)

local function run(def)
  def.folder, def.print, def.progress = TASKS, false, false
  return sim.control.benchmark(def)
end

-- Writes a task: a cart on a rail without friction, 1 kg, which starts at x = 1 m at rest.
local function write_task(changes)
  local keys = { period = "0.1", max_steps = "5", reward = [[{ { of = "rail", field = "translation", weight = 2 } }]], more = "" }
  for key, value in pairs(changes or {}) do keys[key] = value end
  local file <close> = assert(io.open(FILE, "w"))
  file:write(([[
    local sim = require "sim2d"
    return sim.env { name = "cart", period = %s, max_steps = %s,
      world = function()
        local world = sim.world { dt = 0.01, gravity = { 0, 0 } }
        local cart = world:box { name = "cart", size = { 1, 1 }, mass = 1, mask = 0 }
        local rail = world:slider { cart, name = "rail", axis = { 1, 0 }, anchor = { 0, 0 } }
        world:actuator { "push", joint = rail, kind = "force", range = { -2, 2 } }
        world:observe { "rail", of = rail, field = { "translation", "speed" } }
        return world
      end,
      reset = { { of = "rail", field = "translation", constant = 1 } },
      reward = %s, %s }
  ]]):format(keys.period, keys.max_steps, keys.reward, keys.more))
  return FILE
end

test("the baseline of cart_pole gets the full return, and no commands get the return of a loop", function()
  local rows = run { tasks = { "cart_pole" }, methods = { "baseline", "zero" }, seeds = 3 }
  eq(#rows, 2)
  eq({ rows[1].task, rows[1].method, rows[1].seeds, rows[1].success, rows[1].mean, rows[1].error, rows[1].message },
    { "cart_pole", "baseline", 3, 1, 500, 0, "" })
  local env, returns = dofile(TASKS .. "/cart_pole.lua"), {}
  for seed = 0, 2 do
    env:reset { seed = seed }
    local sum, over = 0, false
    repeat
      local _, reward, ended = env:step(1) -- of two equally distant actions the first is taken
      sum, over = sum + reward, ended
    until over
    returns[seed + 1] = sum
  end
  eq(rows[2].returns, returns)
  local mean = (returns[1] + returns[2] + returns[3]) / 3
  local squares = 0
  for _, value in ipairs(returns) do squares = squares + (value - mean) ^ 2 end
  near(rows[2].mean, mean, 1e-12)
  near(rows[2].error, math.sqrt(squares / 2 / 3), 1e-12)
  eq({ rows[2].success, rows[2].replans, rows[2].cost }, { 0 })
  ok(rows[1].world_seconds == 3 * 500 * 0.02 or math.abs(rows[1].world_seconds - 30) < 1e-9)
end)

test("an own law has the returns of env:evaluate, and commands by name or the nearest action are taken", function()
  local rows = run { tasks = { "cart_pole", write_task() }, seeds = 2, methods = {
    a = function() return function(_, _, seen) return seen and { push = -5 } or nil end end,
    b = function(world, env) return function(w) return env.actions and (w.joints.rail.speed > 0 and 1 or 2) or { -1 } end end } }
  eq({ rows[1].method, rows[2].method, rows[3].task }, { "a", "b", FILE:match "([^/]*)%.lua$" })
  local env = dofile(TASKS .. "/cart_pole.lua")
  local _, left = env:evaluate { episodes = 2, law = function() return function() return 1 end end }
  local _, back = env:evaluate { episodes = 2, law = function() return function(w) return w.joints.rail.speed > 0 and 1 or 2 end end }
  eq({ rows[1].returns, rows[2].returns }, { left, back })
  -- x = 1 - a t^2 / 2 at the ends of the periods; the reward is -x^2; commands are clipped to -2
  for i, a in ipairs { 2, 1 } do
    local sum = 0
    for k = 1, 5 do sum = sum - (1 - a * (0.1 * k) ^ 2 / 2) ^ 2 end
    near(rows[2 + i].mean, sum, 0.05) -- the error of steps of 0.01 s is below 0.01 m
  end
end)

test("the cost of a plan is the negative reward", function()
  -- an episode of one period, whose plan has the same period
  local planner = { horizon = 0.1, period = 0.1 }
  for _, reward in ipairs { [[{ { of = "rail", field = "translation", weight = 2 }, { of = "controls", weight = 0.1, scale = 2 } }]],
    [[{ { of = "rail", field = { "translation", "speed" }, scale = { 2, 0.5 }, norm = "huber", goal = { 0.3, 0 }, terminal = 3, weight = 1 } }]],
    [[{ { of = "cart", field = "position", at = { 0.1, 0 }, norm = "l2" } }]],
    [[function(world) return -world.joints.rail.translation ^ 2 end]] } do
    for _, row in ipairs(run { tasks = { write_task { max_steps = "1", reward = reward } }, methods = { "ilqr", "cem", "gradient" },
      seeds = 1, planner = planner }) do
      eq(row.message, "")
      near(row.cost, -row.mean, 1e-9)
      ok(row.mean < -0.01, reward)
    end
  end
  -- the plan of a product of factors leaves out the constant 1
  local row = run { tasks = { write_task { max_steps = "1", reward = [[{ factors = { { of = "rail", field = "translation", margin = 2, shape = "linear" },
    { of = "cart", field = "vx", margin = 3, shape = "linear" } } }]] } }, methods = { "cem" }, seeds = 1, planner = planner }[1]
  near(row.cost, (1 - row.mean), 1e-9)
end)

test("planners and LQR improve on no commands", function()
  local file = write_task { max_steps = "30", more = "passed = -25" }
  local rows = run { tasks = { file }, methods = { "zero", "lqr", "ilqr", "mppi", "cem", "sampling", "mixed", "gradient" }, seeds = 1 }
  near(rows[1].mean, -30, 1e-9) -- the cart stays at x = 1
  eq(rows[1].success, 0)
  for i = 2, #rows do
    eq({ rows[i].message, rows[i].success }, { "", 1 }, rows[i].method)
    ok(rows[i].mean > -25, rows[i].method)
    ok(i == 2 or rows[i].replans > 0, rows[i].method)
  end
end)

test("a method that does not apply is a row with the reason", function()
  local rows = run { tasks = { write_task { reward = "1" } }, methods = { "baseline", "cem", bad = function() return nil end,
    wrong = function() return function() return { 1, 2 } end end }, seeds = 2 }
  local reasons = { "the task has no baseline", "the reward is constant", "returned nil", "1 commands expected" }
  for i, row in ipairs(rows) do
    ok(row.message:find(reasons[i], 1, true), row.message)
    eq({ row.returns, row.seeds, row.success, row.mean }, { {}, 2 })
  end
  local row = run { tasks = { "lunar_lander" }, methods = { "lqr" }, seeds = 1 }[1]
  ok(row.message:find("not at an equilibrium: 'craft'", 1, true), row.message)
end)

test("methods that sample need no derivative of the reward function, also if the reward stays flat", function()
  local file = write_task { max_steps = "30", reward = "function(world) return math.abs(world.joints.rail.translation) > 50 and 1 or 0 end" }
  local rows = run { tasks = { file }, methods = { "cem", "mppi", "sampling", "ilqr" }, seeds = 1, planner = { horizon = 0.2, samples = 4 } }
  for i = 1, 3 do eq({ rows[i].message, rows[i].mean, rows[i].cost }, { "", 0, 0 }) end
  ok(rows[4].message:find("the reward function cannot serve as a cost", 1, true), rows[4].message)
end)

test("an episode beyond the time limit is not solved", function()
  local row = run { tasks = { "cart_pole" }, methods = { "baseline" }, seeds = 2, seconds = 1e-9 }[1]
  eq({ row.success, row.mean, row.returns }, { 0, nil, {} })
  ok(row.message:find("2 of 2 episodes stopped at the limit of 1e-09 s", 1, true), row.message)
  -- a law that does not return
  row = run { tasks = { "cart_pole" }, methods = { stuck = function() return function() while true do end end end }, seeds = 1, seconds = 0.1 }[1]
  eq({ row.success, row.world_seconds, row.returns }, { 0, 0, {} })
  ok(row.message:find("1 of 1 episodes stopped at the limit of 0.1 s", 1, true), row.message)
end)

test("rows are the same at any number of threads", function()
  local TIMES = { wall_seconds = true, speed = true, replans = true }
  local function known(threads)
    local rows = run { tasks = { "cart_pole", "pendulum" }, seeds = 2, threads = threads, planner = { horizon = 0.2, samples = 4 },
      methods = { "random", "lqr", "ilqr", "mppi", "sampling" } }
    for _, row in ipairs(rows) do
      for key in pairs(TIMES) do row[key] = nil end
    end
    return rows
  end
  local one = known(1)
  eq(#one, 10)
  eq(known(2), one)
end)

test("the page has the tables and plots of all tasks", function()
  local path = os.tmpname() .. ".html"
  at_end(function() os.remove(path) end)
  run { tasks = { "cart_pole", write_task { reward = "1" } }, methods = { "zero", "cem" }, seeds = 1, out = path }
  local file <close> = assert(io.open(path, "rb"))
  local text = file:read "a"
  for _, part in ipairs { "<h2>cart_pole</h2>", "<td>zero</td>", "the reward is constant", "<svg" } do
    ok(text:find(part, 1, true), part)
  end
end)

test("mistakes are named with what to write instead", function()
  raises("unknown key 'task'; did you mean 'tasks'?", run, { task = {} })
  raises("tasks%[2%]: there is no task 'cart_pol'", run, { tasks = { "pendulum", "cart_pol" } })
  raises("did you mean 'cart_pole'?", run, { tasks = { "cart_pol" } })
  raises("a task is a name in the folder, or a file that ends with .lua", run, { tasks = { "missing.lua" } })
  raises("that returns a result of sim.env", run, { tasks = { {} } })
  local file <close> = assert(io.open(FILE, "w"))
  file:write "return 1"
  file:close()
  raises("has to return a result of sim.env; it returned", run, { tasks = { FILE } })
  raises("there is no method 'ilqrr'; did you mean 'ilqr'?", run, { tasks = { "cart_pole" }, methods = { "ilqrr" } })
  raises("an own law needs a name", run, { tasks = { "cart_pole" }, methods = { function() end } })
  raises("key 'methods.mine'", run, { tasks = { "cart_pole" }, methods = { mine = 1 } })
  local outer = 1
  raises("outer local variable 'outer'", run, { tasks = { "cart_pole" }, methods = { mine = function() return outer end } })
  raises("key 'seeds'", run, { tasks = { "cart_pole" }, seeds = 0 })
  raises("key 'seconds'", run, { tasks = { "cart_pole" }, seconds = -1 })
  raises("ends with .html", run, { tasks = { "cart_pole" }, out = "page.png" })
  local none = function() return sim.control.benchmark { folder = "/nonexistent", print = false } end
  raises("set the key 'folder'", none)
end)
