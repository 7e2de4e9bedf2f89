#include "plan/port.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/errors.hpp"
#include "base/process_end.hpp"
#include "plan/program.hpp"
#include "plan/residency.hpp"

namespace backplane::plan {

namespace {

constexpr size_t kFewUses = 60;  // of a run: as many have their room on the stack

uint32_t pinned_heap_of(const std::vector<Heap>& heaps) {
    for (uint32_t i = 1; i < heaps.size(); ++i)
        if (heaps[i].flags.has(HeapFlag::pinned)) return i;
    return 0;
}

bool is_async(const Device::State& state) {
    return state.info.capabilities.has(Capability::async) && BP_HAS(state.api, fence_create) &&
           BP_HAS(state.api, fence_wait) && BP_HAS(state.api, fence_close);
}

const bp_loans* loans_of(const Device::State& state) {
    const auto* loans = static_cast<const bp_loans*>(state.extension(BP_LOANS));
    return loans != nullptr && BP_KNOWS(loans, copied_up_to) && std::has_single_bit(loans->alignment) ? loans : nullptr;
}

}  // namespace

Storage::Storage(std::shared_ptr<Port> port_, bp_buffer* buffer_, uint64_t bytes_, uint32_t heap_, std::string holder_)
    : port(std::move(port_)), buffer(buffer_), bytes(bytes_), heap(heap_), holder(std::move(holder_)) {}

Storage::~Storage() { port->let_go(*this); }

std::shared_ptr<Port> Port::of(const Device& device) {
    if (!device) throw Error(Code::invalid, "no device: this handle was never given one");
    Device::State& state = *DeviceAccess::state(device);
    const std::lock_guard lock(state.above_mutex);
    if (auto there = std::static_pointer_cast<Port>(state.above.lock())) return there;
    Shape shape;
    shape.queues = state.info.queues;
    shape.copy_queues = state.info.copy_queues;
    shape.pinned_heap = pinned_heap_of(state.heaps());
    shape.budget = state.memory_limit;
    auto made = std::make_shared<Port>(device, shape);
    state.above = made;
    return made;
}

Port::Port(Device device, const Shape& shape)
    : device_(std::move(device)),
      state_(*DeviceAccess::state(device_)),
      async_(is_async(state_)),
      imports_(state_.info.capabilities.has(Capability::import_host) && BP_HAS(state_.api, buffer_import) &&
               state_.in_host_memory()),
      peers_(async_ && state_.info.capabilities.has(Capability::peer)),
      loans_(imports_ ? loans_of(state_) : nullptr),
      queues_(async_ ? std::clamp(shape.queues, 1U, kMostQueues) : 1),
      copies_(async_ ? std::min(shape.copy_queues, kMostQueues - queues_) : 0),
      pinned_heap_(BP_HAS(state_.api, buffer_map) ? shape.pinned_heap : 0),
      budget_(shape.budget),
      residency_(std::make_unique<Residency>(*this)) {
    if (!async_) return;
    for (uint32_t q = 0; q < queues_ + copies_; ++q) {
        base::ErrorRoom room;
        const std::string what = "cannot make a timeline on " + name();
        state_.check(state_.call<&bp_module_api::fence_create>(room, state_.handle, &lanes_[q].fence), what, room);
        Device::State::expect_handle(lanes_[q].fence, what);
    }
}

Port::~Port() {
    drain();
    sweep();
    for (Let& let : let_) {
        wait_elsewhere(let.elsewhere);
        give_back(let.buffer, let.heap, let.bytes, let.holder);
    }
    for (Lane& lane : lanes_)
        if (lane.fence != nullptr) state_.guarded().close<&bp_module_api::fence_close>(lane.fence);
}

// ---- work ----

// The lane is locked.
Port::Needs Port::needs_of(uint32_t queue, Touched uses, Storage* of_peer) const {
    Needs all;
    std::array<uint64_t, kMostQueues> need{};
    for (const auto& [storage, written] : uses) {
        if (!storage->has_points_.load(std::memory_order_acquire)) continue;
        const std::lock_guard order(storage->mutex_);
        need[storage->written_.queue] = std::max(need[storage->written_.queue], storage->written_.value);
        if (!written) continue;
        for (uint32_t q = 0; q < kMostQueues; ++q) need[q] = std::max(need[q], storage->read_[q]);
        for (const Storage::Elsewhere& read : storage->elsewhere_)
            if (auto by = read.by.lock(); by != nullptr && !by->lost()) {
                all.peers.push_back({by->lanes_[read.point.queue].fence, read.point.value});
                all.open.push_back(std::move(by));
            }
    }
    if (of_peer != nullptr) {
        const std::lock_guard order(of_peer->mutex_);
        if (const Point& point = of_peer->written_; point.value != 0)
            all.peers.push_back({of_peer->port->lanes_[point.queue].fence, point.value});
    }
    for (uint32_t q = 0; q < queues_ + copies_; ++q)
        if (q != queue && need[q] != 0) all.here[all.count++] = {lanes_[q].fence, need[q]};
    return all;
}

// Reads before writes: one storage may be both (a state), and the next reader waits for the write.
void Port::note_uses(uint32_t queue, Touched uses, Point mine, bool now) {
    for (const bool writes : {false, true})
        for (const auto& [storage, written] : uses) {
            if (written != writes) continue;
            if (now && (!written || !storage->has_points_.load(std::memory_order_acquire))) continue;  // it is done
            const std::lock_guard of_storage(storage->mutex_);
            if (written) storage->written_ = mine, storage->read_.fill(0), storage->elsewhere_.clear();
            if (!written) storage->read_[queue] = mine.value;
            storage->has_points_.store(!now, std::memory_order_release);
        }
}

template <typename Call>
Point Port::submit(uint32_t queue, Touched uses, bool now, std::string_view what, Call call, Storage* of_peer) {
    // Words are made when they are needed: a run of a small op takes a microsecond or two.
    if (state_.lost()) state_.expect_there(std::string(what) + name());
    const auto expect_done = [&](bp_code code, const base::ErrorRoom& room) {
        if (code != BP_OK) state_.check(code, std::string(what) + name(), room);
    };
    Lane& lane = lanes_[queue];
    base::ErrorRoom room;
    if (!async_) {
        const std::lock_guard lock(lane.mutex);
        expect_done(call(Order{}, room), room);
        return {};
    }
    const std::lock_guard lock(lane.mutex);
    const Needs needs = needs_of(queue, uses, of_peer);
    const Point mine = now ? Point{} : Point{queue, lane.next + 1};
    expect_done(call(needs.order(now ? bp_point{} : bp_point{lane.fence, mine.value}), room), room);
    if (!now) lane.next = mine.value;
    note_uses(queue, uses, mine, now);
    if (of_peer != nullptr && !now) {
        const std::lock_guard order_of(of_peer->mutex_);
        std::erase_if(of_peer->elsewhere_, [&](const Storage::Elsewhere& read) {
            const auto by = read.by.lock();
            return by == nullptr || (by.get() == this && read.point.queue == queue);
        });
        of_peer->elsewhere_.push_back({weak_from_this(), mine});
        of_peer->has_points_.store(true, std::memory_order_release);
    }
    return mine;
}

// Until nobody else reads what is let go of.
void Port::wait_elsewhere(const std::vector<Storage::Elsewhere>& reads) noexcept {
    if (base::process_is_ending()) return;
    for (const Storage::Elsewhere& read : reads)
        if (const auto by = read.by.lock(); by != nullptr) {
            base::ErrorRoom room;
            static_cast<void>(by->state_.call<&bp_module_api::fence_wait>(
                room, by->lanes_[read.point.queue].fence, read.point.value, std::numeric_limits<uint64_t>::max()));
        }
}

Point Port::move(bp_copy request, uint32_t queue, Storage* from, Storage* to, bool now, std::string_view what) {
    request.struct_size = BP_SIZE(bp_copy, from_device);  // NOLINT(bugprone-sizeof-expression): of a pointer
    request.queue = queue;
    std::array<Touch, 2> uses;  // NOLINT(cppcoreguidelines-pro-type-member-init): as many as are counted
    size_t count = 0;
    if (from != nullptr) uses[count++] = {from, false}, request.from_buffer = from->buffer;
    if (to != nullptr) uses[count++] = {to, true}, request.to_buffer = to->buffer;
    return submit(queue, std::span(uses.data(), count), now, what, [&](const Order& order, base::ErrorRoom& room) {
        request.wait = order.wait;
        request.peer_wait = order.peer_wait;
        request.signal = order.signal;
        return state_.call<&bp_module_api::copy>(room, state_.handle, &request);
    });
}

Point Port::upload(std::span<const std::byte> from, Storage& to, uint64_t offset, bool now, uint64_t part_of) {
    if (from.empty()) return {};
    bp_copy request{};
    request.from_host = from.data();
    request.to_offset = offset;
    request.bytes = from.size();
    const uint32_t queue =
        part_of == kBesideOthers ? queue_down(from.size()) : queue_up(std::max<uint64_t>(from.size(), part_of));
    const Point point = move(request, queue, nullptr, &to, now, "cannot copy to ");
    up_ += from.size();
    return point;
}

Point Port::download(Storage& from, uint64_t offset, std::span<std::byte> to, bool now) {
    if (to.empty()) return {};
    bp_copy request{};
    request.from_offset = offset;
    request.to_host = to.data();
    request.bytes = to.size();
    const Point point = move(request, queue_down(to.size()), &from, nullptr, now, "cannot copy from ");
    down_ += to.size();
    return point;
}

Point Port::copy(Storage& from, uint64_t from_offset, Storage& to, uint64_t to_offset, uint64_t bytes, uint64_t part_of) {
    if (bytes == 0) return {};
    bp_copy request{};
    request.from_offset = from_offset;
    request.to_offset = to_offset;
    request.bytes = bytes;
    const bool up = from.heap != 0 && to.heap == 0;  // from pinned memory
    const Point point = move(request, up ? queue_up(std::max(bytes, part_of)) : 0, &from, &to, false, "cannot copy on ");
    (up ? up_ : inside_) += bytes;
    return point;
}

Point Port::pull(Storage& from, uint64_t from_offset, Storage& to, uint64_t to_offset, uint64_t bytes) {
    if (bytes == 0) return {};
    bp_copy request{};
    request.struct_size = BP_SIZE(bp_copy, from_device);  // NOLINT(bugprone-sizeof-expression): of a pointer
    request.from_buffer = from.buffer;
    request.from_offset = from_offset;
    request.to_buffer = to.buffer;
    request.to_offset = to_offset;
    request.bytes = bytes;
    request.from_device = from.port->state_.handle;
    const uint32_t queue = request.queue = queue_up(bytes);
    const std::array<Touch, 1> uses{{{&to, true}}};
    const Point point = submit(
        queue, uses, false, "cannot copy from another device to ",
        [&](const Order& order, base::ErrorRoom& room) {
            request.wait = order.wait;
            request.peer_wait = order.peer_wait;
            request.signal = order.signal;
            return state_.call<&bp_module_api::copy>(room, state_.handle, &request);
        },
        &from);
    peer_ += bytes;
    return point;
}

Point Port::zero(Storage& to, uint64_t offset, uint64_t bytes) {
    if (bytes == 0) return {};
    if (async_) {  // who keeps the promise of BP_CAN_ASYNC knows the flag
        bp_copy request{};
        request.to_offset = offset;
        request.bytes = bytes;
        request.flags = BP_COPY_ZERO;
        return move(request, 0, nullptr, &to, false, "cannot clear memory of ");
    }
    const std::vector<std::byte> zeros(std::min<uint64_t>(bytes, uint64_t{1} << 20));
    for (uint64_t at = 0; at < bytes; at += zeros.size())
        upload(std::span(zeros).first(std::min<uint64_t>(zeros.size(), bytes - at)), to, offset + at);
    return {};
}

Point Port::pack(const Program& program, uint32_t slot, std::span<const std::byte> plain, Storage& to, uint64_t offset) {
    if (!BP_HAS(state_.api, pack))
        throw Error(Code::internal,
                    "the module of " + name() + " wants a weight packed but has no pack(): report this to its author");
    bp_copy request{};
    request.struct_size = BP_SIZE(bp_copy, flags);
    request.from_host = plain.data();
    request.to_buffer = to.buffer;
    request.to_offset = offset;
    request.bytes = plain.size();
    const std::array<Touch, 1> uses{{{&to, true}}};
    const Point point = submit(0, uses, false, "cannot pack a weight on ", [&](const Order& order, base::ErrorRoom& room) {
        request.wait = order.wait;
        request.signal = order.signal;
        return state_.call<&bp_module_api::pack>(room, program.handle(), slot, &request);
    });
    up_ += plain.size();
    return point;
}

Point Port::run(const Program& program, std::span<const Use> uses, Storage* workspace, const std::atomic<uint32_t>* cancel,
                bool now) {
    // On the stack where they are few: a run of a small op takes a microsecond or two, of which no part shall be an allocation. Not
    // thread_local: what a thread has to destroy keeps this library mapped for as long as the thread lives.
    std::array<bp_binding, kFewUses>
        few_bindings;  // NOLINT(cppcoreguidelines-pro-type-member-init): written before it is read
    std::array<Touch, kFewUses + 1> few_touched;  // NOLINT(cppcoreguidelines-pro-type-member-init): likewise
    std::vector<bp_binding> many_bindings(uses.size() > kFewUses ? uses.size() : 0);
    std::vector<Touch> many_touched(uses.size() > kFewUses ? uses.size() + 1 : 0);
    bp_binding* const bindings = uses.size() > kFewUses ? many_bindings.data() : few_bindings.data();
    Touch* const touched = uses.size() > kFewUses ? many_touched.data() : few_touched.data();
    size_t count = 0;
    // What is done in the call leaves no points, and asks for those alone that there are.
    const auto touch_it = [&](Storage* storage, bool written) {
        if (async_ && (!now || storage->has_points_.load(std::memory_order_acquire))) touched[count++] = {storage, written};
    };
    for (size_t i = 0; i < uses.size(); ++i) {
        const Use& use = uses[i];
        bindings[i] = {BP_SIZE(bp_binding, bytes), use.tensor, use.bytes->buffer, use.offset, use.size};
        touch_it(use.bytes, use.written);
    }
    if (workspace != nullptr) touch_it(workspace, true);
    bp_run request{};
    request.struct_size = BP_SIZE(bp_run, peer_wait);
    request.bindings = {bindings, static_cast<uint32_t>(uses.size()), sizeof(bp_binding)};
    request.workspace = workspace != nullptr ? workspace->buffer : nullptr;
    request.cancel = flag_of(cancel);
    const Point point =
        submit(0, {touched, count}, now, "cannot run a program on ", [&](const Order& order, base::ErrorRoom& room) {
            request.wait = order.wait;
            request.peer_wait = order.peer_wait;
            request.signal = order.signal;
            return state_.call<&bp_module_api::run>(room, program.handle(), &request);
        });
    runs_.fetch_add(1, std::memory_order_relaxed);
    return point;
}

// ---- waiting ----

bool Port::wait(Point point, uint64_t timeout_ns) {
    if (point.value == 0) return true;
    base::ErrorRoom room;
    const bp_code code = state_.call<&bp_module_api::fence_wait>(room, lanes_[point.queue].fence, point.value, timeout_ns);
    if (code == BP_TIMEOUT) return false;
    state_.check(code, "cannot finish work on " + name(), room);
    return true;
}

bool Port::reached(Point point) noexcept {
    if (point.value == 0) return true;
    base::ErrorRoom room;
    return state_.call<&bp_module_api::fence_wait>(room, lanes_[point.queue].fence, point.value, uint64_t{0}) != BP_TIMEOUT;
}

void Port::wait_written(Storage& bytes) {
    if (!bytes.has_points_.load(std::memory_order_acquire)) return;
    Point point;
    {
        const std::lock_guard lock(bytes.mutex_);
        point = bytes.written_;
    }
    wait(point);
}

void Port::wait_unused(Storage& bytes) {
    if (!bytes.has_points_.load(std::memory_order_acquire)) return;
    std::array<uint64_t, kMostQueues> until{};
    std::vector<Storage::Elsewhere> elsewhere;
    {
        const std::lock_guard lock(bytes.mutex_);
        until = bytes.read_;
        elsewhere = bytes.elsewhere_;
        until[bytes.written_.queue] = std::max(until[bytes.written_.queue], bytes.written_.value);
    }
    for (uint32_t q = 0; q < kMostQueues; ++q) wait({q, until[q]});
    wait_elsewhere(elsewhere);
}

void Port::drain() noexcept {
    if (!async_ || base::process_is_ending()) return;
    for (uint32_t q = 0; q < queues_ + copies_; ++q) {
        uint64_t last = 0;
        {
            const std::lock_guard lock(lanes_[q].mutex);
            last = lanes_[q].next;
        }
        if (last == 0 || lanes_[q].fence == nullptr) continue;
        base::ErrorRoom room;
        static_cast<void>(
            state_.call<&bp_module_api::fence_wait>(room, lanes_[q].fence, last, std::numeric_limits<uint64_t>::max()));
    }
}

Moved Port::moved() const noexcept { return {up_, down_, inside_, runs_, peer_}; }

}  // namespace backplane::plan
