// A device whose products go to a matrix unit that is emulated, whatever processor this is.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "device.hpp"
#include "harness.hpp"

extern "C" void bp_cpu_tiles_emulated(backplane::cpu::TilesKernels* table);
extern "C" int* bp_cpu_tiles_emulated_setting();

namespace harness {

// In place of a mask: the best level of this machine, and the unit.
inline constexpr const char* kEmulatedTiles = "emulated tiles";

// The level that its vectors need.
inline bool has_emulated_tiles() {
#ifdef BP_TEST_EMULATED_TILES
    const std::string level = backplane::cpu::choose_level("").name;
    return level == "avx512bf16" || level == "amx";
#else
    return false;
#endif
}

inline std::vector<std::string> masks_and_emulated_tiles() {
    std::vector<std::string> all = masks();
    all.emplace_back(kEmulatedTiles);
    return all;
}

class UnitDevice : public Device {
public:
    UnitDevice(const std::string& unit, const std::string& threads) : Device({unit == kEmulatedTiles ? "" : unit, threads}) {
#ifdef BP_TEST_EMULATED_TILES
        if (unit != kEmulatedTiles) return;
        // The level is the module's own, which is this device's alone.
        const auto& level = reinterpret_cast<backplane::cpu::Device*>(device)->level;
        bp_cpu_tiles_emulated(&const_cast<backplane::cpu::Level&>(level).kernels.tiles);
#endif
    }
};

}  // namespace harness
