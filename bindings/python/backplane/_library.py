"""The native library: where it is, what its functions take, and how their errors become exceptions.

backplane/lib/ of the package holds the library, and backplane/lib/backplane/ the modules of its backends and the program that tries
them (docs/discovery.md has the rule). Everything here follows include/backplane/*.h; tests/test_header.py compares the two.
"""

import ctypes
import functools
import os
import sys
import threading
from ctypes import POINTER, c_char, c_char_p, c_double, c_float, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import TypeVar

MAX_RANK = 8

CODES = ("ok", "invalid", "unsupported", "version", "not_found", "denied", "no_host_memory", "no_device_memory", "device_lost",
         "timeout", "cancelled", "stale", "corrupt", "internal", "busy")


class Error(RuntimeError):
    """What the library answered: what was attempted, on what, why it failed and what to do.

    code: one of the words of backplane.CODES, "not_found".
    """

    def __init__(self, text: str, code: str) -> None:
        super().__init__(text)
        self.code = code


class Cancelled(Error):
    """The call was ended by a backplane.Cancel."""


def _open() -> ctypes.CDLL:
    given = os.environ.get("BACKPLANE_LIBRARY")
    name = {"win32": "backplane_models.dll", "darwin": "libbackplane_models.dylib"}.get(sys.platform, "libbackplane_models.so")
    path = Path(given) if given else Path(__file__).resolve().parent / "lib" / name
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(
            f"cannot load Backplane's library: {error}; install what it needs (Debian: libpng16-16 libjpeg62-turbo libsndfile1 "
            "libsamplerate0), or name another by BACKPLANE_LIBRARY") from error


class Structure(ctypes.Structure):
    """One that begins with its size, which is set when it is made."""

    def __init__(self, *values, **fields) -> None:
        super().__init__(*values, **fields)
        if self._fields_[0][0] == "struct_size":
            self.struct_size = ctypes.sizeof(type(self))


class ErrorRecord(Structure):
    _fields_ = [("struct_size", c_uint32), ("code", c_uint32), ("native", c_int64), ("text", c_char_p), ("capacity", c_size_t)]


LOG = ctypes.CFUNCTYPE(None, c_void_p, c_uint32, c_char_p)
WEIGHT_SOURCE = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_char_p, POINTER(c_uint64))
PROGRESS = ctypes.CFUNCTYPE(None, c_void_p, c_int64, c_int64)
SHARE_DONE = ctypes.CFUNCTYPE(None, c_void_p, c_double)


class ContextOptions(Structure):
    _fields_ = [("struct_size", c_uint32), ("skip_defaults", c_uint32), ("skip_linked_in", c_uint32), ("skip_environment", c_uint32),
                ("module_paths", POINTER(c_char_p)), ("module_path_count", c_uint64), ("device_filter", c_char_p),
                ("cpu_mask", c_char_p), ("log", LOG), ("log_arg", c_void_p), ("probe", c_uint32), ("probe_limit_ms", c_uint32),
                ("probe_program", c_char_p), ("state_folder", c_char_p), ("module_names", POINTER(c_char_p)),
                ("module_name_count", c_uint64), ("cache_folder", c_char_p), ("probe_budget_ms", c_uint32), ("reserved", c_uint32),
                ("cancel", POINTER(c_uint32)), ("parallel", c_void_p), ("parallel_arg", c_void_p), ("options", POINTER(c_char_p)),
                ("option_count", c_uint64), ("strict_options", c_uint32), ("skip_fault_notes", c_uint32)]


class DeviceRecord(Structure):
    _fields_ = [("struct_size", c_uint32), ("kind", c_uint32), ("memory_total", c_uint64), ("memory_free", c_uint64),
                ("capabilities", c_uint64), ("dtypes", c_uint64), ("id", c_char * 64), ("backend", c_char * 64),
                ("identity", c_char * 64), ("name", c_char * 256), ("driver", c_char * 256), ("warning", c_char * 256)]


class Blob(Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class Attribute(Structure):
    _fields_ = [("struct_size", c_uint32), ("id", c_uint32), ("type", c_uint32), ("reserved", c_uint32), ("integer", c_int64),
                ("number", c_double), ("integers", Blob)]


class Value(Structure):
    _fields_ = [("name", c_char_p), ("data", c_void_p), ("bytes", c_uint64), ("tensor", c_void_p)]


class ModelInfo(Structure):
    _fields_ = [("struct_size", c_uint32), ("input_count", c_uint32), ("output_count", c_uint32), ("reserved", c_uint32),
                ("opset", c_int64), ("ir_version", c_int64), ("nodes", c_uint64), ("parameters", c_uint64),
                ("weight_bytes", c_uint64), ("format", c_char * 16), ("name", c_char * 256), ("producer", c_char * 128)]


class ModelValue(Structure):
    _fields_ = [("struct_size", c_uint32), ("dtype", c_uint32), ("rank", c_uint32), ("is_unsigned", c_uint32), ("name", c_char_p),
                ("dims", c_int64 * MAX_RANK), ("symbols", c_char_p * MAX_RANK)]


class ModelInput(Structure):
    _fields_ = [("name", c_char_p), ("data", c_void_p), ("bytes", c_uint64), ("dims", POINTER(c_int64)), ("rank", c_uint32),
                ("dtype", c_uint32), ("tensor", c_void_p)]


class ModelOptions(Structure):
    _fields_ = [("struct_size", c_uint32), ("math", c_uint32), ("plans_kept", c_uint32), ("reserved", c_uint32)]


class TranscriberOptions(Structure):
    _fields_ = [("struct_size", c_uint32), ("decoder", c_uint32), ("dtype", c_uint32), ("exact", c_uint32), ("window", c_double),
                ("batch", c_int64), ("vad", c_char_p), ("memory", c_uint64), ("streaming", c_uint32), ("reserved", c_uint32)]


class TranscriberInfo(Structure):
    _fields_ = [("struct_size", c_uint32), ("decoder", c_uint32), ("sample_rate", c_int64), ("name", c_char * 256),
                ("device", c_char * 64), ("device_name", c_char * 256), ("why", c_char * 512), ("pauses_by", c_char * 32)]


class WordRecord(Structure):
    _fields_ = [("struct_size", c_uint32), ("reserved", c_uint32), ("text", c_char_p), ("start", c_double), ("end", c_double),
                ("confidence", c_double)]


class UpscalerOptions(Structure):
    _fields_ = [("struct_size", c_uint32), ("dtype", c_uint32)]


class UpscalerInfo(Structure):
    _fields_ = [("struct_size", c_uint32), ("scale", c_uint32), ("parameters", c_uint64), ("name", c_char * 256),
                ("device", c_char * 64), ("device_name", c_char * 256), ("why", c_char * 512)]


class UpscaleOptions(Structure):
    _fields_ = [("struct_size", c_uint32), ("jpeg_quality", c_uint32), ("tile", c_int64), ("overlap", c_int64),
                ("memory", c_uint64), ("progress", PROGRESS), ("progress_arg", c_void_p), ("cancel", POINTER(c_uint32))]


class UpscaleResult(Structure):
    _fields_ = [("struct_size", c_uint32), ("width", c_uint32), ("height", c_uint32), ("channels", c_uint32), ("tiles", c_int64),
                ("tile", c_int64), ("seconds", c_double)]


class WeightFileInfo(Structure):
    _fields_ = [("struct_size", c_uint32), ("tensor_count", c_uint32), ("bytes", c_uint64), ("format", c_char * 16)]


class WeightTensorRecord(Structure):
    _fields_ = [("struct_size", c_uint32), ("dtype", c_uint32), ("rank", c_uint32), ("reserved", c_uint32), ("bytes", c_uint64),
                ("name", c_char_p), ("type", c_char_p), ("dims", c_int64 * MAX_RANK)]


class QuantizeOptions(Structure):
    _fields_ = [("struct_size", c_uint32), ("dtype", c_uint32), ("keep", POINTER(c_char_p)), ("keep_count", c_uint32),
                ("embeddings", c_uint32), ("threads", c_uint32), ("reserved", c_uint32), ("progress", SHARE_DONE),
                ("progress_arg", c_void_p), ("cancel", POINTER(c_uint32))]


class QuantizedTensorRecord(Structure):
    _fields_ = [("struct_size", c_uint32), ("dtype", c_uint32), ("rank", c_uint32), ("reserved", c_uint32), ("name", c_char_p),
                ("from", c_char_p), ("why", c_char_p), ("bytes_before", c_uint64), ("bytes_after", c_uint64), ("error", c_double),
                ("dims", c_int64 * MAX_RANK)]


# The structs of the headers by their names there, for the test that compares them.
STRUCTS = {
    "bp_error": ErrorRecord, "backplane_context_options": ContextOptions, "backplane_device_info": DeviceRecord, "bp_blob": Blob,
    "bp_attribute": Attribute, "backplane_value": Value, "backplane_model_info": ModelInfo, "backplane_model_value": ModelValue,
    "backplane_model_input": ModelInput, "backplane_model_options": ModelOptions,
    "backplane_transcriber_options": TranscriberOptions, "backplane_transcriber_info": TranscriberInfo, "backplane_word": WordRecord,
    "backplane_upscaler_options": UpscalerOptions, "backplane_upscaler_info": UpscalerInfo,
    "backplane_upscale_options": UpscaleOptions, "backplane_upscale_result": UpscaleResult,
    "backplane_weight_file_info": WeightFileInfo, "backplane_weight_tensor": WeightTensorRecord,
    "backplane_quantize_options": QuantizeOptions, "backplane_quantized_tensor": QuantizedTensorRecord,
}

_P, _S, _U, _N = c_void_p, c_char_p, c_uint32, c_uint64
_CANCEL, _OUT, _DIMS = POINTER(c_uint32), POINTER(c_void_p), POINTER(c_int64)

# What can fail: NAME(these..., bp_error*) -> bp_code.
_FALLIBLE = {
    "context_create": [POINTER(ContextOptions), _OUT],
    "context_rescan": [_P],
    "context_devices": [_P, POINTER(DeviceRecord), _U, POINTER(c_uint32)],
    "context_report": [_P, _P, c_size_t, POINTER(c_size_t)],
    "device_open": [_P, _S, _OUT],
    "device_get_info": [_P, POINTER(DeviceRecord)],
    "device_set_option": [_P, _S, _S],
    "graph_create": [_OUT],
    "graph_tensor": [_P, _U, _S, _U, _DIMS, _U, POINTER(c_uint32)],
    "graph_constant": [_P, _S, _U, _DIMS, _U, _P, _N, POINTER(c_uint32)],
    "graph_add_all": [_P, _U, POINTER(c_uint32), _U, POINTER(Attribute), _U, POINTER(c_uint32), _U, POINTER(c_uint32)],
    "graph_output": [_P, _U, _S],
    "graph_update": [_P, _U, _U],
    "graph_shape": [_P, _U, _DIMS, POINTER(c_uint32)],
    "graph_dtype": [_P, _U, POINTER(c_uint32)],
    "tensor_create": [_P, _U, _DIMS, _U, _P, _OUT],
    "tensor_read": [_P, _P, _N],
    "tensor_write": [_P, _P, _N],
    "tensor_shape": [_P, POINTER(c_uint32), _DIMS, POINTER(c_uint32)],
    "weights_create": [WEIGHT_SOURCE, _P, _OUT],
    "session_create_shared": [POINTER(c_void_p), _U, _P, _P, _U, _OUT],
    "session_submit": [_P, POINTER(Value), _U, POINTER(Value), _U, _CANCEL, _OUT],
    "session_reset_state": [_P],
    "session_plan": [_P, _U, _P, c_size_t, POINTER(c_size_t)],
    "model_from_onnx": [_S, _OUT],
    "model_get_info": [_P, POINTER(ModelInfo)],
    "model_inputs": [_P, POINTER(ModelValue), _U, POINTER(c_uint32)],
    "model_outputs": [_P, POINTER(ModelValue), _U, POINTER(c_uint32)],
    "model_check": [_P, POINTER(c_void_p), _U, POINTER(ModelInput), _U, _P, c_size_t, POINTER(c_size_t)],
    "model_session_create": [_P, _P, _S, POINTER(ModelOptions), _OUT],
    "model_session_create_on": [_P, POINTER(c_void_p), _U, POINTER(ModelOptions), _OUT],
    "model_session_run_into": [_P, POINTER(ModelInput), _U, POINTER(Value), _U, _CANCEL],
    "model_session_prepare": [_P, POINTER(ModelInput), _U, POINTER(ModelValue), _U, POINTER(c_uint32)],
    "transcriber_create": [_P, _S, _S, POINTER(TranscriberOptions), _OUT],
    "transcriber_create_on": [POINTER(c_void_p), _U, _S, POINTER(TranscriberOptions), _OUT],
    "transcriber_get_info": [_P, POINTER(TranscriberInfo)],
    "transcriber_run": [_P, POINTER(c_float), _N, _CANCEL, _OUT],
    "transcriber_run_file": [_P, _S, _CANCEL, _OUT],
    "transcript_words": [_P, POINTER(WordRecord), _U, POINTER(c_uint32)],
    "transcript_stream_create": [_P, _OUT],
    "transcript_stream_feed": [_P, POINTER(c_float), _N, _CANCEL],
    "transcript_stream_finish": [_P, _CANCEL],
    "transcript_stream_next": [_P, _OUT, POINTER(c_uint32)],
    "upscaler_create": [_P, _S, _S, POINTER(UpscalerOptions), _OUT],
    "upscaler_create_on": [POINTER(c_void_p), _U, _S, POINTER(UpscalerOptions), _OUT],
    "upscaler_get_info": [_P, POINTER(UpscalerInfo)],
    "upscaler_run_file": [_P, _S, _S, POINTER(UpscaleOptions), POINTER(UpscaleResult)],
    "upscaler_run": [_P, _P, _N, _U, _U, _U, _P, _N, POINTER(UpscaleOptions), POINTER(UpscaleResult)],
    "weight_file_open": [_S, _OUT],
    "weight_file_get_info": [_P, POINTER(WeightFileInfo)],
    "weight_file_tensors": [_P, POINTER(WeightTensorRecord), _U, POINTER(c_uint32)],
    "weight_file_find": [_P, _S, POINTER(WeightTensorRecord)],
    "weight_file_metadata": [_P, _P, c_size_t, POINTER(c_size_t)],
    "weight_file_add": [_P, _P, _S, POINTER(c_uint32)],
    "weight_file_weights": [_P, _OUT],
    "quantize": [_P, _S, POINTER(QuantizeOptions), _OUT],
    "quantized_tensors": [_P, POINTER(QuantizedTensorRecord), _U, POINTER(c_uint32)],
}
_PLAIN = {
    "version": (_S, []), "op": (_U, [_S]), "attribute": (_U, [_S]), "dtype": (_U, [_S]), "dtype_name": (_S, [_U]),
    "transcript_text": (_S, [_P]), "transcript_seconds": (c_double, [_P]),
    "weight_file_data": (_P, [_P, _S, POINTER(c_uint64)]),
}
_DESTROYED = {"context": "destroy", "device": "close", "graph": "destroy", "session": "destroy", "tensor": "destroy",
              "weights": "destroy", "event": "destroy", "model": "destroy", "model_session": "destroy", "transcriber": "destroy",
              "transcript": "destroy", "transcript_stream": "destroy", "upscaler": "destroy", "weight_file": "destroy",
              "quantized": "destroy"}

_library = _open()


def _prototype(name: str, result, arguments):
    function = getattr(_library, "backplane_" + name)
    function.restype, function.argtypes = result, arguments
    return function


_fallible = {name: _prototype(name, c_uint32, [*arguments, POINTER(ErrorRecord)]) for name, arguments in _FALLIBLE.items()}
plain = {name: _prototype(name, result, arguments) for name, (result, arguments) in _PLAIN.items()}
_close = {kind: _prototype(f"{kind}_{verb}", None, [_P]) for kind, verb in _DESTROYED.items()}


class ErrorRoom:
    """Where the error of a call is written."""

    def __init__(self) -> None:
        self.text = ctypes.create_string_buffer(2048)
        self.error = ErrorRecord(text=ctypes.cast(self.text, c_char_p), capacity=len(self.text))
        self.reference = ctypes.byref(self.error)

    def failure(self, name: str, code: int) -> Error:
        """What a function of that name wrote here, and answered."""
        word = CODES[code] if code < len(CODES) else "internal"
        said = self.text.value.decode(errors="replace") or f"backplane_{name} failed"
        return (Cancelled if word == "cancelled" else Error)(said, word)


class _Room(threading.local, ErrorRoom):
    """That of this thread."""


_room = _Room()


def call(name: str, *arguments) -> None:
    """Calls a function that can fail. Raises Error with what it wrote. The interpreter's lock is not held meanwhile."""
    code = _fallible[name](*arguments, _room.reference)
    if code != 0:
        raise _room.failure(name, code)


def ready(name: str, *arguments):
    """A call that can fail with arguments that are prepared: objects of ctypes and None alone, which nothing has to convert at each call. Returns
    a function without arguments that calls it and gives its code, and where the error is then: for one thread at a time."""
    function = _library["backplane_" + name]  # one of its own: the other one converts
    function.restype = c_uint32
    room = ErrorRoom()
    return functools.partial(function, *arguments, room.reference), room


_Self = TypeVar("_Self", bound="Handle")


class Handle:
    """Owns what a *_create function made. Closed once, by close(), a `with` statement or the collector."""

    kind = ""

    def __init__(self, pointer: int) -> None:
        self._pointer = pointer

    @property
    def pointer(self) -> int:
        """What functions of the C API take. Raises Error "invalid" once it is closed."""
        if not getattr(self, "_pointer", None):
            raise Error(f"cannot use this {type(self).__name__}: it is closed", "invalid")
        return self._pointer

    def close(self) -> None:
        """Gives back what it holds. Closed again, it does nothing."""
        pointer, self._pointer = getattr(self, "_pointer", None), None
        if pointer:
            _close[self.kind](pointer)

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class WeightFileHandle(Handle):
    """What a WeightFile is to those that it uses itself."""

    kind = "weight_file"

    def weights(self) -> int:
        """A pointer to the C API's weights of it, for Session."""
        return made("weight_file_weights", self.pointer)


def made(name: str, *arguments) -> int:
    """What a function gives in its `out` (the last argument before the error)."""
    out = c_void_p()
    call(name, *arguments, ctypes.byref(out))
    return out.value


def text_of(name: str, *arguments) -> str:
    """What a function writes as text: asked for its size first, and again where it grew meanwhile."""
    size = c_size_t(0)
    call(name, *arguments, None, 0, ctypes.byref(size))
    while True:
        room = ctypes.create_string_buffer(max(size.value, 1))
        call(name, *arguments, room, len(room), ctypes.byref(size))
        if size.value <= len(room):
            return room.value.decode(errors="replace")


def records_of(record: type, count: int) -> ctypes.Array:
    """Records to be filled, which say their size; one, that nobody fills, where none is wanted."""
    return (record * max(count, 1))(*[record() for _ in range(max(count, 1))])


def records(name: str, record, *arguments) -> list:
    """What a function fills in records."""
    count = c_uint32(0)
    call(name, *arguments, None, 0, ctypes.byref(count))
    while True:
        room = records_of(record, count.value)
        call(name, *arguments, room, len(room), ctypes.byref(count))
        if count.value <= len(room):
            return list(room[:count.value])


def utf8(text) -> bytes:
    """A name or path for the library."""
    encoded = os.fsencode(text) if isinstance(text, os.PathLike) else str(text).encode()
    if b"\0" in encoded:
        raise Error(f"a zero byte in {text!r}", "invalid")
    return encoded


def array_of(handles) -> ctypes.Array:
    return (c_void_p * len(handles))(*[handle.pointer for handle in handles])
