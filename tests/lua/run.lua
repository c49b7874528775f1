-- Runs one file of tests: sim2d tests/lua/run.lua tests/lua/test_NAME.lua [PATTERN]
--
-- The file sees these globals:
--   test(name, fn)                 a test; PATTERN selects by name
--   eq(got, want [, message])      equal, tables by content; nan equals nan
--   near(got, want [, tolerance])  numbers, or tables of them; tolerance is absolute (default 1e-9)
--   ok(value [, message])          neither nil nor false
--   raises(pattern, fn, ...)       fn(...) raises a message that matches; returns the message
--   skip(reason)                   ends this test without a verdict
--   larger(a, ...)                 the largest, or nan where one is (math.max leaves it out)
--   fewer(all, some)              all, with sanitizers some: they look at the code, not at the digits (docs/testing.md)
--   at_end(fn)                     fn() after all tests, also after an error: files to be removed
-- A test that calls none of eq, near, ok, raises and skip has asserted nothing, and fails.
-- Prints "ok" and "not ok" lines, where a failure happened, and a summary. Exits 1 on a failure or
-- when no test ran.

local NEAR = 1e-9 -- absolute; a few thousand roundings of numbers of size 1

local file = arg[1] or error("usage: run.lua FILE [PATTERN]", 0)
local pattern = arg[2] or ""
local passed, failed, skipped = 0, 0, 0
local SKIP = {}
local asserted = 0 -- in this test
local at_ends = {}

local function show(value, depth)
  depth = depth or 0
  if type(value) == "string" then
    return string.format("%q", value)
  elseif math.type(value) == "float" then
    return value ~= value and "nan" or string.format("%.17g", value)
  elseif type(value) ~= "table" or depth > 3 then
    return tostring(value)
  end
  local parts, keys = {}, {}
  for key in pairs(value) do
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for i, key in ipairs(keys) do
    local name = math.type(key) == "integer" and key == i and "" or tostring(key) .. " = "
    parts[i] = name .. show(value[key], depth + 1)
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b or (a ~= a and b ~= b)
  end
  for key, value in pairs(a) do
    if not same(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

local function within(a, b, tolerance)
  if type(b) == "number" then
    return type(a) == "number" and (a == b or math.abs(a - b) <= tolerance)
  end
  if #a ~= #b then return false end
  for i = 1, #b do
    if not within(a[i], b[i], tolerance) then return false end
  end
  return true
end

-- The line of the test that called the helper: level 1 is this function, 2 the helper.
local function fail(format, ...)
  error(string.format(format, ...), 3)
end

function eq(got, want, message)
  asserted = asserted + 1
  if not same(got, want) then
    fail("%sgot %s, want %s", message and message .. ": " or "", show(got), show(want))
  end
end

function near(got, want, tolerance)
  asserted = asserted + 1
  tolerance = tolerance or NEAR
  if not within(got, want, tolerance) then
    fail("got %s, want %s within %g", show(got), show(want), tolerance)
  end
end

function ok(value, message)
  asserted = asserted + 1
  if not value then
    fail("%s", message or "got " .. tostring(value))
  end
  return value
end

function raises(expected, fn, ...)
  asserted = asserted + 1
  local success, message = pcall(fn, ...)
  if success then
    fail("nothing was raised, want a message like %s", show(expected))
  end
  message = tostring(message)
  if not message:find(expected) then
    fail("raised %s, want a message like %s", show(message), show(expected))
  end
  return message
end

function skip(reason)
  error({ skip = SKIP, reason = reason }, 0)
end

function larger(a, ...)
  for _, b in ipairs { ... } do
    if b ~= b or b > a then a = b end
  end
  return a
end

function fewer(all, some) return os.getenv "S2_SANITIZED" and some or all end
function at_end(fn) at_ends[#at_ends + 1] = fn end

local function handler(message)
  if type(message) == "table" and message.skip == SKIP then
    return message
  end
  -- the lines of the test, without those of this file and of C
  local lines = { tostring(message) }
  for line in debug.traceback("", 2):gmatch "\t([^\n]+)" do
    if not line:find("^%[C%]") and not line:find(arg[0], 1, true) then
      lines[#lines + 1] = "  " .. line
    end
  end
  return table.concat(lines, "\n")
end

function test(name, fn)
  if not name:find(pattern) then return end
  asserted = 0
  local success, message = xpcall(fn, handler)
  if success and asserted == 0 then
    success, message = false, "it asserted nothing"
  end
  if success then
    passed = passed + 1
    print("ok " .. name)
  elseif type(message) == "table" then
    skipped = skipped + 1
    print("ok " .. name .. " # skipped: " .. tostring(message.reason))
  else
    failed = failed + 1
    print("not ok " .. name)
    print("  " .. message:gsub("\n", "\n  "))
  end
  collectgarbage() -- what a test forgot to free shows here, under its name
end

local chunk, message = loadfile(file)
if not chunk then
  print(message)
  os.exit(1)
end
local success, trace = xpcall(chunk, handler)
if not success then
  failed = failed + 1
  print("not ok " .. file .. " did not run to its end")
  print("  " .. trace:gsub("\n", "\n  "))
end
for _, fn in ipairs(at_ends) do fn() end
local tail = skipped > 0 and string.format(", %d skipped", skipped) or ""
print(string.format("%d passed, %d failed%s", passed, failed, tail))
if failed > 0 or passed + skipped == 0 then
  os.exit(1, true)
end
