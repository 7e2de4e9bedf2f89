#!/bin/bash
# failures_are_shown.sh: what .ci/failed says of a step's output: names, the lines behind each failure, and no more than a bound of them.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
log=$(mktemp) || exit 1
trap 'rm -f "$log" "$log.said"' EXIT
bad=0
has() { grep -qxF -- "$1" "$log.said" || { echo "'$1' is not there: $2"; bad=1; }; }
lacks() { if grep -qF -- "$1" "$log.said"; then echo "'$1' is there: $2" && bad=1; fi; }

cat >"$log" <<'END'
1/2 Test #1: unit_a ...........***Failed    1.00 sec
[ RUN      ] A.IsOne
noise of the test
/src/tests/a_test.cpp:12: Failure
Expected equality of these values:
  a
    Which is: 2
  1
[  FAILED  ] A.IsOne (3 ms)
[ RUN      ] A.Throws
unknown file: Failure
C++ exception with description "no" thrown in the test body.

[  FAILED  ] A.Throws (1 ms)
[ RUN      ] A.IsFine
[       OK ] A.IsFine (0 ms)
/src/tests/a_test.cpp:12: Failure
Expected equality of these values:
src/base/b.cpp:7:3: runtime error: signed integer overflow
SUMMARY: UndefinedBehaviorSanitizer: undefined-behavior src/base/b.cpp:7:3
END
.ci/failed "$log" >"$log.said" || bad=1
has '1/2 Test #1: unit_a ...........***Failed    1.00 sec' "the test of CTest"
has '[  FAILED  ] A.IsOne (3 ms)' "the case"
has '/src/tests/a_test.cpp:12: Failure' "where"
has '    Which is: 2' "what was found"
has '  1' "what was expected"
has 'unknown file: Failure' "an exception"
has 'C++ exception with description "no" thrown in the test body.' "its words"
has 'src/base/b.cpp:7:3: runtime error: signed integer overflow' "a sanitizer"
lacks 'noise' "before a failure"
lacks 'IsFine' "of what passed"
[ "$(grep -c 'a_test.cpp:12: Failure' "$log.said")" = 1 ] || { echo "one failure is there twice" && bad=1; }

# Many, long ones.
for i in {1..500}; do
    printf '/src/tests/a_test.cpp:%d: Failure\n' "$i"
    for line in {1..30}; do printf '%0*d of %d\n' 2000 "$line" "$i"; done
    printf '[  FAILED  ] A.Number%d (3 ms)\n' "$i"
done >"$log"
.ci/failed "$log" >"$log.said" || bad=1
[ "$(wc -l <"$log.said")" = $((40 + 12 * 8 + 1)) ] || { echo "$(wc -l <"$log.said") lines of many" && bad=1; }
[ "$(awk '{ if (length($0) > most) most = length($0) } END { print most }' "$log.said")" -le 300 ] || { echo "a line is too long" && bad=1; }
has 'and 488 failures more' "how many are left out"
: >"$log"
[ -z "$(.ci/failed "$log")" ] || { echo "of nothing it says something" && bad=1; }
exit $bad
