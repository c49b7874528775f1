-- Discs or boxes poured into a box: time of a step while all of it moves.
--
--   sim2d bench/lua/pour.lua [--count 300] [--steps 150] [--sides 0] [--stepping speculative] [--friction 0.6] [--contact coulomb] [--budget WORK] [--heaps 1] [--threads 1]
--
-- A grid of bodies of about 1 m, in rows 1.1 m apart and shifted at random, falls at 10 m/s^2 between two walls, with
-- 60 steps a second. Each of several heaps has its own walls and is an island. Prints the mean, median and worst time
-- of a step, how many missed the tolerance of 1e-9, and solves and factorisations a step.
local sim = require "sim2d"
local args = sim.options { count = { 300, "bodies" }, steps = 150, sides = { 0, "corners: 0 or 4" }, stepping = "speculative",
  friction = 0.6, contact = "coulomb", budget = { math.huge, "work a step may take" },
  heaps = { 1, "of `count` bodies each" }, threads = 1 }

local random = sim.random.split()
random:seed(1)
local world = sim.world { dt = 1 / 60, gravity = { 0, -10 }, stepping = args.stepping, contact = args.contact, budget = args.budget,
  threads = args.threads }
local half = math.ceil(math.sqrt(args.count)) * 1.1 / 2 + 1
local row = math.floor(2 * half / 1.1) - 1
local function heap(x)
  for _, wall in ipairs { { { -half, 0 }, { half, 0 } }, { { -half, 0 }, { -half, 100 } }, { { half, 0 }, { half, 100 } } } do
    world:segment { from = { x + wall[1][1], wall[1][2] }, to = { x + wall[2][1], wall[2][2] }, friction = args.friction }
  end
  for i = 0, args.count - 1 do
    local position = { x - half + 0.8 + (i % row) * 1.1 + random:uniform(-0.04, 0.04), 0.6 + (i // row) * 1.1 }
    if args.sides == 0 then
      world:circle { radius = 0.5, friction = args.friction, position = position }
    else
      world:box { size = { 0.8, 0.8 }, friction = args.friction, position = position, angle = random:uniform(0, 3) }
    end
  end
end
for i = 1, args.heaps do
  heap((i - 1) * (2 * half + 2))
end

local times, residuals, total, deepest, solved = {}, {}, 0, 0, 0
for k = 1, args.steps do
  local start = sim.clock()
  world:step()
  times[k] = 1e3 * (sim.clock() - start)
  total = total + times[k]
  local reached = world:residuals()
  residuals[k] = reached.scaled
  deepest = math.max(deepest, reached.penetration)
  if reached.scaled <= 1e-9 then solved = solved + 1 end
end
table.sort(times)
table.sort(residuals)
local stats = world:stats()
local sum = 0
for _, body in ipairs(world.bodies) do
  sum = sum + body.x + body.y
end
print(("%d bodies, %d steps: ms a step mean %.1f, median %.1f, worst %.0f; %d steps unsolved; %.1f solves and %.0f factorisations a step")
  :format(args.heaps * args.count, args.steps, total / args.steps, times[(args.steps + 1) // 2], times[args.steps], stats.unsolved,
    stats.solves / args.steps, stats.iterations / args.steps))
print(("residual median %.1e, 9 of 10 below %.1e, worst %.1e; %.0f %% of steps at 1e-9; %d cut; overlaps up to %.1e m")
  :format(residuals[(args.steps + 1) // 2], residuals[math.ceil(0.9 * args.steps)], residuals[args.steps], 100 * solved / args.steps, stats.cut, deepest))
if args.threads > 1 or args.heaps > 1 then
  print(("%d threads: %d phases of islands were shared out; the places of all bodies add up to %.17g m"):format(args.threads, stats.shared, sum))
end
