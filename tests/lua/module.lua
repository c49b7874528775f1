-- The module in a stock lua5.4 (without the command line).
test("a stock lua5.4 loads the module", function()
  local sim = require "sim2d"
  ok(package.loaded.sim2d == sim)
  ok(sim.version:match "^%d+%.%d+%.%d+$")
end)

test("a world falls as in the command", function()
  local sim = require "sim2d"
  local world = sim.world { dt = 0.01 }
  local ball = world:circle { radius = 0.5, position = { 0, 10 } }
  world:step(100)
  near(world.time, 1, 1e-12)
  near(ball.vy, -9.81, 1e-9)
end)

test("options come from the global arg", function()
  local sim = require "sim2d"
  local before = arg
  arg = { [0] = "x.lua", "--mu", "0.25", "data.csv" }
  local options = sim.options { mu = { 0.5, "friction" } }
  local rest = arg
  arg = before
  eq(options.mu, 0.25)
  eq(rest[1], "data.csv")
end)
