-- Noise of observations in tasks, vectors and batches: it depends on the seed of the episode only.
local sim = require "sim2d"

local R = sim.random.split()
R:seed(11)

local function cart(noise, kind)
  local world = sim.world { dt = 0.02, gravity = { 0, 0 } }
  local body = world:box { name = "cart", size = { 1, 1 }, mass = 1, mask = 0 }
  world:actuator { "push", body = body, kind = "force", direction = { 1, 0 }, range = { -2, 2 } }
  world:observe { "cart", of = body, field = { "x", "vx" }, noise = noise }
  if kind == "read" then
    world:observe { "twice", read = function(w) return 2 * w.bodies.cart.x end, noise = noise / 2 }
  end
  return world
end

-- A random task: its other random parts, its length, and whether its world draws random numbers.
local function task()
  local noise, kind = R:uniform(0.01, 1), R:choice { "field", "read" }
  local start = R:choice {
    "none",
    function(world, random) world.bodies.cart.x = random:uniform(-1, 1) end,
    { { of = "cart", field = "x", uniform = { -1, 1 } } } }
  local drawn = R:uniform() < 0.3
  return { name = "noisy", max_steps = R:integer(2, 6), reward = 1,
    parameters = { mass = { 1, 0.5, 2 } },
    world = function(p, random)
      local world = cart(noise, kind)
      world.bodies.cart.mass = p.mass
      if drawn then world.bodies.cart.vx = random:uniform(-1, 1) end
      return world
    end,
    reset = start ~= "none" and start or nil }
end

-- The observations of an episode under the same commands, as one text.
local function episode(env, options)
  local seen = {}
  local function note(list)
    for _, x in ipairs(list) do seen[#seen + 1] = ("%a"):format(x) end
  end
  note((env:reset(options)))
  repeat
    local list, _, terminated, truncated = env:step { 0.5 }
    note(list)
  until terminated or truncated
  return table.concat(seen, " ")
end

test("an episode's seed alone determines its noise", function()
  for _ = 1, 100 do
    local def = task()
    local env, other = sim.env(def), sim.env(def)
    local seed, randomise = R:integer(0, 1000), R:uniform() < 0.3
    local one = episode(env, { seed = seed, randomise = randomise })
    ok(episode(env, { seed = seed + 1, randomise = randomise }) ~= one, "another seed")
    episode(env)
    for _ = 1, R:integer(0, 3) do other:reset() end
    sim.random.uniform()
    eq(episode(other, { seed = seed, randomise = randomise }), one)
    eq(episode(env, { seed = seed, randomise = randomise }), one)
    local first, second = episode(env), episode(env)
    ok(first ~= second and first ~= one, "episodes without a seed differ")
    eq(episode(other), first) -- both generators continue from the same episode
  end
end)

-- Only noise: observations of a world at rest.
local function quiet() return { name = "quiet", max_steps = 3, reward = 1, world = function() return cart(0.1, "field") end } end

test("noise differs between episodes, environments, steps and numbers", function()
  local seen, count = {}, 0
  local function note(list)
    for _, x in ipairs(list) do
      ok(not seen[x], "the same noise twice")
      seen[x], count = true, count + 1
    end
  end
  for _ = 1, 3 do
    local env = sim.env(quiet())
    for _ = 1, 3 do
      note((env:reset()))
      for _ = 1, 3 do note((env:step { 0 })) end
    end
  end
  eq(count, 72)
end)

test("environment i of a vector is the environment with the seed s + i", function()
  for _ = 1, 30 do
    local def, n, seed = task(), R:integer(2, 6), R:integer(0, 1000)
    local randomise = R:uniform() < 0.3
    for _, mode in ipairs { "next_step", "same_step" } do
      local vector = sim.env.vector(sim.env(def), { count = n, threads = R:integer(1, 3), autoreset = mode, randomise = randomise })
      vector:reset() -- as if others had used it before
      local got, actions = {}, {}
      for i = 1, n do actions[i] = { 0.5 } end
      local function note(observed)
        local rows = observed:reshape(n, #observed // n)
        for i = 1, n do
          got[i] = got[i] or {}
          for k = 1, rows.shape[2] do got[i][#got[i] + 1] = rows[{ i, k }] end
        end
      end
      note(vector:reset { seed = seed })
      for _ = 1, 2 * def.max_steps do note((vector:step(actions))) end
      for i = 1, n do
        local env, want, over = sim.env(def), {}, false
        local function take(list) for _, x in ipairs(list) do want[#want + 1] = x end end
        take((env:reset { seed = seed + i - 1, randomise = randomise }))
        for _ = 1, 2 * def.max_steps do
          if over then
            take((env:reset { randomise = randomise }))
            over = false
          else
            local seen, _, _, truncated = env:step { 0.5 }
            over = truncated
            if over and mode == "same_step" then
              seen, over = env:reset { randomise = randomise }, false
            end
            take(seen)
          end
        end
        eq(got[i], want)
      end
    end
  end
end)

test("in a batch each world and each episode has its own noise, with builders and with clones", function()
  for _, kind in ipairs { "field", "read" } do
    local n = 5
    for seed = 1, 10 do
      local built = sim.batch(function() return cart(0.1, kind) end, n, { seed = seed, threads = 2 })
      local cloned = sim.batch(cart(0.1, kind), n, { seed = seed, threads = 1 })
      local first = built:observe()
      eq(cloned:observe():table(), first:table())
      local seen = {}
      for _, row in ipairs(first:table()) do
        for _, x in ipairs(row) do
          ok(not seen[x], "the same noise twice")
          seen[x] = true
        end
      end
      local second = built:reset()
      eq(cloned:reset():table(), second:table())
      ok(second[{ 1, 1 }] ~= first[{ 1, 1 }], "another episode")
      eq(built:reset { seed = seed }:table(), first:table())
      local kept = built:snapshot()
      local later = { built:step():table(), built:reset():table() }
      built:restore(kept)
      eq({ built:step():table(), built:reset():table() }, later)
    end
  end
end)

test("clones and restored worlds observe the same noise at the same time", function()
  for _, kind in ipairs { "field", "read" } do
    local env = sim.env { name = "kept", reward = 1, world = function() return cart(0.1, kind) end }
    env:reset { seed = 3 }
    local world = env.world
    local kept, twin = world:snapshot(), world:clone()
    world:step()
    twin:step()
    local seen = { world:observation()[1], world:observation()[2] }
    eq({ twin:observation()[1], twin:observation()[2] }, seen)
    world:restore(kept)
    world:step()
    eq({ world:observation()[1], world:observation()[2] }, seen)
  end
end)

test("a world that is restored to before its noise was declared has its own noise", function()
  local values = {}
  for i = 1, 2 do
    local world = sim.world {}
    local ball = world:circle { radius = 1 }
    local bare = world:snapshot()
    world:observe { "x", of = ball, field = "x", noise = 0.1 }
    local before = world:observation()[1]
    world:restore(bare)
    eq(world:observation()[1], before)
    values[i] = before
  end
  ok(values[1] ~= values[2])
end)
