-- A step with contacts is a smooth function of its inputs, between changes of modes. Two methods whose results differ
-- by 1e-7 are both within the tolerance; but where a step uses one or the other by chance, differences over 1e-4 ..
-- 1e-7 show a derivative that does not exist.
local sim = require "sim2d"

local SIZES = { { 0.4, 0.06, 5 }, { 0.08, 0.5, 2.5 }, { 0.1, 0.45, 4 }, { 0.1, 0.4, 3.5 } } -- m, m, kg
local TORQUES = { 3, 9, 9 } -- N m, largest torques

-- Foot, leg, thigh and torso that stand on the floor, sink under random torques and fall. `more` N m are added to each
-- torque. Returns the position of the torso after `steps`, m.
local function end_of_hopper(steps, torques, more, contact)
  local world = sim.world { gravity = { 0, -9.81 }, dt = 1 / 120, contact = contact }
  world:box { type = "static", position = { 0, -1 }, size = { 100, 2 }, category = 1, mask = 2, friction = 0.9 }
  local parts, top = {}, 0.005
  for i, size in ipairs(SIZES) do
    local center = top + size[2] / 2
    parts[i] = world:box {
      position = { i == 1 and 0.06 or 0, center }, size = { size[1], size[2] }, mass = size[3],
      category = 2, mask = 1, friction = 0.9,
    }
    if i > 1 then world:hinge { parts[i], parts[i - 1], anchor = { 0, i == 2 and top - 0.03 or top } } end
    top = top + size[2] - (i == 1 and 0.03 or 0)
  end
  for k = 1, steps do
    for i = 1, 3 do
      local torque = TORQUES[i] * torques[3 * k - 3 + i] + more
      parts[i + 1]:apply_torque(torque)
      parts[i]:apply_torque(-torque)
    end
    world:step()
  end
  return parts[4].x + parts[4].y
end

-- The differences over e = 10^-from .. 10^-7 agree to `part` of them and to `rounding` (m) over 1e-7. Over more than
-- 1e-5 a fallen hopper meets the floor in other steps. Rounding, 1e-15 m, is multiplied by 10 while the hopper stands,
-- and by up to 1e4 in its fall.
local function differences_agree(steps, seed, from, part, rounding, contact)
  sim.random.seed(seed)
  local torques = {}
  for i = 1, 3 * steps do torques[i] = sim.random.uniform(-1, 1) end
  local least, most = math.huge, -math.huge
  for power = from, 7 do
    local e = 10.0 ^ -power
    local slope = (end_of_hopper(steps, torques, e, contact) - end_of_hopper(steps, torques, -e, contact)) / (2 * e)
    least, most = math.min(least, slope), math.max(most, slope)
  end
  local size = math.max(math.abs(least), math.abs(most))
  ok(most - least <= part * size + rounding / 1e-7, ("%d steps, seed %d: %g .. %g"):format(steps, seed, least, most))
end

test("differences over steps with contacts agree for all lengths of the difference", function()
  for seed = 1, 8 do
    differences_agree(20, seed, 3, 1e-5, 1e-14)
    differences_agree(50, seed, 4, 1e-5, 1e-14)
    differences_agree(100, seed, 5, 1e-3, 1e-11)
  end
end)

test("the same holds under the convex law of contact", function()
  for seed = 1, 4 do
    differences_agree(20, seed, 3, 1e-5, 1e-14, "convex")
    differences_agree(50, seed, 4, 1e-5, 1e-14, "convex")
  end
end)

-- A hand on a slider pushes a box along the floor by a force that varies; friction at the hand and below the box allows
-- several motions. Returns the positions of the box and the hand, m.
local function pushed_box(order, force)
  local world, made = sim.world { gravity = { 0, -10 }, dt = 1 / 120 }, {}
  local makers = {
    floor = function()
      return world:box { type = "static", position = { 0, -1 }, size = { 100, 2 }, friction = 0.5, category = 1 }
    end,
    hand = function()
      return world:circle { position = { -0.4, 0.2 }, radius = 0.1, mass = 1, friction = 0.3, category = 2, mask = 4 }
    end,
    box = function() return world:box { position = { 0, 0.25 }, size = { 0.5, 0.5 }, mass = 1, friction = 0.5, category = 4 } end,
  }
  for _, name in ipairs(order) do made[name] = makers[name]() end
  world:slider { made.hand, axis = { 1, 0 }, anchor = { -0.4, 0.2 } }
  for k = 1, 240 do
    made.hand:apply_force { force * math.sin(0.02 * k), 0 }
    world:step()
  end
  return made.box.x, made.box.y, made.box.angle, made.hand.x
end

test("friction does not depend on the order in which bodies are made", function()
  local orders = {
    { "floor", "hand", "box" }, { "floor", "box", "hand" }, { "hand", "floor", "box" },
    { "hand", "box", "floor" }, { "box", "floor", "hand" }, { "box", "hand", "floor" },
  }
  for _, force in ipairs { 6, 9, 14, 25 } do
    local first
    for _, order in ipairs(orders) do
      local found = { pushed_box(order, force) }
      first = first or found
      for i, number in ipairs(found) do
        ok(math.abs(number - first[i]) <= 1e-9, ("%g N, %s first: %g, %g"):format(force, order[1], number, first[i]))
      end
    end
  end
end)
