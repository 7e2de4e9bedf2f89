// The commands of a program for one set of buffers: recorded once, handed to the queue at each run.
#pragma once

#include <vector>

#include "device.hpp"

namespace backplane::vulkan {

using gpu::Dispatch;
using gpu::Operand;
using gpu::Plan;
using Place = gpu::Place<Buffer>;

// What the commands are made of.
struct Script {
    const Plan& plan;
    const std::vector<VkPipeline>& pipelines;
    const Buffer& parameters;  // one record a dispatch, from the start of this buffer
    uint64_t stride;           // bytes a record
};

class Recording {
public:
    // Throws Failure(BP_INVALID) when an offset is no multiple of an element.
    Recording(Device& device, const Script& script, std::vector<Place> places);
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording();

    [[nodiscard]] bool is_for(const std::vector<Place>& places) const { return places == places_; }
    // Returns when the work is done. Throws Failure(BP_CANCELLED) soon after `cancel` is raised; the device is idle then.
    void run(const volatile uint32_t* cancel);

private:
    struct Range {  // bytes of a VkBuffer
        VkBuffer buffer = VK_NULL_HANDLE;
        uint64_t first = 0, end = 0;
        bool written = false;
    };
    struct Bound {
        VkBuffer buffer = VK_NULL_HANDLE;
        uint64_t offset = 0, range = 0;
        uint32_t base = 0;  // elements from the descriptor's start
    };
    void create_pools(const Script& script);
    void record(const Script& script);
    void begin_segment();
    void end_segment();
    void order(const std::vector<Range>& ranges);
    [[nodiscard]] Range range_of(const Plan& plan, const Operand& operand) const;
    [[nodiscard]] Bound bound_of(const Plan& plan, const Operand& operand) const;
    void write_set(const Script& script, size_t index, VkDescriptorSet set, std::vector<uint32_t>& bases) const;
    void record_copy(const Plan& plan, const Dispatch& dispatch);
    void destroy() noexcept;

    Device& device_;
    std::vector<Place> places_;
    VkBuffer nothing_ = VK_NULL_HANDLE;  // stands for values of no bytes
    VkCommandPool commands_ = VK_NULL_HANDLE;
    VkDescriptorPool sets_ = VK_NULL_HANDLE;
    VkFence fences_[2] = {};
    std::vector<VkCommandBuffer> segments_;
    std::vector<Range> pending_;  // touched since the last barrier
    double work_ = 0;
};

}  // namespace backplane::vulkan
