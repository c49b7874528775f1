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


def vector(envs):
    """us a step of one environment, with random actions: the best of five runs."""
    n = envs.num_envs
    envs.reset(seed=0)
    actions, steps = np.random.default_rng(0).integers(0, 2, (50, n)), max(50, 20000 // n)
    best = np.inf
    for _ in range(5):
        start = time.perf_counter()
        for k in range(steps):
            envs.step(actions[k % 50])
        best = min(best, time.perf_counter() - start)
    return best / steps / n * 1e6


# cart_pole with functions in place of its declarations, and with declared draws in place of its reset
CHANGED = """
local sim = require "sim2d"
local def, changes = dofile("%s").def, %s
local changed = {}
for key, value in pairs(def) do changed[key] = value end
for key, value in pairs(changes) do changed[key] = value end
return sim.env(changed)
"""
FUNCTIONS = """{ reward = function() return 1 end, terminated = function(world)
  return math.abs(world.joints.rail.translation) > 2.4 or math.abs(world.joints.hinge.angle) > 12 * math.pi / 180
end }"""
DRAWS = """{ reset = { { of = "rail", field = "translation", uniform = { -0.05, 0.05 } },
  { of = "hinge", field = "angle", uniform = { -0.05, 0.05 } } } }"""


def changed(changes):
    return CHANGED % (sim2d._tasks._FOLDER / "cart_pole.lua", changes)


# The time of the steps alone: a batch that is only stepped, one step a call and, with the worlds in the caches, 50 a call.
STEPS = """
local sim = require "sim2d"
local n, threads, steps, path = ...
local world = dofile(path).def.world { cart = 1, pole = 0.1, half = 0.5 }
local batch = sim.batch(world, n, { threads = threads, reuse = true })
local goes, best = 5, math.huge
for _ = 1, goes do
  local start = clock()
  for _ = 1, 50 do batch:step(nil, steps) end
  best = math.min(best, clock() - start)
end
return best / 50 / steps / n * 1e6
"""


def steps_alone(n, threads, steps):
    script = "local clock = os.clock\n" + STEPS  # of all threads
    return sim2d.run(script, n, threads, steps, str(sim2d._tasks._FOLDER / "cart_pole.lua"), code=True) / threads


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
    one, two = (vector(sim2d.make_vec("cart_pole", n, threads=threads)) for threads in (1, 2))
    print(f"make_vec of {n}, us a step of one: 1 thread {one:.2f}, 2 threads {two:.2f}")
n = 1000
print(f"make_vec of {n}, us a step of one, with 1 thread; with 2 threads:")
for what, make in {
    "steps alone, 50 a call": lambda threads: steps_alone(n, threads, 50),
    "steps alone, one a call": lambda threads: steps_alone(n, threads, 1),
    "declared reward and end, a function as reset": lambda threads: vector(sim2d.make_vec("cart_pole", n, threads=threads)),
    "declared reset, too": lambda threads: vector(sim2d.make_vec(changed(DRAWS), n, code=True, threads=threads)),
    "functions": lambda threads: vector(sim2d.make_vec(changed(FUNCTIONS), n, code=True, threads=threads)),
}.items():
    print(f"  {what:45} {make(1):5.2f} {make(2):5.2f}")
theirs = vector(gymnasium.make_vec("CartPole-v1", num_envs=n, vectorization_mode="vector_entry_point"))
print(f"  {'Gymnasium, vectorised by NumPy':45} {theirs:5.2f}")

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
