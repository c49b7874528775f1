-- An arch stands as long as some forces within its joints balance the weights, and this condition gives the tilt at
-- which it falls. Heyman's safe theorem becomes a linear programme. A joint pushes with n1, n2 >= 0 at its two corners
-- and with |t| <= mu (n1 + n2) along the joint. Over all forces that balance the weights w and the sideways loads k w,
--     max k = tan(tilt)   subject to the 3 equations of every stone
-- gives the tilt at which the arch falls, without any dynamics. The simulated arch falls at the same tilt. A thin arch
-- has another limit. Below a thickness of 0.1075 of its radius (Milankovitch 1907), no thrust line fits into a half
-- circle with radial joints, for any friction. With few stones the limit is slightly lower.
local sim = require "sim2d"

local e = sim.experiment("Safety of an arch", { stones = { 9, "number of stones" } })
local count = e.options.stones
local last = 4 * (count + 1) + 1 -- column of k, which follows n1, n2, t+ and t- of every joint

-- Returns the stones of a half circle and their joints. A joint has two corners and the direction from stone to stone.
local function arch(thickness)
  local inner, outer = 1 - thickness / 2, 1 + thickness / 2
  local stones, joints = {}, {}
  for i = 0, count do
    local a = math.pi * i / count
    local c, s = math.cos(a), math.sin(a)
    joints[i] = { inner = { inner * c, inner * s }, outer = { outer * c, outer * s }, normal = { -s, c } }
    if i > 0 then
      local from, to = joints[i - 1], joints[i]
      stones[i] = { from.inner, from.outer, to.outer, to.inner }
    end
  end
  return stones, joints
end

-- Returns the tangent of the tilt at collapse, or nil if the arch falls even without a tilt.
local function balance(thickness, mu)
  local stones, joints = arch(thickness)
  local rows, right, cones, zeros = {}, {}, {}, {}
  local function row() return sim.zeros(last):table() end
  local world = sim.world {} -- gives the weights and centres of the stones
  for i = 1, count do
    local body, x, y, turn = world:polygon { vertices = stones[i] }, row(), row(), row()
    x[last] = body.mass -- the sideways load k w
    for side = 0, 1 do -- the previous joint pushes the stone forwards, the next joint backwards
      local joint, sign = joints[i - 1 + side], 1 - 2 * side
      local n, t = joint.normal, { -joint.normal[2], joint.normal[1] }
      for k, at in ipairs { joint.inner, joint.outer, joint.inner, joint.inner } do
        local f = k <= 2 and n or t
        local fx, fy = sign * f[1] * (k == 4 and -1 or 1), sign * f[2] * (k == 4 and -1 or 1)
        local column = 4 * (i - 1 + side) + k
        x[column], y[column], turn[column] = fx, fy, (at[1] - body.x) * fy - (at[2] - body.y) * fx
      end
    end
    for _, equation in ipairs { { x, 0 }, { y, body.mass }, { turn, 0 } } do
      rows[#rows + 1], right[#right + 1] = equation[1], equation[2]
    end
  end
  for j = 0, count do -- friction: t+ + t- <= mu (n1 + n2)
    cones[j + 1], zeros[j + 1] = row(), 0
    for k, value in ipairs { -mu, -mu, 1, 1 } do cones[j + 1][4 * j + k] = value end
  end
  local cost = row()
  cost[last] = -1
  local x = sim.lp.solve { c = cost, A_eq = rows, b_eq = right, A_ub = cones, b_ub = zeros }
  return x and x[last]
end

-- Returns true if the arch stands. If it stands, no stone moves. Otherwise the stones gain speed within half a second.
local function stands(thickness, mu, tilt)
  local world = sim.world { gravity = { 9.81 * math.sin(tilt), -9.81 * math.cos(tilt) } }
  world:box { type = "static", position = { 0, -0.5 }, size = { 4, 1 }, friction = mu }
  for _, vertices in ipairs((arch(thickness))) do
    world:polygon { vertices = vertices, friction = mu }
  end
  local function moves() return world:energy().kinetic > 1e-9 end
  world:run { duration = 0.5, until_ = moves, progress = false }
  return not moves()
end
-- Returns the smallest number between lo and hi for which `holds` is true, to within 2^-10 of the interval.
local function least(lo, hi, holds)
  for _ = 1, 10 do
    local middle = (lo + hi) / 2
    if holds(middle) then hi = middle else lo = middle end
  end
  return hi
end

local thick = 0.3
local smooth = least(0.28, 0.34, function(mu) return balance(thick, mu) end)
e:equal("least friction upright", smooth, least(0.28, 0.34, function(mu) return stands(thick, mu, 0) end), 2e-4)
local thin = least(0.05, 0.15, function(t) return balance(t, 5) end)
e:equal("least thickness : radius, friction 5", thin, least(0.05, 0.15, function(t) return stands(t, 5, 0) end), 1e-4)
e:below("  less than Milankovitch's", 0.1075, thin)

local mus, tilts, worst = {}, {}, 0
for i, mu in ipairs { 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8 } do
  local said = math.atan(balance(thick, mu)) -- simulate tilts around the predicted one
  local tilt = -least(-said - 0.06, 0.04 - said, function(tilt) return stands(thick, mu, -tilt) end)
  worst = math.max(worst, math.abs(tilt - said))
  mus[i], tilts[i] = mu, math.deg(tilt)
end
e:equal("tilt at collapse, 7 frictions, largest error, degrees", 0, math.deg(worst), 0.01)
local function limit(mu) return math.deg(math.atan(balance(thick, mu) or 0)) end
local hinges = limit(50)
e:figure(sim.plot { title = "How far an arch can be tilted", x = "friction", y = "tilt at collapse, degrees",
  { limit, smooth, 1, points = 28, label = "balance of forces" },
  { mus, tilts, kind = "scatter", label = "found by falling" },
  { y = hinges, label = "hinges, whatever the friction" } })
e:finish()
