#include "recording.hpp"

#include <algorithm>

namespace backplane::vulkan {

namespace {

// Operations after which a new command buffer begins: a raised cancel flag is seen between two, and a slow device is not taken for a
// hung one.
constexpr double kSegmentWork = 2e11;
constexpr double kSegmentWorkOfSoftware = 5e8;

}  // namespace

Recording::Recording(Device& device, const Script& script, std::vector<Place> places)
    : device_(device), places_(std::move(places)), nothing_(script.parameters.block->buffer) {
    try {
        create_pools(script);
        record(script);
    } catch (...) {
        destroy();
        throw;
    }
}

Recording::~Recording() { destroy(); }

void Recording::destroy() noexcept {
    for (VkFence fence : fences_) device_.vk.DestroyFence(device_.handle, fence, nullptr);
    device_.vk.DestroyDescriptorPool(device_.handle, sets_, nullptr);
    device_.vk.DestroyCommandPool(device_.handle, commands_, nullptr);
}

void Recording::create_pools(const Script& script) {
    const std::string attempted = "record a program on " + device_.physical.name;
    VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.queueFamilyIndex = device_.physical.queue_family;
    device_.check(device_.vk.CreateCommandPool(device_.handle, &pool, nullptr, &commands_), attempted);
    const VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    for (VkFence& f : fences_) device_.check(device_.vk.CreateFence(device_.handle, &fence, nullptr, &f), attempted);
    const auto count = static_cast<uint32_t>(std::max<size_t>(1, script.plan.dispatches.size()));
    const VkDescriptorPoolSize sizes[2] = {{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, count},
                                           {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count * kMostOperands}};
    VkDescriptorPoolCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    info.maxSets = count;
    info.poolSizeCount = 2;
    info.pPoolSizes = sizes;
    device_.check(device_.vk.CreateDescriptorPool(device_.handle, &info, nullptr, &sets_), attempted);
}

Recording::Range Recording::range_of(const Plan& plan, const Operand& operand) const {
    const gpu::Value& value = plan[operand.value];
    if (value.bytes == 0) return {};
    const Place& place = places_[value.base];
    const uint64_t first = place.buffer.offset + place.offset + value.offset;
    return {place.buffer.block->buffer, first, first + value.bytes, operand.written};
}

Recording::Bound Recording::bound_of(const Plan& plan, const Operand& operand) const {
    const Range range = range_of(plan, operand);
    if (range.buffer == VK_NULL_HANDLE) return {nothing_, 0, 16, 0};
    const uint64_t before = range.first % device_.can().storage_alignment;
    if (before % operand.element != 0)
        throw sdk::Failure(BP_INVALID, "run: tensor " + std::to_string(plan[operand.value].tensor) +
                                           " is bound at an offset that is no multiple of its elements' " +
                                           std::to_string(operand.element) + " bytes");
    return {range.buffer, range.first - before, range.end - range.first + before,
            static_cast<uint32_t>(before / operand.element)};
}

void Recording::write_set(const Script& script, size_t index, VkDescriptorSet set, std::vector<uint32_t>& bases) const {
    const Dispatch& dispatch = script.plan.dispatches[index];
    std::vector<VkDescriptorBufferInfo> buffers = {{script.parameters.block->buffer,
                                                    script.parameters.offset + index * script.stride,
                                                    kParameterWords * sizeof(uint32_t)}};
    for (const Operand& operand : dispatch.operands) {
        const Bound bound = bound_of(script.plan, operand);
        buffers.push_back({bound.buffer, bound.offset, bound.range});
        bases.push_back(bound.base);
    }
    std::vector<VkWriteDescriptorSet> writes;
    for (uint32_t i = 0; i < buffers.size(); ++i) {
        VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
        write.dstSet = set;
        write.dstBinding = i;
        write.descriptorCount = 1;
        write.descriptorType = i == 0 ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = &buffers[i];
        writes.push_back(write);
    }
    device_.vk.UpdateDescriptorSets(device_.handle, static_cast<uint32_t>(writes.size()), writes.data(), 0, nullptr);
}

void Recording::begin_segment() {
    VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = commands_;
    allocate.commandBufferCount = 1;
    VkCommandBuffer made = VK_NULL_HANDLE;
    const std::string attempted = "record a program on " + device_.physical.name;
    device_.check(device_.vk.AllocateCommandBuffers(device_.handle, &allocate, &made), attempted);
    segments_.push_back(made);
    const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    device_.check(device_.vk.BeginCommandBuffer(made, &begin), attempted);
    work_ = 0;
}

void Recording::end_segment() {
    // What comes after sees all that was written: the next segment, and the host.
    VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                            VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    constexpr VkPipelineStageFlags device = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    device_.vk.CmdPipelineBarrier(segments_.back(), device, device | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr,
                                  0, nullptr);
    pending_.clear();
    device_.check(device_.vk.EndCommandBuffer(segments_.back()), "record a program on " + device_.physical.name);
}

// A barrier where what follows touches what was written since the last one, or writes what was read.
void Recording::order(const std::vector<Range>& ranges) {
    const auto clash = [](const Range& a, const Range& b) {
        return a.buffer == b.buffer && (a.written || b.written) && a.first < b.end && b.first < a.end;
    };
    const bool needed = std::any_of(ranges.begin(), ranges.end(), [&](const Range& mine) {
        return std::any_of(pending_.begin(), pending_.end(), [&](const Range& other) { return clash(mine, other); });
    });
    if (needed) {
        VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
        barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
        barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                                VK_ACCESS_TRANSFER_WRITE_BIT;
        constexpr VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
        device_.vk.CmdPipelineBarrier(segments_.back(), stages, stages, 0, 1, &barrier, 0, nullptr, 0, nullptr);
        pending_.clear();
    }
    pending_.insert(pending_.end(), ranges.begin(), ranges.end());
}

void Recording::record_copy(const Plan& plan, const Dispatch& dispatch) {
    const Range from = range_of(plan, dispatch.operands[0]);
    const Range to = range_of(plan, dispatch.operands[1]);
    if (from.buffer == VK_NULL_HANDLE) return;
    const VkBufferCopy region{from.first, to.first, to.end - to.first};
    device_.vk.CmdCopyBuffer(segments_.back(), from.buffer, to.buffer, 1, &region);
}

void Recording::record(const Script& script) {
    const std::vector<Dispatch>& dispatches = script.plan.dispatches;
    if (dispatches.empty()) return;
    std::vector<VkDescriptorSetLayout> layouts(dispatches.size(), device_.set_layout);
    std::vector<VkDescriptorSet> sets(dispatches.size());
    VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = sets_;
    allocate.descriptorSetCount = static_cast<uint32_t>(sets.size());
    allocate.pSetLayouts = layouts.data();
    device_.check(device_.vk.AllocateDescriptorSets(device_.handle, &allocate, sets.data()),
                  "record a program on " + device_.physical.name);
    const double most = device_.can().software ? kSegmentWorkOfSoftware : kSegmentWork;
    begin_segment();
    for (size_t i = 0; i < dispatches.size(); ++i) {
        const Dispatch& d = dispatches[i];
        if (work_ + d.work > most && work_ > 0) {
            end_segment();
            begin_segment();
        }
        work_ += d.work;
        std::vector<Range> ranges;
        for (const Operand& operand : d.operands)
            if (const Range range = range_of(script.plan, operand); range.buffer != VK_NULL_HANDLE) ranges.push_back(range);
        order(ranges);
        if (d.kernel == gpu::kNoKernel) {
            record_copy(script.plan, d);
            continue;
        }
        std::vector<uint32_t> bases;
        write_set(script, i, sets[i], bases);
        VkCommandBuffer commands = segments_.back();
        device_.vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, script.pipelines[i]);
        device_.vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, device_.pipeline_layout, 0, 1, &sets[i],
                                         0, nullptr);
        bases.resize(kMostOperands, 0);
        device_.vk.CmdPushConstants(commands, device_.pipeline_layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                    kMostOperands * sizeof(uint32_t), bases.data());
        device_.vk.CmdDispatch(commands, d.groups[0], d.groups[1], d.groups[2]);
    }
    end_segment();
}

void Recording::run(const volatile uint32_t* cancel) {
    const auto raised = [&] { return cancel != nullptr && *cancel != 0; };
    const std::string attempted = "run a program on " + device_.physical.name;
    // At most two segments are under way, so that a raised flag is obeyed soon and the device never waits for the host.
    size_t started = 0;
    size_t finished = 0;
    bool stopped = false;
    while (finished < segments_.size() && !(stopped && finished == started)) {
        stopped = stopped || raised();
        while (!stopped && started < segments_.size() && started < finished + 2) {
            device_.submit(segments_[started], fences_[started % 2]);
            ++started;
        }
        if (finished == started) break;
        device_.wait(fences_[finished % 2], attempted);
        ++finished;
    }
    if (stopped && finished < segments_.size()) throw sdk::Failure(BP_CANCELLED, "run was cancelled");
}

}  // namespace backplane::vulkan
