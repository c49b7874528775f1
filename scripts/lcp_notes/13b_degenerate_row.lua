-- Sliding steps alone do not determine a row of the friction law: the odd row in the note is one of many rows that fit
-- such steps.
--
-- The second row of the problem, w = a l+ + b l- + c gamma + d v + e u + k, has to be 0 where l- > 0. For sliding to
-- the right, l- = mu g = 1, l+ = 0 and gamma = v' = v + u - 1, so w = 0 requires only
--   d = e = -c,   b + k = c:      a row for any b and c; the true row has b = c = 1, k = 0.
-- The note found -2.21, -1.57, 0.319 | -0.319, -0.319, 1.898 with b + k = 0.328. This gives w = 0.009, the epsilon of
-- its linear programme. Sticking steps, with l- = v + u and gamma = 0, require b = -d = -e and k = 0, so the row of the
-- note does not fit them. A model of the speed, v' = h(v, u), must also depend on l. Together with f and G, such a
-- model is a simulator.
local sim = require "sim2d"
local e = sim.experiment "A degenerate row, and a model of the speed"

local random = sim.random.split()
local M = { { 1, -1, 1 }, { -1, 1, 1 }, { -1, -1, 0 } }

-- The steps, thirty per run, as rows (l+, l-, gamma, v, u, 1, v').
local steps, v = {}, 0
for i = 1, 600 do
  if i % 30 == 1 then v = random:uniform(-3, 3) end
  local u = random:uniform(-3, 3)
  local z = assert(sim.lcp.solve(M, { v + u, -v - u, 1 }))
  local next = v + u + z[1] - z[2]
  steps[i] = { z[1], z[2], z[3], v, u, 1, next }
  v = next
end

local function where(condition, columns)
  local rows = {}
  for _, s in ipairs(steps) do
    if condition(s) then
      local row = {}
      for j, column in ipairs(columns) do row[j] = s[column] end
      rows[#rows + 1] = row
    end
  end
  return sim.array(rows)
end
local function slides(s) return s[2] > 0 and s[3] > 0 end
local function sticks(s) return s[2] > 0 and s[3] == 0 end
local function either(s) return s[2] > 0 end

-- Returns how many of the numbers b, c, d, e, k complementarity leaves free. (a is never determined, because l+ l- =
-- 0.)
local function free(condition)
  local X = where(condition, { 2, 3, 4, 5, 6 })
  return 5 - select(2, sim.linalg.lstsq(X, sim.zeros(#X)))
end
e:equal("free numbers of 5, sliding steps", 2, free(slides))
e:equal("free numbers of 5, sticking steps", 2, free(sticks))
e:equal("free numbers of 5, both: the scale", 1, free(either))

local printed = sim.array { -2.21, -1.57, 0.319, -0.319, -0.319, 1.898 }
local true_row = sim.array { -1, 1, 1, -1, -1, 0 }
local all = { 1, 2, 3, 4, 5, 6 }
local w = where(slides, all):mm(printed)
e:equal("the note's row, sliding: smallest w", 0.009, w:min(), 1e-12)
e:equal("   largest w", 0.009, w:max(), 1e-12)
e:equal("   speed it implies, v + u minus", 1 + 0.009 / 0.319, (1.898 - 1.57) / 0.319, 1e-12)
local stick = where(sticks, all)
w = stick:mm(printed)
e:above("the note's row, sticking: mean of l- w", 0.2, (stick:column(2) * w):mean())
e:equal("   where it would be 0: v + u", 1.898 / 1.889, (1.57 + 0.319) ^ -1 * 1.898, 1e-12)
e:equal("the true row: largest w where l- > 0", 0, sim.max(sim.abs(where(either, all):mm(true_row))), 1e-14)

-- The model of the speed is affine, first in (v, u), then in (v, u, l+, l-).
local function always() return true end
local speed = where(always, { 7 }):column(1)
local function fit(columns)
  local X = where(always, columns)
  local h = sim.linalg.lstsq(X, speed)
  return h, (X:mm(h) - speed):norm() / math.sqrt(#speed)
end
local h, rmse = fit { 4, 5, 6 }
e:above("v' = h(v, u): rmse", 0.1, rmse)
local last = { fit { 4, 5, 6, 1, 2 } }
h, rmse = last[1], last[2]
e:equal("v' = h(v, u, l): rmse", 0, rmse, 1e-13)
for j, weight in ipairs { 1, 1, 0, 1, -1 } do
  e:equal("   weight of " .. ({ "v", "u", "1", "l+", "l-" })[j], weight, h[j], 1e-12)
end

-- Runs f, G and h together for 200 steps and compares them with the engine.
local world = sim.world { stepping = "speculative", dt = 1, gravity = { 0, -1 } }
world:box { type = "static", position = { 0, -0.5 }, size = { 999, 1 }, friction = 1 }
local box = world:box { position = { 0, 0.05 }, size = { 2, 0.1 }, mass = 1, friction = 1 }
local model, worst = 0, 0
for _ = 1, 200 do
  local u = random:uniform(-3, 3)
  local z = assert(sim.lcp.solve(M, { model + u, -model - u, 1 }))
  model = h:dot { model, u, 1, z[1], z[2] }
  box:apply_force { u, 0 }
  world:step()
  worst = math.max(worst, math.abs(model - box.vx))
end
e:equal("200 steps of f, G, h: speed against the engine", 0, worst, 1e-9)

local function curve(row) -- the row for a resting block that is pushed by u
  return function(u)
    local l = math.min(u, 1)
    return row:dot { 0, l, math.max(u - 1, 0), 0, u, 1 }
  end
end
e:figure(sim.plot { title = "Second row for a block at rest", x = "push u", y = "w, 0 wherever l- > 0",
  { curve(true_row), 0, 3, label = "true" }, { curve(printed), 0, 3, label = "the note's" },
  { x = 1, label = "slides" } })
e:finish()
