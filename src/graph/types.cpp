// Element types and shapes: names, sizes, text.
#include <array>

#include "graph/graph_access.hpp"

namespace backplane {

namespace {

struct Info {
    const char* name;
    uint64_t block;  // elements
    uint64_t bytes;  // of a block
};

constexpr std::array<Info, 25> kInfos{
    {{"unknown", 1, 0},  {"f32", 1, 4},      {"f16", 1, 2},      {"bf16", 1, 2},       {"f64", 1, 8},
     {"i8", 1, 1},       {"u8", 1, 1},       {"i16", 1, 2},      {"u16", 1, 2},        {"i32", 1, 4},
     {"i64", 1, 8},      {"bool", 1, 1},     {"q8_0", 32, 34},   {"q4_0", 32, 18},     {"q4_1", 32, 20},
     {"q5_0", 32, 22},   {"q5_1", 32, 24},   {"q2_k", 256, 84},  {"q3_k", 256, 110},   {"q4_k", 256, 144},
     {"q5_k", 256, 176}, {"q6_k", 256, 210}, {"iq4_nl", 32, 18}, {"iq4_xs", 256, 136}, {"q8_k", 256, 292}}};

constexpr int64_t kMostElements = int64_t{1} << 62;

const Info& info_of(DType dtype) noexcept {
    const auto i = static_cast<uint32_t>(dtype);
    return kInfos[i < kInfos.size() ? i : 0];
}

}  // namespace

const char* name_of(DType dtype) noexcept { return info_of(dtype).name; }

DType dtype_from_name(std::string_view name) noexcept {
    for (uint32_t i = 1; i < kInfos.size(); ++i)
        if (name == kInfos[i].name) return static_cast<DType>(i);
    return DType::unknown;
}

bool is_float(DType dtype) noexcept {
    return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f64;
}

bool is_block(DType dtype) noexcept { return info_of(dtype).block > 1; }

int64_t elements(const Shape& shape) {
    // Extents of 0 are left out until the end, so that [2^62, 2^62, 0] is refused too: its strides would overflow.
    int64_t n = 1;
    bool empty = false;
    for (const int64_t extent : shape) {
        if (extent < 0) throw Error(Code::invalid, "shape " + to_string(shape) + " has a negative extent");
        if (extent == 0) {
            empty = true;
        } else if (__builtin_mul_overflow(n, extent, &n) || n > kMostElements) {
            throw Error(Code::invalid, "shape " + to_string(shape) + " has more than 2^62 elements");
        }
    }
    return empty ? 0 : n;
}

uint64_t bytes(DType dtype, const Shape& shape) {
    const Info& info = info_of(dtype);
    if (info.bytes == 0) throw Error(Code::invalid, "a tensor " + to_string(shape) + " of unknown element type has no size");
    const auto n = static_cast<uint64_t>(elements(shape));
    if (info.block > 1 && (shape.empty() || static_cast<uint64_t>(shape.back()) % info.block != 0))
        throw Error(Code::invalid, std::string(info.name) + " " + to_string(shape) +
                                       ": the last axis must be a multiple of " + std::to_string(info.block));
    uint64_t size = 0;
    if (__builtin_mul_overflow(n / info.block, info.bytes, &size) || size > uint64_t{1} << 62)
        throw Error(Code::invalid, std::string(info.name) + " " + to_string(shape) + " has more than 2^62 bytes");
    return size;
}

std::string to_string(const Shape& shape) {
    std::string text = "[";
    for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
    return text + "]";
}

void graph::check_tensor(DType dtype, const Shape& shape) {
    if (shape.size() > BP_MAX_RANK)
        throw Error(Code::invalid, "rank " + std::to_string(shape.size()) + " is over " + std::to_string(BP_MAX_RANK));
    static_cast<void>(bytes(dtype, shape));
}

}  // namespace backplane
