-- A disc with backspin falls on a floor: when does it grip, and when does it come back? The disc arrives with the speed
-- v along the floor and the speed w downwards. Its slip speed is u = v + r omega, which includes the backspin. Friction
-- reduces u as far as the impulse of the impact, m (1 + e) w, allows. Sliding friction changes v by mu (1 + e) w, and u
-- by three times as much (a disc has I = m r^2 / 2). Hence
--     it grips where      mu (1 + e) w >= u / 3
--     it comes back where min(mu (1 + e) w, u / 3) > v
-- The bounds of both regions are curves in the plane of friction mu and restitution e. A sweep draws this plane with
-- one run per pixel.
--     tools/run scripts/parallel/phase_diagram.lua --map map.html     each pixel opens its run in the player
local sim = require "sim2d"

local e = sim.experiment("A disc with backspin: friction and restitution", {
  points = { 16, "of each axis" }, map = { "", "FILE.html: the robustness map" } })
local V, W, SPIN, RADIUS = 1, 2, 3.5, 0.1 -- units: m/s, m/s, m/s (at the rim), m

local function axis(n)
  local list = {}
  for i = 1, n do list[i] = (i - 0.5) / n end
  return list
end

local n = e.options.points
local sweep = sim.sweep {
  grid = { mu = axis(n), e = axis(n) },
  order = { "mu", "e" },
  common = { v = V, w = W, spin = SPIN, radius = RADIUS },
  record = e.options.map ~= "" and e.options.map .. ".runs" or nil,
  run = function(p, _, c)
    local world = sim.world { dt = 0.005, gravity = { 0, 0 } }
    world:box { type = "static", position = { 0, -0.5 }, size = { 10, 1 }, friction = p.mu, restitution = p.e }
    local disc = world:circle { radius = c.radius, position = { 0, c.radius + 0.031 }, velocity = { c.v, -c.w },
      angular_velocity = c.spin / c.radius, friction = p.mu, restitution = p.e }
    world:step(20)
    local slip = disc.vx + c.radius * disc.omega
    return { vx = disc.vx, bounce = disc.vy / c.w, slip = slip, grips = math.abs(slip) < 1e-6, back = disc.vx < 0 }
  end,
}

-- Compares the two curves with the runs and counts the pixels on the wrong side.
local u = V + SPIN
local wrong_grip, wrong_back, speed, bounce = 0, 0, 0, 0
for _, row in ipairs(sweep.rows) do
  local most = row.mu * (1 + row.e) * W
  local change = math.min(most, u / 3)
  if row.grips ~= (most >= u / 3) then wrong_grip = wrong_grip + 1 end
  if row.back ~= (change > V) then wrong_back = wrong_back + 1 end
  speed = math.max(speed, math.abs(row.vx - (V - change)))
  bounce = math.max(bounce, math.abs(row.bounce - row.e))
end
e:equal("runs", n * n, #sweep.rows)
e:equal("failed", 0, #sweep.failures)
e:equal("on the wrong side of: it grips", 0, wrong_grip)
e:equal("on the wrong side of: it comes back", 0, wrong_back)
e:equal("speed afterwards, largest error, m/s", 0, speed, 1e-9)
e:equal("restitution, largest error", 0, bounce, 1e-9)

if e.options.map ~= "" then
  assert(sweep:map { x = "mu", y = "e", value = "vx", path = e.options.map, title = "Speed after the impact, m/s" })
end

local plot = { title = "A disc with backspin after its impact", x = { label = "friction", range = { 0, 1 } },
  y = { label = "restitution", range = { 0, 1 } }, legend = "right" }
for _, phase in ipairs { { "slides on", false, false }, { "slides, comes back", false, true },
  { "grips, comes back", true, true } } do
  local series = { {}, {}, kind = "scatter", label = phase[1] }
  for _, row in ipairs(sweep.rows) do
    if row.grips == phase[2] and row.back == phase[3] then
      series[1][#series[1] + 1], series[2][#series[2] + 1] = row.mu, row.e
    end
  end
  if #series[1] > 0 then plot[#plot + 1] = series end
end
plot[#plot + 1] = { function(mu) return V / (mu * W) - 1 end, V / (2 * W), 1, label = "comes back" }
plot[#plot + 1] = { function(mu) return u / (3 * mu * W) - 1 end, u / (6 * W), 1, label = "grips", dash = true }
e:figure(sim.plot(plot))
e:finish()
