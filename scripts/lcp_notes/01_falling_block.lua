-- A block that falls on the floor is the smallest possible complementarity problem, with one number per step. Implicit
-- Euler, x+ = x + h v+, v+ = v + h (l - g), with 0 <= x+ _|_ l >= 0, is the LCP in z = x+, w = l
--   l = x+ / h^2 - (x + h v - g h^2) / h^2,   so   x+ = max(0, x + h v - g h^2).
-- The LCP stops the block in two steps. The first step brings it to the floor, with v+ = -x / h, and the second step
-- brings it to rest. The engine takes the same first step, and finds the velocity after the impact immediately, by a
-- second solve.
local sim = require "sim2d"

local X0, V0, G = 20, 4, 1 -- m, m/s, m/s^2; thrown upwards, lands after 4 + sqrt(56) s at sqrt(56) m/s
local ARRIVAL = V0 / G + math.sqrt((V0 / G) ^ 2 + 2 * X0 / G)

local function lcp_step(x, v, h)
  local z, w = sim.lcp.solve({ { 1 / h ^ 2 } }, { -(x + h * v - G * h ^ 2) / h ^ 2 })
  return z[1], v + h * (w[1] - G), w[1]
end

-- Returns lists of x, v, l after each step, the first step at the floor, and the largest error.
local function fall(h, steps)
  local x, v, run = X0, V0, { x = {}, v = {}, l = {}, error = 0, product = 0 }
  for i = 1, steps do
    local closed = math.max(0, x + h * v - G * h ^ 2)
    x, v, run.l[i] = lcp_step(x, v, h)
    run.x[i], run.v[i] = x, v
    run.error = math.max(run.error, math.abs(x - closed))
    run.product = math.max(run.product, math.abs(x * run.l[i]))
    if x == 0 and not run.contact then run.contact = i end
  end
  return run
end

-- The same motion in the engine: a unit box above a floor. Without friction, the step problem of the engine is also an
-- LCP, with a row for each corner that may meet the floor,
--   0 <= r _|_ W r + q >= 0,   W r + q = v+ + gap / h = x+ / h
-- which is the LCP of the note with z and w exchanged. The sum of the impulses r is h l. With `carried`, the box keeps
-- the velocity of its displacement, (x+ - x) / h, as in the LCP, instead of the velocity after the impact.
local function engine(h, steps, carried)
  local world = sim.world { stepping = "speculative", dt = h, gravity = { 0, -G } }
  world:segment { from = { -5, 0 }, to = { 5, 0 } }
  local box = world:box { size = { 1, 1 }, mass = 1, friction = 0, position = { 0, X0 + 0.5 }, velocity = { 0, V0 } }
  local run = { x = {}, v = {}, impulse = {}, posed = {} }
  for i = 1, steps do
    local problem, posed = world:problem(), 0
    if #problem.q > 0 then
      local r = sim.lcp.solve(problem.W, problem.q)
      posed = r[1] + r[2]
    end
    local before = box.y
    world:step()
    local impulse = 0
    for _, contact in ipairs(world:contacts()) do impulse = impulse + contact.normal_impulse end
    run.x[i], run.v[i], run.posed[i], run.impulse[i] = box.y - 0.5, box.vy, posed, impulse
    if carried then box.velocity = { 0, (box.y - before) / h } end
  end
  return run
end

local function largest(a, b, factor)
  local worst = 0
  for i = 1, #a do worst = math.max(worst, math.abs(a[i] - (factor or 1) * b[i])) end
  return worst
end

local e = sim.experiment "Falling block: x+ = max(0, x + h v - g h^2)"
local run = fall(1, 30)
e:equal("LCP against the closed form, 30 steps, m", 0, run.error, 1e-12)
e:equal("largest x l", 0, run.product)
e:equal("first step at the floor", 11, run.contact)
for i, row in ipairs { { 0, -5, 2 }, { 0, 0, 6 }, { 0, 0, 1 } } do
  for k, name in ipairs { "x", "v", "l" } do
    e:equal(("step %d: %s"):format(10 + i, name), row[k], run[name][10 + i], 1e-12)
  end
end

-- The force grows as 1/h, but its impulse does not: h (l1 + l2) = -v + 2 g h for any remaining height x.
local fine = fall(1e-3, 11600)
local c = fine.contact
e:equal("h = 1/1000: impulse of the two steps, N s", math.sqrt(56), 1e-3 * (fine.l[c] + fine.l[c + 1]), 2e-3)
e:above("force in the first of them, N", 1000, fine.l[c])
for _, h in ipairs { 1, 0.1, 0.01 } do
  e:equal(("h = %g: contact at, s"):format(h), ARRIVAL, h * fall(h, math.ceil(12 / h)).contact, h)
end

local plain, carried = engine(1, 30), engine(1, 30, true)
e:equal("engine: positions against the LCP", 0, largest(plain.x, run.x), 1e-9)
e:equal("engine: its step problem, impulse against h l", 0, largest(carried.posed, run.l), 1e-9)
e:equal("engine: velocity at step 11, the LCP has -5", 0, plain.v[11], 1e-9)
e:equal("engine: impulse of step 11, the LCP has 2", 7, plain.impulse[11], 1e-9)
e:equal("engine: of steps 11 and 12, as in the LCP", run.l[11] + run.l[12], plain.impulse[11] + plain.impulse[12], 1e-9)

local time, tenth, steps = {}, { t = {}, x = fall(0.1, 140).x }, {}
for i = 1, 30 do time[i] = i end
for i = 1, 140 do tenth.t[i] = 0.1 * i end
for i = 1, 7 do steps[i] = i + 8 end
local function part(list) return { table.unpack(list, 9, 15) } end
local function exact(t) return math.max(0, X0 + V0 * t - G * t * t / 2) end
e:figure(sim.plot.grid { title = "A falling block, h = 1 s",
  sim.plot { x = { label = "time", unit = "s", range = { 0, 14 } }, y = "height, m",
    { time, run.x, kind = "scatter", label = "LCP and engine" },
    { tenth.t, tenth.x, label = "h = 0.1 s" }, { exact, 0, 14, dash = true, label = "exact" } },
  sim.plot { x = "step", y = "impulse, N s",
    { steps, part(run.l), kind = "scatter", label = "LCP" },
    { steps, part(plain.impulse), kind = "scatter", marker = "cross", label = "engine" } } })
e:finish()
