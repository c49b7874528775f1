-- Formulas are written like Lua expressions of numbers, differentiated exactly and compiled to Lua. Equal formulas
-- share one table, so common subexpressions are computed once. The other scripts in this folder state their problems as
-- such formulas.
local sim = require "sim2d"

local formula = {}
local known = setmetatable({}, { __mode = "v" }) -- all formulas, keyed by their parts
local count = 0

local function make(op, a, b)
  local key = op .. " " .. (type(a) == "table" and "#" .. a.id or ("%q"):format(a)) .. " " ..
    (type(b) == "table" and "#" .. b.id or ("%q"):format(b))
  local node = known[key]
  if not node then
    count = count + 1
    node = setmetatable({ op = op, a = a, b = b, id = count }, formula)
    known[key] = node
  end
  return node
end

local function lift(x) return type(x) == "number" and make("number", x + 0.0) or x end
local function value(x) return x.op == "number" and x.a or nil end

local fold = {
  ["+"] = function(a, b) return a + b end,
  ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b) return a * b end,
  ["/"] = function(a, b) return a / b end,
}
-- Simplifies operations with 0 and 1, to keep derivatives short.
local function combine(op, a, b)
  a, b = lift(a), lift(b)
  local x, y = value(a), value(b)
  if x and y then return lift(fold[op](x, y)) end
  if op == "*" and (x == 0 or y == 0) or op == "/" and x == 0 then return lift(0) end
  if (op == "+" or op == "-") and y == 0 or (op == "*" or op == "/") and y == 1 then return a end
  if op == "+" and x == 0 or op == "*" and x == 1 then return b end
  return make(op, a, b)
end

formula.__index = formula
for name, op in pairs { __add = "+", __sub = "-", __mul = "*", __div = "/" } do
  formula[name] = function(a, b) return combine(op, a, b) end
end
function formula.__unm(a) return combine("*", -1, a) end
function formula.sin(a) return make("sin", lift(a)) end
function formula.cos(a) return make("cos", lift(a)) end
formula.number = lift
-- Returns a variable: the element `index` of the list `array`, which is an argument of compiled functions.
function formula.variable(array, index) return make("variable", array, index) end

-- Returns the derivative of f with respect to a variable.
function formula.derivative(f, variable, memo)
  memo = memo or {}
  if memo[f] then return memo[f] end
  local op, a, b, d = f.op, f.a, f.b, nil
  local function of(g) return formula.derivative(g, variable, memo) end
  if op == "number" or op == "variable" then d = lift(f == variable and 1 or 0)
  elseif op == "+" or op == "-" then d = combine(op, of(a), of(b))
  elseif op == "*" then d = of(a) * b + a * of(b)
  elseif op == "/" then d = (of(a) - f * of(b)) / b
  elseif op == "sin" then d = a:cos() * of(a)
  else d = -(a:sin()) * of(a) end
  memo[f] = d
  return d
end

-- Returns a function (x, at, l, first, out, n) that writes the values of these formulas to out[n + 1], out[n + 2] and
-- so on. Variable i of "x" is x[at + i], and variable i of "l" is l[first + i].
function formula.compile(list)
  local lines, done, kept = { "local sin, cos, t = math.sin, math.cos, {}\nreturn function(x, at, l, first, out, n)" }, {}, 0
  local function text(f)
    if done[f] then return done[f] end
    local op = f.op
    if op == "number" then return ("(%.17g)"):format(f.a) end
    local right
    if op == "variable" then right = f.a == "x" and ("x[at + %d]"):format(f.b) or ("l[first + %d]"):format(f.b)
    elseif op == "sin" or op == "cos" then right = ("%s(%s)"):format(op, text(f.a))
    else right = ("%s %s %s"):format(text(f.a), op, text(f.b)) end
    kept = kept + 1
    done[f] = ("t[%d]"):format(kept)
    lines[#lines + 1] = ("%s = %s"):format(done[f], right)
    return done[f]
  end
  for i, f in ipairs(list) do
    local right = text(lift(f))
    lines[#lines + 1] = ("out[n + %d] = %s"):format(i, right)
  end
  lines[#lines + 1] = "end"
  return assert(load(table.concat(lines, "\n")))()
end

if not sim.is_main() then return formula end

local exp = sim.experiment("Formulas: derivatives against differences")
local x, y = formula.variable("x", 1), formula.variable("x", 2)
local f = (x * y:sin() - 3) / (1 + x * x:cos()) - y
local run = formula.compile { f, f:derivative(x), f:derivative(y), f:derivative(x):derivative(y) }
local function at(a, b)
  local out = {}
  run({ a, b }, 0, nil, 0, out, 0)
  return out
end
local step, here = 1e-5, at(0.7, -0.4)
print("f = (x sin y - 3) / (1 + x cos x) - y at (0.7, -0.4): " .. here[1])
exp:equal("f", (0.7 * math.sin(-0.4) - 3) / (1 + 0.7 * math.cos(0.7)) + 0.4, here[1], 1e-15)
exp:equal("df/dx", (at(0.7 + step, -0.4)[1] - at(0.7 - step, -0.4)[1]) / (2 * step), here[2], 1e-8)
exp:equal("df/dy", (at(0.7, -0.4 + step)[1] - at(0.7, -0.4 - step)[1]) / (2 * step), here[3], 1e-8)
exp:equal("d2f/dxdy", (at(0.7, -0.4 + step)[2] - at(0.7, -0.4 - step)[2]) / (2 * step), here[4], 1e-8)
exp:finish()
