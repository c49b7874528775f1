-- A beam of boxes welded to each other and to a wall bends under its weight. A weld with compliance h / (E I)
-- represents a segment of the beam of length h. As the number of boxes grows, the deflection of the tip converges to
-- the result of thin-beam theory.
local sim = require "sim2d"

local options = sim.options { count = { 40, "boxes" } }

local LENGTH, MASS, STIFF, G = 4, 8, 10000, 9.81 -- units: m, kg, N m^2 (E I), m/s^2

local function build(p)
  local count = p and p.count or options.count
  local h = LENGTH / count
  local world = sim.world {}
  world:box { name = "wall", type = "static", position = { -0.25, 0 }, size = { 0.5, 2 } }
  local before = world.bodies.wall
  for i = 1, count do
    local piece = world:box { name = "piece" .. i, position = { h * (i - 0.5), 0 },
      size = { h, 0.12 }, mass = MASS / count }
    -- The segment at the wall bends only over half of its length.
    local angular = (i == 1 and h / 2 or h) / STIFF
    world:weld { piece, before, anchor = { h * (i - 1), 0 }, compliance = { angular = angular },
      damping = { angular = 0.3 / angular } }
    before = piece
  end
  return world
end

local function tip(count)
  local world = build { count = count }
  world:run { duration = 10 }
  assert(world:residuals().scaled <= 1e-9 and world:residuals().joint_error < 1e-9)
  local last = world.bodies["piece" .. count]
  return -last:world_point({ LENGTH / count / 2, 0 }).y
end

if sim.is_main() then
  local expected = MASS * G * LENGTH ^ 3 / (8 * STIFF) -- deflection q L^4 / (8 E I)
  local last = math.huge
  for _, count in ipairs { 10, 20, options.count } do
    local deflection = tip(count)
    local error = math.abs(deflection / expected - 1)
    print(("%3d boxes: the tip sinks by %.5f m, beam theory %.5f m"):format(count, deflection,
      expected))
    assert(error < last, "more boxes should be closer")
    last = error
  end
  assert(last < 2e-3, "too far from beam theory")
end

return build
