-- Tests the line search of Dojo's solver where Newton's method diverges, with the options ls_scale and max_ls. For
-- c(x) = atan(x), the step d = -atan(x) (1 + x^2) overshoots. Beyond |x| = 1.39174520 it overshoots more each time. The
-- step starts at alpha = 1 and is shortened, alpha <- s alpha with s = ls_scale, until
--
--     r_vio(x + alpha d) < r_vio(x)    or    b_vio less than before        (here: |x + alpha d| < |x|)
--
-- but at most max_ls times. This is the rule in the published text. The published code ignores ls_scale and always
-- halves the step. After max_ls rejections it takes the last step nevertheless, whereas here the solve ends and reports
-- the failure. The "or" is a weak condition: while one violation decreases, the other may increase, as b_vio does for
-- contacts far from the solution, whose equations are affine. A rule that requires both to decrease would reject these
-- steps. A mere decrease is also a weak condition: with s = 0.8, the first step that overshoots by less than it gains
-- is accepted, and many such steps are needed.
local sim = require "sim2d"
local contacts = require "contacts"

local e = sim.experiment "Newton's method on atan(x) with a line search"

local function solve(x0, options)
  local x, status, _, info = sim.ncp.solve { x0 = { x0 }, options = options, history = true,
    residual = function(x) return { math.atan(x[1]) } end,
    jacobian = function(x) return { { 1 / (1 + x[1] ^ 2) } } end }
  if not x then return nil, status end
  return x[1], info
end

-- Does the line search by hand. Returns the number of iterations and the first alpha.
local function by_hand(x, s)
  local steps, first = 0, nil
  while math.abs(math.atan(x)) > 1e-8 do
    local d, alpha = -math.atan(x) * (1 + x * x), 1
    while math.abs(x + alpha * d) >= math.abs(x) do alpha = alpha * s end
    x, steps, first = x + alpha * d, steps + 1, first or alpha
  end
  return steps, first
end

local plots = { { title = "Iterations", y = { label = "iterations", range = { 0, 50 } } },
  { title = "Part of the first step", y = { label = "alpha", log = true } } }
for p, plot in ipairs(plots) do
  plot.x = { label = "start", log = true }
  for k, s in ipairs { 0.3, 0.5, 0.8 } do
    local xs, ys, differ = {}, {}, 0
    for i = 0, 60 do
      local x0 = 10 ^ (i / 20 - 0.5)
      local x, info = solve(x0, { ls_scale = s, max_ls = 100 })
      assert(x, info)
      local steps, first = by_hand(x0, s)
      if info.iterations ~= steps or math.abs(info.history[1].step / first - 1) > 1e-12 then differ = differ + 1 end
      xs[#xs + 1], ys[#ys + 1] = x0, p == 1 and info.iterations or info.history[1].step
    end
    plot[k] = { xs, ys, label = ("ls_scale = %g"):format(s) }
    -- For some starts, rounding errors may decide whether a step is rejected.
    if p == 1 then e:below(("ls_scale %g: other than by hand, of 61 starts"):format(s), 2, differ) end
  end
end

-- Finds the range of starts from which Newton's method converges without a line search.
local low, high = 1, 2
while high - low > 1e-9 do
  local middle = (low + high) / 2
  if solve(middle, { max_ls = 1 }) then low = middle else high = middle end
end
e:equal("max_ls = 1: arrives from up to", 1.3917452002707, low, 1e-7)

-- From x = 1000, the condition alpha |d| < 2 |x| requires more than log2(|d| / 2000) halvings.
local halvings = math.ceil(math.log(math.atan(1000) * (1 + 1e6) / 2000, 2))
local function status(options) return select(2, solve(1000, options)) end
e:equal("from 1000: halvings", 10, halvings)
e:equal("max_ls = 10", "max_iterations", status { max_ls = halvings })
e:equal("max_ls = 11", "solved", status({ max_ls = halvings + 1 }).status)

-- Counts the steps, for contacts at 100 m/s, that were accepted because only one violation decreased. Steps of length
-- 0, which move the point away from the boundary, are excluded.
local random, steps, rose, lifts = sim.random.split(), 0, { r_vio = 0, b_vio = 0 }, 0
for _ = 1, 10 do
  local problem, before = contacts(random, 4, 0.3, 100), nil
  problem.history = true
  for k = 0, 50 do
    problem.options = { max_iter = k }
    local x, _, last, info = sim.ncp.solve(problem)
    local now = x and info or last
    if k > 0 and now.history[k].step == 0 then
      lifts = lifts + 1
    elseif k > 0 then
      steps = steps + 1
      for name in pairs(rose) do rose[name] = rose[name] + (now[name] > math.max(before[name], 1e-8) and 1 or 0) end
    end
    if x then break end
    before = now
  end
end
e:equal(("contacts: of %d steps (and %d lifts) r_vio rose on"):format(steps, lifts), 0, rose.r_vio)
e:above("b_vio rose on", 1, rose.b_vio)

e:figure(sim.plot.grid { columns = 2, width = 640, height = 380, plots[1], plots[2] })
e:finish()
