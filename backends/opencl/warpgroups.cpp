#include "warpgroups.hpp"

#include <algorithm>
#include <vector>

#include "common/gpu/kernel_words.hpp"
#include "kernels_generated.h"
#include "ptx.hpp"

namespace backplane::opencl {

namespace {

constexpr uint32_t kColumns = 3, kStages = 4;  // of the constants

Kernel built_of(Device& device, uint32_t kernel, std::span<const uint32_t> constants) {
    const auto same = [&](const WarpgroupText& t) {
        return t.columns == constants[kColumns] && t.stages == constants[kStages];
    };
    const auto found = std::find_if(kWarpgroupTexts.begin(), kWarpgroupTexts.end(), same);
    if (found == kWarpgroupTexts.end())
        throw sdk::Failure(BP_INTERNAL, std::string("build kernel ") + kKernels[kernel].name + ": it was not made for " +
                                            std::to_string(constants[kColumns]) + " columns");
    const std::string text = with_constants(found->text, constants);
    Kernel built;
    built.id = kernel;
    built.kept = true;  // the binary is this text, and machine code of it the driver keeps itself
    built.program = program_of(device, kernel, device.physical.build_options, std::as_bytes(std::span(text)));
    return built;
}

// What halves of small whole numbers are.
uint16_t half_of(int value) {
    constexpr uint16_t kOne = 0x3c00, kTwo = 0x4000, kSign = 0x8000;
    const uint16_t size = value == 0 ? 0 : value == 1 || value == -1 ? kOne : kTwo;
    return static_cast<uint16_t>(value < 0 ? size | kSign : size);
}
int single_of(uint16_t half) {  // of a whole number
    const int exponent = (half >> 10 & 31) - 15;
    const int size = exponent < 0 ? 0 : ((1 << 10) + (half & 1023)) << exponent >> 10;
    return half >> 15 != 0 ? -size : size;
}

// A product of small whole numbers, each of which is exact: more tiles than one, none of them whole. Throws Failure when it is wrong.
void try_product(Device& device) {
    constexpr uint32_t kRows = 136, kAcross = 72, kDepth = 200, kTile = 64, kInvocations = 384;
    const uint32_t constants[] = {kInvocations, 0, 0, kTile, kWarpgroupTexts.back().stages, 0, 0};
    const Kernel kernel = built_of(device, gpu::kKernel_matmul_warpgroup_f16, constants);
    const auto left = [](uint32_t row, uint32_t k) { return static_cast<int>((row * 7 + k * 3) % 5) - 2; };
    const auto right = [](uint32_t k, uint32_t column) { return static_cast<int>((column * 3 + k * k) % 5) - 2; };
    std::vector<uint16_t> a, b, y(size_t{kRows} * kAcross, 0xffff);
    for (uint32_t i = 0; i < kRows * kDepth; ++i) a.push_back(half_of(left(i / kDepth, i % kDepth)));
    for (uint32_t i = 0; i < kDepth * kAcross; ++i) b.push_back(half_of(right(i / kAcross, i % kAcross)));
    Queue& queue = device.queues[0];
    const std::string attempted = "try products on " + device.physical.name;
    std::vector<Block> blocks;
    for (const auto* values : {&a, &b, &y}) {
        blocks.push_back(Api::allocate(device, values->size() * 2, gpu::Placement::device));
        check(device.cl.EnqueueWriteBuffer(queue.handle.get(), blocks.back().memory.get(), CL_TRUE, 0, values->size() * 2,
                                           values->data(), 0, nullptr, nullptr),
              attempted);
    }
    const uint32_t tiles = ((kRows + 127) / 128) * ((kAcross + kTile - 1) / kTile);
    std::vector<uint32_t> words =
        gpu::words_of(gpu::MatMulParameters{.rows = kRows, .columns = kAcross, .depth = kDepth, .blocks = tiles});
    const auto range = [](Block& block) { return Api::Range{&block, 0, block.size, 2}; };
    const Api::Range operands[] = {range(blocks[0]), range(blocks[1]), {}, {}, {}, range(blocks[2])};
    Recording recording = Api::begin(device, 1);
    Api::dispatch(recording, kernel, operands, words, {}, {{tiles, 1, 1}, kInvocations});
    Api::end(recording);
    const auto timeline = Api::timeline(device, queue);
    Api::submit(queue, recording, {}, *timeline, 1);
    Api::wait(*timeline, 1, gpu::kForEver);
    check(device.cl.EnqueueReadBuffer(queue.handle.get(), blocks[2].memory.get(), CL_TRUE, 0, y.size() * 2, y.data(), 0,
                                      nullptr, nullptr),
          attempted);
    for (uint32_t i = 0; i < y.size(); ++i) {
        int sum = 0;
        for (uint32_t k = 0; k < kDepth; ++k) sum += left(i / kAcross, k) * right(k, i % kAcross);
        if (single_of(y[i]) != sum) throw sdk::Failure(BP_UNSUPPORTED, attempted + ": the result is wrong");
    }
}

// Once for a device, on a context of its own: a kernel that reads where it must not ends the context.
std::string why_not(const Device& device) {
    try {
        Device alone(device.instance, device.physical, device.can);
        try_product(alone);
        return {};
    } catch (const std::exception& e) {
        return e.what();
    }
}

}  // namespace

Kernel build_warpgroups(Device& device, uint32_t kernel, std::span<const uint32_t> constants) {
    std::call_once(device.warpgroups_tried, [&] { device.no_warpgroups = why_not(device); });
    if (!device.no_warpgroups.empty()) throw sdk::Failure(BP_UNSUPPORTED, device.no_warpgroups);
    return built_of(device, kernel, constants);
}

}  // namespace backplane::opencl
