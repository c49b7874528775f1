-- A rod pushed along a rough floor jams: if the coefficient of friction exceeds 4/3, no finite force can hold up its
-- tip. The tip of the rod is at the origin and slides towards -x, the direction of the push. The rod has the half
-- length 1 m and leans by theta. With a force N upwards and mu N along the floor, the tip accelerates upwards by
--     A N - g,    A = W_nn - mu W_nt,    W_nn = (1 + 3 cos^2)/m,  W_nt = 3 sin cos / m,
-- so N = g / A grows without bound as mu approaches W_nn / W_nt. The smallest value of this ratio is 4/3, at tan
-- theta = 2. For larger mu, N > 0 only accelerates the tip into the floor (Painleve 1895). A time step uses impulses
-- instead of forces, and has a solution: the tip sticks immediately, with an impulse like that of an impact,
--     l_n = (v W_nt + g dt W_tt) / (W_nn W_tt - W_nt^2),  which does not vanish with dt.
local sim = require "sim2d"

local e = sim.experiment "Painleve's rod"
local g, m, v = 9.81, 1, 1

-- Makes one step of length dt, with the rod pulled upwards by `lift` N. Returns the rod, its normal impulse and the
-- world.
local function step(theta, mu, dt, lift)
  local world = sim.world { stepping = "speculative", dt = dt, gravity = { 0, -g } }
  world:segment { from = { -9, 0 }, to = { 9, 0 }, friction = mu }
  local s, c = math.sin(theta), math.cos(theta)
  local rod = world:segment { type = "dynamic", from = { 0, 0 }, to = { 2 * c, 2 * s }, mass = m, inertia = m / 3,
    friction = mu, velocity = { -v, 0 } }
  rod:apply_force { 0, lift or 0 }
  world:step()
  local impulse = 0
  for _, contact in ipairs(rod:contacts()) do impulse = impulse + contact.normal_impulse end
  return rod, impulse, world
end

local theta = math.atan(2)
local function critical(angle) return (1 + 3 * math.cos(angle) ^ 2) / (3 * math.sin(angle) * math.cos(angle)) end
local function force(mu) return g / (1 + 3 * math.cos(theta) ^ 2 - mu * 3 * math.sin(theta) * math.cos(theta)) end

for _, mu in ipairs { 0.5, 1.2, 1.32 } do
  local _, impulse = step(theta, mu, 1e-5)
  e:equal(("mu = %.2f: N = g / A, N"):format(mu), force(mu), impulse / 1e-5, 1e-9 * force(mu))
end
for _, dt in ipairs { 1e-3, 1e-6 } do
  local rod, impulse, world = step(theta, 1.5, dt)
  e:equal(("mu = 1.50, dt = %.0e: impulse, N s"):format(dt), (1.2 * v + 3.4 * g * dt) / 4, impulse, 1e-9)
  e:equal("  the tip slides at, m/s", 0, rod.vx + rod.omega * rod.y, dt)
  e:below("  solved to", 1e-9, world:residuals().scaled)
end

-- If the rod is pulled upwards by 2 m g, the tip can separate by itself. Beyond 4/3 two solutions are consistent:
-- separation, and sticking with an impulse. The engine chooses separation.
local parted, none = step(theta, 1.5, 1e-5, 2 * m * g)
e:equal("mu = 1.50, pulled up: impulse, N s", 0, none)
e:equal("  rises at, m/s", g * 1e-5, parted.vy, 1e-12)

-- Bisection finds the least friction at which the impulse does not vanish with dt. This friction lies on the curve (1 +
-- 3 cos^2)/(3 sin cos).
local angles, found = {}, {}
for i = 1, 9 do
  angles[i] = math.deg(theta) + 6 * (i - 6)
  local jam = 3 * v * math.sin(math.rad(angles[i])) * math.cos(math.rad(angles[i])) / 4
  local lo, hi = 0.5, 8
  for _ = 1, 30 do
    local mu = (lo + hi) / 2
    local _, impulse = step(math.rad(angles[i]), mu, 1e-8)
    if impulse > jam / 2 then hi = mu else lo = mu end
  end
  found[i] = lo
end
local worst = 0
for i, angle in ipairs(angles) do worst = math.max(worst, math.abs(found[i] - critical(math.rad(angle)))) end
e:equal("critical friction at 9 angles, largest error", 0, worst, 1e-5)
e:equal("critical friction at tan theta = 2", 4 / 3, found[6], 1e-5)

local mus, forces, short = {}, {}, {}
for i = 1, 36 do
  mus[i] = 0.5 + i / 30
  forces[i] = select(2, step(theta, mus[i], 1e-3)) / (g * 1e-3)
  short[i] = select(2, step(theta, mus[i], 1e-4)) / (g * 1e-4)
end
e:figure(sim.plot.grid { title = "Painleve's rod", columns = 1, height = 680,
  { title = "Mean force of the first step, tan theta = 2", x = "friction", y = { label = "N / (m g)", log = true },
    { mus, forces, label = "dt = 1 ms", kind = "scatter" }, { mus, short, label = "dt = 0.1 ms", kind = "scatter" },
    { function(mu) return force(mu) / g end, 0.5, 1.3333, label = "1 / (m A)" },
    { x = 4 / 3, label = "4/3" } },
  { title = "Where the rod jams", x = "angle, degrees", y = "friction",
    { function(angle) return critical(math.rad(angle)) end, 28, 85, label = "W_nn / W_nt" },
    { angles, found, label = "found", kind = "scatter" }, { y = 4 / 3, label = "4/3" } } })
e:finish()
