-- A pyramid of boxes that touch on all sides: it is hyperstatic, so its forces are not unique. Its motion is unique: it
-- stays at rest.
local sim = require "sim2d"

local options = sim.options { base = { 10, "boxes in the lowest row" } }

local function build(p)
  local base = p and p.base or options.base
  local world = sim.world { gravity = { 0, -10 }, dt = 1 / 60 }
  world:box { name = "floor", type = "static", position = { 0, -1 }, size = { 4 * base + 40, 2 },
    friction = 0.6 }
  for row = 0, base - 1 do
    for column = 0, base - row - 1 do
      world:box { position = { column - (base - row - 1) / 2, row + 0.5 }, size = { 1, 1 },
        friction = 0.6 }
    end
  end
  return world
end

if sim.is_main() then
  local world = build()
  local g, weight = 10, 0
  for _, body in ipairs(world.bodies) do
    weight = body.type == "dynamic" and weight + body.mass * g or weight
  end
  world:run { steps = 200 }
  local support = 0
  for _, contact in ipairs(world:contacts()) do
    if contact.a.name == "floor" or contact.b.name == "floor" then
      support = support + contact.normal_impulse / world.dt * math.abs(contact.normal.y)
    end
  end
  local top = world.bodies[#world.bodies]
  print(("%d boxes, %d contact points"):format(#world.bodies - 1, #world:contacts()))
  print(("the floor carries %.9f N of %.9f N"):format(support, weight))
  print(("the top is at %.9f m, residual %.1e"):format(top.y, world:residuals().scaled))
  assert(math.abs(support / weight - 1) < 1e-7)
  assert(math.abs(top.y - (options.base - 0.5)) < 1e-6)
end

return build
