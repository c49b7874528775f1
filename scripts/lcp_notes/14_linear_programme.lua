-- A linear programme finds the friction law exactly from thirty to fifty steps, but not with the note's epsilon.
--
-- For known l = (l+, l-, gamma) and d = (v, u, 1), the matrices M and W of 0 <= l _|_ M l + W d >= 0 solve, row by row,
--   minimise sum l_r (M_r l + W_r d)     such that M_r l + W_r d >= eps for every step.
-- The note uses eps > 0 to exclude the solution 0. But then no row costs less than eps sum l_r, and M = 0, W = (0, 0,
-- eps) costs exactly this amount. A solution with M = 0 is therefore still as good as any other solution, and smaller.
-- Without the bias W_r3 in rows 1 and 2, the true law is infeasible, because its w is 0 in places, and the optimum is a
-- different law. A choice that works is eps = 0 with the bounds M11 >= 1, M21 <= -1, M31 <= -1 and with all biases.
-- Then every multiple >= 1 of a row is equally good (an interior-point method ends among these multiples), and M12 >=
-- -1 is free. L1 regularisation, + c sum |x| by the columns s >= x, s >= -x, selects the smallest solution, which is
-- the true law with M12 = 0.
local sim = require "sim2d"
local e = sim.experiment("The linear programme of the notes", { seeds = { 40, "runs of each size" } })

local inf = math.huge
local truth = { { 1, -1, 1, 1, 1, 0 }, { -1, 1, 1, -1, -1, 0 }, { -1, -1, 0, 0, 0, 1 } }
local random = sim.random.split()

local function data(count) -- returns rows (l+, l-, gamma, v, u, 1), thirty steps per run
  local X, v = {}, 0
  for i = 1, count do
    if i % 30 == 1 then v = random:uniform(-3, 3) end
    local u = random:uniform(-3, 3)
    local l = -sim.clamp(v + u, -1, 1)
    X[i] = { math.max(l, 0), math.max(-l, 0), math.abs(v + u + l), v, u, 1 }
    v = v + u + l
  end
  return X
end

-- Finds row r, with the options eps, no_bias, bounded and l1.
local function programme(X, r, o)
  local n = o.l1 and 12 or 6
  local c, A, b, bounds = {}, {}, {}, {}
  for j = 1, n do
    c[j], bounds[j] = j > 6 and o.l1 or 0, { -inf, inf }
  end
  for i, x in ipairs(X) do
    A[i], b[i] = {}, -(o.eps or 0)
    for j = 1, n do A[i][j] = j > 6 and 0 or -x[j] end
    for j = 1, 6 do c[j] = c[j] + x[r] * x[j] / #X end
  end
  for j = 1, n - 6 do
    for sign = -1, 1, 2 do
      local row = {}
      for k = 1, n do row[k] = k == j and sign or k == j + 6 and -1 or 0 end
      A[#A + 1], b[#b + 1] = row, 0
    end
  end
  if o.no_bias then bounds[6] = { 0, 0 } end
  if o.bounded then bounds[1] = r == 1 and { 1, inf } or { -inf, -1 } end
  return assert(sim.lp.solve { c = c, A_ub = A, b_ub = b, bounds = bounds })
end

-- Returns the largest error, except for M12 and M21. With `scaled`, each row is divided by its entry that should be 1.
local function error_of(x, r, scaled)
  local scale, worst = scaled and x[r == 3 and 6 or 3] or 1, 0
  for j = 1, 6 do
    if r + j ~= 3 then worst = math.max(worst, math.abs(x[j] / scale - truth[r][j])) end
  end
  return scale > 0 and worst or inf
end

-- 1. The epsilon.
local X, eps = data(200), 0.1
for r = 1, 3 do
  local _, info = programme(X, r, { eps = eps })
  local sum = 0
  for _, x in ipairs(X) do sum = sum + x[r] / #X end
  e:equal(("eps = 0.1, row %d: cost per step, eps mean l_r"):format(r), eps * sum, info.objective, 1e-9)
  local x = programme(X, r, { eps = eps, l1 = 1e-3 })
  e:equal("   with L1: largest M, W but of the bias", 0, sim.max(sim.abs(sim.array(x):slice { 1, 5 })), 1e-9)
  e:equal("   its bias", eps, x[6], 1e-9)
end
for r = 1, 2 do
  local x = programme(X, r, { eps = eps, no_bias = true })
  local found, right = sim.array(x):slice { 3, 6 }, sim.array(truth[r]):slice { 3, 6 }
  local cosine = found:dot(right) / (found:norm() * right:norm())
  e:below(("eps = 0.1, no bias, row %d: cosine of it and the truth"):format(r), 0.9, cosine)
end

-- 2. Bounds instead of an epsilon: the share of runs, in %, in which all rows are exact. The expected shares of 85, 95
-- and 100 % come from forty other runs and hold within two deviations.
local sizes, share, spread = { 8, 12, 20, 30, 50 }, {}, { [20] = { 85, 16 }, [30] = { 95, 10 }, [50] = { 100, 3 } }
for k, n in ipairs(sizes) do
  local exact = 0
  for _ = 1, e.options.seeds do
    local Y, ok = data(n), true
    for r = 1, 3 do ok = ok and error_of(programme(Y, r, { bounded = true }), r, true) < 1e-5 end
    exact = exact + (ok and 1 or 0)
  end
  share[k] = 100 * exact / e.options.seeds
  if spread[n] then e:equal(("bounds, %d steps: exact, %%"):format(n), spread[n][1], share[k], spread[n][2]) end
end

-- 3. L1 regularisation selects the scale, and 0 for the undetermined entry.
local rows = {}
for r = 1, 3 do
  rows[r] = programme(X, r, { bounded = true, l1 = 1e-4 })
  e:equal(("bounds and L1, row %d: largest error, unscaled"):format(r), 0, error_of(rows[r], r), 1e-12)
end
e:equal("   M12 (note: -1)", 0, rows[1][2], 1e-12)

-- 4. The learned law is used for simulation and compared with the engine.
local worst = 0
for _ = 1, 100 do
  local v, u, q, M = random:uniform(-3, 3), random:uniform(-3, 3), {}, {}
  for r, x in ipairs(rows) do M[r], q[r] = { x[1], x[2], x[3] }, x[4] * v + x[5] * u + x[6] end
  local z = assert(sim.lcp.solve(M, q))
  local world = sim.world { stepping = "speculative", dt = 1, gravity = { 0, -1 } }
  world:box { type = "static", position = { 0, -0.5 }, size = { 99, 1 }, friction = 1 }
  local box = world:box { position = { 0, 0.05 }, size = { 2, 0.1 }, mass = 1, friction = 1, velocity = { v, 0 } }
  box:apply_force { u, 0 }
  world:step()
  worst = math.max(worst, math.abs(box.vx - (v + u + z[1] - z[2])))
end
e:equal("100 steps by the learned law: v against the engine", 0, worst, 1e-9)

e:figure(sim.plot { title = "Runs that determine the law", x = "steps", y = { label = "exact, %", range = { 0, 105 } },
  { sizes, share } })
e:finish()
