-- Every hook of a script in a step, and all forbidden actions there: each returns or raises, and afterwards the world
-- is closed or can be stepped.
--   S2_FUZZ=N rounds, each with another stepping; in round n every nth call acts
local sim = require "sim2d"

local ROUNDS = tonumber(os.getenv "S2_FUZZ") or 1
local STEPS = fewer(6, 2)

local folder = os.tmpname()
os.remove(folder)

-- Two discs that land on a box, one that is hit, a joint that breaks, a sensor that a body passes.
local function scene(stepping)
  local world = sim.world { dt = 0.02, stepping = stepping }
  local s = { world = world, handles = {} }
  s.ground = world:box { type = "static", position = { 0, -0.5 }, size = { 9, 1 } }
  s.a = world:circle { name = "a", radius = 0.4, position = { 0, 0.43 }, velocity = { 0, -2 }, restitution = 0.3 }
  s.b = world:circle { name = "b", radius = 0.4, position = { 0.1, 1.3 }, velocity = { 0, -3 } }
  s.c = world:box { position = { 2, 0.5 }, size = { 0.5, 1 } }
  s.d = world:circle { radius = 0.2, position = { 2, 1.7 } }
  s.moving = world:box { type = "kinematic", position = { 5, 3 }, size = { 1, 1 } }
  s.sensor = world:box { type = "static", sensor = true, position = { 0, 1 }, size = { 1, 0.5 } }
  s.joint = world:hinge { s.c, s.d, anchor = { 2, 1.2 }, break_force = 3 }
  s.snapshot = world:snapshot()
  return s
end

-- name -> registers `act(body)` in a scene
local HOOKS = {
  before_step = function(s, act) return s.world:before_step(function() act(s.a) end) end,
  after_step = function(s, act) return s.world:after_step(function() act(s.a) end) end,
  every = function(s, act) return s.world:every(0.02, function() act(s.a) end) end,
  at = function(s, act) return s.world:at(0.03, function() act(s.a) end) end,
  start = function(s, act)
    return s.world:start(function()
      while true do
        sim.wait(0.02)
        act(s.a)
      end
    end)
  end,
  filter = function(s, act)
    return s.world:filter(function(a)
      act(a)
      return true
    end)
  end,
  pre_solve = function(s, act) return s.world:pre_solve(function(contact) act(contact.a) end) end,
  force_law = function(s, act)
    return s.b:force_law(function(body)
      act(body)
      return 0, 1, 0
    end)
  end,
  motion = function(s, act)
    return s.moving:motion(function()
      act(s.moving)
      return 0, 1, 0
    end)
  end,
  lock = function(s, act)
    s.lock = s.world:lock { s.d, x = function(t)
      act(s.d)
      return 2 + 0 * t
    end }
  end,
  spring = function(s, act)
    s.world:spring { s.a, s.b, force = function(x)
      act(s.a)
      return 3 * x, 3
    end }
  end,
  constraint = function(s, act)
    s.world:constraint { bodies = { s.b }, phi = function(q)
      act(s.b)
      return q.x - 0.1
    end }
  end,
  column = function(s, act)
    s.world:record(folder .. ".csv", { columns = { extra = function()
      act(s.a)
      return 1
    end } })
  end,
  until_ = function(s, act)
    local n = 0 -- number of calls: a hook that restores would repeat for ever
    s.run = function()
      s.world:run { duration = 1, until_ = function()
        n = n + 1
        act(s.a)
        return n >= STEPS
      end }
    end
  end,
  gradient = function(s, act)
    s.run = function()
      sim.grad(function(speed)
        local world = sim.world { dt = 0.02 }
        local ball = world:circle { radius = 0.4, position = { 0, 1 }, velocity = { speed, 0 } }
        world:before_step(function() act(ball) end)
        world:step(STEPS)
        return ball.x
      end, 1)
    end
  end,
}
for _, event in ipairs { "contact_begin", "contact_end", "contact_impulse", "sensor_begin", "sensor_end",
  "joint_break", "solver_warning" } do
  HOOKS["on " .. event] = function(s, act) return s.world:on(event, function(of) act(of.a or s.a) end) end
end

-- name -> an action on the scene and the given body
local ACTIONS = {
  ["destroys its body"] = function(_, body) body:destroy() end,
  ["destroys another"] = function(s) s.c:destroy() end,
  ["destroys the joint"] = function(s) s.joint:destroy() end,
  ["makes a body"] = function(s) -- at a distance from all others, or each call would cause further calls
    s.made = (s.made or 0) + 1
    s.world:circle { radius = 0.1, position = { 20 + s.made, 30 } }
  end,
  ["makes a joint"] = function(s) s.world:weld { s.a, s.b, anchor = { 0, 1 } } end,
  ["takes a snapshot"] = function(s) s.snapshot = s.world:snapshot() end,
  ["restores"] = function(s) s.world:restore(s.snapshot) end,
  ["clones"] = function(s) s.world:clone():step() end,
  ["closes the world"] = function(s) s.world:close() end,
  ["steps"] = function(s) s.world:step() end,
  ["runs"] = function(s) s.world:run { duration = 0.05 } end,
  ["tries to step"] = function(s) pcall(s.world.step, s.world) end,
  ["yields"] = function() coroutine.yield(1) end,
  ["steps in a coroutine"] = function(s) coroutine.wrap(function() s.world:step() end)() end,
  ["raises"] = function() error "raised" end,
  ["raises a table"] = function() error({}) end,
  ["raises nil"] = function() error(nil) end,
  ["overflows the stack"] = function()
    local function deeper() return (("a"):gsub("a", deeper)) end -- the C stack, which is small
    deeper()
  end,
  ["takes a gradient"] = function(s)
    sim.grad(function(x)
      s.a.velocity = { x, 0 }
      return x * x
    end, 1)
  end,
  ["takes a gradient of steps"] = function()
    sim.grad(function(x)
      local world = sim.world {}
      local ball = world:circle { radius = 0.1, velocity = { x, 0 } }
      world:step(2)
      return ball.x
    end, 1)
  end,
  ["records"] = function(s) s.world:record(folder .. ".s2d") end,
  ["draws"] = function(s) s.world:draw(folder .. ".svg") end,
  ["reads contacts"] = function(s) return #s.world:contacts() end,
  ["sets the state"] = function(s) s.world:set_state(s.world:state()) end,
  ["moves a body"] = function(_, body) body.position = { 0, 5 } end,
  ["gives it no shape of motion"] = function(_, body) body.velocity = { 0 / 0, 1e300 } end,
  ["pushes too hard"] = function(_, body) body:apply_force { 1e300, 0 } end,
  ["changes the type"] = function(_, body) body.type = "static" end,
  ["disables it"] = function(_, body) body.enabled = not body.enabled end,
  ["resolves overlaps"] = function(s) s.world:resolve_overlaps() end,
  ["solves for rest"] = function(s) s.world:solve_static { max_steps = 20 } end,
  ["casts a ray"] = function(s) s.world:raycast({ -9, 0.5 }, { 9, 0.5 }) end,
  ["removes its hook"] = function(s) s.handle:remove() end,
  ["adds hooks"] = function(s) s.world:before_step(print):remove() end,
  ["changes settings"] = function(s) s.world.stepping = "event" end,
  ["collects garbage"] = function() collectgarbage() end,
  ["forgets everything"] = function(s)
    s.a, s.b, s.c, s.joint, s.snapshot = nil, nil, nil, nil, nil
    collectgarbage()
    collectgarbage()
  end,
}

local function sorted(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local acted = {}

local function try(hook, action, round)
  local s = scene(({ "speculative", "event", "bisect" })[round % 3 + 1])
  local world, calls, kept = s.world, 0, true
  local _ -- some hooks are called when they are registered, and raise there
  _, s.handle = pcall(HOOKS[hook], s, function(body)
    calls = calls + 1
    if kept and calls % round == 0 then
      acted[hook] = (acted[hook] or 0) + 1
      ACTIONS[action](s, body)
    end
  end)
  for _ = 1, STEPS do
    local good, message = pcall(s.run or function() world:step() end)
    if not good and type(message) == "string" then
      ok(not message:find "%[sim2d[^%]]*%]:%d+: attempt to", message)
    end
    if s.run then break end
  end
  kept = false
  -- A remaining world is consistent: it can be stepped, or reports why not.
  local closed = tostring(world) == "World (closed)"
  local good, message = pcall(world.step, world, 2)
  if closed then
    ok(not good and message:find "closed", tostring(message))
  elseif not good then
    ok(type(message) == "string" and #message > 10)
  end
  if not closed then
    for _, body in ipairs(world.bodies) do ok(body.x == body.x and body.y == body.y, "a place that is none") end
    world:close()
  end
end

-- Under sanitizers each hook gets every other action, and the next hook the remaining ones.
local EVERY = fewer(1, 2)
for h, hook in ipairs(sorted(HOOKS)) do
  test("in " .. hook, function()
    local tried = 0
    for round = 1, ROUNDS do
      for i, action in ipairs(sorted(ACTIONS)) do
        if (h + i) % EVERY == 0 then
          local good, message = pcall(try, hook, action, round)
          ok(good, action .. ": " .. tostring(message))
          tried = tried + 1
        end
      end
    end
    ok(tried > 0)
    ok((acted[hook] or 0) >= tried // ROUNDS or hook:find "^on " or hook == "at", "did it act at all?")
  end)
end

os.execute("rm -f '" .. folder .. "'*")
