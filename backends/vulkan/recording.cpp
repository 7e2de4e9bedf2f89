// Recording commands, and their order on queues.
#include <algorithm>

#include "common/gpu/compile.hpp"
#include "device.hpp"
#include "ptx.hpp"

namespace backplane::vulkan {

namespace {

std::string recording_on(const Device& device) { return "record a program on " + device.physical.name; }

// What comes after sees what kernels and copies wrote: the next on this queue and, with `host`, the host. Of all stages instead of these it took
// NVIDIA's GPUs 2 us more. A family without kernels has no stage of theirs.
void separate(const Device& device, VkCommandBuffer commands, bool kernels, bool host) {
    const VkAccessFlags shader = kernels ? VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT : 0;
    VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT | (shader & VK_ACCESS_SHADER_WRITE_BIT);
    barrier.dstAccessMask =
        VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT | shader | (host ? VK_ACCESS_HOST_READ_BIT : 0);
    const VkPipelineStageFlags stages =
        VK_PIPELINE_STAGE_TRANSFER_BIT | (kernels ? VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT : 0);
    device.vk.CmdPipelineBarrier(commands, stages, stages | (host ? VK_PIPELINE_STAGE_HOST_BIT : 0), 0, 1, &barrier, 0,
                                 nullptr, 0, nullptr);
}

void hand_over(Queue& queue, VkCommandBuffer commands, Api::Waits waits, Timeline& timeline, uint64_t value) {
    std::vector<VkSemaphore> semaphores;
    std::vector<uint64_t> values;
    for (const auto& wait : waits) {
        semaphores.push_back(wait.timeline->semaphore.get());
        values.push_back(wait.value);
    }
    const std::vector<VkPipelineStageFlags> stages(waits.size(), VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    const VkSemaphore signalled = timeline.semaphore.get();
    VkTimelineSemaphoreSubmitInfo order{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
    order.waitSemaphoreValueCount = static_cast<uint32_t>(values.size());
    order.pWaitSemaphoreValues = values.data();
    order.signalSemaphoreValueCount = 1;
    order.pSignalSemaphoreValues = &value;
    VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    info.pNext = &order;
    info.waitSemaphoreCount = static_cast<uint32_t>(semaphores.size());
    info.pWaitSemaphores = semaphores.data();
    info.pWaitDstStageMask = stages.data();
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &signalled;
    check(queue.device.vk.QueueSubmit(queue.handle, 1, &info, VK_NULL_HANDLE),
          "start work on " + queue.device.physical.name);
}

VkCommandBuffer make_commands(const Device& device, VkCommandPool pool) {
    VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = pool;
    allocate.commandBufferCount = 1;
    VkCommandBuffer made = VK_NULL_HANDLE;
    check(device.vk.AllocateCommandBuffers(device.handle, &allocate, &made), recording_on(device));
    return made;
}

// Commands for one copy: those of an earlier one that has ended, or new ones.
VkCommandBuffer commands_for_copy(Queue& queue, Timeline& timeline, uint64_t value) {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    if (!queue.copies.empty() && queue.copies.front().first <= Api::reached(timeline)) {
        commands = queue.copies.front().second;
        queue.copies.pop_front();
    } else {
        commands = make_commands(queue.device, queue.pool.get());
    }
    queue.copies.emplace_back(value, commands);
    VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    check(queue.device.vk.BeginCommandBuffer(commands, &begin), recording_on(queue.device));
    return commands;
}

void record_copy(const Device& device, VkCommandBuffer commands, const Block& from, uint64_t at, const Block& to,
                 uint64_t into, uint64_t bytes) {
    const VkBufferCopy region{at, into, bytes};
    if (bytes != 0) device.vk.CmdCopyBuffer(commands, from.buffer.get(), to.buffer.get(), 1, &region);
}

// The device fills words; bytes before and behind them are copied.
void record_zeros(const Device& device, VkCommandBuffer commands, const Api::Range& to) {
    constexpr uint64_t kWord = 4;
    const uint64_t end = to.offset + to.bytes;
    const uint64_t first = std::min(end, (to.offset + kWord - 1) / kWord * kWord);
    const uint64_t last = std::max(first, end / kWord * kWord);
    if (last > first) device.vk.CmdFillBuffer(commands, to.block->buffer.get(), first, last - first, 0);
    record_copy(device, commands, device.zeros, 0, *to.block, to.offset, first - to.offset);
    record_copy(device, commands, device.zeros, 0, *to.block, last, end - last);
}

}  // namespace

Recording Api::begin(Device& device, uint32_t dispatches) {
    const std::string attempted = recording_on(device);
    Recording recording;
    recording.device = &device;
    VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.queueFamilyIndex = device.physical.queue_family;
    recording.pool = device.make<VkCommandPool>(device.vk.CreateCommandPool, pool, device.vk.DestroyCommandPool, attempted);
    if (dispatches != 0) {
        const VkDescriptorPoolSize sizes[2] = {{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, dispatches},
                                               {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, dispatches * gpu::kMostOperands}};
        VkDescriptorPoolCreateInfo sets{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
        sets.maxSets = dispatches;
        sets.poolSizeCount = 2;
        sets.pPoolSizes = sizes;
        recording.sets =
            device.make<VkDescriptorPool>(device.vk.CreateDescriptorPool, sets, device.vk.DestroyDescriptorPool, attempted);
    }
    recording.commands = make_commands(device, recording.pool.get());
    VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    begin.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
    check(device.vk.BeginCommandBuffer(recording.commands, &begin), attempted);
    return recording;
}

void Api::dispatch(Recording& recording, const Kernel& kernel, std::span<const Range> operands,
                   std::span<const uint32_t> words, const Range& parameters, const gpu::Extent& extent) {
    if (kernel.function.get() != VK_NULL_HANDLE) return dispatch_ptx(recording, kernel, operands, words, extent);
    Device& device = *recording.device;
    const VkDescriptorSetLayout layout = device.set_layout.get();
    VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = recording.sets.get();
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &layout;
    VkDescriptorSet set = VK_NULL_HANDLE;
    check(device.vk.AllocateDescriptorSets(device.handle, &allocate, &set), recording_on(device));
    VkDescriptorBufferInfo buffers[gpu::kMostOperands + 1];
    VkWriteDescriptorSet writes[gpu::kMostOperands + 1];
    uint32_t bases[gpu::kMostOperands] = {};  // elements from the start of what is bound, which is aligned
    buffers[0] = {parameters.block->buffer.get(), parameters.offset, parameters.bytes};
    for (uint32_t i = 0; i < operands.size(); ++i) {
        const Range& range = operands[i];
        if (range.block == nullptr) {  // of no bytes: nothing of it is read
            buffers[i + 1] = {buffers[0].buffer, 0, 16};
            continue;
        }
        const uint64_t before = range.offset % device.can.storage_alignment;
        bases[i] = static_cast<uint32_t>(before / range.element);
        buffers[i + 1] = {range.block->buffer.get(), range.offset - before, range.bytes + before};
    }
    const auto count = static_cast<uint32_t>(operands.size() + 1);
    for (uint32_t i = 0; i < count; ++i) {
        writes[i] = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
        writes[i].dstSet = set;
        writes[i].dstBinding = i;
        writes[i].descriptorCount = 1;
        writes[i].descriptorType = i == 0 ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        writes[i].pBufferInfo = &buffers[i];
    }
    device.vk.UpdateDescriptorSets(device.handle, count, writes, 0, nullptr);
    device.vk.CmdBindPipeline(recording.commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline.get());
    device.vk.CmdBindDescriptorSets(recording.commands, VK_PIPELINE_BIND_POINT_COMPUTE, device.pipeline_layout.get(), 0, 1,
                                    &set, 0, nullptr);
    device.vk.CmdPushConstants(recording.commands, device.pipeline_layout.get(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                               sizeof bases, bases);
    device.vk.CmdDispatch(recording.commands, extent.groups[0], extent.groups[1], extent.groups[2]);
}

void Api::move(Recording& recording, const Range& from, const Range& to) {
    record_copy(*recording.device, recording.commands, *from.block, from.offset, *to.block, to.offset, to.bytes);
}

void Api::barrier(Recording& recording) { separate(*recording.device, recording.commands, true, false); }

void Api::end(Recording& recording) {
    separate(*recording.device, recording.commands, true, true);
    check(recording.device->vk.EndCommandBuffer(recording.commands), recording_on(*recording.device));
}

std::unique_ptr<Timeline> Api::timeline(Device& device, Queue&) {
    VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    info.pNext = &type;
    return std::make_unique<Timeline>(
        Timeline{device, device.make<VkSemaphore>(device.vk.CreateSemaphore, info, device.vk.DestroySemaphore,
                                                  "open " + device.physical.name)});
}

void Api::submit(Queue& queue, const Recording& recording, Waits waits, Timeline& timeline, uint64_t value) {
    hand_over(queue, recording.commands, waits, timeline, value);
}

void Api::copy(Queue& queue, const Range& from, const Range& to, Waits waits, Timeline& timeline, uint64_t value) {
    VkCommandBuffer commands = commands_for_copy(queue, timeline, value);
    if (from.block != nullptr) {
        record_copy(queue.device, commands, *from.block, from.offset, *to.block, to.offset, to.bytes);
    } else {
        record_zeros(queue.device, commands, to);
    }
    separate(queue.device, commands, queue.computes, true);
    check(queue.device.vk.EndCommandBuffer(commands), recording_on(queue.device));
    hand_over(queue, commands, waits, timeline, value);
}

uint64_t Api::reached(Timeline& timeline) {
    uint64_t value = 0;
    check(timeline.device.vk.GetSemaphoreCounterValue(timeline.device.handle, timeline.semaphore.get(), &value),
          "ask " + timeline.device.physical.name + " how far it is");
    return value;
}

bool Api::wait(Timeline& timeline, uint64_t value, uint64_t nanoseconds) {
    const VkSemaphore semaphore = timeline.semaphore.get();
    VkSemaphoreWaitInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
    info.semaphoreCount = 1;
    info.pSemaphores = &semaphore;
    info.pValues = &value;
    const VkResult result = timeline.device.vk.WaitSemaphores(timeline.device.handle, &info, nanoseconds);
    if (result == VK_TIMEOUT) return false;
    check(result, "wait for " + timeline.device.physical.name);
    return true;
}

}  // namespace backplane::vulkan
