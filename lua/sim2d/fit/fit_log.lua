-- Logs of sim.fit: columns of numbers, as written by loggers. They become rows at positions measured in steps.

local DUST = 1e-6         -- as a fraction of a step: tolerance for times that are multiples of dt
local ULPS = 4 * 2 ^ -52  -- rounding error of a time, relative to the time
local DECIMALS = 9        -- largest number of decimals that times are tested for
local FEW = 1 / 4         -- as a fraction of dt: a coarser rounding of times is not recognised
local LONG, SPARSE = 20000, 100 -- steps in a log, and steps between two rows, above which a wrong unit is likely
local UNITS = { s = 1, sec = 1, second = 1, seconds = 1, ms = 1e-3, msec = 1e-3, us = 1e-6, ["µs"] = 1e-6, ["μs"] = 1e-6,
  ns = 1e-9, min = 60, h = 3600 }

return function(sim, host)
  local fail, describe = host.fail, host.describe

  -- ---- Columns ----------------------------------------------------------------------------------

  local function as_list(what, column)
    if getmetatable(column) == "Array" then return column:reshape(column.size):table() end
    if type(column) ~= "table" then fail("sim.fit: %s: a column of numbers expected, got %s", what, describe(column)) end
    return column
  end

  -- Checks a list of numbers, in which nan stands for a missing sample.
  local function check_numbers(what, list, count, missing)
    for i = 1, count do
      local value = list[i]
      if type(value) == "string" then
        fail("sim.fit: %s: row %d is the text '%s': a number expected; write nan for a missing sample", what, i, value)
      elseif type(value) ~= "number" or value == math.huge or value == -math.huge or (value ~= value and not missing) then
        fail("sim.fit: %s: row %d is %s: a number expected%s", what, i, describe(value),
          missing and "; write nan for a missing sample" or "")
      end
    end
  end

  local function check_times(what, list)
    check_numbers(what, list, #list, false)
    for i = 2, #list do
      if list[i] < list[i - 1] then
        fail("sim.fit: %s: time decreases: row %d is %.9g after %.9g; sort the rows, or give two logs",
          what, i, list[i], list[i - 1])
      end
    end
  end

  -- Returns { t, value, own }. The times are those of the log, or the column's own times if the column is { t =, value
  -- = }.
  local function read_column(what, column, times)
    local own = type(column) == "table" and getmetatable(column) ~= "Array" and column.t ~= nil
    if own then
      if column.value == nil then
        fail("sim.fit: %s: a column with separate times must have the form { t =, value = }", what)
      end
      local t = as_list(what .. ".t", column.t)
      check_times(what .. ".t", t)
      times, column = t, column.value
    end
    local list = as_list(what, column)
    if times == nil then fail("sim.fit: %s has no times: give the log a column 't', or the column { t =, value = }", what) end
    if #list ~= #times then fail("sim.fit: %s has %d rows, but the times have %d", what, #list, #times) end
    check_numbers(what, list, #list, true)
    return { t = times, value = list, own = own }
  end

  local function or_near(name, known)
    local near = host.nearest(name, known)
    for i = 1, near and 0 or #known do
      local other = known[i]
      near = near or ((other:find(name, 1, true) == 1 or name:find(other, 1, true) == 1) and other or nil)
    end
    return near and ("; did you mean its column '%s'?"):format(near) or ""
  end

  -- Columns of the data that match neither an actuator nor an observation.
  local function unused_names(fit, data)
    local used, names = { t = true, time = true }, {}
    for _, name in ipairs(fit.actuators) do used[name] = true end
    for _, column in ipairs(fit.columns) do used[column.name], used[column.alias] = true, true end
    for _, name in ipairs(host.sorted_keys(data)) do
      if type(name) == "string" and not used[name] then names[#names + 1] = name end
    end
    return names
  end

  local function read_columns(fit, log, data, times)
    local unused = unused_names(fit, data)
    for k, name in ipairs(fit.actuators) do
      if data[name] == nil then
        fail("sim.fit: %s has no column '%s', the name of an actuator of the world%s",
          log.what, name, or_near(name, unused))
      end
      log.u[k] = read_column(("%s: %s"):format(log.what, name), data[name], times)
    end
    local missing
    for k, column in ipairs(fit.columns) do
      local list = data[column.name] or data[column.alias]
      if list ~= nil then
        log.y[k] = read_column(("%s: %s"):format(log.what, column.name), list, times)
      else
        missing = missing or (or_near(column.name, unused) ~= "" and column.name) or nil
      end
    end
    if next(log.y) == nil then
      local names = {}
      for k, column in ipairs(fit.columns) do names[k] = column.name end
      fail("sim.fit: %s has none of the columns that the world observes: %s%s", log.what, table.concat(names, ", "),
        missing and or_near(missing, unused) or "")
    end
    -- a nearly correct name is a mistake, not an unused column
    local near = missing and host.nearest(missing, unused)
    if near then
      fail("sim.fit: %s has no column '%s', which the world observes; did you mean its column '%s'?", log.what, missing, near)
    end
  end

  -- ---- Rows -------------------------------------------------------------------------------------

  -- A command is held until the next one. Missing samples get the held command.
  local function hold(log, column, what, count)
    local last, held = nil, {}
    for i, value in ipairs(column.value) do
      if value == value then
        last = value
      elseif last == nil then
        fail("sim.fit: %s: row %d is nan: a command has to be known from the start", what, i)
      else
        count.held[what] = (count.held[what] or 0) + 1
      end
      held[i] = last
    end
    if column.t[1] > log.t[1] then
      fail("sim.fit: %s begins at %.9g, the log at %.9g: a command has to be known from the start", what, column.t[1],
        log.t[1])
    end
    return held
  end

  -- If columns have their own times, the rows are the union of all times.
  local function union_of(log, times)
    local own, all = false, {}
    local function add(list)
      for i = 1, list and #list or 0 do all[#all + 1] = list[i] end
    end
    local seen = {}
    for _, list in ipairs { log.u, log.y } do
      for _, column in pairs(list) do
        own = own or column.own
        if not seen[column.t] then add(column.t) end
        seen[column.t] = true
      end
    end
    if not own then return times end
    table.sort(all)
    local union = {}
    for _, t in ipairs(all) do
      if t ~= union[#union] then union[#union + 1] = t end
    end
    return union
  end

  -- The numbers of a column in the rows of the log. `holds` determines how rows between its samples are filled.
  local function spread(log, column, values, holds)
    if column.t == log.t then return values end
    local rows, at = {}, 0
    for i, t in ipairs(log.t) do
      local new = false
      while column.t[at + 1] and column.t[at + 1] <= t do at, new = at + 1, true end
      rows[i] = (new or holds) and values[at] or 0 / 0
    end
    return rows
  end

  local function read_rows(fit, log)
    local count = fit.count
    for k, name in ipairs(fit.actuators) do
      log.u[k] = spread(log, log.u[k], hold(log, log.u[k], ("%s: %s"):format(log.what, name), count), true)
    end
    for k, column in pairs(log.y) do
      local name = fit.columns[k].name
      for _, value in ipairs(column.value) do
        if value ~= value then count.missing[name] = (count.missing[name] or 0) + 1 end
      end
      log.y[k] = spread(log, column, column.value, false)
    end
    for i = 2, #log.t do
      if log.t[i] == log.t[i - 1] then count.repeated = count.repeated + 1 end
    end
  end

  -- ---- Times ------------------------------------------------------------------------------------

  local function unit_of(fit, log, given)
    local unit = fit.time_unit or given
    if unit == nil then return 1 end
    local seconds = type(unit) == "number" and unit or UNITS[unit]
    if type(seconds) ~= "number" or not (seconds > 0 and seconds < math.huge) then
      fail("sim.fit: %s: times in '%s': give time_unit: s, ms, us, ns, min, h, or the number of seconds per unit",
        log.what, tostring(unit))
    end
    return seconds
  end

  -- The unit to which the times are rounded: a power of ten, in s.
  local function rounding_of(t, unit)
    for decimals = 0, DECIMALS do
      local factor, all = 10.0 ^ decimals, true
      for i = 1, #t do
        local scaled = t[i] * factor
        if math.abs(scaled - math.floor(scaled + 0.5)) > ULPS * math.abs(scaled) then
          all = false
          break
        end
      end
      if all then return unit / factor end
    end
    return 0
  end

  -- The positions of rows in steps. Rounded times that are multiples of dt become exact multiples; if not all times are
  -- multiples, each time is treated separately.
  local function places_of(fit, log, unit)
    local at, whole, off = {}, {}, 0
    for i, t in ipairs(log.t) do
      at[i] = (t - log.t[1]) * unit / fit.dt
      whole[i] = math.floor(at[i] + 0.5)
      off = math.max(off, math.abs(at[i] - whole[i]))
      if i > 1 and whole[i] == whole[i - 1] and log.t[i] > log.t[i - 1] then off = 1 end
    end
    local rounding = rounding_of(log.t, unit)
    if off * fit.dt <= rounding * (1 + DUST) and rounding <= FEW * fit.dt then return whole end
    for i, t in ipairs(log.t) do
      if math.abs(at[i] - whole[i]) <= DUST + ULPS * math.abs(t) * unit / fit.dt then at[i] = whole[i] end
    end
    return at
  end

  local function check_length(fit, log, given)
    local steps, rows = log.at[log.rows], log.rows
    if (fit.time_unit or given) == nil and steps > LONG and steps / (rows - 1) >= SPARSE then
      fail("sim.fit: %s lasts %.9g s in %d rows, %.0f steps of dt %g s: are its times in ms? Give time_unit = 'ms', or 's' if "
        .. "they are right", log.what, steps * fit.dt, rows, steps, fit.dt)
    end
  end

  -- ---- One log ----------------------------------------------------------------------------------

  -- The first measured values at or after a row, for `start`.
  local function first_of(log, data, row)
    local first, holes = {}, {}
    for name, column in pairs(data) do
      if type(name) == "string" and type(column) ~= "number" and type(column) ~= "string" then
        local value
        if type(column) == "table" and getmetatable(column) ~= "Array" and column.t ~= nil then
          local values = as_list(name, column.value)
          for i, t in ipairs(as_list(name, column.t)) do
            if t <= log.t[row] then value = values[i] end -- the latest
          end
        else
          value = column[row]
        end
        if value == value then first[name] = value else holes[name] = true end
      end
    end
    return setmetatable(first, { __index = function(_, name)
      if holes[name] then
        fail("sim.fit: start: '%s' is nan in row %d of %s, where a world starts: "
          .. "fill in the value, start elsewhere, or make it free with windows = { free = }", name, row, log.what)
      end
    end })
  end

  local function load(what, data)
    local loaded, about = sim.data.load(data)
    if not loaded then fail("sim.fit: %s: %s", what, about) end
    if type(loaded) ~= "table" then fail("sim.fit: %s: %s has no column names", what, data) end
    local units = about and about.units or {}
    return loaded, units.t or units.time
  end

  function host.fit_log(fit, what, data)
    local unit
    if type(data) == "string" then
      what, data, unit = data, load(what, data)
    end
    if type(data) ~= "table" then
      fail("bad argument #1 to 'fit' (key 'data': a log, { t =, NAME = column }, a file's name, or a list of these expected, got %s)",
        describe(data))
    end
    local log = { what = what, u = {}, y = {} }
    local times = data.t or data.time
    if times ~= nil then
      times = as_list(what .. ": t", times)
      check_times(what .. ": t", times)
    else
      local own = false
      for _, column in pairs(data) do own = own or (type(column) == "table" and column.t ~= nil) end
      if not own then fail("sim.fit: %s has no column 't' of times%s", what, or_near("time", unused_names(fit, data))) end
    end
    -- read the columns first, because they may have their own times
    read_columns(fit, log, data, times)
    log.t = union_of(log, times)
    log.rows = #log.t
    if log.rows < 3 then fail("sim.fit: %s has %d rows; at least three are needed", what, log.rows) end
    read_rows(fit, log)
    log.at = places_of(fit, log, unit_of(fit, log, unit))
    check_length(fit, log, unit)
    log.first = function(row) return first_of(log, data, row) end
    log.cut = math.max(2, math.floor(fit.split * log.rows + 0.5))
    return log
  end

  -- ---- Commands ---------------------------------------------------------------------------------

  -- The command of an actuator in each of `count` steps from a position on. It is the mean over the rows within the
  -- step. `late` is the delay in steps. Commands before the first row are 0.
  function host.fit_commands(log, actuator, from, count, late)
    local at, u, list = log.at, log.u[actuator], {}
    local row = 0
    for k = 1, count do
      local begins = from + k - 1 - late
      local ends, since, sum = begins + 1, begins, 0
      while row < log.rows and at[row + 1] <= begins + DUST do row = row + 1 end
      local now = row
      while now < log.rows and at[now + 1] < ends - DUST do
        sum = sum + (now > 0 and u[now] or 0) * (at[now + 1] - since)
        now, since = now + 1, at[now + 1]
      end
      local last = now > 0 and u[now] or 0
      list[k] = now == row and last or sum + last * (ends - since)
    end
    return list
  end
end
