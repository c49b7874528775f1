"""Overhead of the Python package: python bench/python.py (needs sim2d and gymnasium, whose cart-pole it compares)."""

import time

import gymnasium
import numpy as np

import sim2d


def each(env, steps):
    env.reset(seed=0)
    start = time.perf_counter()
    for k in range(steps):
        _, _, terminated, truncated, _ = env.step(k % 2)
        if terminated or truncated:
            env.reset()
    return (time.perf_counter() - start) / steps * 1e6


def vector(envs, threads=1, few=False):
    """us a step of one environment, with random actions: the best of five runs. Processor time divided by the threads, so
    other programs on the machine matter less."""
    n = envs.num_envs
    envs.reset(seed=0)
    envs.action_space.seed(0)
    actions = [envs.action_space.sample() for _ in range(20)]
    best, steps = np.inf, 10 if few else 20 * max(1, 1000 // n)
    for _ in range(5):
        start = time.process_time()
        for k in range(steps):
            envs.step(actions[k % 20])
        best = min(best, time.process_time() - start)
    envs.close()
    return best / steps / n / threads * 1e6


# A task with a function in place of each declaration.
FUNCTIONS = """
local sim = require "sim2d"
local def = dofile("%s").def
local changed = {}
for key, value in pairs(def) do changed[key] = value end
changed.reset = function(world, random)
  world.joints.rail.translation, world.joints.rail.speed = random:uniform(-0.05, 0.05), random:uniform(-0.05, 0.05)
  world.joints.hinge.angle, world.joints.hinge.speed = random:uniform(-0.05, 0.05), random:uniform(-0.05, 0.05)
end
changed.reward = function() return 1 end
changed.terminated = function(world)
  return math.abs(world.joints.rail.translation) > 2.4 or math.abs(world.joints.hinge.angle) > 12 * math.pi / 180
end
return sim.env(changed)
"""

# The engine alone: the same worlds with the same kind of commands, in a batch without rewards, ends or actions of
# Python. Arguments: task, worlds, threads, decisions a call. Returns us a world and decision, the best of five rounds
# that begin with a reset, and the engine steps of a decision.
ENGINE = """
local sim = require "sim2d"
local path, n, threads, hold = ...
local env = dofile(path)
local p = {}
for key, value in pairs(env.def.parameters or {}) do p[key] = type(value) == "table" and value[1] or value end
local start = {}
for i, draw in ipairs(env.def.reset) do start[i] = draw end
local batch = sim.batch(env.def.world(p), n, { threads = threads, reuse = true, parameters = start, failures = "keep" })
local random, actions = sim.random.split(), {}
for k = 1, 20 do
  local list = {}
  for i = 1, n do
    local u = env.actions and env.actions[random:integer(1, #env.actions)]
    for c = 1, batch.controls do
      list[#list + 1] = u and u[c] or random:uniform(env.action_space.low[c], env.action_space.high[c])
    end
  end
  actions[k] = sim.array(list):reshape(n, batch.controls)
end
local best = math.huge
for _ = 1, 5 do
  batch:reset { seed = 1 }
  local start = os.clock()
  for k = 1, 20 do batch:step(actions[k], env.substeps * hold) end
  best = math.min(best, os.clock() - start)
end
return best / 20 / hold / n / threads * 1e6, env.substeps
"""


def engine(name, n, threads, hold=1):
    """us a world and decision of the engine alone, and the engine steps of a decision."""
    return sim2d.run(ENGINE, str(sim2d._tasks._FOLDER / f"{name}.lua"), n, threads, hold, code=True)


LUA = """
local env = dofile(...)
env:reset { seed = 0 }
local start = os.clock()
for k = 1, 50000 do
  local _, _, terminated, truncated = env:step(1 + k % 2)
  if terminated or truncated then env:reset() end
end
return (os.clock() - start) / 50000 * 1e6
"""

print(f"cart_pole, us a step: from Lua {sim2d.run(LUA, str(sim2d._tasks._FOLDER / 'cart_pole.lua'), code=True):.1f}, "
      f"from Python {each(sim2d.make('cart_pole'), 50000):.1f}, "
      f"Gymnasium's own {each(gymnasium.make('CartPole-v1'), 50000):.1f}")
for n in (1, 10, 100, 1000):
    one, two = (vector(sim2d.make_vec("cart_pole", n, threads=threads), threads) for threads in (1, 2))
    print(f"make_vec of {n}, us a step of one: 1 thread {one:.2f}, 2 threads {two:.2f}")

n = 1000
print(f"{n} worlds with random actions, us a world and decision with 1 thread; with 2 threads (processor time):")
for name in ("cart_pole", "pendulum", "acrobot", "hopper", "walker"):
    (alone, steps), (both, _) = (engine(name, n, threads) for threads in (1, 2))
    ours = [vector(sim2d.make_vec(name, n, threads=threads, copy=False), threads) for threads in (1, 2)]
    print(f"  {name}: {steps} engine steps a decision")
    print(f"    {'engine alone':42} {alone:8.2f} {both:8.2f}")
    print(f"    {'make_vec, with observations and rewards':42} {ours[0]:8.2f} {ours[1]:8.2f}")
    print(f"    {'the same, us an engine step':42} {ours[0] / steps:8.2f} {ours[1] / steps:8.2f}")
print("  cart_pole, other ways:")
functions = FUNCTIONS % (sim2d._tasks._FOLDER / "cart_pole.lua")
print(f"    {'engine alone, 50 steps with each command':42} {engine('cart_pole', n, 1, 50)[0]:8.2f} {engine('cart_pole', n, 2, 50)[0]:8.2f}")
print(f"    {'make_vec, functions instead of declarations':42} "
      f"{vector(sim2d.make_vec(functions, n, code=True, threads=1)):8.2f} {vector(sim2d.make_vec(functions, n, code=True, threads=2), 2):8.2f}")
theirs = vector(gymnasium.make_vec("CartPole-v1", num_envs=n, vectorization_mode="vector_entry_point"))
print(f"    {'Gymnasium, vectorised by NumPy':42} {theirs:8.2f}")
theirs = vector(gymnasium.make_vec("CartPole-v1", num_envs=n, vectorization_mode="sync"), few=True)
print(f"    {'Gymnasium, SyncVectorEnv':42} {theirs:8.2f}")

THROW = """
local sim = require "sim2d"
return function(v)
  local world = sim.world { dt = 0.01 }
  world:box { size = { 100, 1 }, position = { 0, -0.5 }, type = "static", friction = 0.5 }
  local box = world:box { size = { 0.4, 0.4 }, position = { 0, 1 }, friction = 0.5 }
  box.vx, box.vy = v[1], v[2]
  world:step(100)
  return box.x
end"""
loss, v = sim2d.Loss(THROW, code=True), np.array([1.0, 2.0])
start = time.perf_counter()
for _ in range(50):
    loss(v)
forward = (time.perf_counter() - start) / 50
start = time.perf_counter()
for _ in range(50):
    loss.value_and_grad(v)
both = (time.perf_counter() - start) / 50
inner = """
local sim = require "sim2d"
local f = (load(...))()
local start = os.clock()
for _ = 1, 50 do sim.value_and_grad(f, sim.array { 1, 2 }) end
return (os.clock() - start) / 50
"""
print(f"a box thrown for 100 steps, ms: forward {forward * 1e3:.2f}, with gradient {both * 1e3:.2f}, "
      f"by sim.value_and_grad in Lua {sim2d.run(inner, THROW, code=True) * 1e3:.2f}")
