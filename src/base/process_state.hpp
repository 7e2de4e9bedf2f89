// What a library can change of a whole process behind its back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/floating_point.hpp"

namespace backplane::base {

// Handlers of signals, the working directory, the mask of new files, the locale, timers, limits, the processors that it may run on, its
// priority, its environment and its standard streams; of the calling thread the mask of signals and the floating-point control (libraries
// linked with -ffast-math set it when they are loaded). Each as a name and what it is.
using ProcessState = std::vector<std::pair<std::string, std::string>>;
ProcessState process_state();

// "the handling of signal 12, the locale"; empty: nothing.
std::string changes(const ProcessState& before, const ProcessState& after);

// Is one of them different that KeepProcessState puts back?
bool harms_host(const ProcessState& before, const ProcessState& after);

size_t threads_of_this_process();  // 0: the system does not tell

// Puts the calling thread's floating-point environment back when it goes.
class KeepFloatingPoint {
public:
    KeepFloatingPoint();
    ~KeepFloatingPoint();
    KeepFloatingPoint(const KeepFloatingPoint&) = delete;
    KeepFloatingPoint& operator=(const KeepFloatingPoint&) = delete;

private:
    alignas(16) unsigned char kept_[64];
    uint64_t control_ = floating_point_control();
};

}  // namespace backplane::base
