#!/bin/sh
# fetch-ggml.sh: a stock ggml from npm, for tests and benchmarks: libggml-base and 14 CPU modules of ggml 0.25.1 into
# build/packages/ggml-linux-x64, the same with the Vulkan module into build/packages/ggml-linux-x64-vulkan, those of 0.9.5 into
# build/packages/ggml-3.15.1, those of 0.15.3 into build/packages/ggml-3.19.0. Nothing of it is part of this repository. Done before: does
# nothing. Exit 3: the npm registry could not be reached; 1: anything else.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/packages
scratch=$(mktemp -d build/packages/.part.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
is_whole() { printf '%s  %s\n' "$2" "$1" | sha512sum -c --status 2>/dev/null; }

# PACKAGE VERSION FOLDER SHA-512: nothing is left half-way, all moves come last.
fetch() {
    package=@node-llama-cpp/$1 version=$2 folder=build/packages/$3 sum=$4 file=node-llama-cpp-$1-$2.tgz
    [ -d "$folder" ] && return
    if ! is_whole "build/packages/$file" "$sum"; then
        echo "fetch-ggml: fetching $package@$version"
        (cd "$scratch" && npm pack --silent --ignore-scripts "$package@$version" >/dev/null) || {
            echo "fetch-ggml: npm could not fetch $package@$version. Is the network up, and does 'npm config get registry' name one you can reach?" >&2
            exit 3
        }
        is_whole "$scratch/$file" "$sum" || {
            echo "fetch-ggml: $file is not the file we know (its SHA-512 differs); if it stays so, do not use it" >&2
            exit 1
        }
        mv "$scratch/$file" build/packages
    fi
    tar -xzf "build/packages/$file" -C "$scratch"
    mv "$scratch/package" "$folder"
}

fetch linux-x64 3.22.1 ggml-linux-x64 e6e0820cda9608d7da026f1a47f533c5ba381c1a4a80d17dd640873dea4a86032057638099ab6879f6ce94c8a1b2a0a21f639ddf913f7941d00856df44126e3a
fetch linux-x64 3.15.1 ggml-3.15.1 c3849dc49680f5e24b558597f89bf8f214cfe283bbf41250205511322ee15c81576f1cb23a8bffafab15690d5688bf379d5cdadfb539420e0bf466ff29174d59
fetch linux-x64 3.19.0 ggml-3.19.0 7059d78f2466149fa556ad10405a9f9460dd17952730fcc72c84388b65e0e79dba42958ec37202d003e2665b8abf2a970ad53e838e191f860f40d50aaac646e8
fetch linux-x64-vulkan 3.22.1 ggml-linux-x64-vulkan 6c1c6a53e24e701bb59dbe508f6cdc31c8be241c93d44f046a31ef62877235f5483e41215e1fbf1ccc11d7f053ef13f4f182b4864b3e90cf1f825111d0ff0912
