-- Levels of Kinetix (Matthews and others 2024, arXiv 2410.23208; github.com/FLAIROx/Kinetix, MIT licence). This file
-- makes a world and a task of a level file, and judges by the rule of Kinetix.
--
-- The rule: a level is solved as soon as a green shape touches a blue shape. It has failed as soon as a green shape
-- touches a red shape, or after 256 decisions. A decision lasts 2 steps of 1/60 s. There are up to four motor bindings
-- and two thruster bindings, and an action gives each binding a number. All motors (thrusters) of a binding get the
-- same number, from -1 to 1 (from 0 to 1).
--
-- sim2d differs from Jax2D, the engine of Kinetix, in these points:
-- - Contacts and joints are rigid. Jax2D makes ten sweeps, and bodies that rest on each other overlap by up to 1 cm.
--   Here two bodies touch if their distance is at most TOUCH, or if they exchanged an impulse in the step.
-- - The torque of a motor in Jax2D is P p m tanh(0.1 e). P is `base_motor_power` of the file, p the power of the
--   motor, m the reduced moment of inertia of its two bodies, and e the error of its speed. Here the torque is the
--   linear part, P p m 0.1 e: a damper of the joint with a torque. The step integrates the damper implicitly, so it
--   does not overshoot.
-- - An action of exactly 0 turns a motor of Kinetix off, and any other small action damps it. Here 0 damps, too.
-- - Near a limit of its joint, a motor of Kinetix gets weaker. Here it does not.
local sim = require "sim2d"

local folder = debug.getinfo(1, "S").source:match "^@(.*/)" or "./"
package.path = folder .. "?.lua;" .. package.path
local found, json = pcall(require, "dkjson")
if not found then error("Levels of Kinetix need dkjson: apt-get install lua-dkjson, or luarocks install dkjson", 0) end

local Level = { samples = folder .. "levels/" } -- the folder of three levels
Level.__index = Level

local ROLES = { [0] = "plain", "green", "blue", "red" }
local COLORS = { plain = "#9a9a9a", green = "#3f9142", blue = "#3b6fd4", red = "#d64545" }
local TOUCH = 1e-4 -- m; nearer bodies touch
local REACH = 0.5 -- m; bodies that touched in a step are nearer than this at its end
local HOLD = 1e-6 -- action of Kinetix that damps a motor
local SPARE = 1e-6 -- rad; numbers of the files are rounded to 32 bits

-- ---- Reading ----------------------------------------------------------------------------------

local function refuse(file, place, expected, got)
  error(("%s: %s: %s expected, got %s"):format(file, place, expected,
    type(got) == "string" and ("%q"):format(got) or tostring(got)), 0)
end

local function number(file, place, object, key)
  local value = object[key]
  if type(value) ~= "number" or value ~= value or math.abs(value) > 1e6 then
    refuse(file, place .. "." .. key, "a number of at most 1e6", value)
  end
  return value
end

local function whole(file, place, object, key, lo, hi)
  local value = object[key]
  if math.type(value) ~= "integer" or value < lo or value > hi then
    refuse(file, place .. "." .. key, ("an integer from %d to %d"):format(lo, hi), value)
  end
  return value
end

local function flag(file, place, object, key)
  local value = object[key]
  if type(value) ~= "boolean" then refuse(file, place .. "." .. key, "true or false", value) end
  return value
end

local function object_at(file, place, object, key)
  local value = object[key]
  if type(value) ~= "table" then refuse(file, place .. "." .. tostring(key), "an object", value) end
  return value
end

-- Vectors are objects with the keys "0" and "1".
local function vector(file, place, object, key)
  local value = object_at(file, place, object, key)
  place = place .. "." .. key
  return { number(file, place, value, "0"), number(file, place, value, "1") }
end

local function read_shape(file, place, shape, round)
  local inverse, turning = number(file, place, shape, "inverse_mass"), number(file, place, shape, "inverse_inertia")
  if inverse < 0 or turning < 0 or (inverse == 0) ~= (turning == 0) then
    refuse(file, place .. ".inverse_inertia", "a number above 0 if and only if inverse_mass is above 0", turning)
  end
  local found = { position = vector(file, place, shape, "position"), angle = number(file, place, shape, "rotation"),
    velocity = vector(file, place, shape, "velocity"),
    angular_velocity = number(file, place, shape, "angular_velocity"),
    fixed = inverse == 0, mass = 1 / inverse, inertia = 1 / turning, turning = turning, inverse = inverse,
    friction = number(file, place, shape, "friction"), restitution = number(file, place, shape, "restitution"),
    mode = whole(file, place, shape, "collision_mode", 0, 2), role = ROLES[whole(file, place, shape, "role", 0, 3)] }
  if round then
    found.radius = number(file, place, shape, "radius")
    if found.radius <= 0 then refuse(file, place .. ".radius", "a number above 0", found.radius) end
    return found
  end
  local vertices = object_at(file, place, shape, "vertices")
  found.vertices = {}
  for i = 1, whole(file, place, shape, "n_vertices", 3, 4) do
    found.vertices[i] = vector(file, place .. ".vertices", vertices, tostring(i - 1))
  end
  return found
end

-- Returns the active entries of a list, keyed by their index from 0, which is how joints name shapes.
local function read_list(file, state, kind, first, read)
  local found = {}
  local list = object_at(file, "env_state", state, kind)
  for i, entry in ipairs(list) do
    local place = ("env_state.%s[%d]"):format(kind, i - 1)
    if type(entry) ~= "table" then refuse(file, place, "an object", entry) end
    if flag(file, place, entry, "active") then found[first + i - 1] = read(file, place, entry) end
  end
  return found, #list
end

local function read_joint(shapes, file, place, joint)
  local found = { fixed = flag(file, place, joint, "is_fixed_joint"), angle = number(file, place, joint, "rotation"),
    a = whole(file, place, joint, "a_index", 0, 63), b = whole(file, place, joint, "b_index", 0, 63),
    at_a = vector(file, place, joint, "a_relative_pos"), at_b = vector(file, place, joint, "b_relative_pos") }
  for _, side in ipairs { "a", "b" } do
    if not shapes[found[side]] then refuse(file, place .. "." .. side .. "_index", "an active shape", found[side]) end
  end
  if shapes[found.a].fixed and shapes[found.b].fixed then
    refuse(file, place, "a shape that moves", "two that do not")
  end
  if found.fixed then return found end
  if flag(file, place, joint, "motor_on") then
    found.speed, found.power = number(file, place, joint, "motor_speed"), number(file, place, joint, "motor_power")
    found.binding = whole(file, place, joint, "motor_binding", 0, 3)
  end
  if flag(file, place, joint, "motor_has_joint_limits") then
    found.limits = { number(file, place, joint, "min_rotation"), number(file, place, joint, "max_rotation") }
    if found.limits[1] > found.limits[2] then
      refuse(file, place .. ".min_rotation", "at most max_rotation", found.limits[1])
    end
  end
  return found
end

local function read_thruster(shapes, file, place, thruster)
  local found = { of = whole(file, place, thruster, "object_index", 0, 63),
    at = vector(file, place, thruster, "relative_position"), angle = number(file, place, thruster, "rotation"),
    power = number(file, place, thruster, "power"), binding = whole(file, place, thruster, "thruster_binding", 0, 1) }
  if not shapes[found.of] or shapes[found.of].fixed then
    refuse(file, place .. ".object_index", "an active shape that moves", found.of)
  end
  return found
end

-- Reads the constants of the physics.
local function read_settings(file, level, root)
  local settings = object_at(file, "file", root, "env_params")
  local static = object_at(file, "file", root, "static_env_params")
  for key, name in pairs { dt = "dt", friction = "base_friction", motor_speed = "base_motor_speed",
    motor_power = "base_motor_power", thrust = "base_thruster_power", decay = "motor_decay_coefficient" } do
    level[key] = number(file, "env_params", settings, name)
    if level[key] <= 0 then refuse(file, "env_params." .. name, "a number above 0", level[key]) end
  end
  level.decisions = whole(file, "env_params", settings, "max_timesteps", 1, 1000000)
  level.skip = whole(file, "static_env_params", static, "frame_skip", 1, 1000)
end

-- Collects the used bindings: motors first, each with its range and its joints or thrusters.
local function read_bindings(level)
  local used = {}
  for _, kind in ipairs { { "motor", level.joints, -1 }, { "thruster", level.thrusters, 0 } } do
    for binding = 0, 3 do
      local members = {}
      for i, entry in ipairs(kind[2]) do
        if entry.binding == binding then members[#members + 1] = i end
      end
      if #members > 0 then
        used[#used + 1] = { kind = kind[1], binding = binding, lo = kind[3], hi = 1, members = members }
      end
    end
  end
  return used
end

local function sorted(map)
  local keys, list = {}, {}
  for key in pairs(map) do keys[#keys + 1] = key end
  table.sort(keys)
  for i, key in ipairs(keys) do list[i] = map[key] end
  return list, keys
end

-- Reads a level from the text of its file. `file` is its name in messages.
function Level.read(text, file)
  local good, root, after, mistake = pcall(json.decode, text, 1, nil, nil)
  if not good then root, mistake = nil, root end -- too deeply nested
  if mistake then error(("%s: JSON: %s"):format(file, mistake), 0) end
  if type(root) ~= "table" then refuse(file, "file", "an object", root) end
  if text:find("%S", after) then error(("%s: JSON: text after the end of the object"):format(file), 0) end
  local state = object_at(file, "file", root, "env_state")
  local level = setmetatable({ file = file, gravity = vector(file, "env_state", state, "gravity") }, Level)
  read_settings(file, level, root)
  local shapes, polygons = read_list(file, state, "polygon", 0, read_shape)
  local circles = read_list(file, state, "circle", polygons, function(f, place, shape)
    return read_shape(f, place, shape, true)
  end)
  for i, circle in pairs(circles) do shapes[i] = circle end
  level.joints = sorted(read_list(file, state, "joint", 0, function(...) return read_joint(shapes, ...) end))
  level.thrusters = sorted(read_list(file, state, "thruster", 0, function(...) return read_thruster(shapes, ...) end))
  local keys
  level.shapes, keys = sorted(shapes)
  -- Joints and thrusters refer to the list of active shapes from now on.
  local place = {}
  for i, key in ipairs(keys) do place[key] = i end
  for _, joint in ipairs(level.joints) do joint.a, joint.b = place[joint.a], place[joint.b] end
  for _, thruster in ipairs(level.thrusters) do thruster.of = place[thruster.of] end
  level.bindings = read_bindings(level)
  level.goals, level.traps = level:pairs_of "blue", level:pairs_of "red"
  return level
end

-- Reads a level file.
function Level.load(path)
  local file, message = io.open(path, "rb")
  if not file then error(("kinetix: %s"):format(message), 2) end
  local text = file:read "a"
  file:close()
  if not text then error(("kinetix: %s: a file expected, got a folder"):format(path), 2) end
  return Level.read(text, path:match "[^/]*$")
end

-- ---- Contacts ---------------------------------------------------------------------------------

-- Shapes of mode 0 collide only with shapes of mode 2. Two shapes that do not move never count.
local function modes_meet(a, b)
  return not (a.fixed and b.fixed) and (a.mode == 2 or b.mode == 2 or a.mode * b.mode > 0)
end

-- The pairs of a green shape and a shape of another role that may touch. Shapes that joints connect do not collide,
-- but they count for the rule.
function Level:pairs_of(role)
  local found = {}
  for i, green in ipairs(self.shapes) do
    for k, other in ipairs(self.shapes) do
      if green.role == "green" and other.role == role and modes_meet(green, other) then
        found[#found + 1] = { i, k }
      end
    end
  end
  return found
end

-- Returns the number of the assembly of each shape. Shapes of one assembly are connected by joints.
function Level:assemblies()
  local of = {}
  for i in ipairs(self.shapes) do of[i] = i end
  for _, joint in ipairs(self.joints) do
    local from, to = of[joint.b], of[joint.a]
    for i, value in ipairs(of) do
      if value == from then of[i] = to end
    end
  end
  return of
end

-- Returns the mask of each shape. Shape i has the category 1 << (i - 1), and its mask contains the categories of all
-- shapes that collide with it.
local function masks(level)
  local of, found = level:assemblies(), {}
  for i, a in ipairs(level.shapes) do
    found[i] = 0
    for k, b in ipairs(level.shapes) do
      if of[i] ~= of[k] and modes_meet(a, b) then found[i] = found[i] | 1 << (k - 1) end
    end
  end
  return found
end

-- ---- Making -----------------------------------------------------------------------------------

local function turned(angle, v)
  local c, s = math.cos(angle), math.sin(angle)
  return { c * v[1] - s * v[2], s * v[1] + c * v[2] }
end

local function point(shape, at)
  local arm = turned(shape.angle, at)
  return { shape.position[1] + arm[1], shape.position[2] + arm[2] }
end

local function make_bodies(level, world)
  local bodies, mask = {}, masks(level)
  for i, shape in ipairs(level.shapes) do
    local def = { name = ("%s %d"):format(shape.role, i), position = shape.position, angle = shape.angle,
      velocity = shape.velocity, angular_velocity = shape.angular_velocity,
      -- Jax2D combines the frictions of a pair by the root of the sum of squares. For equal values this is sqrt(2)
      -- times the value. The levels have equal values.
      friction = math.sqrt(2) * level.friction * shape.friction, restitution = shape.restitution,
      category = 1 << (i - 1), mask = mask[i], color = COLORS[shape.role] }
    if shape.fixed then
      def.type, def.velocity, def.angular_velocity = "static", nil, nil
    else
      def.mass, def.inertia = shape.mass, shape.inertia
    end
    if shape.radius then
      def.radius = shape.radius
      bodies[i] = world:circle(def)
    else
      def.vertices = shape.vertices
      bodies[i] = world:polygon(def)
    end
  end
  return bodies
end

-- Returns the point at which Jax2D closes a joint whose two anchors differ.
local function anchor_of(a, b, joint)
  local at_a, at_b = point(a, joint.at_a), point(b, joint.at_b)
  if a.fixed then return at_a end
  if b.fixed then return at_b end
  local share = a.mass / (a.mass + b.mass)
  return { share * at_a[1] + (1 - share) * at_b[1], share * at_a[2] + (1 - share) * at_b[2] }
end

-- The torque of a motor per error of its speed, in N m s/rad.
local function gain(level, joint)
  local reduced = 1 / (level.shapes[joint.a].turning + level.shapes[joint.b].turning)
  return level.motor_power * level.decay * joint.power * reduced
end

-- The torque of a motor at rest for an action of 1, in N m.
local function torque(level, joint)
  return gain(level, joint) * joint.speed * level.motor_speed
end

-- Angles grow as the second shape turns relative to the first one, so the second shape comes first here.
local function make_joint(level, world, bodies, joint)
  local a, b = level.shapes[joint.a], level.shapes[joint.b]
  local def = { bodies[joint.b], bodies[joint.a], anchor = anchor_of(a, b, joint) }
  if joint.fixed then
    world:weld(def)
    return
  end
  if joint.limits then
    local now = b.angle - a.angle - joint.angle
    def.reference = -now
    def.limits = { math.min(joint.limits[1], now - SPARE), math.max(joint.limits[2], now + SPARE) }
  end
  if joint.binding then def.damping = gain(level, joint) end
  return world:hinge(def)
end

-- Makes the world of the level. `options.stepping` sets the `stepping` of the world. Returns the world and the list of
-- its bodies, in the order of `level.shapes`.
function Level:world(options)
  local world = sim.world { dt = self.dt, gravity = self.gravity, stepping = options and options.stepping }
  local bodies, hinges = make_bodies(self, world), {}
  for i, joint in ipairs(self.joints) do hinges[i] = make_joint(self, world, bodies, joint) end
  for _, binding in ipairs(self.bindings) do
    for _, i in ipairs(binding.members) do
      local name = ("%s %d"):format(binding.kind, i)
      if binding.kind == "motor" then
        local most = math.abs(torque(self, self.joints[i]))
        world:actuator { name, joint = hinges[i], kind = "torque", range = { -most, most } }
      else
        local thruster = self.thrusters[i]
        world:actuator { name, body = bodies[thruster.of], kind = "force", frame = "body", at = thruster.at,
          direction = { math.cos(thruster.angle), math.sin(thruster.angle) },
          range = { 0, thruster.power * self.thrust } }
      end
    end
  end
  -- Jax2D pushes bodies that overlap at the start apart within some steps, partly by velocities.
  world:resolve_overlaps()
  return world, bodies
end

-- Returns the commands of the actuators for an action, which has one number for each entry of `level.bindings`.
function Level:commands(action, into)
  local commands, n = into or {}, 0
  for k, binding in ipairs(self.bindings) do
    local u = math.min(math.max(action[k], binding.lo), binding.hi)
    for _, i in ipairs(binding.members) do
      n = n + 1
      commands[n] = binding.kind == "motor" and u * torque(self, self.joints[i])
        or u * self.thrusters[i].power * self.thrust
    end
  end
  return commands
end

-- ---- The rule ---------------------------------------------------------------------------------

-- Tests whether two bodies touch, or exchanged an impulse in the last step. Also returns their distance in m.
local function touch(world, a, b)
  local distance = world:closest(a, b).distance
  if distance <= TOUCH then return true, distance end
  if distance > REACH then return false, distance end
  for _, contact in ipairs(a:contacts()) do
    if (contact.a == b or contact.b == b) and contact.normal_impulse > 0 then return true, distance end
  end
  return false, distance
end

-- Returns "failed", "solved" or nil for the last step. As in Kinetix, red counts before blue.
function Level:judge(world, bodies)
  for _, pair in ipairs(self.traps) do
    if touch(world, bodies[pair[1]], bodies[pair[2]]) then return "failed" end
  end
  for _, pair in ipairs(self.goals) do
    if touch(world, bodies[pair[1]], bodies[pair[2]]) then return "solved" end
  end
end

-- Takes a decision: `skip` steps with one action. Returns "solved", "failed" or nil.
function Level:decide(world, bodies, action)
  world:act(self:commands(action))
  for _ = 1, self.skip do
    world:step()
    local verdict = self:judge(world, bodies)
    if verdict then return verdict end
  end
end

-- Replays a list of actions from the beginning. Returns "solved" or "failed", and the number of decisions.
function Level:replay(actions, options)
  local world <close>, bodies = self:world(options)
  for k = 1, self.decisions do
    local action = actions[k]
    if not action then return "failed", k - 1 end
    local verdict = self:decide(world, bodies, action)
    if verdict then return verdict, k end
  end
  return "failed", self.decisions
end

-- Returns every combination of full actions, the actions of Kinetix's multi-discrete space: -1, 0 and 1 for a motor, 0
-- and 1 for a thruster.
function Level:actions()
  local list = { {} }
  for _, binding in ipairs(self.bindings) do
    local longer = {}
    for _, action in ipairs(list) do
      for u = binding.lo, binding.hi do
        local copy = table.move(action, 1, #action, 1, {})
        copy[#copy + 1] = u
        longer[#longer + 1] = copy
      end
    end
    list = longer
  end
  return list
end

-- Returns the actions in the form of Kinetix: four motor bindings, then two thruster bindings. A motor of Kinetix is
-- off at exactly 0, so 0 becomes a tiny number, which damps it.
function Level:unpack(actions)
  local rows = {}
  for k, action in ipairs(actions) do
    local row = { 0, 0, 0, 0, 0, 0 }
    for n, binding in ipairs(self.bindings) do
      local motor = binding.kind == "motor"
      row[binding.binding + (motor and 1 or 5)] = motor and action[n] == 0 and HOLD or action[n]
    end
    rows[k] = row
  end
  return rows
end

-- Makes a task (docs/tasks.md) with numbered actions. The reward is 1 if the level is solved, and -1 if it has failed.
-- The observations are the poses and velocities of all bodies that move. As in Kinetix, the first step that solves or
-- fails the level decides, also if it is not the last step of its decision.
function Level:env()
  local choices, verdict = {}, nil
  for i, action in ipairs(self:actions()) do choices[i] = self:commands(action) end
  local function build()
    local world, bodies = self:world()
    for i, shape in ipairs(self.shapes) do
      if not shape.fixed then
        world:observe { bodies[i].name, of = bodies[i], field = { "x", "y", "angle", "vx", "vy", "omega" } }
      end
    end
    world:after_step(function() verdict = verdict or self:judge(world, world.bodies) end)
    return world
  end
  return sim.env { name = "kinetix " .. self.file:gsub("%.json$", ""), period = self.skip * self.dt,
    max_steps = self.decisions, actions = choices, world = build,
    reset = function() verdict = nil end,
    reward = function() return verdict == "solved" and 1 or verdict == "failed" and -1 or 0 end,
    terminated = function() return verdict ~= nil end }
end

if not sim.is_main() then return Level end

local exp = sim.experiment "A level of Kinetix: a thruster on a wheel, and a ball to be reached"
local level = Level.load(Level.samples .. "s/h3_point_the_thruster.json")
exp:equal("shapes", 7, #level.shapes)
exp:equal("bindings: a motor and a thruster", 2, #level.bindings)
exp:equal("actions", 6, #level:actions())
local world, bodies = level:world()
exp:equal("a world of the same shapes", 7, #bodies)
exp:equal("verdict at the start", "nil", tostring((level:judge(world, bodies))))
local env = level:env()
exp:equal("the task follows the interface", true, sim.env.check(env) > 0)
exp:finish()
