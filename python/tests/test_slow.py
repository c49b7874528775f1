"""Training that takes a minute: python -m pytest -m slow python/tests. Last figures are in docs/python.md."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "examples"))
pytestmark = pytest.mark.slow


def test_ppo_learns_the_cart_pole():
    pytest.importorskip("stable_baselines3")
    import ppo_cart_pole

    assert ppo_cart_pole.main() >= 475


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
