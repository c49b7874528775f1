-- Recordings from the command line: inspect, replay, killed runs, full disks.

local SIM2D = os.getenv "S2_SIM2D" or arg[-1]
local FOLDER = os.tmpname()
os.remove(FOLDER)
assert(os.execute("mkdir '" .. FOLDER .. "'"))
at_end(function() os.execute("rm -r '" .. FOLDER .. "'") end)

local function write_file(name, text)
  local file = assert(io.open(FOLDER .. "/" .. name, "wb"))
  file:write(text)
  file:close()
end

local function read_file(name)
  local file = assert(io.open(FOLDER .. "/" .. name, "rb"))
  local text = file:read "a"
  file:close()
  return text
end

-- Runs `sim2d LINE` in FOLDER.
local function run(line)
  local _, kind, status = os.execute(("cd '%s' && '%s' %s >out 2>err </dev/null"):format(FOLDER,
    SIM2D, line))
  return { status = kind == "exit" and status or kind .. " " .. status, out = read_file "out",
    err = read_file "err" }
end

local function has(text, part)
  ok(text:find(part, 1, true), ("%q has no %q"):format(text, part))
end

write_file("bounce.lua", [[
local sim = require "sim2d"
local options = sim.options { count = { 5, "discs" } }
local world = sim.world { dt = 0.01 }
world:box { type = "static", name = "floor", position = { 0, -0.5 }, size = { 20, 1 } }
for i = 1, options.count do
  world:circle { name = "disc " .. i, radius = 0.4, position = { i, 2 + sim.random.uniform() } }
end
world:step(150)
print "done"
]])

test("inspect shows the contents of a recording", function()
  eq(run("--seed 7 --record run.s2d bounce.lua --count 3").status, 0)
  local result = run "inspect run.s2d"
  eq(result.err, "")
  eq(result.status, 0)
  for _, part in ipairs { "version 6, complete", "seed            7", "script          bounce.lua",
    "command         sim2d --seed 7 --record run.s2d bounce.lua --count 3",
    "frames          151", "time            1.5 s, from 0 s to 1.5 s", "bodies          4",
    "energy", "worst residual" } do
    has(result.out, part)
  end
  has(run("inspect run.s2d --json").out, '"complete":true')
  has(run("inspect --frame 150 run.s2d").out, "frame 150: step 150, t = 1.5 s")
  has(run("inspect --frame 0 --json run.s2d").out, '{"serial":2,"name":"disc 1","q":[0,1,')
end)

test("wrong words and wrong files", function()
  local function fails(status, line, message)
    local result = run(line)
    eq(result.status, status, line)
    eq(result.out, "", line)
    has(result.err, message)
  end
  fails(2, "inspect", "the name of a recording is missing")
  fails(2, "inspect run.s2d --jsn", "unknown option: --jsn")
  fails(2, "inspect run.s2d --frame x", "--frame needs the number of a frame, 0 or more: x")
  fails(2, "inspect run.s2d --frame", "--frame needs the number of a frame, 0 or more")
  fails(1, "inspect run.s2d --frame 151", "no frame 151 in 'run.s2d' (it has 151, counted from 0)")
  fails(2, "inspect run.s2d more", "unexpected word: more")
  fails(2, "inspect bounce.lua", "'bounce.lua' is not a .s2d recording")
  fails(2, "replay missing.s2d", "cannot read 'missing.s2d': No such file or directory")
  fails(2, "replay run.s2d out.txt", "unknown suffix '.txt'")
  fails(2, "replay run.s2d run.s2d", "a recording cannot be written over itself")
  fails(2, "replay run.s2d ./run.s2d", "a recording cannot be written over itself")
  fails(2, "replay run.s2d no/such/out.csv", "No such file or directory")
  fails(2, "replay --validate run.s2d out.csv", "--validate writes no file")
end)

test("a recording converted to another file equals the file of the run", function()
  eq(run("--seed 7 --record direct.csv bounce.lua --count 3").status, 0)
  eq(run("replay run.s2d out.csv").status, 0)
  ok(read_file "out.csv" == read_file "direct.csv", "csv differ")
  eq(run("--record other.csv replay run.s2d").status, 0)
  ok(read_file "other.csv" == read_file "direct.csv", "csv differ")
  eq(run("--seed 7 --record direct.svg bounce.lua --count 3").status, 0)
  eq(run("replay run.s2d out.svg").status, 0)
  ok(read_file("out.svg"):find "<svg" and #read_file "out.svg" > 1000)
end)

test("the same run writes the same bytes", function()
  local first = read_file "run.s2d"
  eq(run("--seed 7 --record run.s2d bounce.lua --count 3").status, 0)
  ok(read_file "run.s2d" == first, "files differ")
end)

test("validate takes the same path", function()
  local before = read_file "run.s2d"
  local result = run "replay --validate --run run.s2d"
  eq(result.status, 0)
  has(result.out, "took the same path, bit for bit (151 frames)")
  ok(read_file "run.s2d" == before, "the recording was touched")
end)

test("validate finds the first difference", function()
  local script = read_file "bounce.lua"
  write_file("bounce.lua", (script:gsub("world:step%(150%)",
    "world:step(60) world.bodies[3].vx = 1e-12 world:step(90)")))
  local result = run "replay --validate --run run.s2d"
  eq(result.status, 1)
  has(result.out, "frame 61 (step 61, t = 0.61 s): x of body 'disc 2' is ")
  write_file("bounce.lua", (script:gsub("150", "100")))
  result = run "replay --validate --run run.s2d"
  eq(result.status, 1)
  has(result.out, "the recording has 151 frames, but the new run made 101")
  write_file("bounce.lua", (script:gsub("150", "200")))
  result = run "replay --validate --run run.s2d"
  eq(result.status, 1)
  has(result.out, "the recording ends after 151 frames, but the new run continues")
  write_file("bounce.lua", script)
end)

test("validate a recording the script asked for, among others", function()
  write_file("own.lua", [[
local sim = require "sim2d"
for i = 1, 2 do
  local world = sim.world { dt = 0.01 }
  world:circle { radius = 0.5, position = { 0, 3 * i } }
  local recording = assert(world:record("own" .. i .. ".s2d", { every = 5 }))
  world:step(20)
  recording:close()
end
]])
  eq(run("own.lua").status, 0)
  local first = read_file "own1.s2d"
  local result = run "replay own2.s2d --validate --run"
  eq(result.err, "")
  has(result.out, "bit for bit (5 frames)")
  ok(read_file "own1.s2d" == first)
  eq(run("--record piped.s2d - <bounce.lua").status, 0)
  eq(run("replay piped.s2d --validate --run").status, 2)
end)

-- Clocks decide how long a planner computes: the recording contains its decisions.
test("validate a run whose planner missed deadlines", function()
  write_file("late.lua", [[
local sim = require "sim2d"
local world = sim.world { dt = 0.01 }
local bob = world:circle { radius = 0.1, mass = 1, position = { 0, -0.5 }, mask = 0 }
local hinge = world:hinge { bob, anchor = { 0, 0 } }
world:actuator { "motor", joint = hinge, kind = "torque", range = { -3, 3 } }
local slow = tonumber(assert(io.open "slow"):read "a")
local law = sim.control.planner(world, { horizon = 0.4, period = 0.02, iterations = 6, budget = 1e6, tolerance = 1e-14,
  cost = { { "angle", of = hinge, field = { "angle", "speed" }, goal = { math.pi, 0 } }, controls = 0.01 } })
-- every third decision comes late, by as much as the file says
world:control(function(w, t)
  law.problem.budget = law.decisions % 3 == 2 and slow or 1e6
  return law(w, t)
end, { period = 0.02 })
world:step(60)
print(law.decisions, law.misses)
]])
  write_file("slow", "1e-9")
  eq(run("--record late.s2d late.lua").out, "30\t10\n")
  eq(run("--record late.html late.lua").status, 0)
  write_file("slow", "1e6")
  local free = run "--record free.s2d late.lua"
  eq(free.out, "30\t0\n")
  -- where there is enough time now, the former misses are repeated, and the reverse
  local result = run "replay --validate --run late.s2d"
  has(result.out, "30\t10\n")
  has(result.out, "took the same path, bit for bit (61 frames)")
  write_file("slow", "1e-9")
  result = run "replay --validate --run free.s2d"
  has(result.out, "30\t0\n")
  has(result.out, "took the same path, bit for bit (61 frames)")
  -- the two are different runs
  ok(read_file "late.s2d" ~= read_file "free.s2d")
end)

local function exists(name)
  local file = io.open(FOLDER .. "/" .. name)
  if file then file:close() end
  return file ~= nil
end

test("validate asks before it runs a script, and shows the script", function()
  write_file("mark.lua", [[
local sim = require "sim2d"
io.open("ran", "w"):close()
local world = sim.world {}
world:circle { radius = 1 }
world:step(3)
]])
  eq(run("--record mark.s2d mark.lua 'a b' \"it's\"").status, 0)
  local hash = io.popen(("sha256sum '%s/mark.lua'"):format(FOLDER)):read "a":match "^%x+"
  ok(not hash or run("inspect mark.s2d").out:find("script_hash     " .. hash, 1, true), "another hash")
  os.remove(FOLDER .. "/ran")
  local result = run "replay mark.s2d --validate"
  eq(result.status, 2)
  eq(result.out, "")
  has(result.err, "this would run 'mark.lua', which is the script that was recorded; to allow this, add --run\n")
  has(result.err, "the recorded command line: sim2d --record mark.s2d mark.lua 'a b' 'it'\\''s'\n")
  ok(not exists "ran")
  write_file("mark.lua", read_file "mark.lua" .. "-- more\n")
  has(run("replay mark.s2d --validate").err, "which has changed since it was recorded")
  result = run "replay mark.s2d --validate --run"
  eq(result.status, 0)
  has(result.err, "note: 'mark.lua' has changed since it was recorded")
  ok(exists "ran")
  eq(run("replay mark.s2d --run").status, 2)
  os.remove(FOLDER .. "/mark.lua")
  result = run "replay mark.s2d --validate --run"
  eq(result.status, 2)
  has(result.err, "cannot open 'mark.lua': No such file or directory")
end)

test("validate runs no script outside of the folder, unless it is named", function()
  assert(os.execute(("mkdir '%s/inner'"):format(FOLDER)))
  write_file("outer.lua", 'local w = require "sim2d".world {} w:circle { radius = 1 } w:step(3) print "ran"')
  assert(os.execute(("cd '%s' && ln -s ../outer.lua inner/link.lua"):format(FOLDER)))
  local function inner(line)
    local _, kind, status = os.execute(("cd '%s/inner' && '%s' %s >../out 2>../err"):format(FOLDER, SIM2D, line))
    return { status = kind == "exit" and status, out = read_file "out", err = read_file "err" }
  end
  for _, script in ipairs { "../outer.lua", "link.lua", FOLDER .. "/outer.lua" } do
    eq(inner("--record outer.s2d " .. script).status, 0)
    local result = inner "replay outer.s2d --validate --run"
    eq({ result.status, result.out }, { 2, "" })
    has(result.err, "is outside this folder; to allow it, name it: --run=" .. script)
    has(result.err, "the recorded command line: sim2d --record outer.s2d " .. script)
    eq(inner("replay outer.s2d --validate --run=../other.lua").status, 2)
    eq(inner("replay outer.s2d --validate --run=" .. script).status, 0)
  end
end)

test("a recording whose script has moved is validated with the path it has now", function()
  assert(os.execute(("mkdir -p '%s/first/deep' '%s/second'"):format(FOLDER, FOLDER)))
  local text = 'local sim = require "sim2d" local w = sim.world {} local b = w:circle { radius = 1 } '
    .. 'b.vx = sim.options { v = 0 }.v + sim.random.uniform() w:step(3)'
  for i, name in ipairs { "first/deep/mover.lua", "first/mover.lua", "mover.lua" } do
    write_file(name, text)
    eq(run(("--seed %d --record moved.s2d %s --v 2"):format(i, name)).status, 0)
    assert(os.rename(FOLDER .. "/" .. name, FOLDER .. "/second/other.lua"))
    local result = run "replay moved.s2d --validate --run"
    eq(result.status, 2)
    has(result.err, "cannot open '" .. name .. "': No such file or directory; if the script has moved, name it: --run=PATH")
    result = run "replay moved.s2d --validate --run=second/other.lua"
    eq(result.status, 0)
    ok(not result.err:find "has changed", result.err)
    write_file("second/other.lua", text .. " -- now")
    has(run("replay moved.s2d --validate --run=second/other.lua").err, "'second/other.lua' has changed since it was recorded")
    write_file("second/other.lua", text:gsub("%.v %+", ".v + 1 +"))
    eq(run("replay moved.s2d --validate --run=second/other.lua").status, 1)
    eq(run("replay moved.s2d --validate --run=second/none.lua").status, 2)
  end
end)

test("validate takes no code from a recording, and writes nothing that it names", function()
  write_file("plain.lua", "require 'sim2d'")
  local code = [["io.open('ran', 'w'):close() local w = sim.world {} w:circle { radius = 1 } w:step(3)"]]
  for _, line in ipairs { "-e " .. code, "-e " .. code .. " plain.lua", "-i plain.lua" } do
    local words = line:find "^-i" and '-i -e "w = sim.world {} w:circle {radius = 1} w:step(3)" plain.lua' or line
    eq(run("--record code.s2d " .. words).status, 0)
    os.remove(FOLDER .. "/ran")
    local result = run "replay code.s2d --validate --run"
    eq({ result.status, result.out }, { 2, "" })
    has(result.err, " is not allowed in a recorded command line\n  the recorded command line: sim2d --record code.s2d -")
    ok(not exists "ran")
  end
  eq(run("--seed 3 --dump-problems dumped --record run2.s2d bounce.lua").status, 0)
  assert(os.execute(("rm -r '%s/dumped'"):format(FOLDER)))
  local before = read_file "run2.s2d"
  eq(run("replay run2.s2d --validate --run").status, 0)
  ok(not exists "dumped", "--dump-problems acted")
  ok(read_file "run2.s2d" == before, "the recording was touched")
end)

test("a run that raises, or has no frames, is not the same path", function()
  write_file("raises.lua", [[
local world = require "sim2d".world {}
world:circle { radius = 1 }
world:step(5)
if io.open "armed" then error "late trouble" end
]])
  eq(run("--record raises.s2d raises.lua").status, 0)
  eq(run("replay raises.s2d --validate --run").status, 0)
  write_file("armed", "")
  local result = run "replay raises.s2d --validate --run"
  eq(result.status, 1)
  has(result.err, "late trouble")
  has(result.out, "differs\n  the new run ended with an error; 6 of 6 frames agree")
  os.remove(FOLDER .. "/armed")
  write_file("none.s2d", read_file("raises.s2d"):sub(1, 400))
  has(run("inspect none.s2d").out, "frames          0\n")
  result = run "replay none.s2d --validate --run"
  eq({ result.status, result.out }, { 1, "" })
  has(result.err, "'none.s2d' has no frames: there is nothing to compare with")
  -- os.exit ends the run, not the comparison.
  write_file("exits.lua", [[
local world = require "sim2d".world {}
world:circle { radius = 1 }
world:step(io.open "armed" and 3 or 5)
pcall(os.exit, 0)
world:step(1)
]])
  eq(run("--record exits.s2d exits.lua").status, 0)
  result = run "replay exits.s2d --validate --run"
  eq(result.status, 0)
  has(result.out, "the same path, bit for bit (6 frames)")
  write_file("armed", "")
  result = run "replay exits.s2d --validate --run"
  eq(result.status, 1)
  has(result.out, "the recording has 6 frames, but the new run made 4")
  os.remove(FOLDER .. "/armed")
end)

test("the contents of a file cannot control the terminal, and are JSON", function()
  local script = "a\27[31m\n\127\xc2\x9b\xff.lua"
  write_file(script, [[
local sim = require "sim2d"
local world = sim.world {}
world:circle { name = "b\27]0;t\7\xfe\xc3\xa5", radius = 1 }
sim.watch("c\r\xc3", function() return 1 end, "\8m")
world:step(3)
]])
  eq(run("--record steer.s2d '" .. script .. "' 'x\nframes 9'").status, 0)
  for _, line in ipairs { "inspect steer.s2d", "inspect steer.s2d --frame 1", "replay steer.s2d",
    "inspect --json steer.s2d", "inspect --json steer.s2d --frame 1", "replay steer.s2d --validate" } do
    local result = run(line)
    local text = result.out .. result.err
    ok(utf8.len(text), line)
    eq(text:gsub("\n", ""):match "%c", nil, line)
    eq(text:find("\xc2\x9b", 1, true), nil, line)
  end
  has(run("inspect steer.s2d").out, [[script          a\x1B[31m\x0A\x7F\xC2\x9B\xFF.lua]])
  has(run("inspect steer.s2d --frame 1").out, [[c\x0D\xC3 = 1 \x08m]])
  has(run("inspect steer.s2d --frame 1").out, [[b\x1B]0;t\x07 ]])
  has(run("inspect --json steer.s2d").out, [["a\u001b[31m\u000a\u007f]] .. ("\xef\xbf\xbd"):rep(3) .. '.lua"')
  has(run("inspect --json steer.s2d --frame 1").out, [["name":"b\u001b]0;t\u0007]] .. "\xef\xbf\xbd\xc3\xa5")
end)

test("a killed run leaves all frames it made", function()
  write_file("killed.lua", [[
local sim = require "sim2d"
local world = sim.world { dt = 0.01 }
world:circle { radius = 0.5, position = { 0, 10 } }
world:step(77)
io.popen("kill -KILL $PPID"):close()
world:step(1)
]])
  eq(run("--record killed.s2d killed.lua").status ~= 0, true)
  local result = run "inspect killed.s2d"
  eq(result.status, 0)
  has(result.out, "cut short")
  has(result.out, "frames          78")
  -- and when the last frame is cut as well
  write_file("cut.s2d", read_file("killed.s2d"):sub(1, -4))
  has(run("inspect cut.s2d").out, "frames          77")
end)

test("a full disk ends the recording, not the run", function()
  if not os.execute("test -w /dev/full") then skip "no /dev/full" end
  os.execute(("ln -s /dev/full '%s/full.s2d'"):format(FOLDER))
  write_file("full.lua", [[
local sim = require "sim2d"
local world = sim.world { dt = 0.01 }
world:circle { radius = 0.5, position = { 0, 10 } }
local recording, message = world:record("full.s2d")
print(recording, message)
world:step(5)
print(world.time)
]])
  local result = run "full.lua"
  eq(result.status, 0)
  has(result.out, "nil\tcannot write 'full.s2d': No space left on device")
  has(result.out, "0.05")
end)

test("a disk that fills up ends the recording, not the run", function()
  write_file("filling.lua", [[
local sim = require "sim2d"
local world = sim.world { dt = 0.01 }
for i = 1, 50 do world:circle { radius = 0.5, position = { 2 * i, 10 } } end
local recording = assert(world:record("filling.s2d"))
world:step(500)
print(math.floor(world.time * 100 + 0.5), recording:close())
]])
  -- ulimit: 64 blocks of 512 or 1024 bytes
  local _, kind, status = os.execute(
    ("cd '%s' && (trap '' XFSZ; ulimit -f 64; exec '%s' filling.lua) 2>&1 | cat >out; true")
    :format(FOLDER, SIM2D))
  eq(kind .. status, "exit0")
  local out = read_file "out"
  has(out, "warning: the recording ends here: cannot write 'filling.s2d': File too large")
  has(out, "500\tnil\tcannot write 'filling.s2d': File too large")
  has(run("inspect filling.s2d").out, "cut short")
end)

write_file("large.lua", [[
local sim = require "sim2d"
local world = sim.world { dt = 0.01, gravity = { 0, 0 } }
local function more(n, x)
  for i = 1, n do
    world:circle { radius = 0.1, position = { x, i }, velocity = { 1e-3 * i, 0 }, angular_velocity = i }
  end
end
more(60, 0)
local recording = assert(world:record "large.npz")
local exact = arg[1] and assert(world:record "large.s2d")
world:step(400)
more(240, 10) -- the arrays of poses are spread in the file they have gone to
world:step(400)
print(math.floor(world.time * 100 + 0.5), recording:close())
if exact then exact:close() end
]])

test("arrays that have grown into temporary files are those of the run", function()
  eq(run("large.lua exact").out, "800\ttrue\n")
  local sim = require "sim2d"
  local data = assert(sim.data.load(FOLDER .. "/large.npz"))
  local recording <close> = assert(sim.read_recording(FOLDER .. "/large.s2d"))
  eq({ data.q.shape[1], data.q.shape[2], data.time[801] }, { 801, 900, recording.times[801] })
  for _, i in ipairs { 1, 200, 401, 402, 500, 801 } do
    local bodies, q, v = recording:frame(i).bodies, data.q[i], data.v[i]
    eq(#bodies, i > 401 and 300 or 60)
    for k = 1, 300 do
      local body = bodies[k] or { angle = 0 / 0, x = 0 / 0, y = 0 / 0, omega = 0 / 0, vx = 0 / 0, vy = 0 / 0 }
      eq({ q[3 * k - 2], q[3 * k - 1], q[3 * k] }, { body.angle, body.x, body.y })
      eq({ v[3 * k - 2], v[3 * k - 1], v[3 * k] }, { body.omega, body.vx, body.vy })
    end
  end
  os.remove(FOLDER .. "/large.s2d")
end)

test("no room for the temporary files of arrays: the frames until then are written", function()
  -- 12000 blocks of 512 or 1024 bytes: less than the next size of such a file
  local _, kind, status = os.execute(
    ("cd '%s' && (trap '' XFSZ; ulimit -f 12000; exec '%s' large.lua) 2>&1 | cat >out; true"):format(FOLDER, SIM2D))
  eq(kind .. status, "exit0")
  local out = read_file "out"
  has(out, "warning: the recording ends here: a temporary file cannot hold the recording: File too large")
  has(out, "800\tnil\ta temporary file cannot hold the recording: File too large")
  local sim = require "sim2d"
  local data = assert(sim.data.load(FOLDER .. "/large.npz"))
  ok(data.time.size > 300 and data.time.size < 801, "some of the run is there")
  eq(data.q.shape[1], data.time.size)
  near(data.time[data.time.size], (data.time.size - 1) * 0.01, 1e-12)
end)

test("paths that cannot be written", function()
  local result = run "--record no/such/run.s2d bounce.lua"
  eq(result.status, 1)
  has(result.err, "cannot write 'no/such/run.s2d': No such file or directory")
end)

test("a file that is being written already is refused", function()
  write_file("twice.lua", [[
local sim = require "sim2d"
local world = sim.world {}
local one = assert(world:record("twice.s2d"))
print(world:record("twice.s2d"))
world:step(3)
assert(one:close())
print(assert(world:record("twice.s2d")))
]])
  local result = run "twice.lua"
  eq(result.err, "")
  eq(result.out, "nil\tcannot write 'twice.s2d': the file is already being written\nRecording\n")
end)

write_file("plots.lua", [[
local sim = require "sim2d"
local ways = sim.options { worlds = { 1, "how many" } }
print(sim.plot { title = "early", { { 1, 2 } } }:show())
for i = 1, ways.worlds do
  local world = sim.world {}
  world:circle { radius = 1 }
  world:step(3)
  world:close()
end
print(sim.plot { title = "late", { { 2, 1 } } }:show "a name")
print(sim.plot { { { 2, 1 } } }:show(), sim.plot { { { 2, 1 } } }:show())
print(sim.plot { title = "early", { { 5, 7 } } }:show())
assert(sim.plot { { { 3, 1 } } }:save "saved.svg")
]])

test("plots a script shows or saves are in the recording of its first world", function()
  local result = run "--record plots.s2d plots.lua --worlds 2"
  eq(result.err, "")
  eq(result.out, "true\ntrue\ntrue\ttrue\ntrue\n")
  has(run("inspect plots.s2d").out, [[
  plots           early
                  a name
                  Plot 1
                  Plot 2
                  saved.svg
]])
  has(run("inspect plots.s2d --json").out, '"plots":["early","a name","Plot 1","Plot 2","saved.svg"]')
  ok(not run("inspect plots-2.s2d").out:find "plots  ", "plots are in the first file alone")
  ok(read_file("plots.s2d"):find(read_file "saved.svg", 1, true), "the plot is not in the file")
  eq(run("replay plots.s2d copy.s2d").status, 0)
  ok(read_file "copy.s2d" == read_file "plots.s2d", "plots are lost on the way")
  eq(run("replay plots.s2d copy.csv").status, 0)
  eq(run("replay --validate --run plots.s2d").status, 0)
end)

test("without a page plots are not shown", function()
  for _, words in ipairs { "", "--record plots.csv ", "--record plots.svg " } do
    local result = run(words .. "plots.lua")
    eq(result.err, "")
    eq(result.out, "false\nfalse\nfalse\tfalse\nfalse\n")
  end
end)

test("plots of a recording the script asked for", function()
  write_file("own_plots.lua", [[
local sim = require "sim2d"
local world = sim.world {}
local plot = sim.plot { title = "mine", { { 1, 2 } } }
local recording = assert(world:record "own.s2d")
assert(recording:plot(plot))
world:step()
assert(recording:plot(plot, "another"))
recording:close()
print(select(2, pcall(recording.plot, recording, plot)))
print(select(2, pcall(recording.plot, recording, {})))
print(select(2, pcall(recording.plot, recording, plot, 7)))
print(select(2, pcall(plot.show, plot, "")))
local table_ = assert(world:record("own.csv"))
print(select(2, pcall(table_.plot, table_, plot)))
local columns = assert(world:record("columns.csv", { columns = { "energy.total" } }))
print(select(2, pcall(columns.plot, columns, plot)))
]])
  local result = run "own_plots.lua"
  eq(result.err, "")
  for _, part in ipairs { "the recording is closed", "Plot expected, got table", "a name expected, got 7",
    "a name expected, got ''", "only .html and .s2d recordings hold plots", "a recording with columns holds no plots" } do
    has(result.out, part)
  end
  has(run("inspect own.s2d").out, "  plots           mine\n                  another\n")
end)

-- ---- Videos ---------------------------------------------------------------------------------------

local VIDEO = [[
local sim = require "sim2d"
local options = sim.options { frames = 3, width = 100, fps = 30, out = "x.gif" }
local world = sim.world { dt = 1 / 30, gravity = { 0, 0 } }
world:circle { radius = 0.3 }.velocity = { 1, 0.3 }
local recording, message = world:record(options.out, { width = options.width, fps = options.fps })
if not recording then print(message) os.exit(9) end
world:step(options.frames)
print(recording:close())
]]

test("a .gif of many frames takes no more memory than one of few", function()
  write_file("video.lua", VIDEO)
  if run("video.lua").status == 9 then skip(read_file "out") end
  -- an ffmpeg with too little memory for the frames: 200 of 4 MB
  local real = io.popen "command -v ffmpeg":read "l"
  assert(os.execute(("mkdir -p '%s/bin'"):format(FOLDER)))
  write_file("bin/ffmpeg", ("#!/bin/sh\nulimit -s 512; ulimit -v 800000; export MALLOC_ARENA_MAX=1\nexec timeout 60 '%s' \"$@\"\n"):format(real))
  assert(os.execute(("chmod +x '%s/bin/ffmpeg'"):format(FOLDER)))
  local function within(line)
    os.execute(("cd '%s' && PATH=\"$PWD/bin:$PATH\" '%s' %s >out 2>err </dev/null"):format(FOLDER, SIM2D, line))
    return read_file "out"
  end
  if within "video.lua --frames 2 --width 1000" ~= "true\n" then skip "ffmpeg does not run in 800 MB here" end
  eq(within "video.lua --frames 200 --width 1000", "true\n")
end)

test("a video of more than ten million frames is an error, and no file", function()
  write_file("video.lua", VIDEO)
  if run("video.lua").status == 9 then skip(read_file "out") end
  for _, suffix in ipairs { ".gif", ".mp4" } do
    for _, fps in ipairs { "3.1e8", "1e9", "1e300" } do
      local name = "many" .. suffix
      local result = run(("video.lua --fps %s --out %s"):format(fps, name))
      has(result.out, "nil\tcannot write 'many" .. suffix .. "': a video of more than 10 million frames: choose a lower fps")
      eq(io.open(FOLDER .. "/" .. name), nil)
      write_file("plain.lua", 'local w = require "sim2d".world { dt = 1 / 30 } w:circle { radius = 1 } w:step(3)')
      result = run(("--record %s --fps %s plain.lua"):format(name, fps))
      eq(result.status, 1)
      has(result.err, "10 million frames")
      eq(io.open(FOLDER .. "/" .. name), nil)
    end
  end
end)
