-- Runs nine scenes with every solver of the engine: the exact solvers pass all scenes, but the sweeping solvers do not.
-- All solvers solve the same step problem, 0 <= l_n _|_ J_n v + b >= 0 and |l_t| <= mu l_n, where friction opposes the
-- sliding. A cell of the table is the largest error of a scene divided by its bar (see `bench_friction.lua`,
-- `bench_redundant.lua`, `bench_energy.lua`). A scene passes if its cell is at most 1. Event stepping puts the impacts
-- at their exact times, so only the solver differs. The figure shows one step of 1 kg under 10 kg. The fraction of the
-- error that remains after a sweep tends to 1 as the mass ratio grows, while a factorisation does not depend on this
-- ratio.
local sim = require "sim2d"

local e = sim.experiment "ContactBench's scenes by solver: error / bar"
local files = {}
for i, name in ipairs { "friction", "redundant", "energy" } do files[i] = require("scripts.contact.bench_" .. name) end

local solvers = { -- solvers that are exact according to docs/solvers.md must pass every scene
  { "auto", exact = true, second_order = true }, -- with the other solvers, steps are of first order
  { "pdipm", exact = true }, { "lemke", exact = true }, { "newton", exact = true },
  { "al" }, { "ncp" }, { "pcg" }, { "nncg" }, { "nsgs" }, { "pgs" }, { "si" }, -- up to 10 000 sweeps
  { "si, 100 sweeps", "si", max_iterations = 1 },
}

local columns, rows, failed = { "solver" }, {}, {}
for i, solver in ipairs(solvers) do
  local name, settings = solver[1], { stepping = "event", solver = solver[2] or solver[1],
    max_iterations = solver.max_iterations }
  local row, passed = { name }, 0
  for _, file in ipairs(files) do
    for _, scene in ipairs(file.names) do
      local worst, what = 0, nil
      for _, item in ipairs(file[scene] { world = settings, second_order = solver.second_order }) do
        local ratio = item[2] == 0 and 0 or item[2] / item[3]
        if not (ratio <= worst) then worst, what = ratio, item[1] end
      end
      if worst <= 1 then passed = passed + 1 else failed[#failed + 1] = { name, scene, what, worst } end
      row[#row + 1] = ("%.0e"):format(worst)
      if i == 1 then columns[#columns + 1] = scene end
    end
  end
  row[#row + 1], rows[i] = passed, row
  if solver.exact then e:equal("passed by " .. name, 9, passed) end
  if name == "pgs" then e:below("passed by pgs, of 9", 8, passed) end
end
columns[#columns + 1] = "passed"
sim.table { columns = columns, table.unpack(rows) }
sim.table { columns = { "fails", "scene", "by", { "error / bar", format = "%.0e" } }, table.unpack(failed) }

-- ---- One step, iteration by iteration -----------------------------------------------------------------

local world = sim.world {}
world:segment { from = { -9, 0 }, to = { 9, 0 }, friction = 0.9 }
world:box { size = { 0.2, 0.2 }, position = { 0, 0.1 }, mass = 1, friction = 0.9 }
world:box { size = { 0.2, 0.2 }, position = { 0, 0.3 }, mass = 10, friction = 0.9 }
local problem = world:problem()
local plot = { title = "One step of 1 kg under 10 kg", x = { label = "iteration or sweep", log = true },
  y = { label = "scaled residual", log = true, range = { 1e-12, 10 } } }
for _, solver in ipairs { "newton", "pdipm", "nncg", "pgs", "si" } do
  local _, _, info = sim.contact.solve { W = problem.W, q = problem.q, mu = problem.mu, solver = solver,
    tolerance = 1e-11, history = true }
  local at, residual = {}, {}
  for i, entry in ipairs(info.history) do -- the residual is checked every fourth sweep
    at[i], residual[i] = info.iterations > 50 and 4 * i or i, entry.residual
  end
  at[#at + 1], residual[#at + 1] = info.iterations, info.residual
  plot[#plot + 1] = { at, residual, label = solver }
end
e:figure(sim.plot(plot))
e:finish()
