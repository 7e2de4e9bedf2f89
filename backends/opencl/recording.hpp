// The work of a program for one set of buffers: kernels whose arguments are set once, handed to the queue at each run.
#pragma once

#include <vector>

#include "device.hpp"

namespace backplane::opencl {

using gpu::Dispatch;
using gpu::Operand;
using gpu::Plan;
using Place = gpu::Place<Buffer>;

// The parameters of a plan's dispatches as memory that kernels read as constants: at most 64 KiB each, which every device takes.
class Parameters {
public:
    Parameters() = default;
    Parameters(Device& device, const Plan& plan);

    static uint64_t bytes_of(const Plan& plan);
    [[nodiscard]] cl_mem memory_of(size_t dispatch) const;
    // In words.
    [[nodiscard]] static cl_uint first_of(size_t dispatch);

private:
    std::vector<Handle<cl_mem>> chunks_;
};

class Recording {
public:
    // Throws Failure(BP_INVALID) when an offset is no multiple of an element.
    Recording(Device& device, const Plan& plan, const Parameters& parameters, std::vector<Place> places);

    [[nodiscard]] bool is_for(const std::vector<Place>& places) const { return places == places_; }
    // Returns when the work is done. Throws Failure(BP_CANCELLED) soon after `cancel` is raised; the device is idle then.
    void run(const volatile uint32_t* cancel);

private:
    struct Range {  // bytes of a memory object; null: none
        cl_mem memory = nullptr;
        uint64_t first = 0, bytes = 0;
    };
    struct Step {
        Handle<cl_kernel> kernel;  // null: a copy
        size_t global[3] = {1, 1, 1}, local[3] = {1, 1, 1};
        Range from, to;
        bool ends_segment = false;
    };
    [[nodiscard]] Range range_of(const Plan& plan, const Operand& operand) const;
    void record(const Plan& plan, const Parameters& parameters);
    Step make_step(const Plan& plan, const Parameters& parameters, size_t index);
    void start(const Step& step);

    Device& device_;
    std::vector<Place> places_;
    std::vector<Step> steps_;
    std::vector<bool> written_;  // of the places
};

}  // namespace backplane::opencl
