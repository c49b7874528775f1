# Lesson 5: a linear policy learns to balance the cart-pole by the cross-entropy method. Needs sim2d[gymnasium], no more.
import numpy as np

import sim2d

COUNT, ELITES, STEPS = 40, 8, 500
envs = sim2d.make_vec("cart_pole", COUNT, autoreset="same_step")
random = np.random.default_rng(0)


def returns(policies, seed):
    """The return of one episode for each row of weights."""
    seen, _ = envs.reset(seed=seed)  # environment i begins with the seed + i
    total, alive = np.zeros(COUNT), np.ones(COUNT, dtype=bool)
    for _ in range(STEPS):
        actions = ((seen * policies).sum(axis=1) > 0).astype(int)  # 0: to the left, 1: to the right
        seen, rewards, terminated, truncated, _ = envs.step(actions)
        total += rewards * alive
        alive &= ~(terminated | truncated)
    return total


mean, deviation = np.zeros(4), np.ones(4)
curve = []  # the mean return of each generation
for generation in range(1, 9):
    policies = mean + deviation * random.standard_normal((COUNT, 4))
    scores = returns(policies, seed=100 * generation)
    best = policies[np.argsort(-scores, kind="stable")[:ELITES]]
    mean, deviation = best.mean(axis=0), best.std(axis=0) + 0.05
    curve.append(float(scores.mean()))
    print(f"generation {generation}: best {scores.max():.0f}, mean {scores.mean():.0f}")
envs.close()

PLOT = """
local sim = require "sim2d"
return sim.plot { title = "Forty linear policies on the cart-pole", x = "generation", y = "mean return, of 500",
  { ..., marker = "circle" } }:save "5_python.svg"
"""
assert sim2d.run(PLOT, curve)

env = sim2d.make("cart_pole")
totals = []
for seed in range(10_000, 10_010):  # starts that were not seen before
    seen, _ = env.reset(seed=seed)
    over, total = False, 0.0
    while not over:
        seen, reward, terminated, truncated, _ = env.step(int(seen @ mean > 0))
        over, total = terminated or truncated, total + reward
    totals.append(total)
print(f"ten new episodes: mean return {np.mean(totals):.0f} of 500")
