-- Worlds with smooth derivatives.
local sim = require "sim2d"

-- The distance by which a force pushes a box in 20 steps.
local function pushed(mode, mu)
  return function(p)
    local world = sim.world { dt = 0.01, gradient = mode, smoothing = 1e-3 }
    world:box { type = "static", position = { 0, -0.5 }, size = { 10, 1 }, friction = mu or 0.5 }
    local box = world:box { size = { 1, 0.2 }, position = { 0, 0.1 }, mass = 1, friction = mu or 0.5 }
    world:before_step(function() box:apply_force { p.push, 0 } end)
    world:run { steps = 20 }
    return box.x
  end
end

test("a smooth derivative includes that more push would move a box that sticks", function()
  local value, exact = sim.value_and_grad(pushed "exact", { push = 4 })
  local same, smooth = sim.value_and_grad(pushed "smooth", { push = 4 })
  eq(value, same) -- steps are the same
  near(exact.push, 0, 1e-9)
  ok(smooth.push > 1e-5, tostring(smooth.push))
end)

test("descent leaves the plateau", function()
  local f = pushed("smooth")
  local push = 4.5
  for _ = 1, 60 do
    local x, g = sim.value_and_grad(f, { push = push })
    push = push + 0.5 * math.max(-1, math.min(1, (0.02 - x) / math.max(g.push, 1e-3)))
  end
  near(f { push = push }, 0.02, 1e-3)
end)

test("friction that does not act yet has a derivative", function()
  local function slide(mode)
    return function(p)
      local world = sim.world { dt = 1 / 60, gradient = mode, stepping = "speculative" }
      world:box { type = "static", position = { 0, -0.5 }, size = { 10, 1 }, friction = 0.5 }
      local disc = world:circle { radius = 0.2, position = { 0, 0.206 }, velocity = { 0.3, 0 },
        friction = p.mu }
      world:step()
      return disc.vx
    end
  end
  eq(sim.grad(slide "exact", { mu = 0.5 }).mu, 0)
  ok(sim.grad(slide "smooth", { mu = 0.5 }).mu < -1e-6)
end)
