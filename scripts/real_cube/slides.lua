-- How a thrown cube slides to rest: one friction coefficient from half of the tosses, and how far it predicts the
-- others. In each step of h = 1/148 s the engine solves v+ = max(0, v - mu g h - (c/m) v+ h), x+ = x + h v+.
-- --data FILE reads measured slides; without it slides of known mu are made, with the errors of the measured ones.
local sim = require "sim2d"
package.path = (arg[0]:match "^(.*)/" or ".") .. "/files/?.lua;" .. package.path
local tosses = require "tosses"

local e = sim.experiment("Sliding cube: friction from half of the tosses, tried on the others", {
  data = { "", "FILE.csv of slides; half of its groups are held out" },
  held = { "", "FILE.csv of slides to predict, in place of that half" },
  first = { 4, "first frame that tells the speed: before, the cube still settles" },
  last = { 10, "last frame that does" } })
local FIRST, LAST = e.options.first, e.options.last
local SIZE, MASS = 2 * tosses.HALF, 0.37

-- Positions of the first n frames. Drag is c/m, 1/s, at two contact points: mass itself has no say.
local function slide(p, speed, n)
  local world = sim.world { dt = tosses.DT, gravity = { 0, -tosses.GRAVITY }, stabilization = "none" }
  world:segment { from = { -1, 0 }, to = { 9, 0 }, friction = p.mu }
  local cube = world:box { size = { SIZE, SIZE }, position = { 0, SIZE / 2 }, velocity = { speed, 0 }, mass = MASS,
    friction = p.mu, contact_viscosity = (p.drag or 0) * MASS / 2 }
  local x = { 0 }
  for i = 2, n do
    world:step()
    x[i] = cube.x
  end
  world:close()
  return x
end

-- Speed and offset of a toss from frames FIRST to LAST. As long as the cube slides, positions are linear in the
-- speed, x_i = offset + a_i v + ..., so that one correction of a guess is exact.
local function starting(p, toss)
  local guess = (toss.x[LAST] - toss.x[FIRST]) / ((LAST - FIRST) * tosses.DT) + 0.1
  local x, a, q = slide(p, guess, LAST), { 0 }, 1
  for i = 2, LAST do
    q = q / (1 + (p.drag or 0) * tosses.DT)
    a[i] = a[i - 1] + q * tosses.DT
  end
  a = sim.array { table.unpack(a, FIRST) }
  local error = sim.array { table.unpack(toss.x, FIRST, LAST) } - sim.array { table.unpack(x, FIRST) }
  local slope = a - a:mean()
  local change = slope:dot(error) / slope:dot(slope)
  return guess + change, (error - a * change):mean()
end

local function predict(p, toss, from_frames)
  local speed, offset = toss.v0, 0
  if from_frames then speed, offset = starting(p, toss) end
  local x = slide(p, speed, toss.n)
  for i = 1, toss.n do x[i] = x[i] + offset end
  return x
end

-- The mean of the tosses' rms errors: less fond of single bad tosses than the mean of squares.
local function fit(list, start, from_frames)
  return sim.optimize.minimize(function(p)
    local sum = 0
    for _, toss in ipairs(list) do
      local error = sim.array(predict(p, toss, from_frames)) - sim.array(toss.x)
      sum = sum + sim.sqrt((error * error):mean() + 1e-10)
    end
    return 1000 * sum / #list
  end, start, { lower = 0, upper = 2, tolerance = 1e-5, max_iterations = 25 })
end

local TRUTH = { mu = 0.21, drag = 0.4 }
local function made()
  local rows = {}
  for i = 1, 24 do
    local v = sim.random.uniform(0.35, 0.85)
    local n = math.floor(v / (TRUTH.mu * tosses.GRAVITY) / tosses.DT) + 5
    local row = { i, i, 0, n, v * sim.random.normal(1, 0.02) } -- measured speeds are worse than places
    for k, x in ipairs(slide(TRUTH, v, n)) do row[5 + k] = k == 1 and 0 or x + sim.random.normal(0, 1e-4) end
    rows[i] = row
  end
  return tosses.through_file(rows, tosses.slides)
end

sim.random.seed(2)
local real = e.options.data ~= ""
local all = real and tosses.slides(e.options.data) or made()
local train, held = tosses.halves(all)
if e.options.held ~= "" then train, held = all, tosses.slides(e.options.held) end
for i = #held, 1, -1 do if held[i].n <= LAST + 1 then table.remove(held, i) end end
print(("%d tosses to learn from, %d held out; errors in mm over all frames, and over those after frame %d")
  :format(#train, #held, LAST))

local rows, found, errors = {}, {}, {}
for i, model in ipairs { { "v0 as measured, mu = 0.21", nil }, { "v0 as measured", { mu = 0.3 } },
  { "v0 as measured, drag", { mu = 0.3, drag = 0.1 } }, { "speed of frames", { mu = 0.3 }, true },
  { "speed of frames, drag", { mu = 0.3, drag = 0.1 }, true } } do
  local p = model[2] and fit(train, model[2], model[3]) or { mu = 0.21 }
  local whole, rest = {}, {}
  for k, toss in ipairs(held) do
    local x = predict(p, toss, model[3])
    whole[k], rest[k] = 1000 * tosses.rmse(x, toss.x), 1000 * tosses.rmse(x, toss.x, LAST + 1)
  end
  found[i], errors[i] = p, { whole = whole, rest = rest }
  rows[i] = { model[1], p.mu, p.drag or 0, tosses.median(whole), tosses.quantile(whole, 0.9), tosses.median(rest),
    tosses.quantile(rest, 0.9) }
end
sim.table { columns = { "model", { "mu", format = "%.4f" }, { "drag, 1/s", format = "%.2f" }, { "median", format = "%.2f" },
  { "p90", format = "%.2f" }, { "rest: median", format = "%.2f" }, { "p90", format = "%.2f" } }, table.unpack(rows) }

if real then
  e:below("median rmse of held out tosses, mm (v0 as measured, mu 0.21: 2.24)", 2.24, tosses.median(errors[5].whole))
  e:below("the same after the frames used, mm", 2.24, tosses.median(errors[5].rest))
else
  e:equal("mu", TRUTH.mu, found[5].mu, 2e-3)
  e:equal("drag, 1/s", TRUTH.drag, found[5].drag, 0.1)
  e:below("median rmse of held out tosses, mm", 0.5, tosses.median(errors[5].whole))
end

-- Where the error of a prediction comes from: of each held-out toss, by the two ways to tell its speed.
local function histogram(k, label)
  return { errors[k].whole, kind = "histogram", bins = sim.linspace(0, 12, 25):table(), label = label }
end
local paths = { title = "Held-out slides", x = "time, s", y = "way, m", legend = false }
for k = 1, math.min(#held, 5) do
  local toss, t = held[k], {}
  for i = 1, held[k].n do t[i] = (i - 1) * tosses.DT end
  paths[2 * k - 1] = { t, predict(found[5], toss, true), color = "#c0392b" }
  paths[2 * k] = { t, toss.x, kind = "scatter", color = "#222222" }
end
e:figure(sim.plot.grid { columns = 1, width = 640, height = 640, paths,
  { title = "Error of each", x = "rmse, mm", y = "tosses", legend = "inside", histogram(2, "v0 as measured"),
    histogram(5, "speed of frames") } })
e:finish()
