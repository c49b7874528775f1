-- A crate is pushed along a plank that hangs from two ropes, until one of the ropes breaks. Statics gives the load
-- under which the rope breaks, and the position of the crate at that moment.
local sim = require "sim2d"

local SPAN, PLANK, CRATE, G = 4, 20, 30, 9.81 -- units: m, kg, kg, m/s^2
local STRENGTH, SPEED = 320, 0.25 -- N, m/s

local function build()
  local world = sim.world { dt = 1 / 240 }
  world:box { name = "floor", type = "static", position = { 0, -3.25 }, size = { 8, 0.5 } }
  local plank = world:box { name = "plank", size = { SPAN, 0.1 }, mass = PLANK, friction = 0 }
  local crate = world:box { name = "crate", position = { 0, 0.35 }, size = { 0.6, 0.6 },
    mass = CRATE, friction = 0, velocity = { SPEED, 0 }, color = "#d9a066" }
  for i, name in ipairs { "left", "right" } do
    local x = (i - 1.5) * SPAN
    world:box { type = "static", position = { x, 2.6 }, size = { 0.4, 0.2 }, mask = 0 }
    world:rope { plank, nil, anchor_a = { x, 0 }, anchor_b = { x, 2.5 }, name = name,
      break_force = name == "right" and STRENGTH or nil }
  end
  world:no_contact(plank, crate)
  -- The crate runs on a rail on the plank, so it can only slide along the plank.
  world:slider { crate, plank, anchor = { 0, 0.35 }, axis = { 1, 0 }, name = "rail" }
  return world
end

if sim.is_main() then
  local world = build()
  local crate, broken, off = world.bodies.crate, nil, 0
  world:on("joint_break", function(e)
    broken = broken or { name = e.joint.name, force = e.force, x = crate.x, time = world.time }
  end)
  local right = world.joints.right
  world:run { duration = 10, until_ = function()
    if not broken then
      local expected = PLANK * G / 2 + CRATE * G * (0.5 + crate.x / SPAN)
      off = math.max(off, math.abs(right.force.y / expected - 1))
    end
    return broken ~= nil
  end }
  -- The balance of moments about the left rope.
  local x = SPAN * ((STRENGTH - PLANK * G / 2) / (CRATE * G) - 0.5)
  print(("until then the rope carries what statics says to %.1e"):format(off))
  print(("the %s rope breaks at %.3f N (strength %g N)"):format(broken.name, broken.force, STRENGTH))
  print(("with the crate at %.4f m, statics says %.4f m"):format(broken.x, x))
  assert(broken.name == "right" and broken.force > STRENGTH and broken.force < 1.001 * STRENGTH)
  assert(math.abs(broken.x - x) < 0.01 and off < 1e-3)
  world:run { duration = 0.5 }
  local plank, left = world.bodies.plank, world.joints.left
  print(("then the plank swings on the other rope, %.2f rad down"):format(-plank.angle))
  assert(plank.angle < -0.3 and left.error < 1e-9)
end

return build
