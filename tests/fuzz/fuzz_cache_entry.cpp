// Any bytes as the file of a kernel cache's entry: refused, or exactly what frame() writes. Each input is also tried with a hash that fits,
// which no mutation would find.
#include <algorithm>
#include <cstdint>

#include "cache/entry.hpp"

namespace {

using namespace backplane::cache;

constexpr size_t kHashAt = 48;

void check(Bytes file) {
    std::string why;
    const auto entry = parse(file, why);
    if (!entry) {
        if (why.empty()) __builtin_trap();
        static_cast<void>(scope_in(file));
        return;
    }
    if (frame(entry->scope, entry->key, entry->value) != std::vector<std::byte>(file.begin(), file.end())) __builtin_trap();
    if (scope_in(file) != entry->scope || entry->hash != true_hash(file)) __builtin_trap();
    if (file_name(entry->scope, entry->key).size() != 32 + 7) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const Bytes file = std::as_bytes(std::span(data, size));
    check(file);
    if (size < kHeaderBytes) return 0;
    std::vector<std::byte> sealed(file.begin(), file.end());
    const Hash hash = true_hash(sealed);
    std::copy(hash.begin(), hash.end(), sealed.begin() + kHashAt);
    check(sealed);
    return 0;
}
