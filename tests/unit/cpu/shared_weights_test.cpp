// A weight that several nodes read is packed once: by the host where all of them want the same form, else once a run for each form.
#include <gtest/gtest.h>

#include "harness.hpp"

namespace {

using namespace harness;

constexpr int64_t kVectors = 3, kWidth = 64;

size_t packings(const bp_program_info& info) {
    const std::string text = info.summary;
    size_t count = 0;
    for (size_t at = text.find("pack "); at != std::string::npos; at = text.find("pack ", at + 1)) ++count;
    return count;
}

const bp_slot& slot_of(const bp_program_info& info, uint32_t tensor) {
    for (uint32_t i = 0; i < info.slots.count; ++i)
        if (const auto* slot = BP_AT(bp_slot, &info.slots, i); slot->tensor == tensor) return *slot;
    throw std::runtime_error("tensor is not bound");
}

Floats product(const Floats& x, const Floats& w) {
    Floats y(x.size());
    for (int64_t r = 0; r < kVectors; ++r)
        for (int64_t c = 0; c < kWidth; ++c) {
            double sum = 0;
            for (int64_t k = 0; k < kWidth; ++k)
                sum += static_cast<double>(x[static_cast<size_t>(r * kWidth + k)]) *
                       static_cast<double>(w[static_cast<size_t>(k * kWidth + c)]);
            y[static_cast<size_t>(r * kWidth + c)] = static_cast<float>(sum);
        }
    return y;
}

void expect_near(const Floats& got, const Floats& want) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4) << i;
}

TEST(SharedWeights, OfProductsThatWantOneFormIsTheHostsToPack) {
    Device device;
    Graph g;
    const Floats w = random_floats(kWidth * kWidth, 1, 0.1F), x = random_floats(kVectors * kWidth, 2);
    const uint32_t weight = g.weight({kWidth, kWidth}, w);
    uint32_t y = g.input({kVectors, kWidth}, x);
    for (int k = 0; k < 3; ++k) y = g.add(BP_OP_matmul, {y, weight}, {kVectors, kWidth});
    g.output(y);
    Program program(device, g);
    EXPECT_NE(slot_of(program.info, weight).layout, 0U);
    EXPECT_EQ(packings(program.info), 0U) << program.info.summary;
    program.run();
    expect_near(program.read(y), product(product(product(x, w), w), w));
}

TEST(SharedWeights, OfConvolutionsThatWantOneFormIsTheHostsToPack) {
    Device device;
    Graph g;
    const Floats w = random_floats(kWidth * kWidth * 9, 3, 0.05F), x = random_floats(kWidth * 64, 4);
    const auto convolved = [&](uint32_t from, uint32_t with) {
        return g.add(BP_OP_conv, {from, with}, {1, kWidth, 8, 8}, {list(BP_ATTR_pads, {1, 1, 1, 1})});
    };
    const uint32_t weight = g.weight({kWidth, kWidth, 3, 3}, w), again = g.weight({kWidth, kWidth, 3, 3}, w);
    const uint32_t in = g.input({1, kWidth, 8, 8}, x);
    const uint32_t y = convolved(convolved(in, weight), weight);
    const uint32_t apart = convolved(convolved(in, again), g.weight({kWidth, kWidth, 3, 3}, w));
    g.output(y);
    g.output(apart);
    Program program(device, g);
    EXPECT_EQ(slot_of(program.info, weight).layout, slot_of(program.info, again).layout);
    EXPECT_NE(slot_of(program.info, weight).layout, 0U);
    EXPECT_EQ(packings(program.info), 0U) << program.info.summary;
    program.run();
    EXPECT_EQ(program.read(y), program.read(apart));
}

TEST(SharedWeights, ThatSomebodyReadsAsItIsStaysPlainAndIsPackedOnceARunForAllProducts) {
    Device device;
    Graph g;
    const Floats w = random_floats(kWidth * kWidth, 5, 0.1F), x = random_floats(kVectors * kWidth, 6);
    const uint32_t weight = g.weight({kWidth, kWidth}, w), in = g.input({kVectors, kWidth}, x);
    const uint32_t y =
        g.add(BP_OP_matmul, {g.add(BP_OP_matmul, {in, weight}, {kVectors, kWidth}), weight}, {kVectors, kWidth});
    const uint32_t plain = g.add(BP_OP_add, {weight, weight}, {kWidth, kWidth});
    g.output(y);
    g.output(plain);
    Program program(device, g);
    EXPECT_EQ(slot_of(program.info, weight).layout, 0U);
    EXPECT_EQ(packings(program.info), 1U) << program.info.summary;
    program.run();
    expect_near(program.read(y), product(product(x, w), w));
    EXPECT_EQ(program.read(plain)[7], 2 * w[7]);
}

TEST(SharedWeights, OfTwoFormsIsPackedOnceARunForEach) {
    Device device;
    Graph g;
    const Floats w = random_floats(kWidth * kWidth, 7, 0.1F), x = random_floats(kVectors * kWidth, 8);
    Floats turned(w.size());
    for (size_t k = 0; k < kWidth; ++k)
        for (size_t c = 0; c < kWidth; ++c) turned[k * kWidth + c] = w[c * kWidth + k];
    const uint32_t weight = g.weight({kWidth, kWidth}, w);
    uint32_t y = g.input({kVectors, kWidth}, x);
    for (int64_t k = 0; k < 4; ++k)
        y = g.add(BP_OP_matmul, {y, weight}, {kVectors, kWidth}, {integer(BP_ATTR_transpose_b, k % 2)});
    g.output(y);
    Program program(device, g);
    EXPECT_EQ(slot_of(program.info, weight).layout, 0U);
    EXPECT_EQ(packings(program.info), 2U) << program.info.summary;
    program.run();
    expect_near(program.read(y), product(product(product(product(x, w), turned), w), turned));
}

}  // namespace
