-- contact = "convex": sliding bodies rise as the model predicts, rest and sticking are Coulomb's, every pour is solved,
-- and derivatives exist.
local sim = require "sim2d"
local pour = require("tests.lua.poured").pour

local DT, MU, V, G = 0.01, 0.4, 1, 9.81

local function slide(contact, p)
  p = p or {}
  local world = sim.world { dt = DT, contact = contact, stepping = "speculative", gravity = { 0, -G } }
  world:segment { from = { -10, 0 }, to = { 10, 0 }, friction = p.mu or MU }
  local box = world:box { size = { 1, 1 }, position = { 0, 0.5 }, velocity = { p.v or V, 0 }, friction = p.mu or MU }
  return world, box
end

test("a box slides above a cushion of dt mu v and comes to rest on the floor", function()
  local world, box = slide "convex"
  world:step()
  near(box.vy, MU * box.vx, 1e-12)
  -- It leaps at first, as high as that speed takes it; from then on the gap is at least the lift of a step at this
  -- speed.
  for _ = 2, 20 do
    world:step()
    ok(box.y - 0.5 >= DT * MU * box.vx - 1e-9)
    ok(box.y - 0.5 <= (MU * V) ^ 2 / (2 * G) + DT * MU * V)
  end
  for _ = 1, 40 do world:step() end
  near(box.y, 0.5, 1e-9)
  eq(world:stats().unsolved_solves, 0)
  local coulomb, other = slide "coulomb"
  for _ = 1, 45 do coulomb:step() end
  near(box.x, other.x, MU * G * DT * DT) -- as far, except for a part of a step
end)

test("sticking obeys Coulomb's law", function()
  local rest = {}
  for i, contact in ipairs { "coulomb", "convex" } do
    local world = sim.world { dt = DT, contact = contact, stepping = "speculative" }
    world:segment { from = { -5, -1 }, to = { 5, 1 }, friction = 0.5 } -- a slope of 0.2
    local box = world:box { size = { 1, 1 }, position = { -0.5 * math.sin(math.atan(0.2)), 0.5 * math.cos(math.atan(0.2)) },
      angle = math.atan(0.2), friction = 0.5 }
    for _ = 1, 100 do world:step() end
    rest[i] = { box.x, box.y, box.angle }
    eq(world:stats().unsolved_solves, 0)
  end
  for c = 1, 3 do near(rest[2][c], rest[1][c], 1e-8) end
end)

for name, p in pairs { discs = {}, rough = { friction = 1.5 }, bouncing = { restitution = 0.4 }, heavy = { ratio = 100 }, boxes = { boxes = true } } do
  test("all steps of a pour are solved: " .. name, function()
    p.count, p.contact = 80, "convex"
    local world, bodies = pour(p)
    local before = world:energy().total
    for _ = 1, 90 do world:step() end
    eq(world:stats().unsolved_solves, 0)
    ok(world:residuals().scaled <= 1e-9 and world:residuals().penetration < 1e-8)
    ok(world:energy().total < before)
    for _, body in ipairs(bodies) do ok(body.y > 0.3 and body.y < 14) end
  end)
end

local function differ(worth, p, h, tolerance)
  local _, gradient = sim.value_and_grad(worth, p)
  for key in pairs(p) do
    local more, less = {}, {}
    for k, value in pairs(p) do more[k], less[k] = value, value end
    more[key], less[key] = p[key] + h, p[key] - h
    local difference = (worth(more) - worth(less)) / (2 * h)
    ok(math.abs(difference) > 1e-3, key)
    near(gradient[key], difference, tolerance * math.abs(difference))
  end
end

test("derivatives of a slide", function()
  differ(function(p)
    local world, box = slide("convex", p)
    for _ = 1, 15 do world:step() end
    return box.x + 3 * box.y + box.vx * box.vy
  end, { mu = 0.3, v = 2 }, 1e-6, 1e-7)
end)

test("derivatives through a pour of 50 discs", function()
  differ(function(p)
    -- otherwise differences are noise
    local world, bodies = pour { count = 50, contact = "convex", friction = p.mu, velocity = { p.vx, -2 }, tolerance = 1e-12 }
    for _ = 1, 40 do world:step() end
    local sum = 0
    for _, body in ipairs(bodies) do sum = sum + body.x * body.x + 0.5 * body.y + 0.1 * body.angle end
    return sum
  end, { mu = 0.4, vx = 0.3 }, 1e-5, 1e-6)
end)

test("the problem of a world is convex", function()
  local world = slide "convex"
  local problem = world:problem()
  eq(#problem.J, 4)
  eq(problem.contacts, 0) -- rows of friction
  for i, row in ipairs(problem.J) do
    near(math.abs(row[2]), MU, 1e-12)
    near(math.abs(row[3]), 1, 1e-12)
    eq(problem.lo[i], 0)
    eq(problem.hi[i], math.huge)
  end
end)

test("soft contacts keep Coulomb's law", function()
  local heights = {}
  for i, contact in ipairs { "coulomb", "convex" } do
    local world = sim.world { dt = DT, contact = contact, stepping = "speculative" }
    world:segment { from = { -10, 0 }, to = { 10, 0 }, friction = MU }
    local box = world:box { size = { 1, 1 }, position = { 0, 0.5 }, velocity = { V, 0 }, friction = MU, contact_compliance = 1e-4, contact_damping = 100 }
    for _ = 1, 30 do world:step() end
    heights[i] = box.y
  end
  eq(heights[1], heights[2])
end)

test("belts that run against each other contradict each other, which is reported", function()
  local world = sim.world { dt = DT, contact = "convex", gravity = { 0, -G } }
  world:box { size = { 4, 1 }, position = { 0, -0.5 }, type = "static", friction = 1, surface_speed = 1 }
  world:box { size = { 4, 1 }, position = { 0, 1.5 }, type = "static", friction = 1, surface_speed = 1 }
  world:box { size = { 1, 1 }, position = { 0, 0.5 }, friction = 1 }
  world:step()
  eq(world:stats().unsolved_solves, 1)
end)

test("options that exclude it", function()
  raises("contact convex", function() sim.world { contact = "convex", stepping = "event" } end)
  raises("contact convex", function() sim.world { contact = "convex", stepping = "bisect" } end)
  raises("contact convex", function() sim.world { contact = "convex", restitution_model = "reflections" } end)
  local world = slide "convex"
  raises("contact 'coulomb'", function() world:lcs() end)
  raises("contact", function() sim.world { contact = "convexe" } end)
end)
