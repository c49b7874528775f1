-- Peg insertion: a compliant carriage has to insert a peg into a hole that is 1 mm wider than the peg and whose
-- position is not known exactly.
--
-- Observations: x and y of the tip of the peg (m), the angle of the peg (rad), its velocity (m/s) and angular velocity
-- (rad/s), the contact force on the peg (N), and the assumed position of the hole (m). The assumed position differs
-- from the true position by up to 4 mm. Action: the forces on the carriage, up to 40 N, and the goal angle of the wrist
-- spring (20 N m/rad), up to 0.3 rad, for 0.01 s. There is no gravity. Reward: the inserted fraction of the depth of 60
-- mm. While the tip is outside the hole, the reward is minus half of its distance from the hole in units of 0.1 m, but
-- at least -0.5. The episode ends after 600 steps. Start: the tip is 20 to 60 mm above the surface. Tip and hole are up
-- to 50 mm to the left or right of the middle, and the peg is turned by up to 0.1 rad.
local sim = require "sim2d"

local WIDE, LONG, DEEP, CLEAR, FORCE, TURN = 0.04, 0.12, 0.06, 0.001, 40, 0.3 -- m, N, rad

local function build(p, random)
  local world = sim.world { dt = 0.005 }
  local hole = random:uniform(-0.05, 0.05)
  local half = (WIDE + CLEAR) / 2
  for k = -1, 1, 2 do
    world:box { name = k < 0 and "left" or "right", type = "static", size = { 0.4, DEEP }, position = { hole + k * (0.2 + half), -DEEP / 2 }, friction = p.friction }
  end
  world:box { name = "floor", type = "static", size = { 1, 0.02 }, position = { 0, -DEEP - 0.01 }, friction = p.friction }
  local carriage = world:box { name = "carriage", color = "#6b7686", size = { 0.03, 0.03 }, mass = 0.3, mask = 0, gravity_scale = 0, position = { 0, LONG / 2 } }
  local arm = world:box { name = "arm", color = "#6b7686", size = { 0.05, 0.02 }, mass = 0.3, mask = 0, gravity_scale = 0, position = { 0, LONG / 2 } }
  local peg = world:box { name = "peg", color = "#d64545", size = { WIDE, LONG }, mass = 0.4, inertia = 1e-3, gravity_scale = 0, position = { 0, LONG / 2 }, friction = p.friction }
  local x = world:slider { carriage, name = "x", axis = { 1, 0 }, anchor = { 0, LONG / 2 }, damping = 2 }
  local y = world:slider { arm, carriage, name = "y", axis = { 0, 1 }, anchor = { 0, LONG / 2 }, damping = 2 }
  local wrist = world:hinge { peg, arm, name = "wrist", anchor = { 0, LONG / 2 } }
  world:actuator { "x", joint = x, kind = "force", range = { -FORCE, FORCE } }
  world:actuator { "y", joint = y, kind = "force", range = { -FORCE, FORCE } }
  world:actuator { "wrist", joint = wrist, kind = "position", kp = 20, kd = 0.3, range = { -TURN, TURN } }
  world:observe { "tip", read = function(w)
    local tip = w.bodies.peg:world_point { 0, -LONG / 2 }
    return { tip.x, tip.y, w.bodies.peg.angle }
  end }
  world:observe { "speeds", of = peg, field = { "vx", "vy", "omega" } }
  world:observe { "felt", read = function(w)
    local fx, fy = 0, 0
    for _, c in ipairs(w.bodies.peg:contacts()) do
      local sign = c.a == w.bodies.peg and 1 or -1
      fx = fx + sign * (c.normal.x * c.normal_impulse - c.normal.y * c.tangent_impulse) / w.dt
      fy = fy + sign * (c.normal.y * c.normal_impulse + c.normal.x * c.tangent_impulse) / w.dt
    end
    return { fx, fy }
  end }
  local thought = hole + random:uniform(-0.004, 0.004)
  world:observe { "thought", read = function() return thought end }
  return world
end

-- Returns the depth of the tip in the hole in m.
local function inside(world)
  local tip, b = world.bodies.peg:world_point { 0, -LONG / 2 }, world.bodies
  local middle = (b.left.x + b.right.x) / 2
  return math.abs(tip.x - middle) < CLEAR + 0.001 and math.max(0, -tip.y) or 0, middle, tip
end

-- The peg moves above the assumed position and down until it touches. It then moves to and fro with growing amplitude
-- and light pressure until it finds the hole, and is pushed in.
local function baseline()
  local LIGHT, PRESS, WIDER, RATE = 3, 30, 0.0008, 6 -- units: N, N, m/s, rad/s
  local touched
  return function(_, t, seen)
    local x, y, angle, vx, vy, goal = seen[1], seen[2], seen[3], seen[4], seen[5], seen[9]
    if y < -0.002 then return { -3 * vx - 0.02 * seen[7], -PRESS - 25 * vy, 0 } end
    if not touched then
      if math.abs(x - goal) < 0.002 and math.abs(angle) < 0.01 and y < 0.02 and seen[8] > 0.5 then touched = t end
      local above = math.abs(x - goal) < 0.003 and -0.02 or 0.03
      return { 300 * (goal - x) - 25 * vx, 150 * math.max(-0.03, above - y) - 25 * vy, 0 }
    end
    local s = t - touched
    local wide = math.min(0.006, 0.002 + WIDER * s)
    return { 900 * (goal + wide * math.sin(RATE * s) - x) - 25 * vx, -LIGHT - 25 * vy, 0 }
  end
end

local env = sim.env { name = "peg_insertion", world = build, period = 0.01, max_steps = 600,
  about_baseline = "moves above the hole, down until it touches, and to and fro with growing amplitude until the peg goes in",
  view = { { -0.18, -0.1 }, { 0.18, 0.17 } },
  keys = { left = { -10 }, right = { 10 }, down = { 0, -10 }, up = { 0, 10 }, a = { 0, 0, 0.3 }, d = { 0, 0, -0.3 } },
  parameters = { friction = { 0.3, 0.1, 0.5 } },
  reset = function(world, random)
    local dx, dy, angle = random:uniform(-0.05, 0.05), random:uniform(0.02, 0.06), random:uniform(-0.1, 0.1)
    world.joints.x.translation, world.joints.y.translation = dx, dy
    world.joints.wrist.angle = angle
  end,
  reward = function(world)
    local depth, middle, tip = inside(world)
    if depth > 0 then return math.min(1, depth / DEEP) end
    return -0.5 * math.min(1, math.sqrt((tip.x - middle) ^ 2 + tip.y ^ 2) / 0.1)
  end, baseline = baseline, passed = 0 }

if sim.is_main() then env:show() end
return env
