// Cast: every pair of plain types, and decoding of the block types to floats.
//
// Pairs are converted through one of three middles that holds both sides exactly where it matters: float32 for the half types and
// blocks, double for floats, int64 for integers. Rounding to half types happens once: doubles are first rounded to odd.
#include "ops/cast.hpp"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "common/saturated.hpp"
#include "ops/strided_copy.hpp"
#include "ops/table.hpp"
#include "weights.hpp"

namespace backplane::cpu::ops::cast {

namespace {

struct Bool {
    uint8_t value;
};

template <typename To, typename From>
To convert(From v) {
    if constexpr (std::is_same_v<From, Bool>) {
        return convert<To>(static_cast<uint8_t>(v.value != 0));
    } else if constexpr (std::is_same_v<To, Bool>) {
        return {static_cast<uint8_t>(v != From{0})};
    } else if constexpr (std::is_floating_point_v<To>) {
        return static_cast<To>(v);
    } else if constexpr (std::is_floating_point_v<From>) {
        return backend::saturated<To>(static_cast<double>(v));
    } else {
        return static_cast<To>(v);
    }
}

using Converter = void (*)(const void* from, void* into, int64_t n);

template <typename From, typename To>
void convert_all(const void* from, void* into, int64_t n) {
    const From* x = static_cast<const From*>(from);
    To* y = static_cast<To*>(into);
    for (int64_t i = 0; i < n; ++i) y[i] = convert<To>(x[i]);
}

template <typename From>
Converter converter_from(uint32_t to) {
    switch (to) {
        case BP_F32: return convert_all<From, float>;
        case BP_F64: return convert_all<From, double>;
        case BP_I8: return convert_all<From, int8_t>;
        case BP_U8: return convert_all<From, uint8_t>;
        case BP_I16: return convert_all<From, int16_t>;
        case BP_U16: return convert_all<From, uint16_t>;
        case BP_I32: return convert_all<From, int32_t>;
        case BP_I64: return convert_all<From, int64_t>;
        case BP_BOOL: return convert_all<From, Bool>;
        default: return nullptr;
    }
}

// Between types that C++ has.
Converter converter(uint32_t from, uint32_t to) {
    switch (from) {
        case BP_F32: return converter_from<float>(to);
        case BP_F64: return converter_from<double>(to);
        case BP_I8: return converter_from<int8_t>(to);
        case BP_U8: return converter_from<uint8_t>(to);
        case BP_I16: return converter_from<int16_t>(to);
        case BP_U16: return converter_from<uint16_t>(to);
        case BP_I32: return converter_from<int32_t>(to);
        case BP_I64: return converter_from<int64_t>(to);
        case BP_BOOL: return converter_from<Bool>(to);
        default: return nullptr;
    }
}

// To float32 so that a second rounding, to a shorter type, gives what one would have: the last bit says "something was cut".
void round_to_odd(const double* in, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        const auto rounded = static_cast<float>(in[i]);
        uint32_t bits = 0;
        std::memcpy(&bits, &rounded, sizeof bits);
        const double back = rounded;
        if (std::fabs(back) > std::fabs(in[i])) --bits;
        if (back != in[i] && in[i] == in[i]) bits |= 1;
        std::memcpy(out + i, &bits, sizeof bits);
    }
}

// Elements converted at a time where a middle is needed: its buffers stay in the first-level cache.
constexpr int64_t kPiece = 512;

struct CastTask {
    uint32_t from = 0, to = 0;
    ConvertKernels kernels{};

    void to_float(const std::byte* x, float* y, int64_t n) const {
        if (from == BP_F16) {
            kernels.f16_to_f32(reinterpret_cast<const uint16_t*>(x), y, n);
        } else if (from == BP_BF16) {
            kernels.bf16_to_f32(reinterpret_cast<const uint16_t*>(x), y, n);
        } else {
            decode(x, from, n, y);
        }
    }
    void to_half(const float* x, std::byte* y, int64_t n) const {
        (to == BP_F16 ? kernels.f32_to_f16 : kernels.f32_to_bf16)(x, reinterpret_cast<uint16_t*>(y), n);
    }
    // At most kPiece elements; of a block type, whole blocks.
    void piece(const std::byte* x, std::byte* y, int64_t n) const {
        float middle[kPiece];
        if (is_half(from) || is_block(from)) {
            float* single = to == BP_F32 ? reinterpret_cast<float*>(y) : middle;
            to_float(x, single, n);
            if (to == BP_F32) return;
            if (is_half(to)) return to_half(middle, y, n);
            return converter(BP_F32, to)(middle, y, n);
        }
        if (from == BP_F32) return to_half(reinterpret_cast<const float*>(x), y, n);
        double wide[kPiece];
        converter(from, BP_F64)(x, wide, n);
        round_to_odd(wide, middle, n);
        to_half(middle, y, n);
    }
    void all(const std::byte* x, std::byte* y, int64_t n) const {
        const auto in = sdk::dtype_info(from);
        const auto out = sdk::dtype_info(to);
        if (from == to) {
            std::memcpy(y, x, static_cast<size_t>(n / in.block * in.bytes));
        } else if (const Converter direct = converter(from, to); direct != nullptr) {
            direct(x, y, n);
        } else {
            for (int64_t i = 0; i < n; i += kPiece)
                piece(x + i / in.block * in.bytes, y + i * out.bytes, std::min(kPiece, n - i));
        }
    }
};

void lower(Lowering& to, const Node& node) { add_cast(to, "Cast", node.inputs[0], node.output); }

constexpr OpLowering table[] = {{BP_OP_cast, Types::moves, Wants::row_major, 0, nullptr, lower}};

}  // namespace

const OpFamily ops_cast = {table, std::size(table)};

void add_cast(Lowering& to, const std::string& label, ValueId from, ValueId into) {
    const CastTask task{to[from].dtype, to[into].dtype, to.kernels.convert};
    const int64_t n = to[into].elements();
    if (n == 0) return;
    const auto in = sdk::dtype_info(task.from);
    const auto out = sdk::dtype_info(task.to);
    // Ranges in units of the longest block.
    constexpr int64_t kUnit = 256;
    const int64_t units = (n + kUnit - 1) / kUnit;
    to.step(std::string(label).append(" ").append(to[from].text()).append(" to ").append(out.name), {from}, {into},
            [=](const Run& run) {
                const auto* x = run.at<std::byte>(from);
                auto* y = run.at<std::byte>(into);
                run.ranges(units, kGrainBytes / kUnit / std::max(in.bytes, out.bytes) + 1, [&](int64_t begin, int64_t end) {
                    const int64_t first = begin * kUnit;
                    task.all(x + first / in.block * in.bytes, y + first * out.bytes, std::min(n, end * kUnit) - first);
                });
            });
}

}  // namespace backplane::cpu::ops::cast
