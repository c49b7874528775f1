-- Nobody can tell how fast all of it goes: the same scene with everything, floors and walls too,
-- given one velocity more ends where it did, that much further on.
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

-- The largest difference of a place (m, rad) in `duration`, and when it first was above 1e-9.
local function difference(seed, stepping, boost, jointed, duration)
  local w, a = scene(seed, stepping, { 0, 0 }, jointed)
  local u, b = scene(seed, stepping, boost, jointed)
  local most, since = 0, math.huge
  for _ = 1, math.floor(duration * 120 + 0.5) do
    w:step()
    u:step()
    for i = 1, #a do
      local off = math.max(math.abs(a[i].x + boost[1] * w.time - b[i].x),
        math.abs(a[i].y + boost[2] * w.time - b[i].y), math.abs(a[i].angle - b[i].angle))
      most = math.max(most, off)
    end
    if most > 1e-9 then since = math.min(since, w.time) end
  end
  return most, since
end

if arg and arg[1] == "scan" then -- sim2d tests/lua/test_boosts.lua scan FIRST LAST
  for _, stepping in ipairs { "speculative", "event", "bisect" } do
    for _, jointed in ipairs { false, true } do
      for _, boost in ipairs { { 1, 0 }, { 4, 3 }, { 0, -30 }, { 100, 0 } } do
        local line, bad = "", 0
        for seed = tonumber(arg[2]), tonumber(arg[3]) do
          local most, since = difference(seed, stepping, boost, jointed, 1)
          if most > 1e-9 then
            bad = bad + 1
            line = line .. (" %d:%.0e@%.2f"):format(seed, most, since)
          end
        end
        print(stepping, jointed, boost[1], boost[2], bad, line)
      end
    end
  end
  return
end
