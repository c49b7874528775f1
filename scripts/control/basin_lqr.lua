-- From which states can a regulator with a limited force recover a pole? While the pole falls, x+ = A x + B u has one
-- eigenvalue l > 1, with l - 2 + 1 / l = (w h)^2 for a pole that falls at the rate w. Along its left eigenvector the
-- state is one number
--     z+ = l z + b u,    |u| <= U,
-- which grows for any u once |z| > |b| U / (l - 1). To first order, no law can therefore recover states outside the
-- strip between two lines. An LQR that returns the cart quickly spends its force on this and recovers three quarters of
-- the strip. The lower the cost of force, the smaller the basin. An LQR that returns the cart slowly recovers nearly
-- the whole strip.
--     tools/run scripts/control/basin_lqr.lua --map map.html     each pixel opens its run in the player
local sim = require "sim2d"

local e = sim.experiment("Basins of attraction of LQR on a cart-pole", { points = { 20, "of each axis" },
  force = { 3.0, "N, that the cart pushes with at most" }, map = { "", "FILE.html: the map of the patient one" } })

local function axis(n, half)
  local list = {}
  for i = 1, n do list[i] = (2 * (i - 0.5) / n - 1) * half end
  return list
end

-- Makes one run of a cart-pole from an angle and a rate. Also returns z relative to half of the width of the strip.
local function run(p, _, c)
  local world = sim.world { dt = 0.02 }
  local cart = world:box { size = { 0.4, 0.2 }, mass = 1, mask = 0 }
  local pole = world:box { size = { 0.05, 1 }, mass = 0.2, position = { 0, 0.5 }, mask = 0 }
  local rail = world:slider { cart, axis = { 1, 0 }, anchor = { 0, 0 } }
  local hinge = world:hinge { pole, cart, anchor = { 0, 0 } }
  world:actuator { "push", joint = rail, kind = "force", range = { -c.force, c.force } }
  local law = sim.control.lqr(world, { coordinates = { rail, hinge }, Q = 1, R = c.R })
  local values, vectors = sim.linalg.eig(law.A:t())
  local l, w = values[4], vectors:column(4)
  local edge = sim.array { w }:mm(law.B)[1][1] * c.force / (l - 1)
  local a, b = w[2] / edge, w[4] / edge
  hinge.angle = p.angle
  pole.velocity, pole.angular_velocity = { -0.5 * p.rate * math.cos(p.angle), -0.5 * p.rate * math.sin(p.angle) }, p.rate
  world:control(law)
  local back = 1
  for _ = 1, 500 do
    world:step()
    if math.abs(hinge.angle) > 1.5 then
      back = 0
      break
    end
  end
  return { back = back, z = math.abs(a * p.angle + b * p.rate), l = l, a = a, b = b }
end

-- All starts with |z| below `all` recover, and no start with |z| above `none` recovers.
local function basin(R)
  local n = e.options.points
  local sweep = sim.sweep { grid = { angle = axis(n, 0.3), rate = axis(n, 1.4) }, run = run,
    common = { force = e.options.force, R = R }, record = e.options.map ~= "" and e.options.map .. ".runs" or nil }
  local all, none, count = math.huge, 0, 0
  for _, row in ipairs(sweep.rows) do
    if row.back == 0 then all = math.min(all, row.z) else none = math.max(none, row.z) end
    count = count + row.back
  end
  e:equal(("R = %g: runs that failed"):format(R), 0, #sweep.failures)
  print(("R = %-6g %3d of %d come back: all with z below %.3f, none beyond %.3f"):format(R, count, n * n, all, none))
  return all, none, sweep
end

local eager, eager_none = basin(1e-3)
local usual, usual_none = basin(0.1)
local patient, none, sweep = basin(10)

-- the rate at which a pole (a uniform rod) falls on a free cart
local M, m, d, I = 1, 0.2, 0.5, 0.2 * (1 + 0.05 ^ 2) / 12
local w2 = (M + m) * m * 9.81 * d / ((M + m) * (I + m * d * d) - (m * d) ^ 2)
local l = sweep.rows[1].l
e:equal("l - 2 + 1 / l", w2 * 0.02 ^ 2, l - 2 + 1 / l, 1e-9)
e:below("largest z that comes back, whatever the regulator", 1.03, math.max(eager_none, usual_none, none))
e:above("the patient one: all come back with z below", 0.94, patient)
e:below("R = 0.1: some fall with z above", 0.9, usual)
e:above("  but all come back with z below", 0.8, usual)
e:below("R = 0.001, the eager one: some fall with z above", 0.75, eager)
if e.options.map ~= "" then
  assert(sweep:map { x = "angle", y = "rate", value = "back", path = e.options.map, title = "1 comes back, 0 falls" })
end

-- plots the map of the slow regulator and the strip; z is linear in angle and rate, and 1 at the edge of the strip
local plot = { title = "Which poles come back", x = "angle, rad", y = "rate, rad/s", legend = "right" }
for _, fate in ipairs { { 1, "comes back" }, { 0, "falls" } } do
  local series = { {}, {}, kind = "scatter", label = fate[2] }
  for _, row in ipairs(sweep.rows) do
    if row.back == fate[1] then series[1][#series[1] + 1], series[2][#series[2] + 1] = row.angle, row.rate end
  end
  plot[#plot + 1] = series
end
for _, side in ipairs { 1, -1 } do
  local line, row = { {}, {}, label = side == 1 and "beyond this no law helps" or nil, color = "#7f1d3d" }, sweep.rows[1]
  for rate = -1.4, 1.4, 0.05 do
    local angle = (side - row.b * rate) / row.a
    if math.abs(angle) <= 0.3 then line[1][#line[1] + 1], line[2][#line[2] + 1] = angle, rate end
  end
  plot[#plot + 1] = line
end
e:figure(sim.plot(plot))
e:finish()
