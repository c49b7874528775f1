-- A ball bounces once without loss: the derivatives of its final position with respect to start and control equal the
-- closed form to the last digits, for any number of steps.
--
-- This is the first of three tasks that Zhong, Han and Brikis (2022, arXiv 2207.05060, repository diff_sim_grads) posed
-- for differentiable simulators. There is no gravity and no friction, and e = 1. A ball of radius r starts at (-1, 1)
-- with v = (2, -2) and flies for 1 s in 480 steps. With the time T, the mass 1, and the control u of the first step,
-- whose length is dt,
--
--   y(T) = 2 r - (y0 + vy T + u dt (T - dt/2)):  dy/dy0 = -1,  dy/dvy = -T,  dy/du = -dt (T - dt/2).
--
-- With 480 steps, the ball meets the ground at the end of step 216, up to rounding errors.
local sim = require "sim2d"

local e = sim.experiment "One bounce (task 1 of arXiv 2207.05060)"

local T, STEPS, R = 1, 480, 0.1
local START = { -1, 1, 2, -2, 0, 0 } -- x, y, vx, vy, and the control of the first step

-- Returns the final x, y, vx and vy.
local function bounce(p, steps, stepping)
  local world = sim.world { gravity = { 0, 0 }, dt = T / steps, stepping = stepping or "event" }
  world:segment { from = { 10, 0 }, to = { -10, 0 }, friction = 0, restitution = 1 }
  local ball = world:circle { radius = R, mass = 1, position = { p[1], p[2] }, velocity = { p[3], p[4] },
    friction = 0, restitution = 1 }
  ball:apply_force { p[5], p[6] }
  world:run { steps = steps, progress = false }
  return { ball.x, ball.y, ball.vx, ball.vy }
end

local function closed_form(steps) -- its derivatives
  local dt = T / steps
  local along, way = dt, dt * (T - dt / 2)
  return { { 1, 0, T, 0, way, 0 }, { 0, -1, 0, -T, 0, -way }, { 0, 0, 1, 0, along, 0 }, { 0, 0, 0, -1, 0, -along } }
end

local function largest_error(A, B)
  local worst = 0
  for i, row in ipairs(A) do
    for k, value in ipairs(row) do worst = math.max(worst, math.abs(value - B[i][k])) end
  end
  return worst
end

-- Returns the final height by the rule of the repository's DiffTaichi script, without or with its time of impact. If a
-- ball would be below the ground, its velocity changes by -(1 + e) v_y. With the time of impact, the ball is also moved
-- back by the distance that it went too far.
local function by_rule(p, with_time)
  local dt, y, v = T / STEPS, p[1], p[2]
  for k = 1, STEPS do
    local gap, back, kick = y + dt * v - R, 0, 0
    if gap < 0 and v < 0 then
      kick = -2 * v
      back = with_time and sim.min(gap / v - dt, 0) * kick or 0
    end
    v = v + kick + (k == 1 and p[3] * dt or 0)
    y = y + dt * v + back
  end
  return y
end

for _, steps in ipairs { STEPS, 100, 7 } do
  local J, last = sim.jacobian(function(p) return bounce(p, steps) end, START)
  e:equal(("%d steps: height at the end"):format(steps), 2 * R + 1, last[2], 1e-12)
  e:equal("  24 derivatives, largest error", 0, largest_error(J, closed_form(steps)), 1e-9)
  e:equal("  flags", 0, #sim.tape_stats().flags)
end
local worst = 0
for i = 1, 4 do
  worst = math.max(worst, (sim.check_grad(function(p) return bounce(p, STEPS)[i] end, START, { print = false, step = 0.05 })))
end
e:equal("480 steps: against central differences", 0, worst, 1e-9)
local rule = sim.grad(function(p) return by_rule(p, false) end, { 1, -2, 0 })
e:equal("without times of impact: dy/dy0 of the rule (not -1)", 1, rule[1], 1e-12)

local right, mine = closed_form(STEPS)[2], sim.grad(function(p) return bounce(p, STEPS)[2] end, START)
local timed = sim.grad(function(p) return by_rule(p, true) end, { 1, -2, 0 })
print "\nHeight at the end, 480 steps, by height, velocity and first control at the start"
sim.table { columns = { "", { "dy/dy0", format = "%.6f" }, { "dy/dvy", format = "%.6f" },
  { "dy/du", format = "%.7f" } },
  { "closed form", right[2], right[4], right[6] }, { "sim2d", mine[2], mine[4], mine[6] },
  { "DiffTaichi's rule with time of impact (a)", timed[1], timed[2], timed[3] },
  { "  without (a)", rule[1], rule[2], rule[3] },
  { "DiffCoSim with time of impact (b)", -1.0000, -0.99559, -0.0020698 } }
print("(a) computed here, in doubles; (b) as printed in the repository's task1_bounce_once/analyze_bounce_once.ipynb;\n"
  .. "the repository holds no printed figures of the others for this task\n")

local counts, series = {}, { event = {}, speculative = {}, bisect = {} }
for i = 0, 24 do counts[i + 1] = math.floor(7 * 1.19 ^ i + 0.5) end
for way, list in pairs(series) do
  for i, steps in ipairs(counts) do
    list[i] = sim.grad(function(p) return bounce(p, steps, way)[2] end, START)[4]
  end
end
local xs, ys = {}, {}
for i = 0, 100 do
  xs[i + 1] = -1 + i / 50
  ys[i + 1] = R + math.abs(0.9 - i / 50)
end
e:figure(sim.plot.grid { width = 900, height = 340, columns = 2,
  { title = "The way", x = "x, m", y = "y, m", equal = true, { xs, ys, label = "centre" }, { y = 0 },
    { { -1 }, { 1 }, kind = "scatter", label = "start" } },
  { title = "dy(T)/dvy by the number of steps", x = { label = "steps", log = true }, y = "s",
    { y = -T, label = "closed form", color = "#888888" },
    { counts, series.event, label = "event", color = "#3b6fb6" },
    { counts, series.speculative, label = "speculative", color = "#c2502e" },
    { counts, series.bisect, label = "bisect", color = "#2f9e6b" } } })
e:finish()
