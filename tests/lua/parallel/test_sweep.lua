-- sim.sweep: points, rows, columns, files, summaries, plots.
local sim = require "sim2d"

local function run(p) return { sum = p.a + 10 * (p.b or 0), big = p.a > 1 } end

local function lines(f, ...)
  local list, before = {}, print
  print = function(text) list[#list + 1] = text end
  local results = table.pack(pcall(f, ...))
  print = before
  assert(results[1], results[2])
  return table.concat(list, "\n"), results[2]
end

test("a grid is every combination, the last parameter fastest", function()
  local sweep = sim.sweep { run = run, grid = { b = { 1, 2 }, a = { 1, 2, 3 } } }
  eq(sweep.columns, { "job", "a", "b", "big", "sum", "failed" })
  eq(#sweep.rows, 6)
  eq(sweep.rows[2], { job = 2, a = 1, b = 2, sum = 21, big = false, failed = false })
  eq(sweep:column "sum":table(), { 11, 21, 12, 22, 13, 23 })
  eq(sweep:column "big":table(), { 0, 0, 1, 1, 1, 1 })
  local other = sim.sweep { run = run, grid = { b = { 1, 2 }, a = sim.array { 1, 2, 3 } }, order = { "b", "a" } }
  eq(other:column "sum":table(), { 11, 12, 13, 21, 22, 23 })
end)

test("lists and random samples", function()
  local sweep = sim.sweep { run = run, list = { { a = 1 }, { a = 2, b = 3 } } }
  eq(sweep:column "sum":table(), { 1, 32 })
  local def = { run = run, random = { a = { 0, 1 }, b = { normal = { 5, 0.1 } } }, count = 50, seed = 3 }
  local one, two = sim.sweep(def), sim.sweep(def)
  eq(one.rows, two.rows)
  for _, row in ipairs(one.rows) do ok(row.a >= 0 and row.a < 1 and math.abs(row.b - 5) < 1) end
  local log = sim.sweep { run = run, random = { a = { log = { 1e-3, 1e3 } }, b = { choice = { 7 } } }, count = 50 }
  local below = 0
  for _, row in ipairs(log.rows) do
    below = below + (row.a < 1 and 1 or 0)
    eq(row.b, 7)
  end
  ok(below > 10 and below < 40)
end)

test("repeats have seeds of their own", function()
  local sweep = sim.sweep { run = function() return sim.random.uniform() end, grid = { a = { 1, 2 } }, repeats = 3 }
  eq(sweep.columns, { "job", "a", "repeat", "value", "failed" })
  eq(sweep:column "repeat":table(), { 1, 2, 3, 1, 2, 3 })
  ok(sweep.rows[1].value ~= sweep.rows[2].value and sweep.rows[1].value ~= sweep.rows[4].value)
end)

test("failed runs are rows", function()
  local sweep = sim.sweep { grid = { a = { 1, 2, 3 } }, run = function(p)
    if p.a == 2 then error "no" end
    return p.a
  end }
  eq(sweep.rows[2], { job = 2, a = 2, failed = true })
  eq(#sweep.failures, 1)
  eq(sweep:column "failed":table(), { 0, 1, 0 })
  local value = sweep:column "value"
  ok(value[2] ~= value[2])
  ok(lines(sweep.summary, sweep):find "1 of 3 runs failed; job 2: .*test_sweep.lua:%d+: no")
  raises("all 3 runs failed, the first with: .*none", sim.sweep, { grid = { a = { 1, 2, 3 } },
    run = function() error "none" end })
  raises("job 2 of 3 failed", sim.sweep, { grid = { a = { 1, 2, 3 } }, failures = "raise",
    run = function(p) if p.a == 2 then error "no" end end })
end)

test("summaries", function()
  local sweep = sim.sweep { run = run, grid = { a = { 1, 3 }, b = { 0, 1 } } }
  eq(lines(sweep.summary, sweep), [[
output  runs  mean  deviation  least  most
------------------------------------------
big        4   0.5    0.57735      0     1
sum        4     7    5.88784      1    13]])
  eq(lines(sweep.summary, sweep, "a"), [[
a  runs  big  sum  failed
-------------------------
1     2    0    6       0
3     2    1    8       0]])
  raises("there is no column 'c'; there are job, a, b, big, sum, failed", sweep.summary, sweep, "c")
end)

test("files hold all rows, the same from any number of threads", function()
  local path = os.tmpname()
  local function read(suffix, threads)
    local sweep = sim.sweep { run = function(p) return { x = sim.random.normal(), name = "p" .. p.a } end,
      grid = { a = { 1, 2, 3, 4 } }, repeats = 5, threads = threads }
    assert(sweep:save(path .. suffix))
    local file <close> = assert(io.open(path .. suffix, "rb"))
    local bytes = file:read "a"
    os.remove(path .. suffix)
    return bytes, sweep
  end
  for _, suffix in ipairs { ".csv", ".npz" } do
    local one = read(suffix, 1)
    eq(read(suffix, 3), one)
  end
  ok(read(".csv", 2):find("^job,a,repeat,name,x,failed\n1,1,1,p1,"))
  os.remove(path)
end)

test("plots have a curve for each value", function()
  local sweep = sim.sweep { run = run, grid = { a = { 1, 2, 3 }, b = { 0, 1 } } }
  local svg = sweep:plot { x = "a", y = "sum", by = "b", title = "sums" }:svg()
  ok(svg:find "sums" and svg:find "b = 0" and svg:find "b = 1")
  ok(sim.sweep { run = function() return sim.random.normal() end, grid = { a = { 1, 2 } }, repeats = 4 }
    :plot { x = "a", y = "value" }:svg())
end)

test("error bars of probabilities are the deviation of the mean", function()
  local sweep = sim.sweep { run = function(_, job) return { yes = job % 2 == 0, x = job % 2 } end, grid = { a = { 1, 2 } },
    repeats = 100 }
  -- around a mean of one half, the deviation of single runs, one half, reaches zero; the deviation of a mean of a
  -- hundred does not
  ok(sweep:plot { x = "a", y = "x" }:svg():find(">0.0</text>", 1, true))
  ok(not sweep:plot { x = "a", y = "yes" }:svg():find(">0.0</text>", 1, true))
end)

test("errors are named", function()
  raises("one of the tables `grid`, `list` and `random` expected", sim.sweep, { run = run })
  raises("one of the tables", sim.sweep, { run = run, grid = {}, list = {} })
  raises("there is no key 'gird'; did you mean 'grid'", sim.sweep, { run = run, gird = {} })
  raises("grid.a: a list of values expected, got 3", sim.sweep, { run = run, grid = { a = 3 } })
  raises("order: the parameters a, b expected, each once", sim.sweep,
    { run = run, grid = { a = { 1 }, b = { 1 } }, order = { "a" } })
  raises("count: the number of samples", sim.sweep, { run = run, random = { a = { 0, 1 } } })
  raises("random.a: {lo, hi}", sim.sweep, { run = run, random = { a = { low = 1 } }, count = 1 })
  raises("job 1: result: keys other than the names of parameters", sim.sweep, { run = function() return { a = 1 } end,
    grid = { a = { 1 } } })
  raises("random.a: {lo, hi} with lo <= hi expected, got {2, 1}", sim.sweep,
    { run = run, random = { a = { 2, 1 } }, count = 1 })
  raises("random.a: normal: a deviation of at least 0 expected, got %-1", sim.sweep,
    { run = run, random = { a = { normal = { 0, -1 } } }, count = 1 })
  raises("repeats: an integer of at least 1", sim.sweep, { run = run, grid = { a = { 1 } }, repeats = 0 })
  raises("function or {\"module\", \"function\"} expected, got nil", sim.sweep, { grid = { a = { 1 } } })
end)

test("a robustness map has a pixel for each pair of values, and holds the runs", function()
  local folder = os.tmpname()
  os.remove(folder)
  at_end(function() os.execute("rm -r '" .. folder .. "'") end)
  local sweep = sim.sweep { grid = { a = { 1, 2, 3 }, b = { "x", "<y>" } }, repeats = 2, record = folder,
    run = function(p)
      local world = sim.world { dt = 0.01 }
      world:circle { radius = p.a }
      world:step(3)
      if p.a == 3 and p.b == "x" then error "</script> no" end
      return { even = p.a % 2 == 0 }
    end }
  local function map(suffix)
    local path = folder .. "/map" .. suffix
    local good, message = sweep:map { x = "a", y = "b", value = "even", path = path, title = "T <&>" }
    if not good then skip(message) end
    local file <close> = assert(io.open(path))
    return file:read "a"
  end
  local function count(text, pattern) return select(2, text:gsub(pattern, "")) end
  local svg = map ".svg"
  eq(count(svg, "<rect data%-cell"), 6)
  eq(count(svg, 'fill="#999999"'), 1) -- all its runs failed
  eq(count(svg, 'fill="#fde725" shape%-rendering="crispEdges"><title>'), 2) -- 1
  ok(svg:find("T &lt;&amp;&gt;", 1, true) and svg:find("b = &lt;y&gt;", 1, true))
  -- the recordings exist, and are those of the jobs
  local recording <close> = assert(sim.read_recording(folder .. "/000009.s2d"))
  eq(recording.count, 4)
  eq(recording.run.script, "run.lua")
  local good, html = pcall(map, ".html")
  if not good then skip "no player in this build" end
  eq(count(html, '<script type="text/plain" id="run%-'), 12)
  ok(html:find("\\u003c/script\\u003e", 1, true))
  ok(html:find "Content%-Security%-Policy")
  raises("sweep:map: value: there is no column .odd.", sweep.map, sweep,
    { x = "a", y = "b", value = "odd", path = "x.svg" })
  raises("x and y: two parameters expected, got 'a' twice", sweep.map, sweep,
    { x = "a", y = "a", value = "even", path = "x.svg" })
  raises("sweep:plot: x: a column of numbers or booleans expected, got 'b'", sweep.plot, sweep, { x = "b", y = "even" })
  raises("ends with .html or .svg expected", sweep.map, sweep, { x = "a", y = "b", value = "even", path = "x.png" })
end)

test("summaries of results that are infinite, or no numbers", function()
  local random = sim.random.split()
  random:seed(6)
  for _ = 1, 60 do
    local values, n = {}, random:integer(2, 8)
    for i = 1, n do
      values[i] = random:choice { random:normal(), random:normal(), math.huge, -math.huge, 0 / 0 }
    end
    local nans, first, some, low, high, sum = 0, nil, 0, math.huge, -math.huge, 0
    for i, x in ipairs(values) do
      if x ~= x then
        nans, first = nans + 1, first or i
      else
        some, low, high, sum = some + 1, math.min(low, x), math.max(high, x), sum + x
      end
    end
    local sweep = sim.sweep { threads = 1, progress = false, common = values, grid = { a = { 3 } }, repeats = n,
      run = function(_, job, all) return { v = all[job] } end }
    local text = lines(sweep.summary, sweep)
    local by_class = lines(sweep.summary, sweep, "a")
    local told = ("v: %d of %d results are nan and are left out (the first: job %d)"):format(nans, n, first or 0)
    eq(text:find(told, 1, true) ~= nil, nans > 0)
    eq(by_class:find(told, 1, true) ~= nil, nans > 0)
    local row = { text:match "\nv +(%d+) +(%S+) +(%S+) +(%S+) +(%S+)" }
    if some > 0 then
      eq(tonumber(row[1]), some)
      local mean = sum / some -- also of infinite numbers
      local shown = ("%.6g"):format(mean):gsub("^%-nan", "nan")
      if math.abs(mean) < math.huge then near(tonumber(row[2]), mean, 1e-5 * (1 + math.abs(mean))) else eq(row[2], shown) end
      if high == math.huge or low == -math.huge then eq(row[3], low == high and "0" or "inf") end
      eq({ row[4] == "inf", row[5] == "inf", row[4] == "-inf" }, { low == math.huge, high == math.huge, low == -math.huge })
    end
  end
end)

test("rows of an array are values of a parameter", function()
  local sweep = sim.sweep { threads = 1, progress = false, grid = { a = sim.array { { 1, 2 }, { 3, 4 } } },
    run = function(p) return { sum = p.a:sum() } end }
  eq(sweep:column "sum":table(), { 3, 7 })
  eq(sweep:column "a", { "{1.0, 2.0}", "{3.0, 4.0}" })
end)

-- Squares of these are infinite, or 0.
test("summaries of results of any size", function()
  for _, size in ipairs { 1e307, 1e200, 1e155, 1, 1e-155, 1e-200, 1e-300 } do
    for _, about in ipairs { 0, 3, -3 } do
      local values = { (about + 1) * size, (about + 2) * size, (about + 3) * size }
      local sweep = sim.sweep { grid = { a = values }, progress = false, run = function(p) return { v = p.a } end }
      local line = lines(sweep.summary, sweep):match "\nv[^\n]*"
      local n, mean, deviation = line:match "v%s+(%S+)%s+(%S+)%s+(%S+)"
      eq(n, "3")
      near(tonumber(mean) / size, about + 2, 1e-5)
      near(tonumber(deviation) / size, 1, 1e-5)
    end
  end
end)
