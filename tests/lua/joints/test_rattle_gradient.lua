-- Derivatives of worlds with flow = "rattle" compared with differences: random scenes of joints, chains of
-- linearisations, numbers of 0, and losses without a derivative.
local sim = require "sim2d"

local function between(lo, hi) return lo + (hi - lo) * math.random() end

local function pick(list) return list[math.random(#list)] end

-- The best of three central differences: large steps have a truncation error, small ones rounding. A derivative that is
-- reported to be on an edge is the one-sided one. `least`: numbers below it change by as much as it does.
local function agrees(f, p, message, tolerance, least)
  local g = sim.grad(f, p)
  local weak = table.concat(sim.tape_stats().flags, " "):find "weak"
  for key, value in pairs(p) do
    local best = math.huge
    for _, part in ipairs { 1e-5, 1e-6, 1e-7 } do
      local h = part * larger(least or 1e-2, math.abs(value))
      local function at(d)
        local q = {}
        for k, v in pairs(p) do q[k] = v end
        q[key] = value + d
        return f(q)
      end
      local differences = { (at(h) - at(-h)) / (2 * h) }
      for _, side in ipairs(weak and { h, -h } or {}) do
        differences[#differences + 1] = (4 * at(side) - 3 * at(0) - at(2 * side)) / (2 * side)
      end
      for _, difference in ipairs(differences) do
        best = math.min(best, math.abs(g[key] - difference) / larger(1, math.abs(difference)))
      end
    end
    ok(best <= (tolerance or 1e-5), ("%s, %s: off by %.1e"):format(message, key, best))
  end
  return weak ~= nil
end

-- ---- Random scenes -----------------------------------------------------------------------------

local function random_link(i)
  local turn = between(0, 6)
  return { kind = pick { "hinge", "hinge", "hinge", "slider", "weld", "distance", "spring", "wheel", "rope" },
    size = { between(0.2, 1), between(0.1, 0.4) }, mass = 10^between(-0.5, 0.5), y = between(-0.3, 0.3),
    angle = between(-1, 1), v = { between(-1, 1), between(-1, 1) }, w = between(-2, 2),
    damping = math.random() < 0.2 and between(0, 3) or 0, other = i > 2 and math.random() < 0.3 and math.random(i - 1) or i - 1,
    extra = math.random(8), mid = between(-0.2, 0.2), axis = { math.cos(turn), math.sin(turn) }, a = between(0, 1), b = between(0, 1) }
end

local function keys_of(link, i, other, p)
  local kind, keys = link.kind, {}
  local anchored = kind == "hinge" or kind == "slider" or kind == "weld" or kind == "wheel"
  keys.anchor = anchored and { (i - 0.5) * 0.6, link.mid } or nil
  keys.anchor_b = not anchored and not other and { (i - 1) * 0.6, 1 } or nil
  keys.axis = (kind == "slider" or kind == "wheel") and link.axis or nil
  if kind == "wheel" or kind == "spring" then
    keys.stiffness, keys.damping = 10^(1 + 3 * link.a) * p.stiff, 5 * link.b * p.damp
  end
  local drives = kind == "hinge" or kind == "slider"
  local most = kind == "hinge" and "max_torque" or "max_force"
  if drives and link.extra == 1 then
    keys.motor = { speed = (6 * link.a - 3) * p.stiff, [most] = (0.1 + 20 * link.b) * p.damp }
  elseif drives and link.extra == 2 then
    keys.friction = 3 * link.a * p.damp
  elseif drives and link.extra <= 4 then
    keys.stiffness, keys.damping = 10^(3 * link.a) * p.stiff, 3 * link.b * p.damp
  elseif drives and link.extra == 5 then
    keys.compliance = 10^(5 * link.a - 8) * p.stiff
  elseif drives and link.extra <= 7 then
    keys.limits = { -(0.02 + 0.3 * link.a), 0.02 + 0.3 * link.b }
    keys.friction = link.extra == 7 and link.b * p.damp or nil
  end
  if (kind == "weld" or kind == "distance") and link.extra <= 3 then
    keys.compliance, keys.damping = 10^(5 * link.a - 8) * p.stiff, 10 * link.b * p.damp
  end
  return keys
end

-- A nonlinear spring, drag, a magnetic force, a pull towards another body, a force that depends on time.
local function act_by_law(law, body, other, p)
  local kind, size = law.kind, law.size
  body:force_law(function(b, t)
    if kind == "spring" then return -size * 10 * p.law * b.x, -size * p.law * b.y^3, -size * b.angle end
    if kind == "drag" then return -size * p.law * b.vx * (b.vx^2 + b.vy^2 + 0.1)^0.5, -size * p.law * b.vy, -0.1 * size * b.omega end
    if kind == "magnetic" then return size * p.law * b.vy, -size * p.law * b.vx, 0 end
    if kind == "pull" then return size * p.law * (other.x - b.x), size * (other.vy - b.vy), 0.3 * size * p.law * other.omega end
    return size * sim.cos(3 * t) * p.law, size * p.law * b.y * t, 0
  end)
end

local function scene(links, base, stepping, steps, laws, reactions)
  return function(p)
    local w = sim.world { dt = p.dt, gravity = { 0, -p.g }, flow = "rattle", stepping = stepping }
    local ground = base and w:box { type = "kinematic", size = { 0.2, 0.2 }, velocity = { base[1] * p.stiff, base[2] },
      angular_velocity = base[3], mask = 0 } or nil
    local bodies, sum = { [0] = ground }, 0
    for i, link in ipairs(links) do
      bodies[i] = w:box { size = link.size, mass = link.mass * p.m, position = { i * 0.6 + p.x, link.y }, angle = link.angle, mask = 0,
        velocity = { link.v[1] + p.v, link.v[2] }, angular_velocity = link.w, linear_damping = link.damping * p.damp }
      local other = bodies[link.other]
      local keys = keys_of(link, i, other, p)
      keys[1], keys[2] = bodies[i], other
      local joint = w[link.kind](w, keys)
      if reactions then
        w:after_step(function()
          sum = sum + 0.01 * math.cos(i) * joint.force[1] + 0.02 * joint.force[2] + 0.03 * math.sin(i) * joint.torque
        end)
      end
    end
    if laws then bodies[#bodies + 1] = w:circle { radius = 0.1, mass = p.m, position = { -1, p.x }, velocity = { p.v, 0.3 }, mask = 0 } end
    for _, law in ipairs(laws or {}) do act_by_law(law, bodies[law.body], bodies[law.other], p) end
    w:step(steps)
    for i, b in ipairs(bodies) do
      sum = sum + math.cos(i) * b.x + math.sin(2 * i) * b.y + 0.3 * b.angle + 0.1 * math.cos(3 * i) * b.vx + 0.1 * b.vy + 0.05 * b.omega
    end
    return sum
  end
end

test("random scenes of all joints", function()
  math.randomseed(11)
  local weak = 0
  for n = 1, fewer(100, 20) do
    local links = {}
    for i = 1, math.random(4) do links[i] = random_link(i) end
    local base = math.random() < 0.3 and { between(-1, 1), between(-1, 1), between(-1, 1) } or nil
    local p = { m = 10^between(-0.5, 0.5), v = between(-1, 1), x = between(-0.1, 0.1), stiff = between(0.5, 1.5), damp = between(0.5, 1.5),
      g = pick { 0, 9.81 }, dt = 1 / pick { 60, 120 } }
    weak = weak + (agrees(scene(links, base, pick { "auto", "speculative" }, math.random(5, 20)), p, n) and 1 or 0)
  end
  ok(weak <= 5, weak .. " on an edge")
end)

-- Islands of more than eight bodies with rigid hinges and sliders only (core/dynamics/rattle/linkage.h).
test("linkages", function()
  math.randomseed(17)
  for n = 1, fewer(12, 3) do
    local links = {}
    for i = 1, 10 do
      links[i] = random_link(i)
      links[i].kind, links[i].extra, links[i].other = i % 4 == 3 and "slider" or "hinge", 8, n % 2 == 0 and i // 2 or i - 1
    end
    local p = { m = 10^between(-0.5, 0.5), v = between(-1, 1), x = between(-0.1, 0.1), damp = between(0.5, 1.5), g = 9.81, dt = 1 / pick { 60, 120 } }
    agrees(scene(links, nil, pick { "auto", "speculative" }, 6, nil, n % 3 == 0), p, "linkage " .. n)
  end
end)

-- Laws of bodies on joints and of a free one, which depend on each other's positions.
test("random scenes with force laws", function()
  math.randomseed(12)
  for n = 1, fewer(60, 12) do
    local links, laws = {}, {}
    for i = 1, math.random(3) do links[i] = random_link(i) end
    for body = 1, #links + 1 do
      if body == 1 or math.random() < 0.5 then
        laws[#laws + 1] = { body = body, other = math.random(#links + 1), size = between(0.2, 3), kind = pick { "spring", "drag", "magnetic", "pull", "time" } }
      end
    end
    local p = { m = 10^between(-0.5, 0.5), v = between(-1, 1), x = between(-0.1, 0.1), stiff = between(0.5, 1.5), damp = between(0.5, 1.5),
      g = pick { 0, 9.81 }, dt = 1 / pick { 60, 120 }, law = between(0.5, 1.5) }
    agrees(scene(links, nil, pick { "auto", "speculative" }, math.random(5, 20), laws), p, "laws " .. n)
  end
end)

test("random scenes with reactions of joints in the loss", function()
  math.randomseed(16)
  for n = 1, fewer(60, 12) do
    local links = {}
    for i = 1, math.random(3) do links[i] = random_link(i) end
    local base = math.random() < 0.3 and { between(-1, 1), between(-1, 1), between(-1, 1) } or nil
    local p = { m = 10^between(-0.5, 0.5), v = between(-1, 1), x = between(-0.1, 0.1), stiff = between(0.5, 1.5), damp = between(0.5, 1.5),
      g = pick { 0, 9.81 }, dt = 1 / pick { 60, 120 } }
    agrees(scene(links, base, pick { "auto", "speculative" }, math.random(2, 8), nil, true), p, "reactions " .. n)
  end
end)

-- Constraints of the script together with other joints: on a moving curve that depends on a parameter, at a length that
-- changes with the time, and two at once that fix a point. Some give their own derivatives.
local function constrain(w, kind, a, b, p, own)
  local bodies = b and { a.body, b.body } or { a.body }
  local x, y, bx, by = a.x, a.y, b and b.x or 0, b and b.y or 1
  if kind == "wire" then
    w:constraint { bodies = { a.body }, phi = function(q, _, t) return q.y - y - p.law * (q.x - x)^2 / 2 - 0.1 * sim.sin(2 * t) * p.damp end,
      jacobian = own and function(q) return { 0, -p.law * (q.x - x), 1 } end or nil,
      rate = own and function(_, _, t) return -0.2 * sim.cos(2 * t) * p.damp end or nil }
  elseif kind == "rod" then
    w:constraint { bodies = bodies, phi = function(q, other, t)
      other = b and other or { x = bx, y = by }
      return (q.x - other.x)^2 + (q.y - other.y)^2 - (x - bx)^2 - (y - by)^2 - 0.1 * p.law * t^2
    end }
  else
    w:constraint { bodies = bodies, phi = function(q, other)
      local c, s = 1, 0
      if b then c, s = sim.cos(other.a), sim.sin(other.a) else other = { x = bx, y = by } end
      local dx, dy = x + 0.2 - bx, y - by
      return q.x + 0.2 * sim.cos(q.a) - other.x - c * dx + s * dy, q.y + 0.2 * sim.sin(q.a) - other.y - s * dx - c * dy
    end }
  end
end

test("random scenes with constraints of the script", function()
  math.randomseed(13)
  for n = 1, fewer(50, 10) do
    local count, kinds, own = math.random(3), {}, math.random() < 0.5
    for i = 1, count do kinds[i] = pick { "wire", "rod", "pin", "hinge" } end
    kinds[math.random(count)] = pick { "wire", "rod", "pin" }
    local stepping, steps, v = pick { "auto", "speculative" }, math.random(3, 12), {}
    for i = 1, count do v[i] = { between(-1, 1), between(-1, 1), between(-2, 2) } end
    local p = { m = 10^between(-0.5, 0.5), v = between(-1, 1), damp = between(0.5, 1.5), dt = 1 / pick { 60, 120 }, law = between(0.5, 1.5), g = 9.81 }
    agrees(function(q)
      local w = sim.world { dt = q.dt, gravity = { 0, -q.g }, flow = "rattle", stepping = stepping }
      local last, sum, bodies = nil, 0, {}
      for i, kind in ipairs(kinds) do
        local x, y = i * 0.6, 0.1 * i
        local body = w:box { size = { 0.5, 0.2 }, mass = q.m * i, position = { x, y }, mask = 0, velocity = { v[i][1] + q.v, v[i][2] }, angular_velocity = v[i][3] }
        bodies[i] = { body = body, x = x, y = y }
        if kind == "hinge" then
          w:hinge { body, last and last.body, anchor = { x - 0.2, y } }
        else
          constrain(w, kind, bodies[i], last, q, own)
        end
        last = bodies[i]
      end
      w:step(steps)
      for i, b in ipairs(bodies) do
        sum = sum + math.cos(i) * b.body.x + b.body.y + 0.3 * b.body.angle + 0.1 * b.body.vx + 0.1 * b.body.vy + 0.05 * b.body.omega
      end
      return sum
    end, p, "constraints " .. n, nil, 0.1) -- places after several solves are exact to about 1e-10
  end
end)

-- ---- One by one --------------------------------------------------------------------------------

local function pendulum(p, keys, body)
  local w = sim.world { dt = p.dt or 1 / 60, flow = "rattle" }
  local def = { radius = 0.02, mass = p.m or 1, inertia = 0.01, position = { 1, 0 }, mask = 0 }
  for k, v in pairs(body or {}) do def[k] = v end
  local bob = w:circle(def)
  keys[1], keys.anchor = bob, { 0, 0 }
  local hinge = w:hinge(keys)
  return w, bob, hinge
end

local function tip(bob) return bob.x + 2 * bob.y + 0.1 * bob.omega end

test("springs beyond the step, strong damping, servos, pieces", function()
  agrees(function(p)
    local w, bob = pendulum(p, { stiffness = p.k, damping = p.d }, { velocity = { 0, 1 } })
    w:step(10)
    return tip(bob)
  end, { m = 1, k = 1e5, d = 50, dt = 1 / 60 }, "stiff spring")
  agrees(function(p)
    local w, bob = pendulum(p, {}, { linear_damping = p.l, angular_damping = p.a })
    w:step(20)
    return tip(bob)
  end, { m = 1, l = 1, a = 300, dt = 1 / 60 }, "damped body")
  for _, most in ipairs { 5, 1e6 } do
    agrees(function(p)
      local w, bob, hinge = pendulum(p, {})
      w:actuator { "a", joint = hinge, kind = "position", kp = 30, kd = 3, max_torque = most }
      w:act { p.u }
      w:step(20)
      return tip(bob)
    end, { m = 1, u = 0.4, dt = 1 / 60 }, "servo of " .. most)
  end
  agrees(function(p)
    local w, bob = pendulum(p, {}, { velocity = { 0, p.v }, angular_velocity = 40 })
    w:step(5)
    return tip(bob)
  end, { m = 1, v = 40, dt = 1 / 60 }, "fast")
end)

-- A symmetric positive matrix of n rows; the last row of `stiff` is rigid.
local function matrix(n, size, p, rigid)
  local m = {}
  for i = 1, n do
    m[i] = {}
    for j = 1, n do
      m[i][j] = (rigid and larger(i, j) == n) and 0 or size * (i == j and 1 + 0.3 * i * p.a or 0.25 * p.b)
    end
  end
  return m
end

test("matrices of compliance and damping", function()
  math.randomseed(14)
  for n = 1, 40 do
    local soft, damp, rigid, steps = 10^between(-4, -2), 10^between(-1, 1.5), math.random() < 0.3, math.random(3, 12)
    local kind, only, turn = pick { "weld", "slider" }, math.random(4), between(-1, 1)
    local free = math.random() < 0.5
    local p = { m = 10^between(-0.5, 0.5), a = between(0.5, 1.5), b = between(0.5, 1.5), v = between(-1, 1), dt = 1 / pick { 30, 120 } }
    agrees(function(q)
      local w = sim.world { dt = q.dt, flow = "rattle", stepping = pick { "auto" } }
      local a = free and w:box { size = { 0.5, 0.3 }, mass = 2 * q.m, position = { 0, 0 }, mask = 0, velocity = { q.v, 1 } } or nil
      local b = w:box { size = { 0.6, 0.2 }, mass = q.m, position = { 0.8, 0.1 }, angle = turn, mask = 0, velocity = { 1, q.v }, angular_velocity = 2 }
      local rows = kind == "weld" and 3 or 2
      w[kind](w, { b, a, anchor = { 0.4, 0.1 }, axis = kind == "slider" and { 1, 0.3 } or nil,
        compliance = only == 1 and soft * q.a or matrix(rows, soft, q, rigid), damping = only == 2 and damp * q.b or only < 4 and matrix(rows, damp, q) or nil })
      w:step(steps)
      local sum = b.x + 2 * b.y + 0.5 * b.angle + 0.1 * b.vx + 0.2 * b.vy + 0.05 * b.omega
      return a and sum + a.x + 0.3 * a.angle or sum
    end, p, "matrix " .. n)
  end
end)

-- A number of 0 has the derivative from above.
test("friction and motors of 0", function()
  for _, kind in ipairs { "friction", "motor" } do
    local function f(p)
      local w, bob = pendulum(p, { friction = kind == "friction" and p.f or nil, motor = kind == "motor" and { speed = 1, max_torque = p.f } or nil })
      w:step(20)
      return tip(bob)
    end
    local e = 1e-6
    near(sim.grad(f, { f = 0 }).f, (4 * f { f = e } - 3 * f { f = 0 } - f { f = 2 * e }) / (2 * e), 1e-7, kind)
  end
end)

-- One-sided differences of order 2 from 0.
local function agrees_from_zero(f, keys, what)
  local g, zero = sim.grad(f, keys), {}
  for key in pairs(keys) do
    if keys[key] == 0 then
      local function at(value)
        local p = {}
        for k, v in pairs(keys) do p[k] = v end
        p[key] = value
        return f(p)
      end
      local e = 1e-4
      local expected = (4 * at(e) - 3 * at(0) - at(2 * e)) / (2 * e)
      near(g[key], expected, 1e-5 * larger(1, math.abs(expected)), what .. ", " .. key)
      zero[#zero + 1] = key
    end
  end
  ok(#zero > 0)
end

test("gains of 0", function()
  math.randomseed(15)
  for n = 1, 20 do
    local v, steps, kind, base = between(-3, 3), math.random(2, 20), pick { "hinge", "slider", "spring", "wheel" }, math.random() < 0.5
    local what = pick { "damping", "both", "servo" }
    if what == "servo" and (kind == "spring" or kind == "wheel") then what = "both" end
    agrees_from_zero(function(p)
      local w = sim.world { flow = "rattle" }
      local a = base and w:box { size = { 0.4, 0.2 }, mass = 2, position = { 0, 0.1 }, mask = 0 } or nil
      local b = w:box { size = { 0.5, 0.2 }, mass = p.m, position = { 0.7, 0 }, velocity = { 0.5, v }, angular_velocity = v, mask = 0 }
      if a then w:hinge { a, anchor = { -0.3, 0.2 } } end
      local anchored = kind ~= "spring"
      local keys = { b, a, anchor = anchored and { 0.3, 0 } or nil, anchor_b = kind == "spring" and not a and { 0, 1 } or nil,
        axis = (kind == "slider" or kind == "wheel") and { 0.8, 0.6 } or nil }
      local bare = what == "damping" and anchored and kind ~= "wheel"
      if what ~= "servo" then
        keys.damping = p.d
        if not bare then keys.stiffness = p.k end
      end
      local joint = w[kind](w, keys)
      if what == "servo" then
        w:actuator { "a", joint = joint, kind = "position", kp = p.k, kd = p.d, [kind == "hinge" and "max_torque" or "max_force"] = base and 5 or nil }
        w:act { 0.4 }
      end
      w:step(steps)
      return b.x + 2 * b.y + 0.3 * b.angle + 0.1 * b.omega + 0.1 * b.vy
    end, { m = 1.3, k = 0, d = 0 }, n .. " " .. kind .. " " .. what)
  end
end)

-- Reduced to the angle of a hinge, products of one-step linearisations are the derivative of the motion, as states
-- fulfil the joints in position and speed.
test("linearisations in coordinates chain", function()
  for _, dt in ipairs { 0.02, 0.005 } do
    local function make(angle, speed)
      local w = sim.world { dt = dt, flow = "rattle" }
      local bob = w:circle { radius = 0.05, mass = 1, position = { 0, -0.5 }, mask = 0 }
      local hinge = w:hinge { bob, anchor = { 0, 0 } }
      local x, y = 0.5 * math.sin(angle), -0.5 * math.cos(angle)
      bob.q, bob.v = { angle, x, y }, { speed, -speed * y, speed * x }
      return w, hinge
    end
    local n, start = math.floor(0.8 / dt + 0.5), math.pi - 0.2
    local w, hinge = make(start, 0)
    local product = sim.eye(2)
    for _ = 1, n do
      product = w:linearize({ coordinates = { hinge } }):mm(product)
      w:step()
    end
    local function run(angle, speed)
      local world, h = make(angle, speed)
      world:step(n)
      return h.angle, h.speed
    end
    local e = 1e-6
    for column, step in ipairs { { e, 0 }, { 0, e } } do
      local a, b = run(start + step[1], step[2])
      local c, d = run(start - step[1], -step[2])
      near(product[1][column], (a - c) / (2 * e), 1e-6 * larger(1, math.abs(product[1][column])))
      near(product[2][column], (b - d) / (2 * e), 1e-6 * larger(1, math.abs(product[2][column])))
    end
  end
end)

-- A limit that is closed and does not press, and dry friction that just holds: one-sided, and "weak". With a little
-- more or less of the load they are on one side, and there is no flag.
test("edges of limits and of friction are flagged", function()
  local function door(p)
    local w = sim.world { dt = 1 / 60, gravity = { 0, -9.81 }, flow = "rattle" }
    local bob = w:box { size = { 0.4, 0.1 }, mass = 1, position = { 1, 0 }, mask = 0, gravity_scale = p.g }
    w:hinge { bob, anchor = { 0, 0 }, limits = { p.lo, 1 } }
    w:step(5)
    return tip(bob)
  end
  local function brake(p)
    local w = sim.world { dt = 1 / 60, gravity = { 0, 0 }, flow = "rattle" }
    local cart = w:box { size = { 0.4, 0.1 }, mass = 2, position = { 0, 0 }, mask = 0 }
    w:slider { cart, anchor = { 0, 0 }, axis = { 1, 0 }, friction = p.most }
    w:before_step(function() cart:apply_force { p.f, 0 } end)
    w:step(5)
    return cart.x
  end
  ok(agrees(door, { g = 0, lo = 0 }, "door"))
  ok(not agrees(door, { g = 1, lo = 0 }, "door that presses") and not agrees(door, { g = -1, lo = 0 }, "door that opens"))
  ok(agrees(brake, { f = 5, most = 5 }, "brake"))
  ok(not agrees(brake, { f = 4, most = 5 }, "brake that holds") and not agrees(brake, { f = 6, most = 5 }, "brake that slides"))
end)

-- Bodies with joint errors, or beyond a limit, are corrected first: chains with a weld or a slider, on a base that may
-- be free.
test("poses that were placed off the joints", function()
  math.randomseed(17)
  for n = 1, 30 do
    local kind, free, way, steps = pick { "hinge", "weld", "slider", "distance" }, math.random() < 0.5, pick { "auto", "speculative" }, math.random(4)
    local beyond, off = math.random() < 0.5, { between(-0.03, 0.03), between(-0.03, 0.03), between(-0.05, 0.05) }
    local v = { between(-1, 1), between(-1, 1) }
    local p = { m = between(0.5, 2), dx = off[1], dy = off[2], turn = off[3], lo = -0.5, dt = 1 / 60, anchor = 0.4 }
    agrees(function(q)
      local w = sim.world { dt = q.dt, flow = "rattle", stepping = way }
      local a = w:box { size = { 0.8, 0.2 }, mass = 1, position = { 0.4, 0 }, mask = 0, velocity = { 0, v[1] } }
      local b = w:box { size = { 0.6, 0.2 }, mass = q.m, position = { 1.2, 0.1 }, mask = 0, velocity = { v[2], 0 } }
      if not free then w:hinge { a, anchor = { 0, 0 }, limits = beyond and { q.lo, 0.02 } or nil } end
      w[kind](w, { b, a, anchor = kind ~= "distance" and { 0.4 + q.anchor, 0 } or nil, axis = kind == "slider" and { 1, 0.2 } or nil })
      b.x, b.y, b.angle = b.x + q.dx, b.y + q.dy, b.angle + q.turn
      a.angle = a.angle + (beyond and 0.1 or 0)
      w:step(steps)
      return a.x + 2 * a.y + 0.3 * a.angle + b.x + 0.5 * b.y + 0.7 * b.angle + 0.1 * b.vx + 0.1 * a.vy + 0.05 * b.omega
    end, p, "placed " .. n .. " " .. kind)
  end
end)

-- Limits that close within the steps, with and without dry friction: differences over steps of 1e-4 to 1e-7 agree, and
-- nothing is flagged. Few large steps cross a switch.
test("motions onto limits are smooth", function()
  math.randomseed(3)
  local crossed = 0
  for _ = 1, 60 do
    local two, way, steps = math.random() < 0.5, pick { "auto", "speculative" }, math.random(5, 25)
    local p = { v = between(-2, 2), lo = -between(0.02, 0.3), hi = between(0.02, 0.3), m = between(0.5, 2), friction = pick { 0.1, 0.001 } }
    local function f(q)
      local w = sim.world { dt = 1 / 60, flow = "rattle", stepping = way }
      local a, b = w:box { size = { 0.5, 0.1 }, mass = q.m, position = { 0.3, 0 }, mask = 0, velocity = { 0, q.v } }, nil
      w:hinge { a, anchor = { 0, 0 }, limits = { q.lo, q.hi }, friction = q.friction }
      if two then
        b = w:box { size = { 0.5, 0.1 }, mass = 1, position = { 0.8, 0 }, mask = 0, velocity = { 0, -q.v } }
        w:hinge { b, a, anchor = { 0.55, 0 }, limits = { -0.2, 0.2 } }
      end
      w:step(steps)
      return a.x + 2 * a.y + 0.3 * a.angle + 0.1 * a.vy + (b and b.y + 0.1 * b.omega or 0)
    end
    local g = sim.grad(f, p)
    eq(table.concat(sim.tape_stats().flags, " "):find "weak", nil)
    for _, e in ipairs { 1e-3, 1e-4, 1e-5, 1e-6, 1e-7 } do
      local function at(d)
        local q = {}
        for k, x in pairs(p) do q[k] = x end
        q.v = q.v + d
        return f(q)
      end
      -- Without its error of second order, which is large where a swing just reaches a limit.
      local difference = (8 * (at(e / 2) - at(-e / 2)) - (at(e) - at(-e))) / (6 * e)
      local agrees_here = math.abs(difference - g.v) <= 1e-6 * larger(1, math.abs(difference))
      crossed = crossed + (agrees_here and 0 or 1)
      ok(agrees_here or e > 1e-4, ("%.0e: %.10g, not %.10g"):format(e, difference, g.v))
    end
  end
  ok(crossed <= 2, crossed .. " crossed a switch")
end)

-- A slider falls onto a limit with restitution and leaves it again: the motion in closed form.
test("a slider that bounces at its limit has the derivative of its parabola", function()
  local function bounce(p)
    local w = sim.world { dt = 1 / 60, flow = "rattle" }
    local box = w:box { size = { 0.2, 0.2 }, mass = 1, position = { 0, 1 }, velocity = { 0, p.v }, mask = 0 }
    w:slider { box, anchor = { 0, 1 }, axis = { 0, 1 }, limits = { p.lo, 3 }, restitution = p.e }
    w:step(30)
    return box.y + 0.3 * box.vy
  end
  local function exact(p)
    local s = (p.v + (p.v * p.v - 2 * 9.81 * p.lo)^0.5) / 9.81
    local v, t = -p.e * (p.v - 9.81 * s), 0.5 - s
    return 1 + p.lo + v * t - 9.81 * t * t / 2 + 0.3 * (v - 9.81 * t)
  end
  local p = { v = 0.3, lo = -0.5, e = 0.6 }
  near(bounce(p), exact(p), 1e-12)
  local g, expected = sim.grad(bounce, p), sim.grad(exact, p)
  for key in pairs(p) do near(g[key], expected[key], 1e-7, key) end
  -- Only the derivative by a restitution of 0 is left out, and a flag reports it.
  sim.grad(bounce, { v = 0.3, lo = -0.5, e = 0 })
  ok(table.concat(sim.tape_stats().flags, " "):find "partial")
end)

-- Chains whose hinges and sliders reach their limits, bounce there and come to rest, with friction, springs and laws in
-- addition. A limit and the angle of a compliant slider give more rows than velocities.
test("random scenes with limits that bounce", function()
  math.randomseed(18)
  local bounced = 0
  for n = 1, fewer(80, 16) do
    local count, way, steps, kinds, v = math.random(3), pick { "auto", "speculative", "event" }, math.random(5, 25), {}, {}
    for i = 1, count do kinds[i], v[i] = pick { "hinge", "hinge", "slider" }, between(-2, 2) end
    local extra, turn, bounces = math.random(4), between(0, 6), math.random() < 0.6
    local p = { m = between(0.5, 2), v = between(-1, 1), lo = -between(0.02, 0.2), hi = between(0.02, 0.2), e = between(0.2, 0.9), dt = 1 / 60, f = between(0.05, 0.5) }
    local function f(q)
      local w, sum, last = sim.world { dt = q.dt, gravity = { 0, -9.81 }, flow = "rattle", stepping = way }, 0, nil
      local joints, bodies, before = {}, {}, {}
      for i, kind in ipairs(kinds) do
        local body = w:box { size = { 0.5, 0.1 }, mass = i == 1 and q.m or 1, position = { i * 0.5 - 0.2, 0.02 * i }, mask = 0,
          velocity = { 0.3, v[i] * 0.2 + q.v }, angular_velocity = v[i] }
        joints[i] = w[kind](w, { body, last, anchor = { (i - 1) * 0.5, 0 }, axis = kind == "slider" and { math.cos(turn), math.sin(turn) } or nil,
          limits = { q.lo, q.hi }, restitution = bounces and q.e or nil, friction = extra == 1 and q.f or nil,
          stiffness = extra == 2 and 50 * q.f or nil, damping = extra == 2 and 0.2 or nil })
        if extra == 3 then body:force_law(function(b) return -q.f * b.vx, -10 * q.f * b.y, 0 end) end
        last, bodies[i] = body, body
      end
      w:step(steps)
      for i, b in ipairs(bodies) do
        sum = sum + math.cos(i) * b.x + math.sin(2 * i) * b.y + 0.3 * b.angle + 0.1 * math.cos(3 * i) * b.vx + 0.1 * b.vy + 0.05 * b.omega
      end
      return sum
    end
    agrees(f, p, "bounce " .. n)
    bounced = bounced + (sim.grad(f, p).e ~= 0 and 1 or 0)
  end
  ok(bounced >= fewer(20, 3), bounced .. " bounced")
end)

-- On the central path the impulse x of a slider on its limit obeys x (c + x/m) = kappa V^2 m, with c the velocity
-- change by forces in the step.
test("a slider that is pushed off its limit has the smooth derivative of its central path", function()
  for _, kappa in ipairs { 1e-8, 1e-4, 1e-2 } do
    for _, push in ipairs { 0, 5, 9, 12 } do
      local function f(p)
        local w = sim.world { dt = 1 / 60, gravity = { 0, -10 }, flow = "rattle", gradient = "smooth", smoothing = kappa }
        local box = w:box { size = { 0.4, 0.2 }, mass = p.m, mask = 0 }
        w:slider { box, anchor = { 0, 0 }, axis = { 0, 1 }, limits = { 0, 1 } }
        box:apply_force { 0, p.push }
        w:step()
        return box.vy
      end
      local h, m = 1 / 60, 1.3
      local a = (push / m - 10) / 10
      local x = (-a + math.sqrt(a * a + 4 * kappa)) / 2
      local g = sim.grad(f, { push = push, m = m })
      near(g.push, h / m * (a + x) / (a + 2 * x), 1e-8 * h, kappa .. ", " .. push)
      near(g.m, -h * push / m ^ 2 * (a + x) / (a + 2 * x), 1e-8 * h * larger(1, push), kappa .. ", " .. push)
    end
  end
end)

-- ---- Motions as functions of time ----------------------------------------------------------------

-- A body that is locked to x = v t^3 ends a step with 3 v t^2, whatever it is joined to.
test("a locked cart has the derivative of its function", function()
  local function run(read)
    return function(p)
      local w = sim.world { dt = p.dt, flow = "rattle" }
      local cart = w:box { size = { 0.2, 0.2 }, mass = 2, mask = 0 }
      w:lock { cart, x = function(t) return p.v * t ^ 3 end, y = true, angle = true }
      w:hinge { w:box { size = { 0.2, 0.2 }, position = { 0.4, 0 }, mass = 1, mask = 0 }, cart, anchor = { 0, 0 } }
      w:step(6)
      return cart[read]
    end
  end
  local x, vx = sim.grad(run "x", { v = 2, dt = 1 / 60 }), sim.grad(run "vx", { v = 2, dt = 1 / 60 })
  near(x.v, 0.1 ^ 3, 1e-12)
  near(x.dt, 2 * 3 * 0.1 ^ 2 * 6, 1e-10)
  near(vx.v, 3 * 0.1 ^ 2, 1e-8)
  near(vx.dt, 2 * 6 * 0.1 * 6, 1e-6)
end)

local function random_motion()
  local a, kind = { between(-1, 1), between(-1, 1), between(-1, 1), between(1, 6) }, pick { "body", "body", "places", "velocities" }
  return function(w, p)
    local function place(t)
      return p.a * a[1] * sim.sin(a[4] * t), p.a * a[2] * t ^ 3 + p.b * t, p.b * a[3] * sim.sin(t) ^ 2
    end
    if kind == "body" then
      local base = w:box { type = "kinematic", size = { 0.2, 0.2 }, mask = 0 }
      base:motion(place)
      return base
    end
    -- A lock may move a body with mass, and may leave its angle free.
    local base, free = w:box { size = { 0.2, 0.2 }, mass = p.m, mask = 0 }, a[2] > 0
    if kind == "velocities" then
      w:lock { base, x = true, y = true, angle = not free, velocity = function(t)
        return free and 0 or p.b * sim.cos(t), p.a * a[1] * sim.cos(a[4] * t), p.b * a[2] * t
      end }
    else
      w:lock { base, x = function(t) return (place(t)) end, y = function(t) local _, y = place(t) return y end, angle = not free }
    end
    return base
  end
end

-- Chains on a body or a lock that follows a function of time, with compliant joints, bounds and reactions in the loss.
test("random scenes on bodies that move as functions of time", function()
  math.randomseed(19)
  for n = 1, fewer(60, 12) do
    local links, base, reads = {}, random_motion(), math.random() < 0.3
    for i = 1, math.random(3) do
      links[i] = random_link(i)
    end
    local way, steps, long = pick { "auto", "speculative", "event" }, math.random(3, 20), math.random() < 0.3
    local p = { m = between(0.5, 2), v = between(-1, 1), x = between(-0.1, 0.1), stiff = between(0.5, 1.5), damp = between(0.5, 1.5),
      g = pick { 0, 9.81 }, dt = 1 / pick { 60, 120 }, a = between(0.5, 1.5), b = between(-0.5, 0.5) }
    if long then sim.checkpoint(4) end
    agrees(function(q)
      local w = sim.world { dt = q.dt, gravity = { 0, -q.g }, flow = "rattle", stepping = way }
      local bodies, sum = { [0] = base(w, q) }, 0
      for i, link in ipairs(links) do
        bodies[i] = w:box { size = link.size, mass = link.mass * q.m, position = { i * 0.6 + q.x, link.y }, angle = link.angle, mask = 0,
          velocity = { link.v[1] + q.v, link.v[2] }, angular_velocity = link.w }
        local other = bodies[link.other]
        local keys = keys_of(link, i, other, q)
        keys[1], keys[2] = bodies[i], other
        local joint = w[link.kind](w, keys)
        if reads then w:after_step(function() sum = sum + 0.01 * joint.force[1] + 0.02 * joint.force[2] + 0.01 * joint.torque end) end
      end
      w:step(steps)
      for i = 0, #bodies do
        local b = bodies[i]
        sum = sum + math.cos(i) * b.x + math.sin(2 * i) * b.y + 0.3 * b.angle + 0.1 * math.cos(3 * i) * b.vx + 0.1 * b.vy + 0.05 * b.omega
      end
      return sum
    end, p, "function of time " .. n)
    sim.checkpoint()
  end
end)

-- ---- Edges -------------------------------------------------------------------------------------

-- The loads of joints determine whether an island is stiff, and how stiff: then the flow by projection makes the next
-- step, with the impulses of this step as loads.
test("impulses that make the next step stiff", function()
  agrees(function(p)
    local w = sim.world { dt = p.dt, gravity = { 0, -9.81 }, flow = "rattle" }
    local link = w:box { size = { 0.4, 0.05 }, mass = 1e-4, position = { 0.2, 0 }, mask = 0, velocity = { 0, p.v * 0.2 }, angular_velocity = p.v }
    local bob = w:circle { radius = 0.05, mass = p.m, position = { 0.4, 0 }, mask = 0, velocity = { 0, p.v * 0.4 } }
    w:hinge { link, anchor = { 0, 0 } }
    w:hinge { bob, link, anchor = { 0.4, 0.01 } }
    w:step(3)
    ok(w:stats().stiffened > 0)
    return link.x + 2 * link.y + link.angle + bob.vx + 2 * bob.vy + 0.1 * bob.omega
  end, { m = 5, v = 8, dt = 1 / 60 }, "stiff", 1e-6)
end)

test("a missing derivative is reported", function()
  local function placed(p) -- so far that a pass has to be shortened
    local w, bob = pendulum(p, {})
    bob.x, bob.y, bob.angle = -1, 0.5, 2
    w:step()
    return bob.y
  end
  raises('flow "rattle" and poses that are far from satisfying the joints', sim.grad, placed, { m = 1 })
end)
