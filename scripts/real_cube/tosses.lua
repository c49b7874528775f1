-- Reads and checks files of cube tosses: flat slides with one row each, and tumbles in a plane with one row per frame.
-- --slides FILE and --planar FILE print the contents of a file.
local sim = require "sim2d"

local tosses = { DT = 1 / 148, HALF = 0.0524, GRAVITY = 9.81 } -- s per frame, half width of the cube (m), m/s^2

local function fail(path, row, ...) error(("%s: row %d: %s"):format(path, row, string.format(...)), 0) end
local function check(path, row, values, names)
  for i, value in ipairs(values) do
    if type(value) ~= "number" or value ~= value or math.abs(value) == math.huge then
      fail(path, row, "%s is no number", names(i))
    end
  end
end

-- Returns the rows of a file as lists. A first row that begins with a number is not a header, so text in this row is an
-- error.
local function load(path, columns)
  local lists = {}
  for row, values in ipairs(assert(sim.data.load(path, { ragged = true }))) do lists[row] = values:table() end
  for line in io.lines(path) do
    if tonumber(line:match "^[^,#]*") then
      for field in line:gmatch "[^,%s]+" do
        if not tonumber(field) and not ("nan inf na null"):find(field:lower():match "%a*") then
          fail(path, 1, "'%s' is no number", field)
        end
      end
    end
    if not line:find "^#" then break end
  end
  if #lists == 0 then error(("%s: no rows of %s"):format(path, columns), 0) end
  return lists
end

-- Each row is: toss, group, start frame, n, v0 (m/s), x_0 ... x_{n-1} (m). Rows of one group are one toss, or copies of
-- it.
local SLIDE = { "toss", "group", "start frame", "n", "v0" }
function tosses.slides(path)
  local list = {}
  for row, v in ipairs(load(path, "slides")) do
    if #v < 5 then fail(path, row, "%d values; toss, group, start frame, n, v0 and n positions expected", #v) end
    check(path, row, v, function(i) return SLIDE[i] or "position " .. i - 5 end)
    if v[4] < 2 or v[4] ~= #v - 5 then fail(path, row, "n is %g, but there are %d positions", v[4], #v - 5) end
    list[row] = { toss = v[1], group = v[2], v0 = v[5], n = #v - 5, x = { table.unpack(v, 6) } }
  end
  return list
end

-- Each row is: toss, frame, t (s), x, z (m), theta (rad). The frames of a toss are consecutive.
local PLANAR = { "toss", "frame", "t", "x", "z", "theta" }
function tosses.planar(path)
  local list, now = {}, nil
  for row, v in ipairs(load(path, "frames")) do
    if #v ~= #PLANAR then fail(path, row, "%d values; %s expected", #v, table.concat(PLANAR, ", ")) end
    check(path, row, v, function(i) return PLANAR[i] end)
    if not now or now.toss ~= v[1] then
      now = { toss = v[1], group = v[1], n = 0, t = {}, x = {}, z = {}, theta = {}, frame = v[2] - 1 }
      list[#list + 1] = now
    end
    if v[2] ~= now.frame + now.n + 1 then fail(path, row, "frame %g does not follow the one before", v[2]) end
    now.n = now.n + 1
    if math.abs(v[3] - v[2] * tosses.DT) > tosses.DT / 10 then fail(path, row, "t is not frame / 148 s") end
    now.t[now.n], now.x[now.n], now.z[now.n], now.theta[now.n] = v[3], v[4], v[5], v[6]
  end
  return list
end

-- Splits the list into two halves by every other group, in the order of the group numbers. Copies of a toss stay
-- together.
function tosses.halves(list)
  local groups, seen = {}, {}
  for _, toss in ipairs(list) do
    if not seen[toss.group] then groups[#groups + 1], seen[toss.group] = toss.group, true end
  end
  table.sort(groups)
  for i, group in ipairs(groups) do seen[group] = i % 2 end
  local train, held = {}, {}
  for _, toss in ipairs(list) do
    local half = seen[toss.group] == 1 and train or held
    half[#half + 1] = toss
  end
  return train, held
end

-- Returns a quantile: the value below which the given fraction of the list lies. For an even count, the median is the
-- mean of the two middle values.
function tosses.quantile(list, part)
  local sorted = { table.unpack(list) }
  table.sort(sorted)
  local place = part * (#sorted - 1) + 1
  local low = math.floor(place)
  return sorted[low] + (place - low) * ((sorted[low + 1] or sorted[low]) - sorted[low])
end
function tosses.median(list) return tosses.quantile(list, 0.5) end
-- Returns the root mean square of predicted - measured, starting at frame `from`.
function tosses.rmse(predicted, measured, from)
  local sum = 0
  for i = from or 1, #measured do sum = sum + (predicted[i] - measured[i]) ^ 2 end
  return math.sqrt(sum / (#measured - (from or 1) + 1))
end

-- Writes rows to a temporary file, calls read(path) and returns its result.
function tosses.through_file(rows, read)
  local name = os.tmpname()
  local path = name .. ".csv"
  local file <close> = assert(io.open(path, "w"))
  for _, row in ipairs(rows) do file:write(table.concat(row, ","), "\n") end
  file:close()
  local success, result = pcall(read, path)
  os.remove(path)
  os.remove(name)
  return success and result or error(result, 0)
end

if sim.is_main() then
  local o = sim.options { slides = { "", "FILE.csv with slides" }, planar = { "", "FILE.csv with tumbles" } }
  for _, kind in ipairs { "slides", "planar" } do
    local list, frames = o[kind] ~= "" and tosses[kind](o[kind]) or {}, 0
    for _, toss in ipairs(list) do frames = frames + toss.n end
    print(("%s: %d tosses, %d frames"):format(kind, #list, frames))
  end
end
return tosses
