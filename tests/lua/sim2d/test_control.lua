-- Actuators and observations.
local sim = require "sim2d"

local function free(dt)
  local world = sim.world { gravity = { 0, 0 }, dt = dt or 0.01 }
  return world, world:box { size = { 1, 1 }, mass = 2, name = "cart" }
end

test("forces and torques on bodies, held until the next command", function()
  local world, cart = free()
  local thrust = world:actuator { name = "thrust", body = cart, kind = "force", direction = { 0, 3 },
    range = { -4, 4 } }
  world:actuator { name = "spin", body = cart, kind = "torque" }
  eq({ thrust.name, thrust.kind, thrust.range, thrust.delay, thrust.value },
    { "thrust", "force", { -4, 4 }, 0, 0 })
  ok(thrust.body == cart and thrust.joint == nil)
  eq(world:act { 10, 1 }, 1) -- one was clipped
  eq(thrust.value, 4)
  world:run { duration = 1 }
  near(cart.vy, 2, 1e-9)
  near(cart.vx, 0, 1e-12)
  near(cart.omega, 1 / cart.inertia, 1e-9)
  eq(world:act { thrust = 0 }, 0)
  world:run { duration = 1 }
  near(cart.vy, 2, 1e-9)
  near(cart.omega, 2 / cart.inertia, 1e-9)
end)

test("efforts on joints act on both bodies", function()
  local world = free()
  local a = world:box { position = { 5, 0 }, size = { 1, 1 }, mass = 1 }
  local b = world:box { position = { 7, 0 }, size = { 1, 1 }, mass = 3 }
  local slider = world:slider { a, b, anchor = { 6, 0 }, axis = { 1, 0 } }
  world:actuator { name = "push", joint = slider, kind = "force" }
  world:act { push = 6 }
  world:step(10)
  near(a.vx, 0.6, 1e-9)
  near(b.vx, -0.2, 1e-9)
  local c = world:box { position = { 5, 5 }, size = { 1, 1 }, mass = 1 }
  local hinge = world:hinge { c, anchor = { 5, 5 } }
  world:actuator { name = "turn", joint = hinge, kind = "torque" }
  world:act { 0, 2 }
  world:step(10)
  near(c.omega, 0.2 / c.inertia, 1e-9)
end)

test("speeds are the motor's, positions are held by gains", function()
  local world = free(0.001)
  local rod = world:box { position = { 5, 0 }, size = { 1, 0.2 }, mass = 6 }
  local hinge = world:hinge { rod, anchor = { 5, 0 }, motor = { speed = 0, max_torque = 100 } }
  world:actuator { name = "speed", joint = hinge, kind = "speed", range = { -3, 3 } }
  world:act { 5 }
  world:step(50)
  near(hinge.speed, 3, 1e-9)
  eq(hinge.motor_speed, 3)
  local cart = world:box { position = { 9, 0 }, size = { 1, 1 }, mass = 1 }
  local slider = world:slider { cart, anchor = { 9, 0 }, axis = { 0, 1 } }
  world:actuator { name = "place", joint = slider, kind = "position", implicit = false, kp = 40, kd = 9 }
  world:act { place = 0.5 }
  world:step()
  near(slider.speed, 40 * 0.5 * 0.001, 1e-12)
  world:run { duration = 5 }
  near(slider.translation, 0.5, 1e-6)
end)

test("commands are delayed by whole steps", function()
  for _, case in ipairs { { 0, 0 }, { 0.05, 5 }, { 0.041, 5 } } do
    local world, cart = free()
    world:actuator { name = "f", body = cart, kind = "force", direction = { 1, 0 }, delay = case[1] }
    world:step(3)
    world:act { 2 }
    for i = 1, 10 do
      world:step()
      near(cart.vx, math.max(0, i - case[2]) * 0.01, 1e-12)
      if i == 6 then world:act { 2 } end
    end
  end
end)

test("restoring forgets commands of the future", function()
  local world, cart = free()
  world:actuator { name = "f", body = cart, kind = "force", direction = { 1, 0 }, delay = 0.02 }
  world:act { 2 }
  local snapshot = world:snapshot()
  world:step()
  world:act { 100 }
  world:restore(snapshot)
  world:step(10)
  near(cart.vx, 0.08, 1e-12)
end)

test("observations are listed in order and by name", function()
  local world, cart = free()
  cart.velocity = { 1, 2 }
  local hinge = world:hinge { cart, world:circle { radius = 1, position = { 9, 9 } },
    anchor = { 0, 0 } }
  world:observe { "cart", of = cart, field = { "x", "vy" } }
  world:observe { "place", of = cart, field = "position" }
  world:observe { "angle", of = hinge, field = "angle" }
  world:observe { "on", of = hinge, field = "enabled" }
  world:observe { "own", read = function(w) return w.time, 7 end }
  local seen = world:observation()
  eq(#seen, 8)
  for i, value in ipairs { 0, 2, 0, 0, 0, 1, 0, 7 } do eq(seen[i], value) end
  eq(seen.cart, { 0, 2 })
  eq(seen.angle, 0)
  eq(seen.own, { 0, 7 })
end)

test("noise is of the seed and the time", function()
  local world, cart = free()
  world:observe { "x", of = cart, field = "x", noise = 0.5 }
  local sum, square, n, first = 0, 0, 2000, world:observation().x
  eq(world:observation().x, first)
  local snapshot = world:snapshot()
  for _ = 1, n do
    world:step()
    local x = world:observation().x
    sum, square = sum + x, square + x * x
  end
  near(sum / n, 0, 0.05)
  near(math.sqrt(square / n), 0.5, 0.05)
  world:restore(snapshot)
  eq(world:observation().x, first)
end)

test("names stand first or as a key, directions are vectors of all kinds", function()
  local world, cart = free()
  local rail = world:slider { cart, anchor = { 0, 0 }, axis = { 3, 4 } }
  for i, direction in ipairs { { 3, 4 }, { x = 3, y = 4 }, rail.axis, sim.array { 3, 4 } } do
    local name = "push" .. i
    local push = world:actuator { name, kind = "force", body = cart, direction = direction }
    eq(push.name, name)
    near(push.input.force, { 0.6, 0.8 })
    world:observe { name = name, of = cart, field = "x" }
    eq(world:observation()[name], cart.x)
  end
  raises("no actuator 'pusch1'; did you mean 'push1'", function() world:act { pusch1 = 1 } end)
  for _, direction in ipairs { "up", true, { 1 }, { x = 1 }, { 0, 0 }, print } do
    raises("key 'direction'", function()
      world:actuator { "bad", kind = "force", body = cart, direction = direction }
    end)
  end
end)

test("nonsense is refused", function()
  local world, cart = free()
  local hinge = world:hinge { cart, anchor = { 0, 0 } }
  world:actuator { name = "a", joint = hinge, kind = "torque" }
  local other = sim.world {}:circle { radius = 1 }
  local function refuse(pattern, name, def)
    raises("test_control.lua:%d+: .*" .. pattern, function() world[name](world, def) end)
  end
  refuse("table expected, got number 3", "actuator", 3)
  refuse("unknown key 'kin'; did you mean 'kind'", "actuator", { kin = "force" })
  refuse("key 'name': a text expected, got nil", "actuator", { kind = "force" })
  refuse("there is an actuator 'a' already", "actuator", { name = "a", kind = "force" })
  refuse("key 'kind': one of", "actuator", { name = "b", kind = "pull", body = cart })
  refuse("either key 'joint' or key 'body'", "actuator", { name = "b", kind = "force" })
  refuse("key 'direction': {x, y} expected, got nil", "actuator",
    { name = "b", kind = "force", body = cart })
  refuse("'speed' acts on joints only", "actuator", { name = "b", kind = "speed", body = cart })
  refuse("'force' cannot act on a hinge", "actuator", { name = "b", kind = "force", joint = hinge })
  refuse("an existing joint or body of this world", "actuator", { name = "b", kind = "torque", body = other })
  refuse("key 'delay': a number not below 0", "actuator",
    { name = "b", kind = "torque", body = cart, delay = -1 })
  refuse("lo <= hi", "actuator", { name = "b", kind = "torque", body = cart, range = { 2, 1 } })
  refuse("'kp' and 'kd' apply only to", "actuator", { name = "b", kind = "torque", body = cart, kp = 1 })
  local function thruster(more)
    local def = { name = "b", kind = "force", body = cart, direction = { 0, 1 } }
    for key, value in pairs(more) do def[key] = value end
    return def
  end
  refuse("key 'frame': \"world\" or \"body\" expected, got 'bodi'", "actuator", thruster { frame = "bodi" })
  refuse("key 'at': no value %(only frame", "actuator", thruster { at = { 0, 1 } })
  refuse("key 'at': {x, y} expected", "actuator", thruster { frame = "body", at = { 0 / 0, 1 } })
  refuse("key 'frame': no value %(only a force on a body", "actuator", { name = "b", kind = "torque", body = cart, frame = "body" })
  refuse("1 values expected, one per actuator, got 2", "act", { 1, 2 })
  refuse("no actuator 'z'; known: a", "act", { z = 1 })
  refuse("unknown key '2'; known: at, body, delay, direction,", "actuator", { "b", "force" })
  refuse("key 'name': the name is already given as the first entry, 'b'", "actuator", { "b", name = "c", kind = "torque", body = cart })
  refuse("'a': finite number expected", "act", { 0 / 0 })
  refuse("a list, or a table", "act", 1)
  refuse("key 'name': a text expected, got nil", "observe", {})
  refuse("key 'name': no number expected, got '1'", "observe", { "1", of = cart, field = "x" })
  refuse("either key 'of' or key 'read'", "observe", { "x" })
  refuse("Body has no field 'vxx'", "observe", { "x", of = cart, field = "vxx" })
  refuse("key 'noise': a number not below 0", "observe",
    { "x", of = cart, field = "x", noise = -1 })
  world:observe { "text", read = function() return "t" end }
  refuse("observation 'text': numbers expected, got 't'", "observation")
  raises("World expected", function() world.act(3, {}) end)
  hinge:destroy()
  raises("actuator 'a': its joint or body is destroyed", world.step, world)
  eq(world.time, 0)
end)

-- A world with a delayed force, a motor and a noisy output; earlier commands are still delayed.
local function commanded()
  local world, cart = free()
  local arm = world:box { position = { 5, 0 }, size = { 1, 0.2 }, name = "arm" }
  local hinge = world:hinge { arm, anchor = { 5, 0 }, motor = { speed = 0, max_torque = 9 } }
  world:actuator { name = "f", body = cart, kind = "force", direction = { 1, 0 }, delay = 0.05 }
  world:actuator { name = "w", joint = hinge, kind = "speed", range = { -3, 3 } }
  world:observe { "cart", of = cart, field = { "x", "vx" }, noise = 0.1 }
  world:observe { "turn", of = hinge, field = "angle" }
  world:observe { "time", read = function(w) return w.time end }
  for i = 1, 8 do
    world:act { i * i, 0.1 * i }
    world:step()
  end
  return world
end

local function future(world)
  local seen = {}
  for i = 1, 12 do
    if i == 9 then world:act { f = -3 } end
    world:step()
    table.move(world:observation(), 1, 4, #seen + 1, seen)
  end
  return table.concat(seen, " "), table.concat(world:state(), " ")
end

test("snapshots hold the commands under way", function()
  local world = commanded()
  local snapshot = world:snapshot()
  local seen, state = future(world)
  for _ = 1, 2 do
    world:act { 99, 3 } -- in the future that is undone, and exactly at the time of the snapshot
    world:restore(snapshot)
    world:act { w = 0.8 } -- its present value
    local seen_again, state_again = future(world)
    eq(seen_again, seen)
    eq(state_again, state)
  end
  world:restore(snapshot)
  world:act { 99, 3 }
  world:restore(snapshot)
  eq({ future(world) }, { seen, state })
  local late = world:actuator { name = "late", body = world.bodies.arm, kind = "torque", range = { 1, 2 } }
  world:act { late = 2 }
  world:restore(snapshot)
  eq(late.value, 1)
end)

test("clones have actuators and observations of their own", function()
  for _, options in ipairs { {}, { callbacks = true } } do
    local world = commanded()
    local calls = 0
    world:before_step(function() calls = calls + 1 end)
    local snapshot = world:snapshot()
    local twin = world:clone(options)
    local seen, state = future(twin)
    eq(calls, options.callbacks and 12 or 0)
    eq({ future(world) }, { seen, state })
    twin:restore(snapshot)
    local third = twin:clone(options)
    eq({ future(twin) }, { seen, state })
    eq({ future(third) }, { seen, state })
    third:act { 1, 2 }
    ok(third:actuator { name = "more", body = third.bodies.cart, kind = "torque" }.body
      == third.bodies.cart)
    raises("there is an actuator 'f' already", function()
      twin:actuator { name = "f", body = twin.bodies.cart, kind = "torque" }
    end)
  end
  raises("Snapshot expected", function() commanded():restore(3) end)
  raises("unknown key 'callback'", function() commanded():clone { callback = true } end)
end)

-- ---- In gradient calls ------------------------------------------------------------------------

local function agrees(f, p)
  local value, g = sim.value_and_grad(f, p)
  eq(value, f(p), "the value with plain numbers")
  for name, derivative in pairs(g) do ok(derivative ~= 0, name .. " should matter") end
  local off = sim.check_grad(f, p, { print = false, step = 2e-4 })
  ok(off < 1e-8, ("off by %.1e"):format(off))
  return g
end

test("gradients go through commands and observations", function()
  local function loss(p)
    local world = sim.world { dt = p.dt, gravity = { 0, 0 } }
    local cart = world:box { size = { 1, 1 }, mass = 2, mask = 0 }
    local arm = world:box { size = { 1, 0.1 }, position = { 0.5, 0 }, mass = 0.5, mask = 0 }
    local slider = world:slider { cart, anchor = { 0, 0 }, axis = { 1, 0 } }
    local hinge = world:hinge { arm, cart, anchor = { 0, 0 },
      motor = { speed = 0, max_torque = 20 } }
    local ball = world:circle { radius = 0.1, position = { 5, 2 }, mass = 1 }
    local spring = world:spring { ball, anchor_b = { 5, 0 }, stiffness = 10 }
    world:actuator { name = "push", body = ball, kind = "force", direction = { 1, p.tilt } }
    world:actuator { name = "line", joint = spring, kind = "force", range = { -p.most, 3 },
      delay = 0.025 }
    world:actuator { name = "turn", joint = hinge, kind = "speed" }
    world:actuator { name = "hold", joint = slider, kind = "position", kp = p.kp, kd = p.kd }
    world:observe { "arm", of = hinge, field = { "angle", "speed" } }
    world:observe { "ball", of = ball, field = "position" }
    world:observe { "fast", read = function() return ball.velocity, cart.vx, true end }
    world:before_step(function()
      local seen = world:observation()
      eq(#seen, 8)
      world:act { push = p.k * (4 - seen[3]), line = -9 * seen.ball[2], hold = 0.2 * seen.arm[1],
        turn = p.k * seen.fast[2] }
    end)
    world:run { steps = 40 }
    return ball.x + ball.y * 2 + cart.x * 3 + hinge.angle
  end
  agrees(loss, { dt = 0.01, tilt = 0.3, most = 2, kp = 50, kd = 5, k = 1.5 })
end)

test("a command out of range has no derivative, and act counts it", function()
  local clipped = 0
  local function reach(u)
    local world, cart = free()
    world:actuator { name = "push", body = cart, kind = "force", direction = { 1, 0 }, range = { -1, 1 } }
    clipped = world:act(sim.array { u })
    world:step(10)
    return cart.x
  end
  near(select(2, sim.value_and_grad(reach, 0.5)), 0.5 * 0.1 ^ 2 / 2, 1e-15)
  eq(clipped, 0)
  eq(select(2, sim.value_and_grad(reach, 3)), 0.0)
  eq(clipped, 1)
end)

test("commands and gains of a gradient call stay as plain numbers", function()
  local world, cart = free()
  local push = world:actuator { name = "push", body = cart, kind = "force", direction = { 1, 0 } }
  local start = world:snapshot()
  local function reach(u)
    world:restore(start)
    world:act { 2 * u }
    world:step(10)
    return cart.x
  end
  local x, slope = sim.value_and_grad(reach, 0.5)
  eq(push.value, 1.0)
  world:step(10)
  local after = cart.x
  eq(reach(0.5), x)
  world:step(10)
  eq(cart.x, after)
  near(slope, x / 0.5, 1e-15)
  raises("'push': finite number expected, got nan", sim.grad, function(u)
    world:act { u * 0 / 0 }
    return u
  end, 1)
  raises("'delay': a plain number .* expected, got 1.0 .tracked.", sim.grad, function(u)
    world:actuator { name = "late", body = cart, kind = "torque", delay = u }
    return u
  end, 1)
end)

test("implicit positions hold their goal at any gains, with derivatives", function()
  for _, gains in ipairs { { 100, 10 }, { 1e4, 1e3 } } do
    local world = sim.world { dt = 1 / 60 }
    local arm = world:box { size = { 1, 0.1 }, mass = 1, position = { 0.5, 0 } }
    local hinge = world:hinge { arm, anchor = { 0, 0 } }
    world:actuator { "go", joint = hinge, kind = "position", kp = gains[1], kd = gains[2] }
    world:act { 1 }
    world:run { duration = 3 }
    -- at the position where the spring carries the arm
    near(gains[1] * (1 - hinge.angle), 9.81 * 0.5 * math.cos(hinge.angle), 1e-6)
  end
  local world = sim.world { dt = 1 / 60, gravity = { 0, 0 } }
  local cart = world:box { size = { 1, 1 }, mass = 2 }
  local rail = world:slider { cart, anchor = { 0, 0 }, axis = { 1, 0 } }
  local go = world:actuator { "go", joint = rail, kind = "position", kp = 50, kd = 5 }
  local start = world:snapshot()
  local function reach(u)
    world:restore(start)
    world:act { u }
    world:step(10)
    return rail.translation
  end
  local _, slope = sim.value_and_grad(reach, 0.3)
  near(slope, (reach(0.4) - reach(0.2)) / 0.2, 1e-9) -- it is linear
  world:restore(start)
  local A, B = world:linearize { inputs = { go }, coordinates = { rail } }
  world:act { 1 }
  world:step()
  near(B[1][1], rail.translation, 1e-12)
  near(B[2][1], rail.speed, 1e-12)
  raises("key 'implicit': no value %(only a position", world.actuator, world,
    { "force", body = cart, kind = "torque", implicit = true })
  raises("already holds a position of this joint: set implicit = false for one of the two", world.actuator, world,
    { "again", joint = rail, kind = "position" })
end)

test("a table of observations is filled once more", function()
  local world = sim.world { gravity = { 0, 0 } }
  local cart = world:box { size = { 1, 1 }, velocity = { 1, 0 } }
  world:observe { "cart", of = cart, field = { "x", "vx" } }
  world:observe { "angle", of = cart, field = "angle" }
  local seen = world:observation()
  local list = seen.cart
  world:run { duration = 1 }
  ok(world:observation(seen) == seen and seen.cart == list)
  near(seen[1], 1, 1e-9)
  eq({ list[1], list[2], seen.angle }, { seen[1], 1, 0 })
  eq(seen, world:observation())
  raises("a table to fill expected, got number 3", world.observation, world, 3)
end)
