#!/usr/bin/env python3
"""random_network.py [--type f32|f16] FILE    a Parakeet TDT network of 110M parameters with random weights, as whisper.cpp's parakeet-cli reads it
random_network.py --sound SECONDS FILE      so much random sound as WAV

The layout (header, filters, window, durations, pieces, tensors with their dimensions in ggml's order) is that of whisper.cpp's
models/convert-parakeet-to-ggml.py. What has f16 there has it here with --type f16: matrices."""
import argparse
import array
import math
import random
import struct
import wave

WIDTH, INNER, LAYERS, HEADS, MELS, KERNEL, CHANNELS = 512, 2048, 17, 8, 80, 9, 256
VOCABULARY, PREDICTION, DURATIONS, MOST_SYMBOLS, FOURIER, WINDOW = 1024, 640, (0, 1, 2, 3, 4), 10, 512, 400
LONGEST = 5000  # frames of sound that parakeet-cli plans for

rng = random.Random(1)
POOL = array.array("f", (rng.gauss(0, 1) for _ in range(1 << 17)))


def numbers(count, scale):
    """So many normal numbers: pieces of a pool, each begun somewhere else."""
    scaled = array.array("f", (v * scale for v in POOL))
    out = array.array("f")
    while len(out) < count:
        begin = rng.randrange(len(scaled) // 2)
        out.extend(scaled[begin:begin + count - len(out)])
    return out


def tensors():
    def matrix(name, rows, columns):
        return name + ".weight", (rows, columns), numbers(rows * columns, 1 / math.sqrt(columns))

    def small(name, *shape, scale=0.02, about=0.0):
        values = numbers(math.prod(shape), scale)
        return name, shape, array.array("f", (abs(about + v) if about else v for v in values))

    def norm(name):
        yield small(name + ".weight", WIDTH, about=1.0)
        yield small(name + ".bias", WIDTH)

    first = "encoder.pre_encode."
    yield matrix(first + "out", WIDTH, MELS // 8 * CHANNELS)
    yield small(first + "out.bias", WIDTH)
    for number, shape in ((0, (CHANNELS, 1, 3, 3)), (2, (CHANNELS, 1, 3, 3)), (3, (CHANNELS, CHANNELS, 1, 1)), (5, (CHANNELS, 1, 3, 3)),
                          (6, (CHANNELS, CHANNELS, 1, 1))):
        yield small(f"{first}conv.{number}.weight", *shape, scale=1 / math.sqrt(math.prod(shape[1:])))
        yield small(f"{first}conv.{number}.bias", 1, CHANNELS, 1, 1)
    for layer in range(LAYERS):
        name = f"encoder.layers.{layer}."
        for which in ("1", "2"):
            yield from norm(name + "norm_feed_forward" + which)
            yield matrix(f"{name}feed_forward{which}.linear1", INNER, WIDTH)
            yield matrix(f"{name}feed_forward{which}.linear2", WIDTH, INNER)
        for which in ("norm_conv", "norm_self_att", "norm_out"):
            yield from norm(name + which)
        yield matrix(name + "conv.pointwise_conv1", 2 * WIDTH, WIDTH)
        yield small(name + "conv.depthwise_conv.weight", WIDTH, KERNEL, scale=1 / 3)
        yield from norm(name + "conv.batch_norm")
        yield small(name + "conv.batch_norm.running_mean", WIDTH)
        yield small(name + "conv.batch_norm.running_var", WIDTH, about=1.0)
        yield name + "conv.batch_norm.num_batches_tracked", (1,), array.array("f", [0.0])
        yield matrix(name + "conv.pointwise_conv2", WIDTH, WIDTH)
        for which in "uv":
            yield small(f"{name}self_attn.pos_bias_{which}", HEADS, WIDTH // HEADS)
        for which in ("q", "k", "v", "out", "pos"):
            yield matrix(f"{name}self_attn.linear_{which}", WIDTH, WIDTH)
    yield matrix("decoder.prediction.embed", VOCABULARY + 1, PREDICTION)
    lstm = "decoder.prediction.dec_rnn.lstm."
    for which in ("ih", "hh"):
        yield f"{lstm}weight_{which}_l0", (4 * PREDICTION, PREDICTION), numbers(4 * PREDICTION * PREDICTION, 1 / math.sqrt(PREDICTION))
    yield small(lstm + "bias_h_l0", 4 * PREDICTION)
    for name, outputs, inputs in (("joint.pred", PREDICTION, PREDICTION), ("joint.enc", PREDICTION, WIDTH),
                                  ("joint.joint_net.2", VOCABULARY + 1 + len(DURATIONS), PREDICTION)):
        yield matrix(name, outputs, inputs)
        bias = small(name + ".bias", outputs)
        if outputs > VOCABULARY:
            bias[2][-len(DURATIONS) + 2] = 20.0  # every step says something and goes on by two frames, as often as speech does
        yield bias


def is_matrix(name, shape):
    return len(shape) == 2 and "depthwise" not in name and "pos_bias" not in name


def halves(values):
    out = bytearray()
    for begin in range(0, len(values), 1 << 16):
        part = values[begin:begin + (1 << 16)]
        out += struct.pack(f"<{len(part)}e", *part)
    return out


def write_network(path, kind):
    with open(path, "wb") as file:
        def whole(*values):
            file.write(struct.pack(f"<{len(values)}i", *values))

        whole(0x67676D6C, VOCABULARY, LONGEST, WIDTH, HEADS, LAYERS, MELS, int(kind == "f16"), FOURIER, 8, CHANNELS, KERNEL, PREDICTION, 1,
              len(DURATIONS), MOST_SYMBOLS)
        bins = FOURIER // 2 + 1
        whole(MELS, bins)
        for mel in range(MELS):  # triangles, evenly
            middle, width = (mel + 1) * bins / (MELS + 1), bins / MELS
            file.write(struct.pack(f"<{bins}f", *(max(0.0, 1 - abs(k - middle) / width) for k in range(bins))))
        whole(WINDOW)
        file.write(struct.pack(f"<{WINDOW}f", *(0.5 - 0.5 * math.cos(2 * math.pi * k / (WINDOW - 1)) for k in range(WINDOW))))
        whole(*DURATIONS)
        whole(VOCABULARY)
        for piece in range(VOCABULARY):
            text = f"p{piece}".encode()
            whole(len(text))
            file.write(text)
        for name, shape, values in tensors():
            half = kind == "f16" and is_matrix(name, shape)
            text = name.encode()
            whole(len(shape), len(text), int(half), *reversed(shape))
            file.write(text)
            file.write(halves(values) if half else values.tobytes())


def write_sound(path, seconds):
    with wave.open(path, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(array.array("h", (int(3000 * max(-3.0, min(3.0, v))) for v in numbers(int(16000 * seconds), 1.0))).tobytes())


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("file")
parser.add_argument("--type", default="f32", choices=["f32", "f16"])
parser.add_argument("--sound", type=float, metavar="SECONDS")
args = parser.parse_args()
if args.sound:
    write_sound(args.file, args.sound)
else:
    write_network(args.file, args.type)
