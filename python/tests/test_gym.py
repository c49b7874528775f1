"""Tasks in Gymnasium's registry, recordings of episodes, the live viewer."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
import warnings

import numpy as np
import pytest

import sim2d

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

IDS = [f"sim2d/{name}-v0" for name in sim2d.tasks()]
QUIET = {"browser": False, "pace": 0}


def frames(path):
    """Times of the frames of a recording."""
    told = sim2d.run("""
      local data = require "sim2d".read_recording(...)
      local times = {}
      for i = 1, data.count do times[i] = data.times[i] end
      return times""", str(path))
    return np.asarray(told)


def test_all_tasks_are_registered():
    assert [id for id in gymnasium.registry if id.startswith("sim2d/")] == IDS and len(IDS) >= 15


@pytest.mark.parametrize("id", IDS)
def test_gymnasium_accepts(id):
    env = gymnasium.make(id)
    task = env.unwrapped
    own = sim2d.make(task.name)
    assert env.spec.max_episode_steps == own.max_steps and env.spec.reward_threshold == own.passed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of infinite bounds
        check_env(task, skip_render_check=True)
    env.close()


def test_render_modes_are_accepted(monkeypatch):
    pytest.importorskip("PIL")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    env = gymnasium.make("sim2d/cart_pole-v0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(env.unwrapped)
    env.close()


ORDERS = {
    "sim2d first": "import sim2d, gymnasium, sys",
    "gymnasium first": "import gymnasium, sim2d, sys",
    "by the module": "import gymnasium, sys; gymnasium.make('sim2d:sim2d/pendulum-v0')",
    "gymnasium later": "import sys, sim2d; assert 'gymnasium' not in sys.modules; sim2d.World(); import gymnasium.spaces",
    "only a search": "import sys, sim2d, importlib.util; importlib.util.find_spec('gymnasium'); import gymnasium",
    "named module": "import sim2d.gym, gymnasium, sys",
}


@pytest.mark.parametrize("order", ORDERS)
def test_registered_in_any_order(order):
    code = ORDERS[order] + "\nenv = gymnasium.make('sim2d/cart_pole-v0')\nprint(env.spec.max_episode_steps)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "500\n", done.stderr


def test_vectors_by_their_entry_point():
    made = gymnasium.make_vec("sim2d/pendulum-v0", num_envs=3, vectorization_mode="vector_entry_point")
    own = sim2d.make_vec("pendulum", 3)
    assert isinstance(made, sim2d.VectorEnv) and made.spec.id == "sim2d/pendulum-v0"
    assert (made.reset(seed=4)[0] == own.reset(seed=4)[0]).all()
    own.action_space.seed(0)
    for _ in range(20):
        actions = own.action_space.sample()
        for a, b in zip(made.step(actions)[:4], own.step(actions)[:4]):
            assert (a == b).all()
    few = gymnasium.make_vec("sim2d/pendulum-v0", num_envs=2, vectorization_mode="vector_entry_point", max_steps=3)
    few.reset(seed=0)
    ends = [few.step(np.zeros((2, 1)))[3].tolist() for _ in range(3)]
    assert ends == [[False] * 2, [False] * 2, [True] * 2]


def ends_of(env, steps):
    env.reset(seed=0)
    return [env.step(np.zeros(1))[3] for _ in range(steps)].index(True) + 1


def test_other_lengths_of_episodes():
    assert ends_of(gymnasium.make("sim2d/pendulum-v0"), 200) == 200
    assert ends_of(gymnasium.make("sim2d/pendulum-v0", max_episode_steps=250), 250) == 250
    assert ends_of(gymnasium.make("sim2d/pendulum-v0", max_episode_steps=2), 2) == 2
    assert ends_of(gymnasium.make("sim2d/pendulum-v0", max_steps=3), 3) == 3
    assert ends_of(sim2d.make("pendulum", max_steps=250), 250) == 250
    endless = gymnasium.make("sim2d/pendulum-v0", max_episode_steps=-1)
    with pytest.raises(ValueError):
        ends_of(endless, 260)
    for bad in (0, -1, 1.5, True, "a", 2**31):
        with pytest.raises(ValueError, match="max_steps: a whole number from 1 to"):
            sim2d.make("pendulum", max_steps=bad)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_other_vectors(mode):
    made = gymnasium.make_vec("sim2d/pendulum-v0", num_envs=2, vectorization_mode=mode)
    own = sim2d.make_vec("pendulum", 2)
    assert made.reset(seed=4)[0] == pytest.approx(own.reset(seed=4)[0], abs=1e-12)
    for _ in range(3):
        assert made.step(np.ones((2, 1)))[1] == pytest.approx(own.step(np.ones((2, 1)))[1], abs=1e-12)
    made.close()


def test_vectors_that_are_refused():
    with pytest.raises(ValueError, match="use vectorization_mode='sync'"):
        gymnasium.make_vec("sim2d/pendulum-v0", num_envs=2, render_mode="rgb_array")
    endless = gymnasium.make_vec("sim2d/pendulum-v0", num_envs=2, max_episode_steps=-1)
    endless.reset(seed=0)
    assert not any(endless.step(np.zeros((2, 1)))[3].any() for _ in range(210))


def play(env, seed, steps, **options):
    seen, _ = env.reset(seed=seed, options=options)
    for _ in range(steps):
        seen, *_ = env.step(env.baseline(seen))
    return seen


def test_recordings_hold_the_episodes(tmp_path):
    env, plain = sim2d.make("hopper"), sim2d.make("hopper")
    path = tmp_path / "run.s2d"
    play(env, 0, 5)
    env.record(path)  # this episode goes on
    env.step(env.action_space.sample() * 0)
    ends = [play(env, 1, 10).tolist(), play(env, 2, 5, randomise=True).tolist(), play(env, 3, 3).tolist()]
    env.record(None)
    play(env, 4, 5)
    assert ends == [play(plain, 1, 10).tolist(), play(plain, 2, 5, randomise=True).tolist(), play(plain, 3, 3).tolist()]
    substeps = round(env.period / env.world.dt)
    assert substeps == 4
    times, dt = frames(path), env.world.dt
    expected = np.concatenate([np.arange(5 * 4, 6 * 4 + 1), np.arange(10 * 4 + 1), np.arange(5 * 4 + 1), np.arange(3 * 4 + 1)]) * dt
    assert times == pytest.approx(expected, abs=1e-12)


def test_a_recording_begins_with_the_next_episode(tmp_path):
    env = sim2d.make("cart_pole")
    env.record(tmp_path / "run.s2d")
    play(env, 0, 3)
    env.record(tmp_path / "next.s2d")  # ends the first
    env.step(0)
    env.close()
    assert frames(tmp_path / "run.s2d") == pytest.approx(np.arange(4) * 0.02)
    assert frames(tmp_path / "next.s2d") == pytest.approx(np.arange(3, 5) * 0.02)


def test_pages_of_episodes(tmp_path):
    env = sim2d.make("cart_pole")
    try:
        shown = env.record(tmp_path / "run.html")
    except sim2d.Error as error:
        if "page" not in str(error) and "viewer" not in str(error):
            raise
        pytest.skip(str(error))
    play(env, 0, 5)
    play(env, 1, 5)
    env.close()
    page = (tmp_path / "run.html").read_text()
    assert shown.path == str(tmp_path / "run.html") and page.startswith("<!doctype html>")
    assert sim2d.environment.EpisodeRecording(str(tmp_path / "none.html"))._repr_html_() is None
    inline = shown._repr_html_()
    assert inline.startswith('<iframe srcdoc="&lt;!doctype html&gt;') and len(inline) > len(page)


def test_recordings_that_are_refused(tmp_path):
    env = sim2d.make("cart_pole")
    with pytest.raises(sim2d.Error, match=r"test_gym.py:\d+: .*unknown suffix '.avi'"):
        env.record(tmp_path / "run.avi")
    with pytest.raises(sim2d.Error, match=r"unknown key 'fsp'; did you mean 'fps'"):
        env.record(tmp_path / "run.gif", fsp=3)
    with pytest.raises(sim2d.Error, match="'columns': is not available for episodes"):
        env.record(tmp_path / "run.csv", columns=["cart.x"])
    with pytest.raises(sim2d.Error, match="No such file|cannot"):
        env.record(tmp_path / "none" / "run.s2d")
    env.reset(seed=0)
    env.step(0)
    env.record(None)
    assert list(tmp_path.iterdir()) == []
    env.close()
    env.close()
    with pytest.raises(sim2d.Error, match="closed"):
        env.record(tmp_path / "run.s2d")


def test_notebooks_show_environments():
    env = sim2d.make("pendulum")
    env.reset(seed=0)
    first = env._repr_html_()
    env.step(np.ones(1))
    assert first.startswith("<svg") and "</svg>" in first and env._repr_html_() != first
    assert env.world.time == pytest.approx(env.period) and env.world.bodies[0].world is env.world


def test_no_task_is_closed_within_its_step():
    env = sim2d.make("cart_pole")
    env.reset(seed=0)
    env.world.before_step(lambda w, t, dt: env.close())
    with pytest.raises(sim2d.Error, match="closed by a function that it calls; close it after the step"):
        env.step(0)
    env.close()


def test_the_world_of_a_task_keeps_its_task():
    world = sim2d.make("cart_pole").world
    gc.collect()
    world.step()
    assert world.time == pytest.approx(0.02)


def human(**options):
    try:
        env = sim2d.make("cart_pole", render_mode="human", render_options={**QUIET, **options})
        env.reset(seed=0)
    except sim2d.Error as error:
        if "without the live viewer" not in str(error):
            raise
        pytest.skip(str(error))
    return env


def test_the_viewer_shows_each_episode(capfd):
    env, plain = human(), sim2d.make("cart_pole")
    plain.reset(seed=0)
    with urllib.request.urlopen(env.view_address) as page:
        assert page.read().startswith(b"<!doctype html>")
    for options in ({}, {"randomise": True}, {}):
        assert play(env, 1, 20, **options).tolist() == play(plain, 1, 20, **options).tolist()
    assert env.render() is None
    env.close()
    assert env.view_address is None and "viewer: http://127.0.0.1" in capfd.readouterr().err
    with pytest.raises(sim2d.Error, match="unknown key 'pase'"):
        sim2d.make("cart_pole", render_mode="human", render_options={"pase": 1}).reset()


def test_the_viewer_has_the_pace_of_the_world():
    env = human(pace=2)
    begin = time.monotonic()
    play(env, 0, 30)
    assert time.monotonic() - begin > 0.8 * 30 * 0.02 / 2  # not faster: a bound that load cannot break
    env.close()


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or sys.platform == "win32", reason="needs signals")
def test_ctrl_c_ends_a_step_that_waits():
    env = human(wait=True)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        env.step(0)  # no page opens
    timer.join()
    env.close()
