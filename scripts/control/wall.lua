-- A cart swings its pole up beside a wall, which the pole may hit. The cost has many local minima, in which the pole
-- leans on the wall. The search starts from several random commands and keeps the best plan.
--
--   sim2d scripts/control/wall.lua [--wall 0.4 --starts 24]
local sim = require "sim2d"

local exp = sim.experiment("Swing-up beside a wall", { wall = { 1, "distance of the wall, m" }, starts = { 6, "searches" },
  force = { 5, "largest force, N" }, seconds = { 4, "of the plan" }, seed = { 1, "of the starts" } })
local o = exp.options

local world = sim.world { dt = 1 / 80 }
local cart = world:box { size = { 0.4, 0.2 }, mass = 1, mask = 0 }
local pole = world:box { size = { 0.05, 1 }, mass = 0.2, position = { 0, -0.5 } }
local wall = world:box { type = "static", position = { o.wall + 0.1, 0 }, size = { 0.2, 4 } }
local rail = world:slider { a = cart, axis = { 1, 0 }, anchor = { 0, 0 } }
local hinge = world:hinge { a = pole, b = cart, anchor = { 0, 0 } }
world:actuator { "push", joint = rail, kind = "force", range = { -o.force, o.force } }

local plan = sim.control.trajectory(world, { horizon = o.seconds, period = 1 / 20, u0 = 0.01, coordinates = { rail, hinge },
  starts = o.starts, noise = 6, seed = o.seed, cost = {
    { "cart", of = rail, field = { "translation", "speed" }, weight = 0.01 },
    { "pole", of = hinge, field = { "angle", "speed" }, goal = { math.pi, 0 }, weight = 0.01 },
    controls = 0.1, terminal = { cart = 100, pole = 100 } } })
print(plan)

local hits, touching = 0, false
world:control(plan:law())
for _ in world:steps(o.seconds) do
  local now = #wall:contacts() > 0
  hits, touching = hits + (now and not touching and 1 or 0), now
end
local off = math.abs(math.abs(hinge.angle) - math.pi)
print(("best of %d starts: number %d, cost %.3f; the pole is near the wall %d times and ends %.3f rad from upright"):format(
  o.starts, plan.start, plan.cost, hits, off))
exp:below("angle from upright, rad", 0.1, off)
exp:below("distance of the cart from the middle, m", 0.1, math.abs(rail.translation))
exp:finish()
