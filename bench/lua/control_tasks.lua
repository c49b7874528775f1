-- All tasks in scenes/tasks with all laws and planners (sim.control.benchmark):
--
--   sim2d bench/lua/control_tasks.lua --quick --write
--
-- `--tasks cart_pole,hopper` and `--methods baseline,ilqr` select rows; `--out page.html` writes a page. `--quick`
-- plans with short horizons and few samples, which takes some minutes. `--write` replaces the tables in
-- docs/measurements/control.md, between the two marks.
local sim = require "sim2d"
local command = { "    build/sim2d bench/lua/control_tasks.lua", table.unpack(arg) } -- sim.options takes its words away
local args = sim.options { tasks = { "", "names or files, separated by commas (default: all)" },
  methods = { "", "names, separated by commas (default: all)" }, seeds = { 0, "episodes of each row (default: 5, or 2 with --quick)" },
  seconds = { 0, "time limit of an episode (default: 60, or 6 with --quick)" }, threads = { 0, "threads (default: all)" },
  quick = { false, "short horizons and few samples" }, out = { "", "a page, .html" },
  write = { false, "write the tables to docs/measurements/control.md" } }

local PAGE = "docs/measurements/control.md"
local FROM, TO = "<!-- bench/lua/control_tasks.lua writes what follows -->\n", "<!-- to here -->"
local QUICK = { horizon = 0.5, samples = 10 }
local LINE = 120 -- characters in a line of text

local function words(text)
  local list = {}
  for word in text:gmatch "[^,]+" do list[#list + 1] = word end
  return #list > 0 and list or nil
end

local function count(value, quick, full)
  if value > 0 then return value end
  return args.quick and quick or full
end

local seeds, seconds = count(args.seeds, 2, 5), count(args.seconds, 6, 60)
local threads = args.threads > 0 and math.tointeger(args.threads) or sim.parallel.threads()
local began = sim.clock()
local rows = sim.control.benchmark { tasks = words(args.tasks), methods = words(args.methods), seeds = seeds, seconds = seconds,
  threads = threads, planner = args.quick and QUICK or nil, out = args.out ~= "" and args.out or nil }
local took = sim.clock() - began
if not args.write then return end

-- ---- The tables of the page -------------------------------------------------------------------

local tasks, methods, at = {}, {}, {}
for _, row in ipairs(rows) do
  if not at[row.task] then tasks[#tasks + 1], at[row.task] = row.task, {} end
  if row.task == rows[1].task then methods[#methods + 1] = row.method end
  at[row.task][row.method] = row
end

local function matrix(text)
  local lines, names = {}, {}
  for i, method in ipairs(methods) do names[i] = ("`%s`"):format(method) end
  lines[1] = ("| task | %s |"):format(table.concat(names, " | "))
  lines[2] = "|" .. (" --- |"):rep(#methods + 1)
  for _, task in ipairs(tasks) do
    local cells = {}
    for i, method in ipairs(methods) do cells[i] = text(at[task][method]) end
    lines[#lines + 1] = ("| `%s` | %s |"):format(task, table.concat(cells, " | "))
  end
  return table.concat(lines, "\n")
end

local function number(value)
  return ((math.abs(value) < 99.95 and "%.3g" or "%.0f"):format(value):gsub("^%-", "−"))
end

local function returned(row)
  if not row.success then return "–" end
  local solved = ("%.0f of %d"):format(row.success * row.seeds, row.seeds)
  return row.mean and ("%s, %s"):format(solved, number(row.mean)) or ("%s, limit at %.1f s"):format(solved, row.world_seconds / row.seeds)
end

local function replans(row) return row.replans and number(row.replans) or "–" end

-- Methods that do not apply to a task, with one line for each reason.
local function reasons()
  local lines, names = {}, {}
  for _, task in ipairs(tasks) do
    local order = {}
    for _, method in ipairs(methods) do
      local row = at[task][method]
      if not row.success then
        local text = row.message:gsub("%s+", " ")
        if not names[task .. text] then
          names[task .. text] = {}
          order[#order + 1] = text
        end
        table.insert(names[task .. text], ("`%s`"):format(method))
      end
    end
    for _, text in ipairs(order) do
      lines[#lines + 1] = ("| `%s` | %s | %s |"):format(task, table.concat(names[task .. text], ", "), (text:gsub("|", "\\|")))
    end
  end
  return "| task | methods | reason |\n| --- | --- | --- |\n" .. table.concat(lines, "\n")
end

local function wrap(text)
  local lines, line = {}, ""
  for word in text:gmatch "%S+" do
    if line ~= "" and utf8.len(line) + 1 + utf8.len(word) > LINE then lines[#lines + 1], line = line, "" end
    line = line == "" and word or line .. " " .. word
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

local function processor()
  for line in io.lines "/proc/cpuinfo" do
    local name = line:match "^model name%s*:%s*(.*)"
    if name then return name end
  end
  return "unknown processor"
end

local parts = { table.concat(command, " "),
  wrap(("Date: %s. Machine: a virtual machine, %s, %d thread%s; other programs were running. The command took %.0f s. Each task and method has %d episodes, and "
    .. "each episode may take %g s.%s"):format(os.date "%Y-%m-%d", processor(), threads, threads > 1 and "s" or "", took, seeds, seconds,
    args.quick and (" The planners have a horizon of %g s, %d samples and a period of 0.05 s."):format(QUICK.horizon, QUICK.samples) or "")),
  wrap("The table lists the solved episodes and the mean return of the completed episodes. Episodes that the time limit stopped count as "
    .. "not solved. If it stopped all episodes, the table lists the mean world time that they reached. A dash means that the method does "
    .. "not apply."),
  matrix(returned), "Replans per second of one thread:", matrix(replans), "Methods that do not apply:", reasons() }

local file <close> = assert(io.open(PAGE, "rb"))
local text = file:read "a"
local _, before = text:find(FROM, 1, true)
local after = before and text:find(TO, before, true)
assert(before and after, PAGE .. ": the marks are missing")
local out <close> = assert(io.open(PAGE, "wb"))
out:write(text:sub(1, before), "\n", table.concat(parts, "\n\n"), "\n\n", text:sub(after))
