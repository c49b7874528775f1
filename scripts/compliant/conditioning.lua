-- Stiff springs make the linear system of a step ill-conditioned if they enter it as stiffness, but not if they enter
-- it as compliance. A free chain has n unit masses and n - 1 springs of stiffness k, and J computes the differences of
-- its velocities. A step h by implicit Euler from the velocities p solves one of these systems:
--
--     stiffness    (M + h^2 J' k J) v = p
--     KKT          [M -J'; -J -C'] (v, l) = (p, 0)          C' = 1/(h^2 k), l the springs' impulses
--     Schur        (J M^-1 J' + C') l = -J p,  v = p + J' l
--
-- In the corner of the second system, the notes print J instead of J' (eqs. (33), (34) and (41)), and the shape of J
-- does not fit. Their conclusion is correct: the condition number of the first system grows with k, while the condition
-- numbers of the other systems tend to the values of a rigid chain. However, this holds only if the rows are
-- independent. With a duplicated row, these condition numbers grow as well.
local sim = require "sim2d"
local linalg = sim.linalg

local e = sim.experiment("A chain of springs, k = 1e2 .. 1e12 N/m: condition of three linear systems")
local n, h = 8, 0.01

local function differences(twice)
  local J = sim.zeros(twice and n or n - 1, n)
  for i = 1, n - 1 do
    J[{ i, i }], J[{ i, i + 1 }] = -1, 1
  end
  if twice then J[n] = J[n - 1] end
  return J
end

local function systems(J, k)
  local rows, C = J.shape[1], 1 / (h * h * k)
  local top = sim.concat({ sim.eye(n), -J:t() }, 2)
  local bottom = sim.concat({ -J, -C * sim.eye(rows) }, 2)
  return sim.eye(n) + h * h * k * J:t():mm(J), sim.concat({ top, bottom }, 1), J:mm(J:t()) + C * sim.eye(rows)
end

local function condition(A)
  local _, s = linalg.svd(A)
  return s:max() / s:min()
end

-- The eigenvalues of J J' are 2 - 2 cos(j pi/n) in closed form. Each gives a pair of eigenvalues of the KKT matrix,
-- which are the roots of x^2 + (C' - 1) x - (C' + eigenvalue) = 0. The mean velocity adds the eigenvalue 1.
local function exact(k)
  local C, low, high = 1 / (h * h * k), 2 - 2 * math.cos(math.pi / n), 2 + 2 * math.cos(math.pi / n)
  local sizes = { 1 }
  for j = 1, n - 1 do
    local root = math.sqrt((C + 1) ^ 2 + 4 * (2 - 2 * math.cos(j * math.pi / n)))
    sizes[#sizes + 1], sizes[#sizes + 2] = (root + 1 - C) / 2, (root + C - 1) / 2
  end
  return { 1 + h * h * k * high, math.max(table.unpack(sizes)) / math.min(table.unpack(sizes)), (high + C) / (low + C) }
end

-- Compares the spring impulses from each system with their expansion in the eigenvectors sin(i j pi/n) of J J'.
local p = sim.array { 1, 0, 0, 2, 0, -1, 0, 3 }
local function impulses(J, k)
  local C, Jp, l = 1 / (h * h * k), J:mm(p), sim.zeros(n - 1)
  for j = 1, n - 1 do
    local u = sim.sin(sim.linspace(1, n - 1, n - 1) * (j * math.pi / n))
    l = l - u * (u:dot(Jp) * 2 / n / (2 - 2 * math.cos(j * math.pi / n) + C))
  end
  return l
end

local function errors(J, k)
  local stiffness, kkt, schur = systems(J, k)
  local want = impulses(J, k)
  local v = linalg.solve(stiffness, p)
  local both = linalg.solve(kkt, sim.concat { p, sim.zeros(n - 1) })
  local found = { -h * h * k * J:mm(v), both:slice({ n + 1, 2 * n - 1 }), linalg.solve(schur, -J:mm(p)) }
  for i = 1, 3 do found[i] = (found[i] - want):norm() / want:norm() end
  return found
end

local names, ks = { "stiffness", "KKT", "Schur" }, {}
local curves, twice, wrong, off = { {}, {}, {} }, { {}, {}, {} }, { {}, {}, {} }, { 0, 0, 0 }
local J, JJ = differences(false), differences(true)
for i = 0, 20 do
  local k = 10 ^ (2 + i / 2)
  ks[#ks + 1] = k
  local want, failed = exact(k), errors(J, k)
  local once, again = { systems(J, k) }, { systems(JJ, k) }
  for s = 1, 3 do
    curves[s][#ks], twice[s][#ks] = condition(once[s]), condition(again[s])
    wrong[s][#ks] = math.max(failed[s], 1e-17)
    -- The relative error of the smallest singular value is the rounding error times the condition number.
    off[s] = math.max(off[s], math.abs(curves[s][#ks] / want[s] - 1) / want[s])
  end
end

local function slope(curve, from, to)
  return math.log(curve[to] / curve[from], 10) / math.log(ks[to] / ks[from], 10)
end
for s, limit in ipairs { 1, 0, 0 } do
  e:equal(names[s] .. ": off the closed form, in parts of it squared", 0, off[s], 1e-14)
  e:equal(names[s] .. ": slope for stiff springs", limit, slope(curves[s], 17, 21), 1e-3)
end
e:equal("KKT: slope for soft springs (C' rules)", -1, slope(curves[2], 1, 3), 0.1)
e:equal("KKT, a row twice: slope for stiff springs", 1, slope(twice[2], 17, 21), 1e-3)
e:equal("Schur, a row twice: slope", 1, slope(twice[3], 17, 21), 1e-3)
e:above("stiffness: error of the impulses at 1e12", 1e-10, wrong[1][21])
e:below("KKT: the same", 1e-14, wrong[2][21])
e:below("Schur: the same", 1e-14, wrong[3][21])

local function panel(title, y, lists)
  local plot = { title = title, x = { label = "stiffness", unit = "N/m", log = true, range = { 1e2, 1e12 } },
    y = { label = y, log = true } }
  for s = 1, 3 do plot[s] = { ks, lists[s], label = names[s] } end
  return plot
end
local first = panel("Condition", "condition number", curves)
first[4] = { ks, twice[2], label = "KKT, a row twice", dash = true }
first.legend = "inside"
e:figure(sim.plot.grid { columns = 2, width = 640, height = 380, first,
  panel("Impulses of the springs", "relative error", wrong) })
e:finish()
