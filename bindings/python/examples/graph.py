"""A graph built op by op, on the best device."""

import backplane
import numpy as np

graph = backplane.Graph()
x = graph.input("x", (2, 64))
w = graph.weight("w", (64, 10))
graph.output(graph.add("Softmax", graph.add("MatMul", x, w), axis=1), "y")

random = np.random.default_rng(1)
with backplane.Context() as context, context.open() as device:
    session = backplane.Session(device, graph, {"w": random.standard_normal((64, 10), np.float32)})
    print(device.info.name)
    print(session.run({"x": random.standard_normal((2, 64), np.float32)})["y"])
