-- Halving the time step halves the error, quarters it, or leaves it at zero, depending on the order of the stepping
-- method. There are four motions with closed forms, in which contacts begin, end, bounce and change from sliding to
-- rolling:
--   land:  a box falls, lands (v -> v - mu v_n) and slides:  x = v t_1 + v' (T - t_1) - mu g (T - t_1)^2 / 2
--   roll:  a disc slides until t = v / (3 mu g), and then rolls with the speed 2 v / 3
--   jump:  a ball with e = 0.8 after two bounces
--   rest:  a box slides to rest at v^2 / (2 mu g)
-- The slope of log(error) against log(dt) is the order. The order is 1 for fixed steps, where contacts begin and end
-- with a step. It is higher only if the time of impact is found (event), or if half of the forces act before the motion
-- of a step and half after it. With event stepping, sliding ends at the end of the nearest step, which is early or late
-- by s <= dt / 2. Until sliding has ended in both motions, the error of the speed is at most mu g s. The final position
-- error is therefore mu g s^2 / 2, which is at most mu g dt^2 / 8.
local sim = require "sim2d"

local e = sim.experiment "Error by time step"
local g, mu = 9.81, 0.3

local function world_of(settings, T, steps, e_floor)
  local given = { dt = T / steps, gravity = { 0, -g } }
  for key, value in pairs(settings) do given[key] = value end
  local world = sim.world(given)
  world:segment { from = { -99, 0 }, to = { 99, 0 }, friction = mu, restitution = e_floor or 0 }
  return world
end

local motions = {}
function motions.land(settings, steps)
  local T, v, h = 0.7, 6, 0.5
  local world = world_of(settings, T, steps)
  local box = world:box { size = { 0.4, 0.2 }, position = { 0, 0.1 + h }, friction = mu, velocity = { v, 0 } }
  world:run { steps = steps, progress = false }
  local t = math.sqrt(2 * h / g)
  return box.x - (v * t + (v - mu * g * t) * (T - t) - mu * g * (T - t) ^ 2 / 2)
end
function motions.roll(settings, steps)
  local T, v = 0.8, 5
  local world = world_of(settings, T, steps)
  local disc = world:circle { radius = 0.2, position = { 0, 0.2 }, friction = mu, velocity = { v, 0 } }
  world:run { steps = steps, progress = false }
  local t = v / (3 * mu * g)
  return disc.x - (v * t - mu * g * t ^ 2 / 2 + 2 / 3 * v * (T - t))
end
function motions.jump(settings, steps)
  local T, h, r = 1.5, 1, 0.8
  local world = world_of(settings, T, steps, r)
  local ball = world:circle { radius = 0.2, position = { 0, 0.2 + h }, restitution = r }
  world:run { steps = steps, progress = false }
  local t = math.sqrt(2 * h / g)
  local second = t + 2 * r * t -- time of the second bounce
  local after = T - second
  return ball.y - 0.2 - (r ^ 2 * g * t * after - g * after ^ 2 / 2)
end
function motions.rest(settings, steps)
  local v, T = 1.5, 1
  local world = world_of(settings, T, steps)
  local box = world:box { size = { 0.4, 0.2 }, position = { 0, 0.1 }, friction = mu, velocity = { v, 0 } }
  world:run { steps = steps, progress = false }
  return box.x - v ^ 2 / (2 * mu * g)
end
local ways = {
  { "speculative", { stepping = "speculative" } },
  { "bisect", { stepping = "bisect" } },
  { "alpha = beta = 1/2", { alpha = 0.5, beta = 0.5, geometric_stiffness = "on" } },
  { "event", { stepping = "event" } },
}

-- Returns the errors at 25 to 800 steps, the slope of the line through them, the largest error, and the largest error
-- times steps^2.
local counts = { 25, 50, 100, 200, 400, 800 }
local function refine(motion, settings)
  local errors, largest, scaled, sx, sy, sxx, sxy = {}, 0, 0, 0, 0, 0, 0
  for i, steps in ipairs(counts) do
    errors[i] = math.abs(motion(settings, steps))
    largest, scaled = math.max(largest, errors[i]), math.max(scaled, errors[i] * steps ^ 2)
    local x, y = -math.log(steps), math.log(errors[i])
    sx, sy, sxx, sxy = sx + x, sy + y, sxx + x * x, sxy + x * y
  end
  return errors, (#counts * sxy - sx * sy) / (#counts * sxx - sx * sx), largest, scaled
end

-- The expected result is an order, "exact", or the duration of the motion, at which the error is at most mu g dt^2 / 8.
-- nil means that no order is guaranteed, because bisection keeps the gaps that it has found. If an impact lies between
-- two halves of the forces, its error depends on its time within the step.
local expected = {
  land = { 1, nil, 2, "exact" },
  roll = { 1, 1, 2, { time = 0.8 } },
  rest = { 1, 1, 2, { time = 1 } },
  jump = { 1, nil, nil, "exact" },
}
local plots = {}
for _, name in ipairs { "land", "roll", "rest", "jump" } do
  plots[name] = { title = name, x = { label = "steps", log = true }, y = { label = "error, m", log = true } }
  for i, way in ipairs(ways) do
    local errors, order, largest, scaled = refine(motions[name], way[2])
    local want = expected[name][i]
    if want == "exact" then
      e:equal(("%s, %s: error, m"):format(name, way[1]), 0, largest, 1e-12)
    elseif type(want) == "table" then
      e:below(("%s, %s: error over mu g dt^2 / 8"):format(name, way[1]), 1, scaled / (mu * g * want.time ^ 2 / 8))
    elseif want then
      e:equal(("%s, %s: order"):format(name, way[1]), want, order, want == 1 and 0.05 or 0.2)
    end
    plots[name][i] = { counts, errors, label = way[1] }
  end
end
plots.land.title, plots.roll.title = "A box falls and slides on", "A disc slides, then rolls"
e:figure(sim.plot.grid { columns = 1, height = 680, plots.land, plots.roll })
e:finish()
