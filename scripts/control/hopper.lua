-- A hopper is a body on one springy leg, which a hip swings. A planner makes it hop forwards at 1 m/s over an uneven
-- floor while it is pushed. At each decision, three iterations of iLQR improve a plan for the next 0.6 s, through the
-- contacts of the foot with the ground. The cost does not describe hopping. It rewards speed, height and an upright
-- body.
--
--   sim2d scripts/control/hopper.lua [--seconds 60 --seed 2]
local sim = require "sim2d"

local exp = sim.experiment("Hopper by a planner", { seconds = { 4, "s to hop" }, seed = { 1, "of start and pushes" },
  push = { 1.5, "largest push, N s" }, step = { 0.02, "height of the steps of the floor, m" },
  time = { false, "print the plans a second" } })
local o = exp.options
local HIP, SOLE = 0.6, 0.05 -- heights above the ground, m
local PUSH_EVERY = 3        -- s

local world = sim.world { dt = 1 / 60 }
world:box { type = "static", position = { 40, -0.5 }, size = { 200, 1 }, friction = 1 }
for k = 1, o.step > 0 and 30 or 0 do
  world:box { type = "static", position = { 2 * k + 0.5, o.step / 2 }, size = { 1, o.step }, friction = 1 }
end
-- the parts of the hopper touch the ground, but not each other
local body = world:box { name = "body", size = { 0.6, 0.15 }, mass = 3, inertia = 0.5, position = { 0, HIP }, category = 2, mask = 1 }
local hip = world:circle { radius = 0.04, mass = 0.3, position = { 0, HIP }, mask = 0 }
local foot = world:circle { name = "foot", radius = SOLE, mass = 0.15, position = { 0, SOLE }, friction = 1, category = 4, mask = 1 }
local joint = world:hinge { hip, body, anchor = { 0, HIP } }
local leg = world:slider { foot, hip, axis = { 0, 1 }, anchor = { 0, SOLE }, stiffness = 1500, damping = 5, limits = { -0.2, 0.2 } }
world:actuator { "hip", joint = joint, kind = "torque", range = { -15, 15 } }
world:actuator { "leg", joint = leg, kind = "force", range = { -60, 60 } }

-- The hopper is dropped from a random height, and leans.
sim.random.seed(o.seed)
local drop = sim.random.uniform(0, 0.15)
for _, part in ipairs { body, hip, foot } do part.y = part.y + drop end
body.angle = sim.random.uniform(-0.05, 0.05)

local law = sim.control.planner(world, { horizon = 0.6, period = 0.05, iterations = 3, cost = {
  { "speed", of = body, field = "vx", goal = 1, weight = 2 }, { "height", of = body, field = "y", goal = 0.65, weight = 20 },
  { "upright", of = body, field = "angle", weight = 40 }, { "leg", of = joint, field = "angle", weight = 0.3 },
  controls = 1e-4, terminal = { speed = 2, height = 5, upright = 5 } } })
world:control(law, { period = 0.05 })

local lowest, flights, flying, pushed = HIP, 0, false, 0
local started = sim.clock()
for _ in world:steps(o.seconds) do
  local up = #foot:contacts() == 0
  if up and not flying then flights = flights + 1 end
  flying, lowest = up, math.min(lowest, body.y)
  if world.time >= PUSH_EVERY * (pushed + 1) then
    pushed = pushed + 1
    body:apply_impulse { sim.random.uniform(-o.push, o.push), 0 }
  end
  if body.y < 0.3 then break end -- it has fallen
end
print(("%.2f m in %.1f s, %d hops, %d pushes, body never below %.2f m, %d plans"):format(body.x, world.time, flights,
  pushed, lowest, law.decisions))
if o.time then print(("%.0f plans a second"):format(law.decisions / (sim.clock() - started))) end
exp:above("way, m a second", 0.8, body.x / o.seconds)
exp:above("hops a second", 0.8, flights / o.seconds)
exp:above("lowest height of the body, m", 0.4, lowest)
exp:below("its tilt at the end, rad", 0.7, math.abs(body.angle))
exp:finish()
