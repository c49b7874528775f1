-- The cost of recording relative to a step, for a pyramid of 50 rows (1275 boxes) at rest: the same steps without and
-- with a recording alternate, and medians of processor times are printed. Files are written to the folder in the first
-- argument.
--
--   build/sim2d bench/lua/data.lua [FOLDER]
local sim = require "sim2d"

local ROWS, ROUNDS, STEPS = 50, 15, 20
local folder = arg[1] or "/tmp"

local function pyramid()
  local world = sim.world {}
  world:box { name = "ground", type = "static", position = { 0, -0.5 }, size = { 200, 1 } }
  for row = 1, ROWS do
    for i = 1, ROWS + 1 - row do
      world:box { size = { 1, 1 }, position = { (i - (ROWS + 2 - row) / 2) * 1.01, row - 0.5 } }
    end
  end
  world:step(50)
  return world
end

local function median(list)
  table.sort(list)
  return list[#list // 2 + 1]
end

local function measure(world)
  local start = os.clock()
  world:step(STEPS)
  return (os.clock() - start) / STEPS
end

local columns = { "ground.x", "energy.total", "momentum.x", "residual", "contacts" }
for i = 1, 15 do columns["f" .. i] = function(_, t) return t * i end end

local rows = {}
local function compare(name, file, options)
  local world = pyramid()
  local start = world:snapshot()
  local plain, more, bytes, finish = {}, {}, 0, 0
  for round = 1, ROUNDS do
    world:restore(start)
    plain[round] = measure(world)
    world:restore(start)
    local path = folder .. "/" .. file
    local recording, message = world:record(path, options)
    if not recording then return print(name .. ": " .. message) end
    more[round] = measure(world) - plain[round]
    local closing = os.clock()
    assert(recording:close())
    finish = (os.clock() - closing) / (STEPS + 1)
    local handle = assert(io.open(path))
    bytes = handle:seek "end" / (STEPS + 1)
    handle:close()
    os.remove(path)
  end
  local step, cost = median(plain), median(more)
  rows[#rows + 1] = { name, 1e3 * step, 1e3 * cost, 100 * cost / step, 1e3 * finish, bytes / 1e3 }
end

compare("s2d", "pyramid.s2d")
compare("csv", "pyramid.csv")
compare("npz", "pyramid.npz")
compare("h5", "pyramid.h5")
compare("svg", "pyramid.svg")
compare("columns csv", "pyramid.csv", { columns = columns })
compare("columns npz", "pyramid.npz", { columns = columns })
sim.table {
  columns = { "recording", { "step ms", format = "%.2f" }, { "more ms", format = "%.3f" },
    { "more %", format = "%.1f" }, { "at the end ms/frame", format = "%.3f" }, { "kB/frame", format = "%.1f" } },
  table.unpack(rows),
}

local n = 1000000
local x = sim.linspace(0, 1, n)
local files = {}
for _, suffix in ipairs { "csv", "npz", "h5" } do
  local path = folder .. "/million." .. suffix
  local start = os.clock()
  if sim.data.save(path, { x = x }) then
    local saved = os.clock()
    local loaded = assert(sim.data.load(path))
    files[#files + 1] = { suffix, saved - start, os.clock() - saved }
    assert(loaded.x == x)
    os.remove(path)
  end
end
print()
sim.table { columns = { "a million numbers", { "save s", format = "%.3f" }, { "load s", format = "%.3f" } },
  table.unpack(files) }
