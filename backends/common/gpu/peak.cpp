#include "common/gpu/peak.hpp"

#include "common/gpu/kernel_words.hpp"
#include "kernels_generated.h"

namespace backplane::gpu {

Plan peak_plan(Peak what, uint32_t rounds, uint64_t read_bytes, uint32_t groups) {
    Plan plan;
    Value in;
    in.dtype = BP_U8;
    in.dim = {static_cast<int64_t>(read_bytes)};
    in.base = 0;
    Value out = in;
    out.dim = {256};
    out.base = 1;
    plan.add_value(in);
    plan.add_value(out);
    Dispatch d;
    d.kernel = kKernel_peak;
    d.constants = {128, static_cast<uint32_t>(what)};
    d.operands = {{0, 16, false}, {1, 4, true}};
    d.parameters = words_of(PeakParameters{rounds});
    d.groups[0] = groups;
    plan.dispatches.push_back(d);
    return plan;
}

}  // namespace backplane::gpu
