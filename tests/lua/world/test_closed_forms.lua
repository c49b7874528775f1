-- Gradients of scenes that have their derivatives in closed form.
local sim = require "sim2d"

local function close(got, want, tolerance, what)
  ok(math.abs(got - want) <= tolerance * math.max(1, math.abs(want)),
    ("%s: %.14g, expected %.14g"):format(what, got, want))
end

-- Value and gradient, after checking that a second call gives the same bits and that the value is the same with plain
-- numbers.
local function gradient(f, p)
  local value, g = sim.value_and_grad(f, p)
  local again, h = sim.value_and_grad(f, p)
  eq(value, f(p), "the value with plain numbers")
  eq(again, value, "the value of a second call")
  eq(h, g, "the gradient of a second call")
  return value, g
end

local function difference(f, p, name)
  local at, h = p[name], 1e-6 * math.max(1, math.abs(p[name]))
  local function d(by)
    p[name] = at + by
    local up = f(p)
    p[name] = at - by
    local down = f(p)
    p[name] = at
    return (up - down) / (2 * by)
  end
  local near = d(h / 2)
  return near + (near - d(h)) / 3
end

-- ---- Sliding ----------------------------------------------------------------------------------

-- A box stops after v^2 / (2 mu g). The discrete times and impulses of the steps make it exact to O(dt).
test("a box that slides to rest tends to v^2 / (2 mu g)", function()
  local gravity, p = 9.81, { v = 3, mu = 0.4, m = 1.7 }
  local function stop(dt)
    return function(q)
      local w = sim.world { gravity = { 0, -gravity }, dt = dt, stepping = "speculative" }
      w:segment { from = { -5, 0 }, to = { 50, 0 }, friction = q.mu }
      local box = w:box { size = { 1, 0.2 }, position = { 0, 0.1 }, velocity = { q.v, 0 },
        friction = q.mu, mass = q.m }
      w:run { duration = 1, progress = false }
      return box.x
    end
  end
  for _, dt in ipairs { 0.01, 0.0025 } do
    local x, g = gradient(stop(dt), p)
    close(x, p.v ^ 2 / (2 * p.mu * gravity), 3 * dt, "x")
    close(g.v, p.v / (p.mu * gravity), 3 * dt, "by speed")
    close(g.mu, -p.v ^ 2 / (2 * p.mu ^ 2 * gravity), 6 * dt, "by friction")
    close(g.m, 0, 1e-9, "by mass")
    local n = math.floor(p.v / (p.mu * gravity * dt)) -- number of whole steps in which it slides
    close(g.v, n * dt, 1e-9, "by speed, of these steps")
    close(g.mu, -gravity * dt ^ 2 * n * (n + 1) / 2, 1e-9, "by friction, of these steps")
  end
end)

-- The scene for which lcp-physics (px, s, y down) gives (2.9616, +35.640): differences of its own steps and its adjoint
-- with the factor transposed give (2.435331, -10.555556). Its contact is 0.05 px below the disc, which the radius
-- includes here; the inertia is that of a radius of 30.
test("a disc that slides until it rolls", function()
  local function run(radius, inertia, steps)
    return function(p)
      local w = sim.world { gravity = { 0, 100 }, dt = 1 / 30, combine_friction = "average",
        stepping = "speculative" }
      w:box { type = "static", position = { 500, 505 }, size = { 900, 10 }, friction = 0.9,
        restitution = 0.5 }
      local disc = w:circle { radius = radius, position = { 200, 500 - radius }, velocity = { p.v, 0 },
        friction = p.mu, restitution = 0.5, mass = 1, inertia = inertia }
      w:run { steps = steps, progress = false }
      return disc.x
    end
  end
  local p = { v = 100, mu = 0.1 }
  local f = run(30.05, 450, 100)
  local _, g = gradient(f, p)
  close(g.v, 2.435331, 5e-7, "by speed")
  close(g.mu, -10.555556, 5e-8, "by friction")
  ok(sim.check_grad(f, p, { print = false }) < 1e-9)
  -- In continuous time x = v^2 / (18 mu g) + 2/3 v T; mu is (0.1 + 0.9) / 2.
  local time, mu = 100 / 30, 0.5
  close(g.v, 100 / (9 * mu * 100) + 2 / 3 * time, 6e-3, "by speed, continuous")
  close(g.mu, -0.5 * 100 ^ 2 / (18 * mu ^ 2 * 100), 6e-2, "by friction, continuous")
end)

-- ---- Pendulum ---------------------------------------------------------------------------------

-- T = 2 pi sqrt(l / g) / agm(1, cos(a / 2)), whose derivatives by the amplitude are those of an
-- elliptic integral; l is the reduced length (I + m r^2) / (m r). The zero crossing is interpolated.
test("the period of a pendulum, by length, gravity, amplitude and inertia", function()
  local function exact(p)
    local a, b = 1, sim.cos(p.a / 2)
    for _ = 1, 6 do
      a, b = (a + b) / 2, sim.sqrt(a * b)
    end
    return 2 * math.pi * sim.sqrt((p.r + p.i / p.r) / p.g) / a -- mass 1
  end
  local function period(dt)
    return function(p)
      local w = sim.world { gravity = { 0, -p.g }, dt = dt }
      local bob = w:circle { radius = 0.1, mass = 1, inertia = p.i,
        position = { p.r * sim.sin(p.a), -p.r * sim.cos(p.a) } }
      w:hinge { bob, nil, anchor = { 0, 0 } }
      local steps, before, after = -1, nil, bob.x
      while after > 0 do
        w:step()
        before, after, steps = after, bob.x, steps + 1
      end
      return 4 * dt * (steps + before / (before - after))
    end
  end
  local p = { g = 9.81, r = 0.7, a = 1.2, i = 0.05 }
  local value, g = sim.value_and_grad(exact, p)
  local worst
  for _, dt in ipairs { 0.008, 0.002, 0.0005 } do
    local v, h = gradient(period(dt), p)
    local error = math.abs(v - value)
    for name, want in pairs(g) do
      close(h[name], difference(period(dt), p, name), 1e-6, name .. " by differences")
      error = larger(error, math.abs(h[name] - want))
    end
    ok(error < 10 * dt ^ 2, ("dt %g: off by %.3g"):format(dt, error))
    ok(not worst or error < worst / 2, ("dt %g: %.3g after %.3g"):format(dt, error, worst or 0))
    worst = error
  end
  ok(worst < 1e-5, ("off by %.3g"):format(worst))
end)

-- ---- Collisions -------------------------------------------------------------------------------

test("two balls: the whole matrix of a central collision", function()
  local va, vb, ma, mb, e = 2.2, -0.7, 1.5, 0.5, 0.6
  local function meet(stepping)
    return function(p)
      local w = sim.world { gravity = { 0, 0 }, dt = 0.01, stepping = stepping }
      local a = w:circle { radius = 0.2, mass = p[3], velocity = { p[1], 0 }, restitution = p[5] }
      local b = w:circle { radius = 0.2, mass = p[4], velocity = { p[2], 0 }, position = { 0.73, 0 },
        restitution = p[5] }
      w:run { steps = 40, progress = false }
      return { a.vx, b.vx }
    end
  end
  local function exact(p)
    local closing = (1 + p[5]) * (p[1] - p[2]) / (p[3] + p[4])
    return { p[1] - p[4] * closing, p[2] + p[3] * closing }
  end
  local p = { va, vb, ma, mb, e }
  local want, after = sim.jacobian(exact, p)
  for _, stepping in ipairs { "speculative", "bisect", "event" } do
    local J, got = sim.jacobian(meet(stepping), p)
    near(got, after, 1e-12)
    near(J, want, 1e-9)
  end
end)

-- ---- Impacts as steps get shorter -------------------------------------------------------------

local gravity = 9.81

local function bounce(stepping, steps)
  return function(p)
    local w = sim.world { gravity = { 0, -gravity }, dt = 1.5 / steps, stepping = stepping }
    w:segment { from = { -5, 0 }, to = { 5, 0 }, friction = 0, restitution = p.e }
    local ball = w:circle { radius = 0.25, position = { 0, p.y0 }, restitution = p.e, friction = 0 }
    w:run { steps = steps, progress = false }
    return ball.y
  end
end

-- `gap`: height above the ground at which the ball reverses, with the speed that it has there on its way up
local function bounce_exact(p, gap)
  local function skipped(v) return (v - sim.sqrt(v ^ 2 - 2 * gravity * (gap or 0))) / gravity end
  local fall = sim.sqrt(2 * (p.y0 - 0.25) / gravity)
  local speed = gravity * fall * p.e
  local left = 1.5 - fall + skipped(speed / p.e) + skipped(speed)
  while left > 2 * speed / gravity do
    left, speed = left - 2 * speed / gravity + skipped(speed) + skipped(speed * p.e), speed * p.e
  end
  return 0.25 + speed * left - gravity * left ^ 2 / 2
end

local function land(stepping, steps)
  return function(p)
    local w = sim.world { gravity = { 0, -gravity }, dt = 0.7 / steps, stepping = stepping }
    w:segment { from = { -5, 0 }, to = { 20, 0 }, friction = p.mu }
    local box = w:box { size = { 0.4, 0.2 }, position = { 0, p.y0 }, velocity = { p.v, 0 },
      friction = p.mu }
    w:run { steps = steps, progress = false }
    return box.x
  end
end

local function land_exact(p)
  local fall = sim.sqrt(2 * (p.y0 - 0.1) / gravity)
  local after, left = p.v - p.mu * gravity * fall, 0.7 - fall
  return p.v * fall + after * left - p.mu * gravity * left ^ 2 / 2
end

test("event stepping has the right derivatives through impacts, at every step size", function()
  for _, case in ipairs { { bounce, bounce_exact, { y0 = 1.25, e = 0.8 } },
    { land, land_exact, { y0 = 0.6, mu = 0.3, v = 3 } } } do
    local rollout, exact, p = table.unpack(case)
    local value, g = sim.value_and_grad(exact, p)
    for _, steps in ipairs { 45, 90, 360 } do
      local v, h = gradient(rollout("event", steps), p)
      close(v, value, 1e-12, "value")
      for name, want in pairs(g) do
        close(h[name], want, 1e-9, name)
      end
    end
  end
end)

-- The documented bias: the gradient through fixed steps is the derivative of their result, and that does not tend to
-- the derivative of the motion.
test("fixed steps have the derivative of their result, which is biased", function()
  local p = { y0 = 1.25, e = 0.8 }
  local value, g = sim.value_and_grad(bounce_exact, p)
  for _, stepping in ipairs { "speculative", "bisect" } do
    local f = bounce(stepping, 1440)
    local v, h = gradient(f, p)
    -- bisect reverses the ball where the gap is contact_margin (0.01 m): it omits the time from there and back, -4.8e-3
    -- m. Implicit Euler has an error of -6.2e-3 m in both steppings, in proportion to dt.
    local turned = stepping == "bisect" and bounce_exact(p, 0.01) or value
    close(v, turned, 1e-2, stepping)
    close(bounce(stepping, 14400)(p), turned, 1e-3, stepping .. ", short steps")
    for name, want in pairs(g) do
      close(h[name], difference(f, p, name), 1e-7, name .. " by differences")
      ok(math.abs(h[name] - want) > 0.15, ("%s, %s: %.6g, motion %.6g"):format(stepping, name, h[name], want))
    end
  end
  -- Where a flat box lands for good, the look-ahead makes the gap close at the right time on average.
  p = { y0 = 0.6, mu = 0.3, v = 3 }
  value, g = sim.value_and_grad(land_exact, p)
  local before
  for _, steps in ipairs { 90, 360, 1440 } do
    local v, h = gradient(land("speculative", steps), p)
    close(v, value, 1 / steps, "value")
    close(h.y0, g.y0, 1e-9, "by height")
    close(h.v, g.v, 1e-9, "by speed")
    local error = math.abs(h.mu - g.mu)
    ok(not before or error < before / 3.5, ("by friction: %.3g after %.3g"):format(error, before or 0))
    before = error
  end
end)

-- ---- Redundant contacts -----------------------------------------------------------------------

-- A box on `supports` blocks: 2 points each, of which 2 would do.
local function pushed(supports)
  return function(p)
    local w = sim.world { gravity = { 0, -10 }, dt = 0.01 }
    for i = 1, supports do
      local x = supports == 1 and 0 or -0.9 + 1.8 * (i - 1) / (supports - 1)
      w:box { type = "static", position = { x, -0.5 }, size = { supports == 1 and 10 or 0.3, 1 },
        friction = p.mu }
    end
    local box = w:box { size = { 2, 0.2 }, position = { 0, 0.1 }, mass = p.m, friction = p.mu }
    w:before_step(function() box:apply_force { p.push, 0 } end)
    w:run { steps = 10, progress = false }
    return box
  end
end

test("a box on two to eight points: motions have their derivatives", function()
  local p = { mu = 0.3, m = 2, push = 9 }
  for supports = 1, 4 do
    local scene = pushed(supports)
    local v, g = gradient(function(q) return scene(q).vx end, p)
    close(v, 0.1 * (9 / 2 - 3), 1e-9, "speed")
    close(g.push, 0.1 / 2, 1e-9, "by push")
    close(g.m, -0.1 * 9 / 4, 1e-9, "by mass")
    close(g.mu, -0.1 * 10, 1e-9, "by friction")
    for _, key in ipairs { "vy", "omega" } do
      local still = select(2, gradient(function(q) return scene(q)[key] end, p))
      for name, derivative in pairs(still) do
        close(derivative, 0, 1e-9, key .. " by " .. name)
      end
    end
  end
end)

test("a sticking body does not move for a little more push", function()
  for supports = 1, 4 do
    local scene = pushed(supports)
    local v, g = gradient(function(q) local b = scene(q) return b.vx + b.x + b.vy + b.omega end,
      { mu = 0.3, m = 2, push = 4 })
    close(v, 0, 1e-9, "speed")
    close(g.push, 0, 1e-9, "by push")
    close(g.m, 0, 1e-9, "by mass")
    close(g.mu, 0, 1e-9, "by friction")
  end
end)

test("a stack and walls: pushed as one, wedged, and released", function()
  -- Three boxes on each other on a moving floor without friction: they move as one body of 3 m.
  local function stack(p)
    local w = sim.world { gravity = { 0, -10 }, dt = 0.01 }
    w:segment { from = { -10, 0 }, to = { 10, 0 }, friction = 0 }
    local boxes = {}
    for i = 1, 3 do
      boxes[i] = w:box { size = { 1, 0.5 }, position = { 0, 0.5 * i - 0.25 }, mass = p.m,
        friction = i == 1 and 0.7 or 0.9 }
    end
    w:before_step(function() boxes[1]:apply_force { p.push, 0 } end)
    w:run { steps = 5, progress = false }
    return boxes[3].vx
  end
  local v, g = gradient(stack, { m = 2, push = 3 })
  close(v, 0.05 * 3 / 6, 1e-9, "speed")
  close(g.push, 0.05 / 6, 1e-9, "by push")
  close(g.m, -0.05 * 3 / 12, 1e-9, "by mass")
  -- Three boxes side by side between walls that they touch: eight redundant points, nothing moves.
  local function wedged(p)
    local w = sim.world { gravity = { 0, -10 }, dt = 0.01 }
    w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 } }
    w:box { type = "static", position = { -2, 1 }, size = { 1, 2 } }
    if p.closed then
      w:box { type = "static", position = { 2, 1 }, size = { 1, 2 } }
    end
    local boxes = {}
    for i = 1, 3 do
      boxes[i] = w:box { size = { 1, 1 }, position = { i - 2, 0.5 }, mass = p.m, friction = 0 }
    end
    w:before_step(function() boxes[1]:apply_force { p.push, 0 } end)
    w:run { steps = 5, progress = false }
    return boxes[1].vx + 2 * boxes[3].vx + boxes[2].omega
  end
  v, g = gradient(wedged, { m = 2, push = 3, closed = true })
  close(v, 0, 1e-9, "wedged")
  close(g.push, 0, 1e-9, "wedged, by push")
  close(g.m, 0, 1e-9, "wedged, by mass")
  v, g = gradient(wedged, { m = 2, push = 3 })
  close(v, 3 * 0.05 * 3 / 6, 1e-9, "let go")
  close(g.push, 3 * 0.05 / 6, 1e-9, "let go, by push")
  close(g.m, -3 * 0.05 * 3 / 12, 1e-9, "let go, by mass")
end)

-- ---- Long runs --------------------------------------------------------------------------------

-- A ball rolls to and fro in a trough of springs; 10,000 steps.
test("10,000 steps with checkpoints: the same gradient in a few MB", function()
  local function run(p)
    local w = sim.world { gravity = { 0, -9.81 }, dt = 0.002 }
    w:segment { from = { -20, 0 }, to = { 20, 0 }, friction = p.mu }
    local ball = w:circle { radius = 0.2, position = { 0, 0.2 }, velocity = { p.v, 0 }, mass = p.m,
      friction = p.mu }
    w:spring { ball, nil, anchor_b = { 0, 0.2 }, stiffness = p.k, damping = 0.05 }
    w:run { steps = 10000, progress = false }
    return ball.x + ball.vx
  end
  local p = { mu = 0.3, v = 1, k = 4, m = 2 }
  local value, g = gradient(run, p)
  ok(g.k ~= 0 and g.m ~= 0 and g.v ~= 0)
  local full = sim.tape_stats().bytes
  sim.checkpoint(100)
  local again, h = sim.value_and_grad(run, p)
  local kept = sim.tape_stats().bytes
  sim.checkpoint()
  eq(again, value)
  for name, derivative in pairs(g) do
    close(h[name], derivative, 1e-12, name)
  end
  ok(kept < 4e6 and kept < full / 4, ("%d bytes, %d without checkpoints"):format(kept, full))
end)

-- ---- Misuse -----------------------------------------------------------------------------------

test("a tracked number where it has no place names the remedy", function()
  local world = sim.world { gravity = { 0, 0 }, dt = 0.1 }
  local ball = world:circle { radius = 1 }
  local snapshot, kept = nil, nil
  local remedy = "x:value%(%)"
  raises("use sim.sin instead of math.sin and so on, or " .. remedy, sim.grad, math.sin, 1)
  raises(remedy, sim.grad, function(p) return string.format("%g", p) end, 1)
  sim.grad(function(p)
    ball.vx = p
    kept = ball.vx * 2
    snapshot = world:snapshot() -- holds the plain number once the call has ended
    return kept
  end, 3)
  raises("outside of the gradient call it belongs to.*" .. remedy, function() return kept * 2 end)
  raises("tracked", function() ball.vx = kept end)
  world:restore(snapshot)
  eq(ball.vx, 3)
  -- In another thread of Lua: an unfinished call cannot be left, and one that has ended is over.
  local left = coroutine.create(function()
    return sim.grad(function(p) coroutine.yield(p) return p end, 1)
  end)
  local good, message = coroutine.resume(left)
  ok(not good and message:find "yield across", message)
  local other = coroutine.create(function() return kept + 1 end)
  good, message = coroutine.resume(other)
  ok(not good and message:find "outside of the gradient call it belongs to", message)
  -- A coroutine inside the call computes as the call does.
  eq(sim.grad(function(p) return coroutine.wrap(function() return p * p end)() end, 3), 6.0)
end)
