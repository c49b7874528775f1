-- sim.fit: estimates parameters of a world from logs (fit_log.lua) of its commands and observations.

local SPLIT = 0.8         -- fraction of a log's rows that is used for the fit
local DUST = 1e-9         -- as a fraction of a step: smaller time differences count as 0
-- a direction is not determined if its singular value, divided by the largest one of the scaled Jacobian, is below this
local UNSEEN = 1e-7
local LEAST = 1e-3        -- smallest scale of a parameter without bounds, in its unit
local PART = 0.2          -- a parameter with at least this share in an undetermined direction is reported
local NORMAL = 1.95996398 -- half-width, in standard deviations, of the interval with 95 % of a normal distribution
local MAD = 1.4826        -- standard deviation divided by the median absolute value, for a normal distribution
-- estimation of an unknown loss scale: number of searches, iterations of each search, relative change that ends them
local SCALES, FEW, SAME = 20, 3, 1e-2
-- Residuals, in standard deviations, beyond which the losses are not quadratic. With these values the losses keep 95 %
-- of the efficiency of least squares for normal noise.
local LOSSES = { l2 = math.huge, huber = 1.345, cauchy = 2.3849 }

local KEYS = { world = true, data = true, parameters = true, noise = true, bias = true, delays = true, split = true,
  start = true, report = true, max_iterations = true, tolerance = true, title = true, callback = true, loss = true,
  scale = true, windows = true, time_unit = true }
local WINDOW_KEYS = { rows = true, seconds = true, free = true }

return function(sim, host)
  local fail, describe = host.fail, host.describe

  local function bad(key, expected, got)
    fail("bad argument #1 to 'fit' (key '%s': %s expected, got %s)", key, expected, describe(got))
  end

  local function check_keys(what, def, known)
    for _, key in ipairs(host.sorted_keys(def)) do
      if not known[key] then
        local near = type(key) == "string" and host.nearest(key, host.sorted_keys(known))
        fail("bad argument #1 to '%s' (unknown key '%s'%s)", what, tostring(key), near and ("; did you mean '%s'?"):format(near) or "")
      end
    end
  end

  -- ---- Parameters -------------------------------------------------------------------------------

  -- Reads one parameter: { name, start, lo, hi, log }. On a log scale all values are logarithms.
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
    if entry.log and entry.start <= 0 then bad(what, "a start above 0, because of log = true", entry.start) end
    return entry
  end

  local function read_parameters(fit, def)
    if type(def.parameters) ~= "table" or next(def.parameters) == nil then
      bad("parameters", "a table of parameters by name, { start, lo, hi } each", def.parameters)
    end
    for _, key in ipairs(host.sorted_keys(def.parameters)) do
      fit.parameters[#fit.parameters + 1] = read_parameter(key, def.parameters[key])
    end
    fit.builders = #fit.parameters -- the other parameters are biases and free parameters of the windows
    for i, name in ipairs(def.bias or {}) do
      if type(name) ~= "string" then bad("bias", "a list of columns that are observed", def.bias) end
      fit.biases[name] = fit.builders + i
      fit.parameters[fit.builders + i] = { name = "bias of " .. name, start = 0, lo = -math.huge, hi = math.huge }
    end
    fit.shared = #fit.parameters
  end

  local function coded(entry, value) return entry.log and math.log(value) or value end
  local function decoded(entry, x) return entry.log and sim.exp(x) or x end

  -- Returns the builder's parameters by name, with the values in the list x.
  local function named(fit, x)
    local p = {}
    for i = 1, fit.builders do p[fit.parameters[i].name] = decoded(fit.parameters[i], x[i]) end
    return p
  end

  -- ---- Worlds -----------------------------------------------------------------------------------

  -- The world of a window or, if no window is given, a world without measured initial values.
  local function build(fit, x, window)
    local p = named(fit, x)
    local world = fit.builder(p)
    if getmetatable(world) ~= "World" then
      fail("sim.fit: 'world' has to return the world it builds; it returned %s", describe(world))
    end
    if fit.start and window then
      for i, name in ipairs(fit.free) do p[name] = decoded(fit.parameters[window.free + i], x[window.free + i]) end
      fit.start(world, window.log.first(window.from), p)
    end
    return world
  end

  -- The observations of a world in order: { name, alias, noise }.
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

  -- Splits the rows from `from` to `to` into windows. Each window has its own start.
  local function cut_windows(fit, log, from, to, windows)
    local size = fit.window
    while from <= to do
      local last = to
      if size and size.rows then
        last = math.min(to, from + size.rows - 1)
      elseif size then
        last = from
        while last < to and (log.at[last + 1] - log.at[from]) * fit.dt <= size.seconds do last = last + 1 end
      end
      -- a single row at the end contains no motion
      if last == from and #windows > 0 then
        windows[#windows].to = last
      else
        windows[#windows + 1] = { log = log, from = from, to = last }
      end
      from = last + 1
    end
    return windows
  end

  local function read_logs(fit, data)
    local several = type(data) == "table" and data.t == nil and data.time == nil and data[1] ~= nil
    for i, log in ipairs(several and data or { data }) do
      fit.logs[i] = host.fit_log(fit, several and ("data[%d]"):format(i) or "data", log)
    end
    if #fit.logs == 0 then
      bad("data", "a log, { t =, NAME = column }, a file's name, or a list of these", data)
    end
    for _, log in ipairs(fit.logs) do
      log.fitted_by = cut_windows(fit, log, 1, log.cut, {})
      log.shown_by = fit.window and #fit.free == 0 and cut_windows(fit, log, log.cut + 1, log.rows, {}) or {}
      if not fit.window then log.shown_by = { { log = log, from = 1, to = log.rows } } end
      for _, window in ipairs(log.fitted_by) do fit.windows[#fit.windows + 1] = window end
    end
    -- observations that no log contains are not compared
    for k = #fit.columns, 1, -1 do
      fit.columns[k].seen = false
      for _, log in ipairs(fit.logs) do fit.columns[k].seen = fit.columns[k].seen or log.y[k] ~= nil end
    end
  end

  -- Each fitted window has its own free parameters, which are passed to `start`.
  local function add_free_parameters(fit, x, free)
    for w, window in ipairs(fit.windows) do
      window.free = #fit.parameters
      for _, name in ipairs(fit.free) do
        local def = free[name]
        local start = type(def) == "table" and def[1] or def
        if type(start) == "function" then
          start = start(window.log.first(window.from))
          def = type(def) == "table" and { start, def[2], def[3], log = def.log } or start
        end
        local entry = read_parameter(name, def)
        entry.name = ("%s of window %d"):format(name, w)
        fit.parameters[#fit.parameters + 1] = entry
        x[#fit.parameters] = coded(entry, entry.start)
      end
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
          fail("sim.fit: noise or bias is given for '%s', which the world does not observe%s", tostring(name),
            near and ("; did you mean '%s'?"):format(near) or "")
        end
      end
    end
  end

  -- ---- Rollouts ---------------------------------------------------------------------------------

  local function observed(fit, x, world)
    local seen, k = {}, 0
    for _, list in ipairs(host.observations(world)) do
      for i = 1, #list do
        k = k + 1
        local bias = fit.biases[fit.columns[k].name] or fit.biases[fit.columns[k].alias]
        seen[k] = bias and list[i] + x[bias] or list[i]
      end
    end
    return seen
  end

  -- The commands of a window's steps, and the steps at which they change.
  local function commands_of(fit, window, steps)
    local lists, changes = {}, { true }
    for a = 1, #fit.actuators do
      local list = host.fit_commands(window.log, a, window.log.at[window.from], steps, fit.delay[a] or 0)
      for k = 2, steps do changes[k] = changes[k] or list[k] ~= list[k - 1] end
      lists[a] = list
    end
    return lists, changes
  end

  -- Steps a world through a window. The function walk(k) advances it to step k.
  local function walker(fit, world, window, steps)
    local lists, changes = commands_of(fit, window, steps)
    local now, u = 0, {}
    return function(target)
      while now < target do
        if changes[now + 1] then
          for a = 1, #lists do u[a] = lists[a][now + 1] end
          world:act(u)
        end
        local next = now + 1
        while next < target and not changes[next + 1] do next = next + 1 end
        world:step(next - now)
        now = next
      end
    end
  end

  -- Calls take(row, column, observation) for all rows of a window if `all` is true, otherwise for the rows with
  -- measurements. Observations between two steps are interpolated.
  local function roll(fit, x, window, all, take)
    local log = window.log
    local first = log.at[window.from]
    local world = build(fit, x, window)
    local walk = walker(fit, world, window, math.ceil(log.at[window.to] - first - DUST))
    local seen, at = {}, {} -- observations and indices of the last two steps
    local function look(step)
      if at[2] ~= step then
        walk(step)
        seen[1], at[1], seen[2], at[2] = seen[2], at[2], observed(fit, x, world), step
      end
    end
    fit.rollouts = fit.rollouts + 1
    for row = window.from, window.to do
      local wanted = all
      for k = 1, #fit.columns do
        local list = log.y[k]
        wanted = wanted or (list ~= nil and list[row] == list[row])
      end
      local place = log.at[row] - first
      local step = math.floor(place + DUST)
      local part = place - step
      if wanted and at[1] ~= step then look(step) end
      if wanted and part > DUST then look(step + 1) end
      for k = 1, wanted and #fit.columns or 0 do
        local of = at[1] == step and seen[1] or seen[2]
        take(row, k, part > DUST and of[k] * (1 - part) + seen[2][k] * part or of[k])
      end
    end
  end

  -- Returns the sum of the losses of the residuals, and the square roots of the slopes of the losses.
  local function losses(fit, r)
    if fit.loss_scale < math.huge then return host.sum_of_losses(r, fit.loss, fit.loss_scale) end
    local sum, roots = 0.0, {}
    for i = 1, #r do sum, roots[i] = sum + r[i] * r[i], 1 end
    return sum, roots
  end

  -- (observed - measured) / sigma for the rows of the fit.
  local function residuals(fit, x)
    local r = {}
    for _, window in ipairs(fit.windows) do
      roll(fit, x, window, false, function(row, k, value)
        local measured = window.log.y[k] and window.log.y[k][row]
        if measured and measured == measured then
          r[#r + 1] = (value - measured) / fit.columns[k].sigma
        end
      end)
    end
    if #r == 0 then fail("sim.fit: the fitted rows contain no measurements") end
    return r
  end

  -- Computes the root mean square errors over both parts of the logs, and the curves for the report.
  local function compare(fit, x)
    local train, test, trained, tested = 0, 0, 0, 0
    local function show(log, window)
      roll(fit, x, window, true, function(row, k, value)
        log.fitted[k][row] = value
        local measured = log.y[k] and log.y[k][row]
        if measured and measured == measured then
          local square = losses(fit, { (value - measured) / fit.columns[k].sigma })
          if row <= log.cut then train, trained = train + square, trained + 1
          else test, tested = test + square, tested + 1 end
        end
      end)
    end
    for _, log in ipairs(fit.logs) do
      log.fitted = {}
      for k = 1, #fit.columns do log.fitted[k] = {} end
      for _, window in ipairs(fit.window and log.fitted_by or {}) do show(log, window) end
      for _, window in ipairs(log.shown_by) do show(log, window) end
    end
    return math.sqrt(train / trained), tested > 0 and math.sqrt(test / tested) or nil
  end

  -- ---- Identifiability ------------------------------------------------------------------------

  -- Singular value decomposition of the Jacobian, with each column scaled by the expected change of its parameter.
  local function judge(fit, x, free)
    local jacobian, r = sim.jacobian(function(list) return residuals(fit, list) end, x)
    local sum, roots = losses(fit, r)
    local rows = sim.array(jacobian) * sim.array(roots):reshape(#roots, 1)
    local count, n = rows.shape[1], #x
    local scale = {}
    for i, entry in ipairs(fit.parameters) do
      local range = entry.hi - entry.lo
      scale[i] = entry.log and 1 or math.max(math.abs(x[i]), range < math.huge and range / 2 or LEAST)
      if not free[i] then scale[i] = 0 end
    end
    local J = rows * sim.array(scale)
    local _, s, V = sim.linalg.svd(J)
    -- unknown noise is estimated from the residuals
    local variance = 0
    if fit.known_noise then
      variance = 1
    elseif count > n then
      variance = sum / (count - n)
    end
    -- directions that the residuals determine add to the covariance; the other directions are reported
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
      texts[i] = #names == 1 and ("the data do not determine %s"):format(names[1])
        or ("the data determine %s only together: fix one of them, or measure more"):format(table.concat(names, ", "))
    end
    return texts
  end

  -- ---- The result -------------------------------------------------------------------------------

  local Fit = host.close_class({ __name = "Fit" }, "Fit", { "windows", "scale", "train", "test", "correlation", "delays" })
  Fit.__tostring = function(result)
    local lines = {}
    for i, row in ipairs(result.rows) do
      lines[i] = ("%-20s %12.6g %s"):format(row.name, row.value, row.deviation and ("+- %.3g (95 %%: %.6g to %.6g)"):format(
        row.deviation, row.low, row.high) or row.held and "at its bound" or "not determined")
    end
    lines[#lines + 1] = ("%s after %d iterations, %d rollouts; residuals %.4g%s"):format(result.status, result.iterations,
      result.rollouts, result.train, result.test and (", %.4g beyond the fitted rows"):format(result.test) or "")
    for _, text in ipairs(told(result.undetermined)) do lines[#lines + 1] = text end
    for _, name in ipairs(host.sorted_keys(result.missing)) do
      lines[#lines + 1] = ("%s: %d samples are missing and were left out"):format(name, result.missing[name])
    end
    for _, name in ipairs(host.sorted_keys(result.held)) do
      lines[#lines + 1] = ("%s: %d commands are missing; each is replaced by the previous command"):format(name, result.held[name])
    end
    if result.repeated > 0 then
      lines[#lines + 1] = ("%d rows have the same time as the previous row"):format(result.repeated)
    end
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
      status = info.status, message = info.message, iterations = info.iterations, rollouts = fit.rollouts,
      missing = fit.count.missing, held = fit.count.held, repeated = fit.count.repeated,
      scale = fit.loss ~= "l2" and fit.loss_scale or nil }, Fit)
    local sizes = {}
    for i, entry in ipairs(fit.parameters) do
      local spread = math.sqrt(math.max(0, covariance[{ i, i }]))
      sizes[i] = spread
      -- on a log scale the interval is given by factors
      local low = entry.log and values[i] * math.exp(-NORMAL * spread) or values[i] - NORMAL * spread
      local high = entry.log and values[i] * math.exp(NORMAL * spread) or values[i] + NORMAL * spread
      local row = { name = entry.name, value = values[i], start = entry.start, held = not free[i] }
      if free[i] and not unseen[entry.name] then
        row.deviation, row.low, row.high = entry.log and values[i] * spread or spread, low, high
        result.deviation[entry.name], result.confidence95[entry.name] = row.deviation, { low, high }
      end
      if i <= fit.shared then result.rows[i] = row end
      if i <= fit.builders then result.parameters[entry.name] = values[i]
      elseif i <= fit.shared then result.bias[entry.name:sub(9)] = values[i] end
    end
    if fit.window then
      result.windows = {}
      for w, window in ipairs(fit.windows) do
        result.windows[w] = { t = window.log.t[window.from], rows = window.to - window.from + 1 }
        for i, name in ipairs(fit.free) do result.windows[w][name] = values[window.free + i] end
      end
    end
    local n = fit.shared
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

  -- ---- Options ----------------------------------------------------------------------------------

  local function read_windows(fit, def)
    local windows = def.windows
    if windows == nil then return end
    if type(windows) == "number" then windows = { seconds = windows } end
    if type(windows) ~= "table" then bad("windows", "seconds, or { rows = } or { seconds = }", windows) end
    check_keys("fit: windows", windows, WINDOW_KEYS)
    local rows, seconds = windows.rows, windows.seconds
    if (rows == nil) == (seconds == nil) then bad("windows", "either rows or seconds", rows == nil and "neither" or "both") end
    if rows ~= nil and not (host.whole(rows) and rows >= 2) then bad("windows.rows", "2 rows or more", rows) end
    if seconds ~= nil and not (host.finite(seconds) and seconds > 0) then bad("windows.seconds", "seconds above 0", seconds) end
    if def.start == nil then
      fail("sim.fit: windows need 'start': function(world, first, p), which puts a world into the state that a window starts in")
    end
    fit.window = { rows = rows, seconds = seconds }
    if windows.free ~= nil and type(windows.free) ~= "table" then bad("windows.free", "parameters by name", windows.free) end
    for _, name in ipairs(host.sorted_keys(windows.free or {})) do
      if def.parameters[name] ~= nil then
        fail("sim.fit: '%s' is both a common parameter and a parameter of each window", tostring(name))
      end
      fit.free[#fit.free + 1] = name
    end
  end

  local function read_loss(fit, def)
    fit.loss = def.loss == nil and "l2" or def.loss
    if LOSSES[fit.loss] == nil then bad("loss", "'l2', 'huber' or 'cauchy'", def.loss) end
    if def.scale ~= nil and not (host.finite(def.scale) and def.scale > 0) then
      bad("scale", "a positive number of standard deviations (larger residuals count less)", def.scale)
    end
    if def.scale ~= nil and fit.loss == "l2" then bad("scale", "a loss that has a scale ('huber' or 'cauchy')", fit.loss) end
    fit.given_scale = def.scale
    fit.loss_scale = def.scale or LOSSES[fit.loss]
  end

  -- ---- Entry point ------------------------------------------------------------------------------

  local function open(def)
    if type(def) ~= "table" then fail("bad argument #1 to 'fit' (a table expected, got %s)", describe(def)) end
    check_keys("fit", def, KEYS)
    host.check_function("fit: world", 1, def.world)
    if def.start ~= nil then host.check_function("fit: start", 1, def.start) end
    local fit = { builder = def.world, start = def.start, parameters = {}, biases = {}, actuators = {}, logs = {}, delay = {},
      rollouts = 0, split = def.split == nil and SPLIT or def.split, windows = {}, free = {}, time_unit = def.time_unit,
      count = { missing = {}, held = {}, repeated = 0 } }
    if not host.finite(fit.split) or fit.split <= 0 or fit.split > 1 then
      bad("split", "a fraction of the rows, above 0 and at most 1", def.split)
    end
    if def.report ~= nil and (type(def.report) ~= "string" or not def.report:find "%.html$") then
      bad("report", "a name that ends with .html", def.report)
    end
    if def.bias ~= nil and type(def.bias) ~= "table" then bad("bias", "a list of columns that are observed", def.bias) end
    read_parameters(fit, def)
    read_windows(fit, def)
    read_loss(fit, def)
    -- build a first world to find its actuators and observations
    local x = {}
    for i, entry in ipairs(fit.parameters) do x[i] = coded(entry, entry.start) end
    local world = build(fit, x, nil)
    fit.dt = world.dt
    for i, actuator in ipairs(host.actuators(world)) do fit.actuators[i] = actuator.name end
    fit.columns = columns_of(world)
    if #fit.columns == 0 then fail("sim.fit: the world has no observations: declare the measured ones with world:observe { ... }") end
    read_noise(fit, def.noise)
    read_logs(fit, def.data)
    if #fit.free > 0 then add_free_parameters(fit, x, def.windows.free) end
    return fit, x
  end

  -- Reads the largest delay to try for each actuator, in steps.
  local function read_delays(fit, delays)
    if delays == nil then return {} end
    if type(delays) ~= "table" then
      bad("delays", "the longest delays to be tried (s) by the names of actuators", delays)
    end
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

  local function search_once(fit, x, def)
    local lower, upper = {}, {}
    for i, entry in ipairs(fit.parameters) do
      lower[i] = entry.log and (entry.lo > 0 and math.log(entry.lo) or -math.huge) or entry.lo
      upper[i] = coded(entry, entry.hi)
    end
    local robust = fit.loss_scale < math.huge
    return sim.optimize.least_squares(function(list) return residuals(fit, list) end, x, { lower = lower, upper = upper,
      loss = robust and fit.loss or nil, scale = robust and fit.loss_scale or nil,
      max_iterations = def.max_iterations, tolerance = def.tolerance, callback = def.callback and function(list, value, entry)
        return def.callback(named(fit, list), value, entry)
      end or nil })
  end

  -- A robust estimate of the residuals' standard deviation, which outliers hardly affect.
  local function deviation_of(fit, x)
    local sizes = {}
    for i, r in ipairs(residuals(fit, x)) do sizes[i] = math.abs(r) end
    table.sort(sizes)
    return MAD * sizes[(#sizes + 1) // 2]
  end

  -- If the noise is unknown, short searches estimate the scale of the loss from the residuals as long as the scale
  -- decreases. The scale is then kept.
  local function search(fit, x, def)
    if fit.loss == "l2" or fit.known_noise or fit.given_scale then return search_once(fit, x, def) end
    for round = 1, SCALES do
      local scale = LOSSES[fit.loss] * deviation_of(fit, x)
      if round > 1 and scale >= (1 - SAME) * fit.loss_scale then break end
      fit.loss_scale = scale > 0 and scale or math.huge -- without any noise there are no outliers to limit
      x = search_once(fit, x, { max_iterations = FEW })
    end
    return search_once(fit, x, def)
  end

  -- sim.fit { world =, data =, parameters =, noise =, bias =, delays =, split =, start =, report = }
  local function identify(def)
    local fit, x = open(def)
    local found, sum, info = search(fit, x, def)
    fit.given_scale = fit.loss_scale -- use the same loss for all delays, so that they can be compared
    -- delays are whole steps: they are tried one after the other as long as the loss decreases
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
