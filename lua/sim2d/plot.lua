-- sim.plot: curves a person can read without tuning, as SVG.

local WIDTH, HEIGHT = 640, 400 -- px; the letters stay legible when shown at 400 px
local COLORS = { "#3b6fb6", "#d9822b", "#3f9d6a", "#b5485d", "#7d5fb2", "#5f6b7a" }
local INK, GRID, PAPER = "#2b3440", "#e3e1da", "#fdfcf8"
local FONT, LETTER = 13, 7.2 -- px: size, and the width of a letter about
local SWATCH, BETWEEN, LINE = 26, 18, 18 -- px, of a legend: before a label, after it, between lines
local TICKS = 6 -- about so many an axis
local ROOM = 0.04 -- of the range, left free beyond the data
local MOST = 4000 -- points a curve is drawn with: more than pixels would show

local KINDS = { line = true, scatter = true, steps = true, band = true }
local KEYS = { title = true, x = true, y = true, width = true, height = true }
local AXIS_KEYS = { label = true, log = true, range = true }
local SERIES_KEYS = { label = true, kind = true, color = true, dash = true, low = true, high = true }

local function fail(format, ...)
  error("bad argument #1 to 'plot' (" .. string.format(format, ...) .. ")", 0)
end

local function check_keys(of, known, what)
  for key in pairs(of) do
    if math.type(key) ~= "integer" and not known[key] then
      local names = {}
      for name in pairs(known) do names[#names + 1] = name end
      table.sort(names)
      fail("%s: unknown key '%s'; known: %s", what, tostring(key), table.concat(names, ", "))
    end
  end
end

local function escaped(text)
  return (text:gsub("[&<>\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }))
end

-- ---- What is asked for --------------------------------------------------------------------------

local function read_axis(def, name)
  local axis = def[name]
  if axis == nil or type(axis) == "string" then
    return { label = axis or "" }
  elseif type(axis) ~= "table" then
    fail("%s: a label or {label =, log =, range = {lo, hi}} expected, got a %s", name, type(axis))
  end
  check_keys(axis, AXIS_KEYS, name)
  local range = axis.range
  if range ~= nil and not (type(range) == "table" and type(range[1]) == "number"
      and type(range[2]) == "number" and range[1] < range[2]) then
    fail("%s.range: {lo, hi} with lo < hi expected", name)
  end
  if range and axis.log and range[1] <= 0 then
    fail("%s.range: a logarithmic axis starts above 0, got %g", name, range[1])
  end
  return { label = axis.label or "", log = axis.log, range = range }
end

-- A list or array of numbers; what is not finite leaves a gap.
local function read_numbers(list, what)
  local success, count = pcall(function() return #list end)
  if type(list) == "string" or not success then
    fail("%s: a list of numbers expected, got a %s", what, type(list))
  end
  local numbers = {}
  for i = 1, count do
    local value = list[i]
    if type(value) ~= "number" then
      fail("%s: number %d is a %s", what, i, type(value))
    end
    numbers[i] = value
  end
  return numbers
end

local function read_series(series, index)
  local what = "series " .. index
  if type(series) ~= "table" then
    fail("%s: {xs, ys} expected, got a %s", what, type(series))
  end
  check_keys(series, SERIES_KEYS, what)
  local kind = series.kind or "line"
  if not KINDS[kind] then
    fail("%s: kind 'line', 'scatter', 'steps' or 'band' expected, got '%s'", what, tostring(kind))
  end
  local read = { kind = kind, label = series.label, dash = series.dash,
    color = series.color or COLORS[(index - 1) % #COLORS + 1] }
  if kind == "band" then
    if series.low == nil or series.high == nil then fail("%s: a band has low = and high =", what) end
    read.low, read.high = read_numbers(series.low, what .. ".low"), read_numbers(series.high, what .. ".high")
  elseif series[1] == nil then
    fail("%s: {xs, ys} expected", what)
  else
    read.ys = read_numbers(series[2] or series[1], what)
  end
  local count = read.ys and #read.ys or #read.low
  if (kind == "band" and series[1]) or (kind ~= "band" and series[2]) then
    read.xs = read_numbers(series[1], what)
  else
    read.xs = {}
    for i = 1, count do read.xs[i] = i end
  end
  if #read.xs ~= count or (read.high and #read.high ~= count) then
    fail("%s: %d numbers across and %d up", what, #read.xs, read.high and math.min(#read.high, count) or count)
  end
  return read
end

local function read(def)
  if type(def) ~= "table" then fail("a table expected, got a %s", type(def)) end
  check_keys(def, KEYS, "plot")
  if #def == 0 then fail("nothing to show: give one {xs, ys} or more") end
  local plot = { title = def.title, width = def.width or WIDTH, height = def.height or HEIGHT,
    x = read_axis(def, "x"), y = read_axis(def, "y"), series = {} }
  for _, key in ipairs { "width", "height" } do
    if type(plot[key]) ~= "number" or not (plot[key] >= 100 and plot[key] <= 10000) then
      fail("%s: 100 to 10000 px expected, got %s", key, tostring(plot[key]))
    end
  end
  for i, series in ipairs(def) do plot.series[i] = read_series(series, i) end
  return plot
end

-- ---- Axes ---------------------------------------------------------------------------------------

local function shows(axis, value)
  return value == value and math.abs(value) < math.huge and not (axis.log and value <= 0)
end

local function place(axis, value)
  return axis.log and math.log(value, 10) or value
end

local function set_range(axis, lists)
  local lo, hi = math.huge, -math.huge
  for _, list in ipairs(lists) do
    for _, value in ipairs(list) do
      if shows(axis, value) then
        lo, hi = math.min(lo, place(axis, value)), math.max(hi, place(axis, value))
      end
    end
  end
  if lo > hi then lo, hi = 0, 1 end
  if axis.range then
    axis.lo, axis.hi = place(axis, axis.range[1]), place(axis, axis.range[2])
    return
  end
  local room = (hi - lo) * ROOM
  if room <= math.max(math.abs(lo), math.abs(hi)) * 1e-12 then -- one value
    room = math.max(math.abs(lo) * 0.1, axis.log and 0.5 or 1e-3)
  end
  axis.lo, axis.hi = lo - room, hi + room
end

-- Over less than three powers of ten, 2 and 5 times them as well.
local function set_log_ticks(axis)
  local factors = axis.hi - axis.lo < 3 and { 1, 2, 5 } or { 1 }
  axis.ticks = {}
  for k = math.floor(axis.lo), math.ceil(axis.hi) do
    for _, factor in ipairs(factors) do
      local at = k + math.log(factor, 10)
      if at >= axis.lo - 1e-9 and at <= axis.hi + 1e-9 then
        axis.ticks[#axis.ticks + 1] = { at = at, label = string.format("%.6g", factor * 10.0 ^ k) }
      end
    end
  end
end

-- Steps of 1, 2 or 5 times a power of ten.
local function set_ticks(axis)
  local span = axis.hi - axis.lo
  if axis.log and span < 2 * TICKS then
    set_log_ticks(axis)
    return
  end
  local step = 10 ^ math.floor(math.log(span / TICKS, 10))
  for _, factor in ipairs { 1, 2, 5, 10 } do
    if span / (step * factor) <= TICKS then
      step = step * factor
      break
    end
  end
  if axis.log then step = math.max(1, math.floor(step + 0.5)) end
  axis.ticks = {}
  for k = math.ceil(axis.lo / step - 1e-9), math.floor(axis.hi / step + 1e-9) do
    local at = k * step
    axis.ticks[#axis.ticks + 1] = { at = at, label = string.format("%.6g", axis.log and 10.0 ^ at or at) }
  end
end

-- ---- Drawing ------------------------------------------------------------------------------------

local function text(out, x, y, words, how)
  out[#out + 1] = string.format('<text x="%.1f" y="%.1f" %s>%s</text>', x, y, how or "", escaped(words))
end

local function points_of(plot, series, ys, each)
  local every = math.max(1, math.ceil(#ys / MOST))
  for i = 1, #ys do
    if (i - 1) % every == 0 or i == #ys then
      local x, y = series.xs[i], ys[i]
      if shows(plot.x, x) and shows(plot.y, y) then
        each(plot.x.to(x), plot.y.to(y))
      else
        each(nil)
      end
    end
  end
end

local function path_of(plot, series, ys, steps)
  local path, pen, last = {}, "M", nil
  points_of(plot, series, ys, function(x, y)
    if x == nil then
      pen = "M"
      return
    end
    if steps and pen == "L" then path[#path + 1] = string.format("L%.2f %.2f", x, last) end
    path[#path + 1] = string.format("%s%.2f %.2f", pen, x, y)
    pen, last = "L", y
  end)
  return table.concat(path)
end

local function draw_series(out, plot, series)
  local color = escaped(tostring(series.color))
  if series.kind == "scatter" then
    points_of(plot, series, series.ys, function(x, y)
      if x then out[#out + 1] = string.format('<circle cx="%.2f" cy="%.2f" r="3" fill="%s" fill-opacity="0.75"/>', x, y, color) end
    end)
  elseif series.kind == "band" then
    local corners = {}
    points_of(plot, series, series.low, function(x, y)
      if x then corners[#corners + 1] = string.format("%.2f,%.2f", x, y) end
    end)
    local upper = {}
    points_of(plot, series, series.high, function(x, y)
      if x then table.insert(upper, 1, string.format("%.2f,%.2f", x, y)) end
    end)
    out[#out + 1] = string.format('<polygon points="%s %s" fill="%s" fill-opacity="0.18"/>',
      table.concat(corners, " "), table.concat(upper, " "), color)
  else
    out[#out + 1] = string.format('<path d="%s" fill="none" stroke="%s" stroke-width="2" stroke-linejoin="round"%s/>',
      path_of(plot, series, series.ys, series.kind == "steps"), color, series.dash and ' stroke-dasharray="6 4"' or "")
  end
end

local function draw_axes(out, plot, box)
  for _, tick in ipairs(plot.x.ticks) do
    local x = plot.x.at(tick.at)
    out[#out + 1] = string.format('<path d="M%.1f %.1fV%.1f" stroke="%s"/>', x, box.top, box.bottom, GRID)
    text(out, x, box.bottom + FONT + 5, tick.label, 'text-anchor="middle"')
  end
  for _, tick in ipairs(plot.y.ticks) do
    local y = plot.y.at(tick.at)
    out[#out + 1] = string.format('<path d="M%.1f %.1fH%.1f" stroke="%s"/>', box.left, y, box.right, GRID)
    text(out, box.left - 6, y + 4.5, tick.label, 'text-anchor="end"')
  end
  out[#out + 1] = string.format('<path d="M%.1f %.1fV%.1fH%.1f" fill="none" stroke="%s"/>', box.left, box.top,
    box.bottom, box.right, INK)
  text(out, (box.left + box.right) / 2, plot.height - 10, plot.x.label, 'text-anchor="middle"')
  local middle = (box.top + box.bottom) / 2
  text(out, 16, middle, plot.y.label, string.format('text-anchor="middle" transform="rotate(-90 16 %.1f)"', middle))
  if plot.title then
    text(out, box.left, 22, plot.title, 'font-weight="600" font-size="15"')
  end
end

-- Where the labels stand from `left` on, {line, x} a series, and how many lines that takes.
local function place_labels(plot, left, right)
  local places, line, x = {}, 1, left
  for i, series in ipairs(plot.series) do
    if series.label then
      local width = SWATCH + LETTER * (utf8.len(series.label) or #series.label)
      if x > left and x + width > right then line, x = line + 1, left end
      places[i] = { line = line, x = x }
      x = x + width + BETWEEN
    end
  end
  return places, next(places) and line or 0
end

-- Lines above the plot, so that they never hide a curve.
local function draw_legend(out, plot, box)
  local places, lines = place_labels(plot, box.left, box.right)
  for i, series in ipairs(plot.series) do
    if places[i] then
      local x, y = places[i].x, box.top - 10 - LINE * (lines - places[i].line)
      local color = escaped(tostring(series.color))
      if series.kind == "scatter" then
        out[#out + 1] = string.format('<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>', x + 10, y - 4, color)
      else
        out[#out + 1] = string.format('<path d="M%.1f %.1fh20" stroke="%s" stroke-width="%d"%s/>', x, y - 4, color,
          series.kind == "band" and 8 or 3, series.kind == "band" and ' stroke-opacity="0.3"'
            or series.dash and ' stroke-dasharray="6 4"' or "")
      end
      text(out, x + SWATCH, y, series.label)
    end
  end
end

local function to_svg(plot)
  local across, up = {}, {}
  for _, series in ipairs(plot.series) do
    across[#across + 1] = series.xs
    for _, list in ipairs { series.ys or series.low, series.high } do up[#up + 1] = list end
  end
  set_range(plot.x, across)
  set_range(plot.y, up)
  set_ticks(plot.x)
  set_ticks(plot.y)
  local widest = 0
  for _, tick in ipairs(plot.y.ticks) do widest = math.max(widest, #tick.label) end
  local left, right = 34 + LETTER * widest, plot.width - 16
  local _, lines = place_labels(plot, left, right)
  local box = {
    left = left,
    right = right,
    top = 14 + (plot.title and 20 or 0) + (lines > 0 and 22 + LINE * (lines - 1) or 0),
    bottom = plot.height - (plot.x.label ~= "" and 48 or 30),
  }
  function plot.x.at(at) return box.left + (at - plot.x.lo) / (plot.x.hi - plot.x.lo) * (box.right - box.left) end
  function plot.y.at(at) return box.bottom - (at - plot.y.lo) / (plot.y.hi - plot.y.lo) * (box.bottom - box.top) end
  function plot.x.to(value) return plot.x.at(place(plot.x, value)) end
  function plot.y.to(value) return plot.y.at(place(plot.y, value)) end
  local out = {
    string.format('<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" '
      .. 'font-family="Helvetica, Arial, sans-serif" font-size="%d" fill="%s">', plot.width, plot.height,
      plot.width, plot.height, FONT, INK),
    string.format('<rect width="100%%" height="100%%" fill="%s"/>', PAPER),
    string.format('<clipPath id="box"><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f"/></clipPath>',
      box.left, box.top, box.right - box.left, box.bottom - box.top),
  }
  draw_axes(out, plot, box)
  draw_legend(out, plot, box)
  out[#out + 1] = '<g clip-path="url(#box)">'
  for _, series in ipairs(plot.series) do draw_series(out, plot, series) end
  out[#out + 1] = "</g></svg>\n"
  return table.concat(out, "\n")
end

local Plot = {}
Plot.__index = Plot
Plot.__name = "Plot"
Plot.__tostring = function() return "Plot" end

-- The picture as text.
function Plot:svg()
  return self.text
end

function Plot:save(path)
  if type(path) ~= "string" then
    error(string.format("bad argument #1 to 'save' (a path expected, got a %s)", type(path)), 2)
  elseif path:match("%.png$") then
    error("Plot:save: .png is not available yet; save as .svg", 2)
  elseif not path:match("%.svg$") then
    error(string.format("bad argument #1 to 'save' (a path that ends with .svg expected, got '%s')", path), 2)
  end
  local file, message = io.open(path, "w")
  if not file then return nil, message end
  local done
  done, message = file:write(self.text)
  local closed, trouble = file:close()
  if not done or not closed then return nil, message or trouble end
  return true
end

return function(sim)
  -- sim.plot{ title =, x = "time, s", y = {label =, log =}, {xs, ys, label =, kind =}, ... }
  function sim.plot(def)
    local success, plot = pcall(read, def)
    if not success then error(plot, 2) end
    return setmetatable({ text = to_svg(plot) }, Plot)
  end
end
