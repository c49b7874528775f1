-- Three balls with restitution 0, 0.5 and 1 fall from the same height. After the n-th bounce a ball
-- rises to e^(2n) h, up to an error that shrinks with the step.
local sim = require "sim2d"

local function build(p)
  p = p or {}
  local height = p.height or 2
  local world = sim.world { dt = p.dt or 1 / 480, combine_restitution = "min" }
  world:box { name = "floor", type = "static", position = { 0, -0.5 }, size = { 12, 1 },
    restitution = 1 }
  for i, e in ipairs { 0, 0.5, 1 } do
    world:circle { name = "e = " .. e, position = { 2 * i - 4, height + 0.25 }, radius = 0.25,
      restitution = e }
  end
  return world
end

if sim.is_main() then
  local height = 2
  local world = build { height = height }
  local tops, bounces, was = {}, {}, {}
  for _, ball in ipairs { world.bodies["e = 0"], world.bodies["e = 0.5"], world.bodies["e = 1"] } do
    tops[ball.name], bounces[ball.name], was[ball.name] = {}, 0, -1
  end
  for _ in world:steps(4) do
    for name, list in pairs(tops) do
      local ball = world.bodies[name]
      if was[name] < 0 and ball.vy >= 0 then
        bounces[name] = bounces[name] + 1
      end
      local n = bounces[name]
      if n > 0 then
        list[n] = math.max(list[n] or 0, ball.y - 0.25)
      end
      was[name] = ball.vy
    end
  end
  for _, e in ipairs { 0, 0.5, 1 } do
    for n = 1, 2 do
      local top = tops["e = " .. e][n] or 0
      local expected = e ^ (2 * n) * height
      print(("e = %-3s  bounce %d rises to %.4f m, expected %.4f m"):format(e, n, top, expected))
      assert(math.abs(top - expected) < 0.1, "the bounce is too far from e^(2n) h")
    end
  end
end

return build
