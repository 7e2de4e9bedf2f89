"""Graphs built op by op, and sessions that run them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Union

import numpy as np

from . import _library as c
from .arrays import dense, dims_of, id_of, name_of, numpy_of
from .calls import ReadyRun, Records, Spare, address
from .devices import Cancel, Device, cancel_of

_INPUT, _WEIGHT, _STATE = 1, 3, 5
_NO_TENSOR = 0xFFFFFFFF
MATHS = ("default", "strict", "relaxed")


class Value:
    """A tensor of a graph: what Graph's functions return and take."""

    def __init__(self, graph: Graph, number: int) -> None:
        self.graph, self.number = graph, number

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents, outermost first; () of a single element."""
        dims, rank = (ctypes.c_int64 * c.MAX_RANK)(), ctypes.c_uint32()
        c.call("graph_shape", self.graph.pointer, self.number, dims, ctypes.byref(rank))
        return tuple(dims[:rank.value])

    @property
    def dtype(self) -> str:
        """Its element type: "f32", "i64", "q8_0"."""
        number = ctypes.c_uint32()
        c.call("graph_dtype", self.graph.pointer, self.number, ctypes.byref(number))
        return name_of(number.value)


class Graph(c.Handle):
    """A list of ops over tensors of fixed shape. docs/ops.md says what each op takes and means. One thread at a time.

        graph = Graph()
        x = graph.input("x", (4, 64))
        w = graph.weight("w", (64, 32))
        graph.output(graph.add("Relu", graph.add("MatMul", x, w)), "y")
    """

    kind = "graph"

    def __init__(self) -> None:
        super().__init__(c.made("graph_create"))
        self.inputs: dict[str, Value] = {}
        self.outputs: dict[str, Value] = {}

    def _tensor(self, role: int, name: str, shape: Sequence[int], dtype: object) -> Value:
        number = ctypes.c_uint32()
        c.call("graph_tensor", self.pointer, role, c.utf8(name), id_of(dtype), dims_of(shape), len(shape), ctypes.byref(number))
        return Value(self, number.value)

    def input(self, name: str, shape: Sequence[int], dtype: object = "f32") -> Value:
        """What every run is given, by this name."""
        self.inputs[name] = self._tensor(_INPUT, name, shape, dtype)
        return self.inputs[name]

    def weight(self, name: str, shape: Sequence[int], dtype: object = "f32") -> Value:
        """What a Session is given once, by this name."""
        return self._tensor(_WEIGHT, name, shape, dtype)

    def state(self, name: str, shape: Sequence[int], dtype: object = "f32") -> Value:
        """What stays on the device from run to run, zero before the first; see update()."""
        return self._tensor(_STATE, name, shape, dtype)

    def constant(self, name: str, array: object) -> Value:
        """A small array that is part of the graph; copied."""
        given = np.asarray(array, order="C")
        number = ctypes.c_uint32()
        c.call("graph_constant", self.pointer, c.utf8(name), id_of(given.dtype), dims_of(given.shape), given.ndim,
               given.ctypes.data, given.nbytes, ctypes.byref(number))
        return Value(self, number.value)

    def add(self, op: str, *inputs: Value | None, **attributes: object) -> Value:
        """An op by its name; None for an operand left out; attributes by name: a whole number, a float, or whole numbers in a row.

        Raises Error(invalid) naming the shapes where they do not go together.
        """
        results = self.add_all(op, *inputs, **attributes)
        if len(results) != 1:
            raise c.Error(f"{op} has {len(results)} results: add_all() gives them", "invalid")
        return results[0]

    def add_all(self, op: str, *inputs: Value | None, **attributes: object) -> list[Value]:
        """The same for an op of any number of results."""
        number = c.plain["op"](c.utf8(op))
        if number == 0:
            raise c.Error(f"there is no op {op!r}; docs/ops.md lists them", "invalid")
        for value in inputs:
            if value is not None and value.graph is not self:
                raise c.Error(f"an operand of {op} is of another graph", "invalid")
        operands = (ctypes.c_uint32 * max(len(inputs), 1))(*[_NO_TENSOR if v is None else v.number for v in inputs])
        kept: list[object] = []
        items = (c.Attribute * max(len(attributes), 1))(*[_attribute(name, value, kept) for name, value in attributes.items()])
        room, count = (ctypes.c_uint32 * 64)(), ctypes.c_uint32()
        c.call("graph_add_all", self.pointer, number, operands, len(inputs), items, len(attributes), room, len(room),
               ctypes.byref(count))
        return [Value(self, room[i]) for i in range(min(count.value, len(room)))]

    def output(self, value: Value, name: str) -> None:
        """Each run gives `value`, by this name."""
        c.call("graph_output", self.pointer, value.number, c.utf8(name))
        self.outputs[name] = value

    def update(self, state: Value, value: Value) -> None:
        """After each run `state` has the content of `value`."""
        c.call("graph_update", self.pointer, state.number, value.number)


def _attribute(name: str, value: object, kept: list[object]) -> c.Attribute:
    number = c.plain["attribute"](c.utf8(name))
    if number == 0:
        raise c.Error(f"there is no attribute {name!r}; docs/ops.md lists those of each op", "invalid")
    item = c.Attribute(id=number)
    if isinstance(value, (bool, int, np.integer)):
        item.type, item.integer = 1, int(value)
    elif isinstance(value, (float, np.floating)):
        item.type, item.number = 2, float(value)
    else:
        numbers = dims_of(list(value))  # type: ignore[call-overload]
        kept.append(numbers)
        item.type, item.integers = 3, c.Blob(ctypes.cast(numbers, ctypes.c_void_p), 8 * len(list(value)))  # type: ignore[call-overload]
    return item


class Tensor(c.Handle):
    """Elements on a device, dense and row-major."""

    kind = "tensor"

    def __init__(self, device: Device, array: object = None, *, shape: Sequence[int] = (), dtype: object = "f32") -> None:
        """With the content of an array, or of a shape and type with undefined content."""
        data = None
        if array is not None:
            held = np.asarray(array, order="C")
            shape, dtype, data = held.shape, held.dtype, held.ctypes.data
        super().__init__(c.made("tensor_create", device.pointer, id_of(dtype), dims_of(shape), len(shape), data))
        self.shape, self.dtype = tuple(shape), name_of(id_of(dtype))

    def numpy(self) -> np.ndarray:
        """A copy in host memory, when the work that writes it is done."""
        array = np.empty(self.shape, numpy_of(id_of(self.dtype)))
        c.call("tensor_read", self.pointer, array.ctypes.data, array.nbytes)
        return array


Weights = Union[Mapping[str, object], Callable[[str], object], c.WeightFileHandle]  # by `|` only from Python 3.10 on


class Session(c.Handle):
    """A graph compiled for a device, with its weights. One call at a time.

    devices: one, or several, best first: the next ones do what the first does not support, and what remains when it is lost.
    weights: arrays by name, or a function that gives them, of types of blocks as uint8 bytes, which are kept while the session lives; or a
    WeightFile, which may be closed.
    math: "default", "strict" (plain f32 sums) or "relaxed" (half precision allowed).
    """

    kind = "session"

    def __init__(self, devices: Device | Sequence[Device], graph: Graph, weights: Weights | None = None, *, math: str = "default") -> None:
        if math not in MATHS:
            raise c.Error(f"math is {math!r}; give one of {', '.join(MATHS)}", "invalid")
        several = [devices] if isinstance(devices, Device) else list(devices)
        kept: dict[bytes, np.ndarray] = {}
        failures: list[BaseException] = []
        self._inputs = {name: (value.shape, id_of(value.dtype)) for name, value in graph.inputs.items()}
        self._outputs = [(name, value.shape, numpy_of(id_of(value.dtype))) for name, value in graph.outputs.items()]
        self._ready = Spare()

        def source(_, name, size):  # called from threads of the library: what it raises is told by the constructor
            try:
                if name not in kept:
                    text = name.decode()
                    kept[name] = np.ascontiguousarray(weights(text) if callable(weights) else (weights or {})[text])
                size[0] = kept[name].nbytes
                return kept[name].ctypes.data
            except BaseException as failure:  # noqa: BLE001
                if not isinstance(failure, KeyError):
                    failures.append(failure)
                return None

        self._kept, self._source = kept, c.WEIGHT_SOURCE(source)
        held = _WeightsHandle(weights.weights() if isinstance(weights, c.WeightFileHandle) else c.made("weights_create", self._source, None))
        try:
            super().__init__(c.made("session_create_shared", c.array_of(several), len(several), graph.pointer, held.pointer,
                                    MATHS.index(math)))
        except c.Error as error:
            if failures:
                raise failures[0] from error
            raise
        finally:
            held.close()

    def run(self, inputs: Mapping[str, object], outputs: Mapping[str, np.ndarray | Tensor] | None = None, *,
            cancel: Cancel | None = None) -> dict[str, np.ndarray]:
        """Runs once and returns when it is done.

        inputs: an array or Tensor for each input, of its exact shape and type; dense arrays are read where they are. outputs: arrays or
        Tensors to write into; without them all outputs come in new arrays. Raises Error, Cancelled.
        """
        if outputs is None and cancel is None and self._pointer:
            results = self._ready.run(self._make_ready, inputs)
            if results is not None:
                return results
        return self.bind(inputs, outputs)(cancel)

    def _make_ready(self) -> ReadyRun:
        return ReadyRun(self.pointer, [(name, shape, numpy_of(number)) for name, (shape, number) in self._inputs.items()], self._outputs)

    def bind(self, inputs: Mapping[str, object], outputs: Mapping[str, np.ndarray | Tensor] | None = None) -> Bound:
        """The same, for many runs with the same arrays, whose content may change: what is returned is called for each run."""
        given, kept = [], []
        for name, array in inputs.items():
            if name not in self._inputs:
                raise c.Error(f"there is no input {name!r}; there are: {', '.join(self._inputs)}", "invalid")
            shape, number = self._inputs[name]
            if isinstance(array, Tensor):
                kept.append(array)
                given.append(c.Value(c.utf8(name), None, 0, array.pointer))
                continue
            held = dense(array, name, numpy_of(number))
            if held.shape != shape:
                raise c.Error(f"'{name}' has the shape {held.shape}; the graph's is {shape}", "invalid")
            kept.append(held)
            given.append(c.Value(c.utf8(name), address(held), held.nbytes, None))
        results: dict[str, np.ndarray] = {}
        wanted = []
        for name, shape, kind in self._outputs:
            if outputs is not None and name not in outputs:
                continue
            room = np.empty(shape, kind) if outputs is None else outputs[name]
            if isinstance(room, Tensor):
                kept.append(room)
                wanted.append(c.Value(c.utf8(name), None, 0, room.pointer))
                continue
            if room.shape != shape or room.dtype != kind or not room.flags.c_contiguous or not room.flags.writeable:
                raise c.Error(f"the array for '{name}' must be dense, writable, of {kind} and of the shape {shape}", "invalid")
            results[name] = room
            wanted.append(c.Value(c.utf8(name), address(room), room.nbytes, None))
        if outputs is not None and len(wanted) != len(outputs):
            raise c.Error(f"there is no such output as one of {', '.join(outputs)}", "invalid")
        return Bound(self, Records(c.Value, given), Records(c.Value, wanted), results, kept)

    def reset_state(self) -> None:
        """All states are zero again."""
        c.call("session_reset_state", self.pointer)

    def plan(self) -> str:
        """What runs where and how many bytes it takes, in lines."""
        return c.text_of("session_plan", self.pointer, 0)


class Bound:
    """A session with its arrays: what Session.bind() gives. One call at a time."""

    def __init__(self, session: Session, inputs: Records, outputs: Records, results: dict[str, np.ndarray], kept: list[object]) -> None:
        self._session, self._records, self._results, self._kept = session, (inputs, outputs), results, kept
        self._arguments = ctypes.c_void_p(session.pointer), inputs.reference, inputs.count, outputs.reference, outputs.count
        self._call, self._error = c.ready("session_submit", *self._arguments, None, None)

    def __call__(self, cancel: Cancel | None = None) -> dict[str, np.ndarray]:
        """Runs once. The arrays that are written, by name: the same ones each time."""
        if not self._session._pointer:
            self._session.pointer  # raises
        if cancel is not None:
            c.call("session_submit", *self._arguments, cancel_of(cancel), None)
        else:
            code = self._call()
            if code != 0:
                raise self._error.failure("session_submit", code)
        return self._results


class _WeightsHandle(c.Handle):
    kind = "weights"
