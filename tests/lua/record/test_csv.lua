-- .csv files as loggers and spreadsheets write them: the right numbers, or a message that names the place.
local sim = require "sim2d"
local PATH = os.tmpname()
at_end(function()
  os.remove(PATH)
  os.remove(PATH .. ".csv")
end)

local function load(text, options)
  local file = assert(io.open(PATH .. ".csv", "wb"))
  file:write(text)
  file:close()
  return sim.data.load(PATH .. ".csv", options)
end

local nan = 0 / 0

-- Columns as lists, in the order of the file; of units, name (unit).
local function read(text, options)
  local data, about = load(text, options)
  if not data then return nil, about end
  if #about.names == 0 then return data:table() end
  local columns = {}
  for i, name in ipairs(about.names) do
    local unit = about.units[name]
    local values = data[name]
    columns[i] = { unit and ("%s (%s)"):format(name, unit) or name, table.unpack(type(values) == "table" and values or values:table()) }
  end
  return columns
end

local PLAIN = { { "t", 0, 1 }, { "x", 1.5, -2 } }
local UNITS = { { "t (s)", 0, 1 }, { "x (m)", 1.5, -2 } }

local CASES = { -- text, expected columns (a text: part of the message), options
  -- separators and line ends
  { "t,x\n0,1.5\n1,-2\n", PLAIN },
  { "t;x\n0;1.5\n1;-2\n", PLAIN },
  { "t\tx\n0\t1.5\n1\t-2\n", PLAIN },
  { " t   x\n 0   1.5\n 1    -2\n", PLAIN },
  { "t,x\r\n0,1.5\r\n1,-2\r\n", PLAIN },
  { "t,x\r0,1.5\r1,-2\r", PLAIN },
  { "# a\r# b\rt,x\r0,1.5\r1,-2\r", PLAIN },
  { "t , x\n 0, 1.5\n 1,-2\n", PLAIN },
  { "t\t x\n0\t 1.5\n1\t-2\n", PLAIN },
  { "sep=;\nt;x\n0;1.5\n1;-2\n", PLAIN },
  { "sep=;\nt;x\n0;1.5\n1;-2\n", PLAIN, { separator = ";" } },
  { "t|x\n0|1.5\n1|-2\n", PLAIN, { separator = "|" } },
  { "t,x,\n0,1.5,\n1,-2,\n", PLAIN },
  { "t,x\n0,1.5,\n1,-2,\n", PLAIN },
  { "t;x;;\n0;1.5;;\n1;-2;;\n", PLAIN },
  { "x\n1\n2\n", { { "x", 1, 2 } } },
  { "note,x\na;b,1\nc;d,2\n", { { "note", "a;b", "c;d" }, { "x", 1, 2 } } },
  -- before and after the table
  { "\xEF\xBB\xBFt,x\n0,1.5\n1,-2\n", PLAIN },
  { "\xFF\xFE" .. ("t,x\n0,1.5\n1,-2\n"):gsub(".", "%0\0"), PLAIN },
  { "\xFE\xFF" .. ("t,x\n0,1.5\n1,-2\n"):gsub(".", "\0%0"), PLAIN },
  { ("t,x\n0,1.5\n1,-2\n"):gsub(".", "%0\0"), PLAIN },
  { "Device: IMU\nRate: 100\n\nt,x\n0,1.5\n1,-2\n", PLAIN },
  { "Device\tIMU 7\nno table yet\nt\tx\ty\n0\t1.5\t3\n1\t-2\t4\n", { { "t", 0, 1 }, { "x", 1.5, -2 }, { "y", 3, 4 } } },
  { "% log\n// more\nt,x\n0,1.5\n# between\n1,-2\n", PLAIN },
  { "a line\nanother, line\nt,x\n0,1.5\n1,-2\n", PLAIN, { skip = 2 } },
  { "t,x\n\n0,1.5\n\n1,-2\n\n", PLAIN },
  -- names and units
  { '"t [s]","x [m]"\n0,1.5\n1,-2\n', UNITS },
  { "t (s);x (m)\n0;1.5\n1;-2\n", UNITS },
  { "t,x\ns,m\n0,1.5\n1,-2\n", UNITS },
  { "t,x\n[s],(m)\n0,1.5\n1,-2\n", UNITS },
  { "t,x,name\ns,m,\n0,1.5,a\n1,-2,b\n", { { "t (s)", 0, 1 }, { "x (m)", 1.5, -2 }, { "name", "a", "b" } } },
  { "t,x,k\ns,m,1\n0,1.5,3\n1,-2,4\n", { { "t (s)", 0, 1 }, { "x (m)", 1.5, -2 }, { "k (1)", 3, 4 } } },
  { 't,"x, left"\n0,1.5\n1,-2\n', { { "t", 0, 1 }, { "x, left", 1.5, -2 } } },
  { ",x\n0,1.5\n1,-2\n", { { "column1", 0, 1 }, { "x", 1.5, -2 } } },
  { "t,\xB0C\n0,1.5\n1,-2\n", { { "t", 0, 1 }, { "°C", 1.5, -2 } } },
  { "f(x),x\n0,1.5\n1,-2\n", { { "f(x)", 0, 1 }, { "x", 1.5, -2 } } },
  -- numbers
  { "t;x\n0,0;1,5\n1,0;-2,0\n", PLAIN },
  { "t\tx\n0,0\t1,5\n1,0\t-2E0\n", PLAIN },
  { "t x\n0,0 1,5\n1,0 -2\n", PLAIN },
  { '"t","x"\n"0","1,5"\n"1","-2,0"\n', PLAIN },
  { "t;x\n0;1.234,5\n1;2,5\n", { { "t", 0, 1 }, { "x", 1234.5, 2.5 } } },
  { "t;x\n0;1.234.567\n1;2,5\n", { { "t", 0, 1 }, { "x", 1234567, 2.5 } } },
  { "t;x\n0;1,234\n1;2,500\n", { { "t", 0, 1 }, { "x", 1.234, 2.5 } } },
  { 't,x\n0,"1,234.5"\n1,"1,234,567"\n', { { "t", 0, 1 }, { "x", 1234.5, 1234567 } } },
  { 't,x\n0.5,"1,234"\n1,2\n', { { "t", 0.5, 1 }, { "x", 1234, 2 } } },
  { "t;x\n0;1 234,5\n1;2'345,5\n", { { "t", 0, 1 }, { "x", 1234.5, 2345.5 } } },
  { "t;x\n0;1\xC2\xA0234,5\n1;-2\n", { { "t", 0, 1 }, { "x", 1234.5, -2 } } },
  { "t,x\n0,1.5D+01\n1,-2d-1\n", { { "t", 0, 1 }, { "x", 15, -0.2 } } },
  { "t,x\n+0,+.5\n1.,-.5E0\n", { { "t", 0, 1 }, { "x", 0.5, -0.5 } } },
  { "t,x\n0,\xE2\x88\x921.5\n1,2\n", { { "t", 0, 1 }, { "x", -1.5, 2 } } },
  { "t,x\n0,NaN\n1,NA\n2,N/A\n3,null\n4,\n5,None\n6,-\n7,#N/A\n8,-nan(ind)\n9,1\n",
    { { "t", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, { "x", nan, nan, nan, nan, nan, nan, nan, nan, nan, 1 } } },
  -- #N/A in the first column is a missing value and no comment, % there a unit
  { "x,t\n1.5,0\n#N/A,1\n#DIV/0!,2\n# no row\n#NA,3\n", { { "x", 1.5, nan, nan, nan }, { "t", 0, 1, 2, 3 } } },
  { "x;t\n1,5;0\n#N/A;1\n", { { "x", 1.5, nan }, { "t", 0, 1 } } },
  { "x t\n1.5 0\n#N/A 1\n#N/A is a missing value\n", { { "x", 1.5, nan }, { "t", 0, 1 } } },
  { "x\n1.5\n#N/A\n", { { "x", 1.5, nan } } },
  { "duty,t\n%,s\n50,0\n60,1\n", { { "duty (%)", 50, 60 }, { "t (s)", 0, 1 } } },
  { "duty\tt\n%\ts\n50\t0\n60\t1\n", { { "duty (%)", 50, 60 }, { "t (s)", 0, 1 } } },
  { "a,b\nx,\n,c\n", { { "a", "x", "" }, { "b", "", "c" } } },
  { "t,x\n0,inf\n1,-Infinity\n", { { "t", 0, 1 }, { "x", 1 / 0, -1 / 0 } } },
  { "t,x\n0,5%\n1,6%\n", { { "t", 0, 1 }, { "x", "5%", "6%" } } },
  { "t,x\n2024-01-01T00:00:00,1\n2024-01-01T00:00:01,2\n",
    { { "t", "2024-01-01T00:00:00", "2024-01-01T00:00:01" }, { "x", 1, 2 } } },
  { "id,x\n7,1\n8B,2\n", { { "id", "7", "8B" }, { "x", 1, 2 } }, { texts = { "id" } } },
  { "t,x\n0,1\n1\n", { { "t", 0, 1 }, { "x", 1, nan } }, { fill = true } },
  { "1;2,5\n3;4,5\n", { { 1, 2.5 }, { 3, 4.5 } } },
  { "0,5\n1,5\n", { { 0, 5 }, { 1, 5 } } },
  -- ambiguous or unreadable texts
  { "t\tx\n0\t1,234\n1\t2,500\n", "line 2, column 2: '1,234' may contain a decimal point or a thousands separator; .* decimal =" },
  { "t\tx\n0\t1,234\n1\t2,500\n", { { "t", 0, 1 }, { "x", 1.234, 2.5 } }, { decimal = "," } },
  { "t\tx\n0\t1,234\n1\t2,500\n", { { "t", 0, 1 }, { "x", 1234, 2500 } }, { decimal = "." } },
  { "t;x\n0,5;1.000\n1,5;12.000\n", "line 2, column 2: '1.000' may contain a decimal point or a thousands separator; .* decimal =" },
  { "t;x\n0,5;1.000\n1,5;12.000\n", { { "t", 0.5, 1.5 }, { "x", 1000, 12000 } }, { decimal = "," } },
  { "t;x\n0,5;900\n1,5;1.000\n2,5;1.000.000\n", "line 3, column 2: '1.000' may contain a decimal point or a thousands separator" },
  { "t;x\n0,5;1.000,5\n1,5;1.000.000\n", { { "t", 0.5, 1.5 }, { "x", 1000.5, 1e6 } } },
  { "t;x\n0;1,5\n1;2.5\n", "line 3, column 2: '2.5' has a different decimal point" },
  { "t;x\n0;1,5\n1;2.500\n", "line 3, column 2: '2.500' may contain a decimal point or a thousands separator" },
  { "t,x\n0,1,5\n1,2,5\n", "line 2 has 3 cells, but line 1 has 2" },
  { "x\n0,5\n1,5\n", 'line 2 has 2 cells, but line 1 has 1; .* decimal = ","' },
  { "x\n0,5\n1,5\n", { { "x", 0.5, 1.5 } }, { decimal = "," } },
  { "t x\n0 0,5\n1 1,5\n", { { "t", 0, 1 }, { "x", 0.5, 1.5 } }, { decimal = "," } },
  { "t,x\n0,1\n1\n", "line 3 has 1 cells, but line 1 has 2; .* fill = true" },
  { "t,x\n0,1\n1,0x10\n2,3\n", "line 3, column 'x': '0x10' is not a number, .* texts = {" },
  { "t,x\n0,1\n1,2..5\n2,3\n", "line 3, column 'x': '2..5' is not a number" },
  { "t,x\n" .. ("0,1\n"):rep(20) .. "1,ERR\n", "line 22, column 'x': 'ERR' is not a number" },
  { "t,x,x\n0,1,2\n", "two columns have the name 'x'" },
  { "t,x\n0,1\0\n1,2\n", "line 2: not a text file" },
  { "t,x\n0,1\n", "no column 'y' for `texts`", { texts = { "y" } } },
}

test("a table of texts", function()
  for i, case in ipairs(CASES) do
    local text, want, options = table.unpack(case, 1, 3)
    local got, message = read(text, options)
    local where = ("case %d, %q: "):format(i, text)
    if type(want) == "string" then
      ok(got == nil and message:find(want), where .. tostring(message or "was read"))
    else
      ok(got ~= nil, where .. tostring(message))
      eq(got, want, where)
    end
  end
end)

-- ---- Random tables --------------------------------------------------------------------------------

-- A number in one of the usual notations, and its value when it is read.
local function written(R, decimal, digits, groups)
  if R:uniform(0, 1) < 0.05 then return ({ "", "NaN", "N/A", "null" })[R:integer(1, 4)], nan end
  local value = R:uniform(-3000, 3000)
  local text = ("%." .. digits .. "f"):format(value)
  if R:uniform(0, 1) < 0.2 then text = ("%." .. digits .. "e"):format(value) end
  value = tonumber(text)
  local whole = text:match "^%-?(%d+)"
  if groups and #whole == 4 and not text:find "e" then
    text = text:gsub("(%d)(%d%d%d)(%.)", "%1G%2%3", 1):gsub("G", groups)
  end
  if decimal == "," then
    -- group marks and the decimal point change places
    text = text:gsub("%.", "D"):gsub(",", "."):gsub("D", ",")
  end
  return text, value
end

test("random tables in random dialects are read as they are, or refused", function()
  local exact, refused = 0, 0
  for seed = 1, 300 do
    sim.random.seed(seed)
    local R = sim.random.split()
    local function pick(list) return list[R:integer(1, #list)] end
    local separator, decimal = pick { ",", ";", "\t", " " }, pick { ".", "," }
    local digits, groups = R:integer(1, 6), pick { false, false, "," }
    local width, rows, want, lines = R:integer(2, 4), R:integer(2, 12), {}, {}
    local header = {}
    for k = 1, width do
      header[k], want[k] = "c" .. k, {}
    end
    lines[1] = table.concat(header, separator)
    if R:uniform(0, 1) < 0.3 then lines[#lines + 1] = table.concat({ "s", "m", "kg", "V" }, separator, 1, width) end
    for i = 1, rows do
      local cells = {}
      for k = 1, width do
        cells[k], want[k][i] = written(R, decimal, digits, groups)
        if separator == " " and cells[k] == "" then cells[k] = "nan" end
        if separator == "," and cells[k]:find "," or R:uniform(0, 1) < 0.05 then cells[k] = '"' .. cells[k] .. '"' end
      end
      lines[#lines + 1] = table.concat(cells, separator)
    end
    local text = table.concat(lines, pick { "\n", "\r\n", "\r" }) .. "\n"
    local data, message = load(text)
    if not data then
      ok(message:find "line %d+", message)
      refused = refused + 1
    else
      for k = 1, width do
        ok(type(data["c" .. k]) == "userdata" and #data["c" .. k] == rows, ("seed %d: %s"):format(seed, text))
        for i = 1, rows do
          local got, value = data["c" .. k][i], want[k][i]
          ok(got == value or (got ~= got and value ~= value), ("seed %d, row %d, column %d: %s of %s"):format(seed, i, k, got, text))
        end
      end
      exact = exact + 1
    end
  end
  ok(exact > 270, ("%d read, %d refused"):format(exact, refused))
end)

test("texts that look like comments or like nothing come back", function()
  local words = { "%x", "//x", "#x", "#N/A!", "%", "", "x", " x", 'q"q', "a,b", "%,x", "/x", "line\nbreak" }
  for seed = 1, 300 do
    sim.random.seed(seed)
    local R = sim.random.split()
    local columns, rows = R:integer(1, 3), R:integer(1, 6)
    local saved = {}
    for k = 1, columns do
      -- the first row shows that the column holds texts
      local column = { "text" }
      for i = 2, rows do
        column[i] = words[R:integer(1, #words)]
      end
      saved[({ "a", "%b", "# c" })[k]] = column
    end
    ok(sim.data.save(PATH .. ".csv", saved))
    local data, message = sim.data.load(PATH .. ".csv")
    ok(data, message)
    for name, column in pairs(saved) do
      eq(data[name], column, ("seed %d, column %s: "):format(seed, name))
    end
  end
end)
