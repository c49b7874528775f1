-- A chain of weights on hinges. The compliance of the hinges makes the chain soft or rigid. Its elongation follows
-- Hooke's law. With compliance 0 the chain is rigid.
local sim = require "sim2d"

local options = sim.options { compliance = { 1e-3, "of each hinge, m/N" } }

local COUNT, LENGTH, MASS, G = 10, 0.5, 2, 9.81

local function build(p)
  local compliance = p and p.compliance or options.compliance
  local world = sim.world {}
  local above
  for i = 1, COUNT do
    local link = world:box { name = "link" .. i, position = { 0, -LENGTH * (i - 0.5) },
      size = { 0.15, LENGTH }, mass = MASS }
    -- With this damping the slowest mode of the chain is about critically damped.
    world:hinge { link, above, anchor = { 0, -LENGTH * (i - 1) }, compliance = compliance,
      damping = compliance > 0 and COUNT * math.sqrt(MASS / compliance) or nil }
    above = link
  end
  return world
end

if sim.is_main() then
  for _, compliance in ipairs { 1e-2, options.compliance, 1e-5, 1e-9, 0 } do
    local world = build { compliance = compliance }
    world:run { duration = 30 }
    local sag = -LENGTH * (COUNT - 0.5) - world.bodies["link" .. COUNT].y
    -- Hinge i carries the weights that hang below it.
    local expected = compliance * MASS * G * COUNT * (COUNT + 1) / 2
    print(("compliance %-6g m/N: longer by %.12f m, Hooke %.12f m"):format(compliance, sag, expected))
    assert(math.abs(sag - expected) < 1e-6 * expected + 1e-9)
    assert(world:residuals().scaled <= 1e-9)
  end
end

return build
