-- A pendulum and a double pendulum let go from the horizontal. The hinges hold to rounding. Steps are
-- of first order: what they change of the energy halves with them.
local sim = require "sim2d"

local LENGTH, MASS, G = 1, 1, 9.81

local function build(p)
  p = p or {}
  local world = sim.world { dt = p.dt or 1 / 240 }
  local function rod(name, x, y, above) -- thin: the inertia is m l^2 / 12
    local body = world:box { name = name, position = { x + LENGTH / 2, y }, size = { LENGTH, 0.06 },
      mass = MASS, inertia = MASS * LENGTH ^ 2 / 12 }
    world:hinge { body, above, anchor = { x, y }, name = name }
    return body
  end
  rod("single", -2, 0)
  rod("lower", 1.5, 0, rod("upper", 0.5, 0))
  return world
end

-- From the horizontal to the vertical: a quarter of 2 pi sqrt(2 l / 3 g) over the
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
    local was = 0
    for t in world:steps(1.5) do
      error = math.max(error, world:residuals().joint_error)
      local angle = bodies.single.angle
      if not reached and angle <= -math.pi / 2 then
        reached = t - world.dt * (angle + math.pi / 2) / (angle - was)
      end
      was = angle
    end
    local unit = MASS * G * LENGTH
    local single = energy(bodies.single) / unit
    local double = energy(bodies.upper, bodies.lower) / unit
    print(("dt 1/%-3d energy lost in 1.5 s %.4f and (double) %.4f m g l; joint error %.1e m"):format(
      n, -single, -double, error))
    print(("         the first is at the bottom after %.5f s, exactly %.5f"):format(reached, fall()))
    assert(math.abs(reached / fall() - 1) < 2 / n and error < 1e-9)
    for i, change in ipairs { single, double } do
      assert(not last[i] or math.abs(change / last[i] - 0.5) < 0.05, "the change should halve")
      last[i] = change
    end
  end
end

return build
