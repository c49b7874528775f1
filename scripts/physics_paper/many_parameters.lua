-- The more parameters are fitted, the more runs exact gradients save. A ball strikes a chain of springs with n beads.
-- Exact gradients find the masses of the beads to within 1 % in at most a dozen runs, while finite differences need n +
-- 1 times as many runs.
--
--   minimize over m:  L(m) = sum over steps and beads of |x(m) - seen|^2
--
-- A gradient by finite differences, (L(m + h e_i) - L(m)) / h for i = 1 ... n, needs n more runs. The exact gradient
-- needs one backward sweep, which costs about as much as a run. Without gradients (Nelder-Mead), the number of runs
-- grows faster than n. "End-to-end differentiable physics for learning and control" reports this for its chain, in a
-- figure.
local sim = require "sim2d"

local e = sim.experiment("Masses of n beads: exact gradients, differences, no gradients",
  { time = { false, "draw the processor time as well" } })

local STEPS, WITHIN = 20, 0.01

local function strike(log_m)
  local world, n = sim.world { dt = 1 / 60 }, #log_m
  local beads = {}
  for i = 1, n do
    beads[i] = world:circle { radius = 0.05, position = { 0.1 * (i % 2), -0.2 * i }, mass = sim.exp(log_m[i]) }
    world:spring { beads[i], beads[i - 1], anchor_b = i == 1 and { 0, 0 } or nil, rest_length = 0.15, stiffness = 200,
      damping = 1 }
  end
  world:circle { radius = 0.1, position = { -0.3, -0.2 * n - 0.05 }, velocity = { 4, 0 }, mass = 1, gravity_scale = 0,
    restitution = 0.5 }
  local x = {}
  for _ = 1, STEPS do
    world:step()
    for _, bead in ipairs(beads) do
      x[#x + 1], x[#x + 2] = bead.x, bead.y
    end
  end
  return sim.array(x)
end

local runs -- counts the calls of strike for a loss
local function loss_of(truth)
  local seen = strike(truth)
  return function(log_m)
    runs = runs + 1
    local miss = strike(log_m) - seen
    return miss:dot(miss)
  end
end

-- The same loss with a gradient by finite differences.
local function with_differences(loss)
  return function(log_m)
    local value, gradient, h = loss(log_m), {}, 1e-6
    for i, here in ipairs(log_m) do
      log_m[i] = here + h
      gradient[i] = (loss(log_m) - value) / h
      log_m[i] = here
    end
    return value, gradient
  end
end

local kinds = {
  { "exact gradients", most = 32, color = "#3b6fb6" },
  { "differences", most = 32, color = "#c2502e", gradient = true },
  { "no gradients", most = 16, color = "#222222", method = "nelder-mead" },
}
local rows, of = {}, {}
for _, kind in ipairs(kinds) do kind.n, kind.runs, kind.seconds, of[kind[1]] = {}, {}, {}, kind end
for power = 0, 5 do
  local n, truth, start = 1 << power, {}, {}
  for i = 1, n do truth[i], start[i] = sim.random.uniform(-1, 1) * math.log(2), 0 end
  local row = { n }
  for _, kind in ipairs(kinds) do
    if n <= kind.most then
      local loss, worst = loss_of(truth), nil
      local f = kind.gradient and with_differences(loss) or loss
      local began = os.clock()
      runs = 0
      sim.optimize.minimize(f, start, { method = kind.method, gradient = kind.gradient, lower = -2, upper = 2,
        initial_step = kind.method and 0.3 or nil, max_iterations = 4000, callback = function(p)
          worst = 0
          for i = 1, n do worst = math.max(worst, math.abs(math.exp(p[i] - truth[i]) - 1)) end
          return worst <= WITHIN
        end })
      local k = #kind.n + 1
      kind.n[k], kind.runs[k], kind.seconds[k] = n, runs, os.clock() - began
      assert(worst <= WITHIN, ("%s: %d masses not found"):format(kind[1], n))
      row[#row + 1] = runs
      row[#row + 1] = 1000 * kind.seconds[k]
    end
  end
  rows[#rows + 1] = row
end
sim.table { columns = { "n", "exact: runs", { "ms", format = "%.1f" }, "differences: runs", { "ms", format = "%.1f" },
  "none: runs", { "ms", format = "%.1f" } }, table.unpack(rows) }
local exact, differences, none = of["exact gradients"], of["differences"], of["no gradients"]

local masses = { 0.3, -0.2, 0.5, -0.6, 0.1, 0.4, -0.5, 0.2 }
-- With the default step of 1e-3, finite differences cross the first contact of a pair of beads.
e:below("exact gradient of 8 against extrapolated differences", 1e-6,
  sim.check_grad(loss_of { 0, 0, 0, 0, 0, 0, 0, 0 }, masses, { print = false, step = 1e-4 }))
for k, n in ipairs(exact.n) do
  e:equal(("runs for %2d masses: differences / exact"):format(n), n + 1, differences.runs[k] / exact.runs[k],
    0.1 * (n + 1))
end
e:below("runs for 32 masses, exact", 40, exact.runs[6])
e:above("no gradients: runs grow as n to the power", 1.1, math.log(none.runs[5] / none.runs[2]) / math.log(16 / 2))
e:above("runs for 16 masses: no gradients / exact", 20, none.runs[5] / exact.runs[5])

local counts = { title = "Simulations", x = { label = "masses", log = true }, y = { label = "runs", log = true } }
local times = { title = "Time", x = { label = "masses", log = true }, y = { label = "processor time, s", log = true } }
for _, kind in ipairs(kinds) do
  for plot, list in pairs { [counts] = kind.runs, [times] = kind.seconds } do
    plot[#plot + 1] = { kind.n, list, label = kind[1], color = kind.color }
    plot[#plot + 1] = { kind.n, list, kind = "scatter", color = kind.color }
  end
end
e:figure(sim.plot.grid { width = e.options.time and 900 or 560, height = 360, counts, e.options.time and times or nil })
e:finish()
