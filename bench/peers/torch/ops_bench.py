#!/usr/bin/env python3
"""ops_bench.py: time PyTorch on a CUDA device at what `backplane bench chain` and `backplane bench ops --resident` time.

Tensors stay on the device. A chain of 200 small ops: one after another, and as a CUDA graph. Single ops: wall time from the call to the end
of its work (what `bench ops --resident` counts), and the time of the work alone, of a CUDA graph of 100. Medians after a warm-up; JSON."""
import itertools
import json
import statistics
import time

import torch
import torch.nn.functional as F


def median_us(body, runs=50):
    for _ in range(5):
        body()
    torch.cuda.synchronize()
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        body()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times)


def graph_of(body):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        body()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        body()
    return graph


def chain(ops, elements):
    x = torch.ones(elements, device="cuda")
    step = torch.ones(elements, device="cuda")

    def body():
        at = x
        for k in range(ops):
            at = at + step if k % 2 == 0 else at * step
        return at

    host = torch.ones(elements)
    out = {"eager_us_per_op": median_us(body) / ops}
    out["graph_us_per_op"] = median_us(graph_of(body).replay) / ops
    out["host_to_host_us"] = median_us(lambda: (host.to("cuda") + step).cpu(), 500)
    return out


def op(body, many=100):
    def repeated():
        for _ in range(many):
            body()

    return {"call_us": round(median_us(body, 200), 2), "work_us": round(median_us(graph_of(repeated).replay, 10) / many, 2)}


def cases():
    rand = lambda *shape, dtype=torch.float32: torch.randn(*shape, device="cuda").to(dtype)
    for dtype, name in ((torch.float32, "f32"), (torch.float16, "f16")):
        for m, n, k in ((1, 2048, 2048), (32, 2048, 2048), (512, 2048, 2048), (1, 14336, 4096), (1, 4096, 14336), (4096, 4096, 4096)):
            # Operands in turn, as `bench ops --resident` has them in one graph: no cache keeps them.
            sets = max(1, min(32, 2**31 // (dtype.itemsize * (m * k + n * k + m * n))))
            operands = itertools.cycle([(rand(m, k, dtype=dtype), rand(n, k, dtype=dtype)) for _ in range(sets)])
            yield f"MatMul {name} m={m} n={n} k={k}", lambda: F.linear(*next(operands)), 100 if m < 4096 else 20
    x, scale, bias = rand(512, 2048), rand(2048), rand(2048)
    yield "Softmax 512x2048", lambda: torch.softmax(x, 1), 100
    yield "LayerNorm 512x2048", lambda: F.layer_norm(x, (2048,), scale), 100
    yield "Gelu 512x2048", lambda: F.gelu(x), 100
    yield "Silu 512x2048", lambda: F.silu(x), 100
    yield "ReduceSum 512x2048", lambda: torch.sum(x, 1), 100
    a, b = rand(1024, 1024), rand(1024, 1024)
    yield "Transpose 1024x1024", lambda: a.t().contiguous(), 100
    yield "Add 1024x1024", lambda: a + b, 100
    q, key, v = (rand(1, 32, 4096, 128, dtype=torch.float16) for _ in range(3))
    yield "attention f16, 32 heads of 128, 4096 tokens", lambda: F.scaled_dot_product_attention(q, key, v), 5
    for size, given, made, kernel, groups in ((128, 64, 64, 3, 1), (256, 64, 64, 3, 1), (128, 128, 64, 1, 1), (128, 64, 64, 3, 64)):
        image, filters = rand(1, given, size, size), rand(made, given // groups, kernel, kernel)
        yield f"Conv {kernel}x{kernel} {given}->{made} groups {groups} @{size}", lambda: F.conv2d(image, filters, padding=kernel // 2, groups=groups), 20


def main():
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    out = {"torch": torch.__version__, "device": torch.cuda.get_device_name()}
    with torch.inference_mode():
        out["chain of 200 ops of 4096 elements"] = chain(200, 4096)
        out["chain of 200 ops of 64 elements"] = chain(200, 64)
        out["ops"] = {name: op(body, many) for name, body, many in cases()}
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
