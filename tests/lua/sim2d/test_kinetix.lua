-- The loader, the rule and the planner of scripts/kinetix, on three levels that the repository has.
local sim = require "sim2d"

local FOLDER = os.getenv "S2_SOURCE" .. "/scripts/kinetix/"
package.path = FOLDER .. "?.lua;" .. package.path
local Level, search, field = require "level", require "search", require "field"

local THRUSTER, FLIP, CHEETAH = "s/h3_point_the_thruster", "m/h7_car_flip", "l/mjc_half_cheetah_easy"

local function path(name) return ("%slevels/%s.json"):format(FOLDER, name) end

local function text(name)
  local file <close> = assert(io.open(path(name), "rb"))
  return file:read "a"
end

local function count(list, key, value)
  local n = 0
  for _, item in ipairs(list) do
    if item[key] == value then n = n + 1 end
  end
  return n
end

-- ---- Loader -----------------------------------------------------------------------------------

test("counts, roles and bindings of three levels", function()
  local level = Level.load(path(THRUSTER))
  eq({ #level.shapes, #level.joints, #level.thrusters, #level.bindings }, { 7, 1, 1, 2 })
  eq({ count(level.shapes, "role", "green"), count(level.shapes, "role", "blue") }, { 1, 1 })
  eq(count(level.shapes, "role", "red"), 0)
  eq({ level.decisions, level.skip }, { 256, 2 })
  near(level.dt, 1 / 60, 1e-15)
  eq({ #level.goals, #level.traps, #level:actions() }, { 1, 0, 6 })

  level = Level.load(path(FLIP))
  eq({ #level.shapes, #level.joints, #level.thrusters }, { 8, 2, 2 })
  -- Both motors have one binding, and each thruster has its own.
  eq({ #level.bindings, #level.bindings[1].members, #level.bindings[2].members }, { 3, 2, 1 })
  eq({ #level.goals, #level.traps, #level:actions() }, { 1, 1, 12 })

  level = Level.load(path(CHEETAH))
  eq({ #level.shapes, #level.joints, count(level.joints, "fixed", true), #level.bindings }, { 12, 6, 2, 4 })
  eq({ #level.goals, #level:actions() }, { 1, 81 })
end)

test("masses, anchors, limits and motors are those of the file", function()
  local world, bodies = Level.load(path(THRUSTER)):world()
  near(bodies[5].mass, 1 / 5.391387939453125, 1e-12)
  near(bodies[5].inertia, 1 / 162.70533752441406, 1e-12)
  local hinge = world.joints[1]
  -- `global_position` of the joint in the file
  near({ hinge.anchor_a.x, hinge.anchor_a.y }, { 1.909999966621399, 0.7649999856948853 }, 1e-6)
  eq({ hinge.a == bodies[6], hinge.b == bodies[5] }, { true, true })
  -- 900 p m 0.1, where m is the reduced moment of inertia
  near(hinge.damping, 90 / (162.70533752441406 + 2487.328125), 1e-9)
  near(world:energy().kinetic, 0, 0)

  world, bodies = Level.load(path(CHEETAH)):world()
  local kinds = { count(world.joints, "type", "hinge"), count(world.joints, "type", "weld") }
  eq(kinds, { 4, 2 })
  hinge = world.joints[1]
  near({ hinge.anchor_a.x, hinge.anchor_a.y }, { 1.065000057220459, 0.9549999833106995 }, 1e-6)
  -- The angles of the file are b - a - rotation = -0.47 - 0 + 0.47 = 0.
  near(hinge.angle, 0, 1e-6)
  near(hinge.limits, { -math.pi / 4, math.pi / 4 }, 1e-6)
  near(bodies[1].friction * bodies[2].friction, (0.4 * math.sqrt(2)) ^ 2, 1e-9)
end)

test("a thruster pushes along its axis, with its force", function()
  local level = Level.load(path(FLIP))
  level.gravity = { 0, 0 }
  local world, bodies = level:world()
  local mass = 0
  for i = 5, 8 do
    if i ~= 6 then mass = mass + bodies[i].mass end
  end
  local before = world:momentum()
  -- the motors damp, and both thrusters push up with 16 N
  world:act(level:commands { 0, 1, 1 })
  world:step()
  local after = world:momentum()
  ok(mass > 0)
  near(after.y - before.y, 2 * 16 / 60, 1e-5)
  near(after.x - before.x, 0, 1e-5)
end)

test("motors of one binding turn together, relative to the first shape", function()
  local level = Level.load(path(FLIP))
  level.gravity = { 0, 0 }
  local world = level:world()
  world:act(level:commands { 1, 0, 0 })
  -- The error shrinks by more than half in each step, until the turning body meets the floor.
  for _ = 1, 8 do world:step() end
  near({ world.joints[1].speed, world.joints[2].speed }, { 6, 6 }, 0.05)
  eq(level:commands { 5, -3, 0.5 }, level:commands { 1, 0, 0.5 }) -- clipped
end)

test("connected shapes do not collide, and modes decide for the others", function()
  local level = Level.load(path(CHEETAH))
  local _, bodies = level:world()
  for i = 1, 12 do
    for k = 1, i - 1 do
      local meets = bodies[i].mask & bodies[k].category ~= 0
      local legs = i > 4 and i ~= 9 and k > 4 and k ~= 9
      local still = level.shapes[i].fixed and level.shapes[k].fixed
      eq(meets, not legs and not still, i .. " and " .. k)
    end
  end
end)

-- ---- The rule ---------------------------------------------------------------------------------

test("green on blue solves, green on red fails, and red counts first", function()
  local level = Level.load(path(FLIP)) -- 6 is green, 7 is red, 8 is blue
  local world, bodies = level:world()
  eq(level:judge(world, bodies), nil)
  local green, red, blue = bodies[6], bodies[7], bodies[8]
  local far = green.position
  green.position = { blue.x, blue.y + 0.3 }
  eq(level:judge(world, bodies), "solved")
  green.position = { red.x, red.y + 0.3 }
  eq(level:judge(world, bodies), "failed")
  green.position = { red.x, red.y + 1.5 }
  eq(level:judge(world, bodies), nil)
  blue.position, green.position = { red.x, red.y + 0.9 }, { red.x, red.y + 0.5 }
  eq(level:judge(world, bodies), "failed")
  green.position = far
  eq(level:judge(world, bodies), nil)
end)

test("time runs out after 256 decisions", function()
  local level = Level.load(path(CHEETAH))
  local rest = {}
  for k = 1, 300 do rest[k] = { 0, 0, 0, 0 } end
  eq({ level:replay(rest) }, { "failed", 256 })
  eq({ level:replay { rest[1], rest[2] } }, { "failed", 2 })
end)

test("the task has the rewards and ends of the rule", function()
  local level = Level.load(path(FLIP))
  local env = level:env()
  ok(sim.env.check(env) > 0)
  local found = search.run(level, { steps = 100000 })
  ok(found.solved)
  local numbers = {}
  for i, action in ipairs(level:actions()) do numbers[table.concat(action, " ")] = i end
  env:reset { seed = 1 }
  local reward, terminated
  for k, action in ipairs(found.actions) do
    _, reward, terminated = env:step(numbers[table.concat(action, " ")])
    eq(terminated, k == #found.actions)
  end
  eq(reward, 1)
end)

-- ---- The planner ------------------------------------------------------------------------------

test("small levels are solved, and the plan is the same in each run", function()
  for _, name in ipairs { THRUSTER, FLIP } do
    local level = Level.load(path(name))
    local result = search.run(level, { steps = 100000, seed = 1 })
    ok(result.solved, name)
    eq({ level:replay(result.actions) }, { "solved", #result.actions })
    local again = search.run(level, { steps = 100000, seed = 1 })
    eq({ again.steps, again.actions }, { result.steps, result.actions })
  end
end)

test("a budget ends a search that has no solution", function()
  local level = Level.load(path(THRUSTER))
  level.goals = {}
  local result = search.run(level, { steps = 2000 })
  eq({ result.solved, result.actions }, { false, nil })
  ok(result.steps >= 2000 and result.steps < 2000 + 2 * 6 * 32, result.steps)
end)

test("paths lead around walls", function()
  local wall = { fixed = true, role = "plain", position = { 2.5, 2 }, angle = 0,
    vertices = { { -0.1, -2 }, { 0.1, -2 }, { 0.1, 2 }, { -0.1, 2 } } }
  local goal = { fixed = true, role = "blue", position = { 4, 1 }, angle = 0, radius = 0.2 }
  near({ field.distance(wall, 2, 1), field.distance(wall, 2.5, 1) }, { 0.4, 0 }, 1e-12)
  near({ field.distance(goal, 3, 1), field.distance(goal, 4, 1.1) }, { 0.8, 0 }, 1e-12)
  local length = field.of({ shapes = { wall, goal } }, 2, 0.05)
  near(length(3, 1), 0.8, 0.1)
  -- The path turns by multiples of 45 degrees: 3 m up, 3 m down, and 3 m across, of which 2.7 m are on diagonals. It
  -- keeps half a cell from the wall and ends 0.2 m before the centre of the goal.
  near(length(1, 1), 6 + 2.7 * (math.sqrt(2) - 1) + 0.3 - 0.2, 0.1)
  local ball = { fixed = true, role = "red", position = { 2.5, 4.5 }, angle = 0, radius = 0.6 }
  eq(field.of({ shapes = { wall, ball, goal } }, 3, 0.05)(1, 1), nil)
end)

-- ---- Bad files --------------------------------------------------------------------------------

local function refused(change, pattern)
  local root = text(THRUSTER)
  local changed, n = change(root)
  ok(n == nil or n > 0, "nothing was changed")
  ok(raises(pattern, Level.read, changed, "bad.json"):find("^bad%.json: "))
end

test("bad levels are refused with the place and the value", function()
  local function swap(from, to)
    return function(root)
      return root:gsub(from:gsub("%p", "%%%0"), (to:gsub("%%", "%%%%")), 1)
    end
  end
  refused(function(root) return root:sub(1, 500) end, "JSON: .* at line 1, column")
  refused(function(root) return root .. "1" end, "JSON: text after the end")
  refused(function() return ("["):rep(1000000) end, "")
  refused(function() return "[]" end, "env_state: an object expected, got nil")
  refused(function() return "3" end, "file: an object expected, got 3")
  refused(swap('"polygon": [', '"polygons": ['), "env_state%.polygon: an object expected")
  refused(swap('"rotation": 0.0', '"rotation": "0"'), "env_state%.polygon%[0%]%.rotation: a number .* got \"0\"")
  refused(swap('"rotation": 0.0', '"rotation": 1e400'), "rotation: a number")
  refused(swap('"n_vertices": 4', '"n_vertices": 9'), "n_vertices: an integer from 3 to 4 expected, got 9")
  refused(swap('"active": true', '"active": 1'), "active: true or false expected, got 1")
  refused(swap('"role": 0', '"role": 4'), "role: an integer from 0 to 3 expected, got 4")
  refused(swap('"inverse_mass": 5.39', '"inverse_mass": -5.39'), "inverse_inertia: a number above 0")
  refused(swap('"a_index": 4', '"a_index": 44'), "env_state%.joint%[0%]%.a_index: an active shape expected, got 44")
  refused(swap('"b_index": 5', '"b_index": 0.5'), "b_index: an integer from 0 to 63 expected, got 0.5")
  refused(swap('"motor_binding": 0', '"motor_binding": 7'), "motor_binding: an integer from 0 to 3 expected, got 7")
  refused(swap('"object_index": 5', '"object_index": 0'), "object_index: an active shape that moves expected, got 0")
  refused(swap('"dt": 0.0', '"dt": -0.0'), "env_params%.dt: a number above 0")
  refused(swap('"frame_skip": 2', '"frame_skip": 0'), "frame_skip: an integer from 1 to 1000 expected, got 0")
  ok(raises("no_such_level", Level.load, path "s/no_such_level"))
end)

-- A changed file is read, or refused with a message that names it.
test("files with random changes", function()
  local root, random = text(THRUSTER), sim.random.split()
  random:seed(7)
  local read, failed = 0, 0
  for _ = 1, fewer(300, 60) do
    local changed = root
    for _ = 1, random:integer(3) do
      local at, kind = random:integer(#changed), random:integer(3)
      if kind == 1 then
        changed = changed:sub(1, at - 1) .. string.char(random:integer(0, 255)) .. changed:sub(at + 1)
      elseif kind == 2 then
        changed = changed:sub(1, at - 1) .. changed:sub(at + random:integer(200))
      else
        changed = changed:sub(1, at) .. changed:sub(random:integer(#changed)):sub(1, 100) .. changed:sub(at + 1)
      end
    end
    local good, message = pcall(Level.read, changed, "bad.json")
    if good then
      read = read + 1
    else
      failed = failed + 1
      ok(tostring(message):find "^bad%.json: ", message)
    end
  end
  ok(read > 0 and failed > 0)
end)
