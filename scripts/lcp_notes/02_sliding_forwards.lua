-- A block that slides forwards against friction is a problem of one complementarity pair per step. With m (v+ - v) = h
-- (u - l) and v+ >= 0, the friction l has its maximum mu m g while the block moves, and is smaller when the block is at
-- rest: 0 <= v+ _|_ l' = mu m g - l >= 0. This is the LCP in z = v+, w = l'
--   l' = (m / h) v+ - m v / h - u + mu m g,   so   v+ = max(0, v + h (u / m - mu g)).
-- The note uses m = 1. Its remark is correct: for v, u >= 0 the condition l >= 0 is not needed.
local sim = require "sim2d"

local function lcp_step(v, u, c)
  local z, w = sim.lcp.solve({ { c.m / c.h } }, { -c.m * v / c.h - u + c.mu * c.m * c.g })
  return z[1], c.mu * c.m * c.g - w[1]
end

local function closed(v, u, c) return math.max(0, v + c.h * (u / c.m - c.mu * c.g)) end

-- The same motion in the engine: a flat box on a floor, pushed at its centre. The tangential impulse of a contact (the
-- tangent is the normal turned left) acts on the box to the left.
local world = sim.world { stepping = "speculative", combine_friction = "min" }
world:segment { from = { -1e4, 0 }, to = { 1e4, 0 }, friction = 100 }
local box = world:box { size = { 4, 0.2 }, position = { 0, 0.1 } }

local function set(c)
  world.dt, world.gravity, box.mass, box.inertia, box.friction = c.h, { 0, -c.g }, c.m, c.m * 16.04 / 12, c.mu
end

local function engine_step(v, u)
  box.position, box.angle, box.velocity, box.angular_velocity = { 0, 0.1 }, 0, { v, 0 }, 0
  box:apply_force { u, 0 }
  world:step()
  local friction = 0
  for _, contact in ipairs(world:contacts()) do friction = friction + contact.tangent_impulse / world.dt end
  return box.vx, friction
end

local e = sim.experiment("Sliding forwards: v+ = max(0, v + h (u - mu g))",
  { cases = { 20000, "random problems" }, seed = { 0, "of the random numbers" } })
local random = sim.random
random.seed(e.options.seed)
local error, least, excess, engine_v, engine_l = 0, math.huge, -math.huge, 0, 0
for i = 1, e.options.cases do
  local c = { h = 10 ^ random.uniform(-3, 0), m = 10 ^ random.uniform(-1, 1), mu = random.uniform(0, 2),
    g = random.uniform(1, 10) }
  local v, u = random.uniform(0, 2), random.uniform(0, 2 * c.mu * c.m * c.g)
  local z, l = lcp_step(v, u, c)
  error = math.max(error, math.abs(z - closed(v, u, c)))
  least, excess = math.min(least, l), math.max(excess, l - c.mu * c.m * c.g)
  if i % 20 == 0 then
    set(c)
    local vx, friction = engine_step(v, u)
    engine_v, engine_l = math.max(engine_v, math.abs(vx - z)), math.max(engine_l, math.abs(friction - l))
  end
end
e:equal("LCP against the closed form, m/s", 0, error, 1e-12)
e:above("least friction, though nothing asks for it, N", 0, least)
e:below("largest friction less mu m g, N", 1e-9, excess)
e:equal("engine, a twentieth of the cases: speed, m/s", 0, engine_v, 1e-9)
e:equal("engine: friction, N", 0, engine_l, 1e-9)

-- A push grows and fades. Friction balances the push up to mu m g. Then the block slides until friction has removed its
-- momentum. At rest friction equals the push.
local c = { h = 0.02, m = 1, mu = 0.5, g = 9.81 }
set(c)
local time, pushes, speeds, frictions = {}, {}, {}, {}
local v, ev, worst, first, last, stuck = 0, 0, 0, nil, nil, 0
for i = 1, 200 do
  local t = i * c.h
  local u, before, l, el = math.max(0, 8 * math.sin(math.pi * t / 3)), v, nil, nil
  v, l = lcp_step(v, u, c)
  ev, el = engine_step(ev, u)
  worst = math.max(worst, math.abs(v - ev), math.abs(l - el))
  if v > 0 then first, last = first or t, t end
  if v == 0 and before == 0 then stuck = math.max(stuck, math.abs(l - u)) end
  time[i], pushes[i], speeds[i], frictions[i] = t, u, v, l
end
local starts = 3 / math.pi * math.asin(c.mu * c.g / 8) -- time at which 8 sin(pi t / 3) = mu g
e:equal("a pushed block: it starts to slide at, s", starts, first, c.h)
e:equal("at rest: friction less push, N", 0, stuck, 1e-12)
-- From the start of the slide until t = 3 s, the push adds the momentum 24 / pi (cos(pi starts / 3) + 1), which
-- friction removes.
local given = 24 / math.pi * (math.cos(math.pi * starts / 3) + 1)
e:equal("it stands again at, s", starts + given / (c.mu * c.g), last, 2 * c.h)
e:equal("engine: 200 steps, speed and friction", 0, worst, 1e-9)

e:figure(sim.plot { title = "A push that grows and fades", x = "time, s", y = "N and m/s",
  { time, pushes, label = "push", dash = true }, { time, frictions, label = "friction" },
  { time, speeds, label = "speed" }, { y = c.mu * c.m * c.g, label = "μ m g" } })
e:finish()
