-- Redundant contacts: rows of boxes on a floor, and corners that land at once. Motions do not depend on the division of
-- a load; but a change that makes such contacts contradict each other has no derivative.
local sim = require "sim2d"

local WAYS = { "speculative", "bisect", "event" }

local function moved(p, key, by)
  local q = {}
  for k, x in pairs(p) do q[k] = x end
  q[key] = q[key] + by
  return q
end

-- Slopes to the left and to the right, extrapolated.
local function slopes(f, p, key, middle)
  local h = 1e-5
  local function at(by) return f(moved(p, key, by)) end
  return -(4 * at(-h / 2) - at(-h) - 3 * middle) / h, (4 * at(h / 2) - at(h) - 3 * middle) / h
end

-- The keys whose derivatives differ from the slope to a side, and the flags.
local function examine(f, p)
  local middle, g = sim.value_and_grad(f, p)
  local flags, wrong = table.concat(sim.tape_stats().flags, " "), {}
  eq(middle, f(p))
  for key, d in pairs(g) do
    local left, right = slopes(f, p, key, middle)
    if math.max(math.abs(left - d), math.abs(right - d)) > 1e-6 then wrong[#wrong + 1] = key end
  end
  return wrong, flags
end

local function said(flags)
  return flags:find "weak" or flags:find "undetermined" or flags:find "partial" or flags:find "grazing"
end

-- Three boxes side by side, the first pushed; `asked` of p may be in it.
local function row(way, gap, push, steps, what)
  return function(p)
    local w = sim.world { dt = 1 / 60, stepping = way }
    w:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 }, friction = p.mu or 0.4 }
    local b = {}
    for i = 1, 3 do
      b[i] = w:box { size = { p["w" .. i] or 1, 0.5 }, mass = p["m" .. i] or 1 + 0.3 * i, friction = p.mu or 0.4,
        position = { p["x" .. i] or i * (1 + gap), p["y" .. i] or 0.25 } }
    end
    w:before_step(function() b[1]:apply_force { p.f or push, 0 } end)
    w:run { steps = steps }
    return what == "angle" and b[3].angle or b[3].x
  end
end

test("derivatives of a row of boxes are right or flagged", function()
  local wrong, compared = 0, 0
  for _, way in ipairs(WAYS) do
    for _, gap in ipairs { 0, 1e-3 } do
      for _, push in ipairs { 4, 30 } do
        for _, what in ipairs { "x", "angle" } do
          local p = { mu = 0.4, f = push }
          for i = 1, 3 do
            p["w" .. i], p["m" .. i], p["x" .. i], p["y" .. i] = 1, 1 + 0.3 * i, i * (1 + gap), 0.25
          end
          local keys, flags = examine(row(way, gap, push, 3, what), p)
          ok(#keys == 0 or said(flags),
            ("%s, gap %g, %g N, %s: %s, flags: %s"):format(way, gap, push, what, table.concat(keys, " "), flags))
          wrong, compared = wrong + #keys, compared + 1
        end
      end
    end
  end
  ok(wrong >= 20, wrong .. " that are not whole, as flags report") -- otherwise this compares nothing
end)

test("changes that keep contacts compatible have a derivative", function()
  for _, way in ipairs(WAYS) do
    for _, push in ipairs { 4, 40 } do
      local f = row(way, 0, push, 10)
      local keys, flags = examine(f, { f = push, mu = 0.3, m1 = 1, m2 = 2, m3 = 3 })
      eq(#keys, 0, way .. ": " .. table.concat(keys, " ") .. " " .. flags)
    end
  end
end)

test("bricks in a wall", function()
  local function loss(p)
    local w = sim.world { dt = 1 / 60, stepping = "speculative" }
    w:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 }, friction = 0.6 }
    local last
    for layer = 0, 2 do
      for i = 1, 3 do
        local own = layer == 1 and i == 2
        last = w:box { size = { 0.5, 0.25 }, mass = 1, friction = 0.6,
          position = { 0.5 * i + 0.25 * layer, 0.125 + 0.25 * layer + (own and p.lift or 0) } }
      end
    end
    w:before_step(function() last:apply_force { p.f, 0 } end)
    w:run { steps = 5 }
    return last.x + last.y
  end
  local keys, flags = examine(loss, { lift = 0, f = 20 })
  ok(#keys == 0 or said(flags), table.concat(keys, " ") .. ": " .. flags)
  keys, flags = examine(function(p) return loss { lift = 0, f = p.f } end, { f = 20 })
  ok(#keys == 0 or said(flags), table.concat(keys, " ") .. ": " .. flags)
end)

test("a box that sticks beside a wall that it touches", function()
  for _, way in ipairs(WAYS) do
    local function loss(p)
      local w = sim.world { dt = 1 / 60, stepping = way }
      w:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 }, friction = 0.5 }
      w:box { type = "static", position = { 1.5, 2 }, size = { 1, 4 }, friction = 0.5 }
      local b = w:box { size = { 1, 0.5 }, mass = 1, position = { p.x, 0.25 }, friction = 0.5 }
      w:before_step(function() b:apply_force { 2, 0 } end)
      w:run { steps = 3 }
      return b.x
    end
    local keys, flags = examine(loss, { x = 0.5 }) -- further on it is pushed out
    eq(#keys, 1)
    ok(flags:find "weak", way .. ": " .. flags)
  end
end)

local function landing(p, flow)
  local w = sim.world { dt = 1 / 60, stepping = "event", flow = flow }
  w:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 }, friction = 0.5, restitution = p.e or 0 }
  local b = w:box { size = { 0.6, 0.4 }, mass = 1, position = { 0.5, p.y or 0.25 }, angle = p.angle or 0,
    velocity = { p.v or 1, 0 }, angular_velocity = p.w or 0, friction = 0.5, restitution = p.e or 0 }
  w:run { steps = 8 }
  return b.x + 0.3 * b.angle + 0.2 * b.y
end

test("a box that lands flat has no derivative by data that turn it", function()
  local function projected(p) return landing(p, "projected") end
  for _, p in ipairs { { angle = 0 }, { w = 0 }, { angle = 0, y = 0.26, e = 0.3 } } do
    local keys, flags = examine(projected, p)
    ok(#keys > 0 and flags:find "together", table.concat(keys, " ") .. ": " .. flags)
    -- By two stages a box that lies flat afterwards forgets its angle, as it should; one that bounces does not.
    keys, flags = examine(landing, p)
    eq(#keys, p.e and 1 or 0)
    ok(flags:find "together", flags)
  end
  local keys, flags = examine(landing, { y = 0.25, v = 1 })
  eq(#keys, 0, table.concat(keys, " "))
  eq(flags:find "weak", nil)
  keys, flags = examine(landing, { y = 0.25, v = 1, e = 0.4 })
  eq(#keys, 0, table.concat(keys, " "))
  eq(flags:find "weak", nil)
end)

-- A foot that only slides up and down, and sticks: friction holds directions that its joints hold as well. It yields to
-- them, so that the joints determine the effect of a floor that begins to move or of an axis that tilts, and no flag is
-- needed.
test("friction beside joints that hold the same leaves all of it to them", function()
  for _, way in ipairs(WAYS) do
    local function hop(p)
      local w = sim.world { dt = 1 / 120, stepping = way }
      w:box { type = "static", position = { 0, -0.5 }, size = { 10, 1 }, surface_speed = p.s }
      local body = w:box { size = { 0.4, 0.2 }, position = { 0, 0.7 + p.h }, mass = 2, mask = 0 }
      local foot = w:circle { radius = 0.05, position = { 0, 0.35 + p.h }, mass = 0.2 }
      w:slider { foot, body, anchor = { 0, 0.35 + p.h }, axis = { p.a, 1 } }
      w:spring { foot, body, stiffness = 400, damping = 4, rest_length = 0.35 }
      w:slider { body, anchor = { 0, 0.7 }, axis = { p.b, 1 } }
      w:run { steps = 60, progress = false }
      return body.y + 0.1 * body.vy + 0.3 * foot.x + 0.1 * foot.vx
    end
    for _, tilt in ipairs { 0, 0.05 } do -- at 0 the landing, which slides to one side or the other, has a kink
      local keys, flags = examine(tilt == 0 and function(p) return hop { h = p.h, s = p.s, a = 0, b = 0 } end or hop,
        { h = 0.2, s = 0, a = tilt ~= 0 and tilt or nil, b = tilt ~= 0 and -0.03 or nil })
      eq(#keys, 0, way .. ": " .. table.concat(keys, " "))
      ok(not flags:find "weak", way .. ": " .. flags)
    end
  end
end)

test("ordinary rest is not flagged", function()
  for _, way in ipairs(WAYS) do
    local function stack(p)
      local w = sim.world { dt = 1 / 60, stepping = way }
      w:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 }, friction = 0.5 }
      local b
      for i = 1, 4 do
        b = w:box { size = { p["w" .. i], 0.3 }, mass = p["m" .. i], position = { p["x" .. i], 0.3 * i - 0.15 } }
      end
      w:run { steps = 20 }
      return b.x + b.angle + 0.3 * b.omega
    end
    local p = {}
    for i = 1, 4 do p["w" .. i], p["m" .. i], p["x" .. i] = 0.6, 1 + 0.2 * i, 0.02 * i end
    local keys, flags = examine(stack, p)
    eq(#keys, 0, way .. ": " .. table.concat(keys, " "))
    ok(not flags:find "weak", way .. ": " .. flags)
  end
end)

test("every row of a Jacobian, and checkpoints, report the same", function()
  local function heights(p)
    local f = row("speculative", 0, 30, 6)
    return { f { f = p[1] }, f { y2 = p[2] } }
  end
  local J = sim.jacobian(heights, { 30, 0.25 })
  ok(table.concat(sim.tape_stats().flags, " "):find "weak")
  local f = row("speculative", 0, 30, 6)
  local _, g = sim.value_and_grad(f, { f = 30, y2 = 0.25 })
  local was = sim.checkpoint(3)
  local _, kept = sim.value_and_grad(f, { f = 30, y2 = 0.25 })
  sim.checkpoint(was)
  eq(kept, g)
  eq(g.f, J[1][1])
  ok(table.concat(sim.tape_stats().flags, " "):find "weak")
end)

-- A stack falls a little and lands flat: both of its lowest corners meet the floor at once. The motion may have a slope
-- by the angle of a box that the gradient does not know. Then the flag "together" has to report it.
test("derivatives of stacks that land flat are right, or flagged where a box is turned", function()
  local compared, turned, apart = 0, 0, 0
  for seed = 1, fewer(40, 10) do
    sim.random.seed(seed)
    local R = sim.random.split()
    local n, tied = R:integer(2, 6), R:uniform() < 0.3
    local mu, gap, tilt = R:uniform(0.1, 0.9), R:uniform(1e-3, 4e-3), R:uniform() < 0.3 and 0.02 or 0
    local p, width, sway = { push = R:uniform(-1, 1), m = R:uniform(0.5, 3), a = tilt }, {}, {}
    for i = 1, n do width[i], sway[i] = R:uniform(0.4, 0.7), R:uniform(-0.03, 0.03) end
    local which = R:integer(1, n)
    local function f(q)
      local w = sim.world { dt = 1 / 60 }
      w:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 }, friction = mu }
      local b = {}
      for i = 1, n do
        b[i] = w:box { size = { width[i], 0.3 }, position = { sway[i], 0.3 * i - 0.15 + gap * i + i * math.abs(tilt) },
          mass = i == which and q.m or 1, angle = i == which and q.a or 0, friction = mu }
      end
      if tied then w:hinge { b[n], b[n - 1], anchor = { 0, 0.3 * n - 0.3 } } end
      w:before_step(function() b[n]:apply_force { q.push, 0 } end)
      w:run { steps = 6 }
      return b[1].x + b[n].x + 0.3 * b[which].angle + 0.2 * b[n].y
    end
    local keys, flags = examine(f, p)
    for _, key in ipairs(keys) do
      ok(said(flags) or key == "a" and flags:find "together",
        ("seed %d (%d boxes%s, tilt %g): %s, flags: %s"):format(seed, n,
          tied and ", tied" or "", tilt, table.concat(keys, " "), flags))
      turned = turned + (key == "a" and 1 or 0)
    end
    compared, apart = compared + 1, apart + (#keys == 0 and 1 or 0)
  end
  print(("  %d stacks, %d right, %d turned"):format(compared, apart, turned))
  ok(apart >= compared // 4, apart .. " that are right in full") -- otherwise this compares nothing
end)
