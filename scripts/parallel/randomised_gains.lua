-- Gains for a cart-pole, chosen for one model or for many models: which gains still work if the model is wrong? A force
-- that is linear in the state places the four poles of the linearised cart-pole at -p (1/s):
--     x'' = (F + 3/4 m g angle) / (M + m/4),    angle'' = 3/(4 l) (g angle + x''),    l half of the pole's length.
-- On exactly this model, a high p is best. A real cart-pole has a different mass and length, its force is delayed, and
-- its sensors are noisy. Gains chosen over many such models (domain randomisation) are slower, but they still balance
-- the pole on new models.
local sim = require "sim2d"

local e = sim.experiment("Gains for one cart-pole and for many", {
  domains = { 16, "models to choose on" }, tests = { 32, "new models to compare on" } })
local MOST_DELAY = 8 -- number of steps of 10 ms
local speeds = { 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8 }

-- Runs one model with the gains for one p. Returns its performance over 5 s, and whether the pole stays up.
local function balance(p)
  local g, mass, pole_mass, half = 9.81, 1, 0.1, 0.5 -- the model for which the gains are designed
  local G, c, D = 3 * g / (4 * half), 3 / (4 * half), mass + pole_mass / 4
  local x1, x2 = p.speed ^ 4 / G, 4 * p.speed ^ 3 / G
  local a1, a2 = (6 * p.speed ^ 2 + x1 + G) / c, (4 * p.speed + x2) / c
  -- the actual cart-pole
  local world = sim.world { dt = 0.01 }
  local cart = world:box { size = { 0.5, 0.3 }, mass = p.cart, mask = 0 }
  local pole = world:box { size = { 0.06, p.length }, mass = p.pole, mask = 0, angle = p.tilt,
    position = { -0.5 * p.length * math.sin(p.tilt), 0.5 * p.length * math.cos(p.tilt) } }
  world:slider { cart, nil, anchor = { 0, 0 }, axis = { 1, 0 } }
  world:hinge { pole, cart, anchor = { 0, 0 } }
  local late, cost = {}, 0
  for i = 1, 500 do
    local angle, x = pole.angle + p.noise * sim.random.normal(), cart.x + p.noise * sim.random.normal()
    late[i] = D * (x1 * x + x2 * cart.vx - a1 * angle - a2 * pole.omega) - 0.75 * pole_mass * g * angle
    cart:apply_force { math.max(-30, math.min(30, late[i - p.delay] or 0)), 0 }
    world:step()
    cost = cost + 0.01 * (pole.angle ^ 2 + 0.1 * cart.x ^ 2)
    if math.abs(pole.angle) > 0.6 or math.abs(cart.x) > 2 then return { up = false, cost = 5 } end
  end
  return { up = true, cost = cost }
end

local function draw(n, seed)
  local random, models = sim.random.split(), {}
  random:seed(seed)
  for i = 1, n do
    models[i] = { cart = random:uniform(0.7, 1.3), pole = random:uniform(0.05, 0.3), length = random:uniform(0.6, 1.4),
      tilt = random:uniform(-0.15, 0.15), delay = random:integer(0, MOST_DELAY), noise = 0.002 }
  end
  return models
end

-- Runs every p on every model.
local function try(list, models)
  local points = {}
  for _, speed in ipairs(list) do
    for _, model in ipairs(models) do
      local point = { speed = speed }
      for name, value in pairs(model) do point[name] = value end
      points[#points + 1] = point
    end
  end
  return sim.sweep { run = balance, list = points }
end

-- Returns the mean of an output for each p, and the p with the lowest mean cost.
local function means(sweep, name)
  local sums, counts = {}, {}
  for _, row in ipairs(sweep.rows) do
    local value = row[name]
    if type(value) == "boolean" then value = value and 1 or 0 end
    sums[row.speed], counts[row.speed] = (sums[row.speed] or 0) + value, (counts[row.speed] or 0) + 1
  end
  for speed, sum in pairs(sums) do sums[speed] = sum / counts[speed] end
  return sums
end

local function best(sweep)
  local costs, found = means(sweep, "cost"), speeds[1]
  for _, speed in ipairs(speeds) do
    if costs[speed] < costs[found] then found = speed end
  end
  return found
end

local one = try(speeds, { { cart = 1, pole = 0.1, length = 1, tilt = 0.1, delay = 0, noise = 0 } })
local many = try(speeds, draw(e.options.domains, 1))
local for_one, for_many = best(one), best(many)
local fresh = try({ for_one, for_many }, draw(e.options.tests, 2))
local up = means(fresh, "up")

many:summary("speed")
print()
e:above("the best p on the model they are made for, 1/s", 6, for_one)
e:below("the best p over many models, 1/s", for_one / 2, for_many)
e:equal("it is up there at every p", 1, one:column "up":mean())
e:above("new models balanced by gains for many", 0.9, up[for_many])
e:below("new models balanced by gains for one", up[for_many] / 2, up[for_one])
e:figure(many:plot { x = "speed", y = "up", title = "Models balanced", legend = false })
e:finish()
