-- sim.control.trajectory { method = "contact" }: plans with contacts as unknowns.
local sim = require "sim2d"

local function trajectory(def)
  def.method = "contact"
  return sim.control.trajectory(def)
end

-- fn raises a message that contains this text.
local function refused(text, fn)
  raises(text:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?]", "%%%0"), fn)
end

local function corner(extra)
  local def = { unknowns = { "x", "y" }, stages = 2, stage = function(s)
    return { cost = (s.x - 1) ^ 2 + (s.y - 2) ^ 2, positive = { s.x, s.y }, products = { { s.x, s.y } } }
  end }
  for key, value in pairs(extra or {}) do def[key] = value end
  return trajectory(def)
end

test("the nearest corner", function()
  local plan = corner()
  eq(plan.status, "converged")
  eq(plan.message, nil)
  eq(#plan.unmet, 0)
  eq(plan.attempts, 1)
  near(plan.stages[1].x, 0, 1e-6)
  near(plan.stages[1].y, 2, 1e-6)
  near(plan.x[2][2], plan.stages[2].y, 0)
  near(plan.cost, 2, 1e-5)
  ok(plan.residuals.product <= 1e-6 and plan.residuals.positive == 0 and plan.residuals.equal == 0)
  ok(plan.violation <= 1e-6)
  -- guesses: values, lists, plans
  for _, guess in ipairs { { x = 0.1, y = { 1, 2 } }, plan } do
    near(corner({ guess = guess }).stages[2].y, 2, 1e-6)
  end
  eq(corner({ iterations = 1, smoothing = 1 }).status, "out of iterations")
  -- the same bits again
  local again = corner()
  for i = 1, 2 do
    for k = 1, 2 do eq(again.x[i][k], plan.x[i][k]) end
  end
end)

-- A mass 1 is moved from rest by 1 in 1 s with least effort: u(t) = 6 - 12 t, cost 12 in continuous time.
local function move(goal, extra)
  local N, dt = 21, 1 / 20
  local def = { unknowns = { "x", "v", "u" }, stages = N, start = { x = 0, v = 0 }, goal = goal, stage = function(s, n)
    local stage = { cost = dt * s.u * s.u }
    if n then stage.equal = { n.x - s.x - dt * s.v - dt * dt / 2 * s.u, n.v - s.v - dt * s.u } end
    return stage
  end }
  for key, value in pairs(extra or {}) do def[key] = value end
  return trajectory(def)
end

test("a motion of least effort", function()
  local plan = move { { of = "x", value = 1 }, { of = "v", value = 0 } }
  eq(plan.status, "converged")
  near(plan.cost, 12 / (1 - 1 / 400), 1e-4) -- of forces that are constant in each of 20 steps
  near(plan.stages[1].u, 6 * (1 - 1 / 20) / (1 - 1 / 400), 1e-3)
  near(plan.residuals.goal, 0, 1e-6)
end)

test("a plan that misses its goals has not converged", function()
  -- a weak weight leaves the mass 0.8 from the goal: (1 - x)^2 + 3 x^2 is least at x = 1/4
  local goal = { of = "x", value = 1, weight = 1, within = 0.1 }
  local plan = move(goal)
  eq(plan.status, "stuck")
  eq(plan.unmet[1], "goal x")
  ok(plan.message:find("'x' ends 0.7%d+ from its goal, 0.1 allowed"))
  near(plan.residuals.goal, 0.75, 0.01)
  eq(move({ of = "x", value = 1, weight = 1e4, within = 0.1 }).status, "converged")
  -- out of reach
  local bounded = move({ { of = "x", value = 1 }, { of = "v", value = 0 } }, { iterations = 60, smoothing = 1, stage = function(s, n)
    local stage = { cost = s.u * s.u, positive = { 1 - s.u, 1 + s.u } }
    if n then stage.equal = { n.x - s.x - s.v / 20, n.v - s.v - s.u / 20 } end
    return stage
  end })
  ok(bounded.status ~= "converged")
  ok(#bounded.unmet > 0 and bounded.violation > 1e-3)
end)

-- Random problems: whatever the status says must be true.
test("converged is only said of plans that meet conditions and goals", function()
  local random, converged, others = sim.random:split(), 0, 0
  for _ = 1, fewer(500, 20) do
    local a, b, c = random:uniform(-1, 1), random:uniform(-1, 1), random:uniform(0.1, 2)
    local target, limit = random:uniform(-2, 2), random:uniform(0.2, 1.5)
    local within = random:uniform(0.05, 0.5)
    local plan = trajectory { unknowns = { "x", "u", "f" }, stages = 8, start = { x = a }, iterations = 100,
      smoothing = { 1, 0.1 }, goal = { of = "x", value = target, weight = 5, within = within }, stage = function(s, n)
        local gap = c - s.x + s.f
        local stage = { cost = 0.1 * s.u ^ 2, positive = { s.f, gap, limit - s.u, limit + s.u }, products = { { s.f, gap } } }
        if n then stage.equal = { n.x - s.x - 0.3 * (s.u - s.f + b * sim.sin(s.x)) } end
        return stage
      end }
    local last, worst = plan.stages[8], 0
    for i, s in ipairs(plan.stages) do
      local n, gap = plan.stages[i + 1], c - s.x + s.f
      worst = math.max(worst, -s.f, -gap, math.abs(s.u) - limit, s.f * gap)
      if n then worst = math.max(worst, math.abs(n.x - s.x - 0.3 * (s.u - s.f + b * math.sin(s.x)))) end
    end
    if plan.status == "converged" then
      converged = converged + 1
      ok(worst <= 1e-6 and math.abs(last.x - target) <= within and math.abs(plan.stages[1].x - a) <= 1e-6)
    else
      others = others + 1
      ok(#plan.unmet > 0 or plan.message)
    end
    near(plan.residuals.goal, math.abs(last.x - target), 1e-12)
  end
  ok(converged > 0 and others > 0)
end)

test("functions of formulas", function()
  -- each function is inverted by an equation, with derivatives at the solution
  for name, value in pairs { sin = 0.5, cos = 0.5, tan = 0.5, exp = 2, log = 0.5, sqrt = 1.5, tanh = 0.5, atan = 0.5, sinh = 0.5,
    cosh = 1.5 } do
    local plan = trajectory { unknowns = { "x" }, stages = 2, guess = { x = 0.9 }, stage = function(s)
      return { equal = { sim[name](s.x) - value } }
    end }
    eq(plan.status, "converged", name)
    near(sim[name](plan.stages[1].x), value, 1e-6)
  end
  local plan = trajectory { unknowns = { "x" }, stages = 2, guess = { x = 2 }, stage = function(s)
    return { equal = { (-s.x) ^ 3 + 2 ^ s.x - sim.pow(s.x, 1.5) / 3 + 1 / (2 - 3 * -s.x) } }
  end }
  eq(plan.status, "converged")
  local x = plan.stages[1].x
  near((-x) ^ 3 + 2 ^ x - x ^ 1.5 / 3 + 1 / (2 + 3 * x), 0, 1e-6)
end)

test("stage functions cannot branch", function()
  local function with(f)
    return function() trajectory { unknowns = { "x" }, stages = 2, stage = f } end
  end
  for _, compare in ipairs { function(x) return x > 0 end, function(x) return x <= 1 end, function(x) return x == 2 * x end } do
    refused("cannot branch on unknowns", with(function(s) return { cost = compare(s.x) and 1 or 0 } end))
  end
  refused("state a kink by a complementary pair", with(function(s) return { cost = sim.abs(s.x) } end))
  refused("this function is not available for formulas", with(function(s) return { cost = sim.max(s.x, 0) } end))
  refused("// and % are not available for formulas", with(function(s) return { cost = s.x % 2 } end))
  refused("concatenate a formula", with(function(s) return { cost = s.x .. "" } end))
  refused("can be combined with numbers and formulas, not with 'a'", with(function(s) return { cost = s.x * "a" } end))
  refused("number expected, got Formula", with(function(s) return { cost = math.sin(s.x) } end))
  local kept
  trajectory { unknowns = { "x" }, stages = 2, stage = function(s)
    kept = s.x
    return { cost = s.x * s.x }
  end }
  ok(tostring(kept):find "^Formula")
  refused("formulas of different problems", with(function(s) return { cost = s.x + kept } end))
end)

test("bad arguments", function()
  local good = { unknowns = { "x" }, stages = 2, stage = function(s) return { cost = s.x * s.x } end }
  local function refuses(key, value, message)
    local def = {}
    for name, v in pairs(good) do def[name] = v end
    def[key] = value
    refused(message, function() trajectory(def) end)
  end
  refuses("unknowns", "x", "key 'unknowns': a list of names expected, got 'x'")
  refuses("unknowns", { "x", "x" }, "a name that is not in the list yet expected, got 'x'")
  refuses("stages", 1, "a whole number of at least 2 expected, got 1")
  refuses("stage", 1, "key 'stage': a function(s, n) expected")
  refuses("start", { y = 1 }, "key 'start': the name of an unknown expected, got 'y'")
  refuses("start", { x = "a" }, "key 'start.x': a number expected, got 'a'")
  refuses("goal", { of = "y", value = 1 }, "key 'goal[1].of': the name of an unknown expected")
  refuses("goal", { of = "x", value = 1, weight = 2 }, "key 'goal[1].within'")
  refuses("goal", { of = "x", value = 1, wieght = 2 }, "only the keys of, value, weight, within expected, got 'wieght'")
  refuses("guess", { x = { 1 } }, "a number or a list of 2 numbers expected")
  refuses("guess", { y = 1 }, "key 'guess': the name of an unknown expected, got 'y'")
  refuses("smoothing", 0, "key 'smoothing': a number above 0")
  refuses("iterations", 0.5, "key 'iterations': a whole number")
  refuses("curvature", 1, "key 'curvature': true or false expected")
  refuses("smothing", 1, "unknown key 'smothing'; did you mean 'smoothing'?")
  refuses("stage", function() end, "stage should return { cost =, equal =, positive =, products = }")
  refuses("stage", function() return { equl = {} } end, "unknown key 'equl'; did you mean 'equal'?")
  refuses("stage", function(s) return { products = { s.x } } end, "pairs { a, b } as products")
  refuses("stage", function() return { equal = { 1 } } end, "equal[1] does not depend on an unknown")
  refuses("stage", function() return { equal = { "a" } } end, "stage should return formulas of its unknowns, got 'a' as equal[1]")
  refuses("stage", function(s) return { cost = s.y } end, "there is no unknown 'y'")
  refuses("stage", function(s) return { positive = { 1 / s.x } } end, "guess: positive[1] of stage 1 is inf there")
  refused("this method needs formulas", function() sim.control.trajectory(sim.world {}, { method = "contact" }) end)
end)
