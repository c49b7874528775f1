-- A car with sprung, driven wheels drives over bumps. The springs carry the weight of the car, and the motors reach the
-- commanded speed.
local sim = require "sim2d"

local options = sim.options { speed = { 4, "speed of the motors, m/s" } }

local RADIUS, STIFFNESS, FIRST, LAST = 0.35, 3000, 4, 9 -- units: m, N/m, m, m; bumps lie from x = FIRST to LAST

local function build(p)
  local speed = p and p.speed or options.speed
  local world = sim.world { dt = 1 / 240 }
  local points = { { -4, 0 } }
  for k = 0, 60 do
    local x = FIRST + (LAST - FIRST) * k / 60
    points[#points + 1] = { x, 0.09 * (1 - math.cos(6 * math.pi * k / 60)) }
  end
  points[#points + 1] = { 26, 0 }
  world:chain { name = "road", points = points, friction = 0.9 }
  local body = world:compound { name = "car", mass = 60, position = { 0, 0.75 }, shapes = {
    { vertices = { { -1.2, -0.2 }, { 1.2, -0.2 }, { 1.15, 0.1 }, { -1.15, 0.15 } } },
    { vertices = { { -0.8, 0.13 }, { 0.5, 0.12 }, { 0.2, 0.5 }, { -0.6, 0.5 } } },
  } }
  for i, x in ipairs { -0.8, 0.8 } do
    local tyre = world:circle { name = "wheel" .. i, position = { x, RADIUS }, radius = RADIUS,
      mass = 4, friction = 0.9 }
    world:wheel { tyre, body, name = "axle" .. i, anchor = { x, RADIUS }, axis = { 0, 1 },
      stiffness = STIFFNESS, damping = 250, limits = { -0.2, 0.2 },
      motor = { speed = -speed / RADIUS, max_torque = 40 } }
  end
  return world
end

if sim.is_main() then
  local world = build()
  local car, high, error = world.bodies.car, 0, 0
  local axles = { world.joints.axle1, world.joints.axle2 }
  local function travel() -- total travel of both springs, m
    return axles[1].translation + axles[2].translation
  end
  local least, most = math.huge, -math.huge
  world:run { duration = 6, until_ = function()
    high = math.max(high, car.y)
    error = math.max(error, world:residuals().joint_error)
    for _, axle in ipairs(axles) do
      least, most = math.min(least, axle.translation), math.max(most, axle.translation)
    end
    return car.x > LAST + 8
  end }
  print(("%.1f m in %.2f s, now at %.3f m/s"):format(car.x, world.time, car.vx))
  print(("springs between %.3f and %.3f m, the limits are -0.2 and 0.2"):format(least, most))
  print(("joint error %.1e m"):format(error))
  local load = car.mass * 9.81 / STIFFNESS
  print(("at the end the springs give by %.4f m, the weight asks for %.4f"):format(travel(), load))
  assert(car.x > LAST + 8 and math.abs(car.vx / options.speed - 1) < 0.02)
  assert(math.abs(travel() / load - 1) < 0.05 and error < 1e-8)
end

return build
