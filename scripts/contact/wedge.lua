-- Two jaws squeeze a ball out of their corner or hold it, depending on the tangent of half their angle. The jaws have
-- the angle 2 phi between them, are hinged at the corner, and are closed by the torque tau. They touch a ball of radius
-- r at the distance d = x cos phi, with x = r / sin phi. With x'' sin = -x cos phi'', the equations of the first step
-- are
--     m x'' = 2 N (sin - mu cos),   I phi'' = N d - tau
--     x'' = tau / (m d / (2 (sin - mu cos)) + I tan / x)   for mu < tan phi, else 0: the ball is caught.
-- Fixed walls and gravity do not determine the force: the ball is at rest with any N and T for which
--     2 (N sin + T cos) = m g,  |T| <= mu N;   m g / (2 (sin + mu cos)) <= N <= m g / (2 (sin - mu cos)),
-- and for mu >= tan phi N has no upper limit, because the walls jam. A solver may return any such N, but N must be
-- bounded, and equal in every run.
local sim = require "sim2d"

local e = sim.experiment "A ball between jaws, and in a groove"
local phi, r, m, g, tau = math.rad(20), 0.1, 1, 9.81, 0.5
local s, c = math.sin(phi), math.cos(phi)
local x, inertia = r / s, 0.02
local d = x * c

-- Returns the acceleration in the first step, and the force of a jaw on the ball. The ball moves by a dt^2 / 2 in this
-- step, which affects both values.
local function squeeze(mu)
  local world = sim.world { gravity = { 0, 0 }, dt = 1e-4 }
  local ball = world:circle { radius = r, position = { x, 0 }, mass = m, friction = mu }
  for _, side in ipairs { -1, 1 } do
    local jaw = world:segment { type = "dynamic", from = { 0, 0 }, to = { 0.6 * c, side * 0.6 * s }, mass = 1e-3,
      inertia = inertia - 1e-3 * 0.3 ^ 2, friction = mu } -- `inertia` is relative to the hinge
    world:hinge { jaw, nil, anchor = { 0, 0 } }
    jaw:apply_torque(-side * tau)
  end
  world:step()
  return ball.vx / world.dt, ball:contacts()[1].normal_impulse / world.dt, world:residuals().scaled
end

local function exact(mu)
  local out = s - mu * c
  if out <= 0 then return 0, tau / d end
  local a = tau / (m * d / (2 * out) + inertia * (s / c) / x)
  return a, m * a / (2 * out)
end

-- Returns the normal force of one wall on a ball in a groove between fixed walls, after half a second.
local function lie(mu)
  local world = sim.world {}
  for _, side in ipairs { -1, 1 } do
    world:segment { from = { 0, 0 }, to = { side * s, c }, friction = mu }
  end
  local ball = world:circle { radius = r, position = { 0, x }, mass = m, friction = mu }
  world:run { steps = 60, progress = false }
  return ball:contacts()[1].normal_impulse / world.dt / (m * g), math.abs(ball.vy), world:stats().unsolved
end

local mus, found, forces, low, high = {}, {}, {}, {}, {}
local worst, worst_force, residual, moves, outside, differ = 0, 0, 0, 0, 0, 0
for i = 0, 30 do
  local mu = i * 0.02
  local a, force, scaled = squeeze(mu)
  local a_exact, force_exact = exact(mu)
  worst, worst_force = math.max(worst, math.abs(a - a_exact)), math.max(worst_force, math.abs(force - force_exact))
  residual = math.max(residual, scaled)
  local n, speed, unsolved = lie(mu)
  local lo, hi = 1 / (2 * (s + mu * c)), s > mu * c and 1 / (2 * (s - mu * c)) or 10
  outside = math.max(outside, lo - n, n - hi)
  moves, differ = math.max(moves, speed, unsolved), math.max(differ, math.abs(n - lie(mu)))
  mus[i + 1], found[i + 1], forces[i + 1], low[i + 1], high[i + 1] = mu, a, n, lo, hi
end
e:equal("jaws: acceleration, m/s^2, largest error", 0, worst, 1e-6)
e:equal("jaws: force, N, largest error", 0, worst_force, 1e-6)
e:below("jaws: residual", 1e-9, residual)
local lo, hi = 0, 1
for _ = 1, 40 do
  local mu = (lo + hi) / 2
  if squeeze(mu) > 1e-7 then lo = mu else hi = mu end
end
e:equal("jaws: least friction that holds, tan 20 degrees", math.tan(phi), lo, 1e-6)
e:below("groove: speed after half a second, m/s", 1e-9, moves)
e:below("groove: N outside of what is possible by, m g", 1e-9, outside)
e:equal("groove: N differs when run again by, m g", 0, differ)
e:figure(sim.plot.grid { columns = 1, height = 680,
  { title = "Jaws at 40 degrees: the ball is thrown out or caught", x = "friction", y = "acceleration, m/s²",
    { exact, 0, 0.6, label = "exact" }, { mus, found, kind = "scatter", label = "found" },
    { x = math.tan(phi), label = "tan 20°" } },
  { title = "A ball in a groove: forces that are possible", x = "friction",
    y = { label = "N / (m g)", range = { 0, 6 } },
    { mus, low = low, high = high, kind = "band", label = "possible" },
    { mus, forces, kind = "scatter", label = "found" }, { x = math.tan(phi), label = "tan 20°" } } })
e:finish()
