-- Corrections of the error of a joint: its own `stabilization`, and rows that contain positions.
local sim = require "sim2d"

local KINDS = { "hinge", "weld", "slider", "wheel", "distance", "rope", "pulley", "lock", "gear" }

-- A joint of a kind that drifts, between random bodies; its error and the motion after 30 steps.
local function moved(kind, p, own, all)
  local world = sim.world { stepping = "speculative", stabilization = all, dt = 1 / 60 }
  local a = world:box { size = { 0.5 + p[1], 0.1 }, position = { 1 + p[2], p[3] }, mass = 0.5 + p[5],
    angular_velocity = 4 * p[4], velocity = { p[7], 2 * p[8] } }
  local b = world:circle { radius = 0.1 + 0.1 * p[6], position = { -1, 0 }, velocity = { 3 * p[1], -p[4] } }
  local joint
  if kind == "lock" then
    joint = world:lock { body = a, x = true, angle = true, stabilization = own }
    a.position = { a.x + 0.1 + p[1], a.y }
  elseif kind == "distance" then
    joint = world:distance { a, b, anchor_a = { 0.8 + p[2], p[3] }, stabilization = own }
  elseif kind == "rope" then
    joint = world:rope { a, "world", anchor_a = { 0.8 + p[2], p[3] }, anchor_b = { 0, 0 }, stabilization = own,
      max_length = 0.2 + math.sqrt((0.8 + p[2]) ^ 2 + p[3] ^ 2) }
  elseif kind == "pulley" then
    joint = world:pulley { a, b, anchor_a = { 0.8 + p[2], p[3] }, ground_a = { 1, 3 }, ground_b = { -1, 3 },
      stabilization = own }
  elseif kind == "gear" then
    local hinge = world:hinge { a, "world", anchor = { 0.8, 0 }, stabilization = own }
    local slider = world:slider { b, "world", anchor = { -1, 0 }, axis = { 1, p[6] }, stabilization = own }
    joint = world:gear { hinge, slider, ratio = 0.5 + p[2], stabilization = own }
    b.position = { b.x + p[5], b.y }
  else
    joint = world[kind](world, { a, b, anchor = { 0.3 + p[2], p[3] }, stabilization = own,
      axis = (kind == "slider" or kind == "wheel") and { 1, p[6] } or nil, stiffness = kind == "wheel" and 10 or nil })
  end
  world:run { steps = 30 }
  local state = world:state()
  return joint.error, state
end

test("the stabilisation of a joint acts like that of a world, for this joint alone", function()
  sim.random.seed(20261128)
  local r, drifted = sim.random.split(), 0
  for case = 1, 220 do
    local kind, p = KINDS[1 + case % #KINDS], {}
    for i = 1, 8 do p[i] = r:uniform() end
    local drift, free = moved(kind, p, "none")
    local _, left = moved(kind, p, nil, "none")
    eq(free, left)
    local _, unheard = moved(kind, p, "none", "baumgarte")
    eq(free, unheard)
    local smaller, back = moved(kind, p, "baumgarte")
    local _, all = moved(kind, p, nil, "baumgarte")
    eq(back, all)
    local projected = moved(kind, p)
    if drift > 1e-3 then
      drifted = drifted + 1
      ok(projected < 1e-9 and smaller > 1e-9, kind)
    end
  end
  ok(drifted > 100)
end)

test("in a chain the joints that are left alone drift, and the others do not", function()
  sim.random.seed(20261129)
  local r = sim.random.split()
  for _ = 1, 40 do
    for _, stepping in ipairs { "auto", "speculative", "event" } do
      local world = sim.world { stepping = stepping, dt = 1 / 60 }
      local before, hinges, alone = "world", {}, r:integer(1, 4)
      for i = 1, 4 do
        local link = world:box { size = { 1, 0.1 }, position = { i - 0.5, 0 }, mass = r:uniform(0.2, 3) }
        hinges[i] = world:hinge { link, before, anchor = { i - 1, 0 }, stabilization = i == alone and "none" or nil }
        before = link
      end
      world:run { duration = 0.5 }
      for i, hinge in ipairs(hinges) do
        if i == alone then ok(hinge.error > 1e-6) else ok(hinge.error < 1e-8) end
      end
      eq(world:stats().unsolved, 0)
    end
  end
end)

test("derivatives see the stabilisation of a joint", function()
  sim.random.seed(20261130)
  local r = sim.random.split()
  for case = 1, 20 do
    local own = case % 2 == 0 and "none" or "baumgarte"
    local kind = ({ "hinge", "weld", "distance", "slider" })[1 + case % 4]
    local dt = 1 / 60
    local function loss(p)
      local world = sim.world { dt = dt }
      local a = world:box { size = { 1, 0.1 }, position = { 0.5, 0 }, mass = p[1], angular_velocity = p[2] }
      local b = world:box { size = { 1, 0.1 }, position = { 1.5 + p[3], 0 }, velocity = { 0, p[4] } }
      world:hinge { a, "world", anchor = { 0, 0 }, stabilization = own }
      world[kind](world, { a, b, stabilization = own, anchor = kind ~= "distance" and { 1, 0 } or nil,
        axis = kind == "slider" and { 1, 1 } or nil })
      b.position = { 1.5 + p[3], p[3] }
      world:run { steps = 20 }
      return a.x + 2 * a.y + b.x * b.x - b.angle + b.vy + 0.1 * b.omega
    end
    local p = { r:uniform(0.5, 2), r:uniform(-2, 2), r:uniform(0.02, 0.1), r:uniform(-1, 1) }
    local _, gradient = sim.value_and_grad(loss, p)
    for i = 1, #p do
      local h, up, down = 1e-5, { table.unpack(p) }, { table.unpack(p) }
      up[i], down[i] = p[i] + h, p[i] - h
      local difference = (loss(up) - loss(down)) / (2 * h)
      near(gradient[i], difference, 1e-6 * math.max(1, math.abs(difference)))
    end
  end
end)

test("a stabilisation that a joint cannot have is refused, with a remedy", function()
  local world = sim.world {}
  local body = world:circle { radius = 1 }
  for _, all in ipairs { "projection", "pre", "post", "post_assembly" } do
    raises(("key 'stabilization': 'none' or 'baumgarte' expected, got '%s', which moves whole islands: give it to sim.world")
      :format(all), function() world:hinge { body, nil, anchor = { 0, 0 }, stabilization = all } end)
  end
  raises("one of 'none', 'baumgarte' expected, got 'some'", function()
    world:weld { body, nil, anchor = { 0, 0 }, stabilization = "some" }
  end)
  raises("unknown key 'stabilization'", function()
    world:mouse { body, target = { 0, 0 }, stiffness = 1, stabilization = "none" }
  end)
  raises("lock with max_force or max_torque", function()
    world:lock { body, x = true, max_force = 3, stabilization = "none" }
  end)
  raises("cannot be combined with stepping event", function()
    local event = sim.world { stepping = "event" }
    event:hinge { event:circle { radius = 1 }, nil, anchor = { 0, 0 }, stabilization = "baumgarte" }
  end)
  eq(#world.joints, 0)
end)

test("rows that meet positions do so for every beta, 1 among them", function()
  sim.random.seed(20261131)
  local r = sim.random.split()
  for case = 1, 200 do
    local beta, dt = case % 2 == 0 and 1 or r:uniform(0.5, 1), 10 ^ r:uniform(-3, -1)
    local world = sim.world { dt = dt, beta = beta, geometric_stiffness = case % 4 < 2 and "on" or "psd",
      stabilization = "none", gravity = { 0, r:uniform(-10, 0) } }
    local turn, length, error = r:uniform(-3, 3), r:uniform(0.5, 2), r:uniform(-0.1, 0.1)
    local n = { math.cos(turn), math.sin(turn) }
    local v = { r:uniform(-1, 1), r:uniform(-1, 1) }
    local ball = world:circle { radius = 0.1, mass = r:uniform(0.1, 10), velocity = v,
      position = { (length + error) * n[1], (length + error) * n[2] } }
    world:distance { ball, nil, anchor_b = { 0, 0 }, length = length }
    world:step()
    -- u + (h/2 v' Hess(g) v)/beta + g/(beta h) = 0; the Hessian of a length is (1 - n n')/length
    local across = v[2] * n[1] - v[1] * n[2]
    local bend = across ^ 2 / (length + error)
    local wanted = -(error / dt + dt / 2 * bend) / beta
    near(ball.vx * n[1] + ball.vy * n[2], wanted, 1e-9 * math.max(1, math.abs(wanted)))
  end
end)
