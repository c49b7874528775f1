-- world:dynamics and world:inverse_dynamics: how efforts of actuators change the coordinates in the next step.

return function(sim, host)
  local methods = host.world_methods()
  local fail, describe = host.fail, host.describe

  local KEYS = { coordinates = true, acceleration = true }

  -- A step with turning joints is not linear, so efforts are corrected: number of corrections, relative tolerance.
  local CORRECTIONS, EXACT = 4, 1e-12

  -- Simulates a step from the present state with the present commands. Returns the speeds before and after it (as
  -- columns), the matrix B of the speeds, the commands, and a function that returns the later speeds and B for other
  -- commands.
  local function step_of(what, world, def)
    world = host.world(world)
    host.check_law_keys(what, def, KEYS)
    local actuators = host.actuators(world)
    if #actuators == 0 then
      fail("%s: the world has no actuators: declare one: world:actuator { ... }", what)
    end
    local clone, coordinates, now = world:clone(), nil, {}
    if def.coordinates ~= nil then
      if type(def.coordinates) ~= "table" then
        host.bad_law_key(what, "coordinates", "a list of joints and bodies", def.coordinates)
      end
      coordinates = {}
      for i, object in ipairs(def.coordinates) do coordinates[i] = host.counterpart(clone, object) end
    end
    -- the ranges of actuators must not clip the trial commands
    local model = host.model(clone, { coordinates = coordinates, outputs = {}, knots = 1, steps = 1, extra_count = 0 })
    for i, actuator in ipairs(actuators) do now[i] = sim.stop_gradient(actuator.value) end
    local n = model:sizes()
    local r, before = n // 2, nil
    local function step(commands)
      local x, _, _, b = model:linearize(sim.array { commands })
      local function speeds(k) return sim.array(table.move(x[k]:table(), r + 1, n, 1, {})) end
      before = speeds(1)
      return speeds(2), b:slice({ r + 1, n }, nil)
    end
    local after, B = step(now)
    return before, after, B, sim.array(now), r, step
  end

  local function square(what, r, m)
    if r ~= m then
      fail("%s: %d coordinates, but %d actuators: "
        .. "one actuator per coordinate is needed, and their effects must be independent", what, r, m)
    end
  end

  -- Returns M and bias such that M a + bias = u for the next step. Here a is the acceleration of the coordinates
  -- (change of speed divided by dt), and u is the effort of the actuators. Contacts, limits and springs act as in that
  -- step.
  function methods.dynamics(world, def)
    local before, after, B, now, r = step_of("dynamics", world, def or {})
    square("dynamics", r, now.size)
    local h = sim.stop_gradient(world.dt)
    local M, why = sim.linalg.inv(B)
    if not M then fail("dynamics: the effects of the actuators are not independent (%s)", why) end
    M = M * h
    return M, now - M:mm((after - before) / h)
  end

  -- Returns the efforts, one per actuator, that give the coordinates these accelerations over the next step.
  function methods.inverse_dynamics(world, def)
    if type(def) ~= "table" then
      fail("bad argument #1 to 'inverse_dynamics' ({ acceleration = {...} } expected, got %s)", describe(def))
    end
    local before, after, B, now, r, step = step_of("inverse_dynamics", world, def)
    local good, wanted = pcall(sim.array, type(def.acceleration) == "number" and { def.acceleration } or def.acceleration)
    if def.acceleration == nil or not good or wanted.size ~= r then
      host.bad_law_key("inverse_dynamics", "acceleration", ("%d numbers, one per coordinate"):format(r), def.acceleration)
    end
    local goal = wanted:reshape(r) * sim.stop_gradient(world.dt) + before
    for correction = 1, CORRECTIONS do
      local more, why
      if r == now.size then
        more, why = sim.linalg.solve(B, goal - after)
        if not more then fail("inverse_dynamics: the effects of the actuators are not independent (%s)", why) end
      else
        more = sim.linalg.lstsq(B, goal - after) -- the shortest of the solutions with the smallest residual
      end
      now = now + more
      if correction == CORRECTIONS or more:norm() <= EXACT * now:norm() then break end
      after, B = step(now:table())
    end
    return now:table()
  end

  -- ---- Computed torque --------------------------------------------------------------------------

  local control = sim.control
  local Torque = host.law_class({ kind = "computed torque", memory = {} }, {})

  local TORQUE = { coordinates = true, reference = true, kp = true, kd = true }
  local SPEEDS = { angle = "omega", x = "vx", y = "vy" }

  -- sim.control.computed_torque { coordinates = {joints}, reference = sim.control.reference {...}, kp =, kd = }:
  -- inverse dynamics of the reference's acceleration + kp * error + kd * speed error.
  function control.computed_torque(def)
    host.check_law_keys("computed_torque", def, TORQUE)
    local reference = def.reference
    if getmetatable(reference) == nil or not host.field(reference, "at") then
      host.bad_law_key("computed_torque", "reference", "a result of sim.control.reference", reference)
    end
    if type(def.coordinates) ~= "table" or #def.coordinates == 0 then
      host.bad_law_key("computed_torque", "coordinates", "a list of joints", def.coordinates)
    end
    local kp = host.law_number("computed_torque", def, "kp", 100, 0)
    return setmetatable({ coordinates = def.coordinates, reference = reference, kp = kp,
      kd = host.law_number("computed_torque", def, "kd", 2 * math.sqrt(sim.stop_gradient(kp)), 0) }, Torque)
  end

  local function value_of(object)
    if getmetatable(object) == "Body" then return object.angle, object[SPEEDS.angle] end
    local kind = object.type
    local value = kind == "hinge" and object.angle or (kind == "slider" or kind == "wheel") and object.translation
      or object.length
    return value, object.speed
  end

  function Torque:command(world, t)
    local q, v, a = self.reference:at(t)
    local wanted = {}
    for i, object in ipairs(self.coordinates) do
      local value, speed = value_of(object)
      local goal, rate, acceleration = q, v, a
      if type(q) == "table" then goal, rate, acceleration = q[i], v[i], a[i] end
      wanted[i] = acceleration + self.kp * (goal - value) + self.kd * (rate - speed)
    end
    return world:inverse_dynamics { coordinates = self.coordinates, acceleration = wanted }
  end
end
