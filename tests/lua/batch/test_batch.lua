-- sim.batch: worlds in a batch give the bits of worlds alone; episodes, parameters, functions of the script, bad input.
local sim = require "sim2d"

local function build(i, random)
  local world = sim.world { dt = 0.01 }
  world:box { name = "floor", type = "static", size = { 20, 1 }, position = { 0, -1.5 } }
  local cart = world:box { name = "cart", size = { 0.4, 0.2 }, mass = 1 + 0.01 * (i or 0) }
  local pole = world:box { name = "pole", size = { 0.05, 1 }, mass = 0.1, position = { 0, 0.5 } }
  local rail = world:slider { cart, anchor = { 0, 0 }, axis = { 1, 0 }, name = "rail" }
  local hinge = world:hinge { pole, cart, anchor = { 0, 0 }, name = "hinge" }
  world:no_contact(cart, pole)
  world:circle { name = "ball", radius = 0.1, position = { 2, random and random:uniform(0, 1) or 0.5 },
    restitution = 0.6 }
  world:actuator { "push", joint = rail, kind = "force", range = { -10, 10 }, delay = 0.015 }
  world:observe { "cart", of = cart, field = { "x", "velocity" } }
  world:observe { "pole", of = hinge, field = { "angle", "speed" }, noise = 0.01 }
  hinge.angle = 0.1
  return world
end

local COST = { { of = "hinge", field = "angle", weight = 2, terminal = 1 },
  { of = "cart", field = { "x", "vx" }, goal = { 1, 0 }, norm = "smooth_abs", p = 0.2 },
  { of = "controls", weight = 0.01 } }
local BOUNDS = { { of = "hinge", field = "angle", lo = -0.5, hi = 0.5 } }

local function commands(n, seed)
  local random, list = sim.random.split(), {}
  random:seed(seed)
  for i = 1, n do list[i] = { random:uniform(-8, 8) } end
  return sim.array(list)
end

test("worlds of a batch equal worlds stepped alone, with any number of threads", function()
  local n, alone, hashes = 7, {}, {}
  for i = 1, n do alone[i] = build(i) end
  for threads = 1, 3 do
    local batch = sim.batch(build, n, { threads = threads, seed = 3, autoreset = "disabled" })
    eq({ #batch, batch.count, batch.threads, batch.controls, batch.observed }, { n, n, threads, 1, 5 })
    local seen
    for k = 1, 30 do seen = batch:step(commands(n, k), 2) end
    for i = 1, n do
      local state = table.concat(batch[i]:state(), " ")
      eq(hashes[i] or state, state)
      hashes[i] = state
    end
    near(batch.time[n], 0.6, 1e-12)
    eq(seen.shape, { n, 5 })
  end
  -- the same by hand
  sim.random.seed(1)
  local worlds = sim.batch(function(i) return build(i) end, n, { seed = 3, autoreset = "disabled" })
  for k = 1, 30 do
    local u = commands(n, k)
    local seen = worlds:step(u, 2)
    for i = 1, n do
      alone[i]:act { u[i][1] }
      alone[i]:step(2)
      eq(alone[i]:state(), worlds[i]:state())
      local own = worlds[i]:observation()
      for c = 1, 5 do eq(seen[i][c], own[c]) end
    end
  end
end)

test("rewards follow the declared cost, and episodes end beyond bounds", function()
  local batch = sim.batch(build(1), 2, { cost = COST, terminated = BOUNDS, autoreset = "disabled" })
  local world = build(1)
  local ended
  for _ = 1, 60 do
    local u = 3
    local _, rewards, terminated, truncated = batch:step { u, u }
    world:act { u }
    world:step()
    local angle, cart = world.joints.hinge.angle, world.bodies.cart
    local function soft(r) return math.sqrt(r * r + 0.04) - 0.2 end
    local cost = 0.01 * (2 * angle ^ 2 / 2 + soft(cart.x - 1) + soft(cart.vx) + 0.01 * u * u / 2)
    if math.abs(angle) > 0.5 then cost = cost + angle ^ 2 / 2 end
    near(rewards[1], -cost, 1e-14)
    eq(rewards[1], rewards[2])
    eq(terminated[1], math.abs(angle) > 0.5 and 1 or 0)
    eq(truncated[2], 0)
    ended = ended or terminated[1] == 1
  end
  ok(ended)
end)

test("the three modes of resets", function()
  local start = build(1):observation()[1]
  local later = sim.batch(build(1), 2, { max_steps = 2 })
  later:step { 1, 1 }
  local seen, rewards, _, truncated = later:step { 1, 1 }
  eq(truncated:table(), { 1, 1 })
  ok(seen[1][2] ~= 0 and later.final_observations == nil)
  seen, rewards, _, truncated = later:step { 1, 1 }
  eq({ truncated:table(), rewards:table(), later.time:table() }, { { 0, 0 }, { 0, 0 }, { 0, 0 } })
  eq(seen[1][1], start)
  local same = sim.batch(build(1), 2, { max_steps = 2, autoreset = "same_step" })
  same:step { 1, 1 }
  seen, _, _, truncated = same:step { 1, 1 }
  eq({ truncated:table(), same.time:table() }, { { 1, 1 }, { 0, 0 } })
  ok(seen[2][2] == 0 and same.final_observations[2][2] ~= 0)
  local never = sim.batch(build(1), 2, { max_steps = 2, autoreset = "disabled" })
  for _ = 1, 3 do seen, _, _, truncated = never:step { 1, 1 } end
  eq(truncated:table(), { 1, 1 })
  near(never.time[1], 0.03, 1e-12)
  never:reset { mask = { true, false } }
  near(never.time[1], 0, 0)
  near(never.time[2], 0.03, 1e-12)
end)

test("parameters are set once or drawn at each reset, by seed", function()
  local batch = sim.batch(build(1), 3, { seed = 5, parameters = {
    { of = "ball", field = "mass", values = { 1, 2, 3 } },
    { of = "hinge", field = "angle", uniform = { -0.2, 0.2 } },
    { of = "ball", field = "velocity", normal = { 0, 1 } } } })
  eq(batch:get("ball", "mass"):table(), { 1, 2, 3 })
  local first = batch:get("hinge", "angle"):table()
  ok(first[1] ~= first[2] and math.abs(first[1]) <= 0.2)
  batch:reset()
  local second = batch:get("hinge", "angle"):table()
  ok(second[1] ~= first[1])
  batch:reset { seed = 5 }
  eq(batch:get("hinge", "angle"):table(), first)
  eq(batch:get("ball", "mass"):table(), { 1, 2, 3 })
  batch:reset { seed = 6, mask = { 0, 1, 0 } }
  local third = batch:get("hinge", "angle"):table()
  eq({ third[1], third[3] }, { first[1], first[3] })
  ok(third[2] ~= first[2])
  eq(batch:get("ball", "velocity").shape, { 3, 2 })
  batch:set("ball", "position", { { 1, 2 }, { 3, 4 }, { 5, 6 } })
  batch:set("ball", "friction", 0.25)
  eq({ batch[2].bodies.ball.x, batch[3].bodies.ball.y, batch[1].bodies.ball.friction }, { 3, 6, 0.25 })
end)

test("snapshots restore everything, including resets that are due", function()
  local batch = sim.batch(build(1), 3, { max_steps = 4, seed = 2, parameters = {
    { of = "hinge", field = "angle", uniform = { -0.2, 0.2 } } } })
  for k = 1, 3 do batch:step(commands(3, k)) end
  local snapshot, runs = batch:snapshot(), {}
  for run = 1, 2 do
    for k = 4, 12 do runs[run] = batch:step(commands(3, k)):table() end
    batch:restore(snapshot)
    near(batch.time[1], 0.03, 1e-12)
  end
  eq(runs[1], runs[2])
  raises("a snapshot of this batch expected, got a snapshot of another batch",
    function() sim.batch(build(1), 3):restore(snapshot) end)
end)

test("functions of the script run, with the same bits", function()
  local calls = 0
  local function make() -- with the same noise
    sim.random.seed(8)
    return build(1)
  end
  local plain = sim.batch(make, 4, { cost = COST, max_steps = 7 })
  local called = sim.batch(function(i)
    local world = make()
    if i % 2 == 0 then world:after_step(function() calls = calls + 1 end) end
    return world
  end, 4, { cost = COST, max_steps = 7 })
  for k = 1, 20 do
    local u = commands(4, k)
    local a, r = plain:step(u, 3)
    local b, s = called:step(u, 3)
    eq(a:table(), b:table())
    eq(r:table(), s:table())
  end
  eq(calls, 2 * 3 * 18) -- two of twenty steps were resets
end)

test("a function that raises an error fails only its world", function()
  local function make(i)
    local world = build(i)
    if i == 2 then
      world:after_step(function(_, t) if t > 0.015 then error "too late" end end)
    end
    return world
  end
  local batch = sim.batch(make, 3)
  batch:step { 0, 0, 0 }
  raises("test_batch.lua:%d+: batch:step: world 2: .*too late", function() batch:step { 0, 0, 0 } end)
  near(batch.time[3], 0.02, 1e-12)
  local kept = sim.batch(make, 3, { failures = "keep" })
  kept:step { 0, 0, 0 }
  local _, rewards, _, truncated = kept:step { 0, 0, 0 }
  ok(rewards[2] ~= rewards[2] and truncated[2] == 1 and truncated[1] == 0)
  ok(kept.failures[2]:find "too late" and kept.failures[1] == nil)
  kept:step { 0, 0, 0 }
  eq(kept.failures, {})
end)

test("observations that need Lua", function()
  local batch = sim.batch(function(i)
    local world = build(i)
    world:observe { "twice", read = function(w) return 2 * w.bodies.cart.mass end }
    return world
  end, 2)
  eq(batch.observed, 6)
  local seen = batch:step { 1, 1 }
  near(seen[2][6], 2.04, 1e-12)
end)

test("arrays are used again when asked", function()
  local batch = sim.batch(build(1), 2, { reuse = true })
  local a, b = batch:step { 1, 1 }
  local c, d = batch:step { 1, 1 }
  ok(rawequal(a, c) and rawequal(b, d))
  local other = sim.batch(build(1), 2)
  ok(not rawequal((other:step { 1, 1 }), (other:step { 1, 1 })))
end)

test("messages name the worlds that differ, and the difference", function()
  raises("world 3 differs from world 1: it has 5 bodies, not 4", function()
    sim.batch(function(i)
      local world = build(i)
      if i == 3 then world:circle { radius = 1, position = { 9, 9 } } end
      return world
    end, 4)
  end)
  raises("world 2 differs from world 1: it has 2 actuators, not 1", function()
    sim.batch(function(i)
      local world = build(i)
      if i == 2 then world:actuator { "more", body = world.bodies.ball, kind = "torque" } end
      return world
    end, 2)
  end)
  raises("test_batch.lua:%d+: sim.batch: world 2: .*no such plan", function()
    sim.batch(function(i) return i == 2 and error "no such plan" or build(i) end, 3)
  end)
  raises("world 1: the builder returned nil, not a World", function() sim.batch(function() end, 3) end)
  local one = build(1)
  raises("world 2 is the same object as world 1", function() sim.batch(function() return one end, 3) end)
end)

test("bad input is refused, and the message names the expected input", function()
  local batch = sim.batch(build(1), 2)
  raises("actions: an array of 2 x 1 expected, got 3", function() batch:step { 1, 2, 3 } end)
  raises("actions: an array of 2 x 1 expected, got 1 x 2", function() batch:step { { 1, 2 } } end)
  raises("actions: an array of 2 x 1 expected, got 3", function() batch:step(3) end)
  raises("finite number expected, got nan", function() batch:step(sim.array { 1, 1 } * (0 / 0)) end)
  near(batch.time[1], 0, 0)
  raises("a number of steps of at least 1 expected, got 0", function() batch:step({ 1, 1 }, 0) end)
  raises("an array of 2 x 1 expected", function() batch:reset { mask = { true } } end)
  raises("Batch has no field 'tme'; did you mean 'time'?", function() return batch.tme end)
  raises("Batch.time is read%-only", function() batch.time = 0 end)
  raises("batch:step: the worlds have no actuators", function()
    sim.batch(function() return sim.world {} end, 1):step { 1 }
  end)
  raises("a number of worlds, 1 to 1000000, expected, got 0", function() sim.batch(build, 0) end)
  raises("function expected, got 3", function() sim.batch(3, 2) end)
  raises("unknown key 'thread'; did you mean 'threads'?", function() sim.batch(build, 2, { thread = 1 }) end)
  raises("threads: an integer from 1 to 1024 expected, got 0", function() sim.batch(build, 2, { threads = 0 }) end)
  raises("autoreset: 'next_step', 'same_step' or 'disabled' expected, got 'never'",
    function() sim.batch(build, 2, { autoreset = "never" }) end)
end)

test("impossible costs, bounds and parameters", function()
  local function refused(message, options)
    raises(message, function() sim.batch(build(1), 2, options) end)
  end
  refused("cost: a list of tables { of =, field =, ... } expected, got one table",
    { cost = { of = "hinge", field = "angle" } })
  refused("cost%[1%]: of: 'hing': no body or joint has this name", { cost = { { of = "hing", field = "angle" } } })
  refused("cost%[1%]: field: there is no 'angl'; did you mean 'angle'?", { cost = { { of = "hinge", field = "angl" } } })
  refused("cost%[1%]: unknown key 'wieght'; did you mean 'weight'?",
    { cost = { { of = "hinge", field = "angle", wieght = 1 } } })
  refused("cost%[2%]: norm: one of linear, quadratic, smooth_abs, huber, l2, power expected, got 'cubic'",
    { cost = { COST[1], { of = "hinge", field = "angle", norm = "cubic" } } })
  refused("cost 1: power: a number not below 1 expected, got 0.5",
    { cost = { { of = "hinge", field = "angle", norm = "power", p = 0.5 } } })
  refused("goal: 2 numbers expected, got 1", { cost = { { of = "cart", field = { "x", "y" }, goal = { 1 } } } })
  refused("field: the number of a control, 1 to 1, expected, got 2", { cost = { { of = "controls", field = 2 } } })
  refused("terminated%[1%]: numbers lo <= hi expected, got 2 and 1",
    { terminated = { { of = "cart", field = "x", lo = 2, hi = 1 } } })
  refused("parameters%[1%]: one of values, uniform, normal and constant expected",
    { parameters = { { of = "cart", field = "mass" } } })
  refused("draw 1: lo <= hi expected", { parameters = { { of = "cart", field = "mass", uniform = { 2, 1 } } } })
  refused("draw 1: mass", { parameters = { { of = "cart", field = "mass", uniform = { -2, -1 } } } })
  refused("parameters%[1%]: values: an array of 2 x 1 expected, got 3",
    { parameters = { { of = "cart", field = "mass", values = { 1, 2, 3 } } } })
end)

test("a batch that is closed, or in the middle of its step", function()
  local batch = sim.batch(build(1), 2)
  batch:close()
  batch:close()
  eq(tostring(batch), "Batch (closed)")
  raises("batch is closed", function() batch:step { 1, 1 } end)
  raises("batch is closed", function() return batch[1] end)
  local again
  again = sim.batch(function()
    local world = build(1)
    world:before_step(function() again:step { 1, 1 } end)
    return world
  end, 2)
  raises("world 1: .*cannot be called from inside its step", function() again:step { 1, 1 } end)
  local third
  third = sim.batch(function(i)
    local world = build(1)
    world:after_step(function() if i == 1 then third[3]:close() end end)
    return world
  end, 3)
  raises("world 1: .*world:close%(%) cannot be called from inside a step of its batch",
    function() third:step { 1, 1, 1 } end)
  local holed = sim.batch(build(1), 2)
  holed[2]:close()
  raises("world 2 is closed", function() holed:step { 1, 1 } end)
  raises("world 2 is closed", function() holed:get("cart", "x") end)
  raises("world 2 is closed", function() holed:set("cart", "x", 1) end)
end)

test("steps of a batch inside a gradient are refused", function()
  local batch = sim.batch(build(1), 2)
  raises("batch:step%(%) has no derivative; use sim.rollout", function()
    sim.grad(function(u)
      batch:step(sim.array { u, u })
      return u
    end, 1.0)
  end)
end)
