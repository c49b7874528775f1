-- sim.array: lists and matrices of numbers.
local sim = require "sim2d"
local array, linalg = sim.array, sim.linalg
local nan, inf = 0 / 0, math.huge

local function same(a, want, tolerance)
  local wanted = type(want) == "table" and array(want) or want
  ok(a:equals(wanted, tolerance or 0), tostring(a) .. " is not " .. tostring(wanted))
end

local M = array { { 1, 2, 3 }, { 4, 5, 6 } }

-- ---- Making --------------------------------------------------------------------------------------

test("lists and matrices from tables", function()
  local v = array { 1, 2.5, -3 }
  eq(v.shape, { 3 })
  eq({ #v, v.size, v[1], v[3] }, { 3, 3, 1.0, -3.0 })
  eq(M.shape, { 2, 3 })
  eq({ #M, M.size, M[{ 2, 1 }], v[{ 2 }] }, { 2, 6, 4.0, 2.5 })
  eq(M:table(), { { 1, 2, 3 }, { 4, 5, 6 } })
  eq(v:table(), { 1, 2.5, -3 })
  eq(array({}).shape, { 0 })
  eq(array({ {}, {} }).shape, { 2, 0 })
  same(array { M[1], { 7, 8, 9 }, v }, { { 1, 2, 3 }, { 7, 8, 9 }, { 1, 2.5, -3 } })
end)

test("vectors of the engine become arrays", function()
  local ball = sim.world {}:circle { radius = 1, position = { 3, 4 } }
  same(array(ball.position), { 3, 4 })
  same(array { ball.position, ball.position }, { { 3, 4 }, { 3, 4 } })
  same(ball.q - array { 0, 1, 1 }, { 0, 2, 3 })
  same(array { 1, 1 } + ball.position, { 4, 5 })
  same(ball.position / array { 2, 2 }, { 1.5, 2 })
end)

test("shapes given with the numbers", function()
  same(array({ 1, 2, 3, 4, 5, 6 }, 2, 3), M)
  same(array({ 1, 2, 3, 4, 5, 6 }, { 2, 3 }), M)
  same(array(M, 6), { 1, 2, 3, 4, 5, 6 })
  raises("an array of shape 3 cannot be reshaped to 2 x 2", array, { 1, 2, 3 }, 2, 2)
end)

test("an array of an array is a copy", function()
  local a = array { 1, 2 }
  local b, c = array(a), a:copy()
  b[1], c[1] = 5, 6
  eq({ a[1], b[1], c[1] }, { 1.0, 5.0, 6.0 })
end)

test("values that cannot be arrays are named", function()
  raises("array: list of numbers or of rows expected, got 3", array, 3)
  raises("array: list of numbers or of rows expected, got no value", array)
  raises("array: list of numbers or of rows expected, got a table with the key 'x'", array, { x = 1 })
  raises("array%[2%]: number expected, got 'b'", array, { 1, "b" })
  raises("array%[2%]: number expected, got table", array, { 1, { 2 } })
  raises("array%[1%]: number or row expected, got true", array, { true })
  raises("array%[2%]: 2 numbers expected, got 1", array, { { 1, 2 }, { 3 } })
  raises("array%[2%]: a row of 2 numbers expected, got 3", array, { { 1, 2 }, 3 })
  raises("array%[1%]%[2%]: number expected, got 'x'", array, { { 1, "x" } })
  raises("array%[1%]: number or row expected, got Array", array, { M })
  raises("array%[2%]: finite number expected, got nan", array, { 1, nan })
  raises("array%[1%]%[1%]: finite number expected, got inf", array, { { inf } })
end)

test("zeros, ones, eye, linspace", function()
  same(sim.zeros(2), { 0, 0 })
  same(sim.zeros(1, 2), { { 0, 0 } })
  same(sim.ones { 2, 2 }, { { 1, 1 }, { 1, 1 } })
  same(sim.ones { 3 }, { 1, 1, 1 })
  same(sim.eye(2), { { 1, 0 }, { 0, 1 } })
  same(sim.linspace(0, 1, 5), { 0, 0.25, 0.5, 0.75, 1 })
  same(sim.linspace(3, 4, 1), { 3 })
  eq(sim.linspace(0.1, 0.7, 7)[7], 0.7)
  eq(sim.zeros(0).size, 0)
  raises("bad argument #1 to 'zeros' %(shape: integer not below 0 expected, got %-1%)", sim.zeros, -1)
  raises("bad argument #2 to 'ones' %(shape: integer not below 0 expected, got 'a'%)", sim.ones, 2, "a")
  raises("bad argument #1 to 'zeros' %(shape expected: a length, or rows and columns; got 3 numbers%)",
    sim.zeros, 2, 2, 2)
  raises("bad argument #1 to 'zeros' %(shape expected", sim.zeros)
  raises("bad argument #1 to 'eye' %(integer expected, got 1.5%)", sim.eye, 1.5)
  raises("too large", sim.zeros, 100000, 100000)
end)

test("randn draws from sim.random or the generator given", function()
  sim.random.seed(3)
  local a = sim.randn(2, 2)
  sim.random.seed(3)
  local b = array { { sim.random.normal(), sim.random.normal() },
    { sim.random.normal(), sim.random.normal() } }
  ok(a == b)
  local generator = sim.random.split()
  generator:seed(3)
  ok(sim.randn(2, 2, generator) == a)
  generator:seed(3)
  ok(sim.randn({ 2, 2 }, generator) == a)
end)

-- ---- Reading and assigning -----------------------------------------------------------------------

test("ipairs, unpack and names", function()
  local sum = 0
  for i, x in ipairs(array { 5, 6, 7 }) do sum = sum + i * x end
  eq(sum, 38.0)
  for i, row in ipairs(M) do eq(row[2], 3 * i - 1.0) end
  eq({ table.unpack(array { 1, 2 }) }, { 1.0, 2.0 })
  local p, q = array { 3, 4 }, array { 1, 2, 3 }
  eq({ p.x, p.y, q.a, q.x, q.y, q.va, q.vx, q.vy }, { 3.0, 4.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0 })
  raises("an array of shape 2 x 3 has no field 'x': lists of two", function() return M.x end)
  raises("an array of shape 2 has no field 'a'", function() return p.a end)
  raises("Array has no field 'sumn'; did you mean 'sum'", function() return M.sumn end)
  raises("Array has no field true", function() return M[true] end)
end)

test("a float without a fraction is an index, as in a table", function()
  local random = sim.random.split()
  random:seed(4)
  for _ = 1, 200 do
    local rows, columns = random:integer(1, 6), random:integer(1, 6)
    local i, j = random:integer(1, rows), random:integer(1, columns)
    local fi, fj, m = 2 * i / 2, j + 0.0, sim.randn({ rows, columns }, random)
    local list = m:row(i)
    ok(math.type(fi) == "float")
    eq(list[fj], list[j])
    eq(m[fi]:table(), m[i]:table())
    eq(m[{ fi, fj }], m[{ i, j }])
    eq(m:row(fi):table(), list:table())
    eq(m:column(fj):table(), m:column(j):table())
    eq(list:slice({ 1.0, fj }):table(), list:slice({ 1, j }):table())
    eq(m:slice({ 1.0, fi }, { fj, fj }).shape, { i, 1 })
    eq(sim.zeros(rows + 0.0, columns + 0.0).shape, { rows, columns })
    eq(m:reshape(columns + 0.0, rows + 0.0).shape, { columns, rows })
    list[fj] = 7
    m[{ fi, fj }] = 8
    m[fi] = m[fi] * 2
    eq({ list[j], m[{ i, j }] }, { 7.0, 16.0 })
    local gradient = sim.grad(function(p) return p.a[fj] ^ 2 + p.m[fi][fj] * p.m[{ fi, fj }] end, { a = list, m = m })
    eq({ gradient.a[j], gradient.m[{ i, j }] }, { 14.0, 32.0 })
  end
  local world = sim.world {}
  local ball = world:circle { radius = 1, position = { 3, 4 } }
  eq({ ball.position[4 / 2], world.bodies[2 / 2].x, ball.position[3.0] }, { 4.0, 3.0, nil })
  raises("Array has no field 1.5", function() return M[1.5] end)
  raises("an array has no field 0.5 that can be assigned", function() array { 1 }[0.5] = 1 end)
  raises("Vector has no field 1.5", function() return ball.position[1.5] end)
  raises("index 4 is out of range for an array", function() return array { 1, 2 }[8 / 2] end)
  raises("integer expected, got '1'", function() return array { 1, 2 }:slice { "1", 2 } end)
end)

test("indices out of range", function()
  local v = array { 1, 2 }
  eq(v[3], nil) -- ends ipairs
  raises("index 4 is out of range for an array of shape 2", function() return v[4] end)
  raises("index 0 is out of range for an array of shape 2 x 3", function() return M[0] end)
  raises("index 3 is outside 1 to 2, for an array of shape 2 x 3", function() return M[{ 3, 1 }] end)
  raises("index 0 is outside 1 to 3", function() return M[{ 1, 0 }] end)
  raises("1 indices do not fit an array of shape 2 x 3", function() return M[{ 1 }] end)
  raises("integer expected, got 1.5", function() return M[{ 1, 1.5 }] end)
end)

test("assigning", function()
  local a = sim.zeros(2, 2)
  a[{ 1, 2 }] = 5
  a[2] = { 7, 8 }
  same(a, { { 0, 5 }, { 7, 8 } })
  a[1] = 3
  a[2] = a[1] * 2
  same(a, { { 3, 3 }, { 6, 6 } })
  local v = sim.zeros(2)
  v[1], v.y = 4, 5
  v[{ 1 }] = 6
  same(v, { 6, 5 })
  raises("index 3 is out of range for an array of shape 2: an array does not grow", function() v[3] = 1 end)
  raises("number expected, got 'x'", function() v[1] = "x" end)
  raises("finite number expected, got nan", function() v[1] = nan end)
  raises("a row of 2 numbers expected, got shape 3", function() a[1] = { 1, 2, 3 } end)
  raises("no field 'size' that can be assigned", function() v.size = 3 end)
  raises("no field 'z' that can be assigned", function() v.z = 3 end)
  same(v, { 6, 5 })
end)

test("a row of a matrix is a copy, which an assignment reports", function()
  local a = sim.zeros(2, 2)
  raises("a%[i%] of a matrix is a copy: assign a%[{i, j}%]", function() a[1][2] = 3 end)
  local row = a:row(1)
  row[1] = 3
  eq(a[{ 1, 1 }], 0.0)
end)

test("text", function()
  eq(tostring(array { 1, -2.5, 1e20 / 3 }), "{1.0, -2.5, 3.3333333333333e+19}")
  eq(tostring(array { { 1, 2 }, { -30, 1 / 3 } }), "{{  1.0,      2.0},\n {-30.0, 0.333333}}")
  eq(tostring(sim.zeros(0)), "{}")
  eq(tostring(sim.zeros(1) / 0), "{nan}")
  eq(tostring(sim.zeros(2000)), "{0.0, 0.0, 0.0, ..., 0.0, 0.0, 0.0}")
  eq(#tostring(sim.zeros(1000, 1000)), 1 + 6 * #"{0.0, 0.0, 0.0, ..., 0.0, 0.0, 0.0}" + 6 * #",\n " + #"..." + 1)
end)

-- ---- Arithmetic ----------------------------------------------------------------------------------

test("operators, with broadcasting", function()
  local a = array { { 1, 2 }, { 3, 4 } }
  same(a + a, { { 2, 4 }, { 6, 8 } })
  same(a - 1, { { 0, 1 }, { 2, 3 } })
  same(1 - a, { { 0, -1 }, { -2, -3 } })
  same(a * { 10, 100 }, { { 10, 200 }, { 30, 400 } })
  same(a / array { { 1 }, { 2 } }, { { 1, 2 }, { 1.5, 2 } })
  same(2 ^ a, { { 2, 4 }, { 8, 16 } })
  same(a ^ 2, { { 1, 4 }, { 9, 16 } })
  same(-a, { { -1, -2 }, { -3, -4 } })
  same(array { { 1 }, { 2 } } + array { 10, 20, 30 }, { { 11, 21, 31 }, { 12, 22, 32 } })
  eq((sim.zeros(0, 3) + sim.ones(3)).shape, { 0, 3 })
  ok((array { 1 } / 0)[1] == inf) -- results of operations may be infinite
end)

test("shapes that do not fit name both", function()
  raises("add: shapes do not fit: 2 x 3 and 2$", function() return M + { 1, 2 } end)
  raises("multiply: shapes do not fit: 3 and 2 x 2", function() return array { 1, 2, 3 } * sim.eye(2) end)
  raises("list of numbers or of rows expected, got 'x'", function() return M + "x" end)
  raises("list of numbers or of rows expected, got nil", function() return M + nil end)
end)

test("equality", function()
  ok(array { 1, 2 } == array { 1, 2 })
  ok(array { 1, 2 } ~= array { 1, 3 })
  ok(array { 1, 2 } ~= array { { 1, 2 } })
  ok(array({ nan and 1 }) / 0 * 0 ~= array { 1 })
  ok(array { 1, 2 }:equals({ 1, 2.1 }, 0.2))
  ok(not array { 1, 2 }:equals({ 1, 2.1 }, 0.05))
  raises("Array expected, got 3", M.equals, M, 3)
end)

test("comparison gives ones and zeros", function()
  local a = array { 1, 2, 3 }
  same(a:lt(2), { 1, 0, 0 })
  same(a:le(2), { 1, 1, 0 })
  same(a:gt { 0, 2, 0 }, { 1, 0, 1 })
  same(a:ge(2), { 0, 1, 1 })
  same(a:eq(2), { 0, 1, 0 })
end)

test("functions, number by number", function()
  for _, name in ipairs { "sin", "cos", "tan", "asin", "acos", "atan", "exp", "sqrt", "abs", "floor" } do
    same(sim[name](array { { 0.25, 0.5 } }), { { math[name](0.25), math[name](0.5) } })
  end
  same(sim.tanh(array { 0, 1 }), { 0, (math.exp(2) - 1) / (math.exp(2) + 1) }, 1e-15)
  same(sim.log(array { 1, 8 }, 2), { 0, 3 })
  same(sim.max(M, array { 2, 2, 7 }), { { 2, 2, 7 }, { 4, 5, 7 } })
  same(sim.min(3, M), { { 1, 2, 3 }, { 3, 3, 3 } })
  eq({ sim.max(M), sim.min(M) }, { 6.0, 1.0 })
  same(sim.atan2(array { 1, 0 }, 1), { math.atan(1), 0 })
  same(sim.pow(array { 2, 3 }, 2), { 4, 9 })
  same(sim.clamp(M, 2, 4), { { 2, 2, 3 }, { 4, 4, 4 } })
  ok(sim.sqrt(array { -1 })[1] ~= sim.sqrt(array { -1 })[1]) -- nan, as in math
end)

test("relu", function()
  same(sim.relu(array { -1, 0, 2 }), { 0, 0, 2 })
  eq({ sim.relu(-1), sim.relu(3) }, { 0.0, 3.0 })
end)

-- ---- Along axes, parts ---------------------------------------------------------------------------

test("sums, means, extremes", function()
  eq({ M:sum(), M:mean(), M:max(), M:min() }, { 21.0, 3.5, 6.0, 1.0 })
  same(M:sum(1), { 5, 7, 9 })
  same(M:sum(2), { 6, 15 })
  same(M:mean(2), { 2, 5 })
  same(M:max(1), { 4, 5, 6 })
  same(M:min(2), { 1, 4 })
  eq({ sim.sum { 1, 2 }, sim.mean(array { 1, 2 }), array({ 1, 2 }):sum(1) }, { 3.0, 1.5, 3.0 })
  eq(sim.zeros(0):sum(), 0.0)
  near(array { 3, 4 }:norm(), 5)
  near(linalg.norm(array { { 3, 0 }, { 0, 4 } }), 5)
  raises("max: the array of shape 0 is empty", function() return sim.zeros(0):max() end)
  raises("mean: the array of shape 0 x 2 is empty", function() return sim.zeros(0, 2):mean(1) end)
  raises("bad argument #1 to 'sum' %(integer from 1 to 2 expected, got 3%)", function() return M:sum(3) end)
  raises("integer from 1 to 1 expected, got 2", function() return array { 1 }:sum(2) end)
end)

test("products", function()
  local v = array { 1, 0, -1 }
  same(M:mm(v), { -2, -2 })
  same(array { 1, 1 }:mm(M), { 5, 7, 9 })
  same(M:mm(M:t()), { { 14, 32 }, { 32, 77 } })
  eq(v:mm { 1, 2, 3 }, -2.0)
  eq(v:dot { 1, 2, 3 }, -2.0)
  raises("mm: shapes do not fit: 2 x 3 and 2 x 3", function() return M:mm(M) end)
  raises("mm: two arrays expected; use %* for a number", function() return M:mm(2) end)
  raises("dot of two lists: shapes do not fit: 3 and 2 x 3", function() return v:dot(M) end)
  local big = sim.randn(40, 30)
  same(big:mm(sim.eye(30)), big)
end)

test("transposes, rows, columns, parts, shapes", function()
  same(M:t(), { { 1, 4 }, { 2, 5 }, { 3, 6 } })
  same(M:row(2), { 4, 5, 6 })
  same(M:column(3), { 3, 6 })
  same(M:diagonal(), { 1, 5 })
  same(M:slice({ 2, 2 }), { { 4, 5, 6 } })
  same(M:slice(nil, { 2, 3 }), { { 2, 3 }, { 5, 6 } })
  same(array { 1, 2, 3, 4 }:slice { 2, 3 }, { 2, 3 })
  eq(array { 1, 2 }:slice({ 1, 0 }).size, 0)
  same(M:reshape(3, 2), { { 1, 2 }, { 3, 4 }, { 5, 6 } })
  same(M:reshape { 6 }, { 1, 2, 3, 4, 5, 6 })
  raises("an array of shape 2 x 3 cannot be reshaped to 4", function() return M:reshape(4) end)
  raises("t: matrix expected, got an array of shape 2", function() return array { 1, 2 }:t() end)
  raises("bad argument #1 to 'row' %(integer from 1 to 2 expected, got 3%)", function() return M:row(3) end)
  raises("{first, last} from 1 to 2 expected, got {1, 3}", function() return M:slice { 1, 3 } end)
  raises("{first, last} expected, got 2", function() return M:slice(2) end)
  raises("a list has no second axis", function() return array { 1 }:slice({ 1, 1 }, { 1, 1 }) end)
end)

test("concat and stack", function()
  same(sim.concat { array { 1 }, { 2, 3 } }, { 1, 2, 3 })
  same(sim.concat { M, { { 7, 8, 9 } } }, { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } })
  same(sim.concat({ M, { { 0 }, { 1 } } }, 2), { { 1, 2, 3, 0 }, { 4, 5, 6, 1 } })
  same(sim.stack { { 1, 2 }, array { 3, 4 } }, { { 1, 2 }, { 3, 4 } })
  same(sim.stack({ { 1, 2 }, array { 3, 4 } }, 2), { { 1, 3 }, { 2, 4 } })
  raises("concat: part 2 of shape 2 x 2 does not fit part 1 of shape 2 x 3",
    sim.concat, { M, sim.eye(2) })
  raises("concat: lists have no axis 2", sim.concat, { { 1 }, { 2 } }, 2)
  raises("stack: part 2 of shape 1 does not fit part 1 of shape 2", sim.stack, { { 1, 2 }, { 3 } })
  raises("stack: lists expected, but part 1 has shape 2 x 3", sim.stack, { M })
  raises("bad argument #1 to 'concat' %(list of arrays expected, got an empty table%)", sim.concat, {})
  raises("part 1: list of numbers or of rows expected, got 1", sim.concat, { 1, 2 })
end)

-- ---- Linear algebra ------------------------------------------------------------------------------

test("solve, inv, det", function()
  local A = array { { 1, 2 }, { 3, 4 } }
  same(linalg.solve(A, { 5, 11 }), { 1, 2 }, 1e-14)
  same(linalg.solve(A, { { 5, 1 }, { 11, 3 } }), { { 1, 1 }, { 2, 0 } }, 1e-14)
  same(linalg.inv { { 1, 2 }, { 3, 4 } }, { { -2, 1 }, { 1.5, -0.5 } }, 1e-14)
  near(linalg.det(A), -2)
  sim.random.seed(8)
  for _, n in ipairs { 1, 3, 16, 17, 40 } do -- small ones and those of LAPACK
    local B = sim.randn(n, n) + n * sim.eye(n)
    local X = sim.randn(n, 3)
    same(linalg.solve(B, B:mm(X)), X, 1e-12)
    same(linalg.inv(B):mm(B), sim.eye(n), 1e-12)
  end
end)

test("values that cannot be computed give nil and the reason", function()
  local singular = { { 1, 2 }, { 2, 4 } }
  eq({ linalg.solve(singular, { 1, 1 }) }, { nil, "singular matrix" })
  eq({ linalg.inv(singular) }, { nil, "singular matrix" })
  local _, message = linalg.inv { { 1, 1 }, { 1, 1 + 4e-16 } }
  ok(message:find "singular matrix to working precision")
  eq({ linalg.cholesky { { 1, 2 }, { 2, 1 } } }, { nil, "the matrix is not positive definite" })
  eq({ linalg.svd(array { { 1, 1 } } / 0) }, { nil, "the matrix is not finite" })
  eq({ linalg.eig(sim.eye(2) / 0) }, { nil, "the matrix is not finite" })
  eq(linalg.det(singular), 0.0)
end)

test("malformed input raises", function()
  raises("bad argument #1 to 'solve' %(square matrix expected, got shape 2 x 3%)", linalg.solve, M, { 1, 2 })
  raises("bad argument #2 to 'solve' %(right%-hand side: shapes do not fit: 2 x 2 and 3%)",
    linalg.solve, sim.eye(2), { 1, 2, 3 })
  raises("bad argument #1 to 'det' %(square matrix expected, got shape 2%)", linalg.det, { 1, 2 })
  raises("bad argument #1 to 'svd' %(matrix expected, got a number%)", linalg.svd, 3)
  raises("bad argument #1 to 'svd' %(matrix expected, got no value%)", linalg.svd)
  raises("has no field 'sovle'; did you mean 'solve'", function() return linalg.sovle end)
end)

test("lstsq", function()
  local A = array { { 1, 0 }, { 1, 1 }, { 1, 2 } }
  local x, rank = linalg.lstsq(A, { 1, 3, 5 })
  same(x, { 1, 2 }, 1e-14)
  eq(rank, 2)
  x = linalg.lstsq(A, { 0, 3, 0 })
  same(x, { 1, 0 }, 1e-14)
  x, rank = linalg.lstsq({ { 1, 1 }, { 1, 1 } }, { 2, 2 }) -- the shortest of many
  same(x, { 1, 1 }, 1e-14)
  eq(rank, 1)
end)

test("factors multiply to the matrix", function()
  sim.random.seed(9)
  for _, shape in ipairs { { 4, 4 }, { 6, 3 }, { 3, 6 }, { 1, 1 } } do
    local A, k = sim.randn(shape), math.min(shape[1], shape[2])
    local Q, R = linalg.qr(A)
    same(Q:mm(R), A, 1e-13)
    same(Q:t():mm(Q), sim.eye(k), 1e-13)
    ok(R:diagonal():min() >= 0)
    local U, s, V = linalg.svd(A)
    same((U * s):mm(V:t()), A, 1e-13)
    same(U:t():mm(U), sim.eye(k), 1e-13)
    same(V:t():mm(V), sim.eye(k), 1e-13)
    for i = 2, k do ok(s[i] <= s[i - 1] and s[i] >= 0) end
    local P = A:mm(A:t()) + sim.eye(shape[1])
    local L = linalg.cholesky(P)
    same(L:mm(L:t()), P, 1e-12)
  end
end)

test("eig", function()
  local values, V, imaginary = linalg.eig { { 2, 1 }, { 1, 2 } }
  same(values, { 1, 3 }, 1e-14)
  eq(imaginary, nil)
  local A = array { { 1, 2 }, { 0, 3 } }
  values, V = linalg.eig(A)
  same(values, { 1, 3 }, 1e-14)
  same(A:mm(V), V * values, 1e-14)
  values, V, imaginary = linalg.eig { { 1, -2 }, { 2, 1 } } -- 1 +- 2i
  same(values, { 1, 1 }, 1e-14)
  same(imaginary, { 2, -2 }, 1e-14)
end)

test("expm", function()
  local e = linalg.expm { { 0, -1 }, { 1, 0 } }
  same(e, { { math.cos(1), -math.sin(1) }, { math.sin(1), math.cos(1) } }, 1e-15)
  same(linalg.expm { { 1, 1 }, { 0, 1 } } / math.exp(1), { { 1, 1 }, { 0, 1 } }, 1e-14)
  same(linalg.expm(sim.zeros(3, 3)), sim.eye(3))
end)

test("empty ones", function()
  local none = sim.zeros(0, 0)
  eq(sim.zeros(0, 3):mm(sim.zeros(3, 2)).shape, { 0, 2 })
  same(sim.zeros(2, 0):mm(sim.zeros(0, 3)), sim.zeros(2, 3))
  eq(sim.zeros(0, 3):t().shape, { 3, 0 })
  same(sim.zeros(0, 3):sum(1), { 0, 0, 0 })
  eq(sim.concat({ sim.zeros(2, 0), sim.zeros(2, 0) }, 2).shape, { 2, 0 })
  eq({ linalg.det(none), linalg.norm(none), #linalg.inv(none), #linalg.expm(none) }, { 1.0, 0.0, 0, 0 })
  for _, name in ipairs { "qr", "svd" } do
    eq({ linalg[name](sim.zeros(0, 3))[1] }, {})
    ok(linalg[name](none))
  end
  ok(linalg.eig(none) and linalg.cholesky(none))
  eq(linalg.solve(none, {}).shape, { 0 })
  eq(linalg.solve(sim.eye(2), sim.zeros(2, 0)).shape, { 2, 0 })
  same(linalg.lstsq(sim.zeros(2, 0), { 1, 2 }), {})
  same((linalg.lstsq(sim.zeros(0, 2), {})), { 0, 0 })
  ok(linalg.expm { { 1e308, 1e308 }, { 1e308, 1e308 } } == nil) -- beyond the range of numbers
end)

-- ---- Derivatives through rest --------------------------------------------------------------------

test("solvers take arrays in place of tables", function()
  local M2, q = { { 2, 1 }, { 1, 2 } }, { -5, -6 }
  eq((sim.lcp.solve(array(M2), array(q))), (sim.lcp.solve(M2, q)))
  eq((sim.kkt.solve { W = array { 1, 3 }, J = array { { 1, -1 } }, c = array { 4, 0 }, b = { 0 } }),
    (sim.kkt.solve { W = { 1, 3 }, J = { { 1, -1 } }, c = { 4, 0 }, b = { 0 } }))
  near((sim.qp.solve { P = sim.eye(2), q = array { -1, -2 }, G = sim.ones(1, 2), h = array { 1 } }),
    { 0, 1 }, 1e-9)
  local x = sim.ncp.solve { x0 = array { 0 }, theta = array { 3 }, cones = { orthant = 1 },
    residual = function(x, y, z, theta) return array { x[1] - theta[1] - z[1], y[1] - x[1] + 4 } end }
  near(x, { 4 }, 1e-8)
  raises("q: list of numbers expected, got an array of shape 1 x 2",
    sim.lcp.solve, M2, array { { 1, 2 } })
  raises("q: 2 numbers expected, got 3", sim.lcp.solve, M2, array { 1, 2, 3 })
  raises("M: matrix expected, got an array of shape 2", sim.lcp.solve, array { 1, 2 }, q)
end)

test("worlds take arrays in place of lists", function()
  local world = sim.world { gravity = array { 0, -5 } }
  local ball = world:circle { radius = 1, position = array { 1, 2 } }
  eq({ world.gravity.y, ball.x, ball.y }, { -5.0, 1.0, 2.0 })
  ball.velocity = array { 3, 4 } / 2
  eq(ball.vy, 2.0)
  world:set_state(array(world:state()) * 2)
  eq({ ball.x, ball.vx }, { 2.0, 3.0 })
  world:actuator { name = "push", body = ball, kind = "force", direction = { 1, 0 },
    range = { -9, 9 } }
  world:act(array { 3 })
  world:observe { "motion", read = function() return array { { 1, 2 }, { 3, 4 } } end }
  eq(world:observation().motion, { 1.0, 2.0, 3.0, 4.0 })
  local triangle = world:polygon { vertices = array { { 0, 0 }, { 2, 0 }, { 0, 2 } } }
  near(triangle.mass, 2)
  local function drop(list, compliance) -- held by two springs, one with a function and one of a joint
    local space = sim.world {}
    local bob = space:circle { radius = 0.5, position = { 1, 0 } }
    space:constraint { bodies = { bob }, compliance = 1e-3, phi = function(q) return q.x + q.y - 1 end,
      jacobian = function() return list { 0, 1, 1 } end,
      hessian = function() return list { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } } end }
    space:weld { bob, anchor = { 1, 0 }, compliance = compliance }
    space:run { steps = 10 }
    return space:state()
  end
  local matrix = { { 2e-3, 0, 0 }, { 0, 1e-3, 0 }, { 0, 0, 1e-3 } }
  eq(drop(array, array(matrix)), drop(function(t) return t end, matrix))
  raises("key 'position': {x, y} expected, got Array", function()
    world:circle { radius = 1, position = array { 1, 2, 3 } }
  end)
end)
