#!/bin/sh
# embed_test.sh CMAKE BUILD_FOLDER SOURCE_FOLDER WORK_FOLDER SHARED_LIBRARY: Backplane as part of another project, by the lines of docs/use.md,
# with one backend: that it is found, built, linked and used; what else there is to build is the same. A tree without the models: its headers, and GGUF. And a tree with shared libraries: configured and installed
# as such, with that library, which is linked of the objects of this build as they are there, in place of both.
set -eu
cmake=$1 build=$2 source=$3 work=$4 library=$5
unset BACKPLANE_MODULE_PATH BACKPLANE_DEVICE
say() { printf '== %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
page() { "$source/tests/install/use_page.sh" --extract "$source/docs/use.md" "$1"; }
quietly() { "$@" >"$work/log" 2>&1 || { tail -n 60 "$work/log" >&2; fail "$*"; }; }
rm -rf "$work"
mkdir -p "$work/app"

say "FetchContent"
page fetch/CMakeLists.txt >"$work/app/CMakeLists.txt"
awk '/^```cpp$/ { on = 1; next } /^```/ { on = 0 } on' "$source/README.md" >"$work/app/main.cpp"
# BUILD_SHARED_LIBS is the project's own, and not ours. Without optimisation, and by clang where it is: it is compiled in a quarter of the time.
gcc=${CC:-} gxx=${CXX:-}
if command -v clang++ >/dev/null; then export CC=clang CXX=clang++; fi
quietly "$cmake" -S "$work/app" -B "$work/app/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG= -DCMAKE_C_FLAGS_DEBUG= \
    -DBACKPLANE_SOURCES=unused -DFETCHCONTENT_SOURCE_DIR_BACKPLANE="$source" -DBUILD_SHARED_LIBS=ON -DBACKPLANE_UNITY=ON
if ninja -C "$work/app/build" -t targets all >"$work/targets" && grep -E '(unit_|e2e_|backplane_cli|bp_batch|bp_models|bindings|compat_)' "$work/targets"; then
    fail "there are targets of tools or tests"
fi
# What is neither asked for nor needed is not even looked for.
if grep -E '^(PNG|JPEG|GTest|BACKPLANE_sndfile)[A-Za-z_]*:' "$work/app/build/CMakeCache.txt"; then fail "libraries of tools, tests or pictures are looked for"; fi
quietly "$cmake" --build "$work/app/build"
BACKPLANE_DEVICE=reference "$work/app/build/app" | grep -qx '4 0 10 0' || fail "the program"
[ ! -e "$work/app/build/lib/libbackplane.so" ] || fail "the project's BUILD_SHARED_LIBS made it another library"
quietly "$cmake" --install "$work/app/build" --prefix "$work/app/installed"
(cd "$work/app/installed" && find . -type f | sort) >"$work/files"
printf './bin/app\n./bin/backplane/backplane-probe\n./bin/backplane/backplane-reference.so\n' | cmp -s - "$work/files" || fail "installed with the project: $(cat "$work/files")"
mv "$work/app/installed" "$work/elsewhere"
rm -rf "$work/app/build"
BACKPLANE_DEVICE=reference "$work/elsewhere/bin/app" | grep -qx '4 0 10 0' || fail "the installed program, moved"

if [ -n "$gxx" ]; then export CC="$gcc" CXX="$gxx"; else unset CC CXX; fi

say "the library alone"
quietly "$cmake" -S "$source" -B "$work/alone" -G Ninja -DBACKPLANE_MODELS=OFF -DBACKPLANE_TOOLS=OFF -DBACKPLANE_BACKENDS=reference -DBACKPLANE_TESTS=OFF \
    -DBACKPLANE_GGML_COMPAT=OFF -DCMAKE_SKIP_INSTALL_ALL_DEPENDENCY=ON
mkdir -p "$work/alone/lib/backplane"
cp "$build/lib/libbackplane.a" "$work/alone/lib/"
cp "$build/lib/backplane/backplane-reference.so" "$build/lib/backplane/backplane-probe" "$work/alone/lib/backplane/"
quietly "$cmake" --install "$work/alone" --prefix "$work/core"
for header in audio esrgan image model quantize transcriber upscaler weight_file; do
    for file in "$work/core/include/backplane/$header".h*; do [ ! -e "$file" ] || fail "${file##*/} is installed without the library that defines it"; done
done
# Every header that is there is whole with what is there.
for file in "$work"/core/include/backplane/*.hpp; do printf '#include "backplane/%s"\n' "${file##*/}"; done >"$work/headers.cpp"
quietly "${CXX:-c++}" -std=c++20 -fsyntax-only -I"$work/core/include" "$work/headers.cpp"
quietly "$cmake" -S "$source/tests/install/consumer" -B "$work/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$work/core" -DCONSUMER_MODELS=OFF -DCMAKE_BUILD_TYPE=Debug
quietly "$cmake" --build "$work/consumer"
[ "$("$work/consumer/gguf" "$work/w.gguf")" = "none w 6" ] || fail "GGUF of the library alone"

say "shared libraries"
quietly "$cmake" -S "$source" -B "$work/shared" -G Ninja -DBACKPLANE_SHARED=ON -DBACKPLANE_BACKENDS=reference -DBACKPLANE_TESTS=OFF -DBACKPLANE_TOOLS=OFF \
    -DBACKPLANE_GGML_COMPAT=OFF -DCMAKE_SKIP_INSTALL_ALL_DEPENDENCY=ON -DCMAKE_SKIP_INSTALL_RPATH=ON
mkdir -p "$work/shared/lib/backplane"
for name in backplane backplane_models; do
    cp "$library" "$work/shared/lib/lib$name.so.0.1.0"
    ln -s lib$name.so.0.1.0 "$work/shared/lib/lib$name.so.0"
    ln -s lib$name.so.0 "$work/shared/lib/lib$name.so"
done
cp "$build/lib/backplane/backplane-reference.so" "$build/lib/backplane/backplane-probe" "$work/shared/lib/backplane/"
quietly "$cmake" --install "$work/shared" --prefix "$work/prefix"
[ "$(cd "$work/prefix/include/backplane" && ls ./*.hpp)" = ./sdk.hpp ] || fail "headers of what the library does not export: $(ls "$work/prefix/include/backplane")"
[ -e "$work/prefix/include/backplane/model.h" ] || fail "the C headers of the models are not installed"
mkdir -p "$work/c" "$work/cpp"
page CMakeLists.txt >"$work/cpp/CMakeLists.txt"
sed 's/LANGUAGES CXX/LANGUAGES C CXX/; s/main\.cpp/main.c/' "$work/cpp/CMakeLists.txt" >"$work/c/CMakeLists.txt"
page main.c >"$work/c/main.c"
quietly "$cmake" -S "$work/c" -B "$work/c/build" -DCMAKE_PREFIX_PATH="$work/prefix"
quietly "$cmake" --build "$work/c/build"
said=$(LD_LIBRARY_PATH=$work/prefix/lib "$work/c/build/app" "$source/tests/install/consumer/models/dense.onnx" reference) || fail "a C program with the shared library"
[ "$said" = "y: 4.5 0 1" ] || fail "a C program with the shared library says '$said'"
readelf -d "$work/c/build/app" | grep -q 'NEEDED.*libbackplane_models' || fail "it is not linked with the shared library"
sed 's/COMPONENTS models/COMPONENTS models cxx/' "$work/cpp/CMakeLists.txt" >"$work/cpp/new" && mv "$work/cpp/new" "$work/cpp/CMakeLists.txt"
if "$cmake" -S "$work/cpp" -B "$work/cpp/build" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" 2>&1; then fail "a shared library passes for the C++ API"; fi
tr -s ' \n' ' ' <"$work/log" | grep -q "shared libraries, which export the C API alone" || fail "why there is no C++ API is not said: $(cat "$work/log")"
say "done"
