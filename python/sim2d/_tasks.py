"""The tasks that come with the package."""

from __future__ import annotations

import os
import pathlib

from ._bridge import source_of

_FOLDER = pathlib.Path(__file__).parent / "tasks"


def tasks() -> list[str]:
    """The names of the tasks in the package, for `make` and `make_vec`."""
    return sorted(path.stem for path in _FOLDER.glob("*.lua"))


def task_source(name: str | os.PathLike[str], code: bool) -> str:
    """The source for a task's name, a file, or (code) a program's text."""
    if not code and isinstance(name, str) and name in tasks():
        return source_of(_FOLDER / f"{name}.lua")
    if not code and not pathlib.Path(name).is_file():
        raise FileNotFoundError(f"there is no task or file '{name}'; the tasks are {', '.join(tasks())}")
    return source_of(name, code)
