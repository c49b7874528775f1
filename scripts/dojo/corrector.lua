-- Shows the benefit of Mehrotra's correction by the iterations of Dojo's solver with and without this correction, on
-- random contacts. A Newton step aims at y o z + dy o z + y o dz = kappa e and neglects dy o dz. The affine direction,
-- which aims at kappa = 0, gives an estimate of the neglected term. At the cost of one back-substitution, the same
-- factors then solve
--
--     y o z + dy o z + y o dz = kappa e - dy_affine o dz_affine
--
-- According to the page of the solver, about 10 iterations are typical, and the correction often halves this number.
-- Here fewer than 10 iterations are needed, and the correction saves a sixth to a third of them. It saves more with
-- more contacts.
local sim = require "sim2d"
local contacts = require "contacts"

local e = sim.experiment("Iterations with the correction and without, mu = 0.3", { sets = { 60, "of each size" } })
local random = sim.random.split()

local function median(list)
  local sorted = { table.unpack(list) }
  table.sort(sorted)
  return sorted[(#sorted + 1) // 2]
end

-- Returns the iterations of a solve and its final violation, or nil if the solve fails. Few solves fail, because the
-- problem with friction is not convex.
local function iterations(problem, corrector)
  problem.options = { corrector = corrector }
  local x, _, _, info = sim.ncp.solve(problem)
  return x and info.iterations, x and info.residual
end

local sizes, means, last = { 1, 2, 4, 8, 12 }, { {}, {} }, nil
local worse, ended, count = 0, 0, 0
for s, n in ipairs(sizes) do
  local with, without, spared, missed = {}, {}, {}, 0
  for _ = 1, e.options.sets // (n > 8 and 3 or 1) do
    local problem = contacts(random, n, 0.3)
    local a, residual = iterations(problem, true)
    local b, plain = iterations(problem, false)
    count = count + 1
    if a and b then
      with[#with + 1], without[#without + 1], spared[#spared + 1] = a, b, b - a
      worse = worse + (b < a and 1 or 0)
      missed = math.max(missed, residual, plain)
    else
      ended = ended + 1
    end
  end
  means[1][s], means[2][s] = sim.array(with):mean(), sim.array(without):mean()
  e:below(("n = %d: largest violation"):format(n), 1e-8, missed)
  e:below(("n = %d: mean (the text: about 10)"):format(n), 10, means[1][s])
  e:above(("n = %d: iterations spared, median"):format(n), 1, median(spared))
  e:below(("n = %d: part that is left (the text: 1/2)"):format(n), 0.85, means[1][s] / means[2][s])
  if n == 8 then last = { with, without } end
end
e:below(("sets, of %d, that need more with it"):format(count), 5, worse)
e:below("sets that end without an answer, with or without", 3, ended)

e:figure(sim.plot.grid { columns = 2, width = 640, height = 380,
  { title = "Mean", x = { label = "contacts", range = { 0, 13 } }, y = { label = "iterations", range = { 0, 14 } },
    { sizes, means[2], label = "without" }, { sizes, means[1], label = "with" } },
  { title = "8 contacts", x = "iterations", y = "sets", legend = "above",
    { last[1], kind = "histogram", bins = sim.linspace(5.5, 15.5, 11), label = "with" },
    { last[2], kind = "histogram", bins = sim.linspace(5.5, 15.5, 11), label = "without" } } })
e:finish()
