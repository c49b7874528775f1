-- sim.control.trajectory and sim.control.planner: controls that minimise a cost, by default with a clone of the world
-- as the model.

local EARLY = 1e-6 -- tolerance for rounding in sums of dt, as a fraction of a period
local ITERATIONS = { ilqr = 200, gradient = 100, sampling = 50, cem = 30, mppi = 30, cmaes = 200, mixed = 30 }
local TOLERANCE = 1e-5   -- relative change of the cost that ends the iterations
local VIOLATION = 1e-6   -- allowed violation of the goals at the end
local METHODS = { "ilqr", "gradient", "sampling", "cem", "mppi", "cmaes", "mixed" }

return function(sim, host)
  local control = sim.control
  local fail, describe = host.fail, host.describe

  local KEYS = { cost = true, method = true, horizon = true, period = true, knots = true, spline = true, samples = true,
    noise = true, iterations = true, budget = true, gradient = true, smoothing = true, seed = true, goal = true,
    u0 = true, x0 = true, tolerance = true, violation = true, coordinates = true, model = true, elites = true,
    temperature = true, log = true, show = true, starts = true,
    threads = true, soften = true }

  -- ---- Reading options --------------------------------------------------------------------------

  local function read_number(what, def, key, default, least, above)
    local value = def[key]
    if value == nil then value = default end
    if value == nil then return nil end
    if not host.finite(value) or value < least or (above and value <= least) then
      host.bad_law_key(what, key, ("a number %s %g"):format(above and "above" or "of at least", least), value)
    end
    return value
  end

  local function read_integer(what, def, key, default)
    local value = def[key]
    if value == nil then value = default end
    if not host.whole(value) or value < 1 then
      host.bad_law_key(what, key, "a whole number of at least 1", value)
    end
    return value
  end

  -- A period is a whole number of steps, and a horizon is a whole number of periods.
  local function read_times(what, world, def)
    local dt = world.dt
    local period = read_number(what, def, "period", dt, 0, true)
    local steps = math.floor(period / dt + 0.5)
    if steps < 1 or math.abs(steps * dt - period) > EARLY * dt * math.max(1, steps) then
      host.bad_law_key(what, "period", ("a multiple of the world's dt (%g s)"):format(dt), def.period)
    end
    if def.horizon == nil then
      fail("bad argument #2 to '%s' (key 'horizon': a number of seconds above 0 expected)", what)
    end
    local horizon = read_number(what, def, "horizon", nil, 0, true)
    local periods = math.floor(horizon / period + 0.5)
    if periods < 1 then
      host.bad_law_key(what, "horizon", ("at least one period, %g s"):format(period), def.horizon)
    end
    return periods, steps, period
  end

  -- Reads the goals {of =, field =, value =}, ..., which become outputs after the outputs of the cost.
  local function read_goals(what, goal)
    if goal == nil then return nil end
    if type(goal) ~= "table" then
      host.bad_law_key(what, "goal", "a list of { of =, field =, value = }", goal)
    end
    if goal.of then goal = { goal } end
    local terms = {}
    for i, entry in ipairs(goal) do
      if type(entry) ~= "table" then
        host.bad_law_key(what, ("goal[%d]"):format(i), "{ of =, field =, value = }", entry)
      end
      terms[i] = { "goal " .. i, of = entry.of, field = entry.field, at = entry.at, goal = entry.value, weight = 0 }
    end
    return control.cost(terms)
  end

  local function read_cost(what, cost)
    if getmetatable(cost) == nil and type(cost) == "table" then cost = control.cost(cost) end
    if type(cost) ~= "table" or rawget(cost, "terms") == nil then
      host.bad_law_key(what, "cost", "a result of sim.control.cost", cost)
    end
    return cost
  end

  -- ---- The problem: model, cost, goals ----------------------------------------------------------

  local function counterparts(world, list)
    if type(list) ~= "table" then return nil end
    local found = {}
    for i, object in ipairs(list) do found[i] = host.counterpart(world, object) end
    return found
  end

  -- Joins the terms of the cost and of the goals in one list of outputs.
  local function join(cost, goals)
    if not goals then return cost end
    local all = { terms = {}, controls = cost.controls }
    for _, list in ipairs { cost.terms, goals.terms } do
      for _, term in ipairs(list) do all.terms[#all.terms + 1] = term end
    end
    return all
  end

  -- Makes the solver with the present weights of the cost.
  local function make_solver(problem)
    for _, term in ipairs(problem.terms) do
      local of = problem.cost.terms[term.of]
      term.weight, term.terminal = of.weight, of.terminal
    end
    problem.version, problem.together = problem.cost.version, nil
    problem.solver = host.ilqr(problem.model, { terms = problem.terms, goals = problem.goals,
      controls = host.cost_controls(problem.cost, problem.m), tolerance = problem.tolerance,
      violation = problem.violation })
  end

  local function open(what, world, def)
    world = host.world(world)
    host.check_law_keys(what, def, KEYS)
    if def.show ~= nil and what ~= "planner" then
      host.bad_law_key(what, "show", "no value (only planners show their plans)", def.show)
    end
    local cost = read_cost(what, def.cost)
    local periods, steps, period = read_times(what, world, def)
    if #host.actuators(world) == 0 then
      fail("%s: the world has no actuators: declare one: world:actuator { ... }", what)
    end
    local goals = read_goals(what, def.goal)
    local clone = def.model and host.world(def.model) or world:clone { functions = true }
    if not def.model then host.lend_laws(clone, world) end
    local threads = read_integer(what, def, "threads", host.parallel.threads())
    local parts = host.cost_for(join(cost, goals), clone)
    -- the last terms belong to the goals
    local wanted, terms = {}, {}
    for _, term in ipairs(parts.terms) do
      if term.of > #cost.terms then
        for k = 1, term.count do
          wanted[#wanted + 1] = { term.first + k - 1, term.goal[k], of = term.of - #cost.terms }
        end
      else
        terms[#terms + 1] = term
      end
    end
    local model = host.model(clone, { coordinates = counterparts(clone, def.coordinates), outputs = parts.outputs,
      knots = periods, steps = steps, extra = parts.extra, extra_count = parts.extra_count,
      workers = threads > 1 and host.batch_workers(threads) or nil })
    local n, m, p = model:sizes()
    local problem = { world = world, clone = clone, model = model, cost = cost, terms = terms, goals = wanted,
      periods = periods, steps = steps, period = period, n = n, m = m, p = p, own_model = def.model ~= nil,
      actuators = host.actuators(clone) }
    problem.tolerance = read_number(what, def, "tolerance", TOLERANCE, 0)
    problem.violation = read_number(what, def, "violation", VIOLATION, 0, true)
    make_solver(problem)
    return problem
  end

  -- Sets the planner's kind of derivatives in the model. The setting of the world has no effect.
  local function differentiate(problem)
    if problem.gradient then
      problem.clone.gradient, problem.clone.smoothing = problem.gradient, problem.smoothing
      problem.model:start()
    end
  end

  -- Copies the state of the world into the model.
  local function follow(problem)
    if problem.own_model then
      problem.clone:set_state(problem.world:state())
      problem.model:start()
    else
      problem.model:follow(problem.world)
    end
    differentiate(problem)
  end

  -- Reads the initial controls (periods x m): a number, a list of m numbers, a list of m numbers for each period, or an
  -- array.
  local function read_start(what, problem, u0)
    local periods, m = problem.periods, problem.m
    if u0 == nil then u0 = 0 end
    if getmetatable(u0) == "Array" and u0.size == periods * m then return u0:reshape(periods, m) end
    local rows = {}
    for k = 1, periods do
      rows[k] = {}
      for i = 1, m do
        local value = u0
        if type(value) ~= "number" and m >= 1 then
          if type(u0[1]) == "number" and #u0 == m then value = u0[i]
          elseif type(u0[1]) == "number" and m == 1 and #u0 == periods then value = u0[k]
          elseif type(u0[k]) ~= "number" then value = u0[k] and u0[k][i]
          else value = nil end
        end
        if not host.finite(value) then
          host.bad_law_key(what, "u0", ("a number, %d numbers, or %d x %d"):format(m, periods, m), u0)
        end
        rows[k][i] = value
      end
    end
    return sim.array(rows)
  end

  -- ---- Splines: a few knots for many periods ----------------------------------------------------

  local SPLINES = { zero = true, linear = true, cubic = true }

  -- Returns the matrix (periods x knots) that maps values at `knots` knots to controls in all periods.
  local function spline_matrix(periods, knots, kind)
    local rows = {}
    for k = 1, periods do
      local row = {}
      for i = 1, knots do row[i] = 0 end
      local s = knots == 1 and 0 or (k - 1) / math.max(1, periods - 1) * (knots - 1)
      if kind == "zero" then s = math.min(knots - 1, (k - 1) * knots // periods) end
      local i = math.min(math.floor(s), math.max(0, knots - 2))
      local r = s - i
      if knots == 1 then
        row[1] = 1
      elseif kind == "cubic" then
        -- Catmull-Rom spline, with the end points repeated beyond the ends
        local w = { -r / 2 + r * r - r ^ 3 / 2, 1 - 2.5 * r * r + 1.5 * r ^ 3, r / 2 + 2 * r * r - 1.5 * r ^ 3,
          -r * r / 2 + r ^ 3 / 2 }
        for j = -1, 2 do
          local at = math.max(0, math.min(knots - 1, i + j)) + 1
          row[at] = row[at] + w[j + 2]
        end
      else
        row[i + 1], row[i + 2] = 1 - r, r
      end
      rows[k] = row
    end
    return sim.array(rows)
  end

  local function read_spline(what, problem, def, default)
    local kind = def.spline or "linear"
    if not SPLINES[kind] then host.bad_law_key(what, "spline", "'zero', 'linear' or 'cubic'", def.spline) end
    local knots = read_integer(what, def, "knots", math.min(default, problem.periods))
    if knots > problem.periods then
      host.bad_law_key(what, "knots", ("at most one knot per period (%d)"):format(problem.periods), knots)
    end
    problem.matrix = spline_matrix(problem.periods, knots, kind)
    problem.knots = knots
    -- fits values at knots to given controls by least squares
    problem.fit = function(u) return sim.linalg.lstsq(problem.matrix, u) end
  end

  -- ---- Methods: each improves problem.u for several iterations ----------------------------------

  local methods = {}

  local function evaluate(problem, u)
    problem.evaluations = (problem.evaluations or 0) + 1
    local good, result = pcall(problem.solver.set, problem.solver, u)
    if good then return result.cost end
    if type(result) == "string" and result:find "interrupted" then error(result, 0) end
    problem.failure = result
    return math.huge -- the trajectory could not be stepped
  end

  -- Stores the gains around the plan, or none if the cost there is not convex in the commands.
  local function keep_gains(problem)
    local good, message = pcall(problem.solver.gains, problem.solver)
    if not good and not message:find "not convex" then error(message, 0) end
    problem.promised = good and message or math.huge
    local u, x, _, K = problem.solver:plan()
    problem.u, problem.x, problem.K = u, good and x or nil, good and K or nil
    problem.gains_known = good
  end

  function methods.ilqr(problem, going)
    local solver = problem.solver
    problem.result = solver:set(problem.u, problem.x, problem.K)
    while going(problem.result) do
      problem.result = solver:iterate()
      problem.evaluations = (problem.evaluations or 0) + 1
    end
    keep_gains(problem)
    return problem.result
  end

  -- L-BFGS on the values at knots, with derivatives through the engine.
  function methods.gradient(problem, going)
    local solver = problem.solver
    local theta = problem.fit(problem.u)
    local M, Mt = problem.matrix, problem.matrix:t()
    local knots, m = problem.knots, problem.m
    problem.together = host.cost_for_rollouts(problem.cost, problem.clone, m) or false
    local function roll(u)
      return sim.rollout(problem.clone, u, { cost = problem.together, period = problem.period, threads = 1 })[1]
    end
    local function value_and_slope(x)
      local u = M:mm(sim.array(x):reshape(knots, m))
      local value, slope
      problem.evaluations = (problem.evaluations or 0) + 1
      if problem.together then -- differentiate backward through each step without forming its matrices
        problem.model:rewind()
        value, slope = sim.value_and_grad(roll, u:reshape(1, problem.periods * m))
        slope = slope:reshape(problem.periods, m)
      else
        value = solver:set(u).cost
        slope = solver:gradient()
      end
      return value, Mt:mm(slope):reshape(knots * m):table()
    end
    local start = theta:reshape(knots * m):table()
    going { state = "going", iterations = 0, cost = math.huge }
    local x, _, info = sim.optimize.minimize(value_and_slope, start, { gradient = true,
      max_iterations = problem.iterations, tolerance = 1e-6, callback = function(_, value, entry)
        return not going { state = "going", iterations = entry.iteration, cost = value }
      end })
    problem.u = M:mm(sim.array(x):reshape(knots, m))
    problem.result = solver:set(problem.u)
    problem.result.iterations = info.iterations
    problem.result.state = info.status == "converged" and "converged" or "going"
    problem.ends_flat = true -- the predicted decrease of iLQR does not apply to values at knots
    keep_gains(problem)
    return problem.result
  end

  -- Returns values at knots that vary randomly around a mean. They are drawn in order, so that runs are reproducible.
  local function perturbed(problem, theta, deviation)
    local list = {}
    for k = 1, problem.knots do
      list[k] = {}
      for i = 1, problem.m do
        list[k][i] = theta[k][i] + problem.random:normal() * (type(deviation) == "number" and deviation or deviation[k][i])
      end
    end
    return sim.array(list)
  end

  local function noise_of(problem, i) return problem.noise[i] or problem.noise[1] end

  local function deviations(problem)
    local rows = {}
    for k = 1, problem.knots do
      rows[k] = {}
      for i = 1, problem.m do rows[k][i] = noise_of(problem, i) end
    end
    return sim.array(rows)
  end

  -- Returns the costs of the candidates in their order. They are computed in threads and lanes, unless functions of the
  -- script have to be called.
  local function judge(problem, candidates)
    local costs = {}
    problem.candidates = candidates
    if problem.together == nil then
      problem.together = host.cost_for_rollouts(problem.cost, problem.clone, problem.m) or false
    end
    if not problem.together then
      for i, theta in ipairs(candidates) do costs[i] = evaluate(problem, problem.matrix:mm(theta)) end
      return costs
    end
    local rows = {}
    for i, theta in ipairs(candidates) do rows[i] = problem.matrix:mm(theta) end
    problem.model:rewind()
    problem.evaluations = (problem.evaluations or 0) + #candidates
    return sim.rollout(problem.clone, rows, { cost = problem.together, period = problem.period, failures = "keep" }):table()
  end

  local function ranked(costs)
    local order = {}
    for i = 1, #costs do order[i] = i end
    table.sort(order, function(a, b)
      if costs[a] ~= costs[b] then return costs[a] < costs[b] end
      return a < b
    end)
    return order
  end

  local function finish(problem, theta, iterations)
    problem.u = problem.matrix:mm(theta)
    problem.theta = theta
    problem.result = problem.solver:set(problem.u)
    problem.result.iterations = iterations
    return problem.result
  end

  -- Predictive sampling (Howell and others 2022) selects the best of the present plan and of random changes of it.
  function methods.sampling(problem, going)
    local theta, iteration, best = problem.fit(problem.u), 0, math.huge
    repeat
      local candidates = { theta }
      local deviation = deviations(problem)
      for i = 2, problem.samples do candidates[i] = perturbed(problem, theta, deviation) end
      local costs = judge(problem, candidates)
      local first = ranked(costs)[1]
      theta, best, iteration = candidates[first], costs[first], iteration + 1
    until not going { state = "going", iterations = iteration, cost = best }
    return finish(problem, theta, iteration)
  end

  -- The cross-entropy method fits a mean and a deviation to the best few candidates.
  function methods.cem(problem, going)
    local theta, deviation, iteration = problem.fit(problem.u), deviations(problem), 0
    local best, best_cost = theta, math.huge
    local floor = deviation * 0.02
    repeat
      local candidates = { theta }
      for i = 2, problem.samples do candidates[i] = perturbed(problem, theta, deviation) end
      local costs = judge(problem, candidates)
      local order = ranked(costs)
      if costs[order[1]] < best_cost then best, best_cost = candidates[order[1]], costs[order[1]] end
      local mean, square = sim.zeros(problem.knots, problem.m), sim.zeros(problem.knots, problem.m)
      for k = 1, problem.elites do mean = mean + candidates[order[k]] / problem.elites end
      for k = 1, problem.elites do square = square + (candidates[order[k]] - mean) ^ 2 / problem.elites end
      theta, deviation, iteration = mean, sim.max(sim.sqrt(square), floor), iteration + 1
    until not going { state = "going", iterations = iteration, cost = best_cost }
    return finish(problem, best, iteration)
  end

  -- Path integral control (Williams and others 2017) takes the mean of the candidates, weighted by exp(-cost /
  -- temperature).
  function methods.mppi(problem, going)
    local theta, iteration = problem.fit(problem.u), 0
    local best, best_cost = theta, math.huge
    repeat
      local candidates, deviation = { theta }, deviations(problem)
      for i = 2, problem.samples do candidates[i] = perturbed(problem, theta, deviation) end
      local costs = judge(problem, candidates)
      local order = ranked(costs)
      local least = costs[order[1]]
      if least < best_cost then best, best_cost = candidates[order[1]], least end
      -- relative to the spread of the costs, so that the temperature has no unit
      local spread = costs[order[math.max(2, #order // 2)]] - least
      local scale = problem.temperature * (spread > 0 and spread < math.huge and spread or 1)
      local sum, weights = 0, {}
      for i, cost in ipairs(costs) do
        weights[i] = math.exp(-(cost - least) / scale)
        sum = sum + weights[i]
      end
      local mean = sim.zeros(problem.knots, problem.m)
      for i, candidate in ipairs(candidates) do mean = mean + candidate * (weights[i] / sum) end
      theta, iteration = mean, iteration + 1
    until not going { state = "going", iterations = iteration, cost = best_cost }
    if evaluate(problem, problem.matrix:mm(theta)) < best_cost then best = theta end
    return finish(problem, best, iteration)
  end

  -- CMA-ES on the values at knots.
  function methods.cmaes(problem, going)
    local theta = problem.fit(problem.u)
    local knots, m = problem.knots, problem.m
    local scales = deviations(problem):reshape(knots * m):table()
    local x, _, iteration = host.cmaes(function(list)
      local candidates = {}
      for i, x in ipairs(list) do candidates[i] = sim.array(x):reshape(knots, m) end
      return judge(problem, candidates)
    end, theta:reshape(knots * m):table(), { scales = scales, samples = problem.samples, random = problem.random,
      going = function(value, k) return going { state = "going", iterations = k, cost = value } end })
    return finish(problem, sim.array(x):reshape(knots, m), iteration)
  end

  -- Sampling finds a valley of the cost, and iLQR finds the minimum in it.
  function methods.mixed(problem, going)
    local limit = problem.iterations
    methods.cem(problem, function(result) return result.iterations < math.max(1, limit // 3) and going(result) end)
    local begun = problem.result.iterations
    local result = methods.ilqr(problem, function(r)
      r.iterations = r.iterations + begun
      local on = going(r)
      return on
    end)
    return result
  end

  -- ---- Plans ------------------------------------------------------------------------------------

  local Plan = host.close_class({ __name = "Plan" }, "Plan", { "K", "message", "violation", "evaluations", "threads" })
  Plan.__tostring = function(plan)
    return ("Plan (%s: %s after %d iterations, cost %.6g%s)"):format(plan.method, plan.status, plan.iterations, plan.cost,
      plan.message and "; " .. plan.message or "")
  end

  -- Reads the compliances (m/N) of the contacts in the searches before the last one.
  local function read_soften(what, soften)
    if soften == nil then return {} end
    local good = type(soften) == "table" and #soften > 0
    for _, compliance in ipairs(good and soften or {}) do
      good = good and host.finite(compliance) and compliance > 0
    end
    if not good then host.bad_law_key(what, "soften", "a list of compliances above 0 (m/N)", soften) end
    return soften
  end

  local function read_method(what, problem, def)
    local method = def.method or "ilqr"
    if not methods[method] then
      host.bad_law_key(what, "method", "one of " .. table.concat(METHODS, ", "), def.method)
    end
    problem.method = method
    problem.iterations = read_integer(what, def, "iterations", ITERATIONS[method])
    problem.budget = read_number(what, def, "budget", nil, 0, true)
    problem.samples = read_integer(what, def, "samples", 40)
    problem.elites = read_integer(what, def, "elites", math.max(2, problem.samples // 5))
    problem.temperature = read_number(what, def, "temperature", 0.1, 0, true)
    if problem.elites > problem.samples then
      host.bad_law_key(what, "elites", "a number not above 'samples'", def.elites)
    end
    local noise = def.noise
    if noise == nil then
      -- the default is a quarter of the range of each actuator
      noise = {}
      for i, actuator in ipairs(problem.actuators) do
        local width = sim.stop_gradient(actuator.range[2]) - sim.stop_gradient(actuator.range[1])
        noise[i] = width > 0 and width < math.huge and width / 4 or 1
      end
    end
    problem.noise = type(noise) == "number" and { noise } or noise
    for i = 1, #problem.noise do
      if not host.finite(problem.noise[i]) or problem.noise[i] <= 0 then
        host.bad_law_key(what, "noise", "a deviation above 0, or one per actuator", def.noise)
      end
    end
    problem.starts = read_integer(what, def, "starts", 1)
    problem.soften = read_soften(what, def.soften)
    if method ~= "ilqr" or problem.starts > 1 then
      read_spline(what, problem, def, 10)
      problem.random = sim.random.split()
      if def.seed ~= nil then
        if not host.whole(def.seed) then host.bad_law_key(what, "seed", "a whole number", def.seed) end
        problem.random:seed(def.seed)
      end
    end
    if def.gradient ~= nil and def.gradient ~= "exact" and def.gradient ~= "smooth" then
      host.bad_law_key(what, "gradient", "'exact' or 'smooth'", def.gradient)
    end
    if def.gradient ~= nil then
      problem.gradient = def.gradient
      problem.smoothing = read_number(what, def, "smoothing", 1e-3, 0, true)
      differentiate(problem)
    end
  end

  -- Runs the method until it is done or until it runs out of iterations or time. The time is checked between
  -- iterations. Recordings store the number of the check that ended the search (0: none), so that a repeated run ends
  -- at the same iteration.
  local function search(problem, iterations)
    local budget, start, looks, over = problem.budget, sim.clock(), 0, 0
    local recorded
    if budget then recorded = host.decided() end
    methods[problem.method](problem, function(result)
      if result.state ~= "going" or result.iterations >= iterations then return false end
      looks = looks + 1
      if over == 0 and budget then
        local late = sim.clock() - start >= budget
        if recorded then late = looks == recorded end
        if late then over = looks end
      end
      return over == 0
    end)
    problem.missed = over > 0
    if budget then host.decide(over) end
    host.judge_end(problem)
  end

  -- Makes all contacts of the model softer by a compliance (m/N), and starts trajectories from its present state.
  local function set_softness(problem, compliance)
    problem.model:rewind()
    problem.rigid = problem.rigid or {}
    for i, body in ipairs(problem.clone.bodies) do
      problem.rigid[i] = problem.rigid[i] or body.contact_compliance
      if body.type == "dynamic" then body.contact_compliance = problem.rigid[i] + compliance end
    end
    problem.model:start()
  end

  -- Searches with soft contacts first, each time from the last result, and then with the contacts of the world. The
  -- searches share the time budget equally.
  local function search_softly(problem, iterations)
    local budget = problem.budget
    problem.budget = budget and budget / (#problem.soften + 1)
    for _, compliance in ipairs(problem.soften) do
      set_softness(problem, compliance)
      search(problem, iterations)
    end
    if #problem.soften > 0 then set_softness(problem, 0) end
    search(problem, iterations)
    problem.budget = budget
  end

  -- Searches from problem.u and from random changes of it, and keeps the best result. Results are compared by the
  -- violation of the goals first. The searches share the time budget equally.
  local function search_from_starts(problem, iterations)
    local first, budget, best = problem.u, problem.budget, nil
    problem.budget = budget and budget / problem.starts
    for start = 1, problem.starts do
      if start > 1 then
        problem.u = first + problem.matrix:mm(perturbed(problem, sim.zeros(problem.knots, problem.m), deviations(problem)))
        problem.x, problem.K = nil, nil
        make_solver(problem)
        problem.model:rewind()
      end
      search_softly(problem, iterations)
      local result = problem.result
      local excess = math.max(0, result.violation - problem.violation)
      if not best or excess < best.excess or excess == best.excess and result.cost < best.result.cost then
        best = { result = result, excess = excess, u = problem.u, x = problem.x, K = problem.K, solver = problem.solver,
          gains_known = problem.gains_known, missed = problem.missed, start = start }
      end
    end
    problem.result, problem.u, problem.x, problem.K, problem.solver = best.result, best.u, best.x, best.K, best.solver
    problem.gains_known, problem.missed, problem.start, problem.budget = best.gains_known, best.missed, best.start, budget
  end

  local function gains_of(problem, gains)
    local list = {}
    for k = 1, problem.periods do list[k] = gains:slice({ (k - 1) * problem.m + 1, k * problem.m }, nil) end
    return list
  end

  local function plan_of(problem)
    local u, _, _, gains = problem.solver:plan()
    local x = problem.model:run(u) -- states in the form of the world's own fields
    local coordinates = {}
    for i, entry in ipairs(problem.model:coordinates()) do
      local object = host.counterpart(problem.world, entry[1])
      local joint = getmetatable(object) == "Joint"
      local field
      if not joint then
        field = ({ [0] = "angle", "x", "y" })[entry[2]]
      elseif object.type == "hinge" or entry[2] == 1 then
        field = "angle"
      else
        field = (object.type == "slider" or object.type == "wheel") and "translation" or "length"
      end
      coordinates[i] = { [joint and "joint" or "body"] = object, field = field }
    end
    local result = problem.result
    local status = result.state == "converged" and "converged" or result.state == "stuck" and "stuck"
      or problem.missed and "out of time" or "out of iterations"
    local with_gains = problem.gains_known
    return setmetatable({ method = problem.method, u = u, x = x, K = with_gains and gains_of(problem, gains) or nil,
      cost = result.cost, violation = result.violation, iterations = result.iterations, status = status,
      flags = result.flags, threads = result.threads, unmet = result.unmet or {}, message = result.message, start = problem.start, period = problem.period, coordinates = coordinates, evaluations = problem.evaluations,
      world = problem.world }, Plan)
  end

  -- sim.control.trajectory(world, { cost =, horizon =, ... })
  function control.trajectory(world, def)
    if type(world) == "table" and def == nil and world.method == "contact" then return host.contact_trajectory(world) end
    if type(def) == "table" and def.method == "contact" then
      host.bad_law_key("trajectory", "method", 'no "contact" for a world (this method needs formulas: ' ..
        'sim.control.trajectory { method = "contact", unknowns =, stages =, stage = })', def.method)
    end
    local problem = open("trajectory", world, def)
    read_method("trajectory", problem, def)
    if def.x0 ~= nil then
      problem.clone:set_state(def.x0)
      problem.model:start()
    elseif problem.own_model then
      follow(problem)
    end
    problem.u = read_start("trajectory", problem, def.u0)
    search_from_starts(problem, problem.iterations)
    return plan_of(problem)
  end

  -- ---- Following a plan -------------------------------------------------------------------------

  local Track = host.law_class({ kind = "plan", memory = { "began", "knot", "held" } }, { "gains" })

  -- The law u = u_k - K_k (x - x_k) around the plan, or u = u_k if there are no gains. It holds the last u after the
  -- end of the plan.
  function Plan:law(options)
    local gains = self.K
    if options and options.gains then gains = options.gains end
    if options and options.open_loop then gains = nil end
    return setmetatable({ plan = self, u = self.u:table(), x = self.x:table(), gains = gains,
      measure = host.coordinate_reader(self.coordinates), period = self.period }, Track)
  end

  function Track:command(world, t)
    self.began = self.began or t
    local k = math.floor((t - self.began) / self.period + EARLY) + 1
    k = math.max(1, math.min(k, #self.u))
    -- as in the plan, a command is computed at the beginning of a period and then held
    if self.knot == k then return self.held end
    local u = {}
    for i, value in ipairs(self.u[k]) do u[i] = value end
    if self.gains then
      local K, x, nominal = self.gains[k], self.measure(world), self.x[k]
      for i = 1, #u do
        local row = K[i]
        for j = 1, #nominal do u[i] = u[i] + row[j] * (x[j] - nominal[j]) end
      end
    end
    self.knot, self.held = k, u
    return u
  end

  -- sim.control.tvlqr(world, plan, { Q =, R =, Qf = }): a law that follows a trajectory with the gains of a
  -- time-varying linear regulator. The world must be in the initial state of the plan.
  function control.tvlqr(world, plan, def)
    host.check_law_keys("tvlqr", def, { Q = true, R = true, Qf = true })
    if getmetatable(plan) ~= Plan then
      fail("bad argument #2 to 'tvlqr' (a result of sim.control.trajectory expected, got %s)", describe(plan))
    end
    local clone, list = world:clone(), {}
    host.lend_laws(clone, world)
    for i, of in ipairs(plan.coordinates) do list[i] = host.counterpart(clone, of.joint or of.body) end
    local periods, steps = plan.u.shape[1], math.floor(plan.period / world.dt + 0.5)
    local model = host.model(clone, { coordinates = list, outputs = {}, knots = periods, steps = steps, extra_count = 0 })
    local _, _, a, b = model:linearize(plan.u)
    local n, m = model:sizes()
    local Q, R, P = host.weight("tvlqr", "Q", def.Q == nil and 1 or def.Q, n, 0),
      host.weight("tvlqr", "R", def.R == nil and 1 or def.R, m, 1), nil
    P = def.Qf ~= nil and host.weight("tvlqr", "Qf", def.Qf, n, 0) or Q
    local gains = {}
    for k = periods, 1, -1 do
      local A, B = a:slice({ (k - 1) * n + 1, k * n }, nil), b:slice({ (k - 1) * n + 1, k * n }, nil)
      local BP = B:t():mm(P)
      local K = sim.linalg.solve(BP:mm(B) + R, BP:mm(A))
      local next = Q + A:t():mm(P:mm(A - B:mm(K)))
      P, gains[k] = (next + next:t()) / 2, -K
    end
    return plan:law { gains = gains }
  end

  -- ---- Receding horizon -------------------------------------------------------------------------

  local Planner = host.law_class({ kind = "planner", memory = { "u", "x", "K", "at" } }, { "cost", "result" })

  -- sim.control.planner(world, { cost =, horizon =, period =, iterations =, ... }): a law that plans again at each
  -- call, starting from the previous plan shifted by the elapsed time.
  function control.planner(world, def)
    local problem = open("planner", world, def)
    local given = def.iterations
    read_method("planner", problem, def)
    problem.iterations = given or (problem.method == "ilqr" and 5 or 1)
    local law = setmetatable({ problem = problem, period = problem.period, misses = 0, decisions = 0 }, Planner)
    law.u = read_start("planner", problem, def.u0)
    problem.show = host.read_show("planner", problem.world, def.show)
    return law
  end

  -- Shifts the rows of a plan by `later` rows; the last `block` rows are repeated.
  local function shifted(array, later, block)
    if not array or later <= 0 then return array end
    local list, moved, count = array:table(), {}, array.shape[1]
    for k = 1, count do
      moved[k] = list[k + later <= count and k + later or count - block + (k - 1) % block + 1]
    end
    return sim.array(moved)
  end

  function Planner:command(world, t)
    local problem = self.problem
    local passed = self.at and math.floor((t - self.at) / problem.period + 0.5) or 0
    problem.world = world
    problem.u, problem.x, problem.K = shifted(self.u, passed, 1), shifted(self.x, passed, 1),
      shifted(self.K, passed * problem.m, problem.m)
    follow(problem)
    if problem.version ~= problem.cost.version then make_solver(problem) end
    problem.solver:forget()
    -- the first plan has no previous plan to start from
    local iterations = self.at and problem.iterations or math.max(problem.iterations, ITERATIONS[problem.method])
    if self.at then search(problem, iterations) else search_from_starts(problem, iterations) end
    self.u, self.x, self.K, self.at = problem.u, problem.x, problem.K, t
    self.cost, self.result = problem.result.cost, problem.result
    self.decisions = self.decisions + 1
    host.warn_if_idle(problem, world)
    if problem.missed then self.misses = self.misses + 1 end
    if problem.show then host.draw_plan(world, problem) end
    local first = {}
    for i = 1, problem.m do first[i] = self.u[1][i] end
    return first
  end

  -- The present plan, in the form of sim.control.trajectory.
  function Planner:plan() return plan_of(self.problem) end

  -- The arrays are never modified, so they can be shared.
  function Planner:state() return { u = self.u, x = self.x, K = self.K, at = self.at } end
  function Planner:set_state(state) self.u, self.x, self.K, self.at = state.u, state.x, state.K, state.at end
  function Planner:copy()
    fail("a planner has one model, so it cannot be copied: make another planner for the clone, sim.control.planner(clone, { ... })")
  end
end
