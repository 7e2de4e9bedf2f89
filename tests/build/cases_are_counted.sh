#!/bin/sh
# cases_are_counted.sh: scripts/run-tests counts the cases of programs that CTest runs as a whole, and what is no GoogleTest as one.
set -u
cd "$(dirname "$0")/../.." || exit 1
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
cat >"$log" <<'END'
1/7 Testing: unit_good
[       OK ] A.a (1 ms)
a_test.cpp:7: Skipped
no driver here

[  SKIPPED ] A.b (0 ms)
[       OK ] A.c (1 ms)
[  PASSED  ] 2 tests.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] A.b
Test Passed.
2/7 Testing: unit_bad.1of2
[       OK ] B.a (1 ms)
[  FAILED  ] B.b (1 ms)
[       OK ] B.c (1 ms)
[  PASSED  ] 2 tests.
[  FAILED  ] 1 test, listed below:
[  FAILED  ] B.b

 1 FAILED TEST
Test Failed.
3/7 Testing: unit_killed
[       OK ] C.a (1 ms)
[ RUN      ] C.b
Test Failed.
4/7 Testing: AbiLayout.C11
Test Passed.
5/7 Testing: Install
Test Failed.
6/7 Testing: Emulated
Test Pass Reason:
Skip regular expression found in output. Regex=[skipped:]
7/7 Testing: unit_not_built
Command: "" "an argument"
Test Passed.
END
expected="$(printf '\tA.b: no driver here (Skipped)\n\tEmulated (Skipped)\ncases: 6 passed, 2 skipped, 4 tests failed out of 12')"
got=$(scripts/run-tests --count "$log")
[ "$got" = "$expected" ] && exit
printf 'scripts/run-tests --count said:\n%s\nand not:\n%s\n' "$got" "$expected"
exit 1
