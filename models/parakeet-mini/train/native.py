"""Compiles lattice.cu and convolve.cu when they are first needed, for the GPU or for the host as the tensors are on one or the other, and calls them."""
import ctypes
import functools
import os
import subprocess
import tempfile

import torch


@functools.lru_cache(None)
def library(name, device):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".cu")
    made = os.path.join(tempfile.mkdtemp(), name + ".so")
    if device == "cuda":
        compiler = ["nvcc", "-O3", "-Xcompiler", "-fPIC", "-arch=native"]
    else:
        compiler = ["g++", "-x", "c++", "-O2", "-fPIC"]
    subprocess.run([*compiler, "-shared", source, "-o", made], check=True)
    return ctypes.CDLL(made)


def call(name, function, *arguments):
    """Tensors (dense) go as pointers, numbers as int; last the current stream."""
    device = arguments[0].device
    stream = torch.cuda.current_stream().cuda_stream if device.type == "cuda" else 0
    assert all(argument.is_contiguous() for argument in arguments if torch.is_tensor(argument)), function
    getattr(library(name, device.type), function)(
        *[ctypes.c_void_p(argument.data_ptr()) if torch.is_tensor(argument) else ctypes.c_int(argument) for argument in arguments], ctypes.c_void_p(stream))
