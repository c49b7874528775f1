-- Solvers written in the script.
local sim = require "sim2d"

-- Projected Gauss-Seidel; at most `sweeps` sweeps.
local function gauss_seidel(sweeps)
  return function(p)
    local l = { table.unpack(p.guess) }
    for sweep = 1, sweeps do
      local change = 0
      for i = 1, #l do
        local u, lo, hi = p.q[i], p.lo[i], p.hi[i]
        for k = 1, #l do u = u + p.W[i][k] * l[k] end
        if i > p.joints and (i - p.joints) % 2 == 0 then lo, hi = lo * l[i - 1], hi * l[i - 1] end
        local new = math.min(math.max(l[i] - u / p.W[i][i], lo), hi)
        l[i], change = new, math.max(change, math.abs(new - l[i]))
      end
      if change < 1e-15 then return l, sweep end
    end
    return l, sweeps
  end
end

local function stack(solver, options)
  local world = sim.world { solver = solver, stepping = options and options.stepping }
  world:box { type = "static", position = { 0, -0.5 }, size = { 10, 1 } }
  for i = 1, 3 do
    world:box { position = { 0.05 * i, i - 0.5 }, size = { 1, 1 }, velocity = { i == 3 and 1 or 0, 0 } }
  end
  local bob = world:circle { position = { 3, 2 }, radius = 0.1 }
  world:hinge { bob, anchor = { 3, 3 }, motor = { speed = 1, max_torque = 0.2 } }
  return world
end

sim.solver("mine", gauss_seidel(5000))

test("a solver of the script finds the solutions of the engine's solvers", function()
  for _, stepping in ipairs { "speculative", "event", "bisect" } do
    local a, b = stack("mine", { stepping = stepping }), stack("pdipm", { stepping = stepping })
    a:run { steps = 60 }
    b:run { steps = 60 }
    eq(a.solver, "mine")
    near(a:state(), b:state(), 1e-9)
    eq(a:stats().unsolved, 0)
    ok(a:stats().used.program >= 60)
    eq(a:stats().used.pdipm, 0)
  end
end)

test("its problem equals world:problem", function()
  local seen
  sim.solver("looks", function(p)
    seen = p
    return gauss_seidel(5000)(p)
  end)
  local world = sim.world { solver = "looks", stepping = "speculative", tolerance = 1e-8, max_iterations = 7 }
  world:box { type = "static", position = { 0, -0.5 }, size = { 10, 1 } }
  world:box { position = { 0, 0.5 }, size = { 1, 1 } }
  local problem = world:problem()
  world:step()
  for _, name in ipairs { "M", "rhs", "J", "C", "bias", "lo", "hi", "mu", "E", "W", "q", "joints", "contacts" } do
    eq(seen[name], problem[name], name)
  end
  eq({ seen.tolerance, seen.max_iterations, #seen.guess, seen.bodies }, { 1e-8, 7, 4, nil })
  ok(seen.velocity_scale > 0 and seen.length > 0)
  world:step()
  ok(seen.guess[1] > 0) -- of the step before
end)

test("its residual is measured, and an unsolved step counts as one", function()
  sim.solver("lazy", gauss_seidel(1))
  local world = stack "lazy"
  world:step(3)
  ok(world:stats().unsolved > 0 and world:residuals().scaled > 1e-9)
  sim.solver("lazy", function() return nil end)
  local other = stack "lazy"
  other:step()
  ok(other:stats().unsolved > 0)
end)

test("clones and snapshots keep it; a new function under the name counts", function()
  local world = stack "mine"
  world:run { steps = 10 }
  local twin, image = world:clone(), world:snapshot()
  eq(twin.solver, "mine")
  world:step(5)
  twin:step(5)
  eq(twin:state(), world:state())
  world.solver = "auto"
  world:step()
  world:restore(image)
  eq(world.solver, "mine")
  world:step(5)
  eq(world:state(), twin:state())
  local calls = 0
  sim.solver("counted", function(p) return gauss_seidel(5000)(p) end)
  world.solver = "counted"
  sim.solver("counted", function(p) calls = calls + 1 return gauss_seidel(5000)(p) end)
  world:step()
  ok(calls > 0)
  local found = {}
  for _, solver in ipairs(sim.solvers()) do found[solver.name] = solver.summary end
  ok(found.mine and found.counted and found.auto)
  eq(found.program, nil)
end)

test("derivatives come from the problem, not from the solver", function()
  local function slide(solver)
    return function(p)
      local world = sim.world { solver = solver, stepping = "speculative" }
      world:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 } }
      local box = world:box { position = { 0, 0.5 }, size = { 1, 1 }, velocity = { p[1], 0 }, friction = p[2] }
      world:run { steps = 20 }
      return box.x
    end
  end
  local x, g = sim.value_and_grad(slide "mine", { 2, 0.3 })
  local y, h = sim.value_and_grad(slide "auto", { 2, 0.3 })
  near(x, y, 1e-12)
  near(g, h, 1e-12)
end)

test("errors of the function end the step, and the world is as before", function()
  local world = stack "mine"
  world:step()
  local state = world:state()
  local function becomes(fn, message)
    sim.solver("broken", fn)
    world.solver = "broken"
    raises(message, function() world:step() end)
    eq(world:state(), state)
  end
  becomes(function() error "no idea" end, "no idea")
  becomes(function() return 1 end, "solver 'broken': a list of %d+ impulses expected, got 1")
  becomes(function() return { 1 } end, "solver 'broken': a list of %d+ impulses expected, got one of 1")
  becomes(function(p)
    local l = {}
    for i = 1, #p.q do l[i] = 0 / 0 end
    return l
  end, "solver 'broken': impulse 1: a finite number expected, got %-?nan")
  becomes(function(p)
    local l = {}
    for i = 1, #p.q do l[i] = "x" end
    return l
  end, "solver 'broken': impulse 1: a finite number expected, got 'x'")
  becomes(function(p) world:step() return p.guess end, "cannot be called from inside a step")
end)

test("bad names and functions are refused", function()
  raises("bad argument #1 to 'solver' %(a name expected, got 1%)", function() sim.solver(1, print) end)
  raises("a name expected", function() sim.solver("", print) end)
  raises("'pdipm' is a solver of the engine", function() sim.solver("pdipm", print) end)
  raises("'program' is a solver of the engine", function() sim.solver("program", print) end)
  raises("bad argument #2 to 'solver' %(a function that gets a problem", function() sim.solver "x" end)
  raises("'program' stands for all functions given to sim.solver", function() sim.world { solver = "program" } end)
  raises("one of 'auto'", function() sim.world { solver = "unknown" } end)
end)
