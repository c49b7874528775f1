-- The live viewer for scripts: world:view, sliders, buttons, keys and watched values.

local LONGEST_NAME, LONGEST_UNIT = 47, 15 -- bytes; the limits for channels of recordings are the same

return function(sim, host)
  local live = host.live

  -- Encodes numbers, texts, booleans and lists; tables with a `type` are objects. Non-finite numbers become null.
  local function json(value)
    if type(value) == "number" then
      -- a locale set by the script may use a decimal comma
      return value == value and math.abs(value) < math.huge and ("%.17g"):format(value):gsub("[^%de+-]+", ".") or "null"
    elseif type(value) == "string" then
      return live.json(value)
    elseif type(value) ~= "table" then
      return tostring(value)
    end
    local parts = {}
    if not value.type then
      for i, item in ipairs(value) do parts[i] = json(item) end
      return "[" .. table.concat(parts, ",") .. "]"
    end
    for key, item in pairs(value) do parts[#parts + 1] = live.json(key) .. ":" .. json(item) end
    table.sort(parts)
    return "{" .. table.concat(parts, ",") .. "}"
  end

  local controls = { type = "controls", sliders = {}, choices = {}, buttons = {}, keys = {}, axes = {}, watches = {}, options = {} }
  local sliders, choices, buttons, watches = {}, {}, {}, {}
  -- tables by name of a key: whether it is known, the clients that hold it, whether it was pressed since the last
  -- query, its function
  local asked, down, tapped, on_key = {}, {}, {}, {}
  local tilts = {} -- positions of gamepad axes: name -> client -> -1 to 1
  local starts = setmetatable({}, { __mode = "k" }) -- world -> snapshot
  local changed = true

  -- ---- Declarations -----------------------------------------------------------------------

  local function check_keys(what, def, known)
    if type(def) ~= "table" then
      host.fail("bad argument #1 to '%s' (table expected, got %s)", what, host.describe(def))
    end
    for key in pairs(def) do
      if not known[key] then
        local names = {}
        for name in pairs(known) do names[#names + 1] = name end
        table.sort(names)
        local nearest = type(key) == "string" and host.nearest(key, names)
        host.fail("bad argument #1 to '%s' (unknown key '%s'%s)", what, tostring(key),
          nearest and ("; did you mean '%s'?"):format(nearest) or "; known: " .. table.concat(names, ", "))
      end
    end
  end

  local function check_name(what, name, list)
    if type(name) ~= "string" or name == "" then
      host.fail("bad argument #1 to '%s' (key 'name': a text expected, got %s)", what, host.describe(name))
    end
    for _, other in ipairs(list) do
      if other.name == name then
        host.fail("bad argument #1 to '%s' (key 'name': there is a %s '%s' already)", what, what, name)
      end
    end
    return name
  end

  local function check_number(what, def, key, default)
    local value = def[key]
    if value == nil then value = default end
    if not host.finite(value) then
      host.fail("bad argument #1 to '%s' (key '%s': a finite number expected, got %s)", what, key,
        host.describe(value))
    end
    return value + 0.0
  end

  local function check_text(what, value, name)
    if value ~= nil and type(value) ~= "string" then
      host.fail("bad argument to '%s' (%s: a text expected, got %s)", what, name, host.describe(value))
    end
    return value or ""
  end

  local function check_callback(what, def, key, needed)
    local f = def[key]
    if (f ~= nil or needed) and type(f) ~= "function" then
      host.fail("bad argument #1 to '%s' (key '%s': a function expected, got %s)", what, key,
        host.describe(f))
    end
    return f
  end

  -- ---- Sliders --------------------------------------------------------------------------------

  local Slider = { name = true, min = true, max = true, unit = true, value = true }
  local slider_meta = { __name = "Slider", __metatable = "Slider" }

  local function find_slider(object)
    for _, slider in ipairs(sliders) do
      if slider.object == object then return slider end
    end
  end

  function slider_meta.__index(object, key)
    if not Slider[key] then host.fail("Slider has no field '%s'", tostring(key)) end
    return find_slider(object).shown[key]
  end

  function slider_meta.__newindex(object, key, value)
    local shown = find_slider(object).shown
    if key ~= "value" then
      host.fail("Slider: '%s' cannot be set; only 'value' can", tostring(key))
    elseif not host.finite(value) or value < shown.min or value > shown.max then
      host.fail("slider '%s': value: a number from %s to %s expected, got %s", shown.name,
        host.describe(shown.min), host.describe(shown.max), host.describe(value))
    end
    shown.value, changed = value + 0.0, true
  end

  function slider_meta.__tostring(object)
    local shown = find_slider(object).shown
    return ("Slider (%s = %s%s)"):format(shown.name, host.describe(shown.value),
      shown.unit == "" and "" or " " .. shown.unit)
  end

  -- local mu = sim.slider{ name = "mu", min = 0, max = 1, value = 0.5 }; mu.value is its present value
  function sim.slider(def)
    check_keys("slider", def, { name = true, min = true, max = true, value = true, unit = true,
      on_change = true })
    local shown = { type = "slider", name = check_name("slider", def.name, controls.sliders) }
    shown.min, shown.max = check_number("slider", def, "min", 0), check_number("slider", def, "max", 1)
    if shown.min >= shown.max then
      host.fail("bad argument #1 to 'slider' (key 'max': a number above min = %s expected, got %s)",
        host.describe(shown.min), host.describe(shown.max))
    end
    shown.value = check_number("slider", def, "value", shown.min)
    if shown.value < shown.min or shown.value > shown.max then
      host.fail("bad argument #1 to 'slider' (key 'value': a number from %s to %s expected, got %s)",
        host.describe(shown.min), host.describe(shown.max), host.describe(shown.value))
    end
    shown.default = shown.value
    shown.unit = check_text("slider", def.unit, "key 'unit'")
    local on_change = check_callback("slider", def, "on_change")
    -- A value set in the page is kept when the script runs again.
    local kept = tonumber(live.setting("slider:" .. shown.name))
    if kept then shown.value = math.min(math.max(kept, shown.min), shown.max) end
    local object = setmetatable({}, slider_meta)
    controls.sliders[#controls.sliders + 1] = shown
    sliders[#sliders + 1] = { object = object, shown = shown, on_change = on_change }
    changed = true
    return object
  end

  -- ---- Choices --------------------------------------------------------------------------------

  -- Makes the pages send this key.
  local function ask_key(name)
    if not asked[name] then
      asked[name], changed = true, true
      controls.keys[#controls.keys + 1] = name
    end
  end

  -- Checks a key that triggers the action of a button or choice.
  local function check_key(what, name)
    if name ~= nil and (type(name) ~= "string" or name == "") then
      host.fail("bad argument #1 to '%s' (key 'key': the name of a key expected, got %s)", what, host.describe(name))
    end
    name = name and name:lower()
    if on_key[name] then host.fail("bad argument #1 to '%s' (key 'key': '%s' is already in use)", what, name) end
    return name
  end

  local function bind(name, f)
    if name then
      on_key[name] = f
      ask_key(name)
    end
  end

  local Choice = { name = true, values = true, value = true }
  local choice_meta = { __name = "Choice", __metatable = "Choice" }

  local function find_choice(object)
    for _, choice in ipairs(choices) do
      if choice.object == object then return choice end
    end
  end

  function choice_meta.__index(object, key)
    if not Choice[key] then host.fail("Choice has no field '%s'", tostring(key)) end
    local value = find_choice(object).shown[key]
    return key == "values" and table.move(value, 1, #value, 1, {}) or value
  end

  local function place_in(shown, value)
    for i, other in ipairs(shown.values) do
      if other == value then return i end
    end
  end

  function choice_meta.__newindex(object, key, value)
    local shown = find_choice(object).shown
    if key ~= "value" then
      host.fail("Choice: '%s' cannot be set; only 'value' can", tostring(key))
    elseif not place_in(shown, value) then
      host.fail("choice '%s': value: one of %s expected, got %s", shown.name, table.concat(shown.values, ", "), host.describe(value))
    end
    changed = changed or shown.value ~= value
    shown.value = value
  end

  function choice_meta.__tostring(object)
    local shown = find_choice(object).shown
    return ("Choice (%s = %s)"):format(shown.name, shown.value)
  end

  local function choose(choice, value)
    local shown = choice.shown
    if shown.value == value then return end
    shown.value, changed = value, true
    live.keep("choice:" .. shown.name, value)
    if choice.on_change then choice.on_change(value) end
  end

  -- local who = sim.choice { name = "plays", values = { "law", "you" }, key = "b" }; who.value is the chosen value
  function sim.choice(def)
    check_keys("choice", def, { name = true, values = true, value = true, key = true, on_change = true })
    local shown = { type = "choice", name = check_name("choice", def.name, controls.choices), values = {} }
    for i, value in ipairs(type(def.values) == "table" and def.values or {}) do
      if type(value) ~= "string" or place_in(shown, value) then
        host.fail("bad argument #1 to 'choice' (key 'values': different texts expected, got %s)", host.describe(value))
      end
      shown.values[i] = value
    end
    if #shown.values == 0 then
      host.fail("bad argument #1 to 'choice' (key 'values': a list of texts expected, got %s)", host.describe(def.values))
    end
    shown.value = def.value == nil and shown.values[1] or def.value
    if not place_in(shown, shown.value) then
      host.fail("bad argument #1 to 'choice' (key 'value': one of %s expected, got %s)", table.concat(shown.values, ", "),
        host.describe(def.value))
    end
    shown.key = check_key("choice", def.key)
    local choice = { object = setmetatable({}, choice_meta), shown = shown, on_change = check_callback("choice", def, "on_change") }
    -- A choice made in the page is kept when the script runs again.
    local kept = live.setting("choice:" .. shown.name)
    if place_in(shown, kept) then shown.value = kept end
    bind(shown.key, function() choose(choice, shown.values[place_in(shown, shown.value) % #shown.values + 1]) end)
    controls.choices[#controls.choices + 1] = shown
    choices[#choices + 1] = choice
    changed = true
    return choice.object
  end

  -- ---- Buttons, keys, watched values ----------------------------------------------------------

  function sim.button(def)
    check_keys("button", def, { name = true, key = true, on_press = true })
    local name = check_name("button", def.name, controls.buttons)
    local key = check_key("button", def.key)
    local press = check_callback("button", def, "on_press", true)
    buttons[#buttons + 1] = press
    controls.buttons[#controls.buttons + 1] = { type = "button", name = name, key = key }
    bind(key, press)
    changed = true
  end

  function sim.key(name)
    if type(name) ~= "string" or name == "" then
      host.fail("bad argument #1 to 'key' (the name of a key expected, got %s)", host.describe(name))
    end
    name = name:lower()
    ask_key(name)
    -- A key that was released before the query counts once.
    local was = tapped[name] or false
    tapped[name] = nil
    return was or down[name] ~= nil and next(down[name]) ~= nil
  end

  local AXES = { left_x = true, left_y = true, right_x = true, right_y = true, lt = true, rt = true }

  function sim.axis(name)
    if not AXES[name] then
      host.fail("bad argument #1 to 'axis' (one of left_x, left_y, right_x, right_y, lt, rt expected, got %s)", host.describe(name))
    end
    if not tilts[name] then
      tilts[name], changed = {}, true
      controls.axes[#controls.axes + 1] = name
    end
    -- If there are several gamepads, the largest deflection counts.
    local most = 0.0
    for _, value in pairs(tilts[name]) do
      if math.abs(value) > math.abs(most) or value == -most and value > most then most = value end
    end
    return most
  end

  -- Wraps f to return a number: nil becomes nan (no value), booleans become 1 and 0. Other values raise an error at the
  -- line of f.
  local function numbers_of(name, f)
    return function(...)
      local value = f(...)
      if value == nil then return 0 / 0 end
      if getmetatable(value) == "Tracked" then value = value:value() end
      if type(value) == "boolean" then return value and 1 or 0 end
      if type(value) ~= "number" then
        local info = debug.getinfo(f, "S")
        error(("%s:%d: watch '%s': a number, true, false or nil expected as the value of its function, got %s"):format(
          info.short_src, info.linedefined, name, host.describe(value)), 0)
      end
      return value
    end
  end

  function sim.watch(name, f, unit)
    if type(name) ~= "string" or name == "" then
      host.fail("bad argument #1 to 'watch' (a name expected, got %s)", host.describe(name))
    end
    if #name > LONGEST_NAME or name:find("\0", 1, true) then
      host.fail("bad argument #1 to 'watch' (a name of up to %d bytes without zero bytes (the limit of recordings) "
        .. "expected, got %d bytes)", LONGEST_NAME, #name)
    end
    for _, watch in ipairs(watches) do
      if watch.name == name then
        host.fail("bad argument #1 to 'watch' (there is a watch '%s' already)", name)
      end
    end
    if type(f) ~= "function" then
      host.fail("bad argument #2 to 'watch' (function expected, got %s)", host.describe(f))
    end
    unit = check_text("watch", unit, "argument #3")
    if unit and (#unit > LONGEST_UNIT or unit:find("\0", 1, true)) then
      host.fail("bad argument #3 to 'watch' (a unit of up to %d bytes without zero bytes expected, got %d bytes)",
        LONGEST_UNIT, #unit)
    end
    watches[#watches + 1] = { name = name, f = numbers_of(name, f) }
    controls.watches[#controls.watches + 1] = { type = "watch", name = name, unit = unit }
    changed = true
  end

  -- ---- Options --------------------------------------------------------------------------------

  local parse_option

  local function place_of(name)
    for i, option in ipairs(controls.options) do
      if option.name == name then return i end
    end
    return #controls.options + 1
  end

  -- Values of sim.options that were set in the page override those of the command line.
  function host.live_options(names, byname, values, parse)
    for _, name in ipairs(names) do
      local option = byname[name]
      local kept = live.setting("option:" .. name)
      local value = kept and parse(kept, option.kind)
      if value ~= nil then values[name] = value end
      controls.options[place_of(name)] = { type = "option", name = name, kind = option.kind, help = option.help,
        value = values[name], default = option.default,
        integer = math.type(option.default) == "integer" }
    end
    changed = true
    parse_option = parse
  end

  -- ---- Calls from the viewer ------------------------------------------------------------------

  local function set_slider(rest)
    local index, value = rest:match "^(%d+) (%S+)$"
    local slider, number = sliders[tonumber(index)], tonumber(value)
    if not slider or not host.finite(number) then return end
    local shown = slider.shown
    shown.value = math.min(math.max(number + 0.0, shown.min), shown.max)
    changed = true
    live.keep("slider:" .. shown.name, ("%.17g"):format(shown.value))
    if slider.on_change then slider.on_change(shown.value) end
  end

  local function set_option(rest)
    local name, text = rest:match "^(%S+) (.*)$"
    for _, option in ipairs(controls.options) do
      if option.name == name and parse_option(text, option.kind) ~= nil then
        live.keep("option:" .. name, text)
        return true -- run the script again
      end
    end
  end

  local commands = {
    set = function(_, rest) set_slider(rest) end,
    choose = function(_, rest)
      local index, value = rest:match "^(%d+) (%d+)$"
      local choice = choices[tonumber(index)]
      value = choice and choice.shown.values[tonumber(value)]
      if value then choose(choice, value) end
    end,
    press = function(_, rest)
      local press = buttons[tonumber(rest)]
      if press then press() end
    end,
    key = function(client, rest)
      local state, name = rest:match "^([01]) (.+)$"
      if not name or not asked[name] then return end
      down[name] = down[name] or {}
      local pressed = state == "1" and not down[name][client]
      down[name][client] = state == "1" or nil
      tapped[name] = pressed or tapped[name]
      if pressed and on_key[name] then on_key[name]() end
    end,
    axis = function(client, rest)
      local name, value = rest:match "^(%S+) (%S+)$"
      value = tonumber(value)
      if tilts[name] and host.finite(value) then tilts[name][client] = math.max(-1, math.min(1, value + 0.0)) end
    end,
    option = function(_, rest) return set_option(rest) end,
    gone = function(client)
      for _, clients in pairs(down) do clients[client] = nil end
      for _, clients in pairs(tilts) do clients[client] = nil end
    end,
  }

  local calls = {}

  -- Returns true if the script has to run again.
  function calls.command(word, client, rest)
    return commands[word] and commands[word](client, rest)
  end

  function calls.controls()
    if changed then
      changed = false
      return json(controls)
    end
  end

  -- Returns the values, and messages or nil. If a function raises an error, the error is reported once, and the
  -- function's value is missing afterwards.
  local function values_of(world)
    local values, messages = {}, {}
    for i, watch in ipairs(watches) do
      values[i] = 0 / 0
      if watch.f then
        local success, value = xpcall(watch.f, host.traceback, world)
        if success then
          values[i] = value
        else
          watch.f = nil
          messages[#messages + 1] = tostring(value)
        end
      end
    end
    return values, messages[1] and table.concat(messages, "\nsim2d: ")
  end

  function calls.values(world, time)
    if #watches == 0 then return nil end
    local values, messages = values_of(world)
    return json { type = "values", time = time, values = values }, messages
  end

  function calls.watched(world)
    if #watches == 0 then return nil end
    local list = {}
    local values, messages = values_of(world)
    for i, value in ipairs(values) do
      table.move({ controls.watches[i].name, controls.watches[i].unit, value }, 1, 3, #list + 1, list)
    end
    return list, messages
  end

  function calls.watch(name)
    for i, watch in ipairs(watches) do
      if watch.name == name and watch.f then return { f = watch.f, unit = controls.watches[i].unit } end
    end
  end

  function calls.start(world)
    starts[world] = world:snapshot()
  end

  function calls.reset(world)
    if starts[world] then world:restore(starts[world]) end
  end

  live.handler(function(call, ...) return calls[call](...) end)

  -- ---- world:view -----------------------------------------------------------------------------

  -- Returns whether the area is { {x, y}, {x, y} }, two corners of a box that is not empty.
  function host.is_area(area)
    local lo, hi = type(area) == "table" and area[1], type(area) == "table" and area[2]
    if type(lo) ~= "table" or type(hi) ~= "table" then return false end
    for i = 1, 2 do
      if not host.finite(lo[i]) or not host.finite(hi[i]) or not (lo[i] < hi[i]) then return false end
    end
    return true
  end

  local View = {}

  function View.close(view)
    live.close()
    return true
  end

  local view_meta = { __name = "View", __metatable = "View", __close = View.close,
    __tostring = function(view) return ("View (%s)"):format(view.address) end }

  function view_meta.__index(view, key)
    if View[key] == nil then host.fail("View has no field '%s'", tostring(key)) end
    return View[key]
  end

  local methods = host.world_methods()

  function methods.view(world, def)
    host.world(world)
    -- read the keys
    if def == nil then def = {} end
    check_keys("view", def, { pace = true, port = true, wait = true, follow = true, view = true })
    if def.pace ~= nil and (not host.finite(def.pace) or def.pace < 0) then
      host.fail("bad argument #1 to 'view' (key 'pace': a number of at least 0 expected, got %s)",
        host.describe(def.pace))
    elseif def.port ~= nil and (not host.whole(def.port) or def.port < 0 or def.port > 65535) then
      host.fail("bad argument #1 to 'view' (key 'port': an integer from 0 to 65535 expected, got %s)",
        host.describe(def.port))
    elseif def.wait ~= nil and type(def.wait) ~= "boolean" then
      host.fail("bad argument #1 to 'view' (key 'wait': true or false expected, got %s)",
        host.describe(def.wait))
    elseif def.follow ~= nil and host.owned(world, def.follow) ~= "body" then
      host.fail("bad argument #1 to 'view' (key 'follow': a body of this world expected, got %s)",
        host.describe(def.follow))
    end
    local area = def.view
    if area ~= nil and not host.is_area(area) then
      host.fail("bad argument #1 to 'view' (key 'view': "
        .. "{ {x, y}, {x, y} } (lower left and upper right corner) expected, got %s)",
        host.describe(area))
    end
    -- open the viewer and store the state for resets
    local address, message = live.open(world, def.port, def.pace, def.wait, def.follow)
    if not address then return nil, message end
    if area then live.area(world, area[1][1], area[1][2], area[2][1], area[2][2]) end
    if not live.reruns() then starts[world] = starts[world] or world:snapshot() end
    return setmetatable({ address = address }, view_meta)
  end
end
