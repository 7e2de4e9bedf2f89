#include "program.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace backplane::opencl {

namespace {

// Sets of buffers for which work is kept: two of everything, in turn, is common.
constexpr size_t kMostRecordings = 4;

}  // namespace

Program::Program(Device& device, const bp_graph* graph, const bp_compile& how)
    : device_(device), plan_only_((how.flags & BP_COMPILE_PLAN_ONLY) != 0) {
    const auto start = std::chrono::steady_clock::now();
    device_.check_lost();
    const uint32_t hits = device_.cache_hits();
    do {
        plan_ = gpu::make_plan(graph, how, device_.abilities());
    } while (!plan_only_ && !build_kernels(how.cancel));
    slots_ = gpu::slots_of(plan_, device_.can().storage_alignment);
    if (!plan_only_) {
        parameters_ = Parameters(device_, plan_);
        make_residents();
    }
    cache_hits_ = device_.cache_hits() - hits;
    for (gpu::Value& value : plan_.values) std::vector<std::byte>().swap(value.constant);
    summary_ = gpu::summary_of(plan_, "opencl");
    compile_ns_ = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count());
}

bool Program::build_kernels(const volatile uint32_t* cancel) {
    const struct End {
        Device& device;
        ~End() { device.end_builds(); }
    } end{device_};
    if (!device_.can().software)
        gpu::build_ahead(plan_, device_.host, cancel, [&](const Dispatch& d) { device_.program(d.kernel, d.constants); });
    for (const Dispatch& d : plan_.dispatches) {
        if (gpu::raised(cancel)) throw sdk::Failure(BP_CANCELLED, "compile was cancelled");
        if (d.kernel == gpu::kNoKernel) continue;
        try {
            device_.program(d.kernel, d.constants);
        } catch (const sdk::Failure& f) {
            if (!device_.does_without(d.kernel, f)) throw;
            return false;
        }
    }
    return true;
}

Program::~Program() {
    recordings_.clear();
    device_.memory->close(resident_);
}

void Program::make_residents() {
    std::vector<std::byte> bytes(plan_.resident_bytes);
    for (const gpu::ValueId id : plan_.residents)
        if (!plan_[id].constant.empty())
            std::memcpy(&bytes[plan_[id].offset], plan_[id].constant.data(), plan_[id].constant.size());
    resident_ = device_.memory->create(bytes.size());
    try {
        device_.upload(resident_, 0, bytes.data(), bytes.size());
    } catch (...) {
        device_.memory->close(resident_);
        throw;
    }
}

bp_program_info Program::info() const {
    bp_program_info info{};
    info.workspace_bytes = plan_.workspace_bytes;
    info.workspace_alignment = device_.can().storage_alignment;
    info.resident_bytes = plan_.resident_bytes + Parameters::bytes_of(plan_);
    info.compile_ns = compile_ns_;
    info.kernels = static_cast<uint32_t>(plan_.dispatches.size());
    info.cache_hits = cache_hits_;
    info.slots = {slots_.data(), static_cast<uint32_t>(slots_.size()), sizeof(bp_slot)};
    info.summary = summary_.c_str();
    return info;
}

Recording& Program::recording_for(const std::vector<Place>& places) {
    const auto found =
        std::find_if(recordings_.begin(), recordings_.end(), [&](const auto& r) { return r->is_for(places); });
    if (found != recordings_.end()) {
        std::rotate(recordings_.begin(), found, found + 1);
        return *recordings_.front();
    }
    if (recordings_.size() == kMostRecordings) recordings_.pop_back();
    recordings_.insert(recordings_.begin(), std::make_unique<Recording>(device_, plan_, parameters_, places));
    return *recordings_.front();
}

void Program::run(const bp_run& run) {
    if (plan_only_) throw sdk::Failure(BP_INVALID, "run: the program was compiled to be planned only; compile it again");
    device_.check_lost();
    std::vector<Place> places = gpu::places_of<Buffer>(plan_, run);
    places[gpu::kResident] = {resident_, 0};
    if (gpu::raised(run.cancel)) throw sdk::Failure(BP_CANCELLED, "run was cancelled");
    recording_for(places).run(run.cancel);
}

}  // namespace backplane::opencl
