-- If the optimality conditions of the inner programme become equations of the outer programme, friction is found from
-- any guess.
--
-- The note suggests: "encode inner soft constraints function as KKT equality conditions, then impose these as
-- conditions on the higher level". The inner programme of 15, min 1/2 l'P l + c'l over l >= 0, s = M l + q >= 0, q =
-- (b, -b, mu), has the optimality conditions
--   P l + c - M'y - z = 0,    l z = 0,    s y = 0     with l, s, y, z >= 0,     b = v + u,
-- where the pairs are written as l + z - sqrt(l^2 + z^2 + k^2) = 0 with k = 1e-8 (Fischer-Burmeister). The unknowns are
-- mu, and l, y, z of each step. Least squares is applied to these equations, with a weight, and to the errors of v'.
-- The cost of 15 is flat for mu > 7 because l is always optimal for mu. Here l may be inconsistent with mu during the
-- search.
local sim = require "sim2d"
local e = sim.experiment "The inner problem's optimality conditions as equations"

local M = { { 1, -1, 1 }, { -1, 1, 1 }, { -1, -1, 0 } }
local P = { { 4, -4, 0 }, { -4, 4, 0 }, { 0, 0, 0 } }

local k = 1e-8
local function residuals(p, data, weight)
  local r = {}
  for n, step in ipairs(data) do
    local b, after, l, y, z = step[1], step[2], p.l[n], p.y[n], p.z[n]
    local be = after - b
    local c, q = { b - 2 * be, 2 * be - b, p.mu }, { b, -b, p.mu }
    for i = 1, 3 do
      local gradient, s = c[i] - z[i], q[i]
      for j = 1, 3 do
        gradient, s = gradient + P[i][j] * l[j] - M[j][i] * y[j], s + M[i][j] * l[j]
      end
      r[#r + 1] = weight * gradient
      r[#r + 1] = weight * (l[i] + z[i] - sim.sqrt(l[i] ^ 2 + z[i] ^ 2 + k * k))
      r[#r + 1] = weight * (s + y[i] - sim.sqrt(s ^ 2 + y[i] ^ 2 + k * k))
    end
    r[#r + 1] = b + l[1] - l[2] - after
  end
  return r
end

local function learn(mu, data, weight)
  local p = { mu = mu, l = {}, y = {}, z = {} }
  for n in ipairs(data) do p.l[n], p.y[n], p.z[n] = { 0, 3, 0 }, { 1, 1, 1 }, { 1, 1, 1 } end -- initial l: a block at rest
  return sim.optimize.least_squares(function(x) return residuals(x, data, weight) end, p).mu
end

for _, mu in ipairs { 0.1, 3.2, 7.5, 10.5, 100 } do
  e:equal(("a step of mu = 1, from %g"):format(mu), 1, learn(mu, { { 3, 2 } }, 1), 1e-8)
end

-- For five sliding steps with noise, the best mu is the mean of their estimates. Without the weight, the equations are
-- violated.
local noisy, mean = {}, 0
for n = 1, 5 do
  local b = sim.random.uniform(2, 4)
  noisy[n] = { b, b - 1 + sim.random.normal(0, 0.05) }
  mean = mean + (b - noisy[n][2]) / 5
end
e:equal("five noisy steps, from 10.5, weight 1", mean, learn(10.5, noisy, 1), 1e-2)
e:equal("   weight 10", mean, learn(10.5, noisy, 10), 1e-4)
e:finish()
print "verdict: yes: no plateau; the price is nine unknowns a step, and a weight"
