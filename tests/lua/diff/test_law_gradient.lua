-- Derivatives through force laws compared with differences: by poses, velocities, the time, dt and parameters that they
-- read, in flight, at impacts, on the ground and on joints.
local sim = require "sim2d"

math.randomseed(7)

local function between(lo, hi) return lo + (hi - lo) * math.random() end

local function pick(list) return list[math.random(#list)] end

-- Central differences of two lengths, with an error of the fourth order.
local function agrees(f, p, what)
  local _, gradient = sim.value_and_grad(f, p)
  for key, value in pairs(p) do
    local function at(x)
      local q = {}
      for name, number in pairs(p) do q[name] = number end
      q[key] = x
      return f(q)
    end
    local h = key == "dt" and 1e-7 or 1e-5 * math.max(1, math.abs(value))
    local slope = (4 * (at(value + h / 2) - at(value - h / 2)) / h - (at(value + h) - at(value - h)) / (2 * h)) / 3
    ok(math.abs(slope - gradient[key]) <= 1e-5 * (1 + math.abs(slope)),
      ("%s: by %s: %.9g, differences: %.9g"):format(what, key, gradient[key], slope))
  end
end

test("two bodies that laws couple, above the ground", function()
  for n = 1, fewer(60, 12) do
    local settings = { stepping = pick { "auto", "event", "speculative", "bisect" }, substeps = pick { 1, 1, 1, 2 } }
    -- Steps of a given length do not locate the time of an impact.
    local ground = (settings.stepping == "auto" or settings.stepping == "event") and n % 2 == 0
    local spin, together, push, bounce, friction = between(0, 4), between(0, 60), between(0, 5), pick { 0, 0.8 }, between(0, 0.5)
    local high, far, steps = between(0.8, 2), between(-2, 2), math.random(20, 50)
    local function f(p)
      settings.dt, settings.gravity = p.dt, { 0, -3 * p.g }
      local world = sim.world(settings)
      if ground then
        world:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 }, restitution = 0.7, friction = friction }
      end
      local a = world:circle { radius = 0.2, mass = p.m, position = { p.x, high }, velocity = { far, p.vy },
        restitution = bounce, friction = friction }
      local b = world:box { size = { 0.3, 0.3 }, mass = 1.3, position = { 3, high - 0.3 }, velocity = { 0, far },
        restitution = 0.3, friction = friction, angle = 0.3 }
      a:force_law(function(_, t, dt)
        local fx = -p.k * a.x - p.c * a.vx - spin * a.vy + push * p.a * t - 0.3 * a.vx ^ 3 + dt
        local fy = -p.c * a.vy + spin * a.vx - 0.3 * together * (a.y - 0.1)
        return -0.01 * p.c * a.omega + 0.05 * a.x + 0.02 * a.vx,
          fx + 0.2 * together * (b.x - a.x - 3) - p.c * (a.vx - b.vx), fy + 0.2 * together * (b.y - a.y)
      end)
      b:force_law(function()
        return -0.1 * b.omega, -0.2 * together * (b.x - a.x - 3) - p.c * (b.vx - a.vx), -0.2 * together * (b.y - a.y)
      end)
      world:run { steps = steps, progress = false }
      return a.x + 0.7 * a.y + 0.3 * a.vx - 0.2 * a.vy + 0.1 * a.angle + 0.1 * a.omega + 0.5 * b.x - 0.3 * b.y
        + 0.2 * b.vx + 0.15 * b.angle
    end
    agrees(f, { k = between(5, 80), c = between(0, 3), m = between(0.5, 2), x = between(-1, 1), vy = between(-2, 2),
      g = between(0.5, 2), a = between(-1, 1), dt = 1 / pick { 60, 120, 240 } }, ("%d, %s"):format(n, settings.stepping))
  end
end)

test("links on hinges", function()
  for n = 1, fewer(20, 6) do
    local settings = { stepping = n % 2 == 0 and "speculative" or pick { "auto", "speculative" }, substeps = pick { 1, 1, 2 } }
    local links, spin, drag, together = math.random(3), between(0, 4), between(0, 2), between(0, 20)
    local function f(p)
      settings.dt, settings.gravity = p.dt, { 0, -p.g }
      local world = sim.world(settings)
      local free, last = world:circle { radius = 0.1, mass = 1, position = { 3, 1 }, velocity = { 0.3, 0.2 } }, nil
      for i = 1, links do
        local below = last
        last = world:box { size = { 0.5, 0.1 }, mass = p.m, position = { 0.5 * i - 0.25, 0 },
          velocity = { 0, (0.5 * i - 0.25) * p.v }, angular_velocity = p.v }
        world:hinge { a = last, b = below, anchor = { 0.5 * (i - 1), 0 } }
        last:force_law(function(b, t)
          return -0.02 * p.c * b.omega, -spin * b.vy + p.a * t,
            spin * b.vx - p.k * b.y - drag * b.vy + 0.1 * together * (free.y - b.y)
        end)
      end
      free:force_law(function(b)
        return 0, -0.1 * together * (b.x - last.x - 2), -0.1 * together * (b.y - last.y) - p.c * b.vy
      end)
      world:run { steps = 30, progress = false }
      return last.x + 0.5 * last.y + 0.3 * last.omega + 0.2 * last.vy + 0.3 * free.x - 0.2 * free.vy
    end
    agrees(f, { g = between(0, 5), m = between(0.5, 2), c = between(0, 2), k = between(5, 60), v = between(-2, 2),
      a = between(-1, 1), dt = 1 / pick { 60, 120 } }, ("%d, %s"):format(n, settings.stepping))
  end
end)

test("steps that are made again from checkpoints", function()
  local function f(p)
    local world = sim.world { gravity = { 0, -3 }, dt = 1 / 60 }
    world:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 } }
    local ball = world:circle { radius = 0.2, mass = 1, position = { p.x, 1 }, restitution = 0.5 }
    ball:force_law(function(b) return 0, -p.k * b.x - 0.2 * b.vx, -p.k * b.vy * b.x end)
    world:run { steps = 80, progress = false }
    return ball.x + ball.y + ball.vx
  end
  local p = { x = 0.7, k = 3 }
  local value, gradient = sim.value_and_grad(f, p)
  sim.checkpoint(10)
  local again, by_parts = sim.value_and_grad(f, p)
  sim.checkpoint()
  eq({ again, by_parts }, { value, gradient })
end)
