#!/bin/sh
# build.sh PRESET [TARGET...]: configures (once) and builds build/PRESET, see CMakePresets.json. Uses ccache when it is there, so
# that the second of two ways to build the same sources costs little. BACKPLANE_JOBS: how many compilers at once. BACKPLANE_UNITY=OFF
# compiles each source by itself from now on in this folder: what is changed again and again is built sooner, the whole later; ON goes back.
# Where nothing was built yet, the target `demo` alone builds the cpu backend for this machine (BACKPLANE_DEMO); whatever else is built there
# later has the rest of it compiled as well, and a demo after that keeps it. BACKPLANE_CONFIGURE: further options for CMake, from now on in this folder.
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
mkdir -p build
launcher=
if command -v ccache >/dev/null 2>&1; then
    launcher="-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache"
    export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DIR="${CCACHE_DIR:-$PWD/build/.ccache}"
fi
demo=
if [ "$*" = demo ]; then
    [ -e "build/$preset/build.ninja" ] || demo=ON
elif grep -qs '^BACKPLANE_DEMO:BOOL=ON$' "build/$preset/CMakeCache.txt"; then
    demo=OFF
fi
if [ -n "${BACKPLANE_UNITY:-}${BACKPLANE_CONFIGURE:-}$demo" ] || [ ! -e "build/$preset/build.ninja" ] || [ CMakePresets.json -nt "build/$preset/build.ninja" ]; then
    # shellcheck disable=SC2086
    cmake --preset "$preset" $launcher ${BACKPLANE_UNITY:+-DBACKPLANE_UNITY=$BACKPLANE_UNITY} ${demo:+-DBACKPLANE_DEMO=$demo} ${BACKPLANE_CONFIGURE:-} >"build/$preset.configure.log" 2>&1 || { cat "build/$preset.configure.log" >&2; exit 1; }
fi
exec ninja -C "build/$preset" -j"${BACKPLANE_JOBS:-$(nproc)}" "$@"
