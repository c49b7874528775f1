-- The command line: exact statuses and messages, as a user sees them.

local SIM2D = os.getenv "S2_SIM2D" or arg[-1]

local function write_file(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

local function read_file(path)
  local file = io.open(path)
  if not file then return nil end
  local text = file:read "a"
  file:close()
  return text
end

local function quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

-- Every test has its own files: ctest may run several processes in one folder.
local FOLDER = os.tmpname()
os.remove(FOLDER)
assert(os.execute("mkdir " .. quote(FOLDER)))

-- Runs sim2d in FOLDER with words and stdin; returns {status, out, err}.
local function run(words, input)
  write_file(FOLDER .. "/stdin", input or "")
  local line = { "cd", quote(FOLDER), "&&", quote(SIM2D) }
  for _, word in ipairs(words) do line[#line + 1] = quote(word) end
  line[#line + 1] = "<stdin >out 2>err"
  local _, kind, status = os.execute(table.concat(line, " "))
  return {
    status = kind == "exit" and status or kind .. " " .. status,
    out = read_file(FOLDER .. "/out"),
    err = read_file(FOLDER .. "/err"),
  }
end

-- Runs a script of this text as `script.lua` with words before and after it.
local function run_script(text, before, after)
  write_file(FOLDER .. "/script.lua", text)
  local words = table.move(before or {}, 1, #(before or {}), 1, {})
  words[#words + 1] = "script.lua"
  return run(table.move(after or {}, 1, #(after or {}), #words + 1, words))
end

local function expect(result, status, out, err)
  eq(result.err, err, "stderr")
  eq(result.out, out, "stdout")
  eq(result.status, status, "status")
end

-- A wrong command line: status 2, one line on stderr, nothing runs.
local function usage(words, message)
  expect(run(words), 2, "", "sim2d: " .. message .. "\n")
end

local RECORDED = [[
local sim = require "sim2d"
local world = sim.world { dt = 0.01 }
world:circle { radius = 0.5, position = { 0, 10 }, name = "ball" }
world:step(5)
]]

-- ---- Scripts ------------------------------------------------------------------------------------

test("a script sees its arguments", function()
  local text = "print(arg[0], #arg, arg[1], arg[-1], ...)"
  expect(run_script(text, { "--quiet" }, { "a", "-x", "" }), 0,
    "script.lua\t3\ta\t--quiet\ta\t-x\t\n", "")
end)

test("a script comes from stdin as - and without a name", function()
  expect(run({ "-", "a" }, "print(arg[0], ...)"), 0, "-\ta\n", "")
  expect(run({}, "print 'hello'"), 0, "hello\n", "")
end)

test("-- ends the options", function()
  expect(run { "--", "missing.lua" }, 2, "",
    "sim2d: cannot open 'missing.lua': No such file or directory\n")
end)

test("a file that cannot be opened", function()
  expect(run { "thorw.lua" }, 2, "", "sim2d: cannot open 'thorw.lua': No such file or directory\n")
  expect(run { "." }, 2, "", "sim2d: cannot open '.': Is a directory\n")
end)

test("a syntax error", function()
  expect(run_script "local x = = 1", 1, "",
    "sim2d: script.lua:1: unexpected symbol near '='\n")
end)

test("an error shows the lines of the script only", function()
  local text = [[
local function inner() error("no such luck") end
local function outer() inner() return 1 end
local list = {2, 1}
table.sort(list, function(a, b) outer() return a < b end)
]]
  expect(run_script(text), 1, "", [[
sim2d: script.lua:1: no such luck
stack traceback:
	script.lua:1: in upvalue 'inner'
	script.lua:2: in upvalue 'outer'
	script.lua:4: in function <script.lua:4>
	script.lua:4: in main chunk
]])
end)

test("errors from the library's Lua point at the script", function()
  expect(run_script 'local sim = require "sim2d"\nsim.table(3)', 1, "", [[
sim2d: script.lua:2: bad argument #1 to 'table' (a table of rows expected, got number)
stack traceback:
	script.lua:2: in main chunk
]])
end)

test("errors inside of a gradient call keep their lines", function()
  local head = [[
local sim = require "sim2d"
local function deep() error "boom" end
local root = sim.custom { forward = math.sqrt, backward = function() deep() end }
]]
  expect(run_script(head .. "sim.grad(function(x) deep() end, 1)"), 1, "", [[
sim2d: script.lua:2: boom
stack traceback:
	script.lua:2: in upvalue 'deep'
	script.lua:4: in function <script.lua:4>
	script.lua:4: in main chunk
]])
  expect(run_script(head .. "sim.grad(function(x) return root(x) end, 1)"), 1, "", [[
sim2d: script.lua:2: boom
stack traceback:
	script.lua:2: in upvalue 'deep'
	script.lua:3: in function <script.lua:3>
	script.lua:4: in main chunk
]])
  local world = [[
local world = sim.world {}
world:circle { radius = 1 }:force_law(function() deep() end)
sim.grad(function() world:step() end, 1)]]
  expect(run_script(head .. world), 1, "", [[
sim2d: script.lua:2: boom
stack traceback:
	script.lua:2: in upvalue 'deep'
	script.lua:5: in function <script.lua:5>
	script.lua:6: in function <script.lua:6>
	script.lua:6: in main chunk
]])
end)

test("error values that are no strings", function()
  local trace = "\nstack traceback:\n\tscript.lua:1: in main chunk\n"
  local object = "error(setmetatable({}, {__tostring = function() return 'an object' end}))"
  expect(run_script(object), 1, "", "sim2d: an object" .. trace)
  expect(run_script "error({})", 1, "", "sim2d: (error object is a table value)" .. trace)
  expect(run_script "error(42)", 1, "", "sim2d: 42" .. trace)
end)

test("an endless recursion is an error like any other", function()
  local result = run_script "local function f() return 1 + f() end f()"
  eq(result.status, 1)
  eq(result.err:match "^[^\n]*", "sim2d: script.lua:1: stack overflow")
  ok(result.err:find("\n\t...\n", 1, true))
end)

test("os.exit is obeyed", function()
  eq(run_script("os.exit(7)").status, 7)
  eq(run_script("os.exit(true)").status, 0)
  eq(run_script("os.exit(false, true)").status, 1)
end)

test("os.exit is obeyed inside of a gradient call", function()
  local head = "local sim, exit = require 'sim2d', function() os.exit(5, true) end "
  eq(run_script(head .. "sim.grad(function(x) return exit() end, 1)").status, 5)
  eq(run_script(head .. "local f = sim.custom { forward = math.exp, backward = exit } "
    .. "sim.grad(function(x) return f(x) end, 1)").status, 5)
end)

test("os.exit closes recordings", function()
  local result = run_script(RECORDED .. "os.exit(4)", { "--record", "exit.svg" })
  eq(result.status, 4)
  ok(read_file(FOLDER .. "/exit.svg"):find "</svg>")
end)

test("Ctrl-C ends a loop that catches every error", function()
  -- on one line: the signal may arrive while popen still runs or after it
  local text = "io.popen('kill -INT $PPID'):close() "
    .. "while true do pcall(function() while true do end end) end"
  expect(run_script(text), 130, "", "sim2d: script.lua:1: interrupted\n")
end)

test("Ctrl-C ends a task that does not wait", function()
  expect(run_script("require 'sim2d'.world {}:start(function() "
    .. "io.popen('kill -INT $PPID'):close() "
    .. "while true do pcall(function() while true do end end) end end)"), 130, "",
    "sim2d: script.lua:1: interrupted\n")
end)

test("an error of a task that is no text is reported with its type", function()
  expect(run_script("require 'sim2d'.world {}:start(function() error({}) end)"), 1, "",
    "sim2d: (error object is a table value)\nstack traceback:\n"
    .. "\tscript.lua:1: in function <script.lua:1>\n")
end)

test("Ctrl-C ends a run in the engine and closes the recording", function()
  local result = run_script(RECORDED .. [[
io.popen("kill -INT $PPID"):close()
pcall(world.run, world, { duration = 1e9 })
print "not reached"]], { "--record", "interrupted.svg" })
  eq(result.status, 130)
  eq(result.out, "")
  ok(read_file(FOLDER .. "/interrupted.svg"):find "</svg>")
end)

-- ---- Options ------------------------------------------------------------------------------------

test("-e runs code before the script, with sim as a local", function()
  expect(run { "-e", "print(1)", "-eprint(type(sim.world))" }, 0, "1\nfunction\n", "")
  expect(run_script("print(x, sim)", { "-e", "x = 5" }), 0, "5\tnil\n", "")
  expect(run { "-e", "error 'x'" }, 1, "",
    "sim2d: (command line):1: x\nstack traceback:\n\t(command line):1: in main chunk\n")
end)

test("the version", function()
  local result = run { "--version" }
  eq(result.status, 0)
  ok(result.out:match "^sim2d %d+%.%d+%.%d+ %(Lua 5%.4%.%d+%)\n$", result.out)
  eq(run({ "-v" }).out, result.out)
  eq(run_script("print 'then'", { "-v" }).out, result.out .. "then\n")
end)

test("the help names every option", function()
  local result = run { "--help" }
  eq(result.status, 0)
  eq(result.err, "")
  for _, name in ipairs {
    "-e CODE", "-i ", "-v ", "--version", "--help", "--record FILE", "--seed N", "--dt S",
    "--solver NAME", "--budget T", "--stats", "--quiet", "--audit", "--strict", "--dump-problems DIR", "--view[=PORT]",
    "--threads N", "--watch", "--NAME VALUE", "--width N", "--view-follow BODY", "--strobe S", "--trails",
    "--fps N", "--speed X", "--no-wait",
  } do
    ok(result.out:find("\n  " .. name, 1, true), name)
  end
  for line in result.out:gmatch "[^\n]*" do
    ok(#line <= 100, line)
  end
end)

test("misspelt and wrong options", function()
  usage({ "--sed", "1" }, "unknown option '--sed'; did you mean '--seed'?  (sim2d --help)")
  usage({ "--sed=1" }, "unknown option '--sed'; did you mean '--seed'?  (sim2d --help)")
  usage({ "--nothing" }, "unknown option '--nothing'  (sim2d --help)")
  usage({ "-x" }, "unknown option '-x'  (sim2d --help)")
  usage({ "--quiet=1" }, "--quiet takes no value")
  usage({ "--seed" }, "--seed needs a value: --seed N")
  usage({ "-e" }, "-e needs a value: -e CODE")
  local range = ": an integer from 0 to 18446744073709551615 is expected"
  usage({ "--seed=-1" }, "--seed '-1'" .. range)
  usage({ "--seed", "1.5" }, "--seed '1.5'" .. range)
  usage({ "--seed", "18446744073709551616" }, "--seed '18446744073709551616'" .. range)
  usage({ "--dt=0" }, "--dt '0': a positive number of seconds is expected")
  usage({ "--dt=nan" }, "--dt 'nan': a positive number of seconds is expected")
  usage({ "--dt", "1ms" }, "--dt '1ms': a positive number of seconds is expected")
  for _, wrong in ipairs { "50us", "-1", "ms", "inf", "nan", "50 ms" } do
    usage({ "--budget", wrong }, ("--budget '%s': a time such as 50ms or 0.05s, or a number of work units, is expected"):format(wrong))
  end
  usage({ "--solver", "lemk" },
    "--solver 'lemk': there is no such solver; did you mean 'lemke'?")
  usage({ "--view=http" }, "--view 'http': a port from 1 to 65535 is expected")
  usage({ "--view=0" }, "--view '0': a port from 1 to 65535 is expected")
  usage({ "--watch" }, "--watch needs the file of a script: sim2d --watch script.lua")
  usage({ "--watch", "-" }, "--watch needs the file of a script: sim2d --watch script.lua")
  usage({ "--record", "run.txt" },
    "--record 'run.txt': a file name ending in .csv, .npz, .h5, .s2d, .html, .svg, .png, .gif or .mp4 is expected")
  usage({ "--record", "a.csv/run" },
    "--record 'a.csv/run': a file name ending in .csv, .npz, .h5, .s2d, .html, .svg, .png, .gif or .mp4 is expected")
end)

test("--threads is a default of worlds, batches and jobs", function()
  local text = [[
local sim = require "sim2d"
local function build() local w = sim.world {} w:circle { radius = 1 } return w end
print(build().threads, sim.world { threads = 2 }.threads, sim.batch(build, 2).threads, sim.batch(build, 2, { threads = 1 }).threads,
  sim.parallel.threads(), sim.parallel.map(function(i) return i end, 3, { progress = false })[3])]]
  for _, n in ipairs { 1, 3, 17 } do
    expect(run_script(text, { "--threads", tostring(n) }), 0, ("%d\t2\t%d\t1\t%d\t3\n"):format(n, n, n), "")
  end
  ok(run_script(text).out:match "^1\t2\t")
  for _, bad in ipairs { "0", "-1", "two", "1.5", "1025", "" } do
    usage({ "--threads=" .. bad, "x.lua" }, ("--threads '%s': an integer from 1 to 1024 is expected"):format(bad))
  end
end)

test("--seed", function()
  local text = 'print((require "sim2d").random.uniform())'
  local plain = run_script(text)
  eq(plain.status, 0)
  eq(run_script(text).out, plain.out)
  eq(run_script(text, { "--seed=0" }).out, plain.out)
  local other = run_script(text, { "--seed", "7" })
  ok(other.out ~= plain.out)
  eq(run_script(text, { "--seed=7" }).out, other.out)
end)

test("--budget is a default of worlds, a time by a fixed rate", function()
  local text = "local sim = require 'sim2d' print(sim.world {}.budget, sim.world { budget = 3 }.budget)"
  expect(run_script(text, {}), 0, "inf\t3.0\n", "")
  expect(run_script(text, { "--budget=50ms" }), 0, "400000.0\t3.0\n", "")
  expect(run_script(text, { "--budget", "0.05s" }), 0, "400000.0\t3.0\n", "")
  expect(run_script(text, { "--budget", "1e5" }), 0, "100000.0\t3.0\n", "")
end)

test("under --strict a step that a budget has cut fails with a message", function()
  local text = [[
local sim = require "sim2d"
local world = sim.world { gravity = { 0, -10 } }
world:box { type = "static", size = { 60, 1 }, position = { 0, -0.5 } }
for k = 0, 9 do for j = 0, 9 do world:box { size = { 1, 1 }, position = { j * 1.02 + (k % 2) * 0.5, 0.5 + k }, velocity = { k - j, 0 } } end end
for _ = 1, 20 do world:step() end]]
  local result = run_script(text, { "--strict", "--budget", "0" })
  eq(result.status, 3)
  ok(result.err:find "was cut by its budget, with a scaled residual of", result.err)
  eq(run_script(text, { "--budget", "0" }).status, 0)
end)

test("--dt and --solver are defaults of worlds", function()
  local text = [[
local sim = require "sim2d"
print(sim.world {}.dt, sim.world { dt = 0.5 }.dt)
print(sim.world {}.solver, sim.world { solver = "auto" }.solver)]]
  expect(run_script(text, { "--dt", "0.25", "--solver=lemke" }), 0,
    "0.25\t0.5\nlemke\tauto\n", "")
end)

test("--record writes the steps of the run", function()
  eq(run_script(RECORDED, { "--record", "run.csv" }).status, 0)
  local rows = 0
  for _ in read_file(FOLDER .. "/run.csv"):gmatch "[^\n]+" do rows = rows + 1 end
  eq(rows, 1 + 6) -- header, the start and five steps
end)

test("--dump-problems gives each world a directory", function()
  local text = "local sim = require 'sim2d' for i = 1, 2 do local world = sim.world {} "
    .. "world:segment { from = { -1, 0 }, to = { 1, 0 } } "
    .. "world:circle { radius = 0.5, position = { 0, 0.5 } } world:step() end"
  expect(run_script(text, { "--dump-problems", "each" }), 0, "", "")
  for _, folder in ipairs { "each", "each-2" } do
    ok(read_file(FOLDER .. "/" .. folder .. "/problem-000000-00.txt"):find "^sim2d%-problem")
  end
end)

test("--dump-problems writes a file for each solve", function()
  local text = [[
local sim = require "sim2d"
local world = sim.world { dt = 0.01 }
world:segment { from = { -5, 0 }, to = { 5, 0 } }
world:box { size = { 1, 1 }, position = { 0, 0.5 }, velocity = { 1, 0 } }
world:step(2)]]
  eq(run_script(text, { "--dump-problems", "problems" }).status, 0)
  -- A box slides. The first of the two stages carries half of the weight, and the impulses of the second include those of
  -- the first.
  for stage = 0, 1 do
    local impulses = require("sim2d").problem.solve(("%s/problems/problem-000000-0%d.txt"):format(FOLDER, stage))
    local sum = 0
    for r = 1, #impulses, 2 do sum = sum + impulses[r] end -- normals, each with its friction
    near(sum, 9.81 * 0.01 / 2 * (1 + stage), 1e-12)
  end
  expect(run_script(text, { "--dump-problems", "script.lua" }), 2, "",
    "sim2d: --dump-problems 'script.lua': not a directory\n")
end)

test("--stats prints a table", function()
  local result = run_script(RECORDED, { "--stats" })
  eq(result.status, 0)
  eq(result.out, "")
  ok(result.err:find("\n  worlds                        1\n", 1, true), result.err)
  ok(result.err:find("\n  steps                         5\n", 1, true), result.err)
end)

-- No solver reaches a residual of 1e-300.
local UNSOLVED = [[
local sim = require "sim2d"
local world = sim.world { tolerance = 1e-300, dt = 0.01 }
world:segment { from = { -5, 0 }, to = { 5, 0 } }
world:box { size = { 1, 1 }, position = { 0, 0.5 }, angle = 0.01, velocity = { 1, -1 } }
world:box { size = { 1, 1 }, position = { 0.3, 1.6 }, velocity = { 0, -1 } }
]]

test("--strict makes an unsolved step an error", function()
  eq(run_script(UNSOLVED .. "world:step(20)").status, 0)
  local result = run_script(UNSOLVED .. "world:step(20)", { "--strict" })
  eq(result.status, 3)
  ok(result.err:match "^sim2d: script.lua:6: ", result.err)
  eq(run_script(UNSOLVED .. "pcall(world.step, world, 20)", { "--strict" }).status, 0)
end)

-- A press with given motion crushes a block: the block overlaps both the press and the anvil in each step.
local CRUSHES = [[
local sim = require "sim2d"
local function run(audit)
  local w = sim.world { audit = audit }
  w:on("solver_warning", function() end)
  w:box { type = "static", name = "anvil", position = { 0, -0.5 }, size = { 4, 1 } }
  w:box { name = "block", position = { 0, 0.5 }, size = { 1, 1 } }
  w:box { type = "kinematic", name = "press", position = { 0, 1.5 }, size = { 1, 1 }, velocity = { 0, -1 } }
  w:clone():step(1)
  w:step(2)
  print(w.audit, w:stats().overlaps)
end
]]

test("under --audit the status is 3 where a world that does not set `audit` has a finding", function()
  local result = run_script(CRUSHES .. "run()")
  eq(result.status, 0)
  eq(result.out, "false\t0\n")
  eq(result.err:find("--audit", 1, true), nil)
  result = run_script(CRUSHES .. "run()", { "--audit" })
  eq(result.status, 3)
  eq(result.out, "true\t4\n")
  ok(result.err:find("\nsim2d: --audit: findings: overlaps 6, the first: audit of step 1 ", 1, true), result.err)
  ok(result.err:find("'anvil' and 'block': they overlap by ", 1, true), result.err)
  -- the script handles its findings itself, or does not want any; a failure of the script takes precedence
  result = run_script(CRUSHES .. "run(true) run(false)", { "--audit" })
  eq(result.status, 0)
  eq(result.out, "true\t4\nfalse\t0\n")
  eq(run_script(CRUSHES .. "run() error 'no'", { "--audit" }).status, 1)
  -- without --audit only the script determines the status
  eq(run_script(CRUSHES .. "run(true)").status, 0)
end)

-- ---- Options of scripts -------------------------------------------------------------------------

local DECLARED = [[
local sim = require "sim2d"
local options = sim.options {
  mu = { 0.5, "friction" }, fast = { false, "no pictures" },
  out_file = { "a.csv", "where to" }, n = 3,
}
print(options.mu, options.fast, options.out_file, options.n, table.concat(arg, " "))
]]

test("sim.options reads the values after the script", function()
  expect(run_script(DECLARED), 0, "0.5\tfalse\ta.csv\t3\t\n", "")
  expect(run_script(DECLARED, {}, { "--mu", "-0.25", "x", "--fast", "--out-file=b", "y" }), 0,
    "-0.25\ttrue\tb\t3\tx y\n", "")
  expect(run_script(DECLARED, {}, { "--fast", "false", "--n", "0x10", "--", "--mu" }), 0,
    "0.5\tfalse\ta.csv\t16\t--mu\n", "")
end)

test("switches understand the words for true and false", function()
  local random = require "sim2d".random.split()
  random:seed(3)
  local words = { yes = true, no = false, ["true"] = true, ["false"] = false, on = true, off = false, ["0"] = false,
    ["1"] = true, y = true, n = false }
  local names = {}
  for word in pairs(words) do names[#names + 1] = word end
  table.sort(names)
  local text, want, args = { 'local sim = require "sim2d"\nlocal all = arg' }, {}, {}
  for k = 1, 200 do -- each read by a separate call
    local word = random:choice(names)
    local value = words[word]
    local spelt = word:gsub(".", function(c) return random:uniform() < 0.3 and c:upper() or c end)
    args[#args + 1] = random:uniform() < 0.5 and ("{ '--fast=%s' }"):format(spelt) or ("{ '--fast', '%s' }"):format(spelt)
    want[k] = tostring(value)
  end
  text[#text + 1] = ("for _, words in ipairs { %s } do arg = words print(sim.options { fast = %s }.fast, #arg) end"):format(
    table.concat(args, ", "), "not (words[2] or words[1]):lower():find '[ty1]' and true or false")
  expect(run_script(table.concat(text, "\n")), 0, table.concat(want, "\t0\n") .. "\t0\n", "")
  -- other words do not belong to the switch
  expect(run_script(DECLARED, {}, { "--fast", "maybe", "--fast", "--n", "1" }), 0, "0.5\ttrue\ta.csv\t1\tmaybe\n", "")
end)

test("sim.options prints its help", function()
  expect(run_script(DECLARED, {}, { "--help" }), 0, [[
options of script.lua:
  --fast      no pictures (default false)
  --mu        friction (default 0.5)
  --n         (default 3)
  --out_file  where to (default "a.csv")
]], "")
end)

test("sim.options refuses undeclared options", function()
  local function refused(words, message)
    expect(run_script(DECLARED, {}, words), 2, "",
      "script.lua: " .. message .. "  (script.lua --help)\n")
  end
  refused({ "--mo", "1" }, "unknown option '--mo'; did you mean '--mu'?")
  refused({ "-mu", "1" }, "'-mu': options begin with two dashes, '--mu'")
  refused({ "--nothing" }, "unknown option '--nothing'")
  refused({ "--mu" }, "option '--mu' needs a value: a number")
  refused({ "--mu", "x" }, "option '--mu': a number is expected, not 'x'")
  refused({ "--mu=inf" }, "option '--mu': a number is expected, not 'inf'")
  refused({ "--mu=1e999" }, "option '--mu': a number is expected, not '1e999'")
  refused({ "--fast=maybe" }, "option '--fast': true or false (yes or no, on or off, 1 or 0) is expected, not 'maybe'")
end)

test("reading an option that was not declared raises", function()
  local result = run_script(DECLARED .. "print(options.out_fil)")
  eq(result.status, 1)
  eq(result.err:match "^[^\n]*",
    "sim2d: script.lua:7: there is no option 'out_fil'; did you mean 'out_file'?")
end)

test("wrong declarations raise at the caller", function()
  local sim = require "sim2d"
  local function refused(declared, message)
    eq(raises("", function() sim.options(declared) end):match "^.-test_cli%.lua:%d+: (.*)$",
      "bad argument #1 to 'options' (" .. message .. ")")
  end
  refused(nil, "a table expected, got nil")
  refused({ "mu" }, "the name '1' is not an identifier")
  refused({ mu = {} },
    "the default of 'mu' is a nil; a number, a boolean or a string is expected")
end)

-- ---- Options after the script -------------------------------------------------------------------

test("an option of the command after a script that reads no arguments is an error", function()
  local text = 'print "ran"\nlocal function f(...) return ... end -- no argument of the script'
  local function refused(words, option, meant)
    expect(run_script(text, {}, words), 2, "", ("sim2d: '%s' comes after the script, which reads no arguments; "
      .. "put it before:  sim2d %s script.lua\n"):format(option, meant))
  end
  refused({ "--record", "x.html" }, "--record", "--record x.html")
  refused({ "a", "--record=x.html" }, "--record=x.html", "--record=x.html")
  refused({ "-i" }, "-i", "-i")
  refused({ "--view", "b" }, "--view", "--view")
  refused({ "--seed" }, "--seed", "--seed")
  eq(read_file(FOLDER .. "/x.html"), nil)
  -- other words, and those that the user marks as the script's, are passed on
  expect(run_script(text, {}, { "a", "--other", "-3" }), 0, "ran\n", "")
  expect(run_script(text, {}, { "--", "--record", "x.html" }), 0, "ran\n", "")
end)

test("a script that reads its words may have options of the command's names", function()
  local words = { "--seed", "7" }
  expect(run_script("print(...)", {}, words), 0, "--seed\t7\n", "")
  expect(run_script("#!/usr/bin/env sim2d\nprint(select('#', ...))", {}, words), 0, "2\n", "")
  expect(run_script("print(arg[2])", {}, words), 0, "7\n", "")
  expect(run_script("print(require 'sim2d'.options { seed = 1 }.seed)", {}, words), 0, "7\n", "")
  write_file(FOLDER .. "/reads.lua", "print(arg[2])")
  expect(run_script("require 'reads'", {}, words), 0, "7\n", "")
  expect(run_script("dofile 'reads.lua'", {}, words), 0, "7\n", "")
end)

test("sim.options reports an option of the command", function()
  expect(run_script(DECLARED, {}, { "--record", "x.html" }), 2, "", "script.lua: '--record' comes after the script; "
    .. "put it before:  sim2d --record x.html script.lua  (script.lua --help)\n")
end)

-- ---- How recordings look ------------------------------------------------------------------------

test("--width, --strobe, --trails and --view-follow shape a recorded picture", function()
  local function picture(before)
    local words = table.move(before, 1, #before, 3, { "--record", "x.svg" })
    expect(run_script(RECORDED, words), 0, "", "")
    return read_file(FOLDER .. "/x.svg")
  end
  local plain = picture {}
  ok(plain:find 'width="800"')
  local small = picture { "--width", "320" }
  ok(small:find 'width="320"')
  ok(picture { "--strobe", "0.02" } ~= plain)
  eq(picture { "--strobe", "0,0.02,0.04" }, picture { "--strobe=0.02" })
  ok(picture { "--trails" } ~= plain)
  ok(picture { "--view-follow", "ball" })
  eq(picture { "--view-follow", "ball" }, picture { "--view-follow=1" })
end)

test("replay takes the same words on either side of its name", function()
  expect(run_script(RECORDED, { "--record", "x.s2d" }), 0, "", "")
  local words = { "--width", "320", "--strobe", "0.02", "--trails", "--view-follow", "ball" }
  expect(run_script(RECORDED, table.move(words, 1, #words, 3, { "--record", "direct.svg" })), 0, "", "")
  expect(run(table.move(words, 1, #words, 4, { "replay", "x.s2d", "behind.svg" })), 0, "", "")
  local before = table.move(words, 1, #words, 1, {})
  expect(run(table.move({ "replay", "x.s2d", "before.svg" }, 1, 3, #before + 1, before)), 0, "", "")
  eq(read_file(FOLDER .. "/behind.svg"), read_file(FOLDER .. "/direct.svg"))
  eq(read_file(FOLDER .. "/before.svg"), read_file(FOLDER .. "/direct.svg"))
end)

test("options of a page set how it opens", function()
  local plain = run_script(RECORDED, { "--record", "x.html" })
  if plain.err:find "needs the player's page" then skip "this build has no page" end
  expect(plain, 0, "", "")
  local before = #read_file(FOLDER .. "/x.html")
  expect(run_script(RECORDED, { "--record", "x.html", "--view-follow", "ball", "--trails", "--speed", "0.25" }), 0, "", "")
  ok(#read_file(FOLDER .. "/x.html") > before) -- its content: tests/browser/test_player.mjs
  local text = RECORDED:gsub("world:step", 'assert(world:record("y.html", { follow = world.bodies.ball, '
    .. 'trails = true, speed = 0.25 }))\n%0')
  local scripted = run_script(text)
  expect(scripted, 0, "", "")
end)

test("wrong words about pictures", function()
  usage({ "--width", "3", "x.lua" }, "--width '3': pixels from 16 to 16384 are expected")
  usage({ "--width=big", "x.lua" }, "--width 'big': pixels from 16 to 16384 are expected")
  usage({ "--speed", "0", "x.lua" }, "--speed '0': a positive number is expected")
  usage({ "--fps", "inf", "x.lua" }, "--fps 'inf': a positive number is expected")
  for _, times in ipairs { "0", "-1", "", "1,", "2,1", "a,b", "nan" } do
    usage({ "--strobe", times, "x.lua" }, ("--strobe '%s': a period (0.25) or ascending times (0,0.5,2), in s, are expected")
      :format(times))
  end
  usage({ "--strobe", "0" .. (",1"):rep(3), "x.lua" },
    "--strobe '0,1,1,1': a period (0.25) or ascending times (0,0.5,2), in s, are expected")
  usage({ "--strobe", "1", "x.lua" }, "--strobe requires --record FILE")
  usage({ "--view-follow", "ball", "x.lua" }, "--view-follow requires --record FILE or --view")
  usage({ "--no-wait", "x.lua" }, "--no-wait requires --view")
  usage({ "--record", "x.csv", "--width", "300", "x.lua" },
    "--width does not apply to 'x.csv' (only to .svg, .png, .gif, .mp4)")
  usage({ "--record", "x.html", "--strobe", "1", "x.lua" },
    "--strobe does not apply to 'x.html' (only to .svg, .png)")
  -- a missing body ends the run before its first step
  local missing = run_script(RECORDED, { "--record", "missing.svg", "--view-follow", "bal" })
  eq(missing.status, 1)
  eq(missing.err:match "^[^\n]*",
    "sim2d: script.lua:4: --view-follow 'bal': there is no such body; did you mean 'ball'?")
  eq(read_file(FOLDER .. "/missing.svg"), nil)
  expect(run_script(RECORDED, { "--record", "x.s2d" }), 0, "", "")
  expect(run { "replay", "x.s2d", "y.svg", "--view-follow", "7" }, 2, "", "sim2d: --view-follow '7': there is no such body; "
    .. "give its `name`, or its number from 1 to 1 in the order of creation\n")
  expect(run { "replay", "x.s2d", "y.csv", "--trails" }, 2, "",
    "sim2d: --trails does not apply to 'y.csv' (only to .svg, .png, .gif, .mp4, .html)\n")
  ok(run { "replay", "x.s2d", "y.svg", "--seed", "1" }.err:find("sim2d: --seed is not an option of replay\n", 1, true))
end)

-- ---- The prompt ---------------------------------------------------------------------------------

test("the prompt prints values and goes on after errors", function()
  expect(run({ "-i" }, [[
1 + 1, "a", nil
x = 4
for i = 1, 2 do
  print(i * x)
end
error "e"
sim.version ~= nil
1 +
]]), 0, "2\ta\tnil\n4\n8\ntrue\n", [[
sim2d: stdin:1: e
stack traceback:
	stdin:1: in main chunk
sim2d: stdin:1: unexpected symbol near <eof>
]])
end)

test("the prompt follows the script", function()
  write_file(FOLDER .. "/script.lua", "y = 6")
  expect(run({ "-i", "script.lua" }, "y"), 0, "6\n", "")
end)

test("the module's table and progress print nothing unasked", function()
  expect(run_script [[
local sim = require "sim2d"
local sum = 0
for i in sim.progress(4) do sum = sum + i end
print(sum)]], 0, "10\n", "")
end)

test("a script that makes worlds again and again is warned by the first ten", function()
  local result = run_script [[
local sim = require "sim2d"
for i = 1, 15 do
  local world = sim.world {}
  world:box { type = "static", size = { 1, 1 } }
  world:circle { radius = 0.1 + i / 100 }
  world:step()
  world:close()
end]]
  local _, first = result.err:gsub("1 overlap at the start", "")
  local _, last = result.err:gsub("further worlds do not repeat", "")
  eq({ first, last }, { 10, 1 })
  eq(result.status, 0)
end)

test("require finds modules beside the script, before those of the current folder", function()
  assert(os.execute("mkdir " .. quote(FOLDER .. "/beside")))
  write_file(FOLDER .. "/beside/friend.lua", "return 'beside'")
  write_file(FOLDER .. "/friend.lua", "return 'current'")
  write_file(FOLDER .. "/beside/main.lua", "print((require 'friend'))")
  write_file(FOLDER .. "/main.lua", "print((require 'friend'))")
  expect(run { "-e", "package.path = './?.lua'", "beside/main.lua" }, 0, "beside\n", "")
  expect(run { "-e", "package.path = './?.lua'", "main.lua" }, 0, "current\n", "")
end)

os.execute("rm -r " .. quote(FOLDER))

-- ---- Where modules are found, and signals that are ignored ----------------------------------------

test("modules are found beside a script, whatever its folder is called, and beside the file a link leads to", function()
  local text = "print((require 'beside').value, (require 'below.deep').value + (require 'parts').value)"
  for _, name in ipairs { "plain", "with;semicolon", "what?", "a;b?c;", "per%cent", "a b", "?", ";" } do
    local folder = FOLDER .. "/" .. name
    assert(os.execute("mkdir -p " .. quote(folder .. "/below") .. " " .. quote(folder .. "/parts") .. " " .. quote(FOLDER .. "/links")))
    write_file(folder .. "/main.lua", text)
    write_file(folder .. "/beside.lua", ("return { value = %q }"):format(name))
    write_file(folder .. "/below/deep.lua", "return { value = 3 }")
    write_file(folder .. "/parts/init.lua", "return { value = 4 }")
    -- a module of the current folder does not replace it
    write_file(FOLDER .. "/beside.lua", "return { value = 'of the current folder' }")
    expect(run { name .. "/main.lua" }, 0, name .. "\t7\n", "")
    os.remove(FOLDER .. "/beside.lua")
    assert(os.execute(("ln -sf %s %s"):format(quote(folder .. "/main.lua"), quote(FOLDER .. "/links/run.lua"))))
    expect(run { "links/run.lua" }, 0, name .. "\t7\n", "")
    -- a link to a link, and from within its folder
    assert(os.execute(("ln -sf links/run.lua %s"):format(quote(FOLDER .. "/again.lua"))))
    expect(run { "again.lua" }, 0, name .. "\t7\n", "")
  end
  -- the folder of the link comes first
  write_file(FOLDER .. "/links/beside.lua", "return { value = 'nearer' }")
  expect(run { "links/run.lua" }, 0, "nearer\t7\n", "")
  os.remove(FOLDER .. "/links/beside.lua")
  -- an error in such a module is reported with its file, and so is a missing module
  write_file(FOLDER .. "/a;b?c;/beside.lua", "return = 1")
  ok(run({ "a;b?c;/main.lua" }).err:find("error loading module 'beside' from file 'a;b?c;/beside.lua'", 1, true))
  os.remove(FOLDER .. "/a;b?c;/beside.lua")
  ok(run({ "a;b?c;/main.lua" }).err:find("no file 'a;b?c;/beside.lua'", 1, true))
end)

test("signals that were ignored at the start stay ignored", function()
  local text = [[
local before = io.open("/proc/self/status"):read "a"
local ignored = tonumber(before:match "SigIgn:%s*(%x+)", 16)
local caught = tonumber(before:match "SigCgt:%s*(%x+)", 16)
for _, n in ipairs { 1, 2, 15 } do io.write((ignored >> (n - 1)) & 1, (caught >> (n - 1)) & 1, " ") end
print()]]
  if not io.open "/proc/self/status" then skip "no /proc" end
  write_file(FOLDER .. "/script.lua", text)
  local function under(words)
    local pipe = io.popen(("cd %s && %s %s script.lua"):format(quote(FOLDER), words, quote(SIM2D)))
    local out = pipe:read "a"
    pipe:close()
    return out
  end
  eq(under "", "01 01 01 \n")
  eq(under "trap '' INT;", "01 10 01 \n")
  eq(under "trap '' HUP;", "10 01 01 \n")
  eq(under "trap '' INT TERM HUP;", "10 10 10 \n")
end)
