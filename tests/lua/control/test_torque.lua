-- world:dynamics, world:inverse_dynamics and the law that uses them.
local sim = require "sim2d"

local function arm(dt)
  local world = sim.world { dt = dt or 0.01 }
  local upper = world:box { size = { 0.1, 1 }, mass = 2, position = { 0, -0.5 }, mask = 0 }
  local fore = world:box { size = { 0.1, 0.8 }, mass = 1, position = { 0, -1.4 }, mask = 0 }
  local joints = { world:hinge { upper, anchor = { 0, 0 } }, world:hinge { fore, upper, anchor = { 0, -1 } } }
  world:actuator { "shoulder", joint = joints[1], kind = "torque" }
  world:actuator { "elbow", joint = joints[2], kind = "torque" }
  return world, joints
end

test("efforts that hold an arm balance its weight, whatever the commands before", function()
  local world, joints = arm()
  joints[1].angle, joints[2].angle = 2, -1.2
  local g = 9.81
  local elbow = g * 0.4 * math.sin(0.8)
  local shoulder = elbow + g * 2 * math.sin(2)
  for _, before in ipairs { { 0, 0 }, { 30, -10 }, { shoulder, elbow } } do
    world:act(before)
    local u = world:inverse_dynamics { coordinates = joints, acceleration = { 0, 0 } }
    near(u[1], shoulder, 1e-9)
    near(u[2], elbow, 1e-9)
  end
  for _ = 1, 50 do
    world:act(world:inverse_dynamics { coordinates = joints, acceleration = { 0, 0 } })
    world:step()
  end
  near(joints[1].angle, 2, 1e-9)
  near(joints[2].angle, -1.2, 1e-9)
end)

test("M and bias at rest agree with the formula", function()
  local world, joints = arm(1e-4)
  joints[1].angle, joints[2].angle = 0.3, 1.1
  local M, bias = world:dynamics { coordinates = joints }
  local i1, i2, c = 2 * (1 + 0.01) / 12, (0.64 + 0.01) / 12, math.cos(1.1)
  near(M[1][1], i1 + 0.5 + i2 + 1 + 0.16 + 0.8 * c, 1e-6)
  near(M[1][2], i2 + 0.16 + 0.4 * c, 1e-6)
  near(M[2][1], M[1][2], 1e-6)
  near(M[2][2], i2 + 0.16, 1e-6)
  near(bias[2], 9.81 * 0.4 * math.sin(1.4), 1e-3)
  near(bias[1], 9.81 * (0.4 * math.sin(1.4) + 2 * math.sin(0.3)), 1e-3)
end)

test("fewer actuators than coordinates: the nearest solution", function()
  local world = sim.world { dt = 0.01 }
  local cart = world:box { size = { 0.4, 0.2 }, mass = 1, mask = 0 }
  local pole = world:box { size = { 0.05, 0.5 }, mass = 0.2, position = { 0, -0.25 }, mask = 0 }
  local rail = world:slider { cart, axis = { 1, 0 }, anchor = { 0, 0 } }
  local hinge = world:hinge { pole, cart, anchor = { 0, 0 } }
  world:actuator { "push", joint = rail, kind = "force" }
  local u = world:inverse_dynamics { coordinates = { rail, hinge }, acceleration = { 0, 0 } }
  eq(#u, 1)
  near(u[1], 0, 1e-9)
  raises("2 coordinates, but 1 actuators", world.dynamics, world, { coordinates = { rail, hinge } })
end)

test("bad arguments", function()
  local world, joints = arm()
  raises("acceleration = {...}", world.inverse_dynamics, world)
  raises("key 'acceleration': 2 numbers", world.inverse_dynamics, world, { coordinates = joints, acceleration = { 1 } })
  raises("key 'coordinates': a list", world.dynamics, world, { coordinates = 3 })
  raises("no actuators", sim.world({}).dynamics, sim.world {})
  raises("key 'reference'", sim.control.computed_torque, { coordinates = joints })
end)
