-- sim.env.vector: many environments of one task, whose worlds threads step.

local MOST = 100000 -- environments
local AUTORESET = { next_step = true, same_step = true, disabled = true }
local OPTIONS = { count = true, threads = true, autoreset = true, randomise = true }

return function(sim, host)
  local fail, describe, E = host.fail, host.describe, host.env

  local Vector = { __name = "EnvVector" }
  Vector.__index = Vector
  Vector.__tostring = function(vector) return ("EnvVector (%d of %s)"):format(vector.count, vector.name) end
  Vector.__len = function(vector) return vector.count end

  local function write(vector, i, seen)
    local observations, m = vector.observations, vector.observed
    local base = (i - 1) * m
    for k = 1, m do observations[base + k] = seen[k] end
  end

  -- The environments of `mask` (nil: all) begin an episode, the i-th with the seed `seed` + i - 1, or seeds[i].
  function Vector:reset(options)
    options = options or {}
    E.check_keys("vector:reset", options, { seed = true, seeds = true, mask = true })
    for i, env in ipairs(self.envs) do
      if not options.mask or options.mask[i] then
        local seed = options.seeds and options.seeds[i] or options.seed and options.seed + i - 1
        write(self, i, (env:reset { seed = seed, randomise = self.randomise }))
        self.due[i] = false
      end
    end
    return self.observations
  end

  -- An episode has ended: what was observed last is kept, and the environment begins again now or with the next step.
  local function ended(self, i, env)
    if self.autoreset == "same_step" then
      self.final[i] = env.last
      write(self, i, (env:reset { randomise = self.randomise }))
    elseif self.autoreset == "next_step" then
      self.due[i] = true
    end
  end

  -- The worlds, each the steps of a period: in threads, or here where functions of the script run in them.
  local function advance(self, worlds, numbers)
    if #worlds == 0 then return end
    local alone, failures = host.batch.advance(worlds, self.workers, self.substeps)
    for _, k in ipairs(alone) do worlds[k]:step(self.substeps) end
    local k, message = next(failures)
    for other in pairs(failures) do
      if other < k then k, message = other, failures[other] end
    end
    if k then fail("%s: environment %d: %s", self.name, numbers[k], message) end
  end

  -- vector:step(actions) with actions[i], the action of the i-th -> observations, rewards, terminated, truncated: arrays that
  -- the next call fills again.
  function Vector:step(actions)
    if type(actions) ~= "table" or #actions ~= self.count then
      fail("%s: vector:step: %d actions expected, got %s", self.name, self.count, describe(actions))
    end
    local worlds, numbers, given = {}, {}, self.given
    self.final = {}
    for i, env in ipairs(self.envs) do
      if not self.due[i] then
        given[i] = E.command(env, actions[i])
        numbers[#numbers + 1] = i
        worlds[#worlds + 1] = env.world
      end
    end
    advance(self, worlds, numbers)
    -- What came of it, in the order of the environments.
    local rewards, over, cut = self.rewards, self.terminated, self.truncated
    for i, env in ipairs(self.envs) do
      if self.due[i] then
        rewards[i], over[i], cut[i] = 0, 0, 0
        self.due[i] = false
        write(self, i, (env:reset { randomise = self.randomise }))
      else
        local reward, terminated, truncated = E.judge(env, given[i])
        local seen = E.observed(env)
        rewards[i], over[i], cut[i] = reward, terminated and 1 or 0, truncated and 1 or 0
        write(self, i, seen)
        if terminated or truncated then
          env.last = seen
          ended(self, i, env)
        end
      end
    end
    return self.observations, rewards, over, cut
  end

  -- sim.env.vector(task, { count =, threads =, autoreset =, randomise = }): a task is what sim.env gives.
  function sim.env.vector(task, options)
    local what = "sim.env.vector"
    if not E.is(task) then fail("bad argument #1 to 'vector' (what sim.env gives expected, got %s)", describe(task)) end
    E.check_keys("vector", options, OPTIONS)
    host.batch_option(what, "count", host.batch_whole(options.count, 1, MOST), ("an integer from 1 to %d"):format(MOST), options.count)
    if options.count == nil then fail("%s: count: an integer from 1 to %d expected", what, MOST) end
    host.batch_option(what, "threads", host.batch_whole(options.threads, 1, 1024), "an integer from 1 to 1024", options.threads)
    host.batch_option(what, "autoreset", AUTORESET[options.autoreset], "'next_step', 'same_step' or 'disabled'", options.autoreset)
    local n, m = options.count, #task.observation_space.low
    local vector = setmetatable({ name = task.name, count = n, observed = m, envs = {}, due = {}, given = {}, final = {},
      autoreset = options.autoreset or "next_step", randomise = options.randomise, substeps = task.substeps,
      action_space = task.action_space, observation_space = task.observation_space,
      workers = host.batch_workers(options.threads or host.parallel.threads()),
      observations = sim.zeros(n * m), rewards = sim.zeros(n), terminated = sim.zeros(n), truncated = sim.zeros(n) }, Vector)
    for i = 1, n do vector.envs[i] = E.new(task.def) end
    return vector
  end
end
