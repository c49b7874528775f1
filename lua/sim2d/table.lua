-- sim.table: prints numbers in readable columns.

local COLUMN_GAP = "  "

-- Six digits distinguish runs and keep columns narrow. With `format` you can print more.
local function show(value, format)
  if format and type(value) == "number" then
    value = string.format(format, value)
  elseif math.type(value) == "float" then
    value = value == math.floor(value) and math.abs(value) < 1e6 and string.format("%.0f", value)
      or string.format("%.6g", value)
  end
  return (tostring(value):gsub("^%-nan", "nan"))
end

-- In a column of fixed-point numbers the decimal points are aligned. Right alignment is enough, because all numbers
-- have the same number of decimals.
local function pad(text, width, right)
  local fill = string.rep(" ", width - (utf8.len(text) or #text))
  return right and fill .. text or text .. fill
end

local function fail(format, ...)
  error("bad argument #1 to 'table' (" .. string.format(format, ...) .. ")", 0)
end

-- If the rows have no `columns`, the columns are the indices, or the sorted keys of the first row.
local function default_columns(rows)
  local first = rows[1]
  if first == nil then
    return {}, false
  elseif type(first) ~= "table" then
    fail("row 1 is a %s, not a table", type(first))
  end
  local columns = {}
  if #first > 0 then
    for i = 1, #first do columns[i] = { "", key = i } end
    return columns, false
  end
  for key in pairs(first) do
    if type(key) ~= "string" then
      fail("each row must be a list or have names as keys")
    end
    columns[#columns + 1] = { key, key = key }
  end
  table.sort(columns, function(a, b) return a[1] < b[1] end)
  return columns, true
end

local function read_columns(def)
  if def.columns == nil then
    return default_columns(def)
  end
  local columns = {}
  for i, column in ipairs(def.columns) do
    local name = type(column) == "table" and column[1] or column
    if type(name) ~= "string" then
      fail("column %d is neither a name nor {name, format = \"%%.3f\"}", i)
    end
    columns[i] = {
      name,
      key = name,
      place = i,
      format = type(column) == "table" and column.format or nil,
    }
  end
  return columns, true
end

local function cell(row, column)
  local value = row[column.key]
  if value == nil and column.place then value = row[column.place] end
  return value
end

-- Returns the lines of the table, with the header first if there is one.
local function lines_of(def)
  if type(def) ~= "table" then
    fail("a table of rows expected, got %s", type(def))
  end
  for key in pairs(def) do
    if math.type(key) ~= "integer" and key ~= "columns" then
      fail("unknown key '%s'; rows and `columns` are expected", tostring(key))
    end
  end
  -- for each column, compute the texts first, then their width and alignment
  local columns, has_header = read_columns(def)
  local lines = {}
  for i = 1, rawlen(def) + (has_header and 1 or 0) do lines[i] = {} end
  for _, column in ipairs(columns) do
    local cells, right = {}, true
    if has_header then cells[1] = column[1] end
    for i, row in ipairs(def) do
      if type(row) ~= "table" then
        fail("row %d is a %s, not a table", i, type(row))
      end
      local value = cell(row, column)
      right = right and (value == nil or type(value) == "number")
      cells[#cells + 1] = value == nil and "" or show(value, column.format)
    end
    -- width in characters, or in bytes if a text is not UTF-8
    local width = 0
    for _, cell in ipairs(cells) do width = math.max(width, utf8.len(cell) or #cell) end
    for i, cell in ipairs(cells) do
      table.insert(lines[i], pad(cell, width, right))
    end
  end
  for i, cells in ipairs(lines) do
    lines[i] = table.concat(cells, COLUMN_GAP):gsub("%s+$", "")
  end
  return lines, has_header, columns
end

-- Returns the contents of a column: numbers, with nan for missing numbers, or texts.
local function values_of(rows, column)
  local numbers, texts = {}, {}
  for i, row in ipairs(rows) do
    local value = cell(row, column)
    texts[i] = value == nil and "" or tostring(value)
    if numbers and (value == nil or type(value) == "number") then
      numbers[i] = value or 0 / 0
    else
      numbers = nil
    end
  end
  return numbers or texts
end

local Table = {}
Table.__name = "Table"
Table.__tostring = function() return "Table" end

return function(sim, host)
  host.close_class(Table, "Table", {})

  -- sim.table{ {1, 2}, {3, 4}, columns = {"x", {"y", format = "%.3f"}} } prints the rows. Rows with names as keys do
  -- not need `columns`. Columns of numbers are right-aligned. Returns a Table.
  function sim.table(def)
    local success, lines, has_header, columns = pcall(lines_of, def)
    if not success then
      error(lines, 2)
    end
    for i, line in ipairs(lines) do
      print(line)
      if i == 1 and has_header then
        local width = 0
        for _, other in ipairs(lines) do width = math.max(width, utf8.len(other) or #other) end
        print(string.rep("-", width))
      end
    end
    local rows = table.move(def, 1, #def, 1, {})
    return setmetatable({ rows = rows, columns = columns, has_header = has_header }, Table)
  end

  -- Saves the columns with all digits by means of sim.data.
  function Table:save(path)
    if not self.has_header then
      error("Table:save: the columns have no names; give `columns` to sim.table", 2)
    end
    local values, names = {}, {}
    for i, column in ipairs(self.columns) do
      names[i] = column[1]
      values[column[1]] = values_of(self.rows, column)
    end
    local results = table.pack(pcall(sim.data.save, path, values, { columns = names }))
    if not results[1] then error(results[2], 2) end
    return table.unpack(results, 2, results.n)
  end
end
