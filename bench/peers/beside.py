"""Bodies of work timed in turns, for the scripts beside this one: on a shared machine only what ran in the same minute compares.

The package backplane (bindings/python) does ours: PYTHONPATH names its folder, BACKPLANE_LIBRARY the library, BACKPLANE_MODULES the folder of
modules, all three of build/release where they are not set."""
import os
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
sys.path.insert(0, str(ROOT / "bindings/python"))
os.environ.setdefault("BACKPLANE_LIBRARY", str(BUILD / "bindings/lib/libbackplane_models.so"))

import backplane  # noqa: E402  (needs what is set above)
import numpy as np  # noqa: E402

NUMBERS = np.random.default_rng(1)


def random(*shape):
    return (NUMBERS.random(shape, np.float32) * 2 - 1).astype(np.float32)


def open_cpu(threads, mask=""):
    """The device cpu:0 with so many threads, without the features or levels of `mask`, and its context, which must live as long."""
    modules = os.environ.get("BACKPLANE_MODULES", str(BUILD / "lib/backplane"))
    context = backplane.Context(module_paths=[modules], search_defaults=False, device="cpu", cpu_mask=mask, probe="never")
    device = context.open("cpu:0")
    device.set_option("threads", threads)
    return context, device


def one_op(device, op, inputs, weights, dtypes=None, math="default", **attributes):
    """A function that runs a graph of one op and gives its first result as "y". dtypes: of what is not f32, by name; of weights in blocks, whose
    arrays are bytes, with the shape."""
    graph = backplane.Graph()
    values = []
    for make, arrays in ((graph.input, inputs), (graph.weight, weights)):
        for name, array in arrays.items():
            kind = (dtypes or {}).get(name, "f32")
            dtype, shape = kind if isinstance(kind, tuple) else (kind, array.shape)
            values.append(make(name, shape, dtype))
    graph.output(graph.add_all(op, *values, **attributes)[0], "y")
    return backplane.Session(device, graph, weights, math=math).bind(inputs)


def times(body, seconds):
    out = []
    end = time.perf_counter() + seconds
    while not out or time.perf_counter() < end:
        begin = time.perf_counter()
        body()
        out.append((time.perf_counter() - begin) * 1e3)
    return out


def in_turns(bodies, rounds=7, seconds=0.06, rest=0.0):
    """{name: median and least in ms, and the ratio of its time to the first one's, the median and the extremes of all rounds}.

    rest: seconds before each turn, in which the threads of the one before go to sleep."""
    begin = time.perf_counter()
    for body in bodies.values():
        body()
        body()
    if time.perf_counter() - begin > 0.6:
        rounds = min(rounds, 4)
    medians = {name: [] for name in bodies}
    least = dict.fromkeys(bodies, float("inf"))
    for _ in range(rounds):
        for name, body in bodies.items():
            time.sleep(rest)
            run = times(body, seconds)
            medians[name].append(statistics.median(run))
            least[name] = min(least[name], *run)
    first = medians[next(iter(bodies))]
    rows = {}
    for name, values in medians.items():
        ratios = sorted(a / b for a, b in zip(values, first))
        rows[name] = {"ms": statistics.median(values), "least_ms": least[name], "ratio": statistics.median(ratios),
                      "ratio_least": ratios[0], "ratio_most": ratios[-1]}
    return rows


def text_of(name, rows):
    """A line: what ran, then each body."""
    parts = []
    for i, (body, row) in enumerate(rows.items()):
        ratio = "" if i == 0 else " x{ratio:.2f} ({ratio_least:.2f} to {ratio_most:.2f})".format(**row)
        parts.append("{0} {1[ms]:.4f} (least {1[least_ms]:.4f}){2}".format(body, row, ratio))
    return f"{name}: " + ", ".join(parts)
