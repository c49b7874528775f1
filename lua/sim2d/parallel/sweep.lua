-- sim.sweep: evaluates a function for many values of its parameters with sim.parallel. The results are rows and
-- columns.

local KEYS = { "run", "grid", "list", "random", "count", "order", "repeats", "threads", "seed", "common",
  "time_limit", "journal", "failures", "record", "progress" }
local PASSED = { "threads", "seed", "common", "time_limit", "journal", "record", "progress" }
local OWN = { job = true, failed = true, ["repeat"] = true } -- columns of every sweep

local Sweep = { __name = "Sweep" }
Sweep.__tostring = function() return "Sweep" end

return function(sim, host)
  host.close_class(Sweep, "Sweep", { "record" })
  local function fail(format, ...) host.fail("sim.sweep: " .. format, ...) end

  local function to_list(value, name)
    if getmetatable(value) == "Array" then value = host.array_items(value) end
    if type(value) ~= "table" or #value == 0 then
      fail("%s: a list of values expected, got %s", name, host.describe(value))
    end
    return value
  end

  -- ---- Points -----------------------------------------------------------------------------------

  -- The names of parameters in order, which is `order` or alphabetical.
  local function read_names(def, values)
    local names = {}
    for name in pairs(values) do
      if type(name) ~= "string" or OWN[name] then
        fail("a parameter name other than 'job', 'failed' and 'repeat' expected, got %s", host.describe(name))
      end
      names[#names + 1] = name
    end
    table.sort(names)
    if def.order then
      local order = table.move(def.order, 1, #def.order, 1, {})
      local sorted = table.move(order, 1, #order, 1, {})
      table.sort(sorted)
      if table.concat(sorted, "\n") ~= table.concat(names, "\n") then
        fail("order: the parameters %s expected, each once", table.concat(names, ", "))
      end
      return order
    end
    return names
  end

  -- Returns all combinations; the last parameter changes fastest.
  local function grid_points(def)
    local names = read_names(def, def.grid)
    local points = { {} }
    for _, name in ipairs(names) do
      local more = {}
      for _, point in ipairs(points) do
        for _, value in ipairs(to_list(def.grid[name], "grid." .. name)) do
          local copy = { [name] = value }
          for key, other in pairs(point) do copy[key] = other end
          more[#more + 1] = copy
        end
      end
      points = more
    end
    return points, names
  end

  local function list_points(def)
    local all = {}
    for i, point in ipairs(to_list(def.list, "list")) do
      if type(point) ~= "table" then
        fail("list[%d]: a table of parameters expected, got %s", i, host.describe(point))
      end
      for name in pairs(point) do all[name] = true end
    end
    return def.list, read_names(def, all)
  end

  -- Draws a value: {lo, hi} uniform, {normal = {mean, deviation}}, {log = {lo, hi}} or {choice = list}.
  local function draw(random, spec, name)
    local kind, of = next(spec)
    local function pair(list)
      if type(list) ~= "table" or not host.finite(list[1]) or not host.finite(list[2]) then
        fail("random.%s: two numbers expected", name)
      end
      return list[1], list[2]
    end
    if spec[1] ~= nil then
      local lo, hi = pair(spec)
      if hi < lo then fail("random.%s: {lo, hi} with lo <= hi expected, got {%g, %g}", name, lo, hi) end
      return random:uniform(lo, hi)
    elseif kind == "normal" then
      local mean, deviation = pair(of)
      if deviation < 0 then fail("random.%s: normal: a deviation of at least 0 expected, got %g", name, deviation) end
      return random:normal(mean, deviation)
    elseif kind == "log" then
      local lo, hi = pair(of)
      if lo <= 0 or hi <= lo then fail("random.%s: log: two numbers with 0 < lo < hi expected", name) end
      return lo * (hi / lo) ^ random:uniform()
    elseif kind == "choice" then
      return random:choice(to_list(of, "random." .. name))
    end
    fail("random.%s: {lo, hi}, {normal = {mean, deviation}}, {log = {lo, hi}} or {choice = list} expected", name)
  end

  local function random_points(def, seed)
    if not host.whole(def.count) or def.count < 1 then
      fail("count: the number of samples expected with `random`, got %s", host.describe(def.count))
    end
    -- drawn point by point, in the order of the names, so that every run draws the same values
    local names = read_names(def, def.random)
    local random = host.parallel.generator(seed)
    local points = {}
    for i = 1, def.count do
      points[i] = {}
      for _, name in ipairs(names) do
        local spec = def.random[name]
        if type(spec) ~= "table" then
          fail("random.%s: a table expected, got %s", name, host.describe(spec))
        end
        points[i][name] = draw(random, spec, name)
      end
    end
    return points, names
  end

  local function read_points(def)
    local ways = (def.grid and 1 or 0) + (def.list and 1 or 0) + (def.random and 1 or 0)
    local of = def.grid or def.list or def.random
    if ways ~= 1 or type(of) ~= "table" then
      fail("one of the tables `grid`, `list` and `random` expected")
    elseif def.count and not def.random then
      fail("count: requires `random`")
    end
    if def.grid then return grid_points(def) end
    if def.list then return list_points(def) end
    return random_points(def, def.seed or host.parallel.seed())
  end

  local function check_keys(def)
    if type(def) ~= "table" then
      host.fail("bad argument #1 to 'sweep' (a table expected, got %s)", host.describe(def))
    end
    local known = {}
    for _, name in ipairs(KEYS) do known[name] = true end
    for _, key in ipairs(host.sorted_keys(def)) do
      if not known[key] then
        local nearest = type(key) == "string" and host.nearest(key, KEYS)
        fail("there is no key '%s'%s", tostring(key), nearest and ("; did you mean '%s'?"):format(nearest) or "")
      end
    end
  end

  -- ---- Rows -------------------------------------------------------------------------------------

  -- Adds the columns of the results. A single number becomes the column `value`.
  local function add_outputs(row, result, outputs, taken)
    if result ~= nil and type(result) ~= "table" then result = { value = result } end
    for name, value in pairs(result or {}) do
      local kind = type(value)
      if type(name) ~= "string" or taken[name] then
        fail("job %d: result: keys other than the names of parameters expected, got %s", row.job, host.describe(name))
      elseif kind ~= "number" and kind ~= "boolean" and kind ~= "string" then
        fail("job %d: result: %s: a number, a boolean or a text expected, got %s", row.job, name,
          host.describe(value))
      end
      row[name] = value
      outputs[name] = true
    end
  end

  local function make_rows(self, points, results)
    local taken, outputs = { job = true, failed = true, ["repeat"] = true }, {}
    for _, name in ipairs(self.parameters) do taken[name] = true end
    local failed = {}
    for _, failure in ipairs(self.failures) do failed[failure.job] = true end
    -- one row per job: its parameters and its results
    for job = 1, #points * self.repeats do
      local row = { job = job, failed = failed[job] or false }
      for name, value in pairs(points[(job - 1) // self.repeats + 1]) do row[name] = value end
      if self.repeats > 1 then row["repeat"] = (job - 1) % self.repeats + 1 end
      add_outputs(row, results[job], outputs, taken)
      self.rows[job] = row
    end
    for name in pairs(outputs) do self.outputs[#self.outputs + 1] = name end
    table.sort(self.outputs)
    self.columns = { "job", table.unpack(self.parameters) }
    if self.repeats > 1 then self.columns[#self.columns + 1] = "repeat" end
    table.move(self.outputs, 1, #self.outputs, #self.columns + 1, self.columns)
    self.columns[#self.columns + 1] = "failed"
  end

  -- sim.sweep{ run = f, grid = {mu = {...}, e = {...}} ... }: see docs/parallel.md.
  function sim.sweep(def)
    check_keys(def)
    local repeats = def.repeats or 1
    if not host.whole(repeats) or repeats < 1 then
      fail("repeats: an integer of at least 1 expected, got %s", host.describe(repeats))
    end
    local points, names = read_points(def)
    local items = {}
    for job = 1, #points * repeats do items[job] = points[(job - 1) // repeats + 1] end
    local options = { failures = def.failures or "keep" }
    for _, name in ipairs(PASSED) do options[name] = def[name] end
    local results, failures = host.run_parallel(def.run, items, options, "sim.sweep")
    if #failures > 0 and #failures == #items then
      fail("all %d runs failed, the first with: %s", #items, failures[1].message)
    end
    local self = setmetatable({ parameters = names, outputs = {}, columns = {}, rows = {}, repeats = repeats,
      failures = failures, record = def.record }, Sweep)
    make_rows(self, points, results)
    return self
  end

  -- ---- Reading ----------------------------------------------------------------------------------

  local function number(value)
    if type(value) == "boolean" then return value and 1 or 0 end
    return type(value) == "number" and value or nil
  end

  local function check_column(self, name, what)
    for _, known in ipairs(self.columns) do
      if known == name then return end
    end
    host.fail("%s: there is no column %s; there are %s", what, host.describe(name), table.concat(self.columns, ", "))
  end

  host.sweep_check = check_column

  -- Checks that a column can be drawn, which requires that a run returned a number or a boolean.
  local function check_numbers(self, name, what)
    check_column(self, name, what)
    for _, row in ipairs(self.rows) do
      if number(row[name]) then return end
    end
    host.fail("%s: a column of numbers or booleans expected, got '%s'", what, name)
  end

  -- Makes a map over two parameters (sweep_map.lua).
  function Sweep:map(def) return host.sweep_map(self, def) end

  -- Returns a column as an array with booleans as 0 and 1, and nan for failed runs. Columns of texts and arrays are
  -- returned as lists of texts.
  function Sweep:column(name)
    check_column(self, name, "sweep:column")
    local numbers, texts, is_text = {}, {}, false
    for i, row in ipairs(self.rows) do
      is_text = is_text or type(row[name]) == "string" or getmetatable(row[name]) == "Array"
      numbers[i] = number(row[name]) or 0 / 0
      texts[i] = row[name] == nil and "" or tostring(row[name])
    end
    return is_text and texts or host.parallel.array(numbers)
  end

  -- Saves all rows to a file (.csv, .npz or .h5).
  function Sweep:save(path)
    local values = {}
    for _, name in ipairs(self.columns) do values[name] = self:column(name) end
    return sim.data.save(path, values, { columns = self.columns })
  end

  -- Returns count, mean, deviation (of the sample), least and most of a list, or nil for an empty list.
  local function statistics(list)
    local n, low, high = #list, math.huge, -math.huge
    for _, x in ipairs(list) do low, high = math.min(low, x), math.max(high, x) end
    if n == 0 then return 0 end
    if low == -math.huge or high == math.huge then -- infinite values have no mean; return the limits
      return n, low + high, low == high and 0.0 or math.huge, low, high
    end
    -- Scale the numbers, because squares of very large or very small numbers leave the range of doubles.
    local size = math.max(-low, high)
    local unit = (size > 1e140 or size < 1e-140) and size > 0 and size or 1
    local mean, squares = 0, 0
    for i, x in ipairs(list) do
      local change = x / unit - mean
      mean = mean + change / i
      squares = squares + change * (x / unit - mean)
    end
    return n, mean * unit, n > 1 and math.sqrt(squares / (n - 1)) * unit or 0, low, high
  end

  -- Groups of rows with equal values in some columns, in the order of their first occurrence.
  function host.sweep_classes(self, by)
    local classes, known = {}, {}
    for _, row in ipairs(self.rows) do
      local key = {}
      for i, name in ipairs(by) do key[i] = type(row[name]) .. tostring(row[name]) end
      key = table.concat(key, "\0")
      local class = known[key]
      if not class then
        class = { values = row, rows = {} }
        known[key], classes[#classes + 1] = class, class
      end
      class.rows[#class.rows + 1] = row
    end
    return classes
  end

  function host.sweep_statistics(rows, name)
    local list = {}
    for _, row in ipairs(rows) do
      local x = number(row[name])
      if x and x == x then list[#list + 1] = x end
    end
    return statistics(list)
  end

  local function count_failed(rows)
    local count = 0
    for _, row in ipairs(rows) do count = count + (row.failed and 1 or 0) end
    return count
  end

  -- Prints the number of nan results that the means omit.
  local function print_nan(self)
    for _, name in ipairs(self.outputs) do
      local count, first = 0, nil
      for _, row in ipairs(self.rows) do
        if row[name] ~= row[name] then count, first = count + 1, first or row.job end
      end
      if count > 0 then
        print(("%s: %d of %d results are nan and are left out (the first: job %d)"):format(name, count, #self.rows, first))
      end
    end
  end

  -- sweep:summary() prints one line per output, over all runs. sweep:summary("mu", "e") prints one line per pair of
  -- values, with the means of the outputs. Both return the Table.
  function Sweep:summary(...)
    local by = { ... }
    for _, name in ipairs(by) do check_column(self, name, "sweep:summary") end
    -- one line per output
    local rows = {}
    if #by == 0 then
      for _, name in ipairs(self.outputs) do
        rows[#rows + 1] = { name, host.sweep_statistics(self.rows, name) }
      end
      rows.columns = { "output", "runs", "mean", "deviation", "least", "most" }
      local failed = count_failed(self.rows)
      local result = sim.table(rows)
      print_nan(self)
      if failed > 0 then
        print(("%d of %d runs failed; job %d: %s"):format(failed, #self.rows, self.failures[1].job,
          self.failures[1].message:match "^[^\n]*"))
      end
      return result
    end
    -- one line per combination of values
    for _, class in ipairs(host.sweep_classes(self, by)) do
      local row = {}
      for i, name in ipairs(by) do row[i] = class.values[name] end
      row[#by + 1] = #class.rows
      for i, name in ipairs(self.outputs) do row[#by + 1 + i] = select(2, host.sweep_statistics(class.rows, name)) or "" end
      row[#by + #self.outputs + 2] = count_failed(class.rows)
      rows[#rows + 1] = row
    end
    rows.columns = { table.unpack(by) }
    table.move({ "runs", table.unpack(self.outputs) }, 1, #self.outputs + 1, #by + 1, rows.columns)
    rows.columns[#rows.columns + 1] = "failed"
    local result = sim.table(rows)
    print_nan(self)
    return result
  end

  -- sweep:plot{ x = "mu", y = "range" [, by = "e"] [, title =, ...] } plots means, with one curve per value of `by`.
  -- Bars show the deviation of the repeats, or for booleans the deviation of the mean.
  function Sweep:plot(def)
    if type(def) ~= "table" then host.fail("sweep:plot: a table with x and y expected") end
    check_numbers(self, def.x, "sweep:plot: x")
    check_numbers(self, def.y, "sweep:plot: y")
    if def.by then check_column(self, def.by, "sweep:plot: by") end
    -- other keys, such as title and legend, are passed to the plot
    local plot = { x = def.x, y = def.y }
    for key, value in pairs(def) do
      if key ~= "x" and key ~= "y" and key ~= "by" then plot[key] = value end
    end
    local is_boolean = false
    for _, row in ipairs(self.rows) do is_boolean = is_boolean or type(row[def.y]) == "boolean" end
    for _, curve in ipairs(def.by and host.sweep_classes(self, { def.by }) or { { rows = self.rows } }) do
      local points = {}
      for _, class in ipairs(host.sweep_classes({ rows = curve.rows }, { def.x })) do
        local n, mean, deviation = host.sweep_statistics(class.rows, def.y)
        local x = number(class.values[def.x])
        -- the mean of booleans is a probability, so show the deviation of its estimate
        if n > 1 and is_boolean then deviation = deviation / math.sqrt(n) end
        if n > 0 and x then points[#points + 1] = { x, mean, n > 1 and deviation or 0 } end
      end
      table.sort(points, function(a, b) return a[1] < b[1] end)
      local series = { {}, {}, error = {}, label = def.by and ("%s = %s"):format(def.by, host.describe(curve.values[def.by])) }
      for i, point in ipairs(points) do series[1][i], series[2][i], series.error[i] = table.unpack(point) end
      if self.repeats == 1 then series.error = nil end
      plot[#plot + 1] = series
    end
    return sim.plot(plot)
  end
end
