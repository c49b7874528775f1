-- A cart-pole learns its own model from its first swings and then swings up. The masses and the friction of its rail
-- are unknown. The cart pushes itself back and forth for two seconds. Least squares through the steps finds the three
-- parameters with which the engine reproduces the measured positions, despite noise of one millimetre. iLQR with this
-- model finds a swing-up, and the true world follows it with the feedback of the plan. A plan for the initial guess of
-- the parameters is followed in the same way, but it misses the goal.
local sim = require "sim2d"

local exp = sim.experiment("A cart-pole that learns itself, and swings up")

local DT, NOISE = 1 / 80, 1e-3 -- step in s; noise in m and rad
local TRUTH = { cart = 1, pole = 0.25, friction = 0.4 } -- kg, kg, N
local GUESS = { cart = 0.6, pole = 0.5, friction = 0.1 }
local NAMES = { "cart", "pole", "friction" }

local function cart_pole(p)
  local world = sim.world { dt = DT }
  local cart = world:box { size = { 0.4, 0.2 }, mass = p.cart, mask = 0 }
  local pole = world:box { size = { 0.05, 1 }, mass = p.pole, position = { 0, -0.5 }, mask = 0 }
  local rail = world:slider { cart, axis = { 1, 0 }, anchor = { 0, 0 }, friction = p.friction }
  local hinge = world:hinge { pole, cart, anchor = { 0, 0 } }
  world:actuator { "push", joint = rail, kind = "force", range = { -8, 8 } }
  return world, rail, hinge
end

-- Returns the positions at every eighth step while the cart pushes itself.
local function swings(p)
  local world, rail, hinge = cart_pole(p)
  local seen = {}
  for k = 1, 160 do
    local t = k * DT
    world:act { 3 * math.sin(5 * t) + 2 * math.sin(11 * t) }
    world:step()
    if k % 8 == 0 then seen[#seen + 1], seen[#seen + 2] = rail.translation, hinge.angle end
  end
  return sim.array(seen)
end

local seen = swings(TRUTH)
seen = seen + NOISE * sim.randn(seen.shape)
local learned, _, info = sim.optimize.least_squares(function(p) return swings(p) - seen end, GUESS,
  { lower = { cart = 0.1, pole = 0.02, friction = 0 } })
for _, name in ipairs(NAMES) do
  exp:equal(name .. (name == "friction" and ", N" or ", kg"), TRUTH[name], learned[name], 3 * info.deviation[name])
  exp:below("  standard error", 2e-3, info.deviation[name])
end
exp:below("runs of two seconds, Jacobians among them", 30, info.evaluations)

-- The true world follows the plan of a model with these parameters. Returns the final distances from the upright and
-- from the origin.
local function swing_up(name, p)
  local world, rail, hinge = cart_pole(TRUTH)
  local model = cart_pole(p)
  local u0 = {}
  for k = 1, 80 do u0[k] = { 2 * math.sin(4 * k / 20) } end
  local plan = sim.control.trajectory(world, { model = model, horizon = 4, period = 1 / 20, u0 = u0,
    coordinates = { rail, hinge }, cost = {
      { "cart", of = rail, field = { "translation", "speed" }, weight = 0.01 },
      { "pole", of = hinge, field = { "angle", "speed" }, goal = { math.pi, 0 }, weight = 0.01 },
      controls = 0.01, terminal = { cart = 20, pole = 100 } } })
  world:control(plan:law())
  world:run { duration = 4, progress = false }
  local off, away = math.abs(hinge.angle - math.pi), math.abs(rail.translation)
  print(("%-8s cost %.3f after %d iterations; ends %.4f rad from upright, %.4f m away"):format(name, plan.cost,
    plan.iterations, off, away))
  return off, away
end

local best = swing_up("true", TRUTH)
local off, away = swing_up("learned", learned)
local wrong, far = swing_up("guessed", GUESS)
exp:below("plan by the true numbers: ends off upright by, rad", 0.02, best)
exp:below("by those that were learned, rad", 0.02, off)
exp:below("  and from the origin, m", 0.02, away)
exp:above("by those that were guessed, rad", 0.1, wrong)
exp:above("  and from the origin, m", 0.1, far)
exp:finish()
