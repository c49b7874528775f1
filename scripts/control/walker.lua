-- A planner that looks half a second ahead makes a planar walker of seven links (trunk, thighs, shins, feet) walk. It
-- uses the cross-entropy method over splines of target joint angles. The cost does not describe walking. It only
-- rewards an upright trunk and forward motion.
--
--   sim2d scripts/control/walker.lua [--careful --seconds 5]   (a minute or two)
local sim = require "sim2d"

local exp = sim.experiment("Walker by a planner", { seconds = { 1.5, "s to walk" },
  careful = { false, "longer ahead, more samples" } })
local UP = 1.15 -- height of the trunk when the walker stands, m

local world = sim.world { dt = 1 / 60, stepping = "speculative", contact_margin = 0.1 }
world:box { type = "static", position = { 0, -0.5 }, size = { 60, 1 }, friction = 1 }

local function link(name, x, y, w, h, mass, mask)
  return world:box { name = name, size = { w, h }, mass = mass, position = { x, y }, mask = mask or 0, category = 2, friction = 1 }
end

-- The feet touch the ground. Other parts do not touch anything.
local trunk = link("trunk", 0, UP, 0.2, 0.5, 12)
local feet = {}
for side = 1, 2 do
  local thigh, shin = link("thigh", 0, 0.69, 0.1, 0.42, 3), link("shin", 0, 0.27, 0.08, 0.42, 2)
  feet[side] = link("foot", 0.05, 0.03, 0.25, 0.06, 0.8, 1)
  local joints = { { "hip", thigh, trunk, 0.9, 300, 20, { -0.6, 0.9 } }, { "knee", shin, thigh, 0.48, 300, 20, { -1.2, 0 } },
    { "ankle", feet[side], shin, 0.06, 100, 8, { -0.5, 0.5 } } }
  for _, j in ipairs(joints) do
    world:actuator { j[1] .. " " .. side, joint = world:hinge { j[2], j[3], anchor = { 0, j[4] } }, kind = "position",
      kp = j[5], kd = j[6], range = j[7] }
  end
end

local careful = exp.options.careful
local law = sim.control.planner(world, { method = "cem", period = 0.05, seed = 2, horizon = careful and 0.8 or 0.5,
  iterations = careful and 4 or 2, samples = careful and 50 or 24, knots = careful and 5 or 4, noise = careful and 0.25 or 0.3, cost = {
    { "speed", of = trunk, field = "vx", goal = 0.7, weight = 8 }, { "height", of = trunk, field = "y", goal = UP, weight = 60 },
    { "upright", of = trunk, field = "angle", weight = 20 }, { "turning", of = trunk, field = "omega", weight = 0.2 },
    controls = 0.5, terminal = { speed = 2, height = 20, upright = 10 } } })
world:control(law, { period = 0.05 })

-- A step is counted when the other foot moves in front.
local lowest, steps, front = UP, 0, nil
for _ in world:steps(exp.options.seconds) do
  local now = feet[1].x > feet[2].x and 1 or 2
  if front and now ~= front then steps = steps + 1 end
  front, lowest = now, math.min(lowest, trunk.y)
  if trunk.y < 0.7 then break end -- it has fallen
end
print(("%.2f m in %.2f s, %d steps, trunk never below %.2f m, %d decisions"):format(trunk.x, world.time, steps, lowest, law.decisions))
exp:above("way, m a second", 0.3, trunk.x / world.time)
exp:above("steps", 1, steps)
exp:above("lowest height of the trunk, m", 0.9, lowest)
exp:finish()
