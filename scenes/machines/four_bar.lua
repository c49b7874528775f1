-- A four-bar linkage that satisfies Grashof's condition: the crank makes full turns, the rocker oscillates, and a point
-- on the coupler follows the same curve in each turn.
local sim = require "sim2d"

local GROUND, CRANK, COUPLER, ROCKER = 4, 1, 3.5, 3 -- lengths in m; Grashof: shortest + longest <= sum of the other two
local SPEED, ASIDE = math.pi, 0.8 -- rad/s, m

-- The ends of the coupler for a given crank angle. End b lies on circles around end a and around the right pivot.
local function pins(angle)
  local a = { CRANK * math.cos(angle), CRANK * math.sin(angle) }
  local dx, dy = GROUND - a[1], -a[2]
  local d = math.sqrt(dx ^ 2 + dy ^ 2)
  local along = (COUPLER ^ 2 - ROCKER ^ 2 + d ^ 2) / (2 * d)
  local across = math.sqrt(COUPLER ^ 2 - along ^ 2)
  return a, { a[1] + (along * dx - across * dy) / d, a[2] + (along * dy + across * dx) / d }
end

-- A coupler point beside the middle of the coupler.
local function coupler_point(angle)
  local a, b = pins(angle)
  local dx, dy = (b[1] - a[1]) / COUPLER, (b[2] - a[2]) / COUPLER
  return (a[1] + b[1]) / 2 - ASIDE * dy, (a[2] + b[2]) / 2 + ASIDE * dx
end

local function build()
  local world = sim.world { dt = 1 / 240 }
  local function bar(name, from, to, color)
    local dx, dy = to[1] - from[1], to[2] - from[2]
    return world:box { name = name, position = { (from[1] + to[1]) / 2, (from[2] + to[2]) / 2 },
      angle = math.atan(dy, dx), size = { math.sqrt(dx ^ 2 + dy ^ 2), 0.14 }, radius = 0.06,
      density = 5, mask = 0, color = color }
  end
  local a, b = pins(0)
  local crank = bar("crank", { 0, 0 }, a, "#c0504d")
  local coupler = bar("coupler", a, b, "#4f81bd")
  local rocker = bar("rocker", b, { GROUND, 0 }, "#9bbb59")
  world:hinge { crank, nil, anchor = { 0, 0 }, name = "crank" }
  world:lock { crank, angle = true, angular_velocity = SPEED } -- turns it at exactly this speed
  world:hinge { coupler, crank, anchor = a, name = "pin1" }
  world:hinge { coupler, rocker, anchor = b, name = "pin2" }
  world:hinge { rocker, nil, anchor = { GROUND, 0 }, name = "rocker" }
  return world
end

if sim.is_main() then
  local world = build()
  local crank, rocker, coupler = world.joints.crank, world.joints.rocker, world.bodies.coupler
  local least, most, error, apart = math.huge, -math.huge, 0, 0
  for _ in world:steps(8) do
    least, most = math.min(least, rocker.angle), math.max(most, rocker.angle)
    error = math.max(error, world:residuals().joint_error)
    local point, x, y = coupler:world_point { 0, ASIDE }, coupler_point(crank.angle)
    apart = math.max(apart, math.sqrt((point.x - x) ^ 2 + (point.y - y) ^ 2))
  end
  -- The rocker reverses where crank and coupler are collinear. The cosine rule at its pivot gives the angle.
  local function angle(side)
    return math.acos((GROUND ^ 2 + ROCKER ^ 2 - side ^ 2) / (2 * GROUND * ROCKER))
  end
  local swing, turns = angle(COUPLER + CRANK) - angle(COUPLER - CRANK), crank.angle / (2 * math.pi)
  print(("the crank made %.9f turns, joint error %.1e m"):format(turns, error))
  print(("the rocker swings by %.5f rad, geometry says %.5f"):format(most - least, swing))
  print(("a point of the coupler stays on its closed curve to %.1e m"):format(apart))
  assert(math.abs(turns - 4) < 1e-9 and error < 1e-9)
  assert(math.abs(most - least - swing) < 1e-3 and apart < 1e-8)
end

return build
