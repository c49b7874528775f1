-- Shared by the other files: errors that are reported at the line of the script, and parameters (nested tables of
-- numbers and arrays) as flat lists of numbers. Modules are loaded in alphabetical order.

local SOURCE = debug.getinfo(1, "S").source
local DEEPEST = 64 -- greatest depth of nested tables; a deeper table is assumed to contain itself

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

local function step_into(path, key)
  return path .. (type(key) == "string" and "." .. key or ("[%s]"):format(tostring(key)))
end

return function(sim, host)
  -- Raises an error that is reported at the line of the script that called the library.
  function host.fail(format, ...)
    local level, info = 2, nil
    repeat
      info = debug.getinfo(level, "Sl")
      level = level + 1
    until info == nil or (info.source ~= SOURCE and info.what ~= "C")
    local where = info and info.currentline > 0
      and ("%s:%d: "):format(info.short_src, info.currentline) or ""
    error(where .. format:format(...), 0)
  end

  function host.finite(value)
    return type(value) == "number" and value == value and math.abs(value) < math.huge
  end

  -- Converts a float without a fraction to an integer, as Lua does for table keys.
  function host.whole(value)
    return type(value) == "number" and math.tointeger(value) ~= nil
  end

  function host.describe(value)
    if type(value) == "number" then
      return value ~= value and "nan" or ("%.14g"):format(value)
    end
    local kind = type(value)
    return kind == "string" and ("'%s'"):format(value) or kind == "boolean" and tostring(value)
      or kind == "userdata" and tostring(getmetatable(value)) or kind
  end

  function host.check_function(what, argument, f)
    local meta = debug.getmetatable(f)
    if type(f) ~= "function" and not (type(meta) == "table" and meta.__call) then
      host.fail("bad argument #%d to '%s' (function expected, got %s)", argument, what,
        host.describe(f))
    end
  end

  host.sorted_keys = sorted_keys -- visits the keys in the same order in every run

  -- ---- Table objects that raise an error for unknown fields -------------------------------------

  local closed = {} -- maps a class (the metatable of its objects) to { name =, fields = set, parent = class or nil }

  local function member(class, key)
    while class do
      local value = rawget(class, key)
      if value ~= nil then return value end
      class = closed[class].parent
    end
  end

  local function unknown(object, class, key)
    local names, all = {}, {}
    local function add(from)
      for name in pairs(from) do
        if type(name) == "string" and name:sub(1, 2) ~= "__" then names[name] = true end
      end
    end
    add(object)
    while class do
      add(class)
      add(closed[class].fields)
      all.name = all.name or closed[class].name
      class = closed[class].parent
    end
    local near = type(key) == "string" and host.nearest(key, sorted_keys(names))
    host.fail("%s has no field '%s'%s", all.name, tostring(key), near and ("; did you mean '%s'?"):format(near) or "")
  end

  -- Restricts the fields of objects with this metatable. They have the methods of the class and of `parent`, the fields
  -- that they are made with, and the fields in the list `fields`, which may be nil. Reading or writing any other field
  -- raises an error.
  function host.close_class(class, name, fields, parent)
    local known = {}
    for _, field in ipairs(fields) do known[field] = true end
    closed[class] = { name = name, fields = known, parent = parent }
    class.__index = function(object, key)
      local value = member(class, key)
      if value == nil and not known[key] then unknown(object, class, key) end
      return value
    end
    class.__newindex = function(object, key, value)
      if not known[key] and member(class, key) == nil then unknown(object, class, key) end
      rawset(object, key, value)
    end
    return class
  end

  -- Returns a field of any table, or nil if there is none. It never raises an error.
  function host.field(object, key)
    local class = getmetatable(object)
    if type(class) ~= "table" or not closed[class] then return object[key] end
    local value = rawget(object, key)
    if value == nil then value = member(class, key) end
    return value
  end

  -- ---- Layout: positions of parameter values in a flat list -------------------------------------

  local Layout = {}
  Layout.__index = Layout

  local function add(layout, value)
    layout.count = layout.count + 1
    layout.start[layout.count] = value
  end

  local function describe_part(layout, value, path, depth)
    local kind = getmetatable(value)
    local part = { path = path, at = layout.count + 1 }
    if depth > DEEPEST then
      host.fail("parameters in more than %d tables (does one contain itself?)", DEEPEST)
    elseif type(value) == "number" then
      part.kind = "number"
      add(layout, value)
    elseif kind == "Array" or kind == "Vector" then
      local array = sim.array(kind == "Array" and value or { table.unpack(value) }):value()
      part.kind, part.count, part.shape = "array", array.size, array.shape
      for _, number in ipairs(array:reshape(array.size):table()) do add(layout, number) end
    elseif type(value) ~= "table" then
      if kind == "Tracked" then
        host.fail("%s has to be a plain value, got a tracked number; use sim.stop_gradient(x)", path)
      end
      -- strings, functions and worlds are passed on unchanged
      part.kind, part.value = "constant", value
    else
      part.kind = "table"
      -- visit sorted keys, so that each number has the same index in every run
      for i, key in ipairs(sorted_keys(value)) do
        part[i] = describe_part(layout, value[key], step_into(path, key), depth + 1)
        part[i].key = key
      end
    end
    return part
  end

  local function build(part, x)
    if part.kind == "number" then
      return x[part.at]
    elseif part.kind == "array" then
      local list = table.move(x, part.at, part.at + part.count - 1, 1, {})
      return part.shape[2] and sim.array(list, part.shape[1], part.shape[2]) or sim.array(list)
    elseif part.kind == "constant" then
      return part.value
    end
    local copy = {}
    for _, inner in ipairs(part) do copy[inner.key] = build(inner, x) end
    return copy
  end

  local function name(part, i)
    if part.kind == "number" then
      return part.at == i and part.path
    elseif part.kind == "array" and i >= part.at and i < part.at + part.count then
      local k, columns = i - part.at, part.shape[2]
      if columns then
        return ("%s[%d][%d]"):format(part.path, k // columns + 1, k % columns + 1)
      end
      return ("%s[%d]"):format(part.path, k + 1)
    end
    for _, inner in ipairs(part) do
      local found = name(inner, i)
      if found then return found end
    end
  end

  local function fill(part, number, x)
    if part.kind == "number" or part.kind == "array" then
      for i = part.at, part.at + (part.count or 1) - 1 do x[i] = number end
    end
    for _, inner in ipairs(part) do fill(inner, number, x) end
  end

  local function is_array(value)
    local kind = getmetatable(value)
    return kind == "Array" or kind == "Vector" or type(value) == "table" and kind == nil
  end

  local function read(part, value, x, what, default)
    if default and (value == nil or type(value) == "number") then
      -- one number stands for all numbers in this part
      fill(part, (value or default) + 0.0, x)
    elseif part.kind == "number" then
      if type(value) ~= "number" then
        host.fail("%s: %s: number expected, got %s", what, part.path, host.describe(value))
      end
      x[part.at] = value + 0.0
    elseif part.kind == "array" then
      if getmetatable(value) == "Vector" then value = { table.unpack(value) } end
      if not is_array(value) then
        host.fail("%s: %s: array expected, got %s", what, part.path, host.describe(value))
      end
      local array = sim.array(value)
      if array.shape[1] ~= part.shape[1] or array.shape[2] ~= part.shape[2] then
        host.fail("%s: %s: array of shape %s expected, got %s", what, part.path,
          table.concat(part.shape, " x "), table.concat(array.shape, " x "))
      end
      table.move(array:reshape(part.count):table(), 1, part.count, part.at, x)
    elseif part.kind == "table" then
      if type(value) ~= "table" then
        host.fail("%s: %s: table expected, got %s", what, part.path, host.describe(value))
      end
      -- with a default, missing values get the default and unknown keys are errors
      local known = {}
      for _, inner in ipairs(part) do
        read(inner, value[inner.key], x, what, default)
        known[inner.key] = true
      end
      for _, key in ipairs(default and sorted_keys(value) or {}) do
        if not known[key] then
          host.fail("%s: there is no parameter %s", what, step_into(part.path, key))
        end
      end
    end
  end

  -- Returns a layout: `start` contains the numbers of `value`, and `count` is the number of them. Layout:build passes
  -- on values that are not numbers, arrays or tables.
  function host.layout(value, path)
    local layout = setmetatable({ count = 0, start = {} }, Layout)
    layout.part = describe_part(layout, value, path or "p", 0)
    return layout
  end

  -- Returns tables with the same structure that contain the numbers in the list x, which may be tracked.
  function Layout:build(x) return build(self.part, x) end

  -- Returns the name of number i, such as p.links[2].mass.
  function Layout:name(i) return name(self.part, i) end

  -- Reads the numbers of a value with the same structure; `what` names the value in messages. With a default, missing
  -- values get the default, and a single number in place of a table applies to all numbers in that table.
  function Layout:read(value, what, default)
    local x = {}
    read(self.part, value, x, what, default)
    return x
  end
end
