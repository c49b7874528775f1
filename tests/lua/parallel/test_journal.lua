-- The journal of sim.parallel.map: cut and damaged at any place, after kills, of other jobs, in use.
local sim = require "sim2d"

local SIM2D = os.getenv "S2_SIM2D" or arg[-1]
local map = sim.parallel.map

local PATH = os.tmpname()
os.remove(PATH)
at_end(function() os.remove(PATH) end)

local function read()
  local file <close> = assert(io.open(PATH, "rb"))
  return file:read "a"
end

local function write(bytes)
  local file <close> = assert(io.open(PATH, "wb"))
  file:write(bytes)
end

local function square(x)
  local file <close> = assert(io.open(x.log, "a"))
  file:write "x"
  return { x.value ^ 2, sim.random.uniform() }
end

local LOG = os.tmpname()
at_end(function() os.remove(LOG) end)

-- The number of jobs computed since the last call.
local function computed()
  local file <close> = assert(io.open(LOG))
  local count = #file:read "a"
  assert(io.open(LOG, "w")):close()
  return count
end

local function items(n)
  local list = {}
  for i = 1, n do list[i] = { value = i, log = LOG } end
  return list
end

local function run(n, seed)
  return map(square, items(n), { journal = PATH, threads = 2, seed = seed, progress = false })
end

test("results in the journal are not computed again", function()
  local first = run(10)
  eq(computed(), 10)
  eq(run(10), first)
  eq(computed(), 0)
end)

test("a journal cut anywhere gives the same results", function()
  os.remove(PATH)
  local first = run(6)
  computed()
  local whole = read()
  local again = 0
  for length = 0, #whole, math.max(1, #whole // 60) do
    write(whole:sub(1, length))
    eq(run(6), first)
    again = again + computed()
    eq(run(6), first)
    eq(computed(), 0)
  end
  ok(again > 60)
end)

test("a damaged journal gives the same results", function()
  os.remove(PATH)
  local first = run(6)
  computed()
  local whole = read()
  local title = #"sim2d journal 1\n"
  for at = title + 1, #whole, math.max(1, #whole // 40) do
    write(whole:sub(1, at - 1) .. string.char(whole:byte(at) ~ 0x41) .. whole:sub(at + 1))
    eq(run(6), first)
  end
  ok(computed() > 40)
  -- a size that no file has
  write(whole:sub(1, title) .. ("<I8I8"):pack(0, 1 << 62) .. whole:sub(title + 17))
  eq(run(6), first)
  computed()
end)

test("failed jobs are tried again, and nothing that was done is lost", function()
  os.remove(PATH)
  os.remove(LOG)
  local function job(x)
    local file <close> = io.open(x.log)
    if x.value == 3 and not file then error "not yet" end
    return x.value
  end
  raises("job 3 of 5 failed: .*not yet", map, job, items(5), { journal = PATH, threads = 1 })
  assert(io.open(LOG, "w")):close()
  eq(map(job, items(5), { journal = PATH, threads = 1 }), { 1, 2, 3, 4, 5 })
end)

test("a journal of other jobs is refused, and named", function()
  os.remove(PATH)
  run(4, 1)
  raises("the journal '.*' belongs to other jobs: the seed differs", run, 4, 2)
  raises("the jobs differ %(4 there, 5 here%)", run, 5, 1)
  raises("the function differs", map, function() end, 4, { journal = PATH, seed = 1 })
  local other = items(4)
  other[2].value = 7
  raises("the items differ", map, square, other, { journal = PATH, seed = 1 })
  raises("the common value differs", map, square, items(4), { journal = PATH, seed = 1, common = 1 })
  write "something else\n"
  raises("is not a sim2d journal; it is left unchanged", run, 4)
  eq(read(), "something else\n")
  raises("cannot open the journal '/no/such'", map, square, items(1), { journal = "/no/such" })
end)

test("a journal that another run uses is refused", function()
  os.remove(PATH)
  raises("is in use by another run", map, function(x) return x end, 3, { journal = PATH, threads = 1,
    each = function() map(function(x) return x end, 3, { journal = PATH }) end })
end)

test("runs that are killed continue, and end with the same files", function()
  local script = os.tmpname()
  local out = os.tmpname()
  at_end(function() os.remove(script); os.remove(out) end)
  local file = assert(io.open(script, "w"))
  file:write [[
    local sim = require "sim2d"
    local results = sim.parallel.map(function(x)
      local t = sim.clock()
      while sim.clock() - t < 0.02 do end
      return { x, sim.random.normal() }
    end, 30, { journal = arg[1], threads = 2 })
    local file <close> = assert(io.open(arg[2], "wb"))
    for _, r in ipairs(results) do file:write(("%d %a\n"):format(r[1], r[2])) end
  ]]
  file:close()
  local function start(journal, before)
    return os.execute(("%s '%s' '%s' '%s' '%s' 2>/dev/null"):format(before, SIM2D, script, journal, out))
  end
  local function output()
    local file <close> = assert(io.open(out, "rb"))
    return file:read "a"
  end
  os.remove(PATH)
  ok(start(PATH, ""))
  local whole = output()
  os.remove(PATH)
  local kills = 0
  repeat
    os.remove(out)
    local done = start(PATH, ("timeout -s KILL %.2f"):format(0.2 + 0.02 * kills))
    kills = kills + (done and 0 or 1)
  until done or kills > 100
  ok(kills > 0 and kills <= 100, kills .. " kills")
  eq(output(), whole)
end)
