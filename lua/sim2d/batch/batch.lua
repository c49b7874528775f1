-- sim.batch: many worlds stepped at once in several threads. The worlds are stepped in C (core/batch); this file has
-- the options and the methods for scripts.

local MOST = 1000000 -- worlds
local AUTORESET = { next_step = 0, same_step = 1, disabled = 2 }
local OPTIONS = { threads = true, seed = true, autoreset = true, max_steps = true, cost = true, terminated = true,
  parameters = true, failures = true, reuse = true }

return function(sim, host)
  local C = host.batch
  local insides = setmetatable({}, { __mode = "k" }) -- maps a Batch to its internal data

  -- ---- Used by other modules --------------------------------------------------------------------

  local pools = {} -- worker pools by number of threads; they are kept because idle threads only sleep

  function host.batch_workers(threads)
    pools[threads] = pools[threads] or C.workers(threads)
    return pools[threads]
  end

  function host.batch_option(what, name, good, expected, value)
    if value ~= nil and not good then
      host.fail("%s: %s: %s expected, got %s", what, name, expected, host.describe(value))
    end
  end

  function host.batch_whole(x, least, most)
    return host.whole(x) and x >= least and x <= (most or math.maxinteger)
  end

  -- Reads an array of rows x columns from an array or a list of rows. A flat list is accepted if there is one row or
  -- one column.
  function host.batch_matrix(what, value, rows, columns)
    local kind = getmetatable(value)
    if type(value) ~= "table" and kind ~= "Array" then
      host.fail("%s: an array of %d x %d expected, got %s", what, rows, columns, host.describe(value))
    end
    local array = kind == "Array" and value or sim.array(value)
    local shape = array.shape
    local good = shape[2] and shape[1] == rows and shape[2] == columns
      or not shape[2] and (columns == 1 and shape[1] == rows or rows == 1 and shape[1] == columns)
    if not good then
      host.fail("%s: an array of %d x %d expected, got %s", what, rows, columns, table.concat(shape, " x "))
    end
    return array
  end

  -- ---- Construction -----------------------------------------------------------------------------

  local function read_options(options)
    local what = "sim.batch"
    local o = options == nil and {} or options
    host.batch_cost.check_keys(what, o, OPTIONS)
    local option, whole = host.batch_option, host.batch_whole
    option(what, "threads", whole(o.threads, 1, 1024), "an integer from 1 to 1024", o.threads)
    option(what, "seed", host.whole(o.seed), "an integer", o.seed)
    option(what, "autoreset", AUTORESET[o.autoreset], "'next_step', 'same_step' or 'disabled'", o.autoreset)
    option(what, "max_steps", whole(o.max_steps, 1), "an integer of at least 1", o.max_steps)
    option(what, "failures", o.failures == "raise" or o.failures == "keep", "'raise' or 'keep'", o.failures)
    option(what, "reuse", type(o.reuse) == "boolean", "true or false", o.reuse)
    return o
  end

  -- Returns the worlds. The script builds each world with its own random numbers, or all worlds are clones of one
  -- world.
  local function build(builder, n, seed)
    local worlds, is_world = {}, getmetatable(builder) == "World"
    if not is_world then host.check_function("sim.batch", 1, builder) end
    local alone = is_world and C.alone(builder)
    local random, seen = host.parallel.generator(seed), {}
    for i = 1, n do
      local world
      if is_world then
        world = builder:clone { callbacks = alone }
      else
        local good
        good, world = pcall(builder, i, random:split())
        if not good then host.fail("sim.batch: world %d: %s", i, tostring(world)) end
        if getmetatable(world) ~= "World" then
          host.fail("sim.batch: world %d: the builder returned %s, not a World", i, host.describe(world))
        elseif seen[world] then
          host.fail("sim.batch: world %d is the same object as world %d", i, seen[world])
        end
        seen[world] = i
      end
      worlds[i] = world
    end
    return worlds
  end

  -- Functions that the C side calls for worlds whose steps run functions of the script.
  local function program_of(inside)
    return {
      step = function(world) world:step() end,
      act = function(world, commands) world:act(commands) end,
      observe = function(world) return world:observation() end,
      reset = function(world, i)
        if inside.beginnings[i] then
          world:restore(inside.beginnings[i])
        else
          inside.core:rewind(i)
        end
      end,
    }
  end

  local Batch = { __name = "Batch", __metatable = "Batch" }
  local methods = {}

  local function set_values(inside, what, reading, count, values)
    local rows = #inside.worlds
    if type(values) == "number" then
      local list = {}
      for i = 1, rows * count do list[i] = values end
      values = sim.array(list):reshape(rows, count)
    end
    inside.core:set(reading, host.batch_matrix(what, values, rows, count))
  end

  local function raise_failures(inside, what)
    local list, count = inside.core:failures()
    inside.failures = list
    if count > 0 and not inside.keep then
      local first = next(list)
      for i in pairs(list) do first = math.min(first, i) end
      host.fail("%s: world %d: %s%s", what, first, list[first],
        count > 1 and (" (and %d more)"):format(count - 1) or "")
    end
  end

  function sim.batch(builder, n, options)
    local o = read_options(options)
    if not host.batch_whole(n, 1, MOST) then
      host.fail("bad argument #2 to 'batch' (a number of worlds, 1 to %d, expected, got %s)", MOST, host.describe(n))
    end
    local seed = o.seed or host.parallel.seed()
    local worlds = build(builder, n, seed)
    local inside = { worlds = worlds, keep = o.failures == "keep", failures = {}, beginnings = {},
      threads = o.threads or host.parallel.threads() }
    -- names and objects refer to the first world, or to the world that was cloned
    local known = { worlds[1], getmetatable(builder) == "World" and builder or nil }
    inside.controls, inside.observed = host.control.count(worlds[1]), #worlds[1]:observation()
    local judge = host.batch_cost.judge("sim.batch", known, inside.controls, o.cost, o.terminated)
    local sets, draws = host.batch_cost.parameters("sim.batch", known, o.parameters)
    -- values that differ between worlds are set before the final batch is made
    local function make(with)
      local core, message = C.batch(worlds, host.batch_workers(inside.threads), { seed = seed,
        autoreset = AUTORESET[o.autoreset or "next_step"], max_steps = o.max_steps or 0, judge = judge,
        controls = inside.controls, observed = inside.observed, draws = with, program = program_of(inside) })
      if not core then host.fail("sim.batch: %s", message) end
      inside.core = core
    end
    if #sets > 0 then
      make {}
      for _, set in ipairs(sets) do set_values(inside, set.where .. ": values", set.reading, set.count, set.values) end
    end
    make(draws)
    for i, world in ipairs(worlds) do
      if C.alone(world) then inside.beginnings[i] = world:snapshot() end
    end
    local batch = setmetatable({}, Batch)
    insides[batch] = inside
    inside.known = known
    -- arrays that every step overwrites
    inside.reused = o.reuse and {} or nil
    if o.autoreset == "same_step" then
      local list = {}
      for i = 1, n * inside.observed do list[i] = 0.0 end
      if #list > 0 then inside.final = sim.array(list):reshape(n, inside.observed) end
    end
    inside.core:reset()
    raise_failures(inside, "sim.batch")
    return batch
  end

  -- ---- Fields -----------------------------------------------------------------------------------

  local function check(batch)
    local inside = insides[batch]
    if not inside then host.fail("a Batch expected as the first argument: write batch:step(...)") end
    if inside.closed then host.fail "batch is closed" end
    return inside
  end

  local FIELDS = {
    time = function(inside) return inside.core:time() end,
    count = function(inside) return #inside.worlds end,
    threads = function(inside) return inside.threads end,
    controls = function(inside) return inside.controls end,
    observed = function(inside) return inside.observed end,
    failures = function(inside) return inside.failures end,
    unsolved = function(inside) return inside.core:unsolved() end,
    final_observations = function(inside) return inside.final end,
  }

  Batch.__index = function(batch, key)
    if methods[key] then return methods[key] end
    local inside = check(batch)
    if host.whole(key) then return inside.worlds[key] end
    if FIELDS[key] then return FIELDS[key](inside) end
    local names = {}
    for _, list in ipairs { FIELDS, methods } do
      for name in pairs(list) do names[#names + 1] = name end
    end
    table.sort(names)
    local nearest = type(key) == "string" and host.nearest(key, names) or nil
    host.fail("Batch has no field '%s'%s", tostring(key), nearest and ("; did you mean '%s'?"):format(nearest) or "")
  end
  Batch.__newindex = function(_, key) host.fail("Batch.%s is read-only", tostring(key)) end
  Batch.__len = function(batch) return #check(batch).worlds end
  Batch.__tostring = function(batch)
    local inside = insides[batch]
    return inside.closed and "Batch (closed)"
      or ("Batch (%d worlds, %d threads)"):format(#inside.worlds, inside.threads)
  end

  -- ---- Steps ------------------------------------------------------------------------------------

  function methods.step(batch, actions, steps)
    local inside = check(batch)
    if actions ~= nil then
      if inside.controls == 0 then
        host.fail("batch:step: the worlds have no actuators to command; world:actuator declares them")
      end
      actions = host.batch_matrix("batch:step: actions", actions, #inside.worlds, inside.controls)
    end
    if steps ~= nil and not host.batch_whole(steps, 1, 2 ^ 31 - 1) then
      host.fail("batch:step: a number of steps of at least 1 expected, got %s", host.describe(steps))
    end
    local r = inside.reused or {}
    local seen, rewards, terminated, truncated, failed = inside.core:step(actions, steps or 1, r[1], r[2], r[3], r[4],
      inside.final)
    if inside.reused then inside.reused = { seen, rewards, terminated, truncated } end
    if failed > 0 or next(inside.failures) then raise_failures(inside, "batch:step") end
    return seen, rewards, terminated, truncated
  end

  function methods.reset(batch, options)
    local inside = check(batch)
    local o = options == nil and {} or options
    host.batch_cost.check_keys("batch:reset", o, { seed = true, mask = true })
    host.batch_option("batch:reset", "seed", host.whole(o.seed), "an integer", o.seed)
    local mask = o.mask
    if type(mask) == "table" then -- a list of booleans or numbers
      local list = {}
      for i, value in ipairs(mask) do list[i] = type(value) == "boolean" and (value and 1 or 0) or value end
      mask = list
    end
    if mask ~= nil then mask = host.batch_matrix("batch:reset: mask", mask, #inside.worlds, 1) end
    local seen = inside.core:reset(o.seed, mask, inside.reused and inside.reused[1] or nil)
    raise_failures(inside, "batch:reset")
    return seen
  end

  function methods.observe(batch)
    local inside = check(batch)
    local seen = inside.core:observe(inside.reused and inside.reused[1] or nil)
    raise_failures(inside, "batch:observe")
    return seen
  end

  -- ---- Operations on all worlds -----------------------------------------------------------------

  function methods.get(batch, of, field)
    local inside = check(batch)
    return inside.core:get((host.batch_cost.read("batch:get", inside.known, of, field)))
  end

  function methods.set(batch, of, field, values)
    local inside = check(batch)
    local reading, count = host.batch_cost.read("batch:set", inside.known, of, field)
    set_values(inside, "batch:set: values", reading, count, values)
  end

  local Snapshot = { __name = "BatchSnapshot", __metatable = "BatchSnapshot" }
  local taken = setmetatable({}, { __mode = "k" }) -- maps a BatchSnapshot to its contents

  function methods.snapshot(batch)
    local inside = check(batch)
    local held = { core = inside.core, worlds = {}, places = {} }
    for i, world in ipairs(inside.worlds) do
      held.worlds[i], held.places[i] = world:snapshot(), inside.core:place(i)
    end
    local snapshot = setmetatable({}, Snapshot)
    taken[snapshot] = held
    return snapshot
  end

  function methods.restore(batch, snapshot)
    local inside = check(batch)
    local held = taken[snapshot]
    if not held or held.core ~= inside.core then
      host.fail("bad argument #1 to 'restore' (a snapshot of this batch expected, got %s)",
        held and "a snapshot of another batch" or host.describe(snapshot))
    end
    for i, world in ipairs(inside.worlds) do
      world:restore(held.worlds[i])
      inside.core:place(i, held.places[i])
    end
  end

  function methods.close(batch)
    local inside = insides[batch]
    if not inside then host.fail("a Batch expected as the first argument: write batch:close()") end
    if inside.closed then return end
    inside.core:close()
    inside.closed = true
    for _, world in ipairs(inside.worlds) do world:close() end
  end
  Batch.__close = methods.close
end
