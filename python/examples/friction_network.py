"""A network that fits friction but never sticks, compared with a layer that sticks: python friction_network.py [epochs] [seed]

A block of 1 kg on a floor is pushed. From samples (speed, force) -> speed after a step, a network learns the step. The engine,
used as a layer, learns a single number from them, the coefficient of friction. Then a force below the limit of friction pushes
the block at rest for ten seconds. pip install 'sim2d[torch]'.
"""

import sys

import numpy as np
import torch

import sim2d
import sim2d.torch

DT, MU, G = 0.05, 0.3, 9.81

# The speeds after a step: mu is learned, speeds and forces are the samples.
SCRIPT = f"""
local sim = require "sim2d"
return function(mu, speeds, forces)
  local world = sim.world {{ dt = {DT}, gravity = {{ 0, -{G} }} }}
  world:box {{ size = {{ 1000, 1 }}, position = {{ 0, -0.5 }}, type = "static", friction = 1 }}
  local block = world:box {{ size = {{ 1, 0.5 }}, position = {{ 0, 0.25 }}, mass = 1 }}
  block.friction = mu ^ 2 -- of a pair the geometric mean counts
  local after = {{}}
  for i = 1, #speeds do
    block.position, block.angle, block.velocity, block.omega = {{ 0, 0.25 }}, 0, {{ speeds[i], 0 }}, 0
    block:apply_force {{ forces[i], 0 }}
    world:step()
    after[i] = block.vx
  end
  return after
end"""


def main(epochs: int = 2000, seed: int = 0) -> tuple[float, float, float]:
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    # samples of the truth: three in ten at rest
    speeds = torch.tensor(rng.uniform(-1, 1, 200) * (rng.random(200) > 0.3))
    forces = torch.tensor(rng.uniform(-6, 6, 200))
    after = speeds + DT * forces
    after = after.sign() * (after.abs() - DT * MU * G).clamp(min=0)

    network = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.Tanh(), torch.nn.Linear(32, 32), torch.nn.Tanh(),
                                  torch.nn.Linear(32, 1)).double()
    adam = torch.optim.Adam(network.parameters(), lr=3e-3)
    samples = torch.stack([speeds, forces / 6], 1)
    for _ in range(epochs):
        adam.zero_grad()
        error = ((network(samples)[:, 0] - after) ** 2).mean()
        error.backward()
        adam.step()

    step = sim2d.torch.function(sim2d.Loss(SCRIPT, code=True))
    mu = torch.tensor(0.6, dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([mu], lr=0.02)
    for _ in range(200):
        adam.zero_grad()
        ((step(mu, speeds, forces) - after) ** 2).mean().backward()
        adam.step()

    # at rest, pushed by two thirds of the largest friction
    push, moved, rested, fast, still = 2.0, 0.0, 0.0, torch.zeros(1, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    with torch.no_grad():
        for _ in range(200):
            fast = network(torch.tensor([[fast.item(), push / 6]], dtype=torch.float64))[0]
            still = step(mu, still, torch.tensor([push], dtype=torch.float64))
            moved, rested = moved + DT * fast.item(), rested + DT * still.item()
    print(f"error of a step, rms, m/s: network {error.item() ** 0.5:.1e}")
    print(f"coefficient of friction: learned {mu.item():.6f}, true {MU}")
    print(f"pushed by {push:g} N (the floor holds {MU * G:.2f}) for 10 s the block moves, m: by the network {moved:.3g}, by the "
          f"engine's layer {rested:.1g}")
    return mu.item(), moved, rested


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
