-- An LCP that is regularised for training is a different law: blocks creep, mu is biased, and some problems remain
-- unsolvable.
--
-- The notes say (3.2.3): "The LCP might not even be solvable. You could try to fix this by imposing some structure on
-- G". There are two common remedies: M + eps I, and a point on the central path, z w = kappa, instead of the solution.
-- For the true law and b = v + u > 0 (h = m = g = 1), the first remedy gives, with D = 1 + eps + eps^2,
--   it creeps,  v' = b eps/(1 + eps),               up to b = (1 + eps) mu
--   it slides,  v' = b - mu - eps (b - (1 + eps) mu)/D
-- so a sliding step (b, v') gives mu = D (b - v') - eps b. M + eps I does not help if the guess of mu is too large,
-- because sticking does not depend on mu, with or without eps. On the central path, sticking depends on mu, and descent
-- leads back to the true mu. If all of M is learned, eps I is merely a different initial guess of M. If eps is reduced
-- during training, eps I only makes the intermediate problems solvable.
local sim = require "sim2d"
local e = sim.experiment("Regularising the complementarity problem in training",
  { iterations = { 100, "of each training" }, starts = { 4, "" } })

local M_true = sim.array { { 1, -1, 1 }, { -1, 1, 1 }, { -1, -1, 0 } }
local W_true = sim.array { { 1, 1, 0 }, { -1, -1, 0 }, { 0, 0, 1 } } -- with mu = m = g = h = 1
local I, random = sim.eye(3), sim.random.split()

local function speed(b, mu, eps, options)
  local z = assert(sim.lcp.solve(M_true + eps * I, { b, -b, mu }, options))
  return b + z[1] - z[2]
end
local function closed(b, mu, eps)
  return b < (1 + eps) * mu and b * eps / (1 + eps) or b - mu - eps * (b - (1 + eps) * mu) / (1 + eps + eps * eps)
end

-- 1. The law with eps.
local worst = 0
for _ = 1, 1000 do
  local b, mu, eps = random:uniform(0, 6), random:uniform(0.2, 3), 10 ^ random:uniform(-6, 0)
  worst = math.max(worst, math.abs(speed(b, mu, eps) - closed(b, mu, eps)))
end
e:equal("1000 laws with eps: from the closed form", 0, worst, 1e-9)
e:equal("eps = 0.001, pushed by 1/2: creep a step", 0.0005 / 1.001, speed(0.5, 1, 0.001), 1e-12)

-- 2. mu from the sliding step (b, v') = (3, 2) with the true mu 1: by Newton's method with eps = 0.1, and from the
-- guess 5, which is too large.
local function loss(mu, eps, options) return (speed(3, mu, eps, options) - 2) ^ 2 end
local function descend(mu, steps, rate, eps, kappa)
  for k = 1, steps do
    local now = kappa and kappa(k / steps)
    mu = mu - sim.clamp(rate * sim.grad(function(p) return loss(p, eps, { kappa = now }) end, mu), -0.1, 0.1)
  end
  return mu
end
e:equal("mu by descent, eps = 0.1 (true: 1)", 1.11 - 0.3, descend(0.5, 200, 0.3, 0.1), 1e-9)
e:equal("mu from 5: plain", 5, descend(5, 100, 0.3, 0))
e:equal("   eps = 0.1", 5, descend(5, 100, 0.3, 0.1))
local path = descend(5, 400, 50, 0, function(t) return 0.3 * 1e-5 ^ t end)
e:equal("   kappa from 0.3 to 3e-6", 1, path, 0.01)
e:equal("   and plain from there", 1, descend(path, 100, 0.3, 0), 1e-9)

-- 3. Counts unsolvable problems if the entries have noise of 0.3.
local function data(count)
  local list = {}
  for i = 1, count do
    local v, u = i % 10 == 1 and random:uniform(-3, 3) or list[i - 1][3], random:uniform(-3, 3)
    list[i] = { v, u, v + u - sim.clamp(v + u, -1, 1) }
  end
  return list
end
local set, test = data(20), data(300)
local function noisy()
  return { M = M_true + 0.3 * sim.randn({ 3, 3 }, random), W = W_true + 0.3 * sim.randn({ 3, 3 }, random) }
end
local shifts, unsolved = { 0, 0.1, 0.3, 1 }, { 0, 0, 0, 0 }
for k = 1, 1000 do
  local p, s = noisy(), test[k % 300 + 1]
  for i, shift in ipairs(shifts) do
    if not sim.lcp.solve(p.M + shift * I, p.W:mm { s[1], s[2], 1 }) then unsolved[i] = unsolved[i] + 0.1 end
  end
end
e:above("noise of 0.3: no solution, %: eps = 0", 10, unsolved[1])
e:below("   eps = 0.3", 5, unsolved[3])
e:equal("   eps = 1", 0, unsolved[4])

-- 4. Adam learns all of M and W. Returns the final rmse, and the number of unsolvable problems at the end and during
-- training.
local function predict(p, s, shift, kappa)
  local z = sim.lcp.solve(p.M + shift * I, p.W:mm { s[1], s[2], 1 }, { kappa = kappa })
  return z and s[1] + s[2] + z[1] - z[2] or s[1] + s[2], z and 0 or 1
end
local function train(M, W, shift, kappa)
  local k, none = 0, 0
  local function error_of(p, list, now, smooth)
    local sum = 0
    for _, s in ipairs(list) do
      local v, missing = predict(p, s, now, smooth)
      sum, none = sum + (v - s[3]) ^ 2 / #list, none + missing
    end
    return sum
  end
  local p = sim.optimize.minimize(function(p)
    k = k + 1
    return error_of(p, set, shift(math.min(1, (k - 1) / e.options.iterations)), kappa)
  end, { M = M, W = W }, { method = "adam", max_iterations = e.options.iterations, learning_rate = 0.02 })
  return math.sqrt(error_of(p, test, shift(1))), none
end
local function constant(shift) return function() return shift end end
local function falling(t) return math.max(0, 1 - 1.25 * t) end
local ways = { { "plain", constant(0) }, { "eps from 1 to 0", falling }, { "kappa = 0.01", constant(0), 0.01 } }
local rmse, lost, starts, moved = { {}, {}, {} }, { 0, 0, 0 }, e.options.starts, 0
for n = 1, starts do
  local p = noisy()
  for i, way in ipairs(ways) do
    local off, none = train(p.M, p.W, way[2], way[3])
    rmse[i][n], lost[i] = off, lost[i] + none
  end
  if n == 1 then moved = train(p.M - 0.1 * I, p.W, constant(0.1)) end
end
e:equal("all of M learned, eps = 0.1: rmse against a start moved by it", rmse[1][1], moved, 1e-9)
e:above("no solution in training and after: plain", 500, lost[1])
e:below("   eps from 1 to 0", 50, lost[2])

local laws = { title = "The law with eps", x = "v + u", y = "v'", legend = "inside" }
local ends = { title = "Trainings", x = "start", y = { label = "rmse of v'", range = { 0, 1 } }, legend = "above" }
for i, eps in ipairs { 0, 0.1, 0.3 } do
  laws[i] = { function(b) return closed(b, 1, eps) end, 0, 4, label = ("eps = %g"):format(eps) }
  ends[i] = { sim.linspace(1, starts, starts), rmse[i], kind = "scatter", label = ways[i][1] }
end
e:figure(sim.plot.grid { columns = 2, width = 640, height = 380, laws, ends })
e:finish()
