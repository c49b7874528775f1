-- Constraints of the script's own and ground friction.
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

test("wrong answers are told by name and place", function()
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
  refuse("one or two bodies expected, got 0", { bodies = {}, phi = phi })
  refuse("Body expected, got 3", { bodies = { 3 }, phi = phi })
  refuse("two different bodies", { bodies = { body, body }, phi = phi })
  refuse("key 'phi' is missing", { bodies = { body } })
  refuse("key 'phi': function expected, got 1", { bodies = { body }, phi = 1 })
  refuse("1 to 3 values, one a row, got 4",
    { bodies = { body }, phi = function() return 1, 2, 3, 4 end })
  refuse("return 1 value, one a row, got 2",
    { bodies = { body }, unilateral = true, phi = function() return 1, 2 end })
  refuse("key 'jacobian' is missing", { bodies = { body }, velocity_only = true })
  refuse("key 'phi': not for a velocity_only", { bodies = { body }, velocity_only = true, phi = phi,
    jacobian = function() return { 0, 1, 0 } end })
  refuse("jacobian must return lists of 3 numbers: angle, x, y of the body; got a list of 2$",
    { bodies = { body }, phi = phi, jacobian = function() return { 1, 2 } end })
  refuse("; got a list of 1; rows are results of their own, without a table around them",
    { bodies = { body }, phi = phi, jacobian = function() return { { 0, 1, 2 } } end })
  refuse("; got 3$", { bodies = { body }, phi = phi, jacobian = function() return 3 end })
  refuse("nothing to damp", { bodies = { body }, phi = phi, damping = 1 })
  refuse("key 'rate': finite number expected", { bodies = { body }, phi = phi, rate = 0 / 0 })
  refuse("unknown key 'ph'", { bodies = { body }, ph = phi })
  raises("has no field 'constrain'; did you mean 'constraint'", function() return world.constrain end)
  eq(#world.joints, 1)
end)

test("snapshots bring functions back, clones take them along when told", function()
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
  raises("functions of the script constrain, pull or move bodies; they come along with {callbacks = true} only", world.clone, world)
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

test("ground friction stops what slides and turns", function()
  local world = sim.world { gravity = { 0, 0 }, dt = 0.01 }
  local puck = world:circle { radius = 0.2, mass = 2, velocity = { 3, 4 }, angular_velocity = 1 }
  local friction = world:ground_friction { puck, max_force = 20, max_torque = 0.02 }
  eq({ friction.type, friction.max_force, friction.max_torque }, { "ground_friction", 20, 0.02 })
  world:step()
  near(friction.force, { -12, -16 }, 1e-9)
  world:run { duration = 3 }
  near({ puck.vx, puck.vy, puck.omega }, { 0, 0, 0 }, 1e-9)
  near(math.sqrt(puck.x ^ 2 + puck.y ^ 2), 25 / 20 - 0.025, 1e-9)
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
      local function slide(own)
        local world = sim.world { stepping = stepping }
        local box = world:box { size = { 1, 1 }, velocity = { 2, 0 }, mass = 2 }
        world:slider { a = box, anchor = { 0, 0 }, axis = { 1, 0 }, friction = own and 0 or force }
        local row = own and world:constraint { bodies = { box }, velocity_only = true, lo = -force, hi = force,
          jacobian = function() return { 0, 1, 0 } end }
        world:run { duration = 0.5 }
        return box.x, box.vx, row
      end
      local x, vx = slide(false)
      local own_x, own_vx, row = slide(true)
      near({ own_x, own_vx }, { x, vx }, 1e-12)
      -- closed form while it slides: v = 2 - F t / m
      if force == 3 then near(own_vx, 2 - 3 * 0.5 / 2, 1e-12) else near(own_vx, 0, 1e-12) end
      eq({ row.lo, row.hi }, { -force, force })
    end
  end
end)

test("bounds need not be those of friction", function()
  -- pushes with 1 to 4 N against -x: between them it holds the speed 0.5, else the nearest acts
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
      -- slides with mu times what the slope pushes with, or sticks with what holds it
      local slides = mu < s / c
      near(dragged, slides and mu * pushed or 2 * 9.81 * s, 1e-8)
      near(rough.speed, slides and 9.81 * (s - mu * c) or 0, 1e-9)
      -- off the slope there is none
      ball.velocity = { s * 5 + 1 * c, c * 5 - 1 * s }
      world:step()
      near(size(rough.force), 0, 1e-12)
    end
  end
end)

test("what is coupled to a constraint that is off or gone does nothing", function()
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
  -- another constraint in its slot is not what it was coupled to
  world:constraint { bodies = { ball }, unilateral = true, phi = function(q) return q.y + 1 end }
  world:step(2)
  eq(ball.vx, kept)
  ok(rough.enabled)
end)

test("each constraint may say how its error is removed", function()
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
  -- the default, auto, keeps to it also where bodies touch
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

test("what cannot be is said by key", function()
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
  raises("same bodies", make, { bodies = { world:circle { radius = 1 } }, coupled_to = stop, friction = 1 })
  local rough = make { coupled_to = stop, friction = 1 }
  raises("friction already", make, { coupled_to = stop, friction = 1 })
  raises("'none', 'baumgarte'", make, { stabilization = "pre" })
  raises("only of a constraint made with lo and hi", function() rough.lo = 3 end)
  raises("only of a constraint made with coupled_to", function() stop.friction = 3 end)
  raises("lo < hi", function() make { lo = -1, hi = 1 }.lo = 2 end)
  raises("event", function()
    local w = sim.world { stepping = "event" }
    w:constraint { bodies = { w:circle { radius = 1 } }, phi = x, stabilization = "baumgarte" }
  end)
end)
