-- A slack bridge of 100 hinged links, released in the shape of a V. While it swings, the joint errors are rounding
-- errors. The energy oscillation shrinks with the square of the step length, and the energy does not drift.
local sim = require "sim2d"

local options = sim.options { links = { 100, "links, an even number" } }

local SLOPE = math.asin(0.6) -- slope of the two straight halves; the span is 0.8 of the length

local function build(p)
  local links = p and p.links or options.links
  -- Waves travel along the links at the speed sqrt(tension / mass). Half of this step length resolves the waves, but
  -- twice this step length does not.
  local world = sim.world { gravity = { 0, -10 }, dt = p and p.dt or 1 / 120 }
  local dx, dy, before = math.cos(SLOPE), math.sin(SLOPE), nil
  local function knot(i) -- the joint between link i and the next link
    return { i * dx, -math.min(i, links - i) * dy }
  end
  for i = 1, links do
    local from, to = knot(i - 1), knot(i)
    local link = world:box { name = "link" .. i, size = { 1, 0.25 }, mask = 0,
      position = { (from[1] + to[1]) / 2, (from[2] + to[2]) / 2 },
      angle = i <= links // 2 and -SLOPE or SLOPE }
    world:hinge { link, before, anchor = from }
    before = link
  end
  world:hinge { before, nil, anchor = knot(links) }
  return world
end

-- Returns the largest deviation of the energy from its initial value within 10 s. `look` is called after each step.
local function sway(world, look)
  local before, farthest = world:energy().total, 0
  for _ in world:steps(10) do
    farthest = math.max(farthest, math.abs(world:energy().total - before))
    if look then look() end
  end
  return farthest, before
end

if sim.is_main() then
  local world = build()
  local first, last = world.joints[1], world.joints[#world.joints]
  local worst, residual = 0, 0
  local coarse, before = sway(world, function()
    local r = world:residuals()
    worst, residual = math.max(worst, r.joint_error), math.max(residual, r.scaled)
  end)
  print(("%d links: hinges never apart by more than %.1e m, residual %.1e"):format(options.links,
    worst, residual))
  -- The impulses of the anchors and the weight account for the change in the links' momentum.
  local was = world:momentum()
  world:step()
  local now, weight = world:momentum(), 0
  for _, body in ipairs(world.bodies) do
    weight = weight + body.mass * 10
  end
  local missing = now.y - was.y - first.impulse.y - last.impulse.y + weight * world.dt
  print(("momentum that neither anchors nor weight account for: %.1e N s"):format(math.abs(missing)))
  local fine = sway(build { dt = world.dt / 2 })
  print(("energy %.1f J, which oscillates by up to %.2f J in 10 s; with half of the step by %.3f J"):format(
    before, coarse, fine))
  -- The rounding error of positions up to 80 m is 7e-15 m. Divided by the step length, this is a speed of 1e-11 g dt.
  assert(worst <= 1e-9 and residual <= 1e-10 and math.abs(missing) < 1e-9)
  -- Second order: halving the step length reduces the oscillation to a quarter.
  assert(math.abs(coarse / fine - 4) < 0.2 and coarse < 1e-3 * math.abs(before))
end

return build
