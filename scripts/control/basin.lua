-- Maps the tilts and speeds of a pole from which a regulator with a limited force recovers a cart-pole. Each start of a
-- grid is one run, coloured by the time until the cart-pole settles. --out FILE (.svg or .png) writes the picture.
local sim = require "sim2d"

local exp = sim.experiment("The basin of a regulator")

local MOST = 8 -- N

local function run(start, _, most)
  local world = sim.world { dt = 0.01 }
  local cart = world:box { size = { 0.4, 0.2 }, mass = 1, mask = 0 }
  local pole = world:box { size = { 0.05, 0.5 }, mass = 0.2, position = { 0, 0.25 }, mask = 0 }
  local rail = world:slider { cart, axis = { 1, 0 }, anchor = { 0, 0 } }
  local hinge = world:hinge { pole, cart, anchor = { 0, 0 } }
  world:actuator { "push", joint = rail, kind = "force", range = { -most, most } }
  world:control(sim.control.lqr(world, { coordinates = { rail, hinge }, Q = 1, R = 0.01 }))
  -- the pole turns about the hinge, and the cart is at rest
  hinge.angle = start.tilt
  pole.omega = start.speed
  pole.velocity = { -start.speed * pole.y, start.speed * pole.x }
  return sim.control.settling(world, function()
    return math.abs(hinge.angle) < 0.02 and math.abs(hinge.speed) < 0.05 and math.abs(rail.speed) < 0.1
  end, { duration = 8 })
end

local basin = sim.control.basin { run = run, common = MOST, title = "A cart-pole by LQR, at most 8 N",
  x = { "tilt", -1, 1, 21, label = "tilt, rad" }, y = { "speed", -6, 6, 21, label = "speed, rad/s" } }
exp:figure(basin.plot)
print(("%d of %d starts settle"):format(basin.settled, basin.starts))

-- Left and right are equivalent, so the run from (-tilt, -speed) is the mirror image of the run from (tilt, speed).
local different = 0
for j = 1, #basin.ys do
  for i = 1, #basin.xs do
    local one, other = basin.after[j][i], basin.after[#basin.ys + 1 - j][#basin.xs + 1 - i]
    if (one == one) ~= (other == other) then different = different + 1 end
  end
end
exp:equal("starts whose mirror image does otherwise", 0, different)
exp:above("share of starts that settle", 0.2, basin.share)
exp:below("share of starts that settle, not all of them", 0.9, basin.share)
local middle = basin.after[11][11]
exp:equal("upright it is at rest after, s", 0, middle)
-- a force of 8 N cannot hold a pole at rest beyond the tilt at which gravity is stronger: tan(tilt) = F / (M g)
local limit = math.atan(MOST, 1.2 * 9.81)
local widest = 0
for i, x in ipairs(basin.xs) do
  if basin.after[11][i] == basin.after[11][i] then widest = math.max(widest, x) end
end
exp:below("widest tilt from rest that it brings back, rad", limit, widest)
exp:above("the same, rad", 0.3, widest)
exp:finish()
