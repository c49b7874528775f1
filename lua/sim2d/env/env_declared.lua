-- Parts of a task that may be declarations instead of functions: reward, terminated and reset, in the form of
-- sim.batch. C evaluates them (core/batch/judge.h). This file reads them and converts them for each world that an
-- environment builds.

local FORMS = "a number, a list of terms { of =, field =, ... } (and constant =, factors =), or a function(world, u, env)"
local KEY = { cost = true, constant = true, factors = true }

return function(sim, host)
  local fail, describe = host.fail, host.describe
  local declared = {}
  host.env_declared = declared

  local function bad(key, expected, got)
    fail("bad argument #1 to 'env' (key '%s': %s expected, got %s)", key, expected, describe(got))
  end

  -- Reads terms of sim.control.cost that contain functions. The reward is the negative cost.
  local function by_functions(def)
    local costs = setmetatable({}, { __mode = "k" })
    return function(world, u)
      local cost = costs[world]
      if not cost then
        cost = sim.control.cost(def)
        costs[world] = cost
      end
      local sum = 0
      for _, part in pairs(cost:parts(world, u)) do sum = sum - part end
      return sum
    end
  end

  local function has_functions(def)
    local found = def.controls ~= nil or def.terminal ~= nil
    for _, term in ipairs(def) do found = found or type(term) == "table" and term.residual ~= nil end
    return found
  end

  local function read_reward(def, rules)
    if type(def) == "function" then
      rules.reward = def
    elseif type(def) == "number" then
      if not host.finite(def) then bad("reward", "a finite number", def) end
      rules.constant, rules.terms = def + 0.0, {}
    elseif type(def) ~= "table" then
      bad("reward", FORMS, def)
    elseif has_functions(def) then
      rules.reward = by_functions(def)
    else
      local constant = def.constant == nil and 0.0 or def.constant
      if not host.finite(constant) then bad("reward.constant", "a finite number", constant) end
      rules.constant, rules.terms, rules.factors = constant + 0.0, table.move(def, 1, #def, 1, {}), def.factors
      -- all other keys are errors
      for _, key in ipairs(host.sorted_keys(def)) do
        if not (math.type(key) == "integer" and key >= 1 and key <= #def) and not KEY[key] then
          local near = type(key) == "string" and host.nearest(key, { "constant", "controls", "factors", "terminal" })
          fail("bad argument #1 to 'env' (key 'reward': unknown key '%s'%s)", tostring(key),
            near and ("; did you mean '%s'?"):format(near) or "; there are 'constant' and terms as a list")
        end
      end
      if #def == 0 and def.constant == nil and def.factors == nil then bad("reward", FORMS, def) end
    end
  end

  local function list_or_function(key, value, form)
    if value == nil or type(value) == "function" then return value, nil end
    if type(value) ~= "table" or #value == 0 then
      bad(key, "a function, or a list of " .. form, value)
    end
    return nil, value
  end

  -- Reads the rules of a task. `reward`, `ended` and `start` are functions; `constant`, `terms`, `bounds` and `draws`
  -- are declarations.
  function declared.read(def)
    local rules = {}
    read_reward(def.reward, rules)
    rules.ended, rules.bounds = list_or_function("terminated", def.terminated, "bounds { of =, field =, lo =, hi = }")
    rules.start, rules.draws = list_or_function("reset", def.reset, "draws { of =, field =, uniform = {lo, hi} }")
    for i, draw in ipairs(rules.draws or {}) do
      if type(draw) == "table" and draw.values ~= nil then
        fail("sim.env: reset[%d]: the key 'values' applies only to sim.batch; 'uniform' or 'normal' expected", i)
      end
    end
    return rules
  end

  -- Returns the declarations for a world: { judge =, terms =, factors =, draws = }, each nil if absent.
  function declared.of_world(env, world)
    local rules, made = env.rules, {}
    if rules.terms or rules.bounds then
      made.judge, made.terms, made.factors = host.batch_cost.judge("sim.env", { world }, host.control.count(world),
        rules.terms, rules.bounds, "reward", rules.factors)
    end
    if rules.draws then
      local _, draws = host.batch_cost.parameters("sim.env", { world }, rules.draws, "reset")
      made.draws = host.batch.draws(draws)
    end
    return made
  end

  -- For a period, returns the reward (nil if not declared), whether the episode has terminated, and the cost of the
  -- last state.
  function declared.judged(env, world, u)
    local rules, made = env.rules, env.declared
    local reward, ended, last = host.batch.judged(made.judge, world, u, rules.constant or 0.0)
    if reward then
      if not rules.terms then return nil, ended, nil end
      return reward, ended, last
    end
    -- on a tape, Lua evaluates terms of numbers whose derivatives C does not know
    reward = rules.constant
    if #made.factors > 0 then reward = reward + host.batch_cost.product(made.factors, world, u) end
    for _, term in ipairs(made.terms) do
      if term.weight ~= 0 then reward = reward - term.weight * host.batch_cost.value(term, world, u) end
    end
    return reward, ended, host.batch_cost.sum(made.terms, "terminal", world, u)
  end
end
