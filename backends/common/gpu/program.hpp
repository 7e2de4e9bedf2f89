// A compiled graph on a device of an Api: kernels, the memory they need, and commands recorded once for what is bound.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "common/gpu/device.hpp"
#include "common/plan.hpp"

namespace backplane::gpu {

template <typename A>
class Program {
public:
    using Places = std::vector<Place<Buffer<A>>>;
    using Recording = typename A::Recording;
    using Block = typename A::Block;

    // Throws Failure: BP_UNSUPPORTED names the node and why; BP_NO_DEVICE_MEMORY when workspace_limit does not suffice.
    Program(Device<A>& device, const bp_graph& graph, const bp_compile& how)
        : device_(device), plan_only_((how.flags & BP_COMPILE_PLAN_ONLY) != 0) {
        const auto start = std::chrono::steady_clock::now();
        device_.check_lost();
        cache_hits_ = device_.kernels->hits();
        do {
            plan_ = make_plan(&graph, how, device_.abilities());
        } while (!plan_only_ && !build_kernels(how.cancel));
        make(start);
    }
    ~Program() {
        for (const auto& recording : recordings_) settle(*recording);
    }

    [[nodiscard]] Device<A>& owner() const { return device_; }
    [[nodiscard]] bp_program_info info() const {
        bp_program_info info = backend::info_of(plan_, plan_.dispatches.size(), slots_, summary_);
        info.workspace_alignment = device_.can().storage_alignment;
        info.resident_bytes += parameter_bytes_;
        info.compile_ns = compile_ns_;
        info.cache_hits = cache_hits_;
        info.moved_bytes = plan_.moved_bytes();
        return info;
    }

    // As bp_module_api.run. [queue]
    void run(const bp_run& run) {
        if (plan_only_) throw sdk::Failure(BP_INVALID, "run: the program was compiled to be planned only; compile it again");
        const Ticket<A> ticket = device_.admit(run.queue, device_.physical.queues, run.wait, run.signal, run.peer_wait);
        Places places = places_of(run);
        if (raised(run.cancel)) throw sdk::Failure(BP_CANCELLED, "run was cancelled");
        Recorded& recorded = recorded_for(std::move(places));
        device_.count_run();
        const auto [value, outcome] = submit(ticket, recorded, run.cancel);
        device_.complete(ticket, value, outcome, run.cancel);
    }

    // As bp_module_api.pack. [queue]
    void pack(uint32_t index, const bp_copy& copy) {
        if (index >= slots_.size()) backend::invalid("pack: no slot " + std::to_string(index));
        if (plan_only_) backend::invalid("pack: the program was compiled to be planned only; compile it again");
        const Slot& slot = plan_.slots[index];
        const auto [from, to, zero] = backend::sides_of_pack(copy, slots_[index], slot.plain_bytes, buffer_of<A>);
        if (slot.layout == 0) {
            bp_copy plain = copy;
            plain.bytes = slot.plain_bytes;
            return device_.copy(plain);
        }
        if (to.buffer == nullptr || to.buffer->pinned())
            backend::invalid("pack: the destination must be a buffer of the device");
        const Ticket<A> ticket = device_.admit(copy.queue, device_.physical.queues, copy.wait, copy.signal);
        // Plain bytes where kernels see them, for as long as the work takes.
        const auto staged = device_.memory->hold(slot.plain_bytes, device_);
        auto recording = std::make_shared<Recording>(A::begin(*device_.api, 1));
        Range<Block> ranges[] = {staged->range(0, slot.plain_bytes), to.buffer->range(to.offset, slot.bytes)};
        if (from.buffer != nullptr) {
            A::move(*recording, from.buffer->range(from.offset, slot.plain_bytes), ranges[0]);
            A::barrier(*recording);
        }
        for (size_t i = 0; i < std::size(ranges); ++i) ranges[i].element = slot.pack.operands[i].element;
        A::dispatch(*recording, device_.kernels->get(slot.pack.kernel, slot.pack.constants), ranges, slot.pack.parameters,
                    parameters_of(plan_.dispatches.size() + plan_.once.size() + index), extent_of(slot.pack));
        A::end(*recording);
        if (from.buffer == nullptr) device_.upload(ticket, *staged, 0, from.host, slot.plain_bytes);
        const uint64_t value = Device<A>::submit(ticket, *recording);
        ticket.queue->defer({value, nullptr, nullptr, 0, [staged, recording] {}});
        device_.complete(ticket, value);
    }

private:
    // Commands for one set of buffers, in segments: a raised cancel flag is seen between two, and a slow device is not taken for a hung one.
    struct Recorded {
        Places places;
        std::vector<Recording> segments;
        std::vector<double> work;   // of each
        Queue<A>* queue = nullptr;  // that it was submitted to last, and until when it is used there
        uint64_t until = 0;
    };
    struct Touched {  // bytes of a block since the last barrier
        Range<Block> range;
        bool written = false;
    };

    // Sets of buffers that commands are kept for, so many dispatches together. Two of everything, in turn, is common; parts of a network that are alike
    // are one program, run with each part's own weights and, where these are streamed, in each place of a ring.
    static constexpr size_t kLeastRecordings = 4, kMostRecordings = 128, kMostRecorded = 4096;
    static constexpr double kSegmentWork = 2e11;  // operations

    // False: the plan needs a kernel that this driver cannot build; make another plan.
    bool build_kernels(const volatile uint32_t* cancel) {
        const struct End {
            Device<A>& device;
            ~End() { A::built(*device.api); }
        } end{device_};
        std::vector<const Dispatch*> all = all_dispatches();
        if (!device_.can().software)
            build_ahead(all, device_.host, cancel, [&](const Dispatch& d) { device_.kernels->get(d.kernel, d.constants); });
        for (const Dispatch* d : all) {
            if (d->kernel == kNoKernel) continue;
            if (raised(cancel)) throw sdk::Failure(BP_CANCELLED, "compile was cancelled");
            try {
                device_.kernels->get(d->kernel, d->constants);
            } catch (const sdk::Failure& f) {
                if (!device_.does_without(d->kernel, f)) throw;
                return false;
            }
        }
        return true;
    }
    // In the order in which their parameters lie: those of a run, what is done once, packing.
    [[nodiscard]] std::vector<const Dispatch*> all_dispatches() const {
        std::vector<const Dispatch*> all;
        for (const auto* dispatches : {&plan_.dispatches, &plan_.once})
            for (const Dispatch& d : *dispatches) all.push_back(&d);
        for (const Slot& slot : plan_.slots) all.push_back(&slot.pack);
        return all;
    }

    void make(std::chrono::steady_clock::time_point start) {
        slots_ = backend::told_slots(plan_.slots, device_.can().storage_alignment);
        stride_ = std::max<uint64_t>(kParameterWords * sizeof(uint32_t), device_.can().storage_alignment);
        parameter_bytes_ = stride_ * (plan_.dispatches.size() + plan_.once.size() + plan_.slots.size() + 1);
        if (!plan_only_) make_residents();
        cache_hits_ = device_.kernels->hits() - cache_hits_;
        for (Value& value : plan_.values) std::vector<std::byte>().swap(value.constant);
        summary_ = summary_of(plan_, A::kBackend);
        compile_ns_ = backend::nanoseconds_since(start);
    }
    // Parameters of the dispatches, of what is done once and of packing, then the constants.
    void make_residents() {
        std::vector<std::byte> bytes(parameter_bytes_ + plan_.resident_bytes);
        size_t row = 0;
        for (const Dispatch* d : all_dispatches())
            std::ranges::copy(std::as_bytes(std::span(d->parameters)), &bytes[stride_ * row++]);
        for (const ValueId id : plan_.residents)
            std::ranges::copy(plan_[id].constant,
                              bytes.begin() + static_cast<ptrdiff_t>(parameter_bytes_ + plan_[id].offset));
        resident_ = device_.memory->hold(bytes.size(), device_);
        device_.fill(*resident_, 0, bytes.data(), bytes.size());
        if (!plan_.once.empty()) do_once();
    }
    void do_once() {
        Places places(kFirstSlot + plan_.slots.size());
        places[kResident] = {*resident_, parameter_bytes_};
        Recorded recorded{std::move(places), {}, {}, nullptr, 0};
        record(recorded, plan_.once, plan_.dispatches.size());
        const Ticket<A> ticket = device_.admit(0, device_.physical.queues, {}, {});
        device_.complete(ticket, submit(ticket, recorded, nullptr).first);
    }
    [[nodiscard]] Range<Block> parameters_of(size_t row) const {
        return resident_->range(row * stride_, kParameterWords * sizeof(uint32_t));
    }

    // Waits until the device uses it no more.
    static void settle(Recorded& recorded) noexcept {
        try {
            if (recorded.queue != nullptr) recorded.queue->wait(recorded.until);
        } catch (const sdk::Failure&) {  // NOLINT(bugprone-empty-catch): a lost device uses nothing
        }
    }
    Recorded& recorded_for(Places places) {
        const auto found =
            std::find_if(recordings_.begin(), recordings_.end(), [&](const auto& r) { return r->places == places; });
        if (found != recordings_.end()) {
            std::rotate(recordings_.begin(), found, found + 1);
            return *recordings_.front();
        }
        check_overlaps(places);
        auto made = std::make_unique<Recorded>(Recorded{std::move(places), {}, {}, nullptr, 0});
        record(*made, plan_.dispatches, 0);
        const size_t each = std::max<size_t>(plan_.dispatches.size(), 1);
        if (recordings_.size() == std::clamp(kMostRecorded / each, kLeastRecordings, kMostRecordings)) {
            settle(*recordings_.back());
            recordings_.pop_back();
        }
        recordings_.insert(recordings_.begin(), std::move(made));
        return *recordings_.front();
    }
    // Throws Failure(BP_INVALID).
    [[nodiscard]] Places places_of(const bp_run& run) const {
        const auto bound = backend::bindings_of(run, slots_, buffer_of<A>);
        Places places(kFirstSlot + bound.size());
        places[kResident] = {*resident_, parameter_bytes_};
        if (const auto* workspace = backend::workspace_of(run, plan_.workspace_bytes, buffer_of<A>); workspace != nullptr)
            places[kWorkspace] = {*workspace, run.workspace_offset};
        for (size_t i = 0; i < bound.size(); ++i) {
            places[kFirstSlot + i] = {*buffer_of<A>(bound[i].buffer), bound[i].offset};
            if (places[kFirstSlot + i].buffer.pinned())
                backend::invalid("run: tensor " + std::to_string(bound[i].tensor) +
                                 " is bound to pinned host memory, which kernels do not see; copy it");
        }
        return places;
    }
    // Of bindings that commands are recorded for. Throws Failure(BP_INVALID).
    void check_overlaps(const Places& places) const {
        backend::check_overlaps(slots_, plan_.slots, [&](size_t i) {
            const auto& [buffer, offset] = places[kFirstSlot + i];
            return std::pair(buffer.stretch, buffer.offset + offset);
        });
    }

    [[nodiscard]] Range<Block> range_of(const Recorded& recorded, const Operand& operand) const {
        const Value& value = plan_[operand.value];
        const Place<Buffer<A>>& place = recorded.places[value.base];
        if (value.bytes == 0 || place.buffer.stretch == nullptr) return {};
        Range<Block> range = place.buffer.range(place.offset + value.offset, value.bytes);
        range.element = operand.element;
        range.given = operand.given;
        const sdk::DTypeInfo type = sdk::dtype_info(value.dtype);
        const uint64_t element = type.block == 1 ? std::max(type.bytes, operand.element) : 2;
        if (range.offset % element != 0)
            backend::invalid("run: tensor " + std::to_string(value.tensor) +
                             " is bound at an offset that is no multiple of its elements' " + std::to_string(element) +
                             " bytes");
        return range;
    }
    static Extent extent_of(const Dispatch& d) { return {{d.groups[0], d.groups[1], d.groups[2]}, d.constants[0]}; }

    // Of a segment: some milliseconds.
    [[nodiscard]] double most_work() const {
        if (device_.can().software) return A::kSegmentWorkOfSoftware;
        return device_.can().warpgroups ? 4 * kSegmentWork : kSegmentWork;
    }
    // `row`: of the first dispatch's parameters.
    void record(Recorded& recorded, const std::vector<Dispatch>& dispatches, size_t row) {
        const double most = most_work();
        size_t at_once = dispatches.size();
        if constexpr (requires { A::kFirstDispatches; }) at_once = A::kFirstDispatches;
        for (size_t i = 0; i < dispatches.size(); at_once = std::min(3 * at_once, dispatches.size())) {
            const size_t last = std::min(dispatches.size(), i + at_once);
            size_t end = i;
            double work = 0;
            for (; end < last && (end == i || work + dispatches[end].work <= most); ++end) work += dispatches[end].work;
            Recording into = A::begin(*device_.api, static_cast<uint32_t>(end - i));
            for (std::vector<Touched> touched; i < end; ++i) add(into, touched, recorded, dispatches[i], row + i);
            A::end(into);
            recorded.segments.push_back(std::move(into));
            recorded.work.push_back(work);
        }
    }
    void add(Recording& into, std::vector<Touched>& touched, const Recorded& recorded, const Dispatch& d, size_t row) {
        std::vector<Range<Block>> ranges;
        for (const Operand& operand : d.operands) ranges.push_back(range_of(recorded, operand));
        order(into, touched, d, ranges);
        if (d.kernel != kNoKernel) {
            A::dispatch(into, device_.kernels->get(d.kernel, d.constants), ranges, d.parameters, parameters_of(row),
                        extent_of(d));
        } else if (ranges[0].block != nullptr) {
            A::move(into, ranges[0], ranges[1]);
        }
    }
    // A barrier where what follows touches what was written since the last one, or writes what was read.
    static void order(Recording& into, std::vector<Touched>& touched, const Dispatch& d,
                      const std::vector<Range<Block>>& ranges) {
        const auto clash = [&](size_t i, const Touched& other) {
            const Range<Block>& mine = ranges[i];
            return mine.block == other.range.block && (d.operands[i].written || other.written) &&
                   mine.offset < other.range.offset + other.range.bytes && other.range.offset < mine.offset + mine.bytes;
        };
        bool needed = false;
        for (size_t i = 0; i < ranges.size() && !needed; ++i)
            needed = ranges[i].block != nullptr &&
                     std::any_of(touched.begin(), touched.end(), [&](const Touched& other) { return clash(i, other); });
        if (needed) {
            A::barrier(into);
            touched.clear();
        }
        for (size_t i = 0; i < ranges.size(); ++i)
            if (ranges[i].block != nullptr) touched.push_back({ranges[i], d.operands[i].written});
    }

    // The value at which the work is done, and how it ends. When it returns as much work is under way as two segments have at the most, so that a
    // raised flag is obeyed soon and the device never waits for the host.
    std::pair<uint64_t, bp_code> submit(const Ticket<A>& ticket, Recorded& recorded, const volatile uint32_t* cancel) {
        if (recorded.segments.empty()) return {device_.submit_nothing(ticket), BP_OK};
        if (recorded.queue != nullptr && recorded.queue != ticket.queue) settle(recorded);
        recorded.queue = ticket.queue;
        auto waits = Device<A>::waits_of(ticket);
        std::vector<uint64_t> values;
        size_t first = 0;  // that may be under way
        double work = 0;   // from there on
        for (const Recording& segment : recorded.segments) {
            work += recorded.work[values.size()];
            bool stopped = !values.empty() && raised(cancel);
            for (; !stopped && values.size() - first >= 2 && work >= 2 * most_work(); work -= recorded.work[first++])
                stopped = !wait_for(*ticket.queue, values[first], cancel);
            if (stopped || (!values.empty() && raised(cancel))) break;
            values.push_back(ticket.queue->submit([&](auto& queue, auto& timeline, uint64_t value) {
                A::submit(queue, segment, std::exchange(waits, {}), timeline, value);
            }));
            recorded.until = values.back();
        }
        return {values.back(), values.size() < recorded.segments.size() ? BP_CANCELLED : BP_OK};
    }
    // False: the flag was raised first.
    static bool wait_for(Queue<A>& queue, uint64_t value, const volatile uint32_t* cancel) {
        constexpr uint64_t kLook = 10'000'000;  // nanoseconds
        if (cancel == nullptr) return queue.wait(value);
        while (!queue.wait(value, kLook))
            if (raised(cancel)) return false;
        return true;
    }

    Device<A>& device_;
    Plan plan_;
    std::shared_ptr<const Buffer<A>> resident_;          // null: to be planned only
    std::vector<std::unique_ptr<Recorded>> recordings_;  // last used first
    std::vector<bp_slot> slots_;
    std::string summary_;
    uint64_t parameter_bytes_ = 0, stride_ = 0, compile_ns_ = 0;
    uint32_t cache_hits_ = 0;
    bool plan_only_ = false;
};

}  // namespace backplane::gpu
