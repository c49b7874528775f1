-- sim.optimize.least_squares: the Levenberg-Marquardt method. Each parameter is scaled by the largest norm so far of
-- its column of the Jacobian (More 1978). The damping depends on the ratio of actual and predicted decrease (Nielsen
-- 1999).

local MOST_ITERATIONS = 200
local FIRST_DAMPING = 1e-3 -- relative to the squared norms of the scaled columns of the Jacobian, which are 1
local MOST_DAMPING = 1e32  -- at this damping, a step is 1e-16 of a Gauss-Newton step
local GAIN = 1e-4          -- least accepted decrease, relative to the predicted decrease
local RANK = 1e-12         -- singular values below this fraction of the largest one count as 0
local NOTHING = 1e-14      -- relative change of the residuals that is only rounding
local ROUNDING = 1e-15     -- smallest relative change of a sum of squares that counts

-- Losses of a residual r with scale c, divided by c^2, and their slopes. They are functions of z = (r/c)^2, as in
-- SciPy.
local LOSSES = {
  huber = function(z)
    if z <= 1 then return z, 1 end
    local root = math.sqrt(z)
    return 2 * root - 1, 1 / root
  end,
  cauchy = function(z)
    -- log(1 + z), accurate for small z
    local one = 1 + z
    return one == 1 and z or math.log(one) * z / (one - 1), 1 / one
  end,
}

return function(sim, host)
  -- Returns the sum of the losses of residuals, and a list of the square roots of their slopes.
  local function sum_of_losses(r, loss, scale)
    local sum, roots = 0.0, {}
    for i = 1, #r do
      local value, slope = LOSSES[loss]((r[i] / scale) ^ 2)
      sum, roots[i] = sum + scale * scale * value, math.sqrt(slope)
    end
    return sum, roots
  end
  host.sum_of_losses = sum_of_losses

  local function sum_of_squares(r)
    local sum = 0.0
    for i = 1, #r do sum = sum + r[i] * r[i] end
    return sum
  end

  -- Returns the residuals at x as a list and the sum of their squares, or nil and the reason if the sum is not finite.
  local function residuals_at(run, x)
    for i = 1, run.n do
      if not host.finite(x[i]) then return nil, "a parameter overflowed" end
    end
    local r = run:remember(x, function()
      local r = run.f(run.layout:build(x))
      if type(r) == "number" then r = { r } end
      return getmetatable(r) == "Array" and r:reshape(r.size):table() or r
    end)
    if type(r) ~= "table" or #r == 0 then
      host.fail("least_squares: the function has to return residuals, a list of numbers or an array; it returned %s",
        type(r) == "table" and "an empty table" or host.describe(r))
    end
    -- the number of residuals must be constant, because the Jacobian has a row for each
    if run.count and #r ~= run.count then
      host.fail("least_squares: the function returned %d residuals, but %d before", #r, run.count)
    end
    run.count = #r
    -- a residual that is not finite is not an error: the search avoids this point
    for i = 1, #r do
      if type(r[i]) ~= "number" then
        host.fail("least_squares: residual %d has to be a number, got %s", i, host.describe(r[i]))
      elseif not host.finite(r[i]) then
        return nil, ("residual %d is %s"):format(i, host.describe(r[i]))
      end
    end
    local sum = run.options.loss == "l2" and sum_of_squares(r) or sum_of_losses(r, run.options.loss, run.options.scale)
    if sum == math.huge then return nil, "the sum of squares is inf" end
    return r, sum
  end

  local function jacobian_at(run, x)
    local J = run:remember(x, function()
      local rows = sim.jacobian(function(list) return run.f(run.layout:build(list)) end, x)
      return getmetatable(rows) == "Array" and rows:table() or rows
    end)
    return sim.array(J)
  end

  -- Linearises at a point. Computes the gradient of half the sum of squares, the scale of each parameter (0 if a bound
  -- holds it), the scaled Jacobian, and the largest cosine between the residuals and a column.
  local function linearise(run, here)
    local J = jacobian_at(run, here.x)
    here.weighted, here.base = here.r, here.value
    -- Near a point, a loss acts like a square whose weight is the slope of the loss (Holland and Welsch 1977).
    if run.options.loss ~= "l2" then
      local _, roots = sum_of_losses(here.r, run.options.loss, run.options.scale)
      local weights = sim.array(roots)
      J = J * weights:reshape(#roots, 1)
      here.weighted = (weights * sim.array(here.r)):table()
      here.base = sum_of_squares(here.weighted)
    end
    local lengths = (J * J):sum(1)
    here.g = J:t():mm(here.weighted):table()
    here.cosine, here.norm = 0.0, 0.0
    here.idle = {} -- names of parameters without effect on the residuals
    local weight, length = {}, math.sqrt(here.base)
    run.largest = math.max(run.largest, length)
    for i = 1, run.n do run.largest = math.max(run.largest, math.sqrt(lengths[i]) * math.abs(here.x[i])) end
    for i = 1, run.n do
      local column = math.sqrt(lengths[i])
      -- The derivative of a parameter without effect is only a rounding error, and must not move the parameter.
      if column * math.max(1, math.abs(here.x[i])) <= NOTHING * run.largest then column = 0.0 end
      run.scale[i] = math.max(run.scale[i] or 0, column)
      local held = run:held(here.x, here.g, i)
      if column == 0 and not held then here.idle[#here.idle + 1] = run.layout:name(i) end
      weight[i] = (held or run.scale[i] == 0) and 0.0 or 1 / run.scale[i]
      if not held and column > 0 and length > 0 then
        here.cosine = math.max(here.cosine, math.abs(here.g[i]) / (column * length))
        here.norm = math.max(here.norm, math.abs(here.g[i]))
      end
    end
    here.J, here.weight, here.A = J, weight, J * weight
  end

  -- The damped step from a point, and the sum of squares that the linear model predicts.
  local function damped_step(run, here, damping)
    local n = run.n
    local matrix = sim.concat({ here.A, sim.eye(n) * math.sqrt(damping) }, 1)
    local right = sim.concat { -sim.array(here.weighted), sim.zeros(n) }
    local solution = assert(sim.linalg.lstsq(matrix, right))
    local x = {}
    for i = 1, n do x[i] = here.x[i] + here.weight[i] * solution[i] end
    run:clip(x)
    local step, length, size = {}, 0.0, 0.0
    for i = 1, n do
      step[i] = x[i] - here.x[i]
      length = length + (run.scale[i] * step[i]) ^ 2
      size = size + (run.scale[i] * here.x[i]) ^ 2
    end
    local promised = (here.J:mm(step) + here.weighted):table()
    return x, sum_of_squares(promised), math.sqrt(length), math.sqrt(size)
  end

  -- Covariance of the estimate for independent errors of equal size: variance (J'J)^-1 for the free parameters, or nil
  -- if the inverse does not exist.
  local function covariance(run, here)
    local free, m = 0, run.count
    for i = 1, run.n do free = free + (run:held(here.x, here.g, i) and 0 or 1) end
    if m <= free or free == 0 then return nil end
    local _, s, V = sim.linalg.svd(here.A)
    if not s or #s < free or s[free] <= RANK * s[1] then return nil end
    local inverse = {}
    for i = 1, #s do inverse[i] = i <= free and 1 / s[i] or 0.0 end
    local W = V * inverse
    local weight = sim.array(here.weight)
    local C = W:mm(W:t()) * (here.value / (m - free))
    return C * weight:reshape(run.n, 1) * weight
  end

  -- If some parameters have no effect, they keep their initial values, and the message says so.
  local function idle_message(run, here)
    if #here.idle == 0 or #here.idle == run.n then return "" end
    return ("; at the end of the search the residuals do not depend on %s: try other starts"):format(
      table.concat(here.idle, ", "))
  end

  local function finish(run, here, status, message)
    message = message .. idle_message(run, here)
    local p, value, info = run:finish(status, message, here.x, here.value, here.norm)
    info.residual_norm = math.sqrt(here.value)
    info.residuals = sim.array(here.r)
    info.covariance = covariance(run, here)
    if info.covariance then
      local deviation = {}
      for i = 1, run.n do deviation[i] = math.sqrt(info.covariance[{ i, i }]) end
      info.deviation = run.layout:build(deviation)
    end
    return p, value, info
  end

  -- Returns the reason why the run ends after a step, or nil.
  local function converged(tolerance, here, value, promised, length, size)
    local least = math.max(ROUNDING, tolerance * tolerance) * here.value
    if math.abs(here.value - value) <= least and here.base - promised <= least then
      return "the sum of squares no longer decreases"
    elseif length <= tolerance * size then
      return "steps are within tolerance"
    end
  end

  -- Tries steps until one is accepted. Returns the step, or nil if there is none. If the tolerance ends the run, also
  -- returns the reason.
  local function advance(run, here)
    local tolerance, first = run.options.tolerance, true
    while run.damping < MOST_DAMPING do
      local x, promised, length, size = damped_step(run, here, run.damping)
      local r, value = residuals_at(run, x)
      value = r and value or math.huge
      local gain = (here.value - value) / (here.base - promised)
      local last = converged(tolerance, here, value, promised, length, size)
      if gain > GAIN and value < here.value then
        run.damping = run.damping * math.max(1 / 3, 1 - (2 * gain - 1) ^ 3)
        run.growth = 2
        return { x = x, r = r, value = value, step = length }, last
      elseif last then
        -- steps that were shortened to almost 0 do not indicate a minimum
        return nil, first and last or nil
      end
      first = false
      run.damping, run.growth = run.damping * run.growth, 2 * run.growth
    end
    return nil, nil
  end

  function host.optimize.least_squares(f, p0, options)
    local run <close> = host.optimization("least_squares", f, p0, options, "least_squares")
    if options and options.scale ~= nil and run.options.loss == "l2" then
      host.fail("bad argument #3 to 'least_squares' (key 'scale': the default loss has no scale: "
        .. "set loss = 'huber' or 'cauchy', or leave out 'scale')")
    end
    local most = run.options.max_iterations or MOST_ITERATIONS
    local here, why = { x = run.x0 }, nil
    here.r, here.value = residuals_at(run, run.x0)
    if not here.r then
      host.fail("least_squares: %s at the start; it has to be finite there", here.value)
    end
    run.scale, run.largest, run.damping, run.growth = {}, 0.0, FIRST_DAMPING, 2
    while true do
      -- done if the residuals are orthogonal to all columns of the Jacobian (J^T r = 0), measured by angles
      linearise(run, here)
      if here.value == 0 or here.cosine <= run.options.tolerance then
        return finish(run, here, "converged", run:flat_message(here.value > 0 and here.norm or 1))
      elseif why then
        return finish(run, here, "converged", why)
      elseif run.stop then
        return finish(run, here, "stopped", "the callback asked to stop")
      elseif run.iterations == most then
        return finish(run, here, "max_iterations", "not within tolerance after max_iterations")
      end
      -- a damped Gauss-Newton step, with more damping until the sum decreases
      local next
      next, why = advance(run, here)
      if not next then
        return finish(run, here, why and "converged" or "stalled",
          why or "no smaller sum of squares was found, because of a kink, noise or a wrong derivative")
      end
      here = next
      run.stop = run:iteration(here.x, here.value, nil, here.step)
    end
  end
end
