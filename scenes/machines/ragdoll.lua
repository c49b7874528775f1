-- A ragdoll falls down a flight of stairs and comes to rest. All joints stay within their limits.
local sim = require "sim2d"

local STEPS, RISE, TREAD = 5, 0.3, 0.6

local function build()
  local world = sim.world { dt = 1 / 120 }
  world:box { name = "floor", type = "static", position = { 2, -0.25 }, size = { 12, 0.5 },
    friction = 0.8 }
  for i = 1, STEPS do
    local height = RISE * i
    world:box { name = "stair" .. i, type = "static", size = { TREAD, height }, friction = 0.8,
      position = { TREAD * (STEPS - i), height / 2 } }
  end
  local y, x = RISE * STEPS, 0.15
  local function part(name, px, py, length, radius, mass)
    return world:capsule { name = name, position = { x + px, y + py }, angle = math.pi / 2,
      length = length, radius = radius, mass = mass, friction = 0.6, category = 2, mask = 1,
      velocity = { 2.2, 0 }, color = "#d9a066" }
  end
  local function joint(name, a, b, px, py, lo, hi)
    world:hinge { a, b, name = name, anchor = { x + px, y + py }, limits = { lo, hi },
      friction = 0.5 }
  end
  local torso = part("torso", 0, 1.15, 0.35, 0.12, 30)
  local head = world:circle { name = "head", position = { x, y + 1.6 }, radius = 0.13, mass = 5,
    friction = 0.6, category = 2, mask = 1, velocity = { 2.2, 0 }, color = "#d9a066" }
  joint("neck", head, torso, 0, 1.46, -0.5, 0.5)
  for _, side in ipairs { "near", "far" } do
    local upper = part(side .. " upper arm", 0, 1.22, 0.22, 0.05, 2.5)
    local fore = part(side .. " forearm", 0, 0.95, 0.22, 0.045, 1.5)
    joint(side .. " shoulder", upper, torso, 0, 1.35, -0.8, 2.6)
    joint(side .. " elbow", fore, upper, 0, 1.085, 0, 2.4)
    local thigh = part(side .. " thigh", 0, 0.72, 0.3, 0.075, 7)
    local shin = part(side .. " shin", 0, 0.3, 0.36, 0.06, 4)
    joint(side .. " hip", thigh, torso, 0, 0.92, -0.6, 1.9)
    joint(side .. " knee", shin, thigh, 0, 0.5, -2.4, 0)
  end
  return world
end

if sim.is_main() then
  local world = build()
  local excess, error, fastest = 0, 0, 0
  for _ in world:steps(6) do
    for _, joint in ipairs(world.joints) do
      local limits = joint.limits
      excess = math.max(excess, limits[1] - joint.angle, joint.angle - limits[2])
    end
    error = math.max(error, world:residuals().joint_error)
  end
  for _, body in ipairs(world.bodies) do
    fastest = math.max(fastest, math.sqrt(body.vx ^ 2 + body.vy ^ 2))
  end
  print(("%d limits, never passed by more than %.1e rad; joint error %.1e m"):format(
    2 * #world.joints, excess, error))
  print(("after 6 s the head is at (%.2f, %.2f) m, nothing is faster than %.1e m/s"):format(
    world.bodies.head.x, world.bodies.head.y, fastest))
  assert(excess < 1e-9 and error < 1e-9, "a joint left its limits")
  assert(world.bodies.head.y < RISE * STEPS + 0.5 and fastest < 1e-2, "it should lie")
end

return build
