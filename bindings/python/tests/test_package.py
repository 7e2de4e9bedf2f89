"""The package as its users see it: wrong uses first, then results, on the modules that it carries."""

import gc
import os
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
import weakref
from pathlib import Path

import backplane
import numpy as np

SOURCE = Path(os.environ["BACKPLANE_TEST_SOURCE"])
MINI = SOURCE / "models/parakeet-mini"
NODES = Path("/usr/share/libonnx-testdata/data/node")


def two_layers(rows=4):
    graph = backplane.Graph()
    x = graph.input("x", (rows, 64))
    w = graph.weight("w", (64, 32))
    graph.output(graph.add("Relu", graph.add("MatMul", x, w)), "y")
    return graph


class OnTheCpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.context = backplane.Context(environment=False)
        cls.device = cls.context.open("cpu")
        cls.random = np.random.default_rng(3)

    @classmethod
    def tearDownClass(cls):
        cls.device.close()
        cls.context.close()

    def refused(self, code, *words):
        test = self

        class Refused:
            def __enter__(self):
                return self

            def __exit__(self, kind, error, _):
                test.assertIsInstance(error, backplane.Error)
                test.assertEqual(error.code, code)
                for word in words:
                    test.assertIn(word, str(error))
                test.assertNotIn("\n", str(error))
                return True

        return Refused()


class Wrong(OnTheCpu):
    def test_what_is_not_there_is_named(self):
        with self.refused("not_found", "quantum"):
            self.context.open("quantum")
        with self.refused("not_found", "no.onnx"):
            backplane.Model("no.onnx")
        with self.refused("not_found", "no.gguf"):
            backplane.Transcriber(self.context, "no.gguf")
        with self.refused("not_found", "no.gguf"):
            backplane.Upscaler(self.context, "no.gguf")
        with self.refused("invalid", "Brew"):
            backplane.Graph().add("Brew")
        with self.refused("invalid", "sugar"):
            graph = backplane.Graph()
            graph.add("Relu", graph.input("x", (1,)), sugar=2)
        with self.refused("not_found", "spoons"):
            self.device.set_option("spoons", 2)
        with self.refused("invalid", "never"):
            backplane.Context(probe="perhaps")
        with self.refused("invalid", "cpu.spoons"):
            backplane.Context(environment=False, options={"cpu.threads": 1, "cpu.spoons": 2})
        with self.refused("invalid", "strict"):
            backplane.Session(self.device, two_layers(), {}, math="sloppy")

    def test_shapes_and_types_that_do_not_fit_are_named(self):
        graph = backplane.Graph()
        with self.refused("invalid", "3", "5"):
            graph.add("MatMul", graph.input("a", (2, 3)), graph.input("b", (5, 2)))
        other = backplane.Graph()
        with self.refused("invalid", "another graph"):
            graph.add("Relu", other.input("x", (2,)))
        with self.refused("invalid", "complex"):
            graph.input("c", (1,), complex)
        with self.refused("invalid"):
            graph.input("huge", (1 << 40, 1 << 40))
        w = np.ones((64, 32), np.float32)
        session = backplane.Session(self.device, two_layers(), {"w": w})
        with self.refused("invalid", "float64", "float32"):
            session.run({"x": np.ones((4, 64))})
        with self.refused("invalid", "(4, 63)", "(4, 64)"):
            session.run({"x": np.ones((4, 63), np.float32)})
        with self.refused("invalid", "'z'", "x"):
            session.run({"z": np.ones((4, 64), np.float32)})
        with self.refused("invalid", "x"):
            session.run({})
        x = np.ones((4, 64), np.float32)
        for room in (np.empty((4, 31), np.float32), np.empty((4, 32), np.float16), np.empty((4, 64), np.float32)[:, ::2]):
            with self.refused("invalid", "'y'", "(4, 32)"):
                session.run({"x": x}, {"y": room})
        with self.refused("invalid", "nothing"):
            session.run({"x": x}, {"nothing": np.empty((4, 32), np.float32)})
        with self.refused("invalid", "uint8"):
            backplane.Upscaler.upscale(None, np.ones((4, 4, 3)))

    def test_weights_that_are_missing_or_fail_are_told(self):
        with self.refused("not_found", "w"):
            backplane.Session(self.device, two_layers(), {})
        with self.refused("invalid", "w"):
            backplane.Session(self.device, two_layers(), {"w": np.ones((64, 31), np.float32)})

        def broken(_):
            raise ZeroDivisionError("of the source")

        with self.assertRaisesRegex(ZeroDivisionError, "of the source"):
            backplane.Session(self.device, two_layers(), broken)

    def test_a_handle_that_is_closed_says_so_and_closing_twice_is_fine(self):
        context = backplane.Context(environment=False)
        device = context.open("cpu")
        context.close()
        context.close()
        self.assertEqual(device.info.kind, "cpu")  # keeps what it needs
        with self.refused("invalid", "Context", "closed"):
            context.devices()
        device.close()
        with self.refused("invalid", "closed"):
            backplane.Session(device, two_layers(), {})

    def test_bad_files_are_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in (("empty", b""), ("text", b"no network\n" * 50), ("zeros", bytes(5000))):
                path = Path(folder, name)
                path.write_bytes(content)
                for opened in (backplane.Model, lambda p: backplane.Transcriber(self.context, p), lambda p: backplane.Upscaler(self.context, p)):
                    with self.refused("corrupt", name):
                        opened(path)


class Devices(OnTheCpu):
    def test_the_modules_of_the_package_are_found_by_themselves(self):
        own = str(Path(backplane.__file__).parent)
        used = [candidate for candidate in self.context.report()["candidates"] if candidate["path"].startswith(own)]
        self.assertIn("cpu", {candidate["backend"] for candidate in used})
        devices = self.context.devices()
        self.assertTrue(any(d.id == "cpu:0" and d.memory_total > 0 for d in devices), devices)

    def test_a_log_is_called(self):
        said = []
        with unittest.mock.patch.dict(os.environ, BACKPLANE_CACHE_DIR="a/relative/folder"):
            backplane.Context(log=lambda level, text: said.append((level, text))).close()
        self.assertTrue(any(level == 2 and "a/relative/folder" in text for level, text in said), said)


class Sessions(OnTheCpu):
    def test_results_are_numpys_own(self):
        x = self.random.standard_normal((4, 64), np.float32)
        w = self.random.standard_normal((64, 32), np.float32)
        wanted = np.maximum(x @ w, 0)
        session = backplane.Session(self.device, two_layers(), {"w": w})
        np.testing.assert_allclose(session.run({"x": x})["y"], wanted, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(session.run({"x": np.asfortranarray(x)})["y"], wanted, rtol=1e-4, atol=1e-4)
        room = np.empty_like(wanted)
        self.assertIs(session.run({"x": x}, {"y": room})["y"], room)
        np.testing.assert_allclose(room, wanted, rtol=1e-4, atol=1e-4)
        bound = session.bind({"x": x}, {"y": room})
        x *= 2  # read where it is, at each call
        np.testing.assert_allclose(bound()["y"], 2 * wanted, rtol=1e-4, atol=1e-4)
        self.assertIn("cpu:0", session.plan())

    def test_each_run_has_results_of_its_own_whatever_arrays_it_is_given(self):
        w = self.random.standard_normal((64, 32), np.float32)
        session = backplane.Session(self.device, two_layers(), {"w": w})
        written = self.random.standard_normal((4, 64), np.float32)
        only_read = written.copy()
        only_read.flags.writeable = False
        ways = {"as it is": written, "only read": only_read, "every second": np.repeat(written, 2, axis=1)[:, ::2], "by columns": np.asfortranarray(written),
                "of a subclass": written.view(np.matrix), "at an odd address": np.frombuffer(b"." + written.tobytes(), np.float32, offset=1).reshape(4, 64)}
        results = {way: session.run({"x": x})["y"] for way, x in ways.items()}
        for way, result in results.items():
            with self.subTest(way):
                self.assertEqual((type(result), result.flags.owndata), (np.ndarray, True))
                np.testing.assert_array_equal(result, results["as it is"])
        kept = results["as it is"].copy()
        session.run({"x": -written})
        np.testing.assert_array_equal(results["as it is"], kept)
        with self.refused("invalid", "float32"):
            session.run({"x": written.astype(">f4")})
        empty = backplane.Graph()
        empty.output(empty.add("Relu", empty.input("x", (0, 3))), "y")
        self.assertEqual(backplane.Session(self.device, empty).run({"x": np.empty((0, 3), np.float32)})["y"].shape, (0, 3))
        bound, gone = session.bind({"x": written}), weakref.ref(session)
        session.close()
        for run in (lambda: session.run({"x": written}), bound):
            with self.refused("invalid", "closed"):
                run()
        del session, bound, run
        self.assertIsNone(gone())  # without the collector

    def test_tensors_stay_on_the_device_from_session_to_session(self):
        x = self.random.standard_normal((4, 64), np.float32)
        w = self.random.standard_normal((64, 32), np.float32)
        session = backplane.Session([self.device], two_layers(), lambda name: {"w": w}[name])
        there, result = backplane.Tensor(self.device, x), backplane.Tensor(self.device, shape=(4, 32))
        self.assertEqual(session.run({"x": there}, {"y": result}), {})
        np.testing.assert_allclose(result.numpy(), np.maximum(x @ w, 0), rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(there.numpy(), x)

    def test_operands_left_out_attributes_constants_and_several_results(self):
        graph = backplane.Graph()
        x = graph.input("x", (1, 3, 8, 8), np.float32)
        w = graph.constant("w", np.ones((2, 3, 3, 3), np.float32))
        y = graph.add("Conv", x, w, None, strides=[2, 2], pads=(1, 1, 1, 1))
        self.assertEqual((y.shape, y.dtype), ((1, 2, 4, 4), "f32"))
        graph.output(graph.add("LeakyRelu", y, alpha=0.5), "y")
        for i, part in enumerate(graph.add_all("Split", x, axis=3, sizes=[3, 5])):
            graph.output(part, f"part{i}")
        given = self.random.standard_normal((1, 3, 8, 8), np.float32)
        results = backplane.Session(self.device, graph).run({"x": given})
        np.testing.assert_array_equal(results["part1"], given[..., 3:])
        whole = np.pad(given, ((0, 0), (0, 0), (1, 1), (1, 1)))[0]
        corner = whole[:, 0:3, 0:3].sum()
        np.testing.assert_allclose(results["y"][0, 0, 0, 0], corner if corner > 0 else corner / 2, rtol=1e-4, atol=1e-4)

    def test_a_state_stays_from_run_to_run(self):
        graph = backplane.Graph()
        total = graph.state("total", (2,))
        new = graph.add("Add", total, graph.input("x", (2,)))
        graph.update(total, new)
        graph.output(graph.add("Neg", new), "sum")
        session = backplane.Session(self.device, graph)
        one = np.array([1, 10], np.float32)
        session.run({"x": one})
        np.testing.assert_array_equal(session.run({"x": one})["sum"], -2 * one)
        session.reset_state()
        np.testing.assert_array_equal(session.run({"x": one})["sum"], -one)

    def test_a_run_ends_when_another_thread_cancels_it(self):
        graph = backplane.Graph()
        x = value = graph.input("x", (768, 768))
        for _ in range(400):
            value = graph.add("Tanh", graph.add("MatMul", value, x))
        graph.output(value, "y")
        session, cancel = backplane.Session(self.device, graph), backplane.Cancel()
        threading.Timer(0.05, cancel.set).start()  # the interpreter runs on beside the call
        with self.refused("cancelled"):
            session.run({"x": np.zeros((768, 768), np.float32)}, cancel=cancel)

    def test_nothing_is_left_of_what_was_dropped(self):
        def memory():
            return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        w = np.ones((64, 32), np.float32)
        x = np.ones((4, 64), np.float32)
        before = 0
        for i in range(300):
            backplane.Session(self.device, two_layers(), {"w": w}).run({"x": x})
            backplane.Tensor(self.device, np.ones(1 << 18, np.float32))
            if i == 50:
                gc.collect()
                before = memory()
        gc.collect()
        self.assertLess(memory() - before, 64 << 20)


@unittest.skipUnless(NODES.exists(), "Debian's libonnx-testdata is not installed")
class Models(OnTheCpu):
    def test_weights_of_a_file_are_found_by_name(self):
        rows = np.arange(6, dtype=np.float32).reshape(2, 3)
        header = b'{"__metadata__":{"by":"a test"},"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}'
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "w.safetensors")
            path.write_bytes(len(header).to_bytes(8, "little") + header + rows.tobytes())
            with self.refused("not_found", "none.safetensors"):
                backplane.WeightFile(Path(folder, "none.safetensors"))
            with self.refused("corrupt", "cut.safetensors"):
                Path(folder, "cut.safetensors").write_bytes(path.read_bytes()[:90])
                backplane.WeightFile(Path(folder, "cut.safetensors"))
            file = backplane.WeightFile(path)
            with self.refused("not_found", "named 'W'"):
                file.find("W")
            self.assertEqual((file.format, file.metadata, list(file.tensors)), ("safetensors", {"by": "a test"}, ["w"]))
            self.assertEqual(file.find("w"), backplane.WeightTensor("w", "f32", "F32", (2, 3), 24))
            np.testing.assert_array_equal(file.numpy("w"), rows)
            graph = backplane.Graph()
            x = graph.input("x", (1, 3))
            graph.output(graph.add("MatMul", x, file.add(graph, "w"), transpose_b=1), "y")
            with backplane.Session(self.device, graph, file) as session:
                file.close()
                given = np.array([[1, 10, 100]], np.float32)
                np.testing.assert_array_equal(session.run({"x": given})["y"], given @ rows.T)

    def test_weights_are_written_in_fewer_bits(self):
        rows = self.random.standard_normal((4, 64), np.float32)
        header = b'{"w":{"dtype":"F32","shape":[4,64],"data_offsets":[0,1024]},"b":{"dtype":"F32","shape":[4],"data_offsets":[1024,1040]}}'
        with tempfile.TemporaryDirectory() as folder:
            path, out = Path(folder, "w.safetensors"), Path(folder, "w.gguf")
            path.write_bytes(len(header).to_bytes(8, "little") + header + rows.tobytes() + np.ones(4, np.float32).tobytes())
            file = backplane.WeightFile(path)
            with self.refused("invalid", "i32"):
                file.quantize(out, "i32")
            cancel = backplane.Cancel()
            cancel.set()
            with self.assertRaises(backplane.Cancelled):
                file.quantize(out, cancel=cancel)
            self.assertFalse(out.exists())
            done = []
            made = {tensor.name: tensor for tensor in file.quantize(out, "q4_0", progress=done.append)}
            self.assertEqual(done[-1], 1)
            self.assertEqual((made["w"].dtype, made["w"].was, made["w"].shape, made["w"].bytes_before, made["w"].why), ("q4_0", "F32", (4, 64), 1024, ""))
            self.assertTrue(made["w"].bytes_after == 144 and 0 < made["w"].error < 0.12, made["w"])
            self.assertTrue(made["b"].dtype == "f32" and made["b"].error == 0 and "matrix" in made["b"].why, made["b"])
            self.assertEqual(backplane.WeightFile(out).find("w").dtype, "q4_0")
            self.assertIn("w*", {tensor.name: tensor.why for tensor in file.quantize(out, keep=["w*"])}["w"])

    def test_numbers_without_a_sign_are_numpys(self):
        for kind in (np.uint32, np.uint64):
            model = backplane.Model(NODES / f"test_max_{kind.__name__}/model.onnx")
            self.assertEqual([value.dtype for value in model.inputs], ["u" + kind.__name__[4:]] * 2)
            session = backplane.ModelSession(self.context, model, device="cpu")
            top = np.iinfo(kind).max
            for _ in range(2):  # the first run, and one whose call stands ready
                got = session.run({"data_0": np.array([1, top, 3], kind), "data_1": np.array([top - 1, 2, 3], kind)})["result"]
                np.testing.assert_array_equal(got, np.array([top - 1, top, 3], kind))
                self.assertEqual(got.dtype, kind)
            with self.refused("invalid", "astype"):
                session.run({"data_0": np.array([1, 2, 3], np.int64), "data_1": np.array([1, 2, 3], kind)})

    def test_an_onnx_file_runs(self):
        model = backplane.Model(NODES / "test_relu/model.onnx")
        self.assertEqual(model.inputs[0], backplane.ModelValue("x", "f32", (3, 4, 5)))
        self.assertEqual((model.info["format"], model.outputs[0].name), ("ONNX", "y"))
        self.assertTrue(model.check(self.device)["runs"])
        x = self.random.standard_normal((3, 4, 5), np.float32)
        for session in (backplane.ModelSession(self.device, model), backplane.ModelSession(self.context, model, device="cpu")):
            np.testing.assert_array_equal(session.run({"x": x})["y"], np.maximum(x, 0))
            np.testing.assert_array_equal(session.run({"x": backplane.Tensor(self.device, x)})["y"], np.maximum(x, 0))
            with self.refused("invalid", "x"):
                session.run({"x": x[..., 0]})
            with self.refused("invalid", "x"):
                session.run({})


class ModelsOfAnySize(OnTheCpu):
    def test_sizes_may_be_others_in_each_run(self):
        model = backplane.Model(SOURCE / "tests/install/consumer/models/dense.onnx")
        session = backplane.ModelSession(self.device, model)
        rows = self.random.standard_normal((5, 4), np.float32)
        whole = session.run({"x": rows})["y"]
        for at in (slice(0, 1), slice(1, 5), slice(0, 5), slice(3, 4)):
            np.testing.assert_allclose(session.run({"x": rows[at]})["y"], whole[at], rtol=1e-6)
            np.testing.assert_array_equal(session.run({"x": rows[at]}, cancel=backplane.Cancel())["y"], session.run({"x": rows[at]})["y"])
        for wrong in (rows[:, :3], rows[0], rows.reshape([5] + 8 * [1] + [4]), rows.astype(np.float64)):
            with self.refused("invalid", "x"):
                session.run({"x": wrong})
        np.testing.assert_array_equal(session.run({"x": rows})["y"], whole)
        with self.refused("invalid", "z"):
            session.run({"z": rows})
        gone = weakref.ref(session)
        session.close()
        with self.refused("invalid", "closed"):
            session.run({"x": rows})
        del session
        self.assertIsNone(gone())


class Speech(OnTheCpu):
    def test_the_clip_of_the_network_of_this_project_is_heard(self):
        model = MINI / "parakeet-mini-q8_0.gguf"
        said = backplane.transcribe(MINI / "example.flac", model=model, device="cpu")
        self.assertGreaterEqual(len(said.text.split()), 5)
        self.assertEqual(said.text.split(), [word.text for word in said.words])
        self.assertTrue(all(0 <= w.start <= w.end <= said.seconds + 0.1 and 0 <= w.confidence <= 1 for w in said.words), said.words)
        with backplane.Transcriber(self.device, model) as transcriber:
            rate = transcriber.info["sample_rate"]
            self.assertEqual(transcriber.transcribe(np.zeros(rate, np.float32)).words, ())
            with self.refused("invalid"):
                transcriber.transcribe(np.full(rate, np.nan, np.float32))
            for wrong in (np.zeros((rate, 2), np.float32), np.float32(0.5), 7, None):
                with self.refused("invalid", "mono"):
                    transcriber.transcribe(wrong)
            stream = transcriber.stream()
            lines = [line for part in np.split(np.zeros(2 * rate, np.float32), 8) for line in stream.feed(part)] + list(stream.finish())
            self.assertEqual([line for line in lines if line.words], [])


class Examples(unittest.TestCase):
    def test_each_is_short_and_runs(self):
        examples = sorted((SOURCE / "bindings/python/examples").glob("*.py"))
        self.assertGreaterEqual(len(examples), 3)
        arguments = {"transcribe.py": [MINI / "example.flac", MINI / "parakeet-mini-q8_0.gguf"],
                     "onnx_file.py": [NODES / "test_relu/model.onnx"]}
        for example in examples:
            with self.subTest(example.name):
                self.assertLess(len(example.read_text().splitlines()), 40)
                if example.name == "onnx_file.py" and not NODES.exists():
                    continue
                done = subprocess.run([sys.executable, example, *arguments.get(example.name, [])], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(done.stdout.strip())


if __name__ == "__main__":
    unittest.main()
