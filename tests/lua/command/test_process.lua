-- The command as a process: closed and full streams, signals, limits of the shell, files of a killed run.

local SIM2D = os.getenv "S2_SIM2D" or arg[-1]
local FOLDER = os.tmpname()
os.remove(FOLDER)
assert(os.execute("mkdir '" .. FOLDER .. "'"))

local function write_file(name, text)
  local file <close> = assert(io.open(FOLDER .. "/" .. name, "w"))
  file:write(text)
end

local function read_file(name)
  local file = io.open(FOLDER .. "/" .. name)
  if not file then return nil end
  local text = file:read "a"
  file:close()
  return text
end

-- Runs a line of sh in FOLDER, where $SIM2D is the command; returns its status and the content of `err`.
local function sh(line)
  write_file("err", "")
  write_file("line", line)
  local _, kind, status = os.execute(("cd '%s' && SIM2D='%s' sh line 2>>err"):format(FOLDER, SIM2D))
  return kind == "exit" and status or kind .. " " .. status, read_file "err"
end

-- Address sanitizers need more address space than any limit of these tests.
local SANITIZED = sh "(ulimit -v 4000000; exec $SIM2D --version >/dev/null)" ~= 0

local function need_full_device()
  if not os.execute "test -w /dev/full" then skip "there is no /dev/full" end
end

local FALL = [[
local sim = require "sim2d"
local world = sim.world { dt = 0.01 }
world:circle { name = "ball", radius = 0.5, position = { 0, 3 } }
world:box { type = "static", size = { 9, 1 } }
]]

-- ---- Streams ------------------------------------------------------------------------------------

write_file("prints.lua", FALL .. [[
local recording = world:record(arg[1])
for i = 1, 100 do
  world:step()
  if i % 20 == 0 then print("printed", i) io.stderr:write("written\n") io.stdout:flush() end
end
assert(recording:close())
]])

test("output while a stream is closed is dropped", function()
  eq(sh "$SIM2D prints.lua open.s2d >out", 0)
  for _, streams in ipairs { ">&-", "2>&-", "<&-", "<&- >&- 2>&-" } do
    eq(sh("$SIM2D prints.lua closed.s2d >out " .. streams), 0, streams)
    eq(sh("$SIM2D prints.lua closed.csv >out " .. streams), 0, streams)
    eq(sh "$SIM2D replay closed.s2d closed-2.csv", 0, streams) -- complete
    eq(read_file "closed.csv", read_file "closed-2.csv")
    ok(not read_file "closed.csv":find "printed", streams)
    ok(not read_file "closed.s2d":find "written", streams)
  end
end)

test("a stream that takes nothing is a failure", function()
  need_full_device()
  local message = "^sim2d: cannot write to standard output[%a :]*\n$" -- print flushes: the reason may be lost
  eq(sh "$SIM2D prints.lua full.s2d >out", 0)
  for _, words in ipairs { "inspect full.s2d", "inspect full.s2d --json", "inspect full.s2d --frame 3",
    "replay full.s2d", "-e 'print(1)'", "-e 'print(1) os.exit(true)'", "--help", "--version" } do
    local status, err = sh("$SIM2D " .. words .. " >/dev/full")
    eq(status, 1, words)
    ok(err:find(message), err)
  end
  local status, err = sh "$SIM2D -e 'print(1) os.exit(7)' >/dev/full"
  eq(status, 7)
  ok(err:find(message), err)
end)

-- ---- Signals ------------------------------------------------------------------------------------

write_file("signalled.lua", FALL .. [[
world:step(10)
io.popen("kill -" .. arg[1] .. " $PPID"):close()
for _ = 1, 5 do pcall(world.run, world, { duration = 1, progress = false }) end
print "to its end"
]])

test("SIGTERM and SIGHUP close recordings, as Ctrl-C does", function()
  for signal, status in pairs { INT = 130, TERM = 143, HUP = 129 } do
    for _, suffix in ipairs { "npz", "s2d", "svg" } do
      local name = signal .. "." .. suffix
      eq(sh(("$SIM2D --record %s signalled.lua %s >out"):format(name, signal)), status, name)
      eq(read_file "out", "", name)
      ok(#read_file(name) > 100, name)
      ok(not read_file(name .. ".part"), name)
    end
    eq(sh(("$SIM2D replay %s.s2d again.csv"):format(signal)), 0)
  end
end)

test("an ignored signal stays ignored", function()
  eq(sh "trap '' HUP; $SIM2D signalled.lua HUP >out", 0)
  eq(read_file "out", "to its end\n")
end)

test("a run that is killed leaves the files before it, and the next run takes their place", function()
  for _, name in ipairs { "killed.npz", "killed.svg" } do
    eq(sh(("$SIM2D --record %s prints.lua other.s2d >out"):format(name)), 0)
    local before = read_file(name)
    ok(#before > 100)
    ok(sh(("$SIM2D --record %s signalled.lua KILL >out"):format(name)) ~= 0)
    eq(read_file(name), before)
    eq(sh(("$SIM2D --record %s signalled.lua CONT >out"):format(name)), 0)
    ok(read_file(name) ~= before)
    ok(not read_file(name .. ".part"))
  end
end)

-- ---- Limits -------------------------------------------------------------------------------------

test("a file at its size limit is reported like a full disk", function()
  for _, name in ipairs { "large.csv", "large.s2d", "large.npz" } do
    local status, err = sh(("(ulimit -f 8; exec $SIM2D --record %s -e 'local w = sim.world {} "
      .. "for i = 1, 20 do w:circle { radius = 1, position = { 3 * i, 0 } } end w:step(500)')"):format(name))
    eq(status, 1, name)
    ok(err:find("cannot write '" .. name .. "': File too large", 1, true), err)
  end
end)

test("too little memory for OpenBLAS ends the run with a message", function()
  if SANITIZED then skip "sanitizers need more" end
  local told = 0
  for kilobytes = 110000, 230000, 20000 do
    local status, err = sh(("(ulimit -v %d; exec $SIM2D -e 'local a = sim.array { { 2, 1 }, { 1, 2 } } "
      .. "print(sim.linalg.inv(a)[1][1])' >out)"):format(kilobytes))
    if err:find("room for the 128 MB that OpenBLAS needs", 1, true) then
      eq(status, 1)
      told = told + 1
    end -- otherwise there was enough memory, or too little for the libraries
  end
  ok(told > 0)
end)

test("the threads of OpenBLAS end before the script runs", function()
  if not io.open "/proc/self/status" then skip "needs /proc" end
  local status, err = sh [[(unset OPENBLAS_NUM_THREADS; exec $SIM2D -e '
    print(sim.linalg.inv(sim.array { { 2, 1 }, { 1, 2 } })[1][1])
    print(io.open("/proc/self/status"):read("a"):match "Threads:%s*(%d+)")' >out)]]
  eq(status, 0, err)
  eq(read_file "out", "0.66666666666667\n1\n")
end)

-- ---- Files that were cut ------------------------------------------------------------------------

test("a cut recording is converted with a note", function()
  eq(sh "$SIM2D prints.lua whole.s2d >out && head -c 2000 whole.s2d >cut.s2d", 0)
  local status, err = sh "$SIM2D replay cut.s2d cut.csv"
  eq(status, 1)
  ok(err:match "^sim2d: note: 'cut.s2d' is cut short or damaged; 'cut.csv' holds the %d+ frames before that point\n$", err)
  ok(#read_file "cut.csv" > 100)
  status, err = sh "$SIM2D replay whole.s2d whole.csv"
  eq(status, 0)
  eq(err, "")
end)

test("a .csv whose last line does not end is read with a warning", function()
  for text, line in pairs { ["a,b\n1,2\n3,4.25"] = 3, ["1,2\n3,4.25"] = 2, ["a\nx\n\"y\""] = 3 } do
    write_file("open.csv", text)
    local status, err = sh "$SIM2D -e 'assert(sim.data.load \"open.csv\")'"
    eq(status, 0)
    ok(err:find("'open.csv' ends within line " .. line .. ": if it was cut there", 1, true), err)
    for _, rest in ipairs { "\n", "\r\n", "\n# a comment" } do
      write_file("open.csv", text .. rest)
      status, err = sh "$SIM2D -e 'assert(sim.data.load \"open.csv\")'"
      eq(status, 0)
      eq(err, "")
    end
  end
end)

os.execute("rm -r '" .. FOLDER .. "'")
