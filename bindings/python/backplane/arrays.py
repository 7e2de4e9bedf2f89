"""numpy arrays as operands of the library, in and out without a copy."""

from __future__ import annotations

import ctypes
import functools

import numpy as np

from . import _library as c

# bf16 has no type in numpy: its elements are given and returned as uint16.
_DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16, "f64": np.float64, "i8": np.int8, "u8": np.uint8,
           "i16": np.int16, "u16": np.uint16, "i32": np.int32, "i64": np.int64, "bool": np.bool_}
_NAMES = {np.dtype(kind): name for name, kind in _DTYPES.items() if name != "bf16"}


def id_of(dtype: object) -> int:
    """The library's number of an element type: "f16", numpy's float16 or any of their like."""
    name = dtype if isinstance(dtype, str) and c.plain["dtype"](c.utf8(dtype)) else None
    if name is None:
        try:
            name = _NAMES[np.dtype(dtype)]
        except (KeyError, TypeError):
            raise c.Error(f"element type {dtype!r} is none of {', '.join(_DTYPES)} or a type of blocks", "invalid") from None
    return c.plain["dtype"](name.encode())


def name_of(number: int) -> str:
    return c.plain["dtype_name"](number).decode()


@functools.cache
def numpy_of(number: int) -> np.dtype:
    try:
        return np.dtype(_DTYPES[name_of(number)])
    except KeyError:
        raise c.Error(f"numpy has no element type like {name_of(number) or 'that of this value'}", "unsupported") from None


# Elements of ONNX files that are held as others of their size: by their names, which graphs do not have.
_UNSIGNED = {"u32": "i32", "u64": "i64"}


def element_name(number: int, is_unsigned: int) -> str:
    name = name_of(number) if number else "unknown"
    return next((mine for mine, held in _UNSIGNED.items() if held == name), name) if is_unsigned else name


@functools.cache
def element_of(name: str) -> tuple[int, np.dtype | None]:
    """The library's number and numpy's type of an element by its name; 0 and None: of a type that graphs do not have."""
    number = c.plain["dtype"](_UNSIGNED.get(name, name).encode())
    return number, np.dtype({"u32": np.uint32, "u64": np.uint64}[name]) if name in _UNSIGNED else numpy_of(number) if number else None


def numpy_of_value(record: c.ModelValue) -> np.dtype:
    return element_of(element_name(record.dtype, record.is_unsigned))[1]


def dims_of(shape) -> ctypes.Array:
    return (ctypes.c_int64 * max(len(shape), 1))(*shape)


def dense(array: object, name: str, wanted: np.dtype) -> np.ndarray:
    """The array as it is where it is dense and of that type; else a dense copy, never one of another type."""
    given = np.asarray(array)
    if given.dtype != wanted:
        raise c.Error(f"'{name}' is of {given.dtype}; give {wanted}: x.astype(numpy.{wanted})", "invalid")
    return np.ascontiguousarray(given) if given.ndim else given
