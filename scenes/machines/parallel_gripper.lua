-- A gripper on a rising hand: each finger hangs on a parallelogram linkage, and a gear makes both fingers close
-- equally.
local sim = require "sim2d"

local CRANK, GRIP = 0.3, 0.2                -- crank length and width of the gripped box, m
local MASS, FRICTION, LIFT = 0.5, 0.4, 2    -- mass of the box (kg), friction, acceleration of the hand (m/s^2)
local GRAVITY, TIME = 9.81, 0.5             -- gravity (m/s^2), duration of gripping and of lifting (s)
-- When the fingers touch the box, the cranks hang straight down. The closing torque then presses with torque / (2
-- CRANK) on each side, and the two sides can carry 2 FRICTION times this force.
local NEEDED = MASS * (GRAVITY + LIFT) * CRANK / FRICTION -- N m

local function build(p)
  local world = sim.world { gravity = { 0, -GRAVITY } }
  world:box { type = "static", position = { 0, -0.5 }, size = { 4, 1 } }
  local box = world:box { name = "box", position = { 0, 0.15 }, size = { GRIP, 0.3 }, mass = MASS, friction = FRICTION }
  local hand = world:box { name = "hand", position = { 0, 0.65 }, size = { 0.5, 0.06 }, mass = 1, mask = 0 }
  local rail = world:slider { hand, nil, anchor = { 0, 0.65 }, axis = { 0, 1 }, motor = { speed = 0, max_force = 1e4 } }
  local cranks = {}
  for side = -1, 1, 2 do
    local x = side * (GRIP / 2 + 0.02)
    local finger = world:box { name = side < 0 and "left" or "right", position = { x, 0.2 }, size = { 0.04, 0.3 }, mass = 0.1,
      friction = FRICTION }
    for k = 0, 1 do
      local top, above = { x + 0.1 * k * side, 0.65 }, 0.65 - CRANK
      local crank = world:box { position = { top[1], 0.65 - CRANK / 2 }, size = { 0.02, CRANK }, mass = 0.05, mask = 0 }
      local pivot = world:hinge { crank, hand, anchor = top }
      world:hinge { finger, crank, anchor = { top[1], above } }
      if k == 0 then cranks[#cranks + 1] = pivot end
    end
  end
  -- The gear keeps the sum of both crank angles constant, so the cranks turn by equal and opposite angles.
  world:gear { joint_a = cranks[1], joint_b = cranks[2], ratio = 1 }
  cranks[1].motor_max = p.torque
  cranks[1].motor_speed = 1
  world:before_step(function(w, t) rail.motor_speed = LIFT * math.max(0, math.min(t + w.dt, 2 * TIME) - TIME) end)
  return world, box, hand, cranks
end

if sim.is_main() then
  for _, part in ipairs { 1.02, 0.98 } do
    local world, box, hand, cranks = build { torque = part * NEEDED }
    world:run { duration = TIME }
    local pressed = 0
    for _, contact in ipairs(world:contacts()) do
      if math.abs(contact.normal[1]) > 0.5 then pressed = pressed + contact.normal_impulse / world.dt / 2 end
    end
    local before = box.y - hand.y
    local alike = 0
    for _ in world:steps(TIME) do alike = math.max(alike, math.abs(cranks[1].angle + cranks[2].angle)) end
    local slip = before - (box.y - hand.y)
    -- The box slips by this distance because of the part of its weight that friction does not carry.
    local short = (1 - math.min(part, 1)) * (GRAVITY + LIFT) * TIME ^ 2 / 2
    print(("%3.0f %% of the torque: each side presses by %.4f N (%.4f N); hand at %.3f m, slip %.5f m (%.5f m)"):format(
      100 * part, pressed, part * NEEDED / CRANK / 2, hand.y, slip, short))
    assert(math.abs(pressed - part * NEEDED / CRANK / 2) < 1e-6 and alike < 1e-9)
    assert(math.abs(slip - short) < 1e-3)
  end
end

return build
