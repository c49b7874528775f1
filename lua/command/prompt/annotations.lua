-- Reads the annotations of lua/sim2d/meta, for the prompt and for docs/reference/generate.lua.
--
-- read(texts), with the texts of the files, returns
--   functions  a list of { owner, mark, name, list, text, params, returns }: `function owner:name(list)`
--   classes    by full name: { name, text, parent, fields }
--   aliases    by full name: the type
-- Fields, parameters and returns are { name, optional, type, text }, and their types have no final "?".
-- `text` of functions and classes is a list of lines. Returns may have no name.

-- Splits "TYPE TEXT". The type ends at the first blank outside brackets and quotes, except next to | : or a comma.
local function split(rest)
  local depth, quoted = 0, false
  for i = 1, #rest do
    local c = rest:sub(i, i)
    if c == '"' then quoted = not quoted end
    if c:find "[%(%[{<]" then depth = depth + 1 elseif c:find "[%)%]}>]" then depth = depth - 1 end
    local joined = rest:sub(i - 1, i - 1):find "[|:,]" or rest:sub(i + 1, i + 1) == "|"
    if c == " " and depth == 0 and not quoted and not joined then return rest:sub(1, i - 1), rest:sub(i + 1) end
  end
  return rest, ""
end

-- A "?" at the end of a function's type belongs to its return type.
local function value(name, kind, text)
  local optional = kind:sub(-1) == "?" and not kind:find "^fun%("
  if optional then kind = kind:sub(1, -2) end
  return { name = name:gsub("%?$", ""), optional = optional or name:sub(-1) == "?", type = kind, text = text }
end

-- "NAME TYPE TEXT" of a field or parameter
local function named(rest)
  local name, more = rest:match "^(%S+)%s+(.*)$"
  return value(name, split(more))
end

-- "TYPE NAME TEXT" or "TYPE NAME, TYPE NAME ...", added to a list
local function add_returns(returns, rest)
  repeat
    local kind, about = split(rest)
    local name, more = about:match "^([%w_]+)%s*,%s*(.*)$"
    if not name then
      local only, text = about:match "^([%w_]+) ?(.*)$"
      returns[#returns + 1] = value(only or "", kind, text or about)
      return
    end
    returns[#returns + 1] = value(name, kind, "")
    rest = more
  until false
end

return function(texts)
  local known = { functions = {}, classes = {}, aliases = {} }
  local text, params, returns, class
  local function begin() text, params, returns = {}, {}, {} end
  local tags = {
    class = function(rest)
      local name, parent, more = rest:match "^([%w_.]+):%s*([%w_.]+)(.*)$"
      if not name then name, more = rest:match "^([%w_.]+)(.*)$" end
      class = known.classes[name] or { name = name, text = {}, fields = {} }
      known.classes[name] = class
      class.parent = parent or class.parent
      table.move(text, 1, #text, #class.text + 1, class.text)
      if more:find "%S" then class.text[#class.text + 1] = more:match "^%s*(.*)$" end
      begin()
    end,
    field = function(rest) class.fields[#class.fields + 1] = named(rest) end,
    param = function(rest) params[#params + 1] = named(rest) end,
    ["return"] = function(rest) add_returns(returns, rest) end,
    alias = function(rest)
      local name, kind = rest:match "^(%S+)%s*(.*)$"
      known.aliases[name] = kind
      begin()
    end,
  }
  for _, source in ipairs(texts) do
    begin()
    for line in source:gmatch "[^\n]*" do
      local tag, rest = line:match "^%-%-%-@(%a+)%s*(.*)$"
      local owner, mark, name, list = line:match "^function ([%w_]+)([.:])([%w_]+)(%b())"
      if tag then
        if tags[tag] then tags[tag](rest) end
      elseif line:sub(1, 3) == "---" then
        if not line:match "^%-%-%-|" then text[#text + 1] = line:sub(4) end
      elseif owner then
        known.functions[#known.functions + 1] =
          { owner = owner, mark = mark, name = name, list = list, text = text, params = params, returns = returns }
        begin()
      elseif not line:find "%S" then
        begin()
      end
    end
  end
  return known
end
