-- world:control(law, options): a law that runs at its own rate and commands the world's actuators.

local EARLY = 1e-6 -- a period may begin early by this fraction of a step, because sums of dt are rounded

return function(sim, host)
  local methods = host.world_methods()
  local loops = setmetatable({}, { __mode = "k" }) -- maps a World to its control loops

  local Loop = host.close_class({ __name = "Control" }, "Control", { "u", "dt", "told" })
  Loop.__tostring = function(loop) return ("Control (%s)"):format(tostring(loop.law)) end

  local function plain(value) return getmetatable(value) == "Tracked" and value:value() or value end

  -- Applies the queued commands whose delay has passed.
  local function send(loop, world, t, dt)
    local queue = loop.queue
    while queue[1] and queue[1][1] <= t + EARLY * dt do
      local entry = table.remove(queue, 1)
      loop.u = entry[2]
      world:act(entry[2])
    end
  end

  -- The time for which the law is designed to hold its commands, s; nil if any period is valid.
  local function period_of(law)
    while type(law) == "table" and host.field(law, "law") do law = law.law end -- the law in a filter or limiter
    return type(law) == "table" and getmetatable(law) ~= nil and host.field(law, "sampling") or nil
  end

  -- Warns once if the law runs at a period other than the one it was designed for.
  local function check_period(loop, world, dt)
    loop.dt = dt
    local period, runs = period_of(loop.law), math.max(loop.period, dt)
    if loop.told or not host.finite(period) or math.abs(period - runs) <= EARLY * period then return end
    loop.told = true
    host.warn(world, ("world:control: %s was designed for commands that hold for %g s, but it runs every %g s: "
      .. "design it for this period (sim.control.lqr(world, { period = %g })), or run it with world:control(law, { period = %g })"):format(
      tostring(loop.law), period, runs, runs, period))
  end

  local function run(loop, world, t, dt)
    local now = plain(t)
    dt = plain(dt)
    if dt ~= loop.dt then check_period(loop, world, dt) end
    if now >= loop.next - EARLY * dt then
      local u = loop.law(world, t)
      if u == nil then
        host.fail("world:control: the law returned no value; commands as for world:act expected")
      end
      if type(u) == "number" or getmetatable(u) == "Tracked" then u = { u } end
      -- a law that runs at every step does not need a schedule
      loop.next = loop.period > 0 and loop.next + loop.period or now
      if loop.period > 0 and loop.next <= now - EARLY * dt then loop.next = now + loop.period end
      if loop.delay == 0 then
        loop.u = u
        world:act(u)
      else
        loop.queue[#loop.queue + 1] = { now + loop.delay, u }
      end
    end
    if loop.queue[1] then send(loop, world, now, dt) end
  end

  local function attach(world, loop)
    local list = loops[world] or {}
    loops[world] = list
    list[#list + 1] = loop
    loop.world = world
    loop.handle = host.before_actuators(world, function(w, t, dt) run(loop, w, t, dt) end)
    return setmetatable(loop, Loop)
  end

  function Loop:remove()
    self.handle:remove()
    for i, other in ipairs(loops[self.world] or {}) do
      if other == self then table.remove(loops[self.world], i) end
    end
  end

  -- Logs the last commands of actuators as channels of recordings and curves of the live viewer.
  local logged = {} -- names of existing channels, which all worlds share
  local function log_commands(world)
    for _, actuator in ipairs(host.actuators(world)) do
      local name, channel = actuator.name, "u." .. actuator.name
      logged[channel] = logged[channel] or pcall(sim.watch, channel, function(seen)
        for _, other in ipairs(host.actuators(seen)) do
          if other.name == name then return plain(other.value) end
        end
        return 0
      end)
    end
  end

  local KEYS = { period = true, delay = true, log = true, cost = true }

  function methods.control(world, law, options)
    world = host.world(world)
    local meta = debug.getmetatable(law)
    if type(law) ~= "function" and not (type(meta) == "table" and meta.__call) then
      host.fail("bad argument #1 to 'control' (a law, law(world, t) -> u, expected, got %s)", host.describe(law))
    end
    options = options or {}
    if type(options) ~= "table" then
      host.fail("bad argument #2 to 'control' (table expected, got %s)", host.describe(options))
    end
    for _, key in ipairs(host.sorted_keys(options)) do
      if not KEYS[key] then
        local near = type(key) == "string" and host.nearest(key, { "cost", "delay", "log", "period" })
        host.fail("bad argument #2 to 'control' (unknown key '%s'%s)", tostring(key),
          near and ("; did you mean '%s'?"):format(near) or "; known: cost, delay, log, period")
      end
    end
    -- both values are in seconds
    for _, key in ipairs { "period", "delay" } do
      local value = options[key]
      if value ~= nil and not (host.finite(value) and value >= 0) then
        host.fail("bad argument #2 to 'control' (key '%s': a number of seconds not below 0 expected, got %s)", key,
          host.describe(value))
      end
    end
    -- the logged cost comes from the options or from the planner
    local problem = type(law) == "table" and host.field(law, "problem")
    local cost = options.cost or problem and problem.cost
    if type(cost) == "table" and getmetatable(cost) == nil then cost = sim.control.cost(cost) end
    if cost and getmetatable(cost) ~= host.Cost then
      host.fail("bad argument #2 to 'control' (key 'cost': a result of sim.control.cost expected, got %s)",
        host.describe(options.cost))
    end
    local loop = { law = law, period = options.period or 0, delay = options.delay or 0, queue = {},
      next = plain(world.time) }
    attach(world, loop)
    check_period(loop, world, plain(world.dt))
    if options.log ~= false then
      log_commands(world)
      if cost then host.log_cost(world, cost) end
    end
    return loop
  end

  -- ---- Snapshots and clones ---------------------------------------------------------------------

  local kept = setmetatable({}, { __mode = "k" }) -- maps a Snapshot to the memory of each loop
  local snapshot, restore, clone = methods.snapshot, methods.restore, methods.clone

  local function copy_queue(queue)
    return table.move(queue, 1, #queue, 1, {}) -- entries are never modified, so a shallow copy is enough
  end

  local function has_memory(law)
    return type(law) == "table" and host.field(law, "state") ~= nil and host.field(law, "set_state") ~= nil
  end

  local function memory_of(loop)
    return { loop = loop, next = loop.next, u = loop.u, queue = copy_queue(loop.queue),
      law = has_memory(loop.law) and loop.law:state() or nil }
  end

  local function remember(loop, memory)
    loop.next, loop.u, loop.queue = memory.next, memory.u, copy_queue(memory.queue)
    if memory.law then loop.law:set_state(memory.law) end
  end

  function methods.snapshot(world)
    local image = snapshot(world)
    local list = loops[host.world(world)]
    if list and #list > 0 then
      local memories = {}
      for i, loop in ipairs(list) do memories[i] = memory_of(loop) end
      kept[image] = memories
    end
    return image
  end

  function methods.restore(world, image)
    restore(world, image)
    for _, memory in ipairs(kept[image] or {}) do
      if memory.loop.world == world then remember(memory.loop, memory) end
    end
  end

  -- Laws are cloned with the callbacks. Each copy has its own memory if the law can be copied.
  function methods.clone(world, options)
    local copy = clone(world, options)
    if options and options.callbacks then
      host.logged_cost(host.world(world), copy)
      for _, loop in ipairs(loops[world] or {}) do
        local law = type(loop.law) == "table" and host.field(loop.law, "copy") and loop.law:copy() or loop.law
        attach(copy, { law = law, period = loop.period, delay = loop.delay, next = loop.next, u = loop.u,
          queue = copy_queue(loop.queue) })
      end
    end
    return copy
  end
end
