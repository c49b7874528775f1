-- Gradients of Lua functions: tracked numbers, sim.sin and the like, jacobian, hvp, custom, misuse.
local sim = require "sim2d"

local function slope(f, x)
  local h = 1e-3
  local function d(s) return (f(x + s) - f(x - s)) / (2 * s) end
  return d(h / 2) + (d(h / 2) - d(h)) / 3
end

local function relative(got, want)
  return math.abs(got - want) / math.max(1, math.abs(want))
end

-- ---- Operators and functions ----------------------------------------------------------------------

test("operators agree with differences and give the values of plain arithmetic", function()
  local cases = {
    function(x) return x + x end, function(x) return 2 + x end, function(x) return x - 0.3 end,
    function(x) return 1 - x end, function(x) return x * x * 3 end, function(x) return x / 7 end,
    function(x) return 2 / x end, function(x) return x ^ 2 end, function(x) return x ^ -1.5 end,
    function(x) return 2 ^ x end, function(x) return x ^ x end, function(x) return -x * x end,
    function(x) return x % 0.7 end, function(x) return 5 % x end, function(x) return -5 % x end,
    function(x) return x * (x // 0.5) end, function(x) return (x - x) ^ 0 + x end,
  }
  for i, f in ipairs(cases) do
    for _, x in ipairs { 0.9, 1.3, 2.6 } do
      local value, g = sim.value_and_grad(f, x)
      eq(value, f(x), i)
      ok(relative(g, slope(f, x)) < 1e-8, ("case %d at %g: %.12g, differences %.12g")
        :format(i, x, g, slope(f, x)))
    end
  end
end)

test("functions agree with differences and give the values of math", function()
  local cases = {
    sin = math.sin, cos = math.cos, tan = math.tan, asin = math.asin, acos = math.acos,
    atan = math.atan, exp = math.exp, log = math.log, sqrt = math.sqrt, abs = math.abs,
  }
  for name, plain in pairs(cases) do
    for _, x in ipairs { 0.1, 0.35, 0.8 } do
      local value, g = sim.value_and_grad(function(p) return sim[name](p) end, x)
      eq(value, plain(x), name)
      eq(sim[name](x), plain(x), name)
      ok(relative(g, slope(plain, x)) < 1e-8, name)
    end
  end
  for _, name in ipairs { "sinh", "cosh", "tanh" } do
    ok(relative(sim.grad(sim[name], 0.6), slope(sim[name], 0.6)) < 1e-8, name)
  end
  near(sim.tanh(0.6), (math.exp(1.2) - 1) / (math.exp(1.2) + 1), 1e-15)
end)

test("functions of two numbers, either of them tracked", function()
  local cases = {
    atan2 = sim.atan2, atan = sim.atan, pow = sim.pow, log = sim.log, max = sim.max, min = sim.min,
  }
  for name, f in pairs(cases) do
    local g = sim.grad(function(p) return f(p[1], p[2]) end, { 0.7, 1.9 })
    ok(relative(g[1], slope(function(x) return f(x, 1.9) end, 0.7)) < 1e-8, name)
    ok(relative(g[2], slope(function(x) return f(0.7, x) end, 1.9)) < 1e-8, name)
  end
  eq(sim.atan(0.7, 1.9), math.atan(0.7, 1.9))
  eq(sim.atan2(-1, -2), math.atan(-1, -2))
  eq(sim.log(8, 2), 3.0)
  eq(sim.log(1000, 10), math.log(1000, 10))
  near(sim.grad(function(x) return sim.log(x, 2) end, 3), 1 / (3 * math.log(2)), 1e-15)
  near(sim.grad(function(x) return sim.log(x, 10) end, 3), 1 / (3 * math.log(10)), 1e-15)
end)

test("kinks have the mean of both sides' derivatives, steps have none", function()
  eq(sim.grad(sim.abs, 0), 0.0)
  eq(sim.grad(function(x) return sim.max(x, 1) end, 1), 0.5)
  eq(sim.grad(function(x) return sim.min(x, 1) end, 1), 0.5)
  eq(sim.grad(function(x) return sim.max(x, x) end, 1), 1.0)
  eq(sim.grad(function(x) return sim.max(x, 2, 0.5) end, 3), 1.0)
  eq(sim.grad(function(x) return sim.max(x, 2, 5) end, 3), 0.0)
  for x, want in pairs { [-1] = 0.0, [0] = 0.5, [0.3] = 1.0, [2] = 0.5, [3] = 0.0 } do
    eq(sim.grad(function(p) return sim.clamp(p, 0, 2) end, x), want, x)
  end
  eq(sim.grad(function(x) return x + sim.sign(x) + sim.floor(x) end, 1.5), 1.0)
  local _, _, floor, sign = sim.value_and_grad(function(x) return x, sim.floor(x), sim.sign(-x) end, 1.5)
  eq({ floor, math.type(floor), sign }, { 1, "integer", -1 })
  eq(sim.grad(function(x) return x ^ 2 * 0 ^ 2 + x end, 0), 1.0)
  eq(sim.grad(function(p) return p[1] ^ p[2] end, { 0, 2 }), { 0.0, 0.0 })
end)

test("plain numbers go through as in math", function()
  eq({ sim.max(1, 3, 2), sim.min(2, 1), sim.floor(-1.5), sim.clamp(7, 0, 5) }, { 3, 1, -2, 5 })
  eq(math.type(sim.max(1, 2)), "integer")
  eq(sim.floor(1e300), 1e300)
  eq(sim.floor(4), 4)
  eq({ sim.sign(-3), sim.sign(0), sim.sign(0.1) }, { -1, 0, 1 })
  eq(sim.abs(-3), 3.0)
  ok(sim.max(0 / 0, 1) ~= sim.max(0 / 0, 1)) -- nan is preserved
end)

test("functions take arrays too", function()
  eq(sim.sin(sim.array { 0, 1 }):table(), { 0.0, math.sin(1) })
  eq(sim.max(sim.array { 1, 5 }, 3):table(), { 3.0, 5.0 })
  eq(sim.min(4, sim.array { 1, 5 }):table(), { 1.0, 4.0 })
  eq(sim.max(sim.array { 1, 5 }), 5.0)
  eq(sim.clamp(sim.array { -1, 0.5, 9 }, 0, 1):table(), { 0.0, 0.5, 1.0 })
  near(sim.log(sim.array { 8, 16 }, 2):table(), { 3, 4 }, 1e-14)
  local g = sim.grad(function(p) return (sim.exp(p.a) * p.k):sum() end, { a = sim.array { 1, 2 }, k = 3 })
  near(g.a:table(), { 3 * math.exp(1), 3 * math.exp(2) }, 1e-13)
  near(g.k, math.exp(1) + math.exp(2), 1e-13)
  g = sim.grad(function(p) return (p * sim.array { 2, 3 } + p):sum() + (sim.array { 1, 1 } / p)[1] end, 2)
  near(g, 7 - 1 / 4, 1e-15)
end)

test("engine vectors times a tracked number", function()
  local ball = sim.world {}:circle { radius = 1, position = { 2, 3 } }
  eq(sim.grad(function(x) return (x * ball.position)[2] + (ball.position * x).x end, 1), 5.0)
end)

test("comparison, text, equality", function()
  sim.value_and_grad(function(x)
    ok(x < 1 and x <= 0.4 and not (x < 0.4) and 0.3 < x and x > 0.3 and x >= 0.4)
    ok(x == x + 0 and x ~= x + 1)
    ok(x ~= 0.4) -- Lua does not call the metamethod: values of different types differ
    eq(tostring(x), "0.4 (tracked)")
    eq(x:value(), 0.4)
    eq(math.type(x:value()), "float")
    eq(type(x), "userdata")
    return x
  end, 0.4)
end)

-- ---- Value and gradient ---------------------------------------------------------------------------

local function rosenbrock(p)
  return (1 - p.x) ^ 2 + 100 * (p.y[1] - p.x ^ 2) ^ 2
end

test("nested tables, shapes, operations without a derivative", function()
  local p = { x = -1.2, y = { 1 }, name = "valley", flag = true, [7] = { deep = { 2, 3 } } }
  local value, g = sim.value_and_grad(rosenbrock, p)
  near(value, 2.2 ^ 2 + 100 * (1 - 1.44) ^ 2, 1e-12)
  near(g.x, -2 * 2.2 - 400 * -1.2 * (1 - 1.44), 1e-12)
  near(g.y[1], 200 * (1 - 1.44), 1e-12)
  eq(g[7], { deep = { 0.0, 0.0 } }) -- not used: zeros
  eq({ g.name, g.flag }, {})
  eq(p, { x = -1.2, y = { 1 }, name = "valley", flag = true, [7] = { deep = { 2, 3 } } })
end)

test("arguments and results are passed on", function()
  local value, g, twice, text, none, last = sim.value_and_grad(function(p, a, b)
    eq({ a, b }, { "a", 2 })
    return p * b, p * 2, "text", nil, 7
  end, 3, "a", 2)
  eq({ value, g, twice, text, last }, { 6.0, 2.0, 6.0, "text", 7 })
  eq(none, nil)
  local gradient, loss, extra = sim.grad(function(p) return p * p, "more" end, 3)
  eq({ gradient, loss, extra }, { 6.0, 9.0, "more" })
  local derivative = sim.grad(function(p, k) return k * p ^ 2 end)
  eq({ derivative(3, 2) }, { 12.0, 18.0 })
  eq(sim.grad(setmetatable({}, { __call = function(_, x) return 3 * x end }), 1), 3.0)
end)

test("the function may change the tables it gets", function()
  local g = sim.grad(function(p)
    p.x = p.x * 3
    p.y = nil
    p.z = 1
    return p.x
  end, { x = 2, y = 1 })
  eq(g, { x = 3.0, y = 0.0 })
end)

test("a loss without parameters has a gradient of zeros", function()
  eq(sim.grad(function() return 5 end, { 1, { 2 } }), { 0.0, { 0.0 } })
  eq(sim.grad(function(p) return sim.stop_gradient(p) ^ 2 end, 3), 0.0)
  eq(sim.grad(function(p) return p * p:value() end, 3), 3.0)
  eq(sim.grad(function() return 5 end, {}), {})
end)

test("vectors and arrays as parameters", function()
  local ball = sim.world {}:circle { radius = 1, position = { 2, 3 } }
  local g = sim.grad(function(p) return p.at.x ^ 2 * p.at[2] + p.m:mm(p.at)[1] end,
    { at = ball.position, m = sim.array { { 1, 2 }, { 3, 4 } } })
  eq(g.at:table(), { 13.0, 6.0 })
  eq(g.m:table(), { { 2.0, 3.0 }, { 0.0, 0.0 } })
end)

test("same bits on repetition, and sums over many uses", function()
  local function f(p)
    local s = 0
    for i = 1, 1000 do s = s + sim.sin(p.a * i) * p.b end
    return s
  end
  local g = sim.grad(f, { a = 0.3, b = 2 })
  eq(sim.grad(f, { a = 0.3, b = 2 }), g)
  local want = { 0, 0 }
  for i = 1, 1000 do
    want = { want[1] + math.cos(0.3 * i) * i * 2, want[2] + math.sin(0.3 * i) }
  end
  near({ g.a, g.b }, want, 1e-9)
end)

test("stop_gradient makes tracked numbers plain and leaves other values", function()
  sim.grad(function(p)
    local plain = sim.stop_gradient { p.x, { p.a }, "text", ok }
    eq({ plain[1], plain[2][1]:table(), plain[3], plain[4] }, { 1.0, { 2.0, 3.0 }, "text", ok })
    eq({ math.type(plain[1]), sim.stop_gradient(3) }, { "float", 3 })
    return p.x
  end, { x = 1, a = sim.array { 2, 3 } })
end)

test("the tape reports its size", function()
  local inside
  sim.grad(function(x)
    for _ = 1, 1000 do x = x + 1 end
    inside = sim.tape_stats()
    return x
  end, 1)
  local after = sim.tape_stats()
  ok(inside.nodes == 1001 and after.nodes == 1001, after.nodes)
  ok(after.bytes >= 1000 * 40 and after.bytes < 1e6 and after.peak_bytes >= after.bytes)
  sim.grad(function(x) return x * x end, 1)
  local small = sim.tape_stats()
  ok(small.bytes < 1000 and small.peak_bytes < 1000, "of this call, not of the largest")
end)

test("the peak of a tape counts steps that are made again", function()
  local function loss(v)
    local w = sim.world { dt = 0.01 } -- contact: a program would record these steps in a few numbers
    w:segment { from = { -5, 0 }, to = { 5, 0 } }
    local ball = w:circle { radius = 0.1, position = { 0, 0.1 }, velocity = { v, 0 } }
    w:step(100)
    return ball.x
  end
  sim.grad(loss, 1)
  local whole = sim.tape_stats()
  eq(whole.peak_bytes, whole.bytes)
  sim.checkpoint(50)
  sim.grad(loss, 1)
  sim.checkpoint()
  local parts = sim.tape_stats()
  ok(parts.bytes < whole.bytes / 3, parts.bytes)
  ok(parts.peak_bytes > parts.bytes and parts.peak_bytes < 0.8 * whole.bytes, parts.peak_bytes)
end)

-- ---- Jacobian, hvp, check_grad --------------------------------------------------------------------

test("jacobian: more outputs than inputs, fewer, one", function()
  local J, y = sim.jacobian(function(x) return { x[1] * x[2], sim.sin(x[1]), x[2], 4 } end, { 1, 2 })
  eq(J, { { 2.0, 1.0 }, { math.cos(1), 0.0 }, { 0.0, 1.0 }, { 0.0, 0.0 } })
  eq(y, { 2.0, math.sin(1), 2.0, 4.0 })
  J, y = sim.jacobian(function(x) return { x[1] * x[2] * x[3], x[3] } end, { 2, 3, 5 })
  eq(J, { { 15.0, 10.0, 6.0 }, { 0.0, 0.0, 1.0 } })
  eq(y, { 30.0, 5.0 })
  J, y = sim.jacobian(function(x) return x ^ 3 end, 2)
  eq({ J, y }, { { { 12.0 } }, 8.0 })
  eq(sim.jacobian(function(x) return { x, 2 * x } end, 2), { { 1.0 }, { 2.0 } })
  eq(sim.jacobian(function() return {} end, { 1 }), {})
end)

test("jacobian of arrays", function()
  local J, y = sim.jacobian(function(x) return x * x:sum() end, sim.array { 1, 2, 3 })
  eq(J:table(), { { 7.0, 1.0, 1.0 }, { 2.0, 8.0, 2.0 }, { 3.0, 3.0, 9.0 } })
  eq(y:table(), { 6.0, 12.0, 18.0 })
  J = sim.jacobian(function(x) return sim.array { x[1], x[1] * x[2], x[2] ^ 2 } end, { 3, 4 })
  eq(J:table(), { { 1.0, 0.0 }, { 4.0, 3.0 }, { 0.0, 8.0 } })
end)

test("both ways of a jacobian agree", function()
  local function f(x)
    local y = {}
    for i = 1, 6 do
      y[i] = sim.exp(-(x[1] * i) ^ 2 / 9) * sim.tanh(x[2] + i * x[3]) + sim.max(x[1], 0.2 * i)
    end
    return y
  end
  local x = { 0.7, -0.4, 0.3 }
  local forward = sim.jacobian(f, x)
  for i = 1, 6 do
    near(sim.grad(function(p) return f(p)[i] end, x), forward[i], 1e-14)
  end
end)

test("hvp of functions that have a Hessian in closed form", function()
  local p, d = { x = -1.2, y = { 1 } }, { x = 0.3, y = { -2 } }
  local h = sim.hvp(rosenbrock, p, d)
  local xx, xy, yy = 2 - 400 * (1 - 3 * 1.44), 480, 200
  ok(relative(h.x, xx * 0.3 + xy * -2) < 1e-10)
  ok(relative(h.y[1], xy * 0.3 + yy * -2) < 1e-10)
  eq(sim.hvp(rosenbrock, p, { x = 0, y = { 0 } }), { x = 0.0, y = { 0.0 } })
  local a = sim.hvp(function(q) return (q * q * q):sum() end, sim.array { 1, 2 }, sim.array { 1, 1 })
  near(a:table(), { 6, 12 }, 1e-9)
  raises("2 numbers expected, as many as the parameters have, got 1", sim.hvp, rosenbrock, p, { x = 1 })
  raises("bad argument #1 to 'hvp' %(function", sim.hvp, 3, p, d)
end)

test("random expressions agree with differences", function()
  local random = sim.random.split()
  random:seed(11)
  -- smooth, with bounded values, so that differences are accurate
  local operations = {
    function(a, b) return (a + b) / 2 end, function(a, b) return a - b * 0.5 end,
    function(a, b) return sim.sin(a * b) end, function(a, b) return a / (1 + b ^ 2) end,
    function(a) return sim.tanh(a) end, function(a, b) return sim.exp(-a ^ 2) * b end,
    function(a, b) return sim.atan2(a, 2 + sim.cos(b)) end, function(a) return sim.sqrt(1 + a * a) end,
    function(a) return sim.log(2 + sim.sin(a)) end, function(a, b) return (1.5 + sim.cos(a)) ^ sim.sin(b) end,
    function(a) return 1 - a end, function(a) return 2 ^ -sim.tanh(a) end,
  }
  for _ = 1, 200 do
    local steps = {}
    for i = 1, 25 do
      steps[i] = { operations[random:integer(#operations)], random:integer(2 + i), random:integer(2 + i) }
    end
    local function f(p)
      local values = { p.a, p.b[1], p.b[2] }
      for i, step in ipairs(steps) do values[3 + i] = step[1](values[step[2]], values[step[3]]) end
      return values[#values]
    end
    local p = { a = random:uniform(-1, 1), b = { random:uniform(-1, 1), random:uniform(-1, 1) } }
    eq(sim.value_and_grad(f, p), f(p)) -- the same bits
    local worst = sim.check_grad(f, p, { print = false })
    ok(worst < 1e-8, worst)
  end
end)

test("hvp takes a direction of the parameters' shape only", function()
  local function f(p) return p.a ^ 2 + p.c[1] end
  raises("argument #3 to 'hvp': p.a: number expected, got nil", sim.hvp, f, { a = 1, c = { 2 } },
    { b = 1, c = { 2 } })
  raises("argument #3 to 'hvp': p.c: table expected, got 2", sim.hvp, f, { a = 1, c = { 2 } },
    { a = 1, c = 2 })
end)

test("check_grad distinguishes right gradients from wrong ones", function()
  local quiet = { print = false }
  ok(sim.check_grad(rosenbrock, { x = -1.2, y = { 1 } }, quiet) < 1e-9)
  ok(sim.check_grad(function(p) return (sim.sin(p.a) * p.k):sum() end,
    { a = sim.array { { 1, 2 }, { 3, 4 } }, k = 2 }, quiet) < 1e-9)
  eq(sim.check_grad(function() return 1 end, { 1, 2 }, quiet), 0.0)
  local wrong = sim.custom { forward = function(x) return x ^ 2 end,
    backward = function(dy, _, x) return dy * x end }
  near(sim.check_grad(function(p) return wrong(p.x) + p.y end, { x = 2, y = 1 }, quiet), 0.5, 1e-9)
  raises("unknown key 'stp'", sim.check_grad, rosenbrock, { x = 1 }, { stp = 1 })
  raises("key 'step': number between 0 and 1 expected, got 2", sim.check_grad, rosenbrock, { x = 1 },
    { step = 2 })
  raises("table expected, got number", sim.check_grad, rosenbrock, { x = 1 }, 3)
  raises("returned nil near p", sim.check_grad, function(x) return x <= 1 and x or nil end, 1)
end)

test("check_grad distinguishes rounding from wrong derivatives", function()
  local shaken = 0
  local function f(p) -- like a value that is computed in another order each time
    shaken = shaken + 1
    return 3 + 0 * p.x + 1e-14 * math.sin(7 * shaken)
  end
  ok(sim.check_grad(f, { x = 1 }, { print = false }) < 1e-6)
  local function wrong(by)
    local node = sim.custom { forward = function(_) return 3 end,
      backward = function(dy) return dy * by end }
    return sim.check_grad(function(p) return node(p.x) end, { x = 1 }, { print = false })
  end
  eq(wrong(1e-12), 1.0) -- differences agree with one another: 0
  eq(wrong(1e-3), 1.0)
end)

test("check_grad distinguishes nearby kinks from wrong derivatives", function()
  local function printed(f, p, options)
    local lines, before = {}, print
    print = function(...) lines[#lines + 1] = table.concat({ ... }, " ") end
    local good, message = pcall(sim.check_grad, f, p, options)
    print = before
    ok(good, message)
    return table.concat(lines, "\n")
  end
  local function bent(p) return sim.abs(p.x - 0.0004) + p.y end
  local text = printed(bent, { x = 0, y = 1 })
  ok(text:find("p.x: differences with step 1e%-03 give %-0.933333, but those with step 1e%-05 give %-1: f has a kink"), text)
  ok(not text:find("p.y: "), text)
  ok(not printed(bent, { x = 0, y = 1 }, { step = 1e-5 }):find "kink")
  local wrong = sim.custom { forward = function(x) return x ^ 2 end,
    backward = function(dy, _, x) return dy * x end }
  ok(not printed(function(p) return wrong(p.x) end, { x = 2 }):find "kink")
end)

-- ---- Custom functions -----------------------------------------------------------------------------

test("custom: own derivatives, values kept for them, arrays", function()
  local product = sim.custom {
    forward = function(x, y, name)
      eq({ math.type(x), name }, { "float", "n" })
      return x * y, "kept"
    end,
    backward = function(dz, z, x, y, name, kept)
      eq({ z, name, kept }, { x * y, "n", "kept" })
      return dz * y, dz * x
    end,
  }
  eq(product(2.0, 3, "n"), 6.0)
  eq(sim.grad(function(p) return product(p[1], p[2], "n") ^ 2 end, { 2, 3 }), { 36.0, 24.0 })
  eq(sim.grad(function(p) return product(p, 3, "n") end, 2), 3.0) -- a plain number needs no derivative
  local scale = sim.custom {
    forward = function(a, k) return a * k end,
    backward = function(dy, _, a, k) return dy * k, (dy * a):sum() end,
  }
  local g = sim.grad(function(p) return (scale(p.a, p.k) * sim.array { 1, 10 }):sum() end,
    { a = sim.array { 2, 3 }, k = 4 })
  eq({ g.a:table(), g.k }, { { 4.0, 40.0 }, 32.0 })
end)

test("custom: misuse", function()
  raises("key 'forward' is missing", sim.custom, { backward = print })
  raises("key 'backward': function expected, got 3", sim.custom, { forward = print, backward = 3 })
  raises("unknown key 'forwards'; did you mean 'forward'", sim.custom, { forwards = print })
  local function with(forward, backward)
    return sim.grad(sim.custom { forward = forward, backward = backward }, 2)
  end
  local function same(x) return x end
  raises("forward has to return a plain number or array as its first result; it returned no value", with,
    function() end, same)
  raises("derivative with respect to argument 1 %(a number%); it returned nil", with, same, function() end)
  raises("it returned 'x'", with, same, function() return "x" end)
  raises("test_gradient.lua:%d+: boom", with, same, function() error "boom" end)
  raises("inside a gradient call", with, same, function() return sim.grad(same, 1) end)
  raises("outside of the gradient call", sim.grad, function(x)
    return sim.custom { forward = same, backward = function(dy) return dy * x end } (x)
  end, 2)
  raises("it returned a tracked number", sim.grad, function(x)
    return sim.custom { forward = function(y) return x * y end, backward = same } (x)
  end, 2)
  raises("derivative with respect to p is nan", with, same, function() return 0 / 0 end)
  eq(with(same, same), 1.0) -- and everything works afterwards
end)

-- ---- Misuse ---------------------------------------------------------------------------------------

local function inside(f, p)
  return function() return sim.value_and_grad(f, p or 1) end
end

test("plain functions name the remedy", function()
  raises("sin' %(number expected, got tracked number, use sim.sin", inside(math.sin))
  raises("x:value%(%) where a plain number is needed",
    inside(function(x) return string.format("%g", x) end))
  raises("concatenate a tracked number; use x:value%(%)", inside(function(x) return "x = " .. x end))
  raises("concatenate a tracked number", inside(function(x) return x .. 1 end))
  raises("Tracked has no field 'vale'; did you mean 'value'", inside(function(x) return x:vale() end))
  raises("no field 'y' that can be assigned", inside(function(x) x.y = 1 end))
  raises("arithmetic on a tracked number: number expected, got nil", inside(function(x) return x + nil end))
  raises("number expected, got table", inside(function(x) return {} * x end))
  raises("number expected, got '2'", inside(function(x) return x % "2" end))
  raises("compare a tracked number: number expected, got 'a'", inside(function(x) return x < "a" end))
  raises("compare a tracked number", inside(function(x) return {} <= x end))
  raises("bad argument #1 to 'sin' %(number expected, got 'a'", sim.sin, "a")
  raises("bad argument #2 to 'max' %(number expected, got nil", sim.max, 1, nil)
  raises("bad argument #1 to 'min' %(number expected, got no value", sim.min)
  raises("lower bound 2 is above the upper bound 1", sim.clamp, 0, 2, 1)
end)

test("functions that do not take tracked numbers report it", function()
  local world = sim.world {}
  world:circle { radius = 1 }
  local message = "number expected, got a tracked number; x:value%(%) or sim.stop_gradient%(x%)"
  for _, f in ipairs {
    function(x) return world:run { duration = x } end,
    function(x) return world:query_point { 0, x } end,
    function(x) return sim.random.uniform(0, x) end,
  } do
    raises(message, inside(f))
  end
  raises("integer expected, got a tracked number; x:value", inside(function(x) world:step(x) end))
  eq(#world.bodies, 1)
end)

test("where Lua calls no metamethod: keys of tables, formats of %s, other coroutines", function()
  eq(sim.grad(function(x)
    local t = { "first" }
    eq(t[x], nil)
    eq(t[x:value()], "first")
    eq(("%s"):format(x), "1.0 (tracked)")
    local co = coroutine.wrap(function(y)
      coroutine.yield(y * 2)
      error "not reached"
    end)
    return co(x)
  end, 1), 2.0)
  for _, f in ipairs {
    function(x) return ("%g"):format(x) end, function(x) return math.floor(x) end,
    function(x) for _ = 1, x do end end, function(x) return ("a"):rep(x) end, function(x) return io.write(x) end,
  } do
    raises("tracked number, use sim.sin .* x:value%(%) where a plain number is needed", inside(f))
  end
end)

test("snapshots and recordings keep plain numbers", function()
  local kept
  local path = os.tmpname()
  os.remove(path)
  path = path .. ".csv"
  local g = sim.grad(function(x)
    local w = sim.world { dt = 0.01 }
    w:circle { radius = 0.5, mass = x, position = { x, 0 }, name = "ball" }
    w:record(path)
    w:step(2)
    kept = w:snapshot()
    return w.bodies.ball.x
  end, 2)
  os.remove(path)
  eq(g, 1.0)
  local w = sim.world {}
  w:restore(kept)
  eq({ w.bodies.ball.mass, w.bodies.ball.x, math.type(w.bodies.ball.x) }, { 2.0, 2.0, "float" })
end)

test("numbers of an ended call", function()
  local kept, array
  sim.grad(function(p)
    kept, array = p.x * 2, p.a
    return kept
  end, { x = 3, a = sim.array { 1, 2 } })
  local message = "outside of the gradient call it belongs to.*x:value%(%)"
  for _, f in ipairs {
    function(x) return x + 1 end, function(x) return 1 - x end, function(x) return -x end,
    function(x) return x < 1 end, function(x) return x == x + 0 end, function(x) return sim.sin(x) end,
    function(x) return sim.max(1, x) end, sim.stop_gradient,
  } do
    raises(message, f, kept)
    raises(message, inside(function() return f(kept) end))
  end
  eq({ kept:value(), tostring(kept) }, { 6.0, "6.0 (tracked)" })
  raises("gradient call", inside(function() return array:sum() end))
  raises("p.x has to be a plain value, got a tracked number", sim.grad, print, { x = kept })
end)

test("invalid losses", function()
  raises("has to return the loss %(a number%) as its first result; it returned no value", inside(function() end))
  raises("it returned table", inside(function(x) return { x } end))
  raises("it returned 'a'", inside(function() return "a" end))
  raises("the loss is nan", inside(function(x) return x * (0 / 0) end))
  raises("the loss is inf", inside(function(x) return x / 0 end))
  raises("the loss is %-inf", inside(function(x) return sim.log(x - 1) end))
  raises("the derivative with respect to p.links%[2%].k is inf",
    inside(function(p) return sim.sqrt(p.links[2].k) end, { links = { { k = 0 }, { k = 0 } } }))
  raises("the derivative with respect to p is nan", inside(function(x) return (-1) ^ x end, 2))
  eq(sim.grad(function(x) return 0 * sim.sqrt(x) + x end, 0), 1.0) -- of no weight
end)

test("invalid arguments", function()
  raises("bad argument #1 to 'value_and_grad' %(function expected, got 3", sim.value_and_grad, 3, 1)
  raises("bad argument #2 to 'value_and_grad' %(parameters .* expected, got no value",
    sim.value_and_grad, print)
  raises("parameters .* expected, got 'p'", sim.grad, print, "p")
  raises("function expected, got nil", sim.grad, nil)
  raises("p.a%[2%] is nan: parameters have to be finite", sim.grad, print, { a = { 1, 0 / 0 } })
  raises("p.a has numbers that are not finite", sim.grad, print, { a = sim.array { 1, 1 } / 0 })
  local loop = {}
  loop.loop = loop
  raises("does one contain itself", sim.grad, print, loop)
  raises("does one contain itself", sim.stop_gradient, loop)
  raises("number, list of numbers or array expected, got 'q'", sim.jacobian, print, "q")
  raises("the key 'a'", sim.jacobian, print, { a = 1 })
  raises("list of numbers expected, got a list of lists", sim.jacobian, print, { { 1 } })
  raises("returned 'a'", sim.jacobian, function() return "a" end, { 1 })
  raises("output 2 has to be a number, got 'a'", sim.jacobian, function(x) return { x[1], "a" } end, { 1 })
  raises("table with the key 'a'", sim.jacobian, function(x) return { a = x[1] } end, { 1 })
  raises("output 1 is inf", sim.jacobian, function(x) return x[1] / 0 end, { 1 })
  raises("derivative of output 2 with respect to x%[1%] is inf", sim.jacobian,
    function(x) return { x[1], sim.sqrt(x[1]) } end, { 0, 1 })
end)

test("nested calls", function()
  raises("inside a gradient call; sim.hvp gives second derivatives",
    inside(function(x) return sim.grad(function(y) return y end, x) end))
  raises("inside a gradient call", inside(function() return sim.jacobian(sim.sin, 1) end))
  eq(sim.grad(sim.sin, 0), 1.0)
end)

test("errors of the function leave no tape", function()
  raises("test_gradient.lua:%d+: my own", inside(function() error "my own" end))
  local object = setmetatable({}, { __tostring = function() return "object" end })
  local _, caught = pcall(inside(function() error(object) end))
  ok(rawequal(caught, object))
  local dead = coroutine.create(function() return sim.grad(function(x) return x.no end, 1) end)
  ok(not coroutine.resume(dead))
  eq(sim.grad(function(x) return 2 * x end, 1), 2.0)
end)

test("in a coroutine, and not across its yields", function()
  local co = coroutine.wrap(function() coroutine.yield(sim.grad(function(x) return x * x end, 4)) end)
  eq(co(), 8.0)
  local yields = coroutine.create(function()
    return sim.grad(function(x) coroutine.yield() return x end, 1)
  end)
  local good, message = coroutine.resume(yields)
  ok(not good and message:find "attempt to yield across a C%-call boundary", message)
  eq(sim.grad(function(x) return x * x end, 4), 8.0)
end)

test("garbage is collected while a tape is recorded", function()
  local g = sim.grad(function(x)
    local sum = 0
    for i = 1, 20000 do
      sum = sum + x * i
      if i % 5000 == 0 then collectgarbage() end
    end
    return sum
  end, 1)
  eq(g, 20000 * 20001 / 2)
end)

test("check_grad takes smaller steps where the function refuses larger ones", function()
  local function f(p)
    if p.c <= 0 then error("c has to be positive") end
    return sim.sqrt(p.c) + p.x
  end
  ok(sim.check_grad(f, { c = 1e-4, x = 2 }, { print = false }) < 1e-6)
  local function bent(p) return 1 / (p.c + 1e-4) end -- also within steps of 1e-5
  ok(sim.check_grad(bent, { c = 1e-4 }, { print = false, step = 1e-5 }) < 1e-6)
  raises("c has to be positive", function() sim.check_grad(f, { c = -1, x = 2 }, { print = false }) end)
  raises("too much", function()
    sim.check_grad(function(p) if p.c > 0.5 then error("too much") end return p.c end, { c = 0.5 }, { print = false })
  end)
end)
