-- Derivatives through impacts: they are wrong in steps of a given length, which a flag reports.
local sim = require "sim2d"

local SIM2D = os.getenv "S2_SIM2D" or arg[-1]

local function flagged(name)
  for _, flag in ipairs(sim.tape_stats().flags) do
    if flag == name then return true end
  end
  return false
end

-- A number that depends on the whole motion of a body, after some time in the scene of `make`.
local function loss(make, settings, steps)
  return function(m)
    local given = { dt = 1 / 100 }
    for key, value in pairs(settings) do given[key] = value end
    local w = sim.world(given)
    local body = make(w, m)
    w:run { steps = steps or 60 }
    return body.x + 2 * body.y + body.angle + body.vx, w
  end
end

local function floor(w, friction, restitution)
  w:segment { from = { -9, 0 }, to = { 9, 0 }, friction = friction, restitution = restitution }
end

local function box(w, m, def)
  def.size, def.mass, def.friction = { 1, 1 }, m, 0.5
  def.position = def.position or { 0, 0.5 }
  return w:box(def)
end

local HIT = {
  ["a bounce"] = function(w, m)
    floor(w, 0, 0.8)
    return w:circle { radius = 0.1, position = { 0, 0.3 * m }, restitution = 0.8 }
  end,
  ["a landing"] = function(w, m)
    floor(w, 0.3, 0)
    return box(w, m, { position = { 0, 0.6 + 0.01 * m }, velocity = { 1, 0 } })
  end,
  ["a row"] = function(w, m)
    w:circle { radius = 0.5, position = { 1.1, 0 } }
    return w:circle { radius = 0.5, position = { 0, 0 }, velocity = { m, 0 } }
  end,
  ["a polygon that rolls"] = function(w, m)
    floor(w, 0.9, 0)
    local disc = {}
    for i = 1, 6 do disc[i] = { math.cos(i * math.pi / 3), math.sin(i * math.pi / 3) } end
    return w:polygon {
      vertices = disc, mass = m, friction = 0.9, position = { 0, math.sqrt(0.75) }, angular_velocity = -4,
      velocity = { 4, 0 },
    }
  end,
}

local NOT = {
  ["what rests"] = function(w, m)
    floor(w, 0.5, 0)
    return box(w, m, {})
  end,
  ["what rests and could bounce"] = function(w, m)
    floor(w, 0.5, 0.8)
    return box(w, m, { restitution = 0.8 })
  end,
  ["what slides to rest"] = function(w, m)
    floor(w, 0.5, 0)
    return box(w, m, { velocity = { 2, 0 } })
  end,
  ["what is pushed and slips"] = function(w, m)
    floor(w, 0.5, 0)
    local body = box(w, m, {})
    w:before_step(function() body:apply_force { 8, 0 } end)
    return body
  end,
  ["what rolls over a seam"] = function(w, m)
    w:chain { points = { { -9, 0 }, { 0, 0 }, { 1, 0 }, { 9, 0 } }, friction = 0.5 }
    return w:circle { radius = 0.5, position = { -0.3, 0.5 }, velocity = { 2, 0 }, mass = m, friction = 0.5 }
  end,
  ["what rolls down on a disc"] = function(w, m)
    w:circle { type = "static", radius = 1, friction = 1 }
    return w:circle {
      radius = 0.5, position = { 0.05, math.sqrt(2.25 - 0.0025) }, mass = m, friction = 1,
    }
  end,
  ["a stack"] = function(w, m)
    floor(w, 0.5, 0)
    for i = 1, 3 do box(w, 1, { position = { 0, i - 0.5 } }) end
    return box(w, m, { position = { 0, 3.5 } })
  end,
  ["what tips"] = function(w, m)
    floor(w, 0.9, 0)
    local body = box(w, m, {})
    w:before_step(function() body:apply_force({ 6, 0 }, { at = { body.x, body.y + 0.5 } }) end)
    return body
  end,
  ["what a lift carries"] = function(w, m)
    w:box { type = "kinematic", size = { 4, 1 }, position = { 0, -0.5 }, velocity = { 0, 1 } }
    return box(w, m, { velocity = { 0, 1 } })
  end,
  ["a pendulum"] = function(w, m)
    local body = w:circle { radius = 0.1, position = { 1, 0 }, mass = m }
    w:distance { body, anchor_b = { 0, 0 } }
    return body
  end,
  ["a soft landing"] = function(w, m)
    w:segment { from = { -9, 0 }, to = { 9, 0 }, contact_compliance = 1e-3 }
    return w:circle { radius = 0.5, position = { 0, 0.7 }, mass = m, contact_compliance = 1e-3 }
  end,
}

local WAYS = {
  speculative = { stepping = "speculative" },
  bisect = { stepping = "bisect" },
  substeps = { stepping = "speculative", substeps = 2 },
  reflections = { stepping = "speculative", restitution_model = "reflections" },
}

for way, settings in pairs(WAYS) do
  test("impacts are reported in steps of a given length: " .. way, function()
    for name, make in pairs(HIT) do
      sim.grad(loss(make, settings), 1.5)
      ok(flagged "impact", name)
    end
    for name, make in pairs(NOT) do
      sim.grad(loss(make, settings), 1.5)
      ok(not flagged "impact", name)
    end
  end)
end

test("event stepping splits at them: nothing to report", function()
  for name, make in pairs(HIT) do
    if name ~= "a polygon that rolls" then -- which has many meetings
      sim.grad(loss(make, { stepping = "event" }), 1.5)
      ok(not flagged "impact" and not flagged "partial", name)
    end
  end
end)

test("impacts that the loss does not depend on are not reported", function()
  local make = HIT["a bounce"]
  sim.grad(function(m)
    local w = sim.world { dt = 1 / 100, stepping = "speculative" }
    local ball = make(w, m)
    w:run { steps = 5 }
    local y = ball.y
    w:run { steps = 60 } -- it bounces afterwards
    return y
  end, 1.5)
  ok(not flagged "impact", "steps after it")
  sim.grad(function(m)
    local w = sim.world { dt = 1 / 100, stepping = "speculative" }
    make(w, 1.5)
    local other = w:circle { radius = 0.1, position = { 5, 3 }, mass = 1, velocity = { m, 0 } }
    w:run { steps = 60 }
    return other.x
  end, 1.5)
  ok(not flagged "impact", "another island")
end)

test("steps made again between images report it, too", function()
  sim.checkpoint(7)
  sim.grad(loss(HIT["a bounce"], WAYS.speculative), 1.5)
  sim.checkpoint()
  ok(flagged "impact")
end)

-- A fall of 1.4 m, a bounce, and the motion until 1.2 s: y = r + e v s - g s^2/2, v = g t, s = 1.2 - t.
test("the flag is set where the derivative is wrong", function()
  local g, e, r = 9.81, 0.8, 0.1
  local t = math.sqrt(2 * 1.4 / g)
  local s, v = 1.2 - t, g * t
  local right = (e * g * s - e * v + g * s) / v
  near(right, 1.44305118, 1e-8)
  for _, stepping in ipairs { "speculative", "bisect", "event" } do
    local slope = sim.grad(function(y)
      local w = sim.world { stepping = stepping, dt = 1 / 1000 }
      floor(w, 0, e)
      local ball = w:circle { radius = r, position = { 0, y }, restitution = e }
      w:run { steps = 1200 }
      return ball.y
    end, 1.5)
    local off = math.abs(slope - right)
    ok(flagged "impact" == (off > 1e-9) and (stepping == "event") == (off <= 1e-9),
      ("%s: %.6f"):format(stepping, slope))
  end
end)

-- Bodies that meet at the end of a step, to rounding, strike at the start of the next one. The whole motion depends on
-- p: `gap` is the distance at which they meet after so many steps.
local ON_TIME = {
  ["a ball on a floor"] = function(w, p)
    floor(w, 0.2, 1)
    return { w:circle { radius = 0.1, position = { 0, 1 + p[1] }, velocity = { 2 + p[2], -2 + p[3] }, restitution = 1,
      friction = 0.2, mass = 1 } }, 0.9 / 2
  end,
  ["two balls, not in line"] = function(w, p)
    local left = w:circle { radius = 0.5, position = { p[1], 0 }, velocity = { 1 + p[2], p[3] }, restitution = 0.7, mass = 1 }
    return { left, w:circle { radius = 0.5, position = { 1.8, 0.6 }, restitution = 0.7, mass = 2 } }, 1
  end,
  ["a ball on a moving wall"] = function(w, p)
    w:box { type = "kinematic", size = { 1, 4 }, position = { 2, 0 }, velocity = { -1, 0 }, restitution = 0.5 }
    return { w:circle { radius = 0.5, position = { p[1], 0 }, velocity = { 1 + p[2], p[3] }, restitution = 0.5, mass = 1 } },
      1 / 2
  end,
}

test("a meeting as a step ends has the derivative of the motion", function()
  for name, make in pairs(ON_TIME) do
    for _, steps in ipairs { 1, 8, 64 } do -- until they meet
      local function motion(p)
        local probe = sim.world {}
        local _, time = make(probe, { 0, 0, 0 })
        local w = sim.world { stepping = "event", dt = time / steps, gravity = { 0, 0 } }
        local bodies = make(w, p)
        w:run { steps = 2 * steps }
        local all = {}
        for _, body in ipairs(bodies) do
          for _, field in ipairs { "x", "y", "angle", "vx", "vy", "omega" } do all[#all + 1] = body[field] end
        end
        return all
      end
      local J = sim.jacobian(motion, { 0, 0, 0 })
      ok(#sim.tape_stats().flags == 0, name)
      for k = 1, 3 do
        local p, m, d = { 0, 0, 0 }, { 0, 0, 0 }, 1e-5
        p[k], m[k] = d, -d
        local up, down = motion(p), motion(m)
        for i = 1, #up do
          near(J[i][k], (up[i] - down[i]) / (2 * d), 1e-7, ("%s, %d steps: %d by %d"):format(name, steps, i, k))
        end
      end
    end
  end
end)

test("where a body rests meanwhile the derivative is reported as incomplete", function()
  local function height(y)
    local w = sim.world { stepping = "event", dt = 1 / 64 }
    floor(w, 0, 0)
    box(w, 3, {})
    local ball = w:circle { radius = 0.25, position = { 0, y }, velocity = { 0, -4 }, gravity_scale = 0, mass = 1 }
    w:run { steps = 32 }
    return ball.y
  end
  sim.grad(height, 2.25) -- meets after 16 steps
  ok(flagged "partial")
  sim.grad(height, 2.26)
  ok(not flagged "partial", "after as good as 16 steps")
end)

test("check_grad reports it, because differences of the same steps agree", function()
  local lines, print_ = {}, print
  print = function(line) lines[#lines + 1] = tostring(line) end
  local success, worst, flags = pcall(sim.check_grad, loss(HIT["a bounce"], WAYS.speculative), 1.5)
  print = print_
  ok(success, worst)
  ok(worst < 1e-6)
  eq(flags, { "impact" })
  local text = table.concat(lines, "\n")
  ok(text:find("impact: ", 1, true) and text:find('stepping = "event"', 1, true), text)
  local _, none = sim.check_grad(loss(NOT["a pendulum"], { stepping = "event" }), 1.5, { print = false })
  ok(#none == 0 or none[1] == "weak")
end)

test("one warning per call, for the first few calls", function()
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir '" .. folder .. "'"))
  local script = assert(io.open(folder .. "/script.lua", "w"))
  script:write [[
local sim = require "sim2d"
local function height(stepping)
  return function(y)
    local w = sim.world { stepping = stepping }
    w:segment { from = { -9, 0 }, to = { 9, 0 }, restitution = 0.5 }
    local ball = w:circle { radius = 0.1, position = { 0, y }, restitution = 0.5 }
    w:run { steps = 50 }
    return ball.y
  end
end
sim.grad(height "event", 0.5)
for _ = 1, tonumber(arg[1]) do sim.value_and_grad(height "speculative", 0.5) end
]]
  script:close()
  local function warnings(calls)
    local pipe <close> = assert(io.popen(("cd '%s' && '%s' script.lua %d 2>&1"):format(folder, SIM2D, calls)))
    local count, last = 0, ""
    for line in pipe:lines() do
      ok(line:find("^sim2d: warning: the gradient passes through impacts") and line:find('stepping = "event"', 1, true),
        line)
      count, last = count + 1, line
    end
    return count, last
  end
  eq(warnings(0), 0)
  eq(warnings(1), 1)
  local count, last = warnings(7)
  eq(count, 3)
  ok(last:find("further calls do not repeat", 1, true), last)
  os.execute("rm -r '" .. folder .. "'")
end)

-- A rebound of a bisecting step begins above the surface, so its speed depends on height, forces and the length of the
-- sub-step.
test("the gradient of bisecting rebounds agrees with differences", function()
  sim.random.seed(2)
  local r = sim.random.split()
  for k = 1, 20 do
    local start, dt, boxed = { y = r:uniform(0.3, 1), e = 0.7, v = 0.3 }, r:choice { 1 / 60, 1 / 120 }, r:uniform() < 0.5
    local function last(p)
      local w = sim.world { stepping = "bisect", dt = dt, combine_restitution = "max" }
      w:on("solver_warning", function() end)
      w:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 }, restitution = p.e, friction = 0.2 }
      local b = boxed and w:box { size = { 0.3, 0.2 }, position = { 0, p.y + 0.2 }, angle = 0.3, friction = 0 }
        or w:circle { radius = 0.1, position = { 0, p.y }, friction = 0.3 }
      b.velocity = { p.v, 0 }
      for _ = 1, math.floor(0.9 / dt) do w:step() end
      return b.y + 0.3 * b.vy + b.angle + b.x
    end
    local _, gradient = sim.value_and_grad(last, start)
    for key, at in pairs(start) do
      local there = { y = start.y, e = start.e, v = start.v }
      there[key] = at + 1e-7
      local more = last(there)
      there[key] = at - 1e-7
      local slope = (more - last(there)) / 2e-7
      near(gradient[key], slope, 1e-6 * (1 + math.abs(slope)), ("%d %s"):format(k, key))
    end
  end
end)

-- b runs into the limit of its slider, and c hangs on b by a spring. In steps by projection the impact is at the end of
-- a step, so the derivative of c's place misses the shift of its time. The two stages locate it.
test("a joint that reaches a limit in a step by projection sets a flag", function()
  local function place(flow, stepping)
    return function(p)
      local w = sim.world { dt = 0.01, gravity = { 0, 0 }, flow = flow, stepping = stepping }
      local b = w:box { size = { 0.2, 0.2 }, mass = 1, velocity = { p.v, 0 }, mask = 0 }
      local c = w:box { size = { 0.2, 0.2 }, mass = 1, position = { 0, 1 }, mask = 0 }
      w:slider { b, "world", anchor = { 0, 0 }, axis = { 1, 0 }, limits = { -5, p.limit } }
      w:spring { c, b, stiffness = 3, rest_length = 0.5 }
      w:run { steps = 130 }
      return c.x
    end
  end
  for _, stepping in ipairs { "speculative", "event", "bisect" } do
    local f = place("projected", stepping)
    sim.value_and_grad(f, { v = 1.5, limit = 1 })
    ok(table.concat(sim.tape_stats().flags, " "):find "impact", stepping)
    sim.value_and_grad(f, { v = 1.5, limit = 5 }) -- out of reach
    eq(#sim.tape_stats().flags, 0)
  end
  local f = place("auto", "auto")
  local _, g = sim.value_and_grad(f, { v = 1.5, limit = 1 })
  eq(#sim.tape_stats().flags, 0)
  near(g.v, (f { v = 1.51, limit = 1 } - f { v = 1.49, limit = 1 }) / 0.02, 1e-4)
end)
