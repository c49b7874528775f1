-- sim.contact: frictional contact problems given as matrices.
local sim = require "sim2d"

-- Coulomb's law for a solution, contact by contact.
local function lawful(r, u, mu, tolerance)
  for k = 1, #r // 2 do
    local rn, rt, un, ut = r[2 * k - 1], r[2 * k], u[2 * k - 1], u[2 * k]
    local m = type(mu) == "table" and mu[k] or mu
    ok(rn >= 0 and un >= -tolerance and math.min(rn, un) <= tolerance, "normal")
    ok(math.abs(rt) <= m * rn + tolerance, "cone")
    if math.abs(ut) > tolerance then
      near(rt, ut > 0 and -m * rn or m * rn, 100 * tolerance)
    end
  end
end

test("newton, al and ncp take the local form", function()
  sim.random.seed(1)
  for _ = 1, 20 do
    local B, W, q = {}, {}, {}
    for i = 1, 8 do -- four contacts, W = B B' + 1
      B[i], q[i] = {}, sim.random.uniform(-1, 1)
      for j = 1, 8 do
        B[i][j] = sim.random.uniform(-0.5, 0.5)
      end
    end
    for i = 1, 8 do
      W[i] = {}
      for j = 1, 8 do
        W[i][j] = i == j and 1 or 0
        for k = 1, 8 do
          W[i][j] = W[i][j] + B[i][k] * B[j][k]
        end
      end
    end
    local r = sim.contact.solve { W = W, q = q, mu = { 0.2, 0.2, 0.2, 0.2 } }
    for _, solver in ipairs { "newton", "al", "ncp" } do
      local mine, _, info = sim.contact.solve { W = W, q = q, mu = { 0.2, 0.2, 0.2, 0.2 },
        solver = solver }
      eq(info.status, "solved")
      for i = 1, 8 do
        ok(math.abs(mine[i] - r[i]) < 1e-6)
      end
    end
  end
end)

test("a ball slides, sticks or leaves", function()
  local r, u, info = sim.contact.solve { W = { 1, 1 }, q = { -1, 2 }, mu = 0.5 }
  near(r, { 1, -0.5 }, 1e-15)
  near(u, { 0, 1.5 }, 1e-15)
  eq({ info.status, info.residual <= 1e-15 }, { "solved", true })
  near(sim.contact.solve { W = { 1, 1 }, q = { -1, 0.25 }, mu = 0.5 }, { 1, -0.25 }, 1e-15)
  near(sim.contact.solve { W = { 1, 1 }, q = { 1, 2 }, mu = 0.5 }, { 0, 0 })
end)

test("rows, diagonal and sparse matrices mean the same", function()
  local sparse = { rows = 2, columns = 2, i = { 1, 2, 1, 2, 2 }, j = { 1, 2, 2, 1, 2 }, v = { 2, 1, 0.3, 0.3, 2 } }
  local rows = { { 2, 0.3 }, { 0.3, 3 } } -- entries of one place add up
  local one = { sim.contact.solve { W = sparse, q = { -1, 2 }, mu = { 0.4 } } }
  local two = { sim.contact.solve { W = rows, q = { -1, 2 }, mu = { 0.4 } } }
  eq({ one[1], one[2] }, { two[1], two[2] })
  eq((sim.contact.solve { W = { { 2, 0 }, { 0, 3 } }, q = { -1, 2 }, mu = 1 }),
    (sim.contact.solve { W = { 2, 3 }, q = { -1, 2 }, mu = 1 }))
end)

test("the global form finds the velocities of the bodies", function()
  local problem = { -- a bar of mass 2 whose two ends fall on the ground
    M = { 2, 2, 0.5 }, H = { { 0, 1, 0, 1 }, { 1, 0, 1, 0 }, { -1, 0, 1, 0 } },
    q = { 1, -3, 0.2 }, bias = { 0, 0, 0, 0 }, mu = 0.1,
  }
  local r, u, info = sim.contact.solve(problem)
  lawful(r, u, 0.1, 1e-9)
  near(info.v, { (1 - 0.3) / 2, 0, 0 }, 1e-12)
  near(r[1] + r[3], 3, 1e-12)
  problem.M = { { 2, 0, 0.1 }, { 0, 2, 0 }, { 0.1, 0, 0.5 } } -- not diagonal: by the Delassus matrix
  r, u, info = sim.contact.solve(problem)
  lawful(r, u, 0.1, 1e-9)
  near(2 * info.v[1] + 0.1 * info.v[3], 1 + r[2] + r[4], 1e-12)
end)

test("a world's own step problem", function()
  local world = sim.world { gravity = { 0, -10 }, dt = 1 / 60, stepping = "speculative" }
  world:box { type = "static", position = { 0, -1 }, size = { 20, 2 }, friction = 0.5 }
  for i = 0, 4 do
    world:box { position = { 0.1 * i, 0.5 + i }, size = { 1, 1 }, friction = 0.5, velocity = { 2, 0 } }
  end
  local p = world:problem()
  local r, u, info = sim.contact.solve { W = p.W, q = p.q, mu = p.mu }
  eq(info.status, "solved")
  lawful(r, u, p.mu, 1e-8)
  -- the same velocities by the bodies' masses: v = M^-1 (rhs + J' r)
  world:step()
  local row = 0
  for i, body in ipairs(p.bodies) do
    local vx = p.rhs[3 * i - 1]
    for k = 1, #r do vx = vx + p.J[k][3 * i - 1] * r[k] end
    near(body.vx, vx / p.M[3 * i - 1][3 * i - 1], 1e-7)
    row = row + 1
  end
  eq(row, 5)
end)

-- Central differences of the loss by every number of `list`, a part of the problem.
local function slopes(problem, list, loss, step)
  local found = {}
  for i, value in ipairs(list) do
    list[i] = value + step
    local ahead = loss(sim.contact.solve(problem))
    list[i] = value - step
    local back = loss(sim.contact.solve(problem))
    list[i] = value
    found[i] = (ahead - back) / (2 * step)
  end
  return found
end

-- Two contacts: one slides, one sticks.
local function coupled(kappa)
  return {
    W = { { 2, 0.2, 0.1, 0 }, { 0.3, 2, 0, 0.1 }, { 0.1, 0, 3, 0.4 }, { 0, 0.2, 0.1, 3 } },
    q = { -1, 3, -2, 0.3 }, mu = { 0.5, 0.4 }, kappa = kappa, tolerance = 1e-13,
  }
end

test("derivatives are those of differences, exact and on the path", function()
  local dr, du = { 0.3, -1, 0.7, 0.2 }, { 1, -0.4, 0.5, 2 }
  local function loss(r, u)
    local sum = 0
    for i = 1, 4 do sum = sum + dr[i] * r[i] + du[i] * u[i] end
    return sum
  end
  for _, kappa in ipairs { 0, 1e-2 } do
    local p = coupled(kappa)
    local r, u, info = sim.contact.solve(p)
    local g = sim.contact.vjp(p, r, u, info, { r = dr, u = du })
    eq({ info.status, g.regular, g.why, g.bias }, { "solved", true, nil, nil })
    near(g.q, slopes(p, p.q, loss, 1e-5), 1e-7)
    near(g.mu, slopes(p, p.mu, loss, 1e-5), 1e-7)
    for i = 1, 4 do -- also entries that are 0
      near(g.W[i], slopes(p, p.W[i], loss, 1e-5), 1e-7)
    end
  end
end)

test("gradients have the shapes of the problem", function()
  local p = { W = { 1, 1 }, q = { -1, 2 }, mu = 0.5 } -- slides on
  local r, u, info = sim.contact.solve(p)
  local g = sim.contact.vjp(p, r, u, info, { u = { 0, 1 } })
  near(g.W, { 0.5, -0.5 }, 1e-12)
  near(g.q, { 0.5, 1 }, 1e-12)
  near(g.mu, -1, 1e-12)
  p.W = { rows = 2, columns = 2, i = { 2, 1, 2 }, j = { 2, 1, 2 }, v = { 0.5, 1, 0.5 } }
  p.mu = { 0.5 }
  g = sim.contact.vjp(p, r, u, info, { u = { 0, 1 } })
  eq({ g.W.i, g.W.j, g.W.rows, g.W.columns }, { p.W.i, p.W.j, 2, 2 })
  near(g.W.v, { -0.5, 0.5, -0.5 }, 1e-12) -- each part of a sum
  near(g.mu, { -1 }, 1e-12)
  g = sim.contact.vjp({ W = {}, q = {}, mu = 1 }, {}, {}, {}, {})
  eq(g, { W = {}, q = {}, mu = 0, regular = true })
end)

test("derivatives of the global form", function()
  local dv = { 1, 0.5, -2 }
  local function loss(_, _, info)
    return dv[1] * info.v[1] + dv[2] * info.v[2] + dv[3] * info.v[3]
  end
  for _, kappa in ipairs { 0, 1e-2 } do
    for _, M in ipairs { { 2, 3, 0.5 }, { { 2, 0, 0.1 }, { 0, 3, 0 }, { 0.1, 0, 0.5 } } } do
      local p = { -- a bar with one end on the ground
        M = M, H = { { 0, 1 }, { 1, 0 }, { -1, 0.2 } }, q = { 1, -3, 0.2 }, bias = { 0.1, 0 },
        mu = 0.1, kappa = kappa, tolerance = 1e-13,
      }
      local r, u, info = sim.contact.solve(p)
      local g = sim.contact.vjp(p, r, u, info, { v = dv })
      eq({ info.status, g.regular }, { "solved", true })
      near(g.q, slopes(p, p.q, loss, 1e-5), 1e-7)
      near(g.bias, slopes(p, p.bias, loss, 1e-5), 1e-7)
      for i = 1, 3 do
        near(g.H[i], slopes(p, p.H[i], loss, 1e-5), 1e-7)
      end
      if type(M[1]) == "number" then
        near(g.M, slopes(p, M, loss, 1e-5), 1e-7)
      else -- only the lower half of M is read
        for i = 1, 3 do
          near(g.M[i], slopes(p, M[i], loss, 1e-5), 1e-7)
        end
        eq({ g.M[1][2], g.M[1][3], g.M[2][3] }, { 0, 0, 0 })
      end
    end
  end
end)

test("a missing derivative is reported with the reason", function()
  local p = { W = { 1, 1 }, q = { -1, 0.5 }, mu = 0.5 } -- sticks with its largest friction
  local r, u, info = sim.contact.solve(p)
  local g = sim.contact.vjp(p, r, u, info, { u = { 0, 1 } })
  eq(g.regular, false)
  ok(g.why:find("about to slide", 1, true))
  p.kappa = 1e-4
  r, u, info = sim.contact.solve(p)
  eq({ info.status, info.kappa, #info.z }, { "solved", 1e-4, 4 })
  near({ r[1] * u[1], r[1] }, { 1e-4, 1 }, 1e-3)
  eq(sim.contact.vjp(p, r, u, info, { u = { 0, 1 } }).regular, true)
  local twice = { W = { { 1, 0, 1, 0 }, { 0, 1, 0, 1 }, { 1, 0, 1, 0 }, { 0, 1, 0, 1 } }, q = { -1, 0, -1, 0 }, mu = 0.5 }
  r, u, info = sim.contact.solve(twice)
  g = sim.contact.vjp(twice, r, u, info, { r = { 1, 0, 1, 0 } })
  eq({ g.regular, g.why }, { false, "contacts repeat each other" })
  near(g.q[1] + g.q[3], -1, 1e-9) -- the whole load is determined, one contact's is not
  g = sim.contact.vjp(twice, r, u, info, { r = { 1, 0, 0, 0 } })
  ok(g.why:find("redundant contacts in a load", 1, true))
  g = sim.contact.vjp(twice, r, u, info, { r = { 0 / 0, 0, 0, 0 } })
  ok(g.why:find("not finite", 1, true) and g.q[1] ~= g.q[1])
end)

test("the arguments of derivatives are checked", function()
  local p = coupled(1e-2)
  local r, u, info = sim.contact.solve(p)
  raises("r: 4 numbers expected, got 1", sim.contact.vjp, p, { 1 }, u, info, {})
  raises("the info returned by the solve function expected", sim.contact.vjp, p, r, u, nil, {})
  raises("'info.z' is missing", sim.contact.vjp, p, r, u, { kappa = 1e-2 }, {})
  raises("u: 4 numbers expected, got 2", sim.contact.vjp, p, r, u, info, { u = { 1, 2 } })
  raises("unknown key", sim.contact.vjp, p, r, u, info, { v = { 1 } })
  raises("requires the solver 'pdipm' or 'auto', got 'pgs'", sim.contact.solve,
    { W = { 1, 1 }, q = { -1, 2 }, mu = 0.5, kappa = 1e-2, solver = "pgs" })
end)

test("written files are read back unchanged", function()
  local path = os.tmpname()
  local problem = { W = { { 1, 0.1 }, { 0.1, 1 / 3 } }, q = { -1, 1e-300 }, mu = 0.7 }
  eq(sim.contact.write(path, problem), true)
  local read = sim.contact.read(path)
  eq(read, {
    W = { rows = 2, columns = 2, i = { 1, 1, 2, 2 }, j = { 1, 2, 1, 2 }, v = { 1, 0.1, 0.1, 1 / 3 } },
    q = { -1, 1e-300 }, mu = { 0.7 },
  })
  eq((sim.contact.solve(read)), (sim.contact.solve(problem)))
  local global = { M = { 1, 2, 3 }, H = { { 1, 0 }, { 0, 1 }, { 0.5, 0 } }, q = { -1, 0, 0 }, bias = { 0, 1 }, mu = { 0.2 } }
  eq(sim.contact.write(path, global), true)
  eq((sim.contact.solve(sim.contact.read(path))), (sim.contact.solve(global)))
  os.remove(path)
  local none, message = sim.contact.read(path)
  eq(none, nil)
  ok(message:find("cannot read", 1, true))
end)

test("a missing solution is reported", function()
  local r, status, info = sim.contact.solve { W = { -1, 1 }, q = { -1, 0 }, mu = 0.5 }
  eq(r, nil)
  ok(status ~= "solved" and info.residual > 1e-9)
  r, status = sim.contact.solve { W = { 0 / 0, 1 }, q = { -1, 0 }, mu = 0.5 }
  eq({ r, status }, { nil, "singular" })
  eq((sim.contact.solve { W = {}, q = {}, mu = {} }), {})
end)

test("malformed problems name the key", function()
  raises("key 'q' is missing", sim.contact.solve, { W = { 1, 1 }, mu = 1 })
  raises("key 'W' is missing", sim.contact.solve, { q = { 1, 1 }, mu = 1 })
  raises("key 'mu' is missing", sim.contact.solve, { W = { 1, 1 }, q = { 1, 1 } })
  raises("key 'H' is missing", sim.contact.solve, { M = { 1 }, q = { 1 }, bias = { 1, 1 }, mu = 1 })
  raises("key 'W': either W, or M and H,", sim.contact.solve, { W = { 1, 1 }, M = { 1 }, q = { 1 }, mu = 1 })
  raises("key 'bias': applies only to the form with M", sim.contact.solve, { W = { 1, 1 }, q = { 1, 1 }, bias = { 1, 1 }, mu = 1 })
  raises("two numbers per contact expected, got 3", sim.contact.solve, { W = { 1, 1 }, q = { 1, 1, 1 }, mu = 1 })
  raises("2 x 2 matrix expected, got 3 x 3", sim.contact.solve, { W = { 1, 1, 1 }, q = { 1, 1 }, mu = 1 })
  raises("mu: 1 numbers expected, got 2", sim.contact.solve, { W = { 1, 1 }, q = { 1, 1 }, mu = { 1, 2 } })
  raises("at least 0 expected, got %-1", sim.contact.solve, { W = { 1, 1 }, q = { 1, 1 }, mu = -1 })
  raises("key 'W.j': %[1%]: integer from 1 to 2 expected, got 1.5", sim.contact.solve,
    { W = { rows = 2, columns = 2, i = { 1 }, j = { 1.5 }, v = { 1 } }, q = { 1, 1 }, mu = 1 })
  raises("key 'W.v' is missing", sim.contact.solve, { W = { rows = 2, columns = 2, i = { 1 }, j = { 1 } }, q = { 1, 1 }, mu = 1 })
  raises("key 'W': matrix expected, got", sim.contact.solve, { W = 3, q = { 1, 1 }, mu = 1 })
  raises("solver", sim.contact.solve, { W = { 1, 1 }, q = { 1, 1 }, mu = 1, solver = "magic" })
  raises("r0: 2 numbers expected, got 1", sim.contact.solve, { W = { 1, 1 }, q = { 1, 1 }, mu = 1, r0 = { 1 } })
  raises("path expected, got", sim.contact.read, 3)
end)

test("every solver can be selected, and fills its history", function()
  local W, q = {}, {}
  for i = 1, 6 do
    W[i] = {}
    for j = 1, 6 do W[i][j] = i == j and 2 or 0.3 / (1 + math.abs(i - j)) end
    q[i] = i % 2 == 1 and -1 or 0.7
  end
  local expected = sim.contact.solve { W = W, q = q, mu = 0.4 }
  for _, solver in ipairs(sim.solvers()) do
    local r, u, info = sim.contact.solve { W = W, q = q, mu = 0.4, solver = solver.name, history = true }
    local of_bodies = solver.name == "closed" or solver.name == "linear" or solver.name == "active"
    if of_bodies then
      eq({ r, u }, { nil, "unsupported" })
    else
      near(r, expected, 1e-7)
      eq(info.status, "solved")
      ok(#info.history > 0, solver.name)
      for _, entry in ipairs(info.history) do
        ok(entry.residual >= 0 and entry.step > 0 and entry.step <= 1 and entry.mu >= 0, solver.name)
      end
    end
  end
  local r = sim.contact.solve { W = W, q = q, mu = 0.4, solver = "pgs", omega = 1.2 }
  near(r, expected, 1e-7)
  raises("omega", sim.contact.solve, { W = W, q = q, mu = 0.4, solver = "pgs", omega = 2 })
end)

test("dumped step problems are solved again by any solver", function()
  local folder = os.tmpname()
  os.remove(folder)
  ok(os.execute("mkdir " .. folder))
  local script = folder .. "/run.lua"
  local file = assert(io.open(script, "w"))
  file:write [[
    local sim = require "sim2d"
    local world = sim.world { flow = "projected" } -- the two stages dump no problems
    world:box { type = "static", position = { 0, -1 }, size = { 20, 2 } }
    for i = 0, 3 do world:box { position = { 0, 0.5 + i }, size = { 1, 1 } } end
    world:step()
  ]]
  file:close()
  local command = os.getenv "S2_SIM2D" or arg[-1]
  ok(os.execute(command .. " --dump-problems " .. folder .. " " .. script))
  local path = folder .. "/problem-000000-00.txt"
  local expected, velocities, info = sim.problem.solve(path)
  eq({ info.status, info.rows, info.nodes, #expected, #velocities }, { "solved", 16, 4, 16, 12 })
  for _, solver in ipairs { "lemke", "newton", "pdipm", "ncp" } do
    local lambda, v, record = sim.problem.solve(path, { solver = solver, history = true })
    near(v, velocities, 1e-7)
    ok(#record.history > 0 and record.solver == solver)
  end
  raises("solver", sim.problem.solve, path, { solver = "magic" })
  raises("path expected", sim.problem.solve, 1)
  local none, message = sim.problem.solve(script)
  eq(none, nil)
  ok(message:find("run.lua:1:", 1, true), message)
  os.execute("rm -r " .. folder)
end)
