-- Costs and bounds that a script declares, converted for core/batch/judge.h. They are also evaluated in Lua, for
-- rollouts on the tape of a gradient call.

local TURN = 2 * math.pi -- rad

local TERM = { of = true, field = true, at = true, goal = true, scale = true, weight = true, terminal = true, norm = true, p = true,
  wrap = true }
local BOUND = { of = true, field = true, at = true, lo = true, hi = true }
local FACTOR = { of = true, field = true, at = true, bounds = true, margin = true, shape = true, value = true }
local DRAW = { of = true, field = true, values = true, uniform = true, normal = true, constant = true, add = true,
  relative = true }
local KINDS = { uniform = 0, normal = 1, constant = 2 }
local AT_MARGIN = 0.1 -- as in sim.env.tolerance

return function(sim, host)
  local C = host.batch
  local costs = {}
  host.batch_cost = costs

  function costs.check_keys(what, table_, known)
    if type(table_) ~= "table" then
      host.fail("%s: a table expected, got %s", what, host.describe(table_))
    end
    for _, key in ipairs(host.sorted_keys(table_)) do
      if not known[key] then
        local names = host.sorted_keys(known)
        local nearest = type(key) == "string" and host.nearest(key, names) or nil
        host.fail("%s: unknown key '%s'%s", what, tostring(key),
          nearest and ("; did you mean '%s'?"):format(nearest) or "; known: " .. table.concat(names, ", "))
      end
    end
  end

  local function number(what, value, default)
    if value == nil then value = default end
    if not host.finite(value) then
      host.fail("%s: a finite number expected, got %s", what, host.describe(value))
    end
    return value + 0.0
  end

  -- ---- Reading fields -----------------------------------------------------------------------

  -- The body or joint with this name.
  local function named(world, name)
    local found
    for _, list in ipairs { world.bodies, world.joints } do
      for i = 1, #list do
        if list[i].name == name then
          if found then return nil, "more than one body or joint has this name" end
          found = list[i]
        end
      end
    end
    return found, "no body or joint has this name"
  end

  -- The object of the first world that corresponds to `of`, which is a name, or a body or joint of any world.
  local function object_of(what, worlds, of)
    local world = worlds[1]
    if type(of) == "string" then
      local found, why = named(world, of)
      return found or host.fail("%s: of: '%s': %s", what, of, why)
    end
    for _, other in ipairs(worlds) do
      if host.owned(other, of) then return host.counterpart(world, of) end
    end
    host.fail("%s: of: a body or joint of the world, its name or 'controls' expected, got %s", what,
      host.describe(of))
  end

  -- Returns a flat list of objects and field numbers, the count of numbers, and the names of the fields.
  local function read_controls(what, field, controls)
    local reading, list = {}, field
    if field == nil then
      list = {}
      for i = 1, controls do list[i] = i end
    elseif type(field) ~= "table" then
      list = { field }
    end
    for i, which in ipairs(list) do
      if not host.whole(which) or which < 1 or which > controls then
        host.fail("%s: field: the number of a control, 1 to %d, expected, got %s", what, controls,
          host.describe(which))
      end
      reading[2 * i - 1], reading[2 * i] = false, which - 1
    end
    return reading, #list, list
  end

  function costs.read(what, worlds, of, field, controls)
    if of == "controls" and controls then return read_controls(what, field, controls) end
    local object = object_of(what, worlds, of)
    local fields = type(field) == "table" and field or { field }
    if #fields == 0 then
      host.fail("%s: field: the name of a field or a list of them expected, got %s", what, host.describe(field))
    end
    local reading, names = {}, {}
    for _, name in ipairs(fields) do
      if type(name) ~= "string" then
        host.fail("%s: field: the name of a field or a list of them expected, got %s", what, host.describe(name))
      end
      local numbers, known = C.fields(object, name)
      if not numbers then
        local nearest = host.nearest(name, known)
        host.fail("%s: field: there is no '%s'%s", what, name,
          nearest and ("; did you mean '%s'?"):format(nearest) or "; there are " .. table.concat(known, ", "))
      end
      for i, which in ipairs(numbers) do
        reading[#reading + 1], reading[#reading + 2] = object, which
        names[#names + 1] = known[i]
      end
    end
    return reading, #names, names
  end

  -- Reads the key `at` of a term, bound or factor: a point fixed to a body, relative to its centre of mass.
  local function read_point(what, at, reading, names)
    if at == nil then return nil end
    local good, x, y = pcall(function() return at[1] == nil and at.x or at[1], at[2] == nil and at.y or at[2] end)
    if not good or type(at) == "string" or not host.finite(x) or not host.finite(y) then
      host.fail("%s: at: {x, y} expected, got %s", what, host.describe(at))
    end
    for i, name in ipairs(names or { "touches" }) do
      if getmetatable(reading[2 * i - 1]) ~= "Body" or name ~= "x" and name ~= "y" then
        host.fail("%s: at: a point has only the fields x and y of a body, got '%s'", what, tostring(name))
      end
    end
    return { x + 0.0, y + 0.0 }
  end

  -- ---- Terms and bounds -------------------------------------------------------------------------

  local function read_term(what, worlds, term, controls)
    costs.check_keys(what, term, TERM)
    local reading, count, names = costs.read(what, worlds, term.of, term.field, controls)
    -- one goal and one scale for all numbers, or one for each number
    local function each(key, default)
      local list, given = {}, term[key]
      if (type(given) == "table" or type(given) == "userdata") and #given ~= count then
        host.fail("%s: %s: %d numbers expected, got %d", what, key, count, #given)
      end
      for i = 1, count do
        local value = given
        if value ~= nil and type(value) ~= "number" then value = value[i] end
        list[i] = number(what .. ": " .. key, value, default)
      end
      return list
    end
    local goals, scales = each("goal", 0), each("scale", 1)
    for _, scale in ipairs(scales) do
      if scale <= 0 then host.fail("%s: scale: a number above 0 expected, got %g", what, scale) end
    end
    -- the norm and its parameter
    local norm, p = C.norm(term.norm == nil and "quadratic" or tostring(term.norm))
    if not norm then
      host.fail("%s: norm: one of %s expected, got %s", what, table.concat(p, ", "), host.describe(term.norm))
    end
    if term.wrap ~= nil and type(term.wrap) ~= "boolean" then
      host.fail("%s: wrap: true or false expected, got %s", what, host.describe(term.wrap))
    end
    return { reading = reading, at = read_point(what, term.at, reading, names), goals = goals, scales = scales, names = names, wrap = term.wrap or false, norm = norm,
      kind = term.norm or "quadratic", p = number(what .. ": p", term.p, p),
      weight = number(what .. ": weight", term.weight, term.terminal and 0 or 1),
      terminal = number(what .. ": terminal", term.terminal, 0) }
  end

  local function list_of(what, list)
    if list == nil then return {} end
    if type(list) ~= "table" or #list == 0 and next(list) ~= nil then
      host.fail("%s: a list of tables { of =, field =, ... } expected, got %s", what,
        type(list) == "table" and "one table" or host.describe(list))
    end
    return list
  end

  local function read_factor(what, worlds, factor, controls)
    costs.check_keys(what, factor, FACTOR)
    local reading, count, names = costs.read(what, worlds, factor.of, factor.field, controls)
    if count ~= 1 then host.fail("%s: field: a single number expected, got %d", what, count) end
    local bounds = type(factor.bounds) == "number" and { factor.bounds, factor.bounds } or factor.bounds or { 0, 0 }
    local lo, hi = bounds[1], bounds[2]
    if type(lo) ~= "number" or type(hi) ~= "number" or not (lo <= hi) then
      host.fail("%s: bounds: { lo, hi } with lo <= hi expected, got %s", what, host.describe(factor.bounds))
    end
    local shape, known = C.shape(factor.shape == nil and "gaussian" or tostring(factor.shape))
    if not shape then
      host.fail("%s: shape: one of %s expected, got %s", what, table.concat(known, ", "), host.describe(factor.shape))
    end
    return { reading = reading, at = read_point(what, factor.at, reading, names), names = names, lo = lo, hi = hi, margin = number(what .. ": margin", factor.margin, 0),
      shape = shape, kind = factor.shape or "gaussian", value = number(what .. ": value", factor.value, AT_MARGIN) }
  end

  local function read_bound(what, worlds, bound)
    costs.check_keys(what, bound, BOUND)
    if bound.field ~= "touches" then return costs.read(what, worlds, bound.of, bound.field) end
    local object = object_of(what, worlds, bound.of)
    if getmetatable(object) ~= "Body" then host.fail("%s: field: only bodies have 'touches'", what) end
    return { object, -1 }, 1
  end

  -- Returns the declared cost, bounds and factors as a judge (core/batch/judge.h), and terms and factors for Lua. `key`
  -- names the option that contains the cost.
  function costs.judge(what, worlds, controls, cost, terminated, key, product)
    local terms, bounds, factors = {}, {}, {}
    key = key or "cost"
    for i, factor in ipairs(list_of(what .. ": " .. key .. ".factors", product)) do
      factors[i] = read_factor(("%s: %s.factors[%d]"):format(what, key, i), worlds, factor, controls)
    end
    for i, term in ipairs(list_of(what .. ": " .. key, cost)) do
      terms[i] = read_term(("%s: %s[%d]"):format(what, key, i), worlds, term, controls)
    end
    for i, bound in ipairs(list_of(what .. ": terminated", terminated)) do
      local where = ("%s: terminated[%d]"):format(what, i)
      local reading, count, names = read_bound(where, worlds, bound)
      local at = read_point(where, bound.at, reading, names)
      for k = 1, count do
        local lo, hi = bound.lo or -math.huge, bound.hi or math.huge
        if type(lo) ~= "number" or type(hi) ~= "number" or not (lo <= hi) then
          host.fail("%s: numbers lo <= hi expected, got %s and %s", where, host.describe(lo), host.describe(hi))
        end
        bounds[#bounds + 1] = { reading = { reading[2 * k - 1], reading[2 * k] }, at = at, lo = lo, hi = hi }
      end
    end
    local judge, message = C.judge(worlds[1], controls, terms, bounds, factors)
    if not judge then host.fail("%s: %s", what, message) end
    return judge, terms, factors
  end

  local function pair(where, key, value)
    if type(value) ~= "table" or not host.finite(value[1]) or not host.finite(value[2]) then
      host.fail("%s: %s: two numbers expected, got %s", where, key, host.describe(value))
    end
    return value[1] + 0.0, value[2] + 0.0
  end

  -- Returns the parameters: values that are set once in each world ({reading, count, values}), and values that are
  -- drawn at resets. `name` is the option that contains them.
  function costs.parameters(what, worlds, list, name)
    local sets, draws = {}, {}
    name = name or "parameters"
    for i, parameter in ipairs(list_of(what .. ": " .. name, list)) do
      local where = ("%s: %s[%d]"):format(what, name, i)
      costs.check_keys(where, parameter, DRAW)
      local objects = type(parameter.of) == "table" and getmetatable(parameter.of) == nil and parameter.of or { parameter.of }
      local given = 0
      for _, key in ipairs { "values", "uniform", "normal", "constant" } do
        given = given + (parameter[key] ~= nil and 1 or 0)
      end
      if given ~= 1 then host.fail("%s: one of values, uniform, normal and constant expected", where) end
      if parameter.relative ~= nil and type(parameter.relative) ~= "boolean" then
        host.fail("%s: relative: true or false expected, got %s", where, host.describe(parameter.relative))
      end
      local readings, count = {}, 0
      for o, object in ipairs(objects) do
        readings[o], count = costs.read(where, worlds, object, parameter.field)
      end
      if count == 0 then host.fail("%s: of: a body or joint, or a list of them, expected", where) end
      local reading = readings[1]
      if parameter.values ~= nil then
        if #objects > 1 or parameter.add ~= nil or parameter.relative then
          host.fail("%s: values: cannot be combined with add, relative or several objects", where)
        end
        sets[#sets + 1] = { where = where, reading = reading, count = count, values = parameter.values }
      else
        local key = parameter.normal and "normal" or parameter.uniform and "uniform" or "constant"
        local a, b
        if key == "constant" then
          a, b = number(where .. ": constant", parameter.constant), 0.0
        else
          a, b = pair(where, key, parameter[key])
        end
        -- all objects take the same random number
        for k = 1, count do
          for o, of in ipairs(readings) do
            draws[#draws + 1] = { reading = { of[2 * k - 1], of[2 * k] }, kind = KINDS[key], a = a, b = b,
              add = number(where .. ": add", parameter.add, 0), relative = parameter.relative, again = o > 1 }
          end
        end
      end
    end
    return sets, draws
  end

  -- ---- Costs in Lua --------------------------------------------------------------------------

  local norms = {}
  function norms.linear(r) return r end
  function norms.quadratic(r) return r * r / 2 end
  function norms.smooth_abs(r, p) return sim.sqrt(r * r + p * p) - p end
  function norms.huber(r, p)
    local size = sim.abs(r)
    return sim.stop_gradient(size) <= p and r * r / 2 or p * (size - p / 2)
  end
  function norms.power(r, p) return sim.abs(r) ^ p end

  -- The value of number i of a term or factor.
  local function read(of, i, world, controls)
    local object, name, at = of.reading[2 * i - 1], of.names[i], of.at
    if not object then return controls[name] end
    object = host.counterpart(world, object)
    if not at then return object[name] end
    local c, s = sim.cos(object.angle), sim.sin(object.angle)
    return object[name] + (name == "x" and c * at[1] - s * at[2] or s * at[1] + c * at[2])
  end

  local function value_of(term, world, controls)
    local sum = 0
    for i, goal in ipairs(term.goals) do
      local r = read(term, i, world, controls) - goal
      if term.wrap then r = r - TURN * math.floor(sim.stop_gradient(r) / TURN + 0.5) end
      r = r / term.scales[i]
      sum = sum + (term.kind == "l2" and r * r or norms[term.kind](r, term.p))
    end
    return term.kind == "l2" and sim.sqrt(sum + term.p * term.p) - term.p or sum
  end

  costs.value = value_of

  -- The product of factors, as sim.env.tolerance computes them.
  function costs.product(factors, world, controls)
    local product = 1
    for _, factor in ipairs(factors) do
      local x = read(factor, 1, world, controls)
      product = product * sim.env.tolerance(x, { factor.lo, factor.hi }, factor.margin, factor.kind, factor.value)
    end
    return product
  end

  -- The sum of weight times norm over all terms. `key` selects the weight: "weight" or "terminal".
  function costs.sum(terms, key, world, controls)
    local sum = 0
    for _, term in ipairs(terms) do
      if term[key] ~= 0 then sum = sum + term[key] * value_of(term, world, controls) end
    end
    return sum
  end
end
