-- Discs flow out of a hopper, and a wider outlet gives a faster flow. By Beverloo's law, the flow rate grows as the
-- width to the power 3/2.
local sim = require "sim2d"

local DISCS, RADIUS, FRICTION = 80, 0.1, 0.3
local WIDTHS = { 0.8, 1.2 }      -- widths of the outlet in m: four and six disc diameters
local RUNS = 4
-- LOST: the effective width of the outlet is smaller by this number of disc diameters. LEAST, MOST: the flow is timed
-- between these fractions of all discs.
local LOST, LEAST, MOST = 1.4, 0.2, 0.8

local function build(p)
  local half = (p and p.width or WIDTHS[2]) / 2
  local world = sim.world { dt = 1 / 120, stepping = "speculative", combine_friction = "min" }
  for side = -1, 1, 2 do
    world:chain { points = { { 1.2 * side, 3.6 }, { 1.2 * side, 1.2 }, { half * side, 0.2 } } }
  end
  world:box { name = "plug", type = "static", position = { 0, 0.1 }, size = { 2 * half, 0.2 } }
  local random = sim.random.split()
  for i = 0, DISCS - 1 do
    world:circle { name = "disc", radius = RADIUS * random:uniform(0.9, 1.1), friction = FRICTION,
      position = { -1.05 + 0.2333 * (i % 10), 1.35 + 0.24 * (i // 10) } }
  end
  return world
end

-- Returns the number of discs that leave the hopper between the fractions LEAST and MOST of all discs, and the time
-- that they take in s.
local function flow_of(width)
  local world = build { width = width }
  world:run { duration = 1 }
  world.bodies.plug:destroy()
  local out, from, to, at_least = 0, nil, nil, DISCS * LEAST
  for t in world:steps(8) do
    for i = #world.bodies, 1, -1 do
      local body = world.bodies[i]
      if body.type == "dynamic" and body.y < -0.5 then
        body:destroy()
        out = out + 1
      end
    end
    from = from or (out >= at_least and { t, out })
    if out >= DISCS * MOST then
      to = { t, out }
      break
    end
  end
  assert(to, "it is blocked")
  return to[2] - from[2], to[1] - from[1], world:stats().worst_penetration
end

if sim.is_main() then
  -- Discs may block each other temporarily, so the rate is the mean of several runs.
  local rates, worst = {}, 0
  for i, width in ipairs(WIDTHS) do
    local discs, seconds = 0, 0
    for _ = 1, RUNS do
      local out, took, overlap = flow_of(width)
      discs, seconds, worst = discs + out, seconds + took, math.max(worst, overlap)
    end
    rates[i] = discs / seconds
    print(("mouth of %.1f m: %.1f discs/s, deepest overlap %.1e m"):format(width, rates[i], worst))
  end
  local function free(width) return (width - LOST * 2 * RADIUS) ^ 1.5 end
  local expected = free(WIDTHS[2]) / free(WIDTHS[1])
  print(("%.2f times as fast, by Beverloo's law %.2f"):format(rates[2] / rates[1], expected))
  assert(math.abs(rates[2] / rates[1] / expected - 1) < 0.25 and worst < 1e-9)
end

return build
