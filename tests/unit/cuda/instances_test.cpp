// For every kernel that a lowering can ask for there is an instance that was compiled (backends/cuda/instances.cmake).
#include <gtest/gtest.h>

#include <set>

#include "common/gpu/kernel_table.hpp"
#include "common/gpu/kernel_words.hpp"
#include "conformance/conformance.hpp"
#include "device.hpp"
#include "gpu/graph_maker.hpp"
#include "scripted_cuda.hpp"

namespace backplane::cuda {
namespace {

// What a card and an option make of the abilities.
std::vector<Abilities> all_abilities() {
    std::vector<Abilities> all;
    for (const auto& [major, minor] : {std::pair(7, 5), std::pair(9, 0)}) {
        scripted::start_anew();
        scripted::world().cards[0].major = major, scripted::world().cards[0].minor = minor;
        const Instance instance;
        for (const char* option : {"", "patches", "matrix", "no-matrices"}) {
            all.push_back(instance.devices().at(0).can);
            Api::choose(all.back(), option);
        }
    }
    return all;
}

class Instances : public testing::Test {
protected:
    // Plans the graph for each of the abilities; notes what is missing. True: one of them takes it.
    bool look_at(const bp_graph* graph, const std::string& of, uint32_t math = BP_MATH_DEFAULT) {
        bool taken = false;
        for (const Abilities& can : abilities_) {
            bp_compile how{};
            how.struct_size = BP_SIZE(bp_compile, math);
            how.math = math;
            try {
                const gpu::Plan plan = gpu::make_plan(graph, how, can);
                for (const gpu::Dispatch& d : plan.dispatches) look_at(d, of);
                for (const gpu::Dispatch& d : plan.once) look_at(d, of);
                for (const gpu::Slot& slot : plan.slots)
                    if (slot.layout != 0) look_at(slot.pack, of);
                taken = true;
            } catch (const sdk::Failure& failure) {
                EXPECT_EQ(failure.code(), BP_UNSUPPORTED) << of << ": " << failure.what();
            }
        }
        return taken;
    }
    void look_at(const gpu::Dispatch& d, const std::string& of) {
        if (d.kernel == gpu::kNoKernel) return;
        ++seen_;
        const Image& image = kImages[d.kernel];
        std::string constants;
        for (const uint32_t c : d.constants) constants += " " + std::to_string(c);
        if (kKernels[d.kernel].entry == nullptr || find_instance(image, d.constants) == image.count)
            missing_.insert(std::string(kKernels[d.kernel].name) + constants + " (" + of + ")");
        if (d.parameters.size() == sizeof(gpu::AttentionParameters) / sizeof(uint32_t) && !gpu::on_matrix_units(d.kernel)) {
            EXPECT_TRUE(fits_its_tile(d.constants)) << of << ":" << constants;
        }
    }
    // What attention.kernel says of its constants.
    static bool fits_its_tile(const std::vector<uint32_t>& c) {
        const uint32_t rows = c[1], keys = c[2], depth = c[3], held = c[4], columns = c[5] / 4;
        const uint32_t tile = depth * (rows / 4 + 1 + (c[6] != 0 ? rows / 4 : 0) + keys / 4 + 1);
        const uint32_t splits = 1 + (keys / 4 - 1) / columns;
        return c[0] == rows / 4 * (keys / 4) && held % 4 == 0 && held * columns <= tile &&
               (splits == 1 || splits * 4 * columns <= tile);
    }

    const std::vector<Abilities> abilities_ = all_abilities();
    std::set<std::string> missing_;
    size_t seen_ = 0;
};

TEST_F(Instances, AreThereForTheWholeConformanceTable) {
    size_t taken = 0;
    size_t all = 0;
    for (const Op op : {
#define BP_EACH(id, identifier, name) Op::identifier,
             BP_OPS(BP_EACH)
#undef BP_EACH
         })
        for (const graph::ConformanceCase& c : graph::conformance_cases(op)) {
            const graph::CaseData data = c.build();
            const GraphData plain(data.graph);
            ++all;
            taken += look_at(plain.get(), c.name, data.math) ? 1 : 0;
        }
    EXPECT_EQ(missing_, std::set<std::string>());
    EXPECT_GT(taken, all / 2);
    EXPECT_GT(seen_, 3000U);
}

TEST_F(Instances, AreThereForProductsOfAllSizes) {
    for (const uint32_t right : {BP_F32, BP_F16, BP_Q8_0, BP_Q4_0, BP_Q4_1, BP_Q5_0, BP_IQ4_NL, BP_Q2_K, BP_Q6_K})
        for (const uint32_t left : {BP_F32, BP_F16})
            for (const int64_t turned : {0, 1})
                for (const int64_t m : {1, 2, 3, 5, 8, 9, 16, 17, 32, 33, 64, 65, 128, 512, 4096})
                    for (const int64_t n : {32, 64, 96, 128, 1024, 4096, 16384})
                        for (const int64_t k : {256, 4096}) {
                            if (right >= BP_Q8_0 && turned == 0) continue;
                            gpu::GraphMaker g;
                            const uint32_t a = g.tensor(BP_ROLE_INPUT, {m, k}, left);
                            const uint32_t b =
                                g.tensor(BP_ROLE_WEIGHT,
                                         turned != 0 ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n}, right);
                            g.node(BP_OP_matmul, {a, b}, g.tensor(BP_ROLE_OUTPUT, {m, n}, left),
                                   {gpu::integer(BP_ATTR_transpose_b, turned)});
                            look_at(g.get(), std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n));
                        }
    EXPECT_EQ(missing_, std::set<std::string>());
    EXPECT_GT(seen_, 10000U);
}

TEST_F(Instances, AreThereForAttentionOfAllSizes) {
    for (const uint32_t dtype : {BP_F32, BP_F16})
        for (const int64_t heads : {1, 8, 64})
            for (const int64_t queries : {1, 4, 5, 16, 40, 600})
                for (const int64_t keys : {1, 40, 300, 2000})
                    for (const int64_t size : {8, 40, 64, 72, 80, 128, 160, 192, 256}) {
                        gpu::GraphMaker g;
                        const uint32_t q = g.tensor(BP_ROLE_INPUT, {1, heads, queries, size}, dtype);
                        const uint32_t k = g.tensor(BP_ROLE_INPUT, {1, heads, keys, size}, dtype);
                        const uint32_t v = g.tensor(BP_ROLE_INPUT, {1, heads, keys, size}, dtype);
                        g.node(BP_OP_attention, {q, k, v}, g.tensor(BP_ROLE_OUTPUT, {1, heads, queries, size}, dtype));
                        look_at(g.get(), std::to_string(heads) + " heads of " + std::to_string(size));
                    }
    EXPECT_EQ(missing_, std::set<std::string>());
    EXPECT_GT(seen_, 5000U);
}

TEST_F(Instances, AreThereForConvolutionsOfAllSizes) {
    for (const uint32_t dtype : {BP_F32, BP_F16})
        for (const int64_t in : {1, 3, 16, 32, 64, 320})
            for (const int64_t out : {1, 12, 16, 24, 32, 48, 64, 256})
                for (const auto& [down, across] : {std::pair(1, 1), std::pair(3, 3), std::pair(5, 5), std::pair(7, 7),
                                                   std::pair(1, 3), std::pair(1, 5), std::pair(1, 7), std::pair(2, 2)})
                    for (const int64_t size : {8, 40, 300}) {
                        gpu::GraphMaker g;
                        const uint32_t x = g.tensor(BP_ROLE_INPUT, {1, in, size, size}, dtype);
                        const uint32_t w = g.tensor(BP_ROLE_WEIGHT, {out, in, down, across}, dtype);
                        g.node(BP_OP_conv, {x, w},
                               g.tensor(BP_ROLE_OUTPUT, {1, out, size - down + 1, size - across + 1}, dtype));
                        look_at(g.get(), std::to_string(down) + "x" + std::to_string(across));
                    }
    EXPECT_EQ(missing_, std::set<std::string>());
    EXPECT_GT(seen_, 5000U);
}

TEST_F(Instances, AreThereForConvolutionsBetweenWhichMapsLieInBundles) {
    for (const int64_t kernel : {1, 3, 5})
        for (const int64_t out : {24, 64, 128}) {
            gpu::GraphMaker g;
            const std::vector<int64_t> pads(4, kernel / 2);
            const uint32_t x = g.tensor(BP_ROLE_INPUT, {1, 16, 256, 256}, BP_F16);
            const uint32_t first = g.tensor(BP_ROLE_WEIGHT, {64, 16, 1, 1}, BP_F16);
            const uint32_t second = g.tensor(BP_ROLE_WEIGHT, {out, 64, kernel, kernel}, BP_F16);
            const uint32_t between = g.tensor(BP_ROLE_TEMPORARY, {1, 64, 256, 256}, BP_F16);
            g.node(BP_OP_conv, {x, first}, between);
            g.node(BP_OP_conv, {between, second}, g.tensor(BP_ROLE_OUTPUT, {1, out, 256, 256}, BP_F16),
                   {gpu::list(BP_ATTR_pads, pads)});
            look_at(g.get(), std::to_string(kernel) + "x" + std::to_string(kernel));
        }
    EXPECT_EQ(missing_, std::set<std::string>());
}

// What kernels are given that ask for shared memory is less than any card has that runs them.
TEST(SharedMemory, FitsTheCards) {
    for (uint32_t kernel = 0; kernel < gpu::kKernelCount; ++kernel) {
        const Image& image = kImages[kernel];
        const uint32_t most = image.only == 90 ? 232448 : gpu::in_parts(kernel) ? 101376 : 65536;
        for (const KernelInstance& instance : std::span(image.instances, image.count)) EXPECT_LE(instance.shared, most);
    }
}

TEST(Boxes, OfAProductAreOfItsOperandsAsTheyLieAndOfEachMatrixOnce) {
    const gpu::MatMulParameters p{
        .rows = 40, .columns = 24, .depth = 72, .batch_rank = 2, .sizes = {3, 5}, .steps_a = {5, 1}, .steps_b = {0, 1}};
    const auto boxes = [&](uint32_t turned_a, uint32_t turned_b) {
        return boxes_of(gpu::kKernel_matmul_warpgroup_f16, std::vector<uint32_t>{384, 0, 0, 256, 4, turned_a, turned_b},
                        gpu::words_of(p), 1);
    };
    using Extents = std::vector<uint64_t>;
    const auto extents = [](const Boxes& b) { return Extents(b.extents, b.extents + b.axes); };
    const auto plain = boxes(0, 1), turned = boxes(1, 0);
    ASSERT_EQ(plain.size(), 2U);
    EXPECT_EQ(extents(plain[0]), (Extents{72, 40, 15}));
    EXPECT_EQ(extents(plain[1]), (Extents{72, 24, 5}));
    EXPECT_EQ(plain[0].box[1], 128U);
    EXPECT_EQ(plain[1].box[1], 256U);
    EXPECT_EQ(extents(turned[0]), (Extents{40, 72, 15}));
    EXPECT_EQ(extents(turned[1]), (Extents{24, 72, 5}));
    EXPECT_EQ(turned[0].box[1], 64U) << "of the depth";
    EXPECT_EQ(turned[1].box[1], 64U);
}

TEST(Boxes, OfAttentionAreQueriesKeysAndValuesOfEachPairAndPositions) {
    const gpu::AttentionParameters p{
        .pairs = 12, .rows = 300, .heads = 6, .keys = 77, .depth = 40, .width = 80, .sharing = 2, .distances = 153};
    std::vector<uint32_t> words = gpu::words_of(p);
    for (const uint32_t i : {1, 2, 3, 4})  // of rows, heads and batches; where it begins
        for (const uint32_t w : {80 * i, 8 * i, 24000 * i, 16 * i}) words.push_back(w);
    const auto boxes =
        boxes_of(gpu::kKernel_attention_warpgroup_f16_bool, std::vector<uint32_t>{384, 128, 128, 128, 128, 1}, words, 1);
    ASSERT_EQ(boxes.size(), 4U);
    using Numbers = std::vector<uint64_t>;
    const Numbers expected[4] = {{40, 300, 6, 2}, {40, 77, 3, 2}, {80, 77, 3, 2}, {40, 153, 6}};
    const uint32_t operands[] = {0, 1, 2, 5};
    for (uint32_t i = 0; i < 4; ++i) {
        EXPECT_EQ(boxes[i].operand, operands[i]);
        EXPECT_EQ(Numbers(boxes[i].extents, boxes[i].extents + boxes[i].axes), expected[i]) << i;
        EXPECT_EQ(boxes[i].box[0] * boxes[i].box[1], 64U * 128U);
        if (i == 3) continue;
        EXPECT_EQ(boxes[i].first, 32U * (i + 1)) << "in bytes";
        EXPECT_EQ(Numbers(boxes[i].strides, boxes[i].strides + 3), (Numbers{160 * (i + 1), 16 * (i + 1), 48000 * (i + 1)}));
    }
}

TEST(Boxes, OfAConvolutionAreRowsOfItsMapsWithAllTapsOfAColumn) {
    gpu::ConvParameters p{};
    p.channels = 24, p.height = 40, p.width = 72;
    const auto boxes =
        boxes_of(gpu::kKernel_conv_warpgroup_f16, std::vector<uint32_t>{384, 0, 0, 5, 6}, gpu::words_of(p), 6);
    ASSERT_EQ(boxes.size(), 1U);
    const Boxes& b = boxes[0];
    EXPECT_EQ(b.operand, 0U);
    EXPECT_EQ(std::vector<uint64_t>(b.extents, b.extents + b.axes), (std::vector<uint64_t>{72, 24, 40, 6}));
    EXPECT_EQ(std::vector<uint64_t>(b.strides, b.strides + 3), (std::vector<uint64_t>{144 * 40, 144, 144 * 40 * 24}));
    EXPECT_EQ(std::vector<uint32_t>(b.box, b.box + b.axes), (std::vector<uint32_t>{64, 16, 12, 1}));
}

using Numbers = std::vector<uint64_t>;

Numbers extents_of(const Boxes& b) { return {b.extents, b.extents + b.axes}; }
Numbers size_of(const Boxes& b) { return {b.box, b.box + b.axes}; }

// Of a convolution of 192 channels to 128, of five images.
std::vector<Boxes> boxes_of_bundles(uint32_t kernel, uint32_t split, uint32_t kinds, bool made) {
    gpu::ConvParameters p{};
    p.channels = 192, p.height = 40, p.width = 72, p.out_height = 38, p.out_width = 70, p.blocks = 2;
    return boxes_of(gpu::kKernel_conv_warpgroup_bundles_f16,
                    std::vector<uint32_t>{384, kinds, 0, kernel, 3, made ? 1U : 0U, 4, split}, gpu::words_of(p), 5);
}

TEST(Boxes, OfAConvolutionOfBundlesAreHalvesOfThoseOfEachPixelOfOneOperandOrTwo) {
    const std::vector<Boxes> two = boxes_of_bundles(3, 1, 0, true), one = boxes_of_bundles(1, 3, 0, true);
    ASSERT_EQ(two.size(), 5U);
    EXPECT_EQ(extents_of(two[0]), (Numbers{64, 72, 40, 5}));
    EXPECT_EQ(extents_of(two[1]), (Numbers{64, 72, 40, 10}));
    EXPECT_EQ(Numbers(two[0].strides, two[0].strides + 3), (Numbers{128, 128 * 72, 128 * 72 * 40}));
    EXPECT_EQ(size_of(two[1]), (Numbers{32, 72, 10, 1})) << "rows have room for what is beside them";
    EXPECT_EQ(two[0].operand, 0U);
    EXPECT_EQ(two[1].operand, 5U);
    EXPECT_EQ(two[0].swizzle, kMapSwizzle64);
    EXPECT_EQ(extents_of(one[0]), (Numbers{64, 72, 40, 15}));
    EXPECT_EQ(size_of(one[0]), (Numbers{32, 64, 8, 1}));
}

TEST(Boxes, OfAConvolutionOfBundlesAreOfWhatIsAddedAndOfTheResultWhereTheyAreBundles) {
    constexpr uint32_t kAddsSecond = 1 + EPILOGUE_BIAS + ((1 + EPILOGUE_ADD_SECOND) << 4);
    const std::vector<Boxes> boxes = boxes_of_bundles(3, 3, kAddsSecond, true);
    ASSERT_EQ(boxes.size(), 5U);
    EXPECT_EQ(extents_of(boxes[2]), (Numbers{64, 70, 38, 0})) << "none is added first";
    EXPECT_EQ(boxes[3].operand, 4U);
    EXPECT_EQ(extents_of(boxes[3]), (Numbers{64, 70, 38, 10}));
    EXPECT_EQ(Numbers(boxes[3].strides, boxes[3].strides + 3), (Numbers{128, 128 * 70, 128 * 70 * 38}));
    EXPECT_EQ(size_of(boxes[3]), (Numbers{32, 72, 10, 1})) << "it comes through the same ring";
    EXPECT_EQ(boxes[3].swizzle, kMapSwizzle64);
    EXPECT_EQ(boxes[4].operand, 6U);
    EXPECT_EQ(extents_of(boxes[4]), (Numbers{64, 70, 38, 10}));
    EXPECT_EQ(size_of(boxes[4]), (Numbers{64, 64, 1, 1})) << "a row";
    EXPECT_EQ(boxes[4].swizzle, kMapSwizzle128);
    const std::vector<Boxes> planes = boxes_of_bundles(3, 3, kAddsSecond, false);
    for (size_t i = 2; i < 5; ++i) EXPECT_EQ(planes[i].extents[3], 0U) << i << ": invocations load and store planes";
}

TEST(Boxes, AreNoOtherKernels) {
    EXPECT_TRUE(boxes_of(gpu::kKernel_matmul_matrix_f16, std::vector<uint32_t>(10), std::vector<uint32_t>(30), 1).empty());
}

TEST(FindInstance, TakesWhatIsFixedAndLeavesTheRestToTheHost) {
    const KernelInstance instances[] = {{0b101, {128, 0, 4}}, {0b1, {32}}};
    const Image image{{}, instances, 2};
    EXPECT_EQ(find_instance(image, std::vector<uint32_t>{128, 77, 4}), 0U);
    EXPECT_EQ(find_instance(image, std::vector<uint32_t>{32, 77, 4}), 1U);
    EXPECT_EQ(find_instance(image, std::vector<uint32_t>{128, 77, 5}), 2U);
    EXPECT_EQ(find_instance(image, std::vector<uint32_t>{128}), 2U);
}

}  // namespace
}  // namespace backplane::cuda
