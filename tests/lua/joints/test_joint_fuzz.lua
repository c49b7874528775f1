-- Random scripts full of joints: bodies and joints are created and destroyed, also from callbacks, parameters change,
-- worlds are restored and cloned meanwhile. A world must remain usable after all calls, and a script must do the same
-- twice, bit for bit. S2_FUZZ=N runs N scripts, S2_FUZZ_SEED is the first.
local sim = require "sim2d"
local SCRIPTS = tonumber(os.getenv "S2_FUZZ") or 12
local FIRST = tonumber(os.getenv "S2_FUZZ_SEED") or 1
local OPERATIONS = 80

local inf, nan = math.huge, 0 / 0

-- Each script has its own generator: sim.random is part of the test.
local function generator(seed)
  local state = seed * 2654435761 % 2 ^ 31 // 1
  local g = {}
  function g.uniform(lo, hi)
    state = (state * 1103515245 + 12345) % 2147483648
    return lo + (hi - lo) * (state / 2147483648)
  end
  function g.integer(lo, hi) return math.floor(g.uniform(lo, hi + 1)) end
  function g.chance(p) return g.uniform(0, 1) < p end
  function g.pick(list) return list[g.integer(1, #list)] end
  function g.size(lo, hi) return math.exp(g.uniform(math.log(lo), math.log(hi))) end
  function g.point() return { g.uniform(-4, 4), g.uniform(-2, 4) } end
  return g
end

local JUNK = { nan, inf, -inf, -1, 0, 1e300, "x", true, false, {}, { 1, -1 }, { nan, 0 }, print }

local function random_body(s)
  local g = s.g
  local kind = g.pick { "dynamic", "dynamic", "dynamic", "static", "kinematic" }
  local def = { position = g.point(), angle = g.uniform(-3, 3), type = kind,
    velocity = { g.uniform(-3, 3), g.uniform(-3, 3) }, angular_velocity = g.uniform(-5, 5),
    friction = g.pick { 0, 0.5 }, restitution = g.pick { 0, 0, 0.5, 1 } }
  if g.chance(0.5) then def.mass = g.size(0.1, 100) end
  if def.type == "static" then def.velocity, def.angular_velocity, def.mass = nil, nil, nil end
  if g.chance(0.5) then
    def.radius = g.uniform(0.1, 0.6)
    return s.world:circle(def)
  end
  def.size = { g.uniform(0.2, 1), g.uniform(0.2, 1) }
  return s.world:box(def)
end

local function some_body(s)
  local bodies = s.world.bodies
  return #bodies > 0 and bodies[s.g.integer(1, #bodies)] or nil
end

-- A second body for a joint: mostly a body that moves, and mostly not `other`.
local function partner(s, other)
  local body
  for _ = 1, 5 do
    body = some_body(s)
    if body and body ~= other and (other or body.type == "dynamic") then return body end
  end
  return body
end

local function some_joint(s)
  local joints = s.world.joints
  return #joints > 0 and joints[s.g.integer(1, #joints)] or nil
end

local TYPES = { "hinge", "weld", "slider", "distance", "spring", "rope", "gear", "lock", "mouse", "wheel",
  "ground_friction", "constraint", "pulley" }

local function weights(g)
  return g.pick { 0, g.size(1e-9, 1), { linear = g.size(1e-9, 1) }, { linear = 0, angular = g.size(1e-6, 1) } }
end

local function constraint(s)
  local g, a = s.g, partner(s)
  local b = partner(s, a)
  local keep = g.uniform(-1, 1)
  local def = { bodies = { a }, unilateral = g.chance(0.3), phi = function(q) return q.y - keep * q.x end }
  if b and g.chance(0.5) then
    def.bodies = { a, b }
    def.phi = function(p, q) return (p.x - q.x) ^ 2 + (p.y - q.y) ^ 2 - 4 end
  end
  if g.chance(0.2) then def.phi = g.pick { function() return nan end, function() error "phi" end, function() end } end
  return s.world:constraint(def)
end

local function random_joint(s)
  local g = s.g
  local kind = g.pick(TYPES)
  if kind == "constraint" then return constraint(s) end
  local def = { anchor = g.point(), axis = g.point(), name = g.chance(0.3) and "joint " .. g.integer(1, 9) or nil }
  if kind == "gear" then
    def = { some_joint(s), some_joint(s), ratio = g.uniform(-3, 3) }
    for _ = 1, 9 do
      if def[1] and def[1].angle and def[1].speed then break end
      def[1] = some_joint(s)
    end
  elseif kind == "lock" or kind == "mouse" or kind == "ground_friction" then
    def[1] = partner(s)
  else
    def.a = partner(s)
    def.b = g.chance(0.7) and partner(s, def.a) or nil
  end
  local function only(keys)
    for _, key in ipairs { "anchor", "axis" } do
      if not keys:find(key) then def[key] = nil end
    end
  end
  if kind == "hinge" or kind == "weld" or kind == "mouse" then
    only "anchor"
  elseif kind ~= "slider" and kind ~= "wheel" then
    only ""
  end
  if kind == "distance" or kind == "spring" or kind == "rope" then
    def.anchor_a, def.anchor_b = g.point(), g.point()
  end
  if kind == "pulley" then
    def.anchor_a, def.ground_a, def.ground_b, def.ratio = g.point(), g.point(), g.point(), g.size(0.1, 10)
  end
  if kind == "spring" or kind == "mouse" or kind == "wheel" then
    def.stiffness, def.damping = g.size(0.1, 1e4), g.uniform(0, 3)
  elseif kind ~= "rope" and kind ~= "ground_friction" and g.chance(0.4) then
    def.compliance = weights(g)
  end
  if kind == "lock" then def.x, def.y, def.angle = g.chance(0.5), g.chance(0.5), g.chance(0.5) end
  if kind == "mouse" then def.target = g.point() end
  if kind == "ground_friction" then def.max_force, def.max_torque = g.uniform(0, 20), g.uniform(0, 5) end
  if kind == "hinge" or kind == "slider" or kind == "wheel" or kind == "spring" then
    local most = (kind == "hinge" or kind == "wheel") and "max_torque" or "max_force"
    if g.chance(0.4) then def.limits = { -g.uniform(0, 1), g.uniform(0, 1) } end
    if g.chance(0.4) then def.motor = { speed = g.uniform(-9, 9), [most] = g.size(0.1, 100) } end
    if g.chance(0.3) then def.friction = g.uniform(0, 5) end
  end
  if g.chance(0.1) and kind ~= "mouse" and kind ~= "ground_friction" then
    def.stabilization = g.pick { "none", "baumgarte", "none" }
  end
  if g.chance(0.2) then def.break_force = g.size(1, 1e3) end
  if g.chance(0.2) then def.collide = g.chance(0.5) end
  if g.chance(0.1) then
    local key = g.pick { "anchor", "compliance", "limits", "motor", "damping", "a", "ratio", "name" }
    def[key] = g.pick(JUNK)
  end
  return s.world[kind](s.world, def)
end

local JOINT_FIELDS = { "motor_speed", "motor_max", "limits", "friction", "compliance", "damping", "stiffness",
  "break_force", "rest_length", "max_length", "length", "ratio", "max_force", "max_torque", "target", "velocity",
  "angular_velocity", "enabled" }
local BODY_FIELDS = { "position", "angle", "velocity", "omega", "mass", "inertia", "enabled", "type", "friction",
  "restitution", "linear_damping", "enabled" }
local SETTINGS = { substeps = { 1, 2, 3 }, alpha = { 1, 1, 0.5, 0.6, 0 }, beta = { 1, 1, 0.5, 0.6 },
  geometric_stiffness = { "off", "on", "psd" }, stepping = { "speculative", "bisect" }, flow = { "auto", "projected", "rattle" },
  stabilization = { "projection", "none", "baumgarte", "pre", "post", "post_assembly" },
  restitution_model = { "newton", "reflections" }, elasticity = { "compliance", "stiffness" },
  formulation = { "velocity", "variation", "acceleration" }, dt = { 1 / 60, 1 / 120, 1 / 30 },
  solver = { "auto", "pdipm", "lemke" } }
local SETTING_NAMES = {}
for key in pairs(SETTINGS) do SETTING_NAMES[#SETTING_NAMES + 1] = key end
table.sort(SETTING_NAMES)

local function value_for(g, key)
  if g.chance(0.15) then return g.pick(JUNK) end
  if key == "limits" then return g.pick { nil, { -g.uniform(0, 1), g.uniform(0, 1) }, { 0, 0 } } end
  if key == "enabled" or key == "sensor" then return g.chance(0.5) end
  if key == "type" then return g.pick { "dynamic", "static", "kinematic" } end
  if key == "target" or key == "velocity" or key == "position" then return g.point() end
  if key:find "speed" or key == "angle" or key == "omega" or key == "angular_velocity" then return g.uniform(-9, 9) end
  return g.size(1e-6, 1e3)
end

-- Any call may be refused, with a message.
local function attempt(s, fn, ...)
  local done, result = pcall(fn, ...)
  if not done then
    assert(type(result) == "string" and #result > 10, "no message")
    s.refused = s.refused + 1
    s.trace[#s.trace + 1] = "refused"
    return nil
  end
  s.done = s.done + 1
  return result
end

local function set_joint(s)
  local key, joint = s.g.pick(JOINT_FIELDS), some_joint(s)
  if joint then joint[key] = value_for(s.g, key) end
end

local CHANGES = {
  random_body, random_body, random_joint, random_joint, random_joint, random_joint,
  function(s)
    local body = some_body(s)
    if body and s.g.chance(0.15) then body:destroy() end
  end,
  function(s)
    local joint = some_joint(s)
    if joint and s.g.chance(0.2) then joint:destroy() end
  end,
  set_joint, set_joint,
  function(s)
    local key, body = s.g.pick(BODY_FIELDS), some_body(s)
    if body then body[key] = value_for(s.g, key) end
  end,
  function(s)
    local body = some_body(s)
    if body then body:apply_impulse(s.g.point()) end
  end,
  function(s)
    local body = some_body(s)
    if body then body:apply_force(s.g.point()) end
  end,
  function(s)
    local key = s.g.pick(SETTING_NAMES)
    s.world[key] = s.g.pick(SETTINGS[key])
  end,
}

local function change(s) return attempt(s, s.g.pick(CHANGES), s) end

local function note(s)
  for i, x in ipairs(s.world:state()) do
    assert(x == x and x - x == 0, "state " .. i .. " is not finite")
    s.trace[#s.trace + 1] = x
  end
  for _, joint in ipairs(s.world.joints) do
    local force = joint.force
    s.trace[#s.trace + 1] = type(force) == "number" and force or force and force.x or 0
  end
end

local function step(s, count)
  for _ = 1, count do
    local refused = s.refused
    attempt(s, s.world.step, s.world)
    if s.refused > refused then return end
  end
  note(s)
end

-- Callbacks that change the world, and some that fail.
local HOOKS = {
  function(s) return s.world:before_step(function() if s.g.chance(0.3) then change(s) end end) end,
  function(s) return s.world:after_step(function() if s.g.chance(0.3) then change(s) end end) end,
  function(s)
    return s.world:on("joint_break", function(event)
      if event.joint.alive then event.joint:destroy() end
    end)
  end,
  function(s) return s.world:on("contact_begin", function() change(s) end) end,
  function(s)
    return s.world:before_step(function()
      if s.g.chance(0.1) then error "on purpose" end
    end)
  end,
  function(s) return s.world:every(0.05, function() change(s) end) end,
  function(s)
    return s.world:pre_solve(function(c)
      c.enabled = c.a.x < c.b.x + 2
      c.friction = 0.3
    end)
  end,
  function(s)
    local body = some_body(s)
    return body and body:force_law(function(b) return -b.angle, -b.x, -b.y end)
  end,
  function(s)
    local body = some_body(s)
    return body and body:force_law(function(_, t) return 0, t > 0.5 and nan or 0, 0 end)
  end,
}

-- Continues from a snapshot with the same result as the first time. Not with hooks: they draw random numbers of the
-- script.
local function replays(s)
  local snapshot = s.world:snapshot()
  local function go_on()
    local trace = { pcall(s.world.step, s.world, 3) }
    trace[2] = nil -- the message may contain the time
    return trace[1] and s.world:state() or { "refused" }
  end
  local first = go_on()
  s.world:restore(snapshot)
  local second = go_on()
  eq(second, first, "after a restore")
  if #s.world.joints > 0 then -- clones share nothing
    s.world:restore(snapshot)
    local copy = s.world:clone { callbacks = true }
    local done = pcall(copy.step, copy, 3)
    eq(done and copy:state() or { "refused" }, first, "a clone")
    copy:close()
  end
  s.world:restore(snapshot)
end

local function run_script(seed)
  sim.random:seed(seed)
  local g = generator(seed)
  local s = { g = g, trace = {}, refused = 0, done = 0, hooks = 0, kept = {} }
  s.world = sim.world { dt = g.pick { 1 / 60, 1 / 120 }, gravity = { 0, g.pick { 0, -10 } } }
  s.world:on("solver_warning", function() end) -- not to the terminal
  for _ = 1, 5 do random_body(s) end
  for _ = 1, OPERATIONS do
    local what = g.uniform(0, 1)
    if what < 0.55 then
      change(s)
    elseif what < 0.85 then
      step(s, g.integer(1, 4))
    elseif what < 0.88 and #s.kept < 4 then
      s.kept[#s.kept + 1] = attempt(s, s.world.snapshot, s.world)
    elseif what < 0.91 and #s.kept > 0 then
      attempt(s, s.world.restore, s.world, g.pick(s.kept))
    elseif what < 0.95 then
      if s.hooks == 0 then replays(s) end
    elseif what < 0.97 then
      local hook = attempt(s, g.pick(HOOKS), s)
      s.hooks = s.hooks + (hook and 1 or 0)
    else
      attempt(s, s.world.problem, s.world)
    end
  end
  -- Usable: settings that always work, and a hinge that holds.
  local fresh = sim.world {}
  local body = fresh:circle { radius = 0.1, position = { 1, 0 } }
  fresh:hinge { body, nil, anchor = { 0, 0 } }
  fresh:step(5)
  ok(fresh:residuals().scaled <= 1e-9)
  local own = s.world:circle { radius = 0.1, position = { 90, 0 } }
  s.world:weld { own, nil, anchor = { 90, 0 } }:destroy()
  own:destroy()
  ok(#s.world.bodies >= 0 and s.world:energy().total)
  s.world:close()
  return s
end

local refused, done = 0, 0

test("random scripts do the same twice, and leave worlds that work", function()
  for seed = FIRST, FIRST + SCRIPTS - 1 do
    local success, first = pcall(run_script, seed)
    ok(success, "script " .. seed .. ": " .. tostring(first))
    local second = run_script(seed)
    eq(#second.trace, #first.trace, "script " .. seed)
    for i, x in ipairs(first.trace) do
      if second.trace[i] ~= x then eq(second.trace[i], x, "script " .. seed .. ", number " .. i) end
    end
    refused, done = refused + first.refused, done + first.done
  end
  ok(done > 20 * SCRIPTS and refused > SCRIPTS, done .. " done, " .. refused .. " refused")
end)
