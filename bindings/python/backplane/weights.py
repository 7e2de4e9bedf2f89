"""Weights by name from GGUF, safetensors and ONNX files."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from . import _library as c
from .arrays import id_of, name_of, numpy_of
from .devices import Cancel
from .graphs import Graph, Value


@dataclass(frozen=True)
class WeightTensor:
    """A tensor of a file. dtype: "unknown" of a type that graphs do not have; type: as the file calls it, "Q4_K"."""

    name: str
    dtype: str
    type: str
    shape: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class QuantizedTensor:
    """What became of a tensor. was: its type before, as that file calls it. error: root of the mean square of what it differs by, by that of its
    numbers. why: it stays as it is, or is of another type than asked for; else empty."""

    name: str
    dtype: str
    was: str
    shape: tuple[int, ...]
    bytes_before: int
    bytes_after: int
    error: float
    why: str


class _Quantized(c.Handle):
    kind = "quantized"


class WeightFile(c.WeightFileHandle):
    """A .gguf, .safetensors or .onnx file, an index of several safetensors files, or the folder of such. Any thread.

        file = WeightFile("model.safetensors")
        graph.output(graph.add("MatMul", x, file.add(graph, "fc.weight"), transpose_b=1), "y")
        session = Session(device, graph, file)

    Raises Error: not_found, denied, corrupt, unsupported.
    """

    def __init__(self, path: str | os.PathLike) -> None:
        super().__init__(c.made("weight_file_open", c.utf8(path)))

    @property
    def format(self) -> str:
        """ "GGUF", "safetensors" or "ONNX"."""
        record = c.WeightFileInfo()
        c.call("weight_file_get_info", self.pointer, ctypes.byref(record))
        return record.format.decode()

    @property
    def metadata(self) -> dict[str, object]:
        """What the file says of itself beside tensors."""
        return json.loads(c.text_of("weight_file_metadata", self.pointer))

    @property
    def tensors(self) -> dict[str, WeightTensor]:
        """All of them by name, in the file's order."""
        found = [_tensor(record) for record in c.records("weight_file_tensors", c.WeightTensorRecord, self.pointer)]
        return {tensor.name: tensor for tensor in found}

    def find(self, name: str) -> WeightTensor:
        """Raises Error, not_found, with the nearest name."""
        record = c.WeightTensorRecord()
        c.call("weight_file_find", self.pointer, c.utf8(name), ctypes.byref(record))
        return _tensor(record)

    def numpy(self, name: str) -> np.ndarray:
        """A copy of a tensor; of types of blocks, and of such that graphs do not have, its bytes as uint8."""
        tensor, size = self.find(name), ctypes.c_uint64()
        data = c.plain["weight_file_data"](self.pointer, c.utf8(name), ctypes.byref(size))
        held = np.frombuffer(ctypes.string_at(data, size.value), np.uint8)
        plain = {"f32", "f16", "bf16", "f64", "i8", "u8", "i16", "u16", "i32", "i64", "bool"}
        if tensor.dtype not in plain:
            return held.copy()
        return held.view(numpy_of(c.plain["dtype"](tensor.dtype.encode()))).reshape(tensor.shape).copy()

    def add(self, graph: Graph, name: str) -> Value:
        """The tensor as a weight of a graph, of its name, type and shape."""
        number = ctypes.c_uint32()
        c.call("weight_file_add", self.pointer, graph.pointer, c.utf8(name), ctypes.byref(number))
        return Value(graph, number.value)

    def quantize(self, gguf: str | os.PathLike, dtype: str = "q8_0", *, keep: Sequence[str] = (), embeddings: bool = False, threads: int = 0,
                 progress: Callable[[float], None] | None = None, cancel: Cancel | None = None) -> list[QuantizedTensor]:
        """Writes the weights in fewer bits as a GGUF file, whole or not at all: matrices whose rows are whole blocks; all else stays as it is.

        dtype: f32, f16, bf16, q8_0, q6_k, q5_k, q5_0, q4_k or q4_0. keep: patterns of names (`*`, `?`). embeddings: those too. threads: 0, all.
        progress(done) from 0 to 1. Raises Error: invalid, unsupported, corrupt (numbers that are not finite), cancelled.
        """
        patterns = [c.utf8(pattern) for pattern in keep]
        options = c.QuantizeOptions(dtype=id_of(dtype), keep=(ctypes.c_char_p * len(patterns))(*patterns), keep_count=len(patterns),
                                    embeddings=int(embeddings), threads=threads)
        if progress is not None:
            options.progress = c.SHARE_DONE(lambda _, done: progress(done))
        if cancel is not None:
            options.cancel = ctypes.pointer(cancel._flag)
        with _Quantized(c.made("quantize", self.pointer, c.utf8(gguf), ctypes.byref(options))) as made:
            return [QuantizedTensor(record.name.decode(errors="replace"), name_of(record.dtype) if record.dtype else "unknown",
                                    getattr(record, "from").decode(errors="replace"), tuple(record.dims[:record.rank]), record.bytes_before,
                                    record.bytes_after, record.error, record.why.decode())
                    for record in c.records("quantized_tensors", c.QuantizedTensorRecord, made.pointer)]


def _tensor(record: c.WeightTensorRecord) -> WeightTensor:
    return WeightTensor(record.name.decode(errors="replace"), name_of(record.dtype) if record.dtype else "unknown",
                        record.type.decode(errors="replace"), tuple(record.dims[:record.rank]), record.bytes)
