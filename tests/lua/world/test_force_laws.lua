-- Force laws as continuous forces: closed forms, order, energy, impacts; linear steps and plans with them.
local sim = require "sim2d"

math.randomseed(20)

local function between(lo, hi) return lo + (hi - lo) * math.random() end

local function pick(list) return list[math.random(#list)] end

local function disc(settings, def, law)
  local world = sim.world(settings)
  def.radius = def.radius or 0.1
  local body = world:circle(def)
  if law then body:force_law(law) end
  return body, world
end

-- Errors at dt and dt/2 give the order.
local function order(error_at, dt)
  return math.log(math.abs(error_at(dt)) / math.abs(error_at(dt / 2)), 2)
end

-- ---- Springs -----------------------------------------------------------------------------------

-- Velocity Verlet conserves m v^2/2 + k (1 - (h w)^2/4) x^2/2 of a spring, which is within (h w)^2/4 of its energy.
test("springs of any stiffness keep their energy below h w = 2", function()
  for n = 1, fewer(200, 30) do
    local dt, mass = pick { 1 / 30, 1 / 60, 1 / 120, 1 / 240 }, between(0.1, 5)
    local kx, ky = mass * (between(0.01, 1.9) / dt) ^ 2, mass * (between(0.01, 1.9) / dt) ^ 2
    local turn = between(0.01, 1.9) / dt
    local body = disc({ gravity = { 0, 0 }, dt = dt, stepping = pick { "auto", "event" } },
      { mass = mass, position = { between(-2, 2), between(-2, 2) }, velocity = { between(-3, 3), between(-3, 3) },
        angle = between(-1, 1) },
      function(b) return -b.inertia * turn ^ 2 * b.angle, -kx * b.x, -ky * b.y end)
    local function kept(k, m, x, v)
      return m * v ^ 2 / 2 + k * (1 - dt ^ 2 * k / m / 4) * x ^ 2 / 2
    end
    local function all()
      return { kept(kx, mass, body.x, body.vx), kept(ky, mass, body.y, body.vy),
        kept(body.inertia * turn ^ 2, body.inertia, body.angle, body.omega) }
    end
    local before = all()
    body.world:run { steps = 300, progress = false }
    local after = all()
    for i = 1, 3 do
      ok(math.abs(after[i] / before[i] - 1) < 1e-9, ("%d, %d: %.12g"):format(n, i, after[i] / before[i]))
    end
  end
end)

test("a spring keeps its energy in every stepping", function()
  for _, stepping in ipairs { "auto", "event", "speculative", "bisect" } do
    for _, substeps in ipairs { 1, 3 } do
      local body = disc({ gravity = { 0, 0 }, dt = 1 / 60, stepping = stepping, substeps = substeps },
        { mass = 1, position = { 1, 0 } }, function(b) return 0, -100 * b.x, 0 end)
      local most, least = 0, math.huge
      for _ = 1, 3000 do
        body.world:step()
        local energy = body.vx ^ 2 / 2 + 50 * body.x ^ 2
        most, least = math.max(most, energy), math.min(least, energy)
      end
      -- With symplectic Euler it oscillates by h w/2 about a mean.
      local sway = (stepping == "auto" or stepping == "event") and 0.01 or 0.1
      ok(most < 50 * (1 + sway) and least > 50 * (1 - sway), ("%s: %g to %g J"):format(stepping, least, most))
    end
  end
end)

test("bodies that a law couples keep momentum and energy", function()
  for n = 1, fewer(50, 10) do
    local dt = pick { 1 / 60, 1 / 120 }
    local world = sim.world { gravity = { 0, 0 }, dt = dt, stepping = pick { "auto", "speculative" } }
    local a = world:circle { radius = 0.1, mass = between(0.5, 3), position = { -1, 0 } }
    local b = world:circle { radius = 0.1, mass = between(0.5, 3), position = { 1, 0.3 }, velocity = { 0, 1 } }
    local k, c = between(10, 100), n % 2 * between(0, 3)
    local function pull(of, other)
      return function()
        local dx, dy = other.x - of.x, other.y - of.y
        local d = math.sqrt(dx * dx + dy * dy)
        local f = k * (d - 2) / d
        return 0, f * dx + c * (other.vx - of.vx), f * dy + c * (other.vy - of.vy)
      end
    end
    a:force_law(pull(a, b))
    b:force_law(pull(b, a))
    local px, py = a.mass * a.vx + b.mass * b.vx, a.mass * a.vy + b.mass * b.vy
    local function energy()
      return a:kinetic_energy() + b:kinetic_energy()
        + k / 2 * (math.sqrt((a.x - b.x) ^ 2 + (a.y - b.y) ^ 2) - 2) ^ 2
    end
    local before, most = energy(), 0
    for _ = 1, 2000 do
      world:step()
      most = math.max(most, energy())
    end
    ok(math.abs(a.mass * a.vx + b.mass * b.vx - px) < 1e-11 and math.abs(a.mass * a.vy + b.mass * b.vy - py) < 1e-11)
    ok(most < 1.1 * before, ("%d: %g of %g J"):format(n, most, before))
  end
end)

-- ---- Closed forms ------------------------------------------------------------------------------

-- x after t of x'' = -w^2 x - 2 z w x' from (x, v).
local function damped(w, z, x, v, t)
  if z == 1 then return math.exp(-w * t) * (x + (v + w * x) * t) end
  local s = w * math.sqrt(math.abs(1 - z * z))
  local c, d
  if z < 1 then
    c, d = math.cos(s * t), math.sin(s * t) / s
  else
    c, d = (math.exp(s * t) + math.exp(-s * t)) / 2, (math.exp(s * t) - math.exp(-s * t)) / 2 / s
  end
  return math.exp(-z * w * t) * (x * c + (v + z * w * x) * d)
end

local closed_forms = {
  ["a spring with a damper, below critical"] = function()
    local w, z, x, v = between(2, 8), between(0.05, 0.8), between(0.5, 1), between(-2, 2)
    return { x, v }, function(b) return 0, -w * w * b.x - 2 * z * w * b.vx, 0 end,
      function(t) return damped(w, z, x, v, t), 0 end
  end,
  ["a spring with a damper, critical"] = function()
    local w, x, v = between(2, 8), between(0.5, 1), between(-2, 2)
    return { x, v }, function(b) return 0, -w * w * b.x - 2 * w * b.vx, 0 end,
      function(t) return damped(w, 1, x, v, t), 0 end
  end,
  ["a spring with a damper, above critical"] = function()
    local w, z, x, v = between(2, 6), between(1.3, 4), between(0.5, 1), between(-2, 2)
    return { x, v }, function(b) return 0, -w * w * b.x - 2 * z * w * b.vx, 0 end,
      function(t) return damped(w, z, x, v, t), 0 end
  end,
  ["drag by the speed"] = function()
    local c, v = between(0.5, 8), between(1, 5)
    return { 0, v }, function(b) return 0, -c * b.vx, 0 end,
      function(t) return v / c * (1 - math.exp(-c * t)), 0 end
  end,
  ["drag by the square of the speed"] = function()
    local c, v = between(0.2, 3), between(1, 5)
    return { 0, v }, function(b) return 0, -c * math.abs(b.vx) * b.vx, 0 end,
      function(t) return math.log(1 + c * v * t) / c, 0 end
  end,
  ["a magnetic force"] = function()
    local w, v = between(1, 10), between(1, 3)
    return { 0, v }, function(b) return 0, w * b.vy, -w * b.vx end,
      function(t) return v / w * math.sin(w * t), v / w * (math.cos(w * t) - 1) end
  end,
  ["a force by the time"] = function()
    local w, f = between(1, 10), between(1, 3)
    return { 0, 0 }, function(_, t) return 0, f * math.cos(w * t), 0 end,
      function(t) return f / w / w * (1 - math.cos(w * t)), 0 end
  end,
  ["a spring on a moving end"] = function()
    local w, u = between(3, 8), between(0.3, 0.8)
    u = u * w
    return { 0, 0 }, function(b, t) return 0, w * w * (math.sin(u * t) - b.x), 0 end,
      function(t) return w * w / (w * w - u * u) * (math.sin(u * t) - u / w * math.sin(w * t)), 0 end
  end,
}

for name, make in pairs(closed_forms) do
  test(name .. " is of order 2", function()
    for n = 1, 10 do
      local start, law, at = make()
      local mass, duration = between(0.3, 3), between(0.7, 1)
      -- A whole number of steps at every length.
      duration = math.floor(duration * 60) / 60
      local function miss(dt)
        local body = disc({ gravity = { 0, 0 }, dt = dt }, { mass = mass, position = { start[1], 0 },
          velocity = { start[2], 0 } }, function(b, t)
            local torque, fx, fy = law(b, t)
            return torque, mass * fx, mass * fy
          end)
        body.world:run { steps = math.floor(duration / dt + 0.5), progress = false }
        local x, y = at(duration)
        return math.sqrt((body.x - x) ^ 2 + (body.y - y) ^ 2)
      end
      -- Two step lengths whose errors happen to have opposite signs do not show the order: three do.
      local coarse, fine, finest = miss(1 / 120), miss(1 / 240), miss(1 / 960)
      ok(fine < 5e-3, ("%d: %g"):format(n, fine))
      ok(finest < math.max(coarse, fine) / 12, ("%d: %g, %g, %g"):format(n, coarse, fine, finest))
    end
  end)
end

test("a magnetic force keeps the speed", function()
  for _, stepping in ipairs { "auto", "speculative", "bisect" } do
    for _ = 1, 20 do
      local w, v = between(1, 200), between(0.5, 5)
      local body = disc({ gravity = { 0, 0 }, dt = 1 / 60, stepping = stepping }, { mass = 1, velocity = { v, 0 } },
        function(b) return 0, w * b.vy, -w * b.vx end)
      body.world:run { steps = 600, progress = false }
      local speed = math.sqrt(body.vx ^ 2 + body.vy ^ 2)
      ok(math.abs(speed / v - 1) < 1e-10, ("%g"):format(speed / v))
    end
  end
end)

test("a damper of any strength brings a body to rest", function()
  for _, c in ipairs { 1, 50, 200, 1e4, 1e7 } do
    local body = disc({ gravity = { 0, 0 }, dt = 1 / 60 }, { mass = 1, velocity = { 1, 0 }, angular_velocity = 2 },
      function(b) return -c * b.inertia * b.omega, -c * b.vx, 0 end)
    local fastest = 0
    for _ = 1, 50 do
      body.world:step()
      fastest = math.max(fastest, math.abs(body.vx), math.abs(body.omega) / 2)
    end
    ok(fastest < 1, ("%g: %g m/s"):format(c, fastest))
  end
end)

test("a law that jumps is held over the step", function()
  local body = disc({ gravity = { 0, 0 }, dt = 1 / 60 }, { mass = 1, velocity = { 1, 0 } },
    function(b) return 0, b.vx > 0 and -3 or 3, 0 end)
  body.world:run { duration = 1, progress = false }
  ok(math.abs(body.vx) <= 3 / 60 + 1e-12)
end)

-- ---- Where bodies meet -------------------------------------------------------------------------

-- A ball between two walls on a spring about the middle: the time of flight from wall to wall is known, and so is its
-- position at any time.
test("impacts in the middle of steps do not change the order", function()
  for n = 1, 20 do
    local w, half, speed = between(2, 8), between(0.5, 1), between(3, 8)
    local reach = speed / w -- beyond the walls
    half = math.min(half, 0.8 * reach)
    local flight = 2 * math.asin(half / reach) / w
    local duration = 1
    local function miss(dt)
      local world = sim.world { gravity = { 0, 0 }, dt = dt }
      for side = -1, 1, 2 do
        world:box { type = "static", position = { side * (half + 0.6), 0 }, size = { 1, 4 }, restitution = 1 }
      end
      local ball = world:circle { radius = 0.1, mass = 1, velocity = { speed, 0 }, restitution = 1 }
      ball:force_law(function(b) return 0, -w * w * b.x, 0 end)
      world:run { duration = duration, progress = false }
      -- Counted from a wall, every flight is the same.
      local since = duration + flight / 2
      local flights = math.floor(since / flight)
      local x = reach * math.sin(w * (since - flights * flight - flight / 2))
      return math.abs(ball.x - (flights % 2 == 0 and x or -x))
    end
    local coarse, fine, finest = miss(1 / 120), miss(1 / 240), miss(1 / 960)
    ok(finest < math.max(coarse, fine) / 10, ("%d: %g, %g, %g"):format(n, coarse, fine, finest))
  end
end)

-- A struck body moves further than the search for contacts expected, so the step is repeated. With a large
-- margin the first search finds all contacts.
test("a repeated step begins with the law at its start", function()
  for n = 1, 40 do
    local k, c, speed, far = between(10, 400), between(0, 0.5), between(30, 80), between(0.5, 1.2)
    local heavy, light = between(0.5, 2), between(0.1, 0.3)
    local function run(margin)
      local world = sim.world { gravity = { 0, 0 }, dt = 1 / 60, stepping = n % 2 == 0 and "event" or "auto", contact_margin = margin }
      local balls = {}
      for i, at in ipairs { { -0.5, heavy, speed }, { 0, light, 0 }, { far, light, 0 } } do
        balls[i] = world:circle { radius = 0.1, restitution = 1, position = { at[1], 0 }, mass = at[2], velocity = { at[3], 0 } }
      end
      balls[2]:force_law(function(b) return 0, -k * b.x - c * b.vx, 0 end)
      world:step()
      return world:state()
    end
    local wide, narrow = run(3), run(0.01)
    for i = 1, #wide do near(narrow[i], wide[i], 1e-9 * (1 + math.abs(wide[i]))) end
  end
end)

test("the derivative of a repeated step by a law", function()
  for n = 1, 10 do
    local speed, far = between(50, 80), between(0.6, 1.1)
    local function loss(k)
      local world, balls = sim.world { gravity = { 0, 0 }, dt = 1 / 60 }, {}
      for i, at in ipairs { { -0.5, 1, speed }, { 0, 0.2, 0 }, { far, 0.2, 0 } } do
        balls[i] = world:circle { radius = 0.1, restitution = 1, position = { at[1], 0 }, mass = at[2], velocity = { at[3], 0 } }
      end
      balls[2]:force_law(function(b) return 0, -k * b.x, 0 end)
      world:step(3)
      return balls[3].x ^ 2 + balls[2].x + 2 * balls[2].vx
    end
    local k, h = between(100, 300), 1e-3
    local _, g = sim.value_and_grad(function(p) return loss(p.k) end, { k = k })
    local difference = (loss(k + h) - loss(k - h)) / (2 * h)
    near(g.k, difference, 1e-6 * (1 + math.abs(difference)))
  end
end)

test("a body that slides on the ground by a spring keeps its energy", function()
  for n = 1, 20 do
    local dt, w = pick { 1 / 60, 1 / 120 }, between(3, 12)
    local world = sim.world { dt = dt }
    world:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 }, friction = 0 }
    local box = world:box { size = { 0.4, 0.2 }, position = { 0, 0.1 }, mass = 2, friction = 0, velocity = { 2, 0 } }
    box:force_law(function(b) return 0, -2 * w * w * b.x, 0 end)
    local most, least = 0, math.huge
    for _ = 1, 1500 do
      world:step()
      local energy = box.vx ^ 2 + w * w * box.x ^ 2
      most, least = math.max(most, energy), math.min(least, energy)
    end
    local sway = (w * dt) ^ 2
    ok(most < 4 * (1 + sway) and least > 4 * (1 - sway), ("%d: %g to %g of 4 J"):format(n, least, most))
    ok(math.abs(box.y - 0.1) < 1e-6)
  end
end)

test("a spring that presses on the ground does not throw", function()
  local world = sim.world { dt = 1 / 120 }
  world:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 } }
  local box = world:box { size = { 0.4, 0.4 }, position = { 0, 0.2 }, mass = 1 }
  box:force_law(function(b, t) return 0, 0, -50 * (1 + math.sin(20 * t)) end)
  for _ = 1, 300 do
    world:step()
    ok(math.abs(box.y - 0.2) < 1e-7 and math.abs(box.vy) < 1e-9, ("%g %g"):format(box.y, box.vy))
  end
end)

-- ---- On joints ---------------------------------------------------------------------------------

test("springs on bodies that hang on joints gain nothing", function()
  for n = 1, 20 do
    local k, links = between(20, 100), math.random(3)
    local world = sim.world { gravity = { 0, 0 }, dt = pick { 1 / 60, 1 / 120 } }
    local below, last = nil, nil
    for i = 1, links do
      last = world:box { size = { 0.5, 0.1 }, mass = 1, position = { 0.5 * i - 0.25, 0 } }
      world:hinge { a = last, b = below, anchor = { 0.5 * (i - 1), 0 } }
      last:force_law(function(b) return 0, 0, -k * b.y end)
      below = last
    end
    last:apply_impulse { 0, 1 }
    local function energy()
      local sum = 0
      for _, b in ipairs(world.bodies) do sum = sum + b:kinetic_energy() + k / 2 * b.y ^ 2 end
      return sum
    end
    local before, most = energy(), 0
    for _ = 1, 3000 do
      world:step()
      most = math.max(most, energy())
    end
    -- Symplectic Euler oscillates by h w/2.
    ok(most < 1.25 * before, ("%d: %g of %g J"):format(n, most, before))
  end
end)

-- ---- Calls -------------------------------------------------------------------------------------

test("laws see the time for which they are called", function()
  local seen = {}
  local body = disc({ gravity = { 0, 0 }, dt = 0.5 }, { mass = 1, velocity = { 1, 0 } }, function(b, t, dt)
    seen[#seen + 1] = { t, dt, b.x, b.vx, b.world.time }
    return 0, 2, 0
  end)
  body.world:step()
  -- At the start, and at the end with the force of the start.
  eq(seen, { { 0, 0.5, 0, 1, 0 }, { 0.5, 0.5, 0.75, 2, 0 } })
  eq({ body.x, body.vx }, { 0.75, 2 })
end)

test("threads, snapshots and records change no bit", function()
  local function run(threads, restore)
    local world = sim.world { dt = 1 / 120, threads = threads }
    world:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 } }
    local balls = {}
    for i = 1, 30 do
      balls[i] = world:circle { radius = 0.2, mass = 1, position = { i % 6 - 3, 0.3 + 0.5 * (i // 6) }, restitution = 0.5 }
      balls[i]:force_law(function(b, t) return -0.01 * b.omega, -3 * b.x - 0.2 * b.vx, math.sin(t) - 0.1 * b.vy * b.vx end)
    end
    for _ = 1, 120 do
      if restore then world:restore(world:snapshot()) end
      world:step()
    end
    return world:state()
  end
  local state = run(1)
  eq(run(3), state)
  eq(run(1, true), state)
end)

-- ---- Linear steps and plans --------------------------------------------------------------------

local function scene(stepping)
  local world = sim.world { dt = 1 / 60, stepping = stepping, gravity = { 0, -2 } }
  local k, c, w = between(1, 60), between(0, 3), between(-3, 3)
  local a = world:circle { radius = 0.1, mass = between(0.5, 2), position = { -1, 0 }, velocity = { between(-1, 1), 1 } }
  local b = world:box { size = { 0.2, 0.3 }, mass = between(0.5, 2), position = { 1, 0.2 }, velocity = { 0, between(-1, 1) } }
  a:force_law(function(_, t)
    return -c * 0.01 * a.omega, k * (b.x - a.x - 1.5) + w * a.vy, k * (b.y - a.y) - c * a.vy ^ 3 + math.sin(t)
  end)
  b:force_law(function() return 0.1 * a.x, -k * (b.x - a.x - 1.5) - c * (b.vx - a.vx), -k * (b.y - a.y) end)
  return world, a, b
end

test("products of linear steps agree with differences", function()
  for n = 1, 10 do
    local world, a = scene(pick { "auto", "speculative", "bisect" })
    local inputs = { { body = a, force = { 1, 0.5 } } }
    local steps, product, by = 12, nil, nil
    local start, begun = world, world:snapshot()
    for _ = 1, steps do
      local A, B = world:linearize { inputs = inputs }
      product = product and A:mm(product) or A
      by = by and A:mm(by) + B or B
      world:step()
    end
    local function run(state, push)
      start:restore(begun)
      start:set_state(state)
      for _ = 1, steps do
        if push ~= 0 then a:apply_force { push, 0.5 * push } end
        start:step()
      end
      return sim.array(start:state())
    end
    start:restore(begun)
    local state, h = start:state(), 1e-5
    for i = 1, #state do
      local up, down = {}, {}
      for j = 1, #state do
        up[j] = state[j] + (i == j and h or 0)
        down[j] = state[j] - (i == j and h or 0)
      end
      local column = (run(up, 0) - run(down, 0)) / (2 * h)
      for j = 1, #state do
        ok(math.abs(column[j] - product[j][i]) < 1e-6 * (1 + math.abs(column[j])),
          ("%d: %d by %d: %.9g, %.9g"):format(n, j, i, product[j][i], column[j]))
      end
    end
    local column = (run(state, h) - run(state, -h)) / (2 * h)
    for j = 1, #state do
      ok(math.abs(column[j] - by[j][1]) < 1e-6 * (1 + math.abs(column[j])),
        ("%d: %d by the input: %.9g, %.9g"):format(n, j, by[j][1], column[j]))
    end
  end
end)

test("a plan reaches its goal in a world with a force law", function()
  local world = sim.world { gravity = { 0, 0 }, dt = 1 / 60 }
  local ball = world:circle { radius = 0.1, mass = 1 }
  ball:force_law(function(b) return 0, -9 * b.x - 2 * b.vy, 2 * b.vx - b.vy end)
  for axis, direction in ipairs { { 1, 0 }, { 0, 1 } } do
    world:actuator { "u" .. axis, body = ball, kind = "force", direction = direction }
  end
  local plan = sim.control.trajectory(world, { horizon = 1.5, period = 0.05, cost = { controls = 1 }, goal = {
    { of = ball, field = "x", value = 1 }, { of = ball, field = "y", value = 0.5 },
    { of = ball, field = "vx", value = 0 } } })
  eq(plan.status, "converged")
  world:control(plan:law(), { period = 0.05 })
  world:run { duration = 1.5, progress = false }
  ok(math.abs(ball.x - 1) < 1e-5 and math.abs(ball.y - 0.5) < 1e-5 and math.abs(ball.vx) < 1e-5, ("%g %g"):format(ball.x, ball.y))
end)

test("a regulator balances against a repelling force law", function()
  local world = sim.world { gravity = { 0, 0 }, dt = 1 / 120 }
  local ball = world:circle { radius = 0.1, mass = 1 }
  ball:force_law(function(b) return -b.inertia * (b.angle + b.omega), 20 * b.x, -b.y - b.vy end)
  world:actuator { "u", body = ball, kind = "force", direction = { 1, 0 } }
  local law = sim.control.lqr(world, { Q = 1, R = 0.1 })
  world:control(law)
  ball.position = { 0.1, 0 }
  world:run { duration = 5, progress = false }
  ok(math.abs(ball.x) < 1e-3, ("%g"):format(ball.x))
end)

test("a complementarity system includes the force law", function()
  for n = 1, 10 do
    local world = sim.world { dt = 1 / 100, stepping = "speculative" }
    world:box { type = "static", position = { 0, -0.5 }, size = { 10, 1 }, friction = 0.4 }
    local box = world:box { size = { 0.4, 0.4 }, position = { 0.3, 0.2 }, mass = 1, friction = 0.4, velocity = { 1, 0 } }
    local far = world:circle { radius = 0.1, mass = 1, position = { 3, 2 } }
    local k = between(1, 30)
    box:force_law(function(b) return 0, -k * b.x + k * (far.x - b.x - 2), -k * b.y * b.y end)
    far:force_law(function(b) return 0, -k * (b.x - box.x - 2), k * (2 - b.y) end)
    for _ = 1, 20 do
      local lcs = world:lcs()
      local x = lcs:step(lcs.x0, lcs.u0)
      world:step()
      local now = lcs:read(world)
      for i = 1, #now do
        ok(math.abs(x[i] - now[i]) < 1e-9, ("%d: %d: %.12g, %.12g"):format(n, i, x[i], now[i]))
      end
    end
  end
end)

-- A law or actuator there would silently have no effect.
test("bodies that no force moves take neither force laws nor actuators", function()
  for _, type in ipairs { "static", "kinematic" } do
    local world = sim.world {}
    local wall = world:box { name = "wall", type = type, size = { 1, 1 } }
    raises("force_law: Body 'wall' is " .. type.. ", so force laws cannot move it: set its type to \"dynamic\" first",
      wall.force_law, wall, function() return 0, 1, 0 end)
    for _, kind in ipairs { "force", "torque" } do
      raises("actuator 'a': body 'wall' is " .. type .. " and cannot be pushed: make it dynamic first", world.actuator, world,
        { "a", body = wall, kind = kind, direction = kind == "force" and { 1, 0 } or nil })
    end
    wall.type = "dynamic"
    wall:force_law(function() return 0, wall.mass, 0 end)
    -- a law is kept while the body is static
    wall.type = type
    world:step(5)
    eq(wall.vx, 0)
    wall.type = "dynamic"
    world:step()
    near(wall.vx, world.dt, 1e-15)
  end
end)

-- A kinematic body with a bound yields to applied forces and to actuators, alone or through a joint.
test("actuators push bodies with bounded drives", function()
  local function press(by, force)
    local world = sim.world { gravity = { 0, 0 } }
    local body = world:box { type = "kinematic", size = { 1, 1 }, mass = 2, max_force = 5, max_torque = 1 }
    if by == "hand" then
      body:apply_force { force, 0 }
    elseif by == "joint" then
      local other = world:box { size = { 1, 1 }, mass = 1, mask = 0 }
      world:actuator { "a", joint = world:slider { other, body, anchor = { 0, 0 }, axis = { -1, 0 } }, kind = "force" }
      world:act { force }
    else
      world:actuator { "a", body = body, kind = "force", direction = { 1, 0 }, frame = by }
      world:act { force }
    end
    world:step()
    return body.vx
  end
  for _, by in ipairs { "hand", "joint", "body", false } do
    local want = (25 - 5) / 2 / 120
    near(press(by or nil, 25), want, 1e-12)
    local value, slope = sim.value_and_grad(function(force) return press(by or nil, force) end, 25)
    near({ value, slope }, { want, 1 / 2 / 120 }, 1e-12)
  end
end)
