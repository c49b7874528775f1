-- With known friction, the matrix of a friction law can be learned except for two numbers, which the data do not
-- determine.
--
-- l = (l+, l-, gamma) of the traditional problem is known, f is affine in (v, u), and G is constant. Row r has six
-- numbers,
--   w_r = G_r1 l+ + G_r2 l- + G_r3 gamma + f_rv v + f_ru u + f_r1,
-- and the cost in the note is the mean of (l_r w_r)^2 + max(0, -w_r)^2. The rows are independent of each other, each
-- row may be scaled, and f = G = 0 costs nothing. Therefore one entry per row is given: G11 = 1, G22 = 1, G31 = -1. The
-- true values are G = [1 -1 1; -1 1 1; -1 -1 0], f = (v + u, -v - u, mu m g) and m = g = h = mu = 1.
local sim = require "sim2d"
local e = sim.experiment "Learning f and G: what the data determine, and what not"

local truth = sim.array { { 1, -1, 1, 1, 1, 0 }, { -1, 1, 1, -1, -1, 0 }, { -1, -1, 0, 0, 0, 1 } }
local set = { 1, 2, 1 } -- index of the given entry in each row
local random = sim.random.split()

-- Returns rows (l+, l-, gamma, v, u, 1), ten per run. Stress is an equal excess of l+ and l- at rest, which has no
-- effect on the motion.
local function data(count, stress)
  local X, v = {}, 0
  for i = 1, count do
    if i % 10 == 1 then v = random:uniform(-3, 3) end
    local u = random:uniform(-3, 3)
    local z = assert(sim.lcp.solve(truth:slice(nil, { 1, 3 }), { v + u, -v - u, 1 }))
    local extra = stress and z[3] == 0 and random:uniform(0, (1 - z[1] - z[2]) / 2) or 0
    X[i] = { z[1] + extra, z[2] + extra, z[3], v, u, 1 }
    v = v + u + z[1] - z[2]
  end
  return sim.array(X)
end

-- Finds row r from its complementarity alone, by linear least squares over the steps with l_r > 0.
local function closed_form(X, r)
  local A, b = {}, {}
  for i = 1, #X do
    if X[{ i, r }] > 0 then
      local row = {}
      for j = 1, 6 do
        if j ~= set[r] then row[#row + 1] = X[{ i, j }] end
      end
      A[#A + 1], b[#b + 1] = row, -truth[{ r, set[r] }] * X[{ i, set[r] }]
    end
  end
  local x, rank = sim.linalg.lstsq(A, b)
  x = x:table()
  table.insert(x, set[r], truth[{ r, set[r] }])
  return x, rank
end

local function error_of(row, r, skip)
  local worst = 0
  for j = 1, 6 do
    if j ~= skip then worst = math.max(worst, math.abs(row[j] - truth[{ r, j }])) end
  end
  return worst
end

-- Learns by gradients from random initial numbers, with G12 given.
local function train(X, r, start)
  local given = sim.zeros(6)
  given[set[r]] = 1
  local l = X:column(r)
  local p0 = sim.randn({ 6 }, random)
  p0[3 - set[r]] = start
  local p = sim.optimize.minimize(function(p)
    local w = X:mm(p.row * (1 - given) + given)
    return ((l * w) ^ 2 + sim.relu(-w) ^ 2):mean()
  end, { row = p0 }, { tolerance = 1e-12 })
  return p.row * (1 - given) + given
end

local X = data(120)
local zero = X:mm(sim.zeros(6))
e:equal("cost of f = G = 0", 0, ((X:column(1) * zero) ^ 2 + sim.relu(-zero) ^ 2):mean())

-- 1. With 40 steps, each row has at most one undetermined direction: G12 in the first row and G21 in the second.
local forty = data(40)
for r, unknown in ipairs { 2, 1, false } do
  local row, rank = closed_form(forty, r)
  e:equal(("row %d of 40 steps: rank, of 5"):format(r), unknown and 4 or 5, rank)
  e:equal("   largest error, G12 and G21 apart", 0, error_of(row, r, unknown), 1e-12)
end

-- 2. Gradients do not change G12 and G21 if these start above -1.
local starts, ends, known = {}, {}, 0
for i = 0, 20 do
  starts[i + 1] = -3 + 0.25 * i
  local row = train(X, 1, starts[i + 1])
  ends[i + 1], known = row[2], math.max(known, error_of(row, 1, 2))
end
e:equal("21 trainings of row 1: largest error but of G12", 0, known, 1e-8)
e:above("   smallest G12 (the data say: not below -1)", -1 - 1e-5, sim.min(sim.array(ends)))
e:above("   largest G12", 1, sim.max(sim.array(ends)))

-- 3. Steps with self-stress, l+ and l- both positive, determine G12 and G21.
e:equal("with self-stress: largest error of row 1, G12 too", 0, error_of(closed_form(data(40, true), 1), 1), 1e-12)

-- 4. The motion does not depend on G12 and G21 if both are >= -1. The comparison uses boxes in the engine.
local worst = 0
for _ = 1, 100 do
  local v, u, a, b = random:uniform(-3, 3), random:uniform(-3, 3), random:uniform(-1, 2), random:uniform(-1, 2)
  local z = assert(sim.lcp.solve({ { 1, a, 1 }, { b, 1, 1 }, { -1, -1, 0 } }, { v + u, -v - u, 1 }))
  local world = sim.world { stepping = "speculative", dt = 1, gravity = { 0, -1 } }
  world:box { type = "static", position = { 0, -0.5 }, size = { 99, 1 }, friction = 1 }
  local box = world:box { position = { 0, 0.05 }, size = { 2, 0.1 }, mass = 1, friction = 1, velocity = { v, 0 } }
  box:apply_force { u, 0 }
  world:step()
  worst = math.max(worst, math.abs(box.vx - (v + u + z[1] - z[2])))
end
e:equal("any G12, G21 >= -1, 100 steps: v against the engine", 0, worst, 1e-9)

e:figure(sim.plot { title = "Row 1 after training", x = "G12 before", y = "after",
  { starts, ends, kind = "scatter", label = "G12" }, { y = -1, label = "the true G12" } })
e:finish()
