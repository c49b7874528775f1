-- lua/sim2d/meta/*.lua, which editors read, and the library declare the same names.
local sim = require "sim2d"

local lines = {}
do
  local folder = (os.getenv "S2_SOURCE" or "."):gsub("'", "'\\''")
  local files <close> = assert(io.popen("ls '" .. folder .. "'/lua/sim2d/meta/*.lua"))
  for path in files:lines() do
    for line in io.lines(path) do lines[#lines + 1] = line end
  end
end

-- class -> set of fields and methods, with those of the classes it extends
local function declared()
  local classes, class, parents = {}, nil, {}
  for _, line in ipairs(lines) do
    local name, parent = line:match "^%-%-%-@class (%S+):%s*(%S+)"
    name = name or line:match "^%-%-%-@class (%S+)"
    if name then
      class = name
      parents[class] = parent
      classes[class] = classes[class] or {}
    end
    local field = line:match "^%-%-%-@field ([%w_]+)"
    if field and class then
      classes[class][field] = true
    end
    local owner, method = line:match "^function (%w+)[.:]([%w_]+)"
    if owner then
      local of = owner == "sim" and "sim2d" or "sim2d." .. owner
      classes[of][method] = true
    end
  end
  for child, parent in pairs(parents) do
    for field in pairs(classes[parent]) do classes[child][field] = true end
  end
  return classes
end

-- The names of an object: its __index is a table, or a function that looks names up in a table, its first upvalue.
-- False stands for a name that is not built yet.
local function offered(object)
  local names = debug.getmetatable(object).__index
  if type(names) == "function" then
    names = select(2, debug.getupvalue(names, 1))
  end
  local set = {}
  for name, value in pairs(names) do
    if value and type(name) == "string" then set[name] = true end
  end
  return set
end

local function difference(a, b)
  local list = {}
  for name in pairs(a) do
    if not b[name] then list[#list + 1] = name end
  end
  table.sort(list)
  return table.concat(list, " ")
end

local function compare(class, object)
  local said, real = declared()["sim2d" .. class], offered(object)
  eq(difference(real, said), "", "missing in meta/*.lua")
  eq(difference(said, real), "", "only in meta/*.lua")
end

local world = sim.world {}
local ball = world:circle { radius = 1 }
local joint = world:hinge { ball, anchor = { 0, 0 } }

test("sim", function() compare("", sim) end)
test("World", function() compare(".World", world) end)
test("Body", function() compare(".Body", ball) end)
test("Joint", function() compare(".Joint", joint) end)
test("Random", function() compare(".Random", sim.random) end)
test("Array", function() compare(".Array", sim.zeros(1)) end)
test("Linalg", function() compare(".Linalg", sim.linalg) end)
test("Tracked", function()
  sim.grad(function(x)
    compare(".Tracked", x)
    return x
  end, 1)
end)
test("Optimize", function() compare(".Optimize", sim.optimize) end)
test("PlotLibrary", function() compare(".PlotLibrary", sim.plot) end)
test("Plot", function() compare(".Plot", sim.plot { { { 1, 2 } } }) end)
test("Lcp", function() compare(".Lcp", sim.lcp) end)
test("Ncp", function() compare(".Ncp", sim.ncp) end)
test("Mlcp", function() compare(".Mlcp", sim.mlcp) end)
test("ContactLibrary", function() compare(".ContactLibrary", sim.contact) end)
test("Kkt", function() compare(".Kkt", sim.kkt) end)
test("Qp", function() compare(".Qp", sim.qp) end)
test("Data", function() compare(".Data", sim.data) end)
test("Parallel", function() compare(".Parallel", sim.parallel) end)
test("ReadRecording", function()
  local path = os.tmpname() .. ".s2d"
  local recorded <close> = assert(sim.world {}:record(path))
  recorded:close()
  local recording <close> = assert(sim.read_recording(path))
  os.remove(path)
  local said = declared()["sim2d.ReadRecording"]
  for name in select(2, pcall(function() return recording.no_such end)):match "it has (.*)":gmatch "[%w_]+" do
    ok(said[name], name .. " is missing in meta/*.lua")
    said[name] = nil
  end
  eq(next(said), nil, "only in meta/*.lua")
end)
test("Lp", function() compare(".Lp", sim.lp) end)
