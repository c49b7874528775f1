-- A block slides to a stop after the distance v^2 / (2 mu g). Speculative steps of length h have an error of at most v
-- h / 2. The default steps move a single sliding body with the mean of its velocities before and after the step. This
-- is exact until the step in which the body stops. In this scene the body stops at the end of a step. In general the
-- error is at most mu g h^2 / 8.
local sim = require "sim2d"

local function build(p)
  p = p or {}
  local world = sim.world { gravity = { 0, -10 }, dt = p.dt or 1 / 60, stepping = p.stepping }
  world:box { name = "floor", type = "static", position = { 0, -1 }, size = { 100, 2 },
    friction = 0.6 }
  world:box { name = "block", position = { 0, 0.25 }, size = { 1, 0.5 }, friction = 0.6,
    velocity = { p.speed or 5, 0 } }
  return world
end

if sim.is_main() then
  local exact = 25 / 12
  local bound = { speculative = 2.51, auto = 1e-8 }
  for _, stepping in ipairs { "speculative", "auto" } do
    for _, n in ipairs { 60, 120, 240, 480 } do
      local world = build { dt = 1 / n, stepping = stepping }
      world:run { duration = 1.2 }
      local x = world.bodies.block.x
      print(("%-11s dt = 1/%-3d  stops at %.6f m, %.6f m from the exact %.6f"):format(stepping, n, x,
        math.abs(x - exact), exact))
      assert(math.abs(x - exact) <= bound[stepping] / n)
    end
  end
end

return build
