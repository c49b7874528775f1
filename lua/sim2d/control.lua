-- world:actuator, world:act, world:observe, world:observation: named inputs and outputs of a world.

local SOURCE = debug.getinfo(1, "S").source
local KINDS = { force = true, torque = true, speed = true, position = true }
-- default gains of kind "position", N m/rad and N m s/rad (or N/m and N s/m)
local KP, KD = 100, 10

-- Raises an error that is reported at the line of the script that called the library.
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

local function is_tracked(value) return getmetatable(value) == "Tracked" end

local function is_number(value) return type(value) == "number" or is_tracked(value) end

local function finite(value)
  if is_tracked(value) then value = value:value() end
  return type(value) == "number" and value == value and math.abs(value) < math.huge
end

local function add_nothing(value) return value + 0 end

-- Once a gradient call has ended, its tracked numbers count as plain values.
local function live(value)
  if is_tracked(value) and not pcall(add_nothing, value) then return value:value() end
  return value
end

local function describe(value)
  if type(value) == "number" then return ("number %.14g"):format(value) end
  return type(value) == "string" and ("'%s'"):format(value)
    or is_tracked(value) and tostring(value)
    or type(value) == "userdata" and tostring(getmetatable(value)) or type(value)
end

return function(sim, host)
  local methods = host.world_methods()
  local systems = setmetatable({}, { __mode = "k" }) -- maps a World to its actuators and observations

  local function system_of(world)
    world = host.world(world)
    local system = systems[world]
    if not system then
      system = { actuators = {}, byname = {}, observations = {} }
      systems[world] = system
    end
    return system
  end

  host.control = { count = function(world) return #system_of(world).actuators end }

  -- The actuators of a world as objects, in order of declaration.
  function host.actuators(world)
    local list = {}
    for i, actuator in ipairs(system_of(world).actuators) do list[i] = actuator.shown end
    return list
  end

  local function check_keys(def, what, known)
    if type(def) ~= "table" then
      fail("bad argument #1 to '%s' (table expected, got %s)", what, describe(def))
    end
    local names = {}
    for name in pairs(known) do names[#names + 1] = type(name) == "string" and name or nil end
    table.sort(names)
    for key in pairs(def) do
      if not known[key] then
        local near = type(key) == "string" and host.nearest(key, names)
        fail("bad argument #1 to '%s' (unknown key '%s'%s)", what, tostring(key),
          near and ("; did you mean '%s'?"):format(near) or "; known: " .. table.concat(names, ", "))
      end
    end
  end

  local function check_key(good, what, key, expected, value)
    if not good then
      fail("bad argument #1 to '%s' (key '%s': %s expected, got %s)", what, key, expected,
        describe(value))
    end
  end

  -- The name is the first entry of the table, or the value of the key `name`.
  local function read_name(what, def)
    local name = def.name
    if name == nil then name = def[1] end
    if def.name ~= nil and def[1] ~= nil then
      fail("bad argument #1 to '%s' (key 'name': the name is already given as the first entry, %s)", what, describe(def[1]))
    end
    check_key(type(name) == "string" and name ~= "", what, "name", "a text", name)
    return name
  end

  -- ---- Actuators --------------------------------------------------------------------------------

  local SHOWN = { name = true, kind = true, joint = true, body = true, range = true, delay = true,
    value = true, input = true }
  -- keys of actuators of kind "position"
  local GAINS = { kp = true, kd = true, max_force = true, max_torque = true, implicit = true }
  -- Converts an actuator to an input of world:linearize.
  local function as_input(actuator)
    local joint, body = actuator.joint, actuator.body
    if actuator.implicit and actuator.delay == 0 then
      return { joint = joint, goal = 1 }
    elseif actuator.kind == "position" or actuator.delay > 0 then
      fail("actuator '%s': %s cannot be an input of a linear step; give the %s", actuator.name,
        actuator.delay == 0 and "an explicit position" or "an actuator with a delay",
        actuator.delay == 0 and "force or torque that it makes, or leave out implicit = false" or "same actuator without a delay")
    elseif actuator.kind == "speed" then
      return { joint = joint, motor_speed = 1 }
    elseif actuator.turns then
      return { joint = joint, body = body, torque = 1 }
    end
    return { joint = joint, body = body, force = joint and 1 or actuator.direction, frame = actuator.frame, at = actuator.at }
  end

  local insides = setmetatable({}, { __mode = "k" }) -- maps an Actuator to its internal data
  local Actuator = { __name = "Actuator", __metatable = "Actuator" }
  Actuator.__index = function(self, key)
    local inside = insides[self]
    if GAINS[key] and inside.kind == "position" then
      if inside.limit == key then return live(inside.most) end
      if key == "implicit" then return inside.implicit == true end
      if inside[key] ~= nil then return live(inside[key]) end
    end
    if not SHOWN[key] then fail("Actuator has no field '%s'", tostring(key)) end
    if key == "input" then return as_input(inside) end
    if key ~= "value" then return inside[key] end
    return host.actuator_value(inside.world, inside.index)
  end
  local tune -- defined below
  Actuator.__newindex = function(self, key, value)
    local inside = insides[self]
    local gain = inside.kind == "position" and (key == "kp" or key == "kd") or inside.limit == key and inside.kind == "position"
    if not gain and not SHOWN[key] and not (GAINS[key] and inside.kind == "position") then
      fail("Actuator has no field '%s'", tostring(key))
    end
    if not gain then fail("Actuator.%s is read-only", tostring(key)) end
    local plain = is_tracked(value) and value:value() or value
    if type(plain) ~= "number" or not (plain >= 0) or (plain == math.huge and key ~= inside.limit) then
      fail("Actuator.%s: a number not below 0 expected, got %s", key, describe(value))
    end
    inside[key == inside.limit and "most" or key] = value
    tune(inside)
  end
  Actuator.__tostring = function(self) return ("Actuator '%s'"):format(insides[self].name) end

  -- Converts an actuator to an input of world:linearize, ignoring its delay.
  function host.input_when_due(shown)
    local due = {}
    for key, value in pairs(insides[shown]) do due[key] = value end
    due.delay = 0
    return as_input(due)
  end

  local function clip(actuator, value)
    local lo, hi = live(actuator.range[1]), live(actuator.range[2])
    return value < lo and lo or value > hi and hi or value
  end

  local TURNING = { hinge = true, wheel = true, weld = true }
  local PUSHED = { slider = true, spring = true, distance = true, rope = true }

  -- Checks that this kind of actuator can act on the joint. Returns whether the joint turns.
  local function check_joint(kind, joint)
    local turns, pushed = TURNING[joint.type], PUSHED[joint.type]
    local driven = joint.type == "hinge" or joint.type == "slider" or joint.type == "wheel"
      or joint.type == "spring"
    local good = kind == "torque" and turns or kind == "force" and (pushed or joint.type == "wheel")
      or kind == "speed" and driven
      or kind == "position" and (joint.type == "hinge" or joint.type == "slider"
        or joint.type == "spring")
    if not good then
      fail("bad argument #1 to 'actuator' (key 'kind': '%s' cannot act on a %s)", kind, joint.type)
    end
    return kind == "torque" or (kind == "position" and joint.type == "hinge")
  end

  -- Returns a key of a table {lo, hi} other than 1 and 2, or nil if there is none.
  local function stray_key(range)
    for key in pairs(range) do
      if key ~= 1 and key ~= 2 then return tostring(key) end
    end
  end
  host.stray_key = stray_key

  local function check_range(range)
    if range == nil then return { -math.huge, math.huge } end
    check_key(type(range) == "table", "actuator", "range", "{lo, hi}", range)
    local stray = stray_key(range)
    if stray then
      fail("bad argument #1 to 'actuator' (key 'range': {lo, hi} expected, two values without names, got key '%s')", stray)
    end
    local lo, hi = range[1] or -math.huge, range[2] or math.huge
    if not is_number(lo) or not is_number(hi) or not (lo <= hi) then
      fail("bad argument #1 to 'actuator' (key 'range': {lo, hi} with lo <= hi expected)")
    end
    return { lo, hi }
  end

  local function check_direction(def)
    if def.kind ~= "force" or def.joint then
      check_key(def.direction == nil, "actuator", "direction", "no value (only a force on a body has a direction)",
        def.direction)
      return nil
    end
    local d = def.direction
    local good, x, y = pcall(function()
      return d[1] == nil and d.x or d[1], d[2] == nil and d.y or d[2]
    end)
    check_key(good and type(d) ~= "string" and finite(x) and finite(y), "actuator", "direction", "{x, y}", d)
    local length = sim.sqrt(x ^ 2 + y ^ 2)
    check_key(length > 0, "actuator", "direction", "a direction", d)
    return { x / length, y / length }
  end

  -- A thruster: its direction turns with the body, and it acts at a point fixed to the body.
  local function check_frame(def)
    local pushes = def.kind == "force" and def.body ~= nil
    check_key(def.frame == nil or def.frame == "world" or def.frame == "body" and pushes, "actuator", "frame",
      pushes and '"world" or "body"' or "no value (only a force on a body has a frame)", def.frame)
    local fixed, at = def.frame == "body", def.at
    if at == nil then return fixed and "body" or nil, fixed and { 0, 0 } or nil end
    check_key(fixed, "actuator", "at", 'no value (only frame = "body" has this point)', at)
    local good, x, y = pcall(function() return at[1] == nil and at.x or at[1], at[2] == nil and at.y or at[2] end)
    check_key(good and type(at) ~= "string" and finite(x) and finite(y), "actuator", "at", "{x, y}", at)
    return "body", { x, y }
  end

  -- Returns the key that limits the effort of a position or speed actuator, and the value of the limit.
  local function check_most(def, turns)
    local held = def.kind == "position" or def.kind == "speed"
    local kind = def.joint and def.joint.type
    turns = turns or kind == "hinge" or kind == "wheel"
    local limit, other = turns and "max_torque" or "max_force", turns and "max_force" or "max_torque"
    for _, key in ipairs { limit, other } do
      check_key(held or def[key] == nil, "actuator", key,
        "no value (only a position or a speed has this limit; a force or torque is limited by its range)", def[key])
    end
    check_key(def[other] == nil, "actuator", other, ("'%s' of a %s"):format(limit, tostring(kind)), def[other])
    local most = def[limit]
    local plain = is_tracked(most) and most:value() or most
    check_key(most == nil or (type(plain) == "number" and plain >= 0), "actuator", limit, "a number not below 0", most)
    return held and (def.kind == "position" or most ~= nil) and limit or nil, most or math.huge
  end

  -- A joint can have only one servo.
  local function check_servo(system, joint)
    for _, other in ipairs(system.actuators) do
      if other.implicit and other.joint == joint then
        fail("bad argument #1 to 'actuator' (actuator '%s' already holds a position of this joint: set implicit = false for one of the two)",
          other.name)
      end
    end
  end

  local function add_actuator(system, actuator)
    local shown = setmetatable({}, Actuator)
    insides[shown], actuator.shown = actuator, shown
    system.actuators[#system.actuators + 1] = actuator
    system.byname[actuator.name] = actuator
    return shown
  end

  -- Notes that the engine's number came from a tracked one.
  local function track(actuator, number, value)
    if is_tracked(value) then host.actuator_track(actuator.world, actuator.index, number, value) end
  end

  -- Declares the actuator in the engine.
  local function declare(world, actuator)
    local d, at, plain = actuator.direction or { 1, 0 }, actuator.at or { 0, 0 }, sim.stop_gradient
    actuator.index = host.actuator(world, actuator.name, actuator.kind, actuator.joint or actuator.body,
      plain(d[1]), plain(d[2]), plain(actuator.range[1]), plain(actuator.range[2]), actuator.delay,
      plain(actuator.kp), plain(actuator.kd), actuator.implicit, actuator.frame == "body", plain(at[1]), plain(at[2]),
      plain(actuator.most))
    track(actuator, "idle", clip(actuator, 0))
    track(actuator, "direction_x", d[1])
    track(actuator, "direction_y", d[2])
    track(actuator, "at_x", at[1])
    track(actuator, "at_y", at[2])
    if actuator.kind == "position" then tune(actuator) end
    if actuator.kind == "speed" and actuator.limit then actuator.joint.motor_max = actuator.most end
  end

  -- Passes gains to the engine. The gains of an implicit actuator are fields of its joint.
  function tune(actuator)
    local kp, kd, most = live(actuator.kp), live(actuator.kd), live(actuator.most)
    local plain = sim.stop_gradient
    host.actuator_tune(actuator.world, actuator.index, plain(kp), plain(kd), plain(most))
    if actuator.implicit then
      local joint = actuator.joint
      joint.servo_kp, joint.servo_kd, joint.servo_max = kp, kd, most
    else
      track(actuator, "kp", kp)
      track(actuator, "kd", kd)
      track(actuator, "most", most)
    end
  end

  local KEYS = { [1] = true, name = true, joint = true, body = true, kind = true, range = true, delay = true,
    kp = true, kd = true, max_force = true, max_torque = true, direction = true, implicit = true, frame = true, at = true }

  function methods.actuator(world, def)
    local system = system_of(world)
    check_keys(def, "actuator", KEYS)
    local name = read_name("actuator", def)
    if system.byname[name] then
      fail("bad argument #1 to 'actuator' (key 'name': there is an actuator '%s' already)", name)
    end
    check_key(KINDS[def.kind], "actuator", "kind",
      "one of 'force', 'torque', 'speed', 'position'", def.kind)
    -- an actuator acts on exactly one joint or body of this world
    local object = host.owned(world, def.joint or def.body)
    if (def.joint == nil) == (def.body == nil) then
      fail "bad argument #1 to 'actuator' (either key 'joint' or key 'body' expected)"
    end
    check_key(object == (def.joint and "joint" or "body"), "actuator", def.joint and "joint" or "body",
      "an existing joint or body of this world", def.joint or def.body)
    -- the type of the joint determines whether the actuator applies a torque or a force
    local turns = def.kind == "torque"
    if def.joint then
      turns = check_joint(def.kind, def.joint)
    elseif def.kind ~= "force" and def.kind ~= "torque" then
      fail("bad argument #1 to 'actuator' (key 'kind': '%s' acts on joints only)", def.kind)
    end
    -- check the gains and the delay; the delay has no derivative
    for _, key in ipairs { "delay", "kp", "kd" } do
      check_key(def[key] == nil or (finite(def[key]) and def[key] >= 0), "actuator", key,
        "a number not below 0", def[key])
    end
    check_key(not is_tracked(def.delay), "actuator", "delay", "a plain number (x:value() gives it)",
      def.delay)
    if def.kind ~= "position" and (def.kp or def.kd) then
      fail "bad argument #1 to 'actuator' (keys 'kp' and 'kd' apply only to kind 'position')"
    end
    local implicit = def.implicit
    check_key(implicit == nil or def.kind == "position", "actuator", "implicit",
      "no value (only a position has this key)", implicit)
    check_key(implicit == nil or type(implicit) == "boolean", "actuator", "implicit", "true or false", implicit)
    implicit = def.kind == "position" and implicit ~= false or nil
    if implicit then check_servo(system, def.joint) end
    local limit, most = check_most(def, turns)
    local actuator = { name = name, kind = def.kind, implicit = implicit, joint = def.joint, body = def.body,
      range = check_range(def.range), delay = def.delay or 0, kp = def.kp or KP, kd = def.kd or KD, limit = limit, most = most,
      turns = turns, direction = check_direction(def), world = world }
    actuator.frame, actuator.at = check_frame(def)
    declare(world, actuator)
    return add_actuator(system, actuator)
  end

  local function command(world, actuator, value)
    local clipped = clip(actuator, value)
    if clipped ~= value and type(value) ~= "number" then host.actuator_clipped(actuator.name) end
    local plain = sim.stop_gradient(clipped)
    host.actuator_command(world, actuator.index, plain, clipped)
    return plain ~= sim.stop_gradient(value)
  end

  local function suggest(key, named)
    local names = {}
    for name in pairs(named) do names[#names + 1] = name end
    table.sort(names)
    local near = type(key) == "string" and host.nearest(key, names)
    return near and ("; did you mean '%s'?"):format(near) or #names > 0 and "; known: " .. table.concat(names, ", ") or ""
  end

  -- Handles errors, and commands that C does not accept (tracked numbers, arrays).
  local function act(world, u)
    local system = system_of(world)
    local actuators, chosen = system.actuators, {}
    if getmetatable(u) == "Array" then u = u:table() end
    if type(u) ~= "table" then
      fail("bad argument #1 to 'act' (a list, or a table keyed by names, expected, got %s)", describe(u))
    end
    local byname = next(u) ~= nil and #u == 0
    if not byname and #u ~= #actuators then
      fail("bad argument #1 to 'act' (%d values expected, one per actuator, got %d)", #actuators, #u)
    end
    for key, value in pairs(u) do -- check all names before setting any command
      local actuator = (byname and system.byname or actuators)[key]
      if not actuator then
        fail("bad argument #1 to 'act' (no actuator '%s'%s)", tostring(key), suggest(key, system.byname))
      end
      if not finite(value) then
        fail("bad argument #1 to 'act' ('%s': finite number expected, got %s)", actuator.name,
          describe(value))
      end
      chosen[actuator] = value
    end
    local clipped = 0
    for _, actuator in ipairs(actuators) do
      if chosen[actuator] and command(world, actuator, chosen[actuator]) then clipped = clipped + 1 end
    end
    return clipped
  end

  methods.act = host.act(act)

  -- Adds an observation to the list that the engine reads by itself. There is no such list if an observation needs Lua.
  local function plan_observation(world, system, name, of, fields, noise)
    local count = 0
    for _, field in ipairs(of and fields or {}) do -- fields that are not names need Lua
      if type(field) ~= "string" then of = nil end
    end
    if of then count = host.observe(world, of, fields, noise) end
    if #system.observations == 0 then system.plan = {} end
    if not system.plan or count == 0 then
      system.plan = nil
      host.control_in_lua(world)
      return
    end
    system.plan[#system.plan + 1] = name
    system.plan[#system.plan + 1] = count
  end

  -- Restoring a snapshot removes from the engine the observations that were declared after the snapshot. This function
  -- declares them again.
  local function plan_again(world, system)
    local known = host.observation_count(world)
    for i, observation in ipairs(system.observations) do
      known = known - system.plan[2 * i]
      if known < 0 then
        host.observe(world, observation.of, observation.fields, observation.noise or 0)
      end
    end
  end

  -- ---- Snapshots and clones ---------------------------------------------------------------------

  local restore, clone = methods.restore, methods.clone

  function methods.restore(world, image)
    restore(world, image)
    local system = systems[world]
    if not system then return end
    -- Declare the actuators again that were added after the snapshot.
    for i = host.actuator_count(world) + 1, #system.actuators do declare(world, system.actuators[i]) end
    if system.plan then plan_again(world, system) end
    if system.random and host.observation_noise_seed(world) == 0 then host.observation_noise(world, system.seed) end
  end

  local function copy_table(from)
    local copy = {}
    for key, value in pairs(from) do copy[key] = value end
    return copy
  end

  function methods.clone(world, options)
    local copy = clone(world, options)
    local system = systems[world]
    if not system then return copy end
    local other = system_of(copy)
    for _, actuator in ipairs(system.actuators) do
      local twin = copy_table(actuator)
      twin.world = copy
      twin.joint = twin.joint and host.counterpart(copy, twin.joint)
      twin.body = twin.body and host.counterpart(copy, twin.body)
      add_actuator(other, twin)
    end
    for i, observation in ipairs(system.observations) do
      other.observations[i] = copy_table(observation)
      other.observations[i].of = observation.of and host.counterpart(copy, observation.of)
    end
    other.plan = system.plan
    if not system.plan and #system.observations > 0 then host.control_in_lua(copy) end
    other.seed = system.seed
    other.random = system.random -- the generator is seeded again at each observation
    return copy
  end

  -- ---- Observations -----------------------------------------------------------------------------

  local SEEN = { [1] = true, name = true, of = true, field = true, read = true, noise = true }

  -- The value of a field, or of one of the names that only observations have: direction (cosine and sine of the angle)
  -- and touches (1 if a body has a contact, else 0).
  local function observed_field(of, field)
    if field == "direction" then return { sim.cos(of.angle), sim.sin(of.angle) } end
    if field == "touches" and getmetatable(of) == "Body" then return #of:contacts() > 0 and 1 or 0 end
    return of[field]
  end

  function methods.observe(world, def)
    local system = system_of(world)
    check_keys(def, "observe", SEEN)
    local name = read_name("observe", def)
    check_key(not tonumber(name), "observe", "name", "no number", name)
    for _, other in ipairs(system.observations) do
      if other.name == name then
        fail("bad argument #1 to 'observe' (there is an observation '%s' already)", name)
      end
    end
    if (def.of == nil) == (def.read == nil) then
      fail "bad argument #1 to 'observe' (either key 'of' or key 'read' expected)"
    end
    check_key(def.read == nil or type(def.read) == "function", "observe", "read", "function",
      def.read)
    check_key(def.noise == nil or (finite(def.noise) and def.noise >= 0), "observe", "noise",
      "a number not below 0", def.noise)
    local fields = type(def.field) == "string" and { def.field } or def.field
    if def.of then
      check_key(host.owned(world, def.of), "observe", "of", "an existing body or joint of this world",
        def.of)
      check_key(type(fields) == "table" and #fields > 0, "observe", "field",
        "a name or a list of names", def.field)
      for _, field in ipairs(fields) do local _ = observed_field(def.of, field) end -- raises an error if there is none
    else
      check_key(def.field == nil, "observe", "field", "no value with 'read'", def.field)
    end
    if def.noise and not system.random then
      system.random = sim.random.split()
      system.seed = math.max(1, system.random:integer(0, math.maxinteger)) -- a seed of 0 means no noise
      host.observation_noise(world, system.seed)
    end
    local noise = def.noise or 0
    plan_observation(world, system, name, def.of, fields, noise)
    system.observations[#system.observations + 1] = { name = name, of = def.of, fields = fields,
      read = def.read, noise = noise > 0 and noise or nil }
  end

  -- Appends the value of a field or function: a number, a boolean, or a list or vector of numbers.
  local function gather(name, value, list)
    if type(value) == "boolean" then value = value and 1 or 0 end
    if is_number(value) then
      list[#list + 1] = value
      return
    end
    local good, count = pcall(function() return #value end)
    if not good or type(value) == "string" then count = 0 end
    if count == 0 then
      fail("observation '%s': numbers expected, got %s", name, describe(value))
    end
    for i = 1, count do gather(name, value[i], list) end
  end

  local function observed(world, observation)
    local list = {}
    if observation.read then
      local results = table.pack(observation.read(world))
      for i = 1, math.max(1, results.n) do gather(observation.name, results[i], list) end
    else
      for _, field in ipairs(observation.fields) do
        gather(observation.name, observed_field(observation.of, field), list)
      end
    end
    return list
  end

  -- The observations without noise, as a list of { name =, fields =, noise =, numbers }.
  function host.observations(world)
    local all = {}
    for i, observation in ipairs(system_of(world).observations) do
      local list = observed(world, observation)
      list.name, list.fields, list.noise = observation.name, observation.fields, observation.noise
      all[i] = list
    end
    return all
  end

  local function observation(world, all)
    local system = system_of(world)
    if all ~= nil and (type(all) ~= "table" or getmetatable(all)) then
      fail("bad argument #1 to 'observation' (a table to fill expected, got %s)", describe(all))
    end
    all = all or {}
    for i = #all, 1, -1 do all[i] = nil end
    if system.random then -- as in the engine, the noise is a function of seed and time
      local time = string.unpack("i8", string.pack("d", sim.stop_gradient(world.time)))
      system.random:seed(host.observation_noise_seed(world) ~ time)
    end
    for _, observation in ipairs(system.observations) do
      local list = observed(world, observation)
      for i, value in ipairs(list) do
        if observation.noise then list[i] = value + system.random:normal(0, observation.noise) end
        all[#all + 1] = list[i]
      end
      all[observation.name] = #list == 1 and list[1] or list
    end
    return all
  end

  methods.observation = host.observation(observation, systems)
end
