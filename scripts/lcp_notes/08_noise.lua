-- Noise on the entries of a friction LCP destroys sticking, but the same noise on mass, friction and push does not. The
-- LCP M = [1 -1 1; -1 1 1; -1 -1 0], q = (b, -b, mu), with b = v + u, mu = 2 and h = m = g = 1, is solved with noise
-- N(0, sd) on its entries. The velocity is v+ = b + l+ - l-. At b = 0 the block sticks if z = 0, which requires q1, q2
-- >= 0. This is true in one of four cases for any sd, and always if only M is noisy. At b = 1 the solution is
--   l- = -q2 / M22,   l+ = gamma = 0,   as long as w1 = q1 + M12 l- >= 0,
-- so only errors in q1, q2, M12 and M22 matter. v+ = 0 requires l- = 1 exactly. With noise (n1, n2, ..) on q, v+ = n2
-- if n1 + n2 >= 0. Otherwise gamma > 0 and v+ = (n2 - n1) / 2. Hence v+ is within r of 0 with probability (1 + sqrt 2)
-- r / (sd sqrt(2 pi)). The notes' 0.1 %, "regardless of the amount of noise", holds for r = 1e-6 and sd = 1e-3, but the
-- probability depends on sd. The exact probability is 0, because no output of a slightly wrong LCP is exactly -u.
local sim = require "sim2d"

local MU, random = 2, sim.random

local function base(b) return { { 1, -1, 1 }, { -1, 1, 1 }, { -1, -1, 0 } }, { b, -b, MU } end

local function noisy(b, on_M, on_q)
  local M, q = base(b)
  for i = 1, 3 do
    for j = 1, 3 do if on_M > 0 then M[i][j] = M[i][j] + random.normal(0, on_M) end end
    if on_q > 0 then q[i] = q[i] + random.normal(0, on_q) end
  end
  local z = sim.lcp.solve(M, q)
  return z and b + z[1] - z[2], z, q -- nil: no solution
end

local e = sim.experiment("Noise on M and q, and where it counts",
  { samples = { 4000, "of each kind" }, seed = { 11, "of the random numbers" } })
random.seed(e.options.seed)
local n = e.options.samples

-- A block at rest, without a push and with a push. At sd = 1, noise on q makes some problems unsolvable, or q3 < 0.
for _, t in ipairs { { "M", 1, 0 }, { "q", 0, 1 }, { "M and q", 1, 1 } } do
  for _, sd in ipairs { 0.001, 0.1, t[3] == 0 and 1 or nil } do
    local stuck, odd, pushed = 0, 0, 0
    for _ = 1, n do
      local v, _, q = noisy(0, t[2] * sd, t[3] * sd)
      if v == 0 then stuck = stuck + 1 end
      if (v == 0) ~= (math.min(q[1], q[2]) >= 0) then odd = odd + 1 end
      v = noisy(1, t[2] * sd, t[3] * sd)
      if v and math.abs(v) < 1e-6 then pushed = pushed + 1 end
    end
    local name, part = ("noise on %s, sd = %g, "):format(t[1], sd), t[3] == 0 and 1 or 0.25
    e:equal(name .. "b = 0: part that sticks", part, stuck / n, 4 * math.sqrt(part * (1 - part) / n))
    e:equal("exceptions to: sticks where q1, q2 >= 0", 0, odd)
    e:below("b = 1: % with |v+| < 1e-6", 0.2, 100 * pushed / n)
  end
end

-- The block is pushed with half of the friction limit. gamma = 0, which the code of the notes interprets as sticking,
-- indicates n1 + n2 >= 0.
local speeds = {}
for _, t in ipairs { { 0.001, 1e-6, 5 * n }, { 0.1, 1e-3, n } } do
  local sd, r, count, stuck, flag, odd = t[1], t[2], t[3], 0, 0, 0
  for i = 1, count do
    local v, z, q = noisy(1, 0, sd)
    if math.abs(v) < r then stuck = stuck + 1 end
    if z[3] == 0 then flag = flag + 1 end
    if (z[3] < 1e-9) ~= (q[1] + q[2] > -1e-9) then odd = odd + 1 end
    speeds[i] = sd == 0.1 and v or nil
  end
  local p = (1 + math.sqrt(2)) * r / (sd * math.sqrt(2 * math.pi))
  e:equal(("b = 1, on q, sd = %g: %% within %g of 0"):format(sd, r), 100 * p, 100 * stuck / count,
    400 * math.sqrt(p * (1 - p) / count))
  e:equal("part with gamma = 0: 1/2", 0.5, flag / count, 4 * math.sqrt(0.25 / count))
  e:equal("exceptions to: where q1 + q2 >= 0", 0, odd)
end

-- One entry at a time is changed by -1 to 1. The script counts how many of 20 errors change the solution.
local offsets, curves = {}, {}
for k = 0, 20 do offsets[k + 1] = (k - 10) / 10 end
local function sweep(name, put)
  local changed, v = 0, {}
  for i, offset in ipairs(offsets) do
    local M, q = base(1)
    put(M, q, offset)
    local z = sim.lcp.solve(M, q, { solver = "lemke" })
    if not z or math.abs(z[1]) + math.abs(z[2] - 1) + math.abs(z[3]) > 1e-9 then changed = changed + 1 end
    v[i] = z and 1 + z[1] - z[2] or 0 / 0
  end
  local expected = { q1 = 10, q2 = 20, M12 = 10, M22 = 20 }
  e:equal("single errors that change z: " .. name, expected[name] or 0, changed)
  if expected[name] then curves[#curves + 1] = { offsets, v, label = name } end
end
for i = 1, 3 do
  sweep("q" .. i, function(_, q, offset) q[i] = q[i] + offset end)
  for j = 1, 3 do sweep(("M%d%d"):format(i, j), function(M, _, offset) M[i][j] = M[i][j] + offset end) end
end

-- Noise on mass, friction and push gives a different block. It also sticks, in the engine and in the LCP, because the
-- errors of the entries are consistent.
local world = sim.world { stepping = "speculative", dt = 1, gravity = { 0, -1 }, combine_friction = "min" }
local slid, crept = 0, 0
world:segment { from = { -1e3, 0 }, to = { 1e3, 0 }, friction = 100 }
for _ = 1, 500 do
  local m, mu, u = 1 + random.normal(0, 0.1), MU + random.normal(0, 0.1), 1 + random.normal(0, 0.1)
  local box = world:box { size = { 4, 0.2 }, position = { 0, 0.1 }, mass = m, friction = mu }
  box:apply_force { u, 0 }
  world:step()
  slid = math.max(slid, math.abs(box.vx))
  box:destroy()
  local z = sim.lcp.solve({ { 1 / m, -1 / m, 1 }, { -1 / m, 1 / m, 1 }, { -1, -1, 0 } }, { u / m, -u / m, mu * m })
  crept = math.max(crept, math.abs(u + z[1] - z[2]) / m)
end
e:equal("noise on m, mu, u, sd = 0.1: LCP, largest v+", 0, crept, 1e-12)
e:equal("engine, the same 500 blocks", 0, slid, 1e-9)

local histogram = sim.plot { title = "Noise on q, sd = 0.1", x = "v⁺ of what should stick, m/s", y = "samples",
  { speeds, kind = "histogram", bins = 40 } }
local single = sim.plot { title = "One wrong entry", x = "error", y = "v⁺, m/s", table.unpack(curves) }
e:figure(sim.plot.grid { single, histogram })
e:finish()
