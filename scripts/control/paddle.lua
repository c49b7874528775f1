-- A paddle learns its dynamics from ten random actions, and then plays. Its equation of motion on the rail is
--     m a = g u - f sign(v) - d v,      -1 <= u <= 1
-- and positions determine only ratios, so m = 1 kg sets the unit of the gain g, the friction f and the drag d. To play,
-- the paddle observes the ball and simulates a clone of the court until the ball comes down. (The place has a closed
-- form, because walls act as mirrors.) The paddle then plans by iLQR to be there in time. With a single look at each
-- ball, only a paddle with the right model hits most balls. If it replans five times per second, even a paddle that
-- assumes twice its true strength hits most balls.
local sim = require "sim2d"

local exp = sim.experiment("A paddle that learns and plays", { serves = { 20, "" } })

local DT, NOISE, HALF, R, TOP, COURT = 1 / 100, 1e-3, 0.12, 0.03, 2, 1 -- s; m: noise, half paddle, ball, court height and half width
local TRUTH, GUESS = { g = 8, f = 0.8, d = 0.6 }, { g = 16, f = 0.1, d = 0.1 }

-- Creates a paddle on its rail. Commands are in N.
local function paddle_in(world, p)
  local paddle = world:box { name = "paddle", size = { 2 * HALF, 0.04 }, position = { 0, -0.02 }, mass = 1, friction = 0,
    restitution = 1 }
  local rail = world:slider { paddle, axis = { 1, 0 }, anchor = { 0, -0.02 }, friction = p.f, damping = p.d }
  world:actuator { "push", joint = rail, kind = "force", range = { -p.g, p.g } }
  return rail
end

-- Returns two positions for each of ten actions of 0.2 s.
local function act_randomly(p, actions)
  local world, seen = sim.world { dt = DT, gravity = { 0, 0 } }, {}
  local rail = paddle_in(world, { g = 1e9, f = p.f, d = p.d })
  for _, u in ipairs(actions) do
    world:act { u * p.g }
    for _ = 1, 2 do
      world:step(10)
      seen[#seen + 1] = rail.translation
    end
  end
  return sim.array(seen)
end

local actions = {}
for k = 1, 10 do actions[k] = sim.random.uniform(-1, 1) end
local seen = act_randomly(TRUTH, actions)
seen = seen + NOISE * sim.randn(seen.shape)
local learned, _, info = sim.optimize.least_squares(function(p) return act_randomly(p, actions) - seen end, GUESS,
  { lower = { g = 0.1, f = 0, d = 0 } })
for _, name in ipairs { "g", "f", "d" } do
  exp:equal(({ g = "gain, N", f = "friction, N", d = "drag, N s/m" })[name], TRUTH[name], learned[name], 3 * info.deviation[name])
end

local function court(p)
  local world = sim.world { dt = DT, gravity = { 0, 0 }, stepping = "event" }
  world:segment { from = { -COURT, -1 }, to = { -COURT, TOP }, friction = 0, restitution = 1 }
  world:segment { from = { COURT, -1 }, to = { COURT, TOP }, friction = 0, restitution = 1 }
  world:segment { from = { -COURT, TOP }, to = { COURT, TOP }, friction = 0, restitution = 1 }
  local ball = world:circle { name = "ball", radius = R, mass = 0.05, friction = 0, restitution = 1 }
  return world, ball, paddle_in(world, p)
end

-- Returns the place and time at which the ball reaches the height of the paddle, simulated in a clone.
local function predict(world)
  local ahead = world:clone()
  local ball, begun = ahead.bodies.ball, world.time
  ahead.bodies.paddle.mask = 0
  while ball.y > R do ahead:step() end
  local past = (ball.y - R) / ball.vy
  return ball.x - past * ball.vx, ahead.time - begun - past
end

-- Returns the same place and time in closed form, with mirrors at COURT - R.
local function unfold(ball)
  local t, w = (ball.y - R) / -ball.vy, COURT - R
  local x = (ball.x + t * ball.vx + w) % (4 * w)
  return (x <= 2 * w and x or 4 * w - x) - w, t
end

local off, serves = 0, {} -- m, m/s
for k = 1, exp.options.serves do
  serves[k] = { sim.random.uniform(-0.8, 0.8), sim.random.uniform(-2, 2), sim.random.uniform(-2.2, -1.4) }
end

-- Returns commands that bring a paddle with these parameters to x in time t, with one command per 0.05 s.
local function plan_to(x, t, rail, p)
  local model = sim.world { dt = DT, gravity = { 0, 0 } }
  local slide = paddle_in(model, p)
  slide.translation, model.bodies.paddle.velocity = rail.translation, { rail.speed, 0 }
  return sim.control.trajectory(model, { horizon = 0.05 * math.max(1, t // 0.05), period = 0.05,
    u0 = x > rail.translation and p.g / 2 or -p.g / 2, -- more than friction
    cost = { { "place", of = slide, field = "translation", goal = x, weight = 0.1 },
      { "speed", of = slide, field = "speed", weight = 0.01 }, controls = 1e-3, terminal = { place = 1000, speed = 1 } } }).u
end

-- Returns the number of hits by a paddle that assumes these parameters and looks at the ball every `again` steps.
local function play(name, p, again)
  local world, ball, rail = court(TRUTH)
  local hits, beside = 0, 0
  for _, serve in ipairs(serves) do
    ball.position, ball.velocity = { serve[1], TOP - 2 * R }, { serve[2], serve[3] }
    local step, x, t, u = 0, nil, nil, nil
    local mx, mt = unfold(ball)
    while ball.vy < 0 and ball.y > -0.1 do
      if step % again == 0 and ball.y > 3 * R then
        x, t = predict(world)
        u = plan_to(x, t, rail, p)
        if step == 0 then off = math.max(off, math.abs(x - mx), math.abs(t - mt)) end
      end
      world:act { u[math.min(#u, step % again // 5 + 1)][1] / p.g * TRUTH.g }
      world:step()
      step = step + 1
    end
    if ball.vy > 0 then hits = hits + 1 end
    beside = beside + math.abs(rail.translation - x) / #serves
  end
  print(("%-24s hits %d of %d, by the middle of the paddle to %.3f m on average"):format(name, hits, #serves, beside))
  return hits
end

local n, ONCE, OFTEN = #serves, 1000, 20 -- steps
exp:above("hits with what was learned, by one look at each ball", n - 4, play("learned, one look", learned, ONCE))
exp:below("hits with what was guessed, by one look", n // 2, play("guessed, one look", GUESS, ONCE))
exp:above("hits with what was learned, by five looks a second", n - 1, play("learned, five a second", learned, OFTEN))
exp:above("hits with what was guessed, by five looks: feedback forgives", n - 2, play("guessed, five a second", GUESS, OFTEN))
exp:below("where and when a ball comes down: clone and mirrors, m or s", 1e-9, off)
exp:finish()
