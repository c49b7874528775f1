"""PPO (Stable-Baselines3) learns a task: python ppo.py [task] [steps] [seed]

pip install 'sim2d[gymnasium]' stable-baselines3. Prints the progress of the training and, at the end, the mean
return of 20 episodes.
"""

import sys
import time

import gymnasium
import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor, VecNormalize

import sim2d

# Steps, then settings of PPO. The settings for the cart-pole are those of RL Baselines3 Zoo for CartPole-v1.
TASKS = {
    "cart_pole": (100_000, dict(n_steps=32, batch_size=256, gae_lambda=0.8, gamma=0.98, n_epochs=20,
                                learning_rate=lambda left: 1e-3 * left, clip_range=lambda left: 0.2 * left)),
    "hopper": (150_000, dict(n_steps=256, batch_size=256, gae_lambda=0.95, gamma=0.99, n_epochs=10,
                             learning_rate=lambda left: 5e-4 * left, policy_kwargs=dict(log_std_init=-1.0))),
}


def make(task: str) -> gymnasium.Env:
    """The task's environment, with numeric commands scaled to -1 .. 1, the initial range of a policy."""
    env = sim2d.make(task)
    return env if isinstance(env.action_space, gymnasium.spaces.Discrete) else gymnasium.wrappers.RescaleAction(env, -1, 1)


class Progress(BaseCallback):
    """A line for each tenth of the steps: the mean return of the last 100 episodes."""

    def __init__(self, steps: int):
        super().__init__()
        self.every, self.start = max(1, steps // 10), time.perf_counter()
        self.next = self.every

    def _on_step(self) -> bool:
        if self.num_timesteps >= self.next and self.model.ep_info_buffer:
            self.next += self.every
            mean = np.mean([episode["r"] for episode in self.model.ep_info_buffer])
            print(f"{self.num_timesteps:9d} steps, {time.perf_counter() - self.start:4.0f} s: return {mean:.0f}", flush=True)
        return True


def main(task: str = "cart_pole", steps: int | None = None, seed: int = 0) -> float:
    usual, settings = TASKS[task]
    steps = steps or usual
    # observations are scaled to mean 0 and deviation 1, rewards only in size
    envs = VecNormalize(VecMonitor(DummyVecEnv([lambda: make(task)] * 8)), gamma=settings["gamma"])
    model = PPO("MlpPolicy", envs, seed=seed, device="cpu", **settings)
    start = time.perf_counter()
    model.learn(steps, Progress(steps))
    seconds = time.perf_counter() - start
    env, returns = make(task), []
    for episode in range(20):
        seen, total, over = env.reset(seed=1000 + episode)[0], 0.0, False
        while not over:
            action, _ = model.predict(envs.normalize_obs(seen), deterministic=True)
            seen, reward, terminated, truncated, _ = env.step(action)
            total, over = total + reward, terminated or truncated
        returns.append(total)
    print(f"{task} by PPO: {steps} steps in {seconds:.0f} s; mean return {np.mean(returns):.1f} of 20 episodes "
          f"(from {min(returns):.0f} to {max(returns):.0f})")
    return float(np.mean(returns))


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:4]))
