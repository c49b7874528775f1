-- joint.speed = x: the branch beyond the joint moves rigidly along.
local sim = require "sim2d"

sim.random.seed(20260642)
local R = sim.random.split()

-- A random tree of bodies on joints whose speeds can be set; `free` leaves it without ground.
local function tree(world, count, free)
  local bodies, joints = {}, {}
  for i = 1, count do
    local x, y = R:uniform(-3, 3), R:uniform(-3, 3)
    bodies[i] = world:box { size = { 1, 0.2 }, position = { x, y }, angle = R:uniform(-3, 3), mass = R:uniform(0.5, 2), mask = 0,
      velocity = { R:uniform(-1, 1), R:uniform(-1, 1) }, angular_velocity = R:uniform(-1, 1) }
    local before = i > 1 and bodies[R:integer(1, i - 1)] or nil
    if before or not free then
      local at, kind = { x + R:uniform(-1, 1), y + R:uniform(-1, 1) }, R:integer(1, 5)
      joints[#joints + 1] = kind == 1 and world:slider { bodies[i], before, anchor = at, axis = { R:uniform(-1, 1), 1 } }
        or kind == 2 and world:wheel { bodies[i], before, anchor = at, axis = { R:uniform(-1, 1), 1 }, stiffness = 10 }
        or world:hinge { bodies[i], before, anchor = at }
    end
  end
  return bodies, joints
end

test("a speed is what was set, and other speeds stay", function()
  for case = 1, 200 do
    local world = sim.world { gravity = { 0, 0 } }
    local _, joints = tree(world, R:integer(2, 6), case % 3 == 0)
    if case % 2 == 0 then world:step() end -- velocities that fit the joints
    local chosen, before = R:integer(1, #joints), {}
    for i, joint in ipairs(joints) do before[i] = joint.speed end
    local poses = world:state()
    local speed = R:uniform(-3, 3)
    joints[chosen].speed = speed
    for i, joint in ipairs(joints) do
      near(joint.speed, i == chosen and speed or before[i], 1e-12, ("case %d, joint %d, a %s"):format(case, i, joint.type))
    end
    local after = world:state()
    for i = 1, #after do
      if (i - 1) % 6 < 3 then eq(after[i], poses[i]) end
    end
    if case % 2 == 0 then -- and the joints hold them
      local kinetic = world:energy().kinetic
      world:step()
      near(world:residuals().scaled, 0, 1e-9)
      ok(world:energy().kinetic <= kinetic * 1.2 + 1e-9)
    end
  end
end)

test("the side that the ground does not hold moves, else the lighter one", function()
  local world = sim.world { gravity = { 0, 0 } }
  local link = {}
  for i = 1, 3 do
    link[i] = world:box { position = { i - 0.5, 0 }, size = { 1, 0.1 }, mass = 1, mask = 0 }
    world:hinge { link[i], link[i - 1], anchor = { i - 1, 0 }, name = "joint " .. i }
  end
  world.joints["joint 2"].speed = 2
  eq({ link[1].omega, link[2].omega, link[3].omega }, { 0, 2, 2 })
  near(link[3].vy, 2 * 1.5, 1e-12)
  local heavy = world:box { position = { 10, 0 }, size = { 1, 1 }, mass = 5 }
  local light = world:box { position = { 12, 0 }, size = { 1, 1 }, mass = 1 }
  local hinge = world:hinge { heavy, light, anchor = { 11, 0 } }
  hinge.speed = 1
  eq({ heavy.omega, light.omega }, { 0, -1 })
  local rope = world:rope { world:circle { radius = 0.1, position = { 20, 0 } }, anchor_b = { 23, 4 }, max_length = 6 }
  rope.speed = -1
  near(rope.a.vx, 0.6, 1e-12)
  near(rope.a.vy, 0.8, 1e-12)
end)

test("loops stay closed: the other joints get the speeds that they need", function()
  for _ = 1, 30 do
    local world = sim.world { gravity = { 0, 0 }, dt = 1e-4 }
    local a, b, c = R:uniform(0.3, 0.6), R:uniform(1.4, 1.8), R:uniform(1.2, 1.6)
    local angle = R:uniform(0.3, 2.5)
    local p, d = { a * math.cos(angle), a * math.sin(angle) }, 1.5
    -- the coupler of length b from p to q, the rocker of length c from q to (d, 0)
    local dx, dy = d - p[1], -p[2]
    local l = math.sqrt(dx * dx + dy * dy)
    local along = (b * b - c * c + l * l) / (2 * l)
    local across = math.sqrt(b * b - along * along)
    local q = { p[1] + (along * dx - across * dy) / l, p[2] + (along * dy + across * dx) / l }
    local function rod(from, to)
      return world:box { position = { (from[1] + to[1]) / 2, (from[2] + to[2]) / 2 }, size = { 0.3, 0.1 }, mass = 1, mask = 0 }
    end
    local crank, coupler, rocker = rod({ 0, 0 }, p), rod(p, q), rod(q, { d, 0 })
    local drive = world:hinge { crank, anchor = { 0, 0 } }
    world:hinge { coupler, crank, anchor = p }
    world:hinge { rocker, coupler, anchor = q }
    local rock = world:hinge { rocker, anchor = { d, 0 } }
    drive.speed = 2
    near(drive.speed, 2, 1e-12)
    -- Freudenstein by differences: the rocker turns as the loop says
    local start, speed = rock.angle, rock.speed
    drive.angle = drive.angle + 1e-5
    local up = rock.angle
    drive.angle = drive.angle - 2e-5
    near(speed, 2 * (up - rock.angle) / 2e-5, 1e-4 * math.max(1, math.abs(speed)))
    near((up + rock.angle) / 2, start, 1e-6)
  end
  local world = sim.world {}
  local rod = world:box { size = { 1, 0.1 }, mass = 1 }
  local hinge = world:hinge { rod, anchor = { 0.5, 0 } }
  local weld = world:weld { rod, anchor = { 0, 0 }, name = "foot" }
  raises("Joint.speed: the weld 'foot' closes a loop that this speed opens at", function() hinge.speed = 1 end)
  eq(rod.omega, 0.0)
  raises("Joint.speed: that of a weld cannot be set", function() weld.speed = 1 end)
  raises("Joint.speed: finite number expected", function() hinge.speed = 0 / 0 end)
end)

test("gradients go through a speed that is set", function()
  for case = 1, 30 do
    local seed = R:integer(1, 1000000)
    local count = case % 4 + 2
    local function loss(p)
      sim.random.seed(seed)
      local kept = R
      R = sim.random.split()
      local world = sim.world { gravity = { 0, -1 }, dt = 0.01 }
      local bodies, joints = tree(world, count, case % 3 == 0)
      R = kept
      world:step()
      bodies[1].position = { bodies[1].x + 0 * p.x, bodies[1].y }
      for i, joint in ipairs(joints) do
        if i % 2 == 1 then joint.speed = p.speed * i + p.more * bodies[1].vx end
      end
      local sum = 0
      for i, body in ipairs(bodies) do sum = sum + i * body.vx - body.vy + body.omega / i end
      world:step(2)
      for i, body in ipairs(bodies) do sum = sum + body.x * i + body.angle end
      return sum
    end
    local p = { speed = 0.7, more = 0.3, x = 1 }
    local value, g = sim.value_and_grad(loss, p)
    near(value, loss(p), 1e-12 * math.max(1, math.abs(value)))
    for _, name in ipairs { "speed", "more" } do
      local h, up, down = 1e-5, {}, {}
      for key, number in pairs(p) do up[key], down[key] = number, number end
      up[name], down[name] = p[name] + h, p[name] - h
      local slope = (loss(up) - loss(down)) / (2 * h)
      near(g[name], slope, 1e-6 * math.max(1, math.abs(slope)), name)
    end
  end
end)
