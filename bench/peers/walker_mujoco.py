"""The walker of sim2d beside MuJoCo's Walker2d: python bench/peers/walker_mujoco.py [build/sim2d] (needs gymnasium[mujoco]).

Both run in turn on one thread. Prints the best time of an engine step of each, and their ratio. The two walkers have
the same links and joints, but not the same sizes. MuJoCo's has random torques, sim2d's a controller that walks. The
times do not include the scripts, only the steps.
"""

import re
import subprocess
import sys
import time

import gymnasium
import mujoco
import numpy as np

ROUNDS, STEPS, SKIP = 5, 100, 4


def of_mujoco(seed):
    """us a step of MuJoCo, the mean of one run."""
    env = gymnasium.make("Walker2d-v5")
    env.reset(seed=seed)
    model, data = env.unwrapped.model, env.unwrapped.data
    random, total = np.random.default_rng(seed), 0.0
    for k in range(STEPS):
        data.ctrl[:] = random.uniform(-1, 1, model.nu)
        start = time.process_time()
        mujoco.mj_step(model, data, nstep=SKIP)
        total += time.process_time() - start
        if data.qpos[1] < 0.8:
            env.reset(seed=seed + k)
    return total / (STEPS * SKIP) * 1e6


def of_sim2d(program):
    """us a step of sim2d, the mean of one run."""
    script = __file__.rsplit("/", 1)[0] + "/../lua/task_steps.lua"
    out = subprocess.run([program, script, "--runs", "1"], check=True, capture_output=True, text=True).stdout
    return float(re.search(r": ([0-9.]+) us", out).group(1))


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "build/sim2d"
    ours, theirs = [], []
    for seed in range(ROUNDS):
        ours.append(of_sim2d(program))
        theirs.append(of_mujoco(seed))
    print(f"sim2d walker: best {min(ours):.1f}, median {np.median(ours):.1f} us a step")
    print(f"MuJoCo Walker2d: best {min(theirs):.1f}, median {np.median(theirs):.1f} us a step")
    print(f"ratio of the best {min(ours) / min(theirs):.2f}, of the medians {np.median(ours) / np.median(theirs):.2f}")


main()
