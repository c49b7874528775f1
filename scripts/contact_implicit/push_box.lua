-- A finger pushes a box over a table to a goal that is 3 m away and turned by 240 degrees. This is the problem "push
-- box" of CRISP, with its equations, numbers and cost (arXiv 2502.01055; repository ComputationalRobotics/CRISP,
-- 9199a78). The initial guess is all zeros. The motion is quasi-static, and an ellipsoid limits the force and torque of
-- friction. The finger pushes one side at a time, at right angles. The solver finds the sides and the contact points.
local sim = require "sim2d"
local shared = require "shared"

local exp = sim.experiment "Contact-implicit: push box"
local DT, STAGES = 0.02, 100 -- s
local A, B, MASS, FRICTION, GRAVITY = 0.5, 0.25, 1, 0.5, 9.8 -- half sides of the box, m
local REACH = 0.4 * math.sqrt(A * A + B * B) -- lever arm of the friction torque, m
local TURN = 12 * 2 * math.pi / 18
local GOAL = { -- CRISP states no tolerance of the goal
  { of = "x", value = 3 * math.cos(TURN), weight = 100, within = 0.1 },
  { of = "y", value = 3 * math.sin(TURN), weight = 100, within = 0.1 }, { of = "angle", value = TURN, weight = 100, within = 0.1 },
}

local plan = sim.control.trajectory { method = "contact", goal = GOAL,
  -- (cx, cy): finger in the frame of the box; the others: pushes up, right, down, left
  unknowns = { "x", "y", "angle", "cx", "cy", "up", "right", "down", "left" }, stages = STAGES, start = { x = 0, y = 0, angle = 0 },
  curvature = true,
  stage = function(s, n)
    if not n then return {} end
    local sine, cosine, slip = sim.sin(s.angle), sim.cos(s.angle), DT / (FRICTION * MASS * GRAVITY)
    local along, across = s.right - s.left, s.up - s.down
    local stage = {
      cost = 0.001 * (s.up * s.up + s.right * s.right + s.down * s.down + s.left * s.left),
      equal = { n.x - s.x - slip * (cosine * along - sine * across), n.y - s.y - slip * (sine * along + cosine * across),
        n.angle - s.angle - slip / REACH * (s.cx * across - s.cy * along) },
      positive = { s.up, s.right, s.down, s.left, s.cy + B, s.cx + A, B - s.cy, A - s.cx },
      products = { { s.up, s.cy + B }, { s.right, s.cx + A }, { s.down, B - s.cy }, { s.left, A - s.cx } },
    }
    local sides = { s.up, s.right, s.down, s.left }
    for i = 1, 4 do
      for j = i + 1, 4 do table.insert(stage.products, { sides[i], sides[j] }) end
    end
    return stage
  end,
}

shared.report(exp, plan, 1e-6)
local last, used, before, changes = plan.stages[STAGES], {}, nil, 0
for i = 1, STAGES - 1 do
  for _, side in ipairs { "up", "right", "down", "left" } do
    if plan.stages[i][side] > 1e-3 then
      used[side] = (used[side] or 0) + 1
      if before and before ~= side then changes = changes + 1 end
      before = side
    end
  end
end
print(("stages pushed up %d, right %d, down %d, left %d; the side changes %d times"):format(used.up or 0, used.right or 0,
  used.down or 0, used.left or 0, changes))
exp:below("from the goal, m", 0.1, math.sqrt(shared.squares(last, { GOAL[1], GOAL[2] })))
exp:below("from the goal, rad", 0.05, math.abs(last.angle - TURN))

local world = sim.world { dt = DT, gravity = { 0, 0 } }
local box = world:box { name = "box", type = "kinematic", size = { 2 * A, 2 * B }, mask = 0 }
local finger = world:circle { type = "kinematic", radius = 0.06, mask = 0 }
shared.play(exp, world, plan, 8, { box }, function(stage)
  local sine, cosine = math.sin(stage.angle), math.cos(stage.angle)
  box.position, box.angle = { stage.x, stage.y }, stage.angle
  finger.position = { stage.x + cosine * stage.cx - sine * stage.cy, stage.y + sine * stage.cx + cosine * stage.cy }
end)
exp:finish()
