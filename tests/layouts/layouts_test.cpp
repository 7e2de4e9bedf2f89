// Eight layouts, and what each must do: find the modules and the program that tries them, say why, look nowhere else, survive a move.
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>

#include "tree.hpp"

namespace backplane::layouts {
namespace {

const std::string kDevice = BP_TEST_BACKEND ":0";

void expect_probe(const Outcome& outcome) {
    EXPECT_NE(source_of(outcome.report, "probed"), "") << outcome.output;
    for (const auto& note : outcome.report["notes"])
        EXPECT_EQ(note.get<std::string>().find("not tried"), std::string::npos) << note;
}

// Folders of the tree that must have been searched, and no other.
using Expected = std::set<std::pair<std::string, fs::path>>;

void expect_found(Tree& tree, const Launch& what, const std::string& source, const Expected& folders) {
    const Outcome outcome = tree.run(what);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_EQ(source_of(outcome.report, BP_TEST_BACKEND), source) << outcome.output;
    std::set<std::string> expected;
    for (const auto& [kind, folder] : folders) expected.insert(kind + ": " + folder.string());
    if (fs::exists(BP_TEST_INSTALLED)) expected.insert(std::string("installed folder: ") + BP_TEST_INSTALLED);
    EXPECT_EQ(searched(outcome.report), expected) << outcome.output;
    EXPECT_FALSE(tree.looked_at_planted()) << "the current directory was opened";
    for (const auto& candidate : outcome.report["candidates"])
        EXPECT_NE(candidate["backend"], "minimal") << "a planted module was found: " << candidate;
    expect_probe(outcome);
}

// Run where it is, and run again after a move.
void expect_found_moved_too(Tree& tree, const std::function<Launch(const fs::path&)>& run, const std::string& source,
                            const std::function<Expected(const fs::path&)>& folders) {
    expect_found(tree, run(tree.root()), source, folders(tree.root()));
    tree.move();
    expect_found(tree, run(tree.root()), source, folders(tree.root()));
}

Launch program(const fs::path& path) { return {{path.string(), "-", kDevice}, {}, {}}; }
Launch foreign(const Tree& tree, const fs::path& library) {
    fs::copy_file(built("layout_host_foreign"), tree.elsewhere() / "program", fs::copy_options::skip_existing);
    return {{(tree.elsewhere() / "program").string(), library.string(), kDevice}, {}, {}};
}

constexpr const char* kLibrary = "library's folder";
constexpr const char* kProgram = "program's folder";

TEST(Layouts, BinAndLib) {
    Tree tree;
    tree.put("layout_host_linked", "bin/prog");
    tree.put("libbackplane.so", "lib/libbackplane.so");
    tree.put_modules("lib/backplane");
    expect_found_moved_too(
        tree, [](const fs::path& root) { return program(root / "bin/prog"); }, kLibrary,
        [](const fs::path& root) {
            return Expected{{kLibrary, root / "lib/backplane"}, {kLibrary, root / "lib"}, {kProgram, root / "bin"}};
        });
}

TEST(Layouts, EverythingInOneFolder) {
    Tree tree;
    tree.put("layout_host_linked", "app/prog");
    tree.put("libbackplane.so", "app/libbackplane.so");
    tree.put_modules("app");
    expect_found_moved_too(
        tree, [](const fs::path& root) { return program(root / "app/prog"); }, kLibrary,
        [](const fs::path& root) {
            return Expected{{kLibrary, root / "app"}};
        });
}

TEST(Layouts, APythonPackageThatContainsIt) {
    Tree tree;
    tree.put("liblayout_addon.so", "site-packages/acme/_native.so");
    tree.put_modules("site-packages/acme/backplane");
    expect_found_moved_too(
        tree, [&](const fs::path& root) { return foreign(tree, root / "site-packages/acme/_native.so"); }, kLibrary,
        [&](const fs::path& root) {
            return Expected{{kLibrary, root / "site-packages/acme/backplane"},
                            {kLibrary, root / "site-packages/acme"},
                            {kProgram, tree.elsewhere()}};
        });
}

// What repairing a wheel makes of one: the libraries that the package is linked with move to a folder beside it.
TEST(Layouts, ARepairedPythonPackage) {
    Tree tree;
    tree.put("liblayout_native.so", "site-packages/acme/_native.so");
    tree.put("libbackplane.so", "site-packages/acme.libs/libbackplane.so");
    tree.put_modules("site-packages/acme.libs/backplane");
    expect_found_moved_too(
        tree, [&](const fs::path& root) { return foreign(tree, root / "site-packages/acme/_native.so"); }, kLibrary,
        [&](const fs::path& root) {
            return Expected{{kLibrary, root / "site-packages/acme.libs/backplane"},
                            {kLibrary, root / "site-packages/acme.libs"},
                            {kProgram, tree.elsewhere()}};
        });
}

TEST(Layouts, ANodeAddonLoadedByAForeignProgram) {
    Tree tree;
    tree.put("liblayout_addon.so", "node_modules/acme/bin/linux-x64/acme.node");
    tree.put_modules("node_modules/acme/bin/linux-x64");
    expect_found_moved_too(
        tree, [&](const fs::path& root) { return foreign(tree, root / "node_modules/acme/bin/linux-x64/acme.node"); },
        kLibrary,
        [&](const fs::path& root) {
            return Expected{{kLibrary, root / "node_modules/acme/bin/linux-x64"}, {kProgram, tree.elsewhere()}};
        });
}

TEST(Layouts, ABundleWithModulesInFrameworks) {
    Tree tree;
    tree.put("layout_host_linked", "Acme.app/Contents/MacOS/prog");
    tree.put("libbackplane.so", "Acme.app/Contents/Frameworks/libbackplane.so");
    tree.put_modules("Acme.app/Contents/Frameworks/backplane");
    expect_found_moved_too(
        tree, [](const fs::path& root) { return program(root / "Acme.app/Contents/MacOS/prog"); }, kLibrary,
        [](const fs::path& root) {
            const fs::path contents = root / "Acme.app/Contents";
            return Expected{{kLibrary, contents / "Frameworks/backplane"},
                            {kLibrary, contents / "Frameworks"},
                            {kProgram, contents / "MacOS"}};
        });
}

// Its parts are where macOS wants them: code that is loaded on request in PlugIns. The library is in the program.
TEST(Layouts, ABundleWithModulesInPlugIns) {
    Tree tree;
    tree.put("layout_host_static", "Acme.app/Contents/MacOS/prog");
    tree.put_modules("Acme.app/Contents/PlugIns/backplane");
    const Outcome outcome = tree.run(program(tree.root() / "Acme.app/Contents/MacOS/prog"));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_EQ(source_of(outcome.report, BP_TEST_BACKEND), kLibrary) << outcome.output;
    EXPECT_EQ(source_of(outcome.report, "minimal"), "") << outcome.output;
    expect_probe(outcome);
}

TEST(Layouts, APrefixOfItsOwn) {
    Tree tree;
    tree.put("layout_host_static", "opt/acme/bin/prog");
    tree.put_modules("opt/acme/lib/backplane");
    expect_found_moved_too(
        tree, [](const fs::path& root) { return program(root / "opt/acme/bin/prog"); }, kLibrary,
        [](const fs::path& root) {
            return Expected{{kLibrary, root / "opt/acme/lib/backplane"}, {kLibrary, root / "opt/acme/bin"}};
        });
}

// As Nix, Homebrew and stow do it: a store of versions, and a tree of links into it. The neighbourhood of what is linked to is searched,
// that of the link is not.
TEST(Layouts, AStoreReachedThroughLinks) {
    Tree tree;
    tree.put("layout_host_linked", "Cellar/acme/1.0/bin/prog");
    tree.put("libbackplane.so", "Cellar/acme/1.0/lib/libbackplane.so");
    tree.put_modules("Cellar/acme/1.0/lib/backplane");
    fs::create_directories(tree.root() / "bin");
    fs::create_directories(tree.root() / "lib/backplane");
    fs::create_symlink("../Cellar/acme/1.0/bin/prog", tree.root() / "bin/prog");
    fs::create_symlink("../Cellar/acme/1.0/lib/libbackplane.so", tree.root() / "lib/libbackplane.so");
    fs::copy_file(BP_TEST_MINIMAL, tree.root() / "lib/backplane" / BP_TEST_PREFIX "minimal.so");
    const auto store = [](const fs::path& root) {
        const fs::path version = root / "Cellar/acme/1.0";
        return Expected{{kLibrary, version / "lib/backplane"}, {kLibrary, version / "lib"}, {kProgram, version / "bin"}};
    };
    const auto addon = [&](const fs::path& root) {
        const fs::path version = root / "Cellar/acme/1.0";
        return Expected{{kLibrary, version / "lib/backplane"}, {kLibrary, version / "lib"}, {kProgram, tree.elsewhere()}};
    };
    expect_found(tree, foreign(tree, tree.root() / "lib/libbackplane.so"), kLibrary, addon(tree.root()));
    expect_found_moved_too(
        tree, [](const fs::path& root) { return program(root / "bin/prog"); }, kLibrary, store);
}

TEST(Layouts, AReadOnlyMount) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can mount";
    Tree tree;
    tree.put("layout_host_linked", "bin/prog");
    tree.put("libbackplane.so", "lib/libbackplane.so");
    tree.put_modules("lib/backplane");
    Launch run = program(tree.root() / "bin/prog");
    run.read_only = true;
    constexpr int kNoMount = 77;
    if (tree.run(run).code == kNoMount) GTEST_SKIP() << "this system does not let a test mount anything";
    tree.looked_at_planted();
    expect_found(
        tree, run, kLibrary,
        {{kLibrary, tree.root() / "lib/backplane"}, {kLibrary, tree.root() / "lib"}, {kProgram, tree.root() / "bin"}});
    EXPECT_FALSE(fs::exists(tree.root() / "state")) << "it was not read-only";
}

// The same addons in the programs they are made for; these look at the current directory for reasons of their own.
TEST(Layouts, APythonInterpreterLoadsThePackage) {
    if (std::string(BP_TEST_PYTHON).empty()) GTEST_SKIP() << "there is no python3";
    Tree tree;
    tree.put("liblayout_addon.so", "site-packages/acme/_native.so");
    tree.put_modules("site-packages/acme/backplane");
    const std::string script =
        "import ctypes,sys\n"
        "b=ctypes.CDLL(sys.argv[1])\n"
        "c=ctypes.c_void_p(); n=ctypes.c_size_t()\n"
        "assert b.backplane_context_create(None,ctypes.byref(c),None)==0\n"
        "b.backplane_context_report(c,None,ctypes.c_size_t(0),ctypes.byref(n),None)\n"
        "t=ctypes.create_string_buffer(n.value)\n"
        "assert b.backplane_context_report(c,t,n,None,None)==0\n"
        "print(t.value.decode())\n"
        "b.backplane_context_destroy(c)\n";
    const Outcome outcome =
        tree.run({{BP_TEST_PYTHON, "-I", "-c", script, (tree.root() / "site-packages/acme/_native.so").string()},
                  {"PYTHONIOENCODING=utf-8"},
                  {}});
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_EQ(source_of(outcome.report, BP_TEST_BACKEND), kLibrary) << outcome.output;
    EXPECT_EQ(source_of(outcome.report, "minimal"), "") << outcome.output;
    expect_probe(outcome);
}

TEST(Layouts, NodeLoadsTheAddon) {
    if (std::string(BP_TEST_NODE).empty()) GTEST_SKIP() << "there is no node";
    Tree tree;
    tree.put("liblayout_addon.so", "node_modules/acme/bin/linux-x64/acme.node");
    tree.put_modules("node_modules/acme/bin/linux-x64");
    const std::string addon = (tree.root() / "node_modules/acme/bin/linux-x64/acme.node").string();
    const Outcome outcome = tree.run({{BP_TEST_NODE, "-e", "console.log(require(process.argv[1]))", addon}, {}, {}});
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_EQ(source_of(outcome.report, BP_TEST_BACKEND), kLibrary) << outcome.output;
    EXPECT_EQ(source_of(outcome.report, "minimal"), "") << outcome.output;
    expect_probe(outcome);
}

}  // namespace
}  // namespace backplane::layouts
