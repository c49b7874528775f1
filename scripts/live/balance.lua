-- Balance a pole by hand: run sim2d --view scripts/live/balance.lua, then use the left and right keys.
--
-- The controller of scenes/machines/cart_pole.lua helps with a strength that is set by the slider. At 1 it balances the
-- pole alone, and at 0 you balance it. You can also drag the pole. Without a viewer, the controller balances the pole
-- for ten seconds against one push, and the script prints the largest tilt of the pole.
local sim = require "sim2d"
local build = require "scenes.machines.cart_pole"

local KNOCK = 0.03 -- impulse at the tip, N s

local world = build { tilt = 0.05, free = true }
local cart, pole = world.bodies.cart, world.bodies.pole

local help = sim.slider { name = "help", min = 0, max = 1, value = 1 }
local push = sim.slider { name = "push", min = 0, max = 20, value = 8, unit = "N" }
local function knock()
  pole:apply_impulse({ KNOCK, 0 }, { at = pole:world_point { 0, 0.5 } })
end
sim.button { name = "Knock", on_press = knock }
sim.watch("angle of the pole", function() return pole.angle end, "rad")
sim.watch("place of the cart", function() return cart.x end, "m")

world:before_step(function()
  local held = 51.45 * pole.angle + 13.21 * pole.omega - 5.64 * cart.x - 7.52 * cart.vx
  local hand = (sim.key "right" and 1 or 0) - (sim.key "left" and 1 or 0)
  cart:apply_force { push.value * hand - help.value * held, 0 }
end)
world:at(5, knock)

local widest = 0
for _ in world:steps(10) do widest = math.max(widest, math.abs(pole.angle)) end
print(("the pole leaned by %.3f rad at most, and by %.1e rad at the end"):format(widest, math.abs(pole.angle)))
assert(widest < 0.3 or help.value < 1)
