local sim = require "sim2d"
local mpcc, formula = require "mpcc", require "formula"

local exp = sim.experiment "Contact-implicit: push T"
local DT, STAGES = 0.05, 50 -- s
local L, MASS, FRICTION, GRAVITY = 0.05, 1, 0.4, 9.8 -- m, a quarter of the bar
local FOOT = 2.6429 * L -- m, from the foot of the stem up to the frame's origin
local REACH = 0.4 * 2.8 * L
local START = { x = 0.24722, y = 0.0141359, cosine = math.cos(-2.95844), sine = math.sin(-2.95844) }
local GOAL = { x = 0.036, y = -0.143, cosine = math.cos(-2.637), sine = math.sin(-2.637) }

local names = { "x", "y", "angle", "cx", "cy" }
for k = 1, 7 do names[#names + 1], names[#names + 2] = "above" .. k, "below" .. k end
for k = 1, 8 do names[#names + 1] = "push" .. k end
names[#names + 1], names[#names + 2] = "cosine", "sine"

local problem = mpcc.problem {
  names = names, stages = STAGES, start = START,
  stage = function(s, n)
    local offset = { s.cx - 2 * L, s.cy + FOOT - 4 * L, s.cy + FOOT - 3 * L, s.cx - 0.5 * L, s.cy + FOOT, s.cx + 0.5 * L, s.cx + 2 * L }
    local stage, away, miss = { equal = {}, positive = {}, products = {} }, {}, 0
    for k, o in ipairs(offset) do
      local above, below = s["above" .. k], s["below" .. k]
      table.insert(stage.equal, o - above + below)
      away[k] = above + below
    end
    table.insert(stage.equal, s.cosine - formula.cos(s.angle))
    table.insert(stage.equal, s.sine - formula.sin(s.angle))
    for name, goal in pairs(GOAL) do miss = miss + (s[name] - goal) * (s[name] - goal) end
    stage.cost = 100 * miss
    if not n then return stage end

    local push, effort = {}, 0
    for k = 1, 8 do
      push[k] = s["push" .. k]
      effort = effort + push[k] * push[k]
    end
    stage.cost = miss + 0.01 * effort
    local across, along = push[3] + push[5] + push[7] - push[1], push[6] + push[8] - push[2] - push[4]
    local sine, cosine, slip = formula.sin(s.angle), formula.cos(s.angle), DT / (FRICTION * MASS * GRAVITY)
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
local found = mpcc.solve(problem, { verbose = tonumber(arg and arg[1]) })
mpcc.report(exp, found, 1e-3)
