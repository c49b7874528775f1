-- A train of four meshing gear wheels, driven by a motor against a brake. After 100 turns of the first wheel, the last
-- wheel has made 400/9 turns in the opposite direction.
local sim = require "sim2d"

local RADII = { 0.3, 0.9, 0.45, 0.675 } -- m
local SPEED = 4 * math.pi -- motor speed in rad/s

local function build()
  local world = sim.world { gravity = { 0, 0 }, dt = 1 / 240 }
  local x, before = 0, nil
  for i, radius in ipairs(RADII) do
    x = i == 1 and 0 or x + RADII[i - 1] + radius
    local wheel = world:circle { name = "wheel" .. i, position = { x, 0 }, radius = radius,
      density = 20, mask = 0 }
    local axle = world:hinge { wheel, nil, anchor = { x, 0 }, name = "axle" .. i,
      motor = i == 1 and { speed = SPEED, max_torque = 50 } or nil,
      friction = i == #RADII and 5 or nil }
    if before then
      -- The rims roll on each other, so r_before angle_before + r angle is constant.
      world:gear { before, axle, ratio = radius / RADII[i - 1], name = "mesh" .. i }
    end
    before = axle
  end
  return world
end

if sim.is_main() then
  local world = build()
  local first, last = world.joints.axle1, world.joints["axle" .. #RADII]
  local ratio, worst = -RADII[1] / RADII[#RADII], 0
  world:run { duration = 60, until_ = function()
    worst = math.max(worst, math.abs(last.angle - ratio * first.angle))
    return first.angle >= 200 * math.pi
  end }
  print(("%.2f turns in, %.4f turns out"):format(first.angle / (2 * math.pi),
    last.angle / (2 * math.pi)))
  print(("the last wheel was never off by more than %.1e rad"):format(worst))
  print(("the motor turns at %.9f rad/s"):format(first.speed))
  assert(first.angle >= 200 * math.pi and worst < 1e-9 and math.abs(first.speed / SPEED - 1) < 1e-9)
end

return build
