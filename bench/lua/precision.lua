-- Work and precision: errors of ten scenes whose motion is known, against the time of a run, by two stages and by
-- projection.
--   build/sim2d bench/lua/precision.lua --out docs/images/precision.svg
-- The exact motion is a closed form, or the solution of an equation by Runge and Kutta's method to 1e-10. Each point
-- has its own step length. Prints errors and times, and the ratio of the times of both flows for the same error: the
-- time of projection is found on the line through its last two points.
local sim = require "sim2d"
package.path = (arg[0]:match "^(.*/)" or "./") .. "../../tests/lua/?.lua;" .. package.path
local scenes = require "order_scenes"

local args = sim.options { out = { "precision.svg", "the picture" }, points = { 5, "step lengths, each half of the last" },
  seconds = { 0.1, "least total time of the runs of a point" } }

local LABELS = { double_pendulum = "double pendulum, 1 s", spring_law = "spring as a force law, 1 s", viscous = "box on viscous ground, 0.5 s",
  top_down = "disc slides to rest, seen from above", incline05 = "block tips on a slope, 1 s", incline2 = "the same, steeper, 0.5 s",
  ladder04 = "ladder slides down a wall, 0.4 s", ladder06 = "and leaves it, 0.55 s", rocking = "block rocks, 0.5 s",
  rolling = "disc slides, then rolls, 3 s" }
local NAMES = { "double_pendulum", "spring_law", "viscous", "top_down", "incline05", "incline2", "ladder04", "ladder06", "rocking", "rolling" }
local FLOWS = { { "projected", color = "#c2502e" }, { "auto", label = "two stages", color = "#3b6fb6" } }

-- Seconds of a run, as the least of several.
local function time_of(name, rate, flow)
  local least, total = math.huge, 0
  while total < args.seconds do
    local start = sim.clock()
    scenes.run(name, rate, { flow = flow, stepping = "auto" })
    local took = sim.clock() - start
    least, total = math.min(least, took), total + took
  end
  return least
end

-- Errors below this are rounding and tolerances.
local FLOOR = 1e-12
-- The time of projection for an error, from its last two points. Infinite where its errors do not fall.
local function time_to(curve, error)
  local n = #curve.error
  local e, t = math.log(curve.error[n - 1] / curve.error[n]), math.log(curve.time[n] / curve.time[n - 1])
  return e > 0 and curve.time[n] * math.exp(t / e * math.log(curve.error[n] / error)) or math.huge
end

local rows, plots = {}, { columns = 2, width = 900, height = 1500 }
for _, name in ipairs(NAMES) do
  local plot = { title = LABELS[name], x = { label = "time of a run, ms", log = true }, y = { label = "error", log = true } }
  local curves = {}
  for _, flow in ipairs(FLOWS) do
    local curve = { error = {}, time = {} }
    for i = 1, args.points do
      local rate = 60 * 2 ^ (i - 1) // 1
      curve.error[i] = math.max(FLOOR, scenes.error(name, rate, { flow = flow[1], stepping = "auto" }))
      curve.time[i] = 1e3 * time_of(name, rate, flow[1])
    end
    curves[flow[1]] = curve
    plot[#plot + 1] = { curve.time, curve.error, label = flow.label or flow[1], color = flow.color }
    plot[#plot + 1] = { curve.time, curve.error, kind = "scatter", color = flow.color }
  end
  local old, new = curves.projected, curves.auto
  rows[#rows + 1] = { LABELS[name], old.error[2], new.error[2], new.time[2] / old.time[2], time_to(old, new.error[2]) / new.time[2] }
  plots[#plots + 1] = plot
end
print "errors at 1/120 s; time of a run by two stages over that by projection; time of projection for the error of two stages over theirs"
sim.table { columns = { "scene", { "projected", format = "%.1e" }, { "two stages", format = "%.1e" }, { "time", format = "%.2f" },
    { "time to the error", format = "%.3g" } }, table.unpack(rows) }
print(sim.plot.grid(plots):save(args.out))
