-- The direct formulation in sliding speeds works for contacts that share a motion, if it is not solved for the forces.
--
-- The note suggests "generalizing direct formulation to non-full-rank jacobian scenarios". A box on two feet (m = h
-- = 1) has one sliding speed, J = (1, 1)', and two friction forces l, bounded by c_i = mu_i n_i. The direct formulation
-- requires
--   l = A (v - J b),   A = (J J')^-1,   of  0 <= v+ _|_ c + l >= 0,   0 <= v- _|_ c - l >= 0,     v = v+ - v-,
-- and J J' has no inverse. With the pseudoinverse, both feet pull equally, so one foot may slide while the other rests.
-- With J J' + eps I, the box creeps by up to eps c. But if l remains an unknown of a mixed problem,
--   -c <= l <= c  _|_  J b + J J' l,
-- no inverse is needed. l is not unique, but the speed is unique.
local sim = require "sim2d"
local e = sim.experiment "The direct formulation on two feet"

local JJ = sim.ones(2, 2)
local function direct(A, b, c)
  local q = A:mm { b, b }
  local M = sim.concat({ sim.concat({ A, -A }, 2), sim.concat({ -A, A }, 2) }, 1)
  local z = assert(sim.lcp.solve(M, sim.concat { sim.array(c) - q, sim.array(c) + q }))
  return z[1] - z[3], z[2] - z[4]
end
local function mixed(b, c)
  local _, l, info = assert(sim.mlcp.solve { B = JJ, b = { b, b }, lo = { -c[1], -c[2] }, hi = c })
  return info.w[1], b + l[1] + l[2]
end
local function engine(b) -- returns the speed, and c from the loads of the contacts
  local world = sim.world { stepping = "speculative", dt = 1, gravity = { 0, -1 }, combine_friction = "multiply" }
  world:box { type = "static", position = { 0, -0.5 }, size = { 99, 1 }, friction = 1 }
  local left = { size = { 0.1, 0.1 }, position = { -1, 0 }, friction = 0.2 }
  local right = { size = { 0.1, 0.1 }, position = { 1, 0 }, friction = 0.8 }
  local box = world:compound { position = { 0, 0.05 }, mass = 1, velocity = { b, 0 }, shapes = { left, right } }
  world:step()
  local c = { 0, 0 }
  for _, contact in ipairs(world:contacts()) do
    local i = contact.point.x < box.x and 1 or 2
    c[i] = c[i] + (i == 1 and left or right).friction * contact.normal_impulse
  end
  return box.vx, c
end

local worst, parted, creep, largest = 0, 0, { 0, 0, 0 }, 0
for i = -20, 20 do
  local b = i / 20
  local v, c = engine(b)
  local w, summed = mixed(b, c)
  worst, largest = math.max(worst, math.abs(w - v), math.abs(summed - v)), math.max(largest, c[1], c[2])
  local v1, v2 = direct(sim.array(JJ) / 4, b, c)
  parted = math.max(parted, math.abs(v1 - v2))
  for k, eps in ipairs { 1e-1, 1e-3, 1e-5 } do
    v1, v2 = direct(sim.linalg.inv(JJ + eps * sim.eye(2)), b, c)
    creep[k] = math.max(creep[k], math.abs(v1 - v) / eps, math.abs(v2 - v) / eps)
  end
end
e:equal("inverse of J J'", "singular matrix", select(2, sim.linalg.inv(JJ)))
e:above("pseudoinverse: one foot faster than the other by", 0.1, parted)
for k, eps in ipairs { 1e-1, 1e-3, 1e-5 } do
  e:below(("J J' + %.0e: largest error / eps, at most c"):format(eps), largest + 1e-6, creep[k])
end
e:equal("mixed problem: largest difference from the engine", 0, worst, 1e-9)
e:finish()
print "verdict: it generalises, as the mixed problem with bounds; what is gained is gamma, what is needed are the loads"
