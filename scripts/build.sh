#!/bin/sh
# build.sh PRESET [TARGET...]: configures (once) and builds build/PRESET, see CMakePresets.json. Uses ccache when it is there, so
# that the second of two ways to build the same sources costs little. BACKPLANE_JOBS: how many compilers at once.
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
mkdir -p build
launcher=
if command -v ccache >/dev/null 2>&1; then
    launcher="-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache"
    export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1 CCACHE_DIR="${CCACHE_DIR:-$PWD/build/.ccache}"
fi
if [ ! -e "build/$preset/build.ninja" ] || [ CMakePresets.json -nt "build/$preset/build.ninja" ]; then
    # shellcheck disable=SC2086
    cmake --preset "$preset" $launcher >"build/$preset.configure.log" 2>&1 || { cat "build/$preset.configure.log" >&2; exit 1; }
fi
exec ninja -C "build/$preset" -j"${BACKPLANE_JOBS:-$(nproc)}" "$@"
