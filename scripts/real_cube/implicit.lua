-- The friction of a tumbling cube is found by two methods: by ContactNets' implicit loss, with a small quadratic
-- programme per frame, and by simulation of whole tosses. For frames q-, q, q+ with speeds v = (q - q-)/h and v+ =
-- (q+ - q)/h, the loss finds the impulses that best explain v+ (Pfrommer, Halm, Posa 2020). The squares are divided by
-- a squared speed V^2 to express all terms in joules, for a mass of 1 kg:
--   min  |M (v+ - v) - h f - J'l|^2_{M^-1} + sum (n phi/h)^2/V^2 + (mu n |u| + t u)^2/V^2 + |min(0, phi)/h|^2
--   over n >= 0, |t| <= mu n,      phi, u: gap and sliding speed of a corner at q+,      V = 1 m/s
-- The loss needs no simulation and has a single smooth minimum in mu. However, v and v+ are differences of frames, so
-- their noise is the noise of the frames divided by h. --data FILE reads measured tosses. Without it, the script makes
-- tosses with known parameters and noise.
local sim = require "sim2d"
local tosses, square = require "tosses", require "square"

local e = sim.experiment("Friction by the implicit loss and by simulated tosses",
  { data = { "", "FILE.csv of tosses" }, count = { 2, "tosses that are made" } })
local real, V = e.options.data ~= "", 1 -- m/s
for name, value in pairs { slide = 0.2, impact = 0.2, fast = 0, slow = 0 } do square.TRUTH[name] = value end

-- Returns the parts of a programme that do not depend on mu: P = 2 J M^-1 J' + .., q = -2 J M^-1 r and a value. J has
-- rows n, t for each corner below 10 mm, and r is the change that the impulses have to cause.
local function frames(toss, half, gravity, stride)
  local list, h, inverse = {}, stride * tosses.DT, sim.array { 1 / (square.TRUTH.inertia * half ^ 2), 1, 1 }
  for k = 1 + stride, toss.n - stride do
    local function rates(i)
      local n = i + stride
      return sim.array { toss.theta[n] - toss.theta[i], toss.x[n] - toss.x[i], toss.z[n] - toss.z[i] } / h
    end
    local v, J, gaps, u = rates(k), {}, {}, {}
    for corner = 1, 4 do
      local angle = toss.theta[k + stride] + (corner - 0.5) * math.pi / 2
      local px, pz = math.sqrt(2) * half * math.cos(angle), math.sqrt(2) * half * math.sin(angle)
      local gap = toss.z[k + stride] + pz
      if gap < 0.01 then
        J[#J + 1], J[#J + 2], gaps[#gaps + 1], u[#u + 1] = { px, 0, 1 }, { -pz, 1, 0 }, gap / h, (v[2] - v[1] * pz) / V
      end
    end
    if #gaps > 0 then
      J = sim.array(J)
      local change = v - rates(k - stride) + sim.array { 0, 0, h * gravity } -- M^-1 r
      local P, value = 2 * (J * inverse):mm(J:t()), change:dot(change / inverse)
      for i, gap in ipairs(gaps) do
        P[{ 2 * i - 1, 2 * i - 1 }] = P[{ 2 * i - 1, 2 * i - 1 }] + 2 * (math.max(gap, 0) / V) ^ 2
        value = value + math.min(gap, 0) ^ 2
      end
      list[#list + 1] = { P = P, q = -2 * J:mm(change), u = u, value = value }
    end
  end
  return list
end
local function frame_loss(frame, mu)
  local P, G, size = frame.P:table(), {}, #frame.q
  for i, u in ipairs(frame.u) do
    local n, t, cross = 2 * i - 1, 2 * i, 2 * mu * u * math.abs(u)
    P[n][n], P[t][t] = P[n][n] + 2 * (mu * u) ^ 2, P[t][t] + 2 * u * u
    P[n][t], P[t][n] = P[n][t] + cross, P[t][n] + cross
    for _, sign in ipairs { 1, -1, 0 } do -- rows t <= mu n, -t <= mu n, n >= 0
      local row = sim.zeros(size):table()
      row[n], row[t] = sign == 0 and -1 or -mu, sign
      G[#G + 1] = row
    end
  end
  local l = sim.array((assert(sim.qp.solve { P = P, q = frame.q, G = G, h = sim.zeros(#G) })))
  return frame.value + l:dot(frame.q) + l:dot(sim.array(P):mm(l)) / 2
end
local function implicit(list, half, gravity, stride)
  local all = {}
  for _, toss in ipairs(list) do all = table.move(frames(toss, half, gravity, stride), 1, 1000, #all + 1, all) end
  return function(mu)
    local sum = 0
    for _, frame in ipairs(all) do sum = sum + frame_loss(frame, mu) end
    return sum / #all
  end
end
local function simulated(list, half, gravity)
  return function(mu)
    local sum, p = 0, { slide = mu, impact = mu, fast = 0, slow = 0, inertia = 0.8, half = half, gravity = gravity }
    for _, toss in ipairs(list) do sum = sum + square.loss(toss, square.flight(toss, half, gravity), p) / #list end
    return sum
  end
end
local function least(f) -- by golden section
  local a, b, part = 0.02, 0.6, (math.sqrt(5) - 1) / 2
  for _ = 1, 14 do
    local c, d = b - part * (b - a), a + part * (b - a)
    if f(c) < f(d) then b = d else a = c end
  end
  return (a + b) / 2
end
local function curve(f) -- returns values over mu, relative to the smallest value, and the number of minima
  local mus, values, minima = sim.linspace(0.03, 0.57, 19), {}, 0
  for i = 1, #mus do
    values[i] = f(mus[i])
    if i > 2 and values[i - 1] < math.min(values[i], values[i - 2]) then minima = minima + 1 end
  end
  local least_value = math.min(table.unpack(values))
  return { mus, (sim.array(values) - least_value) / (math.max(table.unpack(values)) - least_value) }, minima
end

sim.random.seed(3)
local list = real and (square.flying(tosses.planar(e.options.data))) or square.made(e.options.count)
local half, gravity = square.scale(list)
local close, wide = implicit(list, half, gravity, 1), implicit(list, half, gravity, 4)
local whole = simulated(list, half, gravity)
local found = { least(close), least(wide), least(whole) }
local one, minima = curve(close)
local more, again = curve(wide)
print(("mu by the implicit loss %.3f, over four frames %.3f; by simulated tosses %.3f"):format(table.unpack(found)))
e:equal("minima over mu: implicit", 1, math.max(minima, again))
if real then
  e:above("mu, over four frames (slides say 0.2)", 0.1, found[2])
else
  local exact = square.made(e.options.count, 0)
  e:equal("mu, exact frames: implicit", 0.2, least(implicit(exact, square.TRUTH.half, square.TRUTH.gravity, 1)), 0.02)
  e:above("mu, noise of a camera: implicit", 0.3, found[1])
  e:equal("   speeds over four frames", 0.2, found[2], 0.03)
  e:equal("   simulated tosses", 0.2, found[3], 0.01)
end
local _, slope = sim.value_and_grad(close, 0.3)
e:equal("slope of the implicit loss, by differences", (close(0.301) - close(0.299)) / 0.002, slope, 1e-6)
local all = curve(whole)
one.label, more.label, all.label = "implicit", "over four frames", "simulated"
e:figure(sim.plot { title = "Losses over mu", x = "mu", y = "above the least, of the largest", one, more, all })
e:finish()
