// Memory of a Port: who holds it, who gives it back and when.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/errors.hpp"
#include "plan/port.hpp"
#include "plan/residency.hpp"

namespace backplane::plan {

namespace {

constexpr size_t kPage = 4096;  // what devices that import host memory ask for

std::shared_ptr<std::byte> whole_pages(uint64_t bytes) {
    const size_t size = (std::max<uint64_t>(bytes, 1) + kPage - 1) / kPage * kPage;
    auto* memory = static_cast<std::byte*>(::operator new (size, std::align_val_t{kPage}));
    return {memory, [](std::byte* p) { ::operator delete (p, std::align_val_t{kPage}); }};
}

std::string listed(const std::vector<Holding>& ledger) {
    constexpr size_t kMost = 4;
    std::string text;
    for (size_t i = 0; i < std::min(ledger.size(), kMost); ++i)
        text += (text.empty() ? "" : ", ") + ledger[i].holder + " " + std::to_string(ledger[i].bytes);
    return text;
}

}  // namespace

bp_buffer* Port::create(uint32_t heap, uint64_t bytes) {
    const std::string what = "cannot create a buffer of " + std::to_string(bytes) + " bytes on " + name();
    state_.expect_there(what);
    base::ErrorRoom room;
    bp_buffer* buffer = nullptr;
    state_.check(state_.call<&bp_module_api::buffer_create>(room, state_.handle, heap, bytes, &buffer), what, room);
    Device::State::expect_handle(buffer, what);
    return buffer;
}

void Port::spoil(Storage& bytes) {
    if (!state_.no_numbers || bytes.bytes == 0) return;
    const std::vector<std::byte> ones(bytes.bytes, std::byte{0xFF});
    upload(ones, bytes, 0, true);
}

Bytes Port::allocate(uint64_t bytes, const std::string& holder) {
    sweep();
    for (;;) {
        const uint64_t budget = budget_;
        try {
            // Taken first: two threads must not pass the budget together.
            const uint64_t before = held_.fetch_add(bytes);
            bp_buffer* buffer = nullptr;
            try {
                if (budget != 0 && (bytes > budget || before > budget - bytes))
                    throw Error(Code::no_device_memory, "cannot create a buffer of " + std::to_string(bytes) + " bytes on " +
                                                            name() + ": " + std::to_string(before) + " of " +
                                                            std::to_string(budget) + " bytes are in use");
                buffer = create(0, bytes);
            } catch (...) {
                held_ -= bytes;
                throw;
            }
            account(holder, bytes, true);
            ++state_.buffers;
            auto storage = std::make_shared<Storage>(shared_from_this(), buffer, bytes, 0, holder);
            spoil(*storage);
            return storage;
        } catch (const Error& error) {
            if (error.code() != Code::no_device_memory) throw;
            if (make_room(bytes)) continue;
            const std::string holders = listed(ledger());
            throw Error(Code::no_device_memory,
                        std::string(error.what()) + (holders.empty() ? "" : "; held by this process: " + holders));
        }
    }
}

bool Port::make_room(uint64_t bytes) {
    const uint64_t before = held_;
    const uint32_t programs = state_.programs;
    drain();  // what was let go is given back when its work is done
    sweep();
    if (held_ < before) return true;
    std::vector<std::pair<uint64_t, std::shared_ptr<Giver>>> givers;  // by when they were used, which may change meanwhile
    {
        const std::lock_guard lock(book_mutex_);
        for (const std::weak_ptr<Giver>& giver : givers_)
            if (auto there = giver.lock()) givers.emplace_back(there->used, std::move(there));
    }
    std::stable_sort(givers.begin(), givers.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const auto given = [&] { return before - std::min<uint64_t>(before, held_); };
    bool gave = residency_->give(bytes);  // images that nobody holds
    drain();
    sweep();
    for (const auto& [used, giver] : givers) {
        if (given() >= bytes) break;
        if (!giver->give(bytes)) continue;
        gave = true;
        drain();
        sweep();
        if (given() < bytes) residency_->give(bytes - given());
        sweep();
    }
    return gave && (given() > 0 || state_.programs < programs);
}

void Port::set_budget(uint64_t bytes) {
    budget_ = bytes;
    while (bytes != 0 && held_ > bytes && make_room(held_ - bytes)) {
    }
}

Bytes Port::allocate_pinned(uint64_t bytes, const std::string& holder) {
    if (pinned_heap_ == 0) {
        auto memory = whole_pages(bytes);
        auto storage = std::make_shared<Storage>(shared_from_this(), nullptr, bytes, kOnHost, holder);
        storage->host = memory.get();
        storage->memory = std::move(memory);
        return storage;
    }
    bp_buffer* buffer = create(pinned_heap_, bytes);
    ++state_.buffers;
    auto storage = std::make_shared<Storage>(shared_from_this(), buffer, bytes, pinned_heap_, holder);
    base::ErrorRoom room;
    void* at = nullptr;
    state_.check(state_.call<&bp_module_api::buffer_map>(room, buffer, uint64_t{0}, bytes, &at),
                 "cannot map pinned memory of " + name(), room);
    storage->host = static_cast<std::byte*>(at);
    return storage;
}

Bytes Port::import(std::span<std::byte> memory) {
    const auto what = [&] { return "cannot import host memory on " + name(); };
    if (state_.lost()) state_.expect_there(what());
    if (!BP_HAS(state_.api, buffer_import))
        throw Error(Code::unsupported, "cannot import host memory: " + name() + " has no such function, copy instead");
    base::ErrorRoom room;
    bp_buffer* buffer = nullptr;
    const bp_code code =
        state_.call<&bp_module_api::buffer_import>(room, state_.handle, memory.data(), memory.size(), &buffer);
    if (code != BP_OK) state_.check(code, what(), room);
    if (buffer == nullptr) Device::State::expect_handle(buffer, what());
    ++state_.buffers;
    auto storage = std::make_shared<Storage>(shared_from_this(), buffer, memory.size(), kOnHost, std::string());
    storage->host = memory.data();
    return storage;
}

Bytes Port::in_place(std::span<const std::byte> memory) {
    if (!imports_ || memory.empty()) return nullptr;
    try {
        return import({const_cast<std::byte*>(memory.data()), memory.size()});
    } catch (const Error& e) {
        if (e.code() != Code::unsupported) throw;
        return nullptr;
    }
}

Bytes Port::allocate_shared(uint64_t bytes, const std::string& holder) {
    static_cast<void>(holder);
    if (!imports_ || bytes == 0) return nullptr;
    auto memory = whole_pages(bytes);
    if (state_.no_numbers) std::memset(memory.get(), 0xFF, bytes);
    Bytes storage = in_place({memory.get(), static_cast<size_t>(bytes)});
    if (storage) storage->memory = std::move(memory);
    return storage;
}

// ---- giving back ----

void Port::let_go(Storage& storage) noexcept {
    if (storage.buffer == nullptr) return;
    if (!storage.has_points_.load(std::memory_order_acquire))
        return give_back(storage.buffer, storage.heap, storage.bytes, storage.holder);
    Let let{storage.buffer,
            storage.bytes,
            storage.heap,
            storage.holder,
            std::move(storage.memory),
            storage.read_,
            std::move(storage.elsewhere_)};
    let.until[storage.written_.queue] = std::max(let.until[storage.written_.queue], storage.written_.value);
    if (past(let)) return give_back(let.buffer, let.heap, let.bytes, let.holder);
    try {
        const std::lock_guard lock(let_mutex_);
        let_.push_back(let);
    } catch (const std::bad_alloc&) {
        drain();
        wait_elsewhere(let.elsewhere);
        give_back(let.buffer, let.heap, let.bytes, let.holder);
    }
}

bool Port::past(const Let& let) noexcept {
    if (!async_ || base::process_is_ending()) return true;
    for (uint32_t q = 0; q < queues_ + copies_; ++q)
        if (let.until[q] != 0 && !reached({q, let.until[q]})) return false;
    return std::all_of(let.elsewhere.begin(), let.elsewhere.end(), [](const Storage::Elsewhere& read) {
        const auto by = read.by.lock();
        return by == nullptr || by->reached(read.point);
    });
}

void Port::give_back(bp_buffer* buffer, uint32_t heap, uint64_t bytes, const std::string& holder) noexcept {
    state_.guarded().close<&bp_module_api::buffer_close>(buffer);
    --state_.buffers;
    if (heap != 0) return;
    held_ -= bytes;
    account(holder, bytes, false);
}

void Port::sweep() noexcept {
    const std::lock_guard lock(let_mutex_);
    const auto first = std::partition(let_.begin(), let_.end(), [&](const Let& let) { return !past(let); });
    std::for_each(first, let_.end(), [&](const Let& let) { give_back(let.buffer, let.heap, let.bytes, let.holder); });
    let_.erase(first, let_.end());
}

// ---- the book ----

void Port::account(const std::string& holder, uint64_t bytes, bool more) {
    const std::lock_guard lock(book_mutex_);
    uint64_t& sum = book_[holder];
    sum = more ? sum + bytes : sum - std::min(sum, bytes);
    if (sum == 0) book_.erase(holder);
}

std::vector<Holding> Port::ledger() const {
    std::vector<Holding> lines;
    {
        const std::lock_guard lock(book_mutex_);
        for (const auto& [holder, bytes] : book_) lines.push_back({holder, bytes});
    }
    std::stable_sort(lines.begin(), lines.end(), [](const Holding& a, const Holding& b) { return a.bytes > b.bytes; });
    return lines;
}

std::shared_ptr<Port::Giver> Port::on_pressure(Give give) {
    auto handle = std::make_shared<Giver>();
    handle->give = std::move(give);
    const std::lock_guard lock(book_mutex_);
    std::erase_if(givers_, [](const std::weak_ptr<Giver>& g) { return g.expired(); });
    givers_.push_back(handle);
    return handle;
}

std::shared_ptr<Port::Pool> Port::workspace() {
    const std::lock_guard lock(book_mutex_);
    if (auto there = pool_.lock()) return there;
    auto made = std::make_shared<Pool>();
    pool_ = made;
    return made;
}

Bytes Port::workspace_of(Pool& pool, uint64_t bytes) {
    if (bytes == 0) return nullptr;
    const std::lock_guard lock(pool.mutex);
    if (!pool.bytes || pool.bytes->bytes < bytes) {
        pool.bytes.reset();  // first give the old one back: both may not fit
        pool.bytes = allocate(bytes, "workspace");
    } else {
        spoil(*pool.bytes);  // who had it before left numbers
    }
    return pool.bytes;
}

}  // namespace backplane::plan
