-- Compares two kinds of step: Dojo evaluates gaps and lever arms at the end of a step, and the engine at its beginning.
--
--     M (v+ - v) = h f + J(q+)' l,   q+ = q + h v+,   0 <= gap(q+) _|_ ln >= 0,   (mu ln, lt) o (psi, J_t(q+) v+) = 0
--
-- with (mu ln, lt) and (psi, ut) in second-order cones. This problem is nonlinear in q+, whose rotation is stored as
-- (cos, sin). sim.ncp solves it, starting from the end of the free flight. The engine uses J(q) instead of J(q+) and
-- gap + h J v+ instead of gap(q+), which gives a linear complementarity problem. It then projects the positions to
-- correct the overlap of turning bodies. Both steps are of first order in h, because the impact counts at the end of a
-- step. According to the publications, there is no penetration at any h (the paper), and a step takes about 10
-- iterations (the page of the solver).
local sim = require "sim2d"
local e = sim.experiment("A thrown box that lands on a corner and slides to rest",
  { duration = { 1.2, "s" }, fine = { 200, "steps a second, of the shortest steps" } })

local m, width, height, mu, g = 1.2, 0.5, 0.3, 0.3, 9.81
local I = m * (width ^ 2 + height ^ 2) / 12
local corners = { { -1, -1 }, { 1, -1 }, { 1, 1 }, { -1, 1 } }
for _, c in ipairs(corners) do c[1], c[2] = c[1] * width / 2, c[2] * height / 2 end
local start = { angle = 0.3, x = 0, y = 0.45, omega = 4, vx = 1.5, vy = 0 }

-- Returns the residual of a step from s, with x = (cos, sin, x, y), y = (ln .., (mu ln, lt) ..) and z = (gap .., (psi,
-- ut) ..).
local function equations(s, h)
  local c0, s0 = math.cos(s.angle), math.sin(s.angle)
  return function(x, y, z)
    local cos, sin = x[1], x[2]
    local omega = math.atan(sin * c0 - cos * s0, cos * c0 + sin * s0) / h
    local vx, vy = (x[3] - s.x) / h, (x[4] - s.y) / h
    local r = { I * (omega - s.omega), m * (vx - s.vx), m * (vy - s.vy + h * g) }
    for i, corner in ipairs(corners) do
      local px, py = cos * corner[1] - sin * corner[2], sin * corner[1] + cos * corner[2]
      local ln, bound, lt = y[i], y[3 + 2 * i], y[4 + 2 * i]
      r[1], r[2], r[3] = r[1] - px * ln + py * lt, r[2] - lt, r[3] - ln
      r[#r + 1], r[#r + 2], r[#r + 3] = x[4] + py - z[i], mu * ln - bound, vx - omega * py - z[4 + 2 * i]
    end
    return r
  end
end

local function lowest(s)
  local y = math.huge
  for _, c in ipairs(corners) do y = math.min(y, s.y + math.sin(s.angle) * c[1] + math.cos(s.angle) * c[2]) end
  return y
end

-- Runs with Dojo's step. Returns the final state, the depth of the deepest corner, and the iterations per step.
local function dojo(h)
  local s, deepest, iterations = start, 0, 0
  local n = math.floor(e.options.duration / h + 0.5)
  for _ = 1, n do
    local x, _, _, info = sim.ncp.solve { residual = equations(s, h), rotations = { 1 },
      cones = { orthant = 4, soc = { 2, 2, 2, 2 } }, options = { r_tol = 1e-9, b_tol = 1e-9 },
      x0 = { math.cos(s.angle), math.sin(s.angle), s.x + h * s.vx, s.y + h * s.vy } }
    assert(x, info)
    local turn = math.atan(x[2] * math.cos(s.angle) - x[1] * math.sin(s.angle),
      x[1] * math.cos(s.angle) + x[2] * math.sin(s.angle))
    s = { angle = s.angle + turn, x = x[3], y = x[4], omega = turn / h, vx = (x[3] - s.x) / h, vy = (x[4] - s.y) / h }
    deepest, iterations = math.min(deepest, lowest(s)), iterations + info.iterations
  end
  return s, deepest, iterations / n
end

local function engine(h, settings)
  local world = sim.world { dt = h, combine_friction = "max", stepping = settings[1], stabilization = settings[2] }
  world:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 }, friction = 0 }
  local box = world:box { size = { width, height }, mass = m, position = { start.x, start.y }, angle = start.angle,
    angular_velocity = start.omega, velocity = { start.vx, start.vy }, friction = mu }
  local deepest = 0
  for _ = 1, math.floor(e.options.duration / h + 0.5) do
    world:step()
    deepest = math.min(deepest, lowest(box))
  end
  return box, deepest
end

-- The reference has impacts at their exact times, and short steps.
local truth = engine(1 / 6400, { "event" })
local hs, errors, depths = {}, { {}, {}, {} }, { {}, {}, {} }
local most, worst, rest = 0, 0, 0
local function note(i, which, s, deepest)
  errors[which][i], depths[which][i] = math.abs(s.x - truth.x), math.max(-deepest, 1e-17)
end
local rate = 25
while rate <= e.options.fine do
  local i, s, deepest, iterations = #hs + 1, dojo(1 / rate)
  hs[i] = 1 / rate
  note(i, 1, s, deepest)
  note(i, 2, engine(1 / rate, { "speculative" }))
  note(i, 3, engine(1 / rate, { "event" }))
  depths[3][i] = -select(2, engine(1 / rate, { "speculative", "none" })) -- only the linear rows, without projection
  most, worst = math.max(most, iterations), math.max(worst, depths[1][i])
  rest = math.max(rest, math.abs(s.y - height / 2), math.abs(s.angle))
  print(("h = 1/%d s: %.1f iterations, off by %.1f mm; the engine %.1f mm, with impacts at their times %.1f mm"):format(
    rate, iterations, 1000 * errors[1][i], 1000 * errors[2][i], 1000 * errors[3][i]))
  rate = 2 * rate
end
local n = #hs
e:equal("Dojo's step: deepest corner, m (the paper: none)", 0, worst, 1e-9)
e:below("   iterations a step, at most (the page: about 10)", 10, most)
e:equal("   at rest: height and angle, off by", 0, rest, 1e-7)
e:above("the engine's rows alone: deepest corner, 1/50 s, mm", 0.5, 1000 * depths[3][2])
e:equal("   order in h", 2, math.log(depths[3][2] / depths[3][n], hs[2] / hs[n]), 0.4)
e:equal("   projected, m", 0, math.max(table.unpack(depths[2])), 1e-9)
e:equal("off by: order in h, Dojo's step", 1, math.log(errors[1][2] / errors[1][n], hs[2] / hs[n]), 0.3)
e:below("   at the shortest step, mm", 15, 1000 * errors[1][n])
e:below("   the engine's", 15, 1000 * errors[2][n])
e:below("   with impacts at their times", 2, 1000 * errors[3][n])

local step = { label = "step, s", log = true }
e:figure(sim.plot.grid { columns = 2, width = 640, height = 380,
  sim.plot { title = "Where it comes to rest", x = step, y = { label = "off by, m", log = true }, legend = "above",
    { hs, errors[1], label = "Dojo's" }, { hs, errors[2], label = "engine's" }, { hs, errors[3], label = "event" } },
  sim.plot { title = "Deepest corner", x = step, y = { label = "m", log = true }, legend = "above",
    { hs, depths[1], label = "Dojo's" }, { hs, depths[2], label = "engine's" }, { hs, depths[3], label = "unprojected" } } })
e:finish()
