-- Maps which (alpha, beta) conserve, damp or increase the energy of a spring, by the amplification factor of a step
-- over the whole square. A mass is on a spring, and X = (h w)^2. The fraction alpha of the forces and the fraction beta
-- of the velocity are taken from the end of the step (notes, eqs. 8 and 11). The step
--
--     v+ = v - h w^2 ((1 - alpha) x + alpha x+),      x+ = x + h ((1 - beta) v + beta v+)
--
-- is linear, with det = (1 + (1-alpha)(1-beta) X) / (1 + alpha beta X) and trace = 2 - (alpha+beta) X / (1 + alpha beta
-- X). While the motion oscillates (trace^2 < 4 det), the amplitude is multiplied by sqrt(det) in each step. It is
-- constant if and only if alpha + beta = 1, and this motion is stable while X (1 - 4 alpha beta) < 4. Another document
-- on Compliant calls (1/2, 1) energy-conserving, but it loses half as much energy as implicit Euler (1, 1).
local sim = require "sim2d"

local e = sim.experiment("The oscillator over (alpha, beta)", { n = { 30, "intervals each way" } })
local n, LENGTH = e.options.n, 100 -- number of points; length of the spring in m, so long that it never flips

-- Returns the state after a step of 1 s from (x, v). k equals X, because the mass is 1 kg.
local function step(X, alpha, beta, x, v)
  -- flow = "projected" is set because (1, 1) takes two-stage steps without blending by default.
  local world = sim.world { dt = 1, gravity = { 0, 0 }, flow = "projected", alpha = alpha, beta = beta }
  local ball = world:circle { position = { LENGTH + x, 0 }, velocity = { v, 0 }, radius = 0.1, mass = 1 }
  world:spring { ball, nil, anchor_b = { 0, 0 }, rest_length = LENGTH, stiffness = X }
  world:step()
  return ball.x - LENGTH, ball.vx
end

local function amplification(X, alpha, beta)
  local a, c = step(X, alpha, beta, 1, 0)
  local b, d = step(X, alpha, beta, 0, 1)
  local real, _, imaginary = sim.linalg.eig { { a, b }, { c, d } }
  return (imaginary and sim.sqrt(real ^ 2 + imaginary ^ 2) or sim.abs(real)):max(), a * d - b * c
end

local function closed_form(X, alpha, beta)
  local det = (1 + (1 - alpha) * (1 - beta) * X) / (1 + alpha * beta * X)
  local half = 1 - (alpha + beta) * X / (1 + alpha * beta * X) / 2
  if half * half <= det then return math.sqrt(det), det end
  return math.abs(half) + math.sqrt(half * half - det), det
end

-- The map, and for each column the beta at which a level is reached. The amplification decreases with beta.
local function crossing(column, level)
  if column[0] <= level then return 0 end
  for j = 1, n do
    if column[j] <= level then return (j - (level - column[j]) / (column[j - 1] - column[j])) / n end
  end
  return 1
end

-- Draws overlapping bands, which are darker farther from 1. The dashed line is alpha + beta = 1.
local LEVELS = { 0.6, 0.8, 0.9, 1.1, 1.2, 1.4 }
local function picture(hw)
  local X, worst, wrong = hw * hw, 0, 0
  local alphas, columns = {}, {}
  for i = 0, n do
    alphas[i + 1], columns[i + 1] = i / n, {}
    for j = 0, n do
      local got, det = amplification(X, i / n, j / n)
      local want, want_det = closed_form(X, i / n, j / n)
      columns[i + 1][j] = got
      wrong = math.max(wrong, math.abs(det - want_det))
      -- Where both eigenvalues coincide, the error is about the square root of the rounding error.
      local half = 1 - (i + j) / n * X / (1 + i * j / n / n * X) / 2
      if math.abs(half * half - want_det) > 1e-6 then worst = math.max(worst, math.abs(got - want)) end
    end
  end
  e:equal(("h w = %g: amplification, %d x %d"):format(hw, n + 1, n + 1), 0, worst, 1e-9)
  e:equal(("h w = %g: determinant"):format(hw), 0, wrong, 1e-9)
  local plot = { title = ("h w = %g"):format(hw), x = { label = "alpha", range = { 0, 1 } },
    y = { label = "beta", range = { 0, 1 } }, legend = false }
  for _, level in ipairs(LEVELS) do
    local band = { alphas, low = {}, high = {}, kind = "band", color = level < 1 and "#1d4f8c" or "#b3301e" }
    for i, column in ipairs(columns) do
      band.low[i] = level < 1 and crossing(column, level) or 0
      band.high[i] = level < 1 and 1 or crossing(column, level)
    end
    plot[#plot + 1] = band
  end
  for _, at in ipairs { { 1, 1 }, { 0, 0 } } do
    plot[#plot + 1] = { x = at[1], y = at[2], text = ("%.2f"):format((amplification(X, at[1], at[2]))) }
  end
  plot[#plot + 1] = { function(alpha) return 1 - alpha end, 0, 1, dash = true, color = "#222222" }
  return plot
end

local left, right = picture(1), picture(2.5)
local function log_det(...) return math.log(select(2, amplification(...)), 10) end
e:equal("(1/2, 1): log det over that of (1, 1), X = 1e-2", math.log(1.005) / math.log(1.01),
  log_det(0.01, 0.5, 1) / log_det(0.01, 1, 1), 1e-11)
e:equal("(1/2, 1/2): amplification, h w = 1000", 1, (amplification(1e6, 0.5, 0.5)), 1e-9)
e:equal("(0, 1), symplectic Euler: h w = 1.9", 1, (amplification(1.9 ^ 2, 0, 1)), 1e-9)
e:equal("(0, 1): h w = 2.5", 4, (amplification(6.25, 0, 1)), 1e-9)
e:figure(sim.plot.grid { title = "Amplification: to 0.6, 0.8, 0.9; from 1.1, 1.2, 1.4",
  columns = 2, width = 640, height = 430, left, right })
e:finish()
