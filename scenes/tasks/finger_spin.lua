-- Finger: two hanging links have to spin a nearby body on a hinge (after dm_control's finger spin).
--
-- Observations: the angles of shoulder and elbow (rad), the sine and cosine of the body's angle, and the three angular
-- speeds (rad/s). Action: the torques of shoulder and elbow, up to 1.5 N m, for 0.02 s. Reward: the angular speed of
-- the body divided by 15 rad/s, limited to the range 0 to 1. The episode ends after 500 steps. Start: the finger hangs
-- and swings at up to 1 rad/s, and the body has a random angle.
local sim = require "sim2d"

local TORQUE, FAST, SHOULDER, ELBOW = 1.5, 15, { -0.2, 0.27 }, { -0.2, 0.1 } -- units: N m, rad/s, m, m

local function build(p)
  local world = sim.world { dt = 0.01 }
  local upright = math.pi / 2
  local upper = world:capsule { name = "upper", color = "#6b7686", radius = 0.02, length = 0.17, mass = 0.3, angle = upright, position = { -0.2, 0.185 }, mask = 0 }
  local lower = world:capsule { name = "lower", color = "#3b6fd4", radius = 0.02, length = 0.16, mass = 0.2, angle = upright, position = { -0.2, 0.02 }, mask = 2,
    friction = p.friction }
  local body = world:capsule { name = "body", color = "#e08a3c", radius = 0.04, length = 0.2, mass = p.mass, category = 2, mask = 1, friction = p.friction }
  local shoulder = world:hinge { upper, name = "shoulder", anchor = SHOULDER }
  local elbow = world:hinge { lower, upper, name = "elbow", anchor = ELBOW }
  local pin = world:hinge { body, name = "pin", anchor = { 0, 0 }, damping = p.damping }
  world:actuator { "shoulder", joint = shoulder, kind = "torque", range = { -TORQUE, TORQUE } }
  world:actuator { "elbow", joint = elbow, kind = "torque", range = { -TORQUE, TORQUE } }
  world:observe { "angles", read = function(w)
    local turned = w.joints.pin.angle
    return { w.joints.shoulder.angle, w.joints.elbow.angle, math.sin(turned), math.cos(turned) }
  end }
  world:observe { "shoulder_speed", of = shoulder, field = "speed" }
  world:observe { "elbow_speed", of = elbow, field = "speed" }
  world:observe { "speed", of = pin, field = "speed" }
  return world
end

-- The joints follow sine curves found by CMA-ES. The finger hits the body about twice a second and makes it spin. From
-- some starts the finger misses the body. Therefore, if the body hardly turns, the elbow bends less in every second
-- interval of 0.7 s.
local function baseline()
  local rate = 2 * math.pi * 2.197 -- rad/s
  return function(_, t, seen)
    local shoulder, elbow = 0.413 + 1.61 * math.sin(rate * t), 2.357 + 0.818 * math.sin(rate * t + 0.726)
    if math.abs(seen[7]) < 0.5 and t // 0.7 % 2 == 1 then elbow = elbow - 0.8 end
    return { 8 * (shoulder - seen[1]) - 0.5 * seen[5], 5 * (elbow - seen[2]) - 0.3 * seen[6] }
  end
end

local env = sim.env { name = "finger_spin", world = build, period = 0.02, max_steps = 500,
  about_baseline = "the joints follow sines found by CMA-ES, and reach farther if the body does not turn",
  view = { { -0.45, -0.2 }, { 0.35, 0.4 } },
  parameters = { mass = { 0.3, 0.2, 0.5 }, friction = { 0.7, 0.4, 1 }, damping = { 0.002, 0.001, 0.004 } }, -- units: kg, none, N m s/rad
  reset = function(world, random)
    local b = world.bodies
    b.body.angle = random:uniform(-math.pi, math.pi)
    -- both links swing about the shoulder as one body
    local swing = random:uniform(-1, 1)
    for _, link in ipairs { b.upper, b.lower } do
      link.omega, link.vx = swing, swing * (SHOULDER[2] - link.y)
    end
  end,
  reward = function(world) return math.max(0, math.min(1, world.joints.pin.speed / FAST)) end, baseline = baseline,
  passed = 250 } -- the return at half the speed FAST in all steps

if sim.is_main() then env:show() end
return env
