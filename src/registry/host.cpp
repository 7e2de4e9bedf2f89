#include "registry/host.hpp"

#include <algorithm>
#include <cstddef>
#include <new>

namespace backplane::registry {

namespace {

const HostServices& services_of(void* self) { return *static_cast<const HostServices*>(self); }

void log(void* self, uint32_t level, const char* text) {
    if (text != nullptr) services_of(self).say(static_cast<LogLevel>(std::min<uint32_t>(level, BP_LOG_ERROR)), text);
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

}  // namespace

void HostServices::say(LogLevel level, std::string_view text) const noexcept {
    if (!log || level < least) return;
    try {
        log(level, text);
    } catch (...) {
        // The sink's promise is not to throw; a module must not see it broken.
    }
}

bp_host host_table(const HostServices& services) noexcept {
    bp_host table{};
    table.struct_size = BP_SIZE(bp_host, extension);
    table.abi = BP_ABI;
    table.self = const_cast<HostServices*>(&services);
    table.log = log;
    table.option = option;
    table.allocate = allocate;
    table.release = release;
    return table;
}

}  // namespace backplane::registry
