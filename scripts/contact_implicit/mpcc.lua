-- Optimal control with complementarity constraints: finds a motion of N stages, each a list of named unknowns, that
-- satisfies
--
--     cost = least,    equal = 0,    positive >= 0,    a b <= 0 of `products`
--
-- Costs and constraints are formulas in a stage and the next stage. This is an interior-point method. Products are
-- relaxed to a b <= kappa (Scholtes 2001), and kappa decreases with the barrier weight mu (Raghunathan and Biegler
-- 2005), so contacts may begin and end during the search. Newton's system is
--
--     W dz - J' y = -df,    J dz + C y + b = 0,
--
-- where W is the second derivative of the cost, made positive definite stage by stage. With `curvature`, W includes the
-- second derivatives of the equations. C is slack divided by multiplier. Inequalities are eliminated into W (J'J / C),
-- and sim.kkt solves the system with the equations. A merit function of cost, barrier and violations decides whether a
-- step is accepted. Rejected steps are corrected to second order or shortened. The result need not be the global
-- optimum, because the problem is not convex. The other scripts in this folder use this file.
local sim = require "sim2d"
local formula = require "formula"

local mpcc = {}

local MU_END, KAPPA_END = 1e-8, 2e-7 -- final barrier weight; final bound on products
local PROXIMAL = 1e-8 -- softness of equations, which makes redundant equations solvable
local EDGE = 0.99 -- fraction of the step at which a slack or multiplier would become 0
local STEP_END = 1e-3 -- a relative change below this counts as no change (trailTol in CRISP's examples)
local WAIT = 40 -- maximum number of iterations for one mu
local FEASIBLE, NOTHING = 1e-7, 1e-12 -- largest allowed final violation of rows; violation that counts as zero
local SUFFICIENT, ROUNDING = 1e-4, 1e-10 -- minimum share of the predicted descent; relative rounding error of the merit
local SHARE = 0.7 -- share of nu times the violations that a cost increase may use up
local CENTRAL = 1e6 -- multipliers are kept within this factor of mu / slack
local DELTA_END = 1e8 -- diagonal weight at which steps become negligible

-- ---- The problem: formulas become functions ---------------------------------------------------------

-- Returns the derivatives with respect to the variables on which f depends, as entries { variable, derivative }.
local function dependence(f, variables)
  local list = {}
  for j, variable in ipairs(variables) do
    local d = f:derivative(variable)
    if not (d.op == "number" and d.a == 0) then list[#list + 1] = { j, d } end
  end
  return list
end

-- Compiles a kind of stage: its values (cost, equal, positive, products), gradient, Jacobian and second derivative.
local function compile(stage, own, variables, curvature)
  local cost, rows = formula.number(stage.cost or 0), {}
  for _, f in ipairs(stage.equal or {}) do rows[#rows + 1] = formula.number(f) end
  local equal = #rows
  for _, f in ipairs(stage.positive or {}) do rows[#rows + 1] = formula.number(f) end
  local positive = #rows - equal
  for _, pair in ipairs(stage.products or {}) do rows[#rows + 1] = -(pair[1] * pair[2]) end
  local kind = { equal = equal, positive = positive, products = #rows - equal - positive, rows = #rows }

  kind.values = formula.compile { cost, table.unpack(rows) }
  local slopes = {}
  kind.gradient = dependence(cost, own)
  for k, entry in ipairs(kind.gradient) do slopes[k] = entry[2] end
  kind.jacobian = {}
  for k, f in ipairs(rows) do
    for _, entry in ipairs(dependence(f, variables)) do
      kind.jacobian[#kind.jacobian + 1] = { k, entry[1] }
      slopes[#slopes + 1] = entry[2]
    end
  end
  kind.slopes = formula.compile(slopes)

  local lagrangian, second = cost, {}
  if curvature then
    for k = 1, equal do lagrangian = lagrangian - formula.variable("l", k) * rows[k] end
  end
  kind.hessian = {}
  for i, variable in ipairs(own) do
    for _, entry in ipairs(dependence(lagrangian:derivative(variable), own)) do
      kind.hessian[#kind.hessian + 1] = { i, entry[1] }
      second[#second + 1] = entry[2]
    end
  end
  kind.second = formula.compile(second)
  return kind
end

-- `given` has the fields stages, names, start = { NAME = value }, curvature and stage. stage is a function(s, n) that
-- returns the formulas { cost =, equal =, positive =, products = }. s and n contain the unknowns of this stage and the
-- next stage by name. n is nil in the last stage.
function mpcc.problem(given)
  local names, own, variables, s, n = given.names, {}, {}, {}, {}
  for i, name in ipairs(names) do
    s[name], n[name] = formula.variable("x", i), formula.variable("x", #names + i)
    own[i], variables[i], variables[#names + i] = s[name], s[name], n[name]
  end
  local running, last = given.stage(s, n), given.stage(s, nil)
  local first = { cost = running.cost, positive = running.positive, products = running.products, equal = {} }
  for _, f in ipairs(running.equal or {}) do first.equal[#first.equal + 1] = f end
  for _, name in ipairs(names) do
    if given.start[name] then first.equal[#first.equal + 1] = s[name] - given.start[name] end
  end
  local kinds = { compile(first, own, variables, given.curvature), compile(running, own, variables, given.curvature),
    compile(last, own, variables, given.curvature) }
  local problem = { names = names, width = #names, stages = given.stages, unknowns = #names * given.stages, curvature = given.curvature,
    equal = 0, rows = 0, kind = {}, at = {} }
  for i = 1, given.stages do
    local kind = kinds[i == 1 and 1 or i == given.stages and 3 or 2]
    problem.kind[i], problem.at[i] = kind, problem.rows
    problem.rows = problem.rows + kind.rows
  end
  -- marks the rows that are equations and the rows that are products
  problem.is_equal, problem.is_product = {}, {}
  for i, kind in ipairs(problem.kind) do
    for k = 1, kind.rows do
      problem.is_equal[problem.at[i] + k] = k <= kind.equal
      problem.is_product[problem.at[i] + k] = k > kind.equal + kind.positive
    end
  end
  return problem
end

-- Returns the sum of the squared deviations of stage s from a goal, which is a list of { name, value }. Works for
-- numbers and formulas.
function mpcc.squares(s, goal)
  local sum = 0
  for _, pair in ipairs(goal) do sum = sum + (s[pair[1]] - pair[2]) * (s[pair[1]] - pair[2]) end
  return sum
end

-- ---- Evaluation at a point -----------------------------------------------------------------------------

-- Returns the cost, and computes all rows, with kappa - a b for products.
local function evaluate(problem, z, kappa, rows)
  local cost, out, is_product = 0, {}, problem.is_product
  for i, kind in ipairs(problem.kind) do
    kind.values(z, (i - 1) * problem.width, nil, 0, out, 0)
    cost = cost + out[1]
    table.move(out, 2, kind.rows + 1, problem.at[i] + 1, rows)
  end
  for k = 1, problem.rows do
    if is_product[k] then rows[k] = rows[k] + kappa end
  end
  return cost
end

-- Creates the matrices of Newton's system with their pattern. Values are filled in later. J contains all rows, and row
-- k has the entries first[k] .. first[k + 1] - 1. `equations` contains the rows that are passed to sim.kkt. W contains
-- the second derivatives, the diagonal, and after J.own entries the terms of the inequalities.
local function system(problem)
  local W, J = { rows = problem.unknowns, columns = problem.unknowns, i = {}, j = {}, v = {} }, { j = {}, v = {}, first = {} }
  local equations, width = { rows = 0, columns = problem.unknowns, i = {}, j = {}, v = {} }, problem.width
  local function add(matrix, i, j) matrix.i[#matrix.i + 1], matrix.j[#matrix.j + 1] = i, j end

  for i, kind in ipairs(problem.kind) do
    local base, row = (i - 1) * width, 0
    for _, entry in ipairs(kind.jacobian) do
      while row < entry[1] do -- a row begins here, even if it is constant
        row = row + 1
        J.first[problem.at[i] + row] = #J.j + 1
        if row <= kind.equal then equations.rows = equations.rows + 1 end
      end
      J.j[#J.j + 1] = base + entry[2]
      if row <= kind.equal then add(equations, equations.rows, base + entry[2]) end
    end
    assert(row == kind.rows, "a row is a constant")
    if problem.curvature then -- includes all entries, because projections fill the block
      for r = 1, width do for c = 1, width do add(W, base + r, base + c) end end
    else
      for _, entry in ipairs(kind.hessian) do add(W, base + entry[1], base + entry[2]) end
    end
  end
  J.first[problem.rows + 1] = #J.j + 1
  for k = 1, problem.unknowns do add(W, k, k) end
  J.own = #W.i
  for k = 1, problem.rows do
    if not problem.is_equal[k] then
      local first, last = J.first[k], J.first[k + 1] - 1
      for p = first, last do for q = first, last do add(W, J.j[p], J.j[q]) end end
    end
  end
  return W, J, equations
end

local function fill_jacobian(problem, z, J, gradient)
  local out, filled = {}, 0
  for k = 1, problem.unknowns do gradient[k] = 0 end
  for i, kind in ipairs(problem.kind) do
    local base, slopes = (i - 1) * problem.width, #kind.gradient
    kind.slopes(z, base, nil, 0, out, 0)
    for k, entry in ipairs(kind.gradient) do gradient[base + entry[1]] = out[k] end
    table.move(out, slopes + 1, slopes + #kind.jacobian, filled + 1, J.v)
    filled = filled + #kind.jacobian
  end
end

-- Returns the positive semidefinite part of a symmetric matrix.
local function projected(width, hessian, out)
  local H = sim.zeros(width, width)
  for k, entry in ipairs(hessian) do H[{ entry[1], entry[2] }] = out[k] end
  local values, vectors = sim.linalg.eig(H)
  local scaled = vectors * sim.max(values, 0)
  return scaled:mm(vectors:t())
end

local function fill_hessian(problem, z, y, W, delta)
  local out, filled, width, v = {}, 0, problem.width, W.v
  for i, kind in ipairs(problem.kind) do
    kind.second(z, (i - 1) * width, y, problem.at[i], out, 0)
    if problem.curvature then
      local numbers = projected(width, kind.hessian, out):table()
      for r = 1, width do table.move(numbers[r], 1, width, filled + (r - 1) * width + 1, v) end
      filled = filled + width * width
    else
      table.move(out, 1, #kind.hessian, filled + 1, v)
      filled = filled + #kind.hessian
    end
  end
  for k = 1, problem.unknowns do v[filled + k] = delta end
end

-- Returns the largest violations of equations, inequalities and products at a point.
function mpcc.violation(problem, z)
  local rows, equal, positive, product = {}, 0, 0, 0
  local cost = evaluate(problem, z, 0, rows)
  for k = 1, problem.rows do
    if problem.is_equal[k] then equal = math.max(equal, math.abs(rows[k]))
    elseif problem.is_product[k] then product = math.max(product, -rows[k])
    else positive = math.max(positive, -rows[k]) end
  end
  return { equal = equal, positive = positive, product = product, largest = math.max(equal, positive, product), cost = cost }
end

-- ---- The method ---------------------------------------------------------------------------------------

-- The merit is cost plus barrier plus nu times violations. The violation of an equation is its row. The violation of an
-- inequality is the error of its slack.
local function merit(problem, cost, rows, slack, mu, nu)
  local barrier, missed, is_equal, log, abs = 0, 0, problem.is_equal, math.log, math.abs
  for k = 1, problem.rows do
    if is_equal[k] then missed = missed + abs(rows[k])
    else
      barrier = barrier + log(slack[k])
      missed = missed + abs(rows[k] - slack[k])
    end
  end
  return cost - mu * barrier + nu * missed, missed
end

-- Returns the longest step along d that keeps v positive.
local function reach(problem, v, d)
  local far = 1
  for k = 1, problem.rows do
    if not problem.is_equal[k] and d[k] < 0 then far = math.min(far, -EDGE * v[k] / d[k]) end
  end
  return far
end

-- Solves Newton's system for the violations b, softened by C. Returns dz and the new multipliers, or nil.
local function linear_step(problem, it)
  local W, J, C, b, c, equations = it.W, it.J, it.C, it.b, it.c, it.equations
  local Wv, v, columns, is_equal, n, e = W.v, J.v, J.j, problem.is_equal, J.own, 0
  local Ck, bk = {}, {}
  for k = 1, problem.unknowns do c[k] = -it.gradient[k] end
  for k = 1, problem.rows do
    local first, last = J.first[k], J.first[k + 1] - 1
    if is_equal[k] then
      Ck[#Ck + 1], bk[#bk + 1] = C[k], b[k]
      table.move(v, first, last, e + 1, equations.v)
      e = e + last - first + 1
    else
      local weight = 1 / C[k]
      for p = first, last do
        local slope = weight * v[p]
        c[columns[p]] = c[columns[p]] - b[k] * slope
        for q = first, last do
          n = n + 1
          Wv[n] = slope * v[q]
        end
      end
    end
  end
  local dz, y = sim.kkt.solve { W = W, J = equations, C = Ck, c = c, b = bk, tolerance = 1e-8 }
  if not dz then return nil end

  -- multipliers of the rows that were eliminated into W
  local new, solved = {}, 0
  for k = 1, problem.rows do
    if is_equal[k] then
      solved = solved + 1
      new[k] = y[solved]
    else
      local sum = b[k]
      for p = J.first[k], J.first[k + 1] - 1 do sum = sum + v[p] * dz[columns[p]] end
      new[k] = -sum / C[k]
    end
  end
  return dz, new
end

-- Returns Newton's step from the state `it` for the weight mu, or nil if the linear system has no solution. `more` is
-- added to the violations of rows and slacks.
local function newton(problem, it, more)
  local C, b, rows, slack, y, mu = it.C, it.b, it.rows, it.slack, it.y, it.mu
  for k = 1, problem.rows do
    if problem.is_equal[k] then C[k], b[k] = PROXIMAL, rows[k] - PROXIMAL * y[k]
    else C[k], b[k] = slack[k] / y[k], rows[k] - slack[k] - mu / y[k] end
    if more then b[k] = b[k] + more[k] end
  end
  local dz, new = linear_step(problem, it)
  if not dz then return nil end

  -- the slacks follow from the multipliers, because slack times multiplier equals mu to first order
  local ds, dy, slope, bend = it.ds, it.dy, 0, 0
  for k = 1, problem.rows do
    dy[k], ds[k] = new[k] - y[k], 0
    if not problem.is_equal[k] then
      ds[k] = mu / y[k] - slack[k] / y[k] * new[k]
      slope = slope - mu * ds[k] / slack[k]
      bend = bend + y[k] / slack[k] * ds[k] ^ 2
    end
  end
  for k = 1, problem.unknowns do slope = slope + it.gradient[k] * dz[k] end
  local W = it.W
  for e = 1, it.J.own do bend = bend + dz[W.i[e]] * W.v[e] * dz[W.j[e]] end
  return dz, slope, bend / 2
end

-- Returns the point after the fraction `length` of dz and ds, and its cost, rows and slacks.
local function point(problem, it, dz, length)
  local z, rows, slack = {}, {}, {}
  for k = 1, problem.unknowns do z[k] = it.z[k] + length * dz[k] end
  local cost = evaluate(problem, z, it.kappa, rows)
  for k = 1, problem.rows do -- a slack may grow to the value of its row
    if not problem.is_equal[k] then slack[k] = math.max(it.slack[k] + length * it.ds[k], rows[k]) end
  end
  return z, cost, rows, slack
end

-- Returns the violation that the curvature of the rows causes in a step of this length. It is passed to newton as
-- `more` for a second-order correction.
local function curved(problem, it, length, rows, ds)
  local more = {}
  for k = 1, problem.rows do
    if problem.is_equal[k] then more[k] = rows[k] - (1 - length) * it.rows[k]
    else more[k] = rows[k] - it.slack[k] - length * ds[k] - (1 - length) * (it.rows[k] - it.slack[k]) end
  end
  return more
end

-- Takes the step dz. If the merit does not decrease, the step is corrected or shortened. Returns the length and the
-- step taken.
local function search(problem, it, dz, slope)
  local here, missed = merit(problem, it.cost, it.rows, it.slack, it.mu, it.nu)
  local descent = slope - it.nu * missed
  it.descent = descent
  local function accepts(step, length)
    local z, cost, rows, slack = point(problem, it, step, length)
    if merit(problem, cost, rows, slack, it.mu, it.nu) <= here + SUFFICIENT * length * descent + ROUNDING * math.abs(here) then
      it.z, it.rows, it.slack, it.cost = z, rows, slack, cost
      return true
    end
    return false, rows
  end

  local first, rows = accepts(dz, it.far)
  if first then return it.far, dz end
  local ds, dy = it.ds, it.dy
  it.ds, it.dy = {}, {}
  local bent = newton(problem, it, curved(problem, it, it.far, rows, ds))
  if bent then
    local far = reach(problem, it.slack, it.ds)
    if accepts(bent, far) then return far, bent end
  end
  it.ds, it.dy = ds, dy
  local length = it.far / 2
  for _ = 1, 11 do
    if accepts(dz, length) then return length, dz end
    length = length / 2
  end
end

-- One iteration; returns true if it made a step.
local function iterate(problem, it)
  fill_jacobian(problem, it.z, it.J, it.gradient)
  fill_hessian(problem, it.z, it.y, it.W, it.delta)
  local dz, slope, bend = newton(problem, it)
  if not dz then return false end
  it.far = reach(problem, it.slack, it.ds)
  local _, missed = merit(problem, 0, it.rows, it.slack, 0, 0)
  if missed > NOTHING then it.nu = math.max(it.nu, (slope + math.max(bend, 0)) / (SHARE * missed)) end
  local length, taken = search(problem, it, dz, slope)
  if not length then return false end

  local far_y = reach(problem, it.y, it.dy)
  -- keeps multipliers near the values that follow from the slacks
  for k = 1, problem.rows do
    if problem.is_equal[k] then it.y[k] = it.y[k] + length * it.dy[k]
    else
      local central = it.mu / it.slack[k]
      it.y[k] = math.min(math.max(it.y[k] + far_y * it.dy[k], central / CENTRAL), central * CENTRAL)
    end
  end
  local step, size = 0, 0
  for k = 1, problem.unknowns do step, size = step + (length * taken[k]) ^ 2, size + it.z[k] ^ 2 end
  it.change = math.sqrt(step / size)
  -- short steps increase delta
  if length > it.far / 2 then it.delta = math.max(it.delta / 3, 1e-6)
  elseif length <= it.far / 10 then it.delta = math.min(3 * it.delta, 1e6) end
  return true
end

-- Searches from `z`, by default all zeros. The options are mu (initially 1), iterations (500) and verbose. Returns { z,
-- stage = list of the unknowns by name, iterations, time, cost, violation, status }.
function mpcc.solve(problem, options)
  options = options or {}
  local began = os.clock()
  local it = { z = {}, y = {}, slack = {}, rows = {}, gradient = {}, C = {}, b = {}, c = {}, ds = {}, dy = {},
    mu = options.mu or 1, nu = 10, delta = 1e-2 }
  it.W, it.J, it.equations = system(problem)
  for k = 1, problem.unknowns do it.z[k] = options.z and options.z[k] or 0 end
  it.kappa = math.max(it.mu, KAPPA_END)
  it.cost = evaluate(problem, it.z, it.kappa, it.rows)
  local inequalities = 0
  for k = 1, problem.rows do
    if problem.is_equal[k] then it.y[k] = 0
    else
      inequalities = inequalities + 1
      it.slack[k] = math.max(it.rows[k], 0.1)
      it.y[k] = it.mu / it.slack[k]
    end
  end

  local status, done, waited = "out of iterations", 0, 0
  while done < (options.iterations or 500) do
    done, waited = done + 1, waited + 1
    local moved = iterate(problem, it)
    if not moved then it.delta = math.max(10 * it.delta, 1e-4) end
    if it.delta > DELTA_END then status = "stuck" break end
    local largest = 0
    for k = 1, problem.rows do
      largest = math.max(largest, math.abs(it.rows[k] - (problem.is_equal[k] and 0 or it.slack[k])))
    end
    if options.verbose and done % options.verbose == 0 then
      print(("%4d mu %.0e cost %.5f missed %.1e change %.1e delta %.0e nu %.0e %.2f s"):format(done, it.mu, it.cost, largest,
        it.change or 0, it.delta, it.nu, os.clock() - began))
    end
    if moved and it.mu <= MU_END then
      if largest < FEASIBLE and it.change < STEP_END then status = "converged" break end
    elseif moved and largest < math.max(FEASIBLE, 10 * it.mu)
      and (-it.descent < 0.1 * it.mu * inequalities or it.change < STEP_END or waited >= WAIT) then
      it.mu = math.max(math.min(0.2 * it.mu, it.mu ^ 1.5), MU_END)
      it.kappa, waited = math.max(it.mu, KAPPA_END), 0
      it.cost = evaluate(problem, it.z, it.kappa, it.rows)
    end
  end

  local stages = {}
  for i = 1, problem.stages do
    stages[i] = {}
    for k, name in ipairs(problem.names) do stages[i][name] = it.z[(i - 1) * problem.width + k] end
  end
  local violation = mpcc.violation(problem, it.z)
  return { z = it.z, stage = stages, iterations = done, time = os.clock() - began, cost = violation.cost, violation = violation,
    status = status }
end

-- Prints the result and adds expectations, with the tolerance for violations from CRISP's example.
function mpcc.report(exp, found, crisp_tolerance)
  print(("%s after %d iterations in %.2f s, cost %.5f"):format(found.status, found.iterations, found.time, found.cost))
  print(("CRISP's example of this problem asks for violations below %.0e"):format(crisp_tolerance))
  exp:equal("status", "converged", found.status)
  exp:below("dynamics and other equations missed by", 1e-6, found.violation.equal)
  exp:below("what is to be positive is below 0 by", 1e-6, found.violation.positive)
  exp:below("largest product of a complementary pair", 1e-6, found.violation.product)
end

-- Shows a motion. `pose(stage)` places the bodies of the world, which are kinematic. The option --out writes a picture
-- of several moments, from the first stage to the last, with the paths of the bodies in `trails`.
function mpcc.play(exp, world, found, moments, trails, pose)
  pose(found.stage[1])
  local out, recording = exp.options.out, nil
  if out ~= "" then
    local strobe = {}
    for k = 1, moments do strobe[k] = (#found.stage - 1) * (k - 1) // (moments - 1) * world.dt end
    recording = assert(world:record(out, { width = 480, strobe = strobe, trails = trails }))
  end
  for i = 2, #found.stage do
    pose(found.stage[i])
    world:step()
  end
  if recording then assert(recording:close()) end
end

if not sim.is_main() then return mpcc end

local exp = sim.experiment("The corner of x and y, both >= 0, x y = 0, that is nearest to (1, 2)")
local corner = mpcc.problem { stages = 2, names = { "x", "y" }, start = {}, stage = function(s)
  return { cost = (s.x - 1) * (s.x - 1) + (s.y - 2) * (s.y - 2), positive = { s.x, s.y }, products = { { s.x, s.y } } }
end }
local found = mpcc.solve(corner)
print(("(%.6f, %.6f) after %d iterations"):format(found.stage[1].x, found.stage[1].y, found.iterations))
exp:equal("x", 0, found.stage[1].x, 1e-6)
exp:equal("y", 2, found.stage[1].y, 1e-3)
exp:equal("cost of both stages", 2, found.cost, 1e-5)
exp:below("largest violation", 1e-6, found.violation.largest)
exp:finish()
