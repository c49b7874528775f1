-- Piles in motion: each step is solved, whatever is poured; the last solve is not forgotten; derivatives go through.
local sim = require "sim2d"

local WALLS = { { { -1, 0 }, { 1, 0 } }, { { -1, 0 }, { -1, 9 } }, { { 1, 0 }, { 1, 9 } } }

-- `count` bodies of about a metre in rows above each other, between walls.
local function pour(p)
  local random = sim.random.split()
  random:seed(p.seed or 1)
  local world = sim.world { dt = 1 / 60, gravity = { 0, -10 }, stepping = p.stepping, tolerance = p.tolerance }
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

local function energy(world) return world:energy().total end

local POURS = {
  discs = {}, slippery = { friction = 0.1 }, rough = { friction = 1.2 }, bouncing = { restitution = 0.4 }, heavy = { ratio = 100 },
  boxes = { boxes = true, count = 40 }, pairs = { joints = true }, ["by events"] = { stepping = "event" },
}
for name, p in pairs(POURS) do
  test("all steps are solved: " .. name, function()
    local def = { count = 60, stepping = "speculative" }
    for key, value in pairs(p) do def[key] = value end
    local world, bodies = pour(def)
    local before = energy(world)
    for _ = 1, 90 do world:step() end
    local stats = world:stats()
    eq(stats.unsolved, 0)
    ok(world:residuals().scaled <= 1e-9)
    ok(energy(world) < before)
    for _, body in ipairs(bodies) do ok(body.y > 0.3 and body.y < 12) end
  end)
end

test("a search that is repeated begins at what the last one found", function()
  local world = pour { count = 100, stepping = "speculative" }
  for _ = 1, 80 do world:step() end
  local before = world:stats()
  for _ = 1, 40 do world:step() end
  local stats = world:stats()
  ok(stats.relinearisations > before.relinearisations) -- otherwise nothing is repeated
  -- Factorisations, which no machine changes: 88 a step, and 139 where each search begins at the last step's impulses.
  local mean = (stats.iterations - before.iterations) / 40
  ok(mean < 110, mean)
end)

test("the same bits again, and from a snapshot", function()
  local world, bodies = pour { count = 60, stepping = "speculative" }
  local other, others = pour { count = 60, stepping = "speculative" }
  local function state(list)
    local words = {}
    for i, body in ipairs(list) do words[i] = ("%a %a %a %a"):format(body.x, body.y, body.angle, body.omega) end
    return table.concat(words, " ")
  end
  for _ = 1, 60 do world:step() end
  for _ = 1, 60 do other:step() end
  eq(state(bodies), state(others))
  local kept = world:snapshot()
  for _ = 1, 20 do world:step() end
  local there = state(bodies)
  world:restore(kept)
  for _ = 1, 20 do world:step() end
  eq(state(bodies), there)
end)

-- Speculative steps: what events meet when is rounded to 1e-8 here, and differences of that are no measure.
test("derivatives through a pour of 50 discs", function()
  local function worth(p)
    local world, bodies = pour { count = 50, stepping = "speculative", friction = p.mu, velocity = { p.vx, -2 }, tolerance = 1e-12 }
    for _ = 1, 40 do world:step() end
    local sum = 0
    for _, body in ipairs(bodies) do sum = sum + body.x * body.x + 0.5 * body.y + 0.1 * body.angle end
    return sum
  end
  local p, h = { mu = 0.4, vx = 0.3 }, 1e-5
  local _, gradient = sim.value_and_grad(worth, p)
  for key in pairs(p) do
    local more, less = { mu = p.mu, vx = p.vx }, { mu = p.mu, vx = p.vx }
    more[key], less[key] = p[key] + h, p[key] - h
    local difference = (worth(more) - worth(less)) / (2 * h)
    ok(math.abs(difference) > 0.1)
    near(gradient[key], difference, 1e-6 * math.abs(difference))
  end
end)
