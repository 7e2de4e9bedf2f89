// JPEGs that libjpeg wrote for these tests, in kept.jpegs, for systems where tests have no libjpeg: of each, a number made of what was asked
// for, its size, its bytes.
#pragma once

#include <cstdint>
#include <map>

#include "image_files.hpp"
#include "made_jpeg.hpp"

namespace backplane::test {

using KeptJpegs = std::map<uint64_t, Bytes>;

inline constexpr std::size_t kMostKept = 20000;  // larger ones are for tests of single rows, which not every reader gives

inline uint64_t key_of(const JpegKind& kind, const Bytes& pixels) {
    uint64_t key = 14695981039346656037U;
    const auto mix = [&](uint64_t value) { key = (key ^ value) * 1099511628211U; };
    for (const int64_t field :
         {int64_t{kind.width}, int64_t{kind.height}, static_cast<int64_t>(kind.colour), int64_t{kind.progressive},
          int64_t{kind.scan_a_channel}, int64_t{kind.restart_rows}, int64_t{kind.quality}})
        mix(static_cast<uint64_t>(field));
    for (const uint8_t byte : pixels) mix(byte);
    return key;
}

inline uint64_t taken(const Bytes& from, std::size_t& at, int size) {
    uint64_t value = 0;
    for (int i = 0; i < size; ++i) value |= uint64_t{from.at(at++)} << (8 * i);
    return value;
}

inline KeptJpegs read_kept_jpegs() {
    const Bytes all = bytes_of(BP_TEST_SOURCE_DIR "/tests/unit/image/kept.jpegs");
    KeptJpegs kept;
    for (std::size_t at = 0; at < all.size();) {
        const uint64_t key = taken(all, at, 8);
        const auto size = static_cast<std::ptrdiff_t>(taken(all, at, 4));
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at);
        kept[key] = Bytes(begin, begin + size);
        at += static_cast<std::size_t>(size);
    }
    return kept;
}

inline void write_kept_jpegs(const KeptJpegs& kept) {
    std::ofstream out(BP_TEST_SOURCE_DIR "/tests/unit/image/kept.jpegs", std::ios::binary);
    const auto put = [&](uint64_t value, int size) {
        for (int i = 0; i < size; ++i) out.put(static_cast<char>(value >> (8 * i)));
    };
    for (const auto& [key, file] : kept) {
        put(key, 8);
        put(file.size(), 4);
        out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
    }
}

}  // namespace backplane::test
