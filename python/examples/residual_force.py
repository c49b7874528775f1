"""A force nobody has told the engine of, learned inside its steps: python residual_force.py [epochs] [seed]

A ball of 1 kg is thrown over a floor that it bounces off. The engine knows weight, floor, restitution and friction; it does not
know of the air: a wind that grows with height, and drag by the square of the speed in it. A small network gives the force that is
missing, from the state at each step, and the engine takes the step with it. What is seen are places on a few short throws, to a
millimetre; the gradient of what is missed goes back through every step, contacts and network in turn. pip install 'sim2d[torch]'.
"""

import sys
import time

import numpy as np
import torch

import sim2d
import sim2d.torch

DT, SEEN, NOISE = 0.02, 40, 1e-3  # s; steps of a throw that is seen; m

# A step of all balls: states [n, 6] (angle, x, y and their rates), forces [n, 2] -> states after it, one after the other.
SCRIPT = f"""
local sim = require "sim2d"
return function(states, forces)
  local after = {{}}
  for i = 1, states.shape[1] do
    local world = sim.world {{ dt = {DT}, stepping = "event" }}
    world:segment {{ from = {{ 100, 0 }}, to = {{ -100, 0 }}, friction = 0.4, restitution = 0.7 }}
    local ball = world:circle {{ radius = 0.1, mass = 1, friction = 0.4, restitution = 0.7,
      angle = states[i][1], position = {{ states[i][2], states[i][3] }}, angular_velocity = states[i][4],
      velocity = {{ states[i][5], states[i][6] }} }}
    ball:apply_force {{ forces[i][1], forces[i][2] }}
    world:step()
    for _, field in ipairs {{ "angle", "x", "y", "omega", "vx", "vy" }} do after[#after + 1] = ball[field] end
    world:close()
  end
  return after
end"""

step = sim2d.torch.function(sim2d.Loss(SCRIPT, code=True))


def air(states):
    """The true force, N: drag in a wind of 2 m/s for each metre of height."""
    rate = states[:, 4:6] - torch.stack([2 * states[:, 2], torch.zeros_like(states[:, 2])], 1)
    return -0.15 * rate.norm(dim=1, keepdim=True) * rate


def nothing(states):
    return torch.zeros(len(states), 2, dtype=torch.float64)


def throw(states, force, steps):
    """States after each of so many steps, [steps, n, 6], of a force that is asked at each of them."""
    way = []
    for _ in range(steps):
        states = step(states, force(states)).reshape(-1, 6)
        way.append(states)
    return torch.stack(way)


def starts(rng, n):
    low, high = [0, 0, 0.4, 0, -4, -2], [0, 0, 1.6, 0, 4, 3]
    return torch.tensor(rng.uniform(low, high, (n, 6)))


class Residual(torch.nn.Module):
    """Of height and velocity alone: air knows no place, and the ball is round."""

    def __init__(self, width=24):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(3, width), torch.nn.Tanh(), torch.nn.Linear(width, width),
                                          torch.nn.Tanh(), torch.nn.Linear(width, 2)).double()
        torch.nn.init.zeros_(self.layers[-1].weight)  # no force at first
        torch.nn.init.zeros_(self.layers[-1].bias)

    def forward(self, states):
        return 5 * self.layers(torch.stack([states[:, 2], states[:, 4] / 4, states[:, 5] / 4], 1))


def rms(values):
    return (values ** 2).sum(-1).mean().sqrt().item()


def main(epochs: int = 400, seed: int = 0) -> tuple[float, float, float]:
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    first, new = starts(rng, 8), starts(rng, 20)
    with torch.no_grad():
        seen = throw(first, air, SEEN)[:, :, 1:3]
        seen += NOISE * torch.tensor(rng.normal(size=seen.shape))

    # growing horizons: a short beginning of the throws first
    residual, began = Residual(), time.perf_counter()
    adam = torch.optim.Adam(residual.parameters(), lr=1e-2)
    for epoch in range(epochs):
        adam.param_groups[0]["lr"] = 1e-2 * 0.02 ** (epoch / epochs)
        steps = min(SEEN, 10 + 60 * epoch // epochs)
        adam.zero_grad()
        missed = ((throw(first, residual, steps)[:, :, 1:3] - seen[:steps]) ** 2).sum(-1).mean()
        missed.backward()
        adam.step()
        if epoch % 50 == 0 or epoch == epochs - 1:
            print(f"epoch {epoch:4d}: {steps} steps, missed by {missed.item() ** 0.5:.2e} m")
    print(f"{time.perf_counter() - began:.0f} s")

    # throws that were not seen, twice as long
    with torch.no_grad():
        true = throw(new, air, 2 * SEEN)
        without = rms((throw(new, nothing, 2 * SEEN) - true)[:, :, 1:3])
        learned = rms((throw(new, residual, 2 * SEEN) - true)[:, :, 1:3])
        met = true.reshape(-1, 6)
        bounces = int(((true[1:, :, 5] - true[:-1, :, 5]) > 0.5).sum())
        force = rms(residual(met) - air(met)) / rms(air(met))
    print(f"20 new throws of {2 * SEEN * DT:g} s, {bounces} bounces: places are missed, rms, by {without:.3f} m without the "
          f"residual force and by {learned:.4f} m with it")
    print(f"the force on their way, of {rms(air(met)):.2f} N rms, is off by {100 * force:.1f} %")
    return without, learned, force


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
