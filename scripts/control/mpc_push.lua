-- A planner that looks one second ahead and replans 25 times per second balances a cart-pole. The pole is pushed in the
-- middle of the run, and the force on the cart is limited. The run uses snapshots, so it can be repeated to the last
-- bit.
local sim = require "sim2d"

local exp = sim.experiment("Receding horizon against a push")

local world = sim.world { dt = 0.02 }
local cart = world:box { size = { 0.4, 0.2 }, mass = 1, mask = 0 }
local pole = world:box { size = { 0.05, 0.6 }, mass = 0.3, position = { 0, 0.3 }, mask = 0 }
local rail = world:slider { cart, axis = { 1, 0 }, anchor = { 0, 0 } }
local hinge = world:hinge { pole, cart, anchor = { 0, 0 } }
world:actuator { "push", joint = rail, kind = "force", range = { -12, 12 } }
local law = sim.control.planner(world, { horizon = 1, period = 0.04, iterations = 4, coordinates = { rail, hinge }, cost = {
  { "cart", of = rail, field = { "translation", "speed" }, weight = 1 },
  { "pole", of = hinge, field = { "angle", "speed" }, weight = 1 }, controls = 1e-2,
  terminal = { cart = 20, pole = 20 } } })
local handle = world:control(law, { period = 0.04 })

local function run(impulse)
  local most, force = 0, 0
  pole:apply_impulse({ impulse, 0 }, { at = { pole.x, pole.y + 0.3 } })
  for _ = 1, 150 do
    world:step()
    most, force = math.max(most, math.abs(hinge.angle)), math.max(force, math.abs(handle.u[1]))
  end
  return most, force
end

hinge.angle = 0.2
run(0)
exp:below("tilt 3 s after a start at 0.2 rad", 0.02, math.abs(hinge.angle))
local image = world:snapshot()
local most, force = run(0.08)
print(("a push of 0.08 N s tilts the pole by %.2f rad; the cart pushes with up to %.1f N"):format(most, force))
exp:below("tilt 3 s after the push", 0.01, math.abs(hinge.angle))
exp:below("force, N", 12, force)
exp:below("cart, m from where it is to stand", 0.1, math.abs(rail.translation))
local angle = hinge.angle
world:restore(image)
run(0.08)
exp:equal("the same once more, from a snapshot: tilt", angle, hinge.angle)
exp:equal("decisions", 225, law.decisions)
exp:finish()
