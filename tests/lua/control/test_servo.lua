-- Positions held by servos: closed forms, largest forces, stability, derivatives.
local sim = require "sim2d"

sim.random.seed(20260737)
local R = sim.random.split()
local function log(lo, hi) return lo * (hi / lo) ^ R:uniform(0, 1) end
local function pick(list) return list[R:integer(1, #list)] end

-- One coordinate without gravity: a rod about its centre, a cart on a rail, a mass on a spring.
local TYPES = { "hinge", "slider", "spring" }
local function oscillator(p)
  local world = sim.world { dt = p.dt, gravity = { 0, 0 }, stepping = p.stepping, alpha = p.alpha, beta = p.alpha,
    elasticity = p.elasticity, flow = p.flow }
  local body = world:box { size = { 1, 0.1 }, mass = p.type == "hinge" and 1 or p.inertia, inertia = p.inertia,
    position = { 3, 0 }, mask = 0 }
  local joint
  if p.type == "hinge" then
    joint = world:hinge { body, anchor = { 3, 0 }, damping = p.c, stiffness = p.k }
  elseif p.type == "slider" then
    joint = world:slider { body, anchor = { 3, 0 }, axis = { 1, 0 }, damping = p.c, stiffness = p.k }
  else
    joint = world:spring { body, anchor_b = { 0, 0 }, rest_length = 3, damping = p.c, stiffness = p.k }
  end
  local servo = world:actuator { "servo", joint = joint, kind = "position", kp = p.kp, kd = p.kd,
    [p.type == "hinge" and "max_torque" or "max_force"] = p.most }
  local zero = p.type == "spring" and 3 or 0
  world:act { zero + p.goal }
  return world, joint, servo, function()
    return p.type == "hinge" and joint.angle or p.type == "slider" and joint.translation or joint.length - zero
  end
end

local function random_oscillator()
  local inertia = log(1e-3, 100)
  return { type = pick(TYPES), inertia = inertia, dt = log(1 / 1000, 1 / 30), kp = log(1, 1e4), kd = pick { 0, log(1e-3, 1e3) },
    c = pick { 0, log(1e-3, 10) }, k = pick { 0, log(1e-2, 100) }, goal = R:uniform(-0.5, 0.5),
    stepping = pick { "auto", "speculative", "event" } }
end

test("a servo adds to the joint's own spring and damping, by implicit Euler, at any gains", function()
  for case = 1, fewer(200, 15) do
    local p = random_oscillator()
    p.most = case % 3 == 0 and log(1e-2, 1e3) or nil
    p.flow = "projected" -- the two stages: below
    local world, _, _, at = oscillator(p)
    local x, u, h = 0, 0, p.dt
    for _ = 1, 60 do
      world:step()
      -- J (u' - u)/h = f - (c + kd) u' - k x' with f = kp (goal - x') within its bound, x' = x + h u'
      local own, all = p.c + h * p.k, p.c + p.kd + h * (p.k + p.kp)
      local next = (p.inertia * u + h * (p.kp * (p.goal - x) - p.k * x)) / (p.inertia + h * all)
      local force = p.kp * (p.goal - x - h * next) - p.kd * next
      if p.most and math.abs(force) > p.most then
        force = force > 0 and p.most or -p.most
        next = (p.inertia * u + h * (force - p.k * x)) / (p.inertia + h * own)
      end
      x, u = x + h * next, next
      near(at(), x, 1e-7 * math.max(1, math.abs(x)), ("case %d, %s"):format(case, p.type))
    end
  end
end)

-- Returns v of J (v - v0) = h/2 F, where F is the sum of F0 - d v of each row, bounded for a row with a bound; and the
-- force of that row.
local function half_step(J, v0, h, own, servo, most)
  local v = (J * v0 + h / 2 * (own.force + servo.force)) / (J + h / 2 * (own.damping + servo.damping))
  local force = servo.force - servo.damping * v
  if most and math.abs(force) > most then
    force = force > 0 and most or -most
    v = (J * v0 + h / 2 * (own.force + force)) / (J + h / 2 * own.damping)
  end
  return v, force
end

test("a servo adds to the joint's own spring and damping by the two stages, at any gains", function()
  local compared = 0
  for case = 1, fewer(200, 15) do
    local p = random_oscillator()
    p.stepping = pick { "auto", "event" }
    local world, _, _, at = oscillator(p)
    local x, v, h, J = 0, 0, p.dt, p.inertia
    local function is_trapezoid(k, d) return (h * h * k + 2 * h * d) / J <= 4 end
    for _ = 1, 60 do
      world:step()
      -- Stage 1 has F((x + x')/2, s) for a row with the trapezoid and F(x', s) for one with implicit Euler, x' = x + h
      -- s.
      local function first(k, d, goal)
        local by = is_trapezoid(k, d) and h / 2 or h
        return { force = k * (goal - x), damping = d + by * k }
      end
      local own, servo = first(p.k, p.c, 0), first(p.kp, p.kd, p.goal)
      local s = half_step(J, v, h, own, servo)
      if p.type == "hinge" and h * math.max(math.abs(s), math.abs(v)) > 0.25 then break end -- a step in pieces
      x, compared = x + h * s, compared + 1
      -- Stage 2 repeats the force of rows with the trapezoid, and has F(x' + h/2 v', v') for rows with implicit Euler.
      local function second(row, k, d, goal)
        return is_trapezoid(k, d) and { force = row.force - row.damping * s, damping = 0 }
          or { force = k * (goal - x), damping = d + h / 2 * k }
      end
      v = half_step(J, s, h, second(own, p.k, p.c, 0), second(servo, p.kp, p.kd, p.goal))
      near(at(), x, 1e-7 * math.max(1, math.abs(x)), ("case %d, %s"):format(case, p.type))
    end
  end
  ok(compared > fewer(200, 15) * 40, compared)
end)

test("a servo is implicit Euler with other settings of the world, too", function()
  for case = 1, fewer(40, 5) do
    local p = random_oscillator()
    p.c, p.k, p.type = 0, case % 2 == 0 and 0 or 1e-9, pick { "hinge", "slider" }
    p.most = case % 4 == 0 and log(1e-2, 1e3) or nil
    p.alpha, p.elasticity, p.stepping = 0.5, pick { "compliance", "stiffness" }, "speculative"
    local world, _, _, at = oscillator(p)
    local x, u, h, beta = 0, 0, p.dt, p.alpha or 1
    for _ = 1, 20 do
      world:step()
      local next = (p.inertia * u + h * p.kp * (p.goal - x)) / (p.inertia + h * p.kd + h * h * p.kp)
      local force = p.kp * (p.goal - x - h * next) - p.kd * next
      if p.most and math.abs(force) > p.most then next = u + h * (force > 0 and p.most or -p.most) / p.inertia end
      x, u = x + h * ((1 - beta) * u + beta * next), next
      near(at(), x, 1e-6 * math.max(1, math.abs(x)), ("case %d, %s"):format(case, p.type))
    end
  end
end)

test("the peak of a damped servo is that of the oscillator, whose damping may be the joint's", function()
  for _ = 1, fewer(20, 4) do
    local inertia, kp = log(1e-3, 1), log(1, 100)
    local zeta = R:uniform(0.2, 0.8)
    local c = 2 * zeta * math.sqrt(kp * inertia)
    local share, period = R:uniform(0, 1), 2 * math.pi * math.sqrt(inertia / kp)
    local p = { type = pick(TYPES), inertia = inertia, kp = kp, c = share * c, kd = (1 - share) * c, k = 0, goal = 0.4, dt = period / 4000 }
    local world, _, _, at = oscillator(p)
    local most = 0
    for _ = 1, 4000 do world:step() most = math.max(most, at()) end
    near(most, 0.4 * (1 + math.exp(-math.pi * zeta / math.sqrt(1 - zeta ^ 2))), 0.002)
  end
end)

test("arms of any inertia are held at any gains and steps", function()
  for case = 1, fewer(100, 8) do
    local mass, size, warning = log(1e-3, 100), log(0.05, 2), nil
    local world = sim.world { dt = log(1 / 1000, 1 / 30), gravity = { 0, case % 2 == 0 and -9.81 or 0 },
      stepping = pick { "auto", "speculative", "bisect", "event" } }
    world:on("solver_warning", function(event)
      if not event.message:find "^audit" then warning = event.message end -- only warnings of solves
    end)
    local kp, kd, before, joints, goals = log(1, 1e4), pick { 0, log(1e-3, 1e3) }, nil, {}, {}
    for i = 1, case % 3 + 1 do
      local link = world:box { size = { size, size / 10 }, mass = mass, position = { (i - 0.5) * size, 0 }, mask = 0 }
      joints[i], goals[i] = world:hinge { link, before, anchor = { (i - 1) * size, 0 } }, R:uniform(-1, 1)
      world:actuator { "joint " .. i, joint = joints[i], kind = "position", kp = kp, kd = kd }
      before = link
    end
    world:act(goals)
    for _ = 1, 150 do
      world:step()
      for _, joint in ipairs(joints) do ok(math.abs(joint.angle) < 6, ("case %d: %g rad"):format(case, joint.angle)) end
    end
    eq(warning, nil)
  end
end)

-- ---- Derivatives ------------------------------------------------------------------------------

local function agrees(f, p, bound)
  local value, g = sim.value_and_grad(f, p)
  near(value, f(p), 1e-12 * math.max(1, math.abs(value)))
  for name, derivative in pairs(g) do
    local h = 1e-5 * math.max(1e-2, math.abs(p[name]))
    local up, down = {}, {}
    for key, number in pairs(p) do up[key], down[key] = number, number end
    up[name], down[name] = p[name] + h, p[name] - h
    local slope = (f(up) - f(down)) / (2 * h)
    near(derivative, slope, bound * math.max(1e-3, math.abs(slope)), name)
  end
  return g
end

test("servos have derivatives by gains, goals, masses and largest forces", function()
  local bounded = 0
  for case = 1, 60 do
    local kind, saturates = TYPES[case % 3 + 1], case % 2 == 0
    local function loss(p)
      local world = sim.world { dt = 0.01, gravity = { 0, -1 }, stepping = case % 5 == 0 and "event" or "speculative" }
      local base = world:box { size = { 1, 1 }, mass = 3, inertia = 2, mask = 0 }
      world:spring { base, anchor_b = { 0, 3 }, stiffness = 50, damping = 1 }
      local body = world:box { size = { 1, 0.1 }, mass = p.mass, inertia = p.inertia, position = { 0.7, 0.2 }, mask = 0 }
      local joint
      if kind == "hinge" then
        joint = world:hinge { body, base, anchor = { p.x, 0.1 }, damping = p.c }
      elseif kind == "slider" then
        joint = world:slider { body, base, anchor = { 0.1, 0.2 }, axis = { 1, p.x }, damping = p.c }
      else
        joint = world:spring { body, base, anchor_b = { p.x, -0.8 }, stiffness = 0.1, damping = p.c }
      end
      world:actuator { "go", joint = joint, kind = "position", kp = p.kp, kd = p.kd,
        [kind == "hinge" and "max_torque" or "max_force"] = p.most }
      world:act { p.goal }
      world:run { steps = 12 }
      return body.x + 2 * body.y + 3 * body.angle + base.x + 0.1 * joint.speed
    end
    local g = agrees(loss, { mass = R:uniform(0.5, 2), inertia = R:uniform(0.1, 1), x = R:uniform(0.1, 0.4), c = R:uniform(0.1, 1),
      kp = R:uniform(5, 100), kd = R:uniform(0.5, 5), goal = R:uniform(1, 2), most = saturates and R:uniform(0.5, 1) or nil }, 2e-5)
    if saturates and g.most ~= 0 then bounded = bounded + 1 else ok(g.kp ~= 0 and g.kd ~= 0) end
  end
  ok(bounded >= 15)
end)

test("gains of 0 have the derivative of those a little above", function()
  local function reach(p)
    local world = sim.world { dt = 0.01, gravity = { 0, 0 } }
    local rod = world:box { size = { 1, 0.1 }, mass = 1, inertia = 0.1, mask = 0, angular_velocity = 1 }
    local hinge = world:hinge { rod, anchor = { 0, 0 } }
    world:actuator { "go", joint = hinge, kind = "position", kp = p.kp, kd = p.kd }
    world:act { 0.3 }
    world:run { steps = 10 }
    return hinge.angle
  end
  local _, g = sim.value_and_grad(reach, { kp = 0, kd = 0 })
  near(g.kp, (reach { kp = 1e-6, kd = 0 } - reach { kp = 0, kd = 0 }) / 1e-6, 1e-6)
  near(g.kd, (reach { kp = 0, kd = 1e-6 } - reach { kp = 0, kd = 0 }) / 1e-6, 1e-6)
end)

test("a joint's reaction excludes its servo, also in derivatives", function()
  -- aimed beyond a limit: the limit carries the servo's whole force
  for _, implicit in ipairs { true, false } do
    local world, kp = sim.world { dt = 0.002, gravity = { 0, 0 } }, log(10, 1000)
    local rod = world:box { size = { 1, 0.1 }, mass = 1, inertia = 0.1, mask = 0 }
    local hinge = world:hinge { rod, anchor = { 0, 0 }, limits = { -1, 0.5 } }
    world:actuator { "go", joint = hinge, kind = "position", kp = kp, kd = 0.1, implicit = implicit }
    world:act { 3 }
    world:run { duration = 2 }
    near(hinge.angle, 0.5, 1e-9)
    near(hinge.torque, -kp * 2.5, 1e-6 * kp)
  end
  local function reaction(p)
    local world = sim.world { dt = 0.01, gravity = { 0, -9.81 } }
    local rod = world:box { size = { 1, 0.1 }, mass = 1, inertia = 0.1, position = { 0.5, 0 }, mask = 0 }
    local hinge = world:hinge { rod, anchor = { 0, 0 } }
    world:actuator { "go", joint = hinge, kind = "position", kp = p.kp, kd = 0.2, max_torque = p.most }
    world:act { p.goal }
    world:run { steps = 10 }
    return hinge.force.x + 2 * hinge.force.y + hinge.torque
  end
  agrees(reaction, { kp = 30, goal = 0.4 }, 1e-5)
  agrees(reaction, { kp = 30, goal = 0.4, most = 3 }, 1e-5)
end)

test("a position is an input of linearize, for lqr and plans", function()
  for _ = 1, 20 do
    local p = random_oscillator()
    p.goal, p.type = 0, pick { "hinge", "slider" }
    local world, joint, servo, at = oscillator(p)
    local A, B = world:linearize { inputs = { servo }, coordinates = { joint } }
    eq(servo.input.goal, 1)
    local goal = 0.01 -- a step that turns by more than 0.25 rad is made in pieces
    world:act { goal }
    world:step()
    near(goal * B[1][1], at(), 1e-11)
    near(goal * B[2][1], joint.speed, 1e-11 * math.max(1, math.abs(joint.speed)))
    ok(math.abs(A[2][2]) <= 1 + 1e-9)
  end
  local world, joint = oscillator { type = "hinge", inertia = 0.1, dt = 0.01, kp = 5, kd = 0.1, goal = 0.5 }
  local law = sim.control.lqr(world, { coordinates = { joint }, Q = 1, R = 0.01 })
  ok(law.K)
end)

-- ---- Explicit ---------------------------------------------------------------------------------

test("an explicit position warns once if its damping reverses speeds", function()
  local warned, quiet = 0, 0
  for _ = 1, 100 do
    local mass, length, dt, part = log(1e-3, 100), log(0.05, 1), log(1 / 1000, 1 / 30), log(0.5, 8)
    local world = sim.world { dt = dt, gravity = { 0, 0 } }
    local slides = R:uniform(0, 1) < 0.3
    local body = world:box { size = { length, length / 10 }, mass = mass, position = { length / 2, 0 }, mask = 0 }
    local inertia = slides and mass or body.inertia + mass * length ^ 2 / 4
    local joint = slides and world:slider { body, anchor = { 0, 0 }, axis = { 0, 1 } } or world:hinge { body, anchor = { 0, 0 } }
    local messages = {}
    world:on("solver_warning", function(event) messages[#messages + 1] = event.message end)
    world:actuator { "servo", joint = joint, kind = "position", implicit = false, kp = 0, kd = part * inertia / dt }
    for _ = 1, 3 do world:step() end
    eq(#messages, part > 2 and 1 or 0, ("kd dt = %g I"):format(part))
    if part > 2 then
      ok(messages[1]:find "actuator 'servo': its explicit damping reverses the speed in each step", messages[1])
      warned = warned + 1
    else
      quiet = quiet + 1
    end
  end
  ok(warned > 20 and quiet > 20)
end)

test("an explicit position has a largest force, too", function()
  local world = sim.world { dt = 0.01, gravity = { 0, 0 } }
  local cart = world:box { size = { 1, 1 }, mass = 2 }
  local rail = world:slider { cart, anchor = { 0, 0 }, axis = { 1, 0 } }
  world:actuator { "place", joint = rail, kind = "position", implicit = false, kp = 100, kd = 1, max_force = 4 }
  world:act { 1 }
  world:step()
  near(cart.vx, 4 / 2 * 0.01, 1e-12)
end)

-- ---- Settings, images -------------------------------------------------------------------------

test("gains and the largest force can be set", function()
  local world, joint, servo = oscillator { type = "hinge", inertia = 0.2, dt = 0.01, kp = 5, kd = 0.1, goal = 0.5 }
  eq({ servo.kp, servo.kd, servo.max_torque, servo.implicit }, { 5, 0.1, math.huge, true })
  eq({ joint.servo_kp, joint.servo_kd, joint.servo_max, joint.stiffness, joint.damping }, { 5, 0.1, math.huge, 0, 0 })
  servo.kp, servo.max_torque = 0, 3
  eq({ joint.servo_kp, joint.servo_max }, { 0, 3 })
  world:step()
  eq(joint.speed, 0)
  servo.kp = 1e6
  world:step()
  near(joint.speed, 3 * 0.01 / 0.2, 1e-9)
  raises("Actuator.kp: a number not below 0 expected, got number %-1", function() servo.kp = -1 end)
  raises("Actuator.max_force is read%-only", function() servo.max_force = 1 end)
  raises("Actuator.range is read%-only", function() servo.range = { 0, 1 } end)
  raises("already holds a position of this joint: set implicit = false for one of the two", world.actuator, world, { "again", joint = joint, kind = "position" })
  world:actuator { "again", joint = joint, kind = "position", implicit = false, kp = 0, kd = 0 }
  raises("key 'max_force': 'max_torque' of a hinge", world.actuator, world, { "third", joint = joint, kind = "speed", max_force = 1 })
  world:actuator { "third", joint = joint, kind = "speed", max_torque = 0.5 }
  eq(joint.motor_max, 0.5)
  raises("key 'max_torque': no value %(only a position or a speed", world.actuator, world,
    { "fourth", joint = joint, kind = "torque", max_torque = 1 })
end)

test("servos come back with snapshots, and clones have their own", function()
  for _ = 1, 20 do
    local p = random_oscillator()
    p.most = pick { log(1e-1, 10), math.huge }
    local world, _, servo, at = oscillator(p)
    world:step(3)
    local snapshot, twin = world:snapshot(), world:clone()
    world:step(5)
    local there = at()
    servo.kp = 3
    world:act { 0 }
    world:step(2)
    world:restore(snapshot)
    twin:step(5)
    world:step(5)
    eq(at(), there)
    eq(twin:state(), world:state())
  end
end)
