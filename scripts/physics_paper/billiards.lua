-- Friction and masses of billiard balls are learned from the first eight frames of one shot. For new shots, three
-- frames are then enough to predict the next ten frames, including impacts, eighty times more accurately than straight
-- lines.
--
--   between impacts:  dv/dt = -mu g v / |v|                          (a sliding disc stops after v^2 / 2 mu g)
--   an impact, along the line of centres:  m1 v1 + m2 v2 is conserved,  v2' - v1' = e (v1 - v2)
--
-- Only ratios of masses matter, so the mass of the first ball is 1. Before an impact no mass can be determined. The
-- paper ("End-to-end differentiable physics for learning and control") contains this scene, but its text gives no
-- numbers.
local sim = require "sim2d"
local e = sim.experiment("Billiards: learn from eight frames, predict from three", { shots = { 20, "new ones" },
  noise = { 5e-4, "m, of positions" } })

local G, R, E, DT, PER_FRAME = 9.81, 0.0286, 0.9, 1 / 240, 16 -- fifteen frames per second

-- Returns the positions of all balls (x1, y1, x2, ...), with one row per frame.
local function shot(p, layout, frames, v)
  local world = sim.world { gravity = { 0, 0 }, dt = DT, stepping = "event" }
  local masses, seen = { 1, p.m2, p.m3 }, {}
  for i, place in ipairs(layout) do
    local ball = world:circle { position = place, radius = R, mass = masses[i], friction = 0, restitution = E,
      velocity = i == 1 and (v or p.v) or { 0, 0 } }
    world:ground_friction { ball, max_force = p.mu * masses[i] * G, max_torque = 0 }
  end
  for _ = 1, frames do
    world:run { steps = PER_FRAME, progress = false }
    for _, ball in ipairs(world.bodies) do
      seen[#seen + 1], seen[#seen + 2] = ball.x, ball.y
    end
  end
  return sim.array(seen, frames, 2 * #layout)
end

local function part(x, from, to) return x:slice { from, to or x.shape[1] } end
local function noisy(x) return x + e.options.noise * sim.randn(x.shape) end
local function guess(seen) return { seen[{ 1, 1 }] / PER_FRAME / DT, seen[{ 1, 2 }] / PER_FRAME / DT } end
local truth = { mu = 0.05, m2 = 1.4, m3 = 0.8, v = { 1.5, 0.02 } }
local start = { { 0, 0 }, { 0.35, 0.01 }, { 0.6, 0.05 } }

-- Compares the engine with the closed form for a central impact.
local v1 = math.sqrt(1.5 ^ 2 - 2 * truth.mu * G * (0.35 - 2 * R)) -- speed of the cue ball at the impact
local v2 = (1 + E) / (1 + truth.m2) * v1
local line = shot(truth, { { 0, 0 }, { 0.35, 0 } }, 45, { 1.5, 0 })
e:equal("central impact: the second ball slides, m", v2 ^ 2 / (2 * truth.mu * G), line[{ 45, 3 }] - 0.35,
  (v1 + v2) * DT / 2) -- a slide that ends within a step has an error of v dt / 2

-- Learns from one shot with eight frames.
local function learn(seen)
  return sim.optimize.least_squares(function(p) return (shot(p, start, 8) - seen):reshape(seen.size) end,
    { mu = 0.02, m2 = 1, m3 = 1, v = guess(seen) }, { lower = { mu = 0, m2 = 0.05, m3 = 0.05 } })
end
local all = shot(truth, start, 18)
local exact, seen = learn(part(all, 1, 8)), noisy(part(all, 1, 8))
local learned, _, info = learn(seen)
for _, name in ipairs { "mu", "m2", "m3" } do
  e:equal(name .. ", frames without noise", truth[name], exact[name], 1e-7)
  e:equal(name .. ", with noise", truth[name], learned[name], 3 * info.deviation[name])
end
e:below("runs of eight frames, Jacobians among them", 20, info.evaluations)

local function straight(seen) -- ten more frames, extrapolated from the last two frames
  local n, rows = seen.shape[1], {}
  for f = 1, 10 do rows[f] = seen[n] + f * (seen[n] - seen[n - 1]) end
  return sim.stack(rows)
end

-- Returns the rms error over the balls in each of the next ten frames, in mm.
local function errors(x, predicted)
  return 1000 * sim.sqrt(((part(x, x.shape[1] - 9) - predicted) ^ 2):sum(2) / (x.shape[2] / 2))
end

e:below("tenth frame after the eight: error, mm", 10, errors(all, part(shot(learned, start, 18), 9))[10])
e:above("  going straight on, mm", 50, errors(all, straight(seen))[10])

-- New shots have three frames without an impact.
local random, x, three = sim.random.uniform, nil, nil
local kinds = { { "straight" }, { "untaught", { mu = 0, m2 = 1, m3 = 1 } }, { "learned", learned },
  { "truth", truth } }
for i = 1, e.options.shots do
  local x2, y2 = random(0.35, 0.5), random(-0.03, 0.03)
  local angle, way = math.asin(y2 / (2 * R)) + random(-0.15, 0.15), random(0.1, 0.25) -- ranges in which all balls are hit
  local layout = { { 0, 0 }, { x2, y2 }, { x2 + way * math.cos(angle), y2 + way * math.sin(angle) } }
  x = shot(truth, layout, 13, { random(1, 1.5), 0 })
  three = noisy(part(x, 1, 3))
  for _, kind in ipairs(kinds) do
    local p = kind[2]
    local v = p and sim.optimize.least_squares(function(v) return (shot(p, layout, 3, v) - three):reshape(18) end,
      guess(three))
    kind.ahead = p and part(shot(p, layout, 13, v), 4) or straight(three)
    kind[2 + i] = errors(x, kind.ahead)
  end
end
local curves = {}
for k, kind in ipairs(kinds) do
  local medians = {}
  for f = 1, 10 do
    local list = {}
    for i = 3, #kind do list[#list + 1] = kind[i][f] end
    table.sort(list)
    medians[f] = list[(#list + 1) // 2]
  end
  curves[k] = { medians, label = kind[1] }
end
e:below("tenth frame after three, learned: median error, mm", 2 * curves[4][1][10], curves[3][1][10])
e:above("  going straight on / learned", 40, curves[1][1][10] / curves[3][1][10])
e:above("  equal masses, no friction / learned", 10, curves[2][1][10] / curves[3][1][10])

local view = { title = "The last of them, from above", x = "x, m", y = "y, m", equal = true, legend = "below" }
for _, what in ipairs { { x, "truth", color = "#aaaaaa" }, { three, "seen", "circle", color = "#222222" },
  { kinds[3].ahead, "learned", "diamond", color = "#3b6fb6" },
  { kinds[1].ahead, "straight", "cross", color = "#c2502e" } } do
  for i = 1, 5, 2 do
    view[#view + 1] = { what[1]:column(i), what[1]:column(i + 1), label = i == 1 and what[2] or nil, color = what.color,
      kind = what[3] and "scatter" or "line", marker = what[3] }
  end
end
e:figure(sim.plot.grid { width = 900, height = 400, view,
  { title = "New shots, after three frames", x = "frames ahead", y = { label = "median error, mm", log = true },
    table.unpack(curves) } })
e:finish()
