-- A ball on a trampoline: small discs between springs. The ball loses energy to the motion of the net, which may return
-- some of this energy at a later bounce. The ball never rises above its initial height.
local sim = require "sim2d"

local options = sim.options { height = { 2, "of the fall, m" } }

local COUNT, SPACING, STIFFNESS = 24, 0.15, 20000

local function build(p)
  local height = p and p.height or options.height
  local world = sim.world { dt = 1 / 960 }
  local half = SPACING * (COUNT + 1) / 2
  world:box { name = "ground", type = "static", position = { 0, -1.25 }, size = { 8, 0.5 } }
  for side = -1, 1, 2 do
    world:box { type = "static", position = { side * (half + 0.1), -0.5 }, size = { 0.2, 1 } }
  end
  local before
  for i = 1, COUNT do
    local bead = world:circle { name = "bead" .. i, position = { SPACING * i - half, 0 },
      radius = 0.07, mass = 0.05, friction = 0.2, category = 2, mask = 1, gravity_scale = 0 }
    -- The springs are under tension from the start: they are an eighth longer than their rest length.
    world:spring { bead, before, anchor_b = before and before.position or { -half, 0 },
      stiffness = STIFFNESS, rest_length = SPACING / 1.125 }
    before = bead
  end
  world:spring { before, nil, anchor_b = { half, 0 }, stiffness = STIFFNESS,
    rest_length = SPACING / 1.125 }
  world:circle { name = "ball", position = { 0, height + 0.32 }, radius = 0.25, mass = 10,
    friction = 0.2, color = "#c0504d" }
  return world
end

if sim.is_main() then
  local world = build()
  local ball = world.bodies.ball
  local start, gained, tops, rising, lowest = world:energy().total, 0, {}, false, 0
  for _ in world:steps(5) do
    gained = math.max(gained, world:energy().total - start)
    lowest = math.min(lowest, ball.y)
    if ball.vy > 0 and ball.y > 0.5 then
      rising = true
    elseif rising and ball.vy <= 0 then
      rising = false
      tops[#tops + 1] = ball.y - 0.32
    end
  end
  print(("the net gives by %.3f m"):format(0.32 - lowest))
  for i, top in ipairs(tops) do
    print(("bounce %d rises to %.4f m of %.4f m"):format(i, top, options.height))
    assert(top < options.height, "it rose above where it was let go")
  end
  print(("energy was never above that of the start by more than %.1e J"):format(gained))
  assert(#tops >= 2 and tops[1] > 0.5 * options.height and gained < 1e-6)
end

return build
