#include "cache/entry.hpp"

#include <algorithm>
#include <cstring>

namespace backplane::cache {

namespace {

// Integers are little-endian, written by value.
constexpr std::string_view kMagic = "BPKERNEL";
constexpr uint32_t kFormat = 1;
constexpr size_t kFormatAt = 8, kReservedAt = 12, kScopeAt = 16, kKeyAt = 24, kValueAt = 32, kPaddingAt = 40, kHashAt = 48;

void store(std::byte* at, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) at[i] = static_cast<std::byte>(value >> (8 * i));
}

uint64_t load(const std::byte* at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value |= std::to_integer<uint64_t>(at[i]) << (8 * i);
    return value;
}

Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

Hash stated_hash(Bytes file) noexcept {
    Hash hash{};
    if (file.size() >= kHeaderBytes) std::copy_n(file.begin() + kHashAt, hash.size(), hash.begin());
    return hash;
}

Hash true_hash(Bytes file) noexcept {
    base::Hasher hasher;
    hasher.add(file.first(std::min(file.size(), kHashAt)));
    if (file.size() > kHeaderBytes) hasher.add(file.subspan(kHeaderBytes));
    return hasher.result();
}

std::vector<std::byte> frame(std::string_view scope, Bytes key, Bytes value) {
    std::vector<std::byte> file(kHeaderBytes);
    file.reserve(kHeaderBytes + scope.size() + key.size() + value.size());
    const Bytes magic = bytes_of(kMagic);
    std::copy(magic.begin(), magic.end(), file.begin());
    store(file.data() + kFormatAt, kFormat, 4);
    store(file.data() + kScopeAt, scope.size(), 8);
    store(file.data() + kKeyAt, key.size(), 8);
    store(file.data() + kValueAt, value.size(), 8);
    for (const Bytes part : {bytes_of(scope), key, value}) file.insert(file.end(), part.begin(), part.end());
    const Hash hash = true_hash(file);
    std::copy(hash.begin(), hash.end(), file.begin() + kHashAt);
    return file;
}

std::optional<Entry> parse(Bytes file, std::string& why) {
    const auto wrong = [&](std::string what) {
        why = std::move(what);
        return std::nullopt;
    };
    if (file.size() < kHeaderBytes) return wrong("cut off: " + std::to_string(file.size()) + " bytes");
    const Bytes magic = bytes_of(kMagic);
    if (!std::equal(magic.begin(), magic.end(), file.begin())) return wrong("not an entry");
    if (const uint64_t format = load(file.data() + kFormatAt, 4); format != kFormat)
        return wrong("of format " + std::to_string(format) + ", this is format " + std::to_string(kFormat));
    if (load(file.data() + kReservedAt, 4) != 0 || load(file.data() + kPaddingAt, 8) != 0) return wrong("damaged header");
    const uint64_t scope = load(file.data() + kScopeAt, 8), key = load(file.data() + kKeyAt, 8),
                   value = load(file.data() + kValueAt, 8);
    // One by one: the sum of what a damaged header states may overflow.
    uint64_t left = file.size() - kHeaderBytes;
    for (const uint64_t part : {scope, key, value}) {
        if (part > left) return wrong("cut off: the header states more than the " + std::to_string(file.size()) + " bytes");
        left -= part;
    }
    if (left != 0) return wrong(std::to_string(left) + " bytes after the end");
    Entry entry;
    entry.hash = stated_hash(file);
    if (true_hash(file) != entry.hash) return wrong("damaged: the hash does not fit");
    const Bytes parts = file.subspan(kHeaderBytes);
    entry.scope = {reinterpret_cast<const char*>(parts.data()), static_cast<size_t>(scope)};
    entry.key = parts.subspan(scope, key);
    entry.value = parts.subspan(scope + key);
    return entry;
}

std::string scope_in(Bytes start) {
    const Bytes magic = bytes_of(kMagic);
    if (start.size() < kHeaderBytes || !std::equal(magic.begin(), magic.end(), start.begin())) return {};
    const uint64_t size = std::min<uint64_t>(load(start.data() + kScopeAt, 8), start.size() - kHeaderBytes);
    return {reinterpret_cast<const char*>(start.data()) + kHeaderBytes, static_cast<size_t>(size)};
}

std::string file_name(std::string_view scope, Bytes key) {
    std::array<std::byte, 8> length{};
    store(length.data(), scope.size(), length.size());  // so that "ab","c" and "a","bc" differ
    base::Hasher hasher;
    hasher.add(length);
    hasher.add(bytes_of(scope));
    hasher.add(key);
    return base::hexadecimal(hasher.result()) + ".kernel";
}

}  // namespace backplane::cache
