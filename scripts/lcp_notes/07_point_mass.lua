-- A point mass lands and slides: the problem has six unknowns and a closed form, and the printed matrices contain
-- errors. With impulses lc, lf = (l+, l-), n = (0, 1), D = [d1 d2] = [1 -1; 0 0], e = (1, 1) and b = v + h f / m, the
-- problem
--   M v+ - n lc - D lf = m b,    0 <= lc _|_ n'v+ + k min(0, n'v) >= 0,   0 <= lf _|_ gamma e + D'v+ >= 0,
--   0 <= gamma _|_ mu lc - e'lf >= 0
-- has, for k = 0, the solution lc = m max(0, -b_y), v+ = (S(b_x), b_y + lc / m), with the threshold mu lc / m. The note
-- prints + m b on the side of the matrix, D v instead of D'v, and k n'v for any sign of n'v, so a mass that leaves may
-- come back. It also uses forces instead of impulses, which is correct only for h = 1. In the form of Belbute-Peres,
--   M x + G'z + q = 0,   G x + F z + s = 0,   x = -v+,   0 <= s _|_ z >= 0,
-- q and F have the wrong sign. The correct values are q = m b and F = [0 0 0; 0 0 -e; -mu e' 0].
local sim = require "sim2d"

-- z = (lc, l+, l-, gamma). `sign` is the sign of the constant: -1, or +1 as printed.
local function mixed(c, sign)
  local mx, my = c.m * c.v[1] + c.h * c.f[1], c.m * c.v[2] + c.h * c.f[2]
  local v, z = sim.mlcp.solve { A = { { c.m, 0 }, { 0, c.m } }, C = { { 0, -1, 1, 0 }, { -1, 0, 0, 0 } },
    a = { sign * mx, sign * my }, D = { { 0, 1 }, { 1, 0 }, { -1, 0 }, { 0, 0 } },
    B = { { 0, 0, 0, 0 }, { 0, 0, 0, 1 }, { 0, 0, 0, 1 }, { c.mu, -1, -1, 0 } },
    b = { (c.k or 0) * (c.any and c.v[2] or math.min(0, c.v[2])), 0, 0, 0 } }
  return v, z
end

local function closed(c)
  local x, y = c.v[1] + c.h * c.f[1] / c.m, c.v[2] + c.h * c.f[2] / c.m
  local lc = c.m * math.max(0, -y)
  local limit = c.mu * lc / c.m
  return x > limit and x - limit or x < -limit and x + limit or 0, y + lc / c.m, lc
end

-- A box that touches the floor and cannot turn, under the force f, which includes gravity.
local world = sim.world { stepping = "speculative", combine_friction = "min",
  combine_restitution = "min", gravity = { 0, 0 } }
world:segment { from = { -1e4, 0 }, to = { 1e4, 0 }, friction = 100, restitution = 1 }
local box = world:box { size = { 1, 1 } }
world:lock { box, angle = true }
local function engine_step(c)
  world.dt, box.mass, box.friction, box.restitution = c.h, c.m, c.mu, c.k or 0
  box.position, box.velocity = { 0, 0.5 }, c.v
  box:apply_force(c.f)
  world:step()
  local normal, friction = 0, 0
  for _, contact in ipairs(world:contacts()) do
    normal, friction = normal + contact.normal_impulse, friction - contact.tangent_impulse
  end
  return box.vx, box.vy, normal, friction
end

local e = sim.experiment("Point mass: v+ = (S(b_x), b_y + lc / m)",
  { cases = { 5000, "random problems" }, seed = { 0, "of the random numbers" } })
local random = sim.random
random.seed(e.options.seed)
local worst, impulses, engine, failed, sign, stuck = 0, 0, 0, 0, 0, 0
for _ = 1, e.options.cases do
  local c = { h = 10 ^ random.uniform(-2, 0), m = random.uniform(0.1, 5), mu = random.uniform(0, 1.5),
    v = { random.uniform(-3, 3), random.uniform(-4, 1) } }
  c.f = { c.m * random.uniform(-10, 10), c.m * random.uniform(-20, 5) }
  local x, y, lc = closed(c)
  local v, z = mixed(c, -1)
  if not v then failed = failed + 1; v, z = { 0, 0 }, { 0 } end
  worst = math.max(worst, math.abs(v[1] - x), math.abs(v[2] - y))
  impulses = math.max(impulses, math.abs(z[1] - lc))
  local vx, vy, normal = engine_step(c)
  engine = math.max(engine, math.abs(vx - x), math.abs(vy - y), math.abs(normal - lc))
  local p = mixed(c, 1)
  if p then sign = math.max(sign, math.abs(p[1] - x), math.abs(p[2] - y)) end
  if lc > 0 and x == 0 then stuck = stuck + 1 end
end
e:equal("mixed LCPs not solved", 0, failed)
e:equal("against the closed form, m/s", 0, worst, 1e-9)
e:equal("lc, N s", 0, impulses, 1e-9)
e:equal("engine: velocity and impulse", 0, engine, 1e-9)
e:above("of them land and stick", e.options.cases // 20, stuck)
e:above("the printed sign: largest error, m/s", 10, sign)

-- At rest with a push of 1/2 and m = g = mu = h = 1, the mass stays at rest. With the printed sign it jumps.
local rest = { h = 1, m = 1, mu = 1, v = { 0, 0 }, f = { 0.5, -1 } }
for i, want in ipairs { { 0, 0 }, { -0.5, 1 } } do
  local v, name = mixed(rest, i == 1 and -1 or 1), ({ "at rest, pushed", "the same as printed" })[i]
  e:equal(name .. ": vx", want[1], v[1], 1e-9)
  e:equal(name .. ": vy", want[2], v[2], 1e-9)
end
-- A bounce with k = 1/2, mu = 0.3 and v = (1, -2): the mass leaves upwards at 1, so lc = 3 and the friction is 0.9.
local bounce = { h = 1, m = 1, mu = 0.3, k = 0.5, v = { 1, -2 }, f = { 0, 0 } }
local v, z = mixed(bounce, -1)
for i, got in ipairs { { v[1], v[2], z[1], z[2] - z[3] }, { engine_step(bounce) } } do
  for j, name in ipairs { "vx", "vy", "lc", "l+ - l-" } do
    e:equal(("bounce, %s: %s"):format(i == 1 and "LCP" or "engine", name), ({ 0.1, 1, 3, -0.9 })[j], got[j], 1e-9)
  end
end
-- The mass leaves at 2 and is pressed with -5, so it is held. If k n'v could have any sign, the mass would move down at
-- -k 2.
local leaves = { h = 1, m = 1, mu = 0.3, k = 0.5, v = { 0, 2 }, f = { 0, -5 } }
e:equal("leaves, is pressed: vy", 0, mixed(leaves, -1)[2], 1e-9)
e:equal("the same in the engine", 0, select(2, engine_step(leaves)), 1e-9)
leaves.any = true
e:equal("the same as printed", -1, mixed(leaves, -1)[2], 1e-9)
-- Belbute-Peres' form with v = (1, -1), mu = 0.3 and m = g = h = 1, so b = (1, -2). The exact solution is (0.4, 0), z =
-- (2, 0, 0.6, 0.4).
local G = sim.array { { 0, 1 }, { 1, 0 }, { -1, 0 }, { 0, 0 } }
for _, t in ipairs { { "printed", -1, 1, 0, 2 }, { "q corrected", 1, 1, 0, 0 }, { "q, F corrected", 1, -1, 0.4, 0 } } do
  local s, k = t[2], -t[3] -- the slacks are -G x - F z
  local x, w = sim.mlcp.solve { A = { { 1, 0 }, { 0, 1 } }, C = G:t(), a = { s * 1, s * -2 },
    D = -G, b = { 0, 0, 0, 0 },
    B = { { 0, 0, 0, 0 }, { 0, 0, 0, k }, { 0, 0, 0, k }, { k * 0.3, -k, -k, 0 } } }
  e:equal(t[1] .. ": vx", t[4], -x[1], 1e-9)
  e:equal(t[1] .. ": vy", t[5], -x[2], 1e-9)
  if t[3] < 0 then for i, want in ipairs { 2, 0, 0.6, 0.4 } do e:equal("z" .. i, want, w[i], 1e-9) end end
end

local plot = { title = "The harder it lands the more it takes to slide, μ = 1/2", x = "b_x, m/s", y = "v_x⁺, m/s" }
for i, by in ipairs { 0.5, -2, -4 } do
  local x, y = {}, {}
  for k = -12, 12 do
    x[#x + 1], y[#y + 1] = k / 4, mixed({ h = 1, m = 1, mu = 0.5, v = { k / 4, by }, f = { 0, 0 } }, -1)[1]
  end
  plot[i] = { x, y, kind = "scatter", label = ("b_y = %g m/s"):format(by) }
  plot[i + 3] = { function(b) return (closed { h = 1, m = 1, mu = 0.5, v = { b, by }, f = { 0, 0 } }) end, -3, 3,
    color = "#888888", label = i == 3 and "closed form" or nil }
end
e:figure(sim.plot(plot))
e:finish()
