#!/usr/bin/env python3
"""speed.py [--sizes 110m,0.6b] [--seconds 60] [--batch 1] [--device cpu|cuda] [--dtype f32|f16] [--threads 2] [--runs 5]

Times the encoder of transformers' Parakeet networks (5.17, ParakeetEncoder) with random weights at the sizes of the published ones, from features
on the device to its output there, beside `backplane bench speech`. Median and least of the runs in milliseconds, after two that warm up; JSON,
a line for each size and length."""
import argparse
import json
import time

import torch
from transformers.models.parakeet.configuration_parakeet import ParakeetEncoderConfig
from transformers.models.parakeet.modeling_parakeet import ParakeetEncoder

SIZES = {"110m": (17, 512, 2048, 80, True), "0.6b": (24, 1024, 4096, 128, False)}

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--sizes", default="110m,0.6b")
parser.add_argument("--seconds", default="60", help="of sound in a clip; several with commas")
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--device", default="cpu")
parser.add_argument("--dtype", default="f32", choices=["f32", "f16"])
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--runs", type=int, default=5)
args = parser.parse_args()

torch.set_num_threads(args.threads)
for size in args.sizes.split(","):
    layers, width, inner, mels, biases = SIZES[size]
    config = ParakeetEncoderConfig(hidden_size=width, num_hidden_layers=layers, num_attention_heads=8, num_key_value_heads=8,
                                   intermediate_size=inner, conv_kernel_size=9, num_mel_bins=mels, subsampling_conv_channels=256,
                                   subsampling_factor=8, attention_bias=biases, convolution_bias=biases, scale_input=biases,
                                   max_position_embeddings=10000)
    torch.manual_seed(1)
    kind = torch.float16 if args.dtype == "f16" else torch.float32
    model = ParakeetEncoder(config).eval().to(args.device, kind)
    for seconds in args.seconds.split(","):
        frames = int(float(seconds) * 100) + 1
        features = torch.randn(args.batch, frames, mels, dtype=kind, device=args.device)
        times = []
        with torch.inference_mode():
            for run in range(args.runs + 2):
                begin = time.perf_counter()
                model(features)
                if args.device != "cpu":
                    torch.cuda.synchronize()
                times.append((time.perf_counter() - begin) * 1000)
        times = sorted(times[2:])
        print(json.dumps({"network": size, "device": args.device, "dtype": args.dtype, "seconds": float(seconds), "batch": args.batch,
                          "threads": args.threads, "encoder_ms": round(times[len(times) // 2], 2), "encoder_least_ms": round(times[0], 2)}),
              flush=True)
