-- Derivatives of chains whose links have masses with ratios of 1e6 to 1e10.
local sim = require "sim2d"

local WAYS = { {}, { stepping = "speculative" }, { stepping = "bisect" }, { substeps = 2 }, { alpha = 0.6, beta = 0.6 },
  { alpha = 0.6, beta = 0.6, geometric_stiffness = "on" } }

-- The difference quotient on which three step lengths agree, or nil: rounding or a kink dominates.
local function difference(f, p, i)
  local last, before
  for _, h in ipairs { 1e-2, 1e-3, 1e-4, 1e-5, 1e-6 } do
    local up, down = { table.unpack(p) }, { table.unpack(p) }
    up[i], down[i] = p[i] + h, p[i] - h
    local now = (f(up) - f(down)) / (2 * h)
    local bound = 1e-4 * math.abs(now) + 1e-7
    if before and math.abs(now - last) <= bound and math.abs(last - before) <= bound then return now end
    before, last = last, now
  end
end

test("light links between heavy ones have the derivative that differences have", function()
  local r = sim.random.split()
  r:seed(11)
  local compared, flagged = 0, 0
  -- (out of 120, as many are comparable as by projection, minus the 11 where the number of pieces of a step changes)
  for case = 1, 130 do
    local n, ratio, steps, changed = r:integer(2, 7), 10 ^ r:uniform(6, 10), r:integer(1, 8), nil
    local m, weight = {}, {}
    for i = 1, n do
      m[i] = ({ i == n and ratio or 1, ratio ^ ((i - 1) / (n - 1)), i % 2 == 0 and ratio or 1, ratio ^ r:uniform() })[case % 4 + 1]
      weight[i] = { r:uniform(-1, 1), r:uniform(-1, 1), r:uniform(-1, 1), r:uniform(-1, 1) }
    end
    changed = r:integer(1, n)
    local function loss(p)
      local settings = { gravity = { p[3], -9.81 } }
      for key, value in pairs(WAYS[case % #WAYS + 1]) do settings[key] = value end
      local world, last, sum = sim.world(settings), nil, 0
      local links = {}
      for i = 1, n do
        local link = world:box { position = { i - 0.5, 0 }, size = { 1, 0.1 }, mass = m[i] * (i == changed and p[1] or 1) }
        world:hinge { link, last, anchor = { i - 1, 0 } }
        links[i], last = link, link
      end
      links[changed].velocity = { 0, p[2] }
      world:run { steps = steps }
      for i, link in ipairs(links) do
        sum = sum + weight[i][1] * link.x + weight[i][2] * link.y + weight[i][3] * link.angle + weight[i][4] * link.omega
      end
      return sum
    end
    local p = { r:uniform(0.5, 2), r:uniform(-1, 1), r:uniform(-1, 1) }
    local _, gradient = sim.value_and_grad(loss, p)
    -- rows of an open chain are never redundant, whatever the masses are
    for _, flag in ipairs(sim.tape_stats().flags) do
      if flag == "redundant" or flag == "undetermined" then flagged = flagged + 1 end
    end
    for i = 1, #p do
      local wanted = difference(loss, p, i)
      if wanted then
        compared = compared + 1
        near(gradient[i], wanted, 1e-3 * math.abs(wanted) + 1e-6)
      end
    end
  end
  ok(compared > 250)
  eq(flagged, 0)
end)

-- Two light links in a row have rows that are compliant (geometric stiffness) by 1e-6 of a diagonal next to rigid ones.
-- A growth of 1e2 to 1e3 a step makes differences useless; motions do not depend on the unit of mass, so the sum of m
-- dl/dm is 0.
test("two light links in a row have a derivative that does not depend on the unit of mass", function()
  for _, case in ipairs { { 4, 1, 20 }, { 4, 2, 20 }, { 5, 1, 17 }, { 6, 1, 15 }, { 8, 2, 14 } } do
    local n, first, steps = table.unpack(case)
    local m = {}
    for i = 1, n do m[i] = (i == first or i == first + 1) and 1e-8 or 1 end
    local gradient = sim.grad(function(p)
      local world, last = sim.world { dt = 1 / 60 }, nil
      for i = 1, n do
        local link = world:box { position = { i - 0.5, 0 }, size = { 1, 0.1 }, mass = p[i] }
        world:hinge { a = last or "world", b = link, anchor = { i - 1, 0 } }
        last = link
      end
      world:run { steps = steps, progress = false }
      return last.y
    end, m)
    local sum, size = 0, 0
    for i = 1, n do sum, size = sum + m[i] * gradient[i], size + math.abs(m[i] * gradient[i]) end
    ok(size > 1 and math.abs(sum) <= 1e-5 * size, ("links %d of %d: %g of %g"):format(first, n, sum, size))
    for _, flag in ipairs(sim.tape_stats().flags) do
      ok(flag ~= "redundant" and flag ~= "undetermined" and flag ~= "singular", flag)
    end
  end
end)
