-- A block slides to a stop in v^2 / (2 mu g). A step of length h misses by v h / 2 at most.
local sim = require "sim2d"

local function build(p)
  p = p or {}
  local world = sim.world { gravity = { 0, -10 }, dt = p.dt or 1 / 60 }
  world:box { name = "floor", type = "static", position = { 0, -1 }, size = { 100, 2 },
    friction = 0.6 }
  world:box { name = "block", position = { 0, 0.25 }, size = { 1, 0.5 }, friction = 0.6,
    velocity = { p.speed or 5, 0 } }
  return world
end

if sim.is_main() then
  local exact, last = 25 / 12, nil
  for _, n in ipairs { 60, 120, 240, 480 } do
    local world = build { dt = 1 / n }
    world:run { duration = 1.2 }
    local x = world.bodies.block.x
    print(("dt = 1/%-3d  stops at %.6f m, %.6f m from the exact %.6f"):format(n, x,
      math.abs(x - exact), exact))
    assert(math.abs(x - exact) <= 5 / n)
    last = x
  end
  assert(math.abs(last - exact) < 0.006)
end

return build
