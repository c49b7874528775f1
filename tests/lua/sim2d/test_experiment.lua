-- sim.experiment: its table, and its treatment of a wrong number.
local sim = require "sim2d"

local function match(text, pattern)
  ok(tostring(text):find(pattern), ("'%s' has no '%s'"):format(text, pattern))
end

local function printed(e)
  local lines, before = {}, print
  print = function(line) lines[#lines + 1] = line end
  local success, message = pcall(e.finish, e)
  print = before
  return lines, success, message
end

test("expected and obtained stand side by side", function()
  local e = sim.experiment "A title"
  ok(e:equal("steps", 11, 11))
  ok(e:equal("speed, m/s", 0.5, 0.5 + 1e-9, 1e-8))
  ok(e:equal("no sign", 0, -0.0))
  ok(e:equal("error, m", 0, 1 / 3e9, 1e-8))
  ok(e:equal("verdict", "infeasible", "infeasible"))
  ok(e:equal("unique", true, true))
  ok(e:below("rmse, mm", 2.24, 2.0))
  ok(e:above("right faces", 11, 12))
  local lines, success = printed(e)
  ok(success)
  eq(lines, {
    "A title",
    "quantity     expected    obtained    difference  allowed",
    "--------------------------------------------------------",
    "steps        11          11          0           exact",
    "speed, m/s   0.5         0.5         1.0e-09     1e-08",
    "no sign      0           0           0           exact",
    "error, m     0           3.3e-10     3.3e-10     1e-08",
    "verdict      infeasible  infeasible",
    "unique       true        true",
    "rmse, mm     <= 2.24     2",
    "right faces  >= 11       12",
    "all 8 as expected",
  })
end)

test("a wrong value is marked, and an error at the end", function()
  local e = sim.experiment "A title"
  ok(not e:equal("x", 1, 2))
  ok(e:equal("y", 1, 1))
  ok(not e:equal("z", "stick", "slide"))
  local lines, success, message = printed(e)
  ok(not success)
  match(message, "2 of 3 not as expected: x: expected 1, obtained 2")
  match(lines[4], "NOT AS EXPECTED")
  ok(not lines[5]:find "NOT")
end)

test("nan equals nothing and is below nothing", function()
  local nan = 0 / 0
  local e = sim.experiment "A title"
  ok(not e:equal("nan", nan, nan, 1))
  ok(not e:equal("nan", 1, nan, 1e300))
  ok(not e:below("nan", 1, nan))
  ok(not e:above("nan", 1, nan))
  ok(e:equal("inf", math.huge, math.huge))
  ok(not e:equal("inf", 1, math.huge, 1e300))
end)

test("a figure is drawn, and written to --out", function()
  local before, path = arg, os.tmpname() .. ".svg"
  arg = { [0] = "script.lua", "--out", path, "--seeds", "3" }
  local e = sim.experiment("A title", { seeds = { 40, "how many" } })
  arg = before
  eq(e.options.seeds, 3)
  e:figure(sim.plot { { { 1, 2, 3 } } })
  e:equal("x", 1, 1)
  local lines = printed(e)
  eq(lines[#lines - 1], "wrote " .. path)
  local file = assert(io.open(path))
  match(file:read "a", "<svg")
  file:close()
  os.remove(path)
end)

test("wrong use is reported", function()
  raises("a title expected, got nil", sim.experiment)
  local e = sim.experiment "A title"
  raises("nothing was compared", e.finish, e)
  raises("a text that names the comparison expected, got number", e.equal, e, 1, 2)
  raises("a number, a text or a boolean expected, got nil", e.equal, e, "x", nil, 1)
  raises("obtained: a number expected, got nil", e.equal, e, "x", 1, nil)
  raises("a finite tolerance >= 0 expected", e.equal, e, "x", 1, 1, -1)
  raises("a finite tolerance >= 0 expected", e.equal, e, "x", 1, 1, math.huge)
  raises("only numbers have a tolerance", e.equal, e, "x", "a", "a", 1)
  raises("bound: a number expected, got string", e.below, e, "x", "1", 1)
  raises("an experiment has no 'equals'; it has equal, below", function() return e.equals end)
  e:equal("x", 1, 1)
  printed(e)
  raises("compare before finish", e.equal, e, "x", 1, 1)
end)
