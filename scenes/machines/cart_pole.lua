-- A pole balanced on a cart by a force that is linear in the state.
local sim = require "sim2d"

local options = sim.options { tilt = { 0.2, "angle of the pole at the start, rad" } }

-- Gains in N per m, m/s, rad and rad/s. They place the four poles of the linear system at -3/s.
local GAINS = { x = 5.64, vx = 7.52, angle = 51.45, omega = 13.21 }

local function build(p)
  local tilt = p and p.tilt or options.tilt
  local world = sim.world {}
  world:box { name = "rail", type = "static", position = { 0, -0.2 }, size = { 5, 0.06 },
    category = 2, mask = 0 }
  local cart = world:box { name = "cart", size = { 0.5, 0.3 }, mass = 1, mask = 0 }
  local pole = world:box { name = "pole", size = { 0.06, 1 }, mass = 0.1, mask = 0,
    position = { -0.5 * math.sin(tilt), 0.5 * math.cos(tilt) }, angle = tilt }
  world:slider { cart, nil, anchor = { 0, 0 }, axis = { 1, 0 }, limits = { -2, 2 }, name = "rail" }
  world:hinge { pole, cart, anchor = { 0, 0 }, name = "pivot" }
  if not (p and p.free) then
    world:before_step(function()
      -- A positive angle means that the pole leans to the left. The cart moves in the direction of the lean.
      cart:apply_force { -GAINS.angle * pole.angle - GAINS.omega * pole.omega + GAINS.x * cart.x +
        GAINS.vx * cart.vx, 0 }
    end)
  end
  return world
end

if sim.is_main() then
  local world = build()
  local cart, pole = world.bodies.cart, world.bodies.pole
  local widest, furthest, error = 0, 0, 0
  for t in world:steps(10) do
    if math.abs(t - 5) < world.dt / 2 then
      pole:apply_impulse({ 0.02, 0 }, { at = pole:world_point { 0, 0.5 } }) -- a push at its tip
    end
    widest, furthest = math.max(widest, math.abs(pole.angle)), math.max(furthest, math.abs(cart.x))
    error = math.max(error, world:residuals().joint_error)
  end
  print(("the pole leans by %.3f rad at most, the cart goes %.3f m"):format(widest, furthest))
  print(("after 10 s it leans by %.1e rad; joint error %.1e m"):format(math.abs(pole.angle), error))
  assert(widest < 1.2 * options.tilt and math.abs(pole.angle) < 1e-4 and error < 1e-9)

  local free = build { free = true }
  free:run { duration = 2 }
  print(("left alone it falls to %.2f rad"):format(free.bodies.pole.angle))
  assert(math.abs(free.bodies.pole.angle) > 1)
end

return build
