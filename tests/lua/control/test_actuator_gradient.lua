-- Gradients through actuators: against forces that the script applies itself, and against differences.
local sim = require "sim2d"

local STEPS = 12
-- joint type, its definition, and kinds of actuators on it
local JOINTS = {
  hinge = { def = function(p) return { anchor = { 0.5 + p[5], 0.1 } } end, kinds = { "torque", "speed", "position", "explicit" } },
  slider = { def = function(p) return { anchor = { 0.1, 0.05 }, axis = { 1, 0.4 + p[5] } } end, kinds = { "force", "speed", "position", "explicit" } },
  wheel = { def = function(p) return { anchor = { 0.2, 0.1 }, axis = { 0.3 + p[5], 1 }, stiffness = 100 } end, kinds = { "force", "torque", "speed" } },
  weld = { def = function(p) return { anchor = { 0.5 + p[5], 0 }, compliance = 1e-3 } end, kinds = { "torque" } },
  spring = { def = function(p) return { anchor_a = { 0.1, 0.1 + p[5] }, anchor_b = { 0.9, 0.2 }, stiffness = 30 } end,
    kinds = { "force", "speed", "position", "explicit" } },
  distance = { def = function(p) return { anchor_a = { 0.1, 0.1 + p[5] }, anchor_b = { 0.9, 0.2 } } end, kinds = { "force" } },
}

-- Two boxes with a joint between them. `definition` is the actuator; nil: none.
local function build(joint, p, definition)
  local world = sim.world { dt = 1 / 120 }
  local a = world:box { name = "a", size = { 0.6, 0.2 }, mass = 1.3, position = { 0.05, -0.02 }, angle = 0.4, velocity = { 0.3, -0.2 }, angular_velocity = 0.5 }
  local b = world:box { name = "b", size = { 0.2, 0.5 }, mass = 1.7, position = { 0.95, 0.35 }, angle = -0.3, velocity = { -0.1, 0.6 }, angular_velocity = -0.4 }
  local j
  if joint then
    local def = JOINTS[joint].def(p)
    def.a, def.b = a, b
    j = world[joint](world, def)
  end
  if definition then world:actuator(definition(j, a)) end
  return world, j, a
end

local function loss(world)
  local sum = 0
  for k, b in ipairs { world.bodies.a, world.bodies.b } do
    sum = sum + k * b.x * 0.7 + 0.3 * b.y ^ 2 + sim.sin(b.angle) + 0.2 * b.vx * b.vy + 0.1 * b.omega
  end
  return sum
end

local function command(p, k) return sim.sin(1.3 * k + p[1]) + p[1] end
local P = { 0.3, 0.1, -0.2, 0.15, 0.02 }

local function definition(kind, p, more)
  return function(joint, body)
    local def = { "u", joint = joint, body = not joint and body or nil, kind = kind }
    if kind == "explicit" or kind == "position" then
      def.kind, def.implicit, def.kp, def.kd = "position", kind == "position", 40 + 10 * p[2], 1 + p[3]
    end
    for key, value in pairs(more or {}) do def[key] = value end
    return def
  end
end

local function compare(name, one, other, tolerance)
  local value, slopes = sim.value_and_grad(one, P)
  eq(value, one(P)) -- bit for bit
  local its, others = sim.value_and_grad(other, P)
  near(its, value, tolerance)
  local most = 0
  for i = 1, #P do
    local size = 1 + math.abs(others[i])
    if math.abs(slopes[i] - others[i]) > tolerance * size then error(("%s, p[%d]: %.12g, expected %.12g"):format(name, i, slopes[i], others[i])) end
    most = math.max(most, math.abs(slopes[i]))
  end
  assert(most > 1e-3)
end

-- The effect of an actuator, written by a script with forces.
local function push(joint, force)
  local p, n = joint.anchor_a, nil
  if joint.type == "slider" or joint.type == "wheel" then
    n = joint.axis
  else
    local q = joint.anchor_b
    local dx, dy = p.x - q.x, p.y - q.y
    local length = sim.sqrt(dx * dx + dy * dy)
    n = { x = dx / length, y = dy / length }
  end
  joint.a:apply_force({ force * n.x, force * n.y }, { at = p })
  joint.b:apply_force({ -force * n.x, -force * n.y }, { at = p })
end

local function exert(joint, kind, effort)
  if kind == "torque" or joint.type == "hinge" then
    joint.a:apply_torque(effort)
    joint.b:apply_torque(-effort)
  else
    push(joint, effort)
  end
end

test("actuators have the gradients of forces that a script applies", function()
  for joint, of in pairs(JOINTS) do
    for _, kind in ipairs(of.kinds) do
      for _, most in ipairs { math.huge, 2 } do
        local limited = kind == "explicit" and most < math.huge
        if limited or most == math.huge then
          local key = joint == "hinge" and "max_torque" or "max_force"
          local by_actuator = function(p)
            local world = build(joint, p, definition(kind, p, limited and { [key] = most + p[4] } or nil))
            for k = 1, STEPS do
              world:act { command(p, k) }
              world:step()
            end
            return loss(world)
          end
          local by_hand = function(p)
            local world, j = build(joint, p)
            if kind == "speed" then j.motor_max = math.huge end
            for k = 1, STEPS do
              local u = command(p, k)
              if kind == "speed" then
                j.motor_speed = u
              elseif kind == "explicit" then
                local at = joint == "hinge" and j.angle or joint == "slider" and j.translation or j.length
                local effort, limit = (40 + 10 * p[2]) * (u - at) - (1 + p[3]) * j.speed, most + p[4]
                if limited then effort = effort > limit and limit or effort < -limit and -limit or effort end
                exert(j, kind, effort)
              elseif kind == "position" then
                j.servo_kp, j.servo_kd, j.servo_goal, j.servo_max = 40 + 10 * p[2], 1 + p[3], u, math.huge
              else
                exert(j, kind, u)
              end
              world:step()
            end
            return loss(world)
          end
          compare(joint .. " " .. kind, by_actuator, by_hand, 1e-9)
          ok(sim.check_grad(by_actuator, P, { print = false }) < 1e-6, joint .. " " .. kind)
        end
      end
    end
  end
end)

test("thrusters have the gradients of forces that a script applies", function()
  local by_actuator = function(p)
    local world = build(nil, p, definition("force", p, { frame = "body", direction = { 1 + p[2], 0.3 + p[3] }, at = { 0.1 + p[4], 0.2 + p[5] } }))
    for k = 1, STEPS do
      world:act { command(p, k) }
      world:step()
    end
    return loss(world)
  end
  local by_hand = function(p)
    local world, _, a = build(nil, p)
    for k = 1, STEPS do
      local u, x, y = command(p, k), 1 + p[2], 0.3 + p[3]
      local length, c, s = sim.sqrt(x * x + y * y), sim.cos(a.angle), sim.sin(a.angle)
      x, y = x / length, y / length
      a:apply_torque(u * ((0.1 + p[4]) * y - (0.2 + p[5]) * x))
      a:apply_force { u * (c * x - s * y), u * (s * x + c * y) }
      world:step()
    end
    return loss(world)
  end
  compare("thruster", by_actuator, by_hand, 1e-9)
end)

test("delays, ranges, snapshots and clones keep the gradients of commands", function()
  local variants = { { delay = 2.5 / 120 }, { range = true }, { snapshot = true }, { clone = true, delay = 1 / 120 }, { checkpoint = true } }
  for v, o in ipairs(variants) do
    local f = function(p)
      if o.checkpoint then sim.checkpoint(4) end
      local range = o.range and { 0.4 + 0.1 * p[2], 1.1 } or nil
      local world = build("slider", p, definition("force", p, { delay = o.delay, range = range }))
      for k = 1, STEPS do
        if k % 3 == 1 then world:act { u = command(p, k) } end
        if o.snapshot and k == 5 then
          local image = world:snapshot()
          world:act { u = 1 + p[1] }
          world:step()
          world:restore(image)
        end
        if o.clone and k == 7 then world = world:clone() end
        world:step()
      end
      return loss(world)
    end
    ok(sim.check_grad(f, P, { print = false }) < 1e-6, ("variant %d"):format(v))
    eq(sim.value_and_grad(f, P), f(P))
  end
end)

test("the last command is tracked, and plain after the call", function()
  local kept
  local _, slope = sim.value_and_grad(function(p)
    kept = build("slider", P, definition("force", P))
    kept:act { 3 * p[1] }
    kept:step()
    return kept.bodies.a.vx
  end, { 2 })
  assert(math.abs(slope[1]) > 1e-3)
  -- in later calls, the command of this world is a constant
  _, slope = sim.value_and_grad(function(p)
    kept.bodies.b.vy = p[1]
    kept:step()
    return kept.bodies.a.vx
  end, { 2 })
  assert(slope[1] == slope[1])
  local shown
  _, slope = sim.value_and_grad(function(p)
    local world = sim.world {}
    local box = world:box { size = { 1, 1 } }
    shown = world:actuator { "u", body = box, kind = "torque", range = { -10, 10 } }
    world:act { p[1] ^ 2 }
    return shown.value
  end, { 3 })
  eq(slope[1], 6)
  eq(shown.value, 9)
  eq(type(shown.value), "number")
end)
