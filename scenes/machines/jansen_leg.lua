-- One leg of Jansen's Strandbeest, driven by a motor: eleven bars with Jansen's proportions. The foot traces the
-- walking curve, which is flat at the bottom.
local sim = require "sim2d"

local UNIT = 0.02 -- length of one of Jansen's units in m
local A, B, C, D, E, F = 38, 41.5, 39.3, 40.1, 55.8, 39.4
local G, H, I, J, K, L, M = 36.7, 65.7, 49, 50, 61.9, 7.8, 15
local SPEED = 2 * math.pi -- rad/s

-- Returns the intersection of the circles around p and q that lies to the left of the line from p to q.
local function meet(p, rp, q, rq)
  local dx, dy = q[1] - p[1], q[2] - p[2]
  local d = math.sqrt(dx ^ 2 + dy ^ 2)
  local along = (rp ^ 2 - rq ^ 2 + d ^ 2) / (2 * d)
  local across = math.sqrt(rp ^ 2 - along ^ 2)
  return { p[1] + (along * dx - across * dy) / d, p[2] + (along * dy + across * dx) / d }
end

-- Returns the joint positions of the leg for a given crank angle, in Jansen's units. The axle of the crank is the
-- origin.
local function geometry(angle)
  local pin, fixed = { M * math.cos(angle), M * math.sin(angle) }, { -A, -L }
  local top = meet(fixed, B, pin, J)
  local left = meet(fixed, D, top, E)
  local low = meet(pin, K, fixed, C)
  local knee = meet(low, G, left, F)
  local foot = meet(low, I, knee, H)
  return { pin = pin, fixed = fixed, top = top, left = left, low = low, knee = knee, foot = foot }
end

local function build()
  local world = sim.world { dt = 1 / 240 }
  local at = geometry(0)
  for name, point in pairs(at) do
    at[name] = { point[1] * UNIT, point[2] * UNIT }
  end
  at.axle = { 0, 0 }
  local function bar(from, to, color)
    local p, q = at[from], at[to]
    local dx, dy = q[1] - p[1], q[2] - p[2]
    return world:box { name = from .. "-" .. to, position = { (p[1] + q[1]) / 2, (p[2] + q[2]) / 2 },
      angle = math.atan(dy, dx), size = { math.sqrt(dx ^ 2 + dy ^ 2), 0.03 }, mass = 0.2, mask = 0,
      color = color }
  end
  local function plate(name, a, b, c)
    return world:polygon { name = name, vertices = { at[a], at[b], at[c] }, mass = 0.5, mask = 0,
      color = "#c3d69b" }
  end
  local function pin(a, b, where)
    world:hinge { a, b, anchor = at[where] }
  end
  local crank = bar("axle", "pin", "#c0504d")
  local upper = plate("upper", "fixed", "left", "top")
  local lower = plate("lower", "low", "knee", "foot")
  local j, k, c, f = bar("pin", "top"), bar("pin", "low"), bar("fixed", "low"), bar("left", "knee")
  world:hinge { crank, nil, anchor = at.axle, name = "motor", motor = { speed = SPEED } }
  pin(upper, nil, "fixed")
  pin(c, nil, "fixed")
  pin(j, crank, "pin")
  pin(k, crank, "pin")
  pin(j, upper, "top")
  pin(k, lower, "low")
  pin(c, lower, "low")
  pin(f, upper, "left")
  pin(f, lower, "knee")
  return world, lower:local_point(at.foot)
end

if sim.is_main() then
  local world, foot = build()
  local lower, motor = world.bodies.lower, world.joints.motor
  local error, apart = 0, 0
  local left, right, bottom, top = math.huge, -math.huge, math.huge, -math.huge
  for _ in world:steps(3) do
    local point = lower:world_point(foot)
    local exact = geometry(motor.angle).foot
    apart = math.max(apart, math.sqrt((point.x - exact[1] * UNIT) ^ 2
      + (point.y - exact[2] * UNIT) ^ 2))
    left, right = math.min(left, point.x), math.max(right, point.x)
    bottom, top = math.min(bottom, point.y), math.max(top, point.y)
    error = math.max(error, world:residuals().joint_error)
  end
  print(("three turns, %d hinges, joint error %.1e m"):format(#world.joints, error))
  print(("the foot's stride is %.4f m (%.2f units), its lift %.4f m"):format(right - left,
    (right - left) / UNIT, top - bottom))
  print(("it is never more than %.1e m from where compasses put it"):format(apart))
  assert(error < 1e-9 and apart < 1e-7, "the foot left its curve")
  assert(math.abs(motor.angle - 6 * math.pi) < 0.01)
end

return build
