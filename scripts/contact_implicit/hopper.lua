local sim = require "sim2d"
local mpcc, formula = require "mpcc", require "formula"

local exp = sim.experiment "Contact-implicit: hopper"
local DT, STAGES = 0.02, 200 -- s
local MASS, LEG, SHORTEST, GRAVITY = 1, 1, 0.8, 9.81
local START = { x = 0, y = LEG + 0.5, foot_x = 0, foot_y = 0.5, angle = 0, short = 0, vx = 0, vy = 0 }
local GOAL = { x = 2, y = LEG, foot_x = 2, foot_y = 0, angle = 0, short = 0, vx = 0, vy = 0 }

local problem = mpcc.problem {
  names = { "x", "y", "foot_x", "foot_y", "angle", "short", "vx", "vy", "swing", "thrust", "low" }, stages = STAGES, start = START,
  curvature = arg and arg[2] and true,
  stage = function(s, n)
    local sine, cosine = formula.sin(s.angle), formula.cos(s.angle)
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
    else
      for name, goal in pairs(GOAL) do stage.cost = stage.cost + 100 * (s[name] - goal) * (s[name] - goal) end
    end
    return stage
  end,
}
local found = mpcc.solve(problem, { verbose = tonumber(arg and arg[1]) })
mpcc.report(exp, found, 1e-3)
for k in pairs(GOAL) do print(k, found.at(STAGES, k)) end
