-- Rays and distances in losses.
local sim = require "sim2d"

local function agrees(f, p, options)
  local value, g = sim.value_and_grad(f, p)
  eq(value, f(p), "the value with plain numbers")
  for name, derivative in pairs(g) do ok(derivative ~= 0, name .. " should matter") end
  options = options or {}
  options.print = false
  local error = sim.check_grad(f, p, options)
  if error > 1e-7 then
    options.print = true
    sim.check_grad(f, p, options)
  end
  ok(error <= 1e-7, ("differences: %.3g"):format(error))
  return g
end

local shapes = {
  circle = function(w, p) return w:circle { radius = p.size, position = { p.x, 0.1 } } end,
  box = function(w, p) return w:box { size = { p.size, 0.6 }, position = { p.x, 0.1 }, angle = p.angle } end,
  polygon = function(w, p)
    return w:polygon { vertices = { { 0, -0.5 }, { p.size, 0 }, { 0.1, 0.6 }, { -0.3, 0.1 } }, position = { p.x, 0.1 },
      angle = p.angle }
  end,
  capsule = function(w, p)
    return w:capsule { length = 0.5, radius = p.size, position = { p.x, 0.1 }, angle = p.angle }
  end,
}

-- A number that depends on all fields of a hit.
local function of_hit(hit)
  return 3 * hit.fraction + hit.point[1] ^ 2 + 2 * hit.point.y + 0.7 * hit.normal[1] + 0.4 * hit.normal.y
end

for name, make in pairs(shapes) do
  test("a ray at a " .. name, function()
    for _, y in ipairs { -0.1, 0.12, 0.31 } do
      for _, from in ipairs { -4, 4 } do
        local p = { size = 0.4, x = 0.2, angle = 0.3, y = y, from = from }
        if name == "circle" then p.angle = nil end
        agrees(function(q)
          local w = sim.world { dt = 0.01 }
          w:circle { radius = 0.1, position = { 0, 9 } }
          local body = make(w, q)
          local hit = w:raycast({ q.from, q.y }, { -q.from, 0.2 })
          eq(hit.body, body)
          return of_hit(hit)
        end, p, { step = 1e-4 })
      end
    end
  end)

  test("the distance of a " .. name, function()
    for _, at in ipairs { { 2, 0.2 }, { 1.2, 1.5 }, { -1, -1.3 } } do
      local p = { size = 0.4, x = 0.2, angle = 0.3, bx = at[1], turn = 0.2 }
      if name == "circle" then p.angle = nil end
      agrees(function(q)
        local w = sim.world { dt = 0.01 }
        local body = make(w, q)
        local other = w:box { size = { 0.5, 0.3 }, position = { q.bx, at[2] }, angle = q.turn }
        local near = w:closest(body, other)
        return 3 * near.distance + near.point_a[1] * near.point_a[2] + near.point_b[1] + near.point_b.y ^ 2
          + 0.5 * near.normal[1] - near.normal[2]
      end, p, { step = 1e-4 })
    end
  end)
end

test("a sensor that looks ahead, through steps", function()
  agrees(function(p)
    local w = sim.world { gravity = { 0, 0 }, dt = 0.01 }
    w:box { size = { 1, 4 }, position = { 3, 0 }, angle = 0.2, type = "static" }
    local car = w:circle { radius = 0.2, velocity = { p.v, 0.1 } }
    w:before_step(function()
      local hit = w:raycast(car.position, { car.x + 9, car.y })
      car:apply_force { -p.k / (0.1 + 9 * hit.fraction), 0 }
    end)
    w:step(60)
    return car.x
  end, { v = 2, k = 0.3 }, { step = 1e-4 })
end)

test("a fan, and all hits", function()
  local p = { x = 4, y = 0.1, range = 5, angle = 0.2, spread = 0.8 }
  agrees(function(q)
    local w = sim.world {}
    w:box { position = { q.x, 0 }, size = { 1, 2.7 } } -- some rays miss
    local fan, sum = w:raycast_fan({ q.y, q.y }, { rays = 7, range = q.range, angle = q.angle, spread = q.spread }), 0
    for i, distance in ipairs(fan.distances) do sum = sum + i * distance end
    return sum
  end, p)
  agrees(function(q)
    local w = sim.world {}
    for i = 1, 3 do w:circle { radius = 0.3, position = { 2 * i, q.y } } end
    local hits = w:raycast_all({ 0, 0 }, { q.range, 0.1 })
    eq(#hits, 3)
    local sum = 0
    for i, hit in ipairs(hits) do sum = sum + i * of_hit(hit) end
    return sum
  end, { range = 9, y = 0.1 })
end)

test("a miss has no derivative and no error; a body is not hit from inside", function()
  local function f(x)
    local w = sim.world {}
    w:circle { radius = x }
    eq(w:raycast({ 3, 3 }, { 4, 4 }), nil)
    eq(w:raycast({ 0, 0 }, { 4, 4 }), nil)
    return x
  end
  eq(sim.grad(f, 1), 1.0)
  raises("component 2: number expected, got 'a'", sim.grad, function(x)
    return sim.world {}:raycast({ x, "a" }, { 0, 0 })
  end, 1)
end)

test("distances of bodies that touch or overlap a little", function()
  near(sim.grad(function(x)
    local w = sim.world {}
    local a = w:circle { radius = 0.5, position = { x, 0 } }
    return w:closest(a, w:box { size = { 1, 1 } }).distance
  end, 0.9), 1, 1e-12)
end)
