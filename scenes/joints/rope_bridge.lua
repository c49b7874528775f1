-- A slack bridge of 100 hinged links, let go in the shape of a V. Its hinges hold to rounding while it
-- swings; every step is one linear system.
local sim = require "sim2d"

local options = sim.options { links = { 100, "links, an even number" } }

local SLOPE = math.asin(0.6) -- of the two straight halves: the span is 0.8 of the length

local function build(p)
  local links = p and p.links or options.links
  local world = sim.world { gravity = { 0, -10 }, dt = 1 / 60 }
  local dx, dy, before = math.cos(SLOPE), math.sin(SLOPE), nil
  local function knot(i) -- between link i and the next
    return { i * dx, -math.min(i, links - i) * dy }
  end
  for i = 1, links do
    local from, to = knot(i - 1), knot(i)
    local link = world:box { name = "link" .. i, size = { 1, 0.25 }, mask = 0,
      position = { (from[1] + to[1]) / 2, (from[2] + to[2]) / 2 },
      angle = i <= links // 2 and -SLOPE or SLOPE }
    world:hinge { link, before, anchor = from }
    before = link
  end
  world:hinge { before, nil, anchor = knot(links) }
  return world
end

if sim.is_main() then
  local world = build()
  local first, last = world.joints[1], world.joints[#world.joints]
  local before, worst, residual = world:energy().total, 0, 0
  for _ in world:steps(10) do
    local r = world:residuals()
    worst, residual = math.max(worst, r.joint_error), math.max(residual, r.scaled)
  end
  local energy = world:energy()
  print(("%d links: hinges never apart by more than %.1e m, residual %.1e"):format(options.links,
    worst, residual))
  print(("energy %.1f J at the start, %.1f J after 10 s"):format(before, energy.total))
  -- The impulses of the anchors and the weight make up what the links' momentum changes by.
  local was = world:momentum()
  world:step()
  local now, weight = world:momentum(), 0
  for _, body in ipairs(world.bodies) do
    weight = weight + body.mass * 10
  end
  local missing = now.y - was.y - first.impulse.y - last.impulse.y + weight * world.dt
  print(("momentum that neither anchors nor weight account for: %.1e N s"):format(math.abs(missing)))
  assert(worst <= 1e-9 and residual <= 1e-13)
  assert(energy.total < before and math.abs(missing) < 1e-9)
end

return build
