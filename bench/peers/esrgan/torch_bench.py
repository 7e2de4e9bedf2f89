#!/usr/bin/env python3
"""torch_bench.py MODEL.gguf [--sizes 512,1024]: time PyTorch on a network of the same layers and weights on a CUDA device.

float32 with TF32 off and on, and f16; for each the faster of the usual and the channels-last layout. Medians of at least nine runs and
two seconds after a warm-up, cuDNN choosing its algorithms by measurement. Prints JSON."""
import argparse
import json
import statistics
import struct
import time

import numpy
import torch
import torch.nn.functional as F

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


class Gguf:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        self.at = 8
        tensors, values = self.take("Q"), self.take("Q")
        self.values = {}
        for _ in range(values):
            name = self.text()
            self.values[name] = self.value(self.take("I"))
        rows = []
        for _ in range(tensors):
            name = self.text()
            shape = [self.take("Q") for _ in range(self.take("I"))][::-1]
            rows.append((name, shape, self.take("I"), self.take("Q")))
        alignment = self.values.get("general.alignment", 32)
        start = (self.at + alignment - 1) // alignment * alignment
        self.tensors = {}
        for name, shape, kind, offset in rows:
            assert kind == 0, "float32 only"
            count = int(numpy.prod(shape))
            array = numpy.frombuffer(self.data, numpy.float32, count, start + offset).reshape(shape)
            self.tensors[name] = torch.from_numpy(array.copy())

    def take(self, code):
        (value,) = struct.unpack_from("<" + code, self.data, self.at)
        self.at += struct.calcsize("<" + code)
        return value

    def text(self):
        length = self.take("Q")
        self.at += length
        return self.data[self.at - length:self.at].decode()

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            kind, count = self.take("I"), self.take("Q")
            return [self.value(kind) for _ in range(count)]
        return self.take(SCALARS[kind])


class Network:
    def __init__(self, gguf, dtype, layout):
        self.layers = [line.split() for line in gguf.values["esrgan.layers"]]
        self.weights = {}
        for name, tensor in gguf.tensors.items():
            tensor = tensor.to("cuda", dtype)
            self.weights[name] = tensor.contiguous(memory_format=layout) if tensor.dim() == 4 else tensor

    def __call__(self, x):
        made = {}
        for kind, *words in self.layers:
            if kind == "input":
                made[words[0]] = x
                continue
            if kind == "output":
                return made[words[0]]
            name, options = words[0], dict(w.split("=") for w in words if "=" in w)
            given = [made[w] for w in words[1:] if "=" not in w]
            if kind == "conv":
                weight = self.weights[name + ".weight"]
                y = F.conv2d(given[0], weight, self.weights[name + ".bias"], padding=(weight.shape[2] // 2, weight.shape[3] // 2))
            elif kind == "relu":
                y = F.relu(given[0])
            elif kind == "concat":
                y = torch.cat(given, 1)
            elif kind == "add":
                y = sum(given[1:], given[0])
            elif kind == "upsample":
                y = F.interpolate(given[0], scale_factor=int(options["by"]), mode="nearest")
            else:
                raise SystemExit(f"torch_bench: no {kind} here; use a medium model")
            made[name] = y


def median_ms(network, x):
    for _ in range(4):
        network(x)
    torch.cuda.synchronize()
    times, start = [], time.perf_counter()
    while len(times) < 9 or time.perf_counter() - start < 2:
        begin = time.perf_counter()
        network(x)
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--sizes", default="512,1024")
    given = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    gguf = Gguf(given.model)
    out = {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "device": torch.cuda.get_device_name(), "ms": {}}
    with torch.inference_mode():
        for size in map(int, given.sizes.split(",")):
            image = torch.rand(1, 3, size, size) * 255
            for name, dtype, tf32 in (("f32", torch.float32, False), ("tf32", torch.float32, True), ("f16", torch.float16, False)):
                torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = tf32
                each = {}
                for layout_name, layout in (("planar", torch.contiguous_format), ("channels last", torch.channels_last)):
                    x = image.to("cuda", dtype).contiguous(memory_format=layout)
                    each[layout_name] = round(median_ms(Network(gguf, dtype, layout), x), 3)
                out["ms"][f"{name} {size}"] = each
                torch.cuda.empty_cache()
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
