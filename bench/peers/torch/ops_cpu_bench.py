#!/usr/bin/env python3
"""ops_cpu_bench.py [--threads 1,16] [--only NAME,NAME] [--mask LIST] [--json]: our CPU backend and PyTorch, op by op, in turns in one process.

Host to host, in ms: median and least, and PyTorch's time over ours in each turn, median and extremes (above 1: ours is faster). PyTorch's
convolutions are timed in both layouts; ours take and give rows. One thread: pin it to a core that is quiet (taskset -c 3)."""
import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from beside import in_turns, one_op, open_cpu, random, text_of  # noqa: E402

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402


def conv(device, given, made, kernel, size, groups=1):
    x, w = random(1, given, size, size), random(made, given // groups, kernel, kernel)
    tx, tw, pad = torch.from_numpy(x), torch.from_numpy(w), kernel // 2
    lx, lw = tx.to(memory_format=torch.channels_last), tw.to(memory_format=torch.channels_last)
    return {"ours": one_op(device, "Conv", {"x": x}, {"w": w}, pads=[pad] * 4, group=groups),
            "torch": lambda: F.conv2d(tx, tw, padding=pad, groups=groups),
            "torch, channels last": lambda: F.conv2d(lx, lw, padding=pad, groups=groups)}


def conv_of_steps(device, channels, taps, steps):
    x, w = random(1, channels, steps), random(channels, 1, taps)
    tx, tw = torch.from_numpy(x), torch.from_numpy(w)
    return {"ours": one_op(device, "Conv", {"x": x}, {"w": w}, pads=[taps // 2] * 2, group=channels),
            "torch": lambda: F.conv1d(tx, tw, padding=taps // 2, groups=channels)}


def gelu(device):
    x = random(512, 2048)
    tx, ty = torch.from_numpy(x), torch.empty(512, 2048)
    return {"ours": one_op(device, "Gelu", {"x": x}, {}), "torch": lambda: F.gelu(tx),
            "torch, into the same": lambda: torch.ops.aten.gelu.out(tx, out=ty)}


def recurrent(device, op, cell, gates):
    x, network = random(400, 1, 640), cell(640, 640)
    weights = {"w": random(1, gates * 640, 640), "r": random(1, gates * 640, 640), "b": random(1, 2 * gates * 640)}
    tx = torch.from_numpy(x)
    return {"ours": one_op(device, op, {"x": x}, weights), "torch": lambda: network(tx)}


def attention(device, tokens):
    q, k, v = (random(1, 8, tokens, 64) for _ in range(3))
    tq, tk, tv = map(torch.from_numpy, (q, k, v))
    return {"ours": one_op(device, "Attention", {"q": q, "k": k, "v": v}, {}),
            "torch": lambda: F.scaled_dot_product_attention(tq, tk, tv)}


def product(device, m, n, k):
    x, w = random(m, k), random(n, k)
    tx, tw = torch.from_numpy(x), torch.from_numpy(w)
    return {"ours": one_op(device, "MatMul", {"x": x}, {"w": w}, transpose_b=1), "torch": lambda: F.linear(tx, tw)}


def product_of_bf16(device, m, n, k):
    x, w = random(m, k), random(n, k)
    tx, tw = torch.from_numpy(x).bfloat16(), torch.from_numpy(w).bfloat16()
    half = tw.view(torch.int16).numpy().view("uint16")
    return {"ours": one_op(device, "MatMul", {"x": x}, {"w": half}, {"w": "bf16"}, "relaxed", transpose_b=1),
            "torch": lambda: F.linear(tx, tw)}


CASES = {
    "conv1x1": lambda d: conv(d, 128, 64, 1, 128),
    "depthwise3x3": lambda d: conv(d, 64, 64, 3, 128, 64),
    "depthwise1x9": lambda d: conv_of_steps(d, 512, 9, 400),
    "gelu": gelu,
    "lstm": lambda d: recurrent(d, "LSTM", torch.nn.LSTM, 4),
    "gru": lambda d: recurrent(d, "GRU", torch.nn.GRU, 3),
    **{f"attention{t}": (lambda d, t=t: attention(d, t)) for t in (128, 256, 512, 1024, 2048, 4096)},
    "f32": lambda d: product(d, 512, 2048, 2048),
    "bf16": lambda d: product_of_bf16(d, 512, 2048, 2048),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", default="1,16")
    parser.add_argument("--only", default=",".join(CASES), help="some of " + ", ".join(CASES))
    parser.add_argument("--mask", default="", help="levels or features of the processor to leave out: amx_tile")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    torch.set_grad_enabled(False)
    everything = []
    for threads in map(int, chosen.threads.split(",")):
        torch.set_num_threads(threads)
        _context, device = open_cpu(threads, chosen.mask)
        for name in chosen.only.split(","):
            rows = in_turns(CASES[name](device), rest=0.03 if threads > 1 else 0)
            everything.append({"threads": threads, "op": name, "rows": rows})
            if not chosen.json:
                print(text_of(f"{threads} threads, {name}", rows), flush=True)
    if chosen.json:
        print(json.dumps({"torch": torch.__version__, "ops": everything}, indent=1))


if __name__ == "__main__":
    main()
