// Module promises M1 to M12: loading, versions, listing, devices, options, errors.
#include <thread>

#include "contract/module_under_test.hpp"
#include "support/system.hpp"

namespace contract {
namespace {

TEST_P(Module, M1_AForeignMajorIsAnsweredWithNull) {
    EXPECT_EQ(entry((BP_ABI_MAJOR + 1) << 16), nullptr);
    EXPECT_EQ(entry(0), nullptr);
    EXPECT_NE(entry((BP_ABI_MAJOR << 16) | 0xFFFF), nullptr) << "a host of a later minor is served";
}

TEST_P(Module, M2_TheEntryIsPureAndCanBeCalledFromAnyThread) {
    std::vector<std::jthread> callers;
    for (int t = 0; t < 8; ++t)
        callers.emplace_back([this] {
            for (int i = 0; i < 1000; ++i) EXPECT_EQ(entry(BP_ABI), api);
        });
}

TEST_P(Module, M3_TheTableHasEveryRequiredFunction) {
    EXPECT_EQ(api->abi >> 16, BP_ABI_MAJOR);
    EXPECT_TRUE(BP_HAS(api, open) && BP_HAS(api, close) && BP_HAS(api, list) && BP_HAS(api, device_open) &&
                BP_HAS(api, device_close));
    EXPECT_TRUE(BP_HAS(api, query) && BP_HAS(api, compile) && BP_HAS(api, program_info) && BP_HAS(api, run) &&
                BP_HAS(api, program_close));
    EXPECT_TRUE(BP_HAS(api, buffer_create) && BP_HAS(api, buffer_close) && BP_HAS(api, copy));
}

TEST_P(Module, M4_InstancesAreIndependent) {
    bp_module* other = nullptr;
    ASSERT_EQ(api->open(full_host(), &other, &error.error), BP_OK) << error.text;
    EXPECT_NE(other, module);
    api->close(other);
    compile(sum_graph(8).get());  // ours still works
}

TEST_P(Module, M5_AHostWithAShortTableIsServed) {
    bp_module* other = nullptr;
    ASSERT_EQ(api->open(bare_host(), &other, &error.error), BP_OK) << error.text;
    uint32_t count = 0;
    ASSERT_EQ(api->list(other, nullptr, &count, &error.error), BP_OK) << error.text;
    if (count == 0) {
        api->close(other);
        GTEST_SKIP() << "without options it finds no device: " << error.text;
    }
    bp_device* on_bare = nullptr;
    ASSERT_EQ(api->device_open(other, device_id, &on_bare, &error.error), BP_OK) << error.text;
    api->device_close(on_bare);
    api->close(other);
}

TEST_P(Module, M6_ListWritesNoFurtherThanTheRoomItIsGiven) {
    uint32_t count = 77;
    const bp_array none{nullptr, 0, sizeof(bp_device_info)};
    ASSERT_EQ(api->list(module, &none, &count, &error.error), BP_OK) << error.text;
    EXPECT_GE(count, 1U);
    // A record of a host that knew only id and name, with a canary behind it.
    alignas(8) std::byte record[sizeof(bp_device_info)];
    std::memset(record, 0xCD, sizeof record);
    const uint32_t known = BP_SIZE(bp_device_info, name);
    std::memset(record, 0, known);
    std::memcpy(record, &known, sizeof known);
    const bp_array one{record, 1, sizeof record};
    ASSERT_EQ(api->list(module, &one, &count, &error.error), BP_OK) << error.text;
    const auto* told = reinterpret_cast<const bp_device_info*>(record);
    EXPECT_EQ(told->struct_size, known);
    EXPECT_EQ(told->id, device_id);
    EXPECT_NE(told->name, nullptr);
    for (size_t i = known; i < sizeof record; ++i) ASSERT_EQ(record[i], std::byte{0xCD}) << "byte " << i;
}

TEST_P(Module, M7_DeviceIdsAreStable) {
    for (int round = 0; round < 3; ++round) {
        bp_device_info told{};
        told.struct_size = BP_SIZE(bp_device_info, warning);
        const bp_array room{&told, 1, sizeof told};
        uint32_t count = 0;
        ASSERT_EQ(api->list(module, &room, &count, nullptr), BP_OK);
        EXPECT_EQ(told.id, device_id);
    }
}

TEST_P(Module, M8_AnUnknownDeviceIsNotFound) {
    bp_device* none = nullptr;
    EXPECT_EQ(api->device_open(module, 0xDEADBEEFULL, &none, &error.error), BP_NOT_FOUND);
    EXPECT_EQ(none, nullptr);
    EXPECT_NE(error.text[0], '\0');
}

TEST_P(Module, M9_ANullErrorIsAllowedAndATextIsCutToItsRoom) {
    bp_device* none = nullptr;
    EXPECT_EQ(api->device_open(module, 0xDEADBEEFULL, &none, nullptr), BP_NOT_FOUND);
    char room[8];
    std::memset(room, 'x', sizeof room);
    bp_error small{BP_SIZE(bp_error, capacity), BP_OK, 0, room, 4};
    EXPECT_EQ(api->device_open(module, 0xDEADBEEFULL, &none, &small), BP_NOT_FOUND);
    EXPECT_EQ(room[3], '\0');
    EXPECT_EQ(room[4], 'x') << "written past the capacity";
    bp_error textless{BP_SIZE(bp_error, capacity), BP_OK, 0, nullptr, 0};
    EXPECT_EQ(api->device_open(module, 0xDEADBEEFULL, &none, &textless), BP_NOT_FOUND);
    EXPECT_EQ(textless.code, BP_NOT_FOUND);
}

TEST_P(Module, M10_OptionsListTheirValuesAndRefuseWhatTheyDoNotKnow) {
    if (!BP_HAS(api, options)) GTEST_SKIP() << "this module has no options";
    std::vector<bp_option> options(64);
    for (bp_option& o : options) o.struct_size = BP_SIZE(bp_option, text);
    const bp_array room{options.data(), 64, sizeof(bp_option)};
    uint32_t count = 0;
    ASSERT_EQ(api->options(device, &room, &count, &error.error), BP_OK) << error.text;
    for (uint32_t i = 0; i < std::min(count, 64U); ++i) {
        ASSERT_NE(options[i].name, nullptr);
        EXPECT_EQ(api->option_set(device, &options[i], &error.error), BP_OK) << options[i].name << ": " << error.text;
        if (options[i].type == BP_OPTION_INT && options[i].integer_most != 0) {
            bp_option beyond = options[i];
            beyond.integer = options[i].integer_most + 1;
            EXPECT_EQ(api->option_set(device, &beyond, &error.error), BP_INVALID) << options[i].name;
        }
    }
    bp_option unknown{};
    unknown.struct_size = BP_SIZE(bp_option, text);
    unknown.type = BP_OPTION_INT;
    unknown.name = "no-such-option";
    EXPECT_EQ(api->option_set(device, &unknown, &error.error), BP_NOT_FOUND);
}

TEST_P(Module, M11_BuffersOfAnySizeAndCopiesThatStayInside) {
    buffer_of(0);
    bp_buffer* twelve = buffer_of(12);
    const float values[4] = {1, 2, 3, 4};
    bp_copy copy{};
    copy.struct_size = BP_SIZE(bp_copy, signal);
    copy.from_host = values;
    copy.to_buffer = twelve;
    copy.bytes = 16;
    EXPECT_EQ(api->copy(device, &copy, &error.error), BP_INVALID);
    copy.bytes = 8;
    copy.to_offset = ~uint64_t{0} - 3;
    EXPECT_EQ(api->copy(device, &copy, &error.error), BP_INVALID) << "an offset that overflows";
    copy.to_offset = 4;
    EXPECT_EQ(api->copy(device, &copy, &error.error), BP_OK) << error.text;
    EXPECT_EQ(read(twelve, 2, 4), (std::vector<float>{1, 2}));
}

TEST_P(Module, M12_OpeningAndClosingLeavesNothingBehind) {
    auto once = [this] {
        bp_module* m = nullptr;
        ASSERT_EQ(api->open(full_host(), &m, nullptr), BP_OK);
        bp_device* d = nullptr;
        ASSERT_EQ(api->device_open(m, device_id, &d, nullptr), BP_OK);
        bp_compile how{};
        how.struct_size = BP_SIZE(bp_compile, math);
        bp_program* p = nullptr;
        ASSERT_EQ(api->compile(d, sum_graph(100).get(), &how, &p, nullptr), BP_OK);
        api->program_close(p);
        api->device_close(d);
        api->close(m);
    };
    once();
    const size_t files = backplane::test::open_files();
    const size_t tasks = backplane::test::threads();
    for (int round = 0; round < 50; ++round) once();
    EXPECT_EQ(backplane::test::open_files(), files);
    EXPECT_EQ(backplane::test::threads(), tasks);
}

INSTANTIATE_TEST_SUITE_P(Contract, Module, testing::Range<size_t>(0, modules().size()), module_name);

TEST(Contract, ThereAreModulesToTest) { EXPECT_GE(modules().size(), 2U); }

}  // namespace
}  // namespace contract
