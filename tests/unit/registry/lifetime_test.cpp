// Who keeps a module, what becomes of handles whose device went, and what a file replaced in mid-use is.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "backplane/context.hpp"
#include "backplane/runtime.hpp"
#include "base/file.hpp"
#include "support/system.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

// A folder with the scripted module, and its script.
class Lifetime : public ::testing::Test {
protected:
    Lifetime() : folder_(test::make_temporary_folder()) { install("1"); }
    ~Lifetime() override {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }

    // As installers do it: a new file under the old name.
    void install(const std::string& version) const {
        fs::copy_file(fs::path(BP_TEST_SCRIPTED) / version / file().filename(), folder_ / "new");
        ASSERT_EQ(base::replace(folder_ / "new", file()), "");
    }
    void script(const std::string& text) const { std::ofstream(folder_ / "script") << text; }
    [[nodiscard]] fs::path file() const { return folder_ / test::library("backplane-scripted"); }
    [[nodiscard]] ContextOptions options() const {
        ContextOptions options;
        options.module_paths = {folder_};
        options.search_defaults = false;
        options.use_linked_in = false;
        options.use_environment = false;
        options.options = {{"scripted.script", (folder_ / "script").string()}};
        return options;
    }

private:
    fs::path folder_;
};

struct Thrown {
    Code code = Code::ok;
    std::string text;
};
Thrown thrown_by(const std::function<void()>& body) {
    try {
        body();
    } catch (const Error& error) {
        return {error.code(), error.what()};
    }
    return {};
}

#define EXPECT_SAYS(thrown, what) EXPECT_NE((thrown).text.find(what), std::string::npos) << (thrown).text

Graph doubled() {
    Graph graph;
    const TensorId x = graph.input("x", DType::f32, {4});
    graph.output(graph.add(Op::add, {x, x}), "y");
    return graph;
}

std::array<float, 4> run(Session& session) {
    const std::array<float, 4> x{1, 2, 3, 4};
    std::array<float, 4> y{};
    session.run({{{"x", std::as_bytes(std::span(x))}}}, {{{"y", std::as_writable_bytes(std::span(y))}}});
    return y;
}

Session session_on(const Device& device) {
    return {device, doubled(), [](std::string_view) { return std::span<const std::byte>(); }};
}

TEST_F(Lifetime, UnloadRefusesWhileSomethingLivesAndNamesIt) {
    Context context(options());
    EXPECT_SAYS(thrown_by([&] { context.unload("nothing"); }), "there are: scripted");
    {
        std::optional<Device> device = context.choose("scripted");
        const Thrown open = thrown_by([&] { context.unload("scripted"); });
        EXPECT_EQ(open.code, Code::busy);
        EXPECT_SAYS(open, "scripted:0 is open with 0 buffers and 0 programs");

        const Buffer buffer(*device, 8);
        std::optional<Session> session = session_on(*device);
        run(*session);
        device.reset();
        const Thrown more = thrown_by([&] { context.unload("scripted"); });
        EXPECT_EQ(more.code, Code::busy);
        EXPECT_SAYS(more, "1 program;");
        session.reset();
        EXPECT_SAYS(thrown_by([&] { context.unload("scripted"); }), "1 buffer and 0 programs");
        EXPECT_TRUE(test::is_loaded(file()));
    }
    context.unload("scripted");
    EXPECT_FALSE(test::is_loaded(file()));
    EXPECT_TRUE(context.devices().empty());
    const Report report = context.report();
    ASSERT_EQ(report.candidates.size(), 1U);
    EXPECT_EQ(report.candidates[0].code, ReasonCode::unloaded);
    EXPECT_EQ(thrown_by([&] { context.unload("scripted"); }).code, Code::not_found);
}

// What is lost is lost in every round, so that three measurements in a row show it; what an allocator keeps now and then (a thread that ended
// elsewhere, blocks for reuse) is in one of them.
template <class Rounds>
void expect_no_growth(uint64_t bytes, const Rounds& rounds) {
    uint64_t least = UINT64_MAX;
    for (int time = 0; time < 3 && least >= bytes; ++time) {
        const uint64_t before = test::bytes_allocated();
        rounds();
        const uint64_t now = test::bytes_allocated();
        least = std::min(least, now > before ? now - before : 0);
    }
    EXPECT_LT(least, bytes);
}

TEST_F(Lifetime, AfterUnloadTheFileCanBeReplacedAndARescanLoadsTheNewOne) {
    Context context(options());
    EXPECT_EQ(context.choose("scripted").info().name, "scripted 1");
    context.unload("scripted");
    install("2");
    context.rescan();
    ASSERT_EQ(context.devices().size(), 1U);
    EXPECT_EQ(context.devices()[0].name, "scripted 2");
    EXPECT_EQ(context.devices()[0].module_version, "2.0.0");
}

TEST_F(Lifetime, AThousandRoundsOfUnloadAndRescanLeaveNothingBehind) {
    Context context(options());
    const size_t files = test::open_files();
    for (int round = 0; round < BP_TEST_ROUNDS; ++round) {
        ASSERT_EQ(context.choose("scripted").info().name, "scripted 1");
        context.unload("scripted");
        ASSERT_FALSE(test::is_loaded(file()));
        context.rescan();
    }
    EXPECT_EQ(test::open_files(), files);
}

TEST_F(Lifetime, RoundsOfUnloadAndRescanTakeNoMemoryForGood) {
    if (test::bytes_allocated() == 0) GTEST_SKIP() << "this system, or its sanitizer, does not count what is allocated";
    Context context(options());
    const auto rounds = [&](int count) {
        for (int round = 0; round < count; ++round) {
            ASSERT_EQ(context.choose("scripted").info().name, "scripted 1");
            context.unload("scripted");
            context.rescan();
        }
    };
    rounds(200);
    expect_no_growth(16384, [&] { rounds(1000); });
}

// As an application does that has a context for each of its own tasks: everything made, used and given back.
void use_contexts(const ContextOptions& options, const std::vector<std::string>& backends, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        const Context context(options);
        for (const std::string& backend : backends) {
            Session session = session_on(context.choose(backend));
            ASSERT_EQ(run(session)[0], 2);
        }
    }
}

TEST_F(Lifetime, RoundsOfWholeContextsTakeNoMemoryForGood) {
    if (test::bytes_allocated() == 0) GTEST_SKIP() << "this system, or its sanitizer, does not count what is allocated";
    use_contexts(options(), {"scripted"}, 200);
    expect_no_growth(16384, [&] { use_contexts(options(), {"scripted"}, 1000); });
}

TEST_F(Lifetime, RoundsOfWholeContextsOfTheBackendsHereTakeNoMemoryForGood) {
    if (test::bytes_allocated() == 0) GTEST_SKIP() << "this system, or its sanitizer, does not count what is allocated";
    ContextOptions all = options();
    std::vector<std::string> backends;
    for (const char* name : {"cpu", "reference"}) {
        const fs::path module = fs::path(BP_TEST_MODULES) / test::library(std::string("backplane-") + name);
        if (!fs::exists(module)) continue;
        backends.emplace_back(name);
        all.module_paths.push_back(module);
    }
    if (backends.empty()) GTEST_SKIP() << "this build has no module files of its own";
    use_contexts(all, backends, 100);
    expect_no_growth(8192, [&] { use_contexts(all, backends, 500); });
}

TEST_F(Lifetime, AFileReplacedInMidUseIsEitherTheNewOneOrRefusedNeverTheOldOneUnderItsName) {
    Context context(options());
    const Device old = context.choose("scripted");
    Session session = session_on(old);
    for (const char* version : {"2", "1", "2"}) {
        install(version);
        context.rescan();
        const Report report = context.report();
        for (const DeviceInfo& device : report.devices) {
            EXPECT_EQ(device.module_version, std::string(version) + ".0.0");
            EXPECT_EQ(device.name, std::string("scripted ") + version)
                << "its descriptor is of the new file, its code is not";
        }
        if (report.devices.empty()) {
            ASSERT_EQ(report.candidates.size(), 1U);
            EXPECT_EQ(report.candidates[0].code, ReasonCode::load_failed);
            EXPECT_NE(report.candidates[0].reason.find("in use"), std::string::npos) << report.candidates[0].reason;
        }
    }
    EXPECT_EQ(run(session), (std::array<float, 4>{2, 4, 6, 8})) << "what was open goes on with the file it began with";
}

TEST_F(Lifetime, AHostThatLoadedTheFileItselfHasItOnce) {
    ASSERT_NE(test::symbol_of(file(), "backplane_module"), nullptr);
    const size_t before = test::open_files();
    Context context(options());
    EXPECT_EQ(context.choose("scripted").info().name, "scripted 1");
    EXPECT_EQ(test::times_loaded(file()), 1U);
    EXPECT_EQ(test::open_files(), before);
}

TEST_F(Lifetime, HandlesOfADeviceThatWentAnswerSoAndOneThatCameIsThere) {
    script("device 7 2 first\ndevice 9 2 second\n");
    Context context(options());
    ASSERT_EQ(context.devices().size(), 2U);
    const Device first = context.choose("name=first");
    const Device second = context.choose("name=second");
    Session on_first = session_on(first);
    Session on_second = session_on(second);

    script("device 9 2 second\ndevice 11 2 third\n");
    context.rescan();
    const Thrown gone = thrown_by([&] { run(on_first); });
    EXPECT_EQ(gone.code, Code::device_lost);
    EXPECT_SAYS(gone, "(first) is gone");
    EXPECT_EQ(thrown_by([&] { const Buffer buffer(first, 4); }).code, Code::device_lost);
    EXPECT_EQ(thrown_by([&] { session_on(first); }).code, Code::device_lost);
    EXPECT_EQ(thrown_by([&] { (void)query(first, doubled()); }).code, Code::device_lost);
    EXPECT_EQ(run(on_second)[3], 8) << "the other one stays, though its number is another now";
    EXPECT_TRUE(context.choose("name=second") == second);
    EXPECT_EQ(context.choose("name=third").info().name, "third");

    script("device 7 2 first\n");  // plugged in again
    context.rescan();
    EXPECT_EQ(thrown_by([&] { run(on_first); }).code, Code::device_lost) << "an old handle stays lost";
    Session again = session_on(context.choose("name=first"));
    EXPECT_EQ(run(again)[0], 2);
}

TEST_F(Lifetime, ALostDeviceAnswersWithoutTheModuleUntilItIsOpenedAgain) {
    Context context(options());
    std::optional<Device> device = context.choose("scripted");
    std::optional<Session> session = session_on(*device);
    script("run 8\n");  // BP_DEVICE_LOST
    EXPECT_EQ(thrown_by([&] { run(*session); }).code, Code::device_lost);
    script("");
    const Thrown later = thrown_by([&] { run(*session); });
    EXPECT_EQ(later.code, Code::device_lost);
    EXPECT_SAYS(later, "open the device again");
    session.reset();
    device.reset();
    Session fresh = session_on(context.choose("scripted"));
    EXPECT_EQ(run(fresh)[0], 2);
}

TEST_F(Lifetime, AModuleThatFoundNothingIsAskedAgainByARescan) {
    script("no-devices\n");
    Context context(options());
    EXPECT_TRUE(context.devices().empty());
    EXPECT_SAYS(thrown_by([&] { (void)context.choose(); }), "unplugged");
    EXPECT_FALSE(test::is_loaded(file())) << "nothing half-registered";
    script("");
    context.rescan();
    EXPECT_EQ(context.choose().info().name, "scripted 1");
}

TEST_F(Lifetime, ThreadsThatRunLoadUnloadAndRescanAtOnceGetAnswersOrTypedErrors) {
    Context context(options());
    std::vector<std::thread> threads;
    for (int number = 0; number < 8; ++number)
        threads.emplace_back([&, number] {
            for (int round = 0; round < 40; ++round) {
                try {
                    if (number == 0) context.rescan();
                    if (number == 1) context.unload("scripted");
                    if (number == 2) static_cast<void>(context.report().json());
                    Session session = session_on(context.choose("scripted"));
                    EXPECT_EQ(run(session)[1], 4);
                } catch (const Error& error) {
                    EXPECT_TRUE(error.code() == Code::busy || error.code() == Code::not_found) << error.what();
                }
            }
        });
    for (std::thread& thread : threads) thread.join();
    context.rescan();
    EXPECT_EQ(context.devices().size(), 1U);
}

TEST_F(Lifetime, WhatAModuleSaysBesideItsDevicesIsANoteOfTheReport) {
    script("");
    Context context(options());
    EXPECT_TRUE(context.report().notes.empty());
    script("remark other-driver-broken\n");
    const Report report = context.report();
    ASSERT_EQ(report.devices.size(), 1U);
    ASSERT_EQ(report.notes.size(), 1U);
    EXPECT_EQ(report.notes[0].rfind("scripted: ", 0), 0U) << report.notes[0];
    EXPECT_NE(report.notes[0].find("other-driver-broken"), std::string::npos) << report.notes[0];
    script("");
    context.rescan();
    EXPECT_TRUE(context.report().notes.empty()) << "of the scan before";
}

}  // namespace
}  // namespace backplane
