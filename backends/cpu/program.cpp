#include "program.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "common/blocks.hpp"
#include "common/recurrent.hpp"
#include "device.hpp"

namespace backplane::cpu {

namespace {

using backend::raised;
using Clock = std::chrono::steady_clock;

// A run that took no longer is done by the thread that submits it: about what waking another costs.
constexpr auto kBriefRun = std::chrono::microseconds(30);
// Constants of more bytes than this are packed by several threads.
constexpr uint64_t kPackedAlone = uint64_t{1} << 20;

void lower_all(Plan& plan, const Kernels& kernels, const volatile uint32_t* cancel) {
    Lowering to(plan, kernels);
    for (size_t i = 0; i < plan.nodes.size(); ++i) {
        if (raised(cancel)) throw sdk::Failure(BP_CANCELLED, "compile was cancelled");
        Node& node = plan.nodes[i];  // lowering adds values and steps, no nodes
        const OpLowering* lowering = find_lowering(node.op);
        node.op &= ~kInDoubles;
        lowering->lower(to, node);
    }
    to.place_packed();
}

}  // namespace

Program::Program(Device& device, const bp_graph* graph, const bp_compile& how)
    : device_(device), plan_only_((how.flags & BP_COMPILE_PLAN_ONLY) != 0) {
    const auto start = std::chrono::steady_clock::now();
    plan_ = import_graph(graph);
    plan_.math = how.math;
    plan_.threads = device.pool.wanted_threads();
    plan_.shares_cores = plan_.threads > device.cores;
    for (const Node& node : plan_.nodes) {
        const Verdict verdict = check_node(plan_, node);
        if (verdict.reason != BP_WHY_NONE)
            throw sdk::Failure(BP_UNSUPPORTED,
                               "compile for the cpu: " + verdict.text + "; run this node elsewhere (see query)");
    }
    for (const ValueId id : plan_.bound()) plan_.slots.push_back({id, plan_[id].tensor, plan_[id].bytes, 0, {}});
    mark_doubles(plan_);
    backend::expand_recurrent(plan_);
    backend::decode_gathered(plan_);
    widen_floats(plan_);
    fuse(plan_);
    assign_layouts(plan_);
    lower_all(plan_, device.level.kernels, how.cancel);
    place_states(plan_);
    // What steps read of constants as they are.
    std::vector<bool> resident(plan_.values.size());
    for (const Step& step : plan_.steps)
        for (const ValueId read : step.reads)
            if (const ValueId id = plan_.storage_of(read); plan_[id].role == BP_ROLE_CONSTANT && !resident[id]) {
                resident[id] = true;
                plan_.residents.push_back({id, id, {}});
            }
    plan_memory(plan_);
    if (how.workspace_limit != 0 && plan_.workspace_bytes > how.workspace_limit)
        throw sdk::Failure(BP_NO_DEVICE_MEMORY, "compile for the cpu: the workspace needs " +
                                                    std::to_string(plan_.workspace_bytes) + " bytes, the limit is " +
                                                    std::to_string(how.workspace_limit) + "; split the graph or the input");
    if (!plan_only_) make_residents();
    for (Value& value : plan_.values) std::vector<std::byte>().swap(value.constant);
    for (const Slot& slot : plan_.slots)
        slots_.push_back(
            {BP_SIZE(bp_slot, last_use), slot.tensor, slot.bytes, kAlignment, slot.layout, slot.first_use, slot.last_use});
    for (uint32_t i = 0; i < plan_.slots.size(); ++i) {
        const uint32_t tensor = plan_.slots[i].tensor;
        if (tensor >= slot_of_.size()) slot_of_.resize(std::max<size_t>(tensor + size_t{1}, 2 * slot_of_.size()), kNone);
        slot_of_[tensor] = i;
    }
    make_summary();
    compile_ns_ = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count());
}

void Program::make_residents() {
    resident_ = HostMemory(device_.host, plan_.resident_bytes);
    // Threads of its own: a run may have the device's while this compiles.
    ThreadPool pool(device_.host, plan_.resident_bytes > kPackedAlone ? device_.pool.wanted_threads() : 1);
    for (const Resident& resident : plan_.residents) {
        const std::vector<std::byte>& plain = plan_[resident.from].constant;
        std::byte* into = resident_.data() + plan_[resident.value].offset;
        if (resident.pack) {
            resident.pack(plain.data(), into, pool);
        } else if (!plain.empty()) {
            std::memcpy(into, plain.data(), plain.size());
        }
    }
}

void Program::make_summary() {
    summary_ = "cpu " + device_.level.name + ", " + std::to_string(plan_.steps.size()) + " steps\n" + plan_.notes;
    for (const Step& step : plan_.steps) summary_ += step.label + "\n";
}

bp_program_info Program::info() const {
    bp_program_info info{};
    info.workspace_bytes = plan_.workspace_bytes;
    info.workspace_alignment = kAlignment;
    info.resident_bytes = plan_.resident_bytes;
    info.host_bytes = plan_.lane_scratch;
    info.compile_ns = compile_ns_;
    info.kernels = static_cast<uint32_t>(plan_.steps.size());
    info.slots = {slots_.data(), static_cast<uint32_t>(slots_.size()), sizeof(bp_slot)};
    info.summary = summary_.c_str();
    for (const Step& step : plan_.steps) info.moved_bytes += step.moved;
    return info;
}

void Program::check_pack(uint32_t slot, uint64_t given, uint64_t room) const {
    if (slot >= plan_.slots.size()) throw sdk::Failure(BP_INVALID, "pack: no slot " + std::to_string(slot));
    const Slot& s = plan_.slots[slot];
    if (given < plan_[s.value].bytes)
        throw sdk::Failure(BP_INVALID, "pack: slot " + std::to_string(slot) + " takes " +
                                           std::to_string(plan_[s.value].bytes) + " plain bytes, the source has " +
                                           std::to_string(given));
    if (room < s.bytes)
        throw sdk::Failure(BP_INVALID, "pack: slot " + std::to_string(slot) + " needs " + std::to_string(s.bytes) +
                                           " bytes, the destination has " + std::to_string(room));
}

void Program::pack(uint32_t slot, const std::byte* plain, std::byte* packed) const {
    const Slot& s = plan_.slots[slot];
    if (s.pack) {
        device_.pool.begin(0);
        s.pack(plain, packed, device_.pool);
    } else if (s.bytes != 0) {
        std::memmove(packed, plain, s.bytes);
    }
}

Program::Bases Program::bind(const bp_run& run) const {
    Bases bases(2 + plan_.slots.size(), nullptr);
    if (plan_.workspace_bytes > 0) {
        const auto* workspace = reinterpret_cast<const Buffer*>(run.workspace);
        if (workspace == nullptr || run.workspace_offset > workspace->size ||
            workspace->size - run.workspace_offset < plan_.workspace_bytes)
            throw sdk::Failure(BP_INVALID,
                               "run: the workspace must have " + std::to_string(plan_.workspace_bytes) + " bytes");
        bases[0] = workspace->data + run.workspace_offset;
    }
    bases[1] = resident_.data();
    for (uint32_t i = 0; i < run.bindings.count; ++i) {
        const bp_binding b = sdk::read(BP_AT(bp_binding, &run.bindings, i));
        if (b.tensor >= slot_of_.size() || slot_of_[b.tensor] == kNone) continue;
        const uint32_t index = slot_of_[b.tensor];
        const Slot& slot = plan_.slots[index];
        const auto* buffer = reinterpret_cast<const Buffer*>(b.buffer);
        if (buffer == nullptr || b.offset > buffer->size || buffer->size - b.offset < slot.bytes || b.bytes < slot.bytes)
            throw sdk::Failure(BP_INVALID, "run: tensor " + std::to_string(b.tensor) + " needs " +
                                               std::to_string(slot.bytes) + " bytes, the binding has less");
        bases[2 + size_t{index}] = buffer->data + b.offset;
    }
    for (size_t i = 0; i < plan_.slots.size(); ++i)
        if (bases[2 + i] == nullptr && plan_.slots[i].bytes != 0)
            throw sdk::Failure(BP_INVALID, "run: tensor " + std::to_string(plan_.slots[i].tensor) + " is not bound");
    return bases;
}

// What is written may share bytes only with what is done before it begins, or begins when it is done.
void Program::check_overlaps(const Bases& bases) const {
    const std::lock_guard lock(fine_mutex_);
    // Between runs the workspace may move; no slot lies in it.
    if (std::any_of(fine_.begin(), fine_.end(), [&](const Bases& fine) {
            return fine.size() == bases.size() && std::equal(bases.begin() + 2, bases.end(), fine.begin() + 2);
        }))
        return;
    for (size_t w = 0; w < plan_.slots.size(); ++w) {
        const Slot& written = plan_.slots[w];
        if (!written.written) continue;
        for (size_t i = 0; i < plan_.slots.size(); ++i) {
            const Slot& other = plan_.slots[i];
            const bool apart = bases[2 + w] + written.bytes <= bases[2 + i] || bases[2 + i] + other.bytes <= bases[2 + w];
            if (apart || i == w || written.last_use < other.first_use || other.last_use < written.first_use) continue;
            throw sdk::Failure(BP_INVALID, "run: tensor " + std::to_string(written.tensor) + " is written over tensor " +
                                               std::to_string(other.tensor) +
                                               ", which is in use meanwhile; bind them to bytes of their own");
        }
    }
    fine_[next_fine_++ % fine_.size()] = bases;
}

void Program::run(const bp_run& run) {
    if (plan_only_) throw sdk::Failure(BP_INVALID, "run: the program was compiled to be planned only; compile it again");
    if (run.queue >= Device::kQueues)
        throw sdk::Failure(BP_INVALID, "run: queue " + std::to_string(run.queue) + " does not compute, queue 0 does");
    Bases bases = bind(run);
    check_overlaps(bases);
    const bool later = run.signal.fence != nullptr;  // a plain run asks no clock: that takes as long as a small step
    device_.queues.submit(
        {"run", run.queue, run.wait, run.signal, run.cancel, brief_.load(std::memory_order_relaxed), run.peer_wait},
        [this, bases = std::move(bases), cancel = run.cancel, later] {
            const auto start = later ? Clock::now() : Clock::time_point();
            compute(bases, cancel);
            if (later) brief_.store(Clock::now() - start < kBriefRun, std::memory_order_relaxed);
        });
}

void Program::compute(const Bases& bases, const volatile uint32_t* cancel) const {
    device_.queues.begin_run();
    device_.pool.begin(plan_.lane_scratch);
    const Run context(plan_, bases, device_.pool);
    for (const Step& step : plan_.steps) {
        if (raised(cancel)) throw sdk::Failure(BP_CANCELLED, "run was cancelled");
        step.run(context);
    }
}

}  // namespace backplane::cpu
