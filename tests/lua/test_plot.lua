-- sim.plot, through the SVG it writes.
local sim = require "sim2d"

local function count(text, pattern)
  return select(2, text:gsub(pattern, ""))
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

test("on logarithmic axes powers are straight", function()
  local p = points(sim.plot { x = { log = true }, y = { log = true }, { { 1, 10, 100 }, { 1, 100, 1e4 } } }:svg())
  near(p[2][1] * 2, p[1][1] + p[3][1], 0.02)
  near(p[2][2] * 2, p[1][2] + p[3][2], 0.02)
end)

test("what is not finite, or not positive on a logarithmic axis, leaves a gap", function()
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
  ok(svg:find("<polygon") and svg:find("stroke%-dasharray"), "drawn")
  ok(#svg < 200000, #svg)
end)

test("arrays are taken", function()
  local p = points(sim.plot { { sim.linspace(0, 1, 5), sim.linspace(0, 1, 5) ^ 2 } }:svg())
  eq(#p, 5)
end)

test("saves, or says why not", function()
  local plot = sim.plot { { { 1, 2 }, { 3, 4 } } }
  local path = os.tmpname() .. ".svg"
  eq(plot:save(path), true)
  local file = assert(io.open(path))
  eq(file:read("a"), plot:svg())
  file:close()
  os.remove(path)
  local done, message = plot:save("/nowhere/x.svg")
  eq(done, nil)
  ok(message:find("nowhere"), message)
  raises("%.png is not available yet", function() plot:save("x.png") end)
  raises("ends with .svg expected, got 'x'", function() plot:save("x") end)
  raises("a path expected, got a number", function() plot:save(3) end)
end)

test("mistakes are named", function()
  raises("a table expected, got a string", function() sim.plot("x") end)
  raises("nothing to show", function() sim.plot {} end)
  raises("unknown key 'tilte'", function() sim.plot { tilte = "a", { { 1 } } } end)
  raises("series 1: unknown key 'labels'", function() sim.plot { { { 1 }, labels = "a" } } end)
  raises("series 2: 2 numbers across and 1 up", function() sim.plot { { { 1 } }, { { 1, 2 }, { 1 } } } end)
  raises("series 1: number 2 is a string", function() sim.plot { { { 1, "b" } } } end)
  raises("kind 'line'.*got 'pie'", function() sim.plot { { { 1 }, kind = "pie" } } end)
  raises("a band has low = and high =", function() sim.plot { { { 1 }, kind = "band" } } end)
  raises("x.range: {lo, hi} with lo < hi", function() sim.plot { x = { range = { 2, 1 } }, { { 1 } } } end)
  raises("starts above 0, got 0", function() sim.plot { y = { range = { 0, 1 }, log = true }, { { 1 } } } end)
  raises("width: 100 to 10000 px", function() sim.plot { width = 3, { { 1 } } } end)
end)

test("a legend that is too long goes on in the next line", function()
  local series = {}
  for i = 1, 12 do series[i] = { { 1, 2 }, { i, 1 }, label = ("a curve with a long name %d"):format(i) } end
  local svg = sim.plot(series):svg()
  local lines, count = {}, 0
  for x, y, label in svg:gmatch('<text x="([%d.]+)" y="([%d.]+)"[^>]*>([^<]*)</text>') do
    if label:find "a curve" then
      count = count + 1
      lines[y] = true
      ok(tonumber(x) + 7 * #label < 640, label)
      ok(tonumber(y) > 0)
    end
  end
  local n = 0
  for _ in pairs(lines) do n = n + 1 end
  eq(count, 12)
  ok(n >= 4 and n <= 6, n)
end)
