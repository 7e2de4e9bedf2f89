// `backplane modules index` over stock ggml modules, and what the replacement of the registry makes of the sidecars it writes.
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>

#include "dropin.hpp"

namespace {

using namespace dropin;

std::string content(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void put(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << "no " << from << " in " << text;
    if (at != std::string::npos) text.replace(at, from.size(), to);
    return text;
}

// The text with the number after "field": replaced.
std::string with_number(std::string text, const std::string& field, const std::string& value) {
    const size_t at = text.find('"' + field + "\":");
    EXPECT_NE(at, std::string::npos) << text;
    const size_t start = at + field.size() + 3;
    return text.replace(start, text.find_first_of(",}", start) - start, value);
}

bool has(const Outcome& o, const std::string& part) { return o.text.find(part) != std::string::npos; }

class Sidecar : public Dropin {
protected:
    void SetUp() override {
        Dropin::SetUp();
        if (IsSkipped()) return;
        if (std::strlen(BP_GGML_CLI) == 0) GTEST_SKIP() << "built without the command line (BACKPLANE_TOOLS=OFF)";
        add_stock("libggml-base.so");
    }
    [[nodiscard]] fs::path sidecar(const std::string& name) const { return modules() / (name + ".backplane.json"); }
    [[nodiscard]] Outcome index(const std::string& arguments = "", const std::string& before = "") const {
        return shell(before + " " BP_GGML_CLI " modules index " + modules().string() + " " + arguments);
    }
    // A start that can neither remember nor has anything remembered.
    [[nodiscard]] Outcome start(const std::string& commands) const { return run(commands, "BACKPLANE_STATE_DIR=/dev/null"); }
    [[nodiscard]] std::string all() const { return "all " + modules().string() + " devices best"; }
    [[nodiscard]] std::string opened() const { return "opened " + modules().string() + " devices"; }
};

TEST_F(Sidecar, EachModuleGetsOneThatSaysWhatItIs) {
    add_stock("libggml-cpu-x64.so");
    add_stock("libggml-cpu-sse42.so");
    add_stock("libllama.v0.5.0.so");
    const Outcome o = index();
    expect(o, "libggml-cpu-x64.so: sidecar written");
    expect(o, "other librar");
    EXPECT_FALSE(fs::exists(sidecar("libggml-base.so")));
    EXPECT_FALSE(fs::exists(sidecar("libllama.v0.5.0.so")));
    const std::string text = content(sidecar("libggml-cpu-x64.so"));
    for (const char* part : {R"("interface":"ggml")", R"("kind":"cpu")", R"("version":"0.25.1")", R"("probe":"none")",
                             R"("processor":")", R"("build_id":")", R"("file":{"size":977688)"})
        EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
    EXPECT_EQ(fs::status(sidecar("libggml-cpu-x64.so")).permissions() & fs::perms::others_read, fs::perms::others_read);
}

TEST_F(Sidecar, WhatAModuleLeavesWhenItIsTriedEndsWithIt) {
    add_faulty("LEAVES_DAEMON");
    expect(index("", "FAULTY_FILE=" + (root_ / "left").string()), "libggml-cpu-faulty.so: sidecar written");
    expect_gone(root_ / "left");
}

// A probe of somebody else's that knows nothing of being watched.
TEST_F(Sidecar, AProbeThatCannotBeWatchedIsAskedByItself) {
    fs::create_directory(root_ / "tools");
    const fs::path cli = root_ / "tools" / "backplane";
    fs::copy_file(BP_GGML_CLI, cli);
    fs::copy_file(fs::path(BP_GGML_PROBE).parent_path() / "backplane-probe", root_ / "tools" / "backplane-probe");
    put(root_ / "tools" / "backplane-probe-other", R"(#!/bin/sh
[ "$1" = --describe ] || exit 2
printf 'step ask\nsidecar {"kind":"other"}\nend\n' >&3
)");
    fs::permissions(root_ / "tools" / "backplane-probe-other", fs::perms::owner_all);
    add_stock("libggml-cpu-x64.so");
    const Outcome o = shell(cli.string() + " modules index --json --backend other --dry-run " + modules().string());
    expect(o, R"("kind": "other")");
}

TEST_F(Sidecar, OneThatIsThereIsKeptAndADryRunWritesNothing) {
    add_stock("libggml-cpu-x64.so");
    expect(index("--dry-run"), "would get a sidecar");
    EXPECT_FALSE(fs::exists(sidecar("libggml-cpu-x64.so")));
    expect(index("--json"), R"("outcome": "written")");
    expect(index(), "kept");
    expect(index("--force"), "sidecar written");
}

TEST_F(Sidecar, AFolderThatCannotServeIsOneLine) {
    const Outcome nothing = index();
    expect(nothing, "Nothing to index");
    const Outcome absent = shell(BP_GGML_CLI " modules index " + (root_ / "absent").string());
    EXPECT_EQ(absent.status, 1);
    EXPECT_TRUE(has(absent, "no such folder")) << absent.text;
    add_stock("libggml-cpu-x64.so");
    if (getuid() == 0) {  // for whom no folder is read-only
        const std::string nobody = "setpriv --reuid 65534 --clear-groups";
        const Outcome reachable = shell(nobody + " test -r " BP_GGML_CLI);
        const Outcome closed = index("", "chmod 755 " + root_.string() + " && " + nobody);
        if (reachable.status != 0)
            std::cout << "[ NOTE     ] a read-only folder could not be tried: nobody may not read this build folder\n"
                      << reachable.text;
        else
            EXPECT_TRUE(closed.status == 1 && has(closed, "denied")) << closed.text;
    } else {
        fs::permissions(modules(), fs::perms::owner_read | fs::perms::owner_exec);
        const Outcome closed = index();
        EXPECT_TRUE(closed.status == 1 && has(closed, "denied")) << closed.text;
        fs::permissions(modules(), fs::perms::owner_all);
    }
    EXPECT_FALSE(fs::exists(sidecar("libggml-cpu-x64.so")));
    fs::permissions(modules(), fs::perms::all);
    const Outcome open = index();
    EXPECT_EQ(open.status, 1);
    EXPECT_TRUE(has(open, "everybody may write")) << open.text;
}

TEST_F(Sidecar, AModuleThatCrashesInTheChildIsOneLineAndTheOthersAreIndexed) {
    add_faulty("INIT_CRASHES", "libggml-cpu-bad.so");
    add_faulty("CONSTRUCTOR_EXITS", "libggml-cpu-worse.so");
    add_stock("libggml-cpu-x64.so");
    const Outcome o = index();
    EXPECT_EQ(o.status, 1) << o.text;
    EXPECT_TRUE(has(o, "libggml-cpu-bad.so: crashed with segmentation fault (signal 11) during 'init'")) << o.text;
    EXPECT_TRUE(has(o, "libggml-cpu-worse.so: ended the process with exit code 42 during 'load'")) << o.text;
    EXPECT_TRUE(has(o, "libggml-cpu-x64.so: sidecar written")) << o.text;
    EXPECT_FALSE(fs::exists(sidecar("libggml-cpu-bad.so")));
}

TEST_F(Sidecar, AModuleThatIsNotForThisProcessorIsNotedAsSuch) {
    add_faulty("NOT_FOR_HERE", "libggml-cpu-elsewhere.so");
    const Outcome o = index();
    expect(o, "libggml-cpu-elsewhere.so: sidecar written: not for this processor");
    const std::string text = content(sidecar("libggml-cpu-elsewhere.so"));
    EXPECT_EQ(text.find("\"cpu\":["), std::string::npos) << "its needs cannot be learnt here: " << text;
    expect(start(opened()), "opened 0 sidecars 1");
}

TEST_F(Sidecar, AStartOpensTheWinnerAlone) {
    for (const char* name : {"libggml-cpu-x64.so", "libggml-cpu-sse42.so"}) add_stock(name);
    add_faulty("NOT_FOR_HERE", "libggml-cpu-elsewhere.so");
    expect(start(opened()), "opened 3 sidecars 0");
    expect(index(), "written");
    expect(start(opened()), "opened 1 sidecars 3: libggml-cpu-sse42.so\ndevices 1, registrations 1: CPU");
}

TEST_F(Sidecar, OneOfAnotherProcessorIsBelievedInWhatTheModuleNeedsAndNoFurther) {
    add_stock("libggml-cpu-x64.so");
    add_stock("libggml-cpu-sse42.so");
    expect(index(), "written");
    for (const char* name : {"libggml-cpu-x64.so", "libggml-cpu-sse42.so"}) {
        std::string text = content(sidecar(name));
        const size_t at = text.find("\"processor\":\"") + 13;
        put(sidecar(name), text.insert(at, "another "));
    }
    expect(start(opened()), "opened 2 sidecars 2");
    put(sidecar("libggml-cpu-sse42.so"),
        replaced(content(sidecar("libggml-cpu-sse42.so")), "\"pni\"", "\"pni\",\"of_2040\""));
    expect(start(opened()), "opened 1 sidecars 2: libggml-cpu-x64.so");
    fs::remove(modules() / "libggml-cpu-x64.so");
    expect(start(opened()), "its sidecar says that it uses of_2040, which is not usable here");
}

TEST_F(Sidecar, OneThatLiesIsSaidAndNoIllegalInstructionRuns) {
    add_stock("libggml-cpu-x64.so");
    add_faulty("NOT_FOR_HERE", "libggml-cpu-zen9.so");
    expect(index(), "written");
    put(sidecar("libggml-cpu-zen9.so"), with_number(content(sidecar("libggml-cpu-zen9.so")), "score", "2000000"));
    const Outcome o = start(all());
    expect(o, "devices 1, registrations 1: CPU\nbest CPU");
    expect(o, "libggml-cpu-zen9.so: its sidecar is wrong: it says itself that it is not for this processor");
}

TEST_F(Sidecar, OneThatIsStaleIsSaidAndTheFileIsTried) {
    add_stock("libggml-cpu-x64.so");
    expect(index(), "written");
    const fs::path module = modules() / "libggml-cpu-x64.so";
    fs::copy_file(kStock / "libggml-cpu-sse42.so", module, fs::copy_options::overwrite_existing);
    const Outcome other_size = start(all());
    expect(other_size, "devices 1, registrations 1: CPU");
    expect(other_size, "the sidecar of libggml-cpu-x64.so is not believed: it was written for a file of 977688 bytes");
    const Outcome inspected = shell(BP_GGML_CLI " modules inspect " + module.string());
    EXPECT_TRUE(inspected.status == 1 && has(inspected, "was written for another file (977688 bytes)")) << inspected.text;
    expect(index(), "sidecar written");

    // The same size, another build.
    std::string bytes = content(module);
    const size_t note = bytes.find(std::string("\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU", 15));
    ASSERT_NE(note, std::string::npos);
    bytes[note + 16] = static_cast<char>(bytes[note + 16] ^ 1);
    fs::remove(module);
    put(module, bytes);
    const Outcome other_build = start(all());
    expect(other_build, "devices 1, registrations 1: CPU");
    expect(other_build, "is not believed: it was written for another build of the file");
    expect(index(), "sidecar written");
    const Outcome fresh = start(all());
    EXPECT_FALSE(has(fresh, "not believed")) << fresh.text;
}

TEST_F(Sidecar, OneOfAnotherBaseIsNotBelieved) {
    add_stock("libggml-cpu-x64.so");
    expect(index(), "written");
    std::string text = content(sidecar("libggml-cpu-x64.so"));
    const size_t base = text.find("\"base\"");
    const size_t id = text.find("\"build_id\":\"", base) + 12;
    text[id] = text[id] == '0' ? '1' : '0';
    put(sidecar("libggml-cpu-x64.so"), text);
    expect(start(all()), "it was written for another build of libggml-base");
}

struct Hostile {
    const char* name;
    std::function<void(const fs::path& sidecar, const std::string& good)> make;
};
void PrintTo(const Hostile& h, std::ostream* out) { *out << h.name; }

class HostileSidecar : public Sidecar, public ::testing::WithParamInterface<Hostile> {};

TEST_P(HostileSidecar, TheHostLivesAndTheModuleIsTriedInstead) {
    if (IsSkipped()) return;
    add_stock("libggml-cpu-x64.so");
    expect(index(), "written");
    const fs::path file = sidecar("libggml-cpu-x64.so");
    const std::string good = content(file);
    fs::remove(file);
    GetParam().make(file, good);
    const Outcome o = start(all());
    expect(o, "devices 1, registrations 1: CPU\nbest CPU");
    expect(o, "libggml-cpu-x64.so.backplane.json is ");  // no file, or not believed, and why
    const Outcome again = index();
    EXPECT_LT(again.status, 2) << again.text;
    EXPECT_TRUE(has(again, "libggml-cpu-x64.so: ")) << again.text;
}

INSTANTIATE_TEST_SUITE_P(
    Inputs, HostileSidecar,
    ::testing::Values(
        Hostile{"Empty", [](const fs::path& f, const std::string&) { put(f, ""); }},
        Hostile{"CutOff", [](const fs::path& f, const std::string& good) { put(f, good.substr(0, good.size() / 2)); }},
        Hostile{"Huge", [](const fs::path& f, const std::string& good) { put(f, good + std::string(5 << 20, ' ')); }},
        Hostile{"Sparse",
                [](const fs::path& f, const std::string& good) {
                    put(f, good);
                    fs::resize_file(f, uintmax_t{1} << 40);
                }},
        Hostile{"Deep", [](const fs::path& f, const std::string&) { put(f, std::string(4000, '[')); }},
        Hostile{"NotUtf8", [](const fs::path& f, const std::string&) { put(f, "{\"interface\":\"\xff\xfe\"}"); }},
        Hostile{"List", [](const fs::path& f, const std::string&) { put(f, "[]"); }},
        Hostile{"ScoreIsText", [](const fs::path& f, const std::string& good) { put(f, with_number(good, "score", "\"9\"")); }},
        Hostile{"ScoreIsVast", [](const fs::path& f, const std::string& good) { put(f, with_number(good, "score", "1e300")); }},
        Hostile{"ScoreIsNegative", [](const fs::path& f, const std::string& good) { put(f, with_number(good, "score", "-5")); }},
        Hostile{"CpuIsNumbers",
                [](const fs::path& f, const std::string& good) { put(f, replaced(good, "\"score\"", "\"cpu\":[1,2],\"score\"")); }},
        Hostile{"SizeIsNegative", [](const fs::path& f, const std::string& good) { put(f, with_number(good, "size", "-1")); }},
        Hostile{"AnotherInterface",
                [](const fs::path& f, const std::string& good) { put(f, replaced(good, "\"ggml\"", "\"lggm\"")); }},
        Hostile{"Fifo", [](const fs::path& f, const std::string&) { EXPECT_EQ(mkfifo(f.c_str(), 0600), 0); }},
        Hostile{"Folder", [](const fs::path& f, const std::string&) { fs::create_directory(f); }},
        Hostile{"LinkToItself", [](const fs::path& f, const std::string&) { fs::create_symlink(f, f); }},
        Hostile{"WritableByAll",
                [](const fs::path& f, const std::string& good) {
                    put(f, good);
                    fs::permissions(f, fs::perms::others_write, fs::perm_options::add);
                }},
        Hostile{"SomebodyElses",
                [](const fs::path& f, const std::string& good) {
                    put(f, good);
                    if (getuid() != 0) return fs::permissions(f, fs::perms::others_write, fs::perm_options::add);
                    EXPECT_EQ(chown(f.c_str(), 4321, 4321), 0);
                }}),
    [](const auto& hostile) { return std::string(hostile.param.name); });

}  // namespace
