-- Friction is posed as a mixed problem that keeps the velocity as an unknown, and one wrong sign changes its solutions.
-- The unknowns are a free v+, and z = (l+, l-, gamma) >= 0 with w = (gamma + v+, gamma - v+, mu m g - l+ - l-) >= 0,
-- z'w = 0:
--   m v+ - h l+ + h l- - (m v + h u) = 0      row [1 -1 1 0] and -(v + u) for h = m = 1.
-- The note prints [1 1 -1 0] and +(v + u), which means v+ = -(v + u) - l+ + l-. With this sign the block is thrown
-- back, and friction accelerates it. With b = v + u, this problem has the solution v+ = -(b + mu g) for b > -mu g, and
-- the solution v+ = mu g - b for b < mu g. For |b| <= mu g, both are solutions, and 0 is a third solution. Lemke's
-- method ends on a ray in all four trials of this script. A ray does not prove that a problem is infeasible, because
-- the matrix is not copositive-plus. Trying all choices of positive entries of z finds the solutions.
local sim = require "sim2d"

local D, B = { { 1 }, { -1 }, { 0 } }, { { 0, 0, 1 }, { 0, 0, 1 }, { -1, -1, 0 } }

local function mixed(c)
  local u, z, info = sim.mlcp.solve { A = { { c.m } }, C = { { -c.h, c.h, 0 } }, a = { -(c.m * c.v + c.h * c.u) },
    D = D, B = B, b = { 0, 0, c.mu * c.m * c.g } }
  if not u then return nil, z end
  return u[1], z, info.status
end

-- The printed problem after elimination of v+: w1 = gamma - b - l+ + l- and so on, with h = m = g = 1.
local PRINTED = { { -1, 1, 1 }, { 1, -1, 1 }, { -1, -1, 0 } }
local function printed(b, mu, solver)
  local z, w = sim.lcp.solve(PRINTED, { -b, b, mu }, { solver = solver })
  if not z then return nil, w end
  return -b - z[1] + z[2], "solved"
end

-- Returns the distance of z from a solution of the printed problem, which is the largest abs(min(z_i, w_i)).
local function misses(b, mu, z)
  local q, worst = { -b, b, mu }, 0
  for i, row in ipairs(PRINTED) do
    worst = math.max(worst, math.abs(math.min(z[i], q[i] + row[1] * z[1] + row[2] * z[2] + row[3] * z[3])))
  end
  return worst
end

local function threshold(x, limit) return x > limit and x - limit or x < -limit and x + limit or 0 end

local world = sim.world { stepping = "speculative", combine_friction = "min" }
world:segment { from = { -1e4, 0 }, to = { 1e4, 0 }, friction = 100 }
local box = world:box { size = { 4, 0.2 } }
local function engine_step(c)
  world.dt, world.gravity, box.mass, box.inertia, box.friction = c.h, { 0, -c.g }, c.m, c.m * 16.04 / 12, c.mu
  box.position, box.angle, box.velocity, box.angular_velocity = { 0, 0.1 }, 0, { c.v, 0 }, 0
  box:apply_force { c.u, 0 }
  world:step()
  return box.vx
end

local e = sim.experiment("As a mixed LCP: v+ = S(v + h u / m)",
  { cases = { 4000, "random problems" }, seed = { 0, "of the random numbers" } })
local wanted, wrong = { 0.7, 2, 0, -0.8 }, { -1.3, -4, nil, 2.2 }
for i, t in ipairs { { 1, 0, 0.3 }, { 1, 2, 1 }, { 0.2, 0.1, 1 }, { -2, 0.5, 0.7 } } do
  local c = { v = t[1], u = t[2], mu = t[3], h = 1, m = 1, g = 1 }
  local name = ("v, u, mu = %g, %g, %g: "):format(c.v, c.u, c.mu)
  e:equal(name .. "v+", wanted[i], mixed(c) or 0 / 0, 1e-9)
  e:equal(name .. "engine", wanted[i], engine_step(c), 1e-9)
  e:equal(name .. "as printed, Lemke", "ray", select(2, printed(c.v + c.u, c.mu, "lemke")))
  if wrong[i] then e:equal(name .. "as printed", wrong[i], printed(c.v + c.u, c.mu, "enumerate"), 1e-9) end
end
-- Where the block should stick, the printed problem has three solutions: z = (mu, 0, b + mu), (0, mu, mu - b) and (0,
-- b, 0).
local b, mu = 0.3, 1
for _, z in ipairs { { mu, 0, b + mu }, { 0, mu, mu - b }, { 0, b, 0 } } do
  e:equal(("as printed, b = 0.3, mu = 1: v+ = %g, misses"):format(-b - z[1] + z[2]), 0, misses(b, mu, z), 1e-12)
end

local random = sim.random
random.seed(e.options.seed)
local worst, engine, failed, cases = 0, 0, 0, e.options.cases
for _ = 1, cases do
  local c = { h = 10 ^ random.uniform(-3, 0), m = random.uniform(0.1, 5), mu = random.uniform(0, 1), g = 9.81 }
  c.v, c.u = random.uniform(-3, 3) * c.h, random.uniform(-10, 10) * c.m
  local exact = threshold(c.v + c.h * c.u / c.m, c.mu * c.g * c.h)
  local v = mixed(c)
  if v then worst = math.max(worst, math.abs(v - exact)) else failed = failed + 1 end
  engine = math.max(engine, math.abs(engine_step(c) - exact))
end
e:equal(("%d random problems: not solved"):format(cases), 0, failed)
e:equal("against S(v + h u / m), m/s", 0, worst, 1e-9)
e:equal("engine", 0, engine, 1e-9)

local x, y, px, py = {}, {}, {}, {}
for i = -12, 12 do
  local s = i / 4
  x[#x + 1], y[#y + 1] = s, mixed { v = s, u = 0, mu = 1, h = 1, m = 1, g = 1 }
  px[#px + 1], py[#py + 1] = s, printed(s, 1, "enumerate")
end
e:figure(sim.plot { title = "The sign of a row", x = "v + u, m/s", y = { label = "v⁺, m/s", range = { -4.2, 4.2 } },
  { x, y, kind = "scatter", marker = "circle", label = "corrected" },
  { function(s) return threshold(s, 1) end, -3, 3, label = "S(v + u)" },
  { px, py, kind = "scatter", marker = "cross", label = "printed" },
  { { -1, 3 }, { 0, -4 }, dash = true, label = "its solutions" },
  { { -3, 1 }, { 4, 0 }, dash = true, color = "#3f9b6b" } })
e:finish()
