-- sim.plot: readable plots without tuning, as SVG, PNG and text. The files plot_*.lua contain its parts, which are
-- registered in host.plot_parts.

local COLUMNS = 2 -- default number of columns of a grid
local ROW, SHARED = 230, 42 -- px: height of a row of a grid; space for labels below the last row
local GRID_WIDTH = 640 -- px
local GRID_TITLE, EDGE = 18, 12 -- px
local GRID_KEYS = { "title", "columns", "share_x", "share_y", "width", "height", "dark" }
local SCALE = 2 -- number of pixels of a .png per px of the plot
local PRINT_WIDTH, PRINT_HEIGHT = 80, 20 -- letters

local methods = {}
local Plot = { __index = methods, __name = "Plot", __tostring = function() return "Plot" end }

return function(sim, host)
  local parts = {}
  host.plot_parts = parts

  -- A copy of a plot, to lay it out again without changing the original.
  local function copy_of(plot)
    local copy = {}
    for key, value in pairs(plot) do copy[key] = value end
    for _, name in ipairs { "x", "y" } do
      copy[name] = {}
      for key, value in pairs(plot[name]) do copy[name][key] = value end
    end
    copy.series = {}
    for i, series in ipairs(plot.series) do
      copy.series[i] = {}
      for key, value in pairs(series) do copy.series[i][key] = value end
    end
    return copy
  end

  local function draw_one(plot)
    plot = copy_of(plot)
    parts.set_ranges("x", { plot })
    parts.set_ranges("y", { plot })
    parts.begin(plot)
    local frame = { x = 0, y = 0, width = plot.width, height = plot.height }
    parts.arrange(plot, frame)
    local sheet = parts.sheet(plot.width, plot.height, plot.theme.paper)
    parts.draw(plot, frame, sheet)
    return sheet
  end

  -- ---- Grids ------------------------------------------------------------------------------------

  local function each_axis_range(grid, panels, name)
    if grid["share_" .. name] then
      parts.set_ranges(name, panels)
      return
    end
    for _, panel in ipairs(panels) do parts.set_ranges(name, { panel }) end
  end

  local function frames_of(grid, top)
    local columns, rows = grid.columns, grid.rows
    local below, beside = grid.share_x and SHARED or 0, grid.share_y and SHARED or 0
    local width, height = (grid.width - beside) / columns, (grid.height - top - below) / rows
    local frames = {}
    for i = 1, #grid.panels do
      local column, row = (i - 1) % columns, (i - 1) // columns
      local last = i + columns > #grid.panels -- true if no panel is below this one
      frames[i] = { column = column, row = row, x = column * width + (column > 0 and beside or 0),
        y = top + row * height, width = width + (column == 0 and beside or 0), height = height + (last and below or 0) }
    end
    return frames
  end

  -- Aligns the left sides of boxes in a column. Boxes with a shared axis also end at the same position.
  local function align(grid, panels, frames)
    for i, panel in ipairs(panels) do
      panel.outside_least, panel.right_least, panel.top_least = 0, panel.extra.right or 0, panel.extra.top or 0
      for k, other in ipairs(panels) do
        if frames[k].column == frames[i].column then
          panel.outside_least = math.max(panel.outside_least, other.outside)
          panel.right_least = math.max(panel.right_least, grid.share_x and other.extra.right or 0)
        end
        if frames[k].row == frames[i].row and grid.share_y then
          panel.top_least = math.max(panel.top_least, other.extra.top or 0)
        end
      end
    end
    local moved = false
    for i, panel in ipairs(panels) do
      panel.extra.right = panel.right_least > 0 and panel.right_least or nil
      panel.extra.top = panel.top_least > 0 and panel.top_least or nil
      parts.measure(panel, frames[i])
      moved = parts.rearrange(panel) or moved
    end
    if moved then align(grid, panels, frames) end -- recurses at most once per panel
  end

  local function draw_grid(grid)
    local panels = {}
    for i, plot in ipairs(grid.panels) do
      panels[i] = copy_of(plot)
      panels[i].panel = true
      if grid.dark ~= nil then panels[i].dark = grid.dark end
      panels[i].bare_x = grid.share_x and i + grid.columns <= #grid.panels
      panels[i].bare_y = grid.share_y and (i - 1) % grid.columns > 0
    end
    each_axis_range(grid, panels, "x")
    each_axis_range(grid, panels, "y")
    for _, panel in ipairs(panels) do parts.begin(panel) end
    local theme = panels[1].theme
    local sheet = parts.sheet(grid.width, grid.height, theme.paper)
    local lines = grid.title and parts.wrap(grid.title, GRID_TITLE, true, grid.width - 2 * EDGE, 2) or {}
    for i, words in ipairs(lines) do
      sheet:text(EDGE, EDGE + i * (GRID_TITLE + 5) - 7, words, { size = GRID_TITLE, bold = true, fill = theme.ink })
    end
    local frames = frames_of(grid, #lines * (GRID_TITLE + 5) + (#lines > 0 and 10 or 0))
    for i, panel in ipairs(panels) do parts.arrange(panel, frames[i]) end
    align(grid, panels, frames)
    for i, panel in ipairs(panels) do parts.draw(panel, frames[i], sheet) end
    return sheet
  end

  local function read_grid(def)
    if type(def) ~= "table" then parts.fail("a table of plots expected, got %s", host.describe(def)) end
    parts.check_keys(def, GRID_KEYS, "grid")
    local items = {}
    for i, item in ipairs(def) do items[i] = item end
    local count = #items
    if #def ~= count then -- the list has a hole, or a custom __len
      parts.fail("plot %d: a plot expected, got nil", count + 1)
    elseif count == 0 then
      parts.fail("nothing to show: give one plot or more")
    end
    local columns = def.columns
    if columns ~= nil and (not host.whole(columns) or columns < 1 or columns > 20) then
      parts.fail("columns: 1 to 20 expected, got %s", host.describe(columns))
    end
    columns = math.min(columns or COLUMNS, count)
    local grid = { columns = columns, rows = math.ceil(count / columns), panels = {} }
    for _, key in ipairs { "share_x", "share_y" } do
      if def[key] ~= nil and type(def[key]) ~= "boolean" then
        parts.fail("%s: true or false expected, got %s", key, host.describe(def[key]))
      end
      grid[key] = def[key]
    end
    grid.width = def.width or math.max(GRID_WIDTH, 240 * columns)
    grid.height = def.height
      or math.min(10000, grid.rows * ROW + (def.title and 28 or 0) + (def.share_x and SHARED or 0))
    parts.read_sizes(def, grid)
    for i, item in ipairs(items) do
      if getmetatable(item) == Plot then
        if item.plot.panels then parts.fail("plot %d: a single plot expected, got a grid", i) end
        grid.panels[i] = item.plot
      elseif type(item) == "table" then
        grid.panels[i] = parts.read(item)
      else
        parts.fail("plot %d: a plot expected, got %s", i, host.describe(item))
      end
    end
    for _, name in ipairs { "x", "y" } do
      for i, panel in ipairs(grid["share_" .. name] and grid.panels or {}) do
        if (panel[name].log or false) ~= (grid.panels[1][name].log or false) then
          parts.fail("share_%s: plots 1 and %d differ in %s.log", name, i, name)
        end
      end
    end
    return grid
  end

  -- ---- Functions of scripts -------------------------------------------------------------------------

  local function sheet_of(plot)
    if not plot.sheet then
      plot.sheet = plot.plot.panels and draw_grid(plot.plot) or draw_one(plot.plot)
    end
    return plot.sheet
  end

  -- Calls fn(...) and reports its errors at the line of the script that called `what`.
  local function checked(what, fn, ...)
    local success, result = pcall(fn, ...)
    if success then return result end
    if type(result) == "table" and result.plot_mistake then
      error(("bad argument #1 to '%s' (%s)"):format(what, result.plot_mistake), 3)
    end
    error(result, 0)
  end

  local function make(read, def)
    local plot = setmetatable({ plot = read(def) }, Plot)
    sheet_of(plot)
    return plot
  end

  local names = {}
  -- sim.plot.grid{ plots..., columns =, share_x =, share_y =, title = }
  function names.grid(def) return (checked("grid", make, read_grid, def)) end

  -- sim.plot{ title =, x = "time, s", y = {label =, log =}, {xs, ys, label =, kind =}, ... }
  sim.plot = setmetatable({}, {
    __call = function(_, def) return (checked("plot", make, parts.read, def)) end,
    __index = function(_, key)
      return names[key] or host.fail("sim.plot has no field %s; it has 'grid'", host.describe(key))
    end,
    __newindex = function(_, key) host.fail("sim.plot.%s cannot be assigned", tostring(key)) end,
    __pairs = function() return pairs(names) end,
  })

  local function check_self(plot, what)
    if getmetatable(plot) ~= Plot then
      host.fail("bad argument #1 to '%s' (Plot expected, got %s; call methods with a colon)", what,
        host.describe(plot))
    end
  end

  -- The plot as SVG text.
  function methods:svg()
    check_self(self, "svg")
    self.text_of_svg = self.text_of_svg or sheet_of(self):svg()
    return self.text_of_svg
  end

  local nameless = 0 -- number of plots shown without a name

  -- The name under which a plot is shown.
  local function name_of(plot, otherwise)
    if not plot.name then
      if not plot.plot.title and not otherwise then nameless = nameless + 1 end
      plot.name = plot.plot.title or otherwise or ("Plot %d"):format(nameless)
    end
    return plot.name
  end

  local function check_name(plot, name, what, argument)
    if name ~= nil and (type(name) ~= "string" or name == "") then
      host.fail("bad argument #%d to '%s' (a name expected, got %s)", argument, what, host.describe(name))
    end
    return name or name_of(plot)
  end

  function methods:save(path, options)
    check_self(self, "save")
    if type(path) ~= "string" then
      host.fail("bad argument #1 to 'save' (a path expected, got %s)", host.describe(path))
    end
    local suffix = path:match "%.(%a+)$"
    if suffix ~= "svg" and suffix ~= "png" then
      host.fail("bad argument #1 to 'save' (a path that ends with .svg or .png expected, got '%s')", path)
    elseif options ~= nil and type(options) ~= "table" then
      host.fail("bad argument #2 to 'save' ({scale = number} expected, got %s)", host.describe(options))
    end
    for _, key in ipairs(host.sorted_keys(options or {})) do
      if key ~= "scale" then
        host.fail("bad argument #2 to 'save' (unknown key '%s'; known: scale)", tostring(key))
      end
    end
    -- pixels per px of a picture; vector drawings have no scale
    local scale = options and options.scale
    if scale ~= nil and suffix == "svg" then
      host.fail("bad argument #2 to 'save' (scale: only a .png has one; an .svg fits any size)")
    elseif scale ~= nil and not (type(scale) == "number" and scale >= 0.1 and scale <= 20) then
      host.fail("bad argument #2 to 'save' (scale: 0.1 to 20 pixels for each px expected, got %s)",
        host.describe(scale))
    end
    -- recordings and the viewer show a saved plot under the name of its file
    if host.plots_wanted() then host.plot_show(name_of(self, path:match "[^/]*$"), self:svg()) end
    if suffix == "svg" then return host.write_file(path, self:svg()) end
    return sheet_of(self):save_png(path, scale or SCALE)
  end

  -- plot:show([name]) adds the plot to the page of --record and to the live viewer. It replaces an earlier plot with
  -- this name.
  function methods:show(name)
    check_self(self, "show")
    name = check_name(self, name, "show", 1)
    return host.plots_wanted() and host.plot_show(name, self:svg())
  end

  -- recording:plot(plot [, name])
  local recording_methods = host.recording_methods()
  function recording_methods.plot(recording, plot, name)
    if getmetatable(plot) ~= Plot then
      host.fail("bad argument #1 to 'plot' (Plot expected, got %s)", host.describe(plot))
    end
    return host.plot_record(recording, check_name(plot, name, "plot", 2), plot:svg())
  end

  local function letters(options, what)
    options = options == nil and {} or options
    if type(options) ~= "table" then
      host.fail("bad argument #1 to '%s' ({width =, height =} expected, got %s)", what, host.describe(options))
    end
    for _, key in ipairs(host.sorted_keys(options)) do
      if key ~= "width" and key ~= "height" then
        host.fail("bad argument #1 to '%s' (unknown key '%s'; known: height, width)", what, tostring(key))
      end
    end
    local width, height = options.width or PRINT_WIDTH, options.height or PRINT_HEIGHT
    for key, limits in pairs { width = { width, 30 }, height = { height, 8 } } do
      local size, least = limits[1], limits[2]
      if not host.whole(size) or size < least or size > 500 then
        host.fail("bad argument #1 to '%s' (%s: %d to 500 letters expected, got %s)", what, key, least,
          host.describe(size))
      end
    end
    return width, height
  end

  -- The plot as text for a terminal.
  function methods:text(options)
    check_self(self, "text")
    local width, height = letters(options, "text")
    local texts = {}
    for i, plot in ipairs(self.plot.panels or { self.plot }) do
      plot = copy_of(plot)
      parts.set_ranges("x", { plot })
      parts.set_ranges("y", { plot })
      parts.begin(plot)
      texts[i] = parts.letters(plot, width, height)
    end
    return table.concat(texts, "\n")
  end

  function methods:print(options)
    check_self(self, "print")
    letters(options, "print")
    io.write(self:text(options))
  end
end
