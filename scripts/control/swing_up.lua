-- Plans swing-ups by iLQR from random starts, for a pendulum, a cart-pole and an acrobot, and executes the plans. The
-- motors of the pendulum and the cart-pole are too weak to lift the pole directly. The acrobot is driven only at the
-- elbow.
--
--   sim2d scripts/control/swing_up.lua [--starts 20]
local sim = require "sim2d"

local exp = sim.experiment("Swing-ups by iLQR", { starts = { 4, "of each" } })

local function pendulum()
  local world = sim.world { dt = 1 / 100 }
  local bob = world:circle { radius = 0.05, mass = 1.25, inertia = 0.05, position = { 0, -0.4 }, mask = 0 }
  local hinge = world:hinge { bob, anchor = { 0, 0 } }
  world:actuator { "motor", joint = hinge, kind = "torque", range = { -3, 3 } } -- lifting the pole takes 4.9 N m
  return world, { hinge }, { math.pi }, 3
end

local function cart_pole()
  local world = sim.world { dt = 1 / 80 }
  local cart = world:box { size = { 0.4, 0.2 }, mass = 1, mask = 0 }
  local pole = world:box { size = { 0.05, 1 }, mass = 0.2, inertia = 1e-3, position = { 0, -0.5 }, mask = 0 }
  local rail = world:slider { cart, axis = { 1, 0 }, anchor = { 0, 0 } }
  local hinge = world:hinge { pole, cart, anchor = { 0, 0 } }
  world:actuator { "push", joint = rail, kind = "force", range = { -6, 6 } }
  return world, { rail, hinge }, { 0, math.pi }, 5
end

local function acrobot()
  local world = sim.world { dt = 1 / 80 }
  local upper = world:box { size = { 0.05, 1 }, mass = 1, inertia = 1 / 12, position = { 0, -0.5 }, mask = 0 }
  local lower = world:box { size = { 0.05, 1 }, mass = 1, inertia = 1 / 12, position = { 0, -1.5 }, mask = 0 }
  local shoulder = world:hinge { upper, anchor = { 0, 0 } }
  local elbow = world:hinge { lower, upper, anchor = { 0, -1 } }
  world:actuator { "elbow", joint = elbow, kind = "torque", range = { -15, 15 } }
  return world, { shoulder, elbow }, { math.pi, 0 }, 5
end

local FIELD = { hinge = "angle", slider = "translation" }

-- The same cost applies to all three systems, small along the path and large at the end.
local function cost_of(joints, goals, effort)
  local cost = { controls = effort, terminal = {} }
  for k, joint in ipairs(joints) do
    cost[#cost + 1] = { "place " .. k, of = joint, field = FIELD[joint.type], goal = goals[k], weight = 0.001 }
    cost[#cost + 1] = { "speed " .. k, of = joint, field = "speed", weight = 0.001 }
    cost.terminal["place " .. k], cost.terminal["speed " .. k] = 100, 10
  end
  return cost
end

for _, task in ipairs { { "pendulum", pendulum, 1e-3 }, { "cart-pole", cart_pole, 0.01 }, { "acrobot", acrobot, 0.01 } } do
  local starts, good, worst, iterations = exp.options.starts, 0, 0, 0
  for _ = 1, starts do
    local world, joints, goals, horizon = task[2]()
    for _, joint in ipairs(joints) do joint[FIELD[joint.type]] = sim.random.uniform(-0.5, 0.5) end
    local plan = sim.control.trajectory(world, { horizon = horizon, period = 1 / 20, u0 = 0.01, coordinates = joints,
      cost = cost_of(joints, goals, task[3]) })
    world:control(plan:law())
    world:run { duration = horizon }
    local off = 0
    for k, joint in ipairs(joints) do off = math.max(off, math.abs(joint[FIELD[joint.type]] - goals[k])) end
    if off < 0.1 then good = good + 1 end
    worst, iterations = math.max(worst, off), math.max(iterations, plan.iterations)
  end
  print(("%-9s  %d of %d, at most %.3f off and %d iterations"):format(task[1], good, starts, worst, iterations))
  -- one in ten acrobots ends in a local minimum
  if task[1] == "acrobot" then exp:above("acrobots that stand up", math.floor(0.9 * starts), good)
  else exp:equal(task[1] .. "s that stand up", starts, good) end
end
exp:finish()
