-- Messages: the exact wording, at the caller's line; and a failing call creates nothing.
local sim = require "sim2d"

local function line()
  return debug.getinfo(2, "l").currentline
end

test("unknown keys name the nearest one, at the caller's line", function()
  local world = sim.world {}
  local at = line() + 1
  local message = raises("densty", function() world:box { size = { 1, 1 }, densty = 3 } end)
  ok(message:find("test_errors.lua:" .. at .. ": bad argument #1 to 'box' "
    .. "(unknown key 'densty'; did you mean 'density'?)", 1, true), message)
  raises("bad argument #1 to 'world' %(unknown key 'gravty'; did you mean 'gravity'%?%)",
    function() sim.world { gravty = { 0, 0 } } end)
  raises("%(unknown key 'completely_else'; known: gravity, dt, .*linear_solver, .*post_stabilization%)$",
    function() sim.world { completely_else = 1 } end)
  raises("%(unknown key 'elsewhere'; known: size, radius, position, .*data%)$",
    function() world:box { elsewhere = 1 } end)
  raises("unknown key %[1%]", function() sim.world { 5 } end)
  eq(#world.bodies, 0)
end)

test("of several unknown keys the first by name is reported", function()
  local world = sim.world {}
  for _ = 1, 10 do
    raises("unknown key 'aaa'", function()
      world:box { zzz = 1, size = { 1, 1 }, mmm = 2, aaa = 3, bbb = 4 }
    end)
  end
end)

test("wrong values name key, value and what is allowed", function()
  local world = sim.world {}
  local cases = {
    { { radius = 0 }, "key 'radius': positive number expected, got 0" },
    { { radius = -1 }, "key 'radius': positive number expected, got -1" },
    { { radius = 0 / 0 }, "key 'radius': finite number expected, got nan" },
    { { radius = -(0 / 0) }, "key 'radius': finite number expected, got nan" },
    { { radius = 1 / 0 }, "key 'radius': finite number expected, got inf" },
    { { radius = "1" }, "key 'radius': number expected, got '1'" },
    { { radius = {} }, "key 'radius': number expected, got table" },
    { {}, "key 'radius' is missing" },
    { { radius = 1, mass = 0 }, "key 'mass': positive number expected, got 0" },
    { { radius = 1, density = -2 }, "key 'density': positive number expected, got -2" },
    { { radius = 1, friction = -0.1 }, "key 'friction': non-negative number expected, got -0.1" },
    { { radius = 1, restitution = 1.1 }, "key 'restitution': a number from 0 to 1 expected, got 1.1" },
    { { radius = 1, type = "statik" }, "key 'type': one of 'dynamic', 'static', 'kinematic' "
      .. "expected, got 'statik'; did you mean 'static'?" },
    { { radius = 1, name = 3 }, "key 'name': text expected, got 3" },
    { { radius = 1, name = ("x"):rep(48) }, "key 'name': text of at most 47 bytes expected, "
      .. "got 48" },
    { { radius = 1, sensor = 1 }, "key 'sensor': true or false expected, got 1" },
    { { radius = 1, mask = 2 ^ 32 }, "key 'mask': integer from 0 to 4294967295 expected, got "
      .. "4294967296" },
    { { radius = 1, position = { 1, 0 / 0 } }, "key 'position': {x, y} expected, component 2: "
      .. "finite number expected, got nan" },
    { { radius = 1, position = { x = 1 } }, "key 'position': {x, y} expected, component 'y' is "
      .. "missing" },
    { { radius = 1, position = { 1, 2, 3 } }, "key 'position': {x, y} expected, got 3 components" },
    { { radius = 1, color = 7 }, "key 'color': '#rrggbb', '#rrggbbaa' or a colour's name expected, "
      .. "got 7" },
  }
  for _, case in ipairs(cases) do
    local message = raises("bad argument #1 to 'circle'", function() world:circle(case[1]) end)
    ok(message:find("(" .. case[2], 1, true), message)
  end
  eq(#world.bodies, 0)
end)

test("degenerate shapes are refused", function()
  local world = sim.world {}
  for _, make in ipairs {
    function() world:box { size = { 1, 0 } } end,
    function() world:box { size = { 1, 1 }, radius = 0.5 } end,
    function() world:box { size = { 1e300, 1e300 } } end,
    function() world:polygon { vertices = { { 0, 0 }, { 1, 0 } } } end,
    function() world:polygon { vertices = { { 0, 0 }, { 1, 0 }, { 2, 0 } } } end,
    function() world:polygon { vertices = { { 0, 0 }, { 1, 0 }, { 2, 0 } }, hull = true } end,
    function() world:polygon { vertices = { { 0, 0 }, { 1, 1 }, { 1, 0 }, { 0, 1 } } } end,
    function() world:polygon { vertices = { { 0, 0 }, { 1, 0 }, "x" } } end,
    function() world:polygon { vertices = 3 } end,
    function() world:capsule { length = 0, radius = 1 } end,
    function() world:segment { from = { 0, 0 }, to = { 0, 0 } } end,
    function() world:segment { from = { 0, 0 }, to = { 1, 0 }, type = "dynamic" } end,
    function() world:circle { radius = 1e-9 } end,
  } do
    raises("bad argument #1 to '%a+' %(", make)
  end
  eq(#world.bodies, 0)
end)

test("missing and wrong tables", function()
  local world = sim.world {}
  raises("bad argument #1 to 'box' %(table expected, got nil; write { size = ... }%)", function() world:box() end)
  raises("bad argument #1 to 'box' %(table expected, got 3; write { size = ... }%)", function() world:box(3) end)
  raises("bad argument #1 to 'world' %(table expected, got 'x'; write { gravity = ... }%)", function() sim.world "x" end)
  raises("calling 'step' on bad self %(World expected, got table%)", function()
    local object = { step = world.step }
    object:step()
  end)
end)

test("the name and the line survive pcall and tail calls", function()
  local world = sim.world {}
  local function tail() return world:box { sise = { 1, 1 } } end
  raises("test_errors.lua:%d+: bad argument #1 to 'box' "
    .. "%(unknown key 'sise'; did you mean 'size'%?%)",
    function() tail() end)
  local _, message = pcall(world.box, world, { sise = { 1, 1 } })
  ok(message:find "bad argument #1 to 'box' %(unknown key 'sise'", message)
  local make = world.box
  raises("bad argument #1 to 'box'", function() make(world, { sise = { 1, 1 } }) end)
end)

test("a failing __index in a keyword table leaves nothing behind", function()
  local world = sim.world {}
  local mean = setmetatable({}, { __index = function() error "mean" end })
  raises("mean", function() world:circle(mean) end)
  local list = setmetatable({}, { __len = function() error "mean" end })
  raises("mean", function() world:polygon { vertices = list } end)
  eq(#world.bodies, 0)
end)

test("sim itself", function()
  raises("test_errors.lua:%d+: sim has no field 'wrld'; did you mean 'world'%?",
    function() return sim.wrld end)
  raises("sim has no field 'wrld'; did you mean 'world'%?", function() sim.wrld = 1 end)
  raises("World has no field 'gravty'; did you mean 'gravity'%?",
    function() return sim.world {}.gravty end)
  raises("World has no field 'gravty'; did you mean 'gravity'%?",
    function() sim.world {}.gravty = 1 end)
  raises("World.step is read%-only", function() sim.world {}.step = 1 end)
end)

test("metatables are hidden", function()
  local world = sim.world {}
  eq(getmetatable(world), "World")
  eq(getmetatable(world:circle { radius = 1 }), "Body")
  raises("", setmetatable, world, {})
end)

test("methods called with a dot name the remedy", function()
  local world = sim.world {}
  local body = world:circle { radius = 1 }
  raises("bad argument #1 to 'circle' %(World expected, got table; "
    .. "call methods with a colon%)", function() world.circle { radius = 1 } end)
  raises("Body expected, got 3; call methods with a colon%)",
    function() body.apply_torque(3) end)
  raises("bad argument #1 to 'no_contact' %(Body expected, got 3%)",
    function() world:no_contact(3, body) end)
end)
