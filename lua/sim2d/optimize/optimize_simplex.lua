-- sim.optimize.minimize{method = "nelder-mead"}. The simplex method needs no gradient. Its coefficients depend on the
-- number of parameters (Gao and Han 2012). When it ends, it restarts with a new simplex, because it may have stopped at
-- a point that is not a minimum.

local RELATIVE_STEP = 0.05 -- edge of the first simplex, relative to the parameter
local ZERO_STEP = 0.05     -- edge for a parameter that is 0
local MOST_ITERATIONS = 400 -- per parameter
local BETTER = 1e-3        -- multiple of the tolerance: the search ends if a new simplex improves the value by less

return function(_, host)
  local function point(run, x)
    run:clip(x)
    return { x = x, value = run:value_at(x) }
  end

  local function mix(run, centre, worst, part)
    local x = {}
    for i = 1, run.n do x[i] = centre[i] + part * (centre[i] - worst[i]) end
    return point(run, x)
  end

  -- Inserts a point, sorted by value. Points with equal values are sorted by age.
  local function insert(simplex, new)
    local at = #simplex + 1
    while at > 1 and simplex[at - 1].value > new.value do at = at - 1 end
    table.insert(simplex, at, new)
  end

  local function edges(run)
    local steps = run.options.initial_step
    if steps == nil then return nil end
    steps = run.layout:read(steps, "minimize: initial_step", 0.0)
    for i = 1, run.n do
      if not host.finite(steps[i]) or steps[i] < 0 then
        host.fail("minimize: initial_step: %s: positive number expected, got %s", run.layout:name(i),
          host.describe(steps[i]))
      end
    end
    return steps
  end

  local function edge(steps, x, i)
    return steps and steps[i] > 0 and steps[i]
      or (x[i] ~= 0 and RELATIVE_STEP * math.abs(x[i]) or ZERO_STEP)
  end

  -- Returns the initial steps. The method "nlopt" also uses them.
  function host.first_steps(run)
    local given, steps = edges(run), {}
    for i = 1, run.n do steps[i] = edge(given, run.x0, i) end
    return steps
  end

  local function new_simplex(run, origin, steps)
    local simplex = { origin }
    for i = 1, run.n do
      local x = table.move(origin.x, 1, run.n, 1, {})
      local step = edge(steps, x, i)
      x[i] = x[i] + step
      if run.upper and x[i] > run.upper[i] then x[i] = x[i] - 2 * step end
      insert(simplex, point(run, x))
    end
    return simplex
  end

  -- Returns the largest distance from the best vertex along a parameter, relative to the parameter (at least `least`),
  -- and the largest difference of values.
  local function size(run, simplex, least)
    local best, extent = simplex[1], 0.0
    for k = 2, #simplex do
      for i = 1, run.n do
        extent = math.max(extent,
          math.abs(simplex[k].x[i] - best.x[i]) / math.max(least[i], math.abs(best.x[i])))
      end
    end
    return extent, (simplex[#simplex].value - best.value) / run:scale(best.value)
  end

  local function shrink(run, simplex, part)
    local best, old = simplex[1], table.move(simplex, 2, #simplex, 1, {})
    for k = #simplex, 2, -1 do simplex[k] = nil end
    for _, vertex in ipairs(old) do
      local x = {}
      for i = 1, run.n do x[i] = best.x[i] + part * (vertex.x[i] - best.x[i]) end
      insert(simplex, point(run, x))
    end
  end

  local function iterate(run, simplex)
    local n = math.max(2, run.n) -- the coefficients for one parameter would make the simplex collapse
    local worst, centre = table.remove(simplex), {}
    for i = 1, run.n do
      centre[i] = 0.0
      for _, vertex in ipairs(simplex) do centre[i] = centre[i] + vertex.x[i] / run.n end
    end
    local reflected = mix(run, centre, worst.x, 1)
    if reflected.value < simplex[1].value then
      local expanded = mix(run, centre, worst.x, 1 + 2 / n)
      return insert(simplex, expanded.value < reflected.value and expanded or reflected)
    elseif reflected.value < simplex[#simplex].value then
      return insert(simplex, reflected)
    end
    local outside, part = reflected.value < worst.value, 0.75 - 0.5 / n
    local contracted = mix(run, centre, worst.x, outside and part or -part)
    if contracted.value < math.min(reflected.value, worst.value) then
      return insert(simplex, contracted)
    end
    insert(simplex, outside and reflected or worst)
    return shrink(run, simplex, 1 - 1 / n)
  end

  host.minimizers["nelder-mead"] = function(run)
    local options, steps = run.options, edges(run)
    local most = options.max_iterations or MOST_ITERATIONS * run.n
    local origin = { x = run.x0, value = run:value_at(run.x0) }
    if origin.value == math.huge then
      host.fail("minimize: the value of the function at the start is not finite; start at another point")
    end
    run.first = origin.value
    local least = {}
    for i = 1, run.n do least[i] = edge(steps, run.x0, i) end
    local simplex, restarts, before = new_simplex(run, origin, steps), 0, math.huge
    while true do
      local best = simplex[1]
      local extent, spread = size(run, simplex, least)
      local function finish(status, message)
        return run:finish(status, message, best.x, best.value)
      end
      if extent <= options.tolerance and spread <= options.tolerance then
        -- a small simplex may have collapsed: restart around the best point as long as that improves it
        local gain = (before - best.value) / run:scale(best.value)
        if restarts == options.restarts or gain <= BETTER * options.tolerance then
          return finish("converged", "the simplex is within tolerance")
        end
        restarts, before = restarts + 1, best.value
        simplex = new_simplex(run, best, steps)
      elseif run.stop then
        return finish("stopped", "the callback asked to stop")
      elseif run.iterations == most then
        return finish("max_iterations", "not within tolerance after max_iterations")
      else
        iterate(run, simplex)
        run.stop = run:iteration(simplex[1].x, simplex[1].value, nil, extent)
      end
    end
  end
end
