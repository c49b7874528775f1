-- If only the friction directions D are learned instead of the whole matrix, rest stays exact throughout the training.
--
-- The note suggests: "Learn D matrix!" With D = (d1, d2) the problem is
--   0 <= beta _|_ gamma + D'(b + D beta) >= 0,  0 <= gamma _|_ mu - beta1 - beta2 >= 0,  b = v + u,  v' = b + D beta,
-- which is solvable for any D and mu >= 0. Where beta > 0 and gamma = 0, d (b + D beta) = 0, so v' = 0 to the last
-- digit for any d and mu. v' depends only on mu d1 and mu d2. The floor in this script resists with 1 to the right (mu
-- d2 = -1), and with 0.4 to the left (mu d1). The initial guesses are too small on purpose. With guesses that are too
-- large, all blocks rest and there is no slope, as in 15.
local sim = require "sim2d"
local e = sim.experiment "Learning D"

local random = sim.random.split()
local function data(count)
  local list, v = {}, 0
  for i = 1, count do
    if i % 5 == 1 then v = random:uniform(-3, 3) end
    local u = random:uniform(-3, 3)
    local b = v + u
    v = b > 1 and b - 1 or b < -0.4 and b + 0.4 or 0
    list[i] = { b, v }
  end
  return list
end
local function predict(p, b)
  local d, k = p.d, p.mu
  local z = assert(sim.lcp.solve({ { d[1] * d[1], d[1] * d[2], 1 }, { d[1] * d[2], d[2] * d[2], 1 }, { -1, -1, 0 } },
    { d[1] * b, d[2] * b, k }))
  return b + d[1] * z[1] + d[2] * z[2]
end
local set, test = data(30), data(300)

-- Returns the error over `test`, and the share (in %) of resting cases that are predicted to rest to within 1e-12.
local function judge(p)
  local sum, rest, resting = 0, 0, 0
  for _, s in ipairs(test) do
    local v = predict(p, s[1])
    sum = sum + (v - s[2]) ^ 2
    if s[2] == 0 then
      rest, resting = rest + 1, resting + (math.abs(v) < 1e-12 and 1 or 0)
    end
  end
  return math.sqrt(sum / #test), 100 * resting / rest
end

local start = { d = sim.array { 0.2, -0.6 }, mu = 1.2 }
local rmse, resting = judge(start)
e:above("before: rmse", 0.1, rmse)
e:above("   of what rests predicted to rest, %", 30, resting)
local p = sim.optimize.minimize(function(p)
  local sum = 0
  for _, s in ipairs(set) do sum = sum + (predict(p, s[1]) - s[2]) ^ 2 end
  return sum / #set
end, start)
rmse, resting = judge(p)
e:equal("after: mu d1", 0.4, p.mu * p.d[1], 1e-6)
e:equal("   mu d2", -1, p.mu * p.d[2], 1e-6)
e:equal("   rmse", 0, rmse, 1e-6)
e:equal("   of what rests predicted to rest, %", 100, resting)
e:finish()
print "verdict: yes; what is learned is friction by construction, always solvable, and rests exactly"
