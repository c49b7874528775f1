-- A planner makes a planar walker of seven links (trunk, thighs, shins, feet) walk over an uneven floor while it is
-- pushed. At each decision, iterations of iLQR improve a plan of joint angles for the next 0.8 s, through the contacts
-- of the feet. The cost does not describe walking. It rewards an upright trunk and forward motion.
--
--   sim2d scripts/control/walker.lua [--seconds 30 --seed 2]
local sim = require "sim2d"

local exp = sim.experiment("Walker by a planner", { seconds = { 3, "s to walk" }, seed = { 1, "of start and pushes" },
  iterations = { 4, "of each plan" }, push = { 6, "largest push, N s" }, step = { 0.02, "height of the steps of the floor, m" },
  time = { false, "print the plans a second" } })
local o = exp.options
local UP = 1.15      -- height of the trunk when the walker stands, m
local PUSH_EVERY = 3 -- s

local world = sim.world { dt = 1 / 60 }
world:box { type = "static", position = { 40, -0.5 }, size = { 200, 1 }, friction = 1 }
for k = 1, o.step > 0 and 30 or 0 do
  world:box { type = "static", position = { 2 * k + 0.5, o.step / 2 }, size = { 1, o.step }, friction = 1 }
end

local function link(name, x, y, w, h, mass, mask)
  return world:box { name = name, size = { w, h }, mass = mass, position = { x, y }, mask = mask or 0, category = 2, friction = 1 }
end

-- The feet touch the ground. Other parts do not touch anything. The walker starts just above the ground with random
-- joint angles.
sim.random.seed(o.seed)
local trunk = link("trunk", 0, UP + 0.02, 0.2, 0.5, 12)
local feet, hinges = {}, {}
for side = 1, 2 do
  local thigh, shin = link("thigh", 0, 0.71, 0.1, 0.42, 3), link("shin", 0, 0.29, 0.08, 0.42, 2)
  feet[side] = link("foot", 0.05, 0.05, 0.25, 0.06, 0.8, 1)
  local joints = { { "hip", thigh, trunk, 0.92, 300, 20, { -0.6, 0.9 } }, { "knee", shin, thigh, 0.5, 300, 20, { -1.2, 0 } },
    { "ankle", feet[side], shin, 0.08, 100, 8, { -0.5, 0.5 } } }
  for _, j in ipairs(joints) do
    local hinge = world:hinge { j[2], j[3], anchor = { 0, j[4] } }
    world:actuator { j[1] .. " " .. side, joint = hinge, kind = "position", kp = j[5], kd = j[6], range = j[7] }
    hinges[#hinges + 1] = hinge
  end
end
for _, hinge in ipairs(hinges) do hinge.angle = sim.random.uniform(-0.03, 0.03) end

local law = sim.control.planner(world, { horizon = 0.8, period = 0.05, iterations = o.iterations, cost = {
  { "speed", of = trunk, field = "vx", goal = 0.7, weight = 8 }, { "height", of = trunk, field = "y", goal = UP, weight = 60 },
  { "upright", of = trunk, field = "angle", weight = 20 }, { "turning", of = trunk, field = "omega", weight = 0.2 },
  controls = 0.5, terminal = { speed = 2, height = 20, upright = 10 } } })
world:control(law, { period = 0.05 })

-- A step is counted when the other foot moves in front.
local lowest, steps, front, pushed = UP, 0, nil, 0
local started = sim.clock()
for _ in world:steps(o.seconds) do
  local now = feet[1].x > feet[2].x and 1 or 2
  if front and now ~= front then steps = steps + 1 end
  front, lowest = now, math.min(lowest, trunk.y)
  if world.time >= PUSH_EVERY * (pushed + 1) then
    pushed = pushed + 1
    trunk:apply_impulse { sim.random.uniform(-o.push, o.push), 0 }
  end
  if trunk.y < 0.7 then break end -- it has fallen
end
print(("%.2f m in %.1f s, %d steps, %d pushes, trunk never below %.2f m, %d plans"):format(trunk.x, world.time, steps,
  pushed, lowest, law.decisions))
if o.time then print(("%.0f plans a second"):format(law.decisions / (sim.clock() - started))) end
exp:above("way, m a second", 0.4, trunk.x / o.seconds)
exp:above("steps a second", 1, steps / o.seconds)
exp:above("lowest height of the trunk, m", 0.9, lowest)
exp:finish()
