-- Tune a control law while it runs: sim2d --view scripts/live/tune.lua.
--
-- A planner that looks half a second ahead balances a pole on a cart. Sliders set the weights of its cost. The viewer
-- draws its plan and some of the rollouts from which it chose, and plots the cost of each term as a curve. `Hand over`
-- gives the cart to a regulator whose gains are sliders. The panel shows the Bode plot, margins and poles of the
-- regulator, updated at each change. Without a viewer, planner and regulator each balance the pole for five seconds
-- against a push.
local sim = require "sim2d"

local KNOCK = 0.05 -- impulse at the tip, N s
local RANGE = 12   -- N

local world = sim.world { dt = 0.02 }
local cart = world:box { size = { 0.4, 0.2 }, mass = 1, mask = 0, name = "cart" }
local pole = world:box { size = { 0.05, 0.6 }, mass = 0.3, position = { 0, 0.3 }, mask = 0, name = "pole" }
local rail = world:slider { cart, axis = { 1, 0 }, anchor = { 0, 0 }, name = "rail" }
local hinge = world:hinge { pole, cart, anchor = { 0, 0 }, name = "hinge" }
world:actuator { "push", joint = rail, kind = "force", range = { -RANGE, RANGE } }

local cost = sim.control.cost {
  { "cart", of = rail, field = { "translation", "speed" }, weight = 2 },
  { "pole", of = hinge, field = { "angle", "speed" }, weight = 2 },
  controls = 1e-2, terminal = { cart = 20, pole = 20 } }
local planner = sim.control.planner(world, { horizon = 0.5, period = 0.04, method = "mppi", iterations = 3, samples = 60,
  knots = 5, noise = 2, coordinates = { rail, hinge }, cost = cost, show = { { pole, { 0, 0.3 } }, cart, rollouts = 12 } })
local regulator = sim.control.lqr(world, { coordinates = { rail, hinge }, Q = 1, R = 0.01 })

local function show_loop()
  local panel = sim.control.panel(regulator)
  panel.plot:show "Loop"
  return panel
end
sim.control.tune(cost, { name = "weight of" })
sim.control.tune(regulator, { name = "gain", on_change = show_loop })

local handle = world:control(planner, { period = 0.04 })
local function hand_over()
  handle:remove()
  world:clear_annotations()
  handle = world:control(regulator, { cost = cost })
end
local function knock() pole:apply_impulse({ KNOCK, 0 }, { at = pole:world_point { 0, 0.3 } }) end
sim.button { name = "Knock", on_press = knock }
sim.button { name = "Hand over", on_press = hand_over }
world:at(1, knock)
world:at(5, hand_over)
world:at(6, knock)

local loop = show_loop()
local widest, dearest = 0, 0
for _ in world:steps(10) do
  widest = math.max(widest, math.abs(hinge.angle))
  dearest = math.max(dearest, cost:parts(world).pole)
end
print(("the pole leaned by %.3f rad at most; its term cost up to %.3f a second"):format(widest, dearest))
print(("the regulator's loop: gain may grow %.1f times, phase margin %.0f degrees"):format(loop.gain_margin, loop.phase_margin))
assert(loop.stable and loop.phase_margin > 30)
assert(widest > 0.01 and widest < 0.5 and math.abs(hinge.angle) < 0.05, hinge.angle)
