-- Bilevel learning finds the friction coefficient even from a guess that is too large: a quadratic programme inside the
-- loss allows an error in the friction.
--
-- One step with (v, u) = (1, 2) of a block with mu = 1 (m = g = h = 1) ends with v' = 2. With the exact law, the loss
-- (v' - 2)^2 is flat for mu >= v + u = 3, because the block rests for any such mu. The bilevel cost of the note is
--   min over l >= 0 of (v' - v - u - l+ + l-)^2 + l'(M l + q)     such that M l + q >= 0,      q = (3, -3, mu),
-- which is a convex programme, because l'M l = (l+ - l-)^2. In closed form it is
--   (mu - 1)^2 for mu <= 5/3,   1 + 3 mu - (5 + mu)^2 / 8 up to 7,   4 beyond 7,     l- = mu, (5 + mu) / 4, 3.
-- With a soft inequality at a price of 5, the cost is flat at 3.5 for mu >= 5. A penalty 0.1 (mu - l+ - l-)^2 on unused
-- friction leads back from any guess if it is added outside the programme. If it is added inside, the programme
-- satisfies it with l+ = l- > 0.
local sim = require "sim2d"
local e = sim.experiment("Bilevel learning of mu", { steps = { 500, "of gradient descent" } })

local M = { { 1, -1, 1 }, { -1, 1, 1 }, { -1, -1, 0 } }
local v, u, target, unused = 1, 2, 2, 0.1

local function plain(mu) -- the exact law
  local z = assert(sim.lcp.solve(M, { v + u, -v - u, mu }))
  return (v + u + z[1] - z[2] - target) ^ 2
end

-- Solves the inner programme. Its unknowns are l, and with `soft` also three slacks at this price. `inside` adds the
-- penalty.
local function inner(mu, soft, inside)
  local n, a = soft and 6 or 3, inside or 0
  local be = target - v - u
  local P, G, h = {}, {}, {}
  for i = 1, n do
    P[i], G[i], G[n + i] = {}, {}, {}
    for j = 1, n do P[i][j], G[i][j], G[n + i][j] = 0, i == j and -1 or 0, 0 end
    h[i] = 0
  end
  P[1][1], P[1][2], P[2][1], P[2][2] = 4 + 2 * a, 2 * a - 4, 2 * a - 4, 4 + 2 * a
  for i = 1, 3 do
    for j = 1, 3 do G[n + i][j] = -M[i][j] end
    if soft then G[n + i][3 + i] = -1 end
  end
  for i = n + 4, #G do G[i] = nil end
  h[n + 1], h[n + 2], h[n + 3] = v + u, -v - u, mu
  local q = { v + u - 2 * be - 2 * a * mu, -v - u + 2 * be - 2 * a * mu, mu }
  for i = 4, n do q[i] = soft end
  local l, info = sim.qp.solve { P = P, q = q, G = G, h = h }
  assert(l, info)
  local cost = be ^ 2 + a * mu ^ 2
  for i = 1, n do
    cost = cost + q[i] * l[i]
    for j = 1, n do cost = cost + P[i][j] * l[i] * l[j] / 2 end
  end
  return cost, l
end

local function hard(mu) return (inner(mu)) end
local function soft(mu) return (inner(mu, 5)) end
local function inside(mu) return (inner(mu, nil, unused)) end
local function outside(mu)
  local cost, l = inner(mu)
  return cost + unused * (mu - sim.abs(l[1] - l[2])) ^ 2 -- penalty without the common part of l+ and l-
end

local function exact(mu, last)
  mu = math.min(mu, last)
  return mu <= 5 / 3 and (mu - 1) ^ 2 or 1 + 3 * mu - (5 + mu) ^ 2 / 8
end

local worst, worst_soft, worst_slope = 0, 0, 0
for i = 1, 100 do
  local mu = 0.1 * i - 0.03
  local cost, slope = sim.value_and_grad(hard, mu)
  local known = mu < 5 / 3 and 2 * (mu - 1) or mu < 7 and 3 - (5 + mu) / 4 or 0
  worst, worst_slope = math.max(worst, math.abs(cost - exact(mu, 7))), math.max(worst_slope, math.abs(slope - known))
  worst_soft = math.max(worst_soft, math.abs(soft(mu) - exact(mu, 5)))
end
e:equal("100 mu to 10: largest error of the cost", 0, worst, 1e-9)
e:equal("   of its slope", 0, worst_slope, 1e-9)
e:equal("   of the soft cost", 0, worst_soft, 1e-9)
local cost, l = inner(6, 5)
e:equal("soft, mu = 6: cost", 3.5, cost, 1e-9)
e:equal("   l-", 2.5, l[2] - l[1], 1e-9)
e:equal("   second inequality", -0.5, l[3] - l[1] + l[2] - 3, 1e-9)

-- Does gradient descent with steps of 0.05.
local function descend(f, mu)
  for _ = 1, e.options.steps do
    local _, g = sim.value_and_grad(f, mu)
    if math.abs(g) < 1e-7 then break end
    mu = mu - 0.05 * g
  end
  return mu
end
for _, case in ipairs {
  { "exact law", plain, { 0.1, 2.5 }, { 3.2, 5 } },
  { "bilevel", hard, { 0.1, 6.9 }, { 7.5, 10.5 } },
  { "soft", soft, { 0.1, 4.9 }, { 5.5, 7.5 } },
  { "penalty inside", inside, { 0.1 }, { 7.5, 10.5 } },
  { "penalty outside", outside, { 0.1, 7.5, 10.5 }, {} },
} do
  local name, f, found, stuck = table.unpack(case)
  for _, start in ipairs(found) do e:equal(("%s, from %g"):format(name, start), 1, descend(f, start), 1e-6) end
  for _, start in ipairs(stuck) do e:equal(("%s, from %g: stuck"):format(name, start), start, descend(f, start)) end
end

-- The engine makes the same step. Its loss equals the loss of the exact law and is equally flat.
local function engine(mu)
  local world = sim.world { stepping = "speculative", dt = 1, gravity = { 0, -1 } }
  world:box { type = "static", position = { 0, -0.5 }, size = { 99, 1 }, friction = mu }
  local box = world:box { position = { 0, 0.05 }, size = { 4, 0.1 }, mass = 1, friction = mu, velocity = { v, 0 } }
  box:apply_force { u, 0 }
  world:step()
  return (box.vx - target) ^ 2, box.vx
end
e:equal("engine, mu = 1: v'", target, select(2, engine(1)), 1e-9)
for _, mu in ipairs { 2.5, 3.5 } do
  e:equal(("engine, mu = %g: slope of its loss"):format(mu), mu < 3 and 2 * (mu - 1) or 0, sim.grad(engine, mu), 1e-9)
end

e:figure(sim.plot { title = "Loss of one step that mu = 1 made", x = "mu", y = { label = "loss", range = { 0, 8 } },
  { plain, 0, 10, label = "exact law" }, { hard, 0, 10, label = "bilevel" }, { soft, 0, 10, label = "soft" },
  { outside, 0, 10, label = "with penalty" } })
e:finish()
