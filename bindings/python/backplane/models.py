"""Networks from ONNX files."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from . import _library as c
from .arrays import dense, dims_of, element_name, element_of, numpy_of_value
from .calls import NotReady, ReadyModelRun, Records, Spare, address
from .devices import Cancel, Context, Device, cancel_of, made_on
from .graphs import MATHS, Tensor


@dataclass(frozen=True)
class ModelValue:
    """An input or output as the file declares it. shape: None, or a number or the name of what is open for each axis.

    dtype: "f32" and its like; "u32" and "u64" of numpy's uint32 and uint64; "unknown".
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...] | None


def _value(record: c.ModelValue) -> ModelValue:
    shape = None
    if record.rank <= c.MAX_RANK:
        shape = tuple(record.dims[i] if record.dims[i] >= 0 else (record.symbols[i] or b"?").decode(errors="replace")
                      for i in range(record.rank))
    return ModelValue(record.name.decode(errors="replace"), element_name(record.dtype, record.is_unsigned), shape)


class Model(c.Handle):
    """An ONNX file that was read. Any thread. Raises Error: not_found, denied, corrupt, unsupported (an opset outside 6 to 24).

        with Context() as context, Model("det.onnx") as model:
            session = ModelSession(context, model)
            scores = session.run({"x": pixels})["scores"]
    """

    kind = "model"

    def __init__(self, path: str | os.PathLike) -> None:
        super().__init__(c.made("model_from_onnx", c.utf8(path)))

    @property
    def info(self) -> dict[str, object]:
        """format, name, producer, opset, ir_version, nodes, parameters, weight_bytes."""
        record = c.ModelInfo()
        c.call("model_get_info", self.pointer, ctypes.byref(record))
        texts = {name: getattr(record, name).decode(errors="replace") for name in ("format", "name", "producer")}
        return texts | {name: getattr(record, name) for name in ("opset", "ir_version", "nodes", "parameters", "weight_bytes")}

    @property
    def inputs(self) -> list[ModelValue]:
        """What a run is given, in the order of the file."""
        return [_value(record) for record in c.records("model_inputs", c.ModelValue, self.pointer)]

    @property
    def outputs(self) -> list[ModelValue]:
        """What a run gives, in the order of the file."""
        return [_value(record) for record in c.records("model_outputs", c.ModelValue, self.pointer)]

    def check(self, devices: Device | Sequence[Device], inputs: Mapping[str, object] | None = None) -> dict:
        """Where each node would run on these devices, best first, and why not: {"runs": bool, "nodes": [...]}.

        inputs: arrays, or shapes as tuples, of what the file leaves open.
        """
        several = [devices] if isinstance(devices, Device) else list(devices)
        records, kept = _inputs(self.inputs, inputs or {})
        text = c.text_of("model_check", self.pointer, c.array_of(several), len(several), records, len(inputs or {}))
        del kept
        return json.loads(text)


def _inputs(declared: Sequence[ModelValue], given: Mapping[str, object]):
    types = {value.name: value.dtype for value in declared}
    records, kept = (c.ModelInput * max(len(given), 1))(), []
    for i, (name, array) in enumerate(given.items()):
        encoded = c.utf8(name)
        if isinstance(array, Tensor):
            records[i] = c.ModelInput(encoded, None, 0, None, 0, 0, array.pointer)
            continue
        if isinstance(array, tuple) and all(isinstance(n, int) for n in array):
            dims = dims_of(array)
            kept.append(dims)
            records[i] = c.ModelInput(encoded, None, 0, dims, len(array), 0, None)
            continue
        number, wanted = element_of(types.get(name, "unknown"))
        held = dense(array, name, wanted) if number else np.ascontiguousarray(array)
        dims = dims_of(held.shape)
        kept += [held, dims]
        records[i] = c.ModelInput(encoded, address(held), held.nbytes, dims, held.ndim, number, None)
    return records, kept


class ModelSession(c.Handle):
    """A Model on devices. One call at a time; the plan of each size of its inputs is kept.

    on: a Context, whose best device is taken (device: a filter), with the CPU for what that cannot do; or devices, best first.
    """

    kind = "model_session"

    def __init__(self, on: Context | Device | Sequence[Device], model: Model, *, device: str = "", math: str = "default",
                 plans_kept: int = 8) -> None:
        if math not in MATHS:
            raise c.Error(f"math is {math!r}; give one of {', '.join(MATHS)}", "invalid")
        options = c.ModelOptions(math=MATHS.index(math), plans_kept=plans_kept)
        self._declared, self._outputs = model.inputs, len(model.outputs)
        self._ready = Spare()
        super().__init__(made_on("model_session_create", on, device, (model.pointer,), (ctypes.byref(options),)))

    def run(self, inputs: Mapping[str, object], *, cancel: Cancel | None = None) -> dict[str, np.ndarray]:
        """All outputs as new arrays, by name. inputs: an array or Tensor for each; dense arrays are read where they are."""
        if cancel is None and self._pointer:
            results = self._ready.run(self._make_ready, inputs)
            if results is not None:
                return results
        records, kept = _inputs(self._declared, inputs)
        outputs, count = c.records_of(c.ModelValue, self._outputs), ctypes.c_uint32()
        c.call("model_session_prepare", self.pointer, records, len(inputs), outputs, self._outputs, ctypes.byref(count))
        results = {o.name.decode(): np.empty(tuple(o.dims[:o.rank]), numpy_of_value(o)) for o in outputs[:count.value]}
        wanted = Records(c.Value, [c.Value(c.utf8(name), address(array), array.nbytes, None) for name, array in results.items()])
        c.call("model_session_run_into", self.pointer, records, len(inputs), wanted.records, len(results), cancel_of(cancel))
        del kept
        return results

    def _make_ready(self) -> Callable:
        if any(value.dtype == "unknown" for value in self._declared):  # what is given decides
            return NotReady()
        elements = [(value.name, *element_of(value.dtype)) for value in self._declared]
        return ReadyModelRun(self.pointer, [(name, kind, number) for name, number, kind in elements], self._outputs)
