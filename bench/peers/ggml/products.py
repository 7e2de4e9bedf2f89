#!/usr/bin/env python3
"""products.py MODULE [--shape M,N,K] [--threads 1] [--types q4_k,q6_k] [--math default,relaxed] [--mask LIST] [--json]: products with weights in
blocks by our CPU backend and by ggml's, in turns in one process.

MODULE: one of ggml's CPU modules, build/packages/ggml-linux-x64/bins/linux-x64/libggml-cpu-sapphirerapids.so (scripts/fetch-ggml.sh). It is timed
with the weights in the order of the file, and in each of the buffer types that the module has for weights: AMX and CPU_REPACK, which lay them out
for its own kernels. With one row, reading as many bytes is timed too. Answers that differ by more than rounding to 8 bits may cost end it.
--mask: levels or features of the processor that ours leave out (avx512f). Host to host, ms; x: theirs over the first of ours."""
import argparse
import ctypes as C
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from beside import NUMBERS, in_turns, one_op, open_cpu, random, text_of  # noqa: E402

import numpy as np  # noqa: E402

# Depth and bytes of a block, ggml's number of the type, where f16 factors are.
BLOCKS = {"q8_0": (32, 34, 8, [0]), "q4_0": (32, 18, 2, [0]), "q4_k": (256, 144, 12, [0, 2]), "q6_k": (256, 210, 14, [208])}
POINTER = C.c_void_p
WEIGHTS = 1  # ggml_backend_buffer_usage


class InitParams(C.Structure):
    _fields_ = [("size", C.c_size_t), ("buffer", POINTER), ("no_alloc", C.c_bool)]


class Ggml:
    """A CPU module and the base library beside it. What it needs of ggml.h and ggml-backend.h, by hand."""

    GIVE_POINTERS = ("ggml_init ggml_new_tensor_2d ggml_mul_mat ggml_new_graph ggml_backend_reg_dev_get ggml_backend_dev_init "
                     "ggml_backend_reg_get_proc_address ggml_backend_buft_alloc_buffer ggml_backend_buffer_get_base "
                     "ggml_backend_dev_buffer_type")

    def __init__(self, module, threads):
        self.base = C.CDLL(str(Path(module).parent / "libggml-base.so"), C.RTLD_GLOBAL)
        self.module = C.CDLL(str(module))
        for name in self.GIVE_POINTERS.split():
            getattr(self.base, name).restype = POINTER
        self.base.ggml_backend_buft_get_alloc_size.restype = C.c_size_t
        self.base.ggml_backend_buft_name.restype = C.c_char_p
        self.base.ggml_backend_dev_supports_op.restype = C.c_bool
        self.module.ggml_backend_init.restype = POINTER
        registration = POINTER(self.module.ggml_backend_init())
        self.device = POINTER(self.base.ggml_backend_reg_dev_get(registration, C.c_size_t(0)))
        self.backend = POINTER(self.base.ggml_backend_dev_init(self.device, None))
        address = self.base.ggml_backend_reg_get_proc_address
        C.CFUNCTYPE(None, POINTER, C.c_int)(address(registration, b"ggml_backend_set_n_threads"))(self.backend, threads)
        extra = C.CFUNCTYPE(C.POINTER(POINTER), POINTER)(address(registration, b"ggml_backend_dev_get_extra_bufts"))(self.device)
        self.plain = POINTER(self.base.ggml_backend_dev_buffer_type(self.device))
        self.types = {"file's order": self.plain}
        for i in range(64):
            if not extra or not extra[i]:
                break
            kind = POINTER(extra[i])
            self.types[self.base.ggml_backend_buft_name(kind).decode()] = kind

    def _place(self, tensor, kind):
        base = self.base
        buffer = POINTER(base.ggml_backend_buft_alloc_buffer(kind, C.c_size_t(base.ggml_backend_buft_get_alloc_size(kind, tensor))))
        if kind is not self.plain:
            base.ggml_backend_buffer_set_usage(buffer, WEIGHTS)
        base.ggml_backend_tensor_alloc(buffer, tensor, POINTER(base.ggml_backend_buffer_get_base(buffer)))

    def product(self, number, data, x, n, kind):
        """x by the weights `data`, transposed: functions that run it and that read the result; None: not with such a buffer."""
        base, (m, k) = self.base, x.shape
        context = POINTER(base.ggml_init(InitParams(1 << 20, None, True)))
        w = POINTER(base.ggml_new_tensor_2d(context, number, C.c_int64(k), C.c_int64(n)))
        a = POINTER(base.ggml_new_tensor_2d(context, 0, C.c_int64(k), C.c_int64(m)))
        y = POINTER(base.ggml_mul_mat(context, w, a))
        graph = POINTER(base.ggml_new_graph(context))
        base.ggml_build_forward_expand(graph, y)
        self._place(w, kind)
        self._place(a, self.plain)
        self._place(y, self.plain)
        if not base.ggml_backend_dev_supports_op(self.device, y):
            return None
        base.ggml_backend_tensor_set(w, POINTER(data.ctypes.data), C.c_size_t(0), C.c_size_t(data.nbytes))
        base.ggml_backend_tensor_set(a, POINTER(x.ctypes.data), C.c_size_t(0), C.c_size_t(x.nbytes))

        def result():
            out = np.empty((m, n), np.float32)
            base.ggml_backend_tensor_get(y, POINTER(out.ctypes.data), C.c_size_t(0), C.c_size_t(out.nbytes))
            return out

        return lambda: base.ggml_backend_graph_compute(self.backend, graph), result


def weights(dtype, n, k):
    depth, size, _, factors = BLOCKS[dtype]
    blocks = NUMBERS.integers(0, 256, (n * k // depth, size), np.uint8)
    for at in factors:
        blocks[:, at:at + 2] = np.frombuffer(np.float16(0.01).tobytes(), np.uint8)
    return blocks.reshape(-1)


def bodies_of(device, ggml, dtype, shape, maths):
    m, n, k = shape
    x, w = random(m, k), weights(dtype, n, k)
    bodies = {}
    for math in maths:
        bodies["ours, " + math] = one_op(device, "MatMul", {"x": x}, {"w": w}, {"w": (dtype, (n, k))}, math, transpose_b=1)
        want = bodies["ours, " + math]()["y"].copy()
    for name, kind in ggml.types.items():
        made = ggml.product(BLOCKS[dtype][2], w, x, n, kind)
        if made is None:
            continue
        made[0]()
        off = float(np.abs(made[1]() - want).max() / np.abs(want).max())
        if not off < 0.02:
            sys.exit(f"products.py: {dtype} with weights of {name} differs by {off} of the largest")
        bodies["ggml, " + name] = made[0]
    if m == 1:
        read = np.ones(w.nbytes // 4, np.float32)  # pages of its own
        bodies["reading"] = read.max
    return bodies


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module")
    parser.add_argument("--shape", default="1,4096,14336")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--types", default=",".join(BLOCKS))
    parser.add_argument("--math", default="default,relaxed")
    parser.add_argument("--mask", default="")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    shape = tuple(map(int, chosen.shape.split(",")))
    ggml = Ggml(Path(chosen.module).resolve(), chosen.threads)
    _context, device = open_cpu(chosen.threads, chosen.mask)
    everything = {}
    for dtype in chosen.types.split(","):
        bodies = bodies_of(device, ggml, dtype, shape, chosen.math.split(","))
        everything[dtype] = in_turns(bodies, rest=0.02 if chosen.threads > 1 else 0)
        if not chosen.json:
            print(text_of(dtype, everything[dtype]), flush=True)
    if chosen.json:
        print(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
