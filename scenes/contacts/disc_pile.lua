-- Discs fall into a box and come to rest.
local sim = require "sim2d"

local options = sim.options { count = { 60, "discs" }, restitution = { 0.2, "bounciness, 0 to 1" } }

local function build(p)
  local count = p and p.count or options.count
  local world = sim.world { gravity = { 0, -10 }, dt = 1 / 120 }
  local e = options.restitution
  world:box { name = "floor", type = "static", position = { 0, -0.5 }, size = { 12, 1 },
    restitution = e }
  for side = -1, 1, 2 do
    world:box { type = "static", position = { 4.5 * side, 6 }, size = { 1, 12 }, restitution = e }
  end
  local random = sim.random.split()
  for i = 0, count - 1 do
    world:circle { radius = random:uniform(0.2, 0.45), restitution = e,
      position = { -3.3 + (i % 7) * 1.1 + random:uniform(-0.05, 0.05), 0.6 + (i // 7) * 1.1 } }
  end
  return world
end

if sim.is_main() then
  local world = build()
  local before = world:energy().total
  local worst, overlap = 0, 0
  for _ in world:steps(6) do
    local r = world:residuals()
    worst, overlap = math.max(worst, r.scaled), math.max(overlap, r.penetration)
  end
  local energy = world:energy()
  print(("%d discs lost %.1f J, %.1e J of motion are left"):format(options.count,
    before - energy.total, energy.kinetic))
  print(("worst residual %.1e, deepest overlap %.1e m"):format(worst, overlap))
  assert(energy.total < before and energy.kinetic < 1e-3)
  assert(worst <= 1e-9 and overlap < 1e-6)
end

return build
