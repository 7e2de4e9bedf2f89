// What the replacement remembers of modules, for how long, and what it must never remember.
#include <unistd.h>

#include <fstream>

#include "dropin.hpp"

namespace {

using namespace dropin;

bool has(const Outcome& o, const std::string& part) { return o.text.find(part) != std::string::npos; }

class Remembered : public Dropin {
protected:
    [[nodiscard]] std::string all() const { return "all " + modules().string() + " devices"; }
    static void give(const fs::path& file, unsigned owner) { EXPECT_EQ(chown(file.c_str(), owner, owner), 0); }
};

TEST_F(Remembered, ATrialThatWasEndedFromOutsideIsNoVerdict) {
    add_stock("libggml-cpu-x64.so");
    add_faulty("ENDED_BY_ENVIRONMENT", "libggml-cpu-zen4.so");
    for (const char* signal : {"15", "9", "1", "2"}) {
        const Outcome ended = run(all(), std::string("FAULTY_SIGNAL=") + signal);
        expect(ended, "devices 1, registrations 1: CPU");
        expect(ended, "its trial was ended from outside");
    }
    expect(run(all()), "devices 1, registrations 1: FakeGPU");
}

TEST_F(Remembered, ARefusalSaysThatItIsRememberedAndHowToForgetIt) {
    add_stock("libggml-cpu-x64.so");
    add_faulty("INIT_CRASHES");
    const Outcome first = run(all());
    EXPECT_FALSE(has(first, "remembered since")) << first.text;
    const Outcome second = run(all());
    expect(second, "(remembered since ");
    const size_t at = second.text.find("; remove ");
    ASSERT_NE(at, std::string::npos) << second.text;
    const fs::path file = second.text.substr(at + 9, second.text.find(" to have it tried again", at) - at - 9);
    EXPECT_TRUE(fs::remove(file)) << file;
    const Outcome third = run(all());
    EXPECT_FALSE(has(third, "remembered since")) << third.text;
}

TEST_F(Remembered, TheCommandLineListsAndForgetsIt) {
    if (std::string(BP_GGML_CLI).empty()) GTEST_SKIP() << "this build has no command line";
    const auto cli = [&](const std::string& words) {
        return shell("BACKPLANE_STATE_DIR=" + (root_ / "state").string() + " " BP_GGML_CLI " modules " + words);
    };
    add_stock("libggml-cpu-x64.so");
    add_faulty("INIT_CRASHES");
    expect(run(all()), "devices 1, registrations 1: CPU");
    expect(cli("remembered"), (modules() / "libggml-cpu-faulty.so").string());
    expect(cli("remembered --json"), (modules() / "libggml-cpu-x64.so").string());
    expect(cli("forget " + (modules() / "libggml-cpu-faulty.so").string()), "will be tried again");
    const Outcome again = run(all());
    EXPECT_FALSE(has(again, "remembered since")) << again.text;
    EXPECT_TRUE(has(run(all()), "remembered since"));
    expect(cli("forget"), "2 forgotten");
    expect(cli("remembered"), "Nothing is remembered");
}

TEST_F(Remembered, AnotherProbeTriesThingsAgain) {
    add_stock("libggml-cpu-x64.so");
    add_faulty("INIT_CRASHES");
    const fs::path library = own_library("own");
    const auto run_own = [&] { return run(all(), "", library); };
    run_own();
    EXPECT_TRUE(has(run_own(), "remembered since"));
    fs::copy_file(root_ / "own" / "backplane-probe-ggml", root_ / "new");
    fs::rename(root_ / "new", root_ / "own" / "backplane-probe-ggml");  // repaired: another file of that name
    const Outcome o = run_own();
    EXPECT_TRUE(has(o, "libggml-cpu-faulty.so")) << o.text;
    EXPECT_FALSE(has(o, "remembered since")) << o.text;
}

TEST_F(Remembered, ARefusalEndsWhenALibraryThatTheModuleNeedsComesOrChanges) {
    add_stock("libggml-cpu-x64.so");
    add_faulty("LIBRARY_MISSING", "libggml-cpu-zen4.so");
    expect(run(all()), "devices 1, registrations 1: CPU");
    fs::copy_file(BP_GGML_ABSENT, modules() / "libabsent.so");
    expect(run(all()), "devices 1, registrations 1: FakeGPU");
    fs::remove(modules() / "libabsent.so");
    fs::create_directory(root_ / "elsewhere");
    const std::string path = "LD_LIBRARY_PATH=" + (root_ / "elsewhere").string();
    fs::rename(modules() / "libggml-cpu-zen4.so", modules() / "libggml-cpu-zen5.so");
    expect(run(all(), path), "devices 1, registrations 1: CPU");
    fs::copy_file(BP_GGML_ABSENT, root_ / "elsewhere" / "libabsent.so");
    expect(run(all(), path), "devices 1, registrations 1: FakeGPU");
}

// As an installer repairs it: another file under the name of the one that was there.
TEST_F(Remembered, ACrashEndsWhenTheLibraryThatCrashedIsReplaced) {
    add_stock("libggml-cpu-x64.so");
    fs::create_directory(root_ / "elsewhere");
    for (const fs::path& folder : {modules(), root_ / "elsewhere"}) {
        // Of the one before it is known that it is good.
        add_faulty("LIBRARY_MISSING", folder == modules() ? "libggml-cpu-zen4.so" : "libggml-cpu-zen5.so");
        const std::string path = "LD_LIBRARY_PATH=" + folder.string();
        const fs::path library = folder / "libabsent.so";
        fs::copy_file(BP_GGML_ABSENT_ABORTS, library);
        const Outcome first = run(all(), path);
        expect(first, "devices 1, registrations 1: CPU");
        expect(first, "it crashed with aborted (signal 6) during 'init'");
        expect(run(all(), path), "(remembered since ");
        fs::copy_file(BP_GGML_ABSENT, folder / "new");
        fs::rename(folder / "new", library);
        expect(run(all(), path), "devices 1, registrations 1: FakeGPU");
        fs::remove(library);
        fs::remove(modules() / "libggml-cpu-zen4.so");
    }
}

TEST_F(Remembered, AGoodVerdictEndsWhenALibraryThatTheModuleNeedsIsReplaced) {
    add_stock("libggml-cpu-x64.so");
    add_faulty("LIBRARY_MISSING", "libggml-cpu-zen4.so");
    const auto replace = [&](const fs::path& with) {
        fs::copy_file(with, root_ / "new");
        fs::rename(root_ / "new", modules() / "libabsent.so");
    };
    replace(BP_GGML_ABSENT);
    for (int start = 0; start < 2; ++start) expect(run(all()), "devices 1, registrations 1: FakeGPU");
    replace(BP_GGML_ABSENT_ABORTS);
    const Outcome o = run(all());
    expect(o, "devices 1, registrations 1: CPU");
    expect(o, "it crashed with aborted (signal 6) during 'init'");
    replace(BP_GGML_ABSENT);
    const std::string named = "load " + (modules() / "libggml-cpu-zen4.so").string() + " devices";
    expect(run(named), "devices 1, registrations 1: FakeGPU");
    replace(BP_GGML_ABSENT_ABORTS);
    expect(run(named), "devices 0, registrations 0");
}

// A driver is a library that no module names: a manifest does.
TEST_F(Remembered, AVerdictEndsWhenADriverThatAManifestNamesIsReplaced) {
    add_stock("libggml-cpu-x64.so");
    add_faulty("DRIVES", "libggml-cpu-zen4.so");
    const fs::path driver = root_ / "libdriver.so";
    const fs::path manifest = root_ / "driver.json";
    std::ofstream(manifest) << R"({"ICD": {"library_path": ")" << driver.string() << R"("}})";
    const std::string environment = "VK_DRIVER_FILES=" + manifest.string() + " FAULTY_DRIVER=" + driver.string();
    for (const bool good : {true, false, true, false}) {
        fs::copy_file(good ? BP_GGML_ABSENT : BP_GGML_ABSENT_ABORTS, root_ / "new");
        fs::rename(root_ / "new", driver);
        const Outcome o = run(all(), environment);
        expect(o, good ? "devices 1, registrations 1: FakeGPU" : "devices 1, registrations 1: CPU");
        if (!good) expect(o, "it crashed with aborted (signal 6) during 'init'");
        const Outcome again = run(all(), environment);
        expect(again, good ? "devices 1, registrations 1: FakeGPU" : "(remembered since ");
    }
}

TEST_F(Remembered, TheTimeForATrialIsAnOption) {
    add_stock("libggml-cpu-x64.so");
    add_faulty("CONSTRUCTOR_HANGS");
    const Outcome o = run(all(), "BACKPLANE_PROBE_LIMIT=4");  // in which the good one is through
    expect(o, "devices 1, registrations 1: CPU");
    expect(o, "it did not come back within 4000 ms during 'load'");
}

TEST_F(Remembered, WhoOwnsAModuleIsAskedEachTime) {
    if (getuid() != 0) GTEST_SKIP() << "only root can give files away";
    add_stock("libggml-cpu-x64.so");
    add_faulty("ENDED_BY_ENVIRONMENT", "libggml-cpu-zen4.so");
    give(modules() / "libggml-cpu-zen4.so", 4321);
    const Outcome foreign = run(all());
    expect(foreign, "devices 1, registrations 1: CPU");
    expect(foreign, "refused: it belongs to user 4321");
    expect(foreign, "chown 0 " + (modules() / "libggml-cpu-zen4.so").string());
    give(modules() / "libggml-cpu-zen4.so", 0);
    expect(run(all()), "devices 1, registrations 1: FakeGPU");
    give(modules() / "libggml-cpu-zen4.so", 4321);
    expect(run(all()), "devices 1, registrations 1: CPU");
}

TEST_F(Remembered, AModuleOfWhoOwnsTheBaseIsAsTrustworthyAsThat) {
    if (getuid() != 0) GTEST_SKIP() << "only root can give files away";
    add_stock("libggml-cpu-x64.so");
    add_stock("libggml-base.so");
    for (const char* name : {"libggml-cpu-x64.so", "libggml-base.so"}) give(modules() / name, 4321);
    expect(run(all(), "", BP_GGML_LIBRARY, modules() / "libggml-base.so"), "devices 1, registrations 1: CPU");
}

TEST_F(Remembered, WhereNothingCanBeRememberedItIsSaid) {
    add_stock("libggml-cpu-x64.so");
    expect(run(all(), "BACKPLANE_STATE_DIR=/dev/null"), "nothing can be remembered");
    expect(run(all(), "BACKPLANE_STATE_DIR= XDG_CACHE_HOME= HOME="), "nothing can be remembered");
}

TEST_F(Remembered, NothingIsMadeInTheHomeOfAnotherUser) {
    if (getuid() != 0) GTEST_SKIP() << "only root can act in another's home";
    add_stock("libggml-cpu-x64.so");
    fs::create_directory(root_ / "home");
    give(root_ / "home", 4321);
    const Outcome o = run(all(), "BACKPLANE_STATE_DIR= XDG_CACHE_HOME= HOME=" + (root_ / "home").string());
    expect(o, "devices 1, registrations 1: CPU");
    expect(o, "nothing can be remembered");
    EXPECT_TRUE(fs::is_empty(root_ / "home"));
}

}  // namespace
