-- If the matrix may depend on the state, more laws fit the same data, and some of these laws predict wrong motions.
--
-- The notes say (3.1.3): "I needed to make G not a function of v and u, otherwise it just converged with some weird
-- degenerate solutions". This script finds these solutions. Rows of 0 <= l _|_ f + G l >= 0, with l = (l+, l-, gamma),
-- have to vanish where their l is positive. Hence the null space of their numbers on these steps is undetermined (with
-- h = m = g = mu = 1, b = v + u):
-- - If G is constant, a row has 6 numbers. Rows 1 and 2 each leave two numbers undetermined: their scale, and G12 or
--   G21. Row 3 leaves only its scale.
-- - If G is affine in (v, u), a row has 12 numbers, and each row leaves four undetermined. In rows 1 and 2 these are
--   the scale and three numbers of G12 or G21. Row 3 is
--     w3 = (a + b1 v + b2 u) (1 - l+ - l-) + d (gamma + b (l+ - l-) + l+ + l-),
--   with any a, b1, b2 and d for which w3 is nonnegative where the block sticks. The second term is another form of v'
--   (|b| - b^2 at rest) and gives the right motion, so it is a strange but correct solution. The first term is correct
--   while a + b1 v + b2 u > 0. Sliding data do not exclude a negative value. In this case l+ + l- > 1 is allowed, so a
--   block may stop at any speed.
local sim = require "sim2d"
local e = sim.experiment "G that depends on v and u: what fits, and what it does"

local random = sim.random.split()

-- Returns steps {l+, l-, gamma, v, u}, ten per run. The w of a row is the product of its numbers with these values.
local function data(count)
  local list, v = {}, 0
  for i = 1, count do
    v = i % 10 == 1 and random:uniform(-3, 3) or v
    local u = random:uniform(-3, 3)
    local l = -sim.clamp(v + u, -1, 1)
    list[i] = { math.max(l, 0), math.max(-l, 0), math.abs(v + u + l), v, u }
    v = v + u + l
  end
  return list
end
local function numbers(step, affine)
  local p, m, g, v, u = table.unpack(step)
  return affine and { p, p * v, p * u, m, m * v, m * u, g, g * v, g * u, v, u, 1 } or { p, m, g, v, u, 1 }
end

-- 1. Counts the directions that the steps leave undetermined.
local steps = data(2000)
for _, case in ipairs { { "G constant, of 18", false, 5 }, { "G affine, of 36", true, 12 } } do
  local open = 0
  for r = 1, 3 do
    local A = {}
    for _, step in ipairs(steps) do
      if step[r] > 0 then A[#A + 1] = numbers(step, case[2]) end
    end
    local _, s = sim.linalg.svd(sim.array(A))
    open = open + s:lt(1e-9 * s[1]):sum()
  end
  e:equal(case[1] .. " numbers: left open", case[3], open)
end

-- Returns the share of steps, in %, with a wrong motion. rows(v, u) returns M and q.
local function wrong_motions(list, rows)
  local wrong = 0
  for _, step in ipairs(list) do
    local z = sim.lcp.solve(rows(step[4], step[5]))
    wrong = wrong + (z and math.abs(z[1] - z[2] - step[1] + step[2]) < 1e-3 and 0 or 100 / #list)
  end
  return wrong
end

-- 2. Two choices of the third row that have no cost, with the true first two rows.
local function disguise(v, u)
  return { { 1, -1, 1 }, { -1, 1, 1 }, { 1 + v + u, 1 - v - u, 1 } }, { v + u, -v - u, 0 }
end
local function scaled(v, u)
  return { { 1, -1, 1 }, { -1, 1, 1 }, { -1 - v - u, -1 - v - u, 0 } }, { v + u, -v - u, 1 + v + u }
end
local cost = 0
for i = 1, 2 * #steps do
  local step = steps[(i + 1) // 2]
  local M, q = (i % 2 == 0 and disguise or scaled)(step[4], step[5])
  local w = sim.array(M[3]):dot { step[1], step[2], step[3] } + q[3]
  cost = math.max(cost, math.abs(step[3] * w), -w)
end
e:equal("the motion in disguise, a row times 1 + v + u: cost", 0, cost, 1e-12)
e:equal("wrong motions, %: in disguise", 0, wrong_motions(steps, disguise))
e:above("   times 1 + v + u", 30, wrong_motions(steps, scaled))

-- 3. L-BFGS finds rows from random numbers, with the constants of G11, G22 and G31 given. The cost is (l_r w_r)^2 +
-- max(0, -w_r)^2.
local function train(list, affine)
  local rows, most = {}, 0
  for r = 1, 3 do
    local X, L = {}, sim.zeros(#list)
    for i, step in ipairs(list) do X[i], L[i] = numbers(step, affine), step[r] end
    X = sim.array(X)
    local given, mask, at = sim.zeros(X.shape[2]), sim.ones(X.shape[2]), r == 2 and (affine and 4 or 2) or 1
    given[at], mask[at] = r == 3 and -1 or 1, 0
    local p, value = sim.optimize.minimize(function(p)
      local w = X:mm(p.row * mask + given)
      return ((L * w) ^ 2 + sim.relu(-w) ^ 2):mean()
    end, { row = sim.randn(X.shape[2], random) }, { tolerance = 1e-12 })
    rows[r], most = p.row * mask + given, math.max(most, value)
  end
  return function(v, u)
    local M, q = {}, {}
    for r, x in ipairs(rows) do
      local function entry(i) return affine and x[3 * i - 2] + x[3 * i - 1] * v + x[3 * i] * u or x[i] end
      M[r], q[r] = { entry(1), entry(2), entry(3) }, x[#x - 2] * v + x[#x - 1] * u + x[#x]
    end
    return M, q
  end, most
end
local tries, shares, most = sim.linspace(1, 10, 10), { {}, {} }, 0
for try = 1, 10 do
  local list, test = data(300), data(300)
  for kind, affine in ipairs { false, true } do
    local rows, largest = train(list, affine)
    shares[kind][try], most = wrong_motions(test, rows), math.max(most, largest)
  end
end
e:equal("20 trainings, 300 steps each: largest cost", 0, most, 1e-20)
e:equal("   wrong motions, %, G constant: at most", 0, math.max(table.unpack(shares[1])))
e:above("   G affine: at most", 5, math.max(table.unpack(shares[2])))

local function speed(b) return b + sim.array((sim.lcp.solve(scaled(b, 0)))):dot { 1, -1, 0 } end
e:figure(sim.plot.grid { columns = 2, width = 640, height = 380,
  sim.plot { title = "A row times 1 + v + u", x = "v + u", y = "v'", { speed, -4, 4, label = "with it" }, legend = "inside",
    { function(b) return b - sim.clamp(b, -1, 1) end, -4, 4, dash = true, label = "true" } },
  sim.plot { title = "Trained: motions that are wrong", x = "training", y = "%", legend = "above",
    { tries, shares[1], kind = "scatter", label = "G constant" },
    { tries, shares[2], kind = "scatter", marker = "cross", label = "G affine" } } })
e:finish()
