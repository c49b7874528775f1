-- A finger pushes a puck to a mark: it has to approach the puck, throw it, and let dry friction stop it at the mark.
-- The planner looks half a second ahead in the linear complementarity system of the step (world:lcs), which is updated
-- in every step. Rollouts find the active rows, and a quadratic program finds the commands for these rows. The
-- candidate with the lowest cost in the system is used. The planner knows contact and friction only through these rows,
-- and without them the puck never moves.
local sim = require "sim2d"

local exp = sim.experiment("Planning by complementarity")
local DT, HORIZON, ROUNDS = 0.025, 20, 4
local MOST, GOAL, ALL = 4, 0.5, 0xffffffff -- largest force (N), position of the mark (m), bits of a mask

local function scene()
  local world = sim.world { dt = DT, stepping = "speculative", gravity = { 0, 0 } }
  local finger = world:circle { radius = 0.05, mass = 0.4, position = { -0.2, 0 }, friction = 0 }
  local puck = world:circle { radius = 0.1, mass = 0.5, friction = 0, name = "puck" }
  local arm = world:slider { finger, axis = { 1, 0 }, anchor = { -0.2, 0 } }
  local rail = world:slider { puck, axis = { 1, 0 }, anchor = { 0, 0 }, friction = 1.5 }
  world:actuator { "push", joint = arm, kind = "force", range = { -MOST, MOST } }
  return world, arm, rail
end

-- The cost weights of finger, puck and their speeds, in each step and at the horizon.
local goal = sim.array { 0, GOAL, 0, 0 }
local Q, END, R = sim.eye(4) * sim.array { 0, 2, 0.02, 0.02 }, sim.eye(4) * sim.array { 0, 400, 1, 20 }, 0.002

local function weight(k) return k < HORIZON and Q or END end

local function constant(u) return (sim.zeros(HORIZON) + u):table() end

-- Returns the cost of a command sequence in the system, with its states and impulses.
local function rollout(lcs, u)
  local x, xs, presses, cost = lcs.x0, {}, {}, 0
  for k = 1, HORIZON do
    x, presses[k] = lcs:step(x, { u[k] })
    if not x then return math.huge end
    xs[k], cost = x, cost + R * u[k] ^ 2 + (x - goal):dot(weight(k):mm(x - goal))
  end
  return cost, xs, presses
end

-- Returns the best change of the commands for the same active rows, from a quadratic program with bounds.
local function improve(lcs, u, xs, presses)
  local S, P, q, G, h = {}, {}, {}, {}, {} -- S[j]: dx/du_j
  for i = 1, HORIZON do
    P[i], G[i], G[HORIZON + i] = constant(0), constant(0), constant(0)
    P[i][i], G[i][i], G[HORIZON + i][i] = 2 * R, 1, -1
    q[i], h[i], h[HORIZON + i] = 2 * R * u[i], MOST - u[i], MOST + u[i]
  end
  for k = 1, HORIZON do
    local A, B = lcs:linear(presses[k])
    local pull = weight(k):mm(xs[k] - goal)
    for j = 1, k - 1 do S[j] = A:mm(S[j]) end
    S[k] = B:reshape(4)
    for i = 1, k do
      local along = weight(k):mm(S[i])
      q[i] = q[i] + 2 * S[i]:dot(pull)
      for j = 1, k do P[i][j] = P[i][j] + 2 * S[j]:dot(along) end
    end
  end
  return sim.qp.solve { P = P, q = q, G = G, h = h }
end

-- Returns the best commands from several starts. Each start is improved as long as the cost in the system decreases.
local function plan(lcs, starts)
  local least, best = math.huge, starts[1]
  for _, u in ipairs(starts) do
    local cost, xs, presses = rollout(lcs, u)
    for _ = 1, cost < math.huge and ROUNDS or 0 do
      local change = improve(lcs, u, xs, presses)
      for halvings = 0, change and 4 or -1 do
        local trial = sim.clamp(sim.array(u) + sim.array(change) / 2 ^ halvings, -MOST, MOST):table()
        local c, x, p = rollout(lcs, trial)
        if c < cost then u, cost, xs, presses = trial, c, x, p break end
      end
    end
    if cost < least then least, best = cost, u end
  end
  return best
end

-- Returns the final position of the puck, and the largest deviation between a step of the system and a step of the
-- world.
local function run(knows, steps)
  local world, arm, rail = scene()
  local u, off, pushed = constant(0), 0, 0
  for _ = 1, steps do
    world.bodies.puck.mask = knows and ALL or 0 -- applies to the planner's system
    u = plan(world:lcs { coordinates = { arm, rail }, margin = 1 }, { u, constant(MOST / 4), constant(MOST) })
    world.bodies.puck.mask = ALL
    world:act { u[1] }
    local now = world:lcs { coordinates = { arm, rail } } -- linearised at the current command
    local expected = now:step(now.x0)
    world:step()
    off = math.max(off, (expected - now:read(world)):norm())
    for _, contact in ipairs(world:contacts()) do pushed = pushed + contact.normal_impulse end
    u = table.move(u, 2, HORIZON, 1, constant(0))
  end
  return rail.translation, off, pushed, rail.speed
end

local blind = run(false, 20)
local place, off, pushed, speed = run(true, 60)
print(("the puck is %.2f mm from its mark, after pushes of %.3f N s; without rows of contact it stays at %.3f m"):format(
  1000 * (place - GOAL), pushed, blind))
exp:equal("puck, m", GOAL, place, 0.01)
exp:equal("its speed, m/s", 0, speed, 1e-9)
exp:equal("puck of a planner without rows of contact, m", 0, blind, 1e-9)
exp:below("a step of the system against the world's", 1e-9, off)
exp:finish()
