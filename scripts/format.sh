#!/bin/sh
# format.sh --fix | --check: clang-format over all C and C++ of the repository, by .clang-format, and rustfmt, where it is installed, over all Rust, by
# bindings/rust/rustfmt.toml. --check changes nothing and fails.
set -eu
cd "$(dirname "$0")/.."
case ${1:-} in
--fix) how=-i rust= ;;
--check) how="--dry-run --Werror" rust=--check ;;
*) echo "usage: scripts/format.sh --fix | --check" >&2; exit 2 ;;
esac
if ! command -v clang-format >/dev/null 2>&1; then
    echo "format: clang-format is not installed: run  scripts/setup.sh --ci" >&2
    exit 1
fi
files() { git ls-files -co --exclude-standard "$@" | while read -r f; do if [ -e "$f" ]; then echo "$f"; fi; done; }
good=0
# The C headers of the ABI are set by hand, their comments in a column.
# shellcheck disable=SC2086
files '*.c' '*.h' '*.cpp' '*.hpp' ':!include/backplane/*.h' ':!tests/module/layout_check.c' | xargs -P "$(nproc)" -n 16 clang-format --style=file $how || good=1
if rustfmt --version >/dev/null 2>&1; then
    # shellcheck disable=SC2086
    files '*.rs' | xargs rustfmt --edition 2021 --config-path bindings/rust $rust || good=1
else
    echo "format: rustfmt is not installed: Rust is left as it is" >&2
fi
exit $good
