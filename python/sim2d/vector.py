"""Many environments of one task, stepped in threads."""

from __future__ import annotations

import os
import weakref
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from ._bridge import Bridge, pointer
from .environment import MOST_STEPS, check_steps, entropy_seed, put_actions, spaces_of
from ._tasks import task_source

_MODES = {
    AutoresetMode.NEXT_STEP: "next_step",
    AutoresetMode.SAME_STEP: "same_step",
    AutoresetMode.DISABLED: "disabled",
}


class VectorEnv(gymnasium.vector.VectorEnv):
    """`num_envs` environments in one Lua state; their worlds are stepped in `threads` threads. `sim2d.make_vec` makes it.

    The engine reads the actions from an array of NumPy and writes its results to one. With copy=True, `reset` and `step`
    return copies of the results. With copy=False they return the arrays that the engine writes: each call returns the
    same arrays, with new values."""

    def __init__(self, name: str | os.PathLike[str], num_envs: int, *, code: bool = False, threads: int | None = None,
                 autoreset: str | AutoresetMode = AutoresetMode.NEXT_STEP, randomise: bool = False, copy: bool = True,
                 max_steps: int | None = None):
        if isinstance(num_envs, bool) or int(num_envs) != num_envs or num_envs < 1:
            raise ValueError(f"num_envs: a number of at least 1 expected, got {num_envs!r}")
        mode = _mode(autoreset)
        source = task_source(name, code)
        self._bridge = Bridge()
        self._finalizer = weakref.finalize(self, self._bridge.close)
        options = {"count": int(num_envs), "threads": threads, "autoreset": _MODES[mode], "randomise": randomise}
        try:
            self._number, about = self._bridge.ask("vector", source, None, options, check_steps(max_steps))
        except BaseException:
            self._bridge.close()
            raise
        self.num_envs = int(num_envs)
        self.name: str = about["name"]
        self.single_observation_space, self.single_action_space = spaces_of(about)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, self.num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, self.num_envs)
        self.metadata = {"autoreset_mode": mode}
        self.autoreset_mode, self.copy = mode, copy
        self._begun = np.zeros(self.num_envs, dtype=bool)
        self._buffers()

    def _buffers(self) -> None:
        n, m = self.num_envs, self.single_observation_space.shape[0]
        self._action = np.zeros((n, *self.single_action_space.shape))
        self._told = np.zeros(2 * n * m + 5 * n)
        # Views: observations, rewards, terminated, truncated, final observations, unsolved steps, changes of mode.
        ends = np.cumsum([n * m, n, n, n, n * m, n, n])
        parts = np.split(self._told, ends[:-1])
        self._seen, self._rewards = parts[0].reshape(n, m), parts[1]
        self._terminated, self._truncated, self._final = parts[2], parts[3], parts[4].reshape(n, m)
        self._unsolved, self._mode_changes = parts[5], parts[6]
        self._ends = np.zeros((2, n), dtype=bool)  # terminated, truncated
        self._both = self._told[ends[1] : ends[3]].reshape(2, n)
        self._stepped = np.ones(n, dtype=bool)
        self._stepped.flags.writeable = False  # it is in the info of every step
        self._pointers = (pointer(self._action), self._action.size, pointer(self._told), self._told.size)

    def reset(self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None):
        """options: {"reset_mask": bools} resets only the true ones (autoreset "disabled"). Environment i begins with seed + i,
        or with seed[i]. Without a seed, its first episode takes a seed from entropy, and later episodes continue
        with the same generator."""
        n = self.num_envs
        one = isinstance(seed, (int, np.integer))
        super().reset(seed=int(seed) if one else None)
        given: dict[str, Any] = {"seed": int(seed)} if one else {}
        if not one and seed is not None and len(seed) != n:
            raise ValueError(f"{n} seeds expected, got {len(seed)}")
        seeds = {} if one or seed is None else {i + 1: int(s) for i, s in enumerate(seed) if s is not None}
        mask = (options or {}).get("reset_mask")
        which = np.ones(n, dtype=bool)
        if mask is not None:
            which = np.asarray(mask)
            if which.shape != (n,) or which.dtype != bool:
                raise ValueError(f"reset_mask: {n} bools expected, got {mask!r}")
            given["mask"] = which.tolist()
        for i in np.flatnonzero(which & ~self._begun & (not one)).tolist():
            if i + 1 not in seeds:
                seeds[i + 1] = entropy_seed(self.np_random)
        if seeds:
            given["seeds"] = seeds
        seen = self._bridge.ask("vector_reset", self._number, given)
        self._begun |= which
        self._seen[:] = seen.reshape(self._seen.shape)
        return self._seen.copy() if self.copy else self._seen, {}

    def step(self, actions: Any):
        put_actions(actions, self.action_space, self._action)
        self._bridge.exchange(self._number, *self._pointers)
        ends = np.not_equal(self._both, 0, out=None if self.copy else self._ends)
        terminated, truncated = ends
        info: dict[str, Any] = {
            "unsolved": self._unsolved != 0, "_unsolved": self._stepped,
            "mode_changes": self._mode_changes.astype(np.int64), "_mode_changes": self._stepped,
        }
        if self.autoreset_mode == AutoresetMode.SAME_STEP and ends.any():
            over = terminated | truncated
            final = np.full(self.num_envs, None, dtype=object)
            for i in np.flatnonzero(over):
                final[i] = self._final[i].copy()
            info.update(final_obs=final, _final_obs=over, final_info={}, _final_info=over.copy())
        if self.copy:
            return self._seen.copy(), self._rewards.copy(), terminated, truncated, info
        return self._seen, self._rewards, terminated, truncated, info

    def close_extras(self, **kwargs: Any) -> None:
        self._bridge.close()

    def __reduce__(self):
        raise TypeError("environments cannot be pickled; give their name to sim2d.make_vec where they are needed")


def _mode(autoreset: str | AutoresetMode) -> AutoresetMode:
    for mode, name in _MODES.items():
        if autoreset == mode or autoreset == name:
            return mode
    raise ValueError(f"autoreset: one of {', '.join(_MODES.values())} expected, got {autoreset!r}")


def make_vec(name: str | os.PathLike[str], num_envs: int, **options: Any) -> VectorEnv:
    """`num_envs` environments of a task. options: threads (default: the cores), autoreset ("next_step", "same_step",
    "disabled"), randomise (draw parameters at each reset), copy, max_steps (of an episode; default: the task's), code."""
    return VectorEnv(name, num_envs, **options)


def registered(name: str, num_envs: int, max_episode_steps: int | None = None, render_mode: str | None = None,
               **options: Any) -> VectorEnv:
    """The entry point for gymnasium.make_vec, which passes the limit of the registered task."""
    if render_mode is not None:
        raise ValueError(f"render_mode: a vector has no pictures; for {render_mode!r} use vectorization_mode='sync'")
    endless = max_episode_steps == -1  # as in gymnasium.make
    options.setdefault("max_steps", MOST_STEPS if endless else max_episode_steps)
    return VectorEnv(name, num_envs, **options)
