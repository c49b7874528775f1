-- Functions for the scripts of this folder: sums of squares, the report of a plan, and its picture.
local sim = require "sim2d"

local shared = {}

-- Returns the sum of the squared deviations of stage s from the goals. Works for numbers and formulas.
function shared.squares(s, goals)
  local sum = 0
  for _, goal in ipairs(goals) do sum = sum + (s[goal.of] - goal.value) ^ 2 end
  return sum
end

-- Prints how the search ended, and adds expectations. The tolerance is that of CRISP's example.
function shared.report(exp, plan, crisp_tolerance)
  print(("%s after %d iterations in %.3f s, cost %.5f"):format(plan.status, plan.iterations, plan.time, plan.cost))
  if crisp_tolerance then print(("CRISP's example of this problem asks for violations below %.0e"):format(crisp_tolerance)) end
  exp:equal("status", "converged", plan.status)
  exp:below("dynamics and other equations missed by", 1e-6, plan.residuals.equal)
  exp:below("what is to be positive is below 0 by", 1e-6, plan.residuals.positive)
  exp:below("largest product of a complementary pair", 1e-6, plan.residuals.product)
end

-- Shows a motion. `pose(stage)` places the bodies of the world, which are kinematic. The option --out writes a picture
-- of several moments, from the first stage to the last, with the paths of the bodies in `trails`.
function shared.play(exp, world, plan, moments, trails, pose)
  local stages = plan.stages
  pose(stages[1])
  local out, recording = exp.options.out, nil
  if out ~= "" then
    local strobe = {}
    for k = 1, moments do strobe[k] = (#stages - 1) * (k - 1) // (moments - 1) * world.dt end
    recording = assert(world:record(out, { width = 480, strobe = strobe, trails = trails }))
  end
  for i = 2, #stages do
    pose(stages[i])
    world:step()
  end
  if recording then assert(recording:close()) end
end

if not sim.is_main() then return shared end

local exp = sim.experiment("The corner of x and y, both >= 0, x y = 0, that is nearest to (1, 2)")
local plan = sim.control.trajectory { method = "contact", stages = 2, unknowns = { "x", "y" }, stage = function(s)
  return { cost = (s.x - 1) ^ 2 + (s.y - 2) ^ 2, positive = { s.x, s.y }, products = { { s.x, s.y } } }
end }
shared.report(exp, plan)
exp:equal("x", 0, plan.stages[1].x, 1e-6)
exp:equal("y", 2, plan.stages[1].y, 1e-6)
exp:equal("cost of both stages", 2, plan.cost, 1e-5)
exp:finish()
