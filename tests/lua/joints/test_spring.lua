-- Springs whose force is a polynomial or a function of the script.
local sim = require "sim2d"

local function swinging(def)
  local world = sim.world { gravity = { 0, 0 }, dt = 1 / 200, alpha = 0.5, beta = 0.5 }
  local ball = world:circle { radius = 0.1, mass = 1, position = { 2, 0 } }
  def[1], def.anchor_b, def.rest_length = ball, { 0, 0 }, 1
  return world, ball, world:spring(def)
end

local function exact(x) return 10 * x + 200 * x ^ 3, 10 + 600 * x ^ 2 end

test("three ways to define a spring agree", function()
  local a, ball_a, spring = swinging { stiffness = 10, cubic = 200 }
  local b, ball_b = swinging { force = exact }
  local c, ball_c = swinging { force = function(x) return (exact(x)) end }
  local start = a:energy().total
  for _, world in ipairs { a, b, c } do world:run { duration = 2 } end
  assert(math.abs(ball_a.x - ball_b.x) < 1e-12 and math.abs(ball_a.x - ball_c.x) < 1e-7)
  assert(math.abs(a:energy().total - start) < 0.2)
  eq(spring.cubic, 200)
  eq(spring.quadratic, 0)
  spring.quadratic = 3
  eq(spring.quadratic, 3)
  raises("finite number expected", function() spring.cubic = 0 / 0 end)
end)

test("snapshots and clones continue with the function", function()
  local world, ball = swinging { force = exact }
  world:run { duration = 0.1 }
  local snapshot = world:snapshot()
  raises("callbacks = true", world.clone, world)
  local copy = world:clone { callbacks = true }
  world:run { duration = 0.5 }
  local x, state = ball.x, world:state()
  copy:run { duration = 0.5 }
  for i, number in ipairs(copy:state()) do eq(number, state[i]) end
  world:restore(snapshot)
  world:run { duration = 0.5 }
  eq(ball.x, x)
end)

test("wrong springs", function()
  raises("key 'force': a function of the extension expected, got 3", swinging, { force = 3 })
  raises("key 'stiffness': cannot be combined with 'force'", swinging, { force = exact, stiffness = 1 })
  raises("key 'cubic': cannot be combined with 'force'", swinging, { force = exact, cubic = 1 })
  raises("key 'stiffness' is missing", swinging, { cubic = 1 })
  local world, ball = swinging { force = function() return "much" end }
  raises("a spring's force must return the force in N", world.step, world)
  eq(ball.x, 2)
  world = swinging { force = function(x) return x, {} end }
  raises("a spring's force must return the force in N", world.step, world)
  world = swinging { force = function() return 1 / 0, 0 end }
  raises("finite numbers expected", world.step, world)
  world = swinging { force = function() error("snapped") end }
  raises("snapped", world.step, world)
end)
