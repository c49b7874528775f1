-- Audits as scripts see them, and random scenes in which they find nothing that was not there before.
local sim = require "sim2d"
local scenes = require "audited_scenes"

test("residuals, statistics and the setting of audits", function()
  local w = sim.world { audit = true }
  eq(w.audit, true)
  w:box { type = "static", position = { 0, -0.5 }, size = { 10, 1 } }
  local b = w:box { position = { 0, 0.7 }, size = { 1, 1 } }
  w:run { duration = 1, progress = false }
  local r, s = w:residuals(), w:stats()
  for _, name in ipairs { "passage", "jump", "slip", "momentum", "energy", "distance" } do eq(r[name], 0) end
  for _, name in ipairs { "passages", "overlaps", "jumps", "slips", "momenta", "energies", "events", "unsolved" } do eq(s[name], 0) end
  near(b.y, 0.5, 1e-9)
  eq(sim.world {}.audit, false)
end)

test("implicit Euler's loss of energy shows in unexplained_energy and is no finding", function()
  local w = sim.world { audit = true, dt = 0.01, stepping = "speculative" }
  w:circle { radius = 0.1, mass = 2, position = { 0, 9 } }
  w:step(10)
  -- each step of free fall under constant g takes m (g dt)^2/2
  near(w:stats().unexplained_energy, -10 * 2 * (9.81 * 0.01) ^ 2 / 2, 1e-12)
  eq(w:stats().energies, 0)
end)

test("a world has the same bits with audits and without", function()
  for seed = 1, 60 do
    local states = {}
    for _, audit in ipairs { true, false } do
      local w, _, push = scenes.make(seed)
      w.audit = audit
      for _ = 1, 30 do
        if push then push() end
        w:step()
      end
      states[#states + 1] = w:state()
      w:close()
    end
    for i = 1, #states[1] do eq(states[1][i], states[2][i]) end
  end
end)

-- Seeds of bars that turn by 0.05 to 1 rad in a step, and of thin plates that turn by up to 60.
local function none_passes(stepping, kind, first, last, by)
  for seed = first, last, by do
    local found, is, _, message = scenes.run(seed, 60, stepping, kind)
    eq(is, kind)
    for _, what in ipairs { "passages", "overlaps", "events", "momenta" } do
      eq(found[what], 0, ("seed %d, %s: %s"):format(seed, stepping, message))
    end
  end
end

for _, stepping in ipairs { "auto", "event", "speculative" } do
  test("bars that turn fast pass through nothing and strike nothing from afar, " .. stepping, function()
    none_passes(stepping, "bar", 5, 1000, 10)
  end)
end

test("thin plates that turn by radians in a step pass through nothing", function()
  none_passes("auto", "spin", 1, 100, 1)
  none_passes("event", "spin", 101, 200, 1)
end)

test("speculative steps of thin plates that turn by radians", function()
  local some = 0
  for seed = 1, 150 do
    local found = scenes.run(seed, 60, "speculative", "spin")
    eq(found.events + found.momenta, 0, seed)
    some = some + (found.passages + found.overlaps > 0 and 1 or 0)
  end
  ok(some <= 2, some) -- 84 scenes of 150 before such steps were made in pieces; docs/stepping.md
end)

-- A bar that turns by 0.3 to 0.8 rad in a step pushes a disc or a box.
local function pushed(stepping, kind, driven, p, steps)
  local w = sim.world { dt = 1 / 60, gravity = { 0, 0 }, stepping = stepping }
  local bar = w:box { type = driven and "kinematic" or "dynamic", size = { 2, 0.05 }, angular_velocity = p.w, mass = 5, friction = 0 }
  if not driven then w:hinge { bar, anchor = { 0, 0 } } end
  local t = { position = { p.r * math.cos(0.5), p.r * math.sin(0.5) }, mass = 0.3, friction = 0, restitution = 0 }
  local b
  if kind == "disc" then t.radius = 0.08 b = w:circle(t) else t.size = { 0.2, 0.1 } b = w:box(t) end
  w:step(steps)
  return b.x + 0.3 * b.y + 0.1 * b.angle + 0.01 * b.velocity.x, w
end

test("derivatives of steps in pieces are those of differences", function()
  local exact = 0
  for _, case in ipairs { { "auto", "disc", false }, { "speculative", "disc", true }, { "speculative", "disc", false },
    { "speculative", "box", true }, { "speculative", "box", false } } do
    for _, w in ipairs { 26.3, 31.7, 39.1, 44.2 } do
      local steps = case[1] == "auto" and 1 or 2
      local function loss(p) return (pushed(case[1], case[2], case[3], p, steps)) end
      local p, h = { w = w, r = 0.6 }, 1e-6
      local value, g = sim.value_and_grad(loss, p)
      eq(value, loss(p)) -- traced and not: the same bits
      local partial = table.concat(sim.tape_stats().flags, ","):find "partial"
      for key in pairs(p) do
        local up, down = { w = p.w, r = p.r }, { w = p.w, r = p.r }
        up[key], down[key] = up[key] + h, down[key] - h
        local slope = (loss(up) - loss(down)) / (2 * h)
        if not partial then
          near(g[key], slope, 1e-5 * math.max(1, math.abs(slope)), ("%s %s %g %s"):format(case[1], case[2], w, key))
          exact = exact + 1
        end
      end
    end
  end
  ok(exact >= 36, exact)
end)

test("steps in pieces go on from a snapshot with the same bits", function()
  for _, stepping in ipairs { "auto", "event", "speculative", "bisect" } do
    for _, kind in ipairs { "bar", "spin" } do
      for seed = 5, 205, 10 do
        local w = scenes.make(seed, stepping, kind)
        w.audit = false
        w:step(4)
        local there = w:snapshot()
        w:step(8)
        local once = w:state()
        w:restore(there)
        w:step(8)
        local again = w:state()
        for i = 1, #once do eq(once[i], again[i]) end
        w:close()
      end
    end
  end
end)

test("steps in pieces have the same bits with any number of threads", function()
  for _, stepping in ipairs { "auto", "speculative" } do
    local states = {}
    for threads = 1, 2 do
      local w = sim.world { stepping = stepping, threads = threads, dt = 1 / 120 }
      for x = 0, 10, 10 do
        w:box { type = "static", position = { x, -0.5 }, size = { 4, 1 } }
        for i = 0, 23 do
          w:box { size = { 0.25, 0.2 }, position = { x - 1.2 + (i % 8) * 0.3 + (i // 8) % 2 * 0.15, 0.1 + (i // 8) * 0.2 } }
        end
        w:box { size = { 1.5, 0.06 }, position = { x - 0.5, 0.9 }, angular_velocity = 60, velocity = { 0, -5 }, mass = 4 }
      end
      w:step(15)
      if threads == 2 then ok(w:stats().shared > 0) end
      states[threads] = w:state()
      w:close()
    end
    for i = 1, #states[1] do eq(states[1][i], states[2][i]) end
  end
end)

-- `bisect` does not look ahead, `speculative` looks along planes.
test("no step of random scenes passes shapes through shapes, jumps or makes momentum", function()
  local judged = 0
  for seed = 1, 600 do
    local found, kind, stepping, message = scenes.run(seed, 60)
    eq(found.momenta, 0)
    if stepping == "auto" or stepping == "event" then
      judged = judged + 1
      local jumps = kind == "bar" and 0 or found.jumps -- of bars: docs/stepping.md
      if found.passages + found.overlaps + jumps + found.events > 0 then
        error(("seed %d, %s, %s: %s"):format(seed, kind, stepping, message))
      end
    end
  end
  ok(judged > 250)
end)

test("bodies on a constraint act on each other, whichever of them stands still", function()
  local R = sim.random.split()
  R:seed(11)
  for n = 1, 40 do
    local w = sim.world { audit = true, gravity = { 0, -9.8 } }
    local still, bodies, f = R:integer(1, 4), {}, {}
    for i = 1, 4 do
      bodies[i] = w:box { type = i == still and "static" or "dynamic", size = { 1, 0.1 }, position = { 3 * i, 0 }, density = R:uniform(5, 50) }
      f[i] = { R:uniform(-2, 2), R:uniform(-2, 2), R:uniform(-0.3, 0.3) }
    end
    local function part(i, q) return f[i][1] * (q.x - 3 * i) + f[i][2] * q.y + f[i][3] * q.a end
    w:constraint { bodies = bodies, phi = function(a, b, c, d) return part(1, a) + part(2, b) + part(3, c) + part(4, d) end }
    w:step(30)
    eq(w:stats().energies, 0)
    eq(w:stats().momenta, 0)
  end
end)
