-- Tasks whose reward, end and start are declared, and many environments of one task: the bits of a single one.
local sim = require "sim2d"

local function world(p)
  local w = sim.world { dt = 0.01, gravity = { 0, 0 } }
  local cart = w:box { name = "cart", size = { 1, 1 }, mass = p.mass, mask = 0 }
  local pole = w:box { name = "pole", size = { 0.1, 1 }, mass = 0.2, position = { 0, 0.5 }, mask = 0 }
  local rail = w:slider { cart, name = "rail", axis = { 1, 0 }, anchor = { 0, 0 } }
  local hinge = w:hinge { pole, cart, name = "hinge", anchor = { 0, 0 } }
  w:actuator { "push", joint = rail, kind = "force", range = { -2, 2 } }
  w:observe { "cart", of = rail, field = { "translation", "speed" } }
  w:observe { "pole", of = hinge, field = "angle" }
  return w
end

local DRAWS = { { of = "rail", field = "translation", uniform = { 0.5, 1.5 } }, { of = "hinge", field = "angle", normal = { 0, 0.3 } } }
local REWARD = { constant = 2, { of = "rail", field = "translation", goal = 0.2, weight = 2 }, { of = "hinge", field = "angle", norm = "smooth_abs", wrap = true },
  { of = "cart", field = "vx", terminal = 3 }, { of = "controls", weight = 0.2 } }
local BOUNDS = { { of = "rail", field = "translation", lo = 0.8 }, { of = "hinge", field = "angle", lo = -2, hi = 2 } }

local compare_later = {} -- tasks of a test, for another one

local function def(changes)
  local all = { name = "cart", period = 0.02, max_steps = 30, parameters = { mass = { 1, 0.5, 2 } }, world = world, reset = DRAWS,
    reward = REWARD, terminated = BOUNDS }
  for key, value in pairs(changes or {}) do all[key] = value ~= "none" and value or nil end
  return all
end

test("declared terms equal terms by functions", function()
  local one = sim.env(def())
  local other = sim.env(def { reset = function(w, random)
    w.joints.rail.translation = random:uniform(0.5, 1.5)
    w.joints.hinge.angle = 0 + 0.3 * random:normal()
  end, reward = function(w, u, env)
    local x, angle, speed = w.joints.rail.translation, w.joints.hinge.angle, w.bodies.cart.vx
    local reward = 2 - 2 * ((x - 0.2) ^ 2 / 2)
    reward = reward - (math.sqrt(angle ^ 2 + 0.1 ^ 2) - 0.1) - 0.2 * (u[1] ^ 2 / 2)
    if x < 0.8 or math.abs(angle) > 2 or env.steps == env.max_steps then reward = reward - 3 * (speed ^ 2 / 2) end
    return reward
  end, terminated = function(w) return w.joints.rail.translation < 0.8 or math.abs(w.joints.hinge.angle) > 2 end })
  local terminations, truncations = 0, 0
  for seed = 1, 12 do
    local seen = one:reset { seed = seed }
    eq(other:reset { seed = seed }, seen)
    for k = 1, 30 do
      local u = seed % 3 == 0 and -3 or 2 * math.sin(k)
      local first, second = { one:step(u) }, { other:step(u) }
      eq({ second[1], second[3], second[4] }, { first[1], first[3], first[4] })
      near(second[2], first[2], 1e-13)
      if first[3] or first[4] then
        terminations, truncations = terminations + (first[3] and 1 or 0), truncations + (first[4] and 1 or 0)
        break
      end
    end
  end
  ok(terminations > 2 and truncations > 2)
  sim.env.check(one)
end)

test("a number can be a reward", function()
  local env = sim.env(def { reward = 1.5, terminated = "none", max_steps = 3 })
  env:reset { seed = 1 }
  eq((select(2, env:step(0))), 1.5)
  -- a declared end together with a function as reward, and the reverse
  env = sim.env(def { reward = function(_, u) return u[1] end, terminated = { { of = "rail", field = "speed", hi = 0.01 } } })
  env:reset { seed = 1 }
  local _, reward, terminated = env:step(5)
  eq({ reward, terminated }, { 2, true })
  env = sim.env(def { reward = -1, terminated = function(w) return w.time > 0.03 end })
  env:reset { seed = 1 }
  eq((select(3, env:step(0))), false)
  eq((select(3, env:step(0))), true)
end)

test("declared rewards have derivatives", function()
  local env = sim.env(def { terminated = "none", reset = function(w) w.joints.rail.translation = 1 end, max_steps = 10 })
  local function loss(u)
    env:reset { seed = 1 }
    local sum = 0
    for k = 1, 10 do
      local _, reward = env:step { u * k * 0.1 }
      sum = sum - reward
    end
    return sum
  end
  local value, slope = sim.value_and_grad(loss, 0.7)
  near(value, loss(0.7), 1e-12)
  near(slope, (loss(0.7 + 1e-5) - loss(0.7 - 1e-5)) / 2e-5, 1e-6)
end)

-- A walker with all kinds of declarations, and the same one by functions.
local function stepper()
  local w = sim.world { dt = 0.01 }
  w:box { name = "ground", type = "static", size = { 20, 1 }, position = { 0, -0.5 }, friction = 0.5 }
  local body = w:box { name = "body", size = { 0.4, 0.4 }, position = { 0, 0.25 }, friction = 0.5 }
  local arm = w:box { name = "arm", size = { 0.1, 0.8 }, mass = 0.5, position = { 0, 0.8 } }
  local joint = w:hinge { arm, body, name = "joint", anchor = { 0, 0.4 } }
  w:actuator { "turn", joint = joint, kind = "torque", range = { -5, 5 } }
  w:actuator { "push", body = body, kind = "force", direction = { 1, 0 }, range = { -30, 30 } }
  return w
end

test("factors, scales, touches, directions and relative draws have the bits of functions", function()
  local SHAPES = { "gaussian", "linear", "quadratic", "long_tail", "reciprocal", "hyperbolic", "cosine" }
  local random = sim.random.split()
  random:seed(2)
  for _, shape in ipairs(SHAPES) do
    local value, lo = random:uniform(0.01, 0.4), random:uniform(0.1, 0.5)
    local one = sim.env { period = 0.02, max_steps = 40, world = function()
      local w = stepper()
      w:observe { "arm", of = w.joints.joint, field = "direction" }
      w:observe { "body", of = w.bodies.body, field = { "direction", "touches", "y" } }
      return w
    end, reset = { { of = { "body", "arm" }, field = "y", relative = true, uniform = { 0.01, 0.3 } },
      { of = "joint", field = "angle", uniform = { -0.1, 0.1 }, add = -0.3 }, { of = "joint", field = "speed", normal = { 0, 3 } },
      { of = { "arm", "body" }, field = { "x", "vx" }, relative = true, constant = 0.07 } },
      reward = { constant = 0.25, factors = { { of = "body", field = "vx", bounds = { lo, math.huge }, margin = 0.7, shape = shape, value = value },
        { of = "joint", field = "angle", bounds = 0.1, margin = 2, shape = shape }, { of = "body", field = "y", bounds = { 0, 9 } } },
        { of = "controls", scale = { 5, 30 }, weight = 2e-2 } },
      terminated = { { of = "joint", field = "angle", lo = -9, hi = 9 }, { of = "arm", field = "touches", hi = 0 } } }
    local other = sim.env { period = 0.02, max_steps = 40, world = function()
      local w = stepper()
      w:observe { "arm", read = function() return { math.cos(w.joints.joint.angle), math.sin(w.joints.joint.angle) } end }
      w:observe { "body", read = function(v)
        local b = v.bodies.body
        return { math.cos(b.angle), math.sin(b.angle), #b:contacts() > 0 and 1 or 0, b.y }
      end }
      return w
    end, reset = function(w, r)
      local body, arm, joint = w.bodies.body, w.bodies.arm, w.joints.joint
      local up = r:uniform(0.01, 0.3)
      body.y, arm.y = body.y + up, arm.y + up
      joint.angle = -0.3 + r:uniform(-0.1, 0.1)
      joint.speed = r:normal(0, 3)
      for _, b in ipairs { body, arm } do b.x, b.vx = b.x + 0.07, b.vx + 0.07 end
    end, reward = function(w, u)
      local T = sim.env.tolerance
      local product = T(w.bodies.body.vx, { lo, math.huge }, 0.7, shape, value) * T(w.joints.joint.angle, 0.1, 2, shape)
        * T(w.bodies.body.y, { 0, 9 })
      return 0.25 + product - 2e-2 * ((u[1] / 5) ^ 2 / 2 + (u[2] / 30) ^ 2 / 2)
    end, terminated = function(w) return math.abs(w.joints.joint.angle) > 9 or #w.bodies.arm:contacts() > 0 end }
    local touched, ended = 0, 0
    for seed = 1, 6 do
      eq(other:reset { seed = seed }, (one:reset { seed = seed }))
      for _ = 1, 40 do
        local u = { random:uniform(-0.5, 0.5), random:uniform(-30, 30) }
        local first, second = { one:step(u) }, { other:step(u) }
        eq({ second[1], second[2], second[3], second[4] }, { first[1], first[2], first[3], first[4] })
        touched = touched + first[1][5]
        ended = ended + (first[3] and 1 or 0)
        if first[3] or first[4] then break end
      end
    end
    ok(touched > 0 and ended > 0, ("%s: %d touched, %d ended"):format(shape, touched, ended))
    compare_later[#compare_later + 1] = one
  end
end)

test("declared factors have derivatives", function()
  local env = sim.env { period = 0.02, max_steps = 10, world = function()
    local w = stepper()
    w:observe { "arm", of = w.joints.joint, field = "direction" }
    return w
  end, reset = { { of = { "body", "arm" }, field = "y", relative = true, constant = 0.5 } },
    reward = { factors = { { of = "joint", field = "angle", bounds = { 1, 2 }, margin = 2, shape = "gaussian" } },
      { of = "controls", field = 1, scale = 5 } } }
  local function loss(u)
    local seen = env:reset { seed = 1 }
    local sum, reward = 0, nil
    for k = 1, 10 do
      seen, reward = env:step { u * k, 0 }
      sum = sum - reward + seen[2]
    end
    return sum
  end
  local value, slope = sim.value_and_grad(loss, 0.3)
  near(value, loss(0.3), 1e-12)
  near(slope, (loss(0.3 + 1e-5) - loss(0.3 - 1e-5)) / 2e-5, 1e-6)
end)

test("declared rewards, factors and observations have the derivatives of functions", function()
  local T = sim.env.tolerance
  for _, shape in ipairs { "gaussian", "linear", "quadratic", "long_tail", "reciprocal", "hyperbolic", "cosine" } do
    for _, observed in ipairs { { "angle", "omega", "direction", "vy" }, { "mass", "angle", "omega", "direction", "vy" } } do -- C does not know all
      local function build()
        local w = stepper()
        w:observe { "joint", of = w.joints.joint, field = { "angle", "speed" }, noise = 0.01 }
        w:observe { "body", of = w.bodies.body, field = observed }
        return w
      end
      local heavy = #observed == 5 -- a reward that depends on the mass is evaluated in Lua
      local start = { { of = { "body", "arm" }, field = "y", relative = true, constant = 0.5 } }
      local reward = { constant = 0.5, factors = { { of = "joint", field = "angle", bounds = { 1, 2 }, margin = 2, shape = shape },
        { of = "body", field = "vx", bounds = 3, margin = 5, shape = shape, value = 0.3 } },
        { of = "controls", field = 1, scale = 5 }, { of = "arm", field = { "x", "vy" }, scale = { 2, 3 }, norm = "l2", weight = 1, terminal = 2 },
        heavy and { of = "body", field = "mass", goal = 1 } or nil }
      local one = sim.env { period = 0.02, max_steps = 10, world = build, reset = start, reward = reward }
      local other = sim.env { period = 0.02, max_steps = 10, world = build, reset = start, reward = function(w, u, env)
        local body, arm = w.bodies.body, w.bodies.arm
        local size = sim.sqrt((arm.x / 2) ^ 2 + (arm.vy / 3) ^ 2 + 0.01) - 0.1
        local sum = 0.5 + T(w.joints.joint.angle, { 1, 2 }, 2, shape) * T(body.vx, 3, 5, shape, 0.3) - (u[1] / 5) ^ 2 / 2 - size
        if heavy then sum = sum - (body.mass - 1) ^ 2 / 2 end
        return env.steps == env.max_steps and sum - 2 * size or sum
      end }
      local function loss_of(env)
        return function(u)
          local seen = env:reset { seed = 1 }
          local sum, got = 0, nil
          for k = 1, 10 do
            seen, got = env:step { u[1] * k, 20 * u[2] }
            for i, x in ipairs(seen) do sum = sum + 0.01 * i * x end
            sum = sum - got
          end
          return sum
        end
      end
      local at = { 0.3, 0.7 }
      local value, slope = sim.value_and_grad(loss_of(one), at)
      local its, slopes = sim.value_and_grad(loss_of(other), at)
      eq(value, (loss_of(one)(at)))
      near(value, its, 1e-12)
      for i = 1, 2 do near(slope[i], slopes[i], 1e-9 * (1 + math.abs(slopes[i]))) end
      ok(sim.check_grad(loss_of(one), at, { print = false }) < 1e-6)
    end
  end
end)

test("points of bodies have the bits and the derivatives of functions", function()
  local TIP = { 0.05, 0.5 }
  local one = sim.env(def { reward = { constant = 1, factors = { { of = "pole", at = TIP, field = "y", bounds = { 0.9, 2 }, margin = 1 } },
    { of = "pole", at = TIP, field = { "x", "y" }, goal = { 0, 1 }, weight = 0.2 } },
    terminated = { { of = "pole", at = TIP, field = "y", lo = 0.2 } } })
  local function tip(w)
    local b = w.bodies.pole
    local c, s = sim.cos(b.angle), sim.sin(b.angle)
    return b.x + (c * TIP[1] - s * TIP[2]), b.y + (s * TIP[1] + c * TIP[2])
  end
  local other = sim.env(def { reward = function(w)
    local x, y = tip(w)
    return 1 + sim.env.tolerance(y, { 0.9, 2 }, 1) - 0.1 * (x ^ 2 + (y - 1) ^ 2)
  end, terminated = function(w)
    local _, y = tip(w)
    return y < 0.2
  end })
  local ended = 0
  for seed = 1, 12 do
    eq(other:reset { seed = seed }, (one:reset { seed = seed }))
    for k = 1, 30 do
      local u = { 2 * math.sin(k + seed) }
      local first, second = { one:step(u) }, { other:step(u) }
      eq({ second[1], second[2], second[3] }, { first[1], first[2], first[3] })
      ended = ended + (first[3] and 1 or 0)
      if first[3] or first[4] then break end
    end
  end
  local function loss(env)
    return function(u)
      env:reset { seed = 3 }
      local sum = 0
      for k = 1, 5 do
        local _, reward = env:step { u[1] * k }
        sum = sum + reward
      end
      return sum
    end
  end
  local value, slope = sim.value_and_grad(loss(one), { 0.3 })
  local its, slopes = sim.value_and_grad(loss(other), { 0.3 })
  eq(value, its)
  near(slope[1], slopes[1], 1e-9 * math.abs(slopes[1]))
  ok(math.abs(slope[1]) > 1e-4 and sim.check_grad(loss(one), { 0.3 }, { print = false }) < 1e-6)
  compare_later[#compare_later + 1] = one
end)

-- ---- Many ---------------------------------------------------------------------------------------

test("vectors of tasks with factors and contacts", function()
  ok(#compare_later > 0)
  for k, task in ipairs(compare_later) do
    local vector = sim.env.vector(task, { count = 5, threads = 1 + k % 3 })
    local random = sim.random.split()
    vector:reset { seed = 4 }
    local alone = {}
    for i = 1, 5 do
      alone[i] = sim.env(task.def)
      alone[i]:reset { seed = 4 + i - 1 }
    end
    for _ = 1, 60 do
      local actions = {}
      for i = 1, 5 do
        local first, second = random:uniform(-0.5, 0.5), random:uniform(-30, 30)
        actions[i] = #task.action_space.low == 2 and { first, second } or { 4 * first }
      end
      local _, rewards, terminated, truncated = vector:step(actions)
      for i = 1, 5 do
        local seen, reward, stop, cut
        if alone[i].over then
          seen, reward, stop, cut = alone[i]:reset(), 0, false, false
        else
          seen, reward, stop, cut = alone[i]:step(actions[i])
        end
        eq({ rewards[i], terminated[i], truncated[i] }, { reward, stop and 1 or 0, cut and 1 or 0 })
        for j = 1, #seen do eq(vector.observations[(i - 1) * #seen + j], seen[j]) end
      end
    end
  end
end)

local VARIANTS = {
  declared = {},
  ["a function as reset"] = { reset = function(w, random) w.joints.rail.translation = random:uniform(0.5, 1.5) end },
  ["functions"] = { reward = function(w, u, env) return w.joints.rail.translation - u[1] + env.steps + env.parameters.mass end,
    terminated = function(w, env) return w.joints.rail.translation < 0.6 + 0.001 * env.steps end },
  ["a function as end"] = { terminated = function(w) return w.joints.rail.translation < 0.7 end },
  ["observed by a function"] = { world = function(p)
    local w = world(p)
    w:observe { "far", read = function(v) return v.bodies.pole.x ^ 2 end }
    return w
  end },
  ["functions in steps"] = { world = function(p)
    local w = world(p)
    w:before_step(function() w.bodies.pole:apply_force { 0.1, 0 } end)
    return w
  end },
  ["random worlds"] = { world = function(p, random)
    local w = world(p)
    w.bodies.pole.mass = random:uniform(0.1, 0.3)
    for _ = 1, random:integer(0, 2) do w:circle { radius = 0.1, position = { 9, 9 }, mask = 0 } end
    return w
  end },
  ["actions by number"] = { actions = { { -9 }, { 0.5 }, { 1 } } },
}

-- Compares the results of a vector in this mode with those of single environments. From step `look` on, reads their
-- Lua objects, too.
local function compare(name, task, mode, threads, randomise, look)
  local n, m = 20, -- more than a thread takes at a time
    #task.observation_space.low
  local vector = sim.env.vector(task, { count = n, threads = threads, autoreset = mode, randomise = randomise })
  local random = sim.random.split()
  random:seed(3)
  local alone, due, ended = {}, {}, 0
  local function same(i, seen, where)
    for k = 1, m do
      if vector.observations[(i - 1) * m + k] ~= seen[k] then error(("%s, %s, %d threads: environment %d %s"):format(name, mode, threads, i, where)) end
    end
  end
  vector:reset { seed = 5 }
  for i = 1, n do
    alone[i] = sim.env(task.def)
    same(i, (alone[i]:reset { seed = 5 + i - 1, randomise = randomise }), "begins elsewhere")
  end
  for k = 1, 24 do
    local given, over = {}, {}
    for i = 1, n do given[i] = task.action_space.n and random:integer(1, 3) or random:uniform(-4, 2) end
    local _, rewards, terminated, truncated = vector:step(k % 2 == 0 and sim.array(given) or given)
    for i = 1, n do
      if due[i] then
        same(i, (alone[i]:reset { randomise = randomise }), "begins again elsewhere")
        eq({ rewards[i], terminated[i], truncated[i] }, { 0, 0, 0 })
        due[i] = nil
      else
        local seen, reward, stop, cut = alone[i]:step(given[i])
        eq({ rewards[i], terminated[i], truncated[i] }, { reward, stop and 1 or 0, cut and 1 or 0 })
        over[i] = stop or cut
        ended = ended + (over[i] and 1 or 0)
        if over[i] and mode == "same_step" then
          eq(vector.final[i], seen)
          seen = alone[i]:reset { randomise = randomise }
        elseif over[i] and mode == "next_step" then
          due[i] = true
        end
        same(i, seen, "goes elsewhere")
        if k >= look then eq({ vector.envs[i].steps, vector.envs[i].over }, { alone[i].steps, alone[i].over }) end
      end
    end
    if mode == "disabled" and next(over) then
      vector:reset { mask = over }
      for i = 1, n do if over[i] then same(i, (alone[i]:reset { randomise = randomise }), "is reset elsewhere") end end
    end
  end
  ok(ended > n)
end

for name, changes in pairs(VARIANTS) do
  test("a vector gives the results of single environments: " .. name, function()
    changes.max_steps = 9
    local task = sim.env(def(changes))
    compare(name, task, "next_step", 1, false, 1)
    compare(name, task, "next_step", 3, false, 17)
    compare(name, task, "next_step", 2, false, 99)
    compare(name, task, "same_step", 2, true, 99)
    compare(name, task, "same_step", 1, false, 99)
    compare(name, task, "disabled", 3, false, 24)
  end)
end

test("functions that raise, worlds that are closed", function()
  local bad = 0
  local task = sim.env(def { reset = "none", terminated = "none", reward = function(w, u)
    if u[1] == bad then error "too much" end
    return u[1]
  end })
  local vector = sim.env.vector(task, { count = 3, threads = 2 })
  vector:reset { seed = 1 }
  bad = 1
  raises("test_declared.lua:%d+: too much", vector.step, vector, { 0.5, 1, 2 })
  -- the others have been stepped; that one begins again
  eq({ vector.rewards[1], vector.rewards[3], vector.truncated[2] }, { 0.5, 2, 1 })
  bad = 9
  vector:step { 0.5, 1, 2 }
  eq({ vector.rewards[1], vector.rewards[2], vector.envs[2].steps }, { 0.5, 0, 0 })
  vector.envs[3].world:close()
  raises("cart: environment 3: the world is closed", vector.step, vector, { 0, 0, 0 })
  vector:step { 0, 0, 0 }
  vector:step { 0, 0, 1.5 }
  eq(vector.rewards[3], 1.5)
  raises("reward: a number expected, got 'much'", function()
    local v = sim.env.vector(sim.env(def { reward = function() return "much" end }), { count = 2 })
    v:reset()
    v:step { 0, 0 }
  end)
  -- an addition to a world of the script is dropped with the next episode, or reported
  vector.envs[1].world:observe { "more", of = vector.envs[1].world.bodies.cart, field = "y" }
  raises("environment 1: it observes 4 numbers, not 3", vector.step, vector, { 0, 0, 0 })
  vector:step { 0, 0, 0 }
  vector:step { 0, 0, 0 }
  vector.envs[1].world:actuator { "more", body = vector.envs[1].world.bodies.cart, kind = "torque" }
  raises("environment 1: the world has a different number of actuators", vector.step, vector, { 0, 0, 0 })
  -- from within
  local inner
  inner = sim.env.vector(sim.env(def { reward = function() return inner:step { 0 } end }), { count = 1 })
  inner:reset()
  raises("cannot be called from inside its step", inner.step, inner, { 0 })
end)

test("invalid actions", function()
  local vector = sim.env.vector(sim.env(def()), { count = 2, autoreset = "disabled" })
  raises("cart:step: call reset before the first step", vector.step, vector, { 0, 0 })
  vector:reset { seed = 1 }
  for _, actions in ipairs { { 0, "x" }, { 0, {} }, { 0, { 1, 2 } }, { 0, 0 / 0 }, sim.array { 0, 0 } / sim.array { 1, 0 } } do
    raises("cart:step: .*command", vector.step, vector, actions)
  end
  for _, actions in ipairs { {}, { 1 }, sim.array { 1, 2, 3 }, sim.zeros(3, 2), "x" } do
    raises("2 actions expected", vector.step, vector, actions)
  end
  vector:step { { 1 }, math.huge } -- clipped
  local numbered = sim.env.vector(sim.env(def { actions = { { -1 }, { 1 } } }), { count = 2 })
  numbered:reset { seed = 1 }
  for _, actions in ipairs { { 1, 3 }, { 1, 1.5 }, { 1, { 1 } }, sim.array { 1, 3 }, sim.array { 0, 1 }, sim.array { 1.5, 1 } } do
    raises("an action from 1 to 2 expected", numbered.step, numbered, actions)
  end
  -- the action of an environment that is only reset is ignored
  local short = sim.env.vector(sim.env(def { max_steps = 1 }), { count = 1 })
  short:reset()
  short:step { 0 }
  short:step { "x" } -- ignored
  raises("command", short.step, short, { "x" })
  vector:reset { seed = 1 }
  sim.value_and_grad(function(x)
    raises("a vector's step has no derivative", vector.step, vector, { { x }, { x } })
    raises("a vector's step has no derivative", vector.step, vector, sim.array { x, x })
    return x
  end, 1)
end)

test("declarations that are refused", function()
  local function refused(pattern, changes) raises(pattern, sim.env, def(changes)) end
  refused("key 'reward': a number, a list of terms .* expected, got 'much'", { reward = "much" })
  refused("key 'reward': a number, a list of terms .* expected, got table", { reward = {} })
  refused("key 'reward': a finite number expected", { reward = math.huge })
  refused("key 'reward.constant': a finite number expected, got 'one'", { reward = { constant = "one" } })
  refused("key 'reward': unknown key 'constnat'; did you mean 'constant'", { reward = { constnat = 1 } })
  refused("sim.env: reward%[1%]: field: there is no 'angel'; did you mean 'angle'", { reward = { { of = "hinge", field = "angel" } } })
  refused("sim.env: reward%[1%]: of: 'wheel': no body or joint has this name", { reward = { { of = "wheel", field = "angle" } } })
  refused("sim.env: reward%[1%]: unknown key 'wieght'; did you mean 'weight'", { reward = { { of = "hinge", field = "angle", wieght = 1 } } })
  refused("sim.env: reward.factors%[1%]: shape: one of .* expected, got 'flat'",
    { reward = { factors = { { of = "hinge", field = "angle", shape = "flat" } } } })
  refused("sim.env: reward.factors%[1%]: bounds: { lo, hi } with lo <= hi expected",
    { reward = { factors = { { of = "hinge", field = "angle", bounds = { 2, 1 } } } } })
  refused("factor 1: lo <= hi, a margin of at least 0 and a value between 0 and 1 expected",
    { reward = { factors = { { of = "hinge", field = "angle", value = 2 } } } })
  refused("sim.env: reward%[1%]: scale: a number above 0 expected, got 0", { reward = { { of = "hinge", field = "angle", scale = 0 } } })
  refused("sim.env: reward%[1%]: at: {x, y} expected, got 'tip'", { reward = { { of = "pole", at = "tip", field = "x" } } })
  refused("sim.env: reward%[1%]: at: a point has only the fields x and y of a body, got 'vx'", { reward = { { of = "pole", at = { 0, 1 }, field = "vx" } } })
  refused("sim.env: reward.factors%[1%]: at: a point has only the fields", { reward = { factors = { { of = "rail", at = { 0, 1 }, field = "translation" } } } })
  refused("sim.env: terminated%[1%]: at: a point has only the fields .* got 'touches'", { terminated = { { of = "pole", at = { 0, 1 }, field = "touches" } } })
  refused("sim.env: reset%[1%]: unknown key 'at'", { reset = { { of = "pole", at = { 0, 1 }, field = "x", constant = 1 } } })
  refused("sim.env: terminated%[1%]: field: only bodies have 'touches'", { terminated = { { of = "hinge", field = "touches" } } })
  refused("sim.env: reset%[1%]: relative: true or false expected, got 1",
    { reset = { { of = "rail", field = "translation", constant = 1, relative = 1 } } })
  refused("sim.env: reset%[1%]: of: a body or joint, or a list of them, expected", { reset = { { of = {}, field = "x", constant = 1 } } })
  refused("key 'terminated': a function, or a list of bounds { of =, field =, lo =, hi = } expected, got 3", { terminated = 3 })
  refused("key 'terminated': a function, or a list of bounds", { terminated = { of = "rail", field = "x" } })
  refused("sim.env: terminated%[1%]: numbers lo <= hi expected", { terminated = { { of = "rail", field = "translation", lo = 2, hi = 1 } } })
  refused("key 'reset': a function, or a list of draws { of =, field =, uniform = {lo, hi} } expected", { reset = "none of it" })
  refused("sim.env: reset%[1%]: the key 'values' applies only to sim.batch", { reset = { { of = "rail", field = "translation", values = 1 } } })
  refused("sim.env: reset%[1%]: one of values, uniform, normal and constant expected", { reset = { { of = "rail", field = "translation" } } })
  refused("sim.env: reset%[1%]: uniform: two numbers expected", { reset = { { of = "rail", field = "translation", uniform = { 1 } } } })
end)
