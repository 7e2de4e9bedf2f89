#!/bin/sh
# setup.sh [--test|--ci]: installs what building and the demo need and this machine lacks; --test adds drivers that run everywhere
# (lavapipe, PoCL), ONNX's tests of its operators, and what builds and tests the Rust crates (cargo, valgrind). Debian 12 packages only; touches nothing when all is there. --ci adds the formatters, checkers, clang, ccache, and what builds for
# Windows and runs it.
set -eu
cd "$(dirname "$0")/.."

# What a program or header tells whether it is there, and the package that brings it. A header that no source includes is skipped.
tools="g++:g++ glslc:glslc cmake:cmake ninja:ninja-build pkg-config:pkg-config npm:npm"
headers="hwy/highway.h:libhwy-dev CLI/CLI.hpp:libcli11-dev nlohmann/json.hpp:nlohmann-json3-dev
         xxhash.h:libxxhash-dev png.h:libpng-dev jpeglib.h:libjpeg-dev sndfile.h:libsndfile1-dev samplerate.h:libsamplerate0-dev gtest/gtest.h:libgtest-dev
         vulkan/vulkan_core.h:libvulkan-dev CL/cl.h:opencl-c-headers"
if [ "${1:-}" = --ci ]; then
    tools="$tools git:git python3:python3-minimal clang++:clang clang-format:clang-format rustfmt:rustfmt clang-tidy:clang-tidy ccache:ccache lintian:lintian ld.lld:lld qemu-x86_64-static:qemu-user-static
           x86_64-w64-mingw32-g++-posix:g++-mingw-w64-x86-64-posix aarch64-linux-gnu-g++:g++-aarch64-linux-gnu
           qemu-aarch64-static:qemu-user-static"
fi

packages=
want() { packages="$packages $1"; }
for row in $tools; do
    command -v "${row%%:*}" >/dev/null 2>&1 || want "${row#*:}"
done
for row in $headers; do
    header=${row%%:*}
    grep -rqF -e "<$header>" -e "\"$header\"" src backends tests bench 2>/dev/null || continue
    if command -v g++ >/dev/null 2>&1 && printf '#include <cstdio>\n#include <%s>\n' "$header" | g++ -std=c++20 -E -x c++ - >/dev/null 2>&1; then
        continue
    fi
    want "${row#*:}"
done
if [ "${1:-}" = --ci ] || [ "${1:-}" = --test ]; then
    ls /usr/share/vulkan/icd.d/lvp_icd*.json >/dev/null 2>&1 || want mesa-vulkan-drivers
    ls /usr/lib/*/libvulkan.so.1 >/dev/null 2>&1 || want libvulkan1
    [ -e /etc/OpenCL/vendors/pocl.icd ] || want pocl-opencl-icd
    ls /usr/lib/*/libOpenCL.so.1 >/dev/null 2>&1 || want ocl-icd-libopencl1
    [ -d /usr/share/libonnx-testdata/data/node ] || want libonnx-testdata
    command -v cargo >/dev/null 2>&1 || want "cargo rustc"
    command -v valgrind >/dev/null 2>&1 || want valgrind
    for module in numpy setuptools wheel pip; do  # the Python package is built and tested with Debian's own
        /usr/bin/python3 -c "import $module" 2>/dev/null || want "python3-$module"
    done
fi
if [ "${1:-}" = --ci ]; then
    /usr/bin/python3 -c "import mypy" 2>/dev/null || want python3-mypy  # what a checker of types makes of the Python package
    for row in /usr/bin/mpirun:openmpi-bin /usr/sbin/slurmd:slurmd /usr/sbin/slurmctld:slurmctld /usr/bin/srun:slurm-client /usr/sbin/munged:munge; do
        [ -e "${row%%:*}" ] || want "${row#*:}"
    done
    # Wine's Vulkan works on a display alone: one that nobody sees.
    for row in /usr/lib/wine/wine64:wine64 /usr/bin/xvfb-run:xvfb /usr/bin/xauth:xauth /usr/src/googletest:googletest; do
        [ -e "${row%%:*}" ] || want "${row#*:}"
    done
    # The standard library of Rust for Windows is of Debian's compiler, whatever other one is here.
    [ -e /usr/lib/rustlib/x86_64-pc-windows-gnu ] || want "cargo rustc libstd-rust-dev-windows"
fi
# The fuzzers and sanitizers of clang are a package of their own; its name carries the version.
if [ "${1:-}" = --ci ] && ! ls /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a >/dev/null 2>&1; then want libclang-rt-14-dev; fi

if [ -z "$packages" ]; then
    echo "setup: everything is here"
    exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "setup: missing, by their Debian names:$packages. This is not Debian: install their like with your package manager, then run again" >&2
    exit 1
fi
as_root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "setup: missing:$packages. You are not root and there is no sudo: as root, run  apt-get install --no-install-recommends$packages" >&2
        exit 1
    fi
    as_root=sudo
fi
echo "setup: installing$packages"
$as_root apt-get update -q
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -q -y --no-install-recommends $packages
