-- A gram carries a tonne, a box jams between walls, and a bench stands on four feet although two would do. The script
-- runs three of ContactBench's scenes (Le Lidec et al. 2024) in which the impulses are huge or not unique. With more
-- contacts than a rigid body can distinguish, J' l is determined but l is not:
--   ratio: l = m g dt for all bodies above the contact, to nine digits, at a mass ratio of 10^6.
--   jam:   Any l that solves the step is correct, but it must be bounded and equal in every run.
--   feet:  A bench slides on four feet. Its velocity must not depend on the order of the feet.
-- `solvers.lua` and `models.lua` run these scenes with the other solvers and models of the engine.
local sim = require "sim2d"

local g = 9.81

local function make(settings, tolerance)
  local world = sim.world(settings.world or {})
  world.tolerance = tolerance or world.tolerance -- jam and feet need a tolerance below their bars
  world:on("solver_warning", function() end) -- the table shows missed tolerances
  return world
end

local function body(settings, given)
  for key, value in pairs(settings.body or {}) do given[key] = value end
  return given
end

local scenes = { names = { "ratio", "jam", "feet" } }

local function load(a, b) -- between two bodies
  local sum = 0
  for _, contact in ipairs(a:contacts()) do
    if contact.a == b or contact.b == b then sum = sum + contact.normal_impulse end
  end
  return sum
end

-- Scenes return their measurements as { what, error, bar }. A scene passes if no error exceeds its bar.
function scenes.ratio(settings)
  local world = make(settings)
  local floor = world:segment { from = { -9, 0 }, to = { 9, 0 }, friction = 0.9 }
  local low = world:box(body(settings, { size = { 0.2, 0.2 }, position = { 0, 0.1 }, mass = 1e-3, friction = 0.9 }))
  local high = world:box(body(settings, { size = { 0.2, 0.2 }, position = { 0, 0.3 }, mass = 1e3, friction = 0.95 }))
  world:run { steps = 100, progress = false }
  local weight = g * world.dt
  return { { "speed, m/s", math.max(math.abs(low.vx), math.abs(low.vy), math.abs(high.vx), math.abs(high.vy)), 1e-9 },
    { "sinks by, m", math.max(math.abs(low.y - 0.1), math.abs(high.y - 0.3)), 1e-9 },
    { "load on 1 g, relative", math.abs(load(low, high) / (1e3 * weight) - 1), 1e-9 },
    { "load on the floor, relative", math.abs(load(low, floor) / (1000.001 * weight) - 1), 1e-9 } }
end

-- A spinning box of 1 m is thrown into a slot 1 m wide, with friction 1, so all four corners touch.
local function jammed(settings)
  local world = make(settings, 1e-11)
  for _, x in ipairs { -0.5, 0.5 } do world:segment { from = { x, -9 }, to = { x, 9 }, friction = 1 } end
  world:box(body(settings, { size = { 1, 1 }, mass = 1, friction = 1, velocity = { 0, -1 }, angular_velocity = 0.5 }))
  local residual, largest = 0, 0
  for _ in world:steps(0.25) do
    residual = math.max(residual, world:residuals().scaled)
    for _, contact in ipairs(world:contacts()) do largest = math.max(largest, contact.normal_impulse) end
  end
  return residual, largest, world:state()
end

function scenes.jam(settings)
  local residual, largest, state = jammed(settings)
  local _, _, again = jammed(settings)
  local differs = 0
  for i, x in ipairs(state) do differs = math.max(differs, math.abs(x - again[i])) end
  -- the total momentum is 1 N s, so a larger impulse at one corner would be an internal force
  return { { "residual", residual, 1e-10 }, { "largest impulse, N s", largest, 1 },
    { "differs when run again", differs, 0 } }
end

local orders = { { 1, 2, 3, 4 }, { 4, 3, 2, 1 }, { 2, 4, 1, 3 }, { 3, 1, 4, 2 } }

local function slid(settings, order)
  local world = make(settings, 1e-11)
  world:segment { from = { -9, 0 }, to = { 9, 0 }, friction = 0.5 }
  local shapes = { { size = { 2, 0.2 }, position = { 0, 0.5 } } }
  for i, foot in ipairs(order) do shapes[i + 1] = { radius = 0.2, position = { (foot - 2.5) * 0.5, 0.2 } } end
  local bench = world:compound(body(settings, { mass = 1, shapes = shapes, friction = 0.5, velocity = { 1, 0 } }))
  world:run { steps = 10, progress = false }
  return bench
end

function scenes.feet(settings)
  local worst, fall = 0, 0
  local first = slid(settings, orders[1])
  for i = 2, #orders do
    local bench = slid(settings, orders[i])
    for k = 1, 3 do worst = math.max(worst, math.abs(bench.v[k] - first.v[k])) end
    fall = math.max(fall, math.abs(bench.v[1]), math.abs(bench.v[3]))
  end
  return { { "velocity by order, m/s", worst, 1e-10 }, { "turns or lifts at", fall, 1e-9 },
    { "slows down wrongly by, m/s", math.abs(1 - 0.5 * g * 10 / 120 - first.vx), 1e-9 } }
end

if sim.is_main() then
  local e = sim.experiment "Redundant and ill-conditioned contacts"
  for _, name in ipairs(scenes.names) do
    for _, item in ipairs(scenes[name] {}) do e:below(name .. ": " .. item[1], item[3], item[2]) end
  end
  -- The velocity is the same to the last digit, although the forces differ. The forces found by Gauss-Seidel depend on
  -- the order of the feet.
  local plot = { title = "Four feet of a bench: one velocity, many ways to share its weight",
    x = "foot", y = "share of the weight", legend = "above" }
  for k, solver in ipairs { "nsgs", "auto" } do
    local feet, shares = {}, {}
    for _, order in ipairs(orders) do
      local contacts = slid({ world = { solver = solver } }, order):contacts()
      table.sort(contacts, function(a, b) return a.point.x < b.point.x end)
      for foot = 1, 5 do -- the fifth entry makes a gap between curves
        feet[#feet + 1] = foot < 5 and foot or 0 / 0
        shares[#shares + 1] = foot < 5 and contacts[foot].normal_impulse * 120 / g or 0 / 0
      end
    end
    plot[k] = { feet, shares, label = solver .. ", four orders", dash = k == 1, color = k == 1 and "#8a8a8a" or nil }
  end
  e:figure(sim.plot(plot))
  e:finish()
end

return scenes
