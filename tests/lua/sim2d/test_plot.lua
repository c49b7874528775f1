-- sim.plot, tested by its SVG.
local sim = require "sim2d"

local function count(text, pattern)
  return select(2, text:gsub(pattern, ""))
end

local function read_file(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local function points(svg)
  local list = {}
  for x, y in svg:match('<path d="(M[%d%. ML-]+)" fill="none" stroke="#3b6fb6"'):gmatch("[ML](%-?[%d%.]+) (%-?[%d%.]+)") do
    list[#list + 1] = { tonumber(x), tonumber(y) }
  end
  return list
end

test("a line goes through its points in proportion", function()
  local p = points(sim.plot { { { 0, 1, 3 }, { 0, 2, 1 } } }:svg())
  eq(#p, 3)
  near((p[2][1] - p[1][1]) / (p[3][1] - p[1][1]), 1 / 3, 1e-3)
  near((p[2][2] - p[3][2]) / (p[2][2] - p[1][2]), 1 / 2, 1e-3)
  ok(p[2][2] < p[1][2], "up is up")
end)

test("markers of a curve of few points stand on them", function()
  local svg = sim.plot { { { 0, 1, 5 }, { 0, 2, 1 }, marker = "circle" } }:svg()
  local p, marks = points(svg), {}
  for x, y in svg:gmatch '<circle cx="([%d.]+)" cy="([%d.]+)"' do marks[#marks + 1] = { tonumber(x), tonumber(y) } end
  near(marks, p, 0.1)
  local many = {}
  for i = 1, 400 do many[i] = i end
  local some = count(sim.plot { { many, marker = "circle" } }:svg(), "<circle")
  ok(some > 3 and some < 30, some)
end)

test("on logarithmic axes powers are straight", function()
  local p = points(sim.plot { x = { log = true }, y = { log = true }, { { 1, 10, 100 }, { 1, 100, 1e4 } } }:svg())
  near(p[2][1] * 2, p[1][1] + p[3][1], 0.02)
  near(p[2][2] * 2, p[1][2] + p[3][2], 0.02)
end)

test("values that are not finite, or not positive on a logarithmic axis, leave a gap", function()
  local svg = sim.plot { y = { log = true }, { { 1, 2, 3, 4, 5, 6 }, { 1, 2, 0 / 0, 4, -5, 6 } } }:svg()
  eq(count(svg:match('<path d="(M[^"]+)" fill="none" stroke="#3b6fb6"'), "M"), 3)
  ok(not svg:find("nan") and not svg:find("inf"), "numbers only")
end)

test("ticks are round and cover the data", function()
  local svg = sim.plot { { { 0, 0.93 }, { -17, 42 } } }:svg()
  for _, label in ipairs { ">0.2<", ">0.8<", ">0<", ">20<", ">40<" } do
    ok(svg:find(label), label .. " in " .. svg)
  end
end)

test("equal values, one point and nothing finite are shown, too", function()
  for _, ys in ipairs { { 3, 3, 3 }, { 0, 0, 0 }, { 1e300, 1e300, 1e300 }, { 0 / 0, 1 / 0, -1 / 0 } } do
    local svg = sim.plot { { { 1, 2, 3 }, ys } }:svg()
    ok(not svg:find("nan") and not svg:find("inf"), svg)
  end
  ok(sim.plot { { { 1 }, { 2 }, kind = "scatter" } }:svg():find("<circle"), "a point")
end)

test("labels are escaped, kinds drawn, long lists thinned", function()
  local xs = {}
  for i = 1, 100000 do xs[i] = i end
  local svg = sim.plot { title = "a < b & c", { xs, xs, label = '"x"' }, { low = { 1, 2 }, high = { 3, 4 }, kind = "band" },
    { { 1, 2 }, kind = "steps", dash = true } }:svg()
  ok(svg:find("a &lt; b &amp; c") and svg:find("&quot;x&quot;"), "escaped")
  ok(svg:find('Z" fill="#e0912f" fill%-opacity') and svg:find("stroke%-dasharray"), "drawn")
  ok(#svg < 200000, #svg)
end)

test("arrays are taken", function()
  local p = points(sim.plot { { sim.linspace(0, 1, 5), sim.linspace(0, 1, 5) ^ 2 } }:svg())
  eq(#p, 5)
end)

test("saves, or reports why not", function()
  local plot = sim.plot { { { 1, 2 }, { 3, 4 } } }
  local path = os.tmpname() .. ".svg"
  eq(plot:save(path), true)
  eq(read_file(path), plot:svg())
  os.remove(path)
  local done, message = plot:save("/missing/x.svg")
  eq(done, nil)
  ok(message:find("/missing"), message)
  raises("ends with .svg or .png expected, got 'x'", function() plot:save("x") end)
  raises("a path expected, got 3", function() plot:save(3) end)
  raises("Plot expected.*with a colon", function() plot.save("x.svg") end)
  raises("unknown key 'dpi'; known: scale", function() plot:save("x.png", { dpi = 3 }) end)
  raises("scale: 0.1 to 20 .* got 'big'", function() plot:save("x.png", { scale = "big" }) end)
  raises("scale: only a .png has one", function() plot:save("x.svg", { scale = 2 }) end)
end)

-- Saves as .png and returns its width and height in pixels and its size in bytes; skips the test where
-- cairo is missing.
local function png_size(plot, options)
  local path = os.tmpname() .. ".png"
  local done, message = plot:save(path, options)
  if not done and message:find "built without cairo" then skip "cairo" end
  eq(message, nil)
  local bytes = read_file(path)
  os.remove(path)
  eq(bytes:sub(1, 8), "\x89PNG\r\n\26\n")
  local width, height = (">I4I4"):unpack(bytes, 17)
  return { width, height }, #bytes
end

test("a .png has two pixels for each px, or as many as asked for", function()
  local plot = sim.plot { title = "θ", { { 1, 2 }, { 3, 4 }, label = "a" }, { { 1, 2 }, { 3, 4 }, kind = "scatter" } }
  eq(png_size(plot), { 1280, 800 })
  eq(png_size(plot, { scale = 0.5 }), { 320, 200 })
  eq(png_size(sim.plot { width = 200, height = 100.5, { { 1, 2 } } }, { scale = 1 }), { 200, 101 })
end)

test("a .png shows the curve: more of it takes more bytes", function()
  local _, empty = png_size(sim.plot { { {}, {} } })
  local _, full = png_size(sim.plot { { function(x) return math.sin(50 * x) end, 0, 1 } })
  ok(full > 2 * empty, full .. " and " .. empty)
end)

test("a .png that cannot be written, or is too large, gives an error", function()
  local plot = sim.plot { width = 10000, { { 1, 2 } } }
  png_size(plot, { scale = 0.1 })
  local done, message = plot:save("/missing/x.png", { scale = 0.1 })
  eq(done, nil)
  ok(message:find "/missing/x.png" and message:find "No such file", message)
  done, message = plot:save(os.tmpname() .. ".png", { scale = 20 })
  eq(done, nil)
  ok(message:find "200000 x 8000 pixels", message)
end)

test("a full disk is noticed", function()
  local full = io.open "/dev/full"
  if not full then skip "/dev/full" end
  full:close()
  for _, suffix in ipairs { ".svg", ".png" } do
    local path = os.tmpname() .. suffix
    assert(os.execute("ln -s /dev/full " .. path))
    local done, message = sim.plot { { { 1, 2 } } }:save(path)
    os.remove(path)
    eq(done, nil)
    ok(message:find "No space left" or message:find "built without cairo", message)
  end
end)

test("mistakes are named", function()
  local function wrong(pattern, def) raises(pattern, function() sim.plot(def) end) end
  wrong("test_plot.lua:%d+: bad argument #1 to 'plot' %(a table expected, got 'x'", "x")
  wrong("nothing to show", {})
  wrong("unknown key 'tilte'; did you mean 'title'%?", { tilte = "a", { { 1 } } })
  wrong("series 1: unknown key 'labels'; did you mean 'label'%?", { { { 1 }, labels = "a" } })
  wrong("series 2: 2 values of x, but 1 of y", { { { 1 } }, { { 1, 2 }, { 1 } } })
  wrong("series 1: number 2 is a string", { { { 1, "b" } } })
  wrong("series 1: {xs, ys} expected, got 3", { 3 })
  wrong("series 1: {xs, ys} expected", { {} })
  wrong("a list of numbers expected, got true", { { true } })
  wrong("a list of numbers expected, got a matrix", { { sim.zeros(2, 2) } })
  wrong("kind 'line'.*'contour' expected, got 'pie'", { { { 1 }, kind = "pie" } })
  wrong("a band needs the keys low and high", { { { 1 }, kind = "band" } })
  wrong("series 1: 2 values of x, but 1 of y", { { { 1, 2 }, low = { 1, 2 }, high = { 1 }, kind = "band" } })
  wrong("x.range: {lo, hi} with lo < hi", { x = { range = { 2, 1 } }, { { 1 } } })
  wrong("x.range: {lo, hi} with lo < hi", { x = { range = { 0, 1 / 0 } }, { { 1 } } })
  wrong("starts above 0, got 0", { y = { range = { 0, 1 }, log = true }, { { 1 } } })
  wrong("y: a label or .* got 3", { y = 3, { { 1 } } })
  wrong("x.log: true or false expected, got 10", { x = { log = 10 }, { { 1 } } })
  wrong("width: 100 to 10000 px expected, got 3", { width = 3, { { 1 } } })
  wrong("title: text expected, got table", { title = {}, { { 1 } } })
  wrong("dark: true or false expected, got 'yes'", { dark = "yes", { { 1 } } })
  wrong("equal: logarithmic axes", { equal = true, x = { log = true }, { { 1 } } })
  wrong("legend: 'direct', .* got 'top'", { legend = "top", { { 1 } } })
  wrong("series 1.color: no colour 'oragne'; did you mean 'orange'", { { { 1 }, color = "oragne" } })
  wrong("series 1.marker: 'circle', .* got 'star'", { { { 1 }, marker = "star" } })
  wrong("series 1.dash: true or false expected, got 3", { { { 1 }, dash = 3 } })
  wrong("series 1: a function needs its range", { { math.sin } })
  wrong("from < to expected for a function, got 2 and 1", { { math.sin, 2, 1 } })
  wrong("the function fails at 0.0: .*oh", { { function() error "oh" end, 0, 1 } })
  wrong("has to return a number; it returned 'a' at 0", { { function() return "a" end, 0, 1 } })
  wrong("series 1.points: an integer from 2 to 1e6 expected, got 1", { { math.sin, 0, 1, points = 1 } })
  wrong("series 1.points: applies only to a function", { { { 1 }, points = 3 } })
  wrong("logarithmic axis starts above 0, got 0", { x = { log = true }, { math.sin, 0, 1 } })
  wrong("series 1.error: a number, 2 numbers or", { { { 1, 2 }, error = { 1 } } })
  wrong("series 1.error: number 2 is negative", { { { 1, 2 }, error = { 1, -1 } } })
  wrong("series 1.bins: 1 to 10000 expected, got 0", { { { 1 }, kind = "histogram", bins = 0 } })
  wrong("increasing edges expected; number 2 is 1", { { { 1 }, kind = "histogram", bins = { 1, 1 } } })
  wrong("a histogram has a list", { { kind = "histogram" } })
  wrong("unknown key 'bins'; did you mean 'kind'", { { { 1 }, bins = 3 } })
  wrong("series 1: {xs, vs} expected", { { { 1 }, kind = "phase" } })
  wrong("a field is a function", { { { 1 }, kind = "field" } })
  wrong("has to return 2 numbers; it returned nil", { { function() return 1 end, kind = "field" } })
  wrong("a note needs x =, y = and text =", { { { 1 } }, { x = 1, text = "a" } })
  wrong("series 1.x: a number expected, got 'a'", { { x = "a" } })
  raises("sim.plot has no field 'gird'; it has 'grid'", function() return sim.plot.gird end)
  raises("cannot be assigned", function() sim.plot.grid = 3 end)
  local function wrong_grid(pattern, def) raises(pattern, function() sim.plot.grid(def) end) end
  wrong_grid("bad argument #1 to 'grid' %(nothing to show", {})
  wrong_grid("plot 1: a plot expected, got 3", { 3 })
  local plot = { line = { { x = { 1, 2 }, y = { 1, 2 } } } }
  for _, lie in ipairs { 0, 2, 9, -1, 1.5, "many" } do
    wrong_grid("plot 2: a plot expected, got nil", setmetatable({ plot }, { __len = function() return lie end }))
  end
  wrong_grid("plot 1: a plot expected, got nil", setmetatable({}, { __len = function() return 1 end }))
  wrong_grid("unknown key 'colums'; did you mean 'columns'", { colums = 2, { { { 1 } } } })
  wrong_grid("columns: 1 to 20 expected, got 0", { columns = 0, { { { 1 } } } })
  wrong_grid("plot 1: a single plot expected, got a grid", { sim.plot.grid { { { { 1 } } } } })
  wrong_grid("share_x: plots 1 and 2 differ in x.log", { share_x = true, { { { 1 } } }, { x = { log = true }, { { 1 } } } })
  wrong_grid("share_x: true or false expected, got 1", { share_x = 1, { { { 1 } } } })
  raises("width: 30 to 500 letters expected, got 3", function() sim.plot { { { 1 } } }:text { width = 3 } end)
  raises("unknown key 'columns'; known: height, width", function() sim.plot { { { 1 } } }:print { columns = 3 } end)
end)

-- ---- Texts ---------------------------------------------------------------------------------------

-- Boxes of all words of a picture: left, top, right, bottom, words. Letters are assumed to be narrow, so that overlaps
-- here are overlaps in every font.
local function words_of(svg)
  local boxes = {}
  for attributes, words in svg:gmatch "<text ([^>]*)>([^<]*)</text>" do
    local function number(name) return tonumber(attributes:match("%f[%w-]" .. name .. '="([%d.-]+)"')) end
    local x, y, size = number "x", number "y", number "font%-size"
    local long = 0.45 * size * utf8.len((words:gsub("&%a+;", "&")))
    local before = attributes:find "middle" and long / 2 or attributes:find '"end"' and long or 0
    local box = { x - before, y - 0.7 * size, x - before + long, y, words = words, attributes = attributes }
    if attributes:find "rotate" then
      box[1], box[2], box[3], box[4] = x - 0.7 * size, y - long / 2, x, y + long / 2
    end
    boxes[#boxes + 1] = box
  end
  return boxes
end

local function check_words(plot, what)
  local svg = plot:svg()
  local width, height = svg:match 'viewBox="0 0 ([%d.]+) ([%d.]+)"'
  local boxes = words_of(svg)
  for i, a in ipairs(boxes) do
    ok(a[1] >= 0 and a[2] >= 0 and a[3] <= tonumber(width) and a[4] <= tonumber(height), what .. ": cut: " .. a.words)
    for k = 1, i - 1 do
      local b = boxes[k]
      ok(a[3] <= b[1] or b[3] <= a[1] or a[4] <= b[2] or b[4] <= a[2],
        ("%s: '%s' on '%s'"):format(what, a.words, b.words))
    end
  end
  return boxes
end

-- The plot's box between the axes: left, top, right, bottom.
local function box_of(svg)
  local x, y, width, height = svg:match '<rect x="([%d.]+)" y="([%d.]+)" width="([%d.]+)" height="([%d.]+)"'
  return tonumber(x), tonumber(y), x + width, y + height
end

local function place_of(svg, words)
  for _, box in ipairs(words_of(svg)) do
    if box.words == words then return box end
  end
  error("no '" .. words .. "' in " .. svg)
end

local function swing(rate) return function(x) return math.exp(-rate * x) * math.cos(3 * x) end end

test("no words are cut or lie on others", function()
  local random = sim.random.split()
  local samples = {}
  for i = 1, 500 do samples[i] = random:normal(2, 0.7) end
  local many = { title = "Many", x = "t, s", y = "y, m" }
  for i = 1, 14 do many[i] = { function(x) return math.sin(x + i / 2) end, 0, 7, label = "curve " .. i } end
  local plots = {
    fall = { title = "Fall", x = "time, s", y = "height, m", { { 0, 1, 2 }, { 3, 2, 0 }, label = "ball" } },
    many = many,
    close = { x = "t", { swing(0.1), 0, 9, label = "a" }, { swing(0.2), 0, 9, label = "b" }, { swing(0.3), 0, 9, label = "c" } },
    long = { title = ("a long title "):rep(20), x = ("a long label "):rep(20), y = ("a long label "):rep(20),
      { samples, kind = "histogram", label = ("a long name "):rep(20) }, { { 1, 2 }, kind = "band", low = { 1, 2 }, high = { 2, 4 }, label = "b" } },
    far = { title = "Far", x = "x", y = "y", { { 1e6, 1e6 + 1 }, { 101325, 101325.001 } } },
    powers = { title = "Powers", x = "x, m", y = "y, m", { { 1e-7, 3e-7 }, { 1e8, 7e8 }, label = "a" } },
    log = { x = { label = "x", log = true }, y = { label = "y", log = true }, { { 1e-9, 1e3 }, { 1, 1e40 } } },
    decade = { x = { log = true }, y = { log = true }, { { 2, 7 }, { 30, 90 } } },
    decades = { x = { log = true }, y = { log = true }, { { 1, 70 }, { 0.01, 90 } } },
    notes = { { swing(0.1), 0, 9 }, { x = 1, label = "one" }, { x = 1.2, label = "another" }, { y = 0.5, label = "half" },
      { x = 3.14, y = -0.73, text = "a low point of the curve, with many words about it" }, { x = 1, y = 0.5, text = "here" } },
    small = { width = 150, height = 100, title = "Small", x = "t, s", y = "y", { { 1, 2 }, label = "a" }, { { 2, 1 }, label = "b" } },
    wide = { y = "y", { { -123456, 123456 }, { -0.00012345, 1 } } },
  }
  for name, def in pairs(plots) do
    for _, legend in ipairs { "auto", "inside", "above", "below", "right" } do
      def.legend = legend ~= "auto" and legend or nil
      -- A picture of 150 x 100 px, or a name as long as the page, does not have room everywhere.
      if legend == "auto" or name ~= "small" and name ~= "long" then check_words(sim.plot(def), name .. " " .. legend) end
    end
    def.legend, def.width, def.height = nil, nil, nil
    check_words(sim.plot.grid { title = "A grid", def, def, plots.fall, share_x = name ~= "log" and not name:find "decade" },
      "grid of " .. name)
  end
end)

test("names stand at the ends of few curves", function()
  local svg = sim.plot { { { 0, 1 }, { 0, 5 }, label = "up" }, { { 0, 1 }, { 4, 0 }, label = "down" } }:svg()
  local _, top, right, bottom = box_of(svg)
  local up, down = place_of(svg, "up"), place_of(svg, "down")
  ok(up[1] > right and down[1] > right)
  ok(up[4] < top + 30 and down[2] > bottom - 30)
end)

test("a legend is in the empty corner, or outside", function()
  for corner, def in pairs {
    ["right top"] = { { 0, 0, 4 }, { 5, 0, 0 } }, ["left top"] = { { 0, 4, 4 }, { 0, 0, 5 } },
    ["right bottom"] = { { 0, 0, 4 }, { 0, 5, 5 } }, ["left bottom"] = { { 0, 4, 4 }, { 5, 5, 0 } },
  } do
    local svg = sim.plot { { def[1], def[2] }, { { 2 }, { 2.5 }, kind = "scatter", label = "here" } }:svg()
    local left, top, right, bottom = box_of(svg)
    local name = place_of(svg, "here")
    eq((name[1] > (left + right) / 2 and "right" or "left") .. " " .. (name[4] > (top + bottom) / 2 and "bottom" or "top"), corner)
    ok(name[1] > left and name[3] < right and name[2] > top and name[4] < bottom, corner)
  end
  local everywhere = { function(x) return math.sin(300 * x) end, 0, 1, label = "noise", points = 4000 }
  local svg = sim.plot { everywhere, { { 0.2 }, { 0 }, kind = "scatter", label = "spot" } }:svg()
  local _, top = box_of(svg)
  ok(place_of(svg, "noise")[4] < top and place_of(svg, "spot")[4] < top, "above")
  everywhere.label = nil
  svg = sim.plot { legend = false, everywhere, { { 0.2 }, { 0 }, kind = "scatter", label = "spot" } }:svg()
  ok(not svg:find "spot")
end)

test("long names are in columns, the ends of them kept", function()
  local series = {}
  for i = 1, 12 do series[i] = { { 1, 2 }, { i, 1 }, label = ("a curve with a very long name indeed, number %d"):format(i) } end
  local svg = sim.plot(series):svg()
  local lines, count, n = {}, 0, 0
  for _, box in ipairs(words_of(svg)) do
    if box.words:find "a curve" then
      count = count + 1
      lines[box[2]] = true
      ok(box.words:find(" %d+$"), box.words)
    end
  end
  for _ in pairs(lines) do n = n + 1 end
  eq({ count, n }, { 12, 6 })
end)

test("more than three curves differ without colours", function()
  local series = {}
  for i = 1, 12 do series[i] = { { 1, 2, 3 }, { i, i * i, 0 }, label = "c" .. i } end
  local styles = {}
  local svg = sim.plot(series):svg()
  local dashes = {}
  for dash in svg:gmatch '<path d="M[%d. ]+L[%d. ]+" fill="none" stroke="#%x+" stroke%-width="2.4"([^>]*)>' do
    dashes[#dashes + 1] = dash
  end
  eq(#dashes, 12)
  for i = 1, 4 do
    styles[dashes[i]] = true
    eq({ dashes[i + 4], dashes[i + 8] }, { dashes[i], dashes[i] })
  end
  local n = 0
  for _ in pairs(styles) do n = n + 1 end
  eq(n, 4)
  svg = sim.plot { { { 1, 2 } }, { { 2, 1 } }, { { 2, 3 } } }:svg()
  ok(not svg:find "dasharray")
end)

-- ---- Numbers -------------------------------------------------------------------------------------

local function has(plot, ...)
  local svg = plot:svg()
  for _, words in ipairs { ... } do ok(svg:find(">" .. words .. "<", 1, true), words .. " in " .. svg) end
end

test("numbers at axes are short", function()
  has(sim.plot { { { -2, 2 }, { 0, 3e7 } } }, "−2.0", "1.5", "×10⁶", "10", "30")
  has(sim.plot { { { 0, 5e-8 } } }, "×10⁻⁹", "50")
  has(sim.plot { { { 101325, 101325.002 } } }, "+ 101325", "0.0010")
  has(sim.plot { { { -101325.002, -101325 } } }, "− 101325.002")
  has(sim.plot { y = { log = true }, { { 1e-12, 1 } } }, "10⁻¹²", "10⁰")
  has(sim.plot { y = { log = true }, { { 0.01, 100 } } }, "0.01", "1", "100")
  has(sim.plot { y = { log = true }, { { 2, 7 } } }, "3", "6")
  has(sim.plot { y = { log = true }, { { 1, 30 } } }, "1", "2", "5", "10", "20")
  has(sim.plot { y = { log = true }, { { 2e-310, 5e-310 } } }, "3·10⁻³¹⁰")
  has(sim.plot { { { -1e300, 1.7e308 } } }, "×10³⁰⁶", "150")
  has(sim.plot { { { 1e-300, 3e-300 } } }, "×10⁻³⁰⁰", "3.0")
  has(sim.plot { x = { label = "time", unit = "s" }, y = { unit = "kg" }, { { 1, 2 } } }, "time, s", "kg")
end)

test("logarithmic axes have lines between powers", function()
  local svg = sim.plot { x = { log = true, range = { 1, 100 } }, { { 1, 100 }, { 0, 1 } } }:svg()
  local minor = svg:match '<path d="([^"]*)" fill="none" stroke="#f1efe9"'
  eq(count(minor, "M"), 12) -- 3, 4, 6, 7, 8 and 9 times 1 and 10; at 2 and 5 there are labels
end)

test("an equal aspect is one", function()
  local p = points(sim.plot { equal = true, { { 0, 1, 1 }, { 0, 0, 1 } } }:svg())
  near(p[2][1] - p[1][1], p[2][2] - p[3][2], 0.02)
  p = points(sim.plot { equal = true, x = { range = { 0, 10 } }, y = { range = { 0, 1 } }, { { 0, 1, 1 }, { 0, 0, 1 } } }:svg())
  near(p[2][1] - p[1][1], p[2][2] - p[3][2], 0.02)
end)

-- ---- Kinds ---------------------------------------------------------------------------------------

-- Heights of bars relative to the first.
local function bars(svg)
  local heights = {}
  for bottom, top in svg:match '<path d="(M[^"]+Z)" fill="#3b6fb6" fill%-opacity':gmatch "M[%d.]+ ([%d.]+)L[%d.]+ ([%d.]+)L[^Z]*Z" do
    heights[#heights + 1] = bottom - top
  end
  for i = #heights, 1, -1 do heights[i] = heights[i] / heights[1] end
  return heights
end

test("a histogram counts", function()
  local samples = { 0.5, 1, 1.5, 1.9, 2, 3, 3, 4, 0 / 0, 1 / 0 }
  near(bars(sim.plot { { samples, kind = "histogram", bins = { 0, 1, 2, 4 } } }:svg()), { 1, 3, 4 }, 0.01)
  near(bars(sim.plot { { samples, kind = "histogram", bins = { 0, 1, 2, 4 }, density = true } }:svg()), { 1, 3, 2 }, 0.01)
  near(bars(sim.plot { { { 0, 1, 1, 2, 2, 2 }, kind = "histogram" } }:svg()), { 1, 2, 3 }, 0.01)
  eq(#bars(sim.plot { { { 1, 2, 3.5, 4 }, kind = "histogram", bins = 7 } }:svg()), 7)
  eq(#bars(sim.plot { { { 5, 5, 5 }, kind = "histogram" } }:svg()), 1)
  near(bars(sim.plot { x = { log = true }, { { 1, 5, 50, 500, 1000, -1 }, kind = "histogram", bins = 3 } }:svg()), { 1, 0.5, 1 }, 0.01)
end)

test("as many bins as Freedman and Diaconis advise", function()
  local samples = {}
  for i = 0, 1000 do samples[i + 1] = i / 1000 end -- 2 * 0.5 / 1001^(1/3) = 0.1: ten bins, and one for rounding
  local n = #bars(sim.plot { { samples, kind = "histogram" } }:svg())
  ok(n == 10 or n == 11, n)
  samples[#samples + 1] = 1e9 -- far out: the number of bins has a limit
  eq(#bars(sim.plot { { samples, kind = "histogram" } }:svg()), 100)
end)

test("a density has area one", function()
  local svg = sim.plot { y = { range = { 0, 2 } }, { { 0, 0.1, 0.2, 0.6, 0.7, 0.9, 1 }, kind = "histogram", bins = { 0, 0.5, 1 }, density = true } }:svg()
  local _, top, _, bottom = box_of(svg)
  local outline = svg:match '<path d="([^"]+)" fill="none" stroke="#3b6fb6" stroke%-width="1.6"'
  local first, second = outline:match "M[%d.]+ [%d.]+L[%d.]+ ([%d.]+)L[%d.]+ [%d.]+L[%d.]+ ([%d.]+)"
  near((bottom - first) / (bottom - top) * 2, 3 / 7 / 0.5, 0.01)
  near((bottom - second) / (bottom - top) * 2, 4 / 7 / 0.5, 0.01)
end)

test("error bars reach from below to above", function()
  local function lengths(def)
    local list = {}
    for x1, y1, x2, y2 in sim.plot { y = { range = { 0, 10 } }, x = { range = { 0, 10 } }, def }:svg()
        :match '<path d="(M[^"]+)" fill="none" stroke="#3b6fb6" stroke%-width="1.4"':gmatch "M([%d.]+) ([%d.]+)L([%d.]+) ([%d.]+)" do
      list[#list + 1] = { x2 - x1, y1 - y2 }
    end
    return list
  end
  local function unit() -- px for each unit
    local left, top, right, bottom = box_of(sim.plot { y = { range = { 0, 10 } }, x = { range = { 0, 10 } }, { { 5 }, { 5 } } }:svg())
    return (right - left) / 10, (bottom - top) / 10
  end
  local across, up = unit()
  local up_down = lengths { { 5 }, { 5 }, error = 1 }
  near(up_down[1], { 0, 2 * up }, 0.02)
  near(up_down[2], { 6, 0 }, 0.02) -- the ends
  near(lengths { { 5 }, { 5 }, kind = "scatter", error_x = { 2 } }[1], { 4 * across, 0 }, 0.02)
  near(lengths { { 5, 6 }, { 5, 6 }, error = { { 1, 1 }, { 2, 3 } } }[4], { 0, 4 * up }, 0.02)
end)

test("a trajectory has arrows along it, and a field has them where it points", function()
  local svg = sim.plot { { { 0, 1 }, { 0, 0 }, kind = "phase" } }:svg()
  local x1, y1, x2, y2, x3, y3 = svg:match '<path d="M([%d.]+) ([%d.]+)L([%d.]+) ([%d.]+)L([%d.]+) ([%d.]+)Z'
  ok(tonumber(x1) > tonumber(x2) and x2 == x3, "it points to the right")
  near(tonumber(y1), (y2 + y3) / 2, 0.02)
  local calls = 0
  svg = sim.plot { x = { range = { 0, 1 } }, y = { range = { 0, 1 } }, { function(x, y)
    calls = calls + 1
    ok(x > 0 and x < 1 and y > 0 and y < 1)
    return 0, 2
  end, kind = "field" } }:svg()
  ok(calls > 50)
  local shafts = svg:match '<path d="(M[^"]+)" fill="none" stroke="#5a6472"'
  ok(count(shafts, "M") > 50 and calls % count(shafts, "M") == 0, calls)
  for from_x, from_y, to_x, to_y in shafts:gmatch "M([%d.]+) ([%d.]+)L([%d.]+) ([%d.]+)" do
    ok(from_x == to_x and tonumber(to_y) < tonumber(from_y), "up")
  end
end)

test("functions are drawn over their range", function()
  local p = points(sim.plot { { function(x) return x * x end, 0, 2, points = 5 } }:svg())
  eq(#p, 5)
  near((p[3][2] - p[1][2]) / (p[5][2] - p[1][2]), 0.25, 1e-3)
  p = points(sim.plot { x = { range = { 1, 100 }, log = true }, { function(x) return x end, points = 3 } }:svg())
  near((p[2][2] - p[1][2]) / (p[3][2] - p[1][2]), 9 / 99, 1e-3)
end)

test("lines across and notes", function()
  local svg = sim.plot { { { 0, 1 }, { 0, 1 } }, { x = 2, label = "two" }, { y = 0.5, label = "half", color = "red" },
    { x = 0.5, y = 0.5, text = "middle" } }:svg()
  ok(svg:find 'stroke="#ff0000"')
  local left, top, right, bottom = box_of(svg)
  for _, words in ipairs { "two", "half", "middle" } do
    local at = place_of(svg, words)
    ok(at[1] > left and at[2] > top and at[3] < right and at[4] < bottom, words)
  end
  ok(not sim.plot { x = { range = { 0, 1 } }, { { 0, 1 }, { 0, 1 } }, { x = 2, label = "two" } }:svg():find "two")
end)

test("tracked numbers are made plain", function()
  local gradient = sim.grad(function(x)
    local p = points(sim.plot { { { 1, 2, x }, sim.array { 1, x, 0 } } }:svg())
    eq(#p, 3)
    return x * x
  end, 3)
  near(gradient, 6)
end)

test("a million points are few, and no peak is lost", function()
  local n = 1000000
  local ys = sim.linspace(0, 1, n)
  ys[654321] = 7
  local svg = sim.plot { { sim.linspace(0, 1, n), ys }, { x = 0.2, y = 0.2, text = "a" } }:svg()
  ok(#svg < 100000, #svg)
  local highest, lowest = math.huge, -math.huge
  for _, p in ipairs(points(svg)) do highest, lowest = math.min(highest, p[2]), math.max(lowest, p[2]) end
  local _, top, _, bottom = box_of(svg)
  near((highest - top) / (bottom - top), 0.04 / 1.08, 1e-3)
  local xs = {}
  for i = 1, 100000 do xs[i] = i % 317 + i % 1013 / 1000 end
  svg = sim.plot { { xs, ys:table() and sim.linspace(0, 1, 100000), kind = "scatter" } }:svg()
  ok(count(svg, "<circle") <= 20000)
end)

test("text that is no UTF-8, or XML would trip over, is shown", function()
  local svg = sim.plot { title = "a\xffb\0c <&>\"'", x = "\xe4", y = "μ\tθ", { { 1, 2 }, label = "\xc3" } }:svg()
  ok(svg:find("a\u{fffd}b\u{fffd}c &lt;&amp;&gt;", 1, true), svg)
  ok(utf8.len(svg) and svg:find "μ θ")
end)

-- ---- Grids ---------------------------------------------------------------------------------------

test("plots of a grid share the requested axes", function()
  local function panel(most, title) return sim.plot { title = title, x = "t, s", y = "y", { { 0, most }, { 0, most } } } end
  local svg = sim.plot.grid { title = "All", share_x = true, share_y = true, panel(1, "a"), panel(10, "b"), panel(2, "c") }:svg()
  local boxes = {}
  for x, y, width, height in svg:gmatch '<rect x="([%d.]+)" y="([%d.]+)" width="([%d.]+)" height="([%d.]+)"' do
    boxes[#boxes + 1] = { tonumber(x), tonumber(y), tonumber(width), tonumber(height) }
  end
  eq(#boxes, 3)
  near(boxes[3][1], boxes[1][1], 0.01) -- one below the other
  near(boxes[3][3], boxes[1][3], 0.01)
  near(boxes[2][2], boxes[1][2], 0.01)
  near(boxes[2][4], boxes[1][4], 12)
  -- The curve to 1 ends at a tenth of the one to 10.
  local ends = {}
  for x1, x2 in svg:gmatch '<path d="M([%d.]+) [%d.]+L([%d.]+) [%d.]+" fill="none" stroke="#3b6fb6"' do ends[#ends + 1] = x2 - x1 end
  near(ends[1] * 10, ends[2] * boxes[1][3] / boxes[2][3], 0.2)
  eq(count(svg, ">t, s<"), 2) -- below the last panels of both columns
  eq(count(svg, ">All<"), 1)
  for _, title in ipairs { "a", "b", "c" } do eq(count(svg, ">" .. title .. "<"), 1) end
end)

test("a grid draws the same plots as they are alone, and leaves them alone", function()
  local plot = sim.plot { title = "a", { { 0, 1 }, { 0, 1 }, label = "b" } }
  local before = plot:svg()
  local svg = sim.plot.grid { columns = 1, dark = true, width = 300, height = 300, plot, plot }:svg()
  ok(svg:find 'viewBox="0 0 300 300"' and svg:find "#14181f")
  eq(plot:svg(), before)
  eq(png_size(sim.plot.grid { plot }), { 1280, 460 })
end)

-- ---- In letters ----------------------------------------------------------------------------------

test("a plot in letters", function()
  local text = sim.plot { title = "Up", x = "x", y = "y, m", { { 0, 1 }, { 0, 1 } } }:text { width = 30, height = 10 }
  eq(text, [[
Up
y, m
1 ┤                      ⣀⠤⠔⠒
  │                ⣀⡠⠤⠒⠊⠉
  │           ⣀⡠⠔⠊⠉
  │     ⣀⡠⠤⠒⠊⠉
0 ┤ ⠤⠔⠒⠉
  └───────────────────────────
   0                        1
              x
]])
end)

test("letters fit in every plot", function()
  local defs = {
    { title = ("long "):rep(40), x = ("long "):rep(40), y = ("long "):rep(40), { { 1, 2 }, label = ("long "):rep(40) } },
    { { { 1, 2, 3 }, kind = "histogram" } },
    { { { 1, 2 }, low = { 1, 2 }, high = { 3, 4 }, kind = "band" } },
    { { function(x, y) return y, -x end, kind = "field" }, { { 0, 1 }, { 1, 0 }, kind = "phase", label = "a" }, { { 0, 1 }, label = "b" } },
    { x = { log = true }, y = { log = true }, { { 1, 1e9 }, { 1e-300, 1e300 } } },
    { { {}, {} } }, { { { 0 / 0 } } }, { { { 1 }, { 2 }, kind = "scatter", error = 1 } },
    { { { 0, 1 }, { 0, 1 }, kind = "steps" }, { x = 0.5, label = "x" }, { y = 0.5, label = "y" }, { x = 0.9, y = 0.9, text = "a note" } },
  }
  for i, def in ipairs(defs) do
    for _, size in ipairs { { 30, 8 }, { 80, 20 }, { 133, 40 } } do
      local text = sim.plot(def):text { width = size[1], height = size[2] }
      local lines = 0
      for line in text:gmatch "([^\n]*)\n" do
        lines = lines + 1
        ok(utf8.len(line) <= size[1], i .. ": " .. line)
      end
      ok(lines <= math.max(size[2], 10), i .. ": " .. lines)
    end
  end
end)

test("more than one curve has letters at its end", function()
  local text = sim.plot { { { 0, 1 }, { 0, 5 }, label = "up" }, { { 0, 1 }, { 4, 0 }, label = "down" } }:text()
  ok(text:find "a up   b down")
  ok(text:find "a\n.*b\n")
end)

-- ---- Arbitrary data ------------------------------------------------------------------------------

test("all data are drawn or refused, in numbers that pictures can have", function()
  local random = sim.random.split()
  random:seed(11)
  local odd = { 0, -0.0, 0 / 0, 1 / 0, -1 / 0, 1e308, -1.7e308, 5e-324, -1e-310, 1, 2, -3, 1e-300, 1e5, 0.1, 1e16, 1e16 + 2 }
  local function numbers(n)
    local list, tame = {}, random:uniform() < 0.5
    for i = 1, n do list[i] = tame and random:normal(0, 10 ^ random:integer(-3, 3)) or random:choice(odd) end
    return list
  end
  local kinds = { "line", "scatter", "steps", "band", "histogram", "phase", "field", "reference", "note" }
  local function series()
    local kind, n = random:choice(kinds), random:integer(0, 12)
    local label = random:uniform() < 0.5 and random:choice { "a", "long name of a series", "μ" } or nil
    if kind == "band" then return { numbers(n), low = numbers(n), high = numbers(n), kind = kind, label = label } end
    if kind == "histogram" then return { numbers(n), kind = kind, label = label, density = random:uniform() < 0.5 } end
    if kind == "field" then return { function(x, y) return random:choice(odd) * y, random:choice(odd) - x end, kind = kind } end
    if kind == "reference" then return { [random:choice { "x", "y" }] = numbers(1)[1], label = label } end
    if kind == "note" then return { x = numbers(1)[1], y = numbers(1)[1], text = "a note" } end
    local errors = kind ~= "phase" and random:uniform() < 0.3 and math.abs(random:normal()) or nil
    return { numbers(n), numbers(n), kind = kind, label = label, error = errors, error_x = errors }
  end
  local function axis()
    local range = random:uniform() < 0.2 and { random:uniform(0.1, 1), random:uniform(1, 1e3) } or nil
    return { label = random:choice { "", "time, s" }, log = random:uniform() < 0.3, range = range }
  end
  for i = 1, fewer(400, 60) do
    local def = { x = axis(), y = axis(), width = random:choice { 100, 200, 640 }, height = random:choice { 100, 400 },
      title = random:choice { "", "a title" } }
    def.equal = not def.x.log and not def.y.log and random:uniform() < 0.3 or nil
    for k = 1, random:integer(1, 4) do def[k] = series() end
    local plot = sim.plot(def)
    local svg = plot:svg():gsub(">[^<]*<", "><"):gsub("#%x+", "")
    ok(not svg:find "nan" and not svg:find "inf", i .. ": " .. (svg:match "<[^<]*nan[^>]*>" or svg:match "<[^<]*inf[^>]*>" or ""):sub(1, 300))
    for element in svg:gmatch "<[^>]*>" do
      for number in element:gmatch "%-?%d[%d.]+" do
        ok(math.abs(tonumber(number) or 0) < 20000, i .. ": " .. element:sub(1, 300))
      end
    end
    ok(#plot:text { width = 40, height = 10 } > 0)
    if i % 10 == 0 then sim.plot.grid { plot, plot, plot }:svg() end
  end
end)

-- Runs of paths of a stroke and no fill, as lists of pairs of points.
local function pairs_of(svg, stroke)
  local list = {}
  for path in svg:gmatch('<path d="([^"]*)" fill="none" stroke="' .. stroke .. '" stroke%-width="1.4"') do
    for x1, y1, x2, y2 in path:gmatch "M(%-?[%d%.]+) (%-?[%d%.]+)L(%-?[%d%.]+) (%-?[%d%.]+)" do
      list[#list + 1] = { tonumber(x1), tonumber(y1), tonumber(x2), tonumber(y2) }
    end
  end
  return list
end

test("contours of a cone are circles of the radius of their value", function()
  local function cone(x, y) return math.sqrt(x * x + y * y) end
  local range = { -2, 2 }
  local svg = sim.plot { x = { range = range }, y = { range = range }, width = 600, height = 600,
    { cone, kind = "contour", levels = { 1 }, points = 101, color = "#123456" } }:svg()
  local left, right, top, bottom = math.huge, -math.huge, math.huge, -math.huge
  local runs = pairs_of(svg, "#123456")
  for _, run in ipairs(runs) do
    left, right = math.min(left, run[1]), math.max(right, run[1])
    top, bottom = math.min(top, run[2]), math.max(bottom, run[2])
  end
  local box_left, box_top, wide, high = svg:match '<rect x="([%d%.]+)" y="([%d%.]+)" width="([%d%.]+)" height="([%d%.]+)"'
  ok(#runs > 100)
  near((right - left) / wide, 0.5, 5e-3) -- 2 of 4
  near((bottom - top) / high, 0.5, 5e-3)
  near((left + right) / 2, box_left + wide / 2, 0.3)
  local cx, cy = (left + right) / 2, (top + bottom) / 2
  for _, run in ipairs(runs) do
    near(((run[1] - cx) / (right - left)) ^ 2 + ((run[2] - cy) / (bottom - top)) ^ 2, 0.25, 5e-3)
  end
  ok(svg:find(">1<", 1, true)) -- its value
end)

test("a heat map has a cell for each value, a gap for nan, and a scale", function()
  local function cells(rows, more)
    local series = { { 1, 2, 3 }, { 1, 2 }, rows, kind = "heat", label = "heat of it" }
    for key, value in pairs(more or {}) do series[key] = value end
    local svg = sim.plot { series }:svg()
    ok(svg:find("heat of it", 1, true))
    local inside = svg:match "<clipPath.-</g>"
    return count(inside, "Z"), svg
  end
  eq(cells { { 0, 1, 2 }, { 3, 4, 5 } }, 6)
  eq(cells { { 0, 1, 0 / 0 }, { 3, 4, 5 } }, 5)
  eq(cells { { 1, 1, 1 }, { 3, 3, 3 } }, 2) -- of one colour: one
  eq(cells({ { -9, -8, -7 }, { 3, 4, 99 } }, { range = { 0, 4 } }), 3) -- below; 3; 4 and above
  local text = sim.plot { x = { range = { 0, 1 } }, y = { range = { 0, 1 } }, { function(x) return x end, kind = "heat" } }:text()
  ok(text:find "░" and text:find "█")
end)

test("errors of a map are reported", function()
  local function refused(message, series) raises(message, sim.plot, { series }) end
  local rows = { { 1, 2 }, { 3, 4 } }
  refused("series 1: a function needs x.range of the plot", { math.max, kind = "heat" })
  refused("series 1: {xs, ys, rows}", { { 1, 2 }, { 1, 2 }, kind = "heat" })
  refused("series 1: 1 rows for 2 ys", { { 1, 2 }, { 1, 2 }, { { 1, 2 } }, kind = "contour" })
  refused("series 1: row 2 has 1 numbers for 2 xs", { { 1, 2 }, { 1, 2 }, { { 1, 2 }, { 3 } }, kind = "heat" })
  refused("series 1: xs that increase expected; number 2 is 1", { { 1, 1 }, { 1, 2 }, rows, kind = "heat" })
  refused("series 1.levels: 1 to 100, or a list", { { 1, 2 }, { 1, 2 }, rows, kind = "contour", levels = 0 })
  refused("series 1.range: {lo, hi} with lo < hi expected", { { 1, 2 }, { 1, 2 }, rows, kind = "heat", range = { 2, 1 } })
  refused("series 1.points: applies only to a function", { { 1, 2 }, { 1, 2 }, rows, kind = "heat", points = 3 })
end)

test("a spread far below its value is drawn, with an offset in the labels", function()
  local random = sim.random.split()
  random:seed(12)
  local function span(ys)
    local xs = {}
    for i = 1, #ys do xs[i] = i end
    local svg = sim.plot { { xs, ys } }:svg()
    local path = svg:match '<g clip%-path.-<path d="([^"]*)"'
    local low, high = math.huge, -math.huge
    for y in path:gmatch "[ML][%d.]+ ([%d.]+)" do
      low, high = math.min(low, tonumber(y)), math.max(high, tonumber(y))
    end
    local _, top, _, bottom = box_of(svg)
    return (high - low) / (bottom - top), svg
  end
  for _ = 1, 200 do
    local value, spread = random:choice { -1, 1 } * 10 ^ random:uniform(-3, 6), 10 ^ random:uniform(-13, -9)
    local ys = {}
    for i = 1, 9 do ys[i] = value * (1 + spread * i) end
    local part, svg = span(ys)
    ok(part > 0.8, ("%g, %g: %g"):format(value, spread, part))
    ok(svg:find("+ ", 1, true) or svg:find("− ", 1, true), svg)
    for i = 1, 9 do ys[i] = value end
    ok(span(ys) == 0)
  end
end)
