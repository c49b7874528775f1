-- Random scenes for the audits of steps: scenes of scripts that broke other engines. One seed gives one scene.
local sim = require "sim2d"

local R
local function u(lo, hi) return R:uniform(lo, hi) end
local function logu(lo, hi) return 10 ^ u(lo, hi) end
local function pick(t) return t[R:integer(1, #t)] end
local function chance(x) return u(0, 1) < x end
local function rounded(x, digits) return tonumber(("%%.%df"):format(digits):format(x)) end

-- ---- Bodies ------------------------------------------------------------------------------------

local shapes = {
  disc = function(w, t) t.radius = u(0.05, 0.3) return w:circle(t) end,
  box = function(w, t) t.size = { u(0.1, 0.6), u(0.1, 0.6) } return w:box(t) end,
  thin = function(w, t) t.size = { u(0.3, 1), u(0.005, 0.02) } return w:box(t) end,
  long = function(w, t) t.size = { u(1, 3), u(0.05, 0.15) } return w:box(t) end,
  tiny = function(w, t) t.radius = u(0.002, 0.01) return w:circle(t) end,
  capsule = function(w, t) t.length, t.radius = u(0.1, 0.6), u(0.03, 0.15) return w:capsule(t) end,
  polygon = function(w, t)
    local n, r, digits = R:integer(3, 7), u(0.1, 0.35), R:integer(3, 8)
    t.vertices = {}
    for i = 1, n do
      local a = 2 * math.pi * (i + u(-0.2, 0.2)) / n
      t.vertices[i] = { rounded(r * math.cos(a), digits), rounded(r * math.sin(a), digits) }
    end
    return w:polygon(t)
  end,
}
local NAMES = { "disc", "box", "thin", "long", "tiny", "capsule", "polygon" }

local function body(w, kind, x, y, more)
  local t = { position = { x, y }, angle = u(-3, 3), friction = u(0, 1),
    restitution = chance(0.5) and u(0, 0.9) or 0, mass = logu(-1, 1) }
  for key, value in pairs(more or {}) do t[key] = value end
  return shapes[kind](w, t)
end

local function ground(w)
  if chance(0.5) then
    return w:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 }, friction = u(0, 1) }
  end
  local points, high, digits = {}, logu(-8, -1), R:integer(3, 8)
  for i = -10, 10 do points[#points + 1] = { i, rounded(u(-high, high), digits) } end
  return w:chain { points = points, friction = u(0, 1) }
end

-- ---- Scenes ------------------------------------------------------------------------------------

local kinds = {}

function kinds.drop(w)
  ground(w)
  for i = 1, R:integer(1, 5) do
    body(w, pick(NAMES), u(-1, 1), 1 + 1.2 * i, { velocity = { u(-3, 3), u(-5, 2) }, angular_velocity = u(-5, 5) })
  end
end

function kinds.stack(w)
  ground(w)
  local y, h = 0.1, u(0.2, 0.5)
  for _ = 1, R:integer(2, 8) do
    w:box { position = { u(-0.1, 0.1) * h, y + h / 2 }, size = { u(1, 2) * h, h }, friction = u(0.2, 1), mass = logu(-1, 1) }
    y = y + h
  end
end

function kinds.slide(w)
  ground(w)
  for i = 1, R:integer(1, 3) do
    local h = u(0.1, 0.5)
    w:box { position = { 3 * i - 6, h / 2 + 0.11 }, size = { u(0.5, 2) * h, h }, velocity = { u(-4, 4), 0 }, friction = pick { 0, u(0, 1) } }
  end
end

function kinds.throw(w) -- at walls of all thicknesses
  local thick = logu(-2.5, -0.5)
  w:box { type = "static", position = { 3, 0 }, size = { thick, 8 }, restitution = u(0, 1) }
  w:box { type = "static", position = { -3, 0 }, size = { thick, 8 } }
  for i = 1, R:integer(1, 3) do
    body(w, pick(NAMES), u(-1, 1), 2 * i - 4, { velocity = { u(-200, 200), u(-2, 2) }, angular_velocity = u(-20, 20) })
  end
end

function kinds.piston(w) -- from rest, in both directions, in both orders of creation
  local thick, gap, dir = u(0.01, 0.3), logu(-3, -0.7), pick { -1, 1 }
  local function wall() w:box { type = "static", position = { dir * (gap + thick / 2), 0 }, size = { thick, 3 } } end
  local kind, size, b = pick { "disc", "box" }, u(0.02, 0.1), nil
  local function piston()
    local t = { position = { -dir * size, 0 }, mass = logu(-3, 1) }
    b = kind == "disc" and w:circle { radius = size, position = t.position, mass = t.mass } or w:box { size = { 2 * size, 2 * size }, position = t.position, mass = t.mass }
  end
  if chance(0.5) then wall() piston() else piston() wall() end
  w.gravity = { 0, 0 }
  local force = dir * b.mass * 2 * (gap + size + thick) * u(0.1, 3) / w.dt ^ 2
  return function() b:apply_force { force, 0 } end
end

function kinds.bar(w) -- turns through small bodies
  w.gravity = { 0, 0 }
  local long, speed = u(0.5, 3), u(0.05, 1) / w.dt * pick { -1, 1 }
  if chance(0.5) then
    w:box { type = "kinematic", size = { long, u(0.01, 0.1) }, angle = u(-3, 3), angular_velocity = speed }
  else
    local bar = w:box { size = { long, u(0.01, 0.1) }, angle = u(-3, 3), angular_velocity = speed, mass = 5 }
    w:hinge { bar, anchor = { 0, 0 } }
  end
  for _ = 1, R:integer(1, 4) do
    local a, r = u(-3, 3), u(0.3, 0.48) * long
    body(w, pick { "disc", "tiny", "box" }, r * math.cos(a), r * math.sin(a), { mass = 0.1 })
  end
end

-- Thin plates that turn by radians within a step, between walls and next to each other. They are chosen by name, not by
-- seed.
function kinds.spin(w)
  w.gravity = { 0, chance(0.5) and -9.81 or 0 }
  w:box { type = "static", position = { 0, -1 }, size = { 6, logu(-2, -0.5) }, friction = u(0, 1) }
  if chance(0.5) then w:box { type = "static", position = { 1.2, 0 }, size = { logu(-2, -0.5), 3 } } end
  for i = 1, R:integer(1, 3) do
    w:box { size = { u(0.3, 1), u(0.005, 0.02) }, position = { u(-0.8, 0.8), 1.2 * i - 1.5 }, angle = u(-3, 3), mass = logu(-1, 1),
      friction = u(0, 1), restitution = chance(0.5) and u(0, 0.9) or 0, velocity = { u(-10, 10), u(-20, 5) },
      angular_velocity = pick { -1, 1 } * logu(0, 1.8) / w.dt }
  end
end

function kinds.spring_gun(w)
  w.gravity = { 0, 0 }
  local b = body(w, pick { "box", "disc", "tiny" }, 0, 0, { mass = logu(-2, 0), angle = 0 })
  w:box { type = "static", position = { 0.7, 0 }, size = { logu(-2, -0.5), 3 } }
  if chance(0.5) then
    w:spring { b, anchor_a = { 0, 0 }, anchor_b = { -0.1, 0 }, rest_length = u(0.2, 1.5), stiffness = logu(2, 5), damping = chance(0.5) and u(0, 5) or 0 }
  else
    w:mouse { b, target = { u(0.8, 2), u(-0.2, 0.2) }, stiffness = logu(1, 4), damping = u(0, 10) }
  end
end

function kinds.chain(w)
  if chance(0.6) then ground(w) end
  local before, n, l = nil, R:integer(2, 6), u(0.3, 0.8)
  for i = 1, n do
    local b = w:box { position = { (i - 0.5) * l, 3 }, size = { l, 0.1 }, mass = logu(-0.5, 0.5), friction = u(0, 1) }
    local t = { a = b, b = before, anchor = { (i - 1) * l, 3 } }
    if chance(0.2) then t.friction = u(0.01, 0.5) end
    if chance(0.2) then t.limits = { -u(0.2, 1), u(0.2, 1) } end
    if chance(0.2) then t.motor = { speed = u(-3, 3), max_torque = u(0.5, 10) } end
    w:hinge(t)
    before = b
  end
end

function kinds.platform(w)
  local p = w:box { type = "kinematic", position = { 0, -0.1 }, size = { 6, 0.2 }, friction = u(0.3, 1) }
  local ax, ay, f = u(-0.5, 0.5), u(-0.1, 0.1), u(0.5, 3)
  p:motion(function(t) return ax * math.sin(f * t), -0.1 + ay * math.sin(f * t), 0 end)
  for i = 1, R:integer(1, 4) do
    local h = u(0.1, 0.4)
    w:box { position = { i - 2.5, h / 2 }, size = { h, h }, friction = u(0.3, 1) }
  end
end

function kinds.cart(w) -- a motor drives it
  ground(w)
  local chassis = w:box { position = { 0, 0.6 }, size = { 1.2, 0.2 }, mass = 3 }
  for _, s in ipairs { -1, 1 } do
    local wheel = w:circle { radius = 0.2, position = { s * 0.45, 0.4 }, mass = 0.5, friction = 0.9 }
    w:hinge { wheel, chassis, anchor = { s * 0.45, 0.4 }, motor = { speed = u(-8, 8), max_torque = u(0.2, 3) } }
  end
end

-- Ground as files contain it: heights of nanometres to millimetres, rounded to 3 to 8 decimals.
function kinds.flat(w)
  local points, high, digits, x = {}, logu(-9, -3), R:integer(3, 8), -8
  repeat
    points[#points + 1] = { rounded(x, digits), rounded(u(-high, high), digits) }
    x = x + u(0.05, 1)
  until x > 8
  w:chain { points = points, friction = u(0, 1) }
  for i = 1, R:integer(1, 3) do
    local h = u(0.1, 0.5)
    local t = { position = { 3 * i - 6, h / 2 + 0.01 }, velocity = { u(-4, 4), 0 }, friction = pick { 0, u(0, 1) } }
    if chance(0.5) then
      t.size = { u(0.5, 2) * h, h }
      w:box(t)
    else
      t.radius = h / 2
      w:circle(t)
    end
  end
end

function kinds.outline(w) -- one concave polygon with rounded corners is the ground
  local digits, high, vertices = R:integer(3, 8), logu(-3, -0.3), { { -8, -2 }, { 8, -2 } }
  for i = 8, -8, -1 do vertices[#vertices + 1] = { rounded(i + u(-0.3, 0.3), digits), rounded(u(-high, high), digits) } end
  w:polygon { type = "static", vertices = vertices, friction = u(0, 1) }
  for i = 1, R:integer(1, 4) do
    body(w, pick(NAMES), 2 * i - 5, high + 0.5, { velocity = { u(-5, 5), u(-3, 0) }, angle = u(-0.5, 0.5) })
  end
end

function kinds.tiles(w) -- boxes side by side: one compound, or bodies
  local shapes, width = {}, u(0.3, 1)
  for i = -8, 8 do shapes[#shapes + 1] = { size = { width, 0.4 }, position = { i * width, -0.2 } } end
  if chance(0.5) then
    w:compound { type = "static", shapes = shapes, friction = u(0, 1) }
  else
    for _, t in ipairs(shapes) do w:box { type = "static", size = t.size, position = t.position, friction = 0.5 } end
  end
  for i = 1, R:integer(1, 3) do
    local h = u(0.1, 0.4)
    w:box { position = { 1.5 * i - 3, h / 2 }, size = { u(0.5, 2) * h, h }, velocity = { u(-5, 5), 0 }, friction = pick { 0, u(0, 0.6) } }
  end
end

function kinds.motor(w) -- presses bodies against a wall, or against a limit
  w.gravity = { 0, pick { 0, -9.81 } }
  w:box { type = "static", position = { 2, 0 }, size = { u(0.01, 0.3), 2 } }
  local t = { size = { u(0.05, 0.3), 0.4 }, position = { 0, 0 }, mass = logu(-1, 1), friction = u(0, 1) }
  local ram = w:box(t)
  if chance(0.5) then
    w:slider { a = ram, anchor = { 0, 0 }, axis = { 1, 0 }, limits = chance(0.5) and { -1, u(0.5, 3) } or nil,
      motor = { speed = u(0.5, 20), max_force = logu(0, 4) } }
  else
    w:lock { ram, x = true, y = true, angle = true, velocity = { u(0.5, 20), 0 }, max_force = logu(0, 4) }
  end
  w:box { type = "static", position = { 1, -0.45 }, size = { 2.2, 0.5 }, friction = u(0, 1) }
  for i = 1, R:integer(0, 2) do body(w, pick { "box", "disc", "polygon" }, 0.2 + 0.7 * i, 0.1, { angle = 0 }) end
end

function kinds.arm(w) -- a hinge with a motor, a limit, a spring or a position that it holds
  ground(w)
  local l = u(0.5, 1.5)
  local arm = w:box { position = { l / 2, 0.8 }, size = { l, u(0.05, 0.2) }, mass = logu(-1, 1) }
  local t = { a = arm, anchor = { 0, 0.8 } }
  if chance(0.5) then t.motor = { speed = u(-10, 10), max_torque = logu(-1, 2) } end
  if chance(0.5) then t.limits, t.restitution = { -u(0.1, 1), u(0.1, 1) }, pick { 0, u(0, 1) } end
  if chance(0.3) then t.stiffness, t.damping = logu(0, 3), u(0, 2) end
  w:hinge(t)
  for i = 1, R:integer(0, 2) do body(w, pick { "box", "disc" }, u(-1, 1), 1.2 + 0.8 * i) end
end

function kinds.net(w) -- bodies on springs, rods and ropes
  if chance(0.5) then ground(w) end
  local before
  for i = 1, R:integer(2, 5) do
    local b = body(w, pick { "box", "disc", "capsule" }, i - 3, 2)
    local t = { a = b, b = before }
    if not before then t.anchor_b = { i - 3, 3 } end
    local how = pick { "spring", "rope", "rod" }
    if how == "spring" then
      t.stiffness, t.damping = logu(0, 4), chance(0.5) and u(0, 3) or 0
      w:spring(t)
    elseif how == "rope" then
      t.restitution = pick { 0, u(0, 1) }
      w:rope(t)
    else
      if chance(0.3) then t.compliance = logu(-6, -2) end
      w:distance(t)
    end
    if chance(0.7) then before = b end
  end
end

function kinds.mouse(w) -- drags one of several bodies into a wall and through the others
  ground(w)
  w:box { type = "static", position = { 2, 1 }, size = { logu(-2, -0.5), 3 } }
  local bodies = {}
  for i = 1, R:integer(2, 5) do bodies[i] = body(w, pick { "box", "disc", "polygon", "tiny" }, 0.7 * i - 2.5, 0.6) end
  local x, y = u(-4, 4), u(0.2, 3)
  w:mouse { pick(bodies), target = { x, y }, stiffness = logu(1, 4), damping = u(0, 20) }
end

function kinds.law(w) -- springs as force laws
  if chance(0.5) then ground(w) end
  for i = 1, R:integer(1, 3) do
    local b = body(w, pick { "box", "disc" }, 1.5 * i - 3, 1)
    local k, c, x, y = b.mass * logu(0, 3.5), b.mass * pick { 0, u(0, 5) }, 1.5 * i - 3 + u(-1, 1), u(0, 2)
    b:force_law(function(it) return 0, k * (x - it.x) - c * it.vx, k * (y - it.y) - c * it.vy end)
  end
end

local ORDER = { "drop", "stack", "slide", "throw", "piston", "bar", "spring_gun", "chain", "platform", "cart", "flat", "outline", "tiles",
  "motor", "arm", "net", "mouse", "law" }

local M = { kinds = ORDER, steppings = { "auto", "event", "speculative", "bisect" } }

-- Kinds of findings, by their name in stats(); unsolved steps have a problem that missed its tolerance.
M.findings = { "passages", "overlaps", "jumps", "slips", "momenta", "energies", "events", "drifts", "unsolved" }

-- Compliant surfaces for a third of the bodies, with and without damping and viscosity.
local function soften(w)
  for _, b in ipairs(w.bodies) do
    if chance(0.35) then
      b.contact_compliance, b.contact_damping = logu(-8, -2), chance(0.5) and u(0, 30) or 0
    end
    if chance(0.2) then b.contact_viscosity = logu(-1, 2.5) end
  end
end

-- Returns the world of a seed, its kind, and a function to be called before each step. Each kind occurs in each
-- stepping; `stepping` and `kind` override the seed's choice. M.flow is the flow of all worlds, if set. M.soft adds
-- soft surfaces.
function M.make(seed, stepping, kind)
  R = sim.random.split()
  R:seed(seed)
  kind = kind or ORDER[1 + seed % #ORDER]
  local w = sim.world { audit = true, dt = pick { 1 / 60, 1 / 120, 1 / 240 }, flow = M.flow,
    stepping = stepping or M.steppings[1 + seed // #ORDER % #M.steppings] }
  w:on("solver_warning", function() end)
  local push = kinds[kind](w)
  w:resolve_overlaps()
  if M.soft then soften(w) end
  return w, kind, push
end

-- Steps it; returns the number of findings of each kind, the kind of scene, and the first warning.
function M.run(seed, steps, stepping, kind)
  local w, push
  w, kind, push = M.make(seed, stepping, kind)
  local first
  w:on("solver_warning", function(e) first = first or e.message end)
  for _ = 1, steps do
    if push then push() end
    w:step()
  end
  local found, s, how = {}, w:stats(), w.stepping
  for _, name in ipairs(M.findings) do found[name] = s[name] end
  found.unsolved = s.unsolved_solves
  w:close()
  return found, kind, how, first
end

return M
