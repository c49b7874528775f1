-- State: vectors, snapshots, clones.
local sim = require "sim2d"

local function pile()
  local world = sim.world { dt = 1 / 120 }
  world:segment { from = { -10, 0 }, to = { 10, 0 } }
  for i = 1, 4 do
    world:box { size = { 1, 1 }, position = { 0.1 * i, 1.2 * i }, angle = 0.1 * i,
      name = "box" .. i }
  end
  return world
end

test("state lists a x y va vx vy of the dynamic bodies", function()
  local world = sim.world {}
  world:segment { from = { -10, 0 }, to = { 10, 0 } }
  world:circle { radius = 1, position = { 1, 2 }, angle = 3, velocity = { 4, 5 },
    angular_velocity = 6 }
  world:circle { radius = 1, position = { 10, 20 } }
  eq(world:state(), { 3, 1, 2, 6, 4, 5, 0, 10, 20, 0, 0, 0 })
  local state = world:state()
  state[1], state[9] = -1, -9
  world:set_state(state)
  near({ world.bodies[2].angle, world.bodies[3].y }, { -1, -9 })
  raises("bad argument #1 to 'set_state' %(12 numbers expected %(6 per dynamic body%), got 3%)",
    function() world:set_state { 1, 2, 3 } end)
  state[7] = 0 / 0
  raises("bad argument #1 to 'set_state' %(%[7%]: finite number expected, got nan%)",
    function() world:set_state(state) end)
  near(world.bodies[2].angle, -1)
end)

test("a restored world continues with the same bits", function()
  local world = pile()
  world:run { duration = 0.7 }
  local snapshot = world:snapshot()
  local time = world.time
  world:run { duration = 0.5 }
  local first = world:state()
  world:restore(snapshot)
  eq(world.time, time)
  world:run { duration = 0.5 }
  eq(world:state(), first)
  ok(tostring(snapshot):find "^Snapshot")
  raises("bad argument #1 to 'restore' %(Snapshot expected, got table%)",
    function() world:restore {} end)
end)

test("bodies destroyed since a snapshot come back, later ones go", function()
  local world = pile()
  local box = world.bodies.box2
  box.data = { "mine" }
  box:force_law(function() return 0, 0, 0 end)
  local snapshot = world:snapshot()
  box:destroy()
  local later = world:circle { radius = 1, position = { 8, 8 }, name = "later" }
  raises("body 'box2' is destroyed", function() return box.x end)
  world:restore(snapshot)
  eq(box.name, "box2")
  eq(box.data[1], "mine")
  raises("body 'later' is destroyed", function() return later.x end)
  eq(#world.bodies, 5)
  world:step()
end)

test("two worlds built alike move alike", function()
  local a, b = pile(), pile()
  a:run { duration = 1 }
  b:run { duration = 1 }
  eq(a:state(), b:state())
end)

test("a clone continues independently", function()
  local world = pile()
  world:run { duration = 0.3 }
  local count = 0
  world:after_step(function() count = count + 1 end)
  local copy = world:clone()
  local state = world:state()
  copy:run { duration = 0.3 }
  eq(count, 0)
  eq(world:state(), state)
  world:run { duration = 0.3 }
  eq(world:state(), copy:state())
  ok(copy.bodies.box1 ~= world.bodies.box1)
  raises("the body belongs to another world",
    function() copy:no_contact(world.bodies.box1, copy.bodies.box2) end)
end)

test("clones copy callbacks on request", function()
  local world = sim.world { gravity = { 0, 0 }, dt = 0.5 }
  local ball = world:circle { radius = 1, name = "ball", mass = 1 }
  local seen = {}
  world:after_step(function(w) seen[#seen + 1] = w end)
  ball:force_law(function(body)
    seen[#seen + 1] = body
    return 0, 1, 0
  end)
  local copy = world:clone { callbacks = true }
  copy:step()
  eq(#seen, 3) -- laws are called at both ends of a step
  ok(seen[1] == copy.bodies.ball and seen[2] == copy.bodies.ball and seen[3] == copy)
  near(copy.bodies.ball.vx, 0.5)
  near(ball.vx, 0)
  local bare = world:clone()
  bare:step()
  near(bare.bodies.ball.vx, 0)
  raises("bad argument #1 to 'clone' %(unknown key 'callback'; did you mean 'callbacks'%?%)",
    function() world:clone { callback = true } end)
end)

test("snapshots outlive their world's collection", function()
  local snapshot
  do
    local world = pile()
    world:run { duration = 0.2 }
    snapshot = world:snapshot()
  end
  collectgarbage()
  local world = pile()
  world:restore(snapshot)
  near(world.time, 0.2, 1e-9)
end)

test("a snapshot of another world restores no callbacks", function()
  local world = sim.world { gravity = { 0, 0 }, dt = 0.5 }
  local ball = world:circle { radius = 1, name = "ball", mass = 1, data = "mine" }
  local calls = 0
  ball:force_law(function()
    calls = calls + 1
    return 0, 1, 0
  end)
  local snapshot = world:snapshot()
  local copy = world:clone()
  copy.bodies.ball.vx = 3
  copy:restore(snapshot)
  copy:step()
  eq(calls, 0)
  eq(copy.bodies.ball.vx, 0)
  eq(copy.bodies.ball.data, "mine")
  world:restore(snapshot)
  world:step()
  eq(calls, 2) -- at both ends of the step
end)
