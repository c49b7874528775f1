-- A point mass on a massless leg, dropped from a height of 1.5 m, hops to a standing position 2 m away. On the ground
-- the leg shortens and pushes, with the foot fixed. In the air it is extended and swings. The solver finds the phases.
-- This is the problem "hopper" of CRISP, with its equations, numbers and cost (arXiv 2502.01055; repository
-- ComputationalRobotics/CRISP, 9199a78). CRISP starts from free fall, but here the initial guess is all zeros.
local sim = require "sim2d"
local shared = require "shared"

local exp = sim.experiment "Contact-implicit: hopper"
local DT, STAGES = 0.02, 200 -- s
local MASS, LEG, SHORTEST, GRAVITY = 1, 1, 0.8, 9.81
local START = { x = 0, y = LEG + 0.5, foot_x = 0, foot_y = 0.5, angle = 0, short = 0, vx = 0, vy = 0 }
local GOAL = {} -- CRISP states no tolerance of the goal
for i, pair in ipairs { { "x", 2 }, { "y", LEG }, { "foot_x", 2 }, { "foot_y", 0 }, { "angle", 0 }, { "short", 0 }, { "vx", 0 }, { "vy", 0 } } do
  GOAL[i] = { of = pair[1], value = pair[2], weight = 100, within = 0.1 }
end

local plan = sim.control.trajectory { method = "contact", smoothing = 0.1, curvature = false, goal = GOAL,
  unknowns = { "x", "y", "foot_x", "foot_y", "angle", "short", "vx", "vy", "swing", "thrust", "low" }, stages = STAGES, start = START,
  stage = function(s, n)
    local sine, cosine = sim.sin(s.angle), sim.cos(s.angle)
    local stage = {
      cost = 0.001 * s.swing * s.swing + 1e-5 * s.thrust * s.thrust + 100 * s.low * s.low,
      equal = { (LEG - s.short) * cosine - s.y + s.foot_y, (LEG - s.short) * sine - s.foot_x + s.x },
      positive = { s.short, s.foot_y, s.thrust, SHORTEST - s.short, s.foot_y + s.short - 0.1 + s.low, s.low },
      products = { { s.short, s.foot_y }, { s.thrust, s.foot_y }, { s.swing * s.swing, s.short } },
    }
    if n then
      for _, f in ipairs { n.x - s.x - DT * n.vx, n.y - s.y - DT * n.vy, MASS * (n.vx - s.vx) + DT * s.thrust * sine,
        MASS * (n.vy - s.vy) - DT * s.thrust * cosine + DT * MASS * GRAVITY, s.short * (n.foot_x - s.foot_x),
        s.short * (n.foot_y - s.foot_y), s.foot_y * (n.angle - s.angle - DT * s.swing) } do table.insert(stage.equal, f) end
    end
    return stage
  end,
}
shared.report(exp, plan, 1e-3)
local last, flights, flying = plan.stages[STAGES], 0, false
for _, stage in ipairs(plan.stages) do
  local up = stage.foot_y > 0.01
  if up and not flying then flights = flights + 1 end
  flying = up
end
print(("%d times in the air; at the end at (%.3f, %.3f), leg %.3f m short"):format(flights, last.x, last.y, last.short))
exp:above("times in the air, the first fall included", 2, flights)
exp:below("all of the goal, root of squares", 0.15, math.sqrt(shared.squares(last, GOAL)))
exp:below("speed at the end, m/s", 0.05, math.sqrt(last.vx ^ 2 + last.vy ^ 2))

local world = sim.world { dt = DT, gravity = { 0, 0 } }
world:box { type = "static", position = { 1, -0.1 }, size = { 6, 0.2 }, mask = 0 }
local leg = world:box { type = "kinematic", size = { 0.04, LEG }, mask = 0 }
local mass = world:circle { name = "mass", type = "kinematic", radius = 0.1, mask = 0 }
local foot = world:circle { type = "kinematic", radius = 0.04, mask = 0 }
shared.play(exp, world, plan, 24, { mass }, function(stage)
  mass.position, foot.position, leg.angle = { stage.x, stage.y }, { stage.foot_x, stage.foot_y }, stage.angle
  leg.position = { stage.foot_x - LEG / 2 * math.sin(stage.angle), stage.foot_y + LEG / 2 * math.cos(stage.angle) }
end)
exp:finish()
