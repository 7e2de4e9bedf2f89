"""What _library.py says of the C headers is what a C compiler says of them."""

import ctypes
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from backplane import _library as c
from backplane import devices, speech

SOURCE = Path(os.environ["BACKPLANE_TEST_SOURCE"])
INCLUDE = SOURCE / "include"
HEADERS = ("backplane.h", "cost.h", "fit.h", "pipeline.h", "tune.h", "verify.h", "model.h", "quantize.h", "transcriber.h", "upscaler.h", "weight_file.h")


class Header(unittest.TestCase):
    def test_structs_have_the_sizes_and_offsets_of_the_headers(self):
        lines = ["#include <stddef.h>", "#include <stdio.h>", *[f"#include <backplane/{h}>" for h in HEADERS], "int main(void) {"]
        for name, struct in c.STRUCTS.items():
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            # A field that the header has behind the last of these would make the struct longer.
            lines += [f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));' for field, *_ in struct._fields_]
        lines += [f'printf("code {word} %d\\n", BP_{word.upper()});' for word in c.CODES]
        lines += [f'printf("kind {word} %d\\n", BP_KIND_{word.upper()});' for word in devices.KINDS]
        lines += [f'printf("decoder {word} %d\\n", BACKPLANE_DECODER_{word.upper()});' for word in speech.DECODERS]
        lines += [f'printf("streaming {word} %d\\n", BACKPLANE_STREAMING_{word.upper()});' for word in speech.STREAMINGS]
        lines += ['printf("rank %d\\n", BP_MAX_RANK);', "return 0; }"]
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "facts")
            Path(folder, "facts.c").write_text("\n".join(lines))
            subprocess.run([os.environ["BACKPLANE_TEST_COMPILER"], "-x", "c", "-std=c11", f"-I{INCLUDE}", f"{folder}/facts.c", "-o",
                            program], check=True)
            said = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
        wanted = []
        for name, struct in c.STRUCTS.items():
            wanted.append(f"{name} {ctypes.sizeof(struct)}")
            wanted += [f"{name}.{field} {getattr(struct, field).offset}" for field, *_ in struct._fields_]
        for kind, words in (("code", c.CODES), ("kind", devices.KINDS), ("decoder", speech.DECODERS), ("streaming", speech.STREAMINGS)):
            wanted += [f"{kind} {word} {i}" for i, word in enumerate(words)]
        wanted.append(f"rank {c.MAX_RANK}")
        self.assertEqual(said, wanted)

    def test_functions_take_as_many_arguments_as_in_the_headers(self):
        text = "".join((INCLUDE / "backplane" / header).read_text() for header in HEADERS)
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        declared = {}
        for name, arguments in re.findall(r"BACKPLANE_API[\w\s*]*?\bbackplane_(\w+)\(([^;]*)\);", text):
            declared[name] = 0 if arguments.strip() == "void" else len(arguments.split(","))
        self.assertGreater(len(declared), 60)
        for name, arguments in c._FALLIBLE.items():
            self.assertEqual(len(arguments) + 1, declared[name], name)
        for name, (_, arguments) in c._PLAIN.items():
            self.assertEqual(len(arguments), declared[name], name)
        for kind, verb in c._DESTROYED.items():
            self.assertEqual(declared[f"{kind}_{verb}"], 1, kind)


if __name__ == "__main__":
    unittest.main()
