-- Solve rates of the 74 hand-made levels of Kinetix, without training:
--   scripts/kinetix/fetch-levels build/kinetix
--   build/sim2d bench/lua/kinetix.lua --levels build/kinetix
-- Each level is searched in one thread by scripts/kinetix/search.lua, with the same settings for all levels. Each plan
-- is replayed from the start in another world, and only replays count. The budget counts engine steps, so the results
-- do not depend on the speed of the machine. The option --plans writes the plans as JSON for
-- bench/peers/kinetix_jax2d.py, which replays them in Kinetix's own engine.
local sim = require "sim2d"
local args = sim.options { levels = { "build/kinetix", "folder with the folders s, m and l of level files" },
  only = { "", "parts of names, separated by commas; default: all levels" },
  steps = { 600000, "engine steps for a level" }, stepping = { "speculative", "of the worlds" },
  seed = { 1, "of the searches" }, plans = { "", "file for the plans, in JSON" } }

local SIZES = { "s", "m", "l" }
-- Kinetix-Checkpoints, README of kinetix-env 3.0.2: means of 20 attempts at each level
local GENERALIST = { { "sfl-paper, 18e9 steps", s = 0.42, m = 0.32, l = 0.11, all = 0.22 },
  { "sfl-1m-envs, 376e9 steps", s = 0.70, m = 0.43, l = 0.18, all = 0.33 } }

local function wanted(name)
  if args.only == "" then return true end
  for part in args.only:gmatch "[^,]+" do
    if name:find(part, 1, true) then return true end
  end
  return false
end

local function level_files()
  local files = {}
  for _, size in ipairs(SIZES) do
    local list <close> = assert(io.popen(("ls '%s/%s'"):format(args.levels, size)))
    for name in list:lines() do
      local level = name:match "^(.*)%.json$"
      if level and wanted(size .. "/" .. level) then
        files[#files + 1] = { size = size, name = level, path = ("%s/%s/%s"):format(args.levels, size, name) }
      end
    end
  end
  if #files == 0 then error(args.levels .. ": no level files; scripts/kinetix/fetch-levels fetches them", 0) end
  return files
end

local function solve(file, _, common)
  package.path = common.folder .. "?.lua;" .. package.path
  local level = require("level").load(file.path)
  local result = require("search").run(level, common)
  local verdict, decisions
  if result.solved then verdict, decisions = level:replay(result.actions, common) end
  return { file = file, solved = verdict == "solved", decisions = decisions, steps = result.steps,
    seconds = result.seconds, attempts = result.attempts, nearest = result.nearest,
    plan = result.solved and level:unpack(result.actions) }
end

-- Prints a level as soon as the levels before it are done.
local function report(r)
  print(("%-30s %-8s %3s decisions %8d steps %2d attempts %5.1f s, nearest %.3f m"):format(
    r.file.size .. "/" .. r.file.name, r.solved and "solved" or "-", r.decisions or "", r.steps, r.attempts, r.seconds,
    r.nearest))
  io.stdout:flush()
end

-- Writes the plans as an object of lists of six numbers: four motor bindings and two thruster bindings.
local function write_plans(results, path)
  local parts = {}
  for _, r in ipairs(results) do
    if r.solved then
      local rows = {}
      for k, row in ipairs(r.plan) do rows[k] = "[" .. table.concat(row, ",") .. "]" end
      parts[#parts + 1] = ('"%s/%s": [%s]'):format(r.file.size, r.file.name, table.concat(rows, ","))
    end
  end
  local file <close> = assert(io.open(path, "w"))
  assert(file:write("{", table.concat(parts, ",\n"), "}\n"))
end

local results = {}
sim.parallel.map(solve, level_files(), { progress = false, each = function(r)
  results[#results + 1] = r
  report(r)
end, common = { folder = (arg[0]:match "^(.*)bench/lua/" or "") .. "scripts/kinetix/", seed = args.seed,
  steps = args.steps, stepping = args.stepping } })

local row, seconds, steps = { "sim2d, no training" }, { "elapsed time of a level, s" }, { "engine steps of a level" }
local unsolved = {}
for _, size in ipairs { "s", "m", "l", "all" } do
  local count, solved, time, made = 0, 0, 0, 0
  for _, r in ipairs(results) do
    if size == "all" or r.file.size == size then
      count, solved, time, made = count + 1, solved + (r.solved and 1 or 0), time + r.seconds, made + r.steps
    end
  end
  if count > 0 then
    row[#row + 1] = ("%.2f (%d of %d)"):format(solved / count, solved, count)
    seconds[#seconds + 1], steps[#steps + 1] = ("%.1f"):format(time / count), ("%.0f"):format(made / count)
  else
    row[#row + 1], seconds[#seconds + 1], steps[#steps + 1] = "-", "-", "-"
  end
end
for _, r in ipairs(results) do
  if not r.solved then unsolved[#unsolved + 1] = r.file.size .. "/" .. r.file.name end
end
print()
local rows = { columns = { "solve rate", "S", "M", "L", "all" }, row }
for _, agent in ipairs(GENERALIST) do
  local line = { agent[1] }
  for k, size in ipairs { "s", "m", "l", "all" } do line[k + 1] = ("%.2f"):format(agent[size]) end
  rows[#rows + 1] = line
end
rows[#rows + 1], rows[#rows + 2] = seconds, steps
sim.table(rows)
print("unsolved: " .. (#unsolved > 0 and table.concat(unsolved, ", ") or "none"))
if args.plans ~= "" then write_plans(results, args.plans) end
