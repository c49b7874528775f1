-- Unmeasured friction is learned through the complementarity problem, which may have no solution during the training.
--
-- Only v, u and v' are known. 0 <= l _|_ M l + W (v, u, 1) >= 0 gives l = (l+, l-, gamma), with v' = v + u + l+ - l-.
-- The gradient of the error of v' is propagated through the solution. The script tests three objections of the note:
-- - "The LCP might not even be solvable". It is solvable close to the true law, but often not farther away (the script
--   counts the cases).
-- - "If we forced G to be positive semidefinite, sum phi phi' + eps I, we wouldn't be able to learn the correct M".
--   This is true for M. Its skew part has the norm 2, which is its distance from all symmetric matrices, and no
--   positive scaling of rows makes it symmetric, because M13 M31 < 0. It is not true for the law. With b = v + u,
--     G = [1 0 0; 0 1 1; 0 1 2],   q = (-mu, -b - mu, -2 b)
--   is symmetric positive definite and therefore always solvable. It gives l+ = mu, l- = clamp(b + mu, 0, 2 mu), so
--   v' = b - clamp(b, -mu, mu). Both forces pull all the time, and their difference is Coulomb's friction.
-- - "I don't think the traditional way is capable of encoding sticking". It sticks to the accuracy of its numbers.
local sim = require "sim2d"
local e = sim.experiment("Learning M and W through the LCP", { iterations = { 150, "of each training" } })

local M_true = sim.array { { 1, -1, 1 }, { -1, 1, 1 }, { -1, -1, 0 } }
local W_true = sim.array { { 1, 1, 0 }, { -1, -1, 0 }, { 0, 0, 1 } } -- with mu = m = g = h = 1
local random = sim.random.split()

local function data(count) -- returns {v, u, v'}, thirty steps per run
  local list, v = {}, 0
  for i = 1, count do
    if i % 30 == 1 then v = random:uniform(-3, 3) end
    local u = random:uniform(-3, 3)
    list[i] = { v, u, v + u - sim.clamp(v + u, -1, 1) }
    v = list[i][3]
  end
  return list
end
local set, test = data(30), data(300)

local function predict(M, W, v, u) -- nil: no solution
  local z = sim.lcp.solve(M, W:mm { v, u, 1 })
  return z and v + u + z[1] - z[2]
end

-- Returns the error over `test`, and the largest speed of blocks that should rest. Problems without a solution count as
-- frictionless.
local function judge(M, W)
  local sum, creep = 0, 0
  for _, s in ipairs(test) do
    local v = predict(M, W, s[1], s[2]) or s[1] + s[2]
    sum = sum + (v - s[3]) ^ 2
    if s[3] == 0 then creep = math.max(creep, math.abs(v)) end
  end
  return math.sqrt(sum / #test), creep
end

-- Adam minimises the mean square error, with M = matrix(p). Returns the test results, the number of unsolvable
-- problems, and the errors.
local function train(p0, matrix)
  local none, values = 0, {}
  local p = sim.optimize.minimize(function(p)
    local M, sum = matrix(p), 0
    for _, s in ipairs(set) do
      local v = predict(M, p.W, s[1], s[2])
      if not v then none = none + 1 end
      sum = sum + ((v or s[1] + s[2]) - s[3]) ^ 2
    end
    return sum / #set
  end, p0, { method = "adam", learning_rate = 0.02, max_iterations = e.options.iterations,
    callback = function(_, value) values[#values + 1] = math.sqrt(value) end })
  return { judge(matrix(p), p.W) }, none, values
end

-- 1. Counts unsolvable problems among problems with noise in all entries.
local shares = {}
for i, sd in ipairs { 0.01, 0.3, 1 } do
  local none = 0
  for _ = 1, 1000 do
    local M, W = M_true + sd * sim.randn({ 3, 3 }, random), W_true + sd * sim.randn({ 3, 3 }, random)
    local s = random:choice(test)
    if not predict(M, W, s[1], s[2]) then none = none + 1 end
  end
  shares[i] = none / 10
end
e:equal("noise 0.01 in M and W: no solution, %", 0, shares[1])
e:above("noise 0.3: no solution, %", 5, shares[2])
e:above("noise 1: no solution, %", 25, shares[3])

-- 2. Training starts with errors of 0.1 and 0.3, and with M = A A' + eps I.
local function noisy(sd)
  return { M = M_true + sd * sim.randn({ 3, 3 }, random), W = W_true + sd * sim.randn({ 3, 3 }, random) }
end
local function own(p) return p.M end
local function psd(p) return p.A:mm(p.A:t()) + 0.01 * sim.eye(3) end
local start = noisy(0.1)
local before = judge(start.M, start.W)
local fit, none, near = train(start, own)
e:below("from 0.1 off: rmse after training, of that before", 0.5, fit[1] / before)
e:above("   fastest of what should rest", 1e-9, fit[2])
local _, lost, far = train(noisy(0.3), own)
local blind, missing, values = train({ A = sim.randn({ 3, 3 }, random), W = W_true:copy() }, psd)
e:equal("G = sum phi phi' + eps I, at random: no solution", 0, missing)
print(("no solution on the way: %d from 0.1 off, %d from 0.3 off; random G: rmse %.3f"):format(none, lost, blind[1]))
e:equal("   distance of M from symmetric matrices", 2, (M_true - M_true:t()):norm() / 2)

-- 3. The law with a positive definite matrix is compared with the engine, and found by training from a nearby start.
local A = sim.linalg.cholesky(sim.array { { 1, 0, 0 }, { 0, 1, 1 }, { 0, 1, 2 } } - 0.01 * sim.eye(3))
local G, W = psd { A = A }, sim.array { { 0, 0, -1 }, { -1, -1, -1 }, { -2, -2, 0 } }
local worst = 0
for i = 1, 100 do
  local v, u = test[i][1], test[i][2]
  local world = sim.world { stepping = "speculative", dt = 1, gravity = { 0, -1 } }
  world:box { type = "static", position = { 0, -0.5 }, size = { 99, 1 }, friction = 1 }
  local box = world:box { position = { 0, 0.05 }, size = { 2, 0.1 }, mass = 1, friction = 1, velocity = { v, 0 } }
  box:apply_force { u, 0 }
  world:step()
  worst = math.max(worst, math.abs(predict(G, W, v, u) - box.vx))
end
e:above("symmetric G of the law: smallest eigenvalue", 0.38, (sim.linalg.eig(G))[1])
e:equal("   100 steps: v against the engine", 0, worst, 1e-9)
start = { A = A + 0.1 * sim.randn({ 3, 3 }, random), W = W + 0.1 * sim.randn({ 3, 3 }, random) }
before = judge(psd(start), start.W)
local after, _, definite = train(start, psd)
e:below("   from 0.1 off: rmse after training, of that before", 0.5, after[1] / before)

e:figure(sim.plot { title = "Learning friction from speeds", x = "iteration", y = { label = "rmse of v'", log = true },
  { near, label = "from 0.1 off" }, { far, label = "from 0.3 off" },
  { definite, label = "G = G', 0.1 off" }, { values, label = "G = G', random" } })
e:finish()
