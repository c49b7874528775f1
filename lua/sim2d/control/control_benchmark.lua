-- sim.control.benchmark: runs methods (laws and planners) on tasks and compares success, return and time.

local FOLDER, SEEDS = "scenes/tasks", 3
-- Episodes check `seconds` between calls of the law. The job of a law that does not return is ended after this multiple
-- of `seconds`, plus the time to load and reset the task (s).
local PATIENCE, LOADING = 2, 2

local KEYS = { tasks = true, methods = true, seeds = true, seconds = true, threads = true, out = true, folder = true,
  planner = true, print = true, progress = true }

return function(sim, host)
  sim.control = sim.control or {}
  local fail = host.fail

  local function bad(key, expected, value) host.bad_law_key("benchmark", key, expected, value) end

  -- ---- Reading the call -----------------------------------------------------------------------

  local function exists(path)
    local file <close> = io.open(path, "rb")
    return file ~= nil
  end

  local function all_tasks(folder)
    local names = {}
    local pipe <close> = assert(io.popen(("ls '%s' 2>&1"):format(folder:gsub("'", "'\\''"))))
    for file in pipe:lines() do names[#names + 1] = file:match "^([%w_%-]+)%.lua$" end
    table.sort(names)
    if #names == 0 then
      fail("benchmark: folder: '%s' has no tasks (files *.lua): run in the folder of the sources of sim2d, or set the key 'folder', "
        .. "or name files in 'tasks'", folder)
    end
    return names
  end

  -- Returns { name =, file = } for each task.
  local function read_tasks(def)
    local folder, list = def.folder or FOLDER, {}
    if type(folder) ~= "string" then bad("folder", "the name of a folder", folder) end
    local given = def.tasks or all_tasks(folder)
    if type(given) ~= "table" or #given == 0 then bad("tasks", "a list of names of tasks or of files", given) end
    for i, task in ipairs(given) do
      if type(task) ~= "string" then
        bad(("tasks[%d]"):format(i), "the name of a task, or of a file that returns a result of sim.env (threads load it)", task)
      end
      local file = task:match "%.lua$" and task or ("%s/%s.lua"):format(folder, task)
      if not exists(file) then
        local near = not task:match "%.lua$" and host.nearest(task, all_tasks(folder))
        fail("benchmark: tasks[%d]: there is no task '%s' (file '%s')%s", i, task, file,
          near and ("; did you mean '%s'?"):format(near) or "; a task is a name in the folder, or a file that ends with .lua")
      end
      local good, env = pcall(dofile, file)
      if not good then fail("benchmark: tasks[%d]: '%s' cannot be loaded: %s", i, file, env) end
      if not host.env.is(env) then
        fail("benchmark: tasks[%d]: '%s' has to return a result of sim.env; it returned %s", i, file, host.describe(env))
      end
      list[i] = { name = task:match "([^/]*)%.lua$" or task, file = file, passed = env.passed }
    end
    return list
  end

  -- Returns { name =, program = } for each method: the names in their order, then the script's own laws by name.
  local function read_methods(def)
    local known, list = host.benchmark_laws.names, {}
    local given = def.methods or known
    if type(given) ~= "table" or next(given) == nil then
      bad("methods", "a list of names and own laws, { 'baseline', mine = function(world, env) return law end }", given)
    end
    for i, name in ipairs(given) do
      if type(name) ~= "string" or not host.benchmark_laws.make[name] then
        local near = type(name) == "string" and host.nearest(name, known)
        fail("benchmark: methods[%d]: there is no method %s%s; an own law needs a name: mine = function(world, env) return law end",
          i, type(name) == "string" and "'" .. name .. "'" or host.describe(name),
          near and ("; did you mean '%s'?"):format(near) or "; known: " .. table.concat(known, ", "))
      end
      list[i] = { name = name }
    end
    for _, name in ipairs(host.sorted_keys(given)) do
      if type(name) == "string" then
        if type(given[name]) ~= "function" then
          bad("methods." .. name, "a function(world, env) that returns a law(world, t, seen) -> action", given[name])
        end
        list[#list + 1] = { name = name, program = host.pack_function(given[name], "benchmark") }
      end
    end
    return list
  end

  local function read_call(def)
    host.check_law_keys("benchmark", def, KEYS)
    local seeds, seconds = def.seeds or SEEDS, def.seconds
    if not host.whole(seeds) or seeds < 1 then bad("seeds", "a number of episodes of at least 1", def.seeds) end
    if seconds ~= nil and (not host.finite(seconds) or seconds <= 0) then bad("seconds", "a time above 0 s", seconds) end
    if def.planner ~= nil and type(def.planner) ~= "table" then bad("planner", "a table of keys of sim.control.planner", def.planner) end
    if def.out ~= nil and (type(def.out) ~= "string" or not def.out:match "%.html$") then
      bad("out", "the name of a file that ends with .html", def.out)
    end
    for _, key in ipairs { "print", "progress" } do
      if def[key] ~= nil and type(def[key]) ~= "boolean" then bad(key, "true or false", def[key]) end
    end
    return { tasks = read_tasks(def), methods = read_methods(def), seeds = math.tointeger(seeds), seconds = seconds }
  end

  -- ---- One episode, in a job ------------------------------------------------------------------

  -- Returns the message of an error without its place in the library.
  local function reason(message) return (tostring(message):gsub("^%[?[%w_/%.%-]+%]?:%d+: ", "")) end

  -- A law may be a table of the library, a table of the script, or a function.
  local function decisions_of(law)
    local good, count = pcall(function() return law.decisions end)
    return good and math.type(count) == "integer" and count or 0
  end

  local function run_steps(env, law, planner, seen, seconds)
    local began, told = sim.clock(), { returned = 0, steps = 0, residual = 0, unsolved = 0, law = 0, cost = 0, costs = 0 }
    local world, terminated, truncated, planned, t0 = env.world, false, false, 0, env.world.time
    repeat
      if seconds and sim.clock() - began > seconds then
        told.stopped = true
        break
      end
      local called = sim.clock()
      local action = host.benchmark_laws.action(env, law(world, world.time, seen))
      told.law = told.law + sim.clock() - called
      local count = planner and decisions_of(planner) or 0
      if count > planned then
        planned, told.cost, told.costs = count, told.cost + (planner.cost or 0 / 0), told.costs + 1
      end
      local reward, info
      seen, reward, terminated, truncated, info = env:step(action)
      told.returned, told.steps = told.returned + reward, told.steps + 1
      told.residual, told.unsolved = math.max(told.residual, info.residual), told.unsolved + (info.unsolved and 1 or 0)
    until terminated or truncated
    told.wall, told.time, told.planned = sim.clock() - began, world.time - t0, planned
    told.solved = not told.stopped and env:solved(told.returned, terminated)
    return told
  end

  -- Runs one episode. Returns its figures, or { failed = message }.
  function host.benchmark_episode(item, common)
    local good, told = pcall(function()
      local env = dofile(item.file)
      local seen = env:reset { seed = item.seed }
      sim.random.seed(item.seed)
      local law, planner
      if item.program then
        law = host.load_function(item.program)(env.world, env)
        if law == nil then fail("the method has to return a law; it returned nil") end
        planner = law
      else
        law, planner = host.benchmark_laws.make[item.method](env, item.seed, common.planner)
      end
      return run_steps(env, law, planner, seen, common.seconds)
    end)
    return good and told or { failed = reason(told) }
  end

  -- ---- Rows -----------------------------------------------------------------------------------

  -- Returns the mean and the standard error of a list.
  local function mean_of(list)
    local mean, squares = 0, 0
    for _, value in ipairs(list) do mean = mean + value / #list end
    for _, value in ipairs(list) do squares = squares + (value - mean) ^ 2 end
    return mean, #list > 1 and math.sqrt(squares / (#list - 1) / #list) or 0 / 0
  end

  -- The figures of an episode whose law did not return in time.
  local function ended_job(seconds)
    return { stopped = true, wall = PATIENCE * seconds + LOADING, law = 0, time = 0, planned = 0, cost = 0, costs = 0, unsolved = 0,
      residual = 0 }
  end

  -- Sums the figures of the episodes. Returns also the message of the first episode that failed, if any.
  local function sum_of(episodes)
    local sum = { solved = 0, wall = 0, law = 0, time = 0, planned = 0, cost = 0, costs = 0, unsolved = 0, stopped = 0,
      residual = 0, steps = 0, returns = {} }
    for _, told in ipairs(episodes) do
      if told.failed then return sum, told.failed end
      for _, key in ipairs { "wall", "law", "time", "planned", "cost", "costs", "unsolved" } do sum[key] = sum[key] + told[key] end
      sum.residual = math.max(sum.residual, told.residual)
      sum.solved, sum.stopped = sum.solved + (told.solved and 1 or 0), sum.stopped + (told.stopped and 1 or 0)
      -- returns and lengths of stopped episodes are not comparable
      if not told.stopped then
        sum.returns[#sum.returns + 1], sum.steps = told.returned, sum.steps + told.steps
      end
    end
    return sum
  end

  -- Joins the episodes of a task and a method.
  local function row_of(task, method, episodes, seconds)
    local sum, failed = sum_of(episodes)
    local row = { task = task.name, method = method.name, seeds = #episodes, returns = {}, message = failed or "" }
    if failed then return row end
    row.success, row.residual, row.unsolved, row.returns = sum.solved / #episodes, sum.residual, sum.unsolved, sum.returns
    row.world_seconds, row.wall_seconds, row.speed = sum.time, sum.wall, sum.time / sum.wall
    if #row.returns > 0 then
      row.mean, row.error = mean_of(row.returns)
      row.steps = sum.steps / #row.returns
    end
    -- only laws that plan have these columns
    if sum.planned > 0 then
      row.replans = sum.planned / sum.law
      row.cost = sum.costs > 0 and sum.cost / sum.costs or nil
    end
    if sum.stopped > 0 then
      row.message = ("%d of %d episodes stopped at the limit of %g s (after %.1f s of world time on average): not solved"):format(
        sum.stopped, #episodes, seconds, sum.time / #episodes)
    end
    return row
  end

  -- Large numbers are printed without an exponent.
  local function shown(digits, value)
    if value == nil or value ~= value then return "" end
    return (math.abs(value) >= 10 ^ digits and "%.0f" or "%." .. digits .. "g"):format(value)
  end

  -- The cells of a row as texts, for the printed table and the page.
  local HEAD = { "task", "method", "success", "return", "std. error", "world s per s", "replans/s", "plan cost", "message" }
  local function cells_of(row)
    return { row.task, row.method, row.success and ("%.2f"):format(row.success) or "", shown(4, row.mean), shown(2, row.error),
      shown(3, row.speed), shown(3, row.replans), shown(3, row.cost), row.message }
  end
  host.benchmark_head, host.benchmark_cells = HEAD, cells_of

  local function print_rows(rows)
    local lines = { columns = HEAD }
    for i, row in ipairs(rows) do lines[i] = cells_of(row) end
    sim.table(lines)
  end

  -- sim.control.benchmark { tasks =, methods =, seeds =, seconds =, threads =, out =, ... }: returns the rows.
  function sim.control.benchmark(def)
    def = def or {}
    local call, items = read_call(def), {}
    for _, task in ipairs(call.tasks) do
      for _, method in ipairs(call.methods) do
        for seed = 0, call.seeds - 1 do
          items[#items + 1] = { file = task.file, method = method.name, program = method.program, seed = seed }
        end
      end
    end
    -- the seed of a job does not matter: each episode seeds all generators itself
    local results, failures = host.run_parallel(function(item, _, common) return host.benchmark_episode(item, common) end, items, {
      threads = def.threads, seed = 0, failures = "keep", progress = def.progress,
      common = { seconds = call.seconds, planner = def.planner },
      time_limit = call.seconds and PATIENCE * call.seconds + LOADING }, "benchmark")
    for _, failure in ipairs(failures) do
      results[failure.job] = failure.message:find("the job exceeded its time limit", 1, true) and ended_job(call.seconds)
        or { failed = reason(failure.message) }
    end
    -- items are ordered by task, method and seed
    local rows = {}
    for t, task in ipairs(call.tasks) do
      for m, method in ipairs(call.methods) do
        local first = ((t - 1) * #call.methods + m - 1) * call.seeds
        rows[#rows + 1] = row_of(task, method, table.move(results, first + 1, first + call.seeds, 1, {}), call.seconds)
      end
    end
    if def.print ~= false then print_rows(rows) end
    if def.out then
      local done, message = host.write_file(def.out, host.benchmark_page(rows, call))
      if not done then fail("benchmark: '%s': %s", def.out, message) end
    end
    return rows
  end
end
