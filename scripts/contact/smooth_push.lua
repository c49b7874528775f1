-- A box on the floor learns to fly: exact derivatives indicate that pushing is useless, but smooth derivatives do not.
-- Dojo (Howell et al. 2022) plans such pushes with derivatives of a softened contact, with l u = kappa instead of l u
-- = 0. A single contact has a closed form. With the push F and b = dt (F / m - g), the equation m u = m b + l gives
--     u = (b + sqrt(b^2 + 4 k)) / 2,   du/dF = dt / (2 m) (1 + b / sqrt(b^2 + 4 k)),   k = kappa V^2,
-- with V = g dt, the typical speed of the scene. For kappa to 0, the derivative tends to the exact step from 0 to dt /
-- m at F = m g. Elsewhere the error decreases with kappa. Another smoothing method is the mean over pushes with
-- Gaussian noise (a gradient bundle). It tends to dt / m Phi((F - m g) / sigma), and its error decreases with the
-- square root of the number of pushes. Dojo also softens the motion, by up to 2.6 mm for a box of 1 kg according to the
-- paper. Here the motion is exact.
local sim = require "sim2d"

local e = sim.experiment "Smooth, exact and averaged derivatives of a push"
local m, g, dt, mu = 1, 9.81, 0.05, 0.5

local function lift(mode, kappa)
  return function(push)
    local world = sim.world { stepping = "speculative", dt = dt, gravity = { 0, -g }, gradient = mode,
      smoothing = kappa }
    world:segment { from = { -9, 0 }, to = { 9, 0 } }
    local ball = world:circle { radius = 0.25, position = { 0, 0.25 }, mass = m }
    ball:apply_force { 0, push }
    world:step()
    return ball.vy
  end
end

local function closed(push, kappa)
  local b = dt * (push / m - g)
  return dt / (2 * m) * (1 + b / math.sqrt(b * b + 4 * kappa * (g * dt) ^ 2))
end

-- ---- One step ---------------------------------------------------------------------------------------

local pushes, curves, worst, moved = {}, {}, 0, 0
for i = 0, 40 do pushes[i + 1] = 5.9 + 0.2 * i end
for _, kappa in ipairs { 1e-2, 1e-3 } do
  curves[kappa] = {}
  for i, push in ipairs(pushes) do
    local v, slope = sim.value_and_grad(lift("smooth", kappa), push)
    curves[kappa][i] = slope
    worst = math.max(worst, math.abs(slope - closed(push, kappa)) * m / dt)
    moved = math.max(moved, math.abs(v - math.max(0, dt * (push / m - g))))
  end
end
e:equal("smooth du/dF against its closed form, of dt/m", 0, worst, 1e-8)
e:equal("how much the motion is softened, m/s (the paper: mm)", 0, moved, 1e-12)
local off = {}
for i, kappa in ipairs { 1e-4, 1e-6 } do
  off[i] = dt / m - select(2, sim.value_and_grad(lift("smooth", kappa), 12))
end
e:equal("error at 12 N falls with kappa to the power", 1, math.log(off[1] / off[2], 100), 0.01)

-- Gradient bundles are the mean of the exact derivatives at 50 noisy pushes, for each push.
local sigma, random, samples = 1, sim.random.split(), 50
random:seed(3)
local function phi(x) -- integrates the density by Simpson's rule
  local sum, n = 0, 200
  for k = 0, n do
    local t = -8 + (x + 8) * k / n
    sum = sum + (k == 0 and 1 or k == n and 1 or k % 2 == 1 and 4 or 2) * math.exp(-t * t / 2)
  end
  return sum * (x + 8) / (3 * n) / math.sqrt(2 * math.pi)
end
local bundle, chi = {}, 0
for i, push in ipairs(pushes) do
  local sum = 0
  for _ = 1, samples do
    sum = sum + select(2, sim.value_and_grad(lift "exact", push + sigma * random:normal()))
  end
  bundle[i] = sum / samples
  local p = phi((push - m * g) / sigma)
  chi = chi + (bundle[i] * m / dt - p) ^ 2 / math.max(1e-3, p * (1 - p) / samples)
end
e:below("bundle of 50: squared error over its variance, mean", 2, chi / #pushes)

-- ---- Twenty steps -------------------------------------------------------------------------------------

local steps = 20
local function flight(mode, kappa)
  return function(p)
    local world = sim.world { stepping = "speculative", dt = dt, gravity = { 0, -g }, gradient = mode,
      smoothing = kappa }
    world:segment { from = { -9, 0 }, to = { 9, 0 }, friction = mu }
    local box = world:box { size = { 0.5, 0.5 }, position = { 0, 0.25 }, mass = m, friction = mu }
    for _ = 1, steps do
      box:apply_force { p.x, p.y }
      world:step()
    end
    return (box.x - 1) ^ 2 + (box.y - 1.25) ^ 2, box.x, box.y
  end
end
-- Adam moves the box to (1, 1), starting without any push, where the exact derivative is 0. With a small kappa, the box
-- moves along the floor and stays on it, because lifting has only the fraction kappa of the full derivative. With a
-- large kappa, the box is lifted.
local ends, losses, its = {}, {}, {}
for k, way in ipairs { { "exact", 1 }, { "smooth", 3e-4 }, { "smooth", 0.1 } } do
  local best, value, info = sim.optimize.minimize(flight(way[1], way[2]), { x = 0, y = 0 },
    { method = "adam", learning_rate = 1, max_iterations = 200, history = true })
  ends[k], losses[k], its[k] = { best, value }, {}, {}
  for i, entry in ipairs(info.history) do its[k][i], losses[k][i] = entry.iteration, entry.value end
end
e:equal("from 0 N with exact derivatives: loss, m^2", 2, ends[1][2], 1e-12)
e:equal("with smooth ones, kappa = 3e-4 as in Dojo: loss", 1, ends[2][2], 1e-3)
e:below("with smooth ones, kappa = 0.1: loss", 1e-3, ends[3][2])
-- a constant push F moves the box by a in n steps of implicit Euler if n (n + 1) / 2 dt^2 F / m = a
local best = sim.optimize.minimize(flight "exact", ends[3][1])
local needed = 2 * m / (dt ^ 2 * steps * (steps + 1))
e:equal("then exact ones: push across, N", needed, best.x, 1e-6)
e:equal("  push up, N", m * g + needed, best.y, 1e-6)

losses[1], its[1] = { 2, 2 }, { 0, 200 }
e:figure(sim.plot.grid { columns = 1, height = 680,
  { title = "Lifting a ball of 9.81 N: what a newton more would do", x = "push, N", y = "du/dF, m/s per N",
    { { 5.9, 9.81, 9.81, 13.9 }, { 0, 0, dt, dt }, label = "exact", color = "#222222" },
    { pushes, curves[1e-2], label = "smooth, 1e-2" }, { pushes, curves[1e-3], label = "smooth, 1e-3", dash = true },
    { pushes, bundle, label = "bundle of 50", kind = "scatter" } },
  { title = "Descent to (1, 1) from no push", x = "iteration", y = { label = "loss, m²", log = true },
    { its[1], losses[1], label = "exact", color = "#222222" }, { its[2], losses[2], label = "smooth, 3e-4" },
    { its[3], losses[3], label = "smooth, 0.1" } } })
e:finish()
