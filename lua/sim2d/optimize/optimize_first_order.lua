-- sim.optimize.minimize with the methods "sgd" (with momentum), "rmsprop" and "adam". They take steps of a given size
-- along averaged gradients and suit functions that are noisy or not smooth.

local MOST_HALVINGS = 40 -- largest number of halvings of a step that ends where the function is not finite

-- Each rule returns a function with memory that maps a gradient to a step.
local rules = {}

function rules.sgd(n, options)
  local velocity = {}
  for i = 1, n do velocity[i] = 0.0 end
  return function(g, rate)
    local step = {}
    for i = 1, n do
      velocity[i] = options.momentum * velocity[i] + g[i]
      step[i] = -rate * (options.nesterov and g[i] + options.momentum * velocity[i] or velocity[i])
    end
    return step
  end
end

function rules.rmsprop(n, options)
  local square, velocity = {}, {}
  for i = 1, n do square[i], velocity[i] = 0.0, 0.0 end
  return function(g, rate)
    local step = {}
    for i = 1, n do
      square[i] = options.decay * square[i] + (1 - options.decay) * g[i] * g[i]
      velocity[i] = options.momentum * velocity[i] + g[i] / (math.sqrt(square[i]) + options.epsilon)
      step[i] = -rate * velocity[i]
    end
    return step
  end
end

-- Kingma and Ba (2015)
function rules.adam(n, options)
  local mean, square, steps = {}, {}, 0
  for i = 1, n do mean[i], square[i] = 0.0, 0.0 end
  return function(g, rate)
    local step = {}
    steps = steps + 1
    local known1, known2 = 1 - options.beta1 ^ steps, 1 - options.beta2 ^ steps
    for i = 1, n do
      mean[i] = options.beta1 * mean[i] + (1 - options.beta1) * g[i]
      square[i] = options.beta2 * square[i] + (1 - options.beta2) * g[i] * g[i]
      step[i] = -rate * (mean[i] / known1) / (math.sqrt(square[i] / known2) + options.epsilon)
    end
    return step
  end
end

return function(_, host)
  local dot = host.dot

  local function rate_of(run)
    local rate = run.options.learning_rate
    if type(rate) == "function" then
      rate = rate(run.iterations + 1)
      if not host.finite(rate) or rate <= 0 then
        host.fail("minimize: the function learning_rate has to return a positive number; it returned %s",
          host.describe(rate))
      end
    end
    return rate
  end

  local function clipped(g, most)
    local norm = math.sqrt(dot(g, g))
    if not most or norm <= most then return g end
    local short = {}
    for i = 1, #g do short[i] = g[i] * (most / norm) end
    return short
  end

  -- Returns the point after the step. The step is halved as long as the function is not finite there.
  local function take(run, here, step)
    local part = 1
    for _ = 1, MOST_HALVINGS do
      local x = {}
      for i = 1, run.n do x[i] = here.x[i] + part * step[i] end
      run:clip(x)
      local value, g = run:gradient_at(x)
      if value < math.huge then
        return { x = x, value = value, g = g, step = part * math.sqrt(dot(step, step)) }
      end
      part = part / 2
    end
    return nil
  end

  local function minimize(run)
    local options = run.options
    local rule = rules[options.method](run.n, options)
    local here = { x = run.x0 }
    here.value, here.g = run:start()
    local best = here
    while true do
      local norm, relative = run:slope(here.x, here.value, here.g)
      local function finish(status, message)
        local kept = options.keep == "best" and best or here
        return run:finish(status, message, kept.x, kept.value,
          (run:slope(kept.x, kept.value, kept.g)))
      end
      if relative <= options.tolerance then
        return finish("converged", run:flat_message(norm))
      elseif run.stop then
        return finish("stopped", "the callback asked to stop")
      elseif run.iterations == options.max_iterations then
        return finish("max_iterations", "not within tolerance after max_iterations")
      end
      local next = take(run, here, rule(clipped(here.g, options.clip), rate_of(run)))
      if not next then
        return finish("stalled", "the function is not finite near this point")
      end
      here = next
      if here.value < best.value then best = here end
      run.stop = run:iteration(here.x, here.value, (run:slope(here.x, here.value, here.g)), here.step)
    end
  end

  for name in pairs(rules) do host.minimizers[name] = minimize end
end
