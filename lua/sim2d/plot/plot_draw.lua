-- Curves, points, bands, bars and arrows of a plot, in pixels.

local BEYOND = 60 -- distance outside the box at which lines are cut, px
local FAR = 1e9 -- px; directions are inaccurate beyond this distance
local UNSEEN = 0.05 -- invisible distance from a curve, px
local FEW = 200 -- a curve with fewer numbers is not simplified
local MARKER_EVERY = 70 -- px between markers of a curve with many points
local MARKED = 40 -- a curve with fewer points has a marker at each point
local ARROW_EVERY = 120 -- distance between arrows along a trajectory, px
local HEAD = 10 -- length of an arrowhead, px
local FIELD_CELL, FIELD_LEAST = 34, 20 -- px: largest and smallest distance between the arrows of a field
local CAP = 3 -- half the width of an error bar's cap, px
local STACKED = 0.55 -- opacity of stacked areas
local CAPS = 100 -- if there are more error bars, caps are omitted

return function(_, host)
  local parts = host.plot_parts

  local function with_alpha(color, alpha) return color & ~0xff | math.floor((color & 0xff) * alpha + 0.5) end

  local function to_pixels(plot, run)
    local box, x, y = plot.box, plot.x, plot.y
    local sx, sy = (box.right - box.left) / (x.hi - x.lo), (box.bottom - box.top) / (y.hi - y.lo)
    local left, bottom, lx, ly = box.left, box.bottom, x.lo, y.lo
    local out = {}
    for i = 1, #run, 2 do
      local across, up = (run[i] - lx) * sx, (run[i + 1] - ly) * sy
      if not (across < FAR and across > -FAR and up < FAR and up > -FAR) then
        across, up = math.max(-FAR, math.min(FAR, across)), math.max(-FAR, math.min(FAR, up))
      end
      out[i], out[i + 1] = left + across, bottom - up
    end
    return out
  end

  local function limits(plot)
    local box = plot.box
    return box.left - BEYOND, box.top - BEYOND, box.right + BEYOND, box.bottom + BEYOND
  end

  -- Returns the part of a segment within the limits (Liang-Barsky), or nil.
  local function cut(x1, y1, x2, y2, left, top, right, bottom)
    local from, to = 0, 1
    local dx, dy = x2 - x1, y2 - y1
    local ways = { -dx, x1 - left, dx, right - x1, -dy, y1 - top, dy, bottom - y1 }
    for i = 1, 8, 2 do
      local p, q = ways[i], ways[i + 1]
      if p == 0 then
        if q < 0 then return nil end
      elseif p < 0 then
        from = math.max(from, q / p)
      else
        to = math.min(to, q / p)
      end
    end
    if from > to then return nil end
    return x1 + from * dx, y1 + from * dy, x1 + to * dx, y1 + to * dy
  end

  local function cut_line(plot, run)
    local left, top, right, bottom = limits(plot)
    local fits = true
    for i = 1, #run, 2 do
      local x, y = run[i], run[i + 1]
      if x < left or x > right or y < top or y > bottom then fits = false end
    end
    if fits then return { run } end
    local runs, last = {}, nil
    for i = 1, #run - 3, 2 do
      local x1, y1, x2, y2 = cut(run[i], run[i + 1], run[i + 2], run[i + 3], left, top, right, bottom)
      if x1 then
        if last and last[#last - 1] == x1 and last[#last] == y1 then
          last[#last + 1], last[#last + 2] = x2, y2
        else
          last = { x1, y1, x2, y2 }
          runs[#runs + 1] = last
        end
      end
    end
    return runs
  end

  local function inside(plot, x, y, room)
    local box = plot.box
    return x >= box.left - room and x <= box.right + room and y >= box.top - room and y <= box.bottom + room
  end

  -- ---- Markers ----------------------------------------------------------------------------------

  -- Corners of markers around 0, of size 1. A cross consists of two lines.
  local SHAPES = {
    square = { { -0.85, -0.85, 0.85, -0.85, 0.85, 0.85, -0.85, 0.85 } },
    triangle = { { 0, -1.15, 1.05, 0.75, -1.05, 0.75 } },
    diamond = { { 0, -1.25, 1.25, 0, 0, 1.25, -1.25, 0 } },
    wedge = { { 0, 1.15, 1.05, -0.75, -1.05, -0.75 } },
    cross = { { -0.9, -0.9, 0.9, 0.9 }, { -0.9, 0.9, 0.9, -0.9 } },
  }
  parts.markers = { "circle", "square", "triangle", "diamond", "wedge", "cross" }

  function parts.draw_markers(sheet, shape, at, size, color, paper)
    if #at == 0 then return end
    if shape == "circle" then
      sheet:discs(at, size, { fill = color, stroke = paper, width = 0.8 })
      return
    end
    local runs = {}
    for i = 1, #at, 2 do
      for _, corners in ipairs(SHAPES[shape]) do
        local run = {}
        for k = 1, #corners, 2 do
          run[k], run[k + 1] = at[i] + size * corners[k], at[i + 1] + size * corners[k + 1]
        end
        runs[#runs + 1] = run
      end
    end
    local open = shape == "cross"
    local paint = open and { stroke = color, width = 1.8 } or { fill = color, stroke = paper, width = 0.8 }
    sheet:path(runs, paint, not open)
  end

  -- Calls each(x, y, dx, dy) at positions along runs that are about `distance` apart. The first one is at the distance
  -- `start` from the beginning.
  local function along(runs, start, distance, each)
    local left = start
    for _, run in ipairs(runs) do
      for i = 1, #run - 3, 2 do
        local x, y, dx, dy = run[i], run[i + 1], run[i + 2] - run[i], run[i + 3] - run[i + 1]
        local length, gone = math.sqrt(dx * dx + dy * dy), 0
        while length - gone >= left and length > 0 do
          gone = gone + left
          each(x + dx * gone / length, y + dy * gone / length, dx / length, dy / length)
          left = distance
        end
        left = left - (length - gone)
      end
    end
  end

  local function length_of(runs)
    local sum = 0
    for _, run in ipairs(runs) do
      for i = 1, #run - 3, 2 do
        sum = sum + math.sqrt((run[i + 2] - run[i]) ^ 2 + (run[i + 3] - run[i + 1]) ^ 2)
      end
    end
    return sum
  end

  -- ---- Kinds of series --------------------------------------------------------------------------

  local draw = {}

  local function stepped(run)
    local out = { run[1], run[2] }
    for i = 3, #run, 2 do
      local n = #out
      out[n + 1], out[n + 2], out[n + 3], out[n + 4] = run[i], out[n], run[i], run[i + 1]
    end
    return out
  end

  local function curve(plot, series, sheet, ink)
    local runs, single = {}, {}
    for _, run in ipairs(series.runs) do
      local pixels = to_pixels(plot, run)
      if series.kind == "steps" then pixels = stepped(pixels) end
      if #pixels == 2 and inside(plot, pixels[1], pixels[2], 8) then -- a single point between two gaps gives no line
        table.move(pixels, 1, 2, #single + 1, single)
        ink:mark(pixels[1], pixels[2])
      end
      for _, piece in ipairs(cut_line(plot, pixels)) do
        if #piece > FEW then piece = parts.simplify(piece, UNSEEN) end
        runs[#runs + 1] = piece
        ink:line(piece)
      end
    end
    sheet:path(runs, { stroke = series.color, width = series.width, dash = series.dash })
    parts.draw_markers(sheet, "circle", single, 3, series.color, plot.theme.paper)
    return runs
  end

  function draw.line(plot, series, sheet, ink)
    local runs = curve(plot, series, sheet, ink)
    if not series.marker then return end
    local at, count = {}, 0
    for _, run in ipairs(series.runs) do count = count + #run // 2 end
    if count <= MARKED then
      for _, run in ipairs(series.runs) do
        local pixels = to_pixels(plot, run)
        for i = 1, #pixels, 2 do
          if inside(plot, pixels[i], pixels[i + 1], 8) then at[#at + 1], at[#at + 2] = pixels[i], pixels[i + 1] end
        end
      end
    else
      along(runs, MARKER_EVERY * (0.3 + 0.17 * (series.index % 5)), MARKER_EVERY, function(x, y)
        at[#at + 1], at[#at + 2] = x, y
      end)
    end
    parts.draw_markers(sheet, series.marker, at, 4, series.color, plot.theme.paper)
  end

  draw.steps = draw.line

  local function arrow_head(x, y, dx, dy, size)
    local bx, by, w = x - dx * size * 0.6, y - dy * size * 0.6, size * 0.42
    return { x + dx * size * 0.4, y + dy * size * 0.4, bx - dy * w, by + dx * w, bx + dy * w, by - dx * w }
  end

  -- Draws a trajectory with its start and its direction.
  function draw.phase(plot, series, sheet, ink)
    local runs = curve(plot, series, sheet, ink)
    local heads, length = {}, length_of(runs)
    along(runs, math.min(ARROW_EVERY, length) / 2, ARROW_EVERY, function(x, y, dx, dy)
      if inside(plot, x, y, 0) then heads[#heads + 1] = arrow_head(x, y, dx, dy, HEAD) end
    end)
    sheet:path(heads, { fill = series.color }, true)
    if runs[1] then
      parts.draw_markers(sheet, "circle", { runs[1][1], runs[1][2] }, 4, series.color, plot.theme.paper)
    end
  end

  function draw.scatter(plot, series, sheet, ink)
    local at, pixels = {}, to_pixels(plot, series.cloud)
    for i = 1, #pixels, 2 do
      local x, y = pixels[i], pixels[i + 1]
      if inside(plot, x, y, 8) then
        at[#at + 1], at[#at + 2] = x, y
        ink:rect(x - 3, y - 3, x + 3, y + 3)
      end
    end
    local crowd = #at // 2
    local size = crowd > 2000 and 1.8 or crowd > 300 and 2.6 or 3.6
    parts.draw_markers(sheet, series.marker, at, size, with_alpha(series.color,
      crowd > 2000 and 0.45 or crowd > 300 and 0.65 or 0.9), crowd > 300 and 0 or plot.theme.paper)
  end

  local function clamp(plot, run)
    local left, top, right, bottom = limits(plot)
    for i = 1, #run, 2 do
      run[i], run[i + 1] = math.max(left, math.min(right, run[i])), math.max(top, math.min(bottom, run[i + 1]))
    end
    return run
  end

  -- Calls each(x, top, bottom) every `step` px along a band.
  function parts.across_band(low, high, step, each)
    for i = 1, #low - 3, 2 do
      local x1, wide = low[i], low[i + 2] - low[i]
      for x = math.ceil(x1), low[i + 2], step do
        local part = wide == 0 and 0 or (x - x1) / wide
        local y1 = low[i + 1] + part * (low[i + 3] - low[i + 1])
        local y2 = high[i + 1] + part * (high[i + 3] - high[i + 1])
        each(x, math.min(y1, y2), math.max(y1, y2))
      end
    end
  end

  function draw.band(plot, series, sheet, ink)
    for _, band in ipairs(series.bands) do
      local low, high = clamp(plot, to_pixels(plot, band.low)), clamp(plot, to_pixels(plot, band.high))
      local outline = table.move(low, 1, #low, 1, {})
      for i = #high - 1, 1, -2 do outline[#outline + 1], outline[#outline + 2] = high[i], high[i + 1] end
      local alpha = series.stacked and STACKED or plot.theme.band
      sheet:path({ outline }, { fill = with_alpha(series.color, alpha) }, true)
      if series.stacked then sheet:path({ high }, { stroke = series.color, width = 1.4 }) end
      parts.across_band(low, high, 4, function(x, top, bottom) ink:rect(x, top, x + 3, bottom) end)
    end
  end

  function draw.histogram(plot, series, sheet, ink)
    local runs, outline = {}, {}
    for i = 1, #series.heights do
      local left, right = series.edges[i], series.edges[i + 1]
      local height = parts.shows(plot.y, series.heights[i]) and parts.place(plot.y, series.heights[i]) or plot.y.lo
      if parts.shows(plot.x, left) and parts.shows(plot.x, right) then
        local base = plot.y.log and plot.y.lo or math.max(0, plot.y.lo)
        left, right = parts.place(plot.x, left), parts.place(plot.x, right)
        local bar = clamp(plot, to_pixels(plot, { left, base, left, height, right, height, right, base }))
        if #outline == 0 then outline[1], outline[2] = bar[1], bar[2] end
        table.move(bar, 3, 6, #outline + 1, outline)
        runs[#runs + 1] = bar
        ink:rect(bar[1], bar[4], bar[5], bar[2])
      end
    end
    if #runs == 0 then return end
    table.move(runs[#runs], 7, 8, #outline + 1, outline)
    sheet:path(runs, { fill = with_alpha(series.color, plot.theme.bars), stroke = plot.theme.paper,
      width = #runs > 60 and 0 or 0.8 }, true)
    sheet:path({ outline }, { stroke = series.color, width = 1.6, dash = series.dash })
  end

  -- Draws a grid of arrows, which are longer where the field is stronger.
  function draw.field(plot, series, sheet, ink)
    local box, ax, ay = plot.box, plot.x, plot.y
    local across, down = box.right - box.left, box.bottom - box.top
    local cell = math.max(FIELD_LEAST, math.min(FIELD_CELL, math.min(across, down) / 7))
    local columns, rows = math.max(2, across // cell), math.max(2, down // cell)
    local sx, sy, most, arrows = across / (ax.hi - ax.lo), down / (ay.hi - ay.lo), 0, {}
    -- converts positions on the axes to values; the inverse for rates is d log10(x) = dx / (x ln 10)
    local function value(axis, at) return axis.log and 10 ^ at or at * axis.unit end
    local function rate(axis, change, of)
      return axis.log and change / (of * math.log(10)) or change / axis.unit
    end
    -- the field at the middle of each cell, in pixels (y downwards)
    for j = 0, rows - 1 do
      for i = 0, columns - 1 do
        local u, v = ax.lo + (i + 0.5) / columns * (ax.hi - ax.lo), ay.lo + (j + 0.5) / rows * (ay.hi - ay.lo)
        local x, y = value(ax, u), value(ay, v)
        local dx, dy = series.call(x, y)
        dx, dy = rate(ax, dx, x) * sx, -rate(ay, dy, y) * sy
        local size = math.sqrt(dx * dx + dy * dy)
        if size > 0 and size < math.huge then
          most = math.max(most, size)
          local px, py = box.left + (u - ax.lo) * sx, box.bottom - (v - ay.lo) * sy
          arrows[#arrows + 1] = { px, py, dx / size, dy / size, size }
        end
      end
    end
    -- lengths are proportional to the square root of the field, so that weak arrows are visible
    local shafts, heads, reach = {}, {}, math.min(across / columns, down / rows) * 0.8
    for _, arrow in ipairs(arrows) do
      local x, y, dx, dy, size = table.unpack(arrow)
      local half = reach * (0.3 + 0.7 * math.sqrt(size / most)) / 2
      shafts[#shafts + 1] = { x - dx * half, y - dy * half, x + dx * (half - 3), y + dy * (half - 3) }
      heads[#heads + 1] = arrow_head(x + dx * (half - 2.4), y + dy * (half - 2.4), dx, dy, 6)
      ink:line { x - dx * half, y - dy * half, x + dx * half, y + dy * half }
    end
    sheet:path(shafts, { stroke = series.color, width = 1.2 })
    sheet:path(heads, { fill = series.color }, true)
  end

  function draw.heat(...) parts.draw_heat(...) end

  function draw.contour(...) parts.draw_contour(...) end

  local function draw_errors(plot, series, sheet, ink)
    local runs = {}
    for _, bar in ipairs(series.bars) do
      local line = clamp(plot, to_pixels(plot, bar))
      runs[#runs + 1] = line
      ink:line(line)
      if #series.bars <= CAPS then
        local dx = line[1] == line[3] and CAP or 0
        local dy = CAP - dx
        for i = 1, 3, 2 do
          runs[#runs + 1] = { line[i] - dx, line[i + 1] - dy, line[i] + dx, line[i + 1] + dy }
        end
      end
    end
    sheet:path(runs, { stroke = series.color, width = 1.4 })
  end

  function parts.draw_series(plot, series, sheet, ink)
    if series.bars then draw_errors(plot, series, sheet, ink) end
    draw[series.kind](plot, series, sheet, ink)
  end

  -- Returns the last point of a curve, or nil.
  function parts.end_of(plot, series)
    local run = series.runs and series.runs[#series.runs]
    if run then
      local at = to_pixels(plot, { run[#run - 1], run[#run] })
      if inside(plot, at[1], at[2], 1) then return at[1], at[2] end
    end
  end

  function parts.pixel(plot, x, y)
    local at = to_pixels(plot, { x, y })
    return at[1], at[2]
  end

  parts.with_alpha, parts.to_pixels, parts.cut_line = with_alpha, to_pixels, cut_line
  parts.clamp, parts.stepped, parts.stacked = clamp, stepped, STACKED
end
