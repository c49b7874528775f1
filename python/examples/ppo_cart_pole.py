"""PPO (Stable-Baselines3) learns the cart-pole task: python ppo_cart_pole.py [steps] [seed]

pip install 'sim2d[gymnasium]' stable-baselines3. Learned where the mean return of 20 episodes is 475 or more of 500."""

import sys
import time

import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

import sim2d


def main(steps: int = 100_000, seed: int = 0) -> float:
    envs = DummyVecEnv([lambda: sim2d.make("cart_pole") for _ in range(8)])
    # the settings of RL Baselines3 Zoo for CartPole-v1
    model = PPO("MlpPolicy", envs, n_steps=32, batch_size=256, gae_lambda=0.8, gamma=0.98, n_epochs=20, ent_coef=0.0,
                learning_rate=lambda left: 1e-3 * left, clip_range=lambda left: 0.2 * left, seed=seed, device="cpu")
    start = time.perf_counter()
    model.learn(steps)
    seconds = time.perf_counter() - start
    env, returns = sim2d.make("cart_pole"), []
    for episode in range(20):
        seen, total, over = env.reset(seed=1000 + episode)[0], 0.0, False
        while not over:
            action, _ = model.predict(seen, deterministic=True)
            seen, reward, terminated, truncated, _ = env.step(int(action))
            total, over = total + reward, terminated or truncated
        returns.append(total)
    print(f"cart_pole by PPO: {steps} steps in {seconds:.0f} s; mean return {np.mean(returns):.1f} of 20 episodes "
          f"(from {min(returns):.0f} to {max(returns):.0f})")
    return float(np.mean(returns))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
