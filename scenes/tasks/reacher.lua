-- Reacher: a two-link arm, seen from above, moves its tip to a target.
--
-- Observations: the cosine and sine of both joint angles, the angular speeds of both joints (rad/s), and the vector
-- from the tip to the target (m). Command: the torques of both joints, from -1 to 1 N m, for 0.02 s. Reward: 1 within 2
-- cm of the target and less farther away (0.5 at 10 cm), minus a hundredth of the squared torques. The episode ends
-- after 150 steps. Start: random angles, and a target 0.1 to 0.35 m from the shoulder.
local sim = require "sim2d"

local LINK, NEAR, AROUND = 0.2, 0.02, 0.1 -- m

local function build()
  local world = sim.world { dt = 0.01, gravity = { 0, 0 } }
  local upper = world:box { name = "upper", color = "#3b6fd4", size = { LINK, 0.03 }, mass = 0.5, position = { LINK / 2, 0 }, mask = 0 }
  local fore = world:box { name = "fore", color = "#e08a3c", size = { LINK, 0.03 }, mass = 0.5, position = { 1.5 * LINK, 0 }, mask = 0 }
  world:circle { name = "target", color = "#d64545", type = "static", radius = NEAR, position = { 0.3, 0 }, mask = 0 }
  local shoulder = world:hinge { upper, name = "shoulder", anchor = { 0, 0 } }
  local elbow = world:hinge { fore, upper, name = "elbow", anchor = { LINK, 0 } }
  world:actuator { "shoulder", joint = shoulder, kind = "torque", range = { -1, 1 } }
  world:actuator { "elbow", joint = elbow, kind = "torque", range = { -1, 1 } }
  world:observe { "angles", read = function(w)
    local a, b = w.joints.shoulder.angle, w.joints.elbow.angle
    return { sim.cos(a), sim.sin(a), sim.cos(b), sim.sin(b) }
  end }
  world:observe { "speeds", read = function(w) return { w.joints.shoulder.speed, w.joints.elbow.speed } end }
  world:observe { "way", read = function(w)
    local tip = w.bodies.fore:world_point { LINK / 2, 0 }
    return { w.bodies.target.x - tip.x, w.bodies.target.y - tip.y }
  end }
  return world
end

-- A spring from the tip to the target, converted to torques: J' (k distance) - d speed.
local function baseline()
  local STIFFNESS, DAMPING = 40, 0.3 -- units: N/m, N m s/rad
  return function(_, _, s)
    local c1, s1 = s[1], s[2]
    local c12, s12 = c1 * s[3] - s1 * s[4], s1 * s[3] + c1 * s[4]
    local x2, y2 = LINK * c12, LINK * s12
    local x1, y1 = LINK * c1 + x2, LINK * s1 + y2
    return { STIFFNESS * (-y1 * s[7] + x1 * s[8]) - DAMPING * s[5], STIFFNESS * (-y2 * s[7] + x2 * s[8]) - DAMPING * s[6] }
  end
end

local env = sim.env { name = "reacher", world = build, period = 0.02, max_steps = 150,
  about_baseline = "joint torques of a spring from the end of the arm to the target",
  view = { { -0.55, -0.42 }, { 0.55, 0.42 } },
  keys = { left = { 1 }, right = { -1 }, up = { 0, 1 }, down = { 0, -1 } },
  reset = function(world, random)
    world.joints.shoulder.angle = random:uniform(-math.pi, math.pi)
    world.joints.elbow.angle = random:uniform(-2.5, 2.5)
    local r, angle = random:uniform(0.1, 0.35), random:uniform(-math.pi, math.pi)
    world.bodies.target.x, world.bodies.target.y = r * math.cos(angle), r * math.sin(angle)
  end,
  reward = function(world, u)
    local all = world:observation()
    local far = sim.sqrt(all[7] ^ 2 + all[8] ^ 2)
    return sim.env.tolerance(far, { 0, NEAR }, AROUND, "long_tail", 0.5) - 0.01 * (u[1] ^ 2 + u[2] ^ 2)
  end, baseline = baseline, passed = 60 }

if sim.is_main() then env:show() end
return env
