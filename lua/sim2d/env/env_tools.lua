-- sim.env.tolerance and sim.env.check.

local AT_MARGIN = 0.1 -- value at the margin, as in dm_control

return function(sim, host)
  local fail, describe = host.fail, host.describe

  -- Functions of the distance divided by the margin. They are 1 at 0 and `v` at 1 (Tassa and others 2018).
  local SHAPES = {
    gaussian = function(d, v) return sim.exp(v and math.log(v) * d * d or 0) end,
    linear = function(d, v) return sim.max(0, 1 - d * (1 - v)) end,
    quadratic = function(d, v) return sim.max(0, 1 - d * d * (1 - v)) end,
    long_tail = function(d, v) return 1 / (d * d * (1 / v - 1) + 1) end,
    reciprocal = function(d, v) return 1 / (d * (1 / v - 1) + 1) end,
    hyperbolic = function(d, v)
      local e = sim.exp(d * math.log(1 / v + math.sqrt(1 / v ^ 2 - 1)))
      return 2 / (e + 1 / e)
    end,
    cosine = function(d, v)
      local s = d * math.acos(2 * v - 1)
      return sim.stop_gradient(s) < math.pi and (1 + sim.cos(s)) / 2 or 0
    end,
  }

  -- Returns 1 if x is within the bounds. Outside, the result decreases with the distance from the bounds and is `v` at
  -- the margin.
  function sim.env.tolerance(x, bounds, margin, shape, v)
    if type(bounds) == "number" then bounds = { bounds, bounds } end
    bounds, margin, shape, v = bounds or { 0, 0 }, margin or 0, shape or "gaussian", v or AT_MARGIN
    if type(bounds) ~= "table" or type(bounds[1]) ~= "number" or type(bounds[2]) ~= "number" or not (bounds[1] <= bounds[2]) then
      fail("bad argument #2 to 'tolerance' ({ lo, hi } with lo <= hi expected, got %s)", describe(bounds))
    end
    if not host.finite(margin) or margin < 0 then fail("bad argument #3 to 'tolerance' (a margin of at least 0 expected, got %s)", describe(margin)) end
    if not SHAPES[shape] then
      fail("bad argument #4 to 'tolerance' (one of %s expected, got %s)", table.concat(host.sorted_keys(SHAPES), ", "), describe(shape))
    end
    if not host.finite(v) or v <= 0 or v >= 1 then fail("bad argument #5 to 'tolerance' (a value between 0 and 1 expected, got %s)", describe(v)) end
    local plain = sim.stop_gradient(x)
    if plain >= bounds[1] and plain <= bounds[2] then return 1.0 end
    if margin == 0 then return 0.0 end
    return SHAPES[shape]((plain < bounds[1] and bounds[1] - x or x - bounds[2]) / margin, v)
  end

  local function same(a, b)
    if #a ~= #b then return false end
    for i = 1, #a do
      if a[i] ~= b[i] then return false end
    end
    return true
  end

  -- A random action of the space. Infinite ranges are replaced by -1 to 1.
  local function any_action(env, random)
    local space = env.action_space
    if space.n then return random:integer(1, space.n) end
    local u = {}
    for i = 1, #space.low do u[i] = random:uniform(math.max(space.low[i], -1e3), math.min(space.high[i], 1e3)) end
    return u
  end

  local function check_observation(env, list, where)
    local low, high = env.observation_space.low, env.observation_space.high
    if #list ~= #low then fail("%s: %s observes %d numbers, but its space has %d", env.name, where, #list, #low) end
    for i = 1, #list do
      if not host.finite(list[i]) then fail("%s: %s: number %d of the observation is %s", env.name, where, i, describe(list[i])) end
      if list[i] < low[i] or list[i] > high[i] then
        fail("%s: %s: number %d of the observation is %g, outside %g to %g", env.name, where, i, list[i], low[i], high[i])
      end
    end
  end

  -- Runs an episode with random actions; returns a list of observations and results.
  local function episode(env, seed)
    local random, told = sim.random.split(), {}
    random:seed(seed)
    local seen = env:reset { seed = seed }
    check_observation(env, seen, "reset")
    for _, value in ipairs(seen) do told[#told + 1] = value end
    local terminated, truncated, steps = false, false, 0
    repeat
      local reward, info
      seen, reward, terminated, truncated, info = env:step(any_action(env, random))
      steps = steps + 1
      check_observation(env, seen, ("step %d"):format(steps))
      if not host.finite(reward) then fail("%s: step %d: the reward is %s", env.name, steps, describe(reward)) end
      if type(info.residual) ~= "number" then fail("%s: step %d: info has no residual", env.name, steps) end
      for _, value in ipairs(seen) do told[#told + 1] = value end
      told[#told + 1] = reward
    until terminated or truncated
    if truncated and steps ~= env.max_steps then fail("%s: truncated after %d steps, but max_steps is %d",
      env.name, steps, env.max_steps) end
    return told, steps
  end

  -- Checks that the task follows the interface. Raises an error if it does not. Returns the number of steps taken.
  function sim.env.check(env)
    if type(env) ~= "table" or env.action_space == nil then fail("bad argument #1 to 'check' (a result of sim.env expected, got %s)", describe(env)) end
    local steps = 0
    for seed = 1, 3 do
      local first, count = episode(env, seed)
      local again = episode(env, seed)
      if not same(first, again) then
        fail("%s: two runs with equal seeds and actions differ: draw random numbers from the generator that is passed to 'world' and 'reset'", env.name)
      end
      if pcall(env.step, env, any_action(env, sim.random.split())) then fail("%s: step does not raise an error after the end of an episode", env.name) end
      steps = steps + 2 * count
    end
    return steps
  end
end
