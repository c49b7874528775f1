-- A box on a floor is pushed for one second. With a push below mu m g the box sticks. The loss is then flat, and the
-- exact derivative, which uses the active contacts, is zero. The smooth derivative takes into account that a larger
-- push would move the box. --out FILE.svg writes a picture of the loss and its derivatives.
local sim = require "sim2d"

local options = sim.options { out = { "", "FILE.svg: where the picture goes" } }

local mu, gravity, wanted = 0.5, 9.81, 0.5 -- units: none, m/s^2, m; the box slides if pushed with more than 4.905 N

local function loss(mode, smoothing)
  return function(push)
    local world = sim.world { dt = 0.02, gravity = { 0, -gravity }, gradient = mode,
      smoothing = smoothing }
    world:segment { from = { -5, 0 }, to = { 20, 0 }, friction = mu }
    local box = world:box { size = { 1, 0.4 }, position = { 0, 0.2 }, mass = 1, friction = mu }
    world:before_step(function() box:apply_force { push, 0 } end)
    world:run { steps = 50, progress = false }
    return (box.x - wanted) ^ 2
  end
end

local kinds = {
  { name = "exact", of = loss "exact", color = "#3b6fb6" },
  { name = "smooth 1e-3", of = loss("smooth", 1e-3), color = "#c2502e", dash = true },
  { name = "smooth 1e-2", of = loss("smooth", 1e-2), color = "#c2502e" },
}
local pushes, losses = {}, {}
for i = 0, 120 do
  pushes[#pushes + 1] = 3.02 + i * 0.03
end
for _, kind in ipairs(kinds) do
  kind.slopes = {}
  for i, push in ipairs(pushes) do
    losses[i], kind.slopes[i] = sim.value_and_grad(kind.of, push)
  end
end

local rows = {}
for i = 1, #pushes, 20 do
  local row = { pushes[i], losses[i] }
  for k, kind in ipairs(kinds) do
    row[2 + k] = math.abs(kind.slopes[i]) < 1e-12 and 0 or kind.slopes[i]
  end
  rows[#rows + 1] = row
end
sim.table { columns = { { "push, N", format = "%.2f" }, { "loss, m^2", format = "%.4f" },
  { "exact", format = "%.4f" }, { "smooth 1e-3", format = "%.4f" }, { "smooth 1e-2", format = "%.4f" } },
  table.unpack(rows) }

-- For a push at which the box sticks, the exact derivative is zero, but the smooth derivative leads to the goal.
for _, kind in ipairs { kinds[1], kinds[3] } do
  local best = sim.optimize.minimize(kind.of, 4, { method = "adam", learning_rate = 0.1, max_iterations = 100 })
  print(("descent with %s derivatives: from 4 N to %.3f N, loss %.2g"):format(kind.name, best, kind.of(best)))
end

local series = { { pushes, losses, label = "loss", color = "#222222" } }
for _, kind in ipairs(kinds) do
  series[#series + 1] = { pushes, kind.slopes, label = kind.name, color = kind.color,
    dash = kind.dash }
end
local plot = sim.plot { title = "A box that sticks, then slides: loss and its derivatives", x = "push, N",
  y = "m² and m²/N", table.unpack(series) }
if options.out ~= "" then
  assert(plot:save(options.out))
  print("wrote " .. options.out)
else
  print(("a picture of %d kB; --out FILE.svg writes it"):format(#plot:svg() // 1024))
end
