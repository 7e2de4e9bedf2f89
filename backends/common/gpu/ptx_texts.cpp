#include "common/gpu/ptx_texts.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace backplane::gpu {

namespace {

// Is what the instance has fixed, "0=384,3=64", among these constants?
bool fits(std::string_view instance, std::span<const uint32_t> constants) {
    while (!instance.empty()) {
        const size_t end = std::min(instance.find(','), instance.size()), equals = instance.find('=');
        size_t number = constants.size();
        uint32_t value = 0;
        std::from_chars(instance.data(), instance.data() + equals, number);
        std::from_chars(instance.data() + equals + 1, instance.data() + end, value);
        if (number >= constants.size() || constants[number] != value) return false;
        instance.remove_prefix(std::min(end + 1, instance.size()));
    }
    return true;
}

// The half of a whole number of less than 2048.
uint16_t half_of(int value) {
    constexpr uint32_t kSign = 0x8000, kOne = 1 << 10;
    if (value == 0) return 0;
    uint32_t mantissa = static_cast<uint32_t>(value < 0 ? -value : value), exponent = 25;
    for (; mantissa < kOne; mantissa *= 2) --exponent;
    return static_cast<uint16_t>((value < 0 ? kSign : 0) | exponent << 10 | (mantissa & (kOne - 1)));
}

int left(uint32_t row, uint32_t k) { return static_cast<int>((row * 7 + k * 3) % 5) - 2; }
int right_of(uint32_t k, uint32_t column) { return static_cast<int>((column * 3 + k * k) % 5) - 2; }

}  // namespace

std::string with_constants(std::string ptx, std::span<const uint32_t> constants) {
    constexpr std::string_view kMark = "0xBACC00";
    for (size_t at = ptx.find(kMark); at != std::string::npos; at = ptx.find(kMark, at)) {
        const size_t first = at + kMark.size();
        const size_t end = std::min(ptx.find_first_not_of("0123456789", first), ptx.size());
        size_t number = constants.size();
        std::from_chars(ptx.data() + first, ptx.data() + end, number);
        ptx.replace(at, end - at, std::to_string(number < constants.size() ? constants[number] : 0));
    }
    return ptx;
}

std::string text_with(std::span<const PtxText> texts, uint32_t kernel, std::span<const uint32_t> constants) {
    const auto same = [&](const PtxText& t) { return t.kernel == kernel && fits(t.instance, constants); };
    const auto found = std::find_if(texts.begin(), texts.end(), same);
    if (found != texts.end()) return with_constants(found->text, constants);
    std::string of = "build a kernel: its PTX was not made for";
    for (const uint32_t constant : constants) of += " " + std::to_string(constant);
    throw sdk::Failure(BP_INTERNAL, of + " (backends/common/gpu/ptx_texts.cmake)");
}

TrialProduct::TrialProduct() {
    for (uint32_t i = 0; i < kRows * kDepth; ++i) a.push_back(half_of(left(i / kDepth, i % kDepth)));
    for (uint32_t i = 0; i < kDepth * kColumns; ++i) b.push_back(half_of(right_of(i / kColumns, i % kColumns)));
}

bool TrialProduct::right(std::span<const uint16_t> y) const {
    for (uint32_t i = 0; i < kRows * kColumns; ++i) {
        int sum = 0;
        for (uint32_t k = 0; k < kDepth; ++k) sum += left(i / kColumns, k) * right_of(k, i % kColumns);
        if (y[i] != half_of(sum)) return false;
    }
    return true;
}

}  // namespace backplane::gpu
