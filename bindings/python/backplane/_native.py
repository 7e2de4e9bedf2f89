"""Runs as one call of the interpreter's: native/run.c, whose structs are those here. It is found beside the library. Where it is not there, or the
interpreter is no CPython with a lock of its own, runs are made by calls.py alone."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from ctypes import POINTER, Structure, c_int64, c_uint32, c_uint64, c_void_p, py_object
from pathlib import Path

import numpy as np

from . import _library as c

_MOST = 16  # operands


class _Operand(Structure):
    _fields_ = [("name", py_object), ("dtype", py_object), ("address", c_void_p), ("dims", c_int64 * c.MAX_RANK), ("rank", c_uint32),
                ("reserved", c_uint32)]


class _Result(Structure):
    _fields_ = [("name", py_object), ("arguments", py_object), ("address", c_void_p)]


class _Call(Structure):
    _fields_ = [("array_type", py_object), ("dict_type", py_object), ("none", py_object), ("empty", py_object), ("dtype_word", py_object),
                ("operands", c_void_p), ("results", c_void_p), ("operand_count", c_uint32), ("result_count", c_uint32),
                ("prepare", c_void_p), ("run", c_void_p), ("submit", c_void_p), ("session", c_void_p), ("given", c_void_p),
                ("wanted", c_void_p), ("error", c_void_p), ("prepared", c_void_p), ("expected", ctypes.c_char_p),
                ("prepared_bytes", c_uint64), ("prepared_count", c_uint32), ("reserved", c_uint32)]


class _Method(Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", c_void_p), ("flags", ctypes.c_int), ("text", ctypes.c_char_p)]


def _method() -> _Method | None:
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    path = Path(c._library._name).parent / "libbackplane_python.so"
    if sys.implementation.name != "cpython" or not locked or not path.is_file():
        return None
    try:
        function = ctypes.CDLL(str(path)).backplane_python_run
    except (OSError, AttributeError):
        return None
    takes_one = 8  # METH_O
    return _Method(b"run", ctypes.cast(function, c_void_p), takes_one, None)


_run = _method()
if _run is not None:
    _new = ctypes.pythonapi.PyCFunction_NewEx
    _new.restype, _new.argtypes = py_object, [POINTER(_Method), py_object, c_void_p]


def _address(function: str) -> c_void_p:
    return ctypes.cast(getattr(c._library, "backplane_" + function), c_void_p)


Slot = tuple  # name, shape, dtype and word of an operand


class NativeRun:
    """What one needs, and keeps what that points to: `call` takes a dict of arrays, and gives new ones by name; None, and nothing was done, where an array
    is not as said; a whole number, the code of what failed."""

    __slots__ = ("_kept", "call")

    def __init__(self, session: int, given, wanted, inputs: Sequence[Slot], outputs: Sequence[Slot], error, prepared=None) -> None:
        operands = (_Operand * max(len(inputs), 1))(*[
            _Operand(name, kind, ctypes.addressof(given.words) + word * ctypes.sizeof(c_void_p), (c_int64 * c.MAX_RANK)(*shape), len(shape), 0)
            for name, shape, kind, word in inputs])
        arguments = [(shape, kind) for _, shape, kind, _ in outputs]
        results = (_Result * max(len(outputs), 1))(*[
            _Result(name, made, ctypes.addressof(wanted.words) + word * ctypes.sizeof(c_void_p))
            for (name, _, _, word), made in zip(outputs, arguments)])
        made, expected, count = prepared or (None, None, 0)
        record = _Call(np.ndarray, dict, None, np.empty, "dtype", ctypes.addressof(operands), ctypes.addressof(results), len(inputs), len(outputs))
        if prepared:
            record.prepare, record.run = _address("model_session_prepare"), _address("model_session_run_into")
            record.prepared, record.expected, record.prepared_bytes = ctypes.addressof(made), expected, len(expected)
            record.prepared_count = count
        else:
            record.submit = _address("session_submit")
        record.session, record.error = session, ctypes.addressof(error.error)
        record.given, record.wanted = ctypes.addressof(given.records), ctypes.addressof(wanted.records)
        self._kept = operands, results, arguments, record, given, wanted, inputs, outputs, made, expected, error
        self.call: Callable = _new(_run, ctypes.addressof(record), None)


def native_run(*arguments, **more) -> NativeRun | None:
    """None: there is no such thing here, or it is for fewer operands."""
    return NativeRun(*arguments, **more) if _run is not None and len(arguments[3]) <= _MOST else None
