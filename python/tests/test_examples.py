"""Short runs of the examples; test_slow.py has the full ones."""

import pathlib
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "examples"))


def test_pictures_find_the_state_through_the_engine():
    import billiards_pictures as billiards

    # the first ball strikes the second, the third a wall
    true = torch.tensor([[[0.25, 0.4, 0.9, 0.05], [0.62, 0.45, -0.1, 0.0], [0.25, 0.8, -0.7, 0.1]]], dtype=torch.float64)

    def frames(states):
        return billiards.draw(torch.cat([states[:, None, :, :2], billiards.engine(states, 6)[..., :2]], 1))

    wanted = frames(true)
    torch.manual_seed(0)
    states = (true + 0.03 * torch.randn(true.shape, dtype=torch.float64)).requires_grad_(True)
    adam = torch.optim.Adam([states], lr=0.01)
    for _ in range(80):
        adam.zero_grad()
        billiards.picture_loss(frames(states), wanted).backward()
        adam.step()
    # a single frame does not show velocities, but they are found
    assert (states - true).abs().max() < 3e-3


def test_samples_of_billiards():
    import billiards_pictures as billiards

    samples = billiards.Samples(4, np.random.default_rng(0))
    assert samples.seen.shape == (4, 3, 3, 32, 32) and samples.after.shape == (4, 10, 3, 32, 32)
    assert samples.states.shape == (4, 3, 4) and samples.later.shape == (4, 10, 3, 4)
    # from the labelled states the engine continues to the later ones, with all bounces
    assert torch.allclose(billiards.engine(samples.states, 10), samples.later, atol=1e-6)


def test_balls_that_an_encoder_sees_are_apart():
    import billiards_pictures as billiards

    torch.manual_seed(0)
    places = billiards.apart(torch.rand(100, billiards.BALLS, 2, dtype=torch.float64))
    gaps = [torch.linalg.norm(places[:, i] - places[:, j], dim=-1) - 2 * billiards.RADIUS for i, j in ((0, 1), (0, 2), (1, 2))]
    assert torch.stack(gaps).min() > -1 / billiards.PIXELS  # the engine separates overlaps of less than a pixel
    assert places.min() >= billiards.RADIUS - 1e-12 and places.max() <= 1 - billiards.RADIUS + 1e-12


def test_billiards_in_short(monkeypatch, tmp_path):
    pytest.importorskip("PIL")
    import billiards_pictures as billiards

    for name, number in (("LABELLED", 8), ("UNLABELLED", 16), ("HELD_OUT", 8), ("BATCH", 4)):
        monkeypatch.setattr(billiards, name, number)
    table = billiards.main(6, 1, str(tmp_path / "strip.png"))
    assert len(table) == 5 and all(np.isfinite(list(row.values())).all() for row in table.values())
    from PIL import Image

    # 3 samples of 3 rows, 13 frames of 32 pixels with a line around each, twice as large
    assert Image.open(tmp_path / "strip.png").size == (2 * 34 * 13, 2 * 34 * 9)


def test_a_few_iterations_by_gradients_balance_the_pole_longer():
    import policy_by_gradient

    # without a controller a pole falls within some 40 steps
    assert policy_by_gradient.main(30) > 150
