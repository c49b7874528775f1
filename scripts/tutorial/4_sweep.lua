-- Lesson 4: a box on a slope rests, slides or tips over. 187 runs beside the prediction of statics.
local sim = require "sim2d"

local exp = sim.experiment "A box of 0.3 m x 0.6 m on a slope"

local sweep = sim.sweep {
  grid = { angle = sim.linspace(4, 44, 17):table(), mu = sim.linspace(0.1, 1.1, 11):table() }, -- degrees; 1
  progress = false,
  run = function(p)
    local world = sim.world { combine_friction = "min" }
    local a = math.rad(p.angle)
    local along, up = { math.cos(a), -math.sin(a) }, { math.sin(a), math.cos(a) } -- the slope falls to the right
    world:box { type = "static", size = { 40, 1 }, angle = -a, position = { -0.5 * up[1], -0.5 * up[2] }, friction = 2 }
    local box = world:box { size = { 0.3, 0.6 }, angle = -a, position = { 0.3 * up[1], 0.3 * up[2] }, friction = p.mu }
    world:run { duration = 2 }
    local slid = box.x * along[1] + box.y * along[2]
    local tipped = math.abs(box.angle + a) > 0.1
    return { tips = tipped, slides = not tipped and slid > 0.01, rests = not tipped and slid <= 0.01 }
  end }

local wrong = { rests = 0, slides = 0, tips = 0 }
local fate = {}
for i, run in ipairs(sweep.rows) do
  local slope, base = math.tan(math.rad(run.angle)), 0.3 / 0.6
  local rests = slope < run.mu and slope < base
  local tips = slope > base and run.mu > base -- friction holds the lower edge until the box turns about it
  if run.rests ~= rests then wrong.rests = wrong.rests + 1 end
  if run.tips ~= tips then wrong.tips = wrong.tips + 1 end
  fate[i] = run.tips and 2 or run.slides and 1 or 0
end
exp:equal("runs", 187, #sweep.rows)
exp:equal("runs that rest where statics predicts otherwise, or the reverse", 0, wrong.rests)
exp:equal("runs that tip where statics predicts otherwise, or the reverse", 0, wrong.tips)

local angles, frictions, rows = sim.linspace(4, 44, 17):table(), sim.linspace(0.1, 1.1, 11):table(), {}
for j = 1, #frictions do
  rows[j] = {}
  for i = 1, #angles do rows[j][i] = fate[(i - 1) * #frictions + j] end -- the last parameter runs fastest
end
exp:figure(sim.plot { title = "0 rests, 1 slides, 2 tips over", x = "angle, degrees", y = "friction",
  { angles, frictions, rows, kind = "heat", label = "fate" },
  { function(a) return math.tan(math.rad(a)) end, 6, 44, label = "tan" } })
exp:finish()
