#!/bin/sh
# command_test.sh BACKPLANE STORM: `backplane cache` on a cache with good and bad entries, and where there is none.
set -eu
backplane=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cache=$folder/kernels
unset BACKPLANE_CACHE_DIR BACKPLANE_CACHE_LIMIT
export XDG_CACHE_HOME="$folder/home" BACKPLANE_STATE_DIR="$folder/state"

fail() { echo "command_test: $1" >&2; exit 1; }
# expect CODE WORD COMMAND...: this exit code, this word in what it prints.
expect() {
    wanted=$1 word=$2
    shift 2
    code=0
    text=$("$@" 2>&1) || code=$?
    [ "$code" = "$wanted" ] || fail "exit code $code instead of $wanted: $*: $text"
    case $text in *"$word"*) ;; *) fail "no '$word' from $*: $text" ;; esac
}

# Nothing there yet, and nothing made by looking.
expect 0 "$folder/home/backplane/kernels" "$backplane" cache info
expect 0 '"exists": false' "$backplane" cache info --json
expect 0 "0 good, 0 bad" "$backplane" cache verify
expect 0 "0 files removed" "$backplane" cache clear
expect 0 "kernel cache: $folder/home/backplane/kernels" "$backplane" doctor --device '!none' --modules "$folder"
expect 0 "$cache" env BACKPLANE_CACHE_DIR="$cache" "$backplane" cache info
expect 0 "of 1.0 GiB" env BACKPLANE_CACHE_LIMIT=1G "$backplane" cache info
expect 1 "not an absolute path" env BACKPLANE_CACHE_DIR=kernels "$backplane" cache info
expect 0 "kernel cache: none" "$backplane" doctor --no-cache
expect 2 "excludes" "$backplane" devices --no-cache --cache "$cache"
[ ! -e "$folder/home/backplane" ] || fail "something was made in the user's cache folder"

# Entries of another program, which is killed at any moment and on a busy machine writes few; then one cut, one changed, one under another's name.
entries() { find "$cache" -name '*.kernel' | wc -l; }
for _ in 1 2 3 4 5 6 7 8 9 10; do
    "$2" "$cache" 3
    [ "$(entries)" -le 4 ] || break
done
expect 0 "0 bad" "$backplane" cache verify --cache "$cache"
expect 0 "storm 1.0 build 1" "$backplane" cache info --cache "$cache"
set -- "$cache"/*.kernel
[ $# -gt 4 ] || fail "too few entries"
truncate -s 100 "$1"
printf 'x' | dd of="$2" bs=1 seek=70 conv=notrunc 2>/dev/null
mv "$3" "$cache/0123456789abcdef0123456789abcdef.kernel"
echo "mine" >"$cache/notes.txt"
expect 1 "3 bad" "$backplane" cache verify --cache "$cache"
expect 1 '"removed": false' "$backplane" cache verify --json --cache "$cache"
expect 0 "3 bad" "$backplane" cache verify --repair --cache "$cache"
expect 0 "0 bad" "$backplane" cache verify --cache "$cache"
expect 0 "files removed" "$backplane" cache clear --cache "$cache"
expect 0 "entries   0" "$backplane" cache info --cache "$cache"
[ "$(cat "$cache/notes.txt")" = mine ] || fail "a file that is not the cache's was touched"

# What cannot be a cache.
expect 0 "it is no folder" "$backplane" cache info --cache "$cache/notes.txt"
expect 1 "cannot read the kernel cache" "$backplane" cache verify --cache "$cache/notes.txt"
expect 2 "name a command" "$backplane" cache
expect 0 "Example" "$backplane" cache verify --help
echo "command_test: passed"
