-- Four kinds of plots in a grid: bounces with notes, landing points of a hundred throws, the phase portrait of a
-- pendulum with its vector field, and the decrease of errors with the step length. --out FILE (.svg or .png) writes the
-- figure.
local sim = require "sim2d"

local options = sim.options { out = { "", "FILE.svg or FILE.png: where the picture goes" },
  dark = { false, "light on dark" } }

local G = 9.81 -- m/s^2

local function bounces()
  local world = sim.world { dt = 1 / 240 }
  world:segment { from = { -1, 0 }, to = { 1, 0 }, restitution = 0.8 }
  local ball = world:circle { radius = 0.1, position = { 0, 1 }, restitution = 0.8 }
  local t, y = {}, {}
  for now in world:steps(3) do
    t[#t + 1], y[#y + 1] = now, ball.y - 0.1
  end
  return sim.plot { title = "Bounces", x = "time, s", y = "height, m", { t, y }, { y = 0.9 * 0.8 ^ 2, label = "e² h" },
    { x = 0.43, y = 0, text = "hits" } }
end

local function throws()
  local world = sim.world { dt = 1 / 240 }
  local balls, distances = {}, {}
  for i = 1, 400 do
    balls[i] = world:circle { radius = 0.05, position = { 0, 100 * i },
      velocity = { sim.random.normal(5, 0.6), sim.random.normal(5, 0.6) } }
  end
  for _ in world:steps(3) do
    for i, ball in ipairs(balls) do
      if not distances[i] and ball.y < 100 * i then distances[i] = ball.x end
    end
  end
  return sim.plot { title = "Throws", x = "distance, m", y = { label = "throws", range = { 0, 70 } }, { distances, kind = "histogram" },
    { x = 2 * 5 * 5 / G, label = "mean" } }
end

-- A bob on a thin rod of length one metre, with a damping torque.
local DAMPING = 0.35 -- N m s
local function pendulum(dt, angle, rate, seconds)
  local world = sim.world { dt = dt }
  local bob = world:circle { radius = 0.1, mass = 1, inertia = 1e-3, angle = angle,
    position = { math.sin(angle), -math.cos(angle) }, angular_velocity = rate,
    velocity = { rate * math.cos(angle), rate * math.sin(angle) } }
  world:hinge { bob, anchor = { 0, 0 } }
  world:before_step(function() bob:apply_torque(-DAMPING * bob.angular_velocity) end)
  local angles, rates = {}, {}
  for _ in world:steps(seconds) do
    angles[#angles + 1], rates[#rates + 1] = bob.angle, bob.angular_velocity
  end
  return angles, rates
end

local function portrait()
  local a, u = pendulum(1 / 240, 2.8, 0, 8)
  local b, v = pendulum(1 / 240, -2, 6.6, 8)
  return sim.plot { title = "Pendulum", x = "angle φ, rad", y = "rate ω, rad/s",
    { function(phi, omega) return omega, -G * math.sin(phi) - DAMPING * omega end, kind = "field" },
    { a, u, kind = "phase", label = "let go" }, { b, v, kind = "phase", label = "pushed" } }
end

local function errors()
  local steps, found = { 1 / 30, 1 / 60, 1 / 120, 1 / 240, 1 / 480, 1 / 960 }, {}
  local function last(dt)
    local angles = pendulum(dt, 1, 0, 0.5)
    return angles[#angles]
  end
  local exact = 2 * last(1 / 15360) - last(1 / 7680) -- first-order Richardson extrapolation
  for i, dt in ipairs(steps) do found[i] = math.abs(last(dt) - exact) end
  return sim.plot { title = "Error", x = { label = "step", unit = "s", log = true }, y = { label = "angle", unit = "rad", log = true },
    { steps, found, kind = "scatter", label = "measured" },
    { function(dt) return found[4] * dt / steps[4] end, 1 / 1100, 1 / 26, label = "order 1" } }, found
end

local order, found = errors()
for i = 1, #found - 1 do print(("error %.2e rad; half the step: %.2f times less"):format(found[i], found[i] / found[i + 1])) end
local plot = sim.plot.grid { title = options.out ~= "" and "Four kinds of plots" or nil, dark = options.dark, bounces(), throws(), portrait(), order }
if options.out ~= "" then
  assert(plot:save(options.out))
  print("wrote " .. options.out)
else
  print(("a picture of %d kB; --out FILE.svg writes it"):format(#plot:svg() // 1024))
end
