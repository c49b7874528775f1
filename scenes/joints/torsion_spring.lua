-- A rod on a torsion spring and damper: it swings and comes to rest according to the closed form.
--
-- The hinge has `stiffness` k, `damping` d and `rest` r. With the inertia J about the pivot and without gravity, J x''
-- + d x' + k (x - r) = 0. The scene also contains a mass on a slider with a spring. The weight of the mass stretches
-- the spring by m g / k.
local sim = require "sim2d"

local K, D, REST = 12, 0.5, 0.4 -- units: N m/rad, N m s/rad, rad

local function build(p)
  p = p or {}
  local world = sim.world { gravity = { 0, -9.81 }, dt = p.dt or 1 / 1000, alpha = 0.5, beta = 0.5 }
  local rod = world:box { position = { 0.5, 0 }, size = { 1, 0.08 }, mass = 2, gravity_scale = 0, name = "rod" }
  world:hinge { rod, nil, anchor = { 0, 0 }, stiffness = K, damping = D, rest = REST, name = "spring" }
  local block = world:box { position = { 2, 0 }, size = { 0.3, 0.3 }, mass = 3, name = "block" }
  world:slider { block, nil, anchor = { 2, 0 }, axis = { 0, 1 }, stiffness = 200, damping = 20, name = "balance" }
  return world
end

if sim.is_main() then
  local world = build()
  local rod = world.bodies.rod
  local inertia = rod.inertia + rod.mass * 0.5 ^ 2
  local decay = D / (2 * inertia)
  local omega = math.sqrt(K / inertia - decay ^ 2)
  local worst = 0
  for _ in world:steps(2) do
    local t = world.time
    local x = REST * (1 - math.exp(-decay * t) * (math.cos(omega * t) + decay / omega * math.sin(omega * t)))
    worst = math.max(worst, math.abs(world.joints.spring.angle - x))
  end
  local down = world.joints.balance.translation
  print(("rod: J x'' + d x' + k (x - rest) = 0, within %.1e rad over 2 s"):format(worst))
  print(("block: down by %.6f m, m g / k = %.6f m"):format(-down, 3 * 9.81 / 200))
  assert(worst < 2e-5 and math.abs(down + 3 * 9.81 / 200) < 1e-3)
end

return build
