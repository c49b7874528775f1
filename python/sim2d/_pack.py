"""Values as bytes, for the transfer to a Lua state and back: the format of lua/parallel/pack.h."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

NIL, NO, YES, INTEGER, FLOAT, TEXT, TABLE, LIST, MATRIX, VECTOR = range(10)

_word = struct.Struct("<Q")
_integer = struct.Struct("<Bq")
_float = struct.Struct("<Bd")
_two = struct.Struct("<BQQ")
_text = struct.Struct("<BQ")
_DEEPEST = 60  # nesting of lists; the Lua side allows 64


class _Reader:
    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def word(self) -> int:
        (value,) = _word.unpack_from(self.data, self.at)
        self.at += 8
        return value


def pack(value: Any) -> bytes:
    """None, booleans, numbers, texts, lists, dicts and arrays of one or two axes as bytes.

    Raises TypeError for anything else, OverflowError for whole numbers beyond 64 bits."""
    out = bytearray()
    _pack(value, out, 0)
    return bytes(out)


def _pack(value: Any, out: bytearray, level: int) -> None:
    if value is None:
        out.append(NIL)
    elif isinstance(value, (bool, np.bool_)):
        out.append(YES if value else NO)
    elif isinstance(value, (int, np.integer)):
        if not -(2**63) <= int(value) < 2**63:
            raise OverflowError(f"{value} does not fit into a whole number of 64 bits")
        out += _integer.pack(INTEGER, int(value))
    elif isinstance(value, (float, np.floating)):
        out += _float.pack(FLOAT, float(value))
    elif isinstance(value, (str, bytes)):
        text = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
        out += _text.pack(TEXT, len(text))
        out += text
    elif isinstance(value, np.ndarray):
        _pack_array(value, out)
    elif isinstance(value, (list, tuple, dict)):
        if level > _DEEPEST:
            raise ValueError("lists are nested too deeply (does one contain itself?)")
        _pack_items(value, out, level)
    else:
        raise TypeError(
            f"a {type(value).__name__} cannot be sent to Lua; None, booleans, numbers, texts, lists, dicts and arrays can"
        )


def _pack_items(value: Any, out: bytearray, level: int) -> None:
    if isinstance(value, dict):
        out += _two.pack(TABLE, 0, sum(item is not None for item in value.values()))
        for key, item in value.items():
            if item is not None:
                if not isinstance(key, (str, int, float, np.integer, np.floating)) or key != key:
                    raise TypeError(f"{key!r} cannot be a key in Lua; texts and numbers can")
                _pack(key, out, level + 1)
                _pack(item, out, level + 1)
    else:
        out += _two.pack(TABLE, len(value), 0)
        for item in value:
            _pack(item, out, level + 1)


def _pack_array(value: np.ndarray, out: bytearray) -> None:
    if value.dtype.kind not in "fiub" or value.ndim > 2:
        raise TypeError(f"an array of numbers with one or two axes expected, got {value.dtype} with {value.ndim} axes")
    if value.ndim == 0:
        _pack(value.item(), out, 0)
        return
    if value.size == 0:
        raise ValueError("an array without numbers cannot be sent to Lua")
    numbers = np.ascontiguousarray(value, dtype="<f8")
    rows, columns = (1, len(numbers)) if numbers.ndim == 1 else numbers.shape
    out += _two.pack(MATRIX if numbers.ndim == 2 else LIST, rows, columns)
    out += numbers.tobytes()


def unpack(data: bytes) -> Any:
    """Reads the bytes of `pack`, or of Lua. Lists become lists, other tables become dicts, and arrays become NumPy arrays."""
    return _unpack(_Reader(data))


def _unpack(reader: _Reader) -> Any:
    tag = reader.data[reader.at]
    reader.at += 1
    if tag == NIL:
        return None
    if tag in (NO, YES):
        return tag == YES
    if tag in (INTEGER, FLOAT):
        (value,) = struct.unpack_from("<q" if tag == INTEGER else "<d", reader.data, reader.at)
        reader.at += 8
        return value
    if tag == TEXT:
        size = reader.word()
        text = reader.data[reader.at : reader.at + size]
        reader.at += size
        return text.decode("utf-8", "surrogateescape")
    if tag == TABLE:
        return _unpack_table(reader)
    if tag in (LIST, MATRIX):
        shape = (reader.word(), reader.word())
        numbers = np.frombuffer(reader.data, "<f8", shape[0] * shape[1], reader.at).copy()
        reader.at += 8 * numbers.size
        return numbers.reshape(shape) if tag == MATRIX else numbers
    if tag == VECTOR:
        kind = reader.word()
        numbers = np.frombuffer(reader.data, "<f8", 2 if kind == 0 else 3, reader.at).copy()
        reader.at += 8 * numbers.size
        return numbers
    raise ValueError(f"byte {reader.at - 1} of a result is not a known tag: {tag}")


def _unpack_table(reader: _Reader) -> Any:
    listed, keyed = reader.word(), reader.word()
    items = [_unpack(reader) for _ in range(listed)]
    if keyed == 0:
        return items
    table = {i + 1: item for i, item in enumerate(items)}
    for _ in range(keyed):
        key = _unpack(reader)
        table[key] = _unpack(reader)
    return table
