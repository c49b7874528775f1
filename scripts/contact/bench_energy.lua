-- A ball with e = 1 conserves its energy, a heap with e = 0 never gains energy, and 10 N lift a body of weight 9.81 N.
-- The script runs three of ContactBench's scenes (Le Lidec et al. 2024):
--   bounce: The energy after each bounce equals the energy before it. With a fixed step, the impact is early or late by
--           O(dt).
--   lift:   The acceleration is (F - m g) / m from the first step on, because a contact pushes but never pulls.
--   heap:   The energy of a falling heap (e = 0, friction) never increases, to a relative 10^-12, with steps of first
--           order. Steps of second order dissipate no energy. Where boxes turn about their corners, the energy
--           oscillates by O(dt^2), here by at most a relative 1e-4 at dt = 1/120 s.
-- `solvers.lua` and `models.lua` run these scenes with the other solvers and models of the engine.
local sim = require "sim2d"

local g = 9.81

local function make(settings, e)
  local world = sim.world(settings.world or {})
  world:on("solver_warning", function() end) -- the table shows missed tolerances
  world:segment { from = { -9, 0 }, to = { 9, 0 }, restitution = e }
  return world
end

local function body(settings, given)
  for key, value in pairs(settings.body or {}) do given[key] = value end
  return given
end

local scenes = { names = { "bounce", "lift", "heap" } }

-- Scenes return their measurements as { what, error, bar }. A scene passes if no error exceeds its bar. `trace(t, E)`,
-- if given, receives the energy.
function scenes.bounce(settings, trace)
  local world = make(settings, 1)
  local ball = world:circle(body(settings, { radius = 0.5, position = { 0, 1.5 }, mass = 1, restitution = 1 }))
  local bounces, before, worst = 0, g, 0 -- energies are relative to the ball at rest on the floor
  local rising = false
  for t in world:steps(4) do
    local energy = ball.vy ^ 2 / 2 + g * (ball.y - 0.5)
    if ball.vy > 0 and not rising then
      bounces, worst, before = bounces + 1, math.max(worst, math.abs(energy / before - 1)), energy
    end
    rising = ball.vy > 0
    if trace then trace(t, energy / g) end
  end
  return { { "energy per bounce", bounces > 3 and worst or 1, 1e-9 } }
end

function scenes.lift(settings)
  local world = make(settings, 0)
  local ball = world:circle(body(settings, { radius = 0.5, position = { 0, 0.5 }, mass = 1 }))
  world:run { steps = 60, progress = false } -- until it rests
  local worst = 0
  for _ = 1, 60 do
    local before = ball.vy
    ball:apply_force { 0, 10 }
    world:step()
    worst = math.max(worst, math.abs((ball.vy - before) / world.dt - (10 - g)))
  end
  return { { "acceleration, m/s^2", worst, 1e-9 } }
end

function scenes.heap(settings, trace)
  local world, random = make(settings, 0), sim.random.split()
  random:seed(7)
  for _, x in ipairs { -1, 1 } do
    world:segment { from = { x, 0 }, to = { x, 9 } }
  end
  for i = 0, 5 do
    local place = { position = { (i % 3 - 1) * 0.55, 0.4 + 0.5 * (i // 3) }, angle = random:uniform(-1, 1) }
    local make_one = i % 2 == 0 and world.box or world.circle
    place[i % 2 == 0 and "size" or "radius"] = i % 2 == 0 and { 0.3, 0.3 } or 0.18
    make_one(world, body(settings, place))
  end
  local all = world:energy().total
  local least, worst = all, 0
  for t in world:steps(1) do
    local energy = world:energy().total
    least = math.min(least, energy)
    worst = math.max(worst, (energy - least) / all)
    if trace then trace(t, energy / all) end
  end
  return { { "energy above the least before", worst, settings.second_order and 1e-4 * (120 * world.dt) ^ 2 or 1e-12 } }
end

if sim.is_main() then
  local e = sim.experiment "Energy: bouncing ball, lifted ball, falling heap"
  local plot = { title = "Energy of a ball with e = 1 and of a heap with e = 0", x = "time, s",
    y = "energy, of the first" }
  for _, stepping in ipairs { "speculative", "event" } do
    for _, name in ipairs(scenes.names) do
      local t, energy = {}, {}
      local item = scenes[name]({ world = { stepping = stepping }, second_order = stepping == "event" },
        function(now, value) t[#t + 1], energy[#t + 1] = now, value end)[1]
      -- with a fixed step, the impact is early or late by up to one step, which changes the height of 1 m by up to 2 v
      -- dt
      local bar = stepping == "speculative" and name == "bounce" and 2 * math.sqrt(2 * g) / 120 or item[3]
      e:below(stepping .. ", " .. name .. ": " .. item[1], bar, item[2])
      if name == "bounce" or name == "heap" and stepping == "event" then
        plot[#plot + 1] = { t, energy, label = name .. ", " .. stepping }
      end
    end
  end
  local function sway(dt)
    return scenes.heap({ world = { stepping = "event", dt = dt }, second_order = true })[1][2]
  end
  e:equal("event, heap: that at dt over that at dt / 2", 4, sway(1 / 120) / sway(1 / 240), 0.2)
  e:figure(sim.plot(plot))
  e:finish()
end

return scenes
