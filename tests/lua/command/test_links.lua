-- The pages hold together: each relative link and anchor of README.md, CHANGELOG.md, CONTRIBUTING.md and docs leads
-- somewhere, lines of text have at most 120 characters, and pages at most 400 lines. It needs no MkDocs.

local SOURCE = os.getenv "S2_SOURCE" or "."
local LONGEST_LINE = 120 -- characters; rows of tables and lines with one link are not broken
local LONGEST_PAGE = 400 -- lines

-- Pages that are still longer, and lines of pages that are still longer: at most so many. A number may fall, never rise.
local long_pages = {
  ["docs/complementarity.md"] = 610,
  ["docs/control.md"] = 495,
  ["docs/experiments.md"] = 1190,
  ["docs/gradients.md"] = 852,
  ["docs/lua.md"] = 2427,
  ["docs/solvers.md"] = 603,
  ["docs/stepping-options.md"] = 585,
  ["docs/stepping.md"] = 589,
}
local long_lines = {
  ["README.md"] = 18,
  ["docs/architecture.md"] = 27,
  ["docs/audits.md"] = 31,
  ["docs/batch.md"] = 26,
  ["docs/c-api.md"] = 8,
  ["docs/coming-from/README.md"] = 1,
  ["docs/coming-from/box2d.md"] = 2,
  ["docs/coming-from/gymnasium.md"] = 2,
  ["docs/coming-from/pymunk.md"] = 1,
  ["docs/complementarity.md"] = 13,
  ["docs/contributing.md"] = 13,
  ["docs/control.md"] = 102,
  ["docs/experiments.md"] = 137,
  ["docs/gradients.md"] = 59,
  ["docs/howto/README.md"] = 1,
  ["docs/howto/batch.md"] = 1,
  ["docs/howto/breakable-joint.md"] = 2,
  ["docs/howto/conveyor.md"] = 2,
  ["docs/howto/embed-in-c.md"] = 2,
  ["docs/howto/events-and-callbacks.md"] = 2,
  ["docs/howto/fit-a-log.md"] = 4,
  ["docs/howto/gradient-of-a-loss.md"] = 2,
  ["docs/howto/gripper.md"] = 1,
  ["docs/howto/live-view.md"] = 4,
  ["docs/howto/lqr.md"] = 2,
  ["docs/howto/motor.md"] = 2,
  ["docs/howto/mpc.md"] = 2,
  ["docs/howto/own-joint.md"] = 2,
  ["docs/howto/own-solver.md"] = 1,
  ["docs/howto/own-task.md"] = 2,
  ["docs/howto/platforms.md"] = 2,
  ["docs/howto/plots.md"] = 2,
  ["docs/howto/position-servo.md"] = 2,
  ["docs/howto/record-and-replay.md"] = 4,
  ["docs/howto/reproducible-bits.md"] = 1,
  ["docs/howto/rope-or-chain.md"] = 1,
  ["docs/howto/sensors-and-rays.md"] = 2,
  ["docs/howto/soft-contact.md"] = 1,
  ["docs/howto/step-and-options.md"] = 2,
  ["docs/howto/suspension.md"] = 2,
  ["docs/howto/sweep-on-cores.md"] = 1,
  ["docs/howto/sweep-on-machines.md"] = 4,
  ["docs/howto/swing-up.md"] = 3,
  ["docs/howto/terrain-from-csv.md"] = 1,
  ["docs/howto/trajectory.md"] = 3,
  ["docs/howto/tune-a-pid.md"] = 2,
  ["docs/howto/unsolved-step.md"] = 3,
  ["docs/howto/video-or-gif.md"] = 2,
  ["docs/lua.md"] = 119,
  ["docs/measurements.md"] = 1,
  ["docs/parallel.md"] = 32,
  ["docs/performance.md"] = 28,
  ["docs/python.md"] = 41,
  ["docs/replay-format.md"] = 4,
  ["docs/scenes.md"] = 1,
  ["docs/solvers.md"] = 94,
  ["docs/stepping-options.md"] = 229,
  ["docs/stepping.md"] = 175,
  ["docs/tasks.md"] = 21,
  ["docs/testing.md"] = 30,
  ["docs/tutorial/1_first_world.md"] = 4,
  ["docs/tutorial/2_controller.md"] = 3,
  ["docs/tutorial/3_gradient.md"] = 7,
  ["docs/tutorial/4_sweep.md"] = 5,
  ["docs/tutorial/5_python.md"] = 5,
  ["docs/tutorial/README.md"] = 3,
}

local function quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

local function read_file(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

local function found(command)
  local list = {}
  local lines <close> = assert(io.popen("cd " .. quote(SOURCE) .. " && " .. command))
  for line in lines:lines() do list[#list + 1] = line end
  return list
end

local pages = found "ls *.md; find docs -name '*.md' | sort"

-- Every file and folder of the tree, by its path from the top.
local exists = { [""] = true }
for _, path in ipairs(found "find . -mindepth 1 ! -path './build*' ! -path './.git/*' | cut -c3-") do
  exists[path] = true
end

-- a/b/../c is a/c
local function plain(path)
  local parts = {}
  for part in path:gmatch "[^/]+" do
    if part == ".." then
      if #parts == 0 then return nil end
      parts[#parts] = nil
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  return table.concat(parts, "/")
end

-- Lines outside fenced code, with their numbers.
local function text_lines(text)
  local number, fence = 0, false
  local lines = text:gmatch "([^\n]*)\n?"
  return function()
    for line in lines do
      number = number + 1
      if line:find "^%s*```" then
        fence = not fence
      elseif not fence then
        return number, line
      end
    end
  end
end

-- Anchors of a page, made of its headings as GitHub makes them.
local function anchors(text)
  local list, seen = {}, {}
  for _, line in text_lines(text) do
    local heading = line:match "^#+%s+(.-)%s*$"
    if heading then
      heading = heading:gsub("%[(.-)%]%(.-%)", "%1"):lower():gsub("[^%w%s_\128-\255-]", ""):gsub("%s", "-")
      local count = seen[heading]
      seen[heading] = (count or 0) + 1
      list[count and heading .. "-" .. count or heading] = true
    end
    for name in line:gmatch '<a [^>]*[in][da]m?e?="([^"]+)"' do list[name] = true end
  end
  return list
end

local known = {}
local function anchors_of(path)
  known[path] = known[path] or anchors(read_file(SOURCE .. "/" .. path))
  return known[path]
end

-- Links of a page that lead nowhere.
local function broken(page, text)
  local list = {}
  local folder = page:match "^(.*/)" or ""
  for number, line in text_lines(text) do
    line = line:gsub("`[^`]*`", "")
    for target in line:gmatch "%]%(([^)%s]+)%)" do
      if not target:find "^%a+:" then
        local path, anchor = target:match "^([^#]*)#?(.*)$"
        path = path == "" and page or plain(folder .. path)
        if not (path and exists[path]) then
          list[#list + 1] = ("%s:%d: %s does not exist"):format(page, number, target)
        elseif anchor ~= "" and path:find "%.md$" and not anchors_of(path)[anchor] then
          list[#list + 1] = ("%s:%d: %s: no such heading"):format(page, number, target)
        end
      end
    end
  end
  return list
end

test("each relative link and anchor of the pages leads somewhere", function()
  local list = {}
  for _, page in ipairs(pages) do
    for _, one in ipairs(broken(page, read_file(SOURCE .. "/" .. page))) do list[#list + 1] = one end
  end
  eq(table.concat(list, "\n"), "")
end)

test("a planted link that leads nowhere is found", function()
  local text = "# A heading\n\n[a](nix.md) [b](#a-heading) [c](#nix) [d](../README.md) `[e](nix.md)` [f](https://nix)\n"
  eq(#broken("docs/testing.md", (text:gsub("#a%-heading", "../README.md#sim2d"))), 2)
  eq(anchors(text)["a-heading"], true)
end)

test("lines of text have at most 120 characters", function()
  for _, page in ipairs(pages) do
    local count, first = 0, nil
    for number, line in text_lines(read_file(SOURCE .. "/" .. page)) do
      local words = select(2, line:gsub("%S+", ""))
      if utf8.len(line) > LONGEST_LINE and not line:find "^%s*|" and words > 3 then
        count, first = count + 1, first or number
      end
    end
    local most = long_lines[page] or 0
    ok(count <= most, ("%s: %d lines of text are longer than %d characters (line %s), at most %d"):format(page, count, LONGEST_LINE,
      first, most))
  end
end)

test("pages have at most 400 lines", function()
  for _, page in ipairs(pages) do
    local lines = select(2, read_file(SOURCE .. "/" .. page):gsub("\n", ""))
    local most = long_pages[page] or LONGEST_PAGE
    ok(lines <= most, ("%s: %d lines, at most %d"):format(page, lines, most))
  end
end)

-- Defined there, not only called: its name begins a line, behind its type.
local function defines(text, name)
  for line in ("\n" .. text):gmatch "\n([%a][^\n]*)" do
    if line:find("[%s*]" .. name .. "%(") then return true end
  end
  return false
end

test("each file, function and script of docs/equations.md exists", function()
  local rows, functions = 0, 0
  for line in (read_file(SOURCE .. "/docs/equations.md") .. "\n"):gmatch "([^\n]*)\n" do
    local source
    for name in line:gmatch "`([^`]+)`" do
      if name:find "/" then
        ok(exists[name], name .. " of docs/equations.md does not exist")
        source = name:find "%.c$" and name or source
      elseif line:find "^|" and name:find "_" and source then
        ok(defines(read_file(SOURCE .. "/" .. source), name), ("%s does not define %s"):format(source, name))
        functions = functions + 1
      end
    end
    rows = rows + (line:find "^| .*`" and 1 or 0)
  end
  ok(rows > 40 and functions > 25, rows .. " rows, " .. functions .. " functions")
  eq(defines("  s2_called(1);\nint s2_defined(void) {\n", "s2_called"), false)
end)
