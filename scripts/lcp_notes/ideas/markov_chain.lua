-- A Markov chain over sticking, slipping and detachment learns the frequency of each state of a box, but it cannot
-- predict the next state.
--
-- The note suggests: "Markov chain for state transitions. Captures multimodality. Could use stick/slip/detach as
-- states." A box (m = g = h = mu = 1) is pushed by u from U(-3, 3) and lifted by w from U(0, 1.25) at each step. From
-- rest it
--   detaches where w > 1: 1/5,      sticks where |u| <= 1 - w: 2/15,      slips otherwise: 2/3.
-- This is one row of the chain. The row for slipping does not exist, because it depends on the speed v whether a box
-- stops: |v + u| <= 1 - w is required. The complementarity problem includes this dependence.
local sim = require "sim2d"
local e = sim.experiment("A Markov chain over contact modes", { steps = { 8000, "to learn from" } })

local world = sim.world { stepping = "speculative", dt = 1, gravity = { 0, -1 } }
world:segment { from = { -1e5, 0 }, to = { 1e5, 0 }, friction = 1 }
local box = world:box { position = { 0, 0.05 }, size = { 2, 0.1 }, mass = 1, friction = 1 }

local counts = { stick = {}, slip = {}, detached = {} }
local mode, right, ground, fast, fast_stops = "stick", 0, 0, 0, 0
local seen = {}
for i = 1, e.options.steps do
  local u, w, v, vy = sim.random.uniform(-3, 3), sim.random.uniform(0, 1.25), box.vx, box.vy
  box:apply_force { u, w }
  world:step()
  local next = box.y > 0.05 + 1e-9 and "detached" or math.abs(box.vx) < 1e-9 and "stick" or "slip"
  counts[mode][next] = (counts[mode][next] or 0) + 1
  seen[i] = { mode, next }
  if mode ~= "detached" then -- prediction of the complementarity problem from the velocity, u and w
    ground = ground + 1
    local load = 1 - w - vy -- the load, including the landing
    local says = load < 0 and "detached" or math.abs(v + u) <= load and "stick" or "slip"
    if says == next then right = right + 1 end
    if math.abs(v) > 4 then
      fast, fast_stops = fast + 1, fast_stops + (next == "stick" and 1 or 0)
    end
  end
  mode = next
end

local likely, P = {}, {}
for from, row in pairs(counts) do
  local sum = 0
  for _, n in pairs(row) do sum = sum + n end
  P[from] = { n = sum }
  for to, n in pairs(row) do
    P[from][to] = n / sum
    if n > (row[likely[from]] or 0) then likely[from] = to end
  end
end
for _, case in ipairs { { "detached", 1 / 5 }, { "stick", 2 / 15 }, { "slip", 2 / 3 } } do
  local to, p = table.unpack(case)
  e:equal("from rest to " .. to, p, P.stick[to], 4 * math.sqrt(p * (1 - p) / P.stick.n))
end
e:above("from slipping to rest, the chain", 0.03, P.slip.stick)
e:equal(("   of %d boxes faster than 4"):format(fast), 0, fast_stops)
local guessed = 0
for _, pair in ipairs(seen) do guessed = guessed + (likely[pair[1]] == pair[2] and 1 or 0) end
e:below("next mode as the chain expects, %", 80, 100 * guessed / #seen)
e:equal("next mode as the problem says, % (from the ground)", 100, 100 * right / ground)
e:finish()
print "verdict: good for frequencies; speed is part of the state, and with it nothing is random but the push"
