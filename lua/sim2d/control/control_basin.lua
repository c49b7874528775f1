-- sim.control.basin: the set of starts from which a law brings a world to rest, found by a sweep over two initial
-- values.

local POINTS = 21   -- default number of values per parameter
local HOLD = 0.5    -- default time for which the world has to stay at rest, s

return function(sim, host)
  sim.control = sim.control or {}
  local control = sim.control

  local function read_seconds(what, def, key, default)
    local value = def[key]
    if value == nil then value = default end
    if not host.finite(value) or value < 0 then host.bad_law_key(what, key, "seconds", value) end
    return value
  end

  -- sim.control.settling(world, at_rest, { duration =, hold = 0.5 }): steps the world until at_rest(world) has been
  -- true for `hold` seconds. Returns the time from the call to the beginning of that interval, in s, or nan if there is
  -- none within the duration.
  function control.settling(world, at_rest, def)
    world = host.world(world)
    host.check_function("settling", 2, at_rest)
    host.check_law_keys("settling", def, { duration = true, hold = true })
    local duration, hold = read_seconds("settling", def, "duration"), read_seconds("settling", def, "hold", HOLD)
    local dt, since = sim.stop_gradient(world.dt), nil
    for k = 0, math.floor(duration / dt + 0.5) do
      if k > 0 then world:step() end
      if at_rest(world) then
        since = since or k * dt
        if k * dt - since >= hold - 1e-6 * dt then return since end
      else
        since = nil
      end
    end
    return 0 / 0
  end

  -- Reads an axis, such as {"tilt", lo, hi, count, label = "tilt, rad"}.
  local function read_axis(def, key)
    local axis = def[key]
    local good = type(axis) == "table" and type(axis[1]) == "string" and host.finite(axis[2]) and host.finite(axis[3])
      and axis[2] < axis[3] and (axis.label == nil or type(axis.label) == "string")
    local count = good and (axis[4] == nil and POINTS or axis[4])
    if not good or not host.whole(count) or count < 2 then
      host.bad_law_key("basin", key, "{ name, lo, hi, count, label = } with lo < hi and a count of at least 2", axis)
    end
    local values = {}
    for i = 1, count do
      local part = (i - 1) / (count - 1)
      values[i] = axis[2] * (1 - part) + axis[3] * part
    end
    return axis[1], values, axis.label or axis[1]
  end

  local KEYS = { run = true, x = true, y = true, title = true, common = true, threads = true, seed = true, journal = true,
    progress = true, time_limit = true, failures = true }

  -- sim.control.basin { run = f(p) -> s or nan, x = {name, lo, hi, count}, y =, ... }: runs the sweep and draws its
  -- result.
  function control.basin(def)
    host.check_law_keys("basin", def, KEYS)
    if type(def.run) ~= "function" then
      host.bad_law_key("basin", "run", "a function of the start that returns a result of sim.control.settling", def.run)
    end
    local x, xs, x_label = read_axis(def, "x")
    local y, ys, y_label = read_axis(def, "y")
    if x == y then host.bad_law_key("basin", "y", "a name that differs from x", y) end
    local order = { grid = { [x] = xs, [y] = ys }, order = { x, y }, failures = def.failures or "raise" }
    for _, key in ipairs { "run", "common", "threads", "seed", "journal", "progress", "time_limit" } do order[key] = def[key] end
    local sweep = sim.sweep(order)
    -- one row for each value of y; the last parameter of the sweep changes fastest
    local column, rows, count, latest = sweep:column "value", {}, 0, 0
    for j = 1, #ys do
      rows[j] = {}
      for i = 1, #xs do
        local after = column[(i - 1) * #ys + j]
        rows[j][i] = after < math.huge and after or 0 / 0
        if after < math.huge then count, latest = count + 1, math.max(latest, after) end
      end
    end
    local plot = sim.plot { title = def.title or "Where it settles", x = x_label, y = y_label,
      { xs, ys, rows, kind = "heat", label = "settles after, s", range = { 0, latest > 0 and latest or 1 } } }
    return { sweep = sweep, plot = plot, xs = xs, ys = ys, after = rows, settled = count, starts = #xs * #ys,
      share = count / (#xs * #ys) }
  end
end
