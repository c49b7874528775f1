-- A stack of ten boxes, in which the top box is up to 1000 times as dense as the other boxes. Relaxation solvers
-- compress such a stack, but exact contact forces support it.
local sim = require "sim2d"

local options = sim.options { count = { 10, "boxes" } }

local function build(p)
  p = p or {}
  local world = sim.world { gravity = { 0, -10 }, dt = 1 / 60 }
  world:box { name = "floor", type = "static", position = { 0, -1 }, size = { 40, 2 },
    friction = 0.6 }
  local count = p.count or options.count
  for i = 1, count do
    world:box { name = "box" .. i, position = { 0, i - 0.5 }, size = { 1, 1 }, friction = 0.6,
      density = i == count and (p.ratio or 1000) or 1 }
  end
  return world
end

if sim.is_main() then
  for _, ratio in ipairs { 1, 10, 100, 1000 } do
    local world = build { ratio = ratio }
    local worst, overlap = 0, 0
    for _ = 1, 300 do
      world:step()
      local r = world:residuals()
      worst, overlap = math.max(worst, r.scaled), math.max(overlap, r.penetration)
    end
    local top = world.bodies["box" .. options.count]
    print(("top x %-4d  stands at %.9f m, residual %.1e, overlap %.1e m"):format(ratio, top.y, worst,
      overlap))
    assert(math.abs(top.y - (options.count - 0.5)) < 1e-6 and worst <= 1e-9 and overlap < 1e-6)
  end
end

return build
