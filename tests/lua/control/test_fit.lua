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

-- Its log: a row each 0.02 s, with noise.
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
  for seed = 1, 12 do
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
  ok(inside >= 20, inside) -- of 24; 22.8 are expected
end)

test("several logs, noise that nobody knows, a bias, one column only", function()
  sim.random.seed(3)
  local logs = { logged({ mass = 2, drag = 0.7 }, 60, 0.002, 0.3), logged({ mass = 2, drag = 0.7 }, 60, 0.002, 0.3) }
  logs[2]["cart.speed"] = nil
  local result = sim.fit { world = cart, data = logs, parameters = WANTED, bias = { "cart.translation" } }
  near(result.bias["cart.translation"], 0.3, 0.002)
  near(result.parameters.mass, 2, 0.02)
  ok(math.abs(result.parameters.mass - 2) < 4 * result.deviation.mass)
  near(result.train, 0.002, 0.0005)
end)

test("what the data do not determine is named", function()
  -- of a spring, a drag and a mass that nothing pushes only two quotients are seen
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
  ok(tostring(result):find "see drag, mass, stiffness together only")
  -- one that nothing depends on
  result = sim.fit { world = cart, data = logged({ mass = 2 }, 40), parameters = { mass = 1, height = { 3, 0, 9 } } }
  eq(result.undetermined, { { "height" } })
  ok(tostring(result):find "do not say what height is")
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
  ok(not page:find "https?://[^w]") -- of itself (namespaces aside)
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
  fails("no column 'push', which an actuator", { data = without(function(l) l.push = nil end) })
  fails("none of the columns that the world observes: cart.translation, cart.speed",
    { data = without(function(l) l["cart.translation"], l["cart.speed"] = nil, nil end) })
  fails("cart.speed has 19 rows, the times have 20", { data = without(function(l) l["cart.speed"][20] = nil end) })
  fails("push: row 3 is nan", { data = without(function(l) l.push[3] = 0 / 0 end) })
  fails("t has to rise, row 5 is 0.06 after 0.06", { data = without(function(l) l.t[5] = l.t[4] end) })
  fails("row 5 is 0.025 s after the one before, no multiple", { data = without(function(l) l.t[5] = l.t[5] + 0.005 end) })
  fails("has 2 rows: three at least", { data = { t = { 0, 0.01 }, push = { 0, 0 }, ["cart.1"] = { 0, 0 } } })
  fails("nowhere.csv", { data = "nowhere.csv" })
  fails("noise or bias of 'cart.spead', .* did you mean 'cart.speed'", { noise = { ["cart.spead"] = 1 } })
  fails("noise.cart.speed': a standard deviation above 0 expected, got 0", { noise = { ["cart.speed"] = 0 } })
  fails("noise or bias of 'x'", { bias = { "x" } })
  fails("'split': a part of the rows", { split = 0 })
  fails("a name that ends with .html", { report = "fit.pdf" })
  fails("no actuator 'pull'", { delays = { pull = 0.1 } })
  fails("observes nothing", { world = function() return sim.world {} end })
  fails("something of the script", { world = function(p)
    if getmetatable(p.mass) then error "something of the script" end
    return cart(p)
  end })
end)
