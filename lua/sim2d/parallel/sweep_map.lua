-- sweep:map: an output over two parameters as a picture. In an HTML page, each pixel opens its run in the player. The
-- page contains the recordings of the runs.

-- Colours from dark to light, suitable for colour-blind readers: five points of a scale from blue through green to
-- yellow.
local SCALE = { { 68, 1, 84 }, { 59, 82, 139 }, { 33, 145, 140 }, { 94, 201, 98 }, { 253, 231, 37 } }
local FAILED_COLOR = "#999999"
local LEFT, TOP, RIGHT, BOTTOM = 70, 40, 90, 50 -- margins around the pixels, px
local SIDE = 420 -- longer side of the pixel grid, px
local TICKS = 10 -- largest number of tick labels on an axis
local LINE = 60000 -- bytes of a recording in a line of base64; a multiple of 3

-- The page contains the picture, the data of the selected pixel, and the player in a frame. Texts of the sweep are
-- inserted as text, never as HTML.
local STYLE = [[
body { font: 14px system-ui, sans-serif; margin: 0; display: flex; flex-wrap: wrap; height: 100vh;
  background: Canvas; color: CanvasText; color-scheme: light dark }
#side { padding: 12px; box-sizing: border-box; overflow: auto; max-height: 100vh }
#runs { max-width: 560px; max-height: 9em; overflow: auto }
#about { white-space: pre-wrap; min-height: 8em; max-width: 560px; font: 13px ui-monospace, monospace }
#frame { flex: 1 1 480px; min-height: 480px; border: 0; border-left: 1px solid GrayText }
rect[data-cell] { cursor: pointer } rect[data-cell]:hover, rect.chosen, rect[data-cell]:focus { stroke: CanvasText;
  stroke-width: 2; outline: none }
svg text { fill: CanvasText } button { margin: 2px; font: inherit } button.chosen { font-weight: bold }]]

local SCRIPT = [[
"use strict";
const map = JSON.parse(document.getElementById("map").textContent);
const about = document.getElementById("about"), runs = document.getElementById("runs");
const frame = document.getElementById("frame");
let player = null;
function playerPage() {
  if (player === null) {
    const text = atob(document.getElementById("player").textContent.trim());
    player = new TextDecoder().decode(Uint8Array.from(text, (letter) => letter.charCodeAt(0)));
  }
  return player;
}
function open(row, button) {
  for (const other of runs.children) other.classList.toggle("chosen", other === button);
  about.textContent = Object.entries(row).map(([name, value]) => name + ": " + value).join("\n");
  const run = document.getElementById("run-" + row.job);
  if (run === null) {
    frame.removeAttribute("srcdoc");
    about.textContent += "\n\n" + map.without;
    return;
  }
  frame.srcdoc = playerPage() + '<script type="application/x-s2d">' + run.textContent + "</" + "script>";
}
function choose(rect, job) {
  for (const other of document.querySelectorAll("rect.chosen")) other.classList.remove("chosen");
  rect.classList.add("chosen");
  runs.replaceChildren();
  const rows = map.cells[Number(rect.dataset.cell)];
  rows.forEach((row) => {
    const button = document.createElement("button");
    button.textContent = "run " + row.job;
    button.addEventListener("click", () => open(row, button));
    runs.append(button);
  });
  const first = Math.max(0, rows.findIndex((row) => row.job === job));
  open(rows[first], runs.children[first]);
}
for (const rect of document.querySelectorAll("rect[data-cell]")) {
  rect.addEventListener("click", () => choose(rect));
  rect.addEventListener("keydown", (event) => { if (event.key === "Enter") choose(rect); });
}
const first = /^#job=(\d+)$/.exec(location.hash);
if (first) {
  const job = Number(first[1]);
  const cell = map.cells.findIndex((rows) => rows.some((row) => row.job === job));
  const rect = document.querySelector('rect[data-cell="' + cell + '"]');
  if (rect) choose(rect, job);
}]]

return function(sim, host)
  local C = host.parallel

  local function escape(text)
    return (tostring(text):gsub('[&<>"]', { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }))
  end

  -- JSON that is safe in a page: it contains neither "</script>" nor invalid UTF-8.
  local function json(value)
    if type(value) == "table" then
      local parts = {}
      if #value > 0 or next(value) == nil then
        for i, item in ipairs(value) do parts[i] = json(item) end
        return "[" .. table.concat(parts, ",") .. "]"
      end
      for i, key in ipairs(host.sorted_keys(value)) do parts[i] = json(key) .. ":" .. json(value[key]) end
      return "{" .. table.concat(parts, ",") .. "}"
    elseif type(value) == "string" then
      if not utf8.len(value) then value = value:gsub("[\x80-\xff]", "?") end
      return '"' .. value:gsub('[%c"\\<>\x7f]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
    elseif math.type(value) == "float" then
      return host.finite(value) and ("%.15g"):format(value) or '"' .. host.describe(value) .. '"'
    end
    return tostring(value)
  end

  local function color(fraction)
    local at = math.max(0, math.min(1, fraction)) * (#SCALE - 1) + 1
    local i = math.min(math.floor(at), #SCALE - 1)
    local parts = {}
    for k = 1, 3 do parts[k] = math.floor(SCALE[i][k] + (at - i) * (SCALE[i + 1][k] - SCALE[i][k]) + 0.5) end
    return ("#%02x%02x%02x"):format(table.unpack(parts))
  end

  local function show(value) return math.type(value) == "float" and ("%.3g"):format(value) or tostring(value) end

  -- ---- Cells ------------------------------------------------------------------------------------

  -- The sorted values of a column, and their indices.
  local function axis(self, name)
    local values, seen = {}, {}
    for _, row in ipairs(self.rows) do
      local value = row[name]
      if value ~= value or type(value) ~= "number" and type(value) ~= "string" and type(value) ~= "boolean" then
        host.fail("sweep:map: %s: a number or a text in each run expected, got %s in job %d", name,
          host.describe(value), row.job)
      elseif not seen[value] then
        seen[value] = true
        values[#values + 1] = value
      end
    end
    if type(values[1]) == "number" then table.sort(values) end
    local places = {}
    for i, value in ipairs(values) do places[value] = i end
    return values, places
  end

  -- Returns a cell for each pair of values that has runs: its position, its mean (nil if all runs failed), and its
  -- runs.
  local function read_cells(self, def)
    -- columns and rows of the picture
    local xs, x_place = axis(self, def.x)
    local ys, y_place = axis(self, def.y)
    local cells, low, high = {}, math.huge, -math.huge
    for _, class in ipairs(host.sweep_classes(self, { def.x, def.y })) do
      local n, mean = host.sweep_statistics(class.rows, def.value)
      cells[#cells + 1] = { column = x_place[class.values[def.x]], row = y_place[class.values[def.y]], mean = mean,
        rows = class.rows }
      if n > 0 then low, high = math.min(low, mean), math.max(high, mean) end
    end
    -- the mean of booleans is a frequency, so the scale is 0 to 1
    if type(self.rows[cells[1].rows[1].job][def.value]) == "boolean" or low > high then low, high = 0, 1 end
    return { cells = cells, xs = xs, ys = ys, low = low, high = high }
  end

  -- ---- The picture ------------------------------------------------------------------------------

  local function text(x, y, words, anchor, more)
    return ('<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>\n'):format(x, y, anchor, more or "", escape(words))
  end

  local function draw_axes(add, grid, def, size, width, height)
    -- draw numbers at some of the columns and rows, then the names of the axes
    local every = math.ceil(#grid.xs / TICKS)
    for i = 1, #grid.xs, every do add(text(LEFT + (i - 0.5) * size, TOP + height + 18, show(grid.xs[i]), "middle")) end
    every = math.ceil(#grid.ys / TICKS)
    for i = 1, #grid.ys, every do
      add(text(LEFT - 6, TOP + height - (i - 0.5) * size + 4, show(grid.ys[i]), "end"))
    end
    add(text(LEFT + width / 2, TOP + height + 40, def.x, "middle"))
    add(text(16, TOP + height / 2, def.y, "middle", (' transform="rotate(-90 16 %.1f)"'):format(TOP + height / 2)))
    add(text(LEFT, 24, def.title or def.value, "start", ' font-weight="bold"'))
    -- the scale
    for i = 0, 49 do
      add(('<rect x="%.1f" y="%.2f" width="14" height="%.2f" fill="%s"/>\n'):format(LEFT + width + 20,
        TOP + height * (49 - i) / 50, height / 50 + 0.5, color(i / 49)))
    end
    for i = 0, 4 do
      add(text(LEFT + width + 40, TOP + height * (1 - i / 4) + 4, show(grid.low + (grid.high - grid.low) * i / 4 + 0.0),
        "start"))
    end
  end

  local function picture(grid, def)
    local size = math.max(4, SIDE / math.max(#grid.xs, #grid.ys))
    local width, height = size * #grid.xs, size * #grid.ys
    local parts = {}
    local function add(part) parts[#parts + 1] = part end
    add(('<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" '
      .. 'font-family="sans-serif" font-size="12">\n'):format(LEFT + width + RIGHT, TOP + height + BOTTOM,
      LEFT + width + RIGHT, TOP + height + BOTTOM))
    -- one pixel per cell
    local span = grid.high > grid.low and grid.high - grid.low or 1
    for i, cell in ipairs(grid.cells) do
      add(('<rect data-cell="%d" tabindex="0" x="%.2f" y="%.2f" width="%.2f" height="%.2f" fill="%s" shape-rendering="crispEdges"><title>%s</title></rect>\n')
        :format(i - 1, LEFT + (cell.column - 1) * size, TOP + height - cell.row * size, size, size,
          cell.mean and color((cell.mean - grid.low) / span) or FAILED_COLOR,
          escape(("%s = %s, %s = %s: %s"):format(def.x, show(grid.xs[cell.column]), def.y, show(grid.ys[cell.row]),
            cell.mean and ("%s %s"):format(def.value, show(cell.mean)) or "failed"))))
    end
    draw_axes(add, grid, def, size, width, height)
    add "</svg>\n"
    return table.concat(parts)
  end

  -- ---- The page ---------------------------------------------------------------------------------

  -- Returns the recording of a run in lines of base64, or nil if there is none.
  local function recording(self, job)
    local file <close> = self.record and io.open(("%s/%06d.s2d"):format(self.record, job), "rb") or nil
    if not file then return nil end
    local lines = {}
    for bytes in function() return file:read(LINE) end do lines[#lines + 1] = C.base64(bytes) end
    return table.concat(lines, "\n")
  end

  local function sha256_base64(script)
    return C.base64((C.hash(script):gsub("%x%x", function(digits) return string.char(tonumber(digits, 16)) end)))
  end

  local function page(self, grid, def, svg)
    -- the player is stored once for all runs
    local player, why = C.page()
    if not player then host.fail("sweep:map: %s", why) end
    -- messages and parameters of the runs; values that are not numbers become texts
    local messages, cells = {}, {}
    for _, failure in ipairs(self.failures) do messages[failure.job] = failure.message end
    for i, cell in ipairs(grid.cells) do
      cells[i] = {}
      for k, row in ipairs(cell.rows) do
        cells[i][k] = {}
        for _, name in ipairs(self.columns) do cells[i][k][name] = row[name] end
        cells[i][k].failed = messages[row.job] or row.failed
      end
    end
    -- only the scripts of this page and of the player in its frame may run
    local policy = ("default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; "
      .. "img-src data: blob:; font-src data:; frame-src 'self'; script-src 'sha256-%s' %s"):format(
      sha256_base64(SCRIPT), player:match "script%-src ([^;\"]*)" or "")
    local parts = { ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
      .. '<meta http-equiv="Content-Security-Policy" content="%s">\n<title>%s</title>\n<style>%s</style></head>\n'
      .. '<body><div id="side">'):format(policy, escape(def.title or def.value), STYLE), svg,
      '<div id="runs"></div><div id="about">Click a pixel to see its runs.</div></div>\n<iframe id="frame"></iframe>\n',
      ('<script type="application/json" id="map">%s</script>\n'):format(json {
        cells = cells,
        without = self.record and "this run has no recording, because it did not step a world"
          or "no recordings: give sim.sweep the key record = \"folder\"",
      }), ('<script type="text/plain" id="player">%s</script>\n'):format(C.base64(player)) }
    for _, row in ipairs(self.rows) do
      local run = recording(self, row.job)
      if run then parts[#parts + 1] = ('<script type="text/plain" id="run-%d">\n%s\n</script>\n'):format(row.job, run) end
    end
    parts[#parts + 1] = "<script>" .. SCRIPT .. "</script></body></html>\n"
    return table.concat(parts)
  end

  -- sweep:map{ x = "mu", y = "e", value = "fell", path = "map.html" [, title =] } writes an .html or .svg file.
  function host.sweep_map(self, def)
    if type(def) ~= "table" then
      host.fail("bad argument #1 to 'map' (a table with x, y, value and path expected, got %s)", host.describe(def))
    end
    for _, key in ipairs { "x", "y", "value" } do host.sweep_check(self, def[key], "sweep:map: " .. key) end
    if def.x == def.y then host.fail("sweep:map: x and y: two parameters expected, got '%s' twice", def.x) end
    local suffix = type(def.path) == "string" and def.path:match "%.(%a+)$"
    if suffix ~= "html" and suffix ~= "svg" then
      host.fail("sweep:map: path: the name of a file that ends with .html or .svg expected, got %s",
        host.describe(def.path))
    end
    local grid = read_cells(self, def)
    local svg = picture(grid, def)
    return host.write_file(def.path, suffix == "svg" and svg or page(self, grid, def, svg))
  end
end
