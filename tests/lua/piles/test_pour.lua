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

-- Boxes whose corners pass each other ask for other rows than those that were solved for; now and then these have no solution
-- that is found soon.
test("rows that are not solved for stay as they were", function()
  local def = { count = 80, boxes = true, stepping = "speculative", seed = 10 }
  local world, bodies = pour(def)
  local before, steps, snapshot = energy(world), 0, nil
  repeat
    snapshot = world:snapshot()
    world:step()
    steps = steps + 1
    local now = energy(world)
    ok(now <= before * (1 + 1e-12))
    before = now
  until world:stats().rows_stayed > 0 or steps == 120
  ok(world:stats().rows_stayed > 0)
  eq(world:stats().unsolved, 0)
  ok(world:residuals().scaled <= 1e-9)
  ok(world:residuals().penetration < 1e-8)
  -- The same bits again; and the derivative is that of the rows that stayed.
  local after = state(bodies)
  world:restore(snapshot)
  world:step()
  eq(state(bodies), after)
  local function worth(p)
    world:restore(snapshot)
    bodies[80].velocity = { p.vx, bodies[80].vy }
    world:step()
    local sum = 0
    for i, body in ipairs(bodies) do sum = sum + body.x * (i % 7) + 0.5 * body.y * (i % 5) + 0.1 * body.vx end
    return sum
  end
  local vx, h = bodies[80].vx, 1e-5
  local value, gradient = sim.value_and_grad(worth, { vx = vx })
  eq(value, worth { vx = vx })
  local difference = (worth { vx = vx + h } - worth { vx = vx - h }) / (2 * h)
  near(gradient.vx, difference, 1e-6 * math.abs(difference))
end)

-- Momentum of each body, as its velocity.
local function momenta(bodies)
  local all = {}
  for i, b in ipairs(bodies) do all[i] = { b.inertia * b.omega, b.mass * b.vx, b.mass * b.vy } end
  return all
end

-- Since `before` weight, contacts and what the stepping took back have changed the momentum of each body, to rounding. The
-- largest of what was taken back from one.
local function audit_momentum(world, bodies, before)
  local now, most = momenta(bodies), 0
  for i, b in ipairs(bodies) do
    local x, y, angular = b:net_contact_impulse()
    local back_x, back_y, back_angular = b:net_correction()
    local size = math.abs(x) + math.abs(y) + b.mass * (math.abs(b.vx) + math.abs(b.vy) + math.abs(b.omega) + 1)
    near(now[i][1] - before[i][1], angular + back_angular, 1e-12 * size)
    near(now[i][2] - before[i][2], x + back_x, 1e-12 * size)
    near(now[i][3] - before[i][3], y + back_y + b.mass * world.gravity[2] * world.dt, 1e-12 * size)
    most = math.max(most, math.abs(back_x), math.abs(back_y))
  end
  return most
end

-- Speculative steps lift nobody here, so that there is nothing to take back.
for stepping, takes_back in pairs { auto = true, event = true, speculative = false } do
  test("momentum of each body is what acted on it: " .. stepping, function()
    local world, bodies = pour { count = 60, stepping = stepping, boxes = stepping ~= "event", seed = 4 }
    local most = 0
    for _ = 1, 80 do
      local before = momenta(bodies)
      world:step()
      most = math.max(most, audit_momentum(world, bodies, before))
    end
    eq(world:stats().unsolved, 0)
    eq(most > 1e-6, takes_back)
  end)
end

test("a step that is not solved for as a whole is made by halves", function()
  local world, bodies = pour { count = 60, boxes = true, friction = 1.2, stepping = "auto", seed = 35 }
  local before, steps, snapshot, made_anew = energy(world), 0, nil, 0
  local start
  repeat
    snapshot, start = world:snapshot(), momenta(bodies)
    local made = world:stats().relinearisations
    world:step()
    made_anew = world:stats().relinearisations - made
    steps = steps + 1
    local now = energy(world)
    ok(now <= before * (1 + 1e-12))
    before = now
  until world:stats().halved > 0 or steps == 100
  ok(world:stats().halved > 0)
  ok(made_anew > 0) -- in the first half; the points of the second are its own
  eq(world:stats().unsolved, 0)
  ok(world:residuals().scaled <= 1e-9)
  near(world.time, steps * world.dt, 1e-12)
  audit_momentum(world, bodies, start) -- what acted in both halves
  local after = state(bodies)
  world:restore(snapshot)
  world:step()
  eq(state(bodies), after)
  world:restore(snapshot)
  -- The derivative goes through both halves, whose length is that of the step.
  local function worth(p)
    world:restore(snapshot)
    world.dt = p.dt
    bodies[20].velocity = { p.vx, bodies[20].vy }
    local halved = world:stats().halved
    world:step()
    ok(world:stats().halved > halved) -- else it would be another step
    local all = 0
    for i, body in ipairs(bodies) do all = all + body.x * (i % 7) + 0.5 * body.y * (i % 5) + 0.1 * body.vx end
    return all
  end
  local p, h = { vx = bodies[20].vx, dt = world.dt }, 1e-5
  local value, gradient = sim.value_and_grad(worth, p)
  eq(value, worth(p))
  for key in pairs(p) do
    local more, less = { vx = p.vx, dt = p.dt }, { vx = p.vx, dt = p.dt }
    more[key], less[key] = p[key] + h, p[key] - h
    local difference = (worth(more) - worth(less)) / (2 * h)
    near(gradient[key], difference, 2e-6 * math.abs(difference))
  end
end)
