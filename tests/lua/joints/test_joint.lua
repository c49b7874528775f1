-- Joints of all types.
local sim = require "sim2d"

local function pendulum()
  local world = sim.world { gravity = { 0, -10 }, dt = 0.001 }
  local bob = world:circle { radius = 0.1, position = { 1, 0 }, mass = 1, name = "bob" }
  local hinge = world:hinge { bob, anchor = { 0, 0 }, name = "pivot" }
  return world, bob, hinge
end

test("a hinge to the world makes a pendulum", function()
  local world, bob, hinge = pendulum()
  eq({ hinge.type, hinge.name, hinge.enabled, hinge.collide }, { "hinge", "pivot", true, false })
  ok(hinge.a == bob)
  eq(hinge.b, nil)
  world:run { duration = 1 }
  near(math.sqrt(bob.x ^ 2 + bob.y ^ 2), 1, 1e-9)
  near(hinge.error, 0, 1e-9)
  near(hinge.anchor_a, { 0, 0 }, 1e-9)
  near(hinge.anchor_b, { 0, 0 })
  near(hinge.angle, bob.angle)
  near(hinge.speed, bob.omega)
  near(hinge.force, hinge.impulse / world.dt, 1e-9)
end)

test("the force of a hinge carries the weight", function()
  local world = sim.world { gravity = { 0, -10 }, dt = 0.01 }
  local bob = world:circle { radius = 0.1, position = { 0, -1 }, mass = 3 }
  local hinge = world:hinge { a = bob, anchor = { 0, 0 } }
  world:step(5)
  near(hinge.force, { 0, 30 }, 1e-8)
end)

test("either body may be the world, by place or by name", function()
  local world = sim.world {}
  local a = world:circle { radius = 1, name = "a" }
  local b = world:circle { radius = 1, position = { 3, 0 }, name = "b" }
  local hinge = world:hinge { a, b, anchor = { 1.5, 0 } }
  ok(hinge.a == a and hinge.b == b)
  local second = world:hinge { "world", b, anchor = { 3, 0 } }
  ok(second.a == nil and second.b == b)
  local third = world:hinge { a = false, b = a, anchor = { 3, 0 } }
  ok(third.b == a)
  eq(#world.joints, 3)
  ok(world.joints[1] == hinge)
end)

test("joints are found by name and destroyed", function()
  local world, _, hinge = pendulum()
  ok(world.joints.pivot == hinge)
  raises("no joint is named 'pivto'; did you mean 'pivot'%?",
    function() return world.joints.pivto end)
  eq(tostring(hinge), "Joint 'pivot'")
  hinge:destroy()
  eq(#world.joints, 0)
  raises("joint 'pivot' is destroyed", function() return hinge.angle end)
  raises("joint 'pivot' is destroyed", function() hinge.enabled = false end)
end)

test("a joint goes with its body", function()
  local world, bob, hinge = pendulum()
  bob:destroy()
  raises("joint 'pivot' is destroyed", function() return hinge.angle end)
  eq(#world.joints, 0)
end)

test("a hinge can be switched off", function()
  local world, bob, hinge = pendulum()
  hinge.enabled = false
  eq(hinge.enabled, false)
  world:step(10)
  near(bob.vy, -10 * 0.01, 1e-12)
end)

test("wrong hinges are refused and nothing is made", function()
  local world = sim.world {}
  local other = sim.world {}:circle { radius = 1 }
  local body = world:circle { radius = 1, name = "body" }
  raises("bad argument #1 to 'hinge' %(key 'anchor' is missing%)",
    function() world:hinge { body } end)
  raises("bad argument #1 to 'hinge' %(key 'a' is missing%)",
    function() world:hinge { anchor = { 0, 0 } } end)
  raises("key 'a': Body expected, got 3", function() world:hinge { 3, anchor = { 0, 0 } } end)
  raises("key 'a': the body belongs to another world",
    function() world:hinge { other, anchor = { 0, 0 } } end)
  raises("key 'a': given twice, also as %[1%]",
    function() world:hinge { body, a = body, anchor = { 0, 0 } } end)
  raises("unknown key 'anchr'; did you mean 'anchor'%?",
    function() world:hinge { body, anchr = { 0, 0 } } end)
  raises("unknown key %[3%]", function() world:hinge { body, nil, body, anchor = { 0, 0 } } end)
  raises("key 'motor': {speed =, max_torque =} expected, got 3",
    function() world:hinge { body, anchor = { 0, 0 }, motor = 3 } end)
  raises("key 'motor.speed' is missing",
    function() world:hinge { body, anchor = { 0, 0 }, motor = { max_torque = 1 } } end)
  raises("unknown key 'motor.max_force'",
    function() world:hinge { body, anchor = { 0, 0 }, motor = { max_force = 1 } } end)
  raises("limits: lo <= hi expected, got {1, %-1}",
    function() world:hinge { body, anchor = { 0, 0 }, limits = { 1, -1 } } end)
  raises("key 'limits': {lo, hi} expected, got 3",
    function() world:hinge { body, anchor = { 0, 0 }, limits = 3 } end)
  -- Names, and extra values, would otherwise be ignored silently.
  raises("key 'limits': {lo, hi} expected, two values without names, got key '[hl][io]'",
    function() world:hinge { body, anchor = { 0, 0 }, limits = { lo = -1, hi = 1 } } end)
  raises("key 'limits': {lo, hi} expected, two values without names, got key 3",
    function() world:hinge { body, anchor = { 0, 0 }, limits = { -1, 1, 2 } } end)
  raises("key 'compliance': non%-negative number expected, got %-1",
    function() world:hinge { body, anchor = { 0, 0 }, compliance = -1 } end)
  raises("compliance: a number or a 2 x 2 matrix expected, got 1 x 1",
    function() world:hinge { body, anchor = { 0, 0 }, compliance = { { 1 } } } end)
  raises("compliance: a symmetric matrix expected",
    function() world:hinge { body, anchor = { 0, 0 }, compliance = { { 1, 2 }, { 0, 1 } } } end)
  raises("compliance: a positive semidefinite matrix expected, got the eigenvalue %-1",
    function() world:hinge { body, anchor = { 0, 0 }, compliance = { { 1, 2 }, { 2, 1 } } } end)
  raises("damping: requires compliance above 0",
    function() world:weld { body, anchor = { 0, 0 }, damping = 1 } end)
  raises("stiffness: a hinge has compliance or a spring along its coordinate, not both",
    function() world:hinge { body, anchor = { 0, 0 }, stiffness = 1, compliance = 1e-3 } end)
  raises("rest: applies only to a spring; give stiffness, too",
    function() world:hinge { body, anchor = { 0, 0 }, rest = 1 } end)
  raises("damping: one number expected, got two",
    function() world:hinge { body, anchor = { 0, 0 }, damping = { linear = 1, angular = 2 } } end)
  raises("break_force: a number above 0 expected, got 0",
    function() world:hinge { body, anchor = { 0, 0 }, break_force = 0 } end)
  raises("key 'anchor': {x, y} expected, component 1: finite number expected, got nan",
    function() world:hinge { body, anchor = { 0 / 0, 0 } } end)
  raises("bad argument #1 to 'hinge'",
    function() world:hinge { body, body, anchor = { 0, 0 } } end)
  body:destroy()
  raises("key 'a': body 'body' is destroyed",
    function() world:hinge { body, anchor = { 0, 0 } } end)
  eq(#world.joints, 0)
end)

test("unknown and read-only fields of a joint", function()
  local _, _, hinge = pendulum()
  raises("Joint has no field 'angel'; did you mean 'angle'%?", function() return hinge.angel end)
  raises("Joint.torque is read%-only", function() hinge.torque = 1 end)
  local disc = hinge.a.world:circle { radius = 0.1 }
  local weld = hinge.a.world:weld { disc, anchor = { 0, 0 } }
  raises("Joint.angle is read%-only: only angles of hinges and translations of sliders",
    function() weld.angle = 1 end)
  raises("Joint.max_length: does not apply to a hinge", function() hinge.max_length = 1 end)
  raises("Joint.friction: a number not below 0 expected, got %-1",
    function() hinge.friction = -1 end)
  raises("Joint.limits: {lo, hi} expected, got 1", function() hinge.limits = 1 end)
  raises("Joint.limits: {lo, hi} expected, two values without names, got key 'max'",
    function() hinge.limits = { -1, max = 1 } end)
  raises("Joint.enabled: true or false expected", function() hinge.enabled = 1 end)
  raises("Joint.motor_speed: number expected, got 'fast'",
    function() hinge.motor_speed = "fast" end)
  eq(hinge.limits, nil) -- a hinge may have some
end)

-- A body without weight, and the world it is in.
local function floating(def)
  local world = sim.world { gravity = { 0, 0 }, dt = 0.01 }
  def = def or {}
  return world, world:circle { radius = 0.5, mass = 2, position = { 2, 0 },
    velocity = def.velocity, angular_velocity = def.angular_velocity }
end

test("a weld to the world holds weight and torque", function()
  local world = sim.world { gravity = { 0, -10 }, dt = 0.01 }
  local beam = world:box { size = { 2, 0.1 }, mass = 3, position = { 1, 0 } }
  local weld = world:weld { beam, nil, anchor = { 0, 0 } }
  world:step(100)
  near({ beam.x, beam.y, beam.angle }, { 1, 0, 0 }, 1e-9)
  near(weld.force, { 0, 30 }, 1e-8)
  near(weld.torque, 30, 1e-8)
  eq(weld.type, "weld")
end)

test("a field that the type lacks is an error that lists its fields", function()
  local world, body = floating()
  local other = world:circle { radius = 0.5, mass = 1, position = { 5, 0 } }
  local second = { other, nil, anchor = { 5, 0 } }
  local hinge = world:hinge { body, nil, anchor = { 2, 0 } }
  local joints = {
    hinge = hinge, weld = world:weld { body, nil, anchor = { 2, 0 } },
    slider = world:slider { body, nil, anchor = { 2, 0 }, axis = { 1, 0 } },
    wheel = world:wheel { body, nil, anchor = { 2, 0 }, axis = { 1, 0 }, stiffness = 1 },
    distance = world:distance { body, other }, spring = world:spring { body, other, stiffness = 1 },
    rope = world:rope { body, other, max_length = 9 }, lock = world:lock { body, x = true },
    gear = world:gear { joint_a = hinge, joint_b = world:hinge(second) }, mouse = world:mouse { body, target = { 2, 0 }, stiffness = 1 },
    ground_friction = world:ground_friction { body, max_force = 1 },
    constraint = world:constraint { bodies = { body }, phi = function(q) return q.x end },
  }
  local soft, driven = "compliance damping ", "friction limits motor_max motor_speed "
  local own = {
    hinge = soft .. driven .. "rest stiffness", weld = soft,
    slider = soft .. driven .. "axis translation rest stiffness",
    wheel = driven .. "damping stiffness axis translation", distance = soft .. "length",
    spring = driven .. "damping length stiffness quadratic cubic rest_length", rope = "length max_length",
    gear = soft .. "ratio joint_a joint_b", lock = soft .. "max_force max_torque velocity angular_velocity",
    mouse = "damping length stiffness target", ground_friction = "max_force max_torque", constraint = soft .. "friction lo hi",
  }
  local all = table.concat({ own.slider, own.spring, own.rope, own.gear, own.lock, own.mouse, own.ground_friction, own.constraint }, " ")
  for kind, joint in pairs(joints) do
    for field in all:gmatch "[%w_]+" do
      if (" " .. own[kind] .. " "):find(" " .. field .. " ", 1, true) then
        ok(pcall(function() return joint[field] end), kind .. "." .. field)
      else
        local message = "Joint%." .. field .. ": does not apply to a " .. kind .. ", whose own fields are: %l"
        raises(message, function() return joint[field] end)
        raises(message, function() joint[field] = 1 end)
      end
    end
  end
  raises("does not apply to a rope, whose own fields are: length, restitution, max_length$",
    function() return joints.rope.motor_speed end)
end)

test("a slider moves along its axis to its limits", function()
  local world, body = floating { velocity = { 1, 1 }, angular_velocity = 3 }
  local slider = world:slider { body, nil, anchor = { 2, 0 }, axis = { 2, 2 }, limits = { -1, 0.5 } }
  world:step(10)
  near(slider.translation, 0.1 * math.sqrt(2), 1e-9)
  near(slider.speed, math.sqrt(2), 1e-9)
  near(slider.axis, { math.sqrt(0.5), math.sqrt(0.5) }, 1e-12)
  near({ body.x - 2, body.angle }, { body.y, 0 }, 1e-9)
  world:step(200)
  near(slider.translation, 0.5, 1e-9)
  near(slider.speed, 0, 1e-9)
  slider.limits = nil
  eq(slider.limits, nil)
  slider.limits = { 0.5, 0.5 }
  eq(slider.limits, { 0.5, 0.5 })
end)

test("distances, ropes and springs", function()
  local world, body = floating { velocity = { 1, 0 } }
  local rope = world:rope { body, nil, anchor_b = { 0, 0 }, max_length = 2.5 }
  world:step(20)
  near(rope.length, 2.2, 1e-9)
  near(rope.force, { 0, 0 }, 1e-12)
  world:step(50)
  near(rope.length, 2.5, 1e-9)
  near(body.vx, 0, 1e-9)
  rope:destroy()
  local rod = world:distance { body, nil, anchor_b = { 0, 0 } }
  near(rod.length, 2.5, 1e-9)
  rod.length = 2
  world:step()
  near(body.x, 2, 1e-9)
  rod:destroy()
  local spring = world:spring { body, nil, anchor_b = { 0, 0 }, rest_length = 1, stiffness = 50 }
  near(world:energy().potential, 25, 1e-7)
  eq({ spring.stiffness, spring.damping, spring.rest_length }, { 50.0, 0.0, 1.0 })
  world:step()
  ok(spring.force.x < -45)
  spring.stiffness = 0
  world:step()
  near(spring.force, { 0, 0 }, 1e-12)
  raises("key 'stiffness' is missing", function() world:spring { body, anchor_b = { 0, 0 } } end)
  raises("key 'anchor_b' is missing", function() world:spring { body, stiffness = 1 } end)
  raises("length: a number above 0 expected, got 0",
    function() world:distance { body, anchor_a = { 3, 0 }, anchor_b = { 3, 0 } } end)
end)

test("a gear couples two hinges and goes with them", function()
  local world, one = floating { angular_velocity = 6 }
  local two = world:circle { radius = 0.5, mass = 2, position = { 4, 0 } }
  local first = world:hinge { one, nil, anchor = { 2, 0 }, name = "first" }
  local second = world:hinge { two, nil, anchor = { 4, 0 } }
  local gear = world:gear { first, second, ratio = 2 }
  world:step(50)
  near(first.angle + 2 * second.angle, 0, 1e-9)
  ok(math.abs(first.angle) > 0.1)
  ok(gear.joint_a == first and gear.joint_b == second)
  near(gear.ratio, 2)
  raises("key 'joint_a': Joint expected, got 3", function() world:gear { 3, second } end)
  raises("the same joint twice", function() world:gear { first, first } end)
  raises("a hinge, slider, spring, rope or wheel expected, got a gear",
    function() world:gear { first, gear } end)
  first:destroy()
  eq({ gear.alive, second.alive }, { false, true })
  raises("key 'joint_a': joint 'first' is destroyed", function() world:gear { first, second } end)
end)

test("a lock holds and drives", function()
  local world, body = floating { velocity = { 1, 1 }, angular_velocity = 1 }
  local lock = world:lock { body, x = true, angle = true, velocity = { 0.5, 0 } }
  world:step(100)
  near({ body.x, body.y, body.angle }, { 2.5, 1, 0 }, 1e-9)
  near(lock.velocity, { 0.5, 0 })
  lock.velocity = { -1, 0 }
  lock.angular_velocity = 2
  world:step(100)
  near({ body.x, body.angle }, { 1.5, 2 }, 1e-9)
  raises("velocity: 0 for a coordinate that is not locked expected, got 1",
    function() lock.velocity = { 0, 1 } end)
  raises("a lock needs at least one of x, y and angle", function() world:lock { body } end)
  raises("key 'body' is missing", function() world:lock { x = true } end)
end)

test("a mouse pulls with its stiffness", function()
  local world = sim.world { gravity = { 0, -10 }, dt = 0.01 }
  local body = world:circle { radius = 0.5, mass = 2, position = { 0, 0 } }
  local mouse = world:mouse { body, target = { 0, 0 }, stiffness = 100, damping = 20 }
  world:run { duration = 5 }
  near(body.y, -0.2, 1e-6)
  near(mouse.force, { 0, 20 }, 1e-6)
  mouse.target = { 1, 0 }
  near(mouse.target, { 1, 0 })
  world:run { duration = 5 }
  near({ body.x, body.y }, { 1, -0.2 }, 1e-6)
  raises("Joint.target: {x, y} expected", function() mouse.target = 1 end)
end)

test("a wheel springs, turns and is driven", function()
  local world = sim.world { gravity = { 0, -10 }, dt = 0.01 }
  local wheel = world:circle { radius = 0.5, mass = 2 }
  local joint = world:wheel { wheel, nil, anchor = { 0, 0 }, axis = { 0, 1 }, stiffness = 100,
    damping = 20, motor = { speed = 3 } }
  world:run { duration = 5 }
  near(joint.translation, -0.2, 1e-6)
  near({ wheel.x, wheel.omega, joint.speed }, { 0, 3, 3 }, 1e-9)
  eq({ joint.motor_max, joint.motor_speed }, { math.huge, 3.0 })
  joint.motor_max = 0
  joint.friction = 0.1
  world:run { duration = 10 }
  near(wheel.omega, 0, 1e-9)
end)

test("a motor of a given torque, and dry friction", function()
  local world, body = floating()
  local inertia = body.inertia
  local hinge = world:hinge { body, nil, anchor = { 2, 0 }, motor = { speed = 5, max_torque = 0.5 } }
  world:step(10)
  near(body.omega, 0.5 * 0.1 / inertia, 1e-9)
  near(hinge.torque, 0.5, 1e-9)
  world:run { duration = 10 }
  near(body.omega, 5, 1e-9)
  hinge.motor_max, hinge.friction = 0, 0.25
  world:step(10)
  near(body.omega, 5 - 0.25 * 0.1 / inertia, 1e-9)
  world:run { duration = 10 }
  near(body.omega, 0, 1e-9)
end)

test("a joint breaks, reports it, and can be enabled again", function()
  local world = sim.world { gravity = { 0, -10 }, dt = 0.01 }
  local body = world:circle { radius = 0.5, mass = 2, name = "load" }
  local weld = world:weld { body, nil, anchor = { 0, 0 }, break_force = 25 }
  local seen
  world:on("joint_break", function(event) seen = event end)
  world:step(10)
  eq({ weld.broken, seen }, { false })
  body:apply_force { 0, -10 }
  world:step()
  eq({ weld.broken, weld.enabled, seen.type }, { true, false, "joint_break" })
  ok(seen.joint == weld and seen.a == body and seen.b == nil)
  near(seen.force, 30, 1e-7)
  near(seen.point, { 0, 0 }, 1e-9)
  local y = body.y
  world:step(10)
  ok(body.y < y)
  weld.enabled = true
  eq(weld.broken, false)
end)

test("snapshots and clones keep all of a joint", function()
  local world, body = floating { velocity = { 1, 2 }, angular_velocity = 1 }
  local slider = world:slider { body, nil, anchor = { 2, 0 }, axis = { 1, 0.2 }, limits = { -1, 1 },
    motor = { speed = -2, max_force = 3 }, friction = 0.2, compliance = { linear = 1e-3, angular = 0 },
    damping = { linear = 2 } }
  world:lock { body, angle = true, angular_velocity = 0.1 }.enabled = false
  world:step(20)
  local snapshot, copy = world:snapshot(), world:clone()
  world:step(50)
  copy:step(50)
  local after = world:state()
  eq(copy:state(), after)
  slider.limits, slider.motor_speed = nil, 7
  world:restore(snapshot)
  eq({ slider.motor_speed, slider.limits, slider.friction }, { -2.0, { -1.0, 1.0 }, 0.2 })
  world:step(50)
  eq(world:state(), after)
end)

test("the step problem shows equations, motors and limits in this order", function()
  local world, body = floating()
  world:hinge { body, nil, anchor = { 2, 0 }, limits = { -0.5, 0.001 }, friction = 3,
    motor = { speed = 2, max_torque = 5 } }
  local problem = world:problem()
  eq(problem.joints, 5)
  near(problem.lo, { -math.huge, -math.huge, -0.05, -0.03, 0 })
  near(problem.hi, { math.huge, math.huge, 0.05, 0.03, math.huge })
  near(problem.bias, { 0, 0, -2, 0, 0.1 }, 1e-12)
  eq(problem.J[5][1], -1.0)
end)

test("the linear solver of jointed islands can be chosen", function()
  local function chain(choice)
    -- The two stages solve joints by their own elimination.
    local world = sim.world { dt = 1 / 240, linear_solver = choice, flow = "projected" }
    local last
    for i = 1, 12 do
      local link = world:box { position = { i - 0.5, 0 }, size = { 0.9, 0.1 }, mass = i == 12 and 50 or 1 }
      world:hinge { link, last, anchor = { i - 1, 0 } }
      last = link
    end
    world:distance { world.bodies[3], world.bodies[7], compliance = 1e-3 }
    world:weld { world.bodies[1], world.bodies[2], anchor = { 1, 0 } } -- redundant with their hinge
    world:run { steps = 60 }
    return world
  end
  local expected = chain("auto")
  eq(expected:stats().used.linear, 0)
  for _, choice in ipairs { "ldlt", "cholesky", "cg", "minres" } do
    local world = chain(choice)
    eq(world.linear_solver, choice)
    ok(world:stats().used.linear >= 60, choice)
    eq(world:stats().unsolved_solves, 0, choice)
    ok(world:residuals().scaled <= 1e-9, choice)
    near(world:state(), expected:state(), 1e-6)
  end
  raises("linear_solver", sim.world, { linear_solver = "lu" })
end)

-- An arm from 0 to 1 on the x axis, driven at `speed` within `limits`.
local function driven(kind, stepping, limits, speed, most)
  local world = sim.world { stepping = stepping, gravity = { 0, 0 } }
  local arm = world:box { position = { 0.5, 0 }, size = { 1, 0.1 }, mass = 1 }
  local motor = { speed = speed, [kind == "slider" and "max_force" or "max_torque"] = most }
  return world, world[kind](world, { arm, anchor = { 0, 0 }, limits = limits, motor = motor, name = "m",
    axis = kind == "slider" and { 0, 1 } or nil })
end

test("a motor of bounded force holds at a limit and leaves it at once", function()
  sim.random.seed(7)
  local r = sim.random.split()
  for k = 1, fewer(72, 18) do
    local kind, stepping = ({ "hinge", "slider" })[k % 2 + 1], ({ "auto", "speculative", "bisect" })[k % 3 + 1]
    local lo, hi, speed = -r:uniform(0.05, 0.4), r:uniform(0.05, 0.4), (k % 4 < 2 and 1 or -1) * r:uniform(1, 4)
    local world, joint = driven(kind, stepping, { lo, hi }, speed, 10 ^ r:uniform(3, 6))
    local coordinate = kind == "hinge" and "angle" or "translation"
    world:run { duration = 0.6 }
    near(joint[coordinate], speed > 0 and hi or lo, 1e-9)
    joint.motor_speed = -speed
    world:step()
    near(joint.speed, -speed, 1e-9)
    world:run { duration = 1 }
    near(joint[coordinate], speed > 0 and lo or hi, 1e-9)
    eq(world:stats().unsolved_solves, 0)
  end
end)

test("a motor without a bound contradicts the limit it drives to, and the warning names both", function()
  sim.random.seed(8)
  local r = sim.random.split()
  for k = 1, fewer(54, 18) do
    local kind, stepping = ({ "hinge", "slider" })[k % 2 + 1], ({ "auto", "speculative", "bisect" })[k // 2 % 3 + 1]
    local speed, coordinate = (k % 4 < 2 and 1 or -1) * r:uniform(0.5, 4), kind == "hinge" and "angle" or "translation"
    local limits = k % 5 == 0 and { 0, 0 } or { -r:uniform(0.05, 0.4), r:uniform(0.05, 0.4) }
    local world, joint = driven(kind, stepping, limits, speed)
    local warned, named, found = 0, 0, 0
    world:on("solver_warning", function(event)
      if event.message:find "^audit" then -- of a step in which all solves met the tolerance
        found = found + 1
        return
      end
      warned = warned + 1
      local what = ("contradiction: no velocities meet the motor and the limit of %s 'm' at once"):format(kind)
      -- In the step that meets the limit the two stages have no solution; projection stops before it, and has one.
      if warned == 1 and event.message:find(("an island of .*%s 'm'.* was not solved by the two stages"):format(kind)) then named = named + 1 return end
      local remedy = ("with a max_%s %s 'm' would yield"):format(kind == "slider" and "force" or "torque", kind)
      named = named + (event.message:find(what, 1, true) and event.message:find(remedy, 1, true) and 1 or 0)
    end)
    world:run { duration = 1 }
    ok(warned > 0 and named == warned, "all are named")
    eq(world:stats().unsolved, warned + found)
    ok(joint[coordinate] > limits[1] - 1e-3 and joint[coordinate] < limits[2] + 1e-3)
  end
end)

test("joints that contradict each other are reported and stay finite", function()
  local function warnings(build)
    local world, told = sim.world {}, nil
    world:on("solver_warning", function(event) told = told or event.message end)
    build(world)
    world:step(1000)
    for _, body in ipairs(world.bodies) do
      ok(math.abs(body.x) < 100 and math.abs(body.omega) < 100)
    end
    return told, world:residuals()
  end
  local function pulled(kind)
    return function(world)
      local rod = world:box { size = { 1, 0.1 }, position = { 0.5, 0 } }
      local left = world:box { size = { 0.1, 0.1 }, position = { -3, 0 }, type = "static" }
      local right = world:box { size = { 0.1, 0.1 }, position = { 4, 0 }, type = "static" }
      world[kind](world, { rod, left, anchor = { 0, 0 }, name = "left" })
      world[kind](world, { rod, right, anchor = { 1, 0 }, name = "right" })
      left.x, right.y = -4, 2
    end
  end
  for _, kind in ipairs { "hinge", "weld" } do
    local told, residuals = warnings(pulled(kind))
    assert(told:find("contradict each other", 1, true) and told:find(kind .. " 'left'", 1, true))
    assert(residuals.joint_error > 0.5)
  end
  local told, residuals = warnings(function(world)
    local wheel = world:circle { radius = 0.5 }
    world:hinge { wheel, anchor = { 0, 0 }, motor = { speed = 3 }, name = "drive" }
    world:lock { wheel, angle = true, name = "brake" }
  end)
  assert(told:find("contradiction: no velocities meet the motor of hinge 'drive'", 1, true))
  assert(told:find("joints off: ", 1, true))
  assert(told:find("hinge 'drive'", 1, true) and told:find("lock 'brake'", 1, true))
  assert(residuals.scaled > 0.1)
end)

test("bad joints are refused", function()
  local world = sim.world {}
  local body = world:box { size = { 1, 1 } }
  local floor = world:box { size = { 1, 1 }, position = { 3, 0 }, type = "static" }
  local wall = world:box { size = { 1, 1 }, position = { 6, 0 }, type = "static" }
  local gone = world:box { size = { 1, 1 }, name = "gone" }
  gone:destroy()
  raises("two different bodies", function() world:hinge { body, body, anchor = { 0, 0 } } end)
  raises("at least one dynamic body", function() world:weld { floor, wall, anchor = { 0, 0 } } end)
  raises("is destroyed", function() world:hinge { gone, body, anchor = { 0, 0 } } end)
  raises("limits: lo <= hi expected, got {1, %-1}",
    function() world:hinge { body, anchor = { 0, 0 }, limits = { 1, -1 } } end)
  raises("axis: a direction expected, got {0, 0}",
    function() world:slider { body, anchor = { 0, 0 }, axis = { 0, 0 } } end)
  raises("length: a number above 0 expected",
    function() world:distance { body, anchor_a = { 0, 0 }, anchor_b = { 0, 0 } } end)
  raises("max_length: a number above 0 expected",
    function() world:rope { body, anchor_a = { 0, 0 }, anchor_b = { 0, 0 } } end)
  raises("limits: hi above 0 expected for a length, got {0, 0}",
    function() world:spring { body, anchor_b = { 0, 0 }, stiffness = 1, limits = { 0, 0 } } end)
end)

-- In the first two seconds motions with two steps are still alike.
test("the energy of joints oscillates with h^2", function()
  local function sway(rate) -- J
    local world = sim.world { dt = 1 / rate }
    local rod = world:box { size = { 1, 0.1 }, position = { 0.5, 0 }, mask = 0 }
    local arm = world:box { size = { 1, 0.1 }, position = { 1.5, 0 }, mask = 0 }
    local ball = world:circle { radius = 0.1, position = { 2, 1 }, mask = 0 }
    world:distance { rod, anchor_a = { 0, 0 }, anchor_b = { -1, 0.5 } }
    world:weld { arm, rod, anchor = { 1, 0 }, compliance = { linear = 1e-3, angular = 1e-2 } }
    world:spring { ball, arm, anchor_b = { 2, 0 }, stiffness = 50 }
    local before, worst = world:energy().total, 0
    for _ = 1, 2 * rate do
      world:step()
      worst = math.max(worst, math.abs(world:energy().total - before))
    end
    return worst
  end
  near(4 * sway(480) / sway(240), 1, 0.05)
end)

-- The solver may give a limit that is not reached an impulse of rounding. Such a limit must not count as met, or the
-- next solve stops the joint.
test("chains with limits that hit a floor move smoothly with their mass", function()
  for seed = 1, 12 do
    local random = sim.random.split()
    random:seed(seed)
    local links = {}
    for i = 1, 3 do
      links[i] = { length = random:uniform(0.2, 0.5), spin = random:uniform(-3, 3),
        limit = random:uniform(0.02, 0.5) }
    end
    local function fall(mass)
      local world, x, last = sim.world { dt = 0.01 }, 0, nil
      world:segment { from = { -5, -0.6 }, to = { 5, -0.6 } }
      for _, link in ipairs(links) do
        local body = world:box { size = { link.length, 0.05 }, position = { x + link.length / 2, 0 },
          mass = mass, angular_velocity = link.spin }
        world:hinge { body, last, anchor = { x, 0 }, limits = { -link.limit, 0.7 * link.limit } }
        x, last = x + link.length, body
      end
      world:run { steps = 40 }
      return last.x + last.y + last.angle
    end
    local first, last = fall(1 - 1e-6), fall(1 + 1e-6)
    for k = -4, 4 do
      near(fall(1 + k * 2e-7), (first + last) / 2 + (last - first) * k / 10, 1e-8,
        ("chain %d, mass 1 + %d * 2e-7"):format(seed, k))
    end
  end
end)

-- An arm of three hinges and a hand on a slider.
local function arm()
  local world = sim.world { gravity = { 0, 0 } }
  local link, hinge = {}, {}
  for i = 1, 3 do
    link[i] = world:box { position = { i - 0.5, 0 }, size = { 1, 0.1 }, mass = 1 }
    hinge[i] = world:hinge { link[i], link[i - 1], anchor = { i - 1, 0 }, name = "joint " .. i }
  end
  local hand = world:box { position = { 3, 0 }, size = { 0.2, 0.2 }, mass = 0.1 }
  local reach = world:slider { hand, link[3], anchor = { 3, 0 }, axis = { 1, 0 }, limits = { 0, 1 }, name = "reach" }
  return world, hinge, reach, hand
end

test("coordinates that are set move bodies, joints stay exact", function()
  local world, hinge, reach, hand = arm()
  world:set_coordinates { [hinge[1]] = 0.5, ["joint 2"] = -1, reach = 0.3 }
  near({ hinge[1].angle, hinge[2].angle, hinge[3].angle, reach.translation }, { 0.5, -1, 0, 0.3 }, 1e-12)
  for _, joint in ipairs(world.joints) do near(joint.error, 0, 1e-12) end
  near(hand.position, { math.cos(0.5) + 2.3 * math.cos(-0.5), math.sin(0.5) + 2.3 * math.sin(-0.5) },
    1e-12)
  -- One at a time, forward and back.
  hinge[3].angle = 2
  reach.translation = 1
  near({ hinge[1].angle, hinge[2].angle, hinge[3].angle, reach.translation }, { 0.5, -1, 2, 1 }, 1e-12)
  world:set_coordinates {}
  near(hinge[3].angle, 2, 1e-12)
  near(hand.angle, 1.5, 1e-12)
end)

test("setting coordinates does not change their speeds", function()
  local world, hinge, reach = arm()
  world.bodies[1].omega, world.bodies[4].velocity = 1, { 0.3, 2 }
  world:step()
  local speeds = {}
  for i, joint in ipairs(world.joints) do speeds[i] = joint.speed end
  local energy = world:energy().kinetic
  world:set_coordinates { [hinge[1]] = 3 } -- all turns: a rigid motion
  near(world:energy().kinetic, energy, 1e-12)
  world:set_coordinates { [hinge[2]] = 1, [hinge[3]] = 0.2, [reach] = 0.1 }
  for i, joint in ipairs(world.joints) do near(joint.speed, speeds[i], 1e-12) end
end)

test("coordinates that cannot be set are refused, and nothing moves", function()
  local world, hinge, reach, hand = arm()
  local state = world:state()
  raises("finite number expected, got %-?nan", function() hinge[1].angle = 0 / 0 end)
  raises("Joint.angle: number expected, got 'up'", function() hinge[1].angle = "up" end)
  raises("slider 'reach': 2 is beyond its limits, {0, 1}", function() reach.translation = 2 end)
  raises("{%[joint%] = number} expected, got 1", function() world:set_coordinates(1) end)
  raises("{%[joint%] = number} expected, got the key 1", function() world:set_coordinates { 1 } end)
  raises("got the key Body", function() world:set_coordinates { [hand] = 1 } end)
  raises("did you mean 'reach'", function() world:set_coordinates { raech = 1 } end)
  raises("the coordinate of .*number expected, got true",
    function() world:set_coordinates { reach = true } end)
  raises("given twice", function() world:set_coordinates { [reach] = 0.1, reach = 0.2 } end)
  local _, others = arm()
  raises("belongs to another world", function() world:set_coordinates { [others[1]] = 1 } end)
  eq(world:state(), state)
  -- Derivatives are not supported.
  for _, set in ipairs { function(x) world:set_coordinates { reach = x[1] } end, function(x) reach.translation = x[1] end,
    function(x) hinge[1].angle = x[1] end } do
    raises("no derivative yet: set angle, position and velocity of the bodies beyond the joint", function()
      sim.grad(function(x) set(x) return hand.x end)({ 0.1 })
    end)
  end
  raises("setting a joint's coordinate %(its bodies' angle, position and velocity can be set instead%) has no derivative yet", function()
    sim.grad(function(x) hand.mass = x[1]; hinge[1].angle = 1 return hand.x end)({ 0.1 })
  end)
end)

-- ---- Speeds that are set -----------------------------------------------------------------------

sim.random.seed(20260643)
local R = sim.random.split()

-- A random tree of bodies on joints whose speeds can be set; `free` omits its ground.
local function tree(world, count, free)
  local bodies, joints = {}, {}
  for i = 1, count do
    local x, y = R:uniform(-3, 3), R:uniform(-3, 3)
    bodies[i] = world:box { size = { 1, 0.2 }, position = { x, y }, angle = R:uniform(-3, 3), mass = R:uniform(0.5, 2), mask = 0,
      velocity = { R:uniform(-1, 1), R:uniform(-1, 1) }, angular_velocity = R:uniform(-1, 1) }
    local before = i > 1 and bodies[R:integer(1, i - 1)] or nil
    if before or not free then
      local at, kind = { x + R:uniform(-1, 1), y + R:uniform(-1, 1) }, R:integer(1, 5)
      joints[#joints + 1] = kind == 1 and world:slider { bodies[i], before, anchor = at, axis = { R:uniform(-1, 1), 1 } }
        or kind == 2 and world:wheel { bodies[i], before, anchor = at, axis = { R:uniform(-1, 1), 1 }, stiffness = 10 }
        or world:hinge { bodies[i], before, anchor = at }
    end
  end
  return bodies, joints
end

test("a speed has the value that was set, and other speeds stay", function()
  for case = 1, 200 do
    local world = sim.world { gravity = { 0, 0 } }
    local _, joints = tree(world, R:integer(2, 6), case % 3 == 0)
    if case % 2 == 0 then world:step() end -- velocities consistent with the joints
    local chosen, before = R:integer(1, #joints), {}
    for i, joint in ipairs(joints) do before[i] = joint.speed end
    local poses = world:state()
    local speed = R:uniform(-3, 3)
    joints[chosen].speed = speed
    for i, joint in ipairs(joints) do
      near(joint.speed, i == chosen and speed or before[i], 1e-12, ("case %d, joint %d, a %s"):format(case, i, joint.type))
    end
    local after = world:state()
    for i = 1, #after do
      if (i - 1) % 6 < 3 then eq(after[i], poses[i]) end
    end
    if case % 2 == 0 then -- and the joints hold them
      local kinetic = world:energy().kinetic
      world:step()
      near(world:residuals().scaled, 0, 1e-9)
      ok(world:energy().kinetic <= kinetic * 1.2 + 1e-9)
    end
  end
end)

test("the side that the ground does not hold moves, else the lighter one", function()
  local world = sim.world { gravity = { 0, 0 } }
  local link = {}
  for i = 1, 3 do
    link[i] = world:box { position = { i - 0.5, 0 }, size = { 1, 0.1 }, mass = 1, mask = 0 }
    world:hinge { link[i], link[i - 1], anchor = { i - 1, 0 }, name = "joint " .. i }
  end
  world.joints["joint 2"].speed = 2
  eq({ link[1].omega, link[2].omega, link[3].omega }, { 0, 2, 2 })
  near(link[3].vy, 2 * 1.5, 1e-12)
  local heavy = world:box { position = { 10, 0 }, size = { 1, 1 }, mass = 5 }
  local light = world:box { position = { 12, 0 }, size = { 1, 1 }, mass = 1 }
  local hinge = world:hinge { heavy, light, anchor = { 11, 0 } }
  hinge.speed = 1
  eq({ heavy.omega, light.omega }, { 0, -1 })
  local rope = world:rope { world:circle { radius = 0.1, position = { 20, 0 } }, anchor_b = { 23, 4 }, max_length = 6 }
  rope.speed = -1
  near(rope.a.vx, 0.6, 1e-12)
  near(rope.a.vy, 0.8, 1e-12)
end)

test("loops stay closed: the other joints get the speeds that they need", function()
  for _ = 1, 30 do
    local world = sim.world { gravity = { 0, 0 }, dt = 1e-4 }
    local a, b, c = R:uniform(0.3, 0.6), R:uniform(1.4, 1.8), R:uniform(1.2, 1.6)
    local angle = R:uniform(0.3, 2.5)
    local p, d = { a * math.cos(angle), a * math.sin(angle) }, 1.5
    -- the coupler of length b from p to q, the rocker of length c from q to (d, 0)
    local dx, dy = d - p[1], -p[2]
    local l = math.sqrt(dx * dx + dy * dy)
    local along = (b * b - c * c + l * l) / (2 * l)
    local across = math.sqrt(b * b - along * along)
    local q = { p[1] + (along * dx - across * dy) / l, p[2] + (along * dy + across * dx) / l }
    local function rod(from, to)
      return world:box { position = { (from[1] + to[1]) / 2, (from[2] + to[2]) / 2 }, size = { 0.3, 0.1 }, mass = 1, mask = 0 }
    end
    local crank, coupler, rocker = rod({ 0, 0 }, p), rod(p, q), rod(q, { d, 0 })
    local drive = world:hinge { crank, anchor = { 0, 0 } }
    world:hinge { coupler, crank, anchor = p }
    world:hinge { rocker, coupler, anchor = q }
    local rock = world:hinge { rocker, anchor = { d, 0 } }
    drive.speed = 2
    near(drive.speed, 2, 1e-12)
    -- Freudenstein's equation by differences: the rocker turns as the loop requires
    local start, speed = rock.angle, rock.speed
    drive.angle = drive.angle + 1e-5
    local up = rock.angle
    drive.angle = drive.angle - 2e-5
    near(speed, 2 * (up - rock.angle) / 2e-5, 1e-4 * math.max(1, math.abs(speed)))
    near((up + rock.angle) / 2, start, 1e-6)
  end
  local world = sim.world {}
  local rod = world:box { size = { 1, 0.1 }, mass = 1 }
  local hinge = world:hinge { rod, anchor = { 0.5, 0 } }
  local weld = world:weld { rod, anchor = { 0, 0 }, name = "foot" }
  raises("Joint.speed: with this speed, the loop closed by the weld 'foot' would open at", function() hinge.speed = 1 end)
  eq(rod.omega, 0.0)
  raises("Joint.speed: cannot be set for a weld", function() weld.speed = 1 end)
  raises("Joint.speed: finite number expected", function() hinge.speed = 0 / 0 end)
end)

test("gradients go through a speed that is set", function()
  for case = 1, 30 do
    local seed = R:integer(1, 1000000)
    local count = case % 4 + 2
    local function loss(p)
      sim.random.seed(seed)
      local kept = R
      R = sim.random.split()
      local world = sim.world { gravity = { 0, -1 }, dt = 0.01 }
      local bodies, joints = tree(world, count, case % 3 == 0)
      R = kept
      world:step()
      bodies[1].position = { bodies[1].x + 0 * p.x, bodies[1].y }
      for i, joint in ipairs(joints) do
        if i % 2 == 1 then joint.speed = p.speed * i + p.more * bodies[1].vx end
      end
      local sum = 0
      for i, body in ipairs(bodies) do sum = sum + i * body.vx - body.vy + body.omega / i end
      world:step(2)
      for i, body in ipairs(bodies) do sum = sum + body.x * i + body.angle end
      return sum
    end
    local p = { speed = 0.7, more = 0.3, x = 1 }
    local value, g = sim.value_and_grad(loss, p)
    near(value, loss(p), 1e-12 * math.max(1, math.abs(value)))
    for _, name in ipairs { "speed", "more" } do
      local h, up, down = 1e-5, {}, {}
      for key, number in pairs(p) do up[key], down[key] = number, number end
      up[name], down[name] = p[name] + h, p[name] - h
      local slope = (loss(up) - loss(down)) / (2 * h)
      near(g[name], slope, 1e-6 * math.max(1, math.abs(slope)), name)
    end
  end
end)
