-- A learned friction law predicts rest exactly only if its speeds to the right and to the left pass through a relu.
--
-- The friction (l+, l-) of a pushed block is measured, and its speeds v+ = max(v, 0), v- = max(-v, 0) are learned as
--   (v+, v-) = f(v, u) + G(v, u) (l+, l-),     f and G affine in (v, u).
-- The note prints the true system as v+' = v + u - l-, v-' = -(v + u) - l+ (h = m = mu g = 1). This holds with a relu
-- around the right sides, or with the fictitious friction of the direct formulation, but not with the actual friction.
-- The cost has the three terms of the note: the norm of the error, the violation of l _|_ (v+, v-) as a sum of absolute
-- values, and the violation of (v+, v-) >= 0, max(0, -(v+, v-)). The third term requires f + G l itself to be
-- nonnegative, although f + G l takes negative values that a relu cuts off. Without a relu the third term has no
-- benefit, and with a relu it reduces the exactness.
local sim = require "sim2d"
local e = sim.experiment("Learning speeds from friction, with and without a relu",
  { iterations = { 1600, "of each training" } })

-- Thirty steps from each random speed, with random pushes, by the closed form v' = S(v + u), S(b) = b - clamp(b).
local random = sim.random.split()
local runs, rows = 20, {}
for _ = 1, runs do
  local v = random:uniform(-3, 3)
  for _ = 1, 30 do
    local u = random:uniform(-3, 3)
    local b = v + u
    local l = -sim.clamp(b, -1, 1)
    rows[#rows + 1] = { v = v, u = u, right = math.max(l, 0), left = math.max(-l, 0), next = b + l }
    v = b + l
  end
end

-- The same runs in the engine give the speeds, and the friction is read from the contacts.
local worst = 0
for i, row in ipairs(rows) do
  local world = sim.world { stepping = "speculative", dt = 1, gravity = { 0, -1 } }
  world:box { type = "static", position = { 0, -0.5 }, size = { 99, 1 }, friction = 1 }
  local box = world:box { position = { 0, 0.05 }, size = { 2, 0.1 }, mass = 1, friction = 1, velocity = { row.v, 0 } }
  box:apply_force { row.u, 0 }
  world:step()
  worst = math.max(worst, math.abs(box.vx - row.next), math.abs(box.vx - row.v - row.u - row.right + row.left))
end
e:equal(#rows .. " steps by the engine: largest difference", 0, worst, 1e-9)

local X, Y, friction, sticks = {}, {}, {}, {}
for i, row in ipairs(rows) do
  local v, u, a, b = row.v, row.u, row.right, row.left
  X[i] = { v, u, 1, a, b, a * v, a * u, b * v, b * u } -- the inputs of f, then of G times (l+, l-)
  Y[i] = { math.max(row.next, 0), math.max(-row.next, 0) }
  friction[i] = { a, b }
  sticks[i] = row.next == 0
end
X, Y, friction = sim.array(X), sim.array(Y), sim.array(friction)

local function judge(predicted)
  local count, exact = 0, 0
  for i = 1, #rows do
    if sticks[i] then
      count = count + 1
      local p = predicted[i]
      if math.abs(p[1]) < 1e-3 and math.abs(p[2]) < 1e-3 then exact = exact + 1 end
    end
  end
  return (predicted - Y):norm() / math.sqrt(2 * #rows), 100 * exact / count, count
end

local function identity(x) return x end

local truth = sim.zeros(9, 2)
truth[{ 1, 1 }], truth[{ 2, 1 }], truth[{ 5, 1 }] = 1, 1, -1
truth[{ 1, 2 }], truth[{ 2, 2 }], truth[{ 4, 2 }] = -1, -1, -1
local rmse, share, count = judge(sim.relu(X:mm(truth)))
e:equal("printed system, with a relu: rmse", 0, rmse, 1e-14)
e:above("printed system as it stands: rmse", 1, (judge(X:mm(truth))))
e:above("steps that stick, % of all", 20, 100 * count / #rows)

rmse = judge(X:slice(nil, { 1, 5 }):mm((sim.linalg.lstsq(X:slice(nil, { 1, 5 }), Y))))
e:above("least squares, G constant: rmse", 0.1, rmse)
rmse, share = judge(X:mm((sim.linalg.lstsq(X, Y))))
e:above("least squares, G affine: rmse", 0.01, rmse)
e:below("   of the sticking below 1e-3, %", 5, share)

local function train(shape, third)
  local steps = e.options.iterations
  local learned = sim.optimize.minimize(function(p)
    local affine = X:mm(p.W)
    local predicted = shape(affine)
    local cost = (predicted - Y):norm() / math.sqrt(#rows) + sim.abs(friction * predicted):sum() / #rows
    return third and cost + sim.relu(-affine):sum() / #rows or cost
  end, { W = 0.3 * sim.randn({ 9, 2 }, sim.random.split()) }, { method = "adam", max_iterations = steps,
    learning_rate = function(i) return 0.02 * 0.5 * (1 + math.cos(math.pi * math.min(1, i / steps))) + 1e-5 end })
  local predicted = shape(X:mm(learned.W))
  local r, s = judge(predicted)
  return r, s, predicted
end
local plain_rmse, plain_share, plain = train(identity)
local relu_rmse, relu_share, with_relu = train(sim.relu)
e:above("trained without a relu: rmse", 0.01, plain_rmse)
e:equal("   of the sticking below 1e-3, %", 0, plain_share)
e:below("trained with a relu: rmse", 0.0002, relu_rmse)
e:equal("   of the sticking below 1e-3, %", 100, relu_share)
local third_rmse, third_share = train(identity, true)
e:above("third term, without a relu: rmse", 0.01, third_rmse)
e:equal("   of the sticking below 1e-3, %", 0, third_share)
third_rmse, third_share = train(sim.relu, true)
e:above("third term, before a relu: rmse", 0.001, third_rmse)
e:below("   of the sticking below 1e-3, %", 95, third_share)

local pushed, plain_error, relu_error = {}, {}, {}
for i = 1, #rows, 2 do
  pushed[#pushed + 1] = rows[i].v + rows[i].u
  plain_error[#pushed], relu_error[#pushed] = plain[{ i, 1 }] - Y[{ i, 1 }], with_relu[{ i, 1 }] - Y[{ i, 1 }]
end
e:figure(sim.plot { title = "Error of the speed to the right", x = "v + u", y = "predicted - true",
  { pushed, plain_error, kind = "scatter", label = "no relu" },
  { pushed, relu_error, kind = "scatter", marker = "cross", label = "relu" } })
e:finish()
