"""Vector environments: each gives the results of a single one."""

import numpy as np
import pytest

import sim2d
from test_env import noisy, slide

gymnasium = pytest.importorskip("gymnasium")
MODES = gymnasium.vector.AutoresetMode



@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", ["acrobot", "cart_pole", "pendulum", "hopper", "walker"])
def test_each_is_as_alone(name, threads):
    n = 70  # more than a thread takes at a time
    vector = sim2d.make_vec(name, n, threads=threads)
    seen, _ = vector.reset(seed=11)
    assert seen.shape == vector.observation_space.shape and seen in vector.observation_space
    vector.action_space.seed(2)
    actions = [vector.action_space.sample() for _ in range(12)]
    told = [vector.step(a) for a in actions]
    changes = 0
    for i in (0, 1, 64, n - 1):
        env = sim2d.make(name)
        assert (env.reset(seed=11 + i)[0] == seen[i]).all()
        for k, action in enumerate(actions):
            alone = env.step(action[i])
            assert (alone[0] == told[k][0][i]).all() and alone[1] == told[k][1][i]
            assert alone[2:4] == (told[k][2][i], told[k][3][i])
            for key in ("unsolved", "mode_changes"):
                assert alone[4][key] == told[k][4][key][i] and told[k][4]["_" + key][i]
            changes += alone[4]["mode_changes"]
            if alone[2] or alone[3]:
                break
    assert (changes > 0) == (name in ("hopper", "walker"))


DECLARED = """
local sim = require "sim2d"
return sim.env { name = "declared", period = 0.1, max_steps = 20,
  world = function()
    local world = sim.world { dt = 0.05, gravity = { 0, 0 } }
    local cart = world:box { name = "cart", size = { 1, 1 }, mask = 0 }
    world:actuator { "push", body = cart, kind = "force", direction = { 1, 0 }, range = { -1, 1 } }
    world:observe { "cart", of = cart, field = { "x", "vx" } }
    return world
  end,
  reset = { { of = "cart", field = "x", uniform = { 0.5, 1.5 } }, { of = "cart", field = "vx", normal = { 0, 0.5 } } },
  reward = { constant = 1, { of = "cart", field = "x", weight = 2, terminal = 3 }, { of = "controls", weight = 0.2 } },
  terminated = { { of = "cart", field = "x", lo = -2, hi = 2 } } }
"""


@pytest.mark.parametrize("mode", ["next_step", "same_step"])
def test_what_is_declared_is_the_same_alone_and_in_lua(mode):
    n, steps = 33, 60
    vector = sim2d.make_vec(DECLARED, n, code=True, threads=2, autoreset=mode)
    actions = np.random.default_rng(0).uniform(-2, 2, (steps, n, 1))
    seen, _ = vector.reset(seed=3)
    told = [vector.step(a) for a in actions]
    ended = sum((t[2] | t[3]).sum() for t in told)
    assert ended > n
    for i in range(n):
        env = sim2d.make(DECLARED, code=True)
        assert (env.reset(seed=3 + i)[0] == seen[i]).all()
        due = False
        for action, (observations, rewards, terminated, truncated, info) in zip(actions[:, i], told, strict=True):
            if due:
                assert (env.reset()[0] == observations[i]).all() and rewards[i] == 0 and not terminated[i]
                due = False
                continue
            alone = env.step(action)
            assert alone[1] == rewards[i] and alone[2:4] == (terminated[i], truncated[i])
            last = observations[i]
            if alone[2] or alone[3]:
                due = mode == "next_step"
                if not due:
                    last = info["final_obs"][i]
                    assert (env.reset()[0] == observations[i]).all()
            assert (alone[0] == last).all()
    lua = sim2d.run(
        """local sim, text, n, mode, actions = require "sim2d", ...
        local vector = sim.env.vector(load(text)(), { count = n, threads = 1, autoreset = mode })
        vector:reset { seed = 3 }
        local sum = sim.zeros(n)
        for k = 1, #actions do
          local _, rewards = vector:step(actions[k])
          sum = sum + rewards
        end
        return sum""",
        DECLARED, n, mode, actions[:, :, 0].tolist(), code=True)
    total = np.zeros(n)
    for one in told:
        total += one[1]
    assert (np.asarray(lua) == total).all()


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
    with pytest.raises(sim2d.Error, match="before the first step"):
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


def as_alone(text, seeds, steps):
    """Observations of single environments with these seeds, which begin again after their last step."""
    all_seen = []
    for seed in seeds:
        env = sim2d.make(text, code=True)
        seen = [env.reset(seed=seed)[0]]
        over = False
        for _ in range(steps):
            if over:
                seen.append(env.reset()[0])
                over = False
                continue
            observation, _, terminated, truncated, _ = env.step([0.5])
            over = terminated or truncated
            seen.append(observation)
        all_seen.append(seen)
    return np.asarray(all_seen).swapaxes(0, 1)


@pytest.mark.parametrize("reset", ["nil", "{ { of = 'cart', field = 'x', uniform = { -1, 1 } } }",
                                   "function(world, random) world.bodies.cart.x = random:uniform(-1, 1) end"])
def test_noise_is_that_of_the_single_environment(reset):
    rng = np.random.default_rng(1)
    for _ in range(10):
        n, seed, text = int(rng.integers(1, 6)), int(rng.integers(1000)), noisy(float(rng.uniform(0.01, 1)), reset)
        vector = sim2d.make_vec(text, n, code=True, threads=int(rng.integers(1, 4)))
        seen = [vector.reset(seed=np.int64(seed))[0]]
        seen += [vector.step(np.full((n, 1), 0.5))[0] for _ in range(12)]
        assert (np.asarray(seen) == as_alone(text, range(seed, seed + n), 12)).all()
        seeds = rng.integers(1000, size=n).tolist()
        seen = [vector.reset(seed=seeds)[0]] + [vector.step(np.full((n, 1), 0.5))[0] for _ in range(12)]
        assert (np.asarray(seen) == as_alone(text, seeds, 12)).all()


@pytest.mark.parametrize("text", ["pendulum", noisy(0.1, "nil"), noisy()])
def test_without_seeds_vectors_begin_with_entropy(text):
    code = text != "pendulum"
    seen = [x for _ in range(2) for x in sim2d.make_vec(text, 4, code=code).reset()[0].tolist()]
    vector = sim2d.make_vec(text, 4, code=code)
    for _ in range(2):
        seen += vector.reset()[0].tolist()
    assert len({tuple(x) for x in seen}) == 16
    one = [sim2d.make_vec(text, 3, code=code).reset(seed=[1, None, 3])[0].tolist() for _ in range(2)]
    assert one[0][0] == one[1][0] and one[0][1] != one[1][1] and one[0][2] == one[1][2]
    # only those of a mask have begun
    vectors = [sim2d.make_vec(text, 2, code=code, autoreset="disabled") for _ in range(2)]
    for v in vectors:
        v.reset(seed=[1, None], options={"reset_mask": np.array([True, False])})
    first, second = (v.reset()[0].tolist() for v in vectors)
    assert first[0] == second[0] and first[1] != second[1]
