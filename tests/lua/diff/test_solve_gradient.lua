-- Solutions of complementarity problems, programs and contacts with tracked numbers in the problem:
-- derivatives against differences, values, misuse.
local sim = require "sim2d"

local random = sim.random.split()

local function matrix(rows, columns)
  local A = {}
  for i = 1, rows do
    A[i] = {}
    for j = 1, columns do A[i][j] = random:normal() end
  end
  return A
end

local function vector(n)
  local v = {}
  for i = 1, n do v[i] = random:normal() end
  return v
end

-- Positive definite; with `skew` also not symmetric.
local function definite(n, skew)
  local A, S = sim.array(matrix(n, n)), sim.array(matrix(n, n))
  return (A:mm(A:t()) / n + sim.eye(n) * 0.5 + (S - S:t()) * (skew and 0.3 or 0)):table()
end

-- A number of several lists, every entry with its own weight.
local function mix(...)
  local sum, k = 0, 0
  for _, list in ipairs { ... } do
    for i = 1, #list do
      k = k + 1
      sum = sum + math.sin(3 * k) * list[i] + 0.1 * list[i] ^ 2
    end
  end
  return sum
end

-- The largest relative error of gradients; steps are small so that active sets do not change.
local function worst(f, p)
  return sim.check_grad(f, p, { print = false, step = 1e-5 })
end

local TOLERANCE = 1e-7 -- of differences with steps of 1e-5: rounding 1e-16 / 1e-5, and solves to 1e-12

test("lcp: z and w with respect to M and q, exact and on the central path", function()
  for n = 1, 5 do
    for _, kappa in ipairs { 0, 1e-2 } do
      local function f(p)
        local z, w = sim.lcp.solve(p.M, p.q, { kappa = kappa > 0 and kappa or nil, tolerance = 1e-12 })
        return mix(z, w)
      end
      local p = { M = definite(n, true), q = vector(n) }
      ok(worst(f, p) < TOLERANCE, ("n = %d, kappa = %g: %g"):format(n, kappa, worst(f, p)))
      p.M, p.q = sim.array(p.M), sim.array(p.q)
      ok(worst(f, p) < TOLERANCE)
    end
  end
end)

test("lcp: the Jacobian of a solution, and values are those of plain problems", function()
  local M, q = { { 2, 1 }, { 1, 3 } }, { -1, -2 } -- both positive: z = -M^-1 q
  local J, z = sim.jacobian(function(x) return (sim.lcp.solve(M, x)) end, q)
  near(J, { { -0.6, 0.2 }, { 0.2, -0.4 } }, 1e-12)
  eq(z, (sim.lcp.solve(M, q)))
  local function both(p)
    local a, b, info = sim.lcp.solve(p.M, p.q)
    eq(info.status, "solved")
    local plain_a, plain_b = sim.lcp.solve(M, q)
    eq({ sim.stop_gradient(a), sim.stop_gradient(b) }, { plain_a, plain_b })
    return a[1] + b[1]
  end
  sim.grad(both, { M = M, q = q })
end)

test("lcp: a sparse matrix", function()
  local i, j = { 1, 2, 2, 3, 3, 1 }, { 1, 2, 1, 3, 3, 3 }
  local function f(p)
    local z, w = sim.lcp.solve({ rows = 3, columns = 3, i = i, j = j, v = p.v }, p.q)
    return mix(z, w)
  end
  ok(worst(f, { v = { 2, 3, -1, 1, 1, 0.5 }, q = { -1, 2, -3 } }) < TOLERANCE)
end)

test("mlcp: u, v and w with respect to everything", function()
  local bounded = { { nil, nil }, { -0.3, 0.4 } }
  for k = 1, 4 do
    local n, m = 2, 3
    local K = definite(n + m, true)
    local function part(rows, columns)
      return sim.array(K):slice(rows, columns):table()
    end
    local p = { A = part({ 1, n }, { 1, n }), C = part({ 1, n }, { n + 1, n + m }),
      D = part({ n + 1, n + m }, { 1, n }), B = part({ n + 1, n + m }, { n + 1, n + m }),
      a = vector(n), b = vector(m) }
    local range = bounded[1 + k % 2]
    if range[1] then
      p.lo, p.hi = { range[1], range[1], range[1] }, { range[2], range[2], range[2] }
    end
    for _, kappa in ipairs { 0, 1e-2 } do
      local function f(q)
        q.kappa, q.tolerance = kappa > 0 and kappa or nil, 1e-12
        local u, v, info = sim.mlcp.solve(q)
        return mix(u, v, info.w)
      end
      ok(worst(f, p) < TOLERANCE, ("%d, kappa = %g: %g"):format(k, kappa, worst(f, p)))
    end
  end
  local g = sim.grad(function(b) -- without free unknowns
    local _, v = sim.mlcp.solve { B = { { 2 } }, b = { b } }
    return v[1]
  end, -3)
  near(g, -0.5, 1e-12)
end)

test("qp: solution and multipliers with respect to everything", function()
  for k = 1, 4 do
    local p = { P = definite(4), q = vector(4), A = matrix(1, 4), b = { 0.3 }, G = matrix(3, 4),
      h = { 0.2, 0.1, 0.4 } }
    for _, kappa in ipairs { 0, 1e-2 } do
      local function f(q)
        q.kappa, q.tolerance = kappa > 0 and kappa or nil, 1e-12
        local x, info = sim.qp.solve(q)
        return mix(x, info.y, info.z)
      end
      ok(worst(f, p) < 10 * TOLERANCE, ("%d, kappa = %g: %g"):format(k, kappa, worst(f, p)))
    end
  end
end)

test("lp: a vertex, its multipliers, bounds", function()
  local function f(p)
    local x, info = sim.lp.solve { c = p.c, A_ub = p.A, b_ub = p.b, bounds = p.bounds }
    return mix(x, info.z, info.lower, info.upper)
  end
  local p = { c = { -3, -2, 1 }, A = { { 1, 1, 0 }, { 1, 3, 0 } }, b = { 4, 7 },
    bounds = { { 0, 3 }, { 0 }, { 0.5, 2 } } }
  ok(worst(f, p) < TOLERANCE, worst(f, p))
end)

test("contact: impulses and velocities with respect to both forms' data", function()
  for k = 1, 6 do
    local contacts = 1 + k % 3
    local W, q, mu = definite(2 * contacts, false), vector(2 * contacts), {}
    for i = 1, contacts do mu[i] = 0.2 + random:uniform() end
    for _, kappa in ipairs { 0, 1e-2 } do
      local function f(p)
        p.kappa, p.tolerance = kappa > 0 and kappa or nil, 1e-12
        local r, u = sim.contact.solve(p)
        return mix(r, u)
      end
      local p = { W = W, q = q, mu = mu }
      ok(worst(f, p) < 10 * TOLERANCE, ("%d, kappa = %g: %g"):format(k, kappa, worst(f, p)))
      local function global(p)
        p.kappa, p.tolerance = kappa > 0 and kappa or nil, 1e-12
        local r, u, info = sim.contact.solve(p)
        return mix(r, u, info.v)
      end
      p = { M = { 1, 2, 1.5, 3, 2, 1, 2 }, H = matrix(7, 2 * contacts), q = vector(7),
        bias = vector(2 * contacts), mu = 0.4 }
      ok(worst(global, p) < 10 * TOLERANCE,
        ("global %d, kappa = %g: %g"):format(k, kappa, worst(global, p)))
    end
  end
end)

test("ncp: the solution with respect to its parameters", function()
  local function f(p)
    local x, y, z = sim.ncp.solve {
      x0 = { 0 }, theta = p.theta, cones = { orthant = 1 }, options = { r_tol = 1e-12, b_tol = 1e-12 },
      residual = function(a, b, c, t) return { t[2] * a[1] - t[1] - c[1], b[1] - a[1] + 4 } end,
    }
    return mix(x, y, z)
  end
  for _, theta in ipairs { { 3, 1 }, { 9, 1.5 } } do
    ok(worst(f, { theta = theta }) < TOLERANCE, worst(f, { theta = theta }))
    ok(worst(f, { theta = sim.array(theta) }) < TOLERANCE)
  end
end)

test("through a solution into another", function()
  local M = { { 2, 0.5 }, { 0.5, 1 } }
  local function f(p)
    local z = sim.lcp.solve(M, { p.a, -p.b })
    local x = sim.qp.solve { P = { { 1, 0 }, { 0, p.b } }, q = { -z[2], z[2] * p.a }, G = { { 1, 1 } },
      h = { 0.5 } }
    return x[1] ^ 2 + x[2]
  end
  ok(worst(f, { a = 0.4, b = 2.1 }) < TOLERANCE)
end)

test("the same bits every time", function()
  local p = { M = definite(4, true), q = vector(4) }
  local function f(q)
    local z, w = sim.lcp.solve(q.M, q.q)
    return mix(z, w)
  end
  local first = { sim.value_and_grad(f, p) }
  for _ = 1, 3 do eq({ sim.value_and_grad(f, p) }, first) end
end)

test("unsolved problems are reported inside a gradient as well", function()
  sim.grad(function(x)
    local z, status, info = sim.lcp.solve({ { -1 } }, { x })
    eq({ z, status, info.status }, { nil, "infeasible", "infeasible" })
    local u, how = sim.mlcp.solve { B = { { -1 } }, b = { x } }
    eq(u, nil)
    ok(how ~= "solved")
    eq((sim.qp.solve { q = { x } }), nil)
    eq((sim.lp.solve { c = { x } }), nil)
    return x
  end, -1)
end)

test("no derivative", function()
  -- at the kink of max(x, 0) the one-sided derivative, from below
  eq(sim.grad(function(x) return sim.lcp.solve({ { 1 } }, { -x })[1] end, 0), 0.0)
  ok(math.abs(sim.grad(function(x)
    return sim.lcp.solve({ { 1 } }, { -x }, { kappa = 1e-4 })[1]
  end, 0) - 0.5) < 1e-6)
  -- two contacts at one place: their sum is determined, each single one is not
  local W = { { 1, 0, 1, 0 }, { 0, 1, 0, 1 }, { 1, 0, 1, 0 }, { 0, 1, 0, 1 } }
  local function share(pick)
    return function(x)
      local r = sim.contact.solve { W = W, q = { x, 0, x, 0 }, mu = 0.5 }
      return pick(r)
    end
  end
  near(sim.grad(share(function(r) return r[1] + r[3] end), -2), -1, 1e-9)
  raises("sim.contact.solve: the solution has no derivative: .*not determined; set kappa above 0", sim.grad,
    share(function(r) return r[1] end), -2)
end)

test("misuse", function()
  local function inside(f) return function() sim.grad(f, 1) end end
  raises("test_solve_gradient.lua:%d+: .*sim.lcp %(key 'tolerance': plain value expected, got a tracked one; "
    .. "use sim.stop_gradient", inside(function(x)
    return sim.lcp.solve({ { 1 } }, { x }, { tolerance = x })[1]
  end))
  raises("key 'kappa'", inside(function(x)
    return sim.qp.solve { P = { { 1 } }, q = { x }, kappa = x }[1]
  end))
  raises("unknown key 'H'", inside(function(x)
    return sim.mlcp.solve { B = { { 1 } }, b = { x }, H = 1 }[1]
  end))
  raises("test_solve_gradient.lua:%d+: .*M: square matrix expected", inside(function(x)
    return sim.lcp.solve({ { 1, x } }, { 1 })[1]
  end))
  raises("key 'x0': plain value expected, got a tracked one", inside(function(x)
    return sim.ncp.solve { x0 = { x }, residual = function(a) return { a[1] } end }[1]
  end))
  raises("got a tracked number", inside(function(x) -- not through theta
    return sim.ncp.solve { x0 = { 1 }, theta = { x },
      residual = function(a) return { a[1] - x } end }[1]
  end))
  local kept
  sim.grad(function(x)
    kept = sim.lcp.solve({ { 1 } }, { -x })
    return kept[1]
  end, 1)
  raises("outside of the gradient call", sim.grad, function(x)
    return sim.lcp.solve({ { x } }, { kept[1] })[1]
  end, 1)
end)

test("kkt: with respect to everything, all ways to give matrices", function()
  for _, solver in ipairs { "ldl", "schur" } do
    local function f(p)
      local v, lambda = sim.kkt.solve { W = p.W, J = p.J, C = p.C, c = p.c, b = p.b, solver = solver, tolerance = 1e-13 }
      return mix(v, lambda)
    end
    local p = { W = { 1.5, 2, 0.7 }, J = matrix(2, 3), C = { 0.1, 0.3 }, c = vector(3), b = vector(2) }
    ok(worst(f, p) < TOLERANCE, worst(f, p))
    p.C, p.J = nil, sim.array(p.J)
    ok(worst(f, p) < TOLERANCE, worst(f, p))
    ok(worst(function(q) return f { W = q.W, c = q.c } end, p) < TOLERANCE) -- without rows
    -- W has to remain symmetric: its entries change together
    ok(worst(function(q)
      return f { W = { { 2, q.w }, { q.w, 3 } }, J = { { 1, q.w } }, c = { 1, q.w }, b = { 2 } }
    end, { w = 0.3 }) < TOLERANCE)
    ok(worst(function(q)
      return f { W = { rows = 2, columns = 2, i = { 1, 2, 1, 2 }, j = { 1, 2, 2, 1 }, v = { 2, 3, q.w, q.w } },
        J = { rows = 1, columns = 2, i = { 1, 1 }, j = { 1, 2 }, v = { q.w, 1 } }, c = { 1, 0 }, b = { 2 } }
    end, { w = 0.3 }) < TOLERANCE)
  end
end)

test("kkt: rows that repeat each other", function()
  local function solve(x)
    return sim.kkt.solve { W = { 1, 3 }, J = { { 1, -1 }, { 2, -2 } }, c = { x, 0 }, b = { 0, 0 } }
  end
  near(sim.grad(function(x) return solve(x)[1] end, 4), 0.25, 1e-9)
  raises("redundant rows share a load; set C above 0", function()
    sim.grad(function(x)
      local _, lambda = solve(x)
      return lambda[1]
    end, 4)
  end)
  local function contradicts(x)
    local v, status, info = sim.kkt.solve { W = { 1 }, J = { { 1 }, { 1 } }, c = { x }, b = { 0, 1 } }
    eq({ v == nil, status, #info.certificate }, { true, "infeasible", 2 })
    return x
  end
  eq(sim.grad(contradicts, 1), 1.0)
  raises("key 'solver': plain value expected", function()
    sim.grad(function(x) return sim.kkt.solve { W = { 1 }, c = { x }, solver = x }[1] end, 1)
  end)
end)
