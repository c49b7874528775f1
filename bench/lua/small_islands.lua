-- Small islands with contacts: the step by the two stages (flow "auto") compared with the step by projection, in one
-- run. Prints microseconds of processor time a step, tries of solvers a step, and the ratio of the times:
--   build/sim2d bench/lua/small_islands.lua
-- One scene by one flow, to count its instructions (a build without S2_NATIVE, as valgrind does not know all of AVX):
--   valgrind --tool=callgrind --toggle-collect=s2_world_step build/sim2d bench/lua/small_islands.lua --scene soft --flow auto
-- The same with an older program; both programs then use the tasks of the older tree:
--   valgrind ... OLD/build/sim2d bench/lua/small_islands.lua --scene walker --flow default --tree OLD
local sim = require "sim2d"
local args = sim.options { scene = { "all", "boxes, discs, soft, dashpots, rest, leg, hopper or walker" },
  flow = { "both", "auto, projected, both, or default: without that key" }, tree = { "", "tree with the tasks; default: this one" },
  steps = { 100, "of each scene; of hopper and walker: decisions" } }

local here = (arg[0]:match "^(.*/)" or "./") .. "../.."
package.path = (args.tree == "" and here or args.tree) .. "/?.lua;" .. package.path

-- Numbers from 0 to 1 that are the same on each machine.
local function random(state)
  return function()
    state = (1103515245 * state + 12345) % 2147483648
    return state / 2147483648
  end
end

local function floor(flow, dt, friction)
  local world = sim.world { gravity = { 0, -9.81 }, dt = dt or 1 / 120, flow = flow }
  world:box { type = "static", position = { 0, -1 }, size = { 40, 2 }, friction = friction or 0.5 }
  return world
end

local function soft_boxes(flow, damping)
  local world, next = floor(flow), random(5)
  for i = 1, 5 do
    world:box { position = { 0.1 * (next() - 0.5), -0.5 + 1.02 * i }, angle = 0.1 * (next() - 0.5), size = { 1, 1 }, friction = 0.5,
      contact_compliance = 1e-5, contact_damping = damping }
  end
  return world
end

-- Each returns a world, and a function to be called before each step.
local scenes = {}
function scenes.boxes(flow)
  local world, next = floor(flow), random(7)
  for i = 1, 3 do
    world:box { position = { 0.3 * (next() - 0.5), 0.6 + 1.2 * i }, angle = next(), size = { 1, 1 }, friction = 0.5, restitution = 0.2 }
  end
  return world
end
function scenes.discs(flow)
  local world, next = floor(flow), random(3)
  for x = -2, 2, 4 do world:box { type = "static", position = { x, 2 }, size = { 1, 8 } } end
  for i = 1, 5 do
    world:circle { position = { next() - 0.5, 0.2 + 0.9 * i }, radius = 0.35, friction = 0.5, restitution = 0.2 }
  end
  return world
end
function scenes.soft(flow) return soft_boxes(flow, 0) end
function scenes.dashpots(flow) return soft_boxes(flow, 300) end
function scenes.rest(flow)
  local world = floor(flow, 1 / 60, 0.6)
  for i = 1, 10 do world:box { position = { 0, i - 0.5 }, size = { 1, 1 }, friction = 0.6 } end
  return world
end
function scenes.leg(flow)
  local world, next = floor(flow, 1 / 120, 0.9), random(1)
  local trunk = world:box { position = { 0, 1.25 }, size = { 0.4, 0.5 } }
  local thigh = world:box { position = { 0, 0.75 }, size = { 0.1, 0.5 } }
  local shin = world:box { position = { 0, 0.3 }, size = { 0.1, 0.45 } }
  local foot = world:box { position = { 0.05, 0.05 }, size = { 0.3, 0.1 }, friction = 0.9 }
  world:hinge { trunk, thigh, anchor = { 0, 1 } }
  world:hinge { thigh, shin, anchor = { 0, 0.5 } }
  world:hinge { shin, foot, anchor = { 0, 0.08 } }
  return world, function()
    local hip, knee, ankle = next() - 0.5, next() - 0.5, next() - 0.5
    trunk:apply_torque(hip)
    thigh:apply_torque(knee - hip)
    shin:apply_torque(ankle - knee)
    foot:apply_torque(-ankle)
  end
end

-- us a step and tries a step.
local function run_scene(name, flow)
  local world, act = scenes[name](flow)
  local started = os.clock()
  for _ = 1, args.steps do
    if act then act() end
    world:step()
  end
  return (os.clock() - started) / args.steps * 1e6, world:stats().iterations / args.steps
end

-- A task by its baseline; a step is one decision.
local function run_task(name, flow)
  local make = sim.world
  sim.world = function(def)
    def.flow = flow
    return make(def)
  end
  local env = require("scenes.tasks." .. name)
  local seen, law, tries = env:reset { seed = 1 }, env.baseline(env), 0
  local started = os.clock()
  for k = 1, args.steps do
    local before = env.world:stats().iterations
    local after, _, terminated, truncated = env:step(law(env.world, env.world.time, seen))
    seen = after
    tries = tries + env.world:stats().iterations - before
    if terminated or truncated then seen, law = env:reset { seed = k }, env.baseline(env) end
  end
  sim.world, package.loaded["scenes.tasks." .. name] = make, nil
  return (os.clock() - started) / args.steps * 1e6, tries / args.steps
end

local flows = args.flow == "both" and { "auto", "projected" } or { args.flow }
for _, name in ipairs { "boxes", "discs", "soft", "dashpots", "rest", "leg", "hopper", "walker" } do
  if args.scene == "all" or args.scene == name then
    local line, times = { ("%-9s"):format(name) }, {}
    for i, flow in ipairs(flows) do
      local key = flow ~= "default" and flow or nil
      local us, tries = (scenes[name] and run_scene or run_task)(name, key)
      times[i] = us
      line[#line + 1] = ("%s %8.1f us, %5.1f tries"):format(flow, us, tries)
    end
    if times[2] then line[#line + 1] = ("ratio %.2f"):format(times[1] / times[2]) end
    print(table.concat(line, "   "))
  end
end
