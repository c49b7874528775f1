-- sim.env.vector: many environments of one task. Threads step, judge and reset their worlds
-- (lua/batch/batch_episodes.c); functions of the task are called in between.

local MOST = 100000 -- environments
local AUTORESET = { next_step = 0, same_step = 1, disabled = 2 }
local OPTIONS = { count = true, threads = true, autoreset = true, randomise = true }

return function(sim, host)
  local fail, describe, E = host.fail, host.describe, host.env

  local Vector = { __name = "EnvVector" }
  local methods = {}
  local insides = setmetatable({}, { __mode = "k" }) -- maps an EnvVector to its environments and its stepping object
  Vector.__index = function(vector, key)
    if key ~= "envs" then
      if methods[key] == nil then
        local names = { "envs" }
        for _, list in ipairs { methods, vector } do
          for name in next, list do names[#names + 1] = name end
        end
        table.sort(names)
        local near = type(key) == "string" and host.nearest(key, names)
        fail("EnvVector has no field '%s'%s", tostring(key), near and ("; did you mean '%s'?"):format(near) or "")
      end
      return methods[key]
    end
    -- Copies results of the vector's steps to the environments.
    local inside = insides[vector]
    for i, env in ipairs(inside.envs) do
      if inside.begun then env.steps, env.over = inside.core:place(i) end
    end
    return inside.envs
  end
  Vector.__newindex = function(_, key) fail("EnvVector has no field '%s' that can be assigned", tostring(key)) end
  Vector.__tostring = function(vector) return ("EnvVector (%d of %s)"):format(vector.count, vector.name) end
  Vector.__len = function(vector) return vector.count end

  local function raise(vector, k, message)
    if k then fail("%s: environment %d: %s", vector.name, k, message) end
  end

  local function check_seeds(vector, seeds)
    if seeds == nil or (getmetatable(seeds) == "Array" and #seeds <= vector.count) then return end
    local good = type(seeds) == "table"
    for i in pairs(good and seeds or {}) do good = good and host.whole(i) and i >= 1 and i <= vector.count end
    if not good then
      fail("%s:reset: seeds: a list of up to %d seeds expected, one per environment, got %s", vector.name, vector.count,
        (type(seeds) == "table" or getmetatable(seeds) == "Array") and ("%d"):format(#seeds) or describe(seeds))
    end
  end

  -- Starts an episode in the environments of `mask` (nil: all). Environment i uses the seed `seed` + i - 1, or
  -- seeds[i].
  function methods.reset(vector, options)
    local inside = insides[vector]
    options = options or {}
    E.check_keys("vector:reset", options, { seed = true, seeds = true, mask = true })
    check_seeds(vector, options.seeds)
    local mask
    if options.mask then
      local list = {}
      for i = 1, vector.count do list[i] = options.mask[i] and 1 or 0 end
      mask = sim.array(list)
    end
    inside.options = options
    inside.begun = true
    local good, k, message = pcall(inside.core.reset, inside.core, mask)
    inside.options = nil
    if not good then error(k, 0) end
    raise(vector, k, message)
    return vector.observations
  end

  -- Raises the error for a wrong action, or for a vector that cannot step now.
  local function refuse(vector, why, k, actions)
    if why == "action" then
      local action = actions[k]
      if vector.action_space.n and getmetatable(action) == "Array" then action = math.tointeger(action[1]) or action[1] end
      E.command_of(insides[vector].envs[k], action)
      fail("%s: environment %d: plain numbers expected as commands: a vector's step has no derivative", vector.name, k)
    end
    local _, over = insides[vector].core:place(k)
    fail("%s:step: %s", vector.name, over and "the episode is over: reset first" or "call reset before the first step")
  end

  -- vector:step(actions) -> observations, rewards, terminated, truncated. actions[i] is the action of environment i; an
  -- array of all numbers is also accepted. The next call overwrites the returned arrays.
  function methods.step(vector, actions)
    local inside = insides[vector]
    local array = getmetatable(actions) == "Array"
    local count = array and vector.count * inside.width or vector.count
    local size = array and #actions * (actions.shape[2] or 1) or type(actions) == "table" and #actions
    if size ~= count then
      fail("%s: vector:step: %d actions expected, got %s", vector.name, vector.count, describe(actions))
    end
    local k, message = inside.core:step(actions, inside.autoreset)
    if type(k) == "string" then refuse(vector, k, message, array and actions:reshape(vector.count, inside.width) or actions) end
    vector.final = inside.autoreset == AUTORESET.same_step and inside.core:final() or {}
    raise(vector, k, message)
    return vector.observations, vector.rewards, vector.terminated, vector.truncated
  end

  -- sim.env.vector(task, { count =, threads =, autoreset =, randomise = }): `task` is the result of sim.env.
  function sim.env.vector(task, options)
    local what = "sim.env.vector"
    if not E.is(task) then fail("bad argument #1 to 'vector' (a result of sim.env expected, got %s)", describe(task)) end
    E.check_keys("vector", options, OPTIONS)
    host.batch_option(what, "count", host.batch_whole(options.count, 1, MOST), ("an integer from 1 to %d"):format(MOST), options.count)
    if options.count == nil then fail("%s: count: an integer from 1 to %d expected", what, MOST) end
    host.batch_option(what, "threads", host.batch_whole(options.threads, 1, 1024), "an integer from 1 to 1024", options.threads)
    host.batch_option(what, "autoreset", AUTORESET[options.autoreset], "'next_step', 'same_step' or 'disabled'", options.autoreset)
    local n, m = options.count, #task.observation_space.low
    local envs, worlds, randoms = {}, {}, {}
    for i = 1, n do
      envs[i] = E.new(task.def)
      worlds[i], randoms[i] = envs[i].world, envs[i].random
    end
    local inside = { envs = envs, autoreset = AUTORESET[options.autoreset or "next_step"] }
    local controls = host.control.count(task.world)
    inside.width = task.action_space.n and 1 or controls
    -- Resets an environment. The C side draws its random values afterwards.
    local function reset(i)
      local given = inside.options or {}
      E.begin(envs[i], { seed = given.seeds and given.seeds[i] or given.seed and given.seed + i - 1, randomise = options.randomise })
    end
    local core, arrays = host.batch.episodes(host.batch_workers(options.threads or host.parallel.threads()), { envs = envs,
      worlds = worlds, randoms = randoms, controls = controls, observed = m, period = task.substeps, max_steps = task.max_steps,
      autoreset = inside.autoreset, constant = task.rules.constant or 0.0, actions = task.actions, step = worlds[1].step,
      observe = E.observed, reset = reset, start = task.start or options.randomise or nil, reward = task.reward,
      terminated = task.ended })
    if not core then fail("%s: %s", what, arrays) end
    inside.core = core
    -- from now on the vector builds and rewinds their worlds
    for i, env in ipairs(envs) do env.core, env.place, env.built = core, i, nil end
    local vector = setmetatable({ name = task.name, count = n, observed = m, final = {}, action_space = task.action_space,
      observation_space = task.observation_space, observations = arrays[1], rewards = arrays[2], terminated = arrays[3],
      truncated = arrays[4], final_observations = arrays[5], unsolved = arrays[6],
      mode_changes = arrays[7] }, Vector)
    insides[vector] = inside
    return vector
  end
end
