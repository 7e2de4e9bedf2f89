#!/bin/sh
# compile-workgroup-shaders.sh GLSLANG: makes backends/vulkan/compiled anew with this glslang (15 or later, from 2024-10 on), for compilers
# of shaders that do not know GL_NV_cooperative_matrix2. To be run, and its files committed, when one of those kernels or what it includes changed:
# a build says "is left out" then. Needs a configured build/release.
set -eu
cd "$(dirname "$0")/.."
[ $# = 1 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
rm -f build/release/backends/vulkan/generated/*_workgroup_*.inc
GLSLANG=$(command -v "$1") scripts/build.sh release backends/vulkan/generated/matmul_workgroup_f16.inc backends/vulkan/generated/attention_workgroup_f16.inc
ls -l backends/vulkan/compiled
