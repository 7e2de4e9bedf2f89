#!/bin/sh
# rust_test.sh installed|shared|sources CMAKE BUILD_FOLDER SOURCE_FOLDER WORK_FOLDER [SHARED_LIBRARY]: the Rust crates (bindings/rust), as a stranger has them,
# with no crate from outside.
#   installed  cargo test against an install tree of the build: bindings against headers, wrong uses, results, examples of the documentation; the
#              example programs as people run them; and, where valgrind is, that nothing leaks or reads what is not its own
#   shared     the same tests against a shared library that holds all of Backplane
#   sources    nothing is installed: the build script builds the library with CMake
set -eu
mode=$1 cmake=$2 build=$3 source=$4 work=$5 shared=${6:-}
unset BACKPLANE_MODULE_PATH BACKPLANE_DEVICE BACKPLANE_DIR BACKPLANE_LIBRARY BACKPLANE_BUILD
say() { printf '== %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

command -v cargo >/dev/null 2>&1 || { echo "left out: no cargo here (scripts/setup.sh --test; Debian: cargo)"; exit 0; }
cargo --version
export CARGO_TARGET_DIR=$work/target CARGO_NET_OFFLINE=true CARGO_TERM_COLOR=never
# No file of the sources changes, and there is a space in the name of the folder.
copy="$work/the sources" crates="$work/the sources/bindings/rust"
mkdir -p "$crates" "$copy/models" "$copy/docs"
cp -R "$source/bindings/rust/." "$crates/"
cp -R "$source/models/parakeet-mini" "$copy/models/"
cp "$source/docs/before-after.jpg" "$copy/docs/"
cd "$crates"

if [ "$mode" = sources ]; then
    say "built from the sources"
    export BACKPLANE_BUILD=1 BACKPLANE_SOURCE=$source CMAKE=$cmake
    # The library and the oracle, without optimisation: that it is found, built, linked and used. What else there is to build is the same.
    BACKPLANE_CMAKE_ARGS="-DBACKPLANE_BACKENDS=reference -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG= -DCMAKE_C_FLAGS_DEBUG=" cargo run --offline -q -p backplane --no-default-features --example run_graph -- reference >"$work/said" ||
        fail "the sources do not build, or the example does not run"
    grep -qF '[4.0, 0.0, 10.0, 0.0]' "$work/said" || fail "the example computed something else: $(cat "$work/said")"
    say "done"
    exit 0
fi

prefix=$work/prefix
rm -rf "$prefix"
"$cmake" --install "$build" --prefix "$prefix" >"$work/install.log" 2>&1 || { cat "$work/install.log" >&2; fail "install"; }
if [ "$mode" = shared ]; then
    rm -f "$prefix"/lib/libbackplane*.a
    cp "$shared" "$prefix/lib/libbackplane_models.so.0"
    ln -s libbackplane_models.so.0 "$prefix/lib/libbackplane_models.so"
fi
export BACKPLANE_DIR=$prefix

say "$mode: cargo test"
if [ "$mode" = shared ]; then
    cargo test --offline -p backplane --tests || fail "the crates do not pass their tests"
    ldd "$(find "$CARGO_TARGET_DIR/debug/deps" -name 'results-*' ! -name '*.d')" | grep -q "$prefix/lib/libbackplane_models.so.0" || fail "the shared library is not what was linked"
    say "done"
    exit 0
fi
cargo test --offline || fail "the crates do not pass their tests"
if BACKPLANE_DIR=/nonexistent cargo build --offline -q -p backplane-sys 2>"$work/said"; then fail "a folder that is not there was taken"; fi
grep -q "cmake --install" "$work/said" || fail "what to do about a wrong BACKPLANE_DIR is not said"

say "a program in an empty folder, with nothing but the install tree"
rm -rf "$work/empty"
mkdir -p "$work/empty/src/bin"
cp backplane/examples/run_graph.rs "$work/empty/src/main.rs"
printf '[package]\nname = "hello"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nbackplane = { path = "%s" }\n' "$prefix/share/backplane/rust/backplane" >"$work/empty/Cargo.toml"
(cd "$work/empty" && unset BACKPLANE_DIR && cargo run --offline -q --bin hello) | grep -qF '[4.0, 0.0, 10.0, 0.0]' || fail "the program in an empty folder"
# The program of docs/use.md.
page=$work/empty/src/bin/page.rs
"$source/tests/install/use_page.sh" --extract "$source/docs/use.md" main.rs >"$page"
[ "$(wc -l <"$page")" -lt 40 ] || fail "the program of docs/use.md has 40 lines or more"
said=$(cd "$work/empty" && unset BACKPLANE_DIR && cargo run --offline -q --bin page -- "$source/tests/install/consumer/models/dense.onnx" cpu) ||
    fail "the program of docs/use.md"
[ "$said" = "y: 4.5 0 1" ] || fail "the program of docs/use.md says '$said'"

say "a library in Rust, with Backplane inside, for a program in C"
mkdir -p "$work/product"
cp -R "$source/tests/rust/product/." "$work/product/"
sed -i "s|path = .*bindings/rust/backplane\"|path = \"$crates/backplane\"|" "$work/product/Cargo.toml"
cargo build --offline -q --manifest-path "$work/product/Cargo.toml" || fail "the library in Rust does not build"
exported=$(nm -D --defined-only "$CARGO_TARGET_DIR/debug/libproduct.so" | awk '{ print $NF }')
[ "$exported" = product_relu ] || fail "the library in Rust exports: $exported"
"${CC:-cc}" -o "$work/product/user" "$source/tests/rust/product/user.c" -ldl
said=$(BACKPLANE_MODULE_PATH=$prefix/lib/backplane "$work/product/user" "$CARGO_TARGET_DIR/debug/libproduct.so" cpu) || fail "the program in C"
[ "$said" = "0 2 0 4" ] || fail "the library in Rust computes '$said'"

say "example programs, of at most 40 lines"
for example in list_devices run_graph run_model transcribe upscale; do
    [ "$(wc -l <"backplane/examples/$example.rs")" -le 40 ] || fail "$example has more than 40 lines"
done
# Of the whole workspace, as for the tests above: by -p the features are others, and all would be compiled again.
run() { BACKPLANE_MODULE_PATH=$prefix/lib/backplane cargo run --offline -q --example "$@"; }
run list_devices | grep -q '^chosen: ' || fail "list_devices"
run run_graph cpu | grep -qF '[4.0, 0.0, 10.0, 0.0]' || fail "run_graph"
if run run_graph no-such 2>"$work/said"; then fail "run_graph on a device that is not there"; fi
grep -q "no-such" "$work/said" || fail "run_graph does not name the device that is not there"
mini=$copy/models/parakeet-mini
run transcribe "$mini/parakeet-mini-q8_0.gguf" "$mini/example.flac" cpu 2>"$work/said" | grep -q 'things that can be said about the weather' || fail "transcribe"
photo=$source/build/models/fixture.png network=$source/build/models/esrgan-slim-x2.gguf
if [ -e "$photo" ] && [ -e "$network" ]; then
    run upscale "$network" "$photo" "$work/large.png" cpu >/dev/null 2>&1 || fail "upscale"
    [ -s "$work/large.png" ] || fail "upscale wrote nothing"
fi

if command -v valgrind >/dev/null 2>&1; then
    say "valgrind: no leak, and no memory but one's own"
    cargo test --offline --no-run -q --tests
    for test in wrong_uses results log onnx models; do
        program=$(find "$CARGO_TARGET_DIR/debug/deps" -name "$test-*" ! -name '*.d' -printf '%T@ %p\n' | sort -rn | head -n 1 | cut -d' ' -f2-)
        only=
        [ "$test" != models ] || only=enlarged  # speech takes minutes there
        # shellcheck disable=SC2086
        valgrind -q --suppressions="$source/tests/rust/valgrind.supp" --leak-check=full --errors-for-leak-kinds=definite,indirect --show-leak-kinds=definite,indirect --error-exitcode=9 \
            "$program" --test-threads=1 $only >"$work/valgrind.log" 2>&1 || { tail -n 60 "$work/valgrind.log" >&2; fail "$test under valgrind"; }
    done
else
    say "valgrind is not installed: not tried"
fi
say "done"
