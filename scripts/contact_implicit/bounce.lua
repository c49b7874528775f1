-- A ball bounces once without loss, and the solver finds when. This is task 1 of Zhong, Han and Brikis (2022, arXiv
-- 2207.05060), which scripts/gradients/diff_sim_1_bounce.lua simulates. The initial guess is all zeros. The only motion
-- that satisfies the law of impact is the right one, so no cost is needed.
--
-- Stages begin at the times of possible bounces and have free durations.
local sim = require "sim2d"
local shared = require "shared"

local exp = sim.experiment "Contact-implicit: one bounce (task 1 of arXiv 2207.05060)"
local T, R, E = 1, 0.1, 1

local plan = sim.control.trajectory { method = "contact", stages = 3,
  -- hit: impulse of a bounce; more and less: parts of the speed above and below that of the law of impact
  unknowns = { "x", "y", "vx", "vy", "t", "flight", "hit", "more", "less" },
  start = { x = -1, y = 1, vx = 2, vy = -2, t = 0 }, goal = { of = "t", value = T },
  stage = function(s, n)
    local gap, vy = s.y - R, s.vy + s.hit
    local stage = { positive = { s.hit, gap, s.flight, s.more, s.less },
      products = { { s.hit, gap }, { s.hit, s.more }, { s.hit, s.less } } }
    if n then
      stage.equal = { vy + E * s.vy - s.more + s.less, n.x - s.x - s.flight * s.vx, n.y - s.y - s.flight * vy,
        n.vx - s.vx, n.vy - vy, n.t - s.t - s.flight }
    end
    return stage
  end }
shared.report(exp, plan)
local last = plan.stages[3]
exp:equal("time of the bounce, s", 0.45, plan.stages[2].t, 1e-5)
exp:equal("height at the end, m", 2 * R + 1, last.y, 1e-5)
exp:equal("x at the end, m", 1, last.x, 1e-5)
exp:finish()
