#!/bin/sh
# Packs Debian's synthesisers (espeak-ng, flite, festival with its English voices) into one archive, for a machine without Debian's packages: it is unpacked
# at / there, and programs find the libraries by LD_LIBRARY_PATH=/opt/voices.
# Needs: espeak-ng flite festival festvox-kallpc16k festvox-kdlpc16k festvox-us-slt-hts festlex-cmu festlex-poslex
# Takes along what /opt/voices has: libttspico.so.0 with pico/*.bin, libRHVoice.so.5 with rhvoice/{languages,voices} (README.md).
# Usage: pack.sh voices.tar.xz
set -eu
out=$(realpath "$1")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
libraries=/usr/lib/x86_64-linux-gnu
mkdir -p "$root/opt/voices" "$root/usr/bin" "$root/usr/share" "$root/etc"
cp /usr/bin/festival "$root/usr/bin/"
cp -rL /usr/share/festival "$root/usr/share/"
cp -r /etc/festival.scm "$root/etc/"
cp "$libraries"/libflite.so.1 "$libraries"/libflite_usenglish.so.1 "$libraries"/libflite_cmulex.so.1 "$libraries"/libflite_cmu_us_*.so.1 \
    "$libraries"/libespeak-ng.so.1 "$root/opt/voices/"
[ ! -d /opt/voices ] || cp -r /opt/voices/. "$root/opt/voices/"
# What they need beside the C and C++ libraries, which every Linux has.
for file in /usr/bin/festival "$root"/opt/voices/*.so.*; do ldd "$file"; done | awk '/=> \//{print $3}' | sort -u |
    grep -vE '/(libc|libm|libpthread|libdl|librt|libstdc\+\+|libgcc_s|ld-linux.*)\.so' | xargs -I{} cp -nL {} "$root/opt/voices/"
mkdir -p "$root$libraries/espeak-ng-data/lang"
cd "$libraries/espeak-ng-data"
cp -r en_dict intonations phon* voices "$root$libraries/espeak-ng-data/"
cp -r lang/gmw "$root$libraries/espeak-ng-data/lang/"
cd "$root" && tar c . | xz -6 -T2 >"$out"
