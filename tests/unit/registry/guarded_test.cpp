// What a module throws, and what it does to floating-point numbers, is its own affair: the call says so, the host and the other modules go on.
#include <gtest/gtest.h>

#include <cfenv>
#include <filesystem>

#include "backplane/context.hpp"
#include "backplane/runtime.hpp"
#include "support/system.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

// The faulty module, the example that it outranks, and another backend.
class GuardedCalls : public ::testing::Test {
protected:
    ~GuardedCalls() override {
        test::unset_environment("BACKPLANE_TEST_FAULT");
        std::fesetround(FE_TONEAREST);
    }
    static void fault(const std::string& plan) { test::set_environment("BACKPLANE_TEST_FAULT", plan); }
    static std::string faulty() { return test::library("backplane-faulty"); }
    static ContextOptions options() {
        ContextOptions options;
        options.module_paths = {fs::path(BP_TEST_FAULTY) / "none", BP_TEST_MINIMAL, fs::path(BP_TEST_SCRIPTED) / "1"};
        options.search_defaults = options.use_linked_in = options.use_environment = false;
        options.probe = ProbePolicy::never;
        return options;
    }
    static bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }
};

std::array<float, 4> computed_by(const Device& device) {
    Graph graph;
    graph.output(graph.add(Op::relu, {graph.input("x", DType::f32, {4})}), "y");
    Session session(device, graph, WeightSource{});
    const std::array<float, 4> in{1, -2, 3, -4};
    std::array<float, 4> out{9, 9, 9, 9};
    session.run({{{"x", std::as_bytes(std::span(in))}}}, {{{"y", std::as_writable_bytes(std::span(out))}}});
    return out;
}
constexpr std::array<float, 4> kRight{1, 0, 3, 0};

TEST_F(GuardedCalls, WhatIsThrownBeforeTheModuleIsLoadedCostsThatModuleAndTheNextBestIsTaken) {
    for (const char* call : {"table", "open", "list"})
        for (const char* what : {"throw", "throw-memory", "throw-number", "throw-text", "throw-own"}) {
            const std::string plan = std::string("both ") + call + " 1 " + what;
            fault(plan);
            const Context context(options());
            const Report report = context.report();
            const auto failed = std::find_if(report.candidates.begin(), report.candidates.end(),
                                             [](const Candidate& c) { return c.path.filename() == faulty(); });
            ASSERT_NE(failed, report.candidates.end());
            EXPECT_EQ(failed->verdict, Verdict::failed) << plan;
            const std::string function = std::string(call) == "table" ? "backplane_module" : call;
            EXPECT_TRUE(has(failed->reason, faulty() + " threw out of '" + function + "'"))
                << plan << ": " << failed->reason;
            if (std::string(what) == "throw" || std::string(what) == "throw-text") {
                EXPECT_TRUE(has(failed->reason, "driver says boo")) << failed->reason;
            }
            EXPECT_EQ(report.devices.size(), 2U) << plan << ": " << report.summary();
            EXPECT_EQ(context.choose("minimal").info().module_version, "1.0.0") << plan;
            EXPECT_EQ(computed_by(context.choose("minimal")), kRight) << plan;
        }
}

TEST_F(GuardedCalls, AModuleThatThrowsWhenItIsAskedAgainIsFailedAndTheNextBestTakesItsPlace) {
    fault("both list 2 throw");
    Context context(options());
    EXPECT_EQ(context.devices().size(), 2U);
    const Report report = context.report();
    EXPECT_EQ(report.devices.size(), 2U) << report.summary();
    for (const Candidate& c : report.candidates) {
        EXPECT_EQ(c.verdict, c.path.filename() == faulty() ? Verdict::failed : Verdict::loaded) << c.path;
        EXPECT_EQ(has(c.reason, "threw out of 'list': driver says boo"), c.path.filename() == faulty()) << c.reason;
    }
    EXPECT_EQ(computed_by(context.choose("minimal")), kRight);
    EXPECT_EQ(computed_by(context.choose("scripted")).size(), 4U);
    test::unset_environment("BACKPLANE_TEST_FAULT");
    context.rescan();
    EXPECT_EQ(context.choose("minimal").info().module_version, "9.0.0") << "it is asked again";
}

TEST_F(GuardedCalls, ADeviceWhoseOpeningThrowsIsPassedOverForTheNext) {
    fault("both device_open 1 throw");
    ContextOptions o = options();
    o.device_filter = "minimal,scripted";
    const Context context(o);
    EXPECT_EQ(context.choose().info().backend, "scripted");
    bool noted = false;
    for (const std::string& note : context.report().notes)
        noted = noted ||
                has(note, "minimal:0: cannot open the device: " + faulty() + " threw out of 'device_open': driver says boo");
    EXPECT_TRUE(noted);
}

TEST_F(GuardedCalls, AHandleThatAModuleSaysItMadeAndDidNotIsAnErrorOfThatCall) {
    for (const char* call : {"compile", "buffer_create", "device_open"}) {
        fault(std::string("both ") + call + " 0 nothing");
        const Context context(options());
        try {
            (void)computed_by(context.choose("minimal"));
            FAIL() << call;
        } catch (const Error& error) {
            EXPECT_TRUE(has(error.what(), "gives no handle")) << call << ": " << error.what();
            EXPECT_TRUE(has(error.what(), "minimal:0")) << call << ": " << error.what();
        }
    }
}

TEST_F(GuardedCalls, WhatADeviceThrowsIsAnErrorOfThatCallWhichNamesIt) {
    for (const char* call : {"query", "compile", "program_info", "run", "buffer_create", "copy", "heaps"}) {
        test::unset_environment("BACKPLANE_TEST_FAULT");
        const Context context(options());
        const Device device = context.choose("minimal");
        fault(std::string("both ") + call + " 0 throw");
        try {
            (void)device.heaps();
            (void)query(device, [] {
                Graph graph;
                graph.output(graph.add(Op::relu, {graph.input("x", DType::f32, {4})}), "y");
                return graph;
            }());
            computed_by(device);
            FAIL() << call << " threw, and nothing was said";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::internal) << call;
            EXPECT_TRUE(has(error.what(), faulty() + " threw out of '" + call + "': driver says boo")) << error.what();
        }
        test::unset_environment("BACKPLANE_TEST_FAULT");
        EXPECT_EQ(computed_by(device), kRight) << "after " << call;
    }
}

TEST_F(GuardedCalls, WhatIsThrownWhileThingsAreClosedIsLoggedAndSwallowed) {
    for (const char* call : {"close", "device_close", "program_close", "buffer_close", "extension"}) {
        std::string log;
        ContextOptions o = options();
        o.log = [&log](LogLevel level, std::string_view text) {
            if (level == LogLevel::warning) log += std::string(text) + "\n";
        };
        fault(std::string("both ") + call + " 0 throw");
        {
            const Context context(o);
            const Device device = context.choose("minimal");
            EXPECT_EQ(device.extension("none of that name"), nullptr);
            EXPECT_EQ(computed_by(device), kRight);
        }
        EXPECT_TRUE(has(log, faulty() + " threw out of '" + call + "': driver says boo")) << call << ": " << log;
    }
}

// 1/3 in float, by the mode of the calling thread.
float a_third() {
    volatile float one = 1;
    volatile float three = -3;
    return one / three;
}

TEST_F(GuardedCalls, NoCallOfAModuleChangesHowTheCallerRounds) {
    const float right = a_third();
    for (const char* call :
         {"constructor", "table", "open", "list", "device_open", "heaps", "query", "compile", "program_info", "run",
          "buffer_create", "copy", "buffer_close", "program_close", "device_close", "close"}) {
        fault(std::string("both ") + call + " 0 round");
        {
            const Context context(options());
            EXPECT_EQ(a_third(), right) << call;
            const Device device = context.choose("minimal");
            (void)device.heaps();
            EXPECT_EQ(computed_by(device), kRight);
            EXPECT_EQ(a_third(), right) << call;
        }
        EXPECT_EQ(a_third(), right) << call;
    }
}

TEST_F(GuardedCalls, AHostThatRoundsOtherwiseStillDoesAfterARun) {
    const Context context(options());
    const Device device = context.choose("minimal");
    fault("both run 0 round");
    std::fesetround(FE_UPWARD);
    computed_by(device);
    const int mode = std::fegetround();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(mode, FE_UPWARD);
}

}  // namespace
}  // namespace backplane
