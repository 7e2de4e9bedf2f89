#include "program.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "common/blocks.hpp"
#include "common/recurrent.hpp"
#include "common/workspace.hpp"
#include "device.hpp"
#include "processors.hpp"

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

Program::Program(Device& device, const bp_graph& graph, const bp_compile& how)
    : device_(device), plan_only_((how.flags & BP_COMPILE_PLAN_ONLY) != 0) {
    const auto start = std::chrono::steady_clock::now();
    device.queues.expect_there("compile");
    plan_ = backend::plan_of<Plan>(&graph);
    plan_.math = how.math;
    plan_.threads = device.pool.wanted_threads();
    plan_.shares_cores = plan_.threads > device.cores;
    backend::check_nodes(plan_, check_node);
    backend::add_slots(plan_);
    mark_doubles(plan_);
    backend::expand_recurrent(plan_);
    backend::decode_gathered(plan_);
    widen_floats(plan_);
    fuse(plan_);
    assign_layouts(plan_);
    lower_all(plan_, device.level.kernels, how.cancel);
    place_states(plan_);
    plan_memory(plan_);
    backend::check_workspace(plan_.workspace_bytes, how);
    if (!plan_only_) make_residents();
    for (Value& value : plan_.values) std::vector<std::byte>().swap(value.constant);
    slots_ = backend::told_slots(plan_.slots, kAlignment);
    make_summary();
    compile_ns_ = backend::nanoseconds_since(start);
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
    size_t size = summary_.size();
    for (const Step& step : plan_.steps) size += step.label.size() + 1;
    summary_.reserve(size);
    for (const Step& step : plan_.steps) summary_.append(step.label) += '\n';
}

bp_program_info Program::info() const {
    bp_program_info info = backend::info_of(plan_, plan_.steps.size(), slots_, summary_);
    info.workspace_alignment = kAlignment;
    info.host_bytes = plan_.lane_scratch;
    info.compile_ns = compile_ns_;
    for (const Step& step : plan_.steps) info.moved_bytes += step.moved;
    return info;
}

void Program::pack(uint32_t slot, const bp_copy& c) {
    if (slot >= slots_.size()) backend::invalid("pack: no slot " + std::to_string(slot));
    if (c.queue >= Device::kQueues) backend::invalid("pack: the queue does not compute; give queue 0");
    const Slot& s = plan_.slots[slot];
    const auto sides = backend::sides_of_pack(c, slots_[slot], s.plain_bytes, buffer_of);
    const bool ours = sides.to.buffer != nullptr && sides.to.buffer->own.data() != nullptr;
    device_.queues.submit({"pack", c.queue, c.wait, c.signal}, [this, &s, from = at(sides.from), to = at(sides.to), ours] {
        if (ours) prefer_large_pages(to, s.bytes);
        if (!s.pack) return backend::copy_in_memory(from, to, s.bytes);
        device_.pool.begin(0);
        s.pack(from, to, device_.pool);
    });
}

void Program::bind(const bp_run& run, Bases& bases) {
    backend::bindings_of(run, slots_, buffer_of, bindings_);
    bases.assign(backend::kFirstSlot + bindings_.size(), nullptr);
    if (const auto* workspace = backend::workspace_of(run, plan_.workspace_bytes, buffer_of); workspace != nullptr)
        bases[backend::kWorkspace] = workspace->data + run.workspace_offset;
    bases[backend::kResident] = resident_.data();
    for (size_t i = 0; i < bindings_.size(); ++i)
        bases[backend::kFirstSlot + i] = buffer_of(bindings_[i].buffer)->data + bindings_[i].offset;
}

void Program::check_overlaps(const Bases& bases) {
    // Between runs the workspace may move; no slot lies in it.
    if (std::any_of(fine_.begin(), fine_.end(), [&](const Bases& fine) {
            return fine.size() == bases.size() && std::equal(bases.begin() + 2, bases.end(), fine.begin() + 2);
        }))
        return;
    backend::check_overlaps(slots_, plan_.slots, [&](size_t i) {
        return std::pair(0, reinterpret_cast<uintptr_t>(bases[backend::kFirstSlot + i]));
    });
    fine_[next_fine_++ % fine_.size()] = bases;
}

void Program::run(const bp_run& run) {
    if (plan_only_) throw sdk::Failure(BP_INVALID, "run: the program was compiled to be planned only; compile it again");
    if (run.queue >= Device::kQueues)
        throw sdk::Failure(BP_INVALID, "run: queue " + std::to_string(run.queue) + " does not compute, queue 0 does");
    const backend::HostQueues::Order order{
        "run", run.queue, run.wait, run.signal, run.cancel, brief_.load(std::memory_order_relaxed), run.peer_wait};
    if (device_.queues.at_once(order)) {
        bind(run, bound_);
        check_overlaps(bound_);
        device_.queues.expect_there(order.call);
        return compute(bound_, run.cancel);
    }
    Bases bases;
    bind(run, bases);
    check_overlaps(bases);
    const bool later = run.signal.fence != nullptr;  // a plain run asks no clock: that takes as long as a small step
    device_.queues.submit(order, [this, bases = std::move(bases), cancel = run.cancel, later] {
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
