-- Newton's cradle, frictionless and elastic: five discs with gaps of 0.1 m. The impact travels through the row, and
-- only the last disc leaves, with the speed of the first disc.
local sim = require "sim2d"

local function build(p)
  p = p or {}
  local gap, speed = p.gap or 0.1, p.speed or 5
  local world = sim.world { gravity = { 0, 0 } }
  for i = 0, 4 do
    world:circle {
      name = "disc" .. i + 1, radius = 0.5, friction = 0, restitution = 1,
      position = { i == 0 and -3 or (i - 1) * (1 + gap), 0 },
      velocity = { i == 0 and speed or 0, 0 },
    }
  end
  return world
end

if sim.is_main() then
  local world = build()
  local before = world:momentum().x
  world:run { duration = 1.5 }
  for i = 1, 5 do
    local disc = world.bodies["disc" .. i]
    local expected = i == 5 and 5 or 0
    print(("%s leaves with %.12f m/s, expected %d"):format(disc.name, disc.vx, expected))
    assert(math.abs(disc.vx - expected) < 1e-9)
  end
  print(("momentum changed by %.1e of itself"):format(math.abs(world:momentum().x / before - 1)))
end

return build
