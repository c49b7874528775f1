-- A two-link arm follows a minimum-jerk path by computed torque: a model world gives the efforts for the acceleration
-- a = a_r + kp e + kd e'. Each joint is then a double integrator, v+ = v + h a, for any arm. This holds up to rounding
-- errors, because the efforts solve a step of the model, whose final speeds are consistent with the joints. The efforts
-- are constant over the step, and the error e is O(h). Then the arm holds a payload that is missing in the model. At
-- rest, M kp e equals the torque of the payload's weight. Computed torque is compared with PD control, where a spring
-- at each joint carries the entire weight.
local sim = require "sim2d"

local exp = sim.experiment("Computed torque with a right and a wrong model")

local KP, KD, G, TIP = 100, 20, 9.81, { 1, 0.8 } -- units: 1/s^2, 1/s; lengths of the links in m
local FROM, TO, TIME, REST = { 0, 0 }, { 2, -1.2 }, 1, 1.5
local reference = sim.control.reference { points = { FROM, TO }, times = { 0, TIME }, kind = "minimum_jerk" }

-- Creates a hanging arm. Angles are measured from the hanging state. A payload is a point mass at the tip.
local function arm(dt, payload)
  local world = sim.world { dt = dt, gravity = { 0, -G } }
  local upper = world:box { size = { 0.1, TIP[1] }, mass = 2, position = { 0, -TIP[1] / 2 }, mask = 0 }
  local fore = world:box { size = { 0.1, TIP[2] }, mass = 1, position = { 0, -TIP[1] - TIP[2] / 2 }, mask = 0 }
  local load = world:circle { radius = 0.05, mass = payload, inertia = 1e-9, position = { 0, -TIP[1] - TIP[2] }, mask = 0 }
  local joints = { world:hinge { upper, anchor = { 0, 0 } }, world:hinge { fore, upper, anchor = { 0, -TIP[1] } } }
  world:weld { load, fore, anchor = { 0, -TIP[1] - TIP[2] } }
  world:actuator { "shoulder", joint = joints[1], kind = "torque" }
  world:actuator { "elbow", joint = joints[2], kind = "torque" }
  return world, joints
end

-- Returns the largest error along the path, the errors at the end, and the largest deviation of a speed from v + h a.
local function follow(dt, payload, law_of)
  local world, joints = arm(dt, payload)
  world:control(law_of(world, joints))
  local most, off = 0, 0
  for _ = 1, math.floor((TIME + REST) / dt + 0.5) do
    local r, rv, ra = reference:at(world.time)
    local q, v = { joints[1].angle, joints[2].angle }, { joints[1].speed, joints[2].speed }
    world:step()
    for k = 1, 2 do
      local wanted = v[k] + dt * (ra[k] + KP * (r[k] - q[k]) + KD * (rv[k] - v[k]))
      off = math.max(off, math.abs(joints[k].speed - wanted))
      most = math.max(most, math.abs(joints[k].angle - reference(world.time)[k]))
    end
  end
  return most, { TO[1] - joints[1].angle, TO[2] - joints[2].angle }, off
end

-- Computed torque with the model of an arm with this payload. The model is set to the state of the world.
local function torque_with(payload)
  return function(world)
    local model, joints = arm(world.dt, payload)
    local law = sim.control.computed_torque { coordinates = joints, reference = reference, kp = KP, kd = KD }
    return function(_, t)
      model:set_state(world:state())
      return law(model, t)
    end
  end
end

-- A spring and a damper at each joint. Their strength is proportional to the inertia about the joint when the arm is
-- straight.
local STIFF = { 3 * KP, 0.3 * KP }
local function springs(_, joints)
  return function(_, t)
    local r, rv, u = nil, nil, {}
    r, rv = reference:at(t)
    for k = 1, 2 do
      u[k] = STIFF[k] * (r[k] - joints[k].angle) + STIFF[k] * KD / KP * (rv[k] - joints[k].speed)
    end
    return u
  end
end

-- Returns the torques on the joints at these angles, due to the weights of the links (at their centres) and of the
-- payload.
local function weight(q, masses)
  local s1, s2 = math.sin(q[1]), math.sin(q[1] + q[2])
  local elbow = TIP[2] * s2 * (masses[2] / 2 + masses[3])
  return { G * (elbow + TIP[1] * s1 * (masses[1] / 2 + masses[2] + masses[3])), G * elbow }
end

local NONE, LOAD = 1e-6, 0.5 -- kg
local right, _, off = follow(1 / 200, NONE, torque_with(NONE))
local half, ended = follow(1 / 400, NONE, torque_with(NONE))
local wrong, left = follow(1 / 200, LOAD, torque_with(NONE))
local told = follow(1 / 200, LOAD, torque_with(LOAD))
local spring, sag = follow(1 / 200, NONE, springs)
print(("largest error: right model %.2e rad, at half the step %.2e; unknown payload %.2e, known %.2e; springs %.2e"):format(
  right, half, wrong, told, spring))

-- at rest with a payload, M kp e equals the torque of its weight at the angles of the arm
local q = { TO[1] - left[1], TO[2] - left[2] }
local model, joints = arm(1 / 200, NONE)
joints[1].angle, joints[2].angle = q[1], q[2]
local M = model:dynamics { coordinates = joints }
local expected = sim.linalg.solve(M, sim.array(weight(q, { 0, 0, LOAD }))) / KP
exp:below("right model: v+ - v - h a, rad/s", 1e-11, off)
exp:equal("right model: error at h over that at h / 2", 2, right / half, 0.05)
exp:below("right model: error at rest, rad", 1e-6, math.max(math.abs(ended[1]), math.abs(ended[2])))
exp:equal("known payload: error over that without one", 1, told / right, 0.05)
for k, name in ipairs { "shoulder", "elbow" } do
  exp:equal("unknown payload: error at rest, " .. name .. ", rad", expected[k], left[k], 1e-4)
end
local held = weight({ TO[1] - sag[1], TO[2] - sag[2] }, { 2, 1, NONE })
for k, name in ipairs { "shoulder", "elbow" } do
  exp:equal("springs: error at rest, " .. name .. ", rad", held[k] / STIFF[k], sag[k], 1e-4)
end
exp:above("springs: largest error over that of computed torque", 10, spring / right)
exp:finish()
