-- Compares two choices of kappa: by feedback from the affine direction, or as a fixed value. The solver starts at y =
-- z = e, where all products are 1, and has to end at products of 0 for a solution of any size. In each step it aims at
-- kappa = sigma nu, where nu is the mean product, with one of two rules for sigma:
--
--     adaptive    sigma = (nu_affine / nu)^3, nu_affine: the mean product after the affine direction (Mehrotra)
--     fixed       sigma = 1/2, 1/10, 1/100; or 0: aim at the end from the start
--
-- Speeds from 1e-3 to 1e3 m/s vary the distance of the solution. Aiming at the end from the start is as good as
-- feedback if the solution is near. It is worse if the solution is far, especially without the correction. No fixed
-- choice is better overall. The final kappa is also a choice. If it is above 0, the solution is on the central path.
-- For a contact without friction (z = y - v), this solution is y = (v + sqrt(v^2 + 4 kappa)) / 2.
local sim = require "sim2d"
local contacts = require "contacts"

local e = sim.experiment("Iterations by the choice of kappa, 4 contacts, mu = 0.3", { sets = { 30, "at each speed" } })
local choices = {
  { name = "adaptive" }, { name = "1/2", centering = 0.5 }, { name = "1/10", centering = 0.1 },
  { name = "1/100", centering = 0.01 }, { name = "0", centering = 0 },
  { name = "0, not corrected", centering = 0, corrector = false },
}
local speeds = { 1e-3, 1e-2, 0.1, 1, 10, 100, 1000 }
local solved, count = {}, 0
for k, choice in ipairs(choices) do choice.means, choice.sum, solved[k] = {}, 0, 0 end
for s, speed in ipairs(speeds) do
  local random = sim.random.split()
  for _, choice in ipairs(choices) do choice.means[s] = 0 end
  for _ = 1, e.options.sets do
    local problem = contacts(random, 4, 0.3, speed)
    count = count + 1
    for k, choice in ipairs(choices) do
      problem.options = { centering = choice.centering, corrector = choice.corrector, max_iter = 100 }
      local x, _, failed, info = sim.ncp.solve(problem)
      local used = (x and info or failed).iterations
      solved[k] = solved[k] + (x and 1 or 0)
      choice.sum = choice.sum + used
      choice.means[s] = choice.means[s] + used / e.options.sets
    end
  end
end
for k, choice in ipairs(choices) do
  e:above(("sigma %s: solved, of %d"):format(choice.name, count), 0.98 * count, solved[k]) -- some problems are not convex
  if k > 1 then
    e:above(("sigma %s: iterations, adaptive %d"):format(choice.name, choices[1].sum), choices[1].sum, choice.sum)
  end
end

-- Compares the solution at a final kappa with the closed form.
local worst, curves = 0, {}
for k, kappa in ipairs { 1e-4, 0.1, 1 } do
  local vs, ys = {}, {}
  for i = 0, 60 do
    local v = -3 + i / 10
    local _, y = assert(sim.ncp.solve { cones = { orthant = 1 },
      options = { kappa = kappa, r_tol = 1e-12, b_tol = 1e-12 },
      residual = function(_, a, z) return { z[1] - a[1] + v } end })
    vs[#vs + 1], ys[#ys + 1] = v, y[1]
    worst = math.max(worst, math.abs(y[1] - (v + math.sqrt(v * v + 4 * kappa)) / 2))
  end
  curves[k] = { vs, ys, label = ("kappa = %g"):format(kappa) }
end
e:equal("a final kappa: from the closed form", 0, worst, 1e-9)

local plot = { title = "Iterations", x = { label = "speed", unit = "m/s", log = true },
  y = { label = "mean iterations", range = { 0, 60 } }, legend = "inside" }
for _, choice in ipairs(choices) do
  if choice.name ~= "1/100" then
    plot[#plot + 1] = { speeds, choice.means, label = choice.name, dash = not choice.centering }
  end
end
e:figure(sim.plot.grid { columns = 2, width = 640, height = 400, plot,
  { title = "Final kappa", x = "v, m/s", y = "y, N s", legend = "inside", table.unpack(curves) } })
e:finish()
