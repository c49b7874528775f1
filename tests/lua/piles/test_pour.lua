-- Piles in motion: each step is solved, whatever is poured; the last solve is not forgotten; derivatives go through.
local sim = require "sim2d"

local poured = require "tests.lua.poured"
local pour, state = poured.pour, poured.state

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
