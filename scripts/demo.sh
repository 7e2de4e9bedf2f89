#!/bin/sh
# demo.sh: upscales a real photograph x2, and writes down what is said in a clip, on the best device this machine has. `make demo` builds and
# fetches first.
set -eu
cd "$(dirname "$0")/.."
photo=$(scripts/fetch-photo.sh | tail -n 1)
mkdir -p build/demo
echo
build/release/bin/backplane devices
echo
build/release/bin/backplane upscale "$photo" build/demo/upscaled.png --model build/models/esrgan-medium-x2.gguf --scale 2 \
    --compare build/demo/before-after.png
echo
echo "What is said in models/parakeet-mini/example.flac:"
build/release/bin/backplane transcribe models/parakeet-mini/example.flac --model models/parakeet-mini/parakeet-mini-q8_0.gguf --timestamps
echo
echo "before   $photo"
echo "after    build/demo/upscaled.png"
echo "both     build/demo/before-after.png   (look at this one)"
