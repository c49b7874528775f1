-- sim.jacobian of observations of random scenes (random_scenes.lua) after every step: rows are the gradients of the
-- single numbers, whichever method found them.
local sim = require "sim2d"
local scenes = require "random_scenes"
local scene, loss, with, leaves, at = scenes.scene, scenes.loss, scenes.with, scenes.leaves, scenes.at

local function moved(t, path, value, depth)
  depth = depth or 1
  if depth > #path then return value end
  return with(t, { [path[depth]] = moved(t[path[depth]], path, value, depth + 1) })
end

local function seen_of(s, paths, x)
  local p, seen = s.p, {}
  for i, path in ipairs(paths) do p = moved(p, path, x[i]) end
  seen[#seen + 1] = loss(s, p, seen)
  return seen
end

local function compare(seed, s)
  local R, list = scenes.rng(), leaves(s.p, {}, {})
  R:shuffle(list)
  local paths, x = {}, {}
  for i = 1, math.min(3, #list) do paths[i], x[i] = list[i], at(s.p, list[i]) end
  local J, y = sim.jacobian(function(p) return seen_of(s, paths, p) end, x)
  local worst, most = 0, 0
  for _, k in ipairs { 1, R:integer(1, #y), R:integer(1, #y), #y } do
    local one = sim.jacobian(function(p) return { seen_of(s, paths, p)[k] } end, x)
    for i = 1, #x do
      worst, most = math.max(worst, math.abs(J[k][i] - one[1][i])), math.max(most, math.abs(one[1][i]))
    end
  end
  ok(worst <= 1e-9 * math.max(1, most), ("seed %d: rows are off by %g of %g"):format(seed, worst, most))
  return most > 0
end

for _, stepping in ipairs { "speculative", "event", "bisect" } do
  test("rows are gradients: " .. stepping, function()
    local moving = 0
    for seed = 1, 36, fewer(1, 6) do
      local s = scene(seed, stepping)
      local refused = not pcall(scenes.build, s, s.p) -- some options are not available with events
      if not refused and compare(seed, s) then moving = moving + 1 end
    end
    ok(moving > (fewer(24, 3)), moving)
  end)
end

-- The time grows with the log, not with its square: each step is undone a few times.
test("a row does not cost a sweep", function()
  local calls = 0
  local drag = sim.custom { forward = function(v, k) return -k * v end, backward = function(g, _, v, k)
    calls = calls + 1
    return -k * g, -v * g
  end }
  local function places(k)
    local world = sim.world { dt = 0.01 }
    local ball = world:circle { radius = 0.1, velocity = { 3 * k, 0 } }
    local x = {}
    for i = 1, 200 do
      ball:apply_force { drag(ball.vx, k), 0 }
      world:step()
      x[i] = ball.x
    end
    return x
  end
  local J, up, down = sim.jacobian(places, 0.5), places(0.5 + 1e-4), places(0.5 - 1e-4)
  ok(calls < 1000, calls) -- 20 000 where each of the outputs has a sweep
  for i = 1, 200 do near(J[i][1], (up[i] - down[i]) / 2e-4, 1e-6) end
end)
