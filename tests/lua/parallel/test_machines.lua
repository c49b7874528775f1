-- sim.parallel under mpirun: the same files from any number of processes, also after kills. All on one machine.

local SIM2D = os.getenv "S2_SIM2D" or arg[-1]

local FOLDER = os.tmpname()
os.remove(FOLDER)
assert(os.execute("mkdir " .. FOLDER))
at_end(function() os.execute("rm -r " .. FOLDER) end)

-- Runs a shell line in FOLDER; returns whether it succeeded, and what it printed.
local function shell(line)
  local good = os.execute(("cd '%s' && { %s; } >out 2>&1 </dev/null"):format(FOLDER, line))
  local file <close> = assert(io.open(FOLDER .. "/out"))
  return good, file:read "a"
end

local function read(name)
  local file <close> = assert(io.open(FOLDER .. "/" .. name, "rb"))
  return file:read "a"
end

local function write(name, text)
  local file <close> = assert(io.open(FOLDER .. "/" .. name, "w"))
  file:write(text)
end

local function mpirun(n, words, before)
  return shell(("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1 %s "
    .. "mpirun --oversubscribe -n %d '%s' %s"):format(before or "", n, SIM2D, words))
end

local _, said = shell(("OMPI_COMM_WORLD_SIZE=2 '%s' -e 'print(1)'"):format(SIM2D))
local without = said:find "this build has no MPI: build with %-DS2_MPI=ON, or start one process"

test("a build without MPI reports it when it is one of several", function()
  if not without then skip "this build has MPI" end
  ok(without)
end)

local function wanted()
  if without then skip "this build has no MPI" end
  if not os.execute "command -v mpirun >/dev/null" then skip "there is no mpirun" end
end

write("sweep.lua", [[
  local sim = require "sim2d"
  local sweep = sim.sweep {
    grid = { height = { 1, 2, 3, 4, 5 }, e = { 0.1, 0.9 } }, repeats = 4, journal = arg[2],
    common = { wait = tonumber(arg[3]) },
    run = function(p, job, common)
      local t = sim.clock()
      while sim.clock() - t < common.wait do end
      if job == 20 and os.getenv "S2_TEST_KILL" then
        local status <close> = io.open "/proc/self/stat"
        os.execute("kill -KILL " .. status:read "n")
      end
      if p.height == 5 and p.e == 0.9 then error "bad corner" end
      local world = sim.world { dt = 0.01 }
      world:box { size = { 10, 1 }, position = { 0, -0.5 }, type = "static" }
      local ball = world:circle { radius = 0.5, position = { 0, p.height }, velocity = { sim.random.normal(), 0 } }
      world:step(50)
      return { x = ball.position.x, y = ball.position.y }
    end,
  }
  assert(sweep:save(arg[1]))
  print(sim.parallel.machines(), #sweep.failures)
]])

test("files are the same from one process, two and four", function()
  wanted()
  local good, text = shell(("'%s' sweep.lua one.npz j1 0"):format(SIM2D))
  eq({ good, text }, { true, "1\t4\n" })
  for _, n in ipairs { 2, 4 } do
    local good, text = mpirun(n, ("sweep.lua %d.npz j%d 0"):format(n, n))
    eq({ good, text }, { true, n .. "\t4\n" }) -- only the first runs the script
    eq(read(n .. ".npz"), read "one.npz")
  end
end)

test("a process that is killed ends the run, which continues from the journal and writes the same files", function()
  wanted()
  ok(shell(("'%s' sweep.lua one.csv j.one 0.1"):format(SIM2D)))
  -- one process, killed by a job; then all
  local function kills(before, n)
    local good = mpirun(n, "sweep.lua two.csv j.two 0.1", before)
    return not good
  end
  ok(kills("S2_TEST_KILL=1", 2), "no process was killed")
  ok(kills("timeout -s KILL 0.9", 3), "it was over before it was killed")
  os.execute "sleep 0.5" -- until the last of them has ended, which has the journal
  ok(mpirun(4, "sweep.lua two.csv j.two 0.1"))
  eq(read "two.csv", read "one.csv")
end)

test("errors on another machine are named as here", function()
  wanted()
  write("bad.lua", [[
    local sim = require "sim2d"
    print(pcall(sim.parallel.map, function(x) if x == 7 then error("bad " .. x) end end, 20))
    print(pcall(sim.parallel.map, { "no_such_module", "f" }, 20))
    print(pcall(sim.parallel.map, function(x) if x == 7 then while true do end end end, 20, { time_limit = 0.2 }))
    print(#sim.parallel.map(function(x) return string.rep("x", 1e6) end, 50))
    print(#sim.parallel.map(function(x) return #x end, { ("x"):rep(5e6), ("y"):rep(5e6), "z", "z" }))
  ]])
  local good, text = mpirun(3, "bad.lua")
  ok(good, text)
  ok(text:find "job 7 of 20 failed: bad.lua:2: bad 7\nstack traceback:\n\tbad.lua:2")
  ok(text:find "the jobs cannot start: module 'no_such_module' not found")
  ok(text:find "job 7 of 20 failed: the job exceeded its time limit of 0.2 s: bad.lua:4: stopped here")
  ok(text:find "\n50\n4\n$")
end)
