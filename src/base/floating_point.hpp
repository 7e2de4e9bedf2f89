// How the calling thread computes with floating-point numbers: rounding, flushing, precision, traps.
#pragma once

#include <cstdint>

namespace backplane::base {

// As the processor has it, without the flags that tell what was computed.
uint64_t floating_point_control() noexcept;
// Puts back what floating_point_control() gave; the flags stay as they are.
void set_floating_point_control(uint64_t control) noexcept;

// Puts it back when it goes, in a few nanoseconds where nothing changed: cheap enough to stand around every run.
class KeepFloatingControl {
public:
    KeepFloatingControl() noexcept : kept_(floating_point_control()) {}
    ~KeepFloatingControl() {
        if (floating_point_control() != kept_) set_floating_point_control(kept_);
    }
    KeepFloatingControl(const KeepFloatingControl&) = delete;
    KeepFloatingControl& operator=(const KeepFloatingControl&) = delete;

private:
    uint64_t kept_;
};

}  // namespace backplane::base
