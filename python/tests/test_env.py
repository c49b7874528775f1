"""Tasks as Gymnasium's environments."""

import itertools
import warnings

import numpy as np
import pytest

import sim2d

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

NAMES = sim2d.tasks()

SLIDE = """
local sim = require "sim2d"
return sim.env { name = "slide", period = 0.1, max_steps = MOST,
  world = function(p)
    local world = sim.world { dt = 0.01, gravity = { 0, 0 } }
    local cart = world:box { name = "cart", size = { 1, 1 }, mass = p.mass, mask = 0 }
    world:actuator { "push", body = cart, kind = "force", direction = { 1, 0 }, range = { -2, 2 } }
    world:observe { "cart", of = cart, field = { "x", "vx" } }
    return world
  end,
  reset = function(world, random) world.bodies.cart.x = random:uniform(0.5, 1.5) end,
  reward = function(world, u) REWARD return -world.bodies.cart.x ^ 2 end,
  parameters = { mass = { 1, 0.5, 2 } } }
"""


def slide(most=5, reward=""):
    return SLIDE.replace("MOST", str(most)).replace("REWARD", reward)


def episode(env, seed, actions):
    seen, info = env.reset(seed=seed)
    told = [seen.tolist()]
    for action in actions:
        seen, reward, terminated, truncated, info = env.step(action)
        told.append([*seen.tolist(), reward, info["residual"]])
        if terminated or truncated:
            break
    return told


def test_there_are_tasks():
    assert {"cart_pole", "pendulum", "acrobot"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_gymnasium_accepts(name):
    env = sim2d.make(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of infinite bounds
        check_env(env, skip_render_check=True)
    env.close()


LUA_EPISODE = """
local file, actions, seed, from = ...
local env = dofile(file)
local told = {}
local seen = env:reset { seed = seed }
for _, x in ipairs(seen) do told[#told + 1] = x end
for _, action in ipairs(actions) do
  local seen, reward, terminated, truncated, info = env:step(from and action + 1 or action)
  for _, x in ipairs(seen) do told[#told + 1] = x end
  told[#told + 1], told[#told + 2] = reward, info.residual
  if terminated or truncated then break end
end
return told"""


@pytest.mark.parametrize("name", NAMES)
def test_same_bits_from_lua(name):
    env = sim2d.make(name)
    env.action_space.seed(5)
    actions = [env.action_space.sample() for _ in range(30)]
    discrete = isinstance(env.action_space, gymnasium.spaces.Discrete)
    told = list(itertools.chain(*episode(env, 3, actions)))
    # again in the same environment, whose world is used again
    assert list(itertools.chain(*episode(env, 3, actions))) == told
    file = str(sim2d._tasks._FOLDER / f"{name}.lua")
    plain = [int(a) if discrete else a.tolist() for a in actions]
    assert sim2d.run(LUA_EPISODE, file, plain, 3, discrete, code=True) == told


def test_baselines():
    env = sim2d.make("cart_pole")
    seen, _ = env.reset(seed=0)
    total, over = 0.0, False
    while not over:
        seen, reward, terminated, truncated, _ = env.step(env.baseline(seen))
        total, over = total + reward, terminated or truncated
    assert total == 500 and truncated


def test_parameters():
    env = sim2d.make(slide(), code=True)
    assert env.reset()[1]["parameters"] == {"mass": 1}
    assert env.reset(options={"parameters": {"mass": 1.5}})[1]["parameters"] == {"mass": 1.5}
    drawn = {env.reset(options={"randomise": True})[1]["parameters"]["mass"] for _ in range(5)}
    assert len(drawn) == 5 and all(0.5 <= m <= 2 for m in drawn)
    with pytest.raises(sim2d.Error, match="no parameter 'weight'"):
        env.reset(options={"parameters": {"weight": 1}})
    with pytest.raises(sim2d.Error, match="unknown key 'randomize'; did you mean 'randomise'"):
        env.reset(options={"randomize": True})


def test_actions_that_are_none():
    env = sim2d.make("cart_pole")
    with pytest.raises(sim2d.Error, match="before the first step"):
        env.step(0)
    env.reset(seed=0)
    for bad, error in ((2, ValueError), (-1, ValueError), (0.5, TypeError), ("left", TypeError), ([0], ValueError),
                       (None, TypeError)):
        with pytest.raises(error, match="expected"):
            env.step(bad)
    env = sim2d.make(slide(), code=True)
    env.reset(seed=0)
    for bad, error in (([float("nan")], ValueError), ([1, 2], ValueError), ([[1]], ValueError), ([1j], TypeError),
                       ({"push": 1}, TypeError)):
        with pytest.raises(error, match="expected"):
            env.step(bad)
    env.step(np.array([1], dtype=np.int32))
    env.step(np.array([np.inf], dtype=np.float32))


def test_ends_and_closed_ones():
    env = sim2d.make(slide(), code=True)
    env.reset(seed=0)
    ends = [env.step([0.0])[2:4] for _ in range(5)]
    assert ends == [(False, False)] * 4 + [(False, True)]
    with pytest.raises(sim2d.Error, match="the episode is over"):
        env.step([0.0])
    env.close()
    env.close()
    with pytest.raises(sim2d.Error, match="closed"):
        env.reset()


def test_errors_within_a_reward():
    env = sim2d.make(slide(reward="error('lost count') "), code=True)
    env.reset(seed=0)
    with pytest.raises(sim2d.Error, match="lost count") as caught:
        env.step([0.0])
    assert "stack" not in str(caught.value) and caught.value.traceback
    env.reset(seed=0)
    with pytest.raises(sim2d.Error, match="nothing.*nil|index a nil"):
        sim2d.make("return (nil).x", code=True)
    with pytest.raises(sim2d.Error, match="the result of sim.env"):
        sim2d.make("return 5", code=True)
    with pytest.raises(FileNotFoundError, match="the tasks are acrobot"):
        sim2d.make("cart-pole")
    with pytest.raises(ValueError, match="render_mode"):
        sim2d.make("cart_pole", render_mode="ansi")


def test_pictures():
    pytest.importorskip("PIL")
    env = sim2d.make("cart_pole", render_mode="rgb_array")
    env.reset(seed=0)
    try:
        frame = env.render()
    except sim2d.Error as error:
        if "cairo" not in str(error):
            raise
        pytest.skip("the engine was built without cairo")
    assert frame.ndim == 3 and frame.shape[2] == 3 and frame.std() > 0


def apart_from_gymnasium(parts, actions):
    """The distance between the final states if both divide a period of 0.02 s into this many steps."""
    text = (sim2d._tasks._FOLDER / "cart_pole.lua").read_text()
    assert text.count("dt = 0.02,") == 1 and text.count("max_steps = 500,") == 1
    text = text.replace("dt = 0.02,", f"dt = 0.02 / {parts},").replace("max_steps = 500,", "max_steps = 500, period = 0.02,")
    ours, theirs = sim2d.make(text, code=True), gymnasium.make("CartPole-v1").unwrapped
    theirs.tau = 0.02 / parts
    seen, _ = ours.reset(seed=4)
    theirs.reset(seed=0)
    theirs.state = tuple(seen)
    for action in actions:
        seen = ours.step(action)[0]
        for _ in range(parts):
            other = theirs.step(action)[0]
    return np.abs(seen - np.asarray(theirs.state)).max()


def test_cart_pole_moves_as_gymnasiums():
    """Both methods are of first order: the distance decreases with the length of the steps, to 0."""
    actions = [1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0]
    apart = [apart_from_gymnasium(parts, actions) for parts in (1, 10, 100)]
    assert apart[0] < 0.05 and 0.08 < apart[1] / apart[0] < 0.12 and 0.08 < apart[2] / apart[1] < 0.12, apart


NOISY = """
local sim = require "sim2d"
return sim.env { name = "noisy", max_steps = 4,
  world = function()
    local world = sim.world { dt = 0.02, gravity = { 0, 0 } }
    local cart = world:box { name = "cart", size = { 1, 1 }, mass = 1, mask = 0 }
    world:actuator { "push", body = cart, kind = "force", direction = { 1, 0 }, range = { -2, 2 } }
    world:observe { "cart", of = cart, field = { "x", "vx" }, noise = NOISE }
    return world
  end,
  reset = RESET, reward = 1 }
"""


def noisy(noise=0.1, reset="{ { of = 'cart', field = 'x', uniform = { -1, 1 } } }"):
    return NOISY.replace("NOISE", repr(noise)).replace("RESET", reset)


@pytest.mark.parametrize("text", ["cart_pole", noisy(0.1, "nil"), noisy(), noisy(0)])
def test_without_a_seed_episodes_begin_with_entropy(text):
    code = text != "cart_pole"
    envs = [sim2d.make(text, code=code) for _ in range(3)]
    first = [env.reset()[0].tolist() for env in envs]
    later = [env.reset()[0].tolist() for env in envs]
    assert len({tuple(x) for x in first + later}) == 6
    # a seed drawn from entropy can be given, and continues the same
    for env in envs:
        env.np_random = np.random.default_rng(5)
        seeded = [env.reset(seed=7)[0].tolist(), env.reset()[0].tolist(), env.reset()[0].tolist()]
        assert seeded == [env.reset(seed=7)[0].tolist(), env.reset()[0].tolist(), env.reset()[0].tolist()]
    fresh = [sim2d.make(text, code=code) for _ in range(2)]
    for env in fresh:
        env.np_random = np.random.default_rng(5)
    assert fresh[0].reset()[0].tolist() == fresh[1].reset()[0].tolist()
