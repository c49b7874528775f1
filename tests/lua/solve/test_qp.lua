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

test("no number raises an error", function()
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

test("the central path of a program", function()
  local p = { P = { { 1 } }, q = { -3 }, G = { { 1 } }, h = { 3 }, kappa = 1e-2, history = true }
  local x, info = sim.qp.solve(p)
  near(x[1], 2.9, 1e-12)
  near(info.z[1] * (3 - x[1]), 1e-2, 1e-13)
  eq({ info.status, info.kappa, #info.history }, { "solved", 1e-2, info.iterations })
  p.kappa = nil
  eq(select(2, sim.qp.solve(p)).kappa, nil)
  p.kappa, p.G, p.h = 1e-3, { { 1 }, { -1 } }, { 1, -1 } -- no point strictly within
  eq(select(2, sim.qp.solve(p)), "max_iterations")
  p.kappa = -1
  raises("key 'kappa': ", sim.qp.solve, p)
end)

test("the derivative of a program", function()
  local p = { P = { { 2, 0 }, { 0, 2 } }, q = { -2, -5 }, G = { { 1, 2 }, { -1, 0 } }, h = { 4, 0 } }
  local x, info = sim.qp.solve(p)
  local g = sim.qp.vjp(p, x, info, { x = { 1, 0 } })
  near_list(g.h, { 0.2, 0 })
  near_list(g.q, { -0.4, 0.2 })
  eq(g.P[1][2], g.P[2][1])
  near(g.P[1][1], -0.4 * x[1], 1e-12)
  eq({ g.regular, g.A, g.b, #g.G, #g.G[1] }, { true, nil, nil, 2, 2 })
  near(sim.qp.vjp(p, x, info, { z = { 1, 0 } }).h[1], -0.4, 1e-12) -- z = 2 (6 - h) / 5
  near_list(sim.qp.vjp(p, x, info, {}).q, { 0, 0 })
  p.G[3], p.h[3] = { 1, 2 }, 4 -- the same row again
  x, info = sim.qp.solve(p)
  g = sim.qp.vjp(p, x, info, { x = { 1, 0 } })
  near_list(g.h, { 0.1, 0, 0.1 })
  eq(g.regular, false)
end)

test("derivatives on the central path agree with differences of solves", function()
  local p = { P = { { 2, 0 }, { 0, 2 } }, q = { -2, -5 }, G = { { 1, 2 }, { -1, 0 } }, h = { 4, 0 },
    A = { { 1, -1 } }, b = { -1 }, kappa = 0.1 }
  local x, info = sim.qp.solve(p)
  local g = sim.qp.vjp(p, x, info, { x = { 0, 1 }, y = { 2 } })
  eq(g.regular, true)
  local function loss()
    local at, how = sim.qp.solve(p)
    return at[2] + 2 * how.y[1]
  end
  for key, list in pairs { q = p.q, b = p.b, h = p.h } do
    for i, kept in ipairs(list) do
      list[i] = kept + 1e-5
      local above = loss()
      list[i] = kept - 1e-5
      near(g[key][i], (above - loss()) / 2e-5, 1e-7)
      list[i] = kept
    end
  end
end)

test("malformed arguments of the derivative raise errors", function()
  local p = { P = { { 1 } }, q = { -3 }, G = { { 1 } }, h = { 2 } }
  local x, info = sim.qp.solve(p)
  raises("x: 1 numbers expected, got 2", sim.qp.vjp, p, { 1, 2 }, info, {})
  raises("the info returned by the solve function expected, got nil", sim.qp.vjp, p, x, nil, {})
  raises("key 'info.z' is missing", sim.qp.vjp, p, x, {}, {})
  raises("dl.x: 1 numbers expected, got 0", sim.qp.vjp, p, x, info, { x = {} })
  raises("unknown key 'w'", sim.qp.vjp, p, x, info, { w = { 1 } })
  raises("table expected, got nil", sim.qp.vjp, p, x, info)
  local g = sim.qp.vjp(p, { nan }, info, { x = { 1 } })
  eq(g.regular, false)
  ok(g.q[1] ~= g.q[1])
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
  raises("bounds%[1%]: {lo, hi} expected, two values without names, got key 'lo'", sim.lp.solve,
    { c = { 1 }, bounds = { { lo = 1 } } })
  x, status = sim.lp.solve { c = { 1 }, bounds = { { nan, 1 } } }
  eq({ x, status }, { nil, "singular" })
end)

test("the derivative of a linear program", function()
  local p = { c = { 1, 2 }, A_ub = { { -1, -1 } }, b_ub = { 1 }, bounds = { { -3, 5 }, { nil, inf } } }
  local x, info = sim.lp.solve(p)
  near_list(x, { 5, -6 })
  local g = sim.lp.vjp(p, x, info, { x = { 0, 1 } }) -- x2 = -b - x1
  eq({ g.regular, g.A_eq, g.b_eq }, { true, nil, nil })
  near_list(g.b_ub, { -1 })
  near_list(g.bounds[1], { 0, -1 })
  near_list(g.bounds[2], { 0, 0 })
  near_list(g.c, { 0, 0 })
  g = sim.lp.vjp(p, x, info, { upper = { 1, 0 }, z = { 1 } }) -- z = c2, upper = c2 - c1
  near_list(g.c, { -1, 2 })
  p.bounds = nil
  eq(sim.lp.vjp(p, { 0, 0 }, { z = { 0 }, lower = { 1, 2 }, upper = { 0, 0 } }, {}).bounds, nil)
end)

test("the central path of a linear program", function()
  local p = { c = { 1 }, bounds = { { 0, 1 } }, kappa = 0.1 } -- 1 = kappa / x - kappa / (1 - x)
  local x, info = sim.lp.solve(p)
  near(0.1 / x[1] - 0.1 / (1 - x[1]), 1, 1e-12)
  near_list(info.lower, { 0.1 / x[1] })
  local g = sim.lp.vjp(p, x, info, { x = { 1 } })
  local lower, upper = 0.1 / x[1] ^ 2, 0.1 / (1 - x[1]) ^ 2
  near_list(g.c, { -1 / (lower + upper) })
  near_list(g.bounds[1], { lower / (lower + upper), upper / (lower + upper) })
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

test("a mixed problem on which Lemke's method ends on a ray has its solution found", function()
  local u, v, info = sim.mlcp.solve { A = { { 1 } }, C = { { 1, -1, 0 } }, a = { 3 }, D = { { 1 }, { -1 }, { 0 } },
    B = { { 0, 0, 1 }, { 0, 0, 1 }, { -1, -1, 0 } }, b = { 0, 0, 1 } }
  eq(info.status, "solved")
  near({ u[1], v[1], v[2], v[3] }, { -4, 1, 0, 4 }, 1e-12)
end)

test("a mixed problem without free or without complementary unknowns", function()
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

test("an infeasible mixed problem", function()
  local u, status, info = sim.mlcp.solve { B = { { -1 } }, b = { -1 } }
  eq({ u, status, info.status }, { nil, "infeasible", "infeasible" })
  eq(info.certificate, { a = {}, b = { 1 } })
end)

test("bounds of a mixed problem", function()
  -- w = v - t: the nearest to t within the bounds
  local p = { B = {}, b = { 5, -0.5, -5, -7, 3 }, lo = { -1, -1, -1, -inf, 2 },
    hi = { 2, 2, 2, inf, 2 } }
  for i = 1, 5 do
    p.B[i] = { 0, 0, 0, 0, 0 }
    p.B[i][i] = 1
  end
  local _, v, info = sim.mlcp.solve(p)
  near_list(v, { -1, 0.5, 2, 7, 2 })
  near_list(info.w, { 4, 0, -3, 0, 5 })
  p.lo = nil -- 0
  near_list(select(2, sim.mlcp.solve(p)), { 0, 0.5, 2, 7, 0 })
  p.lo, p.hi = { -1, -1, -1, -1, 2 }, nil -- none
  near_list(select(2, sim.mlcp.solve(p)), { -1, 0.5, 5, 7, 2 })
  local none, status = sim.mlcp.solve { B = { { 0 } }, b = { 1 }, lo = { -inf }, hi = { 2 } }
  eq({ none, status }, { nil, "infeasible" })
  none, status = sim.mlcp.solve { B = { { 1 } }, b = { 1 }, lo = { nan } }
  eq({ none, status }, { nil, "singular" })
end)

test("the derivative of a mixed problem", function()
  local p = { A = { { 2 } }, C = { { 1 } }, D = { { -1 } }, B = { { 0 } }, a = { -3 }, b = { 1 } }
  local u, v, info = sim.mlcp.solve(p) -- u = 1, v = 3 - 2 u
  local g = sim.mlcp.vjp(p, u, v, info, { v = { 1 } })
  eq({ g.regular, g.lo, g.hi }, { true, nil, nil })
  near_list(g.b, { -2 })
  near_list(g.a, { -1 })
  near(g.A[1][1], -1, 1e-12)
  p.lo, p.hi = { -2 }, { 0.5 }
  u, v, info = sim.mlcp.solve(p)
  near_list(v, { 0.5 })
  g = sim.mlcp.vjp(p, u, v, info, { u = { 1 }, v = { 1 } }) -- u = (3 - v) / 2
  near_list(g.hi, { 0.5 })
  near_list(g.lo, { 0 })
  p.kappa = 1e-3
  u, v, info = sim.mlcp.solve(p)
  eq({ info.status, info.kappa }, { "solved", 1e-3 })
  near(info.w[1], 1e-3 / (v[1] + 2) - 1e-3 / (0.5 - v[1]), 1e-11)
  g = sim.mlcp.vjp(p, u, v, info, { u = { 1 }, v = { 1 } })
  ok(g.regular and g.hi[1] > 0.4 and g.hi[1] < 0.5 and g.lo[1] > 0 and g.lo[1] < 1e-2)
  raises("dl.v: 1 numbers expected, got 2", sim.mlcp.vjp, p, u, v, info, { v = { 1, 2 } })
  raises("u: 1 numbers expected, got 0", sim.mlcp.vjp, p, {}, v, info, {})
  raises("the info returned by the solve function expected, got 1", sim.mlcp.vjp, p, u, v, 1, {})
end)

test("malformed mixed problems raise", function()
  local B, b = { { 1, 0 }, { 0, 1 } }, { 1, 1 }
  raises("lo%[2%]: at most hi%[2%] = 1 expected, got 2", sim.mlcp.solve,
    { B = B, b = b, lo = { 0, 2 }, hi = { 0, 1 } })
  raises("lo%[1%]: at most hi%[1%] = %-1 expected, got 0", sim.mlcp.solve,
    { B = B, b = b, hi = { -1, 1 } })
  raises("hi: 2 numbers expected, got 1", sim.mlcp.solve, { B = B, b = b, hi = { 1 } })
  raises("key 'A' is missing", sim.mlcp.solve, { a = { 1 } })
  raises("key 'C' is missing", sim.mlcp.solve, { a = { 1 }, b = { 1 }, A = { { 1 } } })
  raises("B: 1 rows expected, got 2", sim.mlcp.solve, { b = { 1 }, B = { { 1 }, { 2 } } })
  raises("unknown key 'c'", sim.mlcp.solve, { c = { 1 } })
end)
