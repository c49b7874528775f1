-- sim.optimize: known minima and fits, functions that fail, misuse.
local sim = require "sim2d"
local minimize, least_squares = sim.optimize.minimize, sim.optimize.least_squares

local function filled(n, value)
  local list = {}
  for i = 1, n do list[i] = type(value) == "function" and value(i) or value end
  return list
end

local function rosenbrock(p)
  local sum = 0
  for i = 1, #p - 1 do sum = sum + 100 * (p[i + 1] - p[i] ^ 2) ^ 2 + (1 - p[i]) ^ 2 end
  return sum
end

local function alternate(i) return i % 2 == 1 and -1.2 or 1 end

local function beale(p)
  local x, y = p.x, p.y
  return (1.5 - x + x * y) ^ 2 + (2.25 - x + x * y ^ 2) ^ 2 + (2.625 - x + x * y ^ 3) ^ 2
end

local function powell(p)
  local a, b, c, d = table.unpack(p)
  return (a + 10 * b) ^ 2 + 5 * (c - d) ^ 2 + (b - 2 * c) ^ 4 + 10 * (a - d) ^ 4
end

local function quadratic(n, condition) -- minimum 0 at 1, 1, ...
  return function(p)
    local sum = 0
    for i = 1, n do sum = sum + condition ^ ((i - 1) / (n - 1)) * (p[i] - 1) ^ 2 end
    return sum
  end
end

local function found(p, want, tolerance, value, info, message)
  near(p, want, tolerance)
  eq(info.status, "converged", message)
  ok(value <= 1e-10, message)
  ok(info.iterations > 0 and info.evaluations > info.iterations, message)
end

-- ---- L-BFGS ---------------------------------------------------------------------------------------

test("lbfgs: Rosenbrock in 2 and 10 dimensions, Beale", function()
  local p, value, info = minimize(rosenbrock, { -1.2, 1 })
  found(p, { 1, 1 }, 1e-8, value, info)
  ok(info.evaluations <= 60 and info.gradient_norm <= 1e-8)
  p, value, info = minimize(rosenbrock, filled(10, alternate))
  found(p, filled(10, 1), 1e-8, value, info)
  ok(info.evaluations <= 150)
  p, value, info = minimize(beale, { x = 1, y = 1 })
  found({ p.x, p.y }, { 3, 0.5 }, 1e-8, value, info)
  ok(info.evaluations <= 30)
end)

test("lbfgs: Powell's singular function, whose Hessian is singular at the minimum", function()
  local p, value, info = minimize(powell, { 3, -1, 0, 1 })
  found(p, { 0, 0, 0, 0 }, 1e-3, value, info) -- the value grows with the fourth power
end)

test("lbfgs: quadratics of condition 1e6", function()
  for n = 2, 20, 6 do
    local p, value, info = minimize(quadratic(n, 1e6), filled(n, 0))
    found(p, filled(n, 1), 1e-6, value, info, n)
  end
end)

test("lbfgs: parameters of very different scales", function()
  local function f(p) return (p.large / 1e6 - 1) ^ 2 + (p.small * 1e6 - 1) ^ 2 + 3 end
  local p, value, info = minimize(f, { large = 0, small = 0 })
  ok(math.abs(p.large / 1e6 - 1) < 1e-4 and math.abs(p.small * 1e6 - 1) < 1e-6, info.message)
  near(value, 3, 1e-8)
end)

test("lbfgs: rounding ends it, not the iterations", function()
  for _, offset in ipairs { 1e8, 1e12 } do -- where values differ by 1e-8, accurate to 1e-4 at best
    local p, _, info = minimize(function(p) return offset + rosenbrock(p) end, { -1.2, 1 },
      { tolerance = 0 })
    near(p, { 1, 1 }, 1e-4)
    ok(info.iterations < 100, info.status)
  end
end)

test("lbfgs: a kink stops it where it cannot continue", function()
  local p, value, info = minimize(function(p) return sim.abs(p[1] - 1) + (p[2] - 2) ^ 2 end, { 5, 5 })
  near(p, { 1, 2 }, 1e-4)
  ok(value < 1e-4)
  ok(info.status == "stalled" or info.status == "converged", info.status)
end)

-- ---- Bounds ---------------------------------------------------------------------------------------

test("bounds: all methods end at them, and never leave them", function()
  local function within(p)
    ok(p[1] <= 0.5 and p[2] >= 0.1)
    return rosenbrock(p)
  end
  for _, method in ipairs { "lbfgs", "adam", "sgd", "rmsprop", "nelder-mead" } do
    local rates = { sgd = 1e-3, adam = 0.01, rmsprop = 1e-3 }
    local p, value, info = minimize(within, { 0, 1 }, { method = method, upper = { 0.5 },
      lower = { [2] = 0.1 }, learning_rate = rates[method], max_iterations = 20000 })
    near(p, { 0.5, 0.25 }, method == "rmsprop" and 1e-3 or 1e-6)
    near(value, 0.25, method == "rmsprop" and 1e-3 or 1e-7)
    ok(method == "rmsprop" or info.status == "converged", method)
  end
end)

test("bounds: a quadratic whose minimum lies in a corner, on a face, inside", function()
  local function f(p) return (p.a - 2 * p.b) ^ 2 + (p.b + p.c.x) ^ 2 + (p.c.x - 3) ^ 2 end
  local function solve(lower, upper)
    local p, _, info = minimize(f, { a = 0, b = 0, c = { x = 0 } }, { lower = lower, upper = upper })
    eq(info.status, "converged")
    return { p.a, p.b, p.c.x }
  end
  near(solve(-10, 10), { -6, -3, 3 }, 1e-7)
  near(solve(0, nil), { 0, 0, 1.5 }, 1e-7)
  near(solve({ c = { x = 4 } }, { c = 4 }), { -8, -4, 4 }, 1e-6)
  near(solve(1, 2), { 2, 1, 1 }, 1e-7)
end)

test("bounds: a function without curvature goes to its bound at once", function()
  local x, value, info = minimize(function(x) return 1e-3 * x end, 3, { lower = -200 })
  eq({ x, value, info.status }, { -200.0, -0.2, "converged" })
  ok(info.evaluations < 20)
  local p
  p, _, info = minimize(function(q) return q[1] ^ 2 + q[2] end, { 3, 4 }, { lower = { 3 }, upper = 3 })
  eq({ p[1], info.status }, { 3.0, "stalled" }) -- the other parameter has no end
end)

test("losses and parameters in tiny units", function()
  local function f(p) return 1e-12 * ((p[1] * 1e6 - 1) ^ 2 + (p[2] * 1e6 + 2) ^ 2) end
  for _, method in ipairs { "lbfgs", "nelder-mead" } do
    local p, _, info = minimize(f, { 3e-6, 1e-6 }, { method = method })
    near({ p[1] * 1e6, p[2] * 1e6 }, { 1, -2 }, 1e-4)
    eq(info.status, "converged", method)
  end
end)

-- ---- First order ----------------------------------------------------------------------------------

test("adam, sgd, rmsprop find the minimum of a quadratic", function()
  for method, rate in pairs { adam = 0.05, sgd = 0.1, rmsprop = 1e-3 } do
    local p, _, info = minimize(quadratic(3, 10), { 0, 0, 0 },
      { method = method, learning_rate = method == "sgd" and 0.05 or rate, max_iterations = 5000 })
    near(p, { 1, 1, 1 }, method == "rmsprop" and 1e-2 or 1e-8)
    ok(method == "rmsprop" or info.status == "converged", method)
  end
end)

test("sgd follows its formulas: plain, with momentum, with Nesterov's", function()
  local function f(p) return p ^ 2 / 2 end
  local options = { method = "sgd", learning_rate = 0.1, max_iterations = 2, keep = "last" }
  near(minimize(f, 1, options), 0.9 ^ 2, 1e-15)
  options.momentum = 0.5 -- v = 1, x = 0.9; v = 0.5 + 0.9
  near(minimize(f, 1, options), 0.9 - 0.14, 1e-15)
  options.nesterov = true -- v = 1, step 1.5, x = 0.85; v = 1.35, step 0.85 + 0.675
  near(minimize(f, 1, options), 0.85 - 0.1 * 1.525, 1e-15)
end)

test("adam's first steps have the length of the rate, rmsprop's ten times that", function()
  local function f(p) return 1000 * p ^ 2 end
  local function first(method)
    return 1 - minimize(f, 1, { method = method, learning_rate = 0.01, max_iterations = 1 })
  end
  near(first "adam", 0.01, 1e-9)
  near(first "rmsprop", 0.1, 1e-9) -- 1 / sqrt(1 - decay)
end)

test("learning rates that change, gradients that are cut", function()
  local rates = {}
  local p = minimize(function(x) return 1e6 * x end, 0, { method = "sgd", clip = 1, max_iterations = 3,
    learning_rate = function(k)
      rates[#rates + 1] = k
      return 1 / 2 ^ k
    end })
  eq(rates, { 1, 2, 3 })
  near(p, -0.875, 1e-15)
  raises("learning_rate has to return a positive number; it returned %-1", minimize, rosenbrock,
    { 1, 2 }, { method = "sgd", learning_rate = function() return -1 end })
end)

test("the best point is kept, or the last", function()
  local function f(x) return sim.abs(x) end
  local options = { method = "sgd", learning_rate = 0.75, max_iterations = 2 }
  near(minimize(f, 1, options), 0.25, 0) -- 1, 0.25, -0.5
  options.keep = "last"
  near(minimize(f, 1, options), -0.5, 0)
end)

test("noisy functions", function()
  local random = sim.random.split()
  local function f(p)
    return (p[1] - 1) ^ 2 + (p[2] + 2) ^ 2 + 0.1 * random:normal() * (p[1] + p[2])
  end
  local p = minimize(f, { 0, 0 }, { method = "adam", learning_rate = function(k) return 1 / (10 + k) end,
    max_iterations = 2000, keep = "last" })
  near(p, { 1, -2 }, 0.05)
  local _, _, info = minimize(f, { 0, 0 }) -- ends, whatever it finds
  ok(info.status == "stalled" or info.status == "max_iterations" or info.status == "converged")
end)

-- ---- Nelder-Mead ----------------------------------------------------------------------------------

test("nelder-mead: smooth and not smooth", function()
  local p, value, info = minimize(rosenbrock, { -1.2, 1 }, { method = "nelder-mead" })
  found(p, { 1, 1 }, 1e-7, value, info)
  eq(info.gradient_norm, nil)
  local function f(x) return math.abs(x.a - 1) + 3 * math.abs(x.b + 2) + math.max(0, x.a * x.b) end
  p = minimize(f, { a = 4, b = 3 }, { method = "nelder-mead" })
  near({ p.a, p.b }, { 1, -2 }, 1e-7)
  p = minimize(function(x) return math.abs(x - 0.3) end, 0, { method = "nelder-mead" })
  near(p, 0.3, 1e-7)
  p, _, info = minimize(quadratic(8, 100), filled(8, 0), { method = "nelder-mead" })
  near(p, filled(8, 1), 1e-5)
end)

test("nelder-mead: fresh simplexes get away from where one collapsed", function()
  local function f(p) return math.abs(p[1] - 2 * p[2]) * 100 + (p[1] - 1) ^ 2 end
  local _, once = minimize(f, { 5, 0 }, { method = "nelder-mead", restarts = 0 })
  local _, again, info = minimize(f, { 5, 0 }, { method = "nelder-mead", restarts = 20 })
  ok(again <= once and again < 1e-6, ("%g, then %g"):format(once, again))
  eq(info.status, "converged")
end)

test("nelder-mead: size of the first simplex", function()
  local seen = {}
  minimize(function(p)
    seen[#seen + 1] = { p.a, p.b[1], p.b[2] }
    return p.a ^ 2 + p.b[1] ^ 2 + p.b[2] ^ 2
  end, { a = 2, b = { 0, -1 } }, { method = "nelder-mead", max_iterations = 1,
    initial_step = { b = 0.5 } })
  near(seen[2], { 2.1, 0, -1 }, 1e-15)
  near(seen[3], { 2, 0.5, -1 }, 1e-15)
  near(seen[4], { 2, 0, -0.5 }, 1e-15)
end)

-- ---- Parameters, custom gradients, callbacks ------------------------------------------------------

test("nested tables, arrays, vectors; other values are passed on", function()
  local body = sim.world {}:circle { radius = 1, position = { 1, 2 } }
  local p0 = { k = 1, name = "arm", W = sim.ones(2, 3), links = { { m = 2 }, { m = 3, v = { 1, 1 } } },
    at = body.position }
  local function f(p)
    ok(p.name == "arm")
    local target = sim.array { { 1, 2, 3 }, { 4, 5, 6 } }
    local off = p.W - target
    return (off * off):sum() + (p.k - 3) ^ 2 + (p.links[1].m - 4) ^ 2 + (p.links[2].v[2] - 5) ^ 2
      + (p.at.x - 7) ^ 2
  end
  local p, value = minimize(f, p0)
  ok(value < 1e-12)
  near(p.W:table(), { { 1, 2, 3 }, { 4, 5, 6 } }, 1e-6)
  near({ p.k, p.links[1].m, p.links[2].m, p.links[2].v[1], p.links[2].v[2], p.at.x, p.at.y },
    { 3, 4, 3, 1, 5, 7, 2 }, 1e-6)
  eq(p.name, "arm")
  eq({ p0.k, p0.links[1].m, p0.W[{ 1, 2 }] }, { 1, 2, 1.0 })
  near(minimize(function(x) return (x - 2) ^ 2 end, 0), 2, 1e-8)
end)

test("a gradient that the user gives", function()
  local function f(p)
    ok(type(p.x) == "number" and type(p.y[1]) == "number")
    return (p.x - 1) ^ 2 + 10 * (p.y[1] + 2) ^ 2, { x = 2 * (p.x - 1), y = { 20 * (p.y[1] + 2) } }
  end
  for _, method in ipairs { "lbfgs", "adam" } do
    local p = minimize(f, { x = 0, y = { 0 } }, { gradient = true, method = method,
      learning_rate = method == "adam" and 0.05 or nil, max_iterations = 3000 })
    near({ p.x, p.y[1] }, { 1, -2 }, 1e-7)
  end
  local function with(g)
    return function() return minimize(function() return 1, g end, { a = 1, W = sim.ones(2, 2) },
      { gradient = true }) end
  end
  raises("minimize: gradient: p: table expected, got nil", with(nil))
  raises("gradient: p.a: number expected, got nil", with { W = sim.ones(2, 2) })
  raises("gradient: p.W: array of shape 2 x 2 expected, got 4", with { a = 1, W = { 1, 2, 3, 4 } })
  raises("gradient: p.W: array expected, got 3", with { a = 1, W = 3 })
  local _, _, info = minimize(function(x) return x ^ 2, -2 * x end, 1, { gradient = true })
  eq(info.status, "stalled")
  ok(info.message:find "wrong gradient")
end)

test("callbacks see each iteration and stop the run; history", function()
  local seen = {}
  local p, value, info = minimize(rosenbrock, { -1.2, 1 }, { history = true,
    callback = function(q, v, state)
      seen[#seen + 1] = { state.iteration, v, rosenbrock(q) }
      q[1] = 100 -- a copy
      return #seen == 5
    end })
  eq(info.status, "stopped")
  eq({ #seen, info.iterations, #info.history }, { 5, 5, 5 })
  for i, entry in ipairs(seen) do
    eq(entry[1], i)
    eq(entry[2], entry[3])
    eq(info.history[i].value, entry[2])
    ok(i == 1 or entry[2] <= seen[i - 1][2])
  end
  eq(rosenbrock(p), value)
  for _, method in ipairs { "adam", "nelder-mead" } do
    local _, _, stopped = minimize(rosenbrock, { -1.2, 1 },
      { method = method, callback = function() return true end })
    eq({ stopped.status, stopped.iterations, stopped.history }, { "stopped", 1 })
  end
  raises("test_optimize.lua:%d+: in the callback", minimize, rosenbrock, { 0, 0 },
    { callback = function() error "in the callback" end })
end)

test("the iterations can be limited", function()
  for _, method in ipairs { "lbfgs", "adam", "sgd", "rmsprop", "nelder-mead" } do
    local _, _, info = minimize(rosenbrock, { -1.2, 1 },
      { method = method, max_iterations = 3, learning_rate = ({ sgd = 1e-4 })[method] })
    eq({ info.status, info.iterations }, { "max_iterations", 3 })
  end
end)

test("the same run gives the same bits", function()
  for _, method in ipairs { "lbfgs", "adam", "nelder-mead" } do
    local function run() return { minimize(beale, { x = 1, y = 1 }, { method = method, history = true }) } end
    local first = run()
    eq(run(), first)
  end
  local function fit(p) return { p.x - 1, p.y ^ 2, p.x * p.y - 3 } end
  eq({ least_squares(fit, { x = 5, y = 2 })[1] }, { least_squares(fit, { x = 5, y = 2 })[1] })
end)

test("random smooth functions with many minima: every run ends at a stationary point", function()
  local random = sim.random.split()
  for k = 1, 60 do
    local n, m = 1 + k % 4, 1 + k % 4 + k % 6
    local A, p0 = {}, {}
    for i = 1, m do
      A[i] = {}
      for j = 1, n do A[i][j] = random:normal() end
    end
    for j = 1, n do p0[j] = 3 * random:normal() end
    local function residuals(p)
      local r = {}
      for i = 1, m do
        r[i] = 0.1 * A[i][1 + (i + k) % n] * p[1 + i % n] ^ 2 - A[i][1]
        for j = 1, n do r[i] = r[i] + A[i][j] * sim.sin(p[j]) end
      end
      return r
    end
    local function squares(p)
      local sum = 0
      for _, r in ipairs(residuals(p)) do sum = sum + r ^ 2 end
      return sum
    end
    local p, value, info = minimize(squares, p0)
    eq(info.status, "converged", k)
    eq(squares(p), value)
    near(sim.grad(squares, p), filled(n, 0), 1e-6)
    p, value, info = least_squares(residuals, p0, { max_iterations = 1000 })
    eq(info.status, "converged", k)
    near(squares(p), value, 1e-12)
    near(sim.grad(squares, p), filled(n, 0), 1e-5)
  end
end)

-- ---- Functions that fail --------------------------------------------------------------------------

test("where the function is not finite steps are shortened", function()
  local function f(x) return x - sim.log(x) end -- nan for x < 0; minimum at 1
  for _, start in ipairs { 1e-3, 3, 50 } do
    local x, value, info = minimize(f, start)
    near({ x, value }, { 1, 1 }, 1e-7)
    eq(info.status, "converged")
  end
  local function wall(p) return p[1] > 0.4 and 1 / 0 or (p[1] - 1) ^ 2 + p[2] ^ 2 end
  for _, method in ipairs { "lbfgs", "adam", "nelder-mead" } do
    local p, value, info = minimize(wall, { 0, 1 }, { method = method })
    -- the gradient leads into the wall: lbfgs and adam end where they reach it
    ok(p[1] <= 0.4 and value < (method == "nelder-mead" and 0.4 or 0.8), method .. " " .. value)
    ok(info.status ~= "max_iterations" or method == "adam")
  end
  local x = minimize(function(x) return (sim.sqrt(x) - 0.5) ^ 2 end, 4) -- derivative inf at 0
  near(x, 0.25, 1e-6)
end)

test("functions without a lower bound end", function()
  for _, method in ipairs { "lbfgs", "adam", "nelder-mead" } do
    local _, value, info = minimize(function(x) return x ^ 3 end, -1, { method = method })
    ok(value < -1 and value > -math.huge, method)
    ok(info.status ~= "converged", method)
  end
end)

test("a start that is not finite raises", function()
  raises("the value is nan at the start; it has to be finite", minimize,
    function(x) return x * (0 / 0) end, 1)
  raises("the derivative with respect to p.a is inf at the start", minimize,
    function(p) return sim.sqrt(p.a) end, { a = 0 })
  raises("value of the function at the start is not finite", minimize, function() return -1 / 0 end, 1,
    { method = "nelder-mead" })
  raises("p.a%[2%] is nan: parameters have to be finite", minimize, print, { a = { 1, 0 / 0 } })
  raises("the sum of squares is inf at the start", least_squares,
    function(x) return { 1e200 * x } end, 1)
  raises("residual 2 is inf at the start", least_squares, function() return { 1, 1 / 0 } end, 1)
end)

test("errors of the function are passed on", function()
  local function boom() error "my own" end
  for _, method in ipairs { "lbfgs", "nelder-mead" } do
    raises("^.*test_optimize.lua:%d+: my own", minimize, boom, 1, { method = method })
  end
  raises("^.*test_optimize.lua:%d+: my own", least_squares, boom, 1)
  local object = {}
  local _, caught = pcall(minimize, function() error(object) end, 1)
  ok(rawequal(caught, object))
  near(minimize(function(x) return x ^ 2 end, 1), 0, 1e-8)
end)

test("a function that ignores its parameters is reported", function()
  local _, _, info = minimize(function() return 3 end, { 1, 2 })
  ok(info.message:find "all derivatives are 0 at the start", info.message)
  _, _, info = least_squares(function(p) return { sim.stop_gradient(p[1]) - 3 } end, { 1 })
  ok(info.message:find "all derivatives are 0 at the start", info.message)
end)

test("a plateau that a step jumped to is reported", function()
  local function f(x) return sim.max(x, 0) ^ 2 - sim.min(x, 0) * 0 + 2 * sim.clamp(x, -0.5, 9) end
  local x, _, info = minimize(f, 0.5)
  ok(x < -0.5 and info.status == "converged", info.status)
  ok(info.message:find "plateau", info.message)
  _, _, info = minimize(function(p) return sim.exp(p) - 2 * p end, 1.3)
  ok(info.message:find "within tolerance", info.message)
end)

-- ---- Least squares --------------------------------------------------------------------------------

-- Misra1a of the NIST Statistical Reference Datasets (dental research, monomolecular adsorption)
local X = { 77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1,
  760.0 }
local Y = { 10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47,
  81.78 }
local function misra(p)
  local r = {}
  for i = 1, #X do r[i] = Y[i] - p.b1 * (1 - sim.exp(-p.b2 * X[i])) end
  return r
end

test("least squares: certified values of NIST's Misra1a, from both starts", function()
  for _, start in ipairs { { b1 = 500, b2 = 1e-4 }, { b1 = 250, b2 = 5e-4 } } do
    local p, value, info = least_squares(misra, start)
    eq(info.status, "converged")
    local got = { p.b1 / 2.3894212918e2, p.b2 / 5.5015643181e-4, info.deviation.b1 / 2.7070075241,
      info.deviation.b2 / 7.2668688436e-6, value / 1.2455138894e-1 }
    near(got, { 1, 1, 1, 1, 1 }, 1e-7)
    near(info.residual_norm, math.sqrt(value), 1e-15)
    near(info.residuals:dot(info.residuals), value, 1e-12)
    near(info.covariance[{ 1, 1 }], info.deviation.b1 ^ 2, 1e-12)
    eq(info.covariance.shape, { 2, 2 })
  end
end)

test("least squares: a line has the solution and covariance of the formulas", function()
  local x, y = sim.array { 0, 1, 2, 3, 4 }, sim.array { 1.1, 2.9, 5.2, 6.8, 9.1 }
  local p, value, info = least_squares(function(p) return p.slope * x + p.offset - y end,
    { slope = 0, offset = 0 })
  local sxx, mx, my = 10, 2, y:mean()
  local slope = ((x - mx):dot(y - my)) / sxx
  near({ p.slope, p.offset }, { slope, my - slope * mx }, 1e-10)
  local variance = value / 3 -- parameters are in the order offset, slope
  near(info.deviation.slope, math.sqrt(variance / sxx), 1e-9)
  near(info.deviation.offset, math.sqrt(variance * (1 / 5 + mx ^ 2 / sxx)), 1e-9)
  near(info.covariance[{ 1, 2 }], -variance * mx / sxx, 1e-9)
end)

test("least squares: Rosenbrock, Powell's singular function, Beale", function()
  local p, value, info = least_squares(function(q) return { 10 * (q[2] - q[1] ^ 2), 1 - q[1] } end,
    { -1.2, 1 })
  found(p, { 1, 1 }, 1e-9, value, info)
  eq({ info.covariance, info.deviation }, {}) -- as many residuals as parameters
  p, value, info = least_squares(function(q)
    return { q[1] + 10 * q[2], math.sqrt(5) * (q[3] - q[4]), (q[2] - 2 * q[3]) ^ 2,
      math.sqrt(10) * (q[1] - q[4]) ^ 2 }
  end, { 3, -1, 0, 1 })
  found(p, { 0, 0, 0, 0 }, 1e-6, value, info)
  p, value, info = least_squares(function(q)
    return { 1.5 - q.x + q.x * q.y, 2.25 - q.x + q.x * q.y ^ 2, 2.625 - q.x + q.x * q.y ^ 3 }
  end, { x = 1, y = 1 })
  found({ p.x, p.y }, { 3, 0.5 }, 1e-9, value, info)
end)

test("least squares: parameters of very different size, and parameters without effect", function()
  local p, _, info = least_squares(function(q)
    return { q.a * 1e-8 - 3, q.b * 1e8 - 5, (q.a * 1e-8) * (q.b * 1e8) - 15 }
  end, { a = 1, b = 1e-9, idle = 7 })
  near({ p.a * 1e-8, p.b * 1e8, p.idle }, { 3, 5, 7 }, 1e-8)
  eq({ info.status, info.covariance }, { "converged" }) -- idle is not determined
  ok(info.message:find("the residuals do not depend on p.idle", 1, true), info.message)
  -- a derivative that is only rounding moves nothing, however small the other parameters' are
  local function rounded(q) return { q.a - 2, 3 * q.a - 6, 1e-17 * q.a + 1e-17 * q.idle } end
  p, _, info = least_squares(rounded, { a = 5, idle = 7 }, { lower = -10, upper = 10 })
  near({ p.a, p.idle }, { 2, 7 }, 1e-12)
  eq({ info.status, info.covariance }, { "converged" })
  eq(least_squares(rounded, { a = 2, idle = 7 }, { lower = -10, upper = 10 }).idle, 7.0)
end)

test("least squares: bounds", function()
  local p, value, info = least_squares(function(q) return { 10 * (q[2] - q[1] ^ 2), 1 - q[1] } end,
    { -1.2, 1 }, { upper = { 0.5 } })
  near(p, { 0.5, 0.25 }, 1e-7)
  near(value, 0.25, 1e-10)
  eq(info.status, "converged")
  local x = sim.linspace(0, 2, 9)
  local fit
  fit, value, info = least_squares(function(q) return q.k * sim.exp(-q.rate * x) - sim.exp(-x) end,
    { k = 2, rate = 3 }, { lower = { rate = 1.5 } })
  eq(fit.rate, 1.5)
  eq(info.deviation.rate, 0.0) -- held
  ok(info.deviation.k > 0)
end)

test("least squares: where residuals are not finite steps are shortened", function()
  local x, _, info = least_squares(function(q) return { sim.log(q), q - 1 } end, 30)
  near(x, 1, 1e-8)
  eq(info.status, "converged")
end)

test("least squares: where no step leads down it stops", function()
  local function wall(x) return x < 0 and { 1 / 0 } or { x + 1 } end
  local x, value, info = least_squares(wall, 0)
  eq({ x, value, info.status }, { 0.0, 1.0, "stalled" })
  x, value, info = least_squares(wall, 5)
  ok(x >= 0 and x < 5 and value < 36 and info.status ~= "max_iterations", info.message)
  local wrong = sim.custom { forward = function(y) return y end, backward = function(dl) return -dl end }
  x, value, info = least_squares(function(y) return { wrong(y) - 3 } end, 0)
  eq({ x, value, info.status }, { 0.0, 9.0, "stalled" })
end)

test("least squares: options and results of the function", function()
  local calls = 0
  local _, _, info = least_squares(misra, { b1 = 500, b2 = 1e-4 },
    { max_iterations = 2, history = true, callback = function() calls = calls + 1 end })
  eq({ info.status, info.iterations, #info.history, calls }, { "max_iterations", 2, 2, 2 })
  raises("residuals, a list of numbers or an array; it returned nil", least_squares, function() end, 1)
  raises("it returned an empty table", least_squares, function() return {} end, 1)
  raises("residual 2 has to be a number, got 'a'", least_squares, function() return { 1, "a" } end, 1)
  local n = 0
  raises("returned 3 residuals, but 2 before", least_squares, function(q)
    n = n + 1
    return n <= 2 and { q, q - 1 } or { q, q, q }
  end, 1)
  raises("bad argument #3 to 'least_squares' %(unknown key 'max_iteration'; did you mean 'max_iterations'",
    least_squares, misra, { b1 = 1 }, { max_iteration = 3 })
  raises("unknown key 'method'", least_squares, misra, { b1 = 1 }, { method = "lbfgs" })
end)

-- ---- Misuse ---------------------------------------------------------------------------------------

test("invalid arguments", function()
  raises("test_optimize.lua:%d+: bad argument #1 to 'minimize' %(function expected, got 3",
    function() local _ = minimize(3, 1) end)
  raises("bad argument #2 to 'minimize' %(parameters expected, got nil", minimize, print)
  raises("parameters expected, got a table without numbers", minimize, print, { a = "b" })
  raises("bad argument #3 to 'minimize' %(table expected, got 'lbfgs'", minimize, print, 1, "lbfgs")
  raises("key 'method': one of 'adam', .* expected, got 'lbfg'; did you mean 'lbfgs'", minimize, print, 1,
    { method = "lbfg" })
  raises("unknown key 'bounds'; known: .*lower.*upper", minimize, print, 1, { bounds = { 0, 1 } })
  local told = raises("unknown key 'bounds'; known: ", minimize, print, 1, { method = "cmaes", bounds = { 0, 1 } })
  eq(select(2, told:gsub("max_iterations", "")), 1)
  raises("minimize: lower: p: a number expected, got nan", minimize, function(x) return x end, 1, { lower = 0 / 0 })
  raises("unknown key 'tolerence'; did you mean 'tolerance'", minimize, print, 1, { tolerence = 1 })
  raises("key 'momentum' belongs to method 'rmsprop', 'sgd', not to 'adam'", minimize, print, 1,
    { method = "adam", momentum = 0.9 })
  raises("key 'max_iterations': positive integer expected, got 0", minimize, print, 1,
    { max_iterations = 0 })
  raises("key 'tolerance': number from 0 to 1 expected, got %-1", minimize, print, 1, { tolerance = -1 })
  raises("key 'callback': function expected, got 'x'", minimize, print, 1, { callback = "x" })
  raises("key 'keep': 'best' or 'last' expected, got 'first'", minimize, print, 1,
    { method = "sgd", keep = "first" })
  raises("minimize: lower: there is no parameter p.bb", minimize, print, { b = 1 }, { lower = { bb = 0 } })
  raises("upper: p.b: number expected, got 'x'", minimize, print, { b = 1 }, { upper = { b = "x" } })
  raises("p.b: the lower bound 2 is above the upper bound 1", minimize, print, { b = 1 },
    { lower = 2, upper = 1 })
  raises("initial_step: p: positive number expected, got %-1", minimize, print, 1,
    { method = "nelder-mead", initial_step = -1 })
  raises("has to return a number as its first result; it returned 'a'", minimize, function() return "a" end, 1,
    { method = "nelder-mead" })
  raises("sim.optimize has no field 'minimise'; did you mean 'minimize'",
    function() return sim.optimize.minimise end)
  raises("cannot be assigned", function() sim.optimize.minimize = nil end)
  local loop = {}
  loop.loop = loop
  raises("does one contain itself", minimize, print, loop)
end)

test("inside of a gradient call", function()
  local function inside(f) return function() return sim.grad(f, 1) end end
  raises("inside a gradient call", inside(function(x)
    minimize(function(y) return y ^ 2 end, 1)
    return x
  end))
  raises("p.x has to be a plain value, got a tracked number", inside(function(x)
    return minimize(function(q) return q.x ^ 2 end, { x = x })
  end))
  eq(sim.grad(function(x) -- without gradients it is possible
    return x * minimize(function(y) return (y - 3) ^ 2 end, 3, { method = "nelder-mead" })
  end, 1) > 2.99, true)
end)

test("least squares: robust losses are at rest where their gradient is 0, and leave outliers out", function()
  sim.random.seed(3)
  local t, y = sim.linspace(0, 1, 40), {}
  for i = 1, 40 do y[i] = 2 * math.exp(-3 * t[i]) + 0.01 * sim.random.normal() end
  y[7], y[19], y[30] = 9, 0, -4
  local function residuals(p) return sim.exp(t * -p.k) * p.a - y end
  local COSTS = {
    huber = function(r, c) return math.abs(r) <= c and r * r or 2 * c * math.abs(r) - c * c end,
    cauchy = function(r, c) return c * c * math.log(1 + (r / c) ^ 2) end,
  }
  local plain = sim.optimize.least_squares(residuals, { a = 1, k = 1 })
  ok(math.abs(plain.k - 3) > 0.3)
  for loss, cost in pairs(COSTS) do
    local p, sum, info = sim.optimize.least_squares(residuals, { a = 1, k = 1 }, { loss = loss, scale = 0.02, tolerance = 1e-10 })
    eq(info.status, "converged")
    near({ p.a, p.k }, { 2, 3 }, 0.05)
    local function total(a, k)
      local all = 0
      for i = 1, 40 do all = all + cost(a * math.exp(-k * t[i]) - y[i], 0.02) end
      return all
    end
    near(sum, total(p.a, p.k), 1e-12)
    local h = 1e-5
    near((total(p.a + h, p.k) - total(p.a - h, p.k)) / (2 * h), 0, 1e-6)
    near((total(p.a, p.k + h) - total(p.a, p.k - h)) / (2 * h), 0, 1e-6)
  end
  raises("'l2', 'huber' or 'cauchy'", sim.optimize.least_squares, residuals, { a = 1, k = 1 }, { loss = "l1" })
  -- Squares have no scale: it would have no effect.
  for _, loss in ipairs { "l2", false } do
    raises("key 'scale'.*'huber' or 'cauchy'", sim.optimize.least_squares, residuals, { a = 1, k = 1 },
      { loss = loss or nil, scale = 0.02 })
  end
end)
