-- Five tasks, seven methods: what is the benefit of derivatives of a trajectory, and where is sampling better? Each
-- method starts with almost no force and gets its default budget or 2000 trajectories. The table lists the final cost,
-- the number of trajectories, and the time in seconds. For iLQR and the gradient, each trajectory includes its
-- derivative. One task has a closed form: the least cost of the double integrator is x'P x, where P solves Riccati's
-- equation.
local sim = require "sim2d"
local exp = sim.experiment("Planners with and without derivatives")
local METHODS = { "ilqr", "mixed", "gradient", "cmaes", "cem", "mppi", "sampling" }

local FIELD = { hinge = "angle", slider = "translation" }
local function box(world, w, h, x, y, mass) return world:box { size = { w, h }, position = { x, y }, mass = mass, mask = 0 } end

-- Each task has a world, coordinates with their goals, a horizon, a period, and weights.
local TASKS = {}local function task(name, build) TASKS[#TASKS + 1] = { name, build } end

task("double integrator", function()
  local world = sim.world { dt = 0.05, gravity = { 0, 0 } }
  local rail = world:slider { box(world, 0.4, 0.2, 0, 0, 1), axis = { 1, 0 }, anchor = { 0, 0 } }
  world:actuator { "push", joint = rail, kind = "force", range = { -9, 9 } }
  return world, { rail }, { 1 }, { horizon = 2, period = 0.05 }, { 1, 0.1, 0.1 }
end)
task("slider with friction", function()
  local world = sim.world { dt = 0.02, gravity = { 0, 0 } }
  local rail = world:slider { box(world, 0.4, 0.2, 0, 0, 1), axis = { 1, 0 }, anchor = { 0, 0 }, friction = 1 }
  world:actuator { "push", joint = rail, kind = "force", range = { -3, 3 } }
  return world, { rail }, { 1 }, { horizon = 2, period = 0.1 }, { 1, 0.1, 0.01 }
end)
task("pendulum swing-up", function()
  local world = sim.world { dt = 0.01 }
  local bob = world:circle { radius = 0.05, mass = 1.25, inertia = 0.05, position = { 0, -0.4 }, mask = 0 }
  local hinge = world:hinge { bob, anchor = { 0, 0 } }
  world:actuator { "motor", joint = hinge, kind = "torque", range = { -3, 3 } }
  return world, { hinge }, { math.pi }, { horizon = 3, period = 0.05 }, { 0.1, 0.01, 0.01 }
end)
task("cart-pole swing-up", function()
  local world = sim.world { dt = 1 / 80 }
  local cart, pole = box(world, 0.4, 0.2, 0, 0, 1), box(world, 0.05, 1, 0, -0.5, 0.2)
  local rail = world:slider { cart, axis = { 1, 0 }, anchor = { 0, 0 } }
  local hinge = world:hinge { pole, cart, anchor = { 0, 0 } }
  world:actuator { "push", joint = rail, kind = "force", range = { -6, 6 } }
  return world, { rail, hinge }, { 0, math.pi }, { horizon = 4, period = 0.05 }, { 0.1, 0.01, 0.01 }
end)
task("two-link reach", function()
  local world = sim.world { dt = 0.01 }
  local upper, fore = box(world, 0.05, 0.5, 0, -0.25, 1), box(world, 0.05, 0.5, 0, -0.75, 1)
  local shoulder = world:hinge { upper, anchor = { 0, 0 } }
  local elbow = world:hinge { fore, upper, anchor = { 0, -0.5 } }
  world:actuator { "shoulder", joint = shoulder, kind = "torque", range = { -15, 15 } }
  world:actuator { "elbow", joint = elbow, kind = "torque", range = { -8, 8 } }
  return world, { shoulder, elbow }, { 2, 1 }, { horizon = 1, period = 0.05 }, { 1, 0.01, 1e-4 }
end)

-- Returns small running costs, and costs a hundred times as large at the end. w contains the weights of positions,
-- speeds and controls.
local function cost_of(joints, goals, w)
  local cost = { controls = w[3], terminal = {} }
  for k, joint in ipairs(joints) do
    cost[#cost + 1] = { "place " .. k, of = joint, field = FIELD[joint.type], goal = goals[k], weight = w[1] }
    cost[#cost + 1] = { "speed " .. k, of = joint, field = "speed", weight = w[2] }
    cost.terminal["place " .. k], cost.terminal["speed " .. k] = 100 * w[1], 100 * w[2]
  end
  return cost
end

-- Returns the least cost of the double integrator, by Riccati's equation backwards from the end. Costs have the factor
-- one half and count at the ends of periods.
local function least_cost()
  local world, joints, _, def, w = TASKS[1][2]()
  local A, B = world:linearize { inputs = { { joint = joints[1], force = 1 } }, coordinates = joints }
  local Q, R = sim.array { { w[1], 0 }, { 0, w[2] } } * def.period, w[3] * def.period
  local P = sim.array { { w[1], 0 }, { 0, w[2] } } * 100
  for _ = 1, math.floor(def.horizon / def.period + 0.5) do
    P = P + Q
    local BP = B:t():mm(P)
    P = A:t():mm(P:mm(A - B:mm(BP:mm(A) / (BP:mm(B)[1][1] + R))))
  end
  return P[1][1] / 2
end

-- Returns a plan, its computing time in s, and the final distance from the goals in the world that follows the plan.
local function solve(build, method)
  local world, joints, goals, def, weights = build()
  def.method, def.cost, def.coordinates, def.u0, def.seed = method, cost_of(joints, goals, weights), joints, 0.01, 1
  def.iterations = ({ ilqr = 200, gradient = 100, mixed = 90 })[method] or 50
  local begun, off = os.clock(), 0
  local plan = sim.control.trajectory(world, def)
  local seconds = os.clock() - begun
  world:control(plan:law())
  world:run { duration = def.horizon, progress = false }
  for k, joint in ipairs(joints) do off = math.max(off, math.abs(joint[FIELD[joint.type]] - goals[k])) end
  return plan, seconds, off
end

local rows, costs, looked, offs = {}, {}, {}, {}
for k, entry in ipairs(TASKS) do
  costs[k], looked[k], offs[k] = {}, {}, {}
  for _, method in ipairs(METHODS) do
    local plan, seconds, off = solve(entry[2], method)
    costs[k][method], looked[k][method], offs[k][method] = plan.cost, plan.evaluations, off
    rows[#rows + 1] = { entry[1], method, ("%.4f"):format(plan.cost), plan.evaluations, ("%.2f"):format(seconds),
      ("%.3f"):format(off), plan.status }
  end
end
sim.table { columns = { "task", "method", "cost", "trajectories", "s", "off", "" }, table.unpack(rows) }

local function least_of(k, from, to)
  local least = math.huge
  for i = from, to or #METHODS do least = math.min(least, costs[k][METHODS[i]]) end
  return least
end

local least = least_cost()
exp:equal("double integrator: cost by iLQR, and by Riccati", least, costs[1].ilqr, 1e-9)
exp:above("  the least of the others over that", 1 - 1e-9, least_of(1, 2) / least)
-- friction absorbs small pushes at rest, so the cost is 2 s times 1 / 2, plus 100 times 1 / 2 at the end
exp:equal("slider: cost by iLQR from a push below friction, which stays", 51, costs[2].ilqr, 1e-3)
for k, entry in ipairs(TASKS) do
  exp:below(entry[1] .. ": iLQR or mixed over the best without derivatives", 1,
    least_of(k, 1, 2) / least_of(k, 4))
  exp:below("  where it ends, off by", 0.1, offs[k][k == 2 and "mixed" or "ilqr"])
  if k ~= 2 then exp:below("  trajectories of iLQR", 200, looked[k].ilqr) end
end
exp:finish()
