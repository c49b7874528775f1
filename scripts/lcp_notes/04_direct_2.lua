-- An LCP for sliding that has no solution as soon as anything moves, and a solver that reports it. The note's second
-- direct formulation uses the friction itself as w instead of the remaining friction. With z = (a, b), v+ = a - b and
-- p = v / h + u, the problem is
--   M = [0 -1/h; -1/h 0],  q = (-p, p):   w1 = -b / h - p,   w2 = -a / h + p.
-- One of -p and p is negative, and a, b >= 0 make it smaller, so the problem is infeasible unless p = 0. (The note
-- comments: "It just doesn't work. Yikes.") With mu, the problem is 3 x 3 in z = (l+, l-, gamma), and the same two rows
-- make it infeasible. The code of the notes used a different q, (v + max(h u, 0), -v - min(h u, 0)). With this q, the
-- problem is feasible if the push opposes the motion and h |u| >= |v|. In this case z = 0 is a solution, with v+ = 2
-- v + h u for any mu.
local sim = require "sim2d"

local H, MU = 1, 1 -- step in s; mu m g = 1 N

local function two(p) return { { 0, -1 / H }, { -1 / H, 0 } }, { -p, p } end
local function three(p) return { { 0, -H, 0 }, { -H, 0, 0 }, { -1, -1, 0 } }, { H * p, -H * p, MU } end
local function changed(v, u)
  return { { 0, -H, 0 }, { -H, 0, 0 }, { -1, -1, 0 } }, { v + math.max(H * u, 0), -v - math.min(H * u, 0), MU }
end

local function status(M, q)
  local z, w = sim.lcp.solve(M, q)
  return z and "solved" or w, w
end

-- The proof is a row with q_i < 0 and no positive entry, so no z >= 0 makes w_i >= 0.
local function hopeless(M, q)
  for i, row in ipairs(M) do
    if q[i] < 0 and math.max(table.unpack(row)) <= 0 then return true end
  end
  return false
end

local function threshold(x) return x > H * MU and x - H * MU or x < -H * MU and x + H * MU or 0 end

local world = sim.world { stepping = "speculative", dt = H, gravity = { 0, -1 }, combine_friction = "min" }
world:segment { from = { -1e3, 0 }, to = { 1e3, 0 }, friction = 100 }
local box = world:box { size = { 4, 0.2 }, mass = 1, friction = MU }
local function engine_step(v, u)
  box.position, box.angle, box.velocity, box.angular_velocity = { 0, 0.1 }, 0, { v, 0 }, 0
  box:apply_force { u, 0 }
  world:step()
  return box.vx
end

local e = sim.experiment("Direct formulation 2: no solution",
  { cases = { 300, "random problems" }, seed = { 0, "of the random numbers" } })
local random = sim.random
random.seed(e.options.seed)
local count = { two = 0, three = 0, proved = 0, changed = 0, predicted = 0 }
local points = { solved = { {}, {} }, infeasible = { {}, {} } }
local engine, doubled = 0, 0
for _ = 1, e.options.cases do
  local v, u = random.uniform(-2, 2), random.uniform(-2, 2)
  local p = v / H + u
  if status(two(p)) == "infeasible" then count.two = count.two + 1 end
  if status(three(p)) == "infeasible" then count.three = count.three + 1 end
  if hopeless(two(p)) and hopeless(three(p)) then count.proved = count.proved + 1 end
  local said, w = status(changed(v, u))
  local opposed = u * v <= 0 and math.abs(H * u) >= math.abs(v)
  if said == (opposed and "solved" or "infeasible") then count.predicted = count.predicted + 1 end
  if said == "solved" then
    count.changed = count.changed + 1
    doubled = math.max(doubled, math.abs(w[1] - w[2] - (2 * v + H * u)))
  end
  local list = points[said]
  list[1][#list[1] + 1], list[2][#list[2] + 1] = v, H * u
  engine = math.max(engine, math.abs(engine_step(v, u) - threshold(v + H * u)))
end
local n = e.options.cases
e:equal("2x2: called infeasible", n, count.two)
e:equal("3x3: called infeasible", n, count.three)
e:equal("proved by a row: q_i < 0, no positive entry", n, count.proved)
e:equal("2x2 at rest, p = 0", "solved", (status(two(0))))
e:equal("q as in the code: solved where opposed, else infeasible", n, count.predicted)
e:equal("part that is solved: 1/4 in the mean", 0.25, count.changed / n, 4 * math.sqrt(0.25 * 0.75 / n))

e:equal("what comes out there: 2 v + h u, off by", 0, doubled, 1e-12)
e:equal("the same to the engine: against S(v + h u), m/s", 0, engine, 1e-9)
e:equal("its steps that were not solved", 0, world:stats().unsolved)

e:figure(sim.plot { title = "Is there a solution?", x = "v, m/s", y = { label = "h u, m/s", range = { -2.1, 2.1 } },
  width = 520, height = 480, legend = "right",
  { points.infeasible[1], points.infeasible[2], kind = "scatter", marker = "cross", label = "none" },
  { points.solved[1], points.solved[2], kind = "scatter", label = "q changed" },
  { { -2, 2 }, { 2, -2 }, label = "p = 0" } })
e:finish()
