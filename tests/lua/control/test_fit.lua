-- sim.fit: parameters from logs.
local sim = require "sim2d"
local PATH = os.tmpname()
at_end(function()
  os.remove(PATH)
  os.remove(PATH .. ".html")
  os.remove(PATH .. ".csv")
end)

-- A cart that is pushed against a drag.
local function cart(p)
  local world = sim.world { dt = 0.01, gravity = { 0, 0 } }
  local body = world:box { size = { 0.4, 0.2 }, mass = p.mass or 1, mask = 0 }
  local rail = world:slider { body, axis = { 1, 0 }, anchor = { 0, 0 }, stiffness = p.stiffness or 0, damping = p.drag or 0 }
  world:actuator { "push", body = body, kind = "force", direction = { 1, 0 }, delay = p.late }
  world:observe { "cart", of = rail, field = { "translation", "speed" } }
  return world
end

-- Its log: a row every 0.02 s, with noise.
local function logged(p, rows, sigma, offset)
  local world = cart(p)
  local log = { t = {}, push = {}, ["cart.translation"] = {}, ["cart.speed"] = {} }
  for k = 1, rows do
    local seen = world:observation().cart
    log.t[k] = (k - 1) * 0.02
    log.push[k] = 3 * math.sin(9 * log.t[k]) + 1
    log["cart.translation"][k] = seen[1] + (sigma or 0) * sim.random.normal() + (offset or 0)
    log["cart.speed"][k] = seen[2] + (sigma or 0) * sim.random.normal()
    world:act { log.push[k] }
    world:step(2)
  end
  return log
end

local WANTED = { mass = { 1, 0.1, 10, log = true }, drag = { 0, 0, 5 } }

test("without noise it is exact", function()
  local result = sim.fit { world = cart, data = logged({ mass = 2, drag = 0.7 }, 60), parameters = WANTED }
  near(result.parameters.mass, 2, 1e-6)
  near(result.parameters.drag, 0.7, 1e-6)
  ok(result.train < 1e-7 and result.test < 1e-7)
  eq({ result.status, #result.undetermined }, { "converged", 0 })
  ok(tostring(result):find("mass                            2", 1, true), tostring(result))
end)

test("with noise, within its own deviations", function()
  local most, inside = 0, 0
  local seeds = fewer(12, 3)
  for seed = 1, seeds do
    sim.random.seed(seed)
    local log = logged({ mass = 2, drag = 0.7 }, 80, 0.01)
    local result = sim.fit { world = cart, data = log, parameters = WANTED,
      noise = { ["cart.translation"] = 0.01, ["cart.speed"] = 0.01 } }
    for name, value in pairs { mass = 2, drag = 0.7 } do
      most = math.max(most, math.abs(result.parameters[name] - value) / result.deviation[name])
      local between = result.confidence95[name]
      if between[1] <= value and value <= between[2] then inside = inside + 1 end
    end
    near(result.train, 1, 0.25)
  end
  ok(most < 4, most)
  ok(inside >= 20 * seeds // 12, inside) -- of 24; 22.8 are expected
end)

test("several logs, unknown noise, a bias, one column only", function()
  sim.random.seed(3)
  local logs = { logged({ mass = 2, drag = 0.7 }, 60, 0.002, 0.3), logged({ mass = 2, drag = 0.7 }, 60, 0.002, 0.3) }
  logs[2]["cart.speed"] = nil
  local result = sim.fit { world = cart, data = logs, parameters = WANTED, bias = { "cart.translation" } }
  near(result.bias["cart.translation"], 0.3, 0.002)
  near(result.parameters.mass, 2, 0.02)
  ok(math.abs(result.parameters.mass - 2) < 4 * result.deviation.mass)
  near(result.train, 0.002, 0.0005)
end)

test("parameters that the data do not determine are named", function()
  -- of a spring, a drag and a mass without a known force only two quotients are observable
  local function free(p)
    local world = cart(p)
    world.bodies[1].x = 0.5
    return world
  end
  local world, log = free { mass = 2, drag = 0.8, stiffness = 6 }, { t = {}, push = {}, ["cart.1"] = {} }
  for k = 1, 60 do
    log.t[k], log.push[k], log["cart.1"][k] = (k - 1) * 0.02, 0, world:observation().cart[1]
    world:step(2)
  end
  local result = sim.fit { world = free, data = log, parameters = { mass = { 2, 0.5, 8 }, drag = { 1, 0, 5 }, stiffness = { 5, 0, 20 } } }
  eq(result.undetermined, { { "drag", "mass", "stiffness" } })
  eq(result.deviation.mass, nil)
  near(result.parameters.stiffness / result.parameters.mass, 3, 1e-5)
  ok(tostring(result):find "determine drag, mass, stiffness only together")
  -- a parameter without an effect
  result = sim.fit { world = cart, data = logged({ mass = 2 }, 40), parameters = { mass = 1, height = { 3, 0, 9 } } }
  eq(result.undetermined, { { "height" } })
  ok(tostring(result):find "do not determine height")
  near(result.parameters.mass, 2, 1e-6)
end)

test("a delay of the actuator is found", function()
  local result = sim.fit { world = cart, data = logged({ mass = 2, drag = 0.5, late = 0.04 }, 80), parameters = WANTED,
    delays = { push = 0.08 } }
  near(result.delays.push, 0.04, 1e-9)
  near(result.parameters.mass, 2, 1e-5)
end)

test("files, a start of its own, and the report", function()
  local log = logged({ mass = 2, drag = 0.7 }, 60)
  assert(sim.data.save(PATH .. ".csv", { t = sim.array(log.t), push = sim.array(log.push),
    ["cart.translation"] = sim.array(log["cart.translation"]) + 1 }))
  local result = sim.fit { world = cart, data = PATH .. ".csv", parameters = WANTED, report = PATH .. ".html", title = "A <cart>",
    start = function(world, first) world.bodies[1].x = first["cart.translation"] end, split = 0.5 }
  near(result.parameters.mass, 2, 1e-5)
  local file = assert(io.open(PATH .. ".html"))
  local page = file:read "a"
  file:close()
  ok(page:find("A &lt;cart&gt;", 1, true) and page:find("<svg", 1, true) and page:find("cart.translation", 1, true))
  ok(not page:find "https?://[^w]") -- the page is self-contained (except for namespaces)
end)

-- ---- Logs as loggers write them -------------------------------------------------------------------

local nan = 0 / 0

-- A pendulum with a motor; its log with a row each step.
local DT = 0.01
local function pendulum(p)
  local world = sim.world { dt = DT }
  local rod = world:circle { name = "rod", radius = 0.02, mass = p.m, inertia = 0.01, position = { 0.3, -0.4 }, mask = 0 }
  local hinge = world:hinge { rod, anchor = { 0, 0 }, name = "hinge", damping = p.b }
  world:actuator { "torque", joint = hinge, kind = "torque" }
  world:observe { "angle", of = hinge, field = "angle", noise = 0.001 }
  return world
end
local PENDULUM = { m = { 0.9, 0.1, 3 }, b = { 0.1, 0, 1 } }

-- The true angle in each step, with the command that holds from there on.
local function swing(p, steps, command)
  local world, angle = pendulum(p), {}
  for k = 0, steps do
    angle[k] = world.joints.hinge.angle -- without observation noise
    world:act { command(k * DT) }
    world:step()
  end
  return angle
end

local function wave(t) return 1.5 * math.sin(7 * t) + 0.5 end

local function swung(p, rows)
  local angle, log = swing(p, rows - 1, wave), { t = {}, torque = {}, angle = {} }
  for k = 1, rows do log.t[k], log.torque[k], log.angle[k] = (k - 1) * DT, wave((k - 1) * DT), angle[k - 1] end
  return log
end

local function fitted(log, more)
  local def = { world = pendulum, data = log, parameters = PENDULUM, split = 1 }
  for key, value in pairs(more or {}) do def[key] = value end
  return sim.fit(def)
end

test("clocks: offsets, Unix time, rounding, repeated times", function()
  local p = { m = 1.3, b = 0.06 }
  local clocks = {
    function(t) return t + 12345.67 end,
    function(t) return t + 1.7e9 end,
    function(t) return math.floor(t * 1e4 + 0.5) / 1e4 end,
    function(t, i) return t + 1e-9 * (i % 3) end,
  }
  for c, clock in ipairs(clocks) do
    local log = swung(p, 80)
    for i = 1, 80 do log.t[i] = clock(log.t[i], i) end
    local result = fitted(log)
    near(result.parameters.m, 1.3, 1e-6)
    near(result.parameters.b, 0.06, 1e-6)
  end
  -- milliseconds, given or in a file
  local log = swung(p, 80)
  for i = 1, 80 do log.t[i] = math.floor(1000 * log.t[i] + 0.5) end
  near(fitted(log, { time_unit = "ms" }).parameters.m, 1.3, 1e-6)
  near(fitted(log, { time_unit = 1e-3 }).parameters.m, 1.3, 1e-6)
  assert(sim.data.save(PATH .. ".csv", log, { units = { t = "ms" } }))
  near(fitted(PATH .. ".csv").parameters.m, 1.3, 1e-6)
  -- the same sample twice
  log = swung(p, 80)
  for name in pairs(log) do table.insert(log[name], 40, log[name][40]) end
  local result = fitted(log)
  near(result.parameters.m, 1.3, 1e-6)
  eq(result.repeated, 1)
  -- times of 1/120 s, with three decimals
  DT = 1 / 120
  log = swung(p, 80)
  for i = 1, 80 do log.t[i] = tonumber(("%.3f"):format(log.t[i])) end
  near(fitted(log).parameters.m, 1.3, 1e-6)
  DT = 0.01
end)

test("times that are no multiples of dt lie between two steps", function()
  -- a body without forces: its observation is linear in time, at all times
  local function glider(p)
    local world = sim.world { dt = 0.01, gravity = { 0, 0 } }
    local body = world:circle { radius = 0.1, velocity = { p.v, 0 } }
    world:observe { "x", of = body, field = "x" }
    return world
  end
  local log = { t = {}, x = {} }
  for i = 1, 30 do
    log.t[i] = (i - 1) * 0.0137 + 0.003 * math.sin(i) + 5
    log.x[i] = 2.5 * (log.t[i] - log.t[1])
  end
  local result = sim.fit { world = glider, data = log, parameters = { v = { 1, 0, 9 } }, split = 1 }
  near(result.parameters.v, 2.5, 1e-9)
  ok(result.train < 1e-10)
  -- several rows in a step
  for i = 1, 30 do log.t[i], log.x[i] = (i - 1) * 0.0031, 2.5 * (i - 1) * 0.0031 end
  near(sim.fit { world = glider, data = log, parameters = { v = 1 } }.parameters.v, 2.5, 1e-9)
end)

test("a command that changes within a step counts by its part of it", function()
  local log = { t = {}, push = {}, ["cart.speed"] = {} }
  local v, t = 0, 0
  sim.random.seed(4)
  for i = 1, 60 do
    log.t[i], log.push[i], log["cart.speed"][i] = t, sim.random.uniform(-3, 3), v
    local h = sim.random.uniform(0.012, 0.05)
    v, t = v + h * log.push[i] / 2, t + h
  end
  -- impulses act exactly at the steps, and between them speed is linear
  local result = sim.fit { world = cart, data = log, parameters = { mass = { 1, 0.1, 10 } }, split = 1 }
  near(result.parameters.mass, 2, 0.02)
end)

test("holes: samples that are missing, commands that hold", function()
  local p = { m = 1.3, b = 0.06 }
  local log = swung(p, 80)
  for i = 1, 80, 7 do log.angle[i] = nan end
  local result = fitted(log)
  near(result.parameters.m, 1.3, 1e-6)
  eq(result.missing, { angle = 12 })
  ok(tostring(result):find("angle: 12 samples are missing", 1, true))
  -- missing commands: the earlier ones hold
  log = swung(p, 80)
  local angle = swing(p, 79, function(t) return wave(math.floor(t / (4 * DT) + 1e-6) * 4 * DT) end)
  for i = 1, 80 do
    log.angle[i] = angle[i - 1]
    if (i - 1) % 4 ~= 0 then log.torque[i] = nan end
  end
  result = fitted(log)
  near(result.parameters.m, 1.3, 1e-6)
  eq(result.held, { ["data: torque"] = 60 })
  -- columns of two rates, each with its own times
  local own = { torque = { t = {}, value = {} }, angle = { t = {}, value = {} } }
  for i = 1, 80, 4 do
    table.insert(own.torque.t, (i - 1) * DT)
    table.insert(own.torque.value, wave((i - 1) * DT))
  end
  for i = 1, 80, 3 do
    table.insert(own.angle.t, (i - 1) * DT)
    table.insert(own.angle.value, angle[i - 1])
  end
  near(fitted(own).parameters.m, 1.3, 1e-6)
  -- a function that reads logs and starts where no measurement is
  log = swung(p, 80)
  log.angle[1] = nan
  raises("'angle' is nan in row 1 of data, where a world starts: fill in the value, start elsewhere, or make it free",
    function() fitted(log, { start = function(world, first) world.bodies.rod.angle = first.angle end }) end)
end)

test("robust losses: outliers count less", function()
  local p = { m = 1.3, b = 0.06 }
  local log = swung(p, 120)
  sim.random.seed(9)
  for i = 1, 120 do log.angle[i] = log.angle[i] + sim.random.normal(0, 0.001) end
  for i = 5, 120, 12 do log.angle[i] = log.angle[i] + 3 end
  ok(math.abs(fitted(log).parameters.m - 1.3) > 0.1)
  for _, loss in ipairs { "huber", "cauchy" } do
    local result = fitted(log, { loss = loss })
    near(result.parameters.m, 1.3, 0.01)
    near(result.parameters.b, 0.06, 0.01)
  end
  -- an unknown scale follows from the residuals
  local cart_log = logged({ mass = 2, drag = 0.7 }, 80, 0.01)
  for i = 3, 80, 9 do cart_log["cart.translation"][i] = 20 end
  local result = sim.fit { world = cart, data = cart_log, parameters = WANTED, loss = "huber", split = 1 }
  near(result.parameters.mass, 2, 0.05)
  ok(result.scale < 0.1, result.scale)
end)

test("each window starts from measurements or from free parameters", function()
  local log = swung({ m = 1.3, b = 0.06 }, 120)
  local function start(world, first, q)
    local rod = world.bodies.rod
    local angle = q.angle or first.angle
    rod.angle, rod.omega = angle, q.omega or first.omega
    local x, y = 0.3, -0.4
    local c, s = sim.cos(angle), sim.sin(angle)
    rod.position = { c * x - s * y, s * x + c * y }
    rod.velocity = { -rod.omega * (s * x + c * y), rod.omega * (c * x - s * y) }
  end
  -- speeds are measured as well
  local world = pendulum { m = 1.3, b = 0.06 }
  log.omega = {}
  for i = 1, 120 do
    log.omega[i] = world.bodies.rod.omega
    world:act { wave((i - 1) * DT) }
    world:step()
  end
  local result = fitted(log, { windows = { rows = 60 / 2 }, start = start })
  near(result.parameters.m, 1.3, 1e-4)
  eq({ #result.windows, result.windows[2].rows }, { 4, 30 })
  near(result.windows[2].t, 0.3, 1e-12)
  result = fitted(log, { windows = 0.25, start = start, split = 0.6 })
  near(result.parameters.m, 1.3, 1e-4)
  ok(result.test < 0.5, result.test)
  -- speeds are not measured
  log.omega = nil
  local free = { omega = { 0, -20, 20 } }
  result = fitted(log, { windows = { rows = 40, free = free }, start = start })
  near(result.parameters.m, 1.3, 1e-4)
  near(result.windows[1].omega, 0, 1e-3)
  eq(result.parameters.omega, nil)
  -- for each window, by a function of the measurements
  free = { angle = { function(first) return first.angle end }, omega = { 0 } }
  near(fitted(log, { windows = { rows = 40, free = free }, start = start }).parameters.m, 1.3, 1e-4)
end)

-- The true motion of a cart in each step of 10 ms, observed at any time: each command holds for some steps.
local function random_log(R, p, sigma, outliers)
  local function u(lo, hi) return R:uniform(lo, hi) end
  local world, steps, offset = cart(p), R:integer(80, 120), ({ 0, 100, 1.7e9 })[R:integer(1, 3)]
  local seen, log = {}, { push = { t = {}, value = {} } }
  local left = 0
  for k = 0, steps do
    seen[k] = world:observation().cart
    if left == 0 then
      left = R:integer(1, 9)
      table.insert(log.push.t, k * 0.01 + offset)
      table.insert(log.push.value, u(-3, 4))
      world:act { log.push.value[#log.push.value] }
    end
    world:step()
    left = left - 1
  end
  for c, name in ipairs { "cart.translation", "cart.speed" } do
    local column, t = { t = {}, value = {} }, u(0, 0.02)
    while t < steps * 0.01 do
      local k = math.floor(t / 0.01)
      local part = t / 0.01 - k
      local value = seen[k][c] * (1 - part) + seen[k + 1][c] * part + sigma * R:normal()
      if u(0, 1) < 0.1 then value = nan
      elseif outliers and u(0, 1) < 0.08 then value = value + u(-20, 20) end
      table.insert(column.t, t + offset)
      table.insert(column.value, value)
      t = t + u(0.003, 0.06) * c
    end
    log[name] = column
  end
  return log
end

test("random logs: irregular times, holes, outliers, rates; the true values are found", function()
  for seed = 1, fewer(60, 4) do
    sim.random.seed(seed)
    local R = sim.random.split()
    local p, outliers = { mass = R:uniform(0.5, 4), drag = R:uniform(0.5, 2) }, seed % 2 == 0
    local sigma = seed % 4 == 1 and 0 or 1e-3
    local result = sim.fit { world = cart, data = random_log(R, p, sigma, outliers), split = 1,
      parameters = { mass = { 1, 0.1, 10, log = true }, drag = { 0.5, 0, 5 } }, loss = outliers and "cauchy" or "l2",
      noise = { ["cart.translation"] = 1e-3, ["cart.speed"] = 1e-3 } }
    for name, value in pairs(p) do
      ok(result.deviation[name], ("seed %d: %s"):format(seed, tostring(result)))
      -- times of 1.7e9 s have a last digit of 2.4e-7 s
      local most = sigma == 0 and 1e-5 * (1 + value) or 5 * result.deviation[name]
      ok(math.abs(result.parameters[name] - value) <= most,
        ("seed %d: %s is %g, %g was true, +- %g"):format(seed, name, result.parameters[name], value, most))
    end
  end
end)

test("the time of a fit grows with the rows, not with their square", function()
  -- each row undoes the same number of steps, however long the log is: counted by a function of the script
  local calls = 0
  local law = sim.custom { forward = function(v, k) return -k * v end, backward = function(g, _, v, k)
    calls = calls + 1
    return -k * g, -v * g
  end }
  local function dragged(p)
    local world = sim.world { dt = 0.01, gravity = { 0, 0 } }
    local body = world:circle { radius = 0.1, mass = 1, velocity = { 2, 0 } }
    body:force_law(function(b) return 0, law(b.vx, p.k), 0 end)
    world:observe { "x", of = body, field = "x" }
    return world
  end
  local function count(rows)
    local log, world = { t = {}, x = {} }, dragged { k = 0.5 }
    for i = 1, rows do
      log.t[i], log.x[i] = (i - 1) * 0.01, world:observation().x
      world:step()
    end
    calls = 0
    local result = sim.fit { world = dragged, data = log, parameters = { k = { 0.3, 0, 2 } }, split = 1, max_iterations = 2,
      tolerance = 1e-3 }
    near(result.parameters.k, 0.5, 1e-3)
    return calls
  end
  local few, many = count(50), count(200)
  ok(many < 5 * few, ("%d calls for 50 rows, %d for 200"):format(few, many))
end)

test("bad input", function()
  local log = logged({}, 20)
  local function without(change)
    local copy = {}
    for key, value in pairs(log) do copy[key] = table.move(value, 1, #value, 1, {}) end
    change(copy)
    return copy
  end
  local function fails(message, changes)
    local def = { world = cart, data = log, parameters = WANTED }
    for key, value in pairs(changes) do def[key] = value end
    raises(message, sim.fit, def)
  end
  raises("a table expected, got 3", sim.fit, 3)
  fails("unknown key 'parameter'; did you mean 'parameters'", { parameter = 1 })
  fails("fit: world", { world = 3 })
  fails("has to return the world it builds; it returned 3", { world = function() return 3 end })
  fails("key 'parameters': a table", { parameters = {} })
  fails("parameters.mass': a number, or { start, lo, hi", { parameters = { mass = "heavy" } })
  fails("parameters.mass': lo <= start <= hi", { parameters = { mass = { 1, 2, 3 } } })
  fails("a start above 0", { parameters = { mass = { 0, 0, 3, log = true } } })
  fails("no column 't'", { data = without(function(l) l.t = nil end) })
  fails("no column 'push', the name of an actuator", { data = without(function(l) l.push = nil end) })
  fails("none of the columns that the world observes: cart.translation, cart.speed",
    { data = without(function(l) l["cart.translation"], l["cart.speed"] = nil, nil end) })
  fails("cart.speed has 19 rows, but the times have 20", { data = without(function(l) l["cart.speed"][20] = nil end) })
  fails("push: row 1 is nan: a command has to be known from the start", { data = without(function(l) l.push[1] = 0 / 0 end) })
  fails("push: row 3 is inf", { data = without(function(l) l.push[3] = 1 / 0 end) })
  fails("cart.speed: row 4 is the text '1.0': a number expected", { data = without(function(l) l["cart.speed"][4] = "1.0" end) })
  fails("time decreases: row 5 is 0.04 after 0.06", { data = without(function(l) l.t[5] = 0.04 end) })
  fails("t: row 5 is nan", { data = without(function(l) l.t[5] = 0 / 0 end) })
  fails("no column 'push', .*; did you mean its column 'push_N'", { data = without(function(l) l.push, l.push_N = nil, l.push end) })
  fails("no column 'cart.speed', .*; did you mean its column 'cart.spead'",
    { data = without(function(l) l["cart.speed"], l["cart.spead"] = nil, l["cart.speed"] end) })
  fails("lasts 40000 s in 20 rows, .* are its times in ms", { data = without(function(l)
    for i = 1, 20 do l.t[i] = 40000 / 19 * (i - 1) end
  end) })
  fails("times in 'weeks': give time_unit", { time_unit = "weeks" })
  fails("push begins at 1, the log at 0", { data = { push = { t = { 1, 2, 3 }, value = { 0, 0, 0 } },
    ["cart.speed"] = { t = { 0, 1, 2 }, value = { 0, 0, 0 } } } })
  fails("'loss': 'l2', 'huber' or 'cauchy' expected, got 'l1'", { loss = "l1" })
  fails("'scale': a positive number of standard deviations", { loss = "huber", scale = 0 })
  fails("'scale': a loss that has a scale %('huber' or 'cauchy'%) expected, got 'l2'", { scale = 2 })
  fails("windows need 'start'", { windows = 1 })
  fails("'windows': either rows or seconds", { windows = {}, start = print })
  fails("'windows.rows': 2 rows or more", { windows = { rows = 1 }, start = print })
  fails("'windows.rows': 2 rows or more expected, got 2.5", { windows = { rows = 2.5 }, start = print })
  fails("unknown key 'row'; did you mean 'rows'", { windows = { row = 4 }, start = print })
  fails("'mass' is both a common parameter and a parameter of each window", { windows = { rows = 4, free = { mass = 1 } }, start = print })
  fails("has 2 rows; at least three", { data = { t = { 0, 0.01 }, push = { 0, 0 }, ["cart.1"] = { 0, 0 } } })
  fails("missing.csv", { data = "missing.csv" })
  fails("noise or bias is given for 'cart.spead', .* did you mean 'cart.speed'", { noise = { ["cart.spead"] = 1 } })
  fails("noise.cart.speed': a standard deviation above 0 expected, got 0", { noise = { ["cart.speed"] = 0 } })
  fails("noise or bias is given for 'x'", { bias = { "x" } })
  fails("'split': a fraction of the rows", { split = 0 })
  fails("a name that ends with .html", { report = "fit.pdf" })
  fails("no actuator 'pull'", { delays = { pull = 0.1 } })
  fails("has no observations", { world = function() return sim.world {} end })
  fails("something of the script", { world = function(p)
    if getmetatable(p.mass) then error "something of the script" end
    return cart(p)
  end })
end)
