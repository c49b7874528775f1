-- Callbacks: their order, the permitted calls, and errors that they raise.
local sim = require "sim2d"

local function falling(dt)
  local world = sim.world { gravity = { 0, -10 }, dt = dt or 0.01 }
  return world, world:circle { radius = 0.5, position = { 0, 5 }, mass = 2, name = "ball" }
end

test("callbacks run in the order they were registered", function()
  local world = falling(0.25)
  local log = {}
  world:after_step(function(w, t, dt)
    eq({ w == world, t, dt }, { true, 0.25, 0.25 })
    log[#log + 1] = "after"
  end)
  world:before_step(function(w, t, dt)
    eq({ w == world, t, dt }, { true, 0, 0.25 })
    log[#log + 1] = "before 1"
  end)
  world:before_step(function() log[#log + 1] = "before 2" end)
  world:every(0.25, function() log[#log + 1] = "timer" end)
  world:step()
  eq(log, { "before 1", "before 2", "timer", "after" })
end)

test("handles remove callbacks, even while they run", function()
  local world = falling()
  local count = 0
  local first
  first = world:before_step(function()
    count = count + 1
    first:remove()
  end)
  local second = world:before_step(function() count = count + 10 end)
  world:step(2)
  eq(count, 21)
  second:remove()
  second:remove()
  world:step()
  eq(count, 21)
  eq(tostring(second), "Handle (removed)")
  raises("Handle has no field 'remov'; did you mean 'remove'%?", function() second:remov() end)
end)

test("a callback registered by a callback runs from the next step on", function()
  local world = falling()
  local count = 0
  world:before_step(function()
    world:before_step(function() count = count + 1 end)
  end)
  world:step()
  eq(count, 0)
  world:step()
  eq(count, 1)
end)

test("a force law acts in every step and adds up", function()
  local world, ball = falling()
  local times = {}
  local law = ball:force_law(function(body, t, dt)
    ok(body == ball)
    times[#times + 1] = t
    eq(dt, 0.01)
    return 0, 0, 10 * body.mass
  end)
  world:step(3)
  near(ball.v, { 0, 0, 0 })
  -- at both ends of each step
  near(times, { 0, 0.01, 0.01, 0.02, 0.02, 0.03 }, 1e-15)
  ball:force_law(function() return ball.inertia, 2, 0 end)
  world:step()
  near(ball.v, { 0.01, 0.01, 0 })
  law:remove()
  world:step()
  near(ball.v, { 0.02, 0.02, -0.1 })
end)

test("a force law must return three finite numbers", function()
  local world, ball = falling()
  ball:force_law(function() return 0, 1 end)
  raises("test_callbacks.lua:%d+: a force law must return torque, fx, fy: fy is nil",
    world.step, world)
  local world2, ball2 = falling()
  ball2:force_law(function() return 0, 0 / 0, 0 end)
  raises("fx is nan", world2.step, world2)
end)

test("an error in before_step undoes everything, forces and random numbers too", function()
  local world, ball = falling()
  world:step(3)
  ball:apply_force { 100, 0 }
  sim.random.seed(5)
  local handle
  handle = world:before_step(function(w, t)
    ball:apply_force { 0, 50 }
    ball.x = 77
    w:circle { radius = 1, name = "new" }
    ball.mass = 9
    sim.random.uniform()
    error("boom " .. #w.bodies)
  end)
  local before, time = world:state(), world.time
  raises("test_callbacks.lua:%d+: boom 2", world.step, world)
  eq(world:state(), before)
  eq(world.time, time)
  eq(ball.mass, 2)
  eq(#world.bodies, 1)
  local drawn = sim.random.uniform()
  sim.random.seed(5)
  eq(sim.random.uniform(), drawn)
  handle:remove()
  world:step()
  near(ball.vx, 100 / 2 * 0.01) -- the force applied before the step still acts, once
end)

test("errors inside the engine's step are rethrown as they are", function()
  local thrown = { code = 7 }
  for _, register in ipairs {
    function(_, ball) ball:force_law(function() error(thrown) end) end,
    function(world) world:filter(function() error(thrown) end) end,
    function(world) world:pre_solve(function() error(thrown) end) end,
  } do
    local world, ball = falling()
    world:segment { from = { -5, 0 }, to = { 5, 0 } }
    ball.y = 0.5
    register(world, ball)
    local before = world:state()
    local good, caught = pcall(world.step, world)
    ok(not good and rawequal(caught, thrown))
    eq(world:state(), before)
    eq(world.time, 0)
  end
end)

test("bodies destroyed in a step that is undone are alive again", function()
  local world, ball = falling()
  ball.data = "mine"
  ball:force_law(function() return 0, 0, 10 * ball.mass end)
  local handle = world:before_step(function()
    ball:destroy()
    error "no"
  end)
  raises("no", world.step, world)
  eq(ball.name, "ball")
  eq(ball.data, "mine")
  handle:remove()
  world:step()
  near(ball.vy, 0)
end)

test("a name given in a step that is undone is undone too", function()
  local world, ball = falling()
  local handle = world:before_step(function()
    ball.name = "new"
    error "no"
  end)
  raises("no", world.step, world)
  handle:remove()
  eq(ball.name, "ball")
  eq(tostring(ball), "Body 'ball'")
  ok(world.bodies.ball == ball)
end)

test("callbacks cannot yield", function()
  local world, ball = falling()
  local handle = world:before_step(coroutine.yield)
  raises("attempt to yield across a C%-call boundary", coroutine.wrap(function() world:step() end))
  handle:remove()
  ball:force_law(coroutine.yield)
  raises("attempt to yield across a C%-call boundary", coroutine.wrap(function() world:step() end))
  eq(world.time, 0)
end)

test("a world may be stepped from a coroutine", function()
  local world = falling(0.25)
  world:before_step(function() end)
  local step = coroutine.wrap(function()
    while true do
      world:step()
      coroutine.yield(world.time)
    end
  end)
  eq({ step(), step() }, { 0.25, 0.5 })
end)

test("after_step, events and timers observe a finished step", function()
  local world = falling()
  local handle = world:after_step(function() error "late" end)
  raises("late", world.step, world)
  near(world.time, 0.01)
  handle:remove()
  world:step()
  near(world.time, 0.02)
  world:every(0.01, function() error "timer" end)
  raises("timer", world.step, world)
  near(world.time, 0.03)
end)

test("errors in a task are rethrown once", function()
  local world = falling()
  world:start(function()
    sim.wait(0.01)
    error "task"
  end)
  raises("task", world.step, world)
  world:step()
  raises("at once", function() world:start(function() error "at once" end) end)
end)

test("an error of a task may be any value", function()
  local world = sim.world {}
  local value = { "mine" }
  world:start(function()
    sim.wait(world.dt)
    error(value)
  end)
  local success, message = pcall(world.step, world)
  ok(not success and message == value)
end)

test("a step inside a step is refused", function()
  local world, ball = falling()
  for _, hook in ipairs { "before_step", "after_step" } do
    local handle = world[hook](world, function(w) w:step() end)
    raises("world:step%(%) cannot be called from inside a step", world.step, world)
    handle:remove()
  end
  local law = ball:force_law(function()
    world:step()
    return 0, 0, 0
  end)
  raises("world:step%(%) cannot be called from inside a step", world.step, world)
  law:remove()
  local handle = world:before_step(function(w) w:run { steps = 1 } end)
  raises("world:run%(%) cannot be called from inside a step", world.step, world)
  handle:remove()
  world:before_step(function(w) w:close() end)
  raises("world:close%(%) cannot be called from inside a step", world.step, world)
end)

test("the engine's callbacks may not change the world", function()
  for _, change in ipairs {
    function(_, ball) ball.x = 1 end,
    function(_, ball) ball:destroy() end,
    function(world) world:circle { radius = 1 } end,
    function(_, ball) ball:apply_force { 1, 0 } end,
    function(world) world.dt = 1 end,
  } do
    local world, ball = falling()
    ball:force_law(function()
      change(world, ball)
      return 0, 0, 0
    end)
    raises("test_callbacks.lua:%d+: the world is in the middle of a step: force laws, constraints, filters and "
      .. "pre_solve callbacks must not change the world", world.step, world)
    eq(#world.bodies, 1)
    eq(world.time, 0)
  end
end)

test("other worlds may be stepped from callbacks", function()
  local world, ball = falling()
  local other = falling()
  ball:force_law(function()
    other:step()
    return 0, 0, 0
  end)
  world:before_step(function() other:step() end)
  world:step(2)
  near(other.time, 0.06) -- laws are called at both ends of a step
end)

test("bodies may come and go between steps of a run", function()
  local world = falling()
  local made = 0
  world:after_step(function(w)
    made = made + 1
    w:circle { radius = 0.1, position = { 10 * made, 0 } }
  end)
  world:before_step(function(w)
    if #w.bodies > 3 then w.bodies[2]:destroy() end
  end)
  world:step(10)
  eq(#world.bodies, 4)
end)

test("filters forbid contacts with a plain false", function()
  local world, ball = falling()
  local ground = world:segment { from = { -5, 0 }, to = { 5, 0 }, name = "ground" }
  ball.y = 0.5
  local asked = {}
  world:filter(function(a, b)
    asked[#asked + 1] = a.name .. " " .. b.name
    return nil -- returns nothing
  end)
  world:step(2)
  eq(#asked, 1)
  near(ball.vy, 0)
  local world2, ball2 = falling()
  world2:segment { from = { -5, 0 }, to = { 5, 0 } }
  ball2.y = 0.5
  world2:filter(function() return false end)
  world2:step(2)
  near(ball2.vy, -0.2)
  ok(ground.type == "static")
end)

test("no_contact and category masks", function()
  local world, ball = falling()
  local ground = world:segment { from = { -5, 0 }, to = { 5, 0 }, name = "ground" }
  ball.y = 0.5
  world:no_contact(ball, ground)
  world:step()
  near(ball.vy, -0.1)
  raises("bad argument #2 to 'no_contact' %(Body expected, got 3%)",
    function() world:no_contact(ball, 3) end)
  local other = falling()
  raises("the body belongs to another world",
    function() world:no_contact(ball, other.bodies[1]) end)
end)

test("pre_solve sees and changes contacts", function()
  local world, ball = falling()
  local ground = world:segment { from = { -5, 0 }, to = { 5, 0 }, name = "ground" }
  ball.y = 0.5
  ball.vx = 1
  local kept
  world:pre_solve(function(contact)
    kept = contact
    ok((contact.a == ball and contact.b == ground) or (contact.a == ground and contact.b == ball))
    near(math.abs(contact.normal.y), 1)
    near(contact.gap, 0, 1e-9)
    near({ contact.friction, contact.restitution, contact.surface_speed }, { 0.5, 0, 0 })
    eq(contact.enabled, true)
    contact.friction = 0
    raises("Contact.friction: non%-negative number expected, got %-1",
      function() contact.friction = -1 end)
    raises("Contact.restitution: a number from 0 to 1 expected, got 2",
      function() contact.restitution = 2 end)
    raises("Contact.gap is read%-only", function() contact.gap = 1 end)
    raises("Contact has no field 'frction'; did you mean 'friction'%?",
      function() contact.frction = 1 end)
  end)
  world:step()
  near(ball.v, { 0, 1, 0 })
  raises("a contact is valid only during the pre_solve call that received it",
    function() return kept.gap end)
  local mistaken = world:pre_solve(function() return false end)
  raises("pre_solve returned false: return nothing, and change the contact instead, for instance contact.enabled = false",
    function() world:run { steps = 200, progress = false } end)
  mistaken:remove()
  local disable = world:pre_solve(function(contact) contact.enabled = false end)
  world:step()
  near(ball.vy, -0.1)
  disable:remove()
end)

test("events of contacts", function()
  local world, ball = falling()
  local ground = world:segment { from = { -5, 0 }, to = { 5, 0 }, name = "ground" }
  ball.y, ball.vy, ball.restitution = 0.6, -5, 1
  ground.restitution = 1
  local log = {}
  for _, name in ipairs { "contact_begin", "contact_end", "contact_impulse" } do
    world:on(name, function(event)
      eq(event.type, name)
      ok(event.a == ball or event.b == ball)
      log[name] = (log[name] or 0) + 1
      if name == "contact_impulse" then
        ok(event.normal_impulse > 19 and event.speed > 5)
      end
    end)
  end
  world:step(20)
  eq(log, { contact_begin = 1, contact_end = 1, contact_impulse = 1 })
  raises("bad argument #1 to 'on' %(one of .* expected, got 'contact_bgin'; did you mean "
    .. "'contact_begin'%?%)", function() world:on("contact_bgin", print) end)
  raises("bad argument #2 to 'on' %(function expected, got no value%)",
    function() world:on("contact_end") end)
end)

test("sensors report and do not push", function()
  local world, ball = falling()
  local gate = world:box { size = { 4, 0.2 }, position = { 0, 3 }, type = "static", sensor = true }
  local log = {}
  world:on("sensor_begin", function(event)
    ok(event.a == gate and event.b == ball)
    log[#log + 1] = "in"
  end)
  world:on("sensor_end", function() log[#log + 1] = "out" end)
  world:run { duration = 1 }
  eq(log, { "in", "out" })
  near(ball.vy, -10, 1e-9)
end)

test("handlers may change the world", function()
  local world, ball = falling()
  world:segment { from = { -5, 0 }, to = { 5, 0 } }
  ball.y = 0.55
  world:on("contact_begin", function(event)
    (event.a.type == "dynamic" and event.a or event.b):destroy()
  end)
  world:run { duration = 0.5 }
  eq(#world.bodies, 1)
  raises("body 'ball' is destroyed", function() return ball.x end)
end)

test("overlaps at the start warn with names and depth", function()
  local world, ball = falling()
  world:circle { radius = 0.5, position = { 0.5, 5 }, name = "other" }
  local messages = {}
  world:on("solver_warning", function(event) messages[#messages + 1] = event.message end)
  world:step()
  eq(#messages, 1)
  ok(messages[1]:find "'ball'" and messages[1]:find "'other'", messages[1])
  ok(ball.name == "ball")
end)

test("an error in a callback comes with its own traceback", function()
  local script = os.tmpname()
  local file = io.open(script, "w")
  file:write [[
local sim = require "sim2d"
local world = sim.world {}
local ball = world:circle { radius = 1 }
local function inner()
  error "deep"
end
ball:force_law(function()
  inner()
  return 0, 0, 0
end)
world:step()
]]
  file:close()
  local command = os.getenv "S2_SIM2D"
  if not command then skip "S2_SIM2D is not set" end
  local pipe = io.popen(command .. " " .. script .. " 2>&1")
  local output = pipe:read "a"
  pipe:close()
  os.remove(script)
  ok(output:find(":5: deep", 1, true), output)
  ok(output:find(":5: in upvalue 'inner'", 1, true), output)
  ok(output:find(":8: in function", 1, true), output)
  ok(output:find(":11: in main chunk", 1, true), output)
end)
