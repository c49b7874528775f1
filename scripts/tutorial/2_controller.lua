-- Lesson 2: a pole on a cart, first left alone, then balanced by a regulator.
local sim = require "sim2d"

local function build()
  local world = sim.world { dt = 0.01 }
  local cart = world:box { name = "cart", size = { 0.4, 0.2 }, mass = 1, mask = 0 } -- mask 0: it touches nothing
  local pole = world:box { name = "pole", size = { 0.05, 1 }, mass = 0.2, position = { 0, 0.5 }, mask = 0 }
  local rail = world:slider { cart, "world", name = "rail", anchor = { 0, 0 }, axis = { 1, 0 } }
  local hinge = world:hinge { pole, cart, name = "hinge", anchor = { 0, 0 } }
  world:actuator { "push", joint = rail, kind = "force", range = { -10, 10 } } -- N
  return world, rail, hinge
end

local curves = { title = "A pole that begins at 0.2 rad", x = "time, s", y = { label = "angle", unit = "rad", range = { -0.5, 2 } } }
for _, controlled in ipairs { false, true } do
  local world, rail, hinge = build()
  if controlled then -- designed for the upright pole, where the world is now
    world:control(sim.control.lqr(world, { coordinates = { rail, hinge }, Q = { 1, 10, 1, 1 }, R = 0.1 }))
  end
  hinge.angle = 0.2
  local t, angle, fallen = {}, {}, nil
  for now in world:steps(5) do
    t[#t + 1], angle[#angle + 1] = now, hinge.angle
    fallen = fallen or hinge.angle > math.pi / 2 and now
  end
  local name = controlled and "with LQR" or "alone"
  print(("%-8s  after 5 s: %s"):format(name, fallen and ("it fell at %.2f s"):format(fallen)
    or ("%.4f rad, cart at %.3f m"):format(hinge.angle, rail.translation)))
  curves[#curves + 1] = { t, angle, label = name }
end
assert(sim.plot(curves):save "2_controller.svg")
