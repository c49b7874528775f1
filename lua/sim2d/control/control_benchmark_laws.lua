-- The methods of sim.control.benchmark: laws that need only a task. A method is a function of an environment whose
-- episode has begun. It returns a law(world, t, seen) -> action, and the planner inside the law, if there is one. A
-- method that does not apply to the task raises an error with the reason.

local PLANNERS = { "ilqr", "mppi", "cem", "sampling", "mixed", "gradient" }
local PLANNER_PERIOD = 0.05  -- s: 20 plans per second of world time, as in MuJoCo MPC
-- Defaults of all planners. A horizon of 1 s covers a hop or a step. 20 samples and one thread keep a plan of a
-- sampling method below 0.1 s on most tasks.
local PLANNER = { horizon = 1, samples = 20, u0 = 0.01 }
local REST = 1e-6            -- m/s or rad/s: largest speed after a step that starts at an equilibrium

return function(sim, host)
  local laws, fail = {}, host.fail
  host.benchmark_laws = laws

  -- The names of all methods, in the order of the table.
  laws.names = { "baseline", "zero", "random", "lqr", table.unpack(PLANNERS) }

  -- ---- Actions --------------------------------------------------------------------------------

  -- Converts the commands of a law to an action of the task: commands by name to a list, and commands to the nearest of
  -- the task's discrete actions.
  function laws.action(env, u)
    if getmetatable(u) == "Array" then u = u:table() end
    if type(u) ~= "table" then return u end
    local names, list = env.action_space.names, u
    if #u == 0 then
      list = {}
      for i, name in ipairs(names) do list[i] = u[name] end
    end
    if not env.actions then return list end
    local best, least = 1, math.huge
    for k, action in ipairs(env.actions) do
      local distance = 0
      for i = 1, #names do distance = distance + (action[i] - list[i]) ^ 2 end
      if distance < least then best, least = k, distance end
    end
    return best
  end

  local function no_commands(env)
    local u = {}
    for i = 1, #env.action_space.names do u[i] = 0 end
    return u
  end

  -- ---- The reward as a cost -------------------------------------------------------------------

  -- A declared term as a term of a cost. Terms of commands become `controls`. A term that the cost cannot read by
  -- fields is a function.
  local function term_of(env, cost, given, read, i)
    local per_second, name = 1 / env.period, "term " .. i
    if given.of == "controls" then
      for k, number in ipairs(read.names) do
        if read.kind ~= "quadratic" or read.goals[k] ~= 0 then
          fail("the reward's term %d of the commands is not quadratic about 0, so a cost cannot contain it", i)
        end
        cost.controls[number] = cost.controls[number] + read.weight * per_second / read.scales[k] ^ 2
      end
      return
    end
    local scaled = false
    for _, scale in ipairs(read.scales) do scaled = scaled or scale ~= 1 end
    local term = { name, of = read.reading[1], field = given.field, at = given.at, goal = given.goal, norm = given.norm, p = given.p,
      wrap = given.wrap, weight = read.weight * per_second }
    if scaled or not pcall(sim.control.cost, { term }) then
      term = { name, norm = "linear", weight = term.weight,
        residual = function(w) return host.batch_cost.value(read, w, no_commands(env)) end }
    end
    if read.terminal ~= 0 then cost.terminal[name] = read.terminal end
    cost[#cost + 1] = term
  end

  -- For a constant reward: the fields that end the episode have to stay in the middle of their bounds.
  local function add_bounds(env, cost)
    for i, bound in ipairs(env.rules.bounds or {}) do
      local half = ((bound.hi or math.huge) - (bound.lo or -math.huge)) / 2
      if half < math.huge and bound.field ~= "touches" then
        local reading = host.batch_cost.read("benchmark", { env.world }, bound.of, bound.field)
        cost[#cost + 1] = { "bound " .. i, of = reading[1], field = bound.field, at = bound.at, goal = bound.lo + half,
          weight = 1 / half ^ 2 / env.period }
      end
    end
    if #cost == 0 then
      fail("the reward is constant, and no bound of `terminated` has both lo and hi: a planner has no cost to lower")
    end
  end

  -- The negative reward as a cost: its sum over the periods of a plan. The constant of a declared reward is left out. A
  -- reward function is called without commands.
  function laws.cost(env)
    local rules, declared = env.rules, env.declared
    local cost = { controls = no_commands(env), terminal = {} }
    if env.reward then
      cost[1] = { "reward", norm = "linear", weight = 1 / env.period, residual = function(world)
        local good, reward = pcall(env.reward, world, no_commands(env), env)
        if not good then
          error(("the reward function cannot serve as a cost (declare the reward as terms): %s"):format(reward), 0)
        end
        return -reward
      end }
      return cost
    end
    for i, read in ipairs(declared.terms or {}) do term_of(env, cost, rules.terms[i], read, i) end
    local factors = declared.factors
    if factors and #factors > 0 then
      cost[#cost + 1] = { "factors", norm = "linear", weight = 1 / env.period,
        residual = function(world) return 1 - host.batch_cost.product(factors, world, no_commands(env)) end }
    end
    if #cost == 0 then add_bounds(env, cost) end
    return cost
  end

  -- ---- Methods --------------------------------------------------------------------------------

  local make = {}
  laws.make = make

  function make.baseline(env)
    if not env.baseline then fail "the task has no baseline" end
    local law = env.baseline(env)
    return law, law
  end

  function make.zero(env)
    local action = laws.action(env, no_commands(env))
    return function() return action end
  end

  -- Uniform in the ranges; infinite ranges are replaced by -1 to 1.
  function make.random(env, seed)
    local random, space = sim.random.split(), env.action_space
    random:seed(seed)
    return function()
      if space.n then return random:integer(1, space.n) end
      local u = {}
      for i = 1, #space.low do
        local finite = host.finite(space.low[i]) and host.finite(space.high[i])
        u[i] = random:uniform(finite and space.low[i] or -1, finite and space.high[i] or 1)
      end
      return u
    end
  end

  -- Raises an error if the world does not stay at rest without commands. The step must not change the world.
  local function check_rest(world)
    local copy = world:clone { functions = true }
    copy:step()
    for _, body in ipairs(copy.bodies) do
      local speed = math.max(math.abs(body.vx), math.abs(body.vy), math.abs(body.angular_velocity))
      if body.type == "dynamic" and speed > REST then
        fail("the world that the task builds is not at an equilibrium: '%s' starts to move at %.2g (m/s or rad/s)",
          body.name or "a body", speed)
      end
    end
  end

  -- LQR about the state that the task builds, with unit weights of the state and of commands in units of their range.
  function make.lqr(env)
    local world, upright = env.world, env.builder(env.parameters, sim.random.split())
    check_rest(upright)
    local R, low, high = {}, {}, {}
    for i, actuator in ipairs(host.actuators(world)) do
      low[i], high[i] = actuator.range[1], actuator.range[2]
      local range = (high[i] - low[i]) / 2
      R[i] = host.finite(range) and range > 0 and 1 / range ^ 2 or 1
    end
    -- The law reads the bodies of the episode's world, so this world takes the design state for a moment.
    local began = world:snapshot()
    world:set_state(upright:state())
    local good, law = pcall(sim.control.lqr, world, { Q = 1, R = R, period = env.period })
    world:restore(began)
    if not good then error(law, 0) end
    return law
  end

  -- A planner that replans every `period` seconds and holds its commands in between.
  local function planner(method)
    return function(env, seed, options)
      local def = { method = method, cost = laws.cost(env), seed = seed, threads = 1 }
      for key, value in pairs(PLANNER) do def[key] = value end
      for key, value in pairs(options or {}) do def[key] = value end
      local every = math.max(1, math.floor((def.period or PLANNER_PERIOD) / env.period + 0.5))
      def.period = every * env.period
      def.horizon = math.max(1, math.floor(def.horizon / def.period + 0.5)) * def.period
      local law, calls, action = sim.control.planner(env.world, def), 0, nil
      return function(world, t)
        if calls % every == 0 then action = laws.action(env, law(world, t)) end
        calls = calls + 1
        return action
      end, law
    end
  end
  for _, name in ipairs(PLANNERS) do make[name] = planner(name) end
end
