-- Mistakes of beginners, and their messages: each names the line, the key and the remedy.
local SIM2D = os.getenv "S2_SIM2D" or arg[-1]

local FOLDER = os.tmpname()
os.remove(FOLDER)
local QUOTED = "'" .. FOLDER:gsub("'", "'\\''") .. "'"
assert(os.execute("mkdir " .. QUOTED))
at_end(function() os.execute("rm -r " .. QUOTED) end)

-- Five lines precede the mistake, which is on line 6 unless a row gives another line.
local HEAD = [[
local sim = require "sim2d"
local world = sim.world {}
local floor = world:box { type = "static", size = { 9, 1 } }
local box = world:box { size = { 1, 1 }, position = { 0, 3 } }
local hinge = world:hinge { floor, box, anchor = { 0, 2 } }
]]

-- The stderr and the status of a script of this text.
local function run(text)
  local file = assert(io.open(FOLDER .. "/script.lua", "w"))
  file:write(text)
  file:close()
  local command = "cd %s && '%s' script.lua </dev/null 2>err >out"
  local _, _, status = os.execute(command:format(QUOTED, (SIM2D:gsub("'", "'\\''"))))
  file = assert(io.open(FOLDER .. "/err"))
  local err = file:read "a"
  file:close()
  return err, status
end

-- Mistake, the key or name in question, the remedy; line (6). The script stops with status 1.
local errors = {
  { 'require "Sim2d"', "'Sim2d'", 'write require "sim2d"' },
  -- shapes and bodies
  { "world:box { width = 1, height = 2 }", "'height'", "write size = {width, height}" },
  { "world:box { size = 2 }", "'size'", "{x, y} expected, got 2" },
  { "world:box(1, 2)", "'box'", "write { size = ... }" },
  { "world:circle { r = 1 }", "'r'", "write radius = metres" },
  { "world:circle { diameter = 1 }", "'diameter'", "write radius = half the diameter" },
  { "world:polygon { points = { { 0, 0 }, { 1, 0 }, { 0, 1 } } }", "'points'", "write vertices = {{x, y}, ...}" },
  { "world:box { size = { 1, 1 }, x = 3 }", "'x'", "write position = {x, y}" },
  { "world:box { size = { 1, 1 }, rotation = 3 }", "'rotation'", "write angle = radians" },
  { "world:box { size = { 1, 1 }, mu = 0.3 }", "'mu'", "write friction = number" },
  { "world:box { size = { 1, 1 }, bounce = 0.3 }", "'bounce'", "write restitution = 0 to 1" },
  { "world:box { size = { 1, 1 }, static = true }", "'static'", 'write type = "static"' },
  { 'world:box { size = { 1, 1 }, type = "Static" }', "'type'", "did you mean 'static'?" },
  { "world:box { size = { 1, 1 }, density = 1, mass = 3 }", "'density'", "either mass or density expected" },
  { "world:add_box { size = { 1, 1 } }", "'add_box'", "write world:box { size = {width, height} }" },
  -- methods of bodies
  { "box:set_velocity { 1, 0 }", "'set_velocity'", "write body.velocity = {vx, vy}" },
  { "box:setPosition(1, 2)", "'setPosition'", "write body.position = {x, y}" },
  { "box.velocity = 3", "Body.velocity", "{x, y} expected, got 3" },
  { "box.velocity.x = 3", "velocity", "assign the whole vector: body.velocity = {x, y}" },
  { "box:applyForce { 1, 0 }", "'applyForce'", "write body:apply_force({fx, fy}" },
  { "box.apply_force = { 1, 0 }", "Body.apply_force", "write body:apply_force(...)" },
  { "floor.mass = 5", "Body.mass", "applies only to a dynamic body" },
  -- joints
  { "world:spring { floor, box, k = 10 }", "'k'", "write stiffness = N/m" },
  { "world:spring { floor, box, stiffness = 10, length = 2 }", "'length'", "write rest_length = m" },
  { "world:hinge { floor, box, pivot = { 0, 0 } }", "'pivot'", "write anchor = {x, y}" },
  { "world:hinge { floor, box, anchor = { 0, 0 }, motor_speed = 3 }", "'motor_speed'", "write motor = { speed = " },
  { "world:revolute { floor, box }", "'revolute'", "write world:hinge { a, b, anchor = {x, y} }" },
  -- worlds and runs
  { "sim.World {}", "'World'", "write sim.world {}" },
  { "sim.world { gravity = -10 }", "'gravity'", "{x, y} expected, got -10" },
  { "sim.world { fps = 60 }", "'fps'", "write dt = 1 / (steps per second)" },
  { "world:set_gravity { 0, -1 }", "'set_gravity'", "write world.gravity = {0, -g}" },
  { "world:run { time = 1 }", "'time'", "write duration = seconds" },
  { "world:run(5)", "'run'", "write run { duration = seconds }" },
  { "world.run { duration = 1 }", "'run'", "call methods with a colon" },
  { "world:step(1 / 60)", "'step'", "world.dt sets the length of a step" },
  { "world.on_collision = print", "'on_collision'", 'write world:on("contact_begin", function(event) end)' },
  { "box:force_law(function(body) return 3 end)\nworld:run { steps = 1 }", "a force law", "'return 0, fx, fy'" },
  { "sim.minimize(print)", "'minimize'", "write sim.optimize.minimize(f, p)" },
  { "sim.grad(function(p) p.x = 2 end, { x = 1 })", "the function", "has to return the loss" },
}

-- The same for mistakes that cause a warning only.
local warnings = {
  { "world:box { size = { 1, 1 }, angle = 45 }", "'angle'", "write math.rad(45)" },
  { "box.angle = 90", "'angle'", "write math.rad(90)" },
  { "world:hinge { floor, box, anchor = { 0, 2 }, limits = { -90, 0 } }", "'limits'", "write math.rad(-90)" },
  { "hinge.limits = { 0, 60 }", "'limits'", "write math.rad(60)" },
  { 'world:box { type = "static", size = { 1, 1 }, mass = 5 }', "'mass'", 'write type = "dynamic"' },
  { "hinge.limits = { 0.5, 1 }", "Joint.limits: the limits exclude the joint's present coordinate", "set the coordinate first" },
  { "world:rope { box, anchor_b = { 0, 9 }, max_length = 1 }", "'max_length'", "make the rope longer" },
  { "box.x = 30\nhinge:destroy()\nworld:run { duration = 2 }", "every moving body falls", "make the ground wider", 8 },
  { "print(sim.grad(function(p) return 3 end, { x = 1 }).x)", "a plain number", "use the parameters directly" },
}

local function check(case, status, prefix)
  local err, ended = run(HEAD .. case[1] .. "\n")
  local at = ("%sscript.lua:%d: "):format(prefix, case[4] or 6)
  eq(err:sub(1, #at), at, err)
  ok(err:find(case[2], #at + 1, true), err)
  ok(err:find(case[3], #at + 1, true), err)
  eq(ended, status, err)
end

for _, case in ipairs(errors) do
  test(case[1], function() check(case, 1, "sim2d: ") end)
end

for _, case in ipairs(warnings) do
  test(case[1], function() check(case, 0, "sim2d: warning: ") end)
end

test("a warning comes once a world, and correct scripts cause none", function()
  local err = run(HEAD .. "box.angle = 45\nbox.angle = 60\n")
  local _, count = err:gsub("warning", "")
  eq(count, 2, err) -- the first, and at the end that there was one more
  eq(run(HEAD .. [[
box.angle = 7 * math.pi
hinge.limits = { -20 * math.pi, math.huge }
world:slider { floor, box, anchor = { 0, 2 }, axis = { 1, 0 }, limits = { -90, 90 } }:destroy()
hinge:destroy()
world:circle { radius = 1, position = { 30, 30 } } -- box stays
world:run { duration = 2 }
local free = sim.world {}
free:circle { radius = 1 }
free:box { type = "static", sensor = true, size = { 1, 1 }, position = { 0, -3 } }
free:run { duration = 2 }
print(sim.grad(function(p) return 3 * p.x end, { x = 1 }).x)
]]), "")
end)
