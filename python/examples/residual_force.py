"""A force that the engine does not know, learned inside its steps: python residual_force.py [iterations] [seed]

A ball of 1 kg is thrown over a floor that it bounces off. The engine knows weight, floor, restitution and friction. It does not
know the air: a wind that grows with height, and a drag that grows with the square of the airspeed. A small network gives the
missing force from the state at each step, and the engine takes the step with this force. The data are positions on a few short
throws, with errors of a millimetre. The gradient of their error goes back through every step: contacts and network in turn.
pip install 'sim2d[torch]'.
"""

import sys
import time

import numpy as np
import torch

import sim2d
import sim2d.torch

DT, THROWS, SEEN, NOISE = 0.02, 24, 40, 1e-3  # s; throws that are seen, their steps; m

# A step of all balls, which do not meet each other: states [n, 6] (angle, x, y and their rates), forces [n, 2] -> states after
# it, one after the other.
SCRIPT = f"""
local sim = require "sim2d"
return function(states, forces)
  local world, balls, after = sim.world {{ dt = {DT}, stepping = "event" }}, {{}}, {{}}
  world:segment {{ from = {{ 100, 0 }}, to = {{ -100, 0 }}, friction = 0.4, restitution = 0.7 }}
  for i = 1, states.shape[1] do
    local s, f = states[i], forces[i]
    balls[i] = world:circle {{ radius = 0.1, mass = 1, friction = 0.4, restitution = 0.7, category = 2, mask = 1,
      angle = s[1], position = {{ s[2], s[3] }}, angular_velocity = s[4], velocity = {{ s[5], s[6] }} }}
    balls[i]:apply_force {{ f[1], f[2] }}
  end
  world:step()
  for _, ball in ipairs(balls) do
    for _, field in ipairs {{ "angle", "x", "y", "omega", "vx", "vy" }} do after[#after + 1] = ball[field] end
  end
  world:close()
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
    """States after each of so many steps, [steps, n, 6], with a force that is evaluated in each of them."""
    way = []
    for _ in range(steps):
        states = step(states, force(states)).reshape(-1, 6)
        way.append(states)
    return torch.stack(way)


def starts(rng, n):
    low, high = [0, 0, 0.4, 0, -4, -2], [0, 0, 1.6, 0, 4, 3]
    return torch.tensor(rng.uniform(low, high, (n, 6)))


class Residual(torch.nn.Module):
    """A function of height, velocity and speed only: the air is the same at all x, and the ball is round."""

    def __init__(self, width=16):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.SiLU(), torch.nn.Linear(width, width),
                                          torch.nn.SiLU(), torch.nn.Linear(width, 2)).double()
        torch.nn.init.zeros_(self.layers[-1].weight)  # no force at first
        torch.nn.init.zeros_(self.layers[-1].bias)

    def forward(self, states):
        vx, vy = states[:, 4] / 4, states[:, 5] / 4
        return 5 * self.layers(torch.stack([states[:, 2], vx, vy, torch.sqrt(vx ** 2 + vy ** 2 + 1e-4)], 1))


def rms(values):
    return (values ** 2).sum(-1).mean().sqrt().item()


def main(iterations: int = 80, seed: int = 0) -> tuple[float, float, float]:
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    first, new = starts(rng, THROWS), starts(rng, 20)
    with torch.no_grad():
        seen = throw(first, air, SEEN)[:, :, 1:3]
        seen += NOISE * torch.tensor(rng.normal(size=seen.shape))

    # a short beginning of the throws first, so that errors are small at the bounces
    residual, began = Residual(), time.perf_counter()
    for steps in SEEN // 4, SEEN // 2, SEEN:
        lbfgs = torch.optim.LBFGS(residual.parameters(), max_iter=iterations, history_size=50, tolerance_change=0,
                                  line_search_fn="strong_wolfe")

        def missed():
            return ((throw(first, residual, steps)[:, :, 1:3] - seen[:steps]) ** 2).sum(-1).mean()

        def loss():
            lbfgs.zero_grad()
            value = missed() / NOISE ** 2
            value.backward()
            return value

        lbfgs.step(loss)
        with torch.no_grad():
            print(f"{steps} steps: missed by {missed() ** 0.5:.2e} m, {time.perf_counter() - began:.0f} s")

    # unseen throws, twice as long
    with torch.no_grad():
        true = throw(new, air, 2 * SEEN)
        without = rms((throw(new, nothing, 2 * SEEN) - true)[:, :, 1:3])
        learned = rms((throw(new, residual, 2 * SEEN) - true)[:, :, 1:3])
        bounces = int(((true[1:, :, 5] - true[:-1, :, 5]) > 0.5).sum())
        force = [rms(residual(way) - air(way)) / rms(air(way)) for way in (throw(first, air, SEEN).reshape(-1, 6),
                                                                           true.reshape(-1, 6))]
    print(f"20 new throws of {2 * SEEN * DT:g} s, {bounces} bounces: places are missed, rms, by {without:.3f} m without the "
          f"residual force and by {learned:.4f} m with it")
    print(f"the force is off by {100 * force[0]:.1f} % (rms) on the way of the throws that were seen, by {100 * force[1]:.1f} % on "
          "that of the new ones")
    print("height, m; velocity, m/s -> true force; learned force, N")
    for y, vx, vy in (0.5, 0, 0), (1, 0, 0), (0.5, 3, 0), (1, -2, 2), (1, -2, -2):
        at = torch.tensor([[0, 0, y, 0, vx, vy]], dtype=torch.float64)
        with torch.no_grad():
            told, found = air(at)[0].tolist(), residual(at)[0].tolist()
        print(f"{y:4.1f}; ({vx:4.1f}, {vy:4.1f}) -> ({told[0]:6.3f}, {told[1]:6.3f}); ({found[0]:6.3f}, {found[1]:6.3f})")
    return without, learned, force[0]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
