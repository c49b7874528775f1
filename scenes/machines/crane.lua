-- A crane moves its load without residual swing, because its trolley accelerates for one swing period and brakes for
-- another. Then the crane hoists the load.
local sim = require "sim2d"

local WAY, SPEED, ROPE, LIFT = 6, 1, 4.5, 2 -- units: m, m/s, m, m
local TROLLEY, LOAD = 200, 1000             -- kg

local function build()
  local world = sim.world { dt = 1 / 480 }
  world:box { name = "bridge", type = "static", position = { 3, 10.5 }, size = { 9, 0.3 }, mask = 0 }
  local trolley = world:box { name = "trolley", position = { 0, 10 }, size = { 1, 0.4 }, mass = TROLLEY }
  -- The rope holds the load at its centre of mass, so the load is a simple pendulum.
  local load = world:circle { name = "load", position = { 0, 10 - ROPE }, radius = 0.5, mass = LOAD }
  world:slider { trolley, anchor = { 0, 10 }, axis = { 1, 0 }, limits = { -0.5, WAY + 0.5 },
    motor = { speed = 0 }, name = "rail" }
  world:rope { trolley, load, name = "rope" }
  return world
end

if sim.is_main() then
  local period = 2 * math.pi * math.sqrt(ROPE / 9.81)
  -- The trolley speed rises and falls linearly. `ramp` is the duration of each ramp in s.
  local function drive(ramp)
    local w = build()
    local travel = w:before_step(function(_, t)
      local middle = t + w.dt / 2 -- middle of the step; the distance is the sum of the speeds
      w.joints.rail.motor_speed = SPEED * math.max(0, math.min(1, middle / ramp, (WAY / SPEED + ramp - middle) / ramp))
    end)
    w:run { duration = WAY / SPEED + ramp }
    travel:remove()
    w.joints.rail.motor_speed = 0
    local swing, x = 0, w.bodies.trolley.x
    for _ in w:steps(period) do swing = math.max(swing, math.abs(w.bodies.load.x - x)) end
    return w, swing
  end
  local moved, swing = drive(period)
  local _, half = drive(period / 2)
  -- A ramp of half a period leaves a swing of 2 a / w^2. The swings of both ramps add up with the phase difference
  -- between them.
  local expected = 4 * SPEED / (period / 2) * ROPE / 9.81 * math.abs(math.sin(math.pi * WAY / SPEED / period))
  print(("swing after %.0f m: %.4f m; with ramps of half a period %.3f m, by formula %.3f m"):format(WAY, swing, half,
    expected))

  -- Hoisting: the work of the winch motor equals the energy that the load gains.
  local rail, rope, load = moved.joints.rail, moved.joints.rope, moved.bodies.load
  local before, height = moved:energy().total, load.y
  local winch = moved:before_step(function(w) rope.max_length = rope.max_length - 0.5 * w.dt end)
  moved:run { duration = LIFT / 0.5 }
  winch:remove()
  moved:run { duration = 1 }
  local gained = moved:energy().total - before
  print(("lifted by %.6f m; the energy grew by %.2f kJ of m g h = %.2f kJ"):format(load.y - height, gained / 1e3,
    LOAD * 9.81 * LIFT / 1e3))
  print(("trolley at %.4f m, rope off by %.1e m"):format(rail.translation, rope.error))
  assert(swing < 1e-3 and math.abs(half / expected - 1) < 0.02)
  assert(math.abs(load.y - height - LIFT) < 1e-3 and math.abs(gained / (LOAD * 9.81 * LIFT) - 1) < 1e-3)
  assert(math.abs(rail.translation - WAY) < 1e-4 and rope.error < 1e-9)
end

return build
