#include "program.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "program_bases.hpp"

namespace backplane::vulkan {

namespace {

// Sets of buffers for which commands are kept: two of everything, in turn, is common.
constexpr size_t kMostRecordings = 4;

bool raised(const volatile uint32_t* flag) { return flag != nullptr && *flag != 0; }

}  // namespace

Program::Program(Device& device, const bp_graph* graph, const bp_compile& how)
    : device_(device), plan_only_((how.flags & BP_COMPILE_PLAN_ONLY) != 0) {
    const auto start = std::chrono::steady_clock::now();
    device_.check_lost();
    plan_ = import_graph(graph);
    plan_.math = how.math;
    for (const Node& node : plan_.nodes) {
        const Verdict verdict = check_node(plan_, node, device_.can());
        if (verdict.reason != BP_WHY_NONE)
            throw sdk::Failure(BP_UNSUPPORTED,
                               "compile for Vulkan: " + verdict.text + "; run this node elsewhere (see query)");
    }
    make_slots();
    fit_types(plan_);
    fuse(plan_);
    share_storage(plan_);
    lower_all(how.cancel);
    find_residents();
    plan_memory(plan_, device_.can().storage_alignment);
    if (how.workspace_limit != 0 && plan_.workspace_bytes > how.workspace_limit)
        throw sdk::Failure(BP_NO_DEVICE_MEMORY, "compile for Vulkan: the workspace needs " +
                                                    std::to_string(plan_.workspace_bytes) + " bytes, the limit is " +
                                                    std::to_string(how.workspace_limit) + "; split the graph or the input");
    parameter_stride_ = std::max<uint64_t>(kParameterWords * sizeof(uint32_t), device_.can().storage_alignment);
    parameter_bytes_ = parameter_stride_ * std::max<size_t>(1, plan_.dispatches.size());
    if (!plan_only_) {
        for (const Dispatch& d : plan_.dispatches) {
            if (raised(how.cancel)) throw sdk::Failure(BP_CANCELLED, "compile was cancelled");
            pipelines_.push_back(d.shader != kNoShader ? device_.pipeline(d.shader, d.constants) : VK_NULL_HANDLE);
        }
        device_.remember_kernels();
        make_residents();
    }
    for (Value& value : plan_.values) std::vector<std::byte>().swap(value.constant);
    make_summary();
    compile_ns_ = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count());
}

Program::~Program() {
    recordings_.clear();
    device_.memory->close(resident_);
}

void Program::make_slots() {
    for (ValueId id = 0; id < plan_.values.size(); ++id) {
        const Value& value = plan_[id];
        if (value.role == BP_ROLE_TEMPORARY || value.role == BP_ROLE_CONSTANT) continue;
        if (!plan_.is_output(id) && value.role != BP_ROLE_STATE && plan_.users(id).empty()) continue;
        plan_.slots.push_back({id, value.tensor, value.bytes});
    }
    for (const Slot& slot : plan_.slots)
        slots_.push_back({BP_SIZE(bp_slot, layout), slot.tensor, slot.bytes, device_.can().storage_alignment, 0});
}

void Program::lower_all(const volatile uint32_t* cancel) {
    Lowering to(plan_, device_.can());
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
        if (raised(cancel)) throw sdk::Failure(BP_CANCELLED, "compile was cancelled");
        find_lowering(plan_.nodes[i].op)->lower(to, plan_.nodes[i]);
    }
    for (const ValueId id : plan_.outputs) {
        if (plan_[id].state == kNone) continue;
        Dispatch d;
        d.label = "update state " + plan_[id].text();
        d.operands = {to.reads(id, 1), to.writes(plan_[id].state, 1)};
        to.add(std::move(d));
    }
    for (const Dispatch& d : plan_.dispatches)
        if (d.operands.size() > kMostOperands || d.parameters.size() > kParameterWords)
            throw sdk::Failure(BP_INTERNAL, "compile for Vulkan: " + d.label + " has too many operands or parameters");
}

// Constants that dispatches read.
void Program::find_residents() {
    std::vector<bool> resident(plan_.values.size());
    for (const Dispatch& d : plan_.dispatches)
        for (const Operand& operand : d.operands) {
            const ValueId id = plan_.storage_of(operand.value);
            if (plan_[id].role != BP_ROLE_CONSTANT || resident[id]) continue;
            resident[id] = true;
            plan_.residents.push_back(id);
        }
}

// Parameters of the dispatches, then the constants.
void Program::make_residents() {
    std::vector<std::byte> bytes(parameter_bytes_ + plan_.resident_bytes);
    for (size_t i = 0; i < plan_.dispatches.size(); ++i) {
        const std::vector<uint32_t>& words = plan_.dispatches[i].parameters;
        if (!words.empty()) std::memcpy(&bytes[i * parameter_stride_], words.data(), words.size() * sizeof(uint32_t));
    }
    for (const ValueId id : plan_.residents)
        if (!plan_[id].constant.empty())
            std::memcpy(&bytes[parameter_bytes_ + plan_[id].offset], plan_[id].constant.data(), plan_[id].constant.size());
    resident_ = device_.memory->create(bytes.size());
    try {
        device_.upload(resident_, 0, bytes.data(), bytes.size());
    } catch (...) {
        device_.memory->close(resident_);
        throw;
    }
}

void Program::make_summary() {
    summary_ = "vulkan, " + std::to_string(plan_.dispatches.size()) + " dispatches\n";
    for (const Dispatch& d : plan_.dispatches) summary_ += d.label + "\n";
}

bp_program_info Program::info() const {
    bp_program_info info{};
    info.workspace_bytes = plan_.workspace_bytes;
    info.workspace_alignment = device_.can().storage_alignment;
    info.resident_bytes = plan_.resident_bytes + parameter_bytes_;
    info.compile_ns = compile_ns_;
    info.kernels = static_cast<uint32_t>(plan_.dispatches.size());
    info.slots = {slots_.data(), static_cast<uint32_t>(slots_.size()), sizeof(bp_slot)};
    info.summary = summary_.c_str();
    return info;
}

// Checks every binding before anything runs, so that a refused run has written nothing.
std::vector<Place> Program::bind(const bp_run& run) const {
    const auto invalid = [](const std::string& why) { return sdk::Failure(BP_INVALID, "run: " + why); };
    std::vector<Place> places(kFirstSlot + plan_.slots.size());
    places[kResident] = {resident_, parameter_bytes_};
    if (plan_.workspace_bytes > 0) {
        const auto* workspace = reinterpret_cast<const Buffer*>(run.workspace);
        if (workspace == nullptr || run.workspace_offset > workspace->size ||
            workspace->size - run.workspace_offset < plan_.workspace_bytes)
            throw invalid("the workspace must have " + std::to_string(plan_.workspace_bytes) + " bytes");
        places[kWorkspace] = {*workspace, run.workspace_offset};
    }
    std::vector<bool> bound(plan_.slots.size());
    for (uint32_t i = 0; i < run.bindings.count; ++i) {
        const bp_binding b = sdk::read(BP_AT(bp_binding, &run.bindings, i));
        const auto slot =
            std::find_if(plan_.slots.begin(), plan_.slots.end(), [&](const Slot& s) { return s.tensor == b.tensor; });
        const std::string tensor = "tensor " + std::to_string(b.tensor);
        if (slot == plan_.slots.end()) throw invalid(tensor + " is bound, but the program has no such slot");
        const auto index = static_cast<size_t>(slot - plan_.slots.begin());
        if (bound[index]) throw invalid(tensor + " is bound twice");
        const auto* buffer = reinterpret_cast<const Buffer*>(b.buffer);
        if (buffer == nullptr) throw invalid(tensor + " is bound to no buffer");
        if (b.offset > buffer->size || buffer->size - b.offset < std::max(slot->bytes, b.bytes) || b.bytes < slot->bytes)
            throw invalid(tensor + " needs " + std::to_string(slot->bytes) + " bytes, the binding has less");
        places[kFirstSlot + index] = {*buffer, b.offset};
        bound[index] = true;
    }
    for (size_t i = 0; i < bound.size(); ++i)
        if (!bound[i]) throw invalid("tensor " + std::to_string(plan_.slots[i].tensor) + " is not bound");
    return places;
}

Recording& Program::recording_for(const std::vector<Place>& places) {
    const auto found =
        std::find_if(recordings_.begin(), recordings_.end(), [&](const auto& r) { return r->is_for(places); });
    if (found != recordings_.end()) {
        std::rotate(recordings_.begin(), found, found + 1);
        return *recordings_.front();
    }
    if (recordings_.size() == kMostRecordings) recordings_.pop_back();
    const Script script{plan_, pipelines_, resident_, parameter_stride_};
    recordings_.insert(recordings_.begin(), std::make_unique<Recording>(device_, script, places));
    return *recordings_.front();
}

void Program::run(const bp_run& run) {
    if (plan_only_) throw sdk::Failure(BP_INVALID, "run: the program was compiled to be planned only; compile it again");
    if (run.wait.count != 0 || run.signal.fence != nullptr)
        throw sdk::Failure(BP_INVALID, "run: this backend has no fences to wait for or to signal");
    if (run.bindings.count != 0 && run.bindings.first == nullptr)
        throw sdk::Failure(BP_INVALID, "run: the bindings have no memory");
    device_.check_lost();
    const std::vector<Place> places = bind(run);
    if (raised(run.cancel)) throw sdk::Failure(BP_CANCELLED, "run was cancelled");
    recording_for(places).run(run.cancel);
}

}  // namespace backplane::vulkan
