-- A box on an incline of angle a, with friction 1 % above and 1 % below tan a: it stays at rest, or it slides with the
-- acceleration g (sin a - mu cos a).
local sim = require "sim2d"

local options = sim.options { angle = { 0.4, "slope, rad" } }

local function build(p)
  local angle = p and p.angle or options.angle
  local mu = math.tan(angle) * (p and p.factor or 1.01)
  local world = sim.world { combine_friction = "min" }
  local along = { math.cos(angle), math.sin(angle) }
  local up = { -along[2], along[1] }
  world:box { name = "slope", type = "static", position = { -0.5 * up[1], -0.5 * up[2] },
    size = { 20, 1 }, angle = angle, friction = mu }
  world:box { name = "box", position = { 5 * along[1] + 0.25 * up[1], 5 * along[2] + 0.25 * up[2] },
    size = { 1, 0.5 }, angle = angle, friction = mu }
  return world
end

if sim.is_main() then
  local angle, g = options.angle, 9.81
  for _, factor in ipairs { 1.01, 0.99 } do
    local world = build { angle = angle, factor = factor }
    local box = world.bodies.box
    world:run { duration = 1 }
    local speed = math.sqrt(box.vx ^ 2 + box.vy ^ 2)
    local mu = math.tan(angle) * factor
    local expected = math.max(0, g * (math.sin(angle) - mu * math.cos(angle)))
    print(("mu = %.2f tan: speed after 1 s is %.9f m/s, expected %.9f"):format(factor, speed, expected))
    assert(math.abs(speed - expected) < 1e-6)
  end
end

return build
