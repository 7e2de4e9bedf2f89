#include "graph/element_types.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "backplane/ops/blocks.hpp"

namespace backplane::graph {

namespace {

static_assert(std::endian::native == std::endian::little, "bytes are read in place");

constexpr size_t kBlock = 32;  // of the types that are encoded to

// A binary float of 16 bits.
struct Format {
    int fraction;  // bits stored
    int least;     // exponent of the smallest normal number
    int most;      // exponent of the largest finite number
    uint16_t infinity;
    uint16_t quiet;  // the bit that makes a NaN quiet
};
// A double: sign, eleven bits of exponent, 52 of fraction.
constexpr int kFraction = 52;
constexpr int kBias = 1023;
constexpr uint64_t kMagnitude = ~uint64_t{0} >> 1;
constexpr uint64_t kInfinity = uint64_t{0x7FF} << kFraction;
constexpr uint64_t kQuiet = uint64_t{0xFFF} << (kFraction - 1);

constexpr Format kF16{10, -14, 15, 0x7C00, 0x0200};
constexpr Format kBf16{7, -126, 127, 0x7F80, 0x0040};

// By whole numbers alone: the functions of <cmath> take ten times as long, which a network of a billion weights shows.
uint16_t narrowed(double value, const Format& f) noexcept {
    const auto bits = std::bit_cast<uint64_t>(value);
    const auto sign = static_cast<uint16_t>(bits >> 48 & 0x8000);
    const uint64_t magnitude = bits & kMagnitude;
    if (magnitude > kInfinity) return sign | f.infinity | f.quiet;
    const int own = static_cast<int>(magnitude >> kFraction) - kBias;
    if (own > f.most) return sign | f.infinity;
    const int exponent = std::max(own, f.least);
    const int dropped = kFraction - f.fraction + exponent - own;  // bits
    if (dropped > kFraction + 1) return sign;                     // less than half of the least; a double's subnormals, too
    const uint64_t digits = (magnitude & ((uint64_t{1} << kFraction) - 1)) | uint64_t{1} << kFraction;
    const uint64_t half = uint64_t{1} << (dropped - 1);
    const auto units = static_cast<uint32_t>((digits + half - 1 + (digits >> dropped & 1)) >> dropped);
    // A carry into the next exponent, or to infinity, comes by itself.
    return static_cast<uint16_t>(sign | ((static_cast<uint32_t>(exponent - f.least) << f.fraction) + units));
}

double widened(uint16_t bits, const Format& f) noexcept {
    const uint64_t sign = uint64_t{bits & 0x8000U} << 48;
    const uint64_t fraction = bits & ((1u << f.fraction) - 1);
    const int exponent = (bits & f.infinity) >> f.fraction;
    if ((bits & f.infinity) == f.infinity) return std::bit_cast<double>(sign | (fraction != 0 ? kQuiet : kInfinity));
    if (exponent == 0) {
        const auto least = std::bit_cast<double>(static_cast<uint64_t>(f.least - f.fraction + kBias) << kFraction);
        return std::copysign(static_cast<double>(fraction) * least, std::bit_cast<double>(sign));
    }
    return std::bit_cast<double>(sign | static_cast<uint64_t>(exponent - 1 + f.least + kBias) << kFraction |
                                 fraction << (kFraction - f.fraction));
}

template <typename T>
T saturated(double value) noexcept {
    if (std::isnan(value)) return 0;
    // 2^digits is the first whole number above the range; the largest int64 itself has no double.
    if (value >= std::ldexp(1.0, std::numeric_limits<T>::digits)) return std::numeric_limits<T>::max();
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    return static_cast<T>(value);
}

// Reads and writes elements of one C++ type through a pair of functions.
template <typename T, typename From, typename To>
struct Plain {
    From from;
    To to;
    std::vector<double> decoded(std::span<const std::byte> bytes) const {
        std::vector<double> values(bytes.size() / sizeof(T));
        for (size_t i = 0; i < values.size(); ++i) {
            T element;
            std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
            values[i] = from(element);
        }
        return values;
    }
    std::vector<std::byte> encoded(std::span<const double> values) const {
        std::vector<std::byte> bytes(values.size() * sizeof(T));
        for (size_t i = 0; i < values.size(); ++i) {
            const T element = to(values[i]);
            std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
        }
        return bytes;
    }
};
template <typename T, typename From, typename To>
Plain<T, From, To> plain(From from, To to) {
    return {from, to};
}

// Calls body(codec) with the codec of a plain type.
template <typename Body>
auto with_plain(DType dtype, Body&& body) {
    auto number = [](auto element) { return static_cast<double>(element); };
    switch (dtype) {
        case DType::f32: return body(plain<float>(number, [](double v) { return static_cast<float>(v); }));
        case DType::f64: return body(plain<double>(number, [](double v) { return v; }));
        case DType::f16: return body(plain<uint16_t>(f16_to_double, f16_from_double));
        case DType::bf16: return body(plain<uint16_t>(bf16_to_double, bf16_from_double));
        case DType::i8: return body(plain<int8_t>(number, saturated<int8_t>));
        case DType::u8: return body(plain<uint8_t>(number, saturated<uint8_t>));
        case DType::i16: return body(plain<int16_t>(number, saturated<int16_t>));
        case DType::u16: return body(plain<uint16_t>(number, saturated<uint16_t>));
        case DType::i32: return body(plain<int32_t>(number, saturated<int32_t>));
        case DType::i64: return body(plain<int64_t>(number, saturated<int64_t>));
        case DType::boolean:
            return body(plain<uint8_t>([](uint8_t b) { return b != 0 ? 1.0 : 0.0; },
                                       [](double v) { return static_cast<uint8_t>(v != 0 ? 1 : 0); }));
        default: throw Error(Code::invalid, std::string("elements of type ") + name_of(dtype) + " have no plain form");
    }
}

// One block, in float as GGUF's own writer does, so that equal numbers give equal bytes.
void encode_block(const double* values, DType dtype, std::byte* block) {
    float most = 0;  // the value of most magnitude, with its sign
    for (size_t j = 0; j < kBlock; ++j) {
        const auto v = static_cast<float>(values[j]);
        if (std::fabs(v) > std::fabs(most)) most = v;
    }
    const float scale = dtype == DType::q8_0 ? std::fabs(most) / 127.0F : most / -8.0F;
    const float inverse = scale != 0 ? 1.0F / scale : 0.0F;
    const uint16_t bits = f16_from_double(scale);
    std::memcpy(block, &bits, sizeof bits);
    auto quantised = [&](size_t j) { return static_cast<float>(values[j]) * inverse; };
    if (dtype == DType::q8_0) {
        for (size_t j = 0; j < kBlock; ++j)
            block[2 + j] = static_cast<std::byte>(saturated<int8_t>(std::round(quantised(j))));
        return;
    }
    for (size_t j = 0; j < kBlock / 2; ++j) {
        const auto low = std::min<uint8_t>(15, saturated<uint8_t>(quantised(j) + 8.5F));
        const auto high = std::min<uint8_t>(15, saturated<uint8_t>(quantised(j + kBlock / 2) + 8.5F));
        block[2 + j] = static_cast<std::byte>(low | high << 4);
    }
}

}  // namespace

double f16_to_double(uint16_t bits) noexcept { return widened(bits, kF16); }
uint16_t f16_from_double(double value) noexcept { return narrowed(value, kF16); }

// Without branches: the compiler makes vectors of it. A network of a billion weights takes a second, not ten.
void f16_from_floats(std::span<const float> values, uint16_t* into) noexcept {
    const float* const from = values.data();
    const size_t n = values.size();
    for (size_t i = 0; i < n; ++i) {
        const auto bits = std::bit_cast<uint32_t>(from[i]);
        const uint32_t magnitude = bits & 0x7FFFFFFF;
        // The exponent's other origin, and half of what is dropped; a carry to infinity comes by itself.
        const uint32_t normal = (magnitude - (112U << 23) + 0xFFF + (magnitude >> 13 & 1)) >> 13;
        // Below the normal numbers the addition rounds: the sum's last bit is the least subnormal.
        const uint32_t least = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000;
        const uint32_t beyond = magnitude > 0x7F800000 ? 0x7E00U : 0x7C00U;
        uint32_t half = magnitude < 0x38800000 ? least : normal;
        half = magnitude >= 0x47800000 ? beyond : half;
        into[i] = static_cast<uint16_t>((bits >> 16 & 0x8000) | half);
    }
}

double bf16_to_double(uint16_t bits) noexcept { return widened(bits, kBf16); }
uint16_t bf16_from_double(double value) noexcept { return narrowed(value, kBf16); }

double round_to(double value, DType dtype) {
    if (is_block(dtype)) return value;
    return with_plain(dtype, [value](const auto& codec) -> double { return codec.from(codec.to(value)); });
}

std::vector<double> decode(std::span<const std::byte> bytes, DType dtype) {
    const int64_t elements = std::max(1, blocks::facts_of(static_cast<uint32_t>(dtype)).elements);
    const uint64_t size = backplane::bytes(dtype, {elements});
    if (bytes.size() % size != 0)
        throw Error(Code::invalid, "cannot decode " + std::to_string(bytes.size()) + " bytes as " + name_of(dtype) +
                                       ": no multiple of " + std::to_string(size));
    if (is_block(dtype)) {
        const auto blocks = static_cast<int64_t>(bytes.size() / size);
        std::vector<double> values(static_cast<size_t>(blocks * elements));
        blocks::decode(static_cast<uint32_t>(dtype), bytes.data(), blocks, static_cast<uint32_t>(size), values.data());
        return values;
    }
    return with_plain(dtype, [bytes](const auto& codec) { return codec.decoded(bytes); });
}

bool has_encoding(DType dtype) noexcept { return !is_block(dtype) || dtype == DType::q8_0 || dtype == DType::q4_0; }

std::vector<std::byte> encode(std::span<const double> values, DType dtype) {
    if (!is_block(dtype)) return with_plain(dtype, [values](const auto& codec) { return codec.encoded(values); });
    if (!has_encoding(dtype))
        throw Error(Code::unsupported,
                    std::string("cannot encode to ") + name_of(dtype) + ": of the block types, to q8_0 and q4_0 only");
    if (values.size() % kBlock != 0)
        throw Error(Code::invalid, "cannot encode " + std::to_string(values.size()) + " values as " + name_of(dtype) +
                                       ": no multiple of 32");
    const uint64_t size = backplane::bytes(dtype, {int64_t{kBlock}});
    std::vector<std::byte> bytes(values.size() / kBlock * size);
    for (size_t b = 0; b < values.size() / kBlock; ++b)
        encode_block(values.data() + b * kBlock, dtype, bytes.data() + b * size);
    return bytes;
}

std::vector<std::byte> random_blocks(DType dtype, size_t elements, double most, const std::function<double()>& next) {
    const blocks::Facts facts = blocks::facts_of(static_cast<uint32_t>(dtype));
    if (facts.elements == 0) throw Error(Code::invalid, std::string(name_of(dtype)) + " is no block type");
    const uint64_t size = backplane::bytes(dtype, {facts.elements});
    const size_t count = elements / static_cast<size_t>(facts.elements);
    std::vector<std::byte> bytes(count * size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(static_cast<int>(next() * 256));
    const double reach = std::min(65504.0, most / facts.largest);
    for (size_t b = 0; b < count; ++b) {
        std::byte* block = bytes.data() + b * size;
        if (b % 7 == 1) std::fill_n(block, size, std::byte{0});
        if (b % 7 == 1) continue;
        if (b % 7 == 2) std::fill_n(block, size, std::byte{255});
        for (const int at : {facts.scale, facts.least}) {
            if (at < 0) continue;
            if (dtype == DType::q8_k) {
                const auto single = static_cast<float>((next() - 0.5) * 2 * reach);
                std::memcpy(block + at, &single, sizeof single);
                continue;
            }
            const uint16_t half = f16_from_double((next() - 0.5) * 2 * reach);
            std::memcpy(block + at, &half, sizeof half);
        }
    }
    return bytes;
}

}  // namespace backplane::graph
