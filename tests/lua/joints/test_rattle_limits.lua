-- Worlds with flow = "rattle": a limit that closes ends a piece, so that a body stops there at that time. Accuracy and
-- order compared with closed forms, equations solved by Runge and Kutta's method and steps of 1/3840 s; momenta and
-- energy.
local sim = require "sim2d"

local RATES = { 60, 120, 240 }

local function world(rate, settings)
  local def = { dt = 1 / rate, flow = "rattle", audit = true }
  for key, value in pairs(settings or {}) do def[key] = value end
  return sim.world(def)
end

-- The error at 1/120 s is at most `bar`, and errors fall with second order.
local function second_order(error_of, bar)
  local errors = {}
  for i, rate in ipairs(RATES) do errors[i] = error_of(rate) end
  ok(errors[2] <= bar, ("%.3e"):format(errors[2]))
  for i = 1, #errors - 1 do
    local order = math.log(errors[i] / errors[i + 1], 2)
    ok(order >= 1.8, ("order %.2f from %.3e to %.3e"):format(order, errors[i], errors[i + 1]))
  end
end

local function distance(now, exact)
  local worst = 0
  for i = 1, #exact do worst = math.max(worst, math.abs(now[i] - exact[i])) end
  return worst
end

-- Under a constant force the motion to the limit is a parabola, and so is the motion of both bodies together: both are
-- exact for any step.
test("a push takes another body along from the limit on, exactly", function()
  local force, ma, mb, gap, time = 3, 1, 2, 0.2, 1
  local met = math.sqrt(2 * gap * mb / force)
  local v, rest = force * met / (ma + mb), time - met
  local xa = v * rest + force / (ma + mb) * rest^2 / 2
  for _, stepping in ipairs { "speculative", "event" } do
    for _, rate in ipairs { 10, 60, 120 } do
      local w = world(rate, { gravity = { 0, 0 }, stepping = stepping })
      local a = w:box { size = { 1, 1 }, mass = ma, mask = 0 }
      local b = w:box { size = { 0.5, 0.5 }, position = { 0.1, 0 }, mass = mb, mask = 0 }
      w:slider { b, a, anchor = { 0.1, 0 }, axis = { 1, 0 }, limits = { -0.1, gap } }
      for _ = 1, time * rate do
        b:apply_force({ force, 0 })
        w:step()
      end
      near(a.x, xa, 1e-12)
      near(b.x, 0.1 + gap + xa, 1e-12)
      near(a.vx, force * time / (ma + mb), 1e-12)
      eq(w:stats().unsolved, 0)
    end
  end
end)

-- It falls by 0.5 rad onto a limit and stays there: w^2 = 2 m g l sin(0.5)/I as it arrives.
test("a pendulum that falls on a limit stops there and gains nothing", function()
  for _, rate in ipairs(RATES) do
    local w = world(rate)
    local rod = w:box { size = { 1, 0.1 }, mass = 1, position = { 0.5, 0 }, mask = 0 }
    w:hinge { rod, anchor = { 0, 0 }, limits = { -0.5, 1 } }
    local before, fastest = w:energy().total, 0
    for _ = 1, rate do
      w:step()
      local now = w:energy().total
      fastest = math.max(fastest, -rod.omega)
      ok(now <= before + 0.003 * (120 / rate)^2, now - before) -- on the way it oscillates by O(h^2)
    end
    near(rod.angle, -0.5, 1e-12)
    ok(math.abs(rod.omega) <= 1e-12, rod.omega)
    local arrives = math.sqrt(2 * 9.81 * 0.5 * math.sin(0.5) / (1.01 / 12 + 0.25))
    ok(fastest <= arrives * (1 + 1e-3) and fastest >= arrives - 9.81 * 2 / rate, fastest)
    eq(w:stats().unsolved, 0)
  end
end)

-- Two rods that fall from the horizontal: the outer one reaches a limit of the elbow, which conserves their angular
-- momentum about the pivot; then they swing as one.
test("an elbow that reaches its limit swings on as one body, to second order", function()
  local g, inertia, limit, time = 10, 1.01 / 12, 0.2, 0.3
  local function two(s)
    local c, sn = math.cos(s[1] - s[2]), math.sin(s[1] - s[2])
    local a, b, d = inertia + 1.25, 0.5 * c, inertia + 0.25
    local p, q = -0.5 * sn * s[4]^2 - 1.5 * g * math.cos(s[1]), 0.5 * sn * s[3]^2 - 0.5 * g * math.cos(s[2])
    local det = a * d - b * b
    return { s[3], s[4], (d * p - b * q) / det, (a * q - b * p) / det }
  end
  local whole = 2 * inertia + 0.25 + 1.25 + math.cos(limit)
  local function one(s)
    return { s[2], -g * (1.5 * math.cos(s[1]) + 0.5 * math.cos(s[1] + limit)) / whole }
  end
  local function rk4(f, s, h)
    local function at(k, part)
      local z = {}
      for i = 1, #s do z[i] = s[i] + part * k[i] end
      return z
    end
    local a = f(s)
    local b = f(at(a, h / 2))
    local c = f(at(b, h / 2))
    local d, z = f(at(c, h)), {}
    for i = 1, #s do z[i] = s[i] + h / 6 * (a[i] + 2 * b[i] + 2 * c[i] + d[i]) end
    return z
  end
  local s, t, h = { 0, 0, 0, 0 }, 0, 1e-4
  local after = rk4(two, s, h)
  while after[2] - after[1] < limit do
    s, t = after, t + h
    after = rk4(two, s, h)
  end
  local lo, hi = 0, h
  for _ = 1, 60 do
    local mid = (lo + hi) / 2
    local z = rk4(two, s, mid)
    if z[2] - z[1] < limit then lo = mid else hi = mid end
  end
  s, t = rk4(two, s, lo), t + lo
  local c = 0.5 * math.cos(limit)
  local y = { s[1], ((inertia + 1.25 + c) * s[3] + (inertia + 0.25 + c) * s[4]) / whole }
  for _ = 1, 4000 do y = rk4(one, y, (time - t) / 4000) end
  second_order(function(rate)
    local w = world(rate, { gravity = { 0, -g } })
    local a = w:box { size = { 1, 0.1 }, mass = 1, position = { 0.5, 0 }, mask = 0 }
    local b = w:box { size = { 1, 0.1 }, mass = 1, position = { 1.5, 0 }, mask = 0 }
    w:hinge { a, anchor = { 0, 0 } }
    w:hinge { b, a, anchor = { 1, 0 }, limits = { -1, limit } }
    w:step(math.floor(time * rate + 0.5))
    near(b.angle - a.angle, limit, 1e-12)
    eq(w:stats().unsolved, 0)
    return distance({ a.angle, a.omega / 10 }, { y[1], y[2] / 10 })
  end, 1e-4)
end)

-- A free rotating pair: the limit pushes at the positions of the bodies as it closes, so that all momenta are
-- conserved.
local function free_pair(rate)
  local w = world(rate, { gravity = { 0, 0 } })
  local a = w:box { size = { 1, 1 }, velocity = { 0, 0.3 }, angular_velocity = 1, mass = 1, mask = 0 }
  local b = w:box { size = { 0.4, 0.4 }, position = { 0.9, 0.2 }, velocity = { 1.3, 1.2 }, angular_velocity = 1, mass = 2, mask = 0 }
  w:slider { b, a, anchor = { 0.9, 0.2 }, axis = { 1, 0 }, limits = { -0.2, 0.4 } }
  local function momenta()
    local sum = { 0, 0, 0 }
    for _, body in ipairs { a, b } do
      sum[1], sum[2] = sum[1] + body.mass * body.vx, sum[2] + body.mass * body.vy
      sum[3] = sum[3] + body.inertia * body.omega + body.mass * (body.x * body.vy - body.y * body.vx)
    end
    return sum
  end
  local before, energy = momenta(), w:energy().total
  for _ = 1, rate do w:step() end
  ok(distance(momenta(), before) <= 1e-12)
  ok(w:energy().total < energy - 0.1)
  eq(w:stats().unsolved, 0)
  return { a.x, a.y, a.angle, b.x, b.y, b.angle, a.omega }
end

test("a free pair keeps its momenta at the limit, to second order", function()
  local exact = free_pair(3840)
  second_order(function(rate) return distance(free_pair(rate), exact) end, 3e-6)
end)

-- An arm on a box that slides on the floor: a piece of event stepping ends where the limit of its elbow closes.
local function on_the_floor(rate)
  local w = world(rate, { stepping = "event" })
  w:box { type = "static", size = { 20, 1 }, position = { 0, -1.5 }, friction = 0.2 }
  local c = w:box { size = { 0.6, 0.2 }, position = { 0, -0.9 }, mass = 2, friction = 0.2, velocity = { 2, 0 } }
  local a = w:box { size = { 1, 0.1 }, position = { 0.5, -0.7 }, mass = 1, mask = 0, velocity = { 2, 0 } }
  local b = w:box { size = { 0.5, 0.1 }, position = { 1.25, -0.7 }, mass = 0.3, mask = 0, velocity = { 2, 1 }, angular_velocity = 4 }
  w:hinge { a, c, anchor = { 0, -0.7 }, friction = 0.1, limits = { -3, 1 } }
  w:hinge { b, a, anchor = { 1, -0.7 }, limits = { -0.3, 0.3 } }
  w:step(math.floor(0.2 * rate + 0.5))
  near(b.angle - a.angle, 0.3, 1e-9)
  eq(w:stats().unsolved, 0)
  return { c.x, c.y, c.angle, a.x, a.y, a.angle, b.angle, c.vx }
end

test("an elbow reaches its limit on a body with contacts, to second order", function()
  local exact = on_the_floor(3840)
  second_order(function(rate) return distance(on_the_floor(rate), exact) end, 1e-4)
end)

-- ---- Restitution ---------------------------------------------------------------------------------

-- In flight to the limit and back the motion is a parabola, and each impact is at its time.
test("a slider bounces at its limit, exactly", function()
  local e, v, y, t = 0.8, 0, 0.5, 0
  while true do
    local s = (v + math.sqrt(v * v + 2 * 9.81 * y)) / 9.81
    if t + s > 1 then break end
    v, y, t = -e * (v - 9.81 * s), 0, t + s
  end
  local s = 1 - t
  for _, rate in ipairs { 60, 120, 240 } do
    local w = sim.world { dt = 1 / rate, flow = "rattle", audit = true }
    local box = w:box { size = { 0.2, 0.2 }, mass = 1, position = { 0, 1 }, mask = 0 }
    w:slider { box, anchor = { 0, 1 }, axis = { 0, 1 }, limits = { -0.5, 3 }, restitution = e }
    w:step(rate)
    near(box.y, 0.5 + y + v * s - 9.81 * s * s / 2, 1e-12)
    near(box.vy, v - 9.81 * s, 1e-12)
    eq(w:stats().unsolved, 0)
  end
end)

test("links that bounce at their limits are of second order", function()
  local function run(rate)
    local w = sim.world { dt = 1 / rate, flow = "rattle", audit = true, gravity = { 0, 0 } }
    local a = w:box { size = { 1, 0.1 }, mass = 1, position = { 0.5, 0 }, mask = 0 }
    local b = w:box { size = { 1, 0.1 }, mass = 1, position = { 1.5, 0 }, mask = 0, velocity = { 0, 1 }, angular_velocity = 2 }
    w:hinge { a, anchor = { 0, 0 } }
    w:hinge { b, a, anchor = { 1, 0 }, limits = { -0.3, 0.3 }, restitution = 0.5 }
    w:step(rate)
    eq(w:stats().unsolved, 0)
    return a.angle, b.angle
  end
  local a, b = run(1920)
  local errors = {}
  for i, rate in ipairs { 60, 120, 240 } do
    local x, y = run(rate)
    errors[i] = math.max(math.abs(x - a), math.abs(y - b))
  end
  ok(errors[2] <= 2e-4, errors[2])
  for i = 1, 2 do
    local order = math.log(errors[i] / errors[i + 1], 2)
    ok(order >= 1.8, ("order %.2f from %.3e"):format(order, errors[i]))
  end
end)
