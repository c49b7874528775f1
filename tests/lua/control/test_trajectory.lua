-- Costs, trajectories and planners.
local sim = require "sim2d"
local control = sim.control

local function mass()
  local world = sim.world { gravity = { 0, 0 }, dt = 0.05 }
  local cart = world:box { size = { 1, 1 }, mass = 2, mask = 0, name = "cart" }
  world:lock { cart, y = true, angle = true }
  world:actuator { "push", body = cart, kind = "force", direction = { 1, 0 } }
  return world, cart
end

local function pendulum(range)
  local world = sim.world { dt = 0.02 }
  local bob = world:circle { radius = 0.05, mass = 1, position = { 0, -0.5 }, mask = 0, name = "bob" }
  local hinge = world:hinge { bob, anchor = { 0, 0 }, name = "hinge" }
  world:actuator { "motor", joint = hinge, kind = "torque", range = { -range, range } }
  return world, hinge, bob
end

test("matrices of steps chain to the derivative of all of them", function()
  local world = sim.world { dt = 0.05 }
  local cart = world:box { size = { 0.4, 0.2 }, mass = 1, mask = 0 }
  local pole = world:box { size = { 0.05, 1 }, mass = 0.2, position = { 0, -0.5 }, mask = 0 }
  local rail = world:slider { a = cart, axis = { 1, 0 }, anchor = { 0, 0 } }
  local hinge = world:hinge { a = pole, b = cart, anchor = { 0, 0 } }
  local push = world:actuator { "push", joint = rail, kind = "force" }
  local start, u = world:snapshot(), {}
  for k = 1, 20 do u[k] = 2 * math.sin(0.7 * k) + (k < 8 and 1 or -1) end
  local _, exact = sim.value_and_grad(function(v)
    world:restore(start)
    for k = 1, 20 do
      world:act { v[k] }
      world:step()
    end
    return hinge.angle
  end, u)
  world:restore(start)
  local A, B = {}, {}
  for k = 1, 20 do
    world:act { u[k] }
    A[k], B[k] = world:linearize { inputs = { push }, coordinates = { rail, hinge } }
    world:step()
  end
  local way = sim.array { 0, 1, 0, 0 }
  for k = 20, 1, -1 do
    near(B[k]:t():mm(way)[1], exact[k], 1e-12)
    way = A[k]:t():mm(way)
  end
end)

test("a linear system needs one iteration and gets lqr's gains", function()
  local world, cart = mass()
  local A, B = world:linearize { inputs = { { body = cart, force = { 1, 0 } } }, coordinates = { cart } }
  local cost = control.cost { { "x", of = cart, field = { "x", "vx" }, weight = 2 }, controls = 0.5,
    terminal = { x = 30 } }
  cart.position = { 1, 0 }
  local plan = control.trajectory(world, { cost = cost, horizon = 1.5, tolerance = 1e-12 })
  eq(plan.status, "converged")
  ok(plan.iterations <= 2) -- the second has nothing to improve
  -- sums over the states after each step: the first state counts for nothing, the last for both
  local n, h = 30, 0.05
  local law = control.lqr(A, B, 2 * h, 0.5 * h, { horizon = n, Qf = 30 + 2 * h })
  for k = 1, n do near((plan.K[k] + law.gains[k]):norm(), 0, 1e-9) end
  -- the law of the plan reproduces the plan, to the bit
  world:control(plan:law())
  world:step(n)
  eq(cart.x, plan.x[n + 1][1])
end)

test("a pendulum swings up within its limits, to the goal", function()
  local world, hinge = pendulum(3)
  local cost = control.cost { { "angle", of = hinge, field = "angle", goal = math.pi, weight = 1e-3 },
    { "speed", of = hinge, field = "speed", weight = 1e-3 }, controls = 1e-3, terminal = { angle = 1, speed = 1 } }
  local plan = control.trajectory(world, { cost = cost, horizon = 3, period = 0.06,
    goal = { { of = hinge, field = "angle", value = math.pi }, { of = hinge, field = "speed", value = 0 } } })
  eq(plan.status, "converged")
  ok(plan.violation <= 1e-6)
  for k = 1, 50 do ok(math.abs(plan.u[k][1]) <= 3) end
  world:control(plan:law())
  world:run { duration = 3 }
  near(hinge.angle, math.pi, 1e-5)
  eq(hinge.angle, plan.x[51][1])
end)

test("angles may count to the nearest turn", function()
  local world, hinge = pendulum(3)
  hinge.angle = 3 * math.pi -- up, after one more turn
  local function cost(wrap)
    return control.trajectory(world, { horizon = 0.02, iterations = 1,
      cost = { { "angle", of = hinge, field = "angle", goal = math.pi, weight = 1, wrap = wrap }, controls = 1e9 } }).cost
  end
  near(cost(false), 0.02 * (2 * math.pi) ^ 2 / 2, 1e-9)
  near(cost(true), 0, 1e-9)
end)

test("tvlqr brings a world back to a plan", function()
  local world, hinge, bob = pendulum(3)
  local plan = control.trajectory(world, { horizon = 1, period = 0.04, cost = {
    { "angle", of = hinge, field = "angle", goal = 1, weight = 1 }, controls = 1e-2, terminal = { angle = 5 } } })
  local law = control.tvlqr(world, plan, { Q = { 100, 1 }, R = 0.01, Qf = { 1000, 10 } })
  bob:apply_impulse { 0.2, 0 }
  local start = world:snapshot()
  world:control(plan:law { open_loop = true }):remove()
  local open = world:control(plan:law { open_loop = true })
  world:step(50)
  local off = math.abs(hinge.angle - plan.x[26][1])
  open:remove()
  world:restore(start)
  world:control(law)
  world:step(50)
  ok(math.abs(hinge.angle - plan.x[26][1]) < 0.05 * off)
  raises("a result of sim.control.trajectory expected", control.tvlqr, world, {}, {})
end)

test("all methods lower one cost, and repeat to the bit", function()
  for _, method in ipairs { "ilqr", "gradient", "sampling", "cem", "mppi", "mixed" } do
    local costs = {}
    for run = 1, 2 do
      local world, hinge = pendulum(3)
      local cost = { { "angle", of = hinge, field = "angle", goal = 1, weight = 1 }, controls = 1e-3,
        terminal = { angle = 5 } }
      local before = control.trajectory(world, { cost = cost, horizon = 0.8, method = method, iterations = 1,
        samples = 2, elites = 1, seed = 3, noise = 1e-6, tolerance = 1e9 }).cost
      local plan = control.trajectory(world, { cost = cost, horizon = 0.8, method = method, iterations = 12, samples = 20,
        seed = 3, knots = 8 })
      costs[run] = plan.cost
      local sampled = method == "sampling" or method == "cem" or method == "mppi"
      if sampled then ok(plan.evaluations == 240 or method == "mppi" and plan.evaluations == 241) end
      if method == "ilqr" then eq(plan.evaluations, plan.iterations) end
      ok(plan.evaluations >= plan.iterations, method)
      if method ~= "ilqr" then ok(plan.cost < 0.7 * before, method .. ": " .. plan.cost .. " of " .. before) end
      ok(plan.cost < 1.2, method .. ": " .. plan.cost)
    end
    eq(costs[1], costs[2])
  end
end)

test("residuals by functions equal declared ones", function()
  local world, hinge, bob = pendulum(3)
  local declared = control.trajectory(world, { horizon = 0.4, iterations = 5,
    cost = { { "tip", of = bob, field = { "x", "y" }, at = { 0, -0.1 }, goal = { 0.3, -0.4 }, weight = 3 },
      { "spin", of = hinge, field = "speed", weight = 0.1, norm = "huber", p = 0.5 }, controls = 1e-2 } })
  local function tip(w)
    local p = w.bodies.bob:world_point { 0, -0.1 }
    return { p.x, p.y }
  end
  local computed = control.trajectory(world, { horizon = 0.4, iterations = 5,
    cost = { { "tip", residual = tip, goal = { 0.3, -0.4 }, weight = 3 },
      { "spin", of = hinge, field = "speed", weight = 0.1, norm = "huber", p = 0.5 }, controls = 1e-2 } })
  near(computed.cost, declared.cost, 1e-9)
  near((computed.u - declared.u):norm(), 0, 1e-6)
end)

test("a planner as a law holds a pendulum up against a push", function()
  local world, hinge, bob = pendulum(6)
  hinge.angle = math.pi - 0.3
  local cost = control.cost { { "angle", of = hinge, field = "angle", goal = math.pi, weight = 10 },
    { "speed", of = hinge, field = "speed", weight = 0.1 }, controls = 1e-2, terminal = { angle = 20, speed = 1 } }
  local law = control.planner(world, { cost = cost, horizon = 0.5, period = 0.04, iterations = 3 })
  world:control(law, { period = 0.04 })
  world:run { duration = 2 }
  near(hinge.angle, math.pi, 0.01)
  bob:apply_impulse { 0.3, 0 }
  world:run { duration = 2 }
  near(hinge.angle, math.pi, 0.01)
  eq(law.decisions, 100)
  -- again from a snapshot, the same bits
  local image = world:snapshot()
  bob:apply_impulse { 0.2, 0 }
  world:run { duration = 0.4 }
  local angle = hinge.angle
  world:restore(image)
  bob:apply_impulse { 0.2, 0 }
  world:run { duration = 0.4 }
  eq(hinge.angle, angle)
end)

test("the model may be another world", function()
  local world, hinge = pendulum(6)
  local other, hinge2, bob2 = pendulum(6)
  bob2.mass = 1.3
  hinge.angle = math.pi - 0.2
  local cost = control.cost { { "angle", of = hinge2, field = "angle", goal = math.pi, weight = 10 },
    { "speed", of = hinge2, field = "speed", weight = 0.1 }, controls = 1e-2, terminal = { angle = 20, speed = 1 } }
  world:control(control.planner(world, { model = other, cost = cost, horizon = 0.5, period = 0.04 }), { period = 0.04 })
  world:run { duration = 2 }
  near(hinge.angle, math.pi, 0.05)
end)

test("bad costs and plans name the key", function()
  local world, hinge, bob = pendulum(3)
  local good = { { "angle", of = hinge, field = "angle" } }
  local function plan(keys)
    keys.cost = keys.cost or good
    keys.horizon = keys.horizon or 0.2
    return control.trajectory(world, keys)
  end
  raises("'angle': key 'of': a body or joint expected", control.cost, { { "angle", of = 3, field = "angle" } })
  raises("key 'field': one of angle, position, x, y, angular_velocity", control.cost, { { "a", of = bob, field = "mass" } })
  raises("either 'of' and 'field' or 'residual'", control.cost, { { "a" } })
  raises("key 'norm': one of quadratic", control.cost, { { "a", of = bob, field = "x", norm = "max" } })
  raises("there is a term 'a' already", control.cost, { { "a", of = bob, field = "x" }, { "a", of = bob, field = "y" } })
  raises("terminal': there is no term 'b'", control.cost, { { "a", of = bob, field = "x" }, terminal = { b = 1 } })
  raises("key 'weight': a number of at least 0 expected, got %-1", control.cost, { { "a", of = bob, field = "x", weight = -1 } })
  raises("key 'wrap': true or false", control.cost, { { "a", of = bob, field = "angle", wrap = 3 } })
  raises("key 'horizon'", control.trajectory, world, { cost = good })
  raises("key 'horizon': a number above 0 expected, got 0", plan, { horizon = 0 })
  raises("key 'period': a multiple of the world's dt", plan, { period = 0.03 })
  raises("key 'method': one of ilqr", plan, { method = "magic" })
  raises("unknown key 'horizn'; did you mean 'horizon'", plan, { horizn = 1 })
  raises("key 'u0': a number, 1 numbers, or 10 x 1", plan, { u0 = { 1, 2, 3 } })
  raises("the world has no actuators", control.trajectory, sim.world {}, { cost = good, horizon = 1 })
  raises("'bad': its residual should be a number or a list of numbers %(at most 16%), got 'x'", plan,
    { cost = { { "bad", residual = function() return "x" end } } })
  raises("cost: 'nan': number 1 of its residual is not finite at t = 0 s: nan", plan, { cost = { { "nan", residual = function() return 0 / 0 end } } })
  raises("no idea", plan, { cost = { { "raises", residual = function() error "no idea" end } } })
  local other = sim.world {}
  other:actuator { "push", body = other:box { size = { 1, 1 } }, kind = "torque" }
  raises("the world does not have the joint that the term was declared for", control.trajectory, other, { cost = good, horizon = 1 })
  world:actuator { "goal", joint = hinge, kind = "position", implicit = false }
  raises("actuator 'goal': an explicit position cannot be an input of a linear step", plan, {})
end)

-- A finger near a box on a floor.
local function finger_and_box()
  local world = sim.world { dt = 1 / 50, stepping = "speculative", contact_margin = 0.5 }
  world:box { type = "static", position = { 0, -0.5 }, size = { 10, 1 }, friction = 0.5 }
  local box = world:box { size = { 0.2, 0.2 }, mass = 0.5, position = { 0, 0.1 }, friction = 0.3 }
  local finger = world:circle { radius = 0.05, mass = 0.2, position = { -0.25, 0.1 }, gravity_scale = 0, friction = 0.2 }
  world:actuator { "push", joint = world:slider { finger, axis = { 1, 0 }, anchor = { -0.25, 0.1 } }, kind = "force", range = { -5, 5 } }
  return world, box, { horizon = 1, period = 0.1, tolerance = 1e-6, cost = { { "box", of = box, field = "x", goal = 0.2 },
    controls = 1e-3, terminal = { box = 100 } } }
end

test("smooth derivatives include contacts that do not touch yet", function()
  local function costs(gradient)
    local world, box, keys = finger_and_box()
    keys.gradient, keys.smoothing = gradient, 0.1
    local plan = sim.control.trajectory(world, keys)
    world:control(plan:law { open_loop = true })
    world:run { duration = 1 }
    eq(world.gradient, "exact") -- the world's own setting is unchanged
    return plan.cost, plan.iterations, box.x
  end
  local cost, iterations, x = costs "exact"
  eq(iterations, 1)
  near(x, 0, 1e-9)
  local smooth, more, there = costs "smooth"
  ok(more > 1 and smooth < 0.1 * cost, smooth)
  near(there, 0.2, 0.02)
  -- a planner uses them in each of its decisions
  local world, box, keys = finger_and_box()
  keys.gradient, keys.smoothing, keys.iterations = "smooth", 0.1, 5
  world:control(sim.control.planner(world, keys))
  world:run { duration = 1.5 }
  near(box.x, 0.2, 0.05)
end)

test("derivatives and plans have the same bits whatever the history of the world", function()
  local function cart_pole()
    local world = sim.world { dt = 1 / 100 }
    local cart = world:box { size = { 0.4, 0.2 }, mass = 1, mask = 0 }
    local pole = world:box { size = { 0.05, 1 }, mass = 0.2, position = { 0, -0.5 }, mask = 0, angular_velocity = 2, velocity = { 1, 0 } }
    local rail = world:slider { cart, name = "rail", axis = { 1, 0 }, anchor = { 0, 0 } }
    local hinge = world:hinge { pole, cart, name = "hinge", anchor = { 0, 0 } }
    world:actuator { "push", joint = rail, kind = "force", range = { -5, 5 } }
    return world
  end
  local function told(world)
    local rail, hinge = world.joints.rail, world.joints.hinge
    local push = { joint = rail, force = 1 }
    local A, B = world:linearize { inputs = { push }, coordinates = { rail, hinge } }
    local plan = sim.control.trajectory(world, { horizon = 0.5, period = 0.05, iterations = 8, u0 = 0.1, cost = {
      { "pole", of = hinge, field = "angle", goal = 1 }, controls = 0.01, terminal = { pole = 50 } } })
    local list = A:reshape(1, 16):table()
    for _, row in ipairs { B:reshape(1, 4):table(), plan.u:reshape(1, 10):table() } do
      for _, value in ipairs(row) do list[#list + 1] = value end
    end
    return list
  end
  -- one that was only stepped, one that was restored, one that was changed and changed back, and a clone
  local plain, back = cart_pole(), cart_pole()
  plain:step(40)
  back:step(40)
  local image = back:snapshot()
  back:step(7)
  back:restore(image)
  local first = told(plain)
  eq(told(back), first)
  eq(told(plain:clone()), first)
  local other = cart_pole()
  other:step(40)
  other.joints.hinge.friction = 0.1
  other.joints.hinge.friction = 0
  eq(told(other), first)
  eq(told(plain), first)
end)

-- ---- How searches end -----------------------------------------------------------------------------

local E = sim.random.split()
E:seed(21)

-- A cart that dry friction holds, and its cost.
local function stuck_cart(friction)
  local world = sim.world { dt = 0.02, gravity = { 0, 0 } }
  local cart = world:box { size = { 1, 1 }, mass = E:uniform(0.5, 2), mask = 0 }
  local rail = world:slider { cart, axis = { 1, 0 }, anchor = { 0, 0 }, friction = friction }
  world:actuator { "f", joint = rail, kind = "force", range = { -10, 10 } }
  local goal = E:choice { -1, 1 } * E:uniform(0.3, 2)
  local cost = { { "place", of = rail, field = "translation", goal = goal, weight = 10 },
    { "speed", of = rail, field = "speed", weight = 1 }, controls = 10 ^ E:uniform(-3, -1), terminal = { place = 100 } }
  return world, rail, cost, goal
end

test("a plan that friction holds is stuck, and names the missed goals", function()
  for _ = 1, 60 do
    local friction = E:uniform(0.5, 3)
    local world, _, cost = stuck_cart(friction)
    local plan = control.trajectory(world, { method = E:choice { "ilqr", "gradient" }, horizon = 1, period = 0.1, cost = cost,
      u0 = E:uniform(-0.9, 0.9) * friction })
    eq({ plan.status, plan.unmet }, { "stuck", { "place" } })
    ok(plan.message:find("no command changes 'place'", 1, true), plan.message)
    ok(tostring(plan):find("stuck after %d+ iterations.*'place'"), tostring(plan))
  end
end)

test("without friction the same plan is converged, with no goal missed", function()
  for _ = 1, 30 do
    local world, _, cost = stuck_cart(0)
    local plan = control.trajectory(world, { horizon = 1, period = 0.1, cost = cost })
    eq({ plan.status, plan.unmet, plan.flags, plan.message }, { "converged", {}, {} })
  end
end)

test("a plan is converged if all goals are met already, also if nothing moves", function()
  for _, controls in ipairs { 0, 0.1 } do
    for _, friction in ipairs { 0, 2 } do
      local world, rail = stuck_cart(friction)
      local plan = control.trajectory(world, { horizon = 1, period = 0.1, cost = {
        { "place", of = rail, field = { "translation", "speed" } }, controls = controls } })
      eq({ plan.status, plan.unmet }, { "converged", {} }, controls .. " " .. friction)
    end
  end
end)

test("a body out of reach, and a cost that is flat", function()
  for _ = 1, 20 do
    local world = sim.world { dt = 0.02, gravity = { 0, 0 } }
    local hand = world:circle { radius = 0.1, mass = 1 }
    local box = world:box { size = { 0.2, 0.2 }, position = { E:uniform(1, 3), 0 } }
    world:actuator { "x", body = hand, kind = "force", direction = { 1, 0 }, range = { -1, 1 } }
    local plan = control.trajectory(world, { horizon = 0.4, period = 0.1, cost = {
      { "hand", of = hand, field = "x", goal = 0.01 }, { "box", of = box, field = "x", goal = 4 }, controls = 0.01 } })
    eq({ plan.status, plan.unmet }, { "stuck", { "box" } })
  end
  local world, hinge = pendulum(3) -- it hangs: the slope of the height is 0
  local plan = control.trajectory(world, { horizon = 0.5, period = 0.1, cost = {
    { "height", residual = function(w) return 1 + sim.cos(w.joints[1].angle) end }, controls = 0.01 } })
  eq({ plan.status, plan.unmet, hinge.angle }, { "stuck", { "height" }, 0.0 })
end)

test("missed goals are named, for every method", function()
  for _ = 1, 10 do
    local world, cart = mass()
    local goal = { { of = cart, field = "x", value = E:uniform(1, 2) } }
    local cost = { { "speed", of = cart, field = "vx" }, controls = 1 }
    eq(control.trajectory(world, { horizon = 1, cost = cost, goal = goal }).status, "converged")
    -- it has no goals
    local plan = control.trajectory(world, { horizon = 1, cost = cost, goal = goal, method = "gradient" })
    eq({ plan.status, plan.unmet }, { "stuck", { "goal 1" } })
  end
end)

test("only goals that are not met are named, also without terms in the cost", function()
  for case = 1, 20 do
    local world = sim.world { dt = 0.02, gravity = { 0, 0 } }
    local wanted, unmet = {}, {}
    for i = 1, 4 do
      local body = world:circle { radius = 0.1, position = { 0, i }, mass = 1, mask = 0 }
      world:actuator { "f" .. i, body = body, kind = "force", direction = { 1, 0 }, range = { -1, 1 } }
      local away = E:choice { 0, 1 }
      wanted[i] = { of = body, field = { "y", "x" }, value = { i, away } }
      if away ~= 0 then unmet[#unmet + 1] = "goal " .. i end
    end
    local cost = { controls = 1 }
    if case % 2 == 0 then cost[1] = { "still", residual = function(w) return w.bodies[1].vx end } end
    -- a method without goals leaves the bodies at rest
    local plan = control.trajectory(world, { horizon = 0.4, period = 0.1, cost = cost, goal = wanted, method = "gradient" })
    eq({ plan.unmet, plan.status }, { unmet, #unmet > 0 and "stuck" or "converged" }, "case " .. case)
  end
end)

test("the best of several starts is taken, and equal seeds give equal results", function()
  for k = 1, 4 do
    local world, rail, cost, goal = stuck_cart(E:uniform(0.5, 2))
    local def = { method = k % 2 == 0 and "ilqr" or "gradient", horizon = 2, iterations = 40, period = 0.1, cost = cost, starts = 4, seed = E:integer(1, 99) }
    local plan = control.trajectory(world, def)
    ok(plan.status ~= "stuck" or plan.unmet[1] ~= nil)
    ok(plan.start > 1 and plan.start <= 4)
    sim.random.uniform()
    local again = control.trajectory(world, def)
    eq({ again.cost, again.start, again.u:table() }, { plan.cost, plan.start, plan.u:table() })
    def.starts = 1
    ok(control.trajectory(world, def).cost > plan.cost)
    world:control(plan:law())
    world:run { duration = 2 }
    near(rail.translation, goal, 0.1)
    eq(rail.translation, plan.x[21][1])
  end
  local world, _, cost = stuck_cart(1)
  for _, starts in ipairs { 0, 1.5, "2" } do
    raises("key 'starts': a whole number of at least 1 expected", control.trajectory, world, { horizon = 1, cost = cost, starts = starts })
  end
end)

test("a planner whose commands have no effect warns once, others do not", function()
  local text = [[
local sim = require "sim2d"
local world = sim.world { dt = 0.02, gravity = { 0, %s } }
local bob = world:box { size = { 1, 1 }, mass = 1, mask = 0 }
local rail = world:slider { bob, axis = { 1, 0 }, anchor = { 0, 0 }, friction = %s }
world:actuator { "f", joint = rail, kind = "force", range = { -10, 10 } }
world:control(sim.control.planner(world, { horizon = 0.5, period = 0.1, method = "%s", seed = 1, starts = %s, cost = {
  { "place", of = rail, field = "translation", goal = %s, weight = 10 }, controls = 0.01, terminal = { place = 100 } } }),
  { period = 0.1, log = false })
world:run { duration = %s }
]]
  local out = os.tmpname()
  for _, case in ipairs { { 0, 2, "ilqr", 1, 1, 4, 1 }, { 0, 2, "gradient", 1, 1, 4, 1 }, { 0, 0, "ilqr", 1, 1, 4, 0 },
    { 0, 2, "ilqr", 1, 0, 4, 0 }, { 0, 2, "ilqr", 1, 1, 0.8, 0 }, { 0, 1, "sampling", 1, 1, 4, 0 } } do
    local file <close> = assert(io.open(out, "w"))
    file:write(text:format(table.unpack(case, 1, 6)))
    file:close()
    local pipe = io.popen(("'%s' '%s' 2>&1"):format(os.getenv "S2_SIM2D", out))
    local told = pipe:read "a"
    pipe:close()
    eq(select(2, told:gsub("planner: the cost has not changed for 10 periods, because no command of its plan changes 'place'", "")), case[7],
      table.concat(case, " ") .. told)
  end
  os.remove(out)
end)

-- A function of the script that acts on the body, and the same without one.
test("a plan includes the functions of the script that act in a step", function()
  local kinds = {
    function(world, body, plain)
      world:spring { body, "world", anchor_b = { -1, 0 }, rest_length = 0.5, stiffness = plain and 3 or nil,
        force = not plain and function(x) return 3 * x end or nil }
    end,
    function(world, body, plain)
      if plain then world:lock { body, y = true, velocity = { 0, 0.5 } }
      else world:lock { body, y = function(t) return 0.5 * t end } end
    end,
    function(world, body, plain)
      local hand = world:box { type = "kinematic", size = { 0.1, 0.1 }, position = { -1, 0 }, velocity = { 0.2, 0 }, mask = 0 }
      if not plain then hand:motion(function(t) return 0.2 * t - 1, 0, 0 end) end
      world:spring { body, hand, stiffness = 3 }
    end,
  }
  for i, kind in ipairs(kinds) do
    for _, method in ipairs { "ilqr", "gradient", "sampling" } do
      local plan = {}
      for _, plain in ipairs { true, false } do
        -- A spring with a function uses projection, a plain one the two stages, unless no body moves.
        local world = sim.world { dt = 0.02, gravity = { 0, 0 }, flow = i == 1 and "projected" or nil }
        local body = world:circle { radius = 0.1, mass = 1, mask = 0 }
        kind(world, body, plain)
        world:actuator { "push", body = body, kind = "force", direction = { 1, 0 }, range = { -5, 5 } }
        plan[plain] = control.trajectory(world, { method = method, horizon = 0.4, period = 0.04, seed = 1, iterations = 5,
          cost = { { "x", of = body, field = "x", goal = 0.3, weight = 10 }, controls = 0.1 } })
      end
      near(plan[false].u:table(), plan[true].u:table(), 1e-6)
      ok(plan[true].cost > 0.01, "case " .. i)
    end
  end
end)

-- There is nothing to choose: no command changes anything.
test("an actuator whose range is one number", function()
  for _, method in ipairs { "ilqr", "gradient", "sampling", "cem", "mppi", "cmaes", "mixed" } do
    local world = sim.world { dt = 0.02, gravity = { 0, 0 } }
    local body = world:circle { radius = 0.1, mass = 1, mask = 0 }
    world:actuator { "still", body = body, kind = "force", direction = { 0, 1 }, range = { 0, 0 } }
    world:actuator { "push", body = body, kind = "force", direction = { 1, 0 }, range = { -5, 5 } }
    local plan = control.trajectory(world, { method = method, horizon = 0.4, period = 0.04, seed = 1, iterations = 5,
      cost = { { "x", of = body, field = "x", goal = 0.3, weight = 10 }, controls = 0.01 } })
    local most = 0
    for i = 1, 10 do
      eq(plan.u[{ i, 1 }], 0)
      most = math.max(most, plan.u[{ i, 2 }])
    end
    ok(most > 0.1, method)
  end
end)

-- ---- Plans through contact ----------------------------------------------------------------------

-- A disc on a springy leg above the ground.
local function hopper()
  local world = sim.world { dt = 1 / 60 }
  world:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 }, friction = 1 }
  local body = world:circle { radius = 0.2, mass = 2, position = { 0, 0.62 }, mask = 2, category = 4 }
  local foot = world:circle { radius = 0.05, mass = 0.2, position = { 0, 0.06 }, friction = 1, mask = 1, category = 2 }
  local leg = world:slider { foot, body, axis = { 0, 1 }, anchor = { 0, 0.06 }, stiffness = 800, damping = 2, limits = { -0.2, 0.2 } }
  world:actuator { "leg", joint = leg, kind = "force", range = { -60, 60 } }
  return world, body
end

local function plan_hop(options)
  local world, body = hopper()
  options.cost = { { "height", of = body, field = "y", goal = 0.9, weight = 10 }, controls = 1e-4 }
  options.horizon, options.period, options.iterations = 0.6, 0.05, 8
  return control.trajectory(world, options), world, body
end

test("threads do not change a plan", function()
  local alone = plan_hop { threads = 1 }
  ok(alone.cost < 1)
  for _, threads in ipairs { 2, 3, 5 } do
    local shared = plan_hop { threads = threads }
    eq(shared.u:table(), alone.u:table())
    eq(shared.cost, alone.cost)
    eq(shared.threads, threads)
  end
  eq(alone.threads, 1)
end)

test("functions of the script are called by one thread", function()
  local world, body = hopper()
  body:force_law(function(b) return -0.1 * b.vx, 0, 0 end)
  local plan = control.trajectory(world, { horizon = 0.3, period = 0.05, iterations = 2, threads = 2,
    cost = { { "height", of = body, field = "y", goal = 0.9, weight = 10 }, controls = 1e-4 } })
  eq(plan.threads, 1)
end)

test("derivatives through contacts agree with differences of the cost", function()
  local world, body = hopper()
  local law = control.planner(world, { horizon = 0.6, period = 0.05, cost = {
    { "height", of = body, field = { "y", "vy" }, goal = { 0.9, 0 }, weight = 10 }, controls = 1e-4 } })
  local solver, u = law.problem.solver, {}
  for k = 1, 12 do u[k] = { 20 * math.sin(k) } end
  local function cost(k, by)
    local moved = {}
    for i = 1, 12 do moved[i] = { u[i][1] + (i == k and by or 0) } end
    return solver:set(sim.array(moved)).cost
  end
  for k = 1, 12 do
    cost(0, 0)
    near(solver:gradient()[{ k, 1 }], (cost(k, 1e-4) - cost(k, -1e-4)) / 2e-4, 1e-6)
  end
end)

test("a plan through soft contacts first", function()
  local plan, world = plan_hop { soften = { 1e-2, 1e-3 } }
  ok(plan.cost < 1)
  eq(world.bodies[1].contact_compliance, 0)
  -- The last search has used the contacts of the world, in which the law repeats the plan.
  local soft = control.trajectory(world, { u0 = plan.u, iterations = 1, horizon = 0.6, period = 0.05, cost = {
    { "height", of = world.bodies[2], field = "y", goal = 0.9, weight = 10 }, controls = 1e-4 } })
  ok(soft.cost <= plan.cost + 1e-9)
  world:control(plan:law())
  world:run { duration = 0.6 }
  for i, of in ipairs(plan.coordinates) do near((of.body or of.joint)[of.field], plan.x[{ 13, i }], 1e-9) end
  for key, value in pairs { soften = { -1 }, threads = 0 } do
    raises(key, plan_hop, { [key] = value })
  end
  raises("list of compliances", plan_hop, { soften = 1 })
end)
