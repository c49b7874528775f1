-- A finger pushes a T to a goal position and angle. This is the problem "push T" of CRISP, with its equations, numbers
-- and cost (arXiv 2502.01055; repository ComputationalRobotics/CRISP, 9199a78). The initial guess is all zeros. The T
-- moves slowly against friction (quasi-statically). The finger pushes one of its eight sides at a time, at right
-- angles.
local sim = require "sim2d"
local shared = require "shared"

local exp = sim.experiment "Contact-implicit: push T"
local DT, STAGES = 0.05, 50 -- s
local L, MASS, FRICTION, GRAVITY = 0.05, 1, 0.4, 9.8 -- a quarter of the length of the bar, m
local FOOT = 2.6429 * L -- distance from the foot of the stem to the origin of the frame, m
local REACH = 0.4 * 2.8 * L
local START = { x = 0.24722, y = 0.0141359, cosine = math.cos(-2.95844), sine = math.sin(-2.95844) }
local TURN = -2.637 -- rad
local GOAL = {
  { of = "x", value = 0.036, weight = 100, within = 0.01 }, { of = "y", value = -0.143, weight = 100, within = 0.01 },
  { of = "cosine", value = math.cos(TURN), weight = 100, within = 0.01 },
  { of = "sine", value = math.sin(TURN), weight = 100, within = 0.01 },
}

local names = { "x", "y", "angle", "cx", "cy" }
for k = 1, 7 do names[#names + 1], names[#names + 2] = "above" .. k, "below" .. k end
for k = 1, 8 do names[#names + 1] = "push" .. k end
names[#names + 1], names[#names + 2] = "cosine", "sine"

local plan = sim.control.trajectory { method = "contact", curvature = false, goal = GOAL,
  unknowns = names, stages = STAGES, start = START,
  stage = function(s, n)
    local offset = { s.cx - 2 * L, s.cy + FOOT - 4 * L, s.cy + FOOT - 3 * L, s.cx - 0.5 * L, s.cy + FOOT, s.cx + 0.5 * L, s.cx + 2 * L }
    local stage, away, miss = { equal = {}, positive = {}, products = {} }, {}, shared.squares(s, GOAL)
    for k, o in ipairs(offset) do
      local above, below = s["above" .. k], s["below" .. k]
      table.insert(stage.equal, o - above + below)
      away[k] = above + below
    end
    table.insert(stage.equal, s.cosine - sim.cos(s.angle))
    table.insert(stage.equal, s.sine - sim.sin(s.angle))
    if not n then return stage end

    local push, effort = {}, 0
    for k = 1, 8 do
      push[k] = s["push" .. k]
      effort = effort + push[k] * push[k]
    end
    stage.cost = miss + 0.01 * effort
    local across, along = push[3] + push[5] + push[7] - push[1], push[6] + push[8] - push[2] - push[4]
    local sine, cosine, slip = sim.sin(s.angle), sim.cos(s.angle), DT / (FRICTION * MASS * GRAVITY)
    table.insert(stage.equal, n.x - s.x - slip * (cosine * along - sine * across))
    table.insert(stage.equal, n.y - s.y - slip * (sine * along + cosine * across))
    table.insert(stage.equal, n.angle - s.angle - slip / REACH * (s.cx * across - s.cy * along))
    local gap = { 4 * L - FOOT - s.cy, away[1] + away[2] + away[3] - L, away[1] + away[3] + away[4] - 1.5 * L,
      away[3] + away[4] + away[5] - 3 * L, away[4] + away[5] + away[6] - L, away[3] + away[5] + away[6] - 3 * L,
      away[3] + away[6] + away[7] - 1.5 * L, away[2] + away[3] + away[7] - L }
    for k = 1, 7 do
      local above, below = s["above" .. k], s["below" .. k]
      table.insert(stage.positive, above)
      table.insert(stage.positive, below)
      table.insert(stage.products, { above, below })
    end
    for _, f in ipairs { s.cx + 2 * L, 2 * L - s.cx, s.cy + FOOT, 4 * L - FOOT - s.cy } do table.insert(stage.positive, f) end
    for k = 1, 8 do
      table.insert(stage.positive, push[k])
      table.insert(stage.products, { push[k], gap[k] })
      for j = k + 1, 8 do table.insert(stage.products, { push[k], push[j] }) end
    end
    return stage
  end,
}
shared.report(exp, plan, 1e-3)
local last, sides = plan.stages[STAGES], {}
for i = 1, STAGES - 1 do
  for k = 1, 8 do
    if plan.stages[i]["push" .. k] > 1e-3 and sides[#sides] ~= k then sides[#sides + 1] = k end
  end
end
print("sides that are pushed: " .. table.concat(sides, ", "))
exp:below("from the goal, m", 0.01, math.sqrt(shared.squares(last, { GOAL[1], GOAL[2] })))
exp:below("from the goal, rad", 0.01, math.abs(last.angle - TURN))

local world = sim.world { dt = DT, gravity = { 0, 0 } }
local tee = world:compound { name = "T", type = "kinematic", mask = 0, shapes = {
  { size = { 4 * L, L }, position = { 0, 3.5 * L - FOOT } }, { size = { L, 3 * L }, position = { 0, 1.5 * L - FOOT } } } }
local finger = world:circle { type = "kinematic", radius = 0.01, mask = 0 }
shared.play(exp, world, plan, 6, { tee }, function(stage)
  tee.position, tee.angle = { stage.x, stage.y }, stage.angle
  finger.position = { stage.x + stage.cosine * stage.cx - stage.sine * stage.cy, stage.y + stage.sine * stage.cx + stage.cosine * stage.cy }
end)
exp:finish()
