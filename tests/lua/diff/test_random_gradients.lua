-- Gradients of random scenes (random_scenes.lua) by a few of their numbers each, compared with extrapolated central
-- differences.
local sim = require "sim2d"
local scenes = require "random_scenes"
local scene, loss, with, leaves, at = scenes.scene, scenes.loss, scenes.with, scenes.leaves, scenes.at

-- ---- Comparison ------------------------------------------------------------------------------

local function moved(t, path, by, depth)
  depth = depth or 1
  if depth > #path then return t + by end
  return with(t, { [path[depth]] = moved(t[path[depth]], path, by, depth + 1) })
end

-- The class of a number: its path without indices.
local function class_of(path)
  local names = {}
  for _, key in ipairs(path) do names[#names + 1] = type(key) == "string" and key or nil end
  return table.concat(names, ".")
end

-- Extrapolated central difference, and its difference from the one-sided one.
local function difference(s, path, h, middle)
  local function f(by) return loss(s, moved(s.p, path, by)) end
  local right, left, right2, left2 = f(h), f(-h), f(h / 2), f(-h / 2)
  local d = (4 * (right2 - left2) / h - (right - left) / (2 * h)) / 3
  local one = (4 * right2 - right - 3 * middle) / h
  return d, math.abs(one - d)
end

-- "right", "wrong", or "switch": no two step lengths give equal differences, or the two sides differ, or the value
-- jumps (then the differences grow as the step shrinks).
local function judge(s, path, g, floor, middle)
  if g ~= g then return "wrong" end
  local x, last, last_kink = at(s.p, path), nil, nil
  local size = class_of(path):find "compliance" and math.abs(x) or math.max(math.abs(x), 0.1)
  local verdict = "switch"
  for _, part in ipairs { 1e-4, 1e-5, 1e-3, 1e-6 } do
    local d, kink = difference(s, path, part * size, middle)
    local scale = math.max(math.abs(g), math.abs(d), floor)
    local noise = 1e-14 * math.max(1, math.abs(middle)) / (part * size)
    if math.abs(d - g) <= 1e-6 * scale + noise then return "right" end
    if part == 1e-5 and kink > 5 * last_kink and kink > noise then return "switch" end
    last_kink = kink
    if last and math.abs(d - last) < 0.1 * math.abs(d - g) and kink < 0.1 * math.abs(d - g) then
      verdict = "wrong"
    end
    last = d
  end
  return verdict
end

-- Counts the verdicts of `most` numbers. With `flagged`, wrong ones count as "said" where a flag reports them.
local function examine(seed, s, most, flagged)
  local count = { right = 0, wrong = 0, switch = 0, said = 0 }
  local middle, g = sim.value_and_grad(function(p) return loss(s, p) end, s.p)
  local flags = table.concat(sim.tape_stats().flags, ",")
  local said = flagged and (flags:find "weak" or flags:find "partial" or flags:find "undetermined")
  eq(middle, loss(s, s.p), "seed " .. seed)
  local list, classes, names, floor = leaves(s.p, {}, {}), {}, {}, 0
  for _, path in ipairs(list) do
    local class = class_of(path)
    if not classes[class] then
      classes[class], names[#names + 1] = { most = 0 }, class
    end
    local one_sided = at(s.p, path) == 0 and
      (class:find "restitution" or class:find "viscosity" or class:find "compliance")
    if not one_sided then table.insert(classes[class], path) end
    classes[class].most = math.max(classes[class].most, math.abs(at(g, path)))
    floor = math.max(floor, 1e-6 * math.abs(at(g, path)))
  end
  local R = scenes.rng()
  R:shuffle(names)
  for i = 1, math.min(most, #names) do
    local class = classes[names[i]]
    local path = class[R:integer(1, math.max(1, #class))]
    local what = path == nil and "switch" or judge(s, path, at(g, path), math.max(1e-3 * class.most, floor), middle)
    what = what == "wrong" and said and "said" or what
    count[what] = count[what] + 1
    if what == "wrong" then
      print(("  seed %d (%s, %s): %s"):format(seed, s.kind, s.feature, table.concat(path, ".")))
    end
  end
  return count
end

local PART = fewer(1, 4) -- every fourth scene under sanitizers

test("gradients of random scenes agree with differences", function()
  local sum = { right = 0, wrong = 0, switch = 0, said = 0 }
  for seed = PART - 1, 89, PART do
    local s = scene(seed, seed > 80 and "speculative" or nil)
    for what, n in pairs(examine(seed, s, 5, true)) do sum[what] = sum[what] + n end
  end
  eq(sum.wrong, 0)
  ok(sum.right >= 340 / PART, sum.right .. " numbers right")
  ok(sum.said <= 0.02 * sum.right, sum.said .. " with a flag")
  print(("  %d right, %d at a switch, %d with a flag"):format(sum.right, sum.switch, sum.said))
end)

test("gradients of impulses in event stepping agree with differences", function()
  local sum = { right = 0, wrong = 0, switch = 0, said = 0 }
  for seed = 0, 80, 2 * PART do
    local s = scene(seed)
    s.impulses = true
    s.world.stepping, s.world.geometric_stiffness = "event", nil
    s.world.stabilization = s.world.stabilization == "none" and "none" or nil
    s.p.world.alpha, s.p.world.beta = nil, nil
    for what, n in pairs(examine(seed, s, 3, true)) do sum[what] = sum[what] + n end
  end
  eq(sum.wrong, 0)
  ok(sum.right >= 90 / PART, sum.right .. " numbers right")
  ok(sum.said <= 5, sum.said .. " with a flag")
  print(("  %d right, %d at a switch, %d with a flag"):format(sum.right, sum.switch, sum.said))
end)

-- ---- Former findings -------------------------------------------------------------------------

local function right(loss, p, step)
  local worst = sim.check_grad(loss, p, { print = false, step = step or 1e-4 })
  ok(worst < 1e-6, ("off by %.1e"):format(worst))
end

test("data of a piece for a point that did not press stay out of the part before", function()
  for substeps = 1, 4 do
    right(function(p)
      local w = sim.world { stepping = "event", dt = substeps / 180, substeps = substeps }
      w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 }, friction = 0.8 }
      local b = w:box { position = { 0, 0.38 }, size = { 1, 0.7 }, angle = p.a, velocity = { p.vx, -1 },
        angular_velocity = 0.5, friction = 0.4, mass = 1 }
      w:run { steps = 12 // substeps }
      return b.x + 2 * b.y + 3 * b.angle + 0.1 * b.vx + 0.2 * b.vy + 0.3 * b.omega
    end, { a = 0.03, vx = 0.3 }, 1e-5)
  end
end)

test("impulses of a bisected step turn with the right factor in the next", function()
  local function f(p)
    local w = sim.world { stepping = "bisect", dt = 0.02, geometric_stiffness = "on" }
    w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 } }
    local first = w:circle { radius = 0.1, position = { 1, 2 }, mass = p.m }
    local ball = w:circle { radius = 0.1, position = { 1.8, 2 }, velocity = { 1, p.v } }
    w:distance { first, nil, anchor_b = { 0, 2.2 } }
    w:distance { ball, first }
    w:circle { radius = 0.1, position = { 5, 0.6 }, velocity = { 0, -3 } } -- it halves steps
    w:run { steps = 30 }
    return ball.x + 0.5 * ball.y + first.vx
  end
  right(f, { m = 1, v = -1 })
end)

test("modes of a correction next to an open limit depend on the correction alone", function()
  local function f(p)
    local w = sim.world { stepping = "speculative" }
    w:box { type = "static", position = { 0, -0.5 }, size = { 50, 1 }, friction = 0.8 }
    local frame = w:box { position = { 0, 0.85 }, size = { 2, 0.4 }, mass = p.m, velocity = { 1, 0 } }
    for _, x in ipairs { -0.7, 0.7 } do
      local tyre = w:circle { position = { x, 0.31 }, radius = 0.3, mass = 1, inertia = p.inertia, friction = 0.8 }
      w:wheel { tyre, frame, anchor = { x, 0.31 }, axis = { p.lean, 1 }, stiffness = p.k, damping = 50,
        limits = { -0.1, 0.1 }, motor = { speed = -10, max_torque = 8 } }
    end
    w:run { steps = 40 }
    return frame.x + frame.y + frame.angle + frame.vx
  end
  local p = { m = 12, inertia = 0.05, k = 900, lean = 0.05 }
  right(f, p)
  sim.grad(f, p)
  eq(sim.tape_stats().flags, { "impact" }) -- as the tyres land, and nothing else
end)

test("points that share friction slide against each other", function()
  for i = 1, 20 do
    local function f(p)
      local w = sim.world { dt = 0.01, combine_friction = "average" }
      w:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 }, friction = 0.1 + 0.03 * (i % 10) }
      local rod = w:capsule { length = 0.4, radius = 0.15, position = { 0, 0.5 }, angle = p.angle, mass = p.m,
        velocity = { 0.5 * (i % 4), -1 }, angular_velocity = i % 7 - 3, friction = 0.1,
        contact_compliance = 1e-3, contact_damping = 10 * (i % 3) }
      w:run { steps = 70 }
      return rod.x + rod.y + rod.angle
    end
    -- Within 1e-4 of two of these masses a landing on both points begins a step earlier: a kink.
    right(f, { angle = 0.3, m = 0.8 }, 1e-5)
  end
end)

test("a motor at its bound on a compliant hinge", function()
  for i = 1, 10 do
    local function f(p)
      local w = sim.world { dt = 0.01 }
      local a = w:box { position = { 0.4, 3 }, size = { 0.35, 0.3 }, mass = p.m, velocity = { 0.1, 0 } }
      local b = w:capsule { position = { 1, 3.1 }, length = 0.3, radius = 0.1, mass = 1, angular_velocity = p.w }
      w:hinge { a, nil, anchor = { 0, 3 }, compliance = 2e-3, damping = 5,
        motor = { speed = -1.4, max_torque = p.most } }
      w:slider { b, a, anchor = { 0.8, 3 }, axis = { 0.4, -0.9 }, friction = p.friction }
      w:run { steps = 4 }
      return a.angle + b.x + 0.3 * b.vy
    end
    right(f, { m = 1.3, w = 0.5, most = 0.5 + 0.37 * i, friction = 0.1 + 0.023 * i })
  end
end)

test("ground friction of bodies that collide", function()
  local function f(p)
    local w = sim.world { gravity = { 0, 0 }, dt = 1 / 60 }
    local a = w:circle { radius = 0.25, position = { 0, 0 }, velocity = { 2, p.v }, mass = p.m, restitution = 0.5 }
    local b = w:circle { radius = 0.25, position = { 0.8, 0.2 }, velocity = { -0.5, 1 }, mass = 1, restitution = 0.5 }
    for _, body in ipairs { a, b } do
      w:ground_friction { body, max_force = p.most, max_torque = 0.1 }
    end
    w:run { steps = 40 }
    return a.x + a.y + b.x - b.y
  end
  right(f, { v = 0.3, m = 1.5, most = 1.2 })
end)

test("forces that turn about a body's centre, at beta = 1/2", function()
  local function f(p)
    local w = sim.world { dt = 0.02, alpha = 0.5, beta = p.beta, geometric_stiffness = "on" }
    local bar = w:box { position = { 0.5, 0 }, size = { 1, 0.1 }, mass = 1, velocity = { 0.1, 1 } }
    local disc = w:circle { radius = 0.2, position = { 1, p.y }, mass = p.m, angular_velocity = 3 }
    w:hinge { bar, nil, anchor = { 0, 0 } }
    w:hinge { disc, bar, anchor = { 1, 0 }, compliance = 1e-4 }
    w:run { steps = 20 }
    return bar.angle + disc.x + 0.2 * disc.angle
  end
  right(f, { y = 0, m = 0.7, beta = 0.5 }, 1e-6) -- there is a kink in the slope
end)

test("commands of actuators carry derivatives", function()
  local function f(p)
    local w = sim.world {}
    local cart = w:box { size = { 0.4, 0.2 }, mass = p.m }
    local pole = w:box { size = { 0.05, 0.5 }, mass = 0.2, position = { 0, 0.25 } }
    local rail = w:slider { cart, nil, anchor = { 0, 0 }, axis = { 1, 0 } }
    local hinge = w:hinge { pole, cart, anchor = { 0, 0 } }
    local ball = w:circle { radius = 0.1, position = { 3, 0 }, mass = 1 }
    local spring = w:spring { ball, nil, anchor_b = { 3, 1 }, stiffness = 50 }
    w:actuator { name = "push", joint = rail, kind = "force", range = { -5, 5 } }
    w:actuator { name = "turn", joint = hinge, kind = "torque", delay = 0.02 }
    w:actuator { name = "pull", joint = spring, kind = "force" }
    w:actuator { name = "lift", body = ball, kind = "force", direction = { 0, 1 } }
    w:actuator { name = "jet", body = ball, kind = "force", direction = { p.jet, 1 }, frame = "body", at = { 0.1, p.jet } }
    local clipped = 0
    for i = 1, 40 do
      clipped = clipped + w:act { push = p.k * (1 - rail.translation), turn = p.t * hinge.speed, pull = p.pull,
        lift = i == 20 and p.lift or 0, jet = p.lift }
      w:step()
    end
    ok(clipped == 0)
    return cart.x + pole.angle + ball.y + 0.1 * ball.x
  end
  right(f, { m = 1, k = 3, t = -0.1, pull = 2, lift = 5, jet = 0.3 })
  eq(sim.grad(function(p)
    local w = sim.world { gravity = { 0, 0 } }
    local cart = w:box { size = { 1, 1 }, mass = 1 }
    w:actuator { name = "push", body = cart, kind = "force", direction = { 1, 0 }, range = { -5, 5 } }
    eq(w:act { push = p.u }, 1)
    w:step(10)
    return cart.x
  end, { u = 7 }), { u = 0.0 }) -- clipped
  raises("push.*finite number expected", function()
    local w = sim.world {}
    local cart = w:box { size = { 1, 1 } }
    w:actuator { name = "push", body = cart, kind = "force", direction = { 1, 0 } }
    w:act { push = cart }
  end)
end)

local function is_weak(f, p)
  sim.grad(f, p)
  return table.concat(sim.tape_stats().flags, " "):find "weak" ~= nil
end

test("if two points land flat, the one with more friction holds", function()
  local function f(p)
    local w = sim.world { dt = 1 / 60, stepping = "speculative" } -- otherwise one of them comes first
    w:box { type = "static", position = { 0, -0.5 }, size = { 0.6, 1 }, friction = 0.5, angle = p.tilt }
    local box = w:box { size = { 0.7, 0.3 }, position = { 0.1, 0.1501 }, angle = p.angle, mass = p.m, friction = 0.6,
      velocity = { 0, -1 } }
    w:step(2)
    return box.x + 0.5 * box.angle + 0.1 * box.vx
  end
  local p = { tilt = 0, angle = 0, m = 1.5 }
  right(f, p, 1e-6)
  ok(not is_weak(f, p))
end)

test("boxes at rest on two corners are on no edge", function()
  local function f(p)
    local w = sim.world { dt = 1 / 60 }
    w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 }, friction = 0.5 }
    local low = w:box { size = { 0.8, 0.3 }, position = { 0, 0.2 }, mass = 1.5, friction = 0.6, velocity = { p.v, 0 } }
    local high = w:box { size = { 0.6, 0.3 }, position = { 0.02, 0.51 }, mass = 2, friction = 0.6, restitution = 0.3 }
    w:run { steps = 60 }
    return low.x + high.x + low.y + high.y + high.angle
  end
  local p = { v = 1.3 }
  right(f, p, 1e-5)
  ok(not is_weak(f, p))
end)

test("bodies that the motion pressed together are on no edge in impacts and corrections", function()
  for _, seed in ipairs { 10, 13, 28, 46, 173, 272 } do
    local s = scene(seed, "speculative")
    ok(not is_weak(function(p) return loss(s, p) end, s.p), "seed " .. seed)
  end
end)

test("a load that just reaches the friction there is stays on an edge", function()
  ok(is_weak(function(p)
    local w = sim.world { dt = 1 / 64, gravity = { 0, -8 } }
    w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 }, friction = 0.5 }
    local box = w:box { size = { 1, 0.25 }, position = { 0, 0.125 }, mass = 1, friction = 0.5 }
    box:apply_force { p.push, 0 }
    w:step()
    return box.x
  end, { push = 4 }))
end)

-- Differences by these angles are smooth, so only the flag reports that the gradient misses a part.
test("the angle of a box that lands flat is flagged", function()
  for seed, body in pairs { [1441] = 3, [1703] = 2, [2810] = 2 } do
    local s = scene(seed)
    eq(at(s.p, { "bodies", body, "angle" }), 0)
    sim.grad(function(p) return loss(s, p) end, s.p)
    ok(table.concat(sim.tape_stats().flags, " "):find "together", "seed " .. seed)
  end
end)
