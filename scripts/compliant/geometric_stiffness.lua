-- Can the geometric stiffness be written as a factor N~ between J' and J? Only if it vanishes on the kernel of J.
--
-- V = 1/2 g'N g has the Hessian K + K~, where K = J'N J and K~ = sum (N g)_i Hess g_i is the geometric stiffness. The
-- notes on Compliant ask (50) whether K~ = J' N~ J for some N~, which would make K~ an ordinary compliance. They leave
-- the question open: "we do not know". J' N~ J vanishes on the kernel of J, so K~ must vanish there, too. Since K~ is
-- symmetric, this condition is also sufficient. Then N~ = J+' K~ J+, with the pseudoinverse J+. A taut spring of
-- tension T and length l has K~ = T/l perpendicular to the spring. This direction is in the kernel of J, so no part of
-- K~ can be factored. If two springs at an angle hold a node, J is regular, and N~ has the values T/l tan^2 a and T/l
-- cot^2 a for the half angle a. The factor exists, and grows without bound as the angle closes. If the factor does not
-- exist, rows can be added. These rows are the eigenvectors E of K~, and the eigenvalues s are their stiffness: [J; E]'
-- diag(N, s) [J; E]. The engine uses this method. For s < 0 (a compressed, buckling member) no compliance exists, and
-- the force at v_k is used.
local sim = require "sim2d"
local linalg = sim.linalg
local e = sim.experiment "Geometric stiffness: is there a factor, and what it brings a step"

-- Springs between nodes: {i, j or a fixed point, rest length, stiffness}. Returns J, N, N g and K~, computed from
-- derivatives of g.
local function system(q, springs)
  local function g(x)
    local list = {}
    for s, spring in ipairs(springs) do
      local i, j = spring[1], spring[2]
      local to = type(j) == "table" and j or { x[2 * j - 1], x[2 * j] }
      list[s] = sim.sqrt((x[2 * i - 1] - to[1]) ^ 2 + (x[2 * i] - to[2]) ^ 2) - spring[3]
    end
    return list
  end
  local J, value = sim.jacobian(g, q)
  J = sim.array(J)
  local N, force, K = sim.zeros(#springs, #springs), {}, sim.zeros(#q, #q)
  for s, spring in ipairs(springs) do N[{ s, s }], force[s] = spring[4], spring[4] * value[s] end
  local function along(x) -- returns sum (N g)_i g_i with constant N g
    local sum = 0
    for s, length in ipairs(g(x)) do sum = sum + force[s] * length end
    return sum
  end
  for k = 1, #q do
    local d = {}
    for j = 1, #q do d[j] = j == k and 1 or 0 end
    K[k] = sim.hvp(along, q, d)
  end
  return J, N, K
end

-- Returns the best N~, and the relative remainder of K~.
local function factor(J, K)
  local U, s, V = linalg.svd(J)
  local inverse = sim.zeros(J.shape[2], J.shape[1])
  for i = 1, #s do
    if s[i] > 1e-10 * s[1] then
      inverse = inverse + V:column(i):reshape(#V, 1):mm(U:column(i):reshape(1, #U)) / s[i]
    end
  end
  local found = inverse:t():mm(K):mm(inverse)
  return found, (K - J:t():mm(found):mm(J)):norm() / K:norm()
end

-- 1. Four structures: one spring, a chain of three nodes, a node on two springs, and a triangle on the ground.
local function left(q, springs)
  local J, _, K = system(q, springs)
  return select(2, factor(J, K))
end
local foot, other = { 0, 0 }, { 2, 0 }
e:equal("one spring: part of K~ without a factor", 1, left({ 0.6, 0.8 }, { { 1, foot, 0.5, 100 } }), 1e-9)
e:equal("a chain of three: the same", 1,
  left({ 1, 0, 2, 0, 3, 0 }, { { 1, foot, 0.9, 100 }, { 2, 1, 0.9, 100 }, { 3, 2, 0.9, 100 } }), 1e-9)
e:above("a bent chain of three", 0.5,
  left({ 1, 0, 1.6, 0.8, 1, 1.6 }, { { 1, foot, 0.9, 100 }, { 2, 1, 0.9, 100 }, { 3, 2, 0.9, 100 } }))
e:equal("a node on two springs", 0, left({ 1, 1 }, { { 1, foot, 1, 100 }, { 1, other, 1, 100 } }), 1e-9)
e:equal("a truss: four springs hold two nodes", 0, left({ 0, 1, 2, 1.2 },
  { { 1, foot, 0.9, 100 }, { 2, other, 1, 100 }, { 1, 2, 1.8, 100 }, { 2, foot, 2, 100 } }), 1e-9)
-- Two springs of length 1 and tension 1: the values of N~ over half the angle between the springs.
local worst, angles, sizes = 0, {}, {}
for i = 1, 44 do
  local a = math.rad(i)
  local x, y = math.cos(a), math.sin(a)
  local J, _, K = system({ 0, 0 }, { { 1, { x, y }, 0.5, 2 }, { 1, { x, -y }, 0.5, 2 } })
  local values = linalg.eig(factor(J, K))
  angles[i], sizes[i] = i, values[2]
  worst = math.max(worst, math.abs(values[1] / math.tan(a) ^ 2 - 1), math.abs(values[2] * math.tan(a) ^ 2 - 1))
end
e:equal("two springs: N~ beside T/l tan^2, T/l cot^2", 0, worst, 1e-8)
-- The same step in two forms: as a stiffness, (M + h^2 (K + K~)) v = p, and as compliant rows along J and the
-- eigenvectors of K~.
local h, p = 0.1, sim.array { 1, -2 }
local J, N, K = system({ 0.6, 0.8 }, { { 1, foot, 0.5, 100 } })
local s, E = linalg.eig(K)
local v = linalg.solve(sim.eye(2) + h * h * (J:t():mm(N):mm(J) + K), p)
local rows = sim.kkt.solve { W = { 1, 1 }, J = sim.concat({ J, E:column(2):reshape(1, 2) }, 1), c = p,
  C = { 1 / (h * h * N[{ 1, 1 }]), 1 / (h * h * s[2]) }, b = { 0, 0 } }
e:equal("added rows of compliance beside a stiffness, m/s", 0, (rows - v):norm(), 1e-12)

-- 2. The benefit for a pendulum on a rod, released from the horizontal, with alpha = beta = 1/2. The reference is its
-- position after 1 s by the Runge-Kutta method.
local a, w, dt = 0, 0, 1e-4
local function rate(x) return -9.81 * math.cos(x) end
for _ = 1, 10000 do
  local k1, k2, k3 = rate(a), rate(a + dt / 2 * w), rate(a + dt / 2 * w + dt * dt / 4 * rate(a))
  local k4 = rate(a + dt * w + dt * dt / 2 * k2)
  a, w = a + dt * w + dt * dt / 6 * (k1 + k2 + k3), w + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
end
local counts, errors = { 50, 100, 200, 400, 800, 1600, 3200 }, { off = {}, on = {} }
for setting, list in pairs(errors) do
  for i, n in ipairs(counts) do
    local world = sim.world { dt = 1 / n, alpha = 0.5, beta = 0.5, geometric_stiffness = setting }
    local bob = world:circle { position = { 1, 0 }, radius = 0.1, mass = 1 }
    world:distance { bob, nil, anchor_b = { 0, 0 } }
    world:step(n)
    list[i] = math.sqrt((bob.x - math.cos(a)) ^ 2 + (bob.y - math.sin(a)) ^ 2)
  end
end
local function order(list) return math.log(list[6] / list[7], 2) end -- one error changes sign near 100 steps
e:equal("pendulum: order without geometric stiffness", 1, order(errors.off), 0.1)
e:equal("   with it", 2, order(errors.on), 0.1)
e:figure(sim.plot.grid { columns = 2, width = 640, height = 380,
  sim.plot { title = "A node on two springs", x = "half the angle, degrees", y = { label = "largest value of N~, T/l",
    log = true }, { angles, sizes, kind = "scatter", label = "found" },
    { function(d) return 1 / math.tan(math.rad(d)) ^ 2 end, 1, 44, label = "cot^2" } },
  sim.plot { title = "Pendulum, alpha = beta = 1/2", x = { label = "steps a second", log = true },
    y = { label = "error after 1 s, m", log = true }, { counts, errors.off, label = "off" },
    { counts, errors.on, label = "on" } } })
e:finish()
