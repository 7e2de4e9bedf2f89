#!/bin/sh
# deb_test.sh CPACK BUILD_FOLDER SOURCE_FOLDER WORK_FOLDER: the Debian packages of this build: made, judged by lintian where it is, installed into a root of their
# own that has nothing but what they depend on (taken from this system's packages), run there by a user without rights, with programs built of the
# development package, removed. Folders may have spaces in their names.
set -eu
cpack=$1 build=$2 source=$3 work=$4
say() { printf '== %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
leave_out() { echo "left out: $*"; exit 0; }
command -v dpkg-shlibdeps >/dev/null || leave_out "no dpkg-shlibdeps (Debian: dpkg-dev)"
rm -rf "$work"
mkdir -p "$work/debs"
umask 022

say "packages"
(cd "$build" && "$cpack" -G DEB -B "$work/debs" >"$work/cpack.log" 2>&1) || { tail -n 30 "$work/cpack.log" >&2; fail "cpack"; }
rm -rf "$work/debs/_CPack_Packages"
for deb in "$work"/debs/*.deb; do
    size=$(wc -c <"$deb")
    printf '%10d %s\n' "$size" "${deb##*/}"
    [ "$size" -lt 12000000 ] || fail "${deb##*/} has $size bytes; 12,000,000 are too many"
done
for wanted in libbackplane-models0 backplane-tools libbackplane-dev backplane-module-cpu; do
    ls "$work/debs/${wanted}_"*.deb >/dev/null 2>&1 || fail "there is no package $wanted"
done
if command -v lintian >/dev/null; then
    say "lintian"
    lintian --fail-on error "$work"/debs/*.deb >"$work/lintian.log" 2>&1 || { grep '^E' "$work/lintian.log" >&2; fail "lintian"; }
    grep -c '^W' "$work/lintian.log" || true
else
    say "lintian is not installed: not asked"
fi

[ "$(id -u)" = 0 ] || leave_out "a root of its own: not root"
chroot / true 2>/dev/null || leave_out "a root of its own: no right to chroot"
say "a root with what they depend on"
root=$work/root
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/triggers" "$root/tmp" "$root/dev"
chmod 1777 "$root/tmp"
: >"$root/dev/null" && chmod 666 "$root/dev/null"
: >"$root/var/lib/dpkg/status"
for link in bin lib lib64 sbin; do
    if [ -L /$link ]; then mkdir -p "$root/usr/$link" && ln -s "usr/$link" "$root/$link"; fi
done
# The packages that these depend on, and those that they depend on, as they are installed here.
names() { sed 's/([^)]*)//g; s/:any//g' | tr ',' '\n' | sed 's/|.*//; s/ //g' | grep . || true; }
waiting=$(for deb in "$work"/debs/*.deb; do case $deb in *libbackplane-dev*) ;; *) dpkg-deb -f "$deb" Depends ;; esac; done | names | sort -u)
known=" "
while [ -n "$waiting" ]; do
    next=
    for name in $waiting; do
        case "$known" in *" $name "*) continue ;; esac
        known="$known$name "
        case $name in backplane-* | libbackplane-*) continue ;; esac
        dpkg-query -s "$name" >"$work/stanza" 2>/dev/null || continue  # virtual: another package here stands for it
        cat "$work/stanza" >>"$root/var/lib/dpkg/status"
        echo >>"$root/var/lib/dpkg/status"
        dpkg-query -L "$name" | grep -E '^(/usr)?/lib(64)?/' | while read -r file; do
            if [ ! -d "$file" ] || [ -L "$file" ]; then echo "$file"; fi
        done | tar -C / -cf - -T - 2>/dev/null | tar -C "$root" -xf - --keep-directory-symlink
        next="$next $(sed -n 's/^\(Pre-\)\{0,1\}Depends: //p' "$work/stanza" | names)"
    done
    waiting=$next
done

say "installed, and used by nobody"
mkdir "$work/apart" && mv "$work"/debs/libbackplane-dev_*.deb "$work/apart/"
dpkg --root="$root" --force-script-chrootless --force-not-root -i "$work"/debs/*.deb >"$work/dpkg.log" 2>&1 ||
    { tail -n 20 "$work/dpkg.log" >&2; fail "they do not install"; }
cp "$source/tests/install/consumer/models/dense.onnx" "$root/tmp/"
nobody() { chroot --userspec=65534:65534 "$root" /usr/bin/env -i HOME=/tmp "$@"; }
[ -x "$root/usr/bin/env" ] || { mkdir -p "$root/usr/bin" && cp /usr/bin/env "$root/usr/bin/"; }
nobody /usr/bin/backplane devices >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "backplane devices"; }
grep -q 'cpu:0' "$work/said" || { cat "$work/said" >&2; fail "no cpu:0"; }
nobody /usr/bin/backplane model info /tmp/dense.onnx >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "backplane model info"; }
nobody /usr/bin/backplane bundle check /usr --machine debian-12-server --json >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "what the packages bring is no good bundle"; }
for file in share/man/man1/backplane.1.gz share/man/man1/backplane-upscale.1.gz share/bash-completion/completions/backplane share/zsh/vendor-completions/_backplane \
    share/fish/vendor_completions.d/backplane.fish share/doc/backplane-tools/copyright; do
    [ -s "$root/usr/$file" ] || fail "there is no /usr/$file"
done

say "programs, of what the development package has"
for deb in "$work"/apart/*.deb "$work"/debs/libbackplane-models0_*.deb; do dpkg -x "$deb" "$work/development"; done
# Beside it: words of pkg-config are cut at spaces.
cd "$work"
words() { PKG_CONFIG_SYSROOT_DIR=development PKG_CONFIG_PATH=development/usr/lib/pkgconfig pkg-config --cflags --libs "$1"; }
for program in main.cpp main.c; do "$source/tests/install/use_page.sh" --extract "$source/docs/use.md" $program >"$work/$program"; done
# shellcheck disable=SC2046
c++ -std=c++20 "$work/main.cpp" $(words backplane-models) -o "$root/tmp/cpp" || fail "main.cpp of docs/use.md does not build"
# shellcheck disable=SC2046
cc "$work/main.c" $(words backplane-c) -o "$root/tmp/c" || fail "main.c of docs/use.md does not build"
for program in cpp c; do
    said=$(nobody /tmp/$program /tmp/dense.onnx cpu 2>&1) || fail "/tmp/$program: $said"
    [ "$said" = "y: 4.5 0 1" ] || fail "/tmp/$program says '$said'"
done

say "removed"
dpkg --root="$root" --force-script-chrootless -r $(dpkg --root="$root" -l 'backplane-*' 'libbackplane-*' | awk '/^ii/ { print $2 }') >>"$work/dpkg.log" 2>&1 ||
    { tail -n 20 "$work/dpkg.log" >&2; fail "they cannot be removed"; }
if find "$root/usr" -iname '*backplane*' | grep .; then fail "that was left"; fi
say "done"
