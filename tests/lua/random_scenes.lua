-- Random scenes as a script would make them, with every number a parameter p, and losses of their motions. A scene is
-- data: lists of bodies and joints whose numbers are p. One seed gives one scene.
local sim = require "sim2d"

local R
local function u(lo, hi) return R:uniform(lo, hi) end
local function pick(t) return t[R:integer(1, #t)] end
local function chance(x) return u(0, 1) < x end

-- ---- Scenes ----------------------------------------------------------------------------------

local function add(s, kind, numbers, type)
  s.made[#s.made + 1] = { kind = kind, type = type }
  s.p.bodies[#s.p.bodies + 1] = numbers
  return #s.made
end

local function ground(s, angle)
  return add(s, "box", { position = { 0, -0.5 }, size = { 40, 1 }, angle = angle or 0,
    friction = u(0.2, 0.9), restitution = u(0, 0.5), surface_speed = chance(0.2) and u(-1, 1) or 0 }, "static")
end

local shapes = {
  circle = function() return { radius = u(0.2, 0.3) } end,
  box = function() return { size = { u(0.4, 0.6), u(0.3, 0.5) }, radius = chance(0.3) and 0.05 or nil } end,
  capsule = function() return { length = u(0.2, 0.4), radius = u(0.1, 0.2) } end,
  polygon = function()
    return { vertices = { { u(0.2, 0.3), u(-0.1, 0.1) }, { u(-0.2, 0), 0.25 }, { u(-0.25, -0.15), u(-0.3, -0.2) } } }
  end,
  compound = function()
    return { shapes = { { size = { 0.5, 0.2 }, density = u(1, 2) },
      { radius = 0.15, position = { u(0.1, 0.2), 0.1 }, density = 1, friction = u(0.3, 0.7) } } }
  end,
}
local NAMES = { "circle", "box", "capsule", "polygon", "compound" }

local function body(s, kind, x, y, more)
  local b = shapes[kind]()
  b.position, b.angle = { x, y }, u(-1, 1)
  b.velocity, b.angular_velocity = { u(-2, 2), u(-1, 1) }, u(-2, 2)
  b.friction, b.restitution = u(0.1, 0.9), chance(0.5) and u(0, 0.8) or 0
  if kind ~= "compound" then b.mass = u(0.5, 3) end
  if chance(0.3) then b.linear_damping, b.angular_damping = u(0, 0.5), u(0, 0.5) end
  for key, value in pairs(more or {}) do b[key] = value end
  return add(s, kind, b)
end

local function joint(s, kind, a, b, numbers, locked)
  s.joined[#s.joined + 1] = { kind = kind, a = a, b = b, locked = locked }
  s.p.joints[#s.p.joints + 1] = numbers
  return #s.joined
end

local function extras(t, force)
  if chance(0.4) then
    t.motor = { speed = u(-3, 3), [force or "max_torque"] = u(0.5, 8) }
  elseif chance(0.4) then
    t.friction = u(0.05, 1)
  end
  if chance(0.3) then t.limits = { -u(0.05, 0.5), u(0.05, 0.5) } end
  if chance(0.3) then t.compliance, t.damping = u(1e-3, 1e-2), u(0.1, 3) end
  return t
end

local kinds = {}

function kinds.drop(s)
  ground(s, u(-0.3, 0.3))
  for i = 1, R:integer(1, 4) do body(s, pick(NAMES), 1.2 * i - 2, u(1.3, 1.8)) end
end

function kinds.slide(s) -- starts on the ground; ends sliding, rolling or at rest
  ground(s)
  for i = 1, R:integer(1, 3) do
    local kind = pick { "circle", "box" }
    local b = s.p.bodies[body(s, kind, 2 * i, 0, { angle = 0, angular_velocity = 0, velocity = { u(-4, 4), 0 } })]
    b.position[2] = (b.radius and not b.size and b.radius or b.size[2] / 2) + 0.01
  end
end

function kinds.stack(s)
  ground(s)
  local y = 0
  for _ = 1, R:integer(2, 5) do
    local h = u(0.3, 0.5)
    body(s, "box", u(-0.05, 0.05), y + h / 2 + 0.002, { size = { u(0.5, 0.7), h }, angle = 0,
      velocity = { 0, 0 }, angular_velocity = 0 })
    y = y + h + 0.002
  end
  body(s, "circle", -1.5, y * 0.6, { velocity = { u(5, 8), 1 } })
end

function kinds.soft(s)
  ground(s)
  for i = 1, R:integer(1, 3) do
    body(s, pick(NAMES), 1.2 * i, u(0.3, 0.6), { contact_compliance = u(1e-4, 2e-3),
      contact_damping = u(0, 30), contact_viscosity = chance(0.3) and u(0.1, 2) or 0 })
  end
end

function kinds.chain(s)
  local x, y, last = 0, 3, nil
  if chance(0.5) then ground(s) end
  for _ = 1, R:integer(1, 5) do
    local length, angle = u(0.4, 0.7), u(-1.2, 0.5)
    local dx, dy = length * math.cos(angle), length * math.sin(angle)
    local now = body(s, pick { "box", "capsule" }, x + dx / 2, y + dy / 2, { angle = angle })
    local kind = pick { "hinge", "hinge", "slider", "weld" }
    local t = { anchor = { x, y } }
    if kind == "weld" then t.compliance = { linear = u(1e-3, 1e-2), angular = u(1e-3, 1e-2) }
    elseif kind == "slider" then t.axis = { dx, dy } extras(t, "max_force")
    else extras(t) end
    joint(s, kind, now, last, t)
    x, y, last = x + dx, y + dy, now
  end
end

function kinds.strings(s)
  for i = 1, R:integer(1, 3) do
    local a, b = { 1.3 * i + 0.05, 2 }, { 1.3 * i + u(-1, 1), 4 }
    local d = math.sqrt((a[1] - b[1]) ^ 2 + (a[2] - b[2]) ^ 2)
    local now = body(s, pick(NAMES), 1.3 * i, 2)
    local t = { anchor_a = a, anchor_b = b }
    local kind = pick { "spring", "distance", "rope", "mouse", "lock" }
    if kind == "spring" then
      t.rest_length, t.stiffness, t.damping, t.cubic = d * u(0.7, 1.3), u(5, 100), u(0, 2), u(0, 50)
    elseif kind == "rope" then t.max_length = d * u(1.02, 1.2)
    elseif kind == "mouse" then t = { target = b, anchor = a, stiffness = u(5, 100), damping = u(0, 5) }
    elseif kind == "lock" then t = { angular_velocity = u(-1, 1), compliance = chance(0.5) and 1e-3 or 0 } end
    joint(s, kind, now, nil, t, kind == "lock" and { angle = true } or nil)
  end
end

function kinds.car(s)
  ground(s)
  local frame = body(s, "box", 0, 0.85, { size = { 2, 0.4 }, mass = u(5, 20), angle = 0, angular_velocity = 0 })
  for _, x in ipairs { -0.7, 0.7 } do
    local wheel = body(s, "circle", x, 0.31, { radius = 0.3 })
    joint(s, "wheel", wheel, frame, { anchor = { x, 0.31 }, axis = { u(-0.1, 0.1), 1 }, stiffness = u(500, 2000),
      damping = u(20, 100), limits = chance(0.5) and { -0.1, 0.1 } or nil,
      motor = { speed = u(-20, 5), max_torque = u(1, 20) } })
  end
end

function kinds.gear(s)
  local made = {}
  for i = 1, 2 do
    local now = body(s, "circle", 2 * i, 2, { velocity = { 0, 0 } })
    -- The anchor is not at the centre, because joint errors remain 0 there, and only differences see corrections.
    made[i] = joint(s, "hinge", now, nil, extras { anchor = { 2 * i + 0.05, 2 } })
  end
  joint(s, "gear", made[1], made[2], { ratio = u(0.5, 2) })
end

function kinds.table(s) -- seen from above
  s.p.world.gravity = { 0, 0 }
  for i = 1, R:integer(2, 4) do
    joint(s, "ground_friction", body(s, pick(NAMES), 0.9 * i, u(-0.2, 0.2)), nil,
      { max_force = u(0.5, 5), max_torque = u(0.05, 0.5) })
  end
end

local ORDER = { "drop", "slide", "stack", "soft", "chain", "strings", "car", "gear", "table" }

local options = {
  function() end,
  function(s) s.world.stepping = "bisect" end,
  function(s) if #s.joined == 0 then s.world.stepping = "event" end end,
  function(s) s.world.stabilization = pick { "none", "pre", "post", "post_assembly", "baumgarte" } end,
  function(s) s.p.world.alpha, s.p.world.beta = u(0.5, 1), u(0.5, 1) end,
  function(s)
    s.p.world.alpha, s.p.world.beta, s.world.geometric_stiffness = 0.5, 0.5, pick { "on", "psd" }
  end,
  function(s) s.world.substeps = R:integer(2, 3) end,
  function(s) s.world.flow = "projected" end,
  function(s) s.world.combine_friction, s.world.combine_restitution = pick { "average", "min" }, "multiply" end,
}

local FEATURES = { "none", "pd", "impulse", "clone", "snapshot", "two", "checkpoint", "fields" }

local function scene(seed, stepping)
  sim.random.seed(seed)
  R = sim.random.split()
  local s = { made = {}, joined = {}, world = { stepping = stepping }, steps = R:integer(20, 60), weight = {},
    p = { bodies = {}, joints = {}, world = { gravity = { 0, -9.81 }, dt = pick { 1 / 60, 1 / 120 } } } }
  s.kind = ORDER[seed % #ORDER + 1]
  kinds[s.kind](s)
  options[(seed // #ORDER) % #options + 1](s)
  s.feature = pick(FEATURES)
  s.p.control = { kp = u(1, 10), kd = u(0.1, 1), to = { u(-1, 1), u(0.5, 2) } }
  for i = 1, 6 * #s.made do s.weight[i] = u(-1, 1) end
  return s
end

-- ---- Losses ----------------------------------------------------------------------------------

local function with(t, more)
  local copy = {}
  for key, value in pairs(t) do copy[key] = value end
  for key, value in pairs(more) do copy[key] = value end
  return copy
end

local function build(s, p)
  local w, joints, first = sim.world(with(p.world, s.world)), {}, nil
  for i, made in ipairs(s.made) do
    local b = w[made.kind](w, with(p.bodies[i], { type = made.type }))
    first = first or (made.type == nil and b or nil)
  end
  for i, made in ipairs(s.joined) do
    local t = with(p.joints[i], made.locked or {})
    if made.kind == "gear" then
      t.joint_a, t.joint_b = joints[made.a], joints[made.b]
    else
      t[1], t[2] = w.bodies[made.a], made.b and w.bodies[made.b]
    end
    joints[i] = w[made.kind](w, t)
  end
  return w, first
end

local function measure(s, w)
  local sum = 0
  for i, made in ipairs(s.made) do
    local b, c = w.bodies[i], 6 * i - 5
    if made.type == nil then
      sum = sum + s.weight[c] * b.x + s.weight[c + 1] * b.y + s.weight[c + 2] * b.angle
        + 0.3 * (s.weight[c + 3] * b.vx + s.weight[c + 4] * b.vy + s.weight[c + 5] * b.omega)
    end
  end
  return sum
end

-- The loads of contacts and joints in step i.
local function carried(s, w, i)
  local sum = 0
  for k, made in ipairs(s.made) do
    local b, c = w.bodies[k], 6 * k - 5
    if made.type == nil then
      local x, y, turn = b:net_contact_impulse()
      sum = sum + (1 + math.sin(i)) * (s.weight[c] * x + s.weight[c + 1] * y + s.weight[c + 2] * turn)
      for _, at in ipairs(b:contacts()) do
        sum = sum + (1 + math.cos(i)) * (s.weight[c + 3] * at.normal_impulse + s.weight[c + 4] * at.tangent_impulse
          + s.weight[c + 5] * at.normal_impulse * at.normal[1] + 0.3 * at.angular_impulse_a * at.point[2]
          + 0.2 * at.angular_impulse_b)
      end
    end
  end
  for k = 1, #s.joined do
    local joint = w.joints[k]
    sum = sum + 0.01 * ((1 + math.sin(i + k)) * joint.force[1] + math.cos(i) * joint.force[2] + joint.torque)
      + (joint.impulse[1] or 0)
  end
  return sum
end

-- `seen`: a list that gets the measurements after every step.
local function loss(s, p, seen)
  local w, body1 = build(s, p)
  local function run(world, steps)
    if not seen then return world:run { steps = steps } end
    for _ = 1, steps do
      world:step()
      seen[#seen + 1] = measure(s, world)
    end
  end
  local c, sum, half = p.control, 0, s.steps // 2
  if s.feature == "pd" then
    w:before_step(function()
      body1:apply_force { c.kp * (c.to[1] - body1.x) - c.kd * body1.vx, c.kp * (c.to[2] - body1.y) }
    end)
  end
  if s.impulses then
    for i = 1, s.steps do
      w:step()
      sum = sum + carried(s, w, i)
      if seen then seen[#seen + 1] = sum end
    end
    return sum
  end
  sim.checkpoint(s.feature == "checkpoint" and 7 or nil)
  run(w, half)
  if s.feature == "impulse" then
    body1:apply_impulse({ 0.1 * c.kp, c.kd }, { at = body1:world_point { 0.1, 0.2 } })
  elseif s.feature == "clone" then
    local other = w:clone()
    run(other, 5)
    sum = measure(s, other)
  elseif s.feature == "snapshot" then
    local before = w:snapshot()
    run(w, 5)
    sum = measure(s, w)
    w:restore(before)
  elseif s.feature == "two" then
    local other, body2 = build(s, p)
    body2.velocity = body1.velocity
    run(other, 8)
    sum = measure(s, other)
  elseif s.feature == "fields" then
    body1.mass, body1.friction = 1 + 0.1 * c.kp, 0.2 + 0.3 * c.kd
    body1.angular_velocity = 0.5 * body1.omega + c.kd
    w.gravity = { 0.1 * c.kp, -9 }
  end
  run(w, s.steps - half)
  sim.checkpoint()
  return sum + measure(s, w)
end

local function leaves(t, path, list)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, key in ipairs(keys) do
    local to = { table.unpack(path) }
    to[#to + 1] = key
    if type(t[key]) == "table" then leaves(t[key], to, list) else list[#list + 1] = to end
  end
  return list
end

local function at(t, path)
  for _, key in ipairs(path) do t = t[key] end
  return t
end

-- `rng()`: the generator of the latest scene. `leaves(p)`: paths to its numbers, `at(p, path)` one of them.
return { scene = scene, build = build, loss = loss, with = with, leaves = leaves, at = at, rng = function() return R end }
