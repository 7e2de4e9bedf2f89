#!/usr/bin/env python3
"""attention_cpu_bench.py [--threads 1,16]: time PyTorch's attention on the CPU at the shapes of `backplane bench ops --device cpu --attention`.

scaled_dot_product_attention, float32, 8 heads of 64. Medians of at least nine runs and a second, after two to warm up; JSON."""
import argparse
import json
import statistics
import time

import torch
import torch.nn.functional as F


def median_ms(body):
    for _ in range(2):
        body()
    times = []
    start = time.perf_counter()
    while len(times) < 9 or time.perf_counter() - start < 1:
        begin = time.perf_counter()
        body()
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", default="1,16")
    threads = [int(n) for n in parser.parse_args().threads.split(",")]
    rows = {}
    with torch.inference_mode():
        for n in threads:
            torch.set_num_threads(n)
            for tokens in (128, 256, 512, 1024, 2048, 4096):
                q, k, v = (torch.rand(1, 8, tokens, 64) * 2 - 1 for _ in range(3))
                rows[f"{n} threads, {tokens} tokens"] = round(median_ms(lambda: F.scaled_dot_product_attention(q, k, v)), 4)
    print(json.dumps({"torch": torch.__version__, "ms": rows}, indent=1))


if __name__ == "__main__":
    main()
