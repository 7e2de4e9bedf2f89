// Which kernels a GPU backend takes, how many of them there are, and what becomes of those that are kept or refused.
#include "backend.hpp"

namespace backplane::gpu {
namespace {

TEST_F(Backend, FewRowsByATransposedMatrixAreAKernelOfTheirOwn) {
    open();
    const auto kernel_of = [&](int64_t rows, int64_t depth, bool transposed, uint32_t dtype) {
        GraphMaker g;
        const uint32_t a = g.tensor(BP_ROLE_INPUT, {rows, depth});
        const uint32_t b =
            g.tensor(BP_ROLE_INPUT, transposed ? std::vector<int64_t>{5, depth} : std::vector<int64_t>{depth, 5}, dtype);
        const uint32_t y = g.tensor(BP_ROLE_OUTPUT, {rows, 5});
        bp_attribute attribute{};
        attribute.struct_size = sizeof attribute;
        attribute.id = BP_ATTR_transpose_b;
        attribute.type = BP_ATTRIBUTE_INT;
        attribute.integer = transposed ? 1 : 0;
        g.node(BP_OP_matmul, {a, b}, y, {attribute});
        bp_program* program = compile(g);
        const auto place = [&](uint32_t tensor, int64_t bytes) {
            return bind(tensor, buffer(static_cast<uint64_t>(bytes)), static_cast<uint64_t>(bytes));
        };
        world.dispatched.clear();
        EXPECT_EQ(run(program, {place(a, rows * depth * 4), place(b, dtype == BP_Q8_0 ? depth / 32 * 34 * 5 : depth * 5 * 4),
                                place(y, rows * 5 * 4)}),
                  BP_OK)
            << text;
        return world.dispatched.empty() ? uint32_t{kKernelCount} : world.dispatched.back();
    };
    EXPECT_EQ(kernel_of(1, 160, true, BP_F32), kKernel_matvec_f32);
    EXPECT_EQ(kernel_of(8, 160, true, BP_Q8_0), kKernel_matvec_f32_by_blocks);
    EXPECT_EQ(kernel_of(128, 160, true, BP_F32), kKernel_matvec_f32) << "by eights: few tiles would come of them";
    EXPECT_EQ(kernel_of(129, 160, true, BP_F32), kKernel_matmul_f32);
    EXPECT_EQ(kernel_of(1, 96, true, BP_F32), kKernel_matmul_f32) << "too short for a workgroup";
    EXPECT_EQ(kernel_of(1, 160, false, BP_F32), kKernel_matmul_f32) << "neighbours along the depth lie apart";
}

// Of each operand of the dispatch: 1, or 0 where the op has none.
std::string given_of(const Dispatch& d) {
    std::string given;
    for (const Operand& operand : d.operands) given += operand.given ? '1' : '0';
    return given;
}

TEST(Operands, ThatAnOpHasNotAreNotGiven) {
    EXPECT_EQ(given_of(square_of(64, BP_F32).plan().dispatches.back()), "110001") << "a bias and what is added";
    const auto attention = [](size_t operands) {
        GraphMaker g;
        const std::vector<int64_t> shape{1, 2, 8, 16};
        std::vector<uint32_t> in;
        while (in.size() < 3) in.push_back(g.tensor(BP_ROLE_INPUT, shape));
        if (operands > 3) in.push_back(g.tensor(BP_ROLE_INPUT, {8, 8}));
        if (operands > 4) in.push_back(g.tensor(BP_ROLE_INPUT, {1}, BP_I64));
        g.node(BP_OP_attention, in, g.tensor(BP_ROLE_OUTPUT, shape));
        return given_of(g.plan().dispatches.back());
    };
    EXPECT_EQ(attention(3), "111000001") << "mask, lengths, positions and biases";
    EXPECT_EQ(attention(4), "111100001");
    EXPECT_EQ(attention(5), "111110001");
    GraphMaker g;
    g.node(BP_OP_cast, {g.tensor(BP_ROLE_INPUT, {8}, BP_F16)}, g.tensor(BP_ROLE_OUTPUT, {8}, BP_I64),
           {integer(BP_ATTR_to, BP_I64)});
    EXPECT_EQ(given_of(g.plan().dispatches.back()), "010001") << "of each size of elements one";
    // The same value twice is given twice.
    GraphMaker twice;
    const uint32_t x = twice.tensor(BP_ROLE_INPUT, {8});
    twice.node(BP_OP_mul, {x, x}, twice.tensor(BP_ROLE_OUTPUT, {8}));
    EXPECT_EQ(given_of(twice.plan().dispatches.back()), "111");
}

TEST_F(Backend, KernelsComeFromTheHostsCacheAndARefusedOneIsRejected) {
    open();
    EXPECT_EQ(info(compile(chain(1))).cache_hits, 0U);
    EXPECT_EQ(host.cache.size(), 2U);
    kTable.program_close(programs.back());
    programs.pop_back();
    kTable.device_close(device);
    open();
    EXPECT_EQ(info(compile(chain(1))).cache_hits, 2U);
    EXPECT_EQ(host.rejected, 0);
    kTable.program_close(programs.back());
    programs.pop_back();
    kTable.device_close(device);
    for (auto& [key, value] : host.cache) value = "of another driver";
    open();
    EXPECT_EQ(info(compile(chain(1))).cache_hits, 0U);
    EXPECT_EQ(host.rejected, 2);
    for (const auto& [key, value] : host.cache) EXPECT_EQ(value, world.binary) << key;
}

TEST_F(Backend, ConversionsBetweenAnyTwoTypesAreFewKernels) {
    open();
    int pairs = 0;
    for (uint32_t from = BP_F32; from <= BP_Q8_K; ++from) {
        for (uint32_t into = BP_F32; into <= BP_BOOL; ++into) {
            const bool block = from >= BP_Q8_0;
            if (from == into || (block && into != BP_F32 && into != BP_F16 && into != BP_BF16)) continue;
            GraphMaker g;
            const uint32_t x = g.tensor(BP_ROLE_INPUT, {256}, from);
            bp_attribute to{};
            to.struct_size = sizeof to;
            to.id = BP_ATTR_to;
            to.type = BP_ATTRIBUTE_INT;
            to.integer = into;
            g.node(BP_OP_cast, {x}, g.tensor(BP_ROLE_OUTPUT, {256}, into), {to});
            compile(g);
            ++pairs;
        }
    }
    EXPECT_EQ(pairs, 149);
    // One for all pairs, one for those with 64 bits, and f32 to f16 and back for themselves.
    EXPECT_EQ(world.of("build"), 4);
}

TEST_F(Backend, ReductionsAndOpsOnWholeNumbersShareAKernelEach) {
    open();
    const auto compile_op = [&](uint32_t op, size_t operands, uint32_t dtype, const std::vector<int64_t>& result) {
        GraphMaker g;
        std::vector<uint32_t> inputs;
        while (inputs.size() < operands) inputs.push_back(g.tensor(BP_ROLE_INPUT, {4, 200}, dtype));
        g.node(op, inputs, g.tensor(BP_ROLE_OUTPUT, result, dtype));
        compile(g);
    };
    for (const uint32_t op : {BP_OP_reduce_sum, BP_OP_reduce_mean, BP_OP_reduce_max, BP_OP_reduce_min})
        compile_op(op, 1, BP_F32, {1, 1});
    EXPECT_EQ(world.of("build"), 1);
    for (const uint32_t op : {BP_OP_abs, BP_OP_neg}) compile_op(op, 1, BP_I32, {4, 200});
    EXPECT_EQ(world.of("build"), 2);
    for (const uint32_t op : {BP_OP_add, BP_OP_sub, BP_OP_mul, BP_OP_div, BP_OP_max, BP_OP_min})
        compile_op(op, 2, BP_I32, {4, 200});
    EXPECT_EQ(world.of("build"), 3);
}

// Conv 3x3 of f16, as the matrix units take it.
GraphMaker convolution() {
    GraphMaker g;
    const uint32_t x = g.tensor(BP_ROLE_INPUT, {1, 64, 16, 16}, BP_F16);
    const uint32_t w = g.tensor(BP_ROLE_WEIGHT, {64, 64, 3, 3}, BP_F16);
    const uint32_t y = g.tensor(BP_ROLE_OUTPUT, {1, 64, 14, 14}, BP_F16);
    g.node(BP_OP_conv, {x, w}, y);
    return g;
}
TEST_F(Backend, FiltersAreLaidOutOnceByPackAndNotAtEachRun) {
    world.facts.can.matrix_tiles = true;
    world.facts.can.least_patches = 0;
    open();
    bp_program* program = compile(convolution());
    const bp_span slots = info(program).slots;
    uint32_t weight = 0;
    while (BP_AT(bp_slot, &slots, weight)->tensor != 1) ++weight;
    const bp_slot slot = *BP_AT(bp_slot, &slots, weight);
    EXPECT_NE(slot.layout, 0U);
    EXPECT_GE(slot.bytes, uint64_t{64} * 64 * 9 * 2);
    EXPECT_EQ(info(program).moved_bytes, 0U);
    const Bytes plain(uint64_t{64} * 64 * 9 * 2);
    bp_buffer* packed = buffer(slot.bytes);
    bp_copy c{};
    c.struct_size = BP_SIZE(bp_copy, flags);
    c.from_host = plain.data();
    c.to_buffer = packed;
    c.bytes = plain.size();
    ASSERT_EQ(kTable.pack(program, weight, &c, &error), BP_OK) << text;
    EXPECT_EQ(world.dispatched, std::vector<uint32_t>{kKernel_conv_matrix_filters});
    const std::vector<bp_binding> bindings{bind(0, buffer(32768), 32768), bind(1, packed, slot.bytes),
                                           bind(2, buffer(25088), 25088)};
    for (int i = 0; i < 3; ++i) ASSERT_EQ(run(program, bindings), BP_OK) << text;
    EXPECT_EQ(world.dispatched, (std::vector<uint32_t>{kKernel_conv_matrix_filters, kKernel_conv_matrix_f16,
                                                       kKernel_conv_matrix_f16, kKernel_conv_matrix_f16}));
    c.bytes -= 1;
    EXPECT_EQ(kTable.pack(program, weight, &c, &error), BP_INVALID);
}

TEST_F(Backend, AKernelThatTheCompilerRefusesIsDoneWithout) {
    world.facts.can.matrix_tiles = true;
    world.facts.can.least_patches = 0;
    for (const uint32_t refused : {kKernel_conv_matrix_f16, kKernel_conv_matrix_filters}) {
        world.unbuildable = {refused};
        host.logged.clear();
        open();
        for (int time = 0; time < 2; ++time) {  // what was found out holds for the next program
            const bp_span slots = info(compile(convolution())).slots;
            for (uint32_t i = 0; i < slots.count; ++i) EXPECT_EQ(BP_AT(bp_slot, &slots, i)->layout, 0U);
        }
        ASSERT_EQ(host.logged.size(), 1U);
        EXPECT_NE(host.logged[0].find("works without its matrix units: "), std::string::npos) << host.logged[0];
        for (bp_program* p : std::exchange(programs, {})) kTable.program_close(p);
        kTable.device_close(std::exchange(device, nullptr));
    }
}

TEST_F(Backend, ProductsOfWarpgroupsThatAreRefusedLeaveTheOtherMatrixUnits) {
    world.facts.can.matrix_tiles = world.facts.can.warpgroup_products = true;
    world.unbuildable = {kKernel_matmul_warpgroup_f16};
    open();
    for (int time = 0; time < 2; ++time) compile(square_of(64, BP_F16));
    EXPECT_EQ(world.of("build"), 1) << "matmul_matrix, which the next program has, too";
    ASSERT_EQ(host.logged.size(), 1U);
    EXPECT_NE(host.logged[0].find("matrix units as warpgroups use them: "), std::string::npos) << host.logged[0];
}

TEST_F(Backend, FloatsInPartsThatAreRefusedLeaveTheOtherMatrixUnits) {
    world.facts.can.matrix_tiles = true;
    world.facts.can.float_parts = 16;
    world.facts.can.least_patches = 0;
    world.unbuildable = {kKernel_matmul_parts_f32};
    open();
    for (int time = 0; time < 2; ++time) compile(square_of(64, BP_F32));
    ASSERT_EQ(host.logged.size(), 1U);
    EXPECT_NE(host.logged[0].find("matrix units for floats: "), std::string::npos) << host.logged[0];
    world.unbuildable = {kKernel_matmul_f16};
    compile(square_of(64, BP_F16));
    EXPECT_EQ(host.logged.size(), 1U) << "products of halves are on them as before";
}

}  // namespace
}  // namespace backplane::gpu
