-- sim.control.trajectory { method = "contact", ... }: motions with contacts as unknowns. The solver is core/plan/mpcc.c.

local ITERATIONS = 500
local VIOLATION = 1e-6 -- allowed violation of conditions and of goals without `within`
local TOLERANCE = 1e-3 -- expected decrease of the cost at convergence, relative to the cost
-- First values of the relaxation, tried one after another. They span the sizes of costs; one of them solved each problem
-- in scripts/contact_implicit.
local SMOOTHING = { 1, 0.1, 100, 1e4 }
local CHUNK = 8        -- iterations between two looks at the clock

return function(sim, host)
  local fail, describe = host.fail, host.describe
  local WHAT = "trajectory"

  local KEYS = { method = true, unknowns = true, stages = true, stage = true, start = true, goal = true, guess = true,
    curvature = true, smoothing = true, iterations = true, violation = true, tolerance = true, budget = true }
  local GOAL_KEYS = { of = true, value = true, weight = true, within = true }
  local STAGE_KEYS = { cost = true, equal = true, positive = true, products = true }

  local function bad_key(key, expected, value)
    fail("bad argument #1 to '%s' (key '%s': %s expected, got %s)", WHAT, key, expected, describe(value))
  end

  local function read_positive(def, key, default)
    local value = def[key]
    if value == nil then value = default end
    if value ~= nil and (not host.finite(value) or value <= 0) then bad_key(key, "a number above 0", value) end
    return value
  end

  local function read_whole(def, key, default, least)
    local value = def[key]
    if value == nil then value = default end
    if not host.whole(value) or value < least then bad_key(key, ("a whole number of at least %d"):format(least), value) end
    return value
  end

  -- ---- Reading ----------------------------------------------------------------------------------

  local function read_smoothing(value)
    local list = type(value) == "table" and value or value ~= nil and { value } or SMOOTHING
    if #list == 0 then bad_key("smoothing", "a number above 0 or a list of them", value) end
    for _, number in ipairs(list) do
      if not host.finite(number) or number <= 0 then bad_key("smoothing", "a number above 0 or a list of them", number) end
    end
    return list
  end

  local function read_names(def)
    local names = def.unknowns
    if type(names) ~= "table" or #names == 0 then bad_key("unknowns", "a list of names", names) end
    local index = {}
    for i, name in ipairs(names) do
      if type(name) ~= "string" then bad_key(("unknowns[%d]"):format(i), "a name", name) end
      if index[name] then bad_key(("unknowns[%d]"):format(i), "a name that is not in the list yet", name) end
      index[name] = i
    end
    return names, index
  end

  -- Reads { name = value } or raises an error. Returns a list of { name, value } in the order of the unknowns.
  local function read_start(problem, start)
    if start == nil then return {} end
    if type(start) ~= "table" then bad_key("start", "{ name = number, ... }", start) end
    for name, value in pairs(start) do
      if not problem.index[name] then bad_key("start", "the name of an unknown", name) end
      if not host.finite(value) then bad_key("start." .. name, "a number", value) end
    end
    local list = {}
    for _, name in ipairs(problem.names) do
      if start[name] then list[#list + 1] = { name, start[name] } end
    end
    return list
  end

  local function read_goals(problem, goal)
    if goal == nil then return {} end
    if type(goal) ~= "table" then bad_key("goal", "a list of { of =, value =, weight =, within = }", goal) end
    if goal.of then goal = { goal } end
    local list = {}
    for i, entry in ipairs(goal) do
      local key = ("goal[%d]"):format(i)
      if type(entry) ~= "table" then bad_key(key, "{ of =, value =, weight =, within = }", entry) end
      for name in pairs(entry) do
        if not GOAL_KEYS[name] then bad_key(key, "only the keys of, value, weight, within", name) end
      end
      if not problem.index[entry.of] then bad_key(key .. ".of", "the name of an unknown", entry.of) end
      if not host.finite(entry.value) then bad_key(key .. ".value", "a number", entry.value) end
      for _, name in ipairs { "weight", "within" } do
        local value = entry[name]
        if value ~= nil and (not host.finite(value) or value <= 0) then bad_key(key .. "." .. name, "a number above 0", value) end
      end
      if entry.weight and not entry.within then
        bad_key(key .. ".within", "the largest distance from a weighted goal that counts as met", entry.within)
      end
      list[i] = { of = entry.of, value = entry.value, weight = entry.weight, within = entry.within or problem.violation }
    end
    return list
  end

  -- Returns the guess as an array, stages x unknowns.
  local function read_guess(problem, guess)
    local N, names = problem.stages, problem.names
    if guess == nil then return sim.zeros(N, #names) end
    if type(guess) ~= "table" then bad_key("guess", "a plan, or { name = number or list, ... }", guess) end
    if guess.x and guess.residuals then
      if guess.x.shape[1] ~= N or guess.x.shape[2] ~= #names then
        bad_key("guess", ("a plan with %d stages and %d unknowns"):format(N, #names), guess.x)
      end
      return guess.x
    end
    -- Unknowns that are not named begin at 0.
    local rows = {}
    for i = 1, N do
      rows[i] = {}
      for k = 1, #names do rows[i][k] = 0 end
    end
    for name, value in pairs(guess) do
      local k, key = problem.index[name], "guess." .. tostring(name)
      if not k then bad_key("guess", "the name of an unknown", name) end
      if type(value) ~= "number" and (type(value) ~= "table" or #value ~= N) then
        bad_key(key, ("a number or a list of %d numbers"):format(N), value)
      end
      for i = 1, N do
        local x = type(value) == "number" and value or value[i]
        if not host.finite(x) then bad_key(key, "finite numbers", x) end
        rows[i][k] = x
      end
    end
    return sim.array(rows)
  end

  -- ---- The problem: formulas --------------------------------------------------------------------

  -- Checks a list of formulas that the stage function returned.
  local function formulas(problem, key, list)
    if list == nil then return {} end
    if type(list) ~= "table" then fail("%s: stage should return a list as '%s', got %s", WHAT, key, describe(list)) end
    local out = {}
    for i, value in ipairs(list) do
      out[i] = host.formula_of(problem.graph, value)
      if not out[i] then
        fail("%s: stage should return formulas of its unknowns, got %s as %s[%d]", WHAT, describe(value), key, i)
      end
    end
    return out
  end

  -- Calls the stage function. `next` is nil in the last stage.
  local function read_stage(problem, own, next)
    local given = problem.stage(own, next)
    if type(given) ~= "table" then
      fail("%s: stage should return { cost =, equal =, positive =, products = }, got %s", WHAT, describe(given))
    end
    for name in pairs(given) do
      if not STAGE_KEYS[name] then
        local near = type(name) == "string" and host.nearest(name, { "cost", "equal", "positive", "products" })
        fail("%s: stage returned the unknown key '%s'%s", WHAT, tostring(name),
          near and ("; did you mean '%s'?"):format(near) or "; known: cost, equal, positive, products")
      end
    end
    local pairs_of = {}
    for i, pair in ipairs(given.products or {}) do
      if type(pair) ~= "table" or #pair ~= 2 then
        fail("%s: stage should return pairs { a, b } as products, got %s as products[%d]", WHAT, describe(pair), i)
      end
      pairs_of[#pairs_of + 1], pairs_of[#pairs_of + 2] = pair[1], pair[2]
    end
    return { cost = formulas(problem, "cost", { given.cost or 0 }), equal = formulas(problem, "equal", given.equal),
      positive = formulas(problem, "positive", given.positive), products = formulas(problem, "products", pairs_of) }
  end

  local function make_solver(problem, curvature)
    local own, next = {}, {}
    problem.graph = host.formulas()
    for i, name in ipairs(problem.names) do
      own[name] = host.formula_variable(problem.graph, i)
      next[name] = host.formula_variable(problem.graph, #problem.names + i)
    end
    for _, unknowns in ipairs { own, next } do
      setmetatable(unknowns, { __index = function(_, name) fail("%s: there is no unknown '%s'", WHAT, tostring(name)) end })
    end
    local running, last = read_stage(problem, own, next), read_stage(problem, own, nil)
    problem.running_equals = #running.equal
    local first = { cost = running.cost, positive = running.positive, products = running.products,
      equal = table.move(running.equal, 1, #running.equal, 1, {}) }
    for _, entry in ipairs(problem.start) do first.equal[#first.equal + 1] = own[entry[1]] - entry[2] end
    -- Goals with a weight are costs, the others equations of the last stage.
    problem.last_equals, problem.hard_goals = #last.equal, {}
    for _, goal in ipairs(problem.goals) do
      local off = own[goal.of] - goal.value
      if goal.weight then
        last.cost[1] = last.cost[1] + goal.weight * off * off
      else
        last.equal[#last.equal + 1] = off
        problem.hard_goals[#problem.hard_goals + 1] = goal.of
      end
    end
    return host.mpcc(problem.graph, first, running, last, { #problem.names, problem.stages, curvature, problem.tolerance,
      problem.violation })
  end

  -- ---- The plan ---------------------------------------------------------------------------------

  local function stages_of(problem, x)
    local list = {}
    for i, row in ipairs(x:table()) do
      local stage = {}
      for k, name in ipairs(problem.names) do stage[name] = row[k] end
      list[i] = stage
    end
    return list
  end

  -- Says which condition is violated most.
  local function worst_of(problem, result)
    local row, stage = result.worst_row, result.worst_stage
    if result.worst == "equal" and stage == 1 and row > problem.running_equals then
      return "start of " .. problem.start[row - problem.running_equals][1]
    end
    if result.worst == "equal" and stage == problem.stages and row > problem.last_equals then
      return "goal " .. problem.hard_goals[row - problem.last_equals]
    end
    return ("%s[%d] of stage %d"):format(result.worst, row, stage)
  end

  -- Decides how the search ended. A plan has converged only if it meets all conditions and all goals.
  local function judge(problem, plan, result)
    local missed = math.max(result.equal, result.positive, result.product)
    local unmet, reasons, farthest = {}, {}, 0
    local worst = missed > problem.violation and worst_of(problem, result)
    if worst and not worst:find "^goal" then -- goals follow
      unmet[1], reasons[1] = worst, ("%s is violated by %.3g"):format(worst, missed)
    end
    for _, goal in ipairs(problem.goals) do
      local off = math.abs(plan.stages[problem.stages][goal.of] - goal.value)
      farthest = math.max(farthest, off)
      if off > goal.within then
        unmet[#unmet + 1] = "goal " .. goal.of
        reasons[#reasons + 1] = ("'%s' ends %.3g from its goal, %.3g allowed"):format(goal.of, off, goal.within)
      end
    end
    plan.residuals = { equal = result.equal, positive = result.positive, product = result.product, goal = farthest }
    plan.violation, plan.unmet = missed, unmet
    if result.state == "converged" and #unmet == 0 then
      plan.status = "converged"
    elseif result.state == "going" then
      plan.status = problem.late and "out of time" or "out of iterations"
    else
      plan.status = "stuck"
    end
    if plan.status ~= "converged" then
      plan.message = #reasons > 0 and table.concat(reasons, "; ") or "all conditions hold, but the cost has not converged"
    end
  end

  -- ---- The search -------------------------------------------------------------------------------

  -- Searches once, from the given relaxation.
  local function search(problem, solver, smoothing)
    local result, left = solver:start(problem.guess, smoothing), problem.iterations
    while result.state == "going" and left > 0 and not problem.late do
      local count = problem.budget and math.min(CHUNK, left) or left
      result = solver:iterate(count)
      left = left - count
      problem.late = problem.budget ~= nil and sim.clock() - problem.began >= problem.budget
    end
    local x = solver:point()
    local plan = { method = "contact", unknowns = problem.names, x = x, stages = stages_of(problem, x), cost = result.cost,
      iterations = result.iterations, smoothing = smoothing }
    judge(problem, plan, result)
    return plan
  end

  -- True if the first plan is better: it converged, meets more conditions and goals, or costs less.
  local function better(a, b)
    if (a.status == "converged") ~= (b.status == "converged") then return a.status == "converged" end
    if #a.unmet ~= #b.unmet then return #a.unmet < #b.unmet end
    if #a.unmet > 0 then return a.violation < b.violation end
    return a.cost < b.cost
  end

  -- Searches with each relaxation, without and with the second derivatives of the equations, until a search converges.
  local function search_all(problem)
    local best, attempts, iterations = nil, 0, 0
    for _, curvature in ipairs(problem.curvature == nil and { false, true } or { problem.curvature }) do
      local solver = make_solver(problem, curvature)
      for _, smoothing in ipairs(problem.smoothing) do
        local plan = search(problem, solver, smoothing)
        attempts, iterations, plan.curvature = attempts + 1, iterations + plan.iterations, curvature
        if not best or better(plan, best) then best = plan end
        if best.status == "converged" or problem.late then break end
      end
      if best.status == "converged" or problem.late then break end
    end
    best.attempts, best.iterations, best.time = attempts, iterations, sim.clock() - problem.began
    return best
  end

  function host.contact_trajectory(def)
    host.check_law_keys(WHAT, def, KEYS, 1)
    local names, index = read_names(def)
    local problem = { names = names, index = index }
    problem.stages = read_whole(def, "stages", nil, 2)
    problem.iterations = read_whole(def, "iterations", ITERATIONS, 1)
    problem.violation = read_positive(def, "violation", VIOLATION)
    problem.tolerance = read_positive(def, "tolerance", TOLERANCE)
    problem.smoothing = read_smoothing(def.smoothing)
    problem.budget = read_positive(def, "budget")
    problem.curvature = def.curvature
    if problem.curvature ~= nil and type(problem.curvature) ~= "boolean" then bad_key("curvature", "true or false", problem.curvature) end
    if type(def.stage) ~= "function" then bad_key("stage", "a function(s, n)", def.stage) end
    problem.stage = def.stage
    problem.start, problem.goals = read_start(problem, def.start), read_goals(problem, def.goal)
    problem.guess = read_guess(problem, def.guess)
    problem.began = sim.clock()
    return search_all(problem)
  end
end
