-- A cube that tumbles in a plane is modelled as a square above a board. The script computes its flight from measured
-- frames, and simulates the rest of the toss. If you run the script by itself, it simulates one toss and prints its
-- distance from the measured frames.
local sim = require "sim2d"
local tosses = require "tosses"

local square = {}
local MARGIN = 0.001 -- allowance in m for noise, and for the fall by gravity within a frame

-- Returns the scale of the camera. Resting cubes show half of their width, and gravity scales equally.
function square.scale(list)
  local rests = {}
  for i, toss in ipairs(list) do rests[i] = toss.z[toss.n] end
  local half = tosses.median(rests)
  return half, tosses.GRAVITY * half / tosses.HALF
end

local function clearance_at(z, theta, half) -- clearance of the lowest corner
  return z - half * (math.abs(math.cos(theta)) + math.abs(math.sin(theta)))
end

-- Returns the state at frame 0 from the flight, where x, z + g t^2/2 and theta are lines, each given as {value, rate}.
-- After the last frame used, the lowest corner would reach the board at its present speed.
function square.flight(toss, half, gravity)
  local rows, right, before = {}, { x = {}, z = {}, theta = {} }, math.huge
  for i = 1, toss.n do
    local clearance = clearance_at(toss.z[i], toss.theta[i], half)
    rows[i] = { 1, toss.t[i] }
    right.x[i], right.z[i], right.theta[i] = toss.x[i], toss.z[i] + gravity * toss.t[i] ^ 2 / 2, toss.theta[i]
    if i > 1 and 2 * clearance - before < MARGIN then break end
    before = clearance
  end
  if #rows < 4 then error(("toss %g: %d frames of flight; 4 are needed"):format(toss.toss, #rows), 0) end
  local line = { frames = #rows }
  for name, list in pairs(right) do line[name] = sim.linalg.lstsq(sim.array(rows), sim.array(list)) end
  line.clearance = clearance_at(line.z[1], line.theta[1], half)
  return line
end

-- Returns the tosses whose flight begins above the board, up to noise, because a start inside the board cannot be
-- simulated. Also returns a text for each excluded toss.
function square.flying(list)
  local half, gravity = square.scale(list)
  local kept, out = {}, {}
  for _, toss in ipairs(list) do
    local clearance = square.flight(toss, half, gravity).clearance
    if clearance < -MARGIN then
      out[#out + 1] = ("toss %g: its flight begins %.1f mm inside of the board"):format(toss.toss, -1000 * clearance)
    else
      kept[#kept + 1] = toss
    end
  end
  return kept, out
end

-- Simulates n frames from a line of flight. Impacts (v_n < -0.1 m/s) and slides have different friction. Fast impacts
-- (v_n < -0.6 m/s) and slow impacts have different restitution. `inertia` is I / (m half^2).
function square.roll(line, p, n)
  local world = sim.world { dt = tosses.DT, gravity = { 0, -p.gravity }, stepping = "event",
    combine_friction = "min", combine_restitution = "min" } -- applies the smaller values of the cube
  world:segment { from = { -3, 0 }, to = { 3, 0 }, friction = 9, restitution = 1 }
  local mass = p.mass or 0.37
  local cube = world:box { size = { 2 * p.half, 2 * p.half }, position = { line.x[1], line.z[1] },
    velocity = { line.x[2], line.z[2] }, angle = line.theta[1], angular_velocity = line.theta[2], mass = mass,
    inertia = mass * p.inertia * p.half ^ 2 }
  local get = sim.stop_gradient
  world:before_step(function()
    local lever = math.sqrt(2) * p.half * math.sin(get(cube.angle) % (math.pi / 2) - math.pi / 4)
    local speed = get(cube.vy) + get(cube.omega) * lever -- normal speed of the lowest corner
    cube.friction = speed < -0.1 and p.impact or p.slide
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

-- The loss is log(1 + mean((dx/10 mm)^2 + (dz/4 mm)^2 + (dtheta/5 deg)^2)). The logarithm prevents a toss with a
-- different end from dominating the sum.
function square.loss(toss, line, p)
  local x, z, theta = square.roll(line, p, toss.n)
  local errors = ((sim.array(x) - toss.x) / 0.01) ^ 2 + ((sim.array(z) - toss.z) / 0.004) ^ 2
    + ((sim.array(theta) - toss.theta) / math.rad(5)) ^ 2
  return sim.log(1 + errors:mean())
end

-- Makes tosses with known parameters and with the noise of a camera, or a fraction of this noise. The tosses are
-- written to a file and read back.
square.TRUTH = { slide = 0.22, impact = 0.17, fast = 0.25, slow = 0.2, inertia = 0.8, half = 0.0512, gravity = 9.585 }
function square.made(count, noise)
  local rows, normal, uniform, part = {}, sim.random.normal, sim.random.uniform, noise or 1
  for toss = 1, count do
    local line = { x = { 0, uniform(0.9, 1.2) }, z = { 0.135, 0 }, theta = { uniform(0, 1.5), -uniform(3, 5) } }
    local x, z, theta = square.roll(line, square.TRUTH, 95)
    for i = 1, 95 do
      rows[#rows + 1] = { toss, i - 1, (i - 1) * tosses.DT, x[i] + normal(0, part * 1e-4), z[i] + normal(0, part * 1e-4),
        theta[i] + normal(0, part * 2e-3) }
    end
  end
  return tosses.through_file(rows, tosses.planar)
end

if sim.is_main() then
  local toss = square.made(1)[1]
  local line = square.flight(toss, square.TRUTH.half, square.TRUTH.gravity)
  local x, z = square.roll(line, square.TRUTH, toss.n)
  print(("from %d frames of flight: x is off by %.2f mm (rms), z by %.2f mm"):format(line.frames,
    1000 * tosses.rmse(x, toss.x), 1000 * tosses.rmse(z, toss.z)))
end
return square
