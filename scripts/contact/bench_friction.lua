-- A cube slides to a stop, is dragged, and slides after landing: all three motions follow Coulomb's law to the last
-- digit. The script runs three of ContactBench's scenes (Le Lidec et al. 2024, Contact Models in Robotics: a
-- Comparative Analysis) in the plane, where the friction cone has two edges and needs no linearisation:
--   slide: v' = -mu g until t = v / (mu g), at the distance v^2 / (2 mu g). The friction is mu m g, and the cube does
--          not lift.
--   drag:  The cube is at rest until F = mu m g. Then v' = F / m - mu g.
--   land:  v -> v - mu v_n at the impact (e = 0), then as for slide. The error decreases at least linearly with dt.
-- `solvers.lua` and `models.lua` run these scenes with the other solvers and models of the engine.
local sim = require "sim2d"

local g, mu = 9.81, 0.4

-- Returns a world with a cube of 1 kg and 0.2 m on a floor. `settings` overrides settings of worlds and bodies.
local function make(settings, dt, height, vx)
  local world_settings = { dt = dt }
  for key, value in pairs(settings.world or {}) do world_settings[key] = value end
  local world = sim.world(world_settings)
  world:on("solver_warning", function() end) -- the table shows missed tolerances
  world:segment { from = { -9, 0 }, to = { 9, 0 }, friction = mu }
  local body = { size = { 0.2, 0.2 }, position = { 0, 0.1 + height }, mass = 1, friction = mu, velocity = { vx, 0 } }
  for key, value in pairs(settings.body or {}) do body[key] = value end
  return world, world:box(body)
end

local scenes = { names = { "slide", "drag", "land" } }

-- Scenes return their measurements as { what, error, bar }. A scene passes if no error exceeds its bar. `trace(t, v,
-- x)`, if given, receives the motion.
function scenes.slide(settings, trace)
  local world, box = make(settings, 1e-3, 0, 1)
  local lift, force, stopped = 0, 0, math.huge
  for t in world:steps(0.4) do
    if trace then trace(t, box.vx, box.x) end
    lift = math.max(lift, math.abs(box.y - 0.1), math.abs(box.angle))
    if box.vx > 0.01 then
      local sum = 0
      for _, contact in ipairs(box:contacts()) do sum = sum + contact.tangent_impulse / world.dt end
      force = math.max(force, math.abs(math.abs(sum) - mu * g))
    elseif math.abs(box.vx) < 1e-9 then
      stopped = math.min(stopped, t)
    end
  end
  return { { "stops after, s", math.abs(stopped - 1 / (mu * g)), world.dt },
    { "stops at, m", math.abs(box.x - 1 / (2 * mu * g)), world.dt }, { "lifts by, m", lift, 1e-9 },
    { "friction, N", force, 1e-6 } }
end

function scenes.drag(settings, trace)
  local world, box = make(settings, 1e-3, 0, 0)
  local creep, error = 0, 0
  for step = 0, 299 do
    local force, before = math.min(1.8 * g, 4 * g * step * world.dt), box.vx
    box:apply_force { force, 0 }
    world:step()
    if trace then trace(world.time, box.vx, box.x) end
    if step < 100 then creep = math.max(creep, math.abs(box.vx)) end
    error = math.max(error, math.abs((box.vx - before) / world.dt - math.max(0, force - mu * g)))
  end
  return { { "creeps at, m/s", creep, 1e-10 }, { "acceleration, m/s^2", error, 1e-6 } }
end

function scenes.land(settings)
  local function distance(steps)
    local world, box = make(settings, 0.7 / steps, 0.5, 6)
    world:run { steps = steps, progress = false }
    local t = math.sqrt(2 * 0.5 / g) -- time of the landing
    local v, rest = 6 - mu * g * t, 0.7 - t
    return math.abs(box.x - (6 * t + v * rest - mu * g * rest ^ 2 / 2))
  end
  local coarse, fine = distance(35), distance(560)
  local order = math.log(coarse / fine, 16)
  -- an error below the effect of the tolerance of 1e-9 at 6 m/s does not count for the order
  if fine < 1e-8 then order = math.huge end
  return { { "order below 1 by", math.max(0, 1 - order), 0.05 } }, coarse, fine
end

if sim.is_main() then
  local e = sim.experiment "Friction: sliding, dragged and landing cube"
  local plot = { title = "A cube slides to a stop, and is dragged off", x = "time, s", y = "speed, m/s" }
  for _, name in ipairs { "slide", "drag" } do
    local t, v = {}, {}
    for _, item in ipairs(scenes[name]({}, function(now, speed) t[#t + 1], v[#v + 1] = now, speed end)) do
      e:equal(name .. ": " .. item[1] .. ", error", 0, item[2], item[3])
    end
    plot[#plot + 1] = { t, v, label = name == "slide" and "sliding" or "dragged" }
  end
  local _, coarse, fine = scenes.land { world = { stepping = "speculative" } }
  e:equal("land: steps of given length, error at dt : at dt/16", 16, coarse / fine, 0.1)
  _, coarse = scenes.land {}
  e:equal("land: error where steps are split, m", 0, coarse, 1e-12)
  plot[#plot + 1] = { x = 1 / (mu * g), label = "v / (mu g)" }
  plot[#plot + 1] = { x = 0.1, label = "F = mu m g" }
  e:figure(sim.plot(plot))
  e:finish()
end

return scenes
