-- Functions of the prompt: display of values, completion of keys of constructors, and help. Names, types and texts come
-- from the annotations in lua/sim2d/meta, which the command contains.

local WIDTH = 78       -- columns in a line
local MOST = 100       -- number of table entries shown
local INLINE = 4       -- number of elements shown for a list inside a table

-- Fields of an object that are shown after its name.
local FIELDS = {
  ["sim2d.Body"] = { "type", "position", "angle", "velocity", "angular_velocity", "mass" },
  ["sim2d.Joint"] = { "type", "a", "b", "impulse" },
  ["sim2d.Contact"] = { "a", "b", "point", "normal", "gap", "friction", "restitution" },
}

-- `read` is the function of annotations.lua, and `texts` are the contents of lua/sim2d/meta.
return function(sim, host, read, texts)
  local known = read(texts)

  local function class_of(value)
    local meta = debug.getmetatable(value)
    local name = type(meta) == "table" and rawget(meta, "__name")
    return type(value) == "userdata" and known.classes["sim2d." .. tostring(name)] or rawequal(value, sim) and known.classes.sim2d or nil
  end

  -- Fields of a class and its parents. Inherited fields come first, without those that the class overrides.
  local function fields_of(class)
    local fields = {}
    local own = {}
    for _, field in ipairs(class.fields) do own[field.name] = true end
    local parent = class.parent and known.classes[class.parent]
    for _, field in ipairs(parent and fields_of(parent) or {}) do
      if not own[field.name] then fields[#fields + 1] = field end
    end
    return table.move(class.fields, 1, #class.fields, #fields + 1, fields)
  end

  -- ---- Values -----------------------------------------------------------------------------------

  local function quoted(text)
    return '"' .. text:gsub('[%c"\\]', function(c)
      return c == "\n" and "\\n" or c == '"' and '\\"' or c == "\\" and "\\\\" or ("\\x%02x"):format(c:byte())
    end) .. '"'
  end

  local function is_plain(value)
    local meta = debug.getmetatable(value)
    return type(value) == "table" and not (type(meta) == "table" and (meta.__tostring or meta.__name))
  end

  -- Length of the list part and the other keys, in a fixed order.
  local function keys_of(value)
    local count, keys = rawlen(value), {}
    for key in next, value do
      if not (math.type(key) == "integer" and key >= 1 and key <= count) then keys[#keys + 1] = key end
    end
    table.sort(keys, function(a, b)
      if type(a) ~= type(b) then return type(a) < type(b) end
      if type(a) == "number" or type(a) == "string" then return a < b end
      return tostring(a) < tostring(b)
    end)
    return count, keys
  end

  local inline

  local function key_text(key)
    if type(key) == "string" and key:match "^[%a_][%w_]*$" then return key .. " = " end
    return "[" .. inline(key, 2) .. "] = "
  end

  -- The entries of a table as texts. Entries of the list part have no names.
  local function entries_of(value, depth)
    local count, keys = keys_of(value)
    local entries = {}
    for i = 1, math.min(count, MOST) do entries[i] = inline(rawget(value, i), depth) end
    for _, key in ipairs(keys) do
      if #entries >= MOST then break end
      entries[#entries + 1] = key_text(key) .. inline(rawget(value, key), depth)
    end
    local left = count + #keys - #entries
    if left > 0 then entries[#entries + 1] = ("... %d more"):format(left) end
    return entries, #keys
  end

  local function contact_text(value)
    local says = value.normal_impulse == 0 and "carries no force" or value.sliding and "slides" or "sticks"
    return ("%s on %s at {%.4g, %.4g}: gap %.4g m, %.4g N s, %.4g across, %s"):format(tostring(value.a),
      tostring(value.b), value.point[1], value.point[2], value.gap, value.normal_impulse, value.tangent_impulse, says)
  end

  local function is_contact(value)
    return type(rawget(value, "normal_impulse")) == "number" and type(rawget(value, "gap")) == "number"
      and type(rawget(value, "point")) == "userdata" and type(rawget(value, "tangent_impulse")) == "number"
      and rawget(value, "a") ~= nil and rawget(value, "b") ~= nil
  end

  -- A value within another value, shown on one line, with its contents if they are short.
  function inline(value, depth)
    if type(value) == "string" then return quoted(value) end
    if type(value) == "function" then return "function" end
    if not is_plain(value) then return tostring(value) end
    if is_contact(value) then return contact_text(value) end
    local count, keys = keys_of(value)
    if count + #keys == 0 then return debug.getmetatable(value) and "table" or "{}" end
    local short = count <= INLINE and #keys == 0
    for i = 1, short and count or 0 do short = short and type(value[i]) == "number" end
    if depth > 1 and not short then return "{...}" end
    local text = "{ " .. table.concat(entries_of(value, depth + 1), ", ") .. " }"
    if short then text = "{" .. text:sub(3, -3) .. "}" end
    if #text <= WIDTH - 4 then return text end
    local last = utf8.offset(text, 0, WIDTH - 10) -- the start of a UTF-8 character
    return text:sub(1, (last or WIDTH - 10) - 1) .. "... }"
  end

  local function show_list(head, entries)
    return head .. "{\n  " .. table.concat(entries, ",\n  ") .. "\n}"
  end

  local function show_object(value)
    local text = tostring(value)
    local class = class_of(value)
    if text:match "^Bodies %(%d+%)$" or text:match "^Joints %(%d+%)$" then
      local entries = {}
      for i, item in ipairs(value) do
        if i > MOST then
          entries[i] = "..."
          break
        end
        entries[i] = tostring(item)
      end
      return #entries > 0 and show_list(text .. " ", entries) or text
    end
    local parts = {}
    for _, name in ipairs(class and FIELDS[class.name] or {}) do
      local good, field = pcall(function() return value[name] end)
      if good and field ~= nil then parts[#parts + 1] = name .. " = " .. inline(field, 1) end
    end
    if #parts == 0 then return text end
    local line = text .. " { " .. table.concat(parts, ", ") .. " }"
    return #line <= WIDTH and line or show_list(text .. " ", parts)
  end

  -- A result in the form that the prompt prints.
  local function show(value)
    if type(value) == "userdata" then return show_object(value) end
    if not is_plain(value) then return tostring(value) end
    if next(value) == nil then return "{}" end
    if is_contact(value) then
      return show_list("", (entries_of(value, 1)))
    end
    local entries, names = entries_of(value, 1)
    local nested = false
    for i = 1, #entries do nested = nested or #entries[i] > 24 and #entries > 1 end
    local line = "{ " .. table.concat(entries, ", ") .. " }"
    if names == 0 then line = "{" .. line:sub(3, -3) .. "}" end
    return #line <= WIDTH and not nested and line or show_list("", entries)
  end

  -- ---- Keys of constructors ---------------------------------------------------------------------

  -- Open brackets of an unfinished text: { char, place, comma = place of the last comma, commas }.
  local function open_brackets(text)
    local stack, i = {}, 1
    while i <= #text do
      local c = text:sub(i, i)
      local level = text:match("^%[(=*)%[", i)
      if text:find("^%-%-", i) and not text:find("^%-%-%[=*%[", i) then
        i = (text:find("\n", i, true) or #text + 1) - 1
      elseif level or text:find("^%-%-%[=*%[", i) then
        level = level or text:match("^%-%-%[(=*)%[", i)
        local _, last = text:find("]" .. level .. "]", i, true)
        if not last then return nil end
        i = last
      elseif c == '"' or c == "'" then
        repeat
          i = i + 1
          if text:sub(i, i) == "\\" then i = i + 2 end
          if i > #text then return nil end -- inside a string
        until text:sub(i, i) == c
      elseif c:find "[%(%[{]" then
        stack[#stack + 1] = { char = c, place = i, comma = i, commas = 0 }
      elseif c:find "[%)%]}]" then
        stack[#stack] = nil
      elseif c:find "[,;]" and #stack > 0 then
        stack[#stack].comma, stack[#stack].commas = i, stack[#stack].commas + 1
      end
      i = i + 1
    end
    return stack
  end

  -- The annotation of the called function: "sim.world", "world:box", "crane.world:hinge".
  local function function_of(path)
    local base, rest = path:match "^([%a_][%w_]*)(.*)$"
    local name = path:match "([%a_][%w_]*)$"
    local class = base and class_of(rawget(_G, base))
    for part in (rest or ""):gmatch "[.:]([%w_]+)" do
      local found
      for _, field in ipairs(class and fields_of(class) or {}) do
        if field.name == part then found = known.classes[field.type] end
      end
      class = found or class
    end
    -- the owner's function, or the first function with that name
    local first
    for _, f in ipairs(known.functions) do
      if f.name == name then
        local owner = f.owner == "sim" and "sim2d" or "sim2d." .. f.owner
        if class and owner == class.name then return f end
        first = first or f
      end
    end
    return path:find "[.:]" and first or nil
  end

  -- Fields of a type: the fields of its classes, and the fields of table types that are written out in it.
  local function fields_of_type(kind)
    local fields = {}
    for name in kind:gsub("%b{}", ""):gmatch "sim2d%.[%w_]+" do
      local class = known.classes[name]
      if class then
        table.move(fields_of(class), 1, #fields_of(class), #fields + 1, fields)
      elseif known.aliases[name] then
        local more = fields_of_type(known.aliases[name])
        table.move(more, 1, #more, #fields + 1, fields)
      end
    end
    for spelled in kind:gmatch "%b{}" do
      for name, about in spelled:sub(2, -2):gmatch "([%a_][%w_]*)%??:%s*([^,]*)" do
        fields[#fields + 1] = { name = name, type = about, text = "" }
      end
    end
    return fields
  end

  -- Fields that the table opened at stack[level] may have, or nil if unknown.
  local function fields_at(text, stack, level)
    local open = stack[level]
    local before = text:sub(1, open.place - 1)
    local outer = stack[level - 1]
    local field = before:match "([%a_][%w_]*)%s*=%s*$"
    if outer and outer.char == "{" and field then
      for _, f in ipairs(fields_at(text, stack, level - 1) or {}) do
        if f.name == field then return fields_of_type(f.type) end
      end
      return nil
    end
    -- The cursor is inside the braces of f{ or f(..., {.
    local argument = 1
    if outer and outer.char == "(" and text:sub(outer.comma + 1, open.place - 1):match "^%s*$" then
      before, argument = text:sub(1, outer.place - 1), outer.commas + 1
    end
    local path = before:match "([%a_][%w_.:]*)%s*$"
    local f = path and function_of(path)
    local param = f and f.params[argument]
    return param and fields_of_type(param.type)
  end

  -- `before` is the text before the word to complete. The result is nil if no key is possible here.
  local function keys(before, word)
    local stack = open_brackets(before)
    local open = stack and stack[#stack]
    if not open or open.char ~= "{" or not word:match "^[%a_]?[%w_]*$"
      or not before:sub(open.comma + 1):match "^%s*$" then
      return nil
    end
    local list, taken, given = {}, {}, before:sub(open.place)
    for _, field in ipairs(fields_at(before, stack, #stack) or {}) do
      local name = field.name
      if name:match "^[%a_]" and name:sub(1, #word) == word and not taken[name]
        and not given:find("%f[%w_]" .. name .. "%s*=[^=]") then
        taken[name] = true
        list[#list + 1] = name .. " = "
      end
    end
    table.sort(list)
    return #list > 0 and list or nil
  end

  -- ---- Help -------------------------------------------------------------------------------------

  local function say(...) io.stdout:write(table.concat({ ... }), "\n") end

  -- "number, optional: TEXT" of a field or parameter
  local function about_text(field)
    local kind = field.type:gsub("sim2d%.", "") .. (field.optional and ", optional" or "")
    return kind .. (field.text ~= "" and ": " .. field.text or "")
  end

  local function say_fields(fields)
    for _, field in ipairs(fields) do
      local name = field.name:match "^[%a_]" and field.name or field.name .. " "
      say(("  %-20s %s"):format(name, about_text(field)))
    end
  end

  local function say_text(text)
    for _, line in ipairs(text) do say(line) end
  end

  local function help_function(f)
    local first = f.returns[1]
    local result = first and "  -> " .. first.type:gsub("sim2d%.", "") .. (first.optional and " or nil " or " ") .. first.name
    say(f.owner == "sim" and "sim" or f.owner:lower(), f.mark, f.name, f.list, result and result:gsub(" $", "") or "")
    say_text(f.text)
    for _, param in ipairs(f.params) do
      local fields = fields_of_type(param.type)
      if #fields > 0 and not param.type:match "^sim2d%.XY" and not param.type:match "^sim2d%.Body%??$"
        and not param.type:match "^sim2d%.World%??$" and not param.type:match "^sim2d%.Joint%??$" then
        say("keys of ", (param.name:gsub("%?$", "")), ":")
        say_fields(fields)
      elseif param.text ~= "" then
        say_fields { param }
      end
    end
  end

  local function help_class(class)
    local short = class.name:gsub("^sim2d%.?", "")
    say(short == "" and "sim, the library" or short)
    say_text(class.text)
    if #fields_of(class) > 0 then
      say "fields:"
      say_fields(fields_of(class))
    end
    local names = {}
    for _, f in ipairs(known.functions) do
      if (f.owner == "sim" and "sim2d" or "sim2d." .. f.owner) == class.name then names[#names + 1] = f.name end
    end
    if #names > 0 then
      table.sort(names)
      say((short == "" and "functions: " or "methods: "), (table.concat(names, " "):gsub(("[^\n]"):rep(WIDTH - 14) .. "[^ ]* ",
        "%0\n  ")))
    end
  end

  -- The name of a function of the library, or of a method.
  local function find_function(value)
    for _, f in ipairs(known.functions) do
      local owner = f.owner == "sim" and sim or debug.getregistry()["sim2d." .. f.owner]
      local methods = owner
      if type(owner) == "table" and owner ~= sim then
        methods = rawget(owner, "__index")
        if type(methods) == "function" then methods = select(2, debug.getupvalue(methods, 1)) end
      end
      if type(methods) == "table" and rawequal(rawget(methods, f.name), value) then return f end
    end
  end

  local function help_name(name)
    local last = name:match "([%w_]+)$"
    local owner = name:match "^([%w_]+)[.:]"
    local found, names = false, {}
    local function once()
      if found then say() end
      found = true
    end
    -- Functions, classes, and fields with that name.
    for _, f in ipairs(known.functions) do
      names[#names + 1] = f.name
      if f.name == last and (not owner or owner:lower() == f.owner:lower()) then
        once()
        help_function(f)
      end
    end
    for full, class in pairs(known.classes) do
      local short = full:gsub("^sim2d%.?", "")
      names[#names + 1] = short
      if short ~= "" and short:lower() == name:lower() or full == name or (short == "" and name == "sim") then
        once()
        help_class(class)
      end
    end
    local lines = {}
    for full, class in pairs(known.classes) do
      for _, field in ipairs(class.fields) do
        names[#names + 1] = field.name
        local short = full:gsub("^sim2d%.?", "")
        if field.name == last and (not owner or short:lower():gsub("def$", "") == owner:lower()) then
          lines[#lines + 1] = ("%s.%s  %s"):format(short == "" and "sim" or short, field.name, about_text(field))
        end
      end
    end
    table.sort(lines)
    if #lines > 0 and found then say() end
    for _, line in ipairs(lines) do say(line) end
    if not found and #lines == 0 then
      local nearest = host.nearest(last or name, names)
      say("there is no '", name, "'", nearest and ("; did you mean '%s'?"):format(nearest) or "",
        "  (help() gives an overview)")
    end
  end

  local OVERVIEW = [[
help "world:box"     a function, its keys and their meaning; also help(sim.world), help "box"
help "gravity"       a field or a key, wherever it occurs
help(world)          the fields and methods of an object; also help "Body", help(sim)
=x  or  x            shows a value
sim.worlds()         all open worlds, also those only in local variables of a script
TAB                  completes names, and keys within the braces of a constructor
Ctrl-C               clears the line, or stops running code; Ctrl-D ends the prompt
docs/lua.md          lists the pages of the reference]]

  local help = setmetatable({}, {
    __name = "help",
    __tostring = function() return OVERVIEW end,
    __call = function(_, ...)
      local about = ...
      local class = class_of(about)
      local f = type(about) == "function" and find_function(about)
      if select("#", ...) == 0 then
        say(OVERVIEW)
      elseif type(about) == "string" then
        help_name(about)
      elseif f then
        help_function(f)
      elseif class then
        help_class(class)
      else
        say("there is no help about ", show(about), "; help() gives an overview")
      end
    end,
  })

  return { show = show, keys = keys, help = help }
end
