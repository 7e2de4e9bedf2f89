#include "support/mock_module/mock_device.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <span>

#include "registry/device_state.hpp"
#include "registry/guarded.hpp"
#include "registry/host.hpp"

namespace backplane::mock {

struct Fence {
    Device* device = nullptr;
    int64_t queue = -1;
    uint64_t submitted = 0, reached = 0;
    std::map<uint64_t, bp_code> failed;
};

struct Buffer {
    Device* device = nullptr;
    std::vector<std::byte> own;
    std::span<std::byte> memory;  // its own, or the caller's
    uint32_t heap = 0;
    std::atomic<int> busy{0};
};

struct Program {
    Device* device = nullptr;
    ProgramOptions options;
    Body body;
    std::vector<bp_slot> slots;
};

namespace {

Device* device_of(bp_device* d) { return reinterpret_cast<Device*>(d); }
Buffer* buffer_of(bp_buffer* b) { return reinterpret_cast<Buffer*>(b); }
Fence* fence_of(bp_fence* f) { return reinterpret_cast<Fence*>(f); }
Program* program_of(bp_program* p) { return reinterpret_cast<Program*>(p); }

bool raised(const volatile uint32_t* flag) { return flag != nullptr && __atomic_load_n(flag, __ATOMIC_RELAXED) != 0; }
bool met(const bp_point& point) { return fence_of(point.fence)->reached >= point.value; }
void pace(double microseconds) {
    if (microseconds >= 1) std::this_thread::sleep_for(std::chrono::microseconds(static_cast<int64_t>(microseconds)));
}

template <typename T>
std::vector<T> list(const bp_span& span) {
    std::vector<T> all;
    for (uint32_t i = 0; i < span.count; ++i) all.push_back(*BP_AT(T, &span, i));
    return all;
}

bool inside(const Buffer* buffer, const Device* device, uint64_t offset, uint64_t bytes) {
    return buffer->device == device && offset <= buffer->memory.size() && bytes <= buffer->memory.size() - offset;
}

}  // namespace

Device::Device(Options options_) : options(std::move(options_)), jobs_(options.queues + options.copy_queues) {
    for (uint32_t q = 0; q < jobs_.size(); ++q) workers_.emplace_back([this, q] { work(q); });
}

Device::~Device() {
    {
        const std::lock_guard lock(mutex);
        closing_ = true;
    }
    changed.notify_all();
    for (std::thread& worker : workers_) worker.join();
}

void Device::lose() {
    {
        const std::lock_guard lock(mutex);
        lost = true;
    }
    changed.notify_all();
}

bp_code Device::outcome_of(Job& job, std::unique_lock<std::mutex>& lock) {
    if (lost) return BP_DEVICE_LOST;
    if (raised(job.cancel)) return BP_CANCELLED;
    lock.unlock();
    if (busy_++ > 0) ++overlaps;
    job.work();
    --busy_;
    lock.lock();
    if (lost) return BP_DEVICE_LOST;
    return raised(job.cancel) ? BP_CANCELLED : BP_OK;
}

void Device::work(uint32_t queue) {
    std::unique_lock lock(mutex);
    for (;;) {
        changed.wait(lock, [&] { return closing_ || !jobs_[queue].empty(); });
        if (jobs_[queue].empty()) return;
        Job job = std::move(jobs_[queue].front());
        jobs_[queue].pop_front();
        changed.wait(lock, [&] { return lost || std::all_of(job.wait.begin(), job.wait.end(), met); });
        lock.unlock();
        for (const bp_point& point : job.peers) {
            Device& other = *fence_of(point.fence)->device;
            std::unique_lock there(other.mutex);
            other.changed.wait(there, [&] { return met(point); });
        }
        lock.lock();
        const bp_code code = outcome_of(job, lock);
        for (Buffer* buffer : job.uses) --buffer->busy;
        if (job.signal.fence != nullptr) {
            Fence* fence = fence_of(job.signal.fence);
            fence->reached = job.signal.value;
            if (code != BP_OK) fence->failed[job.signal.value] = code;
        }
        if (job.done != nullptr) *job.code = code, *job.done = true;
        changed.notify_all();
    }
}

bp_code Device::submit(uint32_t queue, Job job) {
    for (const bp_point& point : job.peers) {
        Device* other = fence_of(point.fence)->device;
        const std::lock_guard there(other->mutex);
        const bool as_peers = options.peers && other->options.peers && other != this;
        if (as_peers && point.value <= fence_of(point.fence)->submitted) continue;
        ++violations;
        return BP_INVALID;
    }
    std::unique_lock lock(mutex);
    if (lost) return BP_DEVICE_LOST;
    const auto refuse = [&] {
        ++violations;
        return bp_code{BP_INVALID};
    };
    if (!options.async && (queue != 0 || !job.wait.empty() || job.signal.fence != nullptr)) return refuse();
    for (const bp_point& point : job.wait)
        if (fence_of(point.fence)->device != this || point.value > fence_of(point.fence)->submitted) return refuse();
    if (job.signal.fence != nullptr) {
        Fence* fence = fence_of(job.signal.fence);
        if (fence->device != this || (fence->queue >= 0 && fence->queue != queue) || job.signal.value <= fence->submitted)
            return refuse();
        fence->queue = queue;
        fence->submitted = job.signal.value;
    }
    for (Buffer* buffer : job.uses) ++buffer->busy;
    std::atomic<bool> done{false};
    bp_code code = BP_OK;
    const bool now = job.signal.fence == nullptr;
    if (now) job.done = &done, job.code = &code;
    jobs_[queue].push_back(std::move(job));
    changed.notify_all();
    if (now) changed.wait(lock, [&] { return done.load(); });
    return code;
}

// ---- the table ----

namespace {

bp_code copy(bp_device* handle, const bp_copy* c, bp_error* /*error*/) {
    Device* device = device_of(handle);
    Buffer* from = buffer_of(c->from_buffer);
    Buffer* to = buffer_of(c->to_buffer);
    Device* peer = device_of(c->from_device);
    const bool no_peer =
        peer != nullptr && (peer == device || !device->options.peers || !peer->options.peers || to == nullptr);
    if (no_peer || (from != nullptr && !inside(from, peer != nullptr ? peer : device, c->from_offset, c->bytes)) ||
        (to != nullptr && !inside(to, device, c->to_offset, c->bytes)) ||
        c->queue >= device->options.queues + device->options.copy_queues) {
        ++device->violations;
        return BP_INVALID;
    }
    Job job;
    job.wait = list<bp_point>(c->wait);
    job.peers = list<bp_point>(c->peer_wait);
    job.signal = c->signal;
    if (from != nullptr) job.uses.push_back(from);
    if (to != nullptr) job.uses.push_back(to);
    job.work = [=, k = *c] {
        auto* target = to != nullptr ? to->memory.data() + k.to_offset : static_cast<std::byte*>(k.to_host) + k.to_offset;
        if ((k.flags & BP_COPY_ZERO) != 0) {
            std::memset(target, 0, k.bytes);
            return;
        }
        const auto* source = from != nullptr ? from->memory.data() + k.from_offset
                                             : static_cast<const std::byte*>(k.from_host) + k.from_offset;
        const bool own_source = from != nullptr && from->heap == 0;
        const bool own_target = to != nullptr && to->heap == 0;
        if (own_target && !own_source && peer == nullptr) ++device->copies_up;
        (peer != nullptr            ? device->peer
         : own_source && own_target ? device->inside
         : own_target               ? device->up
                                    : device->down) += k.bytes;
        pace(static_cast<double>(k.bytes) / device->options.bytes_per_us / (own_source && own_target ? 50 : 1));
        std::memmove(target, source, k.bytes);
    };
    return device->submit(c->queue, std::move(job));
}

bp_code run(bp_program* handle, const bp_run* r, bp_error* /*error*/) {
    Program* program = program_of(handle);
    Device* device = program->device;
    Job job;
    job.wait = list<bp_point>(r->wait);
    job.peers = list<bp_point>(r->peer_wait);
    job.signal = r->signal;
    job.cancel = r->cancel;
    Arguments arguments;
    bool right = r->queue < device->options.queues &&
                 (program->options.workspace == 0 ||
                  (r->workspace != nullptr && buffer_of(r->workspace)->memory.size() >= program->options.workspace));
    for (const bp_binding& b : list<bp_binding>(r->bindings)) {
        Buffer* buffer = buffer_of(b.buffer);
        right = right && buffer != nullptr && buffer->heap == 0 && inside(buffer, device, b.offset, b.bytes);
        if (!right) break;
        arguments[b.tensor] = buffer->memory.data() + b.offset;
        job.uses.push_back(buffer);
    }
    for (const bp_slot& slot : program->slots) right = right && arguments.contains(slot.tensor);
    if (!right) {
        ++device->violations;
        return BP_INVALID;
    }
    if (r->workspace != nullptr) job.uses.push_back(buffer_of(r->workspace));
    job.work = [=] {
        pace(static_cast<double>(program->options.microseconds));
        device->inside += program->options.moved;
        program->body(arguments);
        const int most = device->lose_after_runs;
        if (const auto ran = static_cast<int>(++device->runs); most >= 0 && ran > most) device->lose();
    };
    return device->submit(r->queue, std::move(job));
}

bp_code program_info(bp_program* handle, bp_program_info* info, bp_error* /*error*/) {
    const Program* program = program_of(handle);
    info->workspace_bytes = program->options.workspace;
    info->moved_bytes = program->options.moved;
    info->slots = {program->slots.data(), static_cast<uint32_t>(program->slots.size()), sizeof(bp_slot)};
    return BP_OK;
}

bp_code buffer_create(bp_device* handle, uint32_t heap, uint64_t size, bp_buffer** out, bp_error* /*error*/) {
    Device* device = device_of(handle);
    const std::lock_guard lock(device->mutex);
    if (device->lost) return BP_DEVICE_LOST;
    if (heap > 1) return BP_INVALID;
    if (heap == 1 && device->no_pinned) return BP_NO_DEVICE_MEMORY;
    if (heap == 0) {
        const int number = device->allocations++;
        if (device->fail_from >= 0 && number >= device->fail_from && number - device->fail_from < device->failures)
            return BP_NO_DEVICE_MEMORY;
        if (size > device->options.budget - device->used) return BP_NO_DEVICE_MEMORY;
        device->used += size;
        device->peak = std::max(device->peak, device->used);
    }
    auto* buffer = new Buffer;
    buffer->device = device;
    buffer->own.resize(size);
    buffer->memory = buffer->own;
    buffer->heap = heap;
    *out = reinterpret_cast<bp_buffer*>(buffer);
    return BP_OK;
}

bp_code buffer_import(bp_device* handle, void* memory, uint64_t size, bp_buffer** out, bp_error* /*error*/) {
    auto* buffer = new Buffer;
    buffer->device = device_of(handle);
    buffer->memory = {static_cast<std::byte*>(memory), static_cast<size_t>(size)};
    *out = reinterpret_cast<bp_buffer*>(buffer);
    return BP_OK;
}

void buffer_close(bp_buffer* handle) {
    Buffer* buffer = buffer_of(handle);
    if (buffer == nullptr) return;
    Device* device = buffer->device;
    if (buffer->busy != 0) ++device->violations;
    const std::lock_guard lock(device->mutex);
    if (buffer->heap == 0) device->used -= buffer->own.size();
    delete buffer;
}

bp_code fence_wait(bp_fence* handle, uint64_t value, uint64_t timeout_ns, bp_error* /*error*/) {
    Fence* fence = fence_of(handle);
    Device* device = fence->device;
    std::unique_lock lock(device->mutex);
    if (value > fence->submitted) {
        ++device->violations;
        return BP_INVALID;
    }
    const auto reached = [&] { return fence->reached >= value; };
    if (timeout_ns == std::numeric_limits<uint64_t>::max()) {
        device->changed.wait(lock, reached);
    } else if (!device->changed.wait_for(lock, std::chrono::nanoseconds(timeout_ns), reached)) {
        return BP_TIMEOUT;
    }
    const auto failed = fence->failed.find(value);
    return failed == fence->failed.end() ? bp_code{BP_OK} : failed->second;
}

bp_module_api make_table(bool async) {
    bp_module_api table{};
    table.struct_size = BP_SIZE(bp_module_api, fence_close);
    table.abi = BP_ABI;
    table.device_close = [](bp_device*) {};  // whoever made it destroys it
    table.program_info = program_info;
    table.program_close = [](bp_program* p) { delete program_of(p); };
    table.buffer_create = buffer_create;
    table.buffer_close = buffer_close;
    table.buffer_map = [](bp_buffer* b, uint64_t offset, uint64_t, void** out, bp_error*) -> bp_code {
        if (buffer_of(b)->heap != 1) return BP_UNSUPPORTED;
        *out = buffer_of(b)->memory.data() + offset;
        return BP_OK;
    };
    table.buffer_unmap = [](bp_buffer*, bp_error*) -> bp_code { return BP_OK; };
    table.buffer_import = buffer_import;
    table.heaps = [](bp_device* d, const bp_array* heaps, uint32_t* count, bp_error*) -> bp_code {
        *count = 2;
        const uint32_t own = device_of(d)->options.unified ? uint32_t{BP_MEM_UNIFIED} : 0U;
        for (uint32_t i = 0; i < std::min(heaps->count, 2U); ++i)
            BP_AT_OUT(bp_heap, heaps, i)->flags = i == 0 ? own : uint32_t{BP_MEM_PINNED};
        return BP_OK;
    };
    table.copy = copy;
    table.run = run;
    if (!async) return table;
    table.fence_create = [](bp_device* d, bp_fence** out, bp_error*) -> bp_code {
        auto* fence = new Fence;
        fence->device = device_of(d);
        *out = reinterpret_cast<bp_fence*>(fence);
        return BP_OK;
    };
    table.fence_read = [](bp_fence* f, uint64_t* value, bp_error*) -> bp_code {
        const std::lock_guard lock(fence_of(f)->device->mutex);
        *value = fence_of(f)->reached;
        return BP_OK;
    };
    table.fence_wait = fence_wait;
    table.fence_close = [](bp_fence* f) { delete fence_of(f); };
    return table;
}

// The table, and what guards its calls, live as long as the device's handle.
struct Held : backplane::Device::State {
    explicit Held(bool async) : table(make_table(async)) {}
    bp_module_api table;
    registry::Guarded guarded_table{"mock", table, std::make_shared<registry::HostServices>()};
};

}  // namespace

backplane::Device Device::handle() {
    auto state = std::shared_ptr<Held>(new Held(options.async), [](Held* held) {
        held->handle = nullptr;  // the device is not the host's to close
        delete held;
    });
    state->info.id = options.name;
    if (options.async) state->info.capabilities = state->info.capabilities | Capability::async;
    if (options.peers) state->info.capabilities = state->info.capabilities | Capability::peer;
    if (options.unified) state->info.capabilities = state->info.capabilities | Capability::import_host;
    state->info.queues = options.queues;
    state->info.copy_queues = options.copy_queues;
    state->api = &state->table;
    state->in_its_place = &state->guarded_table;
    state->handle = reinterpret_cast<bp_device*>(this);
    return DeviceAccess::handle(state);
}

bp_program* program(Device& device, ProgramOptions options, Body body) {
    auto* made = new Program;
    made->device = &device;
    for (const uint32_t tensor : options.tensors) {
        bp_slot slot{};
        slot.struct_size = BP_SIZE(bp_slot, last_use);
        slot.tensor = tensor;
        const auto bytes = options.bytes.find(tensor);
        if (bytes != options.bytes.end()) slot.bytes = bytes->second;
        made->slots.push_back(slot);
    }
    made->options = std::move(options);
    made->body = std::move(body);
    return reinterpret_cast<bp_program*>(made);
}

}  // namespace backplane::mock
