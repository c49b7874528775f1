-- The first impact of a toss is evaluated without simulation: lines through the frames before and after the impact give
-- the velocities, and the jumps of the velocities give the impulse p per mass. Let r be the vector from the centre to
-- the corner that strikes. Then e = -u_n+ / u_n-, p_t / p_n <= mu (with equality if the corner keeps sliding), and k =
-- I / (m a^2) = (r x p) / (a^2 jump of omega). --data FILE reads measured tosses. Without it, the script makes tosses
-- with known parameters and noise.
local sim = require "sim2d"
local tosses, square = require "tosses", require "square"

local e = sim.experiment("First impacts: restitution, friction and inertia of jumps", {
  data = { "", "FILE.csv of tosses" }, after = { 4, "frames after the impact" } })
local real = e.options.data ~= ""
sim.random.seed(3)
local list = real and tosses.planar(e.options.data) or square.made(60)
local half, gravity = square.scale(list)

-- Fits lines to the frames first to last. Returns {value, rate} at time 0 without gravity, for x, z and theta.
local function lines(toss, first, last)
  local rows, right = {}, { x = {}, z = {}, theta = {} }
  for i = first, last do
    rows[#rows + 1] = { 1, toss.t[i] }
    for name, to in pairs(right) do
      to[#to + 1] = toss[name][i] + (name == "z" and gravity * toss.t[i] ^ 2 / 2 or 0)
    end
  end
  rows = sim.array(rows)
  local z = right.z
  for name, to in pairs(right) do right[name] = sim.linalg.lstsq(rows, sim.array(to)) end
  return right, (rows:mm(right.z) - z):norm() / math.sqrt(#z)
end

local rows, all = {}, { {}, {}, {}, {} }
for _, toss in ipairs(list) do
  local before = square.flight(toss, half, gravity)
  local after, error = lines(toss, before.frames + 3, before.frames + 2 + e.options.after)
  local t = (before.z[1] - after.z[1]) / (after.z[2] - before.z[2]) -- time at which the two lines of z intersect
  local z = before.z[1] + before.z[2] * t - gravity * t ^ 2 / 2
  local angle = (before.theta[1] + before.theta[2] * t) % (math.pi / 2) - math.pi / 4
  local lever, height = math.sqrt(2) * half * math.sin(angle), math.sqrt(2) * half * math.cos(angle)
  local un, ut = before.z[2] - gravity * t + before.theta[2] * lever, before.x[2] + before.theta[2] * height
  local un_after, ut_after = after.z[2] - gravity * t + after.theta[2] * lever, after.x[2] + after.theta[2] * height
  local pt, pn, jump = after.x[2] - before.x[2], after.z[2] - before.z[2], after.theta[2] - before.theta[2]
  -- Three kinds of impact are excluded: flat landings, which are two impacts; second impacts within the frames; and
  -- impacts that stop sliding, whose ratio is below mu.
  if math.abs(angle) < 0.6 and error < 3e-4 and ut_after / ut > 0.1 then
    local values = { -un_after / un, -pt / pn * (ut > 0 and 1 or -1), (lever * pn + height * pt) / (jump * half ^ 2),
      1000 * (height - z) }
    for i, value in ipairs(values) do table.insert(all[i], value) end
    rows[#rows + 1] = { ("%g"):format(toss.toss), -un, math.abs(ut), table.unpack(values) }
  end
end
local columns = { "toss", "u_n, m/s", "u_t, m/s", "e", "p_t / p_n", "k", "depth, mm" }
for i = 2, #columns do columns[i] = { columns[i], format = "%.3f" } end
sim.table { columns = columns, table.unpack(rows) }

local median = {}
for i = 1, 4 do median[i] = tosses.median(all[i]) end
print(("half width %.2f mm for %.2f: the camera's scale is %.1f %% low"):format(1000 * half, 1000 * tosses.HALF,
  100 * (1 - half / tosses.HALF)))
e:above("impacts", real and 3 or 10, #rows)
if real then
  e:below("p_t / p_n, median (slides: 0.2)", 0.2, median[2])
else
  e:equal("restitution, median", square.TRUTH.fast, median[1], 0.02)
  e:equal("p_t / p_n", square.TRUTH.impact, median[2], 0.01)
  e:equal("I / (m a^2)", square.TRUTH.inertia, median[3], 0.04)
  e:equal("depth, mm", 0, median[4], 0.2)
end
local plot = { title = "First impacts", x = "approach of the corner, m/s", y = { label = "", range = { 0, 0.55 } } }
local approach = {}
for i, row in ipairs(rows) do approach[i] = row[2] end
plot[1] = { approach, all[1], kind = "scatter", label = "restitution" }
plot[2] = { approach, all[2], kind = "scatter", marker = "square", label = "p_t / p_n" }
e:figure(sim.plot(plot))
e:finish()
