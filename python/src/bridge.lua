-- The functions that python/sim2d calls (through bridge.c), in a table. Values are passed packed; worlds and
-- environments stay here and are identified by numbers. `call_python(number, ...)` calls a function of Python.
local sim, call_python = ...

local objects, exchanges, count = {}, {}, 0
local numbers = {} -- object -> its number
local bridge = { exchanges = exchanges }

local function keep(list, value)
  if list == objects and numbers[value] then return numbers[value] end
  count = count + 1
  list[count] = value
  if list == objects then numbers[value] = count end
  return count
end

local function object(number)
  local value = objects[number]
  if value == nil then error("the object is closed", 0) end
  return value
end

-- "@file.lua" is read from its file; any other source is the text of a program.
local function load_source(source, name)
  local f, message
  if source:sub(1, 1) == "@" then f, message = loadfile(source:sub(2)) else f, message = load(source, name or "=(python)", "t") end
  if not f then error(message, 0) end
  return f
end

local function is_env(value)
  local class = getmetatable(value)
  return type(class) == "table" and class.__name == "Env"
end

function bridge.run(source, name, ...) return load_source(source, name)(...) end

function bridge.collect() collectgarbage() end

-- ---- Worlds -----------------------------------------------------------------------------------

-- A chunk may return a world, a function that builds one, a table with such a function, or the result of sim.env.
function bridge.world(source, name, builder, parameters)
  local before = #sim.worlds()
  local made = load_source(source, name)(parameters)
  if builder then
    local f = type(made) == "table" and made[builder] or rawget(_G, builder)
    if type(f) ~= "function" then error(("the script returned no table with a function '%s', and there is no global function of this name"):format(builder), 0) end
    made = f(parameters)
  end
  if type(made) == "table" and type(rawget(made, "build")) == "function" then made = made.build end
  if type(made) == "function" then made = made(parameters) end
  if is_env(made) then
    if made.world == nil then made:reset() end
    made = made.world
  elseif type(made) == "table" and getmetatable(rawget(made, "world")) == "World" then
    made = made.world
  end
  if made == nil then
    local worlds = sim.worlds()
    if #worlds > before then made = worlds[#worlds] end
  end
  if getmetatable(made) ~= "World" then
    error(("the script made no world and returned a %s: return a world, or a function that builds one"):format(type(made)), 0)
  end
  return keep(objects, made)
end

function bridge.world_clone(number) return keep(objects, (object(number):clone())) end

function bridge.call(number, method, ...)
  local value = object(number)
  return value[method](value, ...)
end

function bridge.get(number, field) return object(number)[field] end

function bridge.set(number, field, value) object(number)[field] = value end

-- Three numbers per body, one after the other, in the order of creation.
function bridge.numbers(number, one, two, three)
  local bodies, all = object(number).bodies, {}
  for i, body in ipairs(bodies) do
    all[3 * i - 2], all[3 * i - 1], all[3 * i] = body[one], body[two], body[three]
  end
  return #all > 0 and sim.array(all) or nil
end

-- The costs of sequences of controls from the present state on: costs, states or nil, gradient or nil.
function bridge.rollout(number, controls, options, gradient)
  local world = object(number)
  if not gradient then
    local costs, states = sim.rollout(world, controls, options)
    return costs, states, nil
  end
  local _, slope, costs = sim.value_and_grad(function(u)
    local all = sim.rollout(world, u, options)
    return all:sum(), all
  end, controls)
  return costs, nil, slope
end

local function find(list, key, what)
  local found = list[math.type(key) == "integer" and key + 1 or key]
  if found == nil then error(("there is no %s %s"):format(what, tostring(key)), 0) end
  return found
end

function bridge.names(number, kind)
  local names = {}
  for i, thing in ipairs(object(number)[kind]) do names[i] = thing.name or "" end
  return names
end

-- Fields of a body or joint: numbers, texts, vectors as lists.
function bridge.field(number, kind, key, field)
  return find(object(number)[kind], key, kind == "bodies" and "body" or "joint")[field]
end

function bridge.set_field(number, kind, key, field, value)
  find(object(number)[kind], key, kind == "bodies" and "body" or "joint")[field] = value
end

function bridge.contacts(number)
  local world, list = object(number), {}
  local place = {}
  for i, body in ipairs(world.bodies) do place[body] = i - 1 end
  for i, contact in ipairs(world:contacts()) do
    list[i] = { a = place[contact.a], b = place[contact.b], point = { contact.point.x, contact.point.y },
      normal = { contact.normal.x, contact.normal.y }, gap = contact.gap, normal_impulse = contact.normal_impulse,
      tangent_impulse = contact.tangent_impulse, sliding = contact.sliding }
  end
  return list
end

function bridge.residuals(number)
  local left, stats = object(number):residuals(), object(number):stats()
  return { scaled = left.scaled, unsolved = stats.unsolved, steps = stats.steps }
end

function bridge.state(number) return object(number):state() end

function bridge.set_state(number, state) object(number):set_state(state) end

function bridge.snapshot(number) return keep(objects, object(number):snapshot()) end

function bridge.restore(number, snapshot) object(number):restore(object(snapshot)) end

function bridge.observation(number)
  local all, list = object(number):observation(), {}
  for i = 1, #all do list[i] = all[i] end
  return list
end

function bridge.draw(number, path, options)
  local value = object(number)
  local good, message
  if is_env(value) then good, message = value:render(path, options) else good, message = value:draw(path, options) end
  if not good then error(message, 0) end
end

-- ---- Objects ----------------------------------------------------------------------------------

-- Python uses worlds, bodies and all other objects of the library through `read`, `write` and `apply`. An object travels
-- as { [OBJECT] = its number, kind = its type }, and a function of Python as { [FUNCTION] = its number }.
local OBJECT, FUNCTION = "\0object", "\0function"
local DEEPEST = 60 -- nesting of tables, as in the Python code

-- Methods of worlds that take one table: positional arguments are its list.
local TABLES = {}
for name in ([[circle box polygon capsule segment chain compound hinge weld slider wheel distance spring rope pulley gear lock
  mouse constraint ground_friction run annotate actuator observe]]):gmatch "%S+" do TABLES[name] = true end

local held = {} -- references that Python has to an object, by its number
-- Functions of Python by their numbers, and how often Python has sent each of them.
local functions, sendings = setmetatable({}, { __mode = "v" }), {}

local function kind_of(value)
  local class = getmetatable(value)
  if type(class) == "string" then return class end
  return type(class) == "table" and type(class.__name) == "string" and class.__name or type(value)
end

local function refer(value)
  local number = keep(objects, value)
  held[number] = (held[number] or 0) + 1
  return { [OBJECT] = number, kind = kind_of(value) }
end

local function has_functions(list)
  for _, item in next, list do
    if type(item) == "function" then return true end
  end
  return false
end

-- Converts a value for Python. Plain tables are copied.
local function give(value, level)
  local kind = type(value)
  if kind == "table" then
    level = (level or 0) + 1
    if level > DEEPEST then error("tables are nested too deeply (does one contain itself?)", 0) end
    if getmetatable(value) ~= nil or has_functions(value) then return refer(value) end
    local copy = {}
    for key, item in next, value do copy[key] = give(item, level) end
    return copy
  elseif kind == "userdata" then
    local class = getmetatable(value)
    return (class == "Array" or class == "Vector") and value or refer(value)
  end
  return (kind == "function" or kind == "thread") and refer(value) or value
end

local function give_all(...)
  local values = table.pack(...)
  for i = 1, values.n do values[i] = give(values[i]) end
  return table.unpack(values, 1, values.n)
end

-- Chunks with the file and line of Python code, so that messages, warnings and tracebacks of the library contain them.
-- A tail call would lose the line.
local CALLER = "local pack, unpack = ... return function(f, ...) local r = pack(f(...)) return unpack(r, 1, r.n) end"
local WRAPPER = "local _, unpack = ... return function(a_function_of_Python) " -- all in one line
  .. "return function(...) local r = a_function_of_Python(...) return unpack(r, 1, r.n) end end"
local sites = { [CALLER] = {}, [WRAPPER] = {} }

local function at(file, line, text)
  local files = sites[text]
  local lines = files[file] or {}
  files[file] = lines
  lines[line] = lines[line] or load(("\n"):rep(line - 1) .. text, "@" .. file)(table.pack, table.unpack)
  return lines[line]
end

local take

-- `file` and `line` say where Python defines the function. Messages about its results contain them.
local function python_function(number, file, line)
  sendings[number] = (sendings[number] or 0) + 1
  local made = functions[number]
  if not made then
    made = at(file, line, WRAPPER)(function(...)
      local results = table.pack(call_python(number, give_all(...)))
      for i = 1, results.n do results[i] = take(results[i]) end
      return results
    end)
    functions[number] = made
  end
  return made
end

-- The functions of Python that Lua no longer uses: number, sendings, number, sendings ...
function bridge.unused()
  collectgarbage()
  local list = {}
  for number, times in next, sendings do
    if not functions[number] then
      list[#list + 1] = number
      list[#list + 1] = times
    end
  end
  return list
end

function bridge.forget(list)
  for _, number in ipairs(list) do sendings[number] = nil end
end

-- Converts a value of Python, in place.
function take(value)
  if type(value) ~= "table" then return value end
  if value[OBJECT] then return object(value[OBJECT]) end
  if value[FUNCTION] then return python_function(value[FUNCTION], value.file, value.line) end
  for key, item in next, value do
    if type(item) == "table" then value[key] = take(item) end
  end
  return value
end

local here -- calls a function on behalf of the present line of Python

-- Calls the function `name` of this table on behalf of a line of Python.
function bridge.from(file, line, name, ...)
  here = at(file, line, CALLER)
  return here(bridge[name], ...)
end

function bridge.release(list)
  for i = 1, #list, 2 do
    local number = list[i]
    held[number] = (held[number] or 0) - list[i + 1]
    if held[number] <= 0 then
      held[number] = nil
      if objects[number] ~= nil then numbers[objects[number]] = nil end
      objects[number], exchanges[number] = nil, nil
    end
  end
end

-- Tables of functions that are no methods: sim, sim.control, sim.parallel ...
local spaces = { [sim] = true }
for _, value in next, sim do
  if type(value) == "table" and kind_of(value) == "table" then spaces[value] = true end
end

-- The value, or nil and true if it is a method.
function bridge.read(number, key)
  local value = object(number)
  local item = value[key]
  local own = spaces[value] or (type(value) == "table" and rawget(value, key) ~= nil)
  if type(item) == "function" and not own then return nil, true end
  return give(item)
end

function bridge.write(number, key, value) object(number)[key] = take(value) end

-- Calls a method, or the object itself if `name` is nil. `keywords`: a table, or nil.
function bridge.apply(number, name, arguments, n, keywords)
  local value, call = object(number), here
  arguments, keywords = take(arguments), take(keywords)
  if name and TABLES[name] and getmetatable(value) == "World" then
    local only = n == 1 and not keywords and arguments[1]
    local given = type(only) == "table" and getmetatable(only) == nil and only or keywords or {}
    if given ~= only then
      for i = 1, n do given[i] = arguments[i] end
    end
    arguments, n, keywords = { given }, 1, nil
  end
  if keywords then
    n = n + 1
    arguments[n] = keywords
  end
  if name then return give_all(call(value[name], value, table.unpack(arguments, 1, n))) end
  local class = getmetatable(value)
  if type(value) ~= "function" and not (type(class) == "table" and class.__call) then
    error(("a %s cannot be called, only its methods"):format(kind_of(value)), 2)
  end
  return give_all(call(value, table.unpack(arguments, 1, n)))
end

-- Arithmetic, for example with the tracked numbers of gradients.
local OPERATIONS = {
  add = function(a, b) return a + b end, sub = function(a, b) return a - b end, mul = function(a, b) return a * b end,
  truediv = function(a, b) return a / b end, pow = function(a, b) return a ^ b end, neg = function(a) return -a end,
  lt = function(a, b) return a < b end, le = function(a, b) return a <= b end,
}

function bridge.operate(name, a, b)
  local good, result = pcall(OPERATIONS[name], take(a), take(b))
  if not good then error(tostring(result):gsub("^%[sim2d%]:%d+: ", ""):gsub(" %(local '.*'%)$", ""), 2) end
  return give(result)
end

function bridge.length(number) return #object(number) end

function bridge.text(number) return tostring(object(number)) end

function bridge.library() return refer(sim) end

function bridge.make(settings) return keep(objects, sim.world(take(settings))) end

-- ---- Gradients --------------------------------------------------------------------------------

-- A function of the script: the result of the chunk.
function bridge.loss(source, name, key)
  local made = load_source(source, name)()
  if key then made = type(made) == "table" and made[key] or rawget(_G, key) end
  if type(made) ~= "function" then error("the script must return a function; it returned a " .. type(made), 0) end
  return keep(objects, made)
end

function bridge.evaluate(number, parameters) return object(number)(table.unpack(parameters)) end

-- f(p1, p2 ...) as a function of only those parameters whose numbers are in `by`, and the list of these parameters.
local function of_some(f, parameters, by)
  local some, all = {}, table.move(parameters, 1, #parameters, 1, {})
  for k, i in ipairs(by) do some[k] = parameters[i] end
  return function(p)
    for k, i in ipairs(by) do all[i] = p[k] end
    return f(table.unpack(all))
  end, some
end

-- The value of f(p1, p2 ...), a number, and a gradient for each parameter whose number is in `by`.
function bridge.value_and_grad(number, parameters, by) return sim.value_and_grad(of_some(object(number), parameters, by)) end

-- f(p1, p2 ...) is a list of numbers y; returns the derivative of weights . y with respect to each parameter: reverse
-- mode with a vector.
function bridge.vjp(number, parameters, by, weights)
  local f, some = of_some(object(number), parameters, by)
  local _, gradient = sim.value_and_grad(function(p)
    local y = f(p)
    if type(y) == "number" or getmetatable(y) == "Tracked" then return weights[1] * y end
    local sum = 0
    for i = 1, #weights do sum = sum + weights[i] * y[i] end
    return sum
  end, some)
  return gradient
end

-- ---- Environments -----------------------------------------------------------------------------

-- The layout of an array of numbers that Python reads: 1 .. m observed, then these.
local REWARD, TERMINATED, TRUNCATED, RESIDUAL, UNSOLVED, TIME, MODES = 1, 2, 3, 4, 5, 6, 7

local function load_env(source, name, most)
  local env = load_source(source, name)()
  if not is_env(env) then
    error("the script must return the result of sim.env; it returned a " .. type(env), 0)
  end
  if most then env.max_steps = most end
  return env
end

local function describe(env)
  return { name = env.name, doc = env.doc, low = env.observation_space.low, high = env.observation_space.high,
    actions = env.action_space.n, action_low = env.action_space.low, action_high = env.action_space.high,
    action_names = env.action_space.names, max_steps = env.max_steps, period = env.period, passed = env.passed }
end

-- One action in the form of the task: Python counts actions from 0.
local function action_of(env, to)
  if env.action_space.n then return math.tointeger(to[1]) + 1 end
  local u = {}
  for k = 1, #env.action_space.low do u[k] = to[k] end
  return u
end

local function commands_of(env) return env.action_space.n and 1 or #env.action_space.low end

function bridge.env(source, name, most)
  local env = load_env(source, name, most)
  local m = #env.observation_space.low
  local to, from = sim.zeros(commands_of(env)), sim.zeros(m + MODES)
  local function run()
    local seen, reward, terminated, truncated, info = env:step(action_of(env, to))
    for k = 1, m do from[k] = seen[k] end
    from[m + REWARD], from[m + TERMINATED], from[m + TRUNCATED] = reward, terminated and 1 or 0, truncated and 1 or 0
    from[m + RESIDUAL], from[m + UNSOLVED], from[m + TIME] = info.residual, info.unsolved and 1 or 0, info.time
    from[m + MODES] = info.mode_changes
  end
  local number = keep(objects, env)
  exchanges[number] = { to = to, from = from, run = run }
  return number, describe(env)
end

function bridge.env_reset(number, options)
  local seen, info = object(number):reset(options)
  return seen, info.parameters
end

local laws = setmetatable({}, { __mode = "k" }) -- Env -> its baseline, and the world of the episode to which it belongs

-- The baseline's action for the last observation, counted as Python does.
function bridge.env_baseline(number, seen)
  local env = object(number)
  if not env.baseline then error(env.name .. ": there is no baseline", 0) end
  local kept = laws[env]
  if not kept or kept.of ~= env.world then
    kept = { law = env.baseline(env), of = env.world }
    laws[env] = kept
  end
  local action = kept.law(env.world, env.world.time, seen)
  return env.action_space.n and action - 1 or (type(action) == "number" and { action } or action)
end

function bridge.env_world(number) return refer(object(number).world) end

-- Opens the live viewer; returns its address, or nil and a message.
function bridge.env_view(number, options)
  local view, message = object(number):live(options)
  return view and view.address, message
end

-- Returns true, or nil and a message.
function bridge.env_record(number, path, options)
  local recording, message = object(number):record(path, take(options))
  return recording and true, message
end

-- In: the actions; out: observations, rewards, terminated, truncated, final observations (of episodes that ended),
-- unsolved steps, changes of mode. The engine reads and writes the memory of Python.
function bridge.vector(source, name, options, most)
  local task = load_env(source, name, most)
  local vector = sim.env.vector(task, options)
  local n, m = vector.count, vector.observed
  local number = keep(objects, vector)
  exchanges[number] = { given = n * commands_of(task), results = 2 * n * m + 5 * n,
    run = function(actions, results) vector:exchange(actions, results) end }
  return number, describe(task)
end

function bridge.vector_reset(number, options) return object(number):reset(options) end

return bridge
