-- Lesson 1: a tower that stands, and a ball that knocks it over.
local sim = require "sim2d"

local world = sim.world {} -- gravity 9.81 m/s^2 downwards, steps of 1/120 s
local ground = world:box { name = "ground", type = "static", position = { 0, -0.5 }, size = { 12, 1 } }
for i = 1, 6 do
  world:box { name = "box " .. i, position = { 2, i - 0.5 }, size = { 1, 1 }, mass = 2 }
end

world:run { duration = 1 }
local force = 0
for _, contact in ipairs(ground:contacts()) do force = force + contact.normal_impulse / world.dt end
print(("the ground carries %.2f N; six boxes weigh %.2f N"):format(force, 6 * 2 * 9.81))

local ball = world:circle { name = "ball", position = { -4, 3 }, radius = 0.4, mass = 10, velocity = { 9, 2 } }
world:on("touch_begin", function(event)
  if event.a == ball or event.b == ball then
    local other = event.a == ball and event.b or event.a
    print(("%.2f s: the ball meets %s at %.1f m/s"):format(world.time, other.name, event.speed))
  end
end)
local picture = assert(world:record("1_first_world.svg", { strobe = { 1, 1.3, 1.7, 2.1 }, trails = { ball } }))
world:run { duration = 1.1 }
assert(picture:close())
print("every step is solved:", world:stats().unsolved == 0)
