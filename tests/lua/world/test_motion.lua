-- Bodies and locks that move as functions of time.
local sim = require "sim2d"

local function swing(t) return 5 + 0.2 * math.sin(10 * t) end

test("locks follow positions and velocities", function()
  for _, settings in ipairs { {}, { stepping = "bisect" }, { substeps = 3 }, { alpha = 0.5, beta = 0.5 } } do
    local world = sim.world(settings)
    local a = world:circle { position = { 5, 0 }, radius = 0.1 }
    local b = world:circle { position = { 9, 0 }, radius = 0.1 }
    local lock = world:lock { a, x = swing, y = true, angle = function(t) return t * t end }
    local by_speed = world:lock { b, x = true, y = true, angle = true, velocity = function(t)
      return 2 * t, 2 * math.cos(10 * t), nil
    end }
    for _ = 1, 400 do
      world:step()
      local t = world.time
      near(a.x, swing(t), 1e-9)
      near(a.y, 0, 1e-9)
      near(a.angle, t * t, 1e-9)
      near(b.x, 9 + 0.2 * math.sin(10 * t), 1e-8)
      near(b.y, 0, 1e-9)
      near(b.angle, t * t, 1e-9)
    end
    ok(lock.error < 1e-9 and by_speed.error < 1e-9)
    -- The two stages end with the velocity of the motion itself, up to the differences of 1/1024 of a step; the others
    -- with the mean.
    local staged = not settings.stepping and not settings.beta
    if staged then near(a.vx, 2 * math.cos(10 * world.time), 1e-6) end
    if not staged and not settings.beta then near(lock.velocity.x, a.vx, 1e-9) end
    ok(lock.force.x ~= 0)
    raises("functions move the lock", function() lock.velocity = { 1, 0 } end)
  end
end)

test("kinematic bodies follow their motion", function()
  local world = sim.world {}
  local body = world:box { type = "kinematic", size = { 1, 1 }, angular_velocity = 2 }
  body:motion(function(t) return t ^ 3, nil end)
  world:step(100)
  near(body.x, world.time ^ 3, 1e-14)
  near(body.angle, 2 * world.time, 1e-12)
  eq(body.y, 0)
  local snapshot = world:snapshot()
  body:motion(nil)
  local x, v = body.x, body.vx
  world:step()
  near(body.x, x + v * world.dt, 1e-14)
  world:restore(snapshot)
  world:step()
  near(body.x, world.time ^ 3, 1e-14)
end)

test("snapshots and clones continue with the same bits", function()
  local world = sim.world {}
  local a = world:circle { position = { 5, 0 }, radius = 0.1, name = "a" }
  local tray = world:box { type = "kinematic", size = { 3, 0.2 }, position = { 5, -1 }, name = "tray" }
  local lock = world:lock { a, x = swing }
  tray:motion(function(t) return nil, -1 + 0.1 * math.sin(t) end)
  raises("functions of the script constrain, pull or move bodies", world.clone, world)
  world:step(50)
  local snapshot, twin = world:snapshot(), world:clone { callbacks = true }
  world:step(50)
  local seen = { a.x, a.y, tray.y, tray.vy }
  twin:step(50)
  eq({ twin.bodies.a.x, twin.bodies.a.y, twin.bodies.tray.y, twin.bodies.tray.vy }, seen)
  lock:destroy()
  tray:destroy()
  world:step(3)
  world:restore(snapshot)
  world:step(50)
  eq({ a.x, a.y, tray.y, tray.vy }, seen)
  raises("a lock moves its body", world.solve_static, world)
end)

test("errors undo the step", function()
  local world = sim.world {}
  local a = world:circle { position = { 5, 0 }, radius = 0.1 }
  local answer
  world:lock { a, x = function() return answer() end, name = "l" }
  for _, case in ipairs {
    { function() error "broken" end, "test_motion.lua:%d+: broken" },
    { function() return "t" end, "test_motion.lua:%d+: x must return a number, got 't'" },
    { function() end, "x must return a number, got nil" },
    { function() return 0 / 0 end, "motion of a lock: the velocity of its x is nan" },
    { function() world:step() end, "world:step%(%) cannot be called from inside a step" },
    { function() a.x = 3 end, "." },
  } do
    answer = case[1]
    raises(case[2], world.step, world)
    eq({ world.time, a.x }, { 0, 5 })
    raises(case[2], world.problem, world)
  end
  answer = function() return 5 end
  world:step()
  near(a.x, 5, 1e-12)
  local k = world:box { type = "kinematic", size = { 1, 1 }, position = { 0, 9 } }
  k:motion(function() return 1, "two" end)
  raises("test_motion.lua:%d+: motion must return x, y, angle %(nil: velocity unchanged%), got 'two'", world.step, world)
  k:motion(nil)
  world:step()
end)

test("nonsense is refused", function()
  local world = sim.world {}
  local a = world:circle { radius = 0.1, name = "a" }
  raises("key 'x': true, false or a function of time expected, got 3", world.lock, world, { a, x = 3 })
  raises("key 'velocity': .*got 3", world.lock, world, { a, x = true, velocity = 3 })
  raises("key 'angular_velocity': cannot be combined with a velocity function", world.lock, world,
    { a, angle = true, velocity = function() end, angular_velocity = 1 })
  raises("at least one of x, y and angle", world.lock, world, { a, velocity = function() end })
  raises("body 'a': motion: a kinematic body expected", a.motion, a, function() end)
  raises("function or nil expected, got 3", a.motion, a, 3)
  eq(#world.joints, 0)
end)
