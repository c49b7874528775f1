-- Unknown names raise, in the libraries of `sim`, in laws and in environments.
local sim = require "sim2d"

local R = sim.random.split()
R:seed(9)

-- A name with one typing error.
local function misspelt(name)
  local i = R:integer(1, #name)
  local letter = R:choice { "q", "z", "x", "W", "7" }
  return R:choice {
    name:sub(1, i - 1) .. letter .. name:sub(i + 1), name:sub(1, i) .. letter .. name:sub(i + 1),
    name:sub(1, i - 1) .. name:sub(i + 1) .. "_", name:upper() }
end

-- Reads and writes of misspelt names raise with the kind of the object; some messages suggest the right name.
local function check(object, kind, names, assigned)
  local known, suggestions = {}, 0
  for _, name in ipairs(names) do known[name] = true end
  for _ = 1, 200 do
    local name = R:choice(names)
    local wrong = misspelt(name)
    if not known[wrong] and wrong ~= "" then
      local message = raises(("%s has no field '%s'"):format(kind, wrong):gsub("%p", "%%%0"), function() return object[wrong] end)
      if message:find("did you mean '", 1, true) then suggestions = suggestions + 1 end
      raises(assigned or ("%s has no field '%s'"):format(kind, wrong):gsub("%p", "%%%0"), function() object[wrong] = 1 end)
      ok(rawget(object, wrong) == nil)
    end
  end
  ok(suggestions > 20, "near names are offered")
  raises(kind:gsub("%p", "%%%0") .. " has no field", function() return object[1.5] end)
end

test("libraries", function()
  local libraries = 0
  for _, library in ipairs { "control", "env", "linalg", "lcp", "mlcp", "qp", "lp", "ncp", "kkt", "contact", "problem", "data",
    "parallel", "optimize", "plot" } do
    local names = {}
    if pcall(function() for name in pairs(sim[library]) do names[#names + 1] = name end end) then
      libraries = libraries + 1
      for _ = 1, 20 do
        local wrong = "no_" .. (names[1] and R:choice(names) or "such") .. "_q"
        raises("sim." .. library .. " has no field '?" .. wrong, function() return sim[library][wrong] end)
        raises("", function() sim[library][wrong] = 1 end)
      end
    end
  end
  ok(libraries >= 10)
  raises("sim.control has no field 'plaaner'; did you mean 'planner'", function() return sim.control.plaaner end)
  raises("sim.env has no field 'vectr'; did you mean 'vector'", function() return sim.env.vectr end)
  raises("sim.control has no field 'mine'", function() sim.control.mine = 1 end)
  eq(type(sim.control.pid), "function")
end)

local function cart_pole()
  local world = sim.world { dt = 0.01 }
  local cart = world:box { size = { 0.4, 0.2 }, mass = 1, mask = 0 }
  local pole = world:box { size = { 0.05, 0.5 }, mass = 0.2, position = { 0, 0.25 }, mask = 0 }
  local rail = world:slider { a = cart, anchor = { 0, 0 }, axis = { 1, 0 } }
  local hinge = world:hinge { a = pole, b = cart, anchor = { 0, 0 } }
  world:actuator { "push", joint = rail, kind = "force", range = { -10, 10 } }
  return world, rail, hinge
end

test("laws, costs, plans and the calls that run them", function()
  local world, rail, hinge = cart_pole()
  local function measure() return hinge.angle end
  local pid = sim.control.pid { kp = 3, measure = measure }
  check(pid, "Law", { "kp", "ki", "kd", "setpoint", "measure", "filter", "anti_windup", "state", "set_state", "reset", "copy" })
  eq({ pid.kp, pid.range, pid.actuator, pid.integral }, { 3 }) -- optional fields of a law are nil
  pid.kp, pid.range, pid.setpoint = 4, { -1, 1 }, 2
  eq({ pid.kp, pid.range[1] }, { 4, -1 })
  eq(pid:copy().kp, 4)
  raises("Law has no field 'Kp'; did you mean 'kp'", function() pid.Kp = 3 end)
  check(sim.control.low_pass(pid, 0.1), "Law", { "law", "time_constant", "state", "set_state", "reset", "copy" })
  local lqr = sim.control.lqr(world, { coordinates = { rail, hinge }, R = 0.1 })
  check(lqr, "Law", { "poles", "states", "period", "measure", "coordinates", "state", "set_state", "reset", "copy" })
  eq(lqr.gains, nil)
  check(sim.control.computed_torque { coordinates = { hinge }, reference = sim.control.reference { points = { 0, 1 }, times = { 0, 1 } } },
    "Law", { "coordinates", "reference", "state", "reset" })
  check(sim.control.reference { points = { 0, 1 }, times = { 0, 1 } }, "Reference", { "points", "times", "kind", "size" })
  check(sim.control.kalman({ { 1, 0.1 }, { 0, 1 } }, { { 1, 0 } }, 1, 1), "Observer", { "states", "outputs", "predict", "correct", "update" })
  local cost = sim.control.cost { { "pole", of = hinge, field = { "angle", "speed" } }, controls = 0.1 }
  check(cost, "Cost", { "terms", "controls", "names", "parts", "set_weight" })
  local plan = sim.control.trajectory(world, { cost = cost, horizon = 0.1, iterations = 2 })
  check(plan, "Plan", { "status", "iterations", "evaluations", "violation", "coordinates", "method" })
  check(plan:law(), "Law", { "measure", "period", "state", "reset" })
  local planner = sim.control.planner(world, { cost = cost, horizon = 0.1 })
  check(planner, "Law", { "misses", "decisions", "period", "state" })
  eq({ planner.cost, planner.result }, {})
  local loop = world:control(lqr)
  check(loop, "Control", { "period", "remove", "queue", "delay" })
  eq(loop.u, nil)
  world:step(3) -- all of it still runs
  ok(loop.u.push ~= nil)
  local clone, image = world:clone { callbacks = true }, world:snapshot()
  clone:step(2)
  world:restore(image)
end)

test("the result of a fit", function()
  local function build(p)
    local world = sim.world { dt = 0.01, gravity = { 0, 0 } }
    local block = world:box { size = { 0.1, 0.1 }, mass = p.mass, mask = 0 }
    world:actuator { "push", body = block, kind = "force", direction = { 1, 0 } }
    world:observe { "x", of = block, field = "x" }
    return world
  end
  local world, log = build { mass = 2 }, { t = {}, x = {}, push = {} }
  for i = 1, 30 do
    log.t[i], log.x[i], log.push[i] = 0.01 * (i - 1), world.bodies[1].x, math.sin(i)
    world:act { math.sin(i) }
    world:step()
  end
  local plain = sim.fit { world = build, data = log, parameters = { mass = 1.5 }, split = 1 }
  near(plain.parameters.mass, 2, 1e-3)
  check(plain, "Fit", { "parameters", "deviation", "confidence95", "correlation", "undetermined", "status", "rollouts", "iterations" })
  eq({ plain.test, plain.scale, plain.windows }, {}) -- optional fields of a fit are nil
  local whole = sim.fit { world = build, data = log, parameters = { mass = 1.5 }, split = 0.7, loss = "huber", scale = 2, windows = 0.1,
    start = function() end }
  ok(whole.test and whole.windows)
  near(whole.scale, 2)
  check(whole, "Fit", { "windows", "delays", "repeated", "missing", "message", "bias" })
  ok(tostring(whole):find "mass" and tostring(plain):find "iterations")
end)

test("laws that are tables of the script work", function()
  local world = cart_pole()
  local law = setmetatable({ calls = 0 }, { __call = function(self) self.calls = self.calls + 1 return { 0 } end })
  world:control(sim.control.low_pass(law, 0.1))
  world:control(law)
  world:step(3)
  world:restore(world:snapshot())
  world:clone { callbacks = true }:step()
  eq(law.calls, 8)
end)

test("environments and vectors of them", function()
  local env = sim.env { name = "cart", max_steps = 3, reward = 1,
    world = function()
      local world = sim.world { dt = 0.02, gravity = { 0, 0 } }
      local cart = world:box { name = "cart", size = { 1, 1 }, mask = 0 }
      world:actuator { "push", body = cart, kind = "force", direction = { 1, 0 }, range = { -2, 2 } }
      world:observe { "cart", of = cart, field = { "x", "vx" } }
      return world
    end }
  check(env, "Env", { "reset", "evaluate", "render", "world", "parameters", "max_steps", "period", "action_space", "name" })
  eq({ env.baseline, env.passed, env.doc }, {})
  env:reset { seed = 1 }
  local vector = sim.env.vector(env, { count = 2 })
  check(vector, "EnvVector", { "reset", "step", "observations", "terminated", "truncated", "final", "count", "envs" },
    "EnvVector has no field '.*' that can be assigned")
  eq(#vector.envs, 2)
end)

test("with autoreset = 'disabled' a vector refuses steps of ended episodes, and a batch continues them", function()
  for _ = 1, 20 do
    local n, most = R:integer(1, 4), R:integer(1, 4)
    local function world()
      local w = sim.world { dt = 0.02, gravity = { 0, 0 } }
      local cart = w:box { name = "cart", size = { 1, 1 }, mask = 0 }
      w:actuator { "push", body = cart, kind = "force", direction = { 1, 0 }, range = { -2, 2 } }
      w:observe { "cart", of = cart, field = { "x", "vx" } }
      return w
    end
    local vector = sim.env.vector(sim.env { name = "cart", max_steps = most, reward = 1, world = world },
      { count = n, autoreset = "disabled", threads = 1 })
    local batch = sim.batch(world, n, { max_steps = most, autoreset = "disabled", threads = 1 })
    local actions = {}
    for i = 1, n do actions[i] = { 1 } end
    local _, _, over = vector:reset { seed = 0 }, nil, nil
    for k = 1, most do
      _, _, _, over = vector:step(actions)
      eq(over[1], k == most and 1.0 or 0.0)
    end
    local kept = vector.observations:table()
    raises("the episode is over: reset first", vector.step, vector, actions)
    eq(vector.observations:table(), kept) -- nothing has changed
    vector:reset { seed = 1 }
    vector:step(actions)
    for k = 1, most + 3 do
      local _, _, _, truncated = batch:step(sim.array(actions))
      eq(truncated[n], k >= most and 1.0 or 0.0)
    end
  end
end)
