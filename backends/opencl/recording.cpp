#include "recording.hpp"

#include <algorithm>

namespace backplane::opencl {

namespace {

constexpr size_t kChunkDispatches = 65536 / (gpu::kParameterWords * sizeof(uint32_t));

// Operations after which the host looks at the cancel flag, and a slow device is not taken for a hung one.
constexpr double kSegmentWork = 2e11;
constexpr double kSegmentWorkOfSoftware = 5e9;

}  // namespace

Parameters::Parameters(Device& device, const Plan& plan) {
    const size_t count = plan.dispatches.size();
    for (size_t first = 0; first < count; first += kChunkDispatches) {
        const size_t here = std::min(kChunkDispatches, count - first);
        std::vector<uint32_t> words(here * gpu::kParameterWords);
        for (size_t i = 0; i < here; ++i)
            std::copy(plan.dispatches[first + i].parameters.begin(), plan.dispatches[first + i].parameters.end(),
                      words.begin() + static_cast<std::ptrdiff_t>(i * gpu::kParameterWords));
        cl_int result = CL_SUCCESS;
        chunks_.emplace_back(device.cl.CreateBuffer(device.context.get(), CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                                    words.size() * sizeof(uint32_t), words.data(), &result),
                             device.cl.ReleaseMemObject);
        device.check(result, "allocate parameters on " + device.physical.name);
    }
}

uint64_t Parameters::bytes_of(const Plan& plan) { return plan.dispatches.size() * gpu::kParameterWords * sizeof(uint32_t); }

cl_mem Parameters::memory_of(size_t dispatch) const { return chunks_[dispatch / kChunkDispatches].get(); }

cl_uint Parameters::first_of(size_t dispatch) {
    return static_cast<cl_uint>(dispatch % kChunkDispatches * gpu::kParameterWords);
}

Recording::Recording(Device& device, const Plan& plan, const Parameters& parameters, std::vector<Place> places)
    : device_(device), places_(std::move(places)), written_(places_.size()) {
    record(plan, parameters);
}

Recording::Range Recording::range_of(const Plan& plan, const Operand& operand) const {
    const gpu::Value& value = plan[operand.value];
    const Place& place = places_[value.base];
    if (value.bytes == 0 || place.buffer.block == nullptr) return {};
    const uint64_t first = place.buffer.offset + place.offset + value.offset;
    const sdk::DTypeInfo type = sdk::dtype_info(value.dtype);
    const uint64_t element = type.block == 1 ? std::max(type.bytes, operand.element) : 2;
    if (first % element != 0)
        throw sdk::Failure(BP_INVALID, "run: tensor " + std::to_string(value.tensor) +
                                           " is bound at an offset that is no multiple of its elements' " +
                                           std::to_string(element) + " bytes");
    return {place.buffer.memory(), first, value.bytes};
}

Recording::Step Recording::make_step(const Plan& plan, const Parameters& parameters, size_t index) {
    const Dispatch& d = plan.dispatches[index];
    Step step;
    if (d.kernel == gpu::kNoKernel) {
        step.from = range_of(plan, d.operands[0]);
        step.to = range_of(plan, d.operands[1]);
        return step;
    }
    step.kernel = device_.make_kernel(d.kernel, d.constants);
    for (size_t i = 0; i < 3; ++i) step.global[i] = d.groups[i];
    step.global[0] *= d.constants[0];
    step.local[0] = d.constants[0];
    const std::string attempted = "set up " + d.label + " on " + device_.physical.name;
    cl_uint argument = 0;
    const auto set = [&](size_t size, const void* value) {
        device_.check(device_.cl.SetKernelArg(step.kernel.get(), argument, size, value), attempted);
        ++argument;
    };
    const cl_mem words = parameters.memory_of(index);
    const cl_uint first_word = Parameters::first_of(index);
    set(sizeof(cl_mem), &words);
    set(sizeof(cl_uint), &first_word);
    for (const Operand& operand : d.operands) {
        const Range range = range_of(plan, operand);
        const cl_mem memory = range.memory != nullptr ? range.memory : words;  // stands for values of no bytes
        const cl_ulong first = range.first / operand.element;
        set(sizeof(cl_mem), &memory);
        set(sizeof(cl_ulong), &first);
    }
    return step;
}

void Recording::record(const Plan& plan, const Parameters& parameters) {
    const double most = device_.can().software ? kSegmentWorkOfSoftware : kSegmentWork;
    double work = 0;
    for (size_t i = 0; i < plan.dispatches.size(); ++i) {
        const Dispatch& d = plan.dispatches[i];
        if (work + d.work > most && !steps_.empty()) {
            steps_.back().ends_segment = true;
            work = 0;
        }
        work += d.work;
        steps_.push_back(make_step(plan, parameters, i));
        for (const Operand& operand : d.operands)
            if (operand.written) written_[plan[operand.value].base] = true;
    }
    if (!steps_.empty()) steps_.back().ends_segment = true;
}

void Recording::start(const Step& step) {
    const std::string& name = device_.physical.name;
    cl_command_queue queue = device_.queue.get();
    if (step.kernel) {
        device_.check(device_.cl.EnqueueNDRangeKernel(queue, step.kernel.get(), 3, nullptr, step.global, step.local, 0,
                                                      nullptr, nullptr),
                      "start work on " + name);
    } else if (step.from.memory != nullptr) {
        device_.check(device_.cl.EnqueueCopyBuffer(queue, step.from.memory, step.to.memory, step.from.first, step.to.first,
                                                   step.to.bytes, 0, nullptr, nullptr),
                      "start a copy on " + name);
    }
}

void Recording::run(const volatile uint32_t* cancel) {
    const std::string attempted = "run a program on " + device_.physical.name;
    for (const Place& place : places_) device_.take_from_host(place.buffer);
    // At most two segments are under way, so that a raised flag is obeyed soon and the device never waits for the host.
    std::vector<Handle<cl_event>> ends;
    size_t waited = 0;
    bool stopped = false;
    for (size_t i = 0; i < steps_.size() && !stopped; ++i) {
        start(steps_[i]);
        if (!steps_[i].ends_segment || i + 1 == steps_.size()) continue;
        cl_event end = nullptr;
        device_.check(device_.cl.EnqueueMarkerWithWaitList(device_.queue.get(), 0, nullptr, &end), attempted);
        ends.emplace_back(end, device_.cl.ReleaseEvent);
        device_.check(device_.cl.Flush(device_.queue.get()), attempted);
        if (ends.size() > waited + 1) {
            const cl_event before = ends[waited].get();
            device_.check_work(device_.cl.WaitForEvents(1, &before), attempted);
            ends[waited++].reset();
        }
        stopped = gpu::raised(cancel);
    }
    device_.check_work(device_.cl.Finish(device_.queue.get()), attempted);
    if (stopped) throw sdk::Failure(BP_CANCELLED, "run was cancelled");
    device_.remember_programs();
    for (size_t i = 0; i < places_.size(); ++i)
        if (written_[i]) device_.give_to_host(places_[i].buffer);
}

}  // namespace backplane::opencl
