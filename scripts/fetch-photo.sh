#!/bin/sh
# fetch-photo.sh: photographs in the public domain (CC0) out of Debian's python3-skimage into build/photos. Where there is no Debian
# archive, the 128x128 photograph of the model packages has to do; a line says so. The last line of output is the photograph to use.
set -eu
cd "$(dirname "$0")/.."
wanted="chelsea.png coffee.png astronaut.png"
mkdir -p build/photos
if [ ! -e build/photos/chelsea.png ]; then
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    chmod 755 "$scratch"
    if command -v apt-get >/dev/null 2>&1 && (
        cd "$scratch"
        # A machine that was set up long ago may list versions that the archive no longer has.
        apt-get download -qq python3-skimage 2>log || {
            root=; [ "$(id -u)" = 0 ] || root=sudo
            $root apt-get update -qq >>log 2>&1 && apt-get download -qq python3-skimage 2>>log
        }
    ) && dpkg-deb --fsys-tarfile "$scratch"/python3-skimage_*.deb |
        tar -x -C "$scratch" --strip-components=7 --wildcards './usr/lib/python3/dist-packages/skimage/data/*.png'; then
        for photo in $wanted; do mv "$scratch/$photo" "build/photos/$photo"; done
    else
        echo "fetch-photo: Debian's python3-skimage could not be had here; the small photograph of the model packages is used instead" >&2
        cat "$scratch/log" >&2 2>/dev/null || true
        echo build/models/fixture.png
        exit 0
    fi
fi
echo build/photos/chelsea.png
