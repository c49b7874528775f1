-- A plot as text for terminals. Each character has two by four Braille dots.

local DOTS = { { 0x01, 0x02, 0x04, 0x40 }, { 0x08, 0x10, 0x20, 0x80 } } -- by column, row
local BLANK = 0x2800
local ARROWS = { "→", "↗", "↑", "↖", "←", "↙", "↓", "↘" }
local FIELD_ACROSS, FIELD_DOWN = 4, 2 -- letters between arrows

local Screen = {}
Screen.__index = Screen

function Screen:dot(x, y)
  x, y = math.floor(x + 0.5), math.floor(y + 0.5)
  if x >= 0 and x < 2 * self.columns and y >= 0 and y < 4 * self.rows then
    local cell = y // 4 * self.columns + x // 2
    self[cell] = (self[cell] or 0) | DOTS[x % 2 + 1][y % 4 + 1]
  end
end

function Screen:line(run, every)
  for i = 1, #run - 3, 2 do
    local dx, dy = run[i + 2] - run[i], run[i + 3] - run[i + 1]
    local pieces = math.ceil(math.max(math.abs(dx), math.abs(dy), 1))
    for k = 0, pieces, every or 1 do self:dot(run[i] + k / pieces * dx, run[i + 1] + k / pieces * dy) end
  end
  if #run == 2 then self:dot(run[1], run[2]) end
end

-- Puts a letter in place of a cell's dots. If `over` is true, it also replaces existing dots.
function Screen:put(column, row, letter, over)
  local cell = row * self.columns + column
  if column >= 0 and column < self.columns and row >= 0 and row < self.rows and (over or not self[cell])
      and not self.letters[cell] then
    self.letters[cell] = letter
    return true
  end
end

function Screen:words(column, row, words)
  for _, code in utf8.codes(words) do
    self:put(column, row, utf8.char(code), true)
    column = column + 1
  end
end

function Screen:row(row)
  local line = {}
  for column = 0, self.columns - 1 do
    local cell = row * self.columns + column
    line[#line + 1] = self.letters[cell] or self[cell] and utf8.char(BLANK + self[cell]) or " "
  end
  return table.concat(line)
end

local function pad(text, width, right)
  local fill = (" "):rep(width - utf8.len(text))
  return right and fill .. text or text .. fill
end

local function cut(text, width)
  if utf8.len(text) <= width then return text end
  return text:sub(1, utf8.offset(text, width) - 1) .. "…"
end

return function(_, host)
  local parts = host.plot_parts
  local draw = {}

  function draw.line(plot, series, screen)
    for _, run in ipairs(series.runs) do
      local pixels = parts.to_pixels(plot, run)
      if series.kind == "steps" then pixels = parts.stepped(pixels) end
      if #pixels == 2 then screen:line(pixels) end
      for _, piece in ipairs(parts.cut_line(plot, pixels)) do screen:line(piece) end
    end
  end

  draw.steps, draw.phase = draw.line, draw.line

  function draw.scatter(plot, series, screen)
    local at = parts.to_pixels(plot, series.cloud)
    for i = 1, #at, 2 do screen:dot(at[i], at[i + 1]) end
  end

  function draw.band(plot, series, screen)
    for _, band in ipairs(series.bands) do
      local low = parts.clamp(plot, parts.to_pixels(plot, band.low))
      local high = parts.clamp(plot, parts.to_pixels(plot, band.high))
      parts.across_band(low, high, 1, function(x, top, bottom)
        for y = math.ceil(top), bottom do
          if x % 2 == 0 and y % 2 == 0 then screen:dot(x, y) end
        end
      end)
    end
  end

  function draw.histogram(plot, series, screen)
    for i, height in ipairs(series.heights) do
      local left, right = series.edges[i], series.edges[i + 1]
      if parts.shows(plot.y, height) and parts.shows(plot.x, left) and height > 0 then
        local bar = parts.clamp(plot, parts.to_pixels(plot, { parts.place(plot.x, left), plot.y.lo,
          parts.place(plot.x, right), parts.place(plot.y, height) }))
        for x = math.floor(bar[1] + 0.5), math.max(math.floor(bar[1] + 0.5), math.floor(bar[3] + 0.5) - 1) do
          screen:line { x, bar[2], x, bar[4] }
        end
      end
    end
  end

  function draw.heat(...) parts.heat_letters(...) end

  function draw.contour(plot, series, screen)
    parts.each_contour(plot, series, function(_, runs)
      for _, run in ipairs(runs) do screen:line(run) end
    end)
  end

  function draw.field(plot, series, screen)
    local function value(axis, at) return axis.log and 10 ^ at or at * axis.unit end
    for row = 0, screen.rows - 1, FIELD_DOWN do
      for column = 0, screen.columns - 1, FIELD_ACROSS do
        local u = plot.x.lo + (column + 0.5) / screen.columns * (plot.x.hi - plot.x.lo)
        local v = plot.y.hi - (row + 0.5) / screen.rows * (plot.y.hi - plot.y.lo)
        local x, y = value(plot.x, u), value(plot.y, v)
        local dx, dy = series.call(x, y)
        dx, dy = plot.x.log and dx / x or dx / plot.x.unit, plot.y.log and dy / y or dy / plot.y.unit
        local angle = math.atan(dy / (plot.y.hi - plot.y.lo), dx / (plot.x.hi - plot.x.lo))
        if angle == angle and (dx ~= 0 or dy ~= 0) then
          screen:put(column, row, ARROWS[math.floor(angle / (math.pi / 4) + 0.5) % 8 + 1])
        end
      end
    end
  end

  local function draw_marks(plot, screen)
    for _, line in ipairs(plot.references) do
      local axis = line.x and plot.x or plot.y
      if parts.shows(axis, line.x or line.y) then
        local at = parts.place(axis, line.x or line.y)
        local x, y = parts.pixel(plot, line.x and at or plot.x.lo, line.y and at or plot.y.lo)
        screen:line(line.x and { x, 0, x, plot.box.bottom } or { 0, y, plot.box.right, y }, 3)
        if line.label then
          screen:words(line.x and x // 2 + 2 or 1, line.x and 0 or math.max(0, y // 4 - 1), line.label)
        end
      end
    end
    for _, note in ipairs(plot.notes) do
      if parts.shows(plot.x, note.x) and parts.shows(plot.y, note.y) then
        local x, y = parts.pixel(plot, parts.place(plot.x, note.x), parts.place(plot.y, note.y))
        local words = "• " .. note.text
        local column = math.max(0, math.min(x // 2, screen.columns - utf8.len(words)))
        screen:words(column, y // 4, words)
      end
    end
  end

  -- If there are several curves, puts a letter at the end of each, or earlier if another letter is there.
  local function mark_curves(plot, screen)
    local names, labelled = {}, 0
    for _, series in ipairs(plot.series) do
      if series.label then labelled = labelled + 1 end
    end
    for _, series in ipairs(plot.series) do
      if series.label then
        local letter = labelled > 1 and labelled <= 26 and string.char(97 + #names) or nil
        names[#names + 1] = letter and letter .. " " .. series.label or series.label
        local runs = letter and (series.runs or series.cloud and { series.cloud }) or {}
        local run = runs[#runs]
        for i = run and #run - 1 or 0, 1, -2 do
          local x, y = parts.pixel(plot, run[i], run[i + 1])
          if x > 1 and screen:put(x // 2, y // 4, letter, true) then break end
        end
      end
    end
    return names
  end

  local function wrap_names(names, width)
    local lines = {}
    for _, name in ipairs(names) do
      local last = lines[#lines]
      if last and utf8.len(last) + 3 + utf8.len(name) <= width then
        lines[#lines] = last .. "   " .. name
      else
        lines[#lines + 1] = cut(name, width)
      end
    end
    return lines
  end

  -- Writes the labels along x at their positions. Labels that would touch the previous label are omitted.
  local function write_x_ticks(plot, left, width)
    local line, last = {}, -1
    for _, tick in ipairs(plot.x.ticks) do
      local length = utf8.len(tick.label)
      local at = left + math.floor(parts.pixel(plot, tick.at, plot.y.lo) / 2) - length // 2
      if at > last and at + length <= width then
        line[#line + 1] = (" "):rep(at - math.max(last, 0)) .. tick.label
        last = at + length
      end
    end
    return table.concat(line)
  end

  -- Returns the whole plot in `height` lines. Parts are omitted if the curves need the space.
  function parts.letters(plot, width, height)
    local names = {}
    for _, series in ipairs(plot.series) do
      if series.label then names[#names + 1] = "a " .. series.label end
    end
    local around = (plot.title and 1 or 0) + 2 + (plot.x.label ~= "" and 1 or 0) + (plot.y.label ~= "" and 1 or 0)
    local rows = math.max(3, height - around - #wrap_names(names, width))
    parts.set_ticks(plot.y, math.max(2, rows // 4))
    local margin = 0
    for _, tick in ipairs(plot.y.ticks) do margin = math.max(margin, utf8.len(tick.label)) end
    local columns = math.max(10, width - margin - 2)
    parts.set_ticks(plot.x, math.max(2, columns // 12))
    local screen = setmetatable({ columns = columns, rows = rows, letters = {} }, Screen)
    plot.box = { left = 0, top = 0, right = 2 * columns - 1, bottom = 4 * rows - 1 }
    for pass = 1, 2 do -- draw the arrows of a field only in empty cells
      for _, series in ipairs(plot.series) do
        if (series.kind == "field") == (pass == 2) then draw[series.kind](plot, series, screen) end
      end
      if pass == 1 then
        for _, series in ipairs(plot.series) do
          for _, bar in ipairs(series.bars or {}) do screen:line(parts.clamp(plot, parts.to_pixels(plot, bar))) end
        end
        names = mark_curves(plot, screen)
        draw_marks(plot, screen)
      end
    end
    local at_row = {}
    for _, tick in ipairs(plot.y.ticks) do
      local _, y = parts.pixel(plot, plot.x.lo, tick.at)
      at_row[math.floor(y / 4)] = tick.label
    end
    local lines = {}
    if plot.title then lines[1] = cut(plot.title, width) end
    if plot.y.label ~= "" or plot.y.note then
      lines[#lines + 1] = cut(plot.y.label .. (plot.y.note and " (" .. plot.y.note .. ")" or ""), width)
    end
    for row = 0, rows - 1 do
      local label = at_row[row]
      lines[#lines + 1] = pad(label or "", margin, true) .. (label and " ┤" or " │") .. screen:row(row)
    end
    lines[#lines + 1] = (" "):rep(margin + 1) .. "└" .. ("─"):rep(columns)
    lines[#lines + 1] = write_x_ticks(plot, margin + 2, width)
    if plot.x.label ~= "" or plot.x.note then
      local words = cut(plot.x.label .. (plot.x.note and " (" .. plot.x.note .. ")" or ""), width)
      lines[#lines + 1] = (" "):rep((width - utf8.len(words)) // 2) .. words
    end
    for _, line in ipairs(wrap_names(names, width)) do lines[#lines + 1] = line end
    for i, line in ipairs(lines) do lines[i] = line:gsub("%s+$", "") end
    return table.concat(lines, "\n") .. "\n"
  end
end
