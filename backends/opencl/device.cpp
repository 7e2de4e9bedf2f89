#include "device.hpp"

#include <algorithm>

namespace backplane::opencl {

// For tests: the kernels of GPUs on a driver for the CPU, and those for large maps on small ones; "matrix" asks for
// matrix units, which other compilers than NVIDIA's get in plain C; "carried" gives any driver machine code of NVIDIA's chips first.
void Api::choose(Abilities& can, const std::string& kernels) {
    if (kernels == "gpu" || kernels == "patches" || kernels == "matrix") can.software = false;
    if (kernels == "patches" || kernels == "matrix") can.least_patches = 0;
    if (kernels == "matrix") can.matrices = can.matrix_tiles = can.attention_matrix = true;
    if (kernels == "patches" || kernels == "no-matrices") can.matrix_tiles = can.attention_matrix = false;
    can.float_parts = can.attention_matrix ? 16 : 0;
    if (kernels == "carried") can.carried = true;
    if (kernels == "built") can.carried = false;
    if (!can.matrix_tiles || kernels == "no-warpgroups") can.warpgroup_products = false;
}

void check_work(cl_int result, const std::string& attempted) {
    check(result == CL_OUT_OF_RESOURCES ? CL_DEVICE_NOT_AVAILABLE : result, attempted);
}

Device::Device(const Instance& made_by, const PhysicalDevice& p, const Abilities& a)
    : instance(made_by), physical(p), can(a), cl(made_by.functions()) {
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                reinterpret_cast<cl_context_properties>(physical.platform), 0};
    cl_int result = CL_SUCCESS;
    context = {cl.CreateContext(properties, 1, &physical.handle, nullptr, nullptr, &result), cl.ReleaseContext};
    check(result, "open " + physical.name);
    constexpr size_t kPlace = 512;
    nothing = {cl.CreateBuffer(context.get(), CL_MEM_READ_WRITE, kPlace, nullptr, &result), cl.ReleaseMemObject};
    check(result, "open " + physical.name);
    for (uint32_t i = 0; i < physical.queues + physical.copy_queues; ++i) queues.push_back({*this, make_queue(), {}});
    host_queue = make_queue();
}

Device::~Device() {
    for (const Queue& queue : queues)
        for (const auto* handle : {&queue.handle, &queue.second})
            if (*handle) cl.Finish(handle->get());
}

Handle<cl_command_queue> Device::make_queue() const {
    cl_int result = CL_SUCCESS;
    Handle<cl_command_queue> made{cl.CreateCommandQueue(context.get(), physical.handle, 0, &result), cl.ReleaseCommandQueue};
    check(result, "open " + physical.name);
    return made;
}

Block Api::allocate(Device& device, uint64_t bytes, gpu::Placement placement) {
    const std::string attempted = "allocate " + std::to_string(bytes) + " bytes on " + device.physical.name;
    const bool pinned = placement == gpu::Placement::pinned;
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (pinned || device.can.unified ? CL_MEM_ALLOC_HOST_PTR : 0);
    cl_int result = CL_SUCCESS;
    Block block;
    block.size = bytes;
    block.memory = {device.cl.CreateBuffer(device.context.get(), flags, bytes, nullptr, &result),
                    device.cl.ReleaseMemObject};
    check(result, attempted);
    cl_mem memory = block.memory.get();
    if (pinned) {
        block.mapped = static_cast<std::byte*>(device.cl.EnqueueMapBuffer(
            device.host_queue.get(), memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, nullptr, nullptr, &result));
        check(result, attempted);
        return block;
    }
    // Drivers allocate at first use; what does not fit must be known now.
    check(device.cl.EnqueueMigrateMemObjects(device.host_queue.get(), 1, &memory, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0,
                                             nullptr, nullptr),
          attempted);
    check(device.cl.Finish(device.host_queue.get()), attempted);
    return block;
}

Block Api::import(Device& device, void* memory, uint64_t bytes) {
    cl_int result = CL_SUCCESS;
    Block block;
    block.size = bytes;
    block.imported = true;
    block.memory = {
        device.cl.CreateBuffer(device.context.get(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, memory, &result),
        device.cl.ReleaseMemObject};
    if (result != CL_SUCCESS)
        throw sdk::Failure(BP_UNSUPPORTED, "buffer_import on " + device.physical.name + ": the driver answers " +
                                               name_of(result) + "; copy it instead");
    return block;
}

std::byte* Api::map(Device& device, const Range& range) {
    if (range.block->mapped != nullptr) return range.block->mapped + range.offset;
    cl_int result = CL_SUCCESS;
    void* at =
        device.cl.EnqueueMapBuffer(device.host_queue.get(), range.block->memory.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                   range.offset, range.bytes, 0, nullptr, nullptr, &result);
    check(result, "map memory of " + device.physical.name);
    return static_cast<std::byte*>(at);
}

void Api::unmap(Device& device, const Range& range, void* at) {
    if (range.block->mapped != nullptr) return;
    const std::string attempted = "unmap memory of " + device.physical.name;
    check(device.cl.EnqueueUnmapMemObject(device.host_queue.get(), range.block->memory.get(), at, 0, nullptr, nullptr),
          attempted);
    check_work(device.cl.Finish(device.host_queue.get()), attempted);
}

}  // namespace backplane::opencl
