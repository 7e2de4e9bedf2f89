"""python onnx_file.py MODEL.onnx: runs a file on the best device, its inputs filled with ones, what is open being 1."""

import sys

import backplane
import numpy as np

with backplane.Context() as context, backplane.Model(sys.argv[1]) as model:
    inputs = {}
    for value in model.inputs:
        shape = [n if isinstance(n, int) else 1 for n in value.shape or ()]
        inputs[value.name] = np.ones(shape, {"f32": np.float32, "i64": np.int64}[value.dtype])
    for name, array in backplane.ModelSession(context, model).run(inputs).items():
        print(name, array.dtype, array.shape, array.ravel()[:4])
