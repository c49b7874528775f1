-- Runs nine scenes with every stepping method and every contact model, and shows that most combinations give up some
-- property. A cell of the table is the largest error of a scene divided by its bar (see `bench_friction.lua`,
-- `bench_redundant.lua`, `bench_energy.lua`). A scene passes if its cell is at most 1. The solver is `auto`, so the
-- differences come from the step problem: the times at which contacts act, overlaps, and the compliance of the surface.
local sim = require "sim2d"

local e = sim.experiment "ContactBench's scenes by contact model: error / bar"
local files = {}
for i, name in ipairs { "friction", "redundant", "energy" } do files[i] = require("scripts.contact.bench_" .. name) end

-- The properties that each stepping method or model gives up, with the reason (docs/stepping-options.md). With a fixed
-- step, an impact is up to dt early. bisect keeps the gap that it has found. (1/2, 1/2) moves bodies with velocities
-- from before the impact. Bodies on springs sink by m g C, rock, and have no restitution.
local late, soft = "bounce", { contact_compliance = 1e-6, contact_damping = 100 }
local function fixed(settings)
  settings.stepping = "speculative"
  return settings
end
local models = {
  { "auto", second_order = true, misses = "nothing" },
  { "event", world = { stepping = "event" }, second_order = true, misses = "nothing" },
  { "speculative", world = fixed {}, misses = late },
  { "4 sub-steps", world = fixed { substeps = 4 }, misses = late },
  { "bisect", world = { stepping = "bisect" }, misses = "land, " .. late },
  { "reflections", world = { restitution_model = "reflections" }, misses = late },
  { "no projection", world = fixed { stabilization = "none" }, misses = late },
  { "baumgarte", world = { stabilization = "baumgarte" }, misses = late },
  { "pre", world = { stabilization = "pre" }, misses = late },
  { "post_assembly", world = { stabilization = "post_assembly" }, misses = late },
  { "alpha, beta 1/2", world = { alpha = 0.5, beta = 0.5, geometric_stiffness = "on" }, misses = "heap" },
  { "soft, 1e-6 m/N", world = fixed {}, body = soft, misses = "slide, drag, ratio, bounce, heap" },
  { "soft, 1e-4 m/N", world = fixed {}, body = { contact_compliance = 1e-4, contact_damping = 10 } },
}

local columns, rows, failed = { "model" }, {}, {}
for i, model in ipairs(models) do
  local name = model[1]
  local row, misses = { name }, {}
  for _, file in ipairs(files) do
    for _, scene in ipairs(file.names) do
      local worst, what = 0, nil
      for _, item in ipairs(file[scene](model)) do
        local ratio = item[2] == 0 and 0 or item[2] / item[3]
        if not (ratio <= worst) then worst, what = ratio, item[1] end
      end
      if worst > 1 then
        misses[#misses + 1] = scene
        failed[#failed + 1] = { name, scene, what, worst }
      end
      row[#row + 1] = ("%.0e"):format(worst)
      if i == 1 then columns[#columns + 1] = scene end
    end
  end
  row[#row + 1], rows[i] = 9 - #misses, row
  if model.misses then
    e:equal(name .. " misses", model.misses, #misses > 0 and table.concat(misses, ", ") or "nothing")
  end
end
columns[#columns + 1] = "passed"
sim.table { columns = columns, table.unpack(rows) }
sim.table { columns = { "fails", "scene", "by", { "error / bar", format = "%.0e" } }, table.unpack(failed) }

-- A cube that is pulled with less than mu m g until 0.1 s must not move at all. On springs the cube tilts. A pull F at
-- the height a has the moment F a, and two springs 2 a apart have the stiffness 2 a^2 / C, so v = F' C / 2 on average
-- over a step. The pull grows from step to step, and a stiff cube is nearly at rest again at the end of each step.
local plot = { title = "A cube pulled by less than friction holds", x = { label = "time, s", range = { 0, 0.13 } },
  y = { label = "speed, m/s", log = true, range = { 1e-19, 1 } } }
for _, compliance in ipairs { 1e-4, 1e-6, 1e-8, 0 } do
  local t, v, was = {}, {}, 0
  soft.contact_compliance, soft.contact_damping = compliance, 1e-2 / math.sqrt(math.max(1e-12, compliance))
  files[1].drag({ body = soft }, function(now, _, x)
    t[#t + 1], v[#v + 1], was = now, math.abs(x - was) / 1e-3, x
  end)
  if compliance == 1e-6 then e:equal("1e-6 m/N: tilts at 2 g C, m/s", 2 * 9.81 * 1e-6, v[50], 1e-9) end
  plot[#plot + 1] = { t, v, label = compliance > 0 and ("%.0e m/N"):format(compliance) or "rigid" }
end
e:figure(sim.plot(plot))
e:finish()
