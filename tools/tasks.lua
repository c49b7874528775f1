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
  acrobot = { seed = 0, to = 5 },
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
  local options = { width = WIDTH, contacts = false, to = how.to }
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

-- In a job: what the baseline does, and what there is to see and to do.
local function evaluate(name, _, common)
  local env = dofile(common.folder .. name .. ".lua")
  local mean, returns, steps, told = env:evaluate { episodes = common.episodes }
  -- Solved is what reaches the return that a task names, or else what ends before its time.
  local solved = 0
  for k, value in ipairs(returns) do
    local good = told.terminated[k]
    if env.passed then good = value >= env.passed end
    solved = solved + (good and 1 or 0)
  end
  return { mean = mean, worst = math.min(table.unpack(returns)), best = math.max(table.unpack(returns)), steps = steps, solved = solved,
    residual = told.residual, unsolved = told.unsolved, observed = #env.observation_space.low, about = env.about_baseline,
    actions = env.action_space.n and env.action_space.n .. " actions" or #env.action_space.low .. (#env.action_space.low > 1 and " commands" or " command") }
end

local function row(name, told)
  local picture = size_of(IMAGES .. name .. ".svg") < math.huge and name .. ".svg" or name .. ".png"
  return "| " .. table.concat({ ('<img src="images/tasks/%s" width="160" alt="%s">'):format(picture, (name:gsub("_", " "))),
    ("[`%s`](../%s%s.lua)<br>%s"):format(name, FOLDER, name, sentence(name)), ("%d observed, %s"):format(told.observed, told.actions),
    told.about or "", ("%s (%s to %s)"):format(number(told.mean), number(told.worst), number(told.best)), ("%.0f"):format(told.steps),
    ("%d of %d"):format(told.solved, EPISODES), ("%.0e, %d"):format(told.residual, told.unsolved) }, " | ") .. " |"
end

local function write_table(names)
  local all = sim.parallel.map(evaluate, names, { common = { folder = FOLDER, episodes = EPISODES } })
  local lines = { "| | task | observed, actions | baseline | return (worst to best) | steps | solved | worst residual, unsolved steps |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |" }
  for i, name in ipairs(names) do lines[#lines + 1] = row(name, all[i]) end
  -- Between the marks.
  local file <close> = assert(io.open(PAGE, "rb"))
  local text = file:read "a"
  local _, before = assert(text:find(FROM, 1, true), PAGE .. ": the first mark is missing")
  local after = assert(text:find(TO, before, true), PAGE .. ": the second mark is missing")
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
