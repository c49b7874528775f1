-- A robot on wheels, seen from above, measures distances along 36 rays and drives around a room without hitting
-- anything.
local sim = require "sim2d"

local RAYS, RANGE, RADIUS = 36, 6, 0.25
local FASTEST, NEAR = 1, 0.4 -- top speed in m/s; free distance ahead at which the robot stops, in m
local FIELD = 9              -- number of rays on each side that the robot considers when it chooses its direction

local function build()
  local world = sim.world { gravity = { 0, 0 } }
  world:chain { name = "room", points = { { -4, -3 }, { 4, -3 }, { 4, 3 }, { -4, 3 } }, loop = true }
  world:circle { name = "pillar", type = "static", position = { 1, 0.5 }, radius = 0.6 }
  local robot = world:circle { name = "robot", position = { -3, -2 }, radius = RADIUS, mass = 5 }
  -- Two wheels roll but do not slide sideways, so the velocity along their axle is 0.
  world:constraint { name = "wheels", bodies = { robot }, velocity_only = true,
    jacobian = function(q) return { 0, -math.sin(q.a), math.cos(q.a) } end }

  -- Returns the distances from the centre of the robot, counterclockwise from straight ahead. Rays that start inside a
  -- body do not detect this body.
  local function scan()
    local seen = {}
    for i = 0, RAYS - 1 do
      local angle = robot.angle + 2 * math.pi * i / RAYS
      local hit = world:raycast(robot.position, robot.position + { RANGE * math.cos(angle), RANGE * math.sin(angle) })
      seen[i] = hit and hit.fraction * RANGE or RANGE
    end
    return seen
  end

  -- Ten times a second, the robot turns to the direction with the largest free distance over its own width. It drives
  -- as fast as that distance allows.
  local speed, turn = 0, 0
  local function steer()
    local seen, best = scan(), -math.huge
    for i = -FIELD, FIELD do
      local room = RANGE
      for k = i - 2, i + 2 do room = math.min(room, seen[k % RAYS]) end
      if room - 0.01 * math.abs(i) > best then
        best, turn = room - 0.01 * math.abs(i), 3 * 2 * math.pi * i / RAYS
      end
    end
    speed = math.max(0, math.min(FASTEST, best - NEAR))
  end
  world:every(0.1, steer)
  world:before_step(function()
    local ahead = sim.array { math.cos(robot.angle), math.sin(robot.angle) }
    robot:apply_force(ahead * (40 * (speed - ahead:dot(robot.velocity))))
    robot:apply_torque(2 * (turn - robot.omega))
  end)
  return world, scan
end

if sim.is_main() then
  local world, scan = build()
  local robot, pillar, room = world.bodies.robot, world.bodies.pillar, world.bodies.room
  local seen = scan()
  print(("ahead %.3f m, left %.3f m, behind %.3f m, right %.3f m"):format(seen[0], seen[9], seen[18], seen[27]))
  assert(seen[0] == RANGE and math.max(math.abs(seen[9] - 5), math.abs(seen[18] - 1), math.abs(seen[27] - 1)) < 1e-12)

  local way, nearest, skid, hits = 0, math.huge, 0, 0
  world:on("touch_begin", function() hits = hits + 1 end)
  for _ in world:steps(20) do
    way = way + robot.velocity:norm() * world.dt
    nearest = math.min(nearest, world:closest(robot, pillar).distance, world:closest(robot, room).distance)
    skid = math.max(skid, math.abs(robot.velocity:dot { -math.sin(robot.angle), math.cos(robot.angle) }))
  end
  print(("%.1f m driven, never nearer than %.2f m to anything, %d hits"):format(way, nearest, hits))
  -- The constraint uses the direction of the axle at the start of a step. The rotation within the step leaves at most
  -- this speed along the axle.
  local left = FASTEST * 3 * 2 * math.pi * FIELD / RAYS * world.dt
  print(("along its axle at most %.4f m/s, of %.4f m/s that a step's turn leaves"):format(skid, left))
  assert(way > 10 and nearest > 0 and hits == 0 and skid < left)
end

return build
