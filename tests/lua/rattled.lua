-- Common code of tests of flow = "rattle": worlds, sums for losses, orders, and differences.
local sim = require "sim2d"
local scenes = require "audited_scenes"

local rattled = { RATES = { 60, 120, 240 } } -- 1/s

-- ---- Against closed forms ----------------------------------------------------------------------

function rattled.world(rate, settings)
  local def = { dt = 1 / rate, flow = "rattle", stepping = "event", audit = true }
  for key, value in pairs(settings or {}) do def[key] = value end
  return sim.world(def)
end

-- Requires that every step is solved, and that its audits find nothing.
function rattled.clean(w)
  local s = w:stats()
  eq(s.unsolved, 0)
  for _, name in ipairs(scenes.findings) do eq(s[name], 0, name) end
end

-- The error at 1/120 s is at most `bar`, and errors fall with second order.
function rattled.second_order(error_of, bar, message)
  local errors = {}
  for i, rate in ipairs(rattled.RATES) do errors[i] = error_of(rate) end
  ok(errors[2] <= bar, ("%s: %.3e"):format(message, errors[2]))
  for i = 1, #errors - 1 do
    local order = math.log(errors[i] / errors[i + 1], 2)
    ok(order >= 1.8, ("%s: order %.2f from %.3e to %.3e"):format(message, order, errors[i], errors[i + 1]))
  end
end

-- y of y' = f(y) at t.
function rattled.rk4(f, y, t, n)
  local h = t / n
  local function at(k, s)
    local z = {}
    for i = 1, #y do z[i] = y[i] + s * k[i] end
    return z
  end
  for _ = 1, n do
    local a = f(y)
    local b = f(at(a, h / 2))
    local c = f(at(b, h / 2))
    local d = f(at(c, h))
    for i = 1, #y do y[i] = y[i] + h / 6 * (a[i] + 2 * b[i] + 2 * c[i] + d[i]) end
  end
  return y
end

-- ---- Derivatives -------------------------------------------------------------------------------

-- With the step p.dt and the gravity p.g.
function rattled.world_of(p, settings)
  local def = { dt = p.dt or 1 / 60, gravity = { 0, -(p.g or 9.81) }, flow = "rattle", stepping = "event" }
  for key, value in pairs(settings or {}) do def[key] = value end
  return sim.world(def)
end

function rattled.sum(...)
  local total = 0
  for i, b in ipairs { ... } do
    total = total + i * (b.x + 2 * b.y + 0.5 * b.angle + 0.3 * b.vx + 0.2 * b.vy + 0.1 * b.omega)
  end
  return total
end

-- From differences of fourth order whose steps are these parts of p[key] (at least of `least`), returns the one nearest
-- to the derivative g, and their distance: large steps have a truncation error, small ones rounding.
function rattled.nearest(f, p, key, g, parts, least)
  local best, apart, all = math.huge, math.huge, {}
  for _, part in ipairs(parts) do
    local h = part * larger(least, math.abs(p[key]))
    local function at(d)
      local q = {}
      for k, v in pairs(p) do q[k] = v end
      q[key] = p[key] + d
      return f(q)
    end
    local d = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    local size = larger(0.1, math.abs(d))
    for _, other in ipairs(all) do apart = math.min(apart, math.abs(d - other) / size) end
    all[#all + 1] = d
    best = math.min(best, math.abs(g - d) / size)
  end
  return best, apart
end

-- Does the gradient of f at p agree with differences, by `nearest(f, p, key, g)`? `said`: flags that it may have.
function rattled.agrees(nearest, what, f, p, said)
  local g = sim.grad(f, p)
  for _, flag in ipairs(sim.tape_stats().flags) do
    -- (friction at both ends of a side that sticks shares a load, on which no motion depends)
    ok(flag == "redundant" or (said or ""):find(flag), what .. " says " .. flag)
  end
  for key in pairs(p) do
    local best = nearest(f, p, key, g[key])
    ok(best <= 1e-6, ("%s, %s: off by %.1e"):format(what, key, best))
  end
  return g
end

return rattled
