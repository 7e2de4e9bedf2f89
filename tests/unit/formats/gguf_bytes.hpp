// GGUF files written by hand, so that they can say anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace backplane {

class GgufBytes {
public:
    template <typename Number>
    GgufBytes& number(Number value) {
        text_.append(reinterpret_cast<const char*>(&value), sizeof value);
        return *this;
    }
    GgufBytes& u32(uint32_t value) { return number(value); }
    GgufBytes& u64(uint64_t value) { return number(value); }
    GgufBytes& raw(std::string_view value) {
        text_ += value;
        return *this;
    }
    GgufBytes& text(std::string_view value) { return u64(value.size()).raw(value); }
    GgufBytes& header(uint64_t tensors, uint64_t keys, uint32_t version = 3) {
        return raw("GGUF").u32(version).u64(tensors).u64(keys);
    }
    GgufBytes& key(std::string_view name, uint32_t type) { return text(name).u32(type); }
    GgufBytes& tensor(std::string_view name, std::initializer_list<uint64_t> innermost_first, uint32_t type,
                      uint64_t offset) {
        text(name).u32(static_cast<uint32_t>(innermost_first.size()));
        for (const uint64_t extent : innermost_first) u64(extent);
        return u32(type).u64(offset);
    }
    GgufBytes& pad(size_t alignment = 32) {
        while (text_.size() % alignment != 0) text_ += '\0';
        return *this;
    }
    GgufBytes& data(size_t count) {
        for (size_t i = 0; i < count; ++i) text_ += static_cast<char>(i);
        return *this;
    }
    operator std::string() const { return text_; }

private:
    std::string text_;
};

}  // namespace backplane
