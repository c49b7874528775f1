-- Random sets of frictional contacts are posed as problems over cones. They are solved by Dojo's interior-point method
-- and, for comparison, by pivoting. A contact has the impulse (ln, lt) and the velocity (un, ut), with u = W l + q and
--
--     ln un = kappa,      (mu ln, lt) o (psi, ut) = (kappa, 0),      a o b = (a'b, a0 b1 + b0 a1)
--
-- with ln, un >= 0 and both pairs in the cone a0 >= |a1|. At kappa = 0 this is Coulomb's law: either ut is 0 or lt =
-- -mu ln sign(ut), and psi = |ut|. (One formula in the paper has the misprint a0 b1 + a0 a1.) The contacts are impacts
-- between n/2 bodies with velocities v, with W = G G' and q = G v. The other scripts in this folder use these problems.
local sim = require "sim2d"

-- Returns the rows of c(y, z) = A (y, z) + b, with y = (ln.., (mu ln, lt)..) and z = (un.., (psi, ut)..).
local function equations(W, q, mu)
  local n = #q // 2
  local A, b = sim.zeros(3 * n, 6 * n), sim.zeros(3 * n)
  for i = 1, n do
    local normal, bound, tangent = i, n + 2 * i - 1, n + 2 * i
    A[{ normal, 3 * n + normal }], A[{ tangent, 3 * n + tangent }] = 1, 1 -- u = ..
    A[{ bound, bound }], A[{ bound, normal }] = 1, -mu
    b[normal], b[tangent] = -q[2 * i - 1], -q[2 * i]
    for k = 1, n do
      A[{ normal, k }], A[{ normal, n + 2 * k }] = -W[{ 2 * i - 1, 2 * k - 1 }], -W[{ 2 * i - 1, 2 * k }]
      A[{ tangent, k }], A[{ tangent, n + 2 * k }] = -W[{ 2 * i, 2 * k - 1 }], -W[{ 2 * i, 2 * k }]
    end
  end
  return A, b
end

-- Makes n contacts of bodies with speeds of about `speed`. `random` is a random generator. Returns the argument of
-- sim.ncp.solve, W and q.
local function contacts(random, n, mu, speed)
  local freedoms = 3 * math.ceil(n / 2)
  local G = sim.randn({ 2 * n, freedoms }, random) / math.sqrt(freedoms)
  local W, q = G:mm(G:t()), (speed or 1) * G:mm(sim.randn(freedoms, random))
  local A, b = equations(W, q, mu)
  local soc = {}
  for k = 1, n do soc[k] = 2 end
  return {
    cones = { orthant = n, soc = soc }, jacobian = function() return A end,
    residual = function(_, y, z) return A:mm(sim.concat { sim.array(y), sim.array(z) }) + b end,
  }, W, q
end

if not sim.is_main() then return contacts end

local e = sim.experiment("Random contacts, by cones and by pivoting", { sets = { 40, "of each size" } })
local random, mu = sim.random.split(), 0.3
local slide, stick = { {}, {} }, { {}, {} } -- their impulses
for _, n in ipairs { 1, 2, 4, 8 } do
  local worst, law = 0, 0
  for set = 1, e.options.sets do
    local problem, W, q = contacts(random, n, mu)
    problem.options = { r_tol = 1e-12, b_tol = 1e-12 }
    local _, y, z = assert(sim.ncp.solve(problem))
    local _, u = assert(sim.contact.solve { W = W, q = q, mu = mu, solver = "lemke" })
    for k = 1, n do
      local ln, lt, un, ut = y[k], y[n + 2 * k], z[k], z[n + 2 * k]
      worst = math.max(worst, math.abs(un - u[2 * k - 1]), math.abs(ut - u[2 * k]))
      local of = math.abs(ut) > 1e-6 and slide or stick
      if ln > 1e-6 and set <= 10 then of[1][#of[1] + 1], of[2][#of[2] + 1] = ln, lt end
      law = math.max(law, math.min(ln, un), math.abs(lt) - mu * ln, math.abs(mu * ln * math.abs(ut) + lt * ut))
    end
  end
  e:equal(("n = %d: Coulomb's law, m^2/s^2"):format(n), 0, law, 1e-8)
  e:equal(("n = %d: velocities, m/s"):format(n), 0, worst, 1e-8)
end
e:figure(sim.plot { title = "Contacts that push, mu = 0.3", x = { label = "normal impulse, N s", range = { 0, 5 } },
  y = { label = "tangent impulse, N s", range = { -1.6, 1.6 } }, legend = "inside",
  { slide[1], slide[2], kind = "scatter", label = "slide", marker = "diamond" },
  { stick[1], stick[2], kind = "scatter", label = "stick" } })
e:finish()
