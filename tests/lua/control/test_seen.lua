-- What is seen of control: costs by terms, stacked plots, paths of plans, sliders, panels, basins.
local sim = require "sim2d"
local control = sim.control

-- A pendulum with a motor at its hinge.
local function pendulum(dt)
  local world = sim.world { dt = dt or 0.02 }
  local bob = world:box { size = { 0.1, 0.4 }, mass = 1, position = { 0, -0.5 }, mask = 0, name = "bob" }
  local hinge = world:hinge { bob, anchor = { 0, 0 }, name = "hinge" }
  local motor = world:actuator { "motor", joint = hinge, kind = "torque", range = { -6, 6 } }
  return world, hinge, bob, motor
end

-- ---- Costs by terms ------------------------------------------------------------------------------

-- The sum of parts after the first period of a plan is its cost.
local function check_sum(world, cost, norm)
  local plan = control.trajectory(world, { cost = cost, horizon = 0.02, iterations = 1, u0 = 1.5 })
  world:act(plan.u[1])
  world:step()
  local parts, sum = cost:parts(world), 0
  for _, name in ipairs(cost:names()) do sum = sum + parts[name] end
  near(sum * 0.02, plan.cost, 1e-12 * math.max(1, math.abs(plan.cost)))
  ok(math.abs(sum) > 0.01, norm)
end

test("parts of a cost are what a plan of one period costs", function()
  for _, norm in ipairs { "quadratic", "l2", "smooth_abs", "huber", "power", "linear" } do
    local world, hinge, bob = pendulum()
    hinge.angle = 0.7
    world:step(5)
    local cost = control.cost {
      { "angle", of = hinge, field = "angle", goal = -6, weight = 2, norm = norm, wrap = true },
      { "tip", of = bob, field = "position", at = { 0.05, -0.2 }, goal = { 0.2, 0.3 }, weight = 3, norm = norm },
      { "free", residual = function(w) return { w.bodies.bob.x, w.bodies.bob.angle } end, goal = { 1, 2 }, norm = norm },
      controls = 0.3 }
    eq(cost:names(), { "angle", "tip", "free", "controls" })
    check_sum(world, cost, norm)
    -- with commands that are given
    near(cost:parts(world, { 2 }).controls, 0.6, 1e-15)
    near(cost:parts(world, { motor = -2 }).controls, 0.6, 1e-15)
    -- speeds of points, of a body that nothing holds
    world = sim.world { dt = 0.02 }
    local box = world:box { size = { 1, 2 }, mass = 1, angle = 0.4, velocity = { 1, 2 }, angular_velocity = 3 }
    world:actuator { "push", body = box, kind = "force", direction = { 1, 0 } }
    check_sum(world, control.cost { { "point", of = box, field = "velocity", at = { 0.3, 0.7 }, goal = { 3, 1 }, norm = norm },
      { "across", of = box, field = "vx", at = { -0.5, 0.2 }, norm = norm }, { "up", of = box, field = "vy", at = { 1, 0 } },
      { "own", of = box, field = "velocity", norm = norm }, { "x", of = box, field = "x", at = { 0, 1 }, norm = norm } }, norm)
  end
end)

test("terms are read in clones, and a term cannot be called controls", function()
  local world, hinge = pendulum()
  local cost = control.cost { { "angle", of = hinge, field = "angle" } }
  local copy = world:clone()
  hinge.angle = 0.5
  near(cost:parts(world).angle, 0.125, 1e-15)
  world:step()
  near(control.cost { { "spin", of = hinge, field = "speed", goal = 1, weight = 4 } }:parts(world).spin,
    2 * (hinge.speed - 1) ^ 2, 1e-15)
  eq(cost:parts(copy).angle, 0.0)
  eq(cost:names(), { "angle" })
  raises("'controls' is what commands are called", control.cost, { { "controls", of = hinge, field = "angle" } })
end)

test("costs are channels of recordings", function()
  local world, hinge = pendulum()
  hinge.angle = 0.3
  local cost = control.cost { { "swing", of = hinge, field = "angle", weight = 2 }, controls = 0.1 }
  local law = control.planner(world, { horizon = 0.2, period = 0.04, cost = cost })
  world:control(law, { period = 0.04 })
  local path = os.tmpname() .. ".s2d"
  local recording = assert(world:record(path))
  world:step(20)
  local parts = cost:parts(world)
  recording:close()
  local read = assert(sim.read_recording(path))
  local swing, commands = read:column "cost.swing", read:column "cost.controls"
  near(swing[#swing], parts.swing, 1e-15)
  near(commands[#commands], parts.controls, 1e-15)
  ok(commands[#commands] > 0)
  os.remove(path)
end)

test("a law in Lua has its cost by the options", function()
  local world, hinge = pendulum()
  world:control(function() return { 1 } end, { cost = { { "lift", of = hinge, field = "angle", goal = 1 } } })
  local path = os.tmpname() .. ".s2d"
  local recording = assert(world:record(path))
  world:step(5)
  recording:close()
  local lift = assert(sim.read_recording(path)):column "cost.lift"
  near(lift[#lift], (hinge.angle - 1) ^ 2 / 2, 1e-15)
  os.remove(path)
  raises("key 'cost': what sim.control.cost gives expected, got 3", world.control, world, function() end, { cost = 3 })
end)

test("weights are set while a planner runs, from its next plan on", function()
  local function run(change)
    local world, hinge = pendulum()
    hinge.angle = 0.5
    local cost = control.cost { { "angle", of = hinge, field = "angle", weight = 5 }, controls = 0.1, terminal = { angle = 1 } }
    local law = control.planner(world, { horizon = 0.4, period = 0.04, cost = cost })
    local handle = world:control(law, { period = 0.04 })
    world:step(4)
    if change then change(cost) end
    world:step(2)
    return handle.u[1]
  end
  local same = run()
  eq(run(function(cost) cost:set_weight("angle", 5) end), same)
  ok(math.abs(run(function(cost) cost:set_weight("controls", 10) end)) < 0.5 * math.abs(same))
  ok(math.abs(run(function(cost) cost:set_weight("angle", 50, 20) end)) > math.abs(same))
  local cost = control.cost { { "angle", residual = function() return 0 end } }
  raises("there is no term 'angel'; there are: angle", cost.set_weight, cost, "angel", 1)
  raises("a number of at least 0 expected, got %-1", cost.set_weight, cost, "angle", -1)
end)

-- ---- Stacked plots -------------------------------------------------------------------------------

test("what is stacked stands on what is below it", function()
  local plot = sim.plot { x = { label = "t", range = { 0, 1 } }, y = { label = "c", range = { 0, 4 } },
    { { 0, 1 }, { 1, 1 }, kind = "stack", label = "a", color = "#ff0000" },
    { { 0, 1 }, { 2, 2 }, kind = "stack", label = "b", color = "#0000ff" } }
  -- the edges of both: levels 1 and 3 of 4
  local edges = {}
  for color in plot:svg():gmatch 'fill="none" stroke="(#%x+)" stroke%-width="1.4"' do edges[#edges + 1] = color end
  eq(edges, { "#ff0000", "#0000ff" })
  local ys = {}
  for y in plot:svg():gmatch '<path d="M[%d.]+ ([%d.]+)L[%d.]+ [%d.]+" fill="none" stroke="#%x+" stroke%-width="1.4"' do
    ys[#ys + 1] = tonumber(y)
  end
  eq(#ys, 2)
  local height = (ys[1] - ys[2]) / 2 -- px for 1
  ok(height > 40)
  local base = ys[1] + height
  near(tonumber(plot:svg():match '<path d="M[%d.]+ ([%d.]+)L[^"]*Z" fill="#ff0000"'), base, 0.02)
  raises("same numbers across; number 2 differs", sim.plot,
    { { { 0, 1 }, { 1, 1 }, kind = "stack" }, { { 0, 2 }, { 1, 1 }, kind = "stack" } })
  raises("not stacked on a logarithmic axis", sim.plot, { y = { log = true }, { { 0, 1 }, { 1, 1 }, kind = "stack" } })
end)

-- ---- Paths of plans ------------------------------------------------------------------------------

test("planners draw paths and decide as they do without", function()
  local function run(method, show)
    local world, hinge, bob = pendulum()
    hinge.angle = 0.3
    local law = control.planner(world, { horizon = 0.4, period = 0.04, method = method, seed = 3, samples = 8,
      cost = { { "angle", of = hinge, field = "angle", goal = 1, weight = 5 }, controls = 0.01 },
      show = show and { { bob, { 0, -0.2 } }, bob, rollouts = 4 } or nil })
    world:control(law, { period = 0.04 })
    world:step(4)
    local path = os.tmpname() .. ".svg"
    assert(world:draw(path))
    local file = assert(io.open(path))
    local picture = file:read "a"
    file:close()
    os.remove(path)
    return world:state(), picture
  end
  for _, method in ipairs { "ilqr", "sampling" } do
    local state, bare = run(method, false)
    local same, picture = run(method, true)
    eq(same, state)
    local function has(text, width) return text:find('stroke%-width="' .. width .. '"') ~= nil end
    eq({ bare:find "#1b6ca8", picture:find "#1b6ca8" ~= nil }, { nil, true })
    eq(has(picture, "0.7"), method == "sampling") -- rollouts are thin
  end
end)

test("a path goes where the world goes", function()
  local world, hinge, bob = pendulum()
  hinge.angle = 0.3
  local law = control.planner(world, { horizon = 0.2, period = 0.04, iterations = 20, show = { { bob, { 0, -0.2 } } },
    cost = { { "angle", of = hinge, field = "angle", goal = 1, weight = 5 }, controls = 0.01 } })
  law(world, 0)
  world:control(law:plan():law())
  local path = os.tmpname() .. ".s2d"
  local recording = assert(world:record(path))
  local went = { bob:world_point { 0, -0.2 } }
  for k = 2, 6 do
    world:step(2)
    went[k] = bob:world_point { 0, -0.2 }
  end
  recording:close()
  local drawn = assert(sim.read_recording(path)):frame(1).annotations
  os.remove(path)
  eq(#drawn, 5)
  for k, line in ipairs(drawn) do
    for i = 1, 2 do
      near(line.from[i], went[k][i], 1e-6) -- places are kept as short numbers
      near(line.to[i], went[k + 1][i], 1e-6)
    end
  end
end)

test("what cannot be shown is said", function()
  local world, hinge = pendulum()
  local wall = world:box { size = { 1, 1 }, type = "static", mask = 0 }
  local def = { horizon = 0.2, cost = { { "angle", of = hinge, field = "angle" } } }
  for _, show in ipairs { {}, { hinge }, { wall }, { { wall, { 0, 0 } } }, 3, { rollouts = 3 }, { world.bodies.bob, rollouts = -1 },
    { world.bodies.bob, rolouts = 1 }, { { world.bodies.bob, "tip" } } } do
    def.show = show
    raises("key 'show': a list of dynamic bodies", control.planner, world, def)
  end
  def.show = { world.bodies.bob }
  raises("key 'show': nothing: planners show", control.trajectory, world, def)
end)

-- ---- Sliders -------------------------------------------------------------------------------------

test("gains and weights have sliders", function()
  local world, hinge = pendulum()
  local pid = control.pid { kp = 3, kd = -0.5, measure = function() return hinge.angle end }
  local changes = {}
  local sliders = control.tune(pid, { name = "arm", range = { kp = { 1, 9 } },
    on_change = function(name, value) changes[#changes + 1] = { name, value } end })
  eq({ sliders.kp.name, sliders.kp.min, sliders.kp.max, sliders.kp.value }, { "arm kp", 1.0, 9.0, 3.0 })
  eq({ sliders.kd.min, sliders.kd.max, sliders.ki.min, sliders.ki.max }, { -2.0, 0.0, 0.0, 1.0 })
  eq(changes, {}) -- nobody has moved one
  eq({ pid.kp, pid.ki, pid.kd }, { 3, 0, -0.5 })
  -- a second one of the same names, and through a law around it
  eq(control.tune(control.low_pass(pid, 0.1), { name = "arm" }).kp.name, "arm kp 2")
  local lqr = control.lqr({ { 1, 0.1 }, { 0, 1 } }, { 0, 0.1 }, 1, 1)
  near(control.tune(lqr).k2.value, lqr.K[1][2], 0)
  local cost = control.cost { { "angle", of = hinge, field = "angle", weight = 2 }, controls = 0.1, terminal = { angle = 5 } }
  local list = control.tune(control.planner(world, { horizon = 0.2, cost = cost }))
  eq({ list.angle.value, list["angle at the end"].value, list.controls.value }, { 2.0, 5.0, 0.1 })
end)

test("wrong things to tune", function()
  raises("a cost, a planner, or a law with gains", control.tune, function() end)
  raises("a cost, a planner, or a law with gains", control.tune, nil)
  local pid = control.pid { kp = 3, measure = function() return 0 end }
  raises("unknown key 'rnage'; did you mean 'range'?", control.tune, pid, { rnage = {} })
  raises("there is no 'kq'; there are: kd, ki, kp", control.tune, pid, { range = { kq = { 0, 1 } } })
  raises("range: kp: {lo, hi} around 3 expected", control.tune, pid, { range = { kp = { 0, 1 } } })
end)
