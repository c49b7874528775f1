-- Bodies without an area: chains, segments, compounds of segments. Their mass lies along their lines.
local sim = require "sim2d"

-- A random broken line.
local function outline(r)
  local points, x, y = {}, r:uniform(-2, 2), r:uniform(-2, 2)
  for i = 1, r:integer(2, 7) do
    points[i] = { x, y }
    x, y = x + r:uniform(0.1, 1.5), y + r:uniform(-1, 1)
  end
  return points
end

-- The same line with more points on it.
local function cut(r, points)
  local more = { points[1] }
  for i = 2, #points do
    local a, b, n = points[i - 1], points[i], r:integer(1, 8)
    local at = {}
    for k = 1, n - 1 do at[k] = r:uniform(0.01, 0.99) end
    table.sort(at)
    for _, s in ipairs(at) do
      local last = more[#more]
      local x, y = a[1] + s * (b[1] - a[1]), a[2] + s * (b[2] - a[2])
      if math.abs(x - last[1]) > 1e-3 and math.abs(x - b[1]) > 1e-3 then more[#more + 1] = { x, y } end
    end
    more[#more + 1] = b
  end
  return more
end

-- By integrals along the line: centre, and inertia for a mass.
local function line_integrals(points, mass)
  local length, x, y = 0, 0, 0
  for i = 2, #points do
    local a, b = points[i - 1], points[i]
    local l = math.sqrt((b[1] - a[1]) ^ 2 + (b[2] - a[2]) ^ 2)
    length, x, y = length + l, x + l * (a[1] + b[1]) / 2, y + l * (a[2] + b[2]) / 2
  end
  x, y = x / length, y / length
  local second = 0
  for i = 2, #points do -- the integral of a square between two ends
    local a, b = points[i - 1], points[i]
    local l = math.sqrt((b[1] - a[1]) ^ 2 + (b[2] - a[2]) ^ 2)
    local ax, ay, bx, by = a[1] - x, a[2] - y, b[1] - x, b[2] - y
    second = second + l / 3 * (ax * ax + ax * bx + bx * bx + ay * ay + ay * by + by * by)
  end
  return x, y, mass * second / length
end

local function segments(points, density)
  local shapes = {}
  for i = 2, #points do shapes[i - 1] = { from = points[i - 1], to = points[i], density = density } end
  return shapes
end

test("centre and inertia match the line, however it is cut", function()
  for seed = 1, 200 do
    local r = sim.random
    r:seed(seed)
    local line, mass = outline(r), r:uniform(0.1, 9)
    local x, y, inertia = line_integrals(line, mass)
    local world, finer = sim.world {}, cut(r, line)
    for _, points in ipairs { line, finer } do
      local bodies = {
        world:chain { type = "dynamic", mass = mass, points = points },
        world:compound { mass = mass, shapes = segments(points) },
        world:compound { mass = mass, shapes = segments(points, 3) }, -- of one density: any value gives the same
        world:chain { points = points }, world:chain { type = "kinematic", points = points },
      }
      for i, body in ipairs(bodies) do
        near({ body.x, body.y }, { x, y }, 1e-12)
        if i <= 3 then near(body.inertia, inertia, 1e-12 * inertia + 1e-13) end
      end
    end
  end
end)

test("thin capsules tend to the wire in the limit", function()
  for seed = 1, 50 do
    local r = sim.random
    r:seed(seed)
    local line, world, last = outline(r), sim.world {}, nil
    local x, y, inertia = line_integrals(line, 2)
    for _, radius in ipairs { 1e-3, 1e-5, 1e-7 } do
      local shapes = {}
      for i = 2, #line do
        local a, b = line[i - 1], line[i]
        shapes[i - 1] = { length = math.sqrt((b[1] - a[1]) ^ 2 + (b[2] - a[2]) ^ 2), radius = radius,
          position = { (a[1] + b[1]) / 2, (a[2] + b[2]) / 2 }, angle = math.atan(b[2] - a[2], b[1] - a[1]) }
      end
      local body = world:compound { mass = 2, shapes = shapes }
      local off = math.abs(body.x - x) + math.abs(body.y - y) + math.abs(body.inertia - inertia) / inertia
      ok(off < 100 * radius, ("%g off at radius %g"):format(off, radius))
      ok(not last or off < last / 10 or off < 1e-9)
      last = off
    end
  end
end)

test("density of a segment is weight per metre among segments, nothing beside solids", function()
  local world = sim.world {}
  local rod = { { from = { 0, 0 }, to = { 1, 0 }, density = 3 }, { from = { 1, 0 }, to = { 2, 0 }, density = 1 } }
  local body = world:compound { mass = 4, shapes = rod }
  near(body.x, (3 * 0.5 + 1 * 1.5) / 4, 1e-14)
  rod[3] = { size = { 1, 1 }, position = { 9, 0 } }
  local mixed = world:compound { shapes = rod }
  eq({ mixed.x, mixed.y, mixed.mass }, { 9.0, 0.0, 1.0 })
  near(mixed.inertia, 1 / 6, 1e-15)
end)

test("a rod hinged in its middle does not turn, one half of it in many pieces", function()
  for _, pieces in ipairs { 1, 2, 10, 100 } do
    local world, points = sim.world {}, { { -1, 0 } }
    for i = 0, pieces do points[#points + 1] = { i / pieces, 0 } end
    local rod = world:chain { type = "dynamic", mass = 2, points = points, mask = 0 }
    near(rod.inertia, 2 * 2 ^ 2 / 12, 1e-14)
    world:hinge { rod, anchor = { 0, 0 } }
    world:run { duration = 0.5, progress = false }
    near(rod.angle, 0, 1e-12)
  end
end)

test("terrain turns about the centre of its line", function()
  local world = sim.world { gravity = { 0, 0 } }
  local points = { { 0, 0 } }
  for i = 0, 10 do points[#points + 1] = { 2 + 0.2 * i, 0 } end
  local ground = world:chain { type = "kinematic", points = points, angular_velocity = 1 }
  world:run { duration = 1, progress = false }
  near({ ground.x, ground.y }, { 2, 0 }, 1e-12)
end)

test("required data of a wire", function()
  local world = sim.world {}
  raises("a dynamic body needs an area, or a mass", world.chain, world,
    { type = "dynamic", points = { { 0, 0 }, { 1, 0 } } })
  eq(world:segment { type = "dynamic", from = { 0, 0 }, to = { 1, 0 }, mass = 6, inertia = 7 }.inertia, 7.0)
  near(world:segment { type = "dynamic", from = { 0, 0 }, to = { 1, 0 }, mass = 6 }.inertia, 0.5, 1e-15)
end)

test("derivatives by the points of a wire", function()
  for seed = 1, 20 do
    local r = sim.random
    r:seed(seed)
    local line = outline(r)
    local p = { mass = r:uniform(1, 2), x = line[2][1], y = line[2][2] }
    local function f(q)
      local points = {}
      for i, point in ipairs(line) do points[i] = i == 2 and { q.x, q.y } or point end
      local world = sim.world { dt = 0.01 }
      local wire = world:chain { type = "dynamic", mass = q.mass, points = points }
      local x, y, inertia = wire.x, wire.y, wire.inertia
      world:hinge { wire, anchor = { 0, 0 } }
      world:step(10)
      return x + 2 * y + 3 * inertia + wire.angle
    end
    ok(sim.check_grad(f, p, { print = false, step = 1e-4 }) < 1e-6)
  end
end)
