-- A hopper is a body on one springy leg, which a hip swings. A planner with a horizon of half a second, which uses the
-- cross-entropy method over splines, makes it hop forwards. It has to recover from every landing. The hopper runs for
-- three seconds and falls some time later, because splines from so few samples are not a feedback law.
--
--   sim2d scripts/control/hopper.lua [--seconds 3]
local sim = require "sim2d"

local exp = sim.experiment("Hopper by a planner", { seconds = { 1, "s to hop" } })
local HIP, SOLE = 0.6, 0.05 -- heights above the ground, m

local world = sim.world { dt = 1 / 60, stepping = "speculative", contact_margin = 0.3 }
world:box { type = "static", position = { 0, -0.5 }, size = { 60, 1 }, friction = 1 }
-- the parts of the hopper touch the ground, but not each other
local body = world:box { name = "body", size = { 0.6, 0.15 }, mass = 3, inertia = 0.5, position = { 0, HIP }, category = 2, mask = 1 }
local hip = world:circle { radius = 0.04, mass = 0.3, position = { 0, HIP }, mask = 0 }
local foot = world:circle { name = "foot", radius = SOLE, mass = 0.15, position = { 0, SOLE }, friction = 1, category = 4, mask = 1 }
local joint = world:hinge { hip, body, anchor = { 0, HIP } }
local leg = world:slider { foot, hip, axis = { 0, 1 }, anchor = { 0, SOLE }, stiffness = 1500, damping = 5, limits = { -0.2, 0.2 } }
world:actuator { "hip", joint = joint, kind = "torque", range = { -15, 15 } }
world:actuator { "leg", joint = leg, kind = "force", range = { -60, 60 } }

local law = sim.control.planner(world, { method = "cem", horizon = 0.5, period = 0.05, iterations = 5, samples = 40, knots = 6,
  noise = { 3, 10 }, seed = 1, cost = {
    { "speed", of = body, field = "vx", goal = 1, weight = 2 }, { "height", of = body, field = "y", goal = 0.65, weight = 20 },
    { "upright", of = body, field = "angle", weight = 40 }, { "leg", of = joint, field = "angle", weight = 0.3 },
    controls = 1e-4, terminal = { speed = 2, height = 5, upright = 5 } } })
world:control(law, { period = 0.05 })

local lowest, flights, flying = HIP, 0, false
for _ in world:steps(exp.options.seconds) do
  local up = foot.y > SOLE + 0.01
  if up and not flying then flights = flights + 1 end
  flying, lowest = up, math.min(lowest, body.y)
end
local seconds = exp.options.seconds
print(("%.2f m in %.1f s, %d hops, hip never below %.2f m, %d decisions"):format(body.x, seconds, flights, lowest, law.decisions))
exp:above("way, m a second", 0.4, body.x / seconds)
exp:above("hops", math.floor(seconds), flights)
exp:above("lowest height of the body, m", 0.45, lowest)
exp:below("its largest tilt at the end, rad", 0.7, math.abs(body.angle))
exp:finish()
