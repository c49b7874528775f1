-- sim.table, tested by its printed lines.
local sim = require "sim2d"

local function printed(def)
  local lines, before = {}, print
  print = function(line) lines[#lines + 1] = line end
  local success, message = pcall(sim.table, def)
  print = before
  if not success then error(message, 0) end
  return lines
end

test("numbers are aligned right, words left, with a header", function()
  eq(printed {
    { "box", 1, 0.5 },
    { "a long name", 100, 0.25 },
    columns = { "name", "steps", { "mu", format = "%.3f" } },
  }, {
    "name         steps     mu",
    "-------------------------",
    "box              1  0.500",
    "a long name    100  0.250",
  })
end)

test("rows with names need no columns", function()
  eq(printed { { b = 2, a = 1 }, { a = 10 } }, { " a  b", "-----", " 1  2", "10" })
end)

test("rows with names take columns in the order given", function()
  eq(printed { { b = 2, a = 1 }, columns = { "b", "a" } }, { "b  a", "----", "2  1" })
end)

test("lists without columns have no header", function()
  eq(printed { { 1, 2 }, { 30, 4 } }, { " 1  2", "30  4" })
end)

test("names are as wide as they look", function()
  eq(printed { { "é", 1 }, { "ab", 2 } }, { "é   1", "ab  2" })
end)

test("nan is nan, floats are short", function()
  eq(printed { { 0 / 0, 1 / 3, 2.0, 1e20, math.huge } }, { "nan  0.333333  2  1e+20  inf" })
end)

test("empty tables", function()
  eq(printed {}, {})
  eq(printed { columns = { "x" } }, { "x", "-" })
end)

test("wrong arguments raise", function()
  raises("a table of rows expected, got nil", sim.table)
  raises("unknown key 'collumns'", sim.table, { collumns = {} })
  raises("row 2 is a number, not a table", sim.table, { { 1 }, 2 })
  raises("column 1 is neither a name nor {name, format = \"%%.3f\"}", sim.table,
    { columns = { 1 } })
end)

test("lists and rows with names may be mixed under columns", function()
  eq(printed { { a = 1, b = 2 }, { 3, 4 }, columns = { "a", "b" } }, { "a  b", "----", "1  2", "3  4" })
end)
