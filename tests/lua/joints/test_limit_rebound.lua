-- Restitution of limits and of one-sided constraints.
local sim = require "sim2d"

sim.random.seed(20261128)
local R = sim.random.split()
local STEPPINGS = { "auto", "event", "speculative", "bisect" }

local function pick(list) return list[R:integer(1, #list)] end

-- Peaks of a height that bounces and the times of its impacts, the first `count` of them.
local function bounces(world, height, speed, count)
  local peaks, times, before = {}, {}, speed()
  for _ = 1, math.ceil(6 / world.dt) do
    world:step()
    local now = speed()
    if before < 0 and now > 0 then times[#times + 1] = world.time end
    if before > 0 and now <= 0 then peaks[#peaks + 1] = height() end
    before = now
    if #peaks == count then break end
  end
  return peaks, times
end

local function ball(stepping, dt, e, kind)
  local world = sim.world { stepping = stepping, dt = dt, gravity = { 0, -10 } }
  local b = world:circle { radius = 0.1, position = { 0, 1.1 }, restitution = e }
  if kind == "contact" then
    world:segment { from = { -5, 0 }, to = { 5, 0 }, restitution = e }
  elseif kind == "constraint" then
    world:constraint { bodies = { b }, unilateral = true, restitution = e, phi = function(q) return q.y - 0.1 end }
  else
    world:slider { b, anchor = { 0, 1.1 }, axis = { 0, 1 }, limits = { -1 }, restitution = e }
  end
  return bounces(world, function() return b.y - 0.1 end, function() return b.vy end, 2)
end

-- Do the two stages make the step? They stop at a limit where it closes.
local function located(stepping, kind) return kind ~= "constraint" and (stepping == "auto" or stepping == "event") end

test("a ball on a one-sided row or a limit bounces as on a contact of speculative steps, or of event steps", function()
  for _ = 1, 20 do
    local e, dt = R:uniform(0.3, 1), 1 / R:uniform(100, 500)
    local peaks, times = {}, {}
    for _, way in ipairs { "speculative", "event" } do peaks[way], times[way] = ball(way, dt, e, "contact") end
    for _, stepping in ipairs(STEPPINGS) do
      for _, kind in ipairs { "constraint", "slider" } do
        local p, t = ball(stepping, dt, e, kind)
        local as = located(stepping, kind) and "event" or "speculative"
        near(p, peaks[as], 1e-9)
        near(t, times[as], 1e-9)
      end
    end
  end
end)

test("heights go by e^2, and times between bounces by e", function()
  for _ = 1, 12 do
    local e, dt, stepping = R:uniform(0.4, 1), 5e-4, pick(STEPPINGS)
    local kind = pick { "constraint", "slider" }
    local peaks, times = ball(stepping, dt, e, kind)
    local fall = math.sqrt(2 / 10)
    -- implicit Euler loses v h of the height in each flight, and an impact is late by up to h
    near(peaks[1], e ^ 2, 3 * math.sqrt(20) * dt)
    near(peaks[2], e ^ 4, 5 * math.sqrt(20) * dt)
    near(times[1], fall, 2 * dt)
    near(times[2] - times[1], 2 * e * fall, 5 * dt)
  end
end)

test("a pendulum at its limit leaves with e times the speed it arrived with", function()
  for _ = 1, 20 do
    local e, dt, stop = R:uniform(0.3, 1), 2e-4, R:uniform(-2.3, -0.6)
    local world = sim.world { stepping = pick(STEPPINGS), dt = dt }
    local rod = world:box { size = { 1, 0.1 }, position = { 0.5, 0 } }
    world:hinge { rod, anchor = { 0, 0 }, limits = { stop, 0.1 }, restitution = e }
    local low = 0.5 * math.sin(stop)
    local peak, before = nil, 0
    while not peak do
      world:step()
      if before > 0 and rod.omega <= 0 then peak = rod.y - low end
      before = rod.omega
      ok(world.time < 6)
    end
    -- beyond the lowest point the height of the limit is less than the height of the fall on the way back
    local bottom = stop < -math.pi / 2 and -0.5 or low
    local energy = -low * e ^ 2
    if energy > low - bottom then near(peak, energy, 5e-3) end
  end
end)

-- A chain of bodies with limits on all joints, some with springs in addition.
local function chain(world, seed, least)
  sim.random.seed(seed)
  local r = sim.random.split()
  local last, x = "world", 0
  for _ = 1, r:integer(1, 4) do
    local length = r:uniform(0.2, 1.2)
    local b = world:box { size = { length, 0.1 }, position = { x + length / 2, 0 }, velocity = { 0, r:uniform(-2, 2) },
      angular_velocity = r:uniform(-5, 5), density = r:uniform(0.1, 3) }
    local e, kind = least and r:uniform(least, 1) or 0, r:integer(1, 5)
    if kind <= 2 then
      world:hinge { b, last, anchor = { x, 0 }, limits = { -r:uniform(0, 1), r:uniform(0, 1) }, restitution = e }
    elseif kind == 3 then
      world:slider { b, last, anchor = { x, 0 }, axis = { r:uniform(-1, 1), r:uniform(-1, 1) },
        limits = { -r:uniform(0, 0.3), r:uniform(0, 0.3) }, restitution = e }
    elseif kind == 4 then
      world:rope { b, last, anchor_a = { x, 0 }, anchor_b = { x, 0.5 }, max_length = r:uniform(0.55, 0.75), restitution = e }
    else
      world:spring { b, last, anchor_a = { x, 0 }, anchor_b = { x, 0.5 }, stiffness = r:uniform(5, 50),
        limits = { 0.4, r:uniform(0.55, 0.75) }, restitution = e }
    end
    last, x = b, x + length
  end
end

-- The largest gain of energy in a step, over the kinetic energy at that time.
local function gain(stepping, seed, least)
  local world = sim.world { stepping = stepping, dt = 1 / 1000, gravity = { 0, seed % 3 == 0 and 0 or -9.81 } }
  chain(world, seed, least)
  world:step()
  local before, most, rebounds = world:energy().total, 0, 0
  local joints, speeds = world.joints, {}
  for _ = 1, 200 do
    for k, joint in ipairs(joints) do speeds[k] = joint.speed end
    world:step()
    for k, joint in ipairs(joints) do
      if speeds[k] * joint.speed < -0.01 then rebounds = rebounds + 1 end
    end
    local now = world:energy()
    most = math.max(most, (now.total - before) / (1 + now.kinetic))
    before = now.total
  end
  return most, rebounds
end

test("no rebound adds energy", function()
  local rebounds, none = 0, 0
  for case = 1, fewer(200, 24) do
    local stepping = STEPPINGS[case % 4 + 1]
    -- the gain of projections occurs without a rebound as well
    none = math.max(none, (gain(stepping, case, nil)))
    local most, count = gain(stepping, case, case % 2 == 0 and 1 or 0)
    rebounds = rebounds + count
    ok(most < 1e-3, case, most)
  end
  ok(none < 1e-3, none)
  ok(rebounds > fewer(200, 24), rebounds)
end)

test("a restitution of 0 changes no bit, and neither does the default", function()
  for case = 1, fewer(40, 8) do
    local stepping = pick(STEPPINGS)
    local function run(e)
      local world = sim.world { stepping = stepping }
      local seed = case
      sim.random.seed(seed)
      local r = sim.random.split()
      local x = r:uniform(0.5, 1)
      local b = world:box { size = { x, 0.2 }, position = { 0, 0 }, velocity = { r:uniform(-1, 1), 0 } }
      local joint = world:slider { b, anchor = { 0, 0 }, axis = { 1, 0.3 }, limits = { -x, x }, restitution = e }
      local c = world:box { size = { 0.4, 0.2 }, position = { 1, 0 }, angular_velocity = 2 }
      world:hinge { c, b, anchor = { 0.5, 0 }, limits = { -x, x }, restitution = e }
      if e == nil then eq(joint.restitution, 0.0) end
      world:step(60)
      return { b.x, b.y, b.angle, b.vx, b.vy, b.omega, c.x, c.y, c.angle, c.vx, c.vy, c.omega }
    end
    eq(run(0), run(nil))
  end
end)

test("a limit that moves throws back by the relative speed", function()
  for _, stepping in ipairs(STEPPINGS) do
    local world = sim.world { stepping = stepping, gravity = { 0, 0 } }
    local wall = world:box { size = { 0.1, 0.1 }, type = "kinematic", velocity = { 1, 0 } }
    local b = world:box { size = { 0.1, 0.1 }, position = { 1, 0 }, velocity = { -2, 0 } }
    world:slider { b, wall, anchor = { 1, 0 }, axis = { 1, 0 }, limits = { -0.5 }, restitution = 0.5 }
    world:run { duration = 1 }
    near(b.vx, 1 + 0.5 * 3, 1e-9)
  end
end)

test("the restitution of a joint can be read and set, and is copied", function()
  local world = sim.world {}
  local b = world:circle { radius = 0.1, position = { 1, 0 } }
  local hinge = world:hinge { b, anchor = { 0, 0 }, limits = { -0.5, 0.5 }, restitution = 0.25, name = "h" }
  eq(hinge.restitution, 0.25)
  hinge.restitution = 1
  local copy = world:clone()
  eq(copy.joints.h.restitution, 1.0)
  local state = world:snapshot()
  local function run(w)
    w:run { duration = 1 }
    return w.joints.h.angle
  end
  local angle = run(world)
  eq(run(copy), angle)
  world:restore(state)
  eq(run(world), angle)
  ok(math.abs(angle) < 0.5)
  for _, bad in ipairs { -0.1, 1.1, 0 / 0, math.huge } do
    raises("restitution", function() hinge.restitution = bad end)
  end
  eq(hinge.restitution, 1.0)
  local weld = world:weld { b, anchor = { 1, 0 } }
  raises("restitution", function() weld.restitution = 0.5 end)
  local two_sided = world:constraint { bodies = { b }, phi = function(q) return q.y end }
  raises("unilateral", function() two_sided.restitution = 0.5 end)
end)

test("derivatives agree with differences, or are flagged", function()
  local flagged = 0
  for case = 1, fewer(60, 12) do
    local stepping, kind, dt = pick(STEPPINGS), case % 4, 1 / R:uniform(60, 200)
    local room, way, steps = R:uniform(0.1, 0.4), R:uniform(0, 6.28), R:integer(20, 60)
    local function loss(p)
      local world = sim.world { stepping = stepping, dt = dt }
      local b = world:box { size = { 1, 0.2 }, position = { 0.5, 0 },
        velocity = { math.cos(way) * p.v, math.sin(way) * p.v }, angular_velocity = kind == 1 and -p.v or 0 }
      local limits = { -room, room * p.room }
      if kind == 0 then
        world:slider { b, anchor = { 0, 0 }, axis = { math.cos(way), math.sin(way) }, limits = limits, restitution = p.e }
      elseif kind == 1 then
        world:hinge { b, anchor = { 0, 0 }, limits = limits, restitution = p.e }
      elseif kind == 2 then
        world:rope { b, anchor_a = { 0, 0.05 }, anchor_b = { 0, 1 }, max_length = 0.95 + room * p.room, restitution = p.e }
      else
        world:constraint { bodies = { b }, unilateral = true, restitution = p.e,
          phi = function(q) return q.y + 0.3 * sim.sin(q.a) + room end }
      end
      world:step(steps)
      return b.x + 2 * b.y + 0.3 * b.angle + 0.2 * (b.vx + b.vy + b.omega)
    end
    local p = { v = R:uniform(2, 5), room = 1.1, e = R:uniform(0.3, 0.9) }
    local _, g = sim.value_and_grad(loss, p)
    local flags = table.concat(sim.tape_stats().flags, ",")
    for name, value in pairs(p) do
      local up, down, h = {}, {}, 1e-5 -- the row of a constraint has an accuracy of 1e-10
      for key, number in pairs(p) do up[key], down[key] = number, number end
      up[name], down[name] = value + h, value - h
      local slope = (loss(up) - loss(down)) / (2 * h)
      near(g[name], slope, 1e-5 * math.max(1, math.abs(slope)), name)
    end
    if g.e ~= 0 then -- with the two stages a rebound is complete: its time has a derivative as well
      local whole = located(stepping, kind == 3 and "constraint" or "limit")
      eq(flags:find "partial" ~= nil, not whole, flags)
      flagged = flagged + (whole and 0 or 1)
    end
  end
  ok(flagged > fewer(20, 3), flagged)
end)
