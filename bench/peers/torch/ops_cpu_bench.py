#!/usr/bin/env python3
"""ops_cpu_bench.py [--threads 1,16] [--backplane build/release/bin/backplane]: PyTorch on the CPU and `backplane bench ops --device cpu:0`.

Single ops in float32 at the sizes that `bench ops` has, both with as many threads, one after the other in one call: medians in ms, PyTorch's
over ours (above 1: ours is faster), and what ours is of its limit. PyTorch's convolutions are timed in both layouts, and the faster counts.
A table, or with --json the same as JSON."""
import argparse
import json
import subprocess
import sys

import torch
import torch.nn.functional as F

from attention_cpu_bench import median_ms


def random(*shape):
    return torch.rand(*shape) * 2 - 1


def conv(given, made, kernel, size, groups=1):
    image, filters = random(1, given, size, size), random(made, given // groups, kernel, kernel)
    last = image.to(memory_format=torch.channels_last), filters.to(memory_format=torch.channels_last)
    run = lambda x, w: F.conv2d(x, w, padding=kernel // 2, groups=groups)
    return [lambda: run(image, filters), lambda: run(*last)]


def conv_of_steps(channels, taps, steps):
    x, filters = random(1, channels, steps), random(channels, 1, taps)
    return [lambda: F.conv1d(x, filters, padding=taps // 2, groups=channels)]


def unary(function):
    x = random(512, 2048)
    return [lambda: function(x)]


def recurrent(cell):
    network, x = cell(640, 640), random(400, 1, 640)
    return [lambda: network(x)]


# By the names that `bench ops` gives them, with the op that its --op takes.
CASES = {
    "Conv 1x1 128->64 @128": ("Conv", lambda: conv(128, 64, 1, 128)),
    "Conv 3x3 64->64 depthwise @128": ("Conv", lambda: conv(64, 64, 3, 128, 64)),
    "Conv 1x9 512 depthwise, 400 steps": ("Conv", lambda: conv_of_steps(512, 9, 400)),
    "Gelu 512x2048": ("Gelu", lambda: unary(F.gelu)),
    "LSTM 640 units, 400 steps": ("LSTM", lambda: recurrent(torch.nn.LSTM)),
    "GRU 640 units, 400 steps": ("GRU", lambda: recurrent(torch.nn.GRU)),
}


def ours(backplane, threads):
    rows = {}
    for op in sorted({op for op, _ in CASES.values()}):
        command = [backplane, "bench", "ops", "--device", "cpu:0", "--threads", str(threads), "--op", op, "--json"]
        rows.update({row["name"]: row for row in json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["ops"]})
    missing = sorted(CASES.keys() - rows.keys())
    if missing:
        sys.exit(f"ops_cpu_bench: '{backplane} bench ops' does not time {', '.join(missing)}: build it from this checkout")
    return rows


def compare(backplane, threads):
    torch.set_num_threads(threads)
    mine = ours(backplane, threads)
    for name, (_, make) in CASES.items():
        theirs = min(median_ms(body) for body in make())
        row = mine[name]
        yield {
            "threads": threads,
            "op": name,
            "ms": round(row["median_ms"], 4),
            "of_limit": round(row["of_limit"], 2),
            "torch_ms": round(theirs, 4),
            "ratio": round(theirs / row["median_ms"], 2),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", default="1,16")
    parser.add_argument("--backplane", default="build/release/bin/backplane")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    with torch.inference_mode():
        rows = [row for threads in chosen.threads.split(",") for row in compare(chosen.backplane, int(threads))]
    if chosen.json:
        print(json.dumps({"torch": torch.__version__, "rows": rows}, indent=1))
        return
    print(f"| threads | op | ours | of its limit | PyTorch {torch.__version__} | ratio |\n| --- | --- | --- | --- | --- | --- |")
    for row in rows:
        print("| {threads} | {op} | {ms} ms | {of_limit} | {torch_ms} ms | {ratio} |".format(**row))


if __name__ == "__main__":
    main()
