#!/usr/bin/env python3
"""tiny_model.py VOCABULARY OUT: a llama of two layers with random weights, and the vocabulary of a GGUF file that has one alone."""
import array
import random
import struct
import sys

WIDTH, HEADS, INNER, LAYERS = 64, 4, 128, 2
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
TEXT, LIST, U32, F32 = 8, 9, 4, 6


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, form):
        (value,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def text(self):
        size = self.number("Q")
        self.at += size
        return self.data[self.at - size:self.at]

    def skip(self, kind):
        if kind == TEXT:
            self.text()
        elif kind == LIST:
            inner, count = self.number("I"), self.number("Q")
            if inner in SIZES:
                self.at += SIZES[inner] * count
            else:
                for _ in range(count):
                    self.skip(inner)
        else:
            self.at += SIZES[kind]


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def main(vocabulary, out):
    r = Reader(open(vocabulary, "rb").read())
    assert r.number("4s") == b"GGUF"
    r.number("I"), r.number("Q")
    pairs, tokens = [], 0
    for _ in range(r.number("Q")):
        start, key = r.at, r.text().decode()
        kind, value = r.number("I"), r.at
        r.skip(kind)
        if key == "tokenizer.ggml.tokens":
            tokens = struct.unpack_from("<Q", r.data, value + 4)[0]
        if not key.startswith("llama.") and key != "general.file_type":
            pairs.append(r.data[start:r.at])
    for key, value in {"context_length": 256, "embedding_length": WIDTH, "block_count": LAYERS, "feed_forward_length": INNER,
                       "attention.head_count": HEADS, "attention.head_count_kv": HEADS, "rope.dimension_count": WIDTH // HEADS,
                       "vocab_size": tokens}.items():
        pairs.append(text("llama." + key) + struct.pack("<II", U32, value))
    pairs.append(text("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", F32, 1e-5))
    tensors = [("token_embd.weight", (WIDTH, tokens)), ("output_norm.weight", (WIDTH,)), ("output.weight", (WIDTH, tokens))]
    for i in range(LAYERS):
        tensors += [(f"blk.{i}.{n}.weight", shape) for n, shape in {
            "attn_norm": (WIDTH,), "attn_q": (WIDTH, WIDTH), "attn_k": (WIDTH, WIDTH), "attn_v": (WIDTH, WIDTH),
            "attn_output": (WIDTH, WIDTH), "ffn_norm": (WIDTH,), "ffn_gate": (WIDTH, INNER), "ffn_up": (WIDTH, INNER),
            "ffn_down": (INNER, WIDTH)}.items()]
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(pairs)) + b"".join(pairs)
    offset, data, rng = 0, [], random.Random(11)
    for name, shape in tensors:
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        head += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", 0, offset)
        data.append(array.array("f", (1.0 if "norm" in name else rng.uniform(-0.3, 0.3) for _ in range(count))).tobytes())
        offset += len(data[-1])
        assert offset % 32 == 0
    with open(out, "wb") as f:
        f.write(head + b"\0" * (-len(head) % 32))
        f.writelines(data)


main(*sys.argv[1:3])
