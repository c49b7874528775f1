-- The cost of array operations: build/sim2d bench/lua/array.lua
-- Each operation is repeated for 0.005 s, in 40 rounds; the fastest round counts, so a busy machine matters less.
local sim = require "sim2d"

local TIME, ROUNDS = 0.005, 40 -- s

local function seconds(fn)
  local best, count = math.huge, 1
  for _ = 1, ROUNDS do
    collectgarbage()
    local took
    repeat
      local start = sim.clock()
      for _ = 1, count do fn() end
      took = sim.clock() - start
      if took < TIME then count = count * 2 end
    until took >= TIME
    best = math.min(best, took / count)
  end
  return best
end

sim.random.seed(1)
local v, w, A = sim.randn(3), sim.randn(3), sim.randn(3, 3) + 3 * sim.eye(3)
local rows = {}
local function small(name, fn)
  rows[#rows + 1] = { name, ("%.0f"):format(1e9 * seconds(fn)) }
end
small("v + w", function() return v + w end)
small("2 * v", function() return 2 * v end)
small("v:sum()", function() return v:sum() end)
small("v[2]", function() return v[2] end)
small("v.x", function() return v.x end)
small("A[{1, 2}]", function() return A[{ 1, 2 }] end)
small("sim.array{1, 2, 3}", function() return sim.array { 1, 2, 3 } end)
small("sim.zeros(3)", function() return sim.zeros(3) end)
small("A:t()", function() return A:t() end)
small("A:mm(v)", function() return A:mm(v) end)
small("A:mm(A)", function() return A:mm(A) end)
small("sim.concat{v, w}", function() return sim.concat { v, w } end)
small("sim.linalg.solve(A, v)", function() return sim.linalg.solve(A, v) end)
small("sim.linalg.inv(A)", function() return sim.linalg.inv(A) end)
small("sim.linalg.cholesky(A:mm(A:t()))", function() return sim.linalg.cholesky(A:mm(A:t())) end)
small("sim.linalg.svd(A)", function() return sim.linalg.svd(A) end)
small("sim.linalg.eig(A)", function() return sim.linalg.eig(A) end)
sim.table { columns = { "lists of 3, matrices of 3 x 3", "ns" }, table.unpack(rows) }
print()

rows = {}
for _, n in ipairs { 1000, 100000, 1000000 } do
  local a, b = sim.randn(n), sim.randn(n)
  local function rate(bytes, fn) return ("%.1f"):format(1e-9 * bytes * n / seconds(fn)) end
  rows[#rows + 1] = { n, rate(24, function() return a + b end), rate(24, function() return a * b end),
    rate(16, function() return -a end), rate(8, function() return a:sum() end) }
end
sim.table { columns = { "numbers", "a + b GB/s", "a * b GB/s", "-a GB/s", "sum GB/s" },
  table.unpack(rows) }
print()

rows = {}
for _, n in ipairs { 10, 100, 500 } do
  local a, b = sim.randn(n, n) + n * sim.eye(n), sim.randn(n)
  local product, solve = seconds(function() return a:mm(a) end), seconds(function() return sim.linalg.solve(a, b) end)
  rows[#rows + 1] = { n, ("%.3g"):format(1e6 * product), ("%.2f"):format(2e-9 * n ^ 3 / product),
    ("%.3g"):format(1e6 * solve) }
end
sim.table { columns = { "n x n", "mm us", "GFLOP/s", "solve us" }, table.unpack(rows) }
print()

-- y = y * 0.999 + x, repeated: plain, and tracked with the sweep back
rows = {}
for _, n in ipairs { 3, 100, 1000 } do
  local STEPS = 500
  local function chain(x)
    local y = x
    for _ = 1, STEPS do y = y * 0.999 + x end
    return y:sum()
  end
  local x = sim.ones(n)
  local plain = seconds(function() return chain(x) end)
  local tracked = seconds(function() return sim.value_and_grad(chain, x) end)
  rows[#rows + 1] = { n, ("%.2f"):format(1e6 * plain / STEPS / 2), ("%.2f"):format(1e6 * tracked / STEPS / 2) }
end
sim.table { columns = { "numbers", "plain us/operation", "with gradient us/operation" }, table.unpack(rows) }
