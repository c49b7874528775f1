-- sim.env: tasks with the interface of Gymnasium.
local sim = require "sim2d"

-- A cart to be brought to the origin.
local function def(changes)
  local all = { name = "cart", period = 0.02, max_steps = 30, parameters = { mass = { 1, 0.5, 2 } },
    world = function(p)
      local world = sim.world { dt = 0.01, gravity = { 0, 0 } }
      local cart = world:box { name = "cart", size = { 1, 1 }, mass = p.mass, mask = 0 }
      world:actuator { "push", body = cart, kind = "force", direction = { 1, 0 }, range = { -2, 2 } }
      world:observe { "cart", of = cart, field = { "x", "vx" } }
      return world
    end,
    reset = function(world, random) world.bodies.cart.x = random:uniform(0.5, 1.5) end,
    reward = function(world, u) return -world.bodies.cart.x ^ 2 - 0.1 * u[1] ^ 2 end,
    terminated = function(world) return world.bodies.cart.x < 0 end,
    baseline = function() return function(_, _, seen) return -2 * seen[1] - 2 * seen[2] end end }
  for key, value in pairs(changes or {}) do all[key] = value ~= "none" and value or nil end
  return all
end

test("an episode", function()
  local env = sim.env(def())
  eq({ env.action_space.low, env.action_space.high, env.action_space.names }, { { -2 }, { 2 }, { "push" } })
  eq({ #env.observation_space.low, env.observation_space.high[1] }, { 2, math.huge })
  local first, info = env:reset { seed = 4 }
  eq(info.parameters, { mass = 1 })
  local seen, reward, terminated, truncated, told = env:step { 1 }
  -- free flight is integrated by the trapezoid
  near(seen[2], 0.02, 1e-14)
  near(seen[1] - first[1], 0.5 * 0.02 ^ 2, 1e-14)
  near(reward, -seen[1] ^ 2 - 0.1, 1e-14)
  eq({ terminated, truncated, told.unsolved }, { false, false, false })
  ok(told.residual < 1e-9)
  near(told.time, 0.02, 1e-14)
  for _ = 2, 30 do seen, reward, terminated, truncated = env:step(0) end
  eq({ terminated, truncated }, { false, true })
  raises("cart:step: the episode is over: reset first", env.step, env, 0)
  env:reset()
  for _ = 1, 29 do
    seen, reward, terminated, truncated = env:step(-9) -- clipped to -2
    near(reward, -seen[1] ^ 2 - 0.4, 1e-13)
    if terminated then break end
  end
end)

test("equal seeds give equal bits, different seeds different ones", function()
  local env, other = sim.env(def()), sim.env(def())
  local function run(e, seed)
    local told = { e:reset { seed = seed, randomise = true }[1], e.parameters.mass }
    for k = 1, 20 do told[#told + 1] = e:step(math.sin(k))[1] end
    return told
  end
  local one = run(env, 7)
  eq(run(other, 7), one)
  run(env, 8)
  eq(run(env, 7), one)
  ok(run(env, 8)[1] ~= one[1])
  ok(one[2] >= 0.5 and one[2] <= 2 and one[2] ~= 1)
  eq(sim.env.check(env), 180)
end)

test("rewards as costs, and derivatives through an episode", function()
  local env
  env = sim.env(def { terminated = "none", reward = { { "x", residual = function(w) return w.bodies.cart.x end, weight = 2 }, controls = 0.2 },
    reset = function(world) world.bodies.cart.x = 1 end })
  env:reset()
  local seen, reward = env:step(1)
  near(reward, -(seen[1] ^ 2 + 0.1), 1e-12)
  env = sim.env(def { terminated = "none", reset = function(world) world.bodies.cart.x = 1 end })
  local function loss(u)
    env:reset()
    local sum = 0
    for _ = 1, 10 do
      local _, r = env:step { u }
      sum = sum - r
    end
    return sum
  end
  local _, slope = sim.value_and_grad(loss, 0.3)
  near(slope, (loss(0.3 + 1e-5) - loss(0.3 - 1e-5)) / 2e-5, 1e-6)
end)

test("evaluation by the baseline and by a law", function()
  local env = sim.env(def { max_steps = 400 })
  local mean, returns, steps = env:evaluate { episodes = 5 }
  eq(#returns, 5)
  ok(mean < 0 and steps > 10)
  eq(env:evaluate { episodes = 5 }, mean)
  local idle = env:evaluate { episodes = 5, law = function() return function() return 0 end end }
  ok(idle < mean)
end)

test("actions by number", function()
  local env = sim.env(def { actions = { { -1 }, { 1 } } })
  eq(env.action_space.n, 2)
  env:reset { seed = 1 }
  near(env:step(2)[2], 0.02, 1e-14)
  raises("an action from 1 to 2 expected, got 3", env.step, env, 3)
  raises("an action from 1 to 2 expected, got table", env.step, env, { 1 })
end)

test("tolerance", function()
  local tolerance = sim.env.tolerance
  eq({ tolerance(0.5, { 0, 1 }), tolerance(1.5, { 0, 1 }), tolerance(0) }, { 1, 0, 1 })
  for _, shape in ipairs { "gaussian", "linear", "quadratic", "long_tail", "reciprocal", "hyperbolic", "cosine" } do
    near(tolerance(3, { 0, 1 }, 2, shape), 0.1, 1e-12)
    near(tolerance(-2, { 0, 1 }, 2, shape, 0.4), 0.4, 1e-12)
    ok(tolerance(2, { 0, 1 }, 2, shape) > 0.1)
    near(sim.grad(function(x) return tolerance(x, { 0, 1 }, 2, shape) end, 2),
      (tolerance(2.00001, { 0, 1 }, 2, shape) - tolerance(1.99999, { 0, 1 }, 2, shape)) / 2e-5, 1e-7)
  end
  raises("lo <= hi expected", tolerance, 1, { 2, 1 })
  raises("a margin of at least 0", tolerance, 1, { 0, 1 }, -1)
  raises("one of cosine, gaussian", tolerance, 1, { 0, 1 }, 1, "square")
  raises("a value between 0 and 1", tolerance, 1, { 0, 1 }, 1, "linear", 1)
end)

test("findings of check", function()
  local check = sim.env.check
  raises("a result of sim.env", check, {})
  raises("two runs with equal seeds and actions differ", check, sim.env(def { reset = function(world)
    world.bodies.cart.x = sim.random.uniform(0.5, 1.5)
  end }))
  raises("step 1: the reward is nan", check, sim.env(def { reward = function() return 0 / 0 end }))
  raises("reset: number 1 of the observation is 9, outside 20 to inf", check, sim.env(def { low = { 20, -9 }, reset = function(world) world.bodies.cart.x = 9 end }))
end)

test("keys that a person plays by", function()
  local function keys(changes) return sim.env(def(changes)).keys end
  -- without any: from one end of the range to the other, with two or three actions each
  eq(keys(), { left = { -2 }, right = { 2 } })
  eq(keys { actions = { { -1 }, { 1 } } }, { left = 1, right = 2 })
  eq(keys { actions = { { -1 }, { 0 }, { 1 } } }, { left = 1, none = 2, right = 3 })
  eq(keys { actions = { { -1 }, { 0 }, { 1 }, { 2 } } }, { ["1"] = 1, ["2"] = 2, ["3"] = 3, ["4"] = 4 })
  eq(keys { keys = { up = { 1 } } }, { up = { 1 } })
  -- a range that begins at 0, a goal, one without ends
  local function with(actuator)
    return { world = function()
      local world = sim.world { dt = 0.01 }
      local cart = world:box { name = "cart", size = { 1, 1 }, mask = 0 }
      local rail = world:slider { cart, axis = { 1, 0 }, anchor = { 0, 0 } }
      world:actuator(actuator(cart, rail))
      world:observe { "cart", of = cart, field = { "x", "vx" } }
      return world
    end }
  end
  eq(keys(with(function(cart) return { "f", body = cart, kind = "force", direction = { 1, 0 }, range = { 0, 5 } } end)), { left = { 0 }, right = { 5 } })
  eq(keys(with(function(_, rail) return { "p", joint = rail, kind = "position", range = { -1, 3 } } end)), { left = { -2 }, right = { 2 } })
  eq(keys(with(function(cart) return { "f", body = cart, kind = "force", direction = { 1, 0 } } end)), {})
  eq(sim.env(def()):play(), false) -- there is no viewer
  local env = sim.env
  raises("key 'keys': a table that maps names of keys to actions expected, got 3", env, def { keys = 3 })
  raises("names of keys in lower case expected, got 'A'", env, def { keys = { A = { 1 } } })
  raises("'keys.r': this key is reserved: restart the episode", env, def { keys = { r = { 1 } } })
  raises("'keys.up': a list of numbers to add to the commands expected, got 1", env, def { keys = { up = 1 } })
  raises("'keys.up': a list of up to 1 numbers expected", env, def { keys = { up = { 1, 2 } } })
  raises("'keys.up': an action from 1 to 2 expected, got 3", env, def { actions = { { -1 }, { 1 } }, keys = { up = 3 } })
  raises("key 'follow': a text expected, got 1", env, def { follow = 1 })
  raises("key 'about_baseline': a text expected, got true", env, def { about_baseline = true })
end)

test("changes of mode are counted", function()
  local M, MU, G = 2, 0.5, 10
  local env = sim.env(def { parameters = {}, terminated = "none", world = function()
    local world = sim.world { dt = 0.01, gravity = { 0, -G } }
    world:box { type = "static", size = { 20, 1 }, position = { 0, -0.5 }, friction = MU }
    local cart = world:box { name = "cart", size = { 1, 1 }, mass = M, position = { 0, 0.5 }, friction = MU }
    world:actuator { "push", body = cart, kind = "force", direction = { 1, 0 }, range = { -100, 100 } }
    world:actuator { "lift", body = cart, kind = "force", direction = { 0, 1 }, range = { 0, 100 } }
    world:observe { "cart", of = cart, field = { "x", "vx" } }
    return world
  end, reset = "none" })
  env:reset()
  local counts = {}
  local function steps(u, n)
    local sum = 0
    for _ = 1, n do
      local _, _, _, _, info = env:step(u)
      sum = sum + info.mode_changes
    end
    counts[#counts + 1] = sum
  end
  steps({ 0, 0 }, 3)                -- two corners begin to stick
  steps({ 0.5 * MU * M * G, 0 }, 3) -- and continue to
  steps({ 1.5 * MU * M * G, 0 }, 3) -- they slip
  steps({ 0, 0 }, 9)                -- and stick again
  steps({ 0, 2 * M * G }, 3)        -- and part
  eq(counts, { 2, 0, 2, 2, 2 })
  eq(env.world:stats().mode_changes, 8)
  local _, _, _, told = env:evaluate { episodes = 2, law = function() return function() return { 0, 0 } end end }
  eq({ told.mode_changes, told.unsolved, told.terminated }, { 4, 0, { false, false } })
  ok(told.residual > 0 and told.residual < 1e-9)
end)

test("bad input", function()
  local env = sim.env
  raises("a table expected, got 3", env, 3)
  raises("unknown key 'rewards'; did you mean 'reward'", env, def { rewards = 1 })
  raises("env: world", env, def { world = 3 })
  raises("has to return the world", env, def { world = function() return {} end })
  raises("key 'reward'", env, def { reward = "none" })
  raises("key 'period': a multiple of the world's dt %(0.01 s%)", env, def { period = 0.015 })
  raises("key 'max_steps'", env, def { max_steps = 0 })
  raises("parameters.mass': { usual, lo, hi }", env, def { parameters = { mass = { 1, 2, 3 } } })
  raises("actions%[1%]': a list of 1 commands", env, def { actions = { { 1, 2 } } })
  raises("the world has no observations", env, def { world = function() return sim.world {} end, reset = "none" })
  local cart = env(def())
  raises("before the first step", cart.step, cart, 0)
  raises("unknown key 'sead'; did you mean 'seed'", cart.reset, cart, { sead = 1 })
  raises("seed: a whole number", cart.reset, cart, { seed = 1.5 })
  raises("there is no parameter 'weight'", cart.reset, cart, { parameters = { weight = 1 } })
  cart:reset()
  raises("1 commands expected %(push%), got table", cart.step, cart, { 1, 2 })
  raises("command 1 %(push%) is nan", cart.step, cart, { 0 / 0 })
  raises("reward: a number expected, got 'much'", function()
    local e = env(def { reward = function() return "much" end })
    e:reset()
    e:step(0)
  end)
  raises("there is no baseline", cart.evaluate, env(def { baseline = "none" }))
  raises("of the script", function() env(def { reset = function() error "of the script" end }) end)
end)

test("a world is used again if it is unchanged since it was built", function()
  local builds = 0
  local function counted(changes)
    local all = def(changes)
    local build = all.world
    all.world = function(...)
      builds = builds + 1
      return build(...)
    end
    return sim.env(all)
  end
  local env = counted()
  local world = env.world
  for seed = 1, 3 do
    env:reset { seed = seed }
    env:step(1)
  end
  eq({ builds, env.world == world, env.world.time > 0 }, { 1, true, true })
  -- other parameters, other objects in it, functions that run in its steps, closed: built again
  env:reset { parameters = { mass = 2 } }
  eq({ builds, env.world.bodies.cart.mass, env.world == world }, { 2, 2, false })
  env:reset { parameters = { mass = 2 } }
  eq(builds, 2)
  env.world:circle { radius = 1 }
  env:reset { parameters = { mass = 2 } }
  eq({ builds, #env.world.bodies }, { 3, 1 })
  env.world:before_step(function() end)
  env:reset { parameters = { mass = 2 } }
  env.world:observe { "more", of = env.world.bodies.cart, field = "y" }
  env:reset { parameters = { mass = 2 } }
  env.world:close()
  env:reset { parameters = { mass = 2 } }
  eq(builds, 6)
  -- random parts are drawn again
  builds = 0
  local drawn = counted { world = function(p, random)
    local w = def().world(p)
    w.bodies.cart.mass = random:uniform(1, 2)
    return w
  end }
  drawn:reset { seed = 1 }
  local first = drawn.world.bodies.cart.mass
  drawn:reset {}
  ok(drawn.world.bodies.cart.mass ~= first)
  drawn:reset { seed = 1 }
  eq({ drawn.world.bodies.cart.mass, builds }, { first, 4 })
end)

test("a vector of environments gives the results of each alone", function()
  local actions = {}
  local random = sim.random.split()
  for k = 1, 40 do actions[k] = random:uniform(-3, 3) end
  for _, threads in ipairs { 1, 3 } do
    for _, hooked in ipairs { false, true } do -- functions of the script in steps: not by threads
      local task = sim.env(def(hooked and { world = function(p)
        local world = def().world(p)
        world:before_step(function() world.bodies.cart:apply_force { 0, 1 } end)
        return world
      end }))
      local vector = sim.env.vector(task, { count = 70, threads = threads, autoreset = "disabled" })
      eq({ #vector, tostring(vector) }, { 70, "EnvVector (70 of cart)" })
      vector:reset { seed = 5 }
      local alone, seen, over = {}, {}, {}
      for i = 1, 70 do
        alone[i] = sim.env(task.def)
        alone[i]:reset { seed = 5 + i - 1 }
      end
      for k = 1, 12 do
        local given = {}
        for i = 1, 70 do given[i] = actions[(i + k) % 40 + 1] end
        local observations, rewards, terminated, truncated = vector:step(given)
        for i = 1, 70 do
          local reward, ended, cut, info
          seen[i], reward, ended, cut, info = alone[i]:step(given[i])
          over[i] = ended or cut
          eq({ observations[2 * i - 1], observations[2 * i], rewards[i], terminated[i], truncated[i], vector.mode_changes[i],
            vector.unsolved[i] }, { seen[i][1], seen[i][2], reward, ended and 1 or 0, cut and 1 or 0, info.mode_changes, 0 })
        end
        vector:reset { mask = over }
        for i = 1, 70 do if over[i] then alone[i]:reset() end end
      end
    end
  end
end)

test("vectors: errors", function()
  local task = sim.env(def { max_steps = 2 })
  raises("vector: count: an integer from 1 to 100000 expected", sim.env.vector, task, {})
  raises("vector: count: an integer from 1", sim.env.vector, task, { count = 0 })
  raises("a result of sim.env expected, got table", sim.env.vector, {}, { count = 1 })
  raises("unknown key 'thread'; did you mean 'threads'", sim.env.vector, task, { count = 1, thread = 1 })
  raises("autoreset: 'next_step', 'same_step' or 'disabled' expected", sim.env.vector, task, { count = 1, autoreset = 1 })
  local vector = sim.env.vector(task, { count = 2 })
  raises("cart:step: call reset before the first step", vector.step, vector, { 0, 0 })
  vector:reset { seed = 1 }
  raises("2 actions expected, got 1", vector.step, vector, 1)
  raises("2 actions expected", vector.step, vector, { 1 })
  raises("command 1 %(push%) is", vector.step, vector, { 1, 0 / 0 })
  -- seeds one by one
  for _, seeds in ipairs { { 8, 9, 10 }, { [0] = 8 }, { x = 8 } } do
    raises("seeds: a list of up to 2 seeds expected, one per environment", vector.reset, vector, { seeds = seeds })
  end
  raises("seeds: a list of up to 2 seeds expected, .*, got 5", vector.reset, vector, { seeds = 5 })
  local a = vector:reset { seeds = { 8, 9 } }:copy()
  local env = sim.env(task.def)
  eq({ env:reset { seed = 9 }[1], env:reset { seed = 8 }[1] }, { a[3], a[1] })
end)
