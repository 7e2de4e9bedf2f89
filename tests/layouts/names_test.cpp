// Names: what a program is called by its parent, modules that no folder shows, programs with raised rights.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tree.hpp"

namespace backplane::layouts {
namespace {

const std::string kDeviceByName = BP_TEST_BACKEND ":0";
const std::string kModule = BP_TEST_PREFIX BP_TEST_BACKEND ".so";

Launch static_program(const Tree& tree) { return {{(tree.root() / "bin/prog").string(), "-", kDeviceByName}, {}, {}}; }

bool nobody_can_run(const Tree& tree, const Launch& run) {
    Launch tried = run;
    tried.as_nobody = true;
    return tree.run(tried).code < 126;
}

TEST(Names, WhatAParentCallsTheProgramDoesNotMoveTheSearch) {
    Tree tree;
    tree.put("layout_host_static", "bin/prog");
    tree.put_modules("lib/backplane");
    std::ofstream(tree.planted() / "prog") << "there is such a file";
    Launch run = static_program(tree);
    run.called = (tree.planted() / "prog").string();
    tree.looked_at_planted();
    const Outcome outcome = tree.run(run);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_FALSE(tree.looked_at_planted());
    EXPECT_EQ(source_of(outcome.report, "minimal"), "") << outcome.output;
}

// A copy that is set-uid root, run by nobody: whoever set the variables, and the program's name, is not who it acts for.
TEST(Names, ASetUidProgramIgnoresTheEnvironment) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make a program set-uid root";
    Tree tree;
    const fs::path file = tree.put("layout_host_static", "bin/prog");
    tree.put_modules("lib/backplane");
    std::ofstream(tree.planted() / "prog") << "there is such a file";
    ASSERT_EQ(::chown(tree.planted().c_str(), 65534, 65534), 0);
    ASSERT_EQ(::chown((tree.planted() / "prog").c_str(), 65534, 65534), 0);
    Launch run = static_program(tree);
    run.environment = {"BACKPLANE_MODULE_PATH=" + tree.planted().string(), "BACKPLANE_DEVICE=no-such"};
    run.as_nobody = true;
    if (!nobody_can_run(tree, run)) GTEST_SKIP() << "another user cannot run programs in the folder for temporary files";
    const auto note_of_environment = [](const Outcome& outcome) {
        for (const auto& source : outcome.report["sources"])
            if (source["kind"] == "environment") return source["note"].get<std::string>();
        return std::string("not there");
    };
    const Outcome plain = tree.run(run);
    EXPECT_EQ(note_of_environment(plain), "1 module file") << plain.output;
    ASSERT_EQ(::chmod(file.c_str(), 04755), 0);
    run.called = (tree.planted() / "prog").string();
    const Outcome raised = tree.run(run);
    if (note_of_environment(raised) == note_of_environment(plain))
        GTEST_SKIP() << "the folder for temporary files is mounted so that set-uid has no effect";
    ASSERT_EQ(raised.code, 0) << raised.output;
    EXPECT_EQ(note_of_environment(raised), "ignored: the process runs with raised rights");
    EXPECT_EQ(source_of(raised.report, "minimal"), "") << raised.output;
    EXPECT_NE(plain.output.find("no-such"), std::string::npos);
    EXPECT_EQ(raised.output.find("no-such"), std::string::npos) << "BACKPLANE_DEVICE is ignored too: " << raised.output;
}

// Android and the like: libraries can be opened by whoever knows their names, and nobody can list them.
TEST(Names, AFolderThatCannotBeListedIsAskedForTheNamesTheApplicationKnows) {
    Tree tree;
    tree.put("layout_host_static", "bin/prog");
    tree.put_modules("bin");
    Launch run = static_program(tree);
    run.as_nobody = ::geteuid() == 0;
    if (run.as_nobody && !nobody_can_run(tree, run))
        GTEST_SKIP() << "another user cannot run programs in the folder for temporary files";
    fs::permissions(tree.root() / "bin", fs::perms(0111));
    Outcome outcome = tree.run(run);
    EXPECT_NE(outcome.code, 0) << "nothing can be found: " << outcome.output;
    run.command.push_back("name=" + kModule);
    outcome = tree.run(run);
    fs::permissions(tree.root() / "bin", fs::perms(0755));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_EQ(source_of(outcome.report, BP_TEST_BACKEND), "library's folder") << outcome.output;
}

TEST(Names, ANameThatNoFolderHasIsFoundByTheLoader) {
    Tree tree;
    tree.put("layout_host_static", "bin/prog");
    tree.put_modules("libraries");
    Launch run = static_program(tree);
    run.as_nobody = ::geteuid() == 0;
    if (run.as_nobody && !nobody_can_run(tree, run))
        GTEST_SKIP() << "another user cannot run programs in the folder for temporary files";
    fs::permissions(tree.root() / "libraries", fs::perms(0111));
    run.environment = {"LD_LIBRARY_PATH=" + (tree.root() / "libraries").string()};
    run.command.push_back("name=" + kModule);
    const Outcome outcome = tree.run(run);
    run.environment = {"LD_LIBRARY_PATH=" + (tree.root() / "libraries").string() + ":"};
    const Outcome trailing = tree.run(run);
    fs::permissions(tree.root() / "libraries", fs::perms(0755));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_EQ(source_of(outcome.report, BP_TEST_BACKEND), "application") << outcome.output;
    EXPECT_NE(trailing.code, 0);
    EXPECT_NE(trailing.output.find("names the current directory"), std::string::npos) << trailing.output;
}

TEST(Names, ALoaderThatFindsItWhereEverybodyMayWriteIsNotFollowed) {
    Tree tree;
    tree.put("layout_host_static", "bin/prog");
    tree.put_modules("libraries");
    fs::permissions(tree.root() / "libraries", fs::perms(0777));
    Launch run = static_program(tree);
    run.environment = {"LD_LIBRARY_PATH=" + (tree.root() / "libraries").string()};
    run.command.push_back("name=" + kModule);
    const Outcome outcome = tree.run(run);
    EXPECT_NE(outcome.code, 0);
    EXPECT_NE(outcome.output.find("writable-by-others"), std::string::npos) << outcome.output;
}

// The file is gone, as if the loader had read it out of an archive: the note in memory speaks for it.
TEST(Names, AModuleWithoutAFileIsJudgedByItsNoteInMemory) {
    Tree tree;
    tree.put("layout_host_static", "bin/prog");
    const fs::path held = tree.put(BP_TEST_PREFIX "probed.so", "archive/libacme-backplane-probed.so");
    Launch run = static_program(tree);
    run.command[2] = "probed:0";
    run.command.push_back("hold=" + held.string());
    run.command.push_back("name=libacme-backplane-probed.so");
    const Outcome outcome = tree.run(run);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_FALSE(fs::exists(held));
    EXPECT_EQ(outcome.report["devices"][0]["module"], "libacme-backplane-probed.so") << outcome.output;
}

}  // namespace
}  // namespace backplane::layouts
