-- A block slides in both directions, with its velocity split into two parts: the result contains friction, and forces
-- that are not real. The velocity is v = a - b with a, b >= 0. The friction l- acts against a, and l+ acts against b,
-- each up to mu g. The problem
--   a+ = h p - h l-,   b+ = -h p - h l+,   p = v / h + u,   0 <= a+ _|_ mu g - l- >= 0,  0 <= b+ _|_ mu g - l+ >= 0
-- is the LCP M = I / h, q = (mu g - p, mu g + p). M is definite, so there is one solution, v+ = S(h p), with the soft
-- threshold S(x) = sign(x) max(0, |x| - mu g h). The difference of the two rows has factors of two,
--   v+ = 2 (v + h u) + h (l+ - l-),
-- because each row contains all of v + h u. The inactive row, b+ = 0, compensates this by l+ = -p, which is a
-- bookkeeping entry and not a force. Only the positive parts, max(l+, 0) - max(l-, 0), push the block.
local sim = require "sim2d"

local function lcp_step(a, b, u, c)
  local p, limit = (a - b) / c.h + u, c.mu * c.g
  local z, w = sim.lcp.solve({ { 1 / c.h, 0 }, { 0, 1 / c.h } }, { limit - p, limit + p })
  return z[1], z[2], limit - w[1], limit - w[2] -- returns a+, b+, l-, l+
end

local function threshold(x, limit)
  return x > limit and x - limit or x < -limit and x + limit or 0
end

-- In the engine, which has only v, the same problem is a flat box on a floor.
local function block(c)
  local world = sim.world { stepping = "speculative", dt = c.h, gravity = { 0, -c.g }, combine_friction = "min" }
  world:segment { from = { -1e4, 0 }, to = { 1e4, 0 }, friction = 100 }
  return world, world:box { size = { 4, 0.2 }, position = { 0, 0.1 }, mass = 1, friction = c.mu }
end

local e = sim.experiment("Both ways, directly: v+ = S(v + h u)", { steps = { 30000, "random steps" } })
local random, points = sim.random, { x = {}, v = {}, plus = {}, minus = {} }
for k, c in ipairs { { mu = 1, g = 1, h = 1, push = 3 }, { mu = 0.5, g = 9.81, h = 0.01, push = 30 } } do
  random.seed(k)
  local world, box = block(c)
  local a, b, sticking = 0, 0, 0
  local worst = { product = 0, closed = 0, two = 0, force = 0, engine = 0 }
  local function note(name, value) worst[name] = math.max(worst[name], math.abs(value)) end
  for i = 1, e.options.steps do
    local u, v = random.uniform(-c.push, c.push), a - b
    local minus, plus
    a, b, minus, plus = lcp_step(a, b, u, c)
    local force = math.max(plus, 0) - math.max(minus, 0)
    note("product", a * b)
    note("closed", a - b - threshold(v + c.h * u, c.mu * c.g * c.h))
    note("two", a - b - (2 * (v + c.h * u) + c.h * (plus - minus)))
    note("force", a - b - (v + c.h * (u + force)))
    if a == 0 and b == 0 then sticking = sticking + 1 end
    if i <= 2000 then -- one trajectory, which is never reset to the trajectory of the LCP
      box:apply_force { u, 0 }
      world:step()
      note("engine", box.vx - (a - b))
    end
    if k == 1 and i <= 50 then
      points.x[i], points.v[i], points.plus[i], points.minus[i] = v + u, a - b, plus, minus
    end
  end
  local name = ("h = %g: "):format(c.h)
  e:equal(name .. "largest product a b", 0, worst.product)
  e:equal(name .. "against S(v + h u), m/s", 0, worst.closed, 1e-12)
  e:equal(name .. "against 2 (v + h u) + h (l+ - l-)", 0, worst.two, 1e-12)
  e:equal(name .. "against v + h u and positive parts", 0, worst.force, 1e-12)
  e:equal(name .. "engine, 2000 steps, m/s", 0, worst.engine, 1e-9)
  e:above(name .. "steps that stick", e.options.steps // 20, sticking)
end

-- In the note's example, the block slides at 1 without friction or push. Its l+ = -1 is a bookkeeping entry.
local a, b, minus, plus = lcp_step(1, 0, 0, { h = 1, mu = 0, g = 1 })
e:equal("the note's example: a+", 1, a)
e:equal("b+", 0, b)
e:equal("l+, fictitious", -1, plus)
e:equal("l-", 0, minus)

local x = { label = "v + h u, m/s", range = { -5, 5 } }
e:figure(sim.plot.grid { title = "Both ways, h = μ g = 1",
  sim.plot { title = "Velocity", x = x, y = "v⁺, m/s",
    { function(s) return threshold(s, 1) end, -5, 5, label = "S(v + h u)" },
    { points.x, points.v, kind = "scatter", marker = "circle", label = "LCP" } },
  sim.plot { title = "Friction, no force below 0", x = x, y = { label = "friction, N", range = { -5, 2 } },
    { points.x, points.plus, kind = "scatter", label = "l⁺" },
    { points.x, points.minus, kind = "scatter", marker = "cross", label = "l⁻" } } })
e:finish()
