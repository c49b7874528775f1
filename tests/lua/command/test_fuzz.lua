-- Problems with arbitrary values: a solution with a status, or an error that names its cause; never a crash. S2_FUZZ=N
-- tries N tables of each kind.
local sim = require "sim2d"
local CASES = tonumber(os.getenv "S2_FUZZ") or 2000

local random = sim.random

local function pick(list) return list[random:integer(#list)] end

local NUMBERS = { 0, 1, -1, 0.5, 2, 1e150, -1e150, 1e-150, 0 / 0, 1 / 0, -1 / 0, 1e308, 3 }
local JUNK = {
  function() return "1" end,
  function() return true end,
  function() return false end,
  function() return print end,
  function() return {} end,
  function() return { {} } end,
  function() return { 1, nil, 3 } end,
  function() return { { 1, 2 }, { 3 } } end,
  function() return { { { 1 } } } end,
  function() return { x = 1 } end,
  function() return { [1e9] = 1 } end,
  function() return { rows = 2147483647, columns = 2147483647, i = {}, j = {}, v = {} } end,
  function() return { rows = 2, columns = 2, i = { 1, 5 }, j = { 1, 1 }, v = { 1, 1 } } end,
  function() return { rows = -1, columns = 1e300, i = { 0 }, j = { 0 / 0 }, v = { 1 } } end,
  function() return { rows = 2, columns = 2, i = { 1 }, j = { 1, 2 }, v = { 1, 1 } } end,
  function() return 2147483648 end,
  function() return math.mininteger end,
  function() return -1e300 end,
  function() return sim.world {} end,
  function() return coroutine.create(print) end,
  function() return setmetatable({}, { __index = function() error "within" end }) end,
  function() return setmetatable({}, { __len = function() return 1e9 end }) end,
  function() return setmetatable({ 1 }, { __index = function() return 1 end }) end,
}

local function matrix(rows, columns)
  local m = {}
  for i = 1, rows do
    m[i] = {}
    for j = 1, columns do
      m[i][j] = random:uniform() < 0.7 and (i == j and 2 or 0) or pick(NUMBERS)
    end
  end
  return m
end

local function vector(n)
  local v = {}
  for i = 1, n do v[i] = random:uniform() < 0.7 and 1 or pick(NUMBERS) end
  return v
end

local function positive(n)
  local v = {}
  for i = 1, n do v[i] = random:uniform() end
  return v
end

local MAKE = {
  contact = function(n)
    if random:uniform() < 0.5 then
      return { W = matrix(2 * n, 2 * n), q = vector(2 * n), mu = positive(n) }
    end
    return { M = positive(3), H = matrix(3, 2 * n), q = vector(3), bias = vector(2 * n), mu = 0.5 }
  end,
  kkt = function(n)
    return { W = positive(n), J = matrix(1, n), C = { 0 }, c = vector(n), b = vector(1) }
  end,
  mlcp = function(n)
    return { A = matrix(1, 1), C = matrix(1, n), D = matrix(n, 1), B = matrix(n, n), a = vector(1),
      b = vector(n) }
  end,
  qp = function(n)
    return { P = matrix(n, n), q = vector(n), A = matrix(1, n), b = vector(1), G = matrix(2, n),
      h = vector(2) }
  end,
  lp = function(n)
    return { c = vector(n), A_ub = matrix(2, n), b_ub = vector(2), A_eq = matrix(1, n),
      b_eq = vector(1) }
  end,
  lcp = function(n) return { M = matrix(n, n), q = vector(n) } end,
}

local KEYS = { "W", "M", "H", "q", "bias", "mu", "r0", "solver", "J", "C", "c", "b", "A", "D", "B",
  "a", "lo", "hi", "P", "G", "h", "A_ub", "b_ub", "A_eq", "b_eq", "bounds", "tolerance", "kappa",
  "max_iterations", "history", "omega" }

-- A table whose keys have other values when they are read again.
local function fickle(def)
  local asked = {}
  return setmetatable({}, { __index = function(_, key)
    asked[key] = (asked[key] or 0) + 1
    if asked[key] == random:integer(1, 4) then return nil end
    return def[key]
  end })
end

local function spoil(def)
  local names = {}
  for name in pairs(def) do
    if type(name) == "string" then names[#names + 1] = name end
  end
  if #names == 0 then return def end
  table.sort(names)
  local name, kind = pick(names), random:integer(1, 6)
  if kind == 1 then
    def[name] = pick(JUNK)()
  elseif kind == 2 then
    def[name] = nil
  elseif kind == 3 then
    def[pick(KEYS)] = pick(JUNK)()
  elseif kind == 4 and type(def[name]) == "table" and #def[name] > 0 then
    def[name][random:integer(#def[name])] = pick(JUNK)()
  elseif kind == 5 then
    def[pick(JUNK)()] = 1
  else
    def[name] = setmetatable({}, { __index = def[name] })
  end
  return def
end

local STATUS = { solved = true, infeasible = true, ray = true, max_iterations = true, singular = true,
  unsupported = true }

-- Does a message name one of the keys, or the type expected instead of the table?
local function telling(message)
  for _, known in ipairs { "within", "table expected", "unknown key", "has no field" } do
    if message:find(known, 1, true) then return true end
  end
  for _, key in ipairs(KEYS) do
    if message:find("%f[%w_]" .. key .. "%f[^%w_]") then return true end
  end
  return false
end

local function try(name, call)
  local result = table.pack(pcall(call))
  if not result[1] then
    ok(type(result[2]) == "string" and telling(result[2]), name .. ": " .. tostring(result[2]))
    return 0
  end
  local info = result[result.n]
  ok(STATUS[info.status], name .. ": " .. tostring(info.status))
  if info.status == "solved" then
    local message = name .. ": solved with a residual that is not a number"
    ok(info.residual == info.residual, message)
  end
  return 1
end

for name, make in pairs(MAKE) do
  test(name, function()
    local answers = 0
    random:seed(1)
    for _ = 1, CASES do
      local def = make(random:integer(0, 3))
      for _ = 1, random:integer(0, 2) do
        def = spoil(def)
      end
      if random:uniform() < 0.2 then def = fickle(def) end
      answers = answers + try(name, function()
        if name == "lcp" then
          local options = {}
          for _, key in ipairs { "solver", "tolerance", "kappa", "omega", "max_iterations" } do
            options[key] = def[key]
          end
          return sim.lcp.solve(def.M, def.q, options)
        end
        return sim[name].solve(def)
      end)
    end
    ok(answers > CASES / 10 and answers < CASES, answers .. " answers")
  end)
end

test("no table at all", function()
  for name in pairs(MAKE) do
    for _, junk in ipairs(JUNK) do try(name, function() return sim[name].solve(junk()) end) end
    raises("expected", sim[name].solve)
  end
end)
