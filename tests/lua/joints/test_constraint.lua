-- Constraints of the script and ground friction.
local sim = require "sim2d"

local function bead(def)
  local world = sim.world { gravity = { 0, -10 }, dt = 0.01 }
  local body = world:circle { radius = 0.1, position = { 1, 0.5 }, mass = 1, name = "bead" }
  def = def or {}
  def.bodies = def.bodies or { body }
  def.phi = def.phi or function(q) return q.y - q.x ^ 2 / 2 end
  def.name = "wire"
  return world, body, world:constraint(def)
end

test("a constraint is a joint like the others", function()
  local world, body, wire = bead()
  eq({ wire.type, wire.name, wire.enabled, wire.collide }, { "constraint", "wire", true, false })
  ok(wire.a == body and wire.b == nil and world.joints.wire == wire)
  world:run { duration = 1 }
  near(body.y, body.x ^ 2 / 2, 1e-9)
  ok(wire.error < 1e-9)
  near(wire.impulse, wire.force * world.dt, 1e-9)
  ok(wire.force.y > 0)
  wire.enabled = false
  local vx = body.vx
  world:step(5)
  eq(body.vx, vx)
  wire:destroy()
  eq(#world.joints, 0)
  world:step()
end)

test("functions get poses and the time", function()
  local seen
  local world = sim.world { gravity = { 0, 0 }, dt = 0.01 }
  local a = world:circle { radius = 1, position = { 1, 2 }, angle = 0.5 }
  local b = world:circle { radius = 1, position = { 5, 2 } }
  world:constraint { bodies = { a, b }, phi = function(qa, qb, t)
    seen = seen or { qa.a, qa.x, qa.y, qb.a, qb.x, qb.y, t }
    return qa.x - qb.x + 4, qa.y - qb.y
  end, jacobian = function() return { 0, 1, 0, 0, -1, 0 }, { 0, 0, 1, 0, 0, -1 } end,
    hessian = function()
      local zero = {}
      for i = 1, 6 do zero[i] = { 0, 0, 0, 0, 0, 0 } end
      return zero, zero
    end }
  eq(seen, { 0.5, 1, 2, 0, 5, 2, 0 })
  b.velocity = { 1, 1 }
  world:step(10)
  near(a.vx, b.vx, 1e-12)
  near(a.vy, 0.5, 1e-9)
end)

test("a constraint that moves drives a body", function()
  local world = sim.world { dt = 0.01 }
  local body = world:circle { radius = 0.1 }
  world:constraint { bodies = { body }, phi = function(q, _, t) return q.x - math.sin(t), q.y end }
  for t in world:steps(2) do near(body.x, math.sin(t), 1e-9) end
end)

test("velocity_only rows leave positions alone", function()
  local world = sim.world { gravity = { 0, 0 }, dt = 0.01 }
  local body = world:box { size = { 1, 1 }, velocity = { 0, 3 } }
  world:constraint { bodies = { body }, velocity_only = true, rate = -2,
    jacobian = function() return { 0, 1, 0 } end }
  world:run { duration = 1 }
  near(body.x, 2, 1e-9)
  near(body.vy, 3, 1e-9)
  local ratchet = world:constraint { bodies = { body }, velocity_only = true, unilateral = true,
    jacobian = function() return { 1, 0, 0 } end, rate = function() return 0 end }
  body.omega = -1
  world:step()
  near(body.omega, 0, 1e-12)
  ok(ratchet.torque > 0)
  body.omega = 1
  world:step()
  near(body.omega, 1, 1e-12)
end)

test("an error in a function undoes the step and keeps its place", function()
  local broken
  local world, body = bead { phi = function(q)
    if broken then error "snapped" end
    return q.y - q.x ^ 2 / 2
  end }
  world:step(3)
  local before = world:state()
  broken = true
  raises("test_constraint.lua:%d+: snapped", world.step, world)
  eq(world:state(), before)
  near(world.time, 0.03)
  raises("test_constraint.lua:%d+: snapped", world.problem, world)
  broken = false
  world:step()
  ok(body.x < 1)
end)

test("the world is busy while a function runs", function()
  for _, change in ipairs { function(world) world:step() end, function(_, body) body.x = 3 end,
    function(world) world:circle { radius = 1 } end, function(world) world:snapshot() end,
    function(world, body) world:constraint { bodies = { body }, phi = function() return 0 end } end,
    function(world) world:close() end } do
    local on, world, body
    world, body = bead { phi = function(q)
      if on then change(world, body) end
      return q.y - q.x ^ 2 / 2
    end }
    on = true
    raises("step", world.step, world)
    eq(world.time, 0)
    eq(#world.bodies, 1)
  end
end)

test("wrong answers are reported by name and place", function()
  local answer
  local world = bead { phi = function(q)
    if answer then return answer() end
    return q.y - 0.5
  end }
  answer = function() return 0 / 0 end
  raises("constraint 'wire': its value is nan in row 1 %(t = 0 s%)", world.step, world)
  answer = function() return 1, 2 end
  raises("test_constraint.lua:%d+: phi must return 1 value here, got 2", world.step, world)
  answer = function() return "one" end
  raises("test_constraint.lua:%d+: phi must return numbers, got 'one'", world.step, world)
  answer = nil
  world:step()
end)

test("nonsense is refused", function()
  local world, body = bead()
  local phi = function() return 0 end
  local function refuse(pattern, def)
    raises(pattern, world.constraint, world, def)
  end
  refuse("key 'bodies' is missing", { phi = phi })
  refuse("1 to 4 bodies expected, got 0", { bodies = {}, phi = phi })
  refuse("Body expected, got 3", { bodies = { 3 }, phi = phi })
  refuse("two different bodies", { bodies = { body, body }, phi = phi })
  refuse("key 'phi' is missing", { bodies = { body } })
  refuse("key 'phi': function expected, got 1", { bodies = { body }, phi = 1 })
  refuse("1 to 3 values, one per row, got 4",
    { bodies = { body }, phi = function() return 1, 2, 3, 4 end })
  refuse("return 1 value, one per row, got 2",
    { bodies = { body }, unilateral = true, phi = function() return 1, 2 end })
  refuse("key 'jacobian' is missing", { bodies = { body }, velocity_only = true })
  refuse("key 'phi': does not apply to a velocity_only", { bodies = { body }, velocity_only = true, phi = phi,
    jacobian = function() return { 0, 1, 0 } end })
  refuse("jacobian must return lists of 3 numbers: angle, x, y of the body; got a list of 2$",
    { bodies = { body }, phi = phi, jacobian = function() return { 1, 2 } end })
  refuse("; got a list of 1; return each row as a separate result",
    { bodies = { body }, phi = phi, jacobian = function() return { { 0, 1, 2 } } end })
  refuse("; got 3$", { bodies = { body }, phi = phi, jacobian = function() return 3 end })
  refuse("requires compliance above 0", { bodies = { body }, phi = phi, damping = 1 })
  refuse("key 'rate': finite number expected", { bodies = { body }, phi = phi, rate = 0 / 0 })
  refuse("unknown key 'ph'", { bodies = { body }, ph = phi })
  raises("has no field 'constrain'; did you mean 'constraint'", function() return world.constrain end)
  eq(#world.joints, 1)
end)

test("snapshots restore functions, clones copy them on request", function()
  local world, body, wire = bead()
  world:step(5)
  local snapshot = world:snapshot()
  world:step(20)
  local future = world:state()
  wire:destroy()
  world:step()
  world:restore(snapshot)
  ok(wire.alive)
  world:step(20)
  eq(world:state(), future)
  raises("functions of the script constrain, pull or move bodies; copy them with {functions = true}", world.clone, world)
  local clone = world:clone { callbacks = true }
  world:step(10)
  clone:step(10)
  eq(clone:state(), world:state())
  local empty = sim.world { gravity = { 0, -10 }, dt = 0.01 }
  empty:restore(snapshot)
  empty:step(20)
  eq(empty:state(), future)
  ok(body.alive)
end)

test("ground friction stops a body that slides and turns", function()
  local world = sim.world { gravity = { 0, 0 }, dt = 0.01 }
  local puck = world:circle { radius = 0.2, mass = 2, velocity = { 3, 4 }, angular_velocity = 1 }
  local friction = world:ground_friction { puck, max_force = 20, max_torque = 0.02 }
  eq({ friction.type, friction.max_force, friction.max_torque }, { "ground_friction", 20, 0.02 })
  world:step()
  near(friction.force, { -12, -16 }, 1e-9)
  world:run { duration = 3 }
  near({ puck.vx, puck.vy, puck.omega }, { 0, 0, 0 }, 1e-9)
  near(math.sqrt(puck.x ^ 2 + puck.y ^ 2), 25 / 20, 1e-9) -- v^2/(2 a): a step moves by its mean velocity
  near(puck.y * 3, puck.x * 4, 1e-9)
  friction.max_force = 30
  puck:apply_force { 0, 25 }
  world:step()
  near(puck.vy, 0, 1e-12)
  raises("Joint.max_force: a number not below 0 expected", function() friction.max_force = -1 end)
  raises("key 'body' is missing", world.ground_friction, world, { max_force = 1 })
  raises("key 'max_torque': non%-negative number expected", world.ground_friction, world,
    { puck, max_torque = -1 })
end)

test("a conveyor carries a box at its speed, and a lock drives at a given one", function()
  local world = sim.world { gravity = { 0, -10 }, dt = 0.01 }
  world:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 }, surface_speed = -2 }
  local box = world:box { position = { 0, 0.5 }, size = { 1, 1 } }
  world:run { duration = 2 }
  near(box.vx, 2, 1e-9)
  near(box.x, 2 * 2 - 2 * 2 / (2 * 5), 0.011)
  local lock = world:lock { box, x = true, velocity = { 1, 0 } }
  local start = box.x
  world:run { duration = 1 }
  near(box.x, start + 1, 1e-9)
  local drive = world:before_step(function(_, t) lock.velocity = { math.cos(t), 0 } end)
  world:step(10)
  near(box.vx, math.cos(world.time - 0.01), 1e-9)
  drive:remove()
end)

-- ---- Rows with bounds ---------------------------------------------------------------------------

local function size(vector) return math.sqrt(vector.x ^ 2 + vector.y ^ 2) end
local WAYS = { "speculative", "bisect", "event", "auto" }

test("a row with bounds is the dry friction of a slider, to the bit of its motion", function()
  for _, stepping in ipairs(WAYS) do
    for _, force in ipairs { 3, 100 } do
      local function slide(own, flow)
        local world = sim.world { stepping = stepping, flow = flow }
        local box = world:box { size = { 1, 1 }, velocity = { 2, 0 }, mass = 2 }
        world:slider { a = box, anchor = { 0, 0 }, axis = { 1, 0 }, friction = own and 0 or force }
        local row = own and world:constraint { bodies = { box }, velocity_only = true, lo = -force, hi = force,
          jacobian = function() return { 0, 1, 0 } end }
        world:run { duration = 0.5 }
        return box.x, box.vx, row
      end
      -- Rows at velocity level use projection, and so does the slider with which they are compared.
      local x, vx = slide(false, "projected")
      local own_x, own_vx, row = slide(true)
      near({ own_x, own_vx }, { x, vx }, 1e-12)
      -- closed form while it slides: v = 2 - F t / m
      if force == 3 then near(own_vx, 2 - 3 * 0.5 / 2, 1e-12) else near(own_vx, 0, 1e-12) end
      eq({ row.lo, row.hi }, { -force, force })
      -- With two stages the position is exact as well: 2 t - F t^2/(2 m). Implicit Euler is F h t/(2 m) behind it.
      if force == 3 and (stepping == "event" or stepping == "auto") then
        near({ (slide(false)), (select(2, slide(false))) }, { 2 * 0.5 - 3 * 0.5 ^ 2 / 4, 2 - 3 * 0.5 / 2 }, 1e-12)
      end
    end
  end
end)

test("bounds need not be those of friction", function()
  -- pushes with 1 to 4 N against -x: between these bounds it holds the speed 0.5, otherwise the nearest bound acts
  for _, case in ipairs { { 2, 0.5 }, { 6, 0.5 - 2 }, { 0.5, 0.5 + 0.5 } } do
    local pull, want = case[1], case[2]
    local world = sim.world { gravity = { -pull, 0 }, dt = 0.01 }
    local ball = world:circle { radius = 0.1, mass = 1, velocity = { 0.5, 0 } }
    local row = world:constraint { bodies = { ball }, phi = function(q) return q.x end, rate = -0.5, lo = 1, hi = 4 }
    world:run { duration = 1 }
    near(ball.vx, want, 1e-9)
    near(row.force.x, math.min(math.max(pull, 1), 4), 1e-9)
    row.hi = 10
    row.lo = 0
    local before = ball.vx
    world:step()
    if pull == 6 then ok(ball.vx > before) else near(ball.vx, pull == 2 and 0.5 or before - 0.005, 1e-9) end
  end
end)

test("a coupled row is the friction of its unilateral constraint", function()
  local s, c = math.sin(0.3), math.cos(0.3)
  for _, stepping in ipairs(WAYS) do
    for _, mu in ipairs { 0.1, 0.5 } do
      local world = sim.world { stepping = stepping }
      local ball = world:circle { radius = 0.1, mass = 2 }
      local slope = world:constraint { bodies = { ball }, unilateral = true, phi = function(q) return s * q.x + c * q.y end }
      local rough = world:constraint { bodies = { ball }, coupled_to = slope, friction = mu, velocity_only = true,
        jacobian = function() return { 0, c, -s } end }
      world:run { duration = 1 }
      local pushed, dragged = size(slope.force), size(rough.force)
      near(pushed, 2 * 9.81 * c, 1e-8)
      -- slides with mu times the force of the slope, or sticks with the force that holds it
      local slides = mu < s / c
      near(dragged, slides and mu * pushed or 2 * 9.81 * s, 1e-8)
      near(rough.speed, slides and 9.81 * (s - mu * c) or 0, 1e-9)
      -- beyond the slope there is no friction
      ball.velocity = { s * 5 + 1 * c, c * 5 - 1 * s }
      world:step()
      near(size(rough.force), 0, 1e-12)
    end
  end
end)

test("a coupling to a disabled or destroyed constraint does nothing", function()
  local world = sim.world { gravity = { 0, -10 } }
  local ball = world:circle { radius = 0.1, mass = 1, velocity = { 1, 0 } }
  local floor = world:constraint { bodies = { ball }, unilateral = true, phi = function(q) return q.y end }
  local rough = world:constraint { bodies = { ball }, coupled_to = floor, friction = 0.5, phi = function(q) return q.x end }
  world:step(2)
  near(ball.vx, 1 - 0.5 * 10 * 2 * world.dt, 1e-9)
  local kept, snapshot = ball.vx, world:snapshot()
  floor.enabled = false
  world:step(2)
  eq(ball.vx, kept)
  world:restore(snapshot)
  local copy = world:clone { callbacks = true }
  world:step(2)
  copy:step(2)
  eq(copy.bodies[1].vx, ball.vx)
  ok(ball.vx < kept)
  world:restore(snapshot)
  floor:destroy()
  -- another constraint in its slot is not the one to which it was coupled
  world:constraint { bodies = { ball }, unilateral = true, phi = function(q) return q.y + 1 end }
  world:step(2)
  eq(ball.vx, kept)
  ok(rough.enabled)
end)

test("each constraint may choose how its error is removed", function()
  local function pendulum(own, all)
    local world = sim.world { stepping = "speculative", stabilization = all, dt = 1 / 60 }
    local bob = world:circle { radius = 0.1, position = { 1, 0 } }
    local rod = world:constraint { bodies = { bob }, phi = function(q) return math.sqrt(q.x ^ 2 + q.y ^ 2) - 1 end,
      stabilization = own }
    world:run { duration = 1 }
    return bob.x, rod.error, world
  end
  local x, error = pendulum()
  ok(error < 1e-9)
  local drifts, drift, world = pendulum("none")
  eq(drifts, (pendulum(nil, "none")))
  ok(drift > 0.01)
  near(world:residuals().joint_error, drift, 1e-15)
  eq((pendulum("baumgarte")), (pendulum(nil, "baumgarte")))
  eq((pendulum("none", "baumgarte")), drifts)
  -- the default, auto, obeys it also where bodies touch
  local ground = sim.world {}
  ground:box { type = "static", position = { 0, -0.5 }, size = { 10, 1 }, friction = 0 }
  local box = ground:box { size = { 1, 1 }, position = { 0.5, 0.5 } }
  ground:constraint { bodies = { box }, phi = function(q) return q.x end, stabilization = "baumgarte" }
  ground:step()
  near(box.x, 0.5 * 0.8, 1e-9)
end)

test("rows with bounds and stabilisation have derivatives", function()
  local function loss(p, stepping)
    local world = sim.world { stepping = stepping, dt = 1 / 60 }
    local s, c = math.sin(0.3), math.cos(0.3)
    local a = world:box { size = { 0.4, 0.2 }, mass = 2, angle = -0.3 }
    local b = world:circle { radius = 0.1, position = { 1, 1 }, mass = 1, velocity = { p[6], 0 } }
    world:hinge { a = a, b = b, anchor = { 0.2, 0.1 } }
    local slope = world:constraint { bodies = { a }, unilateral = true, phi = function(q) return s * q.x + c * q.y end }
    world:constraint { bodies = { a }, coupled_to = slope, friction = p[1],
      phi = function(q) return c * q.x - s * q.y + 0.1 * q.a ^ 2 end }
    world:constraint { bodies = { a, b }, lo = p[2], hi = p[3],
      phi = function(qa, qb) return qa.a - qb.a + 0.1 * qa.x * qb.a end }
    world:constraint { bodies = { b }, lo = -p[4], hi = p[4], velocity_only = true, rate = p[5],
      jacobian = function(q) return { 0, 1 + 0.1 * q.y, 0.2 } end }
    local swung = world:circle { radius = 0.1, position = { 5, 0 }, velocity = { 0, p[6] } }
    world:constraint { bodies = { swung }, phi = function(q) return (q.x - 4) ^ 2 + q.y ^ 2 - 1 end,
      stabilization = stepping == "event" and "none" or "baumgarte" }
    world:run { steps = 20 }
    return a.x + 2 * a.y + b.x * b.x - a.angle + b.vy + 0.1 * b.omega + swung.x * swung.y
  end
  for _, stepping in ipairs(WAYS) do
    for _, p in ipairs { { 0.1, -0.2, 0.3, 0.5, 0.1, 0.2 }, { 0.05, -0.01, 0.02, 2, -0.2, 0.1 }, { 0.3, -5, -0.1, 30, 0, -0.3 } } do
      local f = function(q) return loss(q, stepping) end
      local _, gradient = sim.value_and_grad(f, p)
      for i = 1, #p do
        local h, up, down = 1e-5, { table.unpack(p) }, { table.unpack(p) }
        up[i], down[i] = p[i] + h, p[i] - h
        near(gradient[i], (f(up) - f(down)) / (2 * h), 1e-6)
      end
    end
  end
end)

test("impossible values are refused with the key", function()
  local world = sim.world {}
  local body = world:circle { radius = 1 }
  local x = function(q) return q.x end
  local function make(def)
    def.bodies, def.phi = def.bodies or { body }, def.phi or x
    return world:constraint(def)
  end
  raises("'lo'.*'hi' is missing", make, { lo = 1 })
  raises("lo < hi", make, { lo = 1, hi = 1 })
  raises("unilateral", make, { lo = -1, hi = 1, unilateral = true })
  raises("compliance", make, { lo = -1, hi = 1, compliance = 0.1 })
  raises("one row", make, { lo = -1, hi = 1, phi = function(q) return q.x, q.y end })
  raises("coupled_to.*lo = %-F", make, { friction = 0.3 })
  raises("unilateral constraint expected, got 3", make, { coupled_to = 3 })
  raises("pushes and pulls", make, { coupled_to = make {}, friction = 1 })
  local stop = make { unilateral = true }
  raises("'friction' is missing", make, { coupled_to = stop })
  raises("same one or two bodies", make, { bodies = { world:circle { radius = 1 } }, coupled_to = stop, friction = 1 })
  local rough = make { coupled_to = stop, friction = 1 }
  raises("another friction constraint", make, { coupled_to = stop, friction = 1 })
  raises("'none' or 'baumgarte'", make, { stabilization = "pre" })
  raises("applies only to a constraint created with lo and hi", function() rough.lo = 3 end)
  raises("applies only to a constraint created with coupled_to", function() stop.friction = 3 end)
  raises("lo < hi", function() make { lo = -1, hi = 1 }.lo = 2 end)
  raises("event", function()
    local w = sim.world { stepping = "event" }
    w:constraint { bodies = { w:circle { radius = 1 } }, phi = x, stabilization = "baumgarte" }
  end)
end)

-- ---- Three and four bodies ---------------------------------------------------------------------

-- M v = M v_free + J' l, J v = 0 by the Delassus matrix, in the order (angle, x, y) of each body.
local function closed(free, inverse, rows)
  local w, u = {}, {}
  for p = 1, #rows do
    w[p], u[p] = {}, { 0 }
    for i = 1, #free do u[p][1] = u[p][1] - rows[p][i] * free[i] end
    for q = 1, #rows do
      w[p][q] = 0
      for i = 1, #free do w[p][q] = w[p][q] + rows[p][i] * inverse[i] * rows[q][i] end
    end
  end
  local l = sim.linalg.solve(sim.array(w), sim.array(u))
  local v = {}
  for i = 1, #free do
    v[i] = free[i]
    for p = 1, #rows do v[i] = v[i] + inverse[i] * rows[p][i] * l[p][1] end
  end
  return v
end

-- The bodies in a row, of which number `fixed` is kinematic or static.
local function company(rng, world, n, fixed)
  local bodies = {}
  for i = 1, n do
    local kind = i == fixed and (rng:uniform(0, 1) < 0.5 and "kinematic" or "static") or "dynamic"
    bodies[i] = world:box { size = { rng:uniform(0.1, 1), rng:uniform(0.1, 1) }, type = kind,
      density = 10 ^ rng:uniform(-1, 1), position = { 3 * i, rng:uniform(-1, 1) }, angle = rng:uniform(-1, 1),
      velocity = kind ~= "static" and { rng:uniform(-1, 1), rng:uniform(-1, 1) } or nil,
      angular_velocity = kind ~= "static" and rng:uniform(-1, 1) or nil }
  end
  return bodies
end

local function row_of(rng, n)
  local row = {}
  for i = 1, 3 * n do row[i] = rng:uniform(0, 1) < 0.2 and 0 or rng:uniform(-1, 1) end
  return row
end

local function along(row, poses)
  local sum = 0
  for i, q in ipairs(poses) do sum = sum + row[3 * i - 2] * q.a + row[3 * i - 1] * q.x + row[3 * i] * q.y end
  return sum
end

test("rows of three and four bodies agree with Lagrange's multipliers", function()
  sim.random.seed(71)
  local rng = sim.random.split()
  for case = 1, 120 do
    local n, count = rng:integer(3, 4), rng:integer(1, 3)
    local world = sim.world { dt = 0.01, gravity = { rng:uniform(-1, 1), -9.81 },
      stepping = ({ "auto", "speculative", "event", "bisect" })[rng:integer(1, 4)],
      formulation = ({ "velocity", "acceleration", "variation" })[rng:integer(1, 3)] }
    local bodies, rows, start = company(rng, world, n, rng:integer(1, n + 3)), {}, {}
    local poses = {}
    for i, b in ipairs(bodies) do poses[i] = { a = b.angle, x = b.x, y = b.y } end
    for r = 1, count do
      rows[r] = row_of(rng, n)
      start[r] = along(rows[r], poses)
    end
    local joint = world:constraint { bodies = bodies, jacobian = function() return table.unpack(rows) end,
      phi = function(...)
        local values = {}
        for r = 1, count do values[r] = along(rows[r], { table.unpack({ ... }, 1, n) }) - start[r] end
        return table.unpack(values)
      end, rate = count == 1 and 0 or nil }
    local free, inverse = {}, {}
    for i, b in ipairs(bodies) do
      local moves = b.type == "dynamic"
      local v = { b.angular_velocity, b.vx + (moves and 0.01 * world.gravity.x or 0), b.vy + (moves and 0.01 * world.gravity.y or 0) }
      for c = 1, 3 do
        free[3 * i - 3 + c] = v[c]
        inverse[3 * i - 3 + c] = not moves and 0 or 1 / (c == 1 and b.inertia or b.mass)
      end
    end
    local expected = closed(free, inverse, rows)
    world:step()
    local size = 1
    for _, v in ipairs(expected) do size = math.max(size, math.abs(v)) end
    for i, b in ipairs(bodies) do
      near(b.angular_velocity, expected[3 * i - 2], 1e-9 * size)
      near(b.vx, expected[3 * i - 1], 1e-9 * size)
      near(b.vy, expected[3 * i], 1e-9 * size)
    end
    ok(joint.error < 1e-9)
  end
end)

test("an Atwood machine with a movable pulley is one row of three masses", function()
  -- the rope over the fixed pulley, and that over the movable one on its other end: with y3, y1, y2 of the masses y1 +
  -- y2 + 2 y3 is constant, so the tension T of the lower rope has T = m1 (g + a1) = m2 (g + a2), 2 T = m3 (g + a3) and
  -- a1 + a2 + 2 a3 = 0
  local world = sim.world { dt = 1e-3, gravity = { 0, -9.81 } }
  local m = { 1, 2.5, 4 }
  local mass = {}
  for i = 1, 3 do mass[i] = world:circle { radius = 0.1, mass = m[i], position = { i, 0 } } end
  local rope = world:constraint { bodies = mass, phi = function(p, q, r) return p.y + q.y + 2 * r.y end }
  world:run { steps = 500 }
  local tension = 4 * 9.81 / (1 / m[1] + 1 / m[2] + 4 / m[3])
  for i = 1, 3 do
    local a = (i == 3 and 2 or 1) * tension / m[i] - 9.81
    near(mass[i].vy, 0.5 * a, 1e-9)
    eq(mass[i].vx, 0)
  end
  near(rope.force.y, tension, 1e-9)
  ok(rope.error < 1e-9)
  eq(#rope.bodies, 3)
  ok(rope.bodies[3] == mass[3] and rope.a == mass[1])
end)

test("a row of three that only pushes, a compliant one, and one of speeds", function()
  local function three(def, settings)
    local world = sim.world(settings or { dt = 1e-3, gravity = { 0, -10 } })
    local bodies = {}
    for i = 1, 3 do bodies[i] = world:circle { radius = 0.1, mass = i, position = { i, 0 } } end
    def.bodies = bodies
    return world, bodies, world:constraint(def)
  end
  -- the masses fall freely until phi is 0; then phi stays 0, and the constraint pushes all three
  local world, b, stop = three { unilateral = true, phi = function(p, q, r) return p.y + q.y + r.y + 0.15 end }
  world:run { steps = 50 }
  near(b[1].vy, -0.5, 1e-12)
  eq(stop.force.y, 0)
  world:run { steps = 200 }
  near(b[1].y + b[2].y + b[3].y, -0.15, 1e-9)
  near(stop.force.y, 3 * 10 / (1 + 1 / 2 + 1 / 3), 1e-6)
  -- y1 + y2 + y3 oscillates about its equilibrium, as one mass on a spring
  local compliance, w = 1e-3, 1 + 1 / 2 + 1 / 3
  world, b = three({ compliance = compliance, phi = function(p, q, r) return p.y + q.y + r.y end },
    { dt = 1e-4, gravity = { 0, -10 }, alpha = 0.5, beta = 0.5 })
  world:run { steps = 1000 }
  local omega = math.sqrt(w / compliance)
  near(b[1].y + b[2].y + b[3].y, -30 / omega ^ 2 * (1 - math.cos(omega * 0.1)), 1e-5)
  -- the speeds add up to the given one; each mass has its part
  world, b = three({ velocity_only = true, rate = -1.1, jacobian = function() return { 0, 1, 0, 0, 1, 0, 0, 1, 0 } end },
    { dt = 1e-2, gravity = { 0, 0 } })
  world:step()
  for i = 1, 3 do near(b[i].vx, 1.1 / w / i, 1e-12) end
end)

test("a row of three keeps energy and value, and goes with its bodies", function()
  local world = sim.world { dt = 1e-3, gravity = { 0, 0 } }
  local b = {}
  for i = 1, 3 do b[i] = world:circle { radius = 0.1, mass = i, position = { i, 0 }, velocity = { 0, i == 2 and -1 or 1 } } end
  local link = world:constraint { bodies = b, phi = function(p, q, r)
    return (p.x - q.x) ^ 2 + (p.y - q.y) ^ 2 + (r.x - q.x) ^ 2 + (r.y - q.y) ^ 2 - 2
  end }
  world:step()
  local energy = world:energy().total
  local worst = 0
  for _ = 1, 2000 do
    world:step()
    worst = math.max(worst, link.error)
  end
  ok(worst < 1e-9, worst)
  near(world:energy().total, energy, 1e-5 * energy)
  -- the same bits after a snapshot and in a clone
  local image, clone = world:snapshot(), world:clone { callbacks = true }
  world:step(10)
  clone:step(10)
  local x = b[3].x
  world:restore(image)
  world:step(10)
  eq({ b[3].x, clone.bodies[3].x }, { x, x })
  -- joined bodies do not collide, and destroying the last one destroys the constraint
  b[3]:destroy()
  eq(#world.joints, 0)
  ok(not link.alive)
  world:step()
end)

test("gradients go through rows of three and four bodies", function()
  sim.random.seed(5)
  local rng = sim.random.split()
  for case = 1, 24 do
    local n, p0 = rng:integer(3, 4), {}
    local linear, bent, size, at = row_of(rng, n), row_of(rng, n), {}, {}
    local moving, sided = rng:integer(1, n + 3), case % 4 == 0
    local settings = { dt = 0.02, tolerance = 1e-13, stepping = ({ "auto", "speculative", "event", "bisect" })[case % 4 + 1] }
    if case % 4 == 1 then settings.alpha, settings.beta = 0.5, 0.5 end
    local compliance = not sided and case % 3 == 0 and 0.05 or nil
    for i = 1, n do
      size[i] = { rng:uniform(0.2, 1), rng:uniform(0.2, 1) }
      at[i] = { 3 * i, rng:uniform(-1, 1), rng:uniform(-1, 1) }
    end
    for i = 1, 6 do p0[i] = rng:uniform(-1, 1) end
    local function value(poses)
      local sum = 0
      for i = 1, n do
        local x = { poses[i].a, poses[i].x - at[i][1], poses[i].y }
        for c = 1, 3 do
          local k = 3 * i - 3 + c
          sum = sum + linear[k] * x[c] + 0.2 * bent[k] * x[c] * x[c % 3 + 1]
        end
      end
      return sum
    end
    local function slopes(poses)
      local list = {}
      for i = 1, n do
        local x = { poses[i].a, poses[i].x - at[i][1], poses[i].y }
        for c = 1, 3 do
          local k, before = 3 * i - 3 + c, (c + 1) % 3 + 1
          list[k] = linear[k] + 0.2 * (bent[k] * x[c % 3 + 1] + bent[3 * i - 3 + before] * x[before])
        end
      end
      return list
    end
    local function loss(p)
      local world = sim.world(settings)
      local b = {}
      for i = 1, n do
        b[i] = world:box { size = size[i], type = i == moving and "kinematic" or "dynamic",
          density = i == 2 and 1.5 + p[6] * 0.3 or i, angle = at[i][3] + (i == 3 and p[3] * 0.1 or 0),
          position = { at[i][1] + (i == 1 and p[1] * 0.1 or 0), at[i][2] + (i == n and p[2] * 0.1 or 0) },
          velocity = { 0.3 * i + (i == 2 and p[4] or 0), -0.2 }, angular_velocity = i == 1 and p[5] or 0.1 }
      end
      world:constraint { bodies = b, compliance = compliance, unilateral = sided or nil,
        phi = function(...) return value { ... } end, jacobian = function(...) return slopes { ... } end }
      world:run { steps = 3 }
      local sum = 0
      for i = 1, n do
        sum = sum + i * b[i].x - (1 + i) * b[i].y + 0.3 * b[i].angle + 0.1 * i * b[i].vx - 0.4 * b[i].vy + 0.1 * b[i].angular_velocity
      end
      return sum
    end
    local worst = sim.check_grad(loss, p0, { print = false, step = 1e-4 })
    ok(worst < 1e-5, ("case %d: off by %g"):format(case, worst))
  end
end)

test("a body whose part of a row is 0 has a derivative, too", function()
  local function loss(p)
    local world, b = sim.world { dt = 0.01, tolerance = 1e-13 }, {}
    for i = 1, 3 do
      b[i] = world:box { size = { 0.3, 0.4 }, density = i, position = { i, i == 2 and p[2] * 0.1 or 0 },
        velocity = { 0.5 * i, 0.3 + (i == 1 and p[1] or 0) } }
    end
    world:constraint { bodies = b, phi = function(q, r, s) return q.x + r.y * r.y + 0.5 * s.x * s.x - 5.5 end }
    world:run { steps = 3 }
    return b[1].x + 3 * b[2].y + b[2].vy + b[3].x + b[1].vy
  end
  ok(sim.check_grad(loss, { 0.3, 0 }, { print = false }) < 1e-6)
end)

test("impossible rows of three are reported", function()
  local world = sim.world {}
  local b = {}
  for i = 1, 5 do b[i] = world:circle { radius = 0.1, position = { i, 0 } } end
  local function phi() return 0 end
  raises("a list of 1 to 4 bodies expected, got 5", world.constraint, world, { bodies = b, phi = phi })
  raises("the same body twice", world.constraint, world, { bodies = { b[1], b[2], b[1] }, phi = phi })
  raises("lo, hi: possible only for a constraint of one or two bodies, got 3", world.constraint, world,
    { bodies = { b[1], b[2], b[3] }, lo = -1, hi = 1, phi = phi })
  local push = world:constraint { bodies = { b[1], b[2], b[3] }, unilateral = true, phi = function() return 1 end }
  raises("same one or two bodies,", world.constraint, world,
    { bodies = { b[1], b[2] }, coupled_to = push, friction = 0.3, phi = phi })
  raises("compliance, damping: a matrix is possible only for a constraint of one or two bodies, got 3", world.constraint, world,
    { bodies = { b[1], b[2], b[3] }, phi = function() return 0, 0 end, compliance = { { 1, 0 }, { 0, 1 } } })
  raises("lists of 9 numbers", world.constraint, world,
    { bodies = { b[1], b[2], b[3] }, phi = phi, jacobian = function() return { 1, 2 } end })
end)
