-- sim.control: laws. A law is a callable object, law(world, t) -> u, with u as for world:act. Its data are fields.
-- law:state() and law:set_state(s) read and set its memory as plain values, so that snapshots and clones of the world
-- are exact.

return function(sim, host)
  sim.control = sim.control or {}
  local control = sim.control

  local function is_tracked(value) return getmetatable(value) == "Tracked" end
  local function is_number(value) return type(value) == "number" or is_tracked(value) end
  local function plain(value) return is_tracked(value) and value:value() or value end

  -- ---- Shared by all laws ----------------------------------------------------------------------

  local Law = host.close_class({}, "Law", {})
  host.Law = Law
  Law.__name = "Law"
  Law.__tostring = function(law) return "Law (" .. law.kind .. ")" end
  Law.__call = function(law, world, t) return law:command(world, t) end

  -- Makes a class of laws. `fields` lists the names of fields that may be nil; the fields of the memory are added to
  -- it.
  function host.law_class(class, fields)
    for _, key in ipairs(class.memory) do fields[#fields + 1] = key end
    class.__call, class.__tostring, class.__name = Law.__call, Law.__tostring, "Law"
    return host.close_class(class, "Law", fields, Law)
  end

  -- The memory of a law consists of the fields named in `memory`. Tables in these fields are copied.
  local function copy(value)
    if type(value) ~= "table" or getmetatable(value) ~= nil then return value end
    local twin = {}
    for key, inner in pairs(value) do twin[key] = copy(inner) end
    return twin
  end

  function Law:state()
    local state = {}
    for _, key in ipairs(self.memory) do state[key] = copy(self[key]) end
    return state
  end

  function Law:set_state(state)
    if type(state) ~= "table" then
      host.fail("bad argument #1 to 'set_state' (a result of law:state() expected, got %s)", host.describe(state))
    end
    for _, key in ipairs(self.memory) do self[key] = copy(state[key]) end
  end

  -- Resets the memory, as if the law had never been called.
  function Law:reset() for _, key in ipairs(self.memory) do self[key] = nil end end

  -- A copy of the law with its own memory.
  function Law:copy()
    local twin = setmetatable({}, getmetatable(self))
    for key, value in pairs(self) do rawset(twin, key, value) end
    twin:set_state(self:state())
    return twin
  end

  local function check_keys(what, def, known)
    if type(def) ~= "table" then
      host.fail("bad argument #1 to '%s' (table expected, got %s)", what, host.describe(def))
    end
    for _, key in ipairs(host.sorted_keys(def)) do
      if not known[key] then
        local names = host.sorted_keys(known)
        local near = type(key) == "string" and host.nearest(key, names)
        host.fail("bad argument #1 to '%s' (unknown key '%s'%s)", what, tostring(key),
          near and ("; did you mean '%s'?"):format(near) or "; known: " .. table.concat(names, ", "))
      end
    end
  end
  host.check_law_keys = check_keys

  local function bad_key(what, key, expected, value)
    host.fail("bad argument #1 to '%s' (key '%s': %s expected, got %s)", what, key, expected, host.describe(value))
  end
  host.bad_law_key = bad_key

  -- Reads a finite number under `key` that is at least `least`. The number may be tracked.
  local function read_number(what, def, key, default, least)
    local value = def[key]
    if value == nil then value = default end
    local number = plain(value)
    if value == nil or not is_number(value) or not host.finite(number) or (least and number < least) then
      bad_key(what, key, least and ("a number of at least %g"):format(least) or "a finite number", value)
    end
    return value
  end
  host.law_number = read_number

  local function read_range(what, def)
    local range = def.range
    if range == nil then return nil end
    local lo, hi = range, nil
    if type(range) == "table" then
      if host.stray_key(range) then bad_key(what, "range", "{lo, hi}, two values without names", range) end
      lo, hi = range[1] or -math.huge, range[2] or math.huge
    end
    if not is_number(lo) or not is_number(hi) or not (lo <= hi) then
      bad_key(what, "range", "{lo, hi} with lo <= hi", range)
    end
    return { lo, hi }
  end

  local function clip(value, range)
    if not range then return value end
    if value < range[1] then return range[1] end
    if value > range[2] then return range[2] end
    return value
  end
  host.law_clip = clip

  -- Reads the measurement of a law: the name of an observation, a function of the world, or nil for all observations.
  -- Returns a function that gives a number or a list.
  local function read_measure(what, measure, key)
    if measure == nil then
      return function(world) return world:observation() end
    elseif type(measure) == "string" then
      return function(world)
        local value = world:observation()[measure]
        if value == nil then host.fail("%s: the world has no observation '%s'", what, measure) end
        return value
      end
    end
    local meta = debug.getmetatable(measure)
    if type(measure) ~= "function" and not (type(meta) == "table" and meta.__call) then
      bad_key(what, key or "measure", "the name of an observation or a function of the world", measure)
    end
    return measure
  end
  host.law_measure = read_measure

  -- Returns the command u for the named actuator, or for the only actuator of a world.
  local function as_command(actuator, value)
    if actuator then return { [actuator] = value } end
    return { value }
  end

  local function read_actuator(what, def)
    local name = def.actuator
    if name == nil then return nil end
    if type(name) ~= "string" then
      local good, text = pcall(function() return name.name end)
      name = good and text or name
    end
    if type(name) ~= "string" then bad_key(what, "actuator", "an actuator or its name", def.actuator) end
    return name
  end
  host.law_actuator, host.law_command = read_actuator, as_command

  local function number_of(what, value)
    if type(value) == "table" and #value == 1 then value = value[1] end
    if not is_number(value) then
      host.fail("%s: its measurement should be one number, got %s", what, host.describe(value))
    end
    return value
  end

  -- ---- PID --------------------------------------------------------------------------------------

  local PID = { kp = true, ki = true, kd = true, setpoint = true, measure = true, filter = true, range = true,
    anti_windup = true, actuator = true, period = true }

  local Pid = host.law_class({ kind = "pid", memory = { "integral", "last", "last_time", "slope" } }, host.sorted_keys(PID))

  -- u = kp e + ki * integral of e - kd d(measured)/dt, with e = setpoint - measured. If the setpoint is a number, only
  -- the measurement is differentiated, so that changing the setpoint causes no kick. If the setpoint is a function of
  -- time, -e is differentiated. A low pass with time constant `filter` smooths the derivative.
  function control.pid(def)
    check_keys("pid", def, PID)
    local law = setmetatable({}, Pid)
    law.kp = read_number("pid", def, "kp", 0)
    law.ki = read_number("pid", def, "ki", 0)
    law.kd = read_number("pid", def, "kd", 0)
    law.filter = read_number("pid", def, "filter", 0, 0)
    law.range = read_range("pid", def)
    law.anti_windup = def.anti_windup or "clamp"
    if law.anti_windup ~= "clamp" and law.anti_windup ~= "back" then
      bad_key("pid", "anti_windup", "'clamp' or 'back'", def.anti_windup)
    end
    law.setpoint = def.setpoint == nil and 0 or def.setpoint
    if not is_number(law.setpoint) then
      local meta = debug.getmetatable(law.setpoint)
      if type(law.setpoint) ~= "function" and not (type(meta) == "table" and meta.__call) then
        bad_key("pid", "setpoint", "a number or a function of time", def.setpoint)
      end
    end
    law.measure = read_measure("pid", def.measure)
    law.actuator = read_actuator("pid", def)
    return law
  end

  function Pid:command(world, t)
    local moving = not is_number(self.setpoint)
    local goal = moving and self.setpoint(t) or self.setpoint
    local measured = number_of("pid", self.measure(world))
    local e = goal - measured
    -- the slope of the measurement, from the second call on
    local seen = moving and -e or measured
    local dt = self.last_time and t - self.last_time or 0
    local slope = self.slope or 0
    if dt > 0 then
      slope = slope + dt / (self.filter + dt) * ((seen - self.last) / dt - slope)
    end
    -- the integral is held while the output is saturated and the integral would grow further
    local integral = self.integral or 0
    local sum = integral + self.ki * e * dt
    local wanted = self.kp * e + sum - self.kd * slope
    local u = clip(wanted, self.range)
    if u == wanted then
      integral = sum
    elseif self.anti_windup == "back" then
      integral = sum + (u - wanted)
    elseif (wanted > u) ~= (self.ki * e > 0) then
      integral = sum
    end
    self.integral, self.last, self.last_time, self.slope = integral, seen, t, slope
    return as_command(self.actuator, u)
  end

  -- ---- Wrappers of another law: low pass, rate limit ---------------------------------------------

  local function each(u, f)
    local out = {}
    if getmetatable(u) == "Array" then u = u:table() end
    if type(u) ~= "table" then return f(1, u) end
    for key, value in pairs(u) do out[key] = f(key, value) end
    return out
  end

  local function inner_law(what, law)
    local meta = debug.getmetatable(law)
    if type(law) ~= "function" and not (type(meta) == "table" and meta.__call) then
      host.fail("bad argument #1 to '%s' (a law expected, got %s)", what, host.describe(law))
    end
    return law
  end

  local Around = host.law_class({ memory = { "own", "time" } }, { "start" })

  local function inner_method(self, name) return type(self.law) == "table" and host.field(self.law, name) end

  function Around:state()
    local inner = inner_method(self, "state")
    return { own = copy(self.own), time = self.time, inner = inner and self.law:state() or nil }
  end

  function Around:set_state(state)
    self.own, self.time = copy(state.own), state.time
    if state.inner then self.law:set_state(state.inner) end
  end

  function Around:reset()
    self.own, self.time = nil, nil
    if inner_method(self, "reset") then self.law:reset() end
  end

  function Around:copy()
    local twin = setmetatable({}, getmetatable(self))
    for key, value in pairs(self) do rawset(twin, key, value) end
    if inner_method(self, "copy") then twin.law = self.law:copy() end
    twin.own = copy(self.own)
    return twin
  end

  function Around:command(world, t)
    local u = self.law(world, t)
    local dt = self.time and t - self.time or 0
    local own = self.own
    local out = each(u, function(key, value)
      if not own or own[key] == nil then return self.start and self.start(value) or value end
      return self.next(own[key], value, dt)
    end)
    self.own, self.time = type(out) == "table" and out or { out }, t
    return copy(out)
  end

  -- Filters the commands of `law`: y' = (u - y) / time_constant (exact for piecewise constant u).
  function control.low_pass(law, time_constant)
    inner_law("low_pass", law)
    if not is_number(time_constant) or not (plain(time_constant) > 0) then
      host.fail("bad argument #2 to 'low_pass' (a time constant above 0 expected, got %s)", host.describe(time_constant))
    end
    return setmetatable({ kind = "low pass", law = law, time_constant = time_constant,
      next = function(y, u, dt) return u + (y - u) * sim.exp(-dt / time_constant) end }, Around)
  end

  -- Limits the rate of change of the commands of `law` to `rate` per second.
  function control.rate_limit(law, rate)
    inner_law("rate_limit", law)
    if not is_number(rate) or not (plain(rate) > 0) then
      host.fail("bad argument #2 to 'rate_limit' (a rate above 0 expected, got %s)", host.describe(rate))
    end
    return setmetatable({ kind = "rate limit", law = law, rate = rate,
      next = function(y, u, dt) return clip(u, { y - rate * dt, y + rate * dt }) end }, Around)
  end

  -- ---- References -------------------------------------------------------------------------------

  local Reference = host.close_class({ __name = "Reference" }, "Reference", { "bends", "single" })

  -- Returns the index of the interval that contains t, and the position in it, from 0 at its start to 1 at its end.
  local function interval_of(times, t)
    local n = #times
    if t <= times[1] then return 1, 0 end
    if t >= times[n] then return n - 1, 1 end
    local lo, hi = 1, n
    while hi - lo > 1 do
      local mid = (lo + hi) // 2
      if times[mid] <= t then lo = mid else hi = mid end
    end
    return lo, (t - times[lo]) / (times[lo + 1] - times[lo])
  end

  -- Second derivatives of the natural cubic spline, from a tridiagonal system.
  local function curvatures(times, points, k)
    local n, below, right, m = #times, {}, {}, {}
    for i = 1, n do m[i] = 0 end
    for i = 2, n - 1 do
      local h0, h1 = times[i] - times[i - 1], times[i + 1] - times[i]
      local b = 2 * (h0 + h1) - (i > 2 and h0 * h0 / below[i - 1] or 0)
      local r = 6 * ((points[i + 1][k] - points[i][k]) / h1 - (points[i][k] - points[i - 1][k]) / h0)
      below[i], right[i] = b, r - (i > 2 and h0 * right[i - 1] / below[i - 1] or 0)
    end
    for i = n - 1, 2, -1 do
      m[i] = (right[i] - (i < n - 1 and (times[i + 1] - times[i]) * m[i + 1] or 0)) / below[i]
    end
    return m
  end

  -- Value, speed and acceleration of component k at time t.
  local KINDS = {}
  function KINDS.linear(self, i, s, h, k)
    local p, q = self.points[i][k], self.points[i + 1][k]
    return p + s * (q - p), (q - p) / h, 0
  end
  function KINDS.minimum_jerk(self, i, s, h, k)
    local p, q = self.points[i][k], self.points[i + 1][k]
    return p + (q - p) * s ^ 3 * (10 - 15 * s + 6 * s * s),
      (q - p) * 30 * s * s * (1 - s) ^ 2 / h, (q - p) * 60 * s * (1 - s) * (1 - 2 * s) / h ^ 2
  end
  function KINDS.cubic(self, i, s, h, k)
    local p, q = self.points[i][k], self.points[i + 1][k]
    local m0, m1 = self.bends[k][i], self.bends[k][i + 1]
    local r = 1 - s
    return r * p + s * q + h * h / 6 * ((r ^ 3 - r) * m0 + (s ^ 3 - s) * m1),
      (q - p) / h + h / 6 * ((1 - 3 * r * r) * m0 + (3 * s * s - 1) * m1), r * m0 + s * m1
  end

  local function list_or_number(self, list) return self.single and list[1] or list end

  function Reference:__call(t) return (self:at(t)) end

  -- Value, speed and acceleration at t: numbers, or lists if the points are lists. Before the first and after the last
  -- point the reference is at rest.
  function Reference:at(t)
    local i, s = interval_of(self.times, t)
    local h = self.times[i + 1] - self.times[i]
    local value, speed, acceleration = {}, {}, {}
    local outside = t < self.times[1] or t > self.times[#self.times]
    for k = 1, self.size do
      local p, v, a = KINDS[self.kind](self, i, s, h, k)
      value[k], speed[k], acceleration[k] = p, outside and 0 or v, outside and 0 or a
    end
    return list_or_number(self, value), list_or_number(self, speed), list_or_number(self, acceleration)
  end

  local REFERENCE = { points = true, times = true, kind = true }

  function control.reference(def)
    check_keys("reference", def, REFERENCE)
    local kind = def.kind or "linear"
    if not KINDS[kind] then bad_key("reference", "kind", "'linear', 'cubic' or 'minimum_jerk'", def.kind) end
    local points, times = def.points, def.times
    if type(points) ~= "table" or #points < 2 then
      bad_key("reference", "points", "a list of at least two points", points)
    end
    if type(times) ~= "table" or #times ~= #points then
      bad_key("reference", "times", ("%d times"):format(#points), times)
    end
    -- all points must be lists of equal length
    local single, rows, size = is_number(points[1]), {}, nil
    for i, point in ipairs(points) do
      local row = is_number(point) and { point } or type(point) == "table" and point or { point[1], point[2] }
      size = size or #row
      if #row ~= size or size == 0 then
        bad_key("reference", ("points[%d]"):format(i), ("%d numbers"):format(size), point)
      end
      rows[i] = row
      if not host.finite(times[i]) or (i > 1 and not (times[i] > times[i - 1])) then
        bad_key("reference", ("times[%d]"):format(i), "a time later than the previous one", times[i])
      end
    end
    local reference = setmetatable({ kind = kind, points = rows, times = times, size = size, single = single }, Reference)
    if kind == "cubic" then
      reference.bends = {}
      for k = 1, size do reference.bends[k] = curvatures(times, rows, k) end
    end
    return reference
  end
end
