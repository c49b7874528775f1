-- Shows the cost of each additional correct digit for each solver, by the residual of a stack of ten boxes over
-- iterations and time, from a cold start. The Compliant benchmark compares projected Gauss-Seidel with one QP solver on
-- such a stack. Here all solvers solve the same problem and are compared by the same residual,
--
--     max of |min(w l_n, u_n)|,  |w (l_t - clip(l_t - u_t/w, -mu l_n, mu l_n))|      over the largest |q|
--
-- The solution is known: level i of n carries the impulse (n + 1 - i) m g h, the friction impulses are 0, and all
-- velocities are 0. A sweep carries information one box further, so sweeps converge linearly, and more slowly for
-- higher stacks. For n frictionless discs, the fraction cos^2(pi/2n) of the error remains after an upward sweep
-- (Gauss-Seidel on the second difference). Methods that factor a matrix couple all boxes at once. The script prints
-- times but does not check them.
local sim = require "sim2d"

local e = sim.experiment("Solvers on a stack", { boxes = { 10, "how many" }, sweeps = { 1000, "at most" },
  time = { false, "the right picture over time" } })
local n, m, g, h = e.options.boxes, 1, 9.81, 1 / 60

-- The problem of the first step of a stack of boxes, as posed by the world.
local function boxes()
  local world = sim.world { dt = h, gravity = { 0, -g } }
  world:box { type = "static", position = { 0, -0.5 }, size = { 10, 1 } }
  for i = 1, n do world:box { position = { 0, i - 0.5 }, size = { 1, 1 }, mass = m } end
  local p = world:problem()
  return { M = p.M, H = sim.array(p.J):t(), q = p.rhs, bias = p.bias, mu = p.mu, J = p.J }
end

-- The step of frictionless discs in terms of impulses is the second difference, with the ground at the bottom.
local function discs()
  local W, q = sim.eye(2 * n), sim.zeros(2 * n)
  for k = 1, n do
    W[{ 2 * k - 1, 2 * k - 1 }] = k == 1 and 1 / m or 2 / m
    if k > 1 then W[{ 2 * k - 1, 2 * k - 3 }], W[{ 2 * k - 3, 2 * k - 1 }] = -1 / m, -1 / m end
  end
  q[1] = -g * h
  return { W = W, q = q, mu = 0 }
end

local function solve(p, name)
  local fastest, r, u, info, status = math.huge, nil, nil, nil, nil
  for _ = 1, 3 do
    r, u, info = sim.contact.solve { W = p.W, M = p.M, H = p.H, q = p.q, bias = p.bias, mu = p.mu, solver = name,
      max_iterations = e.options.sweeps // 100, history = true } -- one hundred sweeps per iteration
    if not r then u, status = nil, u end
    fastest = math.min(fastest, info.time)
  end
  return r, u, info, fastest, status
end

-- Returns the sum of the normal impulses on each level, from the ground up. Each level has two contacts, in any order.
local posed = boxes()
local function worst_level(r)
  local worst, level = 0, sim.zeros(n)
  for k, row in ipairs(posed.J) do
    if k % 2 == 1 then -- the normal impulse acts upwards on the upper body and downwards on the lower body
      local upper = 0
      for body = 1, n do
        if row[3 * body] > 0 then upper = body end
      end
      level[upper] = level[upper] + r[k]
    end
  end
  for i = 1, n do worst = math.max(worst, math.abs(level[i] - (n + 1 - i) * m * g * h)) end
  return worst
end

local rows, points, histories = {}, {}, {}
for _, name in ipairs { "pdipm", "lemke", "newton", "al", "ncp", "pcg", "nncg", "nsgs", "pgs", "si" } do
  local r, u, info, time, status = solve(posed, name)
  rows[#rows + 1] = { name, status or "solved", info.iterations, info.residual, 1e3 * time }
  if e.options.time then
    points[#points + 1] = { x = 1e3 * time, y = info.residual, text = name }
  elseif r then
    points[#points + 1] = { x = info.iterations, y = info.residual, text = name }
  end
  histories[name] = info.history
  if r then
    e:equal(name .. ": worst level, N s", 0, worst_level(r), 1e-7)
    e:equal(name .. ": largest velocity, m/s", 0, sim.abs(sim.array(u)):max(), 1e-7)
  end
end
print "times are the fastest of three"
sim.table { columns = { "solver", "status", "iterations", { "residual", format = "%.1e" }, { "ms", format = "%.3f" } },
  table.unpack(rows) }

-- Relaxation solvers check the residual every four sweeps.
local _, _, info = solve(discs(), "si")
local rate = (info.history[120].residual / info.history[80].residual) ^ (1 / 160)
e:equal("discs, si: the error a sweep leaves", math.cos(math.pi / (2 * n)) ^ 2, rate, 1e-6)
local plot = { title = "Sweeps", x = { label = "sweeps", log = true }, y = { label = "residual", log = true } }
for i, name in ipairs { "pgs", "si", "nsgs", "nncg" } do
  local sweeps, residuals = {}, {}
  for k, entry in ipairs(histories[name]) do sweeps[k], residuals[k] = 4 * k, entry.residual end
  plot[i] = { sweeps, residuals, label = name, dash = name == "si" }
end
e:figure(sim.plot.grid { columns = 2, width = 640, height = 380, plot, { title = "To 1e-9",
  x = e.options.time and { label = "time, ms", log = true } or { label = "iterations", log = true, range = { 1, 300 } },
  y = { label = "residual", log = true },
  table.unpack(points) } })
e:finish()
