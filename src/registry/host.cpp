#include "registry/host.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

namespace backplane::registry {

namespace {

const Host& host_of(void* self) { return *static_cast<const Host*>(self); }
const HostServices& services_of(void* self) { return host_of(self).services(); }

void log(void* self, uint32_t level, const char* text) {
    if (text != nullptr) services_of(self).say(static_cast<LogLevel>(std::min<uint32_t>(level, BP_LOG_ERROR)), text);
}

void parallel(void* self, uint32_t n, void (*body)(void*, uint32_t), void* arg) {
    services_of(self).run_parallel(n, body, arg);
}

const char* option(void* self, const char* name) {
    if (name == nullptr) return nullptr;
    const auto& options = services_of(self).options;
    const auto found = options.find(name);
    return found == options.end() ? nullptr : found->second.c_str();
}

// The size and alignment stand before the memory, so that release() needs neither.
struct Block {
    void* start;
    size_t alignment;
};

void* allocate(void*, size_t size, size_t alignment) {
    const size_t align = std::max(alignment, alignof(std::max_align_t));
    if ((align & (align - 1)) != 0 || align > (size_t{1} << 30)) return nullptr;
    const size_t room = (sizeof(Block) + align - 1) / align * align;
    if (size > SIZE_MAX - room) return nullptr;
    void* start = ::operator new (size + room, std::align_val_t{align}, std::nothrow);
    if (start == nullptr) return nullptr;
    char* memory = static_cast<char*>(start) + room;
    new (memory - sizeof(Block)) Block{start, align};
    return memory;
}

void release(void*, void* memory) {
    if (memory == nullptr) return;
    const Block block = *reinterpret_cast<const Block*>(static_cast<char*>(memory) - sizeof(Block));
    ::operator delete (block.start, std::align_val_t{block.alignment});
}

// ---- kernel cache: absent from the table when there is none, so `cache` is there ----------------------------------------------

bool is_blob(bp_blob blob) { return blob.data != nullptr || blob.size == 0; }

// A key is read whole before anything else is known of it: one of more bytes than any module has sources is a slip of the module.
constexpr size_t kLongestKey = size_t{16} << 20;
bool is_key(bp_blob blob) { return is_blob(blob) && blob.size <= kLongestKey; }
cache::Bytes bytes_of(bp_blob blob) { return {static_cast<const std::byte*>(blob.data), blob.size}; }

bp_code cache_get(void* self, bp_blob key, bp_blob* value, void** lease) {
    if (value == nullptr || lease == nullptr || !is_key(key)) return BP_INVALID;
    *value = {};
    *lease = nullptr;
    auto found = services_of(self).cache->get(host_of(self).build(), bytes_of(key));
    if (!found) return BP_NOT_FOUND;
    *value = {found->value().data(), found->value().size()};
    *lease = const_cast<cache::Lease*>(found.release());
    return BP_OK;
}

void cache_done(void*, void* lease) {
    const std::unique_ptr<const cache::Lease> ended(static_cast<const cache::Lease*>(lease));
}

void cache_put(void* self, bp_blob key, bp_blob value) {
    if (is_key(key) && is_blob(value)) services_of(self).cache->put(host_of(self).build(), bytes_of(key), bytes_of(value));
}

void cache_reject(void* self, bp_blob key) {
    if (is_key(key)) services_of(self).cache->reject(host_of(self).build(), bytes_of(key));
}

}  // namespace

void HostServices::say(LogLevel level, std::string_view text) const noexcept {
    if (!log || level < least) return;
    try {
        log(level, text);
    } catch (...) {
        // The sink's promise is not to throw; a module must not see it broken.
    }
}

namespace {

// Pieces of one call. The application's function may call them late, when the call is over: what they touch then is this alone.
struct Pieces {
    Pieces(uint32_t count_, void (*body_)(void*, uint32_t), void* arg_) : count(count_), body(body_), arg(arg_) {}
    const uint32_t count;
    void (*const body)(void*, uint32_t);
    void* const arg;
    std::atomic<uint32_t> next{0}, done{0};

    // The next piece that nobody has begun; false: there is none.
    bool take() {
        uint32_t i = next.load(std::memory_order_relaxed);
        do
            if (i >= count) return false;
        while (!next.compare_exchange_weak(i, i + 1, std::memory_order_relaxed));
        body(arg, i);
        if (done.fetch_add(1, std::memory_order_release) + 1 == count) done.notify_all();
        return true;
    }
};

}  // namespace

void HostServices::run_parallel(uint32_t n, void (*body)(void*, uint32_t), void* arg) const noexcept {
    if (n == 0 || body == nullptr) return;
    std::shared_ptr<Pieces> pieces;
    try {
        pieces = std::make_shared<Pieces>(n, body, arg);
        parallel(n, [pieces](uint32_t) { pieces->take(); });
    } catch (...) {
        // An application out of threads or memory: the calling thread does what is left.
    }
    if (!pieces) {
        for (uint32_t i = 0; i < n; ++i) body(arg, i);
        return;
    }
    while (pieces->take()) {
    }
    for (uint32_t done = pieces->done.load(std::memory_order_acquire); done != n;
         done = pieces->done.load(std::memory_order_acquire))
        pieces->done.wait(done, std::memory_order_acquire);
}

std::shared_ptr<cache::KernelCache> open_cache(const ContextOptions& options, const HostServices& services) {
    cache::Settings settings = cache::settings_for(options);
    if (settings.folder.empty()) {
        if (!settings.problem.empty()) services.say(LogLevel::warning, settings.problem);
        return nullptr;
    }
    return std::make_shared<cache::KernelCache>(
        std::move(settings), [&services](LogLevel level, std::string_view text) { services.say(level, text); });
}

Host::Host(std::shared_ptr<const HostServices> services, std::string build)
    : services_(std::move(services)), build_(std::move(build)) {
    table_.struct_size = BP_SIZE(bp_host, extension);
    table_.abi = BP_ABI;
    table_.self = this;
    table_.log = log;
    table_.option = option;
    table_.allocate = allocate;
    table_.release = release;
    if (services_->parallel) table_.parallel = parallel;
    if (services_->cache) {
        table_.cache_get = cache_get;
        table_.cache_done = cache_done;
        table_.cache_put = cache_put;
        table_.cache_reject = cache_reject;
    }
    given_ = std::make_unique<bp_host>(table_);
}

bool Host::put_back_if_changed() const noexcept {
    static_assert(std::has_unique_object_representations_v<bp_host>);
    if (std::memcmp(given_.get(), &table_, sizeof table_) == 0) return false;
    std::memcpy(given_.get(), &table_, sizeof table_);
    return true;
}

}  // namespace backplane::registry
