-- The first domino in a row is pushed. The wave runs through the row at a steady speed.
local sim = require "sim2d"

local function build(p)
  p = p or {}
  local count, spacing = p.count or 20, p.spacing or 0.35
  local world = sim.world {}
  world:box { name = "table", type = "static", position = { spacing * count / 2, -0.5 },
    size = { spacing * count + 6, 1 }, friction = 0.6 }
  for i = 1, count do
    world:box { name = "domino" .. i, position = { spacing * (i - 1), 0.5 }, size = { 0.12, 1 },
      friction = 0.4 }
  end
  world.bodies.domino1:apply_impulse({ 0.06, 0 }, { at = { 0, 1 } })
  return world
end

if sim.is_main() then
  local count = 20
  local world = build { count = count }
  local fell = {}
  for t in world:steps(6) do
    for i = 1, count do
      -- A domino counts as fallen once it leans beyond its corner.
      if not fell[i] and world.bodies["domino" .. i].angle < -0.25 then
        fell[i] = t
      end
    end
  end
  local fallen = 0
  for i = 1, count do
    fallen = fallen + (fell[i] and 1 or 0)
  end
  print(("%d of %d dominoes fell"):format(fallen, count))
  assert(fallen == count, "the wave stopped")
  local first = (fell[10] - fell[5]) / 5
  local second = (fell[15] - fell[10]) / 5
  print(("one falls every %.3f s in the first half, every %.3f s in the second"):format(first, second))
  for i = 2, count do
    assert(fell[i] > fell[i - 1], "they fall in order")
  end
end

return build
