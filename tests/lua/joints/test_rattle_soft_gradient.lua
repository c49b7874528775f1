-- Derivatives of worlds with flow = "rattle" compared with differences: compliant contacts, viscosity of contacts and
-- ground friction.
local sim = require "sim2d"
local rattled = require "rattled"

local G = 9.81

local world, sum = rattled.world_of, rattled.sum

local function floor(w, p)
  return w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 }, friction = p.mu, contact_compliance = p.c, contact_damping = p.d,
    contact_viscosity = p.visc }
end

local function nearest(f, p, key, g)
  return rattled.nearest(f, p, key, g, { 1e-3, 1e-4, 1e-5, 1e-6 }, 1e-5)
end

local function agrees(...) return rattled.agrees(nearest, ...) end

-- ---- Compliant contacts ------------------------------------------------------------------------

-- The first two compliances use the trapezoid, the third implicit Euler.
test("a ball bounces on compliant ground", function()
  for _, c in ipairs { 1e-2, 1e-3, 1e-6 } do
    for _, d in ipairs { 0, 7 } do
      if d > 0 or c > 1e-6 then
        agrees(("ball, %g, %g"):format(c, d), function(p)
          local w = world(p)
          floor(w, p)
          local b = w:circle { radius = p.r, mass = p.m, position = { 0, p.y }, velocity = { 0, -1 } }
          w:step(20)
          return sum(b)
        end, { c = c, d = d > 0 and d or nil, m = 1, r = 0.1, y = 0.15, g = G, dt = 1 / 60 })
      end
    end
  end
end)

test("boxes with friction slide, tip and rest on compliant ground", function()
  for _, c in ipairs { 1e-3, 1e-6 } do
    for _, v in ipairs { 0.3, 3 } do
      agrees(("box, %g, %g"):format(c, v), function(p)
        local w = world(p)
        floor(w, p)
        local b = w:box { size = { 0.4, 0.2 }, mass = p.m, position = { p.x, 0.12 }, angle = p.a, velocity = { p.v, 0 }, friction = p.mu }
        w:step(15)
        return sum(b)
      end, { c = c, d = 10, mu = 0.3, m = 2, v = v, x = 0.1, a = 0.05, g = G, dt = 1 / 60 })
    end
  end
end)

-- The compliances of both bodies add up, and their dampings combine.
test("two compliant balls, on the slope of a ball", function()
  for _, c in ipairs { 1e-3, 1e-6 } do
    agrees(("balls, %g"):format(c), function(p)
      local w = world(p)
      w:circle { type = "static", radius = 1, friction = p.mu, contact_compliance = p.c, contact_damping = p.d }
      local b = w:circle { radius = p.r, mass = p.m, friction = p.mu, contact_compliance = p.c2, contact_damping = p.d2,
        position = { (1 + p.r) * sim.sin(0.3), (1 + p.r) * sim.cos(0.3) } }
      w:step(15)
      return sum(b)
    end, { c = c, c2 = c / 3, d = 10, d2 = 30, m = 2, g = G, mu = 0.2, r = 0.2, dt = 1 / 60 })
  end
end)

test("forces of compliant contacts, and of a joint next to them", function()
  for _, c in ipairs { 1e-3, 1e-6 } do
    agrees(("forces, %g"):format(c), function(p)
      local w = world(p)
      floor(w, p)
      local b = w:box { size = { 0.4, 0.2 }, mass = p.m, position = { 0, 0.1 }, velocity = { p.v, 0 }, friction = p.mu }
      local pole = w:box { size = { 0.1, 0.5 }, mass = 1, position = { 0, 0.45 }, mask = 0, angular_velocity = p.w, velocity = { p.v - 0.25 * p.w, 0 } }
      local hinge = w:hinge { b, pole, anchor = { 0, 0.2 } }
      w:step(12)
      local total = 0
      for i, contact in ipairs(w:contacts()) do total = total + i * contact.normal_impulse * 60 end
      return sum(b, pole) + 1e-2 * total + 1e-2 * hinge.force[1]
    end, { c = c, d = 20, mu = 0.3, m = 2, v = 1, w = 0.5, g = G, dt = 1 / 60 })
  end
end)

-- The adjoint of a body exactly at rest decays to the smallest numbers. The box sinks by m g C/2.
test("a box at rest", function()
  for _, c in ipairs { 1e-3, 1e-6 } do
    local g = agrees(("rest, %g"):format(c), function(p)
      local w = world(p)
      floor(w, p)
      local b = w:box { size = { 0.4, 0.2 }, mass = p.m, position = { 0, 0.1 }, friction = 0.3 }
      w:step(600)
      return b.y
    end, { c = c, d = 300, m = 2, g = G, mu = 0.3 })
    near(g.c, -G, 1e-9)
    near(g.m, -G * c / 2, 1e-12)
    near(g.g, -c, 1e-12)
  end
end)

-- ---- Viscosity ---------------------------------------------------------------------------------

test("viscosity slows sliding bodies", function()
  for _, visc in ipairs { 2, 400 } do
    for _, mu in ipairs { 0, 0.1 } do
      agrees(("viscosity %g, friction %g"):format(visc, mu), function(p)
        local w = world(p)
        w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 }, friction = p.mu, contact_viscosity = p.visc, surface_speed = p.s }
        local b = w:box { size = { 0.4, 0.2 }, mass = p.m, position = { 0, 0.1 }, velocity = { p.v, 0 }, friction = p.mu }
        w:step(10)
        return sum(b)
      end, { visc = visc, mu = mu > 0 and mu or nil, m = 2, v = 3, s = 0.1, g = G, dt = 1 / 60 })
    end
  end
end)

test("a viscosity of 0 has the derivative from above", function()
  local function f(p)
    local w = world(p)
    w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 }, contact_viscosity = p.visc }
    local b = w:box { size = { 0.4, 0.2 }, mass = 2, position = { 0, 0.1 }, velocity = { 1, 0 } }
    w:step(10)
    return b.x
  end
  near(sim.grad(f, { visc = 0 }).visc, (f { visc = 1e-6 } - f { visc = 0 }) / 1e-6, 1e-6)
end)

-- ---- Ground friction ---------------------------------------------------------------------------

test("ground friction of a disc that slides, turns and stops", function()
  for _, steps in ipairs { 10, 40 } do
    agrees("disc, " .. steps, function(p)
      local w = world(p, { gravity = { 0, p.side } })
      local b = w:circle { radius = 0.1, mass = p.m, velocity = { p.v, 0.3 }, angular_velocity = p.w }
      w:ground_friction { body = b, max_force = p.f, max_torque = p.t }
      w:step(steps)
      return sum(b)
    end, { m = 2, v = 1, side = 1.5, w = 3, f = 6, t = 0.02, dt = 1 / 60 })
  end
end)

test("ground friction beside joints and contacts", function()
  agrees("pair", function(p)
    local w = world(p, { gravity = { 0, 0 } })
    local a = w:box { size = { 0.4, 0.1 }, mass = p.m, velocity = { 0.5, 1 }, angular_velocity = p.w, mask = 0 }
    local b = w:box { size = { 0.4, 0.1 }, mass = 1, position = { 0.4, 0 }, velocity = { 0.5, 1 + 0.4 * p.w }, angular_velocity = p.w, mask = 0 }
    w:hinge { a, b, anchor = { 0.2, 0 } }
    w:ground_friction { body = a, max_force = p.f, max_torque = p.t }
    w:ground_friction { body = b, max_force = p.f2, max_torque = 0.03 }
    w:step(15)
    return sum(a, b)
  end, { m = 2, w = 1, f = 2, f2 = 3, t = 0.02, dt = 1 / 60 })
  agrees("pushed along a wall", function(p)
    local w = world(p, { gravity = { 0, 0 } })
    w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 }, friction = p.mu }
    local b = w:circle { radius = 0.1, mass = p.m, position = { 0, 0.1 }, velocity = { p.v, 0 }, friction = p.mu }
    w:ground_friction { body = b, max_force = p.f, max_torque = p.t }
    for _ = 1, 10 do
      b:apply_force { 0.5, -p.push }
      w:step()
    end
    return sum(b)
  end, { m = 2, v = 1, mu = 0.2, push = 8, f = 3, t = 0.02, dt = 1 / 60 })
end)

test("ground friction of 0 has the derivative from above", function()
  local function f(p)
    local w = world(p, { gravity = { 0, 0 } })
    local b = w:circle { radius = 0.1, mass = 2, velocity = { 1, 0.5 }, angular_velocity = 2 }
    w:ground_friction { body = b, max_force = p.f, max_torque = p.t }
    w:step(10)
    return sum(b)
  end
  local g = sim.grad(f, { f = 0, t = 0 })
  near(g.f, (f { f = 1e-6, t = 0 } - f { f = 0, t = 0 }) / 1e-6, 1e-6)
  near(g.t, (f { f = 0, t = 1e-7 } - f { f = 0, t = 0 }) / 1e-7, 1e-4)
end)

-- ---- Random scenes -----------------------------------------------------------------------------

local function between(lo, hi) return lo + (hi - lo) * math.random() end

local function pick(list) return list[math.random(#list)] end

-- Materials of a body: rigid, or with a compliance of 1e-8 to 1e-2 m/N; some are viscous.
local function material()
  return { c = pick { 0, 10 ^ between(-4, -2), 10 ^ between(-8, -4) }, d = pick { 0, between(0, 30) }, visc = pick { 0, 10 ^ between(-1, 2.5) },
    mu = pick { 0, between(0.05, 1) } }
end

local function put_material(def, of, p)
  def.contact_compliance, def.contact_damping = of.c * p.c, of.c > 0 and of.d * p.d or 0
  def.contact_viscosity, def.friction = of.visc * p.visc, of.mu * p.mu
  return def
end

local function scene(seed)
  math.randomseed(seed)
  local bodies, joints = {}, {}
  local ground = { of = material(), kind = pick { "box", "box", "circle", "chain", "plane" }, angle = pick { 0, between(-0.3, 0.3) } }
  for i = 1, math.random(3) do
    bodies[i] = { of = material(), kind = pick { "circle", "box", "box", "capsule" }, size = { between(0.2, 0.6), between(0.1, 0.4) },
      mass = 10 ^ between(-0.5, 0.5), angle = pick { 0, between(-0.5, 0.5) }, v = { between(-2, 2), between(-2, 1) }, w = pick { 0, between(-3, 3) },
      y = between(0, 0.2), force = between(0.5, 6), torque = pick { 0, between(0.01, 0.1) } }
    joints[i] = i > 1 and pick { "none", "none", "hinge", "spring", "distance" } or "none"
  end
  local stepping, steps, reads = pick { "auto", "event" }, math.random(3, 40), math.random() < 0.3
  local p = { m = 1, v = between(-0.5, 0.5), y = 0.01, c = 1, d = 1, visc = 1, mu = 1, f = 1, a = 0.01, dt = 1 / pick { 60, 120 }, g = G }
  return function(q)
    -- A plane seen from above has no weight, but ground friction, and a wall.
    local above = ground.kind == "plane"
    local w = world(q, { stepping = stepping, combine_friction = "average", gravity = { above and 0.1 * q.g or 0, above and 0 or -q.g } })
    local def = put_material({ type = "static", position = { 0, -0.5 }, size = { 20, 1 }, angle = above and 0 or ground.angle }, ground.of, q)
    if ground.kind == "circle" then
      def.size, def.radius, def.position = nil, 3, { 0.5, -3 }
      w:circle(def)
    elseif ground.kind == "chain" then
      def.size, def.angle, def.position, def.points = nil, nil, nil, {}
      for i = -4, 8 do def.points[#def.points + 1] = { i * 0.5, 0.05 * math.sin(i * i) } end
      w:chain(def)
    else
      w:box(def)
    end
    local made, rods, total = {}, {}, 0
    for i, b in ipairs(bodies) do
      local high = b.size[2]
      local body = put_material({ mass = b.mass * (i == 1 and q.m or 1), velocity = { b.v[1] + q.v, b.v[2] }, angular_velocity = b.w,
        angle = b.angle + (i == 1 and q.a or 0) }, b.of, q)
      if b.kind == "circle" then
        body.radius = b.size[2]
      elseif b.kind == "box" then
        body.size, high = b.size, b.size[2] / 2 * math.cos(b.angle) + b.size[1] / 2 * math.abs(math.sin(b.angle))
      else
        body.radius, body.length, high = b.size[2] / 4, b.size[1], b.size[2] / 4 + b.size[1] / 2 * math.abs(math.sin(b.angle))
      end
      body.position = { (i - 1) * 0.8, b.y + high + 0.1 + q.y }
      made[i] = w[b.kind](w, body)
      if above then w:ground_friction { body = made[i], max_force = b.force * q.f, max_torque = b.torque } end
      if joints[i] == "hinge" then rods[#rods + 1] = w:hinge { made[i], made[i - 1], anchor = { (i - 1.5) * 0.8, 0.3 } } end
      if joints[i] == "distance" then rods[#rods + 1] = w:distance { made[i], made[i - 1] } end
      if joints[i] == "spring" then rods[#rods + 1] = w:spring { made[i], made[i - 1], stiffness = 100, damping = 1 } end
    end
    if reads then
      w:after_step(function()
        for i, b in ipairs(made) do
          for _, contact in ipairs(b:contacts()) do total = total + 0.01 * contact.normal_impulse + 0.02 * i * contact.tangent_impulse end
        end
        for _, rod in ipairs(rods) do total = total + 0.01 * rod.force[1] + 0.02 * rod.force[2] end
      end)
    end
    w:step(steps)
    return total + sum(table.unpack(made))
  end, p
end

-- "right"; "said" where a flag reports that it may not be; "switch" where no two step lengths give differences that
-- agree better than that.
test("random scenes", function()
  local count = { right = 0, said = 0, switch = 0, wrong = 0 }
  for seed = 161, 160 + fewer(80, 15) do
    local f, p = scene(seed)
    local g = sim.grad(f, p)
    local flags = table.concat(sim.tape_stats().flags, " ")
    local said = flags:find "weak" or flags:find "partial" or flags:find "grazing" or flags:find "together" or flags:find "undetermined"
    for key in pairs(p) do
      local best, apart = nearest(f, p, key, g[key])
      local what = best <= 1e-6 and "right" or said and "said" or apart > best / 5 and "switch" or "wrong"
      count[what] = count[what] + 1
      if what == "wrong" then print(("  seed %d, %s: off by %.1e"):format(seed, key, best)) end
    end
  end
  local all = count.right + count.said + count.switch + count.wrong
  print(("  %d right, %d at a switch, %d with a flag"):format(count.right, count.switch, count.said))
  eq(count.wrong, 0)
  ok(count.right >= 0.97 * all, count.right .. " of " .. all)
end)
