-- sim.qp, sim.lp and sim.mlcp in plain tables.
local sim = require "sim2d"
local inf, nan = math.huge, 0 / 0

local function near_list(list, expected)
  eq(#list, #expected)
  for i, x in ipairs(expected) do near(list[i], x, 1e-10) end
end

-- ---- sim.qp -------------------------------------------------------------------------------------

test("a quadratic program and its multipliers", function()
  local x, info = sim.qp.solve {
    P = { { 2, 0 }, { 0, 2 } }, q = { -2, -5 },
    G = { { 1, -2 }, { -1, -2 }, { -1, 2 }, { -1, 0 }, { 0, -1 } }, h = { 2, 6, 2, 0, 0 },
    A = { { 1, 0 } }, b = { 1.4 },
  }
  near_list(x, { 1.4, 1.7 })
  near_list(info.z, { 0, 0, 0.8, 0, 0 })
  near_list(info.y, { 0 })
  near(info.objective, -6.45, 1e-10)
  eq(info.status, "solved")
  ok(info.residual <= 1e-12 and info.time > 0 and info.iterations > 0)
  eq(info.residual, math.max(info.primal, info.dual, info.complementarity))
  eq({ info.r_vio, info.b_vio }, { math.max(info.primal, info.dual), info.complementarity })
end)

test("a program without constraints is a linear system", function()
  local x, info = sim.qp.solve { P = { { 2, 1 }, { 1, 3 } }, q = { -4, -7 } }
  near_list(x, { 1, 2 })
  eq({ info.y, info.z }, { {}, {} })
  near_list(sim.qp.solve { P = {}, q = {} }, {})
end)

test("contradicting constraints come with their proof", function()
  local x, status, info = sim.qp.solve {
    P = { { 1 } }, q = { 0 }, G = { { 1 }, { -1 } }, h = { 1, -2 } }
  eq({ x, status, info.status, info.unbounded }, { nil, "infeasible", "infeasible", false })
  near_list(info.certificate.z, { 1, 1 }) -- the rows' sum says 0 <= -1
  x, status, info = sim.qp.solve {
    P = { { 1, 0 }, { 0, 1 } }, q = { 0, 0 }, A = { { 1, 1 }, { 2, 2 } }, b = { 1, 3 } }
  eq({ x, status }, { nil, "infeasible" })
  near(info.certificate.y[1] + 2 * info.certificate.y[2], 0, 1e-9)
  ok(info.certificate.y[1] + 3 * info.certificate.y[2] < 0)
end)

test("endless descent comes with its direction", function()
  local x, status, info = sim.qp.solve { P = { { 1, 0 }, { 0, 0 } }, q = { 3, -1 } }
  eq({ x, status, info.unbounded }, { nil, "infeasible", true })
  near_list(info.direction, { 0, 1 })
end)

test("numbers never raise", function()
  local x, status, info = sim.qp.solve { P = { { 1, 0 }, { 0, -1 } }, q = { 0, 0 } }
  eq({ x, status, info.status }, { nil, "unsupported", "unsupported" })
  x, status, info = sim.qp.solve { P = { { nan } }, q = { 0 } }
  eq({ x, status }, { nil, "singular" })
  ok(info.residual ~= info.residual)
  near_list(sim.qp.solve { P = { { 1 } }, q = { -3 }, G = { { 1 } }, h = { inf } }, { 3 })
end)

test("the record of a solve", function()
  local program = { P = { { 1 } }, q = { -3 }, G = { { 1 } }, h = { 2 }, history = true }
  local _, info = sim.qp.solve(program)
  eq(#info.history, info.iterations)
  ok(info.history[#info.history].residual < info.history[1].residual)
  ok(info.history[1].step > 0 and info.history[1].mu > 0)
  program.history = false
  eq(select(2, sim.qp.solve(program)).history, nil)
end)

test("malformed programs raise, naming the place", function()
  local P, q = { { 1, 0 }, { 0, 1 } }, { 1, 1 }
  raises("key 'q' is missing", sim.qp.solve, { P = P })
  raises("P: 2 rows expected, got 1", sim.qp.solve, { P = { { 1, 0 } }, q = q })
  raises("P%[2%]: 2 numbers expected, got 1", sim.qp.solve, { P = { { 1, 0 }, { 0 } }, q = q })
  raises("q%[2%]: number expected, got 'x'", sim.qp.solve, { P = P, q = { 1, "x" } })
  raises("key 'h' is missing", sim.qp.solve, { P = P, q = q, G = { { 1, 1 } } })
  raises("key 'A' is missing", sim.qp.solve, { P = P, q = q, b = { 1 } })
  raises("G: 2 rows expected, got 1", sim.qp.solve, { P = P, q = q, G = { { 1, 1 } }, h = { 1, 2 } })
  raises("unknown key 'H'", sim.qp.solve, { P = P, q = q, H = { 1 } })
  raises("key 'tolerance': positive number expected", sim.qp.solve, { P = P, q = q, tolerance = 0 })
  raises("table expected, got 3", sim.qp.solve, 3)
  raises("sim.qp has no field 'sovle'; did you mean 'solve'%?", function() sim.qp.sovle() end)
end)

-- ---- sim.lp -------------------------------------------------------------------------------------

test("a linear program: x >= 0 unless bounds are given", function()
  local c, A, b = { 1, 2 }, { { -1, -1 } }, { 1 }
  near_list(sim.lp.solve { c = c, A_ub = A, b_ub = b }, { 0, 0 })
  local x, info = sim.lp.solve { c = c, A_ub = A, b_ub = b, bounds = { { -3, 5 }, { -inf, inf } } }
  near_list(x, { 5, -6 })
  near_list(info.z, { 2 })
  near_list(info.upper, { 1, 0 })
  near_list(info.lower, { 0, 0 })
  near(info.objective, -7, 1e-10)
  -- nil is infinite as well
  near_list(sim.lp.solve { c = c, A_ub = A, b_ub = b, bounds = { { nil, 5 }, {} } }, { 5, -6 })
end)

test("equations and fixed unknowns", function()
  local x = sim.lp.solve {
    c = { 1, 1, 0 }, A_eq = { { 1, 1, 1 } }, b_eq = { 4 }, bounds = { { 1, 1 }, { 0, 2 }, { 0, 2 } } }
  near_list(x, { 1, 1, 2 })
end)

test("linear programs without solution", function()
  local x, status, info = sim.lp.solve { c = { -1 } }
  eq({ x, status, info.unbounded }, { nil, "infeasible", true })
  x, status, info = sim.lp.solve { c = { 1 }, bounds = { { 2, 1 } } }
  eq({ x, status, info.unbounded }, { nil, "infeasible", false })
  near_list(info.certificate.lower, { 1 })
  near_list(info.certificate.upper, { 1 })
  x, status = sim.lp.solve { c = { 1 }, bounds = { { nan, 1 } } }
  eq({ x, status }, { nil, "singular" })
end)

test("malformed bounds raise", function()
  raises("bounds: 2 pairs {lo, hi} expected, got 1", sim.lp.solve,
    { c = { 1, 1 }, bounds = { { 0, 1 } } })
  raises("bounds%[1%]: {lo, hi} expected, got 0", sim.lp.solve, { c = { 1 }, bounds = { 0 } })
  raises("bounds%[1%]%[2%]: number expected, got 'x'", sim.lp.solve,
    { c = { 1 }, bounds = { { 0, "x" } } })
  raises("key 'c' is missing", sim.lp.solve, {})
end)

-- ---- sim.mlcp -----------------------------------------------------------------------------------

test("a mixed problem", function()
  local u, v, info = sim.mlcp.solve {
    A = { { 2 } }, C = { { 1 } }, D = { { -1 } }, B = { { 0 } }, a = { -3 }, b = { 1 } }
  near_list(u, { 1 })
  near_list(v, { 1 })
  near_list(info.w, { 0 })
  eq(info.status, "solved")
  ok(info.residual <= 1e-12 and info.r_vio <= 1e-12 and info.b_vio <= 1e-12)
end)

test("one without free or without complementary unknowns", function()
  local u, v = sim.mlcp.solve { B = { { 2, 1 }, { 1, 2 } }, b = { -5, -6 } }
  eq(u, {})
  near_list(v, { 4 / 3, 7 / 3 })
  u, v = sim.mlcp.solve { A = { { 0, 1 }, { 1, 0 } }, a = { -2, -3 } }
  near_list(u, { 3, 2 })
  eq(v, {})
  eq((sim.mlcp.solve {}), {})
end)

test("a problem that is not monotone", function()
  local u, v = sim.mlcp.solve { A = { { -1 } }, C = { { 2 } }, D = { { 1 } }, B = { { 3 } },
    a = { 1 }, b = { -6 } }
  near_list(v, { 1 })
  near_list(u, { 3 })
end)

test("a mixed problem without a point", function()
  local u, status, info = sim.mlcp.solve { B = { { -1 } }, b = { -1 } }
  eq({ u, status, info.status }, { nil, "infeasible", "infeasible" })
  eq(info.certificate, { a = {}, b = { 1 } })
end)

test("malformed mixed problems raise", function()
  raises("key 'A' is missing", sim.mlcp.solve, { a = { 1 } })
  raises("key 'C' is missing", sim.mlcp.solve, { a = { 1 }, b = { 1 }, A = { { 1 } } })
  raises("B: 1 rows expected, got 2", sim.mlcp.solve, { b = { 1 }, B = { { 1 }, { 2 } } })
  raises("unknown key 'c'", sim.mlcp.solve, { c = { 1 } })
end)
