"""Billiards from pictures, few of them labelled: python billiards_pictures.py [iterations] [seed] [strip.png]

Three balls on a table, 32 x 32 pixels. An encoder (a small convolutional network) sees three frames and gives the positions and
velocities of the balls. From there the engine continues for a second, with all bounces; its balls are drawn and compared with
the following frames. So, through the engine, frames without labels teach the encoder more than 48 labels alone. After de Avila
Belbute-Peres et al. (2018), "End-to-end differentiable physics for learning and control". pip install 'sim2d[torch]'.
"""

import copy
import sys
import time

import numpy as np
import torch

import sim2d
import sim2d.torch

BALLS, RADIUS, PIXELS = 3, 0.12, 32  # on a table of 1 m x 1 m
SEEN, AHEAD, FRAME = 3, 10, 0.1  # frames; frames; s between two frames
FASTEST, NOISE = 1.0, 0.03  # m/s, initially in x and in y; deviation of a pixel, whose range is 0 to 1
LABELLED, UNLABELLED, HELD_OUT, BATCH = 48, 1000, 200, 32

# starts [n, 4 BALLS]: x, y, vx, vy of each ball. Returns these numbers after each of `frames` frames.
SCRIPT = f"""
local sim = require "sim2d"
local BALLS, RADIUS, SUBSTEPS = {BALLS}, {RADIUS}, 4

local function table_with_balls(start)
  local world = sim.world {{ dt = {FRAME} / SUBSTEPS, gravity = {{ 0, 0 }}, stepping = "event" }}
  local wall = {{ type = "static", restitution = 0.9, friction = 0 }}
  for _, at in ipairs {{ {{ 0.5, -0.5, 3, 1 }}, {{ 0.5, 1.5, 3, 1 }}, {{ -0.5, 0.5, 1, 3 }}, {{ 1.5, 0.5, 1, 3 }} }} do
    wall.position, wall.size = {{ at[1], at[2] }}, {{ at[3], at[4] }}
    world:box(wall)
  end
  local balls = {{}}
  for i = 1, BALLS do
    local ball = world:circle {{ radius = RADIUS, restitution = 0.9, friction = 0 }}
    local k = 4 * (i - 1)
    ball.x, ball.y, ball.vx, ball.vy = start[k + 1], start[k + 2], start[k + 3], start[k + 4]
    balls[i] = ball
  end
  return world, balls
end

return function(starts, frames)
  local states = {{}}
  for n = 1, starts.shape[1] do
    local world, balls = table_with_balls(starts[n])
    for _ = 1, frames do
      world:step(SUBSTEPS)
      for i = 1, BALLS do
        local ball, k = balls[i], #states
        states[k + 1], states[k + 2], states[k + 3], states[k + 4] = ball.x, ball.y, ball.vx, ball.vy
      end
    end
    world:close()
  end
  return states
end"""
ENGINE = sim2d.torch.function(sim2d.Loss(SCRIPT, code=True))


def engine(states: torch.Tensor, frames: int) -> torch.Tensor:
    """States [n, frames, BALLS, 4] after each frame, starting from states [n, BALLS, 4]."""
    return ENGINE(states.flatten(1), torch.tensor(frames)).reshape(len(states), frames, BALLS, 4)


class Network(torch.nn.Module):
    """Replaces the engine in the comparison: all following frames at once, at first straight lines that end at the walls."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = layers(4 * BALLS, 256, 256, AHEAD * BALLS * 2).double()
        torch.nn.init.zeros_(self.layers[-1].weight)
        torch.nn.init.zeros_(self.layers[-1].bias)

    def forward(self, states: torch.Tensor, frames: int) -> torch.Tensor:
        moved = self.layers(states.flatten(1)).reshape(-1, AHEAD, BALLS, 2)[:, :frames]
        return (straight(states, frames).clamp(RADIUS, 1 - RADIUS) + moved).clamp(RADIUS, 1 - RADIUS)


def straight(states: torch.Tensor, frames: int) -> torch.Tensor:
    """Positions [n, frames, BALLS, 2] of balls without collisions."""
    times = FRAME * torch.arange(1, frames + 1)[:, None, None]
    return states[:, None, :, :2] + times * states[:, None, :, 2:]


def layers(*sizes: int) -> torch.nn.Sequential:
    pairs = [(torch.nn.Linear(a, b), torch.nn.ReLU()) for a, b in zip(sizes, sizes[1:])]
    return torch.nn.Sequential(*[part for pair in pairs for part in pair][:-1])


class Encoder(torch.nn.Module):
    """States [n, BALLS, 4] of frames [n, SEEN, BALLS, PIXELS, PIXELS]: the same convolutions for each ball, by its colour."""

    def __init__(self) -> None:
        super().__init__()
        channels = [SEEN, 16, 32, 32]
        convolutions = [part for a, b in zip(channels, channels[1:]) for part in (torch.nn.Conv2d(a, b, 3, 2, 1), torch.nn.ReLU())]
        self.layers = torch.nn.Sequential(*convolutions, torch.nn.Flatten(), *layers(32 * (PIXELS // 8) ** 2, 64, 4))

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        raw = self.layers(frames.transpose(1, 2).flatten(0, 1)).double().reshape(-1, BALLS, 4)
        return torch.cat([apart(0.5 + raw[..., :2]), raw[..., 2:].clamp(-2 * FASTEST, 2 * FASTEST)], -1)


def apart(places: torch.Tensor, passes: int = 10) -> torch.Tensor:
    """Positions of balls on the table without overlaps, from which the engine can start."""
    for _ in range(passes):
        way = places[..., :, None, :] - places[..., None, :, :]
        length = (way ** 2).sum(-1, keepdim=True).clamp(min=1e-6).sqrt()
        places = places + (0.55 * (2 * RADIUS - length).clamp(min=0) * way / length).sum(-2)
        places = places.clamp(RADIUS, 1 - RADIUS)
    return places


def draw(places: torch.Tensor) -> torch.Tensor:
    """Frames [..., BALLS, PIXELS, PIXELS] of places [..., BALLS, 2]: discs in the colours of the balls, with soft edges."""
    at = (torch.arange(PIXELS) + 0.5) / PIXELS
    dx, dy = at - places[..., 0, None].float(), at - places[..., 1, None].float()
    distance = (dx[..., None, :] ** 2 + dy[..., :, None] ** 2 + 1e-9).sqrt()
    return torch.sigmoid((RADIUS - distance) * 2 * PIXELS)


class Samples:
    """Sequences of noisy frames, `seen` and `after` these, with the `states` in the last seen frame, and `later`."""

    def __init__(self, count: int, rng: np.random.Generator):
        starts = []
        while len(starts) < count:
            places = rng.uniform(RADIUS, 1 - RADIUS, (BALLS, 2))
            apart = np.linalg.norm(places[:, None] - places, axis=2) + np.eye(BALLS)
            if apart.min() > 2 * RADIUS:
                starts.append(np.hstack([places, rng.uniform(-FASTEST, FASTEST, (BALLS, 2))]))
        start = torch.tensor(np.array(starts))
        states = torch.cat([start[:, None], engine(start, SEEN - 1 + AHEAD)], 1)
        frames = draw(states[..., :2])
        frames = frames + NOISE * torch.tensor(rng.standard_normal(frames.shape, dtype=np.float32))
        self.seen, self.after = frames[:, :SEEN], frames[:, SEEN:]
        self.states, self.later = states[:, SEEN - 1], states[:, SEEN:]


def picture_loss(drawn: torch.Tensor, frames: torch.Tensor) -> torch.Tensor:
    """Mean square of differences of pixels, and of means over 4 x 4 and 8 x 8 of them, which also depend on more distant balls."""
    difference = (drawn - frames).flatten(0, -3)
    return sum((torch.nn.functional.avg_pool2d(difference, size) ** 2).mean() for size in (1, 4, 8))


def train(encoder: Encoder, predict, labelled: Samples, pictures: Samples | None, iterations: int,
          rng: np.random.Generator) -> None:
    """Trains the networks in place: by labels and, if `pictures` are given, also by these through `predict(states, frames)`."""
    weights = [*encoder.parameters(), *(predict.parameters() if isinstance(predict, Network) else ())]
    adam = torch.optim.Adam(weights, lr=2e-3)
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(adam, iterations, 1e-5)
    for iteration in range(iterations):
        some = rng.integers(len(labelled.seen), size=BATCH)
        loss = ((encoder(labelled.seen[some]) - labelled.states[some]) ** 2).mean()
        if pictures:
            # one future frame at first, then more and more of them
            frames = min(AHEAD, 1 + 2 * AHEAD * iteration // iterations)
            some = rng.integers(len(pictures.seen), size=BATCH)
            states = encoder(pictures.seen[some])
            places = torch.cat([states[:, None, :, :2], predict(states, frames)[..., :2]], 1)
            now = pictures.seen[some][:, -1:]
            loss = loss + picture_loss(draw(places), torch.cat([now, pictures.after[some, :frames]], 1))
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        adam.step()
        slower.step()


def rms(difference: torch.Tensor) -> float:
    return (difference ** 2).sum(-1).mean().item() ** 0.5


@torch.no_grad()
def errors(encoder: Encoder, predict, held_out: Samples) -> dict[str, float]:
    """Root mean squares over held-out balls: position, m, velocity, m/s, and the positions half a second and a second later."""
    states = encoder(held_out.seen)
    later = predict(states, AHEAD)[..., :2] - held_out.later[..., :2]
    return {"place": rms((states - held_out.states)[..., :2]), "velocity": rms((states - held_out.states)[..., 2:]),
            "half": rms(later[:, AHEAD // 2 - 1]), "second": rms(later[:, -1])}


@torch.no_grad()
def strip(encoders: list[tuple[Encoder, object]], held_out: Samples, path: str, shown: int = 3) -> None:
    """A picture: for some samples a row of true frames, and below it a row of predictions for each encoder."""
    from PIL import Image

    rows = []
    for k in range(shown):
        rows.append(torch.cat([held_out.seen[k], held_out.after[k]]))
        for encoder, predict in encoders:
            states = encoder(held_out.seen[k : k + 1])
            now = torch.cat([states[:, None, :, :2], predict(states, AHEAD)[..., :2]], 1)[0]
            rows.append(torch.cat([torch.zeros(SEEN - 1, BALLS, PIXELS, PIXELS), draw(now)]))
    grid = torch.nn.functional.pad(torch.stack(rows), (1, 1, 1, 1), value=0.4).clamp(0, 1)  # [rows, frames, colours, y, x]
    colours = torch.tensor([[0.95, 0.35, 0.25], [0.3, 0.8, 0.4], [0.35, 0.55, 1.0]])
    picture = torch.einsum("rfcyx,ck->ryfxk", grid.flip(-2), colours).clamp(0, 1).flatten(2, 3).flatten(0, 1)
    image = Image.fromarray((255 * picture).byte().numpy())
    image.resize((2 * image.width, 2 * image.height), Image.Resampling.NEAREST).save(path)


def main(iterations: int = 600, seed: int = 0, path: str | None = None) -> dict[str, dict[str, float]]:
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    labelled, pictures, held_out = (Samples(n, rng) for n in (LABELLED, UNLABELLED, HELD_OUT))
    first = Encoder()
    train(first, engine, labelled, None, iterations // 2, rng)

    def continued(predict, samples: Samples, frames: Samples | None) -> Encoder:
        encoder, start = copy.deepcopy(first), time.perf_counter()
        train(encoder, predict, samples, frames, iterations, np.random.default_rng(seed))
        print(f"  trained in {time.perf_counter() - start:.0f} s", flush=True)
        return encoder

    network = Network()
    few, through = continued(engine, labelled, None), continued(engine, labelled, pictures)
    other, every = continued(network, labelled, pictures), continued(engine, pictures, None)
    cases = {f"{LABELLED} labels": (few, engine), f"{LABELLED} labels, pictures through the engine": (through, engine),
             "  the same encoder, straight lines": (through, straight),
             f"{LABELLED} labels, pictures through a network": (other, network), f"{UNLABELLED} labels": (every, engine)}
    table = {name: errors(*case, held_out) for name, case in cases.items()}
    print(f"{'':42s}   place  velocity  after .5 s    1 s  (rms; m, m/s)")
    for name, row in table.items():
        print(f"{name:42s}  {row['place']:6.4f}   {row['velocity']:6.4f}     {row['half']:6.4f}   {row['second']:6.4f}")
    if path:
        strip([(through, engine), (few, engine)], held_out, path)
    return table


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:4])
