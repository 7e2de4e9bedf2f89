#!/bin/sh
# kill_test.sh STORM ROUNDS [BACKPLANE]: processes that share a kernel cache are killed at random moments (storm.cpp); afterwards the command
# line must find every entry good.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" "$folder/kernels" "$2"
[ -z "${3:-}" ] && exit 0
"$3" cache verify --cache "$folder/kernels"
"$3" cache info --cache "$folder/kernels"
