-- A ball of known mass strikes a hanging chain, and the motion determines the mass of the chain: ten runs find it to
-- eight digits. The experiment, its scene, its duration of 10 s and its start are taken from "End-to-end differentiable
-- physics for learning and control". Lengths are in units of 100 pixels.
--
--   minimize over m:  L(m) = mean over steps k and bodies b of |x_kb(m) - seen_kb|^2
--
-- Between 4 and 5 s the chain swings back into the ball. With fixed steps, this impact falls into one step or the next,
-- so L jumps, and descent ends in a local minimum near 7. With steps that are split at impacts ("event"), L is smooth.
--
-- A noise of s in all positions causes a standard deviation of s / sqrt(J'J) in m, with J = dx/dm. Where L vanishes,
-- the second derivative of L is 2 J'J / n for n observed numbers.
local sim = require "sim2d"

local e = sim.experiment("The mass of a chain that a ball strikes", { noise = { 0.01, "of positions: 1 pixel" } })

local LINKS, START, TRUTH = 10, 0.97, 7 -- nine links each have a tenth of the mass; the uppermost link has the mass 1

local function swing(mass, steps, stepping)
  local world = sim.world { dt = 1 / 30, stepping = stepping or "event", gravity = { 0, -1 },
    combine_friction = "average" }
  local above
  for i = 0, LINKS - 1 do
    local link = world:box { size = { 0.2, 0.6 }, position = { 0, -0.2 - 0.5 * i }, mass = i == 0 and 1 or mass / LINKS,
      gravity_scale = i == 0 and 0 or 1, friction = 0.9, restitution = 0.5 }
    world:hinge { link, above, anchor = { 0, i == 0 and 0 or 0.05 - 0.5 * i } }
    above = link
  end
  world:circle { radius = 0.2, position = { -2.5, -4.7 }, velocity = { 1.5, 0 }, mass = 1, gravity_scale = 0,
    friction = 0.9, restitution = 1 }
  local x = {}
  for _ = 1, steps do
    world:step()
    for _, body in ipairs(world.bodies) do
      x[#x + 1], x[#x + 2] = body.x, body.y
    end
  end
  return sim.array(x)
end

local function loss(mass, seen, steps, stepping)
  local miss = swing(mass, steps, stepping) - seen
  return miss:dot(miss) / miss.size
end

-- The unknown is the logarithm of the mass, so every number gives a valid mass.
local function fit(seen, steps, options)
  local log_m, _, info = sim.optimize.minimize(function(l) return loss(sim.exp(l), seen, steps) end, math.log(START),
    options)
  return math.exp(log_m), info
end

local STEPS, FEW = 300, 75 -- runs of 10 s and 2.5 s; the impact is at 1.4 s

-- ---- Several masses ------------------------------------------------------------------------------

local series = {}
for _, truth in ipairs { 0.5, 2, 7, 28 } do
  local seen, runs, errors = swing(truth, STEPS), { 1 }, { math.abs(START / truth - 1) }
  local began = sim.clock()
  local mass, info = fit(seen, STEPS, { callback = function(l, _, entry)
    runs[#runs + 1], errors[#errors + 1] = entry.evaluations, math.max(1e-12, math.abs(math.exp(l) / truth - 1))
    return errors[#errors] == 1e-12 -- rounding
  end })
  local seconds = sim.clock() - began
  e:equal(("mass of %g"):format(truth), truth, mass, 1e-3 * truth)
  if truth == TRUTH then
    e:below("  runs with gradient (lcp-physics: 24)", 24, info.evaluations)
    print(("the mass of 7 took %.2f s (lcp-physics: 83 s)"):format(seconds))
  end
  series[#series + 1] = { runs, errors, label = ("mass %g"):format(truth) }
end

-- ---- The paper's descent: RMSprop with rate 0.5, 24 iterations -----------------------------------

local seen = { event = swing(TRUTH, STEPS), speculative = swing(TRUTH, STEPS, "speculative") }
local function descend(stepping)
  local ms, began = {}, sim.clock()
  sim.optimize.minimize(function(m) return loss(m, seen[stepping], STEPS, stepping) end, START, { method = "rmsprop",
    learning_rate = 0.5, max_iterations = 24, callback = function(m) ms[#ms + 1] = m end })
  return ms, sim.clock() - began
end
local split, seconds = descend "event"
local fixed = descend "speculative"
e:equal("RMSprop: error after 1 iteration (lcp-physics: -14.7 %)", -0.147, split[1] / TRUTH - 1, 5e-4)
e:below("  after 24, steps split at contacts", 5e-3, math.abs(split[#split] / TRUTH - 1))
e:above("  after 24, fixed steps: in a hollow", 2e-2, math.abs(fixed[#fixed] / TRUTH - 1))
print(("24 iterations of RMSprop took %.2f s"):format(seconds))

-- ---- Noise ---------------------------------------------------------------------------------------

local clean, noise, tries = swing(TRUTH, FEW), e.options.noise, 12
local bend = sim.hvp(function(p) return loss(p.m, clean, FEW) end, { m = TRUTH }, { m = 1 }).m
local expected, sum = noise / math.sqrt(bend / 2 * clean.size), 0
for _ = 1, tries do
  sum = sum + (fit(clean + noise * sim.randn(clean.size), FEW) - TRUTH) ^ 2
end
e:equal(("deviation of the mass, %d records of 2.5 s with noise"):format(tries), expected, math.sqrt(sum / tries),
  3 * expected / math.sqrt(2 * tries))

-- ---- The figure ----------------------------------------------------------------------------------

local ms, losses = sim.linspace(6.5, 7.5, 41):table(), { event = {}, speculative = {} }
for kind, list in pairs(losses) do
  for i, m in ipairs(ms) do list[i] = loss(m, seen[kind], STEPS, kind) end
end
e:figure(sim.plot.grid { width = 900, height = 360,
  { title = "The mass, from a guess of 0.97", x = "runs with gradient", y = { label = "relative error", log = true },
    table.unpack(series) },
  { title = "Loss of 10 s of motion", x = "mass", y = "loss", { ms, losses.speculative, label = "fixed steps" },
    { ms, losses.event, label = "split at contacts" } } })
e:finish()
