-- The cost of controllers and planners, compared with published figures where they exist. Iteration counts are the same
-- on every machine; times are of this machine.
--
--   sim2d bench/lua/control.lua
local sim = require "sim2d"
local rows = {}

local function row(what, obtained, published) rows[#rows + 1] = { what, obtained, published or "" } end

local function seconds(f)
  local best = math.huge
  for _ = 1, 3 do
    local t = sim.clock()
    f()
    best = math.min(best, sim.clock() - t)
  end
  return best
end

-- ---- Trajectories: the problems of Altro.jl ------------------------------------------------------

local function pendulum()
  local world = sim.world { dt = 0.012 }
  local bob = world:circle { radius = 0.05, mass = 1.25, inertia = 0.05, position = { 0, -0.4 }, mask = 0 }
  local hinge = world:hinge { bob, anchor = { 0, 0 } } -- m l = 0.5, I = 0.25 as in the publication
  world:actuator { "motor", joint = hinge, kind = "torque", range = { -3, 3 } }
  return world, { horizon = 3, period = 0.06, tolerance = 1e-2, cost = {
    { "angle", of = hinge, field = "angle", goal = math.pi, weight = 1e-3 }, { "speed", of = hinge, field = "speed", weight = 1e-3 },
    controls = 1e-3, terminal = { angle = 1, speed = 1 } },
    goal = { { of = hinge, field = "angle", value = math.pi }, { of = hinge, field = "speed", value = 0 } } }
end

local function cart_pole(dt)
  local world = sim.world { dt = dt or 1 / 80 }
  local cart = world:box { size = { 0.4, 0.2 }, mass = 1, mask = 0 }
  local pole = world:box { size = { 0.05, 1 }, mass = 0.2, inertia = 1e-3, position = { 0, -0.5 }, mask = 0 }
  local rail = world:slider { cart, axis = { 1, 0 }, anchor = { 0, 0 } }
  local hinge = world:hinge { pole, cart, anchor = { 0, 0 } }
  world:actuator { "push", joint = rail, kind = "force", range = { -3, 3 } }
  return world, { horizon = 5, period = 1 / 20, u0 = 0.01, tolerance = 1e-3, coordinates = { rail, hinge }, cost = {
    { "cart", of = rail, field = { "translation", "speed" }, weight = 0.01 },
    { "pole", of = hinge, field = { "angle", "speed" }, goal = { math.pi, 0 }, weight = 0.01 },
    controls = 0.1, terminal = { cart = 100, pole = 100 } } }, rail, hinge
end

local function acrobot()
  local world = sim.world { dt = 1 / 80 }
  local upper = world:box { size = { 0.05, 1 }, mass = 1, inertia = 1 / 12, position = { 0, -0.5 }, mask = 0 }
  local lower = world:box { size = { 0.05, 1 }, mass = 1, inertia = 1 / 12, position = { 0, -1.5 }, mask = 0 }
  local shoulder = world:hinge { upper, anchor = { 0, 0 } }
  local elbow = world:hinge { lower, upper, anchor = { 0, -1 } }
  world:actuator { "elbow", joint = elbow, kind = "torque", range = { -15, 15 } }
  return world, { horizon = 5, period = 1 / 20, u0 = 0.01, coordinates = { shoulder, elbow }, cost = {
    { "shoulder", of = shoulder, field = { "angle", "speed" }, goal = { math.pi, 0 }, weight = 1 },
    { "elbow", of = elbow, field = { "angle", "speed" }, weight = 1 }, controls = 0.01,
    terminal = { shoulder = 100, elbow = 100 } } }
end

for _, problem in ipairs { { "pendulum swing-up", pendulum, "Altro.jl: 18 iterations, 2 ms" },
  { "cart-pole swing-up", cart_pole, "Altro.jl: 41 to 47 iterations, 10 ms" },
  { "acrobot swing-up", acrobot, "Altro.jl: 50 iterations, 15 ms" } } do
  local world, keys = problem[2]()
  local plan
  local time = seconds(function() plan = sim.control.trajectory(world, keys) end)
  row(problem[1], ("%s, %d iterations, cost %.4g, violation %.1e, %.0f ms"):format(plan.status, plan.iterations, plan.cost,
    plan.violation, 1e3 * time), problem[3])
end

-- ---- Receding horizon ----------------------------------------------------------------------------

for _, problem in ipairs { { "cart-pole, 1 s", cart_pole, 1 }, { "acrobot, 2 s", acrobot, 2 } } do
  local world, keys = problem[2]()
  keys.horizon, keys.iterations = problem[3], 1
  local law = sim.control.planner(world, keys)
  local time = seconds(function() for _ = 1, 10 do law(world, 0) end end) / 10
  row("replans a second, " .. problem[1], ("%.0f (one iteration of iLQR)"):format(1 / time),
    "MuJoCo MPC: tens to a hundred, several threads")
end

-- ---- Derivatives of a step -----------------------------------------------------------------------

local function arm(links)
  local world = sim.world { dt = 0.01 }
  local joints, below = {}, nil
  for k = 1, links do
    local link = world:box { size = { 0.4, 0.05 }, mass = 1, position = { 0.4 * k - 0.2, 0 }, mask = 0 }
    joints[k] = world:hinge { link, below, anchor = { 0.4 * (k - 1), 0 } }
    world:actuator { "motor " .. k, joint = joints[k], kind = "torque" }
    below = link
  end
  return world, joints
end

local world, joints = arm(7)
local inputs = {}
for k, joint in ipairs(joints) do inputs[k] = { joint = joint, torque = 1 } end
local time = seconds(function() for _ = 1, 100 do world:linearize { inputs = inputs, coordinates = joints } end end) / 100
row("derivative of a step, arm of 7 links", ("%.0f us"):format(1e6 * time), "Simple (C++): 5 us")

-- ---- CMA-ES --------------------------------------------------------------------------------------

local function rosenbrock(x)
  local sum = 0
  for i = 1, #x - 1 do sum = sum + 100 * (x[i + 1] - x[i] ^ 2) ^ 2 + (1 - x[i]) ^ 2 end
  return sum
end

for _, n in ipairs { 10, 12 } do
  local counts = {}
  for seed = 1, 9 do
    local x = {}
    for i = 1, n do x[i] = 0.1 end
    local _, _, info = sim.optimize.minimize(rosenbrock, x, { method = "cmaes", sigma = 0.3, seed = seed, target = 1e-12,
      tolerance = 1e-15 })
    counts[seed] = info.evaluations
  end
  table.sort(counts)
  row(("CMA-ES, Rosenbrock of %d to 1e-12"):format(n), ("%d evaluations (median of 9, %d at most)"):format(counts[5], counts[9]),
    n == 10 and "pycma: < 8000" or "")
end

-- ---- A law in Lua --------------------------------------------------------------------------------

local function stepping(law)
  local w = cart_pole(0.01)
  if law then w:control(law) else w:act { 0 } end
  return seconds(function() w:step(20000) end) / 20000 * 1e6
end
local u = { 0 }
row("a law in Lua, beside its arithmetic", ("%.2f us a step"):format(stepping(function() return u end) - stepping()))

sim.table { columns = { "what", "obtained", "published" }, table.unpack(rows) }
