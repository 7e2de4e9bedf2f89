#!/usr/bin/env python3
"""report.py FOLDER: what `run` beside it measured, as JSON: medians in milliseconds, and how many times as fast ours is."""
import json
import pathlib
import statistics
import sys

folder = pathlib.Path(sys.argv[1])


def theirs(kind):
    rows = [line.split() for line in (folder / f"theirs-{kind}").read_text().splitlines()]
    return {"encoder_ms": statistics.median(float(row[0]) for row in rows), "whole_ms": statistics.median(float(row[1]) for row in rows)}


def ours(kind):
    decoder, text, rows = json.JSONDecoder(), (folder / f"ours-{kind}").read_text(), []
    while text := text.lstrip():
        row, end = decoder.raw_decode(text)
        rows.append(row)
        text = text[end:]
    return {key: statistics.median(row[key] for row in rows) for key in ("encoder_ms", "whole_ms", "gflops", "peak_gflops")}


report = {"parakeet-cli f32": theirs("f32"), "parakeet-cli f16": theirs("f16"), "backplane f32": ours("f32"), "backplane q8_0": ours("q8_0")}
report["ratio, encoder, f32"] = report["parakeet-cli f32"]["encoder_ms"] / report["backplane f32"]["encoder_ms"]
report["ratio, whole, f32"] = report["parakeet-cli f32"]["whole_ms"] / report["backplane f32"]["whole_ms"]
report["ratio, encoder, f16 to q8_0"] = report["parakeet-cli f16"]["encoder_ms"] / report["backplane q8_0"]["encoder_ms"]
print(json.dumps({key: value if isinstance(value, dict) else round(value, 2) for key, value in report.items()}, indent=2))
