-- sim.optimize.minimize { method = "nlopt" }.
local sim = require "sim2d"
local minimize = sim.optimize.minimize
local function rosenbrock(p) return (1 - p.x) ^ 2 + 100 * (p.y - p.x ^ 2) ^ 2 end
local START = { x = -1.2, y = 1 }

local there, message = pcall(minimize, rosenbrock, START, { method = "nlopt" })
if not there then
  test("a build without NLopt reports it", function() ok(message:find("NLopt was not found", 1, true), message) end)
  return
end

test("local methods find the end of the valley", function()
  for _, algorithm in ipairs { "bobyqa", "newuoa", "nelder-mead", "praxis", "subplex", "lbfgs", "slsqp", "tnewton", "var2", "mma" } do
    local p, value, info = minimize(rosenbrock, START, { method = "nlopt", algorithm = algorithm, max_iterations = 20000 })
    ok(math.abs(p.x - 1) < 1e-3 and math.abs(p.y - 1) < 1e-3, algorithm)
    ok(value < 1e-6 and info.evaluations > 10 and info.iterations <= info.evaluations, algorithm)
  end
end)

test("global methods, between bounds", function()
  -- the lower of two wells
  local function wells(p) return (p ^ 2 - 1) ^ 2 + 0.2 * p end
  for _, algorithm in ipairs { "crs2", "direct", "esch", "isres" } do
    local options = { method = "nlopt", algorithm = algorithm, lower = -2, upper = 2, max_iterations = 3000 }
    local p = minimize(wells, 1, options)
    near(p, -1.02, 0.15) -- the right well: some of them only sample
    eq(minimize(wells, 1, options), p)
  end
  raises("searches only between bounds: give 'lower' and 'upper' for p", minimize, wells, 1, { method = "nlopt", algorithm = "direct" })
end)

test("bounds, callbacks, errors", function()
  local p, _, info = minimize(rosenbrock, START, { method = "nlopt", upper = { x = 0.5 } })
  near(p.x, 0.5, 1e-6)
  near(p.y, 0.25, 1e-5)
  eq(info.status, "converged")
  local seen = 0
  _, _, info = minimize(rosenbrock, START, { method = "nlopt", callback = function()
    seen = seen + 1
    return seen == 3
  end })
  eq({ seen, info.status, info.iterations }, { 3, "stopped", 3 })
  local calls = 0
  raises("no more", minimize, function(x)
    calls = calls + 1
    if calls == 5 then error("no more", 0) end
    return rosenbrock(x)
  end, START, { method = "nlopt" })
  eq(calls, 5)
  raises("did you mean 'bobyqa'", minimize, rosenbrock, START, { method = "nlopt", algorithm = "bobyka" })
  raises("one of 'bobyqa', .* got 3", minimize, rosenbrock, START, { method = "nlopt", algorithm = 3 })
  raises("key 'algorithm' belongs to method 'nlopt'", minimize, rosenbrock, START, { algorithm = "bobyqa" })
  raises("at the start", minimize, function() return 0 / 0 end, START, { method = "nlopt" })
  -- a function that is not finite in places is avoided there
  p = minimize(function(q) return q < 0 and 0 / 0 or (q - 1) ^ 2 end, 3, { method = "nlopt", algorithm = "subplex", initial_step = 4 })
  near(p, 1, 1e-4)
end)
