// For every module of the zoo, beside a good one that it outranks: the host lives, the good one's device is chosen and computes, and the
// report says why in a sentence.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "backplane/context.hpp"
#include "backplane/runtime.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

struct Animal {
    const char* fault;
    Verdict verdict;
    ReasonCode code;
    const char* words;  // in the reason
};

std::ostream& operator<<(std::ostream& out, const Animal& a) { return out << a.fault; }

const Animal kZoo[] = {
    {"constructor_crashes", Verdict::failed, ReasonCode::quarantined, "signal 11"},
    {"constructor_hangs", Verdict::failed, ReasonCode::timed_out, "during 'load'"},
    {"constructor_exits", Verdict::failed, ReasonCode::quarantined, "exit code 0"},
    {"constructor_aborts", Verdict::failed, ReasonCode::quarantined, "bad driver version"},
    {"constructor_becomes_another_program", Verdict::failed, ReasonCode::quarantined, "exit code 0"},
    {"constructor_spawns_a_thread", Verdict::loaded, ReasonCode::none, ""},
    {"constructor_changes_signals", Verdict::loaded, ReasonCode::none, ""},
    {"symbol_is_unresolved", Verdict::failed, ReasonCode::open_failed, "zoo_nobody_defines_this"},
    {"entry_is_missing", Verdict::failed, ReasonCode::open_failed, "backplane_module"},
    {"entry_crashes", Verdict::failed, ReasonCode::quarantined, "during 'table'"},
    {"table_is_null", Verdict::failed, ReasonCode::open_failed, "no table"},
    {"table_is_short", Verdict::failed, ReasonCode::open_failed, "4 bytes"},
    {"table_lacks_a_function", Verdict::failed, ReasonCode::open_failed, "run"},
    {"table_is_of_another_abi", Verdict::failed, ReasonCode::open_failed, "ABI 7"},
    {"table_is_garbage", Verdict::failed, ReasonCode::quarantined, "during 'open'"},
    {"open_crashes", Verdict::failed, ReasonCode::quarantined, "during 'open'"},
    {"open_hangs", Verdict::failed, ReasonCode::timed_out, "did not come back"},
    {"open_exits", Verdict::failed, ReasonCode::quarantined, "exit code 3"},
    {"open_fails", Verdict::failed, ReasonCode::open_failed, "driver is not there"},
    {"open_gives_nothing", Verdict::failed, ReasonCode::open_failed, "no handle"},
    {"open_spins", Verdict::failed, ReasonCode::timed_out, "did not come back"},
    {"list_crashes", Verdict::failed, ReasonCode::quarantined, "during 'list'"},
    {"list_lies_about_the_count", Verdict::failed, ReasonCode::open_failed, "4294967295"},
    {"list_repeats_a_device", Verdict::failed, ReasonCode::open_failed, "same id"},
    {"list_is_empty", Verdict::failed, ReasonCode::open_failed, "no such hardware"},
    {"list_has_wild_strings", Verdict::failed, ReasonCode::quarantined, "during 'list'"},
    {"list_fails", Verdict::failed, ReasonCode::open_failed, "driver says no"},
    {"close_crashes", Verdict::failed, ReasonCode::quarantined, "during 'close'"},
    {"close_hangs", Verdict::failed, ReasonCode::timed_out, "during 'close'"},
    {"output_is_a_flood", Verdict::loaded, ReasonCode::none, ""},
    {"forges_the_record", Verdict::failed, ReasonCode::quarantined, "signal 11"},
    {"leaves_a_child_behind", Verdict::loaded, ReasonCode::none, ""},
};

class Zoo : public testing::TestWithParam<Animal> {
protected:
    Zoo() {
        std::string name = (fs::temp_directory_path() / "backplane-zoo-XXXXXX").string();
        folder_ = ::mkdtemp(name.data());
        const std::string bad = std::string("backplane-") + GetParam().fault + ".so";
        fs::create_directory(folder_ / "modules");
        fs::copy_file(fs::path(BP_TEST_ZOO) / bad, folder_ / "modules" / bad);
        fs::copy_file(fs::path(BP_TEST_MINIMAL) / "backplane-minimal.so", folder_ / "modules" / "backplane-minimal.so");
    }
    ~Zoo() override { fs::remove_all(folder_); }

    [[nodiscard]] ContextOptions options() const {
        ContextOptions o;
        o.module_paths = {folder_ / "modules"};
        o.search_defaults = o.use_linked_in = o.use_environment = false;
        o.state_folder = folder_ / "state";
        o.probe_limit = std::chrono::milliseconds(1500);
        o.probe_program = fs::path(BP_TEST_BINARY_DIR) / "lib" / "backplane" / "backplane-probe";
        return o;
    }
    void expect_the_right_outcome(const Context& context) const {
        const Animal& animal = GetParam();
        const Report report = context.report();
        ASSERT_EQ(report.candidates.size(), 2U);
        const bool bad_first = report.candidates[0].path.filename() != "backplane-minimal.so";
        ASSERT_TRUE(bad_first) << "it claims to be better and is tried first";
        EXPECT_EQ(report.candidates[0].verdict, animal.verdict) << report.summary();
        EXPECT_EQ(report.candidates[0].code, animal.code) << report.summary();
        EXPECT_NE(report.candidates[0].reason.find(animal.words), std::string::npos) << report.summary();
        ASSERT_EQ(report.devices.size(), 1U) << report.summary();

        Graph graph;
        graph.output(graph.add(Op::relu, {graph.input("x", DType::f32, {4})}), "y");
        Session session(context.choose("minimal"), graph, WeightSource{});
        const std::vector<float> in{1, -2, 3, -4};
        std::vector<float> out(4, 9);
        session.run({{{"x", std::as_bytes(std::span(in))}}}, {{{"y", std::as_writable_bytes(std::span(out))}}});
        EXPECT_EQ(out, (std::vector<float>{1, 0, 3, 0}));
    }
    fs::path folder_;
};

TEST_P(Zoo, TheHostLivesTheRightDeviceRunsAndTheReasonIsGiven) {
    expect_the_right_outcome(Context(options()));
    ASSERT_EQ(std::distance(fs::directory_iterator(folder_ / "state"), {}), 1) << "one trial remembered";
    const fs::path entry = fs::directory_iterator(folder_ / "state")->path();
    const auto written = fs::last_write_time(entry);
    expect_the_right_outcome(Context(options()));
    EXPECT_EQ(fs::last_write_time(entry), written) << "not tried again";
}

TEST_P(Zoo, AnotherStateFolderThatCannotBeWrittenChangesNothing) {
    ContextOptions o = options();
    o.state_folder = "/proc/no/such/place";
    expect_the_right_outcome(Context(o));
}

INSTANTIATE_TEST_SUITE_P(Modules, Zoo, testing::ValuesIn(kZoo),
                         [](const testing::TestParamInfo<Animal>& animal) { return std::string(animal.param.fault); });

}  // namespace
}  // namespace backplane
