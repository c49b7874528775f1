-- sim.hvp and sim.check_grad: differences, along a direction of exact gradients and along each
-- parameter of values.

local SOURCE = debug.getinfo(1, "S").source
-- Of the size of the parameters (at least 1). Differences below err by the fourth power of the
-- step times the fifth derivative, and by rounding / step: 1e-12 and 1e-13 here.
local STEP = 1e-3
-- Of the largest derivative: what is smaller is compared with this, for its relative error says
-- nothing.
local SMALL = 1e-3

-- Raises at the line of the script that called us.
local function fail(format, ...)
  local level, info = 2, nil
  repeat
    info = debug.getinfo(level, "Sl")
    level = level + 1
  until info == nil or (info.source ~= SOURCE and info.what ~= "C")
  local where = info and info.currentline > 0
    and ("%s:%d: "):format(info.short_src, info.currentline) or ""
  error(where .. format:format(...), 0)
end

local function check_function(name, f)
  local meta = getmetatable(f)
  if type(f) ~= "function" and not (type(meta) == "table" and meta.__call) then
    fail("bad argument #1 to '%s' (function expected, got %s)", name, type(f))
  end
end

local function sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b)
    if math.type(a) and math.type(b) then return a < b end
    return (math.type(a) and "" or type(a)) .. tostring(a)
      < (math.type(b) and "" or type(b)) .. tostring(b)
  end)
  return keys
end

return function(sim)
  -- The numbers of nested tables (and arrays) in a fixed order, and a function that makes the same
  -- tables of other numbers.
  local function flatten(value, path, list)
    local kind = getmetatable(value)
    if type(value) == "number" then
      local i = #list + 1
      list[i] = { path = path, value = value }
      return function(x) return x[i] end
    elseif kind == "Array" or kind == "Vector" then
      local build = flatten(kind == "Array" and value:table() or { table.unpack(value) }, path, list)
      return function(x) return sim.array(build(x)) end
    elseif type(value) ~= "table" then
      return function() return value end
    end
    local parts = {}
    for i, key in ipairs(sorted_keys(value)) do
      local name = type(key) == "string" and "." .. key or ("[%s]"):format(tostring(key))
      parts[i] = { key, flatten(value[key], path .. name, list) }
    end
    return function(x)
      local copy = {}
      for _, part in ipairs(parts) do copy[part[1]] = part[2](x) end
      return copy
    end
  end

  local function numbers(value, path)
    local list = {}
    local build = flatten(value, path, list)
    local x = {}
    for i, leaf in ipairs(list) do x[i] = leaf.value end
    return x, build, list
  end

  local function largest(x)
    local most = 0
    for _, value in ipairs(x) do most = math.max(most, math.abs(value)) end
    return most
  end

  -- The Hessian of f at p times d.
  function sim.hvp(f, p, d)
    check_function("hvp", f)
    local x, build = numbers(p, "p")
    local direction = numbers(d, "d")
    if #x ~= #direction then
      fail("bad argument #3 to 'hvp' (as many numbers as the parameters have, %d, expected, got %d)",
        #x, #direction)
    end
    local length, result = largest(direction), {}
    if length == 0 then
      for i = 1, #x do result[i] = 0.0 end
      return build(result)
    end
    local step = STEP * math.max(1, largest(x)) / length
    for _, side in ipairs { { 1, 8 }, { -1, -8 }, { 2, -1 }, { -2, 1 } } do
      local at = {}
      for i = 1, #x do at[i] = x[i] + side[1] * step * direction[i] end
      local g = numbers(sim.grad(f, build(at)), "p")
      for i = 1, #x do result[i] = (result[i] or 0) + side[2] * g[i] / (12 * step) end
    end
    return build(result)
  end

  local function plain_loss(f, p)
    local value = f(p)
    if type(value) ~= "number" or value ~= value or math.abs(value) == math.huge then
      fail("check_grad: the function returned %s beside p, not a finite number", tostring(value))
    end
    return value
  end

  local function difference(f, x, build, i, step)
    local slopes = {}
    local from = x[i]
    for k, h in ipairs { step, step / 2 } do
      x[i] = from + h
      local ahead = plain_loss(f, build(x))
      x[i] = from - h
      slopes[k] = (ahead - plain_loss(f, build(x))) / (2 * h)
    end
    x[i] = from
    return slopes[2] + (slopes[2] - slopes[1]) / 3
  end

  local function read_options(options)
    local read = { step = STEP, print = true }
    if options ~= nil and type(options) ~= "table" then
      fail("bad argument #3 to 'check_grad' (table expected, got %s)", type(options))
    end
    for key, value in pairs(options or {}) do
      if read[key] == nil then
        fail("bad argument #3 to 'check_grad' (unknown key '%s'; known: step, print)", tostring(key))
      elseif type(value) ~= type(read[key]) or (key == "step" and not (value > 0 and value < 1)) then
        fail("bad argument #3 to 'check_grad' (key '%s': %s expected, got %s)", key,
          key == "step" and "number between 0 and 1" or "true or false", tostring(value))
      end
      read[key] = value
    end
    return read
  end

  -- Compares the gradient of f at p with differences of its values; prints a line a parameter and
  -- returns the largest relative error.
  function sim.check_grad(f, p, options)
    check_function("check_grad", f)
    options = read_options(options)
    local x, build, list = numbers(p, "p")
    local g = numbers(sim.grad(f, p), "p")
    local rows, worst = { columns = { "parameter", "value", "gradient", "difference", "error" } }, 0
    local slopes = {}
    for i = 1, #x do
      slopes[i] = difference(f, x, build, i, options.step * math.max(1, math.abs(x[i])))
    end
    local least = SMALL * math.max(largest(g), largest(slopes))
    for i, leaf in ipairs(list) do
      local size = math.max(math.abs(g[i]), math.abs(slopes[i]), least)
      local err = size == 0 and 0.0 or math.abs(g[i] - slopes[i]) / size
      worst = math.max(worst, err)
      rows[i] = { leaf.path, leaf.value, ("%.10g"):format(g[i]), ("%.10g"):format(slopes[i]),
        ("%.1e"):format(err) }
    end
    if options.print then sim.table(rows) end
    return worst
  end
end
