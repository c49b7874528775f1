-- sim.optimize.minimize: reads options, evaluates the function of a list of numbers, and records the run. The methods
-- are in optimize_*.lua.

local MAX_ITERATIONS = 1000
local TOLERANCE = 1e-8 -- about the square root of the unit roundoff

-- options by name: { expected, test, default }; tables of parameters are checked when they are read
local function positive(v) return type(v) == "number" and v > 0 and v < math.huge end
local function fraction(v) return type(v) == "number" and v >= 0 and v < 1 end
local function whole(v) return type(v) == "number" and math.tointeger(v) ~= nil end
local function count(v) return whole(v) and v >= 1 end
local function flag(v) return type(v) == "boolean" end
local function any() return true end
local function callable(v)
  local meta = debug.getmetatable(v)
  return type(v) == "function" or type(meta) == "table" and meta.__call ~= nil
end
local function rate(v) return positive(v) or type(v) == "function" end

local COMMON = {
  method = { "text", any },
  max_iterations = { "positive integer", count, MAX_ITERATIONS },
  tolerance = { "number from 0 to 1", fraction, TOLERANCE },
  callback = { "function", callable },
  history = { "true or false", flag, false },
  lower = { "number or table of the parameters' shape", any },
  upper = { "number or table of the parameters' shape", any },
  journal = { "the name of a file", function(v) return type(v) == "string" and v ~= "" end },
}
local GRADIENT = { gradient = { "true or false", flag, false } }
local FIRST_ORDER = {
  gradient = GRADIENT.gradient,
  learning_rate = { "positive number or function of the iteration", rate, 0.01 },
  clip = { "positive number", positive },
  keep = { "'best' or 'last'", function(v) return v == "best" or v == "last" end, "best" },
}
local DEPENDS = { "positive integer", count } -- the method chooses the default
local MOMENTUM = { "number from 0 to 1", fraction, 0.0 }
local EPSILON = { "positive number", positive, 1e-8 }
local OWN = { -- the groups of options of each method
  lbfgs = { GRADIENT, { memory = { "positive integer", count, 30 } } },
  sgd = { FIRST_ORDER, { momentum = MOMENTUM, nesterov = { "true or false", flag, false } } },
  adam = { FIRST_ORDER, { beta1 = { "number from 0 to 1", fraction, 0.9 },
    beta2 = { "number from 0 to 1", fraction, 0.999 }, epsilon = EPSILON } },
  rmsprop = { FIRST_ORDER, { momentum = MOMENTUM, epsilon = EPSILON,
    decay = { "number from 0 to 1", fraction, 0.99 } } },
  ["nelder-mead"] = { { max_iterations = DEPENDS, initial_step = { "number or table of the parameters' shape", any },
    restarts = { "integer, 0 or more",
      function(v) return whole(v) and v >= 0 end, 2 } } },
  cmaes = { { max_iterations = DEPENDS, sigma = { "positive number or table of the parameters' shape", any },
    population = { "integer of at least 4", function(v) return whole(v) and v >= 4 end },
    restarts = { "integer, 0 or more", function(v) return whole(v) and v >= 0 end, 0 },
    seed = { "integer", function(v) return whole(v) end },
    target = { "number", function(v) return type(v) == "number" and v == v end } } },
  nlopt = { GRADIENT, { max_iterations = DEPENDS, algorithm = { "text", any, "bobyqa" },
    initial_step = { "number or table of the parameters' shape", any },
    seed = { "integer of at least 0", function(v) return whole(v) and v >= 0 end } } },
  least_squares = { { max_iterations = DEPENDS, scale = { "positive number", positive, 1.0 },
    loss = { "'l2', 'huber' or 'cauchy'", function(v) return v == "l2" or v == "huber" or v == "cauchy" end, "l2" } } },
}
local METHODS = { "adam", "cmaes", "lbfgs", "nelder-mead", "nlopt", "rmsprop", "sgd" }

local function known_options(method)
  local known, names = {}, {}
  for _, group in ipairs { COMMON, table.unpack(OWN[method]) } do
    for name, option in pairs(group) do known[name] = option end
  end
  if method == "least_squares" then known.method = nil end
  for name in pairs(known) do names[#names + 1] = name end
  table.sort(names)
  return known, names
end

local function dot(a, b)
  local sum = 0.0
  for i = 1, #a do sum = sum + a[i] * b[i] end
  return sum
end

return function(sim, host)
  local optimize = {}

  -- ---- Options ----------------------------------------------------------------------------------

  local function read_method(what, options)
    local method = options.method == nil and "lbfgs" or options.method
    if type(method) ~= "string" or not OWN[method] or method == "least_squares" then
      local near = type(method) == "string" and host.nearest(method, METHODS)
      host.fail("bad argument #3 to '%s' (key 'method': one of '%s' expected, got %s%s)", what,
        table.concat(METHODS, "', '"), host.describe(method),
        near and ("; did you mean '%s'?"):format(near) or "")
    end
    return method
  end

  local function unknown_key(what, method, key, names)
    local others = {}
    for _, other in ipairs(METHODS) do
      if known_options(other)[key] then others[#others + 1] = "'" .. other .. "'" end
    end
    if #others > 0 and method ~= "least_squares" then
      host.fail("bad argument #3 to '%s' (key '%s' belongs to method %s, not to '%s')", what, key,
        table.concat(others, ", "), method)
    end
    local near = type(key) == "string" and host.nearest(key, names)
    host.fail("bad argument #3 to '%s' (unknown key '%s'%s)", what, tostring(key),
      near and ("; did you mean '%s'?"):format(near)
        or "; known: " .. table.concat(table.move(names, 1, #names, 1, {}), ", "))
  end

  local function read_options(what, options, method)
    if options ~= nil and type(options) ~= "table" then
      host.fail("bad argument #3 to '%s' (table expected, got %s)", what, host.describe(options))
    end
    options = options or {}
    method = method or read_method(what, options)
    local known, names = known_options(method)
    local read = {}
    for name, option in pairs(known) do read[name] = option[3] end
    for _, name in ipairs(names) do
      local value = options[name]
      if value ~= nil and known[name] then
        if not known[name][2](value) then
          host.fail("bad argument #3 to '%s' (key '%s': %s expected, got %s)", what, name,
            known[name][1], host.describe(value))
        end
        read[name] = value
      end
    end
    read.method = method
    for _, key in ipairs(host.sorted_keys(options)) do
      if not known[key] then unknown_key(what, method, key, names) end
    end
    return read
  end

  -- ---- Parameters -------------------------------------------------------------------------------

  -- Returns the bounds as lists, or nil if there are none. Moves x between the bounds.
  local function read_bounds(what, layout, options, x)
    if options.lower == nil and options.upper == nil then return nil, nil end
    local lower = layout:read(options.lower, what .. ": lower", -math.huge)
    local upper = layout:read(options.upper, what .. ": upper", math.huge)
    for i = 1, layout.count do
      if lower[i] ~= lower[i] or upper[i] ~= upper[i] then
        host.fail("%s: %s: %s: a number expected, got nan", what, lower[i] ~= lower[i] and "lower" or "upper",
          layout:name(i))
      end
      if not (lower[i] <= upper[i]) then
        host.fail("%s: %s: the lower bound %.14g is above the upper bound %.14g", what,
          layout:name(i), lower[i], upper[i])
      end
      x[i] = math.max(lower[i], math.min(upper[i], x[i]))
    end
    return lower, upper
  end

  -- Makes the data of a run for the methods: the parameters as a list x0, the bounds, the options, and the functions
  -- below.
  local function new_run(what, f, p0, options, method)
    host.check_function(what, 1, f)
    options = read_options(what, options, method)
    local layout = host.layout(p0, "p")
    if layout.count == 0 then
      host.fail("bad argument #2 to '%s' (parameters expected, got %s)", what,
        type(p0) == "table" and "a table without numbers" or host.describe(p0))
    end
    local x = {}
    for i, value in ipairs(layout.start) do
      if not host.finite(value) then
        host.fail("bad argument #2 to '%s' (%s is %s: parameters have to be finite)", what,
          layout:name(i), host.describe(value))
      end
      x[i] = value + 0.0
    end
    local run = { what = what, f = f, layout = layout, options = options, n = layout.count, x0 = x,
      iterations = 0, evaluations = 0, history = options.history and {} or nil }
    run.lower, run.upper = read_bounds(what, layout, options, x)
    return run
  end

  local function all_finite(x)
    for i = 1, #x do
      if not host.finite(x[i]) then return false end
    end
    return true
  end

  local function check_value(run, value)
    if type(value) ~= "number" then
      host.fail("%s: the function has to return a number as its first result; it returned %s", run.what,
        host.describe(value))
    end
    return value
  end

  -- ---- Journal: methods depend only on the results given to them, so it stores the results --------

  local HEAD, EVALUATION = 0, 1 -- kinds of records

  local function open_journal(run)
    local path, C = run.options.journal, host.parallel
    local journal, message = C.journal(path)
    if not journal then host.fail("%s: %s", run.what, message) end
    local code = type(run.f) == "function" and debug.getinfo(run.f, "S").what == "Lua" and string.dump(run.f, true) or ""
    local head = C.hash(C.pack({ run.what, run.options.method, run.layout.count, code }, "head"))
    local kind, bytes = journal:next()
    if kind == nil then
      journal:add(HEAD, C.pack(head, "head"))
    elseif kind ~= HEAD or C.unpack(bytes) ~= head then
      journal:close()
      host.fail("%s: the journal '%s' belongs to another run, "
        .. "with another function, method or number of parameters; remove this journal, or name another", run.what, path)
    end
    return journal
  end

  -- Returns the result of `compute` at x, which must be packable. The result comes from the journal as long as the
  -- journal contains more results.
  local function remember(run, x, compute)
    run.evaluations = run.evaluations + 1
    if not run.options.journal then return compute() end
    local C = host.parallel
    if not run.journal then
      run.journal = open_journal(run)
      run.recalls = true
    end
    -- results of an earlier run must belong to the same parameters
    if run.recalls then
      local _, bytes = run.journal:next()
      if bytes and type(bytes) == "string" then
        local before = C.unpack(bytes)
        for i = 1, run.n do
          if before.x[i] ~= x[i] then
            host.fail("%s: the journal '%s' belongs to another run: evaluation %d was at other parameters "
              .. "(another start, other options, or no 'seed'); remove this journal, or name another",
              run.what, run.options.journal, run.evaluations)
          end
        end
        return before.answer
      end
      run.recalls = false
    end
    local answer = compute()
    run.journal:add(EVALUATION, C.pack({ x = table.move(x, 1, run.n, 1, {}), answer = answer }, "evaluation"))
    return answer
  end

  -- The value at x, or math.huge if the value is not finite.
  local function value_at(run, x)
    if not all_finite(x) then return math.huge end
    local value = remember(run, x, function() return check_value(run, (run.f(run.layout:build(x)))) end)
    return host.finite(value) and value or math.huge
  end

  -- The value and its derivatives (a list), or math.huge and a message if a number is not finite.
  local function gradient_at(run, x)
    if not all_finite(x) then return math.huge, "a parameter overflowed" end
    local answer = remember(run, x, function()
      local p, value, g = run.layout:build(x), nil, nil
      if run.options.gradient then
        value, g = run.f(p)
      else
        value, g = host.value_and_grad(run.f, p)
      end
      check_value(run, value)
      return { value = value, slope = host.finite(value) and run.layout:read(g, run.what .. ": gradient") or nil }
    end)
    local value, g = answer.value, answer.slope
    if not host.finite(value) then
      return math.huge, ("the value is %s"):format(host.describe(value))
    end
    for i = 1, run.n do
      if not host.finite(g[i]) then
        return math.huge, ("the derivative with respect to %s is %s"):format(run.layout:name(i),
          host.describe(g[i]))
      end
    end
    return value, g
  end

  -- ---- The record of a run ----------------------------------------------------------------------

  local Run = {}
  Run.__index = Run
  -- Closes the journal however the run ends, so that the next run can use it.
  function Run:__close()
    if self.journal then self.journal:close() end
  end
  Run.value_at, Run.gradient_at, Run.remember = value_at, gradient_at, remember

  function Run:clip(x)
    if self.lower then
      for i = 1, self.n do x[i] = math.max(self.lower[i], math.min(self.upper[i], x[i])) end
    end
    return x
  end

  -- True if a bound prevents parameter i from moving down the gradient.
  function Run:held(x, g, i)
    return self.lower ~= nil
      and (g[i] > 0 and x[i] <= self.lower[i] or g[i] < 0 and x[i] >= self.upper[i])
  end

  -- The size with which changes of the value are compared. It is the size of the value or, if that goes to 0, the size
  -- of the value at the start, limited to 1.
  function Run:scale(value)
    return math.max(math.abs(value), math.min(1, math.abs(self.first)))
  end

  -- Returns the largest derivative with respect to a free parameter, and the largest scaled derivative. A scaled
  -- derivative refers to relative changes of the value and of the parameter, whose size counts as at least 1.
  function Run:slope(x, value, g)
    local most, relative = 0.0, 0.0
    for i = 1, self.n do
      if not self:held(x, g, i) then
        most = math.max(most, math.abs(g[i]))
        relative = math.max(relative, math.abs(g[i]) * math.max(1, math.abs(x[i])))
      end
    end
    return most, relative == 0 and 0.0 or relative / self:scale(value)
  end

  -- Value and gradient at the start; raises an error if they are not finite.
  function Run:start()
    local value, g = self:gradient_at(self.x0)
    if type(g) == "string" then
      host.fail("%s: %s at the start; it has to be finite there", self.what, g)
    end
    self.first = value
    return value, g
  end

  -- Records an iteration that ended at x; returns true if the callback wants to stop.
  function Run:iteration(x, value, gradient_norm, step)
    self.iterations = self.iterations + 1
    local entry = { iteration = self.iterations, evaluations = self.evaluations, value = value,
      gradient_norm = gradient_norm, step = step }
    if self.history then self.history[self.iterations] = entry end
    if not self.options.callback then return false end
    return self.options.callback(self.layout:build(x), value, entry) == true
  end

  -- Explains why a point may not be a minimum although its derivatives are within the tolerance.
  function Run:flat_message(norm)
    if norm > 0 then return "the derivatives are within tolerance" end
    return self.iterations == 0 and "all derivatives are 0 at the start"
      or "all derivatives are 0 at the end (except for parameters at a bound): a minimum or a plateau"
  end

  function Run:finish(status, message, x, value, gradient_norm)
    return self.layout:build(x), value, { status = status, message = message,
      iterations = self.iterations, evaluations = self.evaluations, gradient_norm = gradient_norm,
      history = self.history }
  end

  -- ---- sim.optimize -----------------------------------------------------------------------------

  host.minimizers = {}
  host.dot = dot
  function host.optimization(...) return setmetatable(new_run(...), Run) end

  function optimize.minimize(f, p0, options)
    local run <close> = host.optimization("minimize", f, p0, options)
    return host.minimizers[run.options.method](run)
  end

  local names = optimize
  sim.optimize = setmetatable({}, {
    __index = function(_, key)
      if names[key] then return names[key] end
      local known = {}
      for name in pairs(names) do known[#known + 1] = name end
      table.sort(known)
      local near = type(key) == "string" and host.nearest(key, known)
      host.fail("sim.optimize has no field '%s'%s", tostring(key),
        near and ("; did you mean '%s'?"):format(near) or "")
    end,
    __newindex = function(_, key)
      host.fail("sim.optimize.%s cannot be assigned", tostring(key))
    end,
    __pairs = function() return pairs(names) end,
  })
  host.optimize = optimize
end
