-- Times of the contact-implicit problems in scripts/contact_implicit: sim2d bench/lua/contact_plans.lua [RUNS]
--
-- Each problem is solved RUNS times (default 9), and the least processor time counts. It includes the recording of the
-- formulas, their derivatives, and the elimination order, as in the first call of a script.
local sim = require "sim2d"

local RUNS = tonumber(arg[1]) or 9
local folder = (arg[0]:match "^(.*)bench/lua/" or "") .. "scripts/contact_implicit/"
local SCRIPTS = { "cart_pole", "waiter", "push_box", "push_t", "hopper", "bounce", "throw", "two_balls" }

local rows, name, count = {}, nil, nil
local trajectory = sim.control.trajectory
local silent = setmetatable({ options = { out = "" } }, { __index = function() return function() end end })

function sim.control.trajectory(def)
  local plan, least = nil, math.huge
  for _ = 1, RUNS do
    local began = os.clock()
    plan = trajectory(def)
    least = math.min(least, os.clock() - began)
  end
  count = count + 1
  local r = plan.residuals
  rows[#rows + 1] = { count == 1 and name or ("%s, %d"):format(name, count), #def.unknowns * def.stages,
    def.guess and "a guess" or "zeros", plan.status, plan.attempts, plan.iterations, 1000 * least, r.equal, r.positive,
    r.product, r.goal, plan.cost }
  return plan
end

local printed = print
for _, script in ipairs(SCRIPTS) do
  name, count = script, 0
  package.path = folder .. "?.lua;" .. package.path
  print, sim.experiment = function() end, function() return silent end
  dofile(folder .. script .. ".lua")
  print = printed
end
sim.table { columns = { "problem", "unknowns", "begins with", "status", "searches", "iterations", { "ms", format = "%.1f" },
  { "equations", format = "%.0e" }, { "bounds", format = "%.0e" }, { "product", format = "%.0e" }, { "goal", format = "%.2g" },
  { "cost", format = "%.4g" } }, table.unpack(rows) }
