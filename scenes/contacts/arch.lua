-- A masonry arch: wedge-shaped stones that are held only by contact and friction. With enough friction the arch stands
-- permanently. With less friction it falls.
local sim = require "sim2d"

local STONES, INNER, OUTER = 9, 2, 2.7

local function build(p)
  local mu = p and p.friction or 0.7
  local world = sim.world {}
  world:box { name = "ground", type = "static", position = { 0, -0.5 }, size = { 12, 1 },
    friction = mu }
  for i = 1, STONES do
    local from, to = math.pi * (i - 1) / STONES, math.pi * i / STONES
    local function corner(radius, angle)
      return { radius * math.cos(angle), radius * math.sin(angle) }
    end
    world:polygon { name = "stone" .. i, friction = mu, density = 100,
      vertices = { corner(INNER, from), corner(OUTER, from), corner(OUTER, to), corner(INNER, to) } }
  end
  return world
end

if sim.is_main() then
  for _, mu in ipairs { 0.7, 0.1 } do
    local world = build { friction = mu }
    local key = world.bodies["stone" .. (STONES + 1) // 2]
    local before = key.y
    world:run { duration = 3 }
    local sank = before - key.y
    print(("friction %.1f: the keystone sank by %.3g m"):format(mu, sank))
    if mu == 0.7 then
      assert(sank < 1e-5, "the arch should stand")
    else
      assert(sank > 0.5, "the arch should fall")
    end
  end
end

return build
