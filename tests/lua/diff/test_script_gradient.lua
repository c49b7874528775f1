-- Derivatives through functions of the script inside steps: constraints, springs, motions and locks as functions of
-- time.
local sim = require "sim2d"

-- Compares the gradient with differences, and requires derivatives that are not zero, the same bits with checkpoints,
-- and the value of a plain run.
local function check(f, p, options)
  options = options or {}
  local value, g = sim.value_and_grad(f, p)
  eq(value, f(p))
  for key in pairs(p) do ok(math.abs(g[key]) > 1e-9, ("dl/d%s is %g"):format(key, g[key])) end
  local worst = sim.check_grad(f, p, { print = false, step = options.step })
  ok(worst <= (options.tolerance or 1e-6), ("error %.2g"):format(worst))
  sim.checkpoint(7)
  local again, h = sim.value_and_grad(f, p)
  sim.checkpoint(nil)
  eq(again, value)
  for key in pairs(p) do eq(h[key], g[key]) end
end

-- ---- Springs ------------------------------------------------------------------------------------

local function swing(p, def, settings)
  settings = settings or {}
  settings.dt = settings.dt or 0.01
  local world = sim.world(settings)
  local body = world:circle { radius = 0.1, mass = 1, position = { p.x, 0.3 }, velocity = { 0.5, p.vy } }
  def[1] = body
  def.anchor_b = { 0, 1 }
  def.damping = p.d
  def.rest_length = p.rest or 0.4
  world:spring(def)
  world:run { steps = 40 }
  return body.x ^ 2 + 2 * body.y + 0.3 * body.vx
end

test("springs with a function", function()
  local p = { x = 0.7, vy = -0.2, d = 0.3, k = 20, c = 60, rest = 0.5 }
  check(function(p)
    return swing(p, { force = function(x) return p.k * x + p.c * x ^ 3, p.k + 3 * p.c * x ^ 2 end })
  end, p)
  check(function(p) return swing(p, { force = function(x) return p.k * x + p.c * x ^ 3 end }) end, p)
  check(function(p) return swing(p, { force = function(x) return p.k * sim.sin(x) + p.c * x end }) end, p)
end)

test("springs with a function, with alpha and beta", function()
  for _, settings in ipairs {
    { alpha = 0.5, beta = 0.5 }, { alpha = 0.7, beta = 0.6 }, { elasticity = "stiffness" },
    { substeps = 3 }, { stepping = "bisect" },
  } do
    local function f(p)
      return swing(p, { force = function(x) return p.k * x + p.c * x ^ 3 end }, sim.stop_gradient(settings))
    end
    check(f, { x = 0.7, vy = -0.2, d = 0.3, k = 20, c = 60, rest = 0.5 })
  end
end)

test("a spring with a function and one with numbers agree", function()
  local p = { x = 0.7, vy = -0.2, d = 0.3, k = 20, c = 60 }
  local trapezoid = { alpha = 0.5, beta = 0.5 }
  local v, g = sim.value_and_grad(function(p)
    return swing(p, { force = function(x) return p.k * x + p.c * x ^ 3, p.k + 3 * p.c * x ^ 2 end }, trapezoid)
  end, p)
  local w, h = sim.value_and_grad(function(p)
    return swing(p, { stiffness = p.k, cubic = p.c }, trapezoid)
  end, p)
  near(v, w, 1e-14)
  for key in pairs(p) do near(g[key], h[key], 1e-11 * math.abs(h[key])) end
end)

test("a function that does not depend on the parameters is a constant", function()
  local seen
  local function f(p)
    local world = sim.world { dt = 0.01 }
    local body = world:circle { radius = 0.1, mass = 1, position = { p.x, 0.3 } }
    world:spring { body, anchor_b = { 0, 1 }, rest_length = 0.4, force = function(x)
      seen = type(x)
      return 20 * x
    end }
    world:run { steps = 30 }
    return body.x
  end
  check(f, { x = 0.7 })
  f { x = 0.7 }
  eq(seen, "number")
end)

-- ---- Motions ------------------------------------------------------------------------------------

test("kinematic bodies that move as a function of time", function()
  local function f(p)
    local world = sim.world { dt = 0.01 }
    local tray = world:box { type = "kinematic", size = { 4, 0.2 }, friction = 0.4, position = { p.x0, 0 } }
    local box = world:box { size = { 0.4, 0.4 }, position = { 0.05, 0.3 }, friction = 0.4 }
    tray:motion(function(t) return p.a * math.sin(p.w:value() * t) + 0.3 * p.b * t ^ 2, nil, p.turn * t end)
    world:run { steps = 50 }
    return box.x + 0.5 * box.y + 0.2 * tray.x + box.angle
  end
  local plain = { value = function(self) return self[1] end }
  plain.__index = plain
  local function g(p)
    return f { a = p.a, b = p.b, x0 = 0, turn = p.turn, w = setmetatable({ 3 }, plain) }
  end
  check(g, { a = 0.1, b = 0.2, turn = 0.05 }, { step = 1e-4 })
end)

test("motions with time and dt that are tracked, in all steppings", function()
  for _, settings in ipairs {
    {}, { beta = 0.6 }, { substeps = 3 }, { stepping = "bisect" }, { stepping = "event" },
  } do
    local function f(p)
      settings.dt = p.dt
      local world = sim.world(settings)
      local arm = world:box { type = "kinematic", size = { 1, 0.2 }, position = { 0, 0 } }
      local ball = world:circle { radius = 0.1, position = { 1, 0 }, gravity_scale = 0 }
      arm:motion(function(t) return p.a * sim.sin(p.w * t), nil, p.a * t end)
      if settings.stepping ~= "event" then
        world:spring { ball, arm, stiffness = 30, damping = 0.5, rest_length = 0.9 }
      end
      world:run { steps = 20 }
      return ball.x + 2 * ball.y + arm.x ^ 2 + 0.1 * arm.vx + arm.angle
    end
    check(f, { a = 0.3, w = 2, dt = 0.01 }, { step = 1e-5 })
  end
end)

test("a ball that bounces on a tray that moves, in event stepping", function()
  local function f(p)
    local world = sim.world { dt = 0.01, stepping = "event" }
    local tray = world:box { type = "kinematic", size = { 4, 0.2 }, restitution = 0.5, friction = 0.3 }
    local ball = world:circle { radius = 0.1, position = { 0, p.y }, velocity = { 0.5, 0 }, restitution = 0.5,
      friction = 0.3 }
    tray:motion(function(t) return nil, p.a * math.sin(3 * t) + p.b * t ^ 2 end)
    world:run { steps = 40 }
    return ball.y + 0.3 * ball.x
  end
  check(f, { a = 0.1, b = 0.2, y = 0.35 }, { step = 1e-4 })
  eq(sim.tape_stats().flags, {})
end)

test("functions of the script where bodies meet within a step", function()
  local function bounce(p, friction, add)
    local world = sim.world { dt = 0.01, stepping = "event" }
    world:box { type = "static", size = { 10, 1 }, position = { 0, -0.5 }, friction = friction }
    local ball = world:circle { radius = 0.1, mass = 1, position = { 0.5, 0.5 }, velocity = { 0, p.vy },
      restitution = 0.7, friction = friction }
    add(world, ball)
    world:run { steps = 60 }
    return ball.x ^ 2 + 2 * ball.y + 0.3 * ball.vx + 0.1 * ball.vy + 0.2 * ball.angle
  end
  check(function(p)
    return bounce(p, 0, function(world, ball)
      world:spring { ball, anchor_b = { 0, 1 }, rest_length = 0.4, damping = 0.1,
        force = function(x) return p.k * x + p.c * x ^ 3 end }
    end)
  end, { vy = -1.3, k = 2, c = 3 })
  check(function(p)
    return bounce(p, 0.5, function(world, ball)
      world:constraint { bodies = { ball }, phi = function(q, _, t) return q.x - 0.5 - p.a * sim.sin(p.w * t) end }
    end)
  end, { vy = -1.3, a = 0.2, w = 3 })
  check(function(p)
    return bounce(p, 0.5, function(world, ball)
      world:lock { ball, x = function(t) return p.a * sim.sin(p.w * t) end }
    end)
  end, { vy = -1.3, a = 0.2, w = 3 })
end)

test("locks that are driven", function()
  for _, settings in ipairs { {}, { alpha = 0.5, beta = 0.5 }, { substeps = 2 }, { stepping = "bisect" } } do
    local function f(p)
      settings.dt = p.dt
      local world = sim.world(settings)
      local crank = world:box { size = { 0.5, 0.1 }, density = p.rho }
      local rod = world:box { size = { 1, 0.1 }, position = { 0.75, 0 } }
      world:hinge { crank, rod, anchor = { 0.25, 0 } }
      world:lock { crank, x = true, y = function(t) return p.a * sim.sin(5 * t) end,
        angle = function(t) return p.w * t + p.a * t ^ 2 end, compliance = 1e-3, damping = 0.1 }
      world:run { steps = 30 }
      return rod.x + rod.y + 0.3 * rod.vx
    end
    check(f, { a = 0.2, w = 3, dt = 0.01, rho = 1.5 }, { step = 1e-5 })
  end
end)

test("locks that are driven by a velocity", function()
  local function f(p)
    local world = sim.world { dt = p.dt }
    local crank = world:box { size = { 0.5, 0.1 }, position = { p.x, 0 } }
    local rod = world:box { size = { 1, 0.1 }, position = { p.x + 0.75, 0 } }
    world:hinge { crank, rod, anchor = { p.x + 0.25, 0 } }
    world:lock { crank, x = true, y = true, angle = true, velocity = function(t) return p.w * sim.cos(t), p.v end,
      compliance = 1e-4 }
    world:run { steps = 30 }
    return rod.x + rod.y + 0.3 * rod.vx
  end
  check(f, { x = 0.3, w = 3, v = 0.2, dt = 0.01 }, { step = 1e-5 })
end)

test("a function that returns another value in each step", function()
  local function f(p)
    local world = sim.world { dt = 0.01 }
    local arm = world:box { type = "kinematic", size = { 1, 0.2 } }
    local goal = 0
    world:before_step(function(_, t) goal = goal + p.a * p.a * math.sin(9 * t) end)
    arm:motion(function() return goal end)
    world:run { steps = 20 }
    return arm.x * p.a
  end
  check(f, { a = 0.3 })
end)

test("locks that are driven hold their bodies rigidly", function()
  for _, settings in ipairs { {}, { alpha = 0.5, beta = 0.5 }, { substeps = 2 }, { stabilization = "baumgarte" } } do
    local function f(p)
      settings.dt = p.dt
      local world = sim.world(settings)
      local crank = world:box { size = { 0.5, 0.1 }, position = { p.x, 0 } }
      local rod = world:box { size = { 1, 0.1 }, position = { 0.75, 0 } }
      world:hinge { crank, rod, anchor = { 0.25, 0 } }
      world:lock { crank, x = function(t) return p.x + p.a * t end, y = true,
        angle = function(t) return p.w * t + p.a * t ^ 2 end }
      world:run { steps = 30 }
      return rod.x + rod.y + 0.3 * rod.vx
    end
    check(f, { a = 0.2, w = 3, dt = 0.01, x = 0.05 }, { step = 1e-5 })
  end
end)

-- ---- Constraints --------------------------------------------------------------------------------

-- A bead on the parabola y = c x^2 / 2 + b.
local function parabola(p, what)
  local def = { phi = function(q) return q.y - p.c * q.x ^ 2 / 2 - p.b end }
  if what ~= "phi" then def.jacobian = function(q) return { 0, -p.c * q.x, 1 } end end
  if what == "hessian" then
    def.hessian = function() return { { 0, 0, 0 }, { 0, -p.c, 0 }, { 0, 0, 0 } } end
  end
  return def
end

local function slide(p, def, settings, steps)
  settings = settings or {}
  settings.dt = settings.dt or 0.01
  local world = sim.world(settings)
  local bead = world:circle { radius = 0.1, position = { p.x, p.c * p.x ^ 2 / 2 + p.b }, velocity = { p.vx, 0 } }
  def.bodies = { bead }
  world:constraint(def)
  world:run { steps = steps or 40 }
  return bead.x + 2 * bead.y + 0.3 * bead.vx
end

test("constraints with and without a jacobian and a hessian", function()
  for _, what in ipairs { "phi", "jacobian", "hessian" } do
    check(function(p) return slide(p, parabola(p, what)) end, { x = 1, c = 0.8, b = 0.1, vx = 0.5 })
  end
end)

test("constraints in all steppings", function()
  for _, settings in ipairs {
    { alpha = 0.5, beta = 0.5 }, { alpha = 0.7, beta = 0.6 }, { substeps = 3 }, { stepping = "bisect" },
    { stabilization = "baumgarte" }, { stabilization = "none" }, { stabilization = "pre" },
    { stabilization = "post" }, { stabilization = "post_assembly" },
    { geometric_stiffness = "psd" }, { geometric_stiffness = "on" },
  } do
    for _, what in ipairs { "phi", "jacobian", "hessian" } do
      local good, message = pcall(check, function(p)
        return slide(p, parabola(p, what), sim.stop_gradient(settings))
      end, { x = 1, c = 0.8, b = 0.1, vx = 0.5 })
      if not good then
        local name, value = next(settings)
        error(("%s = %s, %s: %s"):format(name, value, what, message), 0)
      end
    end
  end
end)

test("the jacobian of the motion of a constrained body", function()
  local function f(x)
    local world = sim.world { dt = 0.01 }
    local bead = world:circle { radius = 0.1, position = { x[1], x[1] ^ 2 * x[2] } }
    world:constraint { bodies = { bead }, phi = function(q) return q.y - x[2] * q.x ^ 2 end,
      jacobian = function(q) return { 0, -2 * x[2] * q.x, 1 } end }
    world:run { steps = 20 }
    return { bead.x, bead.y, bead.vx }
  end
  local x, h = { 1, 0.5 }, 1e-4
  local J = sim.jacobian(f, x)
  for j = 1, 2 do
    local up, down = { x[1], x[2] }, { x[1], x[2] }
    up[j], down[j] = x[j] + h, x[j] - h
    local above, below = f(up), f(down)
    for i = 1, 3 do near(J[i][j], (above[i] - below[i]) / (2 * h), 1e-6) end
  end
end)

test("constraints between two bodies, of several rows", function()
  local function f(p)
    local world = sim.world { dt = 0.01 }
    local a = world:box { size = { 0.4, 0.1 }, position = { 0.1, 0 }, angular_velocity = p.w }
    local b = world:box { size = { 0.4, 0.1 }, position = { p.l + 0.1, 0.1 }, velocity = { 0, 1 } }
    world:hinge { a, anchor = { 0, 0 } }
    world:constraint { bodies = { a, b }, phi = function(qa, qb)
      return (qa.x - qb.x) ^ 2 + (qa.y - qb.y) ^ 2 - p.l ^ 2 - 0.01, qb.a - p.r * sim.sin(qa.a)
    end }
    world:run { steps = 40 }
    return b.x + b.y + 0.2 * b.vy + b.angle
  end
  check(f, { w = 2, l = 0.5, r = 1.4 })
end)

test("constraints that move with the time", function()
  for _, settings in ipairs { {}, { substeps = 2 }, { stepping = "bisect" }, { alpha = 0.5, beta = 0.5 } } do
    for _, rate in ipairs { false, true } do
      local function f(p)
        settings.dt = p.dt
        local world = sim.world(settings)
        local body = world:circle { radius = 0.1, position = { 0, p.y } }
        world:constraint { bodies = { body },
          phi = function(q, _, t) return sim.cos(p.w * t) * q.x - sim.sin(p.w * t) * (q.y + 1) end,
          rate = rate and function(q, _, t)
            return -p.w * (sim.sin(p.w * t) * q.x + sim.cos(p.w * t) * (q.y + 1))
          end or nil }
        world:run { steps = 30 }
        return body.x + 2 * body.y + 0.3 * body.vx
      end
      check(function(p) return f { w = p.w, y = p.y, dt = 0.01 } end, { w = 2, y = 0.2 }, { step = 1e-3 })
      check(function(p) return f { w = 2, y = 0.2, dt = p.dt } end, { dt = 0.01 }, { step = 1e-5 })
    end
  end
end)

test("constraints on velocities", function()
  for _, unilateral in ipairs { false, true } do
    local function f(p)
      local world = sim.world { dt = 0.01 }
      local skate = world:box { size = { 0.4, 0.1 }, angular_velocity = p.w, velocity = { p.v, 0.01 },
        gravity_scale = 0.1 }
      world:constraint { bodies = { skate }, velocity_only = true, unilateral = unilateral, rate = p.r,
        jacobian = function(q) return { 0, -sim.sin(q.a), sim.cos(q.a) } end }
      world:run { steps = 40 }
      return skate.x + 2 * skate.y + 0.3 * skate.vx + 0.1 * skate.angle
    end
    check(f, { w = 1, v = 0.7, r = 0.03 })
  end
end)

test("compliant constraints", function()
  for _, settings in ipairs { {}, { alpha = 0.5, beta = 0.5 }, { elasticity = "stiffness" } } do
    local function f(p)
      local def = parabola(p, "phi")
      def.compliance, def.damping = 0.01 * p.C, p.D
      return slide(p, def, sim.stop_gradient(settings))
    end
    check(f, { x = 1, c = 0.8, b = 0.1, vx = 0.5, C = 1, D = 0.3 })
  end
end)

test("constraints of one side", function()
  for _, soft in ipairs { false, true } do
    for _, settings in ipairs { {}, { alpha = 0.5, beta = 0.5 } } do
      local function f(p)
        local def = parabola(p, "phi")
        def.unilateral = true
        if soft then def.compliance, def.damping = 0.01, 0.2 end
        return slide(p, def, sim.stop_gradient(settings))
      end
      check(f, { x = 1, c = 0.8, b = 0.1, vx = 0.5 }, { step = 1e-4 })
    end
  end
end)

test("compliant constraints, by matrices", function()
  local function f(p)
    local world = sim.world { dt = 0.01 }
    local body = world:box { size = { 0.4, 0.1 }, position = { 1, 0 } }
    world:constraint { bodies = { body }, compliance = { { 0.01 * p.C, 0.001 }, { 0.001, 0.02 } },
      damping = { { 0.3, 0 }, { 0, 0.1 * p.D } },
      phi = function(q) return q.x ^ 2 + q.y ^ 2 - p.l, q.a - p.l * q.x end,
      jacobian = function(q) return { 0, 2 * q.x, 2 * q.y }, { 1, -p.l, 0 } end }
    world:run { steps = 30 }
    return body.x + 2 * body.y + 0.3 * body.angle
  end
  check(f, { C = 1, D = 1, l = 0.9 })
end)

-- ---- Force laws ---------------------------------------------------------------------------------

test("force laws in steps of several parts", function()
  for _, settings in ipairs { {}, { substeps = 3 }, { stepping = "bisect" }, { stepping = "bisect", substeps = 2 } } do
    local function f(p)
      settings.dt = p.dt
      local world = sim.world(settings)
      world:segment { from = { -5, 0 }, to = { 5, 0 } }
      local ball = world:circle { radius = 0.1, position = { p.x, 0.5 }, velocity = { 1, 0 }, restitution = 0.3 }
      ball:force_law(function(b, t, h) return 0, -p.k * b.x + p.k * t * b.vy, 0.2 * p.k * b.vx + h end)
      world:before_step(function() ball:apply_force { p.k * ball.y, 0 } end)
      world:run { steps = 45 }
      return ball.x + 2 * ball.y + 0.3 * ball.vx
    end
    check(f, { x = 0.5, k = 0.7, dt = 0.01 }, { step = 1e-6, tolerance = 1e-6 })
  end
end)

test("a failed step of several parts has no effect", function()
  local function f(p)
    local world = sim.world { dt = 0.01, substeps = 3 }
    local ball = world:circle { radius = 0.1, mass = 1, position = { p.x, 0.5 } }
    local calls = 0
    ball:force_law(function(b)
      calls = calls + 1
      -- Twice in a part: at its start, and for the velocity at its end.
      if calls == 11 then error("no more", 0) end
      return 0, -p.k * b.x, 0
    end)
    world:step(1)
    eq({ pcall(world.step, world) }, { false, "no more" })
    world:step(2)
    return ball.x
  end
  check(f, { x = 0.5, k = 0.7 })
end)

-- ---- Worlds -------------------------------------------------------------------------------------

test("clones and snapshots take the functions along", function()
  local function f(p)
    local world = sim.world { dt = 0.01 }
    local bead = world:circle { radius = 0.1, position = { p.x, p.c * (p.x ^ 2 - 0.25) }, name = "bead" }
    world:constraint { bodies = { bead }, phi = function(q) return q.y - p.c * (q.x ^ 2 - 0.25) end }
    world:spring { bead, anchor_b = { 0, 1 }, rest_length = 0.5, force = function(x) return p.k * x ^ 3 end }
    local tray = world:box { type = "kinematic", size = { 1, 0.1 }, position = { 0, -3 } }
    tray:motion(function(t) return p.c * t end)
    world:run { steps = 10 }
    local other, snapshot = world:clone { callbacks = true }, world:snapshot()
    other:run { steps = 10 }
    world:run { steps = 5 }
    world:restore(snapshot)
    world:run { steps = 3 }
    return bead.x + other.bodies.bead.y + tray.x
  end
  check(f, { x = 0.5, c = 0.8, k = 15 })
end)

test("coordinates that a motion does not set move on", function()
  local function f(p)
    local world = sim.world { dt = 0.01 }
    local tray = world:box { type = "kinematic", size = { 1, 0.1 }, velocity = { 0, p.v }, angular_velocity = p.v ^ 2 }
    tray:motion(function(t) return p.a * t end)
    world:run { steps = 10 }
    return tray.x + 2 * tray.y + tray.vy + tray.angle
  end
  check(f, { v = 0.5, a = 0.8 })
end)

test("a body of the same world may be read in a function", function()
  for _, substeps in ipairs { 1, 3 } do
    local function f(p)
      local world = sim.world { dt = 0.01, substeps = substeps }
      local lead = world:circle { radius = 0.1, position = { 0, 1 }, velocity = { p.v, 0 } }
      local ball = world:circle { radius = 0.1, position = { 1, 1 } }
      world:spring { ball, anchor_b = { 2, 1 }, rest_length = 0.5, force = function(x) return p.k * x * (1 + lead.x) end }
      world:run { steps = 20 }
      return ball.x
    end
    check(f, { v = 0.5, k = 10 })
  end
end)

local function one(make)
  return sim.grad, function(p)
    local world = sim.world { dt = 0.01 }
    local ball = world:circle { radius = 0.1, position = { p, 0 } }
    make(world, ball, p)
    world:step(2)
    return ball.x
  end, 0.5
end

test("errors in functions name the place and the remedy", function()
  raises("number expected, got tracked number, use sim.sin instead of math.sin", one(function(world, ball)
    world:constraint { bodies = { ball }, phi = function(q) return math.sin(q.x) end }
  end))
  raises("number expected, got tracked number, use sim.sin", one(function(world, ball)
    world:spring { ball, anchor_b = { 0, 1 }, force = function(x) return math.abs(x) end }
  end))
  raises("test_script_gradient.lua:%d+: phi must return numbers, got 'high'", one(function(world, ball)
    local calls = 0
    world:constraint { bodies = { ball }, phi = function(q)
      calls = calls + 1
      return calls > 3 and "high" or q.y
    end }
  end))
  raises("test_script_gradient.lua:%d+: oops", one(function(world, ball)
    world:lock { ball, x = function(t) return t > 0.015 and error("oops") or t end }
  end))
  raises("a spring's force must return the force in N and, optionally, its derivative in N/m: got 'stiff'", one(function(world, ball)
    world:spring { ball, anchor_b = { 0, 1 }, force = function(x) return x, "stiff" end }
  end))
  raises("its value is nan", one(function(world, ball)
    world:constraint { bodies = { ball }, phi = function(q) return sim.sqrt(q.y - 1) end }
  end))
end)

test("a backward function that raises in a step is reported", function()
  local half = sim.custom { forward = function(x) return x / 2 end, backward = function() error("lost", 0) end }
  raises("^lost$", one(function(world, ball)
    world:spring { ball, anchor_b = { 0, 1 }, force = function(x) return 9 * half(x) end }
  end))
end)

test("functions of the program's own kind may be used in functions", function()
  local cube = sim.custom { forward = function(x) return x ^ 3 end, backward = function(dy, _, x) return 3 * x ^ 2 * dy end }
  local p = { x = 0.7, vy = -0.2, d = 0.3, k = 20, rest = 0.5 }
  check(function(p) return swing(p, { force = function(x) return p.k * x + 60 * cube(x), p.k + 180 * x ^ 2 end }) end, p)
end)

test("functions keep no numbers of a gradient that has ended", function()
  local world, k
  sim.grad(function(p)
    world = sim.world { dt = 0.01 }
    local ball = world:circle { radius = 0.1, position = { 0.5, 0 } }
    world:spring { ball, anchor_b = { 0, 1 }, force = function(x) return (k or p) * x end }
    world:step(2)
    return ball.x
  end, 3)
  raises("used outside of the gradient call", world.step, world)
  k = 3
  world:step()
end)
