-- If the matrix of the friction law is written as phi phi' plus a skew part, only one number must be given, whereas the
-- note gave six.
--
-- The matrix is written as M = phi phi' + sum alpha_i E_i (alpha >= 0) + sum beta_i (skew), and the true matrix is
--   [1 -1 1; -1 1 1; -1 -1 0] = (-1, 1, 0)(-1, 1, 0)' + [e1 e3' - e3 e1'] + [e2 e3' - e3 e2'].
-- In this form a row shares its scale with its column, so M31 = -1 fixes all scales. Without the nonnegative part,
-- M33 = phi3^2 = 0, so beta gives M13 = 1 and M23 = 1, and phi1^2 = phi2^2 = 1. Known friction determines only that M12
-- and M21 are >= -1, and in this form they are phi1 phi2 +- beta12. A search therefore has two possible results:
--   phi1 phi2 = -1:  beta12 = 0, the complete true matrix;      phi1 phi2 = 1:  M12 + M21 = 2, beta12 free.
-- The nonnegative part removes this advantage: rows have independent scales again, and alpha12 and alpha21 are
-- arbitrary.
local sim = require "sim2d"
local e = sim.experiment("A basis for M: phi phi' + nonnegative + skew", { starts = { 20, "random starts" } })

local random = sim.random.split()
local truth = sim.array { { 1, -1, 1 }, { -1, 1, 1 }, { -1, -1, 0 } }
local phi = sim.array { { -1 }, { 1 }, { 0 } }
local skew = {
  sim.array { { 0, 1, 0 }, { -1, 0, 0 }, { 0, 0, 0 } },
  sim.array { { 0, 0, 1 }, { 0, 0, 0 }, { -1, 0, 0 } },
  sim.array { { 0, 0, 0 }, { 0, 0, 1 }, { 0, -1, 0 } },
}
e:equal("the note's decomposition: error", 0, (phi:mm(phi:t()) + skew[2] + skew[3] - truth):norm())

-- Returns steps with known friction, thirty per run.
local L, D, v = {}, {}, 0
for i = 1, 60 do
  if i % 30 == 1 then v = random:uniform(-3, 3) end
  local u = random:uniform(-3, 3)
  local z = assert(sim.lcp.solve(truth, { v + u, -v - u, 1 }))
  L[i], D[i] = z, { v, u, 1 }
  v = v + u + z[1] - z[2]
end
L, D = sim.array(L), sim.array(D)

local function matrix(p)
  local column = p.phi:reshape(3, 1)
  local M = column:mm(column:t()) + p.beta[1] * skew[1] + p.beta[2] * skew[2] + p.beta[3] * skew[3]
  return p.alpha and M + sim.relu(p.alpha) or M
end

local function cost(p)
  local M = matrix(p)
  local w = L:mm(M:t()) + D:mm(p.W:t())
  return ((L * w) ^ 2 + sim.relu(-w) ^ 2):sum() / #L + 50 * (M[{ 3, 1 }] + 1) ^ 2
end

-- Trains from a random start. Returns the largest error of M and q, except for M12 and M21, with rows scaled like the
-- true rows.
local q = sim.array { { 1, 1, 0 }, { -1, -1, 0 }, { 0, 0, 1 } }
local function train(nonnegative)
  local p0 = { phi = sim.randn({ 3 }, random), beta = sim.randn({ 3 }, random), W = sim.randn({ 3, 3 }, random) }
  if nonnegative then p0.alpha = sim.randn({ 3, 3 }, random) end
  local p = sim.optimize.minimize(cost, p0, { tolerance = 1e-12 })
  local M = matrix(p)
  local scale = sim.array { { p.W[{ 1, 1 }] }, { -p.W[{ 2, 1 }] }, { p.W[{ 3, 3 }] } }
  local off = M / scale - truth
  off[{ 1, 2 }], off[{ 2, 1 }] = 0, 0
  return math.max(sim.max(sim.abs(off)), sim.max(sim.abs(p.W / scale - q))), sim.max(sim.abs(scale - 1)), M, p
end

local whole, other, worst, scaled, worst_whole, worst_other = 0, 0, 0, 0, 0, 0
local ends = { {}, {}, {}, {} }
for _ = 1, e.options.starts do
  local off, scale, M, p = train(false)
  worst, scaled = math.max(worst, off), math.max(scaled, scale)
  if p.phi[1] * p.phi[2] < 0 then
    whole, worst_whole = whole + 1, math.max(worst_whole, sim.max(sim.abs(M - truth)))
  else
    other, worst_other = other + 1, math.max(worst_other, math.abs(M[{ 1, 2 }] + M[{ 2, 1 }] - 2))
  end
  table.insert(ends[1], M[{ 1, 2 }])
  table.insert(ends[2], M[{ 2, 1 }])
end
e:equal(("phi phi' + skew, %d starts: largest error but of M12, M21"):format(e.options.starts), 0, worst, 1e-5)
e:equal("   largest error of the scale of a row", 0, scaled, 1e-4)
e:equal(("   phi1 phi2 < 0 (%d): largest error of all entries"):format(whole), 0, worst_whole, 1e-4)
e:equal(("   phi1 phi2 > 0 (%d): largest error of M12 + M21 = 2"):format(other), 0, worst_other, 1e-4)
e:above("   each of the two ends is met, times", 1, math.min(whole, other))

worst = 0
for _ = 1, e.options.starts // 3 do
  local off, _, M = train(true)
  worst = math.max(worst, off)
  table.insert(ends[3], M[{ 1, 2 }])
  table.insert(ends[4], M[{ 2, 1 }])
end
e:equal("with the nonnegative part: largest error, rows rescaled", 0, worst, 1e-5)
e:equal("   cost of the truth with row 1 doubled", 0, cost { phi = phi:reshape(3), beta = sim.array { -1, 1, 1 },
  alpha = sim.array { { 1, 0, 1 }, { 0, 0, 0 }, { 0, 0, 0 } }, W = q * { { 2 }, { 1 }, { 1 } } }, 1e-30)

e:figure(sim.plot { title = "What training makes of M12 and M21", x = "M12", y = "M21",
  { function(x) return 2 - x end, -1, 3, dash = true, label = "sum 2" },
  { ends[1], ends[2], kind = "scatter", label = "phi phi' + skew" },
  { ends[3], ends[4], kind = "scatter", marker = "cross", label = "nonnegative as well" },
  { x = -1, y = -1, text = "truth" } })
e:finish()
