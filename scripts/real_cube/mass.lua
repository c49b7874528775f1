-- The mass cannot be determined from a toss. Only the weight and contact forces act on the cube, so M dv = h m g + p
-- with M = m diag(1, 1, k a^2) gives the same motion for any m. Only friction, restitution and k = I / (m a^2) can be
-- found. The derivatives of the distance between a toss and its measurement show this. --data FILE uses a measured
-- toss.
local sim = require "sim2d"
local tosses, square = require "tosses", require "square"

local e = sim.experiment("What can be found of a toss: derivatives of its error", {
  data = { "", "FILE.csv of tosses" }, toss = { 1, "which of them" } })
sim.random.seed(5)
local list = e.options.data ~= "" and tosses.planar(e.options.data) or square.made(3)
local toss = list[e.options.toss] or error("there is no toss " .. e.options.toss, 0)
local half, gravity = square.scale(list)
local line = square.flight(toss, half, gravity)
local START = { slide = 0.21, impact = 0.16, fast = 0.27, slow = 0.22, inertia = 0.85, mass = 0.37 }
local NAMES = { "mass", "inertia", "slide", "impact", "fast", "slow" }

local function loss(p)
  local q = { half = half, gravity = gravity }
  for name, value in pairs(p) do q[name] = value end
  return square.loss(toss, line, q)
end

-- Derivatives with respect to the logarithm of a parameter. A hundredth of each derivative is the effect of a change by
-- one per cent.
local value, gradient = sim.value_and_grad(loss, START)
local largest, rows = 0, {}
for i, name in ipairs(NAMES) do
  local share = gradient[name] * START[name]
  largest = math.max(largest, math.abs(share))
  rows[i] = { name, START[name], share }
end
print(("toss %g, loss %.4f from %d frames of flight"):format(toss.toss, value, line.frames))
sim.table { columns = { "parameter", { "value", format = "%.3f" }, { "d loss / d log", format = "%.6f" } },
  table.unpack(rows) }

e:equal("by mass, of the largest", 0, gradient.mass * START.mass / largest, 1e-9)
-- The derivative with I (in kg m^2) held constant instead of k. It then equals the derivative with respect to -log k.
local value_2, other = sim.value_and_grad(function(p)
  local q = { inertia = p.I / (p.mass * half ^ 2), mass = p.mass }
  for _, name in ipairs { "slide", "impact", "fast", "slow" } do q[name] = START[name] end
  return loss(q)
end, { mass = START.mass, I = START.inertia * START.mass * half ^ 2 })
e:equal("the same loss", value, value_2, 1e-9)
e:equal("by log mass at constant I", -gradient.inertia * START.inertia, other.mass * START.mass, 1e-6 * largest)
e:equal("by log I", gradient.inertia * START.inertia, other.I * START.mass * START.inertia * half ^ 2, 1e-6 * largest)

-- Plots the loss along each parameter. It has kinks where a different corner strikes first, and is constant along the
-- mass.
local plot = { title = "Error of a toss by each parameter", x = "parameter / its value", legend = "below", height = 480,
  y = "log(1 + squares)" }
for i, name in ipairs { "mass", "inertia", "slide", "impact", "fast" } do
  local factors, values = {}, {}
  for k = 0, 60 do
    local p = {}
    for key, at in pairs(START) do p[key] = at end
    factors[k + 1] = 0.8 + k / 150
    p[name] = START[name] * factors[k + 1]
    values[k + 1] = loss(p)
  end
  plot[i] = { factors, values, label = name }
  if name == "mass" then
    local highest, lowest = math.max(table.unpack(values)), math.min(table.unpack(values))
    e:below("loss differs by, mass 0.30 to 0.44 kg", 1e-6, highest - lowest)
  end
end
e:figure(sim.plot(plot))
e:finish()
