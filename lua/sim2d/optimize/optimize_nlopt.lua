-- sim.optimize.minimize{method = "nlopt"}: the methods of the library NLopt (Johnson), if it is installed.

local EVALUATIONS = 1000 -- most per parameter
local STATUS = { -- maps a status of NLopt to a status of sim2d
  SUCCESS = "converged", STOPVAL_REACHED = "converged", FTOL_REACHED = "converged", XTOL_REACHED = "converged",
  MAXEVAL_REACHED = "max_iterations", FORCED_STOP = "stopped", ROUNDOFF_LIMITED = "stalled",
}

return function(_, host)
  local function read_algorithm(name)
    local names = host.nlopt_about()
    if not names then
      host.fail("minimize: method 'nlopt' is not in this build: "
        .. "NLopt was not found when sim2d was built (Debian: libnlopt-dev); "
        .. "use another method, for example 'cmaes' or 'nelder-mead'")
    end
    local about = type(name) == "string" and host.nlopt_about(name)
    if not about then
      local near = type(name) == "string" and host.nearest(name, names)
      host.fail("bad argument #3 to 'minimize' (key 'algorithm': one of '%s' expected, got %s%s)",
        table.concat(names, "', '"), host.describe(name), near and ("; did you mean '%s'?"):format(near) or "")
    end
    return about
  end

  host.minimizers["nlopt"] = function(run)
    local options = run.options
    local about = read_algorithm(options.algorithm)
    -- global methods search the whole range between the bounds
    for i = 1, run.n do
      if about.bounds and not (run.lower and host.finite(run.lower[i]) and host.finite(run.upper[i])) then
        host.fail("minimize: algorithm '%s' searches only between bounds: give 'lower' and 'upper' for %s",
          options.algorithm, run.layout:name(i))
      end
    end
    run.first = run:value_at(run.x0)
    if run.first == math.huge then
      host.fail("minimize: the value of the function at the start is not finite; start at another point")
    end
    local best = { x = run.x0, value = run.first }
    local x, result = host.nlopt(function(list, wants_gradient)
      local value, g
      if wants_gradient then value, g = run:gradient_at(list) else value = run:value_at(list) end
      local stop = false
      if value < best.value then
        best = { x = list, value = value }
        stop = run:iteration(list, value)
      end
      return value, type(g) == "table" and g or nil, stop
    end, { algorithm = options.algorithm, x0 = run.x0, lower = run.lower, upper = run.upper,
      step = options.initial_step and host.first_steps(run) or nil, tolerance = options.tolerance,
      evaluations = options.max_iterations or EVALUATIONS * run.n, seed = options.seed or 1 })
    return run:finish(STATUS[result] or "stalled", "NLopt: " .. result, best.x or x, best.value)
  end
end
