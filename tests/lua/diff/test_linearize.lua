-- world:linearize and its uses.
local sim = require "sim2d"

-- A cart on a rail and `links` poles upright on it; coordinates are the rail's translation and the
-- hinges' angles.
local function cart_poles(links, settings)
  local world = sim.world(settings or { dt = 0.01 })
  local cart = world:box { size = { 0.4, 0.2 }, mass = 1, name = "cart" }
  local joints = { world:slider { a = cart, anchor = { 0, 0 }, axis = { 1, 0 } } }
  local below = cart
  for k = 1, links do
    local link = world:box { size = { 0.05, 0.5 }, mass = 0.2, position = { 0, 0.5 * k - 0.25 } }
    joints[#joints + 1] = world:hinge { a = link, b = below, anchor = { 0, 0.5 * (k - 1) } }
    below = link
  end
  return world, cart, joints
end

-- Gain of the discrete linear quadratic regulator, by iterating the Riccati equation.
local function lqr(A, B, weight)
  local Q, P = sim.eye(A.shape[1]) , sim.eye(A.shape[1])
  local K
  for _ = 1, 5000 do
    local BP = B:t():mm(P)
    K = sim.linalg.solve(BP:mm(B) + weight, BP:mm(A))
    local next_P = Q + A:t():mm(P:mm(A - B:mm(K)))
    local change = (next_P - P):norm()
    P = (next_P + next_P:t()) * 0.5
    if change < 1e-9 * P:norm() then return K end
  end
  error "the Riccati iteration does not converge"
end

local function coordinates(joints)
  local x = {}
  for i, joint in ipairs(joints) do
    x[i] = joint.type == "slider" and joint.translation or joint.angle
    x[#joints + i] = joint.speed
  end
  return sim.array(x)
end

local function size(joints)
  return coordinates(joints):norm()
end

for links, kick in pairs { 0.6, 0.05 } do
  test(("a regulator holds %d poles on a cart"):format(links), function()
    local world, cart, joints = cart_poles(links)
    local A, B, list = world:linearize { inputs = { { body = cart, force = { 1, 0 } } },
      coordinates = "reduced" }
    eq(A.shape, { 2 * links + 2, 2 * links + 2 })
    eq(B.shape, { 2 * links + 2, 1 })
    eq({ #list, list[1].field, list[2].field }, { links + 1, "translation", "angle" })
    ok(list[1].joint == joints[1] and list[2].joint == joints[2])
    local K = lqr(A, B, sim.array { { 0.01 } })
    -- The last pole gets a push; without the regulator it falls.
    local fallen = world:clone()
    local last = world.bodies[#world.bodies]
    last:apply_impulse({ kick * last.mass, 0 })
    fallen.bodies[#fallen.bodies]:apply_impulse({ kick * last.mass, 0 })
    world:before_step(function()
      cart:apply_force { -K:mm(coordinates(joints))[1], 0 }
    end)
    world:run { duration = 0.05 }
    ok(size(joints) > 1e-3)
    world:run { duration = 15 }
    fallen:run { duration = 15, until_ = function() return fallen.bodies[#fallen.bodies].y < 0.5 * links - 0.45 end }
    ok(size(joints) < 1e-4, ("%g"):format(size(joints)))
    ok(fallen.bodies[#fallen.bodies].y < 0.5 * links - 0.45)
  end)
end

test("the world does not change", function()
  local world, cart = cart_poles(2)
  world:run { steps = 7 }
  local before, time = world:state(), world.time
  world:linearize { inputs = { { body = cart, force = { 1, 0 } } }, coordinates = "reduced" }
  world:linearize()
  eq(world:state(), before)
  eq(world.time, time)
end)

test("a free body by hand", function()
  local world = sim.world { dt = 0.1 }
  local body = world:box { size = { 1, 1 }, mass = 2 }
  local A, B = world:linearize { inputs = { { body = body, force = { 0, 3 } },
    { body = body, torque = 1 } } }
  near(A[{ 1, 4 }], 0.1, 1e-15) -- a, x, y, va, vx, vy
  near(A[{ 3, 6 }], 0.1, 1e-15)
  near(A[{ 6, 6 }], 1, 1e-15)
  near(B[{ 6, 1 }], 0.15, 1e-15)
  near(B[{ 3, 1 }], 0.0075, 1e-15) -- a force held for 0.1 s
  near(B[{ 4, 2 }], 0.1 / body.inertia, 1e-15)
  local R, _, list = world:linearize { coordinates = { body } }
  eq(R.shape, { 6, 6 })
  near(R[{ 2, 5 }], 0.1, 1e-15) -- angle, x, y and their speeds
  eq({ list[1].field, list[2].field, list[3].field }, { "angle", "x", "y" })
  ok(list[1].body == body)
end)

test("actuators, joints and names are inputs", function()
  local world, cart, joints = cart_poles(1)
  local push = world:actuator { name = "push", body = cart, kind = "force", direction = { 2, 0 } }
  local rail = world:actuator { name = "rail", joint = joints[1], kind = "force" }
  local twist = world:actuator { name = "twist", joint = joints[2], kind = "torque" }
  local options = { coordinates = "reduced", inputs = { push, rail, { body = "cart", force = { 1, 0 } },
    twist, { joint = joints[2], torque = 1 } } }
  local _, B = world:linearize(options)
  local columns = B:t()
  near((columns[1] - columns[2]):norm(), 0, 1e-14)
  near((columns[1] - columns[3]):norm(), 0, 1e-14)
  near((columns[4] - columns[5]):norm(), 0, 1e-14)
  ok(columns[4]:norm() > 0.01)
  -- The effect of an actuator is its column.
  local clone = world:clone { callbacks = true }
  clone:act { 0, 0, 1e-3 }
  clone:step()
  near(clone.joints[2].angle / 1e-3, columns[4][2], 1e-6)
end)

test("motor speeds", function()
  local world = sim.world { dt = 0.01, gravity = { 0, 0 } }
  local wheel = world:circle { radius = 0.5 }
  local axle = world:hinge { a = wheel, anchor = { 0, 0 }, motor = { speed = 2 } }
  local _, B = world:linearize { inputs = { { joint = axle, motor_speed = 1 } },
    coordinates = { axle } }
  near(B[{ 2, 1 }], 1, 1e-12)
  near(B[{ 1, 1 }], 0.01, 1e-12)
  local weak = world:hinge { a = world:circle { radius = 0.5, position = { 3, 0 } }, anchor = { 3, 0 },
    motor = { speed = 2, max_torque = 0.01 } }
  local _, D = world:linearize { inputs = { { joint = weak, motor_speed = 1 },
    { joint = weak, motor_max = 1 } }, coordinates = { weak, axle } }
  near(D[{ 3, 1 }], 0, 1e-15)
  near(D[{ 3, 2 }], 0.01 / weak.a.inertia, 1e-12)
end)

-- The columns of A and B of a step by central differences of steps of clones.
local function by_differences(world, body, actuators, held)
  local function after(change)
    local clone = world:clone()
    local state = clone.bodies[body.name]
    change(state)
    clone:act(held)
    clone:step()
    return sim.array { state.angle, state.x, state.y, state.omega, state.vx, state.vy }
  end
  local columns, H = {}, 1e-5
  for _, field in ipairs { "angle", "x", "y", "omega", "vx", "vy" } do
    local function at(by) return after(function(b) b[field] = b[field] + by end) end
    columns[#columns + 1] = (at(H) - at(-H)) / (2 * H)
  end
  for i = 1, actuators do
    local function at(by)
      local before = held[i]
      held[i] = before + by
      local result = after(function() end)
      held[i] = before
      return result
    end
    columns[#columns + 1] = (at(H) - at(-H)) / (2 * H)
  end
  return columns
end

test("a thruster turns with its body", function()
  local world = sim.world { dt = 0.05 }
  local body = world:box { name = "lander", size = { 1, 0.5 }, mass = 2, angle = 0.4, velocity = { 1, -0.3 }, angular_velocity = 0.7 }
  local side = world:actuator { "side", body = body, kind = "force", direction = { 3, 4 }, frame = "body", at = { -0.5, 0.2 } }
  local main = world:actuator { "main", body = body, kind = "force", direction = { 0, 1 }, frame = "body" }
  local held = { 1.5, -20 }
  local columns = by_differences(world, body, 2, held)
  world:act(held)
  for _, coordinates in ipairs { "maximal", "reduced" } do
    local A, B = world:linearize { inputs = { side, main }, coordinates = coordinates }
    for k, column in ipairs(columns) do
      for i = 1, 6 do near(k > 6 and B[{ i, k - 6 }] or A[{ i, k }], column[i], 1e-8, ("%s %d %d"):format(coordinates, i, k)) end
    end
  end
  -- about its arm, (-.5, .2) x (.6, .8) = -.52 m
  near(body.omega, 0.7, 0)
  world:act { 1.5, 0 }
  world:step()
  near(body.omega, 0.7 - 0.05 * 1.5 * 0.52 / body.inertia, 1e-14)
end)

test("a thruster whose body was destroyed is reported", function()
  local world = sim.world {}
  world:box { size = { 1, 1 } }
  local gone = world:box { size = { 1, 1 }, position = { 3, 0 } }
  world:actuator { "jet", body = gone, kind = "force", direction = { 0, 1 }, frame = "body" }
  world:act { 5 }
  gone:destroy()
  for _, coordinates in ipairs { "maximal", "reduced" } do
    raises("actuator 'jet': its joint or body is destroyed", world.linearize, world, { coordinates = coordinates })
  end
end)

test("the effect of a force law by plain numbers alone has no derivative", function()
  local world, cart = cart_poles(1)
  cart:force_law(function(body) return 0, math.sin(body.x), 0 end)
  raises("use sim.sin instead of math.sin", function() world:linearize() end)
end)

-- A world of three discs with one function of the script in it; `u`: a force on the first disc.
local FUNCTIONS = {
  law = function(world, discs) discs[1]:force_law(function(body) return 0, -sim.sin(body.x), -body.vy end) end,
  spring = function(world, discs)
    world:spring { discs[1], discs[2], force = function(x) return 4 * x + sim.sin(x) end }
  end,
  motion = function(world, discs)
    local hand = world:box { type = "kinematic", size = { 0.1, 0.1 }, position = { 0, 2 }, mask = 0 }
    hand:motion(function(t) return sim.sin(t), 2 + t ^ 2, t end)
    world:spring { discs[1], hand, anchor_b = { 0, 2 }, stiffness = 20, damping = 1 }
  end,
  lock = function(world, discs)
    world:lock { discs[2], x = function(t) return 1 + sim.sin(t) end }
    world:spring { discs[1], discs[2], stiffness = 20 }
  end,
  ["lock by velocity"] = function(world, discs)
    world:lock { discs[2], y = true, velocity = function(t) return nil, nil, sim.cos(t) end }
    world:spring { discs[1], discs[2], stiffness = 20 }
  end,
  constraint = function(world, discs)
    world:constraint { bodies = { discs[1] }, phi = function(q) return q.y - 0.3 * sim.sin(q.x) end }
  end,
  ["constraint with a jacobian"] = function(world, discs)
    world:constraint { bodies = { discs[1], discs[2] }, phi = function(p, q) return p.x * q.x - p.y end,
      jacobian = function(p, q) return { 0, q.x, -1, 0, p.x, 0 } end }
  end,
  ["constraint between three"] = function(world, discs)
    world:constraint { bodies = discs, compliance = 1e-3, phi = function(p, q, r) return p.y + 2 * q.y - r.y * r.x end }
  end,
}

local function world_with(kind, stepping, u)
  local world, discs = sim.world { dt = 0.01, stepping = stepping }, {}
  for i = 1, 3 do
    discs[i] = world:circle { radius = 0.1, mass = i, position = { i - 1, 0 }, velocity = { 0.3, i / 10 }, mask = 0 }
  end
  FUNCTIONS[kind](world, discs)
  world:step(2)
  if u then discs[1]:apply_force { u, 0 } end
  return world, discs[1]
end

-- linearize and the tape differentiate the same step in different ways.
test("functions of the script that act in a step are in A and B", function()
  for kind in pairs(FUNCTIONS) do
    for _, stepping in ipairs { "auto", "speculative", "event", "bisect" } do
      local world, disc = world_with(kind, stepping)
      local before = world:state()
      local A, B = world:linearize { inputs = { { body = disc, force = { 1, 0 } } } }
      eq(world:state(), before, kind)
      local by_u = sim.jacobian(function(u)
        local one = world_with(kind, stepping, u)
        one:step()
        return one:state()
      end, 0)
      for i = 1, #before do
        near(B[{ i, 1 }], by_u[i][1], 1e-12)
      end
      -- checks A by a change of the first disc's position that rigid rows allow
      if not kind:find "constraint" then
        local by_x = sim.jacobian(function(x)
          local one = world_with(kind, stepping)
          one.bodies[1].y = x
          one:step()
          return one:state()
        end, disc.y)
        for i = 1, #before do
          near(A[{ i, 3 }], by_x[i][1], 1e-9)
        end
      end
    end
  end
end)

test("misuse raises a message with the remedy", function()
  local world, cart, joints = cart_poles(1)
  local _, other_cart = cart_poles(1)
  local function wrong(inputs, message)
    raises("test_linearize.lua:%d+: .*" .. message, function() world:linearize { inputs = inputs } end)
  end
  wrong(3, "key 'inputs': list of inputs expected, got 3")
  wrong({ 3 }, "key 'inputs': %[1%]: an actuator or {body = or joint =, ...} expected, got 3")
  wrong({ {} }, "key 'inputs%[1%].body': either a body or a joint expected")
  wrong({ { body = cart } }, "a second key expected: force or torque")
  wrong({ { joint = joints[1] } }, "force, torque, motor_speed, motor_max, rest or goal, with its value")
  wrong({ { body = cart, force = { 1, 0 }, torque = 1 } }, "an input has only one kind")
  wrong({ { body = other_cart, torque = 1 } }, "got one of another world")
  wrong({ { body = "kart", torque = 1 } }, "kart")
  wrong({ { body = cart, motor_speed = 1 } }, "applies to joints, not to bodies")
  wrong({ { joint = joints[1], motor_speed = 1 } }, "inputs%[1%]: the slider has no motor: give it one")
  wrong({ { joint = joints[1], torque = 1 } }, "a torque cannot act on a slider")
  wrong({ { body = cart, forces = 1 } }, "did you mean 'force'")
  wrong({ { body = cart, force = { 1, 0 }, frame = "cart" } }, 'key \'inputs%[1%].frame\': "body" expected')
  wrong({ { body = cart, force = { 1, 0 }, at = { 1, 0 } } }, "applies only to a force with frame = \"body\"")
  wrong({ { body = cart, torque = 1, frame = "body" } }, "inputs%[1%].frame': applies only to the force of a body")
  wrong({ { joint = joints[1], force = 1, at = { 1, 0 } } }, "inputs%[1%].at': applies only to the force of a body")
  wrong({ world:actuator { name = "to", joint = joints[2], kind = "position", implicit = false } },
    "an explicit position cannot be an input of a linear step")
  raises("key 'coordinates': one of 'maximal', 'reduced' expected, got 'joint'",
    function() world:linearize { coordinates = "joint" } end)
  raises("key 'coordinates': %[1%]: a joint or body of this world expected, got 1",
    function() world:linearize { coordinates = { 1 } } end)
  raises("1 of the 2 motions", function() world:linearize { coordinates = { joints[1] } } end)
  raises("coordinates%[2%]: the joints and the coordinates listed before it", function()
    world:linearize { coordinates = { joints[1], cart } }
  end)
  world:before_step(function() world:linearize() end)
  raises("cannot be called from inside a step", function() world:step() end)
end)

-- A step of two stages moves by h^2/2 a from rest, one of first order by h^2 a. In equilibrium both stay at rest, which
-- does not distinguish them; a force does.
test("in equilibrium the derivatives by force and position agree with differences, in every flow", function()
  for _, flow in ipairs { "auto", "projected" } do
    local function moved(change)
      local world, cart, joints = cart_poles(1, { dt = 0.01, flow = flow })
      change(world, cart, joints)
      world:step()
      return coordinates(joints)
    end
    local world, _, joints = cart_poles(1, { dt = 0.01, flow = flow })
    local A, B = world:linearize { inputs = { { joint = joints[1], force = 1 } }, coordinates = joints }
    local e = 1e-4
    local by_force = (moved(function(_, cart) cart:apply_force { e, 0 } end)
      - moved(function(_, cart) cart:apply_force { -e, 0 } end)) / (2 * e)
    local by_angle = (moved(function(_, _, at) at[2].angle = e end) - moved(function(_, _, at) at[2].angle = -e end)) / (2 * e)
    for i = 1, 4 do
      near(B[i][1], by_force[i], 1e-8)
      near(A[i][2], by_angle[i], 1e-8)
    end
    near(B[1][1] / B[3][1], flow == "auto" and 0.005 or 0.01, 1e-6)
  end
end)

-- The rows of both stages turn, each with its own part of the impulse; commands are constant over both.
test("in motion the derivatives of both stages agree with differences", function()
  local function moved(at, u)
    local world, _, joints = cart_poles(2, { dt = 0.01 })
    for i, joint in ipairs(joints) do
      world:actuator { "act " .. i, joint = joint, kind = i == 1 and "force" or "torque" }
      joint[i == 1 and "translation" or "angle"] = at[i]
    end
    for i, joint in ipairs(joints) do joint.speed = at[3 + i] end
    world:act(u)
    return world, joints
  end
  local function stepped(at, u)
    local world, joints = moved(at, u)
    world:step()
    return coordinates(joints)
  end
  local at, u, e = { 0.2, 0.7, -0.5, 1, -3, 4 }, { 2, 0.5, -1 }, 1e-5
  local world, joints = moved(at, u)
  local inputs = {}
  for i, joint in ipairs(joints) do inputs[i] = { joint = joint, [i == 1 and "force" or "torque"] = 1 } end
  local A, B = world:linearize { inputs = inputs, coordinates = joints }
  for _, side in ipairs { { at, A }, { u, B } } do
    local list, matrix = side[1], side[2]
    for k, here in ipairs(list) do
      list[k] = here + e
      local above = stepped(at, u)
      list[k] = here - e
      local slope = (above - stepped(at, u)) / (2 * e)
      list[k] = here
      for i = 1, 6 do near(matrix[i][k], slope[i], 1e-8) end
    end
  end
end)
