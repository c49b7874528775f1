-- A ball is thrown at a target, directly or via the ground and a wall. The unknowns are the velocity of the throw, and
-- the times and impulses of the bounces. This is task 2 of Zhong, Han and Brikis (2022, arXiv 2207.05060), which
-- scripts/gradients/diff_sim_2_target.lua solves by descent along the gradient of a simulation.
--
-- Stages begin at the times of possible bounces and have free durations. Between them the ball flies on parabolas, so
-- the motion is exact. The impulse p of a bounce is complementary to the gap, and to the difference between the speed
-- after the bounce and -e times the speed before. From all zeros, the solver finds the direct throw. From the throw of
-- the task, it keeps both bounces.
local sim = require "sim2d"
local shared = require "shared"

local exp = sim.experiment "Contact-implicit: a throw at a target (task 2 of arXiv 2207.05060)"
local T, R, WALL, G, E = 0.6, 0.1, 1.75, 9.8, 0.92
local FROM, TARGET, STAGES = { -0.5, 1 }, { -2, 1.5 }, 4

local function throw(mu, guess)
  return sim.control.trajectory { method = "contact", stages = STAGES, guess = guess, smoothing = 0.01, curvature = false,
    -- ground, wall: impulses of a bounce; the numbers with more and less are parts of a speed above and below that of
    -- the law of impact; flight: duration of the flight afterwards
    unknowns = { "x", "y", "vx", "vy", "t", "flight", "ground", "wall", "ground_more", "ground_less", "wall_more", "wall_less" },
    start = { x = FROM[1], y = FROM[2], t = 0 },
    goal = { { of = "x", value = TARGET[1] }, { of = "y", value = TARGET[2] }, { of = "t", value = T } },
    stage = function(s, n)
      local low, right = s.y - R, WALL - R - s.x
      local stage = { equal = {}, positive = { s.ground, s.wall, low, right, s.flight },
        products = { { s.ground, low }, { s.wall, right } } }
      for _, name in ipairs { "ground", "wall" } do
        for _, side in ipairs { "_more", "_less" } do
          table.insert(stage.positive, s[name .. side])
          table.insert(stage.products, { s[name], s[name .. side] })
        end
      end
      if not n then return stage end
      -- friction of a ball that slides to the right on the ground and upwards on the wall
      local vx, vy = s.vx - s.wall - mu * s.ground, s.vy + s.ground - mu * s.wall
      stage.equal = { s.vy + s.ground + E * s.vy - s.ground_more + s.ground_less,
        -s.vx + s.wall - E * s.vx - s.wall_more + s.wall_less, n.x - s.x - s.flight * vx,
        n.y - s.y - s.flight * vy + G / 2 * s.flight ^ 2, n.vx - vx, n.vy - vy + G * s.flight, n.t - s.t - s.flight }
      return stage
    end }
end

-- Returns the motion of the throw with which the task begins, as a guess.
local function first_throw(mu)
  local guess, vx, vy = {}, 5, -5
  local function add(name, ...) guess[name] = { ... } end
  local fall = (vy + math.sqrt(vy ^ 2 + 2 * G * (FROM[2] - R))) / G
  local x, n = FROM[1] + vx * fall, G * fall - vy
  local along, up = vx - mu * (1 + E) * n, E * n
  local reach = (WALL - R - x) / along
  local y, high = R + up * reach - G * reach ^ 2 / 2, up - G * reach
  local rest, back, rise = T - fall - reach, -E * along, high - mu * (1 + E) * along
  add("x", FROM[1], x, WALL - R, WALL - R + back * rest)
  add("y", FROM[2], R, y, y + rise * rest - G * rest ^ 2 / 2)
  add("vx", vx, vx, along, back)
  add("vy", vy, -n, high, rise - G * rest)
  add("t", 0, fall, fall + reach, T)
  add("flight", fall, reach, rest, 0)
  add("ground", 0, (1 + E) * n, 0, 0)
  add("wall", 0, 0, (1 + E) * along, 0)
  return guess
end

local plan = throw(0)
print "from zeros"
shared.report(exp, plan)
exp:equal("velocity of the direct throw, x", (TARGET[1] - FROM[1]) / T, plan.stages[1].vx, 1e-5)
exp:equal("  and y", (TARGET[2] - FROM[2]) / T + G * T / 2, plan.stages[1].vy, 1e-5)
-- the velocities are those that Gauss-Newton steps find in scripts/gradients/diff_sim_2_target.lua
for _, case in ipairs { { 0, 10.195652, -4.090710 }, { 0.1, 11.322326, -6.223844 } } do
  plan = throw(case[1], first_throw(case[1]))
  print(("\nfrom the throw of the task, mu = %g"):format(case[1]))
  shared.report(exp, plan)
  exp:equal("velocity of the throw, x", case[2], plan.stages[1].vx, 1e-5)
  exp:equal("  and y", case[3], plan.stages[1].vy, 1e-5)
end
exp:finish()
