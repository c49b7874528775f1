-- Cart-pole: pushes on the cart to the left or right have to keep a pole upright (with the constants and thresholds of
-- Gymnasium's CartPole-v1). The engine takes two-stage steps instead of explicit Euler steps.
--
-- Observations: the position (m) and speed (m/s) of the cart, and the angle (rad, positive to the right) and angular
-- speed (rad/s) of the pole. Action: 1 pushes with 10 N to the left, and 2 with 10 N to the right, for 0.02 s. Reward:
-- 1 in each step. The episode ends beyond 2.4 m or 12 degrees, or after 500 steps. Start: all four observations are
-- random, from -0.05 to 0.05.
local sim = require "sim2d"

local FORCE, EDGE, TILT, START = 10, 2.4, 12 * math.pi / 180, 0.05 -- N, m, rad

local function build(p)
  local world = sim.world { dt = 0.02, gravity = { 0, -9.8 } }
  local cart = world:box { name = "cart", color = "#6b7686", size = { 0.4, 0.2 }, mass = p.cart, mask = 0 }
  local pole = world:box { name = "pole", color = "#e08a3c", size = { 0.05, 2 * p.half }, mass = p.pole, inertia = p.pole * p.half ^ 2 / 3,
    position = { 0, p.half }, mask = 0 }
  local rail = world:slider { cart, name = "rail", axis = { 1, 0 }, anchor = { 0, 0 } }
  local hinge = world:hinge { cart, pole, name = "hinge", anchor = { 0, 0 } } -- a positive angle leans to the right
  world:actuator { "push", joint = rail, kind = "force", range = { -FORCE, FORCE } }
  world:observe { "cart", of = rail, field = { "translation", "speed" } }
  world:observe { "pole", of = hinge, field = { "angle", "speed" } }
  return world
end

-- The baseline pushes in the direction of the LQR force.
local function baseline(env)
  local world = env.world
  local upright = world:clone()
  upright:set_state(build(env.parameters):state())
  local law = sim.control.lqr(upright, { coordinates = { upright.joints.rail, upright.joints.hinge }, Q = { 1, 10, 1, 1 }, R = 0.1 })
  local K = law.K
  return function(_, _, seen)
    local u = -(K[1][1] * seen[1] + K[1][2] * seen[3] + K[1][3] * seen[2] + K[1][4] * seen[4])
    return u > 0 and 2 or 1
  end
end

local env = sim.env { name = "cart_pole", world = build, max_steps = 500, actions = { { -FORCE }, { FORCE } },
  about_baseline = "the sign of LQR's command",
  view = { { -2.6, -0.5 }, { 2.6, 1.7 } },
  parameters = { cart = { 1, 0.5, 2 }, pole = { 0.1, 0.05, 0.2 }, half = { 0.5, 0.3, 0.8 } },
  reset = {
    { of = "rail", field = "translation", uniform = { -START, START } }, { of = "rail", field = "speed", uniform = { -START, START } },
    { of = "hinge", field = "angle", uniform = { -START, START } }, { of = "hinge", field = "speed", uniform = { -START, START } } },
  reward = 1,
  terminated = { { of = "rail", field = "translation", lo = -EDGE, hi = EDGE }, { of = "hinge", field = "angle", lo = -TILT, hi = TILT } },
  baseline = baseline, passed = 475 }

if sim.is_main() then env:show() end
return env
