-- Checks the arguments of sim.plot and converts them to one form.

local WIDTH, HEIGHT = 640, 400 -- px; text is legible at a width of 400 px
local LEAST_SIDE, MOST_SIDE = 100, 10000 -- px
local SAMPLES = 400 -- number of points at which a function is sampled
local MOST_SAMPLES = 1e6
local MOST_BINS = 100
local FEW_WHOLE = 30 -- if there are at most this many integers, each has its own bin
local QUARTILES_OF = 20000 -- number of samples used to choose bins; longer lists are thinned

local KINDS = { "line", "scatter", "steps", "band", "stack", "histogram", "phase", "field", "heat", "contour" }
local LEGENDS = { "direct", "inside", "above", "below", "right" }
local KEYS = { "title", "x", "y", "width", "height", "dark", "equal", "legend" }
local AXIS_KEYS = { "label", "unit", "log", "range" }
local COMMON = { "label", "kind", "color" }
local CURVE = { "dash", "marker", "from", "to", "points", "error", "error_x" }
local SERIES_KEYS = {
  line = CURVE, steps = CURVE, scatter = { "marker", "from", "to", "points", "error", "error_x" },
  band = { "low", "high" }, stack = {}, histogram = { "bins", "density", "dash" }, phase = { "dash" }, field = {}, heat = { "points", "range" },
  contour = { "points", "range", "levels" },
  reference = { "x", "y" }, note = { "x", "y", "text" },
}
local DASHES = { { 8, 4 }, { 2.5, 3 }, { 10, 3.5, 2.5, 3.5 } }

return function(_, host)
  local parts = host.plot_parts

  local function fail(format, ...)
    error({ plot_mistake = format:format(...) }, 0)
  end
  parts.fail = fail

  local function quoted(names)
    local list = {}
    for i, name in ipairs(names) do list[i] = "'" .. name .. "'" end
    return table.concat(list, ", ", 1, #list - 1) .. " or " .. list[#list]
  end

  local function includes(list, value)
    for _, item in ipairs(list) do
      if item == value then return true end
    end
    return false
  end

  function parts.check_keys(of, known, what)
    for _, key in ipairs(host.sorted_keys(of)) do
      if math.type(key) ~= "integer" and not includes(known, key) then
        local near = type(key) == "string" and host.nearest(key, known)
        fail("%s: unknown key '%s'; %s", what, tostring(key), near and ("did you mean '%s'?"):format(near)
          or "known: " .. table.concat(known, ", "))
      end
    end
  end

  local function read_text(value, what)
    if value ~= nil and type(value) ~= "string" and type(value) ~= "number" then
      fail("%s: text expected, got %s", what, host.describe(value))
    end
    return value ~= nil and parts.clean(value) or nil
  end

  local function read_flag(value, what)
    if value ~= nil and type(value) ~= "boolean" then
      fail("%s: true or false expected, got %s", what, host.describe(value))
    end
    return value
  end

  local function plain(value)
    if getmetatable(value) == "Tracked" then return value:value() end
    return value
  end

  local function read_number(value, what)
    value = plain(value)
    if type(value) ~= "number" then fail("%s: a number expected, got %s", what, host.describe(value)) end
    return value + 0.0
  end

  -- Reads a list or array of numbers. Tracked numbers become plain.
  local function read_numbers(list, what)
    local kind = getmetatable(list)
    if kind == "Array" then
      local array = list:value()
      if array.shape[2] then fail("%s: a list of numbers expected, got a matrix; a row of it is m[i]", what) end
      return array:table()
    end
    if type(list) ~= "table" and kind ~= "Vector" then
      fail("%s: a list of numbers expected, got %s", what, host.describe(list))
    end
    local numbers = {}
    for i = 1, #list do
      local value = list[i]
      if math.type(value) ~= "float" then
        value = plain(value)
        if type(value) ~= "number" then fail("%s: number %d is a %s", what, i, type(value)) end
        value = value + 0.0
      end
      numbers[i] = value
    end
    return numbers
  end

  local function is_function(value)
    local meta = debug.getmetatable(value)
    return type(value) == "function" or type(meta) == "table" and type(value) == "table" and meta.__call ~= nil
  end

  -- Calls fn(...) and returns its `count` plain numbers.
  local function call(what, fn, count, ...)
    local results = table.pack(pcall(fn, ...))
    local at = table.concat({ ... }, ", ")
    if not results[1] then fail("%s: the function fails at %s: %s", what, at, tostring(results[2])) end
    for i = 2, count + 1 do
      results[i] = plain(results[i])
      if type(results[i]) ~= "number" then
        fail("%s: the function has to return %s; it returned %s at %s",
          what, count == 1 and "a number" or count .. " numbers",
          host.describe(results[i]), at)
      end
    end
    return table.unpack(results, 2, count + 1)
  end

  -- ---- Axes -------------------------------------------------------------------------------------

  local function read_axis(def, name)
    local axis = def[name]
    if axis == nil or type(axis) == "string" then axis = { label = axis } end
    if type(axis) ~= "table" then
      fail("%s: a label or {label =, unit =, log =, range = {lo, hi}} expected, got %s", name, host.describe(axis))
    end
    parts.check_keys(axis, AXIS_KEYS, name)
    local label, unit = read_text(axis.label, name .. ".label") or "", read_text(axis.unit, name .. ".unit")
    local read = { label = unit and (label == "" and unit or label .. ", " .. unit) or label,
      log = read_flag(axis.log, name .. ".log") }
    if axis.range ~= nil then
      local success, range = pcall(read_numbers, axis.range, name)
      if not (success and #range == 2 and host.finite(range[1]) and host.finite(range[2]) and range[1] < range[2]) then
        fail("%s.range: {lo, hi} with lo < hi expected", name)
      end
      if read.log and range[1] <= 0 then
        fail("%s.range: a logarithmic axis starts above 0, got %g", name, range[1])
      end
      read.range = range
    end
    return read
  end

  -- ---- Series -----------------------------------------------------------------------------------

  local function read_color(value, what)
    if value == nil then return nil end
    local color, complaint = host.color(value)
    if not color then fail("%s.color: %s", what, complaint) end
    return color
  end

  local function sample(plot, series, what)
    local fn, range = series[1], plot.x.range or {}
    local lo, hi = series.from or series[2] or range[1], series.to or series[3] or range[2]
    if lo == nil or hi == nil then
      fail("%s: a function needs its range: {fn, from, to}, or x.range of the plot", what)
    end
    lo, hi = read_number(lo, what .. ".from"), read_number(hi, what .. ".to")
    local count = series.points or SAMPLES
    if not (host.finite(lo) and host.finite(hi) and lo < hi) then
      fail("%s: from < to expected for a function, got %g and %g", what, lo, hi)
    elseif plot.x.log and lo <= 0 then
      fail("%s: a logarithmic axis starts above 0, got %g", what, lo)
    elseif not host.whole(count) or count < 2 or count > MOST_SAMPLES then
      fail("%s.points: an integer from 2 to 1e6 expected, got %s", what, host.describe(series.points))
    end
    local xs, ys = {}, {}
    for i = 1, count do
      local part = (i - 1) / (count - 1)
      local x = lo * (1 - part) + hi * part
      if plot.x.log then x = 10 ^ (math.log(lo, 10) * (1 - part) + math.log(hi, 10) * part) end
      xs[i] = i == 1 and lo or i == count and hi or x
      ys[i] = call(what, fn, 1, xs[i])
    end
    return xs, ys
  end

  -- Returns both lists. A single list gets x = 1, 2, 3 and so on.
  local function read_curve(plot, series, what)
    if is_function(series[1]) then return sample(plot, series, what) end
    for _, key in ipairs { "from", "to", "points" } do
      if series[key] ~= nil then fail("%s.%s: applies only to a function: {fn, from, to}", what, key) end
    end
    if series[1] == nil then fail("%s: {xs, ys} expected", what) end
    local xs, ys = nil, read_numbers(series[2] or series[1], what)
    if series[2] then
      xs = read_numbers(series[1], what)
    else
      xs = {}
      for i = 1, #ys do xs[i] = i + 0.0 end
    end
    if #xs ~= #ys then fail("%s: %d values of x, but %d of y", what, #xs, #ys) end
    return xs, ys
  end

  local function read_error(series, key, of, what)
    local value = series[key]
    if value == nil then return nil end
    local below, above
    what = what .. "." .. key
    if type(plain(value)) == "number" then
      below = {}
      for i = 1, #of do below[i] = read_number(value, what) end
    elseif type(value) == "table" and type(plain(value[1])) ~= "number" and #value == 2 then
      below, above = read_numbers(value[1], what), read_numbers(value[2], what)
    else
      below = read_numbers(value, what)
    end
    above = above or below
    if #below ~= #of or #above ~= #of then
      fail("%s: a number, %d numbers or two lists of them {below, above} expected, got %d", what, #of,
        math.min(#below, #above))
    end
    local low, high = {}, {}
    for i = 1, #of do
      if below[i] < 0 or above[i] < 0 then fail("%s: number %d is negative", what, i) end
      low[i], high[i] = of[i] - below[i], of[i] + above[i]
    end
    return { across = key == "error_x", low = low, high = high }
  end

  local function read_marked(plot, series, read, what)
    read.xs, read.ys = read_curve(plot, series, what)
    read.x_values, read.y_values, read.errors = { read.xs }, { read.ys }, {}
    local up, across = read_error(series, "error", read.ys, what), read_error(series, "error_x", read.xs, what)
    if up then
      table.insert(read.errors, up)
      table.move({ up.low, up.high }, 1, 2, 2, read.y_values)
    end
    if across then
      table.insert(read.errors, across)
      table.move({ across.low, across.high }, 1, 2, 2, read.x_values)
    end
    if #read.errors == 0 then read.errors = nil end
    if series.marker ~= nil and not includes(parts.markers, series.marker) then
      fail("%s.marker: %s expected, got %s", what, quoted(parts.markers), host.describe(series.marker))
    end
    read.given_marker = series.marker
  end

  local readers = { line = read_marked, steps = read_marked, scatter = read_marked }

  function readers.phase(plot, series, read, what)
    if series[2] == nil then fail("%s: {xs, vs} expected", what) end
    read.xs, read.ys = read_curve(plot, series, what)
    read.x_values, read.y_values = { read.xs }, { read.ys }
  end

  function readers.band(_, series, read, what)
    if series.low == nil or series.high == nil then fail("%s: a band needs the keys low and high", what) end
    read.low, read.high = read_numbers(series.low, what .. ".low"), read_numbers(series.high, what .. ".high")
    read.xs = series[1] and read_numbers(series[1], what) or {}
    if not series[1] then
      for i = 1, #read.low do read.xs[i] = i + 0.0 end
    end
    if #read.xs ~= #read.low or #read.xs ~= #read.high then
      fail("%s: %d values of x, but %d of y", what, #read.xs, math.min(#read.low, #read.high))
    end
    read.x_values, read.y_values = { read.xs }, { read.low, read.high }
  end

  -- Stacked series: each is a band on top of the sum of the previous series.
  function readers.stack(plot, series, read, what)
    if plot.y.log then fail("%s: stacking requires a linear axis", what) end
    local xs, ys = read_curve(plot, series, what)
    local below = plot.stack
    for i = 1, below and math.max(#xs, #below.xs) or 0 do
      if xs[i] ~= below.xs[i] then fail("%s: stacked series must have the same x values; number %d differs", what, i) end
    end
    local low, high = {}, {}
    for i = 1, #xs do
      low[i] = below and below.high[i] or 0.0
      high[i] = low[i] + ys[i]
    end
    plot.stack = { xs = xs, high = high }
    read.kind, read.stacked, read.from_zero = "band", true, true
    read.xs, read.low, read.high = xs, low, high
    read.x_values, read.y_values = { xs }, { low, high }
  end

  function readers.field(_, series, read, what)
    local fn = series[1]
    if not is_function(fn) then
      fail("%s: a field is a function: {fn, kind = \"field\"}, fn(x, y) -> dx, dy", what)
    end
    function read.call(x, y) return call(what, fn, 2, x, y) end
  end

  readers.heat = function(...) parts.read_heat(...) end
  readers.contour = function(...) parts.read_contour(...) end
  parts.call, parts.read_numbers = call, read_numbers

  -- ---- Histograms -------------------------------------------------------------------------------

  -- The number of bins by the rule of Freedman and Diaconis, or by Sturges' rule if half of the samples are equal.
  local function bin_count(sorted, lo, hi, count)
    local spread = sorted[math.ceil(#sorted * 3 / 4)] - sorted[math.max(1, #sorted // 4)]
    local bins = (hi - lo) / (2 * spread * count ^ (-1 / 3))
    if not (spread > 0 and bins < math.huge) then bins = math.log(count, 2) + 1 end
    return math.max(1, math.min(MOST_BINS, math.ceil(bins)))
  end

  -- Returns the edges of bins as positions on the axis.
  local function automatic_edges(samples, count, bins)
    local lo, hi, whole = math.huge, -math.huge, true
    for _, value in ipairs(samples) do
      lo, hi = math.min(lo, value), math.max(hi, value)
      whole = whole and value == math.floor(value)
    end
    if count == 0 then return { 0, 1 } end
    if lo == hi then
      local half = lo == 0 and 0.5 or math.abs(lo) * 0.05
      if whole and math.abs(lo) < 2 ^ 50 then half = 0.5 end
      lo, hi = lo - half, hi + half
      bins = bins or 1
    else
      local some, step = {}, math.max(1, count // QUARTILES_OF)
      for i = 1, count, step do some[#some + 1] = samples[i] end
      table.sort(some)
      local advised = bins or bin_count(some, lo, hi, count)
      if not bins and whole and hi - lo < 2 ^ 50 then -- integers are in the middle of their bins
        local width = hi - lo <= FEW_WHOLE and 1 or math.max(1, math.floor((hi - lo) / advised + 0.5))
        advised = (hi - lo) // width + 1
        lo, hi = lo - 0.5, lo - 0.5 + advised * width
      end
      bins = math.tointeger(advised)
    end
    local edges = {}
    for i = 0, bins do edges[i + 1] = i == bins and hi or lo * (1 - i / bins) + hi * (i / bins) end
    return edges
  end

  local function read_edges(series, what)
    local edges = read_numbers(series.bins, what .. ".bins")
    if #edges < 2 then fail("%s.bins: a count, or at least two edges, expected, got %d", what, #edges) end
    for i, edge in ipairs(edges) do
      if not host.finite(edge) or i > 1 and edge <= edges[i - 1] then
        fail("%s.bins: increasing edges expected; number %d is %g", what, i, edge)
      end
    end
    return edges
  end

  function readers.histogram(plot, series, read, what)
    if series[1] == nil then fail("%s: a histogram has a list of numbers: {samples, kind = \"histogram\"}", what) end
    local samples, edges = {}, nil
    for _, value in ipairs(read_numbers(series[1], what)) do
      if host.finite(value) and not (plot.x.log and value <= 0) then samples[#samples + 1] = value end
    end
    -- edges are given, or computed from the samples (from their logarithms on a logarithmic axis)
    local bins = series.bins
    if host.whole(bins) or bins == nil then
      if bins and (bins < 1 or bins > 10000) then fail("%s.bins: 1 to 10000 expected, got %d", what, bins) end
      local placed = samples
      if plot.x.log then
        placed = {}
        for i, value in ipairs(samples) do placed[i] = math.log(value, 10) end
      end
      edges = automatic_edges(placed, #placed, bins)
      for i = 1, plot.x.log and #edges or 0 do edges[i] = 10 ^ edges[i] end
    elseif type(bins) == "number" then
      fail("%s.bins: a whole number or a list of edges expected, got %g", what, bins)
    else
      edges = read_edges(series, what)
    end
    -- find the bin of each sample by bisection; the last edge belongs to the last bin
    local heights, last = {}, #edges - 1
    for i = 1, last do heights[i] = 0 end
    for _, value in ipairs(samples) do
      local low, high = 1, last
      while low < high do
        local middle = (low + high + 1) // 2
        if value >= edges[middle] then low = middle else high = middle - 1 end
      end
      local automatic = series.bins == nil or host.whole(series.bins)
      if automatic or value >= edges[1] and value <= edges[last + 1] then heights[low] = heights[low] + 1 end
    end
    -- a density has a total area of 1
    if read_flag(series.density, what .. ".density") and #samples > 0 then
      for i = 1, last do heights[i] = heights[i] / #samples / (edges[i + 1] - edges[i]) end
    end
    read.edges, read.heights, read.from_zero = edges, heights, true
    read.x_values, read.y_values = { edges }, { heights, not plot.y.log and { 0 } or nil }
  end

  -- ---- Entry point ------------------------------------------------------------------------------

  local function known_keys(kind)
    local list = table.move(COMMON, 1, #COMMON, 1, {})
    if kind == "reference" or kind == "note" then list = kind == "note" and { "color" } or { "label", "color" } end
    return table.move(SERIES_KEYS[kind], 1, #SERIES_KEYS[kind], #list + 1, list)
  end

  -- Reads a mark. {x =, label =} or {y =, label =} is a line across the plot; {x =, y =, text =} is a text at a point.
  local function read_mark(plot, series, what)
    local note = series.text ~= nil or series.x ~= nil and series.y ~= nil
    parts.check_keys(series, known_keys(note and "note" or "reference"), what)
    local read = { color = read_color(series.color, what), label = read_text(series.label, what .. ".label"),
      text = read_text(series.text, what .. ".text") }
    for _, key in ipairs { "x", "y" } do
      if series[key] ~= nil then read[key] = read_number(series[key], what .. "." .. key) end
    end
    if not note then
      table.insert(plot.references, read)
    elseif not (read.x and read.y and read.text) then
      fail("%s: a note needs x =, y = and text =", what)
    else
      table.insert(plot.notes, read)
    end
  end

  local function read_series(plot, series, index)
    local what = "series " .. index
    if type(series) ~= "table" then fail("%s: {xs, ys} expected, got %s", what, host.describe(series)) end
    if series[1] == nil and series.kind == nil and (series.x ~= nil or series.y ~= nil or series.text ~= nil) then
      read_mark(plot, series, what)
      return
    end
    local kind = series.kind or "line"
    if not SERIES_KEYS[kind] or not readers[kind] then
      fail("%s: kind %s expected, got %s", what, quoted(KINDS), host.describe(kind))
    end
    parts.check_keys(series, known_keys(kind), what)
    local read = { kind = kind, label = read_text(series.label, what .. ".label"),
      given_color = read_color(series.color, what), given_dash = read_flag(series.dash, what .. ".dash") }
    if read.label == "" then read.label = nil end
    readers[kind](plot, series, read, what)
    table.insert(plot.series, read)
  end

  function parts.read_sizes(def, plot)
    for _, key in ipairs { "width", "height" } do
      local size = plot[key]
      if type(size) ~= "number" or not (size >= LEAST_SIDE and size <= MOST_SIDE) then
        fail("%s: 100 to 10000 px expected, got %s", key, host.describe(size))
      end
    end
    plot.dark = read_flag(def.dark, "dark")
    plot.title = read_text(def.title, "title")
    if plot.title == "" then plot.title = nil end
  end

  function parts.read(def)
    if type(def) ~= "table" then fail("a table expected, got %s", host.describe(def)) end
    parts.check_keys(def, KEYS, "plot")
    if rawlen(def) == 0 then fail("nothing to show: give at least one series {xs, ys}") end
    local plot = { width = def.width or WIDTH, height = def.height or HEIGHT, x = read_axis(def, "x"),
      y = read_axis(def, "y"), equal = read_flag(def.equal, "equal"), legend = def.legend,
      series = {}, references = {}, notes = {} }
    parts.read_sizes(def, plot)
    if plot.equal and (plot.x.log or plot.y.log) then fail("equal: logarithmic axes cannot have equal scales") end
    if plot.legend ~= nil and plot.legend ~= false and not includes(LEGENDS, plot.legend) then
      fail("legend: %s, or false for none, expected, got %s", quoted(LEGENDS), host.describe(plot.legend))
    end
    for i = 1, rawlen(def) do read_series(plot, def[i], i) end
    return plot
  end

  -- Sets colours, dashes and markers. Up to three lines differ in lightness. If there are more lines, each has its own
  -- dashes. From the fifth line on, they also have markers, so that they can be distinguished in grey.
  function parts.set_styles(plot)
    local lines, dashed, index, line, cloud = 0, false, 0, 0, 0
    -- more than three lines get dashes, unless the script has set dashes
    for _, series in ipairs(plot.series) do
      if series.runs or series.xs and series.kind ~= "scatter" and series.kind ~= "band" then lines = lines + 1 end
      dashed = dashed or series.given_dash ~= nil
    end
    for _, series in ipairs(plot.series) do
      local colors = plot.theme.colors
      if series.kind == "field" then
        series.color = series.given_color or parts.with_alpha(plot.theme.soft, 0.6)
      elseif series.kind == "heat" or series.kind == "contour" then
        series.color = series.given_color or plot.theme.ink
      else
        index = index + 1
        series.index = index
        series.color = series.given_color or colors[(index - 1) % #colors + 1]
      end
      series.dash, series.marker, series.width = series.given_dash and DASHES[1] or nil, series.given_marker, 2
      if series.kind == "scatter" then
        cloud = cloud + 1
        series.marker = series.marker or parts.markers[(cloud - 1) % #parts.markers + 1]
      elseif series.xs and series.kind ~= "band" then
        line = line + 1
        if lines > 3 and not dashed then series.dash = DASHES[(line - 1) % (#DASHES + 1)] end
        -- all dash patterns are in use, so add markers
        local round = (line - 1) // (#DASHES + 1)
        if round > 0 and not series.marker then series.marker = parts.markers[(round - 1) % #parts.markers + 1] end
      end
    end
  end
end
