-- Atwood's machine: two weights on a rope over two pulleys, with one, two or three strands on one side. The rope pulls
-- one weight with the force T and the other weight with ratio T, where T (1/m_a + ratio^2/m_b) = g (1 + ratio). The
-- accelerations are constant, and the steps reproduce them up to rounding errors.
local sim = require "sim2d"

local G, HEIGHT = 9.81, 3
local MASS_A, MASS_B = 2, 3 -- kg

local function build(p)
  p = p or {}
  local world = sim.world { dt = p.dt or 1 / 240, gravity = { 0, -G } }
  local a = world:box { name = "a", position = { -1, 0 }, size = { 0.4, 0.4 }, mass = MASS_A }
  local b = world:box { name = "b", position = { 1, 0 }, size = { 0.5, 0.5 }, mass = MASS_B }
  world:pulley { a, b, ground_a = { -1, HEIGHT }, ground_b = { 1, HEIGHT }, ratio = p.ratio, name = "rope" }
  return world
end

if sim.is_main() then
  local TIME = 0.5
  for _, ratio in ipairs { 1, 2, 3 } do
    local world = build { ratio = ratio }
    local a, b, rope = world.bodies.a, world.bodies.b, world.joints.rope
    local length = rope.length
    world:run { duration = TIME }
    local pull = G * (1 + ratio) / (1 / MASS_A + ratio ^ 2 / MASS_B)
    local speed = (pull / MASS_A - G) * TIME
    print(("ratio %d: T = %.6f N, exactly %.6f; a at %+.6f m/s, exactly %+.6f"):format(ratio, rope.force.y, pull,
      a.vy, speed))
    assert(math.abs(rope.force.y / pull - 1) < 1e-9 and math.abs(a.vy - speed) < 1e-9)
    assert(math.abs(a.vy + ratio * b.vy) < 1e-9, "the strands keep the sum of the lengths")
    assert(math.abs(rope.length - length) < 1e-9, "the rope keeps its length")
  end
end

return build
