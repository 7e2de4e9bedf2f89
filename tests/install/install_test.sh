#!/bin/sh
# install_test.sh CMAKE BUILD_FOLDER SOURCE_FOLDER WORK_FOLDER
# Installs the build into WORK_FOLDER, builds and runs consumers against it, moves it and does that again; then what docs/use.md tells to do.
set -eu
cmake=$1 build=$2 source=$3 work=$4
consumer=$source/tests/install/consumer
unset BACKPLANE_MODULE_PATH BACKPLANE_DEVICE

say() { printf '== %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

# hear PROGRAM: it writes down what is said in the clip that comes with our own network.
hear() {
    mini=$source/models/parakeet-mini
    said=$(BACKPLANE_MODULE_PATH=$prefix/lib/backplane "$1" "$prefix/lib/backplane" "$mini/parakeet-mini-q8_0.gguf" "$mini/example.flac") ||
        fail "${1##*/} does not run"
    say "$said"
    [ "$(printf '%s' "$said" | wc -w)" -ge 5 ] || fail "${1##*/} heard no sentence in the clip: '$said'"
}

# compute PROGRAM: it runs the network of dense.onnx.
compute() {
    y=$(BACKPLANE_MODULE_PATH=$prefix/lib/backplane "$1" "$prefix/lib/backplane" "$consumer/models/dense.onnx") || fail "${1##*/} does not run"
    [ "$y" = "11.5 2 5 " ] || fail "${1##*/} gives '$y' of the network"
}

# use PREFIX NAME: everything a stranger does with an install tree.
use() {
    prefix=$1 name=$2 models=OFF
    if [ -e "$prefix/lib/libbackplane_models.a" ]; then models=ON; fi
    say "$name: find_package"
    "$cmake" -S "$consumer" -B "$work/$name" -DCMAKE_PREFIX_PATH="$prefix" -DCONSUMER_MODELS=$models -DCMAKE_BUILD_TYPE=Release >"$work/$name.log" 2>&1 ||
        { cat "$work/$name.log" >&2; fail "the consumer does not configure"; }
    "$cmake" --build "$work/$name" >>"$work/$name.log" 2>&1 || { cat "$work/$name.log" >&2; fail "the consumer does not build"; }
    "$work/$name/consumer" "$prefix/lib/backplane" || fail "the C++ consumer does not run"
    [ "$("$work/$name/gguf" "$work/$name/w.gguf")" = "none w 6" ] || fail "a GGUF file is not written and read by the library alone"
    for c in "$work/$name"/c_*; do
        if [ -x "$c" ]; then BACKPLANE_MODULE_PATH=$prefix/lib/backplane "$c" || fail "the C consumer ${c##*/} does not run"; fi
    done
    [ -e "$work/$name/lib/backplane/backplane-null.so" ] || fail "backplane_module() made no module file"

    if [ $models = ON ]; then
        say "$name: speech to text"
        hear "$work/$name/speech"
        hear "$work/$name/speech_c"
        say "$name: an ONNX file"
        compute "$work/$name/onnx"
        compute "$work/$name/onnx_c"
    fi

    if command -v pkg-config >/dev/null; then
        say "$name: pkg-config"
        flags=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs backplane)
        # pkg-config quotes for a shell that reads its words once more: the folder has a space in its name.
        eval "${CXX:-c++} -std=c++20 '$consumer/consumer.cpp' $flags '-Wl,-rpath,$prefix/lib' -o '$work/$name.pc'" ||
            fail "the consumer does not build by pkg-config"
        "$work/$name.pc" "$prefix/lib/backplane" || fail "the consumer built by pkg-config does not run"
        if [ $models = ON ] && pkg-config --exists libpng libjpeg sndfile samplerate; then
            flags=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs backplane-models)
            eval "${CXX:-c++} -std=c++20 '$consumer/models/speech.cpp' $flags '-Wl,-rpath,$prefix/lib' -o '$work/$name.speech'" ||
                fail "speech to text does not build by pkg-config"
            hear "$work/$name.speech"
        fi
    else
        say "$name: pkg-config is not installed: not tried"
    fi

    if [ -x "$prefix/bin/backplane" ]; then
        say "$name: command line"
        "$prefix/bin/backplane" devices || fail "the installed command line finds no device"
        "$prefix/bin/backplane" modules inspect "$work/$name/lib/backplane/backplane-null.so" ||
            fail "a module built outside the tree cannot be inspected"
    fi
}

rm -rf "$work"
mkdir -p "$work"
say "install"
"$cmake" --install "$build" --prefix "$work/first tree" >"$work/install.log" || { cat "$work/install.log" >&2; fail "install"; }
use "$work/first tree" before
if command -v pkg-config >/dev/null && pkg-config --exists libpng libjpeg sndfile samplerate && [ -e "$prefix/lib/libbackplane_models.a" ]; then
    say "a program elsewhere finds the modules of the prefix, which is another than was configured"
    "$source/tests/install/use_page.sh" --extract "$source/docs/use.md" main.cpp >"$work/main.cpp"
    eval "${CXX:-c++} -std=c++20 '$work/main.cpp' $(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs backplane-models) -o '$work/main'" || fail "main.cpp"
    said=$("$work/main" "$consumer/models/dense.onnx" cpu) || fail "main.cpp does not run"
    [ "$said" = "y: 4.5 0 1" ] || fail "main.cpp says '$said'"
fi
mkdir "$work/elsewhere"
mv "$work/first tree" "$work/elsewhere/moved tree"
use "$work/elsewhere/moved tree" after
"$source/tests/install/use_page.sh" "$cmake" "$work/elsewhere/moved tree" "$source" "$work/the page" || fail "what the pages tell to do"
# What was installed says nothing of where it was built. (Library and programs hold a prefix each, nothing else.)
if grep -rlF "$source" "$work/elsewhere/moved tree/lib/cmake" "$work/elsewhere/moved tree/lib/pkgconfig"; then
    fail "an installed file names the source folder"
fi
say "done"
