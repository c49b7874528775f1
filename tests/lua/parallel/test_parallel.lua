-- sim.parallel.map: order, values, seeds, failures, time limits, bad input.
local sim = require "sim2d"

local map = sim.parallel.map

test("results are in the order of the items, whichever thread computed them", function()
  local items = {}
  for i = 1, 50 do items[i] = i end
  local results, failures = map(function(x, job)
    local t = sim.clock()
    while x % 7 == 0 and sim.clock() - t < 2e-3 do end
    return { x * x, job }
  end, items, { threads = 3 })
  eq(#results, 50)
  for i = 1, 50 do eq(results[i], { i * i, i }) end
  eq(failures, {})
  eq(map(function(job) return -job end, 3), { -1, -2, -3 })
  eq(map(function() return 1 end, {}), {})
end)

test("numbers travel bit by bit, and tables, arrays and vectors with their kind", function()
  local values = { 0.1, -0.0, 1e308 * 10, math.mininteger, math.maxinteger, 2 ^ 53, 5e-324, "a\0b", "", true,
    false, { 1, { 2, a = { b = "c" } }, [-1] = "x", [2.5] = "y", [true] = "z" }, {} }
  local back = map(function(x) return x end, values)
  for i, value in ipairs(values) do
    eq(back[i], value)
    eq(math.type(back[i]), math.type(value))
  end
  eq(1 / back[2], -math.huge)
  local nan = map(function() return 0 / 0 end, 1)[1]
  ok(nan ~= nan)
  local a = map(function(x) return x end, { sim.array { { 1, 2 }, { 3, 1 / 3 } }, sim.array { 5 } })
  eq(a[1]:table(), { { 1, 2 }, { 3, 1 / 3 } })
  eq(a[2].shape, { 1 })
  local place = map(function()
    local world = sim.world {}
    return world:circle { radius = 1, position = { 3, 4 } }.position
  end, 1)[1]
  eq({ place.x, place.y }, { 3, 4 })
end)

test("nil is a result, and an item where the list has a hole before its end", function()
  local results = map(function(x) if x ~= 2 then return x end end, 3)
  eq(results, { [1] = 1, [3] = 3 })
end)

test("the elements of an array, or its rows, are items", function()
  eq(map(function(x) return 2 * x end, sim.array { 1, 2.5 }), { 2, 5 })
  eq(map(function(row) return row[1] + row[2] end, sim.array { { 1, 2 }, { 3, 4 } }), { 3, 7 })
  -- rows arrive as arrays
  local random = sim.random.split()
  random:seed(1)
  for _ = 1, 20 do
    local m = sim.randn({ random:integer(1, 5), random:integer(1, 5) }, random)
    local rows = map(function(row) return row * 2 end, m)
    eq(#rows, #m)
    for i, row in ipairs(rows) do
      eq(row.shape, { m.shape[2] })
      eq(row:table(), (m:row(i) * 2):table())
    end
  end
end)

test("random numbers of a job depend on the seed and its number alone", function()
  local function draw() return sim.random.uniform() + sim.random.normal() end
  local one = map(draw, 20, { threads = 1, seed = 7 })
  eq(map(draw, 20, { threads = 3, seed = 7 }), one)
  ok(map(draw, 1, { seed = 8 })[1] ~= one[1])
  local seen = {}
  for _, x in ipairs(one) do
    ok(not seen[x])
    seen[x] = true
  end
end)

test("worlds step alike in threads and here", function()
  local function fall(x)
    local world = sim.world { dt = 0.01 }
    world:box { size = { 10, 1 }, position = { 0, -0.5 }, type = "static" }
    local ball = world:circle { radius = 0.5, position = { x, 2 }, velocity = { 1, 0 }, restitution = 0.5 }
    world:step(100)
    return { ball.position.x, ball.position.y, ball.angle }
  end
  local here, places = {}, {}
  for i = 1, 8 do
    places[i] = i / 10
    here[i] = fall(places[i])
  end
  eq(map(fall, places, { threads = 2 }), here)
end)

test("functions of modules, and data common to all jobs", function()
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir " .. folder))
  at_end(function() os.execute("rm -r " .. folder) end)
  local file = assert(io.open(folder .. "/s2_jobs.lua", "w"))
  file:write "local M = {}\nfunction M.add(x, job, common) return x + 10 * job + common.base end\nreturn M\n"
  file:close()
  local before = package.path
  package.path = folder .. "/?.lua;" .. before
  eq(map({ "s2_jobs", "add" }, { 1, 2 }, { common = { base = 100 } }), { 111, 122 })
  raises("the module 's2_jobs' has no function 'sub'", map, { "s2_jobs", "sub" }, { 1 })
  package.path = before
  raises("module 's2_no_such' not found", map, { "s2_no_such", "add" }, { 1 })
end)

test("globals that a job sets are its own", function()
  eq(map(function() count = (count or 0) + 1; return count end, 5, { threads = 1 }), { 1, 1, 1, 1, 1 })
  eq(rawget(_G, "count"), nil)
end)

test("`each` gets results in order", function()
  local seen = {}
  eq(map(function(x)
    local t = sim.clock()
    while x == 1 and sim.clock() - t < 0.01 do end
    return x
  end, 20, { threads = 2, each = function(x, job) seen[#seen + 1] = { x, job } end }), {})
  eq(#seen, 20)
  for i = 1, 20 do eq(seen[i], { i, i }) end
end)

test("the failure with the lowest number is raised, with its lines", function()
  local function fail(x)
    if x >= 4 then error("x is " .. x) end
    return x
  end
  local message = raises("sim.parallel.map: job 4 of 30 failed: .*test_parallel.lua:%d+: x is 4", map, fail, 30,
    { threads = 3 })
  ok(message:find "stack traceback:\n\t.*test_parallel.lua")
  local results, failures = map(fail, 5, { failures = "keep" })
  eq(results, { 1, 2, 3 })
  eq({ #failures, failures[1].job, failures[2].job }, { 2, 4, 5 })
  ok(failures[2].message:find "x is 5")
end)

test("endless jobs end with their time limit, whichever errors they catch", function()
  local function endless(x)
    if x == 2 then
      while true do pcall(function() while true do end end) end
    elseif x == 3 then
      coroutine.wrap(function() while true do end end)()
    elseif x == 4 then
      local world = sim.world {}
      world:start(function() while true do end end)
      world:step()
    elseif x == 5 then
      sim.world {}:run { steps = math.maxinteger }
    end
    return x
  end
  local results, failures = map(endless, 6, { time_limit = 0.2, failures = "keep", threads = 2 })
  eq(results, { [1] = 1, [6] = 6 })
  for i = 1, 4 do
    eq(failures[i].job, i + 1)
    ok(failures[i].message:find "the job exceeded its time limit of 0.2 s", failures[i].message)
  end
end)

test("a job that does not return is given up, and the others are done", function()
  local results, failures = map(function(x)
    if x == 1 then os.execute "sleep 3.5" end
    return x
  end, 4, { time_limit = 0.1, failures = "keep", threads = 1 })
  eq(results, { [2] = 2, [3] = 3, [4] = 4 })
  ok(failures[1].message:find "in code that is not Lua and does not return")
end)

test("values that cannot be sent are named with their job", function()
  local t = {}
  t.t = t
  raises("job 2: its item%.f: a function cannot be sent", map, function() end, { 1, { f = print } })
  raises("job 1: its item%.t%.t.*does one contain itself", map, function() end, { t })
  raises("job 1: its item%[1%]: a table with a metatable", map, function() end, { { setmetatable({}, {}) } })
  raises("job 1: its item: a table with a table as a key", map, function() end, { { [{}] = 1 } })
  raises("job 1: its item: a World cannot be sent", map, function() end, { (sim.world {}) })
  raises("job 3 of 9 failed: its result%[1%]%.b: a function cannot be sent", map,
    function(x) return x == 3 and { { b = print } } or x end, 9)
  raises("common%.f: a function cannot be sent", map, function() end, { 1 }, { common = { f = print } })
end)

test("functions that would leave something behind are refused", function()
  local gain = 3
  raises("the function uses the outer local variable 'gain' %(a number%)", map, function(x) return gain * x end, 1)
  raises("a function written in Lua expected", map, print, 1)
  raises("function or {\"module\", \"function\"} expected, got 3", map, 3, 1)
  raises("bad argument #2 to 'sim.parallel.map' %(a list of items or a number of jobs", map, function() end, "x")
  raises("a list of items expected, but the table has the key 'a' besides its 2 items", map, function() end, { 1, 2, a = 3 })
end)

test("options are checked", function()
  local f = function() end
  raises("there is no option 'thread'; did you mean 'threads'", map, f, 1, { thread = 2 })
  raises("threads: an integer from 1 to 1024 expected, got 0", map, f, 1, { threads = 0 })
  raises("time_limit: seconds, more than 0, expected, got %-1", map, f, 1, { time_limit = -1 })
  raises("failures: 'raise' or 'keep' expected", map, f, 1, { failures = "no" })
  raises("a table of options expected", map, f, 1, 5)
end)

test("jobs cannot start jobs, and do not end the program", function()
  raises("job 1 of 1 failed: .*a job cannot start further jobs", map, function() sim.parallel.map(function() end, 1) end, 1)
  raises("job 1 of 1 failed: .*os.exit: a job cannot end the program", map, function() os.exit(3) end, 1)
end)

test("memory stays flat over many jobs", function()
  if os.getenv "S2_SANITIZED" then skip "a sanitizer keeps what is freed" end
  local function used()
    local file = io.open "/proc/self/statm"
    if not file then skip "no /proc" end
    local pages = tonumber(file:read "a":match "%d+ (%d+)")
    file:close()
    return pages * 4096
  end
  local function small()
    local world = sim.world {}
    world:circle { radius = 1 }
    world:step()
    return string.rep("x", 1000)
  end
  local most = 0
  local function look() most = math.max(most, used()) end
  -- The allocator keeps some states of each thread. It needs a few thousand jobs until it has all that it needs.
  map(small, 8000, { threads = 2, each = look })
  local before = most
  map(small, 8000, { threads = 2, each = look })
  ok(most - before < 8e6, ("%d bytes more within jobs"):format(most - before)) -- 1 kB a job
  -- And outside of jobs. Worlds stay until they are collected, so the first round reaches a maximum.
  local function loop()
    for i = 1, 8000 do
      small()
      if i % 100 == 0 then look() end
    end
  end
  collectgarbage()
  most = used()
  loop()
  before = most
  loop()
  ok(most - before < 8e6, ("%d bytes more in a loop"):format(most - before))
end)
