-- A pendulum and a double pendulum, released from the horizontal. The joint errors are rounding errors. The steps are
-- of second order: halving the step length reduces the energy oscillation and the timing error to a quarter.
local sim = require "sim2d"

local LENGTH, MASS, G = 1, 1, 9.81

local function build(p)
  p = p or {}
  local world = sim.world { dt = p.dt or 1 / 240 }
  local function rod(name, x, y, above) -- a thin rod with inertia m l^2 / 12
    local body = world:box { name = name, position = { x + LENGTH / 2, y }, size = { LENGTH, 0.06 },
      mass = MASS, inertia = MASS * LENGTH ^ 2 / 12 }
    world:hinge { body, above, anchor = { x, y }, name = name }
    return body
  end
  rod("single", -2, 0)
  rod("lower", 1.5, 0, rod("upper", 0.5, 0))
  return world
end

-- The time from the horizontal to the vertical is a quarter of 2 pi sqrt(2 l / 3 g), divided by the
-- arithmetic-geometric mean of 1 and cos(45 degrees).
local function fall()
  local a, b = 1, math.cos(math.pi / 4)
  for _ = 1, 6 do
    a, b = (a + b) / 2, math.sqrt(a * b)
  end
  return math.pi / 2 * math.sqrt(2 * LENGTH / (3 * G)) / a
end

local function energy(...)
  local sum = 0
  for _, body in ipairs { ... } do
    sum = sum + body:kinetic_energy() + MASS * G * body.y
  end
  return sum
end

if sim.is_main() then
  local last = {}
  for _, n in ipairs { 120, 240, 480, 960 } do
    local world = build { dt = 1 / n }
    local bodies, error, reached = world.bodies, 0, nil
    local was, unit, single, double = 0, MASS * G * LENGTH, 0, 0
    for t in world:steps(1.5) do
      error = math.max(error, world:residuals().joint_error)
      single = math.max(single, math.abs(energy(bodies.single)) / unit)
      double = math.max(double, math.abs(energy(bodies.upper, bodies.lower)) / unit)
      local angle = bodies.single.angle
      if not reached and angle <= -math.pi / 2 then
        reached = t - world.dt * (angle + math.pi / 2) / (angle - was)
      end
      was = angle
    end
    print(("dt 1/%-3d energy sways by up to %.1e and (double) %.1e m g l; joint error %.1e m"):format(
      n, single, double, error))
    print(("         the first is at the bottom after %.6f s, exactly %.6f"):format(reached, fall()))
    assert(math.abs(reached / fall() - 1) < 2 / n ^ 2 and error < 1e-9)
    for i, sway in ipairs { single, double } do
      assert(not last[i] or math.abs(sway / last[i] - 0.25) < 0.01, "the sway should fall to a quarter")
      last[i] = sway
    end
  end
end

return build
