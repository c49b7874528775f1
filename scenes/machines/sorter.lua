-- A conveyor sorts boxes by height: a sensor detects the tall boxes, and the other boxes fall through an opening flap.
local sim = require "sim2d"

local BOXES, EVERY, SPEED = 8, 1.5, 1 -- number of boxes, interval between boxes (s), speed of the belts (m/s)
local LOW, TALL, SEEN = 0.2, 0.4, 0.3 -- heights in m; the sensor detects boxes taller than SEEN
local DROP, STEP = 0.02, 0.001 -- m
local FRICTION = 0.6 -- at 0.75 or more, a tall box would tip while the belt accelerates it

local function build()
  local world = sim.world { combine_friction = "min" }
  local function belt(name, from, to, top, type)
    -- the belt surface moves counterclockwise, so a negative surface_speed carries boxes to the right on top
    return world:box { name = name, type = type, position = { (from + to) / 2, top - 0.1 }, size = { to - from, 0.2 },
      surface_speed = -SPEED, friction = FRICTION }
  end
  -- Each surface is slightly lower than the previous surface, so no edge stops a box.
  belt("belt", 0, 4, 0, "static")
  belt("belt", 5.04, 7, -2 * STEP, "static")
  -- The flap is hinged at its lower right corner, and its motor yields to an obstacle.
  local flap = belt("flap", 4.02, 5.02, -STEP, "dynamic")
  flap.mass = 5
  local hinge = world:hinge { flap, anchor = { 5.02, -0.2 - STEP }, limits = { 0, 1.3 },
    motor = { speed = -8, max_torque = 100 } }
  world:box { name = "floor", type = "static", position = { 4.5, -2.1 }, size = { 11, 0.2 }, friction = FRICTION }
  world:box { name = "wall", type = "static", position = { 5.5, -1.3 }, size = { 0.1, 1.4 } }
  world:box { name = "sensor", sensor = true, type = "static", position = { 3, (SEEN + 0.5) / 2 },
    size = { 0.02, 0.5 - SEEN } }
  -- The flap opens when a box arrives that the sensor has not detected, and closes after 0.7 s.
  local open_until = 0
  world:on("sensor_begin", function(event) event.b.data.seen = true end)
  world:on("touch_begin", function(event)
    local box = event.a == flap and event.b or event.b == flap and event.a
    if box and box.data and not box.data.seen then open_until = world.time + 0.7 end
  end)
  world:before_step(function(_, t) hinge.motor_speed = t < open_until and 8 or -8 end)
  -- Boxes drop onto the belt one by one. Each is tall or low at random.
  local random, made = sim.random.split(), 0
  local feeder
  feeder = world:every(EVERY, function(_, t)
    made = made + 1
    local height = random:choice { LOW, TALL }
    world:box { name = "box", position = { 0.3, height / 2 + DROP }, size = { 0.3, height }, density = 10,
      friction = FRICTION, data = { tall = height == TALL, since = t } }
    if made == BOXES then feeder:remove() end
  end)
  return world
end

if sim.is_main() then
  local world = build()
  -- The time until a box passes the sensor. The box falls onto the belt. The friction of the landing impact gives it mu
  -- times the speed of the fall, and then it accelerates with mu g.
  local fall = math.sqrt(2 * DROP / 9.81)
  local behind = (SPEED - FRICTION * 9.81 * fall) ^ 2 / (2 * FRICTION * 9.81)
  local expected = fall + (2.99 - 0.45 + behind) / SPEED
  local latest = 0
  world:on("sensor_begin", function(event)
    latest = math.max(latest, math.abs(world.time - event.b.data.since - expected))
  end)
  world:run { duration = BOXES * EVERY + 8 }
  local sorted, tall = 0, 0
  for _, box in ipairs(world.bodies) do
    if box.data then
      tall = tall + (box.data.tall and 1 or 0)
      sorted = sorted + ((box.x > 5.5) == box.data.tall and box.y < -1 and 1 or 0)
    end
  end
  print(("%d of %d boxes lie where they belong; %d are tall"):format(sorted, BOXES, tall))
  print(("the sensor saw the tall ones after %.3f s, to %.3f s"):format(expected, latest))
  assert(sorted == BOXES and tall > 0 and tall < BOXES and latest < 2 * world.dt)
end

return build
