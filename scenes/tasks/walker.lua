-- Walker: a trunk on two legs, with seven links in total, has to walk forwards without falling (after dm_control's
-- planar walker).
--
-- Observations: the height (m) and angle (rad) of the trunk, the angles of hip, knee and ankle of each leg (rad), and
-- the forward and upward speed (m/s). They also include the angular speeds of the trunk and the joints (rad/s), and for
-- each foot, 1 while it touches the ground. Action: the torques of hip, knee and ankle of each leg, up to 150, 150 and
-- 80 N m, for 1/60 s. Reward: a factor for the speed (1 for all speeds above 1 m/s) times a factor for the posture (1
-- if upright). The episode ends when the trunk is below 0.8 m or leans by more than 1 rad, and otherwise after 600
-- steps. Start: the walker is slightly above the ground, with random joint angles of up to 0.05 rad.
local sim = require "sim2d"

local UP, LOW, LEANS, FORWARDS = 1.2, 0.8, 1, 1 -- units: m, m, rad, m/s
local TORQUES = { hip = 150, knee = 150, ankle = 80 } -- N m
local NAMES = { "hip 1", "knee 1", "ankle 1", "hip 2", "knee 2", "ankle 2" }

local function build(p)
  local world = sim.world { dt = 1 / 240 }
  world:box { name = "ground", type = "static", position = { 0, -0.5 }, size = { 200, 1 }, friction = p.friction }
  -- the feet touch the ground, and no other part touches anything
  local function link(name, x, y, w, h, mass, mask)
    local color = name:find "1" and "#3b6fd4" or name:find "2" and "#e08a3c" or "#6b7686"
    return world:box { name = name, color = color, size = { w, h }, mass = mass, position = { x, y }, mask = mask or 0, category = 2, friction = p.friction }
  end
  local trunk = link("trunk", 0, UP, 0.2, 0.5, p.mass)
  for side = 1, 2 do
    local thigh, shin = link("thigh " .. side, 0, 0.73, 0.1, 0.44, 4), link("shin " .. side, 0, 0.29, 0.08, 0.44, 3)
    local foot = link("foot " .. side, 0.05, 0.035, 0.24, 0.07, 1, 1)
    for _, j in ipairs { { "hip", thigh, trunk, 0.95, { -1, 1.6 } }, { "knee", shin, thigh, 0.51, { -2.4, 0 } }, { "ankle", foot, shin, 0.07, { -0.8, 0.8 } } } do
      local joint = world:hinge { j[2], j[3], name = j[1] .. " " .. side, anchor = { 0, j[4] }, limits = j[5] }
      world:actuator { j[1] .. " " .. side, joint = joint, kind = "torque", range = { -TORQUES[j[1]], TORQUES[j[1]] } }
    end
  end
  world:observe { "trunk", of = trunk, field = { "y", "angle" } }
  for _, name in ipairs(NAMES) do world:observe { name, of = world.joints[name], field = "angle" } end
  world:observe { "speeds", of = trunk, field = { "vx", "vy", "omega" } }
  for _, name in ipairs(NAMES) do world:observe { name .. " speed", of = world.joints[name], field = "speed" } end
  for side = 1, 2 do world:observe { "stands " .. side, of = world.bodies["foot " .. side], field = "touches" } end
  return world
end

-- Two phases (after SIMBICON: Yin, Loken and van de Panne 2007). The free leg is lifted for a fixed time and then
-- lowered until it stands. The legs then exchange their roles. Most joints are held at fixed angles. The world angle of
-- the free thigh depends on the speed of the trunk and on its distance ahead of the standing foot. The standing hip
-- holds the trunk upright. CMA-ES found the numbers over 16 starts.
local PHASES = { -- angles in rad; gains of the free thigh in rad/m and rad s/m
  { thigh = 0.414, knee = -1.769, ankle = 1.078, standing_knee = -0.488, standing_ankle = 0.103, ahead = 0.119, speed = 0.211 },
  { thigh = -0.208, knee = -0.350, ankle = 0.815, standing_knee = -1.359, standing_ankle = -0.111, ahead = 0.084, speed = 0.437 } }

local function baseline()
  local LIFT, KP, KD, WEAK, LEAN = 0.261, 113, 13.3, 0.294, -0.12 -- units: s, N m/rad, N m s/rad, none, rad
  local stands, phase, since = 1, 1, 0
  return function(_, t, seen)
    local free = 3 - stands
    if phase == 1 and t - since > LIFT then phase, since = 2, t end
    if phase == 2 and seen[17 + free] == 1 then
      stands, free, phase, since = free, stands, 1, t
    end
    local to, trunk, u = PHASES[phase], seen[2], {}
    local function at(side, k) return seen[2 + 3 * (side - 1) + k], seen[11 + 3 * (side - 1) + k] end
    local function hold(side, k, goal, part)
      local angle, speed = at(side, k)
      u[3 * (side - 1) + k] = part * (KP * (goal - angle) - KD * speed)
    end
    hold(free, 2, to.knee, 1)
    hold(free, 3, to.ankle, WEAK)
    hold(stands, 2, to.standing_knee, 1)
    hold(stands, 3, to.standing_ankle, WEAK)
    -- distance (m) of the trunk ahead of the standing foot
    local thigh, knee = trunk + at(stands, 1), at(stands, 2)
    local ahead = -0.44 * (math.sin(thigh) + math.sin(thigh + knee)) - 0.25 * math.sin(trunk)
    -- this torque holds the world angle of the free thigh; the standing hip supplies the remaining torque that the
    -- trunk needs
    local hip, hip_speed = at(free, 1)
    local lift = KP * (to.thigh + to.ahead * ahead + to.speed * seen[9] - trunk - hip) - KD * (seen[11] + hip_speed)
    lift = math.max(-TORQUES.hip, math.min(TORQUES.hip, lift))
    u[3 * free - 2], u[3 * stands - 2] = lift, -(KP * (LEAN - trunk) - KD * seen[11]) - lift
    return u
  end
end

-- Small random angles of all joints. The walker is then lifted off the ground.
local start = {}
for i, name in ipairs(NAMES) do
  start[i] = { of = name, field = "angle", uniform = { -0.05, 0.05 }, add = name:find "knee" and -0.1 or 0 }
end
start[#start + 1] = { of = { "trunk", "thigh 1", "shin 1", "foot 1", "thigh 2", "shin 2", "foot 2" }, field = "y", relative = true,
  constant = 0.03 }

local env = sim.env { name = "walker", world = build, period = 1 / 60, max_steps = 600,
  about_baseline = "two phases after SIMBICON, gains by CMA-ES", follow = "trunk",
  view = { { -1.5, -0.3 }, { 1.5, 1.8 } },
  keys = { q = { 120, 0, 0, -120 }, w = { -120, 0, 0, 120 }, -- q and w turn the thighs, o and p the shins
    o = { 0, 90, 0, 0, -90 }, p = { 0, -90, 0, 0, 90 } },
  parameters = { mass = { 12, 10, 14 }, friction = { 0.9, 0.7, 1.2 } },
  reset = start,
  reward = { factors = {
    { of = "trunk", field = "vx", bounds = { FORWARDS, math.huge }, margin = FORWARDS, shape = "linear", value = 0.01 },
    { of = "trunk", field = "angle", bounds = { -0.2, 0.2 }, margin = LEANS, shape = "linear", value = 0.01 } } },
  terminated = { { of = "trunk", field = "y", lo = LOW }, { of = "trunk", field = "angle", lo = -LEANS, hi = LEANS } }, baseline = baseline, passed = 400 }

if sim.is_main() then env:show() end
return env
