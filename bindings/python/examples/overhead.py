"""What this package adds to a run: the smallest graph, run by the C call alone, bound to arrays, and with new arrays, in turns. Prints medians in nanoseconds."""
import ctypes
import statistics
import sys
import time

import backplane
import numpy as np
from backplane import _library

RUNS, TURNS = 2000, 31


def seconds(run) -> float:  # of this thread, which does all of it: what else the machine does is no part of that
    start = time.thread_time()
    for _ in range(RUNS):
        run()
    return (time.thread_time() - start) / RUNS


with backplane.Context() as context:
    device = context.open(sys.argv[1] if len(sys.argv) > 1 else "cpu")
    device.set_option("threads", "1")
    graph = backplane.Graph()
    graph.output(graph.add("Relu", graph.input("x", (1,))), "y")
    session = backplane.Session(device, graph)
    x, y = np.ones(1, np.float32), np.zeros(1, np.float32)
    bound = session.bind({"x": x}, {"y": y})
    # The function itself, with what it takes made beforehand: what ctypes costs anyone.
    function = getattr(_library._library, "backplane_session_submit")
    given, outputs = _library.Value(b"x", x.ctypes.data, x.nbytes, None), _library.Value(b"y", y.ctypes.data, y.nbytes, None)
    arguments = (ctypes.c_void_p(session.pointer), ctypes.byref(given), ctypes.c_uint32(1), ctypes.byref(outputs), ctypes.c_uint32(1), None, None, None)
    ways = {"C call by ctypes": lambda: function(*arguments), "bound": bound, "new arrays": lambda: session.run({"x": x})}
    times = {name: [] for name in ways}
    for _ in range(TURNS):
        for name, run in ways.items():
            times[name].append(seconds(run))
    for name, each in times.items():
        print(f"{name}: {statistics.median(each) * 1e9:.0f} ns a run")
