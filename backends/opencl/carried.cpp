#include "carried.hpp"

#include <algorithm>
#include <iterator>

namespace backplane::opencl {

namespace {

const CarriedKernel* find(uint32_t kernel, std::span<const uint32_t> constants) {
    const auto same = [&](const CarriedKernel& k) {
        if (k.kernel != kernel || constants.size() > std::size(k.constants)) return false;
        return std::equal(constants.begin(), constants.end(), k.constants) &&
               std::all_of(k.constants + constants.size(), std::end(k.constants), [](uint32_t c) { return c == 0; });
    };
    const auto found = std::find_if(kCarriedKernels.begin(), kCarriedKernels.end(), same);
    return found != kCarriedKernels.end() ? &*found : nullptr;
}

// All of it is one program: a driver takes a file of many kernels as soon as one of a single one.
Handle<cl_program> load(const Device& device, uint32_t kernel, const char* entry) {
    const CarriedCode* code = carried_code_for(kCarriedCodes, device.physical.architecture);
    if (code == nullptr) return {};
    return from_binary(device, kernel, entry, device.physical.build_options,
                       std::as_bytes(std::span(code->first, code->end)));
}

}  // namespace

Kernel carried(Device& device, uint32_t kernel, std::span<const uint32_t> constants) {
    Kernel built;
    const CarriedKernel* found = device.can.carried ? find(kernel, constants) : nullptr;
    if (found == nullptr) return built;
    std::call_once(device.carried_tried, [&] { device.carried = load(device, kernel, found->entry); });
    if (!device.carried) return built;
    check(device.cl.RetainProgram(device.carried.get()), "load kernels on " + device.physical.name);
    built.program = {device.carried.get(), device.cl.ReleaseProgram};
    built.id = kernel;
    built.entry = found->entry;
    built.kept = true;
    return built;
}

}  // namespace backplane::opencl
