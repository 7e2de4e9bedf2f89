#include "device.hpp"

#include "kernels_generated.h"

namespace backplane::opencl {

Device::Device(const backend::Host& h, const Instance& i, const PhysicalDevice& p)
    : host(h), instance(i), physical(p), cl(i.functions()), can_(p.can) {
    // For tests: the kernels of GPUs on a driver for the CPU, and those for large maps on small ones; "matrix" asks for one that only
    // NVIDIA's compiler can build.
    const std::string kernels = host.option("opencl.kernels", {"gpu", "patches", "matrix", "no-matrices"});
    if (kernels == "gpu" || kernels == "patches" || kernels == "matrix") can_.software = false;
    if (kernels == "patches" || kernels == "matrix") can_.least_patches = 0;
    if (kernels == "matrix") can_.matrix_tiles = true;
    if (kernels == "patches" || kernels == "no-matrices") can_.matrix_tiles = false;
    const std::string attempted = "open " + physical.name;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                reinterpret_cast<cl_context_properties>(physical.platform), 0};
    cl_int result = CL_SUCCESS;
    context = {cl.CreateContext(properties, 1, &physical.handle, nullptr, nullptr, &result), cl.ReleaseContext};
    check(result, attempted);
    queue = {cl.CreateCommandQueue(context.get(), physical.handle, 0, &result), cl.ReleaseCommandQueue};
    check(result, attempted);
    memory = std::make_unique<Memory>(physical, cl, context.get(), queue.get());
}

Device::~Device() { cl.Finish(queue.get()); }

Abilities Device::abilities() const {
    Abilities can = can_;
    if (refused_) can.matrix_tiles = false;
    return can;
}

bool Device::does_without(uint32_t kernel, const sdk::Failure& why) {
    if (kernel != gpu::kKernel_conv_matrix_f16 || why.code() == BP_DEVICE_LOST) return false;
    if (!refused_.exchange(true))
        host.warn("opencl: " + physical.name + " does convolutions without its matrix units: " + why.what());
    return true;
}

void Device::check(cl_int result, const std::string& attempted) {
    if (means_lost(result)) lost_ = true;
    opencl::check(result, attempted);
}

void Device::check_work(cl_int result, const std::string& attempted) {
    check(result == CL_OUT_OF_RESOURCES ? CL_DEVICE_NOT_AVAILABLE : result, attempted);
}

void Device::check_lost() const {
    if (lost_)
        throw sdk::Failure(BP_DEVICE_LOST,
                           physical.name + " was lost by its driver in an earlier call; close the device and open it again",
                           CL_DEVICE_NOT_AVAILABLE);
}

void Device::upload(const Buffer& to, uint64_t offset, const std::byte* from, uint64_t bytes) {
    if (bytes == 0) return;
    check_work(
        cl.EnqueueWriteBuffer(queue.get(), to.memory(), CL_TRUE, to.offset + offset, bytes, from, 0, nullptr, nullptr),
        "copy to " + physical.name);
    give_to_host(to);
}

void Device::download(const Buffer& from, uint64_t offset, std::byte* to, uint64_t bytes) {
    if (bytes == 0) return;
    take_from_host(from);
    check_work(
        cl.EnqueueReadBuffer(queue.get(), from.memory(), CL_TRUE, from.offset + offset, bytes, to, 0, nullptr, nullptr),
        "copy from " + physical.name);
}

void Device::copy(const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset, uint64_t bytes) {
    if (bytes == 0) return;
    const std::string attempted = "copy on " + physical.name;
    const uint64_t first = from.offset + from_offset;
    const uint64_t into = to.offset + to_offset;
    take_from_host(from);
    const auto move = [&](cl_mem a, uint64_t at_a, cl_mem b, uint64_t at_b) {
        check(cl.EnqueueCopyBuffer(queue.get(), a, b, at_a, at_b, bytes, 0, nullptr, nullptr), attempted);
    };
    if (from.block == to.block && first < into + bytes && into < first + bytes) {
        // OpenCL copies nothing onto itself: by way of memory between.
        const Buffer between = memory->create(bytes);
        move(from.memory(), first, between.memory(), between.offset);
        move(between.memory(), between.offset, to.memory(), into);
        check_work(cl.Finish(queue.get()), attempted);
        memory->close(between);
    } else {
        move(from.memory(), first, to.memory(), into);
        check_work(cl.Finish(queue.get()), attempted);
    }
    give_to_host(to);
}

void* Device::map(const Buffer& buffer, uint64_t offset, uint64_t bytes) {
    if (!can().unified || buffer.memory() == nullptr) return nullptr;
    cl_int result = CL_SUCCESS;
    void* at = cl.EnqueueMapBuffer(queue.get(), buffer.memory(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, buffer.offset + offset,
                                   bytes, 0, nullptr, nullptr, &result);
    check(result, "map memory of " + physical.name);
    const std::lock_guard lock(map_mutex_);
    mapped_.emplace(buffer.id, std::pair(buffer.memory(), at));
    return at;
}

void Device::unmap(const Buffer& buffer) {
    const std::lock_guard lock(map_mutex_);
    const auto [first, last] = mapped_.equal_range(buffer.id);
    if (first == last) return;
    for (auto it = first; it != last; ++it)
        cl.EnqueueUnmapMemObject(queue.get(), it->second.first, it->second.second, 0, nullptr, nullptr);
    mapped_.erase(first, last);
    check_work(cl.Finish(queue.get()), "unmap memory of " + physical.name);
}

void Device::sync(const Buffer& buffer, cl_map_flags flags) {
    if (buffer.block == nullptr || !buffer.block->imported) return;
    const std::string attempted = "share memory with " + physical.name;
    cl_int result = CL_SUCCESS;
    void* at = cl.EnqueueMapBuffer(queue.get(), buffer.memory(), CL_TRUE, flags, 0, buffer.block->size, 0, nullptr, nullptr,
                                   &result);
    check(result, attempted);
    check(cl.EnqueueUnmapMemObject(queue.get(), buffer.memory(), at, 0, nullptr, nullptr), attempted);
    check_work(cl.Finish(queue.get()), attempted);
}

void Device::take_from_host(const Buffer& buffer) { sync(buffer, CL_MAP_WRITE_INVALIDATE_REGION); }

void Device::give_to_host(const Buffer& buffer) { sync(buffer, CL_MAP_READ); }

}  // namespace backplane::opencl
