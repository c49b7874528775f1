-- Gradient descent with one sample per step needs more than ten thousand samples to learn the matrix, but least squares
-- needs only forty.
--
-- The notes say (3.1.3): "Things didn't converge unless I had a ton of samples (10-30k ish)". The rows of G l + f as in
-- 13a, with one given entry per row, are learned from a stream of steps. Each sample has the cost (l_r w_r)^2 + max(0,
-- -w_r)^2 and gives one step along the gradient of this cost, at most as large as the step that reaches zero. Near the
-- solution only the first term acts. Its mean Hessian is A = mean 2 l_r^2 x x', so an error along an eigenvector
-- decreases as exp(-rate lambda n). It falls to 1/10 within ln 10 / (rate lambda_min) samples. The smallest eigenvalue
-- is small, so this number is large. The number counts updates, not different samples: a hundred samples that are used
-- repeatedly need as many updates. Least squares on forty samples finds all entries that the data determine.
local sim = require "sim2d"
local e = sim.experiment("How many samples a friction law takes",
  { updates = { 40000, "" }, rate = { 0.01, "of gradient steps" } })

local truth = { { 1, -1, 1, 1, 1, 0 }, { -1, 1, 1, -1, -1, 0 }, { -1, -1, 0, 0, 0, 1 } }
local set, open = { 1, 2, 1 }, { 2, 1, 0 } -- index of the given entry and of the undetermined entry in each row

-- Returns a stream of samples (l+, l-, gamma, v, u, 1), ten per run (h = m = g = mu = 1).
local function stream(random)
  local v, i = 0, 0
  return function()
    i = i + 1
    v = i % 10 == 1 and random:uniform(-3, 3) or v
    local u = random:uniform(-3, 3)
    local l = -sim.clamp(v + u, -1, 1)
    local sample = { math.max(l, 0), math.max(-l, 0), math.abs(v + u + l), v, u, 1 }
    v = v + u + l
    return sample
  end
end

local function error_of(rows)
  local worst = 0
  for r = 1, 3 do
    for j = 1, 6 do
      local miss = j == open[r] and 0 or math.abs(rows[r][j] - truth[r][j])
      worst = miss <= worst and worst or miss -- nan too
    end
  end
  return worst
end

-- Makes gradient steps from the given rows. Returns one error per 100 steps, and the number of steps after which the
-- error stays below 0.1.
local function descend(sample, rows)
  local errors, hit = {}, nil
  for r = 1, 3 do rows[r][set[r]] = truth[r][set[r]] end
  for k = 1, e.options.updates do
    local s = sample(k)
    for r = 1, 3 do
      local row, w, size = rows[r], 0, 0
      for j = 1, 6 do w, size = w + row[j] * s[j], size + s[j] ^ 2 end
      local weight = 2 * s[r] ^ 2 + (w < 0 and 2 or 0)
      local slope = math.min(e.options.rate, 1 / (weight * size)) * weight * w
      for j = 1, 6 do row[j] = row[j] - (j == set[r] and 0 or slope * s[j]) end
    end
    if k % 100 == 0 then
      errors[#errors + 1] = error_of(rows)
      hit = errors[#errors] < 0.1 and (hit or k) or nil
    end
  end
  return errors, hit
end

local random = sim.random.split()
local function row() return sim.randn(6, random):table() end

-- 1. Least squares on forty steps, for each row where its l is positive (13a shows the ranks).
local fit, next, forty = {}, stream(random), {}
for i = 1, 40 do forty[i] = next() end
for r = 1, 3 do
  local A, b = {}, {}
  for _, s in ipairs(forty) do
    if s[r] > 0 then
      b[#b + 1], A[#A + 1] = -truth[r][set[r]] * s[set[r]], { table.unpack(s) }
      A[#A][set[r]] = 0
    end
  end
  fit[r] = sim.linalg.lstsq(A, b):table()
  fit[r][set[r]] = truth[r][set[r]]
end
e:equal("least squares, 40 steps: largest error", 0, error_of(fit), 1e-12)

-- 2. The slow direction of row 1 from its mean Hessian, without given and undetermined entries.
local A, kept = sim.zeros(4, 4), { 3, 4, 5, 6 }
for _ = 1, 4000 do
  local s = next()
  for a, i in ipairs(kept) do
    for b, j in ipairs(kept) do A[{ a, b }] = A[{ a, b }] + 2 * s[1] ^ 2 * s[i] * s[j] / 4000 end
  end
end
local values, vectors = sim.linalg.eig(A)
local decade = math.log(10) / (e.options.rate * values[1])
e:above("row 1: largest eigenvalue of the least", 1000, values[4] / values[1])

-- Starts from an error along this direction. With one sign no inequality is violated, and with the other sign many are.
local function from(sign)
  local rows = { { table.unpack(truth[1]) }, { table.unpack(truth[2]) }, { table.unpack(truth[3]) } }
  for a, j in ipairs(kept) do rows[1][j] = rows[1][j] + sign * sim.sign(vectors[{ 1, 1 }]) * vectors[{ a, 1 }] end
  local errors = descend(stream(random), rows)
  return errors, e.options.updates / 2 / math.log(errors[#errors // 2] / errors[#errors], 10)
end
local unseen, slow = from(1)
local seen, fast = from(-1)
e:equal("samples to a tenth, thousands: the inequality silent", decade / 1000, slow / 1000, 0.15 * decade / 1000)
e:below("   the inequality violated", decade / 2000, fast / 1000)

-- 3. Random starts, three with a stream of samples, and one with the same hundred samples repeated.
local curves, hits = {}, {}
for i = 1, 4 do
  local hundred, more = {}, stream(random)
  for k = 1, 100 do hundred[k] = more() end
  curves[i], hits[i] = descend(i < 4 and more or function(k) return hundred[(k - 1) % 100 + 1] end, { row(), row(), row() })
end
e:above("a stream, random starts: samples to 0.1 (the notes: 10-30k)", 10000, math.min(hits[1], hits[2], hits[3]))
e:below("   at most", 30000, math.max(hits[1], hits[2], hits[3]))
e:equal("the same hundred samples: updates, of those of the stream", 1, hits[4] / hits[1], 0.3)
local counts = sim.linspace(100, e.options.updates, e.options.updates // 100)
e:figure(sim.plot { title = "Largest error of what is determined", x = "samples", y = { label = "error", log = true },
  { counts, unseen, label = "inequality silent" }, { counts, seen, label = "violated" },
  { counts, curves[1], label = "anywhere" }, { counts, curves[4], label = "the same 100" } })
e:finish()
