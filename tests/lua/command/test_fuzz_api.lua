-- Random calls made from the declarations in lua/sim2d/meta/*.lua of every function, field and operator: with arguments
-- of right and of wrong types, on existing, destroyed and foreign objects, in coroutines, callbacks and gradients. Each
-- returns or raises a message of the library; never a crash, and never an error inside a module of the library.
--   S2_FUZZ=N calls (a seed), S2_SEEDS=A-B: the same calls for the same seed
local sim = require "sim2d"

local CALLS = tonumber(os.getenv "S2_FUZZ") or fewer(5000, 1500)
local FIRST, LAST = (os.getenv "S2_SEEDS" or "1-2"):match "(%d+)-(%d+)"
local CALLS_A_SCENE, STEPS_A_CALL, POOL = 150, 40, 60

-- ---- Declarations of the meta files -------------------------------------------------------------

local function meta_lines()
  local lines, paths = {}, {}
  local folder = (os.getenv "S2_SOURCE" or "."):gsub("'", "'\\''")
  local files <close> = assert(io.popen("ls '" .. folder .. "'/lua/sim2d/meta/*.lua"))
  for path in files:lines() do paths[#paths + 1] = path end
  for _, path in ipairs(paths) do
    for line in io.lines(path) do lines[#lines + 1] = line end
  end
  return lines
end

-- The type at the front of a text: up to a blank outside all brackets, unless "|" or ":" continues it.
local function front(text)
  local depth, at = 0, 1
  while at <= #text do
    local c = text:sub(at, at)
    if c:find "[%(%[{<]" then
      depth = depth + 1
    elseif c:find "[%)%]}>]" then
      depth = depth - 1
    elseif c == " " and depth == 0 and not text:find("^ *[|:]", at) and
        not text:sub(1, at - 1):find "[|:,] *$" then
      break
    end
    at = at + 1
  end
  return text:sub(1, at - 1)
end

local classes, aliases, functions, operators = {}, {}, {}, {}
do
  local class, alias, params = nil, nil, {}
  for _, line in ipairs(meta_lines()) do
    local name, parent = line:match "^%-%-%-@class ([%w_.]+):?%s*([%w_.]*)"
    if name then
      class = name
      classes[name] = classes[name] or { fields = {}, order = {}, parent = parent ~= "" and parent or nil }
    end
    local field, optional, kind = line:match "^%-%-%-@field ([%w_]+)(%??) (.*)"
    if not field then
      field, optional, kind = line:match "^%-%-%-@field %[(%d+)%](%??) (.*)"
      field = tonumber(field)
    end
    if field then
      local of = classes[class]
      of.order[#of.order + 1] = field
      of.fields[field] = { type = front(kind), optional = optional == "?" }
    end
    local aliased, means = line:match "^%-%-%-@alias ([%w_.]+) ?(.*)"
    if aliased then alias, aliases[aliased] = aliased, front(means) end
    local one = line:match "^%-%-%-| (%S+)"
    if one then
      aliases[alias] = aliases[alias] .. (aliases[alias] == "" and "" or "|") .. one
    end
    local param, or_nil, of = line:match "^%-%-%-@param ([%w_.]+)(%??) (.*)"
    if param then params[#params + 1] = { name = param, type = front(of), optional = or_nil == "?" } end
    local operator = line:match "^%-%-%-@operator (%w+)"
    if operator then operators[#operators + 1] = operator end
    local owner, mark, method = line:match "^function ([%w_]+)([.:])([%w_]+)"
    if owner then
      local full = owner == "sim" and "sim2d" or "sim2d." .. owner
      functions[#functions + 1] = { class = full, name = method, params = params, static = mark == "." }
    end
    if not line:find "^%-%-%-" then params = {} end
  end
end

-- Functions that wait for the user, end the process or write to arbitrary files.
local LEFT_OUT = { ["sim2d.World.view"] = true, ["sim2d.options"] = true, ["sim2d.progress"] = true,
  ["sim2d.experiment"] = true, ["sim2d.Plot.print"] = true }
for i = #functions, 1, -1 do
  local of = functions[i]
  if LEFT_OUT[of.class .. "." .. of.name] or of.class == "sim2d.Experiment" or of.class == "sim2d.Progress" then
    table.remove(functions, i)
  end
end

-- Functions of libraries, which have no object, by class.
local LIBRARIES = { ["sim2d"] = sim, ["sim2d.Linalg"] = sim.linalg, ["sim2d.Optimize"] = sim.optimize,
  ["sim2d.PlotLibrary"] = sim.plot, ["sim2d.Lcp"] = sim.lcp, ["sim2d.Ncp"] = sim.ncp,
  ["sim2d.Mlcp"] = sim.mlcp, ["sim2d.ContactLibrary"] = sim.contact, ["sim2d.Kkt"] = sim.kkt,
  ["sim2d.Qp"] = sim.qp, ["sim2d.Lp"] = sim.lp, ["sim2d.Data"] = sim.data }

-- ---- Values -------------------------------------------------------------------------------------

local pool, steps, depth = {}, 0, 0 -- objects by class; remaining steps of a call; depth of nested functions
local worlds = {} -- all worlds, to be closed before their recordings' files are removed
local make, random_call

local function chance(p) return math.random() < p end
local function pick(list) return list[math.random(#list)] end

local NUMBERS = { 0, 1, -1, 0.5, 2, 3, 0.1, 1e-9, 1e9, -1e300, 1e-320, 0 / 0, 1 / 0, -1 / 0, 7, 100 }
local INTEGERS = { 0, 1, 2, 3, -1, 5, 12, math.mininteger, math.maxinteger }
local TEXTS = { "", "a", "b", "t", "dynamic", "\0", "\xff\xfe", ("x"):rep(200), "bodies[1].x", "1", "%s%n" }
local folder = os.tmpname()
os.remove(folder)
local PATHS = { ".s2d", ".csv", ".npz", ".npy", ".svg", ".png", ".html", ".lcp", "", "/no/such/a.csv" }

local JUNK = {
  function() return nil end, function() return true end, function() return "junk" end,
  function() return 0 / 0 end, function() return {} end, function() return print end,
  function() return { { {} } } end, function() return coroutine.create(print) end,
  function() return io.stderr end, function() return math.mininteger end,
  function() return setmetatable({}, { __index = function() error "within" end }) end,
  function() return setmetatable({}, { __len = function() return 5 end }) end,
  function() return setmetatable({}, { __len = function() return "x" end }) end,
  function() return setmetatable({}, { __call = function() return 1 end }) end,
  function() return make("sim2d.World") end, function() return make("sim2d.Body") end,
  function() return make("sim2d.Joint") end, function() return make("sim2d.Array") end,
}

local function object(class)
  local list = pool[class]
  return list and #list > 0 and pick(list) or nil
end

local function keep(value)
  local class = type(value) == "userdata" and (debug.getmetatable(value) or {}).__name
  if not class and type(value) == "table" and debug.getmetatable(value) then
    class = (debug.getmetatable(value) or {}).__name
  end
  if not class then return end
  class = "sim2d." .. class
  pool[class] = pool[class] or {}
  local list = pool[class]
  list[#list < POOL and #list + 1 or math.random(POOL)] = value
  if class == "sim2d.World" then -- no endless run
    worlds[#worlds + 1] = value
    pcall(value.after_step, value, function()
      steps = steps - 1
      if steps < 0 then error "enough steps" end
    end)
  end
end

-- A function of the script: uses its arguments, calls some other function, returns numbers.
local function callback(kind)
  local results = select(2, (kind:match "%):%s*(.*)" or ""):gsub(",", ",")) + 1
  return function(...)
    steps = steps - 1
    if steps < 0 then error "enough calls" end
    local given = table.pack(...)
    for i = 1, given.n do keep(given[i]) end
    if depth < 2 and chance(0.3) then random_call() end
    if chance(0.1) then error(pick { "raised", {}, 1 }) end
    if chance(0.1) then return pick(JUNK)() end
    local first = given[1]
    if type(first) == "table" and chance(0.8) then first = first[1] or first.x end
    local good, sum = pcall(function() return first * 2 + 1 end)
    local values = {}
    for i = 1, results do values[i] = good and chance(0.8) and sum or pick(NUMBERS) end
    return table.unpack(values)
  end
end

local function split(text, mark)
  local parts, level, start = {}, 0, 1
  for at = 1, #text do
    local c = text:sub(at, at)
    if c:find "[%(%[{<]" then level = level + 1 end
    if c:find "[%)%]}>]" then level = level - 1 end
    if c == mark and level == 0 then
      parts[#parts + 1] = text:sub(start, at - 1)
      start = at + 1
    end
  end
  parts[#parts + 1] = text:sub(start)
  return parts
end

local function fields_of(class, into)
  local of = classes[class]
  if of and of.parent then fields_of(of.parent, into) end
  for _, name in ipairs(of and of.order or {}) do into[#into + 1] = { name, of.fields[name] } end
  return into
end

local LARGE = { duration = 0.05, period = 0.02, t = 0.03, n = 3, substeps = 2, max_iterations = 20,
  width = 200, height = 100, samples = 10, bins = 5, max_steps = 20, count = 3, rows = 3, columns = 3,
  seconds = 0.01, fps = 10, every = 2, resolution = 8 }

local function number(name, integer)
  local bound = name and LARGE[name]
  if bound then
    if chance(0.1) then return pick { 0, -1, 0 / 0, 0.5 } end
    return bound * math.random(integer and 1 or 3) / (integer and 1 or 3)
  end
  if integer then return pick(INTEGERS) end
  return chance(0.5) and math.random() * 3 - 1 or pick(NUMBERS)
end

-- A table of the fields that a class declares.
local function definition(class, level)
  local def = {}
  for _, field in ipairs(fields_of(class, {})) do
    if not field[2].optional or chance(0.15) then
      def[field[1]] = make(field[2].type, field[1], level + 1)
    end
  end
  return def
end

local function of_table(kind, level)
  local def = {}
  for _, part in ipairs(split(kind:sub(2, -2), ",")) do
    local key, optional, of = part:match "^%s*([%w_]+)(%??):%s*(.*)"
    if key and (optional == "" or chance(0.5)) then def[key] = make(of, key, level + 1) end
    of = part:match "^%s*%[string%]:%s*(.*)"
    if of then def[pick(TEXTS)] = make(of, nil, level + 1) end
  end
  return def
end

local function list_of(kind, level)
  local list = {}
  for i = 1, pick { 0, 1, 2, 2, 2, 3, 3, 4, 9 } do list[i] = make(kind, nil, level + 1) end
  return list
end

local SIMPLE = {
  number = function(name) return number(name) end,
  integer = function(name) return number(name, true) end,
  string = function(name)
    if name == "path" or name == "directory" then return folder .. pick(PATHS) end
    return pick(TEXTS)
  end,
  boolean = function() return chance(0.5) end,
  ["true"] = function() return true end,
  ["false"] = function() return false end,
  ["nil"] = function() return nil end,
  any = function() return pick(JUNK)() end,
  table = function() return { 1, 2, x = 3 } end,
  ["..."] = function() return number() end,
}

function make(kind, name, level)
  level = level or 0
  if chance(level == 0 and 0.1 or 0.04) or level > 6 then return pick(JUNK)() end
  kind = kind:match "^%s*(.-)%s*$"
  if kind:find "^fun%(" and not kind:find "%)|" then return callback(kind) end
  local options = split(kind, "|")
  if #options > 1 then return make(pick(options), name, level) end
  if kind:find "%?$" then return chance(0.5) and make(kind:sub(1, -2), name, level) or nil end
  if kind:find "%[%]$" then return list_of(kind:sub(1, -3), level) end
  if kind:find "^%(.*%)$" then return make(kind:sub(2, -2), name, level) end
  if kind:find "^fun" then return callback(kind) end
  if kind:find '^"' then return kind:sub(2, -2) end
  if kind:find "^{" then return of_table(kind, level) end
  local key, value = kind:match "^table<%s*(.-)%s*,%s*(.*)>$"
  if key then
    local made = {}
    for _ = 1, math.random(0, 3) do
      local at = make(key, nil, level + 1)
      if at ~= nil and at == at then made[at] = make(value, nil, level + 1) end
    end
    return made
  end
  if SIMPLE[kind] then return SIMPLE[kind](name) end
  if tonumber(kind) then return tonumber(kind) end
  if aliases[kind] then return make(aliases[kind], name, level) end
  local held = object(kind)
  if held ~= nil then return held end
  if classes[kind] then return definition(kind, level) end
  return pick(JUNK)()
end

-- ---- Calls --------------------------------------------------------------------------------------

local FINE = { ["enough steps"] = true }
local tried, raised = 0, 0

-- No error of the library names a place inside it, or the Lua error there.
local function telling(message)
  if type(message) ~= "string" then return true end -- thrown by a function of this file
  return not message:find "%[sim2d[^%]]*%]:%d+: attempt to" and not message:find "%[string .-%]:%d+: attempt"
end

local described = ""
local function try(f, ...)
  tried = tried + 1
  local result = table.pack(pcall(f, ...))
  if not result[1] then
    raised = raised + 1
    if not telling(result[2]) then error({ wrong = described .. ": " .. result[2] }, 0) end
    return
  end
  for i = 2, result.n do keep(result[i]) end
end

local OPERATORS = {
  function(a, b) return a + b end, function(a, b) return a - b end, function(a, b) return a * b end,
  function(a, b) return a / b end, function(a, b) return a % b end, function(a, b) return a ^ b end,
  function(a, b) return a // b end, function(a) return -a end, function(a) return #a end,
  function(a, b) return a .. b end, function(a, b) return a == b end, function(a, b) return a < b end,
  function(a, b) return a <= b end, function(a, b) return a & b end, function(a) return tostring(a) end,
  function(a) return a() end, function(a, b) return a[b] end, function(a, b) a[b] = b end,
  function(a) for _ in pairs(a) do end end, function(a) for _ in ipairs(a) do end end,
  function(a) local _ <close> = a end,
  function(a)
    local count = 0
    for _ in a do
      count = count + 1
      if count > 5 then break end
    end
  end,
}

local function arguments_of(of)
  local list, n = {}, 0
  for _, param in ipairs(of.params) do
    if param.name == "..." then
      for _ = 1, math.random(0, 2) do
        n = n + 1
        list[n] = make(param.type, nil, 1)
      end
    elseif not param.optional or chance(0.5) then
      n = n + 1
      list[n] = make(param.type, param.name)
    else
      n = n + 1
      list[n] = nil
    end
  end
  if chance(0.03) then n = math.max(0, n - 1) end
  if chance(0.03) then
    n = n + 1
    list[n] = pick(JUNK)()
  end
  return table.unpack(list, 1, n)
end

-- By default the run takes 100,000 steps, and each step of a heap of contradictions takes a millisecond.
local function few_steps(options)
  if type(options) ~= "table" and options ~= nil then return options end
  options = options or {}
  local most = rawget(options, "max_steps") or 1e5
  if math.type(most) and most > 50 then rawset(options, "max_steps", 50) end
  return options
end

local function call_function()
  local of = pick(functions)
  described = of.class .. "." .. of.name
  local library = LIBRARIES[of.class]
  local self = object(of.class)
  if library and (of.static or not self) then
    local f = library[of.name]
    return f and try(f, arguments_of(of))
  end
  if self == nil or chance(0.02) then self = pick(JUNK)() end
  local good, f = pcall(function() return self[of.name] end)
  if good and f ~= nil then
    if of.static then
      try(f, arguments_of(of))
    elseif of.name == "solve_static" then
      try(f, self, few_steps((arguments_of(of))))
    else
      try(f, self, arguments_of(of))
    end
  end
end

local class_names = {}
for name in pairs(classes) do class_names[#class_names + 1] = name end
table.sort(class_names)

local function touch_field()
  local class = pick(class_names)
  local self, fields = object(class), fields_of(class, {})
  if self == nil or #fields == 0 then return end
  local field = pick(fields)
  described = class .. "." .. field[1]
  if chance(0.5) then
    try(function() return self[field[1]] end)
  else
    local value = make(field[2].type, field[1])
    try(function() self[field[1]] = value end)
  end
end

local function operate()
  local a, b = object(pick(class_names)), chance(0.5) and object(pick(class_names)) or number()
  if a == nil then return end
  if chance(0.3) then a, b = b, a end
  described = "an operator"
  try(pick(OPERATORS), a, b)
end

function random_call()
  depth = depth + 1
  local kind = math.random(20)
  if depth > 1 or kind <= 12 then
    call_function()
  elseif kind <= 16 then
    touch_field()
  elseif kind == 17 then
    operate()
  elseif kind == 18 then
    local thread = coroutine.wrap(function()
      random_call()
      coroutine.yield(1)
      random_call()
    end)
    pcall(thread)
    if chance(0.7) then pcall(thread) end
  elseif kind == 19 then
    described = "sim.grad"
    try(sim.value_and_grad, function(p)
      keep(p)
      for _ = 1, 4 do random_call() end
      return p * 2
    end, number())
  else
    collectgarbage(chance(0.2) and "collect" or "step")
  end
  depth = depth - 1
end

-- A world with objects of many kinds, a closed one, and some destroyed objects.
local function scene()
  pool = { ["sim2d.Random"] = { sim.random } }
  steps = 1000
  for i = 1, 2 do
    local world = sim.world { dt = 0.02, stepping = pick { "speculative", "event", "bisect" } }
    keep(world)
    keep(world:box { name = "ground", type = "static", position = { 0, -0.5 }, size = { 9, 1 } })
    local a = world:circle { name = "a", radius = 0.4, position = { 0, 0.4 } }
    local b = world:box { name = "b", position = { 1, 0.5 }, size = { 1, 1 } }
    for _, made in ipairs { a, b, world:hinge { a, b, anchor = { 0.5, 0.5 } },
      world:slider { b, anchor = { 1, 0.5 }, axis = { 1, 0 } }, world:capsule { length = 1, radius = 0.2, position = { -2, 1 } },
      world:snapshot(), world.bodies, world.joints, sim.array { 1, 2, 3 }, sim.array { { 1, 2 }, { 3, 4 } },
      a.position, sim.plot { { { 1, 2, 3 } } } } do
      keep(made)
    end
    world:step(2)
    for _, contact in ipairs(world:contacts()) do keep(contact) end
    if i == 2 and chance(0.5) then b:destroy() end
    if i == 2 and chance(0.3) then world:close() end
  end
end

for seed = math.tointeger(FIRST), math.tointeger(LAST) do
  test("seed " .. seed, function()
    math.randomseed(seed)
    tried, raised = 0, 0
    local before = tried
    local output = io.output()
    for call = 1, CALLS do
      if call % CALLS_A_SCENE == 1 then scene() end
      steps, depth = STEPS_A_CALL, 0
      local good, message = pcall(random_call)
      if not good and type(message) == "table" and message.wrong then
        error(("call %d: %s"):format(call, message.wrong), 0)
      end
    end
    io.output(output)
    for _, world in ipairs(worlds) do pcall(world.close, world) end
    worlds = {}
    os.execute("rm -f '" .. folder .. "'*")
    ok(tried - before > CALLS / 2, tried .. " calls")
    ok(raised < 0.9 * tried, ("%d of %d raised"):format(raised, tried))
    print(("# %d calls, %d raised"):format(tried, raised))
  end)
end
