-- sim.read_recording: it returns the recorded numbers, and no damaged file crashes it.
local sim = require "sim2d"

local PATH = os.tmpname() .. ".s2d"
at_end(function() os.remove(PATH) end)

local function read_file(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local function write_file(path, text)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
end

-- Records a run, and returns the world's own values at each frame.
local function record(path, steps)
  local world = sim.world { dt = 0.01, gravity = { 0, -10 }, solver = "pdipm" }
  world:box { type = "static", name = "floor", position = { 0, -0.5 }, size = { 10, 1 } }
  local ball = world:circle { name = "ball", radius = 0.5, position = { 0, 0.8 }, velocity = { 1, 0 }, mass = 2 }
  local bob = world:circle { radius = 0.2, position = { 3, 1 } }
  world:hinge { bob, anchor = { 2, 1 }, name = "pivot" }
  local recording = assert(world:record(path))
  local said = {}
  local function note()
    local contacts = world:contacts()
    said[#said + 1] = { time = world.time, q = { ball.angle, ball.x, ball.y }, v = { ball.omega, ball.vx, ball.vy },
      energy = world:energy(), momentum = world:momentum(), contacts = contacts }
  end
  note()
  for i = 1, steps do
    if i == steps then world:circle { name = "late", radius = 0.1, position = { -3, 3 } } end
    world:step()
    note()
  end
  assert(recording:plot(sim.plot { title = "a plot", { { 1, 2 } } }))
  assert(recording:close())
  return said
end

local said = record(PATH, 60)

test("frames hold the state of the world, bit for bit where the file does", function()
  local recording <close> = assert(sim.read_recording(PATH))
  eq(#recording, 61)
  eq({ recording.count, recording.complete, recording.path }, { 61, true, PATH })
  ok(recording.version >= 4)
  eq({ recording.settings.dt, recording.settings.solver, recording.settings.gravity.y }, { 0.01, "pdipm", -10 })
  local touched = 0
  for i, frame in recording:frames() do
    local want = said[i]
    eq(frame.time, want.time)
    eq(frame.step, i - 1)
    local ball = frame.bodies.ball
    eq({ ball.angle, ball.x, ball.y }, want.q)
    eq({ ball.omega, ball.vx, ball.vy }, want.v)
    eq({ ball.name, ball.type, ball.mass, frame.bodies[2] == ball }, { "ball", "dynamic", 2, true })
    eq(frame.energy, want.energy)
    near({ frame.momentum.x, frame.momentum.y }, { want.momentum.x, want.momentum.y }, 0)
    eq(#frame.contacts, #want.contacts)
    for k, contact in ipairs(frame.contacts) do
      touched = touched + 1
      eq({ contact.a.name, contact.b.name }, { want.contacts[k].a.name, want.contacts[k].b.name })
      near(contact.point, want.contacts[k].point, 1e-3)
      near(contact.normal, want.contacts[k].normal, 1e-4)
      near(contact.normal_impulse, want.contacts[k].normal_impulse, 1e-3 * want.contacts[k].normal_impulse)
    end
    eq({ #frame.joints, frame.joints.pivot.type, frame.joints.pivot.a.serial }, { 1, "hinge", frame.bodies[3].serial })
    near(frame.joints.pivot.anchor_b, { 2, 1 }, 1e-3)
    eq(frame.bodies.late ~= nil, i == 61)
  end
  ok(touched > 10, "the ball lies on the floor in the end")
  eq(recording:frame(7).time, said[7].time) -- back
end)

test("columns are arrays over the frames", function()
  local recording = assert(sim.read_recording(PATH))
  local y, total = recording:column "ball.y", recording:column "energy.total"
  eq({ y.size, recording.times.size }, { 61, 61 })
  for i, want in ipairs(said) do
    eq({ y[i], total[i], recording.times[i] }, { want.q[3], want.energy.total, want.time })
  end
  local late = recording:column "late.x"
  eq({ late[60], late[61] }, { 0 / 0, -3 })
  near(recording:column("pivot.angle")[1], 0, 1e-6)
  eq(recording:column("contacts")[1], 0)
  for name, message in pairs { ["ball.z"] = "the columns of a body are angle, x, y", ["bal.x"] = "no channel, body or joint",
    ["energy.totl"] = "did you mean 'energy.total'", [""] = "no channel" } do
    raises(message, recording.column, recording, name)
  end
  raises("a name expected, got 3", recording.column, recording, 3)
end)

test("times find frames", function()
  local recording = assert(sim.read_recording(PATH))
  eq({ recording:find(-1), recording:find(0), recording:find(0.305), recording:find(9) }, { 1, 1, 31, 61 })
  raises("a time expected, got nan", recording.find, recording, 0 / 0)
end)

test("watched values of the script, its plots, the run", function()
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir '" .. folder .. "'"))
  write_file(folder .. "/script.lua", [[
    local sim = require "sim2d"
    local options = sim.options { count = { 1, "" }, fast = { false, "" }, name = { "", "" } }
    local world = sim.world {}
    local ball = world:circle { radius = 1 }
    sim.watch("twice", function() return 2 * ball.y end, "m")
    world:step(3)
    sim.watch("late", function() return 7 end)
    world:step(2)
    sim.plot { title = "shown", { { 1, 2 } } }:show()
  ]])
  local command = os.getenv "S2_SIM2D" or arg[-1]
  assert(os.execute(("cd '%s' && '%s' --seed 12 --record a.s2d script.lua --count 3 --fast --name='a b'"):format(folder,
    command)))
  local recording = assert(sim.read_recording(folder .. "/a.s2d"))
  eq(recording.channels, { { name = "twice", unit = "m" }, { name = "late", unit = "" } })
  local twice, late = recording:column "twice", recording:column "late"
  eq({ twice[1], late[4], late[5], recording:frame(6).channels.late.value }, { 0, 0 / 0, 7, 7 })
  for i, frame in recording:frames() do eq(twice[i], 2 * frame.bodies[1].y) end
  local run = recording.run
  eq({ run.seed, run.script, run.recording, run.every, run.sim2d }, { 12, "script.lua", 1, 1, sim.version })
  eq(run.options, { count = "3", fast = "true", name = "a b" })
  eq(run.words[1], "--seed")
  eq({ #recording.plots, recording.plots[1].name }, { 1, "shown" })
  eq(recording.plots[1].svg, sim.plot { title = "shown", { { 1, 2 } } }:svg())
  os.execute("rm -r '" .. folder .. "'")
end)

test("a body without a name is no column", function()
  local recording = assert(sim.read_recording(PATH))
  raises("no channel, body or joint", recording.column, recording, "3.y")
end)

test("mistakes are reported at the line of the script", function()
  local recording = assert(sim.read_recording(PATH))
  raises("test_read_recording.lua:%d+: bad argument #1 to 'frame' %(a frame from 1 to 61 expected, got 62%)",
    function() local _ = recording:frame(62) end)
  raises("a frame from 1 to 61 expected, got 0", recording.frame, recording, 0)
  raises("a frame from 1 to 61 expected, got 1.5", recording.frame, recording, 1.5)
  raises("call methods with a colon", recording.frame, 1)
  raises("it has channels, close, column", function() return recording.length end)
  raises("'count' cannot be set", function() recording.count = 1 end)
  raises("path expected, got table", sim.read_recording, {})
  recording:close()
  recording:close()
  raises("is closed", recording.frame, recording, 1)
  eq(recording.count, 61)
  eq(tostring(recording), ("Recording (%s, 61 frames)"):format(PATH))
end)

test("no file, no recording", function()
  local none, message = sim.read_recording "no/such.s2d"
  eq({ none, message }, { nil, "cannot read 'no/such.s2d': No such file or directory" })
  write_file(PATH .. ".txt", "time,x\n")
  none, message = sim.read_recording(PATH .. ".txt")
  ok(none == nil and message:find "is not a .s2d recording", message)
  os.remove(PATH .. ".txt")
end)

-- Every frame that can be read is complete; the rest gives a message or is not counted.
local function read_all(path)
  local recording, message = sim.read_recording(path)
  if not recording then return ok(type(message) == "string") end
  local frames = 0
  for i = 1, #recording do
    local frame, trouble = recording:frame(i)
    ok(frame and #frame.bodies >= 3 or type(trouble) == "string")
    if frame then frames = frames + 1 end
  end
  for _, name in ipairs { "ball.x", "time" } do
    local success, array = pcall(recording.column, recording, name)
    ok(success or tostring(array):find "recording", array)
  end
  ok(type(recording.plots) == "table")
  recording:close()
  return frames
end

test("a file that was cut contains the data before the cut", function()
  local whole = read_file(PATH)
  local frames = 0
  for i = 0, 40 do
    write_file(PATH .. ".cut", whole:sub(1, #whole * i // 41))
    local now = read_all(PATH .. ".cut")
    if math.type(now) == "integer" then
      ok(now >= frames)
      frames = now
    end
  end
  ok(frames > 50, "most of the frames come before the last cut")
  local empty = sim.read_recording(PATH .. ".cut")
  ok(not empty.complete)
  write_file(PATH .. ".cut", whole:sub(1, 200))
  empty = assert(sim.read_recording(PATH .. ".cut"))
  eq({ empty.count, empty.times.size, empty:find(1), #empty.channels, #empty.plots }, { 0, 0, nil, 0, 0 })
  raises("there are no frames", empty.column, empty, "time")
  os.remove(PATH .. ".cut")
end)

test("a damaged file is read as far as it goes", function()
  local whole = read_file(PATH)
  for i = 1, 60 do
    local at = 17 + (i * 7919) % (#whole - 17)
    write_file(PATH .. ".bad", whole:sub(1, at - 1) .. string.char(whole:byte(at) ~ (1 + i % 255)) .. whole:sub(at + 1))
    read_all(PATH .. ".bad")
  end
  os.remove(PATH .. ".bad")
end)

test("a finalizer that reads while a frame is made", function()
  local recording = assert(sim.read_recording(PATH))
  collectgarbage "generational"
  for i = 1, 200 do
    setmetatable({}, { __gc = function() pcall(recording.frame, recording, 1 + i % 61) end })
    local frame = assert(recording:frame(1 + (i * 37) % 61))
    eq(frame.step, (i * 37) % 61)
  end
  collectgarbage "incremental"
end)

