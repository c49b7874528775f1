-- With unequal weights of the push in a learned friction law, gamma can indicate slip when the block rests, and rest
-- when the block slips.
--
-- A block at rest is pushed by u. The problem is the traditional 3 x 3 problem, but the push has the weights a1 and a2:
--   0 <= l+    _|_  gamma + l+ - l- + a1 u >= 0
--   0 <= l-    _|_  gamma - l+ + l- - a2 u >= 0
--   0 <= gamma _|_  mu m g - l+ - l-       >= 0        and its velocity v = u + l+ - l-
-- For u > 0 that is small enough for friction to hold the block, the solution is
--   gamma = max(0, (a2 - a1) u / 2),   v = u (1 - (a1 + a2) / 2) if a2 > a1,   v = u (1 - a2) otherwise;
-- and for u < 0 the weights are exchanged. The note concludes from gamma that the block sticks unless a2 > a1.
local sim = require "sim2d"
local e = sim.experiment "Unequal weights of the push: gamma and v are two questions"

local M = { { 1, -1, 1 }, { -1, 1, 1 }, { -1, -1, 0 } }
local mu = 1 -- with m = g = h = 1

local function model(a1, a2, u)
  local z = assert(sim.lcp.solve(M, { a1 * u, -a2 * u, mu }))
  return z[3], u + z[1] - z[2]
end

local function exact(a1, a2, u)
  if u < 0 then
    local gamma, v = exact(a2, a1, -u)
    return gamma, -v
  end
  return math.max(0, (a2 - a1) * u / 2), u * (1 - (a2 > a1 and (a1 + a2) / 2 or a2))
end

local worst_gamma, worst_v = 0, 0
for _ = 1, 2000 do
  local a1, a2, u = sim.random.uniform(0.5, 1.5), sim.random.uniform(0.5, 1.5), sim.random.uniform(-0.6, 0.6)
  local gamma, v = model(a1, a2, u)
  local gamma0, v0 = exact(a1, a2, u)
  worst_gamma, worst_v = math.max(worst_gamma, math.abs(gamma - gamma0)), math.max(worst_v, math.abs(v - v0))
end
e:equal("2000 random weights: largest error of gamma", 0, worst_gamma, 1e-12)
e:equal("largest error of v", 0, worst_v, 1e-12)

-- Compares the note's criterion for sticking with the actual sticking.
local u = 0.2
for _, case in ipairs {
  { 1, 1.2, 0.02, -0.02, "slips: the note agrees" },
  { 0.9, 1.1, 0.02, 0, "rests, though gamma > 0" },
  { 1.1, 1.1, 0, -0.02, "slips, though gamma = 0" },
  { 1.2, 1, 0, 0, "rests: the note agrees" },
} do
  local a1, a2, gamma0, v0, what = table.unpack(case)
  local gamma, v = model(a1, a2, u)
  e:equal(("weights %.1f, %.1f: gamma"):format(a1, a2), gamma0, gamma, 1e-14)
  e:equal(("   v (%s)"):format(what), v0, v, 1e-14)
end

-- The same friction in the full engine. With a = (a1 + a2) / 2, V = v + (a - 1) u and d = (a1 - a2) u / 2, the first
-- two rows are gamma + d >= |V|. The block is pushed by a u instead of u. With d <= 0 it rests, with V = 0. With d > 0
-- (gamma = 0) it moves with V = d, as on a belt with this speed.
local function engine(a1, a2)
  local world = sim.world { stepping = "speculative", dt = 1, gravity = { 0, -1 } }
  local d = math.max(0, (a1 - a2) * u / 2)
  world:box { type = "static", position = { 0, -0.5 }, size = { 9, 1 }, friction = mu, surface_speed = -d }
  local box = world:box { position = { 0, 0.05 }, size = { 2, 0.1 }, mass = 1, friction = mu }
  local push = (a1 + a2) / 2 * u
  box:apply_force { push, 0 }
  world:step()
  return box.vx - push + u
end
local worst = 0
for i = 0, 10 do
  for j = 0, 10 do
    local a1, a2 = 0.5 + i / 10, 0.5 + j / 10
    worst = math.max(worst, math.abs(engine(a1, a2) - select(2, model(a1, a2, u))))
  end
end
e:equal("121 boxes in the engine: largest difference of v", 0, worst, 1e-9)

local a2, gammas, speeds = {}, {}, {}
for i = 0, 80 do
  a2[i + 1] = 0.6 + i / 100
  gammas[i + 1], speeds[i + 1] = model(1, a2[i + 1], u)
end
e:figure(sim.plot {
  title = "First weight 1, push u = 0.2", x = "second weight a2", y = "speed (m = g = h = 1)",
  { a2, gammas, label = "gamma" }, { a2, speeds, label = "v" }, { x = 1 },
})
e:finish()
