#!/bin/sh
# vcpkg_test.sh CMAKE BUILD_FOLDER SOURCE_FOLDER WORK_FOLDER IMAGES AUDIO: the port and the overlay triplets of packaging/vcpkg, run by CMake with stand-ins for
# vcpkg's functions (vcpkg.cmake): what each triplet asks for; and that of module files beside a static library configured, installed with the libraries of
# this build in place of its own, held to what vcpkg asks of a package, and used by a stranger's project. IMAGES and AUDIO, ON or OFF: as this build has them.
set -eu
cmake=$1 build=$2 source=$3 work=$4 images=$5 audio=$6
port=$source/packaging/vcpkg/ports/backplane triplets=$source/packaging/vcpkg/triplets
unset BACKPLANE_MODULE_PATH BACKPLANE_DEVICE BACKPLANE_VCPKG_SOURCE
say() { printf '== %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
# run NAME TRIPLET FEATURES [ARGUMENT...]: the port, in a folder of its own.
run() {
    name=$1 triplet=$2 features=$3
    shift 3
    mkdir -p "$work/$name"
    "$cmake" -DPORTS="$source/packaging/vcpkg/ports" -DTRIPLET="$triplet" -DFEATURES="core;$features" -DWORK="$work/$name" "$@" -P "$source/tests/install/vcpkg.cmake" \
        >"$work/$name.log" 2>&1
}
# asked NAME KIND OPTION...: each is what the port asks for.
asked() {
    name=$1 kind=$2
    shift 2
    for option; do
        grep "^$kind " "$work/$name/asked" | tr ' ;' '\n\n' | grep -qxF -e "$option" || fail "$name, $kind: no $option in $(cat "$work/$name/asked")"
    done
}
rm -rf "$work"
mkdir -p "$work"

say "what is asked for"
python3 - "$port/vcpkg.json" "$source/CMakeLists.txt" "$source/backends/CMakeLists.txt" <<'END' || fail "vcpkg.json"
import json, re, sys
manifest = json.load(open(sys.argv[1]))
project = re.search(r"project\(backplane VERSION ([\d.]+)", open(sys.argv[2]).read()).group(1)
assert manifest["name"] == "backplane" and manifest["version"] == project, f"version {manifest['version']}, the project's is {project}"
features = manifest["features"]
backends = re.search(r"set\(all ([\w ]+)\)", open(sys.argv[3]).read()).group(1).split()
assert set(features) == {*backends, "models", "images", "audio", "tools"}, f"features {sorted(features)}"
assert set(manifest["default-features"]) <= set(features)
assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) and about["description"] for name, about in features.items())
END
static=$work/x64-linux.cmake
printf 'set(VCPKG_TARGET_ARCHITECTURE x64)\nset(VCPKG_CRT_LINKAGE dynamic)\nset(VCPKG_LIBRARY_LINKAGE static)\nset(VCPKG_CMAKE_SYSTEM_NAME Linux)\n' >"$static"
sed 's/LINKAGE static/LINKAGE dynamic/' "$static" >"$work/x64-linux-dynamic.cmake"
{ cat "$static" && printf 'set(BACKPLANE_LINK hybrid)\nset(BACKPLANE_HYBRID cpu)\n'; } >"$work/hybrid.cmake"
if run none "$static" models -DONLY_ASK=ON; then fail "a port without a backend"; fi
grep -q "no backend is asked for" "$work/none.log" || fail "that there is no backend is not said"
run static "$static" "cpu;vulkan;models;tools" -DONLY_ASK=ON || fail "$(cat "$work/static.log")"
asked static Release -DBACKPLANE_LINK=static -DBACKPLANE_SHARED=OFF -DBACKPLANE_BACKENDS=cpu,vulkan -DBACKPLANE_MODELS=ON -DBACKPLANE_TOOLS=ON -DBACKPLANE_IMAGES=OFF
asked static Debug -DBACKPLANE_LINK=static -DBACKPLANE_BACKENDS=cpu,vulkan -DBACKPLANE_TOOLS=OFF
run dynamic "$work/x64-linux-dynamic.cmake" "cpu;models" -DONLY_ASK=ON || fail "$(cat "$work/dynamic.log")"
asked dynamic Release -DBACKPLANE_LINK=dynamic -DBACKPLANE_SHARED=ON
run hybrid "$work/hybrid.cmake" "cpu;reference" -DONLY_ASK=ON || fail "$(cat "$work/hybrid.log")"
asked hybrid Release -DBACKPLANE_LINK=hybrid -DBACKPLANE_HYBRID=cpu -DBACKPLANE_MODELS=OFF -DBACKPLANE_BACKENDS=reference,cpu
asked hybrid Debug -DBACKPLANE_BACKENDS=cpu
for triplet in "$triplets"/*.cmake; do
    name=$(basename "$triplet" .cmake)
    run "$name" "$triplet" "cpu;models" -DONLY_ASK=ON || fail "$(cat "$work/$name.log")"
    asked "$name" Release -DBACKPLANE_LINK=dynamic -DBACKPLANE_SHARED=OFF -DBACKPLANE_BACKENDS=cpu
    asked "$name" Debug -DBACKPLANE_BACKENDS=none
    grep -qx 'enabled enabled' "$work/$name/policies" || fail "$name: vcpkg would refuse module files beside a static library"
done

say "configured and installed by x64-linux-modules"
features="models;reference"
[ "$images" = OFF ] || features="$features;images"
[ "$audio" = OFF ] || features="$features;audio"
{ cat "$triplets/x64-linux-modules.cmake" && echo 'set(VCPKG_BUILD_TYPE release)'; } >"$work/release.cmake"
run port "$work/release.cmake" "$features" -DBUILT="$build" || fail "$(tail -n 60 "$work/port.log")"
package=$work/port/packages/backplane_triplet
for file in lib/libbackplane.a lib/libbackplane_models.a lib/backplane/backplane-reference.so lib/backplane/backplane-probe lib/pkgconfig/backplane.pc \
    include/backplane/model.hpp share/backplane/backplaneConfig.cmake share/backplane/copyright share/backplane/usage; do
    [ -s "$package/$file" ] || fail "there is no $file"
done
for wrong in debug bin lib/cmake share/doc lib/libbackplane.so; do [ ! -e "$package/$wrong" ] || fail "there is $wrong"; done
if find "$package" -type d -empty | grep .; then fail "folders that are empty"; fi
if grep -rlI -e "$work" -e "$source" "$package"; then fail "files that name places of this machine"; fi

say "used by a stranger's project"
mkdir -p "$work/vcpkg installed"
mv "$package" "$work/vcpkg installed/x64-linux-modules"
prefix="$work/vcpkg installed/x64-linux-modules"
"$cmake" -S "$source/tests/install/consumer" -B "$work/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCONSUMER_MODELS=ON -DCMAKE_BUILD_TYPE=Debug >"$work/consumer.log" 2>&1 ||
    fail "$(tail -n 30 "$work/consumer.log")"
"$cmake" --build "$work/consumer" >>"$work/consumer.log" 2>&1 || fail "$(tail -n 30 "$work/consumer.log")"
export BACKPLANE_DEVICE=reference
"$work/consumer/consumer" "$prefix/lib/backplane" || fail "the program"
[ "$("$work/consumer/gguf" "$work/w.gguf")" = "none w 6" ] || fail "a GGUF file"
[ "$("$work/consumer/onnx" "$prefix/lib/backplane" "$source/tests/install/consumer/models/dense.onnx")" = "11.5 2 5 " ] || fail "an ONNX file"
say "done"
