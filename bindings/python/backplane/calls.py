"""Runs that cost little: calls whose arguments stand ready, so that only the addresses of arrays are written before each."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from . import _library as c
from ._native import native_run
from .arrays import numpy_of_value

_WORD = ctypes.sizeof(ctypes.c_void_p)
_byte = ctypes.c_char.from_buffer  # of what can be written and is dense alone: of anything else it raises
_address = ctypes.addressof
_empty, _array = np.empty, np.ndarray


def address(array: np.ndarray) -> int:
    """Where its elements are."""
    try:
        return _address(_byte(array))
    except (TypeError, ValueError):  # one that is not to be written, of no element, not dense
        return array.ctypes.data


class Records:
    """Structures in a row (Value, ModelInput) and, as words, the fields in which addresses are."""

    __slots__ = ("count", "data", "records", "reference", "words")

    def __init__(self, record: type, filled: Sequence[ctypes.Structure]) -> None:
        self.records = (record * max(len(filled), 1))(*filled)
        self.words = (ctypes.c_size_t * (ctypes.sizeof(self.records) // _WORD)).from_buffer(self.records)
        step, first = ctypes.sizeof(record) // _WORD, record.data.offset // _WORD
        self.data = tuple(first + i * step for i in range(len(filled)))  # the word of each that is its address
        self.count, self.reference = ctypes.c_uint32(len(filled)), ctypes.byref(self.records[0])


Slot = tuple  # name, shape and dtype of an operand


def _records_of(slots: Sequence[Slot]) -> Records:
    """Records of backplane_value that want their addresses."""
    return Records(c.Value, [c.Value(c.utf8(name), None, kind.itemsize * math.prod(shape), None) for name, shape, kind in slots])


class ReadyRun:
    """A run from numpy's own dense arrays into new ones, for one call at a time."""

    __slots__ = ("_call", "_read", "_records", "_written", "error", "name", "native")

    def __init__(self, session: int, inputs: Sequence[Slot], outputs: Sequence[Slot]) -> None:
        given, wanted = _records_of(inputs), _records_of(outputs)
        self._records = given, wanted
        self._read = [(*slot, word) for slot, word in zip(inputs, given.data)]
        self._written = [(*slot, word) for slot, word in zip(outputs, wanted.data)]
        self.name = "session_submit"
        self._call, self.error = c.ready(self.name, ctypes.c_void_p(session), given.reference, given.count, wanted.reference, wanted.count,
                                         None, None)
        self.native = native_run(session, given, wanted, self._read, self._written, self.error)

    def __call__(self, inputs: Mapping[str, object]) -> dict[str, np.ndarray] | None:
        """The new arrays by name; None, and nothing was done, where an array is not as said above."""
        if len(inputs) != len(self._read):
            return None
        held, results = [], {}  # others may take arrays out of `inputs` meanwhile
        given, wanted = self._records[0].words, self._records[1].words
        try:
            for name, shape, kind, word in self._read:
                array = inputs[name]
                if type(array) is not _array or array.shape != shape or array.dtype != kind:
                    return None
                view = _byte(array)
                held.append(view)
                given[word] = _address(view)
            for name, shape, kind, word in self._written:
                results[name] = array = _empty(shape, kind)
                wanted[word] = _address(_byte(array))
        except (KeyError, TypeError, ValueError):
            return None
        code = self._call()
        if code != 0:
            raise self.error.failure(self.name, code)
        return results


class ReadyModelRun:
    """A run of an ONNX file from numpy's own dense arrays into new ones, for one call at a time. What depends on sizes is written anew only
    where they are others than in the last call."""

    __slots__ = ("_call", "_dims", "_given", "_made", "_outputs", "_prepare", "_read", "_refused", "_said", "_session", "_shapes", "_wanted",
                 "_written", "error", "name", "native")

    def __init__(self, session: int, inputs: Sequence[tuple[str, np.dtype, int]], outputs: int) -> None:
        self._session, self.name, self.native = ctypes.c_void_p(session), "model_session_run_into", None
        self._dims = [(ctypes.c_int64 * c.MAX_RANK)() for _ in inputs]
        self._given = Records(c.ModelInput, [c.ModelInput(c.utf8(name), None, 0, dims, 0, number, None)
                                             for (name, _, number), dims in zip(inputs, self._dims)])
        self._read = [(i, name, kind, word) for i, ((name, kind, _), word) in enumerate(zip(inputs, self._given.data))]
        self._shapes: list[tuple[int, ...] | None] = [None] * len(inputs)
        self._made, self._said, self._outputs = c.records_of(c.ModelValue, outputs), b"", outputs
        self._prepare, self._refused = c.ready("model_session_prepare", self._session, self._given.reference, self._given.count,
                                               ctypes.byref(self._made), ctypes.c_uint32(outputs), ctypes.byref(ctypes.c_uint32()))

    def __call__(self, inputs: Mapping[str, object]) -> dict[str, np.ndarray] | None:
        """The new arrays by name; None, and nothing was done, where an array is not as said above."""
        if len(inputs) != len(self._read):
            return None
        held, given, shapes, known = [], self._given.words, self._shapes, True
        try:
            for i, name, kind, word in self._read:
                array = inputs[name]
                if type(array) is not _array or array.dtype != kind:
                    return None
                view = _byte(array)
                held.append(view)
                given[word] = _address(view)
                if array.shape != shapes[i]:
                    self._resize(i, array)
                    known = False
        except (KeyError, TypeError, ValueError):
            return None
        code = self._prepare()
        if code != 0:
            raise self._refused.failure("model_session_prepare", code)
        if bytes(self._made) != self._said:
            self._take_outputs()
        elif known and self.native is None:  # the same sizes again
            read = [(name, shape, kind, word) for (_, name, kind, word), shape in zip(self._read, shapes)]
            self.native = native_run(self._session.value, self._given, self._wanted, read, self._written, self.error,
                                     prepared=(self._made, self._said, self._outputs))
        results = {}
        for name, shape, kind, word in self._written:
            results[name] = array = _empty(shape, kind)
            self._wanted.words[word] = address(array)
        code = self._call()
        if code != 0:
            raise self.error.failure(self.name, code)
        return results

    def _resize(self, i: int, array: np.ndarray) -> None:
        self._shapes[i], self.native = None, None
        self._dims[i][:array.ndim] = array.shape  # ValueError: more axes than there can be
        record = self._given.records[i]
        record.rank, record.bytes = array.ndim, array.nbytes
        self._shapes[i] = array.shape

    def _take_outputs(self) -> None:
        """The results are of other shapes than those of the last call."""
        self.native = None
        slots = [(record.name.decode(), tuple(record.dims[:record.rank]), numpy_of_value(record)) for record in self._made[:self._outputs]]
        self._wanted = _records_of(slots)
        self._written = [(*slot, word) for slot, word in zip(slots, self._wanted.data)]
        self._call, self.error = c.ready(self.name, self._session, self._given.reference, self._given.count,
                                          self._wanted.reference, self._wanted.count, None)
        self._said = bytes(self._made)


class NotReady:
    """Of a session whose runs nothing can be prepared for."""

    native = None

    def __call__(self, inputs: Mapping[str, object]) -> None:
        return None


class Spare(list):
    """What stands ready for calls: a thing for each of those that go on at once."""

    def run(self, make: Callable[[], Callable], inputs: Mapping[str, object]) -> dict[str, np.ndarray] | None:
        """By one of them that no other call uses, or one more."""
        try:
            one = self.pop()
        except IndexError:
            one = make()
        try:
            if one.native is not None:
                results = one.native.call(inputs)
                if type(results) is dict:
                    return results
                if results is not None:
                    raise one.error.failure(one.name, results)
            return one(inputs)
        finally:
            self.append(one)
