-- Recordings of episodes (env:record), and the live viewer of a script that steps a task (env:live).
local sim = require "sim2d"

local DT, PERIOD = 0.01, 2 -- s; steps

local function slide(random)
  return sim.env { name = "slide", period = PERIOD * DT, max_steps = 50,
    world = function(p, generator)
      local world = sim.world { dt = DT, gravity = { 0, 0 } }
      local size = random and generator:uniform(0.5, 1) or 1
      local cart = world:box { name = "cart", size = { size, size }, mass = p.mass, mask = 0 }
      world:actuator { "push", body = cart, kind = "force", direction = { 1, 0 }, range = { -2, 2 } }
      world:observe { "cart", of = cart, field = { "x", "vx" } }
      return world
    end,
    reset = { { of = "cart", field = "x", uniform = { -1, 1 } } }, reward = 1, parameters = { mass = { 1, 0.5, 2 } } }
end

local function play(env, steps, options)
  local seen = env:reset(options)
  local xs = { seen[1] }
  for i = 1, steps do
    seen = env:step { i % 2 }
    xs[i + 1] = seen[1]
  end
  return xs
end

local function temporary(suffix)
  local path = os.tmpname()
  os.remove(path)
  at_end(function() os.remove(path .. suffix) end)
  return path .. suffix
end

-- The times (s) of the frames of a recording, and x of the cart.
local function frames(path)
  local run, times, xs = sim.read_recording(path), {}, {}
  for i = 1, run.count do times[i], xs[i] = run.times[i], run:frame(i).bodies[1].x end
  run:close()
  return times, xs
end

local function expected(...)
  local times = {}
  for _, steps in ipairs { ... } do
    for i = 0, steps * PERIOD do times[#times + 1] = i * DT end
  end
  return times
end

for _, random in ipairs { false, true } do
  test("one file holds the episodes of " .. (random and "new worlds" or "a world that is used again"), function()
    local env, path = slide(random), temporary ".s2d"
    ok(env:record(path))
    local first = play(env, 5, { seed = 1 })
    local second = play(env, 3, { seed = 2, parameters = { mass = 2 } })
    local third = play(env, 4, { seed = 3 })
    ok(env:record())
    play(env, 2)
    local times, xs = frames(path)
    near(times, expected(5, 3, 4), 1e-12)
    -- every second frame is the end of a period
    local kept = {}
    local at = 1
    for _, steps in ipairs { 5, 3, 4 } do
      for i = 0, steps do kept[#kept + 1] = xs[at + i * PERIOD] end
      at = at + steps * PERIOD + 1
    end
    local seen = {}
    for _, list in ipairs { first, second, third } do table.move(list, 1, #list, #seen + 1, seen) end
    eq(kept, seen)
  end)
end

test("a recording does not change the results", function()
  local recorded, plain = slide(true), slide(true)
  recorded:record(temporary ".csv")
  for seed = 1, 3 do eq(play(recorded, 10, { seed = seed }), play(plain, 10, { seed = seed })) end
  recorded:record()
end)

test("within an episode, the recording begins with the present state", function()
  local env, path, after = slide(), temporary ".s2d", temporary ".s2d"
  play(env, 3, { seed = 1 })
  env:record(path)
  env:step { 1 }
  env:record(after) -- ends the first
  env:step { 1 }
  env:record(nil)
  near(frames(path), { 0.06, 0.07, 0.08 }, 1e-12)
  near(frames(after), { 0.08, 0.09, 0.1 }, 1e-12)
end)

test("every nth step is counted from the start of each episode", function()
  local env, path = slide(), temporary ".s2d"
  env:record(path, { every = 3 })
  play(env, 4, { seed = 1 })
  play(env, 2, { seed = 1 })
  env:record()
  near(frames(path), { 0, 0.03, 0.06, 0, 0.03 }, 1e-12)
end)

test("wrong paths and options are refused", function()
  local env = slide()
  raises("unknown suffix '.avi'", function() env:record "run.avi" end)
  raises("path expected, got 3", function() env:record(3) end)
  raises("unknown key 'evry'; did you mean 'every'", function() env:record("run.s2d", { evry = 2 }) end)
  raises("'columns': is not available for episodes", function() env:record("run.csv", { columns = { "cart.x" } }) end)
  local recording, message = env:record "/no/such/folder/run.s2d"
  eq(recording, nil)
  ok(message:find "run.s2d", message)
  play(env, 2) -- not recorded
  ok(env:record())
end)

test("a recording that was closed is left", function()
  local env, path = slide(), temporary ".s2d"
  local recording = env:record(path)
  play(env, 2, { seed = 1 })
  recording:close()
  play(env, 2, { seed = 2 })
  near(frames(path), expected(2), 1e-12)
  ok(env:record())
end)

test("the live viewer shows each episode", function()
  local env, plain = slide(true), slide(true)
  local view, message = env:live { wait = false, pace = 0 }
  if not view then skip(message) end
  ok(view.address:find "^http://127.0.0.1")
  for seed = 1, 3 do eq(play(env, 10, { seed = seed }), play(plain, 10, { seed = seed })) end
  view:close()
  play(env, 2)
  ok(env:play { episodes = 1 } == false, "the viewer stays closed")
  raises("unknown key 'wiat'; did you mean 'wait'", function() env:live { wiat = false } end)
end)
