-- A bead on a wire bent as a parabola, y = x^2 / 2: a constraint given as a function of the pose. The simulation is
-- compared with the equation of motion in x, solved by the Runge-Kutta method with much smaller steps.
local sim = require "sim2d"

local G, START = 10, 1

local function build(p)
  p = p or {}
  local world = sim.world { gravity = { 0, -G }, dt = p.dt or 1 / 500 }
  local bead = world:circle { name = "bead", radius = 0.05, mass = 0.2,
    position = { START, START ^ 2 / 2 } }
  world:constraint { name = "wire", bodies = { bead },
    phi = function(q) return q.y - q.x ^ 2 / 2 end,
    jacobian = p.jacobian and function(q) return { 0, -q.x, 1 } end or nil }
  return world
end

-- (1 + x^2) x'' + x x'^2 + g x = 0
local function reference(duration)
  local function f(x, v) return v, -x * (G + v * v) / (1 + x * x) end
  local x, v, n = START, 0, 20000
  local h = duration / n
  for _ = 1, n do
    local a1, b1 = f(x, v)
    local a2, b2 = f(x + h / 2 * a1, v + h / 2 * b1)
    local a3, b3 = f(x + h / 2 * a2, v + h / 2 * b2)
    local a4, b4 = f(x + h * a3, v + h * b3)
    x, v = x + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4), v + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
  end
  return x
end

if sim.is_main() then
  local exact, last = reference(2), nil
  for _, n in ipairs { 250, 500, 1000 } do
    local world = build { dt = 1 / n, jacobian = n == 1000 }
    local bead, energy, off = world.bodies.bead, world:energy().total, 0
    for _ in world:steps(2) do off = math.max(off, math.abs(bead.y - bead.x ^ 2 / 2)) end
    local lost = 1 - world:energy().total / energy
    print(("dt = 1/%-4d  x(2 s) = %.5f, reference %.5f; energy lost %.2f %%; off the wire %.0e m")
      :format(n, bead.x, exact, 100 * lost, off))
    assert(off < 1e-9)
    assert(math.abs(lost) < 20 / n)
    last = math.abs(bead.x - exact)
    assert(last < 12 / n)
  end
  assert(last < 0.012)
end

return build
