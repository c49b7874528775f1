-- Gripper: a two-link arm with a two-fingered hand has to pick up a box of unknown width from the table and put it into
-- a bin.
--
-- Observations: the angles of shoulder, elbow and wrist (rad), the closing distance of each finger (m), and the speeds
-- of these five coordinates. They also include x, y (m), angle (rad) and width (m) of the box, and x of the bin (m).
-- Action: goal angles for the three joints (rad; at 0 the arm is straight, along x) and a closing force for each
-- finger, up to 20 N, for 0.04 s. Reward: 0.25 while the box is off the table, and 1 while it is in the bin. The
-- episode ends after 300 steps. Start: the box is 0.2 to 0.35 m to the right of the arm, and the bin is 0.2 to 0.35 m
-- to the left.
local sim = require "sim2d"

local LINK, HAND, FINGER, REACH, GRIP, UP = 0.25, 0.05, 0.07, 0.045, 20, 0.35 -- units: m, m, m, m, N, m
local HALF, WALL = 0.07, 0.06 -- sizes of the bin in m

local function build(p, random)
  local world = sim.world { dt = 0.01, stepping = "speculative" } -- because a gripped box always touches the fingers
  local width = random:uniform(p.narrow, p.wide)
  world:box { name = "table", type = "static", size = { 2, 0.1 }, position = { 0, -0.05 }, friction = p.friction }
  world:compound { name = "bin", type = "static", friction = p.friction, shapes = {
    { size = { 0.01, WALL }, position = { -HALF, WALL / 2 } }, { size = { 0.01, WALL }, position = { HALF, WALL / 2 } } } }
  world:box { name = "box", size = { width, 0.05 }, mass = p.mass, position = { 0.3, 0.025 }, friction = p.friction, color = "#d64545" }
  local function link(name, x, length, mass)
    return world:box { name = name, color = "#6b7686", size = { length, 0.03 }, mass = mass, position = { x, UP }, mask = 0, gravity_scale = 0 }
  end
  local upper, fore, hand = link("upper", LINK / 2, LINK, 1), link("fore", 1.5 * LINK, LINK, 0.8), link("hand", 2 * LINK + HAND / 2, HAND, 0.3)
  local joints = { { "shoulder", upper, nil, 0, { -1, 4.2 } }, { "elbow", fore, upper, LINK, { -2.7, 2.7 } }, { "wrist", hand, fore, 2 * LINK, { -6.8, 1 } } }
  for _, j in ipairs(joints) do
    local joint = world:hinge { j[2], j[3], name = j[1], anchor = { j[4], UP } }
    world:actuator { j[1], joint = joint, kind = "position", kp = 300, kd = 25, range = j[5] }
  end
  for k, name in ipairs { "left", "right" } do
    local sign = 3 - 2 * k -- the closing direction, across the hand
    local finger = world:box { name = name, color = "#3b6fd4", size = { FINGER, 0.012 }, mass = 0.08, gravity_scale = 0, position = { 2 * LINK + HAND + FINGER / 2, UP - sign * REACH }, friction = p.friction }
    local slide = world:slider { finger, hand, name = name, axis = { 0, sign }, anchor = { 2 * LINK + HAND, UP - sign * REACH }, limits = { 0, REACH - 0.006 }, damping = 20 }
    world:actuator { name, joint = slide, kind = "force", range = { -GRIP, GRIP } }
  end
  local parts = { { "shoulder", "angle" }, { "elbow", "angle" }, { "wrist", "angle" }, { "left", "translation" }, { "right", "translation" } }
  for _, part in ipairs(parts) do world:observe { part[1], of = world.joints[part[1]], field = part[2] } end
  for _, part in ipairs(parts) do world:observe { part[1] .. " speed", of = world.joints[part[1]], field = "speed" } end
  world:observe { "box", of = world.bodies.box, field = { "x", "y", "angle" } }
  world:observe { "width", read = function() return width end }
  world:observe { "bin", of = world.bodies.bin, field = "x" }
  return world
end

local function in_bin(world)
  local box, bin = world.bodies.box, world.bodies.bin
  return math.abs(box.x - bin.x) < HALF and box.y < WALL
end

-- Returns the joint angles at which the hand points straight down, with its fingertips at (x, y) and the elbow up.
local function reach(x, y)
  local dx, dy = x, y + HAND + FINGER - UP
  local far = math.min(math.sqrt(dx * dx + dy * dy), 2 * LINK - 1e-3)
  local side = x >= 0 and 1 or -1
  local bend = math.acos(far / (2 * LINK))
  local turn = math.atan(dy, dx)
  if turn < -math.pi / 2 then turn = turn + 2 * math.pi end
  local a, b = turn + side * bend, -2 * side * bend
  return { a, b, -math.pi / 2 - a - b }
end

-- The hand moves above the box, descends, closes, rises, moves above the bin, descends, opens and rises. The fingertips
-- move straight up and down. In the other stages the joints move directly to their goals.
local function baseline()
  local HOVER, RATE, SINK, SETTLE, NEAR = 0.2, 2.5, 0.6, 0.2, 0.02 -- units: m, rad/s, m/s, s, rad
  local stage, since, goal, height = 1, 0, nil, HOVER
  return function(_, t, seen)
    local box, bin = seen[11], seen[15]
    local stages = { { box, HOVER, -2 }, { box, 0.005, -2 }, { box, 0.005, 10 }, { box, HOVER, 10 }, { bin, HOVER, 10 },
      { bin, 0.03, 10 }, { bin, 0.03, -2 }, { bin, HOVER, -2 } }
    local now = stages[stage]
    local down = math.max(-SINK * 0.04, math.min(SINK * 0.04, now[2] - height))
    height = height + down
    local to = reach(now[1], height)
    goal = goal or { seen[1], seen[2], seen[3] }
    -- the joint with the longest way limits how far the other joints move
    local most, left, command = 0, math.abs(now[2] - height), {}
    for k = 1, 3 do most = math.max(most, math.abs(to[k] - goal[k])) end
    local part = most > 0 and math.min(1, RATE * 0.04 / most) or 0
    for k = 1, 3 do
      command[k] = goal[k] + part * (to[k] - goal[k])
      left = math.max(left, math.abs(to[k] - seen[k]))
    end
    goal = command
    if left > NEAR then since = t end
    if t - since > SETTLE and stage < #stages then stage, since = stage + 1, t end
    return { goal[1], goal[2], goal[3], now[3], now[3] }
  end
end

local env = sim.env { name = "gripper", world = build, period = 0.04, max_steps = 300,
  about_baseline = "the same sequence as block stacking, with an arm and a bin",
  view = { { -0.55, -0.06 }, { 0.55, 0.78 } },
  keys = { left = { 1.2 }, right = { -1.2 }, up = { 0, 1.2 }, down = { 0, -1.2 }, a = { 0, 0, 1.2 }, d = { 0, 0, -1.2 },
    space = { 0, 0, 0, 12, 12 }, none = { 0, 0, 0, -2, -2 } },
  parameters = { mass = { 0.1, 0.05, 0.2 }, friction = { 0.7, 0.5, 1 }, narrow = 0.025, wide = 0.06 },
  reset = function(world, random)
    world.bodies.box.x, world.bodies.bin.x = random:uniform(0.2, 0.35), -random:uniform(0.2, 0.35)
    local start = reach(0.15, 0.25)
    world.joints.shoulder.angle, world.joints.elbow.angle, world.joints.wrist.angle = start[1], start[2], start[3]
  end,
  reward = function(world) return in_bin(world) and 1 or world.bodies.box.y > 0.06 and 0.25 or 0 end,
  baseline = baseline, passed = 150 }

if sim.is_main() then env:show() end
return env
