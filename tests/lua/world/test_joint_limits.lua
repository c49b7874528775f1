-- Limits that exclude where a joint is.
local sim = require "sim2d"

sim.random.seed(20260643)
local R = sim.random.split()

test("a joint that begins beyond its limits raises, and nothing was made", function()
  for case = 1, 200 do
    local world = sim.world { gravity = { 0, 0 } }
    local size = 10 ^ R:uniform(-1, 1)
    local body = world:box { size = { size, size }, position = { 3 * size, R:uniform(-1, 1) * size }, mask = 0 }
    local reference = R:uniform(-1, 1)
    -- some way beyond, by a few decimals, or within
    local off = case % 3 == 0 and 1e-4 or case % 3 == 1 and 10 ^ R:uniform(-2, 0.5) or -10 ^ R:uniform(-3, 0)
    local scale, begins, make = 1, reference, nil
    local kind = R:integer(1, 4)
    if kind == 1 then
      make = function(limits) return world:hinge { body, nil, anchor = { 0, 0 }, reference = reference, limits = limits } end
    elseif kind == 2 then
      scale = size
      make = function(limits) return world:slider { body, nil, anchor = body.position, axis = { 1, 2 }, reference = reference, limits = limits } end
    elseif kind == 3 then
      begins, scale = body.x, body.x
      body.y = 0
      make = function(limits) return world:spring { body, nil, anchor_b = { 0, 0 }, stiffness = 1, limits = limits } end
    else
      begins, scale = 0, size
      make = function(limits) return world:wheel { body, nil, anchor = body.position, axis = { 0, 1 }, stiffness = 1, limits = limits } end
    end
    local above = R:integer(1, 2) == 1
    local edge = begins + (above and -off or off) * scale
    local limits = above and { edge - 5 * scale, edge } or { edge, edge + 5 * scale }
    if off > 1e-3 and not (kind == 3 and limits[2] <= 0) then
      raises("limits: {.*} exclude where the joint begins", make, limits)
      eq(#world.joints, 0)
    elseif kind ~= 3 or limits[2] > 0 then
      local joint = make(limits)
      world:step()
      near(world:energy().kinetic, 0, 1e-6 * size ^ 4)
      ok(joint.alive)
    end
  end
end)

test("a rope is at least as long as what is between its anchors", function()
  local world = sim.world {}
  local body = world:circle { radius = 0.1, position = { 3, 4 } }
  raises("max_length: at least the 5 m between its anchors now expected, got 4", world.rope, world,
    { body, nil, anchor_b = { 0, 0 }, max_length = 4 })
  local rope = world:rope { body, nil, anchor_b = { 0, 0 }, max_length = 5 }
  rope.max_length = 4.9 -- a winch
  world:step()
  near(rope.length, 4.9, 1e-3)
end)

test("limits set later warn where they make the joint jump", function()
  local world = sim.world { gravity = { 0, 0 } }
  local rod = world:box { size = { 1, 0.1 }, mask = 0 }
  local hinge = world:hinge { rod, nil, anchor = { 0.5, 0 }, limits = { -1, 1 } }
  local heard = {}
  world:on("solver_warning", function(event) heard[#heard + 1] = event.message end)
  hinge.limits = { -2, 2 }
  hinge.limits = nil
  world:step()
  hinge.angle = 0.7
  hinge.limits = { 0.5, 1 }
  world:step()
  near(hinge.angle, 0.7, 1e-12)
end)

test("a body may be the world by its name or false, and a hole before the other one raises", function()
  for _, kind in ipairs { "hinge", "weld", "slider", "wheel", "distance", "spring", "rope" } do
    local world = sim.world {}
    local body = world:box { size = { 1, 1 }, position = { 1, 0 } }
    local function keys(a, b)
      local def = { anchor = { 1, 0 }, axis = { 1, 0 }, anchor_b = { 0, 0 }, stiffness = 1, max_length = 2 }
      local takes = { hinge = { anchor = 1 }, weld = { anchor = 1 }, slider = { anchor = 1, axis = 1 },
        wheel = { anchor = 1, axis = 1, stiffness = 1 }, distance = { anchor_b = 1 }, spring = { anchor_b = 1, stiffness = 1 },
        rope = { anchor_b = 1, max_length = 1 } }
      for key in pairs(def) do if not takes[kind][key] then def[key] = nil end end
      if a == "world" or a == false then
        def.anchor_a, def.anchor_b = def.anchor_b, nil
      end
      def[1], def[2] = a, b
      return def
    end
    for _, ground in ipairs { "world", false } do
      local joint = world[kind](world, keys(body, ground))
      ok(joint.a == body and joint.b == nil)
      joint = world[kind](world, keys(ground, body))
      ok(joint.a == nil and joint.b == body)
    end
    raises("key 'a': a body, \"world\" or false expected before 'b', got nil", world[kind], world, keys(nil, body))
    raises("key 'b': Body, \"world\" or false expected, got 'ground'", world[kind], world, keys(body, "ground"))
    raises("key 'b': Body, \"world\" or false expected, got true", world[kind], world, keys(body, true))
  end
end)
