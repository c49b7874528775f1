-- sim.kkt in plain tables.
local sim = require "sim2d"
local nan = 0 / 0
local SOLVERS = { "ldl", "schur", "cg", "minres" }

local function near_list(list, expected)
  eq(#list, #expected)
  for i, x in ipairs(expected) do near(list[i], x, 1e-9) end
end

-- Two masses, 1 and 3, tied together; alone the first would move at 4, the second at 0: together both move at 1, and
-- the tie takes 3 from the first.
local function tied(solver)
  return { W = { 1, 3 }, J = { { 1, -1 } }, c = { 4, 0 }, b = { 0 }, solver = solver }
end

test("a tie of two masses, by every solver", function()
  for _, solver in ipairs(SOLVERS) do
    local v, lambda, info = sim.kkt.solve(tied(solver))
    near_list(v, { 1, 1 })
    near_list(lambda, { -3 })
    eq({ info.status, info.solver }, { "solved", solver })
    ok(info.residual <= 1e-9 and info.iterations > 0 and info.time > 0)
  end
end)

test("W as rows, and coupled", function()
  local system = tied()
  system.W = { { 1, 0 }, { 0, 3 } }
  eq((sim.kkt.solve(system)), (sim.kkt.solve(tied())))
  for _, solver in ipairs(SOLVERS) do
    local v, lambda = sim.kkt.solve {
      W = { { 2, 1 }, { 1, 2 } }, J = { { 1, 0 } }, c = { 0, 3 }, b = { -1 }, solver = solver }
    near_list(v, { 1, 1 }) -- held at 1, the other one follows: 1 + 2 v = 3
    near_list(lambda, { 3 })
  end
end)

test("compliance and repeated rows", function()
  for _, solver in ipairs(SOLVERS) do
    local system = tied(solver)
    system.C = { 2 / 3 } -- v1 - v2 = 4 + 4/3 lambda = -2/3 lambda
    local v, lambda = sim.kkt.solve(system)
    near_list(lambda, { -2 })
    near_list(v, { 2, 2 / 3 })
    system = tied(solver)
    system.J, system.b = { { 1, -1 }, { 2, -2 }, { 1, -1 } }, { 0, 0, 0 }
    v, lambda = sim.kkt.solve(system)
    near_list(v, { 1, 1 })
    near(lambda[1] + 2 * lambda[2] + lambda[3], -3, 1e-9)
  end
end)

test("contradicting rows come with their proof", function()
  local v, status, info = sim.kkt.solve {
    W = { 1, 3 }, J = { { 1, -1 }, { 2, -2 } }, c = { 4, 0 }, b = { 0, 1 } }
  eq({ v, status, info.status }, { nil, "infeasible", "infeasible" })
  near(info.certificate[1] + 2 * info.certificate[2], 0, 1e-9)
  near(info.certificate[2], 0.5, 1e-9) -- the largest entry is 1, and b'y > 0
end)

test("sizes of 0", function()
  local v, none = sim.kkt.solve { W = {}, c = {} }
  eq({ v, none }, { {}, {} })
  near_list((sim.kkt.solve { W = { 2 }, c = { 1 } }), { 0.5 })
  local _, lambda = sim.kkt.solve { W = {}, c = {}, C = { 2 }, b = { 3 } }
  near_list(lambda, { -1.5 })
end)

test("no number raises an error", function()
  local system = tied()
  system.W = { -1, 3 }
  eq((select(2, sim.kkt.solve(system))), "unsupported")
  system.W = { { 1, 2 }, { 0, 3 } }
  eq((select(2, sim.kkt.solve(system))), "unsupported")
  system.W = { 1, nan }
  local v, status, info = sim.kkt.solve(system)
  eq({ v, status }, { nil, "singular" })
  ok(info.residual ~= info.residual)
end)

test("limits and the record", function()
  local n, W, J, c, b = 30, {}, {}, {}, {}
  for i = 1, n do
    W[i], c[i] = i, (-1) ^ i
    J[i], b[i] = {}, 0
    for k = 1, n do J[i][k] = (k == i and 1) or (k == i - 1 and -1) or 0 end
  end
  J[n], b[n] = nil, nil
  for _, solver in ipairs(SOLVERS) do
    local system = { W = W, J = J, c = c, b = b, solver = solver, history = true }
    local _, _, info = sim.kkt.solve(system)
    eq({ info.status, #info.history }, { "solved", info.iterations })
    ok(info.history[#info.history].residual <= 1e-9)
    system.max_iterations, system.tolerance, system.history = 1, 1e-200, false
    local v, status, short = sim.kkt.solve(system)
    eq({ v, status, short.iterations, short.history }, { nil, "max_iterations", 1, nil })
  end
end)

test("the list of solvers", function()
  local list = sim.kkt.solvers()
  eq(#list, #SOLVERS)
  for i, name in ipairs(SOLVERS) do
    eq(list[i].name, name)
    ok(#list[i].summary > 0)
  end
end)

test("malformed systems raise, naming the place", function()
  local J, b = { { 1, -1 } }, { 0 }
  raises("key 'c' is missing", sim.kkt.solve, { W = { 1 } })
  raises("key 'W' is missing", sim.kkt.solve, { c = { 1 } })
  raises("key 'W': 2 x 2 matrix expected, got 1 x 1", sim.kkt.solve, { W = { 1 }, c = { 1, 2 } })
  raises("key 'W': 2 x 2 matrix expected, got 1 x 2", sim.kkt.solve, { W = { { 1, 0 } }, c = { 1, 2 } })
  raises("W%[2%]: number expected, got 'x'", sim.kkt.solve, { W = { 1, "x" }, c = { 1, 2 } })
  raises("key 'W': matrix expected, got 3", sim.kkt.solve, { W = 3, c = { 1, 2 } })
  raises("key 'J' is missing", sim.kkt.solve, { W = { 1, 1 }, c = { 1, 2 }, b = b })
  raises("key 'J': 1 x 2 matrix expected, got 2 x 2", sim.kkt.solve,
    { W = { 1, 1 }, c = { 1, 2 }, b = b, J = { { 1, 0 }, { 0, 1 } } })
  raises("key 'J': 1 x 2 matrix expected, got 1 x 1", sim.kkt.solve,
    { W = { 1, 1 }, c = { 1, 2 }, b = b, J = { { 1 } } })
  raises("C: 1 numbers expected, got 2", sim.kkt.solve,
    { W = { 1, 1 }, c = { 1, 2 }, b = b, J = J, C = { 1, 1 } })
  raises("solver", sim.kkt.solve, { W = { 1 }, c = { 1 }, solver = "lu" })
  raises("unknown key 'q'", sim.kkt.solve, { W = { 1 }, c = { 1 }, q = 1 })
  raises("tolerance", sim.kkt.solve, { W = { 1 }, c = { 1 }, tolerance = 0 })
end)

test("sparse matrices mean the same", function()
  local dense = { W = { 2, 3, 1 }, J = { { 1, 0, -1 } }, c = { 1, 2, 3 }, b = { 0.5 } }
  local v, lambda = sim.kkt.solve(dense)
  local sparse = {
    W = { rows = 3, columns = 3, i = { 1, 2, 3 }, j = { 1, 2, 3 }, v = { 2, 3, 1 } },
    J = { rows = 1, columns = 3, i = { 1, 1 }, j = { 1, 3 }, v = { 1, -1 } }, c = { 1, 2, 3 }, b = { 0.5 },
  }
  local v2, lambda2 = sim.kkt.solve(sparse)
  eq({ v, lambda }, { v2, lambda2 })
end)
