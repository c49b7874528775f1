-- Worlds: settings, stepping, running, timers, closing.
local sim = require "sim2d"

test("settings have the documented defaults", function()
  local world = sim.world {}
  eq({ world.gravity[1], world.gravity[2] }, { 0, -9.81 })
  eq(world.dt, 1 / 120)
  eq(world.solver, "auto")
  eq(world.contact, "coulomb")
  eq(world.stepping, "auto")
  eq(world.restitution_model, "newton")
  eq(world.tolerance, 1e-9)
  eq(world.max_iterations, 100)
  eq(world.contact_margin, 0.01)
  eq(world.stabilization, "projection")
  eq(world.post_stabilization, true)
  eq(world.combine_friction, "geometric")
  eq(world.combine_restitution, "average")
  eq({ world.alpha, world.beta, world.substeps }, { 1, 1, 1 })
  eq(world.time, 0)
end)

test("sim.world needs no argument", function()
  eq(sim.world().dt, 1 / 120)
end)

test("settings are taken from the table", function()
  local world = sim.world {
    gravity = { x = 1, y = -2 }, dt = 0.5, solver = "lemke", contact = "frictionless",
    stepping = "bisect", tolerance = 1e-6, max_iterations = 7, contact_margin = 0,
    post_stabilization = false, combine_friction = "min", combine_restitution = "max",
  }
  eq({ world.gravity.x, world.gravity.y, world.dt }, { 1, -2, 0.5 })
  eq({ world.solver, world.contact, world.stepping }, { "lemke", "frictionless", "bisect" })
  eq({ world.tolerance, world.max_iterations, world.contact_margin }, { 1e-6, 7, 0 })
  eq({ world.stabilization, world.combine_friction, world.combine_restitution },
    { "none", "min", "max" })
end)

test("settings of a living world can be written", function()
  local world = sim.world {}
  local ball = world:circle { radius = 1 }
  world.gravity = { 0, 0 }
  world.dt = 0.25
  world.solver = "pdipm"
  world:step()
  eq(world.time, 0.25)
  eq(ball.vy, 0)
  eq(world.solver, "pdipm")
  raises("World.dt: positive number expected, got 0", function() world.dt = 0 end)
  eq(world.dt, 0.25)
end)

test("reflections pass an impact through a touching row", function()
  local world = sim.world { gravity = { 0, 0 }, restitution_model = "reflections" }
  eq(world.restitution_model, "reflections")
  local discs = {}
  for i = 1, 5 do
    discs[i] = world:circle { radius = 0.5, position = { i == 1 and 0.75 or i, 0 },
      velocity = { i == 1 and 1 or 0, 0 }, restitution = 1, friction = 0 }
  end
  world:run { duration = 0.5 }
  for i = 1, 5 do
    near(discs[i].vx, i == 5 and 1 or 0, 1e-9)
  end
end)

test("substeps divide a step", function()
  local world = sim.world { dt = 0.5, substeps = 4, gravity = { 0, -8 } }
  eq(world.substeps, 4)
  local ball = world:circle { radius = 0.5 }
  local before, after, times = 0, 0, {}
  world:before_step(function() before = before + 1 end)
  world:after_step(function() after = after + 1 end)
  ball:force_law(function(_, t, dt)
    times[#times + 1] = { t, dt }
    return 0, 0, 0
  end)
  world:step()
  eq({ before, after }, { 1, 1 })
  -- at both ends of each part
  eq(times, { { 0, 0.125 }, { 0.125, 0.125 }, { 0.125, 0.125 }, { 0.25, 0.125 }, { 0.25, 0.125 }, { 0.375, 0.125 },
    { 0.375, 0.125 }, { 0.5, 0.125 } })
  eq({ world.time, ball.vy, ball.y }, { 0.5, -4, -8 * 0.5 ^ 2 / 2 })
  raises("substeps", function() world.substeps = 0 end)
end)

test("stabilizations are known by name", function()
  for _, name in ipairs { "none", "baumgarte", "pre", "post", "post_assembly", "projection" } do
    local world = sim.world { stabilization = name }
    eq(world.stabilization, name)
    world:hinge { world:box { size = { 1, 0.1 }, position = { 0.5, 0 } }, anchor = { 0, 0 } }
    world:step(100)
    eq(world.post_stabilization, name ~= "none")
  end
end)

test("solve_static brings a pendulum to rest", function()
  local world = sim.world {}
  local rod = world:box { position = { 0.5, 0 }, size = { 1, 0.1 } }
  local pivot = world:hinge { rod, nil, anchor = { 0, 0 } }
  local solved, residual = world:solve_static { tolerance = 1e-8 }
  eq(solved, true)
  assert(residual <= 1e-8)
  near(rod.x, 0, 1e-8)
  eq({ rod.vx, rod.omega, world.time }, { 0, 0, 0 })
  near(pivot.force.y, rod.mass * 9.81, 1e-6)
  world:circle { radius = 0.1, position = { 5, 0 } }
  eq(world:solve_static { max_steps = 10 }, false)
  raises("tolerance", function() world:solve_static { tolerance = 0 } end)
  raises("steps", function() world:solve_static { steps = 10 } end)
end)

test("blending, formulation and stiffness", function()
  local world = sim.world { alpha = 0.5, beta = 0.75, formulation = "variation",
    elasticity = "stiffness", geometric_stiffness = "psd" }
  eq({ world.alpha, world.beta, world.formulation, world.elasticity, world.geometric_stiffness },
    { 0.5, 0.75, "variation", "stiffness", "psd" })
  world.alpha, world.formulation, world.geometric_stiffness = 0, "acceleration", "on"
  eq({ world.alpha, world.formulation, world.geometric_stiffness }, { 0, "acceleration", "on" })
  raises("World.beta: a number from 0 to 1 expected, got 1.5", function() world.beta = 1.5 end)
  raises("key 'alpha': non%-negative number expected, got %-1", function() sim.world { alpha = -1 } end)
  raises("World.formulation: ", function() world.formulation = "force" end)
  world.beta = 0
  world:hinge { world:circle { radius = 1, name = "wheel" }, anchor = { 0, 0 }, name = "axle" }
  raises("beta = 0 cannot hold hinge 'axle'", function() world:step() end)
  world.beta = 0.5
  world:step()
end)

test("blending refuses options that do not support it", function()
  for key, value in pairs { restitution_model = "reflections", stabilization = "baumgarte" } do
    for blend, part in pairs { alpha = 0.5, beta = 0.5, geometric_stiffness = "psd" } do
      raises("requires alpha = beta = 1", function() sim.world { [key] = value, [blend] = part } end)
    end
    sim.world { [key] = value, formulation = "variation", elasticity = "stiffness" }
  end
end)

test("a bounce of event stepping is where it should be for every dt", function()
  for _, count in ipairs { 20, 90, 400 } do
    local world = sim.world { dt = 1.5 / count, stepping = "event" }
    world:box { type = "static", position = { 0, -1 }, size = { 20, 2 }, restitution = 0.8 }
    local ball = world:circle { radius = 0.5, position = { 0, 1.5 }, restitution = 0.8 }
    for _ = 1, count do
      world:step()
    end
    local g = 9.81 -- falls 1 m, bounces, bounces again, and is still moving
    local fall = math.sqrt(2 / g)
    local since = 1.5 - fall * (1 + 2 * 0.8)
    near(ball.y - 0.5, 0.8 ^ 2 * g * fall * since - g * since ^ 2 / 2, 1e-12)
    eq(world:stats().splits, 2)
  end
end)

test("event stepping refuses options of other steppings", function()
  for key, value in pairs { restitution_model = "reflections", geometric_stiffness = "psd", alpha = 0.5, beta = 0.5 } do
    raises("cannot be combined with stepping event; use speculative", function()
      sim.world { stepping = "event", [key] = value }
    end)
  end
  raises("stabilization: projection or none expected with stepping event", function()
    sim.world { stepping = "event", stabilization = "post" }
  end)
end)

test("the kind of derivative is a setting of the world", function()
  local world = sim.world { gradient = "smooth", smoothing = 1e-3 }
  eq({ world.gradient, world.smoothing }, { "smooth", 1e-3 })
  world.gradient, world.smoothing = "exact", 1e-5
  eq({ world.gradient, world.smoothing }, { "exact", 1e-5 })
  raises("key 'gradient': one of 'exact', 'smooth' expected, got 'soft'",
    function() sim.world { gradient = "soft" } end)
  raises("key 'smoothing'", function() sim.world { smoothing = 0 } end)
end)

test("a name that never existed is unknown", function()
  local world = sim.world {}
  raises("key 'contact': one of 'coulomb', 'frictionless', 'convex' expected, got 'conical'",
    function() sim.world { contact = "conical" } end)
  raises("key 'solver': one of .* expected, got 'tgs'", function() sim.world { solver = "tgs" } end)
  raises("unknown key 'nonlinear'; write substeps = 2 or more, or a smaller dt", function() sim.world { nonlinear = true } end)
  raises("unknown key 'sleeping'", function() sim.world { sleeping = false } end)
  raises("World has no field 'save'", function() return world.save end)
  raises("Body has no field 'awake'", function() return world:circle({ radius = 1 }).awake end)
end)

test("time is steps times dt", function()
  local world = sim.world { dt = 1 / 64 }
  world:step()
  eq(world.time, 1 / 64)
  world:step(63)
  eq(world.time, 1)
  eq(world:stats().steps, 64)
  world:step(0)
  eq(world.time, 1)
end)

test("a body falls according to the scheme", function()
  local fallen = { auto = 0.1 ^ 2 / 2, speculative = 0.01 ^ 2 * 55 } -- 1 + 2 + ... + 10
  for stepping, times in pairs(fallen) do
    local world = sim.world { dt = 0.01, stepping = stepping }
    local ball = world:circle { radius = 0.5, position = { 1, 2 } }
    world:step(10)
    near(ball.vy, -9.81 * 0.1, 1e-13)
    near(ball.y, 2 - 9.81 * times, 1e-13)
    eq(ball.x, 1)
  end
end)

test("run takes a duration, a number of steps or a condition", function()
  local world = sim.world { dt = 0.1 }
  eq(world:run { duration = 1 }, 10)
  near(world.time, 1, 1e-12)
  eq(world:run { steps = 5 }, 5)
  near(world.time, 1.5, 1e-12)
  eq(world:run { until_ = function(w) return w.time > 1.95 end }, 5)
  eq(world:run { duration = 10, until_ = function() return true end }, 1)
  eq(world:run { duration = 0 }, 0)
  raises("one of the keys 'duration', 'steps', 'until_' expected", function() world:run {} end)
  raises("key 'steps': either duration or steps expected, not both",
    function() world:run { duration = 1, steps = 2 } end)
  raises("key 'until_': function expected, got 3", function() world:run { until_ = 3 } end)
end)

test("steps iterates over the times", function()
  local world = sim.world { dt = 0.25 }
  local times = {}
  for t in world:steps(1) do
    times[#times + 1] = t
  end
  eq(times, { 0.25, 0.5, 0.75, 1 })
  for _ in world:steps(10) do break end
  eq(world.time, 1.25)
end)

test("every, at and start follow simulated time", function()
  local world = sim.world { dt = 1 / 64 }
  local log = {}
  local function note(name)
    return function(w, t)
      eq(t, w.time)
      log[#log + 1] = name .. " " .. t
    end
  end
  world:every(0.25, note "every")
  world:at(0, note "start")
  world:at(0.5, note "half")
  world:start(function(w)
    log[#log + 1] = "task " .. w.time
    sim.wait(0.375)
    log[#log + 1] = "task " .. w.time
    sim.wait(0.25)
    log[#log + 1] = "task " .. w.time
  end)
  world:run { duration = 1 }
  eq(log, { "task 0.0", "start 0.0", "every 0.25", "task 0.375", "every 0.5", "half 0.5",
    "task 0.625", "every 0.75", "every 1.0" })
end)

test("timers fire again after a restore", function()
  local world = sim.world { dt = 1 / 64 }
  local fired = {}
  world:every(0.125, function(_, t) fired[#fired + 1] = t end)
  world:at(0.25, function(_, t) fired[#fired + 1] = -t end)
  world:run { duration = 0.1875 }
  local snapshot = world:snapshot()
  world:run { duration = 0.125 }
  local first = fired
  eq(first, { 0.125, 0.25, -0.25 })
  world:restore(snapshot)
  fired = {}
  world:run { duration = 0.125 }
  eq(fired, { 0.25, -0.25 })
end)

test("every does not drift where dt does not divide the period", function()
  local world = sim.world { dt = 0.03 }
  local count = 0
  world:every(0.1, function() count = count + 1 end)
  world:run { duration = 30 }
  eq(count, 300)
  local waits = 0
  world:start(function()
    while true do
      sim.wait(0.1)
      waits = waits + 1
    end
  end)
  world:run { duration = 30 }
  eq(waits, 300)
end)

test("a period shorter than dt fires several times a step", function()
  local world = sim.world { dt = 0.5 }
  local count = 0
  world:every(0.125, function() count = count + 1 end)
  world:step()
  eq(count, 4)
end)

test("timers are refused in the past and can be removed", function()
  local world = sim.world { dt = 0.25 }
  world:step(4)
  raises("bad argument #1 to 'at' %(the time 0.5 s has passed: world.time is 1 s%)",
    function() world:at(0.5, print) end)
  raises("bad argument #1 to 'every' %(positive number expected, got 0%)",
    function() world:every(0, print) end)
  local count = 0
  local handle = world:every(0.25, function() count = count + 1 end)
  world:step()
  handle:remove()
  handle:remove()
  world:step()
  eq(count, 1)
  raises("sim.wait works only inside a function started by world:start", sim.wait, 1)
end)

test("a task that ends or is removed is not resumed", function()
  local world = sim.world { dt = 0.25 }
  local count = 0
  world:start(function() count = count + 1 end)
  local handle = world:start(function()
    while true do
      sim.wait(0)
      count = count + 100
    end
  end)
  world:step()
  handle:remove()
  world:step(3)
  eq(count, 101)
end)

test("a closed world reports that it is closed", function()
  local world = sim.world {}
  local ball = world:circle { radius = 1, name = "ball" }
  local bodies = world.bodies
  world:close()
  world:close()
  raises("world is closed", function() world:step() end)
  raises("world is closed", function() return world.time end)
  raises("world is closed", function() world.dt = 1 end)
  raises("world is closed", function() return ball.x end)
  raises("world is closed", function() return #bodies end)
  eq(tostring(world), "World (closed)")
  do
    local closed <close> = world
  end
end)

test("a body keeps its world alive", function()
  local function make()
    return sim.world { dt = 0.5 }:circle { radius = 1, position = { 3, 4 }, name = "ball" }
  end
  local ball = make()
  collectgarbage()
  collectgarbage()
  eq(ball.x, 3)
  eq(ball.name, "ball")
end)

test("bodies are an array with access by name", function()
  local world = sim.world {}
  local a = world:circle { radius = 1, name = "a" }
  local b = world:circle { radius = 1, name = "ball", position = { 5, 0 } }
  local c = world:circle { radius = 1, position = { 10, 0 } }
  eq(#world.bodies, 3)
  ok(world.bodies[1] == a and world.bodies[2] == b and world.bodies[3] == c)
  ok(rawequal(world.bodies.ball, b))
  ok(rawequal(world.bodies, world.bodies))
  c.name = "ball" -- of several with the same name the oldest is found
  ok(world.bodies.ball == b)
  b.name = "b"
  ok(world.bodies.ball == c and world.bodies.b == b)
  a.name = "ball"
  ok(world.bodies.ball == a)
  a.name, b.name, c.name = "a", "ball", nil
  ok(world.bodies.ball == b)
  raises("no body is named 'b'", function() return world.bodies.b end)
  eq(world.bodies[4], nil)
  eq(world.bodies[0], nil)
  raises("no body is named 'bal'; did you mean 'ball'%?", function() return world.bodies.bal end)
  raises("no body is named 'xyzzy'$", function() return world.bodies.xyzzy end)
  raises("world.bodies is read%-only", function() world.bodies[1] = b end)
  raises("World.bodies is read%-only", function() world.bodies = {} end)
  raises("World.time is read%-only", function() world.time = 0 end)
  local seen = {}
  for i, body in ipairs(world.bodies) do seen[i] = body.x end
  eq(seen, { 0, 5, 10 })
  for _, body in pairs(world.bodies) do body:destroy() end
  eq(#world.bodies, 0)
end)

test("identity survives the collector while a reference exists", function()
  local world = sim.world {}
  local key = {}
  world:circle { radius = 1 }.data = key
  collectgarbage()
  collectgarbage()
  ok(rawequal(world.bodies[1].data, key))
  ok(world.bodies[1] == world.bodies[1])
end)

test("energy and momentum", function()
  local world = sim.world { gravity = { 0, -10 } }
  world:circle { radius = 1, mass = 2, position = { 0, 3 }, velocity = { 4, 0 } }
  local energy = world:energy()
  near(energy.kinetic, 16)
  near(energy.potential, 60)
  near(energy.total, 76)
  local momentum = world:momentum()
  near({ momentum.angular, momentum.x, momentum.y }, { -24, 8, 0 })
  near({ momentum[1], momentum[2], momentum[3] }, { -24, 8, 0 })
end)

test("a box at rest: contacts, residuals, statistics", function()
  local world = sim.world { gravity = { 0, -10 }, dt = 0.01 }
  world:segment { from = { -5, 0 }, to = { 5, 0 }, name = "ground" }
  local box = world:box { size = { 1, 1 }, position = { 0, 0.5 }, mass = 3 }
  world:step(20)
  local contacts = world:contacts()
  eq(#contacts, 2)
  local total = 0
  for _, contact in ipairs(contacts) do
    ok(contact.a == box or contact.b == box)
    near(contact.gap, 0, 1e-9)
    near(math.abs(contact.normal.y), 1)
    near(contact.point.y, 0, 1e-9)
    total = total + contact.normal_impulse
    eq(contact.sliding, false)
  end
  near(total, 3 * 10 * 0.01, 1e-9)
  eq(#box:contacts(), 2)
  local residuals = world:residuals()
  for _, name in ipairs { "dynamics", "complementarity", "cone", "joint", "penetration",
    "scaled" } do
    ok(residuals[name] <= 1e-9, name)
  end
  local stats = world:stats()
  eq(stats.steps, 20)
  eq(stats.unsolved_solves, 0)
  eq(stats.bodies, 2)
  eq(stats.last_status, "solved")
end)

test("solvers are listed, the clock runs", function()
  local names = {}
  for _, solver in ipairs(sim.solvers()) do
    names[solver.name] = true
    ok(#solver.summary > 10)
  end
  ok(names.auto and names.closed and names.pdipm and names.lemke)
  ok(names.nsgs and names.pgs and names.si and names.nncg and names.pcg)
  ok(names.newton and names.al and names.ncp)
  ok(sim.clock() <= sim.clock())
  ok(sim.version:match "^%d+%.%d+%.%d+$")
end)

test("the step problem gives the velocities of the next step", function()
  local world = sim.world { gravity = { 0, -10 }, dt = 0.01 }
  world:segment { from = { -5, 0 }, to = { 5, 0 } }
  local disc = world:circle { radius = 0.5, position = { 0, 0.5 }, velocity = { 1, 0 }, mass = 2 }
  local problem = world:problem()
  eq(#problem.bodies, 1)
  ok(problem.bodies[1] == disc)
  near(problem.M, { { 0.25, 0, 0 }, { 0, 2, 0 }, { 0, 0, 2 } })
  near(problem.rhs, { 0, 2, -0.2 })
  eq(problem.joints, 0)
  eq(problem.contacts, 1)
  near(problem.mu, { 0.5 })
  eq(problem.E, { { 1 }, { 1 } })
  -- normal row first; W = J inv(M) J', q = J inv(M) rhs + bias
  near(problem.W, { { 0.5, 0 }, { 0, 1.5 } })
  for i = 1, 2 do
    local q = problem.bias[i]
    for k = 1, 3 do q = q + problem.J[i][k] * problem.rhs[k] / problem.M[k][k] end
    near(q, problem.q[i])
  end
  -- slides: the normal impulse stops the fall, friction is at its bound
  local normal = -problem.q[1] / problem.W[1][1]
  world:step()
  near(disc.vy, 0)
  near(disc.vx, 1 - 0.5 * normal / 2)
end)

test("mass matrix and Jacobian", function()
  local world = sim.world {}
  world:segment { from = { -5, 0 }, to = { 5, 0 } }
  local disc = world:circle { radius = 1, position = { 2, 3 }, mass = 4, inertia = 5 }
  eq(world:mass_matrix(), { { 5, 0, 0 }, { 0, 4, 0 }, { 0, 0, 4 } })
  eq(world:jacobian(disc, { 3, 5 }), { { -2, 1, 0 }, { 1, 0, 1 } })
end)

test("pictures: options, and errors in them", function()
  local path = os.tmpname()
  os.remove(path)
  local world, other = sim.world { dt = 0.25, gravity = { 0, 0 } }, sim.world {}
  local ball = world:circle { radius = 1, name = "ball", velocity = { 4, 0 } }
  local stranger, gone = other:circle { radius = 1 }, world:circle { radius = 1, position = { 9, 9 } }
  gone:destroy()
  local function svg()
    local file <close> = ok(io.open(path .. ".svg"))
    return file:read "a"
  end
  eq(world:draw(path .. ".svg", { width = 300, view = { { -1, -1 }, { 2, 0.5 } }, title = "A & B",
    dark = true, legend = false, follow = ball }), true)
  ok(svg():find 'width="300"' and svg():find ">A &amp; B<" and svg():find "#16181d")
  ok(not svg():find "t = 0 s")
  local recording = ok(world:record(path .. ".svg", { strobe = 0.5, trails = { ball }, from = 0.5, to = 2 }))
  world:step(12)
  eq(recording:close(), true)
  ok(svg():find ">t = 0.5 … 2 s<", svg())
  recording = ok(world:record(path .. ".svg", { strobe = { 100 } }))
  local result, message = recording:close()
  eq(result, nil)
  ok(message:find "none of the requested times", message)
  os.remove(path .. ".svg")

  local function bad(message, options, suffix)
    raises(message, function() world:record(path .. (suffix or ".svg"), options) end)
    ok(not io.open(path .. (suffix or ".svg")), "nothing is written")
  end
  bad("key 'width': integer from 16 to 16384 expected, got 3", { width = 3 })
  bad("key 'view': two corners {{x, y}, {x, y}} expected, got 1", { view = 1 })
  bad("key 'view': corner 2: ", { view = { { 0, 0 } } })
  bad("key 'view': the second corner must be above and right of the first", { view = { { 0, 0 }, { 1, 0 } } })
  bad("key 'title': text expected, got true", { title = true })
  bad("key 'title': text of at most 119 bytes expected, got 200", { title = ("x"):rep(200) })
  bad("key 'follow': body expected, got", { follow = "ball" })
  bad("key 'follow': the body belongs to another world", { follow = stranger })
  bad("key 'follow': the body is destroyed", { follow = gone })
  bad("key 'trails': true or a list of bodies expected, got 1", { trails = 1 })
  bad("key 'trails': item 2: body expected, got nil", { trails = setmetatable({ ball }, { __len = function() return 2 end }) })
  bad("key 'strobe': a period %(s%) or a list of times: ", { strobe = "often" })
  bad("key 'strobe': a period %(s%) or a list of times: ", { strobe = 0 })
  bad("key 'strobe': times must ascend; 1 comes after 2", { strobe = { 2, 1 } })
  bad("key 'strobe': at least one time expected", { strobe = {} })
  bad("key 'to': must not be before 'from', 3 s", { from = 3, to = 2 })
  bad("key 'strobe': applies only to pictures: .svg and .png", { strobe = 1 }, ".csv")
  bad("key 'strobe': applies only to pictures: .svg and .png", { strobe = 1 }, ".mp4")
  bad("key 'fps': applies only to videos: .gif and .mp4", { fps = 25 })
  bad("key 'trails': applies only to .svg, .png, .gif, .mp4 and .html", { trails = true }, ".s2d")
  bad("did you mean 'strobe'?", { strob = 1 })
  raises("unknown key 'strobe'", function() world:draw(path .. ".svg", { strobe = 1 }) end)
end)

test("drawings and recordings: files or nil and a message", function()
  local path = os.tmpname()
  os.remove(path)
  local world = sim.world { dt = 0.25 }
  world:circle { radius = 1, name = "ball" }
  eq(world:draw(path .. ".svg", { width = 300, names = true }), true)
  local file = ok(io.open(path .. ".svg"))
  ok(file:read "a":find "<svg")
  file:close()
  local recording = ok(world:record(path .. ".csv", { every = 2 }))
  world:step(4)
  eq(recording:close(), true)
  eq(recording:close(), true)
  world:step(4)
  local lines = 0
  for _ in io.lines(path .. ".csv") do lines = lines + 1 end
  eq(lines, 1 + 3) -- the names, then t = 0, 0.5, 1
  os.remove(path .. ".svg")
  os.remove(path .. ".csv")
  local result, message = world:draw("/no/such/folder/x.svg")
  eq(result, nil)
  ok(message:find "/no/such/folder/x.svg")
  result, message = world:record("/no/such/folder/x.csv")
  eq(result, nil)
  ok(message:find "/no/such/folder/x.csv")
  raises("bad argument #1 to 'draw'", function() world:draw("x.foo") end)
  raises("bad argument #1 to 'record'", function() world:record("x.foo") end)
  raises("key 'every': integer from 1 to 2147483647 expected, got 0",
    function() world:record("x.csv", { every = 0 }) end)
end)

test("a world is not closed while a function of it reads its arguments", function()
  local world = sim.world {}
  local body = world:circle { radius = 1 }
  local point = setmetatable({}, {
    __len = function() return 2 end,
    __index = function(_, i)
      world:close()
      return i
    end,
  })
  local message = "world:close%(%) cannot be called while another function of the world runs"
  raises(message, function() world:circle { radius = 1, position = point } end)
  raises(message, function() body.position = point end)
  raises(message, function() body:apply_force(point) end)
  raises(message, function() world:raycast(point, { 0, 0 }) end)
  eq(#world.bodies, 1)
  world:close()
end)

-- The solver may give a corner that stays away from the floor an impulse of rounding. It must not count as touching, or
-- the impact of the other corner stops both.
test("a body that lands on one corner moves smoothly with its mass", function()
  for _, stabilization in ipairs { "projection", "none", "pre", "post" } do
    local function land(mass)
      local world = sim.world { dt = 0.01, stabilization = stabilization }
      world:segment { from = { -5, 0 }, to = { 5, 0 }, friction = 0.3 }
      local box = world:box { size = { 0.4, 0.4 }, position = { 0, 0.5 }, velocity = { 1, 0 },
        mass = mass, angle = 0.13 }
      local disc = world:circle { radius = 0.1, position = { 0, 0.9 }, mass = 0.5 }
      world:hinge { disc, box, anchor = { 0, 0.7 } }
      world:run { steps = 36 }
      return box.x + box.y + disc.x
    end
    local first, last = land(1 - 1e-5), land(1 + 1e-5)
    for k = -9, 9 do
      near(land(1 + k * 1e-6), (first + last) / 2 + (last - first) * k / 20, 1e-9,
        ("%s, mass 1 + %de-6"):format(stabilization, k))
    end
  end
end)

test("a bisected step ends at the first halving if stepping_partial is set", function()
  local function fall(partial)
    local world = sim.world { stepping = "bisect", stepping_partial = partial, dt = 1 / 30 }
    world:box { type = "static", position = { 0, -1 }, size = { 10, 2 } }
    local ball = world:circle { radius = 0.5, position = { 0, 1.53 }, velocity = { 0, -10 } }
    local short = 0
    for i = 1, 10 do
      local before = world.time
      world:step()
      local took = world.time - before
      ok(took > 0 and took <= 1 / 30 + 1e-15)
      short = short + (took < 0.9 / 30 and 1 or 0)
    end
    return world, ball, short
  end
  local world, ball, short = fall(true)
  ok(short > 0 and world.time < 10 / 30 and ball.y > 0.5 - 1e-6)
  eq(world:clone().stepping_partial, true)
  local before = world.time
  world:run { duration = 0.2 }
  near(world.time - before, 0.2, 1 / 30)
  eq(select(3, fall(false)), 0)
  world.stepping_partial = false
  eq(world.stepping_partial, false)
end)

test("the solver ncp ends where the central path has the kappa asked for", function()
  for _, kappa in ipairs { 1e-6, 1e-4, 1e-3 } do
    -- lambda = m g h and u = gap / h, and lambda u = kappa V^2 / w with V = g h, w = 1 / m
    local world = sim.world { solver = "ncp", ncp_kappa = kappa, tolerance = 0.1, stepping = "speculative" }
    world:box { type = "static", position = { 0, -1 }, size = { 10, 2 } }
    local ball = world:circle { radius = 0.5, position = { 0, 0.5 }, friction = 0 }
    world:run { duration = 2 }
    near((ball.y - 0.5) / (9.81 * world.dt ^ 2), kappa, 1e-6 * kappa + 1e-11)
    eq(world:stats().unsolved_solves, 0)
    eq(world:clone().ncp_kappa, kappa)
  end
end)

test("kappa moves the solver ncp alone, and is checked", function()
  local function fall(settings)
    local world = sim.world(settings)
    world:box { type = "static", position = { 0, -1 }, size = { 10, 2 } }
    local box = world:box { size = { 1, 1 }, position = { 0, 0.7 }, angle = 0.1, velocity = { 1, 0 } }
    world:run { duration = 1 }
    return { box.x, box.y, box.angle }, world
  end
  eq(fall { ncp_kappa = 1e-3 }, fall {})
  -- the path is different, but it ends in the same place
  local plain, path = fall { solver = "ncp", stepping = "speculative" }, fall { solver = "ncp", stepping = "speculative", ncp_undercut = 1e6 }
  near(path, plain, 1e-6)
  -- friction also tends to the exact law with kappa
  local last = math.huge
  for _, kappa in ipairs { 1e-3, 1e-5, 1e-7 } do
    local soft, world = fall { solver = "ncp", stepping = "speculative", ncp_kappa = kappa, tolerance = 0.1 }
    local off = math.abs(soft[1] - plain[1])
    ok(off < last, ("kappa %g is off by %g"):format(kappa, off))
    last = off
    eq(world:stats().unsolved_solves, 0)
  end
  raises("ncp_kappa.*non%-negative", sim.world, { ncp_kappa = -1 })
  raises("ncp_undercut.*positive", sim.world, { ncp_undercut = 0 })
end)
