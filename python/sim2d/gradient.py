"""Functions of scripts, with their derivatives."""

from __future__ import annotations

import os
from typing import Any, Sequence

import numpy as np

from ._bridge import Bridge, source_of


class Loss:
    """A function of arrays that a Lua script returns, with its gradient through the worlds in it.

    script: a file's name, or with code=True the text of a program. It returns a function, or a table of functions.
    function: the name of one of those, or of a global function.

    The function takes an argument for each array (sim.array; numbers where a number is given) and returns a number, or a list
    of numbers for `vjp`.

    >>> throw = sim2d.Loss("throw.lua")
    >>> throw(np.array([3.0, 4.0]))
    >>> value, (gradient,) = throw.value_and_grad(np.array([3.0, 4.0]))
    """

    def __init__(self, script: str | os.PathLike[str], *, code: bool = False, function: str | None = None):
        source = source_of(script, code)
        self._bridge = Bridge()
        try:
            self._number = self._bridge.call("loss", source, None, function)
        except BaseException:
            self._bridge.close()
            raise

    def __call__(self, *arrays: Any) -> Any:
        """The function's value: a float, or an array if the function returns a list."""
        value = self._bridge.call("evaluate", self._number, _plain(arrays))
        return np.asarray(value, dtype=float) if isinstance(value, list) else value

    def value_and_grad(self, *arrays: Any, by: Sequence[int] | None = None) -> tuple[float, tuple[Any, ...]]:
        """The function's value, a number, and its gradient with respect to each array, or to those whose numbers (from 0)
        are in `by`."""
        given = _plain(arrays)
        by = _which(by, len(given))
        value, gradients = self._bridge.call("value_and_grad", self._number, given, [i + 1 for i in by])
        return value, _like(gradients, [given[i] for i in by])

    def vjp(self, weights: Any, *arrays: Any, by: Sequence[int] | None = None) -> tuple[Any, ...]:
        """The gradient of weights . value with respect to each array (or to those in `by`). The value is a list of numbers or
        a number."""
        given = _plain(arrays)
        by = _which(by, len(given))
        weights = np.atleast_1d(np.asarray(weights, dtype=float))
        gradients = self._bridge.call("vjp", self._number, given, [i + 1 for i in by], weights)
        return _like(gradients, [given[i] for i in by])

    def close(self) -> None:
        self._bridge.close()

    def __enter__(self) -> "Loss":
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()

    def __reduce__(self):
        raise TypeError("a Loss cannot be pickled; make another one from its script")


def _plain(arrays: tuple[Any, ...]) -> list[Any]:
    if not arrays:
        raise TypeError("at least one array expected: the arguments of the function")
    given = []
    for array in arrays:
        numbers = np.asarray(array)
        if numbers.dtype.kind not in "fiub":
            raise TypeError(f"an array of numbers expected, got {array!r}")
        given.append(float(numbers) if numbers.ndim == 0 else numbers.astype(np.float64))
    return given


def _which(by: Sequence[int] | None, count: int) -> list[int]:
    which = list(range(count)) if by is None else list(by)
    if not which or any(not isinstance(i, int) or not 0 <= i < count for i in which):
        raise ValueError(f"by: numbers of arrays, from 0 to {count - 1}, expected, got {by!r}")
    return which


def _like(gradients: Any, given: list[Any]) -> tuple[Any, ...]:
    return tuple(float(g) if isinstance(p, float) else np.asarray(g, dtype=float).reshape(p.shape)
                 for g, p in zip(gradients, given))
