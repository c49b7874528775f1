-- sim.lcp and the matrix files that it reads.
local sim = require "sim2d"
local lcp = sim.lcp

local M, q = { { 2, 1 }, { 1, 2 } }, { -5, -6 }

local function residual(m, b, z)
  local worst = 0
  for i = 1, #b do
    local w = b[i]
    for j = 1, #b do w = w + m[i][j] * z[j] end
    worst = larger(worst, math.abs(math.min(z[i], w)))
  end
  return worst
end

test("every solver solves its problems to the tolerance", function()
  for _, solver in ipairs(lcp.solvers()) do
    local z, w, info = lcp.solve(M, q, { solver = solver.name })
    near(z, { 4 / 3, 7 / 3 }, 1e-8)
    near(w, { 0, 0 }, 6e-9)
    eq(info.status, "solved")
    eq(info.solver, solver.name == "auto" and "bpp" or solver.name)
    ok(info.residual <= 6e-9 and info.residual == residual(M, q, z))
    ok(info.iterations >= 1 and info.time >= 0)
    eq(info.ray, nil)
    eq(info.history, nil)
  end
end)

test("the solvers are listed with a line about each", function()
  local names = {}
  for i, solver in ipairs(lcp.solvers()) do
    names[i] = solver.name
    ok(#solver.summary > 10)
  end
  eq(names, { "auto", "lemke", "bpp", "enumerate", "pgs", "newton", "pdipm" })
end)

test("an unsolved problem gives nil, a status and info, never an error", function()
  local z, status, info = lcp.solve({ { -1 } }, { -1 })
  eq(z, nil)
  eq(status, "infeasible")
  eq(info.status, "infeasible")
  eq(info.residual, 1)
  z, status, info = lcp.solve({ { 0, -1 }, { -1, 0 } }, { -1, 1 }, { solver = "lemke" })
  eq(z, nil)
  eq(status, "ray")
  eq(#info.ray, 2)
  eq(math.max(info.ray[1], info.ray[2]), 1)
  eq((select(2, lcp.solve({ { 0 } }, { -1 }, { solver = "pgs" }))), "unsupported")
  local big, ones = {}, {}
  for i = 1, 17 do
    big[i], ones[i] = {}, -1
    for j = 1, 17 do big[i][j] = i == j and 1 or 0 end
  end
  eq((select(2, lcp.solve(big, ones, { solver = "enumerate" }))), "unsupported")
  eq((select(2, lcp.solve(big, ones, { solver = "lemke", max_iterations = 3 }))), "max_iterations")
  z, status, info = lcp.solve({ { 0 / 0 } }, { -1 })
  eq(z, nil)
  eq(status, "singular")
  eq(info.residual, 0 / 0)
  eq((select(2, lcp.solve({ { 1 } }, { -math.huge }))), "singular")
end)

test("no rows", function()
  local z, w, info = lcp.solve({}, {})
  eq({ z, w }, { {}, {} })
  eq(info.status, "solved")
end)

test("options", function()
  local _, _, exact = lcp.solve(M, q, { solver = "pgs", tolerance = 1e-12 })
  local _, _, rough = lcp.solve(M, q, { solver = "pgs", tolerance = 1e-3 })
  ok(exact.iterations > rough.iterations and exact.residual <= 6e-12)
  local _, _, over = lcp.solve(M, q, { solver = "pgs", tolerance = 1e-12, omega = 1.07 })
  ok(over.iterations < exact.iterations)
end)

test("the history leads to the solution", function()
  for _, solver in ipairs(lcp.solvers()) do
    local _, _, info = lcp.solve(M, q, { solver = solver.name, history = true })
    eq(#info.history, info.iterations)
    for _, at in ipairs(info.history) do
      ok(at.residual >= 0 and at.step > 0 and at.step <= 1 and at.mu >= 0)
    end
    ok(info.history[#info.history].residual <= 6e-9)
  end
end)

test("malformed input raises an error that names the place", function()
  raises("M%[2%]%[1%]: number expected, got 'x'", lcp.solve, { { 1, 2 }, { "x", 2 } }, q)
  raises("M%[2%]: 2 numbers expected, got 1", lcp.solve, { { 1, 2 }, { 1 } }, q)
  raises("M%[1%]: a row %(list of numbers%) expected, got 1", lcp.solve, { 1, 2 }, q)
  raises("M: square matrix expected, got 1 rows of 2", lcp.solve, { { 1, 2 } }, { 1 })
  raises("M: list of rows expected, got nil", lcp.solve)
  raises("M: list of rows expected, got a table with the key 'x'", lcp.solve, { x = 1 }, {})
  raises("q: 2 numbers expected, got 3", lcp.solve, M, { 1, 2, 3 })
  raises("q%[2%]: number expected, got true", lcp.solve, M, { 1, true })
  raises("q: list of numbers expected, got 5", lcp.solve, M, 5)
  raises("unknown key 'tolerence'; did you mean 'tolerance'", lcp.solve, M, q, { tolerence = 1 })
  raises("did you mean 'lemke'", lcp.solve, M, q, { solver = "lemk" })
  raises("key 'omega': number below 2 expected, got 2", lcp.solve, M, q, { omega = 2 })
  raises("key 'tolerance': positive number expected, got 0", lcp.solve, M, q, { tolerance = 0 })
  raises("key 'max_iterations'", lcp.solve, M, q, { max_iterations = 0 })
  raises("table expected, got 'lemke'", lcp.solve, M, q, "lemke")
  raises("sim.lcp has no field 'slove'; did you mean 'solve'", function() return lcp.slove end)
end)

test("files", function()
  local path = os.tmpname()
  eq(lcp.write(path, { { 1 / 3, 0 }, { -1e-300, 2 } }, { -1, 1e300 }), true)
  local m, b = lcp.read(path)
  eq({ m, b }, { { { 1 / 3, 0 }, { -1e-300, 2 } }, { -1, 1e300 } })
  local file = assert(io.open(path, "w"))
  file:write "2\n1 0\n0 1\n1\n"
  file:close()
  local none, message = lcp.read(path)
  eq(none, nil)
  eq(message, path .. ":5: the file ends where q[2] was expected")
  os.remove(path)
  none, message = lcp.read "/no/such/file.lcp"
  eq({ none, message },
    { nil, "cannot read '/no/such/file.lcp': No such file or directory" })
  none, message = lcp.write("/no/such/file.lcp", M, q)
  eq({ none, message },
    { nil, "cannot write '/no/such/file.lcp': No such file or directory" })
  raises("path expected, got no value", lcp.read)
  raises("M: square matrix expected", lcp.write, path, { { 1, 2 } }, { 1 })
end)

test("the test set solves", function()
  local folder = assert(os.getenv "S2_TEST_DATA") .. "/lcp/"
  for _, name in ipairs { "classic/ray_but_solvable", "random/bimatrix_n40" } do
    local m, b = lcp.read(folder .. name .. ".lcp")
    local z, _, info = lcp.solve(m, b)
    ok(residual(m, b, z) <= 1e-9)
    eq(info.ray, nil)
  end
end)

test("the derivative of a solution", function()
  local b = { -5, 7 }
  local z, w, info = lcp.solve(M, b) -- z = (5/2, 0)
  local g = lcp.vjp(M, b, z, { 1, 1 })
  near(g.q, { -0.5, 0 }, 1e-12)
  near(g.M[1], { -1.25, 0 }, 1e-12)
  near(g.M[2], { 0, 0 }, 1e-12)
  eq({ g.regular, info.kappa, w[1] }, { true, nil, 0 })
  b[2] = -2.5 -- z2 = 0 and w2 = 0
  eq(lcp.vjp(M, b, lcp.solve(M, b), { 1, 1 }).regular, false)
  -- least norm of a solution that is not unique
  g = lcp.vjp({ { 1, 1 }, { 1, 1 } }, { -1, -1 }, { 0.5, 0.5 }, { 1, 1 })
  eq(g.regular, false)
  near(g.q, { -0.5, -0.5 }, 1e-12)
  eq(lcp.vjp({}, {}, {}, {}), { M = {}, q = {}, regular = true })
end)

test("the central path", function()
  local z, w, info = lcp.solve({ { 1 } }, { 0 }, { kappa = 0.25 })
  near({ z[1], w[1] }, { 0.5, 0.5 }, 1e-12)
  eq({ info.status, info.solver, info.kappa }, { "solved", "pdipm", 0.25 })
  ok(info.residual <= 1e-12)
  local g = lcp.vjp({ { 1 } }, { 0 }, z, { 1 }, { kappa = 0.25 }) -- dz (w + z) = -z dq
  near({ g.q[1], g.M[1][1] }, { -0.5, -0.25 }, 1e-12)
  eq(g.regular, true)
  local none, status = lcp.solve({ { 0 } }, { 0 }, { kappa = 1 })
  eq({ none, status }, { nil, "max_iterations" })
  raises("key 'kappa': requires the solver 'pdipm' or 'auto', got 'lemke'", lcp.solve,
    { { 1 } }, { 0 }, { kappa = 1, solver = "lemke" })
end)

test("malformed arguments of the derivative raise errors", function()
  raises("z: 2 numbers expected, got 1", lcp.vjp, M, q, { 1 }, { 1, 1 })
  raises("dl_dz: 2 numbers expected, got 3", lcp.vjp, M, q, { 1, 1 }, { 1, 1, 1 })
  raises("dl_dz: list of numbers expected, got nil", lcp.vjp, M, q, { 1, 1 })
  raises("unknown key 'solver'", lcp.vjp, M, q, { 1, 1 }, { 1, 1 }, { solver = "auto" })
end)

test("sparse matrices of any size", function()
  local side = 30 -- a membrane over an obstacle
  local n = side * side
  local M, q = { rows = n, columns = n, i = {}, j = {}, v = {} }, {}
  local function entry(i, j, v)
    M.i[#M.i + 1], M.j[#M.j + 1], M.v[#M.v + 1] = i, j, v
  end
  for i = 1, n do
    entry(i, i, 4)
    if i % side ~= 1 then entry(i, i - 1, -1) end
    if i % side ~= 0 then entry(i, i + 1, -1) end
    if i > side then entry(i, i - side, -1) end
    if i <= n - side then entry(i, i + side, -1) end
    q[i] = math.sin(i) - 0.3
  end
  local z, w, info = sim.lcp.solve(M, q)
  eq({ info.status, info.solver }, { "solved", "pdipm" })
  for i = 1, n do
    ok(z[i] >= 0 and w[i] >= -2e-9 and math.min(z[i], w[i]) <= 2e-9)
  end
  local small = { rows = 2, columns = 2, i = { 1, 2 }, j = { 1, 2 }, v = { 2, -1 } }
  near(sim.lcp.solve(small, { -1, 1 }, { solver = "lemke" }), { 0.5, 0 })
  eq(select(2, sim.lcp.solve(small, { -1, -1 })), "infeasible")
  raises("key 'M.v' is missing", sim.lcp.solve, { rows = 1, columns = 1, i = { 1 }, j = { 1 } }, { 1 })
  raises("M: square matrix expected", sim.lcp.solve, { rows = 1, columns = 2, i = {}, j = {}, v = {} }, { 1 })
  raises("kappa", sim.lcp.solve, small, { 1, 1 }, { kappa = 1e-3 })
end)
