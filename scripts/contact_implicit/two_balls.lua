-- A ball is pushed into a second ball, which has to come near a target with little effort. The solver finds the force
-- and the time of the impact. This is task 3 of Zhong, Han and Brikis (2022, arXiv 2207.05060), which
-- scripts/gradients/diff_sim_3_two_balls.lua solves by descent along the gradient of a simulation, from the force
-- (3, 3). Here the initial guess is all zeros. No force at all is a local minimum, with a cost of 2, so the impulse of
-- the impact has a lower bound.
--
-- Stages begin at the times of possible impacts and have free durations. Forces change linearly during a stage, as the
-- optimal force does (Hu et al. 2022, arXiv 2205.08622), so the motion and its effort are exact.
local sim = require "sim2d"
local shared = require "shared"

local exp = sim.experiment "Contact-implicit: two balls (task 3 of arXiv 2207.05060)"
local T, R, EPS, OPTIMUM = 1, 0.2, 0.1, 1.396542 -- optimum in closed form, as in diff_sim_3_two_balls.lua
local LEAST = 0.1 -- least sum of impulses, kg m/s for each metre between the centres
local STAGES = 4

local plan = sim.control.trajectory { method = "contact", stages = STAGES, smoothing = 1e-3, curvature = true,
  -- force at the beginning (u) and the end (w) of a stage; hit: impulse; hits: their sum until now; more and less: parts
  -- of the speed above and below that of the law of impact; flight: duration
  unknowns = { "x1", "y1", "x2", "y2", "vx1", "vy1", "vx2", "vy2", "ux", "uy", "wx", "wy", "hit", "hits", "more", "less", "t", "flight" },
  start = { x1 = -2, y1 = -2, x2 = -1, y2 = -1, vx1 = 0, vy1 = 0, vx2 = 0, vy2 = 0, t = 0, hits = 0 },
  goal = { of = "t", value = T },
  stage = function(s, n)
    local dx, dy, h = s.x2 - s.x1, s.y2 - s.y1, s.flight
    local distance = dx ^ 2 + dy ^ 2
    local gap = distance - 4 * R * R
    local stage = { positive = { s.hit, gap, h, s.more, s.less },
      products = { { s.hit, gap }, { s.hit, s.more }, { s.hit, s.less } } }
    if not n then
      stage.cost = s.x2 ^ 2 + s.y2 ^ 2
      table.insert(stage.positive, s.hits - LEAST)
      return stage
    end
    local vx1, vy1, vx2, vy2 = s.vx1 - s.hit * dx, s.vy1 - s.hit * dy, s.vx2 + s.hit * dx, s.vy2 + s.hit * dy
    local before, after = (s.vx2 - s.vx1) * dx + (s.vy2 - s.vy1) * dy, (vx2 - vx1) * dx + (vy2 - vy1) * dy
    stage.cost = EPS / 3 * h * (s.ux ^ 2 + s.ux * s.wx + s.wx ^ 2 + s.uy ^ 2 + s.uy * s.wy + s.wy ^ 2)
    stage.equal = { after + before - s.more + s.less, n.vx1 - vx1 - h / 2 * (s.ux + s.wx), n.vy1 - vy1 - h / 2 * (s.uy + s.wy),
      n.vx2 - vx2, n.vy2 - vy2, n.x1 - s.x1 - h * vx1 - h * h / 6 * (2 * s.ux + s.wx),
      n.y1 - s.y1 - h * vy1 - h * h / 6 * (2 * s.uy + s.wy), n.x2 - s.x2 - h * vx2, n.y2 - s.y2 - h * vy2,
      n.t - s.t - h, n.hits - s.hits - s.hit }
    return stage
  end }
shared.report(exp, plan)
for i = 1, STAGES do
  local s = plan.stages[i]
  if s.hit > 1e-3 then
    print(("impact at %.4f s; forces before it (%.3f, %.3f) to (%.3f, %.3f)"):format(s.t, plan.stages[1].ux, plan.stages[1].uy,
      plan.stages[i - 1].wx, plan.stages[i - 1].wy))
  end
end
exp:equal("cost", OPTIMUM, plan.cost, 1e-5)
exp:finish()
