"""wer_test.py SOURCE_FOLDER BACKPLANE: bench/wer on clips whose words are known, what goes wrong first."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

source, backplane = pathlib.Path(sys.argv[1]), sys.argv[2]
mini = source / "models/parakeet-mini"
SAID = ("there are many things that can be said about the weather in this country and most of them have been said before "
        "a small house by the river")


def wer(*arguments):
    environment = dict(os.environ, BACKPLANE_STATE_DIR=str(folder / "state"))
    return subprocess.run([sys.executable, source / "bench/wer", *map(str, arguments), "--model", mini / "parakeet-mini-q8_0.gguf",
                           "--backplane", backplane, "--device", "cpu:0"], capture_output=True, text=True, env=environment, check=False)


def expect(holds, outcome):
    if not holds:
        sys.exit(f"exit code {outcome.returncode}\n{outcome.stdout}\n{outcome.stderr}")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    sounds = folder / "sounds"
    sounds.mkdir()
    o = wer(sounds)
    expect(o.returncode == 1 and "no audio" in o.stderr and not o.stdout, o)

    shutil.copy(mini / "example.flac", sounds / "a.flac")
    o = wer(sounds)
    expect(o.returncode == 1 and "no reference" in o.stderr and not o.stdout, o)

    # Case, punctuation and kinds of apostrophes are nothing.
    (sounds / "a.txt").write_text(SAID.replace("there are", "There  are,").replace(" before", " before.\n"), encoding="utf-8")
    o = wer(sounds)
    expect(o.returncode == 0 and "word error rate: 0.0 %, 1 files, 28 words" in o.stdout, o)

    # One word replaced, one that was not said, two that are missing in the reference.
    shutil.copy(mini / "example.flac", sounds / "b.flac")
    (sounds / "b.txt").write_text("oh " + SAID.replace("weather", "wether").replace(" by the river", " by"), encoding="utf-8")
    (sounds / "bad.flac").write_bytes(b"no sound")
    (sounds / "bad.txt").write_text("never counted", encoding="utf-8")
    o = wer(sounds, "--json")
    expect(o.returncode == 1 and "bad.flac" in o.stderr, o)
    report = json.loads(o.stdout)
    expect([report[k] for k in ("words", "substitutions", "deletions", "insertions", "not_counted")] == [28 + 27, 1, 1, 2, 1], o)
    expect(abs(report["word_error_rate"] - 100 * 4 / 55) < 1e-9 and len(report["files"]) == 2, o)

    # In half precision either head says of the clip what it says in single.
    (sounds / "bad.flac").unlink()
    for decoder in ("ctc", "tdt"):
        o = wer(sounds / "a.flac", "--json", "--beside", "f16", "--decoder", decoder)
        expect(o.returncode == 0, o)
        beside = json.loads(o.stdout)["beside"]
        expect(beside["dtype"] == "f16" and beside["word_error_rate"] == json.loads(o.stdout)["word_error_rate"], o)
        expect([beside[k] for k in ("files", "same_text", "words_that_differ")] == [1, 1, 0] and beside["words"] > 20, o)
    o = wer(sounds, "--beside", "f16")
    expect(o.returncode == 0 and "2 of 2 files have the same text" in o.stdout and "0 of 56 words differ" in o.stdout, o)
