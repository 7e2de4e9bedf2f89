// A graph over several devices: a module with faults on demand (tests/support/scripted) in front of the build's own CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "backplane/ops.hpp"
#include "backplane/spread.hpp"
#include "backplane/tune.hpp"
#include "registry/remembered.hpp"
#include "support/system.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

class Spread : public ::testing::Test {
protected:
    Spread() : folder_(test::make_temporary_folder()) {}
    ~Spread() override {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    void script(const std::string& text) const { std::ofstream(folder_ / "script") << text; }
    // version 3 drives a driver: its ops are checked first.
    [[nodiscard]] ContextOptions options(const char* version = "1") const {
        ContextOptions options;
        options.module_paths = {fs::path(BP_TEST_SCRIPTED) / version, std::string(BP_TEST_BINARY_DIR) + "/lib/backplane"};
        options.search_defaults = options.use_environment = false;
        options.probe = ProbePolicy::never;
        options.state_folder = folder_ / "state";
        options.options = {{"scripted.script", (folder_ / "script").string()}};
        return options;
    }
    static std::shared_ptr<SpreadDevices> devices_of(const Context& context, const char* filter = "scripted") {
        return std::make_shared<SpreadDevices>(context.choose_with_fallback(filter), [](std::string_view name) {
            static constexpr std::array<float, 4> kWeight{10, 20, 30, 40};
            return name == "w" ? std::as_bytes(std::span(kWeight)) : std::span<const std::byte>();
        });
    }
    fs::path folder_;
};

// y = relu(x * w + tanh(x + x)), z = x + x: the scripted device knows Add, Mul and Relu, not Tanh.
Graph with_tanh() {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {4});
    const TensorId w = g.weight("w", DType::f32, {4});
    const TensorId twice = g.add(Op::add, {x, x});
    const TensorId bent = g.add(Op::tanh, {twice});
    const TensorId scaled = g.add(Op::mul, {x, w});
    const TensorId sum = g.add(Op::add, {scaled, bent});
    g.output(g.add(Op::relu, {sum}), "y");
    g.output(twice, "z");
    return g;
}

Graph without_tanh() {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {4});
    g.output(g.add(Op::relu, {g.add(Op::mul, {x, g.weight("w", DType::f32, {4})})}), "y");
    return g;
}

struct Results {
    std::array<float, 4> y{}, z{};
};
Results run(SpreadSession& session) {
    const std::array<float, 4> x{-1, 0.5, 1, 2};
    Results r;
    std::vector<NamedRoom> out{{"y", std::as_writable_bytes(std::span(r.y))}};
    if (session.graph().with_role(Role::output).size() == 2) out.push_back({"z", std::as_writable_bytes(std::span(r.z))});
    session.run({{{"x", std::as_bytes(std::span(x))}}}, out);
    return r;
}
void expect_right(const Results& r, bool tanh = true) {
    const std::array<float, 4> x{-1, 0.5, 1, 2};
    const std::array<float, 4> w{10, 20, 30, 40};
    for (size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(r.y[i], std::max(0.0F, x[i] * w[i] + (tanh ? std::tanh(2 * x[i]) : 0.0F)), 1e-5) << i;
        EXPECT_EQ(r.z[i], tanh ? 2 * x[i] : 0) << i;
    }
}
std::string notes_of(const SpreadSession& session) {
    std::string text;
    for (const std::string& note : session.report().notes) text += note + "\n";
    return text;
}
Code code_of(const std::function<void()>& body, std::string* text = nullptr) {
    try {
        body();
    } catch (const Error& error) {
        if (text != nullptr) *text = error.what();
        return error.code();
    }
    return Code::ok;
}

TEST_F(Spread, AGraphThatTheFirstDeviceRunsWholeIsNotCut) {
    const Context context(options());
    SpreadSession session(devices_of(context), without_tanh());
    expect_right(run(session), false);
    const SpreadReport report = session.report();
    ASSERT_EQ(report.parts.size(), 1U);
    EXPECT_EQ(report.parts[0].device, "scripted:0");
    EXPECT_EQ(report.copies, 0U);
    EXPECT_TRUE(report.notes.empty()) << notes_of(session);
}

// What the runs of a session say: "scripted:0 Add x 2 x3; " for three.
std::string counted(const Session& session) {
    std::string text;
    for (const StageRuns& ran : session.runs()) text += ran.device + " " + ran.ops + " x" + std::to_string(ran.runs) + "; ";
    return text;
}

TEST_F(Spread, RunsAreCountedByStageWhereTheyRanAndALostDeviceKeepsItsOwn) {
    const Context context(options());
    const std::array<float, 4> x{-1, 0.5, 1, 2};
    const std::array<float, 4> w{10, 20, 30, 40};
    std::array<float, 4> y{};
    std::array<float, 4> z{};
    const Weights weights([&](std::string_view) { return std::as_bytes(std::span(w)); });
    const auto run_one = [&](Session& session) {
        session.run({{"x", std::as_bytes(std::span(x))}},
                    {{"y", std::as_writable_bytes(std::span(y))}, {"z", std::as_writable_bytes(std::span(z))}});
    };
    Session session(context.choose_with_fallback("scripted"), with_tanh(), weights);
    EXPECT_EQ(counted(session), "");
    run_one(session);
    run_one(session);
    const std::vector<StageRuns> ran = session.runs();
    ASSERT_EQ(ran.size(), 3U) << counted(session);
    for (const size_t stage : {0U, 1U, 2U}) {
        EXPECT_EQ(ran[stage].device, stage == 1 ? "cpu:0" : "scripted:0") << counted(session);
        EXPECT_EQ(ran[stage].runs, 2U);
    }
    EXPECT_EQ(ran[1].nodes, 1U);
    EXPECT_EQ(ran[1].ops, "Tanh");
    script("run 8 0\n");  // it is lost, and has run nothing of this
    run_one(session);
    uint64_t on_lost = 0;
    uint64_t on_cpu = 0;
    for (const StageRuns& stage : session.runs()) (stage.device == "cpu:0" ? on_cpu : on_lost) += stage.runs;
    EXPECT_EQ(on_lost, 4U) << counted(session);
    EXPECT_EQ(on_cpu, 5U) << counted(session);
}

TEST_F(Spread, WhatTheFirstDoesNotSupportRunsOnTheCpuAndCopiesAreCounted) {
    const Context context(options());
    SpreadSession session(devices_of(context), with_tanh());
    for (int round = 0; round < 3; ++round) expect_right(run(session));
    const SpreadReport report = session.report();
    ASSERT_EQ(report.parts.size(), 3U);
    EXPECT_EQ(report.parts[0].device, "scripted:0");
    EXPECT_EQ(report.parts[0].ops, "Add, Mul") << "all that can run before the other device is needed";
    EXPECT_EQ(report.parts[1].device, "cpu:0");
    EXPECT_EQ(report.parts[1].ops, "Tanh");
    EXPECT_EQ(report.parts[2].ops, "Add, Relu");
    EXPECT_EQ(report.copies, 2U);
    EXPECT_EQ(report.copied_bytes, 32U);
    EXPECT_NE(notes_of(session).find("scripted:0 does not support Tanh"), std::string::npos) << notes_of(session);
}

TEST_F(Spread, EachOutputOfANodeGoesToWhoReadsIt) {
    const Context context(options());
    Graph g;
    const std::vector<TensorId> parts = ops::split(g, g.input("x", DType::f32, {4}), {.sizes = {1, 3}});
    g.output(ops::add(g, parts[0], parts[0]), "y");  // on the first device, the split and the other on the cpu
    g.output(ops::tanh(g, parts[1]), "z");
    g.output(parts[1], "rest");
    SpreadSession session(devices_of(context), g);
    const std::array<float, 4> x{-1, 0.5, 1, 2};
    std::array<float, 3> z{}, rest{};
    float y = 0;
    session.run({{{"x", std::as_bytes(std::span(x))}}}, {{{"y", std::as_writable_bytes(std::span(&y, 1))},
                                                          {"z", std::as_writable_bytes(std::span(z))},
                                                          {"rest", std::as_writable_bytes(std::span(rest))}}});
    EXPECT_EQ(y, -2);
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(rest[i], x[i + 1]);
        EXPECT_NEAR(z[i], std::tanh(x[i + 1]), 1e-6);
    }
    EXPECT_GT(session.report().parts.size(), 1U);
}

TEST_F(Spread, WithoutADeviceThatCanTheOpsAreNamed) {
    const Context context(options());
    auto alone = std::make_shared<SpreadDevices>(std::vector{context.choose("scripted")}, WeightSource{});
    std::string text;
    EXPECT_EQ(code_of([&] { SpreadSession(alone, with_tanh()); }, &text), Code::unsupported);
    EXPECT_NE(text.find("Tanh"), std::string::npos) << text;
    EXPECT_EQ(code_of([&] { SpreadDevices({}, WeightSource{}); }), Code::invalid);
}

TEST_F(Spread, ADeviceLostInMidRunHandsOverAndTheResultIsRight) {
    for (const char* when : {"run 8 0\n", "run 8 1\n"}) {  // in its first part, and in its second
        script("");
        const Context context(options());
        SpreadSession session(devices_of(context), with_tanh());
        script(when);
        expect_right(run(session));
        EXPECT_NE(notes_of(session).find("what remained was done by cpu:0"), std::string::npos) << notes_of(session);
        script("");
        for (int round = 0; round < 2; ++round) expect_right(run(session));
        for (const SpreadPart& part : session.report().parts)
            EXPECT_EQ(part.device, "cpu:0") << "a lost device is not tried again";
    }
}

TEST_F(Spread, AWholeGraphHandsOverToo) {
    const Context context(options());
    SpreadSession session(devices_of(context), without_tanh());
    expect_right(run(session), false);
    script("run 8 1\n");
    expect_right(run(session), false);
    EXPECT_EQ(session.report().parts.at(0).device, "cpu:0");
}

TEST_F(Spread, ADeviceOutOfMemoryHandsItsPartOver) {
    {
        const Context context(options());
        SpreadSession session(devices_of(context), with_tanh());
        script("run 7\n");  // BP_NO_DEVICE_MEMORY
        expect_right(run(session));
        EXPECT_NE(notes_of(session).find("cpu:0"), std::string::npos);
    }
    script("create 7\n");  // no buffer at all, from the start
    const Context context(options());
    SpreadSession session(devices_of(context), with_tanh());
    expect_right(run(session));
    for (const SpreadPart& part : session.report().parts) EXPECT_EQ(part.device, "cpu:0");
    SpreadOptions stay;
    stay.build_elsewhere = false;
    EXPECT_EQ(code_of([&] { SpreadSession(devices_of(context), without_tanh(), stay); }), Code::no_device_memory);
}

TEST_F(Spread, OtherErrorsAreNotHidden) {
    const Context context(options());
    SpreadSession session(devices_of(context), with_tanh());
    script("run 13\n");  // BP_INTERNAL: a bug is no reason to go on as if nothing had happened
    EXPECT_EQ(code_of([&] { run(session); }), Code::internal);
    script("run 8\n");
    auto alone = std::make_shared<SpreadDevices>(std::vector{context.choose("scripted")}, WeightSource{});
    Graph g;
    const TensorId x = g.input("x", DType::f32, {4});
    g.output(g.add(Op::relu, {x}), "y");
    SpreadSession only(alone, g);
    std::string text;
    EXPECT_EQ(code_of([&] { run(only); }, &text), Code::device_lost);
    EXPECT_NE(text.find("no other device"), std::string::npos) << text;
}

TEST_F(Spread, WrongNamesAndSizesAreRefusedAlsoWhenTheGraphIsCut) {
    const Context context(options());
    SpreadSession session(devices_of(context), with_tanh());
    std::array<float, 4> four{};
    const NamedRoom y{"y", std::as_writable_bytes(std::span(four))};
    const NamedRoom z{"z", std::as_writable_bytes(std::span(four))};
    const NamedBytes x{"x", std::as_bytes(std::span(four))};
    const NamedBytes small{"x", std::as_bytes(std::span(four).first(3))};
    const NamedBytes other{"q", std::as_bytes(std::span(four))};
    EXPECT_EQ(code_of([&] { session.run({{x}}, {{y}}); }), Code::invalid);
    EXPECT_EQ(code_of([&] { session.run({{small}}, {{y, z}}); }), Code::invalid);
    EXPECT_EQ(code_of([&] { session.run({{other}}, {{y, z}}); }), Code::not_found);
}

TEST_F(Spread, ASessionOfSeveralDevicesSubmitsTensorsAndHandsOver) {
    const Context context(options());
    const std::vector<Device> devices = context.choose_with_fallback("scripted");
    const Weights weights([](std::string_view) {
        static constexpr std::array<float, 4> kWeight{10, 20, 30, 40};
        return std::as_bytes(std::span(kWeight));
    });
    Session session(devices, with_tanh(), weights);
    EXPECT_EQ(session.notes().size(), 1U);
    EXPECT_EQ(code_of([&] { static_cast<void>(session.program()); }), Code::not_found) << "it is cut";
    const std::array<float, 4> x{-1, 0.5, 1, 2};
    for (const char* when : {"", "run 8 0\n", ""}) {
        script(when);
        Results r;
        Tensor y;
        const Event event =
            session.submit({{"x", std::as_bytes(std::span(x))}}, {{"y", &y}, {"z", std::as_writable_bytes(std::span(r.z))}});
        event.wait();
        y.read(std::as_writable_bytes(std::span(r.y)));
        expect_right(r);
    }
    EXPECT_GT(session.notes().size(), 1U);
    EXPECT_EQ(code_of([&] { const Session none(std::vector<Device>{}, with_tanh(), weights); }), Code::invalid);
}

// An accumulator through a Tanh: s becomes s + tanh(x).
Graph accumulator() {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {4});
    const TensorId s = g.state("s", DType::f32, {4});
    const TensorId next = g.add(Op::add, {s, g.add(Op::tanh, {x})});
    g.update(s, next);
    g.output(g.add(Op::relu, {next}), "y");
    return g;
}

TEST_F(Spread, StateOfACutGraphSurvivesTheLossOfADevice) {
    const Context context(options());
    SpreadSession session(devices_of(context), accumulator());
    ASSERT_GT(session.report().parts.size(), 1U);
    const float step = std::tanh(1.0F);
    EXPECT_NEAR(run(session).y[2], step, 1e-6);
    EXPECT_NEAR(run(session).y[2], 2 * step, 1e-6);
    script("run 8\n");
    EXPECT_NEAR(run(session).y[2], 3 * step, 1e-6) << "in the very run in which it is lost";
    EXPECT_NEAR(run(session).y[2], 4 * step, 1e-6);
    session.reset_state();
    EXPECT_NEAR(run(session).y[2], step, 1e-6);
}

TEST_F(Spread, StateThatADeviceHeldAloneIsLostWithItAndThatIsSaid) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {4});
    const TensorId s = g.state("s", DType::f32, {4});
    const TensorId next = g.add(Op::add, {s, x});
    g.update(s, next);
    g.output(g.add(Op::relu, {next}), "y");
    const Context context(options());
    SpreadSession session(devices_of(context, "cpu"), g);
    EXPECT_EQ(run(session).y[3], 2);
    EXPECT_EQ(run(session).y[3], 4);
    session.reset_state();
    EXPECT_EQ(run(session).y[3], 2);
}

TEST_F(Spread, AnOpThatADriverGetsWrongIsLeftToTheCpuAndRemembered) {
    script("wrong " + std::to_string(static_cast<int>(Op::mul)) + "\n");
    {
        const Context context(options("3"));
        SpreadSession session(devices_of(context), without_tanh());
        expect_right(run(session), false);
        EXPECT_NE(notes_of(session).find("scripted:0 computes Mul wrongly"), std::string::npos) << notes_of(session);
        EXPECT_EQ(session.report().parts.at(0).device, "cpu:0");
        EXPECT_EQ(session.report().parts.at(1).device, "scripted:0") << "the device stays in use";
    }
    script("");  // repaired, but nothing that is watched has changed: what is remembered counts
    {
        const Context context(options("3"));
        SpreadSession session(devices_of(context), without_tanh());
        EXPECT_NE(notes_of(session).find("computes Mul wrongly"), std::string::npos) << notes_of(session);
    }
    fs::remove_all(folder_ / "state");
    const Context context(options("3"));
    SpreadSession session(devices_of(context), without_tanh());
    EXPECT_EQ(session.report().parts.size(), 1U) << notes_of(session);
    expect_right(run(session), false);
}

TEST_F(Spread, AnOpThatWouldNotBuildIsNotCalledWrongIsNotRememberedAndIsUsedAsSoonAsItBuilds) {
    for (const char* fault : {"compile 13\n", "run 13\n", "create 7\n"}) {
        script(fault);
        {
            const Context context(options("3"));
            SpreadSession session(devices_of(context), without_tanh());
            expect_right(run(session), false);
            EXPECT_NE(notes_of(session).find("scripted:0 would not build or run Mul"), std::string::npos)
                << notes_of(session);
            EXPECT_EQ(notes_of(session).find("wrong"), std::string::npos) << notes_of(session);
            EXPECT_EQ(notes_of(session).find("remembered"), std::string::npos) << notes_of(session);
        }
        script("");
        {
            const Context context(options("3"));
            SpreadSession session(devices_of(context), without_tanh());
            EXPECT_EQ(session.report().parts.size(), 1U) << notes_of(session);
            expect_right(run(session), false);
        }
        fs::remove_all(folder_ / "state");  // Windows keeps what is open
    }
}

TEST_F(Spread, WithoutADeviceToStandInTheDriversWordsAreInTheError) {
    script("compile 13\n");
    const Context context(options("3"));
    try {
        const SpreadSession session(devices_of(context, "scripted,!cpu"), without_tanh());
        FAIL() << "it runs";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("would not build or run"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("compile"), std::string::npos) << error.what();
    }
}

TEST_F(Spread, AWrongOpIsRememberedForAMonthAndSaysSoAndHowToForgetIt) {
    script("wrong " + std::to_string(static_cast<int>(Op::mul)) + "\n");
    const Context context(options("3"));
    for (const char* time : {"first", "second"}) {
        SpreadSession session(devices_of(context), without_tanh());
        for (const char* words : {"remembered since 20", " UTC until 20", "backplane modules forget ", "scripted"})
            EXPECT_NE(notes_of(session).find(words), std::string::npos) << time << ": " << notes_of(session);
    }
    const auto all = registry::all_remembered(folder_ / "state");
    const auto wrong = std::find_if(all.begin(), all.end(), [](const auto& r) { return r.outcome == "wrong"; });
    ASSERT_NE(wrong, all.end());
    EXPECT_EQ(wrong->device, "scripted:0");
    EXPECT_NEAR(static_cast<double>(wrong->until - wrong->when), 30.0 * 86400, 5);
    script("");
    EXPECT_GE(registry::forget_remembered(folder_ / "state", context.choose("scripted").info().module), 1U);
    SpreadSession session(devices_of(Context(options("3"))), without_tanh());
    EXPECT_EQ(session.report().parts.size(), 1U) << notes_of(session);
}

TEST_F(Spread, TheFastestDeviceIsRememberedOnlyForAnHourWhereAnotherFailed) {
    const WeightSource weights = [](std::string_view) {
        static constexpr std::array<float, 4> kWeight{10, 20, 30, 40};
        return std::as_bytes(std::span(kWeight));
    };
    for (const bool fails : {true, false}) {
        script(fails ? "compile 13\n" : "");
        const Context context(options("3"));
        static_cast<void>(tune(context, without_tanh(), weights, {.runs = 1, .seconds = 1}));
        EXPECT_FALSE(tuned_device(context, without_tanh()).empty());
        const auto all = registry::all_remembered(folder_ / "state");
        const auto tuned = std::find_if(all.begin(), all.end(), [](const auto& r) { return r.kind == "tuned"; });
        ASSERT_NE(tuned, all.end());
        if (fails)
            EXPECT_NEAR(static_cast<double>(tuned->until - tuned->when), 3600, 5);
        else
            EXPECT_EQ(tuned->until, 0);
        EXPECT_GE(registry::forget_all_remembered(folder_ / "state"), 1U);
        EXPECT_EQ(tuned_device(context, without_tanh()), "") << "forgotten like all else";
    }
}

TEST_F(Spread, AModuleWithoutADriverIsNotChecked) {
    script("wrong " + std::to_string(static_cast<int>(Op::mul)) + "\n");
    const Context context(options("1"));
    SpreadSession session(devices_of(context), without_tanh());
    EXPECT_TRUE(session.report().notes.empty()) << "nothing is run before the first use of what needs no driver";
    EXPECT_FALSE(fs::exists(folder_ / "state" / "ops"));
}

// "reference" (and what drives a GPU, where it is built) waits: nobody asks its drivers for devices that are not wanted.
TEST_F(Spread, OnlyTheChosenDeviceAndTheCpuAreLoaded) {
    const auto loaded = [](Context& context) {
        std::string text;
        static_cast<void>(code_of([&] { context.unload("nothing"); }, &text));
        return text.substr(text.find("there are: "));
    };
    for (const char* filter : {"scripted", "scripted:0", "cpu:0"}) {
        ContextOptions asked = options();
        asked.device_filter = filter;
        Context context(asked);
        const std::vector<Device> devices = context.choose_with_fallback();
        EXPECT_EQ(devices.back().info().id, "cpu:0");
        const std::string second = devices.size() == 2 ? ", scripted" : "";
        EXPECT_EQ(loaded(context), "there are: cpu" + second) << filter;
        EXPECT_NE(context.why().find(filter), std::string::npos) << context.why();
        EXPECT_EQ(loaded(context), "there are: cpu" + second) << "why() loads nothing";
        EXPECT_EQ(context.report().why, context.why());
        EXPECT_NE(loaded(context).find("reference"), std::string::npos) << "report() loads all";
    }
}

TEST_F(Spread, AFilterThatExcludesTheCpuIsRespected) {
    const Context context(options());
    EXPECT_EQ(context.choose_with_fallback("scripted").size(), 2U);
    EXPECT_EQ(context.choose_with_fallback("scripted,!cpu").size(), 1U);
    EXPECT_EQ(context.choose_with_fallback("cpu").size(), 1U);
}

}  // namespace
}  // namespace backplane
