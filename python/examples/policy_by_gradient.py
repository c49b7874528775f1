"""A policy trained by gradients through the engine: python policy_by_gradient.py [iterations] [seed]

The cart-pole is that of the task, but takes forces of any size up to 10 N. The policy is a small network (four numbers in, one
out), whose weights are passed to Lua. Each iteration runs some episodes of one second and takes the gradient of their cost.
pip install 'sim2d[torch]'.
"""

import sys
import time

import numpy as np
import torch

import sim2d
import sim2d.torch

HIDDEN, STEPS = 8, 50

# starts: [episodes, 4]. The cost of one second: angles, positions and forces.
SCRIPT = """
local sim = require "sim2d"
local HIDDEN, STEPS, FORCE = %d, %d, 10

return function(w1, b1, w2, starts)
  local sum = 0
  for k = 1, starts.shape[1] do
    local x, v, angle, omega = starts[k][1], starts[k][2], starts[k][3], starts[k][4]
    local world = sim.world { dt = 0.02, gravity = { 0, -9.8 } }
    local cart = world:box { size = { 0.4, 0.2 }, mass = 1, mask = 0 }
    local pole = world:box { size = { 0.05, 1 }, mass = 0.1, inertia = 0.1 * 0.25 / 3, position = { 0, 0.5 }, mask = 0 }
    local rail = world:slider { cart, axis = { 1, 0 }, anchor = { 0, 0 } }
    local hinge = world:hinge { cart, pole, anchor = { 0, 0 } }
    cart.x, cart.vx = x, v
    pole.x, pole.y, pole.angle = x + 0.5 * math.sin(angle), 0.5 * math.cos(angle), -angle
    pole.omega, pole.vx, pole.vy = -omega, v + 0.5 * omega * math.cos(angle), -0.5 * omega * math.sin(angle)
    for _ = 1, STEPS do
      local seen = { rail.translation, rail.speed, hinge.angle, hinge.speed }
      local u = 0
      for i = 1, HIDDEN do
        local s = b1[i]
        for j = 1, 4 do s = s + w1[i][j] * seen[j] end
        u = u + w2[i] * sim.tanh(s)
      end
      u = FORCE * sim.tanh(u)
      cart:apply_force { u, 0 }
      world:step()
      sum = sum + hinge.angle ^ 2 + 0.1 * rail.translation ^ 2 + 0.01 * rail.speed ^ 2 + 1e-5 * u ^ 2
    end
    world:close()
  end
  return sum / starts.shape[1]
end""" % (HIDDEN, STEPS)


def play(w1, b1, w2, episodes=20):
    """Mean return in the task, whose actions are full pushes to the left or right: the network's force gives the side."""
    env, returns = sim2d.make("cart_pole"), []
    for episode in range(episodes):
        seen, total, over = env.reset(seed=1000 + episode)[0], 0.0, False
        while not over:
            u = w2 @ np.tanh(w1 @ seen + b1)
            seen, reward, terminated, truncated, _ = env.step(int(u > 0))
            total, over = total + reward, terminated or truncated
        returns.append(total)
    return float(np.mean(returns))


def main(iterations: int = 150, seed: int = 0) -> float:
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    weights = [torch.nn.Parameter(0.3 * torch.randn(HIDDEN, 4, dtype=torch.float64)),
               torch.nn.Parameter(torch.zeros(HIDDEN, dtype=torch.float64)),
               torch.nn.Parameter(0.3 * torch.randn(HIDDEN, dtype=torch.float64))]
    cost = sim2d.torch.function(sim2d.Loss(SCRIPT, code=True))
    adam = torch.optim.Adam(weights, lr=0.1)
    start, samples, episodes = time.perf_counter(), 0, 4
    for iteration in range(iterations):
        starts = torch.tensor(rng.uniform(-0.2, 0.2, (episodes, 4)))
        adam.zero_grad()
        value = cost(*weights, starts)
        value.backward()
        torch.nn.utils.clip_grad_norm_(weights, 10.0)
        adam.step()
        samples += episodes * STEPS
        if iteration % 50 == 49:
            print(f"iteration {iteration + 1}: cost {value.item():.4f}")
    seconds = time.perf_counter() - start
    mean = play(*(w.detach().numpy() for w in weights))
    print(f"cart_pole by gradients: {samples} steps in {seconds:.1f} s; mean return {mean:.1f} of 20 episodes")
    return mean


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
