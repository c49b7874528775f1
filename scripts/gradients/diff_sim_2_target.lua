-- A ball is thrown via the ground and a wall to a target: gradients equal the closed form with and without friction,
-- and Gauss-Newton steps with these gradients hit the target.
--
-- This is the second task of Zhong, Han and Brikis (2022, arXiv 2207.05060, repository diff_sim_grads). A ball of
-- radius 0.1 that does not turn starts at (-0.5, 1) with v = (5, -5). The wall is at x = 1.75, with g = 9.8, e = 0.92
-- and mu = 0 or 0.1, for 0.6 s in 288 steps. The loss is the squared distance from (-2, 1.5), and v is changed by -0.01
-- times its gradient 1000 times.
--
-- Between impacts the ball flies on parabolas. If it meets a surface with the normal speed n and the tangential speed
-- t, it leaves with -e n and, as it slides, with t - sign(t) mu (1 + e) n.
local sim = require "sim2d"

local e = sim.experiment("A throw at a target (task 2 of arXiv 2207.05060)", { iterations = { 1000, "of descent" } })

local T, STEPS, R, WALL, G, E = 0.6, 288, 0.1, 1.75, 9.8, 0.92
local FROM, TARGET, START, RATE = { -0.5, 1 }, { -2, 1.5 }, { 5, -5 }, 0.01

-- Returns the final position of the ball relative to the target. Its path is stored in `way`.
local function throw(v, mu, way, steps)
  local world = sim.world { gravity = { 0, -G }, dt = T / (steps or STEPS), stepping = "event" }
  world:segment { from = { 10, 0 }, to = { -10, 0 }, friction = mu, restitution = E }
  world:segment { from = { WALL, -1 }, to = { WALL, 10 }, friction = mu, restitution = E }
  local ball = world:circle { radius = R, mass = 1, inertia = 1e12, position = FROM, velocity = { v[1], v[2] },
    friction = mu, restitution = E }
  if way then -- stores x and y after every step
    for i = 1, STEPS do
      world:step()
      way[1][i], way[2][i] = ball.x, ball.y
    end
  else
    world:run { steps = steps or STEPS, progress = false }
  end
  return { ball.x - TARGET[1], ball.y - TARGET[2] }
end

local function loss(v, mu, steps)
  local off = throw(v, mu, nil, steps)
  return off[1] ^ 2 + off[2] ^ 2
end

-- Returns the same loss in closed form: down to the ground, up to the wall, and away from it.
local function closed_form(v, mu)
  local vx, vy = v[1], v[2]
  local fall = (vy + sim.sqrt(vy ^ 2 + 2 * G * (FROM[2] - R))) / G
  local x, n = FROM[1] + vx * fall, G * fall - vy
  vx = vx - mu * (1 + E) * n
  local reach = (WALL - R - x) / vx
  local y, up = R + E * n * reach - G * reach ^ 2 / 2, E * n - G * reach
  up = up - (up > 0 and 1 or -1) * mu * (1 + E) * vx
  local rest = T - fall - reach
  return (WALL - R - E * vx * rest - TARGET[1]) ^ 2 + (y + up * rest - G * rest ^ 2 / 2 - TARGET[2]) ^ 2
end

-- Values as printed in the repository's task2_bounce_ground_wall/analyze_bounce_ground.ipynb: the velocity after 1000
-- steps of descent, and with friction also the first and the last loss.
local THEIRS = {
  [0] = {
    { "PBD (Warp)", 9.729905, -4.0706034 }, { "PBD (Brax)", 10.48652363, -4.75180626 },
    { "compliant (Warp)", 10.638576, -4.282096 }, { "compliant (Brax)", -2.49346685, -4.79271269 },
    { "convex, times of impact (DiffCoSim)", 10.257491, -4.2041483 },
    { "convex (DiffCoSim)", -2.4933767, -4.3371224 },
    { "direct, times of impact (DiffTaichi)", 10.18414593, -4.16055489 },
    { "direct (DiffTaichi)", -2.49333715, -4.29840183 }, { "LCP, times of impact (Nimble)", 10.299694, -4.1396265 },
  },
  [0.1] = {
    { "PBD (Warp)", 10.366303, -3.9202332, 10.776179, 0.10739252 },
    { "PBD (Brax)", 10.18785763, -3.94969678, 8.710405, 0.15575172 },
    { "compliant (Warp)", 11.816755, -6.431888, 12.14047, 7.164233e-07 },
    { "compliant (Brax)", -2.57769823, -4.79799175, 8.901242, 0.00068033754 },
    { "convex, times of impact (DiffCoSim)", 10.3454485, -3.9920106, 11.836240768, 3.9951792e-05 },
    { "convex (DiffCoSim)", 0.6267786, -4.7243333, 11.839977264, 1.867913008 },
    { "LCP, times of impact (Nimble)", 11.338899, -6.137768, 11.663080876, 0.002725417 },
  },
}

local function short(number) return number and ("%.4g"):format(number) or "" end

local plots = { width = 900, height = 640, columns = 2 }
for _, mu in ipairs { 0, 0.1 } do
  -- Checks the gradient at the start.
  local value, g = sim.value_and_grad(loss, START, mu)
  local flags = #sim.tape_stats().flags
  local right, right_g = sim.value_and_grad(closed_form, START, mu)
  e:equal(("mu = %g: loss"):format(mu), right, value, 1e-11)
  for k, name in ipairs { "vx", "vy" } do e:equal("  by " .. name, right_g[k], g[k], 1e-9) end
  e:equal("  flags", 0, flags)
  e:equal("  against central differences", 0,
    (sim.check_grad(function(v) return loss(v, mu) end, START, { print = false })), 1e-9)
  local _, coarse = sim.value_and_grad(loss, START, mu, 10)
  e:equal("  in 10 steps, by vx", right_g[1], coarse[1], 1e-9)

  -- Descends along the gradient, as in the paper.
  local v, losses = { START[1], START[2] }, {}
  for i = 1, e.options.iterations do
    losses[i], g = sim.value_and_grad(loss, v, mu)
    v = { v[1] - RATE * g[1], v[2] - RATE * g[2] }
  end
  local reached = loss(v, mu)
  e:below(("  loss after %d steps of descent"):format(e.options.iterations), 0.02, reached)

  -- With the same gradients, a better method leaves almost no error.
  local hit, _, info = sim.optimize.least_squares(function(p) return throw(p, mu) end, START)
  e:below("  loss after Gauss-Newton steps", 1e-20, loss(hit, mu))
  e:equal("  in closed form, there", 0, closed_form(hit, mu), 1e-18)
  print(("mu = %g: hit by v = (%.6f, %.6f) after %d Gauss-Newton steps"):format(mu, hit[1], hit[2], info.iterations))

  local rows = { { "sim2d, event", short(value), v[1], v[2], short(reached), short(reached) } }
  for i, row in ipairs(THEIRS[mu]) do
    rows[1 + i] = { row[1], short(row[4]), row[2], row[3], short(row[5]), short(loss({ row[2], row[3] }, mu)) }
  end
  sim.table { columns = { "after 1000 steps of descent", "first loss", { "vx", format = "%.4f" },
    { "vy", format = "%.4f" }, "last loss", "of the motion" }, table.unpack(rows) }
  print ""

  local ways = { { START, label = "first throw", color = "#888888" }, { v, label = "after descent", color = "#3b6fb6" },
    { hit, label = "Gauss-Newton", color = "#c2502e", dash = true } }
  local panel = { title = ("mu = %g"):format(mu), x = "x, m", y = "y, m", equal = true, { y = 0 },
    { { WALL, WALL }, { 0, 1.8 }, color = "#888888" },
    { { TARGET[1] }, { TARGET[2] }, kind = "scatter", color = "#222222", label = "target" } }
  for _, thrown in ipairs(ways) do
    local way = { {}, {} }
    throw(thrown[1], mu, way)
    panel[#panel + 1] = { way[1], way[2], label = thrown.label, color = thrown.color, dash = thrown.dash }
  end
  plots[#plots + 1] = panel
  plots[#plots + 1] = { title = "Descent", x = "iteration", y = { label = "loss, m²", log = true }, { losses } }
end
print [[of others: the loss that they printed, in their own motion; "of the motion": that of their velocities in ours.
Their balls with friction are not all alike: Brax's turns, and DiffCoSim's friction is that of its convex program.
]]
e:figure(sim.plot.grid(plots))
e:finish()
