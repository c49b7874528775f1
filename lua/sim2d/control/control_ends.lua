-- Determines how a search of sim.control.trajectory or of a planner ended (at a minimum, or stuck), and which terms are
-- stuck.

local UNREACHED = 1e-12  -- a command has no effect on a term that changes by a smaller fraction per unit of command
-- multiple of the tolerance: if the predicted relative decrease of the cost is larger, the search has not converged
local SLACK = 100
local STILL_PERIODS = 10 -- periods without motion before a planner checks that its commands have an effect
local IDLE_PART = 1e-2   -- terms below this fraction of the largest cost so far count as met
local STILL = 1e-9       -- relative change below which the numbers of the cost count as unchanged

return function(_, host)
  -- Returns the names of the terms that add more than `least` to the cost (default: derived from the tolerance), and
  -- the names of those that no command changes. Their derivatives are 0 because a body sticks or is out of reach.
  local function terms_left(problem, least)
    local value, slope = problem.solver:terms(#problem.terms)
    least = least or problem.tolerance * (math.abs(problem.result.cost) + problem.tolerance)
    local left, dead, named = {}, {}, {}
    for i, term in ipairs(problem.terms) do
      local name = problem.cost.terms[term.of].name
      if math.abs(value[i]) > least then
        if not named[name] then left[#left + 1], named[name] = name, true end
        if slope[i] <= UNREACHED * math.abs(value[i]) and named[name] ~= "dead" then
          dead[#dead + 1], named[name] = name, "dead"
        end
      end
    end
    return left, dead
  end

  local function goals_left(problem)
    local y, names = nil, {}
    if #problem.goals == 0 or problem.result.violation <= problem.violation then return names end
    _, _, y = problem.solver:plan()
    for _, goal in ipairs(problem.goals) do
      local name = ("goal %d"):format(goal.of)
      local output = goal[1] + 1 -- the solver counts from 0
      if math.abs(y[problem.periods + 1][output] - goal[2]) > problem.violation and names[#names] ~= name then
        names[#names + 1] = name
      end
    end
    return names
  end

  local function quoted(names) return "'" .. table.concat(names, "', '") .. "'" end

  -- Keeps the state "converged" if the goals are met, every remaining term depends on the commands, and no further
  -- decrease of the cost is predicted. Otherwise the search is stuck: result.unmet contains the names, and
  -- result.message explains why.
  function host.judge_end(problem)
    local result = problem.result
    if result.state ~= "converged" and result.state ~= "stuck" then return end
    local goals, left, dead = goals_left(problem), terms_left(problem)
    local flags = result.flags[1] and (" (derivatives are flagged: %s)"):format(table.concat(result.flags, ", ")) or ""
    local function stuck(names, message)
      result.state, result.unmet, result.message = "stuck", names, message .. flags
    end
    if #dead > 0 then
      table.move(goals, 1, #goals, #dead + 1, dead)
      stuck(dead, ("no command changes %s: a body sticks or is out of reach, or the cost is flat there"):format(quoted(dead)))
    elseif #goals > 0 then
      stuck(goals, ("%s: not met"):format(quoted(goals)))
    elseif #left == 0 and #problem.terms > 0 then
      result.state = "converged" -- only smaller commands could lower the cost further
    elseif result.state == "stuck" or not problem.ends_flat and problem.promised > SLACK * problem.tolerance then
      stuck(left, ("no step lowers the cost, although its slope is not 0; terms not met: %s"):format(quoted(left)))
    end
  end

  -- Warns once if the cost's numbers have not changed for some periods and no command changes them.
  function host.warn_if_idle(problem, world)
    local _, _, y = problem.solver:plan()
    local now, idle = y[1]:table(), problem.idle
    problem.most_cost = math.max(problem.most_cost or 0, math.abs(problem.result.cost))
    local moved = not idle
    for i = 1, idle and #now or 0 do
      moved = moved or math.abs(now[i] - idle.seen[i]) > STILL * (1 + math.abs(idle.seen[i]))
    end
    if moved then idle = { seen = now, periods = -1 } end
    problem.idle = idle
    idle.periods = idle.periods + 1
    if problem.warned_idle or idle.periods < STILL_PERIODS then return end
    idle.periods = 0
    -- A method that samples accepts residual functions without derivatives, so the check may fail.
    local good, _, dead = pcall(terms_left, problem, IDLE_PART * problem.most_cost)
    if not good then problem.warned_idle = true end
    if not good or #dead == 0 then return end
    problem.warned_idle = true
    host.warn(world, ("planner: the cost has not changed for %d periods, because no command of its plan changes %s: "
      .. "a body sticks or is out of reach, or the cost is flat there; give the planner u0, starts = n, "
      .. "gradient = \"smooth\" or a method that samples"):format(
      STILL_PERIODS, quoted(dead)))
  end
end
