-- How accurately must bricks be laid? Bricks of length 1 are stacked with random offsets of standard deviation s. The
-- stack stands if at each joint, the centre of mass of all bricks above lies over the common part of the two bricks.
-- The margin is the smallest distance of such a centre from an end of the common part. A sweep lays stacks over
-- tolerances s, simulates each stack for 2 s, and counts the stacks that fall. Exactly the stacks without a margin
-- fall, although the solver does not use margins.
--     tools/run scripts/parallel/stack_tolerances.lua --map map.html     each pixel opens its stacks
local sim = require "sim2d"

local e = sim.experiment("A stack of bricks, each off by chance", {
  stacks = { 25, "for each tolerance and height" }, map = { "", "FILE.html: the robustness map" } })

local sweep = sim.sweep {
  grid = { tolerance = { 0.05, 0.1, 0.15, 0.2, 0.25 }, bricks = { 3, 6 } },
  repeats = e.options.stacks,
  seed = 11,
  record = e.options.map ~= "" and e.options.map .. ".runs" or nil,
  run = function(p)
    local length, height = 1, 0.25
    local world = sim.world { dt = 0.02, gravity = { 0, -9.81 } }
    world:box { type = "static", position = { 0, -0.5 }, size = { 40, 1 }, friction = 0.8 }
    local xs, bodies = { 0 }, {}
    for i = 1, p.bricks do
      if i > 1 then xs[i] = sim.random.normal(0, p.tolerance) end
      bodies[i] = world:box { position = { xs[i], (i - 0.5) * height }, size = { length, height }, friction = 0.8 }
    end
    -- joint by joint from the top: the centre of all bricks above, and the common part of brick i and the brick below
    local margin, sum = math.huge, 0
    for i = p.bricks, 2, -1 do
      sum = sum + xs[i]
      local centre = sum / (p.bricks - i + 1)
      local left, right = math.max(xs[i], xs[i - 1]) - length / 2, math.min(xs[i], xs[i - 1]) + length / 2
      margin = math.min(margin, centre - left, right - centre)
    end
    world:run { duration = 2 }
    local moved = 0
    for i, body in ipairs(bodies) do
      moved = math.max(moved, math.abs(body.x - xs[i]) + math.abs(body.y - (i - 0.5) * height))
    end
    return { stands = moved < 1e-3, margin = margin, moved = moved }
  end,
}

-- Compares each run with statics.
local wrong, least, most, standing = 0, math.huge, 0, {}
for _, row in ipairs(sweep.rows) do
  if row.stands ~= (row.margin > 0) then wrong = wrong + 1 end
  least = math.min(least, math.abs(row.margin))
  if row.stands then most = math.max(most, row.moved) end
  local key = row.tolerance .. " " .. row.bricks
  standing[key] = (standing[key] or 0) + (row.stands and 1 or 0)
end

sweep:summary("bricks", "tolerance")
print(("the margin nearest to none: %.1e"):format(least))
print()
e:equal("failed", 0, #sweep.failures)
e:equal("stand without a margin, or fall with one", 0, wrong)
e:below("what stands has moved by at most, m", 1e-9, most)
e:equal("off by 0.05, 6 bricks: stand", e.options.stacks, standing["0.05 6"])
e:below("off by 0.25, 6 bricks: stand, as many as of 3 at most", standing["0.25 3"], standing["0.25 6"])
e:figure(sweep:plot { x = "tolerance", y = "stands", by = "bricks", title = "Stacks that stand" })
if e.options.map ~= "" then
  assert(sweep:map { x = "tolerance", y = "bricks", value = "stands", path = e.options.map, title = "Stacks that stand" })
end
e:finish()
