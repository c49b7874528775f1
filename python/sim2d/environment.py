"""Tasks as Gymnasium environments."""

from __future__ import annotations

import os
import weakref
from typing import Any

import gymnasium
import numpy as np

from ._bridge import Bridge, Error, pointer
from ._tasks import task_source

# After the observation: reward, terminated, truncated, residual, unsolved, time, mode changes (bridge.lua).
_TOLD = 7


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


class Env(gymnasium.Env):
    """A task (`sim.env` of a Lua script) as an environment of Gymnasium; `sim2d.make` makes it.

    `info` of a step: residual (of the complementarity problem), unsolved (did a step miss its tolerance?), time (s), mode_changes
    (contact points that began to stick, to slip or to part).
    reset(options={"randomise": True}) draws the task's parameters, options={"parameters": {...}} sets them.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __init__(self, name: str | os.PathLike[str], *, code: bool = False, render_mode: str | None = None):
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode: None or 'rgb_array' expected, got {render_mode!r}")
        source = task_source(name, code)
        self.render_mode = render_mode
        self._bridge = Bridge()
        self._finalizer = weakref.finalize(self, self._bridge.close)
        try:
            self._number, about = self._bridge.call("env", source, None)
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
        seen, parameters = self._bridge.call("env_reset", self._number, options)
        self._begun = True
        return np.asarray(seen, dtype=float), {"parameters": parameters or {}}

    def step(self, action: Any):
        # fast path for common actions, without NumPy
        if self._most > 0 and isinstance(action, (int, np.integer)) and 0 <= action < self._most:
            self._action[0] = action
        else:
            put_actions(action, self.action_space, self._action_view)
        self._bridge.exchange(self._number, *self._pointers)
        told = self._told.tolist()
        m = self._observed
        info = {"residual": told[m + 3], "unsolved": told[m + 4] != 0, "time": told[m + 5], "mode_changes": int(told[m + 6])}
        return self._told[:m].copy(), told[m], told[m + 1] != 0, told[m + 2] != 0, info

    def baseline(self, observation: Any) -> Any:
        """The action of the task's own law."""
        action = self._bridge.call("env_baseline", self._number, np.asarray(observation, dtype=float).tolist())
        if isinstance(self.action_space, gymnasium.spaces.Discrete):
            return int(action)
        return np.asarray(action, dtype=float)

    def render(self):
        """[height, width, 3], bytes (render_mode "rgb_array"; needs Pillow or matplotlib to read the picture)."""
        if self.render_mode is None:
            return None
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "frame.png")
            self._bridge.call("draw", self._number, path, None)
            return _read_png(path)

    def close(self) -> None:
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


def make(name: str | os.PathLike[str], *, code: bool = False, render_mode: str | None = None) -> Env:
    """A task by its name (`sim2d.tasks()`), from a Lua file that returns the result of sim.env, or (code=True) from its text."""
    return Env(name, code=code, render_mode=render_mode)
