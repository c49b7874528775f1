-- Each number of the friction law is written as relu(p) - relu(n): chance decides which numbers become exactly zero,
-- and a threshold gives better results.
--
-- The note suggests: "Relu into each element of M (one pos, one neg); learn exact zeros in M". Where p and n are
-- negative, x = relu(p) - relu(n) is 0 and has no derivative, so it remains 0. p and n may be negative at the start,
-- and the term c (relu(p) + relu(n)) = c |x| drives them to negative values. Rows of G and f are learned from known
-- friction with noise of 0.001, by the cost (l_r w_r)^2 + max(0, -w_r)^2. Five entries are truly 0 and determined by
-- the data. G12 and G21 are -1 and undetermined. The sum of this cost and c |x| has its minimum away from the true law,
-- without true zeros, because sliding leaves a direction undetermined (13b).
local sim = require "sim2d"
local e = sim.experiment "Exact zeros by relu(p) - relu(n)"
local truth, given = { { 1, -1, 1, 1, 1, 0 }, { -1, 1, 1, -1, -1, 0 }, { -1, -1, 0, 0, 0, 1 } }, { 1, 2, 1 }
local X, v = {}, 0
for i = 1, 200 do
  local u = sim.random.uniform(-3, 3)
  local l = -sim.clamp(v + u, -1, 1)
  X[i] = { math.max(l, 0), math.max(-l, 0), math.abs(v + u + l), v, u, 1 }
  v = v + u + l
end
X = sim.array(X) + 0.001 * sim.randn { 200, 6 }

-- Learns from `start`(). With bounds, p and n are >= 0, so relu has no effect and the exact minimum is found. |x| <=
-- cut counts as zero. Returns the number of true zeros, the zeros of G12 and G21, the false zeros, and the largest
-- error of the other entries.
local function count(c, start, bounded, cut)
  local right, unseen, killed, worst = 0, 0, 0, 0
  for r = 1, 3 do
    local free, known = sim.ones(6), sim.zeros(6)
    free[given[r]], known[given[r]] = 0, truth[r][given[r]]
    local p = sim.optimize.minimize(function(p)
      local w = X:mm((sim.relu(p.p) - sim.relu(p.n)) * free + known)
      return ((X:column(r) * w) ^ 2 + sim.relu(-w) ^ 2):mean() + c * (sim.relu(p.p) + sim.relu(p.n)):sum()
    end, start(), { lower = bounded and 1e-300 or nil, tolerance = 1e-12 })
    local x = (sim.relu(p.p) - sim.relu(p.n)) * free + known
    for j = 1, 6 do
      local zero, true_zero = math.abs(x[j]) <= cut, truth[r][j] == 0
      if r + j == 3 then
        unseen = unseen + (zero and 1 or 0)
      else
        worst = math.max(worst, math.abs(x[j] - truth[r][j]))
        right, killed = right + (zero and true_zero and 1 or 0), killed + (zero and not true_zero and 1 or 0)
      end
    end
  end
  return right, unseen, killed, worst
end
local function alive() return { p = sim.ones(6), n = sim.ones(6) } end
local right, unseen, killed, worst = count(1e-3, alive, true, 0)
e:equal("least sum with |x|: true zeros of 5", 0, right)
e:equal("   zeros of the two unseen", 2, unseen)
right, _, killed, worst = count(1e-3, alive, false, 0)
e:above("relu, from p = n = 1: true zeros of 5", 2, right)
e:equal("   false zeros", 0, killed)
e:below("   largest error", 0.1, worst)
_, _, killed = count(0, function() return { p = sim.randn { 6 }, n = sim.randn { 6 } } end, false, 0)
e:above("relu, random starts: false zeros", 1, killed)
right, _, killed, worst = count(0, alive, false, 0.1)
e:equal("without c, what is below 0.1: true zeros of 5", 5, right)
e:equal("   false zeros", 0, killed)
e:below("   largest error", 0.01, worst)
e:finish()
print "verdict: a relu keeps what steps happen to jump into, true or false; a threshold at the end finds all five"
