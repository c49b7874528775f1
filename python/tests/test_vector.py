"""Vector environments: each is what the single one is."""

import numpy as np
import pytest

import sim2d
from test_env import slide

gymnasium = pytest.importorskip("gymnasium")
MODES = gymnasium.vector.AutoresetMode



@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", ["cart_pole", "pendulum", "reacher"])
def test_each_is_as_alone(name, threads):
    n = 70  # more than a thread takes at a time
    vector = sim2d.make_vec(name, n, threads=threads)
    seen, _ = vector.reset(seed=11)
    assert seen.shape == vector.observation_space.shape and seen in vector.observation_space
    vector.action_space.seed(2)
    actions = [vector.action_space.sample() for _ in range(12)]
    told = [vector.step(a) for a in actions]
    for i in (0, 1, 64, n - 1):
        env = sim2d.make(name)
        assert (env.reset(seed=11 + i)[0] == seen[i]).all()
        for k, action in enumerate(actions):
            alone = env.step(action[i])
            assert (alone[0] == told[k][0][i]).all() and alone[1] == told[k][1][i]
            assert alone[2:4] == (told[k][2][i], told[k][3][i])
            if alone[2] or alone[3]:
                break


def test_the_next_step_resets():
    vector = sim2d.make_vec(slide(2), 3, code=True)
    assert vector.metadata["autoreset_mode"] == MODES.NEXT_STEP
    vector.reset(seed=0)
    push = np.ones((3, 1))
    vector.step(push)
    assert vector.step(push)[3].all()
    seen, rewards, terminated, truncated, _ = vector.step(push)
    assert not terminated.any() and not truncated.any() and (rewards == 0).all()
    assert (np.abs(seen[:, 0] - 1) <= 0.5).all() and (seen[:, 1] == 0).all()


def test_the_same_step_resets():
    vector = sim2d.make_vec(slide(2), 3, code=True, autoreset="same_step")
    vector.reset(seed=0)
    push = np.ones((3, 1))
    first = vector.step(push)
    assert "final_obs" not in first[4]
    seen, _, _, truncated, info = vector.step(push)
    assert truncated.all() and info["_final_obs"].all() and (seen[:, 1] == 0).all()
    assert all(final[1] > 0.1 for final in info["final_obs"])


def test_masks_reset():
    vector = sim2d.make_vec(slide(2), 3, code=True, autoreset=MODES.DISABLED)
    vector.reset(seed=0)
    push = np.ones((3, 1))
    vector.step(push)
    vector.step(push)
    with pytest.raises(sim2d.Error, match="the episode is over"):
        vector.step(push)
    seen, _ = vector.reset(options={"reset_mask": np.array([True, False, True])})
    assert seen[0, 1] == 0 and seen[1, 1] > 0 and seen[2, 1] == 0
    with pytest.raises(ValueError, match="3 bools"):
        vector.reset(options={"reset_mask": [1, 0, 1]})


def test_copies():
    vector = sim2d.make_vec(slide(50), 2, code=True, copy=False)
    vector.reset(seed=0)
    one = vector.step(np.ones((2, 1)))[0]
    two = vector.step(np.ones((2, 1)))[0]
    assert one is two
    vector = sim2d.make_vec(slide(50), 2, code=True)
    vector.reset(seed=0)
    one = vector.step(np.ones((2, 1)))[0]
    kept = one.copy()
    vector.step(np.ones((2, 1)))
    assert (one == kept).all()


def test_bad_input():
    for bad in (0, -3, 2.5, True):
        with pytest.raises(ValueError, match="num_envs"):
            sim2d.make_vec("cart_pole", bad)
    with pytest.raises(ValueError, match="autoreset: one of next_step"):
        sim2d.make_vec("cart_pole", 2, autoreset="never")
    with pytest.raises(sim2d.Error, match="threads: an integer"):
        sim2d.make_vec("cart_pole", 2, threads=0)
    vector = sim2d.make_vec("cart_pole", 3)
    with pytest.raises(sim2d.Error, match="before the first reset"):
        vector.step([0, 0, 0])
    vector.reset(seed=1)
    for bad, error in (([0, 1], ValueError), ([0, 1, 2], ValueError), ([0.0, 1.0, 0.0], TypeError)):
        with pytest.raises(error, match="expected"):
            vector.step(bad)
    with pytest.raises(ValueError, match="3 seeds"):
        vector.reset(seed=[1, 2])
    vector.close()
    with pytest.raises(sim2d.Error, match="closed"):
        vector._bridge.call("collect")


def test_errors_name_the_environment():
    vector = sim2d.make_vec(slide(9, "if world.time > 0.25 then error('too late') end"), 4, code=True)
    vector.reset(seed=0)
    vector.step(np.zeros((4, 1)))
    vector.step(np.zeros((4, 1)))
    with pytest.raises(sim2d.Error, match="too late"):
        vector.step(np.zeros((4, 1)))
