-- sim.rollout: costs of sequences of controls, states, gradients; bad input.
local sim = require "sim2d"

local function build()
  local world = sim.world { dt = 0.02 }
  local cart = world:box { name = "cart", size = { 0.4, 0.2 }, mass = 1 }
  local pole = world:box { name = "pole", size = { 0.05, 1 }, mass = 0.1, position = { 0, 0.5 } }
  local rail = world:slider { cart, anchor = { 0, 0 }, axis = { 1, 0 }, name = "rail" }
  local hinge = world:hinge { pole, cart, anchor = { 0, 0 }, name = "hinge" }
  world:no_contact(cart, pole)
  world:actuator { "push", joint = rail, kind = "force", range = { -1.5, 1.5 } }
  world:actuator { "turn", joint = hinge, kind = "torque", delay = 0.05 }
  hinge.angle = 0.2
  return world
end

local COST = { { of = "hinge", field = { "angle", "speed" }, norm = "l2" },
  { of = "rail", field = { "translation", "speed" }, norm = "smooth_abs", weight = 0.3 },
  { of = "controls", weight = 0.01, scale = { 2, 0.5 } },
  { of = "hinge", field = "angle", goal = 6, wrap = true, weight = 0.1, scale = 3 },
  { of = "pole", field = "position", goal = { 0, 0.5 }, terminal = 2, norm = "huber", p = 0.05 },
  { of = "cart", field = "x", norm = "power", p = 3, weight = 0.5 },
  { of = "pole", at = { 0.1, 0.5 }, field = "position", goal = { 0.2, 1 }, weight = 0.4, scale = { 1, 2 } } }
local N, KNOTS, CONTROLS = 4, 8, 2

local function sequences()
  local random, list = sim.random.split(), {}
  random:seed(4)
  for i = 1, N do
    list[i] = {}
    for k = 1, KNOTS * CONTROLS do list[i][k] = random:uniform(-2, 2) end
  end
  return sim.array(list)
end

test("a rollout equals the world stepped by hand", function()
  local world = build()
  world:act { 1, 0.5 } -- one command is delayed
  world:step()
  local u, before = sequences(), world:state()
  local costs, states, failed = sim.rollout(world, u, { cost = { { of = "hinge", field = "angle", terminal = 1,
    weight = 1 }, { of = "controls", field = 2, norm = "linear" } }, period = 0.06, states = true })
  eq({ costs.shape, states.shape, failed }, { { N }, { N, KNOTS * 12 }, 0 })
  eq(world:state(), before)
  for i = 1, N do
    local copy, sum = world:clone(), 0
    -- the copy does not have the delayed commands: give them again
    copy:restore(world:snapshot())
    for k = 1, KNOTS do
      copy:act { u[i][2 * k - 1], u[i][2 * k] }
      for _ = 1, 3 do
        local t = copy.time
        copy:step()
        sum = sum + (copy.time - t) * (copy.joints.hinge.angle ^ 2 / 2 + u[i][2 * k])
      end
      local state = copy:state()
      for c = 1, 12 do eq(states[i][(k - 1) * 12 + c], state[c]) end
    end
    near(costs[i], sum + copy.joints.hinge.angle ^ 2 / 2, 1e-14)
  end
end)

test("any number of threads, and lists of sequences", function()
  local world, u = build(), sequences()
  local costs = sim.rollout(world, u, { cost = COST, threads = 1 }):table()
  for threads = 2, 4 do eq(sim.rollout(world, u, { cost = COST, threads = threads }):table(), costs) end
  local list = {}
  for i = 1, N do list[i] = u[i]:reshape(KNOTS, CONTROLS) end
  eq(sim.rollout(world, list, { cost = COST }):table(), costs)
end)

test("gradients of rollouts agree with the tape and with differences", function()
  local world, u, weights = build(), sequences(), sim.array { 1, 2, -1, 0.5 }
  local function loss(p) return (sim.rollout(world, p, { cost = COST, period = 0.04 }) * weights):sum() end
  local value, gradient = sim.value_and_grad(loss, u)
  -- with a timer the world depends on the script: the tape steps all of it
  world:every(1e3, function() end)
  local by_tape, other = sim.value_and_grad(loss, u)
  near(value, by_tape, 1e-13)
  near((gradient - other):norm(), 0, 1e-12 * gradient:norm())
  local h, table_ = 1e-4, u:table()
  for k = 1, KNOTS * CONTROLS, 3 do
    local was, side = table_[2][k], {}
    for _, sign in ipairs { 1, -1 } do
      table_[2][k] = was + sign * h
      side[sign] = loss(sim.array(table_))
    end
    table_[2][k] = was
    near(gradient[2][k], (side[1] - side[-1]) / (2 * h), 1e-7)
  end
end)

-- An arm on a cart, with all kinds of pushes, above a floor that it reaches when it falls.
local function arm(height)
  local world = sim.world { dt = 0.02 }
  local cart = world:box { name = "cart", size = { 0.6, 0.2 }, mass = 1 }
  local upper = world:box { name = "upper", size = { 0.05, 0.5 }, mass = 0.3, position = { 0, 0.25 } }
  local lower = world:box { name = "lower", size = { 0.05, 0.5 }, mass = 0.2, position = { 0, 0.75 } }
  local rail = world:slider { cart, anchor = { 0, 0 }, axis = { 1, 0.2 }, name = "rail" }
  local shoulder = world:hinge { upper, cart, anchor = { 0, 0 }, name = "shoulder" }
  local elbow = world:hinge { lower, upper, anchor = { 0, 0.5 }, name = "elbow" }
  world:no_contact(cart, upper)
  world:no_contact(lower, upper)
  world:no_contact(cart, lower)
  world:box { type = "static", size = { 20, 0.2 }, position = { 0, -height } }
  world:actuator { "rail", joint = rail, kind = "force", range = { -20, 20 } }
  world:actuator { "elbow", joint = elbow, kind = "torque", range = { -2, 2 }, delay = 0.04 }
  world:actuator { "wind", body = lower, kind = "force", direction = { 1, 0.5 } }
  world:actuator { "thrust", body = lower, kind = "force", direction = { 1, 0 }, frame = "body", at = { 0, 0.2 } }
  shoulder.angle, elbow.angle = 0.4, -0.7
  return world
end
local ARM_COST = { { of = "lower", field = { "position", "velocity", "angle", "omega" }, weight = 0.2, terminal = 1 },
  { of = "elbow", field = { "angle", "speed" }, norm = "smooth_abs" },
  { of = "rail", field = { "translation", "speed" }, terminal = 0.5 }, { of = "controls", weight = 0.01 } }

local function arm_controls(samples, knots)
  local random, list = sim.random.split(), {}
  random:seed(7)
  for i = 1, samples do
    list[i] = {}
    for k = 1, 4 * knots do list[i][k] = random:uniform(-3, 3) end
  end
  return sim.array(list)
end

test("gradients of rollouts agree in worlds of joints, with and without contacts", function()
  for _, height in ipairs { 30, 0.6 } do
    for before = 0, 1 do
      local world, u = arm(height), arm_controls(11, 12)
      for _ = 1, 3 * before do world:step() end
      local function loss(p) return sim.rollout(world, p, { cost = ARM_COST, period = 0.06 }):sum() end
      local value, gradient = sim.value_and_grad(loss, u)
      for threads = 1, 3 do
        local _, same = sim.value_and_grad(function(p)
          return sim.rollout(world, p, { cost = ARM_COST, period = 0.06, threads = threads }):sum()
        end, u)
        eq(same:table(), gradient:table())
      end
      -- each sequence alone, in its own lane
      for i = 1, 11, 5 do
        local _, alone = sim.value_and_grad(loss, sim.array { u:table()[i] })
        eq(alone:table()[1], gradient:table()[i])
      end
      world:every(1e3, function() end) -- the script's own tape steps the world
      local by_tape, other = sim.value_and_grad(loss, u)
      near(value, by_tape, 1e-12 * math.abs(value))
      near((gradient - other):norm(), 0, 1e-9 * gradient:norm())
    end
  end
end)

test("a thruster turns with its body, in rollouts too", function()
  local function loss(p)
    local world = sim.world { dt = 0.02 }
    local body = world:box { name = "lander", size = { 1, 0.5 }, mass = 2, angle = p.angle }
    world:actuator { "main", body = body, kind = "force", direction = { 0, 1 }, frame = "body" }
    world:actuator { "side", body = body, kind = "force", direction = { 1, 0 }, frame = "body", at = { 0.1, 0.4 } }
    local costs = sim.rollout(world, sim.array { { 30, 2, 20, -1, 10, p.last } }, { period = 0.1,
      cost = { { of = "lander", field = { "x", "y", "angle" }, weight = 1, terminal = 10 } } })
    return costs[1]
  end
  local p, h = { angle = 0.3, last = 0.5 }, 1e-6
  local _, gradient = sim.value_and_grad(loss, p)
  near(gradient.angle, (loss { angle = 0.3 + h, last = 0.5 } - loss { angle = 0.3 - h, last = 0.5 }) / (2 * h), 1e-6)
  near(gradient.last, (loss { angle = 0.3, last = 0.5 + h } - loss { angle = 0.3, last = 0.5 - h }) / (2 * h), 1e-6)
  ok(math.abs(gradient.angle) > 0.1 and math.abs(gradient.last) > 0.001)
end)

test("functions as costs, and the data of the world, have gradients too", function()
  local u = sequences()
  local function loss(p)
    local world = build()
    world.bodies.cart.mass = p.mass
    return sim.rollout(world, u, { cost = COST }):sum()
  end
  local _, gradient = sim.value_and_grad(loss, { mass = 1.0 })
  local h = 1e-4
  near(gradient.mass, (loss { mass = 1 + h } - loss { mass = 1 - h }) / (2 * h), 1e-6)
  local world = build()
  local function square(copy) return copy.joints.hinge.angle ^ 2 / 2 end
  local by_function = sim.rollout(world, u, { cost = square })
  near((by_function - sim.rollout(world, u, { cost = { { of = "hinge", field = "angle" } } })):norm(), 0, 1e-14)
  local slope = sim.grad(function(p) return sim.rollout(world, p, { cost = square }):sum() end, u)
  local same = sim.grad(function(p)
    return sim.rollout(world, p, { cost = { { of = "hinge", field = "angle" } } }):sum()
  end, u)
  near((slope - same):norm(), 0, 1e-12)
end)

test("sequences that fail", function()
  local world = build()
  world.joints.hinge:destroy()
  raises("test_rollout.lua:%d+: sim.rollout: sequence 1: actuator 'turn': its joint or body is destroyed %(and 3 more%)",
    function() sim.rollout(world, sequences(), { cost = { { of = "cart", field = "x" } } }) end)
  local costs, _, failed = sim.rollout(world, sequences(), { failures = "keep" })
  eq({ costs[1], failed }, { math.huge, N })
end)

test("bad input is refused, and the message names the expected input", function()
  local world, u = build(), sequences()
  raises("period: a whole number of steps of 0.02 s expected, got 0.03 s",
    function() sim.rollout(world, u, { period = 0.03 }) end)
  raises("controls: an array of sequences x %(knots %* 2%) expected, got 2 x 3",
    function() sim.rollout(world, sim.zeros(2, 3)) end)
  raises("controls: an array of sequences x %(knots %* 2%) or a list of sequences expected, got 3",
    function() sim.rollout(world, 3) end)
  raises("controls: at least one sequence expected, got none", function() sim.rollout(world, {}) end)
  raises("2 knots expected, as in the first sequence, got 1",
    function() sim.rollout(world, { { { 1, 2 }, { 1, 2 } }, { { 1, 2 } } }) end)
  raises("sequence 2, knot 3, control 1: a finite number expected, got nan", function()
    local list = u:table()
    for i = 1, N do
      for k = 1, #list[i] do list[i][k] = i == 2 and k == 5 and -1 or 1 end
    end
    sim.rollout(world, sim.sqrt(sim.array(list)))
  end)
  raises("unknown key 'costs'; did you mean 'cost'?", function() sim.rollout(world, u, { costs = COST }) end)
  raises("the world has no actuators", function() sim.rollout(sim.world {}, u) end)
  raises("a rollout cannot differentiate the joint field 'force'", function()
    sim.grad(function(p) return sim.rollout(world, p, { cost = { { of = "hinge", field = "force" } } }):sum() end, u)
  end)
  world:close()
  raises("world is closed", function() sim.rollout(world, u) end)
end)
