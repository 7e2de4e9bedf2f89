"""What editors and checkers are told of the package: types, docstrings; and what its oldest Python takes."""

import ast
import importlib.util
import inspect
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import backplane

PACKAGE = Path(backplane.__file__).parent


def functions_of(kind):
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        member = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if inspect.isfunction(member) and (name in ("__enter__", "__init__") or not name.startswith("_")):
            yield name, member


class WhatIsPublic(unittest.TestCase):
    def test_says_what_it_is_and_of_which_types(self):
        seen = 0
        for name in backplane.__all__:
            what = getattr(backplane, name)
            if not callable(what):
                continue
            self.assertTrue(what.__doc__, name)
            functions = functions_of(what) if inspect.isclass(what) else [("", what)]
            for inner, function in functions:
                if inspect.isclass(what) and not function.__module__.startswith("backplane"):
                    continue  # of Exception
                with self.subTest(f"{name}.{inner}"):
                    seen += 1
                    self.assertTrue(inner.startswith("__") or function.__doc__, "no docstring")
                    signature = inspect.signature(function)
                    self.assertIsNot(signature.return_annotation, signature.empty, "what it gives has no type")
                    for parameter in list(signature.parameters.values())[1 if inspect.isclass(what) and inner != "__enter__" else 0:]:
                        self.assertIsNot(parameter.annotation, parameter.empty, f"{parameter} has no type")
        self.assertGreater(seen, 60)

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "no mypy (Debian: python3-mypy)")
    def test_is_known_to_a_checker_by_way_of_with_too(self):
        program = """
import backplane
import numpy as np
with backplane.Context() as context, backplane.Model("m.onnx") as model:
    session = backplane.ModelSession(context, model, device="cpu")
    reveal_type(context)
    reveal_type(context.open("cpu").info.memory_free)
    reveal_type(model.inputs[0].name)
    reveal_type(session.run({"x": np.ones(4, np.float32)}))
with backplane.WeightFile("w.gguf") as weights, backplane.Upscaler(context, "e.gguf") as upscaler:
    reveal_type(backplane.Session(context.open(), backplane.Graph(), weights))
reveal_type(backplane.transcribe("a.flac", model="p.gguf").text)
backplane.Model(3)
context.open(4)
context.opne("cpu")
"""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "user.py"
            path.write_text(program)
            said = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder, str(path)], capture_output=True, text=True,
                                  cwd=folder, check=False).stdout
        for words in ('"backplane.devices.Context"', '"builtins.int"', '"builtins.str"', '"backplane.graphs.Session"',
                      "dict[builtins.str, numpy.ndarray", 'Argument 1 to "Model"', 'Argument 1 to "open"', 'has no attribute "opne"', "Found 3 errors"):
            self.assertIn(words, said)
        self.assertNotIn('type is "Any"', said)


class TheOldestPython(unittest.TestCase):
    def test_takes_what_is_written(self):
        for path in PACKAGE.glob("*.py"):
            with self.subTest(path.name):
                tree = ast.parse(path.read_text(), feature_version=(3, 9))
                # Types joined by | are made there in annotations alone, which nobody evaluates.
                for statement in tree.body:
                    if isinstance(statement, ast.Assign):
                        self.assertFalse([n for n in ast.walk(statement.value) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.BitOr)],
                                         f"line {statement.lineno}")


if __name__ == "__main__":
    unittest.main()
