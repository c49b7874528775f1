-- A planar three-link arm, seen from above, pushes a disc over a table. The mass of the disc and the friction of the
-- table are unknown, and one push identifies both through the contact. The next push is planned to bring the disc to
-- rest at a mark.
local sim = require "sim2d"

local exp = sim.experiment("An arm pushes what it has learned")
local TRUTH, GUESS, MARK = { mass = 0.8, rub = 1.6 }, { mass = 0.5, rub = 0.6 }, 0.7 -- units: kg, N; mark in m

local function scene(p)
  local world = sim.world { dt = 1 / 100, gravity = { 0, 0 }, stepping = "speculative" }
  local below, angles = nil, { 0.6, -1.2, 0.5 }
  local x, y, turn = 0, 0, math.pi / 2
  for k = 1, 3 do
    turn = turn + angles[k]
    local dx, dy = 0.3 * math.cos(turn), 0.3 * math.sin(turn)
    local link = world:box { size = { 0.3, 0.04 }, mass = 1, position = { x + dx / 2, y + dy / 2 }, angle = turn, category = 2,
      mask = k == 3 and 1 or 0, friction = 0.2 }
    local joint = world:hinge { link, below, anchor = { x, y } }
    world:actuator { "joint " .. k, joint = joint, kind = "position", kp = 400, kd = 40 }
    below, x, y = link, x + dx, y + dy
  end
  local disc = world:circle { radius = 0.05, mass = p.mass, position = { x + 0.1, y - 0.12 }, friction = 0.2 }
  world:ground_friction { disc, max_force = p.rub, max_torque = 0.05 * p.rub }
  world:observe { "disc", of = disc, field = { "x", "y" }, noise = 0.001 }
  return world, disc
end

-- A sweep to the right: all joints turn to the end position of the arm within `time`.
local function command(strength, t, time)
  local s = math.min(1, t / time)
  return { -0.5 * strength * s, -0.6 * strength * s, -0.4 * strength * s }
end

local function push(p, strength, log)
  local world, disc = scene(p)
  for k = 1, log and 121 or 250 do
    if log then
      local seen, u = world:observation().disc, command(strength, (k - 1) / 100, 0.4)
      log.t[k], log["disc.x"][k], log["disc.y"][k] = (k - 1) / 100, seen[1], seen[2]
      for j = 1, 3 do log["joint " .. j][k] = u[j] end
    end
    world:act(command(strength, (k - 1) / 100, 0.4))
    world:step()
  end
  return disc
end

-- The data from one push of the true disc.
local log = { t = {}, ["disc.x"] = {}, ["disc.y"] = {}, ["joint 1"] = {}, ["joint 2"] = {}, ["joint 3"] = {} }
push(TRUTH, 1, log)
local fit = sim.fit { world = scene, data = log, split = 1, parameters = { mass = { GUESS.mass, 0.1, 5, log = true },
  rub = { GUESS.rub, 0.1, 10, log = true } } }
print(fit)

-- Returns the distance that the disc moves after a push of this strength, and its remaining speed.
local function way(p, strength)
  local _, start = scene(p)
  local disc = push(p, strength)
  return math.sqrt((disc.x - start.x) ^ 2 + (disc.y - start.y) ^ 2), math.sqrt(disc.vx ^ 2 + disc.vy ^ 2)
end

-- Returns the strength that brings a disc to the mark according to the model p. Bisection works because the distance
-- increases with the strength.
local function plan(p)
  local lo, hi = 0.3, 1.2
  for _ = 1, 30 do
    local middle = (lo + hi) / 2
    if way(p, middle) < MARK then lo = middle else hi = middle end
  end
  return (lo + hi) / 2
end

local learned, guessed = plan(fit.parameters), plan(GUESS)
local by_learned, speed = way(TRUTH, learned)
local by_guess = way(TRUTH, guessed)
print(("to go %.2f m: %.3f m by what was learned, %.3f m by what was guessed"):format(MARK, by_learned, by_guess))
exp:below("largest error, in deviations the fit says", 4, math.max(math.abs(fit.parameters.mass - TRUTH.mass) / fit.deviation.mass,
  math.abs(fit.parameters.rub - TRUTH.rub) / fit.deviation.rub))
exp:equal("residuals, in deviations of the noise", 1, fit.train, 0.15)
exp:below("from the mark by what was learned, m", 0.01, math.abs(by_learned - MARK))
exp:above("by what was guessed, m", 0.05, math.abs(by_guess - MARK))
exp:below("speed at the end, m/s", 1e-6, speed)
exp:finish()
