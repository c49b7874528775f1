-- Recordings of episodes, and the live viewer for scripts that step a task themselves.

-- Formats with a view. A page contains everything, so only its followed body can be set.
local SEEN = { [".html"] = "page", [".svg"] = "picture", [".png"] = "picture", [".gif"] = "picture", [".mp4"] = "picture" }
local LIVE = { pace = true, port = true, wait = true }

return function(_, host)
  local fail, describe = host.fail, host.describe

  local function followed_in(env) return env.follow and env.world.bodies[env.follow] or nil end

  local function copy_of(options)
    local all = {}
    for key, value in pairs(options or {}) do all[key] = value end
    return all
  end

  local function show_world(env)
    local options = copy_of(env.viewer)
    options.follow, options.view = followed_in(env), env.view
    local view, message = env.world:view(options)
    if not view then return nil, message end
    host.live.show(env.world)
    return view
  end

  -- Called at the start of each episode, whose world may be a new one.
  local function show_start(env)
    if env.recording and not host.record_next(env.world, env.recording) then env.recording = nil end
    if env.viewer and not host.live.serving() then env.viewer = nil end -- the script has closed it
    if env.viewer then show_world(env) end
  end

  local function live(env, options)
    host.env.check_keys(env.name .. ":live", options or {}, LIVE)
    env.viewer = copy_of(options)
    local shown, message = show_world(env)
    if not shown then env.viewer = nil end
    return shown, message
  end

  -- If an episode is running, the recording begins with its present state, otherwise with the next reset.
  local function record(env, path, options)
    local before = env.recording
    env.recording = nil
    if before then
      local good, message = before:close()
      if not good then return nil, message end
    end
    if path == nil then return true end
    if type(path) ~= "string" then fail("bad argument #1 to 'record' (path expected, got %s)", describe(path)) end
    options = copy_of(options)
    local seen = SEEN[path:match "%.%w+$"]
    if seen and options.follow == nil and options.view == nil then
      options.follow = followed_in(env)
      if seen == "picture" and not options.follow then options.view = env.view end
    end
    local running = env.over == false
    local recording, message
    if running and not options.columns then
      recording, message = env.world:record(path, options)
    else
      recording, message = host.record(env.world, path, options)
    end
    env.recording = recording
    return recording, message
  end

  host.env.show_start, host.env.record, host.env.live = show_start, record, live
end
