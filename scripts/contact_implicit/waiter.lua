-- A waiter pulls a plate 14 m long over the edge of a table. A finger presses on the plate and drags it by friction.
-- The finger may not go beyond the edge, and it may not press in a way that tips the plate. The finger lets go,
-- returns, brakes and pulls again. This is the problem "waiter" of CRISP, with its equations, numbers and cost (arXiv
-- 2502.01055; repository ComputationalRobotics/CRISP, 9199a78). The initial guess is all zeros.
local sim = require "sim2d"
local shared = require "shared"

local exp = sim.experiment "Contact-implicit: waiter"
local DT, STAGES = 0.05, 100 -- s
local PLATE, FINGER, GRAVITY = 2, 1, 9.81 -- kg, kg, m/s^2
local TABLE_FRICTION, FINGER_FRICTION = 0.1, 1
local HALF, EDGE = 7, 0.1 -- half length of the plate and end stop of the finger, m
local GOAL = { -- CRISP states no tolerance of the goal
  { of = "plate", value = EDGE, weight = 100, within = 0.3 }, { of = "finger", value = EDGE, weight = 100, within = 0.3 },
  { of = "v_plate", value = 2, weight = 100, within = 0.3 }, { of = "v_finger", value = 2, weight = 100, within = 0.3 },
}

local plan = sim.control.trajectory { method = "contact", smoothing = 0.03, curvature = false, goal = GOAL,
  -- The velocity of the plate, and of the finger relative to the plate, has a positive part (ahead) and a negative part
  -- (back). `press` and `hold` are the normal forces of the finger and the table. `grip` and `drag` are the friction
  -- forces of the finger and the table.
  unknowns = { "plate", "finger", "v_plate", "v_finger", "ahead", "back", "on_ahead", "on_back", "press", "u", "grip", "drag", "hold" },
  stages = STAGES, start = { plate = -6, finger = EDGE, v_plate = 0, v_finger = 0, ahead = 0, back = 0, on_ahead = 0, on_back = 0 },
  stage = function(s, n)
    local cone, slack = FINGER_FRICTION * s.press, TABLE_FRICTION * s.hold
    local stage = {
      cost = 1e-4 * (s.press * s.press + s.u * s.u),
      equal = {},
      positive = { s.ahead, s.back, s.on_ahead, s.on_back, s.hold, s.press, s.finger - EDGE, HALF - (s.finger - s.plate),
        PLATE * GRAVITY * HALF - s.press * (s.finger - s.plate + HALF), -- otherwise it tips
        slack - s.drag, slack + s.drag, cone - s.grip, cone + s.grip },
      products = { { s.ahead, s.back }, { s.on_ahead, s.on_back }, { s.ahead, slack - s.drag }, { s.back, slack + s.drag },
        { s.on_ahead, cone - s.grip }, { s.on_back, cone + s.grip } },
    }
    if n then
      stage.equal = { n.plate - s.plate - DT * n.v_plate, n.finger - s.finger - DT * n.v_finger,
        n.v_plate - s.v_plate - DT / PLATE * (s.grip - s.drag), n.v_finger - s.v_finger - DT / FINGER * (s.u - s.grip),
        s.v_finger - s.v_plate - s.on_ahead + s.on_back, s.v_plate - s.ahead + s.back, s.hold + s.press - PLATE * GRAVITY }
    end
    return stage
  end,
}

shared.report(exp, plan, 1e-6)
local last = plan.stages[STAGES]
print(("plate at %.3f m, finger at %.3f m, %.3f and %.3f m/s"):format(last.plate, last.finger, last.v_plate, last.v_finger))
exp:below("plate from the goal, m", 0.02, math.abs(last.plate - EDGE))
exp:below("all of the goal, root of squares", 0.3, math.sqrt(shared.squares(last, GOAL)))

local world = sim.world { dt = DT, gravity = { 0, 0 } }
world:box { type = "static", position = { EDGE - 8, -0.5 }, size = { 16, 1 }, mask = 0 }
local plate = world:box { type = "kinematic", size = { 2 * HALF, 0.3 }, mask = 0 }
local finger = world:circle { name = "finger", type = "kinematic", radius = 0.35, mask = 0 }
shared.play(exp, world, plan, 7, { finger }, function(stage)
  -- the finger is drawn above the plate when it does not press
  plate.position, finger.position = { stage.plate, 0.15 }, { stage.finger, stage.press > 0.1 and 0.65 or 1.1 }
end)
exp:finish()
