-- sim.rollout: steps one world with many sequences of controls. The rollouts run in threads (core/batch/rollout.h), or
-- in the script's own thread if functions of the script have to be called.

local OPTIONS = { cost = true, threads = true, period = true, states = true, failures = true }
local WHOLE = 1e-6 -- relative tolerance for a period to count as a whole number of steps

return function(sim, host)
  local C = host.batch

  -- Returns an array n x (knots * controls), which is tracked if one of its numbers is tracked. `controls` is an array
  -- of this shape, or a list of sequences. Each sequence is an array or a list of knots.
  local function read_controls(controls, count)
    local what = "sim.rollout: controls"
    -- a list becomes a matrix with a row per sequence
    if type(controls) == "table" and getmetatable(controls) == nil then
      local rows = {}
      for i, sequence in ipairs(controls) do
        local array = getmetatable(sequence) == "Array" and sequence or sim.array(sequence)
        local shape = array.shape
        if shape[2] and shape[2] ~= count or not shape[2] and count ~= 1 and shape[1] % count ~= 0 then
          host.fail("%s[%d]: an array of knots x %d expected, got %s", what, i, count,
            table.concat(shape, " x "))
        end
        rows[i] = array:reshape(array.size)
        if rows[i].size ~= rows[1].size then
          host.fail("%s[%d]: %d knots expected, as in the first sequence, got %d", what, i,
            rows[1].size // count, rows[i].size // count)
        end
      end
      if #rows == 0 then host.fail("%s: at least one sequence expected, got none", what) end
      controls = sim.array(rows)
    elseif getmetatable(controls) ~= "Array" then
      host.fail("%s: an array of sequences x (knots * %d) or a list of sequences expected, got %s", what, count,
        host.describe(controls))
    end
    local shape = controls.shape
    if not shape[2] or shape[2] == 0 or shape[2] % count ~= 0 then
      host.fail("%s: an array of sequences x (knots * %d) expected, got %s", what, count,
        table.concat(shape, " x "))
    end
    return controls, shape[1], shape[2] // count
  end

  local function read_options(world, options)
    local what = "sim.rollout"
    local o = options == nil and {} or options
    host.batch_cost.check_keys(what, o, OPTIONS)
    local option = host.batch_option
    option(what, "threads", host.batch_whole(o.threads, 1, 1024), "an integer from 1 to 1024", o.threads)
    option(what, "states", type(o.states) == "boolean", "true or false", o.states)
    option(what, "failures", o.failures == "raise" or o.failures == "keep", "'raise' or 'keep'", o.failures)
    option(what, "cost", type(o.cost) == "table" or type(o.cost) == "function", "a list of terms or a function",
      o.cost)
    option(what, "period", host.finite(o.period) and o.period > 0, "seconds, more than 0,", o.period)
    -- number of steps per knot
    local dt = sim.stop_gradient(world.dt)
    local steps = (o.period or dt) / dt
    local hold = math.floor(steps + 0.5)
    if hold < 1 or math.abs(steps - hold) > WHOLE * math.max(1, hold) then
      host.fail("%s: period: a whole number of steps of %.14g s expected, got %.14g s", what, dt, o.period)
    end
    return o, hold
  end

  -- ---- Rollouts in Lua --------------------------------------------------------------------------

  -- Runs one sequence; returns its cost and the state after each knot.
  local function run(world, callbacks, sequence, hold, cost, final, states)
    local copy = world:clone { callbacks = callbacks }
    local sum, last = 0, nil
    for _, u in ipairs(sequence) do
      copy:act(u)
      for _ = 1, hold do
        local before = copy.time
        copy:step()
        sum = sum + (copy.time - before) * cost(copy, u)
      end
      if states then
        for _, number in ipairs(copy:state()) do states[#states + 1] = sim.stop_gradient(number) end
      end
      last = u
    end
    sum = sum + final(copy, last)
    copy:close()
    return sum
  end

  local function serial(world, controls, at, o, judge, terms)
    -- the cost is a function of the script, the judge in C, or, on a tape, the terms of the judge evaluated in Lua
    local tracked = C.tracked(controls) or C.on_tape(world)
    local cost, final = o.cost, function() return 0 end
    if type(cost) ~= "function" and tracked then
      cost = function(copy, u) return host.batch_cost.sum(terms, "weight", copy, u) end
      final = function(copy, u) return host.batch_cost.sum(terms, "terminal", copy, u) end
    elseif type(cost) ~= "function" then
      cost = function(copy, u) return C.running(judge, copy, u) end
      final = function(copy, u) return C.terminal(judge, copy, u) end
    end
    local alone, list, rows = C.alone(world), {}, o.states and {} or nil
    local failed, message = 0, nil
    -- run the sequences one after the other
    for i = 1, at.samples do
      local sequence, row = {}, controls[i]
      for k = 1, at.knots do
        sequence[k] = {}
        for c = 1, at.controls do sequence[k][c] = row[(k - 1) * at.controls + c] end
      end
      local states = rows and {} or nil
      local good, value = pcall(run, world, alone, sequence, at.hold, cost, final, states)
      if not good then
        failed, message = failed + 1, message or ("sequence %d: %s"):format(i, tostring(value))
        value = math.huge
        for k = 1, states and at.knots * at.states or 0 do states[k] = 0 / 0 end
      end
      list[i] = value
      if rows then rows[i] = host.parallel.array(states) end
    end
    if tracked then return sim.array(list), rows and sim.array(rows), failed, message end
    return host.parallel.array(list), rows and sim.array(rows), failed, message
  end

  -- ---- Rollouts in threads ----------------------------------------------------------------------

  local function by_threads(world, controls, at, o, judge, threads)
    local workers = host.batch_workers(threads)
    local states, failed, message
    local function roll(plain, gradient)
      local costs, slope
      costs, states, slope, failed, message = C.rollout(world, workers, judge, plain, at.knots, at.hold,
        o.states or false, gradient)
      return costs, slope
    end
    if not C.tracked(controls) then
      return roll(controls, false), states, failed, message
    end
    -- costs with their derivatives, computed separately for each sequence
    local node = sim.custom {
      forward = function(plain) return roll(plain, true) end,
      backward = function(bar, _, _, slope) return bar:reshape(at.samples, 1) * slope end,
    }
    local costs = node(controls)
    return costs, states, failed, message
  end

  function sim.rollout(world, controls, options)
    host.world(world)
    local o, hold = read_options(world, options)
    local count = host.control.count(world)
    if count == 0 then
      host.fail "sim.rollout: the world has no actuators to command; world:actuator declares them"
    end
    local at = { controls = count, hold = hold, states = #world:state() }
    controls, at.samples, at.knots = read_controls(controls, count)
    -- runs in threads unless functions of the script have to be called
    local by_hand = type(o.cost) == "function" or C.alone(world) or C.on_tape(world)
    local judge, terms
    if type(o.cost) ~= "function" then
      judge, terms = host.batch_cost.judge("sim.rollout", { world }, count, o.cost)
    end
    local costs, states, failed, message
    if by_hand then
      costs, states, failed, message = serial(world, controls, at, o, judge, terms)
    else
      costs, states, failed, message = by_threads(world, controls, at, o, judge,
        o.threads or host.parallel.threads())
    end
    if failed > 0 and o.failures ~= "keep" then
      host.fail("sim.rollout: %s%s", message, failed > 1 and (" (and %d more)"):format(failed - 1) or "")
    end
    return costs, states, failed
  end
end
