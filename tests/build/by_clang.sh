#!/bin/sh
# by_clang.sh CLANG [LAUNCHER...] g++ OPTION...: the same call of clang, which reads what a test includes in half of the time (tests/CMakeLists.txt,
# BACKPLANE_TESTS_COMPILER). Objects of both go together. Precompiled headers keep the name that g++ gives them, and clang finds them there. What is
# optimised computes, and stays with g++.
compiler=$1
shift
launcher=
while [ $# -gt 1 ] && [ "${2#-}" = "$2" ]; do
    launcher="$launcher $1"
    shift
done
gcc=$1
shift
header='' optimised=''
for argument in "$@"; do
    case $argument in
        c++-header) header=yes ;;
        -O0) optimised= ;;
        -O*) optimised=yes ;;
    esac
done
# shellcheck disable=SC2086
if [ -n "$optimised" ]; then exec $launcher "$gcc" "$@"; fi
left=$#
skip=
while [ "$left" -gt 0 ]; do
    argument=$1
    shift
    left=$((left - 1))
    if [ -n "$skip" ]; then
        skip=
        continue
    fi
    case $argument in
        --param) skip=yes ;;
        -Winvalid-pch | -Wno-restrict | -fno-gnu-unique) ;;
        -include)
            # The header that is compiled: an older one of its name is not to be read for it.
            if [ -n "$header" ]; then skip=yes; else set -- "$@" "$argument"; fi
            ;;
        *.hxx.cxx) set -- "$@" "${argument%.cxx}" ;;
        *) set -- "$@" "$argument" ;;
    esac
done
if [ -n "$header" ]; then set -- -Xclang -fno-pch-timestamp -fpch-instantiate-templates "$@"; fi
# shellcheck disable=SC2086
exec $launcher "$compiler" "$@"
