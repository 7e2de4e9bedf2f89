// Written by Apple's documentation; not built or run by this project's checks yet.
// sysctl hw.optional.arm: "Determining instruction set characteristics" (developer.apple.com/documentation/kernel). A name that the
// system does not know is a feature that it does not offer. What every Apple processor of this architecture has needs no name.
#include <sys/sysctl.h>

#include <array>
#include <utility>

#include "base/cpu_features.hpp"

namespace backplane::base {

namespace {

// The system's name and Linux's.
constexpr std::array<std::pair<const char*, const char*>, 16> kNames{{
    {"hw.optional.arm.FEAT_AES", "aes"},
    {"hw.optional.arm.FEAT_PMULL", "pmull"},
    {"hw.optional.arm.FEAT_SHA1", "sha1"},
    {"hw.optional.arm.FEAT_SHA256", "sha2"},
    {"hw.optional.armv8_crc32", "crc32"},
    {"hw.optional.arm.FEAT_LSE", "atomics"},
    {"hw.optional.arm.FEAT_FP16", "fphp"},
    {"hw.optional.arm.FEAT_FP16", "asimdhp"},
    {"hw.optional.arm.FEAT_RDM", "asimdrdm"},
    {"hw.optional.arm.FEAT_FCMA", "fcma"},
    {"hw.optional.arm.FEAT_SHA3", "sha3"},
    {"hw.optional.arm.FEAT_DotProd", "asimddp"},
    {"hw.optional.arm.FEAT_SHA512", "sha512"},
    {"hw.optional.arm.FEAT_FHM", "asimdfhm"},
    {"hw.optional.arm.FEAT_I8MM", "i8mm"},
    {"hw.optional.arm.FEAT_BF16", "bf16"},
}};

bool is_set(const char* name) {
    int64_t value = 0;  // written with four bytes or eight, the low ones first
    size_t size = sizeof value;
    return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}

}  // namespace

CpuFeatures detect_cpu_features() {
    CpuFeatures features{"fp", "asimd"};
    for (const auto& [theirs, name] : kNames)
        if (is_set(theirs)) features.insert(name);
    return features;
}

}  // namespace backplane::base
