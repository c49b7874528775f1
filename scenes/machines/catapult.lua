-- A catapult: a spring swings an arm against a stop, and a sling releases the shot. The speed at release determines the
-- range. The energy of the shot does not exceed the energy that was stored in the spring.
local sim = require "sim2d"

local options = sim.options { stiffness = { 250, "of the spring, N/m" } }

local PIVOT, ARM, START, STOP = 1.2, 1.6, math.rad(200), math.rad(100) -- START, STOP: angles of the long end

local function build(p)
  local world = sim.world { dt = 1 / 960 }
  world:box { name = "ground", type = "static", position = { 20, -0.25 }, size = { 56, 0.5 },
    friction = 0.8 }
  world:polygon { name = "frame", type = "static", mask = 0,
    vertices = { { -0.5, 0 }, { 0.5, 0 }, { 0.06, PIVOT }, { -0.06, PIVOT } } }
  local along = { math.cos(START), math.sin(START) }
  local function point(r)
    return { r * along[1], PIVOT + r * along[2] }
  end
  local middle = (ARM - 0.5) / 2 -- the arm reaches from -0.5 to ARM along its long end
  local arm = world:box { name = "arm", position = point(middle), size = { ARM + 0.5, 0.08 },
    angle = START, mass = 2, mask = 0 }
  local shot = world:circle { name = "shot", position = point(ARM), radius = 0.1, mass = 1,
    friction = 0.8, mask = 1 }
  world:hinge { arm, nil, anchor = { 0, PIVOT }, name = "axle", limits = { STOP - START, 0 } }
  local short = point(-0.5)
  world:spring { arm, nil, name = "spring", anchor_a = short, anchor_b = { 0.5, 0 },
    stiffness = p and p.stiffness or options.stiffness, rest_length = 0.3 }
  world:hinge { shot, arm, anchor = point(ARM), name = "sling" }
  return world
end

if sim.is_main() then
  local world = build()
  local shot, axle = world.bodies.shot, world.joints.axle
  local spring = world.joints.spring
  local stored = spring.stiffness * (spring.length - spring.rest_length) ^ 2 / 2
  local before = world:energy().total
  world:run { duration = 2, until_ = function() return axle.angle < STOP - START + 0.35 end }
  local lost = before - world:energy().total
  world.joints.sling:destroy()
  local x, y, vx, vy, g = shot.x, shot.y, shot.vx, shot.vy, 9.81
  local kinetic = shot:kinetic_energy()
  print(("the shot leaves with %.2f m/s: %.0f of the spring's %.0f J, the steps lost %.1f J"):format(
    math.sqrt(vx ^ 2 + vy ^ 2), kinetic, stored, lost))
  assert(kinetic < stored and lost > 0 and lost < 0.03 * stored)
  -- The flight without drag ends when the shot touches the ground.
  local flight = (vy + math.sqrt(vy ^ 2 + 2 * g * (y - 0.1))) / g
  local range = x + vx * flight
  local landed, past = nil, 0
  world:on("contact_begin", function(e)
    if not landed and (e.a == shot or e.b == shot) then landed = shot.x end
  end)
  world:run { duration = 6, until_ = function()
    past = math.max(past, STOP - START - axle.angle)
    return landed ~= nil
  end }
  print(("it lands at %.3f m, the parabola says %.3f m"):format(landed, range))
  assert(math.abs(landed - range) < 0.05)
  print(("the arm was never past its stop by more than %.1e rad"):format(past))
  assert(past < 1e-9)
end

return build
