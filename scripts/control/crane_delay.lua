-- A crane moves a load on a cable by 1 m to the origin and stops it at the origin. Its commands arrive late. A
-- regulator designed without delays becomes unstable beyond some delay. With the delayed commands as states,
--     z = (x, u[k-d], ..., u[k-1]),   x+ = A x + B u[k-d],
-- the closed loop is a matrix. Its largest eigenvalue gives the growth of the swing in a step, and therefore the delay
-- at which the swing begins to grow. A regulator designed for z stops the load with any delay.
local sim = require "sim2d"

local exp = sim.experiment("A crane with a delay, known and not")

local DT, CABLE, TROLLEY, LOAD = 0.02, 1, 2, 1
local Q, R, MOST = { 10, 1, 1, 0.1 }, 0.02, 12 -- weights of position, angle, speeds; of the force; delay in steps

local function crane(delay)
  local world = sim.world { dt = DT }
  local trolley = world:box { size = { 0.4, 0.2 }, mass = TROLLEY, mask = 0 }
  local load = world:circle { radius = 0.1, mass = LOAD, position = { 0, -CABLE }, mask = 0 }
  local rail = world:slider { trolley, axis = { 1, 0 }, anchor = { 0, 0 } }
  local cable = world:hinge { load, trolley, anchor = { 0, 0 } }
  local push = world:actuator { "push", joint = rail, kind = "force", delay = delay > 0 and delay * DT or nil }
  return world, rail, cable, push, trolley
end

local world, rail, cable, push = crane(0)
local A, B = world:linearize { inputs = { push }, coordinates = { rail, cable } }
local naive = sim.control.lqr(A, B, Q, R)

-- Returns the matrices that give z+ from z and the command, with d delayed commands. The oldest command comes first,
-- and it acts in this step.
local function late(d)
  local n, F, H = 4 + d, {}, {}
  for i = 1, n do
    F[i], H[i] = {}, { i == n and 1 or 0 }
    for j = 1, n do
      local passes_on = i > 4 and j == i + 1 and 1 or 0
      F[i][j] = i <= 4 and (j <= 4 and A[i][j] or j == 5 and B[i][1] or 0) or passes_on
    end
  end
  if d == 0 then H = B end
  return sim.array(F), sim.array(H)
end

-- Returns the largest modulus of the eigenvalues.
local function radius(M)
  local re, _, im = sim.linalg.eig(M)
  local most = 0
  for k = 1, re.size do most = math.max(most, math.sqrt(re[k] ^ 2 + (im and im[k] or 0) ^ 2)) end
  return most
end

-- Returns the law u = -K z. z consists of the observed x and of the delayed commands, which the law remembers.
local function regulator(K, d, rails, cables)
  local under_way = {}
  for i = 1, d do under_way[i] = 0 end
  return function()
    local z = { rails.translation, cables.angle, rails.speed, cables.speed, table.unpack(under_way) }
    local u = 0
    for i = 1, math.min(#z, #K[1]) do u = u - K[1][i] * z[i] end
    table.remove(under_way, 1)
    under_way[d > 0 and d or 1] = d > 0 and u or nil
    return u
  end
end

-- Returns the size of x after this time, the growth factor per step, and the cost.
local function run(K, d, start, seconds)
  local w, r, c, p = crane(d)
  w:control(regulator(K, d, r, c))
  r.translation = start
  local steps, swing, before, sum = math.floor(seconds / DT + 0.5), 0, 0, 0
  for k = 1, steps do
    local x = { r.translation, c.angle, r.speed, c.speed }
    w:step()
    for i = 1, 4 do sum = sum + Q[i] * x[i] ^ 2 end
    sum = sum + R * p.value ^ 2
    local size = math.sqrt(x[1] ^ 2 + x[2] ^ 2 + (x[3] ^ 2 + x[4] ^ 2) / 10)
    if k > steps // 2 - 100 and k <= steps // 2 then before = math.max(before, size) end
    if k > steps - 100 then swing = math.max(swing, size) end
  end
  return swing, (swing / before) ^ (1 / (steps - steps // 2)), sum
end

-- Finds the delay at which the swing begins to grow, by eigenvalues and in the world from a small initial swing.
local by_values, by_runs, most = MOST, MOST, 0
for d = MOST, 0, -1 do
  local F, H = late(d)
  local row = {}
  for j = 1, 4 + d do row[j] = j <= 4 and naive.K[1][j] or 0 end
  local rho = radius(F - H:mm(sim.array { row }))
  local _, growth = run(naive.K, d, 1e-6, 12)
  if rho > 1 then by_values = d end
  if growth > 1 then by_runs = d end
  most = math.max(most, math.abs(rho - growth))
  print(("delay %.2f s: the regulator that does not know has %.4f a step, the world shows %.4f"):format(d * DT, rho, growth))
end
exp:equal("factors a step, of the matrix and of the world: difference", 0, most, 2e-3)
exp:equal("steps of delay from which it swings up", by_values, by_runs)

-- Moves the load by 1 m within 10 s.
for _, d in ipairs { 4, by_values, MOST } do
  local F, H = late(d)
  local weights = {}
  for i = 1, 4 + d do weights[i] = i <= 4 and Q[i] or 0 end
  local knows = sim.control.lqr(F, H, weights, R)
  local off, naively = run(knows.K, d, 1, 10), run(naive.K, d, 1, 10)
  local _, _, cost = run(knows.K, d, 1e-3, 8)
  exp:below(("delay %.2f s, known: what is left after 10 s, of 1 m"):format(d * DT), 0.02, off)
  exp:equal("  its cost from 1 mm away, and x'P x, 1e-6", knows.P[1][1], cost * 1e6, 1e-4 * knows.P[1][1])
  if d == 4 then exp:below("  not known: what is left", 0.02, naively)
  else exp:above("  not known: what is left", 0.2, naively) end
end
exp:finish()
