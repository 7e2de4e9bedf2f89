#!/bin/bash
# tidy.sh [--batches | [--seconds N] [FILE...]]: clang-tidy (.clang-tidy) over the files, or all of src/. With --seconds it starts no file after
# N seconds: what changed (scripts/changed-files) comes first, then the others in an order that differs from commit to
# commit, so that a bounded run on each commit gets round the whole tree. Configures build/debug, where each source is a compilation of its own; builds nothing.
# --batches: all of src/, by every check but the analyzer's: most of what one file costs is reading headers, so the sources of a
# layer are one compilation (BACKPLANE_UNITY, configured in build/tidy), of which all files are looked at. TIDY_PART=2/3: those where something changed, and of
# the others every third from the second on.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=0 folder=build/debug more=() options=()
if [ "${1:-}" = --batches ]; then
    shift
    folder=build/tidy more=(-DBACKPLANE_UNITY=ON -DBACKPLANE_PCH=OFF -DBACKPLANE_CUDA_ARCHITECTURES=)
    # That a batch includes sources is what it is; the analyzer looks at what a compilation has in its own file alone.
    options=("--checks=-clang-analyzer-*,-bugprone-suspicious-include" '--header-filter=/(src|include/backplane)/.*\.[hc]pp$')
elif [ "${1:-}" = --seconds ]; then seconds=$2; shift 2; fi
command -v clang-tidy >/dev/null || { echo "tidy: clang-tidy is not installed: run  scripts/setup.sh --ci" >&2; exit 1; }
commands=$folder/compile_commands.json
mkdir -p build
known() { for f in "$@"; do grep -qF "/${f#./}\"" $commands || return 1; done; } # a file that is new is not
if [ $folder = build/tidy ] || [ ! -e $commands ] || [ CMakePresets.json -nt $commands ] || ! known "$@"; then
    cmake --preset debug -B "$folder" "${more[@]}" >"$folder.configure.log" 2>&1 || { cat "$folder.configure.log" >&2; exit 1; }
fi

if [ $# -gt 0 ]; then
    files=("$@")
elif [ $folder = build/tidy ]; then
    # The batches, and the files that stay alone.
    mapfile -t files < <(sed -nE 's/^ *"file": "([^"]*)".*/\1/p' $commands | grep -E "^$PWD/(build/tidy/src/.*/Unity/.*\.cxx|src/.*\.cpp)$" | sort -u)
    part=${TIDY_PART:-1/1}
    if [ "${part#*/}" -gt 1 ]; then
        folders=$(scripts/changed-files | sed -nE 's,^(src/.*)/[^/]*$,\1,p' | sort -u)
        for i in "${!files[@]}"; do
            if [ $((i % ${part#*/} + 1)) = "${part%/*}" ]; then continue; fi
            # Its sources: of a batch what it includes.
            if ! { echo "#include \"${files[i]}\""; cat "${files[i]}"; } | sed -nE "s,^#include \"$PWD/(src/.*)/[^/]*\"$,\1,p" | grep -qxFf <(echo "${folders:-none}"); then
                unset "files[i]"
            fi
        done
    fi
else
    # Only what this build compiles: not the files of other platforms.
    mapfile -t all < <(git ls-files -co --exclude-standard 'src/*.cpp' | while read -r f; do
        if [ -e "$f" ] && grep -qF "/$f\"" $commands; then echo "$f"; fi
    done)
    mapfile -t changed < <(scripts/changed-files | grep '^src/.*\.cpp$' | sort -u)
    seed=$(git rev-parse HEAD 2>/dev/null || echo none)
    mapfile -t files < <({
        for f in "${all[@]}"; do
            first=1
            for c in "${changed[@]}"; do if [ "$c" = "$f" ]; then first=0; fi; done
            echo "$first$(printf '%s %s' "$seed" "$f" | sha1sum) $f"
        done
    } | sort | awk '!seen[$NF]++ { print $NF }')
fi
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
export log
deadline=0
[ "$seconds" = 0 ] || deadline=$(($(date +%s) + seconds))
export deadline
one() {
    [ "$deadline" = 0 ] || [ "$(date +%s)" -lt "$deadline" ] || exit 0
    name=$(echo "${!#}" | tr / _)
    if clang-tidy "$@" >"$log/$name" 2>"$log/$name.err"; then
        touch "$log/$name.good"
    else
        touch "$log/$name.bad"
        cat "$log/$name"
        grep -q . "$log/$name" || cat "$log/$name.err"
    fi
}
export -f one
printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 1 bash -c 'one "$@"' tidy "${options[@]}" -p "$folder" --quiet
good=$(find "$log" -name '*.good' | wc -l)
bad=$(find "$log" -name '*.bad' | wc -l)
what=files
[ $folder = build/debug ] || what="batches and files that stay alone"
echo "tidy: ${#files[@]} $what, $good clean, $bad with findings, $((${#files[@]} - good - bad)) not looked at"
[ "$bad" = 0 ]
