-- A network fits friction to within a few per cent but lets the block creep, unless it has the kinks of the law and
-- learns from noise-free data.
--
-- The notes (3) say: "The most obvious idea is to learn the friction l = f(v, u) by a neural network. However, this
-- approach won't be able to properly capture sticking". For sticking, v' = v + u + l has to be 0, so l = -(v + u)
-- exactly wherever |v + u| < mu (h = m = g = mu = 1). A smooth network with any number of units never satisfies this
-- exactly. However, the law is piecewise affine, l = -clamp(v + u, -1, 1) = relu(v + u - 1) - relu(v + u + 1) + 1, so
-- relu units can represent it and learn it from exact data. With noisy data, the slope between their kinks is wrong,
-- and the block creeps again. A law with built-in sticking, 0 <= gamma _|_ mu - l+ - l- >= 0 .., has one number to
-- learn, and sticks even if this number is wrong.
local sim = require "sim2d"
local e = sim.experiment("Friction by a network", { iterations = { 300, "of each training" }, samples = { 600, "" } })
local random = sim.random.split()

local function data(count, noise)
  local X, Y = {}, {}
  for i = 1, count do
    local v, u = random:uniform(-3, 3), random:uniform(-3, 3)
    X[i], Y[i] = { v, u }, { -sim.clamp(v + u, -1, 1) + noise * random:normal() }
  end
  return sim.array(X), sim.array(Y)
end

-- For 2000 blocks that should stick after this step, returns the share of speeds below 1e-6, in %, and the largest
-- speed.
local at = {}
while #at < 2000 do
  local v, u = random:uniform(-3, 3), random:uniform(-3, 3)
  if math.abs(v + u) < 1 then at[#at + 1] = { v, u } end
end
local sticking = sim.array(at)
local function judge(friction)
  local speeds = sim.abs(sticking:sum(2):reshape(#at, 1) + friction(sticking))
  return 100 * speeds:lt(1e-6):mean(), speeds:max()
end

-- Trains a network with one hidden layer by L-BFGS. Returns its friction and the rmse on the training data.
local function train(kind, units, noise)
  local X, Y = data(e.options.samples, noise)
  local shape = sim[kind]
  local function network(p, x) return shape(x:mm(p.inner) + p.shift):mm(p.outer) + p.bias end
  local p, value = sim.optimize.minimize(function(p)
    local miss = network(p, X) - Y
    return (miss * miss):mean()
  end, { inner = sim.randn({ 2, units }, random), shift = sim.zeros(units), bias = sim.zeros(1),
    outer = 0.3 * sim.randn({ units, 1 }, random) }, { max_iterations = e.options.iterations })
  return function(x) return network(p, x) end, math.sqrt(value)
end

-- 1. Smooth units fit the data, but never stick.
local smooth
for _, units in ipairs { 4, 8, 16 } do
  local friction, rmse = train("tanh", units, 0)
  local share, fastest = judge(friction)
  e:below(("%d tanh units: rmse"):format(units), 0.05, rmse)
  e:equal("   of what should stick does, %", 0, share)
  e:above("   fastest of it", 0.01, fastest)
  smooth = friction
end
-- 2. Eight relu units, with exact data and with noise of 0.1.
local friction, rmse = train("relu", 8, 0)
local share, fastest = judge(friction)
e:equal("8 relu units: rmse", 0, rmse, 1e-7)
e:equal("   of what should stick does, %", 100, share)
local noisy, left = train("relu", 8, 0.1)
share, fastest = judge(noisy)
e:below("   with noise of 0.1: rmse", 0.11, left)
e:below("   of what should stick does, %", 1, share)
e:above("   fastest of it", 0.001, fastest)
-- 3. The law, whose single number is the mean over the sliding cases in data with the same noise.
local X, Y = data(e.options.samples, 0.1)
local sum, count = 0, 0
for i = 1, #X do
  local b = X[{ i, 1 }] + X[{ i, 2 }]
  if math.abs(b) > 1.1 then sum, count = sum - Y[{ i, 1 }] * sim.sign(b), count + 1 end
end
local mu = sum / count
local function law(x) -- the solution as in lcp_notes/05_traditional.lua
  return -sim.clamp(x:sum(2):reshape(#x, 1), -mu, mu)
end
share, fastest = judge(law)
e:equal("law: mu from noisy friction", 1, mu, 0.02)
e:above("   of what should stick does, %", 98, share)
e:below("   fastest of it", 0.02, fastest)

-- 4. A resting block is pushed with half of the friction limit for 100 steps, with the learned friction and in the
-- engine.
local function creep(f)
  local v, x, path = 0, 0, { 0 }
  for k = 1, 100 do
    v = v + 0.5 + f(sim.array { { v, 0.5 } })[{ 1, 1 }]
    x = x + v
    path[k + 1] = x
  end
  return path
end
local world = sim.world { stepping = "speculative", dt = 1, gravity = { 0, -1 } }
world:box { type = "static", position = { 0, -0.5 }, size = { 99, 1 }, friction = 1 }
local box = world:box { position = { 0, 0.05 }, size = { 2, 0.1 }, mass = 1, friction = 1 }
for _ = 1, 100 do
  box:apply_force { 0.5, 0 }
  world:step()
end
local paths = { creep(smooth), creep(noisy), creep(law) }
e:equal("100 steps of a push of 1/2: the engine's block, m", 0, box.x, 1e-12)
e:equal("   by the law", 0, paths[3][101])
e:above("   by 16 tanh units", 0.01, math.abs(paths[1][101]))
e:above("   by relu units and noise", 0.001, math.abs(paths[2][101]))

local steps = sim.linspace(0, 100, 101)
local function slip(f) return function(b) return b + f(sim.array { { b, 0 } })[{ 1, 1 }] end end
e:figure(sim.plot.grid { columns = 2, width = 640, height = 380,
  sim.plot { title = "Speed after a step", x = "v + u", y = { label = "v'", range = { -0.12, 0.12 } }, legend = "above",
    { slip(smooth), -1.1, 1.1, label = "tanh" }, { slip(noisy), -1.1, 1.1, label = "relu, noise" },
    { slip(law), -1.1, 1.1, label = "law" } },
  sim.plot { title = "A block that should rest", x = "step", y = "place, m", legend = "above",
    { steps, paths[1], label = "tanh" }, { steps, paths[2], label = "relu, noise" }, { steps, paths[3], label = "law" } } })
e:finish()
