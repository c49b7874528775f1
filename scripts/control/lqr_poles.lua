-- The regulator of the linearised world balances one, two and three poles on a cart. Its gains are compared with
-- Riccati's equation iterated by hand. The script also finds its closed-loop poles, and the largest tilt from which it
-- recovers.
local sim = require "sim2d"

local exp = sim.experiment("LQR on one, two and three poles")

local function poles_on_cart(count)
  local world = sim.world { dt = 0.005 }
  local cart = world:box { size = { 0.4, 0.2 }, mass = 1, mask = 0 }
  local rail = world:slider { cart, anchor = { 0, 0 }, axis = { 1, 0 } }
  local joints, below = { rail }, cart
  for k = 1, count do
    local pole = world:box { size = { 0.05, 0.5 }, mass = 0.2, position = { 0, 0.5 * k - 0.25 }, mask = 0 }
    joints[k + 1] = world:hinge { pole, below, anchor = { 0, 0.5 * (k - 1) } }
    below = pole
  end
  world:actuator { "push", joint = rail, kind = "force" }
  return world, joints
end

-- Finds P by iterating Riccati's equation until it converges.
local function riccati(A, B, Q, R)
  local P, K = Q, nil
  for _ = 1, 20000 do
    local BP = B:t():mm(P)
    K = BP:mm(A) / (BP:mm(B)[1][1] + R)
    local next = Q + A:t():mm(P:mm(A - B:mm(K)))
    local change = (next - P):norm() / next:norm()
    P = (next + next:t()) / 2
    if change < 1e-15 then break end
  end
  return K
end

-- Returns true if the regulator recovers the lowest pole from this tilt.
local function recovers(count, law, tilt)
  local world, joints = poles_on_cart(count)
  joints[2].angle = tilt
  law.measure = function()
    local x = {}
    for k, joint in ipairs(joints) do
      x[k] = k == 1 and joint.translation or joint.angle
      x[#joints + k] = joint.speed
    end
    return x
  end
  world:control(law)
  for _ = 1, 1200 do
    world:step()
    for k = 2, #joints do
      if math.abs(joints[k].angle) > 1.6 then return false end
    end
  end
  return math.abs(joints[2].angle) < 0.01
end

for count = 1, 3 do
  local world, joints = poles_on_cart(count)
  local law = sim.control.lqr(world, { coordinates = joints, Q = 1, R = 0.01 })
  local slowest = 0
  for _, pole in ipairs(law.poles) do
    local size = type(pole) == "table" and math.sqrt(pole[1] ^ 2 + pole[2] ^ 2) or math.abs(pole)
    slowest = math.max(slowest, size)
  end
  local by_hand = riccati(law.A, law.B, sim.eye(2 * count + 2), 0.01)
  exp:below(("%d pole%s: gains against Riccati by hand, relative"):format(count, count > 1 and "s" or ""), 1e-8,
    (law.K - by_hand):norm() / by_hand:norm())
  exp:below("  modulus of the slowest pole of the closed loop", 1, slowest)
  -- finds the largest tilt to within a hundredth
  local lo, hi = 0, 1.5
  while hi - lo > 0.01 do
    local tilt = (lo + hi) / 2
    if recovers(count, law:copy(), tilt) then lo = tilt else hi = tilt end
  end
  print(("%d pole%s: comes back from %.2f rad"):format(count, count > 1 and "s" or "", lo))
  exp:above("  tilt of the lowest pole that it brings back, rad", count == 1 and 0.5 or count == 2 and 0.1 or 0.02, lo)
end
exp:finish()
