-- Texts of a plot: names of curves, and notes at points and lines.

local SIZE, LINE = 13, 18 -- font size and line height, px
local SWATCH, STROKE, BETWEEN = 36, 28, 16 -- px: space before a name, length of its line, space after the name
local PAD = 8 -- distance between the axes and a legend inside them, px
local GAP = 16 -- distance between names at the ends of curves, px
local MOVED = 20 -- largest distance of a name from the end of its curve, px
local MOST_DIRECT, MOST_INSIDE = 5, 7 -- most curves
local WIDEST = 0.3 -- largest space for names beside the box, as a fraction of the box
local NEAR = 8 -- distance of a note from its point, px
local NOTE_ROOM = 170 -- width of a note's line, px

return function(_, host)
  local parts = host.plot_parts

  local function entries_of(plot)
    local list = {}
    for _, series in ipairs(plot.series) do
      if series.label and series.kind ~= "heat" then -- the name of a heat map is at its scale
        list[#list + 1] = { series = series, label = series.label, width = SWATCH + parts.width(series.label, SIZE) }
      end
    end
    return list
  end

  local function widest(entries)
    local width = 0
    for _, entry in ipairs(entries) do width = math.max(width, entry.width) end
    return width
  end

  local function boldest(entries)
    local width = 0
    for _, entry in ipairs(entries) do width = math.max(width, parts.width(entry.label, SIZE, true)) end
    return width
  end

  -- ---- Names at the ends of curves --------------------------------------------------------------

  -- Moves names apart vertically. Returns the largest displacement.
  local function spread(names, top, bottom)
    table.sort(names, function(a, b) return a.wanted < b.wanted or a.wanted == b.wanted and a.index < b.index end)
    local y = top - GAP
    for _, name in ipairs(names) do
      name.y = math.max(name.wanted, y + GAP)
      y = name.y
    end
    y = bottom + GAP
    for i = #names, 1, -1 do
      names[i].y = math.min(names[i].y, y - GAP)
      y = names[i].y
    end
    -- Groups that were moved together share the displacement.
    local i = 1
    while i <= #names do
      local j, sum = i, names[i].y - names[i].wanted
      while j < #names and names[j + 1].y - names[j].y < GAP + 1e-6 do
        j = j + 1
        sum = sum + names[j].y - names[j].wanted
      end
      local shift = sum / (j - i + 1)
      if i > 1 then shift = math.min(shift, names[i].y - names[i - 1].y - GAP) end
      shift = math.min(shift, names[i].y - top)
      for k = i, j do names[k].y = names[k].y - shift end
      i = j + 1
    end
    local farthest = 0
    for _, name in ipairs(names) do farthest = math.max(farthest, math.abs(name.y - name.wanted)) end
    return farthest
  end

  -- Returns the names with their positions, or nil if they would not be next to their curves.
  local function direct(plot, entries, forced)
    local names, box = {}, plot.box
    if #entries > MOST_DIRECT and not forced then return nil end
    for i, entry in ipairs(entries) do
      local series = entry.series
      local x, y = parts.end_of(plot, series)
      if not forced and (series.kind ~= "line" and series.kind ~= "steps" or not x
          or x < box.right - 0.09 * (box.right - box.left)) then
        return nil
      end
      names[i] = { wanted = y or box.top, index = i, entry = entry, x = x }
    end
    local farthest = spread(names, box.top + 5, box.bottom - 5)
    local moved = #names > 0 and farthest > MOVED
    return (forced or not moved) and names or nil
  end

  local function draw_direct(plot, sheet)
    local names = direct(plot, plot.entries, true)
    for _, name in ipairs(names) do
      local series = name.entry.series
      local x = plot.box.right + 8
      sheet:text(x, name.y + 4.5, parts.fit_ends(name.entry.label, SIZE, plot.extra.right - 12, true),
        { size = SIZE, bold = true, fill = parts.readable(plot, series.color) })
      if math.abs(name.y - name.wanted) > 5 and name.x then
        sheet:line(plot.box.right + 1, name.wanted, x - 2, name.y, { stroke = series.color, width = 0.8 })
      end
    end
  end

  -- ---- Legends ----------------------------------------------------------------------------------

  local function draw_swatch(plot, sheet, series, x, y)
    local middle = y - 4.5
    local function mark()
      parts.draw_markers(sheet, series.marker, { x + STROKE / 2, middle }, 4, series.color, plot.theme.paper)
    end
    if series.kind == "scatter" then
      mark()
    elseif series.kind == "band" or series.kind == "histogram" then
      local alpha = series.stacked and parts.stacked or series.kind == "band" and plot.theme.band or plot.theme.bars
      sheet:rect(x, middle - 5, x + STROKE, middle + 5, { fill = parts.with_alpha(series.color, alpha),
        stroke = series.kind == "histogram" and series.color or 0, width = 1.4, dash = series.dash })
    else
      sheet:line(x, middle, x + STROKE, middle, { stroke = series.color, width = 2.4, dash = series.dash })
      if series.marker then mark() end
    end
  end

  -- Returns lines of entries that fit into the width. If there are too many lines, long names are shortened.
  local function wrap(entries, room, most)
    -- if there are too many lines, use as many columns of equal width as needed
    if most then
      local lines, columns = wrap(entries, room), 1
      while #lines > most and columns < #entries do
        columns = columns + 1
        local width = (room - (columns - 1) * BETWEEN) / columns
        lines = {}
        for i, entry in ipairs(entries) do
          if (i - 1) % columns == 0 then lines[#lines + 1] = {} end
          local x = (i - 1) % columns * (width + BETWEEN)
          table.insert(lines[#lines], { entry = entry, x = x, room = width - SWATCH })
        end
      end
      return lines
    end
    -- place the entries one after the other, like the words of a text
    local lines, line, x = {}, nil, 0
    for _, entry in ipairs(entries) do
      local width = math.min(entry.width, room)
      if not line or x + width > room then
        line, x = {}, 0
        lines[#lines + 1] = line
      end
      line[#line + 1] = { entry = entry, x = x, room = room - SWATCH }
      x = x + width + BETWEEN
    end
    return lines
  end

  local function draw_lines(plot, sheet, lines, left, top)
    for i, line in ipairs(lines) do
      for _, at in ipairs(line) do
        local y = top + i * LINE - 4
        draw_swatch(plot, sheet, at.entry.series, left + at.x, y)
        sheet:text(left + at.x + SWATCH, y, parts.fit_ends(at.entry.label, SIZE, at.room),
          { size = SIZE, fill = plot.theme.ink })
      end
    end
  end

  local function column(entries, room)
    local lines = {}
    for i, entry in ipairs(entries) do lines[i] = { { entry = entry, x = 0, room = room - SWATCH } } end
    return lines
  end

  -- Returns the emptiest corner of the box: left, top, and the number of cells that are drawn on.
  local function corner(plot, ink, width, height)
    local box, best = plot.box, nil
    for _, at in ipairs { { 1, 0 }, { 0, 0 }, { 1, 1 }, { 0, 1 } } do
      local left = at[1] == 1 and box.right - width - PAD or box.left + PAD
      local top = at[2] == 1 and box.bottom - height - PAD or box.top + PAD / 2
      local covered = ink:covered(math.max(box.left + 1, left - 4), math.max(box.top + 1, top - 2),
        math.min(box.right - 2, left + width + 2), math.min(box.bottom - 2, top + height + 2))
      if not best or covered < best.covered then best = { left = left, top = top, covered = covered } end
    end
    return best
  end

  -- The number of lines of a legend above or below the box, at most a third of the picture.
  local function most_lines(plot) return math.max(2, plot.frame.height // (3 * LINE)) end

  local choose

  -- Chooses the position of names (plot.names) and the space for them (plot.extra). Call this after the curves were
  -- drawn without names.
  function parts.choose_legend(plot, ink)
    local bar = parts.bar_room(plot)
    choose(plot, ink)
    if not bar then return end
    -- the scale of a heat map takes the place of the names
    if plot.names == "direct" or plot.names == "right" then
      local lines = #wrap(plot.entries, plot.box.right - plot.box.left, most_lines(plot))
      plot.names, plot.extra.top = "above", lines * LINE + 4
    end
    plot.extra.right = bar
  end

  function choose(plot, ink)
    local entries, box = entries_of(plot), plot.box
    plot.entries, plot.extra = entries, {}
    local wide, high = box.right - box.left, box.bottom - box.top
    local width, height = widest(entries), #entries * LINE
    local asked = plot.legend
    if #entries == 0 or asked == false then
      plot.names = "none"
      return
    end
    local names = (asked == nil or asked == "direct") and direct(plot, entries, asked == "direct")
    local free = asked == nil and #entries <= MOST_INSIDE and width < 0.6 * wide and corner(plot, ink, width, height)
    local lines = #wrap(entries, wide, most_lines(plot))
    if names and (asked or boldest(entries) <= WIDEST * wide) then
      plot.names, plot.extra.right = "direct", 12 + math.min(boldest(entries), 0.5 * wide)
    elseif asked == "inside" or free and free.covered == 0 then
      plot.names = "inside"
    elseif asked == "right" or asked == nil and lines > 2 and width <= 0.4 * wide and height <= high + 20 then
      plot.names, plot.extra.right = "right", 12 + math.min(width, 0.5 * wide)
    elseif asked == "below" then
      plot.names, plot.extra.bottom = "below", lines * LINE + 6
    else
      plot.names, plot.extra.top = "above", lines * LINE + 4
    end
  end

  -- Checks that a position inside the box is still free after the box has changed. If it is not, the names move above
  -- the box.
  function parts.recheck_legend(plot, ink)
    local width, height = widest(plot.entries), #plot.entries * LINE
    if plot.names ~= "inside" or plot.legend == "inside" or corner(plot, ink, width, height).covered == 0 then
      return false
    end
    plot.names = "above"
    plot.extra.top = #wrap(plot.entries, plot.box.right - plot.box.left, most_lines(plot)) * LINE + 4
    return true
  end

  function parts.draw_legend(plot, sheet, ink)
    local box, entries = plot.box, plot.entries
    local wide = box.right - box.left
    if plot.names == "direct" then
      draw_direct(plot, sheet)
    elseif plot.names == "inside" then
      local width, height = math.min(widest(entries), wide - 2 * PAD), #entries * LINE
      local at = corner(plot, ink, width, height)
      sheet:rect(at.left - 5, at.top, at.left + width + 5, at.top + height + 3,
        { fill = parts.with_alpha(plot.theme.paper, 0.85) })
      draw_lines(plot, sheet, column(entries, width), at.left, at.top)
    elseif plot.names == "right" then
      draw_lines(plot, sheet, column(entries, plot.extra.right - 12), box.right + 14, box.top - 4)
    elseif plot.names == "below" then
      draw_lines(plot, sheet, wrap(entries, wide, most_lines(plot)), box.left, plot.under)
    elseif plot.names == "above" then
      local lines = wrap(entries, wide, most_lines(plot))
      draw_lines(plot, sheet, lines, box.left, box.top - 6 - #lines * LINE)
    end
  end

  -- ---- Notes ------------------------------------------------------------------------------------

  -- Returns the best of the places {left, top, cost =} for a text of this size. It covers few cells that are drawn on,
  -- and earlier places are preferred.
  local function best_place(ink, places, width, height)
    local best
    for i, place in ipairs(places) do
      local covered = ink:covered(place[1], place[2], place[1] + width, place[2] + height)
      local cost = covered + (place.cost or 0) + i * 1e-3
      if not best or cost < best.cost then best = { left = place[1], top = place[2], cost = cost, place = place } end
    end
    return best
  end

  local function write(plot, sheet, ink, words, at, width)
    sheet:text(at.left, at.top + 12, words,
      { size = SIZE, fill = plot.theme.ink, halo = parts.with_alpha(plot.theme.paper, 0.9) })
    ink:rect(at.left, at.top, at.left + width, at.top + 15)
  end

  local function fits(box, left, top, width, height, room)
    return left >= box.left + room and left + width <= box.right - room
      and top >= box.top + room and top + height <= box.bottom - room
  end

  -- Draws the names of the lines at x = or y =.
  function parts.draw_references(plot, sheet, ink)
    local box, lines = plot.box, {}
    for _, line in ipairs(plot.references) do
      local axis = line.x and plot.x or plot.y
      local value = line.x or line.y
      local at = parts.shows(axis, value) and parts.place(axis, value)
      if at and at >= axis.lo and at <= axis.hi then
        local x, y = parts.pixel(plot, line.x and at or plot.x.lo, line.y and at or plot.y.lo)
        local run = line.x and { x, box.top, x, box.bottom } or { box.left, y, box.right, y }
        sheet:path({ run }, { stroke = line.color or plot.theme.soft, width = 1.3, dash = { 5, 3 } })
        lines[#lines + 1] = { line = line, x = x, y = y, run = run }
      end
    end
    for _, at in ipairs(lines) do ink:line(at.run) end
    return function()
      for _, at in ipairs(lines) do
        if at.line.label then
          local words = parts.fit(at.line.label, SIZE, false, 0.6 * (box.right - box.left))
          local width, places = parts.width(words, SIZE), {}
          if at.line.x then
            for y = box.top + 4, box.bottom - 20, 12 do
              for side, left in ipairs { at.x + 6, at.x - 6 - width } do
                places[#places + 1] = { left, y, cost = side * 0.1 }
              end
            end
          else
            for _, top in ipairs { at.y - 19, at.y + 4 } do
              for x = box.right - width - 6, box.left + 6, -24 do places[#places + 1] = { x, top } end
            end
          end
          for _, place in ipairs(places) do
            place.cost = (place.cost or 0) + (fits(box, place[1], place[2], width, 15, 0) and 0 or 1e3)
          end
          local best = best_place(ink, places, width, 15)
          if best then write(plot, sheet, ink, words, best, width) end
        end
      end
    end
  end

  local WAYS = { { 1, -1 }, { -1, -1 }, { 1, 1 }, { -1, 1 }, { 0, -1 }, { 0, 1 }, { 1, 0 }, { -1, 0 } }

  -- Returns possible places for a text around a point, nearest first.
  local function places_around(box, x, y, width, height)
    local places = {}
    for _, far in ipairs { NEAR, 22, 40, 64, 90 } do
      for _, way in ipairs(WAYS) do
        local left = x + way[1] * far * (way[2] == 0 and 1.3 or 0.8) + (way[1] - 1) / 2 * width
        local top = y + way[2] * far + (way[2] - 1) / 2 * height
        if fits(box, left, top, width, height, 2) then
          places[#places + 1] = { left, top, cost = far / 20, far = far }
        end
      end
    end
    return places
  end

  local function draw_note(plot, sheet, ink, note, x, y)
    local box = plot.box
    local lines = parts.wrap(note.text, SIZE, false, math.min(NOTE_ROOM, 0.6 * (box.right - box.left)), 3)
    local width, height = 0, 16 * #lines
    for _, words in ipairs(lines) do width = math.max(width, parts.width(words, SIZE)) end
    local best = best_place(ink, places_around(box, x, y, width, height), width, height)
    sheet:discs({ x, y }, 3, { fill = note.color or plot.theme.ink, stroke = plot.theme.paper, width = 1 })
    if not best then return end
    if best.place.far > NEAR then
      local px = math.max(best.left, math.min(best.left + width, x))
      local py = math.max(best.top, math.min(best.top + height, y))
      sheet:line(x, y, px, py, { stroke = plot.theme.soft, width = 1 })
    end
    for i, words in ipairs(lines) do
      write(plot, sheet, ink, words, { left = best.left, top = best.top + 16 * (i - 1) }, width)
    end
  end

  -- Draws notes as close to their points as possible.
  function parts.draw_notes(plot, sheet, ink)
    local box = plot.box
    for _, note in ipairs(plot.notes) do
      if parts.shows(plot.x, note.x) and parts.shows(plot.y, note.y) then
        local x, y = parts.pixel(plot, parts.place(plot.x, note.x), parts.place(plot.y, note.y))
        if fits(box, x, y, 0, 0, -1) then draw_note(plot, sheet, ink, note, x, y) end
      end
    end
  end
end
