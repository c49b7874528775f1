-- A frictionless step is a minimisation: the engine's step solves a quadratic program with rigid joints, compliant
-- joints and contacts. W contains the masses, c = M v + h f, and J and b define the rows of the step:
--
--     rigid      (39)  v = argmin 1/2 v'W v - c'v   where J v + b = 0
--     compliant  (48)  l = argmin 1/2 l'(S + D) l - s'l,   S = J W^-1 J',  D = C/h^2,  v = W^-1 (c + J'l)
--     contact    (56)  v = argmin 1/2 v'W v - c'v   where J v + b >= 0
--                (57)  0 <= l _|_ S l + b + J W^-1 c >= 0, the same problem for the impulses
--
-- The notes print s = b + J W^-1 c below (45) and b - J W^-1 c in (57). The two expressions differ, and both are wrong.
-- The correct expression is s = -(b + J W^-1 c). The picture shows the last scene after its step.
local sim = require "sim2d"

local e = sim.experiment "A step of the world beside quadratic programs"
local h, BAR = 1 / 60, 1e-10 -- s, m/s

local function frictionless()
  return sim.world { stepping = "speculative", dt = h, contact = "frictionless", stabilization = "none",
    tolerance = 1e-13 }
end

-- A chain that is fixed at one end and thrown with different velocities.
local function chain(world, compliance, x, y)
  local random, last = sim.random.split(), nil
  for i = 1, 6 do
    local link = world:box { position = { x + i - 0.5, y }, size = { 1, 0.2 },
      velocity = { random:normal(), -1 }, angular_velocity = random:normal() }
    world:hinge { link, last, anchor = { x + i - 1, y }, compliance = compliance }
    last = link
  end
end

local function pile(world)
  world:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 } }
  for row = 0, 3 do
    for i = 0, 3 - row do
      world:box { position = { 1.2 * i + 0.6 * row - 1.8, row + 0.5 }, size = { 1, 1 }, mass = 1 + i,
        velocity = { sim.random.normal(), sim.random.normal() } }
    end
    world:circle { position = { 0.9 * row - 1.35, 4.4 }, radius = 0.4, velocity = { 0, -2 } }
  end
end

-- Returns the step problem as arrays. `kind` selects its rows: rigid (0), one-sided (1) or compliant (2).
local function posed(world)
  local p = world:problem()
  local q = { M = sim.array(p.M), c = sim.array(p.rhs), C = p.C, bodies = p.bodies, count = #p.J }
  local lists = { [0] = { {}, {} }, { {}, {} }, { {}, {} } }
  for i, row in ipairs(p.J) do
    local kind = p.lo[i] == 0 and 1 or p.C[i] > 0 and 2 or 0
    table.insert(lists[kind][1], row)
    table.insert(lists[kind][2], p.bias[i])
  end
  q.rows = lists
  return q
end

-- Returns the largest difference between v and the displacement of one step divided by h. The scenes avoid impacts at
-- the end of a step and contacts that are detected from too far, because these would change only velocities.
local function against_step(world, q, v)
  local before, worst = {}, 0
  for i, body in ipairs(q.bodies) do before[i] = { body.angle, body.x, body.y } end
  world:step()
  for i, body in ipairs(q.bodies) do
    for k, now in ipairs { body.angle, body.x, body.y } do
      worst = math.max(worst, math.abs((now - before[i][k]) / h - v[3 * i - 3 + k]))
    end
  end
  return worst
end

local function velocities(q) -- solves (39), (56), or both
  local rigid, contact, A, b, G, bias = q.rows[0], q.rows[1]
  if #contact[1] > 0 then G, bias = -sim.array(contact[1]), contact[2] end
  if #rigid[1] > 0 then A, b = rigid[1], -sim.array(rigid[2]) end
  return assert(sim.qp.solve { P = q.M, q = -q.c, A = A, b = b, G = G, h = bias, tolerance = 1e-13 })
end

-- Returns S, b, J W^-1 c, and a function that computes velocities from impulses.
local function condensed(q, rows)
  local J, b = sim.array(rows[1]), sim.array(rows[2])
  local inverse = sim.linalg.inv(q.M)
  return J:mm(inverse):mm(J:t()), b, J:mm(inverse):mm(q.c), function(l) return inverse:mm(q.c + J:t():mm(l)) end
end

local world = frictionless()
chain(world, 0, 0, 0)
local q = posed(world)
e:equal("rigid, (39): velocity, m/s", 0, against_step(world, q, velocities(q)), BAR)

world = frictionless()
chain(world, 1e-4, 0, 0)
world:run { steps = 5 } -- stretches the chain, so b = g/h
q = posed(world)
local S, b, free, move = condensed(q, q.rows[2])
for i = 1, #q.C do S[{ i, i }] = S[{ i, i }] + q.C[i] end
local function relaxed(s) return move(assert(sim.qp.solve { P = S, q = -s, tolerance = 1e-13 })) end
local right, printed = relaxed(-(b + free)), relaxed(b + free)
e:equal("compliant: D = C/h^2, 1/kg", 1e-4 / h ^ 2, q.C[1], 1e-15)
e:equal("compliant, (48), s = -(b + J W^-1 c)", 0, against_step(world, q, right), BAR)
e:above("the same with the printed s: error, m/s", 0.1, sim.abs(printed - right):max())

world = frictionless()
pile(world)
q = posed(world)
local v, touching = velocities(q), 0
S, b, free, move = condensed(q, q.rows[1])
local l = assert(sim.lcp.solve(S, b + free, { tolerance = 1e-13 }))
local bad = sim.lcp.solve(S, b - free, { tolerance = 1e-13 })
for i = 1, #l do touching = touching + (l[i] > 1e-9 and 1 or 0) end
e:equal("contacts, (57): from (56)", 0, sim.abs(move(l) - v):max(), BAR)
e:above("the same with the printed sign: error, m/s", 1, sim.abs(move(bad) - v):max())
e:equal("contacts, (56): velocity, m/s", 0, against_step(world, q, v), BAR)
e:above("contacts that push, of " .. q.count, 10, touching)

world = frictionless()
pile(world)
chain(world, 0, -3, 4.9)
q = posed(world)
e:equal("joints and contacts, (39) and (56)", 0, against_step(world, q, velocities(q)), BAR)
e:finish()
