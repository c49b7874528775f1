-- Push-T: a disc has to push a T-shaped body to its goal pose on the plane. Geometry, gains, reward and success
-- criterion are those of gym-pusht, with lengths in its pixels. The T moves only while it is pushed. The contact
-- between disc and T is frictionless.
--
-- Observations: the position of the disc, the position of the T's origin (the middle of the outer edge of its bar), and
-- the angle of the T from 0 to 2 pi. Action: the goal of the disc for 0.1 s, with both coordinates from 0 to 512. The
-- acceleration of the disc is 100 times its distance from the goal minus 20 times its speed. Reward: the fraction of
-- the goal that the T covers, divided by 0.95, but at most 1. The episode ends when the reward is 1, or after 300
-- steps. Start: both coordinates of the disc are from 50 to 450, both coordinates of the T are from 100 to 400, and its
-- angle is random.
local sim = require "sim2d"

local KP, KV, SIDE, DONE = 100, 20, 512, 0.95 -- 1/s^2, 1/s, px
local GOAL = { 256, 256, math.pi / 4 }
-- With this drag, the T keeps a thousandth of its speed in a step without a push. Its resistance to the disc
-- corresponds to a millionth of the disc's mass.
local DT, DRAG, HEAVY = 0.01, 1e5, 1e9 -- s, 1/s, kg
local CENTRE = 45 -- distance of the T's centre from its origin, px
local PARTS = { { -60, 0, 60, 30 }, { -15, 30, 15, 120 } } -- rectangles from (x, y) to (x, y), px
local OUTLINE = { { -60, 0 }, { 60, 0 }, { 60, 30 }, { 15, 30 }, { 15, 120 }, { -15, 120 }, { -15, 30 }, { -60, 30 } } -- px

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
  world:compound { name = "tee", color = "#6b7686", shapes = shapes, inertia = 3000, position = { 256, 300 }, linear_damping = DRAG,
    angular_damping = DRAG, category = 2 }
  -- its goal
  local goal, c, s = {}, math.cos(GOAL[3]), math.sin(GOAL[3])
  for i = 0, #OUTLINE do
    local p = OUTLINE[i % #OUTLINE + 1]
    goal[i + 1] = { GOAL[1] + c * p[1] - s * p[2], GOAL[2] + s * p[1] + c * p[2] }
  end
  world:annotate { name = "goal", line = goal, color = "#3f9142" }
  -- the disc, on a carriage along x
  local carriage = world:box { name = "carriage", size = { 1, 1 }, mass = HEAVY, mask = 0, color = "#ffffff00" }
  local disc = world:circle { name = "disc", color = "#3b6fd4", radius = 15, mass = HEAVY, friction = 0, mask = 2 }
  local x = world:slider { carriage, name = "x", axis = { 1, 0 }, anchor = { 0, 0 } }
  local y = world:slider { disc, carriage, name = "y", axis = { 0, 1 }, anchor = { 0, 0 } }
  world:actuator { "x", joint = x, kind = "position", implicit = false, kp = KP * 2 * HEAVY, kd = KV * 2 * HEAVY, range = { 0, SIDE } }
  world:actuator { "y", joint = y, kind = "position", implicit = false, kp = KP * HEAVY, kd = KV * HEAVY, range = { 0, SIDE } }
  world:observe { "disc", of = disc, field = { "x", "y" } }
  world:observe { "tee", read = function(w)
    local tee = w.bodies.tee
    local c, s = math.cos(tee.angle), math.sin(tee.angle)
    return { tee.x + s * CENTRE, tee.y - c * CENTRE, tee.angle % (2 * math.pi) }
  end }
  return world
end

-- ---- The covered part of the goal -------------------------------------------------------------

local function corners(part, x, y, angle)
  local c, s, list = math.cos(angle), math.sin(angle), {}
  for i, k in ipairs { { 1, 2 }, { 3, 2 }, { 3, 4 }, { 1, 4 } } do
    local px, py = part[k[1]], part[k[2]]
    list[i] = { x + c * px - s * py, y + s * px + c * py }
  end
  return list
end

-- Returns the area common to two convex counter-clockwise polygons.
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

-- ---- A planner: straight pushes, tried in a clone ---------------------------------------------

-- In px: the radius of the disc, its clearance from the T, and the radius of a circle around the T's centre that clears
-- the T.
local R, CLEAR, AROUND = 15, 1.5, 104
local SPEED, REACH, TRIED = 15, 9, 100 -- px per decision, decisions per push, length of a trial push in px
local TURN = 60 -- weight of one radian in px
local SPACING, SIDES = 9, { -0.5, 0, 0.5 } -- px between places on the outline; push directions in rad from the normal

-- Starting places along the outline with clearance, in the T's own coordinates, with the inward push directions.
local PLACES = {}
do
  for i, p in ipairs(OUTLINE) do
    local q = OUTLINE[i % #OUTLINE + 1]
    local dx, dy = q[1] - p[1], q[2] - p[2]
    local length = math.sqrt(dx * dx + dy * dy)
    local nx, ny = dy / length, -dx / length -- outwards
    local n = math.floor(length / SPACING)
    for k = 1, n do
      local t = (k - 0.5) / n
      for _, side in ipairs(SIDES) do
        local c, s = math.cos(side), math.sin(side)
        PLACES[#PLACES + 1] = { p[1] + t * dx + nx * (R + CLEAR), p[2] + t * dy + ny * (R + CLEAR), -c * nx + s * ny, -s * nx - c * ny }
      end
    end
  end
end

-- Returns the distance of a point from the T.
local function distance(px, py, tee)
  local c, s = math.cos(tee[3]), math.sin(tee[3])
  local x, y = c * (px - tee[1]) + s * (py - tee[2]), -s * (px - tee[1]) + c * (py - tee[2])
  local least = math.huge
  for _, b in ipairs(PARTS) do
    local ox, oy = math.max(b[1] - x, x - b[3], 0), math.max(b[2] - y, y - b[4], 0)
    least = math.min(least, math.sqrt(ox * ox + oy * oy))
  end
  return least
end

-- Returns the distance of the T from its goal in px. It combines the distance of its centre with its angle error.
local function error_of(x, y, angle)
  local function middle(px, py, a) return px - math.sin(a) * CENTRE, py + math.cos(a) * CENTRE end
  local mx, my = middle(x, y, angle)
  local gx, gy = middle(GOAL[1], GOAL[2], GOAL[3])
  local turn = (angle - GOAL[3] + math.pi) % (2 * math.pi) - math.pi
  return math.sqrt((mx - gx) ^ 2 + (my - gy) ^ 2 + (TURN * turn) ^ 2)
end

local function place(world, tee, px, py)
  local body, disc = world.bodies.tee, world.bodies.disc
  body.x, body.y, body.angle = tee[1] - math.sin(tee[3]) * CENTRE, tee[2] + math.cos(tee[3]) * CENTRE, tee[3]
  body.velocity, body.omega = { 0, 0 }, 0
  disc.x, disc.y, world.bodies.carriage.x = px, py, px
  disc.velocity, world.bodies.carriage.velocity = { 0, 0 }, { 0, 0 }
end

local function inside(x, y) return x > 24 and x < 488 and y > 24 and y < 488 end

-- Returns the best straight push of a T: the start and end of the push, and the distance of the T from the goal after
-- the push.
local function best_push(model, tee)
  local best = { error = math.huge }
  local c, s = math.cos(tee[3]), math.sin(tee[3])
  for _, p in ipairs(PLACES) do
    local px, py = tee[1] + c * p[1] - s * p[2], tee[2] + s * p[1] + c * p[2]
    local dx, dy = c * p[3] - s * p[4], s * p[3] + c * p[4]
    if inside(px, py) and distance(px, py, tee) > R + 0.5 then
      place(model, tee, px, py)
      for k = 1, TRIED // SPEED + 2 do
        local way = math.min(k * SPEED, TRIED)
        model:act { px + way * dx, py + way * dy }
        for _ = 1, 5 do
          model:step(2)
          local disc, body = model.bodies.disc, model.bodies.tee
          local angle = body.angle
          local e = error_of(body.x + math.sin(angle) * CENTRE, body.y - math.cos(angle) * CENTRE, angle)
          if e < best.error and inside(disc.x, disc.y) then
            best = { error = e, from = { px, py }, to = { disc.x, disc.y } }
          end
        end
      end
    end
  end
  return best
end

-- Returns waypoints around the T to the start of a push.
local function way_around(disc, tee, to)
  local mx, my = tee[1] - math.sin(tee[3]) * CENTRE, tee[2] + math.cos(tee[3]) * CENTRE
  local function clear(ax, ay, bx, by)
    for k = 0, 20 do
      local t = k / 20
      if distance(ax + t * (bx - ax), ay + t * (by - ay), tee) < R + 0.6 then return false end
    end
    return true
  end
  if clear(disc[1], disc[2], to[1], to[2]) then return { to } end
  local a, b = math.atan(disc[2] - my, disc[1] - mx), math.atan(to[2] - my, to[1] - mx)
  local turn = (b - a + math.pi) % (2 * math.pi) - math.pi
  local best
  for _, sweep in ipairs { turn, turn > 0 and turn - 2 * math.pi or turn + 2 * math.pi } do
    local list, worst, n = {}, math.huge, math.max(1, math.ceil(math.abs(sweep) / 0.7))
    for k = 0, n do
      local angle = a + sweep * k / n
      local x, y = mx + AROUND * math.cos(angle), my + AROUND * math.sin(angle)
      x, y = math.max(22, math.min(490, x)), math.max(22, math.min(490, y))
      worst = math.min(worst, distance(x, y, tee))
      list[#list + 1] = { x, y }
    end
    list[#list + 1] = to
    -- prefer the shorter path, unless a wall leaves too little room for it
    local cost = #list + (worst < R and 100 or 0)
    if not best or cost < best.cost then best = { cost = cost, list = list } end
  end
  return best.list
end

local function baseline(environment)
  local model = environment.world:clone()
  local queue, aim = {}, nil -- the next decisions: a waypoint or a push
  return function(_, _, seen)
    local tee = { seen[3], seen[4], seen[5] }
    while true do
      if not aim then
        if #queue == 0 then
          local push = best_push(model, tee)
          if not push.from then return { seen[1], seen[2] } end
          for _, p in ipairs(way_around(seen, tee, push.from)) do queue[#queue + 1] = { to = p, near = 6, left = 12 } end
          queue[#queue].near = 1
          queue[#queue + 1] = { from = push.from, to = push.to, near = 0.3, left = REACH }
        end
        aim = table.remove(queue, 1)
        aim.way = 0
      end
      local dx, dy = aim.to[1] - seen[1], aim.to[2] - seen[2]
      if dx * dx + dy * dy > aim.near ^ 2 and aim.left > 0 then break end
      aim = nil
    end
    aim.left = aim.left - 1
    if not aim.from then return aim.to end
    local dx, dy = aim.to[1] - aim.from[1], aim.to[2] - aim.from[2]
    local length = math.sqrt(dx * dx + dy * dy)
    aim.way = math.min(length, aim.way + SPEED)
    local t = length > 0 and aim.way / length or 1
    return { aim.from[1] + t * dx, aim.from[2] + t * dy }
  end
end

local env = sim.env { name = "push_t", world = build, period = 0.1, max_steps = 300, low = 0, high = { SIDE, SIDE, SIDE, SIDE, 2 * math.pi },
  about_baseline = "straight pushes, tried in a clone",
  view = { { -60, -10 }, { 572, 522 } },
  reset = function(world, random)
    local disc, tee = world.bodies.disc, world.bodies.tee
    disc.x, disc.y = random:integer(50, 449), random:integer(50, 449)
    world.bodies.carriage.x = disc.x
    -- as in gym-pusht, the T is first placed and then rotated about its centre
    tee.x, tee.y = random:integer(100, 399), random:integer(100, 399) + CENTRE
    tee.angle = random:uniform(-math.pi, math.pi)
    world:act { disc.x, disc.y }
  end,
  reward = function(world) return math.min(1, covered(world) / DONE) end,
  terminated = function(world) return covered(world) > DONE end, baseline = baseline }

-- Counts the episodes, from seed 0 to `--episodes` - 1, that end with the T at its goal.
local function judge(episodes)
  local solved, steps, slowest, start = 0, 0, 0, sim.clock()
  for seed = 0, episodes - 1 do
    local seen = env:reset { seed = seed }
    local law, over, cut, _ = baseline(env)
    repeat
      local before = sim.clock()
      local action = law(env.world, env.world.time, seen)
      slowest = math.max(slowest, sim.clock() - before)
      seen, _, over, cut = env:step(action)
    until over or cut
    solved, steps = solved + (over and 1 or 0), steps + env.steps
  end
  print(("push_t: %d of %d solved, in %.0f steps"):format(solved, episodes, steps / episodes))
  if episodes > 9 then
    print(("a decision takes %.1f ms in the mean, %.0f at most"):format((sim.clock() - start) / steps * 1e3, slowest * 1e3))
  end
  if solved < 0.64 * episodes then error "64 % are what the diffusion policy solves" end
end

if sim.is_main() then
  local options = sim.options { episodes = { 2, "how many" } }
  if not env:play() then judge(options.episodes) end
end
return env
