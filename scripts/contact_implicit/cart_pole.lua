-- A pole on a cart is swung up between two soft walls, and its tip may lean on the walls. This is the problem "push
-- bot" of CRISP, with its equations, numbers and cost (Li, Han, Kang, Ma and Yang 2025, arXiv 2502.01055; repository
-- ComputationalRobotics/CRISP, 9199a78). The initial guess is all zeros: the pole is upright from the start, where it
-- cannot be. CRISP starts from the motion without a push.
local sim = require "sim2d"
local shared = require "shared"

local exp = sim.experiment "Contact-implicit: cart-pole between soft walls"
local DT, STAGES = 0.02, 100 -- s
local CART, POLE, LENGTH, GRAVITY = 1, 0.1, 0.8, 9.8 -- units: kg, kg, m, m/s^2
local WALL, STIFFNESS = 1, 200 -- distance of the walls from the middle (m), stiffness (N/m)
local START = { x = 0, angle = math.pi, v = 0, omega = 2.8 } -- at angle 0 the pole points up
local GOAL = {}
for i, name in ipairs { "x", "angle", "v", "omega" } do
  GOAL[i] = { of = name, value = 0, weight = 100, within = 0.05 }
end

-- Returns the accelerations. `push` is the force of the walls on the tip, from the left.
local function accelerations(s, push, sine, cosine)
  local inertia = CART + POLE - POLE * cosine * cosine
  local swing = LENGTH * POLE * s.omega * s.omega * sine
  local a = (push + s.u - push * cosine * cosine - GRAVITY * POLE * cosine * sine + swing) / inertia
  local alpha = (CART * push * cosine - POLE * s.u * cosine + GRAVITY * POLE * (CART + POLE) * sine - POLE * swing * cosine)
    / (LENGTH * POLE * inertia)
  return a, alpha
end

-- The costs of the guess are of the order of 1e5, so the relaxation begins there.
local plan = sim.control.trajectory { method = "contact", smoothing = 1e4, curvature = false,
  unknowns = { "x", "angle", "v", "omega", "u", "right", "left" }, stages = STAGES, start = START, goal = GOAL,
  stage = function(s, n)
    if not n then return {} end
    local sine, cosine = sim.sin(s.angle), sim.cos(s.angle)
    local a, alpha = accelerations(s, s.left - s.right, sine, cosine)
    local tip = s.x + LENGTH * sine
    local right, left = WALL - tip + s.right / STIFFNESS, WALL + tip + s.left / STIFFNESS
    return {
      cost = 0.001 * s.u * s.u,
      equal = { n.x - s.x - DT * n.v, n.angle - s.angle - DT * n.omega, n.v - s.v - DT * a, n.omega - s.omega - DT * alpha },
      positive = { s.right, s.left, right, left }, products = { { s.right, right }, { s.left, left } },
    }
  end,
}
shared.report(exp, plan, 1e-6)
local strongest, touched, last = 0, 0, plan.stages[STAGES]
for i = 1, STAGES - 1 do
  local stage = plan.stages[i]
  strongest = math.max(strongest, math.abs(stage.u))
  if math.max(stage.left, stage.right) > 1e-3 then touched = touched + 1 end
end
print(("pushes up to %.1f N; the tip leans on a wall in %d of %d stages"):format(strongest, touched, STAGES))
exp:below("angle from upright at the end, rad", 0.05, math.abs(last.angle))
exp:below("cart from the middle at the end, m", 0.05, math.abs(last.x))
exp:below("all of the goal, root of squares", 0.05, math.sqrt(shared.squares(last, GOAL)))

local world = sim.world { dt = DT, gravity = { 0, 0 } }
for side = -1, 1, 2 do world:box { type = "static", position = { side * (WALL + 0.05), 0.3 }, size = { 0.1, 2.6 }, mask = 0 } end
local cart = world:box { type = "kinematic", size = { 0.4, 0.2 }, mask = 0 }
local pole = world:box { type = "kinematic", size = { 0.04, LENGTH }, mask = 0 }
local bob = world:circle { name = "tip", type = "kinematic", radius = 0.06, mask = 0 }
shared.play(exp, world, plan, 9, { bob }, function(stage)
  local x, angle = stage.x, stage.angle
  local tip = { x + LENGTH * math.sin(angle), LENGTH * math.cos(angle) }
  cart.position, bob.position, pole.position, pole.angle = { x, 0 }, tip, { (x + tip[1]) / 2, tip[2] / 2 }, -angle
end)
exp:finish()
