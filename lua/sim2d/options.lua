-- sim.options: values that a script declares and the user sets on the command line.

local EXPECTED = { number = "a number", boolean = "true or false (yes or no, on or off, 1 or 0)", string = "a text" }
local SWITCH = { ["true"] = true, yes = true, y = true, on = true, ["1"] = true,
  ["false"] = false, no = false, n = false, off = false, ["0"] = false }

local function parse(text, kind)
  if kind == "string" then
    return text
  elseif kind == "boolean" then
    return SWITCH[text:lower()] -- nil if the text is not a switch word
  end
  local value = tonumber(text)
  if value and value == value and math.abs(value) < math.huge then
    return value
  end
  return nil
end

-- Converts {default, help} or a bare default. Returns a sorted list of names, and the declarations by name.
local function declarations(declared)
  if type(declared) ~= "table" then
    error("bad argument #1 to 'options' (a table expected, got " .. type(declared) .. ")", 0)
  end
  local names, byname = {}, {}
  for name, entry in pairs(declared) do
    if type(name) ~= "string" or not name:match "^[%a_][%w_]*$" then
      error(string.format("bad argument #1 to 'options' (the name '%s' is not an identifier)",
        tostring(name)), 0)
    end
    if type(entry) ~= "table" then entry = { entry } end
    local kind = type(entry[1])
    if not EXPECTED[kind] then
      error(string.format("bad argument #1 to 'options' (the default of '%s' is a %s; "
        .. "a number, a boolean or a string is expected)", name, kind), 0)
    end
    names[#names + 1] = name
    byname[name] = { default = entry[1], kind = kind, help = entry[2] or "" }
  end
  table.sort(names)
  return names, byname
end

return function(sim, host)
  -- A misspelt option ends the script with a message and status 2, like any error of the command line.
  local function usage_error(script, format, ...)
    io.stdout:flush()
    io.stderr:write(script, ": ", string.format(format, ...), "  (", script, " --help)\n")
    os.exit(2, true)
  end

  local function print_help(script, names, byname)
    print("options of " .. script .. ":")
    local width = 0
    for _, name in ipairs(names) do width = math.max(width, #name) end
    for _, name in ipairs(names) do
      local option = byname[name]
      local default = option.kind == "string" and string.format("%q", option.default)
        or tostring(option.default)
      print(string.format("  --%-" .. width .. "s  %s%s(default %s)", name, option.help,
        option.help == "" and "" or " ", default))
    end
  end

  -- Reads the option at args[i]; returns its name, its value and the index of the next argument.
  local function read_option(script, args, i, names, byname)
    local word, joined = args[i]:match "^%-%-([^=]+)=(.*)$"
    word = word or args[i]:sub(3)
    local name = word:gsub("%-", "_")
    local option = byname[name]
    local words = option and 0 or host.option_words(args[i])
    if words > 0 then
      usage_error(script, "'%s' comes after the script; put it before:  sim2d %s %s", args[i],
        table.concat(args, " ", i, math.min(i + words - 1, #args)), script)
    end
    if not option then
      local nearest = host.nearest(name, names)
      usage_error(script, "unknown option '--%s'%s", word,
        nearest and string.format("; did you mean '--%s'?", nearest) or "")
    end
    local text = joined
    if not text and option.kind == "boolean" then
      -- a switch may be followed by one of the words in SWITCH; other words are not part of it
      local value = parse(args[i + 1] or "", "boolean")
      if value == nil then return name, true, i + 1 end
      return name, value, i + 2
    end
    if not text then
      i = i + 1
      text = args[i]
    end
    if not text then
      usage_error(script, "option '--%s' needs a value: %s", word, EXPECTED[option.kind])
    end
    local value = parse(text, option.kind)
    if value == nil then
      usage_error(script, "option '--%s': %s is expected, not '%s'", word, EXPECTED[option.kind],
        text)
    end
    return name, value, i + 1
  end

  local function guard(values, names)
    return setmetatable(values, {
      __index = function(_, key)
        local nearest = type(key) == "string" and host.nearest(key, names)
        error(string.format("there is no option '%s'%s", tostring(key),
          nearest and string.format("; did you mean '%s'?", nearest) or ""), 2)
      end,
    })
  end

  -- local opt = sim.options{ mu = {0.5, "friction"}, fast = {false, "skip pictures"} }
  -- reads --mu 0.3, --mu=0.3 and --fast from the global `arg` and returns the values. It removes these options from
  -- `arg`; positional arguments remain. "--" ends the options. --help prints them and exits.
  function sim.options(declared)
    local success, names, byname = pcall(declarations, declared)
    if not success then
      error(names, 2)
    end
    -- defaults first, then the command line; words that are not options remain in arg
    local args = type(arg) == "table" and arg or {}
    local script = tostring(args[0] or "script")
    local values, rest = {}, {}
    for _, name in ipairs(names) do values[name] = byname[name].default end
    local i = 1
    while i <= #args do
      local word = args[i]
      if word == "--" then
        table.move(args, i + 1, #args, #rest + 1, rest)
        break
      elseif word == "--help" and not byname.help then
        print_help(script, names, byname)
        os.exit(0, true)
      elseif word:sub(1, 2) == "--" then
        local name, value
        name, value, i = read_option(script, args, i, names, byname)
        values[name] = value
      else
        -- a known name with one dash would look like an argument of the script
        local name = word:match "^%-(%a[%w_%-]*)"
        if name and byname[name:gsub("%-", "_")] then
          usage_error(script, "'%s': options begin with two dashes, '--%s'", word, name)
        end
        rest[#rest + 1] = word
        i = i + 1
      end
    end
    for k = 1, #args do args[k] = rest[k] end
    -- the live viewer shows the options as controls
    host.live_options(names, byname, values, parse)
    return guard(values, names)
  end
end
