"""fetch_test.py PROGRAM SOURCES: `backplane model fetch` against a registry of this machine that cuts off, sends other bytes, knows no pieces, waits."""
import hashlib
import http.server
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest

LONG = 500  # seconds: of what takes a moment, on a machine however busy
PROGRAM, SOURCES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])


def package(files):
    """A package's file as npm makes it: everything below package/."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=0) as tar:
        for name, content in files.items():
            info = tarfile.TarInfo("package/" + name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


NETWORK = os.urandom(9 << 20)  # more than one piece
FILE = package({"package.json": b"{}", "dist/net.onnx": NETWORK, "LICENSE": b"MIT"})


class Registry(http.server.BaseHTTPRequestHandler):
    """Each test says what it does with which request (by number, from 0)."""

    def do_GET(self):
        server = self.server
        with server.lock:
            number = len(server.asked)
            server.asked.append((self.path, self.headers.get("Range")))
        how = server.how(number)
        if self.path != "/npm/@someone/net/-/net-1.2.3.tgz" or how == "404":
            return self.send_error(404)
        data, status = server.file, 200
        if how != "whole" and self.headers.get("Range"):
            first, last = self.headers["Range"].removeprefix("bytes=").split("-")
            data, status = data[int(first):int(last) + 1], 206
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        try:
            if how == "cut":
                self.wfile.write(data[:len(data) // 2])
                self.close_connection = True
            elif how == "wait":
                self.wfile.write(data[:1000])
                self.wfile.flush()
                server.waiting.set()
                server.go_on.wait(LONG)
            else:
                self.wfile.write(data)
        except OSError:
            pass  # whoever asked was killed

    def log_message(self, *arguments):
        pass


class ModelFetch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="a fetch ")
        self.addCleanup(self.folder.cleanup)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
        self.server.lock, self.server.asked, self.server.file = threading.Lock(), [], FILE
        self.server.waiting, self.server.go_on = threading.Event(), threading.Event()
        self.server.how = lambda number: ""
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.address = f"http://127.0.0.1:{self.server.server_port}/npm"
        self.models = os.path.join(self.folder.name, "data", "backplane", "models")
        self.index = os.path.join(self.folder.name, "index.json")
        self.write_index()

    def write_index(self, **changes):
        entry = {"name": "net", "package": "@someone/net", "version": "1.2.3", "bytes": len(FILE),
                 "sha512": hashlib.sha512(FILE).hexdigest(), "files": {"dist/net.onnx": "net.onnx"}} | changes
        with open(self.index, "w", encoding="utf-8") as file:
            json.dump({"backplane_models": 1, "models": [entry]}, file)

    def environment(self, **more):
        kept = {"PATH": os.environ["PATH"], "HOME": self.folder.name, "XDG_DATA_HOME": os.path.join(self.folder.name, "data"),
                "NPM_CONFIG_REGISTRY": self.address + "/", "NPM_CONFIG_GLOBALCONFIG": "/nonexistent", "no_proxy": "127.0.0.1"}
        return {name: value for name, value in (kept | more).items() if value is not None}

    def command(self, *arguments):
        return [PROGRAM, "model", "fetch", *arguments, "--index", self.index]

    def run_it(self, *arguments, **more):
        return subprocess.run(self.command(*(arguments or ["net"])), env=self.environment(**more), capture_output=True, text=True, timeout=LONG)

    def left(self):
        scratch = os.path.join(self.models, ".fetch")
        return sorted(os.listdir(scratch)) if os.path.isdir(scratch) else []

    def fetched(self, run):
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(os.path.join(self.models, "net.onnx"), "rb") as file:
            self.assertEqual(file.read(), NETWORK)
        self.assertEqual(self.left(), [])

    def refused(self, run, *words):
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        for word in words:
            self.assertIn(word, run.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.models, "net.onnx")))

    def test_it_is_fetched_in_pieces_and_once(self):
        self.fetched(self.run_it())
        self.assertEqual([r for _, r in self.server.asked], ["bytes=0-8388607", f"bytes=8388608-{len(FILE) - 1}"])
        again = self.run_it()
        self.fetched(again)
        self.assertIn("is there already", again.stdout)
        self.assertEqual(len(self.server.asked), 2)
        listed = json.loads(self.run_it("--json").stdout)
        self.assertEqual((listed["folder"], listed["models"][0]["there"]), (self.models, True))

    def test_a_server_that_knows_no_pieces(self):
        self.server.how = lambda number: "whole"
        self.fetched(self.run_it())
        self.assertEqual(len(self.server.asked), 1)

    def test_one_that_was_cut_off_goes_on(self):
        self.server.how = lambda number: "cut" if number == 1 else ""
        self.refused(self.run_it(), "cut off after", "goes on there", self.address)
        there = 8388608 + (len(FILE) - 8388608) // 2
        self.fetched(self.run_it())
        self.assertEqual(self.server.asked[-1][1], f"bytes={there}-{len(FILE) - 1}")

    def test_other_bytes_are_refused_and_removed(self):
        self.server.file = FILE[:-1] + b"!"
        self.refused(self.run_it(), "SHA-512", "removed")
        self.assertFalse([name for name in self.left() if name.endswith(".tgz")])
        self.server.file = FILE
        self.fetched(self.run_it())

    def test_a_longer_file_is_not_read_to_its_end(self):
        self.server.file = FILE + b"more"
        self.fetched(self.run_it())  # what is known is its beginning, and whole

    def test_killed_it_goes_on(self):
        self.server.how = lambda number: "wait" if number == 1 else ""
        process = subprocess.Popen(self.command("net"), env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertTrue(self.server.waiting.wait(LONG))
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.fetched(self.run_it())  # while what curl was started for still waits
        self.assertEqual(self.server.asked[2][1], f"bytes=8388608-{len(FILE) - 1}")
        self.server.go_on.set()

    def test_interrupted_it_ends_at_once(self):
        self.server.how = lambda number: "wait"
        process = subprocess.Popen(self.command("net"), env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.assertTrue(self.server.waiting.wait(LONG))
        process.send_signal(signal.SIGINT)
        _, text = process.communicate(timeout=LONG)  # the server does not go on before
        self.assertEqual(process.returncode, 130, text)
        self.server.go_on.set()

    def test_two_at_a_time(self):
        self.server.how = lambda number: "wait" if number == 0 else ""
        first = subprocess.Popen(self.command("net"), env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertTrue(self.server.waiting.wait(LONG))
        second = self.run_it()
        self.assertEqual(second.returncode, 1)
        self.assertIn("lock", second.stderr)
        first.kill()
        first.wait()
        self.server.go_on.set()

    def test_which_registry(self):
        def answers(npmrc, **more):
            with open(os.path.join(self.folder.name, ".npmrc"), "w", encoding="utf-8") as file:
                file.write(npmrc)
            self.server.asked.clear()
            self.run_it(NPM_CONFIG_REGISTRY=None, PATH=os.path.dirname(self.curl()), **more)
            return len(self.server.asked) > 0
        self.server.how = lambda number: "404"
        self.assertTrue(answers(f"registry = {self.address}\n"))
        self.assertTrue(answers(f"registry=http://127.0.0.1:9\n@someone:registry={self.address}/\n"))
        self.assertFalse(answers(f"@other:registry={self.address}\nregistry=http://127.0.0.1:9\n"))
        self.assertTrue(answers("registry=${REGISTRY}", REGISTRY=self.address))
        self.assertTrue(answers("registry=http://127.0.0.1:9", npm_config_registry=self.address))

    def curl(self):
        """curl alone in a folder, so that there is no npm."""
        place = os.path.join(self.folder.name, "bin")
        os.makedirs(place, exist_ok=True)
        for name in ("curl", "tar", "gzip"):
            found = next(os.path.join(f, name) for f in os.environ["PATH"].split(":") if os.path.exists(os.path.join(f, name)))
            if not os.path.exists(os.path.join(place, name)):
                os.symlink(found, os.path.join(place, name))
        return os.path.join(place, "curl")

    def test_what_cannot_be_done_is_said_in_a_line(self):
        self.refused(self.run_it(PATH="/nonexistent"), "curl", "install it")
        self.refused(self.run_it(NPM_CONFIG_REGISTRY=None, PATH=os.path.dirname(self.curl())), "NPM_CONFIG_REGISTRY", ".npmrc")
        self.refused(self.run_it(NPM_CONFIG_REGISTRY="http://name:secret@127.0.0.1:9/npm"), "cannot fetch @someone/net 1.2.3 from http://127.0.0.1:9/npm", "check the network")
        self.assertNotIn("secret", self.run_it(NPM_CONFIG_REGISTRY="http://name:secret@127.0.0.1:9/npm").stderr)
        self.server.how = lambda number: "404"
        self.refused(self.run_it(), "404", "@someone/net 1.2.3")
        self.refused(self.run_it("nte"), "did you mean 'net'")
        for change in ({"files": {"../x": "net.onnx"}}, {"files": {"x": "../net.onnx"}}, {"package": "../../x"}, {"sha512": "00"}, {"files": {}}):
            self.write_index(**change)
            self.refused(self.run_it(), "no list of models")
        self.write_index(files={"dist/none.onnx": "net.onnx"})
        self.server.how = lambda number: ""
        self.refused(self.run_it(), "none.onnx")

    def test_commands_name_it(self):
        said = subprocess.run([PROGRAM, "plan", "--model", "thick", "--models", self.folder.name], env=self.environment(),
                              capture_output=True, text=True, timeout=60, cwd=self.folder.name)
        self.assertIn("`backplane model fetch esrgan-thick`", said.stderr)

    def test_the_list_that_comes_along(self):
        known = json.loads(subprocess.run([PROGRAM, "model", "fetch", "--json"], env=self.environment(), capture_output=True, text=True, timeout=LONG).stdout)
        with open(os.path.join(SOURCES, "scripts", "fetch-models.sh"), encoding="utf-8") as file:
            script = file.read()
        with open(os.path.join(SOURCES, "src", "cli", "known_models.json"), encoding="utf-8") as file:
            for model in json.load(file)["models"]:
                self.assertIn(model["sha512"], script)
        self.assertEqual([m["name"] for m in known["models"]], ["esrgan-slim", "esrgan-medium", "esrgan-thick", "silero-vad", "paddleocr"])

    def test_a_published_network(self):
        file = os.path.join(SOURCES, "build", "packages", "upscalerjs-esrgan-slim-1.0.0.tgz")
        if not os.path.exists(file):
            self.skipTest(f"there is no {file}: scripts/fetch-models.sh")
        os.makedirs(os.path.join(self.models, ".fetch"), mode=0o700)
        with open(os.path.join(SOURCES, "src", "cli", "known_models.json"), encoding="utf-8") as known:
            sha512 = next(m["sha512"] for m in json.load(known)["models"] if m["name"] == "esrgan-slim")
        os.symlink(file, os.path.join(self.models, ".fetch", sha512[:16] + ".tgz"))
        run = subprocess.run([PROGRAM, "model", "fetch", "esrgan-slim"], env=self.environment(), capture_output=True, text=True, timeout=LONG)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(sorted(os.listdir(self.models)), [f"esrgan-slim-x{scale}.gguf" for scale in (2, 3, 4, 8)])
        self.assertTrue(os.path.exists(file))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
