-- sim.read_recording: reads a .s2d file frame by frame and as arrays over time.

local methods = {}
local LISTED = "channels, close, column, complete, count, find, frame, frames, path, plots, run, settings, times, version"

-- Reads the options in the words after the script's name: --name value, --name=value, --name.
local function options_of(words, script)
  local options, behind = {}, false
  for i, word in ipairs(words) do
    local name, value = word:match "^%-%-([%a_][%w_%-]*)=(.*)$"
    name = name or word:match "^%-%-([%a_][%w_%-]*)$"
    if behind and name then
      local after = words[i + 1]
      options[name:gsub("%-", "_")] = value or (after and after:sub(1, 2) ~= "--" and after) or "true"
    end
    behind = behind or word == script
  end
  return options
end

local function run_of(entries)
  local run = { words = {} }
  for i = 1, #entries, 2 do
    local key, value = entries[i], entries[i + 1]
    if key == "word" then
      run.words[#run.words + 1] = value
    elseif key == "seed" or key == "every" or key == "recording" then
      run[key] = math.tointeger(tonumber(value)) or tonumber(value)
    else
      run[key] = value
    end
  end
  run.options = options_of(run.words, run.script)
  return run
end

return function(sim, host)
  local replay = host.replay
  local held = setmetatable({}, { __mode = "k" }) -- maps a recording to { reader =, cached values }

  local Recording = { __name = "ReadRecording", __metatable = "ReadRecording" }

  local function inside(recording, what)
    local own = held[recording]
    if not own then
      host.fail("bad argument #1 to '%s' (a result of sim.read_recording expected, got %s; call methods with a colon)",
        what, host.describe(recording))
    end
    return own
  end

  local function reader_of(recording, what)
    local own = inside(recording, what)
    if own.closed then host.fail("'%s': the recording '%s' is closed", what, own.path) end
    return own.reader
  end

  local function check_index(recording, what, index)
    if not host.whole(index) or index < 1 or index > recording.count then
      host.fail("bad argument #1 to '%s' (a frame from 1 to %d expected, got %s)", what, recording.count,
        host.describe(index))
    end
  end

  -- Items can be found by name, as in a world: frame.bodies.ball.
  local by_name = { __index = function(list, name)
    for _, item in ipairs(type(name) == "string" and list or {}) do
      if item.name == name then return item end
    end
  end }

  -- recording:frame(i): returns the contents of frame i, counted from 1, or nil and a message if the file is damaged.
  function methods.frame(recording, index)
    local reader = reader_of(recording, "frame")
    check_index(recording, "frame", index)
    local frame, message = replay.frame(reader, index)
    if not frame then return nil, message end
    for _, list in ipairs { frame.bodies, frame.joints, frame.channels } do setmetatable(list, by_name) end
    return frame
  end

  -- for i, frame in recording:frames() do
  function methods.frames(recording)
    reader_of(recording, "frames")
    return function(_, index)
      if index == recording.count then return nil end
      local frame, message = methods.frame(recording, index + 1)
      if not frame then host.fail("%s", message) end
      return index + 1, frame
    end, nil, 0
  end

  -- recording:column(name) returns the number with that name in each frame, as an array.
  function methods.column(recording, name)
    local reader = reader_of(recording, "column")
    if type(name) ~= "string" then
      host.fail("bad argument #1 to 'column' (a name expected, got %s)", host.describe(name))
    elseif recording.count == 0 then
      host.fail("'column': there are no frames in '%s'", recording.path)
    end
    local array, message, mistaken = replay.column(reader, name)
    if mistaken then host.fail("bad argument #1 to 'column' (%s)", message) end
    return array, message
  end

  -- recording:find(t) returns the index of the last frame that is not later than t. It returns 1 if all frames are
  -- later, and nil if there are no frames.
  function methods.find(recording, time)
    reader_of(recording, "find")
    if type(time) ~= "number" or time ~= time then
      host.fail("bad argument #1 to 'find' (a time expected, got %s)", host.describe(time))
    end
    if recording.count == 0 then return nil end
    local times = recording.times
    local low, high = 1, recording.count
    while low < high do
      local middle = (low + high + 1) // 2
      if times[middle] <= time then low = middle else high = middle - 1 end
    end
    return low
  end

  function methods.close(recording)
    local own = inside(recording, "close")
    if not own.closed then
      replay.close(own.reader)
      own.closed = true
    end
    return true
  end

  -- Fields that require reading the file are read at their first access.
  local later = {}

  function later.times(recording)
    if recording.count == 0 then return sim.array {} end
    local times, message = methods.column(recording, "time")
    return times or host.fail("%s", message)
  end

  function later.plots(recording) return replay.plots(reader_of(recording, "plots")) end

  function later.settings(recording)
    local frame = recording.count > 0 and methods.frame(recording, 1)
    return frame and frame.settings or {}
  end

  -- A run may add channels but never removes them, so the last frame has all of them.
  function later.channels(recording)
    local frame, list = recording.count > 0 and methods.frame(recording, recording.count), {}
    for i, channel in ipairs(frame and frame.channels or {}) do
      list[i] = { name = channel.name, unit = channel.unit }
    end
    return list
  end

  function Recording.__index(recording, key)
    local own = held[recording]
    if methods[key] then return methods[key] end
    if own[key] == nil and later[key] then own[key] = later[key](recording) end
    if own[key] == nil and not later[key] or key == "reader" or key == "closed" then
      host.fail("a result of sim.read_recording has no field '%s'; it has %s", tostring(key), LISTED)
    end
    return own[key]
  end

  function Recording.__newindex(_, key)
    host.fail("a result of sim.read_recording is read-only: '%s' cannot be set", tostring(key))
  end
  function Recording.__len(recording) return recording.count end
  function Recording.__close(recording) methods.close(recording) end

  function Recording.__tostring(recording)
    local own = held[recording]
    return ("Recording (%s, %d frame%s)"):format(own.path, own.count, own.count == 1 and "" or "s")
  end

  -- sim.read_recording(path) returns an object, or nil and a message.
  function sim.read_recording(path)
    if type(path) ~= "string" then
      host.fail("bad argument #1 to 'read_recording' (path expected, got %s)", host.describe(path))
    end
    local reader, message = replay.open(path)
    if not reader then return nil, message end
    local about = replay.about(reader)
    local recording = setmetatable({}, Recording)
    held[recording] = { reader = reader, path = path, count = about.count, complete = about.complete,
      version = about.version, run = run_of(about.entries) }
    return recording
  end
end
