-- The contact card: scenes with a known outcome, for which results of other engines have been published. Other engines
-- can run the same scenes. --python PYTHON runs the engines of peers.py, and --box2d PROGRAM runs Box2D (box2d.c).
-- tools/contact-card installs and builds them.
local sim = require "sim2d"
local options = sim.options {
  python = { "", "a Python with mujoco, pymunk or genesis-world: they run the same scenes" },
  box2d = { "", "the program of box2d.c: Box2D runs the same scenes" },
}

local G, DT = 9.81, 1 / 120
local BAR = 1e-9 -- largest creep, lift and sinking, in m or m/s
local TURN = 4 -- duration of one rotation of gravity, s

local function seconds(world, time) world:run { steps = math.floor(time / world.dt + 0.5) } end

-- Returns the mean downward speed from 1 s to 3 s.
local function creep(world, body)
  seconds(world, 1)
  local before = body.y
  seconds(world, 2)
  return math.abs(body.y - before) / 2
end

-- A fixed pad and a moving pad, pushed with `force`, grip a body. The moving pad can only move towards the fixed pad.
-- Both pads are `scale` times 2 by 10 cm.
local function pads(width, mu, force, scale)
  local world = sim.world { dt = DT, gravity = { 0, -G } }
  local size = { 0.02 * scale, 0.1 * scale }
  local x = (width + size[1]) / 2
  local frame = world:box { type = "static", position = { -x, 0 }, size = size, friction = mu }
  local pad = world:box { position = { x, 0 }, size = size, mass = 0.1, friction = mu }
  world:slider { frame, pad, anchor = { x, 0 }, axis = { 1, 0 } }
  pad:force_law(function() return 0, -force, 0 end)
  return world
end

local scenes = {}

local function pinch(radius)
  local world = pads(2 * radius, 0.7, 30, radius / 0.004)
  return creep(world, world:circle { radius = radius, mass = 0.045, friction = 0.7 })
end

function scenes.pinch() return pinch(0.004) end

-- The same grip with the sizes for which Box2D is tuned.
function scenes.large() return pinch(0.1) end

-- If friction carries less than the weight, the body slips in this grip with the acceleration g - 2 mu F/m. With steps
-- of second order, its motion follows the exact parabola.
local function check_slip()
  local world = pads(0.008, 0.7, 0.3, 1)
  local disc = world:circle { radius = 0.004, mass = 0.045, friction = 0.7 }
  local n = 30
  world:run { steps = n }
  local fallen = (G - 2 * 0.7 * 0.3 / 0.045) * (n * DT) ^ 2 / 2
  assert(math.abs(disc.y + fallen) < BAR, ("fell %g m of %g m"):format(-disc.y, fallen))
end

function scenes.wall()
  local world = sim.world { dt = DT, gravity = { 0, -G } }
  world:box { type = "static", position = { -0.5, 0 }, size = { 1, 10 }, friction = 1 }
  local cube = world:box { position = { 0.05, 0 }, size = { 0.1, 0.1 }, mass = 1, friction = 1 }
  cube:force_law(function() return 0, -20, 0 end)
  return creep(world, cube)
end

function scenes.turn()
  local world = pads(0.02, 1, 10, 1)
  local bar = world:box { size = { 0.02, 0.06 }, mass = 0.063, friction = 1 }
  seconds(world, 0.5)
  local before, farthest = bar.y, 0
  for i = 1, math.floor(TURN / DT + 0.5) do
    local angle = 2 * math.pi * i * DT / TURN
    world.gravity = { G * math.sin(angle), -G * math.cos(angle) }
    world:step()
    farthest = math.max(farthest, math.abs(bar.y - before))
  end
  return farthest
end

local function on_ground(mu, kind)
  local world = sim.world { dt = DT, gravity = { 0, -G } }
  world:box { type = kind or "static", position = { 0, -0.5 }, size = { 40, 1 }, friction = mu }
  return world
end

function scenes.slide()
  local world = on_ground(0.5)
  local cube = world:box { position = { 0, 0.05 }, size = { 0.1, 0.1 }, mass = 1, friction = 0.5 }
  seconds(world, 1)
  local before, highest = cube.y, 0
  cube.velocity = { 6, 0 }
  for _ = 1, math.floor(2 / DT + 0.5) do
    world:step()
    highest = math.max(highest, cube.y - before)
  end
  local stop = 6 ^ 2 / (2 * 0.5 * G)
  assert(math.abs(cube.x - stop) < 1e-4, ("slid %.9f m of %.9f m"):format(cube.x, stop))
  return highest
end

function scenes.heavy()
  local world, top = on_ground(0.6), nil
  for i = 1, 10 do
    top = world:box { position = { 0, i - 0.5 }, size = { 1, 1 }, mass = i == 10 and 1000 or 1, friction = 0.6 }
  end
  seconds(world, 5)
  return math.abs(9.5 - top.y)
end

-- Two links start from rest at the level of their hinges, where the energy is 0. Returns the largest error within 10 s,
-- relative to the energy that both links release on their way to the bottom.
function scenes.pendulum()
  local world = sim.world { dt = DT, gravity = { 0, -G } }
  local pin = world:box { type = "static", size = { 0.1, 0.1 } }
  local a = world:box { position = { 0.5, 0 }, size = { 1, 0.1 }, mass = 1, mask = 0 }
  local b = world:box { position = { 1.5, 0 }, size = { 1, 0.1 }, mass = 1, mask = 0 }
  world:hinge { pin, a, anchor = { 0, 0 } }
  world:hinge { a, b, anchor = { 1, 0 } }
  local worst = 0
  for _ = 1, 100 do
    seconds(world, 0.1)
    local energy = G * (a.y + b.y)
    for _, link in ipairs { a, b } do
      energy = energy + (link.vx ^ 2 + link.vy ^ 2) / 2 + link.inertia * link.omega ^ 2 / 2
    end
    worst = math.max(worst, math.abs(energy))
  end
  return worst / (2 * G)
end

local function time_of_rest(kind)
  local world = on_ground(0.5, kind)
  world:box { position = { 0, 0.05 }, size = { 0.1, 0.1 }, mass = 1, friction = 0.5 }
  seconds(world, 2)
  local best = math.huge
  for _ = 1, 5 do
    local start = sim.clock()
    world:run { steps = 1000 }
    best = math.min(best, (sim.clock() - start) * 1000)
  end
  return best
end

-- Islands on a kinematic body are never skipped at rest, so each step is solved, as in the other engines.
function scenes.rest() return time_of_rest "kinematic" end

function scenes.kept() return time_of_rest "static" end

local GITHUB = "https://github.com/"
-- Each entry has the name of the scene, the heading of its column, a description, and the bar for sim2d (nil: printed
-- only). It also has published figures of other engines with their address, and the format and scale of the numbers.
local columns = {
  { "pinch", "small grip: creep, m/s", "a disc of 4 mm radius and 45 g between two pads, pushed with 30 N, mu 0.7", BAR,
    "MuJoCo 5.0e-05 to 1.6e-04", "google-deepmind/mujoco/issues/3328" },
  { "large", "large grip: creep, m/s", "the same grip with all lengths 25 times as large: a radius of 10 cm", BAR },
  { "wall", "wall: creep, m/s", "a cube of 10 cm and 1 kg, pressed against a wall with 20 N, mu 1", BAR,
    "Genesis 4.5e-03", "Genesis-Embodied-AI/genesis-world/pull/2872" },
  { "turn", "turn: slip, m", "a bar of 2 by 6 cm and 63 g, held with 10 N, mu 1; gravity turns once in 4 s", BAR,
    "MuJoCo: dropped after 90 degrees", "innate-inc/innate-os/pull/730" },
  { "slide", "slide: lift, m", "a cube of 10 cm slides at 6 m/s, mu 0.5", BAR, "Genesis 3.2e-01",
    "Genesis-Embodied-AI/genesis-world/pull/3126" },
  { "heavy", "tower: sinking, m", "nine boxes of 1 m and 1 kg under a box of 1000 kg, 5 s, mu 0.6", BAR },
  { "pendulum", "pendulum: energy error, %", "two links of 1 m, released level with their hinges, 10 s",
    form = "%.2g", scale = 100 },
  { "rest", "rest, solved: us a step", "a cube of 10 cm on the ground; every step is solved",
    published = "Siconos: 100,000 iterations a step", link = "siconos/siconos/issues/214", form = "%.1f" },
  { "kept", "rest, kept: us a step", "the same cube; sim2d keeps its island, Box2D lets it sleep", form = "%.1f" },
}

local function quote(word) return "'" .. word:gsub("'", "'\\''") .. "'" end

-- Runs a command that prints lines "engine<TAB>scene<TAB>number". Other lines are printed unchanged.
local function measure(command, engines, found)
  local pipe = assert(io.popen(command))
  for line in pipe:lines() do
    local engine, scene, number = line:match "^([^\t]+)\t([^\t]+)\t(.+)$"
    if not engine then
      print(line)
    else
      if not found[engine] then engines[#engines + 1], found[engine] = engine, {} end
      found[engine][scene] = number
    end
  end
  if not pipe:close() then print("# this command failed: " .. command) end
end

local function measure_peers()
  local engines, found = {}, {}
  local folder = arg[0]:match "^(.*)/" or "."
  if options.box2d ~= "" then measure(quote(options.box2d), engines, found) end
  if options.python ~= "" then
    measure(quote(options.python) .. " " .. quote(folder .. "/peers.py"), engines, found)
  end
  return engines, found
end

local function print_row(cells) print("| " .. table.concat(cells, " | ") .. " |") end

local function print_head(cells)
  print_row(cells)
  print("|" .. (" --- |"):rep(#cells))
end

local function each(get)
  local cells = {}
  for i, column in ipairs(columns) do cells[i] = get(column) end
  return cells
end

local function print_engine(engine, numbers)
  local cells = each(function(column)
    local number = tonumber(numbers[column[1]])
    return number and (column.form or "%.1e"):format(number * (column.scale or 1)) or "-"
  end)
  print_row { engine, table.unpack(cells) }
end

check_slip()
local engines, found = measure_peers()
local ours, wrong = {}, {}
for _, column in ipairs(columns) do
  local name, bar = column[1], column[4]
  ours[name] = scenes[name]()
  if bar and not (ours[name] <= bar) then wrong[#wrong + 1] = ("%s: %g, at most %g"):format(name, ours[name], bar) end
end

print_head { "engine", table.unpack(each(function(column) return column[2] end)) }
print_engine("sim2d, 1/120 s", ours)
for _, engine in ipairs(engines) do print_engine(engine, found[engine]) end
print()
print_head { "scene", "what it is", "published elsewhere" }
for _, column in ipairs(columns) do
  local published, link = column[5] or column.published, column[6] or column.link
  print_row { column[2]:match "^(.-):", column[3], published and ("[%s](%s%s)"):format(published, GITHUB, link) or "" }
end
assert(#wrong == 0, table.concat(wrong, "; "))
