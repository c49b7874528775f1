-- Double cart-pole: a force on the cart has to keep two poles upright, one on top of the other.
--
-- Observations: the position (m) and speed (m/s) of the cart, the angles of both poles from upright (rad), and their
-- speeds (rad/s). Command: the force on the cart, from -40 to 40 N, for 0.02 s. Reward: 1 in each step, minus two
-- penalties. The first is the square of the distance of the tip from its upright position above the middle of the rail,
-- in units of 2 m. The second is a small penalty for the force. The episode ends when the tip is below 1.6 m or beyond
-- 3 m, or after 500 steps. Start: up to 0.05 from upright and from the middle.
local sim = require "sim2d"

local FORCE, EDGE, LOW, START = 40, 3, 1.6, 0.05 -- units: N, m, m, rad

local function build(p)
  local world = sim.world { dt = 0.01 }
  local cart = world:box { name = "cart", color = "#6b7686", size = { 0.5, 0.25 }, mass = p.cart, mask = 0 }
  local lower = world:box { name = "lower", color = "#3b6fd4", size = { 0.06, 1 }, mass = p.pole, position = { 0, 0.5 }, mask = 0 }
  local upper = world:box { name = "upper", color = "#e08a3c", size = { 0.06, 1 }, mass = p.pole, position = { 0, 1.5 }, mask = 0 }
  local rail = world:slider { cart, name = "rail", axis = { 1, 0 }, anchor = { 0, 0 } }
  local first = world:hinge { lower, cart, name = "first", anchor = { 0, 0 } }
  world:hinge { upper, lower, name = "second", anchor = { 0, 1 } }
  world:actuator { "push", joint = rail, kind = "force", range = { -FORCE, FORCE } }
  world:observe { "cart", of = rail, field = { "translation", "speed" } }
  world:observe { "lower", of = lower, field = { "angle", "omega" } }
  world:observe { "upper", of = upper, field = { "angle", "omega" } }
  return world
end

local TIP = { 0, 0.5 } -- m: the upper end of the upper pole

-- LQR about the upright state, with the angles of the poles relative to each other.
local function baseline(env)
  local upright = build(env.parameters)
  local coordinates = { upright.joints.rail, upright.joints.first, upright.joints.second }
  local K = sim.control.lqr(upright, { coordinates = coordinates, Q = { 1, 10, 10, 1, 1, 1 }, R = 0.01 }).K
  return function(_, _, s)
    local x = { s[1], s[3], s[5] - s[3], s[2], s[4], s[6] - s[4] }
    local u = 0
    for i = 1, 6 do u = u - K[1][i] * x[i] end
    return { u }
  end
end

local env = sim.env { name = "double_cart_pole", world = build, period = 0.02, max_steps = 500,
  about_baseline = "LQR",
  view = { { -2.6, -0.5 }, { 2.6, 2.6 } },
  parameters = { cart = { 1, 0.5, 2 }, pole = { 0.3, 0.2, 0.5 } },
  reset = { { of = "rail", field = "translation", uniform = { -0.5, 0.5 } }, { of = "first", field = "angle", uniform = { -START, START } },
    { of = "second", field = "angle", uniform = { -START, START } } },
  reward = { constant = 1, { of = "upper", at = TIP, field = { "x", "y" }, goal = { 0, 2 }, weight = 0.2 }, { of = "controls", weight = 2e-4 } },
  terminated = { { of = "upper", at = TIP, field = "y", lo = LOW }, { of = "rail", field = "translation", lo = -EDGE, hi = EDGE } },
  baseline = baseline, passed = 480 }

if sim.is_main() then env:show() end
return env
