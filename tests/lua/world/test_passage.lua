-- No body passes through another undetected: pushed from rest, driven by springs and motors, swept by bars that turn,
-- thrown at chains. The centre of a body defines its side of a wall.
local sim = require "sim2d"

local function random(seed)
  sim.random.seed(seed)
  return sim.random.split()
end

local function turned(phi, x, y)
  local c, s = math.cos(phi), math.sin(phi)
  return { c * x - s * y, s * x + c * y }
end

local makers = {
  disc = function(w, size, def) def.radius = size return w:circle(def) end,
  box = function(w, size, def) def.size = { 2 * size, 2 * size } return w:box(def) end,
  plate = function(w, size, def) def.size = { 2 * size, 8 * size } return w:box(def) end,
  capsule = function(w, size, def)
    def.length, def.radius, def.angle = 2 * size, size, def.angle + math.pi / 2
    return w:capsule(def)
  end,
}

-- A body at rest before a wall of any direction, thickness and order of creation. push(w, r, body, case) drives it and
-- returns the action before each step. Returns the number of bodies behind the wall.
local function behind_walls(stepping, seed, runs, push)
  local r, behind, first = random(seed), 0, nil
  for k = 1, runs do
    local case = { phi = r:choice { 0, math.pi / 2, math.pi, -math.pi / 2, r:uniform(0, 6.28) },
      thick = 10 ^ r:uniform(-2.3, -0.5), size = 10 ^ r:uniform(-2, -0.7), mass = 10 ^ r:uniform(-3, 1),
      gap = r:choice { 0, 1e-12, -1e-12, 1e-3, r:uniform(0.001, 0.2) } }
    local w = sim.world { stepping = stepping, dt = r:choice { 1 / 30, 1 / 60, 1 / 120, 1 / 240, 1 / 480 }, gravity = { 0, 0 } }
    local warned = false
    w:on("solver_warning", function() warned = true end)
    local kind = r:choice { "disc", "box", "plate", "capsule" }
    local function wall()
      w:box { type = r:choice { "static", "kinematic" }, size = { case.thick, 40 }, angle = case.phi,
        position = turned(case.phi, case.thick / 2, 0) }
    end
    local function body()
      return makers[kind](w, case.size, { mass = case.mass, angle = case.phi, position = turned(case.phi, -case.gap - case.size, 0) })
    end
    local b
    if r:uniform() < 0.5 then wall() b = body() else b = body() wall() end
    local act = push(w, r, b, case)
    for _ = 1, 8 do
      if act then act() end
      w:step()
      if math.cos(case.phi) * b.x + math.sin(case.phi) * b.y > case.thick / 2 then
        behind = behind + (warned and 0 or 1)
        first = first or ("run %d: a %s, dt 1/%g"):format(k, kind, 1 / w.dt)
        break
      end
    end
  end
  return behind, first
end

local function none_behind(stepping, seed, runs, push)
  local behind, first = behind_walls(stepping, seed, runs, push)
  eq(behind, 0, first)
end

-- A push so strong that the body would pass through the wall in the first step.
local function piston(w, r, b, case)
  local need = (math.max(case.gap, 0) + 2 * case.size + case.thick) * r:uniform(0.5, 4)
  local f = turned(case.phi, 2 * case.mass * need / w.dt ^ 2, 0)
  if r:uniform() < 0.5 then
    b:force_law(function() return 0, f[1], f[2] end)
    return nil
  end
  return function() b:apply_force(f) end
end

local function gun(w, r, b, case)
  local k, far, x0 = 10 ^ r:uniform(2, 6), r:uniform(0.1, 1.5), -math.max(case.gap, 0) - case.size
  local goal, at, axis = turned(case.phi, x0 + far, 0), b.position, turned(case.phi, 1, 0)
  local fast = r:uniform(1, 3) * (2 * case.size + case.thick + case.gap) / w.dt
  local how = r:choice { "spring", "mouse", "distance", "weld", "lock", "motor", "rail" }
  if how == "spring" then
    w:spring { b, nil, anchor_a = at, anchor_b = turned(case.phi, x0 - 0.1, 0), rest_length = 0.1 + far, stiffness = k }
  elseif how == "mouse" then
    w:mouse { b, target = goal, stiffness = k, damping = 0 }
  elseif how == "distance" then
    w:distance({ b, nil, anchor_a = at, anchor_b = turned(case.phi, x0 - 0.1, 0), compliance = 1 / k }).length = 0.1 + far
  elseif how == "weld" then
    b.position = goal
    w:weld { b, nil, anchor = goal, compliance = { linear = 1 / k, angular = 1 } }
    b.position = at
  elseif how == "lock" then
    b.velocity = turned(case.phi, fast, 0)
    w:lock { b, x = true, y = true, angle = true, velocity = turned(case.phi, fast, 0), max_force = k * far }
  elseif how == "motor" then
    w:slider { b, nil, anchor = at, axis = axis, motor = { speed = fast, max_force = k * far } }
  else
    w:slider { b, nil, anchor = at, axis = axis, stiffness = k, rest = far }
  end
end

for _, stepping in ipairs { "auto", "event", "speculative" } do
  test("a body that is pushed from rest stays before a wall, " .. stepping, function()
    none_behind(stepping, 11, 200, piston)
  end)
  test("springs, motors and locks drive nothing through a wall, " .. stepping, function()
    none_behind(stepping, 12, 200, gun)
  end)
end

-- Bars of any length that turn by 0.1 to 1.5 rad in a step next to a small body. Its angle about the bar's centre, in
-- the frame of the bar, stays within (0, pi) while it is next to the bar.
local function swept(stepping, seed, runs)
  local r, passed, silent = random(seed), 0, 0
  for _ = 1, runs do
    local w = sim.world { stepping = stepping, dt = r:choice { 1 / 30, 1 / 60, 1 / 240 }, gravity = { 0, 0 } }
    local warned = false
    w:on("solver_warning", function() warned = true end)
    local long, thick, size = r:uniform(0.5, 3), 10 ^ r:uniform(-2.3, -1.3), 10 ^ r:uniform(-2.3, -1.6)
    local turn, angle, at = 10 ^ r:uniform(-1, 0.17) * r:choice { 1, -1 }, r:uniform(0, 6), r:uniform(0.2, 0.4) * long
    local ahead = r:uniform(0.5, math.pi - 0.5)
    local how, kind = r:choice { "given", "motion", "free" }, r:choice { "disc", "box" }
    local bar, b
    local function make_bar()
      local given = how ~= "free"
      bar = w:box { type = given and "kinematic" or "dynamic", size = { long, thick }, angle = angle, density = 1000,
        angular_velocity = turn / w.dt }
      if how == "motion" then bar:motion(function(t) return 0, 0, angle + turn / w.dt * t end) end
    end
    local function make_body()
      local p = { at * math.cos(angle + ahead), at * math.sin(angle + ahead) }
      b = makers[kind](w, size, { mass = 10 ^ r:uniform(-4, -2), position = p, angle = 0 })
    end
    if r:uniform() < 0.5 then make_bar() make_body() else make_body() make_bar() end
    local seen, direction, was = ahead, angle + ahead, bar.angle
    for _ = 1, math.ceil(4 / math.abs(turn)) do
      w:step()
      local x, y = b.x - bar.x, b.y - bar.y
      local now = math.atan(y, x)
      local change = (now - direction + math.pi) % (2 * math.pi) - math.pi
      seen = seen + change - (bar.angle - was)
      direction, was = now, bar.angle
      if math.sqrt(x * x + y * y) > 0.45 * long then break end
      if seen < 0 or seen > math.pi then
        passed = passed + 1
        silent = silent + (warned and 0 or 1)
        break
      end
    end
  end
  return passed, silent
end

test("bars that turn fast sweep the bodies in their way", function()
  for _, stepping in ipairs { "auto", "event", "speculative" } do
    eq(swept(stepping, 13, 200), 0, stepping)
  end
end)

-- Corners of a chain belong to one of its segments, so the nearest point of the other segment may be the body's far
-- end.
test("thin bodies stay before a chain", function()
  local r = random(14)
  for k = 1, 200 do
    local w = sim.world { dt = r:choice { 1 / 30, 1 / 60, 1 / 240 }, gravity = { 0, 0 } }
    local points, dent = {}, r:choice { 0, 0.005, 0.02 }
    for i = -40, 40 do points[#points + 1] = { (i % 2) * dent, i / 2 } end
    w:chain { points = points }
    local b = w:capsule { length = 10 ^ r:uniform(-2, -0.7), radius = 0.001, position = { -r:uniform(0.2, 2), r:uniform(-1, 1) },
      velocity = { r:uniform(20, 300), r:uniform(-60, 60) }, angle = r:uniform(0, 6), angular_velocity = r:uniform(-30, 30) }
    for _ = 1, 4 do
      w:step()
      ok(not (b.x > dent + 0.01 and math.abs(b.y) < 15), k)
    end
  end
end)

-- A push that begins with a velocity of -0, and one whose square underflows.
test("signed zeros and denormals have no effect", function()
  for _, speed in ipairs { 0.0, -0.0, 5e-324, -5e-324, 1e-200, -1e-200 } do
    for _, first in ipairs { true, false } do
      local w = sim.world { gravity = { 0, 0 } }
      local function wall() w:box { type = "static", position = { 0.05, 0 }, size = { 0.1, 2 } } end
      if first then wall() end
      local b = w:box { size = { 0.05, 0.05 }, mass = 0.02, position = { -0.075, 0 }, velocity = { speed, speed } }
      if not first then wall() end
      for _ = 1, 5 do
        b:apply_force { 150, 0 }
        w:step()
      end
      near(b.x, -0.025, 1e-9)
    end
  end
end)

test("no rebound of a bisecting step gains energy", function()
  local r = random(15)
  for _ = 1, 200 do
    local e = r:choice { 0, 0.3, 0.5, 0.8, 1 }
    local w = sim.world { stepping = "bisect", dt = r:choice { 1 / 30, 1 / 60, 1 / 120, 1 / 240 }, combine_restitution = "max" }
    w:on("solver_warning", function() end)
    w:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 }, restitution = e, friction = 0 }
    if r:uniform() < 0.5 then
      w:circle { radius = 0.1, position = { 0, r:uniform(0.2, 2.2) }, friction = 0 }
    else
      w:box { size = { 0.3, 0.2 }, position = { 0, r:uniform(0.4, 2.4) }, angle = r:uniform(0, 6), friction = 0 }
    end
    local start = w:energy().total
    local before = start
    for step = 1, math.floor(3 / w.dt) do
      w:step()
      local now = w:energy().total
      ok(now <= before + 1e-9 * start, step)
      before = now
    end
  end
end)

-- In each of two tiles a disc is only as deep as it is wide on that side of the cut between them: less than the depth
-- at which a step would reverse it.
test("a bisecting step does not pass through a wall along the cut between two tiles", function()
  for _, off in ipairs { 0, 1e-3, 0.1, -0.2 } do
    for _, speed in ipairs { 130, 300, 1000 } do
      local w = sim.world { stepping = "bisect", dt = 1 / 60, gravity = { 0, 0 } }
      w:compound { type = "static", shapes = { { size = { 2, 5 }, position = { 2, -2.5 } }, { size = { 2, 5 }, position = { 2, 2.5 } } } }
      local b = w:circle { radius = 0.3, velocity = { speed, 0 }, position = { 0, off } }
      for _ = 1, 5 do
        w:step()
        ok(b.x < 0.7 + 1e-3, off, speed, b.x)
      end
    end
  end
end)

-- The force grows within the step: its halved pieces begin and end anywhere before the wall.
test("a spring does not pull a body through a wall in a bisecting step", function()
  for k = 1, 40 do
    local w = sim.world { stepping = "bisect", dt = 1 / 240, gravity = { 0, 0 } }
    w:on("solver_warning", function() end) -- of overlaps at its smallest step
    w:compound { type = "static", shapes = { { size = { 9, 50 }, position = { 6, -25 } }, { size = { 9, 50 }, position = { 6, 25 } } } }
    local b = w:circle { radius = 1, mass = 10, position = { 0.4 * k / 40, 0 } }
    w:spring { b, nil, anchor_b = { 60, 0 }, rest_length = 0, stiffness = 1e6 * k }
    for _ = 1, 10 do w:step() end
    ok(b.x < 0.5 + 1e-2, k, b.x)
  end
end)
