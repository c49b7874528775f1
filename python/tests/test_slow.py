"""Trainings that take a minute: python -m pytest -m slow python/tests. The latest figures are in docs/python.md."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "examples"))
pytestmark = pytest.mark.slow


def test_ppo_learns_the_cart_pole():
    pytest.importorskip("stable_baselines3")
    import ppo

    assert ppo.main() >= 475


def test_ppo_learns_the_hopper():
    pytest.importorskip("stable_baselines3")
    import ppo

    assert ppo.main("hopper") >= 500  # the task's own law: 586 of 600


def test_pictures_teach_through_the_engine():
    pytest.importorskip("torch")
    import billiards_pictures

    few, engine, straight, _, every = billiards_pictures.main().values()
    # pictures give more than half of the gain of a full set of labels, and bounces are predicted
    assert few["place"] - engine["place"] > 0.5 * (few["place"] - every["place"]) > 0
    assert engine["second"] < 0.8 * min(few["second"], straight["second"])


def test_gradients_learn_the_cart_pole():
    pytest.importorskip("torch")
    import policy_by_gradient

    assert policy_by_gradient.main() >= 475


def test_a_network_creeps_where_the_layer_sticks():
    pytest.importorskip("torch")
    import friction_network

    mu, network, layer = friction_network.main()
    assert abs(mu - 0.3) < 1e-3 and layer == 0 and abs(network) > 1e-3


def test_a_force_that_is_missing_is_learned_within_steps():
    pytest.importorskip("torch")
    import residual_force

    without, learned, force = residual_force.main()
    assert learned < without / 10 and force < 0.2
