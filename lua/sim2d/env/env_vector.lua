-- sim.env.vector: many environments of one task. Threads step, judge and reset their worlds
-- (lua/batch/batch_episodes.c); functions of the task are called in between. If a task needs no functions, its worlds
-- are copies of one world without Lua objects, until a script reads `vector.envs`.

local MOST = 100000 -- environments
local AUTORESET = { next_step = 0, same_step = 1, disabled = 2 }
local OPTIONS = { count = true, threads = true, autoreset = true, randomise = true }

return function(sim, host)
  local fail, describe, E = host.fail, host.describe, host.env

  local Vector = { __name = "EnvVector" }
  local methods = {}
  local insides = setmetatable({}, { __mode = "k" }) -- maps an EnvVector to its environments and its stepping object
  local with_envs, full, light
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
    if inside.light then with_envs(vector) end
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

  -- Copies take their seeds before the reset. Other environments take them in E.begin.
  local function set_seeds(vector, options)
    if not options.seed and not options.seeds then return end
    for i = 1, vector.count do
      local seed = options.seeds and options.seeds[i] or options.seed and options.seed + i - 1
      if seed and (not options.mask or options.mask[i]) then
        if not host.whole(seed) then fail("%s:reset: seed: a whole number expected, got %s", vector.name, describe(seed)) end
        insides[vector].core:seed(i, math.tointeger(seed))
      end
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
    if inside.light then set_seeds(vector, options) end
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
      E.command_of(insides[vector].task, action)
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

  -- A step for programs in other languages. `actions` and `results` are pointers (light userdata) to numbers: the actions
  -- of all environments, where numbers of actions count from 0, and memory for the observations, rewards, terminated,
  -- truncated, final observations, unsolved steps and changes of mode. The arrays of the vector keep their numbers.
  function methods.exchange(vector, actions, results)
    local inside = insides[vector]
    if type(actions) ~= "userdata" or type(results) ~= "userdata" then fail("EnvVector:exchange: two pointers expected") end
    local k, message = inside.core:step(actions, inside.autoreset, results)
    if k == "action" then fail("%s: environment %d: the action is not valid", vector.name, message) end
    if k == "begin" then refuse(vector, k, message) end
    raise(vector, k, message)
  end

  -- ---- Making a vector ------------------------------------------------------------------------

  local function options_of(inside, changes)
    local task = inside.task
    local options = { controls = inside.controls, observed = #task.observation_space.low, period = task.substeps,
      max_steps = task.max_steps, autoreset = inside.autoreset, constant = task.rules.constant or 0.0, actions = task.actions }
    for key, value in pairs(changes) do options[key] = value end
    return options
  end

  -- Makes an environment with a world for each place. Returns the stepping object and its arrays. Some environments and
  -- generators may exist already. `arrays` are those of an object that is replaced.
  function full(inside, n, envs, randoms, arrays)
    local task, worlds = inside.task, {}
    for i = 1, n do
      envs[i] = envs[i] or E.new(task.def, randoms[i])
      worlds[i], randoms[i] = envs[i].world, envs[i].random
    end
    -- Resets an environment. The C side draws its random values afterwards.
    local function reset(i)
      local given = inside.options or {}
      E.begin(envs[i], { seed = given.seeds and given.seeds[i] or given.seed and given.seed + i - 1, randomise = inside.randomise })
    end
    local core, made = host.batch.episodes(inside.workers, options_of(inside, { envs = envs, worlds = worlds, randoms = randoms,
      step = worlds[1].step, observe = E.observed, reset = reset, start = task.start or inside.randomise or nil,
      reward = task.reward, terminated = task.ended, arrays = arrays }))
    if not core then fail("sim.env.vector: %s", made) end
    inside.envs = envs
    -- from now on the vector builds and rewinds their worlds
    for i, env in ipairs(envs) do env.core, env.place, env.built = core, i, nil end
    return core, made
  end

  -- Makes copies of one world, if the task always builds the same one, and its steps call no functions of the script.
  -- Otherwise does the same as `full`.
  function light(inside, n)
    local task, envs, randoms, same = inside.task, {}, {}, true
    for i = 1, 2 do
      envs[i] = E.new(task.def)
      randoms[i] = envs[i].random
      same = same and envs[i].built and not envs[i].built.taped and not host.batch.alone(envs[i].world)
        and E.go_back(envs[i], envs[i].built)
    end
    for i = 3, n do randoms[i] = sim.random.split() end
    if not same or not host.batch.alike(envs[1].world, envs[2].world) then return full(inside, n, envs, randoms) end
    local core, arrays = host.batch.episodes(inside.workers, options_of(inside, { envs = { envs[1] }, worlds = { envs[1].world },
      randoms = randoms, judge = envs[1].declared.judge or false, draws = envs[1].declared.draws, drawn = 2 }))
    if not core then fail("sim.env.vector: %s", arrays) end
    inside.light, inside.randoms = true, randoms
    return core, arrays
  end

  -- Replaces the copies by environments that continue their episodes.
  function with_envs(vector)
    local inside = insides[vector]
    local from, randoms = inside.core, {}
    for i = 1, vector.count do randoms[i] = sim.random.split(inside.randoms[i]) end
    inside.core = full(inside, vector.count, {}, randoms, inside.arrays)
    for i, env in ipairs(inside.envs) do
      inside.core:world(i, env.world, env.declared.judge, env.declared.draws, false)
      inside.core:adopt(i, from)
    end
    inside.light, inside.randoms = nil, nil
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
    local inside = { task = task, autoreset = AUTORESET[options.autoreset or "next_step"], randomise = options.randomise,
      workers = host.batch_workers(options.threads or host.parallel.threads()), controls = host.control.count(task.world) }
    inside.width = task.action_space.n and 1 or inside.controls
    -- tasks without functions need no Lua objects
    local core, arrays
    if n > 1 and not (task.start or task.reward or task.ended or options.randomise or host.batch.alone(task.world)) then
      core, arrays = light(inside, n)
    else
      core, arrays = full(inside, n, {}, {})
    end
    inside.core, inside.arrays = core, arrays
    local vector = setmetatable({ name = task.name, count = n, observed = m, final = {}, action_space = task.action_space,
      observation_space = task.observation_space, observations = arrays[1], rewards = arrays[2], terminated = arrays[3],
      truncated = arrays[4], final_observations = arrays[5], unsolved = arrays[6],
      mode_changes = arrays[7] }, Vector)
    insides[vector] = inside
    return vector
  end
end
