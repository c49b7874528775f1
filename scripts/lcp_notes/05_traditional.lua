-- The usual LCP of sliding friction determines one velocity, but allows many ways to split the friction. Let z = (l+,
-- l-, gamma), where gamma bounds the speed, b = v + h u / m and v+ = b + (h / m)(l+ - l-). The problem
--   [h/m -h/m 1; -h/m h/m 1; -1 -1 0] z + (b, -b, mu m g) = (gamma + v+, gamma - v+, mu m g - l+ - l-)
-- gives v+ = S(b), with the threshold mu g h, and gamma = |v+|. The note calls M a P-matrix, which would imply a unique
-- solution. However, not all principal minors are positive (M is P0, not P), and z'M z = (h / m)(l+ - l-)^2 >= 0, so M
-- is semidefinite. If the block sticks, l+ + t and l- + t are also a solution, as long as their sum is at most mu m g.
-- The two additional forces t cancel each other. With M12 = M21 = 0 they could not. The engine has one row, with l
-- between -mu m g and mu m g.
local sim = require "sim2d"

local function matrix(c, off)
  local a = c.h / c.m
  return { { a, off or -a, 1 }, { off or -a, a, 1 }, { -1, -1, 0 } }
end

local function vector(b, c) return { b, -b, c.mu * c.m * c.g } end
local function threshold(x, limit) return x > limit and x - limit or x < -limit and x + limit or 0 end

-- Returns the number of solutions over all choices of positive entries of z, and the spread of their v+ and gamma.
local function solutions(M, b, c)
  local q, found = vector(b, c), {}
  local spread = { v = 0, gamma = 0 }
  for set = 0, 7 do
    local S, A, r, z = {}, {}, {}, { 0, 0, 0 }
    for i = 1, 3 do if set >> (i - 1) & 1 == 1 then S[#S + 1] = i end end
    for k, i in ipairs(S) do
      A[k], r[k] = {}, -q[i]
      for n, j in ipairs(S) do A[k][n] = M[i][j] end
    end
    local part, ok = #S > 0 and sim.linalg.solve(A, r) or nil, true
    for k, i in ipairs(S) do z[i] = part and part[k] or -1 end
    for i = 1, 3 do
      local w = q[i] + M[i][1] * z[1] + M[i][2] * z[2] + M[i][3] * z[3]
      ok = ok and z[i] > -1e-9 and w > -1e-9
    end
    for _, other in ipairs(found) do
      ok = ok and math.max(math.abs(z[1] - other[1]), math.abs(z[2] - other[2]), math.abs(z[3] - other[3])) > 1e-9
    end
    if ok then
      found[#found + 1] = z
      spread.v = math.max(spread.v, c.h / c.m * math.abs(z[1] - z[2] - found[1][1] + found[1][2]))
      spread.gamma = math.max(spread.gamma, math.abs(z[3] - found[1][3]))
    end
  end
  return #found, spread
end

local world = sim.world { stepping = "speculative", combine_friction = "min" }
world:segment { from = { -1e4, 0 }, to = { 1e4, 0 }, friction = 100 }
local box = world:box { size = { 4, 0.2 } }
local function engine_step(v, u, c)
  world.dt, world.gravity, box.mass, box.inertia, box.friction = c.h, { 0, -c.g }, c.m, c.m * 16.04 / 12, c.mu
  box.position, box.angle, box.velocity, box.angular_velocity = { 0, 0.1 }, 0, { v, 0 }, 0
  box:apply_force { u, 0 }
  world:step()
  return box.vx
end

local e = sim.experiment("Traditional: v+ = S(v + h u / m)",
  { cases = { 20000, "random problems" }, seed = { 0, "of the random numbers" } })
local M = matrix { h = 1, m = 1 }
local minors = {}
for i, set in ipairs { { 1 }, { 2 }, { 3 }, { 1, 2 }, { 1, 3 }, { 2, 3 }, { 1, 2, 3 } } do
  local part = {}
  for k, row in ipairs(set) do
    part[k] = {}
    for n, column in ipairs(set) do part[k][n] = M[row][column] end
  end
  minors[i] = ("%.0f"):format(math.abs(sim.linalg.det(part)) < 1e-12 and 0 or sim.linalg.det(part))
end
e:equal("principal minors (the note: all > 0)", "1 1 0 0 1 1 4", table.concat(minors, " "))
e:equal("least eigenvalue of (M + M')/2", 0, sim.linalg.eig((sim.array(M) + sim.array(M):t()) / 2)[1], 1e-12)

local random = sim.random
random.seed(e.options.seed)
local worst, gap, failed, engine, several, stick, odd, unique = 0, 0, 0, 0, 0, 0, 0, 0
local spread = { v = 0, gamma = 0 }
for i = 1, e.options.cases do
  local c = { h = 10 ^ random.uniform(-3, 0), m = random.uniform(0.1, 5), mu = random.uniform(0, 1), g = 9.81 }
  local v, u = random.uniform(-3, 3) * c.h, random.uniform(-10, 10) * c.m
  local b, limit = v + c.h * u / c.m, c.mu * c.g * c.h
  local z = sim.lcp.solve(matrix(c), vector(b, c))
  if not z then failed, z = failed + 1, { 0, 0, 0 } end
  local v1 = b + c.h / c.m * (z[1] - z[2])
  worst = math.max(worst, math.abs(v1 - threshold(b, limit)))
  gap = math.max(gap, math.abs(z[3] - math.abs(v1)))
  if i % 20 == 0 then
    engine = math.max(engine, math.abs(engine_step(v, u, c) - v1))
    local n, apart = solutions(matrix(c), b, c)
    several, stick = several + (n > 1 and 1 or 0), stick + (math.abs(b) < limit and 1 or 0)
    odd = odd + ((n > 1) ~= (math.abs(b) < limit) and 1 or 0)
    spread = { v = math.max(spread.v, apart.v), gamma = math.max(spread.gamma, apart.gamma) }
    z = sim.lcp.solve(matrix(c, 0), vector(b, c))
    local same = math.abs(b + c.h / c.m * (z[1] - z[2]) - v1) < 1e-12
    unique = unique + (same and solutions(matrix(c, 0), b, c) == 1 and 1 or 0)
  end
end
e:equal("problems not solved", 0, failed)
e:equal("LCP against S(v + h u / m), m/s", 0, worst, 1e-12)
e:equal("gamma against |v+|", 0, gap, 1e-12)
e:equal("engine, one in 20 of them, m/s", 0, engine, 1e-9)
e:equal("of these several solutions: those that stick", stick, several)
e:equal("exceptions to that", 0, odd)
e:equal("spread of v+ over all solutions", 0, spread.v, 1e-12)
e:equal("spread of gamma", 0, spread.gamma, 1e-12)
e:equal("M12 = M21 = 0: one solution, the same v+", e.options.cases // 20, unique)
-- One example is q = (1/2, -1/2, 1). Lemke's method ends at a corner of the solution set, and the interior-point method
-- in the middle.
local ends = {}
for _, solver in ipairs { "lemke", "pdipm" } do
  local z = sim.lcp.solve(M, { 0.5, -0.5, 1 }, { solver = solver, tolerance = 1e-12 })
  ends[#ends + 1] = z
  e:equal(("b = 1/2, %s: v+"):format(solver), 0, 0.5 + z[1] - z[2], 1e-9)
end
e:above("interior point's l+; Lemke has 0", 0.01, ends[2][1] - ends[1][1])
e:figure(sim.plot { title = "Splits of the friction that hold b = 1/2", x = { label = "l⁺, N", range = { -0.02, 0.5 } },
  y = { label = "l⁻, N", range = { 0.3, 1 } }, { { 0, 0.25 }, { 0.5, 0.75 }, label = "solutions" },
  { function(l) return 1 - l end, 0, 0.5, dash = true, label = "l⁺ + l⁻ = μ m g" },
  { { ends[1][1] }, { ends[1][2] }, kind = "scatter", marker = "circle", label = "lemke" },
  { { ends[2][1] }, { ends[2][2] }, kind = "scatter", marker = "diamond", label = "pdipm" } })
e:finish()
