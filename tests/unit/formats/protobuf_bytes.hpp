// The wire format of protocol buffers, written: https://protobuf.dev/programming-guides/encoding.
#pragma once

#include <cstdint>
#include <string>

namespace backplane {

inline std::string varint(uint64_t value) {
    std::string text;
    for (; value >= 128; value >>= 7) text += static_cast<char>(value | 128);
    return text + static_cast<char>(value);
}
inline std::string field(uint64_t number, uint64_t value) { return varint(number << 3) + varint(value); }
inline std::string field(uint64_t number, const std::string& value) {
    return varint(number << 3 | 2) + varint(value.size()) + value;
}

}  // namespace backplane
