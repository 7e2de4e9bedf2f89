// What a GgufFile holds, and the numbers of the format.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backplane/gguf.hpp"

namespace backplane::formats {

// Metadata types.
enum class GgufType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

inline constexpr std::string_view kGgufMagic = "GGUF";
inline constexpr uint32_t kGgufVersion = 3;
inline constexpr uint64_t kGgufAlignment = 32;  // when general.alignment says nothing
inline constexpr uint64_t kGgufMostKeyBytes = 65535;
inline constexpr std::string_view kGgufAlignmentKey = "general.alignment";

constexpr uint64_t align_up(uint64_t n, uint64_t alignment) { return (n + alignment - 1) / alignment * alignment; }

// As its definition calls an element type, "Q4_K"; "" for an unknown number.
const char* gguf_type_name(uint32_t number) noexcept;

struct GgufContents {
    std::vector<std::pair<std::string, GgufValue>> metadata;
    std::vector<GgufTensor> tensors;
    std::map<std::string_view, size_t> keys, tensor_names;  // into the names above
};

// Throws Error(corrupt, unsupported). `file` is for messages.
GgufContents parse_gguf(std::span<const std::byte> bytes, const std::string& file);

}  // namespace backplane::formats
