// Every device of this machine, and the CPU with features hidden, against the conformance table: one test per device and op.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "backplane/context.hpp"
#include "backplane/verify.hpp"
#include "support/part.hpp"
#include "support/patience.hpp"
#include "support/test_options.hpp"

namespace backplane {
namespace {

// A device as seen with some CPU features hidden.
struct Target {
    std::string device, mask;
};

ContextOptions options_with(const std::string& mask) {
    ContextOptions options = test::patient();
    options.module_paths = {BP_TEST_MODULES};
    options.search_defaults = false;
    options.use_environment = false;
    options.cpu_mask = mask;
    options.options = test::options_in(BP_TEST_OPTIONS);
    options.options["host.fresh-memory"] = "nan";        // what a kernel reads that nobody wrote shows
    if (!mask.empty()) options.device_filter = "!ggml";  // whose kernels are stock: tests/ggml
    return options;
}

// What machines without AVX-512, without AVX2, and without anything since 2008 have.
const char* const kMasks[] = {"avx512f", "avx512f,avx2", "avx512f,avx2,popcnt"};

std::vector<Target> targets() {
    std::vector<Target> all;
    // A mask that changes nothing of a device (its features read the same) gives no further target.
    std::map<std::string, std::vector<std::string>> known;
    for (const DeviceInfo& info : Context(options_with("")).devices()) {
        all.push_back({info.id, ""});
        known[info.id] = {info.features};
    }
    for (const char* mask : kMasks)
        for (const DeviceInfo& info : Context(options_with(mask)).devices()) {
            if (info.kind != DeviceKind::cpu) continue;
            std::vector<std::string>& features = known[info.id];
            if (std::find(features.begin(), features.end(), info.features) != features.end()) continue;
            features.push_back(info.features);
            all.push_back({info.id, mask});
        }
    return all;
}

std::string name_of(const Target& target) {
    std::string name = target.device + (target.mask.empty() ? "" : "_without_" + target.mask);
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
}

struct Param {
    Target target;
    Op op;
};
void PrintTo(const Param& p, std::ostream* out) { *out << name_of(p.target) << " " << backplane::name_of(p.op); }

std::vector<Param> params() {
    std::vector<Param> all;
    for (const Target& target : targets())
        for (const Op op : all_ops()) all.push_back({target, op});
    return all;
}

// Opening a device may start threads and drivers: once per target, for the tests of one process.
Device device_of(const Target& target) {
    static std::map<std::string, std::pair<std::unique_ptr<Context>, Device>> open;
    auto& [context, device] = open[name_of(target)];
    if (!context) {
        context = std::make_unique<Context>(options_with(target.mask));
        device = context->choose(target.device);
    }
    return device;
}

// Of a driver that builds kernels for minutes the cases of this run's part; of an op with few cases all.
std::vector<VerifyResult> results_of(const Param& p) {
    VerifyOptions options;
    options.op = p.op;
    const Device device = device_of(p.target);
    const test::RunPart part = test::part_of(p.target.device, test::part_of_this_run());
    const std::vector<std::string> names = verify_names(options);
    if (part.is_all() || names.size() < part.parts) return verify(device, options);
    std::vector<VerifyResult> results;
    for (size_t i = 0; i < names.size(); ++i)
        if (part.has(i)) results.push_back(verify_one(device, names[i]));
    return results;
}

// Does docs/ops.md say that the backend has the op?
bool is_said_to_have(const std::string& backend, Op op) {
    static const std::map<std::string, std::string> rows = [] {
        std::map<std::string, std::string> found;
        std::ifstream page(BP_TEST_SOURCE_DIR "/docs/ops.md");
        for (std::string line; std::getline(page, line);)
            if (line.rfind("| ", 0) == 0) found[line.substr(2, line.find(" |", 2) - 2)] = line;
        return found;
    }();
    const std::string& row = rows.at(backplane::name_of(op));
    const std::string cell = row.substr(row.rfind("| ", row.size() - 3));
    return cell == "| all |" || (cell == "| all but ggml |" && backend != "ggml");
}

// A part that left a case out in every turn would say nothing of it, ever.
TEST(ConformanceInParts, EachCaseIsSomeTurnsAndOneOfEightOnPoclTwoOfEightOnLavapipeAndAllElsewhere) {
    for (const auto& [device, turns] :
         std::map<std::string, size_t>{{"opencl:0", 1}, {"vulkan:0", 2}, {"cpu:0", 8}, {"ggml:0", 8}})
        for (size_t index = 0; index < 40; ++index) {
            size_t count = 0;
            for (size_t number = 1; number <= 8; ++number)
                if (test::part_of(device, {number, 8}).has(index)) ++count;
            EXPECT_EQ(count, turns) << device << " " << index;
            EXPECT_TRUE(test::part_of(device, {}).has(index)) << device << " " << index;
        }
}

class Conformance : public testing::TestWithParam<Param> {};

TEST_P(Conformance, HoldsTheTable) {
    const std::vector<VerifyResult> results = results_of(GetParam());
    ASSERT_FALSE(results.empty());
    size_t unsupported = 0;
    const VerifyResult none;
    const VerifyResult* worst = &none;  // of those that passed
    std::string refusals;
    for (const VerifyResult& r : results) {
        EXPECT_NE(r.status, VerifyResult::failed) << r.name << ": " << r.text << " (" << r.worst << " of the bound)";
        if (r.status == VerifyResult::passed && r.worst >= worst->worst) worst = &r;
        if (r.status != VerifyResult::unsupported) continue;
        ++unsupported;
        refusals += "\n  " + r.name + " " + r.text;
    }
    const bool has = unsupported != results.size();
    const std::string backend = GetParam().target.device.substr(0, GetParam().target.device.find(':'));
    if (has || results.size() == verify_names({.op = GetParam().op}).size()) {
        const bool lacks_types = !has && refusals.find("the driver gives kernels no") != std::string::npos;
        EXPECT_EQ(has, is_said_to_have(backend, GetParam().op) && !lacks_types) << "docs/ops.md says otherwise:" << refusals;
    }
    RecordProperty("cases", static_cast<int>(results.size()));
    RecordProperty("unsupported", static_cast<int>(unsupported));
    RecordProperty("worst", worst->name + " " + std::to_string(worst->worst));
    if (unsupported == results.size()) GTEST_SKIP() << "the device supports no case of this op:" << refusals;
    if (unsupported != 0)
        std::cout << "[ NOTE     ] " << unsupported << " of " << results.size() << " unsupported:" << refusals << '\n';
}

INSTANTIATE_TEST_SUITE_P(Devices, Conformance, testing::ValuesIn(params()), [](const auto& which) {
    return name_of(which.param.target) + "_" + backplane::name_of(which.param.op);
});
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Conformance);

// Levels that have instructions for products alone: what they leave of the table is above.
TEST(Products, HoldTheTableAtEachLevelThatIsForThem) {
    size_t devices = 0;
    for (const char* mask : {"avx512_bf16", "avx512_vnni", "avx512f,avx_vnni"})
        for (const DeviceInfo& info : Context(options_with(mask)).devices()) {
            if (info.id != "cpu:0") continue;
            ++devices;
            VerifyOptions options;
            options.op = Op::matmul;
            size_t passed = 0;
            for (const VerifyResult& r : verify(device_of({info.id, mask}), options)) {
                EXPECT_NE(r.status, VerifyResult::failed) << mask << ", " << r.name << ": " << r.text;
                passed += r.status == VerifyResult::passed ? 1 : 0;
            }
            EXPECT_GT(passed, 600U) << mask;
        }
    if (devices == 0) GTEST_SKIP() << "this build has no cpu:0";
}

// What docs/architecture.md says of f64: a model that holds some runs on the CPU, but for what networks alone are made of.
TEST(Doubles, TheCpuComputesWithThemButForTheOpsThatThePageNames) {
    const Context context(options_with(""));
    const std::vector<DeviceInfo> all = context.devices();
    if (std::none_of(all.begin(), all.end(), [](const DeviceInfo& info) { return info.id == "cpu:0"; }))
        GTEST_SKIP() << "this build has no cpu:0";
    VerifyOptions options;
    options.name_filter = "f64";
    std::set<std::string> refused;
    size_t passed = 0;
    for (const VerifyResult& r : verify(context.choose("cpu:0"), options)) {
        EXPECT_NE(r.status, VerifyResult::failed) << r.name << ": " << r.text;
        if (r.status == VerifyResult::unsupported) refused.insert(r.name.substr(0, r.name.find('/')));
        passed += r.status == VerifyResult::passed ? 1 : 0;
    }
    EXPECT_EQ(refused, (std::set<std::string>{"Attention", "GRU", "GridSample", "LSTM", "RoiAlign", "RotaryEmbedding"}));
    EXPECT_GT(passed, 700U);
}

Device first_device() {
    Context context(options_with(""));
    const std::vector<DeviceInfo> devices = context.devices();
    return devices.empty() ? Device() : context.choose(devices.front().id);
}

TEST(Verify, EveryCaseIsReportedOnceAndInOrder) {
    const Device device = first_device();
    if (!device) GTEST_SKIP() << "this build has no device";
    VerifyOptions options;
    options.op = Op::softmax;
    std::vector<std::string> told;
    options.progress = [&](const VerifyResult& r) { told.push_back(r.name); };
    std::vector<std::string> returned;
    for (const VerifyResult& r : verify(device, options)) returned.push_back(r.name);
    EXPECT_EQ(told, verify_names(options));
    EXPECT_EQ(returned, verify_names(options));
}

TEST(Verify, TheFilterChoosesByPartOfTheName) {
    VerifyOptions options;
    options.name_filter = "Conv/depthwise";
    const std::vector<std::string> names = verify_names(options);
    EXPECT_GE(names.size(), 20U);
    for (const std::string& name : names) EXPECT_NE(name.find("Conv/depthwise"), std::string::npos);
    options.op = Op::relu;
    EXPECT_TRUE(verify_names(options).empty());
}

TEST(Verify, ACancelledVerificationStops) {
    const Device device = first_device();
    if (!device) GTEST_SKIP() << "this build has no device";
    std::atomic<uint32_t> cancel{0};
    VerifyOptions options;
    size_t done = 0;
    options.cancel = &cancel;
    options.progress = [&](const VerifyResult&) { cancel = ++done == 3 ? 1 : 0; };
    try {
        verify(device, options);
        FAIL() << "it went on";
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), Code::cancelled) << e.what();
    }
    EXPECT_EQ(done, 3U);
}

TEST(Verify, NoDeviceIsAnError) { EXPECT_THROW(verify(Device()), Error); }

}  // namespace
}  // namespace backplane
