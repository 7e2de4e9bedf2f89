// Written by Apple's documentation; not built or run by this project's checks yet.
// sysctl(3): hw.optional says what the system supports, AVX-512 too, whose registers XCR0 shows only once a thread has used them.
// machdep.cpu lists what CPUID says, for instructions that need nothing of the system.
#include <sys/sysctl.h>

#include <array>
#include <sstream>
#include <string>
#include <utility>

#include "base/cpu_features.hpp"

namespace backplane::base {

namespace {

using Name = std::pair<const char*, const char*>;  // the system's and Linux's

constexpr std::array<Name, 20> kOptional{{
    {"hw.optional.sse", "sse"},           {"hw.optional.sse2", "sse2"},
    {"hw.optional.sse3", "pni"},          {"hw.optional.supplementalsse3", "ssse3"},
    {"hw.optional.sse4_1", "sse4_1"},     {"hw.optional.sse4_2", "sse4_2"},
    {"hw.optional.aes", "aes"},           {"hw.optional.avx1_0", "avx"},
    {"hw.optional.rdrand", "rdrand"},     {"hw.optional.f16c", "f16c"},
    {"hw.optional.fma", "fma"},           {"hw.optional.avx2_0", "avx2"},
    {"hw.optional.bmi1", "bmi1"},         {"hw.optional.bmi2", "bmi2"},
    {"hw.optional.adx", "adx"},           {"hw.optional.avx512f", "avx512f"},
    {"hw.optional.avx512cd", "avx512cd"}, {"hw.optional.avx512dq", "avx512dq"},
    {"hw.optional.avx512bw", "avx512bw"}, {"hw.optional.avx512vl", "avx512vl"},
}};

constexpr std::array<Name, 6> kWords{{
    {"PCLMULQDQ", "pclmulqdq"},
    {"CX16", "cx16"},
    {"MOVBE", "movbe"},
    {"POPCNT", "popcnt"},
    {"LZCNT", "abm"},
    {"LAHF", "lahf_lm"},
}};

bool is_set(const char* name) {
    int64_t value = 0;  // written with four bytes or eight, the low ones first
    size_t size = sizeof value;
    return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}

std::string text_of(const char* name) {
    size_t size = 0;
    if (::sysctlbyname(name, nullptr, &size, nullptr, 0) != 0) return {};
    std::string text(size, '\0');
    if (::sysctlbyname(name, text.data(), &size, nullptr, 0) != 0) return {};
    text.resize(size);
    return text.c_str();
}

}  // namespace

CpuFeatures detect_cpu_features() {
    CpuFeatures features;
    for (const auto& [theirs, name] : kOptional)
        if (is_set(theirs)) features.insert(name);
    std::istringstream words(text_of("machdep.cpu.features") + " " + text_of("machdep.cpu.extfeatures"));
    for (std::string word; words >> word;)
        for (const auto& [theirs, name] : kWords)
            if (word == theirs) features.insert(name);
    return features;
}

}  // namespace backplane::base
