"""manual_test.py PROGRAM: man pages and completions hold every command and option that --help has, and shells take them."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])


def said(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60, check=True).stdout


def commands(path=()):
    """Every command's path, with the long options that its help has, () the program itself."""
    text = said(*path, "--help")
    options = set(re.findall(r"^  +(?:-\w, ?)?(--[a-z0-9-]+)", text, re.M))
    yield path, options
    if "\nCommands:\n" in text or "\nSubcommands:\n" in text:
        below = re.split(r"\n(?:Commands|Subcommands):\n", text)[1].split("\n\n")[0]
        for name in re.findall(r"^  ([a-z-]+)", below, re.M):
            yield from commands((*path, name))


ALL = dict(commands())


class Manual(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_help_was_read(self):
        for path in ((), ("devices",), ("bench", "ops"), ("model", "fetch"), ("completion",)):
            self.assertIn(path, ALL)
        self.assertIn("--device", ALL["upscale",])
        self.assertGreater(len(ALL), 35)

    def test_every_command_and_option_has_its_place_on_a_man_page(self):
        said("man", self.folder)
        for path, options in ALL.items():
            name = "-".join(("backplane", *path[:1])) + ".1"
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                page = file.read().replace("\\-", "-")
            if len(path) > 1:
                self.assertIn("\n.SH backplane " + " ".join(path) + "\n", page)
                page = page.split("\n.SH backplane " + " ".join(path) + "\n")[1].split("\n.SH ")[0]
            for option in options:
                self.assertRegex(page, rf"\n\.B [^\n]*{option}\b", f"{path} {option}")
        self.assertEqual(len(os.listdir(self.folder)), 1 + len([path for path in ALL if len(path) == 1]))
        if shutil.which("man"):
            for name in ("backplane.1", "backplane-upscale.1", "backplane-modules.1"):
                run = subprocess.run(["man", "--warnings", "-l", os.path.join(self.folder, name)], capture_output=True, text=True,
                                     timeout=60, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "100"})
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                self.assertIn("SYNOPSIS", run.stdout)

    def test_every_command_and_option_is_in_each_completion(self):
        for shell in ("bash", "zsh", "fish"):
            text = said("completion", shell)
            for path, options in ALL.items():
                at = " ".join(("", *path))
                if shell == "fish":
                    rows = [line for line in text.split("\n") if f'__backplane_at "{at}"' in line]
                else:
                    rows = [line for line in text.split("\n") if line.startswith(f'        "{at}") ')]
                    self.assertEqual(len(rows), 1, f"{shell} {path}")
                for option in options:
                    word = option if shell != "fish" else " -l " + option[2:] + " "
                    self.assertTrue(any(word in row + " " for row in rows), f"{shell} {path} {option}")

    def bash(self, *words):
        script = os.path.join(self.folder, "bash")
        with open(script, "w", encoding="utf-8") as file:
            file.write(said("completion", "bash"))
        run = subprocess.run(["bash", "--norc", "-euc", 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _backplane; '
                              'printf "%s\\n" "${COMPREPLY[@]}"', "-", script, "backplane", *words], capture_output=True, text=True, timeout=60, cwd=self.folder)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return set(run.stdout.split())

    def test_bash(self):
        self.assertEqual(self.bash("dev"), {"devices"})
        self.assertEqual(self.bash("bench", "o"), {"ops"})
        self.assertTrue(ALL["bench", "ops"] <= self.bash("bench", "ops", "--"))
        self.assertEqual(self.bash("upscale", "in.png", "--scale", ""), {"2", "3", "4", "8"})
        self.assertEqual(self.bash("completion", ""), {"bash", "zsh", "fish"} | self.bash("completion", "-"))
        os.mkdir(os.path.join(self.folder, "models of mine"))
        with open(os.path.join(self.folder, "models.txt"), "w", encoding="utf-8"):
            pass
        self.assertEqual(self.bash("upscale", "--models", "models"), {"models", "of", "mine"})  # folders alone

    def test_other_shells_take_theirs(self):
        for shell, check in (("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])):
            if not shutil.which(shell):
                continue
            path = os.path.join(self.folder, shell)
            said("completion", shell, "-o", path)
            run = subprocess.run([*check, path], capture_output=True, text=True, timeout=60)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
        if shutil.which("fish"):
            run = subprocess.run(["fish", "-N", "-c", f"source {self.folder}/fish; complete -C 'backplane bench o'; complete -C 'backplane upscale x --scale '"],
                                 capture_output=True, text=True, timeout=60, env={"PATH": os.environ["PATH"], "HOME": self.folder})
            self.assertEqual([line.split("\t")[0] for line in run.stdout.split("\n") if line], ["ops", "2", "3", "4", "8"], run.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
