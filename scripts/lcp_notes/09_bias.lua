-- A small error -eps in one element of q makes a resting block creep at eps / 2: this is the LCP of a conveyor belt.
-- The block rests, with v = u = 0. The problem is 0 <= (l+, l-, gamma) _|_ (gamma + v+ - eps, gamma - v+, mu m g - l+ -
-- l-) >= 0 with v+ = (h / m)(l+ - l-). With gamma' = gamma - eps / 2, the first two expressions are gamma' + (v+ - eps
-- / 2) and gamma' - (v+ - eps / 2). This is the friction law of a block on a belt with the speed eps / 2. The solution
-- is
--   v+ = gamma = eps / 2,  l+- = (mu m g +- m eps / (2 h)) / 2   while eps <= 2 mu g h,
-- and for larger eps the belt slips: v+ = mu g h, gamma = eps - mu g h. The v+ in the note is correct, but its forces
-- (mu m g, 0) make w2 = gamma - v+ negative. With +eps all unknowns are 0, and the block sticks.
local sim = require "sim2d"

local function matrix(a) return { { a, -a, 1 }, { -a, a, 1 }, { -1, -1, 0 } } end

local function solve(q1, q2, c)
  local a = c.h / c.m
  local z = sim.lcp.solve(matrix(a), { q1, q2, c.mu * c.m * c.g })
  return a * (z[1] - z[2]), z
end

-- Makes one step of a box at rest on a belt with the given speed to the right. Surface speeds are positive
-- counter-clockwise.
local world = sim.world { stepping = "speculative", combine_friction = "min" }
local belt = world:box { type = "static", size = { 100, 1 }, position = { 0, -0.5 }, friction = 100 }
local box = world:box { size = { 4, 0.2 } }
local function engine_step(speed, c)
  world.dt, world.gravity, box.mass, box.inertia, box.friction = c.h, { 0, -c.g }, c.m, c.m * 16.04 / 12, c.mu
  box.position, box.angle, box.velocity, box.angular_velocity = { 0, 0.1 }, 0, { 0, 0 }, 0
  belt.surface_speed = -speed
  world:step()
  return box.vx
end

local e = sim.experiment("A bias of q: v+ = eps / 2",
  { cases = { 2000, "random problems" }, seed = { 0, "of the random numbers" } })
local unit = { h = 1, m = 1, mu = 1, g = 1 }
for _, eps in ipairs { 0.001, 0.1, 0.5, 1.9 } do
  local v, z = solve(-eps, 0, unit)
  e:equal(("eps = %g: v+"):format(eps), eps / 2, v, 1e-12)
  e:equal("gamma", eps / 2, z[3], 1e-12)
  e:equal("l+", (1 + eps / 2) / 2, z[1], 1e-12)
  e:equal("l-", (1 - eps / 2) / 2, z[2], 1e-12)
end
local v, z = solve(-3, 0, unit)
e:equal("eps = 3, it slips: v+ (eps / 2 would be 1.5)", 1, v, 1e-12)
e:equal("gamma", 2, z[3], 1e-12)
local w = sim.array(matrix(1)):mm { 1, 0, 0.05 } + { -0.1, 0, 1 } -- for the z of the note at eps = 0.1
e:equal("the note's z = (1, 0, eps / 2): w1, not 0", 0.95, w[1], 1e-12)
e:equal("w2, not >= 0", -0.95, w[2], 1e-12)
for _, q in ipairs { { 0.1, 0 }, { 0, 0.1 }, { 0.1, 0.1 } } do
  v, z = solve(q[1], q[2], unit)
  e:equal(("q1, q2 = %g, %g: v+, sticks"):format(q[1], q[2]), 0, v)
end
e:equal("q1, q2 = 0, -0.1: v+", -0.05, solve(0, -0.1, unit), 1e-12)
-- The same error in both elements corresponds to a belt at rest: gamma' = 0, and the block sticks.
v, z = solve(-0.1, -0.1, unit)
e:equal("q1, q2 = -0.1, -0.1: v+", 0, v, 1e-12)
e:equal("gamma", 0.1, z[3], 1e-12)

local random = sim.random
random.seed(e.options.seed)
local worst, gamma, engine, slip = 0, 0, 0, 0
for _ = 1, e.options.cases do
  local c = { h = 10 ^ random.uniform(-3, 0), m = random.uniform(0.1, 5), mu = random.uniform(0.05, 1), g = 9.81 }
  local limit = c.mu * c.g * c.h
  local eps = limit * random.uniform(0.001, 4)
  local want = math.min(eps / 2, limit)
  v, z = solve(-eps, 0, c)
  worst = math.max(worst, math.abs(v - want))
  gamma = math.max(gamma, math.abs(z[3] - (eps - want)))
  engine = math.max(engine, math.abs(engine_step(eps / 2, c) - want))
  if eps > 2 * limit then slip = slip + 1 end
end
e:equal("any h, m: v+ against min(eps / 2, mu g h)", 0, worst, 1e-12)
e:equal("gamma against eps - v+", 0, gamma, 1e-12)
e:equal("engine, on a belt of speed eps / 2", 0, engine, 1e-9)
e:above("of these slip", e.options.cases // 4, slip)

local x, speeds, gammas, plus, minus, belts = {}, {}, {}, {}, {}, {}
for i = 0, 30 do
  x[i + 1] = math.max(i / 10, 1e-3) -- at 0 the friction is 0, too
  speeds[i + 1], z = solve(-x[i + 1], 0, unit)
  plus[i + 1], minus[i + 1], gammas[i + 1] = table.unpack(z)
  belts[i + 1] = engine_step(x[i + 1] / 2, unit)
end
local label = { label = "ε, m/s", range = { 0, 3 } }
e:figure(sim.plot.grid { title = "q₁ = -ε, μ g h = 1 m/s",
  sim.plot { x = label, y = "m/s", { x, gammas, label = "γ", dash = true }, { x, speeds, label = "v⁺" },
    { x, belts, kind = "scatter", marker = "cross", label = "on a belt" } },
  sim.plot { x = label, y = "friction, N", { x, plus, label = "l⁺" }, { x, minus, label = "l⁻", dash = true } } })
e:finish()
