-- Hopper: a body on one springy leg has to hop forwards at 1 m/s without falling.
--
-- Observations: the height (m) and angle (rad) of the body, the angle of the hip (rad), and the extension of the leg
-- beyond its rest length (m). They also include the speeds of these four coordinates, the forward speed of the body
-- (m/s), and 1 while the foot is on the ground. Action: the torque of the hip, up to 40 N m, and a force of the leg in
-- addition to its spring, up to 150 N, for 1/60 s. Reward: a factor for the speed (1 for all speeds above 1 m/s) times
-- a factor for the posture (1 if upright). A thousandth of the squared commands, each divided by its range, is
-- subtracted. The episode ends when the body touches the ground or leans by more than 1 rad, and otherwise after 600
-- steps. Start: the body is dropped from up to 0.2 m and leans by up to 0.05 rad.
local sim = require "sim2d"

local HIP, SOLE, FORWARDS, LEANS = 0.65, 0.05, 1, 1 -- units: m, m, m/s, rad
local TORQUE, FORCE = 40, 150 -- N m, N

local function build(p)
  local world = sim.world { dt = 1 / 240 }
  world:box { name = "ground", type = "static", position = { 0, -0.5 }, size = { 200, 1 }, friction = p.friction }
  local body = world:box { name = "body", color = "#3b6fd4", size = { 0.6, 0.2 }, mass = p.mass, inertia = p.mass / 10, position = { 0, HIP }, category = 2, mask = 1 }
  local hip = world:circle { name = "hip disc", color = "#6b7686", radius = 0.05, mass = 0.3, position = { 0, HIP }, mask = 0 }
  local foot = world:circle { name = "foot", color = "#e08a3c", radius = SOLE, mass = 0.15, position = { 0, SOLE }, friction = p.friction, category = 2, mask = 1 }
  local joint = world:hinge { hip, body, name = "hip", anchor = { 0, HIP } }
  local leg = world:slider { foot, hip, name = "leg", axis = { 0, -1 }, anchor = { 0, SOLE }, stiffness = 1500, damping = 8, limits = { -0.25, 0.1 } }
  world:actuator { "hip", joint = joint, kind = "torque", range = { -TORQUE, TORQUE } }
  world:actuator { "leg", joint = leg, kind = "force", range = { -FORCE, FORCE } }
  world:observe { "body", of = body, field = { "y", "angle" } }
  world:observe { "hip", of = joint, field = "angle" }
  world:observe { "leg", of = leg, field = "translation" }
  world:observe { "speeds", of = body, field = { "vy", "omega" } }
  world:observe { "hip_speed", of = joint, field = "speed" }
  world:observe { "leg_speed", of = leg, field = "speed" }
  world:observe { "forwards", of = body, field = "vx" }
  world:observe { "stands", of = foot, field = "touches" }
  return world
end

-- Three control loops (after Raibert). The leg pushes while it extends, with less force if the body is high. The foot
-- is placed ahead of the hip by half of the distance travelled in a stance, plus a fraction of the speed error. While
-- the leg stands, the hip holds the body upright. CMA-ES found the gains over 24 starts.
local function baseline()
  local PUSH, HIGH, HALF, SPEED, FASTER = 111, 184, 0.0514, 1.42, 0.106 -- units: N, N/m, s, m/s, s
  return function(_, _, seen)
    local y, angle, hip, leg, vy, omega, v = seen[1], seen[2], seen[3], seen[4], seen[5], seen[6], seen[9]
    if seen[10] == 1 then
      local longer = seen[8] > 0
      return { 146 * angle + 40 * omega, longer and PUSH - HIGH * math.max(0, y + 0.05 * vy - HIP) or 0 }
    end
    local ahead = HALF * v + FASTER * (v - SPEED)
    local goal = math.asin(math.max(-0.7, math.min(0.7, ahead / (HIP - SOLE + leg))))
    return { 115 * (goal - angle - hip) - 2.2 * (seen[7] + omega), 0 }
  end
end

local env = sim.env { name = "hopper", world = build, period = 1 / 60, max_steps = 600,
  about_baseline = "three loops after Raibert, gains by CMA-ES", follow = "body",
  view = { { -1.5, -0.3 }, { 1.5, 1.7 } },
  parameters = { mass = { 5, 4, 6 }, friction = { 0.9, 0.6, 1.2 } },
  reset = { { of = { "body", "hip disc", "foot" }, field = "y", relative = true, uniform = { 0, 0.2 } },
    { of = "body", field = "angle", uniform = { -0.05, 0.05 } } },
  reward = {
    factors = { { of = "body", field = "vx", bounds = { FORWARDS, math.huge }, margin = FORWARDS, shape = "linear", value = 0.01 },
      { of = "body", field = "angle", bounds = { -0.2, 0.2 }, margin = LEANS, shape = "linear", value = 0.01 } },
    { of = "controls", scale = { TORQUE, FORCE }, weight = 2e-3 } },
  terminated = { { of = "body", field = "angle", lo = -LEANS, hi = LEANS }, { of = "body", field = "touches", hi = 0 } }, baseline = baseline, passed = 400 }

if sim.is_main() then env:show() end
return env
