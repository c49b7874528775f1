-- One number makes a joint rigid, stiff or soft: its compliance C >= 0. The row of the step in the notes is
--
--     J v + C/(h^2 alpha beta) l = -b,        l the impulse over the step h
--
-- so C = 0 is a rigid joint, and the equations depend continuously on C. Each of the engine's two stages has such a
-- row. At rest a joint yields by exactly C times its force. A compliant chain released from the horizontal follows the
-- rigid chain up to O(C) for arbitrarily small C. The notes use b = g/(h alpha beta) + .. (37) for all C and expect
-- this row to become (24), without alpha, at C = 0. However, with alpha = 1/2, (37) keeps the size of the error and
-- flips its sign in every step. In the engine, rows of rigid joints contain no g. They are J v = 0, and projection
-- removes the error.
local sim = require "sim2d"

local e = sim.experiment "Chains of five bodies, compliance from 0 to 0.1 m/N"
local n, m, g = 5, 2, 9.81 -- bodies; kg; m/s^2

-- Creates bodies one metre apart in direction (x, y). The first body is fixed at the origin.
local function chain(C, settings, x, y)
  local world = sim.world(settings)
  local last
  for i = 1, n do
    local bob = world:circle { position = { i * x, i * y }, radius = 0.1, mass = m }
    world:distance { bob, last, anchor_b = { (i - 1) * x, (i - 1) * y }, compliance = C }
    last = bob
  end
  return world, last
end

-- Hanging at rest, link i carries (n + 1 - i) m g.
local static, cs, relative, absolute = {}, {}, 0, 0
for i = 0, 22 do
  local C = 10 ^ (i / 2 - 12)
  local world, last = chain(C, {}, 0, -1)
  assert(world:solve_static { tolerance = 1e-9 })
  cs[#cs + 1], static[#static + 1] = C, -n - last.y
  local want = C * m * g * n * (n + 1) / 2
  local off = math.abs(static[#static] - want)
  if C > 1e-6 then relative = math.max(relative, off / want) else absolute = math.max(absolute, off) end
end
e:equal("at rest, C > 1e-6 m/N: deflection / (C F) - 1", 0, relative, 1e-9)
e:equal("at rest, below: deflection - C F, m", 0, absolute, 1e-13)
local world, last = chain(0, {}, 0, -1)
assert(world:solve_static { tolerance = 1e-9 })
e:equal("at rest, C = 0: deflection, m", 0, -n - last.y, 1e-15)

-- One step of a bob that is pushed along its link with velocity v. Its velocity is u within the step and v+ at the end.
-- Half of the weight and half of the spring force act in each of the two stages. Let s = h^2/C. For s <= 4 m the
-- trapezoidal rule applies, with the force at the mean of both ends,
--     (m + s/4) u = m v - m g h/2,        v+ = 2 u - v
-- and for larger s implicit Euler applies, with the force at the end (in the second stage, half a step later),
--     (m + s/2) u = m v - m g h/2,        (m + s/4) v+ = m u - m g h/2 - s u/2
local h, v, kicked = 1 / 120, -3, 0
for _, C in ipairs(cs) do
  local one = sim.world { dt = h }
  local bob = one:circle { position = { 0, -1 }, radius = 0.1, mass = m, velocity = { 0, v } }
  one:distance { bob, nil, anchor_b = { 0, 0 }, compliance = C }
  one:step()
  local s, push = h * h / C, m * v - m * g * h / 2
  local u = push / (m + s / (s <= 4 * m and 4 or 2))
  local want = s <= 4 * m and 2 * u - v or (m * u - m * g * h / 2 - s * u / 2) / (m + s / 4)
  kicked = math.max(kicked, math.abs(bob.vy - want), math.abs((bob.y + 1) / h - u))
end
e:equal("kicked: from the closed form, m/s", 0, kicked, 1e-13)

-- Returns the distance between the tips of this chain and of the rigid chain half a second after the release from the
-- horizontal.
local plot = { title = "Let go level: from the rigid chain", x = { label = "compliance", unit = "m/N", log = true },
  y = { label = "distance, m", log = true } }
local first = {}
for k, rate in ipairs { 60, 240, 960 } do
  local function swing(C)
    local run, bob = chain(C, { dt = 1 / rate }, 1, 0)
    run:run { duration = 0.5, progress = false }
    return bob.position
  end
  local rigid, away = swing(0), {}
  for i, C in ipairs(cs) do
    local d = swing(C) - rigid
    away[i] = math.sqrt(d.x ^ 2 + d.y ^ 2)
  end
  plot[k] = { cs, away, label = ("h = 1/%d s"):format(rate) }
  first[k] = away[1]
  e:equal(("let go, 1e-12 to 1e-5 m/N, h = 1/%d s: order in C"):format(rate), 1, math.log(away[15] / away[1], 10) / 7, 1e-3)
end
e:equal("let go, 1e-12 m/N: at 1/240 s over that at 1/960 s", 1, first[2] / first[3], 0.01)

-- A bob starts 0.1 m away from its joint, with alpha = 1/2. Equation (37) applies to stiff joints. A rigid joint has
-- the row J v = 0, without g, and projection corrects the error.
local function off(C, steps, stabilization)
  local one = sim.world { dt = h, gravity = { 0, 0 }, alpha = 0.5, stabilization = stabilization }
  local bob = one:circle { position = { 0, -1 }, radius = 0.1, mass = m }
  one:distance { bob, nil, anchor_b = { 0, 0 }, compliance = C }
  bob.position = { 0, -1.1 }
  one:step(steps)
  return -1 - bob.y, bob.vy
end
e:equal("alpha = 1/2, 0.1 m off: C = 0, step 1, m", 0, (off(0, 1)), 1e-9)
e:equal("the same without projection, m", 0.1, (off(0, 1, "none")), 1e-15)
e:equal("C = 1e-12 m/N, step 1, m", -0.1, (off(1e-12, 1)), 1e-6)
e:equal("C = 1e-12 m/N, step 2, m", 0.1, (off(1e-12, 2)), 1e-6)

-- The row of (24), J v = -g/(beta h) - .., computed by hand with beta = 1. It corrects the error in one step, but the
-- speed of this correction remains in the next step.
local y, speed = 0.1, 0 -- below the anchor
for step, want in ipairs { 0.1 / h, 0 } do
  speed = sim.kkt.solve({ W = { m }, J = { { 1 } }, c = { m * speed }, b = { -y / h } })[1]
  y = y - h * speed
  e:equal(("(24) by hand, step %d: speed, m/s"):format(step), want, speed, 1e-12)
  e:equal(("(24) by hand, step %d: off by, m"):format(step), 0, y, 1e-15)
end

e:figure(sim.plot.grid { columns = 2, width = 640, height = 380,
  sim.plot { title = "Hung up: deflection", x = { label = "compliance", unit = "m/N", log = true },
    y = { label = "deflection, m", log = true }, legend = "inside",
    { cs, static, kind = "scatter", label = "at rest" },
    { function(C) return C * m * g * n * (n + 1) / 2 end, 1e-12, 0.1, label = "C F" } }, sim.plot(plot) })
e:finish()
