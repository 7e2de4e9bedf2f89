#!/bin/sh
# demo_then_all.sh: scripts/build.sh builds the demo for this machine where nothing was built before, whatever comes after it whole, and takes
# nothing away from a folder that is whole. Programs that note how they are called stand for cmake and ninja.
set -u
cd "$(dirname "$0")/../.." || exit 1
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/scripts" "$tree/bin"
cp scripts/build.sh "$tree/scripts" && cp CMakePresets.json "$tree" || exit 1
cat >"$tree/bin/cmake" <<'END'
#!/bin/sh
demo=unchanged
for word; do
    case $word in -DBACKPLANE_DEMO=*) demo=${word#*=} ;; esac
done
echo "configured, demo $demo" >>said
mkdir -p build/release
[ "$demo" = unchanged ] || echo "BACKPLANE_DEMO:BOOL=$demo" >build/release/CMakeCache.txt
touch build/release/build.ninja
END
printf '#!/bin/sh\n' >"$tree/bin/ninja"
chmod +x "$tree/bin/cmake" "$tree/bin/ninja"

bad=0
# says WHAT TARGET...: what is configured before these targets are built; "" is nothing.
says() {
    what=$1
    shift
    : >"$tree/said"
    (cd "$tree" && PATH="$tree/bin:$PATH" BACKPLANE_UNITY='' BACKPLANE_CONFIGURE='' scripts/build.sh release "$@") || bad=1
    got=$(cat "$tree/said")
    [ "$got" = "$what" ] || { echo "targets '$*': '$got', not '$what'"; bad=1; }
}
says "configured, demo ON" demo
says "" demo
says "configured, demo OFF" unit_cpu
says "" unit_cpu
says "" demo
says ""
rm -r "$tree/build"
says "configured, demo unchanged"
says "" demo
rm -r "$tree/build"
says "configured, demo ON" demo
says "configured, demo OFF"
says "" demo
exit $bad
