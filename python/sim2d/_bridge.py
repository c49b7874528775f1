"""The library, and Lua states in it. States share no data."""

from __future__ import annotations

import collections
import os
import pathlib
import signal
import struct
import sys
import threading
import weakref
from typing import Any, Callable

import cffi

from ._pack import pack, unpack

_HERE = pathlib.Path(__file__).parent
_TRACEBACK = "\nstack traceback:\n"
_LIBRARIES = {__package__, "gymnasium"}  # messages have the line of the code that calls these packages


class Error(RuntimeError):
    """An error of a script or of the engine. `str(error)` is its message, with file and line; `traceback` has the lines of
    the script that led to the error."""

    __module__ = "sim2d"  # shown in front of the message
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
_bridges: weakref.WeakSet[Bridge] = weakref.WeakSet()
_main_thread = threading.main_thread().ident


def _forked() -> None:
    global _forks, _main_thread
    _forks += 1
    _main_thread = threading.get_ident()
    for bridge in _bridges:
        bridge.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)

_FEWEST = 64  # functions of Python that a state keeps before it looks for unused ones


class Bridge:
    """One Lua state. Calls from several threads take turns; other threads of Python run meanwhile."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a function of Python that a script calls may call the state again
        self._forks = _forks
        self._state = ffi.gc(_library.s2_bridge_open(), _library.s2_bridge_close)
        if self._state == ffi.NULL:
            raise MemoryError("no memory for a Lua state")
        self._size = ffi.new("size_t *")
        self.objects: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()  # see _objects.py
        # Objects that Python no longer uses, for the next call: finalisers run at any time, also within a call.
        self.released: collections.deque[tuple[int, int]] = collections.deque()
        self._functions: dict[int, Callable[..., Any]] = {}
        self._numbers: dict[int, int] = {}  # by id
        self._sendings: dict[int, int] = {}  # how often Lua was sent each function
        self._next, self._most = 0, _FEWEST
        self._callback: Any = None
        self._raised: tuple[str, BaseException] | None = None  # by a function of Python within the present call
        _bridges.add(self)

    def forked(self) -> None:
        """In the child of a fork: closing the state here could wait for threads of the parent, or write to its files."""
        self.lock = threading.RLock()  # a thread of the parent may hold the other one
        if self._state is not None:
            ffi.gc(self._state, None)

    @property
    def closed(self) -> bool:
        return self._state is None

    @property
    def usable(self) -> bool:
        return self._state is not None and self._forks == _forks

    def close(self) -> None:
        with self.lock:
            if self.usable and _library.s2_bridge_depth(self._state) > 0:
                raise Error("a world cannot be closed by a function that it calls; close it after the step")
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

    def _fail(self, state: Any) -> BaseException:
        raised, self._raised = self._raised, None
        text = self._result(state).decode("utf-8", "replace")
        if raised is not None and raised[0] in text:  # otherwise the script has caught it
            return raised[1]
        message, _, traceback = text.partition(_TRACEBACK)
        if _library.s2_bridge_interrupted(state) and message.endswith("interrupted"):
            return KeyboardInterrupt()
        error = Error(message, traceback)
        error.__context__ = raised[1] if raised is not None else None
        return error

    def _run(self, state: Any, name: str, arguments: tuple[Any, ...]) -> dict[Any, Any]:
        data = _list(arguments)
        if _library.s2_bridge_call(state, name.encode(), data, len(data), _catches()) != 0:
            raise self._fail(state)
        return unpack(self._result(state))

    def call(self, name: str, *arguments: Any) -> Any:
        """Calls a function of bridge.lua; returns None, its result, or a tuple of several."""
        with self.lock:
            state = self._alive()
            if self._raised is not None and _library.s2_bridge_depth(state) == 0:
                self._raised = None  # the script of an earlier call has caught it
            if self.released:
                self._run(state, "release", (self._released(),))
            results = self._run(state, name, arguments)
        count = results.pop("n")
        values = tuple(results.get(i + 1) for i in range(count))
        return values if count > 1 else values[0] if count == 1 else None

    def _released(self) -> list[int]:
        """Number and references of each object."""
        numbers: list[int] = []
        while self.released:
            numbers += self.released.popleft()
        return numbers

    def ask(self, name: str, *arguments: Any) -> Any:
        """Like `call`, on behalf of the line of Python that uses the package: messages of the library contain this line."""
        frame = sys._getframe(1)
        while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _LIBRARIES:
            frame = frame.f_back
        return self.call("from", frame.f_code.co_filename, max(frame.f_lineno or 1, 1), name, *arguments)

    def exchange(self, number: int, given: Any, in_count: int, told: Any, out_count: int, catches: bool = False) -> None:
        """Takes pointers to doubles (cffi): numbers in, numbers out. catches: Ctrl-C ends a call that waits."""
        with self.lock:
            state = self._alive()
            if self._raised is not None and _library.s2_bridge_depth(state) == 0:
                self._raised = None
            if _library.s2_bridge_exchange(state, number, given, in_count, told, out_count, catches and _catches()) != 0:
                raise self._fail(state)

    # ---- Functions of Python ----

    def number_of(self, function: Callable[..., Any], call: Callable[[Bridge, Callable[..., Any], list[Any]], tuple[Any, ...]]) -> int:
        """The number of a function that scripts can call. `call` converts its arguments and results."""
        with self.lock:
            if self._callback is None:
                self._callback = ffi.callback("int(long long, const unsigned char *, size_t)", _caller(weakref.ref(self), call),
                                              error=1, onerror=_not_caught(weakref.ref(self)))
                _library.s2_bridge_callback(self._alive(), self._callback)
            number = self._numbers.get(id(function))
            if number is None:
                if len(self._functions) >= self._most:
                    self._forget_functions()
                self._next += 1
                number = self._numbers[id(function)] = self._next
                self._functions[number] = function
                self._sendings[number] = 0
            self._sendings[number] += 1
            return number

    def _forget_functions(self) -> None:
        """Removes the functions that Lua no longer uses. Those that are on their way to Lua have more sendings than it counts."""
        state = self._alive()
        list_ = self._run(state, "unused", ())[1]
        unused = [number for number, times in zip(list_[::2], list_[1::2]) if self._sendings.get(number) == times]
        for number in unused:
            del self._numbers[id(self._functions.pop(number))], self._sendings[number]
        self._run(state, "forget", (unused,))
        self._most = max(_FEWEST, 2 * len(self._functions))

    def __reduce__(self):
        raise TypeError("a Lua state cannot be pickled; make another one where it is needed")


def _catches() -> bool:
    """Should Ctrl-C end a call? Only in the main thread, which handles signals, and if nobody else handles them."""
    return threading.get_ident() == _main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _caller(owner: weakref.ref[Bridge], call: Callable[..., tuple[Any, ...]]) -> Callable[[int, Any, int], int]:
    """The function that C calls. It does not keep the bridge alive."""

    def called(number: int, data: Any, size: int) -> int:
        bridge = owner()
        if bridge is None or bridge._state is None:
            return 1
        try:
            given = unpack(ffi.buffer(data, size)[:])
            arguments = [given.get(i + 1) for i in range(given["n"])]
            answer, failed = _list(call(bridge, bridge._functions[number], arguments)), 0
        except BaseException as error:
            text = _text(error)
            bridge._raised = (text, error)
            answer, failed = text.encode("utf-8", "replace"), 1
        _library.s2_bridge_answer(bridge._state, answer, len(answer))
        return failed

    return called


def _not_caught(owner: weakref.ref[Bridge]) -> Callable[..., None]:
    """The function that cffi calls after an error in `called` itself, for example Ctrl-C in its first line."""

    def failed(exception: type[BaseException], value: BaseException | None, traceback: Any) -> None:
        bridge = owner()
        if bridge is not None and bridge._state is not None:
            error = value if value is not None else exception()
            bridge._raised = (_text(error), error)
            answer = _text(error).encode("utf-8", "replace")
            _library.s2_bridge_answer(bridge._state, answer, len(answer))

    return failed


def _text(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}".rstrip()
    except Exception:
        return type(error).__name__


_HEAD = struct.Struct("<BQQ")
_INTEGER = struct.Struct("<Bq")
_COUNT = pack("n")


def _list(values: tuple[Any, ...]) -> bytes:
    """A list as bytes. The key `n` is its length, because it may contain None."""
    return _HEAD.pack(6, len(values), 1) + b"".join(map(pack, values)) + _COUNT + _INTEGER.pack(3, len(values))


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
