-- Reads JSON (RFC 8259) for the levels of Kinetix. Objects and arrays become tables, and null becomes nil.
local sim = require "sim2d"

local json = {}

local DEEPEST = 64 -- levels of nesting; the files of Kinetix have 6
local ESCAPES = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }
local WORDS = { ["true"] = true, ["false"] = false }

-- Raises an error that names the line and the column of a byte.
local function refuse(text, at, expected)
  local before = text:sub(1, at - 1)
  local _, lines = before:gsub("\n", "")
  local column = at - (before:match "^.*()\n" or 0)
  local found = at > #text and "the end of the text" or ("%q"):format(text:sub(at, at + 11):match "^[%g ]*" or "")
  error(("JSON, line %d, column %d: %s expected, got %s"):format(lines + 1, column, expected, found), 0)
end

local function skip(text, at)
  return text:match("^[ \t\r\n]*()", at)
end

-- Returns the character of an escape sequence, and the place after it.
local function unescape(text, at)
  local code = text:match("^u(%x%x%x%x)", at)
  if not code then
    local character = ESCAPES[text:sub(at, at)]
    return character or refuse(text, at, "an escape sequence"), at + 1
  end
  local number = tonumber(code, 16)
  at = at + 5
  -- Two surrogates are one character.
  if number >= 0xD800 and number <= 0xDFFF then
    local low = number < 0xDC00 and tonumber(text:match("^\\u(%x%x%x%x)", at) or "", 16)
    if not low or low < 0xDC00 or low > 0xDFFF then refuse(text, at, "a low surrogate") end
    number, at = 0x10000 + (number - 0xD800) * 0x400 + low - 0xDC00, at + 6
  end
  return utf8.char(number), at
end

local function read_text(text, at)
  local parts = {}
  at = at + 1
  while true do
    local plain, after = text:match('^([^"\\%c]*)()', at)
    parts[#parts + 1], at = plain, after
    local mark = text:sub(at, at)
    if mark == '"' then return table.concat(parts), at + 1 end
    if mark ~= "\\" then refuse(text, at, "a quotation mark") end
    parts[#parts + 1], at = unescape(text, at + 1)
  end
end

local function read_number(text, at)
  local whole, after = text:match("^(%-?%d+)()", at)
  if not whole or whole:find "^%-?0%d" then refuse(text, at, "a value") end
  after = text:match("^%.%d+()", after) or after
  after = text:match("^[eE][+-]?%d+()", after) or after
  return tonumber(text:sub(at, after - 1)), after
end

local read

local function read_array(text, at, depth)
  local list, count = {}, 0
  at = skip(text, at + 1)
  if text:sub(at, at) == "]" then return list, at + 1 end
  while true do
    count = count + 1
    list[count], at = read(text, at, depth)
    at = skip(text, at)
    local mark = text:sub(at, at)
    if mark == "]" then return list, at + 1 end
    if mark ~= "," then refuse(text, at, "',' or ']'") end
    at = at + 1
  end
end

local function read_object(text, at, depth)
  local object = {}
  at = skip(text, at + 1)
  if text:sub(at, at) == "}" then return object, at + 1 end
  while true do
    at = skip(text, at)
    if text:sub(at, at) ~= '"' then refuse(text, at, "a key in quotation marks") end
    local key
    key, at = read_text(text, at)
    at = skip(text, at)
    if text:sub(at, at) ~= ":" then refuse(text, at, "':'") end
    object[key], at = read(text, at + 1, depth)
    at = skip(text, at)
    local mark = text:sub(at, at)
    if mark == "}" then return object, at + 1 end
    if mark ~= "," then refuse(text, at, "',' or '}'") end
    at = at + 1
  end
end

-- Returns the value that begins at a place, and the place after it.
function read(text, at, depth)
  at = skip(text, at)
  if depth == 0 then refuse(text, at, ("at most %d levels of nesting"):format(DEEPEST)) end
  local mark = text:sub(at, at)
  if mark == "{" then return read_object(text, at, depth - 1) end
  if mark == "[" then return read_array(text, at, depth - 1) end
  if mark == '"' then return read_text(text, at) end
  local word, after = text:match("^(%l+)()", at)
  if word == "null" then return nil, after end
  if WORDS[word] ~= nil then return WORDS[word], after end
  return read_number(text, at)
end

-- Returns the value of a text. Raises an error that names the place of a mistake.
function json.read(text)
  local value, at = read(text, 1, DEEPEST)
  at = skip(text, at)
  if at <= #text then refuse(text, at, "the end of the text") end
  return value
end

if not sim.is_main() then return json end

local exp = sim.experiment "A reader of JSON"
local value = json.read '{ "pi": 3.14, "list": [1, true, null, "\\u00e9\\n"], "inner": { "x": -2e3 } }'
exp:equal("a number", 3.14, value.pi)
exp:equal("an exponent", -2000, value.inner.x)
exp:equal("an escape", "\u{e9}\n", value.list[4])
local _, mistake = pcall(json.read, "[1\n 2]")
exp:equal("a mistake", "JSON, line 2, column 2: ',' or ']' expected, got \"2]\"", mistake)
exp:finish()
