-- sim.optimize.minimize{method = "cmaes"}: covariance matrix adaptation with active (negative) weights. It follows
-- Hansen, "The CMA evolution strategy: a tutorial" (2016), figure 6 and table 1. Each restart doubles the population
-- (Auger and Hansen 2005).

local SIGMA = 0.3            -- default initial deviation of a parameter
local MOST_GENERATIONS = 1000 -- largest number of generations, divided by the square root of the number of parameters
local CONDITION = 1e14       -- condition number of the covariance at which a run ends
local FLAT = 10              -- a run ends if this many generations (plus 30 n / lambda) have nearly equal best values

return function(sim, host)
  local function list(n, value)
    local t = {}
    for i = 1, n do t[i] = value end
    return t
  end

  local function matrix(n)
    local C = {}
    for i = 1, n do
      C[i] = list(n, 0.0)
      C[i][i] = 1.0
    end
    return C
  end

  -- Weights and learning rates of a population (table 1).
  local function constants(n, lambda)
    local w, mu, sum, square = {}, lambda // 2, 0.0, 0.0
    for i = 1, lambda do w[i] = math.log((lambda + 1) / 2) - math.log(i) end
    for i = 1, mu do sum, square = sum + w[i], square + w[i] ^ 2 end
    local c = { lambda = lambda, mu = mu, w = w, mu_eff = sum ^ 2 / square }
    local below, below_square = 0.0, 0.0
    for i = mu + 1, lambda do below, below_square = below + w[i], below_square + w[i] ^ 2 end
    local mu_eff = c.mu_eff
    c.cc = (4 + mu_eff / n) / (n + 4 + 2 * mu_eff / n)
    c.cs = (mu_eff + 2) / (n + mu_eff + 5)
    c.c1 = 2 / ((n + 1.3) ^ 2 + mu_eff)
    c.cmu = math.min(1 - c.c1, 2 * (mu_eff - 2 + 1 / mu_eff) / ((n + 2) ^ 2 + mu_eff))
    c.damping = 1 + 2 * math.max(0, math.sqrt((mu_eff - 1) / (n + 1)) - 1) + c.cs
    c.length = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n)) -- expected length of a normal vector
    -- positive weights add up to 1, and negative weights to the largest amount that keeps C positive definite
    local least = math.min(1 + c.c1 / c.cmu, 1 + 2 * (below_square > 0 and below ^ 2 / below_square or 0) / (mu_eff + 2),
      (1 - c.c1 - c.cmu) / (n * c.cmu))
    for i = 1, mu do w[i] = w[i] / sum end
    for i = mu + 1, lambda do w[i] = below < 0 and w[i] * least / -below or 0 end
    return c
  end

  -- Computes C = B D^2 B'. Calls are so rare that they cost no more than the other operations.
  local function decompose(state)
    local n = state.n
    for i = 1, n do
      for j = 1, i - 1 do
        local mean = (state.C[i][j] + state.C[j][i]) / 2
        state.C[i][j], state.C[j][i] = mean, mean
      end
    end
    local values, vectors = sim.linalg.eig(sim.array(state.C))
    state.B, state.D = vectors:table(), {}
    state.condition = values[n] / math.max(values[1], 0)
    for i = 1, n do state.D[i] = math.sqrt(math.max(values[i], 0)) end
    state.decomposed = state.generation
  end

  local function begin(n, x, scales, sigma)
    local state = { n = n, mean = table.move(x, 1, n, 1, {}), sigma = sigma, scales = scales, generation = 0,
      C = matrix(n), ps = list(n, 0.0), pc = list(n, 0.0), best = {} }
    decompose(state)
    return state
  end

  -- Draws one candidate: z, y = B D z and x = mean + sigma scales y.
  local function draw(state, random)
    local n, z, y, x = state.n, {}, {}, {}
    for i = 1, n do z[i] = random:normal() * state.D[i] end
    for i = 1, n do
      local row, sum = state.B[i], 0.0
      for k = 1, n do sum = sum + row[k] * z[k] end
      y[i] = sum
      x[i] = state.mean[i] + state.sigma * state.scales[i] * sum
    end
    return { y = y, x = x }
  end

  -- C^-1/2 y
  local function whiten(state, y)
    local n, t, out = state.n, {}, {}
    for k = 1, n do
      local sum = 0.0
      for i = 1, n do sum = sum + state.B[i][k] * y[i] end
      t[k] = sum / math.max(state.D[k], 1e-300)
    end
    for i = 1, n do
      local sum = 0.0
      for k = 1, n do sum = sum + state.B[i][k] * t[k] end
      out[i] = sum
    end
    return out
  end

  local function square(v)
    local sum = 0.0
    for i = 1, #v do sum = sum + v[i] * v[i] end
    return sum
  end

  -- Updates the mean, the paths, the covariance and the step size after a generation, whose candidates are sorted, best
  -- first.
  local function adapt(state, c, candidates)
    local n, step = state.n, {}
    for i = 1, n do
      step[i] = 0.0
      for k = 1, c.mu do step[i] = step[i] + c.w[k] * candidates[k].y[i] end
      state.mean[i] = state.mean[i] + state.sigma * state.scales[i] * step[i]
    end
    -- the path of the steps is long if they point in the same direction
    local white, keep = whiten(state, step), math.sqrt(c.cs * (2 - c.cs) * c.mu_eff)
    for i = 1, n do state.ps[i] = (1 - c.cs) * state.ps[i] + keep * white[i] end
    local length = math.sqrt(square(state.ps))
    state.generation = state.generation + 1
    local slow = length / math.sqrt(1 - (1 - c.cs) ^ (2 * state.generation)) < (1.4 + 2 / (n + 1)) * c.length
    local part = slow and math.sqrt(c.cc * (2 - c.cc) * c.mu_eff) or 0
    for i = 1, n do state.pc[i] = (1 - c.cc) * state.pc[i] + part * step[i] end
    -- covariance: add the path, and each candidate with its weight
    local weights, total = {}, 0.0
    for k = 1, c.lambda do
      local w = c.w[k]
      if w < 0 then w = w * n / math.max(square(whiten(state, candidates[k].y)), 1e-300) end
      weights[k], total = w, total + c.w[k]
    end
    local left = 1 - c.c1 - c.cmu * total + (slow and 0 or c.c1 * c.cc * (2 - c.cc))
    for i = 1, n do
      local row = state.C[i]
      for j = 1, i do
        local sum = 0.0
        for k = 1, c.lambda do
          local y = candidates[k].y
          sum = sum + weights[k] * y[i] * y[j]
        end
        local value = left * row[j] + c.c1 * state.pc[i] * state.pc[j] + c.cmu * sum
        row[j], state.C[j][i] = value, value
      end
    end
    state.sigma = state.sigma * math.exp(math.min(1, c.cs / c.damping * (length / c.length - 1)))
    if state.generation - state.decomposed > 1 / (10 * n * (c.c1 + c.cmu)) then decompose(state) end
  end

  -- Returns whether the run has ended, and why.
  local function ended(state, c, tolerance, scale)
    local wide = 0.0
    for i = 1, state.n do
      wide = math.max(wide, state.sigma * state.scales[i] * math.sqrt(math.max(state.C[i][i], 0)),
        state.sigma * state.scales[i] * math.abs(state.pc[i]))
    end
    local recent, n = state.best, FLAT + math.ceil(30 * state.n / c.lambda)
    local lo, hi = math.huge, -math.huge
    for i = math.max(1, #recent - n + 1), #recent do lo, hi = math.min(lo, recent[i]), math.max(hi, recent[i]) end
    local flat = #recent >= n and hi - lo <= tolerance * math.max(scale, 1e-300)
    if wide <= tolerance * state.start or flat then return "converged", "deviations or values are within tolerance" end
    if not (state.condition < CONDITION) then
      return "stalled", "the covariance is too badly conditioned"
    end
  end

  -- Runs generations of candidates (f maps a list of x to a list of values) until `going` or a tolerance ends them.
  -- Returns the best candidate, its value, the number of generations, the status and a message. `bound` (or nil)
  -- repairs a candidate and returns how far outside it was.
  local function evolve(f, x0, options)
    local n, random = #x0, options.random
    local best, best_value, generations = x0, math.huge, 0
    local lambda = options.samples or 4 + math.floor(3 * math.log(n))
    local status, message
    for run = 0, options.restarts or 0 do
      local c = constants(n, math.max(4, lambda * 2 ^ run // 1))
      c.lambda = math.tointeger(c.lambda)
      local state = begin(n, run == 0 and x0 or best, options.scales, options.sigma or 1)
      state.start = state.sigma
      repeat
        local candidates, xs, lo, hi = {}, {}, math.huge, -math.huge
        for k = 1, c.lambda do
          candidates[k] = draw(state, random)
          candidates[k].out = options.bound and options.bound(candidates[k].x) or 0.0
          xs[k] = candidates[k].x
        end
        local values = f(xs)
        for k, candidate in ipairs(candidates) do
          candidate.value = values[k]
          if candidate.value < best_value then
            best, best_value = table.move(candidate.x, 1, n, 1, {}), candidate.value
          end
          if candidate.value < math.huge then lo, hi = math.min(lo, candidate.value), math.max(hi, candidate.value) end
        end
        -- candidates outside the bounds get the value of the repaired point plus a penalty
        for _, candidate in ipairs(candidates) do
          candidate.judged = candidate.value + (hi > lo and hi - lo or 0) * candidate.out
        end
        for k, candidate in ipairs(candidates) do candidate.place = k end
        table.sort(candidates, function(a, b)
          if a.judged ~= b.judged then return a.judged < b.judged end
          return a.place < b.place
        end)
        state.best[#state.best + 1] = candidates[1].value
        adapt(state, c, candidates)
        generations = generations + 1
        status, message = ended(state, c, options.tolerance or 0, options.scale and options.scale(best_value) or math.abs(best_value))
        local on = options.going == nil or options.going(best_value, generations, best)
        if not on then return best, best_value, generations end
      until status
    end
    return best, best_value, generations, status, message
  end

  host.cmaes = evolve

  host.minimizers["cmaes"] = function(run)
    local options = run.options
    local n = run.n
    local scales
    if type(options.sigma) == "table" then
      scales = run.layout:read(options.sigma, "minimize: sigma", 0.0)
    else
      scales = list(n, options.sigma or SIGMA)
    end
    for i = 1, n do
      if not host.finite(scales[i]) or scales[i] <= 0 then
        host.fail("minimize: sigma: %s: positive number expected, got %s", run.layout:name(i), host.describe(scales[i]))
      end
    end
    run.first = run:value_at(run.x0)
    if run.first == math.huge then
      host.fail("minimize: the value of the function at the start is not finite; start at another point")
    end
    -- run generations until a limit, the callback or the target ends them
    local random = sim.random.split()
    if options.seed then random:seed(options.seed) end
    local most = options.max_iterations or math.ceil(MOST_GENERATIONS * math.sqrt(n))
    local why
    local x, value, _, status, message = evolve(function(xs)
      local values = {}
      for k, candidate in ipairs(xs) do values[k] = run:value_at(candidate) end
      return values
    end, run.x0, { scales = scales,
      samples = options.population, random = random, restarts = options.restarts, tolerance = options.tolerance,
      scale = function(v) return run:scale(v) end,
      bound = run.lower and function(x)
        local out = 0.0
        local before = table.move(x, 1, n, 1, {})
        run:clip(x)
        for i = 1, n do out = out + ((x[i] - before[i]) / scales[i]) ^ 2 end
        return out
      end,
      going = function(v, generation, best)
        local stop = run:iteration(best, v)
        if stop then why = { "stopped", "the callback asked to stop" }
        elseif options.target and v <= options.target then why = { "converged", "the target is reached" }
        elseif generation >= most then why = { "max_iterations", "not within tolerance after max_iterations" } end
        return not why
      end })
    if why then status, message = why[1], why[2] end
    if value > run.first then x, value = run.x0, run.first end
    return run:finish(status, message, x, value)
  end
end
