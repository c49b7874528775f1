"""Objects of the Lua library in Python: worlds, bodies, joints, recordings ... Fields are attributes, and methods take their
keys as keyword arguments. Names, checks and messages are those of the Lua library (python/src/bridge.lua)."""

from __future__ import annotations

import keyword
from typing import Any, Callable, Iterator

import numpy as np

from ._bridge import Bridge, Error

_OBJECT, _FUNCTION = "\0object", "\0function"  # as in bridge.lua
_methods: set[tuple[str, str]] = set()  # kinds of objects and names that are known to be methods
_PLAIN = {"World", "Body", "Joint"}  # their methods take lists in place of arrays


class Table(dict):
    """A table of Lua whose entries are also attributes: an event, or a hit of a ray."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the table has no entry '{name}', only {', '.join(map(repr, self))}") from None


class FieldError(Error, AttributeError):
    """A field that an object does not have. The message suggests a similar name."""

    __module__ = "sim2d"


class Object:
    """An object of the library. docs/reference describes its fields and methods.

    Attributes are fields, and they can be assigned. In methods, keyword arguments are the keys of the last table of the Lua
    function. A name that is a keyword of Python ends with an underscore (`from_`). Lists are counted from 0."""

    _bridge: Bridge
    _number: int
    _kind: str
    _held: int  # references that Lua counts for Python

    def __init__(self, bridge: Bridge, number: int, kind: str):
        self._bridge, self._number, self._kind, self._held = bridge, number, kind, 1

    def __del__(self) -> None:
        held = self.__dict__.get("_held", 0)
        if held > 0:  # Lua learns this with the next call, because a finaliser may run within a call
            self._bridge.released.append((self._number, held))

    # ---- Fields and methods ----

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        name = _key(name)
        if (self._kind, name) in _methods:
            return Method(self, name)
        try:
            value = self._bridge.ask("read", self._number, name)
        except Error as error:
            if "has no field" in str(error):
                raise FieldError(str(error), error.traceback) from None
            raise
        if isinstance(value, tuple):  # nil and true: a method
            if self._kind != "table":
                _methods.add((self._kind, name))
            return Method(self, name)
        return received(self._bridge, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") or hasattr(type(self), name):
            object.__setattr__(self, name, value)
        else:
            self._bridge.ask("write", self._number, _key(name), sent(self._bridge, value, self._kind in _PLAIN))

    def _apply(self, name: str | None, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        plain = self._kind in _PLAIN and name is not None
        given = [sent(self._bridge, value, plain) for value in arguments]
        keys = {_key(key): sent(self._bridge, value, plain) for key, value in keywords.items()} or None
        results = self._bridge.ask("apply", self._number, name, given, len(given), keys)
        if isinstance(results, tuple):
            if len(results) == 2 and results[0] is None and isinstance(results[1], str):
                raise Error(results[1])  # nil and a message
            return tuple(received(self._bridge, value) for value in results)
        return received(self._bridge, results)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._apply(None, arguments, keywords)

    # ---- Lists ----

    def __len__(self) -> int:
        return self._bridge.ask("length", self._number)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, key: int | str) -> Any:
        if isinstance(key, (int, np.integer)):
            count = len(self)
            if not -count <= key < count:
                raise IndexError(f"{self._kind}: a number from 0 to {count - 1} expected, got {key}")
            key = int(key) % count + 1
        value = self._bridge.ask("read", self._number, key)
        if value is None:
            raise KeyError(key)
        return received(self._bridge, value)

    def __setitem__(self, key: int | str, value: Any) -> None:
        key = int(key) + 1 if isinstance(key, (int, np.integer)) else key
        self._bridge.ask("write", self._number, key, sent(self._bridge, value))

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            yield self[i]

    def __contains__(self, key: Any) -> bool:
        if isinstance(key, str):
            try:
                return self._bridge.ask("read", self._number, key) is not None
            except Error:
                if self._bridge.closed:
                    raise
                return False
        return any(item is key for item in self)

    # ---- Numbers: gradients call functions with tracked numbers ----

    __array_ufunc__ = None  # NumPy leaves `number * object` to the methods below

    def _operate(self, name: str, a: Any, b: Any = None) -> Any:
        return received(self._bridge, self._bridge.ask("operate", name, sent(self._bridge, a), sent(self._bridge, b)))

    def __add__(self, other: Any) -> Any:
        return self._operate("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._operate("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._operate("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._operate("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._operate("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._operate("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._operate("truediv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._operate("truediv", other, self)

    def __pow__(self, other: Any) -> Any:
        return self._operate("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._operate("pow", other, self)

    def __neg__(self) -> Any:
        return self._operate("neg", self)

    def __lt__(self, other: Any) -> Any:
        return self._operate("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return self._operate("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return self._operate("lt", other, self)

    def __ge__(self, other: Any) -> Any:
        return self._operate("le", other, self)

    # ---- Life ----

    def __enter__(self) -> "Object":
        return self

    def __exit__(self, *exc: Any) -> None:
        self._apply("close", (), {})

    def __repr__(self) -> str:
        if self._bridge.closed:
            return f"<{self._kind}, closed>"
        return f"<{self._bridge.call('text', self._number)}>"

    def __reduce__(self):
        raise TypeError(f"a {self._kind} cannot be pickled; build it again where it is needed")


class Method:
    """A method of an object."""

    def __init__(self, of: Object, name: str):
        self._of, self.__name__ = of, name

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._of._apply(self.__name__, arguments, keywords)

    def __repr__(self) -> str:
        return f"<method {self.__name__} of {self._of!r}>"


def _key(name: str) -> str:
    return name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name


# Classes for kinds of objects that have more than their fields and methods.
classes: dict[str, Callable[[Bridge, int, str], Object]] = {}


def received(bridge: Bridge, value: Any) -> Any:
    """Replaces references to objects in a value of Lua."""
    if isinstance(value, list):
        return [received(bridge, item) for item in value]
    if not isinstance(value, dict):
        return value
    number = value.get(_OBJECT)
    if number is None:
        return Table((key, received(bridge, item)) for key, item in value.items())
    with bridge.lock:
        known = bridge.objects.get(number)
        if known is not None:
            known._held += 1 if known._held > 0 else 0
            return known
        made = bridge.objects[number] = classes.get(value["kind"], Object)(bridge, number, value["kind"])
        return made


def sent(bridge: Bridge, value: Any, plain: bool = False) -> Any:
    """Replaces objects and functions in a value for Lua. plain: arrays become lists."""
    if isinstance(value, Object):
        if value._bridge is not bridge:
            raise Error(f"{value!r} belongs to another world; objects of separate worlds cannot be used together")
        return {_OBJECT: value._number}
    if isinstance(value, (list, tuple)):
        return [sent(bridge, item, plain) for item in value]
    if isinstance(value, dict):
        return {key: sent(bridge, item, plain) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist() if plain or value.ndim == 1 and value.size <= 3 else value
    if callable(value):
        code = getattr(value, "__code__", None)
        file, line = (code.co_filename, max(code.co_firstlineno, 1)) if code is not None else (f"({type(value).__name__})", 1)
        return {_FUNCTION: bridge.number_of(value, _called), "file": file, "line": line}
    return value


def _called(bridge: Bridge, function: Callable[..., Any], arguments: list[Any]) -> tuple[Any, ...]:
    results = function(*(received(bridge, value) for value in arguments))
    return tuple(sent(bridge, value, True) for value in (results if isinstance(results, tuple) else (results,)))
