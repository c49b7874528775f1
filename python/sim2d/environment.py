"""Tasks as Gymnasium environments."""

from __future__ import annotations

import os
import sys
import weakref
import webbrowser
from typing import Any

import gymnasium
import numpy as np

from . import _html
from ._bridge import Bridge, Error, pointer
from ._objects import received, sent
from ._tasks import task_source

# After the observation: reward, terminated, truncated, residual, unsolved, time, mode changes (bridge.lua).
_TOLD = 7

MOST_STEPS = 2**31 - 1  # of an episode

# Seeds drawn from entropy are from 0 to this number - 1.
_SEEDS = 2**63


def entropy_seed(random: np.random.Generator) -> int:
    """A seed for an environment without a given one, from Gymnasium's generator, which is seeded from entropy."""
    return int(random.integers(_SEEDS))


def spaces_of(about: dict[str, Any]) -> tuple[gymnasium.Space, gymnasium.Space]:
    """The spaces of observations and actions."""
    low, high = np.asarray(about["low"], dtype=float), np.asarray(about["high"], dtype=float)
    observed = gymnasium.spaces.Box(low, high, dtype=np.float64)
    if about.get("actions") is not None:
        return observed, gymnasium.spaces.Discrete(about["actions"])
    low, high = np.asarray(about["action_low"], dtype=float), np.asarray(about["action_high"], dtype=float)
    return observed, gymnasium.spaces.Box(low, high, dtype=np.float64)


def put_actions(action: Any, space: gymnasium.Space, numbers: np.ndarray) -> None:
    """Writes the action to `numbers`; ValueError or TypeError if it is not in the space (values out of bounds are only
    clipped)."""
    array = np.asarray(action)
    discrete = isinstance(space, (gymnasium.spaces.Discrete, gymnasium.spaces.MultiDiscrete))
    if array.dtype.kind not in ("iu" if discrete else "fiu"):
        raise TypeError(f"{'whole ' if discrete else ''}numbers expected as an action, got {action!r}")
    if array.shape != numbers.shape:
        raise ValueError(f"an action of shape {numbers.shape} expected, got {array.shape}")
    if discrete:
        most = space.n if isinstance(space, gymnasium.spaces.Discrete) else int(space.nvec[0])
        if array.min() < 0 or array.max() >= most:
            raise ValueError(f"an action from 0 to {most - 1} expected, got {action!r}")
    elif np.isnan(array).any():
        raise ValueError(f"an action without nan expected, got {action!r}")
    numbers[...] = array


def check_steps(max_steps: int | None) -> int | None:
    if max_steps is None:
        return None
    if isinstance(max_steps, (bool, np.bool_)) or not isinstance(max_steps, (int, np.integer)) or not 1 <= max_steps <= MOST_STEPS:
        raise ValueError(f"max_steps: a whole number from 1 to {MOST_STEPS} expected, got {max_steps!r}")
    return int(max_steps)


class EpisodeRecording:
    """The file of `Env.record`. Notebooks show it: a page (.html) plays the episodes."""

    def __init__(self, path: str):
        self.path = path

    def __repr__(self) -> str:
        return f"<sim2d.EpisodeRecording '{self.path}'>"

    def _repr_html_(self) -> str | None:
        return _html.of_file(self.path)


class Env(gymnasium.Env):
    """A task (`sim.env` of a Lua script) as an environment of Gymnasium; `sim2d.make` makes it.

    `info` of a step: residual (of the complementarity problem), unsolved (did a step miss its tolerance?), time (s), mode_changes
    (contact points that began to stick, to slip or to part).
    reset(options={"randomise": True}) draws the task's parameters, options={"parameters": {...}} sets them.

    render_mode "human" opens the live viewer in a browser at the first reset and shows the episodes in real time. "rgb_array"
    makes `render` return a picture. render_options: for "human" pace (simulated seconds per second, 0: no limit), port, wait
    (for the page, before the first step) and browser (False: only print the address); for "rgb_array" the options of
    `world:draw`, for example {"width": 320}. max_steps: the length of an episode in place of the task's.
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 30}

    def __init__(self, name: str | os.PathLike[str], *, code: bool = False, render_mode: str | None = None,
                 render_options: dict[str, Any] | None = None, max_steps: int | None = None):
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode: None, 'human' or 'rgb_array' expected, got {render_mode!r}")
        source = task_source(name, code)
        self.render_mode, self._render_options = render_mode, dict(render_options or {})
        self.view_address: str | None = None
        self._bridge = Bridge()
        self._finalizer = weakref.finalize(self, self._bridge.close)
        try:
            self._number, about = self._bridge.ask("env", source, None, check_steps(max_steps))
        except BaseException:
            self._bridge.close()
            raise
        self.name: str = about["name"]
        self.max_steps: int = about["max_steps"]
        self.period: float = about["period"]
        self.passed: float | None = about.get("passed")
        self.observation_space, self.action_space = spaces_of(about)
        self.metadata = {**self.metadata, "render_fps": max(1, round(1 / self.period))}
        self._begun = False
        self._shape = self.action_space.shape
        self._most = about.get("actions") or 0
        self._observed = self.observation_space.shape[0]
        self._action = np.zeros(max(1, int(np.prod(self._shape))))
        self._action_view = self._action.reshape(self._shape)
        self._told = np.zeros(self._observed + _TOLD)
        self._pointers = (pointer(self._action), len(self._action), pointer(self._told), len(self._told))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        """Without a seed, the first episode takes a seed from entropy, and later episodes continue with the same generator."""
        super().reset(seed=None if seed is None else int(seed))
        options = dict(options or {})
        if seed is not None:
            options["seed"] = int(seed)
        elif not self._begun:
            options.setdefault("seed", entropy_seed(self.np_random))
        seen, parameters = self._bridge.ask("env_reset", self._number, options)
        self._begun = True
        if self.render_mode == "human" and self.view_address is None:
            self._view()
        return np.asarray(seen, dtype=float), {"parameters": parameters or {}}

    def _view(self) -> None:
        options = {"wait": False, **self._render_options}
        browser = options.pop("browser", True)
        address, message = self._bridge.ask("env_view", self._number, options)
        if address is None:
            raise Error(message)
        self.view_address = address
        if browser and (sys.platform == "darwin" or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ):
            webbrowser.open(address)

    def step(self, action: Any):
        # fast path for common actions, without NumPy
        if self._most > 0 and isinstance(action, (int, np.integer)) and 0 <= action < self._most:
            self._action[0] = action
        else:
            put_actions(action, self.action_space, self._action_view)
        self._bridge.exchange(self._number, *self._pointers, self.view_address is not None)
        told = self._told.tolist()
        m = self._observed
        info = {"residual": told[m + 3], "unsolved": told[m + 4] != 0, "time": told[m + 5], "mode_changes": int(told[m + 6])}
        return self._told[:m].copy(), told[m], told[m + 1] != 0, told[m + 2] != 0, info

    def baseline(self, observation: Any) -> Any:
        """The action of the task's own law."""
        action = self._bridge.ask("env_baseline", self._number, np.asarray(observation, dtype=float).tolist())
        if isinstance(self.action_space, gymnasium.spaces.Discrete):
            return int(action)
        return np.asarray(action, dtype=float)

    def render(self):
        """[height, width, 3], bytes (render_mode "rgb_array"; needs Pillow to read the picture), otherwise None. The viewer of
        "human" shows each step by itself."""
        if self.render_mode != "rgb_array":
            return None
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "frame.png")
            self._bridge.ask("draw", self._number, path, self._render_options or None)
            return _read_png(path)

    @property
    def world(self) -> Any:
        """The world of the present episode (`sim2d.World`). The next reset may replace it."""
        world = received(self._bridge, self._bridge.ask("env_world", self._number))
        world._env = self  # which closes the Lua state when it is no longer used
        return world

    def record(self, path: str | os.PathLike[str] | None, **options: Any) -> EpisodeRecording | None:
        """Records the episodes from now on in one file; between episodes, from the next reset on. The recording ends with
        `record(None)`, with another `record` or with `close`.

        The suffix selects the format: .html is a page that plays the episodes; .mp4, .s2d and others as in
        docs/reference/recordings.md, with the options described there."""
        given = sent(self._bridge, options, True) or None
        good, message = self._bridge.ask("env_record", self._number, None if path is None else os.fspath(path), given)
        if not good:
            raise Error(message)
        return None if path is None else EpisodeRecording(os.fspath(path))

    def _repr_html_(self) -> str | None:
        return None if self._bridge.closed else _html.of_drawing(lambda path: self._bridge.ask("draw", self._number, path, None))

    def close(self) -> None:
        try:
            if self._bridge.usable:
                self.record(None)
        finally:
            self.view_address = None
            self._bridge.close()

    def __reduce__(self):
        raise TypeError("an environment cannot be pickled; give its name to sim2d.make where it is needed")


def _read_png(path: str) -> np.ndarray:
    try:
        from PIL import Image
    except ImportError:
        raise Error("rendering to an array needs Pillow: pip install pillow") from None
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def make(name: str | os.PathLike[str], **options: Any) -> Env:
    """A task by its name (`sim2d.tasks()`), from a Lua file that returns the result of sim.env, or (code=True) from its text.
    options: code, render_mode, render_options, max_steps as for `Env`."""
    return Env(name, **options)


def registered(name: str, max_steps: int | None = None, **options: Any) -> Env:
    """The entry point for gymnasium.make, which limits episodes itself (max_episode_steps)."""
    return Env(name, max_steps=MOST_STEPS if max_steps is None else max_steps, **options)
