#!/bin/sh
# folder_test.sh SOURCES WORK NAME MAKE_FOLDER ARGUMENT...: the folder that MAKE_FOLDER makes, as a user has it: its archive unpacked into a folder whose name has
# a space, on a system that has glibc, libstdc++ and zlib alone, by a user without rights. Where no such system can be made it runs on this one.
set -eu
sources=$1 work=$2 name=$3 make=$4
shift 4
say() { printf '== %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
unset BACKPLANE_MODULE_PATH BACKPLANE_DEVICE LD_LIBRARY_PATH
# Its first argument is the folder where it works.
shift
say "made"
mkdir -p "$work"
rm -rf "$work/root"
"$make" "$work" "$@" >"$work/made" || fail "make-folder"
place="$work/root/opt/für alle"
mkdir -p "$place"
tar -C "$place" -xzf "$work/$name.tar.gz"
folder=$place/$name
for file in bin/backplane lib/backplane/backplane-cpu.so lib/backplane/backplane-probe LICENSE share/man/man1/backplane.1 \
    share/bash-completion/completions/backplane; do
    [ -s "$folder/$file" ] || fail "there is no $file"
done
if grep -aq "$sources" "$folder/bin/backplane"; then fail "the program names where it was built"; fi

say "what it is linked with lies in it, or is what every system has"
ldd "$folder/bin/backplane" | sed -n 's/^[[:space:]]*\([^ ]*\) => \(.*\) (0x[0-9a-f]*)$/\1 \2/p' | while read -r library path; do
    case $library in libc.so.* | libm.so.* | libstdc++.so.* | libgcc_s.so.* | libz.so.*) ;;
    *) [ "$(realpath "$path")" = "$(realpath "$folder/lib/$library")" ] || fail "$library is taken from $path" ;;
    esac
done
if [ -e "$folder/lib/libpng16.so.16" ] && command -v dpkg-query >/dev/null; then
    [ -s "$folder/licences/libpng16-16.txt" ] || fail "no licence of libpng: $(ls "$folder/licences")"
fi
"$folder/bin/backplane" bundle check "$folder" --machine debian-12-server >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "it is no good bundle"; }

cp "$sources/tests/install/consumer/models/dense.onnx" "$sources/models/parakeet-mini/example.flac" "$sources/models/parakeet-mini/parakeet-mini-q8_0.gguf" "$place/"
mkdir -p "$work/root/proc"
# Where a program lies, and with it its libraries and modules, is what /proc tells.
if [ "$(id -u)" = 0 ] && unshare --mount mount -t proc proc "$work/root/proc" 2>/dev/null && chroot / true 2>/dev/null; then
    say "on a system with nothing of that"
    root=$work/root
    mkdir -p "$root/usr/bin" "$root/dev" "$root/tmp"
    chmod 1777 "$root/tmp"
    : >"$root/dev/null" && chmod 666 "$root/dev/null"
    for link in bin lib lib64; do
        mkdir -p "$root/usr/$link"
        if [ -L /$link ]; then ln -s "usr/$link" "$root/$link"; else mkdir -p "$root/$link"; fi
    done
    {
        ldd "$folder/bin/backplane" | grep -v -F "=> $place" | sed -n 's/.*=> \(\/[^ ]*\) (.*/\1/p'
        ldd "$folder/bin/backplane" | sed -n 's/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p'
        for library in libdl.so.2 librt.so.1 libpthread.so.0; do ldconfig -p | sed -n "s/.*x86-64.*=> \(\/.*\/$library\)$/\1/p" | head -n 1; done
        ldd /usr/bin/env | sed -n 's/.*=> \(\/[^ ]*\) (.*/\1/p'
    } | sort -u | while read -r file; do
        mkdir -p "$root/$(dirname "$file")"
        cp -L "$file" "$root/$file"
    done
    cp /usr/bin/env "$root/usr/bin/"
    inside="/opt/für alle"
    run() {
        # shellcheck disable=SC2016
        unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot --userspec=65534:65534 "$0" /usr/bin/env -i HOME=/tmp "$@"' "$root" \
            "$inside/$name/bin/backplane" "$@" >"$work/said" 2>&1
    }
else
    say "on this system: not root, or no right to mount and chroot"
    inside=$place
    run() { env -i HOME="$work" "$folder/bin/backplane" "$@" >"$work/said" 2>&1; }
fi
run devices || { cat "$work/said" >&2; fail "devices"; }
grep -q 'cpu:0' "$work/said" || { cat "$work/said" >&2; fail "no cpu:0"; }
run run "$inside/dense.onnx" --input 1,1,1,1 --device cpu || { cat "$work/said" >&2; fail "run"; }
run transcribe "$inside/example.flac" --model "$inside/parakeet-mini-q8_0.gguf" --device cpu || { cat "$work/said" >&2; fail "transcribe"; }
[ "$(wc -w <"$work/said")" -ge 5 ] || { cat "$work/said" >&2; fail "no sentence is heard"; }
sed -n 1p "$work/said"
say "done"
