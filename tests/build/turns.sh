#!/bin/bash
# turns.sh: what .ci/run leaves to other commits is some commit's turn, a change has a lane that is there for its files where there is one, and CI_PARTS=1 leaves nothing.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/.ci" "$tree/scripts" "$tree/src/formats" "$tree/docs"
cp .ci/turns "$tree/.ci" && cp scripts/changed-files "$tree/scripts" && cd "$tree" || exit 1
unset CI_PARTS CI_SINCE POCL_PARTS CUDA_PARTS FUZZ_PARTS
# shellcheck disable=SC2034
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b.invalid GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b.invalid
bad=0
is() { [ "$1" = "$2" ] || { echo "$3: '$1', not '$2'"; bad=1; }; }
commit() { git add . && GIT_COMMITTER_DATE="@$1 +0000" git commit -q --allow-empty -m "$1"; }

git init -q .
is "$(scripts/changed-files)" "" "before the first commit"
commit 1000000
echo 1 >docs/old.md && commit 1100000
echo 1 >src/formats/a.cpp && commit 1120000
echo 1 >src/formats/b.cpp && commit 1121000
both=$(printf 'src/formats/a.cpp\nsrc/formats/b.cpp')
is "$(scripts/changed-files)" "$both" "commits in a row"
is "$(CI_SINCE=HEAD~1 scripts/changed-files)" src/formats/b.cpp "since a commit"
git clone -q --depth 2 "file://$tree" shallow && is "$(shallow/scripts/changed-files)" src/formats/b.cpp "of a clone with two commits"
git clone -q --depth 1 "file://$tree" none && is "$(none/scripts/changed-files)" "" "of a clone with one"
rm -rf shallow none

# shellcheck source=.ci/turns
. .ci/turns
is "$(printf '%s\n' "${ci_changed[@]}")" "$both" "what .ci/turns takes for the change"
seen=
for ci_commit in {1..40}; do
    lanes_of_turn
    is "$lanes" asan:readers "a change of src/formats, commit $ci_commit"
done
CI_LANES=2 lanes_of_turn
is "$lanes" asan:readers "two lanes where there is one"
ci_changed=(docs/old.md) seen=
for ci_commit in {1..120}; do
    lanes_of_turn
    seen+=" $lanes "
    parts POCL_PARTS 8
    turn pocl "$parts"
    seen+=" pocl:$turn "
    others_of_turn
    # shellcheck disable=SC2206
    words=($others)
    [ ${#words[@]} = 14 ] || is ${#words[@]} 15 "left to others, commit $ci_commit: six that build anew, two thirds of ten long ones and two shards"
    for each in $ci_anew_order $ci_long_order Conformance.{1..3}of3; do case " $others " in *" $each "*) ;; *) seen+=" $each " ;; esac; done
done
for each in $ci_order $ci_anew_order $ci_long_order Conformance.{1..3}of3 pocl:{0..7}; do case $seen in *" $each "*) ;; *) echo "$each is no commit's turn" && bad=1 ;; esac; done
CI_LANES=3 lanes_of_turn
is "$(wc -w <<<"$lanes")" 3 "three lanes"
for lane in $ci_order; do [ -n "${ci_lanes[$lane]:-}" ] || { echo "$lane is there for no files" && bad=1; }; done
POCL_PARTS=2 parts POCL_PARTS 8
is "$parts" 2 "as the variable has it"
for each in $ci_anew_order; do [ -n "${ci_anew[$each]:-}" ] || { echo "$each is there for no files" && bad=1; }; done
ci_changed=(backends/cpu/a.cpp bindings/rust/a.rs) seen=
for ci_commit in {1..40}; do
    others_of_turn
    case $others in *Conformance*) echo "a change of a backend has not the whole table: $others" && bad=1 ;; esac
    for each in $ci_anew_order; do case " $others " in *" $each "*) ;; *) seen+=" $each " ;; esac; done
done
ci_changed=(src/batch/a.cpp src/formats/onnx/b.cpp)
for ci_commit in {1..40}; do
    others_of_turn
    case " $others " in *" Killed "* | *" Ranks "* | *" OnnxN"*) echo "what the change touches is left to others: $others" && bad=1 ;; esac
done
for each in $ci_long_order; do [ -n "${ci_long[$each]:-}" ] || { echo "$each is there for no files" && bad=1; }; done
is "$(tr ' ' '\n' <<<"$seen" | grep . | sort -u | tr '\n' ' ')" "Rust.TheCratesPassTheirTestsOnASharedLibrary Rust.TheCratesPassTheirTestsOnAnInstalledTree " "what builds anew for a change of the crates"

# Fuzzers: each in some commit's turn, what a change touches in every one.
mkdir -p tests/fuzz
for each in elf gguf npy onnx pe; do touch tests/fuzz/fuzz_$each.cpp; done
ci_changed=(docs/old.md) seen=
for ci_commit in {1..40}; do
    fuzz_of_turn
    seen+=" $fuzzers "
    # shellcheck disable=SC2206
    words=($fuzzers $fuzz_others)
    is ${#words[@]} 5 "fuzzers of commit $ci_commit and of others"
    [ -n "$fuzz_others" ] || { echo "commit $ci_commit leaves no fuzzer to others" && bad=1; }
done
is "$(tr ' ' '\n' <<<"$seen" | grep . | sort -u | wc -l)" 5 "fuzzers that are some commit's turn"
for ci_commit in {1..40}; do
    ci_changed=(src/formats/onnx/convert.cpp src/formats/npy.cpp) && fuzz_of_turn
    for each in fuzz_onnx fuzz_npy; do case " $fuzzers " in *" $each "*) ;; *) echo "what the change touches is not fuzzed by $each" && bad=1 ;; esac; done
done

# Kernels for cuda: what a change touches in each commit, the others in some; all where they are compiled in another way.
for each in common/gpu/kernels cuda/kernels; do mkdir -p backends/$each; done
for each in one two three four five six seven; do echo "void $each();" >backends/common/gpu/kernels/$each.kernel; done
printf '#include "deep.h"\n' >backends/common/gpu/kernels/wide.h
printf '#include "wide.h"\n' | tee backends/common/gpu/kernels/by_header.kernel >backends/cuda/kernels/own.cu
touch backends/common/gpu/kernels/deep.h
printf 'bp_gpu_kernel(one_f32 one)\nbp_gpu_kernel(two_f32 two)\n' >backends/common/gpu/kernels.cmake
printf 'set(instances_one 0=1)\nset(instances_three\n  0=1)\n' >backends/cuda/instances.cmake
touch backends/cuda/compile.cmake backends/cuda/CMakeLists.txt
commit 2000000
all_kernels="one two three four five six seven by_header own"
export CUDA_PARTS=2
of_two=()
for ci_commit in {1..40}; do turn kernels 2 && of_two[turn]=$ci_commit; done
of_both() { # the kernels that commits compile, whichever half is their turn
    local left=$all_kernels name kept
    mapfile -t ci_changed < <(scripts/changed-files)
    for ci_commit in "${of_two[@]}"; do
        kernels_of_turn
        kept=
        for name in $left; do [[ ! $name =~ $kernels ]] || kept+="$name "; done
        left=$kept
    done
    echo -n "$left"
}
commit 3000000
is "$(of_both)" "" "no change of kernels"
ci_changed=() seen=
for ci_commit in "${of_two[@]}"; do
    kernels_of_turn
    for name in $all_kernels; do [[ ! $name =~ $kernels ]] || seen+="$name "; done
done
is "$(tr ' ' '\n' <<<"$seen" | grep . | sort | tr '\n' ' ')" "$(tr ' ' '\n' <<<"$all_kernels" | sort | tr '\n' ' ')" "kernels of a commit of each half, each once"
echo 'void changed();' >>backends/common/gpu/kernels/four.kernel && commit 4000000
is "$(of_both)" "four " "a change of a kernel"
echo '// changed' >>backends/common/gpu/kernels/deep.h && commit 5000000
is "$(of_both)" "by_header own " "a change of what kernels include"
echo 'bp_gpu_kernel(two_f16 two HALF)' >>backends/common/gpu/kernels.cmake && sed -i 's/^  0=1)/  0=2)/' backends/cuda/instances.cmake && commit 6000000
is "$(of_both)" "two three " "a change of the lists"
echo '# changed' >>backends/cuda/compile.cmake && commit 7000000
is "$(of_both)" "$all_kernels " "a change of how kernels are compiled"
# Of what a change reaches in that way a third: twice in a round of six.
CUDA_PARTS=6
of_six=()
for ci_commit in {1..200}; do turn kernels 6 && of_six[turn]=$ci_commit; done
mapfile -t ci_changed < <(scripts/changed-files) && seen=
for ci_commit in "${of_six[@]}"; do
    kernels_of_turn
    for name in $all_kernels; do [[ ! $name =~ $kernels ]] || seen+="$name "; done
done
is "$(tr ' ' '\n' <<<"$seen" | grep . | sort | uniq -c | awk '{ printf "%s ", $1 }')" "2 2 2 2 2 2 2 2 2 " "how often each kernel's turn comes where the rules changed"
unset CUDA_PARTS
commit 8000000
CI_PARTS=1
is "$(of_both)" "one two three four five six seven by_header own " "all kernels, CI_PARTS=1"
others_of_turn
is "$others" "" "left to others, CI_PARTS=1"
lanes_of_turn
is "$lanes" "" "CI_PARTS=1"
fuzz_of_turn
is "$fuzz_others" "" "fuzzers left to others, CI_PARTS=1"
parts POCL_PARTS 8
is "$parts" 1 "parts with CI_PARTS=1"
exit $bad
