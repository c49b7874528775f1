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

test("filters: categories, masks, ignored bodies, sensors", function()
  local world, left, right, gate = scene()
  left.category, right.category, right.mask = 2, 4, 8
  local function first(filter) return (world:raycast({ -10, 0 }, { 10, 0 }, filter) or {}).body end
  ok(first {} == left)
  ok(first { mask = 4 } == right)
  ok(first { mask = 2 | 4 } == left)
  eq(first { mask = 1 }, nil)
  ok(first { category = 8 } == left) -- its mask has all bits
  ok(first { category = 8, mask = 4 } == right)
  eq(first { category = 16, mask = 4 }, nil)
  ok(first { ignore = left } == right)
  eq(first { ignore = { left, right } }, nil)
  ok(first { ignore = left, sensors = true } == gate)
  eq(#world:query_aabb({ -10, -1 }, { 10, 1 }, { ignore = left }), 1)
  eq(#world:query_aabb({ -10, -1 }, { 10, 1 }, { sensors = true }), 3)
  eq(world:query_point({ 5, 0 }, { mask = 2 }), {})
  ok(world:query_point({ 0, 0 }, { sensors = true })[1] == gate)
  left:destroy()
  ok(first { ignore = left } == right) -- a destroyed body is not found anyway
  raises("raycast' %(key 'ignore': a body of this world, or a list of them, expected",
    first, { ignore = { right, sim.world {}:circle { radius = 1 } } })
  raises("raycast' %(key 'mask': integer from 1 to 4294967295 expected, got 0", first, { mask = 0 })
  raises("raycast' %(unknown key 'ignored'; did you mean 'ignore'", first, { ignored = right })
  raises("query_point' %(unknown key 'maks'; did you mean 'mask'", world.query_point, world, { 0, 0 }, { maks = 1 })
end)

-- Bodies of several shapes among them, some at equal places.
local function crowd(random)
  local world = sim.world { gravity = { 0, 0 } }
  for i = 1, random:integer(3, 25) do
    local def = { position = { random:integer(-8, 8) / 2, random:uniform(-3, 3) }, angle = random:uniform(0, 6),
      category = 1 << random:integer(0, 2), sensor = random:uniform() < 0.2 }
    if i % 3 == 0 then
      def.radius = random:uniform(0.2, 0.8)
      world:circle(def)
    elseif i % 3 == 1 then
      def.size = { random:uniform(0.2, 2), random:uniform(0.2, 2) }
      world:box(def)
    else
      def.vertices = { { 0, 0 }, { 1, 0 }, { 1, 1 }, { 0.5, 0.3 }, { 0, 1 } } -- is cut
      world:polygon(def)
    end
  end
  return world
end

test("all hits equal the hits of single rays that ignore the earlier bodies, bit for bit", function()
  local compared = 0
  for seed = 1, 60 do
    local random = sim.random
    random:seed(seed)
    local world = crowd(random)
    for _ = 1, 10 do
      local from = { random:uniform(-6, 6), random:uniform(-4, 4) }
      local to = { random:uniform(-6, 6), random:uniform(-4, 4) }
      local filter = { mask = random:integer(1, 7), sensors = random:uniform() < 0.5, ignore = {} }
      local all = world:raycast_all(from, to, filter)
      for i = 1, #all + 1 do
        eq(all[i], world:raycast(from, to, filter))
        filter.ignore[i] = all[i] and all[i].body
        compared = compared + 1
      end
    end
  end
  ok(compared > 1000)
end)

test("a fan equals single rays, bit for bit", function()
  local met, missed = 0, 0
  for seed = 1, 30 do
    local random = sim.random
    random:seed(seed)
    local world = crowd(random)
    local from = { random:uniform(-6, 6), random:uniform(-4, 4) }
    local filter = { mask = random:integer(1, 7) }
    local fan = world:raycast_fan(from, { rays = 40, range = 5, angle = random:uniform(-9, 9),
      spread = random:uniform(0, 6), mask = filter.mask })
    for i, a in ipairs(fan.angles) do
      local hit = world:raycast(from, { from[1] + 5 * math.cos(a), from[2] + 5 * math.sin(a) }, filter)
      eq(fan.hits[i], hit or false)
      eq(fan.distances[i], hit and 5 * hit.fraction or 5)
      met, missed = met + (hit and 1 or 0), missed + (hit and 0 or 1)
    end
  end
  ok(met > 200 and missed > 200)
end)

test("where the rays of a fan go", function()
  local world = scene()
  local function angles(options)
    options.range = 1
    return world:raycast_fan({ 0, 0 }, options).angles
  end
  near(angles { rays = 3, angle = 1, spread = 0.5 }, { 0.75, 1, 1.25 })
  near(angles { rays = 4 }, { -math.pi, -math.pi / 2, 0, math.pi / 2 })
  near(angles { rays = 1, angle = 2, spread = 0.5 }, { 2 })
  raises("raycast_fan' %(key 'rays' is missing", world.raycast_fan, world, { 0, 0 }, { range = 1 })
  raises("raycast_fan' %(key 'range': positive number expected", world.raycast_fan, world, { 0, 0 }, { rays = 1, range = -1 })
  raises("raycast_fan' %({x, y} expected, got 1 component", world.raycast_fan, world, { 0 }, { rays = 1, range = 1 })
  raises("raycast_fan' %(unknown key 'count'", world.raycast_fan, world, { 0, 0 }, { count = 1 })
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
  raises("bad argument #2 to 'query_aabb' %(the upper right corner must not be below the lower left corner or to the left of it%)",
    function() world:query_aabb({ 1, 1 }, { 0, 0 }) end)
end)

test("bodies that can touch nothing are found nevertheless", function()
  local world = sim.world { gravity = { 0, -10 }, dt = 1 / 60 }
  local ghost = world:box { size = { 1, 1 }, position = { 0, 0 }, velocity = { 1, 0 }, mask = 0 }
  local other = world:box { size = { 1, 1 }, position = { 0.2, 0 }, velocity = { 1, 0 }, category = 0 }
  world:box { type = "static", size = { 10, 1 }, position = { 0, -1.6 } }
  world:circle { radius = 0.5, position = { 4, -0.6 } }
  for i = 1, 40 do
    local mark = world:snapshot()
    world:step()
    ok(world:query_point({ ghost.x, ghost.y })[1] == ghost)
    if i == 10 then -- a ray from above hits either of them, which are equally high
      local hit = world:raycast({ ghost.x, 5 }, { ghost.x, ghost.y })
      ok(hit.body == ghost or hit.body == other)
    end
    if i == 15 then -- boxes are found again after a restore
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
