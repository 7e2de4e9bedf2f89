"""Pictures enlarged by ESRGAN networks."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence

import numpy as np

from . import _library as c
from .arrays import id_of
from .devices import Cancel, Context, Device, made_on


class Upscaler(c.Handle):
    """An ESRGAN network, loaded once. One call at a time.

    model: a GGUF file that `backplane model import` wrote. on: a Context, whose best device is taken (device: a filter), with the CPU for
    what that cannot do; or devices, best first. dtype: of weights and feature maps, None as the file has them, "f32" or "f16".
    """

    kind = "upscaler"

    def __init__(self, on: Context | Device | Sequence[Device], model: str | os.PathLike, *, device: str = "",
                 dtype: str | None = None) -> None:
        options = c.UpscalerOptions(dtype=id_of(dtype) if dtype else 0)
        super().__init__(made_on("upscaler_create", on, device, (), (c.utf8(model), ctypes.byref(options))))

    @property
    def info(self) -> dict[str, object]:
        """name, scale, parameters, device, device_name, why it was chosen."""
        record = c.UpscalerInfo()
        c.call("upscaler_get_info", self.pointer, ctypes.byref(record))
        texts = {name: getattr(record, name).decode(errors="replace") for name in ("name", "device", "device_name", "why")}
        return texts | {"scale": record.scale, "parameters": record.parameters}

    @staticmethod
    def _options(tile: int, memory: int, progress: Callable[[int, int], None] | None, cancel: Cancel | None, jpeg_quality: int = 0):
        options = c.UpscaleOptions(tile=tile, memory=memory, jpeg_quality=jpeg_quality)
        if progress is not None:
            options.progress = c.PROGRESS(lambda _, done, all_of_them: progress(done, all_of_them))
        if cancel is not None:
            options.cancel = ctypes.pointer(cancel._flag)
        return options

    def upscale(self, picture: np.ndarray, *, tile: int = 0, memory: int = 0, progress: Callable[[int, int], None] | None = None,
                cancel: Cancel | None = None) -> np.ndarray:
        """uint8 pixels of the shape (height, width, 3 or 4) to such of scale times the height and width.

        tile: pixels of input in each direction, 0: chosen. memory: bytes of the device, 0: what it has. progress(done, tiles).
        """
        held = np.ascontiguousarray(picture)
        if held.dtype != np.uint8 or held.ndim != 3 or held.shape[2] not in (3, 4):
            raise c.Error(f"a picture is uint8 of the shape (height, width, 3 or 4); this is {held.dtype} of {held.shape}", "invalid")
        height, width, channels = held.shape
        scale = int(self.info["scale"])
        result = np.empty((height * scale, width * scale, channels), np.uint8)
        options = self._options(tile, memory, progress, cancel)
        c.call("upscaler_run", self.pointer, held.ctypes.data, held.nbytes, width, height, channels, result.ctypes.data, result.nbytes,
               ctypes.byref(options), None)
        return result

    def upscale_file(self, source: str | os.PathLike, target: str | os.PathLike, *, tile: int = 0, memory: int = 0,
                     jpeg_quality: int = 95, progress: Callable[[int, int], None] | None = None, cancel: Cancel | None = None) -> dict[str, object]:
        """PNG or JPEG to .png, .jpg or .jpeg, whole or not at all. Returns width, height, channels, tiles, tile, seconds."""
        options = self._options(tile, memory, progress, cancel, jpeg_quality)
        result = c.UpscaleResult()
        c.call("upscaler_run_file", self.pointer, c.utf8(source), c.utf8(target), ctypes.byref(options), ctypes.byref(result))
        return {name: getattr(result, name) for name in ("width", "height", "channels", "tiles", "tile", "seconds")}
