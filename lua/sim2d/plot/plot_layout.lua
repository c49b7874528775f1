-- Computes the positions of the parts of a plot, and draws the plot on a sheet.

local TICK, LABEL, TITLE, PANEL_TITLE = 13, 14, 16, 14 -- px, font sizes; legible if 640 px are shown as 400
local EDGE = 12 -- px of margin
local ACROSS, UP = 62, 38 -- approximate distance between ticks, px
local LEAST, STAMP = 40, 120 -- px: smallest box; width below which a picture has no text at its side
local MOST_GROWN = 1e9 -- largest factor by which a range grows for an equal aspect
local SMALL = 0.25 -- space for a title, as a fraction of the height

-- areas are drawn below curves
local LAYERS = { band = 1, histogram = 1, contour = 1, line = 2, steps = 2, phase = 2, scatter = 3 }

local THEMES = {
  light = { paper = 0xfdfcf8ff, ink = 0x2b3440ff, soft = 0x5a6472ff, grid = 0xe6e3dbff, minor = 0xf1efe9ff,
    band = 0.2, bars = 0.45, colors = { 0x3b6fb6ff, 0xe0912fff, 0x7c2340ff, 0x3f9d6aff, 0x8a68c0ff, 0x5f6b7aff } },
  dark = { paper = 0x14181fff, ink = 0xe2e6ecff, soft = 0xa4aebbff, grid = 0x2a313bff, minor = 0x1e242cff,
    band = 0.26, bars = 0.5, colors = { 0x6fa8f0ff, 0xf5c46aff, 0xd2567dff, 0x6fd0a0ff, 0xb79aeaff, 0x97a3b2ff } },
}

return function(_, host)
  local parts = host.plot_parts
  parts.themes = THEMES

  -- Returns a curve's colour, made dark (or light) enough for text.
  function parts.readable(plot, color)
    local ink, part = plot.theme.ink, 0.35
    local mixed = 0xff
    for shift = 8, 24, 8 do
      local channel = (color >> shift & 0xff) * (1 - part) + (ink >> shift & 0xff) * part
      mixed = mixed | math.floor(channel + 0.5) << shift
    end
    return mixed
  end

  -- ---- Ranges -----------------------------------------------------------------------------------

  local function values_of(plot, name, lists)
    local from_zero = false
    for _, series in ipairs(plot.series) do
      for _, list in ipairs(series[name .. "_values"] or {}) do lists[#lists + 1] = list end
      from_zero = from_zero or series.from_zero and name == "y"
    end
    for _, line in ipairs(plot.references) do
      if line[name] then lists[#lists + 1] = { line[name] } end
    end
    for _, note in ipairs(plot.notes) do lists[#lists + 1] = { note[name] } end
    return from_zero
  end

  -- Sets the range of the axis `name` in plots that share it.
  function parts.set_ranges(name, plots)
    local axes, lists, from_zero = {}, {}, false
    for i, plot in ipairs(plots) do
      axes[i] = plot[name]
      from_zero = values_of(plot, name, lists) or from_zero
    end
    parts.set_range(axes, lists, from_zero)
  end

  local function bars_of(plot, series)
    local bars = {}
    for _, error in ipairs(series.errors or {}) do
      for i = 1, #series.xs do
        local x1, y1 = error.across and error.low[i] or series.xs[i], error.across and series.ys[i] or error.low[i]
        local x2, y2 = error.across and error.high[i] or series.xs[i], error.across and series.ys[i] or error.high[i]
        if parts.shows(plot.x, x2) and parts.shows(plot.y, y2) then
          -- On a logarithmic axis, a bar that begins at zero starts at the edge of the box.
          if plot.x.log and x1 <= 0 then x1 = 10 ^ plot.x.lo end
          if plot.y.log and y1 <= 0 then y1 = 10 ^ plot.y.lo end
          if parts.shows(plot.x, x1) and parts.shows(plot.y, y1) then
            bars[#bars + 1] = { parts.place(plot.x, x1), parts.place(plot.y, y1), parts.place(plot.x, x2),
              parts.place(plot.y, y2) }
          end
        end
      end
    end
    return #bars > 0 and bars or nil
  end

  function parts.thin(plot)
    for _, series in ipairs(plot.series) do
      if series.kind == "scatter" then
        series.cloud = parts.thin_cloud(plot, series.xs, series.ys)
      elseif series.kind == "band" then
        series.bands = parts.thin_band(plot, series.xs, series.low, series.high)
      elseif series.xs then
        series.runs = parts.thin_line(plot, series.xs, series.ys)
      end
      series.bars = series.errors and bars_of(plot, series)
    end
  end

  -- ---- Measuring --------------------------------------------------------------------------------

  local function widest_tick(axis)
    local width = 0
    for _, tick in ipairs(axis.ticks) do width = math.max(width, parts.width(tick.label, TICK)) end
    return width
  end

  -- Returns true if labels along x overlap.
  local function collide(plot)
    local wide, last = plot.box.right - plot.box.left, -math.huge
    for _, tick in ipairs(plot.x.ticks) do
      local at = (tick.at - plot.x.lo) / (plot.x.hi - plot.x.lo) * wide
      local half = parts.width(tick.label, TICK) / 2
      if at - half < last + 12 then return true end
      last = at + half
    end
    return false
  end

  local function set_x_ticks(plot)
    local count = math.max(2, (plot.box.right - plot.box.left) / ACROSS)
    repeat
      parts.set_ticks(plot.x, count)
      count = count - 1
    until count < 1 or not collide(plot)
    for more = count + 2, count + 6 do -- a single tick does not show the scale
      if #plot.x.ticks > 1 then break end
      parts.set_ticks(plot.x, more)
    end
    while collide(plot) and #plot.x.ticks > 1 do
      local kept = {}
      for i, tick in ipairs(plot.x.ticks) do
        if i % 2 == 1 then kept[#kept + 1] = tick end
      end
      plot.x.ticks = kept
    end
  end

  local function crowded(plot)
    local per = (plot.box.bottom - plot.box.top) / (plot.y.hi - plot.y.lo)
    for i = 2, #plot.y.ticks do
      if (plot.y.ticks[i].at - plot.y.ticks[i - 1].at) * per < TICK + 2 then return true end
    end
    return false
  end

  local function set_y_ticks(plot)
    local least = math.max(2, (plot.box.bottom - plot.box.top) / UP)
    local count = least
    repeat
      parts.set_ticks(plot.y, count)
      count = count + 0.5
    until #plot.y.ticks > 1 or count > 8
    if crowded(plot) then parts.set_ticks(plot.y, least) end
  end

  local function overhang(plot)
    local last = plot.x.ticks[#plot.x.ticks]
    if not last or plot.bare_x then return 0 end
    local at = (plot.x.hi - last.at) / (plot.x.hi - plot.x.lo) * (plot.box.right - plot.box.left)
    return parts.width(last.label, TICK) / 2 - at
  end

  -- Grows a range so that a unit has the same length on both axes. If the user has set a range, it is kept and the box
  -- shrinks.
  local function equalise(plot)
    local box, x, y = plot.box, plot.x, plot.y
    local wide, high = box.right - box.left, box.bottom - box.top
    local per_x, per_y = (x.hi - x.lo) / wide * x.unit, (y.hi - y.lo) / high * y.unit
    local axis, wanted, now = x, per_y * wide / x.unit, x.hi - x.lo
    if per_x > per_y then axis, wanted, now = y, per_x * high / y.unit, y.hi - y.lo end
    if not (wanted < MOST_GROWN * now) then return end -- impossible
    if not axis.range then
      local middle = axis.lo / 2 + axis.hi / 2
      axis.lo, axis.hi = middle - wanted / 2, middle + wanted / 2
    elseif per_x > per_y then
      local spare = math.min(high * (1 - now / wanted), high - LEAST / 2)
      box.top, box.bottom = box.top + spare / 2, box.bottom - spare / 2
    else
      local spare = math.min(wide * (1 - now / wanted), wide - LEAST / 2)
      box.left, box.right = box.left + spare / 2, box.right - spare / 2
    end
  end

  -- Computes the box between the axes for the present choices. `frame` is {x, y, width, height}.
  local function measure(plot, frame)
    local extra = plot.extra or {}
    local right = frame.x + frame.width - EDGE - (extra.right or 0)
    plot.frame, plot.title_size = frame, plot.panel and PANEL_TITLE or TITLE
    plot.x.lo, plot.x.hi, plot.y.lo, plot.y.hi = table.unpack(plot.limits)
    plot.titles = plot.title and parts.wrap(plot.title, plot.title_size, true, frame.width - 2 * EDGE,
      math.max(1, math.min(3, SMALL * frame.height // (plot.title_size + 4)))) or {}
    plot.x_words = plot.bare_x and {} or parts.wrap(plot.x.label, LABEL, false, frame.width - 2 * EDGE, 2)
    local top = frame.y + EDGE + #plot.titles * (plot.title_size + 5) + (#plot.titles > 0 and 4 or 0)
      + (extra.top or 0)
    local below = math.max(#plot.x_words, plot.noted_x and 1 or 0) * (LABEL + 4) + (plot.bare_x and 0 or TICK + 8)
    local bottom = frame.y + frame.height - EDGE - below - (extra.bottom or 0)
    -- The note of an axis needs a separate line, unless a legend or title provides one.
    local noted = plot.noted_y and (extra.top or 0) == 0 and 18 or 0
    -- Very small pictures omit their texts, the title last.
    local function is_low() return bottom - top - noted < LEAST end
    if is_low() and #plot.x_words > 0 then bottom, plot.x_words = bottom + #plot.x_words * (LABEL + 4), {} end
    if is_low() and noted > 0 then noted = 0 end
    if is_low() and #plot.titles > 0 then top, plot.titles = frame.y + EDGE + (extra.top or 0), {} end
    bottom = math.max(bottom, top + LEAST / 2)
    plot.box = { left = frame.x, right = right, top = top + noted, bottom = bottom }
    plot.y_words = plot.bare_y and {} or parts.wrap(plot.y.label, LABEL, false, bottom - top + 30, 2)
    if plot.box.right - frame.x < STAMP then plot.y_words = {} end
    for _ = 1, 2 do -- the size of the box depends on the ticks, and the ticks depend on the box
      set_y_ticks(plot)
      local ticks = plot.bare_y and 0 or widest_tick(plot.y) + 8
      plot.outside = ticks + #plot.y_words * (LABEL + 4) + (#plot.y_words > 0 and 4 or 0)
      local left = frame.x + EDGE + math.max(plot.outside, plot.outside_least or 0)
      plot.box.left, plot.box.right = left, math.max(right, left + LEAST)
      set_x_ticks(plot)
      local out = overhang(plot) - EDGE + 4 - (extra.right or 0)
      if out > 0 then
        plot.box.right = math.max(plot.box.right - out, left + LEAST)
        set_x_ticks(plot)
      end
      if not plot.equal then break end
      equalise(plot)
    end
    if plot.equal then
      set_y_ticks(plot)
      set_x_ticks(plot)
    end
    plot.under = bottom + (plot.bare_x and 0 or TICK + 8) + #plot.x_words * (LABEL + 4) + 2
    local new_x = plot.x.note and not plot.bare_x and not plot.noted_x
    local new_y = plot.y.note and not plot.bare_y and not plot.noted_y
    if new_y or new_x then
      plot.noted_y, plot.noted_x = plot.noted_y or new_y, plot.noted_x or new_x
      measure(plot, frame)
    end
  end

  -- ---- Drawing ----------------------------------------------------------------------------------

  local function draw_grid(plot, sheet)
    local box, theme = plot.box, plot.theme
    local minor, major = {}, {}
    for _, at in ipairs(plot.x.minor) do
      local x = parts.pixel(plot, at, plot.y.lo)
      minor[#minor + 1] = { x, box.top, x, box.bottom }
    end
    for _, at in ipairs(plot.y.minor) do
      local _, y = parts.pixel(plot, plot.x.lo, at)
      minor[#minor + 1] = { box.left, y, box.right, y }
    end
    for _, tick in ipairs(plot.x.ticks) do
      local x = parts.pixel(plot, tick.at, plot.y.lo)
      major[#major + 1] = { x, box.top, x, box.bottom }
    end
    for _, tick in ipairs(plot.y.ticks) do
      local _, y = parts.pixel(plot, plot.x.lo, tick.at)
      major[#major + 1] = { box.left, y, box.right, y }
    end
    sheet:path(minor, { stroke = theme.minor, width = 1 })
    sheet:path(major, { stroke = theme.grid, width = 1 })
  end

  local function draw_axes(plot, sheet, frame)
    local box, theme = plot.box, plot.theme
    sheet:path({ { box.left, box.top, box.left, box.bottom, box.right, box.bottom } },
      { stroke = theme.soft, width = 1.2 })
    local middle, bottom = (box.left + box.right) / 2, box.bottom + TICK + 6
    -- below the box: numbers, then the label, which stays within the frame, and the power of ten
    if not plot.bare_x then
      for _, tick in ipairs(plot.x.ticks) do
        sheet:text(parts.pixel(plot, tick.at, 0), bottom, tick.label,
          { size = TICK, align = "center", fill = theme.soft })
      end
      for i, words in ipairs(plot.x_words) do
        local half = parts.width(words, LABEL) / 2
        local from, to = frame.x + EDGE / 2 + half, frame.x + frame.width - EDGE / 2 - half
        sheet:text(math.min(math.max(from, middle), to), bottom + i * (LABEL + 4), words,
          { size = LABEL, align = "center", fill = theme.ink })
      end
      if plot.x.note then
        sheet:text(box.right, bottom + LABEL + 4, plot.x.note, { size = TICK, align = "right", fill = theme.soft })
      end
    end
    -- on the left: the same texts, rotated
    if not plot.bare_y then
      for _, tick in ipairs(plot.y.ticks) do
        local _, y = parts.pixel(plot, 0, tick.at)
        sheet:text(box.left - 7, y + 4.5, tick.label, { size = TICK, align = "right", fill = theme.soft })
      end
      local half = (box.top + box.bottom) / 2
      for i, words in ipairs(plot.y_words) do
        local across = parts.width(words, LABEL) / 2
        sheet:text(box.left - math.max(plot.outside, plot.outside_least or 0) + i * (LABEL + 4) - 6,
          math.min(math.max(frame.y + 4 + across, half), frame.y + frame.height - 4 - across), words,
          { size = LABEL, align = "center", turn = -90, fill = theme.ink })
      end
      if plot.y.note then
        local width = parts.width(plot.y.note, TICK)
        local fits = frame.x + 4 + width <= box.left - 4
        sheet:text(fits and box.left - 4 or frame.x + 4, box.top - 8, plot.y.note,
          { size = TICK, align = fits and "right" or "left", fill = theme.soft })
      end
    end
    -- at the top: the title
    for i, words in ipairs(plot.titles) do
      sheet:text(frame.x + EDGE, frame.y + EDGE + i * (plot.title_size + 5) - 7, words,
        { size = plot.title_size, bold = true, fill = theme.ink })
    end
  end

  -- Draws the area between the axes. Returns the cells that were drawn on.
  local function draw_inside(plot, sheet)
    local ink = parts.ink(plot.box)
    sheet:clip(plot.box)
    for _, kind in ipairs { "heat", "field" } do
      for _, series in ipairs(plot.series) do
        if series.kind == kind then parts.draw_series(plot, series, sheet, ink) end
      end
    end
    local name_lines = parts.draw_references(plot, sheet, ink)
    for layer = 1, 3 do
      for _, series in ipairs(plot.series) do
        if LAYERS[series.kind] == layer then parts.draw_series(plot, series, sheet, ink) end
      end
    end
    sheet:unclip()
    parts.draw_notes(plot, sheet, ink)
    name_lines()
    return ink
  end

  -- Sets the ranges, and computes everything that does not depend on the position.
  function parts.begin(plot)
    plot.theme = plot.dark and THEMES.dark or THEMES.light
    plot.limits = { plot.x.lo, plot.x.hi, plot.y.lo, plot.y.hi }
    plot.extra, plot.noted_x, plot.noted_y = nil, nil, nil
    parts.set_styles(plot)
    parts.thin(plot)
  end

  -- Chooses the positions of the names of curves.
  function parts.arrange(plot, frame)
    measure(plot, frame)
    parts.choose_legend(plot, draw_inside(plot, parts.sheet(1, 1, 0)))
    measure(plot, frame)
  end

  parts.measure = measure

  -- Call this after the box has changed. Returns true if names have to move.
  function parts.rearrange(plot)
    return plot.names == "inside" and parts.recheck_legend(plot, draw_inside(plot, parts.sheet(1, 1, 0)))
  end

  function parts.draw(plot, frame, sheet)
    draw_grid(plot, sheet)
    local ink = draw_inside(plot, sheet)
    draw_axes(plot, sheet, frame)
    parts.draw_bar(plot, sheet)
    parts.draw_legend(plot, sheet, ink)
  end
end
