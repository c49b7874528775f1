-- What tools/same-bits has both programs compute, beside scenes and scripts: random scenes in every
-- stepping and by every solver, their gradients, problems on their own. Every number is printed to the
-- last bit. Arguments: which of them, the folder of random_scenes.lua, how many.
local sim = require "sim2d"
local what, folder, count = arg[1], arg[2], tonumber(arg[3])
package.path = folder .. "/?.lua;" .. package.path
local scenes = require "random_scenes"

local function bits(x)
  if math.type(x) == "float" then return ("%a"):format(x) end
  if type(x) ~= "table" then return tostring(x) end
  local parts = {}
  for i = 1, #x do parts[i] = bits(x[i]) end
  return table.concat(parts, " ")
end

-- A table of results by name, but for what the clock says.
local function show(label, t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, key in ipairs(keys) do
    if type(t[key]) == "table" then
      show(label .. "." .. tostring(key), t[key])
    elseif key ~= "time" then
      print(label .. "." .. tostring(key), bits(t[key]))
    end
  end
end

-- ---- Worlds ----------------------------------------------------------------------------------

local WAYS = { "auto", "speculative", "event", "bisect" }

-- A scene of the seed in this stepping, its settings cut down to what the stepping takes; or nil.
local function made(seed, way, settings)
  local s = scenes.scene(seed)
  s.world = scenes.with(s.world, settings or {})
  s.world.stepping = way
  local good, world = pcall(scenes.build, s, s.p)
  if not good then
    print("refused", (world:gsub("^.-:%d+: ", "")))
    return nil
  end
  return world, s
end

local function run(label, world, steps)
  for i = 1, steps do
    local good, message = pcall(world.step, world)
    if not good then
      print(label, i, (message:gsub("^.-:%d+: ", "")))
      return
    end
    if i % 5 == 0 then print(label, i, bits(world:state())) end
  end
  show(label, world:residuals())
  for k, contact in ipairs(world:contacts()) do
    print(label, "contact", k, bits { contact.gap, contact.normal_impulse, contact.tangent_impulse })
  end
  print(label, "energy", bits(world:energy().total))
  local stats = world:stats()
  print(label, "stats", bits { stats.unsolved, stats.iterations or 0 })
end

local function worlds()
  for seed = 0, count - 1 do
    for _, way in ipairs(WAYS) do
      local world, s = made(seed, way)
      if world then run(("scene %d %s"):format(seed, way), world, s.steps) end
    end
  end
end

local function solvers()
  for seed = 0, count - 1 do
    for _, solver in ipairs(sim.solvers()) do
      local world = made(seed, "speculative", { solver = solver.name })
      if world then run(("scene %d %s"):format(seed, solver.name), world, 10) end
    end
  end
end

local function gradients()
  for seed = 0, count - 1 do
    for _, way in ipairs(WAYS) do
      local s = scenes.scene(seed)
      s.world.stepping, s.impulses = way, seed % 3 == 2
      local good, value, g = pcall(sim.value_and_grad, function(p) return scenes.loss(s, p) end, s.p)
      local label = ("gradient %d %s"):format(seed, way)
      sim.checkpoint()
      if good then
        print(label, bits(value), table.concat(sim.tape_stats().flags, " "))
        for _, path in ipairs(scenes.leaves(s.p, {}, {})) do
          print(label, table.concat(path, "."), bits(scenes.at(g, path)))
        end
      else
        print(label, (value:gsub("^.-:%d+: ", "")))
      end
    end
  end
end

-- ---- Problems --------------------------------------------------------------------------------

local R = sim.random.split()
local function number() return R:uniform(-1, 1) end

local function numbers(n)
  local v = {}
  for i = 1, n do v[i] = number() end
  return v
end

-- A A' + shift, symmetric; with `skew` a skew part beside it.
local function matrix(n, rank, shift, skew)
  local a, m = {}, {}
  for i = 1, n do a[i] = numbers(rank) end
  for i = 1, n do
    m[i] = {}
    for j = 1, n do
      local sum = i == j and shift or 0
      for k = 1, rank do sum = sum + a[i][k] * a[j][k] end
      m[i][j] = sum
    end
  end
  for i = 1, n do
    for j = 1, i - 1 do
      local x = skew and number() or 0
      m[i][j], m[j][i] = m[i][j] + x, m[j][i] - x
    end
  end
  return m
end

local function solved(label, ...)
  local results = table.pack(pcall(...))
  for k = 1, results.n do
    if type(results[k]) == "table" then
      show(label .. "." .. k, results[k])
    else
      print(label, k, (bits(results[k]):gsub("^.-:%d+: ", "")))
    end
  end
end

local function problems()
  for i = 1, count do
    local n = R:integer(1, 12)
    local q, M = numbers(n), matrix(n, R:integer(1, n), R:integer(0, 1) * 0.1, i % 2 == 0)
    for _, solver in ipairs(sim.lcp.solvers()) do
      solved(("lcp %d %s"):format(i, solver.name), sim.lcp.solve, M, q, { solver = solver.name, history = true })
    end
    solved("lcp kappa " .. i, sim.lcp.solve, M, q, { kappa = 1e-3 })
    local z = sim.lcp.solve(M, q)
    if z then solved("lcp vjp " .. i, sim.lcp.vjp, M, q, z, numbers(n)) end

    local contacts = R:integer(1, 5)
    local W = matrix(2 * contacts, R:integer(1, 2 * contacts), 0.01)
    local problem = { W = W, q = numbers(2 * contacts), mu = R:uniform(0, 1) }
    for _, solver in ipairs(sim.solvers()) do
      problem.solver = solver.name
      solved(("contact %d %s"):format(i, solver.name), sim.contact.solve, problem)
    end
    problem.solver = nil
    local r, v, info = sim.contact.solve(problem)
    if r then
      solved("contact vjp " .. i, sim.contact.vjp, problem, r, v, info,
        { r = numbers(2 * contacts), u = numbers(2 * contacts) })
    end

    local rows = R:integer(1, n)
    local J = {}
    for k = 1, rows do J[k] = numbers(n) end
    for _, solver in ipairs(sim.kkt.solvers()) do
      solved(("kkt %d %s"):format(i, solver.name), sim.kkt.solve,
        { W = matrix(n, n, 0.5), J = J, b = numbers(rows), c = numbers(n), solver = solver.name })
    end
    local qp = { P = matrix(n, n, 0.1), q = numbers(n), G = J, h = numbers(rows) }
    local x, how = sim.qp.solve(qp)
    solved("qp " .. i, sim.qp.solve, qp)
    if x then solved("qp vjp " .. i, sim.qp.vjp, qp, x, how, { x = numbers(n) }) end
    local lo, hi = {}, {}
    for k = 1, n do lo[k], hi[k] = -R:uniform(0, 2), k % 2 == 0 and R:uniform(0, 2) or math.huge end
    local mlcp = { B = matrix(n, n, 0.1, true), b = numbers(n), lo = lo, hi = hi }
    local a, b, told = sim.mlcp.solve(mlcp)
    solved("mlcp " .. i, sim.mlcp.solve, mlcp)
    if b then solved("mlcp vjp " .. i, sim.mlcp.vjp, mlcp, a, b, told, { v = numbers(n) }) end
    local theta = numbers(3)
    solved("ncp " .. i, sim.ncp.solve, {
      x0 = { 0, 0, 0 }, theta = theta, cones = { orthant = 3 }, dw_dtheta = true, history = true,
      residual = function(x, y, w, t)
        return { x[1] - t[1] - w[1], x[2] - t[2] - w[2] + 0.1 * x[1] * x[2], x[3] - t[3] - w[3],
          y[1] - x[1] + 0.2, y[2] - x[2] - 0.1 * x[3], y[3] - x[3] }
      end,
    })
  end
end

({ worlds = worlds, solvers = solvers, gradients = gradients, problems = problems })[what]()
