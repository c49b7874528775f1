-- sim.control.cost: the cost of a trajectory, declared once and usable with every method of the planners.

local NORMS = { linear = 0, quadratic = 1, smooth_abs = 2, huber = 3, l2 = 4, power = 5 } -- S2Norm
local MOST = 16 -- largest number of values in a term (S2_TERM_MOST)
local DEFAULT_P = { linear = 0, quadratic = 0, l2 = 0.1, smooth_abs = 0.1, huber = 1, power = 2 }
-- Maps fields to indices of coordinates. A second table contains the fields that are speeds. Coordinates of a body are
-- 0 (angle), 1 (x) and 2 (y). The limits of a joint act on its coordinate 0. Coordinate 1 is the angle of a wheel.
local OF_BODY = { angle = { 0 }, x = { 1 }, y = { 2 }, position = { 1, 2 } }
local OF_BODY_SPEED = { omega = { 0 }, angular_velocity = { 0 }, vx = { 1 }, vy = { 2 }, velocity = { 1, 2 } }
local OF_JOINT = { angle = true, translation = true, length = true }

return function(sim, host)
  sim.control = sim.control or {}
  local control = sim.control
  local fail, describe = host.fail, host.describe

  local Cost = host.close_class({ __name = "Cost" }, "Cost", {})
  host.Cost = Cost -- further methods are in control_seen.lua
  Cost.__tostring = function(cost)
    local names = {}
    for i, term in ipairs(cost.terms) do names[i] = term.name end
    return "Cost (" .. table.concat(names, ", ") .. ")"
  end

  local TERM = { [1] = true, name = true, of = true, field = true, at = true, goal = true, weight = true,
    norm = true, p = true, residual = true, wrap = true }

  local function read_goal(where, goal, count)
    if goal == nil then goal = 0 end
    local list = {}
    for i = 1, count do
      local value = goal
      if type(goal) ~= "number" then
        local good
        good, value = pcall(function() return goal[i] end)
        if not good then value = nil end
      end
      if not host.finite(value) then
        fail("bad argument #1 to 'cost' (%skey 'goal': %s expected, got %s)", where,
          count == 1 and "a finite number" or ("a number or a list of %d"):format(count), describe(goal))
      end
      list[i] = value
    end
    return list
  end

  -- Returns {part, speed} for each of the named fields.
  local function read_fields(where, def)
    local object, fields = def.of, def.field
    local kind = getmetatable(object)
    if kind ~= "Body" and kind ~= "Joint" then
      fail("bad argument #1 to 'cost' (%skey 'of': a body or joint expected, got %s)", where, describe(object))
    end
    if type(fields) == "string" then fields = { fields } end
    if type(fields) ~= "table" or #fields == 0 then
      fail("bad argument #1 to 'cost' (%skey 'field': a name or a list of names expected, got %s)", where,
        describe(def.field))
    end
    if def.at ~= nil and (kind ~= "Body" or not pcall(function() return def.at[1] + def.at[2] end)) then
      fail("bad argument #1 to 'cost' (%skey 'at': {x, y}, a point of a body, expected)", where)
    end
    local numbers = {}
    for _, field in ipairs(fields) do
      local parts, speed
      if kind == "Body" then
        parts, speed = OF_BODY[field], false
        if not parts then parts, speed = OF_BODY_SPEED[field], true end
      elseif field == "speed" then
        parts, speed = { 0 }, true
      elseif OF_JOINT[field] then
        local _ = object[field] -- raises an error if the joint does not have this field
        parts, speed = { object.type == "wheel" and field == "angle" and 1 or 0 }, false
      end
      if not parts then
        local known = {}
        for _, list in ipairs(kind == "Body" and { OF_BODY, OF_BODY_SPEED } or { OF_JOINT, { speed = true } }) do
          for _, name in ipairs(host.sorted_keys(list)) do known[#known + 1] = name end
        end
        fail("bad argument #1 to 'cost' (%skey 'field': one of %s expected, got %s; "
          .. "for other quantities, use residual = function(world))",
          where, table.concat(known, ", "), describe(field))
      end
      for _, part in ipairs(parts) do
        if def.at ~= nil and part == 0 then
          fail("bad argument #1 to 'cost' (%skey 'at': a point has no %s)", where, field)
        end
        numbers[#numbers + 1] = { part, speed }
      end
    end
    return numbers
  end

  local function read_number(where, def, key, default, least)
    local value = def[key]
    if value == nil then value = default end
    if not host.finite(value) or (least and value < least) then
      fail("bad argument #1 to 'cost' (%skey '%s': a %s expected, got %s)", where, key,
        least and ("number of at least %g"):format(least) or "finite number", describe(value))
    end
    return value
  end

  local function read_term(def, i, names)
    local where = ("[%d]: "):format(i)
    if type(def) ~= "table" then
      fail("bad argument #1 to 'cost' ([%d]: a table, { name, of =, field =, ... }, expected, got %s)", i, describe(def))
    end
    for _, key in ipairs(host.sorted_keys(def)) do
      if not TERM[key] then
        local near = type(key) == "string" and host.nearest(key, host.sorted_keys(TERM))
        fail("bad argument #1 to 'cost' (%sunknown key '%s'%s)", where, tostring(key),
          near and ("; did you mean '%s'?"):format(near) or "")
      end
    end
    local name = def.name or def[1] or ("term " .. i)
    if type(name) ~= "string" then
      fail("bad argument #1 to 'cost' (%skey 'name': a text expected, got %s)", where, describe(name))
    end
    where = ("'%s': "):format(name)
    -- the values of the term are given by fields or by a function
    if name == "controls" then
      fail("bad argument #1 to 'cost' (%skey 'name': 'controls' is reserved for the commands)", where)
    end
    if names[name] then fail("bad argument #1 to 'cost' (there is a term '%s' already)", name) end
    names[name] = true
    if (def.of == nil) == (def.residual == nil) then
      fail("bad argument #1 to 'cost' (%seither 'of' and 'field' or 'residual' expected)", where)
    end
    local norm = def.norm or "quadratic"
    if not NORMS[norm] then
      fail("bad argument #1 to 'cost' (%skey 'norm': one of quadratic, l2, smooth_abs, huber, power, linear expected, got %s)",
        where, describe(norm))
    end
    local term = { name = name, norm = norm, weight = read_number(where, def, "weight", 1, 0), terminal = 0,
      p = read_number(where, def, "p", DEFAULT_P[norm], norm == "power" and 1 or 0) }
    if def.wrap ~= nil and type(def.wrap) ~= "boolean" then
      fail("bad argument #1 to 'cost' (%skey 'wrap': true or false expected, got %s)", where, describe(def.wrap))
    end
    term.wrap = def.wrap or false
    if def.residual ~= nil then
      host.check_function("cost", 1, def.residual)
      term.residual, term.goal_given = def.residual, def.goal
    else
      term.of, term.at, term.numbers = def.of, def.at, read_fields(where, def)
      term.fields = type(def.field) == "string" and { def.field } or def.field
      if #term.numbers > MOST then fail("bad argument #1 to 'cost' (%sa term has at most %d numbers)", where, MOST) end
      term.goal = read_goal(where, def.goal, #term.numbers)
    end
    return term
  end

  -- sim.control.cost { {name, of =, field =, goal =, weight =, norm =, p =}, {name, residual = f, ...}, controls =,
  -- terminal = {name = weight} }
  function control.cost(def)
    if type(def) ~= "table" then fail("bad argument #1 to 'cost' (table expected, got %s)", describe(def)) end
    local cost = setmetatable({ terms = {}, version = 0, controls = def.controls == nil and 0 or def.controls }, Cost)
    local names = {}
    for i, term in ipairs(def) do cost.terms[i] = read_term(term, i, names) end
    -- all other keys belong to the cost itself
    for _, key in ipairs(host.sorted_keys(def)) do
      if type(key) ~= "number" and key ~= "controls" and key ~= "terminal" then
        fail("bad argument #1 to 'cost' (unknown key '%s'; known: controls, terminal, and terms as a list)", tostring(key))
      end
    end
    local terminal = def.terminal or {}
    if type(terminal) ~= "table" then
      fail("bad argument #1 to 'cost' (key 'terminal': weights by the names of terms expected, got %s)", describe(terminal))
    end
    for _, name in ipairs(host.sorted_keys(terminal)) do
      local found
      for _, term in ipairs(cost.terms) do
        if term.name == name then
          found = true
          term.terminal = read_number("terminal: ", terminal, name, 0, 0)
        end
      end
      if not found then
        fail("bad argument #1 to 'cost' (key 'terminal': there is no term '%s')", tostring(name))
      end
    end
    return cost
  end

  -- Weights of the controls, one per actuator.
  function host.cost_controls(cost, count)
    local list = {}
    for i = 1, count do
      local value = cost.controls
      if type(value) ~= "number" then value = value[i] end
      if not host.finite(value) or value < 0 then
        fail("cost: controls: a weight of at least 0, or %d of them, expected, got %s", count, describe(cost.controls))
      end
      list[i] = value
    end
    return list
  end

  -- Returns the cost in the form that sim.rollout accepts, or nil if it contains functions or points of bodies.
  function host.cost_for_rollouts(cost, world, count)
    local terms = {}
    for i, term in ipairs(cost.terms) do
      if term.residual or term.at then return nil end
      terms[i] = { of = host.counterpart(world, term.of), field = term.fields, goal = term.goal, weight = term.weight,
        terminal = term.terminal, norm = term.norm, wrap = term.wrap or nil }
      if term.norm ~= "quadratic" and term.norm ~= "linear" then terms[i].p = term.p end
    end
    for i, weight in ipairs(host.cost_controls(cost, count)) do
      if weight > 0 then terms[#terms + 1] = { of = "controls", field = i, weight = weight } end
    end
    return terms
  end

  -- Converts the result of a function to a list of numbers.
  local function as_list(name, value)
    if type(value) == "number" or getmetatable(value) == "Tracked" then return { value } end
    if getmetatable(value) == "Array" or type(value) == "table" or getmetatable(value) == "Vector" then
      local list = {}
      for i = 1, #value do list[i] = value[i] end
      if #list > 0 and #list <= MOST then return list end
    end
    fail("cost: '%s': its residual should be a number or a list of numbers (at most %d), got %s", name, MOST, describe(value))
  end

  host.cost_list = as_list
  function host.cost_goal(name, goal, count) return read_goal("'" .. name .. "': ", goal, count) end

  -- Returns the terms for a world, which may be a clone of the world they were declared for: outputs and terms for the
  -- model in C, and a function that computes the additional numbers.
  function host.cost_for(cost, world)
    local outputs, terms, functions, extra = {}, {}, {}, 0
    -- values come first, at their own indices; all speeds follow
    for _, term in ipairs(cost.terms) do
      for _, number in ipairs(term.numbers or {}) do
        local good, object = pcall(host.counterpart, world, term.of)
        if not good or not object or not object.alive then
          fail("cost: '%s': the world does not have the %s that the term was declared for", term.name,
            getmetatable(term.of) == "Joint" and "joint" or "body")
        end
        local part = number[1]
        outputs[#outputs + 1] = term.at and { object, part, term.at[1], term.at[2] } or { object, part }
      end
    end
    local count = #outputs
    local at = 0
    for i, term in ipairs(cost.terms) do
      local entry = { wrap = term.wrap, weight = term.weight, terminal = term.terminal, norm = NORMS[term.norm], p = term.p }
      if term.residual then
        local list = as_list(term.name, term.residual(world))
        entry.first, entry.count, entry.goal = 2 * count + extra, #list, read_goal("'" .. term.name .. "': ", term.goal_given, #list)
        functions[#functions + 1] = { term.residual, #list, term.name }
        extra = extra + #list
        terms[#terms + 1] = entry
      else
        -- speeds and values are stored separately, so each run of numbers of the same kind becomes its own term
        local numbers, k = term.numbers, 1
        local mixed = false
        for j = 2, #numbers do mixed = mixed or numbers[j][2] ~= numbers[1][2] end
        if mixed and term.norm == "l2" then
          fail("cost: '%s': norm 'l2' cannot combine positions and speeds", term.name)
        end
        while k <= #numbers do
          local last = k
          while numbers[last + 1] and numbers[last + 1][2] == numbers[k][2] do last = last + 1 end
            terms[#terms + 1] = { wrap = term.wrap, weight = term.weight, terminal = term.terminal, norm = NORMS[term.norm], p = term.p,
            first = at + k - 1 + (numbers[k][2] and count or 0), count = last - k + 1,
            goal = table.move(term.goal, k, last, 1, {}) }
          terms[#terms].of = i
          k = last + 1
        end
        at = at + #numbers
      end
      terms[#terms].of = i
    end
    local function values(w)
      local all = {}
      for _, f in ipairs(functions) do
        local list = as_list(f[3], f[1](w))
        if #list ~= f[2] then fail("cost: '%s': the residual has %d numbers, but it had %d before", f[3], #list, f[2]) end
        for i, value in ipairs(list) do
          if not host.finite(sim.stop_gradient(value)) then
            fail("cost: '%s': number %d of its residual is not finite at t = %g s: %s", f[3], i, sim.stop_gradient(w.time),
              describe(sim.stop_gradient(value)))
          end
          all[#all + 1] = value
        end
      end
      return all
    end
    -- Also returns derivatives with respect to the state, which are exact if the results are tracked.
    local function both(w, derivatives)
      if not derivatives then return values(w) end
      local image = w:snapshot()
      local state = sim.array(w:state())
      local all, slopes
      local J
      J, all = sim.jacobian(function(s)
        w:set_state(s)
        all = values(w)
        return sim.array(all)
      end, state)
      w:restore(image)
      local numbers = values(w)
      slopes = {}
      for i = 1, #numbers do slopes[i] = J[i]:table() end
      return numbers, slopes
    end
    return { outputs = outputs, terms = terms, extra = extra > 0 and both or nil, extra_count = extra }
  end
end
