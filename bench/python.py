"""Overhead of the Python package: python bench/python.py (with sim2d and gymnasium installed; beside Gymnasium's own cart-pole)."""

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


def vector(n, threads):
    envs = sim2d.make_vec("cart_pole", n, threads=threads)
    envs.reset(seed=0)
    actions, steps = np.arange(n) % 2, max(20, 20000 // n)
    start = time.perf_counter()
    for _ in range(steps):
        envs.step(actions)
    return (time.perf_counter() - start) / steps / n * 1e6


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
    print(f"make_vec of {n}, us a step of one: 1 thread {vector(n, 1):.1f}, 2 threads {vector(n, 2):.1f}")

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
