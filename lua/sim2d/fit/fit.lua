-- sim.fit: the parameters of a world from logs of its commands and observations.

local SPLIT = 0.8         -- part of a log's rows that is fitted
local WHOLE = 1e-6        -- of a step: times in logs are sums of steps, written with so many digits
local UNSEEN = 1e-7       -- singular values of the scaled Jacobian below this part of the largest: not determined
local PART = 0.2          -- of a direction that is not determined: the least of a parameter that is named
local NORMAL = 1.95996398 -- deviations of 95 % of a normal distribution

local KEYS = { world = true, data = true, parameters = true, noise = true, bias = true, delays = true, split = true,
  start = true, report = true, max_iterations = true, tolerance = true, title = true, callback = true }

return function(sim, host)
  local fail, describe = host.fail, host.describe

  local function bad(key, expected, got)
    fail("bad argument #1 to 'fit' (key '%s': %s expected, got %s)", key, expected, describe(got))
  end

  -- ---- Parameters -------------------------------------------------------------------------------

  -- One: { name, start, lo, hi, log }; of logarithms between their logarithms.
  local function read_parameter(key, def)
    local entry = { name = key, start = def, lo = -math.huge, hi = math.huge }
    if type(def) == "table" then
      entry.start, entry.lo, entry.hi, entry.log = def[1], def[2] or -math.huge, def[3] or math.huge, def.log == true
    end
    local what = "parameters." .. tostring(key)
    if type(key) ~= "string" or not host.finite(entry.start) then bad(what, "a number, or { start, lo, hi, log = true }", def) end
    if type(entry.lo) ~= "number" or type(entry.hi) ~= "number" or not (entry.lo <= entry.start and entry.start <= entry.hi) then
      bad(what, "lo <= start <= hi", ("{%s, %s, %s}"):format(entry.start, tostring(entry.lo), tostring(entry.hi)))
    end
    if entry.log and entry.start <= 0 then bad(what, "a start above 0, as log = true keeps it there", entry.start) end
    return entry
  end

  local function read_parameters(fit, def)
    if type(def.parameters) ~= "table" or next(def.parameters) == nil then
      bad("parameters", "a table of parameters by name, { start, lo, hi } each", def.parameters)
    end
    for _, key in ipairs(host.sorted_keys(def.parameters)) do
      fit.parameters[#fit.parameters + 1] = read_parameter(key, def.parameters[key])
    end
    fit.builders = #fit.parameters -- the others are biases
    for i, name in ipairs(def.bias or {}) do
      if type(name) ~= "string" then bad("bias", "a list of columns that are observed", def.bias) end
      fit.biases[name] = fit.builders + i
      fit.parameters[fit.builders + i] = { name = "bias of " .. name, start = 0, lo = -math.huge, hi = math.huge }
    end
  end

  local function coded(entry, value) return entry.log and math.log(value) or value end
  local function decoded(entry, x) return entry.log and sim.exp(x) or x end

  -- The builder's parameters by name, of the list x.
  local function named(fit, x)
    local p = {}
    for i = 1, fit.builders do p[fit.parameters[i].name] = decoded(fit.parameters[i], x[i]) end
    return p
  end

  -- ---- Worlds -----------------------------------------------------------------------------------

  local function build(fit, x, log)
    local p = named(fit, x)
    local world = fit.builder(p)
    if getmetatable(world) ~= "World" then
      fail("sim.fit: 'world' has to return the world it builds; it returned %s", describe(world))
    end
    if fit.start then fit.start(world, log.first, p) end
    return world
  end

  -- What a world observes: its columns in order, { name, alias, noise }.
  local function columns_of(world)
    local columns = {}
    for _, list in ipairs(host.observations(world)) do
      for i = 1, #list do
        local by_field = list.fields and #list.fields == #list and list.fields[i] or i
        columns[#columns + 1] = { name = #list == 1 and list.name or ("%s.%s"):format(list.name, by_field),
          alias = ("%s.%d"):format(list.name, i), noise = list.noise }
      end
    end
    return columns
  end

  -- ---- Logs -------------------------------------------------------------------------------------

  local function numbers_of(what, column, count)
    if getmetatable(column) == "Array" then column = column:reshape(column.size):table() end
    if type(column) ~= "table" then fail("sim.fit: %s: a column of numbers expected, got %s", what, describe(column)) end
    if count and #column ~= count then
      fail("sim.fit: %s has %d rows, the times have %d", what, #column, count)
    end
    for i, value in ipairs(column) do
      if not host.finite(value) then fail("sim.fit: %s: row %d is %s", what, i, describe(value)) end
    end
    return column
  end

  -- Rows of steps, commands and what was observed.
  local function read_log(fit, what, data)
    if type(data) == "string" then
      local loaded, message = sim.data.load(data)
      if not loaded then fail("sim.fit: %s: %s", what, message) end
      what, data = data, loaded
    end
    if type(data) ~= "table" then bad("data", "a log, { t =, NAME = column }, a file's name, or a list of these", data) end
    local times = data.t or data.time
    if times == nil then fail("sim.fit: %s has no column 't' of times", what) end
    local log = { t = numbers_of(what .. ": t", times), steps = {}, u = {}, y = {}, first = {} }
    local rows = #log.t
    if rows < 3 then fail("sim.fit: %s has %d rows: three at least", what, rows) end
    for i = 1, rows - 1 do
      local steps = (log.t[i + 1] - log.t[i]) / fit.dt
      log.steps[i] = math.floor(steps + 0.5)
      if log.steps[i] < 1 then fail("sim.fit: %s: t has to rise, row %d is %.9g after %.9g", what, i + 1, log.t[i + 1], log.t[i]) end
      if math.abs(steps - log.steps[i]) > WHOLE * math.max(1, steps) + WHOLE * math.abs(log.t[i + 1]) / fit.dt then
        fail("sim.fit: %s: row %d is %.9g s after the one before, no multiple of the world's dt, %g s", what, i + 1,
          log.t[i + 1] - log.t[i], fit.dt)
      end
    end
    for k, name in ipairs(fit.actuators) do
      if data[name] == nil then fail("sim.fit: %s has no column '%s', which an actuator of the world is named", what, name) end
      log.u[k] = numbers_of(("%s: %s"):format(what, name), data[name], rows)
    end
    for k, column in ipairs(fit.columns) do
      local list = data[column.name] or data[column.alias]
      if list ~= nil then log.y[k] = numbers_of(("%s: %s"):format(what, column.name), list, rows) end
    end
    if next(log.y) == nil then
      local names = {}
      for k, column in ipairs(fit.columns) do names[k] = column.name end
      fail("sim.fit: %s has none of the columns that the world observes: %s", what, table.concat(names, ", "))
    end
    for name, column in pairs(data) do
      if type(name) == "string" and type(column) ~= "number" then log.first[name] = column[1] end
    end
    log.row_of = {} -- a step: the row whose commands it has
    for row, steps in ipairs(log.steps) do
      for _ = 1, steps do log.row_of[#log.row_of + 1] = row end
    end
    log.cut = math.max(2, math.floor(fit.split * rows + 0.5))
    log.rows = rows
    return log
  end

  local function read_logs(fit, data)
    if type(data) == "table" and data.t == nil and data.time == nil and data[1] ~= nil then
      for i, log in ipairs(data) do fit.logs[i] = read_log(fit, ("data[%d]"):format(i), log) end
    else
      fit.logs[1] = read_log(fit, "data", data)
    end
    -- what no log has is not compared
    for k = #fit.columns, 1, -1 do
      fit.columns[k].seen = false
      for _, log in ipairs(fit.logs) do fit.columns[k].seen = fit.columns[k].seen or log.y[k] ~= nil end
    end
  end

  local function read_noise(fit, noise)
    if noise ~= nil and type(noise) ~= "table" then bad("noise", "deviations by the names of columns", noise) end
    local known = {}
    for k, column in ipairs(fit.columns) do
      local sigma = noise and (noise[column.name] or noise[column.alias])
      if sigma ~= nil and (not host.finite(sigma) or sigma <= 0) then
        bad("noise." .. column.name, "a standard deviation above 0", sigma)
      end
      column.sigma = sigma or column.noise or 1
      fit.known_noise = (fit.known_noise ~= false) and (sigma or column.noise) ~= nil
      known[k], known[column.name], known[column.alias] = column.name, true, true
    end
    for _, list in ipairs { host.sorted_keys(noise or {}), host.sorted_keys(fit.biases) } do
      for _, name in ipairs(list) do
        if not known[name] then
          local near = type(name) == "string" and host.nearest(name, known)
          fail("sim.fit: noise or bias of '%s', which the world does not observe%s", tostring(name),
            near and ("; did you mean '%s'?"):format(near) or "")
        end
      end
    end
  end

  -- ---- Rollouts ---------------------------------------------------------------------------------

  -- Calls take(row, column, what is observed) for the rows of a log up to `last`.
  local function roll(fit, x, log, last, take)
    local world = build(fit, x, log)
    fit.rollouts = fit.rollouts + 1
    local u, passed, late = {}, 0, next(fit.delay) ~= nil
    for row = 1, last do
      local k = 0
      for _, list in ipairs(host.observations(world)) do
        for i = 1, #list do
          k = k + 1
          local bias = fit.biases[fit.columns[k].name] or fit.biases[fit.columns[k].alias]
          take(row, k, bias and list[i] + x[bias] or list[i])
        end
      end
      if row < last and not late then
        for a = 1, #fit.actuators do u[a] = log.u[a][row] end
        world:act(u)
        world:step(log.steps[row])
      end
      -- commands of so many steps ago; 0 before the first
      for k = 1, row < last and late and log.steps[row] or 0 do
        for a = 1, #fit.actuators do
          local from = log.row_of[passed + k - (fit.delay[a] or 0)]
          u[a] = from and log.u[a][from] or 0
        end
        world:act(u)
        world:step()
      end
      passed = passed + (log.steps[row] or 0)
    end
  end

  -- (What was seen - what was measured) / sigma, of the rows that are fitted.
  local function residuals(fit, x)
    local r = {}
    for _, log in ipairs(fit.logs) do
      roll(fit, x, log, log.cut, function(row, k, value)
        if log.y[k] then r[#r + 1] = (value - log.y[k][row]) / fit.columns[k].sigma end
      end)
    end
    return r
  end

  -- Root mean squares over both parts of the logs, and the curves for the report.
  local function compare(fit, x)
    local train, test, trained, tested = 0, 0, 0, 0
    for _, log in ipairs(fit.logs) do
      log.fitted = {}
      for k = 1, #fit.columns do log.fitted[k] = {} end
      roll(fit, x, log, log.rows, function(row, k, value)
        log.fitted[k][row] = value
        if log.y[k] then
          local square = ((value - log.y[k][row]) / fit.columns[k].sigma) ^ 2
          if row <= log.cut then train, trained = train + square, trained + 1
          else test, tested = test + square, tested + 1 end
        end
      end)
    end
    return math.sqrt(train / trained), tested > 0 and math.sqrt(test / tested) or nil
  end

  -- ---- What the data say ------------------------------------------------------------------------

  -- Columns of the Jacobian, times what each parameter may be expected to change by, in its singular directions.
  local function judge(fit, x, free)
    local jacobian = sim.jacobian(function(list) return residuals(fit, list) end, x)
    local rows = sim.array(jacobian)
    local count, n = rows.shape[1], #x
    local scale = {}
    for i, entry in ipairs(fit.parameters) do
      local range = entry.hi - entry.lo
      scale[i] = entry.log and 1 or math.max(math.abs(x[i]), range < math.huge and range / 2 or 0)
      if scale[i] == 0 then scale[i] = 1 end
      if not free[i] then scale[i] = 0 end
    end
    local J = rows * sim.array(scale)
    local _, s, V = sim.linalg.svd(J)
    -- noise that nobody knows is what is left
    local variance = 0
    if fit.known_noise then
      variance = 1
    elseif count > n then
      local r = residuals(fit, x)
      for i = 1, #r do variance = variance + r[i] ^ 2 / (count - n) end
    end
    -- directions that the residuals see bring covariance; the others are told
    local covariance, weak = sim.zeros(n, n), {}
    for k = 1, n do
      local value = k <= #s and s[k] or 0
      local direction = {}
      for i = 1, n do direction[i] = V[i][k] end
      if value > UNSEEN * s[1] then
        local v = (V:slice(nil, { k, k }) / value) * sim.array(scale):reshape(n, 1)
        covariance = covariance + v:mm(v:t()) * variance
      else
        local names = {}
        for i = 1, n do
          if free[i] and math.abs(direction[i]) > PART then names[#names + 1] = fit.parameters[i].name end
        end
        if #names > 0 then weak[#weak + 1] = names end
      end
    end
    return covariance, weak
  end

  local function told(weak)
    local texts = {}
    for i, names in ipairs(weak) do
      texts[i] = #names == 1 and ("the data do not say what %s is"):format(names[1])
        or ("the data see %s together only: fix one of them, or measure more"):format(table.concat(names, ", "))
    end
    return texts
  end

  -- ---- The result -------------------------------------------------------------------------------

  local Fit = { __name = "Fit" }
  Fit.__index = Fit
  Fit.__tostring = function(result)
    local lines = {}
    for i, row in ipairs(result.rows) do
      lines[i] = ("%-20s %12.6g %s"):format(row.name, row.value, row.deviation and ("+- %.3g (95 %%: %.6g to %.6g)"):format(
        row.deviation, row.low, row.high) or "not determined")
    end
    lines[#lines + 1] = ("%s after %d iterations, %d rollouts; residuals %.4g%s"):format(result.status, result.iterations,
      result.rollouts, result.train, result.test and (", %.4g beyond what was fitted"):format(result.test) or "")
    for _, text in ipairs(told(result.undetermined)) do lines[#lines + 1] = text end
    return table.concat(lines, "\n")
  end

  local function result_of(fit, x, info)
    local free, values = {}, {}
    for i, entry in ipairs(fit.parameters) do
      values[i] = entry.log and math.exp(x[i]) or x[i]
      free[i] = x[i] > coded(entry, entry.lo) and x[i] < coded(entry, entry.hi)
      if entry.log and entry.lo <= 0 then free[i] = x[i] < coded(entry, entry.hi) end
    end
    local covariance, weak = judge(fit, x, free)
    local unseen = {}
    for _, names in ipairs(weak) do
      for _, name in ipairs(names) do unseen[name] = true end
    end
    local result = setmetatable({ parameters = {}, bias = {}, deviation = {}, confidence95 = {}, undetermined = weak, rows = {},
      status = info.status, message = info.message, iterations = info.iterations, rollouts = fit.rollouts }, Fit)
    local sizes = {}
    for i, entry in ipairs(fit.parameters) do
      local spread = math.sqrt(math.max(0, covariance[{ i, i }]))
      sizes[i] = spread
      -- of logarithms the interval is one of factors
      local low = entry.log and values[i] * math.exp(-NORMAL * spread) or values[i] - NORMAL * spread
      local high = entry.log and values[i] * math.exp(NORMAL * spread) or values[i] + NORMAL * spread
      local row = { name = entry.name, value = values[i], start = entry.start, held = not free[i] }
      if free[i] and not unseen[entry.name] then
        row.deviation, row.low, row.high = entry.log and values[i] * spread or spread, low, high
        result.deviation[entry.name], result.confidence95[entry.name] = row.deviation, { low, high }
      end
      result.rows[i] = row
      if i <= fit.builders then result.parameters[entry.name] = values[i]
      else result.bias[entry.name:sub(9)] = values[i] end
    end
    local n = #values
    local correlation = {}
    for i = 1, n do
      correlation[i] = {}
      for k = 1, n do
        correlation[i][k] = i == k and 1 or sizes[i] * sizes[k] > 0 and covariance[{ i, k }] / (sizes[i] * sizes[k]) or 0
      end
    end
    result.correlation = sim.array(correlation)
    result.train, result.test = compare(fit, x)
    result.delays = {}
    for k, name in ipairs(fit.actuators) do result.delays[name] = fit.delay[k] and fit.delay[k] * fit.dt or nil end
    return result
  end

  -- ---- All of it --------------------------------------------------------------------------------

  local function open(def)
    if type(def) ~= "table" then fail("bad argument #1 to 'fit' (a table expected, got %s)", describe(def)) end
    for _, key in ipairs(host.sorted_keys(def)) do
      if not KEYS[key] then
        local near = type(key) == "string" and host.nearest(key, host.sorted_keys(KEYS))
        fail("bad argument #1 to 'fit' (unknown key '%s'%s)", tostring(key), near and ("; did you mean '%s'?"):format(near) or "")
      end
    end
    host.check_function("fit: world", 1, def.world)
    if def.start ~= nil then host.check_function("fit: start", 1, def.start) end
    local fit = { builder = def.world, start = def.start, parameters = {}, biases = {}, actuators = {}, logs = {}, delay = {},
      rollouts = 0, split = def.split == nil and SPLIT or def.split }
    if not host.finite(fit.split) or fit.split <= 0 or fit.split > 1 then bad("split", "a part of the rows, above 0 and at most 1", def.split) end
    if def.report ~= nil and (type(def.report) ~= "string" or not def.report:find "%.html$") then
      bad("report", "a name that ends with .html", def.report)
    end
    if def.bias ~= nil and type(def.bias) ~= "table" then bad("bias", "a list of columns that are observed", def.bias) end
    read_parameters(fit, def)
    -- a first world says what there is
    local x = {}
    for i, entry in ipairs(fit.parameters) do x[i] = coded(entry, entry.start) end
    fit.start = nil
    local world = build(fit, x, {})
    fit.start = def.start
    fit.dt = world.dt
    for i, actuator in ipairs(host.actuators(world)) do fit.actuators[i] = actuator.name end
    fit.columns = columns_of(world)
    if #fit.columns == 0 then fail("sim.fit: the world observes nothing: declare what was measured with world:observe { ... }") end
    read_noise(fit, def.noise)
    read_logs(fit, def.data)
    return fit, x
  end

  -- Delays to be tried, in steps: all of one actuator, one after the other.
  local function read_delays(fit, delays)
    if delays == nil then return {} end
    if type(delays) ~= "table" then bad("delays", "the longest delay to be tried, s, by the names of actuators", delays) end
    local list = {}
    for _, name in ipairs(host.sorted_keys(delays)) do
      local at
      for k, other in ipairs(fit.actuators) do at = other == name and k or at end
      if not at then fail("sim.fit: delays: the world has no actuator '%s'", tostring(name)) end
      if not host.finite(delays[name]) or delays[name] < 0 then bad("delays." .. name, "seconds, 0 or more", delays[name]) end
      list[#list + 1] = { at = at, most = math.floor(delays[name] / fit.dt + 0.5) }
    end
    return list
  end

  local function search(fit, x, def)
    local lower, upper = {}, {}
    for i, entry in ipairs(fit.parameters) do
      lower[i] = entry.log and (entry.lo > 0 and math.log(entry.lo) or -math.huge) or entry.lo
      upper[i] = coded(entry, entry.hi)
    end
    return sim.optimize.least_squares(function(list) return residuals(fit, list) end, x, { lower = lower, upper = upper,
      max_iterations = def.max_iterations, tolerance = def.tolerance, callback = def.callback and function(list, value, entry)
        return def.callback(named(fit, list), value, entry)
      end or nil })
  end

  -- sim.fit { world =, data =, parameters =, noise =, bias =, delays =, split =, start =, report = }
  local function identify(def)
    local fit, x = open(def)
    local found, sum, info = search(fit, x, def)
    -- delays are whole steps: one by one, as long as they help
    for _, delay in ipairs(read_delays(fit, def.delays)) do
      local best = 0
      for steps = 1, delay.most do
        fit.delay[delay.at] = steps
        local other, other_sum, other_info = search(fit, found, def)
        if other_sum < sum then found, sum, info, best = other, other_sum, other_info, steps end
      end
      fit.delay[delay.at] = best
    end
    local result = result_of(fit, found, info)
    if def.report then host.fit_report(fit, result, told(result.undetermined), def) end
    return result
  end

  rawset(sim, "fit", identify)
end
