-- A cart-pole learns to swing up by evolution strategies: a population of controllers, each in its own world, all
-- stepped by sim.batch.
--
-- A controller has seven parameters, which are the weights of its inputs. Two inputs are the position and speed of the
-- cart. Far from the top, two inputs pump energy: the rotation rate times the cosine, with and without the factor of
-- the missing energy. Near the top, the inputs are the angle, its rate and the position of the cart. Mirrored samples
-- around the best guess are ranked by their cost. The guess then moves along the sum of the samples, weighted by rank
-- (Salimans et al. 2017, "Evolution strategies as a scalable alternative to reinforcement learning"). The method uses
-- no derivatives of the model.
local sim = require "sim2d"

local e = sim.experiment("Swing-up by evolution strategies", {
  generations = { 80, "" }, population = { 48, "controllers of a generation" }, seconds = { 6, "of an episode" } })
local PARAMETERS, RATE, SPREAD, TRIALS = 7, 0.15, 0.3, 24
local DT, HOLD = 0.01, 2 -- step length in s; steps per command
local G, LENGTH = 9.81, 1

-- the hinge angle is 0 at creation, when the pole hangs down
local function build()
  local world = sim.world { dt = DT, gravity = { 0, -G } }
  local cart = world:box { name = "cart", size = { 0.4, 0.2 }, mass = 1 }
  local pole = world:box { name = "pole", size = { 0.05, LENGTH }, mass = 0.1, position = { 0, -LENGTH / 2 } }
  local rail = world:slider { cart, anchor = { 0, 0 }, axis = { 1, 0 }, limits = { -3, 3 } }
  local hinge = world:hinge { pole, cart, anchor = { 0, 0 }, name = "hinge" }
  world:no_contact(cart, pole)
  world:actuator { "push", joint = rail, kind = "force", range = { -15, 15 } }
  world:observe { "cart", of = cart, field = { "x", "vx" } }
  world:observe { "pole", of = hinge, field = { "angle", "speed" } }
  return world
end

-- Returns the command of each world. Each row holds the observations or the controller of one world.
local function command(p, seen)
  local x, v, angle, speed = seen:column(1), seen:column(2), seen:column(3), seen:column(4)
  local s, c = -sim.sin(angle), -sim.cos(angle) -- sine and cosine of the angle from the top
  local top = sim.clamp(5 * c - 4, 0, 1)        -- weight: 1 at the top, 0 for a cosine below 0.8
  local pump = speed * c * (1 - top)
  local missing = 1.5 * G / LENGTH * (1 - c) - speed * speed / 2 -- missing energy divided by the inertia
  local u = p:column(1) * x + p:column(2) * v + p:column(3) * pump + p:column(4) * pump * missing
    + (p:column(5) * s + p:column(6) * speed + p:column(7) * x) * top * 10
  return u:reshape(u.size, 1)
end

-- Returns the cost of an episode for each controller, all run in one batch.
local steps = math.floor(e.options.seconds / (DT * HOLD) + 0.5)
local COST = { { of = "hinge", field = "angle", goal = math.pi, wrap = true, norm = "smooth_abs", p = 0.2 },
  { of = "cart", field = "x", weight = 0.2 }, { of = "controls", weight = 1e-4 } }
local START = { { of = "hinge", field = "angle", uniform = { -0.4, 0.4 } },
  { of = "cart", field = "vx", uniform = { -0.2, 0.2 } } }

local function episode(batch, p, seed)
  local seen, total = batch:reset { seed = seed }, sim.zeros(#batch)
  for _ = 1, steps do
    local rewards
    seen, rewards = batch:step(command(p, seen), HOLD)
    total = total - rewards
  end
  return total
end

-- ---- Evolution --------------------------------------------------------------------------------

local n = e.options.population // 2 * 2
local batch = sim.batch(build(), n, { cost = COST, parameters = START, autoreset = "disabled", seed = 1 })
local random = sim.random.split()
random:seed(5)
local guess, history = sim.zeros(PARAMETERS), {}
local start = sim.clock()

-- The weights depend on the rank and have the sum 0. The best sample has the weight 1/2, the worst -1/2.
local function by_rank(costs)
  local order, weights = {}, {}
  for i = 1, #costs do order[i] = i end
  table.sort(order, function(i, j) return costs[i] < costs[j] or costs[i] == costs[j] and i < j end)
  for rank, i in ipairs(order) do weights[i] = 0.5 - (rank - 1) / (#order - 1) end
  return sim.array(weights)
end

for generation = 1, e.options.generations do
  local rows = {}
  for i = 1, n, 2 do
    rows[i], rows[i + 1] = {}, {}
    for k = 1, PARAMETERS do
      rows[i][k] = random:normal()
      rows[i + 1][k] = -rows[i][k]
    end
  end
  local noise = sim.array(rows)
  local costs = episode(batch, noise * SPREAD + guess, generation)
  history[generation] = costs:mean()
  local step = by_rank(costs:table()):reshape(1, n):mm(noise):reshape(PARAMETERS)
  guess = guess + step * (12 * RATE / n) -- factor 12, because the mean square of the weights is 1/12
end
local seconds = sim.clock() - start

-- ---- The result -----------------------------------------------------------------------------

-- Test with new initial states whether the pole ends up at the top.
local trial = sim.batch(build(), TRIALS, { cost = COST, parameters = START, autoreset = "disabled", seed = 99 })
local function all(p)
  local same = {}
  for i = 1, TRIALS do same[i] = p:table() end
  return sim.array(same)
end
local idle = episode(trial, all(sim.zeros(PARAMETERS)), 4711):mean()
local cost = episode(trial, all(guess), 4711):mean()
local up, angles = 0, trial:get("hinge", "angle")
for i = 1, TRIALS do
  if -math.cos(angles[i]) > 0.95 then up = up + 1 end
end
local work = e.options.generations * n * steps * HOLD
print(("%d world-steps, %.2g a second, %d threads"):format(work, work / seconds, batch.threads))
print()
e:below("cost of doing nothing, the learnt controller's part of it", 0.4, cost / idle)
e:above(("of %d new beginnings, up in the end"):format(TRIALS), 18, up)
local generations = {}
for i = 1, #history do generations[i] = i end
e:figure(sim.plot { title = "Evolution strategies", x = "generation", y = { label = "mean cost", log = true },
  { generations, history } })
e:finish()
