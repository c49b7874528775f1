-- A ball hits a hanging chain of hinged links. The joint errors are rounding errors.
local sim = require "sim2d"

local function build(p)
  p = p or {}
  local links = p.links or 8
  local world = sim.world { dt = 1 / 240 }
  local above
  for i = 1, links do
    local link = world:box { name = "link" .. i, position = { 0, -0.5 * i + 0.25 },
      size = { 0.12, 0.5 }, density = 10 }
    world:hinge { link, above, anchor = { 0, -0.5 * (i - 1) }, name = "hinge" .. i }
    above = link
  end
  world:circle { name = "ball", position = { -4, -0.5 * links + 0.5 }, radius = 0.3, density = 10,
    velocity = { 12, 1 }, restitution = 0.5 }
  return world
end

if sim.is_main() then
  local world = build()
  local tip, worst, reach = world.bodies.link8, 0, 0
  for _ in world:steps(2) do
    worst = math.max(worst, world:residuals().joint_error)
    reach = math.max(reach, tip.x)
  end
  print(("the chain swings out to %.2f m"):format(reach))
  print(("its hinges were never further apart than %.1e m"):format(worst))
  assert(reach > 1 and worst < 1e-8)
end

return build
