-- sim.env: a world as a task with the interface of Gymnasium environments: reset, step, spaces.

local EARLY = 1e-6 -- tolerance for rounding in sums of dt, as a fraction of a step
local MOST_STEPS = 1000

local KEYS = { name = true, doc = true, world = true, period = true, max_steps = true, reset = true, reward = true,
  terminated = true, parameters = true, actions = true, baseline = true, low = true, high = true, passed = true,
  keys = true, view = true, follow = true, about_baseline = true }

return function(sim, host)
  local fail, describe = host.fail, host.describe

  local function bad(what, key, expected, got)
    fail("bad argument #1 to '%s' (key '%s': %s expected, got %s)", what, key, expected, describe(got))
  end

  local function check_keys(what, def, known)
    if type(def) ~= "table" then fail("bad argument #1 to '%s' (a table expected, got %s)", what, describe(def)) end
    for _, key in ipairs(host.sorted_keys(def)) do
      if not known[key] then
        local near = type(key) == "string" and host.nearest(key, host.sorted_keys(known))
        fail("bad argument #1 to '%s' (unknown key '%s'%s)", what, tostring(key), near and ("; did you mean '%s'?"):format(near) or "")
      end
    end
  end

  -- ---- Parameters: { default, lo, hi } or a number -----------------------------------------------

  local function read_parameters(def)
    local list = {}
    for _, name in ipairs(host.sorted_keys(def.parameters or {})) do
      local entry = def.parameters[name]
      if type(entry) == "number" then entry = { entry, entry, entry } end
      if type(name) ~= "string" or type(entry) ~= "table" or not host.finite(entry[1]) or not host.finite(entry[2])
        or not host.finite(entry[3]) or not (entry[2] <= entry[1] and entry[1] <= entry[3]) then
        bad("env", "parameters." .. tostring(name), "{ usual, lo, hi } with lo <= usual <= hi", def.parameters[name])
      end
      list[#list + 1] = { name = name, usual = entry[1], lo = entry[2], hi = entry[3] }
    end
    return list
  end

  -- Returns the parameters of an episode: given, drawn, or default values.
  local function draw(env, options)
    local p, given = {}, options.parameters
    if not given and not options.randomise then
      for _, entry in ipairs(env.randomised) do p[entry.name] = entry.usual end
      return p, ""
    end
    given = given or {}
    for _, entry in ipairs(env.randomised) do
      local value = given[entry.name]
      if value == nil then value = options.randomise and env.random:uniform(entry.lo, entry.hi) or entry.usual end
      p[entry.name] = value
    end
    for name in pairs(given) do
      if p[name] == nil then fail("%s:reset: there is no parameter '%s'", env.name, tostring(name)) end
    end
    -- an episode with the default parameters has an empty key
    local key, usual = {}, true
    for _, entry in ipairs(env.randomised) do usual = usual and p[entry.name] == entry.usual end
    if usual then return p, "" end
    for i, entry in ipairs(env.randomised) do key[i] = tostring(p[entry.name]) .. (type(p[entry.name]) == "number" and ("%a"):format(p[entry.name]) or "") end
    return p, table.concat(key, " ")
  end

  -- ---- Spaces -----------------------------------------------------------------------------------

  local function bounds_of(what, list, count, otherwise)
    local out = {}
    for i = 1, count do
      local value = list and (type(list) == "number" and list or list[i])
      if list ~= nil and type(value) ~= "number" then bad("env", what, ("a number, or one for each of %d observed"):format(count), list) end
      out[i] = value or otherwise
    end
    return out
  end

  local function spaces(env, def, observation)
    env.observation_space = { low = bounds_of("low", def.low, #observation, -math.huge),
      high = bounds_of("high", def.high, #observation, math.huge) }
    local low, high, names = {}, {}, {}
    for i, actuator in ipairs(host.actuators(env.world)) do
      low[i], high[i], names[i] = actuator.range[1], actuator.range[2], actuator.name
    end
    if #names == 0 then fail("sim.env: the world has no actuators: declare one: world:actuator { ... }") end
    if env.actions then
      for k, u in ipairs(env.actions) do
        if type(u) ~= "table" or #u ~= #names then bad("env", ("actions[%d]"):format(k), ("a list of %d commands"):format(#names), u) end
      end
      env.action_space = { n = #env.actions, names = names }
    else
      env.action_space = { low = low, high = high, names = names }
    end
  end

  -- ---- Episodes ---------------------------------------------------------------------------------

  -- Fields that a task may lack, and fields that are added by the first episode or by a vector.
  local Env = host.close_class({ __name = "Env" }, "Env", { "doc", "start", "ended", "reward", "baseline", "about_baseline", "actions",
    "passed", "follow", "view", "keys", "goals", "def", "period", "substeps", "observation_space", "action_space", "world", "built",
    "declared", "parameters", "steps", "over", "ranges", "unsolved", "mode_changes", "core", "place", "recording", "viewer" })
  Env.__tostring = function(env) return ("Env (%s: %d observed, %d commands)"):format(env.name, #env.observation_space.low,
    env.action_space.n or #env.action_space.low) end

  -- Rewinds the world to its initial state if the episode has added no objects to it and its steps run no functions of
  -- the script.
  local function go_back(env, kept)
    if env.core then return env.core:rewind(env.place) end
    local B, world = host.batch, kept.world
    local revision, controls, seen = B.bare(world)
    if revision ~= kept.revision or controls ~= kept.controls or seen ~= kept.observed then return false end
    local taped = host.recording_gradient(world)
    if taped or kept.taped then
      world:restore(kept.snapshot)
      revision, controls, seen, kept.changes = B.bare(world)
    else
      kept.changes = B.rewind(world, kept.snapshot, kept.changes)
      revision = B.bare(world)
    end
    kept.revision, kept.taped = revision, taped
    return true
  end

  -- Returns the world of an episode with these parameters. The last world is rewound if building it used no random
  -- numbers, its steps run no functions of the script, and its bodies and joints are unchanged. Rewinding is ten times
  -- faster than building.
  local function build(env, p, key)
    local kept, B = env.built, host.batch
    if kept and kept.key == key and go_back(env, kept) then return kept.world end
    env.built = nil
    local before = B.drawn(env.random)
    local world = env.builder(p, env.random)
    if getmetatable(world) ~= "World" then fail("sim.env: 'world' has to return the world it builds; it returned %s", describe(world)) end
    env.declared = host.env_declared.of_world(env, world)
    local revision, controls, observed, changes = B.bare(world)
    local again = revision ~= nil and B.drawn(env.random) == before
    if again then
      env.built = { world = world, key = key, revision = revision, controls = controls, observed = observed, changes = changes,
        snapshot = not env.core and world:snapshot(), taped = host.recording_gradient(world) }
    end
    if env.core then env.core:world(env.place, world, env.declared.judge, env.declared.draws, again) end
    return world
  end

  local function observed(env)
    local seen = host.batch.seen(env.world)
    if seen then return seen end
    local all, list = env.world:observation(), {}
    for i = 1, #all do list[i] = all[i] end
    if #list == 0 then fail("sim.env: the world has no observations: declare them with world:observe { ... }") end
    return list
  end

  -- The fields of `info` for the last step.
  local function info_of(env)
    local residual, unsolved, changes = host.batch.left(env.world)
    return { residual = residual, unsolved = unsolved > env.unsolved, mode_changes = changes - env.mode_changes, time = env.world.time }
  end

  local function begin(env, options)
    if options.seed ~= nil then
      if not host.whole(options.seed) then fail("%s:reset: seed: a whole number expected, got %s", env.name, describe(options.seed)) end
      env.random:seed(options.seed)
    end
    local p, key = draw(env, options)
    env.world = build(env, p, key)
    env.parameters = p
    if env.start then
      env.start(env.world, env.random, p)
    elseif env.declared.draws and not env.core then
      host.batch.draw(env.declared.draws, env.world, env.random)
    end
    if not env.core then host.renew_noise(env.world, env.random) end -- a batch renews the noise after its draws
    env.steps, env.over, env.unsolved, env.mode_changes, env.ranges = 0, false, 0, 0, nil
    if env.recording or env.viewer then host.env.show_start(env) end
  end

  -- env:reset { seed =, parameters =, randomise = } -> observation, info
  function Env:reset(options)
    options = options or {}
    check_keys(self.name .. ":reset", options, { seed = true, parameters = true, randomise = true })
    begin(self, options)
    return observed(self), { parameters = self.parameters }
  end

  -- Converts an action to one command per actuator.
  local function command_of(env, action)
    if env.actions then
      local u = host.whole(action) and env.actions[action]
      if not u then fail("%s:step: an action from 1 to %d expected, got %s", env.name, #env.actions, describe(action)) end
      return u
    end
    if type(action) == "number" then action = { action } end
    local count = #env.action_space.low
    if (type(action) ~= "table" and getmetatable(action) ~= "Array") or #action ~= count then
      fail("%s:step: %d commands expected (%s), got %s", env.name, count, table.concat(env.action_space.names, ", "), describe(action))
    end
    local u = {}
    for i = 1, count do
      u[i] = action[i]
      if type(u[i]) == "number" and u[i] ~= u[i] or type(u[i]) == "nil" then
        fail("%s:step: command %d (%s) is %s", env.name, i, env.action_space.names[i], describe(u[i]))
      end
    end
    return u
  end

  local function ranges_of(env)
    if not env.ranges then
      env.ranges = {}
      for i, actuator in ipairs(host.actuators(env.world)) do
        env.ranges[2 * i - 1], env.ranges[2 * i] = actuator.range[1], actuator.range[2]
      end
    end
    return env.ranges
  end

  -- A step sets the commands of an action, steps the world, and returns the results.
  local function command(env, action)
    if env.over == nil then fail("%s:step: call reset before the first step", env.name) end
    if env.over then fail("%s:step: the episode is over: reset first", env.name) end
    local u = command_of(env, action)
    local world = env.world
    local _, unsolved, changes = host.batch.left(world)
    env.unsolved, env.mode_changes = unsolved, changes
    local acted = host.batch.act(world, u)
    if acted then return acted end
    -- arrays, and commands that are clipped on a tape
    local clipped, ranges = {}, ranges_of(env)
    for i = 1, #u do
      local v, lo, hi = u[i], ranges[2 * i - 1], ranges[2 * i]
      if math.type(v) then
        clipped[i] = v < lo and lo or v > hi and hi or v
      else
        clipped[i] = sim.max(lo, sim.min(hi, v))
      end
    end
    world:act(clipped)
    return clipped
  end

  local function judge(env, clipped)
    env.steps = env.steps + 1
    local world = env.world
    local reward, terminated, last
    if env.declared.judge then reward, terminated, last = host.env_declared.judged(env, world, clipped) end
    if env.reward then
      reward = env.reward(world, clipped, env)
      if type(reward) ~= "number" and getmetatable(reward) ~= "Tracked" then
        fail("%s: reward: a number expected, got %s", env.name, describe(reward))
      end
    end
    if env.ended then terminated = env.ended(world, env) == true end
    terminated = terminated or false
    local truncated = not terminated and env.steps >= env.max_steps
    env.over = terminated or truncated
    if env.over and last then reward = reward - last end
    return reward, terminated, truncated
  end

  -- env:step(action) -> observation, reward, terminated, truncated, info
  function Env:step(action)
    local clipped = command(self, action)
    self.world:step(self.substeps)
    local reward, terminated, truncated = judge(self, clipped)
    return observed(self), reward, terminated, truncated, info_of(self)
  end

  -- Draws the present world. By default the picture shows the area of the task's `view`.
  function Env:render(path, options) return self.world:draw(path, host.env.with_view(self, options)) end

  -- env:record(path, options) records the episodes that follow in one file; env:record() ends the recording.
  function Env:record(path, options) return host.env.record(self, path, options) end

  -- env:live { pace =, port =, wait = } opens the live viewer, which shows each episode while the script steps it.
  function Env:live(options) return host.env.live(self, options) end

  -- Runs episodes with a law (default: the baseline) with seeds that start at `seed`. Returns the mean return, the list
  -- of returns, the mean number of steps, and data of all steps: the worst residual, the number of unsolved steps, mode
  -- changes, and which episodes terminated.
  function Env:evaluate(options)
    options = options or {}
    check_keys(self.name .. ":evaluate", options, { law = true, episodes = true, seed = true, randomise = true })
    local make = options.law or self.baseline
    if not make then fail("%s:evaluate: there is no baseline: give a law, a function of the environment that returns one", self.name) end
    local returns, mean, lengths = {}, 0, 0
    local told = { residual = 0, unsolved = 0, mode_changes = 0, terminated = {} }
    local episodes = options.episodes or 20
    for k = 1, episodes do
      local seen = self:reset { seed = (options.seed or 0) + k - 1, randomise = options.randomise }
      local law, sum, terminated, truncated = make(self), 0, false, false
      repeat
        local reward, info
        seen, reward, terminated, truncated, info = self:step(law(self.world, self.world.time, seen))
        sum = sum + reward
        told.residual = math.max(told.residual, info.residual)
        told.unsolved, told.mode_changes = told.unsolved + (info.unsolved and 1 or 0), told.mode_changes + info.mode_changes
      until terminated or truncated
      told.terminated[k] = terminated
      returns[k], mean, lengths = sum, mean + sum / episodes, lengths + self.steps / episodes
    end
    return mean, returns, lengths, told
  end

  -- Returns whether an episode with this return is solved: it reaches `passed`, or, if the task does not set `passed`,
  -- it has terminated.
  function Env:solved(returned, terminated)
    if self.passed then return returned >= self.passed end
    return terminated == true
  end

  -- Plays a given number of episodes, or episodes without end, in the live viewer. The baseline or a person acts.
  -- Returns true, or false if there is no viewer.
  function Env:play(options) return host.env.play(self, options) end

  -- Call this when the file of a task runs as the script. With a viewer, the task is played. Otherwise the baseline
  -- runs some episodes and the results are printed.
  function Env:show(options)
    if self:play(options) then return end
    local episodes = options and options.episodes or 3
    local mean, returns = self:evaluate { episodes = episodes }
    local texts = {}
    for k, value in ipairs(returns) do texts[k] = ("%.1f"):format(value) end
    print(("%s: baseline's return %.1f (%s)"):format(self.name, mean, table.concat(texts, ", ")))
    if self.passed and not (mean >= self.passed) then
      error(("%s: the return of the baseline, %.3f, is below %.3f"):format(self.name, mean, self.passed), 0)
    end
    return mean
  end

  -- ---- Making an environment --------------------------------------------------------------------

  -- `random` is the generator of the environment (default: a new one).
  local function new(def, random)
    check_keys("env", def, KEYS)
    host.check_function("env: world", 1, def.world)
    if def.baseline ~= nil then host.check_function("env: baseline", 1, def.baseline) end
    local rules = host.env_declared.read(def)
    local env = setmetatable({ name = def.name or "task", doc = def.doc, builder = def.world, start = rules.start, ended = rules.ended,
      reward = rules.reward, rules = rules, randomised = read_parameters(def), baseline = def.baseline, actions = def.actions,
      random = random or sim.random.split(), passed = def.passed, max_steps = def.max_steps or MOST_STEPS }, Env)
    if not host.whole(env.max_steps) or env.max_steps < 1 then bad("env", "max_steps", "a whole number of at least 1", def.max_steps) end
    env.max_steps = math.tointeger(env.max_steps)
    -- build a first world to find its actuators and observations
    begin(env, {})
    local first = observed(env)
    env.over = nil
    local dt = env.world.dt
    local period = def.period == nil and dt or def.period
    env.substeps = host.finite(period) and math.floor(period / dt + 0.5) or 0
    if env.substeps < 1 or math.abs(env.substeps * dt - period) > EARLY * dt * env.substeps then
      bad("env", "period", ("a multiple of the world's dt (%g s)"):format(dt), def.period)
    end
    env.period = env.substeps * dt
    spaces(env, def, first)
    host.env.read_seen(env, def)
    env.def = def
    return env
  end

  -- Used by lua/sim2d/env/env_vector.lua.
  host.env = { new = new, is = function(value) return type(value) == "table" and getmetatable(value) == Env end,
    command_of = command_of, observed = observed, begin = begin, check_keys = check_keys, go_back = go_back }
  rawset(sim, "env", setmetatable({}, { __call = function(_, def) return new(def) end }))
end
