-- Derivatives of chains whose links have masses with ratios of 1e6 to 1e10.
local sim = require "sim2d"

local WAYS = { {}, { stepping = "speculative" }, { stepping = "bisect" }, { substeps = 2 }, { alpha = 0.6, beta = 0.6 },
  { alpha = 0.6, beta = 0.6, geometric_stiffness = "on" } }

-- The difference quotient that three steps agree on, or nil: rounding or a kink decides.
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
  for case = 1, 120 do
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
    -- rows of an open chain never repeat each other, whatever the masses are
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
