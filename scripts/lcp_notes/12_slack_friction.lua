-- Speeds are an affine function of the unused friction (the slack), and a dozen steps identify this function exactly.
--
-- The slack is the unused friction, s- = mu g - l- and s+ = mu g - l+. In the direct formulation, 0 <= s _|_ v >= 0,
--   (v+, v-)' = -( -v - h u + mu g h,  v + h u + mu g h ) + h (s-, s+),
-- so for h = mu g = 1, least squares on (v, u, 1, s-, s+) finds the rows 1 1 -1 1 0 and -1 -1 -1 0 1. However, this
-- slack belongs to the friction variables of the problem. During sliding, these differ from the actual friction on the
-- opposite side (l+ = -(v + u)). The slack of a measurable friction does not fit any affine law.
local sim = require "sim2d"
local e = sim.experiment("Least squares with slack friction", { rows = { 12, "steps to learn from" } })

local mu = 1 -- with h = m = g = 1
local random = sim.random.split()

-- Makes one step by the direct problem, with z = (v+, v-), w = (s-, s+), M = I and q = (mu - p, mu + p).
local function step(v, u)
  local p = v + u
  local z, w = assert(sim.lcp.solve({ { 1, 0 }, { 0, 1 } }, { mu - p, mu + p }))
  return z, w
end

-- Makes the same step in the engine. Returns its speed and the unused part of mu g.
local function engine(v, u)
  local world = sim.world { stepping = "speculative", dt = 1, gravity = { 0, -1 } }
  world:box { type = "static", position = { 0, -0.5 }, size = { 99, 1 }, friction = mu }
  local box = world:box { position = { 0, 0.05 }, size = { 2, 0.1 }, mass = 1, friction = mu, velocity = { v, 0 } }
  box:apply_force { u, 0 }
  world:step()
  local friction = box.vx - v - u
  return box.vx, mu - math.max(-friction, 0), mu - math.max(friction, 0)
end

local function data(count, v, with_engine)
  local X, measured, Y, worst, seen = {}, {}, {}, 0, { [-1] = 0, [0] = 0, [1] = 0 }
  for i = 1, count do
    local u = random:uniform(-3, 3)
    local z, w = step(v, u)
    X[i], Y[i] = { v, u, 1, w[1], w[2] }, { z[1], z[2] }
    if with_engine then
      local vx, left, right = engine(v, u)
      measured[i] = { v, u, 1, left, right }
      worst = math.max(worst, math.abs(vx - z[1] + z[2]))
    end
    v = z[1] - z[2]
    seen[sim.sign(v)] = seen[sim.sign(v)] + 1
  end
  return sim.array(X), sim.array(Y), worst, seen, measured
end

local truth = sim.array { { 1, -1 }, { 1, -1 }, { -1, -1 }, { 1, 0 }, { 0, 1 } }

local function error_of(X, Y)
  local W, rank = sim.linalg.lstsq(X, Y)
  return sim.max(sim.abs(W - truth)), rank, W
end

local X, Y, seen, _
repeat -- until the data contain slides in both directions
  X, Y, _, seen = data(e.options.rows, 1)
until seen[1] > 2 and seen[-1] > 2
local wrong, rank, W = error_of(X, Y)
for i, name in ipairs { "v", "u", "1", "s-", "s+" } do
  e:equal("v+: weight of " .. name, truth[{ i, 1 }], W[{ i, 1 }], 1e-12)
end
e:equal(e.options.rows .. " steps: largest error of both rows", 0, wrong, 1e-12)
e:equal("   rank", 5, rank)

-- The data need slides in both directions, but no rest. If a run never slides to one side, one column depends on the
-- other columns (s+ = 1 + v + u if it never slides to the left).
local counts, found, one_way, both = {}, {}, 0, 0
local one_way_found, both_found = 0, 0
for n = 4, 20 do
  local exact = 0
  for _ = 1, 100 do
    local x, y, _, seen = data(n, random:uniform(-3, 3))
    local ok = error_of(x, y) < 1e-9
    if ok then exact = exact + 1 end
    if seen[1] == 0 or seen[-1] == 0 then
      one_way, one_way_found = one_way + 1, one_way_found + (ok and 1 or 0)
    elseif seen[1] > 2 and seen[-1] > 2 then
      both, both_found = both + 1, both_found + (ok and 1 or 0)
    end
  end
  counts[#counts + 1], found[#found + 1] = n, exact
end
e:equal("4 steps: runs of 100 identified", 0, found[1])
e:equal(("identified of %d runs that slide one way only"):format(one_way), 0, one_way_found)
e:equal("identified of those that slide both ways thrice", both, both_found)

-- Many steps, with the slack that a force gauge would measure.
local worst, measured
X, Y, worst, seen, measured = data(300, 1, true)
e:equal("300 steps by the engine: largest difference of v", 0, worst, 1e-9)
e:above("   of them stick", 30, seen[0])
local fit = sim.linalg.lstsq(X, Y)
e:equal("300 steps: rmse", 0, (X:mm(fit) - Y):norm() / math.sqrt(600), 1e-12)
measured = sim.array(measured)
fit = sim.linalg.lstsq(measured, Y)
e:above("300 steps, measured slack: rmse", 0.1, (measured:mm(fit) - Y):norm() / math.sqrt(600))

e:figure(sim.plot { title = "System found exactly", x = "steps", y = { label = "runs of 100", range = { 0, 105 } },
  { counts, found } })
e:finish()
