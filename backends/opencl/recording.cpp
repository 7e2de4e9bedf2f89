// Recording work, and its order on queues.
#include <algorithm>
#include <cstring>
#include <utility>

#include "common/gpu/compile.hpp"
#include "common/gpu/event_queues.hpp"
#include "common/gpu/kernel_table.hpp"
#include "device.hpp"

namespace backplane::opencl {

namespace {

// Of a step, to use two queues: nothing overlaps in one, but what is smaller than its launch gains nothing, and to join them takes microseconds.
constexpr size_t kManyInvocations = 32768, kManyOnMatrixUnits = 8192;
constexpr size_t kMostEvents = 256;  // drivers become slow when there are thousands
static_assert(MOST_OPERANDS == gpu::kMostOperands);

void start(const Device& device, cl_command_queue queue, const Recording::Step& step) {
    if (step.kernel) {
        const cl_uint axes = step.global[2] > 1 ? 3 : step.global[1] > 1 ? 2 : 1;  // each takes a launch longer
        check(device.cl.EnqueueNDRangeKernel(queue, step.kernel.get(), axes, nullptr, step.global, step.local, 0, nullptr,
                                             nullptr),
              "start work on " + device.physical.name);
        return;
    }
    check(device.cl.EnqueueCopyBuffer(queue, step.from.block->memory.get(), step.to.block->memory.get(), step.from.offset,
                                      step.to.offset, step.to.bytes, 0, nullptr, nullptr),
          "start a copy on " + device.physical.name);
}

// What comes in `queue` waits for what is in `other`.
void follow(const Device& device, cl_command_queue queue, cl_command_queue other) {
    const std::string attempted = "start work on " + device.physical.name;
    cl_event event = nullptr;
    check(device.cl.EnqueueMarkerWithWaitList(other, 0, nullptr, &event), attempted);
    const Handle<cl_event> held{event, device.cl.ReleaseEvent};
    check(device.cl.Flush(other), attempted);
    check(device.cl.EnqueueBarrierWithWaitList(queue, 1, &event, nullptr), attempted);
}

// The host wrote into memory of its own, or is about to read it: a driver that keeps a copy is told in the order of the queue.
void share(const Queue& queue, const Block& block, cl_map_flags how) {
    if (!block.imported) return;
    const Device& device = queue.device;
    const std::string attempted = "share memory with " + device.physical.name;
    cl_int result = CL_SUCCESS;
    void* at = device.cl.EnqueueMapBuffer(queue.handle.get(), block.memory.get(), CL_FALSE, how, 0, block.size, 0, nullptr,
                                          nullptr, &result);
    check(result, attempted);
    check(device.cl.EnqueueUnmapMemObject(queue.handle.get(), block.memory.get(), at, 0, nullptr, nullptr), attempted);
}
void take_from_host(const Queue& queue, const Block& block) { share(queue, block, CL_MAP_WRITE_INVALIDATE_REGION); }
void give_to_host(const Queue& queue, const Block& block) { share(queue, block, CL_MAP_READ); }

using Event = std::shared_ptr<Handle<cl_event>>;

// What is done is let go. The timeline is locked.
void let_go(Timeline& timeline) {
    while (!timeline.events.empty()) {
        cl_int status = CL_QUEUED;
        const std::string attempted = "run work on " + timeline.device.physical.name;
        check_work(timeline.device.cl.GetEventInfo(timeline.events.front().second->get(), CL_EVENT_COMMAND_EXECUTION_STATUS,
                                                   sizeof status, &status, nullptr),
                   attempted);
        if (status > CL_COMPLETE) return;
        // A command that ended with an error is a kernel that failed: what it wrote is nothing to go on with.
        if (status < CL_COMPLETE) throw gpu::failure_of(BP_DEVICE_LOST, attempted, name_of(status), status);
        timeline.reached = timeline.events.front().first;
        timeline.events.pop_front();
    }
}

// The event of the first value from here on that is not reached; null: all are.
Event event_of(Timeline& timeline, uint64_t value) {
    const std::lock_guard lock(timeline.mutex);
    if (value <= timeline.reached) return nullptr;
    const auto found =
        std::find_if(timeline.events.begin(), timeline.events.end(), [&](const auto& e) { return e.first >= value; });
    return found != timeline.events.end() ? found->second : nullptr;
}

void wait_first(const Queue& queue, Api::Waits waits) {
    std::vector<Event> held;
    std::vector<cl_event> events;
    for (const auto& wait : waits)
        if (Event event = event_of(*wait.timeline, wait.value); event != nullptr) {
            events.push_back(event->get());
            held.push_back(std::move(event));
        }
    if (events.empty()) return;
    check(queue.device.cl.EnqueueBarrierWithWaitList(queue.handle.get(), static_cast<cl_uint>(events.size()), events.data(),
                                                     nullptr),
          "start work on " + queue.device.physical.name);
}

void signal(const Queue& queue, Timeline& timeline, uint64_t value) {
    const Functions& cl = queue.device.cl;
    const std::string attempted = "start work on " + queue.device.physical.name;
    cl_event event = nullptr;
    check(cl.EnqueueMarkerWithWaitList(queue.handle.get(), 0, nullptr, &event), attempted);
    auto held = std::make_shared<Handle<cl_event>>(event, cl.ReleaseEvent);
    check(cl.Flush(queue.handle.get()), attempted);
    Event oldest;
    {
        const std::lock_guard lock(timeline.mutex);
        let_go(timeline);
        timeline.events.emplace_back(value, std::move(held));
        if (timeline.events.size() > kMostEvents) oldest = timeline.events.front().second;
    }
    if (oldest == nullptr) return;
    const cl_event first = oldest->get();
    check_work(cl.WaitForEvents(1, &first), attempted);
}

}  // namespace

Recording Api::begin(Device& device, uint32_t dispatches) {
    Recording recording;
    recording.device = &device;
    recording.steps.reserve(dispatches);
    return recording;
}

void Api::dispatch(Recording& recording, const Kernel& kernel, std::span<const Range> operands,
                   std::span<const uint32_t> words, const Range&, const gpu::Extent& extent) {
    const Device& device = *recording.device;
    const char* name = kKernels[kernel.id].name;
    Recording::Step step;
    step.behind = std::exchange(recording.barrier, false);
    cl_int result = CL_SUCCESS;
    step.kernel = {device.cl.CreateKernel(kernel.program.get(), kernel.entry, &result), device.cl.ReleaseKernel};
    check(result, std::string("make kernel ") + name + " on " + device.physical.name);
    for (size_t i = 0; i < 3; ++i) step.global[i] = extent.groups[i];
    step.global[0] *= extent.local;
    step.local[0] = extent.local;
    step.large = step.global[0] * step.global[1] * step.global[2] >=
                 (gpu::on_matrix_units(kernel.id) ? kManyOnMatrixUnits : kManyInvocations);
    cl_uint argument = 0;
    const auto set = [&](size_t size, const void* value) {
        check(device.cl.SetKernelArg(step.kernel.get(), argument++, size, value),
              std::string("set up ") + name + " on " + device.physical.name);
    };
    struct {
        uint32_t word[PARAMETER_WORDS];
        cl_ulong first[MOST_OPERANDS];
    } numbers{};
    std::copy(words.begin(), words.end(), numbers.word);
    for (size_t i = 0; i < operands.size(); ++i) numbers.first[i] = operands[i].offset / operands[i].element;
    set(sizeof numbers, &numbers);
    const auto memory_of = [&](const Range& range) {
        return (range.block != nullptr ? range.block->memory : device.nothing).get();
    };
    const cl_mem first = operands.empty() || !operands[0].given ? nullptr : memory_of(operands[0]);
    for (const Range& range : operands) {
        // Kernels load before they know whether an element is there: what has no bytes is somewhere all the same. A launch takes longer with every buffer.
        const cl_mem memory = memory_of(range);
        const bool again = kernel.named_once && &range != operands.data() && memory == first;
        set(sizeof(cl_mem), range.given && !again ? &memory : nullptr);
        if (range.given && range.block != nullptr && range.block->imported) recording.imported.push_back(range.block);
    }
    recording.steps.push_back(std::move(step));
}

void Api::move(Recording& recording, const Range& from, const Range& to) {
    Recording::Step step;
    step.behind = std::exchange(recording.barrier, false);
    step.from = from;
    step.to = to;
    recording.steps.push_back(std::move(step));
    for (Block* block : {from.block, to.block})
        if (block->imported) recording.imported.push_back(block);
}

void Api::end(Recording& recording) {
    std::sort(recording.imported.begin(), recording.imported.end());
    recording.imported.erase(std::unique(recording.imported.begin(), recording.imported.end()), recording.imported.end());
}

void Api::submit(Queue& queue, const Recording& recording, Waits waits, Timeline& timeline, uint64_t value) {
    wait_first(queue, waits);
    for (const Block* block : recording.imported) take_from_host(queue, *block);
    gpu::side_by_side(recording.steps, [&](auto first, auto end) {
        const bool both = first->large && end - first >= gpu::kManySteps && !queue.device.can.software;
        if (both && !queue.second) queue.second = queue.device.make_queue();
        if (both) follow(queue.device, queue.second.get(), queue.handle.get());
        for (auto step = first; step != end; ++step)
            start(queue.device, both && (step - first) % 2 != 0 ? queue.second.get() : queue.handle.get(), *step);
        if (both) follow(queue.device, queue.handle.get(), queue.second.get());
    });
    for (const Block* block : recording.imported) give_to_host(queue, *block);
    signal(queue, timeline, value);
}

void Api::copy(Queue& queue, const Range& from, const Range& to, Waits waits, Timeline& timeline, uint64_t value) {
    const Functions& cl = queue.device.cl;
    const cl_command_queue handle = queue.handle.get();
    const cl_mem into = to.block->memory.get();
    wait_first(queue, waits);
    if (from.block != nullptr) take_from_host(queue, *from.block);
    if (to.block->imported) take_from_host(queue, *to.block);
    const uint8_t zero = 0;
    cl_int result = CL_SUCCESS;
    if (from.block == nullptr) {
        result = cl.EnqueueFillBuffer(handle, into, &zero, 1, to.offset, to.bytes, 0, nullptr, nullptr);
    } else if (to.block->mapped != nullptr) {
        result = cl.EnqueueReadBuffer(handle, from.block->memory.get(), CL_FALSE, from.offset, to.bytes,
                                      to.block->mapped + to.offset, 0, nullptr, nullptr);
    } else if (from.block->mapped != nullptr) {
        result = cl.EnqueueWriteBuffer(handle, into, CL_FALSE, to.offset, to.bytes, from.block->mapped + from.offset, 0,
                                       nullptr, nullptr);
    } else {
        result = cl.EnqueueCopyBuffer(handle, from.block->memory.get(), into, from.offset, to.offset, to.bytes, 0, nullptr,
                                      nullptr);
    }
    check(result, "copy on " + queue.device.physical.name);
    give_to_host(queue, *to.block);
    signal(queue, timeline, value);
}

uint64_t Api::reached(Timeline& timeline) {
    const std::lock_guard lock(timeline.mutex);
    let_go(timeline);
    return timeline.reached;
}

bool Api::wait(Timeline& timeline, uint64_t value, uint64_t nanoseconds) {
    const Event event = event_of(timeline, value);
    if (event == nullptr) return true;
    const std::string attempted = "run work on " + timeline.device.physical.name;
    if (nanoseconds == gpu::kForEver) {
        const cl_event waited = event->get();
        check_work(timeline.device.cl.WaitForEvents(1, &waited), attempted);
        return true;
    }
    return gpu::ask_until([&] { return reached(timeline) >= value; }, nanoseconds);
}

}  // namespace backplane::opencl
