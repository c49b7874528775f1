-- Joints: hinges.
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
  local second = world:hinge { nil, b, anchor = { 3, 0 } }
  ok(second.a == nil and second.b == b)
  local third = world:hinge { b = a, anchor = { 3, 0 } }
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
  raises("key 'a': given twice, as %[1%] too",
    function() world:hinge { body, a = body, anchor = { 0, 0 } } end)
  raises("unknown key 'anchr'; did you mean 'anchor'%?",
    function() world:hinge { body, anchr = { 0, 0 } } end)
  raises("unknown key %[3%]", function() world:hinge { body, nil, body, anchor = { 0, 0 } } end)
  raises("key 'motor': not available yet",
    function() world:hinge { body, anchor = { 0, 0 }, motor = { speed = 1 } } end)
  raises("key 'anchor': {x, y} expected, component 1: finite number expected, got nan",
    function() world:hinge { body, anchor = { 0 / 0, 0 } } end)
  raises("bad argument #1 to 'hinge'",
    function() world:hinge { body, body, anchor = { 0, 0 } } end)
  body:destroy()
  raises("key 'a': body 'body' is destroyed",
    function() world:hinge { body, anchor = { 0, 0 } } end)
  eq(#world.joints, 0)
end)

test("unknown and later fields of a joint", function()
  local _, _, hinge = pendulum()
  raises("Joint has no field 'angel'; did you mean 'angle'%?", function() return hinge.angel end)
  raises("Joint.motor_speed: not available yet", function() hinge.motor_speed = 1 end)
  raises("Joint.angle is read%-only", function() hinge.angle = 1 end)
end)
