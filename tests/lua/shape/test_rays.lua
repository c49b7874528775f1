-- Rays that start on surfaces, in lines and inside; and their hits, compared with formulas of each shape.
local sim = require "sim2d"

-- Points and outward normals at random places on the surface of a body at the origin.
local surfaces = {
  disc = function(r)
    local radius, a = r:uniform(0.1, 2), r:uniform(0, 7)
    return function(w, p) return w:circle { radius = radius, position = p, type = "static" } end,
      { radius * math.cos(a), radius * math.sin(a) }, { math.cos(a), math.sin(a) }, radius
  end,
  box = function(r)
    local x, y, s = r:uniform(0.1, 2), r:uniform(0.1, 2), r:uniform(-0.9, 0.9)
    return function(w, p, angle) return w:box { size = { 2 * x, 2 * y }, position = p, angle = angle, type = "static" } end,
      { s * x, y }, { 0, 1 }, math.min(x, y)
  end,
  rounded = function(r)
    local x, y, a, radius = r:uniform(0.4, 2), r:uniform(0.4, 2), r:uniform(0, math.pi / 2), r:uniform(0.05, 0.3)
    return function(w, p, angle)
      return w:box { size = { 2 * x, 2 * y }, radius = radius, position = p, angle = angle, type = "static" }
    end, { x - radius + radius * math.cos(a), y - radius + radius * math.sin(a) }, { math.cos(a), math.sin(a) }, radius
  end,
  capsule = function(r)
    local half, radius, a = r:uniform(0.1, 2), r:uniform(0.1, 1), r:uniform(-math.pi / 2, math.pi / 2)
    return function(w, p, angle)
      return w:capsule { length = 2 * half, radius = radius, position = p, angle = angle, type = "static" }
    end, { half + radius * math.cos(a), radius * math.sin(a) }, { math.cos(a), math.sin(a) }, radius
  end,
  polygon = function(r) -- a triangle about the origin
    local angles, vertices = { r:uniform(0, 1.5), r:uniform(2, 3.5), r:uniform(4.2, 5.5) }, {}
    for i, a in ipairs(angles) do vertices[i] = { math.cos(a), math.sin(a) } end
    local a, b, s = vertices[1], vertices[2], r:uniform(0.1, 0.9)
    local nx, ny = b[2] - a[2], a[1] - b[1]
    local l = math.sqrt(nx * nx + ny * ny)
    local cx, cy = 0, 0
    for _, v in ipairs(vertices) do cx, cy = cx + v[1] / 3, cy + v[2] / 3 end
    return function(w, p, angle)
      return w:polygon { vertices = vertices, type = "static", angle = angle, position = p }
    end, { a[1] + s * (b[1] - a[1]), a[2] + s * (b[2] - a[2]) }, { nx / l, ny / l }, 0.05
  end,
}

local function turned(v, angle)
  local c, s = math.cos(angle), math.sin(angle)
  return { c * v[1] - s * v[2], s * v[1] + c * v[2] }
end

for name, make in pairs(surfaces) do
  test("rays that begin on a " .. name, function()
    for seed = 1, 200 do
      local r = sim.random
      r:seed(seed)
      local world, angle = sim.world {}, name == "disc" and 0 or r:uniform(-3, 3)
      local at = { r:uniform(-20, 20), r:uniform(-20, 20) }
      local build, point, normal, least = make(r)
      local body = build(world, at, angle)
      local p, n = turned(point, angle), turned(normal, angle)
      local t = { -n[2], n[1] }
      local depth = ({ 0, 1e-10, 1e-9, -1e-10, -1e-9 })[r:integer(1, 5)] * least
      local from = { at[1] + p[1] - depth * n[1], at[2] + p[2] - depth * n[2] }
      local inwards, side, length = r:uniform(0.05, 1), r:uniform(-1, 1), r:uniform(0.01, 5)
      local function to(a, b) return { from[1] + length * (a * n[1] + b * t[1]), from[2] + length * (a * n[2] + b * t[2]) } end
      local hit = world:raycast(from, to(-inwards, side))
      ok(hit and hit.body == body, name .. " " .. seed)
      near(hit.fraction, math.max(0, -depth / (length * inwards)), 1e-12 + 1e-13 / length)
      near(hit.normal, n, 1e-6)
      eq(#world:raycast_all(from, to(-inwards, side)), 1)
      eq(world:raycast(from, to(inwards, side)), nil)
      eq(world:raycast_fan(from, { rays = 1, range = length, angle = math.atan(n[2], n[1]), spread = 0 }).hits[1], false)
      -- if it starts deeper, it starts inside
      local inside = { from[1] - 1e-3 * least * n[1], from[2] - 1e-3 * least * n[2] }
      eq(world:raycast(inside, { inside[1] - n[1], inside[2] - n[2] }), nil)
    end
  end)
end

test("a ray from the foot of a standing body hits the ground", function()
  local grounds = {
    function(w) w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 } } end,
    function(w) w:chain { points = { { -10, 0 }, { 0, 0 }, { 10, 0 } } } end,
    function(w) w:segment { from = { 10, 0 }, to = { -10, 0 } } end,
    function(w) w:polygon { type = "static", vertices = { { -10, 0 }, { -10, -1 }, { 10, -1 }, { 10, 0 }, { 3, 0 } } } end,
    function(w) w:capsule { type = "static", length = 20, radius = 0.3, position = { 0, -0.3 } } end,
    function(w) for i = -8, 8 do w:box { type = "static", position = { i / 4, -0.1 }, size = { 0.25, 0.2 } } end end,
  }
  for i, ground in ipairs(grounds) do
    for seed = 1, 40 do
      local r = sim.random
      r:seed(1000 * i + seed)
      local world, h = sim.world { dt = r:uniform(0.004, 0.02) }, r:uniform(0.1, 2)
      ground(world)
      local body = world:box { position = { r:uniform(-1, 1), h / 2 + r:uniform(0.01, 0.3) }, size = { 0.3, h } }
      world:run { duration = 0.8, progress = false }
      local foot = body:world_point { 0, -h / 2 }
      local hit = world:raycast(foot, { foot.x, foot.y - 0.05 }, { ignore = body })
      ok(hit, ("ground %d, seed %d, foot at %g"):format(i, seed, foot.y))
      near(hit.fraction, 0, 1e-6)
      near(hit.normal, { 0, 1 }, 1e-6)
    end
  end
end)

test("lines: through, from, along and beyond", function()
  for seed = 1, 200 do
    local r = sim.random
    r:seed(seed)
    local angle, length = r:uniform(-3, 3), r:uniform(0.2, 4)
    local x, y, c, s = r:uniform(-9, 9), r:uniform(-9, 9), math.cos(angle), math.sin(angle)
    local function at(along, across) return { x + along * c - across * s, y + along * s + across * c } end
    local world = sim.world {}
    local line = world:segment { from = at(0, 0), to = at(length, 0) }
    local where, before, after = r:uniform(0.1, 0.9) * length, r:uniform(0.1, 3), r:uniform(0.1, 3)
    local through = world:raycast(at(where - before, before), at(where + after, -after))
    near(through.fraction, before / (before + after), 1e-12)
    near(through.normal, { -s, c }, 1e-12)
    near(world:raycast(at(where, 0), at(where + 1, -after)).fraction, 0, 1e-12)
    near(world:raycast(at(where, 0), at(where - 1, after)).fraction, 0, 1e-12)
    -- collinear with it
    local first = world:raycast(at(-before, 0), at(length + after, 0))
    near(first.point, at(0, 0), 1e-12)
    near(first.normal, { -c, -s }, 1e-12)
    near(world:raycast(at(length + after, 0), at(-before, 0)).point, at(length, 0), 1e-12)
    eq(world:raycast(at(-before, 0), at(-before / 2, 0)), nil) -- too short
    eq(world:raycast(at(where, 0), at(length + after, 0)), nil) -- along it
    eq(world:raycast(at(length + 1e-3, 0), at(length + after, 0)), nil) -- away
    eq(world:raycast(at(-before, 1e-6), at(length + after, 1e-6)), nil) -- parallel to it, at a distance
    eq(world:raycast(at(where, 0), at(where, 0)), nil) -- of length 0
  end
end)

test("a ray in line with a chain hits only open ends", function()
  local world = sim.world {}
  world:chain { points = { { 0, 0 }, { 1, 0 }, { 2, 0 }, { 3, 0 } } }
  near(world:raycast({ -1, 0 }, { 4, 0 }).fraction, 0.2, 1e-15)
  eq(world:raycast({ 0.5, 0 }, { 4, 0 }), nil)
end)

-- Nearest point on the ray where a function of distance is 0, by formulas for each shape.
local function disc_entry(ox, oy, dx, dy, radius)
  local a, b, c = dx * dx + dy * dy, ox * dx + oy * dy, ox * ox + oy * oy - radius * radius
  local under = b * b - a * c
  if c <= 0 or under < 0 then return nil end
  local t = (-b - math.sqrt(under)) / a
  return t >= 0 and t <= 1 and t or nil
end

local function slab_entry(ox, oy, dx, dy, x, y)
  local enter, leave = -math.huge, math.huge
  for _, axis in ipairs { { ox, dx, x }, { oy, dy, y } } do
    local t1, t2 = (-axis[3] - axis[1]) / axis[2], (axis[3] - axis[1]) / axis[2]
    enter, leave = math.max(enter, math.min(t1, t2)), math.min(leave, math.max(t1, t2))
  end
  return enter <= leave and enter >= 0 and enter <= 1 and enter or nil
end

local function first(...)
  local least
  for i = 1, select("#", ...) do
    local t = select(i, ...)
    if t and (not least or t < least) then least = t end
  end
  return least
end

test("random rays against formulas", function()
  local met = 0
  for seed = 1, 200 do
    local r = sim.random
    r:seed(seed)
    local x, y, radius = r:uniform(0.3, 1.5), r:uniform(0.3, 1.5), r:uniform(0.05, 0.25)
    local angle, at = r:uniform(-3, 3), { r:uniform(-9, 9), r:uniform(-9, 9) }
    local o, e = { r:uniform(-4, 4), r:uniform(-4, 4) }, { r:uniform(-4, 4), r:uniform(-4, 4) }
    local dx, dy = e[1] - o[1], e[2] - o[2]
    local kinds = {
      { "circle", { radius = x }, disc_entry(o[1], o[2], dx, dy, x), o[1] ^ 2 + o[2] ^ 2 < x * x },
      { "box", { size = { 2 * x, 2 * y } }, slab_entry(o[1], o[2], dx, dy, x, y),
        math.abs(o[1]) < x and math.abs(o[2]) < y },
      { "capsule", { length = 2 * x, radius = radius }, first(disc_entry(o[1] - x, o[2], dx, dy, radius),
        disc_entry(o[1] + x, o[2], dx, dy, radius), slab_entry(o[1], o[2], dx, dy, x, radius)),
        math.abs(o[1]) < x + radius and math.abs(o[2]) < radius },
    }
    local function place(p) local t = turned(p, angle) return { at[1] + t[1], at[2] + t[2] } end
    for _, kind in ipairs(kinds) do
      local world = sim.world {}
      kind[2].position, kind[2].angle = at, angle
      world[kind[1]](world, kind[2])
      local hit = world:raycast(place(o), place(e))
      if not kind[4] then -- rays that start inside are tested above
        eq(hit ~= nil, kind[3] ~= nil, kind[1] .. " " .. seed)
        if hit then
          near(hit.fraction, kind[3], 1e-11)
          met = met + 1
        end
      end
    end
  end
  ok(met > 100)
end)

test("derivatives of rays that begin on a surface, and their flag", function()
  local function f(p)
    local world = sim.world {}
    world:box { type = "static", size = { 4, 2 }, position = { 0, -1 + p.y } }
    local hit = world:raycast({ p.x, 0 }, { p.x, -3 })
    return hit.fraction + 2 * hit.point[1] + 3 * hit.point[2]
  end
  local value, g = sim.value_and_grad(f, { x = 0.1, y = 0 })
  eq({ value, g.x, g.y }, { 0.2, 2.0, 0.0 })
  eq(sim.tape_stats().flags, { "weak" })
  -- a little above it the derivative exists
  value, g = sim.value_and_grad(f, { x = 0.1, y = -0.3 })
  near(g.y, -1 / 3 + 3, 1e-12)
  eq(sim.tape_stats().flags, {})
  sim.value_and_grad(function(p)
    local world = sim.world {}
    world:segment { from = { p, 0 }, to = { 2, 0 } }
    return world:raycast({ -1, 0 }, { 3, 0 }).fraction
  end, 0)
  eq(sim.tape_stats().flags, { "weak" })
end)
