-- Friction in two directions on a puck seen from above: polyhedra of k directions, two fixed-point iterations and a
-- cone are compared.
--
-- Let b = v + h u be the velocity without friction and F = mu g h (m = 1). The friction disc |friction| <= F gives
--   v' = max(0, 1 - F / |b|) b.
-- As an LCP, with evenly spaced unit vectors d_1 .. d_k as the columns of D,
--   0 <= beta _|_ gamma + D'(b + D beta) >= 0,    0 <= gamma _|_ F - sum beta >= 0,    v' = b + D beta.
-- The friction is then a corner of the polygon, at an angle a < pi / k from its true direction, so the error of v' is 2
-- F sin(a / 2). The note asks: "What if we aligned bases with u and v?" Bases along v and along u are wrong, but a base
-- along b is exact. The note also mentions "some kind of fixed point iteration", similar to the iteration of Stewart
-- and Trinkle. If each axis is solved separately, with its share of F along the last v', the iteration converges at the
-- rate F / (|b| - F), so it does not converge for |b| < 2 F. If it projects onto the disc instead, f = P(f - v'), it
-- converges in one step.
local sim = require "sim2d"
local e = sim.experiment "A puck on a plane"

local F = 1
local random = sim.random.split()

local function exact(b) return math.max(0, 1 - F / b:norm()) * b end

local function by_directions(b, directions) -- directions: list of {x, y}
  local D, k = sim.array(directions):t(), #directions
  local M = sim.zeros(k + 1, k + 1)
  for i = 1, k do
    for j = 1, k do M[{ i, j }] = D:column(i):dot(D:column(j)) end
    M[{ i, k + 1 }], M[{ k + 1, i }] = 1, -1
  end
  local z = assert(sim.lcp.solve(M, sim.concat { D:t():mm(b), { F } }))
  return b + D:mm(sim.array(z):slice { 1, k })
end

local function polygon(b, k)
  local directions = {}
  for i = 1, k do directions[i] = { math.cos(2 * math.pi * i / k), math.sin(2 * math.pi * i / k) } end
  return by_directions(b, directions)
end

local function along(b, ...) -- uses both directions of each vector
  local directions = {}
  for _, a in ipairs { ... } do
    local d = a / a:norm()
    directions[#directions + 1], directions[#directions + 2] = d, -d
  end
  return by_directions(b, directions)
end

local function cone(b) -- (F, friction) and (psi, v') are orthogonal and in second-order cones
  local _, _, z = assert(sim.ncp.solve { cones = { soc = { 3 } }, options = { r_tol = 1e-12, b_tol = 1e-12 },
    residual = function(_, y, z) return { y[1] - F, z[2] - b[1] - y[2], z[3] - b[2] - y[3] } end })
  return sim.array { z[2], z[3] }
end

local function by_axes(b, v, steps) -- iterates from the direction of v
  for _ = 1, steps do
    if v:norm() == 0 then break end
    local share = F * sim.abs(v) / v:norm()
    v = sim.sign(b) * sim.relu(sim.abs(b) - share)
  end
  return v
end

local function engine(b)
  local world = sim.world { stepping = "speculative", dt = 1, gravity = { 0, 0 } }
  local puck = world:circle { radius = 0.1, mass = 1, velocity = b }
  world:ground_friction { puck, max_force = F, max_torque = 0.1 }
  world:step()
  return sim.array(puck.velocity)
end

local worst = { [4] = 0, [8] = 0, [16] = 0, uv = 0, b = 0, cone = 0, projected = 0, engine = 0 }
for _ = 1, 300 do
  local v, u = sim.array { random:normal(), random:normal() } * 2, sim.array { random:normal(), random:normal() }
  local b = v + u
  local right = exact(b)
  local function note(key, found) worst[key] = math.max(worst[key], (found - right):norm()) end
  for _, k in ipairs { 4, 8, 16 } do note(k, polygon(b, k)) end
  note("uv", along(b, v, u))
  note("b", along(b, b))
  note("cone", cone(b))
  note("projected", b - b * math.min(1, F / b:norm())) -- one projection, f = P(0 - b)
  note("engine", engine(b))
end
for _, k in ipairs { 4, 8, 16 } do
  e:below(("%d directions: largest error of 300"):format(k), 2 * F * math.sin(math.pi / 2 / k), worst[k])
  local a = 0.99 * (math.pi / k - math.asin(math.sin(math.pi / k) / 50)) -- just before the friction leaves the corner
  local b = sim.array { math.cos(a), math.sin(a) } * 50 * F
  e:equal("   error at |b| = 50 F, worst direction", 2 * F * math.sin(a / 2), (polygon(b, k) - exact(b)):norm(), 1e-9)
end
e:above("directions along v and u: largest error", 0.3, worst.uv)
for _, key in ipairs { "b", "projected", "cone", "engine" } do
  e:equal(({ b = "directions along b = v + h u", cone = "second-order cone", engine = "the engine's ground friction",
    projected = "one projection" })[key] .. ": largest error", 0, worst[key], 1e-9)
end

-- The convergence rate of the other fixed-point iteration, measured by the errors of the direction.
for _, size in ipairs { 5, 3 } do
  local b = sim.array { 0.6, 0.8 } * size
  local first = by_axes(b, sim.array { 0.601, 0.8 }, 1)
  local function angle(v) return sim.atan2(v[2], v[1]) - sim.atan2(0.8, 0.6) end
  e:equal(("axis by axis, |b| = %d F: rate"):format(size), -F / (size - F), angle(first) / angle { 0.601, 0.8 }, 5e-3)
  e:equal("   error after 60 iterations", 0, (by_axes(b, sim.array { 1, 0.1 }, 60) - exact(b)):norm(), 1e-9)
end
local b = sim.array { 0.6, 0.8 } * 1.5
e:above("axis by axis, |b| = 1.5 F: error after 60", 0.1, (by_axes(b, sim.array { 0.61, 0.8 }, 60) - exact(b)):norm())

-- Plots paths of a puck that is pushed sideways.
local plot = { title = "Puck pushed upwards, seen from above", x = "x, m", y = "y, m", equal = true, legend = "inside" }
for _, k in ipairs { 4, 8, 0 } do
  local h, x, v, xs, ys = 0.02, sim.zeros(2), sim.array { 2, 0 }, { 0 }, { 0 }
  F = h
  for i = 1, 100 do
    v = v + sim.array { 0, 0.5 * h }
    v = k == 0 and exact(v) or polygon(v, k)
    x = x + h * v
    xs[i + 1], ys[i + 1] = x[1], x[2]
  end
  plot[#plot + 1] = { xs, ys, label = k == 0 and "disc" or k .. " directions" }
end
e:figure(sim.plot(plot))
e:finish()
