// The instruction sets of the CPU we run on, found by CPUID and XGETBV (x86-64: the header that the host uses) or HWCAP (arm64). One
// implementation per architecture in arch/.
#pragma once

#include <string>
#include <vector>

namespace backplane::cpu {

// Features that this CPU and its operating system support, by their names in /proc/cpuinfo ("avx2", "fma", "pni"): at least those `among`
// these that are known here (src/base/cpu_feature_table.hpp). For each group of others the processor would have to be asked. Of tiles, where they
// are among these, the system is asked for leave, and they are not there without it.
std::vector<std::string> detected_features(const std::vector<std::string>& among);
// The features that the code of a level needs; empty: runs anywhere.
std::vector<std::string> features_of_level(const std::string& level);
// The chip, as people know it.
std::string processor_name();
// Tells the core that this thread spins.
void relax();

}  // namespace backplane::cpu
