-- The default stepping: bounces have the right places and times, and so have their derivatives; heaps are flagged.
-- tests/dynamics/schemes/test_auto.c tests which island uses which stepping.
local sim = require "sim2d"

local G = 9.81

-- Height after t of a ball dropped from h, with restitution e, by sums over its flights.
local function bounced(h, e, t)
  local fall = sim.sqrt(2 * h / G)
  local v, s = G * fall * e, t - fall
  while s > 2 * v / G do s, v = s - 2 * v / G, v * e end
  return v * s - G * s * s / 2
end

local function ball(p, dt, beside)
  local w = sim.world { gravity = { 0, -G }, dt = dt }
  w:box { type = "static", position = { 0, -1 }, size = { 40, 2 }, restitution = p.e }
  if beside then beside(w) end
  local b = w:circle { radius = 0.2, position = { -4, 0.2 + p.h }, restitution = p.e }
  w:run { duration = 1.5, progress = false }
  return b.y - 0.2
end

test("a bounce and its derivatives agree with the closed form, at any dt", function()
  local p = { h = 1, e = 0.8 }
  local value, g = sim.value_and_grad(function(q) return bounced(q.h, q.e, 1.5) end, p)
  for _, dt in ipairs { 1 / 20, 1 / 60, 1 / 120 } do
    local got, slopes = sim.value_and_grad(function(q) return ball(q, dt) end, p)
    near(got, value, 1e-12)
    near(slopes.h, g.h, 1e-9)
    near(slopes.e, g.e, 1e-9)
    eq(sim.tape_stats().flags, {})
  end
end)

test("the same beside a heap, without a warning", function()
  local function heap(w)
    for i = 0, 11 do w:box { size = { 0.2, 0.2 }, position = { 3 + 0.21 * (i % 2), 0.15 + 0.25 * (i // 2) } } end
  end
  local p = { h = 1, e = 0.7 }
  local value, g = sim.value_and_grad(function(q) return bounced(q.h, q.e, 1.5) end, p)
  local got, slopes = sim.value_and_grad(function(q) return ball(q, 1 / 60, heap) end, p)
  near(got, value, 1e-12)
  near(slopes.h, g.h, 1e-9)
  eq(sim.tape_stats().flags, {})
end)

test("a hopper that lands has the derivative of its motion", function()
  local function hop(p)
    local w = sim.world { dt = 1 / 120 }
    w:box { type = "static", position = { 0, -0.5 }, size = { 10, 1 } }
    local body = w:box { size = { 0.4, 0.2 }, position = { 0, 0.7 + p.h }, mass = 2, mask = 0 }
    local foot = w:circle { radius = 0.05, position = { 0, 0.35 + p.h }, mass = 0.2 }
    w:slider { foot, body, anchor = { 0, 0.35 + p.h }, axis = { 0, 1 } }
    w:spring { foot, body, stiffness = 400, damping = 4, rest_length = 0.35 }
    w:slider { body, anchor = { 0, 0.7 }, axis = { 0, 1 } }
    w:run { steps = 60, progress = false }
    return body.y + 0.1 * body.vy
  end
  local worst = sim.check_grad(hop, { h = 0.2 }, { print = false, step = 1e-5 })
  ok(worst < 1e-6, ("off by %.1e"):format(worst))
  sim.grad(hop, { h = 0.2 })
  eq(sim.tape_stats().flags, { "redundant" }) -- the two sliders both keep the foot from turning
end)

test("stepping may be changed during a run", function()
  local w = sim.world {}
  eq(w.stepping, "auto")
  w.stepping = "speculative"
  eq(w.stepping, "speculative")
  w.stepping = "auto"
  eq(w.stepping, "auto")
  raises("'event', 'auto' expected", function() w.stepping = "exact" end)
end)

-- A box slides down a chain into a corner whose other segment has no points of contact until it is struck.
local SLOPE = math.atan(0.25)
local function valley(p, before)
  local w = sim.world { gravity = { 0, -10 }, dt = 0.01 }
  w:chain { points = { { 4, 1 }, { 0, 0 }, { -4, 1 } }, friction = 0.1 }
  if before then w:pre_solve(before) end
  local c, s = math.cos(SLOPE), math.sin(SLOPE)
  local box = w:box {
    size = { 1, 0.4 }, friction = 0.1, angle = SLOPE, velocity = { -p.speed * c, -p.speed * s },
    position = { p.along * c - 0.2 * s, p.along * s + 0.2 * c },
  }
  return w, box
end

test("a box that slides into a corner of a chain has the derivative of its motion", function()
  for _, along in ipairs { 2, 2.07, 2.14 } do
    local worst = sim.check_grad(function(p)
      local w, box = valley(p)
      w:run { steps = 25, progress = false }
      return box.x + 0.3 * box.y + 0.2 * box.angle
    end, { along = along, speed = 15 }, { print = false, step = 1e-6 })
    ok(worst < 1e-6, worst)
    eq(sim.tape_stats().flags, {})
  end
end)

test("pre_solve is asked about a segment that is met late in a step", function()
  local beyond = 0
  local w, box = valley({ along = 2, speed = 3 }, function(c)
    if c.point[1] < -1e-3 then
      beyond = beyond + 1
      c.enabled = false
    end
  end)
  local deepest = 0
  for _ = 1, 100 do
    w:step()
    deepest = larger(deepest, w:residuals().penetration)
  end
  ok(beyond > 0, beyond)
  ok(box.y < -0.5, box.y) -- through the segment that was refused
  ok(deepest < 1e-9, deepest) -- of the pair that stands
end)

-- If two corners land at one time, a tilt makes one of them strike first: by the tilt there is no derivative, and a
-- flag reports it; by the height there is one.
test("a box that lands flat has a derivative by the height, and missing derivatives are flagged", function()
  for _, size in ipairs { { 1, 0.4 }, { 0.3, 1 } } do
    for _, e in ipairs { 0, 0.5 } do
      local function drop(p)
        local w = sim.world {}
        w:box { type = "static", size = { 10, 1 }, position = { 0, -0.5 } }
        local box = w:box {
          size = size, position = { 0, size[2] / 2 + p.h }, angle = p.tilt, velocity = { 1, 0 },
          restitution = e, friction = 0.4,
        }
        w:run { steps = 40, progress = false }
        return box.x + box.y
      end
      local worst = sim.check_grad(function(p) return drop { h = p.h, tilt = 0 } end, { h = 0.5 },
        { print = false, step = 1e-6 })
      ok(worst < 1e-6, worst)
      sim.value_and_grad(drop, { h = 0.5, tilt = 0 })
      local flags = sim.tape_stats().flags
      eq(flags[#flags], "together")
      sim.value_and_grad(drop, { h = 0.5, tilt = 0.2 })
      flags = sim.tape_stats().flags
      ok(flags[#flags] ~= "together") -- corners that land one by one
    end
  end
end)

-- The time of projections is reported in every stepping, also where steps are split. (With the two stages, which are
-- the default, joints need none.)
test("the time of projection is in the statistics", function()
  for _, stepping in ipairs { "auto", "event", "speculative", "bisect" } do
    local w = sim.world { stepping = stepping, profile = true, flow = "projected" }
    local before
    for i = 1, 20 do
      local link = w:box { position = { i, 0 }, size = { 1, 0.2 } }
      w:hinge { link, before, anchor = { i - 0.5, 0 } }
      before = link
    end
    w:run { steps = 60, progress = false }
    local stats = w:stats()
    ok(stats.projections > 0)
    ok(stats.seconds_project > 0, stepping)
    ok(stats.seconds_project + stats.seconds_solve <= stats.seconds_total, stepping)
  end
end)

-- A row of discs that falls on the ground: n + (n - 1) pairs.
local function row(stepping, n)
  local w = sim.world { dt = 1 / 60, stepping = stepping }
  w:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 }, friction = 0.5 }
  for i = 1, n do w:circle { radius = 0.2, position = { 0.401 * i, 0.3 + 0.003 * i }, velocity = { -0.1 * i, 0 } } end
  w:run { steps = 60, progress = false }
  return w:state()
end

test("more than eight bodies with at most 20 pairs step as by events, more pairs do not", function()
  eq(row("auto", 10), row("event", 10)) -- 19 pairs
  ok(not pcall(eq, row("auto", 14), row("event", 14))) -- 27 pairs
end)

-- The stones turn about corners that touch. A flow that is too long passes the meeting of the next corners, and ends
-- with both open again. The meeting must be found nevertheless, or the step ends with an overlap of 0.17 mm.
test("an arch that falls finds all of its meetings", function()
  local world = require "scenes.contacts.arch" { friction = 0.1 }
  world.audit = true
  world:run { duration = 3, progress = false }
  eq(world:stats().unsolved, 0)
  eq(world:stats().overlaps, 0)
end)
