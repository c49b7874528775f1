-- The result does not depend on a common velocity: the same scene with one velocity added to everything, floors and
-- walls too, ends in the same state, displaced by that motion.
local sim = require "sim2d"

-- Bodies of all kinds above a floor, between walls; `jointed`: hinged, with rods and sliders.
local function scene(seed, stepping, boost, jointed)
  sim.random.seed(seed)
  local r = sim.random.split()
  local w = sim.world { dt = 1 / 120, stepping = stepping }
  local vx, vy = boost[1], boost[2]
  for _, side in ipairs { { 0, -0.5, 6, 1 }, { -3.5, 2, 1, 8 }, { 3.5, 2, 1, 8 } } do
    w:box { type = "kinematic", position = { side[1], side[2] }, size = { side[3], side[4] },
      velocity = { vx, vy }, friction = 0.5, restitution = 0.2 }
  end
  local bodies, count = {}, jointed and 5 or 6
  for i = 1, count do
    local def = { position = { 0.7 * (i - count / 2) + r:uniform(-0.02, 0.02), 0.8 + r:uniform(0, 0.4) },
      velocity = { vx + r:uniform(-1, 1), vy + r:uniform(-1, 1) }, angular_velocity = r:uniform(-2, 2),
      angle = r:uniform(-0.3, 0.3), friction = 0.5, restitution = 0.2, mass = r:uniform(0.5, 2) }
    local kind = r:integer(1, 3)
    if kind == 1 then
      def.radius = 0.2
      bodies[i] = w:circle(def)
    elseif kind == 2 then
      def.size = { 0.5, 0.25 }
      bodies[i] = w:box(def)
    else
      def.length, def.radius = 0.3, 0.1
      bodies[i] = w:capsule(def)
    end
  end
  for i = 1, jointed and count - 1 or 0 do
    local a, b = bodies[i], bodies[i + 1]
    local kind = r:integer(1, 3)
    if kind == 1 then
      w:hinge { a = a, b = b, anchor = { (a.x + b.x) / 2, (a.y + b.y) / 2 } }
    elseif kind == 2 then
      w:distance { a = a, b = b, anchor_a = { a.x, a.y }, anchor_b = { b.x, b.y } }
    else
      w:hinge { a = a, b = b, anchor = { a.x, a.y } }
    end
  end
  return w, bodies
end

-- Five hinged planks that fall on a floor.
local function chain(_, stepping, boost, turned)
  local c, sn = math.cos(turned or 0), math.sin(turned or 0)
  local function at(x, y) return { c * x - sn * y, sn * x + c * y } end
  local w = sim.world { dt = 1 / 120, stepping = stepping, gravity = at(0, -9.8) }
  w:box { type = "kinematic", position = at(0, -0.5), size = { 400, 1 }, velocity = boost, friction = 0.5,
    angle = turned }
  local bodies = {}
  for i = 1, 5 do
    bodies[i] = w:box { size = { 0.5, 0.1 }, mass = 1, position = at(0.5 * i, 0.6 + 0.05 * i),
      velocity = boost, friction = 0.5, angle = turned }
    if i > 1 then
      w:hinge { a = bodies[i - 1], b = bodies[i], anchor = at(0.5 * i - 0.25, 0.575 + 0.05 * i) }
    end
  end
  return w, bodies
end

-- Discs without friction in a closed box, which meet more often than a step is split.
local function box(_, stepping, boost)
  sim.random.seed(7)
  local r = sim.random.split()
  local w = sim.world { dt = 1 / 60, stepping = stepping, gravity = { 0, 0 } }
  for _, k in ipairs { { -1, 0, 1, 3 }, { 1, 0, 1, 3 }, { 0, -1, 3, 1 }, { 0, 1, 3, 1 } } do
    w:box { type = "kinematic", position = { k[1], k[2] }, size = { k[3], k[4] }, velocity = boost,
      friction = 0, restitution = 0.8 }
  end
  local bodies = {}
  for i = 1, 12 do
    bodies[i] = w:circle { radius = 0.1, mass = 1,
      position = { -0.33 + 0.22 * ((i - 1) % 4), -0.33 + 0.22 * ((i - 1) // 4) },
      velocity = { boost[1] + r:uniform(-3, 3), boost[2] + r:uniform(-3, 3) }, friction = 0, restitution = 0.8 }
  end
  return w, bodies
end

local steppings = { "speculative", "event", "bisect" }
local boosts = { { 1, 0 }, { 4, 3 }, { 0, -30 }, { -64, 0 }, { 100, 0 } }

-- The largest difference of a position (m, rad), and the time when it first was above 1e-9.
local function difference(make, seed, stepping, boost, steps, jointed)
  local w, a = make(seed, stepping, { 0, 0 }, jointed)
  local u, b = make(seed, stepping, boost, jointed)
  local most, since = 0, math.huge
  for _ = 1, steps do
    w:step()
    u:step()
    for i = 1, #a do
      most = larger(most, math.abs(a[i].x + boost[1] * w.time - b[i].x),
        math.abs(a[i].y + boost[2] * w.time - b[i].y), math.abs(a[i].angle - b[i].angle))
    end
    if not (most <= 1e-9) then since = math.min(since, w.time) end
  end
  return most, since
end

if arg and arg[1] == "scan" then -- sim2d tests/lua/world/test_boosts.lua scan FIRST LAST
  for _, stepping in ipairs(steppings) do
    for _, jointed in ipairs { false, true } do
      for _, boost in ipairs(boosts) do
        local line, count, first = "", 0, math.huge
        for seed = tonumber(arg[2]), tonumber(arg[3]) do
          local most, since = difference(scene, seed, stepping, boost, 120, jointed)
          count = count + (most > 1e-9 and 1 or 0)
          first = math.min(first, since)
          if most > 1e-9 then line = line .. (" %d:%.0e@%.2f"):format(seed, most, since) end
        end
        print(stepping, jointed, boost[1], boost[2], count, ("%.2f s"):format(first), line)
      end
    end
  end
  return
end

local function check(what, make, seed, steps, jointed, bar)
  bar = bar or 1e-9
  for _, stepping in ipairs(steppings) do
    for _, boost in ipairs(boosts) do
      local most = difference(make, seed, stepping, boost, steps, jointed)
      ok(most <= bar, ("%s, %s, %g, %g m/s: %.1e"):format(what, stepping, boost[1], boost[2], most))
    end
  end
end

test("boosts: a hinged chain on a moving floor", function()
  check("chain", chain, 0, 120)
end)

test("boosts: discs in a closed box", function()
  check("box", box, 0, 3)
  -- An impact of the fourth step multiplies rounding by 1e5 to 1e6.
  check("box", box, 0, 8, false, 1e-8)
end)

-- Later decisions that depend on rounding separate them (is an overlap of 1e-9 of a body corrected, does a body bounce
-- that is as slow as the change of speed by forces in half a step).
test("boosts: random bodies in a tray, alone and jointed", function()
  for seed = 1, 6 do
    check("alone " .. seed, scene, seed, 40, false)
    check("jointed " .. seed, scene, seed, 40, true)
  end
end)

test("rotations of the whole scene: a hinged chain falls in the same way", function()
  for _, stepping in ipairs(steppings) do
    for _, turn in ipairs { math.pi / 2, 1, 2.5 } do
      local w, a = chain(0, stepping, { 0, 0 })
      local u, b = chain(0, stepping, { 0, 0 }, turn)
      local c, sn, most = math.cos(turn), math.sin(turn), 0
      for _ = 1, 120 do
        w:step()
        u:step()
        for i = 1, #a do
          most = larger(most, math.abs(c * a[i].x - sn * a[i].y - b[i].x),
            math.abs(sn * a[i].x + c * a[i].y - b[i].y), math.abs(a[i].angle + turn - b[i].angle))
        end
      end
      ok(most <= 1e-9, ("%s, turned by %g: %.1e"):format(stepping, turn, most))
    end
  end
end)
