-- Accuracy of the default step: errors, energies and slips of scenes whose exact values are known. Each row shows the
-- figure at 1/120 s (or at the step it names), the order of convergence between that step and half of it, and the bar.
--   build/sim2d bench/lua/accuracy.lua
-- An older program runs the same file, as no row names a flow:
--   OLD/build/sim2d bench/lua/accuracy.lua
local sim = require "sim2d"
package.path = (arg[0]:match "^(.*/)" or "./") .. "../../tests/lua/?.lua;" .. package.path
local scenes = require "order_scenes"
local args = sim.options { placements = { 1000, "of a box on a bend" }, scenes = { 100, "of boxes thrown to rest" } }
local random = sim.random

local rows = {}
local function row(what, value, order, bar)
  rows[#rows + 1] = { what, value, order and ("%.2f"):format(order) or "", bar }
end

-- The figures of `run(dt)` at 1/n s and at half of it.
local function converging(what, n, run, bar)
  local coarse, fine = run(1 / n), run(0.5 / n)
  row(what, coarse, math.log(coarse / fine, 2), bar)
end

local function steps(world, seconds, each)
  for _ = 1, math.floor(seconds / world.dt + 0.5) do
    world:step()
    if each then each() end
  end
end

-- ---- Joints and forces --------------------------------------------------------------------------

-- Largest change of the energy of two rods that start level.
converging("double pendulum, 10 s: change of energy, J", 120, function(dt)
  local world = sim.world { gravity = { 0, -10 }, dt = dt }
  local a = world:box { size = { 1, 0.1 }, mass = 1, position = { 0.5, 0 }, mask = 0 }
  local b = world:box { size = { 1, 0.1 }, mass = 1, position = { 1.5, 0 }, mask = 0 }
  world:hinge { a, anchor = { 0, 0 } }
  world:hinge { b, a, anchor = { 1, 0 } }
  local start, worst = world:energy().total, 0
  steps(world, 10, function() worst = math.max(worst, math.abs(world:energy().total - start)) end)
  return worst
end, 0.09)

-- A force law k/m = 100 s^-2 (undamped: share of the energy gained or lost within `seconds`).
local K = 100
local SPRINGS = {
  ["on a free body"] = function(world)
    local body = world:circle { radius = 0.1, mass = 1, position = { 1, 0 } }
    body:force_law(function(q) return 0, -K * q.x, 0 end)
    return function() return 0.5 * K * body.x ^ 2 end
  end,
  ["on a hinge"] = function(world)
    local body = world:box { size = { 1, 0.1 }, mass = 1, position = { 0.5, 0 }, angle = 0 }
    local inertia = body.inertia + 0.25
    world:hinge { body, anchor = { 0, 0 } }
    body.angular_velocity = 5
    body:force_law(function(q) return -K * inertia * q.angle, 0, 0 end)
    return function() return 0.5 * K * inertia * body.angle ^ 2 end
  end,
  ["in a chain of 10"] = function(world)
    local last, bodies = nil, {}
    for i = 1, 10 do
      local body = world:box { size = { 0.2, 0.05 }, mass = 1, position = { 0.2 * i - 0.1, 0 }, mask = 0 }
      world:hinge { body, last, anchor = { 0.2 * (i - 1), 0 } }
      body:force_law(function(q) return 0, 0, -K * q.y end)
      bodies[i], last = body, body
    end
    last.velocity = { 0, 1 }
    return function()
      local sum = 0
      for _, body in ipairs(bodies) do sum = sum + 0.5 * K * body.y ^ 2 end
      return sum
    end
  end,
}
for _, name in ipairs { "on a free body", "on a hinge", "in a chain of 10" } do
  converging("spring as a force law " .. name .. ", 100 s at 1/60 s: change of energy, share", 60, function(dt)
    local world = sim.world { gravity = { 0, 0 }, dt = dt }
    local potential = SPRINGS[name](world)
    local start, worst
    steps(world, 100, function()
      local energy = world:energy().kinetic + potential()
      start = start or energy
      worst = math.max(worst or 0, math.abs(energy / start - 1))
    end)
    return worst
  end, 0.02)
end
converging("the same with a damper (0.1 critical), 2 s: place, m", 120, function(dt)
  local world = sim.world { gravity = { 0, 0 }, dt = dt }
  local body = world:circle { radius = 0.1, mass = 1, position = { 1, 0 } }
  body:force_law(function(q) return 0, -K * q.x - 2 * q.vx, 0 end)
  steps(world, 2)
  local w = math.sqrt(K - 1)
  return math.abs(body.x - math.exp(-2) * (math.cos(2 * w) + math.sin(2 * w) / w))
end)

-- A rod on a hinge with friction, let go level: the energy lost against the work of friction.
local function rubbed(friction, dt)
  local world = sim.world { gravity = { 0, -10 }, dt = dt }
  local body = world:box { size = { 1, 0.1 }, mass = 1, position = { 0.5, 0 } }
  world:hinge { body, anchor = { 0, 0 }, friction = friction }
  local start, way, before = world:energy().total, 0, 0
  steps(world, 10, function()
    way, before = way + math.abs(body.angle - before), body.angle
  end)
  return start - world:energy().total, friction * way
end
converging("friction of a hinge 0.05 N m, 10 s: energy lost less its work, J", 120, function(dt)
  local lost, work = rubbed(0.05, dt)
  return math.abs(lost - work)
end, 3e-3)
row("friction of a hinge 1e-15 N m against none, 10 s: energy, J", math.abs(rubbed(1e-15, 1 / 120) - rubbed(0, 1 / 120)), nil, 1e-9)

-- A cart with a pole, let go level: against the same at 1/7680 s.
local function cart_pole(dt)
  local world = sim.world { gravity = { 0, -9.81 }, dt = dt }
  local cart = world:box { size = { 0.4, 0.2 }, mass = 1, mask = 0 }
  local pole = world:box { size = { 0.05, 1 }, mass = 0.3, position = { 0.5, 0 }, angle = -math.pi / 2, mask = 0 }
  world:slider { cart, anchor = { 0, 0 }, axis = { 1, 0 } }
  world:hinge { pole, cart, anchor = { 0, 0 } }
  steps(world, 3)
  return { cart.x, pole.angle }
end
local exact = cart_pole(1 / 7680)
converging("cart with a pole, 3 s: place or angle, m", 120, function(dt)
  local now = cart_pole(dt)
  return math.max(math.abs(now[1] - exact[1]), math.abs(now[2] - exact[2]))
end, 2.2e-3)

-- Eight links on soft hinges, let go level at 1/240 s: the most that the energy rises, over m g L/2.
for _, compliance in ipairs { 1e-6, 1e-8, 1e-10 } do
  local world = sim.world { gravity = { 0, -10 }, dt = 1 / 240 }
  local last
  for i = 1, 8 do
    local body = world:box { size = { 0.25, 0.05 }, mass = 1, position = { 0.25 * i - 0.125, 0 }, mask = 0 }
    world:hinge { body, last, anchor = { 0.25 * (i - 1), 0 }, compliance = compliance }
    last = body
  end
  local start, gain = world:energy().total, 0
  steps(world, 4, function() gain = math.max(gain, world:energy().total - start) end)
  row(("eight links on hinges of %g m/N, 4 s at 1/240 s: gain, m g L/2"):format(compliance), gain / (8 * 10 * 1), nil, 1e-6)
end

-- ---- Contacts -----------------------------------------------------------------------------------

local BARS = { tipping = 7e-5, incline05 = 2e-5, rocking = 5e-6, ladder04 = 8e-6, hopper = 6e-5 }
for _, name in ipairs { "tipping", "incline05", "rocking", "ladder04", "hopper" } do
  converging(name .. " (tests/lua/order_scenes.lua)", 120, function(dt)
    return scenes.error(name, math.floor(1 / dt + 0.5), {})
  end, BARS[name])
end

-- A pendulum let go level that strikes a wall below its hinge (e = 0.8), against the same at 1/7680 s.
local function wall_pendulum(dt)
  local world = sim.world { gravity = { 0, -9.81 }, dt = dt }
  world:box { type = "static", position = { -0.5, -1 }, size = { 0.9, 4 }, restitution = 0.8, friction = 0 }
  local bob = world:circle { radius = 0.05, mass = 1, position = { 1, 0 }, restitution = 0.8, friction = 0 }
  world:hinge { bob, anchor = { 0, 0 } }
  steps(world, 2)
  return bob.angle
end
local angle = wall_pendulum(1 / 7680)
converging("pendulum against a wall, e = 0.8, 2 s: angle, rad", 120, function(dt) return math.abs(wall_pendulum(dt) - angle) end, 3e-4)

-- A box is put on a bend of the ground with a small overlap. Jumps are counted by audits, as a box that tips, lands and
-- stops within the step also moves along the ground. The second row is the way beyond that of a box that tips and of
-- its velocity at the end.
local jumps, farthest = 0, 0
local audits = pcall(sim.world, { audit = true }) -- older programs have none
for _ = 1, args.placements do
  local bend, overlap = 10 ^ random:uniform(-6, -2), 10 ^ random:uniform(-6, -3)
  local world = sim.world { dt = 1 / 60, audit = audits or nil }
  world:on("solver_warning", function() end)
  world:chain { points = { { -5, 0 }, { 0, 0 }, { 5, -5 * bend } } }
  local box = world:box { size = { 1, 0.5 }, position = { random:uniform(-0.4, 0.4), 0.25 - overlap } }
  local x = box.x
  world:step()
  local moved = math.abs(box.x - x) - 0.25 * math.abs(box.angle) - math.abs(box.vx) * world.dt
  jumps, farthest = jumps + math.min(1, audits and world:stats().jumps or 0), math.max(farthest, moved)
  world:close()
end
if audits then row(("box on a bend: placements of %d with a jump"):format(args.placements), jumps, nil, 0) end
row("box on a bend: farthest unexplained way, m", farthest)

-- A box slides without friction over bends of 1e-7 m at 1/60 s: share of its energy lost.
local mean, worst, count = 0, 0, 0
for _, speed in ipairs { 0.1, 0.3, 1 } do
  for _ = 1, 20 do
    local points = {}
    for i = 0, 8 do points[i + 1] = { 0.5 * i - 1, 1e-7 * random:uniform(-1, 1) } end
    local world = sim.world { dt = 1 / 60 }
    world:chain { points = points, friction = 0 }
    local box = world:box { size = { 0.6, 0.3 }, position = { 0, 0.1502 }, friction = 0, mass = 1 }
    steps(world, 1)
    box.velocity = { speed, 0 }
    steps(world, math.min(1.5 / speed, 5))
    local lost = 1 - (box.vx ^ 2 + box.vy ^ 2) / speed ^ 2
    mean, worst, count = mean + math.abs(lost), math.max(worst, math.abs(lost)), count + 1
  end
end
row("frictionless box over bends of 1e-7 m: mean share of energy lost", mean / count, nil, 2e-4)
row("frictionless box over bends of 1e-7 m: largest share lost", worst)

-- A box stands on a platform that moves sideways (friction holds), and on a lift.
local function smooth(t)
  local s = math.min(math.max(t / 2.5, 0), 1)
  return 2 * (10 * s ^ 3 - 15 * s ^ 4 + 6 * s ^ 5)
end
for _, n in ipairs { 60, 120 } do
  local world = sim.world { dt = 1 / n }
  local platform = world:box { type = "kinematic", size = { 4, 0.2 }, friction = 0.8 }
  platform:motion(function(t) return smooth(t), 0, 0 end)
  local box = world:box { size = { 0.4, 0.4 }, position = { 0, 0.3 }, friction = 0.8 }
  local slip = 0
  steps(world, 3, function() slip = math.max(slip, math.abs(box.x - platform.x)) end)
  row(("platform moved sideways, 1/%d s: slip, m"):format(n), slip, nil, 1e-12)
end

-- ---- Rest ---------------------------------------------------------------------------------------

-- Boxes are thrown on a floor. Scenes with motion after 6 s, and the most that a world's energy rises above its lowest
-- value so far, over the energy that it began with.
local function thrown(dt)
  local draw, awake, sway, above = sim.random:split(3), 0, 0, 0
  for _ = 1, args.scenes do
    local world = sim.world { dt = dt }
    world:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 }, friction = draw:uniform(0.3, 1) }
    local box = world:box { size = { draw:uniform(0.3, 1), draw:uniform(0.3, 1) }, position = { 0, draw:uniform(0.75, 2) }, mass = 1,
      angle = draw:uniform(-3, 3), velocity = { draw:uniform(-4, 4), draw:uniform(-3, 3) }, angular_velocity = draw:uniform(-8, 8),
      friction = draw:uniform(0.3, 1), restitution = draw:uniform(0, 1) < 0.5 and 0.3 or 0 }
    local start = world:energy().total
    local least = start
    local moves = box.vx ^ 2 / 2 + box.vy ^ 2 / 2 + box.inertia * box.angular_velocity ^ 2 / 2 + 9.81 * box.y
    steps(world, 6, function()
      local energy = world:energy().total
      sway = math.max(sway, (energy - least) / moves)
      above = math.max(above, (energy - start) / moves)
      least = math.min(least, energy)
    end)
    if math.abs(box.vx) + math.abs(box.vy) + math.abs(box.angular_velocity) > 1e-9 then awake = awake + 1 end
    world:close()
  end
  return sway, awake, above
end
local sway, awake, above = thrown(1 / 120)
row(("thrown boxes: of %d in motion after 6 s"):format(args.scenes), awake, nil, 0)
row("thrown boxes: rise of the energy, share", sway, math.log(sway / thrown(1 / 240), 2), 1e-4)
row("thrown boxes: energy above its start, share", above, nil, 0)

sim.table { columns = { "what", { "figure", format = "%.2e" }, "order", { "bar", format = "%.1e" } }, table.unpack(rows) }
