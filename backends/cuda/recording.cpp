// Recording work, and its order on streams.
#include <algorithm>
#include <utility>

#include "common/gpu/event_queues.hpp"
#include "device.hpp"

namespace backplane::cuda {

namespace {

constexpr size_t kMostEvents = 1024;  // on their way
constexpr size_t kSpareEvents = 64;

void start(const Device& device, Stream stream, const Recording::Step& step, bool starts_early = true) {
    const Driver& cu = device.cu;
    if (step.function == nullptr) {
        cu.check(cu.copy_async(step.to, step.from, step.bytes, stream), "start a copy on " + device.physical.name);
        return;
    }
    // The driver takes as many arguments as the kernel has, and copies them.
    void* arguments[2 + gpu::kMostOperands + kMostMaps] = {const_cast<uint32_t*>(step.constants.data()),
                                                           const_cast<uint32_t*>(step.words.data())};
    for (uint32_t i = 0; i < step.operand_count; ++i) arguments[2 + i] = const_cast<Address*>(&step.operands[i]);
    for (size_t i = 0; i < step.maps.size(); ++i)
        arguments[2 + step.operand_count + i] = const_cast<TensorMap*>(&step.maps[i]);
    LaunchAttribute early;
    early.id = kStartsEarly;
    early.value = 1;
    LaunchConfig how;
    std::copy_n(step.groups, 3, how.groups);
    how.local[0] = step.local;
    how.shared = step.shared;
    how.stream = stream;
    how.attributes = &early;
    how.attribute_count = starts_early && device.physical.starts_early ? 1 : 0;
    cu.check(cu.launch(&how, step.function, arguments, nullptr), "start work on " + device.physical.name);
}

// What the kernel has of its operands beside their places.
std::vector<TensorMap> maps_of(const Device& device, const Kernel& kernel, std::span<const uint32_t> words, uint32_t batch,
                               std::span<const Address> operands) {
    const std::vector<Boxes> all = boxes_of(kernel.number, kernel.constants, words, batch);
    if (all.empty()) return {};
    const Current current(device.cu, device.context.get());
    std::vector<TensorMap> maps;
    for (const Boxes& boxes : all) {
        TensorMap& map = maps.emplace_back();
        const Address at = operands[boxes.operand] + boxes.first;
        auto* place = reinterpret_cast<void*>(at);  // NOLINT(performance-no-int-to-ptr): the device's
        // What the device cannot copy so the kernel copies by itself; what is empty it does not ask for.
        if (at % 16 != 0 || std::count(std::begin(boxes.extents), std::end(boxes.extents), 0U) != 0) continue;
        const uint32_t steps[kMostAxes] = {1, 1, 1, 1};
        device.cu.check(
            device.cu.map_encode(&map, kMapOfHalves, boxes.axes, place, boxes.extents, boxes.strides, boxes.box, steps, 0,
                                 boxes.swizzle, kMapPromote256, 0),
            "describe an operand of " + std::string(kKernels[kernel.number].name) + " to " + device.physical.name);
    }
    return maps;
}

// What comes in `stream` waits for what is in `other`.
void follow(const Device& device, Stream stream, Stream other, Event event) {
    const std::string attempted = "start work on " + device.physical.name;
    device.cu.check(device.cu.event_record(event, other), attempted);
    device.cu.check(device.cu.stream_wait(stream, event, 0), attempted);
}

// Where many steps are side by side every other one is in a branch of its own. What has two in front of it is not started early.
void capture(const Device& device, const std::vector<Recording::Step>& steps) {
    const Stream streams[] = {device.capture.get(), device.beside.get()};
    bool early = true;
    gpu::side_by_side(steps, [&](auto first, auto end) {
        const bool both = end - first >= gpu::kManySteps;
        if (both) follow(device, streams[1], streams[0], device.fork.get());
        for (auto step = first; step != end; ++step)
            start(device, streams[both ? (step - first) % 2 : 0], *step,
                  both ? step - first > 1 : std::exchange(early, true));
        if (both) follow(device, streams[0], streams[1], device.join.get());
        if (both) early = false;
    });
}

// All steps as one object of the driver, or nothing where it makes none.
Handle<GraphRun> graph_of(Device& device, const Recording& recording) {
    const Driver& cu = device.cu;
    const std::lock_guard lock(device.capturing);
    const Stream stream = device.capture.get();
    if (cu.capture_begin(stream, kCaptureRelaxed) != kSuccess) return {};
    bool whole = true;
    try {
        capture(device, recording.steps);
    } catch (const sdk::Failure&) {
        whole = false;
    }
    Graph graph = nullptr;
    if (cu.capture_end(stream, &graph) != kSuccess || graph == nullptr) return {};
    const Handle<Graph> held = device.own(graph, cu.graph_destroy);
    GraphRun run = nullptr;
    if (!whole || cu.graph_instantiate(&run, graph, 0) != kSuccess) return {};
    return device.own(run, cu.graph_run_destroy);
}

using EventOf = Timeline::EventOf;

// What is done is let go. The timeline is locked.
void let_go(Timeline& timeline) {
    const Driver& cu = timeline.device.cu;
    while (!timeline.events.empty()) {
        auto& [value, event] = timeline.events.front();
        const Result result = cu.event_query(event->get());
        if (result == kNotReady) return;
        cu.check(result, "run work on " + timeline.device.physical.name);
        timeline.reached = value;
        if (event.use_count() == 1 && timeline.spare.size() < kSpareEvents) timeline.spare.push_back(std::move(event));
        timeline.events.pop_front();
    }
}

// The event that says that `value` is reached; null: it is.
EventOf event_of(Timeline& timeline, uint64_t value) {
    const std::lock_guard lock(timeline.mutex);
    const auto found =
        std::find_if(timeline.events.begin(), timeline.events.end(), [&](const auto& e) { return e.first >= value; });
    return found != timeline.events.end() ? found->second : nullptr;
}

void wait_first(const Queue& queue, Api::Waits waits) {
    for (const auto& wait : waits)
        if (const EventOf event = event_of(*wait.timeline, wait.value); event != nullptr)
            queue.device.cu.check(queue.device.cu.stream_wait(queue.stream.get(), event->get(), 0),
                                  "start work on " + queue.device.physical.name);
}

void signal(const Queue& queue, Timeline& timeline, uint64_t value) {
    const Device& device = queue.device;
    const std::string attempted = "start work on " + device.physical.name;
    const std::lock_guard lock(timeline.mutex);
    if (timeline.events.size() >= kSpareEvents) let_go(timeline);
    EventOf event;
    if (timeline.spare.empty()) {
        Event made = nullptr;
        device.cu.check(device.cu.event_create(&made, kEventBlocking | kEventNoTiming), attempted);
        event = std::make_shared<Handle<Event>>(device.own(made, device.cu.event_destroy));
    } else {
        event = std::move(timeline.spare.back());
        timeline.spare.pop_back();
    }
    device.cu.check(device.cu.event_record(event->get(), queue.stream.get()), attempted);
    timeline.events.emplace_back(value, std::move(event));
    if (timeline.events.size() <= kMostEvents) return;
    device.cu.check(device.cu.event_synchronize(timeline.events.front().second->get()),
                    "run work on " + device.physical.name);
    let_go(timeline);
}

Address place_of(const Api::Range& range) { return range.block != nullptr ? range.block->at() + range.offset : 0; }

}  // namespace

Recording Api::begin(Device& device, uint32_t dispatches) {
    Recording recording;
    recording.device = &device;
    recording.steps.reserve(dispatches);
    return recording;
}

void Api::dispatch(Recording& recording, const Kernel& kernel, std::span<const Range> operands,
                   std::span<const uint32_t> words, const Range& parameters, const gpu::Extent& extent) {
    Recording::Step step;
    step.behind = std::exchange(recording.barrier, false);
    step.function = kernel.function;
    std::copy_n(extent.groups, 3, step.groups);
    step.local = extent.local;
    step.shared = kernel.shared;
    step.constants = kernel.open;
    std::copy(words.begin(), words.end(), step.words.begin());
    // Kernels load before they know whether an element is there: what has no bytes is somewhere all the same.
    for (const Range& range : operands)
        step.operands[step.operand_count++] = place_of(range.block != nullptr ? range : parameters);
    step.maps = maps_of(*recording.device, kernel, words, extent.groups[2], step.operands);
    recording.steps.push_back(std::move(step));
}

void Api::move(Recording& recording, const Range& from, const Range& to) {
    Recording::Step step;
    step.behind = std::exchange(recording.barrier, false);
    step.from = place_of(from);
    step.to = place_of(to);
    step.bytes = to.bytes;
    recording.steps.push_back(std::move(step));
}

void Api::submit(Queue& queue, const Recording& recording, Waits waits, Timeline& timeline, uint64_t value) {
    Device& device = queue.device;
    const Current current(device.cu, device.context.get());
    wait_first(queue, waits);
    Recording::Replay& replay = *recording.replay;
    // Worth making once the same work comes again.
    if (replay.submitted && !replay.graph && !replay.refused && recording.steps.size() > 1) {
        replay.graph = graph_of(device, recording);
        replay.refused = !replay.graph;
    }
    replay.submitted = true;
    if (replay.graph) {
        device.cu.check(device.cu.graph_launch(replay.graph.get(), queue.stream.get()),
                        "start work on " + device.physical.name);
    } else {
        for (const Recording::Step& step : recording.steps) start(device, queue.stream.get(), step);
    }
    signal(queue, timeline, value);
}

void Api::copy(Queue& queue, const Range& from, const Range& to, Waits waits, Timeline& timeline, uint64_t value) {
    const Device& device = queue.device;
    const Current current(device.cu, device.context.get());
    wait_first(queue, waits);
    const Stream stream = queue.stream.get();
    device.cu.check(from.block != nullptr ? device.cu.copy_async(place_of(to), place_of(from), to.bytes, stream)
                                          : device.cu.fill_async(place_of(to), 0, to.bytes, stream),
                    "copy on " + device.physical.name);
    signal(queue, timeline, value);
}

void Api::copy_from_peer(Queue& queue, Device& source, const Range& from, const Range& to, Waits waits, Timeline& timeline,
                         uint64_t value) {
    Device& device = queue.device;
    const Current current(device.cu, device.context.get());
    const Context theirs = source.context.get();
    if (theirs == device.context.get()) return copy(queue, from, to, waits, timeline, value);
    {
        // What a driver that refuses says makes no difference: it stages the copy then.
        const std::lock_guard lock(device.peering);
        if (device.peers.insert(theirs).second) static_cast<void>(device.cu.peer_enable(theirs, 0));
    }
    wait_first(queue, waits);
    device.cu.check(
        device.cu.copy_peer_async(place_of(to), device.context.get(), place_of(from), theirs, to.bytes, queue.stream.get()),
        "copy from " + source.physical.name + " to " + device.physical.name);
    signal(queue, timeline, value);
}

uint64_t Api::prepare_sums(std::span<Device* const> devices, const std::string& how) {
    std::vector<DeviceNumber> numbers;
    for (const Device* device : devices) numbers.push_back(device->physical.number);
    return devices.front()->nccl.prepare(numbers, devices.front()->context.get(), how);
}

void Api::sum(std::span<gpu::SumPart<Api>> parts, uint32_t dtype, uint64_t elements) {
    std::vector<SumOperand> operands;
    for (const gpu::SumPart<Api>& part : parts) {
        const Current current(part.device->cu, part.device->context.get());
        part.device->adds_up = true;
        wait_first(*part.queue, part.waits);
        operands.push_back({part.device->physical.number,
                            part.device->context.get(),
                            place_of(part.from),
                            place_of(part.to),
                            part.queue->stream.get(),
                            &part.device->sums,
                            {part.timeline, part.value}});
    }
    parts.front().device->nccl.sum(operands, dtype == BP_F16 ? kNcclHalf : kNcclFloat, elements);
    for (gpu::SumPart<Api>& part : parts) {
        const Current current(part.device->cu, part.device->context.get());
        try {
            signal(*part.queue, *part.timeline, part.value);
        } catch (const sdk::Failure& failure) {
            if (failure.code() != BP_DEVICE_LOST) throw;
            part.lost = failure.what();
        }
    }
}

void Api::lost(Device& device) { device.nccl.give_up(device.physical.number); }

bool Api::is_lost(Device& device) {
    const Current current(device.cu, device.context.get());
    size_t free = 0, total = 0;
    try {
        device.cu.check(device.cu.memory_info(&free, &total), "ask " + device.physical.name);
    } catch (const sdk::Failure& failure) {
        return failure.code() == BP_DEVICE_LOST;
    }
    return false;
}

uint64_t Api::reached(Timeline& timeline) {
    const Current current(timeline.device.cu, timeline.device.context.get());
    const std::lock_guard lock(timeline.mutex);
    let_go(timeline);
    return timeline.reached;
}

namespace {

// A sum to which a card that is lost adds nothing keeps the others at work for ever: NCCL asks no driver how a card does.
bool wait_beside_sums(Timeline& timeline, uint64_t value, uint64_t nanoseconds) {
    constexpr uint64_t kAsk = 100'000'000, kEnds = 10'000'000'000;  // nanoseconds
    const auto there = [&] { return Api::reached(timeline) >= value; };
    Device& device = timeline.device;
    for (uint64_t left = nanoseconds;;) {
        const uint64_t now = std::min(left, kAsk);
        if (gpu::ask_until(there, now)) return true;
        left -= now;
        if (now != 0 && device.nccl.end_in_vain(device.physical.number)) {
            if (gpu::ask_until(there, kEnds)) return true;
            throw sdk::Failure(BP_DEVICE_LOST, "run work on " + device.physical.name +
                                                   ": a sum by NCCL does not end; leave the option cuda.nccl out");
        }
        if (left == 0) return false;
    }
}

}  // namespace

bool Api::broke(Timeline& timeline, uint64_t value) {
    SumsOfCard& sums = timeline.device.sums;
    const std::lock_guard lock(sums.mutex);
    sums.open.erase({&timeline, value});
    return sums.broken.erase({&timeline, value}) > 0;
}

std::string Api::broken_words(Device& device) {
    const std::lock_guard lock(device.sums.mutex);
    return "a sum by NCCL failed: " + device.sums.words;
}

bool Api::wait(Timeline& timeline, uint64_t value, uint64_t nanoseconds) {
    const Device& device = timeline.device;
    if (device.adds_up) return wait_beside_sums(timeline, value, nanoseconds);
    if (nanoseconds == gpu::kForEver) {
        if (const EventOf event = event_of(timeline, value); event != nullptr) {
            const Current current(device.cu, device.context.get());
            device.cu.check(device.cu.event_synchronize(event->get()), "run work on " + device.physical.name);
        }
        return true;
    }
    return gpu::ask_until([&] { return reached(timeline) >= value; }, nanoseconds);
}

}  // namespace backplane::cuda
