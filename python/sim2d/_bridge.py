"""The library, and Lua states in it. States share no data."""

from __future__ import annotations

import os
import pathlib
import struct
import sys
import threading
from typing import Any

import cffi

from ._pack import pack, unpack

_HERE = pathlib.Path(__file__).parent
_TRACEBACK = "\nstack traceback:\n"


class Error(RuntimeError):
    """An error of a script or of the engine. `str(error)` is its message, with file and line; `traceback` has the lines of
    the script that led to the error."""

    traceback: str

    def __init__(self, message: str, traceback: str = ""):
        super().__init__(message)
        self.traceback = traceback

    def __reduce__(self):
        return (type(self), (str(self), self.traceback))


def _open():
    ffi = cffi.FFI()
    ffi.cdef((_HERE / "bridge.h").read_text())
    names = ["libsim2d_python.dylib" if sys.platform == "darwin" else "libsim2d_python.so"]
    # sim2d does not use the threads of OpenBLAS. They start with the library and first wait in a busy loop.
    variable = "OPENBLAS_NUM_THREADS"
    unset = variable not in os.environ
    if unset:
        os.environ[variable] = "1"
    try:
        return ffi, ffi.dlopen(str(_HERE / names[0]))
    finally:
        if unset:
            del os.environ[variable]


ffi, _library = _open()

version: str = ffi.string(_library.s2_bridge_version()).decode()

# A forked process does not have the threads of its parent, and the fork may have interrupted a call of a state.
_forks = 0


def _forked() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Bridge:
    """One Lua state. Calls from several threads take turns; other threads of Python run meanwhile."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forks = _forks
        self._state = ffi.gc(_library.s2_bridge_open(), _library.s2_bridge_close)
        if self._state == ffi.NULL:
            raise MemoryError("no memory for a Lua state")
        self._size = ffi.new("size_t *")

    @property
    def closed(self) -> bool:
        return self._state is None

    def close(self) -> None:
        with self._lock:
            state, self._state = self._state, None
            if state is not None and self._forks == _forks:
                ffi.release(state)

    def _alive(self) -> Any:
        if self._state is None:
            raise Error("the Lua state is closed")
        if self._forks != _forks:
            raise Error("it was made before this process was forked: make another one here, or start processes with 'spawn'")
        return self._state

    def _result(self, state: Any) -> bytes:
        data = _library.s2_bridge_result(state, self._size)
        return ffi.buffer(data, self._size[0])[:] if self._size[0] > 0 else b""

    def _fail(self, state: Any) -> Error:
        text = self._result(state).decode("utf-8", "replace")
        message, _, traceback = text.partition(_TRACEBACK)
        return Error(message, traceback)

    def call(self, name: str, *arguments: Any) -> Any:
        """Calls a function of bridge.lua; returns None, its result, or a tuple of several."""
        items = b"".join(map(pack, arguments))
        data = _HEAD.pack(6, len(arguments), 1) + items + _COUNT + _INTEGER.pack(3, len(arguments))
        with self._lock:
            state = self._alive()
            if _library.s2_bridge_call(state, name.encode(), data, len(data)) != 0:
                raise self._fail(state)
            results = unpack(self._result(state))
        count = results.pop("n")
        values = tuple(results.get(i + 1) for i in range(count))
        return values if count > 1 else values[0] if count == 1 else None

    def exchange(self, number: int, given: Any, in_count: int, told: Any, out_count: int) -> None:
        """Takes pointers to doubles (cffi): numbers in, numbers out."""
        with self._lock:
            state = self._alive()
            if _library.s2_bridge_exchange(state, number, given, in_count, told, out_count) != 0:
                raise self._fail(state)

    def __reduce__(self):
        raise TypeError("a Lua state cannot be pickled; make another one where it is needed")


_HEAD = struct.Struct("<BQQ")
_INTEGER = struct.Struct("<Bq")
_COUNT = pack("n")


def source_of(script: str | os.PathLike[str], code: bool = False) -> str:
    """The argument of bridge.lua's load_source: "@file", or a program's text."""
    if code:
        return str(script)
    path = pathlib.Path(script)
    if not path.is_file():
        raise FileNotFoundError(f"there is no script '{path}'")
    return "@" + str(path)


def pointer(array: Any) -> Any:
    """A pointer to the doubles of a contiguous array, which has to exist as long as the pointer is used."""
    return ffi.cast("double *", array.ctypes.data)
