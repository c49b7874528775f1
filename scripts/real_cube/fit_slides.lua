-- sim.fit on slides of a cube finds the friction and drag of all tosses, and the initial position and speed of each
-- toss, from frames with individual times. The step of the world differs from the period of the camera, so observations
-- are interpolated between two steps. --data FILE reads measured slides. Without it, the script makes slides with known
-- friction. --json FILE writes the result for bench/fit_scipy.py, which solves the same problem with SciPy's
-- least_squares.
local sim = require "sim2d"
local tosses = require "tosses"

local e = sim.experiment("Sliding cube: sim.fit on frames at their own times", {
  data = { "", "FILE.csv of slides" }, count = { 8, "tosses that are fitted" },
  loss = { "l2", "l2, huber or cauchy" }, json = { "", "FILE.json for bench/fit_scipy.py" } })
local DT, SIZE, MASS = 1 / 240, 2 * tosses.HALF, 0.37 -- units: s, m, kg; the mass is arbitrary, drag is c/m

local function world(p)
  local w = sim.world { dt = DT, gravity = { 0, -tosses.GRAVITY } }
  w:segment { from = { -1, 0 }, to = { 9, 0 }, friction = p.mu }
  local cube = w:box { name = "cube", size = { SIZE, SIZE }, position = { 0, SIZE / 2 }, mass = MASS, friction = p.mu,
    contact_viscosity = p.drag * MASS / 2 }
  w:observe { "x", of = cube, field = "x" }
  return w
end

local function start(w, _, p)
  w.bodies.cube.x, w.bodies.cube.vx = p.x0, p.v0
end

-- Frame times have six decimals, as in the files of tumbles.
local function log_of(toss)
  local log = { t = {}, x = toss.x }
  for k = 1, toss.n do log.t[k] = tonumber(("%.6f"):format((k - 1) * tosses.DT)) end
  return log
end

local TRUTH = { mu = 0.21, drag = 0.4 }
local function made(count)
  local list = {}
  for i = 1, count do
    local w, v = world(TRUTH), sim.random.uniform(0.35, 0.85)
    start(w, nil, { x0 = 0, v0 = v })
    local x = { [0] = 0 }
    for k = 1, 200 do
      w:step()
      x[k] = w.bodies.cube.x
    end
    local toss = { n = math.floor(v / (TRUTH.mu * tosses.GRAVITY) / tosses.DT) + 5, x = {} }
    for k = 1, toss.n do
      local place = (k - 1) * tosses.DT / DT
      local step = math.floor(place)
      toss.x[k] = x[step] + (place - step) * ((x[step + 1] or 0) - x[step]) + sim.random.normal(0, 5e-5)
    end
    list[i] = toss
  end
  return list
end

sim.random.seed(2)
local all = e.options.data ~= "" and tosses.slides(e.options.data) or made(e.options.count)
local logs = {}
for i = 1, math.min(e.options.count, #all) do logs[i] = log_of(all[i]) end
local before = os.clock()
local result = sim.fit { world = world, data = logs, split = 1, start = start, loss = e.options.loss, tolerance = 1e-10,
  parameters = { mu = { 0.3, 0, 2 }, drag = { 0.1, 0, 5 } },
  windows = { rows = 1000, free = { x0 = { function(first) return first.x end }, v0 = { 0.6, 0, 3 } } } }
print(result)
print(("%d tosses, %.1f s"):format(#logs, os.clock() - before))

if e.options.json ~= "" then
  local rows = {}
  for i, log in ipairs(logs) do
    rows[i] = ('{"t": [%s], "x": [%s], "x0": %.17g, "v0": %.17g}'):format(table.concat(log.t, ","), table.concat(log.x, ","),
      result.windows[i].x0, result.windows[i].v0)
  end
  local file <close> = assert(io.open(e.options.json, "w"))
  file:write(('{"dt": %.17g, "g": %.17g, "mu": %.17g, "drag": %.17g, "rms": %.17g, "loss": "%s", "scale": %.17g, "tosses": [%s]}\n'):format(DT,
    tosses.GRAVITY, result.parameters.mu, result.parameters.drag, result.train, e.options.loss, result.scale or 1, table.concat(rows, ",\n")))
end
e:below("what is left, mm", 1, 1000 * result.train)
if e.options.data == "" then
  e:below("mu, in deviations it says itself", 4, math.abs(result.parameters.mu - TRUTH.mu) / result.deviation.mu)
  e:below("drag, the same", 4, math.abs(result.parameters.drag - TRUTH.drag) / result.deviation.drag)
end
e:finish()
