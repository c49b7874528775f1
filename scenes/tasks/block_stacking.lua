-- Block stacking: a two-fingered hand on rails has to stack three blocks, with green on red and blue on green.
--
-- Observations: x and y of the hand (m), the closing distance of each finger (m), the speeds of these four coordinates
-- (m/s), and x, y (m) and angle (rad) of each block. Action: a goal for the hand and a closing force for each finger,
-- for 0.04 s. The goal is relative to (0, 0.39) m, with x from -0.4 to 0.4 m and y from -0.3 to 0.1 m. The force is at
-- most 20 N. Reward: 0.5 while green stands on red, and 1 while blue also stands on green. The episode ends after 300
-- steps. Start: the blocks stand in a row, in any order, with gaps of 4 to 8 cm.
local sim = require "sim2d"

local BLOCK, FINGER, REACH, GRIP = 0.06, 0.015, 0.05, 20 -- units: m, m, m (distance of a finger from the middle), N
local NAMES, COLOURS = { "red", "green", "blue" }, { "#d64545", "#3f9142", "#3b6fd4" }

local function build(p)
  local world = sim.world { dt = 0.01 }
  world:box { name = "ground", type = "static", size = { 2, 0.1 }, position = { 0, -0.05 }, friction = p.friction }
  for k, name in ipairs(NAMES) do
    world:box { name = name, size = { BLOCK, BLOCK }, mass = p.mass, position = { 0.15 * (k - 2), BLOCK / 2 }, friction = p.friction, color = COLOURS[k] }
  end
  local carriage = world:box { name = "carriage", color = "#6b7686", size = { 0.05, 0.05 }, mass = 1, gravity_scale = 0, position = { 0, 0.46 }, mask = 0 }
  local hand = world:box { name = "hand", color = "#6b7686", size = { 2 * REACH + 0.04, 0.02 }, mass = 0.5, gravity_scale = 0, position = { 0, 0.39 }, mask = 0 }
  local rail = world:slider { carriage, name = "x", axis = { 1, 0 }, anchor = { 0, 0.46 } }
  local lift = world:slider { hand, carriage, name = "y", axis = { 0, 1 }, anchor = { 0, 0.39 }, limits = { -0.3, 0.1 } }
  world:actuator { "x", joint = rail, kind = "position", kp = 600, kd = 60, range = { -0.4, 0.4 } }
  world:actuator { "y", joint = lift, kind = "position", kp = 600, kd = 60, range = { -0.3, 0.1 } }
  for k, side in ipairs { "left", "right" } do
    local sign = 3 - 2 * k -- the closing direction
    local finger = world:box { name = side, color = "#3b6fd4", size = { FINGER, 0.08 }, mass = 0.1, gravity_scale = 0, position = { -sign * REACH, 0.34 }, friction = p.friction }
    local slide = world:slider { finger, hand, name = side, axis = { sign, 0 }, anchor = { -sign * REACH, 0.34 }, limits = { 0, REACH - FINGER / 2 }, damping = 20 }
    world:actuator { side, joint = slide, kind = "force", range = { -GRIP, GRIP } }
  end
  world:observe { "hand", of = hand, field = { "x", "y" } }
  world:observe { "left", of = world.joints.left, field = "translation" }
  world:observe { "right", of = world.joints.right, field = "translation" }
  world:observe { "hand speed", of = hand, field = { "vx", "vy" } }
  world:observe { "left speed", of = world.joints.left, field = "speed" }
  world:observe { "right speed", of = world.joints.right, field = "speed" }
  for _, name in ipairs(NAMES) do world:observe { name, of = world.bodies[name], field = { "x", "y", "angle" } } end
  return world
end

local function stands_on(top, below)
  return math.abs(top.x - below.x) < BLOCK / 3 and math.abs(top.y - below.y - BLOCK) < BLOCK / 6
end

-- Returns the number of blocks that stand in their place, counted from the bottom up.
local function height(world)
  local b = world.bodies
  if not stands_on(b.green, b.red) then return 0 end
  return stands_on(b.blue, b.green) and 2 or 1
end

-- The hand moves above the block, descends, closes, rises, moves above the other block, descends, opens and rises. Each
-- stage lasts until the hand has reached its goal.
local function baseline()
  -- Height of the hand above the fingertips (m), hover height of the fingertips (m), position tolerance (m), speed
  -- tolerance (m/s).
  local TIP, HOVER, NEAR, SPEED = 0.09, 0.24, 0.003, 0.01
  local jobs, stage, since = { { 2, 1, BLOCK }, { 3, 2, 2 * BLOCK } }, 1, 0
  return function(_, t, seen)
    local job = jobs[1]
    local from, to = 9 + 3 * ((job and job[1] or 1) - 1), 9 + 3 * ((job and job[2] or 1) - 1)
    local lift = job and job[3] or 0
    local stages = {
      { seen[from], HOVER, -2 }, { seen[from], 0.01, -2 }, { nil, 0.01, 8 }, { nil, HOVER, 8 },
      { seen[to], HOVER, 8 }, { seen[to], lift + 0.012, 8 }, { nil, lift + 0.012, -2 }, { nil, HOVER, -2 } }
    local now = stages[stage]
    if not job then now = { nil, HOVER, -2 } end
    local x, y = now[1] or seen[1], now[2]
    local there = math.abs(seen[1] - x) < NEAR and math.abs(seen[2] - TIP - y) < NEAR and math.abs(seen[5]) + math.abs(seen[6]) < SPEED
    if there and t - since > 0.3 and job then
      stage, since = stage + 1, t
      if stage > #stages then
        stage = 1
        table.remove(jobs, 1)
      end
    end
    return { x, y + TIP - 0.39, now[3], now[3] }
  end
end

local env = sim.env { name = "block_stacking", world = build, period = 0.04, max_steps = 300,
  about_baseline = "moves above the block, down, closes, up, over the other block, down, opens",
  view = { { -0.45, -0.06 }, { 0.45, 0.58 } },
  keys = { left = { -0.3 }, right = { 0.3 }, down = { 0, -0.2 }, up = { 0, 0.2 }, space = { 0, 0, 10, 10 }, none = { 0, 0, -2, -2 } },
  parameters = { mass = { 0.1, 0.07, 0.15 }, friction = { 0.7, 0.5, 1 } },
  reset = function(world, random)
    local order = { 1, 2, 3 }
    for k = 3, 2, -1 do
      local j = random:integer(1, k)
      order[k], order[j] = order[j], order[k]
    end
    local x = -0.14
    for _, k in ipairs(order) do
      world.bodies[NAMES[k]].x = x
      x = x + BLOCK + random:uniform(0.04, 0.08)
    end
  end,
  reward = function(world) return height(world) / 2 end, baseline = baseline, passed = 150 }

if sim.is_main() then env:show() end
return env
