-- Islands at rest are kept from step to step, and threads share islands, as seen by scripts.
local sim = require "sim2d"

local function stack(options)
  local world = sim.world(options or {})
  world:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 } }
  local boxes = {}
  for i = 1, 5 do boxes[i] = world:box { position = { 0, i - 0.5 }, size = { 1, 1 } } end
  return world, boxes
end

test("a stack at rest is kept: contacts, impulses and residuals are unchanged", function()
  local world, boxes = stack()
  for _ = 1, 20 do world:step() end
  ok(world:stats().kept > 10)
  local contacts, impulse = world:contacts(), 0
  eq(#contacts, 10)
  for _, contact in ipairs(contacts) do
    if contact.a.type == "static" or contact.b.type == "static" then impulse = impulse + contact.normal_impulse end
  end
  near(impulse / world.dt, 5 * boxes[1].mass * 9.81, 1e-8)
  ok(world:residuals().scaled <= 1e-12)
end)

test("anything that acts on it wakes it", function()
  local world, boxes = stack()
  for _ = 1, 20 do world:step() end
  local function steps_it(change)
    local before = world:stats().kept
    change()
    world:step()
    eq(world:stats().kept, before)
    for _ = 1, 60 do world:step() end
    ok(world:stats().kept > before)
  end
  steps_it(function() boxes[5]:apply_force { 1, 0 } end)
  steps_it(function() boxes[3].velocity = { 0, 0.01 } end)
  steps_it(function() world.gravity = { 0, -9.8 } end)
  steps_it(function() boxes[2].friction = 0.7 end)
  steps_it(function() boxes[5].y = boxes[5].y + 0.1 end)
  steps_it(function() world:circle { radius = 0.2, position = { 3, 0.2 } } end)
  boxes[1]:apply_impulse { 200, 0 }
  local before = boxes[1].x
  world:step()
  ok(boxes[1].x > before)
end)

test("a pre-solve callback sees the contacts of each step; without it they are kept", function()
  local world = stack()
  local seen = 0
  local handle = world:pre_solve(function() seen = seen + 1 end)
  for _ = 1, 20 do world:step() end
  eq(seen, 20 * 5) -- pairs
  eq(world:stats().kept, 0)
  handle:remove()
  for _ = 1, 20 do world:step() end
  eq(seen, 20 * 5)
  ok(world:stats().kept > 10)
end)

test("contacts begin once and do not end while they are kept", function()
  local world, boxes = stack()
  local begun, ended = 0, 0
  world:on("contact_begin", function() begun = begun + 1 end)
  world:on("contact_end", function() ended = ended + 1 end)
  for _ = 1, 50 do world:step() end
  eq(begun, 5)
  eq(ended, 0)
  boxes[5]:destroy()
  world:step()
  eq(ended, 1)
end)

test("threads change nothing that a script sees", function()
  local function heaps(threads)
    local random = sim.random.split()
    random:seed(3)
    local world = sim.world { dt = 1 / 100, threads = threads }
    for i = 1, 3 do
      local x = 12 * i
      world:box { type = "static", position = { x, -0.5 }, size = { 8, 1 } }
      for k = 0, 27 do world:box { position = { x + k % 4 + 0.5 * (k // 4 % 2) + random:uniform(-0.04, 0.04), 0.46 + 0.92 * (k // 4) }, size = { 0.9, 0.9 } } end
    end
    local events = {}
    for _, name in ipairs { "contact_begin", "contact_end", "contact_impulse" } do
      world:on(name, function(event) events[#events + 1] = name .. event.a.name .. event.b.name .. tostring(event.normal_impulse) end)
    end
    for _ = 1, 80 do world:step() end
    local places = {}
    for i, body in ipairs(world.bodies) do places[i] = ("%a %a %a"):format(body.x, body.y, body.angle) end
    return table.concat(places, ","), table.concat(events, ","), world:stats(), world:residuals()
  end
  local places, events, stats, residuals = heaps(1)
  local shared_places, shared_events, shared, shared_residuals = heaps(3)
  eq(shared_places, places)
  eq(shared_events, events)
  eq(shared_residuals.scaled, residuals.scaled)
  eq(shared.iterations, stats.iterations)
  eq(stats.shared, 0)
  ok(shared.shared > 50)
  raises("threads", function() sim.world { threads = 0 } end)
end)
