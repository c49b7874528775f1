-- The functions that python/sim2d calls (through bridge.c), in a table. Values are passed packed; worlds and
-- environments stay here and are identified by numbers.
local sim = ...

local objects, exchanges, count = {}, {}, 0
local bridge = { exchanges = exchanges }

local function keep(list, value)
  count = count + 1
  list[count] = value
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

function bridge.drop(number)
  local value = objects[number]
  objects[number], exchanges[number] = nil, nil
  if getmetatable(value) == "World" then value:close() end
end

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
  if is_env(value) then value:render(path, options) else value:draw(path, options) end
end

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

local function load_env(source, name)
  local env = load_source(source, name)()
  if not is_env(env) then
    error("the script must return the result of sim.env; it returned a " .. type(env), 0)
  end
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

function bridge.env(source, name)
  local env = load_env(source, name)
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

function bridge.env_world(number) return keep(objects, object(number).world) end

-- In: the actions; out: observations, rewards, terminated, truncated, final observations (of episodes that ended),
-- unsolved steps, changes of mode. The engine reads and writes the memory of Python.
function bridge.vector(source, name, options)
  local task = load_env(source, name)
  local vector = sim.env.vector(task, options)
  local n, m = vector.count, vector.observed
  local number = keep(objects, vector)
  exchanges[number] = { given = n * commands_of(task), results = 2 * n * m + 5 * n,
    run = function(actions, results) vector:exchange(actions, results) end }
  return number, describe(task)
end

function bridge.vector_reset(number, options) return object(number):reset(options) end

return bridge
