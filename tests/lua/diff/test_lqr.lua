-- sim.linalg.lqr compared with closed forms, the Riccati iteration and differences.
local sim = require "sim2d"
local lqr = sim.linalg.lqr

test("one state: the root of the quadratic", function()
  for _, a in ipairs { 0, 0.5, 1, 1.2, -3 } do
    local b, q, r = 0.5, 2, 3
    local K, P = lqr({ { a } }, { { b } }, q, r)
    local linear = r - a * a * r - q * b * b -- b^2 p^2 + linear p - q r = 0
    local p = (-linear + math.sqrt(linear ^ 2 + 4 * b * b * q * r)) / (2 * b * b)
    near(P[{ 1, 1 }], p, 1e-12 * p)
    near(K[{ 1, 1 }], a * b * p / (r + b * b * p), 1e-12)
  end
end)

test("an unstable mode without cost is mirrored at the unit circle", function()
  local K = lqr({ { 2, 0 }, { 0, 0.5 } }, { 1, 0 }, { 1e-14, 0 }, 1) -- the most expensive input possible
  near(2 - K[{ 1, 1 }], 0.5, 1e-9)
end)

test("random systems: the equation holds, the cost is the sum", function()
  for n = 1, 8 do
    local m = 1 + n % 3
    local A, B = sim.randn { n, n } * 0.7, sim.randn { n, m }
    local M, N = sim.randn { n, n }, sim.randn { m, m }
    local Q, R = M:mm(M:t()), N:mm(N:t()) + sim.eye(m)
    local K, P = lqr(A, B, Q, R)
    local BP = B:t():mm(P)
    local left = Q + A:t():mm(P:mm(A - B:mm(K))) - P
    ok(left:norm() <= 1e-10 * P:norm(), left:norm())
    near(BP:mm(A) - (R + BP:mm(B)):mm(K), sim.zeros(m, n), 1e-9 * (1 + BP:mm(A):norm()))
    local x, sum = sim.randn(n), 0.0
    local expected = x:dot(P:mm(x))
    for _ = 1, 2000 do
      local u = -K:mm(x)
      sum = sum + x:dot(Q:mm(x)) + u:dot(R:mm(u))
      x = A:mm(x) + B:mm(u)
    end
    near(sum, expected, 1e-8 * expected)
  end
end)

test("weights as numbers, diagonals and matrices", function()
  local A, B = { { 1, 0.1 }, { 0, 1 } }, { 0, 0.1 }
  local K = lqr(A, B, 2, 3)
  ok(K:equals(lqr(A, B, { 2, 2 }, { 3 }), 0))
  ok(K:equals(lqr(A, { { 0 }, { 0.1 } }, { { 2, 0 }, { 0, 2 } }, { { 3 } }), 0))
  eq(K.shape, { 1, 2 })
end)

test("if no regulator exists, the reason is reported", function()
  local _, why = lqr({ { 1.2, 0 }, { 0, 0.5 } }, { 0, 1 }, 1, 1) -- grows, not controllable
  eq(why, "no regulator: a mode that does not decay is not reached by the inputs, or not weighted by Q")
  _, why = lqr({ { 1, 0 }, { 0, 0.5 } }, { 0, 1 }, 1, 1) -- stays, not controllable
  ok(why:find "no regulator", why)
  _, why = lqr({ { 1.2, 0 }, { 0, 0.5 } }, { 1, 1 }, { 0, 1 }, 1) -- grows, not observed in the cost
  eq(why, "no regulator: a mode that does not decay is not weighted by Q")
  _, why = lqr({ { 1, 0.1 }, { 0, 1 } }, { 0, 1 }, 1, 0)
  eq(why, "R is not positive definite")
  raises("B: 2 rows expected, as in A, got 3", lqr, { { 1, 0 }, { 0, 1 } }, { 1, 2, 3 }, 1, 1)
  raises("Q: 2 x 2 expected, or its diagonal, got 3", lqr, { { 1, 0 }, { 0, 1 } }, { 1, 2 }, { 1, 2, 3 }, 1)
  raises("Q: matrix, list or number expected, got nil", lqr, { { 1, 0 }, { 0, 1 } }, { 1, 2 })
  raises("A: square matrix expected, got 2 x 3", lqr, { { 1, 0, 1 }, { 0, 1, 1 } }, { 1, 2 }, 1, 1)
  raises("A: square matrix expected, got nil", lqr)
end)

test("its derivatives agree with differences", function()
  local p = { a = 0.1, b = 0.2, q = 0.5, r = 0.3 }
  for i = 1, 2 do
    local worst = sim.check_grad(function(x)
      local K, P = lqr({ { 1, 0.1 }, { x.a, 1 } }, { 0, x.b }, { 1, x.q }, x.r)
      return i == 1 and K[{ 1, 1 }] + K[{ 1, 2 }] or P[{ 1, 2 }]
    end, p, { print = false })
    ok(worst < 1e-7, worst)
  end
end)

test("it balances the system that linearize gives", function()
  local world = sim.world { dt = 1 / 100 }
  local cart = world:box { size = { 0.4, 0.2 }, mass = 1 }
  local pole = world:box { size = { 0.05, 0.5 }, mass = 0.2, position = { 0, 0.25 } }
  local rail = world:slider { cart, anchor = { 0, 0 }, axis = { 1, 0 } }
  local hinge = world:hinge { pole, cart, anchor = { 0, 0 } }
  local A, B = world:linearize { inputs = { { body = cart, force = { 1, 0 } } }, coordinates = { rail, hinge } }
  local K = lqr(A, B, 1, 0.01)
  local P, iterated = sim.eye(4), nil
  for _ = 1, 5000 do
    local BP = B:t():mm(P)
    iterated = sim.linalg.solve(BP:mm(B) + 0.01, BP:mm(A))
    P = sim.eye(4) + A:t():mm(P:mm(A - B:mm(iterated)))
  end
  ok(K:equals(iterated, 1e-7 * K:norm()))
end)
