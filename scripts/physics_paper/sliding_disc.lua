-- A disc slides until it rolls: gradients of the engine agree with the closed form to within a third of a step. The
-- paper's own code gives the derivative with respect to friction with the wrong sign.
--
--   x(T) = x(0) + v^2 / (18 mu g) + 2 v T / 3             (after the time t it rolls, at 2 v / 3)
--   dx/dv = t / 3 + 2 T / 3,   dx/dmu = -g t^2 / 2,   t = v / (3 mu g)
--
-- With steps of length h, the disc slides for k = floor(t / h) steps. Then k h replaces t in dx/dv, and h^2 k (k + 1)
-- replaces t^2 in dx/dmu.
--
-- The scene is taken from lcp-physics, in units of 100 pixels. mu = (mu_disc + 0.9) / 2, so dx/dmu_disc is half of
-- dx/dmu. The backward pass of the paper's code solves with a matrix instead of its transpose, and the two are equal
-- only without friction. With 100 steps it gives (2.962, 0.356), while finite differences of its own runs give (2.435,
-- -0.106).
--
-- A run of 100 steps is at a kink, because rolling begins at the end of step 20. The one-sided derivatives differ at
-- this point, and the flag "weak" reports the kink.
local sim = require "sim2d"

local e = sim.experiment("A sliding disc: derivatives by speed and friction")

local G, T, FLOOR = 1, 10 / 3, 0.9

local function run(p, steps)
  local world = sim.world { stepping = "speculative", gravity = { 0, -G }, dt = T / steps,
    combine_friction = "average" }
  world:segment { from = { 30, 0 }, to = { -30, 0 }, friction = FLOOR }
  local disc = world:circle { radius = 0.3, position = { 0, 0.3 }, velocity = { p.v, 0 }, friction = p.mu }
  world:run { steps = steps, progress = false }
  return disc.x
end

local function exact(v, mu_disc) -- dx/dv, dx/dmu_disc, t
  local t = v / (3 * (mu_disc + FLOOR) / 2 * G)
  return (t + 2 * T) / 3, -G * t ^ 2 / 2 / 2, t
end

local P = { v = 1, mu = 0.1 }
local dv, dmu, t = exact(P.v, P.mu)
local _, edge = sim.value_and_grad(run, P, 100)
e:equal("100 steps: dx/dv (lcp-physics: 2.962)", dv, edge.v, T / 100 / 3 + 1e-9)
e:equal("  dx/dmu_disc (lcp-physics: +0.356)", dmu, edge.mu, T / 100 / 3)
e:equal("  flags", "weak", table.concat(sim.tape_stats().flags, " "))
local _, g = sim.value_and_grad(run, P, 99)
local h, k = T / 99, t * 99 // T
e:equal("99 steps: dx/dv with k h", (k * h + 2 * T) / 3, g.v, 1e-9)
e:equal("  dx/dmu_disc with h^2 k (k + 1)", -G * h ^ 2 * k * (k + 1) / 2 / 2, g.mu, 1e-9)

-- Errors for several numbers of steps, none of which is at a kink.
local steps, by_v, by_mu, worst = {}, {}, {}, 0
for i, n in ipairs { 33, 51, 72, 99, 141, 202, 283, 396, 568, 799, 1134, 1601, 2262, 3199 } do
  local _, g = sim.value_and_grad(run, P, n)
  steps[i], by_v[i], by_mu[i] = T / n, math.abs(g.v - dv), math.abs(g.mu - dmu)
  worst = math.max(worst, by_v[i] / steps[i], by_mu[i] / steps[i])
end
e:below("33 to 3199 steps: largest error / step", 1 / 3, worst)

local mus, slopes, closed = {}, {}, {}
for i = 1, 40 do
  mus[i] = 0.05 * i
  local _, g = sim.value_and_grad(run, { v = 1, mu = mus[i] }, 400)
  _, closed[i] = exact(1, mus[i])
  slopes[i] = g.mu
end
e:figure(sim.plot.grid { width = 900, height = 360,
  { title = "Derivative by the disc's friction", x = "friction of the disc", y = "dx/dμ, 100 pixels",
    { mus, closed, label = "closed form" }, { mus, slopes, kind = "scatter", label = "400 steps" },
    { { 0.1 }, { 0.356 }, kind = "scatter", marker = "cross", label = "lcp-physics" } },
  { title = "Error of the gradient", x = { label = "step h", unit = "s", log = true },
    y = { label = "error", log = true },
    { steps, by_v, label = "by speed", kind = "scatter" }, { steps, by_mu, label = "by friction", kind = "scatter" },
    { function(h) return h / 3 end, 1e-3, 0.1, label = "h/3" } } })
e:finish()
