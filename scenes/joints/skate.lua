-- A skate on a tilted plane of ice turns at a constant rate and can move only along its edge. Instead of sliding down
-- the plane, it moves across the plane on a cycloid. With k = g sin(tilt) / (2 w^2), the distances are
--     down = k sin(w t)^2,    across = k (w t - sin(2 w t) / 2).
local sim = require "sim2d"

local PULL, OMEGA = 2, 1 -- acceleration down the plane (along -y) in m/s^2; turn rate in rad/s

local function build(p)
  p = p or {}
  local world = sim.world { gravity = { 0, -PULL }, dt = p.dt or 1 / 400 }
  local skate = world:box { name = "skate", size = { 0.3, 0.02 }, mass = 5, angle = -math.pi / 2,
    angular_velocity = OMEGA }
  world:constraint { name = "edge", bodies = { skate }, velocity_only = true,
    jacobian = function(q) return { 0, -math.sin(q.a), math.cos(q.a) } end }
  return world
end

if sim.is_main() then
  local last
  for _, n in ipairs { 100, 200, 400, 800 } do
    local world = build { dt = 1 / n }
    local skate, worst, lowest, k = world.bodies.skate, 0, 0, PULL / (2 * OMEGA ^ 2)
    for t in world:steps(2 * math.pi) do
      local down, across = k * math.sin(t) ^ 2, k * (t - math.sin(2 * t) / 2)
      worst = math.max(worst, math.sqrt((skate.y + down) ^ 2 + (skate.x - across) ^ 2))
      lowest = math.min(lowest, skate.y)
    end
    print(("dt = 1/%-3d  across %.4f m of %.4f, never lower than %.4f m; off the cycloid %.4f m")
      :format(n, skate.x, 2 * math.pi * k, lowest, worst))
    assert(worst < 8 / n)
    assert(not last or worst < 0.6 * last, "first order")
    last = worst
  end
end

return build
