// backplane modules index on modules of our own interface that carry no note. Those of others: tests/ggml.
#include <gtest/gtest.h>

#include "program.hpp"

namespace backplane::e2e {
namespace {

// The minimal example as another linker would have left it.
std::string without_note() {
    std::string bytes = content(fs::path(BP_TEST_MINIMAL) / "backplane-minimal.so");
    const size_t descriptor = bytes.find("BPN1");
    if (descriptor == std::string::npos) return {};
    bytes.replace(descriptor - 12, 9, std::string("Somebody\0", 9));  // the owner of the note
    return bytes;
}

void put(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

TEST(CliModulesIndex, AModuleWithoutANoteGetsASidecarAndIsLoadedFromThenOn) {
    const Place p;
    fs::create_directory(p.at("m"));
    put(p.at("m/backplane-bare.so"), without_note());
    put(p.at("m/notes.txt"), "not a library");
    const Outcome before = run(p, {"modules", "list", "--modules", p.at("m")});
    EXPECT_NE(before.out.find("without a descriptor"), std::string::npos) << before.out;

    const Outcome dry = run(p, {"modules", "index", p.at("m"), "--dry-run"});
    EXPECT_EQ(dry.exit_code, 0) << dry.out << dry.err;
    EXPECT_FALSE(fs::exists(p.at("m/backplane-bare.so.backplane.json")));

    const Outcome o = run(p, {"modules", "index", p.at("m")});
    EXPECT_EQ(o.exit_code, 0) << o.out << o.err;
    EXPECT_EQ(o.out, "backplane-bare.so: sidecar written\n");
    const std::string json = content(p.at("m/backplane-bare.so.backplane.json"));
    EXPECT_NE(json.find(R"("backend":"bare")"), std::string::npos) << json;
    EXPECT_NE(json.find(R"("probe":"child")"), std::string::npos) << json;

    const Outcome after = run(p, {"devices", "--modules", p.at("m")}, {"BACKPLANE_STATE_DIR=" + p.at("state")});
    EXPECT_NE(after.out.find("bare:0"), std::string::npos) << after.out << after.err;
}

TEST(CliModulesIndex, TheNameCanBeGivenAndOneThatIsNoneIsRefused) {
    const Place p;
    fs::create_directory(p.at("m"));
    put(p.at("m/Strange Name.so"), without_note());
    const Outcome refused = run(p, {"modules", "index", p.at("m")});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.out.find("--backend NAME"), std::string::npos) << refused.out;
    const Outcome named = run(p, {"modules", "index", p.at("m"), "--backend", "plain", "--json"});
    EXPECT_EQ(named.exit_code, 0) << named.out << named.err;
    EXPECT_NE(content(p.at("m/Strange Name.so.backplane.json")).find(R"("backend":"plain")"), std::string::npos);
}

TEST(CliModulesIndex, WhatHasItsOwnDescriptorAndWhatIsNoModuleIsLeftAlone) {
    const Place p;
    fs::create_directory(p.at("m"));
    fs::copy_file(fs::path(BP_TEST_MINIMAL) / "backplane-minimal.so", p.at("m/backplane-minimal.so"));
    put(p.at("m/cut.so"), content(p.at("m/backplane-minimal.so")).substr(0, 3000));
    const Outcome o = run(p, {"modules", "index", p.at("m")});
    EXPECT_EQ(o.exit_code, 1);  // for cut.so
    EXPECT_NE(o.out.find("backplane-minimal.so: states its own descriptor"), std::string::npos) << o.out;
    EXPECT_NE(o.out.find("cut.so: not tried: "), std::string::npos) << o.out;
    EXPECT_EQ(std::distance(fs::directory_iterator(p.at("m")), {}), 2);
}

TEST(CliModulesIndex, AFolderThatIsNotThereOrAnybodysIsOneLine) {
    const Place p;
    const Outcome absent = run(p, {"modules", "index", p.at("absent")});
    EXPECT_EQ(absent.exit_code, 1);
    EXPECT_NE(absent.err.find("no such folder"), std::string::npos) << absent.err;
    fs::create_directory(p.at("open"));
    fs::permissions(p.at("open"), fs::perms::all);
    const Outcome open = run(p, {"modules", "index", p.at("open")});
    EXPECT_EQ(open.exit_code, 1);
    EXPECT_NE(open.err.find("everybody may write"), std::string::npos) << open.err;
    EXPECT_EQ(std::count(open.err.begin(), open.err.end(), '\n'), 1);
}

}  // namespace
}  // namespace backplane::e2e
