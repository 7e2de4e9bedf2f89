"""Backplane: finds, judges, loads and drives the compute backends of the machine, and runs networks on the best one.

    import backplane
    with backplane.Context() as context:
        print(context.devices())
        print(backplane.transcribe("talk.flac", model="parakeet.gguf").text)

docs/python.md is the guide. Arrays are numpy's, and are read and written where they are.
"""

from __future__ import annotations

import os
from typing import Any

from . import _library
from ._library import CODES, Cancelled, Error
from .devices import Cancel, Context, Device, DeviceInfo
from .graphs import Bound, Graph, Session, Tensor, Value
from .models import Model, ModelSession, ModelValue
from .pictures import Upscaler
from .speech import Stream, Transcriber, Transcript, Word
from .weights import QuantizedTensor, WeightFile, WeightTensor

__version__ = _library.plain["version"]().decode()
__all__ = ["Bound", "CODES", "Cancel", "Cancelled", "Context", "Device", "DeviceInfo", "Error", "Graph", "Model", "ModelSession", "ModelValue",
           "QuantizedTensor", "Session", "Stream", "Tensor", "Transcriber", "Transcript", "Upscaler", "Value", "WeightFile", "WeightTensor", "Word", "transcribe",
           "upscale"]


def transcribe(audio: str | os.PathLike, *, model: str | os.PathLike, device: str = "", **options: Any) -> Transcript:
    """A sound file as text, on the best device of this machine. Options as Transcriber's, which is loaded once for many files."""
    with Context() as context, Transcriber(context, model, device=device, **options) as transcriber:
        return transcriber.transcribe(audio)


def upscale(source: str | os.PathLike, target: str | os.PathLike, *, model: str | os.PathLike, device: str = "",
            dtype: str | None = None, **options: Any) -> dict[str, object]:
    """A picture enlarged, on the best device of this machine. Options as Upscaler.upscale_file's."""
    with Context() as context, Upscaler(context, model, device=device, dtype=dtype) as upscaler:
        return upscaler.upscale_file(source, target, **options)
