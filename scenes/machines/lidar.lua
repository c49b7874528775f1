-- A lidar steers a cart among posts, seen from above, towards the longest rays and towards the goal.
local sim = require "sim2d"

local RANGE, RAYS = 4, 61 -- range in m; number of lidar rays, spread over the half plane ahead
local TOP = 1.5 -- m/s

local function build(p)
  p = p or { posts = 12 }
  local random, world = sim.random:split(), sim.world { gravity = { 0, 0 } }
  local cart = world:box { name = "cart", position = { 0, 0 }, size = { 0.4, 0.3 }, mass = 2 }
  local goal, posts = { 12, 0 }, {}
  for i = 1, p.posts do
    posts[i] = { radius = random:uniform(0.15, 0.35), x = 1.5 + 9 * (i - 0.5) / p.posts, y = random:uniform(-2, 2) }
    world:circle { type = "static", radius = posts[i].radius, position = { posts[i].x, posts[i].y } }
  end
  world:annotate { name = "goal", point = goal, text = "goal", color = "#c4263a" }

  -- Returns the free direction that leads most directly to the goal.
  local function look()
    local to_goal = math.atan(goal[2] - cart.y, goal[1] - cart.x)
    local fan = world:raycast_fan(cart.position, { rays = RAYS, range = RANGE, angle = to_goal, spread = math.pi,
      ignore = cart })
    local best, most = to_goal, -math.huge
    for i, angle in ipairs(fan.angles) do
      local room = fan.distances[i]
      for k = math.max(1, i - 6), math.min(RAYS, i + 6) do room = math.min(room, fan.distances[k] + 0.12 * math.abs(k - i)) end
      local worth = math.min(room, 2.5) + math.cos(angle - to_goal)
      if worth > most then best, most = angle, worth end
      world:annotate { line = { cart.position, fan.hits[i] and fan.hits[i].point
        or { cart.x + RANGE * math.cos(angle), cart.y + RANGE * math.sin(angle) } }, size = 1, color = "#2f6fb730" }
    end
    return best, fan
  end

  world:before_step(function()
    local heading = look()
    local wanted = { TOP * math.cos(heading), TOP * math.sin(heading) }
    cart:apply_force { 12 * (wanted[1] - cart.vx), 12 * (wanted[2] - cart.vy) }
    local turn = (heading - cart.angle + math.pi) % (2 * math.pi) - math.pi
    cart:apply_torque(0.5 * turn - 0.15 * cart.angular_velocity)
    world:annotate { arrow = { cart.position, { cart.x + wanted[1] / 2, cart.y + wanted[2] / 2 } } }
  end)
  return { world = world, cart = cart, posts = posts, goal = goal, look = look }
end

-- Returns the distance of a disc along a ray that starts at `from`. It is the smaller root of a quadratic equation.
local function distance(from, angle, post)
  local dx, dy = from.x - post.x, from.y - post.y
  local b, c = dx * math.cos(angle) + dy * math.sin(angle), dx * dx + dy * dy - post.radius ^ 2
  return b * b >= c and b < 0 and -b - math.sqrt(b * b - c) or math.huge
end

if sim.is_main() then
  local options = sim.options { posts = { 12, "posts in the way" } }
  local s = build(options)
  local touched, worst, compared = 0, 0, 0
  s.world:on("contact_begin", function() touched = touched + 1 end)
  s.world:every(0.5, function() -- compares the distances with the closed form
    local from = s.cart.position
    local _, fan = s.look()
    for i, angle in ipairs(fan.angles) do
      local least = RANGE
      for _, post in ipairs(s.posts) do least = math.min(least, distance(from, angle, post)) end
      worst, compared = math.max(worst, math.abs(least - fan.distances[i])), compared + (fan.hits[i] and 1 or 0)
    end
  end)
  s.world:run { duration = 20, until_ = function() return s.cart.x > s.goal[1] - 0.5 end }
  print(("%d rays met a post; distances as the roots say, to %.0e m"):format(compared, worst))
  print(("at (%.2f, %.2f) m after %.2f s, %d contacts"):format(s.cart.x, s.cart.y, s.world.time, touched))
  assert(compared > 100 and worst < 1e-12 and s.world.time < 15)
  assert(touched == 0 or options.posts > 12)
end

return build
