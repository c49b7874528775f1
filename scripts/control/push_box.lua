-- A finger pushes a box to a goal, starting from commands without effect, a few centimetres away from the box. Without
-- contact, exact derivatives are zero, and iLQR does not change the commands. Smooth derivatives include the nearby
-- contact, while the trajectories themselves remain exact. Sampling finds the box by chance.
local sim = require "sim2d"

local exp = sim.experiment("Pushing a box by planning through contact")
local GOAL = 0.3 -- m

local function scene()
  -- possible contacts count if they are closer than half a metre, and steps are not split at impacts
  local world = sim.world { dt = 1 / 50, stepping = "speculative", contact_margin = 0.5 }
  world:box { type = "static", position = { 0, -0.5 }, size = { 10, 1 }, friction = 0.5 }
  local box = world:box { size = { 0.2, 0.2 }, mass = 0.5, position = { 0, 0.1 }, friction = 0.3 }
  local finger = world:circle { radius = 0.05, mass = 0.2, position = { -0.25, 0.1 }, gravity_scale = 0, friction = 0.2 }
  local rail = world:slider { finger, axis = { 1, 0 }, anchor = { -0.25, 0.1 } }
  world:actuator { "push", joint = rail, kind = "force", range = { -5, 5 } }
  return world, finger, box
end

-- The cost consists of the distance of the box from the goal, its speed, and the force.
local function solve(options)
  local world, finger, box = scene()
  options.horizon, options.period, options.seed = 2, 0.1, options.method == "cem" and 1 or nil
  options.cost = { { "box", of = box, field = "x", goal = GOAL, weight = 1 }, { "haste", of = finger, field = "vx", weight = 0.01 },
    controls = 1e-3, terminal = { box = 100, haste = 1 } }
  local plan = sim.control.trajectory(world, options)
  world:control(plan:law { open_loop = true })
  world:run { duration = 2 }
  return plan, math.abs(box.x - GOAL)
end

local exact, exact_off = solve {}
local smooth, smooth_off = solve { gradient = "smooth", smoothing = 0.1, tolerance = 1e-6 }
local sampled, sampled_off = solve { method = "cem", iterations = 20, samples = 40 }
for _, row in ipairs { { "iLQR, exact", exact, exact_off }, { "iLQR, smooth", smooth, smooth_off }, { "cem", sampled, sampled_off } } do
  print(("%-13s cost %8.4f, %4d iterations, %4d evaluations, box %.4f m from the goal"):format(row[1], row[2].cost, row[2].iterations,
    row[2].evaluations, row[3]))
end
exp:equal("iLQR with exact derivatives stays, m from the goal", GOAL, exact_off, 1e-6)
exp:below("iLQR with smooth ones arrives, m from the goal", 0.01, smooth_off)
exp:below("its cost, of that of sampling", 1, smooth.cost / sampled.cost)
exp:below("cem arrives, m from the goal", 0.1, sampled_off)
exp:finish()
