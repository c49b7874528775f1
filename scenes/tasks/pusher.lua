-- Pusher: a hand (a disc on the plane, seen from above) pushes a puck to a target. Friction on the plane quickly stops
-- the puck.
--
-- Observations: the position (m) and velocity (m/s) of the hand, the position and velocity of the puck, and the
-- position of the target. Action: the force on the hand along x and y, up to 10 N, for 0.02 s. Reward: 1 while the
-- centre of the puck is within 1 cm of the target, and less farther away (0.1 at 30 cm). The episode ends after 250
-- steps. Start: hand, puck and target are at random positions within 0.6 m. Puck and hand are at least 0.25 m apart.
local sim = require "sim2d"

local HAND, PUCK, FORCE, ROOM, APART = 0.08, 0.1, 10, 0.6, 0.25 -- units: m, m, N, m, m
local NEAR, FAR = 0.01, 0.29 -- in m: the reward is 1 up to the distance NEAR, and 0.1 at NEAR + FAR

local function build(p)
  local world = sim.world { dt = 0.01, gravity = { 0, 0 } }
  local carriage = world:box { name = "carriage", color = "#ffffff00", size = { 0.02, 0.02 }, mass = 0.5, mask = 0 }
  local hand = world:circle { name = "hand", color = "#3b6fd4", radius = HAND, mass = 0.5, friction = 0.3, mask = 2 }
  local puck = world:circle { name = "puck", color = "#d64545", radius = PUCK, mass = p.mass, friction = 0.3, category = 2, mask = 1 }
  world:circle { name = "target", color = "#3f9142", radius = 0.03, type = "static", mask = 0 }
  local x = world:slider { carriage, name = "x", axis = { 1, 0 }, anchor = { 0, 0 } }
  local y = world:slider { hand, carriage, name = "y", axis = { 0, 1 }, anchor = { 0, 0 } }
  world:actuator { "x", joint = x, kind = "force", range = { -FORCE, FORCE } }
  world:actuator { "y", joint = y, kind = "force", range = { -FORCE, FORCE } }
  -- the friction of a round base with uniform pressure
  local held = p.friction * p.mass * 9.81
  world:ground_friction { puck, max_force = held, max_torque = 2 / 3 * PUCK * held }
  world:observe { "hand", of = hand, field = { "position", "velocity" } }
  world:observe { "puck", of = puck, field = { "position", "velocity" } }
  world:observe { "target", of = world.bodies.target, field = "position" }
  return world
end

-- The hand moves to the far side of the puck, as seen from the target, and then pushes. If the puck is in the way, the
-- hand moves around it.
local function baseline(env)
  local KP, KD, SIDE, THROUGH, ALIGNED = 120, 16, 0.26, 0.06, 0.95 -- units: N/m, N s/m, m, m, none (a cosine)
  -- The position error (m) at which the force of the controller just moves the puck.
  local rubs = env.parameters.friction * env.parameters.mass * 9.81 / KP
  return function(_, _, seen)
    local hx, hy, vx, vy, px, py, tx, ty = seen[1], seen[2], seen[3], seen[4], seen[5], seen[6], seen[9], seen[10]
    local ex, ey = tx - px, ty - py
    local left = math.sqrt(ex * ex + ey * ey)
    if left < NEAR / 2 then return { -KD * vx, -KD * vy } end
    ex, ey = ex / left, ey / left
    local dx, dy = px - hx, py - hy
    local gap = math.sqrt(dx * dx + dy * dy)
    local along = (dx * ex + dy * ey) / gap
    local gx, gy
    if along > ALIGNED then -- behind it
      local far = HAND + PUCK - rubs - math.min(THROUGH, 0.5 * left)
      gx, gy = px - far * ex, py - far * ey
    elseif along > 0 then -- almost on the far side: move there without touching the puck
      gx, gy = px - SIDE * ex, py - SIDE * ey
    else -- in front of the puck: move past it on the nearer side
      local side = (ex * dy - ey * dx) > 0 and -1 or 1
      gx, gy = px - SIDE * side * ey - 0.5 * SIDE * ex, py + SIDE * side * ex - 0.5 * SIDE * ey
    end
    return { KP * (gx - hx) - KD * vx, KP * (gy - hy) - KD * vy }
  end
end

local env = sim.env { name = "pusher", world = build, period = 0.02, max_steps = 250,
  about_baseline = "moves behind the puck, then pushes through it, as far as the remaining distance and friction require",
  view = { { -0.95, -0.75 }, { 0.95, 0.75 } },
  parameters = { mass = { 0.5, 0.25, 1 }, friction = { 0.3, 0.1, 0.5 } },
  reset = function(world, random)
    local b = world.bodies
    repeat
      for _, name in ipairs { "hand", "puck", "target" } do
        b[name].x, b[name].y = random:uniform(-ROOM, ROOM), random:uniform(-ROOM, ROOM)
      end
    until (b.hand.position - b.puck.position):norm() > APART
    b.carriage.x = b.hand.x
  end,
  reward = function(world)
    local b = world.bodies
    return sim.env.tolerance((b.puck.position - b.target.position):norm(), { 0, NEAR }, FAR)
  end, baseline = baseline, passed = 120 }

if sim.is_main() then env:show() end
return env
