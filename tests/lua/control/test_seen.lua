-- Views of control: costs by terms, stacked plots, paths of plans, sliders, panels, basins.
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

test("the parts of a cost add up to the cost of a plan of one period", function()
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
    -- with given commands
    near(cost:parts(world, { 2 }).controls, 0.6, 1e-15)
    near(cost:parts(world, { motor = -2 }).controls, 0.6, 1e-15)
    -- speeds of points of a free body
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
  raises("'controls' is reserved for the commands", control.cost, { { "controls", of = hinge, field = "angle" } })
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

test("the cost of a law in Lua comes from the options", function()
  local world, hinge = pendulum()
  world:control(function() return { 1 } end, { cost = { { "lift", of = hinge, field = "angle", goal = 1 } } })
  local path = os.tmpname() .. ".s2d"
  local recording = assert(world:record(path))
  world:step(5)
  recording:close()
  local lift = assert(sim.read_recording(path)):column "cost.lift"
  near(lift[#lift], (hinge.angle - 1) ^ 2 / 2, 1e-15)
  os.remove(path)
  raises("key 'cost': a result of sim.control.cost expected, got 3", world.control, world, function() end, { cost = 3 })
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

test("stacked bodies stand on those below", function()
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
  local height = (ys[1] - ys[2]) / 2 -- px per unit
  ok(height > 40)
  local base = ys[1] + height
  near(tonumber(plot:svg():match '<path d="M[%d.]+ ([%d.]+)L[^"]*Z" fill="#ff0000"'), base, 0.02)
  raises("same x values; number 2 differs", sim.plot,
    { { { 0, 1 }, { 1, 1 }, kind = "stack" }, { { 0, 2 }, { 1, 1 }, kind = "stack" } })
  raises("stacking requires a linear axis", sim.plot, { y = { log = true }, { { 0, 1 }, { 1, 1 }, kind = "stack" } })
end)

-- ---- Paths of plans ------------------------------------------------------------------------------

test("drawing paths does not change the decisions of a planner", function()
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
    eq(has(picture, "0.7"), method == "sampling") -- rollouts are drawn thin
  end
end)

test("a path agrees with the motion of the world", function()
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
      near(line.from[i], went[k][i], 1e-6) -- positions are stored as short numbers
      near(line.to[i], went[k + 1][i], 1e-6)
    end
  end
end)

test("values that cannot be shown are reported", function()
  local world, hinge = pendulum()
  local wall = world:box { size = { 1, 1 }, type = "static", mask = 0 }
  local def = { horizon = 0.2, cost = { { "angle", of = hinge, field = "angle" } } }
  for _, show in ipairs { {}, { hinge }, { wall }, { { wall, { 0, 0 } } }, 3, { rollouts = 3 }, { world.bodies.bob, rollouts = -1 },
    { world.bodies.bob, rolouts = 1 }, { { world.bodies.bob, "tip" } } } do
    def.show = show
    raises("key 'show': a list of dynamic bodies", control.planner, world, def)
  end
  def.show = { world.bodies.bob }
  raises("key 'show': no value %(only planners show", control.trajectory, world, def)
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
  eq(changes, {}) -- no slider has been moved
  eq({ pid.kp, pid.ki, pid.kd }, { 3, 0, -0.5 })
  -- a second one with the same names, also through a law around it
  eq(control.tune(control.low_pass(pid, 0.1), { name = "arm" }).kp.name, "arm kp 2")
  local lqr = control.lqr({ { 1, 0.1 }, { 0, 1 } }, { 0, 0.1 }, 1, 1)
  near(control.tune(lqr).k2.value, lqr.K[1][2], 0)
  local cost = control.cost { { "angle", of = hinge, field = "angle", weight = 2 }, controls = 0.1, terminal = { angle = 5 } }
  local list = control.tune(control.planner(world, { horizon = 0.2, cost = cost }))
  eq({ list.angle.value, list["angle at the end"].value, list.controls.value }, { 2.0, 5.0, 0.1 })
end)

test("commands that have a weight each have a slider each", function()
  local world = sim.world {}
  local box = world:box { size = { 1, 1 }, mass = 2 }
  world:actuator { "across", body = box, kind = "force", direction = { 1, 0 } }
  world:actuator { "up", body = box, kind = "force", direction = { 0, 1 } }
  local cost = control.cost { { "x", of = box, field = "x" }, controls = { 0.5, 2 } }
  local sliders = control.tune(cost, { name = "two" })
  eq({ sliders["controls 1"].value, sliders["controls 2"].value }, { 0.5, 2.0 })
  eq(cost:parts(world, { 2, 3 }), { x = 0.0, controls = 10.0 })
  cost:set_weight("controls", { 1, 0 })
  eq(cost:parts(world, { 2, 3 }), { x = 0.0, controls = 2.0 })
  raises("a number of at least 0 expected, got %-1", cost.set_weight, cost, "controls", { 1, -1 })
end)

test("wrong things to tune", function()
  raises("a cost, a planner, or a law with gains", control.tune, function() end)
  raises("a cost, a planner, or a law with gains", control.tune, nil)
  local pid = control.pid { kp = 3, measure = function() return 0 end }
  raises("unknown key 'rnage'; did you mean 'range'?", control.tune, pid, { rnage = {} })
  raises("there is no 'kq'; there are: kd, ki, kp", control.tune, pid, { range = { kq = { 0, 1 } } })
  raises("key 'name': a text expected, got 3", control.tune, pid, { name = 3 })
  raises("key 'range': { NAME = {lo, hi} } expected, got 3", control.tune, pid, { range = 3 })
  raises("range: kp: {lo, hi} around 3 expected", control.tune, pid, { range = { kp = { 0, 1 } } })
end)

-- ---- Panels --------------------------------------------------------------------------------------

local function biggest(poles)
  local most = 0
  for _, pole in ipairs(poles) do most = math.max(most, math.sqrt(pole[1] ^ 2 + pole[2] ^ 2)) end
  return most
end

test("the Bode plot of 1/(s+1) and the step response of its closed loop agree with formulas", function()
  local result = control.panel({ { 1 } }, { A = { { -1 } }, B = { { 1 } } })
  eq(#result.w, 400)
  ok(result.w[1] < 0.05 and result.w[400] > 20)
  for k, w in ipairs(result.w) do
    near(result.magnitude[k], 1 / math.sqrt(1 + w * w), 1e-12)
    near(result.phase[k], -math.deg(math.atan(w)), 1e-9)
  end
  for k, t in ipairs(result.t) do near(result.y[k], (1 - math.exp(-2 * t)) / 2, 1e-12) end
  eq({ result.gain_margin, result.gain_reduction, result.stable, result.w_gain }, { math.huge, 0, true })
  eq({ result.poles, result.open_poles }, { { { -2.0, 0.0 } }, { { -1.0, 0.0 } } })
  eq({ result.overshoot, result.settled }, {}) -- it never approaches 1
end)

test("margins of a double integrator with PD, by hand", function()
  -- L = (3 s + 2) / s^2: abs(L) = 1 where w^4 = 9 w^2 + 4
  local w = math.sqrt((9 + math.sqrt(97)) / 2)
  local plant = { A = { { 0, 1 }, { 0, 0 } }, B = { 0, 1 } }
  for _, law in ipairs { { kp = 2, kd = 3 }, { { 2, 3 } } } do
    local result = control.panel(law, plant)
    near(result.w_phase, w, 1e-9)
    near(result.phase_margin, math.deg(math.atan(3 * w / 2)), 1e-9)
    eq(result.gain_margin, math.huge)
    for k, at in ipairs(result.w) do near(result.phase[k], math.deg(math.atan(1.5 * at)) - 180, 1e-9) end
    -- poles -1 and -2
    for k, t in ipairs(result.t) do near(result.y[k], 1 - 2 * math.exp(-t) + math.exp(-2 * t), 1e-10) end
    near(result.overshoot, 0, 1e-12)
    near(1 - 2 * math.exp(-result.settled) + math.exp(-2 * result.settled), 0.98, 2e-3)
  end
end)

test("margins of three lags, by hand", function()
  -- 2 / (s + 1)^3: -180 degrees at sqrt 3, where it is 2 / 8
  local result = control.panel({ { 2, 0, 0 } }, { A = { { -1, 1, 0 }, { 0, -1, 1 }, { 0, 0, -1 } }, B = { 0, 0, 1 } })
  near(result.gain_margin, 4, 1e-9)
  near(result.w_gain, math.sqrt(3), 1e-9)
  local w = math.sqrt(2 ^ (2 / 3) - 1)
  near(result.w_phase, w, 1e-9)
  near(result.phase_margin, 180 - 3 * math.deg(math.atan(w)), 1e-9)
  -- at the margin a pair of poles is on the axis
  local poles = result.closed_poles(result.gain_margin)
  local most = -1
  for _, pole in ipairs(poles) do most = math.max(most, pole[1]) end
  near(most, 0, 1e-9)
end)

test("margins of steps: an integrator, by hand", function()
  local dt, k = 0.1, 4
  local result = control.panel(k, { A = 1, B = dt, dt = dt })
  near(result.gain_margin, 2 / (k * dt), 1e-9)
  near(result.w_gain, math.pi / dt, 1e-9)
  local w = 2 / dt * math.asin(k * dt / 2)
  near(result.w_phase, w, 1e-9)
  near(result.phase_margin, 90 - math.deg(w * dt / 2), 1e-9)
  for i, t in ipairs(result.t) do near({ t, result.y[i] }, { (i - 1) * dt, 1 - 0.6 ^ (i - 1) }, 1e-12) end
end)

test("the step response of a pid agrees with the world", function()
  for _, def in ipairs { { kp = 20, ki = 5, kd = 12, filter = 0.05 }, { kp = 20, kd = 12 }, { kp = 3, ki = 0.1, kd = 5, period = 0.03 } } do
    local world = sim.world { gravity = { 0, 0 }, dt = 0.01 }
    local cart = world:box { size = { 1, 1 }, mass = 2 }
    world:actuator { "push", body = cart, kind = "force", direction = { 1, 0 } }
    local law = control.pid { kp = def.kp, ki = def.ki, kd = def.kd, filter = def.filter, measure = function() return cart.x end }
    local model = sim.world { gravity = { 0, 0 }, dt = 0.01 }
    local body = model:box { size = { 1, 1 }, mass = 2 }
    model:actuator { "push", body = body, kind = "force", direction = { 1, 0 } }
    local result = control.panel(law, model, { output = 2, period = def.period, coordinates = { body }, duration = 3 })
    local steps = def.period and 3 or 1
    world:control(law, { period = def.period or 0.01 })
    world:step(steps) -- at rest, so that the law has its last observation
    law.setpoint = 1
    for k = 1, 60 do
      near(result.y[k], cart.x, 1e-11)
      near(result.t[k], (k - 1) * steps * 0.01, 1e-12)
      world:step(steps)
    end
    ok(math.abs(cart.x) > 0.3)
  end
end)

local function cart_pole()
  local world = sim.world { dt = 0.01 }
  local cart = world:box { size = { 0.4, 0.2 }, mass = 1, mask = 0 }
  local pole = world:box { size = { 0.05, 0.5 }, mass = 0.2, position = { 0, 0.25 }, mask = 0 }
  local rail = world:slider { a = cart, anchor = { 0, 0 }, axis = { 1, 0 } }
  local hinge = world:hinge { a = pole, b = cart, anchor = { 0, 0 } }
  world:actuator { "push", joint = rail, kind = "force" }
  return world, rail, hinge
end

test("a regulator of a world: poles, and margins where poles leave the circle", function()
  local world, rail, hinge = cart_pole()
  local law = control.lqr(world, { coordinates = { rail, hinge }, Q = 1, R = 0.01 })
  local result = control.panel(law, world)
  eq(control.panel(law).gain_margin, result.gain_margin) -- the law has its model
  eq(control.panel(law.K, world, { coordinates = { rail, hinge } }).phase_margin, result.phase_margin)
  ok(result.stable and result.gain_margin > 2 and result.gain_reduction < 0.5)
  ok(result.phase_margin > 45)
  near(biggest(result.poles), biggest { { law.poles[4], 0 } }, 1e-9)
  near(biggest(result.closed_poles(result.gain_margin)), 1, 1e-9)
  near(biggest(result.closed_poles(result.gain_reduction)), 1, 1e-9)
  -- the cart reaches its goal
  near(result.y[#result.y], 1, 1e-2)
  near(control.panel(law, world, { output = rail }).y[50], result.y[50], 0)
end)

test("with several inputs, the loops of the other inputs are closed", function()
  local A, B = { { 0, 1 }, { 0, 0 } }, { { 1, 0 }, { 0, 1 } }
  local K = { { 2, 1 }, { 0, 3 } }
  local one, other = control.panel(K, { A = A, B = B }), control.panel(K, { A = A, B = B }, { input = 2, output = 2 })
  -- the first: x1' = x2 + u1, x2' = -3 x2; L = 2 / s
  near(one.magnitude[100], 2 / one.w[100], 1e-12)
  -- the second: x1' = -2 x1, x2' = u2: L = 3 / s
  near(other.magnitude[100], 3 / other.w[100], 1e-12)
  eq(one.poles, other.poles)
end)

test("the loop of a pid is cut at its actuator", function()
  local world = sim.world { gravity = { 0, 0 }, dt = 0.01 }
  local a, b = world:box { size = { 1, 1 }, mass = 2 }, world:box { size = { 1, 1 }, mass = 5, position = { 3, 0 } }
  world:actuator { "first", body = a, kind = "force", direction = { 1, 0 } }
  world:actuator { "second", body = b, kind = "force", direction = { 1, 0 } }
  local law = control.pid { kp = 20, kd = 12, actuator = "second", measure = function() return b.x end }
  local result = control.panel(law, world, { coordinates = { a, b }, output = 5 })
  -- 20 / (m w^2) where frequencies are low
  near(result.magnitude[1] * result.w[1] ^ 2, 20 / 5, 1e-2)
end)

test("a panel is one page", function()
  local path = os.tmpname() .. ".html"
  local result = control.panel({ kp = 2, kd = 3 }, { A = { { 0, 1 }, { 0, 0 } }, B = { 0, 1 } }, { path = path, title = "A < B" })
  local file = assert(io.open(path))
  local page = file:read "a"
  file:close()
  os.remove(path)
  eq(select(2, page:gsub("<svg", "")), 1)
  ok(page:find("<title>A &lt; B</title>", 1, true))
  ok(page:find("77.75 degrees at 3.07 rad/s", 1, true))
  ok(not page:find("<script", 1, true) and not page:gsub("http://www.w3.org/2000/svg", ""):find("http", 1, true))
  eq(select(2, result.plot:svg():gsub("<clipPath", "")), 4)
  local good, why = control.panel(1, { A = -1, B = 1 }, { path = "no/such/folder/x.html" })
  eq(good, nil)
  ok(why:find "no/such/folder")
end)

test("wrong panels", function()
  local plant = { A = { { 0, 1 }, { 0, 0 } }, B = { 0, 1 } }
  raises("a world, or { A =, B =, C =, dt = }, expected, got nil", control.panel, { kp = 1 })
  raises("a pid, a regulator without a horizon, or gains, expected", control.panel, "x", plant)
  raises("unknown key 'kq'; did you mean 'kd'%?", control.panel, { kp = 1, kq = 2 }, plant)
  raises("unknown key 'pth'; did you mean 'path'%?", control.panel, { kp = 1 }, plant, { pth = "x" })
  raises("K: a matrix of 1 x 2 expected, got 1 x 3", control.panel, { 1, 2, 3 }, plant)
  raises("A: square matrix expected, got 1 x 2", control.panel, { 1 }, { A = { { 1, 2 } }, B = { 1 } })
  raises("key 'output'", control.panel, { 1, 2 }, plant, { output = 3 })
  raises("key 'input'", control.panel, { 1, 2 }, plant, { input = 2 })
  raises("ends with .html", control.panel, { 1, 2 }, plant, { path = "x.svg" })
  raises("give the pid a filter", control.panel, { kd = 1 }, { A = -1, B = 1 })
  raises("key 'period': a multiple of dt", control.panel, 1, { A = 1, B = 1, dt = 0.1 }, { period = 0.15 })
  raises("dt: the length of a step in s expected", control.panel, 1, { A = 1, B = 1, dt = 0 })
  raises("key 'range'", control.panel, 1, { A = 1, B = 1 }, { range = { 2, 1 } })
  raises("key 'duration'", control.panel, 1, { A = 1, B = 1 }, { duration = 0 })
  raises("A: a matrix expected, got array%[1%]%[1%]: finite number expected, got nan", control.panel, 1, { A = 0 / 0, B = 1 })
  raises("A: the number in row 1, column 1 is not finite", control.panel, 1, { A = sim.array { { 1 } } / 0, B = 1 })
  raises("the world has no actuators", control.panel, { kp = 1 }, sim.world {})
  raises("give the law inside it", control.panel, control.low_pass(control.pid { measure = function() return 0 end }, 1), plant)
end)

-- ---- Basins --------------------------------------------------------------------------------------

test("when a world comes to rest", function()
  -- x' = v, v falls to 0 under friction: from v = 1 after 1 / (mu g) = 0.2039 s
  local function slide(v)
    local world = sim.world { dt = 0.01 }
    world:box { size = { 20, 1 }, position = { 0, -0.5 }, type = "static", friction = 0.5 }
    local box = world:box { size = { 0.4, 0.4 }, position = { 0, 0.2 }, friction = 0.5, velocity = { v, 0 } }
    return world, function() return math.abs(box.vx) < 1e-6 end
  end
  local world, rest = slide(1)
  near(control.settling(world, rest, { duration = 2, hold = 0.1 }), 1 / (0.5 * 9.81), 0.011)
  near(world.time, 0.21 + 0.1, 1e-9)
  world, rest = slide(0)
  eq(control.settling(world, rest, { duration = 2, hold = 0.1 }), 0.0)
  world, rest = slide(20)
  local after = control.settling(world, rest, { duration = 2 })
  ok(after ~= after)
  raises("key 'duration': seconds expected, got nil", control.settling, world, rest, {})
  raises("function expected", control.settling, world, 3, { duration = 1 })
end)

test("a basin is a grid of runs, the same from any number of threads", function()
  local function run(p, _, limit) return math.abs(p.a + 2 * p.b) < limit and math.abs(p.a) or 0 / 0 end
  local def = { run = run, x = { "a", -1, 1, 5 }, y = { "b", 0, 1, 3, label = "b, m" }, common = 1.2, progress = false }
  local basin = control.basin(def)
  eq(basin.xs, { -1.0, -0.5, 0.0, 0.5, 1.0 })
  eq(basin.ys, { 0.0, 0.5, 1.0 })
  local nan = 0 / 0
  eq(basin.after, { { 1.0, 0.5, 0.0, 0.5, 1.0 }, { 1.0, 0.5, 0.0, nan, nan }, { 1.0, nan, nan, nan, nan } })
  eq({ basin.settled, basin.starts, basin.share }, { 9, 15, 0.6 })
  ok(basin.plot:svg():find("b, m", 1, true))
  def.threads = 1
  eq(control.basin(def).after, basin.after)
  -- nothing settles
  def.common = 0
  eq(control.basin(def).settled, 0)
end)

test("wrong basins", function()
  local function run() return 1 end
  raises("key 'run'", control.basin, { x = { "a", 0, 1 }, y = { "b", 0, 1 } })
  raises("key 'x'", control.basin, { run = run, x = { "a", 1, 0 }, y = { "b", 0, 1 } })
  raises("key 'x'", control.basin, { run = run, x = { "a", 0, 1, 1 }, y = { "b", 0, 1 } })
  raises("key 'y': a name that differs from x", control.basin, { run = run, x = { "a", 0, 1 }, y = { "a", 0, 1 } })
  raises("unknown key 'z'", control.basin, { run = run, x = { "a", 0, 1 }, y = { "b", 0, 1 }, z = 1 })
end)
