-- Runs of sim.optimize that continue an earlier run.
local sim = require "sim2d"
local PATH = os.tmpname()
at_end(function() os.remove(PATH) end)

local function rosenbrock(p) return (1 - p.x) ^ 2 + 100 * (p.y - p.x ^ 2) ^ 2 end
local START = { x = -1.2, y = 1 }

-- Counts calls, and raises at the call `limit`.
local function counted(f, limit)
  local count = { calls = 0 }
  return function(p)
    count.calls = count.calls + 1
    if count.calls == limit then error("out of time", 0) end
    return f(p)
  end, count
end

local WAYS = {
  lbfgs = { max_iterations = 60 }, adam = { max_iterations = 40, learning_rate = 0.05 },
  sgd = { max_iterations = 40, learning_rate = 1e-3 }, rmsprop = { max_iterations = 40 },
  ["nelder-mead"] = { max_iterations = 60 }, cmaes = { max_iterations = 30, seed = 7 },
}

test("an interrupted run continues with the same bits", function()
  for method, options in pairs(WAYS) do
    os.remove(PATH)
    options.method = method
    local whole, whole_value, whole_info = sim.optimize.minimize(rosenbrock, START, options)
    options.journal = PATH
    local f, first = counted(rosenbrock, 17)
    raises("out of time", sim.optimize.minimize, f, START, options)
    local g, second = counted(rosenbrock)
    local p, value, info = sim.optimize.minimize(g, START, options)
    eq({ p.x, p.y, value }, { whole.x, whole.y, whole_value })
    eq({ info.status, info.iterations, info.evaluations }, { whole_info.status, whole_info.iterations, whole_info.evaluations })
    eq(second.calls, info.evaluations - 16)
    -- and once it has ended, the function is not called any more
    local h, third = counted(rosenbrock)
    eq((sim.optimize.minimize(h, START, options)).x, whole.x)
    eq({ first.calls, third.calls }, { 17, 0 })
  end
end)

test("fits, too", function()
  os.remove(PATH)
  local function residuals(p) return { p.a - 3, 10 * (p.b - p.a ^ 2), sim.sin(p.b) } end
  local whole, sum = sim.optimize.least_squares(residuals, { a = 1, b = 0 })
  local f = counted(residuals, 9)
  raises("out of time", sim.optimize.least_squares, f, { a = 1, b = 0 }, { journal = PATH })
  local p, again = sim.optimize.least_squares(counted(residuals), { a = 1, b = 0 }, { journal = PATH })
  eq({ p.a, p.b, again }, { whole.a, whole.b, sum })
end)

test("journals of other runs", function()
  os.remove(PATH)
  sim.optimize.minimize(rosenbrock, START, { journal = PATH, max_iterations = 5 })
  raises("belongs to another run: evaluation 1 was at other parameters", sim.optimize.minimize, rosenbrock, { x = 0, y = 1 },
    { journal = PATH })
  raises("belongs to another run, with another function, method", sim.optimize.minimize, function(p) return p.x ^ 2 + p.y end, START,
    { journal = PATH })
  raises("belongs to another run, with another function, method", sim.optimize.minimize, rosenbrock, START,
    { journal = PATH, method = "adam" })
  raises("key 'journal': the name of a file expected", sim.optimize.minimize, rosenbrock, START, { journal = 3 })
  raises("missing", sim.optimize.minimize, rosenbrock, START, { journal = "/missing/folder/file" })
  -- refused runs leave the journal unchanged and unlocked
  eq(sim.optimize.minimize(rosenbrock, START, { journal = PATH, max_iterations = 5 }).x,
    sim.optimize.minimize(rosenbrock, START, { max_iterations = 5 }).x)
end)
