-- Audits of random scenes: which kinds of scene have findings, in which stepping, and the first seed of each:
--   build/sim2d bench/lua/audit.lua --scenes 20000
-- The scenes are those of tests/lua/audited_scenes.lua; each seed has a kind and a stepping. --stepping NAME takes one
-- stepping for all, --stepping all steps each scene in all four. --flow rattle takes that flow, which bisect does not
-- have. --surfaces soft makes the surfaces of a third of the bodies compliant, some of them viscous. One scene again,
-- with its warnings:
--   build/sim2d bench/lua/audit.lua --first 1234 --scenes 1
local sim = require "sim2d"
package.path = (arg[0]:match "^(.*/)" or "./") .. "../../tests/lua/?.lua;" .. package.path
local scenes = require "audited_scenes"

local args = sim.options { scenes = { 20000, "random scenes" }, first = { 1, "the first seed" }, steps = { 60, "of each scene" },
  stepping = { "each", "each: by the seed; all: four runs a scene; or the name of one" },
  flow = { "auto", "of all worlds" }, surfaces = { "rigid", "rigid, or soft: a third of the bodies give way" } }
if args.flow == "rattle" and (args.stepping == "each" or args.stepping == "all" or args.stepping == "bisect") then
  error("--flow rattle: choose a --stepping, one of auto, event and speculative", 0)
end
scenes.flow = args.flow
scenes.soft = args.surfaces == "soft"

local steppings = args.stepping == "all" and scenes.steppings or { args.stepping }
local rows, order = {}, {} -- a row: scenes of one kind in one stepping
local function count(kind, stepping, found, seed)
  local name = kind .. ", " .. stepping
  local row = rows[name]
  if not row then
    row = { kind = kind, stepping = stepping, scenes = 0, with = 0, count = {}, first = {} }
    rows[name], order[#order + 1] = row, row
  end
  row.scenes = row.scenes + 1
  local any = false
  for _, of in ipairs(scenes.findings) do
    if found[of] > 0 then
      any = true
      row.count[of] = (row.count[of] or 0) + 1
      row.first[of] = row.first[of] or seed
    end
  end
  row.with = row.with + (any and 1 or 0)
end

for seed = args.first, args.first + args.scenes - 1 do
  for _, stepping in ipairs(steppings) do
    local found, kind, how, message = scenes.run(seed, args.steps, stepping ~= "each" and stepping or nil)
    count(kind, how, found, seed)
    if args.scenes == 1 and message then print(("%s, %s: %s"):format(kind, how, message)) end
  end
end

-- Kinds in the order of the module, with their steppings next to each other.
local place = {}
for i, kind in ipairs(scenes.kinds) do place[kind] = 10 * i end
for i, stepping in ipairs(scenes.steppings) do place[stepping] = i end
table.sort(order, function(a, b) return place[a.kind] + place[a.stepping] < place[b.kind] + place[b.stepping] end)
local lines, sums = {}, {}
local function cell(row, of)
  return row.count[of] and ("%d (%d)"):format(row.count[of], row.first[of]) or ""
end
for _, row in ipairs(order) do
  local line = { row.kind, row.stepping, row.scenes, row.with > 0 and row.with or "" }
  for _, of in ipairs(scenes.findings) do line[#line + 1] = cell(row, of) end
  if row.with > 0 then lines[#lines + 1] = line end
  local sum = sums[row.stepping] or { scenes = 0, with = 0 }
  sums[row.stepping] = sum
  sum.scenes, sum.with = sum.scenes + row.scenes, sum.with + row.with
  for of, n in pairs(row.count) do sum[of] = (sum[of] or 0) + n end
end
for _, stepping in ipairs(scenes.steppings) do
  local sum = sums[stepping]
  if sum then
    local line = { "all", stepping, sum.scenes, sum.with }
    for _, of in ipairs(scenes.findings) do line[#line + 1] = sum[of] or 0 end
    lines[#lines + 1] = line
  end
end
print(("scenes with a finding, of %d seeds from %d on, %d steps each; in brackets the first seed"):format(args.scenes, args.first, args.steps))
sim.table { columns = { "kind", "stepping", "scenes", "with one", table.unpack(scenes.findings) }, table.unpack(lines) }
