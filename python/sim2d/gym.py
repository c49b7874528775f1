"""Registers the tasks with Gymnasium: gymnasium.make("sim2d/hopper-v0").

`import sim2d` does this if gymnasium is imported, and otherwise as soon as it is imported; sim2d itself does not import it."""

from __future__ import annotations

import importlib.abc
import re
import sys
from typing import Any

from ._tasks import _FOLDER, tasks

VERSION = 0
_MOST_STEPS = 1000  # default of sim.env


def register() -> None:
    """Registers each task of `sim2d.tasks()` as "sim2d/<task>-v0"."""
    from gymnasium.envs.registration import register as add, registry

    for name in tasks():
        id = f"sim2d/{name}-v{VERSION}"
        if id not in registry:
            most, passed = _limits(name)
            add(id=id, entry_point="sim2d.environment:registered", vector_entry_point="sim2d.vector:registered", max_episode_steps=most,
                reward_threshold=passed, kwargs={"name": name})


def _limits(name: str) -> tuple[int, float | None]:
    """max_steps and passed of a task, read from its text: a Lua state for each task would delay the import."""
    text = re.sub(r"--.*", "", (_FOLDER / f"{name}.lua").read_text(encoding="utf-8"))
    most = re.search(r"\bmax_steps = (\d+)", text)
    passed = re.search(r"\bpassed = (-?[\d.]+)", text)
    return int(most[1]) if most else _MOST_STEPS, float(passed[1]) if passed else None


class _Finder(importlib.abc.MetaPathFinder):
    """Registers the tasks after the first import of gymnasium."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != "gymnasium":
            return None
        others = [finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]
        spec = next((spec for finder in others if (spec := finder.find_spec(name, path, target)) is not None), None)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            run(module)
            if self in sys.meta_path:  # a search for the module alone does not import it
                sys.meta_path.remove(self)
            register()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def register_when_imported() -> None:
    if "gymnasium" in sys.modules:
        register()
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
