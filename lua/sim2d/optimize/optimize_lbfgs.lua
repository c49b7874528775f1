-- sim.optimize.minimize{method = "lbfgs"}: limited-memory BFGS (Nocedal and Wright, Numerical Optimization, 2006,
-- algorithms 7.4, 3.5 and 3.6). Steps satisfy the strong Wolfe conditions or, if values differ only by rounding, the
-- approximate conditions of Hager and Zhang (2005). With bounds, the same matrix is used for the free parameters, and
-- steps are shortened along their projection.

local DECREASE = 1e-4  -- least decrease of a step, relative to the decrease predicted by the slope
local CURVATURE = 0.9  -- largest slope after a step, relative to the slope before it
local ROUNDING = 1e-13 -- relative rounding error of values that take some thousands of operations
local MOST_TRIALS = 40 -- largest number of trials of a line search
local LONGER = 4       -- factor between trials while the function decreases
local FLAT = 1e-15     -- a smaller relative decrease counts as flat
local MOST_FLAT = 10   -- this many flat steps in a row end the search

-- Returns the minimum of the cubic through values and slopes at a and b, kept away from both ends. If there is none,
-- returns the middle; if the value at b is not finite, returns a point near a.
local function between(a, b)
  local width = b.at - a.at
  if b.value == math.huge then return a.at + 0.1 * width end
  local d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.at - b.at)
  local square = d1 * d1 - a.slope * b.slope
  local part = 0.5
  if square >= 0 then
    local d2 = math.sqrt(square) * (width > 0 and 1 or -1)
    local at = b.at - width * (b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2)
    part = (at - a.at) / width
  end
  if part ~= part then part = 0.5 end
  return a.at + math.max(0.1, math.min(0.9, part)) * width
end

local function sufficient(point, origin)
  return point.value <= origin.value + DECREASE * point.at * origin.slope
    or point.value <= origin.value + ROUNDING * math.abs(origin.value)
      and point.slope <= (2 * DECREASE - 1) * origin.slope
end

-- `lo` satisfies `sufficient` (or is the origin). A better point is between `lo` and `hi`.
local function zoom(try, origin, lo, hi)
  for _ = 1, MOST_TRIALS do
    local at = between(lo, hi)
    if at == lo.at or at == hi.at then break end
    local point = try(at)
    local rounding = ROUNDING * math.abs(origin.value)
    if point.value == math.huge or not sufficient(point, origin)
      or point.value > lo.value + rounding then
      hi = point
    else
      if math.abs(point.slope) <= -CURVATURE * origin.slope then return point end
      if point.slope * (hi.at - lo.at) >= 0 then hi = lo end
      lo = point
    end
  end
  return lo.value < origin.value and lo or nil -- at a kink there may be no point with a small slope
end

-- Returns a point on the line that satisfies the conditions, or nil. try(at) returns {at, value, slope}.
local function line_search(try, origin, first)
  local last, at = origin, first
  for trial = 1, MOST_TRIALS do
    local point = try(at)
    if point.value == math.huge or not sufficient(point, origin)
      or trial > 1 and point.value > last.value then
      return zoom(try, origin, last, point)
    end
    if math.abs(point.slope) <= -CURVATURE * origin.slope then return point end
    if point.slope >= 0 then return zoom(try, origin, point, last) end
    last, at = point, LONGER * at
  end
  return last
end

return function(_, host)
  local dot = host.dot

  local function along(x, at, d)
    local y = {}
    for i = 1, #x do y[i] = x[i] + at * d[i] end
    return y
  end

  -- Returns the negative inverse Hessian times the gradient, restricted to the free parameters.
  local function direction(memory, g, free)
    local d, shares = {}, {}
    for i = 1, #g do d[i] = free[i] and -g[i] or 0.0 end
    local function product(a, b)
      local sum = 0.0
      for i = 1, #a do
        if free[i] then sum = sum + a[i] * b[i] end
      end
      return sum
    end
    -- from new to old, subtract the share of each past gradient change (first loop of Nocedal 1980)
    local scale
    for k = #memory, 1, -1 do
      local s, y = memory[k].s, memory[k].y
      local sy = product(s, y)
      if sy > 1e-10 * math.sqrt(product(s, s) * product(y, y)) then
        local share = product(s, d) / sy
        shares[k] = { share = share, sy = sy }
        for i = 1, #g do
          if free[i] then d[i] = d[i] - share * y[i] end
        end
        scale = scale or sy / product(y, y)
      end
    end
    -- the initial inverse Hessian is s y / y y of the newest pair
    for i = 1, #g do d[i] = d[i] * (scale or 1) end
    -- from old to new, add the past steps back (second loop)
    for k = 1, #memory do
      local kept = shares[k]
      if kept then
        local s = memory[k].s
        local change = kept.share - product(memory[k].y, d) / kept.sy
        for i = 1, #g do
          if free[i] then d[i] = d[i] + change * s[i] end
        end
      end
    end
    return d
  end

  local function search_wolfe(run, here, d, first)
    return line_search(function(at)
      local x = along(here.x, at, d)
      local value, g = run:gradient_at(x)
      return { at = at, x = x, value = value, g = g, slope = value < math.huge and dot(g, d) or nil }
    end, { at = 0, value = here.value, slope = dot(here.g, d) }, first)
  end

  -- Returns the end of a step within the bounds, and the decrease predicted by the slope.
  local function projected(run, here, d, at)
    local x, promise = run:clip(along(here.x, at, d)), 0.0
    for i = 1, run.n do promise = promise + here.g[i] * (x[i] - here.x[i]) end
    return x, promise
  end

  -- `blind`: the length of the direction is unknown, so longer steps are also tried.
  local function search_projected(run, here, d, first, blind)
    local at, best = first, nil
    for _ = 1, MOST_TRIALS do
      local x, promise = projected(run, here, d, at)
      if promise >= 0 or best and promise == best.promise then return best end
      local value, g = run:gradient_at(x)
      if value <= here.value + DECREASE * promise and not (best and value >= best.value) then
        best = { x = x, value = value, g = g, promise = promise }
        if not blind then return best end
        at = LONGER * at
      elseif best then
        return best
      else
        blind = false
        at = at * (value == math.huge and 0.1 or 0.4)
      end
    end
    return best
  end

  -- Returns the next point. The step goes along the quasi-Newton direction or, if that fails, along the negative
  -- gradient.
  local function advance(run, memory, here)
    local search = run.lower and search_projected or search_wolfe
    local free = {}
    for i = 1, run.n do free[i] = not run:held(here.x, here.g, i) end
    while true do
      local d = direction(memory, here.g, free)
      local slope, length = dot(here.g, d), math.sqrt(dot(d, d))
      if slope < 0 and length < math.huge then
        local blind = #memory == 0
        local next = search(run, here, d, blind and math.min(1, 1 / length) or 1, blind)
        if next then return next end
      end
      if #memory == 0 then return nil end
      for k = #memory, 1, -1 do memory[k] = nil end
    end
  end

  local function remember(memory, size, here, next)
    local s, y = {}, {}
    for i = 1, #here.x do s[i], y[i] = next.x[i] - here.x[i], next.g[i] - here.g[i] end
    if dot(s, y) > 0 then
      if #memory == size then table.remove(memory, 1) end
      memory[#memory + 1] = { s = s, y = y }
    end
  end

  local function distance(a, b)
    local sum = 0.0
    for i = 1, #a do sum = sum + (a[i] - b[i]) ^ 2 end
    return math.sqrt(sum)
  end

  host.minimizers["lbfgs"] = function(run)
    local options, memory, flat = run.options, {}, 0
    local here = { x = run.x0 }
    here.value, here.g = run:start()
    while true do
      local norm, relative = run:slope(here.x, here.value, here.g)
      local function finish(status, message)
        return run:finish(status, message, here.x, here.value, norm)
      end
      if relative <= options.tolerance then
        return finish("converged", run:flat_message(norm))
      elseif run.stop then
        return finish("stopped", "the callback asked to stop")
      elseif run.iterations == options.max_iterations then
        return finish("max_iterations", "not within tolerance after max_iterations")
      elseif flat == MOST_FLAT then
        return finish("stalled", "the value no longer decreases")
      end
      -- a line search along the quasi-Newton direction or the negative gradient
      local next = advance(run, memory, here)
      if not next then
        return finish("stalled", "no smaller value was found along the negative gradient, "
          .. "because of rounding, noise, a kink or a wrong gradient")
      end
      -- many tiny decreases in a row also end the search
      flat = here.value - next.value <= FLAT * math.abs(here.value) and flat + 1 or 0
      remember(memory, options.memory, here, next)
      local step = distance(here.x, next.x)
      here = next
      run.stop = run:iteration(here.x, here.value, (run:slope(here.x, here.value, here.g)), step)
    end
  end
end
