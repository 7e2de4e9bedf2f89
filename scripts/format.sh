#!/bin/sh
# format.sh --fix | --check: clang-format over all C and C++ of the repository, by .clang-format. --check changes nothing and fails.
set -eu
cd "$(dirname "$0")/.."
case ${1:-} in
--fix) how=-i ;;
--check) how="--dry-run --Werror" ;;
*) echo "usage: scripts/format.sh --fix | --check" >&2; exit 2 ;;
esac
if ! command -v clang-format >/dev/null 2>&1; then
    echo "format: clang-format is not installed: run  scripts/setup.sh --ci" >&2
    exit 1
fi
# The C headers of the ABI are set by hand, their comments in a column.
# shellcheck disable=SC2086
git ls-files -co --exclude-standard '*.c' '*.h' '*.cpp' '*.hpp' ':!include/backplane/*.h' ':!tests/module/layout_check.c' | while read -r f; do if [ -e "$f" ]; then echo "$f"; fi; done |
    xargs -P "$(nproc)" -n 16 clang-format --style=file $how
