-- Tasks in the live viewer: episodes played by the baseline, or by a person with keys or a gamepad.

local AFTER = 1   -- simulated time for which the end of an episode is shown, s
local TAKES = 0.5 -- deflection of a stick, 0 to 1, at which the person takes over
local SECONDS = 2 -- time that default keys need to move a goal through its whole range, s
local MOST_DIGITS = 9
local HEADROOM = 0.03 -- free space above the text, as a fraction of the view's height

-- Gamepad inputs that stand for a key: one direction of a stick's axis, or a button.
local STICKS = { left = { "left_x", -1 }, right = { "left_x", 1 }, down = { "left_y", -1 }, up = { "left_y", 1 },
  a = { "right_x", -1 }, d = { "right_x", 1 }, s = { "right_y", -1 }, w = { "right_y", 1 } }
local BUTTONS = { left = "pad_left", right = "pad_right", up = "pad_up", down = "pad_down", space = "pad_a" }
local AXES = { left_x = true, left_y = true, right_x = true, right_y = true, lt = true, rt = true }
local TAKEN = { b = "change player", r = "restart the episode" }

return function(sim, host)
  local fail, describe = host.fail, host.describe

  local function bad(key, expected, got)
    fail("bad argument #1 to 'env' (key '%s': %s expected, got %s)", key, expected, describe(got))
  end

  -- ---- Meaning of keys -----------------------------------------------------------------------------

  -- Default keys of a task. Arrows are used for up to two commands with finite ranges and for up to three actions,
  -- otherwise digits.
  local function usual(env)
    local space, keys = env.action_space, {}
    if space.n == 2 then return { left = 1, right = 2 } end
    if space.n == 3 then return { left = 1, none = 2, right = 3 } end
    for k = 1, math.min(space.n or 0, MOST_DIGITS) do keys[tostring(k)] = k end
    if space.n or #space.low > 2 then return keys end
    for i, pair in ipairs { { "left", "right" }, { "down", "up" } } do
      local lo, hi = space.low[i], space.high[i]
      if lo and host.finite(lo) and host.finite(hi) then
        local pace = env.goals[i] and (hi - lo) / SECONDS
        local rest = math.max(lo, math.min(hi, 0))
        keys[pair[1]] = { [i] = pace and -pace or lo - rest }
        keys[pair[2]] = { [i] = pace or hi - rest }
      end
    end
    return keys
  end

  local function check(env, keys)
    if type(keys) ~= "table" then bad("keys", "a table that maps names of keys to actions", keys) end
    local n, count = env.action_space.n, #env.action_space.names
    for _, name in ipairs(host.sorted_keys(keys)) do
      local value, key = keys[name], "keys." .. tostring(name)
      if type(name) ~= "string" or name ~= name:lower() then bad("keys", "names of keys in lower case", name) end
      if TAKEN[name] then fail("bad argument #1 to 'env' (key '%s': this key is reserved: %s)", key, TAKEN[name]) end
      if n then
        if not host.whole(value) or value < 1 or value > n then bad(key, ("an action from 1 to %d"):format(n), value) end
      else
        if type(value) ~= "table" then bad(key, "a list of numbers to add to the commands", value) end
        for i, number in pairs(value) do
          if not host.whole(i) or i < 1 or i > count or not host.finite(number) then
            bad(key, ("a list of up to %d numbers"):format(count), value)
          end
        end
      end
    end
  end

  -- The body that the view follows in the world of this episode, or nil.
  local function followed_in(env)
    local body = env.follow and env.world.bodies[env.follow]
    if env.follow and not body then fail("%s: follow: no body has the name '%s'", env.name, env.follow) end
    return body
  end

  -- Adds the task's view and the followed body to picture options that set neither.
  local function with_view(env, options)
    if not env.view or options and (options.view or options.follow) then return options end
    local all, body, area = {}, followed_in(env), env.view
    for key, value in pairs(options or {}) do all[key] = value end
    local x = body and sim.stop_gradient(body.x) or 0
    all.view = { { area[1][1] + x, area[1][2] }, { area[2][1] + x, area[2][2] } }
    return all
  end

  -- env.keys maps the name of a key to the number of an action, or to a list of numbers. The numbers are added to the
  -- commands while the key is held; for goals they are rates per second.
  local function read_keys(env, keys)
    env.goals = {}
    for i, actuator in ipairs(host.actuators(env.world)) do env.goals[i] = actuator.kind == "position" end
    if keys ~= nil then check(env, keys) end
    env.keys = keys or usual(env)
  end

  -- Reads the parts of a definition that concern viewing and playing.
  local function read_seen(env, def)
    for _, key in ipairs { "follow", "about_baseline" } do
      if def[key] ~= nil and type(def[key]) ~= "string" then bad(key, "a text", def[key]) end
      env[key] = def[key]
    end
    if def.view ~= nil and not host.is_area(def.view) then
      bad("view", "{ {x, y}, {x, y} } (lower left and upper right corner)", def.view)
    end
    env.view = def.view
    followed_in(env)
    read_keys(env, def.keys)
  end

  -- ---- A person -----------------------------------------------------------------------------------

  -- Returns how far a key or its gamepad input is pressed, from 0 to 1. The value of an axis is from -1 to 1.
  local function pressed(name)
    if AXES[name] then return sim.axis(name) end
    local stick, button = STICKS[name], BUTTONS[name]
    local way = stick and math.max(0, stick[2] * sim.axis(stick[1])) or 0
    -- moving a stick also presses the buttons of the directional pad
    local pushed = button and sim.key(button) and (not stick or sim.axis(stick[1]) == 0)
    return (sim.key(name) or pushed) and 1 or way
  end

  -- Returns the state of all keys, and whether a person is using one of them.
  local function hands(env)
    local how, holds = {}, false
    for name in pairs(env.keys) do
      if name ~= "none" then
        how[name] = pressed(name)
        holds = holds or math.abs(how[name]) > TAKES
      end
    end
    return how, holds
  end

  local function chosen(env, how, last)
    local most, action = TAKES, env.keys.none or last or 1
    for _, name in ipairs(host.sorted_keys(how)) do
      if how[name] > most then most, action = how[name], env.keys[name] end
    end
    return action
  end

  -- Returns the action of a person. Goals keep their last values, which at first are the present coordinates of the
  -- joints.
  local function by_hand(env, how, last)
    if env.actions then return chosen(env, how, last) end
    local space, rest, u = env.action_space, env.keys.none or {}, {}
    for i, actuator in ipairs(host.actuators(env.world)) do
      local joint, pace = actuator.joint, 1
      u[i] = rest[i] or 0
      if env.goals[i] then
        u[i] = last and last[i] or joint.type == "hinge" and joint.angle or joint.translation or joint.length
        pace = env.period
      end
      for _, name in ipairs(host.sorted_keys(how)) do u[i] = u[i] + pace * how[name] * (env.keys[name][i] or 0) end
      u[i] = math.max(space.low[i], math.min(space.high[i], u[i]))
    end
    return u
  end

  -- ---- Episodes -----------------------------------------------------------------------------------

  -- The position of the text: at the upper edge of the view, or above the middle of the moving bodies at the start of
  -- the episode.
  local function place_above(env)
    local area, world, body = env.view, env.world, followed_in(env)
    if area then return { (area[1][1] + area[2][1]) / 2 + (body and body.x or 0), area[2][2] - HEADROOM * (area[2][2] - area[1][2]) } end
    local left, right, low, high = math.huge, -math.huge, math.huge, -math.huge
    for _, body in ipairs(world.bodies) do
      if body.type == "dynamic" then
        left, right = math.min(left, body.x), math.max(right, body.x)
        low, high = math.min(low, body.y), math.max(high, body.y)
      end
    end
    return { (left + right) / 2, high + 0.3 * math.max(right - left, high - low) }
  end

  local function say(play, text)
    if play.env.follow and play.env.view then play.above = place_above(play.env) end
    play.env.world:annotate { name = "episode", text = text, at = play.above, size = 16 }
  end

  -- Starts an episode and shows its world in the viewer; closes the previous world if it is a different one.
  local function begin(play)
    local env, before = play.env, play.env.world
    local seen = env:reset { seed = play.seed }
    if before ~= env.world then before:close() end
    host.live.show(env.world)
    env.world:view { follow = followed_in(env), view = env.view }
    play.sum, play.steps, play.again, play.above = 0, 0, false, place_above(env)
    return seen
  end

  -- Calls f with the recording and the viewer switched off, for worlds in which a law runs trials.
  local BACK = setmetatable({}, { __close = function() host.live.aside(false) end })
  local function aside(f, ...)
    host.live.aside(true)
    local _ <close> = BACK
    return f(...)
  end

  -- Plays one episode until its end or a restart; returns true at its end.
  local function episode(play)
    local env, seen = play.env, begin(play)
    local law, last, over, cut, reward
    repeat
      local how, holds = hands(env)
      if holds then play.who.value = "you" end
      local action
      if play.who.value == "you" then
        law, action = nil, by_hand(env, how, last)
        last = action
      else
        law, last = law or aside(env.baseline, env), nil
        action = aside(law, env.world, env.world.time, seen)
      end
      local hint = play.who.value ~= "you" and " (your keys: " .. play.keys .. ")" or ""
      say(play, ("episode %d, %s: %.1f%s"):format(play.episode, play.who.value, play.sum, hint))
      seen, reward, over, cut = env:step(action)
      play.sum, play.steps = play.sum + sim.stop_gradient(reward), env.steps
    until over or cut or play.again
    return not play.again
  end

  local function told(play)
    local env = play.env
    local text = ("episode %d (seed %d), %s: return %.1f, %d steps"):format(play.episode, play.seed, play.who.value, play.sum, play.steps)
    print(text)
    io.stdout:flush()
    say(play, text)
    for _ = 1, math.ceil(AFTER / env.world.dt) do
      if play.again then break end
      env.world:step()
    end
  end

  local function keys_of(env)
    local names = {}
    for _, name in ipairs(host.sorted_keys(env.keys)) do names[#names + 1] = name ~= "none" and name or nil end
    return #names > 0 and table.concat(names, ", ") or "none"
  end

  -- env:play { episodes = } plays one seed after the other, for a given number of episodes or without end. Returns
  -- false without a viewer.
  local function show(env, options)
    options = options or {}
    host.env.check_keys(env.name .. ":play", options, { episodes = true })
    if not host.live.serving() then return false end
    local play = { env = env, sum = 0, steps = 0, episode = 1, seed = 0, keys = keys_of(env) }
    play.who = sim.choice { name = "plays", values = env.baseline and { "baseline", "you" } or { "you" }, key = "b" }
    sim.button { name = "Again", key = "r", on_press = function() play.again = true end }
    sim.watch("return", function() return play.sum end)
    sim.watch("step", function() return play.steps end)
    sim.watch("episode", function() return play.episode end)
    print(("%s: your keys: %s; b: change player, r: restart the episode"):format(env.name, play.keys))
    io.stdout:flush()
    while play.episode <= (options.episodes or math.huge) do
      if episode(play) then
        told(play)
        if not play.again then play.episode, play.seed = play.episode + 1, play.seed + 1 end
      end
    end
    return true
  end

  host.env.read_seen, host.env.with_view, host.env.play = read_seen, with_view, show
end
