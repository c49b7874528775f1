-- Mass ratios up to 1e8 and inertias down to 1e-12: every step is solved, although the rounding of an impulse may be
-- large for the lightest body.
local sim = require "sim2d"

local STEPPINGS = { "auto", "speculative", "bisect" }
local WORLDS, STEPS = fewer(50, 15), 60

-- Steps random worlds that `build(world, r, k)` fills and asserts that each step is solved.
local function solved(seed, build)
  sim.random.seed(seed)
  local r = sim.random.split()
  for k = 1, WORLDS do
    local world, told = sim.world { stepping = STEPPINGS[k % 3 + 1] }, nil
    world:on("solver_warning", function(event) told = told or event.message end)
    build(world, r, k)
    for _ = 1, STEPS do
      world:step()
      ok(world:residuals().scaled <= world.tolerance, told)
    end
    eq(world:stats().unsolved_solves, 0, ("world %d: %s"):format(k, told))
  end
end

local function ground(world) world:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 }, friction = 0.6 } end

-- Masses of n bodies, from light to heavy by `ratio`: heavy on light, light on heavy, graded, in turns, random.
local function masses(r, k, n, ratio)
  local m = {}
  for i = 1, n do
    m[i] = ({ i == n and ratio or 1, i == 1 and ratio or 1, ratio ^ ((i - 1) / (n - 1)), i % 2 == 0 and ratio or 1,
      ratio ^ r:uniform(0, 1) })[k % 5 + 1]
  end
  return m
end

test("stacks", function()
  solved(1, function(world, r, k)
    ground(world)
    local n = r:integer(2, 6)
    for i, mass in ipairs(masses(r, k, n, 10 ^ r:uniform(5, 8))) do
      world:box { position = { r:uniform(-0.1, 0.1), i - 0.5 + 0.01 * i }, size = { 1, 1 }, mass = mass, friction = r:uniform(0, 1) }
    end
  end)
end)

test("chains of joints", function()
  solved(2, function(world, r, k)
    local n, last = r:integer(2, 8), nil
    for i, mass in ipairs(masses(r, k, n, 10 ^ r:uniform(3, 8))) do
      local link, kind = world:box { position = { i - 0.5, 0 }, size = { 1, 0.1 }, mass = mass }, r:integer(1, 5)
      if kind == 1 then
        world:distance { link, last, anchor_a = { i - 0.9, 0 }, anchor_b = { i - 1.1, 0 } }
      elseif kind == 2 then
        world:rope { link, last, anchor_a = { i - 0.9, 0 }, anchor_b = { i - 1.1, 0 }, max_length = 0.2 }
      else
        world:hinge { link, last, anchor = { i - 1, 0 }, limits = kind == 3 and { -0.3, 0.2 } or nil,
          motor = kind == 4 and { speed = 1, max_torque = 10 ^ r:uniform(0, 5) } or nil }
      end
      last = link
    end
  end)
end)

test("contacts of bodies without inertia", function()
  solved(3, function(world, r)
    ground(world)
    for i = 1, r:integer(1, 5) do
      local def = { position = { r:uniform(-2, 2), 0.5 + i * r:uniform(0.9, 1.3) }, mass = 1, friction = r:uniform(0, 1),
        inertia = 10 ^ r:uniform(-12, -6), velocity = { r:uniform(-3, 3), 0 } }
      if r:uniform(0, 1) < 0.5 then
        def.radius = ({ 0.5, 0.1, 0.01 })[r:integer(1, 3)]
        world:circle(def)
      else
        def.size = { r:uniform(0.2, 1), r:uniform(0.2, 1) }
        world:box(def)
      end
    end
  end)
end)

test("joints of point masses", function()
  solved(4, function(world, r)
    local last
    for i = 1, r:integer(1, 6) do
      local point = world:circle { position = { i, 0 }, radius = 0.05, mass = 10 ^ r:uniform(-1, 1), inertia = 10 ^ r:uniform(-12, -6) }
      local kind = r:integer(1, 3)
      if kind == 1 then
        world:hinge { point, last, anchor = { i - 1, 0 } }
      elseif kind == 2 then
        world:distance { point, last, anchor_a = { i, 0 }, anchor_b = { i - 1, 0 } }
      else
        world:weld { point, last, anchor = { i, 0 } }
      end
      last = point
    end
  end)
end)
