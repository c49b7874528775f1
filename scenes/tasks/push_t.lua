-- Push-T: a disc is to push a T to its place on the plane (gym-pusht's geometry, gains, reward and success; lengths are
-- its pixels). Nothing slides on: a T that is not pushed stands, and is pushed without friction.
--
-- Observed: place of the disc and of the T's origin (the middle of its bar's outer edge), angle of the T from 0 to 2 pi.
-- Action: where the disc is to go, both from 0 to 512, for 0.1 s; it is drawn there with 100 times the distance less 20 times
-- its speed. Reward: the part of the goal that the T covers over 0.95, at most 1. Ends where that is 1, and after 300 steps.
-- Start: disc from 50 to 450, T from 100 to 400, all angles.
local sim = require "sim2d"

local KP, KV, SIDE, DONE = 100, 20, 512, 0.95 -- 1/s^2, 1/s, px
local GOAL = { 256, 256, math.pi / 4 }
-- What is not pushed loses all but a thousandth of its speed in a step, and weighs a millionth of what pushes it then.
local DT, DRAG, HEAVY = 0.01, 1e5, 1e9 -- s, 1/s, kg
local CENTRE = 45 -- px, from the T's origin
local PARTS = { { -60, 0, 60, 30 }, { -15, 30, 15, 120 } } -- x, y to x, y

local function build()
  local world = sim.world { dt = DT, gravity = { 0, 0 }, contact_margin = 1 }
  for i, wall in ipairs { { 5, 506, 5, 5 }, { 5, 5, 506, 5 }, { 506, 5, 506, 506 }, { 506, 506, 5, 506 } } do
    world:capsule { name = "wall" .. i, radius = 2, position = { (wall[1] + wall[3]) / 2, (wall[2] + wall[4]) / 2 },
      length = 501, angle = wall[1] == wall[3] and math.pi / 2 or 0, type = "static", friction = 0, category = 4, mask = 2 }
  end
  local shapes = {}
  for i, part in ipairs(PARTS) do
    local w, h = part[3] - part[1], part[4] - part[2]
    shapes[i] = { size = { w, h }, position = { (part[1] + part[3]) / 2, (part[2] + part[4]) / 2 }, density = 0.5 / (w * h), friction = 0 }
  end
  world:compound { name = "tee", shapes = shapes, inertia = 3000, position = { 256, 300 }, linear_damping = DRAG,
    angular_damping = DRAG, category = 2 }
  -- the disc, on a carriage along x
  local carriage = world:box { name = "carriage", size = { 1, 1 }, mass = HEAVY, mask = 0, color = "#00000000" }
  local disc = world:circle { name = "disc", radius = 15, mass = HEAVY, friction = 0, mask = 2 }
  local x = world:slider { carriage, name = "x", axis = { 1, 0 }, anchor = { 0, 0 } }
  local y = world:slider { disc, carriage, name = "y", axis = { 0, 1 }, anchor = { 0, 0 } }
  world:actuator { "x", joint = x, kind = "position", kp = KP * 2 * HEAVY, kd = KV * 2 * HEAVY, range = { 0, SIDE } }
  world:actuator { "y", joint = y, kind = "position", kp = KP * HEAVY, kd = KV * HEAVY, range = { 0, SIDE } }
  world:observe { "disc", of = disc, field = { "x", "y" } }
  world:observe { "tee", read = function(w)
    local tee = w.bodies.tee
    local c, s = math.cos(tee.angle), math.sin(tee.angle)
    return { tee.x + s * CENTRE, tee.y - c * CENTRE, tee.angle % (2 * math.pi) }
  end }
  return world
end

-- ---- What the T covers of the goal ------------------------------------------------------------

local function corners(part, x, y, angle)
  local c, s, list = math.cos(angle), math.sin(angle), {}
  for i, k in ipairs { { 1, 2 }, { 3, 2 }, { 3, 4 }, { 1, 4 } } do
    local px, py = part[k[1]], part[k[2]]
    list[i] = { x + c * px - s * py, y + s * px + c * py }
  end
  return list
end

-- The area that two convex polygons, counter-clockwise, share.
local function shared(a, b)
  for i = 1, #b do
    local p, q = b[i], b[i % #b + 1]
    local function left(v) return (q[1] - p[1]) * (v[2] - p[2]) - (q[2] - p[2]) * (v[1] - p[1]) end
    local cut = {}
    for k = 1, #a do
      local u, v = a[k], a[k % #a + 1]
      local du, dv = left(u), left(v)
      if du >= 0 then cut[#cut + 1] = u end
      if du * dv < 0 then
        local t = du / (du - dv)
        cut[#cut + 1] = { u[1] + t * (v[1] - u[1]), u[2] + t * (v[2] - u[2]) }
      end
    end
    a = cut
  end
  local area = 0
  for k = 1, #a do
    local u, v = a[k], a[k % #a + 1]
    area = area + (u[1] * v[2] - u[2] * v[1]) / 2
  end
  return area
end

local AREA = 120 * 30 + 30 * 90

local function coverage(x, y, angle)
  local area = 0
  for _, part in ipairs(PARTS) do
    local here = corners(part, x, y, angle)
    for _, other in ipairs(PARTS) do area = area + shared(here, corners(other, GOAL[1], GOAL[2], GOAL[3])) end
  end
  return area / AREA
end

local function covered(world)
  local seen = world:observation()
  return coverage(seen[3], seen[4], seen[5])
end

local env = sim.env { name = "push_t", world = build, period = 0.1, max_steps = 300, low = 0, high = { SIDE, SIDE, SIDE, SIDE, 2 * math.pi },
  reset = function(world, random)
    local disc, tee = world.bodies.disc, world.bodies.tee
    disc.x, disc.y = random:integer(50, 449), random:integer(50, 449)
    world.bodies.carriage.x = disc.x
    -- as there, the T is placed and then turned about its centre
    tee.x, tee.y = random:integer(100, 399), random:integer(100, 399) + CENTRE
    tee.angle = random:uniform(-math.pi, math.pi)
    world:act { disc.x, disc.y }
  end,
  reward = function(world) return math.min(1, covered(world) / DONE) end,
  terminated = function(world) return covered(world) > DONE end }

if sim.is_main() then env:show() end
return env
