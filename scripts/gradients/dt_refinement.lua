-- Measures the accuracy of derivatives through impacts as steps get shorter. A ball that bounces twice and a box that
-- lands flat and slides have trajectories in closed form. For each stepping method, the value and its derivatives (from
-- the tape and by finite differences) are compared with the closed forms. With fixed steps, the time of an impact is a
-- multiple of dt for any inputs, so the value converges, but its derivative need not converge.
local sim = require "sim2d"

local gravity, radius, half, mu = 9.81, 0.25, 0.1, 0.3

local ball = { name = "ball, y", time = 1.5, p = { y0 = 1.25, e = 0.8 }, of = { "y0", "e" } }

function ball.exact(p)
  local height = p.y0 - radius
  local fall = sim.sqrt(2 * height / gravity)
  local left, speed = ball.time - fall, gravity * fall * p.e
  while left > 2 * speed / gravity do
    left, speed = left - 2 * speed / gravity, speed * p.e
  end
  return radius + speed * left - gravity * left ^ 2 / 2
end

function ball.run(p, world)
  world:segment { from = { -5, 0 }, to = { 5, 0 }, friction = 0, restitution = p.e }
  local body = world:circle { radius = radius, position = { 0, p.y0 }, restitution = p.e, friction = 0 }
  return body, "y"
end

local box = { name = "box, x", time = 0.7, p = { y0 = 0.6, mu = mu }, of = { "y0", "mu" } }

function box.exact(p)
  local fall = sim.sqrt(2 * (p.y0 - half) / gravity)
  local after, left = 3 - p.mu * gravity * fall, box.time - fall -- the box still slides at the end
  return 3 * fall + after * left - p.mu * gravity * left ^ 2 / 2
end

function box.run(p, world)
  world:segment { from = { -5, 0 }, to = { 20, 0 }, friction = p.mu, restitution = 0 }
  local body = world:box { size = { 0.4, 2 * half }, position = { 0, p.y0 }, velocity = { 3, 0 },
    restitution = 0, friction = p.mu }
  return body, "x"
end

local function rollout(scene, stepping, steps)
  return function(p)
    local world = sim.world { gravity = { 0, -gravity }, dt = scene.time / steps, stepping = stepping }
    local body, key = scene.run(p, world)
    world:run { steps = steps, progress = false }
    return body[key]
  end
end

-- Central differences with steps small enough to stay between the jumps of fixed steps.
local function difference(f, p, name)
  local at, h = p[name], 1e-6
  p[name] = at + h
  local up = f(p)
  p[name] = at - h
  local down = f(p)
  p[name] = at
  return (up - down) / (2 * h)
end

-- Formats the number with its significant digits.
local function text(derivative)
  return ("%9.4f"):format(math.abs(derivative) < 1e-8 and 0 or derivative)
end

local rows = { columns = { "value of", "stepping", "steps", "its error", "derivative by", "exact", "tape",
  "differences" } }
for _, scene in ipairs { ball, box } do
  local value, g = sim.value_and_grad(scene.exact, scene.p)
  for _, stepping in ipairs { "speculative", "bisect", "event" } do
    for _, steps in ipairs { 90, 360, 1440 } do
      local f = rollout(scene, stepping, steps)
      local got, tape = sim.value_and_grad(f, scene.p)
      for i, name in ipairs(scene.of) do
        local by = difference(f, scene.p, name)
        local head = i == 1 and { scene.name, stepping, steps, ("%.1e"):format(math.abs(got - value)) } or
          { "", "", "", "" }
        rows[#rows + 1] = { head[1], head[2], head[3], head[4], name, text(g[name]), text(tape[name]), text(by) }
        assert(math.abs(tape[name] - by) < 1e-5, "the tape has the derivative of the steps")
        assert(stepping ~= "event" or math.abs(tape[name] - g[name]) < 1e-8, "and that of split ones is right")
      end
    end
  end
end
sim.table(rows)
