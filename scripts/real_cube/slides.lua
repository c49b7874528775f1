-- A thrown cube slides to rest: friction is fitted to half of the tosses and then predicts the other half. In each step
-- of h = 1/148 s, the engine solves v+ = max(0, v - mu g h - (c/m) v+ h), x+ = x + h v+. --data FILE reads measured
-- slides. Without it, the script makes slides with a known mu and with errors like the measured errors.
local sim = require "sim2d"
local tosses = require "tosses"

local e = sim.experiment("Sliding cube: friction from half of the tosses, tried on the others", {
  data = { "", "FILE.csv of slides; half of its groups are held out" },
  held = { "", "FILE.csv of slides to predict, in place of that half" } })
local FIRST, LAST = 4, 10 -- first and last frame used for the speed; in earlier frames the cube still settles
local SIZE, MASS = 2 * tosses.HALF, 0.37 -- units: m, kg; the mass is arbitrary because drag is given as c/m

-- Returns the positions in the first n frames.
local function slide(p, speed, n)
  local world = sim.world { dt = tosses.DT, gravity = { 0, -tosses.GRAVITY } }
  world:segment { from = { -1, 0 }, to = { 9, 0 }, friction = p.mu }
  local cube = world:box { size = { SIZE, SIZE }, position = { 0, SIZE / 2 }, velocity = { speed, 0 }, mass = MASS,
    friction = p.mu, contact_viscosity = (p.drag or 0) * MASS / 2 }
  local x = { 0 }
  for _ in world:steps((n - 1.5) * tosses.DT) do x[#x + 1] = cube.x end
  world:close()
  return x
end

-- Returns the speed and offset of a toss from frames FIRST to LAST. As long as the cube slides, its positions are
-- linear in the initial speed, so one correction of a guess is exact.
local function starting(p, toss)
  if toss.n <= LAST then error(("toss %g has %d frames, not more than %d"):format(toss.toss, toss.n, LAST), 0) end
  local guess = (toss.x[LAST] - toss.x[FIRST]) / ((LAST - FIRST) * tosses.DT) + 0.1
  local function part(speed) return sim.array { table.unpack(slide(p, speed, LAST), FIRST) } end
  local x = part(guess)
  local error, a = -x + { table.unpack(toss.x, FIRST, LAST) }, part(guess + 1) - x
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

-- Minimises the mean of the rms errors of the tosses, which gives less weight to single bad tosses than a mean of
-- squares.
local function fit(list, start, from_frames)
  return sim.optimize.minimize(function(p)
    local sum = 0
    for _, toss in ipairs(list) do
      local error = sim.array(predict(p, toss, from_frames)) - toss.x
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
    local row = { i, i, 0, n, v * sim.random.normal(1, 0.02) } -- measured speeds are less accurate than positions
    for k, x in ipairs(slide(TRUTH, v, n)) do row[5 + k] = x + sim.random.normal(0, 5e-5) end
    rows[i] = row
  end
  return tosses.through_file(rows, tosses.slides)
end

sim.random.seed(2)
local real = e.options.data ~= ""
local all = real and tosses.slides(e.options.data) or made()
local train, held = tosses.halves(all)
if e.options.held ~= "" then train, held = all, tosses.slides(e.options.held) end
print(("%d tosses to learn from, %d held out; errors in mm, rest: after frame %d"):format(#train, #held, LAST))
local rows, found, errors, whole, rest = {}, {}, {}
for i, model in ipairs { { "v0 as measured, mu = 0.21" }, { "v0 as measured", { mu = 0.3 } },
  { "v0 as measured, drag", { mu = 0.3, drag = 0.1 } }, { "speed of frames", { mu = 0.3 }, true },
  { "speed of frames, drag", { mu = 0.3, drag = 0.1 }, true } } do
  local p = model[2] and fit(train, model[2], model[3]) or { mu = 0.21 }
  whole, rest = {}, {}
  for k, toss in ipairs(held) do
    local x = predict(p, toss, model[3])
    whole[k], rest[k] = 1000 * tosses.rmse(x, toss.x), 1000 * tosses.rmse(x, toss.x, LAST + 1)
  end
  found[i], errors[i] = p, whole
  local function p90(list) return tosses.quantile(list, 0.9) end
  rows[i] = { model[1], p.mu, p.drag or 0, tosses.median(whole), p90(whole), tosses.median(rest), p90(rest) }
end
local columns = { "model", "mu", "drag, 1/s", "median", "p90", "rest: median", "p90" }
for i = 2, #columns do columns[i] = { columns[i], format = i == 2 and "%.4f" or "%.2f" } end
sim.table { columns = columns, table.unpack(rows) }
e:below("median rmse, mm (v0 as measured, mu 0.21: 2.24)", real and 2.24 or 0.5, tosses.median(whole))
e:below("the same after the frames used, mm", real and 2.24 or 0.5, tosses.median(rest))
if not real then -- only the sum is well determined; at 0.4 m/s, 0.1/s of drag corresponds to 0.004 of mu
  local function slowing(q) return q.mu * tosses.GRAVITY + q.drag * 0.4 end
  e:equal("deceleration at 0.4 m/s, m/s^2", slowing(TRUTH), slowing(found[5]), 0.01)
  e:equal("mu", TRUTH.mu, found[5].mu, 0.004)
  e:equal("drag, 1/s", TRUTH.drag, found[5].drag, 0.1)
end

local bins = sim.linspace(0, tosses.quantile(errors[2], 1), 25):table()
local lines, dots = { {}, {}, label = "predicted", color = "#c0392b" },
  { {}, {}, kind = "scatter", marker = "circle", label = "measured", color = "#222222" }
for k = 1, math.min(#held, 5) do
  local x, place = predict(found[5], held[k], true), #lines[1]
  for i = 1, held[k].n + 1 do -- nan makes a gap before the next curve
    lines[1][place + i], lines[2][place + i] = (i - 1) * tosses.DT, x[i] or 0 / 0
    dots[1][place + i], dots[2][place + i] = (i - 1) * tosses.DT, i % 3 == 1 and held[k].x[i] or 0 / 0
  end
end
e:figure(sim.plot.grid { columns = 1, width = 640, height = 640,
  { title = "Slides held out", x = "time, s", y = "way, m", legend = "above", dots, lines },
  { title = "Their errors", x = "rmse, mm", y = "tosses", legend = "inside",
    { errors[2], bins = bins, kind = "histogram", label = "v0 as measured" },
    { errors[5], bins = bins, kind = "histogram", label = "speed of frames" } } })
e:finish()
