// Kernels on matrix units of compute capability 9.0 which neither OpenCL C nor GLSL can say, or one of them cannot: as PTX, made by nvcc where there was
// one when a module was built (ptx_texts.cmake). Drivers take it beside their own language; a device is given it after a trial.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "common/gpu/api.hpp"
#include "common/gpu/compile.hpp"
#include "common/gpu/kernel_words.hpp"

namespace backplane::gpu {

// An instance of a kernel: PTX in which constants that it leaves open are to be written.
struct PtxText {
    uint32_t kernel;
    const char* instance;  // the constants that it fixes: "0=384,3=64"
    const char* text;
};

// A text of the build's own with its constants: number n stands where it says 0xBACC00n (CONSTANT_OF_HOST of backends/cuda/kernels/prelude.h), 0 where
// there is none.
std::string with_constants(std::string ptx, std::span<const uint32_t> constants);

// That of the kernel with these constants, as lowerings give them. Throws Failure: there is none.
std::string text_with(std::span<const PtxText> texts, uint32_t kernel, std::span<const uint32_t> constants);

// A product of small whole numbers, each of which is exact: more tiles than one, none of them whole.
struct TrialProduct {
    static constexpr uint32_t kRows = 136, kColumns = 72, kDepth = 200, kRowsOfTile = 128;
    TrialProduct();
    [[nodiscard]] bool right(std::span<const uint16_t> y) const;
    std::vector<uint16_t> a, b;  // halves
};

// Does that product on a device. Throws Failure when it is wrong. `constants`: of the kernel, which turns nothing.
template <typename A>
void try_product(typename A::Device& device, const typename A::Kernel& kernel, std::span<const uint32_t> constants) {
    constexpr uint64_t kAlignment = 4096;
    constexpr uint64_t kPatience = 5'000'000'000;  // nanoseconds
    const std::string attempted = "try products on " + device.physical.name;
    const TrialProduct product;
    constexpr uint64_t kResult = uint64_t{TrialProduct::kRows} * TrialProduct::kColumns;
    const uint32_t tiles = (TrialProduct::kRows + TrialProduct::kRowsOfTile - 1) / TrialProduct::kRowsOfTile *
                           ((TrialProduct::kColumns + constants[3] - 1) / constants[3]);
    const std::vector<uint32_t> words = words_of(MatMulParameters{
        .rows = TrialProduct::kRows, .columns = TrialProduct::kColumns, .depth = TrialProduct::kDepth, .blocks = tiles});
    const std::span<const std::byte> parts[] = {std::as_bytes(std::span(product.a)), std::as_bytes(std::span(product.b))};
    uint64_t places[3] = {}, size = 0;
    for (size_t i = 0; i < 2; ++i) places[i + 1] = size += (parts[i].size() + kAlignment - 1) / kAlignment * kAlignment;
    size += kResult * sizeof(uint16_t);
    auto host = A::allocate(device, size, Placement::pinned), own = A::allocate(device, size, Placement::device);
    const typename A::Range all_of_host{&host, 0, size, 1}, all_of_own{&own, 0, size, 1};
    std::byte* at = A::map(device, all_of_host);
    for (size_t i = 0; i < 2; ++i) std::copy(parts[i].begin(), parts[i].end(), at + places[i]);
    const auto operand = [&](size_t i, uint64_t bytes, uint32_t element) {
        return typename A::Range{&own, places[i], bytes, element};
    };
    const typename A::Range operands[] = {operand(0, parts[0].size(), 2), operand(1, parts[1].size(), 2), {}, {}, {},
                                          operand(2, kResult * 2, 2)};
    auto recording = A::begin(device, 1);
    A::dispatch(recording, kernel, operands, words, {}, {{tiles, 1, 1}, constants[0]});
    A::end(recording);
    auto& queue = device.queues[0];
    const auto timeline = A::timeline(device, queue);
    A::copy(queue, all_of_host, all_of_own, {}, *timeline, 1);
    A::submit(queue, recording, {}, *timeline, 2);
    A::copy(queue, all_of_own, all_of_host, {}, *timeline, 3);
    if (!A::wait(*timeline, 3, kPatience)) throw sdk::Failure(BP_UNSUPPORTED, attempted + ": it does not end");
    std::vector<uint16_t> y(kResult);
    std::copy_n(at + places[2], kResult * sizeof(uint16_t), std::as_writable_bytes(std::span(y)).begin());
    A::unmap(device, all_of_host, at);
    if (!product.right(y)) throw sdk::Failure(BP_UNSUPPORTED, attempted + ": the result is wrong");
}

// Why a device does not multiply so, empty if it does: tried on one of its own, since a kernel that reads where it must not loses the device.
template <typename A, typename Build>
std::string why_no_ptx(const typename A::Device& device, const Build& build) {
    const std::vector<uint32_t> constants = {384, 0, 0, 64, 8, 0, 0};  // nothing else is done, nothing turned
    try {
        typename A::Device alone(device.instance, device.physical, device.can);
        try_product<A>(alone, build(alone, kKernel_matmul_warpgroup_f16, constants), constants);
        return {};
    } catch (const std::exception& e) {
        return e.what();
    }
}

// The kernel with these constants, as `build` makes it. The first for an open device makes the trial. Throws Failure: the driver does not take it, or
// the trial failed. [any]
template <typename A, typename Build>
typename A::Kernel build_after_trial(typename A::Device& device, uint32_t kernel, std::span<const uint32_t> constants,
                                     const Build& build) {
    std::call_once(device.ptx_tried, [&] { device.no_ptx = why_no_ptx<A>(device, build); });
    if (!device.no_ptx.empty()) throw sdk::Failure(BP_UNSUPPORTED, device.no_ptx);
    return build(device, kernel, constants);
}

}  // namespace backplane::gpu
