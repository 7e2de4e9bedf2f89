#!/bin/sh
# use_page.sh CMAKE PREFIX SOURCE_FOLDER WORK_FOLDER: what docs/use.md and README.md tell a stranger to do with the install tree PREFIX: their own
# lines, taken out of the pages. The programs in Rust and Python are with the tests of those packages (tests/rust, bindings/python/tests).
# use_page.sh --extract PAGE NAME: prints the block of the page that is called NAME.
set -eu
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

# A block begins with a line "```LANGUAGE NAME".
extract() {
    awk -v name="$2" '/^```/ { if (on) exit; on = ($2 == name); next } on' "$1" >"$3"
    [ -s "$3" ] || fail "$1 has no block '$2'"
}
if [ "$1" = --extract ]; then
    extract "$2" "$3" /dev/stdout
    exit
fi
cmake=$1 prefix=$2 source=$3 work=$4
page=$source/docs/use.md model=$source/tests/install/consumer/models/dense.onnx
unset BACKPLANE_MODULE_PATH BACKPLANE_DEVICE
say() { printf '== %s\n' "$*"; }
build() {
    "$cmake" -S "$1" -B "$1/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Debug >"$1.log" 2>&1 || { cat "$1.log" >&2; fail "$1 does not configure"; }
    "$cmake" --build "$1/build" >>"$1.log" 2>&1 || { cat "$1.log" >&2; fail "$1 does not build"; }
}
# run PROGRAM: on the device that is named, which is one that everybody has; and what it says of one that nobody has.
run() {
    for device in cpu reference; do
        [ -e "$prefix/lib/backplane/backplane-$device.so" ] || continue
        said=$("$1" "$model" $device) || fail "$1 does not run on $device"
        [ "$said" = "y: 4.5 0 1" ] || fail "$1 says '$said' on $device"
    done
    if "$1" "$model" no-such 2>"$work/said"; then fail "$1 took a device that is not there"; fi
    grep -q no-such "$work/said" || fail "$1 does not name the device that is not there"
}
rm -rf "$work"
mkdir -p "$work"
modules=$(find "$prefix/lib/backplane" -name 'backplane-*.so' 2>/dev/null | wc -l)

say "the README's example, by the README's lines"
mkdir "$work/readme"
awk '/^```cpp$/ { on = 1; next } /^```/ { on = 0 } on' "$source/README.md" >"$work/readme/main.cpp"
awk '/^```cmake$/ { on = 1; next } /^```/ { on = 0 } on' "$source/README.md" >"$work/readme/CMakeLists.txt"
build "$work/readme"
"$work/readme/build/app" | grep -qx '4 0 10 0' || fail "the README's example"

[ -e "$prefix/lib/libbackplane_models.a" ] || { say "no models in this tree"; exit 0; }
say "C++"
mkdir -p "$work/cpp"
extract "$page" CMakeLists.txt "$work/cpp/CMakeLists.txt"
extract "$page" main.cpp "$work/cpp/main.cpp"
build "$work/cpp"
run "$work/cpp/build/app"
[ "$modules" = 0 ] || [ "$(find "$work/cpp/build/backplane" -name 'backplane-*.so' | wc -l)" = "$modules" ] || fail "not all modules lie beside the program"
[ "$modules" = 0 ] || [ -x "$work/cpp/build/backplane/backplane-probe" ] || fail "the probe does not lie beside the program"
if [ "$modules" != 0 ]; then
    rm "$work/cpp/build/backplane/backplane-reference.so"
    "$cmake" --build "$work/cpp/build" >/dev/null
    [ -e "$work/cpp/build/backplane/backplane-reference.so" ] || fail "a copy that was removed does not come back"
    sed 's/backplane_copy_modules(app)/backplane_copy_modules(app MODULES nothing)/' "$work/cpp/CMakeLists.txt" >"$work/cpp/new" && mv "$work/cpp/new" "$work/cpp/CMakeLists.txt"
    if "$cmake" -S "$work/cpp" -B "$work/cpp/build" >"$work/said" 2>&1; then fail "a module that is not there was taken"; fi
    tr -s ' \n' ' ' <"$work/said" | grep -q "has no module 'nothing'; it has: .*reference" || fail "which modules there are is not said: $(cat "$work/said")"
fi

say "C"
mkdir -p "$work/c"
extract "$page" CMakeLists.txt "$work/c/new"
sed 's/LANGUAGES CXX/LANGUAGES C CXX/; s/main\.cpp/main.c/' "$work/c/new" >"$work/c/CMakeLists.txt"
extract "$page" main.c "$work/c/main.c"
build "$work/c"
run "$work/c/build/app"
for program in cpp/main.cpp c/main.c; do
    [ "$(wc -l <"$work/$program")" -lt 40 ] || fail "$program has 40 lines or more"
done

if command -v pkg-config >/dev/null && pkg-config --exists libpng libjpeg sndfile samplerate; then
    say "pkg-config"
    # Its words are quoted for a shell that reads them once more: folders here may have a space in their names, that of the page has none.
    ln -s "$(cd "$prefix" && pwd)" "$work/prefix"
    extract "$page" pkg-config.sh "$work/cpp/line.sh"
    (cd "$work/cpp" && PKG_CONFIG_PATH=../prefix/lib/pkgconfig sh -e ./line.sh) || fail "the program does not build by pkg-config"
    BACKPLANE_MODULE_PATH=$prefix/lib/backplane && export BACKPLANE_MODULE_PATH
    run "$work/cpp/app"
fi
say "done"
