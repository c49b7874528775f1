-- The files that scripts/real_cube reads: an error message names the file and its row.
local sim = require "sim2d"

package.path = os.getenv "S2_SOURCE" .. "/scripts/real_cube/?.lua;" .. package.path
local tosses = require "tosses"

local SLIDE = { 3, 3, 40, 4, 0.5, 0, 0.003, 0.006, 0.009 }
local function frame(toss, i) return { toss, i, i / 148, 0.01 * i, 0.1, 0.2 } end

local function changed(row, place, value)
  local copy = { table.unpack(row) }
  copy[place] = value
  return copy
end

local function bad(kind, pattern, ...)
  local message = raises(pattern, tosses.through_file, { ... }, tosses[kind])
  ok(message:find "%.csv", message)
end

test("slides", function()
  local list = tosses.through_file({ SLIDE, { 4, 9, 2, 2, 0.25, 0, 0.001 } }, tosses.slides)
  eq(#list, 2)
  eq(list[1].x, { 0, 0.003, 0.006, 0.009 })
  eq({ list[2].toss, list[2].group, list[2].n, list[2].v0 }, { 4, 9, 2, 0.25 })
end)

test("bad slides", function()
  bad("slides", "row 1: 3 values; toss, group, start frame, n, v0 and n positions expected", { 1, 2, 3 })
  bad("slides", "row 2: n is 4, but there are 3 positions", SLIDE, { table.unpack(SLIDE, 1, 8) })
  bad("slides", "row 1: n is 4, but there are 5 positions", changed(SLIDE, 10, 0.012))
  bad("slides", "row 2: position 2 is no number", SLIDE, changed(SLIDE, 7, "nan"))
  bad("slides", "row 1: v0 is no number", changed(SLIDE, 5, "inf"))
  bad("slides", "row 1: position 4 is no number", changed(SLIDE, 9, ""))
  bad("slides", "'x7' is not a number", SLIDE, changed(SLIDE, 7, "x7"))
  bad("slides", "row 1: 'x7' is no number", changed(SLIDE, 7, "x7"), SLIDE)
  bad("slides", "no rows")
  bad("slides", "no rows", { "# nothing but this" })
  raises("cannot read", tosses.slides, "no/such/file.csv")
end)

test("tumbles", function()
  local rows = { frame(7, 0), frame(7, 1), frame(9, 3), frame(9, 4), frame(9, 5) }
  local list = tosses.through_file(rows, tosses.planar)
  eq({ #list, list[1].n, list[2].n, list[2].toss }, { 2, 2, 3, 9 })
  near(list[2].x, { 0.03, 0.04, 0.05 })
  eq(list[1].theta, { 0.2, 0.2 })
  eq(#tosses.through_file({ { "toss", "frame", "t", "x", "z", "theta" }, rows[1], rows[2] }, tosses.planar), 1)
end)

test("bad tumbles", function()
  local short = { table.unpack(frame(7, 1), 1, 5) }
  bad("planar", "row 2: 5 values; toss, frame, t, x, z, theta expected", frame(7, 0), short)
  bad("planar", "row 1: 7 values", changed(frame(7, 0), 7, 1))
  bad("planar", "row 2: z is no number", frame(7, 0), changed(frame(7, 1), 5, "nan"))
  bad("planar", "row 3: frame 3 does not follow", frame(7, 0), frame(7, 1), frame(7, 3))
  bad("planar", "row 2: t is not frame / 148 s", frame(7, 0), changed(frame(7, 1), 3, 0.01))
  bad("planar", "no rows")
end)

test("tosses whose flight begins inside of the board are left out", function()
  local square = require "square"
  local half, list = 0.05, {}
  for k, z in ipairs { 0.035, 0.0495, 0.06 } do -- thrown up; 15 mm inside, .5 mm inside, above
    list[k] = { toss = k, n = 60, t = {}, x = {}, z = {}, theta = {} }
    for i = 1, 60 do
      local t = (i - 1) * tosses.DT
      list[k].t[i], list[k].x[i], list[k].theta[i] = t, t, 0
      list[k].z[i] = z + 1.4 * t - tosses.GRAVITY * half / tosses.HALF * t ^ 2 / 2
      if i > 20 then list[k].z[i] = math.max(list[k].z[i], half) end -- it lands
    end
  end
  local kept, out = square.flying(list)
  eq({ #kept, kept[1].toss, kept[2].toss }, { 2, 2, 3 })
  eq(out, { "toss 1: its flight begins 15.0 mm inside of the board" })
end)

test("halves keep copies of a toss together", function()
  local list = {}
  for i = 1, 30 do list[i] = { group = (i * 7) % 10 } end
  local train, held = tosses.halves(list)
  eq(#train + #held, 30)
  local side = {}
  for _, toss in ipairs(train) do side[toss.group] = true end
  for _, toss in ipairs(held) do ok(not side[toss.group]) end
end)

test("quantiles", function()
  eq(tosses.median { 3, 1, 2 }, 2)
  near(tosses.median { 4, 1, 3, 2 }, 2.5)
  near(tosses.quantile({ 0, 10 }, 0.9), 9)
  near(tosses.rmse({ 1, 2, 5 }, { 1, 2, 3 }), 2 / math.sqrt(3))
  near(tosses.rmse({ 1, 2, 5 }, { 1, 2, 3 }, 3), 2)
end)
