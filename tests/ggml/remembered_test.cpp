// What the replacement remembers of modules, for how long, and what it must never remember.
#include <unistd.h>

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

TEST_F(Remembered, TheTimeForATrialIsAnOption) {
    add_stock("libggml-cpu-x64.so");
    add_faulty("CONSTRUCTOR_HANGS");
    const Outcome o = run(all(), "BACKPLANE_PROBE_LIMIT=1");
    expect(o, "devices 1, registrations 1: CPU");
    expect(o, "it did not come back within 1000 ms during 'load'");
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
