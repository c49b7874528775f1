-- Curling seen from above: dry friction on the ice stops each stone on a straight line after the distance v^2 / (2 a).
-- This includes the stone that is hit. A step of length h has an error of at most v h / 2.
local sim = require "sim2d"

local G, MU, RADIUS, MASS = 9.81, 0.0168, 0.145, 19.1

local function build(p)
  p = p or {}
  local world = sim.world { gravity = { 0, 0 }, dt = p.dt or 1 / 120 }
  local function stone(name, x, y)
    local body = world:circle { name = name, position = { x, y }, radius = RADIUS, mass = MASS,
      restitution = 1, friction = 0 }
    world:ground_friction { body, max_force = MU * MASS * G, max_torque = MU * MASS * G * RADIUS / 2 }
    return body
  end
  local thrown = stone("thrown", 0, 0)
  thrown.velocity = p.velocity or { 1.2, 1.6 }
  thrown.omega = p.spin or 2
  if p.target then stone("target", p.target[1], p.target[2]) end
  return world
end

if sim.is_main() then
  local a = MU * G
  for _, n in ipairs { 60, 120, 240 } do
    local world = build { dt = 1 / n }
    world:run { duration = 15 }
    local stone, exact = world.bodies.thrown, 2 ^ 2 / (2 * a)
    local way = math.sqrt(stone.x ^ 2 + stone.y ^ 2)
    print(("dt = 1/%-3d  stops after %.4f m, %.4f m from v^2/(2 a) = %.4f"):format(n, way,
      math.abs(way - exact), exact))
    assert(math.abs(way - exact) <= 2 / n / 2 * 1.01)
    assert(math.abs(stone.y - stone.x * 4 / 3) < 1e-9, "the line is straight")
    assert(math.abs(stone.vx) + math.abs(stone.vy) + math.abs(stone.omega) < 1e-12)
  end
  local world = build { velocity = { 2, 0 }, target = { 5, 0 } }
  world:run { duration = 15 }
  local thrown, target = world.bodies.thrown, world.bodies.target
  local total = thrown.x + (target.x - 5)
  print(("a stone that is hit goes on for it: %.3f m and %.3f m, together %.3f of %.3f m"):format(
    thrown.x, target.x - 5, total, 2 ^ 2 / (2 * a)))
  assert(math.abs(total - 2 ^ 2 / (2 * a)) < 0.03)
end

return build
