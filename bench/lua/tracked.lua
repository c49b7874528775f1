-- The cost of an operation on tracked numbers, with its part of the sweep, compared with the same on plain numbers:
-- processor time, the best of some runs.
--
--   sim2d bench/lua/tracked.lua
local sim = require "sim2d"

local OPERATIONS, RUNS = 1000000, 5

local function best(f)
  local least, value = math.huge, nil
  for _ = 1, RUNS do
    collectgarbage()
    local start = os.clock()
    value = f()
    least = math.min(least, (os.clock() - start) / OPERATIONS * 1e6)
  end
  return least, value
end

local cases = {
  { "x * 1.0000001", function(x) for _ = 1, OPERATIONS do x = x * 1.0000001 end return x end },
  { "y + x", function(x) local y = x for _ = 1, OPERATIONS do y = y + x end return y end },
  { "x ^ 2", function(x) local y for _ = 1, OPERATIONS do y = x ^ 2 end return y end },
  { "sim.sin(x)", function(x) local y for _ = 1, OPERATIONS do y = sim.sin(x) end return y end },
  { "sim.max(x, 0)", function(x) local y for _ = 1, OPERATIONS do y = sim.max(x, 0) end return y end },
  { "x < 0", function(x) for _ = 1, OPERATIONS do if x < 0 then x = 0 end end return x end },
}

local bytes = 0
local rows = { columns = { "operation", { "plain us", format = "%.3f" },
  { "tracked us", format = "%.3f" }, { "with the sweep us", format = "%.3f" },
  { "of plain", format = "%.0f" } } }
for i, case in ipairs(cases) do
  local name, f = case[1], case[2]
  local forward = math.huge
  local whole = best(function()
    sim.grad(function(x)
      local start = os.clock()
      local y = f(x)
      forward = math.min(forward, (os.clock() - start) / OPERATIONS * 1e6)
      return y
    end, 0.3)
  end)
  bytes = math.max(bytes, sim.tape_stats().peak_bytes)
  local plain = best(function() return f(0.3) end)
  rows[i] = { name, plain, forward, whole, whole / plain }
end
sim.table(rows)
print(("tape: %.0f bytes an operation"):format(bytes / OPERATIONS))
