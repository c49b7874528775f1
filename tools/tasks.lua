-- sim2d tools/tasks.lua [--pictures] [--table] [NAME ...]: draws the tasks in scenes/tasks (or those named) into docs/images/tasks,
-- and evaluates their baselines for the table in docs/tasks.md, between its two marks. Without an option both.
-- tools/gallery --tasks builds and calls it.
local sim = require "sim2d"

local FOLDER, IMAGES, PAGE = "scenes/tasks/", "docs/images/tasks/", "docs/tasks.md"
local FROM, TO = "<!-- tools/tasks.lua writes what follows -->\n", "<!-- to here -->"
local EPISODES = 20
local WIDTH = 320         -- px of a picture; a row shows half of that
local LARGEST = 24 * 1024 -- bytes of one

-- What is shown of each: an episode of the baseline with this seed until `to` (s), and options of world:record; `trails`: names.
local chosen = {
  acrobot = { seed = 0, strobe = 0.2, from = 12.4, trails = { "lower" } },
  ball_in_cup = { seed = 1, to = 3.6, strobe = 0.15, from = 2.2, joints = false, trails = { "ball" }, view = { { -0.42, -0.4 }, { 0.42, 0.3 } } },
  block_stacking = { seed = 0, to = 9.2, trails = { "green", "blue" } },
  cart_pole = { seed = 7, to = 1.4, strobe = 0.7, view = { { -0.9, -0.3 }, { 0.9, 1.2 } } },
  double_cart_pole = { seed = 5, to = 1, strobe = 0.5, view = { { -1.6, -0.4 }, { 1.6, 2.3 } } },
  finger_spin = { seed = 1, to = 2, strobe = 0.06, from = 1.8 },
  gripper = { seed = 0, to = 4, trails = { "box" } },
  hopper = { seed = 0, to = 1.84, strobe = 0.23, trails = { "body" }, view = { { -0.5, -0.3 }, { 3.2, 1.7 } } },
  lunar_lander = { seed = 2, strobe = 1.2, trails = { "craft" } },
  peg_insertion = { seed = 0, to = 1.5, trails = { "peg" } },
  pendulum = { seed = 0, to = 3, strobe = 0.15 },
  push_t = { seed = 1, strobe = 2, joints = false, trails = { "disc" } },
  pusher = { seed = 4, to = 1.7, strobe = 0.34, joints = false, trails = { "hand", "puck" } },
  reacher = { seed = 0, to = 0.36, strobe = 0.09 },
  walker = { seed = 0, to = 2.5, strobe = 0.5, trails = { "trunk" }, view = { { -0.5, -0.2 }, { 4, 1.7 } } },
}

-- ---- Pictures -------------------------------------------------------------------------------------

local function size_of(path)
  local file <close> = io.open(path, "rb")
  return file and file:seek "end" or math.huge
end

-- Of the two files the smaller one stays.
local function keep_smaller(stem)
  local svg, png = size_of(stem .. ".svg"), size_of(stem .. ".png")
  os.remove(stem .. (svg <= png and ".png" or ".svg"))
  assert(math.min(svg, png) <= LARGEST, ("%s: %d bytes, more than %d"):format(stem, math.min(svg, png), LARGEST))
end

local function draw(name)
  local env, how = dofile(FOLDER .. name .. ".lua"), chosen[name] or {}
  local seen = env:reset { seed = how.seed or 0 }
  local world, law = env.world, env.baseline(env)
  -- Both formats of the same run.
  local options = { width = WIDTH, contacts = false, view = env.view }
  for key, value in pairs(how) do
    if key ~= "seed" then options[key] = value end
  end
  if options.trails then
    local bodies = {}
    for i, body in ipairs(options.trails) do bodies[i] = world.bodies[body] end
    options.trails = bodies
  end
  local recordings = {}
  for i, suffix in ipairs { ".svg", ".png" } do recordings[i] = assert(world:record(IMAGES .. name .. suffix, options)) end
  local over, cut, _
  repeat
    seen, _, over, cut = env:step(law(world, world.time, seen))
  until over or cut or world.time >= (how.to or math.huge)
  for _, recording in ipairs(recordings) do assert(recording:close()) end
  keep_smaller(IMAGES .. name)
end

-- ---- The table ------------------------------------------------------------------------------------

-- The first sentence of the comment a task begins with, without the name before its colon.
local function sentence(name)
  local words = {}
  for line in io.lines(FOLDER .. name .. ".lua") do
    local text = line:match "^%-%-%s*(.*)"
    if not text or text == "" then break end
    words[#words + 1] = text
  end
  local text = table.concat(words, " "):gsub("^[^:]*: ", "", 1):gsub("|", "\\|")
  text = text:match "^(.-%.)%f[%s\0]" or text
  return text:sub(1, 1):upper() .. text:sub(2)
end

local function number(value) return (math.abs(value) < 99.95 and "%.1f" or "%.0f"):format(value):gsub("^%-", "−") .. "" end

-- A row of the table, from the row of the baseline in sim.control.benchmark.
local function row(known)
  local name, env = known.task, dofile(FOLDER .. known.task .. ".lua")
  local picture = size_of(IMAGES .. name .. ".svg") < math.huge and name .. ".svg" or name .. ".png"
  local count = env.action_space.n or #env.action_space.names
  local actions = env.action_space.n and count .. " actions" or count .. (count > 1 and " commands" or " command")
  return "| " .. table.concat({ ('<img src="images/tasks/%s" width="160" alt="%s">'):format(picture, (name:gsub("_", " "))),
    ("[`%s`](../%s%s.lua)<br>%s"):format(name, FOLDER, name, sentence(name)), ("%d observed, %s"):format(#env.observation_space.low, actions),
    env.about_baseline or "", ("%s (%s to %s)"):format(number(known.mean), number(math.min(table.unpack(known.returns))),
    number(math.max(table.unpack(known.returns)))), ("%.0f"):format(known.steps), ("%.0f of %d"):format(known.success * EPISODES, EPISODES),
    ("%.0e, %d"):format(known.residual, known.unsolved) }, " | ") .. " |"
end

local function write_table(names)
  local rows = sim.control.benchmark { tasks = names, methods = { "baseline" }, seeds = EPISODES, folder = FOLDER:sub(1, -2), print = false }
  local lines = { "| | task | observed, actions | baseline | return (worst to best) | steps | solved | worst residual, unsolved steps |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |" }
  for _, known in ipairs(rows) do
    assert(known.success, known.task .. ": " .. known.message)
    lines[#lines + 1] = row(known)
  end
  -- Between the marks.
  local file <close> = assert(io.open(PAGE, "rb"))
  local text = file:read "a"
  local _, before = text:find(FROM, 1, true)
  local after = text:find(TO, before, true)
  assert(before and after, PAGE .. ": the marks are missing")
  local out <close> = assert(io.open(PAGE, "wb"))
  out:write(text:sub(1, before), "\n", table.concat(lines, "\n"), "\n\n", text:sub(after))
end

-- ---- What is asked --------------------------------------------------------------------------------

local function all_names()
  local names = {}
  local pipe <close> = assert(io.popen("ls " .. FOLDER .. "*.lua"))
  for file in pipe:lines() do names[#names + 1] = file:match "([^/]*)%.lua$" end
  table.sort(names)
  return names
end

local wanted, names = {}, {}
for _, word in ipairs(arg) do
  if word == "--pictures" or word == "--table" then wanted[word] = true else names[#names + 1] = word end
end
local both = next(wanted) == nil
local all = #names == 0
if all then names = all_names() end
assert(all or not wanted["--table"], "the table is of all tasks: name none")
if both or wanted["--pictures"] then
  assert(os.execute("mkdir -p " .. IMAGES))
  for _, name in ipairs(names) do draw(name) end
  print(("%d pictures in %s"):format(#names, IMAGES))
end
if all and (both or wanted["--table"]) then
  write_table(names)
  print(("%d rows in %s"):format(#names, PAGE))
end
