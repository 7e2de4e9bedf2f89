// The file of one entry, as docs/kernel-cache.md has it: header, scope, key, value. Pure functions over bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"

namespace backplane::cache {

using Bytes = std::span<const std::byte>;
using base::Hash;

inline constexpr size_t kHeaderBytes = 64;

struct Entry {
    std::string_view scope;  // whose it is: the module's backend, version and build
    Bytes key, value;
    Hash hash{};  // of everything else in the file
};

// The whole file.
std::vector<std::byte> frame(std::string_view scope, Bytes key, Bytes value);

// The parts of a file, which point into `file`. Nothing unless every byte of it is as frame() wrote it; `why` then says what is wrong.
std::optional<Entry> parse(Bytes file, std::string& why);

// The scope alone, of the first bytes of a file, unverified: for lists. Empty when these bytes cannot be an entry's.
std::string scope_in(Bytes start);

// What the header states as the hash; zeros when the file is too short for a header.
Hash stated_hash(Bytes file) noexcept;
// What it would have to state.
Hash true_hash(Bytes file) noexcept;

// The name of the file of an entry: a hash of scope and key.
std::string file_name(std::string_view scope, Bytes key);

}  // namespace backplane::cache
