-- Queries: rays, boxes, points, distances, overlaps.
local sim = require "sim2d"

local function scene()
  local world = sim.world { gravity = { 0, 0 } }
  local left = world:circle { radius = 1, position = { -5, 0 }, name = "left" }
  local right = world:box { size = { 2, 2 }, position = { 5, 0 }, name = "right" }
  local gate = world:box { size = { 1, 1 }, position = { 0, 0 }, sensor = true, name = "gate" }
  return world, left, right, gate
end

test("raycast gives the nearest hit or nil", function()
  local world, left, right = scene()
  local hit = world:raycast({ -10, 0 }, { 10, 0 })
  ok(hit.body == left)
  near(hit.point, { -6, 0 })
  near(hit.normal, { -1, 0 })
  near(hit.fraction, 0.2)
  ok(world:raycast({ 10, 0 }, { -10, 0 }).body == right)
  eq(world:raycast({ -10, 5 }, { 10, 5 }), nil)
  raises("bad argument #2 to 'raycast' %({x, y} expected, got no value%)",
    function() world:raycast({ 0, 0 }) end)
end)

test("boxes and points", function()
  local world, left, right = scene()
  local found = world:query_aabb({ -10, -1 }, { 10, 1 })
  eq(#found, 2)
  ok(found[1] == left and found[2] == right)
  eq(#world:query_aabb({ 20, 20 }, { 21, 21 }), 0)
  local inside = world:query_point { 5.5, 0.5 }
  eq(#inside, 1)
  ok(inside[1] == right)
  eq(world:query_point { 0, 0 }, {}) -- sensors are left out
  raises("bad argument #2 to 'query_aabb' %(the upper corner lies below the lower one%)",
    function() world:query_aabb({ 1, 1 }, { 0, 0 }) end)
end)

test("what can touch nothing is found all the same", function()
  local world = sim.world { gravity = { 0, -10 }, dt = 1 / 60 }
  local ghost = world:box { size = { 1, 1 }, position = { 0, 0 }, velocity = { 1, 0 }, mask = 0 }
  local other = world:box { size = { 1, 1 }, position = { 0.2, 0 }, velocity = { 1, 0 }, category = 0 }
  world:box { type = "static", size = { 10, 1 }, position = { 0, -1.6 } }
  world:circle { radius = 0.5, position = { 4, -0.6 } }
  for i = 1, 40 do
    local mark = world:snapshot()
    world:step()
    ok(world:query_point({ ghost.x, ghost.y })[1] == ghost)
    if i == 10 then -- a ray from above meets either, which are as high
      local hit = world:raycast({ ghost.x, 5 }, { ghost.x, ghost.y })
      ok(hit.body == ghost or hit.body == other)
    end
    if i == 15 then -- boxes are found anew after a restore
      world:restore(mark)
      eq(#world:query_point { ghost.x, ghost.y }, 2)
      world:step()
    end
  end
  eq(#world:contacts(), 1) -- ball and ground
  ok(ghost.y < -2 and ghost.y > -2.5) -- within the ground
  ghost.mask, other.category = 0xffffffff, 1 -- and touches again
  world:step()
  ok(#world:contacts() > 1)
end)

test("closest points of two bodies", function()
  local world, left, right = scene()
  local closest = world:closest(left, right)
  near(closest.distance, 8)
  near(closest.point_a, { -4, 0 })
  near(closest.point_b, { 4, 0 })
  near(math.abs(closest.normal.x), 1)
  left.x = 3.5
  ok(world:closest(left, right).distance < 0)
end)

test("resolve_overlaps moves bodies apart", function()
  local world = sim.world { gravity = { 0, 0 } }
  local a = world:circle { radius = 1, position = { 0, 0 } }
  local b = world:circle { radius = 1, position = { 1.5, 0 } }
  near(world:resolve_overlaps(), 0, 1e-8)
  near(b.x - a.x, 2, 1e-8)
  near(a.x, -0.25, 1e-8) -- equal masses share the way
  near(world.time, 0)
end)
