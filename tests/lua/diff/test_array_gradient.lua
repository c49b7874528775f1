-- Derivatives through arrays: every operation compared with central differences.
local sim = require "sim2d"
local linalg = sim.linalg

local STEP = 3e-4
local AGREE = 1e-8 -- relative to the largest derivative

-- A number that depends on every element, for all shapes.
local function mix(out)
  if getmetatable(out) ~= "Array" then return out end -- a number, tracked or not
  local weights = sim.linspace(0.3, 1.1, out.size):reshape(out.shape)
  return (out * weights + out * out * 0.1):sum()
end

-- The gradient of `loss` at p, an array, by differences.
local function differences(loss, p)
  local g = p:copy()
  local flat = p:reshape(p.size)
  local slopes = {}
  for i = 1, p.size do
    local function at(offset)
      local moved = flat:copy()
      moved[i] = moved[i] + offset
      return loss(moved:reshape(p.shape))
    end
    slopes[i] = (8 * (at(STEP) - at(-STEP)) - (at(2 * STEP) - at(-2 * STEP))) / (12 * STEP)
  end
  return sim.array(slopes, g.shape)
end

local function check(f, p)
  p = sim.array(p)
  local function loss(x) return mix(f(x)) end
  local value, g = sim.value_and_grad(loss, p)
  near(value, loss(p), 1e-12)
  eq(g.shape, p.shape)
  local want = differences(loss, p)
  local error, size = (g - want):norm(), want:norm()
  ok(error <= AGREE * math.max(size, 1e-3), ("off by %g of %g"):format(error, size))
end

local A = { { 2.3, 0.4, -0.2 }, { 0.1, 1.7, 0.5 }, { 0.3, -0.6, 3.1 } }
local V = { 0.7, 1.1, 0.4 }
local M = sim.array { { 0.3, 1.2, 0.8 }, { 0.9, 0.5, 1.1 } }

test("operators, with broadcasting either way", function()
  for _, other in ipairs { 2, sim.array(V), M, sim.array { { 2 }, { 3 } } } do
    check(function(x) return x + other end, M)
    check(function(x) return other - x end, M)
    check(function(x) return x * other end, M)
    check(function(x) return other / x end, M)
    check(function(x) return x / other end, M)
    check(function(x) return x ^ other end, M)
    check(function(x) return other ^ x end, M)
  end
  check(function(x) return M * x end, V)
  check(function(x) return (x - M) / x end, V)
  check(function(x) return -x + x * x end, V)
  check(function(x) return x + { 1, 2, 3 } end, V)
end)

test("mixed with tracked numbers, from either side", function()
  check(function(x) return x * x[1] end, V)
  check(function(x) return x[2] / x + x[3] - x end, V)
  check(function(x) return x[1] ^ x - x ^ x[3] end, V)
  check(function(x) return sim.array { x[1] * x[2], 3, x.y } end, V)
  check(function(x) return sim.array { { x[1], x[2] }, { 1, x[1] } } end, V)
  check(function(x) return sim.array { x, V, 2 * x } end, V)
  check(function(x) return sim.array { x[{ 1, 2 }] * x[{ 2, 1 }], x[2][3] } end, M)
end)

test("functions", function()
  for _, name in ipairs { "exp", "log", "sin", "cos", "tan", "tanh", "sqrt", "abs", "relu" } do
    check(sim[name], V)
    check(function(x) return sim[name](x * 1) end, M)
  end
  check(function(x) return sim.max(x, 1) end, M)
  check(function(x) return sim.min(x, sim.array(V)) end, M)
  check(function(x) return sim.atan2(x, sim.array(V)) end, M)
  check(function(x) return sim.pow(x, 3) end, M)
end)

test("along axes", function()
  for _, name in ipairs { "sum", "mean", "max", "min" } do
    check(function(x) return x[name](x) end, M)
    check(function(x) return x[name](x, 1) end, M)
    check(function(x) return x[name](x, 2) end, M)
  end
  check(function(x) return sim.sum(x, 1) * sim.mean(x) end, M)
  check(function(x) return x:norm() end, M)
end)

test("products and parts", function()
  check(function(x) return x:mm(V) end, M)
  check(function(x) return x:mm(x:t()) end, M)
  check(function(x) return sim.array { 1, 2 }:mm(x) end, M)
  check(function(x) return x:dot(V) * x:dot(x) end, V)
  check(function(x) return x:row(2) * x:column(1)[2] end, M)
  check(function(x) return x:diagonal() end, A)
  check(function(x) return x:slice({ 1, 2 }, { 2, 3 }) end, M)
  check(function(x) return x:reshape(3, 2):mm(x) end, M)
  check(function(x) return sim.concat { x, V, x * 2 } end, V)
  check(function(x) return sim.concat({ x, x * x }, 2) end, M)
  check(function(x) return sim.stack({ x, x * x }, 2) end, V)
  check(function(x) return x:copy() end, V)
  check(function(x)
    local t = x:table()
    return t[1][2] * t[2][3]
  end, M)
  check(function(x)
    local sum = 0
    for i, y in ipairs(x) do sum = sum + i * y end
    return sum
  end, V)
end)

test("linear algebra", function()
  check(function(x) return linalg.solve(x, V) end, A)
  check(function(x) return linalg.solve(A, x) end, V)
  check(function(x) return linalg.solve(x, x:t()) end, A)
  check(linalg.inv, A)
  check(linalg.det, A)
  check(linalg.norm, A)
  check(linalg.cholesky, A)
  check(linalg.expm, A)
  check(function(x) return (linalg.lstsq(x:t(), V)) end, M)
  check(function(x) return (linalg.lstsq(x, { 1, 2 })) end, M)
  for k = 1, 2 do
    check(function(x) return (select(k, linalg.qr(x))) end, A)
    check(function(x) return (select(k, linalg.eig(x))) end, A)
  end
  for k = 1, 3 do
    check(function(x) return (select(k, linalg.svd(x))) end, A)
    check(function(x) return (select(k, linalg.svd(x))) end, M)
  end
end)

test("comparison has no derivative", function()
  local _, g = sim.value_and_grad(function(x) return (x * x:gt(0.5)):sum() end, sim.array(V))
  eq(g:table(), { 1, 1, 0 })
end)

test("gradients of tables with arrays in them have their shape", function()
  local value, g = sim.value_and_grad(function(p)
    return (p.W:mm(p.x) * p.scale):sum()
  end, { W = M, x = sim.array(V), scale = 2 })
  eq(g.W.shape, { 2, 3 })
  near(g.W:table(), { { 1.4, 2.2, 0.8 }, { 1.4, 2.2, 0.8 } })
  near(g.x:table(), (M:sum(1) * 2):table())
  near(g.scale, value / 2)
end)

test("vectors of the engine with tracked numbers become arrays", function()
  local ball = sim.world {}:circle { radius = 1, position = { 3, 4 } }
  local _, g = sim.value_and_grad(function(p)
    local d = ball.position - { p[1], p[2] }
    local e = ball.position * p[1] - p
    return d:dot(d) + e[1]
  end, sim.array { 1, 1 })
  near(g:table(), { -4 + 3 - 1, -6 })
end)

test("a missing derivative is reported", function()
  local function grad(f, p) return sim.value_and_grad(f, sim.array(p)) end
  raises("complex eigenvalues have no derivative", grad,
    function(x) return linalg.eig(x):sum() end, { { 0, 1 }, { -1, 0 } })
  raises("eig: equal eigenvalues have no derivative", grad,
    function(x) return linalg.eig(x)[1] end, { { 1, 0 }, { 0, 1 } })
  raises("svd: the vectors of equal or zero singular values have no derivative", grad,
    function(x) return (linalg.svd(x))[{ 1, 2 }] end, { { 1, 0 }, { 0, 1 } })
  raises("qr: no derivative, because the columns are linearly dependent", grad,
    function(x) return (linalg.qr(x)):sum() end, { { 1, 2 }, { 2, 4 } })
end)

test("misuse of tracked arrays", function()
  local kept
  sim.value_and_grad(function(x)
    kept = x * 2
    raises("a tracked array is read%-only", function() x[1] = 3 end)
    local plain = sim.zeros(2)
    raises("a tracked number cannot be assigned into an array", function() plain[1] = x[1] end)
    local rows = sim.zeros(2, 2)
    raises("a tracked array cannot be assigned into another", function() rows[1] = x end)
    raises("q: this argument has no derivative yet; a:value%(%)", sim.lcp.vjp,
      sim.eye(2), x, { 0, 0 }, { 1, 1 })
    eq(tostring(x), "{1.0, 2.0} (tracked)")
    eq(x:value():table(), { 1, 2 })
    eq(tostring(x:value()), "{1.0, 2.0}")
    return x:sum()
  end, sim.array { 1, 2 })
  raises("a tracked array is used outside of the gradient call", function() return kept + 1 end)
  raises("a tracked array is used outside of the gradient call", function() return kept[1] end)
  eq(kept:value():table(), { 2, 4 }) -- the remedy
end)

test("the same bits again", function()
  local function f(x) return (linalg.solve(x, sim.exp(x)):mm(x)):norm() end
  local v1, g1 = sim.value_and_grad(f, sim.array(A))
  local v2, g2 = sim.value_and_grad(f, sim.array(A))
  ok(v1 == v2 and g1 == g2)
end)
