-- Bounds on given motions: max_force and max_torque of kinematic bodies and locks.
local sim = require "sim2d"

local function press(settings, bounds)
  local world = sim.world(settings or {})
  world:box { name = "anvil", type = "static", position = { 0, -0.5 }, size = { 4, 1 } }
  local block = world:box { name = "block", position = { 0, 0.5 }, size = { 1, 1 }, mass = 2 }
  local def = { name = "press", type = "kinematic", position = { 0, 1.4 }, size = { 2, 0.5 },
    velocity = { 0, -0.5 }, mass = 5 }
  for key, value in pairs(bounds or {}) do def[key] = value end
  return world, world:box(def), block
end

test("crushing is reported with both bodies, and counts steps and solves", function()
  local world = press()
  local told
  world:on("solver_warning", function(event) told = told or event.message end)
  world:run { duration = 0.5 }
  for _, name in ipairs { "'press' (kinematic)", "'block'", "'anvil' (static)",
    "with a max_force 'press' would yield" } do
    ok(told:find(name, 1, true), name .. " in " .. told)
  end
  local stats = world:stats()
  ok(stats.unsolved > 0 and stats.unsolved <= stats.steps)
  ok(stats.unsolved_solves > stats.unsolved)
end)

test("a bound is a number of the body and of its lock", function()
  local world, body, block = press(nil, { max_force = 100 })
  eq(body.type, "kinematic")
  eq(body.max_force, 100)
  eq(body.max_torque, math.huge)
  eq(body.mass, 5)
  eq(body.drive.type, "lock")
  eq(body.drive.name, "press")
  eq(#world.joints, 1)
  eq(block.drive, nil)
  eq(block.max_force, math.huge)
  world:run { duration = 1 }
  near(body.drive.force, { 0, -100 }, 1e-9)
  near(body.vy, 0, 1e-9)
  body.max_force = 60
  world:step(2)
  near(body.drive.force, { 0, -60 }, 1e-9)
  body.velocity = { 0, 0.5 }
  world:step(10)
  near(body.velocity, { 0, 0.5 }, 1e-12)
  body.max_force = math.huge
  eq(body.drive, nil)
  eq(body.mass, math.huge)
  local lock = world:lock { block, x = true, max_force = 3 }
  eq(lock.max_force, 3)
  lock.max_force = math.huge
  eq(lock.max_torque, math.huge)
end)

test("a bound is refused where it is impossible", function()
  local world, body, block = press()
  raises("applies only to a kinematic body", function() block.max_force = 3 end)
  raises("applies only to a kinematic body", world.circle, world, { radius = 1, max_torque = 1 })
  raises("max_force", function() body.max_force = -1 end)
  raises("max_force", function() body.max_force = 0 / 0 end)
  raises("cannot be combined with compliance", world.lock, world,
    { block, x = true, max_force = 1, compliance = 1e-3 })
  raises("max_force", world.weld, world, { block, nil, anchor = { 0, 0 }, max_force = 1 })
  raises("a lock moves its body", function()
    local driven = press(nil, { max_force = 1 })
    driven:solve_static {}
  end)
end)

test("motions yield and come back; snapshots, clones and recordings go with them", function()
  local world, body = press(nil, { max_force = 100 })
  body:motion(function(t) return nil, 1.4 - 0.2 * (1 - math.cos(4 * t)) end)
  local path = os.tmpname() .. ".s2d"
  local recording = assert(world:record(path))
  world:run { duration = 0.7 }
  local snapshot, twin = world:snapshot(), world:clone { callbacks = true }
  ok(body.y > 1.25 - 1e-9 and 1.4 - 0.2 * (1 - math.cos(2.8)) < 1.2)
  near(body.drive.force.y, -100, 1e-9)
  world:run { duration = 0.9 }
  near(body.y, 1.4 - 0.2 * (1 - math.cos(4 * world.time)), 1e-9)
  local y, vy = body.y, body.vy
  twin:run { duration = 0.9 }
  eq(twin.bodies.press.y, y)
  recording:close()
  world:restore(snapshot)
  world:run { duration = 0.9 }
  eq(body.y, y)
  eq(body.vy, vy)
  local frames = sim.read_recording(path)
  eq(frames:column("press.y")[#frames], y)
  frames:close()
  os.remove(path)
end)

test("a bounded motion that yields has its derivative", function()
  local quiet = { print = false, step = 1e-6 }
  local function pressed(settings, how)
    return function(x)
      local world, body, block = press(settings, { max_force = x[1], max_torque = x[5], mass = x[2],
        velocity = { 0, x[3] }, position = { 0.1, x[4] }, contact_compliance = 1e-4 })
      if how.place then
        body:motion(function(t) return sim.sin(3 * t) * x[3], x[4] - 1.5 * t * t, 0.2 * t end)
      end
      world:run { duration = 0.5 }
      if how.place then
        body:motion(nil)
      elseif how.back then
        body.velocity = { 0.1, -x[3] }
        body.max_force = 1.3 * x[1]
      end
      world:run { duration = 0.1 }
      return body.y + 2 * body.vy + block.y + body.x + body.angle + body.omega + body.vx
    end
  end
  local at = { 61.3, 5.1, -0.487, 1.4037, 7.1 }
  for _, settings in ipairs { { dt = 0.01 }, { dt = 0.01, stepping = "bisect" },
    { dt = 0.01, stepping = "event" }, { dt = 0.01, substeps = 2 },
    { dt = 0.01, alpha = 0.6, beta = 0.6 } } do
    for _, how in ipairs { {}, { back = true }, { place = true } } do
      ok(sim.check_grad(pressed(settings, how), at, quiet) < 1e-5)
    end
  end
  local function slips(x)
    local world = sim.world { gravity = { 0, -1 }, dt = x[6] }
    local disc = world:circle { radius = 1, mass = 2, inertia = x[2], angular_velocity = 0.1 }
    world:lock { disc, x = true, y = true, angle = true, max_torque = x[1], max_force = x[5],
      velocity = { x[3], 0 }, angular_velocity = 0.3 }
    for _ = 1, 30 do
      disc:apply_torque(x[4])
      disc:apply_force { 3, 0 }
      world:step()
    end
    return disc.angle + 2 * disc.omega + disc.x + 3 * disc.vx + disc.y
  end
  ok(sim.check_grad(slips, { 3.1, 1.23, 0.413, 3.37, 7.3, 0.0102 }, quiet) < 1e-6)
  ok(sim.check_grad(slips, { 3.9, 1.23, 0.413, 3.37, 7.3, 0.0102 }, quiet) < 1e-6)
end)
