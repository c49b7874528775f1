-- Numbers over the plane: heat maps with their scale, and contours.

local POINTS, MOST_POINTS = 60, 1000 -- default and maximum number of samples of a function per axis
local SHADES = 40 -- number of colours of a heat map
local LEVELS, MOST_LEVELS = 8, 100 -- number of contours: approximate default, and maximum
local BAR, BESIDE, TICK = 14, 12, 12 -- px: width of the scale, space before it, its font size
local LETTERS = 12 -- font size of the values at contours, px
local SEAM = 0.6 -- overlap of cells that hides gaps between them, px
local BLOCKS = { " ", "░", "▒", "▓", "█" } -- for terminals
-- Colours from low to high with uniform steps of lightness. They are reversed on dark paper.
local RAMP = { 0xf6f0cf, 0xa9d3ac, 0x55a2b3, 0x38659f, 0x35245f }

return function(_, host)
  local parts = host.plot_parts

  local function shade(plot, part)
    part = math.max(0, math.min(1, plot.dark and 1 - part or part)) * (#RAMP - 1)
    local i = math.min(#RAMP - 1, math.floor(part) + 1)
    local color, rest = 0xff, part - (i - 1)
    for shift = 0, 16, 8 do
      local channel = (RAMP[i] >> shift & 0xff) * (1 - rest) + (RAMP[i + 1] >> shift & 0xff) * rest
      color = color | math.floor(channel + 0.5) << shift + 8
    end
    return color
  end

  -- ---- Reading ----------------------------------------------------------------------------------

  local function counts(series, what)
    local points = series.points or POINTS
    if not host.whole(points) or points < 2 or points > MOST_POINTS then
      parts.fail("%s.points: an integer from 2 to %d expected, got %s", what, MOST_POINTS, host.describe(points))
    end
    return points
  end

  local function spaced(axis, name, count, what)
    if not axis.range then parts.fail("%s: a function needs %s.range of the plot", what, name) end
    local list, lo, hi = {}, axis.range[1], axis.range[2]
    for i = 1, count do
      local part = (i - 1) / (count - 1)
      list[i] = axis.log and lo ^ (1 - part) * hi ^ part or lo * (1 - part) + hi * part
    end
    return list
  end

  local function rising(list, what, name)
    if #list < 2 then parts.fail("%s: two or more %s expected, got %d", what, name, #list) end
    for i, value in ipairs(list) do
      if not host.finite(value) or i > 1 and value <= list[i - 1] then
        parts.fail("%s: %s that increase expected; number %d is %g", what, name, i, value)
      end
    end
  end

  -- Reads the rows of values, one row for each y. The values are computed by a function, or given as numbers.
  local function read_rows(plot, series, read, what)
    if series[2] == nil and series[1] ~= nil then
      local points = counts(series, what)
      read.across, read.up = spaced(plot.x, "x", points, what), spaced(plot.y, "y", points, what)
      for j, y in ipairs(read.up) do
        read.rows[j] = {}
        for i, x in ipairs(read.across) do read.rows[j][i] = parts.call(what, series[1], 1, x, y) end
      end
      return
    elseif series.points ~= nil then
      parts.fail("%s.points: applies only to a function", what)
    elseif series[3] == nil then
      parts.fail("%s: {xs, ys, rows} with rows[j][i] at (xs[i], ys[j]), or {fn}, expected", what)
    end
    read.across, read.up = parts.read_numbers(series[1], what), parts.read_numbers(series[2], what)
    rising(read.across, what, "xs")
    rising(read.up, what, "ys")
    if #series[3] ~= #read.up then parts.fail("%s: %d rows for %d ys", what, #series[3], #read.up) end
    for j = 1, #read.up do
      read.rows[j] = parts.read_numbers(series[3][j], what)
      if #read.rows[j] ~= #read.across then
        parts.fail("%s: row %d has %d numbers for %d xs", what, j, #read.rows[j], #read.across)
      end
    end
  end

  local function read_range(series, read, what)
    local lo, hi = math.huge, -math.huge
    for _, row in ipairs(read.rows) do
      for _, value in ipairs(row) do
        if host.finite(value) then lo, hi = math.min(lo, value), math.max(hi, value) end
      end
    end
    if series.range ~= nil then
      local range = parts.read_numbers(series.range, what .. ".range")
      if #range ~= 2 or not (host.finite(range[1]) and host.finite(range[2]) and range[1] < range[2]) then
        parts.fail("%s.range: {lo, hi} with lo < hi expected", what)
      end
      lo, hi = range[1], range[2]
    end
    if lo > hi then lo, hi = 0, 1 end
    if lo == hi then lo, hi = lo - math.max(math.abs(lo), 1) / 2, hi + math.max(math.abs(hi), 1) / 2 end
    read.lo, read.hi = lo, hi
  end

  -- Returns the edges of cells, which are halfway between neighbours.
  local function edges_of(list)
    local edges = { list[1] - (list[2] - list[1]) / 2 }
    for i = 2, #list do edges[i] = (list[i - 1] + list[i]) / 2 end
    edges[#list + 1] = list[#list] + (list[#list] - list[#list - 1]) / 2
    return edges
  end

  local function read_map(plot, series, read, what)
    read.rows = {}
    read_rows(plot, series, read, what)
    read_range(series, read, what)
    local whole = read.kind == "heat"
    read.x_values = { whole and not plot.x.log and edges_of(read.across) or read.across }
    read.y_values = { whole and not plot.y.log and edges_of(read.up) or read.up }
  end

  function parts.read_heat(plot, series, read, what) read_map(plot, series, read, what) end

  function parts.read_contour(plot, series, read, what)
    read_map(plot, series, read, what)
    local levels = series.levels or LEVELS
    if host.whole(levels) then
      if levels < 1 or levels > MOST_LEVELS then
        parts.fail("%s.levels: 1 to %d, or a list of values expected, got %d", what, MOST_LEVELS, levels)
      end
      local axis = { lo = read.lo, hi = read.hi, unit = 1 }
      parts.set_ticks(axis, levels)
      read.levels = {}
      for i, tick in ipairs(axis.ticks) do read.levels[i] = tick.at end
    else
      read.levels = parts.read_numbers(levels, what .. ".levels")
    end
  end

  -- ---- Drawing ----------------------------------------------------------------------------------

  local function placed(axis, list)
    local out = {}
    for i, value in ipairs(list) do out[i] = parts.shows(axis, value) and parts.place(axis, value) or axis.lo end
    return out
  end

  -- Adjacent cells of the same shade form a rectangle. All rectangles of a shade form one path.
  function parts.draw_heat(plot, series, sheet, ink)
    local us, vs = edges_of(placed(plot.x, series.across)), edges_of(placed(plot.y, series.up))
    local runs = {}
    local function shade_of(value)
      if not host.finite(value) then return nil end
      local part = math.max(0, math.min(1, (value - series.lo) / (series.hi - series.lo)))
      return math.min(SHADES - 1, math.floor(part * SHADES))
    end
    for j, row in ipairs(series.rows) do
      local i = 1
      while i <= #row do
        local at, first = shade_of(row[i]), i
        while i <= #row and shade_of(row[i]) == at do i = i + 1 end
        if at then
          local rect = parts.to_pixels(plot, { us[first], vs[j], us[i], vs[j], us[i], vs[j + 1], us[first], vs[j + 1] })
          runs[at] = runs[at] or {}
          table.insert(runs[at], parts.clamp(plot, rect))
          ink:rect(rect[1], rect[6], rect[3], rect[2])
        end
      end
    end
    for at = 0, SHADES - 1 do
      local color = shade(plot, (at + 0.5) / SHADES)
      if runs[at] then sheet:path(runs[at], { fill = color, stroke = color, width = SEAM }, true) end
    end
  end

  -- Finds the crossings of a level with the sides of each cell (marching squares). At a saddle, the mean decides.
  local function segments(series, us, vs, level)
    local list = {}
    for j = 1, #vs - 1 do
      for i = 1, #us - 1 do
        local a, b = series.rows[j][i] - level, series.rows[j][i + 1] - level
        local d, c = series.rows[j + 1][i] - level, series.rows[j + 1][i + 1] - level
        if host.finite(a) and host.finite(b) and host.finite(c) and host.finite(d) then
          local at = {} -- crossings with the sides, in order around the cell
          local function side(p, q, u1, v1, u2, v2)
            if (p > 0) ~= (q > 0) then
              local part = p / (p - q)
              at[#at + 1] = { u1 + part * (u2 - u1), v1 + part * (v2 - v1) }
            end
          end
          side(a, b, us[i], vs[j], us[i + 1], vs[j])
          side(b, c, us[i + 1], vs[j], us[i + 1], vs[j + 1])
          side(c, d, us[i + 1], vs[j + 1], us[i], vs[j + 1])
          side(d, a, us[i], vs[j + 1], us[i], vs[j])
          if #at == 4 and (a > 0) == (a + b + c + d > 0) then at = { at[1], at[2], at[3], at[4] }
          elseif #at == 4 then at = { at[4], at[1], at[2], at[3] } end
          for k = 1, #at - 1, 2 do list[#list + 1] = { at[k][1], at[k][2], at[k + 1][1], at[k + 1][2] } end
        end
      end
    end
    return list
  end

  -- Calls each(level, runs), with runs in pixels.
  function parts.each_contour(plot, series, each)
    local us, vs = placed(plot.x, series.across), placed(plot.y, series.up)
    for _, level in ipairs(series.levels) do
      local runs = {}
      for i, run in ipairs(segments(series, us, vs, level)) do runs[i] = parts.to_pixels(plot, run) end
      each(level, runs)
    end
  end

  -- Writes the value of a contour on its line, at the emptiest place away from the edges.
  local function write_level(plot, sheet, ink, level, runs)
    local words = ("%.4g"):format(level)
    local half, box, best = parts.width(words, LETTERS) / 2 + 2, plot.box, nil
    for i = 1, #runs, math.max(1, #runs // 40) do
      local x, y = (runs[i][1] + runs[i][3]) / 2, (runs[i][2] + runs[i][4]) / 2
      if x - half > box.left and x + half < box.right and y - 10 > box.top and y + 10 < box.bottom then
        local covered = ink:covered(x - half, y - 8, x + half, y + 8)
        if not best or covered < best.covered then best = { x = x, y = y, covered = covered } end
      end
    end
    if not best then return end
    sheet:text(best.x, best.y + 4, words,
      { size = LETTERS, align = "center", fill = plot.theme.ink, halo = parts.with_alpha(plot.theme.paper, 0.8) })
    ink:rect(best.x - half, best.y - 8, best.x + half, best.y + 8)
  end

  function parts.draw_contour(plot, series, sheet, ink)
    local drawn = parts.ink(plot.box) -- a heat map below the contours does not count as drawing
    local all = {}
    parts.each_contour(plot, series, function(level, runs)
      sheet:path(runs, { stroke = series.color, width = 1.4 })
      for _, run in ipairs(runs) do
        ink:line(run)
        drawn:line(run)
      end
      all[#all + 1] = { level, runs }
    end)
    for _, item in ipairs(all) do write_level(plot, sheet, drawn, item[1], item[2]) end
  end

  -- ---- The scale --------------------------------------------------------------------------------

  local function bar_of(plot)
    for _, series in ipairs(plot.series) do
      if series.kind == "heat" then
        local axis = { lo = series.lo, hi = series.hi, unit = 1 }
        parts.set_ticks(axis, math.max(2, (plot.box.bottom - plot.box.top) / 45))
        return series, axis
      end
    end
  end

  -- Returns the width that the scale needs to the right of the box, or nil.
  function parts.bar_room(plot)
    local series, axis = bar_of(plot)
    if not series then return nil end
    local wide = 0
    for _, tick in ipairs(axis.ticks) do wide = math.max(wide, parts.width(tick.label, TICK)) end
    return BESIDE + BAR + 6 + wide + (series.label and TICK + 8 or 0)
  end

  function parts.draw_bar(plot, sheet)
    local series, axis = bar_of(plot)
    if not series then return end
    local box, theme = plot.box, plot.theme
    local left, high = box.right + BESIDE, box.bottom - box.top
    for at = 0, SHADES - 1 do
      local bottom = box.bottom - high * at / SHADES
      sheet:rect(left, bottom - high / SHADES, left + BAR, bottom, { fill = shade(plot, (at + 0.5) / SHADES) ,
        stroke = shade(plot, (at + 0.5) / SHADES), width = SEAM })
    end
    local wide = 0
    for _, tick in ipairs(axis.ticks) do
      local y = box.bottom - high * (tick.at - axis.lo) / (axis.hi - axis.lo)
      sheet:line(left + BAR, y, left + BAR + 3, y, { stroke = theme.soft, width = 1 })
      sheet:text(left + BAR + 6, y + 4, tick.label, { size = TICK, fill = theme.soft })
      wide = math.max(wide, parts.width(tick.label, TICK))
    end
    if axis.note then sheet:text(left, box.top - 6, axis.note, { size = TICK, fill = theme.soft }) end
    if series.label then
      sheet:text(left + BAR + 10 + wide + TICK, (box.top + box.bottom) / 2, parts.fit(series.label, TICK, false, high),
        { size = TICK, align = "center", turn = -90, fill = theme.ink })
    end
  end

  -- ---- Heat maps as text ------------------------------------------------------------------------

  function parts.heat_letters(plot, series, screen)
    local us, vs = edges_of(placed(plot.x, series.across)), edges_of(placed(plot.y, series.up))
    local function cell_of(edges, at)
      for i = 1, #edges - 1 do
        if at >= edges[i] and at < edges[i + 1] then return i end
      end
    end
    for row = 0, screen.rows - 1 do
      local j = cell_of(vs, plot.y.hi - (row + 0.5) / screen.rows * (plot.y.hi - plot.y.lo))
      for column = 0, screen.columns - 1 do
        local i = j and cell_of(us, plot.x.lo + (column + 0.5) / screen.columns * (plot.x.hi - plot.x.lo))
        local value = i and series.rows[j][i]
        if value and host.finite(value) then
          local part = math.max(0, math.min(1, (value - series.lo) / (series.hi - series.lo)))
          screen:put(column, row, BLOCKS[math.min(#BLOCKS, math.floor(part * #BLOCKS) + 1)])
        end
      end
    end
  end
end
