"""Runs by native/run.c, of sessions and of ONNX files, and those that it leaves to Python."""

import collections
import sys

import backplane
import numpy as np
from test_package import NODES, OnTheCpu


class Native(OnTheCpu):
    def test_a_run_by_one_call_of_the_interpreters_is_the_same_as_one_in_python(self):
        graph = backplane.Graph()
        a, b = graph.input("a", (3, 2)), graph.input("b", (2,), "i64")
        graph.output(graph.add("Neg", a), "less")
        graph.output(graph.add("Add", b, b), "twice")
        session = backplane.Session(self.device, graph)
        given = {"a": self.random.standard_normal((3, 2), np.float32), "b": np.array([3, -4])}
        results = session.run(given)
        self.assertIsNotNone(session._ready[0].native)  # the wheel has it
        self.assertEqual(list(results), ["less", "twice"])
        of_others = [collections.ChainMap(given), dict(given, b=np.array([3, -4], ">i8").astype("i8")), dict(reversed(given.items()))]
        for way, same in enumerate(of_others + [given]):
            with self.subTest(way=way):
                if same is given:
                    session._ready[0].native = None
                for name, array in session.run(same).items():
                    np.testing.assert_array_equal(array, results[name])
        session._ready.clear()
        for wrong, word in ((dict(given, c=given["a"]), "'c'"), ({"a": given["a"]}, "1 inputs"), (dict(given, a=given["a"].T), r"shape"),
                            (dict(given, b=np.array([3, 4], np.int32)), "int64"), (dict(given, b=[1, 2, 3]), "shape")):
            with self.refused("invalid", word):
                session.run(wrong)
        things = given, given["a"], given["b"].dtype, np.ndarray, dict, "dtype", "less"
        before = [sys.getrefcount(thing) for thing in things]
        for _ in range(1000):
            session.run(given)
        after = [sys.getrefcount(thing) for thing in things]
        self.assertLess(max(abs(a - b) for a, b in zip(after, before)), 100)  # each run leaves none

    def test_a_model_goes_on_by_it_until_sizes_or_contents_are_others(self):
        path = NODES / "test_reshape_reordered_all_dims" / "model.onnx"
        if not path.exists():
            self.skipTest("libonnx-testdata is not here")
        session = backplane.ModelSession(self.device, backplane.Model(path))
        data = self.random.standard_normal((2, 3, 4), np.float32)
        shapes = [(4, 2, 3), (4, 2, 3), (4, 2, 3), (3, 2, 4), (3, 2, 4), (4, 2, 3), (4, 2, 3)]  # each as large as the others: contents alone tell
        for shape in shapes:
            (result,) = session.run({"data": data, "shape": np.array(shape)}).values()
            np.testing.assert_array_equal(result, data.reshape(shape))
        self.assertIsNotNone(session._ready[0].native)
        with self.refused("invalid", "data"):
            session.run({"data": data.astype("f8"), "shape": np.array(shapes[0])})
        code = None
        try:
            session.run({"data": data, "shape": np.array((5, 2, 3))})
        except backplane.Error as error:
            code = error.code, "Reshape" in str(error)
        self.assertEqual(code, ("invalid", True))
