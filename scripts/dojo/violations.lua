-- Shows how the two violations of Dojo's solver decrease step by step, on eight contacts. The violations are r_vio =
-- max |c(w)| for the equations and b_vio = max |y o z| for the products. c is affine, so a step of the fraction alpha
-- of the direction leaves exactly (1 - alpha) of r_vio, and a full step leaves only rounding errors. The iterations are
-- needed for the products. Both violations are measured by stopping the same solve after 1, 2, 3 .. iterations.
--
-- The target of kappa is never below b_tol / undercut, which keeps matrices as well conditioned as the solution allows.
-- The solve ends only when r_vio <= r_tol and b_vio <= b_tol. With a floor above b_tol (undercut 1/2), products stay at
-- 2 b_tol indefinitely, unless the rule that detects a lack of progress lowers the floor. In the published code this
-- happens with undercut = 1, because its corrector adds kappa to the kappa of the previous iteration.
local sim = require "sim2d"
local contacts = require "contacts"

local e = sim.experiment "r_vio and b_vio of eight contacts, mu = 0.3"
local problem = contacts(sim.random.split(), 8, 0.3)
problem.history = true

local function solve(options)
  problem.options = options
  local x, status, z, info = sim.ncp.solve(problem)
  return x and info or z, x and info.status or status
end

-- Returns the violations after each iteration and after the whole solve.
local function watch(options)
  local whole = solve(options)
  local r, b, at, kappas = {}, {}, {}, {}
  for k = 0, whole.iterations do
    local limited = {}
    for key, value in pairs(options) do limited[key] = value end
    limited.max_iter = k
    local info = solve(limited)
    at[#at + 1], r[#r + 1], b[#b + 1] = k, info.r_vio, info.b_vio
  end
  for k, entry in ipairs(whole.history) do kappas[k] = entry.mu end
  return { whole = whole, at = at, r = r, b = b, kappas = kappas }
end

local TOL = 1e-10
local run = watch { r_tol = TOL, b_tol = TOL }
local shrink, same, lowest = 0, 0, math.huge
for k, entry in ipairs(run.whole.history) do
  shrink = math.max(shrink, math.abs(run.r[k + 1] - (1 - entry.step) * run.r[k]))
  same = math.max(same, math.abs(entry.residual - math.max(run.r[k + 1], run.b[k + 1])))
  lowest = math.min(lowest, entry.mu)
end
e:equal("status", "solved", run.whole.status)
e:below("iterations (the text: about 10)", 10, run.whole.iterations)
e:below("r_vio", TOL, run.r[#run.r])
e:below("b_vio", TOL, run.b[#run.b])
e:equal("r_vio after a step - (1 - alpha) r_vio before", 0, shrink, 1e-14)
e:equal("history: residual - max(r_vio, b_vio)", 0, same, 0)
e:equal("lowest kappa aimed at, in b_tol: 1 / undercut", 0.2, lowest / TOL, 1e-12)

local floor = TOL / 0.5
local stuck = watch { r_tol = TOL, b_tol = TOL, undercut = 0.5, no_progress_undercut = 1, max_iter = 30 }
e:equal("undercut 1/2, no rule", "max_iterations", stuck.whole.status)
e:equal("its b_vio, in b_tol", floor / TOL, stuck.b[#stuck.b] / TOL, 1e-3)
for _, undercut in ipairs { 0.5, 1, 1.5, math.huge } do
  local info, status = solve { r_tol = TOL, b_tol = TOL, undercut = undercut }
  e:equal(("undercut %g, with the rule"):format(undercut), "solved", status)
  e:below(("undercut %g: iterations"):format(undercut), 20, info.iterations)
end

local function floored(list) -- values that are 0 up to rounding errors are drawn at 1e-17
  for i, value in ipairs(list) do list[i] = math.max(value, 1e-17) end
  return list
end
local later = { table.unpack(run.at, 2) }
e:figure(sim.plot.grid { columns = 2, width = 640, height = 380, share_y = true,
  { title = "undercut = 5", x = "iteration", y = { label = "violation", log = true, range = { 1e-16, 10 } },
    legend = "inside", { run.at, floored(run.r), label = "r_vio" }, { run.at, floored(run.b), label = "b_vio" },
    { later, run.kappas, kind = "scatter", label = "kappa aimed at" } },
  { title = "undercut = 1/2, floor kept", x = "iteration", y = { label = "violation", log = true },
    legend = false, { stuck.at, floored(stuck.r), label = "r_vio" }, { stuck.at, floored(stuck.b), label = "b_vio" },
    { y = TOL, label = "b_tol" } } })
e:finish()
