// Kernels on a scripted card: built, kept, started one by one and as graphs.
#include "on_scripted_cuda.hpp"

namespace backplane::cuda {
namespace {

TEST_F(OnScriptedCuda, KernelsAreStartedOneByOneAtFirstAndAsAGraphAfterwards) {
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile(), BP_OK) << text;
    ASSERT_EQ(run(), BP_OK) << text;
    EXPECT_EQ(world().launched, (std::vector<std::string>{"bp_unary_f32_0", "bp_binary_f32_0"}));
    EXPECT_EQ(world().calls["cuGraphLaunch"], 0);
    ASSERT_EQ(run(), BP_OK) << text;
    ASSERT_EQ(run(), BP_OK) << text;
    EXPECT_EQ(world().calls["cuGraphInstantiateWithFlags"], 1);
    EXPECT_EQ(world().calls["cuGraphLaunch"], 2);
    EXPECT_EQ(world().launched.size(), 6U);
}

TEST_F(OnScriptedCuda, ALongRecordingIsGraphsTheFirstOfWhichIsShort) {
    ASSERT_EQ(open(), BP_OK) << text;
    GraphMaker g;
    const uint32_t x = g.tensor(BP_ROLE_INPUT, {4});
    const uint32_t first = g.tensor(BP_ROLE_OUTPUT, {4}), last = g.tensor(BP_ROLE_OUTPUT, {4});
    uint32_t from = x;
    for (int i = 0; i < 200; ++i) {
        const uint32_t to = i == 0 ? first : i == 199 ? last : g.tensor(BP_ROLE_TEMPORARY, {4});
        g.node(BP_OP_softmax, {from}, to, {gpu::integer(BP_ATTR_axis, 0)});
        from = to;
    }
    ASSERT_EQ(kTable.compile(device, g.get(), nullptr, &program, &error), BP_OK) << text;
    ASSERT_EQ(run(), BP_OK) << text;
    ASSERT_EQ(run(), BP_OK) << text;
    EXPECT_EQ(world().calls["cuGraphLaunch"], 3) << "of 32, 96 and 72 kernels";
    EXPECT_EQ(world().launched.size(), 400U);
}

TEST_F(OnScriptedCuda, ManyKernelsSideBySideAreTwoBranchesOfAGraph) {
    ASSERT_EQ(open(), BP_OK) << text;
    Device& opened = *reinterpret_cast<gpu::Device<Api>*>(device)->api;
    Block block = Api::allocate(opened, 1024, gpu::Placement::device);
    const uint32_t constants[] = {128};
    const Kernel kernel = Api::build(opened, gpu::kKernel_copy_4, constants, {});
    const gpu::Range<Block> operands[] = {{&block, 0, 16}, {&block, 256, 16}};
    const struct {
        int kernels;
        bool barriers;
        int joined;     // what waits for another stream: the second branch, and what comes behind both
        int not_early;  // the first of each branch, and what comes behind both
    } cases[] = {{8, false, 2, 3}, {7, false, 0, 0}, {8, true, 0, 0}};
    for (const auto& c : cases) {
        Recording recording = Api::begin(opened, 16);
        for (int i = 0; i < c.kernels; ++i) {
            if (c.barriers) Api::barrier(recording);
            Api::dispatch(recording, kernel, operands, {}, {}, {});
        }
        for (int i = 0; i < 2; ++i) {
            Api::barrier(recording);
            Api::dispatch(recording, kernel, operands, {}, {}, {});
        }
        Queue& queue = opened.queues[0];
        const auto timeline = Api::timeline(opened, queue);
        Api::submit(queue, recording, {}, *timeline, 1);
        world().launches.clear();
        world().calls["cuStreamWaitEvent"] = 0;
        Api::submit(queue, recording, {}, *timeline, 2);
        EXPECT_EQ(world().calls["cuStreamWaitEvent"], c.joined) << c.kernels;
        EXPECT_EQ(std::count_if(world().launches.begin(), world().launches.end(), [](const auto& l) { return !l.early; }),
                  c.not_early)
            << c.kernels;
    }
}

TEST_F(OnScriptedCuda, WhereTheDriverMakesNoGraphKernelsAreStartedOneByOne) {
    for (const char* call : {"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"}) {
        close();
        SetUp();
        world().failures[call] = {900};
        ASSERT_EQ(open(), BP_OK) << text;
        ASSERT_EQ(compile(), BP_OK) << text;
        for (int i = 0; i < 3; ++i) ASSERT_EQ(run(), BP_OK) << text;
        EXPECT_EQ(world().calls["cuGraphLaunch"], 0) << call;
        EXPECT_EQ(world().launched.size(), 6U) << call;
    }
}

TEST_F(OnScriptedCuda, AnOperandOfNoBytesIsSomewhereAllTheSame) {
    ASSERT_EQ(open(), BP_OK) << text;
    Device& opened = *reinterpret_cast<gpu::Device<Api>*>(device)->api;
    Block block = Api::allocate(opened, 1024, gpu::Placement::device);
    Recording recording = Api::begin(opened, 1);
    const gpu::Range<Block> operands[] = {{}, {&block, 256, 16}};
    Api::dispatch(recording, {}, operands, {}, {&block, 512, 512}, {});
    EXPECT_EQ(recording.steps.at(0).operands[0], block.at() + 512);
    EXPECT_EQ(recording.steps.at(0).operands[1], block.at() + 256);
}

TEST_F(OnScriptedCuda, AKernelHasTheConstantsThatItsInstanceLeavesOpen) {
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile(), BP_OK) << text;
    ASSERT_EQ(run(), BP_OK) << text;
    EXPECT_EQ(world().constants["bp_unary_f32_0"][0], uint32_t{BP_OP_abs});
    EXPECT_EQ(world().constants["bp_binary_f32_0"][0], uint32_t{BP_OP_add});
}

TEST_F(OnScriptedCuda, KernelsOfAFileShareWhatIsLoadedWhateverTheirConstantsAreAsLongAsOneOfThemIsThere) {
    ASSERT_EQ(open(), BP_OK) << text;
    Device& opened = *reinterpret_cast<gpu::Device<Api>*>(device)->api;
    const auto build = [&](uint32_t op) {
        return Api::build(opened, gpu::kKernel_unary_f32, std::vector<uint32_t>{128, op}, {});
    };
    const auto loads = [] { return world().calls["cuModuleLoadData"]; };
    world().failures["cuModuleGetFunction"] = {500};
    EXPECT_THROW(build(BP_OP_abs), sdk::Failure);
    const size_t before = world().alive.size();
    EXPECT_EQ(loads(), 1) << "and what was loaded is given back";
    {
        const Kernel absolute = build(BP_OP_abs), square_root = build(BP_OP_sqrt);
        EXPECT_EQ(loads(), 2);
        EXPECT_EQ(world().alive.size(), before + 1);
        Recording recording = Api::begin(opened, 2);
        for (const Kernel* kernel : {&absolute, &square_root})
            Api::dispatch(recording, *kernel, {}, std::vector<uint32_t>{7}, {}, {});
        for (const auto& [step, op] : {std::pair(0, BP_OP_abs), std::pair(1, BP_OP_sqrt)}) {
            EXPECT_EQ(recording.steps.at(step).constants[0], uint32_t{op}) << "what the instance leaves open";
            EXPECT_EQ(recording.steps.at(step).words[0], 7U);
        }
    }
    EXPECT_EQ(world().alive.size(), before);
    const Kernel again = build(BP_OP_abs);
    EXPECT_EQ(loads(), 3);
}

TEST_F(OnScriptedCuda, AProductOfWarpgroupsHasItsSharedMemoryAndMapsOfItsOperands) {
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile_product(), BP_OK) << text;
    ASSERT_EQ(run_product(0), BP_OK) << text;
    ASSERT_EQ(world().launches.size(), 1U);
    const scripted::Launch& launch = world().launches[0];
    EXPECT_EQ(launch.name.rfind("bp_matmul_warpgroup_f16_", 0), 0U) << launch.name;
    EXPECT_EQ(launch.local, 384U);
    EXPECT_GT(launch.shared, 49152U);
    EXPECT_EQ(launch.shared, launch.most_shared) << "the driver is told before";
    ASSERT_EQ(world().maps.size(), 2U);
    const auto place = [](const bp_buffer* b) {
        const gpu::Range<Block> range = reinterpret_cast<const gpu::Buffer<Api>*>(b)->range(0, 16);
        return range.block->at() + range.offset;
    };
    EXPECT_EQ(world().maps[0].at, place(buffers[0]));
    EXPECT_EQ(world().maps[0].extents, (std::vector<uint64_t>{128, 192, 2}));
    EXPECT_EQ(world().maps[0].strides, (std::vector<uint64_t>{256, 192 * 256}));
    EXPECT_EQ(world().maps[0].box, (std::vector<uint32_t>{64, 128, 1}));
    EXPECT_EQ(world().maps[1].at, place(buffers[1]));
    EXPECT_EQ(world().maps[1].extents, (std::vector<uint64_t>{128, 320, 1})) << "the same matrix for all of a";
    // As often as it is run, and as a graph, with what was made for these buffers.
    for (int i = 0; i < 3; ++i) ASSERT_EQ(run_product(0), BP_OK) << text;
    EXPECT_EQ(world().maps.size(), 2U);
}

TEST_F(OnScriptedCuda, AConvolutionOfWarpgroupsHasAMapOfAllItsImages) {
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile_convolution(), BP_OK) << text;
    ASSERT_EQ(run_halves({6 * 40 * 4096, 64 * 40, 6 * 64 * 4096}, 0), BP_OK) << text;
    ASSERT_EQ(world().launches.size(), 2U);
    EXPECT_EQ(world().launches[0].name.rfind("bp_conv_warpgroup_filters_", 0), 0U) << world().launches[0].name;
    EXPECT_EQ(world().launches[1].name.rfind("bp_conv_warpgroup_f16_", 0), 0U) << world().launches[1].name;
    EXPECT_EQ(world().launches[1].groups[2], 6U);
    EXPECT_EQ(world().launches[1].shared, world().launches[1].most_shared);
    ASSERT_EQ(world().maps.size(), 1U);
    EXPECT_EQ(world().maps[0].extents, (std::vector<uint64_t>{64, 40, 64, 6}));
    EXPECT_EQ(world().maps[0].strides, (std::vector<uint64_t>{8192, 128, 40 * 8192}));
    EXPECT_EQ(world().maps[0].box, (std::vector<uint32_t>{64, 16, 8, 1}));
}

TEST_F(OnScriptedCuda, AnOperandThatTheDeviceCannotCopyHasNoMap) {
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile_product(), BP_OK) << text;
    ASSERT_EQ(run_product(2), BP_OK) << text;
    ASSERT_EQ(world().maps.size(), 1U);
    EXPECT_EQ(world().maps[0].extents[1], 320U);
}

TEST_F(OnScriptedCuda, AnOperandThatTheDriverDoesNotDescribeIsSaid) {
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile_product(), BP_OK) << text;
    world().failures["cuTensorMapEncodeTiled"] = {1, 0, true};
    EXPECT_EQ(run_product(0), BP_INTERNAL);
    EXPECT_TRUE(says("describe an operand of matmul_warpgroup_f16 to NVIDIA Test Card")) << text;
}

TEST_F(OnScriptedCuda, WithoutTheSharedMemoryOfWarpgroupsProductsAreMadeOnTheUnitsOfAWarp) {
    world().failures["cuFuncSetAttribute"] = {1, 0, true};
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile_product(), BP_OK) << text;
    ASSERT_EQ(run_product(0), BP_OK) << text;
    ASSERT_EQ(world().launches.size(), 1U);
    EXPECT_EQ(world().launches[0].name.rfind("bp_matmul_matrix_f16_", 0), 0U) << world().launches[0].name;
}

TEST_F(OnScriptedCuda, KernelsAreStartedEarlyWhereTheirMachineCodeWaits) {
    const struct {
        int major, minor;
        bool early;
    } cards[] = {{8, 0, false},
                 {8, 9, false},
                 {9, 0, true},
                 {12, 0, true},
                 {13, 0, false}};  // of 13.0 the driver compiles PTX that does not wait
    for (const auto& card : cards) {
        close();
        SetUp();
        world().cards[0].major = card.major, world().cards[0].minor = card.minor;
        ASSERT_EQ(open(), BP_OK) << text;
        ASSERT_EQ(compile(), BP_OK) << text;
        for (int i = 0; i < 2; ++i) ASSERT_EQ(run(), BP_OK) << text;
        ASSERT_EQ(world().launches.size(), 4U) << "twice one by one: the second time for the graph";
        for (const scripted::Launch& launch : world().launches) EXPECT_EQ(launch.early, card.early) << card.major;
    }
}

TEST_F(OnScriptedCuda, KernelsThatTheDriverDoesNotTakeAreUnsupportedWithItsWords) {
    const struct {
        int result;
        const char* remedy;
    } cases[] = {{222, "update the driver"}, {209, "built for this card"}, {200, "damaged"}};
    for (const auto& c : cases)
        for (const char* call : {"cuModuleLoadData", "cuModuleGetFunction"}) {
            close();
            SetUp();
            ASSERT_EQ(open(), BP_OK) << text;
            world().failures[call] = {c.result, 0, true};
            EXPECT_EQ(compile(), BP_UNSUPPORTED) << call;
            EXPECT_TRUE(says("load kernel ")) << text;
            EXPECT_TRUE(says(c.remedy)) << text;
        }
}

TEST_F(OnScriptedCuda, WhatTheDriverCompilesIsKeptAndTakenBack) {
    world().cards[0].major = 13;
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile(), BP_OK) << text;
    EXPECT_EQ(world().calls["cuLinkComplete"], 2);
    EXPECT_EQ(cache.size(), 2U);
    close();
    const auto kept = cache;
    SetUp();
    world().cards[0].major = 13;
    cache = kept;
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile(), BP_OK) << text;
    EXPECT_EQ(world().calls["cuLinkComplete"], 0);
    bp_program_info info{};
    info.struct_size = BP_SIZE(bp_program_info, moved_bytes);
    ASSERT_EQ(kTable.program_info(program, &info, &error), BP_OK);
    EXPECT_EQ(info.cache_hits, 2U);
}

TEST_F(OnScriptedCuda, MachineCodeIsNotKept) {
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile(), BP_OK) << text;
    EXPECT_EQ(world().calls["cuLinkCreate_v2"], 0);
    EXPECT_TRUE(cache.empty());
}

// A file of all instances may take a driver half a minute: longer than a trial waits.
TEST_F(OnScriptedCuda, TheDriverCompilesTheKernelsOfTheProgramAndNoOther) {
    world().cards[0].major = 13;
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile(), BP_OK) << text;
    ASSERT_FALSE(world().compiled.empty());
    std::set<std::string> texts;
    for (const std::string& given : world().compiled) {
        EXPECT_TRUE(texts.insert(given).second) << "none twice: " << given;
        EXPECT_TRUE(given.starts_with("// ") && given.find('\n') == given.size() - 1) << "one part: " << given;
    }
}

TEST_F(OnScriptedCuda, TheWordsOfTheDriversCompilerAreInTheFailure) {
    world().cards[0].major = 13;
    world().compiler_log = "ptxas fatal: it is\ntoo new";
    world().failures["cuLinkAddData_v2"] = {218, 0, true};
    ASSERT_EQ(open(), BP_OK) << text;
    EXPECT_EQ(compile(), BP_UNSUPPORTED);
    EXPECT_TRUE(says("the driver's compiler says: ptxas fatal: it is too new")) << text;
}

}  // namespace
}  // namespace backplane::cuda
