-- sim2d tools/gallery.lua FOLDER: runs every scene and script, each in a process of its own, and
-- writes their pictures and a page into FOLDER. tools/gallery builds and calls it.
local sim = require "sim2d"

local WIDTH = 480 -- pixels: three in a row of a page, sharp on fine screens
local LARGEST = 40 * 1024 -- bytes of a picture

-- What is shown of each: options of world:record. `world`: which of those it makes, the first unless
-- said otherwise; `trails`: names of bodies. Of scripts that are not here, what their --out writes; of
-- false ones nothing.
local chosen = {
  arch = {},
  atwood = {},
  bead_on_wire = { strobe = 0.125, to = 1, trails = { "bead" }, view = { { -1.4, -0.2 }, { 1.4, 0.75 } } },
  bouncing_balls = { strobe = 0.06, to = 1.2, contacts = false, names = true },
  breaking_joint = { strobe = { 0, 2, 4, 4.55 }, contacts = false },
  cantilever = {},
  car = { strobe = 0.8, from = 0.8, to = 4.8, trails = { "car" }, contacts = false },
  cart_pole = { strobe = 0.2, to = 1.4, contacts = false },
  catapult = { strobe = 0.06, to = 1.2, trails = { "shot" }, contacts = false },
  chain_hit = { strobe = { 0, 0.3, 0.6, 0.9 } },
  compliant_chain = {},
  crane = { strobe = { 0, 2.1, 4.2, 6, 8, 10.2 }, to = 10.2, trails = { "load" } },
  curling = { world = "last", strobe = 0.6, trails = true },
  disc_pile = { contacts = false },
  dominoes = { to = 1.6, contacts = false },
  four_bar = { strobe = 0.3, to = 0.9, trails = true },
  galton = { to = 7, contacts = false, view = { { -3.6, -0.4 }, { 3.6, 7 } } },
  gear_train = {},
  hopper = { to = 1.9, view = { { -1.7, -1.4 }, { 1.7, 3 } } },
  incline = {},
  jansen_leg = { strobe = { 2.4, 2.7, 3 }, trails = { "lower" } },
  lidar_robot = { strobe = 2.5, trails = { "robot" } },
  lidar = { to = 3, trails = true, view = { { -1, -2.5 }, { 13.6, 2.5 } } },
  newtons_cradle = { strobe = 0.15, contacts = false },
  parallel_gripper = { to = 1 },
  pendulum = { strobe = 0.1, to = 1, trails = true },
  pyramid = { contacts = false },
  ragdoll = { strobe = { 0.3, 0.6, 0.9, 1.5, 6 }, contacts = false },
  rope_bridge = { strobe = { 0, 1, 2, 10 }, joints = false },
  skate = { strobe = 0.5, trails = true },
  sliding_block = { strobe = 0.2 },
  sorter = { to = 8.35, contacts = false, view = { { 0, -2.2 }, { 8, 1 } } },
  stack = {},
  torsion_spring = { strobe = 0.1, to = 1, trails = true },
  trampoline = { strobe = { 0, 0.25, 0.45 }, contacts = false, joints = false },
  ["compliant/programs"] = { world = "last", view = { { -4, -0.3 }, { 4.5, 6.2 } } },
  ["contact_card/card"] = false, -- its table opens the README
  ["contact_implicit/bounce"] = false, -- these have no pictures
  ["contact_implicit/shared"] = false,
  ["contact_implicit/throw"] = false,
  ["contact_implicit/two_balls"] = false,
  ["gradients/bucket"] = { world = "last", strobe = 0.1, trails = true, contacts = false },
  ["gradients/chain_mass"] = { world = "last", strobe = 0.2 },
  ["gradients/controller"] = { world = "last", strobe = 0.1, trails = true },
  ["gradients/dt_refinement"] = { world = "last", strobe = 0.1, trails = true, contacts = false },
  ["gradients/friction"] = { world = "last", strobe = 0.1, contacts = false },
  ["gradients/ramp"] = { world = "last", strobe = 0.1, trails = true, contacts = false },
  ["live/balance"] = {},
  ["live/tune"] = {},
  ["real_cube/fit_slides"] = false, -- draws nothing
  ["real_cube/square"] = false, -- modules of those beside them
  ["real_cube/tosses"] = false,
}

-- ---- One of them, in a process of its own ---------------------------------------------------------

local function named_bodies(world, names)
  local list = {}
  for _, name in ipairs(names) do
    local count = #list
    for _, body in ipairs(world.bodies) do
      if body.name == name then list[#list + 1] = body end
    end
    assert(#list > count, "no body is called " .. name)
  end
  return list
end

-- Records from the first step on: then everything is there.
local function record_at_start(world, stem, options)
  local hook
  hook = world:before_step(function()
    hook:remove()
    local given = { width = WIDTH }
    for key, value in pairs(options) do
      if key ~= "world" then given[key] = value end
    end
    if type(given.trails) == "table" then given.trails = named_bodies(world, given.trails) end
    for _, suffix in ipairs { ".svg", ".png" } do assert(world:record(stem .. suffix, given)) end
  end)
end

-- Runs the script; returns how many worlds it made.
local function run(script, stem, options, wanted)
  local make, count = sim.world, 0
  sim.world = function(settings)
    local world = make(settings)
    count = count + 1
    if count == wanted then record_at_start(world, stem, options) end
    return world
  end
  arg = { [0] = script }
  print = function() end
  io.write = function() return io.stdout end
  dofile(script)
  return count
end

-- ---- All of them ----------------------------------------------------------------------------------

local function quoted(word) return "'" .. word:gsub("'", "'\\''") .. "'" end

local function command(...)
  local words = {}
  for i, word in ipairs { ... } do words[i] = quoted(word) end
  return table.concat(words, " ")
end

local function execute(...)
  local line = command(...)
  assert(os.execute(line .. " >/dev/null"), "failed: " .. line)
end

local function list(pattern)
  local names = {}
  local pipe <close> = assert(io.popen("ls " .. pattern))
  for name in pipe:lines() do names[#names + 1] = name end
  table.sort(names, function(a, b) return a:match "[^/]*$" < b:match "[^/]*$" end) -- scenes by name, not by folder
  assert(#names > 0, "nothing found: " .. pattern)
  return names
end

-- The first sentence of the comment a script begins with.
local function sentence(script)
  local words = {}
  for line in io.lines(script) do
    local text = line:match "^%-%-%s*(.*)"
    if not text then break end
    words[#words + 1] = text
  end
  local text = table.concat(words, " ")
  text = text:match "^(.-%.)%f[%s\0]" or text
  return (text:gsub("|", "\\|")) -- which ends a cell of a table
end

-- Of the two files the smaller stays; its name is returned.
local function smaller(stem)
  local svg, png = io.open(stem .. ".svg", "rb"), io.open(stem .. ".png", "rb")
  local svg_size = svg and svg:seek "end" or math.huge
  local png_size = png and png:seek "end" or math.huge
  if svg then svg:close() end
  if png then png:close() end
  local kept, other = ".svg", ".png"
  if png_size < svg_size then kept, other = other, kept end
  os.remove(stem .. other)
  assert(svg_size < math.huge or png_size < math.huge, stem .. ": no picture was drawn")
  assert(math.min(svg_size, png_size) <= LARGEST,
    ("%s%s has %d bytes, more than %d"):format(stem, kept, math.min(svg_size, png_size), LARGEST))
  return stem:match "[^/]*$" .. kept
end

local function picture(sim2d, script, name, folder)
  local options, stem = chosen[name], folder .. "/" .. name:gsub("/", "_")
  if not options then
    execute(sim2d, script, "--out", stem .. ".svg")
  else
    local world = options.world or 1
    if world == "last" then
      local pipe <close> = assert(io.popen(command(sim2d, "tools/gallery.lua", "--count", script)))
      world = assert(pipe:read "n", "no worlds were counted: " .. script)
    end
    execute(sim2d, "tools/gallery.lua", "--draw", script, stem, name, tostring(world))
  end
  return smaller(stem)
end

local COLUMNS = 3

local function grid(out, items)
  for first = 1, #items, COLUMNS do
    local pictures, titles, rule = {}, {}, {}
    for i = first, first + COLUMNS - 1 do
      local item = items[i]
      pictures[#pictures + 1] = item and ("[![%s](%s)](../../%s)"):format(item.title, item.file, item.script) or " "
      titles[#titles + 1] = item and ("**%s**<br>%s"):format(item.title, item.text) or " "
      rule[#rule + 1] = "---"
    end
    out[#out + 1] = "| " .. table.concat(pictures, " | ") .. " |"
    out[#out + 1] = "| " .. table.concat(rule, " | ") .. " |"
    out[#out + 1] = "| " .. table.concat(titles, " | ") .. " |"
    out[#out + 1] = ""
  end
end

local function page(folder, items)
  local out = { "# Gallery", "",
    "`tools/gallery` draws every scene and script. Earlier moments of a run are paler, and thin lines trace",
    "the centres of bodies.", "" }
  for _, group in ipairs(items) do
    table.move({ "## " .. group.title, "", group.text, "" }, 1, 4, #out + 1, out)
    grid(out, group)
  end
  local file <close> = assert(io.open(folder .. "/README.md", "wb"))
  file:write(table.concat(out, "\n"))
end

-- Called by itself: --count SCRIPT, or --draw SCRIPT STEM NAME WORLD.
local what, script, stem, name, wanted = ...
if what == "--count" then
  local write = io.write
  write(run(script))
  return
elseif what == "--draw" then
  run(script, stem, chosen[name] or {}, tonumber(wanted))
  return
end
local folder = what

assert(os.execute(command("mkdir", "-p", folder)))
-- These have tables of figures instead, in docs/control-lessons.md, docs/batch.md and docs/parallel.md.
local TABLES = { ["scripts/control"] = true, ["scripts/batch"] = true, ["scripts/parallel"] = true }
local EXPERIMENTS = "These scripts are described in [experiments](../experiments.md)."
local groups, count = {
  { "scenes/*/*.lua", title = "Scenes", text = "`tools/run scenes/FOLDER/NAME.lua` runs one of them. Tasks are in [their own table](../tasks.md#list-of-tasks)." },
  { "scripts/lcp_notes/*.lua", title = "The notes on learning contact", text = EXPERIMENTS },
  { "scripts/learning/*.lua", title = "Remarks of the notes", text = EXPERIMENTS },
  { "scripts/physics_paper/*.lua", title = "The paper on differentiable physics", text = EXPERIMENTS },
  { "scripts/contact/*.lua", "scripts/contact_card/*.lua", title = "Contact", text = EXPERIMENTS },
  { "scripts/compliant/*.lua", title = "Compliance", text = EXPERIMENTS },
  { "scripts/dojo/*.lua", title = "The interior point", text = EXPERIMENTS },
  { "scripts/poster/*.lua", title = "The poster", text = EXPERIMENTS },
  { "scripts/real_cube/*.lua", title = "A real cube", text = EXPERIMENTS },
  { "scripts/gradients/*.lua", title = "Gradients", text = "These scripts are described in [gradients](../gradients.md)." },
  { "scripts/contact_implicit/*.lua", title = "Planning through contact", text = "These scripts are described in [control](../control-plans.md#planning-through-contact)." },
  { "scripts/live/*.lua", "scripts/plots/*.lua", title = "Plots and live views", text = "See [plots](../reference/plots.md) and the [live viewer](../reference/viewer.md)." },
}, 0
local shown = {}
for g, group in ipairs(groups) do
  local items = { title = group.title, text = group.text }
  for _, pattern in ipairs(group) do
    for _, file in ipairs(list(pattern)) do
      local short = file:match "^scenes/.*/(.*)%.lua$" or file:match "^scripts/(.*)%.lua$"
      if chosen[short] ~= false and not file:find "^scenes/tasks/" then
        items[#items + 1] = { script = file, title = short:match("[^/]*$"):gsub("_", " "), text = sentence(file),
          file = picture(arg[-1], file, short, folder) }
      end
      shown[file] = true
    end
  end
  groups[g], count = items, count + #items
end
for _, pattern in ipairs { "scenes/*/*.lua", "scripts/*/*.lua" } do
  for _, file in ipairs(list(pattern)) do
    assert(shown[file] or TABLES[file:match "^[^/]*/[^/]*"], file .. " is in no group of the gallery")
  end
end
page(folder, groups)
print(("%d pictures and %s/README.md"):format(count, folder))
