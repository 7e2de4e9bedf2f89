// Module promises R1 to R9: runs and bindings, worst bindings first.
#include <algorithm>
#include <memory>

#include "backplane/loans.h"
#include "contract/module_under_test.hpp"

namespace contract {
namespace {

class Runs : public Module {
protected:
    void SetUp() override {
        Module::SetUp();
        if (HasFatalFailure() || IsSkipped()) return;
        program = compile(sum_graph(4).get());
        ASSERT_NE(program, nullptr);
        a = buffer({1, -2, 3, -4});
        b = buffer({1, 1, 1, 1});
        y = buffer({9, 9, 9, 9});
    }
    bp_program* program = nullptr;
    bp_buffer *a = nullptr, *b = nullptr, *y = nullptr;
};

TEST_P(Runs, R1_AMissingBindingIsInvalidAndNothingIsWritten) {
    EXPECT_EQ(run(program, {}), BP_INVALID);
    EXPECT_EQ(run(program, {bind(0, a, 16), bind(3, y, 16)}), BP_INVALID);
    EXPECT_EQ(run(program, {bind(0, a, 16), bind(1, b, 16)}), BP_INVALID);
    EXPECT_NE(error.text[0], '\0');
    EXPECT_EQ(read(y, 4), (std::vector<float>{9, 9, 9, 9}));
}

TEST_P(Runs, R2_ABindingThatDoesNotFitIsInvalid) {
    EXPECT_EQ(run(program, {bind(0, a, 12), bind(1, b, 16), bind(3, y, 16)}), BP_INVALID) << "too few bytes";
    EXPECT_EQ(run(program, {bind(0, a, 16), bind(1, b, 16), bind(3, y, 16, 4)}), BP_INVALID) << "past the end of the buffer";
    EXPECT_EQ(run(program, {bind(0, a, 16), bind(1, b, 16), bind(3, y, 16, ~uint64_t{0} - 7)}), BP_INVALID) << "overflow";
    EXPECT_EQ(run(program, {bind(0, nullptr, 16), bind(1, b, 16), bind(3, y, 16)}), BP_INVALID) << "no buffer";
    EXPECT_EQ(run(program, {bind(0, a, 16), bind(1, b, 16), bind(44, y, 16)}), BP_INVALID) << "no such tensor";
    EXPECT_EQ(read(y, 4), (std::vector<float>{9, 9, 9, 9}));
}

TEST_P(Runs, R3_ARunWritesItsOutputsAndNothingElse) {
    bp_buffer* wide = buffer(std::vector<float>(12, 9));
    ASSERT_EQ(run(program, {bind(0, a, 16), bind(1, b, 16), bind(3, wide, 16, 16)}), BP_OK) << error.text;
    EXPECT_EQ(read(wide, 12), (std::vector<float>{9, 9, 9, 9, 2, 0, 4, 0, 9, 9, 9, 9}));
    EXPECT_EQ(read(a, 4), (std::vector<float>{1, -2, 3, -4}));
    EXPECT_EQ(read(b, 4), (std::vector<float>{1, 1, 1, 1}));
}

TEST_P(Runs, R4_OneBufferMayBeBoundTwice) {
    ASSERT_EQ(run(program, {bind(0, a, 16), bind(1, a, 16), bind(3, y, 16)}), BP_OK) << error.text;
    EXPECT_EQ(read(y, 4), (std::vector<float>{2, 0, 6, 0}));
}

TEST_P(Runs, R5_RunsRepeatExactly) {
    bp_program* large = compile(sum_graph(10007).get());
    std::vector<float> values(10007);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 97) * 0.37F - 11.0F;
    bp_buffer* x = buffer(values);
    std::vector<float> first;
    for (int round = 0; round < 4; ++round) {
        bp_buffer* out = buffer(std::vector<float>(values.size(), -1));
        ASSERT_EQ(run(large, {bind(0, x, 40028), bind(1, x, 40028), bind(3, out, 40028)}), BP_OK) << error.text;
        const std::vector<float> now = read(out, values.size());
        if (round == 0) first = now;
        EXPECT_EQ(now, first);
    }
    for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(first[i], values[i] > 0 ? values[i] + values[i] : 0.0F) << i;
}

TEST_P(Runs, R6_ARaisedFlagCancelsAndTheProgramStaysGood) {
    const uint32_t raised = 1;
    EXPECT_EQ(run(program, {bind(0, a, 16), bind(1, b, 16), bind(3, y, 16)}, &raised), BP_CANCELLED);
    const uint32_t lowered = 0;
    EXPECT_EQ(run(program, {bind(0, a, 16), bind(1, b, 16), bind(3, y, 16)}, &lowered), BP_OK) << error.text;
    EXPECT_EQ(read(y, 4), (std::vector<float>{2, 0, 4, 0}));
}

TEST_P(Runs, R7_ImportedMemoryIsUsedInPlaceOrRefused) {
    if (!BP_HAS(api, buffer_import)) GTEST_SKIP() << "this module does not import host memory";
    alignas(4096) static float memory[1024];
    std::fill(std::begin(memory), std::end(memory), 9.0F);
    bp_buffer* imported = nullptr;
    const bp_code code = api->buffer_import(device, memory, sizeof memory, &imported, &error.error);
    if (code == BP_UNSUPPORTED) GTEST_SKIP() << "this device refuses: " << error.text;
    ASSERT_EQ(code, BP_OK) << error.text;
    EXPECT_EQ(run(program, {bind(0, a, 16), bind(1, b, 16), bind(3, imported, 16, 64)}), BP_OK) << error.text;
    api->buffer_close(imported);
    EXPECT_EQ(memory[15], 9.0F);
    EXPECT_EQ(memory[16], 2.0F);
    EXPECT_EQ(memory[18], 4.0F);
    EXPECT_EQ(memory[20], 9.0F);
}

TEST_P(Runs, R8_EmptyTensorsRun) {
    bp_program* empty = compile(sum_graph(0).get());
    ASSERT_NE(empty, nullptr);
    bp_buffer* nothing = buffer_of(0);
    EXPECT_EQ(run(empty, {bind(0, nothing, 0), bind(1, nothing, 0), bind(3, nothing, 0)}), BP_OK) << error.text;
}

TEST_P(Runs, R9_LentMemoryIsNeededWhileWorkUsesItAndIsWhateverIsAtItsPlace) {
    const auto* loans = BP_HAS(api, extension) ? static_cast<const bp_loans*>(api->extension(module, BP_LOANS)) : nullptr;
    if (loans == nullptr) GTEST_SKIP() << "this module takes no loans";
    ASSERT_TRUE(BP_KNOWS(loans, copied_up_to));
    ASSERT_NE(loans->alignment, 0U);
    const size_t least = loans->alignment / sizeof(float);
    auto memory = std::make_unique<float[]>(2 * least + 8);  // NOLINT(modernize-avoid-c-arrays): it goes before its buffer
    const auto place = reinterpret_cast<uintptr_t>(memory.get());
    float* const from = memory.get() + (loans->alignment - place % loans->alignment) % loans->alignment / sizeof(float);
    float* const to = from + std::max<size_t>(least, 4);
    bp_buffer *in = nullptr, *out = nullptr;
    ASSERT_EQ(api->buffer_import(device, from, 16, &in, &error.error), BP_OK) << error.text;
    ASSERT_EQ(api->buffer_import(device, to, 16, &out, &error.error), BP_OK) << error.text;
    for (const float x : {1.0F, 5.0F}) {
        std::fill_n(from, 4, x);
        std::fill_n(to, 4, 9.0F);
        EXPECT_EQ(run(program, {bind(0, in, 16), bind(1, b, 16), bind(3, out, 16)}), BP_OK) << error.text;
        EXPECT_EQ(std::vector<float>(to, to + 4), std::vector<float>(4, x + 1));
    }
    memory.reset();
    api->buffer_close(in);
    api->buffer_close(out);
}

INSTANTIATE_TEST_SUITE_P(Contract, Runs, testing::Range<size_t>(0, modules().size()), module_name);

}  // namespace
}  // namespace contract
