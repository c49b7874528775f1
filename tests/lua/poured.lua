-- Piles of poured bodies, for the tests of piles in motion.
local sim = require "sim2d"

local WALLS = { { { -1, 0 }, { 1, 0 } }, { { -1, 0 }, { -1, 9 } }, { { 1, 0 }, { 1, 9 } } }
local poured = {}

-- `count` bodies of about a metre in rows above each other, between walls. p has settings of the world (stepping,
-- contact, tolerance, budget, substeps), of the bodies (friction, restitution, ratio of densities, boxes), the
-- `velocity` of the last disc, `joints` between some bodies, and the `seed`.
function poured.pour(p)
  local random = sim.random.split()
  random:seed(p.seed or 1)
  local world = sim.world { dt = 1 / 60, gravity = { 0, -10 }, stepping = p.stepping, flow = p.flow, contact = p.contact, tolerance = p.tolerance,
    budget = p.budget, substeps = p.substeps }
  local half = math.ceil(math.sqrt(p.count)) * 0.55 + 1
  for _, w in ipairs(WALLS) do
    world:segment { from = { w[1][1] * half, w[1][2] * 10 }, to = { w[2][1] * half, w[2][2] * 10 }, friction = 0.6 }
  end
  local row, bodies = math.floor(2 * half / 1.15) - 1, {}
  for i = 0, p.count - 1 do
    local def = { friction = p.friction or 0.6, restitution = p.restitution, density = (p.ratio or 1) ^ random:uniform(0, 1),
      position = { -half + 0.85 + (i % row) * 1.15 + random:uniform(-0.04, 0.04), 0.6 + (i // row) * 1.15 }, angle = random:uniform(0, 3) }
    if p.boxes then
      def.size = { 0.75, 0.75 }
      bodies[i + 1] = world:box(def)
    else
      def.radius = 0.5
      if i == p.count - 1 then def.velocity = p.velocity end
      bodies[i + 1] = world:circle(def)
    end
    if p.joints and i % row > 0 and i % 3 == 1 then -- pairs
      local a, b = bodies[i], bodies[i + 1]
      world:distance { a, b, length = math.sqrt((a.x - b.x) ^ 2 + (a.y - b.y) ^ 2) }
    end
  end
  return world, bodies
end

-- The positions of all bodies, with every bit.
function poured.state(bodies)
  local words = {}
  for i, body in ipairs(bodies) do words[i] = ("%a %a %a %a"):format(body.x, body.y, body.angle, body.omega) end
  return table.concat(words, " ")
end

return poured
