-- Laws: pid, lqr, place, kalman, references, filters; world:control.
local sim = require "sim2d"
local control = sim.control

local function mass(dt)
  local world = sim.world { gravity = { 0, 0 }, dt = dt or 0.01 }
  local cart = world:box { size = { 1, 1 }, mass = 2, name = "cart" }
  world:actuator { "push", body = cart, kind = "force", direction = { 1, 0 }, range = { -8, 8 } }
  world:observe { "x", of = cart, field = "x" }
  return world, cart
end

local function cart_pole()
  local world = sim.world { dt = 0.01 }
  local cart = world:box { size = { 0.4, 0.2 }, mass = 1, mask = 0 }
  local pole = world:box { size = { 0.05, 0.5 }, mass = 0.2, position = { 0, 0.25 }, mask = 0 }
  local rail = world:slider { a = cart, anchor = { 0, 0 }, axis = { 1, 0 }, name = "rail" }
  local hinge = world:hinge { a = pole, b = cart, anchor = { 0, 0 }, name = "hinge" }
  world:actuator { "push", body = cart, kind = "force", direction = { 1, 0 } }
  return world, rail, hinge, pole
end

-- The pole of largest modulus of A - B K.
local function slowest(A, B, K)
  local re, _, im = sim.linalg.eig(A - B:mm(K))
  local most = 0
  for i = 1, A.shape[1] do most = math.max(most, math.sqrt(re[i] ^ 2 + (im and im[i] or 0) ^ 2)) end
  return most
end

-- ---- PID -----------------------------------------------------------------------------------------

test("a pid without integral and derivative is a gain", function()
  local pid = control.pid { kp = 3, setpoint = 2, measure = function() return 0.5 end }
  eq(pid(nil, 0), { 4.5 })
  eq(pid(nil, 0.1), { 4.5 })
end)

test("the integral adds up the error, and the derivative uses the measurement", function()
  local y = 0
  local pid = control.pid { kp = 0, ki = 2, setpoint = 1, measure = function() return y end }
  eq(pid(nil, 0)[1], 0) -- no time has passed
  near(pid(nil, 0.5)[1], 1, 1e-15)
  near(pid(nil, 1)[1], 2, 1e-15)
  pid = control.pid { kd = 2, setpoint = 7, measure = function() return y end }
  eq(pid(nil, 0)[1], 0) -- no jump of the command with the setpoint
  y = 0.3
  near(pid(nil, 0.1)[1], -6, 1e-12)
  -- with a moving setpoint: of the error
  pid = control.pid { kd = 1, setpoint = function(t) return 5 * t end, measure = function() return 0 end }
  pid(nil, 0)
  near(pid(nil, 0.1)[1], 5, 1e-12)
end)

test("a filter smooths the derivative as a low pass does", function()
  local y = 0
  local pid = control.pid { kd = 1, filter = 0.3, measure = function() return y end }
  pid(nil, 0)
  local slope = 0
  for i = 1, 20 do
    y = 0.1 * i
    slope = slope + 0.1 / (0.3 + 0.1) * (1 - slope)
    near(pid(nil, 0.1 * i)[1], -slope, 1e-9)
  end
end)

test("two methods prevent windup of the integral", function()
  local wound_up -- overshoot without any countermeasure
  for _, way in ipairs { "none", "clamp", "back" } do
    local world, cart = mass()
    local pid = control.pid { kp = 8, ki = 4, kd = 8, setpoint = 30, measure = "x",
      range = way ~= "none" and { -8, 8 } or nil, anti_windup = way ~= "none" and way or nil }
    world:control(pid)
    local most = 0
    for _ = 1, 6000 do
      world:step()
      most = math.max(most, cart.x)
    end
    wound_up = wound_up or most - 30
    if way == "none" then goto done end
    near(cart.x, 30, 1e-3)
    ok(most - 30 < 0.5 * wound_up, way .. ": overshoots to " .. most)
    ::done::
  end
end)

test("gains have derivatives", function()
  local function cost(p)
    local world, cart = mass()
    world:control(control.pid { kp = p[1], ki = p[2], kd = p[3], setpoint = 0.2,
      measure = function() return cart.x end })
    world:step(40)
    return (cart.x - 0.2) ^ 2
  end
  ok(sim.check_grad(cost, { 4, 1, 3 }))
end)

-- ---- Linear --------------------------------------------------------------------------------------

test("lqr of a scalar system agrees with its closed form", function()
  -- p = q + a^2 p - (a p b)^2 / (r + b^2 p)
  local a, b, q, r = 1.2, 0.5, 2, 3
  local B2 = b * b
  local c1, c0 = r - a * a * r - B2 * q, -q * r
  local p = (-c1 + math.sqrt(c1 * c1 - 4 * B2 * c0)) / (2 * B2)
  local law = control.lqr({ { a } }, { b }, q, r)
  near(law.P[1][1], p, 1e-12)
  near(law.K[1][1], a * b * p / (r + B2 * p), 1e-12)
end)

test("a finite horizon ends in its weight and tends to the infinite horizon", function()
  local A, B = sim.array { { 1, 0.1 }, { 0, 1 } }, sim.array { { 0.005 }, { 0.1 } }
  local one = control.lqr(A, B, 1, 2, { horizon = 1, Qf = { { 3, 1 }, { 1, 4 } } })
  -- one step: K = (R + B'P B)^-1 B'P A
  local P = sim.array { { 3, 1 }, { 1, 4 } }
  local K = B:t():mm(P):mm(A) / (2 + B:t():mm(P):mm(B)[1][1])
  near((one.K - K):norm(), 0, 1e-15)
  local long, never = control.lqr(A, B, 1, 2, { horizon = 2000 }), control.lqr(A, B, 1, 2)
  near((long.K - never.K):norm(), 0, 1e-9)
end)

test("a cross term is a change of the input", function()
  local A, B = sim.array { { 1.1, 0.2 }, { 0, 0.9 } }, sim.array { { 0 }, { 1 } }
  local Q, R, N = sim.array { { 2, 0 }, { 0, 1 } }, sim.array { { 1 } }, sim.array { { 0.3 }, { -0.2 } }
  local law = control.lqr(A, B, Q, R, N)
  -- the Riccati equation with it
  local M = B:t():mm(law.P):mm(A) + N:t()
  local rest = Q + A:t():mm(law.P):mm(A) - M:t():mm(law.K) - law.P
  near(rest:norm(), 0, 1e-12)
  near((R + B:t():mm(law.P):mm(B)):mm(law.K)[1][1], M[1][1], 1e-12)
end)

test("a world's regulator brings it back", function()
  local world, rail, hinge, pole = cart_pole()
  local law = control.lqr(world, { coordinates = { rail, hinge }, Q = 1, R = 0.01 })
  eq(#law.poles, 4)
  ok(slowest(law.A, law.B, law.K) < 1)
  world:control(law)
  pole:apply_impulse { 0.1, 0 }
  world:run { duration = 15 }
  near(hinge.angle, 0, 1e-6)
  near(rail.translation, 0, 1e-3)
end)

test("place gives the poles that are asked for", function()
  local A, B = sim.array { { 1, 0.1 }, { 0, 1 } }, sim.array { { 0.005 }, { 0.1 } }
  local K = control.place(A, B, { 0.8, 0.7 })
  -- one input: by the coefficients of the polynomial
  near(K[1][1], 0.2 * 0.3 / 0.01, 1e-9)
  local equal = control.place(A, B, { 0.8, 0.8 })
  near(equal[1][1], 4, 1e-9)
  near(equal[1][2], 3.8, 1e-9)
  -- three states, two inputs, a pair
  A = sim.array { { 1, 0.2, 0 }, { 0, 1.1, 0.3 }, { 0.1, 0, 0.9 } }
  B = sim.array { { 1, 0 }, { 0, 1 }, { 1, 1 } }
  local re, _, im = sim.linalg.eig(A - B:mm(control.place(A, B, { { 0.5, 0.2 }, { 0.5, -0.2 }, 0.3 })))
  local seen = {}
  for i = 1, 3 do seen[i] = ("%.9f %.9f"):format(re[i], math.abs(im[i])) end
  table.sort(seen)
  eq(seen, { "0.300000000 0.000000000", "0.500000000 0.200000000", "0.500000000 0.200000000" })
end)

test("a kalman filter of a constant is the mean, and steady it obeys its equation", function()
  local A, C = sim.array { { 1, 0.1 }, { 0, 1 } }, sim.array { { 1, 0 } }
  local W, V = sim.array { { 1e-4, 0 }, { 0, 1e-3 } }, 0.01
  local filter = control.kalman(A, C, W, V, { 0.005, 0.1 })
  local P = filter.P
  local S = C:mm(P):mm(C:t())[1][1] + V
  local L = P:mm(C:t()) / S
  near((L - filter.L):norm(), 0, 1e-12)
  near((A:mm(P - L:mm(C):mm(P)):mm(A:t()) + W - P):norm(), 0, 1e-12)
  -- predict, correct
  filter.x = { 1, 2 }
  eq(filter:predict { 3 }, { 1 + 0.2 + 0.015, 2 + 0.3 })
  local x = filter.x[1]
  near(filter:correct(2)[1], x + L[1][1] * (2 - x), 1e-14)
end)

test("if no law exists, the mode is reported", function()
  raises("mode 2, mainly component 2 of x, does not decay and is not reached", control.lqr,
    sim.array { { 1, 0 }, { 0, 2 } }, { 1, 0 }, 1, 1)
  raises("mode 2, mainly component 2 of x, is not reached by the inputs and cannot be moved", control.place,
    sim.array { { 1, 0 }, { 0, 2 } }, { 1, 0 }, { 0.5, 0.5 })
  raises("is not seen by the measurements", control.kalman, sim.array { { 1, 1 }, { 0, 1 } }, { 0, 1 }, 1, 1)
  raises("R is not positive definite: its least eigenvalue is 0", control.lqr, { { 1 } }, { 1 }, 1, 0)
  raises("Q has a negative eigenvalue, %-1", control.lqr, { { 1 } }, { 1 }, -1, 1)
  raises("A: square matrix expected, got 1 x 2", control.lqr, { { 1, 2 } }, { 1 }, 1, 1)
  raises("B: 2 rows expected", control.lqr, sim.eye(2), { 1, 2, 3 }, 1, 1)
  raises("A: number 2 is not finite", control.lqr, sim.array { { 1, 0 }, { 0, 1 } } / sim.array { { 1, 0 }, { 1, 1 } },
    { 1, 0 }, 1, 1)
  raises("key 'horizon': a number of steps, at least 1", control.lqr, { { 1 } }, { 1 }, 1, 1, { horizon = 0 })
  raises("2 poles expected, got 1", control.place, sim.array { { 1, 1 }, { 0, 1 } }, { 0, 1 }, { 0.5 })
  raises("the conjugate of the pole", control.place, sim.array { { 1, 1 }, { 0, 1 } }, { 0, 1 }, { { 0.5, 0.1 }, 0.5 })
  raises("the filter has no B", function() control.kalman({ { 1 } }, { 1 }, 1, 1):predict { 1 } end)
  raises("the world has no actuators", control.lqr, sim.world {}, { Q = 1, R = 1 })
end)

-- ---- Around laws ---------------------------------------------------------------------------------

test("a low pass and a rate limit around a law", function()
  local slow = control.low_pass(function() return { 1 } end, 0.5)
  slow.own, slow.time = { 0 }, 0
  near(slow(nil, 0.5)[1], 1 - math.exp(-1), 1e-15)
  local held = control.rate_limit(function() return { a = 5 } end, 2)
  held.own, held.time = { a = 0 }, 0
  near(held(nil, 0.25).a, 0.5, 1e-15)
  near(held(nil, 10).a, 5, 1e-15)
  local copy = held:copy()
  copy(nil, 11)
  eq(held:state().time, 10)
  held:set_state { own = { a = 1 }, time = 3 }
  eq(held:state(), { own = { a = 1 }, time = 3 })
end)

test("references of three kinds", function()
  local function at(kind, t) return control.reference { points = { 0, 2, 1 }, times = { 0, 1, 3 }, kind = kind }:at(t) end
  eq({ at("linear", 0.5) }, { 1, 2, 0 })
  eq({ at("linear", 4) }, { 1, 0, 0 })
  local p, v, a = at("minimum_jerk", 0.5)
  near(p, 1, 1e-15)
  near(v, 2 * 1.875, 1e-12)
  near(a, 0, 1e-12)
  -- a natural cubic spline has a continuous slope and curvature at its points, and no curvature at the ends
  for _, t in ipairs { 0, 1, 3 } do
    local spline = control.reference { points = { 0, 2, 1 }, times = { 0, 1, 3 }, kind = "cubic" }
    near((spline:at(t)), t == 0 and 0 or t == 1 and 2 or 1, 1e-14)
  end
  local _, before, bend = at("cubic", 1 - 1e-9)
  local _, behind, bend2 = at("cubic", 1 + 1e-9)
  near(before, behind, 1e-7)
  near(bend, bend2, 1e-7)
  near(select(3, at("cubic", 0)), 0, 1e-14)
  local path = control.reference { points = { { 0, 0 }, { 1, 2 } }, times = { 0, 2 } }
  eq(path(1), { 0.5, 1 })
end)

-- ---- world:control -------------------------------------------------------------------------------

test("a law runs at its own rate and acts in the step it is asked in", function()
  local world, cart = mass()
  local times = {}
  local handle = world:control(function(_, t)
    times[#times + 1] = t
    return { 2 }
  end, { period = 0.03 })
  world:step()
  near(cart.vx, 2 / 2 * 0.01, 1e-15)
  world:step(9)
  eq(#times, 4)
  near(times[4], 0.09, 1e-12)
  handle:remove()
  world:step(10)
  eq(#times, 4)
end)

test("a delay holds commands back", function()
  local world, cart = mass()
  world:control(function() return { 2 } end, { delay = 0.05 })
  world:step(5)
  eq(cart.vx, 0.0)
  world:step()
  near(cart.vx, 0.01, 1e-15)
end)

test("memory of laws is part of snapshots, and of clones with callbacks", function()
  local world, cart = mass()
  world:control(control.pid { kp = 3, ki = 2, kd = 1, setpoint = 1, measure = "x" }, { period = 0.02, delay = 0.03 })
  world:step(35)
  local image, copy = world:snapshot(), nil
  world:step(40)
  local x = cart.x
  world:restore(image)
  world:step(40)
  eq(cart.x, x)
  world:restore(image)
  copy = world:clone { callbacks = true }
  world:step(10)
  copy:step(40)
  eq(copy.bodies.cart.x, x)
  world:step(30)
  eq(cart.x, x)
end)

test("bad laws and options", function()
  local world = mass()
  raises("a law, law%(world, t%) %-> u, expected, got 3", world.control, world, 3)
  raises("unknown key 'perod'; did you mean 'period'", world.control, world, function() end, { perod = 1 })
  raises("key 'delay': a number of seconds not below 0", world.control, world, function() end, { delay = -1 })
  local handle = world:control(function() end)
  raises("the law returned no value", world.step, world)
  handle:remove()
  handle = world:control(function() return { 1, 2 } end)
  raises("1 values expected, one per actuator, got 2", world.step, world)
  handle:remove()
  world:control(function() error "no idea" end)
  raises("no idea", world.step, world)
  eq(world.time, 0.0)
  for message, keys in pairs {
    ["key 'kp': a finite number expected, got 'x'"] = { kp = "x" },
    ["unknown key 'kq'; did you mean 'k"] = { kq = 1 },
    ["key 'range': {lo, hi} with lo <= hi"] = { range = { 2, 1 } },
    ["key 'range': {lo, hi}, two values without names"] = { range = { lo = 1, hi = 2 } },
    ["key 'anti_windup': 'clamp' or 'back'"] = { anti_windup = "no" },
    ["key 'measure': the name of an observation"] = { measure = 3 },
    ["key 'filter': a number of at least 0"] = { filter = -1 },
  } do raises(message, control.pid, keys) end
  raises("key 'range': {lo, hi} expected, two values without names, got key 'min'", world.actuator, world,
    { "named", body = world.bodies[1], kind = "torque", range = { min = -1 } })
  raises("key 'times': 2 times expected", control.reference, { points = { 1, 2 }, times = { 1 } })
  raises("key 'times%[2%]': a time later", control.reference, { points = { 1, 2 }, times = { 1, 1 } })
end)

-- ---- Regulators of a sampling period --------------------------------------------------------------

local G = sim.random.split()
G:seed(8)

local function cart_pole(delay, dt)
  local world = sim.world { dt = dt or 0.01 }
  local cart = world:box { size = { 0.4, 0.2 }, mass = G:uniform(0.5, 3), mask = 0 }
  local pole = world:box { size = { 0.05, 0.5 }, mass = G:uniform(0.1, 0.5), position = { 0, 0.25 }, mask = 0 }
  local rail = world:slider { a = cart, anchor = { 0, 0 }, axis = { 1, 0 } }
  local hinge = world:hinge { a = pole, b = cart, anchor = { 0, 0 } }
  world:actuator { "push", joint = rail, kind = "force", delay = delay }
  return world, rail, hinge, pole
end

-- The warnings that a function prints.
local function warnings_of(text)
  local out = os.tmpname()
  local file <close> = assert(io.open(out, "w"))
  file:write(text)
  file:close()
  local pipe = io.popen(("'%s' '%s' 2>&1"):format(os.getenv "S2_SIM2D", out))
  local told = pipe:read "a"
  pipe:close()
  os.remove(out)
  return told, select(2, told:gsub("was designed for commands that hold for", ""))
end

test("a regulator with a period is designed for A^n and the sum of A^k B, and works at this period", function()
  for _ = 1, 60 do
    local steps = G:integer(1, 15)
    local world, rail, hinge, pole = cart_pole()
    local R = 10 ^ G:uniform(-4, 0)
    local law = sim.control.lqr(world, { coordinates = { rail, hinge }, R = R, period = steps * 0.01 })
    local A, B = world:linearize { inputs = { { joint = rail, force = 1 } }, coordinates = { rail, hinge } }
    local An, Bn = sim.eye(4), sim.zeros(4, 1)
    for _ = 1, steps do Bn = A:mm(Bn) + B An = A:mm(An) end
    near(law.A:table(), An:table(), 1e-9)
    near(law.B:table(), Bn:table(), 1e-9)
    local K = sim.control.lqr(An, Bn, 1, R).K
    ok(sim.stop_gradient(law.K - K):norm() < 1e-6 * K:norm())
    near(law.period, steps * 0.01, 1e-12)
    for _, p in ipairs(law.poles) do
      local re, im = p, 0
      if type(p) == "table" then re, im = p[1], p[2] end
      ok(re * re + im * im < 1)
    end
    world:control(law, { period = steps * 0.01 })
    pole:apply_impulse { 0.005, 0 }
    world:run { duration = 20 }
    ok(math.abs(hinge.angle) < 1e-3 and math.abs(rail.translation) < 0.02, ("%d steps: %g %g"):format(steps, hinge.angle, rail.translation))
  end
end)

test("delays of actuators are part of the design", function()
  for _ = 1, 60 do
    local steps, late = G:integer(1, 8), G:integer(1, 12)
    local world, rail, hinge, pole = cart_pole(late * 0.01 - G:choice { 0, 0.003 })
    local law = sim.control.lqr(world, { coordinates = { rail, hinge }, R = 0.01, period = steps * 0.01 })
    local pending = math.ceil(late / steps)
    eq(law.K.shape, { 1, 4 + pending })
    -- the system predicts the motion of the world, with commands computed at the start of each period
    local clone = world:clone()
    local twin_rail, twin_hinge = clone.joints[1], clone.joints[2]
    local x = sim.zeros(4 + pending)
    for _ = 1, 6 do
      local u = G:uniform(-1e-3, 1e-3)
      clone:act { u }
      clone:step(steps)
      x = law.A:mm(x) + law.B:reshape(4 + pending) * u
      near({ twin_rail.translation, twin_hinge.angle, twin_rail.speed, twin_hinge.speed }, { x[1], x[2], x[3], x[4] }, 2e-5)
    end
    world:control(law, { period = steps * 0.01 })
    pole:apply_impulse { 0.002, 0 }
    world:run { duration = 0.3 }
    local image = world:snapshot()
    world:run { duration = 0.5 }
    local state = world:state()
    world:restore(image)
    world:run { duration = 0.5 }
    eq(world:state(), state)
    world:run { duration = 25 }
    ok(math.abs(hinge.angle) < 1e-3 and math.abs(rail.translation) < 0.02, ("%d, %d: %g"):format(steps, late, hinge.angle))
  end
end)

test("several inputs with delays of their own", function()
  for _ = 1, 40 do
    local world = sim.world { dt = 0.01, gravity = { 0, 0 } }
    local steps, late, rails = G:integer(1, 5), { G:integer(0, 9), G:integer(0, 9) }, {}
    for i = 1, 2 do
      local cart = world:box { size = { 1, 1 }, mass = G:uniform(0.5, 2), mask = 0 }
      rails[i] = world:slider { cart, anchor = { 0, 0 }, axis = { 1, 0 } }
    end
    world:actuator { "one", joint = rails[1], kind = "force", delay = late[1] * 0.01, range = { -2, 1 } }
    world:actuator { "two", joint = rails[2], kind = "force", delay = late[2] * 0.01 }
    local law = sim.control.lqr(world, { coordinates = rails, R = { 0.1, 1 }, period = steps * 0.01 })
    local size = 4 + math.ceil(late[1] / steps) + math.ceil(late[2] / steps)
    eq({ law.A.shape, law.B.shape }, { { size, size }, { size, 2 } })
    local twin, x = world:clone(), sim.array(law.x0)
    for _ = 1, 8 do
      local u = sim.array { G:uniform(-1, 1), G:uniform(-1, 1) }
      twin:act { u[1], u[2] }
      twin:step(steps)
      x = law.A:mm(x) + law.B:mm(u)
      local seen = {}
      for i = 1, 2 do seen[i], seen[2 + i] = twin.joints[i].translation, twin.joints[i].speed end
      near(seen, { x[1], x[2], x[3], x[4] }, 1e-6)
    end
    -- a clipped command is remembered as clipped: the law's commands follow from its gain and the commands that act
    world:control(law, { period = steps * 0.01 })
    rails[1].translation, rails[2].translation = 3, -1
    world:run { duration = 40 }
    ok(math.abs(rails[1].translation) < 0.01 and math.abs(rails[2].translation) < 0.01)
  end
end)

test("a law that runs at another period than its own causes one warning", function()
  local text = [[
local sim = require "sim2d"
local world = sim.world { dt = %s }
local cart = world:box { size = { 0.4, 0.2 }, mass = 1, mask = 0 }
local rail = world:slider { a = cart, anchor = { 0, 0 }, axis = { 1, 0 } }
world:actuator { "push", joint = rail, kind = "force" }
local law = sim.control.lqr(world, { coordinates = { rail }, period = %s })
%s
world:control(law, { period = %s, log = false })
world:step(20)
%s
world:step(20)
]]
  for _, case in ipairs { { 0.01, "nil", "", "nil", "", 0 }, { 0.01, 0.05, "", 0.05, "", 0 }, { 0.01, 0.05, "", "nil", "", 1 },
    { 0.01, "nil", "", 0.05, "", 1 }, { 0.01, 0.05, "law = sim.control.low_pass(law, 0.1)", 0.1, "", 1 },
    { 0.01, "nil", "", "nil", "world.dt = 0.02", 1 }, { 0.01, 0.02, "", "nil", "world.dt = 0.02", 1 },
    { 0.01, 0.04, "", 0.04, "world.dt = 0.02", 0 }, { 0.01, 0.01, "", 0.01, "world.dt = 0.02", 1 },
    { 0.02, 0.02, "world.dt = 0.01", 0.02, "", 0 }, { 0.02, "nil", "law = sim.control.rate_limit(law, 5)", "nil", "", 0 },
    { 0.01, "nil", "law = sim.control.pid { kp = 1, measure = function() return 0 end }", 0.05, "", 0 } } do
    local told, count = warnings_of(text:format(table.unpack(case, 1, 5)))
    eq(count, case[6], told)
  end
  local told = warnings_of(text:format(0.01, "nil", "", 0.05, ""))
  ok(told:find("world:control: Law (lqr) was designed for commands that hold for 0.01 s, but it runs every 0.05 s: design it for this period "
    .. "(sim.control.lqr(world, { period = 0.05 })), or run it with world:control(law, { period = 0.01 })", 1, true), told)
end)

test("invalid periods of a regulator", function()
  local world, rail, hinge = cart_pole()
  for _, period in ipairs { 0, -0.01, 0.015, math.huge, "0.1" } do
    raises("key 'period': a multiple of the world's dt %(0.01 s%) expected", sim.control.lqr, world,
      { coordinates = { rail, hinge }, period = period })
  end
end)
