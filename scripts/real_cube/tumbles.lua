-- How a thrown cube bounces, tumbles and slides, predicted from its flight before it touches: friction, restitution and
-- inertia are found by the gradient of whole simulated tosses, and tried on tosses that were not used.
-- A square of half width a; gravity and a are as the camera saw them (its scale is 2 % low: a = 51.2 for 52.4 mm, and
-- things fall with 9.81 a / 52.4 mm = 9.59). Blows, v_n < -0.1 m/s, and slides have a friction of their own.
-- --data FILE reads measured tosses; without it tosses of known parameters are made, with noise.
local sim = require "sim2d"
package.path = (arg[0]:match "^(.*)/" or ".") .. "/files/?.lua;" .. package.path
local tosses = require "tosses"

local e = sim.experiment("Tumbling cube: blows and slides from some tosses, tried on others", {
  data = { "", "FILE.csv of tosses; each is predicted from what the others say" },
  held = { "", "FILE.csv of tosses to predict, from what those of --data say" },
  mu = { 0.0, "friction of slides, if it is known" }, seed = { 2, "of the neighbours the loss is averaged over" } })
local NAMES = { "slide", "blow", "fast", "slow", "inertia" }
local START = { slide = 0.2, blow = 0.15, fast = 0.3, slow = 0.15, inertia = 0.9 }
local SPREAD = { slide = 0.008, blow = 0.008, fast = 0.04, slow = 0.04, inertia = 0.08 }
local real = e.options.data ~= ""
sim.random.seed(e.options.seed)

local function lowest(half, angle) return half * (math.abs(math.cos(angle)) + math.abs(math.sin(angle))) end

-- The state at frame 0 from the frames before a corner reaches the board: x, z + g t^2/2 and theta are lines there.
local function flight(toss, half, gravity)
  local rows, right = {}, { x = {}, z = {}, theta = {} }
  for i = 1, toss.n do
    if toss.z[i + 1] < lowest(half, toss.theta[i + 1]) then break end
    rows[i] = { 1, toss.t[i] }
    right.x[i], right.z[i], right.theta[i] = toss.x[i], toss.z[i] + gravity * toss.t[i] ^ 2 / 2, toss.theta[i]
  end
  local line = {}
  for name, list in pairs(right) do line[name] = sim.linalg.lstsq(sim.array(rows), sim.array(list)) end
  return line
end

local function roll(line, p, n)
  local world = sim.world { dt = tosses.DT, gravity = { 0, -p.gravity }, stepping = "event",
    combine_friction = "min", combine_restitution = "min" } -- the cube's count, the board's are larger
  world:segment { from = { -3, 0 }, to = { 3, 0 }, friction = 9, restitution = 1 }
  local cube = world:box { size = { 2 * p.half, 2 * p.half }, position = { line.x[1], line.z[1] }, angle = line.theta[1],
    velocity = { line.x[2], line.z[2] }, angular_velocity = line.theta[2], mass = 1, inertia = p.inertia * p.half ^ 2 }
  local get = sim.stop_gradient
  world:before_step(function()
    local lever = math.sqrt(2) * p.half * math.sin(get(cube.angle) % (math.pi / 2) - math.pi / 4)
    local speed = get(cube.vy) + get(cube.omega) * lever -- of the lowest corner
    cube.friction = speed < -0.1 and p.blow or p.slide
    cube.restitution = speed < -0.6 and p.fast or p.slow
  end)
  local x, z, theta = { cube.x }, { cube.y }, { cube.angle }
  for i = 2, n do
    world:step()
    x[i], z[i], theta[i] = cube.x, cube.y, cube.angle
  end
  world:close()
  return x, z, theta
end

-- Tosses are chaotic: the loss of one set of parameters is rough, so it is averaged over neighbours. The logarithm
-- keeps a toss that ends elsewhere from ruling: mean of log(1 + mean((dx/10 mm)^2 + (dz/4 mm)^2 + (dtheta/5 deg)^2)).
local function fit(list, neighbours, iterations)
  local rests, shifts, lines = {}, {}, {}
  for i, toss in ipairs(list) do rests[i] = toss.z[toss.n] end
  local half = tosses.median(rests)
  local gravity = tosses.GRAVITY * half / tosses.HALF
  for i, toss in ipairs(list) do lines[i] = flight(toss, half, gravity) end
  for k = 1, neighbours do
    shifts[k] = { half = half, gravity = gravity }
    for _, name in ipairs(NAMES) do shifts[k][name] = neighbours > 1 and sim.random.normal(0, SPREAD[name]) or 0 end
  end
  local function loss(p)
    local sum = 0
    for _, shift in ipairs(shifts) do
      local q = { half = half, gravity = gravity }
      for _, name in ipairs(NAMES) do q[name] = sim.max(p[name] + shift[name], 0.01) end
      if e.options.mu > 0 then q.slide = e.options.mu end
      for i, toss in ipairs(list) do
        local x, z, theta = roll(lines[i], q, toss.n)
        local errors = ((sim.array(x) - toss.x) / 0.01) ^ 2 + ((sim.array(z) - toss.z) / 0.004) ^ 2
          + ((sim.array(theta) - toss.theta) / math.rad(5)) ^ 2
        sum = sum + sim.log(1 + errors:mean())
      end
    end
    return sum / (#list * neighbours)
  end
  local p, value = sim.optimize.minimize(loss, START, { method = "adam", max_iterations = iterations, lower = 0.02,
    upper = 1.5, learning_rate = function(i) return 0.015 * (1 - i / (iterations + 1)) end })
  p.half, p.gravity, p.value = half, gravity, value
  if e.options.mu > 0 then p.slide = e.options.mu end
  return p
end

local TRUTH = { slide = 0.22, blow = 0.17, fast = 0.25, slow = 0.2, inertia = 0.8, half = 0.0512, gravity = 9.585 }
local function made()
  local rows = {}
  for toss = 1, 6 do
    local line = { x = { 0, sim.random.uniform(0.9, 1.2) }, z = { 0.135, 0 },
      theta = { sim.random.uniform(0, 1.5), -sim.random.uniform(3, 5) } }
    local x, z, theta = roll(line, TRUTH, 95)
    for i = 1, 95 do
      rows[#rows + 1] = { toss, i - 1, (i - 1) * tosses.DT, x[i] + sim.random.normal(0, 1e-4),
        z[i] + sim.random.normal(0, 1e-4), theta[i] + sim.random.normal(0, 2e-3) }
    end
  end
  return tosses.through_file(rows, tosses.planar)
end

local all = real and tosses.planar(e.options.data) or made()
local train, held = tosses.halves(all)
if e.options.held ~= "" then train, held = all, tosses.planar(e.options.held) end
local p = not (real and e.options.held == "") and fit(train, real and 8 or 1, real and 30 or 60)
local rows, errors, right = {}, { {}, {}, {} }, 0
for i, toss in ipairs(p and held or all) do
  local q = p
  if not p then
    local others = { table.unpack(all) }
    table.remove(others, i)
    q = fit(others, 8, 30)
  end
  local x, z, theta = roll(flight(toss, q.half, q.gravity), q, toss.n)
  local function face(angle) return math.floor(angle / (math.pi / 2) + 0.5) end
  local same = face(theta[toss.n]) == face(toss.theta[toss.n])
  right = right + (same and 1 or 0)
  errors[1][i], errors[2][i] = 1000 * tosses.rmse(x, toss.x), 1000 * tosses.rmse(z, toss.z)
  errors[3][i] = math.deg(tosses.rmse(theta, toss.theta))
  rows[i] = { toss.toss, q.slide, q.blow, q.fast, q.slow, q.inertia, errors[1][i], errors[2][i], errors[3][i], same }
end
sim.table { columns = { "toss", { "slide", format = "%.3f" }, { "blow", format = "%.3f" }, { "fast", format = "%.3f" },
  { "slow", format = "%.3f" }, { "inertia", format = "%.3f" }, { "x, mm", format = "%.1f" }, { "z, mm", format = "%.2f" },
  { "theta, deg", format = "%.2f" }, "face" }, table.unpack(rows) }
for i, bar in ipairs { 13.7, 3.9, 4.9 } do e:below(("median %d"):format(i), bar, tosses.median(errors[i])) end
e:above("faces", #rows - 1, right)
if p and not real then for _, n in ipairs(NAMES) do e:equal(n, TRUTH[n], p[n], 0.02) end end
e:finish()
