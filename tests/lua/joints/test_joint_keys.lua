-- Every key of every joint constructor: its valid values, and the messages on others.
local sim = require "sim2d"

local inf, nan = math.huge, 0 / 0

-- Bodies to join: two that move, a fixed one, a destroyed one, one of another world.
local function setting()
  local world, elsewhere = sim.world {}, sim.world {}
  local s = { world = world, a = world:circle { radius = 0.5, name = "a" },
    b = world:circle { radius = 0.5, position = { 3, 0 }, name = "b" },
    wall = world:box { size = { 1, 1 }, position = { 6, 0 }, type = "static", name = "wall" },
    floor = world:box { size = { 1, 1 }, position = { 9, 0 }, type = "static", name = "floor" },
    gone = world:circle { radius = 0.5, position = { 12, 0 }, name = "gone" },
    stranger = elsewhere:circle { radius = 0.5, name = "stranger" } }
  s.hinge = world:hinge { s.a, nil, anchor = { 0, 0 }, name = "first" }
  s.slider = world:slider { s.b, nil, anchor = { 3, 0 }, axis = { 1, 0 }, name = "second" }
  s.lost = world:hinge { s.a, nil, anchor = { 0, 1 }, name = "lost" }
  s.foreign = elsewhere:hinge { s.stranger, nil, anchor = { 0, 0 }, name = "foreign" }
  s.lost:destroy()
  s.gone:destroy()
  return s
end

-- Valid and refused values of a kind of key, with the required part of the message besides the key.
local function number_key(least, extra)
  local key = { good = { 0.5, 2, 1e300 }, bad = { { "1", "expected, got" }, { true, "expected, got true" },
    { {}, "expected, got" }, { nan, "expected, got %-?nan" }, { print, "expected, got" } } }
  if not (extra and extra.infinite) then key.bad[#key.bad + 1] = { inf, "expected, got inf" } end
  if extra and extra.infinite then key.good[#key.good + 1] = inf end
  if least then key.bad[#key.bad + 1] = { -1, "expected, got %-1" } end
  if least == "positive" then
    key.bad[#key.bad + 1] = { 0, "expected, got 0" }
  else
    key.good[#key.good + 1] = 0
  end
  return key
end

local vector = { good = { { 0.25, 1 }, sim.world({}).gravity },
  bad = { { 1, "expected, got 1" }, { "here", "expected, got" }, { { 1 }, "expected" },
    { { 1, "2" }, "expected" }, { { nan, 0 }, "expected" }, { { inf, 0 }, "expected" }, { false, "expected" } } }

local direction = { good = { { 0.25, 1 }, { -3, 0 } }, bad = { { { 0, 0 }, "a direction expected, got {0, 0}" } } }
for _, case in ipairs(vector.bad) do table.insert(direction.bad, case) end

local flag = { good = { true, false },
  bad = { { 1, "expected, got 1" }, { "yes", "expected, got" }, { {}, "expected" } } }

local function weights(rows)
  local key = { good = { 0.1, { linear = 0.1 }, { linear = 0, angular = 1e-3 } },
    bad = { { -1, "expected, got %-1" }, { nan, "expected, got %-?nan" }, { inf, "expected, got inf" },
      { "soft", "expected, got" }, { true, "expected, got true" }, { { linear = -1 }, "linear.*expected, got %-1" },
      { { angular = nan }, "angular.*expected, got" }, { { linera = 1 }, "linera.*linear" },
      { { { 1 }, { 1, 2 } }, "square matrix expected" }, { { { 1, "a" }, { 1, 2 } }, "row 1, column 2" },
      { { { 1, 0, 0, 0 }, 0, 0, 0 }, "1 to 3 rows expected" } } }
  if rows == 2 then
    table.insert(key.good, { { 1e-3, 0 }, { 0, 2e-3 } })
    table.insert(key.bad, { { { 1, 2 }, { 2, 1 } }, "semidefinite" })
    table.insert(key.bad, { { { 1, 2 }, { 0, 1 } }, "symmetric" })
    table.insert(key.bad, { { { nan, 0 }, { 0, 1 } }, "finite" })
    table.insert(key.bad, { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } }, "2" })
  end
  return key
end

local function motor(most)
  local function of(speed, bound) return { speed = speed, [most] = bound } end
  return { good = { of(1), of(-2, 3), of(0, 0), of(1, inf) },
    bad = { { 3, "speed =.*expected, got 3" }, { true, "expected, got true" }, { {}, "speed.*missing" },
      { of("fast"), "speed.*expected" }, { of(nan), "speed.*expected" }, { of(inf), "speed.*expected" },
      { of(1, -1), most .. ".*expected, got %-1" }, { of(1, nan), most .. ".*expected" },
      { of(1, "much"), most .. ".*expected" }, { { speed = 1, power = 2 }, "power" } } }
end

local limits = { good = { { -1, 1 }, { nil, 1 }, { -1 }, {}, { 0, 0 }, { -inf, inf } },
  bad = { { 1, "{lo, hi} expected, got 1" }, { "wide", "{lo, hi} expected" },
    { { 1, -1 }, "lo <= hi expected, got {1, %-1}" },
    { { nan, 1 }, "expected" }, { { "0", 1 }, "expected" }, { { inf, inf }, "expected" } } }

local length_limits = { good = { { 0, 5 }, { nil, 5 }, { 1 }, {}, { 3, 3 }, { 0, inf } },
  bad = { { { 0, 0 }, "limits: hi above 0 expected for a length" }, { { -2, -1 }, "limits: hi above 0 expected" },
    { { 5, 1 }, "lo <= hi expected" } } }

local any, positive, not_negative = number_key(), number_key("positive"), number_key("not negative")
local part = number_key("not negative")
part.good = { 0, 0.5, 1 }
table.insert(part.bad, { 1.5, "expected, got 1.5" })
local bound = number_key("not negative", { infinite = true })
local breaks = number_key("positive", { infinite = true })
local name = { good = { "third" }, bad = { { 3, "expected" }, { {}, "expected" }, { true, "expected" } } }

-- A body or joint key: the refused values in a setting.
local function body_cases(s)
  return { { s.gone, "'gone' is destroyed" }, { s.stranger, "another world" }, { 3, "Body expected, got 3" },
    { "a", "Body expected, got" }, { s.hinge, "Body expected, got" }, { s.world, "Body expected, got" } }
end

local function joint_cases(s)
  return { { s.lost, "'lost' is destroyed" }, { s.foreign, "another world" }, { s.a, "Joint expected, got" },
    { true, "Joint expected, got true" } }
end

local function lengths(def)
  def.keys.anchor_a, def.keys.anchor_b = vector, vector
  return def
end

local function shared(def, rows)
  def.keys.anchor, def.keys.compliance = vector, weights(rows)
  def.required = def.required or {}
  table.insert(def.required, "anchor")
  return def
end

local function driven(def, most)
  def.keys.limits, def.keys.motor, def.keys.friction = limits, motor(most), not_negative
  def.keys.restitution = part
  return def
end

local stabilization = { good = { "none", "baumgarte" }, bad = { { "post", "moves whole islands" }, { "some", "one of 'none', 'baumgarte'" },
  { 1, "expected" }, { true, "expected" } } }

local KINDS = {
  hinge = driven(shared({ keys = { stiffness = not_negative, reference = any },
    base = { anchor = { 1, 0 } } }, 2), "max_torque"),
  weld = shared({ keys = {}, base = { anchor = { 1, 0 } } }),
  slider = driven(shared({ keys = { axis = direction, stiffness = not_negative, reference = any }, base = { anchor = { 1, 0 }, axis = { 1, 0 } },
    required = { "axis" } }, 2), "max_force"),
  distance = lengths { keys = { length = positive, compliance = weights() }, base = {} },
  spring = driven(lengths { keys = { rest_length = not_negative, stiffness = not_negative, damping = not_negative },
    base = { stiffness = 10 }, required = { "stiffness" } }, "max_force"),
  rope = lengths { keys = { max_length = positive, restitution = part }, base = {} },
  gear = { keys = { ratio = { good = { 0.5, -2 }, bad = any.bad }, compliance = weights() }, base = {}, joints = true },
  lock = { keys = { x = flag, y = flag, angle = flag, velocity = vector, angular_velocity = any,
    compliance = weights(), max_force = bound, max_torque = bound },
    base = { x = true, y = true, angle = true }, one = true },
  mouse = { keys = { anchor = vector, target = vector, stiffness = not_negative, damping = not_negative },
    base = { target = { 0, 2 }, stiffness = 10 }, one = true, required = { "target", "stiffness" } },
  wheel = driven({ keys = { anchor = vector, axis = direction, stiffness = not_negative, damping = not_negative },
    base = { anchor = { 1, 0 }, axis = { 0, 1 }, stiffness = 10 }, required = { "anchor", "axis", "stiffness" } },
    "max_torque"),
  ground_friction = { keys = { max_force = not_negative, max_torque = not_negative },
    base = { max_force = 1 }, one = true },
}

KINDS.spring.keys.limits = length_limits
local NAMES = {}
for kind, def in pairs(KINDS) do
  NAMES[#NAMES + 1] = kind
  def.keys.name, def.keys.collide, def.keys.break_force = name, flag, breaks
  def.keys.stabilization = kind ~= "mouse" and kind ~= "ground_friction" and stabilization or nil
end
table.sort(NAMES)

local function definition(s, kind, with)
  local def = {}
  for key, value in pairs(KINDS[kind].base) do def[key] = value end
  if KINDS[kind].joints then
    def.joint_a, def.joint_b = s.hinge, s.slider
  elseif KINDS[kind].one then
    def.body = s.a
  else
    def.a, def.b = s.a, s.b
  end
  for key, value in pairs(with or {}) do def[key] = value end
  return def
end

-- Refused with a message that names the key, and nothing is made.
local function refused(s, kind, def, key, pattern)
  local before = #s.world.joints
  local message = raises(pattern, function() s.world[kind](s.world, def) end)
  ok(message:find(key, 1, true), kind .. "." .. key .. " is not named: " .. message)
  eq(#s.world.joints, before)
end

for _, kind in ipairs(NAMES) do
  test(kind .. " takes its keys, and says what is wrong with them", function()
    local s = setting()
    for key, cases in pairs(KINDS[kind].keys) do
      for _, value in ipairs(cases.good) do
        local joint = s.world[kind](s.world, definition(s, kind, { [key] = value }))
        eq(joint.type, kind)
        joint:destroy()
      end
      for _, case in ipairs(cases.bad) do
        refused(s, kind, definition(s, kind, { [key] = case[1] }), key, case[2])
      end
    end
    s.world:step(3)
  end)

  test(kind .. " refuses keys it does not know or misses", function()
    local s = setting()
    refused(s, kind, definition(s, kind, { nmae = "x" }), "nmae", "unknown key 'nmae'; did you mean 'name'")
    refused(s, kind, definition(s, kind, { [7] = 1 }), "7", "7")
    for _, key in ipairs(KINDS[kind].required or {}) do
      local def = definition(s, kind)
      def[key] = nil
      refused(s, kind, def, key, "key '" .. key .. "' is missing")
    end
    for _, other in ipairs(NAMES) do -- the keys of other types
      for key in pairs(KINDS[other].keys) do
        if KINDS[kind].keys[key] == nil and key ~= "damping" then
          refused(s, kind, definition(s, kind, { [key] = 1 }), key, "unknown key '" .. key .. "'")
        end
      end
    end
    for _, junk in ipairs { 3, "x", true, s.a } do
      raises("table expected", function() s.world[kind](s.world, junk) end)
    end
    raises("table expected", function() s.world[kind](s.world) end)
  end)

  test(kind .. " refuses bodies it cannot join", function()
    local s = setting()
    local keys, cases = { "a", "b" }, body_cases(s)
    if KINDS[kind].joints then
      keys, cases = { "joint_a", "joint_b" }, joint_cases(s)
    elseif KINDS[kind].one then
      keys = { "body" }
    end
    for place, key in ipairs(keys) do
      for _, case in ipairs(cases) do
        refused(s, kind, definition(s, kind, { [key] = case[1] }), key, case[2])
        local def = definition(s, kind, { [place] = case[1] })
        def[key] = nil
        refused(s, kind, def, key, case[2])
      end
      refused(s, kind, definition(s, kind, { [place] = KINDS[kind].joints and s.hinge or s.a }), key, "given twice")
    end
    local def = definition(s, kind)
    for _, key in ipairs(keys) do def[key] = nil end
    refused(s, kind, def, keys[1], "missing")
    if #keys == 2 and not KINDS[kind].joints then
      refused(s, kind, definition(s, kind, { b = s.a }), "a", "same body twice")
      refused(s, kind, definition(s, kind, { a = s.wall, b = s.floor }), "b", "at least one dynamic body")
      local ground = definition(s, kind, { a = s.wall, anchor_a = KINDS[kind].keys.anchor_a and { 0, 0 },
        anchor_b = KINDS[kind].keys.anchor_b and { 3, 0 } })
      ground.b = nil
      refused(s, kind, ground, "a", "at least one dynamic body")
    elseif KINDS[kind].joints then
      refused(s, kind, definition(s, kind, { joint_b = s.hinge }), "joint", "same joint twice")
    else
      refused(s, kind, definition(s, kind, { body = s.wall }), "body", "dynamic body")
    end
  end)
end

test("damping needs something to damp", function()
  local s = setting()
  for _, kind in ipairs { "hinge", "weld", "slider", "distance", "gear", "lock" } do
    if kind == "hinge" or kind == "slider" then -- a damper along the coordinate
      local damped = s.world[kind](s.world, definition(s, kind, { damping = 1 }))
      assert(damped.damping == 1 and damped.stiffness == 0)
      damped:destroy()
    else
      refused(s, kind, definition(s, kind, { damping = 1 }), "damping", "requires compliance above 0")
    end
    local joint = s.world[kind](s.world, definition(s, kind, { damping = 1, compliance = 0.1 }))
    joint:destroy()
    for _, bad in ipairs { -1, nan, inf, "x", true } do
      refused(s, kind, definition(s, kind, { damping = bad, compliance = 0.1 }), "damping", "expected, got")
    end
  end
end)

test("a lock holds something, a gear has a ratio", function()
  local s = setting()
  refused(s, "lock", definition(s, "lock", { x = false, y = false, angle = false }), "x",
    "at least one of x, y and angle")
  refused(s, "gear", definition(s, "gear", { ratio = 0 }), "ratio", "expected, got 0")
end)

test("constraint takes its keys, and its messages name the error in them", function()
  local s = setting()
  local function phi(q) return q.y end
  local function slope() return 0, 0, 1 end
  local function def(with)
    local d = { bodies = { s.a, s.b }, phi = phi }
    for key, value in pairs(with) do d[key] = value end
    return d
  end
  local good = { bodies = { { s.a }, { s.b, s.wall }, { s.a, s.b, s.wall } }, phi = { phi, function(q) return q.x, q.y end },
    jacobian = { function() return { 0, 0, 1, 0, 0, 0 } end }, rate = { 0.5, function() return 1 end },
    compliance = { 0.1 }, break_force = breaks.good, unilateral = flag.good, name = name.good, collide = flag.good }
  for key, values in pairs(good) do
    for _, value in ipairs(values) do s.world:constraint(def { [key] = value }):destroy() end
  end
  local functions = { { 1, "expected, got 1" }, { "x", "expected, got" }, { {}, "expected, got" } }
  local bad = { phi = functions, jacobian = functions, hessian = functions,
    rate = { { "x", "expected, got" }, { nan, "expected" }, { inf, "expected" }, { {}, "expected" } },
    bodies = { { 3, "expected" }, { {}, "expected" }, { { s.a, s.b, s.wall, s.floor, s.c or s.a }, "1 to 4 bodies expected, got 5" },
      { { 3 }, "Body expected, got 3" },
      { { s.a, s.a }, "same" }, { { s.wall, s.floor }, "dynamic body" }, { { s.wall }, "dynamic body" },
      { { s.a, s.gone }, "'gone' is destroyed" }, { { s.stranger }, "another world" },
      { { s.a, true }, "Body expected" } },
    compliance = weights().bad, break_force = breaks.bad, unilateral = flag.bad, velocity_only = flag.bad,
    name = name.bad, collide = flag.bad }
  for key, cases in pairs(bad) do
    for _, case in ipairs(cases) do
      refused(s, "constraint", def { [key] = case[1] }, key == "bodies" and "bod" or key, case[2])
    end
  end
  refused(s, "constraint", { phi = phi }, "bodies", "missing")
  refused(s, "constraint", { bodies = { s.a } }, "phi", "missing")
  refused(s, "constraint", { bodies = { s.a }, velocity_only = true }, "jacobian", "missing")
  refused(s, "constraint", def { velocity_only = true, jacobian = slope }, "phi", "does not apply to a velocity_only")
  refused(s, "constraint", def { damping = 1 }, "damping", "requires compliance above 0")
  refused(s, "constraint", def { anchor = { 0, 0 } }, "anchor", "unknown key")
  refused(s, "constraint", def { phi = function() end }, "phi", "the function must return")
  refused(s, "constraint", def { phi = function() return "x" end }, "phi", "x")
  refused(s, "constraint", def { phi = function() return nan end }, "value", "nan in row 1")
  refused(s, "constraint", def { phi = function() return 1, 2, 3, 4 end }, "phi", "1 to 3 values.*got 4")
  refused(s, "constraint", def { restitution = 0.5 }, "restitution", "requires unilateral = true")
  for _, case in ipairs(part.bad) do
    refused(s, "constraint", def { unilateral = true, restitution = case[1] }, "restitution", case[2])
  end
  refused(s, "constraint", def { unilateral = true, restitution = 0.5, compliance = 1e-3 }, "restitution", "not both")
  local stop = s.world:constraint(def { unilateral = true, compliance = 1e-3 })
  raises("restitution: a constraint has restitution or compliance, not both", function() stop.restitution = 0.5 end)
  stop.compliance = 0
  stop.restitution = 0.5
  raises("compliance: a constraint has restitution or compliance, not both", function() stop.compliance = 1e-3 end)
  stop:destroy()
  raises("inside", function() s.world:constraint(def { phi = function() error "inside" end }) end)
end)

-- ---- Limits and bodies that are given ----------------------------------------------------------

sim.random.seed(20260643)
local R = sim.random.split()

test("a joint that begins beyond its limits raises, and nothing was made", function()
  for case = 1, 200 do
    local world = sim.world { gravity = { 0, 0 } }
    local size = 10 ^ R:uniform(-1, 1)
    local body = world:box { size = { size, size }, position = { 3 * size, R:uniform(-1, 1) * size }, mask = 0 }
    local reference = R:uniform(-1, 1)
    -- some way beyond, by a few decimals, or within
    local off = case % 3 == 0 and 1e-4 or case % 3 == 1 and 10 ^ R:uniform(-2, 0.5) or -10 ^ R:uniform(-3, 0)
    local scale, begins, make = 1, reference, nil
    local kind = R:integer(1, 4)
    if kind == 1 then
      make = function(limits) return world:hinge { body, nil, anchor = { 0, 0 }, reference = reference, limits = limits } end
    elseif kind == 2 then
      scale = size
      make = function(limits) return world:slider { body, nil, anchor = body.position, axis = { 1, 2 }, reference = reference, limits = limits } end
    elseif kind == 3 then
      begins, scale = body.x, body.x
      body.y = 0
      make = function(limits) return world:spring { body, nil, anchor_b = { 0, 0 }, stiffness = 1, limits = limits } end
    else
      begins, scale = 0, size
      make = function(limits) return world:wheel { body, nil, anchor = body.position, axis = { 0, 1 }, stiffness = 1, limits = limits } end
    end
    local above = R:integer(1, 2) == 1
    local edge = begins + (above and -off or off) * scale
    local limits = above and { edge - 5 * scale, edge } or { edge, edge + 5 * scale }
    if off > 1e-3 and not (kind == 3 and limits[2] <= 0) then
      raises("limits: {.*} exclude the initial coordinate", make, limits)
      eq(#world.joints, 0)
    elseif kind ~= 3 or limits[2] > 0 then
      local joint = make(limits)
      world:step()
      near(world:energy().kinetic, 0, 1e-6 * size ^ 4)
      ok(joint.alive)
    end
  end
end)

test("a body may be the world by its name or false, and a hole before the other one raises", function()
  for _, kind in ipairs { "hinge", "weld", "slider", "wheel", "distance", "spring", "rope" } do
    local world = sim.world {}
    local body = world:box { size = { 1, 1 }, position = { 1, 0 } }
    local function keys(a, b)
      local def = { anchor = { 1, 0 }, axis = { 1, 0 }, anchor_b = { 0, 0 }, stiffness = 1, max_length = 2 }
      local takes = { hinge = { anchor = 1 }, weld = { anchor = 1 }, slider = { anchor = 1, axis = 1 },
        wheel = { anchor = 1, axis = 1, stiffness = 1 }, distance = { anchor_b = 1 }, spring = { anchor_b = 1, stiffness = 1 },
        rope = { anchor_b = 1, max_length = 1 } }
      for key in pairs(def) do if not takes[kind][key] then def[key] = nil end end
      if a == "world" or a == false then
        def.anchor_a, def.anchor_b = def.anchor_b, nil
      end
      def[1], def[2] = a, b
      return def
    end
    for _, ground in ipairs { "world", false } do
      local joint = world[kind](world, keys(body, ground))
      ok(joint.a == body and joint.b == nil)
      joint = world[kind](world, keys(ground, body))
      ok(joint.a == nil and joint.b == body)
    end
    raises("key 'a': a body, \"world\" or false expected before 'b', got nil", world[kind], world, keys(nil, body))
    raises("key 'b': Body expected, got 'ground'; for the world, give \"world\" or false", world[kind], world, keys(body, "ground"))
    raises("key 'b': Body expected, got true; for the world, give \"world\" or false", world[kind], world, keys(body, true))
  end
end)

test("a joint needs a body beside the world", function()
  local world = sim.world {}
  local message = "key 'b': a body expected after the world, got "
  raises(message .. "the world", world.hinge, world, { "world", "world", anchor = { 0, 0 } })
  raises(message .. "the world", world.weld, world, { false, "world", anchor = { 0, 0 } })
  raises(message .. "nil", world.slider, world, { "world", nil, anchor = { 0, 0 }, axis = { 1, 0 } })
end)

-- `reference` is a key of hinges and sliders alone.
test("limits that exclude the beginning name a remedy that the joint has", function()
  local keys = {
    hinge = { anchor = { 0, 0 } }, slider = { anchor = { 0, 0 }, axis = { 1, 0 } },
    wheel = { anchor = { 0, 0 }, axis = { 1, 0 }, stiffness = 1 }, spring = { stiffness = 1 },
    pulley = { ground_a = { 0, 2 }, ground_b = { 3, 2 } },
  }
  for kind, def in pairs(keys) do
    local world = sim.world {}
    def[1], def[2] = world:circle { radius = 0.1 }, world:circle { radius = 0.1, position = { 3, 0 } }
    def.limits = { 7, 8 }
    local message = raises("limits: {7, 8} exclude the initial coordinate", world[kind], world, def)
    eq(message:find "as reference" ~= nil, kind == "hinge" or kind == "slider", message)
    eq(message:find "move the bodies or anchors" ~= nil, kind ~= "hinge" and kind ~= "slider", message)
  end
end)
