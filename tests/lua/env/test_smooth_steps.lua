-- Steps are smooth functions of the state between changes of the contact modes. Two algorithms whose results differ by
-- more than rounding, and of which the state selects one, would show as noise in difference quotients: a difference of
-- 1e-9 changes a quotient over 2e-7 by 0.005.
local sim = require "sim2d"
local SOURCE = os.getenv "S2_SOURCE" or "."
local STEPS, BEFORE = 100, 4 -- engine steps of an episode; decisions before the change
local ROUNDING = 2e-12       -- m and rad: of the sum over the final poses

-- Runs an episode whose bodies turn faster by `change` (rad/s) after the first decisions. `actions`: those of an earlier
-- run, because a law could amplify the change. Returns a sum over the final poses, the actions and the largest number of
-- contacts.
local function episode(env, seed, change, actions)
  local seen, world, taken, touches = env:reset { seed = seed }, env.world, {}, 0
  local law = env.baseline and env.baseline(env)
  local first = world:stats().steps
  while world:stats().steps - first < STEPS do
    for i = 1, #taken == BEFORE and #world.bodies or 0 do
      local body = world.bodies[i]
      if body.type == "dynamic" then body.omega = body.omega + change end
    end
    taken[#taken + 1] = actions and actions[#taken + 1] or law and law(world, world.time, seen) or { 0 }
    seen = env:step(taken[#taken])
    touches = math.max(touches, #world:contacts())
  end
  local sum = 0
  for i = 1, #world.bodies do
    local body = world.bodies[i]
    sum = sum + (i + 0.3) * body.x + (0.7 * i + 0.1) * body.y + (0.9 - 0.1 * i) * body.angle
  end
  return sum, taken, touches
end

-- In finger_spin, a finger hits a body, and the impacts come earlier or later, which curves the function too much for
-- these differences.
local CURVED = { finger_spin = true }

test("difference quotients over 100 steps agree to six digits in all tasks", function()
  local pipe <close> = assert(io.popen(("ls '%s'/scenes/tasks/*.lua"):format(SOURCE)))
  local tasks, touching = 0, 0
  for file in pipe:lines() do
    local name = file:match "([^/]*)%.lua$"
    local env = dofile(file)
    for seed = 1, CURVED[name] and 0 or 2 do
      local _, actions, touches = episode(env, seed, 0)
      local quotient, changes = {}, { 1e-5, 1e-6, 1e-7 }
      for i, change in ipairs(changes) do
        local above, below = episode(env, seed, change, actions), episode(env, seed, -change, actions)
        quotient[i] = (above - below) / (2 * change)
      end
      for i = 2, 3 do
        local within = 1e-6 * math.abs(quotient[1]) + ROUNDING / changes[i]
        ok(math.abs(quotient[i] - quotient[i - 1]) <= within,
          ("%s, seed %d: %.10g, then %.10g"):format(name, seed, quotient[i - 1], quotient[i]))
      end
      touching = touching + (touches > 0 and 1 or 0)
    end
    tasks = tasks + 1
  end
  ok(tasks >= 15)
  ok(touching >= 12)
end)
